/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The answering side of RC (IBTA 9.7.4, 9.7.5, 9.9.3): requests are executed in the order of their PSNs, each once; what
 * is asked for again is answered again without being executed again.
 */
#include "engine_priv.h"

#define MSG_MAX 0x80000000u

/* --- answers ---------------------------------------------------------------------------------------------- */

static void
answer(struct tre_qp *qp, uint8_t syndrome, uint32_t psn)
{
	qp->ack_due = true;
	qp->ack_syndrome = syndrome;
	qp->ack_psn = psn;
}

/* A NAK after which the QP is in error; the completion or event was given. */
static void
refuse(struct tre_qp *qp, uint8_t syndrome, uint32_t psn)
{
	qp->fatal_nak = true;
	answer(qp, syndrome, psn);
}

static void
refuse_invalid(struct tre_qp *qp, uint32_t psn)
{
	qp->stats->rs_remote_invalid++;
	qp->ops->event(qp, IBV_EVENT_QP_REQ_ERR);
	refuse(qp, IB_NAK_INVALID, psn);
}

static void
end_receive(struct tre_qp *qp, const struct tre_recv *wc, const struct tre_in *in)
{
	qp->in_recv = false;
	qp->ops->recv_done(qp, &qp->rwqe, wc, in->home);
}

static void
receive_error(struct tre_qp *qp, enum ibv_wc_status status, const struct tre_in *in)
{
	const struct tre_recv wc = {.status = status, .opcode = IBV_WC_RECV};

	end_receive(qp, &wc, in);
}

static void
refuse_access(struct tre_qp *qp, uint32_t psn, const struct tre_in *in)
{
	qp->stats->rs_remote_access++;
	if (qp->in_recv)
		receive_error(qp, IBV_WC_LOC_ACCESS_ERR, in);
	else
		qp->ops->event(qp, IBV_EVENT_QP_ACCESS_ERR);
	refuse(qp, IB_NAK_ACCESS, psn);
}

/* A receive request for this message; false after a RNR NAK. */
static bool
take_receive(struct tre_qp *qp, uint32_t psn)
{
	if (!qp->in_recv && !qp->ops->recv_next(qp, &qp->rwqe)) {
		qp->stats->rs_rnr_nak++;
		/* What follows has PSNs that are not expected yet; it stays without an answer. */
		qp->nak_sent = true;
		answer(qp, IB_AETH_RNR | (qp->a.min_rnr_timer & IB_AETH_VALUE), psn);
		return false;
	}
	qp->in_recv = true;
	return true;
}

/* --- SEND and WRITE --------------------------------------------------------------------------------------- */

static bool
put_send(struct tre_qp *qp, const struct tre_in *in, const uint8_t *data, uint32_t len, uint32_t psn)
{
	int rc;

	if (len > qp->rwqe.len - qp->got) {
		qp->stats->rs_len_err++;
		receive_error(qp, IBV_WC_LOC_LEN_ERR, in);
		refuse(qp, IB_NAK_INVALID, psn);
		return false;
	}
	rc = len == 0 ? 0 : qp->ops->scatter_recv(qp, &qp->rwqe, qp->got, data, len);
	if (rc < 0) {
		qp->stats->rs_prot_err++;
		qp->stats->rs_remote_op++;
		receive_error(qp, (enum ibv_wc_status) - rc, in);
		refuse(qp, IB_NAK_OPERATION, psn);
		return false;
	}
	return true;
}

static bool
put_write(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, const uint8_t *data, uint32_t len,
	  uint32_t psn)
{
	if (len > qp->wr_len - qp->got || ((o->flags & IB_F_END) != 0 && qp->got + len != qp->wr_len)) {
		qp->stats->rs_len_err++;
		refuse_invalid(qp, psn);
		return false;
	}
	if (len != 0 && qp->ops->remote_write(qp, qp->wr_rkey, qp->wr_va + qp->got, data, len) < 0) {
		refuse_access(qp, psn, in);
		return false;
	}
	return true;
}

