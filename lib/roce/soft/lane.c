/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Lanes: threads that share a port by queue pairs. Each has queues of the ethdev, and queue pairs with all that they need: engines,
 * timers, completions. So lanes wait for nothing of each other, and a packet that comes to its queue pair's lane costs what it costs
 * on a port with one. Which queue it comes to is the network's choice; what comes to another goes through a ring to the lane that
 * its number names, which judges it as if it had received it. Packets of one queue pair come to one queue, so they stay in order.
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_malloc.h>
#include <rte_random.h>

#include "gate.h"

uint16_t
rsw_lane_of(const struct rsw_dev *d, uint32_t qpn)
{
	/* QP0 and QP1 are the port's. */
	return qpn < 2 ? 0 : (uint16_t)(qpn & (d->num_lanes - 1u));
}

/* --- packets between lanes ------------------------------------------------------------------------------------------ */

void
rsw_pass(struct rsw_dev *d, uint16_t to, struct rte_mbuf *m)
{
	struct rsw_pass *r = &d->lanes[to]->pass_in[d->lane];
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	if (tail - r->head_seen == RSW_PASS)
		r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
	if (tail - r->head_seen == RSW_PASS) {
		d->sw.pass_full++;
		rte_pktmbuf_free(m);
		return;
	}
	r->pkts[tail & (RSW_PASS - 1)] = m;
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	d->sw.passed++;
}

uint16_t
rsw_pass_take(struct rsw_dev *d, uint16_t from, struct rte_mbuf **pkts, uint16_t n)
{
	struct rsw_pass *r = &d->pass_in[from];
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint32_t have = atomic_load_explicit(&r->tail, memory_order_acquire) - head;

	if (have == 0)
		return 0;
	n = (uint16_t)RTE_MIN(have, (uint32_t)n);
	for (uint16_t i = 0; i < n; i++)
		pkts[i] = r->pkts[(head + i) & (RSW_PASS - 1)];
	atomic_store_explicit(&r->head, head + n, memory_order_release);
	return n;
}

uint16_t
rsw_passed(struct troce_dev *dev, uint16_t from, struct rte_mbuf **pkts, uint16_t n)
{
	return rsw_pass_take(dev->home, from, pkts, n);
}

/* --- life ------------------------------------------------------------------------------------------------------------ */

static int
lane_open(struct rsw_dev *d, const struct rsw_dev *port, uint16_t lane)
{
	d->dev = port->dev;
	d->port = port->port;
	d->lanes = port->lanes;
	d->num_lanes = port->num_lanes;
	d->lane = lane;
	d->full_polls = lane == 0 ? &d->dev->full_polls : &d->own_full_polls;
	d->txq = (uint16_t)(d->dev->conf.tx_queue + lane);
	d->udp_port = d->dev->conf.udp_port;
	d->decided = troce_decided_flag();
	d->pool = d->dev->conf.pool;
	d->keys = port->keys;
	d->next_qp = (uint32_t)rte_rand_max(RSW_LANE_QPS(d->num_lanes)) + 1;
	d->gid_gen = 1;
	TAILQ_INIT(&d->all);
	TAILQ_INIT(&d->held);
	TAILQ_INIT(&d->guests);
	rsw_gate_init(d);
	rsw_cc_init(d);
	/* Large tables, of which only what is used is ever touched. */
	d->qps = calloc(RSW_QPS, sizeof(*d->qps));
	d->heap = calloc(RSW_LANE_QPS(d->num_lanes) + 1, sizeof(*d->heap));
	if (d->num_lanes > 1)
		d->pass_in = rte_zmalloc_socket("roce_pass", d->num_lanes * sizeof(*d->pass_in), RTE_CACHE_LINE_SIZE,
						d->dev->numa_node);
	return d->qps == NULL || d->heap == NULL || (d->num_lanes > 1 && d->pass_in == NULL) ? ENOMEM : 0;
}

static void
lane_close(struct rsw_dev *d)
{
	struct rte_mbuf *m;

	rsw_tx_free(d);
	for (uint16_t from = 0; d->pass_in != NULL && from < d->num_lanes; from++)
		while (rsw_pass_take(d, from, &m, 1) != 0)
			rte_pktmbuf_free(m);
	rte_free(d->pass_in);
	free(d->qps);
	free(d->heap);
}

int
rsw_lanes_open(struct rsw_dev *d)
{
	int rc;

	d->num_lanes = d->dev->conf.lanes;
	d->lanes = calloc(d->num_lanes, sizeof(struct rsw_dev *));
	if (d->lanes == NULL)
		return ENOMEM;
	d->lanes[0] = d;
	rc = lane_open(d, d, 0);
	for (uint16_t i = 1; rc == 0 && i < d->num_lanes; i++) {
		d->lanes[i] = rte_zmalloc_socket("roce_lane", sizeof(*d), RTE_CACHE_LINE_SIZE, d->dev->numa_node);
		rc = d->lanes[i] == NULL ? ENOMEM : lane_open(d->lanes[i], d, i);
	}
	return rc;
}

void
rsw_lanes_close(struct rsw_dev *d)
{
	if (d->lanes == NULL)
		return;
	for (uint16_t i = 1; i < d->num_lanes; i++) {
		if (d->lanes[i] == NULL)
			continue;
		lane_close(d->lanes[i]);
		rte_free(d->lanes[i]);
	}
	lane_close(d);
	free(d->lanes);
}
