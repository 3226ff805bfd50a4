/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Switches by name, their ports and settings. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "switch.h"

#define BYTES_MAX (1u << 30)
#define RESERVE_MAX (1u << 24)
#define BUFFER_MIN 4096u
#define ALPHA_MAX 6400u
#define XOFF_MIN 64u
#define CN_MIN 64u
#define MACS_MAX (1u << 20)
#define AGE_MAX 1000000u
#define RATE_MAX 1000000u
#define WEIGHT_MAX 100u
#define FRAME_MIN 60u
#define FRAME_MAX 16000u

/* All switches of the process. Taken before a switch's own lock. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tp_switch *list;

void
tp_switch_config_default(struct tp_switch_config *cfg)
{
	*cfg = (struct tp_switch_config){.max_ports = TP_SWITCH_PORTS,
					 .buffer_bytes = 12u << 20,
					 .alpha_pct = 100,
					 .xoff_bytes = 64u << 10,
					 .xon_bytes = 32u << 10,
					 .headroom_bytes = 256u << 10,
					 .ecn_kmin_bytes = 100u << 10,
					 .ecn_kmax_bytes = 400u << 10,
					 .ecn_pmax_ppm = 10000,
					 .cn_qeq_bytes = 26000,
					 .cn_base_bytes = 150000,
					 .mac_entries = 8192,
					 .mac_age_s = 300,
					 .seed = 1};
}

void
tp_switch_port_config_default(struct tp_switch_port_config *cfg)
{
	*cfg = (struct tp_switch_port_config){.trust = TP_SWITCH_TRUST_PCP, .flow = TP_SWITCH_FLOW_AUTO};
	cfg->max_frame = 9728;
	for (uint8_t i = 0; i < TP_SWITCH_PRIOS; i++)
		cfg->prio_tc[i] = i;
}

/* One line for a number that is out of its range; 0 when it is not. */
static int
range(const char *what, uint64_t v, uint64_t min, uint64_t max, char err[TP_SWITCH_TEXT])
{
	if (v >= min && v <= max)
		return 0;
	snprintf(err, TP_SWITCH_TEXT, "%s %llu: wanted %llu..%llu", what, (unsigned long long)v,
		 (unsigned long long)min, (unsigned long long)max);
	return -EINVAL;
}

static int
config_check(const struct tp_switch_config *c, char err[TP_SWITCH_TEXT])
{
	const struct {
		const char *what;
		uint64_t v, min, max;
	} t[] = {{"ports", c->max_ports, 1, TP_SWITCH_PORTS},
		 {"buffer", c->buffer_bytes, BUFFER_MIN, BYTES_MAX},
		 {"reserve", c->reserve_bytes, 0, RESERVE_MAX},
		 {"alpha", c->alpha_pct, 1, ALPHA_MAX},
		 {"xoff", c->xoff_bytes, XOFF_MIN, BYTES_MAX},
		 {"xon", c->xon_bytes, 0, c->xoff_bytes},
		 {"headroom", c->headroom_bytes, 0, BYTES_MAX},
		 {"ecn kmin", c->ecn_kmin_bytes, 0, BYTES_MAX},
		 {"ecn kmax", c->ecn_kmax_bytes, c->ecn_kmin_bytes, BYTES_MAX},
		 {"ecn pmax", c->ecn_pmax_ppm, 0, TPM_PPM},
		 {"cn qeq", c->cn_qeq_bytes, CN_MIN, BYTES_MAX},
		 {"cn base", c->cn_base_bytes, CN_MIN, BYTES_MAX},
		 {"macs", c->mac_entries, 1, MACS_MAX},
		 {"age", c->mac_age_s, 1, AGE_MAX}};
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < sizeof(t) / sizeof(t[0]); i++)
		rc = range(t[i].what, t[i].v, t[i].min, t[i].max, err);
	return rc;
}

