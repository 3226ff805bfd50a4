/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* MAC addresses, multicast, promiscuous and all-multicast, as steering rules. */
#ifndef MLX4_STEER_FILTER_H
#define MLX4_STEER_FILTER_H

#include "drivers/mlx4/port/port.h"

int mlx4_filter_create(struct mlx4_eth *eth);
void mlx4_filter_destroy(struct mlx4_eth *eth);
int mlx4_promiscuous_enable(struct rte_eth_dev *dev);
int mlx4_promiscuous_disable(struct rte_eth_dev *dev);
int mlx4_allmulticast_enable(struct rte_eth_dev *dev);
int mlx4_allmulticast_disable(struct rte_eth_dev *dev);
int mlx4_mac_add(struct rte_eth_dev *dev, struct rte_ether_addr *mac, uint32_t index, uint32_t pool);
void mlx4_mac_remove(struct rte_eth_dev *dev, uint32_t index);
int mlx4_mac_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac);
int mlx4_mc_list_set(struct rte_eth_dev *dev, struct rte_ether_addr *mc, uint32_t n);
/* How many addresses the multicast list may hold, up to MLX4_ETH_MAX_MC_MACS. On an error it is as before. */
int mlx4_mc_size_set(struct mlx4_eth *eth, uint32_t size);

/*
 * filter.c: MAC addresses, multicast list, promiscuous and all-multicast, VLAN filter. start installs every rule
 * with target_qpn; retarget moves them to another QPN without a gap (new rules first).
 */
int mlx4_filter_start(struct mlx4_eth *eth);
void mlx4_filter_stop(struct mlx4_eth *eth);
/*
 * Only frames that rules of rte_flow name are received; what the settings ask for holds again afterwards. A port with groups is
 * never isolated: their rules would stay, and those that guard them go.
 */
int mlx4_filter_isolate(struct mlx4_eth *eth, bool on);
bool mlx4_filter_is_isolated(const struct mlx4_eth *eth);
int mlx4_filter_retarget(struct mlx4_eth *eth, uint32_t qpn);
/* A group of queues has this address; untagged: and wants frames without a VLAN only. Frames that it leaves are ours. */
int mlx4_filter_group_add(struct mlx4_eth *eth, const struct rte_ether_addr *mac, bool untagged);
void mlx4_filter_group_remove(struct mlx4_eth *eth, const struct rte_ether_addr *mac, bool untagged);
/* One group more (or less) gets copies of multicast: while there is one, the port takes all of it or none. */
int mlx4_filter_flood(struct mlx4_eth *eth, bool more);
/* The same for copies by software: the port receives all multicast for them. */
int mlx4_filter_copies(struct mlx4_eth *eth, bool more);

#define MLX4_NO_RULE UINT64_MAX
extern const struct rte_ether_addr mlx4_broadcast;
/* The order of steering rules. Each kind has a second place behind its own, for the successor of a rule that moves. */
enum mlx4_rule_order {
	MLX4_RULE_GROUP_TAGGED = 0, /* groups with a VLAN */
	MLX4_RULE_GUARD = 2,        /* tagged frames of groups that want untagged ones */
	MLX4_RULE_GROUP = 4,
	MLX4_RULE_PORT = 6,       /* the port's own addresses, broadcast */
	MLX4_RULE_GROUP_MISS = 8, /* addresses of groups, what no group takes */
};

#endif /* MLX4_STEER_FILTER_H */
