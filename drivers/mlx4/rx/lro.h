/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Large receive (RSC), in software: the card has none. Segments of a TCP connection that follow each other become one packet when
 * they come in one burst, so nothing waits for a successor, and nothing is kept between bursts. They are joined only if a
 * large send of the result gives the same segments again. A port receives by this burst only while a queue of it has the offload.
 */
#ifndef MLX4_RX_LRO_H
#define MLX4_RX_LRO_H

#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define MLX4_LRO_MAX_LEN 65535u /* octets of a joined packet, and the least limit that makes sense: */
#define MLX4_LRO_SEGS 41u       /* buffers of a joined packet: what a send queue takes without copying, E-3 */

struct mlx4_rxq;

struct mlx4_lro_counts {
	uint64_t packets, octets; /* segments that were joined, and their payload */
	uint64_t events;          /* packets that they became */
	uint64_t aborts;          /* segments of a connection with a packet to join that could not be joined */
};

/* Of a queue that joins. The poller's, read by others. */
struct mlx4_lro {
	uint32_t max_len; /* octets of a joined packet with its Ethernet header */
	struct mlx4_lro_counts n;
	struct mlx4_lro_counts base; /* at the last reset */
};

/* Of any queue; one that does not join is polled as usual. */
uint16_t mlx4_rx_burst_lro(void *rxq, struct rte_mbuf **pkts, uint16_t n);
/* The same of what the burst below gives. */
uint16_t mlx4_rx_burst_lro_over(eth_rx_burst_t below, void *rxq, struct rte_mbuf **pkts, uint16_t n);
/* With the offload: gives the queue its state. -EINVAL, which was said: with kept FCS. */
int mlx4_rxq_init_lro(struct mlx4_rxq *q);

#endif /* MLX4_RX_LRO_H */
