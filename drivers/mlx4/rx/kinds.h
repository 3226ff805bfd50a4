/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters of the kinds of frames that each receive queue has had (O-1). */
#ifndef MLX4_RX_KINDS_H
#define MLX4_RX_KINDS_H

#include "queue.h"

/* The poller's: counts what it received. The port counts, or did so a moment ago. */
void mlx4_rx_kinds_note(const struct mlx4_rxq *q, struct rte_mbuf *const *pkts, uint16_t n);
void mlx4_rx_kinds_reset(struct mlx4_eth *eth);
void mlx4_rx_kinds_free(struct mlx4_eth *eth);

#endif /* MLX4_RX_KINDS_H */
