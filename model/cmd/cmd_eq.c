/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Event queues by command [CP 5.1]. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/event.h"
#include "cmd.h"

#define EQE_INIT 0xee /* what a real card was seen to fill the ring with: every owner bit set [CP 5.1] */
#define MAP_EQ_EQN 0x3ffu

static uint8_t
eq_index(struct tp_model *m, uint32_t eqn)
{
	return tpm_index_check(m, "EQ", eqn, m->lg_eqs, TPM_NUM_RSVD_EQS);
}

static uint8_t
eq_find(struct tp_model *m, uint32_t eqn, struct tpm_eq **eq)
{
	uint8_t st = eq_index(m, eqn);

	if (st != MLX4_STAT_OK)
		return st;
	*eq = m->eq[eqn];
	if (*eq == NULL)
		return tpm_fail(m, BAD_RES_STATE, CMD_RES_STATE, "EQ", eqn, "owned by software, wanted hardware");
	return MLX4_STAT_OK;
}

static uint8_t
eq_check(struct tp_model *m, uint32_t eqn, const uint8_t *in)
{
	uint32_t lg = prm_get(in, MLX4_EQC_LG_SIZE), state = prm_get(in, MLX4_EQC_STATE);

	if (lg > TPM_LG_MAX_EQES)
		return tpm_fail(m, EXCEED_LIM, CMD_LIMIT, "EQ", eqn, "lg size is %u, wanted at most %u", lg,
				TPM_LG_MAX_EQES);
	if (prm_get(in, MLX4_EQC_INTR) >= MLX4_MSIX_VECTORS)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "EQ", eqn, "interrupt vector is %u, wanted 0..%u",
				prm_get(in, MLX4_EQC_INTR), MLX4_MSIX_VECTORS - 1);
	if (prm_get(in, MLX4_EQC_EC) != 0 || prm_get(in, MLX4_EQC_STATUS) != MLX4_CTX_STATUS_OK)
		return tpm_fail(m, BAD_PARAM, CTX_RSVD, "EQ", eqn,
				"first dword 0x%x: wanted status 0 and no collapsing", prm_get32(in, 0));
	if (state != 0 && state != MLX4_EQ_STATE_ARMED && state != MLX4_EQ_STATE_FIRED &&
	    state != MLX4_EQ_STATE_ALWAYS_ARMED)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "EQ", eqn, "state is 0x%x, wanted 0, 0x9, 0xa or 0xb", state);
	return MLX4_STAT_OK;
}

static struct tpm_eq *
eq_make(struct tp_model *m, uint32_t eqn, const uint8_t *in)
{
	struct tpm_eq *eq = calloc(1, sizeof(*eq));
	uint32_t state = prm_get(in, MLX4_EQC_STATE);

	if (eq == NULL)
		return NULL;
	eq->eqn = eqn;
	eq->lg_size = prm_get(in, MLX4_EQC_LG_SIZE);
	eq->vector = (uint16_t)prm_get(in, MLX4_EQC_INTR);
	eq->state = state == 0 ? MLX4_EQ_STATE_FIRED : (uint8_t)state;
	eq->oi = prm_get(in, MLX4_EQC_OI) != 0;
	if (tpm_ring_init(m, &eq->ring, tpm_mtt_offset(in, MLX4_EQC_MTT_H, MLX4_EQC_MTT_L),
			  (uint8_t)(prm_get(in, MLX4_EQC_LG_PAGE) + TPM_LG_PAGE),
			  prm_get(in, MLX4_EQC_PAGE_OFFSET) * 32, 1u << (eq->lg_size + m->eqe_lg_stride)) != 0) {
		free(eq);
		return NULL;
	}
	return eq;
}

static void
eq_save(struct tp_model *m, const struct tpm_eq *eq, uint8_t *ctx)
{
	prm_set(ctx, MLX4_EQC_STATUS, eq->status);
	prm_set(ctx, MLX4_EQC_STATE, eq->state);
	prm_set(ctx, MLX4_EQC_CI, eq->ci);
	prm_set(ctx, MLX4_EQC_PI, eq->pi);
}

