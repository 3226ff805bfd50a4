/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Verbs queue pairs at run time, of Ethernet and InfiniBand ports. The engine keeps the protocol; here are its queues: send WQEs are
 * fetched while slots are free, receive WQEs come from the QP's own queue or a shared one, completions go to CQs. QP1
 * receives by the same road and sends packets that software built.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/event/event.h"
#include "model/port/port.h"
#include "model/qos/qos.h"
#include "mlx4_prm_ib.h"
#include "roce_cc.h"

#define PKEY_DEFAULT 0xffffu
#define WINDOW 256u        /* unacknowledged packets of a QP */
#define FRAME_OVERHEAD 96u /* the most that stands round a payload [DP 10.7] */
#define MTU_MIN 256u

/* --- completions ------------------------------------------------------------------------------------------ */

static uint8_t
syndrome(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_LOC_LEN_ERR: return MLX4_SYND_LOCAL_LENGTH;
	case IBV_WC_LOC_PROT_ERR: return MLX4_SYND_LOCAL_PROT;
	case IBV_WC_WR_FLUSH_ERR: return MLX4_SYND_WR_FLUSH;
	case IBV_WC_MW_BIND_ERR: return MLX4_SYND_MW_BIND;
	case IBV_WC_BAD_RESP_ERR: return MLX4_SYND_BAD_RESP;
	case IBV_WC_LOC_ACCESS_ERR: return MLX4_SYND_LOCAL_ACCESS;
	case IBV_WC_REM_INV_REQ_ERR: return MLX4_SYND_REMOTE_INVAL_REQ;
	case IBV_WC_REM_ACCESS_ERR: return MLX4_SYND_REMOTE_ACCESS;
	case IBV_WC_REM_OP_ERR: return MLX4_SYND_REMOTE_OP;
	case IBV_WC_RETRY_EXC_ERR: return MLX4_SYND_RETRY_EXC;
	case IBV_WC_RNR_RETRY_EXC_ERR: return MLX4_SYND_RNR_RETRY_EXC;
	default: return MLX4_SYND_LOCAL_QP_OP;
	}
}

void
tpm_roce_sent(struct tpm_roce *r, uint16_t index, uint8_t opcode, uint32_t bytes)
{
	struct tpm_cq *cq = r->qp->scq;
	struct mlx4_cqe *c = tpm_cqe_next(r->m, cq);

	if (c == NULL)
		return;
	memset(c, 0, offsetof(struct mlx4_cqe, owner_sr_opcode));
	c->vlan_my_qpn = rte_cpu_to_be_32(r->qp->qpn);
	c->wqe_index = rte_cpu_to_be_16(index);
	c->byte_cnt = rte_cpu_to_be_32(bytes);
	tpm_cqe_commit(cq, c, opcode | MLX4_CQE_IS_SEND);
	/* Whatever it asked for at the other end: a send that went well is not solicited here (IBTA 11.4.2.2). */
	tpm_cq_notify(r->m, cq, false);
}

static void
send_done(struct tre_qp *e, struct tre_wqe *w, enum ibv_wc_status status)
{
	struct tpm_roce *r = e->home;
	const struct tpm_roce_slot *s = &r->slot[w - r->sq];
	bool brings =
		s->opcode == MLX4_OP_RDMA_READ || s->opcode == MLX4_OP_ATOMIC_CS || s->opcode == MLX4_OP_ATOMIC_FA;

	if (status != IBV_WC_SUCCESS) {
		if (tpm_cqe_error(r->m, r->qp->scq, r->qp->qpn, s->index, syndrome(status), true))
			tpm_cq_notify(r->m, r->qp->scq, true);
		return;
	}
	if (s->signaled)
		tpm_roce_sent(r, s->index, s->opcode, brings ? w->len : 0);
}

