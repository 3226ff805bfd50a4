/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Memory windows [DP 3.10, 11.3] (IBTA 10.6.7): a key of its own for a part of a region, with rights of its own, opened by a
 * work request. Type 1 belongs to a protection domain and is bound again at will; type 2 belongs to the queue pair that
 * bound it (2B), and is bound only while it is free. A region counts its windows and cannot go before them.
 */
#include "roce.h"

#define KEY_ENTRY(key) ((key) << 24 | (key) >> 8)

static bool
is_bound(const uint8_t *mpt)
{
	return prm_get(mpt, MLX4_MPT_REGION) == 0 && prm_get(mpt, MLX4_MPT_STATUS) == MLX4_MPT_HW &&
	       prm_get64(mpt, MLX4_MPT_LENGTH) != 0;
}

static bool
is_type2(const uint8_t *mpt)
{
	return prm_get(mpt, MLX4_MPT_BOUND_QP) != 0;
}

void
tpm_window_unbind(struct tp_model *m, uint8_t *mpt)
{
	uint8_t *region;

	if (!is_bound(mpt))
		return;
	region = tpm_roce_entry(m, prm_get(mpt, MLX4_MPT_LKEY));
	if (region != NULL && prm_get(region, MLX4_MPT_WIN_CNT) != 0)
		prm_set(region, MLX4_MPT_WIN_CNT, prm_get(region, MLX4_MPT_WIN_CNT) - 1);
	prm_set64(mpt, MLX4_MPT_LENGTH, 0);
	tpm_tpt_changed(m);
}

int
tpm_roce_window_free(struct tpm_roce *r, uint8_t *mpt)
{
	if (!is_type2(mpt) || !is_bound(mpt) || prm_get(mpt, MLX4_MPT_PD) != r->qp->pd ||
	    prm_get(mpt, MLX4_MPT_QPN) != r->qp->qpn)
		return -IBV_WC_MW_BIND_ERR;
	tpm_window_unbind(r->m, mpt);
	prm_set(mpt, MLX4_MPT_STATUS, MLX4_MPT_FREE);
	return 0;
}

/* The region that a window may be opened over, or NULL. */
static uint8_t *
region_of(struct tpm_roce *r, const uint8_t *seg)
{
	uint32_t key = prm_get(seg, MLX4_BIND_LKEY);
	uint64_t start = prm_get64(seg, MLX4_BIND_START), len = prm_get64(seg, MLX4_BIND_LENGTH), from, size;
	uint8_t *mpt = tpm_roce_entry(r->m, key);
	bool writes = prm_get(seg, MLX4_BIND_RW) != 0 || prm_get(seg, MLX4_BIND_ATOMIC) != 0;

	if (mpt == NULL || prm_get(mpt, MLX4_MPT_STATUS) != MLX4_MPT_HW || prm_get(mpt, MLX4_MPT_REGION) == 0 ||
	    prm_get(mpt, MLX4_MPT_KEY) != KEY_ENTRY(key) || prm_get(mpt, MLX4_MPT_PD) != r->qp->pd ||
	    prm_get(mpt, MLX4_MPT_BIND) == 0 || (writes && prm_get(mpt, MLX4_MPT_LW) == 0))
		return NULL;
	from = prm_get64(mpt, MLX4_MPT_START);
	size = prm_get64(mpt, MLX4_MPT_LENGTH);
	return start >= from && len <= size && start - from <= size - len ? mpt : NULL;
}

static void
open_window(struct tpm_roce *r, uint8_t *mpt, uint8_t *region, const uint8_t *seg)
{
	uint64_t start = prm_get64(seg, MLX4_BIND_START);

	prm_set(region, MLX4_MPT_WIN_CNT, prm_get(region, MLX4_MPT_WIN_CNT) + 1);
	prm_set(mpt, MLX4_MPT_RR, prm_get(seg, MLX4_BIND_RR));
	prm_set(mpt, MLX4_MPT_RW, prm_get(seg, MLX4_BIND_RW));
	prm_set(mpt, MLX4_MPT_ATOMIC, prm_get(seg, MLX4_BIND_ATOMIC));
	prm_set(mpt, MLX4_MPT_QPN, r->qp->qpn);
	prm_set(mpt, MLX4_MPT_LKEY, prm_get(seg, MLX4_BIND_LKEY));
	prm_set64(mpt, MLX4_MPT_START, prm_get(seg, MLX4_BIND_ZERO_BASED) != 0 ? 0 : start);
	prm_set64(mpt, MLX4_MPT_WIN_START, start);
	prm_set64(mpt, MLX4_MPT_LENGTH, prm_get64(seg, MLX4_BIND_LENGTH));
	prm_set(mpt, MLX4_MPT_STATUS, MLX4_MPT_HW);
}

int
tpm_roce_bind(struct tpm_roce *r, const uint8_t *seg)
{
	uint32_t key = prm_get(seg, MLX4_BIND_RKEY);
	uint8_t *mpt = tpm_roce_entry(r->m, key), *region = NULL;
	bool type2 = prm_get(seg, MLX4_BIND_TYPE_2) != 0, opens = prm_get64(seg, MLX4_BIND_LENGTH) != 0;

	if (mpt == NULL || prm_get(mpt, MLX4_MPT_REGION) != 0 || prm_get(mpt, MLX4_MPT_PD) != r->qp->pd ||
	    is_type2(mpt) != type2 || prm_get(mpt, MLX4_MPT_STATUS) != (uint32_t)(type2 ? MLX4_MPT_FREE : MLX4_MPT_HW))
		return -IBV_WC_MW_BIND_ERR;
	/* Without a length a window of type 1 is closed (11.2.9.3). */
	if (opens)
		region = region_of(r, seg);
	if (region == NULL && (opens || type2))
		return -IBV_WC_MW_BIND_ERR;
	tpm_window_unbind(r->m, mpt);
	prm_set(mpt, MLX4_MPT_KEY, KEY_ENTRY(key));
	if (opens)
		open_window(r, mpt, region, seg);
	tpm_tpt_changed(r->m);
	return 0;
}

bool
tpm_roce_window(struct tpm_roce *r, uint32_t *key, uint64_t *va, uint32_t len, uint32_t access)
{
	const uint8_t *mpt = tpm_roce_entry(r->m, *key);
	uint32_t granted;
	uint64_t off, size;

	if (mpt == NULL || !is_bound(mpt) || prm_get(mpt, MLX4_MPT_KEY) != KEY_ENTRY(*key) ||
	    prm_get(mpt, MLX4_MPT_PD) != r->qp->pd || (is_type2(mpt) && prm_get(mpt, MLX4_MPT_QPN) != r->qp->qpn))
		return false;
	granted = (prm_get(mpt, MLX4_MPT_RR) != 0 ? TPM_ACC_RR : 0) |
		  (prm_get(mpt, MLX4_MPT_RW) != 0 ? TPM_ACC_RW : 0) |
		  (prm_get(mpt, MLX4_MPT_ATOMIC) != 0 ? TPM_ACC_ATOMIC : 0);
	off = *va - prm_get64(mpt, MLX4_MPT_START);
	size = prm_get64(mpt, MLX4_MPT_LENGTH);
	if ((granted & access) != access || off >= size || len > size - off)
		return false;
	*key = prm_get(mpt, MLX4_MPT_LKEY);
	*va = prm_get64(mpt, MLX4_MPT_WIN_START) + off;
	return true;
}
