/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The driver's log: type "pmd.net.mlx4_vfio". Its last lines are kept for dumps, whatever the log's level is. */
#ifndef MLX4_BUS_LOG_H
#define MLX4_BUS_LOG_H

#include <stdint.h>

#include <rte_log.h>

#include "lib/roce/port/hush.h"

extern int mlx4_logtype;
#define MLX4_LOG(level, fmt, ...)                                                                                      \
	((void)(troce_talk.lines++, troce_talk.hush ? 0 : mlx4_log(RTE_LOG_##level, "mlx4: " fmt "\n", ##__VA_ARGS__)))

/* A line that ends with '\n'. What rte_log answers. */
int mlx4_log(uint32_t level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define MLX4_LOG_KEPT 128u
#define MLX4_LOG_LINE 256u

struct mlx4_log_line {
	uint64_t at_us; /* since 1970 */
	uint32_t level; /* RTE_LOG_* */
	char text[MLX4_LOG_LINE];
};
/* Copies the last lines, but for those of level debug, the oldest first. */
unsigned int mlx4_log_get(struct mlx4_log_line out[MLX4_LOG_KEPT]);

#endif /* MLX4_BUS_LOG_H */
