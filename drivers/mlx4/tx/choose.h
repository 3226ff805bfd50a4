/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which transmit burst a port has: a number beside the port's data, as for receive (rx/choose.h). */
#ifndef MLX4_TX_CHOOSE_H
#define MLX4_TX_CHOOSE_H

#include "drivers/mlx4/port/port.h"

enum mlx4_tx_way { MLX4_TX_OFF, MLX4_TX_PLAIN, MLX4_TX_POLICY };

/* This process's function. */
eth_tx_burst_t mlx4_tx_burst_of(enum mlx4_tx_way way);

/* With the port's start and stop. */
void mlx4_tx_burst_choose(struct mlx4_eth *eth);
void mlx4_tx_burst_off(struct mlx4_eth *eth);
/* A queue of a running port has a policy now, or has none any more. */
void mlx4_tx_burst_update(struct mlx4_eth *eth);

#endif /* MLX4_TX_CHOOSE_H */
