/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Send WQEs of every kind but the plain one: several segments, VLAN, TSO, inline, tunnels, BlueFlame. */
#include <errno.h>

#include <rte_ether.h>
#include <rte_io.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include "drivers/mlx4/bus/bf.h"

#include "wqe.h"

#define BLOCKS_MAX ((MLX4_SEND_WQE_MAX + MLX4_TXBB_SIZE - 1) / MLX4_TXBB_SIZE)

/* What a WQE will be made of, found before anything is written. */
struct tx_plan {
	uint32_t ds;      /* 16-byte units, with the control segment */
	uint32_t blocks;  /* 64-byte blocks */
	uint32_t hdr_len; /* TSO: bytes of headers, else 0 */
	bool inl;         /* the frame goes into the WQE */
};

/*
 * A WQE that is being written, in the ring or, if it wraps, in a copy. The card must never see a block whose first dword is
 * valid before the rest of the WQE is [DP 4.5], so first dwords are kept back; that of the control segment is not here.
 */
struct tx_draft {
	uint8_t *w;
	rte_be32_t first[BLOCKS_MAX];
};

static __rte_always_inline uint32_t
tso_header_len(const struct rte_mbuf *m)
{
	uint32_t len = m->l2_len + m->l3_len + m->l4_len;

	if (m->ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK)
		len += m->outer_l2_len + m->outer_l3_len;
	return len;
}

/* Units that n bytes need as inline segments: 4 bytes of header in each 64-byte block [DP 3.7]. */
static __rte_always_inline uint32_t
inline_units(uint32_t n)
{
	if (n <= MLX4_TX_INLINE_FIRST)
		return (4 + n + MLX4_DS_SIZE - 1) / MLX4_DS_SIZE;
	n -= MLX4_TX_INLINE_FIRST;
	return 3 + n / 60 * 4 + (n % 60 == 0 ? 0 : (4 + n % 60 + MLX4_DS_SIZE - 1) / MLX4_DS_SIZE);
}

/* Data segments for what lies behind the first skip bytes; empty mbufs take none. */
static __rte_always_inline uint32_t
count_segments(const struct rte_mbuf *m, uint32_t skip)
{
	uint32_t n = 0;

	for (; m != NULL; m = m->next) {
		if (m->data_len <= skip)
			skip -= m->data_len;
		else {
			skip = 0;
			n++;
		}
	}
	return n;
}

/* What the port's limits exclude. Data that fit into one segment are no large send. */
static __rte_noinline bool
lso_excluded(const struct mlx4_txq *q, const struct rte_mbuf *m, uint32_t hdr)
{
	uint32_t data = m->pkt_len - hdr, mss = m->tso_segsz;
	uint32_t l3 =
		(m->ol_flags & RTE_MBUF_F_TX_IPV6) != 0 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr);

	return q->max_gso == 0 || (data > mss && data <= mss * (q->lso_segs_min - 1u)) ||
	       (!q->lso_tcp_options && m->l4_len > sizeof(struct rte_tcp_hdr)) ||
	       (!q->lso_ip_options && m->l3_len > l3);
}

static __rte_always_inline int
plan_lso(const struct mlx4_txq *q, const struct rte_mbuf *m, uint32_t frame_max, struct tx_plan *p)
{
	uint32_t hdr = tso_header_len(m);

	if (unlikely(q->lso_limited) && lso_excluded(q, m, hdr))
		return -EINVAL;
	if (q->max_gso == 0)
		return -ENOTSUP;
	if (m->tso_segsz == 0 || hdr == 0 || hdr >= m->pkt_len || m->pkt_len - hdr > q->max_gso ||
	    hdr + m->tso_segsz > frame_max)
		return -EINVAL;
	/* Too many segments are gathered; headers that leave no room for data cannot be helped. */
	if (hdr + 64 > q->max_desc)
		return -EINVAL;
	p->hdr_len = hdr;
	p->ds = 1 + mlx4_tx_segment_units(hdr) + count_segments(m, hdr);
	return 0;
}

/*
 * Checksums or segments inside a tunnel that the card does not know: of a kind of its own, or of any while it does not look.
 * A tunnel that the application merely names is a frame as any other.
 */
