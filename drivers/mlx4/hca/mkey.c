/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Memory keys of clients [CP 5.8, 5.9]: regions with translation entries of the largest pages that fit, and windows. A key
 * is the place in the table and a byte that changes with each key that is made, so that one that was given back fails.
 */
#include <errno.h>
#include <inttypes.h>

#include <rte_eal.h>
#include <rte_io.h>
#include <rte_memory.h>

#include "core.h"

#define LG_PAGE_MIN 12u
#define LG_PAGE_MAX 30u
#define KEY_INDEX_SHIFT 8
#define EN_INV 3u

int
mlx4_pd_alloc(struct mlx4_hca *hca, uint32_t *pd)
{
	int rc = mlx4_numbers_get(hca->pds, 1, 1, 0, false, pd);

	if (rc != 0)
		HCA_LOG(hca, ERR, "all %u protection domains are in use", mlx4_numbers_used(hca->pds));
	return rc;
}

void
mlx4_pd_free(struct mlx4_hca *hca, uint32_t pd)
{
	mlx4_numbers_put(hca->pds, pd, 1);
}

/* --- pages ------------------------------------------------------------------------------------------------- */

/* IO address of a byte, and how many from it on lie in the same piece; 0: the EAL does not know it. */
static size_t
piece_at(uintptr_t p, uint64_t *iova)
{
	const struct rte_memseg_list *msl = rte_mem_virt2memseg_list((void *)p);
	const struct rte_memseg *ms = msl == NULL ? NULL : rte_mem_virt2memseg((void *)p, msl);
	uint64_t off;

	if (ms == NULL || ms->addr == NULL || p < (uintptr_t)ms->addr || p - (uintptr_t)ms->addr >= ms->len)
		return 0;
	off = p - (uintptr_t)ms->addr;
	if (ms->iova != RTE_BAD_IOVA)
		*iova = ms->iova + off;
	else if (rte_eal_iova_mode() == RTE_IOVA_VA)
		*iova = p;
	else
		return 0;
	return ms->len - off;
}

/* IO address of a page all of which is there and in one piece; RTE_BAD_IOVA: it is not. */
static uint64_t
page_at(uintptr_t at, uint64_t size)
{
	uint64_t first = RTE_BAD_IOVA, iova, done = 0;

	while (done < size) {
		size_t n = piece_at(at + done, &iova);

		if (n == 0 || (done != 0 && iova != first + done))
			return RTE_BAD_IOVA;
		if (done == 0)
			first = iova;
		done += n;
	}
	return (first & (size - 1)) == 0 ? first : RTE_BAD_IOVA;
}

struct pages {
	uintptr_t base; /* of the first page */
	uint32_t lg, n;
	uintptr_t start,
		end; /* whole pages that were opened, not by the EAL: their IO address is their address; end 0: the EAL's */
};

static uint64_t
page_iova(const struct pages *p, uint32_t i)
{
	uintptr_t at = p->base + ((uint64_t)i << p->lg);
	uint64_t size = UINT64_C(1) << p->lg;

	if (p->end == 0)
		return page_at(at, size);
	return at >= p->start && at + size <= p->end && (at & (size - 1)) == 0 ? at : RTE_BAD_IOVA;
}

static bool
pages_fit(const struct pages *p)
{
	uint32_t i;

	for (i = 0; i < p->n; i++)
		if (page_iova(p, i) == RTE_BAD_IOVA)
			return false;
	return true;
}

/* The largest pages in which [addr, addr + len) can be addressed from va on. */
static int
pages_find(struct mlx4_hca *hca, const void *addr, size_t len, uint64_t va, struct pages *p)
{
	uint32_t lg = RTE_MIN(RTE_MAX(mlx4_lg_up(len), LG_PAGE_MIN), LG_PAGE_MAX);
	uint64_t off;

	if (((uintptr_t)addr ^ va) & ((1u << LG_PAGE_MIN) - 1)) {
		HCA_LOG(hca, ERR, "memory at %p as address 0x%" PRIx64 ": both must have the same place in a page",
			addr, va);
		return -EINVAL;
	}
	for (; lg >= LG_PAGE_MIN; lg--) {
		off = va & ((UINT64_C(1) << lg) - 1);
		if (off > (uintptr_t)addr)
			continue;
		p->base = (uintptr_t)addr - off;
		p->lg = lg;
		p->n = (uint32_t)((off + len + (UINT64_C(1) << lg) - 1) >> lg);
		if (pages_fit(p))
			return 0;
	}
	HCA_LOG(hca, ERR, "%zu bytes at %p are no memory of the EAL, nor registered with it", len, addr);
	return -EFAULT;
}

/* --- keys -------------------------------------------------------------------------------------------------- */

static int
key_get(struct mlx4_hca *hca, struct mlx4_mkey *key)
{
	int rc = mlx4_numbers_get(hca->mpts, 1, 1, 0, false, &key->index);

	if (rc != 0) {
		HCA_LOG(hca, ERR, "all %u memory keys are in use", mlx4_numbers_used(hca->mpts));
		return rc;
	}
	key->key = key->index << KEY_INDEX_SHIFT | __atomic_add_fetch(&hca->key_byte, 1, __ATOMIC_RELAXED);
	return 0;
}

