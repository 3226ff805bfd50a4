/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Shared receive queues [CP 5.3, DP 5.2]: a ring of WQEs that name their successors, the doorbell record behind it. */
#include <errno.h>
#include <string.h>

#include "core.h"

#define STRIDE_MIN 32u
#define LG_STRIDE_BIAS 4u

/* Each WQE names the next one, the last one the first; lists are ended at once [DP 5.2]. */
static void
chain(struct mlx4_srq *srq)
{
	uint32_t i, at;

	for (i = 0; i < srq->entries; i++) {
		uint8_t *w = srq->wqes + (size_t)i * srq->stride;

		prm_set(w, MLX4_SRQ_WQE_NEXT, (i + 1) & (srq->entries - 1));
		for (at = MLX4_SRQ_WQE_LIST; at < srq->stride; at += MLX4_DS_SIZE)
			prm_set32(w, at + 4, MLX4_LKEY_INVALID);
	}
}

static int
check(struct mlx4_hca *hca, uint32_t entries, uint32_t stride)
{
	uint32_t max = hca->caps.max_rq_desc + MLX4_SRQ_WQE_LIST;

	if (entries < 2 || (entries & (entries - 1)) != 0 || entries > hca->caps.max_srq_wqes || stride < STRIDE_MIN ||
	    (stride & (stride - 1)) != 0 || stride > 1u << mlx4_lg_up(max)) {
		HCA_LOG(hca, ERR, "an SRQ of %u entries of %u bytes: wanted powers of two, 2..%u and %u..%u", entries,
			stride, hca->caps.max_srq_wqes, STRIDE_MIN, 1u << mlx4_lg_up(max));
		return -EINVAL;
	}
	return 0;
}

static int
alloc(struct mlx4_hca *hca, const struct mlx4_dma_pool *pool, int numa_node, struct mlx4_srq *srq, uint8_t *lg_page)
{
	size_t len = (size_t)srq->entries * srq->stride, db_off = RTE_ALIGN_CEIL(len, RTE_CACHE_LINE_SIZE);
	int rc;

	rc = mlx4_dma_alloc_of(hca, pool, "a shared receive queue", db_off + RTE_CACHE_LINE_SIZE, mlx4_mtt_align(len),
			       numa_node, &srq->buf);
	if (rc != 0)
		return rc;
	srq->wqes = srq->buf.va;
	srq->dbrec = (volatile rte_be32_t *)(srq->wqes + db_off);
	rc = mlx4_mtt_map(hca, &srq->buf, len, &srq->mtt_off, &srq->mtt_pages, lg_page);
	if (rc != 0)
		mlx4_dma_free(&srq->buf);
	return rc;
}

static int
to_hw(struct mlx4_hca *hca, struct mlx4_srq *srq, uint32_t pd, uint8_t lg_page)
{
	uint8_t ctx[MLX4_SRQC_SIZE] = {0};

	prm_set(ctx, MLX4_SRQC_LG_SIZE, mlx4_lg(srq->entries));
	prm_set(ctx, MLX4_SRQC_SRQN, srq->srqn);
	prm_set(ctx, MLX4_SRQC_LG_STRIDE, mlx4_lg(srq->stride) - LG_STRIDE_BIAS);
	prm_set(ctx, MLX4_SRQC_LG_PAGE, lg_page);
	prm_set(ctx, MLX4_SRQC_MTT_H, srq->mtt_off >> 32);
	prm_set(ctx, MLX4_SRQC_MTT_L, (uint32_t)srq->mtt_off);
	prm_set(ctx, MLX4_SRQC_PD, pd);
	prm_set64(ctx, MLX4_SRQC_DBREC,
		  srq->buf.iova + (uint64_t)((volatile uint8_t *)srq->dbrec - (uint8_t *)srq->buf.va));
	return mlx4_cmd(hca, MLX4_CMD_SW2HW_SRQ, 0, srq->srqn, ctx, sizeof(ctx), NULL, 0);
}

int
mlx4_srq_create(struct mlx4_hca *hca, const struct mlx4_dma_pool *pool, uint32_t pd, uint32_t entries, uint32_t stride,
		int numa_node, struct mlx4_srq *srq)
{
	uint8_t lg_page;
	int rc;

	memset(srq, 0, sizeof(*srq));
	rc = check(hca, entries, stride);
	if (rc != 0)
		return rc;
	srq->entries = entries;
	srq->stride = stride;
	rc = mlx4_numbers_cycle(hca->srqns, UINT32_MAX, 0, &srq->srqn);
	if (rc != 0) {
		HCA_LOG(hca, ERR, "all %u shared receive queues are in use", mlx4_numbers_used(hca->srqns));
		return rc;
	}
	rc = alloc(hca, pool, numa_node, srq, &lg_page);
	if (rc != 0)
		goto err_alloc;
	chain(srq);
	rc = to_hw(hca, srq, pd, lg_page);
	if (rc != 0)
		goto err_hw;
	return 0;

err_hw:
	if (hca->dead)
		mlx4_hca_stop_dma(hca);
	mlx4_mtt_unmap(hca, srq->mtt_off, srq->mtt_pages);
	mlx4_dma_free(&srq->buf);
err_alloc:
	mlx4_numbers_put(hca->srqns, srq->srqn, 1);
	return rc;
}

int
mlx4_srq_arm(struct mlx4_hca *hca, struct mlx4_srq *srq, uint32_t limit)
{
	return mlx4_cmd_imm(hca, MLX4_CMD_ARM_SRQ, 0, srq->srqn, limit, NULL);
}

int
mlx4_srq_query(struct mlx4_hca *hca, struct mlx4_srq *srq, uint32_t *limit)
{
	uint8_t ctx[MLX4_SRQC_SIZE];
	int rc;

	rc = mlx4_cmd(hca, MLX4_CMD_QUERY_SRQ, 0, srq->srqn, NULL, 0, ctx, sizeof(ctx));
	if (rc == 0)
		*limit = prm_get(ctx, MLX4_SRQC_LIMIT);
	return rc;
}

int
mlx4_srq_retire(struct mlx4_hca *hca, struct mlx4_srq *srq)
{
	int rc = mlx4_cmd(hca, MLX4_CMD_HW2SW_SRQ, MLX4_OPM_NO_OUTBOX, srq->srqn, NULL, 0, NULL, 0);

	if (rc != 0)
		mlx4_hca_stop_dma(hca);
	mlx4_mtt_unmap(hca, srq->mtt_off, srq->mtt_pages);
	mlx4_numbers_put(hca->srqns, srq->srqn, 1);
	return rc;
}
