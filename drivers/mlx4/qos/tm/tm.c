/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* rte_tm: shaper profiles and nodes, noted down until the hierarchy is committed; tm.h says what can be. */
#include <errno.h>

#include <rte_malloc.h>

#include "tm.h"

#define REFUSE(type, message, value) mlx4_tm_refuse(dev, error, RTE_TM_ERROR_TYPE_##type, message, value)

static struct mlx4_tm *
tm_of(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	if (eth->qos->tm == NULL)
		eth->qos->tm = rte_zmalloc_socket("mlx4_tm", sizeof(*eth->qos->tm), 0, eth->hca->numa_node);
	return eth->qos->tm;
}

static int
node_type_get(struct rte_eth_dev *dev, uint32_t id, int *is_leaf, struct rte_tm_error *error)
{
	uint32_t level = mlx4_tm_level(mlx4_eth_of(dev)->qos->tm, id);

	if (level == UINT32_MAX)
		return REFUSE(NODE_ID, "there is no such node", id);
	*is_leaf = level == MLX4_TM_LEVELS - 1;
	return 0;
}

/* --- shaper profiles --- */

static int
check_profile(struct rte_eth_dev *dev, const struct rte_tm_shaper_params *p, struct rte_tm_error *error)
{
	if (p->committed.rate != 0)
		return REFUSE(SHAPER_PROFILE_COMMITTED_RATE, "committed rate, want 0: limits are peak rates",
			      p->committed.rate);
	if (p->committed.size != 0)
		return REFUSE(SHAPER_PROFILE_COMMITTED_SIZE, "committed size, want 0", p->committed.size);
	if (p->peak.rate < MLX4_TM_BYTES_PER_MBIT)
		return REFUSE(SHAPER_PROFILE_PEAK_RATE, "bytes per second, want 125000 (1 Mb/s) or more", p->peak.rate);
	if (p->peak.size != 0)
		return REFUSE(SHAPER_PROFILE_PEAK_SIZE, "peak size, want 0: the card has its own", p->peak.size);
	if (p->pkt_length_adjust != 0)
		return REFUSE(SHAPER_PROFILE_PKT_ADJUST_LEN, "packet length adjustment, want 0",
			      (uint64_t)(int64_t)p->pkt_length_adjust);
	if (p->packet_mode != 0)
		return REFUSE(SHAPER_PROFILE_PACKET_MODE, "packet mode, want 0: rates are of bytes",
			      (uint64_t)(int64_t)p->packet_mode);
	return 0;
}

static int
shaper_profile_add(struct rte_eth_dev *dev, uint32_t id, MLX4_TM_CONST struct rte_tm_shaper_params *p,
		   struct rte_tm_error *error)
{
	struct mlx4_tm *tm = tm_of(dev);
	uint32_t i;
	int rc;

	if (tm == NULL)
		return -ENOMEM;
	if (id == RTE_TM_SHAPER_PROFILE_ID_NONE || mlx4_tm_profile(tm, id) != NULL)
		return REFUSE(SHAPER_PROFILE_ID, "the profile exists, want another number", id);
	rc = check_profile(dev, p, error);
	if (rc != 0)
		return rc;
	for (i = 0; i < MLX4_TM_PROFILES && tm->profile[i].used; i++)
		;
	if (i == MLX4_TM_PROFILES)
		return REFUSE(SHAPER_PROFILE, "no room, there are 64 profiles", id);
	tm->profile[i] = (struct mlx4_tm_profile){
		.used = true, .id = id, .mbps = (uint32_t)RTE_MIN(p->peak.rate / MLX4_TM_BYTES_PER_MBIT, UINT32_MAX)};
	return 0;
}

static bool
profile_is_used(const struct mlx4_tm *tm, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < TP_TCS; i++)
		if (tm->tc[i].used && tm->tc[i].profile == id)
			return true;
	for (i = 0; i < MLX4_ETH_MAX_TXQ; i++)
		if (tm->leaf[i].used && tm->leaf[i].profile == id)
			return true;
	return false;
}

