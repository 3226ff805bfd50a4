/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The default set of queues. A change of it has two steps, for changes of groups that are part of it. */
#ifndef MLX4_STEER_RSS_H
#define MLX4_STEER_RSS_H

#include "lib/reta/reta.h"

#include "spread.h"

/*
 * rss.c: starts the receive queues that are not deferred, makes the RSS parent when there is more than one ring and
 * sets target_qpn; an update builds the new rings beside the old ones, moves the rules and lets the old ones drain.
 */
int mlx4_rss_configure(struct mlx4_eth *eth); /* from dev_configure: default RETA, key, types */
int mlx4_rss_start(struct mlx4_eth *eth);
void mlx4_rss_stop(struct mlx4_eth *eth);
void mlx4_rss_close(struct mlx4_eth *eth);
uint64_t mlx4_rss_types(const struct mlx4_eth *eth); /* RTE_ETH_RSS_* that the card can hash */

struct mlx4_rss_change {
	bool needed; /* the card has something else now */
	struct mlx4_spread *next;
	uint32_t target_qpn; /* what rules will name */
	struct mlx4_queues members;
	struct mlx4_rx_set *new_set[MLX4_ETH_MAX_RXQ];
};

/* Moves traffic of a started port to what its configuration asks for, while queues are polled. */
int mlx4_rss_update(struct mlx4_eth *eth);
/* What the application may ask for; and who says so. */
int mlx4_rss_check(const struct mlx4_eth *eth, const struct rte_eth_rss_conf *conf);
struct reta_who mlx4_rss_who(const struct mlx4_eth *eth);
/* Builds what the queues that are not taken shall have, beside what is there. */
int mlx4_rss_prepare(struct mlx4_eth *eth, struct mlx4_rss_change *c);
/* Moves the rules. Then call commit (cannot fail), or cancel if this failed or is not called. taken_before: eth->taken as it was. */
int mlx4_rss_move(struct mlx4_eth *eth, struct mlx4_rss_change *c);
void mlx4_rss_commit(struct mlx4_eth *eth, struct mlx4_rss_change *c, const bool *taken_before);
void mlx4_rss_cancel(struct mlx4_eth *eth, struct mlx4_rss_change *c);
/* Frees what the pollers have left. */
void mlx4_rxqs_reap(struct mlx4_eth *eth);

#endif /* MLX4_STEER_RSS_H */
