/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What is looked at, from beside: indices that bursts move are read once, so that a look which is late by a burst is still a
 * sensible one. The card is asked only for queues that have something under way.
 */
#include <string.h>

#include "drivers/mlx4/qos/qos.h"
#include "drivers/mlx4/rx/counts.h"
#include "drivers/mlx4/rx/sides.h"
#include "health.h"

/* What a look has learned of the whole port before it judges its queues. */
struct around {
	bool link_up;
	bool classes;   /* strict ones may keep others waiting */
	bool moves;     /* a queue of the port went on since the last look */
	uint8_t paused; /* priorities that the peer holds back */
};

static void
worst(struct mlx4_finding *f, uint32_t idle, uint16_t queue)
{
	if (idle <= f->idle)
		return;
	f->idle = idle;
	f->queue = queue;
}

/* --- what may keep a queue from sending ------------------------------------------------------------------- */

/* Frames, and the time that they stand for. Firmware that counts neither is taken to be paused where it honours pause frames. */
static uint8_t
paused_by_peer(struct mlx4_health *h)
{
	const struct tp_qos_port *q = &h->eth->qos->conf;
	uint8_t box[MLX4_FLOW_SIZE], grew = 0;
	uint32_t i;

	if (!q->rx_pause && q->rx_pfc == 0)
		return 0;
	if (mlx4_port_flow_stats(h->eth->hca, h->eth->port, false, box) != 0)
		return q->rx_pause ? UINT8_MAX : q->rx_pfc;
	for (i = 0; i < TP_PRIOS; i++) {
		uint64_t sum = prm_get64(box, i * MLX4_FLOW_ENTRY + MLX4_FLOW_RX_PAUSE) +
			       prm_get64(box, i * MLX4_FLOW_ENTRY + MLX4_FLOW_RX_DURATION);

		if (sum != h->pauses[i])
			grew |= 1u << i;
		h->pauses[i] = sum;
	}
	/* 802.3x pauses all. */
	return q->rx_pause && grew != 0 ? UINT8_MAX : grew;
}

static bool
has_classes(const struct tp_qos_port *q)
{
	unsigned int i;

	for (i = 1; i < TP_PRIOS; i++)
		if (q->prio_tc[i] != q->prio_tc[0])
			return true;
	return false;
}

/* --- transmit --------------------------------------------------------------------------------------------- */

/*
 * The card has executed WQEs that asked for a completion, and has not written so many. pos: how far the card was before this was
 * called. A sender that takes completions meanwhile moves the index.
 */
