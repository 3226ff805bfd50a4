/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Life of completion queues. */
#include <errno.h>

#include "verbs.h"

int
mlx4_roce_create_cq(struct troce_cq *cq, int vector)
{
	struct mlx4_roce_cq *c = (struct mlx4_roce_cq *)cq;
	struct mlx4_roce *r = mlx4_roce_of(cq->v.context);
	uint32_t entries = rte_align32pow2((uint32_t)cq->v.cqe + 1);
	int rc;

	if (r->hca == NULL)
		return EIO;
	if (vector >= 0 && r->vector < 0)
		return EOPNOTSUPP;
	rc = mlx4_uar_alloc(r->hca, &c->uar);
	if (rc != 0)
		return ENOMEM;
	rc = mlx4_cq_create(r->hca, RTE_MAX(entries, 2u), c->uar, vector < 0 ? -1 : r->vector, r->dev->numa_node,
			    &c->hw);
	if (rc != 0) {
		mlx4_uar_free(r->hca, c->uar);
		return rc == -ENOSPC ? ENOMEM : mlx4_roce_errno(rc);
	}
	c->home = r;
	c->live = true;
	c->cqes = c->hw.cqes;
	c->mask = c->hw.entries - 1;
	c->dbrec = c->hw.dbrec;
	c->qp_of = r->qp_of;
	c->cqn = c->hw.cqn;
	atomic_init(&c->arm_sn, 1);
	c->arm_db = (volatile uint64_t *)(volatile void *)(mlx4_uar_addr(r->hca, c->uar) + MLX4_UAR_CQ_ARM);
	cq->v.cqe = (int)c->mask;
	pthread_mutex_lock(&r->tables);
	r->cq_of[c->cqn & (r->num_cqs - 1)] = c;
	LIST_INSERT_HEAD(&r->cqs, c, next);
	pthread_mutex_unlock(&r->tables);
	return 0;
}

int
mlx4_roce_modify_cq(struct troce_cq *cq, uint16_t count, uint16_t period_us)
{
	struct mlx4_roce_cq *c = (struct mlx4_roce_cq *)cq;

	if (!c->live)
		return EIO;
	return mlx4_roce_errno(mlx4_cq_moderate(c->home->hca, &c->hw, count, period_us));
}

/* What the card has of it. */
static void
release(struct mlx4_roce_cq *c)
{
	struct mlx4_roce *r = c->home;

	pthread_mutex_lock(&r->tables);
	r->cq_of[c->cqn & (r->num_cqs - 1)] = NULL;
	pthread_mutex_unlock(&r->tables);
	mlx4_cq_retire(r->hca, &c->hw);
	mlx4_uar_free(r->hca, c->uar);
	c->live = false;
}

void
mlx4_roce_cq_detach(struct mlx4_roce_cq *c)
{
	release(c);
}

int
mlx4_roce_destroy_cq(struct troce_cq *cq)
{
	struct mlx4_roce_cq *c = (struct mlx4_roce_cq *)cq;

	if (c->live)
		release(c);
	pthread_mutex_lock(&c->home->tables);
	LIST_REMOVE(c, next);
	pthread_mutex_unlock(&c->home->tables);
	mlx4_dma_free(&c->hw.buf);
	return 0;
}

/* Entries slide up over those that go; each place keeps the owner bit of its pass [DP 6.5]. */
void
mlx4_roce_cq_clean(struct mlx4_roce_cq *c, uint32_t qpn, struct mlx4_roce_srq *srq)
{
	uint32_t end = c->ci, gone = 0, i;

	for (; end - c->ci <= c->mask; end++) {
		uint8_t phase = (end & (c->mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;

		if ((c->cqes[end & c->mask].owner_sr_opcode & MLX4_CQE_OWNER) != phase)
			break;
	}
	for (i = end; i-- != c->ci;) {
		struct mlx4_cqe *from = &c->cqes[i & c->mask], *to = &c->cqes[(i + gone) & c->mask];

		if ((rte_be_to_cpu_32(from->vlan_my_qpn) & MLX4_CQE_QPN_MASK) == qpn) {
			if (srq != NULL && (from->owner_sr_opcode & MLX4_CQE_IS_SEND) == 0)
				mlx4_roce_srq_free(srq, rte_be_to_cpu_16(from->wqe_index) & srq->mask);
			gone++;
		} else if (gone != 0) {
			uint8_t owner = to->owner_sr_opcode & MLX4_CQE_OWNER;

			*to = *from;
			to->owner_sr_opcode = (uint8_t)((from->owner_sr_opcode & ~MLX4_CQE_OWNER) | owner);
		}
	}
	c->ci += gone;
	c->phase = (c->ci & (c->mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;
	if (gone != 0)
		*c->dbrec = rte_cpu_to_be_32(c->ci & MLX4_CQ_CI_MASK);
}
