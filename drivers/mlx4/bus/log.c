/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <rte_common.h>

#include "log.h"

int mlx4_logtype;

RTE_INIT(mlx4_log_init)
{
	mlx4_logtype = rte_log_register_type_and_pick_level("pmd.net.mlx4_vfio", RTE_LOG_NOTICE);
	if (mlx4_logtype < 0)
		mlx4_logtype = RTE_LOGTYPE_EAL;
}
