/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* InfiniBand switches by name, their ports, and the wire that leads from a card to one. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/fabric/plug.h"
#include "model/frame/frame.h"
#include "model/ib/ib.h"
#include "ibsw.h"

#define PORTS_DEFAULT 8u
#define CREDIT_MIN 4608u
#define CREDIT_MAX (1u << 24)
#define CREDIT_DEFAULT 65536u
#define GUID_BASE UINT64_C(0x0002c90500000000) /* the rest is made of the name */

/* All switches of the process. Taken before a switch's own lock. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ibsw *list;

_Static_assert(TP_IBSWITCH_TEXT >= TPM_PLUG_TEXT, "a refusal fits");

/* What a specification asks for; 0 or NULL: nothing. */
struct words {
	uint64_t ports, guid, credit, port;
	const char *capture;
};

/* --- life ------------------------------------------------------------------------------------------------- */

static bool
name_valid(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n >= TP_IBSWITCH_NAME)
		return false;
	for (; *name != '\0'; name++)
		if (!isalnum((unsigned char)*name) && strchr("._-", *name) == NULL)
			return false;
	return true;
}

static uint64_t
guid_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name != '\0'; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return GUID_BASE | hash;
}

static struct ibsw *
find(const char *name)
{
	struct ibsw *sw = list;

	while (sw != NULL && strcmp(sw->name, name) != 0)
		sw = sw->next;
	return sw;
}

static struct ibsw *
create(const char *name, const struct words *w)
{
	struct ibsw *sw = calloc(1, sizeof(*sw));

	if (sw == NULL)
		return NULL;
	snprintf(sw->name, sizeof(sw->name), "%s", name);
	sw->num_ports = w->ports != 0 ? (uint32_t)w->ports : PORTS_DEFAULT;
	sw->credit = w->credit != 0 ? (uint32_t)w->credit : CREDIT_DEFAULT;
	sw->guid = w->guid != 0 ? w->guid : guid_of(name);
	ibsw_info_init(sw);
	pthread_mutex_init(&sw->lock, NULL);
	sw->next = list;
	list = sw;
	return sw;
}

static void
release(struct ibsw *sw)
{
	struct ibsw **at = &list;

	if (--sw->refs != 0)
		return;
	while (*at != sw)
		at = &(*at)->next;
	*at = sw->next;
	pthread_mutex_destroy(&sw->lock);
	free(sw);
}

static void
port_remove(void *port)
{
	struct ibsw_port *p = port;
	struct ibsw *sw = p->sw;
	struct tp_frame f;

	pthread_mutex_lock(&list_lock);
	pthread_mutex_lock(&sw->lock);
	ibsw_link(p, false);
	ibsw_flush(p);
	ibsw_take(p, 0, &f, 0); /* what was given back */
	/* What came by this port waits at others and goes on, charged to whoever is plugged in here next. */
	if (p->capture != NULL)
		fclose(p->capture);
	p->capture = NULL;
	p->used = false;
	pthread_mutex_unlock(&sw->lock);
	release(sw);
	pthread_mutex_unlock(&list_lock);
}

/* --- the wire --------------------------------------------------------------------------------------------- */

static struct ibsw_port *
far_port(struct tp_wire *w)
{
	return ((struct tpm_plug *)w)->port;
}

static uint64_t
far_now(struct tp_wire *w)
{
	return tpm_now(((struct tpm_plug *)w)->m);
}

static unsigned int
wire_send(struct tp_wire *w, const struct tp_frame *f, unsigned int n)
{
	struct ibsw_port *p = far_port(w);

	pthread_mutex_lock(&p->sw->lock);
	for (unsigned int i = 0; i < n; i++)
		ibsw_receive(p, far_now(w), &f[i]);
	pthread_mutex_unlock(&p->sw->lock);
	return n;
}

/* The switch is not locked while the card receives: a card may answer at once. */
static unsigned int
wire_poll(struct tp_wire *w, struct tp_model *m, unsigned int port, unsigned int budget)
{
	struct ibsw_port *p = far_port(w);
	unsigned int total = 0, got;

	do {
		struct tp_frame f[TPM_BURST];
		unsigned int want = budget - total < TPM_BURST ? budget - total : TPM_BURST;

		pthread_mutex_lock(&p->sw->lock);
		got = ibsw_take(p, tpm_now(m), f, want);
		pthread_mutex_unlock(&p->sw->lock);
		tp_model_port_receive(m, port, f, got);
		total += got;
	} while (got == TPM_BURST && total < budget);
	return total;
}

