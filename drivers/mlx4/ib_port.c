/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which InfiniBand ports there are. */
#include <errno.h>

#include <rte_malloc.h>

#include "card.h"
#include "ib_port.h"

static TAILQ_HEAD(, mlx4_ib_port) ports = TAILQ_HEAD_INITIALIZER(ports);
static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;

int
mlx4_ib_port_create(struct mlx4_hca *hca, unsigned int port, bool bf)
{
	struct mlx4_ib_port *p = rte_zmalloc_socket("mlx4_ib", sizeof(*p), 0, hca->numa_node);
	struct tp_roce_ib_port known = {.prov = &mlx4_roce_provider, .home = p, .numa_node = hca->bus->numa_node};
	int err;

	if (p == NULL)
		return -ENOMEM;
	p->hca = hca;
	p->port = port;
	p->bf = bf;
	snprintf(p->name, sizeof(p->name), "%s/%u", hca->bus->where, port);
	memcpy(known.name, p->name, sizeof(known.name));
	err = tp_roce_ib_add(&known);
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

void
mlx4_ib_ports_detach(const struct mlx4_hca *hca)
{
	struct mlx4_ib_port *p;

	pthread_mutex_lock(&ports_lock);
	TAILQ_FOREACH(p, &ports, next)
	if (p->hca == hca)
		mlx4_roce_detach(p->roce);
	pthread_mutex_unlock(&ports_lock);
}

static struct mlx4_ib_port *
take_one(const struct rte_device *dev)
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

void
mlx4_ib_ports_destroy(const struct rte_device *dev)
{
	struct mlx4_ib_port *p;

	while ((p = take_one(dev)) != NULL) {
		/* First nobody opens it any more. */
		tp_roce_ib_del(p->name);
		mlx4_roce_detach(p->roce);
		mlx4_card_put(p->hca);
		rte_free(p);
	}
}
