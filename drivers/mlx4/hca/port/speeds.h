/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The speeds of both ends of a link, by the register of a port's types and speeds. */
#ifndef MLX4_HCA_PORT_SPEEDS_H
#define MLX4_HCA_PORT_SPEEDS_H

#include "drivers/mlx4/hca/hca.h"

/* Forms of Ethernet, enum mlx4_ptys_eth. */
struct mlx4_speeds {
	uint32_t own;  /* that the port may use */
	uint32_t used; /* 0: the link is down */
	uint32_t peer; /* that the peer offers; 0: it is not there, or does not negotiate */
};

/* 0; -ENOTSUP: the firmware does not tell; what a command that failed gives. */
int mlx4_port_speeds(struct mlx4_hca *hca, unsigned int port, struct mlx4_speeds *s);

/* RTE_ETH_LINK_SPEED_* of forms. */
uint32_t mlx4_speeds_rte(uint32_t forms);

#endif /* MLX4_HCA_PORT_SPEEDS_H */
