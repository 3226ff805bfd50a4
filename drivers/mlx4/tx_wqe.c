/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Send WQEs of every kind but the plain one: several segments, VLAN, TSO, inline, tunnels, BlueFlame. */
#include <errno.h>

#include <rte_ether.h>
#include <rte_io.h>

#include "tx_wqe.h"

#define BLOCKS_MAX ((MLX4_SEND_WQE_MAX + MLX4_TXBB_SIZE - 1) / MLX4_TXBB_SIZE)

/* What a WQE will be made of, found before anything is written. */
struct tx_plan {
	uint32_t ds;      /* 16-byte units, with the control segment */
	uint32_t blocks;  /* 64-byte blocks */
	uint32_t hdr_len; /* TSO: bytes of headers, else 0 */
	bool inl;         /* the frame goes into the WQE */
};

static uint32_t
tso_header_len(const struct rte_mbuf *m)
{
	uint32_t len = m->l2_len + m->l3_len + m->l4_len;

	if (m->ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK)
		len += m->outer_l2_len + m->outer_l3_len;
	return len;
}

/* Units that n bytes need as inline segments: 4 bytes of header in each 64-byte block [DP 3.7]. */
static uint32_t
inline_units(uint32_t n)
{
	uint32_t first = MLX4_TXBB_SIZE - MLX4_DS_SIZE - 4;

	if (n <= first)
		return (4 + n + MLX4_DS_SIZE - 1) / MLX4_DS_SIZE;
	n -= first;
	return 3 + n / 60 * 4 + (n % 60 == 0 ? 0 : (4 + n % 60 + MLX4_DS_SIZE - 1) / MLX4_DS_SIZE);
}

/* Data segments for what lies behind the first skip bytes; empty mbufs take none. */
static uint32_t
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

static void
make_plan(const struct mlx4_txq *q, const struct rte_mbuf *m, struct tx_plan *p)
{
	p->hdr_len = m->ol_flags & RTE_MBUF_F_TX_TCP_SEG ? tso_header_len(m) : 0;
	p->inl = p->hdr_len == 0 && m->pkt_len <= q->inline_max;
	p->ds = 1;
	if (p->inl)
		p->ds += inline_units(RTE_MAX(m->pkt_len, MLX4_INLINE_MIN));
	else
		p->ds += count_segments(m, p->hdr_len);
	if (p->hdr_len != 0)
		p->ds += (4 + p->hdr_len + MLX4_DS_SIZE - 1) / MLX4_DS_SIZE;
	p->blocks = (p->ds + 3) / 4;
}

int
mlx4_tx_check(const struct mlx4_txq *q, const struct rte_mbuf *m)
{
	struct tx_plan p;

	if (m->pkt_len < RTE_ETHER_HDR_LEN)
		return -EINVAL;
	if (m->ol_flags & MLX4_TX_UNSUPPORTED)
		return -ENOTSUP;
	if (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) {
		uint32_t hdr = tso_header_len(m);

		if (q->max_gso == 0)
			return -ENOTSUP;
		if (m->tso_segsz == 0 || hdr == 0 || hdr >= m->pkt_len || m->pkt_len - hdr > q->max_gso)
			return -EINVAL;
	}
	make_plan(q, m, &p);
	/* Too many segments are gathered in tx_burst; headers that leave no room for data cannot be helped. */
	if (p.hdr_len + 64 > q->max_desc)
		return -EINVAL;
	return 0;
}

static void
write_data(uint8_t *w, struct mlx4_txq *q, const struct rte_mbuf *m, uint32_t skip)
{
	for (; m != NULL; m = m->next) {
		struct mlx4_wqe_data *d = (void *)w;

		if (m->data_len <= skip) {
			skip -= m->data_len;
			continue;
		}
		d->byte_count = rte_cpu_to_be_32(m->data_len - skip);
		d->lkey = q->lkey;
		d->addr = rte_cpu_to_be_64(rte_mbuf_data_iova(m) + skip);
		skip = 0;
		w += sizeof(*d);
	}
}

/* The frame as inline segments from offset 16 of the WQE; a frame below 17 bytes is zero-filled [DP 3.4]. */
static void
write_inline(uint8_t *wqe, const struct rte_mbuf *m)
{
	uint8_t frame[256] = {0};
	uint32_t len = RTE_MAX(m->pkt_len, MLX4_INLINE_MIN);
	const uint8_t *src = rte_pktmbuf_read(m, 0, m->pkt_len, frame);
	uint32_t at = MLX4_DS_SIZE, done = 0;

	if (src != frame)
		memcpy(frame, src, m->pkt_len);
	while (done < len) {
		uint32_t n = RTE_MIN(len - done, MLX4_TXBB_SIZE - (at & (MLX4_TXBB_SIZE - 1)) - 4);

		prm_set32(wqe, at, MLX4_DATA_INLINE | n);
		memcpy(wqe + at + 4, frame + done, n);
		done += n;
		at += 4 + n;
	}
}

