/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Completion queues [CP 5.2, DP 6.1]: 32-byte entries, the doorbell record behind the first ring in the same memory. */
#include <errno.h>
#include <string.h>

#include "core.h"

static int
entries_check(const struct mlx4_hca *hca, uint32_t entries)
{
	if (entries >= 2 && (entries & (entries - 1)) == 0 && entries <= hca->caps.max_cqes)
		return 0;
	HCA_LOG(hca, ERR, "a CQ of %u entries: wanted a power of two, 2..%u", entries, hca->caps.max_cqes);
	return -EINVAL;
}

/* The ring, and more bytes behind it. */
static int
cq_alloc(struct mlx4_hca *hca, const struct mlx4_dma_pool *pool, uint32_t entries, size_t more, int numa_node,
	 struct mlx4_cq *cq, uint8_t *lg_page)
{
	size_t len = (size_t)entries * sizeof(struct mlx4_cqe);
	uint32_t i;
	int rc;

	rc = mlx4_dma_alloc_of(hca, pool, "a completion queue", len + more, mlx4_mtt_align(len), numa_node, &cq->buf);
	if (rc != 0)
		return rc;
	cq->entries = entries;
	cq->cqes = cq->buf.va;
	/* Owned by the card in pass 0; it writes the same at SW2HW_CQ. */
	for (i = 0; i < entries; i++)
		cq->cqes[i].owner_sr_opcode = MLX4_CQE_OWNER;
	rc = mlx4_mtt_map(hca, &cq->buf, len, &cq->mtt_off, &cq->mtt_pages, lg_page);
	if (rc != 0)
		mlx4_dma_free(&cq->buf);
	return rc;
}

static void
cq_release(struct mlx4_hca *hca, struct mlx4_cq *cq)
{
	mlx4_mtt_unmap(hca, cq->mtt_off, cq->mtt_pages);
	mlx4_numbers_put(hca->cqns, cq->cqn, 1);
}

void
mlx4_cq_free(struct mlx4_cq *cq)
{
	mlx4_dma_free(&cq->buf);
	mlx4_dma_free(&cq->first);
	memset(cq, 0, sizeof(*cq));
}

/* Where its ring is. */
static void
fill_ring(uint8_t *ctx, const struct mlx4_cq *cq, uint8_t lg_page)
{
	prm_set(ctx, MLX4_CQC_LG_SIZE, mlx4_lg(cq->entries));
	prm_set(ctx, MLX4_CQC_LG_PAGE, lg_page);
	prm_set(ctx, MLX4_CQC_MTT_H, cq->mtt_off >> 32);
	prm_set(ctx, MLX4_CQC_MTT_L, (uint32_t)cq->mtt_off);
}

static int
cq_create(struct mlx4_hca *hca, const struct mlx4_dma_pool *pool, uint32_t entries, uint32_t uar, int vector,
	  int numa_node, bool stamped, struct mlx4_cq *cq)
{
	uint8_t ctx[MLX4_CQC_SIZE] = {0}, lg_page;
	struct mlx4_eq *eq;
	int rc;

	memset(cq, 0, sizeof(*cq));
	rc = entries_check(hca, entries);
	if (rc != 0)
		return rc;
	/* A CQ that nobody arms needs an EQ in its context nevertheless. */
	eq = mlx4_eq_of(hca, vector);
	if (eq == NULL) {
		HCA_LOG(hca, ERR, "a CQ on interrupt vector %d: the card has 0..%d", vector, (int)hca->num_comp_eq - 1);
		return -EINVAL;
	}
	rc = mlx4_numbers_cycle(hca->cqns, UINT32_MAX, 0, &cq->cqn);
	if (rc != 0) {
		HCA_LOG(hca, ERR, "all %u CQs are in use", mlx4_numbers_used(hca->cqns));
		return rc;
	}
	cq->uar = uar;
	cq->vector = vector;
	rc = cq_alloc(hca, pool, entries, RTE_CACHE_LINE_SIZE, numa_node, cq, &lg_page);
	if (rc != 0) {
		mlx4_numbers_put(hca->cqns, cq->cqn, 1);
		return rc;
	}
	cq->dbrec = (volatile rte_be32_t *)(volatile void *)(cq->cqes + entries);
	prm_set(ctx, MLX4_CQC_TIMESTAMP, stamped);
	prm_set(ctx, MLX4_CQC_UAR, uar);
	prm_set(ctx, MLX4_CQC_EQN, eq->eqn);
	fill_ring(ctx, cq, lg_page);
	prm_set64(ctx, MLX4_CQC_DBREC, cq->buf.iova + (uint64_t)entries * sizeof(struct mlx4_cqe));
	rc = mlx4_cmd(hca, MLX4_CMD_SW2HW_CQ, 0, cq->cqn, ctx, sizeof(ctx), NULL, 0);
	if (rc != 0) {
		if (hca->dead)
			mlx4_hca_stop_dma(hca);
		cq_release(hca, cq);
		mlx4_cq_free(cq);
	}
	return rc;
}