/* The switch's end is there unless its port was told to be down. */
static bool
wire_link(struct tp_wire *w)
{
	struct ibsw_port *p = far_port(w);
	bool up;

	pthread_mutex_lock(&p->sw->lock);
	if (!p->link)
		p->ib.retrain = false;
	up = !p->ib.disabled && !p->ib.retrain;
	pthread_mutex_unlock(&p->sw->lock);
	return up;
}

static uint32_t
wire_train(struct tp_wire *w, uint32_t speeds)
{
	struct ibsw_port *p = far_port(w);

	pthread_mutex_lock(&p->sw->lock);
	tpm_ib_train(&p->ib, speeds);
	speeds &= tpm_ib_speeds(&p->ib);
	pthread_mutex_unlock(&p->sw->lock);
	return speeds;
}

static void
wire_carrier(struct tp_wire *w, bool up)
{
	struct ibsw_port *p = far_port(w);

	pthread_mutex_lock(&p->sw->lock);
	ibsw_link(p, up);
	pthread_mutex_unlock(&p->sw->lock);
}

static bool
wire_room(struct tp_wire *w, uint8_t vl, uint32_t len)
{
	struct ibsw_port *p = far_port(w);
	bool room;

	pthread_mutex_lock(&p->sw->lock);
	room = ibsw_room(p, far_now(w), vl, len);
	pthread_mutex_unlock(&p->sw->lock);
	return room;
}

/* --- specifications --------------------------------------------------------------------------------------- */

static int
number(const char *word, int base, uint64_t min, uint64_t max, uint64_t *out, char err[TP_IBSWITCH_TEXT])
{
	const char *text = strchr(word, ':') + 1;
	char *end;

	errno = 0;
	*out = strtoull(text, &end, base);
	if (errno == 0 && isxdigit((unsigned char)text[0]) && *end == '\0' && *out >= min && *out <= max)
		return 0;
	snprintf(err, TP_IBSWITCH_TEXT, "'%.60s': wanted %" PRIu64 "..%" PRIu64 "%s", word, min, max,
		 base == 16 ? " in hexadecimal" : "");
	return -EINVAL;
}

static int
one_word(const char *word, struct words *w, char err[TP_IBSWITCH_TEXT])
{
	if (strncmp(word, "ports:", 6) == 0)
		return number(word, 10, 1, TP_IBSWITCH_PORTS, &w->ports, err);
	if (strncmp(word, "guid:", 5) == 0)
		return number(word, 16, 1, UINT64_MAX, &w->guid, err);
	if (strncmp(word, "credit:", 7) == 0)
		return number(word, 10, CREDIT_MIN, CREDIT_MAX, &w->credit, err);
	if (strncmp(word, "port:", 5) == 0)
		return number(word, 10, 1, TP_IBSWITCH_PORTS, &w->port, err);
	snprintf(err, TP_IBSWITCH_TEXT, "'%.60s': wanted KEY:VALUE with ports guid credit port capture", word);
	return -EINVAL;
}

/* Cuts spec in place; *name is what stands in front. A file's name has slashes of its own and comes last. */
static int
parse(char *spec, const char **name, struct words *w, char err[TP_IBSWITCH_TEXT])
{
	char *capture = strstr(spec, "/capture:"), *save = NULL, *word;
	int rc = 0;

	if (capture != NULL) {
		*capture = '\0';
		w->capture = capture + strlen("/capture:");
	}
	*name = strtok_r(spec, "/", &save);
	if (*name == NULL || !name_valid(*name)) {
		snprintf(err, TP_IBSWITCH_TEXT,
			 "IB switch '%.40s': wanted a name of 1..%u letters, digits, '.', '_', '-'",
			 *name == NULL ? "" : *name, TP_IBSWITCH_NAME - 1);
		return -EINVAL;
	}
	while (rc == 0 && (word = strtok_r(NULL, "/", &save)) != NULL)
		rc = one_word(word, w, err);
	return rc;
}