static void
write_lso(uint8_t *w, const struct rte_mbuf *m, uint32_t hdr_len)
{
	const void *hdr;

	prm_set32(w, 0, (uint32_t)m->tso_segsz << MLX4_LSO_MSS_SHIFT | hdr_len);
	hdr = rte_pktmbuf_read(m, 0, hdr_len, w + 4);
	if (hdr != w + 4)
		memcpy(w + 4, hdr, hdr_len);
}

/* Control segment without the owner bit; returns its first dword. */
static uint32_t
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
	dw2 |= csum | mlx4_tx_cqe_bits(q, p->blocks);
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

/*
 * Copies a WQE of several blocks into the ring: the card must never see a block whose first dword is valid before the
 * rest of the WQE is, so first dwords go last, from the back to the front [DP 4.5].
 */
static void
copy_blocks(struct mlx4_txq *q, const uint8_t *wqe, uint32_t blocks)
{
	uint32_t b;

	for (b = 0; b < blocks; b++) {
		uint32_t at = (q->sq_pi + b) & q->sq_mask;

		memcpy(q->sq + ((size_t)at << MLX4_LG_TXBB) + 4, wqe + b * MLX4_TXBB_SIZE + 4, MLX4_TXBB_SIZE - 4);
		q->elts[at] = MLX4_TX_INNER;
	}
	rte_io_wmb();
	for (b = blocks - 1; b != 0; b--) {
		uint32_t at = (q->sq_pi + b) & q->sq_mask;

		memcpy(q->sq + ((size_t)at << MLX4_LG_TXBB), wqe + b * MLX4_TXBB_SIZE, 4);
	}
}

/*
 * A packet of more segments than a WQE holds is copied into full mbufs of its own pool; headers are never sent twice.
 * Returns the packet to send, or NULL when the pool is empty (the original is untouched).
 */
static struct rte_mbuf *
gather(struct mlx4_txq *q, struct rte_mbuf *m, struct tx_plan *p)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);

	if (copy == NULL)
		return NULL;
	make_plan(q, copy, p);
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

int
mlx4_tx_general(struct mlx4_txq *q, struct rte_mbuf *m, uint32_t room)
{
	uint8_t scratch[BLOCKS_MAX * MLX4_TXBB_SIZE] __rte_cache_aligned;
	uint32_t at = q->sq_pi & q->sq_mask;
	uint8_t *block = q->sq + ((size_t)at << MLX4_LG_TXBB);
	uint32_t own = q->sq_pi & (q->sq_mask + 1) ? MLX4_CTRL_OWN : 0;
	struct rte_mbuf *orig = m;
	struct tx_plan p;
	uint32_t dw0;
	uint8_t *w;

	if (unlikely(mlx4_tx_check(q, m) != 0))
		return drop(q, m);
	make_plan(q, m, &p);
	if (unlikely(p.ds * MLX4_DS_SIZE > q->max_desc)) {
		m = gather(q, m, &p);
		if (m == NULL)
			return -ENOSPC;
		if (p.ds * MLX4_DS_SIZE > q->max_desc) {
			rte_pktmbuf_free(m);
			return drop(q, orig);
		}
	}
	if (unlikely(p.blocks > room)) {
		if (m != orig)
			rte_pktmbuf_free(m);
		return -ENOSPC;
	}
	if (unlikely(m != orig))
		rte_pktmbuf_free(orig);

	w = p.blocks == 1 ? block : scratch;
	dw0 = write_ctrl(q, w, m, &p);
	if (p.inl)
		write_inline(w, m);
	else if (p.hdr_len != 0) {
		write_lso(w + MLX4_DS_SIZE, m, p.hdr_len);
		write_data(w + MLX4_DS_SIZE + RTE_ALIGN_CEIL(4 + p.hdr_len, MLX4_DS_SIZE), q, m, p.hdr_len);
	} else
		write_data(w + MLX4_DS_SIZE, q, m, 0);
	if (p.blocks != 1)
		copy_blocks(q, scratch, p.blocks);
	if (p.inl) {
		rte_pktmbuf_free(m);
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
	uint32_t blocks = q->sq_pi - first, at = first & q->sq_mask, i;
	struct mlx4_wqe_ctrl *c = (void *)(q->sq + ((size_t)at << MLX4_LG_TXBB));
	const uint64_t *src = (const void *)c;
	volatile uint64_t *dst = (volatile void *)(q->bf + q->bf_off);

	if (blocks * MLX4_TXBB_SIZE > q->bf_half || at + blocks > q->sq_mask + 1 ||
	    (c->vlan_ds & RTE_BE32(MLX4_CTRL_INS_CVLAN)))
		return false;
	c->vlan_ds |= rte_cpu_to_be_32(q->qpn << 8);
	c->owner_opcode |= rte_cpu_to_be_32((first & 0xffff) << MLX4_CTRL_BF_INDEX_SHIFT);
	rte_io_wmb();
	for (i = 0; i < blocks * MLX4_TXBB_SIZE / sizeof(*src); i++)
		dst[i] = src[i];
	rte_io_wmb();
	q->bf_off ^= q->bf_half;
	return true;
}