static int
key_to_hw(struct mlx4_hca *hca, struct mlx4_mkey *key, uint8_t *mpt, uint32_t pd)
{
	int rc;

	/* The entry holds the key with its byte on top [DP 11.2]. */
	prm_set(mpt, MLX4_MPT_KEY, key->key << 24 | key->key >> 8);
	prm_set(mpt, MLX4_MPT_PD, pd);
	rc = mlx4_cmd(hca, MLX4_CMD_SW2HW_MPT, 0, key->index, mpt, MLX4_MPT_SIZE, NULL, 0);
	if (rc == 0)
		return 0;
	if (hca->dead)
		mlx4_hca_stop_dma(hca);
	mlx4_numbers_put(hca->mpts, key->index, 1);
	return rc;
}

static rte_be64_t
page_entry(const struct pages *p, uint32_t i)
{
	return rte_cpu_to_be_64(page_iova(p, i) | MLX4_MTT_PRESENT);
}

static int
pages_to_mtt(struct mlx4_hca *hca, const struct pages *p, struct mlx4_mkey *key)
{
	uint32_t first, i;
	int rc;

	rc = mlx4_mtt_get(hca, p->n, &first);
	if (rc != 0)
		return rc;
	for (i = 0; i < p->n; i++) {
		*mlx4_icm_mtt(hca, first + i) = page_entry(p, i);
		mlx4_trace_mtt(hca->trace, (uint64_t)(first + i) * hca->caps.sz_mtt, page_iova(p, i) | MLX4_MTT_PRESENT,
			       0, 1);
	}
	rte_io_wmb();
	key->mtt_off = (uint64_t)first * hca->caps.sz_mtt;
	key->mtt_pages = p->n;
	return 0;
}

static void
set_mtt(uint8_t *mpt, const struct mlx4_mkey *key)
{
	prm_set(mpt, MLX4_MPT_MTT_H, key->mtt_off >> 32);
	prm_set(mpt, MLX4_MPT_MTT_L, (uint32_t)key->mtt_off);
}

/* The pages of memory of the EAL, or that was opened, and translation entries for them. */
static int
region_pages(struct mlx4_hca *hca, const void *addr, size_t len, uint64_t va, uint32_t access, struct pages *p,
	     struct mlx4_mkey *key)
{
	int rc;

	if ((access & MLX4_KEY_OPENED) != 0) {
		p->start = RTE_ALIGN_FLOOR((uintptr_t)addr, (uintptr_t)1 << LG_PAGE_MIN);
		p->end = RTE_ALIGN_CEIL((uintptr_t)addr + len, (uintptr_t)1 << LG_PAGE_MIN);
	}
	rc = pages_find(hca, addr, len, va, p);
	return rc != 0 ? rc : pages_to_mtt(hca, p, key);
}

static void
region_entry(uint8_t *mpt, size_t len, uint64_t va, uint32_t access, uint32_t lg_page, const struct mlx4_mkey *key)
{
	prm_set(mpt, MLX4_MPT_STATUS, MLX4_MPT_SW);
	prm_set(mpt, MLX4_MPT_MIO, 1);
	prm_set(mpt, MLX4_MPT_REGION, 1);
	prm_set(mpt, MLX4_MPT_LR, 1);
	prm_set(mpt, MLX4_MPT_LW, (access & MLX4_KEY_LOCAL_WRITE) != 0);
	prm_set(mpt, MLX4_MPT_RR, (access & MLX4_KEY_REMOTE_READ) != 0);
	prm_set(mpt, MLX4_MPT_RW, (access & MLX4_KEY_REMOTE_WRITE) != 0);
	prm_set(mpt, MLX4_MPT_ATOMIC, (access & MLX4_KEY_ATOMIC) != 0);
	prm_set(mpt, MLX4_MPT_BIND, (access & MLX4_KEY_BIND) != 0);
	prm_set(mpt, MLX4_MPT_EN_INV, EN_INV);
	prm_set64(mpt, MLX4_MPT_START, va);
	prm_set64(mpt, MLX4_MPT_LENGTH, len);
	set_mtt(mpt, key);
	prm_set(mpt, MLX4_MPT_ENTITY, lg_page);
}

int
mlx4_region_create(struct mlx4_hca *hca, uint32_t pd, const void *addr, size_t len, uint64_t va, uint32_t access,
		   struct mlx4_mkey *key)
{
	uint8_t mpt[MLX4_MPT_SIZE] = {0};
	struct pages p = {0};
	int rc = region_pages(hca, addr, len, va, access, &p, key);