static int
port_config_check(const struct tp_switch_port_config *c, char err[TP_SWITCH_TEXT])
{
	int rc = range("rate", c->rate_mbps, 0, RATE_MAX, err);

	if (rc == 0)
		rc = range("trust", c->trust, TP_SWITCH_TRUST_PCP, TP_SWITCH_TRUST_DSCP, err);
	if (rc == 0)
		rc = range("flow", c->flow, TP_SWITCH_FLOW_AUTO, TP_SWITCH_FLOW_PFC, err);
	if (rc == 0)
		rc = range("untagged", c->untagged_prio, 0, TP_SWITCH_PRIOS - 1, err);
	if (rc == 0)
		rc = range("max-frame", c->max_frame, FRAME_MIN, FRAME_MAX, err);
	for (unsigned int i = 0; rc == 0 && i < TP_SWITCH_PRIOS; i++) {
		rc = range("tc", c->prio_tc[i], 0, TP_SWITCH_PRIOS - 1, err);
		if (rc == 0)
			rc = range("ets weight", c->tc[i].weight, 0, WEIGHT_MAX, err);
		if (rc == 0)
			rc = range("tc-rate", c->tc[i].rate_mbps, 0, RATE_MAX, err);
	}
	return rc;
}

/* --- names ------------------------------------------------------------------------------------------------------ */

static bool
name_valid(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n >= TP_SWITCH_NAME)
		return false;
	for (; *name != '\0'; name++)
		if (!isalnum((unsigned char)*name) && strchr("._-", *name) == NULL)
			return false;
	return true;
}

static struct tp_switch *
create(const char *name)
{
	struct tp_switch *sw = calloc(1, sizeof(*sw));
	char err[TP_SWITCH_TEXT];

	if (sw == NULL)
		return NULL;
	snprintf(sw->name, sizeof(sw->name), "%s", name);
	tp_switch_config_default(&sw->cfg);
	sw->rng = sw->cfg.seed;
	sw->alpha = ((uint64_t)sw->cfg.alpha_pct << 10) / 100;
	sw_pools(&sw->cfg, 0, &sw->shared_size, err);
	if (sw_mac_init(&sw->macs, sw->cfg.mac_entries) != 0) {
		free(sw);
		return NULL;
	}
	pthread_mutex_init(&sw->lock, NULL);
	return sw;
}

static void
destroy(struct tp_switch *sw)
{
	sw_buf_fini(sw);
	sw_mac_fini(&sw->macs);
	pthread_mutex_destroy(&sw->lock);
	free(sw);
}

/* The link to the switch of this name, or to where it would stand. */
static struct tp_switch **
place(const char *name)
{
	struct tp_switch **at = &list;

	while (*at != NULL && strcmp((*at)->name, name) < 0)
		at = &(*at)->next;
	return at;
}

int
tp_switch_get(const char *name, struct tp_switch **out)
{
	struct tp_switch **at;
	int rc = 0;

	if (!name_valid(name))
		return -EINVAL;
	pthread_mutex_lock(&list_lock);
	at = place(name);
	if (*at == NULL || strcmp((*at)->name, name) != 0) {
		struct tp_switch *sw = create(name);

		if (sw == NULL) {
			rc = -ENOMEM;
			goto out;
		}
		sw->next = *at;
		*at = sw;
	}
	(*at)->refs++;
	*out = *at;
out:
	pthread_mutex_unlock(&list_lock);
	return rc;
}

struct tp_switch *
tp_switch_find(const char *name)
{
	struct tp_switch *sw;

	pthread_mutex_lock(&list_lock);
	sw = *place(name);
	if (sw != NULL && strcmp(sw->name, name) != 0)
		sw = NULL;
	if (sw != NULL)
		sw->refs++;
	pthread_mutex_unlock(&list_lock);
	return sw;
}

void
tp_switch_put(struct tp_switch *sw)
{
	bool last;

	pthread_mutex_lock(&list_lock);
	last = --sw->refs == 0;
	if (last)
		*place(sw->name) = sw->next;
	pthread_mutex_unlock(&list_lock);
	if (last)
		destroy(sw);
}

const char *
tp_switch_name(const struct tp_switch *sw)
{
	return sw->name;
}

unsigned int
tp_switch_list(char names[][TP_SWITCH_NAME], unsigned int max)
{
	unsigned int n = 0;

	pthread_mutex_lock(&list_lock);
	for (struct tp_switch *sw = list; sw != NULL; sw = sw->next, n++)
		if (n < max)
			memcpy(names[n], sw->name, TP_SWITCH_NAME);
	pthread_mutex_unlock(&list_lock);
	return n;
}

