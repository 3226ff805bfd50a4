/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The watch over paths that stand still: an alarm of the interrupt thread, set only while a declaration asks for it and
 * the port runs. Bursts know nothing of it.
 */
#include <time.h>

#include <rte_alarm.h>

#include "qos.h"

#define PERIOD_MIN_US 250u
#define PERIOD_MAX_US 100000u
#define LOOKS 4u /* within the shortest time that is watched for */

uint64_t
mlx4_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * US_PER_S + (uint64_t)t.tv_nsec / 1000;
}

static uint32_t
period_of(const struct mlx4_eth *eth)
{
	const struct tp_qos_port *q = &eth->qos->conf;
	uint32_t shortest = UINT32_MAX;
	uint16_t i;

	if (q->rx_stall_ms != 0)
		shortest = mlx4_stall_minor_ms(q) * 1000;
	if (q->hol_lifetime_us != 0)
		shortest = RTE_MIN(shortest, q->hol_lifetime_us);
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL && eth->txqs[i]->hol_lifetime_us != 0)
			shortest = RTE_MIN(shortest, eth->txqs[i]->hol_lifetime_us);
	if (shortest == UINT32_MAX)
		return 0;
	return RTE_MAX(RTE_MIN(shortest / LOOKS, PERIOD_MAX_US), PERIOD_MIN_US);
}

static void
on_alarm(void *arg)
{
	struct mlx4_eth *eth = arg;
	struct mlx4_qos *qos = eth->qos;

	mlx4_qos_lock(eth);
	qos->watching = eth->running && qos->watch_us != 0 && !eth->hca->dead;
	if (qos->watching) {
		mlx4_stall_look(eth, mlx4_now_us());
		mlx4_hol_look(eth, mlx4_now_us());
		qos->watching = rte_eal_alarm_set(qos->watch_us, on_alarm, eth) == 0;
	}
	mlx4_qos_unlock(eth);
}

void
mlx4_watch_update(struct mlx4_eth *eth)
{
	struct mlx4_qos *qos = eth->qos;
	uint32_t before = qos->watch_us;

	qos->watch_us = period_of(eth);
	if (before == 0)
		mlx4_stall_reset(eth, mlx4_now_us());
	if (!eth->running || qos->watch_us == 0 || qos->watching)
		return;
	qos->watching = rte_eal_alarm_set(qos->watch_us, on_alarm, eth) == 0;
	if (!qos->watching)
		MLX4_LOG(ERR, "port %u: no alarm could be set: stalls are not watched for", eth->dev->data->port_id);
}

void
mlx4_watch_start(struct mlx4_eth *eth)
{
	mlx4_qos_lock(eth);
	eth->running = true;
	mlx4_stall_reset(eth, mlx4_now_us());
	mlx4_watch_update(eth);
	mlx4_qos_unlock(eth);
}

void
mlx4_watch_stop(struct mlx4_eth *eth)
{
	mlx4_qos_lock(eth);
	eth->running = false;
	mlx4_qos_unlock(eth);
	/* A look that is under way needs the lock. */
	rte_eal_alarm_cancel(on_alarm, eth);
	mlx4_txqs_recover_end(eth);
	mlx4_qos_lock(eth);
	eth->qos->watching = false;
	mlx4_stall_reset(eth, mlx4_now_us());
	mlx4_hol_reset(eth);
	mlx4_qos_unlock(eth);
}
