/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Memory keys and translation [CP 5.8, 5.9].
 *
 * One region with physical addressing covers everything; what the card can really reach is what the IOMMU (or the
 * model's windows) lets through, so a packet buffer needs no registration of its own and every WQE has the same key.
 */
#include <errno.h>
#include <string.h>

#include <rte_io.h>

#include "core.h"

/* Rings are contiguous, so one entry covers as much as alignment allows; large pages save card-side lookups. */
#define MTT_PAGE_MAX (UINT64_C(64) << 10)
#define MTT_PAGE_MIN ((uint64_t)MLX4_UAR_PAGE_SIZE)
#define KEY_INDEX_SHIFT 8

size_t
mlx4_mtt_align(size_t len)
{
	size_t page = (size_t)1 << mlx4_lg_up(len);

	return RTE_MIN(RTE_MAX(page, MTT_PAGE_MIN), MTT_PAGE_MAX);
}

int
mlx4_mtt_get(struct mlx4_hca *hca, uint32_t n, uint32_t *first)
{
	int rc = mlx4_numbers_get(hca->mtts, n, 1, 0, false, first);

	if (rc != 0)
		HCA_LOG(hca, ERR, "no %u translation entries left: %u of %u in use", n, mlx4_numbers_used(hca->mtts),
			mlx4_icm_num_mtts(hca));
	return rc;
}

int
mlx4_mtt_map(struct mlx4_hca *hca, const struct mlx4_dma *d, size_t len, uint64_t *mtt_off, uint32_t *pages,
	     uint8_t *lg_page)
{
	size_t page = mlx4_mtt_align(len);
	uint32_t first, i, n = (len + page - 1) / page;
	int rc;

	rc = mlx4_mtt_get(hca, n, &first);
	if (rc != 0)
		return rc;
	for (i = 0; i < n; i++)
		*mlx4_icm_mtt(hca, first + i) = rte_cpu_to_be_64((d->iova + i * page) | MLX4_MTT_PRESENT);
	rte_io_wmb();
	*mtt_off = (uint64_t)first * hca->caps.sz_mtt;
	mlx4_trace_mtt(hca->trace, *mtt_off, d->iova | MLX4_MTT_PRESENT, page, n);
	*pages = n;
	*lg_page = mlx4_lg(page) - mlx4_lg(MTT_PAGE_MIN);
	return 0;
}

void
mlx4_mtt_unmap(struct mlx4_hca *hca, uint64_t mtt_off, uint32_t pages)
{
	uint32_t i, first = mtt_off / hca->caps.sz_mtt;

	for (i = 0; i < pages; i++)
		*mlx4_icm_mtt(hca, first + i) = 0;
	mlx4_trace_mtt(hca->trace, mtt_off, 0, 0, pages);
	mlx4_numbers_put(hca->mtts, first, pages);
}

int
mlx4_mr_create_pa(struct mlx4_hca *hca)
{
	uint8_t mpt[MLX4_MPT_SIZE] = {0};
	uint32_t index;
	int rc;

	rc = mlx4_numbers_get(hca->mpts, 1, 1, 0, false, &index);
	if (rc != 0)
		return rc;
	prm_set(mpt, MLX4_MPT_STATUS, MLX4_MPT_SW);
	prm_set(mpt, MLX4_MPT_MIO, 1);
	prm_set(mpt, MLX4_MPT_PA, 1);
	prm_set(mpt, MLX4_MPT_REGION, 1);
	prm_set(mpt, MLX4_MPT_LR, 1);
	prm_set(mpt, MLX4_MPT_LW, 1);
	prm_set(mpt, MLX4_MPT_KEY, index);
	prm_set(mpt, MLX4_MPT_PD, hca->pd);
	prm_set64(mpt, MLX4_MPT_START, 0);
	prm_set64(mpt, MLX4_MPT_LENGTH, UINT64_MAX);
	rc = mlx4_cmd(hca, MLX4_CMD_SW2HW_MPT, 0, index, mpt, sizeof(mpt), NULL, 0);
	if (rc != 0) {
		mlx4_numbers_put(hca->mpts, index, 1);
		return rc;
	}
	hca->pa_key = index << KEY_INDEX_SHIFT;
	return 0;
}

void
mlx4_mr_destroy_pa(struct mlx4_hca *hca)
{
	uint32_t index = hca->pa_key >> KEY_INDEX_SHIFT;

	if (mlx4_cmd(hca, MLX4_CMD_HW2SW_MPT, MLX4_OPM_NO_OUTBOX, index, NULL, 0, NULL, 0) != 0)
		mlx4_hca_stop_dma(hca);
	mlx4_numbers_put(hca->mpts, index, 1);
}