static bool
start_write(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, uint32_t psn)
{
	const uint8_t *reth = in->bth + o->reth;

	qp->wr_va = ib_get64(reth);
	qp->wr_rkey = ib_get32(reth + 8);
	qp->wr_len = ib_get32(reth + 12);
	if ((qp->a.access & IBV_ACCESS_REMOTE_WRITE) == 0 || qp->wr_len > MSG_MAX) {
		refuse_invalid(qp, psn);
		return false;
	}
	/* The keys of nothing are not looked at (9.7.4.1.5). */
	if (qp->wr_len != 0 &&
	    qp->ops->remote_check(qp, qp->wr_rkey, qp->wr_va, qp->wr_len, IBV_ACCESS_REMOTE_WRITE) < 0) {
		refuse_access(qp, psn, in);
		return false;
	}
	return true;
}

/* The end of a message that a receive request completes with. */
static bool
complete_message(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, uint32_t psn)
{
	struct tre_recv wc = {.status = IBV_WC_SUCCESS, .len = qp->got, .src_qpn = qp->a.dest_qpn};

	wc.opcode = (o->flags & IB_F_WRITE) != 0 ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	wc.solicited = ib_bth_solicited(in->bth);
	wc.has_imm = (o->flags & IB_F_IMM) != 0;
	wc.invalidated = (o->flags & IB_F_IETH) != 0;
	if (o->imm != 0)
		wc.imm = ib_get32(in->bth + o->imm);
	if (wc.invalidated && qp->ops->invalidate(qp, wc.imm) < 0) {
		refuse_access(qp, psn, in);
		return false;
	}
	end_receive(qp, &wc, in);
	return true;
}

static void
data_packet(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, const uint8_t *data, uint32_t len,
	    uint32_t psn)
{
	bool send = (o->flags & IB_F_SEND) != 0, start = (o->flags & IB_F_START) != 0, end = (o->flags & IB_F_END) != 0;
	bool consumes = send || (o->flags & IB_F_IMM) != 0;

	if (end ? len > qp->a.mtu : len != qp->a.mtu) {
		qp->stats->rs_len_err++;
		refuse_invalid(qp, psn);
		return;
	}
	/* Nothing of a packet is executed when its receive request is missing: it comes again. */
	if (consumes && !take_receive(qp, psn))
		return;
	if (start) {
		qp->got = 0;
		if (!send && !start_write(qp, o, in, psn))
			return;
	}
	if (send ? !put_send(qp, in, data, len, psn) : !put_write(qp, o, in, data, len, psn))
		return;
	qp->got += len;
	if (end && consumes && !complete_message(qp, o, in, psn))
		return;
	qp->msg_op = end ? 0 : (send ? IB_F_SEND : IB_F_WRITE);
	if (end)
		qp->msn = (qp->msn + 1) & IB_MSN_MASK;
	qp->nak_sent = false;
	qp->epsn = ib_psn_add(psn, 1);
	if (ib_bth_ackreq(in->bth))
		answer(qp, IB_AETH_ACK, psn);
}

/* --- READ and atomics ------------------------------------------------------------------------------------- */

/* Answers go out by PSN: what is asked for again comes before what was not answered yet. */
static void
make_due(struct tre_qp *qp, unsigned int slot)
{
	struct tre_res *r = &qp->res[slot];
	uint32_t i = qp->num_due;

	if (r->due)
		return;
	r->due = true;
	for (; i != 0 && ib_psn_diff(qp->res[qp->due[i - 1]].psn, r->psn) > 0; i--)
		qp->due[i] = qp->due[i - 1];
	qp->due[i] = (uint8_t)slot;
	qp->num_due++;
	/* The response says it too (9.7.5.1.2). */
	if (qp->ack_due && qp->ack_syndrome == IB_AETH_ACK && ib_psn_diff(qp->ack_psn, r->psn) < 0)
		qp->ack_due = false;
}

