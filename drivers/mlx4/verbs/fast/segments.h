/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What requests of one piece of data have behind the control segment: the data, inline or from memory, where it goes to, and what an
 * atomic operation is to do.
 */
#ifndef MLX4_VERBS_FAST_SEGMENTS_H
#define MLX4_VERBS_FAST_SEGMENTS_H

#include "drivers/mlx4/verbs/wqe.h"

#define CTRL (uint32_t)sizeof(struct mlx4_wqe_ctrl)
#define DATAGRAM_LG (MLX4_LG_TXBB + 2)
#define LG_ANY 0u /* of a WQE's length: not known */

/* Where the data are: words of 16 octets in the second of two blocks, when all of a list have the same length. */
enum data { MEMORY, WORDS_1, WORDS_2, WORDS_3, WORDS_4, INLINE };

/* --- data ---------------------------------------------------------------------------------------------------------- */

/* At most a block's room. */
static __rte_always_inline void
copy_16_up(uint8_t *to, const uint8_t *from, uint32_t n)
{
	memcpy(to, from, 16);
	if (n > 32)
		memcpy(to + 16, from + 16, 16);
	if (unlikely(n > 48))
		memcpy(to + 32, from + 32, 16);
	memcpy(to + n - 16, from + n - 16, 16);
}

/* The last n bytes, n > 0, of at least 16. */
static __rte_always_inline void
copy_rest(uint8_t *to, const uint8_t *from, uint32_t n)
{
	uint64_t v;

	if (n >= 16) {
		copy_16_up(to, from, n);
	} else if (n >= 8) {
		copy_inline(to, from, n);
	} else {
		/* Eight bytes are read that end where the data end, and written where there is room behind them. */
		memcpy(&v, from + n - 8, sizeof(v));
		v = RTE_BYTE_ORDER == RTE_BIG_ENDIAN ? v << (64 - 8 * n) : v >> (64 - 8 * n);
		memcpy(to, &v, sizeof(v));
	}
}

#ifdef __SSSE3__
/* An order of 16 bytes: those from gone on to the front, and zeros; gone < 16. */
static __rte_always_inline __m128i
order_of_end(uint32_t gone)
{
	static const uint8_t front[32] = {0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,
					  11,   12,   13,   14,   15,   0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					  0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

	return _mm_loadu_si128((const __m128i *)(const void *)(front + gone));
}

static __rte_always_inline void
copy_in_order(uint8_t *to, const uint8_t *from, __m128i order)
{
	const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)from);

	_mm_storeu_si128((__m128i *)(void *)to, _mm_shuffle_epi8(v, order));
}
#endif

/* The last bytes before end of at least 16, where 16 may be written: all 16 but the first gone ones, gone < 16. */
static __rte_always_inline void
copy_end(uint8_t *to, const uint8_t *end, uint32_t gone)
{
#ifdef __SSSE3__
	copy_in_order(to, end - 16, order_of_end(gone));
#else
	copy_rest(to, end - (16 - gone), 16 - gone);
#endif
}

/* Room for data in the block of an inline segment. */
static __rte_always_inline uint32_t
in_first(const uint32_t at)
{
	return MLX4_TXBB_SIZE - at % MLX4_TXBB_SIZE - 4;
}

/* Inline in one block, at offset at of the WQE; returns where it ends. */
static __rte_always_inline uint32_t
put_in_one(uint8_t *wqe, const uint32_t at, const struct ibv_sge *sge)
{
	copy_inline(wqe + at + 4, (const uint8_t *)(uintptr_t)sge->addr, sge->length);
	close_inline(wqe + at, wqe + at + 4 + sge->length);
	return at + 4 + sge->length;
}

/* The same in the block where the data begin, and in the next one. */
static __rte_always_inline uint32_t
put_in_two(uint8_t *wqe, const uint32_t at, const struct ibv_sge *sge)
{
	const uint32_t first = in_first(at), next = at + 4 + first;
	const uint8_t *src = (const uint8_t *)(uintptr_t)sge->addr;
	uint32_t len = sge->length - first;

	memcpy(wqe + at + 4, src, first);
	copy_rest(wqe + next + 4, src + first, len);
	*(rte_be32_t *)(void *)(wqe + at) = RTE_BE32(MLX4_DATA_INLINE | first);
	rte_io_wmb(); /* a length may begin a block, so that it comes last [DP 4.5] */
	*(rte_be32_t *)(void *)(wqe + next) = BE(MLX4_DATA_INLINE + len);
	return next + 4 + len;
}

