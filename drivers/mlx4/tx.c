/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Transmit bursts. A packet of up to three segments is one 64-byte block: control segment and data segments in one
 * cache line. The control dword with the owner bit is written last in every WQE, a doorbell covers the burst, and one
 * completion is asked for every MLX4_TX_CQE_EVERY blocks.
 */
#include <errno.h>

#include <rte_ether.h>
#include <rte_io.h>
#include <rte_prefetch.h>

#include "tx_wqe.h"

#define TX_CSUM_FLAGS (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK)
/* What the plain path does not do. */
#define TX_SLOW_FLAGS                                                                                                  \
	(RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_TUNNEL_MASK)

/* Frees mbufs of one pool in one go; others, and those that somebody else still holds, one by one. */
static __rte_always_inline void
free_mbufs(struct rte_mbuf **elts, uint32_t n)
{
	struct rte_mbuf *batch[64];
	struct rte_mempool *mp = NULL;
	uint32_t i, k = 0;

	for (i = 0; i < n; i++) {
		struct rte_mbuf *m = elts[i];

		if (m == NULL)
			continue;
		if (unlikely(m->nb_segs != 1)) {
			rte_pktmbuf_free(m);
			continue;
		}
		m = rte_pktmbuf_prefree_seg(m);
		if (unlikely(m == NULL))
			continue;
		if (unlikely(m->pool != mp || k == RTE_DIM(batch))) {
			if (k != 0)
				rte_mempool_put_bulk(mp, (void **)batch, k);
			mp = m->pool;
			k = 0;
		}
		batch[k++] = m;
	}
	if (likely(k != 0))
		rte_mempool_put_bulk(mp, (void **)batch, k);
}

/*
 * Blocks behind the first of a WQE hold payload: they get the wrong phase before the card comes there again. The first
 * block needs no stamp, its control dword has the phase of the pass that is over.
 */
static __rte_noinline void
forget_inner(struct mlx4_txq *q, uint32_t from, uint32_t to)
{
	for (; from != to; from++) {
		uint32_t phase = from & (q->sq_mask + 1) ? MLX4_CTRL_OWN : 0;
		uint32_t at = from & q->sq_mask;

		if (q->elts[at] != MLX4_TX_INNER)
			continue;
		*(rte_be32_t *)(void *)(q->sq + ((size_t)at << MLX4_LG_TXBB)) = rte_cpu_to_be_32(0x7fffffffu | phase);
		q->elts[at] = NULL;
	}
}

/* Gives back what is between sq_ci and end. */
static __rte_always_inline void
free_until(struct mlx4_txq *q, uint32_t end)
{
	uint32_t from = q->sq_ci & q->sq_mask;
	uint32_t n = end - q->sq_ci;
	uint32_t first = RTE_MIN(n, q->sq_mask + 1 - from);

	if (unlikely(q->mixed))
		forget_inner(q, q->sq_ci, end);
	if (q->fast_free && likely(!q->mixed)) {
		struct rte_mempool *mp = q->elts[from]->pool;

		rte_mempool_put_bulk(mp, (void **)&q->elts[from], first);
		if (unlikely(n != first))
			rte_mempool_put_bulk(mp, (void **)q->elts, n - first);
	} else {
		free_mbufs(&q->elts[from], first);
		free_mbufs(q->elts, n - first);
	}
	q->sq_ci = end;
	if (unlikely(q->mixed) && (int32_t)(end - q->last_mixed) > 0)
		q->mixed = false;
}

/*
 * A send failed: the QP is in the error state and flushes. The mbufs are freed when the queue is stopped, after the QP
 * was reset; until then the queue takes nothing.
 */
static __rte_noinline void
tx_error(struct mlx4_txq *q, const struct mlx4_cqe *cqe)
{
	const struct mlx4_err_cqe *err = (const void *)cqe;

	if (!q->broken)
		MLX4_LOG(ERR, "port %u Tx queue %u: QP 0x%06x stopped by a send error, syndrome 0x%02x vendor 0x%02x",
			 q->port_id, q->queue_id, q->qpn, err->syndrome, err->vendor_syndrome);
	q->broken = true;
	q->errors++;
}

