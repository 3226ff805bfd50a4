/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What groups ask of single queues: pools, transmit policies, counters. */
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>

#include "drivers/mlx4/qos/qos.h"
#include "drivers/mlx4/rx/counts.h"
#include "drivers/mlx4/tx/counts.h"
#include "drivers/mlx4/tx/policy.h"
#include "drivers/mlx4/rx/choose.h"
#include "group.h"

struct mlx4_group *
mlx4_group_of(const struct mlx4_eth *eth, uint16_t queue)
{
	return eth->groups->owner[queue];
}

static int
refresh(struct mlx4_eth *eth, struct mlx4_group *g)
{
	char err[TP_ERR_LEN] = "";
	int ret;

	ret = mlx4_group_apply(eth, g, false, eth->taken, err);
	if (ret != 0)
		MLX4_LOG(ERR, "port %u: group %s is as before: %s", eth->dev->data->port_id, g->conf.name,
			 err[0] != '\0' ? err : rte_strerror(-ret));
	return ret;
}

int
mlx4_group_refresh(struct mlx4_eth *eth, uint16_t queue)
{
	return refresh(eth, mlx4_group_of(eth, queue));
}

int
mlx4_groups_refresh(struct mlx4_eth *eth)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < eth->groups->num && ret == 0; i++)
		ret = refresh(eth, eth->groups->g[i]);
	return ret;
}

/* --- counters --------------------------------------------------------------------------------------------- */

static void
queue_counters(const struct mlx4_eth *eth, uint16_t i, struct rte_pmd_mlx4_group_stats *st)
{
	const struct mlx4_rxq *rx = eth->rxqs[i];
	const struct mlx4_txq *tx = eth->txqs[i];
	struct mlx4_rx_counts r;
	struct mlx4_tx_counts t;

	memset(st, 0, sizeof(*st));
	if (rx != NULL) {
		mlx4_rxq_counts_all(rx, &r);
		st->rx_frames = r.packets;
		st->rx_bytes = r.bytes;
		st->rx_errors = r.errors;
		st->rx_nombuf = r.nombuf;
	}
	if (tx != NULL) {
		mlx4_txq_counts_all(tx, &t);
		st->tx_frames = t.packets;
		st->tx_bytes = t.bytes;
		st->tx_errors = t.errors;
		st->spoof_mac_drops = t.spoof_mac;
		st->spoof_type_drops = t.spoof_type;
	}
}

static void
add_since(struct rte_pmd_mlx4_group_stats *sum, const struct rte_pmd_mlx4_group_stats *now,
	  const struct rte_pmd_mlx4_group_stats *base)
{
#define ADD(f) sum->f += now->f - base->f
	ADD(rx_frames), ADD(rx_bytes), ADD(rx_errors), ADD(rx_nombuf), ADD(tx_frames), ADD(tx_bytes), ADD(tx_errors);
	ADD(spoof_mac_drops), ADD(spoof_type_drops);
#undef ADD
}

void
mlx4_group_queue_gone(struct mlx4_eth *eth, uint16_t queue)
{
	struct mlx4_group *g = mlx4_group_of(eth, queue);
	struct rte_pmd_mlx4_group_stats now;

	queue_counters(eth, queue, &now);
	if (g != NULL)
		add_since(&g->past, &now, &eth->groups->base[queue]);
	eth->groups->base[queue] = now;
}

void
mlx4_group_queue_new(struct mlx4_eth *eth, uint16_t queue)
{
	queue_counters(eth, queue, &eth->groups->base[queue]);
}

void
mlx4_groups_stats_reset(struct mlx4_eth *eth)
{
	unsigned int i;

	for (i = 0; i < eth->groups->num; i++) {
		memset(&eth->groups->g[i]->past, 0, sizeof(eth->groups->g[i]->past));
		__atomic_store_n(&eth->groups->g[i]->flood_drops, 0, __ATOMIC_RELAXED);
	}
	for (i = 0; i < MLX4_ETH_MAX_RXQ; i++)
		mlx4_group_queue_new(eth, (uint16_t)i);
}

void
mlx4_group_stats(const struct mlx4_eth *eth, const struct mlx4_group *g, struct rte_pmd_mlx4_group_stats *st)
{
	struct rte_pmd_mlx4_group_stats now;
	uint16_t i;

	*st = g->past;
	for (i = 0; i < g->conf.num_queues; i++) {
		queue_counters(eth, g->conf.queue[i], &now);
		add_since(st, &now, &eth->groups->base[g->conf.queue[i]]);
	}
	st->flood_drops = __atomic_load_n(&g->flood_drops, __ATOMIC_RELAXED);
	st->queues_used = mlx4_group_used(eth, g);
}

/* --- owners and pools ------------------------------------------------------------------------------------- */

/* g: the queue's group, NULL: it has none. */
static void
shape_as(struct mlx4_rxq *q, const struct mlx4_group *g)
{
	mlx4_rxq_shape(q, g != NULL && g->mp != NULL ? g->mp : q->own_mp,
		       g != NULL && g->conf.lookahead != 0 ? g->conf.lookahead : q->own_hdr_len);
}