/* --- settings --------------------------------------------------------------------------------------------------- */

void
tp_switch_config_get(struct tp_switch *sw, struct tp_switch_config *cfg)
{
	pthread_mutex_lock(&sw->lock);
	*cfg = sw->cfg;
	pthread_mutex_unlock(&sw->lock);
}

/* Priorities that were lossless and are not any more, or the other way round, must not leave a sender paused. */
static void
restart_pause(struct tp_switch *sw)
{
	for (unsigned int i = 0; i < TP_SWITCH_PORTS; i++) {
		struct tp_switch_port *p = sw->port[i];

		for (unsigned int prio = 0; p != NULL && prio < TP_SWITCH_PRIOS; prio++)
			if (p->in[prio].xoff && (sw->cfg.lossless >> prio & 1) == 0)
				sw_xon(p, prio);
	}
}

int
sw_config_apply(struct tp_switch *sw, const struct tp_switch_config *cfg, char err[TP_SWITCH_TEXT])
{
	struct sw_mac_table macs;
	uint64_t shared;
	int rc = config_check(cfg, err);

	if (rc != 0)
		return rc;
	if (sw->num_ports > cfg->max_ports) {
		snprintf(err, TP_SWITCH_TEXT, "ports %u: switch %s has %u already", cfg->max_ports, sw->name,
			 sw->num_ports);
		return -ENOSPC;
	}
	rc = sw_pools(cfg, sw->num_ports, &shared, err);
	if (rc != 0)
		return rc;
	if (cfg->mac_entries != sw->cfg.mac_entries) {
		if (sw_mac_init(&macs, cfg->mac_entries) != 0) {
			snprintf(err, TP_SWITCH_TEXT, "macs %u: no memory for the table", cfg->mac_entries);
			return -ENOMEM;
		}
		sw_mac_fini(&sw->macs);
		sw->macs = macs;
		sw->st.macs = 0;
	}
	if (cfg->seed != sw->cfg.seed)
		sw->rng = cfg->seed;
	sw->cfg = *cfg;
	sw->macs.sweep_ps = 0;
	sw->changed = UINT64_MAX;
	sw->shared_size = shared;
	sw->alpha = ((uint64_t)cfg->alpha_pct << 10) / 100;
	restart_pause(sw);
	return 0;
}

int
tp_switch_config_set(struct tp_switch *sw, const struct tp_switch_config *cfg, char err[TP_SWITCH_TEXT])
{
	int rc;

	pthread_mutex_lock(&sw->lock);
	rc = sw_config_apply(sw, cfg, err);
	pthread_mutex_unlock(&sw->lock);
	return rc;
}

void
tp_switch_port_config_get(struct tp_switch_port *p, struct tp_switch_port_config *cfg)
{
	pthread_mutex_lock(&p->sw->lock);
	*cfg = p->cfg;
	pthread_mutex_unlock(&p->sw->lock);
}

int
sw_port_config_apply(struct tp_switch_port *p, const struct tp_switch_port_config *cfg, char err[TP_SWITCH_TEXT])
{
	int rc = port_config_check(cfg, err);

	if (rc != 0)
		return rc;
	p->cfg = *cfg;
	sw_port_rates(p);
	sw_changed(p);
	return 0;
}

int
tp_switch_port_config_set(struct tp_switch_port *p, const struct tp_switch_port_config *cfg, char err[TP_SWITCH_TEXT])
{
	int rc;

	pthread_mutex_lock(&p->sw->lock);
	rc = sw_port_config_apply(p, cfg, err);
	pthread_mutex_unlock(&p->sw->lock);
	return rc;
}

/* --- ports ------------------------------------------------------------------------------------------------------ */

/* Puts a port into the first free place. */
static int
port_insert(struct tp_switch *sw, struct tp_switch_port *p, char err[TP_SWITCH_TEXT])
{
	uint64_t shared;
	int rc;

	if (sw->num_ports >= sw->cfg.max_ports) {
		snprintf(err, TP_SWITCH_TEXT, "switch %s has all of its %u ports in use", sw->name, sw->cfg.max_ports);
		return -ENOSPC;
	}
	rc = sw_pools(&sw->cfg, sw->num_ports + 1, &shared, err);
	if (rc != 0)
		return rc;
	while (sw->port[p->index] != NULL)
		p->index++;
	sw->port[p->index] = p;
	sw->num_ports++;
	sw->shared_size = shared;
	return 0;
}

