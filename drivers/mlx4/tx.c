/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Transmit bursts. A packet of up to three segments is one 64-byte block: control segment and data segments in one
 * cache line. The control dword with the owner bit is written last in every WQE, a doorbell covers the burst, and a
 * completion is asked for at every MLX4_TX_CQE_EVERY-th block of the ring, wherever bursts begin and end.
 */
#include <errno.h>

#include <rte_ether.h>
#include <rte_io.h>

#include "tx_policy.h"
#include "tx_wqe.h"

/* What the plain path does not do. */
#define TX_SLOW_FLAGS                                                                                                  \
	(MLX4_TX_UNSUPPORTED | RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_OUTER_IP_CKSUM |             \
	 RTE_MBUF_F_TX_TUNNEL_MASK)

/* Out of line: the copy into the pool's cache is long code, and runs once per burst. */
static __rte_noinline void
put_bulk(struct rte_mempool *mp, struct rte_mbuf **m, uint32_t n)
{
	rte_mempool_put_bulk(mp, (void **)m, n);
}

/*
 * An mbuf that goes back to its pool as it is: one segment, one owner, its own buffer. The two counts lie side by side
 * in the rearm word.
 */
static __rte_always_inline bool
is_simple(const struct rte_mbuf *m)
{
	const uint8_t ones[8] = {[offsetof(struct rte_mbuf, refcnt) - offsetof(struct rte_mbuf, rearm_data)] = 1,
				 [offsetof(struct rte_mbuf, nb_segs) - offsetof(struct rte_mbuf, rearm_data)] = 1};
	uint64_t word, want, mask;

	memcpy(&word, (const uint8_t *)m + offsetof(struct rte_mbuf, rearm_data), sizeof(word));
	memcpy(&want, ones, sizeof(want));
	want = rte_le_to_cpu_64(want);
	mask = UINT64_C(0xffff) << (8 * (offsetof(struct rte_mbuf, refcnt) - offsetof(struct rte_mbuf, rearm_data))) |
	       UINT64_C(0xffff) << (8 * (offsetof(struct rte_mbuf, nb_segs) - offsetof(struct rte_mbuf, rearm_data)));
	return (rte_le_to_cpu_64(word) & mask) == want && RTE_MBUF_DIRECT(m);
}

/* Runs of simple mbufs of one pool go back in one call; anything else one by one. NULL: nothing was kept. */
static __rte_noinline void
free_mbufs(struct rte_mbuf **elts, uint32_t n)
{
	uint32_t i = 0, from;

	while (i < n) {
		struct rte_mempool *mp;

		if (unlikely(elts[i] == NULL || !is_simple(elts[i]))) {
			rte_pktmbuf_free(elts[i++]);
			continue;
		}
		mp = elts[i]->pool;
		for (from = i++; i < n && elts[i] != NULL && elts[i]->pool == mp && is_simple(elts[i]); i++)
			;
		put_bulk(mp, &elts[from], i - from);
	}
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

		put_bulk(mp, &q->elts[from], first);
		if (unlikely(n != first))
			put_bulk(mp, q->elts, n - first);
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

/* Control dword 2 by the three checksum bits of ol_flags: L4 type in the low two, IP in the third. */
#define L4(x) (RTE_MBUF_F_TX_##x##_CKSUM / RTE_MBUF_F_TX_TCP_CKSUM)
#define IP (RTE_MBUF_F_TX_IP_CKSUM / RTE_MBUF_F_TX_TCP_CKSUM)
static_assert(L4(TCP) == 1 && L4(SCTP) == 2 && L4(UDP) == 3 && IP == 4, "the checksum request is three bits in a row");
static const rte_be32_t plain_flags[8] = {
	[0] = RTE_BE32(MLX4_CTRL_NO_ICRC),
	[L4(TCP)] = RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_L4_CSUM),
	[L4(SCTP)] = RTE_BE32(MLX4_CTRL_NO_ICRC),
	[L4(UDP)] = RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_L4_CSUM),
	[IP] = RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_IP_CSUM),
	[IP | L4(TCP)] = RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM),
	[IP | L4(SCTP)] = RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_IP_CSUM),
	[IP | L4(UDP)] = RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM),
};
#undef IP
#undef L4

/*
 * Posts packets of one segment without TSO, and without VLAN unless tags says so, one block each, as long as they are of that kind; the caller knows
 * that n blocks are free and do not cross the ring's end. What the loop needs is in locals: its stores might alias the
 * queue otherwise. Returns how many.
 */
