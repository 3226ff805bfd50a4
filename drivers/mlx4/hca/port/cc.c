/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Congestion control by command: sets of parameters by priority, counters. */
#include <errno.h>

#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/hca/port/qos.h"

static bool
offered(const struct mlx4_hca *hca, unsigned int algorithm)
{
	return algorithm == MLX4_CC_QAU ? hca->caps.qcn : hca->caps.dcqcn;
}

int
mlx4_port_cc_get(struct mlx4_hca *hca, unsigned int port, unsigned int algorithm, unsigned int prio, uint8_t *set)
{
	if (!offered(hca, algorithm))
		return -ENOTSUP;
	return mlx4_cmd(hca, MLX4_CMD_CONGESTION_CTRL, MLX4_CC_GET, MLX4_CC_MOD(port, 1u << prio, algorithm), NULL, 0,
			set, MLX4_CC_RP_SIZE);
}

int
mlx4_port_cc_set(struct mlx4_hca *hca, unsigned int port, unsigned int algorithm, uint8_t prios, const uint8_t *set)
{
	if (!offered(hca, algorithm))
		return -ENOTSUP;
	return mlx4_cmd(hca, MLX4_CMD_CONGESTION_CTRL, MLX4_CC_SET, MLX4_CC_MOD(port, prios, algorithm), set,
			MLX4_CC_RP_SIZE, NULL, 0);
}

int
mlx4_port_cc_stats(struct mlx4_hca *hca, unsigned int port, unsigned int algorithm, uint8_t prios, uint8_t *out)
{
	if (!offered(hca, algorithm))
		return -ENOTSUP;
	return mlx4_cmd(hca, MLX4_CMD_CONGESTION_CTRL, MLX4_CC_STATS, MLX4_CC_MOD(port, prios, algorithm), NULL, 0, out,
			MLX4_CC_STATS_SIZE);
}

int
mlx4_port_cc_clear(struct mlx4_hca *hca, unsigned int port, unsigned int algorithm, uint8_t prios)
{
	uint8_t out[MLX4_CC_STATS_SIZE];

	if (!offered(hca, algorithm))
		return -ENOTSUP;
	return mlx4_cmd(hca, MLX4_CMD_CONGESTION_CTRL, MLX4_CC_STATS,
			MLX4_CC_CLEAR | MLX4_CC_MOD(port, prios, algorithm), NULL, 0, out, sizeof(out));
}
