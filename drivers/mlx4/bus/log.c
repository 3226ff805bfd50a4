/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>
#include <rte_spinlock.h>

#include "log.h"

int mlx4_logtype;

static struct {
	rte_spinlock_t lock;
	uint64_t number;
	struct mlx4_log_line line[MLX4_LOG_KEPT];
} kept;

static void __attribute__((format(printf, 2, 0))) keep(uint32_t level, const char *fmt, va_list ap)
{
	struct mlx4_log_line line = {.level = level};
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	line.at_us = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
	if (vsnprintf(line.text, sizeof(line.text), fmt, ap) < 0)
		return;
	line.text[strcspn(line.text, "\n")] = '\0';
	rte_spinlock_lock(&kept.lock);
	kept.line[kept.number++ % MLX4_LOG_KEPT] = line;
	rte_spinlock_unlock(&kept.lock);
}

int
mlx4_log(uint32_t level, const char *fmt, ...)
{
	va_list ap;
	int rc;

	if (level < RTE_LOG_DEBUG) {
		va_start(ap, fmt);
		keep(level, fmt, ap);
		va_end(ap);
	}
	va_start(ap, fmt);
	rc = rte_vlog(level, (uint32_t)mlx4_logtype, fmt, ap);
	va_end(ap);
	return rc;
}

unsigned int
mlx4_log_get(struct mlx4_log_line out[MLX4_LOG_KEPT])
{
	uint64_t from, i;

	rte_spinlock_lock(&kept.lock);
	from = kept.number > MLX4_LOG_KEPT ? kept.number - MLX4_LOG_KEPT : 0;
	for (i = from; i < kept.number; i++)
		out[i - from] = kept.line[i % MLX4_LOG_KEPT];
	rte_spinlock_unlock(&kept.lock);
	return (unsigned int)(i - from);
}

RTE_INIT(mlx4_log_init)
{
	mlx4_logtype = rte_log_register_type_and_pick_level("pmd.net.mlx4_vfio", RTE_LOG_NOTICE);
	if (mlx4_logtype < 0)
		mlx4_logtype = RTE_LOGTYPE_EAL;
}
