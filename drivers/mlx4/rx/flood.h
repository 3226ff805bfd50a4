/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Copies of broadcast and multicast for groups of queues to which the card gives none: whoever polls a queue of the default
 * set copies such frames into a ring of each of these groups, and the group's first queue gives them out. A port receives by
 * this burst only while it has such a group; the plain ones know nothing of it.
 *
 * The list that a burst looks at is handed over as port/handover.h says.
 */
#ifndef MLX4_RX_FLOOD_H
#define MLX4_RX_FLOOD_H

#include <rte_ring.h>

#include "drivers/mlx4/port/port.h"

/* A group that gets copies. */
struct mlx4_flood_target {
	struct rte_ring *ring;  /* many put, the poller of its first queue takes */
	struct rte_mempool *mp; /* of the copies */
	uint64_t *drops;        /* copies for which there was no buffer or no room */
};

struct mlx4_flood {
	uint16_t n;
	struct mlx4_flood_target target[TP_GROUPS];
	struct rte_ring *in[MLX4_ETH_MAX_RXQ]; /* where a queue finds copies, NULL: nowhere */
	bool source[MLX4_ETH_MAX_RXQ];         /* what a queue receives is copied */
};

/* Of any queue of the port. */
uint16_t mlx4_rx_burst_flood(void *rxq, struct rte_mbuf **pkts, uint16_t n);

#endif /* MLX4_RX_FLOOD_H */
