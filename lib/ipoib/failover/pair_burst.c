/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Bursts of a pair: those of the port that carries, and now and then a look at the other one. */
#include "pair.h"

#define LOOK_AT_OTHER 16u /* bursts from one look at the other port to the next; a power of two */

/* What came to the other port for us alone is on its way since before a move; of what came for groups the active has a copy. */
static __rte_noinline uint16_t
rx_other(struct ipoib_pair_queue *q, uint16_t port_id, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t i, kept = 0, got = rte_eth_rx_burst(port_id, q->id, pkts, n);

	for (i = 0; i < got; i++) {
		if (!rte_is_multicast_ether_addr(rte_pktmbuf_mtod(pkts[i], struct rte_ether_addr *))) {
			pkts[kept++] = pkts[i];
			continue;
		}
		q->n.dropped++;
		rte_pktmbuf_free(pkts[i]);
	}
	return kept;
}

uint16_t
ipoib_pair_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct ipoib_pair_queue *q = queue;
	const struct ipoib_pair *p = q->pair;
	unsigned int active = atomic_load_explicit(&p->active, memory_order_relaxed);
	uint16_t got = 0, i;
	uint64_t bytes = 0;

	/* Before the active one, which may always fill the burst. */
	if (unlikely((++q->turn & (LOOK_AT_OTHER - 1)) == 0))
		got = rx_other(q, p->member[active ^ 1], pkts, n);
	got += rte_eth_rx_burst(p->member[active], q->id, pkts + got, n - got);
	for (i = 0; i < got; i++) {
		pkts[i]->port = p->port_id;
		bytes += pkts[i]->pkt_len;
	}
	q->n.packets += got;
	q->n.bytes += bytes;
	return got;
}

uint16_t
ipoib_pair_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct ipoib_pair_queue *q = queue;
	const struct ipoib_pair *p = q->pair;
	unsigned int active = atomic_load_explicit(&p->active, memory_order_acquire);

	/* What the other one has sent goes back to its pools. */
	if (unlikely((++q->turn & (LOOK_AT_OTHER - 1)) == 0))
		rte_eth_tx_burst(p->member[active ^ 1], q->id, pkts, 0);
	return rte_eth_tx_burst(p->member[active], q->id, pkts, n);
}
