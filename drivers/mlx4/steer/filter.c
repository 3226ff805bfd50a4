/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Which frames a port takes: unicast addresses, multicast list, promiscuous, all-multicast. Each is a steering rule to
 * target_qpn; without rules a frame goes nowhere, so a stopped port has none. More multicast addresses than the list
 * may hold make the port take all multicast, until they fit again.
 *
 * An address that a group of queues names is one of the port's: what the group does not take of it (by its VLAN) comes
 * to target_qpn, by a rule behind all others. A group that wants untagged frames only is guarded by rules in front of
 * its own, one for each bit of the VID: a frame with any of them goes to target_qpn.
 */
#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "filter.h"
#include "rte_pmd_mlx4.h"
#include "vlan.h"

#define NO_RULE MLX4_NO_RULE
#define VID_BITS 12u

struct rule_set {
	uint64_t uc[MLX4_ETH_MAX_UC_MACS];
	uint64_t mc[MLX4_ETH_MAX_MC_MACS];
	uint64_t bcast, promisc, allmulti;
	uint64_t miss[TP_GROUPS];
	uint64_t guard[TP_GROUPS][VID_BITS];
	uint16_t turn; /* 0 or 1: which of the two priorities of a rule is in use */
};

/* A MAC address that one or more groups use. */
struct group_mac {
	struct rte_ether_addr mac;
	uint16_t refs;   /* groups that have it, 0: free */
	uint16_t guards; /* of them want untagged frames only */
};

struct mlx4_filter {
	struct rte_ether_addr mac[MLX4_ETH_MAX_UC_MACS]; /* zero: free */
	struct group_mac group_mac[TP_GROUPS];
	unsigned int floods; /* groups that get multicast, too ... */
	unsigned int copies; /* ... of these by software */
	bool isolated;       /* rules of rte_flow decide alone */
	struct rule_set rules;
	bool on;
};

const struct rte_ether_addr mlx4_broadcast = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

static void
rules_clear(struct rule_set *r)
{
	memset(r, 0xff, sizeof(*r));
	r->turn = 0;
}

static void
guards_drop(struct mlx4_eth *eth, struct rule_set *r, uint32_t i)
{
	uint32_t b;

	for (b = 0; b < VID_BITS; b++)
		mlx4_rule_drop(eth->hca, eth->port, &r->guard[i][b]);
}

static void
group_mac_drop(struct mlx4_eth *eth, struct rule_set *r, uint32_t i)
{
	guards_drop(eth, r, i);
	mlx4_rule_drop(eth->hca, eth->port, &r->miss[i]);
}

static void
rules_remove(struct mlx4_eth *eth, struct rule_set *r)
{
	uint32_t i;

	mlx4_rule_drop(eth->hca, eth->port, &r->promisc);
	mlx4_rule_drop(eth->hca, eth->port, &r->allmulti);
	for (i = 0; i < MLX4_ETH_MAX_MC_MACS; i++)
		mlx4_rule_drop(eth->hca, eth->port, &r->mc[i]);
	mlx4_rule_drop(eth->hca, eth->port, &r->bcast);
	for (i = 0; i < MLX4_ETH_MAX_UC_MACS; i++)
		mlx4_rule_drop(eth->hca, eth->port, &r->uc[i]);
	for (i = 0; i < TP_GROUPS; i++)
		group_mac_drop(eth, r, i);
}

/* A kind of rule as it should be: there or not. */
static int
default_rule(struct mlx4_eth *eth, uint64_t *id, bool want, uint16_t prio, enum mlx4_dmfs_type type, uint32_t qpn)
{
	if (!want)
		mlx4_rule_drop(eth->hca, eth->port, id);
	else if (*id == NO_RULE)
		return mlx4_rule_default(eth->hca, eth->port, prio, type, qpn, id);
	return 0;
}

/* A list of addresses would keep multicast from groups that want it: they are given what no rule names. */
static bool
mc_is_exact(const struct mlx4_eth *eth)
{
	return eth->filter->floods == 0 && !eth->mc_overflow;
}

