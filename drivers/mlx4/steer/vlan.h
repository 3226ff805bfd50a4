/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* VLANs that a port takes. */
#ifndef MLX4_STEER_VLAN_H
#define MLX4_STEER_VLAN_H

#include "drivers/mlx4/port/port.h"

#define MLX4_ETH_MAX_VLANS 127

int mlx4_vlan_apply(struct mlx4_eth *eth);
int mlx4_vlan_filter_set(struct rte_eth_dev *dev, uint16_t vid, int on);

#endif /* MLX4_STEER_VLAN_H */
