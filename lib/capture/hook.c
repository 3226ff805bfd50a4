/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What pollers do for a capture: callbacks of ethdev that copy what is wanted into the ring. On reception the capture's is the
 * first, so that it sees what others take; on transmission the last one, which sees what others made of a packet.
 *
 * A thread may still be in a callback, or look at its list, when the callback was taken away. A capture waits until the first is
 * over; what the second needs is kept until nobody polls.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf_dyn.h>

#include "capture_priv.h"

/* Gone, but perhaps not yet for those who poll. */
static SLIST_HEAD(, cap_hook) retired = SLIST_HEAD_INITIALIZER(retired);

static inline void
count(uint64_t *n, uint64_t more)
{
	__atomic_store_n(n, *n + more, __ATOMIC_RELAXED);
}

static inline bool
hashed(const struct rte_mbuf *m)
{
	/* One that has the offload says 0 of packets without one, besides one in 2^32. */
	return (m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0 && m->hash.rss != 0;
}

static void
one(struct tp_capture *c, struct cap_hook *h, const struct rte_mbuf *m, uint64_t now)
{
	const bool tag = (m->ol_flags & (h->out ? RTE_MBUF_F_TX_VLAN : RTE_MBUF_F_RX_VLAN_STRIPPED)) != 0;
	struct cap_slot *s;
	uint64_t pos;

	if (c->conf.no_rss && hashed(m))
		return;
	count(&h->stats.seen, 1);
	if (c->filter != NULL && !cap_filter_match(c->filter, m, tag)) {
		count(&h->stats.filtered, 1);
		return;
	}
	s = cap_ring_take(&c->ring, &pos);
	if (s == NULL) {
		count(&h->stats.lost, 1);
		__atomic_fetch_add(&c->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	s->len = m->pkt_len + (tag ? RTE_VLAN_HLEN : 0);
	s->kept = RTE_MIN(s->len, c->keep);
	s->lost = __atomic_load_n(&c->lost, __ATOMIC_RELAXED);
	s->queue = h->queue;
	s->out = h->out;
	s->card = !h->out && (m->ol_flags & c->stamp_flag) != 0;
	s->time = s->card ? *RTE_MBUF_DYNFIELD(m, c->stamp_off, const uint64_t *) : now;
	cap_copy(s->data, m, s->kept, tag);
	count(&h->stats.packets, 1);
	count(&h->stats.octets, s->kept);
	cap_ring_put(&c->ring, s, pos);
}

uint16_t
cap_burst(struct cap_hook *h, struct rte_mbuf *const *pkts, uint16_t n)
{
	struct tp_capture *c;
	uint64_t now;
	uint16_t i;

	if (n == 0)
		return 0;
	/* Whoever ends the capture says so, and then looks whether somebody is here: one of both sees the other. */
	__atomic_store_n(&h->use, h->use + 1, __ATOMIC_SEQ_CST);
	c = __atomic_load_n(&h->c, __ATOMIC_SEQ_CST);
	if (c != NULL) {
		now = rte_rdtsc();
		for (i = 0; i < n; i++)
			one(c, h, pkts[i], now);
	}
	__atomic_store_n(&h->use, h->use + 1, __ATOMIC_RELEASE);
	return n;
}

static uint16_t
received(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *hook)
{
	(void)port, (void)queue, (void)max;
	return cap_burst(hook, pkts, n);
}

static uint16_t
sends(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, void *hook)
{
	(void)port, (void)queue;
	return cap_burst(hook, pkts, n);
}

/* --- control ---------------------------------------------------------------------------------------------------------- */

static int
hook_one(struct tp_capture *c, uint16_t queue, bool out)
{
	struct cap_hook *h;

	SLIST_FOREACH(h, &c->hooks, next)
	if (h->queue == queue && h->out == out)
		return 0;
	h = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*h));
	if (h == NULL)
		return -ENOMEM;
	memset(h, 0, sizeof(*h));
	h->c = c;
	h->port = c->port;
	h->queue = queue;
	h->out = out;
	h->cb = out ? rte_eth_add_tx_callback(c->port, queue, sends, h)
		    : rte_eth_add_first_rx_callback(c->port, queue, received, h);
	if (h->cb == NULL) {
		free(h);
		return -rte_errno;
	}
	SLIST_INSERT_HEAD(&c->hooks, h, next);
	return 0;
}

static int
hook_way(struct tp_capture *c, uint16_t queues, bool out)
{
	uint16_t q;
	int ret = 0;

	if ((c->conf.direction & (out ? TP_CAPTURE_OUT : TP_CAPTURE_IN)) == 0)
		return 0;
	for (q = 0; q < queues && ret == 0; q++)
		if (c->conf.queue == TP_CAPTURE_ALL || c->conf.queue == q)
			ret = hook_one(c, q, out);
	return ret;
}

int
cap_hook_all(struct tp_capture *c)
{
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(c->port, &info);

	if (ret == 0)
		ret = hook_way(c, info.nb_rx_queues, false);
	if (ret == 0)
		ret = hook_way(c, info.nb_tx_queues, true);
	return ret;
}

/* Of a queue that the port lacks now ethdev takes none away, and calls it when the queue is back. */
static void
take_away(struct cap_hook *h)
{
	int ret = h->out ? rte_eth_remove_tx_callback(h->port, h->queue, h->cb)
			 : rte_eth_remove_rx_callback(h->port, h->queue, h->cb);

	h->listed = ret != 0;
}

static void
leave(const struct cap_hook *h)
{
	const uint32_t use = __atomic_load_n(&h->use, __ATOMIC_SEQ_CST);

	while ((use & 1) != 0 && __atomic_load_n(&h->use, __ATOMIC_ACQUIRE) == use)
		sched_yield();
}

static void
add(struct tp_capture_stats *sum, const struct tp_capture_stats *st)
{
	sum->seen += __atomic_load_n(&st->seen, __ATOMIC_RELAXED);
	sum->filtered += __atomic_load_n(&st->filtered, __ATOMIC_RELAXED);
	sum->packets += __atomic_load_n(&st->packets, __ATOMIC_RELAXED);
	sum->octets += __atomic_load_n(&st->octets, __ATOMIC_RELAXED);
	sum->lost += __atomic_load_n(&st->lost, __ATOMIC_RELAXED);
}

void
cap_unhook_all(struct tp_capture *c)
{
	struct cap_hook *h;

	SLIST_FOREACH(h, &c->hooks, next)
	__atomic_store_n(&h->c, NULL, __ATOMIC_SEQ_CST);
	while ((h = SLIST_FIRST(&c->hooks)) != NULL) {
		take_away(h);
		leave(h);
		add(&c->ended, &h->stats);
		SLIST_REMOVE_HEAD(&c->hooks, next);
		SLIST_INSERT_HEAD(&retired, h, next);
	}
}

void
cap_hooks_free(void)
{
	SLIST_HEAD(, cap_hook) kept = SLIST_HEAD_INITIALIZER(kept);
	struct cap_hook *h;

	while ((h = SLIST_FIRST(&retired)) != NULL) {
		SLIST_REMOVE_HEAD(&retired, next);
		if (h->listed)
			take_away(h);
		if (h->listed) {
			SLIST_INSERT_HEAD(&kept, h, next);
			continue;
		}
		rte_free((void *)(uintptr_t)h->cb);
		free(h);
	}
	SLIST_FIRST(&retired) = SLIST_FIRST(&kept);
}

void
cap_hooks_sum(const struct tp_capture *c, struct tp_capture_stats *st)
{
	const struct cap_hook *h;

	*st = c->ended;
	SLIST_FOREACH(h, &c->hooks, next)
	add(st, &h->stats);
}
