/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Transmit bursts. A packet of up to three segments is one 64-byte block: control segment and data segments in one
 * cache line. The control dword with the owner bit is written last in every WQE, a doorbell covers the burst, and a
 * completion is asked for at every MLX4_TX_CQE_EVERY-th block of the ring, wherever bursts begin and end. Three loops
 * follow each other, from the plain packet to the general one; each goes on as long as packets are of its kind.
 */
#include <errno.h>

#include <rte_ether.h>
#include <rte_io.h>

#include "policy.h"
#include "wqe.h"

/* What only the general path does, and what the plain path leaves to the other two. */
#define TX_GENERAL_FLAGS                                                                                               \
	(MLX4_TX_UNSUPPORTED | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_TUNNEL_MASK)
#define TX_SLOW_FLAGS (TX_GENERAL_FLAGS | RTE_MBUF_F_TX_VLAN)
static_assert((uint32_t)(TX_SLOW_FLAGS | RTE_MBUF_F_TX_TCP_CKSUM) == 0, "flags");
/* Data segments beside the control segment in one block. */
#define TX_SHORT_SEGS (MLX4_TXBB_SIZE / MLX4_DS_SIZE - 1)
/* Buffers of chains that go back to their pool in one call. */
#define TX_PUT_MAX 64u

void
mlx4_tx_put_bulk(struct rte_mempool *mp, struct rte_mbuf **m, uint32_t n)
{
	rte_mempool_put_bulk(mp, (void **)m, n);
}

/* What is wrong with an mbuf that shall go back to its pool as it is: other owners, a foreign buffer. */
static __rte_always_inline uint64_t
not_simple(const struct rte_mbuf *m)
{
	return (uint64_t)(rte_mbuf_refcnt_read(m) ^ 1) | (m->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL));
}

/* Runs of simple mbufs of one pool go back in one call; anything else one by one. All are of one segment. */
static __rte_noinline void
free_plain(struct rte_mbuf **elts, uint32_t n)
{
	uint32_t i = 0, from;

	while (i < n) {
		struct rte_mempool *mp = elts[i]->pool;

		for (from = i; i < n; i++) {
			const struct rte_mbuf *m = elts[i];

			if (unlikely(m->pool != mp || not_simple(m) != 0))
				break;
		}
		if (likely(i != from))
			mlx4_tx_put_bulk(mp, &elts[from], i - from);
		else
			rte_pktmbuf_free(elts[i++]);
	}
}

/*
 * The same for slots of any kind, from a position on until another one. A block behind the first of a WQE holds payload: it gets
 * the wrong phase before the card comes there again. The first block needs no stamp, its control dword has the phase of the pass
 * that is over.
 */
static __rte_noinline void
free_mixed(struct mlx4_txq *q, uint32_t from, uint32_t to)
{
	struct rte_mbuf *put[TX_PUT_MAX];
	struct rte_mempool *mp = NULL;
	const uint32_t mask = q->sq_mask;
	uint32_t n = 0;

	while (from != to) {
		uint32_t at = from & mask, run = RTE_MIN(to - from, mask + 1 - at);
		const rte_be32_t stamp = RTE_BE32(0x7fffffffu) | (from & (mask + 1) ? RTE_BE32(MLX4_CTRL_OWN) : 0);
		struct rte_mbuf **elt = &q->elts[at], **const end = elt + run, *m, *next;
		uint8_t *block = q->sq + ((size_t)at << MLX4_LG_TXBB);

		from += run;
		/* Inner blocks, and those that kept nothing: to stamp these, too, is sooner done than to tell them apart. */
		for (; elt != end && (uintptr_t)*elt <= (uintptr_t)MLX4_TX_INNER; elt++, block += MLX4_TXBB_SIZE)
			*(rte_be32_t *)(void *)block = stamp;
		for (; elt != end; elt++, block += MLX4_TXBB_SIZE) {
			m = *elt;
			if (m == MLX4_TX_INNER) {
				*(rte_be32_t *)(void *)block = stamp;
				continue;
			}
			for (; m != NULL; m = next) {
				next = m->next;
				if (unlikely(not_simple(m) != 0)) {
					rte_pktmbuf_free_seg(m);
					continue;
				}
				if (unlikely(m->pool != mp || n == TX_PUT_MAX)) {
					if (n != 0)
						mlx4_tx_put_bulk(mp, put, n);
					mp = m->pool;
					n = 0;
				}
				if (next != NULL)
					m->next = NULL;
				m->nb_segs = 1;
				put[n++] = m;
			}
		}
	}
	if (n != 0)
		mlx4_tx_put_bulk(mp, put, n);
}

