/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Memory and queues of a test. Each queue pair has a slot to send from and one to receive into, as perftest lays them. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "perf.h"
#include "tp_rdma.h"

#define QKEY 0x11111111u
#define INLINE_LAT 220u
#define LOOK_TURNS 0xffffu /* less one, without anything: from one look at the socket to the next, some milliseconds */
#define REFILL_MAX 16u     /* receive requests of one post */

static int
post(struct perf *p, uint32_t i, struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad;
	int rc = p->srq != NULL ? ibv_post_srq_recv(p->srq, wr, &bad) : ibv_post_recv(p->qp[i].qp, wr, &bad);

	return rc == 0 ? 0 : rend_fail(rc, "receive request of queue pair %u: %s", i, strerror(rc));
}

int
perf_post_recv(struct perf *p, uint32_t i, uint32_t n)
{
	struct ibv_sge sge = {(uintptr_t)p->qp[i].rx, (uint32_t)p->slot, p->mr->lkey};
	struct ibv_recv_wr wr[REFILL_MAX];
	uint32_t k, some;
	int rc = 0;

	for (k = 0; k < REFILL_MAX; k++)
		wr[k] = (struct ibv_recv_wr){.wr_id = p->qp[i].id, .next = &wr[k + 1], .sg_list = &sge, .num_sge = 1};
	for (; n > 0 && rc == 0; n -= some) {
		some = RTE_MIN(n, REFILL_MAX);
		wr[some - 1].next = NULL;
		rc = post(p, i, wr);
		if (some < REFILL_MAX)
			break;
		wr[some - 1].next = &wr[some];
	}
	return rc;
}

static void
fill_wr(struct perf *p, struct perf_qp *q, struct ibv_send_wr *wr)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};

	if (p->conf->verb == PERF_ATOMIC) {
		wr->opcode = p->conf->atomic == 0 ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr->wr.atomic.remote_addr = q->theirs.vaddr;
		wr->wr.atomic.rkey = q->theirs.rkey;
		wr->wr.atomic.compare_add = p->conf->atomic == 0 ? 0 : 1;
		wr->wr.atomic.swap = 1;
		return;
	}
	wr->opcode = ops[p->conf->verb];
	if (p->conf->verb != PERF_SEND) {
		wr->wr.rdma.remote_addr = q->theirs.vaddr;
		wr->wr.rdma.rkey = q->theirs.rkey;
	} else if (p->type == IBV_QPT_UD) {
		wr->wr.ud.ah = q->ah;
		wr->wr.ud.remote_qpn = q->theirs.qpn;
		wr->wr.ud.remote_qkey = QKEY;
	}
}

void
perf_prepare(struct perf *p)
{
	uint32_t i, k;

	for (i = 0; i < p->conf->qps; i++) {
		struct perf_qp *q = &p->qp[i];

		q->posted = q->done = q->received = 0;
		q->unsignalled = q->off = 0;
		for (k = 0; k < p->conf->post_list; k++) {
			memset(&q->wr[k], 0, sizeof(q->wr[k]));
			q->wr[k].sg_list = &q->sge[k];
			q->wr[k].num_sge = 1;
			q->sge[k] = (struct ibv_sge){(uintptr_t)q->tx, p->size, p->mr->lkey};
			fill_wr(p, q, &q->wr[k]);
		}
	}
}

/* Small messages go through the slot one behind the other, so that not one cache line is measured. */
static void
rotate(const struct perf *p, struct perf_qp *q, uint32_t k)
{
	const uint32_t step = RTE_ALIGN(p->size, p->line);

	q->sge[k].addr = (uintptr_t)q->tx + q->off;
	if (p->conf->verb == PERF_WRITE || p->conf->verb == PERF_READ)
		q->wr[k].wr.rdma.remote_addr = q->theirs.vaddr + q->off;
	q->off += step;
	if (q->off + p->size > p->cycle)
		q->off = 0;
}

int
perf_post_send(struct perf *p, uint32_t i, uint32_t n, bool last)
{
	const bool rotates = !p->conf->lat && p->size <= p->cycle / 2, inlined = p->size <= p->inl;
	struct perf_qp *q = &p->qp[i];
	struct ibv_send_wr *bad;
	uint32_t k;
	int rc;

	for (k = 0; k < n; k++) {
		q->wr[k].next = k + 1 < n ? &q->wr[k + 1] : NULL;
		q->wr[k].send_flags = inlined ? IBV_SEND_INLINE : 0;
		if (rotates)
			rotate(p, q, k);
		if (++q->unsignalled < p->conf->cq_mod && !(last && k + 1 == n))
			continue;
		/* the completion says which queue pair, and how many messages it stands for */
		q->wr[k].send_flags |= IBV_SEND_SIGNALED;
		q->wr[k].wr_id = (uint64_t)q->unsignalled << 32 | q->id;
		q->unsignalled = 0;
	}
	q->posted += n;
	rc = ibv_post_send(q->qp, q->wr, &bad);
	return rc == 0 ? 0 : rend_fail(rc, "send request of queue pair %u: %s", i, strerror(rc));
}

