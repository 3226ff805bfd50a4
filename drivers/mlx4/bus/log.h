/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The driver's log: type "pmd.net.mlx4_vfio". */
#ifndef MLX4_BUS_LOG_H
#define MLX4_BUS_LOG_H

#include <rte_log.h>

#include "lib/roce/port/hush.h"

extern int mlx4_logtype;
#define MLX4_LOG(level, fmt, ...)                                                                                      \
	((void)(troce_talk.lines++,                                                                                    \
		troce_talk.hush ? 0 : rte_log(RTE_LOG_##level, mlx4_logtype, "mlx4: " fmt "\n", ##__VA_ARGS__)))

#endif /* MLX4_BUS_LOG_H */
