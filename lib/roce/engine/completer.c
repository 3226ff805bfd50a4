/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What comes back to the requester of an RC queue pair: ACKs, NAKs, READ and atomic responses (IBTA 9.7.5, 9.7.7). */
#include "engine_priv.h"

static inline struct tre_wqe *
sq_at(const struct tre_qp *qp, uint32_t i)
{
	return &qp->sq[i & qp->sq_mask];
}

/*
 * A response was lost, says what came after it (9.7.7.1.3). More of what came after is on its way still: only the first
 * packet of it sends the queue back, the timer helps if that was in vain.
 */
static void
implied_nak(struct tre_qp *qp, uint32_t psn, uint64_t now)
{
	if (!qp->implied && tre_requester_retry(qp, psn, now))
		qp->implied = true;
}

/* Everything before this PSN is acknowledged. */
static void
advance(struct tre_qp *qp, uint32_t psn, uint64_t now)
{
	if (ib_psn_diff(psn, qp->una_psn) <= 0)
		return;
	qp->una_psn = psn;
	qp->implied = false;
	if (ib_psn_diff(qp->next_psn, psn) < 0) {
		/* What was to be sent again arrived after all. The requests that are done by that come off the queue next. */
		qp->next_psn = psn;
		qp->next = qp->una;
	}
	qp->retries = qp->a.retry_cnt;
	qp->rnr_retries = qp->a.rnr_retry;
	tre_requester_timer(qp, now);
}

/*
 * Requests whose packets all lie before psn are done. False: a READ or an atomic in between was not answered, its
 * response must have been lost (9.7.7.1.3).
 */
static bool
acknowledge(struct tre_qp *qp, uint32_t psn, uint64_t now)
{
	bool whole = true;
	uint32_t upto = psn;

	for (uint32_t i = qp->una; i != qp->tail; i++) {
		struct tre_wqe *w = sq_at(qp, i);

		if (!w->started || w->status != IBV_WC_SUCCESS)
			break;
		if (w->answered)
			continue;
		if (ib_psn_diff(psn, w->first_psn) <= 0)
			break;
		if (tre_is_rd_atomic(w)) {
			upto = ib_psn_add(w->first_psn, w->got >> qp->lg_mtu);
			whole = false;
			break;
		}
		if (ib_psn_diff(psn, ib_psn_add(w->first_psn, w->num_psn)) < 0)
			break;
		w->answered = true;
	}
	advance(qp, upto, now);
	tre_requester_retire(qp);
	return whole;
}

static void
credits(struct tre_qp *qp, const uint8_t *aeth)
{
	uint8_t code = aeth[0] & IB_AETH_VALUE;

	if (!qp->a.credits || code == IB_CREDITS_NONE) {
		qp->credits_on = false;
		return;
	}
	qp->credits_on = true;
	qp->credit_limit = (ib_get24(aeth + 1) + tre_credit_count(code)) & IB_MSN_MASK;
}

static void
receiver_not_ready(struct tre_qp *qp, uint8_t code, uint32_t psn, uint64_t now)
{
	qp->stats->rq_rnr_nak++;
	if (qp->a.rnr_retry != 7) {
		if (qp->rnr_retries == 0) {
			tre_requester_fail(qp, IBV_WC_RNR_RETRY_EXC_ERR);
			return;
		}
		qp->rnr_retries--;
	}
	tre_requester_rewind(qp, psn);
	qp->timer = TRE_NEVER;
	qp->rnr_until = now + tre_rnr_ns(code);
}

static void
negative(struct tre_qp *qp, uint8_t syndrome, uint32_t psn, uint64_t now)
{
	switch (syndrome) {
	case IB_NAK_PSN:
		qp->stats->rq_out_of_order++;
		tre_requester_retry(qp, psn, now);
		return;
	case IB_NAK_INVALID: tre_requester_fail(qp, IBV_WC_REM_INV_REQ_ERR); return;
	case IB_NAK_ACCESS: tre_requester_fail(qp, IBV_WC_REM_ACCESS_ERR); return;
	default: tre_requester_fail(qp, IBV_WC_REM_OP_ERR); return;
	}
}

static void
ack(struct tre_qp *qp, const uint8_t *aeth, uint32_t psn, uint64_t now)
{
	uint8_t syndrome = aeth[0];
	bool positive = (syndrome & IB_AETH_TYPE) == IB_AETH_ACK;

	if (positive)
		credits(qp, aeth);
	/* A NAK acknowledges what lies before its PSN (9.7.5.2). */
	if (!acknowledge(qp, positive ? ib_psn_add(psn, 1) : psn, now)) {
		implied_nak(qp, qp->una_psn, now);
		return;
	}
	if (positive || qp->una == qp->tail || qp->state == IBV_QPS_ERR)
		return;
	if ((syndrome & IB_AETH_TYPE) == IB_AETH_RNR)
		receiver_not_ready(qp, syndrome & IB_AETH_VALUE, psn, now);
	else
		negative(qp, syndrome, psn, now);
}

