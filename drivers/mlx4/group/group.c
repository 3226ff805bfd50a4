/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The groups of a port and the public functions; a change is made in the list, put on the card, or taken back. */
#include "group.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "flood.h"
#include "drivers/mlx4/flow/flow.h"
#include "drivers/mlx4/qos/qos.h"
#include "drivers/mlx4/steer/filter.h"

/* eth->qos->judge: whether the groups still have what they ask of the port when it is declared so. */
static int
judge_qos(const struct mlx4_eth *eth, const struct tp_qos_port *q, const struct tp_qos_limits *lim,
	  char err[TP_ERR_LEN])
{
	char why[TP_ERR_LEN];
	unsigned int i;
	int ret;

	for (i = 0; i < eth->groups->num; i++) {
		ret = tp_group_check(&eth->groups->g[i]->conf, q, lim, why);
		if (ret == 0)
			continue;
		snprintf(err, TP_ERR_LEN, "group %s: %.120s", eth->groups->g[i]->conf.name, why);
		return ret;
	}
	return 0;
}

/* eth->may_isolate: a group takes its frames by rules that are none of rte_flow's. The default group has none. */
static int
may_isolate(const struct mlx4_eth *eth, struct rte_flow_error *e)
{
	const struct mlx4_group *first = NULL;
	unsigned int i, n = 0;

	for (i = 0; i < eth->groups->num; i++) {
		if (eth->groups->g[i]->conf.is_default)
			continue;
		if (n++ == 0)
			first = eth->groups->g[i];
	}
	if (n == 0)
		return 0;
	if (n == 1)
		return mlx4_flow_refuse(e, EBUSY, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
					"the port has the group %s, want none but the default one", first->conf.name);
	return mlx4_flow_refuse(e, EBUSY, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
				"the port has the group %s and %u more, want none but the default one",
				first->conf.name, n - 1);
}

int
mlx4_groups_create(struct mlx4_eth *eth)
{
	eth->groups = rte_zmalloc_socket("mlx4_groups", sizeof(*eth->groups), 0, eth->hca->numa_node);
	if (eth->groups == NULL)
		return -ENOMEM;
	eth->qos->judge = judge_qos;
	eth->may_isolate = may_isolate;
	return 0;
}

void
mlx4_groups_destroy(struct mlx4_eth *eth)
{
	unsigned int i;

	if (eth->groups == NULL)
		return;
	eth->qos->judge = NULL;
	eth->may_isolate = NULL;
	for (i = 0; i < eth->groups->num; i++)
		rte_free(eth->groups->g[i]);
	mlx4_flood_free(eth);
	rte_free(eth->groups);
	eth->groups = NULL;
}

int
mlx4_groups_check_configure(const struct mlx4_eth *eth, uint16_t num_rxq)
{
	uint16_t q;

	for (q = num_rxq; q < MLX4_ETH_MAX_RXQ; q++) {
		if (eth->groups->owner[q] == NULL)
			continue;
		MLX4_LOG(ERR,
			 "port %u: %u receive queues, but group %s has queue %u: wanted more than that, or no such "
			 "group",
			 eth->dev->data->port_id, num_rxq, eth->groups->owner[q]->conf.name, q);
		return -EBUSY;
	}
	return 0;
}

static struct mlx4_group *
find(const struct mlx4_groups *gs, const char *name, unsigned int *at)
{
	unsigned int i;

	for (i = 0; i < gs->num; i++)
		if (strcmp(gs->g[i]->conf.name, name) == 0)
			break;
	*at = i;
	return i < gs->num ? gs->g[i] : NULL;
}

/* --- checks ----------------------------------------------------------------------------------------------- */

static int
check_beside(const struct mlx4_eth *eth, const struct tp_group *g, const struct tp_group *self,
	     const struct tp_qos_limits *lim, char *err)
{
	const struct tp_group *others[TP_GROUPS];
	unsigned int i, n = 0;

	for (i = 0; i < eth->groups->num; i++)
		if (&eth->groups->g[i]->conf != self)
			others[n++] = &eth->groups->g[i]->conf;
	return tp_group_check_others(g, others, n, lim, err);
}

