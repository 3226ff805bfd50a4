/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Wake-on-LAN: whether a magic packet wakes the host. Only the firmware knows what is set [CP 3.8]. */
#include <errno.h>

#include "drivers/mlx4/hca/core.h"

#define MAGIC (MLX4_WOL_ENABLED | MLX4_WOL_MAGIC)

bool
mlx4_wol_offered(const struct mlx4_hca *hca, unsigned int port)
{
	if (mlx4_quirk(hca, MLX4_QUIRK_WOL_GROUP) != 0)
		return false;
	return (hca->caps.flags >> (port == 1 ? MLX4_DEV_FLAG_WOL_PORT1 : MLX4_DEV_FLAG_WOL_PORT2)) & 1;
}

static uint32_t
in_modifier(unsigned int port)
{
	return MLX4_MSC_GROUP_WOL << MLX4_MSC_GROUP_SHIFT | port << MLX4_MSC_PORT_SHIFT;
}

int
mlx4_wol_get(struct mlx4_hca *hca, unsigned int port, bool *on)
{
	uint64_t v = 0;
	int rc = mlx4_cmd_imm(hca, MLX4_CMD_MOD_STAT_CFG, MLX4_MSC_OPM_QUERY_IMM, in_modifier(port), 0, &v);

	*on = rc == 0 && (v & MAGIC) == MAGIC;
	return rc;
}

/* The group is one of two readings of the sources, so what was written is read again. */
int
mlx4_wol_set(struct mlx4_hca *hca, unsigned int port, bool on)
{
	bool is;
	int rc;

	rc = mlx4_cmd_imm(hca, MLX4_CMD_MOD_STAT_CFG, MLX4_MSC_OPM_SET_IMM, in_modifier(port),
			  MLX4_WOL_MODIFY | (on ? MAGIC : 0), NULL);
	if (rc == 0)
		rc = mlx4_wol_get(hca, port, &is);
	if (rc != 0 || is == on)
		return rc;
	HCA_LOG(hca, ERR, "port %u: wake-on-LAN was turned %s, and the firmware says that it is %s", port,
		on ? "on" : "off", is ? "on" : "off");
	return -EIO;
}
