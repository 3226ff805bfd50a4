/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs: their life and attributes, and what the engine tells about them. */
#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_random.h>

#include "gate.h"
#include "guest.h"

/* --- numbers ----------------------------------------------------------------------------------------------------- */

/*
 * The lowest bits of a number are the lane's, the next ones a place in it. Places are taken in turn, so that one is free for as long
 * as possible, and the high bits of a number mostly differ from those of whoever had its place before: late packets find nobody.
 */
static int
new_number(struct rsw_dev *d, uint32_t *qpn)
{
	uint32_t max = RSW_LANE_QPS(d->num_lanes), index;

	if (d->num_qps == max) {
		TROCE_LOG(ERR, "port %u: %u queue pairs of lane %u, 0..%u possible", d->port, d->num_qps, d->lane, max);
		return ENOMEM;
	}
	/* Place 0 and 1 stay free for the numbers 0 and 1, the last one for the one of groups. */
	do {
		d->next_qp = d->next_qp > max ? 2 : d->next_qp + 1;
		index = d->next_qp * d->num_lanes + d->lane;
	} while (d->qps[index] != NULL);
	*qpn = ((uint32_t)rte_rand() * RSW_QPS | index) & IB_QPN_MASK;
	d->num_qps++;
	return 0;
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static void
free_memory(struct rsw_qp *qp)
{
	if (qp->g != NULL)
		rsw_guest_qp_free(qp);
	rsw_rq_free(&qp->rq);
	free(qp->sq);
	free(qp->slot);
	free(qp->data);
	free(qp->mine);
}

static int
get_send_memory(struct rsw_qp *qp, const struct ibv_qp_cap *cap)
{
	qp->data_stride = RTE_MAX(cap->max_send_sge * (uint32_t)sizeof(struct tre_sge), cap->max_inline_data);
	qp->data_stride = RTE_ALIGN_CEIL(qp->data_stride, 16u);
	qp->sq = calloc(qp->sq_depth, sizeof(*qp->sq));
	qp->slot = calloc(qp->sq_depth, sizeof(*qp->slot));
	qp->data = calloc(qp->sq_depth, qp->data_stride);
	return qp->sq == NULL || qp->slot == NULL || qp->data == NULL ? ENOMEM : 0;
}

/* The rings are the guest's; what is read of them is kept here. */
static int
get_guest_memory(struct rsw_qp *qp, struct ibv_qp_cap *cap)
{
	uint32_t sges;
	int rc = rsw_guest_qp_make(qp, cap);

	if (rc != 0)
		return rc;
	qp->sq_depth = qp->g->sq.mask + 1;
	sges = qp->srq != NULL ? qp->srq->g->rq.sges : qp->g->rq.sges;
	qp->mine = calloc(1, sizeof(*qp->mine) + sges * sizeof(qp->mine->sge[0]));
	rc = get_send_memory(qp, cap);
	return qp->mine == NULL ? ENOMEM : rc;
}

static int
get_memory(struct rsw_qp *qp, struct ibv_qp_cap *cap)
{
	int rc;

	if (qp->q.guest != NULL)
		return get_guest_memory(qp, cap);
	qp->sq_depth = rte_align32pow2(cap->max_send_wr == 0 ? 1 : cap->max_send_wr);
	cap->max_send_sge = cap->max_send_sge == 0 ? 1 : cap->max_send_sge;
	cap->max_recv_sge = cap->max_recv_sge == 0 ? 1 : cap->max_recv_sge;
	rc = get_send_memory(qp, cap);
	if (rc != 0)
		return rc;
	if (qp->srq == NULL) {
		rc = rsw_rq_init(&qp->rq, cap->max_recv_wr, cap->max_recv_sge);
	} else {
		qp->mine = calloc(1, qp->srq->rq.stride);
		rc = qp->mine == NULL ? ENOMEM : 0;
	}
	if (rc != 0)
		return ENOMEM;
	cap->max_send_wr = qp->sq_depth;
	cap->max_recv_wr = qp->rq.depth;
	return 0;
}

/* A queue pair and what it uses are of one lane. A shared receive queue that nobody uses is of any. */
static int
lane_check(const struct rsw_qp *qp)
{
	const struct rsw_dev *d = qp->d;

	if (qp->rcq->d != d) {
		TROCE_LOG(ERR, "port %u: a queue pair's completion queues are of one lane, not of %u and %u", d->port,
			  d->lane, qp->rcq->d->lane);
		return EINVAL;
	}
	if (qp->srq != NULL && qp->srq->d != d && qp->srq->s.refs != 0) {
		TROCE_LOG(ERR,
			  "port %u: the shared receive queue is of lane %u, the queue pair's completion queues of %u",
			  d->port, qp->srq->d->lane, d->lane);
		return EINVAL;
	}
	return 0;
}

int
rsw_create_qp(struct troce_qp *q)
{
	struct rsw_qp *qp = (struct rsw_qp *)q;
	struct rsw_dev *d = ((struct rsw_cq *)q->v.send_cq)->d;
	int rc;

	qp->d = d;
	qp->scq = (struct rsw_cq *)q->v.send_cq;
	qp->rcq = (struct rsw_cq *)q->v.recv_cq;
	qp->srq = (struct rsw_srq *)q->v.srq;
	qp->all_signaled = q->init.sq_sig_all != 0;
	rc = lane_check(qp);
	if (rc == 0)
		rc = get_memory(qp, &q->init.cap);
	if (rc == 0)
		rc = new_number(d, &q->v.qp_num);
	if (rc != 0) {
		free_memory(qp);
		return rc;
	}
	tre_qp_init(&qp->e, &rsw_ops, qp, &d->st, qp->sq, (unsigned int)rte_log2_u32(qp->sq_depth));
	if (qp->srq != NULL)
		qp->srq->d = d;
	rsw_gate_close(d);
	TAILQ_INSERT_TAIL(&d->all, qp, next);
	if (qp->g != NULL)
		rsw_guest_qp_join(qp);
	d->qps[RSW_QPN_INDEX(q->v.qp_num)] = qp;
	rsw_gate_open(d);
	return 0;
}

#define LAST_TURNS 8u

/*
 * What was received is acknowledged, also when its completion was seen before the queue pair had a turn: the peer would ask for an
 * answer until it gives up. And what another process posted is looked at, since it may end a queue right after its last doorbell.
 * With the gate closed.
 */
static void
last_turn(struct rsw_qp *qp)
{
	uint64_t now = rsw_now(qp->d);
	bool more = true;

	if (atomic_load(&qp->d->gone))
		return;
	if (qp->g == NULL && qp->e.ack_due)
		tre_run(&qp->e, 1, now);
	for (unsigned int i = 0; qp->g != NULL && more && i < LAST_TURNS; i++) {
		more = rsw_guest_take(qp);
		tre_run(&qp->e, RSW_BUDGET, now);
		more = more || tre_busy(&qp->e);
	}
	rsw_tx_flush(qp->d);
}

int
rsw_destroy_qp(struct troce_qp *q)
{
	struct rsw_qp *qp = (struct rsw_qp *)q;
	struct rsw_dev *d = qp->d;

	rsw_gate_close(d);
	last_turn(qp);
	rsw_cc_reset(qp);
	d->qps[RSW_QPN_INDEX(q->v.qp_num)] = NULL;
	TAILQ_REMOVE(&d->all, qp, next);
	d->num_qps--;
	if (qp->g != NULL)
		rsw_guest_qp_leave(qp);
	rsw_qp_forget(qp);
	rsw_gate_open(d);
	free_memory(qp);
	return 0;
}

/* --- attributes and states ------------------------------------------------------------------------------------- */

static void
attributes(const struct rsw_qp *qp, struct tre_attr *a)
{
	const struct ibv_qp_attr *v = &qp->q.attr;
	const struct troce_dev *dev = qp->d->dev;

	*a = (struct tre_attr){
		.type = qp->q.v.qp_type,
		.qpn = qp->q.v.qp_num,
		.dest_qpn = v->dest_qp_num,
		.mtu = 128u << (v->path_mtu != 0 ? v->path_mtu : dev->port.active_mtu),
		.qkey = v->qkey,
		.pkey = RSW_PKEY,
		.access = (int)v->qp_access_flags,
		.sq_psn = v->sq_psn,
		.rq_psn = v->rq_psn,
		.timeout = v->timeout,
		.retry_cnt = v->retry_cnt,
		.rnr_retry = v->rnr_retry,
		.min_rnr_timer = v->min_rnr_timer,
		.max_rd_atomic = v->max_rd_atomic,
		.max_dest_rd_atomic = v->max_dest_rd_atomic,
		.credits = !qp->q.no_credits,
		.window = RSW_WINDOW,
	};
	if (a->type == IBV_QPT_UD)
		a->mtu = dev->conf.mtu;
}

/* Requests that nobody took yet are forgotten with the rest. */
static void
reset(struct rsw_qp *qp)
{
	qp->taken = qp->cq_failed = qp->tell_drained = false;
	atomic_store(&qp->posted, 0);
	atomic_store(&qp->done, 0);
	atomic_store(&qp->rq.head, 0);
	atomic_store(&qp->rq.tail, 0);
	if (qp->g != NULL)
		rsw_guest_qp_reset(qp);
}

int
rsw_modify_qp(struct troce_qp *q, const struct ibv_qp_attr *attr, int mask, enum ibv_qp_state from,
	      enum ibv_qp_state to)
{
	struct rsw_qp *qp = (struct rsw_qp *)q;
	struct rsw_dev *d = qp->d;
	struct tre_attr a;

	attributes(qp, &a);
	if (atomic_load(&d->gone) && to != IBV_QPS_ERR && to != IBV_QPS_RESET) {
		TROCE_LOG(ERR, "port %u: its device was reset or removed; open it anew", d->port);
		return EIO;
	}
	rsw_gate_close(d);
	/* It may have failed meanwhile: nothing but reset and error is left then. */
	if (qp->e.state == IBV_QPS_ERR && to != IBV_QPS_ERR && to != IBV_QPS_RESET) {
		rsw_gate_open(d);
		TROCE_LOG(ERR, "port %u: queue pair 0x%06x is in error, wanted state %d..%d", d->port, q->v.qp_num,
			  from, from);
		return EINVAL;
	}
	if (to == IBV_QPS_ERR || to == IBV_QPS_RESET)
		last_turn(qp);
	if ((mask & IBV_QP_AV) != 0)
		rsw_route_set(&qp->route, d, &q->path);
	if ((mask & IBV_QP_AV) != 0 || to == IBV_QPS_RESET)
		rsw_cc_reset(qp);
	if (to == IBV_QPS_SQD && (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0)
		qp->tell_drained = attr->en_sqd_async_notify != 0;
	if (to == IBV_QPS_RESET)
		reset(qp);
	tre_qp_state(&qp->e, to, &a);
	q->v.state = to;
	if (to == IBV_QPS_ERR && from != IBV_QPS_ERR && qp->srq != NULL)
		troce_async_event(d->dev, IBV_EVENT_QP_LAST_WQE_REACHED, &q->v);
	if (to != IBV_QPS_RESET)
		rsw_qp_queue(qp);
	rsw_gate_open(d);
	return 0;
}

int
rsw_query_qp(struct troce_qp *q, struct ibv_qp_attr *attr)
{
	const struct rsw_qp *qp = (struct rsw_qp *)q;

	rsw_gate_close(qp->d);
	attr->qp_state = attr->cur_qp_state = qp->e.state;
	attr->sq_psn = qp->e.next_psn;
	attr->rq_psn = qp->e.epsn;
	attr->sq_draining = qp->e.sq_draining;
	rsw_gate_open(qp->d);
	return 0;
}

/* --- what the engine tells --------------------------------------------------------------------------------------- */

static void
event(struct tre_qp *e, enum ibv_event_type type)
{
	struct rsw_qp *qp = e->home;

	if (type == IBV_EVENT_SQ_DRAINED) {
		if (!qp->tell_drained)
			return;
		qp->tell_drained = false;
	}
	troce_async_event(qp->d->dev, type, &qp->q.v);
}

const struct tre_ops rsw_ops = {
	.xmit = rsw_xmit,
	.gather = rsw_gather,
	.scatter_wqe = rsw_scatter_wqe,
	.send_done = rsw_send_done,
	.local = rsw_local,
	.recv_next = rsw_recv_next,
	.recv_count = rsw_recv_count,
	.scatter_recv = rsw_scatter_recv,
	.recv_done = rsw_recv_done,
	.remote_check = rsw_remote_check,
	.remote_write = rsw_remote_write,
	.remote_read = rsw_remote_read,
	.remote_atomic = rsw_remote_atomic,
	.invalidate = rsw_invalidate,
	.event = event,
	.congested = rsw_cc_congested,
};
