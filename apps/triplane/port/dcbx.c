/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* DCBX agents in the program: their life with the port, their stream, and who applies what they learnt. */
#include <errno.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_cycles.h>

#include <rte_pmd_mlx4_qos.h>
#include <tp_dcbx_port.h>

#include "dcbx.h"
#include "port.h"

#define TICK_US 50000u
#define TICK_BURST 32u
#define TICK_BURSTS 256u /* as many frames as a receive ring may hold */

/* On the EAL's thread: the port's control operations take their time, and an lcore has none. */
static void
apply(void *arg)
{
	(void)tp_dcbx_apply(arg);
}

/*
 * On the EAL's thread while nothing is forwarded: what an lcore does else. Frames that are not the agent's have no
 * taker then.
 */
static void
tick(void *arg)
{
	struct app_port *p = arg;
	struct rte_mbuf *m[TICK_BURST];
	uint16_t q, n;
	unsigned int i;

	for (q = 0; q < p->rxq; q++) {
		for (i = 0; i < TICK_BURSTS && (n = rte_eth_rx_burst(p->id, q, m, TICK_BURST)) != 0; i++) {
			rte_pktmbuf_free_bulk(m, n);
			p->dcbx_untaken += n;
		}
	}
	if (tp_dcbx_poll(p->dcbx, rte_rdtsc()))
		apply(p->dcbx);
	if (rte_eal_alarm_set(TICK_US, tick, p) != 0)
		app_err(-ENOMEM, "port %u: DCBX: no alarm could be set, the agent sleeps until forwarding starts",
			p->id);
}

void
dcbx_ticks(struct app *app, bool on)
{
	unsigned int i;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++) {
		struct app_port *p = &app->port[i];

		if (p->dcbx == NULL)
			continue;
		/* After it no tick is under way. */
		(void)rte_eal_alarm_cancel(tick, p);
		if (on && p->dcbx_on)
			(void)rte_eal_alarm_set(1, tick, p);
		else if (on)
			dcbx_port_down(p); /* switched off meanwhile */
	}
}

static unsigned int
round_dcbx(struct fwd_stream *s)
{
	if (unlikely(tp_dcbx_poll(s->dcbx, rte_rdtsc())))
		(void)rte_eal_alarm_set(1, apply, s->dcbx);
	return 0;
}

const struct fwd_mode dcbx_mode = {
	.name = "dcbx", .help = "", .round = round_dcbx, .to_self = true, .sends = true, .control = true};

void
dcbx_stream_init(struct fwd_stream *s, const struct app_port *p)
{
	memset(s, 0, sizeof(*s));
	s->mode = &dcbx_mode;
	s->rx_port = s->tx_port = p->id;
	s->dcbx = p->dcbx;
}

/* A port that takes every address can do without. */
static int
listen_to_group(struct app_port *p, bool on)
{
	int ret;

	p->mcast_lldp = on;
	ret = port_mcast_put(p);
	return ret == 0 || ret == -ENOTSUP || p->promisc || p->allmulti
		       ? 0
		       : app_err(ret, "port %u: multicast address of LLDP: %s", p->id, rte_strerror(-ret));
}

int
dcbx_port_up(struct app_port *p)
{
	struct tp_dcbx_attach args = {
		.port_id = p->id, .pool = p->pool, .tx_interval_s = p->dcbx_interval, .tx_hold = p->dcbx_hold};
	struct tp_qos_port q;
	int ret;

	if (!p->dcbx_on || p->dcbx != NULL)
		return 0;
	if (p->txq == 0)
		return app_err(
			-EINVAL,
			"port %u: DCBX wants a transmit queue, the port has 0; 'port stop %u; port config %u txq 1'",
			p->id, p->id, p->id);
	if (rte_pmd_mlx4_qos_ops.get(p->id, &q) == 0)
		args.ops = &rte_pmd_mlx4_qos_ops;
	ret = tp_dcbx_attach(&args, &p->dcbx);
	if (ret != 0)
		return app_err(ret, "port %u: DCBX: %s", p->id, rte_strerror(-ret));
	tp_dcbx_port_set(p->dcbx, true, p->dcbx_willing);
	p->dcbx_untaken = 0;
	ret = tp_dcbx_hook(p->dcbx);
	if (ret != 0)
		app_err(ret, "port %u: DCBX cannot look at received frames: %s", p->id, rte_strerror(-ret));
	else
		ret = listen_to_group(p, true);
	if (ret != 0)
		dcbx_port_down(p);
	else
		(void)rte_eal_alarm_set(1, tick, p);
	return ret;
}

void
dcbx_port_down(struct app_port *p)
{
	if (p->dcbx == NULL)
		return;
	(void)rte_eal_alarm_cancel(tick, p);
	(void)rte_eal_alarm_cancel(apply, p->dcbx);
	tp_dcbx_detach(p->dcbx);
	p->dcbx = NULL;
	(void)listen_to_group(p, false);
}

int
dcbx_port_want(struct app *app, struct app_port *p, bool on, bool willing)
{
	int ret;

	if (on && p->dcbx == NULL && app->fwd_runs)
		return app_err(-EBUSY, "port %u: forwarding runs; 'stop' first", p->id);
	p->dcbx_on = on;
	p->dcbx_willing = willing;
	if (p->dcbx != NULL && (on || app->fwd_runs)) {
		tp_dcbx_port_set(p->dcbx, on, p->dcbx_willing);
	} else if (on && p->started) {
		ret = dcbx_port_up(p);
		p->dcbx_on = ret == 0;
		return ret;
	} else {
		dcbx_port_down(p);
	}
	return 0;
}

int
dcbx_qos_get(const struct app_port *p, struct tp_qos_port *q)
{
	int ret = rte_pmd_mlx4_qos_get(p->id, q);

	if (ret == 0 && p->dcbx != NULL)
		tp_dcbx_port_local_get(p->dcbx, q);
	return ret;
}

int
dcbx_qos_set(const struct app_port *p, const struct tp_qos_port *q, char err[TP_ERR_LEN])
{
	struct tp_qos_limits lim;

	if (p->dcbx == NULL || rte_pmd_mlx4_qos_limits(p->id, &lim) != 0)
		return rte_pmd_mlx4_qos_set(p->id, q, err);
	return tp_dcbx_port_local_set(p->dcbx, q, err);
}