int
tp_switch_port_add(struct tp_switch *sw, struct tp_switch_port **out, char err[TP_SWITCH_TEXT])
{
	struct tp_switch_port *p = calloc(1, sizeof(*p));
	int rc;

	if (p == NULL) {
		snprintf(err, TP_SWITCH_TEXT, "switch %s: no memory for a port", sw->name);
		return -ENOMEM;
	}
	p->sw = sw;
	tp_switch_port_config_default(&p->cfg);
	pthread_mutex_lock(&list_lock);
	pthread_mutex_lock(&sw->lock);
	rc = port_insert(sw, p, err);
	if (rc == 0) {
		sw->refs++;
		sw_port_rates(p);
	}
	pthread_mutex_unlock(&sw->lock);
	pthread_mutex_unlock(&list_lock);
	if (rc != 0) {
		free(p);
		return rc;
	}
	*out = p;
	return 0;
}

static void
link_down(struct tp_switch_port *p)
{
	struct tp_switch *sw = p->sw;

	p->link = p->st.link_up = false;
	sw->up &= ~(UINT64_C(1) << p->index);
	sw_flush(p, TP_SWITCH_DROP_LINK_DOWN);
	sw_mac_forget(sw, p->index, false);
	sw_pause_link(p);
}

/* Frames that came by the port and wait at others are charged to it: they are the next port's of that number. */
static void
disown(struct tp_switch *sw, unsigned int index)
{
	for (unsigned int i = 0; i < TP_SWITCH_PORTS; i++) {
		struct tp_switch_port *p = sw->port[i];

		for (unsigned int prio = 0; p != NULL && prio < TP_SWITCH_PRIOS; prio++)
			for (struct sw_buf *b = p->q[prio].head; b != NULL; b = b->next)
				if (b->in == index)
					b->in = TP_SWITCH_PORTS;
		if (p != NULL && p->current != NULL && p->current->in == index)
			p->current->in = TP_SWITCH_PORTS;
	}
}

void
tp_switch_port_remove(struct tp_switch_port *p)
{
	struct tp_switch *sw = p->sw;
	struct sw_buf *b;
	char err[TP_SWITCH_TEXT];

	pthread_mutex_lock(&sw->lock);
	link_down(p);
	sw_mac_forget(sw, p->index, true);
	while ((b = p->given.head) != NULL) {
		p->given.head = b->next;
		sw_buf_free(sw, b);
	}
	disown(sw, p->index);
	sw->port[p->index] = NULL;
	sw->num_ports--;
	sw_pools(&sw->cfg, sw->num_ports, &sw->shared_size, err);
	pthread_mutex_unlock(&sw->lock);
	free(p);
	tp_switch_put(sw);
}

unsigned int
tp_switch_port_number(const struct tp_switch_port *p)
{
	return p->index + 1u;
}

void
tp_switch_port_link(struct tp_switch_port *p, bool up)
{
	struct tp_switch *sw = p->sw;

	pthread_mutex_lock(&sw->lock);
	if (up && !p->link) {
		p->link = p->st.link_up = true;
		sw->up |= UINT64_C(1) << p->index;
		sw_changed(p);
	} else if (!up && p->link) {
		link_down(p);
	}
	pthread_mutex_unlock(&sw->lock);
}

/* --- time ------------------------------------------------------------------------------------------------------- */

void
sw_time(struct tp_switch *sw, uint64_t now_ns)
{
	uint64_t ps;

	if (!sw->started) {
		sw->started = true;
		sw->base_ns = now_ns;
	}
	if (now_ns < sw->base_ns)
		return;
	ps = (now_ns - sw->base_ns) * 1000;
	if (ps > sw->now_ps)
		sw->now_ps = ps;
	if (tpm_unlikely(sw->now_ps >= sw->macs.sweep_ps))
		sw_mac_age(sw);
}

void
tp_switch_step(struct tp_switch *sw, uint64_t now_ns)
{
	pthread_mutex_lock(&sw->lock);
	sw_time(sw, now_ns);
	pthread_mutex_unlock(&sw->lock);
}
