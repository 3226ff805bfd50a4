/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ethernet or InfiniBand: what each port of a card becomes. */
#ifndef MLX4_HCA_PORT_TYPE_H
#define MLX4_HCA_PORT_TYPE_H

#include "drivers/mlx4/hca/hca.h"

/* As device arguments say it. */
enum mlx4_port_want {
	MLX4_PORT_WANT_AUTO, /* what the wire says, else the card's stored type */
	MLX4_PORT_WANT_ETH,
	MLX4_PORT_WANT_IB,
	MLX4_PORT_WANTS
};
extern const char *const mlx4_port_want_names[MLX4_PORT_WANTS];

/*
 * Fills ib_ports and sensed_ports of a card that was just opened, by enum mlx4_port_want; the wire is asked here and never again. 0; -EINVAL (a
 * type that the port or the card does not have) or -ENOTSUP (port 1 would be Ethernet without RoCE beside InfiniBand on
 * port 2), each with a line that says why.
 */
int mlx4_port_types_choose(struct mlx4_hca *hca, const uint8_t want[MLX4_MAX_PORTS]);

#endif /* MLX4_HCA_PORT_TYPE_H */
