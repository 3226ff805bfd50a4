/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The instruction count of verbs: one harness plays the card on rings in memory, two drivers post to them and poll them,
 * unchanged, by the inline functions of <infiniband/verbs.h>. Nothing here includes a driver's header, so both link with the
 * same object.
 */
#ifndef RINGS_H
#define RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define RINGS_WRS 128
#define RINGS_LEN 64u /* bytes inline that a queue pair is asked for */

/* Completions of 32 bytes. */
struct rings_cq {
	struct ibv_cq *cq;
	uint8_t *cqes;
	uint32_t mask;
	uint32_t pi; /* completions written */
};

/* What the card sees of a queue pair and its completion queues. */
struct rings_qp {
	struct ibv_qp *qp;
	struct ibv_srq *srq; /* or NULL */
	struct ibv_ah *ah;   /* of a UD queue pair */
	uint32_t qpn;        /* as completions have it */
	uint8_t *sq;
	unsigned int lg_stride; /* of the send queue */
	uint32_t sq_mask;       /* WQEs - 1 */
	uint32_t sq_ci;         /* WQEs executed */
	uint8_t *rq;            /* of the shared queue, if there is one */
	unsigned int lg_rq_stride;
	uint32_t rq_mask;
	uint32_t rq_ci;
	volatile uint32_t *doorbell;
	uint8_t *bf; /* BlueFlame register, or NULL */
	uint32_t bf_len;
	struct rings_cq send, recv;
};

/* What a driver under test provides. bf: BlueFlame is used. 0 or negative errno. */
extern const char rings_driver[];
int rings_init(bool bf);
int rings_make(enum ibv_qp_type type, bool srq, struct rings_qp *q);

#endif /* RINGS_H */