int
perf_rest(struct perf *p)
{
	struct pollfd fd = {.events = POLLIN};
	struct ibv_cq *cq;
	void *context;
	int rc;

	tp_roce_progress_lane(p->e->port.ctx, p->lane);
	if (rend_stopping())
		return -EINTR;
	/* Ends part after the last exchange. A second look, since what came before the first one may not be taken yet. */
	if (p->lane == 0 && (++p->rests & LOOK_TURNS) == 0 && rend_hung_up(p->e) && ++p->hung_up == 2)
		return rend_fail(ECONNRESET, "the other end hung up amid the test");
	if (p->channel == NULL)
		return 0;
	if (!p->armed) {
		/* the caller looks once more: a completion may have come just before */
		p->armed = true;
		rc = ibv_req_notify_cq(p->scq, 0);
		if (rc == 0)
			rc = ibv_req_notify_cq(p->rcq, 0);
		return rc == 0 ? 0 : rend_fail(rc, "completion queue is not armed: %s", strerror(rc));
	}
	fd.fd = p->channel->fd;
	if (poll(&fd, 1, 0) <= 0)
		return 0;
	if (tp_roce_get_cq_event(p->channel, &cq, &context) != 0)
		return rend_fail(errno, "completion event: %s", strerror(errno));
	tp_roce_ack_cq_events(cq, 1);
	p->armed = false;
	return 0;
}

static int
make_memory(struct perf *p, uint32_t max)
{
	int access = IBV_ACCESS_LOCAL_WRITE;
	uint32_t i;

	if (p->type != IBV_QPT_UD)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if (p->type == IBV_QPT_RC)
		access |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	/* The other end may write over as much as it rotates through. */
	p->slot = RTE_ALIGN(RTE_MAX(max, p->cycle) + (size_t)p->hdr, 64u);
	p->buf_len = 2 * p->conf->qps * p->slot;
	p->buf = rend_alloc(p->buf_len);
	if (p->buf == NULL)
		return rend_fail(ENOMEM, "no memory for messages: %zu bytes; -m before the \"--\" gives more",
				 p->buf_len);
	p->pd = tp_roce_alloc_pd(p->e->port.ctx);
	p->mr = p->pd == NULL ? NULL : tp_roce_reg_mr(p->pd, p->buf, p->buf_len, access);
	if (p->mr == NULL)
		return rend_fail(errno, "memory region of %zu bytes: %s", p->buf_len, strerror(errno));
	for (i = 0; i < p->conf->qps; i++) {
		p->qp[i].tx = p->buf + i * p->slot;
		p->qp[i].rx = p->buf + (p->conf->qps + i) * p->slot;
	}
	return 0;
}

static int
make_cqs(struct perf *p)
{
	const uint32_t qps = p->conf->qps / p->conf->port.lanes;
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = p->conf->rx_depth, .max_sge = 1}};

	if (p->conf->events != 0) {
		p->channel = tp_roce_create_comp_channel(p->e->port.ctx);
		if (p->channel == NULL)
			return rend_fail(errno, "completion channel: %s", strerror(errno));
	}
	for (int i = 0; i < (int)p->conf->port.lanes; i++) {
		p->scqs[i] = tp_roce_create_cq(p->e->port.ctx, (int)(p->conf->tx_depth * qps), p, p->channel, i);
		if (p->scqs[i] != NULL)
			p->rcqs[i] = tp_roce_create_cq(p->e->port.ctx,
						       (int)(p->conf->rx_depth * (p->conf->srq != 0 ? 1 : qps)), p,
						       p->channel, i);
		if (p->rcqs[i] == NULL)
			return rend_fail(errno, "completion queues: %s", strerror(errno));
	}
	p->scq = p->scqs[0];
	p->rcq = p->rcqs[0];
	if (p->conf->srq != 0)
		p->srq = tp_roce_create_srq(p->pd, &srq);
	return p->conf->srq != 0 && p->srq == NULL ? rend_fail(errno, "shared receive queue: %s", strerror(errno)) : 0;
}

