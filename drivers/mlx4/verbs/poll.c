/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Completions [DP 6]: polling, arming, and the flush of what a lost card leaves behind. */
#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_io.h>

#include "fast/receive.h"
#include "verbs.h"

static enum ibv_wc_status
status_of(uint8_t syndrome)
{
	switch (syndrome) {
	case MLX4_SYND_LOCAL_LENGTH: return IBV_WC_LOC_LEN_ERR;
	case MLX4_SYND_LOCAL_QP_OP: return IBV_WC_LOC_QP_OP_ERR;
	case MLX4_SYND_LOCAL_PROT: return IBV_WC_LOC_PROT_ERR;
	case MLX4_SYND_WR_FLUSH: return IBV_WC_WR_FLUSH_ERR;
	case MLX4_SYND_MW_BIND: return IBV_WC_MW_BIND_ERR;
	case MLX4_SYND_BAD_RESP: return IBV_WC_BAD_RESP_ERR;
	case MLX4_SYND_LOCAL_ACCESS: return IBV_WC_LOC_ACCESS_ERR;
	case MLX4_SYND_REMOTE_INVAL_REQ: return IBV_WC_REM_INV_REQ_ERR;
	case MLX4_SYND_REMOTE_ACCESS: return IBV_WC_REM_ACCESS_ERR;
	case MLX4_SYND_REMOTE_OP: return IBV_WC_REM_OP_ERR;
	case MLX4_SYND_RETRY_EXC: return IBV_WC_RETRY_EXC_ERR;
	case MLX4_SYND_RNR_RETRY_EXC: return IBV_WC_RNR_RETRY_EXC_ERR;
	case MLX4_SYND_REMOTE_ABORTED: return IBV_WC_REM_ABORT_ERR;
	default: return IBV_WC_GENERAL_ERR;
	}
}

/* An error moves the queue pair, which flushes then; to where, depends on its type and side (10.3.1). */
static __rte_noinline void
error_cqe(struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, bool send, struct ibv_wc *wc)
{
	const struct mlx4_err_cqe *e = (const void *)cqe;
	enum ibv_qp_state *state = &q->q.v.state;

	wc->status = status_of(e->syndrome);
	wc->vendor_err = e->vendor_syndrome;
	wc->wc_flags = 0;
	wc->opcode = send ? IBV_WC_SEND : IBV_WC_RECV;
	wc->byte_len = 0;
	if (wc->status == IBV_WC_WR_FLUSH_ERR || *state == IBV_QPS_RESET || *state == IBV_QPS_ERR)
		return;
	/* A frame that was too long ends its request alone [DP 5.3]. */
	if (q->raw && !send && wc->status == IBV_WC_LOC_LEN_ERR)
		return;
	if (send && !q->raw && q->q.v.qp_type != IBV_QPT_RC && *state != IBV_QPS_SQD)
		*state = IBV_QPS_SQE;
	else
		*state = IBV_QPS_ERR;
}

/* IPv4 whose header and whose TCP or UDP the card found right [DP 6.3]; IPv6 has no such flag. */
static __rte_always_inline unsigned int
csum_flag(const struct mlx4_cqe *cqe)
{
	const rte_be32_t good = RTE_BE32((uint32_t)(MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_IP_OK) << 16 | MLX4_CQE_L4_OK);
	rte_be32_t status;

	memcpy(&status, &cqe->status, sizeof(status));
	return (status & good) == good ? IBV_WC_IP_CSUM_OK : 0;
}

/* Where a datagram on InfiniBand came from [DP 6.2]. */
static __rte_always_inline void
fill_ib(const struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, const struct like_message *k, struct ibv_wc *wc)
{
	uint32_t from = rte_be_to_cpu_32(cqe->g_mlpath_rqpn);

	wc->src_qp = from & MLX4_CQE_QPN_MASK;
	wc->wc_flags = k->flags | ((from & MLX4_CQE_GRH) != 0 ? IBV_WC_GRH : 0) | (q->csum != 0 ? csum_flag(cqe) : 0);
	wc->sl = (uint8_t)(rte_be_to_cpu_16(cqe->sl_vid) >> MLX4_CQE_SL_SHIFT);
	/* The card drops datagrams of other partitions than the queue pair's. */
	wc->pkey_index = q->q.attr.pkey_index;
	wc->slid = rte_be_to_cpu_16(cqe->rlid);
	wc->dlid_path_bits = (uint8_t)(from >> MLX4_CQE_PATH_BITS_SHIFT & MLX4_CQE_PATH_BITS_MASK);
}

