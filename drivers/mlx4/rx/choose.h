/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Which receive burst a port has. The primary process chooses; as functions have another address in each process, the
 * choice is a number beside the port's data.
 */
#ifndef MLX4_RX_CHOOSE_H
#define MLX4_RX_CHOOSE_H

#include "drivers/mlx4/port/compat.h"
#include "drivers/mlx4/port/port.h"

enum mlx4_rx_way { MLX4_RX_OFF, MLX4_RX_PLAIN, MLX4_RX_SCATTERED, MLX4_RX_FLOOD, MLX4_RX_SIDES, MLX4_RX_LRO };
#define MLX4_RX_COUNTED 0x80u /* beside any: frames are counted by kind */
#define MLX4_RX_HEADERS 0x40u /* beside any: packets are split behind their headers */

/* This process's function. */
eth_rx_burst_t mlx4_rx_burst_of(unsigned int way);
/* The fastest burst for plain rings that this processor and the limit of SIMD width (--force-max-simd-bitwidth) allow. */
eth_rx_burst_t mlx4_rx_burst_plain(void);
/* The burst of a port that counts kinds of frames, round its own one. */
uint16_t mlx4_rx_burst_counting(void *rxq, struct rte_mbuf **pkts, uint16_t n);

/* The burst of a port that splits headers off, round all others. */
uint16_t mlx4_rx_burst_headers(void *rxq, struct rte_mbuf **pkts, uint16_t n);
/* Packet types that a queue may be told to split behind, for ethdev. */
const uint32_t *mlx4_rx_split_types(MLX4_PTYPES_GET_ARGS);

/* With the port's start and stop. */
void mlx4_rx_burst_choose(struct mlx4_eth *eth);
void mlx4_rx_burst_off(struct mlx4_eth *eth);
/*
 * Chooses the receive burst anew: call it when rings get several buffers, software copies start or stop, or counting by kind
 * or header split changes.
 */
void mlx4_rx_burst_update(struct mlx4_eth *eth);

#endif /* MLX4_RX_CHOOSE_H */
