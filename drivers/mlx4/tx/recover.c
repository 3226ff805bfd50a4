/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs that a send error stopped: an alarm of the interrupt thread takes them back. */
#include <rte_alarm.h>

#include "drivers/mlx4/port/port.h"
#include "queue.h"

/* So many at most are restarted in a second, and said, when an application sends nothing but what the card refuses. */
#define FAILED_US 20000u

static void
on_failed(void *arg)
{
	struct mlx4_eth *eth = arg;
	bool done = true;
	uint16_t i;

	mlx4_qos_lock(eth);
	for (i = 0; i < eth->dev->data->nb_tx_queues && eth->running && !eth->hca->dead; i++)
		if (eth->txqs[i] != NULL)
			done &= mlx4_txq_recover(eth->txqs[i]);
	if (!done)
		rte_eal_alarm_set(FAILED_US, on_failed, eth);
	mlx4_qos_unlock(eth);
}

/* The interrupt thread of a secondary process has no card: a queue that it sends by stays as it is until it is restarted. */
void
mlx4_txq_failed(struct mlx4_txq *q)
{
	if (rte_eal_process_type() == RTE_PROC_PRIMARY)
		rte_eal_alarm_set(FAILED_US, on_failed, q->eth);
}

void
mlx4_txqs_recover_end(struct mlx4_eth *eth)
{
	rte_eal_alarm_cancel(on_failed, eth);
}
