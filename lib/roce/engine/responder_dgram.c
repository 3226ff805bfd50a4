/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The receiving side of UC and UD: nothing is answered, what does not fit is dropped and counted (IBTA 9.8.3, 9.8.4). */
#include "engine_priv.h"

static void
end_receive(struct tre_qp *qp, const struct tre_recv *wc, const struct tre_in *in)
{
	qp->in_recv = false;
	qp->ops->recv_done(qp, &qp->rwqe, wc, in->home);
}

static bool
take_receive(struct tre_qp *qp)
{
	if (!qp->in_recv && !qp->ops->recv_next(qp, &qp->rwqe))
		return false;
	qp->in_recv = true;
	return true;
}

/* The local end failed: the receive request says why. */
static void
receive_error(struct tre_qp *qp, enum ibv_wc_status status, const struct tre_in *in)
{
	const struct tre_recv wc = {.status = status, .opcode = IBV_WC_RECV};

	end_receive(qp, &wc, in);
}

/* --- UC --------------------------------------------------------------------------------------------------- */

static void
uc_drop(struct tre_qp *qp)
{
	qp->stats->rs_uc_discarded++;
	qp->drop_msg = true;
	qp->msg_op = 0;
}

static bool
uc_start_write(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in)
{
	const uint8_t *reth = in->bth + o->reth;

	qp->wr_va = ib_get64(reth);
	qp->wr_rkey = ib_get32(reth + 8);
	qp->wr_len = ib_get32(reth + 12);
	return (qp->a.access & IBV_ACCESS_REMOTE_WRITE) != 0 &&
	       (qp->wr_len == 0 ||
		qp->ops->remote_check(qp, qp->wr_rkey, qp->wr_va, qp->wr_len, IBV_ACCESS_REMOTE_WRITE) == 0);
}

static bool
uc_put(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, const uint8_t *data, uint32_t len)
{
	int rc;

	if ((o->flags & IB_F_WRITE) != 0)
		return len <= qp->wr_len - qp->got && ((o->flags & IB_F_END) == 0 || qp->got + len == qp->wr_len) &&
		       (len == 0 || qp->ops->remote_write(qp, qp->wr_rkey, qp->wr_va + qp->got, data, len) == 0);
	if (len > qp->rwqe.len - qp->got) {
		qp->stats->rs_len_err++;
		receive_error(qp, IBV_WC_LOC_LEN_ERR, in);
		return false;
	}
	rc = len == 0 ? 0 : qp->ops->scatter_recv(qp, &qp->rwqe, qp->got, data, len);
	if (rc < 0) {
		qp->stats->rs_prot_err++;
		receive_error(qp, (enum ibv_wc_status) - rc, in);
	}
	return rc >= 0;
}

static void
uc_complete(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in)
{
	struct tre_recv wc = {.status = IBV_WC_SUCCESS, .len = qp->got, .src_qpn = qp->a.dest_qpn};

	wc.opcode = (o->flags & IB_F_WRITE) != 0 ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	wc.solicited = ib_bth_solicited(in->bth);
	wc.has_imm = (o->flags & IB_F_IMM) != 0;
	if (o->imm != 0)
		wc.imm = ib_get32(in->bth + o->imm);
	end_receive(qp, &wc, in);
}

void
tre_responder_uc(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, const uint8_t *data,
		 uint32_t len)
{
	bool start = (o->flags & IB_F_START) != 0, end = (o->flags & IB_F_END) != 0, send = (o->flags & IB_F_SEND) != 0;
	uint32_t psn = ib_bth_psn(in->bth), kind = send ? IB_F_SEND : IB_F_WRITE;
	bool consumes = send || (o->flags & IB_F_IMM) != 0;

	/* A message that lost a packet is lost; the next one counts from its own first packet. */
	if (start) {
		if (qp->msg_op != 0)
			qp->stats->rs_uc_discarded++;
		qp->drop_msg = false;
		qp->msg_op = 0;
		qp->got = 0;
	} else if (qp->drop_msg || qp->msg_op != kind || psn != qp->epsn) {
		uc_drop(qp);
		return;
	}
	qp->epsn = ib_psn_add(psn, 1);
	if ((end ? len > qp->a.mtu : len != qp->a.mtu) || (consumes && !take_receive(qp)) ||
	    (start && !send && !uc_start_write(qp, o, in)) || !uc_put(qp, o, in, data, len)) {
		uc_drop(qp);
		return;
	}
	qp->got += len;
	qp->msg_op = end ? 0 : (uint8_t)kind;
	if (end && consumes)
		uc_complete(qp, o, in);
}

/* --- UD --------------------------------------------------------------------------------------------------- */

/* The 40 bytes in front of the payload: the header by which the packet came, or nothing. */
static int
put_grh(struct tre_qp *qp, const struct tre_in *in)
{
	static const uint8_t none[IB_GRH_LEN];

	return qp->ops->scatter_recv(qp, &qp->rwqe, 0, in->grh != NULL ? in->grh : none, IB_GRH_LEN);
}

void
tre_responder_ud(struct tre_qp *qp, const struct ib_opcode *o, const struct tre_in *in, const uint8_t *data,
		 uint32_t len)
{
	struct tre_recv wc = {.status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV};
	int rc;

	if (ib_get32(in->bth + o->deth) != qp->a.qkey) {
		qp->stats->rs_bad_qkey++;
		return;
	}
	if (len > qp->a.mtu || !take_receive(qp)) {
		qp->stats->rs_ud_discarded++;
		return;
	}
	if (len + IB_GRH_LEN > qp->rwqe.len) {
		qp->stats->rs_len_err++;
		receive_error(qp, IBV_WC_LOC_LEN_ERR, in);
		return;
	}
	rc = put_grh(qp, in);
	if (rc >= 0 && len != 0)
		rc = qp->ops->scatter_recv(qp, &qp->rwqe, IB_GRH_LEN, data, len);
	if (rc < 0) {
		qp->stats->rs_prot_err++;
		receive_error(qp, (enum ibv_wc_status) - rc, in);
		return;
	}
	wc.len = len + IB_GRH_LEN;
	wc.grh = in->grh != NULL;
	wc.solicited = ib_bth_solicited(in->bth);
	wc.has_imm = (o->flags & IB_F_IMM) != 0;
	wc.src_qpn = ib_get24(in->bth + o->deth + 5);
	if (o->imm != 0)
		wc.imm = ib_get32(in->bth + o->imm);
	end_receive(qp, &wc, in);
}
