/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Completion queues by command [CP 5.2]. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/event.h"
#include "cmd.h"

#define CQE_INIT 0xcc /* owner bit set: nothing is complete in the first pass [DP 6.5] */
#define CQ_OPM_SW_INIT 1u

static uint8_t
cq_index(struct tp_model *m, uint32_t cqn)
{
	return tpm_index_check(m, "CQ", cqn, m->lg_cqs, 1u << TPM_LG_RSVD_CQS);
}

static uint8_t
cq_find(struct tp_model *m, uint32_t cqn, struct tpm_cq **cq)
{
	uint8_t st = cq_index(m, cqn);

	if (st != MLX4_STAT_OK)
		return st;
	*cq = m->cq[cqn];
	if (*cq == NULL)
		return tpm_fail(m, BAD_RES_STATE, CMD_RES_STATE, "CQ", cqn, "owned by software, wanted hardware");
	return MLX4_STAT_OK;
}

static uint8_t
cq_check(struct tp_model *m, uint32_t cqn, const uint8_t *in)
{
	uint32_t lg = prm_get(in, MLX4_CQC_LG_SIZE), eqn = prm_get(in, MLX4_CQC_EQN);
	uint64_t dbrec = prm_get64(in, MLX4_CQC_DBREC);

	if (lg > TPM_LG_MAX_CQES)
		return tpm_fail(m, EXCEED_LIM, CMD_LIMIT, "CQ", cqn, "lg size is %u, wanted at most %u", lg,
				TPM_LG_MAX_CQES);
	if (!tpm_uar_valid(m, prm_get(in, MLX4_CQC_UAR)))
		return tpm_fail(m, BAD_PARAM, CMD_LIMIT, "CQ", cqn, "UAR page is %u, wanted %u..%u",
				prm_get(in, MLX4_CQC_UAR), MLX4_UAR_EQ_PAGES, m->num_uars - 1);
	if (eqn >= 1u << m->lg_eqs || m->eq[eqn] == NULL)
		return tpm_fail(m, BAD_RESOURCE, CMD_INDEX, "CQ", cqn, "EQ 0x%x is not in hardware", eqn);
	if (prm_get(in, MLX4_CQC_STATUS) != MLX4_CTX_STATUS_OK || (dbrec & 7) != 0)
		return tpm_fail(m, BAD_PARAM, CTX_RSVD, "CQ", cqn,
				"first dword 0x%x, doorbell record 0x%" PRIx64 ": wanted status 0, a multiple of 8",
				prm_get32(in, 0), dbrec);
	return tpm_dma(m, dbrec, 8, TP_DMA_READ, "CQ doorbell record") == NULL ? MLX4_STAT_BAD_PARAM : MLX4_STAT_OK;
}

static int
cq_ring(struct tp_model *m, uint32_t lg, const uint8_t *in, struct tpm_ring *ring)
{
	return tpm_ring_init(m, ring, tpm_mtt_offset(in, MLX4_CQC_MTT_H, MLX4_CQC_MTT_L),
			     (uint8_t)(prm_get(in, MLX4_CQC_LG_PAGE) + TPM_LG_PAGE),
			     prm_get(in, MLX4_CQC_PAGE_OFFSET) * 32, 1u << (lg + m->cqe_lg_stride));
}

static struct tpm_cq *
cq_make(struct tp_model *m, uint32_t cqn, const uint8_t *in)
{
	struct tpm_cq *cq = aligned_alloc(64, (sizeof(*cq) + 63) & ~(size_t)63);

	if (cq == NULL)
		return NULL;
	memset(cq, 0, sizeof(*cq));
	cq->cqn = cqn;
	cq->mask = (1u << prm_get(in, MLX4_CQC_LG_SIZE)) - 1;
	cq->lg_stride = m->cqe_lg_stride;
	cq->cqe_off = m->cqe_off;
	cq->arm = (uint8_t)prm_get(in, MLX4_CQC_STATE);
	cq->oi = (uint8_t)prm_get(in, MLX4_CQC_OI);
	cq->stamp = prm_get(in, MLX4_CQC_TIMESTAMP) != 0;
	cq->cc = prm_get(in, MLX4_CQC_CC) != 0;
	cq->mod_count = (uint16_t)prm_get(in, MLX4_CQC_MOD_COUNT);
	cq->mod_period_us = (uint16_t)prm_get(in, MLX4_CQC_MOD_PERIOD);
	cq->eqn = prm_get(in, MLX4_CQC_EQN);
	cq->uar = prm_get(in, MLX4_CQC_UAR);
	cq->dbrec_addr = prm_get64(in, MLX4_CQC_DBREC);
	if (cq_ring(m, prm_get(in, MLX4_CQC_LG_SIZE), in, &cq->ring) != 0) {
		free(cq);
		return NULL;
	}
	return cq;
}

