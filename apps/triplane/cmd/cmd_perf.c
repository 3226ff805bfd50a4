/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* show perf, for people, for programs and for DPDK's telemetry. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/triplane/fwd/perf.h"
#include "lib/roce/port/tel_uint.h"
#include "commands.h"

/* Who asks by telemetry waits, and so does a command that starts or stops forwarding. */
#define TELEMETRY_MS 100

/*
 * Receive and transmit queues that an answer of telemetry has, which ends after 16 KiB: 12 pairs of them take 15480 octets
 * when each number has 20 digits.
 */
#define TELEMETRY_QUEUES 12

static const char *const bin_names[FWD_BINS] = {"0",     "1",      "2-3",     "4-7",     "8-15", "16-31",
						"32-63", "64-127", "128-255", "256-511", "512"};

static double
ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static void
show_bins(struct out *o, const uint64_t bin[FWD_BINS])
{
	unsigned int i;

	out_object(o, "bursts");
	for (i = 0; i < FWD_BINS; i++)
		if (bin[i] != 0 || o->json)
			out_u64(o, bin_names[i], bin[i]);
	out_end(o);
}

static void
show_lcore(struct out *o, const struct perf_lcore *lc)
{
	out_u64(o, "lcore", lc->id);
	out_u64(o, "lcore_socket", (uint64_t)RTE_MAX(lc->socket, 0));
	if (lc->memory >= 0)
		out_u64(o, "memory_socket", (uint64_t)lc->memory);
	out_bool(o, "shares_cpu", lc->sharing >= 0);
	out_real(o, "waits_for_cpu_percent", 100 * lc->away, 1);
	out_real(o, "steal_percent", 100 * lc->stolen, 1);
	out_u64(o, "involuntary_switches", lc->switches);
}

static void
show_rx(struct out *o, const struct perf_rx *r)
{
	out_item(o, "rx_queue", r->queue);
	out_bool(o, "polled", r->polled);
	if (r->served)
		show_lcore(o, &r->lcore);
	out_u64(o, "packets", r->packets);
	out_u64(o, "polls", r->polls);
	out_real(o, "empty_polls_percent", 100 * ratio((double)r->bin[0], (double)r->polls), 1);
	out_real(o, "packets_per_poll", ratio((double)r->packets, (double)r->polls), 3);
	out_real(o, "burst_fill", ratio((double)r->packets, (double)(r->polls - r->bin[0])), 2);
	out_real(o, "full_bursts_percent", 100 * ratio((double)r->full, (double)(r->polls - r->bin[0])), 1);
	out_real(o, "cycles_per_packet", ratio((double)r->cycles, (double)r->packets), 1);
	out_u64(o, "ring", r->ring);
	if (r->seen) {
		out_real(o, "waiting", r->waiting, 1);
		out_u64(o, "waiting_max", r->waiting_max);
		out_u64(o, "refill_failures", r->nombuf);
	}
	show_bins(o, r->bin);
	out_end(o);
}

static void
show_tx(struct out *o, const struct perf_tx *t)
{
	out_item(o, "tx_queue", t->queue);
	if (t->served)
		show_lcore(o, &t->lcore);
	out_u64(o, "packets", t->sent);
	out_real(o, "burst_fill", ratio((double)t->sent, (double)t->doorbells), 2);
	out_real(o, "doorbells_per_packet", ratio((double)t->doorbells, (double)t->sent), 3);
	out_real(o, "blocked_bursts_percent", 100 * ratio((double)t->blocked, (double)t->bursts), 1);
	out_real(o, "blocked_time_percent", 100 * ratio((double)t->full_cycles, (double)(t->cycles + t->idle_cycles)),
		 1);
	if (t->seen)
		out_real(o, "ring_used_percent", 100 * t->used, 1);
	show_bins(o, t->bin);
	out_end(o);
}

static void
show_queues(struct out *o, const struct perf *p)
{
	uint16_t q;

	out_array(o, "rx_queues");
	for (q = 0; q < p->num_rx; q++)
		show_rx(o, &p->rx[q]);
	out_end(o);
	out_array(o, "tx_queues");
	for (q = 0; q < p->num_tx; q++)
		show_tx(o, &p->tx[q]);
	out_end(o);
}

static void
show(struct out *o, const struct perf *p)
{
	out_item(o, "port", p->port);
	out_str(o, "limit", perf_limit_names[p->limit]);
	out_str(o, "why", p->why);
	out_real(o, "seconds", p->seconds, 3);
	out_str(o, "link", p->link_up ? "up" : "down");
	out_u64(o, "speed_mbps", p->speed_mbps);
	out_real(o, "tx_mbps", ratio((double)p->tx_bytes * 8 / 1e6, p->seconds), 1);
	out_u64(o, "missed", p->missed);
	out_u64(o, "no_mbuf", p->nombuf);
	out_u64(o, "pause_frames", p->paused);
	show_queues(o, p);
	out_end(o);
}