static bool
tunnel_refused(const struct mlx4_txq *q, uint64_t ol)
{
	uint64_t kind = ol & RTE_MBUF_F_TX_TUNNEL_MASK;

	if ((ol & (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_TCP_SEG |
		   RTE_MBUF_F_TX_OUTER_IP_CKSUM)) == 0)
		return false;
	return !q->tunnels || (kind != RTE_MBUF_F_TX_TUNNEL_VXLAN && kind != RTE_MBUF_F_TX_TUNNEL_GRE &&
			       kind != RTE_MBUF_F_TX_TUNNEL_IPIP);
}

/* 0 or the negative errno for which the packet cannot be sent. */
static __rte_always_inline int
make_plan(const struct mlx4_txq *q, const struct rte_mbuf *m, struct tx_plan *p)
{
	const uint32_t frame_max = q->frame_max - ((m->ol_flags & RTE_MBUF_F_TX_VLAN) != 0 ? RTE_VLAN_HLEN : 0);

	if (unlikely(m->pkt_len < RTE_ETHER_HDR_LEN))
		return -EINVAL;
	if (unlikely(m->ol_flags & MLX4_TX_UNSUPPORTED))
		return -ENOTSUP;
	if (unlikely((m->ol_flags & (RTE_MBUF_F_TX_TUNNEL_MASK | RTE_MBUF_F_TX_OUTER_IP_CKSUM)) != 0) &&
	    tunnel_refused(q, m->ol_flags))
		return -ENOTSUP;
	p->hdr_len = 0;
	p->inl = false;
	if (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) {
		int rc = plan_lso(q, m, frame_max, p);

		if (rc != 0)
			return rc;
	} else if (unlikely(m->pkt_len > frame_max))
		return -EINVAL;
	else if (m->pkt_len <= q->inline_max) {
		p->inl = true;
		p->ds = 1 + inline_units(RTE_MAX(m->pkt_len, MLX4_INLINE_MIN));
	} else
		p->ds = 1 + count_segments(m, 0);
	p->blocks = (p->ds + 3) / 4;
	return 0;
}

/* Where a packet of too many segments is copied to: its own pool, or that of the buffer of which it is a clone. */
static struct rte_mempool *
gather_pool(const struct rte_mbuf *m)
{
	return RTE_MBUF_CLONED(m) ? rte_mbuf_from_indirect((struct rte_mbuf *)(uintptr_t)m)->pool : m->pool;
}

/* Mbufs of its pool hold the packet in so few segments that a WQE has room for them. */
static bool
can_gather(const struct mlx4_txq *q, const struct rte_mbuf *m, const struct tx_plan *p)
{
	uint32_t room = rte_pktmbuf_data_room_size(gather_pool(m)), units = q->max_desc / MLX4_DS_SIZE - 1;

	if (p->hdr_len != 0)
		units -= mlx4_tx_segment_units(p->hdr_len);
	return room > RTE_PKTMBUF_HEADROOM && (uint64_t)units * (room - RTE_PKTMBUF_HEADROOM) >= m->pkt_len;
}

int
mlx4_tx_check(const struct mlx4_txq *q, const struct rte_mbuf *m)
{
	struct tx_plan p;
	int rc = make_plan(q, m, &p);

	if (rc == 0 && p.ds * MLX4_DS_SIZE > q->max_desc && !can_gather(q, m, &p))
		rc = -EINVAL;
	return rc;
}

/* Data segments from offset at of the WQE on, for what lies behind the first skip bytes. */
static __rte_always_inline void
write_data(struct tx_draft *d, uint32_t at, rte_be32_t lkey, const struct rte_mbuf *m, uint32_t skip)
{
	const uint64_t lkey_hi = mlx4_data_hi(lkey);

	for (; m != NULL; m = m->next) {
		struct mlx4_wqe_data *seg = (void *)(d->w + at);
		uint32_t len = m->data_len;

		if (len <= skip) {
			skip -= len;
			continue;
		}
		if (at % MLX4_TXBB_SIZE != 0)
			mlx4_data_set(seg, len - skip, lkey_hi, rte_mbuf_data_iova(m) + skip);
		else {
			d->first[at / MLX4_TXBB_SIZE] = mlx4_be32(len - skip);
			seg->lkey = lkey;
			seg->addr = rte_cpu_to_be_64(rte_mbuf_data_iova(m) + skip);
		}
		skip = 0;
		at += sizeof(*seg);
	}
}

