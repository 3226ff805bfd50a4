/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The receive path's monitor. A receive queue stands still when frames wait for it, or it has no buffers, and nothing is
 * taken from it from one look to the next. While the port sends pause frames at the same time, a dead application stops
 * its neighbours: after rx_stall_ms pause generation goes off on all priorities, until the queue moves again.
 */
#include "qos.h"
#include "drivers/mlx4/rx/sides.h"

uint32_t
mlx4_stall_minor_ms(const struct tp_qos_port *q)
{
	return q->rx_stall_minor_ms != 0 ? q->rx_stall_minor_ms : q->rx_stall_ms / 2;
}

/* What is there to take, without a lock on the poller's side: a look that is wrong by one frame does no harm. */
static bool
set_waits(const struct mlx4_rx_set *s)
{
	bool waits = mlx4_rx_set_waits(s);
	uint16_t i;

	for (i = 0; i < s->num_rings; i++)
		waits |= __atomic_load_n(&s->ring[i].pi, __ATOMIC_RELAXED) ==
			 __atomic_load_n(&s->ring[i].ci, __ATOMIC_RELAXED);
	return waits;
}

/* ci: what was taken so far, which moves when any of its sets does. */
static bool
queue_waits(const struct mlx4_rxq *q, uint32_t *ci)
{
	const struct mlx4_rx_set *s = __atomic_load_n(&q->set, __ATOMIC_ACQUIRE);
	bool waits = set_waits(s);
	uint16_t i;

	*ci = __atomic_load_n(&s->cq_ci, __ATOMIC_RELAXED);
	for (i = 0; q->sides != NULL && i < q->sides->n; i++) {
		waits |= set_waits(q->sides->side[i]->set);
		*ci += __atomic_load_n(&q->sides->side[i]->set->cq_ci, __ATOMIC_RELAXED);
	}
	return waits;
}

/*
 * Grows while the port pauses its peer: frames, and the time that they stand for, as a pause on a slow link is repeated
 * more seldom than this looks. A firmware that counts neither is taken to pause all the time.
 */
static uint64_t
pauses_sent(struct mlx4_eth *eth)
{
	uint8_t box[MLX4_FLOW_SIZE];
	uint64_t sum = 0;
	uint32_t i;

	if (mlx4_port_flow_stats(eth->hca, eth->port, false, box) != 0)
		return eth->qos->stall.pauses + 1;
	for (i = 0; i < TP_PRIOS; i++)
		sum += prm_get64(box, i * MLX4_FLOW_ENTRY + MLX4_FLOW_TX_PAUSE) +
		       prm_get64(box, i * MLX4_FLOW_ENTRY + MLX4_FLOW_TX_DURATION);
	return sum;
}

void
mlx4_stall_reset(struct mlx4_eth *eth, uint64_t now_us)
{
	struct mlx4_stall *st = &eth->qos->stall;
	uint32_t i;

	for (i = 0; i < RTE_DIM(st->rxq); i++)
		st->rxq[i].since_us = now_us;
	st->pauseless_us = now_us;
	st->waiting = false;
	st->minor = false;
	if (!st->off)
		return;
	st->off = false;
	mlx4_qos_pause_refresh(eth);
}

/* Follows every queue; the one that stands still for longest, UINT16_MAX: none does. */
static uint16_t
worst_queue(struct mlx4_eth *eth, uint64_t now_us)
{
	struct mlx4_stall *st = &eth->qos->stall;
	uint16_t i, worst = UINT16_MAX;
	uint32_t ci;

	pthread_mutex_lock(&eth->sets_lock);
	for (i = 0; i < eth->dev->data->nb_rx_queues; i++) {
		const struct mlx4_rxq *q = eth->rxqs[i];

		if (q == NULL || !q->started || !queue_waits(q, &ci) || ci != st->rxq[i].ci) {
			st->rxq[i].ci = q == NULL || !q->started ? 0 : ci;
			st->rxq[i].since_us = now_us;
			continue;
		}
		if (worst == UINT16_MAX || st->rxq[i].since_us < st->rxq[worst].since_us)
			worst = i;
	}
	pthread_mutex_unlock(&eth->sets_lock);
	return worst;
}

static void
stall_begin(struct mlx4_eth *eth, uint16_t queue)
{
	struct mlx4_stall *st = &eth->qos->stall;

	st->off = true;
	if (mlx4_qos_pause_refresh(eth) != 0) {
		st->off = false; /* the next look tries again */
		return;
	}
	st->queue = queue;
	st->criticals++;
	mlx4_qos_tell(eth, RTE_PMD_MLX4_EVENT_RX_STALL_BEGIN, queue,
		      "receive path stalled on port %u / queue %u for %u ms, pause generation off",
		      eth->dev->data->port_id, queue, eth->qos->conf.rx_stall_ms);
}

static void
stall_end(struct mlx4_eth *eth, uint64_t now_us)
{
	struct mlx4_stall *st = &eth->qos->stall;

	st->off = false;
	if (mlx4_qos_pause_refresh(eth) != 0) {
		st->off = true;
		return;
	}
	st->minor = false;
	st->pauseless_us = now_us;
	mlx4_qos_tell(eth, RTE_PMD_MLX4_EVENT_RX_STALL_END, st->queue,
		      "receive path on port %u / queue %u moves again, pause generation on", eth->dev->data->port_id,
		      st->queue);
}

void
mlx4_stall_look(struct mlx4_eth *eth, uint64_t now_us)
{
	const struct tp_qos_port *q = &eth->qos->conf;
	struct mlx4_stall *st = &eth->qos->stall;
	uint64_t pauses, stalled_us;
	uint16_t worst;
	bool sends;

	if (!st->off && (q->rx_stall_ms == 0 || (!q->tx_pause && q->tx_pfc == 0)))
		return;
	worst = worst_queue(eth, now_us);
	if (st->off) {
		if (st->rxq[st->queue].since_us == now_us || q->rx_stall_ms == 0)
			stall_end(eth, now_us);
		return;
	}
	if (worst == UINT16_MAX) {
		st->waiting = false;
		st->minor = false;
		return;
	}
	pauses = pauses_sent(eth);
	sends = st->waiting && pauses != st->pauses;
	st->waiting = true;
	st->pauses = pauses;
	if (!sends)
		st->pauseless_us = now_us;
	stalled_us = now_us - RTE_MAX(st->rxq[worst].since_us, st->pauseless_us);
	if (stalled_us >= mlx4_stall_minor_ms(q) * UINT64_C(1000) && !st->minor) {
		st->minor = true;
		st->minors++;
	}
	if (stalled_us >= q->rx_stall_ms * UINT64_C(1000))
		stall_begin(eth, worst);
}

int
rte_pmd_mlx4_stalls_get(uint16_t port_id, struct rte_pmd_mlx4_stalls *out)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	unsigned int i;

	if (eth == NULL)
		return -ENODEV;
	memset(out, 0, sizeof(*out));
	mlx4_qos_lock(eth);
	out->rx_stalled = eth->qos->stall.off;
	out->rx_minor = eth->qos->stall.minors;
	out->rx_critical = eth->qos->stall.criticals;
	for (i = 0; i < TP_TCS; i++) {
		out->tc_stalled |= eth->qos->hol[i].until_us != 0 ? 1u << i : 0;
		out->tc_drops[i] = eth->qos->hol[i].drops;
		out->tc_stalls[i] = eth->qos->hol[i].stalls;
	}
	mlx4_qos_unlock(eth);
	return 0;
}