static uint8_t
recv_opcode(const struct tre_recv *wc)
{
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return MLX4_CQE_RECV_WRITE_IMM;
	if (wc->invalidated)
		return MLX4_CQE_RECV_SEND_INV;
	return wc->has_imm ? MLX4_CQE_RECV_SEND_IMM : MLX4_CQE_RECV_SEND;
}

/* What only datagrams tell: where they came from [DP 6.2] */
static void
fill_ud(const struct tp_model *m, struct mlx4_cqe *c, const struct tre_recv *wc, const struct tpm_roce_rx *rx)
{
	rte_be32_t status;

	if (rx->ib) {
		c->g_mlpath_rqpn = rte_cpu_to_be_32((rx->no_grh ? 0 : MLX4_CQE_GRH) |
						    (uint32_t)rx->path_bits << MLX4_CQE_PATH_BITS_SHIFT | wc->src_qpn);
		c->sl_vid = rte_cpu_to_be_16((uint16_t)(rx->sl << MLX4_CQE_SL_SHIFT));
		c->rlid = rte_cpu_to_be_16(rx->slid);
		status = rte_cpu_to_be_32(rx->status);
		memcpy(&c->status, &status, sizeof(status));
		c->checksum = rte_cpu_to_be_16(rx->csum);
		if (!wc->has_imm)
			c->immed_rss = rte_cpu_to_be_32(
				tpm_quirk(m, MLX4_QUIRK_PKEY_INDEX) == 0 ? rx->pkey_index : MLX4_CQE_PKEY_INDEX_MASK);
		return;
	}
	c->g_mlpath_rqpn = rte_cpu_to_be_32(MLX4_CQE_GRH | wc->src_qpn);
	memcpy((uint8_t *)c + MLX4_CQE_UD_SMAC, rx->smac, sizeof(rx->smac));
	if (rx->tagged) {
		c->sl_vid = rte_cpu_to_be_16(rx->tci);
		c->vlan_my_qpn |= rte_cpu_to_be_32(MLX4_CQE_CVLAN);
	}
}

static void
recv_done(struct tre_qp *e, const struct tre_rwqe *w, const struct tre_recv *wc, const void *in_home)
{
	struct tpm_roce *r = e->home;
	struct tpm_qp *qp = r->qp;
	struct mlx4_cqe *c;

	if (!r->taken)
		qp->rq_head++;
	r->taken = false;
	if (wc->status != IBV_WC_SUCCESS) {
		if (tpm_cqe_error(r->m, qp->rcq, qp->qpn, (uint16_t)w->home, syndrome(wc->status), false))
			tpm_cq_notify(r->m, qp->rcq, true);
		return;
	}
	c = tpm_cqe_next(r->m, qp->rcq);
	if (c == NULL)
		return;
	memset(c, 0, offsetof(struct mlx4_cqe, owner_sr_opcode));
	c->vlan_my_qpn = rte_cpu_to_be_32(qp->qpn);
	c->immed_rss = rte_cpu_to_be_32(wc->imm);
	c->byte_cnt = rte_cpu_to_be_32(wc->len);
	c->wqe_index = rte_cpu_to_be_16((uint16_t)w->home);
	if (e->a.type == IBV_QPT_UD)
		fill_ud(r->m, c, wc, in_home);
	tpm_cqe_commit(qp->rcq, c, recv_opcode(wc));
	tpm_cq_notify(r->m, qp->rcq, wc->solicited);
}

/* --- receive requests ------------------------------------------------------------------------------------- */

static bool
recv_next(struct tre_qp *e, struct tre_rwqe *out)
{
	struct tpm_roce *r = e->home;
	struct tpm_qp *qp = r->qp;
	const uint8_t *w;

	if (qp->srq != NULL && !r->taken) {
		/* What is in a shared queue is not this QP's to flush. */
		if (e->state == IBV_QPS_ERR)
			return false;
		w = tpm_srq_take(r->m, qp->srq, &r->rwqe.home);
		if (w == NULL)
			return false;
		tpm_roce_list(r, w, qp->srq->max_sge);
		r->taken = true;
	} else if (qp->srq == NULL) {
		w = tpm_rq_peek(r->m, qp);
		if (w == NULL)
			return false;
		r->rwqe.home = (uint16_t)qp->rq_head;
		tpm_roce_list(r, w, 1u << (qp->rq_lg_stride - 4));
	}
	*out = r->rwqe;
	return true;
}

