/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Memory keys and translation entries by command [CP 5.8, 5.9]. */
#include <inttypes.h>
#include <string.h>

#include "model/roce/roce.h"
#include "cmd.h"

#define MPT_LG_PAGE_MAX 31u
#define MTT_SPACE (UINT64_C(1) << 40) /* contexts carry 40-bit offsets */

/* A free entry is the card's too: a work request fills it in. */
static bool
owned(const struct tp_model *m, uint32_t i, const uint8_t *mpt)
{
	uint32_t status = prm_get(mpt, MLX4_MPT_STATUS);

	return tpm_mpt_is_known(m, i) && (status == MLX4_MPT_HW || status == MLX4_MPT_FREE);
}

static uint8_t *
mpt_at(struct tp_model *m, uint32_t i)
{
	uint64_t addr = m->dmpt_base + (uint64_t)i * TPM_DMPT_ENTRY;
	uint8_t *p = tpm_icm_probe(m, addr, TPM_DMPT_ENTRY);

	if (p == NULL)
		tpm_violate(m, TPM_V_ICM_UNMAPPED, "MPT", i, "its entry at ICM address 0x%" PRIx64 " is not mapped",
			    addr);
	return p;
}

/* Bounds, pages and rights come later, by a fast-register work request. */
static bool
free_for_wqe(const uint8_t *mpt)
{
	return prm_get(mpt, MLX4_MPT_FAST_REG) != 0 && prm_get(mpt, MLX4_MPT_STATUS) == MLX4_MPT_FREE;
}

/* Type 1 is the card's at once, but opens nothing; type 2 is free. What they open comes by a bind work request. */
static uint8_t
window_check(struct tp_model *m, uint32_t i, const uint8_t *in)
{
	uint32_t status = prm_get(in, MLX4_MPT_STATUS);
	bool type2 = status == MLX4_MPT_FREE;

	if (!m->ctl->windows)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MPT", i, "a window, which INIT_HCA did not enable");
	if (!type2 && status != MLX4_MPT_HW)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MPT", i,
				"a window with status %u, wanted %u (type 1) or %u (type 2)", status, MLX4_MPT_HW,
				MLX4_MPT_FREE);
	if (type2 && (prm_get(in, MLX4_MPT_BOUND_QP) == 0 || prm_get(in, MLX4_MPT_EN_INV) == 0))
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MPT", i,
				"a window of type 2 that is not bound to a QP or cannot be invalidated");
	if (prm_get64(in, MLX4_MPT_LENGTH) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MPT", i, "a window of 0x%" PRIx64 " bytes, wanted 0",
				prm_get64(in, MLX4_MPT_LENGTH));
	return MLX4_STAT_OK;
}