static __rte_always_inline void
receive_done(struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, struct ibv_wc *wc)
{
	uint32_t at = rte_be_to_cpu_16(cqe->wqe_index);

	if (q->srq != NULL) {
		wc->wr_id = q->srq->wrid[at & q->srq->mask];
		mlx4_roce_srq_free(q->srq, at & q->srq->mask);
	} else {
		wc->wr_id = q->rq_wrid[q->rq_tail++ & q->rq_mask];
	}
}

/* All but whose request it was. */
static __rte_always_inline void
fill_receive(const struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, unsigned int op, struct ibv_wc *wc)
{
	const struct like_message k = like_with(op, 0);

	memcpy(&wc->status, &k.done, sizeof(k.done));
	put_message(cqe, &k, q->qpn, wc);
	if (!q->ud)
		wc->wc_flags = unlikely(q->raw) ? csum_flag(cqe) : k.flags;
	else if (q->ib)
		fill_ib(q, cqe, &k, wc);
	else
		put_origin(cqe, &k, wc);
}

/* What did not end well, and opcodes that no card has. */
static __rte_noinline void
fill_other(struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, unsigned int op, struct ibv_wc *wc)
{
	bool send = (op & MLX4_CQE_IS_SEND) != 0;

	if (send)
		mlx4_roce_send_done(q, cqe, wc);
	else
		receive_done(q, cqe, wc);
	op &= MLX4_CQE_OPCODE_MASK;
	if (likely(op == MLX4_CQE_ERROR)) {
		error_cqe(q, cqe, send, wc);
		return;
	}
	mlx4_roce_put_length(wc, cqe->byte_cnt);
	wc->wc_flags = 0;
	if (!send)
		fill_receive(q, cqe, op, wc);
}

/* Opcode and side of an entry that is ours; anything else has a bit more. */
static __rte_always_inline unsigned int
kind_of(const struct mlx4_cqe *cqe, uint8_t phase)
{
	return *(const volatile uint8_t *)&cqe->owner_sr_opcode ^ phase;
}

/* Up to n completions from cqe on, the first of which is known, as long as they are sends of the same queue pair. */
static __rte_noinline uint32_t
fill_sends(struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, uint8_t phase, uint32_t n, struct ibv_wc *wc)
{
	const struct mlx4_roce_slot *const slots = q->slots;
	const rte_be32_t whose = cqe->vlan_my_qpn;
	const uint32_t qpn = q->qpn, mask = q->sq_mask;
	const struct mlx4_cqe *const first = cqe, *const end = cqe + n;
	uint32_t index;

	do {
		index = rte_be_to_cpu_16(cqe->wqe_index);
		wc->qp_num = qpn;
		memcpy(wc, &slots[index & mask].done, sizeof(struct mlx4_roce_done));
		mlx4_roce_put_length(wc, cqe->byte_cnt);
		wc->wc_flags = 0;
		wc++;
		cqe++;
		if (cqe == end || kind_of(cqe, phase ^ MLX4_CQE_IS_SEND) >= MLX4_CQE_ERROR)
			break;
		rte_io_rmb();
	} while (cqe->vlan_my_qpn == whose);
	q->sq_tail = (uint16_t)(index + 1);
	return (uint32_t)(cqe - first);
}

/* The same of messages of any kind. */
static __rte_noinline uint32_t
fill_receives(struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, uint8_t phase, uint32_t n, struct ibv_wc *wc)
{
	const rte_be32_t whose = cqe->vlan_my_qpn;
	const struct mlx4_cqe *const first = cqe, *const end = cqe + n;
	unsigned int op = kind_of(cqe, phase);

	do {
		receive_done(q, cqe, wc);
		fill_receive(q, cqe, op, wc);
		wc++;
		cqe++;
		if (cqe == end)
			break;
		op = kind_of(cqe, phase);
		if (op > MLX4_CQE_RECV_SEND_INV)
			break;
		rte_io_rmb();
	} while (cqe->vlan_my_qpn == whose);
	return (uint32_t)(cqe - first);
}

/* --- messages of one kind --- */

