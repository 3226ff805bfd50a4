/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Posting work requests [DP 3, 4, 5]. Everything that may be refused is looked at before a byte is written; the control dword with
 * the owner bit is written last, and one doorbell covers the call.
 */
#include <errno.h>

#include "drivers/mlx4/bus/bf.h"

#include "wqe.h"

#define SRQ_LG_ONE 5u /* of a shared receive queue's WQE with one element */
static_assert(MLX4_SRQ_WQE_LIST + MLX4_DS_SIZE == 1u << SRQ_LG_ONE, "no other one has room for one alone");

/* --- BlueFlame ----------------------------------------------------------------------------------------- */

/* The only WQE of a call as a copy in the BlueFlame register, which is the doorbell [DP 2.5]. */
static __rte_noinline bool
blueflame(struct mlx4_roce_qp *q, uint32_t head)
{
	struct mlx4_wqe_ctrl *c = (void *)q->slots[head & q->sq_mask].wqe;
	uint32_t len = (rte_be_to_cpu_32(c->vlan_ds) & MLX4_CTRL_DS_MASK) * MLX4_DS_SIZE;

	len = RTE_ALIGN_CEIL(len, MLX4_TXBB_SIZE);
	if (unlikely(len > q->bf_half))
		return false;
	c->vlan_ds |= q->db_val;
	c->owner_opcode |= rte_cpu_to_be_32((head & 0xffff) << MLX4_CTRL_BF_INDEX_SHIFT);
	mlx4_bf_copy(q->bf + q->bf_off, c, len);
	q->bf_off ^= q->bf_half;
	return true;
}

/* --- send ------------------------------------------------------------------------------------------------------ */

int
mlx4_roce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)(void *)qp;

	return q->post(q, wr, bad);
}

int
mlx4_roce_post_end(struct mlx4_roce_qp *q, uint32_t head)
{
	uint32_t first = q->sq_head;

	q->sq_head = head;
	if (unlikely(q->bf != NULL) && head - first == 1 && blueflame(q, first))
		return 0;
	rte_io_wmb(); /* WQEs before the doorbell */
	*q->db = q->db_val;
	return 0;
}

int
mlx4_roce_post_any(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad, uint32_t head)
{
	int err = 0;

	for (; wr != NULL; wr = wr->next, head++) {
		struct mlx4_roce_slot *slot;
		uint16_t room = q->sq_room;
		uint8_t op;

		if (unlikely((uint16_t)(head - q->sq_tail) >= room)) {
			err = why_not(q, room);
			break;
		}
		slot = &q->slots[head & q->sq_mask];
		if (likely(is_allowed(q, wr))) {
			op = put_wqe(q, wr, slot);
		} else {
			op = put_frame(q, wr, slot);
			if (unlikely(op == MLX4_OP_NOP)) {
				err = EINVAL;
				break;
			}
		}
		give(slot, op);
	}
	if (unlikely(err != 0))
		*bad = wr;
	if (likely(head != q->sq_head))
		(void)mlx4_roce_post_end(q, head);
	return err;
}

/* --- receive ----------------------------------------------------------------------------------------------- */

static __rte_always_inline bool
put_scatter(uint8_t *w, const struct ibv_recv_wr *wr, uint32_t room)
{
	struct mlx4_wqe_data *end;

	if (unlikely((unsigned int)wr->num_sge > room || list_len(wr->sg_list, wr->num_sge) > LEN_MAX))
		return false;
	end = (void *)put_list(w, wr->sg_list, wr->num_sge);
	if ((uint32_t)(end - (struct mlx4_wqe_data *)(void *)w) < room) {
		end->byte_count = 0;
		end->lkey = RTE_BE32(MLX4_LKEY_INVALID);
		end->addr = 0;
	}
	return true;
}

/* Of a list that has less elements than there is room for. */
static __rte_always_inline void
end_list(uint8_t *seg)
{
	const uint64_t end = PAIR(UINT64_C(0), (uint64_t)RTE_BE32(MLX4_LKEY_INVALID));

	memcpy(seg, &end, sizeof(end));
	memset(seg + sizeof(end), 0, sizeof(uint64_t));
}

static __rte_always_inline bool
put_recv(uint8_t *w, const struct ibv_recv_wr *wr, uint32_t room)
{
	if (unlikely(wr->num_sge != 1 || !put_piece(w, wr->sg_list, false)))
		return put_scatter(w, wr, room);
	if (room > 1)
		end_list(w + MLX4_DS_SIZE);
	return true;
}

static __rte_always_inline void
recv_doorbell(struct mlx4_roce_qp *q, uint32_t head)
{
	q->rq_head = head;
	rte_io_wmb();
	*q->rq_dbrec = rte_cpu_to_be_32(head & 0xffff);
}

