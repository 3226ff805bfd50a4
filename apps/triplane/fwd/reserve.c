/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Packet-burst buffering (E-15): an lcore of its own takes packets out of receive rings into reserves, one for each queue,
 * from which the streams' lcores take them. A burst is then as large as the reserve and not as the ring. What a full
 * reserve has no room for stays in the ring, where the card counts what it drops.
 */
#include <errno.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "fwd.h"

/* How long a stop waits for what was caught already to be forwarded. */
#define DRAIN_MS 1000

static unsigned int
round_catch(struct fwd_stream *s)
{
	struct rte_mbuf *pkts[APP_BURST_MAX];
	struct fwd_reserve *r = s->reserve;
	unsigned int room = rte_ring_free_count(r->ring), waiting;
	uint16_t n;

	if (unlikely(room == 0)) {
		stat_add(&r->full, 1);
		return 0;
	}
	n = rte_eth_rx_burst(s->rx_port, s->rx_queue, pkts, (uint16_t)RTE_MIN(room, (unsigned int)s->burst));
	stat_rx(s, n);
	if (n == 0)
		return 0;
	/* the other side only makes more room */
	rte_ring_sp_enqueue_bulk(r->ring, (void **)pkts, n, NULL);
	waiting = rte_ring_count(r->ring);
	if (waiting > r->most)
		__atomic_store_n(&r->most, (uint64_t)waiting, __ATOMIC_RELAXED);
	return n;
}

static const struct fwd_mode catches = {
	.name = "catch", .help = "", .round = round_catch, .control = true, .catches = true};

int
fwd_reserve_make(struct fwd_stream *s, struct fwd_stream *catcher)
{
	static unsigned int made;
	char name[RTE_RING_NAMESIZE];
	struct fwd_reserve *r = rte_zmalloc("reserve", sizeof(*r), RTE_CACHE_LINE_SIZE);

	if (r == NULL)
		return app_err(-ENOMEM, "port %u: no memory for the reserve of queue %u", s->rx_port, s->rx_queue);
	r->size = s->port->reservation;
	snprintf(name, sizeof(name), "reserve_%u", made++);
	r->ring = rte_ring_create(name, r->size, rte_eth_dev_socket_id(s->rx_port),
				  RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	if (r->ring == NULL) {
		rte_free(r);
		return app_err(-rte_errno, "port %u: rfd-reservation %u: no memory for it at queue %u: %s", s->rx_port,
			       s->port->reservation, s->rx_queue, rte_strerror(rte_errno));
	}
	s->reserve = r;
	*catcher = (struct fwd_stream){.mode = &catches,
				       .port = s->port,
				       .rx_port = s->rx_port,
				       .rx_queue = s->rx_queue,
				       .tx_port = s->rx_port,
				       .burst = s->burst,
				       .has_rx = true,
				       .reserve = r,
				       .roce = s->roce};
	/* RoCE takes its packets where the ring is emptied */
	s->roce = NULL;
	return 0;
}

/* What nobody took is dropped, and counted as all that a stream cannot send. */
void
fwd_reserve_free(struct fwd_stream *s)
{
	struct fwd_reserve *r = s->reserve;
	void *m;

	s->reserve = NULL;
	if (r == NULL || s->mode->catches)
		return;
	while (rte_ring_sc_dequeue(r->ring, &m) == 0) {
		stat_add(&s->stats.rx, 1);
		stat_add(&s->stats.drop, 1);
		rte_pktmbuf_free(m);
	}
	rte_ring_free(r->ring);
	rte_free(r);
}

static bool
all_taken(const struct fwd *fwd)
{
	unsigned int i;

	for (i = 0; i < fwd->num_streams; i++)
		if (fwd->stream[i].reserve != NULL && !rte_ring_empty(fwd->stream[i].reserve->ring))
			return false;
	return true;
}

void
fwd_reserve_drain(const struct fwd *fwd)
{
	const uint64_t end = rte_get_timer_cycles() + rte_get_timer_hz() * DRAIN_MS / 1000;

	while (!all_taken(fwd) && rte_get_timer_cycles() < end)
		rte_delay_us_sleep(100);
}
