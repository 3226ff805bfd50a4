/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Shared receive queues at run time [DP 5.2]: WQEs form a list through their next fields, from entry 0 on; a counter in
 * the doorbell record says how many were ever posted. Whoever receives takes the first.
 */
#include "model/event/event.h"
#include "queue.h"

#define LG_STRIDE_BIAS 4u

int
tpm_srq_open(struct tp_model *m, struct tpm_srq *srq)
{
	const uint8_t *ctx = srq->ctx;
	uint32_t lg = prm_get(ctx, MLX4_SRQC_LG_SIZE);

	srq->lg_stride = (uint8_t)(prm_get(ctx, MLX4_SRQC_LG_STRIDE) + LG_STRIDE_BIAS);
	srq->mask = (1u << lg) - 1;
	srq->max_sge = ((1u << srq->lg_stride) - MLX4_SRQ_WQE_LIST) / MLX4_DS_SIZE;
	return tpm_ring_init(m, &srq->ring, tpm_mtt_offset(ctx, MLX4_SRQC_MTT_H, MLX4_SRQC_MTT_L),
			     (uint8_t)(prm_get(ctx, MLX4_SRQC_LG_PAGE) + 12), prm_get(ctx, MLX4_SRQC_PAGE_OFFSET) * 64u,
			     (srq->mask + 1) << srq->lg_stride);
}

static uint16_t
posted(struct tp_model *m, struct tpm_srq *srq)
{
	uint64_t addr = prm_get64(srq->ctx, MLX4_SRQC_DBREC);
	const uint8_t *rec = tpm_dma(m, addr, 4, TP_DMA_READ, "SRQ doorbell record");
	uint32_t count =
		rec == NULL
			? 0
			: rte_be_to_cpu_32(__atomic_load_n((const rte_be32_t *)(const void *)rec, __ATOMIC_ACQUIRE));
	uint16_t n = (uint16_t)(count - srq->taken);

	if (rec == NULL)
		return 0;
	if (n > srq->mask + 1) {
		tpm_violate(m, TPM_V_DBREC_RQ, "SRQ", srq->srqn,
			    "doorbell record 0x%x with 0x%x consumed of %u entries", count, srq->taken, srq->mask + 1);
		return 0;
	}
	return n;
}

const uint8_t *
tpm_srq_take(struct tp_model *m, struct tpm_srq *srq, uint64_t *slot)
{
	uint16_t left = posted(m, srq);
	uint32_t limit = prm_get(srq->ctx, MLX4_SRQC_LIMIT);
	const uint8_t *w;

	if (left == 0 || ((srq->ring.gen != m->tpt_gen || !srq->ring.valid) &&
			  tpm_ring_resolve(m, &srq->ring, "SRQ", srq->srqn) != 0))
		return NULL;
	w = tpm_ring_at(&srq->ring, (srq->head & srq->mask) << srq->lg_stride);
	*slot = srq->head;
	srq->head = (uint16_t)prm_get(w, MLX4_SRQ_WQE_NEXT);
	srq->taken++;
	prm_set(srq->ctx, MLX4_SRQC_WQE_COUNT, left - 1u);
	prm_set(srq->ctx, MLX4_SRQC_WQE_COUNTER, srq->taken);
	/* Once: software arms it anew [DP 5.2] */
	if (limit != 0 && left - 1u < limit) {
		prm_set(srq->ctx, MLX4_SRQC_LIMIT, 0);
		tpm_event_srq(m, MLX4_EVENT_SRQ_LIMIT, srq->srqn);
	}
	return w + MLX4_SRQ_WQE_LIST;
}