static int
make_requests(struct perf *p, struct perf_qp *q)
{
	q->wr = calloc(p->conf->post_list, sizeof(*q->wr));
	q->sge = calloc(p->conf->post_list, sizeof(*q->sge));
	return q->wr == NULL || q->sge == NULL ? rend_fail(ENOMEM, "no memory for requests") : 0;
}

/* RESET to INIT with the rights of the test; RDMA CM does that for its own. */
static int
init_qp(const struct perf *p, struct ibv_qp *qp)
{
	struct rqp_conf qc = {.type = p->type, .qkey = QKEY};

	if (p->type != IBV_QPT_UD)
		qc.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	if (p->type == IBV_QPT_RC)
		qc.access |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	return rqp_init(qp, &qc);
}

int
perf_make_qp(struct perf *p, uint32_t i, struct rdma_cm_id *id)
{
	const bool receives = p->conf->verb == PERF_SEND && (p->conf->lat || p->conf->bidir != 0 || p->e->server);
	const uint32_t lane = i / (p->conf->qps / p->conf->port.lanes);
	struct ibv_qp_init_attr init = {.qp_type = p->type,
					.send_cq = p->scqs[lane],
					.recv_cq = p->rcqs[lane],
					.srq = p->srq,
					.cap = {.max_send_wr = p->conf->tx_depth,
						.max_recv_wr = p->srq != NULL               ? 0
							       : p->conf->verb == PERF_SEND ? p->conf->rx_depth
											    : 1,
						.max_send_sge = 1,
						.max_recv_sge = p->srq != NULL ? 0 : 1,
						.max_inline_data = p->inl}};
	struct perf_qp *q = &p->qp[i];
	int rc = 0;

	if (id == NULL)
		q->qp = tp_roce_create_qp(p->pd, &init);
	else
		q->qp = tp_rdma_create_qp(id, p->pd, &init) == 0 ? id->qp : NULL;
	if (q->qp == NULL)
		return rend_fail(errno, "queue pair: %s", strerror(errno));
	if (id == NULL)
		rc = init_qp(p, q->qp);
	return rc == 0 && receives ? perf_post_recv(p, i, p->conf->rx_depth / (p->conf->srq != 0 ? p->conf->qps : 1))
				   : rc;
}

int
perf_make(struct perf *p, uint32_t max)
{
	uint32_t i;
	int rc;

	p->inl = p->conf->inl;
	if (p->inl == PERF_AUTO)
		p->inl = p->conf->lat && p->conf->verb <= PERF_WRITE ? INLINE_LAT : 0;
	p->qps = p->conf->qps;
	p->qp = calloc(p->conf->qps, sizeof(*p->qp));
	if (p->qp == NULL)
		return rend_fail(ENOMEM, "no memory for %u queue pairs", p->conf->qps);
	rc = make_memory(p, max);
	if (rc == 0)
		rc = make_cqs(p);
	for (i = 0; i < p->conf->qps && rc == 0; i++) {
		p->qp[i].id = i % (p->conf->qps / p->conf->port.lanes);
		rc = make_requests(p, &p->qp[i]);
		if (rc == 0 && p->cm == NULL)
			rc = perf_make_qp(p, i, NULL);
	}
	return rc;
}

void
perf_unmake(struct perf *p)
{
	uint32_t i;

	for (i = 0; p->qp != NULL && i < p->conf->qps; i++) {
		if (p->qp[i].qp != NULL)
			tp_roce_destroy_qp(p->qp[i].qp);
		if (p->qp[i].ah != NULL)
			tp_roce_destroy_ah(p->qp[i].ah);
		free(p->qp[i].wr);
		free(p->qp[i].sge);
	}
	if (p->srq != NULL)
		tp_roce_destroy_srq(p->srq);
	for (i = 0; i < TP_ROCE_LANES; i++) {
		if (p->scqs[i] != NULL)
			tp_roce_destroy_cq(p->scqs[i]);
		if (p->rcqs[i] != NULL)
			tp_roce_destroy_cq(p->rcqs[i]);
	}
	if (p->channel != NULL)
		tp_roce_destroy_comp_channel(p->channel);
	if (p->mr != NULL)
		tp_roce_dereg_mr(p->mr);
	if (p->pd != NULL)
		tp_roce_dealloc_pd(p->pd);
	rend_free(p->buf);
	free(p->qp);
	free(p->t_post);
	free(p->t_done);
}
