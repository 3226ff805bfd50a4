/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Queue pairs whose requests are told piece by piece: ibv_wr_start(), ibv_wr_send() and so on. Each request is put into the ring when
 * its data is told, by the driver's own code; all of them become the card's by ibv_wr_complete(), or none. A card that is at work
 * reads on while it finds WQEs that are its own [DP 4.2], so that none may look so before.
 */
#include <errno.h>
#include <string.h>

#include "drivers/mlx4/verbs/wqe.h"

#include "verbs_client.h"

enum { WANT_DATA = 1, WANT_ADDRESS = 2 };

/* Until the address is told. */
static struct mlx4_roce_ah nowhere;

static __rte_always_inline struct vc_qp *
of(struct ibv_qp_ex *qp)
{
	return (struct vc_qp *)qp;
}

static __rte_always_inline struct mlx4_roce_slot *
slot_of(const struct vc_qp *q, uint32_t at)
{
	return &q->q.slots[at & q->q.sq_mask];
}

/* --- a request --------------------------------------------------------------------------------------------------- */

static void
put(struct vc_qp *q)
{
	struct mlx4_roce_qp *k = &q->q;
	struct mlx4_roce_slot *slot = slot_of(q, q->head);
	uint16_t room = k->sq_room;

	if (unlikely(q->err != 0))
		return;
	if (unlikely((uint16_t)(q->head - k->sq_tail) >= room)) {
		q->err = why_not(k, room);
		return;
	}
	if (likely(is_allowed(k, &q->wr))) {
		slot->op = put_wqe(k, &q->wr, slot);
	} else {
		slot->op = put_frame(k, &q->wr, slot);
		if (unlikely(slot->op == MLX4_OP_NOP)) {
			q->err = EINVAL;
			return;
		}
	}
	q->head++;
}

/* The request before must be whole. */
static __rte_always_inline struct ibv_send_wr *
begin(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, unsigned int wanted)
{
	struct vc_qp *q = of(qp);

	if (unlikely(q->wanted != 0))
		q->err = EINVAL;
	q->wanted = wanted;
	q->wr.wr_id = qp->wr_id;
	q->wr.opcode = opcode;
	q->wr.send_flags = qp->wr_flags & ~(unsigned int)IBV_SEND_INLINE;
	q->wr.num_sge = 0;
	return &q->wr;
}

static __rte_always_inline struct ibv_send_wr *
begin_send(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr *wr = begin(qp, opcode, of(qp)->q.ud ? WANT_DATA | WANT_ADDRESS : WANT_DATA);

	wr->wr.ud.ah = &nowhere.a.v;
	return wr;
}

static void
wr_send(struct ibv_qp_ex *qp)
{
	(void)begin_send(qp, IBV_WR_SEND);
}

static void
wr_send_imm(struct ibv_qp_ex *qp, __be32 imm_data)
{
	begin_send(qp, IBV_WR_SEND_WITH_IMM)->imm_data = imm_data;
}

static void
wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	begin_send(qp, IBV_WR_SEND_WITH_INV)->invalidate_rkey = rkey;
}

static __rte_always_inline struct ibv_send_wr *
begin_rdma(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr)
{
	struct ibv_send_wr *wr = begin(qp, opcode, WANT_DATA);

	wr->wr.rdma.remote_addr = addr;
	wr->wr.rdma.rkey = rkey;
	return wr;
}

static void
wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	(void)begin_rdma(qp, IBV_WR_RDMA_WRITE, rkey, addr);
}

static void
wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm_data)
{
	begin_rdma(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr)->imm_data = imm_data;
}

static void
wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	(void)begin_rdma(qp, IBV_WR_RDMA_READ, rkey, addr);
}

static void
wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare, uint64_t swap)
{
	struct ibv_send_wr *wr = begin(qp, IBV_WR_ATOMIC_CMP_AND_SWP, WANT_DATA);

	wr->wr.atomic.remote_addr = addr;
	wr->wr.atomic.compare_add = compare;
	wr->wr.atomic.swap = swap;
	wr->wr.atomic.rkey = rkey;
}

static void
wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add)
{
	struct ibv_send_wr *wr = begin(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, WANT_DATA);

	wr->wr.atomic.remote_addr = addr;
	wr->wr.atomic.compare_add = add;
	wr->wr.atomic.rkey = rkey;
}

