/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Life of shared receive queues. */
#include <errno.h>
#include <stdlib.h>

#include <rte_malloc.h>

#include "verbs.h"

#define STRIDE_MIN 32u

int
mlx4_roce_create_srq(struct troce_srq *srq, struct ibv_srq_attr *attr)
{
	struct mlx4_roce_srq *s = (struct mlx4_roce_srq *)srq;
	struct mlx4_roce *r = mlx4_roce_of(srq->v.context);
	uint32_t stride = rte_align32pow2(MLX4_SRQ_WQE_LIST + attr->max_sge * MLX4_DS_SIZE), entries;
	struct mlx4_dma_pool pool;
	int rc;

	if (r->hca == NULL)
		return EIO;
	/* One entry is never used: the list must not be empty [DP 5.2]. */
	entries = rte_align32pow2(attr->max_wr + 1);
	s->wrid = rte_calloc_socket("mlx4_srq", entries, sizeof(*s->wrid), 0, r->dev->numa_node);
	if (s->wrid == NULL)
		return ENOMEM;
	rc = mlx4_srq_create(r->hca, mlx4_roce_pool(srq->guest, &pool), mlx4_roce_pdn(srq->v.pd), entries,
			     RTE_MAX(stride, STRIDE_MIN), r->dev->numa_node, &s->hw);
	if (rc != 0) {
		rte_free(s->wrid);
		return rc == -ENOSPC ? ENOMEM : mlx4_roce_errno(rc);
	}
	mlx4_belongs(r->hca, MLX4_OBJ_SRQ, s->hw.srqn, 1, r->port);
	s->home = r;
	s->live = true;
	s->wqes = s->hw.wqes;
	s->dbrec = s->hw.dbrec;
	s->mask = entries - 1;
	s->tail = entries - 1;
	s->lg_stride = (uint8_t)rte_log2_u32(s->hw.stride);
	s->sges = (uint16_t)RTE_MIN((s->hw.stride - MLX4_SRQ_WQE_LIST) / MLX4_DS_SIZE, r->hca->caps.max_rq_sge);
	attr->max_wr = entries - 1;
	attr->max_sge = s->sges;
	pthread_mutex_lock(&r->tables);
	r->srq_of[s->hw.srqn & (r->num_srqs - 1)] = s;
	LIST_INSERT_HEAD(&r->srqs, s, next);
	pthread_mutex_unlock(&r->tables);
	return 0;
}

int
mlx4_roce_modify_srq(struct troce_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	struct mlx4_roce_srq *s = (struct mlx4_roce_srq *)srq;

	if (!s->live)
		return EIO;
	return mlx4_roce_errno(mlx4_srq_arm(s->home->hca, &s->hw, attr->srq_limit));
}

int
mlx4_roce_query_srq(struct troce_srq *srq, struct ibv_srq_attr *attr)
{
	struct mlx4_roce_srq *s = (struct mlx4_roce_srq *)srq;

	if (!s->live)
		return EIO;
	attr->max_wr = s->mask;
	attr->max_sge = s->sges;
	return mlx4_roce_errno(mlx4_srq_query(s->home->hca, &s->hw, &attr->srq_limit));
}

void
mlx4_roce_srq_detach(struct mlx4_roce_srq *s)
{
	struct mlx4_roce *r = s->home;

	pthread_mutex_lock(&r->tables);
	r->srq_of[s->hw.srqn & (r->num_srqs - 1)] = NULL;
	pthread_mutex_unlock(&r->tables);
	mlx4_srq_retire(r->hca, &s->hw);
	s->live = false;
}

int
mlx4_roce_recall_srq(struct troce_srq *srq, void (*fn)(void *arg, uint64_t wr_id), void *arg)
{
	struct mlx4_roce_srq *s = (struct mlx4_roce_srq *)srq;
	bool *is_free = calloc(s->mask + 1, sizeof(*is_free));
	uint32_t i;

	if (is_free == NULL)
		return ENOMEM;
	/* What is not in the list of free entries was posted. */
	for (i = s->head; i != s->tail; i = prm_get(s->wqes + ((size_t)i << s->lg_stride), MLX4_SRQ_WQE_NEXT) & s->mask)
		is_free[i] = true;
	is_free[s->tail] = true;
	for (i = 0; i <= s->mask; i++) {
		if (!is_free[i])
			fn(arg, s->wrid[i]);
	}
	s->refuse = true;
	free(is_free);
	return 0;
}

int
mlx4_roce_destroy_srq(struct troce_srq *srq)
{
	struct mlx4_roce_srq *s = (struct mlx4_roce_srq *)srq;

	if (s->live)
		mlx4_roce_srq_detach(s);
	pthread_mutex_lock(&s->home->tables);
	LIST_REMOVE(s, next);
	pthread_mutex_unlock(&s->home->tables);
	mlx4_dma_free(&s->hw.buf);
	rte_free(s->wrid);
	return 0;
}