static int
defaults_apply(struct mlx4_eth *eth, struct rule_set *r, uint32_t qpn)
{
	bool listed = eth->num_mc != 0 && !mc_is_exact(eth);
	bool wanted = eth->allmulti || eth->mc_overflow || eth->promisc || listed;
	int rc;

	__atomic_store_n(&eth->mc_hidden, !wanted, __ATOMIC_RELAXED);
	rc = default_rule(eth, &r->promisc, eth->promisc, r->turn, MLX4_DMFS_ALL_DEFAULT, qpn);

	if (rc == 0)
		rc = default_rule(eth, &r->allmulti, wanted || eth->filter->copies != 0, 0, MLX4_DMFS_MC_DEFAULT, qpn);
	return rc;
}

/* The rules of the i-th address of groups as they should be. */
static int
group_mac_apply(struct mlx4_eth *eth, struct rule_set *r, uint32_t i, uint32_t qpn)
{
	const struct group_mac *g = &eth->filter->group_mac[i];
	uint32_t b;
	int rc = 0;

	if (g->refs == 0) {
		group_mac_drop(eth, r, i);
		return 0;
	}
	if (r->miss[i] == NO_RULE)
		rc = mlx4_rule_mac(eth->hca, eth->port, MLX4_RULE_GROUP_MISS + r->turn, &g->mac, qpn, &r->miss[i]);
	if (g->guards == 0)
		guards_drop(eth, r, i);
	for (b = 0; g->guards != 0 && rc == 0 && b < VID_BITS; b++)
		if (r->guard[i][b] == NO_RULE)
			rc = mlx4_rule_tagged(eth->hca, eth->port, MLX4_RULE_GUARD + r->turn, &g->mac,
					      (uint16_t)(1u << b), (uint16_t)(1u << b), qpn, &r->guard[i][b]);
	return rc;
}

/* The list of multicast addresses; copies of a frame go to all rules of one priority, so these have no turn. */
static int
mc_apply(struct mlx4_eth *eth, struct rule_set *r, uint32_t qpn)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < eth->num_mc; i++) {
		if (!mc_is_exact(eth))
			mlx4_rule_drop(eth->hca, eth->port, &r->mc[i]);
		else if (r->mc[i] == NO_RULE)
			rc = mlx4_rule_mac(eth->hca, eth->port, MLX4_RULE_PORT, &eth->mc[i], qpn, &r->mc[i]);
	}
	return rc;
}

static int
rules_install(struct mlx4_eth *eth, struct rule_set *r, uint32_t qpn)
{
	struct mlx4_filter *f = eth->filter;
	uint32_t i;
	int rc;

	rc = mlx4_rule_mac(eth->hca, eth->port, MLX4_RULE_PORT, &mlx4_broadcast, qpn, &r->bcast);
	for (i = 0; rc == 0 && i < MLX4_ETH_MAX_UC_MACS; i++)
		if (!rte_is_zero_ether_addr(&f->mac[i]))
			rc = mlx4_rule_mac(eth->hca, eth->port, MLX4_RULE_PORT + r->turn, &f->mac[i], qpn, &r->uc[i]);
	for (i = 0; rc == 0 && i < TP_GROUPS; i++)
		rc = group_mac_apply(eth, r, i, qpn);
	if (rc == 0)
		rc = mc_apply(eth, r, qpn);
	if (rc == 0)
		rc = defaults_apply(eth, r, qpn);
	if (rc != 0)
		rules_remove(eth, r);
	return rc;
}

static bool
mac_listed(const struct rte_ether_addr *list, unsigned int n, const struct rte_ether_addr *mac)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (rte_is_same_ether_addr(&list[i], mac))
			return true;
	return false;
}