/* The bytes of a frame's beginning: where they are, or a copy if they are in several mbufs. */
static __rte_always_inline const uint8_t *
bytes_of(const struct rte_mbuf *m, uint32_t len, uint8_t *copy)
{
	return likely(m->data_len >= len) ? rte_pktmbuf_mtod(m, const uint8_t *) : rte_pktmbuf_read(m, 0, len, copy);
}

/* Up to 60 bytes; copies of a fixed size are a few instructions, others a call. */
static __rte_always_inline void
copy_some(uint8_t *to, const uint8_t *from, uint32_t n)
{
	for (; n >= 16; n -= 16, to += 16, from += 16)
		memcpy(to, from, 16);
	if (n & 8) {
		memcpy(to, from, 8);
		to += 8;
		from += 8;
	}
	if (n & 4) {
		memcpy(to, from, 4);
		to += 4;
		from += 4;
	}
	if (n & 2) {
		memcpy(to, from, 2);
		to += 2;
		from += 2;
	}
	if (n & 1)
		*to = *from;
}

/* The frame as inline segments from offset 16 of the WQE; a frame below 17 bytes is zero-filled [DP 3.4]. */
static __rte_always_inline void
write_inline(struct tx_draft *d, const struct rte_mbuf *m)
{
	uint8_t copy[MLX4_SEND_WQE_MAX];
	uint32_t len = RTE_MAX(m->pkt_len, MLX4_INLINE_MIN), n = RTE_MIN(len, MLX4_TX_INLINE_FIRST), b;
	const uint8_t *src = bytes_of(m, m->pkt_len, copy);

	if (unlikely(m->pkt_len < MLX4_INLINE_MIN)) {
		memset(copy + m->pkt_len, 0, MLX4_INLINE_MIN - m->pkt_len);
		if (src != copy)
			memcpy(copy, src, m->pkt_len);
		src = copy;
	}
	prm_set32(d->w, MLX4_DS_SIZE, MLX4_DATA_INLINE | n);
	if (n == MLX4_TX_INLINE_FIRST)
		memcpy(d->w + MLX4_DS_SIZE + 4, src, MLX4_TX_INLINE_FIRST);
	else
		copy_some(d->w + MLX4_DS_SIZE + 4, src, n);
	for (b = 1, src += n, len -= n; len != 0; b++, src += n, len -= n) {
		n = RTE_MIN(len, MLX4_TXBB_SIZE - 4);
		d->first[b] = rte_cpu_to_be_32(MLX4_DATA_INLINE | n);
		copy_some(d->w + b * MLX4_TXBB_SIZE + 4, src, n);
	}
}

/* The LSO segment: MSS, length, and the headers, which run through blocks. */
static __rte_always_inline void
write_lso(struct tx_draft *d, const struct rte_mbuf *m, uint32_t hdr_len)
{
	uint8_t copy[MLX4_SEND_WQE_MAX];
	uint8_t *to = d->w + MLX4_DS_SIZE + 4;
	const uint8_t *src = bytes_of(m, hdr_len, copy);
	uint32_t left = hdr_len, n, b;

	prm_set32(d->w, MLX4_DS_SIZE, (uint32_t)m->tso_segsz << MLX4_LSO_MSS_SHIFT | hdr_len);
	if (unlikely(left < MLX4_TX_INLINE_FIRST)) {
		copy_some(to, src, left);
		return;
	}
	memcpy(to, src, MLX4_TX_INLINE_FIRST);
	for (b = 1, src += MLX4_TX_INLINE_FIRST, left -= MLX4_TX_INLINE_FIRST; left != 0; b++, src += n, left -= n) {
		if (unlikely(left < 4)) {
			d->first[b] = 0;
			copy_some((uint8_t *)&d->first[b], src, left);
			return;
		}
		memcpy(&d->first[b], src, 4);
		src += 4;
		left -= 4;
		n = RTE_MIN(left, MLX4_TXBB_SIZE - 4);
		copy_some(d->w + b * MLX4_TXBB_SIZE + 4, src, n);
	}
}

