/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The clients of cards: each makes ports its own, and is told when a card goes down under it and comes up again. */
#include "drivers/mlx4/hca/core.h"

static const struct mlx4_client_ops *clients[MLX4_CLIENTS];

void
mlx4_client_register(enum mlx4_client client, const struct mlx4_client_ops *ops)
{
	clients[client] = ops;
}

int
mlx4_clients_create(struct mlx4_hca *hca, const struct mlx4_eth_args *args)
{
	unsigned int port, c;
	int rc = 0;

	for (port = 1; port <= hca->caps.num_ports; port++)
		for (c = 0; rc == 0 && c < MLX4_CLIENTS; c++)
			rc = clients[c]->create(hca, port, args);
	return rc;
}

/* The last one first: it may build on those before it. */
static void
port_down(struct mlx4_hca *hca, unsigned int port, unsigned int but)
{
	unsigned int c;

	for (c = MLX4_CLIENTS; c-- > 0;)
		if (c != but)
			clients[c]->down(hca, port);
}

void
mlx4_clients_down(struct mlx4_hca *hca)
{
	unsigned int port;

	for (port = 1; port <= hca->caps.num_ports; port++)
		port_down(hca, port, MLX4_CLIENTS);
}

void
mlx4_clients_leave(struct mlx4_hca *hca, unsigned int port, enum mlx4_client owner)
{
	port_down(hca, port, owner);
}

int
mlx4_clients_up(struct mlx4_hca *hca)
{
	unsigned int port, c;
	int rc = 0, ret;

	for (port = 1; port <= hca->caps.num_ports; port++)
		for (c = 0; c < MLX4_CLIENTS; c++) {
			ret = clients[c]->up == NULL ? 0 : clients[c]->up(hca, port);
			rc = rc == 0 ? ret : rc;
		}
	return rc;
}

int
mlx4_clients_remove(const struct rte_device *dev)
{
	unsigned int c;
	int rc = 0, ret;

	for (c = 0; c < MLX4_CLIENTS; c++) {
		ret = clients[c]->remove(dev);
		rc = rc == 0 ? ret : rc;
	}
	return rc;
}
