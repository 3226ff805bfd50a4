/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What receive queues have counted, in all and since the last reset. */
#include "counts.h"

#include "drivers/mlx4/port/counter.h"
#include "lro.h"

void
mlx4_rxq_counts_all(const struct mlx4_rxq *q, struct mlx4_rx_counts *c)
{
	*c = (struct mlx4_rx_counts){
		.packets = mlx4_counter_now(&q->packets),
		.bytes = mlx4_counter_now(&q->bytes),
		.errors = mlx4_counter_now(&q->errors),
		.nombuf = mlx4_counter_now(&q->nombuf),
		.splits = mlx4_counter_now(&q->splits),
		.unsplit = mlx4_counter_now(&q->unsplit),
	};
}

void
mlx4_rxq_counts_since_reset(const struct mlx4_rxq *q, struct mlx4_rx_counts *c)
{
	mlx4_rxq_counts_all(q, c);
	mlx4_counter_subtract(&c->packets, q->base.packets);
	mlx4_counter_subtract(&c->bytes, q->base.bytes);
	mlx4_counter_subtract(&c->errors, q->base.errors);
	mlx4_counter_subtract(&c->nombuf, q->base.nombuf);
	mlx4_counter_subtract(&c->splits, q->base.splits);
	mlx4_counter_subtract(&c->unsplit, q->base.unsplit);
}

void
mlx4_rxq_counts_reset(struct mlx4_rxq *q)
{
	mlx4_rxq_counts_all(q, &q->base);
	if (q->lro != NULL)
		q->lro->base = q->lro->n;
}
