/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames whose FCS is wrong: dropped by the port, or received as others are [CP 4.3]. */
#include <errno.h>

#include "ethdev.h"
#include "rte_pmd_mlx4.h"

int
mlx4_fcs_start(struct mlx4_eth *eth)
{
	return eth->ignore_fcs ? mlx4_port_ignore_fcs(eth->hca, eth->port, true) : 0;
}

int
rte_pmd_mlx4_ignore_fcs_set(uint16_t port_id, bool on)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	int rc = 0;

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	if (eth->ignore_fcs != on)
		rc = eth->hca->caps.ignore_fcs ? mlx4_port_ignore_fcs(eth->hca, eth->port, on) : -ENOTSUP;
	if (rc == 0)
		eth->ignore_fcs = on;
	mlx4_control_unlock(eth);
	return rc;
}

int
rte_pmd_mlx4_ignore_fcs_get(uint16_t port_id, bool *on)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	int rc = 0;

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	if (eth->hca->caps.ignore_fcs)
		*on = eth->ignore_fcs;
	else
		rc = -ENOTSUP;
	mlx4_control_unlock(eth);
	return rc;
}