void
tpm_cq_free(struct tp_model *m, struct tpm_cq *cq)
{
	m->cq[cq->cqn] = NULL;
	m->st.cqs--;
	tpm_uar_put(m, cq->uar);
	tpm_ring_fini(&cq->ring);
	free(cq);
}

static void
cq_save(const struct tpm_cq *cq, uint8_t *ctx)
{
	prm_set(ctx, MLX4_CQC_STATUS, cq->status);
	prm_set(ctx, MLX4_CQC_STATE, cq->arm);
	prm_set(ctx, MLX4_CQC_CI, cq->ci);
	prm_set(ctx, MLX4_CQC_PI, cq->pi);
	prm_set(ctx, MLX4_CQC_LAST_NOTIFIED, cq->last_notified);
	prm_set(ctx, MLX4_CQC_SOLICITED_PI, cq->solicited_pi);
	prm_set(ctx, MLX4_CQC_MOD_COUNT, cq->mod_count);
	prm_set(ctx, MLX4_CQC_MOD_PERIOD, cq->mod_period_us);
}

uint8_t
tpm_cmd_sw2hw_cq(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t cqn = c->in_modifier;
	uint8_t st = cq_index(m, cqn), *ctx;
	struct tpm_cq *cq;

	if (st != MLX4_STAT_OK)
		return st;
	if (m->cq[cqn] != NULL)
		return tpm_fail(m, BAD_RES_STATE, CMD_RES_STATE, "CQ", cqn, "owned by hardware, wanted software");
	st = cq_check(m, cqn, c->in);
	if (st != MLX4_STAT_OK)
		return st;
	ctx = tpm_ctx_at(m, m->cqc_base, TPM_CQC_ENTRY, MLX4_CMPT_CQ, "CQ", cqn);
	if (ctx == NULL)
		return MLX4_STAT_ICM_ERROR;
	cq = cq_make(m, cqn, c->in);
	if (cq == NULL)
		return MLX4_STAT_INTERNAL_ERR;
	if (tpm_ring_resolve(m, &cq->ring, "CQ", cqn) != 0) {
		tpm_ring_fini(&cq->ring);
		free(cq);
		return MLX4_STAT_ICM_ERROR;
	}
	if ((c->op_modifier & CQ_OPM_SW_INIT) == 0)
		tpm_ring_fill(&cq->ring, CQE_INIT);
	memset(ctx, 0, TPM_CQC_ENTRY);
	memcpy(ctx, c->in, MLX4_CQC_SIZE);
	(void)tpm_cq_has_left(m, cqn);
	m->cq[cqn] = cq;
	m->st.cqs++;
	tpm_uar_get(m, cq->uar);
	return MLX4_STAT_OK;
}

