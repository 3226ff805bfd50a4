/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a port lets in. */
#include <errno.h>
#include <string.h>

#include "drivers/mlx4/flow/flow.h"
#include "drivers/mlx4/group/group.h"
#include "drivers/mlx4/steer/filter.h"
#include "report/rte_pmd_mlx4_report.h"

_Static_assert(RTE_PMD_MLX4_FILTER_UNICAST == MLX4_ETH_MAX_UC_MACS, "an address has no place");
_Static_assert(RTE_PMD_MLX4_FILTER_MULTICAST == MLX4_ETH_MAX_MC_MACS, "an address has no place");

static void
addresses(const struct mlx4_eth *eth, struct rte_pmd_mlx4_filter *f)
{
	const struct rte_ether_addr *mac = eth->dev->data->mac_addrs;
	uint32_t i;

	for (i = 0; i < MLX4_ETH_MAX_UC_MACS; i++)
		if (!rte_is_zero_ether_addr(&mac[i]))
			memcpy(f->unicast[f->num_unicast++], &mac[i], RTE_ETHER_ADDR_LEN);
	f->num_multicast = eth->num_mc;
	for (i = 0; i < eth->num_mc; i++)
		memcpy(f->multicast[i], &eth->mc[i], RTE_ETHER_ADDR_LEN);
}

static void
rules(const struct mlx4_eth *eth, struct rte_pmd_mlx4_filter *f)
{
	const struct rte_flow *flow;
	unsigned int i;

	TAILQ_FOREACH(flow, &eth->flows->list, next)
	f->flow_rules++;
	for (i = 0; i < eth->groups->num; i++)
		f->groups += !eth->groups->g[i]->conf.is_default;
}

int
rte_pmd_mlx4_filter_get(uint16_t port_id, struct rte_pmd_mlx4_filter *filter)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	uint32_t i;

	if (eth == NULL)
		return -ENODEV;
	memset(filter, 0, sizeof(*filter));
	mlx4_control_lock(eth);
	filter->isolated = mlx4_filter_is_isolated(eth);
	filter->promiscuous = eth->promisc;
	filter->all_multicast = eth->allmulti;
	filter->multicast_over = eth->mc_overflow;
	filter->vlan_filter = (eth->dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0;
	for (i = 0; i < RTE_DIM(eth->vlan_filter); i++)
		filter->vlans[i / 2] |= (uint64_t)(eth->vlan_filter[i] | eth->group_vlans[i]) << (i % 2 * 32);
	addresses(eth, filter);
	rules(eth, filter);
	mlx4_control_unlock(eth);
	return 0;
}