static void
not_due(struct tre_qp *qp, uint32_t i)
{
	qp->res[qp->due[i]].due = false;
	qp->num_due--;
	memmove(qp->due + i, qp->due + i + 1, qp->num_due - i);
}

/*
 * A place for one more; NULL: the peer has more outstanding than it was allowed. An answer that is repeated goes: who
 * sends a new request in its place has received it.
 */
static struct tre_res *
new_resource(struct tre_qp *qp, uint32_t psn, unsigned int *slot)
{
	struct tre_res *r;

	if (qp->a.max_dest_rd_atomic == 0)
		return NULL;
	*slot = qp->num_res % qp->a.max_dest_rd_atomic;
	r = &qp->res[*slot];
	if (r->due && !r->done)
		return NULL;
	for (uint32_t i = 0; i < qp->num_due; i++)
		if (qp->due[i] == *slot)
			not_due(qp, i);
	memset(r, 0, sizeof(*r));
	r->psn = psn;
	return r;
}

static void
accept_resource(struct tre_qp *qp, struct tre_res *r, unsigned int slot)
{
	qp->num_res++;
	qp->msn = (qp->msn + 1) & IB_MSN_MASK;
	r->msn = qp->msn;
	qp->nak_sent = false;
	qp->epsn = ib_psn_add(r->psn, r->num_psn);
	make_due(qp, slot);
}

static void
read_request(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, uint32_t psn)
{
	const uint8_t *reth = in->bth + o->reth;
	uint64_t va = ib_get64(reth);
	uint32_t rkey = ib_get32(reth + 8), len = ib_get32(reth + 12);
	unsigned int slot;
	struct tre_res *r;

	if ((qp->a.access & IBV_ACCESS_REMOTE_READ) == 0 || len > MSG_MAX) {
		refuse_invalid(qp, psn);
		return;
	}
	if (len != 0 && qp->ops->remote_check(qp, rkey, va, len, IBV_ACCESS_REMOTE_READ) < 0) {
		refuse_access(qp, psn, in);
		return;
	}
	r = new_resource(qp, psn, &slot);
	if (r == NULL) {
		refuse_invalid(qp, psn);
		return;
	}
	r->va = va;
	r->rkey = rkey;
	r->len = len;
	r->num_psn = tre_packets(qp, len);
	accept_resource(qp, r, slot);
}

static void
atomic_request(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, uint32_t psn)
{
	const uint8_t *e = in->bth + o->reth;
	bool cas = ib_bth_opcode(in->bth) == (IB_TR_RC | IB_OP_CMP_SWAP);
	uint64_t va = ib_get64(e), swap_add = ib_get64(e + 12), compare = ib_get64(e + 20), old;
	uint32_t rkey = ib_get32(e + 8);
	unsigned int slot;
	struct tre_res *r;

	if ((qp->a.access & IBV_ACCESS_REMOTE_ATOMIC) == 0 || (va & 7) != 0) {
		refuse_invalid(qp, psn);
		return;
	}
	r = new_resource(qp, psn, &slot);
	if (r == NULL) {
		refuse_invalid(qp, psn);
		return;
	}
	if (qp->ops->remote_check(qp, rkey, va, sizeof(old), IBV_ACCESS_REMOTE_ATOMIC) < 0 ||
	    qp->ops->remote_atomic(qp, rkey, va, cas ? TRE_CMP_SWAP : TRE_FETCH_ADD, cas ? compare : swap_add,
				   cas ? swap_add : 0, &old) < 0) {
		refuse_access(qp, psn, in);
		return;
	}
	r->atomic = true;
	r->old = old;
	r->num_psn = 1;
	accept_resource(qp, r, slot);
}

/* --- what comes again ------------------------------------------------------------------------------------- */

