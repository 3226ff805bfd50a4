/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* show and clear. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_ring.h>

#include "apps/triplane/app/app.h"
#include "apps/triplane/fwd/fwd.h"
#include "apps/triplane/port/port.h"
#include "apps/triplane/fwd/live.h"
#include "commands.h"

static void
show_info(const struct app *app, const struct app_port *p, struct out *o)
{
	char name[RTE_ETH_NAME_MAX_LEN] = "", fw[64] = "";
	struct rte_ether_addr mac = {{0}};
	struct rte_eth_dev_info info;
	struct rte_eth_link link;
	uint16_t mtu = 0;

	rte_eth_dev_get_name_by_port(p->id, name);
	rte_eth_macaddr_get(p->id, &mac);
	if (rte_eth_link_get_nowait(p->id, &link) != 0)
		memset(&link, 0, sizeof(link));
	rte_eth_dev_get_mtu(p->id, &mtu);
	out_str(o, "name", name);
	if (rte_eth_dev_info_get(p->id, &info) == 0) {
		out_str(o, "driver", info.driver_name);
		out_u64(o, "min_mtu", info.min_mtu);
		out_u64(o, "max_mtu", info.max_mtu);
		out_u64(o, "max_rx_queues", info.max_rx_queues);
		out_u64(o, "max_tx_queues", info.max_tx_queues);
		out_u64(o, "min_rx_desc", info.rx_desc_lim.nb_min);
		out_u64(o, "max_rx_desc", info.rx_desc_lim.nb_max);
		out_u64(o, "min_tx_desc", info.tx_desc_lim.nb_min);
		out_u64(o, "max_tx_desc", info.tx_desc_lim.nb_max);
		out_u64(o, "max_mac_addrs", info.max_mac_addrs);
		out_u64(o, "reta_size", info.reta_size);
		out_u64(o, "rss_key_size", info.hash_key_size);
	}
	if (rte_eth_dev_fw_version_get(p->id, fw, sizeof(fw)) == 0)
		out_str(o, "firmware", fw);
	out_mac(o, "mac", &mac);
	out_u64(o, "mtu", mtu);
	out_bool(o, "started", p->started);
	out_bool(o, "removed", rte_eth_dev_is_removed(p->id) == 1);
	out_str(o, "link", link.link_status == RTE_ETH_LINK_UP ? "up" : "down");
	out_u64(o, "speed_mbps", link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed);
	out_bool(o, "promiscuous", rte_eth_promiscuous_get(p->id) == 1);
	out_bool(o, "allmulticast", rte_eth_allmulticast_get(p->id) == 1);
	out_u64(o, "rx_queues", p->rxq);
	out_u64(o, "tx_queues", p->txq);
	out_u64(o, "rx_desc", p->rxd);
	out_u64(o, "tx_desc", p->txd);
	out_str(o, "mode", fwd_modes[p->mode].name);
	out_u64(o, "peer", p->peer);
	(void)app;
}

static int
show_stats(const struct app_port *p, struct out *o)
{
	struct rte_eth_stats st;
	int ret = rte_eth_stats_get(p->id, &st);

	if (ret != 0)
		return app_err(ret, "port %u: statistics: %s", p->id, port_error(p->id, ret));
	out_u64(o, "rx_packets", st.ipackets);
	out_u64(o, "tx_packets", st.opackets);
	out_u64(o, "rx_bytes", st.ibytes);
	out_u64(o, "tx_bytes", st.obytes);
	out_u64(o, "rx_missed", st.imissed);
	out_u64(o, "rx_errors", st.ierrors);
	out_u64(o, "tx_errors", st.oerrors);
	out_u64(o, "rx_nombuf", st.rx_nombuf);
	return 0;
}

static int
show_xstats(const struct app_port *p, struct out *o)
{
	int n = rte_eth_xstats_get_names(p->id, NULL, 0), i, got = n, ret = 0;
	struct rte_eth_xstat_name *names;
	struct rte_eth_xstat *values;

	if (n < 0)
		return app_err(n, "port %u: extended statistics: %s", p->id, port_error(p->id, n));
	names = calloc((size_t)n + 1, sizeof(*names));
	values = calloc((size_t)n + 1, sizeof(*values));
	if (names != NULL && values != NULL) {
		got = rte_eth_xstats_get_names(p->id, names, (unsigned int)n);
		if (got == n)
			got = rte_eth_xstats_get(p->id, values, (unsigned int)n);
	}
	if (names == NULL || values == NULL)
		ret = app_err(-ENOMEM, "port %u: no memory for %d statistics", p->id, n);
	else if (got < 0)
		ret = app_err(got, "port %u: extended statistics: %s", p->id, port_error(p->id, got));
	else if (got != n)
		ret = app_err(-EIO, "port %u: the device changed its mind about %d statistics", p->id, n);
	for (i = 0; ret == 0 && i < n; i++)
		out_u64(o, names[values[i].id].name, values[i].value);
	free(names);
	free(values);
	return ret;
}

