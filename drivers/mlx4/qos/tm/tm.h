/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * rte_tm's hierarchy of a port: the port, its classes, their transmit queues. Children of the port that have a priority of
 * their own are strict classes, those that share the last priority divide what is left by weight. Class n of the card gets
 * priority n. Rates: a class or a queue has a limit, the port has none.
 */
#ifndef MLX4_QOS_TM_TM_H
#define MLX4_QOS_TM_TM_H

#include <rte_tm_driver.h>

#include "drivers/mlx4/port/compat.h"
#include "drivers/mlx4/qos/qos.h"

#define MLX4_TM_LEVELS 3u /* port, class, queue */
#define MLX4_TM_WEIGHT_MAX 255u
#define MLX4_TM_PROFILES 64u
#define MLX4_TM_BYTES_PER_MBIT 125000u

struct mlx4_tm_node {
	bool used;
	uint32_t id;
	uint32_t parent; /* index of the class, of leaves */
	uint32_t priority, weight;
	uint32_t profile; /* RTE_TM_SHAPER_PROFILE_ID_NONE: none */
};

struct mlx4_tm_profile {
	bool used;
	uint32_t id, mbps;
};

struct mlx4_tm {
	struct mlx4_tm_node port, tc[TP_TCS], leaf[MLX4_ETH_MAX_TXQ];
	struct mlx4_tm_profile profile[MLX4_TM_PROFILES];
};

/* --- node.c --- */
/* Says why, to who wants to know: error may be NULL. */
void mlx4_tm_error(struct rte_tm_error *error, enum rte_tm_error_type type, const char *message);
/* Refuses: the item, and one line of log that names the value. */
int mlx4_tm_refuse(const struct rte_eth_dev *dev, struct rte_tm_error *error, enum rte_tm_error_type type,
		   const char *message, uint64_t value);
/* Level of a node, UINT32_MAX: there is none. */
uint32_t mlx4_tm_level(const struct mlx4_tm *tm, uint32_t id);
/* NULL: there is none. */
const struct mlx4_tm_profile *mlx4_tm_profile(const struct mlx4_tm *tm, uint32_t id);

/* --- caps.c --- */
int mlx4_tm_caps(struct rte_eth_dev *dev, struct rte_tm_capabilities *cap, struct rte_tm_error *error);
int mlx4_tm_level_caps(struct rte_eth_dev *dev, uint32_t level, struct rte_tm_level_capabilities *cap,
		       struct rte_tm_error *error);
int mlx4_tm_node_caps(struct rte_eth_dev *dev, uint32_t id, struct rte_tm_node_capabilities *cap,
		      struct rte_tm_error *error);

/* --- commit.c --- */
int mlx4_tm_commit(struct rte_eth_dev *dev, int clear_on_fail, struct rte_tm_error *error);

/* tm.c: ethdev's operation. */
int mlx4_tm_ops_get(struct rte_eth_dev *dev, void *ops);

#endif /* MLX4_QOS_TM_TM_H */
