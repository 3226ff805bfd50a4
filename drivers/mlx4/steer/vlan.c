/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* VLAN filter of a port. */
#include <errno.h>
#include <string.h>

#include "vlan.h"

#define VID_BIT(v) (UINT32_C(1) << ((v) % 32))

/* With the filter off every VID passes; with it on, priority-tagged frames (VID 0), those asked for and those of groups. */
int
mlx4_vlan_apply(struct mlx4_eth *eth)
{
	bool on = (eth->dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0;
	uint32_t map[RTE_DIM(eth->vlan_filter)];
	unsigned int i;

	if (on) {
		memcpy(map, eth->vlan_filter, sizeof(map));
		map[0] |= VID_BIT(0);
		for (i = 0; i < RTE_DIM(map); i++)
			map[i] |= eth->group_vlans[i];
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
