/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Interrupt vectors of other processes, one each, behind those of this one. A process that is woken by its own vector needs
 * nobody of this one to run first. Its EQ interrupts at each entry, and nobody reads the entries: which queue is meant, the
 * process sees by its queues.
 */
#include <errno.h>

#include "core.h"

#define OWN_ENTRIES 64u /* the card goes round */

void
mlx4_own_eqs_init(struct mlx4_hca *hca, uint32_t first_eqn, unsigned int n)
{
	hca->own_eqn = first_eqn;
	hca->num_own_eq = hca->bus->ops->irq_lend == NULL ? 0 : RTE_MIN(n, MLX4_OWN_VECTORS);
}

static void
drop(struct mlx4_hca *hca, unsigned int i)
{
	uint16_t vector = hca->own_eq[i].eq->vector;

	mlx4_eq_destroy(hca->own_eq[i].eq);
	(void)hca->bus->ops->irq_lend(hca->bus, vector, -1);
	hca->own_eq[i].eq = NULL;
	hca->own_eq[i].owner = NULL;
}

void
mlx4_own_eqs_destroy(struct mlx4_hca *hca)
{
	unsigned int i;

	pthread_mutex_lock(&hca->shared);
	for (i = 0; i < hca->num_own_eq; i++)
		if (hca->own_eq[i].eq != NULL)
			drop(hca, i);
	hca->num_own_eq = 0;
	pthread_mutex_unlock(&hca->shared);
}

static int
make(struct mlx4_hca *hca, unsigned int i, int fd)
{
	const uint16_t vector = (uint16_t)(1 + hca->num_comp_eq + i);
	int rc = hca->bus->ops->irq_lend(hca->bus, vector, fd);

	if (rc != 0)
		return rc;
	rc = mlx4_eq_create_always(hca, hca->own_eqn + i, OWN_ENTRIES, vector, &hca->own_eq[i].eq);
	if (rc != 0)
		(void)hca->bus->ops->irq_lend(hca->bus, vector, -1);
	return rc;
}

int
mlx4_own_vector_get(struct mlx4_hca *hca, unsigned int port, const void *owner, int fd, int *vector)
{
	unsigned int i;
	int rc = -ENOSPC;

	pthread_mutex_lock(&hca->shared);
	for (i = 0; i < hca->num_own_eq && hca->own_eq[i].eq != NULL; i++)
		;
	if (i < hca->num_own_eq)
		rc = make(hca, i, fd);
	if (rc == 0) {
		hca->own_eq[i].owner = owner;
		hca->own_eq[i].port = port;
		*vector = (int)(hca->num_comp_eq + i);
	}
	pthread_mutex_unlock(&hca->shared);
	return rc;
}

void
mlx4_own_vector_put(struct mlx4_hca *hca, const void *owner, int vector)
{
	const unsigned int i = (unsigned int)vector - hca->num_comp_eq;

	pthread_mutex_lock(&hca->shared);
	/* A card that was away took it along, and its place may be another one's. */
	if (vector >= 0 && i < hca->num_own_eq && hca->own_eq[i].eq != NULL && hca->own_eq[i].owner == owner)
		drop(hca, i);
	pthread_mutex_unlock(&hca->shared);
}

struct mlx4_eq *
mlx4_eq_of(const struct mlx4_hca *hca, int vector)
{
	const unsigned int v = (unsigned int)vector;

	if (vector < 0)
		return hca->async_eq;
	if (v < hca->num_comp_eq)
		return hca->comp_eq[v];
	return v - hca->num_comp_eq < hca->num_own_eq ? hca->own_eq[v - hca->num_comp_eq].eq : NULL;
}