int
mlx4_cq_create(struct mlx4_hca *hca, uint32_t entries, uint32_t uar, int vector, int numa_node, struct mlx4_cq *cq)
{
	return cq_create(hca, NULL, entries, uar, vector, numa_node, false, cq);
}

int
mlx4_cq_create_of(struct mlx4_hca *hca, const struct mlx4_dma_pool *pool, uint32_t entries, uint32_t uar, int vector,
		  int numa_node, struct mlx4_cq *cq)
{
	return cq_create(hca, pool, entries, uar, vector, numa_node, false, cq);
}

int
mlx4_cq_create_stamped(struct mlx4_hca *hca, uint32_t entries, uint32_t uar, int vector, int numa_node,
		       struct mlx4_cq *cq)
{
	return cq_create(hca, NULL, entries, uar, vector, numa_node, true, cq);
}

int
mlx4_cq_retire(struct mlx4_hca *hca, struct mlx4_cq *cq)
{
	int rc;

	rc = mlx4_cmd(hca, MLX4_CMD_HW2SW_CQ, MLX4_OPM_NO_OUTBOX, cq->cqn, NULL, 0, NULL, 0);
	if (rc != 0)
		mlx4_hca_stop_dma(hca);
	cq_release(hca, cq);
	return rc;
}

int
mlx4_cq_destroy(struct mlx4_hca *hca, struct mlx4_cq *cq)
{
	int rc = mlx4_cq_retire(hca, cq);

	mlx4_cq_free(cq);
	return rc;
}

int
mlx4_cq_moderate(struct mlx4_hca *hca, struct mlx4_cq *cq, uint16_t count, uint16_t period_us)
{
	uint8_t ctx[MLX4_CQC_SIZE] = {0};

	prm_set(ctx, MLX4_CQC_MOD_COUNT, count);
	prm_set(ctx, MLX4_CQC_MOD_PERIOD, period_us);
	return mlx4_cmd(hca, MLX4_CMD_MODIFY_CQ, MLX4_MODIFY_CQ_MODERATION, cq->cqn, ctx, sizeof(ctx), NULL, 0);
}

static void
fill_ring_2007(uint8_t *box, const struct mlx4_cq *cq, uint8_t lg_page)
{
	prm_set(box, MLX4_RESIZE_2007_LG_SIZE, mlx4_lg(cq->entries));
	prm_set(box, MLX4_RESIZE_2007_LG_PAGE, lg_page);
	prm_set(box, MLX4_RESIZE_2007_MTT_H, cq->mtt_off >> 32);
	prm_set(box, MLX4_RESIZE_2007_MTT_L, (uint32_t)cq->mtt_off);
}

/*
 * The entries of a new ring for a card that leaves them alone. Numbers go on from the consumer index, so each entry has the
 * owner bit that says "not yet" in the pass in which it comes first.
 */
static void
ring_begins(struct mlx4_cq *cq)
{
	uint32_t ci = rte_be_to_cpu_32(cq->dbrec[MLX4_CQ_DBREC_CI / sizeof(rte_be32_t)]), i;

	for (i = ci; i - ci < cq->entries; i++)
		cq->cqes[i & (cq->entries - 1)].owner_sr_opcode = (i & cq->entries) != 0 ? 0 : MLX4_CQE_OWNER;
}

int
mlx4_cq_resize(struct mlx4_hca *hca, const struct mlx4_dma_pool *pool, uint32_t entries, int numa_node,
	       struct mlx4_cq *cq, struct mlx4_dma *old)
{
	uint8_t ctx[MLX4_CQC_SIZE] = {0}, lg_page;
	struct mlx4_cq to = *cq;
	int rc = entries_check(hca, entries);

	if (rc == 0)
		rc = cq_alloc(hca, pool, entries, 0, numa_node, &to, &lg_page);
	if (rc != 0)
		return rc;
	if (mlx4_quirk(hca, MLX4_QUIRK_RESIZE_OWNER) != 0)
		ring_begins(&to);
	if (mlx4_quirk(hca, MLX4_QUIRK_RESIZE_MBOX) == 0)
		fill_ring(ctx, &to, lg_page);
	else
		fill_ring_2007(ctx, &to, lg_page);
	rc = mlx4_cmd(hca, MLX4_CMD_MODIFY_CQ, MLX4_MODIFY_CQ_RESIZE, cq->cqn, ctx, sizeof(ctx), NULL, 0);
	if (rc != 0) {
		if (hca->dead)
			mlx4_hca_stop_dma(hca);
		mlx4_mtt_unmap(hca, to.mtt_off, to.mtt_pages);
		mlx4_dma_free(&to.buf);
		/* The status of a size that is too small for what waits. */
		return rc == -ENOSPC ? -EINVAL : rc;
	}
	mlx4_mtt_unmap(hca, cq->mtt_off, cq->mtt_pages);
	*old = cq->buf;
	*cq = to;
	return 0;
}

void
mlx4_cq_drop(struct mlx4_cq *cq, struct mlx4_dma *old)
{
	/* The record stays where it is. */
	if (cq->first.va == NULL)
		cq->first = *old;
	else
		mlx4_dma_free(old);
}
