/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which ports of cards are open. */
#include "verbs.h"

static LIST_HEAD(, mlx4_roce) open_ports = LIST_HEAD_INITIALIZER(open_ports);
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

void
mlx4_roce_open_add(struct mlx4_roce *r)
{
	pthread_mutex_lock(&open_lock);
	LIST_INSERT_HEAD(&open_ports, r, next);
	pthread_mutex_unlock(&open_lock);
}

void
mlx4_roce_open_del(struct mlx4_roce *r)
{
	pthread_mutex_lock(&open_lock);
	LIST_REMOVE(r, next);
	pthread_mutex_unlock(&open_lock);
}

struct mlx4_roce *
mlx4_roce_open_find(const struct mlx4_hca *hca, unsigned int port)
{
	struct mlx4_roce *r;

	pthread_mutex_lock(&open_lock);
	LIST_FOREACH(r, &open_ports, next)
	if (r->hca == hca && (port == 0 || r->port == port))
		break;
	pthread_mutex_unlock(&open_lock);
	return r;
}
