/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Counters of queues. Bursts are their only writers; a reset is a value that is subtracted. all: of the queue's whole life;
 * since_reset: never below zero, though what was sent or received may be taken back a moment after a reset.
 */
#ifndef MLX4_COUNTS_H
#define MLX4_COUNTS_H

#include "mlx4_rxtx.h"

void mlx4_rxq_counts_all(const struct mlx4_rxq *q, struct mlx4_rx_counts *c);
void mlx4_txq_counts_all(const struct mlx4_txq *q, struct mlx4_tx_counts *c);
void mlx4_rxq_counts_since_reset(const struct mlx4_rxq *q, struct mlx4_rx_counts *c);
void mlx4_txq_counts_since_reset(const struct mlx4_txq *q, struct mlx4_tx_counts *c);
void mlx4_rxq_counts_reset(struct mlx4_rxq *q);
void mlx4_txq_counts_reset(struct mlx4_txq *q);

#endif /* MLX4_COUNTS_H */