/* The card does not count credits (its ACKs say so). */
static uint32_t
recv_count(struct tre_qp *e)
{
	return UINT32_MAX;
}

/* --- what else the engine asks for -------------------------------------------------------------------------- */

static void
event(struct tre_qp *e, enum ibv_event_type type)
{
	struct tpm_roce *r = e->home;

	switch (type) {
	case IBV_EVENT_COMM_EST: tpm_event_qp(r->m, MLX4_EVENT_COMM_EST, r->qp->qpn); break;
	case IBV_EVENT_SQ_DRAINED:
		if (r->tell_drained)
			tpm_event_qp(r->m, MLX4_EVENT_SQ_DRAINED, r->qp->qpn);
		r->tell_drained = false;
		break;
	case IBV_EVENT_QP_REQ_ERR: tpm_event_qp(r->m, MLX4_EVENT_WQ_INVAL_REQ, r->qp->qpn); break;
	case IBV_EVENT_QP_ACCESS_ERR: tpm_event_qp(r->m, MLX4_EVENT_WQ_ACCESS, r->qp->qpn); break;
	default: tpm_event_qp(r->m, MLX4_EVENT_WQ_CATAS, r->qp->qpn); break;
	}
}

static bool
xmit(struct tre_qp *e, struct tre_out *out)
{
	const struct tpm_roce *r = e->home;

	return tpm_link(r->m, &r->m->port[r->qp->port - 1])->xmit(e, out);
}

static const struct tre_ops ops = {
	.xmit = xmit,
	.gather = tpm_roce_gather,
	.scatter_wqe = tpm_roce_scatter_wqe,
	.send_done = send_done,
	.local = tpm_roce_local,
	.recv_next = recv_next,
	.recv_count = recv_count,
	.scatter_recv = tpm_roce_scatter_recv,
	.recv_done = recv_done,
	.remote_check = tpm_roce_remote_check,
	.remote_write = tpm_roce_remote_write,
	.remote_read = tpm_roce_remote_read,
	.remote_atomic = tpm_roce_remote_atomic,
	.invalidate = tpm_roce_invalidate,
	.event = event,
	.congested = tpm_cc_congested,
};

/* --- life ------------------------------------------------------------------------------------------------- */

static bool
is_special(const struct tp_model *m, const struct tpm_qp *qp, unsigned int which)
{
	return qp->service == MLX4_QP_ST_MLX && m->special_qp_base != 0 &&
	       qp->qpn == m->special_qp_base + 2 * which + qp->port - 1;
}

/* QP0 and QP1 receive by the engine; an Ethernet port has only the second. */
static bool
receives(const struct tp_model *m, const struct tpm_qp *qp)
{
	return is_special(m, qp, 1) || (m->port[qp->port - 1].ib && is_special(m, qp, 0));
}

static uint32_t
mtu_of(const struct tp_model *m, const struct tpm_qp *qp, bool datagram)
{
	uint32_t code = prm_get(qp->ctx, MLX4_QPC_MTU), mtu = 128u << (code < 1 ? 1 : code > 5 ? 5 : code);

	/* Datagrams carry the largest in their context; what the port takes bounds them. */
	while (datagram && !m->port[qp->port - 1].ib && mtu > MTU_MIN &&
	       mtu + FRAME_OVERHEAD > m->port[qp->port - 1].max_frame)
		mtu /= 2;
	return mtu;
}

