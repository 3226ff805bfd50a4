/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Receive requests: rings of a queue pair's own, shared queues, and what becomes of a request. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "gate.h"
#include "guest.h"

int
rsw_rq_init(struct rsw_rq *rq, uint32_t depth, uint32_t max_sge)
{
	rq->depth = depth == 0 ? 0 : rte_align32pow2(depth);
	rq->max_sge = max_sge;
	rq->stride = (uint32_t)(sizeof(struct rsw_rqe) + max_sge * sizeof(struct tre_sge));
	rq->ring = calloc(rq->depth == 0 ? 1 : rq->depth, rq->stride);
	return rq->ring == NULL ? ENOMEM : 0;
}

void
rsw_rq_free(struct rsw_rq *rq)
{
	free(rq->ring);
	rq->ring = NULL;
}

/* Lists in verbs and in the engine are laid out alike. */
_Static_assert(sizeof(struct tre_sge) == sizeof(struct ibv_sge), "scatter/gather elements");
_Static_assert(offsetof(struct tre_sge, len) == offsetof(struct ibv_sge, length), "scatter/gather elements");
_Static_assert(offsetof(struct tre_sge, lkey) == offsetof(struct ibv_sge, lkey), "scatter/gather elements");

int
rsw_rq_post(struct rsw_rq *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	uint32_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&rq->head, memory_order_acquire);
	int rc = 0;

	for (; wr != NULL; wr = wr->next, tail++) {
		struct rsw_rqe *r = rsw_rq_at(rq, tail);
		uint64_t len = 0;

		if (tail - head >= rq->depth || (uint32_t)wr->num_sge > rq->max_sge) {
			rc = (uint32_t)wr->num_sge > rq->max_sge ? EINVAL : ENOMEM;
			*bad = wr;
			break;
		}
		for (int i = 0; i < wr->num_sge; i++) {
			memcpy(&r->sge[i], &wr->sg_list[i], sizeof(r->sge[i]));
			len += wr->sg_list[i].length;
		}
		r->wr_id = wr->wr_id;
		r->num_sge = (uint32_t)wr->num_sge;
		r->len = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
	}
	atomic_store_explicit(&rq->tail, tail, memory_order_release);
	return rc;
}

static inline struct rsw_rqe *
oldest(struct rsw_rq *rq)
{
	uint32_t head = atomic_load_explicit(&rq->head, memory_order_relaxed);

	return head == atomic_load_explicit(&rq->tail, memory_order_acquire) ? NULL : rsw_rq_at(rq, head);
}

static inline void
drop_oldest(struct rsw_rq *rq)
{
	atomic_store_explicit(&rq->head, atomic_load_explicit(&rq->head, memory_order_relaxed) + 1,
			      memory_order_release);
}

static inline uint32_t
count(const struct rsw_rq *rq)
{
	return atomic_load_explicit(&rq->tail, memory_order_acquire) -
	       atomic_load_explicit(&rq->head, memory_order_relaxed);
}

/* --- shared queues -------------------------------------------------------------------------------------------- */

int
rsw_create_srq(struct troce_srq *s, struct ibv_srq_attr *attr)
{
	struct rsw_srq *srq = (struct rsw_srq *)s;
	int rc;

	srq->d = rsw_dev_of(s->v.context);
	rc = s->guest != NULL ? rsw_guest_srq_make(srq, attr)
			      : rsw_rq_init(&srq->rq, attr->max_wr == 0 ? 1 : attr->max_wr,
					    attr->max_sge == 0 ? 1 : attr->max_sge);
	if (rc != 0)
		return rc;
	attr->max_wr = srq->rq.depth;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = 0;
	return 0;
}

int
rsw_modify_srq(struct troce_srq *s, const struct ibv_srq_attr *attr, int mask)
{
	struct rsw_srq *srq = (struct rsw_srq *)s;

	if ((mask & IBV_SRQ_MAX_WR) != 0) {
		TROCE_LOG(ERR, "port %u: a shared receive queue keeps its size, %u", srq->d->port, srq->rq.depth);
		return ENOTSUP;
	}
	if ((mask & IBV_SRQ_LIMIT) == 0)
		return 0;
	if (attr->srq_limit > srq->rq.depth) {
		TROCE_LOG(ERR, "port %u: limit %u of a shared receive queue, wanted 0..%u", srq->d->port,
			  attr->srq_limit, srq->rq.depth);
		return EINVAL;
	}
	rsw_gate_close(srq->d);
	srq->limit = attr->srq_limit;
	rsw_gate_open(srq->d);
	return 0;
}