static int
shaper_profile_delete(struct rte_eth_dev *dev, uint32_t id, struct rte_tm_error *error)
{
	struct mlx4_tm *tm = tm_of(dev);
	const struct mlx4_tm_profile *p = tm != NULL ? mlx4_tm_profile(tm, id) : NULL;

	if (p == NULL)
		return REFUSE(SHAPER_PROFILE_ID, "there is no such profile", id);
	if (profile_is_used(tm, id))
		return REFUSE(SHAPER_PROFILE, "a node uses the profile", id);
	tm->profile[p - tm->profile].used = false;
	return 0;
}

/* --- nodes --- */

static int
check_profile_of(struct rte_eth_dev *dev, const struct mlx4_tm *tm, uint32_t id, bool offered,
		 struct rte_tm_error *error)
{
	if (id == RTE_TM_SHAPER_PROFILE_ID_NONE)
		return 0;
	if (mlx4_tm_profile(tm, id) == NULL)
		return REFUSE(NODE_PARAMS_SHAPER_PROFILE_ID, "there is no such profile", id);
	if (!offered)
		return REFUSE(NODE_PARAMS_SHAPER_PROFILE_ID, "this node has no rate limit, want no profile", id);
	return 0;
}

static int
check_params(struct rte_eth_dev *dev, const struct mlx4_tm *tm, uint32_t level, const struct rte_tm_node_params *p,
	     struct rte_tm_error *error)
{
	uint32_t i, max_sp = level == 0 ? TP_TCS : 1;
	bool shaper = level == 1 || (level == 2 && mlx4_eth_of(dev)->hca->caps.num_qp_rates != 0);

	if (p->n_shared_shapers != 0)
		return REFUSE(NODE_PARAMS_N_SHARED_SHAPERS, "shared shapers, want none", p->n_shared_shapers);
	if (p->stats_mask != 0)
		return REFUSE(NODE_PARAMS_STATS, "statistics of nodes, want none", p->stats_mask);
	if (level == 2 && p->leaf.cman != RTE_TM_CMAN_TAIL_DROP)
		return REFUSE(NODE_PARAMS_CMAN, "congestion management, want tail drop", (uint64_t)p->leaf.cman);
	if (level == 2 &&
	    (p->leaf.wred.wred_profile_id != RTE_TM_WRED_PROFILE_ID_NONE || p->leaf.wred.n_shared_wred_contexts != 0))
		return REFUSE(NODE_PARAMS_WRED_PROFILE_ID, "WRED, want none", p->leaf.wred.wred_profile_id);
	if (level != 2 && (p->nonleaf.n_sp_priorities == 0 || p->nonleaf.n_sp_priorities > max_sp))
		return REFUSE(NODE_PARAMS_N_SP_PRIORITIES,
			      level == 0 ? "priorities, want 1..8" : "priorities within a class, want 1",
			      p->nonleaf.n_sp_priorities);
	for (i = 0; level != 2 && p->nonleaf.wfq_weight_mode != NULL && i < p->nonleaf.n_sp_priorities; i++)
		if (p->nonleaf.wfq_weight_mode[i] == 0)
			return REFUSE(NODE_PARAMS_WFQ_WEIGHT_MODE, "packet mode of weights, want bytes", i);
	return check_profile_of(dev, tm, p->shaper_profile_id, shaper, error);
}

/* Where a node goes by its parent: *slot; the level is returned, UINT32_MAX when it was refused. */
static uint32_t
place(struct rte_eth_dev *dev, struct mlx4_tm *tm, uint32_t id, uint32_t parent, struct mlx4_tm_node **slot,
      uint32_t *class, struct rte_tm_error *error)
{
	uint32_t up = mlx4_tm_level(tm, parent), i;
	struct tp_qos_limits lim;

	if (parent == RTE_TM_NODE_ID_NULL) {
		*slot = &tm->port;
		if (!tm->port.used && id >= dev->data->nb_tx_queues)
			return 0;
		REFUSE(NODE_ID, tm->port.used ? "there is a root" : "numbers below the queues are theirs", id);
		return UINT32_MAX;
	}
	if (up == 0) {
		mlx4_qos_limits(mlx4_eth_of(dev), &lim);
		for (i = 0; i < lim.max_tc && tm->tc[i].used; i++)
			;
		if (i < lim.max_tc && id >= dev->data->nb_tx_queues) {
			*slot = &tm->tc[i];
			return 1;
		}
		REFUSE(NODE_ID, i < lim.max_tc ? "numbers below the queues are theirs" : "no class is left", id);
		return UINT32_MAX;
	}
	if (up == 1 && id < dev->data->nb_tx_queues) {
		for (i = 0; tm->tc[i].id != parent || !tm->tc[i].used; i++)
			;
		*class = i;
		*slot = &tm->leaf[id];
		return 2;
	}
	if (up == 1)
		REFUSE(NODE_ID, "a leaf has the number of a transmit queue", id);
	else
		REFUSE(NODE_PARENT_NODE_ID, "not a node that can have children", parent);
	return UINT32_MAX;
}