static __rte_noinline int
recv_list(struct mlx4_roce_qp *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	const uint32_t room = q->rq_room, sges = q->rq_sges, mask = q->rq_mask, tail = q->rq_tail;
	const size_t stride = (size_t)1 << q->lg_rq_stride;
	uint32_t head = q->rq_head;
	uint64_t *const wrid = q->rq_wrid;
	int err = 0;

	while (wr != NULL && err == 0) {
		uint32_t at = head & mask, used = head - tail, from = at, end;
		uint8_t *w = q->rq + at * stride;

		if (unlikely(used >= room)) {
			err = why_not(q, room);
			break;
		}
		end = RTE_MIN(at + (room - used), mask + 1);
		do {
			if (unlikely(!put_recv(w, wr, sges))) {
				err = EINVAL;
				break;
			}
			wrid[at++] = wr->wr_id;
			w += stride;
			wr = wr->next;
		} while (wr != NULL && at != end);
		head += at - from;
	}
	if (unlikely(err != 0))
		*bad = wr;
	if (likely(head != q->rq_head))
		recv_doorbell(q, head);
	return err;
}

int
mlx4_roce_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)(void *)qp;
	uint32_t head = q->rq_head, at = head & q->rq_mask;
	uint8_t *w = q->rq + ((size_t)at << q->lg_rq_stride);

	if (wr == NULL || wr->next != NULL || unlikely(head - q->rq_tail >= q->rq_room || wr->num_sge != 1) ||
	    unlikely(!put_piece(w, wr->sg_list, false)))
		return recv_list(q, wr, bad);
	if (q->rq_sges > 1)
		end_list(w + MLX4_DS_SIZE);
	q->rq_wrid[at] = wr->wr_id;
	recv_doorbell(q, head + 1);
	return 0;
}

static __rte_always_inline void
srq_doorbell(struct mlx4_roce_srq *s, uint32_t head, uint32_t counter)
{
	s->head = head;
	s->counter = counter;
	rte_io_wmb();
	*s->dbrec = rte_cpu_to_be_32(counter & 0xffff);
}

/* The entry behind a free one. */
static __rte_always_inline uint32_t
srq_next(const uint8_t *w)
{
	rte_be16_t next;

	static_assert(MLX4_SRQ_WQE_NEXT == PRM_D(PRM_OFF(MLX4_SRQ_WQE_NEXT), 15, 0), "the low half of its word");
	memcpy(&next, w + PRM_OFF(MLX4_SRQ_WQE_NEXT) + 2, sizeof(next));
	return rte_be_to_cpu_16(next);
}

static __rte_always_inline int
srq_post(struct mlx4_roce_srq *s, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad, const uint32_t sges,
	 const uint8_t lg)
{
	const uint32_t tail = s->tail;
	uint32_t head = s->head, counter = s->counter;
	uint8_t *const wqes = s->wqes;
	uint64_t *const wrid = s->wrid;
	int err = s->refuse ? EIO : 0;

	for (; wr != NULL && err == 0; wr = wr->next) {
		uint8_t *w = wqes + ((size_t)head << lg);

		if (unlikely(head == tail)) {
			err = ENOMEM;
			break;
		}
		if (unlikely(!put_recv(w + MLX4_SRQ_WQE_LIST, wr, sges))) {
			err = EINVAL;
			break;
		}
		wrid[head] = wr->wr_id;
		head = srq_next(w);
		counter++;
	}
	if (unlikely(err != 0))
		*bad = wr;
	if (likely(counter != s->counter))
		srq_doorbell(s, head, counter);
	return err;
}

/* Of one element, as most are: a WQE's length is known. */
static __rte_noinline int
srq_list(struct mlx4_roce_srq *s, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	if (likely(s->lg_stride == SRQ_LG_ONE))
		return srq_post(s, wr, bad, 1, SRQ_LG_ONE);
	return srq_post(s, wr, bad, s->sges, s->lg_stride);
}

int
mlx4_roce_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct mlx4_roce_srq *s = (struct mlx4_roce_srq *)(void *)srq;
	uint32_t head = s->head;
	uint8_t *w = s->wqes + ((size_t)head << s->lg_stride);

	if (wr == NULL || wr->next != NULL || unlikely(s->refuse || head == s->tail || wr->num_sge != 1) ||
	    unlikely(!put_piece(w + MLX4_SRQ_WQE_LIST, wr->sg_list, false)))
		return srq_list(s, wr, bad);
	if (s->sges > 1)
		end_list(w + MLX4_SRQ_WQE_LIST + MLX4_DS_SIZE);
	s->wrid[head] = wr->wr_id;
	srq_doorbell(s, srq_next(w), s->counter + 1);
	return 0;
}
