/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Broadcast and multicast for groups beyond those to which the card gives copies: whoever polls a queue of the default set
 * copies such frames into a ring of each of these groups, and the group's first queue gives them out. A port receives by the
 * burst function of rx_flood.c only while it has such a group; the plain ones know nothing of it.
 *
 * What a burst looks at never changes under it: control code makes the next list in the other slot, puts it in force with
 * one store and waits for the bursts that still have the old one.
 */
#ifndef MLX4_FLOOD_H
#define MLX4_FLOOD_H

#include <rte_ring.h>

#include "mlx4_eth.h"

struct mlx4_group;

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

struct mlx4_flood_slots {
	struct mlx4_flood slot[2];
};

/* rx_flood.c */
uint16_t mlx4_rx_burst_flood(void *rxq, struct rte_mbuf **pkts, uint16_t n);

/* --- flood.c, with the port's control lock --- */
/* Makes what a group needs to be given copies by software, before its rules. 0 or -ENOMEM. */
int mlx4_flood_prepare(struct mlx4_eth *eth, struct mlx4_group *g);
/* After rules have changed, or a change was taken back; g: the group that changed. */
void mlx4_flood_update(struct mlx4_eth *eth, struct mlx4_group *g);
void mlx4_flood_free(struct mlx4_eth *eth);

#endif /* MLX4_FLOOD_H */
