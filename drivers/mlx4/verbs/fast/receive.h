/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a completion tells of a received message: of its opcode, which is the same for many of them, and of each [DP 6.2]. */
#ifndef MLX4_VERBS_FAST_RECEIVE_H
#define MLX4_VERBS_FAST_RECEIVE_H

#ifdef __SSSE3__
#include <immintrin.h>
#endif

#include "drivers/mlx4/verbs/verbs.h"

static const struct {
	uint16_t opcode; /* enum ibv_wc_opcode */
	uint16_t flags;
} receives[MLX4_CQE_OPCODE_MASK + 1] = {
	[MLX4_CQE_RECV_WRITE_IMM] = {IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM},
	[MLX4_CQE_RECV_SEND] = {IBV_WC_RECV, 0},
	[MLX4_CQE_RECV_SEND_IMM] = {IBV_WC_RECV, IBV_WC_WITH_IMM},
	[MLX4_CQE_RECV_SEND_INV] = {IBV_WC_RECV, IBV_WC_WITH_INV},
};

/* What messages of one opcode have in common. */
struct like_message {
	uint64_t done;  /* status and opcode */
	uint32_t flags; /* of a completion */
	bool inv;       /* a key that was invalidated, in place of immediate data */
	uint8_t owner;  /* last octet of an entry */
};

static __rte_always_inline struct like_message
like_with(unsigned int op, uint8_t phase)
{
	const struct mlx4_roce_done ok = {0, IBV_WC_SUCCESS, receives[op].opcode};
	struct like_message k = {
		.flags = receives[op].flags, .inv = op == MLX4_CQE_RECV_SEND_INV, .owner = (uint8_t)(op ^ phase)};

	memcpy(&k.done, &ok.status, sizeof(k.done));
	return k;
}

#ifdef __SSSE3__
#define NONE INT8_MIN /* of an order of octets: 0 */

/* No vendor's error, length, immediate data and number from an entry's words 5, 1 and 0. */
static __rte_always_inline __m128i
length_order(const struct like_message *k)
{
	const __m128i plain = _mm_set_epi8(NONE, 13, 14, 15, 11, 10, 9, 8, 4, 5, 6, 7, NONE, NONE, NONE, NONE);
	const __m128i inv = _mm_set_epi8(NONE, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, NONE, NONE, NONE, NONE);

	return k->inv ? inv : plain;
}

static __rte_always_inline void
put_message(const struct mlx4_cqe *cqe, const struct like_message *k, uint32_t qpn, struct ibv_wc *wc)
{
	const float *words = (const float *)(const void *)cqe;
	__m128 v = _mm_shuffle_ps(_mm_load_ps(words + 4), _mm_load_ps(words), _MM_SHUFFLE(0, 1, 1, 1));

	static_assert(offsetof(struct ibv_wc, vendor_err) == 16 && offsetof(struct ibv_wc, byte_len) == 20 &&
			      offsetof(struct ibv_wc, imm_data) == 24 && offsetof(struct ibv_wc, qp_num) == 28,
		      "one store writes them");
	static_assert(offsetof(struct mlx4_cqe, byte_cnt) == 20 && offsetof(struct mlx4_cqe, immed_rss) == 4,
		      "words 5 and 1");
	_mm_storeu_si128((__m128i *)(void *)&wc->vendor_err, _mm_shuffle_epi8(_mm_castps_si128(v), length_order(k)));
	(void)qpn;
}

/* Where a datagram on Ethernet came from: its queue pair; a flag that is the highest bit of an octet; a level, three bits. */
static __rte_always_inline void
put_origin(const struct mlx4_cqe *cqe, const struct like_message *k, struct ibv_wc *wc)
{
	const __m128i number =
		_mm_set_epi8(NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, 9, 10, 11);
	const __m128i octets =
		_mm_set_epi8(NONE, NONE, 12, NONE, NONE, NONE, NONE, NONE, NONE, NONE, 8, NONE, NONE, NONE, NONE, NONE);
	const __m128i shifts = _mm_set_epi16(0, 8, 0, 0, 0, 2, 0, 0);
	const __m128i first = _mm_load_si128((const __m128i *)(const void *)cqe);
	__m128i v = _mm_mulhi_epu16(_mm_shuffle_epi8(first, octets), shifts);

	static_assert(offsetof(struct ibv_wc, src_qp) == 32 && offsetof(struct ibv_wc, wc_flags) == 36 &&
			      offsetof(struct ibv_wc, pkey_index) == 40 && offsetof(struct ibv_wc, slid) == 42 &&
			      offsetof(struct ibv_wc, sl) == 44 && offsetof(struct ibv_wc, dlid_path_bits) == 45 &&
			      sizeof(struct ibv_wc) == 48,
		      "one store writes them");
	static_assert(offsetof(struct mlx4_cqe, g_mlpath_rqpn) == 8 && offsetof(struct mlx4_cqe, sl_vid) == 12 &&
			      MLX4_CQE_GRH == 0x80000000 && IBV_WC_GRH == 1,
		      "octets 8 and 12");
	v = _mm_or_si128(v, _mm_shuffle_epi8(first, number));
	v = _mm_or_si128(v, _mm_set_epi32(0, 0, (int)k->flags, 0));
	_mm_storeu_si128((__m128i *)(void *)&wc->src_qp, v);
}
#else
static __rte_always_inline void
put_message(const struct mlx4_cqe *cqe, const struct like_message *k, uint32_t qpn, struct ibv_wc *wc)
{
	mlx4_roce_put_length(wc, cqe->byte_cnt);
	wc->imm_data = cqe->immed_rss;
	if (k->inv)
		wc->invalidated_rkey = rte_be_to_cpu_32(cqe->immed_rss);
	wc->qp_num = qpn;
}

static __rte_always_inline void
put_origin(const struct mlx4_cqe *cqe, const struct like_message *k, struct ibv_wc *wc)
{
	uint32_t from = rte_be_to_cpu_32(cqe->g_mlpath_rqpn);

	wc->src_qp = from & MLX4_CQE_QPN_MASK;
	wc->wc_flags = k->flags | ((from & MLX4_CQE_GRH) != 0 ? IBV_WC_GRH : 0);
	wc->sl = (uint8_t)(rte_be_to_cpu_16(cqe->sl_vid) >> 13);
	wc->pkey_index = 0;
	wc->slid = 0;
	wc->dlid_path_bits = 0;
}
#endif

#endif /* MLX4_VERBS_FAST_RECEIVE_H */
