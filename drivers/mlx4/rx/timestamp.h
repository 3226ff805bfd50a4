/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The card's clock. */
#ifndef MLX4_RX_TIMESTAMP_H
#define MLX4_RX_TIMESTAMP_H

#include "drivers/mlx4/port/port.h"

int mlx4_read_clock(struct rte_eth_dev *dev, uint64_t *cycles);

#endif /* MLX4_RX_TIMESTAMP_H */
