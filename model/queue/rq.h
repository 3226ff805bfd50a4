/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What both roads into a receive queue share (rq.c). */
#ifndef MODEL_QUEUE_RQ_H
#define MODEL_QUEUE_RQ_H

#include <rte_common.h>
#include <rte_prefetch.h>

#include "queue.h"

#define TPM_PREFETCH_AHEAD 3u /* frames */
#define TPM_PREFETCH_MAX 512u

static inline const uint8_t *
tpm_rq_wqe(const struct tpm_qp *qp, uint32_t head)
{
	return tpm_ring_at(&qp->ring, qp->rq_off + ((head & qp->rq_mask) << qp->rq_lg_stride));
}

/* The lines behind the first of a frame and of its buffer: they come from the other side's cache, too. */
static inline void
tpm_prefetch_rest(const uint8_t *src, uint32_t len, uint8_t *dst)
{
	if (len >= TPM_PREFETCH_MAX) {
#pragma GCC unroll 8
		for (uint32_t at = 64; at < TPM_PREFETCH_MAX; at += 64) {
			rte_prefetch0(src + at);
			tpm_prefetchw(dst + at);
		}
		return;
	}
	for (uint32_t at = 64; at < len; at += 64) {
		rte_prefetch0(src + at);
		tpm_prefetchw(dst + at);
	}
}

/* Can its ring be reached? If not, the QP is in error. */
bool tpm_rq_ready(struct tp_model *m, struct tpm_qp *qp);
/* How many receive WQEs are posted, as far as anybody wants to know. */
unsigned int tpm_rq_posted(struct tp_model *m, struct tpm_qp *qp, unsigned int want);
/* Status, extension mask and flags of the CQE as its dword at 0x10; *csum: its checksum field. */
uint32_t tpm_rq_status(const struct tpm_port *p, const struct tp_frame *f, const uint8_t *h, const struct tpm_pkt *k,
		       uint16_t *csum);
/* Fills an entry, hands it over and takes the receive WQE. */
void tpm_rq_cqe(struct tp_model *m, struct tpm_qp *qp, struct mlx4_cqe *c, uint32_t len, uint32_t hash, uint32_t status,
		uint16_t csum, uint32_t vlan_flags, uint16_t tci);
/* A frame that finds no receive WQE waits for one, or is lost. */
void tpm_rq_none(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tp_frame *in, uint32_t hash);

#endif /* MODEL_QUEUE_RQ_H */
