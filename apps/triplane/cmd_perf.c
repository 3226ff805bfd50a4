/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* show perf, for people, for programs and for DPDK's telemetry. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"
#include "tel_uint.h"

/* Who asks by telemetry waits, and so does a command that starts or stops forwarding. */
#define TELEMETRY_MS 100

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
}

static void
show_rx(struct out *o, const struct perf_rx *r)
{
	out_item(o, "rx_queue", r->queue);
	out_bool(o, "polled", r->polls != 0);
	if (r->served)
		show_lcore(o, &r->lcore);
	out_u64(o, "packets", r->packets);
	out_u64(o, "polls", r->polls);
	out_real(o, "empty_polls_percent", 100 * ratio((double)r->bin[0], (double)r->polls), 1);
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
show(struct out *o, const struct perf *p)
{
	uint16_t q;

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
	out_array(o, "rx_queues");
	for (q = 0; q < p->num_rx; q++)
		show_rx(o, &p->rx[q]);
	out_end(o);
	out_array(o, "tx_queues");
	for (q = 0; q < p->num_tx; q++)
		show_tx(o, &p->tx[q]);
	out_end(o);
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
			return app_err(-ENETDOWN, "port %u is not started", ports->list[i]);
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

static const struct cmd table[] = {
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
		tp_tel_dict_uint(d, name, bin[i]);
	}
}

static void
tell_queue(struct rte_tel_data *d, const char *kind, uint16_t queue, const struct rte_tel_data *fields)
{
	char name[32];

	snprintf(name, sizeof(name), "%s_queue_%u", kind, queue);
	rte_tel_data_add_dict_container(d, name, (struct rte_tel_data *)(uintptr_t)fields, 0);
}

static void
tell(struct rte_tel_data *d, const struct perf *p)
{
	struct rte_tel_data *f;
	uint16_t q;

	rte_tel_data_add_dict_string(d, "limit", perf_limit_names[p->limit]);
	rte_tel_data_add_dict_string(d, "why", p->why);
	tp_tel_dict_uint(d, "missed", p->missed);
	tp_tel_dict_uint(d, "no_mbuf", p->nombuf);
	for (q = 0; q < p->num_rx && (f = rte_tel_data_alloc()) != NULL; q++) {
		rte_tel_data_start_dict(f);
		tp_tel_dict_uint(f, "lcore", p->rx[q].lcore.id);
		tp_tel_dict_uint(f, "packets", p->rx[q].packets);
		tp_tel_dict_uint(f, "polls", p->rx[q].polls);
		tp_tel_dict_uint(f, "empty_polls", p->rx[q].bin[0]);
		tp_tel_dict_uint(f, "full_bursts", p->rx[q].full);
		tp_tel_dict_uint(f, "waiting_max", p->rx[q].waiting_max);
		tp_tel_dict_uint(f, "refill_failures", p->rx[q].nombuf);
		tell_bins(f, p->rx[q].bin);
		tell_queue(d, "rx", q, f);
	}
	for (q = 0; q < p->num_tx && (f = rte_tel_data_alloc()) != NULL; q++) {
		rte_tel_data_start_dict(f);
		tp_tel_dict_uint(f, "lcore", p->tx[q].lcore.id);
		tp_tel_dict_uint(f, "packets", p->tx[q].sent);
		tp_tel_dict_uint(f, "bursts", p->tx[q].bursts);
		tp_tel_dict_uint(f, "blocked_bursts", p->tx[q].blocked);
		tp_tel_dict_uint(f, "blocked_cycles", p->tx[q].full_cycles);
		tp_tel_dict_uint(f, "doorbells", p->tx[q].doorbells);
		tell_bins(f, p->tx[q].bin);
		tell_queue(d, "tx", q, f);
	}
}

/* Telemetry's functions have no argument of their own. */
static struct app *telemetry_app;

static int
telemetry(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct app *app = telemetry_app;
	struct perf *p = NULL;
	unsigned long port;
	char err[128], *end;
	int ret = -EINVAL;

	(void)cmd;
	if (params == NULL)
		return -EINVAL;
	port = strtoul(params, &end, 10);
	if (end == params || *end != '\0' || port >= RTE_MAX_ETHPORTS)
		return -EINVAL;
	rte_tel_data_start_dict(d);
	pthread_mutex_lock(&app->fwd_lock);
	if (app->fwd_runs && app->port[port].started)
		ret = perf_measure(app, (uint16_t)port, TELEMETRY_MS, &p, err, sizeof(err));
	pthread_mutex_unlock(&app->fwd_lock);
	if (ret == 0)
		tell(d, p);
	free(p);
	return ret;
}

void
perf_telemetry(struct app *app)
{
	telemetry_app = app;
	rte_telemetry_register_cmd("/triplane/perf", telemetry,
				   "What limits the packet rate of a port that forwards. Parameter: port");
}
