/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A queue without buffers (eth->drop): frames that rules send to its QPN count as missed. */
#ifndef MLX4_STEER_DROP_QUEUE_H
#define MLX4_STEER_DROP_QUEUE_H

#include "drivers/mlx4/port/port.h"

/* Makes the queue, if it is not there. 0 or a negative errno. */
int mlx4_drop_queue_open(struct mlx4_eth *eth);
/* No rule may name it any more. */
void mlx4_drop_queue_close(struct mlx4_eth *eth);

#endif /* MLX4_STEER_DROP_QUEUE_H */