/* The card's table of the port's addresses. */
static int
macs_apply(struct mlx4_eth *eth)
{
	struct rte_ether_addr mac[MLX4_ETH_MAX_UC_MACS + TP_GROUPS];
	const struct mlx4_filter *f = eth->filter;
	unsigned int i, n = 0;

	for (i = 0; i < MLX4_ETH_MAX_UC_MACS; i++)
		if (!rte_is_zero_ether_addr(&f->mac[i]))
			mac[n++] = f->mac[i];
	for (i = 0; i < TP_GROUPS; i++)
		if (f->group_mac[i].refs != 0 && !mac_listed(mac, n, &f->group_mac[i].mac))
			mac[n++] = f->group_mac[i].mac;
	if (n > MLX4_MAC_TABLE_ENTRIES) {
		MLX4_LOG(ERR, "port %u: %u addresses of the port and of groups, the card's table has room for %u",
			 eth->dev->data->port_id, n, MLX4_MAC_TABLE_ENTRIES);
		return -ENOSPC;
	}
	return mlx4_port_set_macs(eth->hca, eth->port, mac, n);
}

int
mlx4_filter_create(struct mlx4_eth *eth)
{
	eth->filter = rte_zmalloc_socket("mlx4_filter", sizeof(*eth->filter), 0, eth->hca->numa_node);
	if (eth->filter == NULL)
		return -ENOMEM;
	rules_clear(&eth->filter->rules);
	eth->filter->mac[0] = eth->dev->data->mac_addrs[0];
	eth->mc_size = RTE_PMD_MLX4_MCAST_SIZE;
	return 0;
}

void
mlx4_filter_destroy(struct mlx4_eth *eth)
{
	rte_free(eth->filter);
	eth->filter = NULL;
}

int
mlx4_filter_start(struct mlx4_eth *eth)
{
	int rc;

	rc = mlx4_port_mcast_filter_off(eth->hca, eth->port);
	if (rc == 0)
		rc = macs_apply(eth);
	if (rc == 0)
		rc = mlx4_vlan_apply(eth);
	if (rc == 0 && !eth->filter->isolated)
		rc = rules_install(eth, &eth->filter->rules, eth->target_qpn);
	eth->filter->on = rc == 0 && !eth->filter->isolated;
	return rc;
}

void
mlx4_filter_stop(struct mlx4_eth *eth)
{
	eth->filter->on = false;
	rules_remove(eth, &eth->filter->rules);
}

int
mlx4_filter_isolate(struct mlx4_eth *eth, bool on)
{
	struct mlx4_filter *f = eth->filter;
	int rc;

	if (f->isolated == on)
		return 0;
	f->isolated = on;
	if (!eth->dev->data->dev_started)
		return 0;
	if (on) {
		mlx4_filter_stop(eth);
		return 0;
	}
	rc = mlx4_filter_start(eth);
	f->isolated = rc != 0;
	return rc;
}

bool
mlx4_filter_is_isolated(const struct mlx4_eth *eth)
{
	return eth->filter->isolated;
}

int
mlx4_filter_retarget(struct mlx4_eth *eth, uint32_t qpn)
{
	struct mlx4_filter *f = eth->filter;
	struct rule_set *next;
	int rc;

	if (!f->on)
		return 0;
	next = rte_malloc_socket("mlx4_filter", sizeof(*next), 0, eth->hca->numa_node);
	if (next == NULL)
		return -ENOMEM;
	rules_clear(next);
	next->turn = !f->rules.turn;
	rc = rules_install(eth, next, qpn);
	if (rc == 0) {
		rules_remove(eth, &f->rules);
		f->rules = *next;
	}
	rte_free(next);
	return rc;
}

static int defaults_changed(struct mlx4_eth *eth);

static struct group_mac *
group_mac_find(struct mlx4_filter *f, const struct rte_ether_addr *mac)
{
	struct group_mac *room = NULL, *g;

	for (g = f->group_mac; g < f->group_mac + TP_GROUPS; g++) {
		if (g->refs != 0 && rte_is_same_ether_addr(&g->mac, mac))
			return g;
		if (g->refs == 0 && room == NULL)
			room = g;
	}
	return room;
}