/* Up to n completions from cqe on, as long as they are of one kind and queue pair; shared: from a shared receive queue. */
static __rte_always_inline uint32_t
fill_kind(struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, const struct like_message k, uint32_t n,
	  struct ibv_wc *wc, const bool shared, const bool datagram)
{
	struct mlx4_roce_srq *const s = q->srq;
	const uint64_t *const wrid = shared ? s->wrid : q->rq_wrid;
	const rte_be32_t whose = cqe->vlan_my_qpn;
	const uint32_t qpn = q->qpn, mask = shared ? s->mask : q->rq_mask;
	const struct mlx4_cqe *const first = cqe, *const end = cqe + n;
	uint32_t tail = shared ? s->tail : q->rq_tail;

	do {
		if (shared) {
			const rte_be16_t entry = cqe->wqe_index & rte_cpu_to_be_16((uint16_t)mask);

			mlx4_roce_srq_link(s, tail, entry);
			tail = rte_be_to_cpu_16(entry);
			wc->wr_id = wrid[tail];
		} else {
			wc->wr_id = wrid[tail++ & mask];
		}
		memcpy(&wc->status, &k.done, sizeof(k.done));
		put_message(cqe, &k, qpn, wc);
		if (datagram)
			put_origin(cqe, &k, wc);
		else
			wc->wc_flags = k.flags;
		wc++;
		cqe++;
		if (cqe == end || cqe->owner_sr_opcode != k.owner)
			break;
		rte_io_rmb();
	} while (cqe->vlan_my_qpn == whose);
	if (shared)
		s->tail = tail;
	else
		q->rq_tail = tail;
	return (uint32_t)(cqe - first);
}

static __rte_noinline uint32_t
fill_own(struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, struct like_message k, uint32_t n, struct ibv_wc *wc)
{
	return fill_kind(q, cqe, k, n, wc, false, false);
}

static __rte_noinline uint32_t
fill_shared(struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, struct like_message k, uint32_t n, struct ibv_wc *wc)
{
	return fill_kind(q, cqe, k, n, wc, true, false);
}

static __rte_noinline uint32_t
fill_datagrams(struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, struct like_message k, uint32_t n, struct ibv_wc *wc)
{
	return fill_kind(q, cqe, k, n, wc, false, true);
}

/* What has more to tell, or is seldom, goes one by one. */
static __rte_always_inline uint32_t
fill_messages(struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, uint8_t phase, unsigned int op, uint32_t n,
	      struct ibv_wc *wc)
{
	const struct mlx4_roce_srq *s = q->srq;

	if (q->plain_recv)
		return fill_own(q, cqe, like_with(op, phase), n, wc);
	if (q->raw || q->ib || (s != NULL && (q->ud || s->enter != NULL)))
		return fill_receives(q, cqe, phase, n, wc);
	if (s != NULL)
		return fill_shared(q, cqe, like_with(op, phase), n, wc);
	return fill_datagrams(q, cqe, like_with(op, phase), n, wc);
}

/* Room for one more; of the requests that wait the oldest is flushed. */
static bool
flush_one(struct mlx4_roce_cq *cq, struct mlx4_roce_qp *q, struct ibv_wc *wc)
{
	bool send = q->q.v.send_cq == &cq->c.v && q->sq_tail != (uint16_t)q->sq_head;

	if (!send && (q->q.v.recv_cq != &cq->c.v || q->srq != NULL || q->rq_tail == q->rq_head))
		return false;
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = send ? q->slots[q->sq_tail++ & q->sq_mask].done.wr_id : q->rq_wrid[q->rq_tail++ & q->rq_mask];
	wc->status = IBV_WC_WR_FLUSH_ERR;
	wc->opcode = send ? IBV_WC_SEND : IBV_WC_RECV;
	wc->qp_num = q->qpn;
	return true;
}

/* The card is lost: what it did not complete ends here. Not a fast path: queue pairs may come and go meanwhile. */
static __rte_noinline int
flush(struct mlx4_roce_cq *cq, int n, struct ibv_wc *wc)
{
	struct mlx4_roce_qp *q;
	int done = 0;

	pthread_mutex_lock(&cq->home->tables);
	LIST_FOREACH(q, &cq->home->qps, next)
	while (done < n && flush_one(cq, q, &wc[done]))
		done++;
	pthread_mutex_unlock(&cq->home->tables);
	return done;
}

