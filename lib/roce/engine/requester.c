/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The sending side (IBTA 9.7.3, 9.8, 9.9): requests become packets in order, go out again from the first that was lost,
 * and end in order. The completer tells it what arrived.
 */
#include "engine_priv.h"

/* An ACK is asked for at the end of a message, and so often within a window that the window never runs dry. */
#define ACKS_PER_WINDOW 4u
#define MSG_MAX 0x80000000u
#define PSN_SPAN 0x7fffff /* sequence numbers that can be told apart (9.7.2) */

static inline struct tre_wqe *
sq_at(const struct tre_qp *qp, uint32_t i)
{
	return &qp->sq[i & qp->sq_mask];
}

static inline bool
outstanding(const struct tre_qp *qp)
{
	return qp->una != qp->tail && sq_at(qp, qp->una)->started && qp->high_psn != qp->una_psn;
}

void
tre_requester_timer(struct tre_qp *qp, uint64_t now)
{
	uint64_t t = tre_timeout_ns(qp->a.timeout);

	qp->timer = t == TRE_NEVER || qp->rnr_until != TRE_NEVER || !outstanding(qp) ? TRE_NEVER : now + t;
}

static void
count_failure(struct tre_stats *st, enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_LOC_LEN_ERR: st->rq_len_err++; break;
	case IBV_WC_LOC_QP_OP_ERR: st->rq_op_err++; break;
	case IBV_WC_LOC_PROT_ERR: st->rq_prot_err++; break;
	case IBV_WC_MW_BIND_ERR: st->rq_bind_err++; break;
	case IBV_WC_REM_INV_REQ_ERR: st->rq_remote_invalid++; break;
	case IBV_WC_REM_ACCESS_ERR: st->rq_remote_access++; break;
	case IBV_WC_REM_OP_ERR: st->rq_remote_op++; break;
	case IBV_WC_RETRY_EXC_ERR: st->rq_retry_exceeded++; break;
	case IBV_WC_RNR_RETRY_EXC_ERR: st->rq_rnr_exceeded++; break;
	case IBV_WC_BAD_RESP_ERR: st->rq_bad_response++; break;
	default: break;
	}
}

void
tre_requester_fail(struct tre_qp *qp, enum ibv_wc_status status)
{
	struct tre_wqe *w = sq_at(qp, qp->una);

	count_failure(qp->stats, status);
	if (qp->una != qp->tail) {
		qp->una++;
		qp->ops->send_done(qp, w, status);
	}
	if (qp->a.type == IBV_QPT_RC) {
		tre_to_error(qp);
		return;
	}
	/* The receive queues of UC and UD go on (10.3.1.5). */
	qp->state = IBV_QPS_SQE;
	tre_flush_send(qp);
}

void
tre_requester_retire(struct tre_qp *qp)
{
	while (qp->una != qp->tail) {
		struct tre_wqe *w = sq_at(qp, qp->una);

		if (w->status != IBV_WC_SUCCESS) {
			tre_requester_fail(qp, (enum ibv_wc_status)w->status);
			return;
		}
		if (!w->started || !w->answered)
			return;
		/* A request that failed behind this one keeps next where it is. */
		qp->una++;
		if ((int32_t)(qp->una - qp->next) > 0)
			qp->next = qp->una;
		qp->ops->send_done(qp, w, IBV_WC_SUCCESS);
	}
}

void
tre_requester_rewind(struct tre_qp *qp, uint32_t psn)
{
	for (uint32_t i = qp->una; i != qp->tail; i++) {
		const struct tre_wqe *w = sq_at(qp, i);

		if (!w->started)
			return;
		if (w->opcode == TRE_WR_LOCAL || ib_psn_diff(psn, ib_psn_add(w->first_psn, w->num_psn)) >= 0)
			continue;
		qp->next = i;
		qp->next_psn = psn;
		return;
	}
}

bool
tre_requester_retry(struct tre_qp *qp, uint32_t psn, uint64_t now)
{
	if (qp->retries == 0) {
		tre_requester_fail(qp, IBV_WC_RETRY_EXC_ERR);
		return false;
	}
	qp->retries--;
	tre_requester_rewind(qp, psn);
	tre_requester_timer(qp, now);
	return true;
}

/* The request cannot be sent: it ends with this status when those before it ended. */
static void
local_error(struct tre_qp *qp, struct tre_wqe *w, enum ibv_wc_status status)
{
	w->status = (uint8_t)status;
	tre_requester_retire(qp);
}

/* --- may it start? ---------------------------------------------------------------------------------------- */

