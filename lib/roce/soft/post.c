/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Posting work requests (IBTA 11.4.1). A send request is written straight into the engine's queue: its slots between
 * what the engine knows and what ibv_post_send() published belong to the posting thread.
 */
#include <errno.h>
#include <string.h>

#include "gate.h"

/* As completions name requests; by enum ibv_wr_opcode. What has no name here cannot be posted. */
static const struct {
	uint8_t wc, ok;
} kinds[16] = {
	[IBV_WR_RDMA_WRITE] = {IBV_WC_RDMA_WRITE, 1},
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {IBV_WC_RDMA_WRITE, 1},
	[IBV_WR_SEND] = {IBV_WC_SEND, 1},
	[IBV_WR_SEND_WITH_IMM] = {IBV_WC_SEND, 1},
	[IBV_WR_RDMA_READ] = {IBV_WC_RDMA_READ, 1},
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {IBV_WC_COMP_SWAP, 1},
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {IBV_WC_FETCH_ADD, 1},
	[IBV_WR_LOCAL_INV] = {IBV_WC_LOCAL_INV, 1},
	[IBV_WR_BIND_MW] = {IBV_WC_BIND_MW, 1},
	[IBV_WR_SEND_WITH_INV] = {IBV_WC_SEND, 1},
	[TROCE_WR_FAST_REG] = {IBV_WC_DRIVER1, 1},
};

#define OPS(a) (1u << (a))
/* What each type of queue pair sends (table 87). */
#define OPS_UD (OPS(IBV_WR_SEND) | OPS(IBV_WR_SEND_WITH_IMM))
#define OPS_UC (OPS_UD | OPS(IBV_WR_RDMA_WRITE) | OPS(IBV_WR_RDMA_WRITE_WITH_IMM) | OPS(IBV_WR_BIND_MW))
#define OPS_INLINE (OPS_UD | OPS(IBV_WR_SEND_WITH_INV) | OPS(IBV_WR_RDMA_WRITE) | OPS(IBV_WR_RDMA_WRITE_WITH_IMM))

static inline bool
allowed(const struct rsw_qp *qp, unsigned int op)
{
	if (op >= RTE_DIM(kinds) || !kinds[op].ok)
		return false;
	switch (qp->q.v.qp_type) {
	case IBV_QPT_RC: return true;
	case IBV_QPT_UC: return (OPS_UC >> op & 1) != 0;
	default: return (OPS_UD >> op & 1) != 0;
	}
}

/* The data of a request into its slot, as a list or inline. */
static inline int
take_data(struct rsw_qp *qp, struct tre_wqe *w, const struct ibv_send_wr *wr, uint8_t *data)
{
	uint64_t len = 0;

	if ((uint32_t)wr->num_sge > qp->q.init.cap.max_send_sge)
		return EINVAL;
	w->inline_data = NULL;
	w->num_sge = (uint16_t)wr->num_sge;
	w->sge = (const struct tre_sge *)(const void *)data;
	if ((wr->send_flags & IBV_SEND_INLINE) == 0) {
		for (int i = 0; i < wr->num_sge; i++) {
			memcpy(data + i * sizeof(struct tre_sge), &wr->sg_list[i], sizeof(struct tre_sge));
			len += wr->sg_list[i].length;
		}
	} else {
		if ((OPS_INLINE >> wr->opcode & 1) == 0)
			return EINVAL;
		for (int i = 0; i < wr->num_sge; i++) {
			const struct ibv_sge *s = &wr->sg_list[i];

			if (s->length > qp->q.init.cap.max_inline_data - len)
				return EINVAL;
			memcpy(data + len, (const void *)(uintptr_t)s->addr, s->length);
			len += s->length;
		}
		w->inline_data = data;
	}
	/* The engine refuses what is too long, this included. */
	w->len = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
	return 0;
}

/* What concerns keys alone has no data. */
static int
take_local(struct tre_wqe *w, struct rsw_slot *s, const struct ibv_send_wr *wr)
{
	w->opcode = TRE_WR_LOCAL;
	w->len = 0;
	w->num_sge = 0;
	w->inline_data = NULL;
	s->local = wr->opcode;
	if (wr->opcode == IBV_WR_LOCAL_INV)
		return 0;
	if (wr->opcode == IBV_WR_BIND_MW ? wr->bind_mw.mw == NULL : wr->num_sge != 1)
		return EINVAL;
	if (wr->opcode == TROCE_WR_FAST_REG)
		w->remote = wr->sg_list->addr;
	w->rkey = wr->bind_mw.rkey;
	s->mw = (struct rsw_mw *)wr->bind_mw.mw;
	s->info = wr->bind_mw.bind_info;
	return 0;
}

static inline int
take_address(struct rsw_qp *qp, struct tre_wqe *w, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
		w->remote = wr->wr.rdma.remote_addr;
		w->rkey = wr->wr.rdma.rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		w->remote = wr->wr.atomic.remote_addr;
		w->rkey = wr->wr.atomic.rkey;
		w->compare_add = wr->wr.atomic.compare_add;
		w->swap = wr->wr.atomic.swap;
		break;
	default: break;
	}
	if (qp->q.v.qp_type != IBV_QPT_UD)
		return 0;
	if (wr->wr.ud.ah == NULL || wr->wr.ud.ah->pd != qp->q.v.pd)
		return EINVAL;
	w->av = rsw_ah_route((struct rsw_ah *)wr->wr.ud.ah, qp->d);
	w->ud_qpn = wr->wr.ud.remote_qpn;
	w->ud_qkey = wr->wr.ud.remote_qkey;
	return 0;
}