static void
read_again(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, uint32_t psn)
{
	const uint8_t *reth = in->bth + o->reth;
	uint64_t va = ib_get64(reth);
	uint32_t rkey = ib_get32(reth + 8), len = ib_get32(reth + 12);
	uint32_t kept = qp->num_res < qp->a.max_dest_rd_atomic ? qp->num_res : qp->a.max_dest_rd_atomic;

	for (unsigned int i = 0; i < kept; i++) {
		struct tre_res *r = &qp->res[i];
		int32_t at = ib_psn_diff(psn, r->psn);
		uint32_t off;

		if (r->atomic || at < 0 || (uint32_t)at >= r->num_psn)
			continue;
		off = (uint32_t)at << qp->lg_mtu;
		/* Only the same request, or the rest of it, is answered; anything else stays without an answer. */
		if (va != r->va + off || rkey != r->rkey || len != r->len - off)
			return;
		r->sent = off;
		r->under_way = false;
		make_due(qp, i);
		return;
	}
}

static void
atomic_again(struct tre_qp *qp, uint32_t psn)
{
	uint32_t kept = qp->num_res < qp->a.max_dest_rd_atomic ? qp->num_res : qp->a.max_dest_rd_atomic;

	for (unsigned int i = 0; i < kept; i++)
		if (qp->res[i].atomic && qp->res[i].psn == psn)
			make_due(qp, i);
}

static void
duplicate(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, uint32_t psn)
{
	qp->stats->rs_duplicate++;
	if ((o->flags & IB_F_READ) != 0)
		read_again(qp, o, in, psn);
	else if ((o->flags & IB_F_ATOMIC) != 0)
		atomic_again(qp, psn);
	else if (!qp->ack_due)
		answer(qp, IB_AETH_ACK, ib_psn_add(qp->epsn, IB_PSN_MASK));
}

/* --- the gate --------------------------------------------------------------------------------------------- */

/* Does the opcode continue what is under way? */
static bool
in_sequence(const struct tre_qp *qp, const struct ib_opcode *o)
{
	if (qp->msg_op == 0)
		return (o->flags & IB_F_START) != 0;
	return (o->flags & IB_F_START) == 0 && (o->flags & qp->msg_op) != 0;
}

void
tre_responder_rc(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, const uint8_t *data,
		 uint32_t len)
{
	uint32_t psn = ib_bth_psn(in->bth);
	int32_t diff = ib_psn_diff(psn, qp->epsn);

	if (diff > 0) {
		qp->stats->rs_out_of_order++;
		if (!qp->nak_sent) {
			qp->nak_sent = true;
			answer(qp, IB_NAK_PSN, qp->epsn);
		}
		return;
	}
	if (diff < 0) {
		duplicate(qp, o, in, psn);
		return;
	}
	if (!qp->established) {
		qp->established = true;
		if (qp->state == IBV_QPS_RTR)
			qp->ops->event(qp, IBV_EVENT_COMM_EST);
	}
	if (!in_sequence(qp, o)) {
		qp->stats->rs_op_err++;
		refuse_invalid(qp, psn);
	} else if ((o->flags & IB_F_READ) != 0) {
		read_request(qp, o, in, psn);
	} else if ((o->flags & IB_F_ATOMIC) != 0) {
		atomic_request(qp, o, in, psn);
	} else {
		data_packet(qp, o, in, data, len, psn);
	}
}

/* --- sending answers -------------------------------------------------------------------------------------- */

static void
put_aeth(const struct tre_qp *qp, uint8_t *p, uint8_t syndrome, uint32_t msn)
{
	uint32_t count;

	if ((syndrome & IB_AETH_TYPE) == IB_AETH_ACK) {
		count = qp->a.credits ? qp->ops->recv_count((struct tre_qp *)(uintptr_t)qp) : UINT32_MAX;
		syndrome = count == UINT32_MAX ? IB_CREDITS_NONE : tre_credit_code(count);
	}
	ib_put32(p, (uint32_t)syndrome << 24 | (msn & IB_MSN_MASK));
}

