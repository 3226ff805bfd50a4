/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What queues have counted, in all and since the last reset. */
#include "counts.h"
#include "rx_lro.h"

static uint64_t
now(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static void
subtract(uint64_t *n, uint64_t base)
{
	*n = *n > base ? *n - base : 0;
}

void
mlx4_rxq_counts_all(const struct mlx4_rxq *q, struct mlx4_rx_counts *c)
{
	*c = (struct mlx4_rx_counts){
		.packets = now(&q->packets),
		.bytes = now(&q->bytes),
		.errors = now(&q->errors),
		.nombuf = now(&q->nombuf),
	};
}

void
mlx4_rxq_counts_since_reset(const struct mlx4_rxq *q, struct mlx4_rx_counts *c)
{
	mlx4_rxq_counts_all(q, c);
	subtract(&c->packets, q->base.packets);
	subtract(&c->bytes, q->base.bytes);
	subtract(&c->errors, q->base.errors);
	subtract(&c->nombuf, q->base.nombuf);
}

void
mlx4_rxq_counts_reset(struct mlx4_rxq *q)
{
	mlx4_rxq_counts_all(q, &q->base);
	if (q->lro != NULL)
		q->lro->base = q->lro->n;
}

void
mlx4_txq_counts_all(const struct mlx4_txq *q, struct mlx4_tx_counts *c)
{
	unsigned int p;

	*c = (struct mlx4_tx_counts){
		.packets = now(&q->packets) - q->back_packets - now(&q->lost_packets),
		.bytes = now(&q->bytes) - q->back_bytes - now(&q->lost_bytes),
		.errors = now(&q->errors),
		.linearized = now(&q->linearized),
		.failures = now(&q->failures),
		.spoof_mac = now(&q->spoof_mac),
		.spoof_type = now(&q->spoof_type),
	};
	for (p = 0; p < MLX4_PRIOS; p++) {
		c->prio[p].untagged = now(&q->prio_count[p].untagged);
		c->prio[p].untagged_bytes = now(&q->prio_count[p].untagged_bytes);
		c->prio[p].discards = now(&q->prio_count[p].discards);
	}
}

void
mlx4_txq_counts_since_reset(const struct mlx4_txq *q, struct mlx4_tx_counts *c)
{
	unsigned int p;

	mlx4_txq_counts_all(q, c);
	subtract(&c->packets, q->base.packets);
	subtract(&c->bytes, q->base.bytes);
	subtract(&c->errors, q->base.errors);
	subtract(&c->linearized, q->base.linearized);
	subtract(&c->failures, q->base.failures);
	subtract(&c->spoof_mac, q->base.spoof_mac);
	subtract(&c->spoof_type, q->base.spoof_type);
	for (p = 0; p < MLX4_PRIOS; p++) {
		subtract(&c->prio[p].untagged, q->base.prio[p].untagged);
		subtract(&c->prio[p].untagged_bytes, q->base.prio[p].untagged_bytes);
		subtract(&c->prio[p].discards, q->base.prio[p].discards);
	}
}

void
mlx4_txq_counts_reset(struct mlx4_txq *q)
{
	mlx4_txq_counts_all(q, &q->base);
}