static void
wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	begin(qp, IBV_WR_LOCAL_INV, 0)->invalidate_rkey = rkey;
	put(of(qp));
}

static void
wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr *wr = begin(qp, IBV_WR_BIND_MW, 0);

	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info = *info;
	put(of(qp));
}

/* --- what it has --------------------------------------------------------------------------------------------------- */

static void
set_list(struct ibv_qp_ex *qp, const struct ibv_sge *sge, size_t n, unsigned int flags)
{
	struct vc_qp *q = of(qp);

	if (unlikely((q->wanted & WANT_DATA) == 0 || n > INT32_MAX)) {
		q->err = EINVAL;
		return;
	}
	q->wanted &= ~(unsigned int)WANT_DATA;
	q->wr.sg_list = (struct ibv_sge *)(uintptr_t)sge;
	q->wr.num_sge = (int)n;
	q->wr.send_flags |= flags;
	put(q);
}

static void
wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = {addr, length, lkey};

	set_list(qp, &sge, 1, 0);
}

static void
wr_set_sge_list(struct ibv_qp_ex *qp, size_t n, const struct ibv_sge *list)
{
	set_list(qp, list, n, 0);
}

static void
wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t len)
{
	/* What does not fit, is refused; its length may have more bits than an element takes. */
	const struct ibv_sge sge = {(uintptr_t)addr, (uint32_t)RTE_MIN(len, (size_t)MLX4_SEND_WQE_MAX), 0};

	set_list(qp, &sge, 1, IBV_SEND_INLINE);
}

/* One piece of data, however many elements the queue pair may have. */
static void
wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t n, const struct ibv_data_buf *list)
{
	uint8_t all[MLX4_SEND_WQE_MAX];
	size_t len = 0;

	for (; n > 0; n--, list++) {
		if (list->length > sizeof(all) - len) {
			len = sizeof(all);
			break;
		}
		memcpy(all + len, list->addr, list->length);
		len += list->length;
	}
	wr_set_inline_data(qp, all, len);
}

static void
wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct vc_qp *q = of(qp);

	if (unlikely((q->wanted & WANT_ADDRESS) == 0)) {
		q->err = EINVAL;
		return;
	}
	q->wanted &= ~(unsigned int)WANT_ADDRESS;
	q->wr.wr.ud.ah = ah;
	q->wr.wr.ud.remote_qpn = qpn;
	q->wr.wr.ud.remote_qkey = qkey;
	/* The data may be there. */
	if (q->wanted == 0 && q->err == 0)
		(void)put_dgram(slot_of(q, q->head - 1)->wqe + sizeof(struct mlx4_wqe_ctrl), &q->wr);
}

/* --- all of them --------------------------------------------------------------------------------------------------- */

static void
wr_start(struct ibv_qp_ex *qp)
{
	struct vc_qp *q = of(qp);

	vc_lock(&q->send);
	q->head = q->q.sq_head;
	q->wanted = 0;
	q->err = 0;
}

/* No block behind a first one may look as if it were the card's [DP 4.3]. */
static void
take_back(struct vc_qp *q)
{
	for (uint32_t i = q->q.sq_head; i != q->head; i++) {
		uint8_t *wqe = slot_of(q, i)->wqe;

		for (uint32_t off = MLX4_TXBB_SIZE; off < 1u << q->q.lg_sq_stride; off += MLX4_TXBB_SIZE)
			prm_set32(wqe, off, UINT32_MAX);
	}
}

static int
wr_complete(struct ibv_qp_ex *qp)
{
	struct vc_qp *q = of(qp);
	struct mlx4_roce_qp *k = &q->q;
	int err = q->wanted != 0 ? EINVAL : q->err;
	uint32_t i;

	if (unlikely(err != 0)) {
		take_back(q);
	} else if (likely(q->head != k->sq_head)) {
		for (i = k->sq_head; i != q->head; i++) {
			struct mlx4_roce_slot *slot = slot_of(q, i);

			give(slot, (uint8_t)slot->op);
		}
		k->sq_head = q->head;
		rte_io_wmb(); /* WQEs before the doorbell */
		*k->db = k->db_val;
	}
	vc_unlock(&q->send);
	return err;
}

static void
wr_abort(struct ibv_qp_ex *qp)
{
	take_back(of(qp));
	vc_unlock(&of(qp)->send);
}

