/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The verbs' side of a card's ports: InfiniBand ports are listed, and what is open on any port follows its card. */
#include <rte_malloc.h>

#include "ib_port.h"

static int
roce_create(struct mlx4_hca *hca, unsigned int port, const struct mlx4_eth_args *args)
{
	if ((hca->ib_ports >> (port - 1) & 1) == 0)
		return 0;
	return mlx4_ib_port_create(hca, port, args, &mlx4_roce_provider);
}

static void
roce_down(struct mlx4_hca *hca, unsigned int port)
{
	mlx4_roce_detach(mlx4_roce_open_find(hca, port));
}

static int
roce_remove(const struct rte_device *dev)
{
	struct mlx4_ib_port *p;

	while ((p = mlx4_ib_port_take(dev)) != NULL) {
		/* First nobody opens it any more. */
		troce_ib_del(p->name);
		mlx4_roce_detach(mlx4_roce_open_find(p->hca, p->port));
		mlx4_hca_put(p->hca);
		rte_free(p);
	}
	return 0;
}

static const struct mlx4_client_ops roce_client = {.create = roce_create, .down = roce_down, .remove = roce_remove};

RTE_INIT(mlx4_roce_client_init)
{
	mlx4_client_register(MLX4_CLIENT_ROCE, &roce_client);
}
