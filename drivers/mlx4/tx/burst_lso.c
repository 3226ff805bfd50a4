/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Large sends as TCP stacks make them: headers that run into the second block and are in the first mbuf with some data, few
 * mbufs, no tunnel, not at the ring's end. Two or three blocks each; any other is for the general path.
 */
#include <rte_io.h>

#include "wqe.h"

#define OTHER_FLAGS (MLX4_TX_UNSUPPORTED | RTE_MBUF_F_TX_TUNNEL_MASK | RTE_MBUF_F_TX_OUTER_IP_CKSUM)
static_assert((uint32_t)(OTHER_FLAGS | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_IPV4 |
			 RTE_MBUF_F_TX_IP_CKSUM) == 0,
	      "flags");
#define SEGS_MAX 4u
#define BLOCKS_MAX 3u
#define COPY 16u
/* The first block has so many bytes of headers; the dword that begins the second one has four more. */
#define HDR_FIRST MLX4_TX_INLINE_FIRST
#define HDR_MIN (HDR_FIRST + 4)
/* The rest is copied in pieces of COPY bytes, what is too much behind it: data follows there, or nothing. */
#define HDR_MAX (HDR_MIN + 3 * COPY)
/* A segment that has some payload, whatever the length of its headers. */
#define SEG_MIN (HDR_MAX + 1)
#define THIRD (2 * MLX4_TXBB_SIZE)
static_assert(MLX4_TXBB_SIZE + 4 + 3 * COPY <= THIRD, "what is copied ends before the third block");
static_assert(MLX4_DS_SIZE + 4 + HDR_MAX + SEGS_MAX * MLX4_DS_SIZE <= BLOCKS_MAX * MLX4_TXBB_SIZE, "all of it fits");

/* What the loop needs of a queue, in locals: its stores might alias the queue otherwise. */
struct lso_const {
	uint64_t lkey_hi;
	uint32_t max_gso;
	uint32_t seg_span; /* how many lengths of a segment there are from SEG_MIN on, which a tag may be inserted in */
	rte_be32_t opcode; /* with the owner bit of this pass */
};

/* Segments of no payload are shorter than any that is usual: one comparison for both ends. */
static __rte_always_inline bool
is_usual(const struct rte_mbuf *m, uint32_t hdr, const struct lso_const *k)
{
	uint32_t ol = MLX4_TX_UPPER(m->ol_flags);

	return (ol & MLX4_TX_UPPER(RTE_MBUF_F_TX_TCP_SEG)) != 0 && (ol & MLX4_TX_UPPER(OTHER_FLAGS)) == 0 &&
	       m->nb_segs <= SEGS_MAX && hdr - HDR_MIN <= HDR_MAX - HDR_MIN && m->data_len > HDR_MAX &&
	       m->tso_segsz + hdr - SEG_MIN < k->seg_span && m->pkt_len - hdr <= k->max_gso;
}

/* All but the dwords that begin the first two blocks. */
static __rte_always_inline void
copy_headers(uint8_t *w, const uint8_t *src, uint32_t mss_hdr, uint32_t hdr)
{
	prm_set32(w, MLX4_DS_SIZE, mss_hdr);
	memcpy(w + MLX4_DS_SIZE + 4, src, HDR_FIRST);
	w += MLX4_TXBB_SIZE + 4;
	src += HDR_MIN;
	memcpy(w, src, COPY);
	if (hdr > HDR_MIN + COPY)
		memcpy(w + COPY, src + COPY, COPY);
	if (unlikely(hdr > HDR_MIN + 2 * COPY))
		memcpy(w + 2 * COPY, src + 2 * COPY, COPY);
}

/*
 * Data segments from seg on. One of them may begin the third block: its length is kept back in *len_third. Returns where they end,
 * NULL if an mbuf has no data.
 */
static __rte_always_inline struct mlx4_wqe_data *
data_segments(struct mlx4_wqe_data *seg, const struct mlx4_wqe_data *third, uint64_t lkey_hi, const struct rte_mbuf *m,
	      uint32_t skip, rte_be32_t *len_third)
{
	rte_iova_t addr = rte_mbuf_data_iova(m) + skip;
	uint32_t len = m->data_len - skip;

	for (;;) {
		if (likely(seg != third))
			mlx4_data_set(seg, len, lkey_hi, addr);
		else {
			*len_third = mlx4_be32(len);
			mlx4_data_set_but_len(seg, lkey_hi, addr);
		}
		seg++;
		m = m->next;
		if (m == NULL)
			return seg;
		len = m->data_len;
		if (unlikely(len == 0))
			return NULL;
		addr = rte_mbuf_data_iova(m);
	}
}

