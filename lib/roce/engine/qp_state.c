/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The life of a QP of the engine: its states, what is flushed; codes of timers and credits. */
#include "engine_priv.h"

/* RNR timer codes in units of 10 us (table 45). */
static const uint16_t rnr_10us[32] = {65535, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
				      48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
				      2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
#define RNR_CODE0_NS 655360000u /* code 0 does not fit the table's unit */

static const uint16_t credit_counts[31] = {0,    1,    2,    3,    4,    6,     8,     12,    16,   24,   32,
					   48,   64,   96,   128,  192,  256,   384,   512,   768,  1024, 1536,
					   2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

uint64_t
tre_rnr_ns(uint8_t code)
{
	code &= 31;
	return code == 0 ? RNR_CODE0_NS : (uint64_t)rnr_10us[code] * 10000;
}

uint64_t
tre_timeout_ns(uint8_t code)
{
	return (code & 31) == 0 ? TRE_NEVER : UINT64_C(4096) << (code & 31);
}

uint8_t
tre_credit_code(uint32_t count)
{
	uint32_t lg;

	if (count < 2)
		return (uint8_t)count;
	/* Two codes for each power of two: itself, and half as much again. */
	lg = 31u - (uint32_t)__builtin_clz(count);
	return lg >= 15 ? 30 : (uint8_t)(2 * lg + (count >> (lg - 1) & 1));
}

uint32_t
tre_credit_count(uint8_t code)
{
	return code > 30 ? UINT32_MAX : credit_counts[code];
}

void
tre_qp_init(struct tre_qp *qp, const struct tre_ops *ops, void *home, struct tre_stats *stats, struct tre_wqe *sq,
	    unsigned int lg_sq)
{
	memset(qp, 0, sizeof(*qp));
	qp->ops = ops;
	qp->home = home;
	qp->stats = stats;
	qp->sq = sq;
	qp->sq_mask = (1u << lg_sq) - 1;
	qp->state = IBV_QPS_RESET;
	qp->timer = qp->rnr_until = TRE_NEVER;
}

void
tre_flush_send(struct tre_qp *qp)
{
	while (qp->una != qp->tail) {
		struct tre_wqe *w = &qp->sq[qp->una++ & qp->sq_mask];

		qp->stats->rq_flush_err++;
		qp->ops->send_done(qp, w, IBV_WC_WR_FLUSH_ERR);
	}
	qp->next = qp->una;
	qp->rd_out = 0;
	qp->timer = qp->rnr_until = TRE_NEVER;
}

void
tre_flush_recv(struct tre_qp *qp)
{
	const struct tre_recv wc = {.status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV};
	struct tre_rwqe r;

	qp->in_recv = false;
	while (qp->ops->recv_next(qp, &r)) {
		qp->stats->rs_flush_err++;
		qp->ops->recv_done(qp, &r, &wc, NULL);
	}
}

void
tre_to_error(struct tre_qp *qp)
{
	qp->state = IBV_QPS_ERR;
	tre_flush_send(qp);
	tre_flush_recv(qp);
}

void
tre_qp_fail(struct tre_qp *qp, enum ibv_event_type event)
{
	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_RESET)
		return;
	tre_to_error(qp);
	qp->ops->event(qp, event);
}

static void
forget(struct tre_qp *qp)
{
	struct tre_wqe *sq = qp->sq;
	uint32_t mask = qp->sq_mask;
	const struct tre_ops *ops = qp->ops;
	struct tre_stats *stats = qp->stats;
	void *home = qp->home;

	memset(qp, 0, sizeof(*qp));
	qp->ops = ops;
	qp->home = home;
	qp->stats = stats;
	qp->sq = sq;
	qp->sq_mask = mask;
	qp->timer = qp->rnr_until = TRE_NEVER;
}

static void
start_sending(struct tre_qp *qp)
{
	qp->next_psn = qp->high_psn = qp->una_psn = qp->a.sq_psn & IB_PSN_MASK;
	qp->retries = qp->a.retry_cnt;
	qp->rnr_retries = qp->a.rnr_retry;
	/* Until the peer says otherwise its credits are not counted (9.7.7.2.5). */
	qp->credits_on = false;
}

void
tre_qp_state(struct tre_qp *qp, enum ibv_qp_state state, const struct tre_attr *a)
{
	enum ibv_qp_state from = qp->state;

	if (a != NULL) {
		qp->a = *a;
		qp->lg_mtu = a->mtu == 0 ? 0 : (uint32_t)__builtin_ctz(a->mtu);
	}
	switch (state) {
	case IBV_QPS_RESET: forget(qp); return;
	case IBV_QPS_ERR:
		if (from != IBV_QPS_ERR)
			tre_to_error(qp);
		return;
	case IBV_QPS_RTR: qp->epsn = qp->a.rq_psn & IB_PSN_MASK; break;
	case IBV_QPS_RTS:
		if (from == IBV_QPS_RTR)
			start_sending(qp);
		qp->sq_draining = false;
		break;
	case IBV_QPS_SQD: qp->sq_draining = true; break;
	default: break;
	}
	qp->state = state;
}
