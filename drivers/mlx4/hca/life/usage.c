/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What there is of a card's objects, how much of it is in use, and whose. */
#include <string.h>

#include "drivers/mlx4/hca/core.h"

void
mlx4_hca_usage(struct mlx4_hca *hca, struct mlx4_limits *used, uint32_t *eqs, uint64_t *commands)
{
	unsigned int i;

	memset(used, 0, sizeof(*used));
	*eqs = 0;
	if (hca->up) {
		used->qps = mlx4_numbers_used(hca->qpns);
		used->cqs = mlx4_numbers_used(hca->cqns);
		used->srqs = mlx4_numbers_used(hca->srqns);
		used->keys = mlx4_numbers_used(hca->mpts);
		used->mtts = mlx4_numbers_used(hca->mtts);
		used->pds = mlx4_numbers_used(hca->pds);
		*eqs = 1 + hca->num_comp_eq;
		for (i = 0; i < MLX4_OWN_VECTORS; i++)
			*eqs += hca->own_eq[i].eq != NULL;
	}
	*commands = mlx4_cmd_count(hca);
}

void
mlx4_hca_limits(const struct mlx4_hca *hca, struct mlx4_limits *limits)
{
	memset(limits, 0, sizeof(*limits));
	/* A card that did not come back from its reset has no tables. */
	if (hca->icm == NULL)
		return;
	limits->qps = mlx4_icm_num_qps(hca);
	limits->cqs = mlx4_icm_num_cqs(hca);
	limits->srqs = mlx4_icm_num_srqs(hca);
	limits->keys = mlx4_icm_num_mpts(hca);
	limits->mtts = mlx4_icm_num_mtts(hca);
	limits->pds = MLX4_PDS_END;
}

static struct mlx4_numbers *
numbers_of(const struct mlx4_hca *hca, enum mlx4_object what)
{
	struct mlx4_numbers *const n[MLX4_OBJS] = {
		[MLX4_OBJ_QP] = hca->qpns,  [MLX4_OBJ_CQ] = hca->cqns, [MLX4_OBJ_SRQ] = hca->srqns,
		[MLX4_OBJ_KEY] = hca->mpts, [MLX4_OBJ_PD] = hca->pds,  [MLX4_OBJ_UAR] = hca->uars,
	};

	return n[what];
}

void
mlx4_belongs(struct mlx4_hca *hca, enum mlx4_object what, uint32_t first, uint32_t n, unsigned int port)
{
	mlx4_numbers_belong(numbers_of(hca, what), first, n, port);
}

/* Completion EQs: one of each port for its verbs, then the same number for the receive queues of each port. */
static uint32_t
eqs_of(const struct mlx4_hca *hca, unsigned int port)
{
	const unsigned int verbs = hca->num_verbs_eq;
	uint32_t n = port <= RTE_MIN(verbs, hca->num_comp_eq);
	unsigned int i;

	for (i = 0; i < MLX4_RX_EQS_PORT; i++)
		n += verbs + (port - 1) * MLX4_RX_EQS_PORT + i < hca->num_comp_eq;
	for (i = 0; i < MLX4_OWN_VECTORS; i++)
		n += hca->own_eq[i].eq != NULL && hca->own_eq[i].port == port;
	return n;
}

void
mlx4_hca_port_usage(struct mlx4_hca *hca, unsigned int port, struct mlx4_port_usage *used)
{
	unsigned int i;

	memset(used, 0, sizeof(*used));
	if (!hca->up)
		return;
	for (i = 0; i < MLX4_OBJS; i++)
		used->object[i] = mlx4_numbers_used_by(numbers_of(hca, i), port);
	used->eqs = eqs_of(hca, port);
	used->rules = __atomic_load_n(&hca->rules[port - 1], __ATOMIC_RELAXED);
}