/* A port of the switch; what a first port said of the switch stays. */
static int
port_add(struct ibsw *sw, const struct words *w, struct ibsw_port **out, char err[TP_IBSWITCH_TEXT])
{
	unsigned int i = w->port != 0 ? (unsigned int)w->port : 1;
	int rc = 0;

	while (w->port == 0 && i <= sw->num_ports && sw->port[i].used)
		i++;
	if (i > sw->num_ports) {
		snprintf(err, TP_IBSWITCH_TEXT, "IB switch %s: port %u, it has 1..%u", sw->name, i, sw->num_ports);
		return -ENOSPC;
	}
	if (sw->port[i].used) {
		snprintf(err, TP_IBSWITCH_TEXT, "IB switch %s: port %u is taken", sw->name, i);
		return -EEXIST;
	}
	if (w->capture != NULL)
		rc = ibsw_capture_open(&sw->port[i], w->capture);
	if (rc != 0) {
		snprintf(err, TP_IBSWITCH_TEXT, "capture '%.80s': %s", w->capture, strerror(-rc));
		return rc;
	}
	sw->port[i].used = true;
	sw->refs++;
	*out = &sw->port[i];
	return 0;
}

static int
port_make(char *text, void **port, char err[TPM_PLUG_TEXT])
{
	struct words w = {0};
	struct ibsw_port *p = NULL;
	const char *name;
	struct ibsw *sw;
	int rc = parse(text, &name, &w, err);

	if (rc != 0)
		return rc;
	rc = -ENOMEM;
	pthread_mutex_lock(&list_lock);
	sw = find(name);
	if (sw == NULL)
		sw = create(name, &w);
	if (sw == NULL) {
		snprintf(err, TPM_PLUG_TEXT, "IB switch %s: no memory", name);
	} else {
		sw->refs++;
		pthread_mutex_lock(&sw->lock);
		rc = port_add(sw, &w, &p, err);
		pthread_mutex_unlock(&sw->lock);
		release(sw);
	}
	pthread_mutex_unlock(&list_lock);
	*port = p;
	return rc;
}

static const struct tpm_plug_kind plug_kind = {.ops = {.name = "ibswitch",
						       .media = TP_WIRE_IB,
						       .send = wire_send,
						       .poll = wire_poll,
						       .link = wire_link,
						       .carrier = wire_carrier,
						       .train = wire_train,
						       .room = wire_room,
						       .destroy = tpm_plug_destroy},
					       .make = port_make,
					       .remove = port_remove};

int
tp_model_wire_ibswitch(struct tp_model *m, unsigned int port, const char *spec, char err[TP_IBSWITCH_TEXT])
{
	return tpm_plug(m, port, spec, &plug_kind, err);
}

/* --- watching --------------------------------------------------------------------------------------------- */

unsigned int
tp_ibswitch_list(char names[][TP_IBSWITCH_NAME], unsigned int max)
{
	unsigned int n = 0;

	pthread_mutex_lock(&list_lock);
	for (const struct ibsw *sw = list; sw != NULL; sw = sw->next, n++)
		if (n < max)
			memcpy(names[n], sw->name, TP_IBSWITCH_NAME);
	pthread_mutex_unlock(&list_lock);
	return n;
}

static void
port_counters(const struct ibsw_port *p, void (*fn)(void *arg, const char *counter, uint64_t value), void *arg)
{
	const struct tpm_ib_counters *c = &p->ib.pm.c;
	const struct {
		const char *name;
		uint64_t value;
	} t[] = {{"state", p->ib.state},
		 {"tx_packets", c->tx_packets},
		 {"tx_bytes", c->tx_bytes},
		 {"rx_packets", c->rx_packets},
		 {"rx_bytes", c->rx_bytes},
		 {"rcv_errors", c->rcv_errors},
		 {"relay_errors", c->relay_errors},
		 {"xmit_discards", c->xmit_discards},
		 {"vl15_dropped", c->vl15_dropped},
		 {"rcv_constraint", c->rcv_constraint},
		 {"rcv_not_armed", p->not_armed},
		 {"xmit_constraint", c->xmit_constraint},
		 {"xmit_wait", c->xmit_wait},
		 {"link_downed", c->link_downed}};
	char name[48];

	for (unsigned int i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		snprintf(name, sizeof(name), "port%u.%s", p->num, t[i].name);
		fn(arg, name, t[i].value);
	}
}

int
tp_ibswitch_each_counter(const char *name, void (*fn)(void *arg, const char *counter, uint64_t value), void *arg)
{
	struct ibsw *sw;

	pthread_mutex_lock(&list_lock);
	sw = find(name);
	if (sw != NULL) {
		pthread_mutex_lock(&sw->lock);
		for (unsigned int i = 1; i <= sw->num_ports; i++)
			if (sw->port[i].used)
				port_counters(&sw->port[i], fn, arg);
		pthread_mutex_unlock(&sw->lock);
	}
	pthread_mutex_unlock(&list_lock);
	return sw != NULL ? 0 : -ENOENT;
}
