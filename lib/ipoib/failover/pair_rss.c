/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* How a pair spreads packets over its queues: as both of its ports do. */
#include <errno.h>

#include "pair.h"

#define GROUPS (RETA_MAX / RTE_ETH_RETA_GROUP_SIZE)

int
ipoib_pair_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	struct ipoib_pair *p = dev->data->dev_private;

	return rte_eth_dev_rss_reta_query(p->member[0], conf, size);
}

int
ipoib_pair_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	struct rte_eth_rss_reta_entry64 before[GROUPS];
	struct ipoib_pair *p = dev->data->dev_private;
	unsigned int i;
	int ret;

	for (i = 0; i < GROUPS; i++)
		before[i].mask = UINT64_MAX;
	if (size > RETA_MAX)
		return -EINVAL;
	ret = rte_eth_dev_rss_reta_query(p->member[0], before, size);
	if (ret == 0)
		ret = rte_eth_dev_rss_reta_update(p->member[0], conf, size);
	if (ret != 0)
		return ret;
	ret = rte_eth_dev_rss_reta_update(p->member[1], conf, size);
	if (ret != 0 && rte_eth_dev_rss_reta_update(p->member[0], before, size) != 0)
		IPOIB_LOG(ERR, "port %u: its two ports have different indirection tables", p->port_id);
	return ret;
}

int
ipoib_pair_hash_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	struct ipoib_pair *p = dev->data->dev_private;

	return rte_eth_dev_rss_hash_conf_get(p->member[0], conf);
}

int
ipoib_pair_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	uint8_t key[RETA_RSS_KEY_LEN];
	struct rte_eth_rss_conf before = {.rss_key = key, .rss_key_len = sizeof(key)};
	struct ipoib_pair *p = dev->data->dev_private;
	int ret = rte_eth_dev_rss_hash_conf_get(p->member[0], &before);

	if (ret == 0)
		ret = rte_eth_dev_rss_hash_update(p->member[0], conf);
	if (ret != 0)
		return ret;
	ret = rte_eth_dev_rss_hash_update(p->member[1], conf);
	if (ret != 0 && rte_eth_dev_rss_hash_update(p->member[0], &before) != 0)
		IPOIB_LOG(ERR, "port %u: its two ports hash in different ways", p->port_id);
	return ret;
}
