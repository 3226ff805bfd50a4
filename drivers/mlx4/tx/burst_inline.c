/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Frames that go into their WQE, of the usual form: one mbuf that nobody else has, no tag, in one block or two. Their mbufs go
 * back to the pool with the burst. Anything else is for mlx4_tx_general().
 */
#include <rte_io.h>

#include "wqe.h"

/* Frames that it does not take: what the card has no offload for, tags, and buffers that are not the mbuf's own. */
#define ODD_FLAGS                                                                                                      \
	(MLX4_TX_UNSUPPORTED | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_TUNNEL_MASK |      \
	 RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)
static_assert((uint32_t)ODD_FLAGS == 0, "flags");
#define BLOCK_ROOM (MLX4_TXBB_SIZE - 4) /* of a further block */
static_assert(MLX4_TX_INLINE_MAX == MLX4_TX_INLINE_FIRST + BLOCK_ROOM, "two blocks");

static __rte_always_inline void
copy16(uint8_t *to, const uint8_t *from)
{
	memcpy(to, from, 16);
}

/* 16 to 64 octets, and no others: the last 16 overlap those before. */
static __rte_always_inline void
copy_exact(uint8_t *to, const uint8_t *from, size_t n)
{
	copy16(to, from);
	if (n > 32)
		copy16(to + 16, from + 16);
	if (n > 48)
		copy16(to + 32, from + 32);
	copy16(to + n - 16, from + n - 16);
}

/* Below 16 octets. */
static __rte_always_inline void
copy_few(uint8_t *to, const uint8_t *from, size_t n)
{
	if (n >= 8) {
		memcpy(to, from, 8);
		memcpy(to + n - 8, from + n - 8, 8);
	} else if (n >= 4) {
		memcpy(to, from, 4);
		memcpy(to + n - 4, from + n - 4, 4);
	} else {
		to[0] = from[0];
		to[n / 2] = from[n / 2];
		to[n - 1] = from[n - 1];
	}
}

/* Nobody else has the mbuf, and it is alone: both counts in one look. */
static __rte_always_inline bool
is_single(const struct rte_mbuf *m)
{
	uint32_t both;

	static_assert(offsetof(struct rte_mbuf, nb_segs) == offsetof(struct rte_mbuf, refcnt) + 2, "neighbours");
	memcpy(&both, (const uint8_t *)m + offsetof(struct rte_mbuf, refcnt), sizeof(both));
	return both == 0x00010001;
}

/* By the length, of what is in one block, or in the second one. */
enum kind { ONE_BLOCK, REST_FEW, REST };

/* What a WQE says that does not depend on the frame's octets. */
struct words {
	uint64_t head, flags; /* halves of the control segment */
	rte_be32_t last;      /* header of the last inline segment */
};

static __rte_always_inline enum kind
kind_of(uint32_t len)
{
	return len <= MLX4_TX_INLINE_FIRST ? ONE_BLOCK : len < MLX4_TX_INLINE_FIRST + 16 ? REST_FEW : REST;
}

static __rte_always_inline struct words
make_words(const struct mlx4_txq *q, uint32_t ol, uint32_t rest, const enum kind kind)
{
	const uint32_t own = (q->sq_pi & (q->sq_mask + 1)) != 0 ? MLX4_CTRL_OWN : 0;
	const uint32_t before = kind == ONE_BLOCK ? 1 : MLX4_TXBB_SIZE / MLX4_DS_SIZE;

	return (struct words){
		.head = mlx4_word_pair(mlx4_be32(MLX4_OP_SEND | own), mlx4_be32(before + mlx4_tx_segment_units(rest))),
		.flags = mlx4_word_pair(mlx4_tx_plain_flags(ol), 0),
		.last = mlx4_be32(MLX4_DATA_INLINE | rest),
	};
}

/*
 * The second block's first dword is written when all behind it is there, and the half of the control segment that has the owner bit
 * last [DP 4.5].
 */
