/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Which burst functions a port has. The primary process chooses; as functions have another address in each process, the
 * choice is a number beside the port's data.
 */
#ifndef MLX4_BURSTS_H
#define MLX4_BURSTS_H

#include "mlx4_eth.h"

enum mlx4_rx_way { MLX4_RX_OFF, MLX4_RX_PLAIN, MLX4_RX_SCATTERED, MLX4_RX_FLOOD, MLX4_RX_SIDES, MLX4_RX_LRO };
#define MLX4_RX_COUNTED 0x80u /* beside any: frames are counted by kind */
enum mlx4_tx_way { MLX4_TX_OFF, MLX4_TX_PLAIN, MLX4_TX_POLICY };

/* This process's functions. */
eth_rx_burst_t mlx4_rx_burst_of(unsigned int way);
eth_tx_burst_t mlx4_tx_burst_of(enum mlx4_tx_way way);

/*
 * Waits until no burst has what it took from *busy before it was replaced: a burst does not wait, so it is over soon. One whose
 * process died in it is over, too. poller: the process, 0: this one.
 */
void mlx4_burst_wait(void *const *busy, const void *old, const int32_t *poller);

/* With the port's start and stop. */
void mlx4_bursts_set(struct rte_eth_dev *dev);
void mlx4_bursts_clear(struct rte_eth_dev *dev);
/* A queue of a running port has a policy now, or has none any more. */
void mlx4_tx_burst_update(struct mlx4_eth *eth);

#endif /* MLX4_BURSTS_H */
