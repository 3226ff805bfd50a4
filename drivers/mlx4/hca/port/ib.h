/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* InfiniBand ports: what the firmware does for them. */
#ifndef MLX4_HCA_PORT_IB_H
#define MLX4_HCA_PORT_IB_H

#include "drivers/mlx4/hca/hca.h"

/* Capabilities and INIT_PORT: the link trains, a subnet manager can do the rest. mlx4_port_close() is the reverse. */
int mlx4_port_ib_up(struct mlx4_hca *hca, unsigned int port);
int mlx4_port_ib_info(struct mlx4_hca *hca, unsigned int port, struct mlx4_port_ib_info *info);
/* The code of a path's rate (enum ibv_rate; 0: none), or the nearest below that the card knows. */
uint8_t mlx4_port_ib_rate(const struct mlx4_hca *hca, uint8_t rate);
int mlx4_port_ib_caps(struct mlx4_hca *hca, unsigned int port, uint32_t cap_mask);
/* Any attribute of the port, MLX4_MAD_SIZE bytes. */
int mlx4_port_ib_get(struct mlx4_hca *hca, unsigned int port, uint32_t attr, uint32_t modifier, uint8_t *mad);
/* The same of what not every firmware knows: -ENOTSUP, without a line. */
int mlx4_port_ib_try(struct mlx4_hca *hca, unsigned int port, uint32_t attr, uint32_t modifier, uint8_t *mad);
/*
 * The firmware's answer to a datagram, MLX4_MAD_SIZE bytes each. from NULL: the host itself asks, and no key is asked for.
 * -EINVAL: the firmware calls it malformed.
 */
int mlx4_port_ib_mad_ifc(struct mlx4_hca *hca, unsigned int port, const uint8_t *in, const struct mlx4_mad_from *from,
			 uint8_t *out);

#endif /* MLX4_HCA_PORT_IB_H */