static __rte_always_inline void
put_frame(uint8_t *wqe, struct rte_mbuf **elt, const struct rte_mbuf *m, size_t rest, struct words w,
	  const enum kind kind)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	struct mlx4_wqe_ctrl *ctrl = (void *)wqe;

	elt[0] = NULL;
	memcpy(&ctrl->flags, &w.flags, sizeof(w.flags));
	if (kind == ONE_BLOCK) {
		*(rte_be32_t *)(void *)(wqe + MLX4_DS_SIZE) = w.last;
		copy_exact(wqe + MLX4_DS_SIZE + 4, data, rest);
	} else {
		elt[1] = MLX4_TX_INNER;
		*(rte_be32_t *)(void *)(wqe + MLX4_DS_SIZE) = RTE_BE32(MLX4_DATA_INLINE | MLX4_TX_INLINE_FIRST);
		copy_exact(wqe + MLX4_DS_SIZE + 4, data, MLX4_TX_INLINE_FIRST);
		data += MLX4_TX_INLINE_FIRST;
		if (kind == REST)
			copy_exact(wqe + MLX4_TXBB_SIZE + 4, data, rest);
		else
			copy_few(wqe + MLX4_TXBB_SIZE + 4, data, rest);
		rte_io_wmb();
		*(rte_be32_t *)(void *)(wqe + MLX4_TXBB_SIZE) = w.last;
	}
	rte_io_wmb();
	memcpy(&ctrl->owner_opcode, &w.head, sizeof(w.head));
}

static __rte_always_inline bool
is_usual(const struct rte_mbuf *m, uint32_t most)
{
	return (MLX4_TX_UPPER(m->ol_flags) & MLX4_TX_UPPER(ODD_FLAGS)) == 0 &&
	       m->data_len - (uint32_t)MLX4_INLINE_MIN <= most - MLX4_INLINE_MIN;
}

/* The ring remembers that what is in flight until here is not one plain mbuf each. */
static __rte_always_inline void
note_mixed(struct mlx4_txq *q)
{
	q->mixed = true;
	q->last_mixed = q->sq_pi - 1;
}

/*
 * Posts frames of the first one's pool, length and flags, n at most; the caller knows that so many fit before the ring's end. The one
 * behind quiet others covers the last of 32 blocks, and asks for its completion.
 */
static __rte_always_inline uint32_t
post(struct mlx4_txq *q, struct rte_mbuf **pkts, uint32_t n, uint32_t quiet, const enum kind kind)
{
	const uint32_t blocks = kind == ONE_BLOCK ? 1 : 2, pi = q->sq_pi, at = pi & q->sq_mask;
	const uint32_t ol = MLX4_TX_UPPER(pkts[0]->ol_flags);
	const uint16_t len = pkts[0]->data_len;
	const size_t rest = len - (kind == ONE_BLOCK ? 0 : MLX4_TX_INLINE_FIRST);
	const struct rte_mempool *const mp = pkts[0]->pool;
	struct words w = make_words(q, ol, (uint32_t)rest, kind);
	uint8_t *wqe = q->sq + ((size_t)at << MLX4_LG_TXBB);
	struct rte_mbuf **elt = &q->elts[at];
	uint32_t until = RTE_MIN(n, quiet), i = 0;

	for (;;) {
		for (; i < until; i++, wqe += (size_t)blocks << MLX4_LG_TXBB, elt += blocks) {
			const struct rte_mbuf *m = pkts[i];

			if (unlikely(MLX4_TX_UPPER(m->ol_flags) != ol || m->data_len != len || !is_single(m) ||
				     m->pool != mp))
				goto out;
			put_frame(wqe, elt, m, rest, w, kind);
		}
		if (i == n || i != quiet)
			break;
		w.flags |= mlx4_word_pair(RTE_BE32(MLX4_CTRL_CQE), 0);
		until = i + 1;
	}
	if (i > quiet)
		mlx4_tx_note_end(q, pi + i * blocks);
out:
	q->sq_pi = pi + i * blocks;
	return i;
}