/* --- life ------------------------------------------------------------------------------------------------------------ */

/* What is told of each of the operations, and what they are as requests. */
static const struct {
	uint64_t flag;
	enum ibv_wr_opcode opcode;
} operations[] = {
	{IBV_QP_EX_WITH_RDMA_WRITE, IBV_WR_RDMA_WRITE},
	{IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM},
	{IBV_QP_EX_WITH_SEND, IBV_WR_SEND},
	{IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM},
	{IBV_QP_EX_WITH_RDMA_READ, IBV_WR_RDMA_READ},
	{IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP},
	{IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD},
	{IBV_QP_EX_WITH_LOCAL_INV, IBV_WR_LOCAL_INV},
	{IBV_QP_EX_WITH_BIND_MW, IBV_WR_BIND_MW},
	{IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WR_SEND_WITH_INV},
};

/* Operations that a queue pair of the type has. */
static uint64_t
operations_of(enum ibv_qp_type type)
{
	uint64_t all = 0;
	unsigned int i;

	if (type == IBV_QPT_RAW_PACKET)
		return IBV_QP_EX_WITH_SEND;
	for (i = 0; i < RTE_DIM(operations); i++)
		if ((unsigned int)type < 8 && (opcodes[operations[i].opcode].services >> type & 1) != 0)
			all |= operations[i].flag;
	return all;
}

static void
tell(struct ibv_qp_ex *x, uint64_t ops)
{
	x->wr_rdma_write = (ops & IBV_QP_EX_WITH_RDMA_WRITE) != 0 ? wr_rdma_write : NULL;
	x->wr_rdma_write_imm = (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) != 0 ? wr_rdma_write_imm : NULL;
	x->wr_send = (ops & IBV_QP_EX_WITH_SEND) != 0 ? wr_send : NULL;
	x->wr_send_imm = (ops & IBV_QP_EX_WITH_SEND_WITH_IMM) != 0 ? wr_send_imm : NULL;
	x->wr_rdma_read = (ops & IBV_QP_EX_WITH_RDMA_READ) != 0 ? wr_rdma_read : NULL;
	x->wr_atomic_cmp_swp = (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP) != 0 ? wr_atomic_cmp_swp : NULL;
	x->wr_atomic_fetch_add = (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD) != 0 ? wr_atomic_fetch_add : NULL;
	x->wr_local_inv = (ops & IBV_QP_EX_WITH_LOCAL_INV) != 0 ? wr_local_inv : NULL;
	x->wr_bind_mw = (ops & IBV_QP_EX_WITH_BIND_MW) != 0 ? wr_bind_mw : NULL;
	x->wr_send_inv = (ops & IBV_QP_EX_WITH_SEND_WITH_INV) != 0 ? wr_send_inv : NULL;
	x->wr_set_ud_addr = wr_set_ud_addr;
	x->wr_set_sge = wr_set_sge;
	x->wr_set_sge_list = wr_set_sge_list;
	x->wr_set_inline_data = wr_set_inline_data;
	x->wr_set_inline_data_list = wr_set_inline_data_list;
	x->wr_start = wr_start;
	x->wr_complete = wr_complete;
	x->wr_abort = wr_abort;
}

struct ibv_qp *
vc_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *a)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			       IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	bool extended = (a->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
	uint16_t tso = (a->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER) != 0 ? a->max_tso_header : 0;
	struct ibv_qp *qp;

	if ((a->comp_mask & ~known) != 0 ||
	    ((a->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && a->create_flags != 0) ||
	    (tso != 0 && a->qp_type != IBV_QPT_RAW_PACKET) ||
	    (extended && (a->send_ops_flags & ~operations_of(a->qp_type)) != 0)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if ((a->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || a->pd == NULL || a->pd->context != ctx) {
		errno = EINVAL;
		return NULL;
	}
	/* It begins like the other. */
	qp = vc_create_qp(a->pd, (struct ibv_qp_init_attr *)a, tso);
	if (qp != NULL && extended) {
		((struct vc_qp *)qp)->extended = true;
		tell(&((struct vc_qp *)qp)->q.q.ex, a->send_ops_flags);
	}
	return qp;
}

VC_EXPORT struct ibv_qp_ex *
ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct vc_qp *q = (struct vc_qp *)qp;

	return q->extended ? &q->q.q.ex : NULL;
}