static uint8_t
cq_write_back(struct tp_model *m, const struct tpm_cq *cq, uint8_t *out)
{
	uint8_t *ctx = tpm_ctx_at(m, m->cqc_base, TPM_CQC_ENTRY, MLX4_CMPT_CQ, "CQ", cq->cqn);

	if (ctx == NULL)
		return MLX4_STAT_ICM_ERROR;
	cq_save(cq, ctx);
	if (out != NULL)
		memcpy(out, ctx, MLX4_CQC_SIZE);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_hw2sw_cq(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_cq *cq;
	uint8_t st = cq_find(m, c->in_modifier, &cq);

	if (st != MLX4_STAT_OK)
		return st;
	if (cq->refs != 0)
		return tpm_fail(m, RESOURCE_BUSY, CMD_BUSY, "CQ", cq->cqn, "%u QP queues still use it", cq->refs);
	if (!tpm_cmd_may_out(m, c))
		return MLX4_STAT_BAD_PARAM;
	st = cq_write_back(m, cq, c->out);
	if (st != MLX4_STAT_OK)
		return st;
	tpm_cq_left(m, cq);
	tpm_cq_free(m, cq);
	return st;
}

uint8_t
tpm_cmd_query_cq(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_cq *cq;
	uint8_t st = cq_find(m, c->in_modifier, &cq);

	return st != MLX4_STAT_OK ? st : cq_write_back(m, cq, c->out);
}

/* Numbers go on, so that the ring begins in the middle of a pass: no entry may look complete before it is. */
static void
cq_ring_init(const struct tp_model *m, struct tpm_cq *cq)
{
	if (tpm_quirk(m, MLX4_QUIRK_RESIZE_OWNER) != 0)
		return;
	tpm_ring_fill(&cq->ring, CQE_INIT);
	for (uint32_t i = cq->pi; i - cq->pi <= cq->mask; i++) {
		struct mlx4_cqe *cqe = (void *)(tpm_ring_at(&cq->ring, (i & cq->mask) << cq->lg_stride) + cq->cqe_off);

		if ((i & (cq->mask + 1)) != 0)
			cqe->owner_sr_opcode &= (uint8_t)~MLX4_CQE_OWNER;
	}
}

/* The fields at the places that they have in a context. */
static const uint8_t *
resize_fields(const struct tp_model *m, const uint8_t *mbox, uint8_t moved[MLX4_CQC_SIZE])
{
	if (tpm_quirk(m, MLX4_QUIRK_RESIZE_MBOX) == 0)
		return mbox;
	memset(moved, 0, MLX4_CQC_SIZE);
	prm_set(moved, MLX4_CQC_LG_SIZE, prm_get(mbox, MLX4_RESIZE_2007_LG_SIZE));
	prm_set(moved, MLX4_CQC_PAGE_OFFSET, prm_get(mbox, MLX4_RESIZE_2007_PAGE_OFFSET));
	prm_set(moved, MLX4_CQC_LG_PAGE, prm_get(mbox, MLX4_RESIZE_2007_LG_PAGE));
	prm_set(moved, MLX4_CQC_MTT_H, prm_get(mbox, MLX4_RESIZE_2007_MTT_H));
	prm_set(moved, MLX4_CQC_MTT_L, prm_get(mbox, MLX4_RESIZE_2007_MTT_L));
	return moved;
}

/*
 * Completions go on in a new buffer after one RESIZE entry in the old one, which takes a number of its own [DP 6.7]. What
 * is still unread stays in the old buffer, so the new one must hold at least as many.
 */
static uint8_t
cq_resize(struct tp_model *m, struct tpm_cq *cq, const uint8_t *mbox)
{
	uint8_t moved[MLX4_CQC_SIZE];
	const uint8_t *in = resize_fields(m, mbox, moved);
	uint32_t lg = prm_get(in, MLX4_CQC_LG_SIZE), used;
	struct tpm_ring ring;
	struct mlx4_cqe *cqe;
	uint8_t *ctx;

	if (lg > TPM_LG_MAX_CQES)
		return tpm_fail(m, EXCEED_LIM, CMD_LIMIT, "CQ", cq->cqn, "lg size is %u, wanted at most %u", lg,
				TPM_LG_MAX_CQES);
	ctx = tpm_ctx_at(m, m->cqc_base, TPM_CQC_ENTRY, MLX4_CMPT_CQ, "CQ", cq->cqn);
	if (ctx == NULL)
		return MLX4_STAT_ICM_ERROR;
	/* What was read since the ring was full last counts no more. */
	tpm_cq_read_ci(m, cq);
	used = cq->pi - cq->ci + 1;
	/* No rule is broken: how far another process has read the queue that it was given is the card's to know. */
	if (used > cq->mask + 1 || used > 1u << lg)
		return MLX4_STAT_BAD_SIZE;
	cqe = tpm_cqe_next(m, cq);
	if (cqe == NULL)
		return MLX4_STAT_ICM_ERROR;
	if (cq_ring(m, lg, in, &ring) != 0)
		return MLX4_STAT_INTERNAL_ERR;
	if (tpm_ring_resolve(m, &ring, "CQ", cq->cqn) != 0) {
		tpm_ring_fini(&ring);
		return MLX4_STAT_ICM_ERROR;
	}
	tpm_cqe_commit(cq, cqe, MLX4_CQE_RESIZE);
	tpm_ring_fini(&cq->ring);
	cq->ring = ring;
	cq->mask = (1u << lg) - 1;
	cq_ring_init(m, cq);
	prm_set(ctx, MLX4_CQC_LG_SIZE, lg);
	prm_set(ctx, MLX4_CQC_PAGE_OFFSET, prm_get(in, MLX4_CQC_PAGE_OFFSET));
	prm_set(ctx, MLX4_CQC_LG_PAGE, prm_get(in, MLX4_CQC_LG_PAGE));
	prm_set(ctx, MLX4_CQC_MTT_H, prm_get(in, MLX4_CQC_MTT_H));
	prm_set(ctx, MLX4_CQC_MTT_L, prm_get(in, MLX4_CQC_MTT_L));
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_modify_cq(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_cq *cq;
	uint8_t st = cq_find(m, c->in_modifier, &cq);

	if (st != MLX4_STAT_OK)
		return st;
	switch (c->op_modifier) {
	case MLX4_MODIFY_CQ_RESIZE: return cq_resize(m, cq, c->in);
	case MLX4_MODIFY_CQ_MODERATION:
		cq->mod_count = (uint16_t)prm_get(c->in, MLX4_CQC_MOD_COUNT);
		cq->mod_period_us = (uint16_t)prm_get(c->in, MLX4_CQC_MOD_PERIOD);
		return MLX4_STAT_OK;
	default:
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "CQ", cq->cqn, "MODIFY_CQ op_modifier %u, wanted 0 or 1",
				c->op_modifier);
	}
}
