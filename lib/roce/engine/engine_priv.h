/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the engine's files share. */
#ifndef ROCE_ENGINE_ENGINE_PRIV_H
#define ROCE_ENGINE_ENGINE_PRIV_H

#include "engine.h"

static inline bool
tre_is_rd_atomic(const struct tre_wqe *w)
{
	return w->opcode == IBV_WR_RDMA_READ || w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static inline uint32_t
tre_packets(const struct tre_qp *qp, uint32_t len)
{
	return len == 0 ? 1 : (uint32_t)(((uint64_t)len + qp->a.mtu - 1) >> qp->lg_mtu);
}

/* Counts and hands over; false: the wire is full. */
static inline bool
tre_xmit(struct tre_qp *qp, struct tre_out *out)
{
	if (!qp->ops->xmit(qp, out))
		return false;
	qp->stats->tx_packets++;
	qp->stats->tx_bytes += out->len;
	return true;
}

/* --- requester.c --- */
unsigned int tre_requester_run(struct tre_qp *qp, unsigned int budget, uint64_t now);
/* Goes back to the packet with this PSN. */
void tre_requester_rewind(struct tre_qp *qp, uint32_t psn);
/* Requests at the head of the queue that ended come off it; an error among them takes the queue down. */
void tre_requester_retire(struct tre_qp *qp);
/* The oldest request ends with this status and the queue with it. */
void tre_requester_fail(struct tre_qp *qp, enum ibv_wc_status status);
/* The ACK timer starts anew, or stops when nothing is outstanding. */
void tre_requester_timer(struct tre_qp *qp, uint64_t now);
/* A packet could be sent now. */
bool tre_requester_busy(const struct tre_qp *qp);
/* A retry is used up; false: there was none left and the queue failed. */
bool tre_requester_retry(struct tre_qp *qp, uint32_t psn, uint64_t now);

/* --- completer.c --- */
void tre_completer_input(struct tre_qp *qp, const struct ib_opcode *o, const uint8_t *bth, const uint8_t *data,
			 uint32_t len, uint64_t now);

/* --- responder.c, responder_dgram.c --- */
void tre_responder_rc(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, const uint8_t *data,
		      uint32_t len);
void tre_responder_uc(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, const uint8_t *data,
		      uint32_t len);
void tre_responder_ud(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, const uint8_t *data,
		      uint32_t len);
unsigned int tre_responder_run(struct tre_qp *qp, unsigned int budget);

/* --- qp_state.c --- */
/* To the error state; what is posted is flushed. */
void tre_to_error(struct tre_qp *qp);
void tre_flush_send(struct tre_qp *qp);
void tre_flush_recv(struct tre_qp *qp);

#endif /* ROCE_ENGINE_ENGINE_PRIV_H */