/* What folders below know of groups: facts in the port's struct. */
static void
facts_write(struct mlx4_eth *eth)
{
	const struct mlx4_groups *gs = eth->groups;
	unsigned int i;
	uint16_t q;

	for (q = 0; q < MLX4_ETH_MAX_RXQ; q++)
		eth->taken[q] = gs->owner[q] != NULL && !gs->owner[q]->conf.is_default;
	eth->default_set.declared = false;
	memset(eth->group_vlans, 0, sizeof(eth->group_vlans));
	for (i = 0; i < gs->num; i++) {
		const struct tp_group *g = &gs->g[i]->conf;

		if (g->vlan <= MLX4_VID_MASK)
			eth->group_vlans[g->vlan / 32] |= UINT32_C(1) << g->vlan % 32;
		if (!g->is_default)
			continue;
		eth->default_set.declared = true;
		eth->default_set.n = g->num_queues;
		memcpy(eth->default_set.queue, g->queue, g->num_queues * sizeof(g->queue[0]));
		eth->default_set.rss_hf = mlx4_group_rss_hf(g);
	}
}

void
mlx4_groups_assign(struct mlx4_eth *eth)
{
	struct mlx4_groups *gs = eth->groups;
	struct mlx4_group *owner[MLX4_ETH_MAX_RXQ] = {NULL};
	uint16_t q, k;
	unsigned int i;

	for (i = 0; i < gs->num; i++)
		for (k = 0; k < gs->g[i]->conf.num_queues; k++)
			owner[gs->g[i]->conf.queue[k]] = gs->g[i];
	for (q = 0; q < MLX4_ETH_MAX_RXQ; q++) {
		if (owner[q] != gs->owner[q]) {
			mlx4_group_queue_gone(eth, q);
			gs->owner[q] = owner[q];
		}
		if (eth->rxqs[q] != NULL)
			shape_as(eth->rxqs[q], owner[q]);
	}
	facts_write(eth);
	mlx4_rx_burst_update(eth);
}

/* --- treatment -------------------------------------------------------------------------------------------- */

/* arg: the declaration of the queue's group, NULL: it has none. */
static void
set_checks(struct mlx4_tx_policy *p, const void *arg)
{
	const struct tp_group *g = arg;
	uint16_t type[TP_ANTISPOOF_TYPES];
	unsigned int i, n;

	p->check_mac = g != NULL && g->antispoof_mac;
	p->check_type = g != NULL && g->antispoof_type;
	p->allow_llc = false;
	p->num_types = 0;
	if (g == NULL)
		return;
	memcpy(p->mac.addr_bytes, g->mac, sizeof(p->mac.addr_bytes));
	n = tp_group_types(g, type);
	for (i = 0; i < n; i++) {
		if (type[i] == 0)
			p->allow_llc = true;
		else
			p->type[p->num_types++] = rte_cpu_to_be_16(type[i]);
	}
}

static int
checks_apply(struct mlx4_txq *q, const struct tp_group *g, char *err)
{
	int ret;

	if (q->policy == NULL && (g == NULL || (!g->antispoof_mac && !g->antispoof_type)))
		return 0;
	ret = mlx4_tx_policy_edit(q, set_checks, g);
	if (ret != 0)
		snprintf(err, TP_ERR_LEN, "Tx queue %u: no memory for the checks of its group", q->queue_id);
	return ret;
}

static int
tx_treat(struct mlx4_txq *q, const struct tp_group *g, char *err)
{
	const struct mlx4_qos *own = q->eth->qos;
	uint8_t prio = g == NULL ? own->txq_prio[q->queue_id] : g->prio;
	uint32_t rate = g == NULL ? own->txq_rate[q->queue_id] : g->rate_mbps, hol = g == NULL ? 0 : g->hol_lifetime_us;
	int16_t dscp = g == NULL ? -1 : g->dscp;
	int ret = checks_apply(q, g, err);

	if (ret == 0 && q->prio != prio)
		ret = mlx4_txq_prio(q, prio, err);
	if (ret == 0 && q->rate_mbps != rate)
		ret = mlx4_txq_rate(q, rate, err);
	if (ret == 0 && q->fixed_dscp != dscp + 1)
		ret = mlx4_txq_dscp(q, dscp, err);
	if (ret == 0 && q->hol_lifetime_us != hol)
		ret = mlx4_txq_hol(q, hol, err);
	return ret;
}

int
mlx4_group_treat(struct mlx4_eth *eth, uint16_t queue, char err[TP_ERR_LEN])
{
	const struct mlx4_group *owner = mlx4_group_of(eth, queue);
	const struct tp_group *g = owner == NULL ? NULL : &owner->conf;
	struct mlx4_rxq *rx = eth->rxqs[queue];
	uint16_t units = g == NULL ? eth->qos->rxq_wait[queue] : (uint16_t)g->delay_drop;
	int ret = 0;

	/* A queue that no group had is the application's own. */
	if (g == NULL && !eth->groups->treated[queue])
		return 0;
	if (eth->txqs[queue] != NULL)
		ret = tx_treat(eth->txqs[queue], g, err);
	if (ret == 0 && rx != NULL && rx->delay_drop != units)
		ret = mlx4_dropless_set(rx, units, err);
	if (ret == 0)
		eth->groups->treated[queue] = g != NULL;
	return ret;
}

int
mlx4_groups_treat(struct mlx4_eth *eth, char err[TP_ERR_LEN])
{
	uint16_t i;
	int ret = 0;

	mlx4_qos_lock(eth);
	for (i = 0; i < MLX4_ETH_MAX_RXQ && ret == 0; i++)
		ret = mlx4_group_treat(eth, i, err);
	mlx4_qos_unlock(eth);
	return ret;
}
