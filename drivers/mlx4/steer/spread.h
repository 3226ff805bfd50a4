/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A spread: what gives frames to the queues of a set on the card. It is a table of rings (QPs with consecutive numbers)
 * with an RSS parent in front of it, or one ring without. The port's default queues have one, each group of queues has one.
 *
 * A change at run time builds a new spread beside the old: rings, parent, rules; then lets the pollers finish the old
 * rings and go over. No packet that the card took is lost or reordered within its flow's queue.
 */
#ifndef MLX4_STEER_SPREAD_H
#define MLX4_STEER_SPREAD_H

#include "drivers/mlx4/port/port.h"
#include "drivers/mlx4/rx/queue.h"

/* A list of receive queues. */
struct mlx4_queues {
	uint16_t n;
	uint16_t q[MLX4_ETH_MAX_RXQ];
};

struct mlx4_spread_conf {
	uint16_t table; /* rings, power of two, 0: no queue serves */
	uint8_t flags;  /* MLX4_RSS_F_* */
	uint16_t other; /* ring of frames that the hash does not cover, below table */
	bool xor_hash;  /* instead of Toeplitz' */
	bool aside;     /* beside the own rings of its queues (rx/sides.h) */
	uint8_t key[MLX4_RSS_KEY_SIZE];
	uint16_t queue[MLX4_ETH_RETA_MAX]; /* of each ring, those behind table are 0 */
};

struct mlx4_spread {
	struct mlx4_spread_conf conf;
	uint32_t base_qpn;
	bool has_parent;
	uint32_t parent_qpn;
	struct mlx4_qp parent;
};

/* WQEs of a queue's rings in a spread that is aside. */
uint32_t mlx4_spread_side_desc(const struct mlx4_rxq *q);
/* MLX4_RSS_F_* of RTE_ETH_RSS_* types. */
uint8_t mlx4_spread_flags(const struct mlx4_eth *eth, uint64_t hf);
/* A table of equal shares for n queues; with more than size queues the first ones. */
void mlx4_spread_even(struct mlx4_spread_conf *conf, const uint16_t *queue, uint16_t n, uint16_t size);

/*
 * Rings and parent, not used by any rule. new_set[q] is what queue q of the list shall go over to (queues without a ring
 * get an empty set, so that they leave the old one), NULL for other queues.
 */
int mlx4_spread_build(struct mlx4_eth *eth, const struct mlx4_spread_conf *conf, const struct mlx4_queues *members,
		      struct mlx4_spread **out, struct mlx4_rx_set **new_set);
/* The reverse of build, while nothing was published. */
void mlx4_spread_undo(struct mlx4_eth *eth, struct mlx4_spread *s, struct mlx4_rx_set **new_set);
/* The rings of these queues go back to RST; the pollers then drain what is complete. */
void mlx4_spread_quiesce(struct mlx4_eth *eth, const struct mlx4_queues *members);
void mlx4_spread_publish(struct mlx4_eth *eth, struct mlx4_rx_set *const *new_set);
/* What the card has is what it should have, also in the buffers of its rings. */
bool mlx4_spread_is(const struct mlx4_eth *eth, const struct mlx4_spread *s, const struct mlx4_spread_conf *conf);
/* Parent and numbers; the rings were quiesced. NULL is nothing. */
void mlx4_spread_free(struct mlx4_eth *eth, struct mlx4_spread *s);
/* The QPN for rules. */
uint32_t mlx4_spread_target(const struct mlx4_spread *s);

#endif /* MLX4_STEER_SPREAD_H */