static __rte_noinline uint32_t
post_several(struct mlx4_txq *q, struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes)
{
	const uint32_t most = RTE_MIN(q->inline_max, MLX4_TX_INLINE_MAX);
	struct rte_mempool *const mp = pkts[0]->pool;
	uint64_t sum = 0;
	uint32_t i = 0;

	while (i < n && is_usual(pkts[i], most) && pkts[i]->pool == mp) {
		uint32_t len = pkts[i]->data_len, lg = len > MLX4_TX_INLINE_FIRST, pi = q->sq_pi, fit, quiet, want,
			 done;

		fit = RTE_MIN(q->sq_room - (pi - q->sq_ci), q->sq_mask + 1 - (pi & q->sq_mask)) >> lg;
		quiet = (MLX4_TX_CQE_EVERY - 1 - (pi & (MLX4_TX_CQE_EVERY - 1))) >> lg;
		want = RTE_MIN(n - i, RTE_MIN(fit, quiet + 1));
		switch (kind_of(len)) {
		case ONE_BLOCK: done = post(q, pkts + i, want, quiet, ONE_BLOCK); break;
		case REST_FEW: done = post(q, pkts + i, want, quiet, REST_FEW); break;
		default: done = post(q, pkts + i, want, quiet, REST); break;
		}
		if (unlikely(done == 0))
			break;
		sum += (uint64_t)done * len;
		i += done;
	}
	if (i == 0)
		return 0;
	note_mixed(q);
	*bytes += sum;
	mlx4_tx_put_bulk(mp, pkts, i);
	return i;
}

static __rte_always_inline void
put_one(struct mlx4_txq *q, const struct rte_mbuf *m, rte_be32_t cqe, const enum kind kind)
{
	const uint32_t at = q->sq_pi & q->sq_mask, rest = m->data_len - (kind == ONE_BLOCK ? 0 : MLX4_TX_INLINE_FIRST);
	struct words w = make_words(q, MLX4_TX_UPPER(m->ol_flags), rest, kind);

	w.flags |= mlx4_word_pair(cqe, 0);
	put_frame(q->sq + ((size_t)at << MLX4_LG_TXBB), &q->elts[at], m, rest, w, kind);
}

/* A burst of one: nothing is looked up for the next. */
static __rte_noinline uint32_t
post_one(struct mlx4_txq *q, struct rte_mbuf **pkts, uint64_t *bytes)
{
	const struct rte_mbuf *m = pkts[0];
	const uint32_t len = m->data_len, pi = q->sq_pi, blocks = 1 + (len > MLX4_TX_INLINE_FIRST);
	rte_be32_t cqe;

	if (unlikely(!is_usual(m, RTE_MIN(q->inline_max, MLX4_TX_INLINE_MAX)) || !is_single(m) ||
		     pi - q->sq_ci + blocks > q->sq_room || (pi & q->sq_mask) + blocks > q->sq_mask + 1))
		return 0;
	cqe = rte_cpu_to_be_32(mlx4_tx_cqe_bits(q, pi, blocks));
	switch (kind_of(len)) {
	case ONE_BLOCK: put_one(q, m, cqe, ONE_BLOCK); break;
	case REST_FEW: put_one(q, m, cqe, REST_FEW); break;
	default: put_one(q, m, cqe, REST); break;
	}
	q->sq_pi = pi + blocks;
	note_mixed(q);
	*bytes += len;
	mlx4_tx_put_bulk(m->pool, pkts, 1);
	return 1;
}

uint32_t
mlx4_tx_inline(struct mlx4_txq *q, struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes)
{
	return n == 1 ? post_one(q, pkts, bytes) : post_several(q, pkts, n, bytes);
}
