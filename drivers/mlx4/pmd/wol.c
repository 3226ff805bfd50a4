/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Wake-on-LAN of a port, for applications. */
#include <errno.h>

#include "drivers/mlx4/port/port.h"
#include "rte_pmd_mlx4.h"

static int
check(uint16_t port_id, struct mlx4_eth **eth)
{
	*eth = mlx4_eth_by_port(port_id);
	if (*eth == NULL)
		return -ENODEV;
	return mlx4_wol_offered((*eth)->hca, (*eth)->port) ? 0 : -ENOTSUP;
}

int
rte_pmd_mlx4_wake_on_lan_set(uint16_t port_id, bool on)
{
	struct mlx4_eth *eth;
	int rc = check(port_id, &eth);

	if (rc != 0)
		return rc;
	mlx4_control_lock(eth);
	rc = mlx4_wol_set(eth->hca, eth->port, on);
	mlx4_control_unlock(eth);
	return rc;
}

int
rte_pmd_mlx4_wake_on_lan_get(uint16_t port_id, bool *on)
{
	struct mlx4_eth *eth;
	int rc = check(port_id, &eth);

	return rc != 0 ? rc : mlx4_wol_get(eth->hca, eth->port, on);
}