/* The READ or atomic that a response's PSN belongs to; NULL: none waits for it. */
static struct tre_wqe *
awaited(struct tre_qp *qp, uint32_t psn)
{
	for (uint32_t i = qp->una; i != qp->tail; i++) {
		struct tre_wqe *w = sq_at(qp, i);

		if (!w->started)
			return NULL;
		if (w->opcode == TRE_WR_LOCAL || ib_psn_diff(psn, ib_psn_add(w->first_psn, w->num_psn)) >= 0)
			continue;
		return ib_psn_diff(psn, w->first_psn) >= 0 && tre_is_rd_atomic(w) ? w : NULL;
	}
	return NULL;
}

static void
answered(struct tre_qp *qp, struct tre_wqe *w, uint64_t now)
{
	w->answered = true;
	qp->rd_out--;
	advance(qp, ib_psn_add(w->first_psn, w->num_psn), now);
	tre_requester_retire(qp);
}

static void
read_response(struct tre_qp *qp, struct tre_wqe *w, const struct ib_opcode *o, const uint8_t *data, uint32_t len,
	      uint32_t psn, uint64_t now)
{
	uint32_t want = ib_psn_add(w->first_psn, w->got >> qp->lg_mtu), left = w->len - w->got;
	bool last = left <= qp->a.mtu;
	int rc;

	/* What lies before it is acknowledged and was dropped. */
	if (psn != want) {
		implied_nak(qp, want, now);
		return;
	}
	if (w->opcode != IBV_WR_RDMA_READ || ((o->flags & IB_F_END) != 0) != last || len != (last ? left : qp->a.mtu)) {
		tre_requester_fail(qp, IBV_WC_BAD_RESP_ERR);
		return;
	}
	rc = len == 0 ? 0 : qp->ops->scatter_wqe(qp, w, w->got, data, len);
	if (rc < 0) {
		tre_requester_fail(qp, (enum ibv_wc_status) - rc);
		return;
	}
	w->got += len;
	if (last)
		answered(qp, w, now);
	else
		advance(qp, ib_psn_add(psn, 1), now);
}

static void
atomic_response(struct tre_qp *qp, struct tre_wqe *w, const uint8_t *old, uint64_t now)
{
	uint64_t v = ib_get64(old);
	int rc;

	if (w->opcode == IBV_WR_RDMA_READ) {
		tre_requester_fail(qp, IBV_WC_BAD_RESP_ERR);
		return;
	}
	rc = qp->ops->scatter_wqe(qp, w, 0, &v, sizeof(v));
	if (rc < 0)
		tre_requester_fail(qp, (enum ibv_wc_status) - rc);
	else
		answered(qp, w, now);
}

void
tre_completer_input(struct tre_qp *qp, const struct ib_opcode *o, const uint8_t *bth, const uint8_t *data, uint32_t len,
		    uint64_t now)
{
	uint32_t psn = ib_bth_psn(bth);
	/* Of all responses only the middle of a READ has none. */
	const uint8_t *aeth = bth + IB_BTH_LEN;
	bool has_aeth = (o->flags & IB_F_AETH) != 0;
	struct tre_wqe *w;

	if (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD)
		return;
	if (ib_psn_diff(psn, qp->una_psn) < 0 || ib_psn_diff(psn, qp->high_psn) >= 0) {
		/* An ACK repeated for the last PSN brings new credits and nothing else (9.7.7.2.5). */
		if (has_aeth && o->flags == ib_opcodes[IB_OP_ACK].flags && ib_psn_add(psn, 1) == qp->una_psn &&
		    (aeth[0] & IB_AETH_TYPE) == IB_AETH_ACK)
			credits(qp, aeth);
		else
			qp->stats->rq_ghost++;
		return;
	}
	if ((o->flags & (IB_F_READ | IB_F_ATOMIC)) == 0) {
		ack(qp, aeth, psn, now);
		return;
	}
	if (has_aeth && (aeth[0] & IB_AETH_TYPE) != IB_AETH_ACK) {
		tre_requester_fail(qp, IBV_WC_BAD_RESP_ERR);
		return;
	}
	w = awaited(qp, psn);
	if (w == NULL) {
		tre_requester_fail(qp, IBV_WC_BAD_RESP_ERR);
		return;
	}
	if (has_aeth)
		credits(qp, aeth);
	/* A response acknowledges all requests before its own. */
	if (!acknowledge(qp, w->first_psn, now)) {
		implied_nak(qp, qp->una_psn, now);
		return;
	}
	if (qp->state == IBV_QPS_ERR)
		return;
	if ((o->flags & IB_F_ATOMIC) != 0)
		atomic_response(qp, w, bth + o->aack, now);
	else
		read_response(qp, w, o, data, len, psn, now);
}