static __rte_always_inline void
reclaim(struct mlx4_txq *q)
{
	uint32_t ci = q->cq_ci, end = q->sq_ci;

	for (;;) {
		const struct mlx4_cqe *cqe = &q->cqes[ci & q->cq_mask];
		uint8_t phase = (ci & (q->cq_mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;
		uint8_t op = *(const volatile uint8_t *)&cqe->owner_sr_opcode;

		if ((op & MLX4_CQE_OWNER) != phase)
			break;
		rte_io_rmb();
		if (unlikely((op & MLX4_CQE_OPCODE_MASK) == MLX4_CQE_ERROR))
			tx_error(q, cqe);
		else
			end = q->ends[q->ends_ci++ & q->cq_mask];
		ci++;
	}
	if (ci == q->cq_ci)
		return;
	q->cq_ci = ci;
	*q->cq_dbrec = rte_cpu_to_be_32(ci & MLX4_CQ_CI_MASK);
	if (likely(end != q->sq_ci))
		free_until(q, end);
}

/* One segment, no VLAN, no TSO: one block, two stores of 16 bytes. */
static __rte_always_inline void
post_plain(struct mlx4_txq *q, struct rte_mbuf *m, uint32_t flags)
{
	uint32_t pi = q->sq_pi;
	uint8_t *block = q->sq + ((size_t)(pi & q->sq_mask) << MLX4_LG_TXBB);
	struct mlx4_wqe_ctrl *ctrl = (void *)block;
	struct mlx4_wqe_data *data = (void *)(ctrl + 1);
	uint32_t own = pi & (q->sq_mask + 1) ? MLX4_CTRL_OWN : 0;

	data->byte_count = rte_cpu_to_be_32(m->data_len);
	data->lkey = q->lkey;
	data->addr = rte_cpu_to_be_64(rte_mbuf_data_iova(m));
	ctrl->vlan_ds = RTE_BE32(2);
	ctrl->flags = rte_cpu_to_be_32(flags);
	ctrl->imm = 0;
	q->elts[pi & q->sq_mask] = m;
	rte_io_wmb(); /* the owner bit last */
	ctrl->owner_opcode = rte_cpu_to_be_32(MLX4_OP_SEND | own);
	q->sq_pi = pi + 1;
}

static __rte_always_inline void
ring_doorbell(struct mlx4_txq *q, uint32_t first, uint16_t wqes)
{
	if (unlikely(q->bf != NULL) && wqes == 1 && mlx4_tx_blueflame(q, first))
		return;
	rte_io_wmb(); /* WQEs before the doorbell */
	*q->db = q->db_val;
}

uint16_t
mlx4_tx_burst(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_txq *q = txq;
	uint32_t first, room;
	uint64_t bytes = 0;
	uint16_t i, dropped = 0;

	reclaim(q);
	first = q->sq_pi;
	room = q->sq_room - (first - q->sq_ci);
	if (unlikely(q->broken))
		return 0;
	for (i = 0; i < n; i++) {
		struct rte_mbuf *m = pkts[i];

		if (likely(i + 4 < n))
			rte_prefetch0(pkts[i + 4]);
		if (unlikely(room == 0))
			break;
		if (likely(m->nb_segs == 1 && (m->ol_flags & TX_SLOW_FLAGS) == 0 && m->data_len > q->plain_min)) {
			bytes += m->data_len;
			post_plain(q, m,
				   MLX4_CTRL_NO_ICRC | mlx4_tx_cqe_bits(q, 1, i + 1 == n || room == 1) |
					   (m->ol_flags & TX_CSUM_FLAGS ? mlx4_tx_csum_bits(m->ol_flags) : 0));
			room--;
		} else {
			uint32_t len = m->pkt_len;
			int used = mlx4_tx_general(q, m, room, i + 1 == n);

			if (used < 0)
				break;
			if (unlikely(used == 0)) {
				dropped++;
				continue;
			}
			bytes += len;
			room -= used;
		}
	}
	if (unlikely(q->sq_pi == first))
		return i;
	ring_doorbell(q, first, i - dropped);
	q->packets += i - dropped;
	q->bytes += bytes;
	return i;
}

/* What the application must not send; rte_errno says why. The packet at the returned index is the first bad one. */
uint16_t
mlx4_tx_prepare(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_txq *q = txq;
	uint16_t i;

	for (i = 0; i < n; i++) {
		int err = mlx4_tx_check(q, pkts[i]);

		if (err != 0) {
			rte_errno = -err;
			break;
		}
	}
	return i;
}

int
mlx4_tx_descriptor_status(void *txq, uint16_t offset)
{
	struct mlx4_txq *q = txq;

	if (offset >= q->nb_desc)
		return -EINVAL;
	reclaim(q);
	return offset < q->sq_pi - q->sq_ci ? RTE_ETH_TX_DESC_FULL : RTE_ETH_TX_DESC_DONE;
}

int
mlx4_tx_done_cleanup(void *txq, uint32_t free_cnt)
{
	struct mlx4_txq *q = txq;
	uint32_t before = q->sq_ci;

	RTE_SET_USED(free_cnt); /* the card completes in runs; at least what is complete is freed */
	reclaim(q);
	return (int)(q->sq_ci - before);
}