static void
show_queues(const struct app *app, const struct app_port *p, struct out *o)
{
	const struct fwd *fwd = app->fwd;
	struct rte_eth_rxq_info rx;
	unsigned int i;
	uint16_t q;

	out_array(o, "rx_queues");
	for (q = 0; p->configured && q < p->rxq; q++) {
		out_item(o, "rx_queue", q);
		if (rte_eth_rx_queue_info_get(p->id, q, &rx) == 0)
			out_u64(o, "descriptors", rx.nb_desc);
		else
			out_u64(o, "descriptors", p->rxd);
		for (i = 0; fwd != NULL && i < fwd->num_streams; i++) {
			const struct fwd_stream *s = &fwd->stream[i];

			if (s->rx_port != p->id || s->rx_queue != q || !fwd_polls(s))
				continue;
			out_u64(o, "lcore", fwd->lcore[s->lcore].id);
			out_u64(o, "packets", stat_read(&s->stats.rx));
		}
		out_end(o);
	}
	out_end(o);
	out_array(o, "tx_queues");
	for (q = 0; p->configured && q < p->txq; q++) {
		out_item(o, "tx_queue", q);
		out_u64(o, "descriptors", p->txd);
		out_end(o);
	}
	out_end(o);
}

static int
do_show_port(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct app *app = arg;
	struct out o;
	unsigned int i;
	int ret = 0;

	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < ports->n && ret == 0; i++) {
		const struct app_port *p = &app->port[ports->list[i]];

		out_item(&o, "port", p->id);
		if (cmd_is(a, "what", "info"))
			show_info(app, p, &o);
		else if (cmd_is(a, "what", "stats"))
			ret = show_stats(p, &o);
		else if (cmd_is(a, "what", "xstats"))
			ret = show_xstats(p, &o);
		else
			show_queues(app, p, &o);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
	return ret;
}

static void
show_reserve(const struct fwd_stream *s, struct out *o)
{
	if (s->reserve == NULL)
		return;
	out_u64(o, "reserve", s->reserve->size);
	out_u64(o, "reserve_waiting", rte_ring_count(s->reserve->ring));
	out_u64(o, "reserve_most", stat_read(&s->reserve->most));
	out_u64(o, "reserve_full", stat_read(&s->reserve->full));
}

/* Of a mode that looks at checksums. */
static void
show_sums(const struct fwd_stream *s, struct out *o)
{
	static const char *const names[] = {"rx_ip_sum_good", "rx_ip_sum_bad", "rx_l4_sum_good", "rx_l4_sum_bad"};
	unsigned int i;

	if (strcmp(s->mode->name, "csum") != 0)
		return;
	for (i = 0; i < RTE_DIM(names); i++)
		out_u64(o, names[i], stat_read(&s->stats.sums[i]));
}

static int
do_show_fwd(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct fwd *plan = NULL;
	const struct fwd *fwd = app->fwd;
	struct out o;
	unsigned int i, k;
	int ret;

	if (!app->fwd_runs) {
		ret = fwd_plan(app, &plan);
		if (ret != 0)
			return ret;
		fwd = plan;
	}
	out_init(&o, stdout, app->json || a->json);
	out_bool(&o, "running", app->fwd_runs);
	out_u64(&o, "burst", app->burst);
	out_array(&o, "lcores");
	for (i = 0; i < fwd->num_lcores; i++) {
		if (fwd->lcore[i].num == 0)
			continue;
		out_item(&o, "lcore", fwd->lcore[i].id);
		out_u64(&o, "rounds", stat_read(&fwd->lcore[i].rounds));
		out_u64(&o, "sleeps", stat_read(&fwd->lcore[i].sleeps));
		out_u64(&o, "interrupts", stat_read(&fwd->lcore[i].wakes));
		out_array(&o, "streams");
		for (k = 0; k < fwd->lcore[i].num; k++) {
			const struct fwd_stream *s = fwd->lcore[i].stream[k];

			out_item(&o, "stream", (uint64_t)(s - fwd->stream));
			out_str(&o, "mode", s->mode->name);
			out_u64(&o, "rx_port", s->rx_port);
			out_u64(&o, "rx_queue", s->rx_queue);
			if (s->mode->sends) {
				out_u64(&o, "tx_port", s->tx_port);
				out_u64(&o, "tx_queue", s->tx_queue);
			}
			out_u64(&o, "rx_packets", stat_read(&s->stats.rx));
			out_u64(&o, "tx_packets", stat_read(&s->stats.tx));
			out_u64(&o, "dropped", stat_read(&s->stats.drop));
			show_sums(s, &o);
			show_reserve(s, &o);
			out_end(&o);
		}
		out_end(&o);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
	fwd_free(plan);
	return 0;
}

static int
do_show_summary(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;

	if (app->fwd == NULL)
		return app_err(-EINVAL, "nothing was forwarded yet; 'start' first");
	live_summary(app, app->json || a->json);
	return 0;
}

static int
do_clear(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	bool x = cmd_is(a, "what", "xstats");
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ports->n && ret == 0; i++) {
		uint16_t id = (uint16_t)ports->list[i];

		ret = live_clear(arg, id, x);
		if (ret != 0)
			app_err(ret, "port %u: clear %s: %s", id, cmd_text(a, "what"), port_error(id, ret));
	}
	return ret;
}

static const struct cmd table[] = {
	{"Show", "show port {what:info|stats|xstats|queues} {ports:ports}", "Shows ports.", do_show_port, true},
	{"Show", "show fwd", "Shows which lcore serves which queues, and the counters.", do_show_fwd, true},
	{"Show", "show config fwd", "The same as show fwd.", do_show_fwd, true},
	{"Show", "show summary", "Shows rates and totals since the start of forwarding.", do_show_summary, true},
	{"Show", "clear port {what:stats|xstats} {ports:ports}", "Sets counters of ports to zero.", do_clear, false},
};

int
cmd_show_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