static int
do_show_perf(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct app *app = arg;
	struct perf *p;
	struct out o;
	unsigned int i;
	char err[128];
	int ret = 0;

	if (!app->fwd_runs)
		return app_err(-EINVAL, "nothing to watch: forwarding does not run; 'start' first");
	for (i = 0; i < ports->n; i++)
		if (!app->port[ports->list[i]].started)
			return app_err(-ENETDOWN,
				       "port %u is not started; 'stop', 'port start %u' and 'start' let it take part",
				       ports->list[i], ports->list[i]);
	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < ports->n && ret == 0; i++) {
		ret = perf_measure(app, (uint16_t)ports->list[i], (unsigned int)cmd_num(a, "ms", PERF_MS_DEFAULT), &p,
				   err, sizeof(err));
		if (ret != 0)
			break;
		show(&o, p);
		free(p);
	}
	out_end(&o);
	out_done(&o);
	return ret == 0 ? 0 : app_err(ret, "port %u: %s", ports->list[i], err);
}

/* --- all the time ---------------------------------------------------------------------------------------------------- */

static int
do_show_total(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct app *app = arg;
	struct perf *p;
	struct out o;
	unsigned int i;
	char err[128];
	int ret = 0;

	if (app->fwd == NULL)
		return app_err(-EINVAL, "nothing was forwarded yet; 'start' first");
	if (cmd_has(a, "ms") && !app->fwd_runs)
		return app_err(-EINVAL, "nothing to watch: forwarding does not run; 'start' first");
	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < ports->n && ret == 0; i++) {
		const uint16_t id = (uint16_t)ports->list[i];

		if (cmd_has(a, "ms")) {
			ret = perf_measure(app, id, (unsigned int)cmd_num(a, "ms", 0), &p, err, sizeof(err));
		} else {
			p = perf_total(app, id);
			ret = p == NULL ? -ENOMEM : 0;
			snprintf(err, sizeof(err), "no memory for the report");
		}
		if (ret != 0)
			break;
		out_item(&o, "port", id);
		out_real(&o, "seconds", p->seconds, 3);
		show_queues(&o, p);
		out_end(&o);
		free(p);
	}
	out_end(&o);
	out_done(&o);
	return ret == 0 ? 0 : app_err(ret, "port %u: %s", ports->list[i], err);
}

static int
do_clear_total(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	int ret;

	(void)a;
	if (app->fwd == NULL)
		return app_err(-EINVAL, "nothing was forwarded yet; 'start' first");
	pthread_mutex_lock(&app->fwd_lock);
	ret = perf_total_clear(app);
	pthread_mutex_unlock(&app->fwd_lock);
	return ret == 0 ? 0 : app_err(ret, "no memory for it");
}

static const struct cmd table[] = {
	{"Show", "show perfstats {ports:ports} [{ms:10..60000}]",
	 "Shows bursts by size and packets a poll of each queue, since forwarding began or since they were cleared; "
	 "with "
	 "ms, of so many milliseconds from now on.",
	 do_show_total, true},
	{"Show", "clear perfstats", "Lets them begin at zero, for all ports.", do_clear_total, false},

	{"Show", "show perf {ports:ports} [{ms:10..60000}]",
	 "Watches ports while they forward, for so many milliseconds (500): what their queues and lcores do, and what "
	 "limits the packet rate.",
	 do_show_perf, true},
};

int
cmd_perf_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}

/* Names have letters, digits and underscores only: "bursts_16_to_31". */
static void
tell_bins(struct rte_tel_data *d, const uint64_t bin[FWD_BINS])
{
	const char *dash;
	char name[32];
	unsigned int i;

	for (i = 0; i < FWD_BINS; i++) {
		dash = strchr(bin_names[i], '-');
		if (dash == NULL)
			snprintf(name, sizeof(name), "bursts_%s", bin_names[i]);
		else
			snprintf(name, sizeof(name), "bursts_%.*s_to_%s", (int)(dash - bin_names[i]), bin_names[i],
				 dash + 1);
		tel_dict_uint(d, name, bin[i]);
	}
}

static void
tell_queue(struct rte_tel_data *d, const char *kind, uint16_t queue, const struct rte_tel_data *fields)
{
	char name[32];

	snprintf(name, sizeof(name), "%s_queue_%u", kind, queue);
	rte_tel_data_add_dict_container(d, name, (struct rte_tel_data *)(uintptr_t)fields, 0);
}

/* Whether there was room for it; so of a transmit queue. */
static bool
tell_rx(struct rte_tel_data *d, uint16_t queue, const struct perf_rx *r)
{
	struct rte_tel_data *f = rte_tel_data_alloc();

	if (f == NULL)
		return false;
	rte_tel_data_start_dict(f);
	tel_dict_uint(f, "lcore", r->lcore.id);
	tel_dict_uint(f, "packets", r->packets);
	tel_dict_uint(f, "polls", r->polls);
	tel_dict_uint(f, "empty_polls", r->bin[0]);
	tel_dict_uint(f, "full_bursts", r->full);
	tel_dict_uint(f, "waiting_max", r->waiting_max);
	tel_dict_uint(f, "refill_failures", r->nombuf);
	tell_bins(f, r->bin);
	tell_queue(d, "rx", queue, f);
	return true;
}

