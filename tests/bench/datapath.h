/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The instruction-count benchmark: one harness plays the card on rings in memory, two drivers' burst functions run on
 * them unchanged. Nothing here includes a driver's header, so both link with the same object.
 */
#ifndef DATAPATH_H
#define DATAPATH_H

#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

/* What the card sees of a queue. */
struct bench_ring {
	void *queue;     /* first argument of the burst */
	uint8_t *cqes;   /* 32-byte entries */
	uint32_t cqmask; /* entries - 1 */
	uint8_t *sq;     /* send queue: 64-byte blocks, else NULL */
	uint32_t sqmask;
};

/* What a driver under test provides. */
extern const char bench_driver[];
uint16_t mlx4_rx_burst(void *rxq, struct rte_mbuf **pkts, uint16_t n);
uint16_t mlx4_tx_burst(void *txq, struct rte_mbuf **pkts, uint16_t n);
/* Queues with desc descriptors; an Rx queue is full of mbufs of mp. 0 or negative errno. */
int bench_rx_queue(struct rte_mempool *mp, uint16_t desc, int csum, struct bench_ring *r);
int bench_tx_queue(struct rte_mempool *mp, uint16_t desc, int csum, struct bench_ring *r);

#endif /* DATAPATH_H */
