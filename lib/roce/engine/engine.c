/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A QP of the engine at work: the gate for packets that arrive, and a turn of sending. */
#include "engine_priv.h"

static uint8_t
transport(const struct tre_qp *qp)
{
	switch (qp->a.type) {
	case IBV_QPT_RC: return IB_TR_RC;
	case IBV_QPT_UC: return IB_TR_UC;
	default: return IB_TR_UD;
	}
}

void
tre_input(struct tre_qp *qp, const struct tre_in *in, uint64_t now_ns)
{
	const struct ib_opcode *o;
	const uint8_t *data;
	uint32_t pad, len;

	if (in->len < IB_BTH_LEN || (in->len & 3) != 0) {
		qp->stats->rs_malformed++;
		return;
	}
	o = &ib_opcodes[ib_bth_opcode(in->bth)];
	pad = ib_bth_pad(in->bth);
	qp->stats->rx_packets++;
	if ((o->flags & IB_F_VALID) == 0) {
		qp->stats->rs_bad_opcode++;
		return;
	}
	if (ib_bth_tver(in->bth) != 0 || in->len < o->hlen + pad) {
		qp->stats->rs_malformed++;
		return;
	}
	if (ib_bth_opcode(in->bth) == IB_OPCODE_CNP) {
		if (!ib_pkey_match(ib_bth_pkey(in->bth), qp->a.pkey)) {
			qp->stats->rs_bad_pkey++;
			return;
		}
		qp->stats->cnp++;
		if (qp->ops->congested != NULL)
			qp->ops->congested(qp, in, now_ns);
		return;
	}
	data = in->bth + o->hlen;
	len = in->len - o->hlen - pad;
	if ((o->flags & IB_F_PAYLOAD) == 0 && len + pad != 0) {
		qp->stats->rs_malformed++;
		return;
	}
	if ((ib_bth_opcode(in->bth) & IB_TR_MASK) != transport(qp)) {
		qp->stats->rs_bad_opcode++;
		return;
	}
	if (!tre_can_receive(qp) || qp->fatal_nak)
		return;
	if (!ib_pkey_match(ib_bth_pkey(in->bth), qp->a.pkey)) {
		qp->stats->rs_bad_pkey++;
		return;
	}
	qp->stats->rx_bytes += len;
	if ((o->flags & IB_F_RESPONSE) != 0)
		tre_completer_input(qp, o, in->bth, data, len, now_ns);
	else if (qp->a.type == IBV_QPT_RC)
		tre_responder_rc(qp, o, in, data, len);
	else if (qp->a.type == IBV_QPT_UC)
		tre_responder_uc(qp, o, in, data, len);
	else
		tre_responder_ud(qp, o, in, data, len);
}

static bool
can_send(const struct tre_qp *qp)
{
	return qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD;
}

/* Stopped, and nothing that was begun is still under way. */
static bool
has_drained(const struct tre_qp *qp)
{
	return qp->state == IBV_QPS_SQD && qp->sq_draining &&
	       (qp->una == qp->tail || !qp->sq[qp->una & qp->sq_mask].started);
}

unsigned int
tre_run(struct tre_qp *qp, unsigned int budget, uint64_t now_ns)
{
	unsigned int sent = 0;

	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_SQE) {
		tre_flush_send(qp);
		if (qp->state == IBV_QPS_ERR)
			tre_flush_recv(qp);
	}
	if (tre_can_receive(qp) && qp->a.type == IBV_QPT_RC)
		sent = tre_responder_run(qp, budget);
	if (can_send(qp))
		sent += tre_requester_run(qp, budget - sent, now_ns);
	if (has_drained(qp)) {
		qp->sq_draining = false;
		qp->ops->event(qp, IBV_EVENT_SQ_DRAINED);
	}
	return sent;
}

uint64_t
tre_deadline(const struct tre_qp *qp)
{
	return qp->timer < qp->rnr_until ? qp->timer : qp->rnr_until;
}

bool
tre_busy(const struct tre_qp *qp)
{
	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_SQE)
		return qp->una != qp->tail;
	return qp->ack_due || qp->num_due != 0 || has_drained(qp) || (can_send(qp) && tre_requester_busy(qp));
}
