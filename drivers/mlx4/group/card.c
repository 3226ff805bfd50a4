/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A change of groups on the card. Everything that may fail comes first and beside what is in force: rings of the group,
 * rings of the default set (which loses or gets queues), rules. Then the old rules go, the old rings stop, and the
 * pollers find the new sets behind the old ones.
 *
 * A rule of a group that moves to new rings is followed by one of the neighbouring priority, so that a frame goes to
 * the old rings or to the new ones and never to both. Broadcast and multicast must be of one priority with those of other
 * groups to be copied to all; so they may come twice at that moment.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>

#include "flood.h"
#include "group.h"
#include "drivers/mlx4/steer/rss.h"
#include "drivers/mlx4/steer/filter.h"
#include "drivers/mlx4/steer/vlan.h"

struct change {
	struct mlx4_eth *eth;
	struct mlx4_group *g;
	bool wanted; /* the group shall be on the card, unless none of its queues is started */
	struct mlx4_rss_change def;
	struct mlx4_queues old;     /* that have the group's rings now */
	bool rings, rules;          /* what is replaced */
	struct mlx4_spread *spread; /* new, NULL: none */
	struct mlx4_rx_set *new_set[MLX4_ETH_MAX_RXQ];
	struct mlx4_group_rules new_rules;
};

uint64_t
mlx4_group_rss_hf(const struct tp_group *g)
{
	static const struct {
		uint32_t type;
		uint64_t hf;
	} map[] = {
		{TP_RSS_IPV4, RTE_ETH_RSS_IPV4},
		{TP_RSS_TCP4, RTE_ETH_RSS_NONFRAG_IPV4_TCP},
		{TP_RSS_UDP4, RTE_ETH_RSS_NONFRAG_IPV4_UDP},
		{TP_RSS_IPV6, RTE_ETH_RSS_IPV6},
		{TP_RSS_TCP6, RTE_ETH_RSS_NONFRAG_IPV6_TCP},
		{TP_RSS_UDP6, RTE_ETH_RSS_NONFRAG_IPV6_UDP},
	};
	uint64_t hf = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(map); i++)
		if ((g->rss & map[i].type) != 0)
			hf |= map[i].hf;
	return hf;
}

/* MLX4_RSS_F_* that a group asks for and the port offers. */
static uint8_t
group_flags(const struct mlx4_eth *eth, const struct tp_group *g)
{
	return mlx4_spread_flags(eth, mlx4_group_rss_hf(g) & mlx4_rss_types(eth));
}

