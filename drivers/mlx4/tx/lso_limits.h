/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Limits of large sends. */
#ifndef MLX4_TX_LSO_LIMITS_H
#define MLX4_TX_LSO_LIMITS_H

#include "drivers/mlx4/port/port.h"

/* The defaults; what holds, after the MTU has changed, too. */
void mlx4_lso_default(struct mlx4_eth *eth);
void mlx4_lso_apply(struct mlx4_eth *eth);

#endif /* MLX4_TX_LSO_LIMITS_H */