/* Gives back what is between sq_ci and end. */
static __rte_always_inline void
free_until(struct mlx4_txq *q, uint32_t end)
{
	const uint32_t start = q->sq_ci;
	uint32_t from = start & q->sq_mask;
	uint32_t n = end - start;
	uint32_t first = RTE_MIN(n, q->sq_mask + 1 - from);

	/* Before they go: if this process dies here, the one that stops the queue does not give them back again. */
	q->sq_ci = end;
	if (unlikely(q->mixed)) {
		free_mixed(q, start, end);
		q->mixed = (int32_t)(end - q->last_mixed) <= 0;
	} else if (q->fast_free) {
		struct rte_mempool *mp = q->elts[from]->pool;

		mlx4_tx_put_bulk(mp, &q->elts[from], first);
		if (unlikely(n != first))
			mlx4_tx_put_bulk(mp, q->elts, n - first);
	} else {
		free_plain(&q->elts[from], first);
		if (unlikely(n != first))
			free_plain(q->elts, n - first);
	}
}

/*
 * A send failed: the QP is in the error state and flushes. The mbufs are freed when control code takes it back, or the queue
 * is stopped; until then the queue takes nothing.
 */
static __rte_noinline void
tx_error(struct mlx4_txq *q, const struct mlx4_cqe *cqe)
{
	const struct mlx4_err_cqe *err = (const void *)cqe;
	const struct rte_mbuf *m = q->elts[rte_be_to_cpu_16(err->wqe_index) & q->sq_mask];

	q->errors++;
	q->lost_packets++;
	if (m != NULL && m != MLX4_TX_INNER)
		q->lost_bytes += m->pkt_len; /* the length of a frame that went inline is forgotten */
	if (q->broken)
		return;
	MLX4_LOG(ERR, "port %u Tx queue %u: QP 0x%06x stopped by a send error, syndrome 0x%02x vendor 0x%02x",
		 q->port_id, q->queue_id, q->qpn, err->syndrome, err->vendor_syndrome);
	q->failures++;
	q->parked = false;
	q->broken = true;
	mlx4_txq_failed(q);
}