int
mlx4_groups_vlan_apply(struct mlx4_eth *eth)
{
	bool on = (eth->dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0;

	return on ? mlx4_vlan_apply(eth) : 0;
}

uint16_t
mlx4_group_used(const struct mlx4_eth *eth, const struct mlx4_group *g)
{
	const struct mlx4_spread *s = g->conf.is_default ? eth->rss : g->spread;
	uint16_t used = 0, i, k;

	for (k = 0; s != NULL && k < g->conf.num_queues; k++) {
		for (i = 0; i < s->conf.table && s->conf.queue[i] != g->conf.queue[k]; i++)
			;
		used += i < s->conf.table;
	}
	return used;
}

/* --- rings ------------------------------------------------------------------------------------------------ */

static void
started_queues(const struct mlx4_eth *eth, const struct mlx4_group *g, struct mlx4_queues *list)
{
	uint16_t i;

	list->n = 0;
	for (i = 0; i < g->conf.num_queues; i++)
		if (eth->rxqs[g->conf.queue[i]] != NULL && eth->rxqs[g->conf.queue[i]]->started)
			list->q[list->n++] = g->conf.queue[i];
}

static void
spread_wanted(const struct mlx4_eth *eth, const struct mlx4_group *g, const struct mlx4_queues *list, uint16_t n,
	      struct mlx4_spread_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->flags = group_flags(eth, &g->conf);
	mlx4_spread_even(conf, list->q, conf->flags == 0 ? RTE_MIN(n, 1) : n, eth->reta_size);
	if (conf->table <= 1)
		conf->flags = 0;
	memcpy(conf->key, eth->rss_key, sizeof(conf->key));
}

static void
old_queues(const struct mlx4_spread *s, struct mlx4_queues *list)
{
	bool seen[MLX4_ETH_MAX_RXQ] = {false};
	uint16_t i;

	list->n = 0;
	for (i = 0; s != NULL && i < s->conf.table; i++) {
		if (!seen[s->conf.queue[i]])
			list->q[list->n++] = s->conf.queue[i];
		seen[s->conf.queue[i]] = true;
	}
}

/* With fewer queues when the card has no numbers left: down to a power of two, with one ring each. */
static int
rings_build(struct change *c, char *err)
{
	struct mlx4_spread_conf conf;
	struct mlx4_queues list;
	uint16_t n;
	int ret;

	started_queues(c->eth, c->g, &list);
	n = list.n;
	spread_wanted(c->eth, c->g, &list, n, &conf);
	c->rings = c->g->spread == NULL || !mlx4_spread_is(c->eth, c->g->spread, &conf);
	if (!c->rings || n == 0)
		return 0;
	while ((ret = mlx4_spread_build(c->eth, &conf, &list, &c->spread, c->new_set)) == -ENOSPC && n > 1) {
		n = (uint16_t)rte_align32prevpow2(n - 1u);
		spread_wanted(c->eth, c->g, &list, n, &conf);
	}
	if (ret == 0 && group_flags(c->eth, &c->g->conf) != 0 && n < list.n)
		snprintf(err, TP_ERR_LEN, "queues: %u of %u are used, the card has no room for rings of all", n,
			 list.n);
	return ret;
}

/* Queues that leave the group and that nothing else takes over go to an empty set, to give up their rings. */
static int
leavers_build(struct change *c)
{
	uint16_t i;
	int ret = 0;

	for (i = 0; c->rings && i < c->old.n && ret == 0; i++) {
		uint16_t q = c->old.q[i];

		if (c->new_set[q] == NULL && c->def.new_set[q] == NULL)
			ret = mlx4_rx_set_create(c->eth->rxqs[q], 0, 0, NULL, 0, 0, false, &c->new_set[q]);
	}
	return ret;
}

/* --- rules ------------------------------------------------------------------------------------------------ */

static void
rules_remove(struct mlx4_eth *eth, struct mlx4_group_rules *r)
{
	if (!r->up)
		return;
	mlx4_rule_drop(eth->hca, eth->port, &r->unicast);
	mlx4_rule_drop(eth->hca, eth->port, &r->bcast);
	mlx4_rule_drop(eth->hca, eth->port, &r->mcast);
	if (r->flood)
		mlx4_filter_flood(eth, false);
	if (r->copied)
		mlx4_filter_copies(eth, false);
	mlx4_filter_group_remove(eth, &r->mac, r->untagged);
	r->up = false;
}

static int
unicast_install(struct mlx4_eth *eth, const struct tp_group *g, uint16_t turn, uint32_t qpn, uint64_t *id)
{
	struct rte_ether_addr mac;

	memcpy(mac.addr_bytes, g->mac, sizeof(mac.addr_bytes));
	if (g->vlan <= MLX4_VID_MASK)
		return mlx4_rule_tagged(eth->hca, eth->port, MLX4_RULE_GROUP_TAGGED + turn, &mac, g->vlan,
					MLX4_VID_MASK, qpn, id);
	return mlx4_rule_mac(eth->hca, eth->port, MLX4_RULE_GROUP + turn, &mac, qpn, id);
}

/* The card copies a frame to so many queues; one is the port's own, one is room for a group that moves. */
static bool
card_copies(const struct mlx4_eth *eth, const struct mlx4_group *g)
{
	unsigned int most = eth->hca->caps.dmfs_max_qps, others = 0, i;

	for (i = 0; i < eth->groups->num; i++) {
		const struct mlx4_group_rules *r = &eth->groups->g[i]->rules;

		others += eth->groups->g[i] != g && r->up && r->flood && !r->copied;
	}
	return most == 0 || others + 1 + 2 <= most;
}

/* Broadcast and multicast go to the first queue: ring 0, past the parent; or software gives it copies. */
static int
flood_install(struct mlx4_eth *eth, struct mlx4_group *g, const struct mlx4_spread *s, struct mlx4_group_rules *r)
{
	int ret;

	if (!card_copies(eth, g)) {
		ret = mlx4_flood_prepare(eth, g);
		if (ret != 0)
			return ret;
		r->copied = true;
		ret = mlx4_filter_copies(eth, true);
		if (ret != 0)
			return ret;
	}
	ret = mlx4_filter_flood(eth, true);
	r->flood = true;
	if (ret == 0 && r->copied)
		return 0;
	if (ret == 0)
		ret = mlx4_rule_mac(eth->hca, eth->port, MLX4_RULE_PORT, &mlx4_broadcast, s->base_qpn, &r->bcast);
	if (ret == 0)
		ret = mlx4_rule_default(eth->hca, eth->port, 0, MLX4_DMFS_MC_DEFAULT, s->base_qpn, &r->mcast);
	return ret;
}

static int
rules_install(struct mlx4_eth *eth, struct mlx4_group *g, const struct mlx4_spread *s, uint16_t turn,
	      struct mlx4_group_rules *r)
{
	int ret;

	memset(r, 0, sizeof(*r));
	r->unicast = r->bcast = r->mcast = MLX4_NO_RULE;
	memcpy(r->mac.addr_bytes, g->conf.mac, sizeof(r->mac.addr_bytes));
	r->vlan = g->conf.vlan;
	r->untagged = g->conf.vlan == TP_VLAN_NONE;
	ret = mlx4_filter_group_add(eth, &r->mac, r->untagged);
	if (ret != 0)
		return ret;
	r->up = true;
	if (s == NULL)
		return 0; /* no queue is started: its frames are the default queues' */
	ret = unicast_install(eth, &g->conf, turn, mlx4_spread_target(s), &r->unicast);
	if (ret == 0 && g->conf.flood)
		ret = flood_install(eth, g, s, r);
	if (ret != 0)
		rules_remove(eth, r);
	return ret;
}

/* What the rules say is what they should say. */
static bool
rules_fit(const struct mlx4_group *g)
{
	return g->rules.up && memcmp(g->rules.mac.addr_bytes, g->conf.mac, sizeof(g->conf.mac)) == 0 &&
	       g->rules.vlan == g->conf.vlan && g->rules.flood == g->conf.flood;
}

/* --- a change --------------------------------------------------------------------------------------------- */

static int
rules_prepare(struct change *c)
{
	const struct mlx4_spread *s = c->rings ? c->spread : c->g->spread;

	c->rules = c->rings || !c->wanted || !rules_fit(c->g);
	if (!c->rules || !c->wanted)
		return 0;
	return rules_install(c->eth, c->g, s, !c->g->turn, &c->new_rules);
}

/* Everything that may fail. */
static int
prepare(struct change *c, char *err)
{
	int ret;

	ret = mlx4_rss_prepare(c->eth, &c->def);
	if (ret != 0)
		return ret;
	c->rings = c->g->spread != NULL;
	if (c->wanted)
		ret = rings_build(c, err);
	if (ret == 0)
		ret = leavers_build(c);
	if (ret == 0)
		ret = mlx4_groups_vlan_apply(c->eth);
	if (ret == 0)
		ret = rules_prepare(c);
	return ret != 0 ? ret : mlx4_rss_move(c->eth, &c->def);
}

static void
cancel(struct change *c)
{
	uint16_t q;

	rules_remove(c->eth, &c->new_rules);
	mlx4_spread_undo(c->eth, c->spread, c->new_set);
	for (q = 0; q < MLX4_ETH_MAX_RXQ; q++)
		if (c->new_set[q] != NULL)
			mlx4_rx_set_destroy(c->eth->rxqs[q], c->new_set[q]);
	mlx4_rss_cancel(c->eth, &c->def);
}

static void
commit(struct change *c, const bool *before)
{
	struct mlx4_group *g = c->g;

	if (c->rules) {
		rules_remove(c->eth, &g->rules);
		g->rules = c->new_rules;
		g->turn = !g->turn;
	}
	if (c->rings)
		mlx4_spread_quiesce(c->eth, &c->old);
	mlx4_rss_commit(c->eth, &c->def, before);
	if (c->rings) {
		mlx4_spread_publish(c->eth, c->new_set);
		mlx4_spread_free(c->eth, g->spread);
		g->spread = c->spread;
	}
}

int
mlx4_group_apply(struct mlx4_eth *eth, struct mlx4_group *g, bool gone, const bool *before, char err[TP_ERR_LEN])
{
	struct change c = {.eth = eth, .g = g, .wanted = !gone && !g->conf.is_default};
	int ret;

	mlx4_rxqs_reap(eth);
	old_queues(g->spread, &c.old);
	ret = prepare(&c, err);
	if (ret != 0)
		cancel(&c);
	else
		commit(&c, before);
	mlx4_flood_update(eth, g);
	return ret;
}

int
mlx4_groups_start(struct mlx4_eth *eth)
{
	char err[TP_ERR_LEN] = "";
	unsigned int i;
	int ret = 0;

	for (i = 0; i < eth->groups->num && ret == 0; i++) {
		struct mlx4_group *g = eth->groups->g[i];

		ret = mlx4_group_apply(eth, g, false, eth->taken, err);
		if (ret != 0)
			MLX4_LOG(ERR, "port %u: group %s cannot be started: %s", eth->dev->data->port_id, g->conf.name,
				 err[0] != '\0' ? err : rte_strerror(-ret));
		else if (err[0] != '\0')
			MLX4_LOG(NOTICE, "port %u: group %s: %s", eth->dev->data->port_id, g->conf.name, err);
		err[0] = '\0';
	}
	if (ret != 0)
		mlx4_groups_stop(eth);
	return ret;
}

void
mlx4_groups_stop(struct mlx4_eth *eth)
{
	struct mlx4_queues old;
	unsigned int i;

	for (i = 0; i < eth->groups->num; i++) {
		struct mlx4_group *g = eth->groups->g[i];

		rules_remove(eth, &g->rules);
		old_queues(g->spread, &old);
		mlx4_spread_quiesce(eth, &old);
		mlx4_spread_free(eth, g->spread);
		g->spread = NULL;
		mlx4_flood_update(eth, g);
	}
}
