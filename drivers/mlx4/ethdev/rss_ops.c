/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Receive-side scaling as the application asks for it: hash, indirection table, queues that start and stop, the default queue.
 * What changes here concerns the default set (steer/rss.c), groups and rules of rte_flow.
 */
#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>

#include "drivers/mlx4/flow/flow.h"
#include "drivers/mlx4/group/group.h"
#include "drivers/mlx4/steer/rss.h"
#include "ethdev.h"
#include "rte_pmd_mlx4_queue.h"

static int
default_queue_set(struct mlx4_eth *eth, uint16_t queue, char err[TP_ERR_LEN])
{
	const uint16_t was = eth->rss_default_queue, n = eth->dev->data->nb_rx_queues;
	const bool runs = eth->dev->data->dev_started != 0;
	uint16_t most = (uint16_t)((runs ? RTE_MAX(n, 1) : MLX4_ETH_MAX_RXQ) - 1);
	int ret;

	if (queue > most) {
		snprintf(err, TP_ERR_LEN, "rss-default-queue: %u, want 0..%u", queue, most);
		return -EINVAL;
	}
	eth->rss_default_queue = queue;
	ret = runs ? mlx4_rss_update(eth) : 0;
	if (ret == 0)
		return 0;
	eth->rss_default_queue = was;
	snprintf(err, TP_ERR_LEN, "rss-default-queue: %u: the card or the pool refused: %s", queue, rte_strerror(-ret));
	return ret;
}

int
rte_pmd_mlx4_rss_default_queue_set(uint16_t port_id, uint16_t queue, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_asked(port_id, err);
	int ret;

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	ret = default_queue_set(eth, queue, err);
	mlx4_control_unlock(eth);
	return ret;
}

int
rte_pmd_mlx4_rss_default_queue_get(uint16_t port_id, uint16_t *queue)
{
	const struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	*queue = eth->rss_default_queue;
	return 0;
}

/* The default set and all groups: they share the key. */
static int
update_all(struct mlx4_eth *eth)
{
	int ret = mlx4_rss_update(eth);

	return ret != 0 ? ret : mlx4_groups_refresh(eth);
}

int
mlx4_rss_refresh(struct mlx4_eth *eth)
{
	int ret = update_all(eth);

	return ret != 0 ? ret : mlx4_flows_refresh(eth);
}

int
mlx4_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	struct mlx4_eth *eth = dev->data->dev_private;
	const struct reta_who w = mlx4_rss_who(eth);
	bool was_default = eth->reta_is_default;
	uint16_t before[MLX4_ETH_RETA_MAX];
	int ret;

	memcpy(before, eth->reta, sizeof(before));
	ret = reta_set(&w, eth->reta, eth->reta_size, dev->data->nb_rx_queues, conf, size);
	if (ret != 0)
		return ret;
	eth->reta_is_default = false;
	ret = dev->data->dev_started ? mlx4_rss_update(eth) : 0;
	if (ret != 0) {
		memcpy(eth->reta, before, sizeof(before));
		eth->reta_is_default = was_default;
	}
	return ret;
}

int
mlx4_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	const struct mlx4_eth *eth = dev->data->dev_private;
	const struct reta_who w = mlx4_rss_who(eth);

	return reta_get(&w, eth->reta, eth->reta_size, conf, size);
}

int
mlx4_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	struct mlx4_eth *eth = dev->data->dev_private;
	uint8_t key[MLX4_RSS_KEY_SIZE];
	uint64_t hf = eth->rss_hf;
	int ret;

	ret = mlx4_rss_check(eth, conf);
	if (ret != 0)
		return ret;
	memcpy(key, eth->rss_key, sizeof(key));
	eth->rss_hf = conf->rss_hf;
	if (conf->rss_key != NULL && conf->rss_key_len != 0)
		memcpy(eth->rss_key, conf->rss_key, sizeof(eth->rss_key));
	if (!dev->data->dev_started)
		return 0;
	ret = update_all(eth);
	if (ret == 0)
		return 0;
	eth->rss_hf = hf;
	memcpy(eth->rss_key, key, sizeof(key));
	if (update_all(eth) != 0)
		MLX4_LOG(ERR, "port %u: some queues are spread by the key that was refused", dev->data->port_id);
	return ret;
}

int
mlx4_rss_hash_conf_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	const struct mlx4_eth *eth = dev->data->dev_private;

	conf->rss_hf = eth->rss_hf;
	if (conf->rss_key != NULL && conf->rss_key_len >= MLX4_RSS_KEY_SIZE)
		memcpy(conf->rss_key, eth->rss_key, MLX4_RSS_KEY_SIZE);
	conf->rss_key_len = MLX4_RSS_KEY_SIZE;
	return 0;
}

static int
queue_sets(struct mlx4_eth *eth, uint16_t idx)
{
	return mlx4_group_of(eth, idx) != NULL ? mlx4_group_refresh(eth, idx) : mlx4_rss_update(eth);
}

/* Gives a queue to its set or takes it out. */
static int
queue_changed(struct mlx4_eth *eth, uint16_t idx, bool started)
{
	int ret;

	if (eth->rxqs[idx]->started == started)
		return 0;
	eth->rxqs[idx]->started = started;
	ret = queue_sets(eth, idx);
	if (ret == 0)
		ret = mlx4_flows_refresh(eth);
	if (ret == 0)
		return 0;
	eth->rxqs[idx]->started = !started;
	/* What it had it can have again, unless the card is lost. */
	if (queue_sets(eth, idx) != 0 || mlx4_flows_refresh(eth) != 0)
		MLX4_LOG(ERR, "port %u: Rx queue %u neither started nor stopped", eth->dev->data->port_id, idx);
	return ret;
}

int
mlx4_rx_queue_start(struct rte_eth_dev *dev, uint16_t idx)
{
	int ret = queue_changed(dev->data->dev_private, idx, true);

	if (ret == 0)
		dev->data->rx_queue_state[idx] = RTE_ETH_QUEUE_STATE_STARTED;
	return ret;
}

int
mlx4_rx_queue_stop(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mlx4_eth *eth = dev->data->dev_private;
	int ret = queue_changed(eth, idx, false);

	if (ret != 0)
		return ret;
	/* Nobody polls a queue that is being stopped. */
	mlx4_rxq_drop_sets(eth->rxqs[idx]);
	mlx4_rx_sides_drop(eth->rxqs[idx]);
	dev->data->rx_queue_state[idx] = RTE_ETH_QUEUE_STATE_STOPPED;
	return 0;
}
