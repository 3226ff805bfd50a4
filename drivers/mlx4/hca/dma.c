/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Memory that the card may touch: memzones, contiguous in IO addresses, zeroed. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>

#include "core.h"

int
mlx4_dma_alloc(struct mlx4_hca *hca, const char *what, size_t len, size_t align, int numa_node, struct mlx4_dma *d)
{
	/* Names of memzones are global in a process, so is what makes them different. */
	static atomic_uint serial;
	char name[RTE_MEMZONE_NAMESIZE];

	snprintf(name, sizeof(name), "mlx4_%u", atomic_fetch_add(&serial, 1));
	len = RTE_ALIGN_CEIL(len, RTE_CACHE_LINE_SIZE);
	d->mz = rte_memzone_reserve_aligned(name, len, numa_node, RTE_MEMZONE_IOVA_CONTIG, align);
	if (d->mz == NULL) {
		int err = rte_errno;

		HCA_LOG(hca, ERR, "cannot get %zu bytes of DMA memory for %s on NUMA node %d: %s", len, what, numa_node,
			rte_strerror(err));
		memset(d, 0, sizeof(*d));
		return err == 0 ? -ENOMEM : -err;
	}
	d->va = d->mz->addr;
	d->iova = d->mz->iova;
	d->len = len;
	d->pool = (struct mlx4_dma_pool){0};
	memset(d->va, 0, len);
	return 0;
}

int
mlx4_dma_alloc_of(struct mlx4_hca *hca, const struct mlx4_dma_pool *pool, const char *what, size_t len, size_t align,
		  int numa_node, struct mlx4_dma *d)
{
	if (pool == NULL)
		return mlx4_dma_alloc(hca, what, len, align, numa_node, d);
	memset(d, 0, sizeof(*d));
	d->va = pool->get(pool->arg, len, align);
	if (d->va == NULL) {
		HCA_LOG(hca, ERR, "cannot get %zu bytes of a guest's memory for %s", len, what);
		return -ENOMEM;
	}
	d->pool = *pool;
	d->iova = (uintptr_t)d->va;
	d->len = len;
	return 0;
}

void
mlx4_dma_free(struct mlx4_dma *d)
{
	if (d->mz != NULL)
		rte_memzone_free(d->mz);
	if (d->pool.get != NULL)
		d->pool.put(d->pool.arg, d->va, d->len);
	memset(d, 0, sizeof(*d));
}
