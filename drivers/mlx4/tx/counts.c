/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What transmit queues have counted, in all and since the last reset. */
#include "counts.h"

#include "drivers/mlx4/port/counter.h"

void
mlx4_txq_counts_all(const struct mlx4_txq *q, struct mlx4_tx_counts *c)
{
	unsigned int p;

	*c = (struct mlx4_tx_counts){
		.packets = mlx4_counter_now(&q->packets) - q->back_packets - mlx4_counter_now(&q->lost_packets),
		.bytes = mlx4_counter_now(&q->bytes) - q->back_bytes - mlx4_counter_now(&q->lost_bytes),
		.errors = mlx4_counter_now(&q->errors),
		.linearized = mlx4_counter_now(&q->linearized),
		.failures = mlx4_counter_now(&q->failures),
		.spoof_mac = mlx4_counter_now(&q->spoof_mac),
		.spoof_type = mlx4_counter_now(&q->spoof_type),
	};
	for (p = 0; p < MLX4_PRIOS; p++) {
		c->prio[p].untagged = mlx4_counter_now(&q->prio_count[p].untagged);
		c->prio[p].untagged_bytes = mlx4_counter_now(&q->prio_count[p].untagged_bytes);
		c->prio[p].discards = mlx4_counter_now(&q->prio_count[p].discards);
	}
}

void
mlx4_txq_counts_since_reset(const struct mlx4_txq *q, struct mlx4_tx_counts *c)
{
	unsigned int p;

	mlx4_txq_counts_all(q, c);
	mlx4_counter_subtract(&c->packets, q->base.packets);
	mlx4_counter_subtract(&c->bytes, q->base.bytes);
	mlx4_counter_subtract(&c->errors, q->base.errors);
	mlx4_counter_subtract(&c->linearized, q->base.linearized);
	mlx4_counter_subtract(&c->failures, q->base.failures);
	mlx4_counter_subtract(&c->spoof_mac, q->base.spoof_mac);
	mlx4_counter_subtract(&c->spoof_type, q->base.spoof_type);
	for (p = 0; p < MLX4_PRIOS; p++) {
		mlx4_counter_subtract(&c->prio[p].untagged, q->base.prio[p].untagged);
		mlx4_counter_subtract(&c->prio[p].untagged_bytes, q->base.prio[p].untagged_bytes);
		mlx4_counter_subtract(&c->prio[p].discards, q->base.prio[p].discards);
	}
}

void
mlx4_txq_counts_reset(struct mlx4_txq *q)
{
	mlx4_txq_counts_all(q, &q->base);
}
