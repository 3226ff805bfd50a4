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

/* What the packets of a case have; a driver that cannot refuses with -ENOTSUP. */
#define BENCH_CSUM 0x01u   /* checksums: flags on receive, insertion on transmit */
#define BENCH_RSS 0x02u    /* the hash in the mbuf */
#define BENCH_VLAN 0x04u   /* a tag stripped, inserted */
#define BENCH_SEGS 0x08u   /* two buffers a frame */
#define BENCH_TSO 0x10u    /* large sends */
#define BENCH_INLINE 0x20u /* frames that go into the WQE */
#define BENCH_SCALAR 0x40u /* without vector instructions */
#define BENCH_BF 0x80u     /* BlueFlame */

typedef uint16_t (*bench_burst)(void *queue, struct rte_mbuf **pkts, uint16_t n);

/* What the card sees of a queue. */
struct bench_ring {
	bench_burst burst;
	void *queue;     /* first argument of the burst */
	uint8_t *cqes;   /* 32-byte entries */
	uint32_t cqmask; /* entries - 1 */
	uint32_t cq_pi;  /* completions written */
	uint8_t *sq;     /* send queue: 64-byte blocks, else NULL */
	uint32_t sqmask;
	uint32_t sq_ci; /* blocks executed */
};

/* What a driver under test provides. */
extern const char bench_driver[];
/* Queues with desc descriptors; an Rx queue is full of mbufs of mp. 0 or negative errno. */
int bench_rx_queue(struct rte_mempool *mp, uint16_t desc, unsigned int what, struct bench_ring *r);
int bench_tx_queue(uint16_t desc, unsigned int what, struct bench_ring *r);

#endif /* DATAPATH_H */
