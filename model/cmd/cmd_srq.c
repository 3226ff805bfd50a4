/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Shared receive queues as objects [CP 5.3]. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/queue/queue.h"
#include "cmd.h"

static uint8_t
srq_index(struct tp_model *m, uint32_t srqn)
{
	return tpm_index_check(m, "SRQ", srqn, m->lg_srqs, 1u << TPM_LG_RSVD_SRQS);
}

static uint8_t
srq_find(struct tp_model *m, uint32_t srqn, struct tpm_srq **srq)
{
	uint8_t st = srq_index(m, srqn);

	if (st != MLX4_STAT_OK)
		return st;
	*srq = m->srq[srqn];
	if (*srq == NULL)
		return tpm_fail(m, BAD_RES_STATE, CMD_RES_STATE, "SRQ", srqn, "owned by software, wanted hardware");
	return MLX4_STAT_OK;
}

static uint8_t
srq_check(struct tp_model *m, uint32_t srqn, const uint8_t *in)
{
	uint64_t dbrec = prm_get64(in, MLX4_SRQC_DBREC);

	if (prm_get(in, MLX4_SRQC_LG_SIZE) > TPM_LG_MAX_QP_WQES)
		return tpm_fail(m, EXCEED_LIM, CMD_LIMIT, "SRQ", srqn, "lg size is %u, wanted at most %u",
				prm_get(in, MLX4_SRQC_LG_SIZE), TPM_LG_MAX_QP_WQES);
	if (prm_get(in, MLX4_SRQC_SRQN) != srqn)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "SRQ", srqn, "its context names SRQ 0x%x",
				prm_get(in, MLX4_SRQC_SRQN));
	if ((dbrec & 3) != 0)
		return tpm_fail(m, BAD_PARAM, CTX_RSVD, "SRQ", srqn,
				"doorbell record at 0x%" PRIx64 ", wanted a multiple of 4", dbrec);
	return tpm_dma(m, dbrec, 4, TP_DMA_READ, "SRQ doorbell record") == NULL ? MLX4_STAT_BAD_PARAM : MLX4_STAT_OK;
}

uint8_t
tpm_cmd_sw2hw_srq(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t srqn = c->in_modifier;
	uint8_t st = srq_index(m, srqn), *ctx;
	struct tpm_srq *srq;

	if (st != MLX4_STAT_OK)
		return st;
	if (m->srq[srqn] != NULL)
		return tpm_fail(m, BAD_RES_STATE, CMD_RES_STATE, "SRQ", srqn, "owned by hardware, wanted software");
	st = srq_check(m, srqn, c->in);
	if (st != MLX4_STAT_OK)
		return st;
	ctx = tpm_ctx_at(m, m->srqc_base, TPM_SRQC_ENTRY, MLX4_CMPT_SRQ, "SRQ", srqn);
	if (ctx == NULL)
		return MLX4_STAT_ICM_ERROR;
	srq = calloc(1, sizeof(*srq));
	if (srq == NULL)
		return MLX4_STAT_INTERNAL_ERR;
	srq->srqn = srqn;
	memcpy(srq->ctx, c->in, MLX4_SRQC_SIZE);
	if (tpm_srq_open(m, srq) != 0) {
		free(srq);
		return MLX4_STAT_INTERNAL_ERR;
	}
	memset(ctx, 0, TPM_SRQC_ENTRY);
	memcpy(ctx, c->in, MLX4_SRQC_SIZE);
	m->srq[srqn] = srq;
	return MLX4_STAT_OK;
}

void
tpm_srq_free(struct tp_model *m, struct tpm_srq *srq)
{
	m->srq[srq->srqn] = NULL;
	tpm_ring_fini(&srq->ring);
	free(srq);
}

uint8_t
tpm_cmd_hw2sw_srq(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_srq *srq;
	uint8_t st = srq_find(m, c->in_modifier, &srq);

	if (st != MLX4_STAT_OK)
		return st;
	if (srq->refs != 0)
		return tpm_fail(m, RESOURCE_BUSY, CMD_BUSY, "SRQ", srq->srqn, "%u QPs still use it", srq->refs);
	if (!tpm_cmd_may_out(m, c))
		return MLX4_STAT_BAD_PARAM;
	if (c->out != NULL)
		memcpy(c->out, srq->ctx, MLX4_SRQC_SIZE);
	tpm_srq_free(m, srq);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_query_srq(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_srq *srq;
	uint8_t st = srq_find(m, c->in_modifier, &srq);

	if (st == MLX4_STAT_OK)
		memcpy(c->out, srq->ctx, MLX4_SRQC_SIZE);
	return st;
}

uint8_t
tpm_cmd_arm_srq(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_srq *srq;
	uint8_t st = srq_find(m, c->in_modifier, &srq);

	if (st != MLX4_STAT_OK)
		return st;
	if (c->in_param > 1u << prm_get(srq->ctx, MLX4_SRQC_LG_SIZE))
		return tpm_fail(m, EXCEED_LIM, CMD_LIMIT, "SRQ", srq->srqn, "limit %" PRIu64 ", wanted at most %u",
				c->in_param, 1u << prm_get(srq->ctx, MLX4_SRQC_LG_SIZE));
	prm_set(srq->ctx, MLX4_SRQC_LIMIT, (uint32_t)c->in_param);
	return MLX4_STAT_OK;
}