/* Completions of any kind; done: how many there are before wc. */
int
mlx4_roce_poll_any(struct mlx4_roce_cq *cq, int n, struct ibv_wc *wc, int done)
{
	struct mlx4_roce_qp *q = NULL; /* of the completion before, as a rule of this one, too */
	const struct mlx4_cqe *const cqes = cq->cqes;
	const uint32_t mask = cq->mask;
	uint32_t ci = cq->ci, qpn = 0;
	rte_be32_t whose = 0;
	uint8_t phase = cq->phase;

	while (done < n) {
		const struct mlx4_cqe *cqe = &cqes[ci & mask];
		unsigned int op = kind_of(cqe, phase);
		uint32_t most = RTE_MIN((uint32_t)(n - done), mask + 1 - (ci & mask)), k = 1;

		if ((op & MLX4_CQE_OWNER) != 0)
			break;
		rte_io_rmb();
		if (cqe->vlan_my_qpn != whose || q == NULL) {
			whose = cqe->vlan_my_qpn;
			qpn = rte_be_to_cpu_32(whose) & MLX4_CQE_QPN_MASK;
			q = cq->qp_of[qpn];
		}
		op &= MLX4_CQE_IS_SEND | MLX4_CQE_OPCODE_MASK;
		if (unlikely(q == NULL)) {
			done--;
			wc--;
		} else if (op - MLX4_CQE_IS_SEND < MLX4_CQE_ERROR) {
			k = fill_sends(q, cqe, phase, most, wc);
		} else if (likely(op <= MLX4_CQE_RECV_SEND_INV)) {
			k = fill_messages(q, cqe, phase, op, most, wc);
		} else {
			wc->qp_num = qpn;
			fill_other(q, cqe, op, wc);
		}
		done += (int)k;
		wc += k;
		ci += k;
		if (unlikely((ci & mask) == 0))
			phase ^= MLX4_CQE_OWNER;
	}
	cq->phase = phase;
	cq->ci = ci;
	mlx4_roce_cq_publish(cq);
	if (unlikely(done < n && cq->dead))
		done += flush(cq, n - done, wc);
	return done;
}

/* The next completion is a message that has more to tell than its length, or not from a queue of its own. */
static __rte_noinline int
poll_message(struct mlx4_roce_cq *cq, struct mlx4_roce_qp *q, const struct mlx4_cqe *cqe, unsigned int op,
	     struct ibv_wc *wc)
{
	receive_done(q, cqe, wc);
	fill_receive(q, cqe, op, wc);
	mlx4_roce_cq_advance(cq);
	mlx4_roce_cq_publish(cq);
	return 1;
}

int
mlx4_roce_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct mlx4_roce_cq *cq = (struct mlx4_roce_cq *)(void *)ibcq;
	const struct mlx4_cqe *cqe;
	struct mlx4_roce_qp *q;
	unsigned int op;
	uint32_t qpn;

	if (n != 1)
		return mlx4_roce_poll_any(cq, n, wc, 0);
	cqe = mlx4_roce_next_cqe(cq, cq->ci, &op);
	if (cqe == NULL)
		return unlikely(cq->dead) ? mlx4_roce_poll_any(cq, 1, wc, 0) : 0;
	qpn = rte_be_to_cpu_32(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK;
	wc->qp_num = qpn;
	q = cq->qp_of[qpn];
	if (unlikely(q == NULL))
		return mlx4_roce_poll_any(cq, 1, wc, 0);
	if (!mlx4_roce_take_plain(q, cqe, op, wc))
		return op <= MLX4_CQE_RECV_SEND_INV ? poll_message(cq, q, cqe, op, wc)
						    : mlx4_roce_poll_any(cq, 1, wc, 0);
	mlx4_roce_cq_advance(cq);
	mlx4_roce_cq_publish(cq);
	return 1;
}

