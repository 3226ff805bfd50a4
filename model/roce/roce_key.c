/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Keys that change by work request [DP 3.11, 3.12, 11.3]: a region that software gave free for fast registration gets
 * pages, bounds, rights and a new key byte by one WQE and is free again by another, here or at the peer's word.
 */
#include "roce.h"

#define LG_PAGE_MAX 31u
#define KEY_ENTRY(key) ((key) << 24 | (key) >> 8)

uint32_t
tpm_roce_local_size(uint8_t opcode)
{
	switch (opcode) {
	case MLX4_OP_FAST_REG: return MLX4_FR_SIZE;
	case MLX4_OP_LOCAL_INV: return MLX4_INV_SIZE;
	case MLX4_OP_BIND_MW: return MLX4_BIND_SIZE;
	default: return 0;
	}
}

uint8_t *
tpm_roce_entry(struct tp_model *m, uint32_t key)
{
	uint32_t i = KEY_ENTRY(key) & ((1u << m->lg_mpts) - 1);

	if (!tpm_mpt_is_known(m, i))
		return NULL;
	return tpm_icm_probe(m, m->dmpt_base + (uint64_t)i * TPM_DMPT_ENTRY, TPM_DMPT_ENTRY);
}

/* The entry of a key in this state that is for fast registration and of the QP's protection domain, or NULL. */
static uint8_t *
entry_of(struct tpm_roce *r, uint32_t key, enum mlx4_mpt_status status)
{
	uint8_t *mpt = tpm_roce_entry(r->m, key);

	return mpt != NULL && prm_get(mpt, MLX4_MPT_STATUS) == status && prm_get(mpt, MLX4_MPT_FAST_REG) != 0 &&
			       prm_get(mpt, MLX4_MPT_PD) == r->qp->pd
		       ? mpt
		       : NULL;
}

int
tpm_roce_invalidate(struct tre_qp *e, uint32_t key)
{
	struct tpm_roce *r = e->home;
	uint8_t *mpt = tpm_roce_entry(r->m, key);

	if (mpt != NULL && prm_get(mpt, MLX4_MPT_REGION) == 0 && prm_get(mpt, MLX4_MPT_KEY) == KEY_ENTRY(key))
		return tpm_roce_window_free(r, mpt);
	mpt = entry_of(r, key, MLX4_MPT_HW);

	if (mpt == NULL || prm_get(mpt, MLX4_MPT_KEY) != KEY_ENTRY(key) || prm_get(mpt, MLX4_MPT_EN_INV) == 0)
		return -IBV_WC_MW_BIND_ERR;
	prm_set(mpt, MLX4_MPT_STATUS, MLX4_MPT_FREE);
	tpm_tpt_changed(r->m);
	return 0;
}

/* The pages of the list into the region's MTT entries. */
static bool
put_pages(struct tp_model *m, const uint8_t *mpt, uint64_t list, uint32_t n)
{
	uint64_t at = m->mtt_base + tpm_mtt_offset(mpt, MLX4_MPT_MTT_H, MLX4_MPT_MTT_L);
	const uint8_t *from = tpm_dma_probe(m, list, (uint64_t)n * MLX4_MTT_SIZE, TP_DMA_READ, NULL);

	for (uint32_t i = 0; i < n; i++) {
		uint8_t *e = from == NULL ? NULL : tpm_icm_probe(m, at + (uint64_t)i * MLX4_MTT_SIZE, MLX4_MTT_SIZE);

		if (e == NULL)
			return false;
		memcpy(e, from + (size_t)i * MLX4_MTT_SIZE, MLX4_MTT_SIZE);
	}
	return true;
}

static int
fast_register(struct tpm_roce *r, const uint8_t *s)
{
	uint32_t key = prm_get(s, MLX4_FR_KEY), lg = prm_get(s, MLX4_FR_LG_PAGE);
	uint64_t start = prm_get64(s, MLX4_FR_START), len = prm_get64(s, MLX4_FR_LENGTH),
		 list = prm_get64(s, MLX4_FR_LIST), n;
	uint8_t *mpt = entry_of(r, key, MLX4_MPT_FREE);

	if (mpt == NULL || lg < TPM_LG_MIN_PAGE || lg > LG_PAGE_MAX || len == 0 || start + (len - 1) < start ||
	    prm_get(s, MLX4_FR_FIRST_OFF) != 0 || list % MLX4_FR_LIST_ALIGN != 0)
		return -IBV_WC_MW_BIND_ERR;
	n = ((start + (len - 1)) >> lg) - (start >> lg) + 1;
	if (n > MLX4_FR_LIST_MAX || n > prm_get(mpt, MLX4_MPT_MTT_SZ) || !put_pages(r->m, mpt, list, (uint32_t)n))
		return -IBV_WC_MW_BIND_ERR;
	prm_set(mpt, MLX4_MPT_ATOMIC, prm_get(s, MLX4_FR_ATOMIC));
	prm_set(mpt, MLX4_MPT_RW, prm_get(s, MLX4_FR_RW));
	prm_set(mpt, MLX4_MPT_RR, prm_get(s, MLX4_FR_RR));
	prm_set(mpt, MLX4_MPT_LW, prm_get(s, MLX4_FR_LW));
	prm_set(mpt, MLX4_MPT_LR, prm_get(s, MLX4_FR_LR));
	prm_set(mpt, MLX4_MPT_KEY, KEY_ENTRY(key));
	prm_set64(mpt, MLX4_MPT_START, start);
	prm_set64(mpt, MLX4_MPT_LENGTH, len);
	prm_set(mpt, MLX4_MPT_ENTITY, lg);
	prm_set(mpt, MLX4_MPT_STATUS, MLX4_MPT_HW);
	tpm_tpt_changed(r->m);
	return 0;
}

int
tpm_roce_local(struct tre_qp *e, const struct tre_wqe *w)
{
	struct tpm_roce *r = e->home;
	const struct tpm_roce_slot *s = &r->slot[w - r->sq];

	if (s->status != IBV_WC_SUCCESS)
		return -(int)s->status;
	switch (s->opcode) {
	case MLX4_OP_LOCAL_INV: return tpm_roce_invalidate(e, prm_get(s->data, MLX4_INV_KEY));
	case MLX4_OP_BIND_MW: return tpm_roce_bind(r, s->data);
	case MLX4_OP_FAST_REG:
		return prm_get(r->qp->ctx, MLX4_QPC_FRE) == 0 ? -IBV_WC_LOC_QP_OP_ERR : fast_register(r, s->data);
	default: return 0;
	}
}
