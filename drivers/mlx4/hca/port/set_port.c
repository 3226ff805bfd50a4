/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The command SET_PORT of Ethernet ports, which many settings share [CP 4.3]. */
#include "drivers/mlx4/hca/core.h"

#define SET_PORT_SEL_SHIFT 8

int
mlx4_set_port(struct mlx4_hca *hca, unsigned int port, enum mlx4_set_port_sel sel, const void *box, size_t len)
{
	return mlx4_cmd(hca, MLX4_CMD_SET_PORT, MLX4_SET_PORT_OPM_ETH, (uint32_t)sel << SET_PORT_SEL_SHIFT | port, box,
			len, NULL, 0);
}

void
mlx4_pause_fill(uint8_t *box, const struct mlx4_pause *pause)
{
	prm_set(box, MLX4_SPG_V_RX_PAUSE, 1);
	prm_set(box, MLX4_SPG_V_TX_PAUSE, 1);
	prm_set(box, MLX4_SPG_RX_PAUSE, pause->rx);
	prm_set(box, MLX4_SPG_TX_PAUSE, pause->tx);
	prm_set(box, MLX4_SPG_RX_PFC, pause->rx_pfc);
	prm_set(box, MLX4_SPG_TX_PFC, pause->tx_pfc);
}
