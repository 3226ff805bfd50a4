/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* UAR pages: one per queue, so that a doorbell word has one writer and no write-combining page is shared [CP 8]. */
#include <errno.h>

#include "core.h"

int
mlx4_uars_init(struct mlx4_hca *hca)
{
	uint32_t first = RTE_MAX(MLX4_UAR_EQ_PAGES, hca->caps.rsvd_uars);
	size_t need = 2 * (size_t)hca->caps.num_uars * MLX4_UAR_PAGE_SIZE;

	if (need > hca->bus->uar_len) {
		HCA_LOG(hca, ERR, "BAR2 has %zu bytes, %u UAR pages and as many BlueFlame pages need %zu",
			hca->bus->uar_len, hca->caps.num_uars, need);
		return -ENODEV;
	}
	return mlx4_numbers_create("UAR pages", first, hca->caps.num_uars, hca->numa_node, &hca->uars);
}

void
mlx4_uars_fini(struct mlx4_hca *hca)
{
	mlx4_numbers_destroy(hca->uars);
	hca->uars = NULL;
}

int
mlx4_uar_alloc(struct mlx4_hca *hca, uint32_t *page)
{
	int rc = mlx4_numbers_get(hca->uars, 1, 1, 0, false, page);

	if (rc != 0)
		HCA_LOG(hca, ERR, "all %u UAR pages are in use", mlx4_numbers_used(hca->uars));
	return rc;
}

void
mlx4_uar_free(struct mlx4_hca *hca, uint32_t page)
{
	mlx4_numbers_put(hca->uars, page, 1);
}