static __rte_always_inline uint32_t
post_plain(struct mlx4_txq *q, struct rte_mbuf **pkts, uint32_t n, const bool tags, uint64_t *bytes)
{
	const uint64_t slow = tags ? TX_SLOW_FLAGS & ~RTE_MBUF_F_TX_VLAN : TX_SLOW_FLAGS;
	uint32_t pi = q->sq_pi, at = pi & q->sq_mask, i;
	struct mlx4_wqe_ctrl *ctrl = (void *)(q->sq + ((size_t)at << MLX4_LG_TXBB));
	const rte_be32_t opcode = rte_cpu_to_be_32(MLX4_OP_SEND | (pi & (q->sq_mask + 1) ? MLX4_CTRL_OWN : 0));
	const uint64_t lkey_hi = mlx4_data_hi(q->lkey);
	const uint32_t plain_min = q->plain_min;
	struct rte_mbuf **elt = &q->elts[at];
	uint64_t sum = 0;

	for (i = 0; i < n; i++, pi++) {
		struct mlx4_wqe_data *data = (void *)(ctrl + 1);
		struct rte_mbuf *m = pkts[i];
		uint64_t ol = m->ol_flags;
		uint32_t len = m->data_len;
		rte_be32_t flags;

		if (unlikely(m->nb_segs != 1 || (ol & slow) != 0 || len <= plain_min))
			break;
		flags = plain_flags[(ol / RTE_MBUF_F_TX_TCP_CKSUM) & 7];
		if ((pi & (MLX4_TX_CQE_EVERY - 1)) == MLX4_TX_CQE_EVERY - 1) {
			q->ends[q->ends_pi++ & q->cq_mask] = pi + 1;
			flags |= RTE_BE32(MLX4_CTRL_CQE);
		}
		sum += len;
		mlx4_data_set(data, len, lkey_hi, rte_mbuf_data_iova(m));
		if (tags && (ol & RTE_MBUF_F_TX_VLAN) != 0)
			ctrl->vlan_ds = rte_cpu_to_be_32(2 | MLX4_CTRL_INS_CVLAN |
							 (uint32_t)m->vlan_tci << MLX4_CTRL_VLAN_SHIFT);
		else
			ctrl->vlan_ds = RTE_BE32(2);
		ctrl->flags = flags;
		ctrl->imm = 0;
		elt[i] = m;
		rte_io_wmb(); /* the owner bit last */
		ctrl->owner_opcode = opcode;
		ctrl += MLX4_TXBB_SIZE / sizeof(*ctrl);
	}
	q->sq_pi = pi;
	*bytes += sum;
	return i;
}

static __rte_always_inline void
ring_doorbell(struct mlx4_txq *q, uint32_t first, uint32_t wqes)
{
	if (unlikely(q->bf != NULL) && wqes == 1 && mlx4_tx_blueflame(q, first))
		return;
	rte_io_wmb(); /* WQEs before the doorbell */
	*q->db = q->db_val;
}

static __rte_always_inline uint16_t
tx_burst(struct mlx4_txq *q, struct rte_mbuf **pkts, uint16_t n, const bool tags)
{
	uint32_t first, i = 0, dropped = 0;
	uint64_t bytes = 0;

	reclaim(q);
	first = q->sq_pi;
	if (unlikely(q->broken))
		return 0;
	while (i < n) {
		uint32_t room = q->sq_room - (q->sq_pi - q->sq_ci);
		uint32_t to_end = q->sq_mask + 1 - (q->sq_pi & q->sq_mask);
		uint32_t most = RTE_MIN(room, to_end), run = RTE_MIN(n - i, most);
		uint32_t done = post_plain(q, pkts + i, run, tags, &bytes), len;
		int used;

		i += done;
		if (likely(done == run)) {
			if (run == room)
				break;
			continue; /* all done, or the ring wraps */
		}
		len = pkts[i]->pkt_len;
		used = mlx4_tx_general(q, pkts[i], room - done);
		if (used < 0)
			break;
		i++;
		if (unlikely(used == 0))
			dropped++;
		else
			bytes += len;
	}
	if (unlikely(q->sq_pi == first))
		return (uint16_t)i;
	ring_doorbell(q, first, i - dropped);
	q->packets += i - dropped;
	q->bytes += bytes;
	return (uint16_t)i;
}

uint16_t
mlx4_tx_burst(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	return tx_burst(txq, pkts, n, false);
}

uint16_t
mlx4_tx_burst_tagged(struct mlx4_txq *q, struct rte_mbuf **pkts, uint16_t n)
{
	return tx_burst(q, pkts, n, true);
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

/* Frees what is complete of a queue pair, unless control code takes it back at this moment. Returns how many blocks. */
static uint32_t
reclaim_unless_held(struct mlx4_txq *pair, const struct mlx4_tx_policy *p, uint8_t prio)
{
	uint32_t before = pair->sq_ci;

	if (p != NULL && (p->hold >> prio & 1) != 0)
		return 0;
	reclaim(pair);
	return pair->sq_ci - before;
}

int
mlx4_tx_descriptor_status(void *txq, uint16_t offset)
{
	struct mlx4_txq *q = txq;
	const struct mlx4_tx_policy *p;

	if (offset >= q->nb_desc)
		return -EINVAL;
	p = mlx4_tx_policy_take(q);
	reclaim_unless_held(q, p, p != NULL ? p->prio : 0);
	if (p != NULL)
		mlx4_tx_policy_leave(q);
	return offset < q->sq_pi - q->sq_ci ? RTE_ETH_TX_DESC_FULL : RTE_ETH_TX_DESC_DONE;
}

int
mlx4_tx_done_cleanup(void *txq, uint32_t free_cnt)
{
	struct mlx4_txq *q = txq;
	const struct mlx4_tx_policy *p = mlx4_tx_policy_take(q);
	uint32_t sum;
	uint8_t prio;

	RTE_SET_USED(free_cnt); /* the card completes in runs; at least what is complete is freed */
	sum = reclaim_unless_held(q, p, p != NULL ? p->prio : 0);
	for (prio = 0; prio < MLX4_PRIOS; prio++)
		if (q->lane[prio] != NULL)
			sum += reclaim_unless_held(q->lane[prio], p, prio);
	if (p != NULL)
		mlx4_tx_policy_leave(q);
	return (int)sum;
}
