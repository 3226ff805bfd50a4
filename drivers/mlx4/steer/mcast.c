/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The size of a port's multicast list, for applications. */
#include <errno.h>
#include <stdio.h>

#include "filter.h"
#include "rte_pmd_mlx4.h"

int
rte_pmd_mlx4_mcast_get(uint16_t port_id, struct rte_pmd_mlx4_mcast *mcast)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	*mcast = (struct rte_pmd_mlx4_mcast){eth->mc_size, eth->mc_listed, eth->mc_overflow};
	mlx4_control_unlock(eth);
	return 0;
}

int
rte_pmd_mlx4_mcast_size_set(uint16_t port_id, uint32_t size, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_asked(port_id, err);
	int rc;

	if (eth == NULL)
		return -ENODEV;
	if (size < RTE_PMD_MLX4_MCAST_SIZE_MIN || size > RTE_PMD_MLX4_MCAST_SIZE_MAX) {
		snprintf(err, TP_ERR_LEN, "a multicast list of %u addresses, want %u..%u", size,
			 RTE_PMD_MLX4_MCAST_SIZE_MIN, RTE_PMD_MLX4_MCAST_SIZE_MAX);
		return -EINVAL;
	}
	mlx4_control_lock(eth);
	rc = mlx4_mc_size_set(eth, size);
	mlx4_control_unlock(eth);
	if (rc != 0)
		snprintf(err, TP_ERR_LEN, "a multicast list of %u addresses: the card refuses a rule (%d)", size, rc);
	return rc;
}