/* From the next burst on nothing is touched until control code has taken the pair back. */
static __rte_noinline uint16_t
park(struct mlx4_txq *q)
{
	__atomic_store_n(&q->parked, true, __ATOMIC_RELEASE);
	return 0;
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

/* What the loops below need of a queue, in locals: their stores might alias the queue otherwise. */
struct tx_const {
	uint64_t lkey_hi;
	uint64_t head; /* first half of a plain control segment */
	uint32_t plain_from, plain_span;
	rte_be32_t opcode;
};

/*
 * Posts a packet of one segment without TSO in a block, in the order of the addresses but for the half of the control segment that
 * has the owner bit. tagged: with a tag that the card inserts, or without one. cqe: asks for a completion. Returns false if the
 * packet is of another kind.
 */
static __rte_always_inline bool
post_plain_one(struct mlx4_wqe_ctrl *ctrl, const struct rte_mbuf *m, struct tx_const k, rte_be32_t cqe, uint64_t *sum,
	       const bool tagged)
{
	const uint32_t want = tagged ? MLX4_TX_UPPER(RTE_MBUF_F_TX_VLAN) : 0, tag = tagged ? RTE_VLAN_HLEN : 0;
	uint32_t ol = MLX4_TX_UPPER(m->ol_flags), len = m->data_len;
	uint64_t word;

	if (unlikely(m->nb_segs != 1 || (ol & MLX4_TX_UPPER(TX_SLOW_FLAGS)) != want ||
		     len - k.plain_from >= k.plain_span - tag))
		return false;
	word = mlx4_word_pair(mlx4_tx_plain_flags(ol) | cqe, 0);
	*sum += len;
	mlx4_data_set((void *)(ctrl + 1), len, k.lkey_hi, rte_mbuf_data_iova(m));
	memcpy(&ctrl->flags, &word, sizeof(word));
	rte_io_wmb(); /* the owner bit last */
	word = k.head;
	if (tagged)
		word = mlx4_word_pair(
			k.opcode, mlx4_be32((uint32_t)m->vlan_tci << MLX4_CTRL_VLAN_SHIFT | MLX4_CTRL_INS_CVLAN | 2));
	memcpy(&ctrl->owner_opcode, &word, sizeof(word));
	return true;
}

/*
 * Posts packets as long as they are plain; the caller knows that n blocks are free and do not cross the ring's end.
 * Returns how many.
 */
static __rte_always_inline uint32_t
post_run(struct mlx4_txq *q, const struct tx_const *c, struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes,
	 const bool tagged)
{
	const struct tx_const k = *c;
	const uint32_t pi = q->sq_pi, at = pi & q->sq_mask;
	struct mlx4_wqe_ctrl *ctrl = (void *)(q->sq + ((size_t)at << MLX4_LG_TXBB));
	struct rte_mbuf **elt = &q->elts[at];
	uint64_t sum = 0;
	size_t i = 0; /* as wide as an address, so that two arrays share it */

	while (i < n) {
		size_t quiet = MLX4_TX_CQE_EVERY - 1 - ((pi + i) & (MLX4_TX_CQE_EVERY - 1));
		size_t until = RTE_MIN(n, i + quiet);

		for (; i < until; i++, ctrl += TX_SHORT_SEGS + 1) {
			struct rte_mbuf *m = pkts[i];

			if (unlikely(!post_plain_one(ctrl, m, k, 0, &sum, tagged)))
				goto out;
			elt[i] = m;
		}
		if (i == n || !post_plain_one(ctrl, pkts[i], k, RTE_BE32(MLX4_CTRL_CQE), &sum, tagged))
			break;
		elt[i] = pkts[i];
		mlx4_tx_note_end(q, pi + (uint32_t)++i);
		ctrl += TX_SHORT_SEGS + 1;
	}
out:
	q->sq_pi = pi + (uint32_t)i;
	*bytes += sum;
	return (uint32_t)i;
}

static __rte_noinline uint32_t
post_plain(struct mlx4_txq *q, const struct tx_const *c, struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes)
{
	return post_run(q, c, pkts, n, bytes, false);
}

static __rte_noinline uint32_t
post_tagged(struct mlx4_txq *q, const struct tx_const *c, struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes)
{
	return post_run(q, c, pkts, n, bytes, true);
}

/* Writes the data segments of a chain; false: it has an empty one, which must not be written. */
static __rte_always_inline bool
short_segments(struct mlx4_wqe_data *data, const struct rte_mbuf *m, uint32_t segs, uint64_t lkey_hi)
{
	for (; segs != 0; segs--, m = m->next, data++) {
		if (unlikely(m->data_len == 0))
			return false;
		mlx4_data_set(data, m->data_len, lkey_hi, rte_mbuf_data_iova(m));
	}
	return true;
}

/* Frames that are too long with a tag are looked at one by one, whether they get one or not. */
static __rte_always_inline bool
is_general(const struct rte_mbuf *m, uint32_t from, uint32_t span)
{
	return (m->ol_flags & TX_GENERAL_FLAGS) != 0 || m->pkt_len - from >= span - RTE_VLAN_HLEN ||
	       m->nb_segs > TX_SHORT_SEGS;
}

/* Posts a packet of up to three segments, with or without VLAN, in a block. Returns its segments, 0: another kind. */
static __rte_always_inline uint32_t
post_short_one(struct mlx4_wqe_ctrl *ctrl, const struct rte_mbuf *m, struct tx_const k, rte_be32_t cqe, uint64_t *sum)
{
	uint64_t ol = m->ol_flags, word;
	uint32_t segs = m->nb_segs, dw1 = segs + 1;

	if (unlikely(is_general(m, k.plain_from, k.plain_span) ||
		     !short_segments((void *)(ctrl + 1), m, segs, k.lkey_hi)))
		return 0;
	word = mlx4_word_pair(mlx4_tx_plain_flags(MLX4_TX_UPPER(ol)) | cqe, 0);
	if (ol & RTE_MBUF_F_TX_VLAN)
		dw1 |= MLX4_CTRL_INS_CVLAN | (uint32_t)m->vlan_tci << MLX4_CTRL_VLAN_SHIFT;
	*sum += m->pkt_len;
	memcpy(&ctrl->flags, &word, sizeof(word));
	rte_io_wmb(); /* the owner bit last */
	word = mlx4_word_pair(k.opcode, mlx4_be32(dw1));
	memcpy(&ctrl->owner_opcode, &word, sizeof(word));
	return segs;
}

/* The same as post_plain for packets of one block. */
static __rte_noinline uint32_t
post_short(struct mlx4_txq *q, const struct tx_const *c, struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes)
{
	const struct tx_const k = *c;
	uint32_t pi = q->sq_pi, at = pi & q->sq_mask, i = 0, segs, seen = 0;
	struct mlx4_wqe_ctrl *ctrl = (void *)(q->sq + ((size_t)at << MLX4_LG_TXBB));
	struct rte_mbuf **elt = &q->elts[at];
	uint64_t sum = 0;

	while (i < n) {
		uint32_t quiet = MLX4_TX_CQE_EVERY - 1 - ((pi + i) & (MLX4_TX_CQE_EVERY - 1));
		uint32_t until = RTE_MIN(n, i + quiet);

		for (; i < until; i++, ctrl += TX_SHORT_SEGS + 1) {
			struct rte_mbuf *m = pkts[i];

			segs = post_short_one(ctrl, m, k, 0, &sum);
			if (unlikely(segs == 0))
				goto out;
			seen |= segs;
			elt[i] = m;
		}
		segs = i == n ? 0 : post_short_one(ctrl, pkts[i], k, RTE_BE32(MLX4_CTRL_CQE), &sum);
		if (segs == 0)
			break;
		seen |= segs;
		elt[i] = pkts[i];
		mlx4_tx_note_end(q, pi + ++i);
		ctrl += TX_SHORT_SEGS + 1;
	}
out:
	if (seen > 1) {
		q->mixed = true;
		q->last_mixed = pi + i - 1;
	}
	q->sq_pi = pi + i;
	*bytes += sum;
	return i;
}

/*
 * Posts packets of any kind as long as they are not for the loops above, one where most go inline. Returns how many it is done
 * with, or -ENOSPC when the ring or the pool has no room for the next one.
 */
static __rte_noinline int
post_general(struct mlx4_txq *q, struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes, uint32_t *dropped)
{
	const uint32_t from = q->plain_from, span = q->plain_span;
	uint32_t i = 0;

	do {
		uint32_t len = pkts[i]->pkt_len, large;
		int used;

		if ((pkts[i]->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0) {
			large = mlx4_tx_lso(q, pkts + i, n - i, bytes);
			i += large;
			if (large != 0)
				continue;
		}
		used = mlx4_tx_general(q, pkts[i], q->sq_room - (q->sq_pi - q->sq_ci));
		if (used < 0)
			return i == 0 ? used : (int)i;
		if (unlikely(used == 0))
			(*dropped)++;
		else
			*bytes += len;
		i++;
	} while (i < n && !q->inlines && is_general(pkts[i], from, span));
	return (int)i;
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
tx_burst(struct mlx4_txq *q, struct rte_mbuf **pkts, uint16_t n, const bool tags, const bool inlines)
{
	struct tx_const k = {
		.lkey_hi = mlx4_data_hi(q->lkey), .plain_from = q->plain_from, .plain_span = q->plain_span};
	uint32_t first, i = 0, dropped = 0;
	uint64_t bytes = 0;

	if (unlikely(q->broken))
		return park(q);
	reclaim(q);
	first = q->sq_pi;
	if (unlikely(q->broken))
		return 0;
	while (i < n) {
		uint32_t room, to_end, most, run, done = 0;
		int used;

		if (inlines) {
			i += mlx4_tx_inline(q, pkts + i, n - i, &bytes);
			if (i == n)
				break;
		}
		room = q->sq_room - (q->sq_pi - q->sq_ci);
		to_end = q->sq_mask + 1 - (q->sq_pi & q->sq_mask);
		most = RTE_MIN(room, to_end);
		run = RTE_MIN(n - i, most);
		k.opcode = rte_cpu_to_be_32(MLX4_OP_SEND | (q->sq_pi & (q->sq_mask + 1) ? MLX4_CTRL_OWN : 0));
		k.head = mlx4_word_pair(k.opcode, RTE_BE32(2));
		if (!tags)
			done = post_plain(q, &k, pkts + i, run, &bytes);
		if (unlikely(done != run) && (pkts[i + done]->ol_flags & RTE_MBUF_F_TX_VLAN) != 0)
			done += post_tagged(q, &k, pkts + i + done, run - done, &bytes);
		if (unlikely(done != run))
			done += post_short(q, &k, pkts + i + done, run - done, &bytes);
		i += done;
		if (likely(done == run)) {
			if (run == room)
				break;
			continue; /* all done, or the ring wraps */
		}
		if (unlikely(k.plain_from == MLX4_TX_NONE_PLAIN))
			__atomic_store_n(&q->none_plain, true, __ATOMIC_RELEASE);
		used = post_general(q, pkts + i, n - i, &bytes, &dropped);
		if (used < 0)
			break;
		i += (uint32_t)used;
	}
	if (unlikely(q->sq_pi == first))
		return (uint16_t)i;
	ring_doorbell(q, first, i - dropped);
	q->packets += i - dropped;
	q->bytes += bytes;
	return (uint16_t)i;
}

/* Out of line, so that the choice between the two needs no register to be saved. */
static __rte_noinline uint16_t
tx_burst_plain(struct mlx4_txq *q, struct rte_mbuf **pkts, uint16_t n)
{
	return tx_burst(q, pkts, n, false, false);
}

static __rte_noinline uint16_t
tx_burst_inline(struct mlx4_txq *q, struct rte_mbuf **pkts, uint16_t n)
{
	return tx_burst(q, pkts, n, false, true);
}

uint16_t
mlx4_tx_burst(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_txq *q = txq;

	return unlikely(q->inlines) ? tx_burst_inline(q, pkts, n) : tx_burst_plain(q, pkts, n);
}

uint16_t
mlx4_tx_burst_tagged(struct mlx4_txq *q, struct rte_mbuf **pkts, uint16_t n)
{
	return tx_burst(q, pkts, n, true, false);
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

/* Frees what is complete of a queue pair, unless control code takes it back at this moment or will. Returns how many blocks. */
static uint32_t
reclaim_unless_held(struct mlx4_txq *pair, const struct mlx4_tx_policy *p, uint8_t prio)
{
	uint32_t before = pair->sq_ci;

	if ((p != NULL && (p->hold >> prio & 1) != 0) || pair->broken)
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