/* Bytes that go inline in a WQE of that length; of longer ones it is more than two blocks take. */
static __rte_always_inline uint32_t
max_of(const bool ud, const unsigned int lg)
{
	const uint32_t blocks = lg == LG_ANY ? 4 : 1u << (lg - MLX4_LG_TXBB);

	return blocks * BLOCK_ROOM - (ud ? MLX4_TXBB_SIZE - 4 : CTRL + MLX4_RADDR_SIZE);
}

/* INLINE: it is not in two blocks. */
static __rte_always_inline enum data
words_of(const uint32_t at, const uint32_t max, uint32_t len)
{
	const uint32_t first = in_first(at);

	if (max <= first || len - (first + 1) >= RTE_MIN(BLOCK_ROOM, max - first))
		return INLINE;
	return (enum data)((len - first + 15) / 16);
}

/* Inline in two blocks, but for the length of what is in the second. */
static __rte_always_inline void
put_words(uint8_t *wqe, const uint32_t at, const uint8_t *src, uint32_t len, const enum data words)
{
	const uint32_t first = in_first(at);
	uint8_t *to = wqe + at + 4 + first + 4;

	memcpy(wqe + at + 4, src, first);
	if (words == WORDS_1) {
		copy_end(to, src + len, first + 16 - len);
	} else {
		for (uint32_t i = 0; i < 16 * ((uint32_t)words - 1); i += 16)
			memcpy(to + i, src + first + i, 16);
		memcpy(to + len - first - 16, src + len - 16, 16);
	}
	*(rte_be32_t *)(void *)(wqe + at) = RTE_BE32(MLX4_DATA_INLINE | first);
}

/* Returns the WQE's bytes, 0: it is for the other way. */
static __rte_always_inline uint32_t
put_inlined(uint8_t *wqe, const uint32_t at, const struct ibv_sge *sge, const uint32_t max)
{
	const uint32_t first = in_first(at);

	/* The usual length first: of two blocks. */
	if (max > first && likely(sge->length - (first + 1) < RTE_MIN(BLOCK_ROOM, max - first)))
		return put_in_two(wqe, at, sge);
	return sge->length - 1 < RTE_MIN(first, max) ? put_in_one(wqe, at, sge) : 0;
}

#ifdef __SSSE3__
/* Of an address and a key: both in the other byte order, and zeros. */
static __rte_always_inline __m128i
place_order(void)
{
	static_assert(MLX4_RADDR_VA == 0 && PRM_OFF(MLX4_RADDR_RKEY) == 8 && MLX4_RADDR_SIZE == 16, "a segment");
	return _mm_set_epi8(INT8_MIN, INT8_MIN, INT8_MIN, INT8_MIN, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7);
}
#else
static __rte_always_inline void
put_address(uint8_t *seg, uint64_t addr, uint32_t rkey)
{
	uint64_t word = PAIR((uint64_t)BE(rkey), UINT64_C(0));

	prm_set64(seg, MLX4_RADDR_VA, addr);
	memcpy(seg + PRM_OFF(MLX4_RADDR_RKEY), &word, sizeof(word));
}
#endif

/* The address segment of a WRITE or a READ. */
static __rte_always_inline void
put_place(uint8_t *seg, const struct ibv_send_wr *wr)
{
#ifdef __SSSE3__
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)&wr->wr.rdma);

	static_assert(offsetof(struct ibv_send_wr, wr.rdma.rkey) == offsetof(struct ibv_send_wr, wr.rdma) + 8,
		      "neighbours");
	_mm_storeu_si128((__m128i *)(void *)seg, _mm_shuffle_epi8(v, place_order()));
#else
	put_address(seg, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
#endif
}

