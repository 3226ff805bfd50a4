/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is noted down of a hierarchy: nodes and profiles by their numbers, and how a request is refused. */
#include <errno.h>
#include <inttypes.h>

#include "tm.h"

void
mlx4_tm_error(struct rte_tm_error *error, enum rte_tm_error_type type, const char *message)
{
	if (error == NULL)
		return;
	error->type = type;
	error->cause = NULL;
	error->message = message;
}

int
mlx4_tm_refuse(const struct rte_eth_dev *dev, struct rte_tm_error *error, enum rte_tm_error_type type,
	       const char *message, uint64_t value)
{
	mlx4_tm_error(error, type, message);
	MLX4_LOG(ERR, "port %u: traffic manager: %" PRIu64 ": %s", dev->data->port_id, value, message);
	return -EINVAL;
}

uint32_t
mlx4_tm_level(const struct mlx4_tm *tm, uint32_t id)
{
	uint32_t i;

	if (tm == NULL)
		return UINT32_MAX;
	if (tm->port.used && tm->port.id == id)
		return 0;
	for (i = 0; i < TP_TCS; i++)
		if (tm->tc[i].used && tm->tc[i].id == id)
			return 1;
	return id < MLX4_ETH_MAX_TXQ && tm->leaf[id].used ? 2 : UINT32_MAX;
}

const struct mlx4_tm_profile *
mlx4_tm_profile(const struct mlx4_tm *tm, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < MLX4_TM_PROFILES; i++)
		if (tm->profile[i].used && tm->profile[i].id == id)
			return &tm->profile[i];
	return NULL;
}