/* Control segment without the owner bit; returns its first dword. */
static __rte_always_inline uint32_t
write_ctrl(struct mlx4_txq *q, uint8_t *wqe, const struct rte_mbuf *m, const struct tx_plan *p)
{
	struct mlx4_wqe_ctrl *c = (void *)wqe;
	uint32_t dw0 = MLX4_OP_SEND, dw1 = p->ds, dw2 = MLX4_CTRL_NO_ICRC;
	uint32_t csum = mlx4_tx_csum_bits(m->ol_flags);

	if (p->hdr_len != 0) {
		dw0 = MLX4_OP_LSO | MLX4_CTRL_RR;
		csum |= MLX4_CTRL_L4_CSUM | (m->ol_flags & RTE_MBUF_F_TX_IPV4 ? MLX4_CTRL_IP_CSUM : 0);
	}
	if (m->ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) {
		/* Inner sums by dw0, the outer IP header's by the plain bit [DP 3.1] */
		dw0 |= (csum & MLX4_CTRL_IP_CSUM ? MLX4_CTRL_IIP : 0) | (csum & MLX4_CTRL_L4_CSUM ? MLX4_CTRL_ILP : 0);
		csum = m->ol_flags & RTE_MBUF_F_TX_OUTER_IP_CKSUM ? MLX4_CTRL_IP_CSUM : 0;
	}
	if (m->ol_flags & RTE_MBUF_F_TX_VLAN)
		dw1 |= (uint32_t)m->vlan_tci << MLX4_CTRL_VLAN_SHIFT | MLX4_CTRL_INS_CVLAN;
	dw2 |= csum | mlx4_tx_cqe_bits(q, q->sq_pi, p->blocks);
	c->imm = 0;
	if (q->mac_loopback) {
		const uint8_t *dmac = rte_pktmbuf_mtod(m, const uint8_t *);

		dw2 |= (uint32_t)dmac[0] << 24 | (uint32_t)dmac[1] << 16;
		memcpy(&c->imm, dmac + 2, sizeof(c->imm));
	}
	c->vlan_ds = rte_cpu_to_be_32(dw1);
	c->flags = rte_cpu_to_be_32(dw2);
	return dw0;
}

/* The WQE was written apart because it wraps: copies all but the first dwords of its blocks into the ring. */
static __rte_noinline void
copy_blocks(const struct mlx4_txq *q, const uint8_t *wqe, uint32_t blocks)
{
	uint32_t b;

	for (b = 0; b < blocks; b++) {
		uint32_t at = (q->sq_pi + b) & q->sq_mask;

		memcpy(q->sq + ((size_t)at << MLX4_LG_TXBB) + 4, wqe + b * MLX4_TXBB_SIZE + 4, MLX4_TXBB_SIZE - 4);
	}
}

/* First dwords of the blocks behind the first one, from the back to the front. */
static __rte_always_inline void
finish_blocks(const struct mlx4_txq *q, const struct tx_draft *d, uint32_t blocks)
{
	const uint32_t pi = q->sq_pi, mask = q->sq_mask;
	struct rte_mbuf **const elts = q->elts;
	uint8_t *const sq = q->sq;
	uint32_t b;

	rte_io_wmb();
	for (b = blocks - 1; b != 0; b--) {
		uint32_t at = (pi + b) & mask;

		*(rte_be32_t *)(void *)(sq + ((size_t)at << MLX4_LG_TXBB)) = d->first[b];
		elts[at] = MLX4_TX_INNER;
	}
}

/*
 * A packet of more segments than a WQE holds is copied into full mbufs of its own pool; headers are never sent twice.
 * Returns the packet to send, or NULL when the pool is empty (the original is untouched).
 */
static struct rte_mbuf *
gather(struct mlx4_txq *q, struct rte_mbuf *m, struct tx_plan *p)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(m, gather_pool(m), 0, UINT32_MAX);

	if (copy == NULL)
		return NULL;
	if (make_plan(q, copy, p) != 0) {
		rte_pktmbuf_free(copy);
		return NULL;
	}
	q->linearized++;
	return copy;
}

static int
drop(struct mlx4_txq *q, struct rte_mbuf *m)
{
	q->errors++;
	rte_pktmbuf_free(m);
	return 0;
}

/*
 * Makes the packet fit a WQE, and the WQE the ring. Returns the packet to send, or NULL with what mlx4_tx_general shall
 * return.
 */