static bool
send_ack(struct tre_qp *qp)
{
	const struct ib_opcode *o = &ib_opcodes[IB_TR_RC | IB_OP_ACK];
	struct tre_out out;

	out.wqe = NULL;
	out.len = out.pad = out.num_iov = 0;
	out.hlen = o->hlen;
	ib_bth_put(out.hdr, IB_TR_RC | IB_OP_ACK, false, 0, qp->a.pkey, qp->a.dest_qpn, false, qp->ack_psn);
	put_aeth(qp, out.hdr + o->reth, qp->ack_syndrome, qp->msn);
	if (!tre_xmit(qp, &out))
		return false;
	qp->ack_due = false;
	if (qp->fatal_nak)
		tre_to_error(qp);
	return true;
}

static bool
send_atomic(struct tre_qp *qp, const struct tre_res *r)
{
	const struct ib_opcode *o = &ib_opcodes[IB_TR_RC | IB_OP_ATOMIC_ACK];
	struct tre_out out;

	out.wqe = NULL;
	out.len = out.pad = out.num_iov = 0;
	out.hlen = o->hlen;
	ib_bth_put(out.hdr, IB_TR_RC | IB_OP_ATOMIC_ACK, false, 0, qp->a.pkey, qp->a.dest_qpn, false, r->psn);
	put_aeth(qp, out.hdr + o->reth, IB_AETH_ACK, r->msn);
	ib_put64(out.hdr + o->aack, r->old);
	return tre_xmit(qp, &out);
}

static uint8_t
read_op(bool first, bool last)
{
	static const uint8_t ops[2][2] = {{IB_OP_READ_RESP_MIDDLE, IB_OP_READ_RESP_LAST},
					  {IB_OP_READ_RESP_FIRST, IB_OP_READ_RESP_ONLY}};

	return IB_TR_RC | ops[first][last];
}

/*
 * One packet of a READ response. A response that begins in the middle, for a request that was repeated in part, begins
 * with First or Only like any other (9.7.5.1.3).
 */
static bool
send_read(struct tre_qp *qp, struct tre_res *r, bool first, bool *done)
{
	uint32_t left = r->len - r->sent, len = left < qp->a.mtu ? left : qp->a.mtu;
	const struct ib_opcode *o;
	struct tre_out out;
	int n = 0;

	*done = len == left;
	o = &ib_opcodes[read_op(first, *done)];
	out.wqe = NULL;
	out.len = len;
	out.pad = -len & 3u;
	if (len != 0)
		n = qp->ops->remote_read(qp, r->rkey, r->va + r->sent, len, out.iov);
	if (n < 0) {
		/* The key was good when the request came: it was taken away meanwhile. */
		qp->stats->rs_remote_access++;
		qp->ops->event(qp, IBV_EVENT_QP_ACCESS_ERR);
		refuse(qp, IB_NAK_ACCESS, ib_psn_add(r->psn, r->sent >> qp->lg_mtu));
		qp->num_due = 0;
		return false;
	}
	out.num_iov = (uint32_t)n;
	out.hlen = o->hlen;
	ib_bth_put(out.hdr, read_op(first, *done), false, out.pad, qp->a.pkey, qp->a.dest_qpn, false,
		   ib_psn_add(r->psn, r->sent >> qp->lg_mtu));
	if (o->reth != 0)
		put_aeth(qp, out.hdr + o->reth, IB_AETH_ACK, r->msn);
	if (!tre_xmit(qp, &out))
		return false;
	r->sent += len;
	return true;
}

unsigned int
tre_responder_run(struct tre_qp *qp, unsigned int budget)
{
	unsigned int sent = 0;

	while (qp->num_due != 0 && sent < budget) {
		struct tre_res *r = &qp->res[qp->due[0]];
		bool done = true;

		if (r->atomic ? !send_atomic(qp, r) : !send_read(qp, r, !r->under_way, &done))
			break;
		r->under_way = !done;
		sent++;
		if (!done)
			continue;
		r->done = true;
		not_due(qp, 0);
	}
	if (qp->num_due == 0 && qp->ack_due && sent < budget && send_ack(qp))
		sent++;
	return sent;
}