/*
 * The card's rules cannot ask for "no tag". A rule for an address takes all of its frames, so frames with a tag are led
 * past it to the default queues; another group that wants those of any VLAN would not get them.
 */
static int
check_untagged(const struct mlx4_eth *eth, const struct tp_group *g, const struct tp_group *self, char *err)
{
	unsigned int i;

	for (i = 0; i < eth->groups->num; i++) {
		const struct tp_group *o = &eth->groups->g[i]->conf;

		if (o == self || o->is_default || g->is_default || memcmp(o->mac, g->mac, sizeof(g->mac)) != 0)
			continue;
		if ((g->vlan != TP_VLAN_NONE || o->vlan != TP_VLAN_ANY) &&
		    (g->vlan != TP_VLAN_ANY || o->vlan != TP_VLAN_NONE))
			continue;
		snprintf(err, TP_ERR_LEN, "vlan: %s, want 0..4095 beside group %s, which has the address with %s",
			 g->vlan == TP_VLAN_ANY ? "any" : "none", o->name, o->vlan == TP_VLAN_ANY ? "any" : "none");
		return -ENOTSUP;
	}
	return 0;
}

/* At least one queue must remain for frames that match no group. */
static int
check_default_left(const struct mlx4_eth *eth, const struct tp_group *g, const struct mlx4_group *self, char *err)
{
	uint16_t n = eth->dev->data->nb_rx_queues, left = 0, q, i;

	for (q = 0; q < n; q++) {
		const struct mlx4_group *o = eth->groups->owner[q];
		bool taken = o != NULL && o != self && !o->conf.is_default;

		for (i = 0; i < g->num_queues; i++)
			taken |= g->queue[i] == q && !g->is_default;
		left += !taken;
	}
	if (left != 0)
		return 0;
	snprintf(err, TP_ERR_LEN, "queues: all %u of the port would be in groups, want one left for other frames", n);
	return -EBUSY;
}

static int
check_lookahead(const struct mlx4_eth *eth, const struct tp_group *g, char *err)
{
	uint16_t i;
	int ret = 0;

	for (i = 0; g->lookahead != 0 && ret == 0 && i < g->num_queues; i++)
		if (eth->rxqs[g->queue[i]] != NULL)
			ret = mlx4_rxq_check_shape(eth->rxqs[g->queue[i]], g->lookahead, err, TP_ERR_LEN);
	return ret;
}

static int
check_pool(const struct mlx4_eth *eth, const struct tp_group *g, struct rte_mempool **mp, char *err)
{
	uint16_t i;

	*mp = NULL;
	if (g->mempool[0] == '\0')
		return 0;
	*mp = rte_mempool_lookup(g->mempool);
	if (*mp == NULL) {
		snprintf(err, TP_ERR_LEN, "mempool: %s, want the name of a pool of mbufs", g->mempool);
		return -ENOENT;
	}
	for (i = 0; i < g->num_queues; i++) {
		const struct mlx4_rxq *q = eth->rxqs[g->queue[i]];
		uint32_t room = rte_pktmbuf_data_room_size(*mp), want;

		if (q == NULL)
			continue;
		want = rte_pktmbuf_data_room_size(q->own_mp);
		if (room == want)
			continue;
		snprintf(err, TP_ERR_LEN, "mempool: %s has mbufs of %u bytes, want %u as queue %u was set up with",
			 g->mempool, room, want, g->queue[i]);
		return -EINVAL;
	}
	return 0;
}

/* There only flow rules say what is received; the default group is what they leave the port's own queues. */
static int
check_isolated(const struct mlx4_eth *eth, const struct tp_group *g, char *err)
{
	if (g->is_default || !mlx4_filter_is_isolated(eth))
		return 0;
	snprintf(err, TP_ERR_LEN, "group %s: the port is isolated to its flow rules, want isolated mode off", g->name);
	return -EBUSY;
}