static uint8_t
mpt_check(struct tp_model *m, uint32_t i, const uint8_t *in)
{
	uint32_t key = prm_get(in, MLX4_MPT_KEY), lg = prm_get(in, MLX4_MPT_ENTITY);
	bool pa = prm_get(in, MLX4_MPT_PA) != 0;

	if ((key & ((1u << m->lg_mpts) - 1)) != i)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MPT", i, "key 0x%x names another entry", key);
	if (prm_get(in, MLX4_MPT_REGION) == 0)
		return window_check(m, i, in);
	if (prm_get(in, MLX4_MPT_FBO_EN) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MPT", i,
				"asks for a first byte offset, which QUERY_DEV_CAP does not offer");
	if (free_for_wqe(in))
		return MLX4_STAT_OK;
	if (prm_get(in, MLX4_MPT_FAST_REG) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MPT", i,
				"for fast registration with status %u, wanted %u (free)", prm_get(in, MLX4_MPT_STATUS),
				MLX4_MPT_FREE);
	if (prm_get64(in, MLX4_MPT_LENGTH) == 0 && prm_get(in, MLX4_MPT_LEN64) == 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MPT", i, "length is 0, wanted at least 1");
	if (!pa && (lg < TPM_LG_MIN_PAGE || lg > MPT_LG_PAGE_MAX))
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MPT", i, "lg page size is %u, wanted %u..%u", lg,
				TPM_LG_MIN_PAGE, MPT_LG_PAGE_MAX);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_sw2hw_mpt(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t i = c->in_modifier;
	uint8_t st = tpm_index_check(m, "MPT", i, m->lg_mpts, 1u << TPM_LG_RSVD_MPTS), *mpt;

	if (st != MLX4_STAT_OK)
		return st;
	mpt = mpt_at(m, i);
	if (mpt == NULL)
		return MLX4_STAT_ICM_ERROR;
	if (owned(m, i, mpt))
		return tpm_fail(m, BAD_RES_STATE, CMD_RES_STATE, "MPT", i, "owned by hardware, wanted software");
	st = mpt_check(m, i, c->in);
	if (st != MLX4_STAT_OK)
		return st;
	memcpy(mpt, c->in, TPM_DMPT_ENTRY);
	if (prm_get(mpt, MLX4_MPT_REGION) != 0) {
		prm_set(mpt, MLX4_MPT_STATUS, free_for_wqe(mpt) ? MLX4_MPT_FREE : MLX4_MPT_HW);
		prm_set(mpt, MLX4_MPT_WIN_CNT, 0);
	}
	if (!tpm_mpt_is_known(m, i))
		m->st.mpts++;
	m->ctl->mpt_known[i / 64] |= UINT64_C(1) << (i % 64);
	tpm_tpt_changed(m);
	return MLX4_STAT_OK;
}

/* The entry of a region that hardware owns, for the commands that ask for one. */
static uint8_t
mpt_hw(struct tp_model *m, uint32_t i, uint8_t **mpt)
{
	uint8_t st = tpm_index_check(m, "MPT", i, m->lg_mpts, 1u << TPM_LG_RSVD_MPTS);

	if (st != MLX4_STAT_OK)
		return st;
	*mpt = mpt_at(m, i);
	if (*mpt == NULL)
		return MLX4_STAT_ICM_ERROR;
	if (!owned(m, i, *mpt))
		return tpm_fail(m, BAD_RES_STATE, CMD_RES_STATE, "MPT", i, "owned by software, wanted hardware");
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_hw2sw_mpt(struct tp_model *m, struct tpm_cmd *c)
{
	uint8_t *mpt, st = mpt_hw(m, c->in_modifier, &mpt);

	if (st != MLX4_STAT_OK)
		return st;
	if (!tpm_cmd_may_out(m, c))
		return MLX4_STAT_BAD_PARAM;
	if (prm_get(mpt, MLX4_MPT_REGION) != 0 && prm_get(mpt, MLX4_MPT_WIN_CNT) != 0) {
		/* The caller's rule, not a mistake: it may ask (10.6.7.2.6). */
		return MLX4_STAT_REG_BOUND;
	}
	tpm_window_unbind(m, mpt);
	prm_set(mpt, MLX4_MPT_STATUS, MLX4_MPT_SW);
	if (c->out != NULL)
		memcpy(c->out, mpt, TPM_DMPT_ENTRY);
	tpm_tpt_changed(m);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_query_mpt(struct tp_model *m, struct tpm_cmd *c)
{
	uint8_t *mpt, st = mpt_hw(m, c->in_modifier, &mpt);

	if (st == MLX4_STAT_OK)
		memcpy(c->out, mpt, TPM_DMPT_ENTRY);
	return st;
}

uint8_t
tpm_cmd_sync_tpt(struct tp_model *m, struct tpm_cmd *c)
{
	tpm_tpt_changed(m);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_write_mtt(struct tp_model *m, struct tpm_cmd *c)
{
	uint64_t pos = prm_get64(c->in, MLX4_WRITE_MTT_POS); /* a byte offset [U] */
	uint32_t n = c->in_modifier;

	if (n < 1 || n > MLX4_WRITE_MTT_MAX)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "WRITE_MTT", c->opcode, "%u entries, wanted 1..%u", n,
				MLX4_WRITE_MTT_MAX);
	if (pos % MLX4_MTT_SIZE != 0 || pos >= MTT_SPACE)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "WRITE_MTT", c->opcode,
				"offset 0x%" PRIx64 ", wanted a multiple of %u below 2^40", pos, MLX4_MTT_SIZE);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *e = tpm_icm_at(m, m->mtt_base + pos + i * MLX4_MTT_SIZE, MLX4_MTT_SIZE, "WRITE_MTT");

		if (e == NULL)
			return MLX4_STAT_ICM_ERROR;
		memcpy(e, c->in + MLX4_WRITE_MTT_ENTRIES + i * MLX4_MTT_SIZE, MLX4_MTT_SIZE);
	}
	tpm_tpt_changed(m);
	return MLX4_STAT_OK;
}
