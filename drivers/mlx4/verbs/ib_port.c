/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which InfiniBand ports there are. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "ib_port.h"

static TAILQ_HEAD(, mlx4_ib_port) ports = TAILQ_HEAD_INITIALIZER(ports);
static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;

int
mlx4_ib_port_create(struct mlx4_hca *hca, unsigned int port, const struct mlx4_eth_args *args,
		    const struct troce_provider *prov)
{
	struct mlx4_ib_port *p = rte_zmalloc_socket("mlx4_ib", sizeof(*p), 0, hca->numa_node);
	struct troce_ib_port known = {.prov = prov, .home = p, .numa_node = hca->bus->numa_node};
	int err;

	if (p == NULL)
		return -ENOMEM;
	p->hca = hca;
	p->port = port;
	p->bf = args->bf;
	p->check_fw = args->check_fw;
	snprintf(p->name, sizeof(p->name), "%s/%u", hca->bus->where, port);
	memcpy(known.name, p->name, sizeof(known.name));
	err = troce_ib_add(&known);
	if (err != 0) {
		MLX4_LOG(ERR, "%s: the InfiniBand port cannot be listed: %s", p->name, strerror(err));
		rte_free(p);
		return -err;
	}
	hca->refs++;
	pthread_mutex_lock(&ports_lock);
	TAILQ_INSERT_TAIL(&ports, p, next);
	pthread_mutex_unlock(&ports_lock);
	return 0;
}

static bool
is_in_use(const struct mlx4_hca *hca)
{
	uint16_t id;

	RTE_ETH_FOREACH_DEV_OF(id, hca->bus->dev)
	return true;
	return mlx4_roce_open_find(hca, 0) != NULL;
}

int
mlx4_ib_port_revive(struct mlx4_ib_port *p)
{
	const struct mlx4_hca_config cfg = {.check_fw = p->check_fw};

	if (is_in_use(p->hca)) {
		MLX4_LOG(ERR,
			 "%s: the card was given up; close its other InfiniBand port, or reset one of its Ethernet "
			 "ports",
			 p->name);
		return -EIO;
	}
	if (mlx4_hca_revive(p->hca, &cfg) == 0)
		return 0;
	MLX4_LOG(ERR, "%s: the card was given up and did not come back by a reset", p->name);
	return -EIO;
}

struct mlx4_ib_port *
mlx4_ib_port_take(const struct rte_device *dev)
{
	struct mlx4_ib_port *p;

	pthread_mutex_lock(&ports_lock);
	TAILQ_FOREACH(p, &ports, next)
	if (p->hca->bus->dev == dev) {
		TAILQ_REMOVE(&ports, p, next);
		break;
	}
	pthread_mutex_unlock(&ports_lock);
	return p;
}

int
mlx4_ib_port_look(const char *name, void (*look)(struct mlx4_ib_port *p, void *arg), void *arg)
{
	struct mlx4_ib_port *p;

	pthread_mutex_lock(&ports_lock);
	TAILQ_FOREACH(p, &ports, next)
	if (strcmp(p->name, name) == 0) {
		look(p, arg);
		break;
	}
	pthread_mutex_unlock(&ports_lock);
	return p == NULL ? -ENODEV : 0;
}
