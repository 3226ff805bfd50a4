/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What rte_tm can ask of a port. */
#include <errno.h>

#include "tm.h"

#define RATE_MIN (100 * (uint64_t)MLX4_TM_BYTES_PER_MBIT) /* of a class: the smallest step */

static uint64_t
rate_max(struct rte_eth_dev *dev)
{
	struct tp_qos_limits lim;

	mlx4_qos_limits(mlx4_eth_of(dev), &lim);
	return (uint64_t)(lim.speed_mbps != 0 ? lim.speed_mbps : RTE_ETH_SPEED_NUM_56G) * MLX4_TM_BYTES_PER_MBIT;
}

static uint32_t
max_classes(struct rte_eth_dev *dev)
{
	struct tp_qos_limits lim;

	mlx4_qos_limits(mlx4_eth_of(dev), &lim);
	return lim.max_tc;
}

int
mlx4_tm_caps(struct rte_eth_dev *dev, struct rte_tm_capabilities *cap, struct rte_tm_error *error)
{
	uint32_t tcs = max_classes(dev), queues = dev->data->nb_tx_queues;

	RTE_SET_USED(error);
	memset(cap, 0, sizeof(*cap));
	cap->n_nodes_max = 1 + tcs + queues;
	cap->n_levels_max = MLX4_TM_LEVELS;
	cap->leaf_nodes_identical = 1;
	cap->shaper_n_max = tcs + queues;
	cap->shaper_private_n_max = tcs + queues;
	cap->shaper_private_rate_min = MLX4_TM_BYTES_PER_MBIT;
	cap->shaper_private_rate_max = rate_max(dev);
	cap->shaper_private_byte_mode_supported = 1;
	cap->sched_n_children_max = RTE_MAX(tcs, queues);
	cap->sched_sp_n_priorities_max = tcs;
	cap->sched_wfq_n_children_per_group_max = tcs;
	cap->sched_wfq_n_groups_max = 1;
	cap->sched_wfq_weight_max = MLX4_TM_WEIGHT_MAX;
	cap->sched_wfq_byte_mode_supported = 1;
	return 0;
}

static void
port_level(struct rte_eth_dev *dev, struct rte_tm_level_capabilities *cap)
{
	uint32_t tcs = max_classes(dev);

	cap->n_nodes_max = 1;
	cap->n_nodes_nonleaf_max = 1;
	cap->non_leaf_nodes_identical = 1;
	cap->nonleaf.sched_n_children_max = tcs;
	cap->nonleaf.sched_sp_n_priorities_max = tcs;
	cap->nonleaf.sched_wfq_n_children_per_group_max = tcs;
	cap->nonleaf.sched_wfq_n_groups_max = 1;
	cap->nonleaf.sched_wfq_weight_max = MLX4_TM_WEIGHT_MAX;
	cap->nonleaf.sched_wfq_byte_mode_supported = 1;
}

static void
class_level(struct rte_eth_dev *dev, struct rte_tm_level_capabilities *cap)
{
	cap->n_nodes_max = max_classes(dev);
	cap->n_nodes_nonleaf_max = cap->n_nodes_max;
	cap->non_leaf_nodes_identical = 1;
	cap->nonleaf.shaper_private_supported = 1;
	cap->nonleaf.shaper_private_rate_min = RATE_MIN;
	cap->nonleaf.shaper_private_rate_max = rate_max(dev);
	cap->nonleaf.shaper_private_byte_mode_supported = 1;
	cap->nonleaf.sched_n_children_max = dev->data->nb_tx_queues;
	cap->nonleaf.sched_sp_n_priorities_max = 1;
	cap->nonleaf.sched_wfq_weight_max = 1;
}

static void
queue_level(struct rte_eth_dev *dev, struct rte_tm_level_capabilities *cap)
{
	cap->n_nodes_max = dev->data->nb_tx_queues;
	cap->n_nodes_leaf_max = cap->n_nodes_max;
	cap->leaf_nodes_identical = 1;
	cap->leaf.shaper_private_supported = mlx4_eth_of(dev)->hca->caps.num_qp_rates != 0;
	cap->leaf.shaper_private_rate_min = MLX4_TM_BYTES_PER_MBIT;
	cap->leaf.shaper_private_rate_max = rate_max(dev);
	cap->leaf.shaper_private_byte_mode_supported = cap->leaf.shaper_private_supported;
}

int
mlx4_tm_level_caps(struct rte_eth_dev *dev, uint32_t level, struct rte_tm_level_capabilities *cap,
		   struct rte_tm_error *error)
{
	static void (*const fill[MLX4_TM_LEVELS])(struct rte_eth_dev * dev, struct rte_tm_level_capabilities * cap) = {
		port_level, class_level, queue_level};

	if (level >= MLX4_TM_LEVELS)
		return mlx4_tm_refuse(dev, error, RTE_TM_ERROR_TYPE_LEVEL_ID,
				      "levels are 0 (port), 1 (class), 2 (queue)", level);
	memset(cap, 0, sizeof(*cap));
	fill[level](dev, cap);
	return 0;
}

int
mlx4_tm_node_caps(struct rte_eth_dev *dev, uint32_t id, struct rte_tm_node_capabilities *cap,
		  struct rte_tm_error *error)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	struct rte_tm_level_capabilities l;
	uint32_t level = mlx4_tm_level(eth->qos->tm, id);

	if (level == UINT32_MAX)
		return mlx4_tm_refuse(dev, error, RTE_TM_ERROR_TYPE_NODE_ID, "there is no such node", id);
	memset(&l, 0, sizeof(l));
	memset(cap, 0, sizeof(*cap));
	mlx4_tm_level_caps(dev, level, &l, error);
	if (level == MLX4_TM_LEVELS - 1) {
		cap->shaper_private_supported = l.leaf.shaper_private_supported;
		cap->shaper_private_rate_min = l.leaf.shaper_private_rate_min;
		cap->shaper_private_rate_max = l.leaf.shaper_private_rate_max;
		cap->shaper_private_byte_mode_supported = l.leaf.shaper_private_byte_mode_supported;
		return 0;
	}
	cap->shaper_private_supported = l.nonleaf.shaper_private_supported;
	cap->shaper_private_rate_min = l.nonleaf.shaper_private_rate_min;
	cap->shaper_private_rate_max = l.nonleaf.shaper_private_rate_max;
	cap->shaper_private_byte_mode_supported = l.nonleaf.shaper_private_byte_mode_supported;
	cap->nonleaf.sched_n_children_max = l.nonleaf.sched_n_children_max;
	cap->nonleaf.sched_sp_n_priorities_max = l.nonleaf.sched_sp_n_priorities_max;
	cap->nonleaf.sched_wfq_n_children_per_group_max = l.nonleaf.sched_wfq_n_children_per_group_max;
	cap->nonleaf.sched_wfq_n_groups_max = l.nonleaf.sched_wfq_n_groups_max;
	cap->nonleaf.sched_wfq_weight_max = l.nonleaf.sched_wfq_weight_max;
	cap->nonleaf.sched_wfq_byte_mode_supported = l.nonleaf.sched_wfq_byte_mode_supported;
	return 0;
}