static int
node_add(struct rte_eth_dev *dev, uint32_t id, uint32_t parent, uint32_t priority, uint32_t weight, uint32_t level_id,
	 MLX4_TM_CONST struct rte_tm_node_params *p, struct rte_tm_error *error)
{
	struct mlx4_tm *tm = tm_of(dev);
	struct mlx4_tm_node *slot;
	uint32_t level, class = 0;
	int rc;

	if (tm == NULL)
		return -ENOMEM;
	if (mlx4_tm_level(tm, id) != UINT32_MAX)
		return REFUSE(NODE_ID, "the node exists", id);
	level = place(dev, tm, id, parent, &slot, &class, error);
	if (level == UINT32_MAX)
		return -EINVAL;
	if (level_id != RTE_TM_NODE_LEVEL_ID_ANY && level_id != level)
		return REFUSE(LEVEL_ID, "not the level below its parent's", level_id);
	if (priority > (level == 1 ? TP_TCS - 1 : 0))
		return REFUSE(NODE_PRIORITY, level == 1 ? "priority, want 0..7" : "priority, want 0", priority);
	if (weight == 0 || weight > (level == 1 ? MLX4_TM_WEIGHT_MAX : 1))
		return REFUSE(NODE_WEIGHT, level == 1 ? "weight, want 1..255" : "weight, want 1", weight);
	rc = check_params(dev, tm, level, p, error);
	if (rc != 0)
		return rc;
	*slot = (struct mlx4_tm_node){.used = true,
				      .id = id,
				      .parent = class,
				      .priority = priority,
				      .weight = weight,
				      .profile = p->shaper_profile_id};
	return 0;
}

static int
node_delete(struct rte_eth_dev *dev, uint32_t id, struct rte_tm_error *error)
{
	struct mlx4_tm *tm = mlx4_eth_of(dev)->qos->tm;
	uint32_t level = mlx4_tm_level(tm, id), i, k;

	if (level == UINT32_MAX)
		return REFUSE(NODE_ID, "there is no such node", id);
	if (level == 2) {
		tm->leaf[id].used = false;
		return 0;
	}
	for (i = 0; i < TP_TCS; i++) {
		if (level == 0 && tm->tc[i].used)
			return REFUSE(NODE_ID, "the node has children", id);
		if (level == 0 || tm->tc[i].id != id || !tm->tc[i].used)
			continue;
		for (k = 0; k < MLX4_ETH_MAX_TXQ; k++)
			if (tm->leaf[k].used && tm->leaf[k].parent == i)
				return REFUSE(NODE_ID, "the node has children", id);
		tm->tc[i].used = false;
	}
	if (level == 0)
		tm->port.used = false;
	return 0;
}

static const struct rte_tm_ops tm_ops = {
	.node_type_get = node_type_get,
	.capabilities_get = mlx4_tm_caps,
	.level_capabilities_get = mlx4_tm_level_caps,
	.node_capabilities_get = mlx4_tm_node_caps,
	.shaper_profile_add = shaper_profile_add,
	.shaper_profile_delete = shaper_profile_delete,
	.node_add = node_add,
	.node_delete = node_delete,
	.hierarchy_commit = mlx4_tm_commit,
};

int
mlx4_tm_ops_get(struct rte_eth_dev *dev, void *ops)
{
	RTE_SET_USED(dev);
	*(const struct rte_tm_ops **)ops = &tm_ops;
	return 0;
}