static __rte_always_inline void
put_atomics(uint8_t *seg, const struct ibv_send_wr *wr)
{
#ifdef __SSSE3__
	/* A swap has it before what is compared; what is added stands alone. */
	static const uint8_t orders[2][16] __rte_aligned(16) = {
		{15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
		{7, 6, 5, 4, 3, 2, 1, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}};
	const uint8_t *order = orders[wr->opcode - IBV_WR_ATOMIC_CMP_AND_SWP];
	__m128d place = _mm_load_sd((const double *)(const void *)&wr->wr.atomic.remote_addr);
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)&wr->wr.atomic.compare_add);

	static_assert(IBV_WR_ATOMIC_FETCH_AND_ADD == IBV_WR_ATOMIC_CMP_AND_SWP + 1, "they choose an order");
	static_assert(offsetof(struct ibv_send_wr, wr.atomic.swap) ==
				      offsetof(struct ibv_send_wr, wr.atomic.compare_add) + 8 &&
			      MLX4_ATOMIC_SWAP_ADD == 0 && MLX4_ATOMIC_COMPARE == 8,
		      "neighbours here and there");
	place = _mm_loadh_pd(place, (const double *)(const void *)&wr->wr.atomic.rkey);
	_mm_storeu_si128((__m128i *)(void *)seg, _mm_shuffle_epi8(_mm_castpd_si128(place), place_order()));
	v = _mm_shuffle_epi8(v, *(const __m128i *)(const void *)order);
	_mm_storeu_si128((__m128i *)(void *)(seg + MLX4_RADDR_SIZE), v);
#else
	uint64_t add = wr->wr.atomic.compare_add, swap = wr->wr.atomic.swap, compare = add;

	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		swap = add;
		compare = 0;
	}
	put_address(seg, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);
	prm_set64(seg, MLX4_RADDR_SIZE + MLX4_ATOMIC_SWAP_ADD, swap);
	prm_set64(seg, MLX4_RADDR_SIZE + MLX4_ATOMIC_COMPARE, compare);
#endif
}

static __rte_always_inline const uint8_t *
dgram_of(const struct ibv_send_wr *wr)
{
	return ((const struct mlx4_roce_ah *)(const void *)wr->wr.ud.ah)->dgram;
}

#define DGRAM_TO PRM_OFF(MLX4_DGRAM_QPN)

/* The last third of an address segment: the queue pair and its key are the request's, what is behind them the handle's. */
static __rte_always_inline void
put_target(uint8_t *seg, const struct ibv_send_wr *wr, const uint8_t *from)
{
	const uint32_t to = DGRAM_TO, rest = PRM_OFF(MLX4_DGRAM_QKEY) + 4;
#ifdef __SSSE3__
	const __m128i order = _mm_set_epi8(15, 14, 13, 12, 11, 10, 9, 8, 4, 5, 6, 7, 0, 1, 2, 3);
	__m128d v;
#else
	uint64_t v;
#endif

	static_assert(offsetof(struct ibv_send_wr, wr.ud.remote_qkey) ==
				      offsetof(struct ibv_send_wr, wr.ud.remote_qpn) + 4 &&
			      PRM_OFF(MLX4_DGRAM_QKEY) == PRM_OFF(MLX4_DGRAM_QPN) + 4 && MLX4_DGRAM_SIZE == 48 &&
			      PRM_OFF(MLX4_DGRAM_QPN) == 32,
		      "neighbours here and there, and the last quarter but one");
#ifdef __SSSE3__
	v = _mm_castsi128_pd(_mm_loadl_epi64((const __m128i *)(const void *)&wr->wr.ud.remote_qpn));
	v = _mm_loadh_pd(v, (const double *)(const void *)(from + rest));
	_mm_storeu_si128((__m128i *)(void *)(seg + to), _mm_shuffle_epi8(_mm_castpd_si128(v), order));
#else
	memcpy(&v, &wr->wr.ud.remote_qpn, sizeof(v));
#if RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN
	v = rte_bswap64(v);
	v = v << 32 | v >> 32;
#endif
	memcpy(seg + to, &v, sizeof(v));
	memcpy(seg + rest, from + rest, MLX4_DGRAM_SIZE - rest);
#endif
}

/* All but the last third of an address vector is the handle's. */
static __rte_always_inline void
put_datagram(uint8_t *seg, const struct ibv_send_wr *wr)
{
	const uint8_t *from = dgram_of(wr);

	memcpy(seg, from, DGRAM_TO);
	put_target(seg, wr, from);
}

#endif /* MLX4_VERBS_FAST_SEGMENTS_H */