static int
check(struct mlx4_eth *eth, const struct tp_group *g, const struct mlx4_group *self, struct rte_mempool **mp, char *err)
{
	const struct tp_group *self_conf = self == NULL ? NULL : &self->conf;
	struct tp_qos_limits lim;
	struct tp_qos_port qos;
	int ret;

	mlx4_qos_limits(eth, &lim);
	mlx4_qos_lock(eth);
	qos = eth->qos->conf;
	mlx4_qos_unlock(eth);
	ret = tp_group_check(g, &qos, &lim, err);
	if (ret == 0)
		ret = check_beside(eth, g, self_conf, &lim, err);
	if (ret == 0)
		ret = check_untagged(eth, g, self_conf, err);
	if (ret == 0)
		ret = check_default_left(eth, g, self, err);
	if (ret == 0)
		ret = check_lookahead(eth, g, err);
	return ret != 0 ? ret : check_pool(eth, g, mp, err);
}

/* --- changes ---------------------------------------------------------------------------------------------- */

/*
 * Puts the changed list in force: checks of transmit queues first, so that nothing is sent unchecked. After a failure the
 * caller restores the list.
 */
static int
list_changed(struct mlx4_eth *eth, struct mlx4_group *g, bool gone, const bool *before, char *err)
{
	int ret;

	mlx4_groups_assign(eth);
	ret = mlx4_groups_treat(eth, err);
	if (ret == 0 && eth->dev->data->dev_started)
		ret = mlx4_group_apply(eth, g, gone, before, err);
	/* Buffers may be others now. Rules that cannot have them keep the old ones. */
	if (ret == 0 && mlx4_flows_refresh(eth) != 0)
		MLX4_LOG(ERR, "port %u: flow rules to queues of group %s keep their rings", eth->dev->data->port_id,
			 g->conf.name);
	if (ret != 0 && err[0] == '\0')
		snprintf(err, TP_ERR_LEN, "group %s: the port has it as before: %s", g->conf.name, rte_strerror(-ret));
	return ret;
}

/* What the queues had before, they can have again, unless the card is lost. */
static void
list_restored(struct mlx4_eth *eth, struct mlx4_group *g)
{
	char err[TP_ERR_LEN] = "";

	mlx4_groups_assign(eth);
	if (mlx4_groups_treat(eth, err) != 0)
		MLX4_LOG(ERR, "port %u: %s", eth->dev->data->port_id, err);
	if (!eth->dev->data->dev_started)
		return;
	mlx4_groups_vlan_apply(eth);
	mlx4_flood_update(eth, g);
}

static void
tell(struct mlx4_eth *eth, const struct tp_group *was, const struct tp_group *is)
{
	mlx4_qos_lock(eth);
	mlx4_tell_group(eth, was, is);
	mlx4_qos_unlock(eth);
}

static int
answer(const struct mlx4_eth *eth, const struct mlx4_group *g)
{
	return eth->dev->data->dev_started ? mlx4_group_used(eth, g) : g->conf.num_queues;
}

static int
add(struct mlx4_eth *eth, const struct tp_group *conf, char *err)
{
	struct mlx4_groups *gs = eth->groups;
	bool before[MLX4_ETH_MAX_RXQ];
	struct rte_mempool *mp;
	struct mlx4_group *g;
	int ret;

	ret = check(eth, conf, NULL, &mp, err);
	if (ret == 0)
		ret = check_isolated(eth, conf, err);
	if (ret != 0)
		return ret;
	g = rte_zmalloc_socket("mlx4_group", sizeof(*g), 0, eth->hca->numa_node);
	if (g == NULL)
		return -ENOMEM;
	g->conf = *conf;
	g->mp = mp;
	memcpy(before, eth->taken, sizeof(before));
	gs->g[gs->num++] = g;
	ret = list_changed(eth, g, false, before, err);
	if (ret == 0) {
		tell(eth, NULL, conf);
		return answer(eth, g);
	}
	gs->num--;
	list_restored(eth, g);
	rte_free(g);
	return ret;
}

