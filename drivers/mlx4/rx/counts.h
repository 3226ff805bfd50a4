/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Counters of receive queues. Bursts are their only writers; a reset is a value that is subtracted. all: of the queue's whole
 * life; since_reset: never below zero, though what was received may be taken back a moment after a reset.
 */
#ifndef MLX4_RX_COUNTS_H
#define MLX4_RX_COUNTS_H

#include "queue.h"

void mlx4_rxq_counts_all(const struct mlx4_rxq *q, struct mlx4_rx_counts *c);
void mlx4_rxq_counts_since_reset(const struct mlx4_rxq *q, struct mlx4_rx_counts *c);
void mlx4_rxq_counts_reset(struct mlx4_rxq *q);

#endif /* MLX4_RX_COUNTS_H */