static bool
completion_missing(const struct mlx4_txq *p, uint16_t pos)
{
	uint32_t from = __atomic_load_n(&p->ends_ci, __ATOMIC_ACQUIRE),
		 cq_ci = __atomic_load_n(&p->cq_ci, __ATOMIC_RELAXED);
	uint32_t to = __atomic_load_n(&p->ends_pi, __ATOMIC_RELAXED), i, end;
	bool missing = false;

	for (i = from; i != to && !missing; i++) {
		uint32_t at = cq_ci + i - from;
		uint8_t phase = (at & (p->cq_mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;
		uint8_t op = *(const volatile uint8_t *)&p->cqes[at & p->cq_mask].owner_sr_opcode;

		end = __atomic_load_n(&p->ends[i & p->cq_mask], __ATOMIC_RELAXED);
		if ((int16_t)(pos - (uint16_t)end) < 0)
			break;
		missing = (op & MLX4_CQE_OWNER) != phase;
	}
	return missing && from == __atomic_load_n(&p->ends_ci, __ATOMIC_ACQUIRE) &&
	       cq_ci == __atomic_load_n(&p->cq_ci, __ATOMIC_RELAXED);
}

/* First pass: asks the card. */
static void
ask_pair(struct mlx4_txq *p, struct around *a)
{
	uint32_t ci = __atomic_load_n(&p->sq_ci, __ATOMIC_ACQUIRE), pi = __atomic_load_n(&p->sq_pi, __ATOMIC_RELAXED);
	uint16_t sent;

	if (!p->started || p->broken || pi == ci || mlx4_qp_sent(p->eth->hca, &p->qp, &sent) != 0) {
		a->moves |= p->started && ci != p->seen.ci;
		p->seen.asked = false;
		p->seen.stuck = p->seen.lost = 0;
		p->seen.ci = ci;
		return;
	}
	if (ci != p->seen.ci || !p->seen.asked || sent != p->seen.sent || sent == (uint16_t)pi)
		p->seen.stuck = 0;
	else
		p->seen.stuck = RTE_MIN(p->seen.stuck + 1, UINT16_MAX - 1);
	p->seen.lost = completion_missing(p, sent) ? RTE_MIN(p->seen.lost + 1, UINT16_MAX - 1) : 0;
	a->moves |= ci != p->seen.ci || (p->seen.asked && sent != p->seen.sent);
	p->seen.ci = ci;
	p->seen.sent = sent;
	p->seen.asked = true;
}

/* Second pass: what stands still for a reason is not stuck. */
static void
judge_pair(struct mlx4_txq *p, uint16_t queue, const struct around *a, struct mlx4_finding f[MLX4_SENSORS])
{
	if (!a->link_up || (a->paused >> p->prio & 1) != 0 || (a->classes && a->moves))
		p->seen.stuck = 0;
	worst(&f[MLX4_SENSOR_TX_STUCK], p->seen.stuck, queue);
	worst(&f[MLX4_SENSOR_TX_COMPLETION], p->seen.lost, queue);
}

/* The driver takes a pair that failed back by itself; a restart is for one that stays as it is. */
static void
find_failures(struct mlx4_txq *q, uint16_t queue, struct mlx4_finding *f)
{
	uint64_t failures = __atomic_load_n(&q->failures, __ATOMIC_RELAXED);
	bool broken = q->started && __atomic_load_n(&q->broken, __ATOMIC_RELAXED);
	unsigned int i;

	for (i = 0; i < MLX4_PRIOS; i++) {
		if (q->lane[i] == NULL)
			continue;
		failures += __atomic_load_n(&q->lane[i]->failures, __ATOMIC_RELAXED);
		broken |= q->lane[i]->started && __atomic_load_n(&q->lane[i]->broken, __ATOMIC_RELAXED);
	}
	if (failures != q->seen.failures || (broken && q->seen.broken))
		worst(f, 1, queue);
	f->restart |= broken && q->seen.broken;
	q->seen.failures = failures;
	q->seen.broken = broken;
}

static void
find_tx(struct mlx4_health *h, struct around *a, struct mlx4_finding f[MLX4_SENSORS])
{
	struct mlx4_eth *eth = h->eth;
	unsigned int pass, p;
	uint16_t i;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < eth->dev->data->nb_tx_queues; i++) {
			struct mlx4_txq *q = eth->txqs[i];

			for (p = 0; q != NULL && p <= MLX4_PRIOS; p++) {
				struct mlx4_txq *pair = p == MLX4_PRIOS ? q : q->lane[p];

				if (pair == NULL)
					continue;
				if (pass == 0)
					ask_pair(pair, a);
				else
					judge_pair(pair, i, a, f);
			}
			if (pass == 1 && q != NULL)
				find_failures(q, i, &f[MLX4_SENSOR_TX_ERROR]);
		}
	}
}

/* --- receive ---------------------------------------------------------------------------------------------- */

/* *ci: what was taken so far, which moves when any of its sets does. */
static bool
queue_waits(const struct mlx4_rxq *q, uint32_t *ci)
{
	const struct mlx4_rx_set *s = __atomic_load_n(&q->set, __ATOMIC_ACQUIRE);
	bool waits = mlx4_rx_set_waits(s);
	uint16_t i;

	*ci = __atomic_load_n(&s->cq_ci, __ATOMIC_RELAXED);
	for (i = 0; q->sides != NULL && i < q->sides->n; i++) {
		s = q->sides->side[i]->set;
		waits |= mlx4_rx_set_waits(s);
		*ci += __atomic_load_n(&s->cq_ci, __ATOMIC_RELAXED);
	}
	return waits;
}

