/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* VLAN filter of a port and VLAN stripping of its queues. */
#include <errno.h>
#include <string.h>

#include "ethdev.h"
#include "group.h"
#include "rx_side.h"

#define VID_BIT(v) (UINT32_C(1) << ((v) % 32))

/* With the filter off every VID passes; with it on, priority-tagged frames (VID 0), those asked for and those of groups. */
int
mlx4_vlan_apply(struct mlx4_eth *eth)
{
	bool on = (eth->dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0;
	uint32_t map[RTE_DIM(eth->vlan_filter)];

	if (on) {
		memcpy(map, eth->vlan_filter, sizeof(map));
		map[0] |= VID_BIT(0);
		mlx4_groups_vlans(eth, map);
	} else {
		memset(map, 0xff, sizeof(map));
	}
	return mlx4_port_vlan_filter(eth->hca, eth->port, map);
}

int
mlx4_vlan_filter_set(struct rte_eth_dev *dev, uint16_t vid, int on)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint32_t *word = &eth->vlan_filter[vid / 32], before = *word;
	unsigned int i, n = 0;
	int rc;

	if (on)
		*word |= VID_BIT(vid);
	else
		*word &= ~VID_BIT(vid);
	for (i = 0; i < RTE_DIM(eth->vlan_filter); i++)
		n += __builtin_popcount(eth->vlan_filter[i]);
	if (n > MLX4_ETH_MAX_VLANS) {
		*word = before;
		MLX4_LOG(ERR, "port %u: VLAN %u is one too many, the filter has %u entries", dev->data->port_id, vid,
			 MLX4_ETH_MAX_VLANS);
		return -ENOSPC;
	}
	rc = dev->data->dev_started ? mlx4_vlan_apply(eth) : 0;
	if (rc != 0)
		*word = before;
	return rc;
}

static int
strip_set(struct mlx4_rxq *q, bool on)
{
	struct mlx4_rx_set *s = NULL;
	uint16_t side = 0, i;
	int rc = 0;

	if (on && q->stamp_flag != 0) {
		MLX4_LOG(ERR,
			 "port %u Rx queue %u: its packets carry the time of arrival where their tag would be: no VLAN "
			 "stripping",
			 q->port_id, q->queue_id);
		return -ENOTSUP;
	}
	q->vlan_strip = on;
	while (q->started && rc == 0 && (s = mlx4_rxq_next_set(q, s, &side)) != NULL)
		for (i = 0; i < s->num_rings && rc == 0; i++)
			rc = mlx4_qp_vlan_strip(q->eth->hca, &s->ring[i].qp, on);
	return rc;
}

int
mlx4_vlan_offload_set(struct rte_eth_dev *dev, int mask)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	bool strip = (dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
	uint16_t i;
	int rc = 0;

	if ((mask & RTE_ETH_VLAN_FILTER_MASK) != 0 && dev->data->dev_started)
		rc = mlx4_vlan_apply(eth);
	if ((mask & RTE_ETH_VLAN_STRIP_MASK) == 0)
		return rc;
	for (i = 0; rc == 0 && i < dev->data->nb_rx_queues; i++)
		if (eth->rxqs[i] != NULL)
			rc = strip_set(eth->rxqs[i], strip);
	return rc;
}

void
mlx4_vlan_strip_queue_set(struct rte_eth_dev *dev, uint16_t queue, int on)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	if (queue < MLX4_ETH_MAX_RXQ && eth->rxqs[queue] != NULL)
		strip_set(eth->rxqs[queue], on != 0);
}