static bool
needs_receive(const struct tre_wqe *w)
{
	return w->opcode == IBV_WR_SEND || w->opcode == IBV_WR_SEND_WITH_IMM || w->opcode == IBV_WR_SEND_WITH_INV ||
	       w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static enum ibv_wc_status
check_length(const struct tre_qp *qp, const struct tre_wqe *w)
{
	return w->len > MSG_MAX || tre_packets(qp, w->len) > PSN_SPAN ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
}

static enum ibv_wc_status
check_request(const struct tre_qp *qp, const struct tre_wqe *w)
{
	bool rc = qp->a.type == IBV_QPT_RC, ud = qp->a.type == IBV_QPT_UD;

	switch (w->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		if (ud)
			return w->len > qp->a.mtu ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
		return check_length(qp, w);
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM: return ud ? IBV_WC_LOC_QP_OP_ERR : check_length(qp, w);
	case IBV_WR_SEND_WITH_INV: return rc ? check_length(qp, w) : IBV_WC_LOC_QP_OP_ERR;
	case IBV_WR_RDMA_READ: return rc && qp->a.max_rd_atomic != 0 ? check_length(qp, w) : IBV_WC_LOC_QP_OP_ERR;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		if (!rc || qp->a.max_rd_atomic == 0)
			return IBV_WC_LOC_QP_OP_ERR;
		return w->len < sizeof(uint64_t) ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
	default: return IBV_WC_LOC_QP_OP_ERR;
	}
}

static bool
may_start(const struct tre_qp *qp, const struct tre_wqe *w)
{
	if (qp->state == IBV_QPS_SQD)
		return false;
	if ((w->flags & IBV_SEND_FENCE) != 0 && qp->rd_out != 0)
		return false;
	/* A READ takes the numbers of all its responses at once. */
	if (tre_is_rd_atomic(w) && qp->a.max_rd_atomic != 0 &&
	    (qp->rd_out >= qp->a.max_rd_atomic ||
	     ib_psn_diff(qp->next_psn, qp->una_psn) + (int64_t)tre_packets(qp, w->len) > PSN_SPAN))
		return qp->una == qp->next;
	/* Out of credits: one message at a time, whose answer brings new ones (9.7.7.2.5). */
	return !(qp->credits_on && needs_receive(w) && ib_psn_diff(qp->ssn, qp->credit_limit) >= 0 &&
		 qp->una != qp->next);
}

static void
start(struct tre_qp *qp, struct tre_wqe *w)
{
	w->started = true;
	w->first_psn = qp->next_psn;
	w->num_psn = w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD
			     ? 1
			     : tre_packets(qp, w->len);
	if (tre_is_rd_atomic(w))
		qp->rd_out++;
	qp->ssn = (qp->ssn + 1) & IB_MSN_MASK;
}

/* --- packets ---------------------------------------------------------------------------------------------- */

static const uint8_t send_ops[2][2] = {{IB_OP_SEND_MIDDLE, IB_OP_SEND_LAST}, {IB_OP_SEND_FIRST, IB_OP_SEND_ONLY}};
static const uint8_t write_ops[2][2] = {{IB_OP_WRITE_MIDDLE, IB_OP_WRITE_LAST}, {IB_OP_WRITE_FIRST, IB_OP_WRITE_ONLY}};

static uint8_t
data_op(const struct tre_wqe *w, bool first, bool last)
{
	switch (w->opcode) {
	case IBV_WR_RDMA_WRITE: return write_ops[first][last];
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return last ? (first ? IB_OP_WRITE_ONLY_IMM : IB_OP_WRITE_LAST_IMM) : write_ops[first][0];
	case IBV_WR_SEND_WITH_IMM:
		return last ? (first ? IB_OP_SEND_ONLY_IMM : IB_OP_SEND_LAST_IMM) : send_ops[first][0];
	case IBV_WR_SEND_WITH_INV:
		return last ? (first ? IB_OP_SEND_ONLY_INV : IB_OP_SEND_LAST_INV) : send_ops[first][0];
	default: return send_ops[first][last];
	}
}

static void
put_reth(uint8_t *p, uint64_t va, uint32_t rkey, uint32_t len)
{
	ib_put64(p, va);
	ib_put32(p + 8, rkey);
	ib_put32(p + 12, len);
}

/* The payload of a data packet as pieces. */
static bool
put_payload(struct tre_qp *qp, struct tre_wqe *w, uint32_t off, uint32_t len, struct tre_out *out)
{
	int n;

	out->len = len;
	out->pad = -len & 3u;
	out->num_iov = 0;
	if (len == 0)
		return true;
	if (w->inline_data != NULL) {
		out->iov[0].iov_base = (void *)(uintptr_t)(w->inline_data + off);
		out->iov[0].iov_len = len;
		out->num_iov = 1;
		return true;
	}
	n = qp->ops->gather(qp, w, off, len, out->iov);
	if (n < 0) {
		local_error(qp, w, (enum ibv_wc_status) - n);
		return false;
	}
	out->num_iov = (uint32_t)n;
	return true;
}

static bool
ask_ack(const struct tre_qp *qp, bool last)
{
	uint32_t every = qp->a.window / ACKS_PER_WINDOW;

	return qp->a.type == IBV_QPT_RC && (last || every <= 1 || qp->next_psn % every == 0);
}

/* SEND and WRITE of RC and UC. */
static bool
put_data(struct tre_qp *qp, struct tre_wqe *w, struct tre_out *out, bool *last)
{
	uint32_t index = (uint32_t)ib_psn_diff(qp->next_psn, w->first_psn), off = index << qp->lg_mtu,
		 left = w->len - off, len = left < qp->a.mtu ? left : qp->a.mtu;
	const struct ib_opcode *o;
	uint8_t op;

	*last = index + 1 == w->num_psn;
	op = data_op(w, index == 0, *last) | (qp->a.type == IBV_QPT_UC ? IB_TR_UC : IB_TR_RC);
	o = &ib_opcodes[op];
	if (!put_payload(qp, w, off, len, out))
		return false;
	out->hlen = o->hlen;
	ib_bth_put(out->hdr, op, *last && (w->flags & IBV_SEND_SOLICITED) != 0, out->pad, qp->a.pkey, qp->a.dest_qpn,
		   ask_ack(qp, *last), qp->next_psn);
	if (o->reth != 0)
		put_reth(out->hdr + o->reth, w->remote, w->rkey, w->len);
	if (o->imm != 0)
		ib_put32(out->hdr + o->imm, w->imm);
	return true;
}

static void
put_read(struct tre_qp *qp, const struct tre_wqe *w, struct tre_out *out)
{
	const struct ib_opcode *o = &ib_opcodes[IB_TR_RC | IB_OP_READ_REQUEST];

	out->hlen = o->hlen;
	ib_bth_put(out->hdr, IB_TR_RC | IB_OP_READ_REQUEST, (w->flags & IBV_SEND_SOLICITED) != 0, 0, qp->a.pkey,
		   qp->a.dest_qpn, true, qp->next_psn);
	/* What arrived already is not asked for again; it is whole packets. */
	put_reth(out->hdr + o->reth, w->remote + w->got, w->rkey, w->len - w->got);
}

static void
put_atomic(struct tre_qp *qp, const struct tre_wqe *w, struct tre_out *out)
{
	uint8_t op = IB_TR_RC | (w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? IB_OP_CMP_SWAP : IB_OP_FETCH_ADD), *e;
	bool cas = w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	out->hlen = ib_opcodes[op].hlen;
	e = out->hdr + ib_opcodes[op].reth;
	ib_bth_put(out->hdr, op, (w->flags & IBV_SEND_SOLICITED) != 0, 0, qp->a.pkey, qp->a.dest_qpn, true,
		   qp->next_psn);
	ib_put64(e, w->remote);
	ib_put32(e + 8, w->rkey);
	ib_put64(e + 12, cas ? w->swap : w->compare_add);
	ib_put64(e + 20, cas ? w->compare_add : 0);
}

static bool
put_ud(struct tre_qp *qp, struct tre_wqe *w, struct tre_out *out)
{
	uint8_t op = IB_TR_UD | (w->opcode == IBV_WR_SEND_WITH_IMM ? IB_OP_SEND_ONLY_IMM : IB_OP_SEND_ONLY);
	const struct ib_opcode *o = &ib_opcodes[op];

	if (!put_payload(qp, w, 0, w->len, out))
		return false;
	out->hlen = o->hlen;
	out->wqe = w;
	ib_bth_put(out->hdr, op, (w->flags & IBV_SEND_SOLICITED) != 0, out->pad, qp->a.pkey, w->ud_qpn, false,
		   qp->next_psn);
	/* A key with the top bit set stands for the QP's own (10.2.5). */
	ib_put32(out->hdr + o->deth, (w->ud_qkey & IB_QKEY_PRIVILEGED) != 0 ? qp->a.qkey : w->ud_qkey);
	ib_put32(out->hdr + o->deth + 4, qp->a.qpn & IB_QPN_MASK);
	if (o->imm != 0)
		ib_put32(out->hdr + o->imm, w->imm);
	return true;
}

/* One packet of w. False: nothing was sent, or the queue failed. */
static bool
send_packet(struct tre_qp *qp, struct tre_wqe *w, uint64_t now)
{
	bool last = true, fits = true, acked = qp->a.type == IBV_QPT_RC;
	uint32_t after = qp->next_psn;
	struct tre_out out;

	out.wqe = NULL;
	out.len = out.pad = out.num_iov = 0;
	if (qp->a.type == IBV_QPT_UD)
		fits = put_ud(qp, w, &out);
	else if (w->opcode == IBV_WR_RDMA_READ)
		put_read(qp, w, &out);
	else if (tre_is_rd_atomic(w))
		put_atomic(qp, w, &out);
	else
		fits = put_data(qp, w, &out, &last);
	if (!fits || !tre_xmit(qp, &out))
		return false;
	after = last && acked ? ib_psn_add(w->first_psn, w->num_psn) : ib_psn_add(after, 1);
	if (ib_psn_diff(qp->next_psn, qp->high_psn) < 0)
		qp->stats->rq_resent++;
	if (ib_psn_diff(after, qp->high_psn) > 0)
		qp->high_psn = after;
	qp->next_psn = after;
	if (last)
		qp->next++;
	if (!acked) {
		qp->una_psn = after;
		w->answered = last;
		tre_requester_retire(qp);
	} else if (qp->timer == TRE_NEVER) {
		tre_requester_timer(qp, now);
	}
	return true;
}

void
tre_not_yet(struct tre_qp *qp, uint64_t now)
{
	if (qp->timer <= now)
		qp->timer = now + 1;
}

void
tre_held(struct tre_qp *qp, uint64_t at_ns)
{
	if (qp->timer != TRE_NEVER)
		tre_requester_timer(qp, at_ns);
}

static void
run_local(struct tre_qp *qp, struct tre_wqe *w)
{
	int rc = qp->ops->local(qp, w);

	/* One that failed is not started: nothing behind it goes out while those before it are not acknowledged. */
	if (rc < 0) {
		local_error(qp, w, (enum ibv_wc_status) - rc);
		return;
	}
	w->started = w->answered = true;
	w->num_psn = 0;
	qp->next++;
	tre_requester_retire(qp);
}

static inline bool
window_open(const struct tre_qp *qp)
{
	return qp->a.type != IBV_QPT_RC || ib_psn_diff(qp->next_psn, qp->una_psn) < (int32_t)qp->a.window;
}

bool
tre_requester_busy(const struct tre_qp *qp)
{
	const struct tre_wqe *w = sq_at(qp, qp->next);

	return qp->next != qp->tail && qp->rnr_until == TRE_NEVER && w->status == IBV_WC_SUCCESS && window_open(qp) &&
	       (w->started || may_start(qp, w));
}

/* Is w ready to have a packet sent now? Marks it as failed when it can never be. */
static bool
ready(struct tre_qp *qp, struct tre_wqe *w)
{
	enum ibv_wc_status status;

	if (w->status != IBV_WC_SUCCESS)
		return false;
	if (!w->started) {
		if (!may_start(qp, w))
			return false;
		if (w->opcode == TRE_WR_LOCAL)
			return true;
		status = check_request(qp, w);
		if (status != IBV_WC_SUCCESS) {
			local_error(qp, w, status);
			return false;
		}
		start(qp, w);
	}
	return window_open(qp);
}

static bool
timers(struct tre_qp *qp, uint64_t now)
{
	if (qp->rnr_until <= now) {
		qp->rnr_until = TRE_NEVER;
		tre_requester_timer(qp, now);
	}
	if (qp->timer > now)
		return true;
	qp->timer = TRE_NEVER;
	if (!outstanding(qp))
		return true;
	qp->stats->rq_timeout++;
	qp->implied = false;
	return tre_requester_retry(qp, qp->una_psn, now);
}

unsigned int
tre_requester_run(struct tre_qp *qp, unsigned int budget, uint64_t now)
{
	unsigned int sent = 0;

	if (!timers(qp, now))
		return 0;
	while (sent < budget && qp->next != qp->tail && qp->rnr_until == TRE_NEVER &&
	       (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD)) {
		struct tre_wqe *w = sq_at(qp, qp->next);

		if (w->started && w->opcode == TRE_WR_LOCAL) {
			/* Executed before the queue went back. */
			qp->next++;
			continue;
		}
		if (!ready(qp, w))
			break;
		if (w->opcode == TRE_WR_LOCAL) {
			run_local(qp, w);
			continue;
		}
		if (!send_packet(qp, w, now))
			break;
		sent++;
	}
	return sent;
}