static void
find_rx(struct mlx4_health *h, struct mlx4_finding f[MLX4_SENSORS])
{
	struct mlx4_eth *eth = h->eth;
	struct mlx4_rx_counts c;
	uint32_t ci = 0;
	bool waits;
	uint16_t i;

	pthread_mutex_lock(&eth->sets_lock);
	for (i = 0; i < eth->dev->data->nb_rx_queues; i++) {
		struct mlx4_rxq *q = eth->rxqs[i];

		if (q == NULL)
			continue;
		waits = q->started && queue_waits(q, &ci);
		if (waits && q->seen.waits && ci == q->seen.ci)
			q->seen.idle = RTE_MIN(q->seen.idle + 1, UINT16_MAX - 1);
		else
			q->seen.idle = 0;
		q->seen.waits = waits;
		q->seen.ci = ci;
		worst(&f[MLX4_SENSOR_RX_COMPLETION], q->seen.idle, i);
		mlx4_rxq_counts_all(q, &c);
		if (c.errors != q->seen.errors)
			worst(&f[MLX4_SENSOR_RX_ERROR], 1, i);
		q->seen.errors = c.errors;
	}
	pthread_mutex_unlock(&eth->sets_lock);
}

/* --- all of them ------------------------------------------------------------------------------------------ */

static bool
grew(uint64_t *seen, const uint64_t *counter)
{
	uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED);
	bool more = now != *seen;

	*seen = now;
	return more;
}

void
mlx4_health_find(struct mlx4_health *h, struct mlx4_finding f[MLX4_SENSORS])
{
	struct mlx4_eth *eth = h->eth;
	struct mlx4_hca *hca = eth->hca;
	struct around a = {.classes = has_classes(&eth->qos->conf)};

	memset(f, 0, MLX4_SENSORS * sizeof(f[0]));
	f[MLX4_SENSOR_TX_STUCK].restart = f[MLX4_SENSOR_TX_COMPLETION].restart = f[MLX4_SENSOR_RX_COMPLETION].restart =
		f[MLX4_SENSOR_RX_ERROR].restart = true;
	if (grew(&h->timeouts_seen, &hca->cmd_timeouts))
		f[MLX4_SENSOR_COMMAND].idle = 1;
	if (grew(&h->lost_seen, &hca->lost_events))
		f[MLX4_SENSOR_EVENT].idle = 1;
	if (hca->dead || !eth->running)
		return;
	/* Before any command, since who waits for one looks for events, too. */
	mlx4_events_check(hca);
	a.link_up = eth->dev->data->dev_link.link_status == RTE_ETH_LINK_UP;
	a.paused = paused_by_peer(h);
	find_tx(h, &a, f);
	find_rx(h, f);
	if (grew(&h->rx_failed_seen, &h->rx_failed))
		worst(&f[MLX4_SENSOR_RX_ERROR], 1, f[MLX4_SENSOR_RX_ERROR].queue);
	if (grew(&h->tx_failed_seen, &h->tx_failed))
		worst(&f[MLX4_SENSOR_TX_ERROR], 1, f[MLX4_SENSOR_TX_ERROR].queue);
}

static void
forget_pair(struct mlx4_txq *p)
{
	p->seen.stuck = p->seen.lost = 0;
	p->seen.asked = p->seen.broken = false;
}

void
mlx4_health_forget(struct mlx4_eth *eth)
{
	unsigned int p;
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_tx_queues; i++) {
		if (eth->txqs[i] == NULL)
			continue;
		forget_pair(eth->txqs[i]);
		for (p = 0; p < MLX4_PRIOS; p++)
			if (eth->txqs[i]->lane[p] != NULL)
				forget_pair(eth->txqs[i]->lane[p]);
	}
	for (i = 0; i < eth->dev->data->nb_rx_queues; i++)
		if (eth->rxqs[i] != NULL) {
			eth->rxqs[i]->seen.idle = 0;
			eth->rxqs[i]->seen.waits = false;
		}
}
