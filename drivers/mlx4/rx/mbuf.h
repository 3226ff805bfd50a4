/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * From a receive CQE to an mbuf, once in plain C and once with SSE4 (the baseline of DPDK's x86 packages). A test holds
 * the two against each other on random completions.
 */
#ifndef MLX4_RX_MBUF_H
#define MLX4_RX_MBUF_H

#include <rte_byteorder.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_vect.h>

#include "mlx4_prm_wqe.h"
#include "queue.h"

/* What the status dword of a CQE says, squeezed into eight bits [DP 6.3]. */
#define MLX4_RX_ST_IPV6 (1u << 0)
#define MLX4_RX_ST_OPTS (1u << 1)
#define MLX4_RX_ST_TCP (1u << 2)
#define MLX4_RX_ST_UDP (1u << 3)
#define MLX4_RX_ST_IP_OK (1u << 4)
#define MLX4_RX_ST_IPV4 (1u << 5)
#define MLX4_RX_ST_FRAG (1u << 6)
#define MLX4_RX_ST_L4_OK (1u << 7)
#define MLX4_RX_STATES 256u

/* Packet type and offload flags of a state; a lookup is cheaper than deciding bit by bit for every packet. */
struct mlx4_rx_meaning {
	uint32_t ptype;
	uint32_t ol_flags;
};
extern struct mlx4_rx_meaning mlx4_rx_meaning[MLX4_RX_STATES];

/* What does not change during a burst, in locals: a burst's stores might alias the queue otherwise. */
struct mlx4_rx_const {
	uint16_t crc_sub[8] __rte_aligned(16); /* crc_len where the vector variant has the two lengths */
	uint64_t rearm, ol_flags, ol_mask;
	uint16_t crc_len;
	bool extras; /* time stamps or tunnels, of which the queue knows more */
	const struct mlx4_rxq *q;
	uint32_t first_len, other_len; /* bytes in the first buffer of a WQE, and in each of the others */
};

static __rte_always_inline struct mlx4_rx_const
mlx4_rx_const_of(const struct mlx4_rxq *q, const struct mlx4_rx_set *s)
{
	const struct mlx4_rx_ring *r = s->ring;

	return (struct mlx4_rx_const){
		.crc_sub = {[2] = q->crc_len, [4] = q->crc_len},
		.rearm = q->rearm,
		.ol_flags = s->ol_flags,
		.ol_mask = s->ol_mask,
		.crc_len = q->crc_len,
		.extras = q->extras,
		.q = q,
		.first_len = r != NULL && r->hdr_len != 0 ? r->hdr_len : q->buf_len,
		.other_len = q->buf_len,
	};
}

/*
 * The four bytes from 0x10 on, as a little-endian number: status [15:8] in bits 7:0, status [7:0] in 15:8, flags with
 * "L4 ok" in 31:24. One multiplication moves the three groups of wanted bits to the top: bits 4:0 by 24, bits 15:14
 * by 15, bit 26 by 5; what else the product holds stays below bit 24.
 */
#define MLX4_RX_ST_WANTED 0x0400c01fu
#define MLX4_RX_ST_GATHER ((1u << 24) + (1u << 15) + (1u << 5))

static __rte_always_inline uint32_t
mlx4_rx_state(const struct mlx4_cqe *cqe)
{
	uint32_t w;

	memcpy(&w, (const uint8_t *)cqe + offsetof(struct mlx4_cqe, status), sizeof(w));
	w = rte_le_to_cpu_32(w);
	return (uint32_t)((w & MLX4_RX_ST_WANTED) * MLX4_RX_ST_GATHER) >> 24;
}

static __rte_always_inline uint64_t
mlx4_rx_flags(const struct mlx4_rx_const *k, const struct mlx4_cqe *cqe, const struct mlx4_rx_meaning *mean)
{
	uint64_t f = k->ol_flags | mean->ol_flags;

	if (cqe->vlan_my_qpn & RTE_BE32(MLX4_CQE_CVLAN))
		f |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	return f & k->ol_mask;
}

/* Everything that a CQE says about the packet, into its first mbuf. */
static __rte_always_inline void
mlx4_rx_mbuf_scalar(const struct mlx4_rx_const *k, const struct mlx4_cqe *cqe, struct rte_mbuf *m)
{
	const struct mlx4_rx_meaning *mean = &mlx4_rx_meaning[mlx4_rx_state(cqe)];

	m->packet_type = mean->ptype;
	m->pkt_len = rte_be_to_cpu_32(cqe->byte_cnt) - k->crc_len;
	m->data_len = (uint16_t)m->pkt_len;
	m->vlan_tci = rte_be_to_cpu_16(cqe->sl_vid);
	m->hash.rss = rte_be_to_cpu_32(cqe->immed_rss);
	m->ol_flags = mlx4_rx_flags(k, cqe, mean);
	mlx4_mbuf_rearm(m, k->rearm);
}

/*
 * The time of arrival in cycles of the card's clock. The card presents the high part of before when the low one has just
 * wrapped [DP 6.2]. What lies where the VLAN was is no VLAN.
 */
static __rte_always_inline void
mlx4_rx_stamp(const struct mlx4_rx_const *k, const struct mlx4_cqe *cqe, struct rte_mbuf *m)
{
	const uint8_t *e = (const uint8_t *)cqe;
	uint64_t low = prm_get(e, MLX4_CQE_STAMP_LH) << 8 | prm_get(e, MLX4_CQE_STAMP_LL);
	uint64_t high = (uint64_t)prm_get(e, MLX4_CQE_STAMP_H) + (low == 0);

	*RTE_MBUF_DYNFIELD(m, k->q->stamp_off, rte_mbuf_timestamp_t *) = high << 16 | low;
	m->ol_flags |= k->q->stamp_flag;
	m->vlan_tci = 0;
}

/* Packet type and flags of a frame that has another one inside; leaves others as they are. */
void mlx4_rx_tunnel(const struct mlx4_rxq *q, const struct mlx4_cqe *cqe, struct rte_mbuf *m);

/* What few queues ask for; the plain bursts have nothing of it. */
static __rte_always_inline void
mlx4_rx_extras(const struct mlx4_rx_const *k, const struct mlx4_cqe *cqe, struct rte_mbuf *m)
{
	if (k->q->tunnels)
		mlx4_rx_tunnel(k->q, cqe, m);
	if (k->q->stamp_flag != 0)
		mlx4_rx_stamp(k, cqe, m);
}

#ifdef RTE_ARCH_X86
static_assert(offsetof(struct rte_mbuf, ol_flags) == offsetof(struct rte_mbuf, rearm_data) + 8, "one 16-byte store");
static_assert(offsetof(struct rte_mbuf, pkt_len) == offsetof(struct rte_mbuf, packet_type) + 4 &&
		      offsetof(struct rte_mbuf, data_len) == offsetof(struct rte_mbuf, packet_type) + 8 &&
		      offsetof(struct rte_mbuf, vlan_tci) == offsetof(struct rte_mbuf, packet_type) + 10 &&
		      offsetof(struct rte_mbuf, hash) == offsetof(struct rte_mbuf, packet_type) + 12,
	      "one 16-byte store");

static __rte_always_inline void
mlx4_rx_mbuf_sse(const struct mlx4_rx_const *k, const struct mlx4_cqe *cqe, struct rte_mbuf *m)
{
	/*
	 * CQE bytes 0x08..0x17, with the hash in the place of the first four: sl_vid at 4, byte_cnt at 12; to pkt_len,
	 * data_len, vlan_tci and hash, byte-swapped.
	 */
	const __m128i order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 14, 15, 12, 13, 14, 15, -1, -1, -1, -1);
	const struct mlx4_rx_meaning *mean = &mlx4_rx_meaning[mlx4_rx_state(cqe)];
	__m128i v = _mm_loadu_si128((const void *)((const uint8_t *)cqe + 8));

	v = _mm_insert_epi32(v, (int)cqe->immed_rss, 0);
	v = _mm_sub_epi16(_mm_shuffle_epi8(v, order), _mm_load_si128((const void *)k->crc_sub));
	v = _mm_insert_epi32(v, (int)mean->ptype, 0);
	_mm_storeu_si128((void *)((uint8_t *)m + offsetof(struct rte_mbuf, packet_type)), v);
	v = _mm_set_epi64x((long long)mlx4_rx_flags(k, cqe, mean), (long long)k->rearm);
	_mm_store_si128((void *)((uint8_t *)m + offsetof(struct rte_mbuf, rearm_data)), v);
}
#define mlx4_rx_mbuf mlx4_rx_mbuf_sse

#define MLX4_RX_GROUP 4u
/*
 * Receives groups of so many packets as burst.c's loop does one by one, up to n; stops at a group that is not all there. expected: of
 * a plain completion's last byte. For processors with AVX2 only.
 */
uint32_t mlx4_rx_run_avx2(const struct mlx4_rx_const *k, const struct mlx4_cqe *cqe, uint8_t expected,
			  struct rte_mbuf **elts, struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes);
#else
#define mlx4_rx_mbuf mlx4_rx_mbuf_scalar
#endif

#endif /* MLX4_RX_MBUF_H */
