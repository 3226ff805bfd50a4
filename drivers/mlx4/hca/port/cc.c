/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Congestion control by command: sets of parameters by priority, counters. */
#include <errno.h>

#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/hca/port/qos.h"

int
mlx4_port_cc_get(struct mlx4_hca *hca, unsigned int port, unsigned int algorithm, unsigned int prio, uint8_t *set)
{
	if (!hca->caps.congestion)
		return -ENOTSUP;
	return mlx4_cmd(hca, MLX4_CMD_CONGESTION_CTRL, MLX4_CC_GET, MLX4_CC_MOD(port, 1u << prio, algorithm), NULL, 0,
			set, MLX4_CC_RP_SIZE);
}

int
mlx4_port_cc_set(struct mlx4_hca *hca, unsigned int port, unsigned int algorithm, unsigned int prio, const uint8_t *set)
{
	if (!hca->caps.congestion)
		return -ENOTSUP;
	return mlx4_cmd(hca, MLX4_CMD_CONGESTION_CTRL, MLX4_CC_SET, MLX4_CC_MOD(port, 1u << prio, algorithm), set,
			MLX4_CC_RP_SIZE, NULL, 0);
}

int
mlx4_port_cc_stats(struct mlx4_hca *hca, unsigned int port, unsigned int algorithm, uint8_t *out)
{
	if (!hca->caps.congestion)
		return -ENOTSUP;
	return mlx4_cmd(hca, MLX4_CMD_CONGESTION_CTRL, MLX4_CC_STATS, MLX4_CC_MOD(port, 0, algorithm), NULL, 0, out,
			MLX4_CC_STATS_SIZE);
}