static __rte_noinline struct rte_mbuf *
make_room(struct mlx4_txq *q, struct rte_mbuf *m, uint32_t room, struct tx_plan *p, int *rc)
{
	struct rte_mbuf *orig = m;

	*rc = -ENOSPC;
	if (p->ds * MLX4_DS_SIZE > q->max_desc) {
		if (!can_gather(q, m, p)) {
			*rc = drop(q, orig);
			return NULL;
		}
		m = gather(q, m, p);
		if (m == NULL)
			return NULL;
	}
	if (p->blocks > room) {
		if (m != orig)
			rte_pktmbuf_free(m);
		return NULL;
	}
	if (m != orig)
		rte_pktmbuf_free(orig);
	return m;
}

/* The frame is in the WQE: its mbuf goes home at once. */
static __rte_always_inline void
free_now(struct rte_mbuf *m)
{
	if (likely(m->nb_segs == 1 && rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m) && m->next == NULL))
		rte_mbuf_raw_free(m);
	else
		rte_pktmbuf_free(m);
}

int
mlx4_tx_general(struct mlx4_txq *q, struct rte_mbuf *m, uint32_t room)
{
	uint8_t scratch[BLOCKS_MAX * MLX4_TXBB_SIZE] __rte_cache_aligned;
	uint32_t at = q->sq_pi & q->sq_mask;
	uint8_t *block = q->sq + ((size_t)at << MLX4_LG_TXBB);
	uint32_t own = q->sq_pi & (q->sq_mask + 1) ? MLX4_CTRL_OWN : 0;
	struct tx_draft d;
	struct tx_plan p;
	uint32_t dw0;
	int rc;

	if (unlikely(make_plan(q, m, &p) != 0))
		return drop(q, m);
	if (unlikely(p.ds * MLX4_DS_SIZE > q->max_desc || p.blocks > room)) {
		struct tx_plan other = p; /* so that p can stay in registers */

		m = make_room(q, m, room, &other, &rc);
		if (m == NULL)
			return rc;
		p = other;
	}
	d.w = likely(at + p.blocks <= q->sq_mask + 1) ? block : scratch;
	dw0 = write_ctrl(q, d.w, m, &p);
	if (p.inl)
		write_inline(&d, m);
	else {
		if (p.hdr_len != 0)
			write_lso(&d, m, p.hdr_len);
		write_data(&d, MLX4_DS_SIZE * (1 + (p.hdr_len != 0 ? mlx4_tx_segment_units(p.hdr_len) : 0)), q->lkey, m,
			   p.hdr_len);
	}
	if (unlikely(d.w == scratch))
		copy_blocks(q, scratch, p.blocks);
	if (p.blocks != 1)
		finish_blocks(q, &d, p.blocks);
	if (p.inl) {
		free_now(m);
		m = NULL;
	}
	q->elts[at] = m;
	if (m == NULL || p.blocks != 1 || m->nb_segs != 1) {
		q->mixed = true;
		q->last_mixed = q->sq_pi + p.blocks - 1;
	}
	rte_io_wmb(); /* the owner bit last */
	((struct mlx4_wqe_ctrl *)(void *)block)->owner_opcode = rte_cpu_to_be_32(dw0 | own);
	q->sq_pi += p.blocks;
	return (int)p.blocks;
}

/*
 * BlueFlame [DP 2.5]: the WQE in the ring gets its index and QPN in the control segment, and its blocks are copied into
 * one half of the register; the copy is the doorbell. Not for VLAN insertion (the QPN takes the place of the tag) and
 * not for a WQE that wraps.
 */
bool
mlx4_tx_blueflame(struct mlx4_txq *q, uint32_t first)
{
	uint32_t blocks = q->sq_pi - first, at = first & q->sq_mask;
	struct mlx4_wqe_ctrl *c = (void *)(q->sq + ((size_t)at << MLX4_LG_TXBB));

	if (blocks * MLX4_TXBB_SIZE > q->bf_half || at + blocks > q->sq_mask + 1 ||
	    (c->vlan_ds & RTE_BE32(MLX4_CTRL_INS_CVLAN)))
		return false;
	c->vlan_ds |= rte_cpu_to_be_32(q->qpn << 8);
	c->owner_opcode |= rte_cpu_to_be_32((first & 0xffff) << MLX4_CTRL_BF_INDEX_SHIFT);
	mlx4_bf_copy(q->bf + q->bf_off, c, blocks * MLX4_TXBB_SIZE);
	q->bf_off ^= q->bf_half;
	return true;
}