static int
group_mac_changed(struct mlx4_eth *eth, struct group_mac *g)
{
	struct mlx4_filter *f = eth->filter;
	int rc;

	if (!f->on)
		return 0;
	rc = macs_apply(eth);
	return rc != 0 ? rc : group_mac_apply(eth, &f->rules, (uint32_t)(g - f->group_mac), eth->target_qpn);
}

int
mlx4_filter_group_add(struct mlx4_eth *eth, const struct rte_ether_addr *mac, bool untagged)
{
	struct group_mac *g = group_mac_find(eth->filter, mac), before;
	int rc;

	if (g == NULL)
		return -ENOSPC;
	before = *g;
	g->mac = *mac;
	g->refs++;
	g->guards += untagged;
	rc = group_mac_changed(eth, g);
	if (rc != 0) {
		*g = before;
		group_mac_changed(eth, g);
	}
	return rc;
}

void
mlx4_filter_group_remove(struct mlx4_eth *eth, const struct rte_ether_addr *mac, bool untagged)
{
	struct group_mac *g = group_mac_find(eth->filter, mac);

	g->refs--;
	g->guards -= untagged;
	group_mac_changed(eth, g);
}

int
mlx4_filter_flood(struct mlx4_eth *eth, bool more)
{
	struct mlx4_filter *f = eth->filter;
	bool before = mc_is_exact(eth);
	int rc = 0;

	f->floods += more ? 1 : -1;
	if (!f->on || before == mc_is_exact(eth))
		return 0;
	/* What takes over comes first. */
	if (before) {
		rc = defaults_changed(eth);
		return rc != 0 ? rc : mc_apply(eth, &f->rules, eth->target_qpn);
	}
	rc = mc_apply(eth, &f->rules, eth->target_qpn);
	return rc != 0 ? rc : defaults_changed(eth);
}

int
mlx4_filter_copies(struct mlx4_eth *eth, bool more)
{
	eth->filter->copies += more ? 1 : -1;
	return defaults_changed(eth);
}

static int
defaults_changed(struct mlx4_eth *eth)
{
	return eth->filter->on ? defaults_apply(eth, &eth->filter->rules, eth->target_qpn) : 0;
}

int
mlx4_promiscuous_enable(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	eth->promisc = true;
	return defaults_changed(eth);
}

int
mlx4_promiscuous_disable(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	eth->promisc = false;
	return defaults_changed(eth);
}

int
mlx4_allmulticast_enable(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	eth->allmulti = true;
	return defaults_changed(eth);
}

int
mlx4_allmulticast_disable(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	eth->allmulti = false;
	return defaults_changed(eth);
}

/* The new rule first, so that a change of address has no gap. */
static int
mac_replace(struct mlx4_eth *eth, uint32_t i, const struct rte_ether_addr *mac)
{
	struct mlx4_filter *f = eth->filter;
	struct rte_ether_addr old = f->mac[i];
	uint64_t id = NO_RULE;
	int rc = 0;

	if (rte_is_same_ether_addr(&old, mac))
		return 0;
	if (f->on && !rte_is_zero_ether_addr(mac))
		rc = mlx4_rule_mac(eth->hca, eth->port, MLX4_RULE_PORT + f->rules.turn, mac, eth->target_qpn, &id);
	if (rc != 0)
		return rc;
	f->mac[i] = *mac;
	if (f->on)
		rc = macs_apply(eth);
	if (rc != 0) {
		f->mac[i] = old;
		mlx4_rule_drop(eth->hca, eth->port, &id);
		return rc;
	}
	mlx4_rule_drop(eth->hca, eth->port, &f->rules.uc[i]);
	f->rules.uc[i] = id;
	return 0;
}

int
mlx4_mac_add(struct rte_eth_dev *dev, struct rte_ether_addr *mac, uint32_t index, uint32_t pool)
{
	return index < MLX4_ETH_MAX_UC_MACS ? mac_replace(mlx4_eth_of(dev), index, mac) : -EINVAL;
}