static int
modify(struct mlx4_eth *eth, const struct tp_group *conf, char *err)
{
	bool before[MLX4_ETH_MAX_RXQ];
	struct rte_mempool *mp, *old_mp;
	struct tp_group old;
	struct mlx4_group *g;
	unsigned int at;
	int ret;

	g = find(eth->groups, conf->name, &at);
	if (g == NULL) {
		snprintf(err, TP_ERR_LEN, "name: '%.*s', want that of a group of the port", TP_GROUP_NAME - 1,
			 conf->name);
		return -ENOENT;
	}
	ret = check(eth, conf, g, &mp, err);
	if (ret != 0)
		return ret;
	if (conf->is_default != g->conf.is_default) {
		snprintf(err, TP_ERR_LEN, "default: %s, want %s: the default group is removed and added",
			 conf->is_default ? "on" : "off", g->conf.is_default ? "on" : "off");
		return -EINVAL;
	}
	memcpy(before, eth->taken, sizeof(before));
	old = g->conf;
	old_mp = g->mp;
	g->conf = *conf;
	g->mp = mp;
	ret = list_changed(eth, g, false, before, err);
	if (ret == 0) {
		tell(eth, &old, conf);
		return answer(eth, g);
	}
	g->conf = old;
	g->mp = old_mp;
	list_restored(eth, g);
	return ret;
}

static int
take_away(struct mlx4_eth *eth, const char *name, char *err)
{
	struct mlx4_groups *gs = eth->groups;
	bool before[MLX4_ETH_MAX_RXQ];
	struct mlx4_group *g;
	unsigned int at;
	int ret;

	g = find(gs, name, &at);
	if (g == NULL) {
		snprintf(err, TP_ERR_LEN, "name: '%.*s', want that of a group of the port", TP_GROUP_NAME - 1, name);
		return -ENOENT;
	}
	memcpy(before, eth->taken, sizeof(before));
	gs->num--;
	memmove(&gs->g[at], &gs->g[at + 1], (gs->num - at) * sizeof(gs->g[0]));
	ret = list_changed(eth, g, true, before, err);
	if (ret == 0) {
		tell(eth, &g->conf, NULL);
		rte_free(g);
		return 0;
	}
	memmove(&gs->g[at + 1], &gs->g[at], (gs->num - at) * sizeof(gs->g[0]));
	gs->g[at] = g;
	gs->num++;
	list_restored(eth, g);
	return ret;
}

/* --- public ----------------------------------------------------------------------------------------------- */

static struct mlx4_eth *
enter(uint16_t port_id, char *err)
{
	struct mlx4_eth *eth = mlx4_eth_asked(port_id, err);

	if (eth != NULL)
		mlx4_control_lock(eth);
	return eth;
}

static int
leave(struct mlx4_eth *eth, int ret)
{
	mlx4_control_unlock(eth);
	return ret;
}

int
rte_pmd_mlx4_group_add(uint16_t port_id, const struct tp_group *g, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = enter(port_id, err);

	return eth == NULL ? -ENODEV : leave(eth, add(eth, g, err));
}

int
rte_pmd_mlx4_group_modify(uint16_t port_id, const struct tp_group *g, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = enter(port_id, err);

	return eth == NULL ? -ENODEV : leave(eth, modify(eth, g, err));
}

int
rte_pmd_mlx4_group_remove(uint16_t port_id, const char *name, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = enter(port_id, err);

	return eth == NULL ? -ENODEV : leave(eth, take_away(eth, name, err));
}

int
rte_pmd_mlx4_group_get(uint16_t port_id, unsigned int i, struct tp_group *g)
{
	char err[TP_ERR_LEN];
	struct mlx4_eth *eth = enter(port_id, err);
	int ret = 0;

	if (eth == NULL)
		return -ENODEV;
	if (i < eth->groups->num)
		*g = eth->groups->g[i]->conf;
	else
		ret = -ENOENT;
	return leave(eth, ret);
}

int
rte_pmd_mlx4_group_stats(uint16_t port_id, const char *name, struct rte_pmd_mlx4_group_stats *st)
{
	char err[TP_ERR_LEN];
	struct mlx4_eth *eth = enter(port_id, err);
	const struct mlx4_group *g;
	unsigned int at;

	if (eth == NULL)
		return -ENODEV;
	g = find(eth->groups, name, &at);
	if (g != NULL)
		mlx4_group_stats(eth, g, st);
	return leave(eth, g == NULL ? -ENOENT : 0);
}