static int
access_of(const uint8_t *ctx)
{
	return (prm_get(ctx, MLX4_QPC_RRE) != 0 ? IBV_ACCESS_REMOTE_READ : 0) |
	       (prm_get(ctx, MLX4_QPC_RWE) != 0 ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (prm_get(ctx, MLX4_QPC_RAE) != 0 ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static uint8_t
depth(uint32_t lg)
{
	return (uint8_t)(1u << lg < TRE_MAX_RD_ATOMIC ? 1u << lg : TRE_MAX_RD_ATOMIC);
}

static void
attributes(const struct tp_model *m, const struct tpm_qp *qp, struct tre_attr *a)
{
	const uint8_t *ctx = qp->ctx;
	bool qp1 = is_special(m, qp, 1);

	*a = (struct tre_attr){
		.type = qp->service == MLX4_QP_ST_RC   ? IBV_QPT_RC
			: qp->service == MLX4_QP_ST_UC ? IBV_QPT_UC
						       : IBV_QPT_UD,
		.qpn = qp->qpn,
		.dest_qpn = prm_get(ctx, MLX4_QPC_REMOTE_QPN),
		.qkey = qp1 ? IB_QP1_QKEY : prm_get(ctx, MLX4_QPC_QKEY),
		.pkey = PKEY_DEFAULT,
		.access = access_of(ctx),
		.sq_psn = prm_get(ctx, MLX4_QPC_NEXT_SEND_PSN),
		.rq_psn = prm_get(ctx, MLX4_QPC_NEXT_RECV_PSN),
		.timeout = (uint8_t)prm_get(ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_ACK_TIMEOUT),
		.retry_cnt = (uint8_t)prm_get(ctx, MLX4_QPC_RETRY_COUNT),
		.rnr_retry = (uint8_t)prm_get(ctx, MLX4_QPC_RNR_RETRY),
		.min_rnr_timer = (uint8_t)prm_get(ctx, MLX4_QPC_MIN_RNR_TIMER),
		.max_rd_atomic = depth(prm_get(ctx, MLX4_QPC_SRA_MAX)),
		.max_dest_rd_atomic = depth(prm_get(ctx, MLX4_QPC_RRA_MAX)),
		.window = WINDOW,
	};
	a->mtu = mtu_of(m, qp, a->type == IBV_QPT_UD);
}

static enum ibv_qp_state
verbs_state(uint8_t state)
{
	switch (state) {
	case MLX4_QP_RST: return IBV_QPS_RESET;
	case MLX4_QP_INIT: return IBV_QPS_INIT;
	case MLX4_QP_RTR: return IBV_QPS_RTR;
	case MLX4_QP_RTS: return IBV_QPS_RTS;
	case MLX4_QP_SQER: return IBV_QPS_SQE;
	case MLX4_QP_SQD: return IBV_QPS_SQD;
	default: return IBV_QPS_ERR;
	}
}

static int
create(struct tp_model *m, struct tpm_qp *qp)
{
	struct tpm_roce *r = calloc(1, sizeof(*r));

	if (m->roce_stats == NULL)
		m->roce_stats = calloc(TP_MODEL_PORTS, sizeof(*m->roce_stats));
	if (r == NULL || m->roce_stats == NULL) {
		free(r);
		return -ENOMEM;
	}
	r->m = m;
	r->qp = qp;
	tre_qp_init(&r->e, &ops, r, &m->roce_stats[qp->port - 1], r->sq, TPM_ROCE_LG_SLOTS);
	r->next = m->roce;
	m->roce = r;
	qp->roce = r;
	m->port[qp->port - 1].roce_qps++;
	r->port = qp->port;
	return 0;
}

int
tpm_roce_state(struct tp_model *m, struct tpm_qp *qp, uint8_t state)
{
	struct tre_attr a;

	/* The port is known from RTR on. */
	if (qp->roce == NULL && (state != MLX4_QP_RTR || (!tpm_roce_serves(qp) && !receives(m, qp))))
		return 0;
	if (qp->roce == NULL && create(m, qp) < 0)
		return -ENOMEM;
	attributes(m, qp, &a);
	tpm_link(m, &m->port[qp->port - 1])->path_of_qp(m, qp, &qp->roce->path);
	if (state != MLX4_QP_RTS && state != MLX4_QP_SQD) {
		qp->roce->lso.active = false;
		tpm_cc_release(qp->roce);
	}
	tre_qp_state(&qp->roce->e, verbs_state(state), &a);
	return 0;
}

void
tpm_roce_stats(const struct tp_model *m, unsigned int port, struct tre_stats *st)
{
	uint64_t *sum = (uint64_t *)(void *)st;

	memset(st, 0, sizeof(*st));
	for (unsigned int i = 0; m->roce_stats != NULL && i < TP_MODEL_PORTS; i++) {
		const uint64_t *of = (const uint64_t *)(const void *)&m->roce_stats[i];

		for (unsigned int k = 0; (port == 0 || port == i + 1) && k < sizeof(*st) / sizeof(*sum); k++)
			sum[k] += of[k];
	}
}

void
tpm_roce_drained(struct tp_model *m, struct tpm_qp *qp)
{
	if (qp->roce != NULL)
		qp->roce->tell_drained = true;
	else
		tpm_event_qp(m, MLX4_EVENT_SQ_DRAINED, qp->qpn);
}

void
tpm_roce_save(const struct tpm_qp *qp, uint8_t *ctx)
{
	const struct tre_qp *e = &qp->roce->e;

	prm_set(ctx, MLX4_QPC_NEXT_SEND_PSN, e->next_psn);
	prm_set(ctx, MLX4_QPC_LAST_ACKED_PSN, ib_psn_add(e->una_psn, UINT32_MAX));
	prm_set(ctx, MLX4_QPC_NEXT_RECV_PSN, e->epsn);
	if (qp->state == MLX4_QP_SQD && e->sq_draining)
		prm_set(ctx, MLX4_QPC_STATE, MLX4_QP_SQ_DRAINING);
}

void
tpm_roce_free(struct tp_model *m, struct tpm_qp *qp)
{
	struct tpm_roce **at = &m->roce;

	if (qp->roce == NULL)
		return;
	tpm_cc_release(qp->roce);
	while (*at != qp->roce)
		at = &(*at)->next;
	*at = qp->roce->next;
	m->port[qp->roce->port - 1].roce_qps--;
	free(qp->roce->stage);
	free(qp->roce->kinds);
	free(qp->roce);
	qp->roce = NULL;
}

/* --- running ---------------------------------------------------------------------------------------------- */

/* The context follows what the engine decided. */
static void
follow(struct tp_model *m, struct tpm_roce *r)
{
	if (r->e.state == IBV_QPS_ERR && r->qp->state != MLX4_QP_ERR) {
		tpm_qp_to_error(m, r->qp);
	} else if (r->e.state == IBV_QPS_SQE && r->qp->state == MLX4_QP_RTS) {
		r->qp->state = MLX4_QP_SQER;
		tpm_sq_flush(m, r->qp);
	}
}

static const uint8_t *
grh_of(const struct tpm_roce_rx *rx)
{
	return rx->no_grh ? NULL : rx->grh;
}

static unsigned int
run_one(struct tp_model *m, struct tpm_roce *r, unsigned int budget)
{
	unsigned int n;

	r->running = true;
	n = tre_run(&r->e, budget, tpm_now(m));
	r->running = false;
	if (r->late != 0) {
		struct tre_in in = {
			.bth = r->late_packet, .len = r->late, .grh = grh_of(&r->late_rx), .home = &r->late_rx};

		r->late = 0;
		tre_input(&r->e, &in, tpm_now(m));
	}
	follow(m, r);
	return n;
}

void
tpm_roce_answer(struct tp_model *m, struct tpm_qp *qp, unsigned int budget)
{
	struct tpm_roce *r = qp->roce;

	if (r != NULL && !r->running && r->e.ack_due)
		run_one(m, r, budget);
}

void
tpm_roce_deliver(struct tp_model *m, struct tpm_qp *qp, const uint8_t *packet, uint32_t len,
		 const struct tpm_roce_rx *rx)
{
	struct tre_in in = {.bth = packet, .len = len, .grh = grh_of(rx), .home = rx};
	struct tpm_roce *r = qp->roce;

	if (r == NULL)
		return;
	if (r->running) {
		/* Sent to itself: xmit takes no more before this one is in. */
		memcpy(r->late_packet, packet, len);
		r->late_rx = *rx;
		r->late = len;
		return;
	}
	tre_input(&r->e, &in, tpm_now(m));
	follow(m, r);
}

unsigned int
tpm_roce_send(struct tp_model *m, struct tpm_qp *qp, unsigned int budget, bool *idle)
{
	const struct tpm_link_ops *link = tpm_link(m, &m->port[qp->port - 1]);
	struct tpm_roce *r = qp->roce;
	unsigned int done = 0;
	uint32_t strides;

	/* A scheduler says of each packet when it goes. */
	if (link->datagrams != NULL && tre_ud_may_send(&r->e) && !r->lso.active && !m->port[qp->port - 1].tx_managed)
		done = link->datagrams(m, qp, budget);
	while (done < budget && tre_sq_slot(&r->e) != NULL) {
		if (r->lso.active) {
			tpm_roce_segment(r);
			tre_post(&r->e);
			continue;
		}
		if (!tpm_sq_head_posted(qp, qp->sq_head)) {
			*idle = true;
			break;
		}
		tpm_roce_fetch(m, r, qp->sq_head, &strides);
		qp->sq_head += strides;
		tre_post(&r->e);
		done++;
	}
	r->sent = run_one(m, r, budget);
	/* On a managed port each packet waits for its turn, not only each WQE. */
	if (*idle && m->port[qp->port - 1].tx_managed && tre_busy(&r->e))
		*idle = false;
	return done;
}

bool
tpm_roce_ready(const struct tpm_qp *qp)
{
	struct tpm_roce *r = qp->roce;

	return r == NULL || (!r->stuck && (tre_sq_slot(&r->e) != NULL || tre_busy(&r->e)));
}

unsigned int
tpm_roce_served(struct tpm_qp *qp, unsigned int wqes)
{
	struct tpm_roce *r = qp->roce;
	unsigned int done = wqes;

	if (r == NULL)
		return done;
	if (done < r->sent)
		done = r->sent;
	r->sent = 0;
	r->stuck = done == 0;
	return done;
}

/* Receive WQEs have no doorbell: those of a queue in error are looked for, since software drains it so. */
static bool
late_receive(struct tp_model *m, const struct tpm_roce *r)
{
	return r->e.state == IBV_QPS_ERR && r->qp->srq == NULL && r->qp->has_rq && r->qp->ring.valid &&
	       r->qp->rcq->status == MLX4_CTX_STATUS_OK && tpm_rq_peek(m, r->qp) != NULL;
}

unsigned int
tpm_roce_run(struct tp_model *m, unsigned int budget)
{
	struct tpm_roce *r, *next;
	unsigned int done = 0;
	bool due;

	for (r = m->roce; r != NULL; r = next) {
		next = r->next;
		m->waits |= tre_deadline(&r->e) != TRE_NEVER;
		m->waits |= r->limited && tre_busy(&r->e);
		r->stuck = false;
		due = r->tell_drained || tre_deadline(&r->e) <= tpm_now(m) || late_receive(m, r);
		if (!m->port[r->qp->port - 1].tx_managed || r->qp->state != MLX4_QP_RTS) {
			if (due || tre_busy(&r->e))
				done += run_one(m, r, budget);
			continue;
		}
		/* The scheduler says when it sends. */
		if (due)
			run_one(m, r, 0);
		if (r->qp->state == MLX4_QP_RTS && r->qp->pending == NULL && tre_busy(&r->e))
			tpm_sched_add(m, &m->port[r->qp->port - 1], r->qp);
	}
	return done;
}