static inline int
take(struct rsw_qp *qp, const struct ibv_send_wr *wr, uint32_t at)
{
	uint32_t i = at & (qp->sq_depth - 1);
	struct tre_wqe *w = &qp->sq[i];
	struct rsw_slot *s = &qp->slot[i];
	int rc;

	if (!allowed(qp, (unsigned int)wr->opcode))
		return EINVAL;
	w->opcode = (uint8_t)wr->opcode;
	w->flags = (uint8_t)wr->send_flags;
	w->imm = wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_LOCAL_INV ? wr->invalidate_rkey
										      : rte_be_to_cpu_32(wr->imm_data);
	s->wr_id = wr->wr_id;
	s->wc_opcode = kinds[wr->opcode].wc;
	s->signaled = qp->all_signaled || (wr->send_flags & IBV_SEND_SIGNALED) != 0;
	if (wr->opcode == IBV_WR_LOCAL_INV || wr->opcode == IBV_WR_BIND_MW || wr->opcode == TROCE_WR_FAST_REG)
		return take_local(w, s, wr);
	rc = take_data(qp, w, wr, qp->data + (size_t)i * qp->data_stride);
	return rc != 0 ? rc : take_address(qp, w, wr);
}

/* The queue pair's own thread works at once; who is not it, asks. */
static inline void
act(struct rsw_qp *qp)
{
	struct rsw_dev *d = qp->d;

	if (!rsw_is_owner(d) || !rsw_gate_enter(d)) {
		rsw_qp_kick(qp);
		return;
	}
	rsw_qp_run(qp, rsw_now(d));
	rsw_tx_flush(d);
	rsw_gate_leave(d);
}

static void
count_refusal(struct rsw_qp *qp)
{
	atomic_fetch_add_explicit(&qp->d->refused, 1, memory_order_relaxed);
}

static bool
can_post_send(const struct rsw_qp *qp)
{
	switch (qp->q.v.state) {
	case IBV_QPS_RTS:
	case IBV_QPS_SQD:
	case IBV_QPS_SQE:
	case IBV_QPS_ERR: return true;
	default: return false;
	}
}

int
rsw_post_send(struct ibv_qp *v, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct rsw_qp *qp = (struct rsw_qp *)v;
	uint32_t first = atomic_load_explicit(&qp->posted, memory_order_relaxed), at = first;
	uint32_t done = atomic_load_explicit(&qp->done, memory_order_acquire);
	int rc = can_post_send(qp) ? 0 : EINVAL;

	for (; wr != NULL && rc == 0; wr = wr->next, at++) {
		rc = at - done < qp->sq_depth ? take(qp, wr, at) : ENOMEM;
		if (rc != 0)
			break;
	}
	if (rc != 0) {
		*bad = wr;
		count_refusal(qp);
	}
	if (at != first) {
		atomic_store_explicit(&qp->posted, at, memory_order_release);
		act(qp);
	}
	return rc;
}

int
rsw_post_recv(struct ibv_qp *v, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct rsw_qp *qp = (struct rsw_qp *)v;
	int rc;

	if (qp->srq != NULL || v->state == IBV_QPS_RESET) {
		count_refusal(qp);
		*bad = wr;
		return EINVAL;
	}
	rc = rsw_rq_post(&qp->rq, wr, bad);
	if (rc != 0)
		count_refusal(qp);
	/* What is posted in error is flushed; who moves the queue pair there looks at the ring after it says so. */
	if (!rsw_is_owner(qp->d))
		atomic_thread_fence(memory_order_seq_cst);
	if (*(volatile enum ibv_qp_state *)&v->state == IBV_QPS_ERR)
		act(qp);
	return rc;
}

void
rsw_send_done(struct tre_qp *e, struct tre_wqe *w, enum ibv_wc_status status)
{
	struct rsw_qp *qp = e->home;
	const struct rsw_slot *s = &qp->slot[w - qp->sq];
	struct ibv_wc *wc;

	if (s->signaled || status != IBV_WC_SUCCESS) {
		wc = rsw_cq_slot(qp->scq, qp);
		if (wc != NULL) {
			wc->wr_id = s->wr_id;
			wc->status = status;
			wc->opcode = s->wc_opcode;
			wc->vendor_err = 0;
			wc->byte_len = w->len;
			wc->imm_data = 0;
			wc->qp_num = qp->q.v.qp_num;
			wc->src_qp = 0;
			wc->wc_flags = 0;
			wc->pkey_index = wc->slid = 0;
			wc->sl = wc->dlid_path_bits = 0;
			/* A send that went well is never solicited, whatever it asked for (ibv_req_notify_cq(3)). */
			rsw_cq_commit(qp->scq, status != IBV_WC_SUCCESS);
		}
	}
	atomic_store_explicit(&qp->done, atomic_load_explicit(&qp->done, memory_order_relaxed) + 1,
			      memory_order_release);
}