/* Control dword 2 without and with the checksum of IPv4. */
static const rte_be32_t flags_of[2] = {
	RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_L4_CSUM),
	RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_L4_CSUM | MLX4_CTRL_IP_CSUM),
};

/* Posts one. Returns the blocks used, 0: of another kind, and nothing is visible. */
static __rte_always_inline uint32_t
post_one(struct mlx4_txq *q, uint32_t pi, uint8_t *w, struct rte_mbuf *m, struct lso_const k)
{
	const uint32_t hdr = m->l2_len + m->l3_len + m->l4_len;
	const uint32_t mss_hdr = (uint32_t)m->tso_segsz << MLX4_LSO_MSS_SHIFT | hdr;
	const uint32_t ol = MLX4_TX_UPPER(m->ol_flags);
	struct mlx4_wqe_ctrl *c = (void *)w;
	struct mlx4_wqe_data *seg = (void *)(w + MLX4_DS_SIZE * (1 + mlx4_tx_segment_units(hdr)));
	const uint8_t *src = rte_pktmbuf_mtod(m, const uint8_t *);
	rte_be32_t second, third = 0,
			   flags = flags_of[(ol & MLX4_TX_UPPER(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM)) != 0];
	uint32_t blocks, dw1;
	uint64_t word;

	if (unlikely(!is_usual(m, hdr, &k)))
		return 0;
	copy_headers(w, src, mss_hdr, hdr);
	seg = data_segments(seg, (void *)(w + THIRD), k.lkey_hi, m, hdr, &third);
	if (unlikely(seg == NULL))
		return 0;
	dw1 = (uint32_t)(seg - (struct mlx4_wqe_data *)(void *)w);
	blocks = (dw1 + MLX4_TXBB_SIZE / MLX4_DS_SIZE - 1) / (MLX4_TXBB_SIZE / MLX4_DS_SIZE);
	memcpy(&second, src + HDR_FIRST, sizeof(second));
	if (ol & MLX4_TX_UPPER(RTE_MBUF_F_TX_VLAN))
		dw1 |= (uint32_t)m->vlan_tci << MLX4_CTRL_VLAN_SHIFT | MLX4_CTRL_INS_CVLAN;
	if (unlikely(mlx4_tx_cqe_bits(q, pi, blocks) != 0))
		flags |= RTE_BE32(MLX4_CTRL_CQE);
	word = mlx4_word_pair(flags, 0);
	memcpy(&c->flags, &word, sizeof(word));
	rte_io_wmb(); /* first dwords from the back to the front */
	if (blocks == BLOCKS_MAX)
		*(rte_be32_t *)(void *)(w + THIRD) = third;
	*(rte_be32_t *)(void *)(w + MLX4_TXBB_SIZE) = second;
	rte_io_wmb();
	word = mlx4_word_pair(k.opcode, mlx4_be32(dw1));
	memcpy(&c->owner_opcode, &word, sizeof(word));
	return blocks;
}

uint32_t
mlx4_tx_lso(struct mlx4_txq *q, struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes)
{
	const uint32_t pi = q->sq_pi, at = pi & q->sq_mask;
	const struct lso_const k = {
		.lkey_hi = mlx4_data_hi(q->lkey),
		.max_gso = q->max_gso,
		.seg_span = q->frame_max - RTE_VLAN_HLEN - SEG_MIN + 1,
		.opcode = rte_cpu_to_be_32(MLX4_OP_LSO | MLX4_CTRL_RR | (pi & (q->sq_mask + 1) ? MLX4_CTRL_OWN : 0)),
	};
	uint32_t room = q->sq_room - (pi - q->sq_ci), used = 0, i, blocks;
	uint8_t *w = q->sq + ((size_t)at << MLX4_LG_TXBB);
	struct rte_mbuf **elt = &q->elts[at];
	uint64_t sum = 0;

	room = RTE_MIN(room, q->sq_mask + 1 - at);
	if (unlikely(q->mac_loopback || q->lso_limited || q->max_desc < BLOCKS_MAX * MLX4_TXBB_SIZE))
		return 0;
	for (i = 0; i < n && used + BLOCKS_MAX <= room; i++, w += blocks * MLX4_TXBB_SIZE) {
		struct rte_mbuf *m = pkts[i];

		blocks = post_one(q, pi + used, w, m, k);
		if (unlikely(blocks == 0))
			break;
		elt[used] = m;
		elt[used + 1] = MLX4_TX_INNER;
		if (blocks == BLOCKS_MAX)
			elt[used + 2] = MLX4_TX_INNER;
		used += blocks;
		sum += m->pkt_len;
	}
	if (i != 0) {
		q->mixed = true;
		q->last_mixed = pi + used - 1;
		q->sq_pi = pi + used;
	}
	*bytes += sum;
	return i;
}