void
mlx4_mac_remove(struct rte_eth_dev *dev, uint32_t index)
{
	static const struct rte_ether_addr none;

	if (index < MLX4_ETH_MAX_UC_MACS)
		mac_replace(mlx4_eth_of(dev), index, &none);
}

int
mlx4_mac_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac)
{
	return mac_replace(mlx4_eth_of(dev), 0, mac);
}

static uint32_t
mc_find(const struct mlx4_eth *eth, const struct rte_ether_addr *mac)
{
	uint32_t i;

	for (i = 0; i < eth->num_mc; i++)
		if (rte_is_same_ether_addr(&eth->mc[i], mac))
			break;
	return i;
}

/* Addresses in both lists keep their rule; the new ones get theirs before the others lose it. */
static int
mc_replace(struct mlx4_eth *eth, const struct rte_ether_addr *mc, uint32_t n)
{
	struct rule_set *r = &eth->filter->rules;
	uint64_t next[MLX4_ETH_MAX_MC_MACS];
	const bool exact = mc_is_exact(eth);
	uint32_t i, old;
	int rc = 0;

	memset(next, 0xff, sizeof(next));
	for (i = 0; eth->filter->on && exact && rc == 0 && i < n; i++) {
		old = mc_find(eth, &mc[i]);
		if (old == eth->num_mc || r->mc[old] == NO_RULE)
			rc = mlx4_rule_mac(eth->hca, eth->port, MLX4_RULE_PORT, &mc[i], eth->target_qpn, &next[i]);
	}
	if (rc != 0) {
		for (i = 0; i < n; i++)
			mlx4_rule_drop(eth->hca, eth->port, &next[i]);
		return rc;
	}
	for (i = 0; exact && i < n; i++) {
		old = mc_find(eth, &mc[i]);
		if (old < eth->num_mc && next[i] == NO_RULE) {
			next[i] = r->mc[old];
			r->mc[old] = NO_RULE;
		}
	}
	for (i = 0; i < eth->num_mc; i++)
		mlx4_rule_drop(eth->hca, eth->port, &r->mc[i]);
	memcpy(r->mc, next, sizeof(r->mc));
	if (n != 0)
		memmove(eth->mc, mc, n * sizeof(*mc));
	eth->num_mc = n;
	return 0;
}

/* Of a list that is too long for the port itself, nothing but its length is kept. All multicast comes before rules go. */
static int
mc_take(struct mlx4_eth *eth, const struct rte_ether_addr *mc, uint32_t n)
{
	const bool was = eth->mc_overflow;
	int rc;

	eth->mc_overflow = n > eth->mc_size;
	rc = eth->mc_overflow ? defaults_changed(eth) : 0;
	if (rc == 0)
		rc = mc_replace(eth, mc, n > MLX4_ETH_MAX_MC_MACS ? 0 : n);
	if (rc != 0) {
		eth->mc_overflow = was;
		(void)defaults_changed(eth);
		return rc;
	}
	eth->mc_listed = n;
	if (was != eth->mc_overflow)
		MLX4_LOG(NOTICE, "port %u: %u multicast addresses, the list holds %u: %s", eth->dev->data->port_id, n,
			 eth->mc_size, was ? "they alone are received" : "all multicast is received");
	return defaults_changed(eth);
}

int
mlx4_mc_list_set(struct rte_eth_dev *dev, struct rte_ether_addr *mc, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!rte_is_multicast_ether_addr(&mc[i])) {
			MLX4_LOG(ERR, "port %u: " RTE_ETHER_ADDR_PRT_FMT " in a multicast list is not a group address",
				 dev->data->port_id, RTE_ETHER_ADDR_BYTES(&mc[i]));
			return -EINVAL;
		}
	return mc_take(mlx4_eth_of(dev), mc, n);
}

int
mlx4_mc_size_set(struct mlx4_eth *eth, uint32_t size)
{
	const uint32_t was = eth->mc_size;
	int rc;

	eth->mc_size = size;
	rc = mc_take(eth, eth->mc, eth->mc_listed);
	if (rc != 0)
		eth->mc_size = was;
	return rc;
}
