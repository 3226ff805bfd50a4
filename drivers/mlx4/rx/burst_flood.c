/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The receive burst of a port that copies broadcast and multicast to groups; flood.h says when. */
#include "flood.h"

#include "drivers/mlx4/port/handover.h"
#include "queue.h"

static void
copy_to_all(const struct mlx4_flood *f, struct rte_mbuf *m)
{
	uint16_t i;

	for (i = 0; i < f->n; i++) {
		const struct mlx4_flood_target *t = &f->target[i];
		struct rte_mbuf *copy = rte_pktmbuf_copy(m, t->mp, 0, UINT32_MAX);

		if (copy != NULL && rte_ring_mp_enqueue(t->ring, copy) == 0)
			continue;
		rte_pktmbuf_free(copy);
		__atomic_fetch_add(t->drops, 1, __ATOMIC_RELAXED);
	}
}

/*
 * Copies what is for all, and takes out what came only for that: multicast that the port itself was not asked to receive.
 * Returns how many frames are left.
 */
static uint16_t
give_out(struct mlx4_rxq *q, const struct mlx4_flood *f, struct rte_mbuf **pkts, uint16_t n)
{
	bool hidden = __atomic_load_n(&q->eth->mc_hidden, __ATOMIC_RELAXED);
	uint16_t i, left = 0;

	for (i = 0; i < n; i++) {
		struct rte_mbuf *m = pkts[i];
		const struct rte_ether_addr *dst = rte_pktmbuf_mtod(m, const struct rte_ether_addr *);

		if (unlikely(rte_is_multicast_ether_addr(dst))) {
			copy_to_all(f, m);
			if (hidden && !rte_is_broadcast_ether_addr(dst)) {
				q->packets--;
				q->bytes -= m->pkt_len;
				rte_pktmbuf_free(m);
				continue;
			}
		}
		pkts[left++] = m;
	}
	return left;
}

/* Copies first, but no more than half of a burst while the card has frames, too. */
static uint16_t
take_copies(struct mlx4_rxq *q, struct rte_ring *ring, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t got = (uint16_t)rte_ring_sc_dequeue_burst(ring, (void **)pkts, n, NULL), i;

	q->packets += got;
	for (i = 0; i < got; i++)
		q->bytes += pkts[i]->pkt_len;
	return got;
}

uint16_t
mlx4_rx_burst_flood(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_rxq *q = rxq;
	const struct mlx4_flood *f = mlx4_handover_take(&q->eth->flood, &q->flood_busy);
	uint16_t copies = 0, got;

	if (f == NULL)
		return mlx4_rx_burst_scattered(q, pkts, n);
	if (f->in[q->queue_id] != NULL)
		copies = take_copies(q, f->in[q->queue_id], pkts, (uint16_t)((n + 1) / 2));
	got = mlx4_rx_burst_scattered(q, pkts + copies, (uint16_t)(n - copies));
	if (f->source[q->queue_id])
		got = give_out(q, f, pkts + copies, got);
	mlx4_handover_leave(&q->flood_busy);
	return (uint16_t)(copies + got);
}