uint8_t
tpm_cmd_sw2hw_eq(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t eqn = c->in_modifier;
	uint8_t st = eq_index(m, eqn), *ctx;
	struct tpm_eq *eq;

	if (st != MLX4_STAT_OK)
		return st;
	if (m->eq[eqn] != NULL)
		return tpm_fail(m, BAD_RES_STATE, CMD_RES_STATE, "EQ", eqn, "owned by hardware, wanted software");
	st = eq_check(m, eqn, c->in);
	if (st != MLX4_STAT_OK)
		return st;
	ctx = tpm_ctx_at(m, m->eqc_base, TPM_EQC_ENTRY, MLX4_CMPT_EQ, "EQ", eqn);
	if (ctx == NULL)
		return MLX4_STAT_ICM_ERROR;
	eq = eq_make(m, eqn, c->in);
	if (eq == NULL)
		return MLX4_STAT_INTERNAL_ERR;
	if (tpm_ring_resolve(m, &eq->ring, "EQ", eqn) != 0) {
		tpm_ring_fini(&eq->ring);
		free(eq);
		return MLX4_STAT_ICM_ERROR;
	}
	tpm_ring_fill(&eq->ring, EQE_INIT);
	memset(ctx, 0, TPM_EQC_ENTRY);
	memcpy(ctx, c->in, MLX4_EQC_SIZE);
	m->eq[eqn] = eq;
	m->st.eqs++;
	tpm_uar_get(m, eqn / 4);
	return MLX4_STAT_OK;
}

static bool
eq_in_use(const struct tp_model *m, uint32_t eqn)
{
	for (uint64_t i = 0; m->st.cqs != 0 && i < UINT64_C(1) << m->lg_cqs; i++)
		if (m->cq[i] != NULL && m->cq[i]->eqn == eqn)
			return true;
	return false;
}

uint8_t
tpm_cmd_hw2sw_eq(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_eq *eq;
	uint8_t st = eq_find(m, c->in_modifier, &eq), *ctx;

	if (st != MLX4_STAT_OK)
		return st;
	if (eq_in_use(m, eq->eqn))
		return tpm_fail(m, RESOURCE_BUSY, CMD_BUSY, "EQ", eq->eqn, "completion queues still report to it");
	if (!tpm_cmd_may_out(m, c))
		return MLX4_STAT_BAD_PARAM;
	ctx = tpm_icm_probe(m, m->eqc_base + (uint64_t)eq->eqn * TPM_EQC_ENTRY, TPM_EQC_ENTRY);
	if (ctx != NULL) {
		eq_save(m, eq, ctx);
		if (c->out != NULL)
			memcpy(c->out, ctx, MLX4_EQC_SIZE);
	}
	tpm_eq_free(m, eq);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_query_eq(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_eq *eq;
	uint8_t st = eq_find(m, c->in_modifier, &eq), *ctx;

	if (st != MLX4_STAT_OK)
		return st;
	ctx = tpm_ctx_at(m, m->eqc_base, TPM_EQC_ENTRY, MLX4_CMPT_EQ, "EQ", eq->eqn);
	if (ctx == NULL)
		return MLX4_STAT_ICM_ERROR;
	eq_save(m, eq, ctx);
	memcpy(c->out, ctx, MLX4_EQC_SIZE);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_map_eq(struct tp_model *m, struct tpm_cmd *c)
{
	bool unmap = (c->in_modifier & MLX4_MAP_EQ_UNMAP) != 0;
	uint32_t eqn = c->in_modifier & MAP_EQ_EQN;
	struct tpm_eq *eq;
	uint8_t st;

	if ((c->in_modifier & ~(MLX4_MAP_EQ_UNMAP | MAP_EQ_EQN)) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MAP_EQ", eqn, "in_modifier 0x%x: wanted bits 30:10 zero",
				c->in_modifier);
	/* A CQ's own context names its EQ, so the bit of completions has no effect. */
	if ((c->in_param & 1) != 0)
		tpm_violate(m, TPM_V_EQ_MASK, "MAP_EQ", eqn, "mask 0x%" PRIx64 " has bit 0, which is of completions",
			    c->in_param);
	st = eq_find(m, eqn, &eq);
	if (st != MLX4_STAT_OK)
		return st;
	for (unsigned int t = 0; t < 64; t++) {
		if ((c->in_param >> t & 1) == 0)
			continue;
		/* Events of another EQ move over without complaint [CP 10.2]. */
		if (!unmap)
			m->event_eq[t] = eqn;
		else if (m->event_eq[t] == eqn)
			m->event_eq[t] = TPM_EQ_NONE;
	}
	return MLX4_STAT_OK;
}