	if (rc != 0)
		return rc;
	rc = key_get(hca, key);
	if (rc != 0)
		goto err_key;
	region_entry(mpt, len, va, access, p.lg, key);
	rc = key_to_hw(hca, key, mpt, pd);
	if (rc != 0)
		goto err_key;
	return 0;

err_key:
	mlx4_mtt_unmap(hca, key->mtt_off, key->mtt_pages);
	return rc;
}

int
mlx4_region_change(struct mlx4_hca *hca, uint32_t pd, const void *addr, size_t len, uint64_t va, uint32_t access,
		   struct mlx4_mkey *key, bool *lost)
{
	uint8_t mpt[MLX4_MPT_SIZE] = {0};
	struct mlx4_mkey old = *key;
	struct pages p = {0};
	int rc = region_pages(hca, addr, len, va, access, &p, key);

	*lost = false;
	if (rc == 0) {
		rc = mlx4_cmd(hca, MLX4_CMD_HW2SW_MPT, MLX4_OPM_NO_OUTBOX, key->index, NULL, 0, NULL, 0);
		if (rc != 0)
			mlx4_mtt_unmap(hca, key->mtt_off, key->mtt_pages);
	}
	if (rc != 0) {
		*key = old;
		return rc;
	}
	mlx4_mtt_unmap(hca, old.mtt_off, old.mtt_pages);
	region_entry(mpt, len, va, access, p.lg, key);
	rc = key_to_hw(hca, key, mpt, pd);
	if (rc != 0) {
		mlx4_mtt_unmap(hca, key->mtt_off, key->mtt_pages);
		*lost = true;
	}
	return rc;
}

int
mlx4_fast_region_create(struct mlx4_hca *hca, uint32_t pd, uint32_t pages, struct mlx4_mkey *key)
{
	uint8_t mpt[MLX4_MPT_SIZE] = {0};
	uint32_t first;
	int rc;

	rc = mlx4_mtt_get(hca, pages, &first);
	if (rc != 0)
		return rc;
	key->mtt_off = (uint64_t)first * hca->caps.sz_mtt;
	key->mtt_pages = pages;
	rc = key_get(hca, key);
	if (rc != 0)
		goto err_key;
	prm_set(mpt, MLX4_MPT_STATUS, MLX4_MPT_FREE);
	prm_set(mpt, MLX4_MPT_MIO, 1);
	prm_set(mpt, MLX4_MPT_REGION, 1);
	prm_set(mpt, MLX4_MPT_FAST_REG, 1);
	prm_set(mpt, MLX4_MPT_RAE, 1);
	prm_set(mpt, MLX4_MPT_EN_INV, EN_INV);
	prm_set(mpt, MLX4_MPT_MTT_SZ, pages);
	set_mtt(mpt, key);
	rc = key_to_hw(hca, key, mpt, pd);
	if (rc != 0)
		goto err_key;
	return 0;

err_key:
	mlx4_mtt_unmap(hca, key->mtt_off, key->mtt_pages);
	return rc;
}

int
mlx4_fast_region_pages(struct mlx4_hca *hca, const struct mlx4_mkey *key, const void *addr, size_t len, uint64_t va,
		       rte_be64_t *list, uint32_t *lg_page)
{
	struct pages p = {0};
	uint32_t i;
	int rc;

	rc = pages_find(hca, addr, len, va, &p);
	if (rc != 0)
		return rc;
	if (p.n > key->mtt_pages) {
		HCA_LOG(hca, ERR, "%zu bytes at %p take %u pages of %" PRIu64 " bytes, the region has %u", len, addr,
			p.n, UINT64_C(1) << p.lg, key->mtt_pages);
		return -ENOSPC;
	}
	for (i = 0; i < p.n; i++)
		list[i] = page_entry(&p, i);
	*lg_page = p.lg;
	return 0;
}

int
mlx4_window_create(struct mlx4_hca *hca, uint32_t pd, bool type2, struct mlx4_mkey *key)
{
	uint8_t mpt[MLX4_MPT_SIZE] = {0};
	int rc;

	key->mtt_pages = 0;
	rc = key_get(hca, key);
	if (rc != 0)
		return rc;
	if (type2) {
		prm_set(mpt, MLX4_MPT_STATUS, MLX4_MPT_FREE);
		prm_set(mpt, MLX4_MPT_BOUND_QP, hca->caps.mw2b);
		prm_set(mpt, MLX4_MPT_EN_INV, EN_INV);
	}
	return key_to_hw(hca, key, mpt, pd);
}

int
mlx4_mkey_destroy(struct mlx4_hca *hca, struct mlx4_mkey *key)
{
	int rc = mlx4_cmd(hca, MLX4_CMD_HW2SW_MPT, MLX4_OPM_NO_OUTBOX, key->index, NULL, 0, NULL, 0);

	if (rc == -EBUSY && !hca->dead)
		return rc;
	if (rc != 0)
		mlx4_hca_stop_dma(hca);
	if (key->mtt_pages != 0)
		mlx4_mtt_unmap(hca, key->mtt_off, key->mtt_pages);
	mlx4_numbers_put(hca->mpts, key->index, 1);
	return rc;
}