static bool
tell_tx(struct rte_tel_data *d, uint16_t queue, const struct perf_tx *t)
{
	struct rte_tel_data *f = rte_tel_data_alloc();

	if (f == NULL)
		return false;
	rte_tel_data_start_dict(f);
	tel_dict_uint(f, "lcore", t->lcore.id);
	tel_dict_uint(f, "packets", t->sent);
	tel_dict_uint(f, "bursts", t->bursts);
	tel_dict_uint(f, "blocked_bursts", t->blocked);
	tel_dict_uint(f, "blocked_cycles", t->full_cycles);
	tel_dict_uint(f, "doorbells", t->doorbells);
	tell_bins(f, t->bin);
	tell_queue(d, "tx", queue, f);
	return true;
}

static void
tell_port(struct rte_tel_data *d, const struct perf *p)
{
	unsigned int told = 0;
	uint16_t q;

	for (q = 0; q < p->num_rx && q < TELEMETRY_QUEUES; q++)
		told += tell_rx(d, q, &p->rx[q]);
	for (q = 0; q < p->num_tx && q < TELEMETRY_QUEUES; q++)
		told += tell_tx(d, q, &p->tx[q]);
	tel_dict_uint(d, "rx_queues", p->num_rx);
	tel_dict_uint(d, "tx_queues", p->num_tx);
	tel_dict_uint(d, "queues_left_out", p->num_rx + p->num_tx - told);
}

static int
tell_pair(struct rte_tel_data *d, const struct perf *p, unsigned long queue)
{
	if (queue >= p->num_rx && queue >= p->num_tx)
		return -EINVAL;
	if ((queue < p->num_rx && !tell_rx(d, (uint16_t)queue, &p->rx[queue])) ||
	    (queue < p->num_tx && !tell_tx(d, (uint16_t)queue, &p->tx[queue])))
		return -ENOMEM;
	return 0;
}

/* A number and what stands behind it. */
static bool
number(const char *text, char behind, unsigned long *n)
{
	char *end;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return false;
	*n = strtoul(text, &end, 10);
	return *end == behind;
}

/* Telemetry's functions have no argument of their own. */
static struct app *telemetry_app;

/* port[,queue]: false when it is something else. */
static bool
wanted(const char *params, unsigned long *port, unsigned long *queue, bool *one)
{
	const char *comma = params == NULL ? NULL : strchr(params, ',');

	*one = comma != NULL;
	*queue = 0;
	return number(params, comma == NULL ? '\0' : ',', port) && *port < RTE_MAX_ETHPORTS &&
	       (comma == NULL || number(comma + 1, '\0', queue));
}

static int
telemetry_total(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct app *app = telemetry_app;
	struct perf *p = NULL;
	unsigned long port, queue;
	int ret = -EINVAL;
	bool one;

	(void)cmd;
	if (!wanted(params, &port, &queue, &one))
		return -EINVAL;
	pthread_mutex_lock(&app->fwd_lock);
	if (app->fwd != NULL && app->port[port].present) {
		p = perf_total(app, (uint16_t)port);
		ret = p == NULL ? -ENOMEM : 0;
	}
	pthread_mutex_unlock(&app->fwd_lock);
	if (ret == 0) {
		rte_tel_data_start_dict(d);
		tel_dict_uint(d, "milliseconds", (uint64_t)(p->seconds * 1000));
		if (one)
			ret = tell_pair(d, p, queue);
		else
			tell_port(d, p);
	}
	free(p);
	return ret;
}

static int
telemetry(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct app *app = telemetry_app;
	struct perf *p = NULL;
	unsigned long port, queue;
	int ret = -EINVAL;
	char err[128];
	bool one;

	(void)cmd;
	if (!wanted(params, &port, &queue, &one))
		return -EINVAL;
	rte_tel_data_start_dict(d);
	pthread_mutex_lock(&app->fwd_lock);
	if (app->fwd_runs && app->port[port].started)
		ret = perf_measure(app, (uint16_t)port, TELEMETRY_MS, &p, err, sizeof(err));
	pthread_mutex_unlock(&app->fwd_lock);
	if (ret == 0 && !one) {
		rte_tel_data_add_dict_string(d, "limit", perf_limit_names[p->limit]);
		rte_tel_data_add_dict_string(d, "why", p->why);
		tel_dict_uint(d, "missed", p->missed);
		tel_dict_uint(d, "no_mbuf", p->nombuf);
		tell_port(d, p);
	} else if (ret == 0)
		ret = tell_pair(d, p, queue);
	free(p);
	return ret;
}

void
perf_telemetry(struct app *app)
{
	telemetry_app = app;
	rte_telemetry_register_cmd(
		"/triplane/perf", telemetry,
		"What limits the packet rate of a port that forwards, and its first queues; or one of its "
		"queues. Parameters: port[,queue]");
	rte_telemetry_register_cmd(
		"/triplane/perfstats", telemetry_total,
		"Bursts of a port's queues by size since forwarding began or they were cleared. Parameters: "
		"port[,queue]");
}
