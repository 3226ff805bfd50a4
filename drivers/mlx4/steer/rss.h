/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A change of the default set in two steps, for changes of groups that are part of it. */
#ifndef MLX4_RSS_H
#define MLX4_RSS_H

#include "spread.h"

struct mlx4_rss_change {
	bool needed; /* the card has something else now */
	struct mlx4_spread *next;
	uint32_t target_qpn; /* what rules will name */
	struct mlx4_queues members;
	struct mlx4_rx_set *new_set[MLX4_ETH_MAX_RXQ];
};

/* All rings of a started port become as their queues shall have them; 0, or a negative errno: some may be. */
int mlx4_rss_refresh(struct mlx4_eth *eth);
/* What the queues that are not taken shall have, beside what is there; taken[q]: queue q is in a group. */
int mlx4_rss_prepare(struct mlx4_eth *eth, const bool *taken, struct mlx4_rss_change *c);
/* Moves the rules. After a failure, as instead of it, comes cancel; after success commit, which cannot fail. */
int mlx4_rss_move(struct mlx4_eth *eth, struct mlx4_rss_change *c);
void mlx4_rss_commit(struct mlx4_eth *eth, struct mlx4_rss_change *c, const bool *taken_before);
void mlx4_rss_cancel(struct mlx4_eth *eth, struct mlx4_rss_change *c);
/* Frees what the pollers have left. */
void mlx4_rxqs_reap(struct mlx4_eth *eth);

#endif /* MLX4_RSS_H */
