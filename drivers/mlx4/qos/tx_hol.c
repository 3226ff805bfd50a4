/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The lifetime at the head of a class. A pause frame holds queue pairs of the card back; the card has no limit for that, so
 * this asks it for their positions. A pair whose head does not move for the lifetime is taken back from the card: what
 * waits in it is freed and counted, and it starts again empty. After hol_stall_count times in a row the class is stalled:
 * for STALL_LIFETIMES its frames are discarded before they get to the card. Other classes notice nothing.
 */
#include <inttypes.h>

#include <rte_errno.h>

#include "qos.h"
#include "drivers/mlx4/tx/policy.h"

#define STALL_LIFETIMES 8u

/* Priorities whose frames are held or discarded from now on. */
struct gates {
	uint8_t hold, discard;
};

static void
edit_gates(struct mlx4_tx_policy *p, const void *arg)
{
	const struct gates *g = arg;

	p->hold = g->hold;
	p->discard = g->discard;
}

static uint8_t
discarding(const struct mlx4_qos *qos)
{
	uint8_t prios = 0;
	unsigned int p;

	for (p = 0; p < TP_PRIOS; p++)
		if (qos->hol[qos->conf.prio_tc[p]].until_us != 0)
			prios |= 1u << p;
	return prios;
}

/* When this returns no burst works on frames of a held priority. */
static void
set_gates(struct mlx4_txq *q, uint8_t hold)
{
	const struct gates g = {hold, discarding(q->eth->qos)};

	mlx4_tx_policy_edit(q, edit_gates, &g);
	mlx4_txq_marks(q, &q->eth->qos->conf);
}

static void
set_all_gates(struct mlx4_eth *eth)
{
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL && eth->txqs[i]->policy != NULL)
			set_gates(eth->txqs[i], 0);
}

static void
class_stalls(struct mlx4_eth *eth, uint8_t tc, uint32_t lifetime_us, uint64_t now_us)
{
	struct mlx4_hol_tc *hol = &eth->qos->hol[tc];

	hol->stalls++;
	hol->until_us = now_us + (uint64_t)STALL_LIFETIMES * lifetime_us;
	set_all_gates(eth);
	mlx4_qos_tell(
		eth, RTE_PMD_MLX4_EVENT_TC_STALL_BEGIN, tc,
		"class %u of port %u stalled: its frames outlived %u us at the head %u times in a row, it discards", tc,
		eth->dev->data->port_id, lifetime_us, hol->in_a_row);
}

/* Classes whose time is over send again. */
static void
classes_recover(struct mlx4_eth *eth, uint64_t now_us)
{
	uint8_t tc;

	for (tc = 0; tc < TP_TCS; tc++) {
		struct mlx4_hol_tc *hol = &eth->qos->hol[tc];

		if (hol->until_us == 0 || now_us < hol->until_us)
			continue;
		hol->until_us = 0;
		hol->in_a_row = 0;
		set_all_gates(eth);
		mlx4_qos_tell(eth, RTE_PMD_MLX4_EVENT_TC_STALL_END, tc, "class %u of port %u sends again", tc,
			      eth->dev->data->port_id);
	}
}

static void
drop_head(struct mlx4_txq *q, struct mlx4_txq *pair, uint32_t lifetime_us, uint64_t now_us)
{
	struct mlx4_qos *qos = q->eth->qos;
	uint8_t tc = qos->conf.prio_tc[pair->prio];
	uint32_t frames;
	uint64_t bytes;
	int rc;

	set_gates(q, (uint8_t)(1u << pair->prio));
	rc = mlx4_txq_take_back(pair, &frames, &bytes);
	if (rc != 0)
		MLX4_LOG(ERR, "port %u Tx queue %u: what waits at priority %u could not be taken back: %s", q->port_id,
			 q->queue_id, pair->prio, rte_strerror(-rc));
	/* The queue's own counters are the sender's, which sends other priorities meanwhile. */
	q->back_packets += frames;
	q->back_bytes += bytes;
	qos->tx_discards[pair->prio] += frames;
	qos->hol[tc].drops += frames;
	qos->hol[tc].in_a_row++;
	set_gates(q, 0);
	if (qos->hol[tc].in_a_row >= qos->conf.hol_stall_count && qos->hol[tc].until_us == 0)
		class_stalls(q->eth, tc, lifetime_us, now_us);
}

/* True when the head of a pair stands still for too long. */
static bool
head_is_old(struct mlx4_txq *q, struct mlx4_txq *pair, uint32_t lifetime_us, uint64_t now_us)
{
	uint32_t pi = __atomic_load_n(&pair->sq_pi, __ATOMIC_RELAXED);
	uint16_t sent;

	if (pair->head.empty && pi == pair->head.pi)
		return false;
	if (mlx4_qp_sent(q->eth->hca, &pair->qp, &sent) != 0)
		return false;
	if (sent != pair->head.sent)
		q->eth->qos->hol[q->eth->qos->conf.prio_tc[pair->prio]].in_a_row = 0;
	if (sent != pair->head.sent || pair->head.empty)
		pair->head.since_us = now_us;
	pair->head.pi = pi;
	pair->head.sent = sent;
	pair->head.empty = (uint16_t)pi == sent;
	return !pair->head.empty && now_us - pair->head.since_us > lifetime_us;
}

static void
look_at_pair(struct mlx4_txq *q, struct mlx4_txq *pair, uint64_t now_us)
{
	const struct tp_qos_port *conf = &q->eth->qos->conf;
	uint32_t lifetime_us = q->hol_lifetime_us != 0 ? q->hol_lifetime_us : conf->hol_lifetime_us;

	if (lifetime_us == 0 || !pair->started)
		return;
	/* Only what pause frames can hold back has a lifetime. */
	if (!conf->rx_pause && (conf->rx_pfc >> pair->prio & 1) == 0) {
		pair->head.empty = false;
		pair->head.since_us = now_us;
	} else if (head_is_old(q, pair, lifetime_us, now_us)) {
		drop_head(q, pair, lifetime_us, now_us);
	}
}

void
mlx4_hol_look(struct mlx4_eth *eth, uint64_t now_us)
{
	unsigned int p;
	uint16_t i;

	classes_recover(eth, now_us);
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++) {
		struct mlx4_txq *q = eth->txqs[i];

		if (q == NULL)
			continue;
		look_at_pair(q, q, now_us);
		for (p = 0; p < TP_PRIOS; p++)
			if (q->lane[p] != NULL)
				look_at_pair(q, q->lane[p], now_us);
	}
}

void
mlx4_hol_reset(struct mlx4_eth *eth)
{
	unsigned int tc;

	for (tc = 0; tc < TP_TCS; tc++) {
		eth->qos->hol[tc].until_us = 0;
		eth->qos->hol[tc].in_a_row = 0;
	}
	set_all_gates(eth);
}
