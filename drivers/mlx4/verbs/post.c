/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Posting work requests [DP 3, 4, 5]. Everything that may be refused is looked at before a byte is written; the control dword with
 * the owner bit is written last, and one doorbell covers the call.
 */
#include <errno.h>

#include "wqe.h"

/* --- BlueFlame ----------------------------------------------------------------------------------------- */

/* The only WQE of a call as a copy in the BlueFlame register, which is the doorbell [DP 2.5]. */
static __rte_noinline bool
blueflame(struct mlx4_roce_qp *q, uint32_t head)
{
	struct mlx4_wqe_ctrl *c = (void *)q->slots[head & q->sq_mask].wqe;
	uint32_t len = (rte_be_to_cpu_32(c->vlan_ds) & MLX4_CTRL_DS_MASK) * MLX4_DS_SIZE, i;
	volatile uint64_t *dst = (volatile void *)(q->bf + q->bf_off);
	const uint64_t *src = (const void *)c;

	len = RTE_ALIGN_CEIL(len, MLX4_TXBB_SIZE);
	if (len > q->bf_half)
		return false;
	c->vlan_ds |= rte_cpu_to_be_32(q->qpn << 8);
	c->owner_opcode |= rte_cpu_to_be_32((head & 0xffff) << MLX4_CTRL_BF_INDEX_SHIFT);
	rte_io_wmb();
	for (i = 0; i < len / sizeof(*src); i++)
		dst[i] = src[i];
	rte_io_wmb();
	q->bf_off ^= q->bf_half;
	return true;
}

/* --- send ------------------------------------------------------------------------------------------------------ */

int
mlx4_roce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)(void *)qp;

	return post_small(q, wr) ? 0 : mlx4_roce_post_any(q, wr, bad);
}

int
mlx4_roce_post_any(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	uint32_t head = q->sq_head, first = head;
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
		} else if (put_frame(q, wr, slot)) {
			op = MLX4_OP_SEND;
		} else {
			err = EINVAL;
			break;
		}
		give(slot, op);
	}
	if (unlikely(err != 0))
		*bad = wr;
	if (unlikely(head == first))
		return err;
	q->sq_head = head;
	if (unlikely(q->bf != NULL) && head - first == 1 && blueflame(q, first))
		return err;
	rte_io_wmb(); /* WQEs before the doorbell */
	*q->db = q->db_val;
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

int
mlx4_roce_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)(void *)qp;
	uint32_t head = q->rq_head;
	int err = 0;

	for (; wr != NULL; wr = wr->next, head++) {
		uint32_t room = q->rq_room, at = head & q->rq_mask;

		if (unlikely(head - q->rq_tail >= room)) {
			err = why_not(q, room);
			break;
		}
		if (unlikely(!put_scatter(q->rq + ((size_t)at << q->lg_rq_stride), wr, q->rq_sges))) {
			err = EINVAL;
			break;
		}
		q->rq_wrid[at] = wr->wr_id;
	}
	if (unlikely(err != 0))
		*bad = wr;
	if (likely(head != q->rq_head)) {
		q->rq_head = head;
		rte_io_wmb();
		*q->rq_dbrec = rte_cpu_to_be_32(head & 0xffff);
	}
	return err;
}

int
mlx4_roce_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct mlx4_roce_srq *s = (struct mlx4_roce_srq *)(void *)srq;
	uint32_t first = s->counter;
	int err = 0;

	for (; wr != NULL; wr = wr->next) {
		uint8_t *w = s->wqes + ((size_t)s->head << s->lg_stride);

		if (unlikely(s->refuse || s->head == s->tail)) {
			err = s->refuse ? EIO : ENOMEM;
			break;
		}
		if (unlikely(!put_scatter(w + MLX4_SRQ_WQE_LIST, wr, s->sges))) {
			err = EINVAL;
			break;
		}
		s->wrid[s->head] = wr->wr_id;
		s->head = prm_get(w, MLX4_SRQ_WQE_NEXT);
		s->counter++;
	}
	if (unlikely(err != 0))
		*bad = wr;
	if (likely(s->counter != first)) {
		rte_io_wmb();
		*s->dbrec = rte_cpu_to_be_32(s->counter & 0xffff);
	}
	return err;
}