int
mlx4_roce_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct mlx4_roce_cq *cq = (struct mlx4_roce_cq *)(void *)ibcq;
	uint32_t sn = atomic_load_explicit(&cq->arm_sn, memory_order_relaxed) & MLX4_CQ_ARM_SN_MASK;
	uint32_t cmd = solicited_only != 0 ? MLX4_CQ_ARM_SOLICITED : MLX4_CQ_ARM_NEXT, ci = cq->ci & MLX4_CQ_CI_MASK;
	uint8_t db[8];
	uint64_t v;

	if (unlikely(cq->dead))
		return 0;
	/* The record first: the card may look at it as soon as it has the doorbell [DP 2.4]. */
	cq->dbrec[MLX4_CQ_DBREC_ARM / sizeof(rte_be32_t)] =
		rte_cpu_to_be_32(sn << MLX4_CQ_ARM_SN_SHIFT | cmd << MLX4_CQ_ARM_CMD_SHIFT | ci);
	rte_io_wmb();
	prm_set32(db, 0, sn << MLX4_CQ_ARM_SN_SHIFT | cmd << MLX4_CQ_ARM_CMD_SHIFT | cq->cqn);
	prm_set32(db, 4, ci);
	memcpy(&v, db, sizeof(v));
	*cq->arm_db = v;
	rte_io_wmb();
	return 0;
}

static uint8_t
phase_of(uint32_t ci, uint32_t mask)
{
	return (ci & (mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;
}

/* Behind the last entry from ci on that is ours. */
static uint32_t
end_of(const struct mlx4_roce_cq *c, uint32_t ci)
{
	uint32_t end;

	for (end = ci; end - ci <= c->mask; end++)
		if ((c->cqes[end & c->mask].owner_sr_opcode & MLX4_CQE_OWNER) != phase_of(end, c->mask))
			break;
	return end;
}

/* Entries slide up over those that go; each place keeps the owner bit of its pass [DP 6.5]. */
void
mlx4_roce_cq_clean(struct mlx4_roce_cq *c, uint32_t qpn, struct mlx4_roce_srq *srq)
{
	uint32_t end = end_of(c, c->ci), gone = 0, i;

	for (i = end; i-- != c->ci;) {
		struct mlx4_cqe *from = &c->cqes[i & c->mask], *to = &c->cqes[(i + gone) & c->mask];

		if ((rte_be_to_cpu_32(from->vlan_my_qpn) & MLX4_CQE_QPN_MASK) == qpn) {
			if (srq != NULL && (from->owner_sr_opcode & MLX4_CQE_IS_SEND) == 0)
				mlx4_roce_srq_free(srq, rte_be_to_cpu_16(from->wqe_index) & srq->mask);
			gone++;
		} else if (gone != 0) {
			uint8_t owner = to->owner_sr_opcode & MLX4_CQE_OWNER;

			*to = *from;
			to->owner_sr_opcode = (uint8_t)((from->owner_sr_opcode & ~MLX4_CQE_OWNER) | owner);
		}
	}
	c->ci += gone;
	c->phase = phase_of(c->ci, c->mask);
	if (gone != 0)
		*c->dbrec = rte_cpu_to_be_32(c->ci & MLX4_CQ_CI_MASK);
}

/* --- another ring [DP 6.7] --- */

/* The record tells how far it was read, also of a guest's. */
static uint32_t
read_so_far(const struct mlx4_roce_cq *c)
{
	return rte_be_to_cpu_32(*c->dbrec) & MLX4_CQ_CI_MASK;
}

uint32_t
mlx4_roce_cq_waiting(const struct mlx4_roce_cq *c)
{
	uint32_t ci = read_so_far(c);

	return end_of(c, ci) - ci;
}

/* The card's word of the move took a number: each entry before it goes one further. */
void
mlx4_roce_cq_carry(const struct mlx4_roce_cq *c, struct mlx4_cqe *to, uint32_t mask)
{
	uint32_t first = read_so_far(c);

	for (uint32_t i = first; i - first <= c->mask; i++) {
		const struct mlx4_cqe *from = &c->cqes[i & c->mask];
		struct mlx4_cqe *e = &to[(i + 1) & mask];

		if ((from->owner_sr_opcode & MLX4_CQE_OPCODE_MASK) == MLX4_CQE_RESIZE)
			break;
		*e = *from;
		e->owner_sr_opcode = (uint8_t)((from->owner_sr_opcode & ~MLX4_CQE_OWNER) | phase_of(i + 1, mask));
	}
}

void
mlx4_roce_cq_moved(struct mlx4_roce_cq *c, struct mlx4_cqe *to, uint32_t mask)
{
	c->cqes = to;
	c->mask = mask;
	c->ci++;
	c->phase = phase_of(c->ci, mask);
	*c->dbrec = rte_cpu_to_be_32(c->ci & MLX4_CQ_CI_MASK);
}
