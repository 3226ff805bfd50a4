/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* From a bus to a card whose ports have their clients. */
#include <errno.h>

#include <rte_errno.h>

#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/tx/queue.h"
#include "card.h"
#include "drivers/mlx4/hca/port/type.h"
#include "drivers/mlx4/port/share.h"

int
mlx4_card_remove(struct rte_device *device)
{
	return mlx4_clients_remove(device);
}

/* As a failed probe leaves the bus to the caller, the card must not be closed by its last port. */
static void
ports_destroy(struct mlx4_hca *hca)
{
	hca->refs++;
	mlx4_clients_remove(hca->bus->dev);
	hca->refs--;
}

int
mlx4_card_probe(struct mlx4_bus *bus, const struct mlx4_eth_args *args)
{
	const struct mlx4_hca_config cfg = {.check_fw = args->check_fw, .quirks = args->quirks, .trace = args->trace};
	struct mlx4_hca *hca;
	int rc;

	rc = mlx4_share_open(MLX4_SHARE_SIZES);
	if (rc != 0) {
		MLX4_LOG(ERR, "%s: no messages from secondary processes: %s", bus->where, rte_strerror(-rc));
		return rc;
	}
	rc = mlx4_hca_open(bus, &cfg, &hca);
	if (rc != 0)
		return rc;
	rc = mlx4_port_types_choose(hca, args->port_type);
	if (rc == 0)
		rc = mlx4_clients_create(hca, args);
	if (rc != 0) {
		ports_destroy(hca);
		mlx4_hca_close(hca);
	}
	return rc;
}