int
rsw_query_srq(struct troce_srq *s, struct ibv_srq_attr *attr)
{
	const struct rsw_srq *srq = (struct rsw_srq *)s;

	attr->max_wr = srq->rq.depth;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = srq->limit;
	return 0;
}

int
rsw_destroy_srq(struct troce_srq *s)
{
	struct rsw_srq *srq = (struct rsw_srq *)s;

	if (srq->g != NULL)
		rsw_guest_srq_free(srq);
	else
		rsw_rq_free(&srq->rq);
	return 0;
}

int
rsw_post_srq_recv(struct ibv_srq *v, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return rsw_rq_post(&((struct rsw_srq *)v)->rq, wr, bad);
}

/* Its owner is told once that there are fewer than it wants (10.2.9.2). */
static void
watch_limit(struct rsw_srq *srq)
{
	uint32_t left = srq->g != NULL ? rsw_guest_posted(&srq->g->rq) : count(&srq->rq);

	if (srq->limit == 0 || left >= srq->limit)
		return;
	srq->limit = 0;
	srq->d->sw.srq_limits++;
	troce_async_event(srq->d->dev, IBV_EVENT_SRQ_LIMIT_REACHED, &srq->s.v);
}

/* --- operations of the engine ---------------------------------------------------------------------------------- */

/* A request of a shared queue is copied, so that others may come and go meanwhile. */
static const struct rsw_rqe *
take_shared(struct rsw_qp *qp)
{
	const struct rsw_rqe *r;

	if (qp->taken)
		return qp->mine;
	if (qp->e.state == IBV_QPS_ERR)
		return NULL;
	if (qp->srq->g != NULL) {
		if (!rsw_guest_srq_recv(qp->srq->g, qp->mine))
			return NULL;
	} else {
		r = oldest(&qp->srq->rq);
		if (r == NULL)
			return NULL;
		memcpy(qp->mine, r, sizeof(*r) + r->num_sge * sizeof(r->sge[0]));
		drop_oldest(&qp->srq->rq);
	}
	qp->taken = true;
	watch_limit(qp->srq);
	return qp->mine;
}

static const struct rsw_rqe *
take_guest(struct rsw_qp *qp)
{
	qp->taken = qp->taken || rsw_guest_recv(qp->g, qp->mine);
	return qp->taken ? qp->mine : NULL;
}

bool
rsw_recv_next(struct tre_qp *e, struct tre_rwqe *out)
{
	struct rsw_qp *qp = e->home;
	const struct rsw_rqe *r = qp->srq != NULL ? take_shared(qp) : qp->g != NULL ? take_guest(qp) : oldest(&qp->rq);

	if (r == NULL)
		return false;
	out->home = r->wr_id;
	out->sge = r->sge;
	out->num_sge = (uint16_t)r->num_sge;
	out->len = r->len;
	return true;
}

/* What lies in a shared queue is promised to nobody (9.7.7.2.5). */
uint32_t
rsw_recv_count(struct tre_qp *e)
{
	const struct rsw_qp *qp = e->home;

	if (qp->g != NULL && qp->srq == NULL)
		return rsw_guest_posted(&qp->g->rq) + qp->taken;
	return qp->srq != NULL ? UINT32_MAX : count(&qp->rq);
}

void
rsw_recv_done(struct tre_qp *e, const struct tre_rwqe *r, const struct tre_recv *in, const void *in_home)
{
	struct rsw_qp *qp = e->home;
	const struct rsw_rx *rx = in_home;
	struct ibv_wc *wc = rsw_cq_slot(qp->rcq, qp);

	if (wc != NULL) {
		wc->wr_id = r->home;
		wc->status = in->status;
		wc->opcode = in->opcode;
		wc->vendor_err = 0;
		wc->byte_len = in->len;
		wc->qp_num = qp->q.v.qp_num;
		wc->src_qp = in->src_qpn;
		wc->wc_flags = in->has_imm ? IBV_WC_WITH_IMM : in->invalidated ? IBV_WC_WITH_INV : 0;
		wc->imm_data = in->has_imm ? rte_cpu_to_be_32(in->imm) : in->imm;
		wc->pkey_index = 0;
		wc->slid = 0;
		wc->sl = rx != NULL ? rx->prio : 0;
		wc->dlid_path_bits = 0;
		if (in->grh)
			wc->wc_flags |= IBV_WC_GRH;
		rsw_cq_commit(qp->rcq, in->solicited || in->status != IBV_WC_SUCCESS);
	}
	if (qp->srq != NULL || qp->g != NULL)
		qp->taken = false;
	else
		drop_oldest(&qp->rq);
}
