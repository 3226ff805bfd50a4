/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Four receive completions at a time with AVX2. Their words are turned into columns (all states, all lengths, ...), worked
 * on together and turned back into the 16-byte pieces of mbufs that mlx4_rx_mbuf_scalar would write: a test holds the two
 * against each other on random rings.
 */
#include <rte_io.h>
#include <rte_prefetch.h>

#include "queue.h"
#include "mbuf.h"

#ifdef RTE_ARCH_X86_64
#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE static inline __attribute__((target("avx2"), always_inline))

static_assert((RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_IP_CKSUM_MASK |
	       RTE_MBUF_F_RX_L4_CKSUM_MASK) <= UINT32_MAX,
	      "flags of a packet are worked on in 32 bits");

/* Words of four completions; each word of a completion lies in one column. */
struct columns {
	__m128i qpn, status; /* as in memory */
	__m128i hash, len;   /* of the host's byte order */
	__m128i vlan, op;    /* VLAN in the upper half; owner and opcode */
};

/*
 * The upper halves, which have the owner bits, are read before the lower ones: what is seen with the right owner bit is
 * whole, in whatever order the card writes completions.
 */
AVX2_INLINE void
read_columns(const struct mlx4_cqe *cqe, struct columns *c)
{
	const __m256i swap = _mm256_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9,
					     10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
	const __m128i vid = _mm_set_epi8(12, 13, -1, -1, 8, 9, -1, -1, 4, 5, -1, -1, 0, 1, -1, -1);
	const __m128i *half = (const void *)cqe;
	__m256i e0, e1, e2, e3, even, odd;

	e0 = _mm256_broadcastsi128_si256(_mm_load_si128(half + 1));
	e1 = _mm256_broadcastsi128_si256(_mm_load_si128(half + 3));
	e2 = _mm256_broadcastsi128_si256(_mm_load_si128(half + 5));
	e3 = _mm256_broadcastsi128_si256(_mm_load_si128(half + 7));
	rte_io_rmb();
	e0 = _mm256_inserti128_si256(e0, _mm_load_si128(half), 0);
	e1 = _mm256_inserti128_si256(e1, _mm_load_si128(half + 2), 0);
	e2 = _mm256_inserti128_si256(e2, _mm_load_si128(half + 4), 0);
	e3 = _mm256_inserti128_si256(e3, _mm_load_si128(half + 6), 0);

	even = _mm256_unpacklo_epi32(e0, e1);
	odd = _mm256_unpacklo_epi32(e2, e3);
	e0 = _mm256_unpackhi_epi32(e0, e1);
	e2 = _mm256_unpackhi_epi32(e2, e3);
	e1 = _mm256_unpacklo_epi64(even, odd); /* QPN and flags; status */
	c->qpn = _mm256_castsi256_si128(e1);
	c->status = _mm256_extracti128_si256(e1, 1);
	e1 = _mm256_shuffle_epi8(_mm256_unpackhi_epi64(even, odd), swap); /* hash; byte count */
	c->hash = _mm256_castsi256_si128(e1);
	c->len = _mm256_extracti128_si256(e1, 1);
	e1 = _mm256_unpackhi_epi64(e0, e2); /* VLAN; owner and opcode */
	c->vlan = _mm_shuffle_epi8(_mm256_castsi256_si128(e1), vid);
	c->op = _mm_srli_epi32(_mm256_extracti128_si256(e1, 1), 24);
}

/* Packet types and the flags of checksums by the table that the scalar path has, too. */
AVX2_INLINE void
look_up(__m128i status, __m128i *ptype, __m128i *flags)
{
	const __m128i wanted = _mm_set1_epi32(MLX4_RX_ST_WANTED), gather = _mm_set1_epi32(MLX4_RX_ST_GATHER);
	const struct mlx4_rx_meaning *t = mlx4_rx_meaning;
	__m128i st = _mm_srli_epi32(_mm_mullo_epi32(_mm_and_si128(status, wanted), gather), 24);
	__m128 a = _mm_castsi128_ps(_mm_loadl_epi64((const void *)&t[(uint32_t)_mm_cvtsi128_si32(st)]));
	__m128 b = _mm_castsi128_ps(_mm_loadl_epi64((const void *)&t[(uint32_t)_mm_extract_epi32(st, 2)]));

	a = _mm_loadh_pi(a, (const void *)&t[(uint32_t)_mm_extract_epi32(st, 1)]);
	b = _mm_loadh_pi(b, (const void *)&t[(uint32_t)_mm_extract_epi32(st, 3)]);
	*ptype = _mm_castps_si128(_mm_shuffle_ps(a, b, 0x88));
	*flags = _mm_castps_si128(_mm_shuffle_ps(a, b, 0xdd));
}

/* rearm_data and ol_flags of four mbufs. */
AVX2_INLINE void
store_flags(struct rte_mbuf **m, __m256i rearm, __m128i flags)
{
	const size_t off = offsetof(struct rte_mbuf, rearm_data);
	__m256i f = _mm256_cvtepu32_epi64(flags);
	__m256i even = _mm256_unpacklo_epi64(rearm, f), odd = _mm256_unpackhi_epi64(rearm, f);

	_mm_store_si128((void *)((uint8_t *)m[0] + off), _mm256_castsi256_si128(even));
	_mm_store_si128((void *)((uint8_t *)m[1] + off), _mm256_castsi256_si128(odd));
	_mm_store_si128((void *)((uint8_t *)m[2] + off), _mm256_extracti128_si256(even, 1));
	_mm_store_si128((void *)((uint8_t *)m[3] + off), _mm256_extracti128_si256(odd, 1));
}

/* What follows: packet type, length, data length with VLAN, hash. */
AVX2_INLINE void
store_rest(struct rte_mbuf **m, __m128i ptype, __m128i len, __m128i data_vlan, __m128i hash)
{
	const size_t off = offsetof(struct rte_mbuf, packet_type);
	__m128i a = _mm_unpacklo_epi32(ptype, len), b = _mm_unpacklo_epi32(data_vlan, hash);

	_mm_storeu_si128((void *)((uint8_t *)m[0] + off), _mm_unpacklo_epi64(a, b));
	_mm_storeu_si128((void *)((uint8_t *)m[1] + off), _mm_unpackhi_epi64(a, b));
	a = _mm_unpackhi_epi32(ptype, len);
	b = _mm_unpackhi_epi32(data_vlan, hash);
	_mm_storeu_si128((void *)((uint8_t *)m[2] + off), _mm_unpacklo_epi64(a, b));
	_mm_storeu_si128((void *)((uint8_t *)m[3] + off), _mm_unpackhi_epi64(a, b));
}

/* The sum of four lengths of 32 bits each; a run is short enough for them not to overflow. */
AVX2_INLINE uint64_t
sum_of(__m128i v)
{
	v = _mm_add_epi32(v, _mm_srli_si128(v, 8));
	v = _mm_add_epi32(v, _mm_srli_si128(v, 4));
	return (uint32_t)_mm_cvtsi128_si32(v);
}

AVX2 uint32_t
mlx4_rx_run_avx2(const struct mlx4_rx_const *k, const struct mlx4_cqe *cqe, uint8_t expected, struct rte_mbuf **elts,
		 struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes)
{
	const __m128i op = _mm_set1_epi32(expected), crc = _mm_set1_epi32(k->crc_len);
	const __m128i cvlan = _mm_set1_epi32((int)RTE_BE32(MLX4_CQE_CVLAN));
	const __m128i stripped = _mm_set1_epi32(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
	const __m128i always = _mm_set1_epi32((int)k->ol_flags), mask = _mm_set1_epi32((int)k->ol_mask);
	const __m256i rearm = _mm256_set1_epi64x((long long)k->rearm);
	__m128i sum = _mm_setzero_si128();
	uint32_t i, j;

	for (i = 0; i + MLX4_RX_GROUP <= n; i += MLX4_RX_GROUP, cqe += MLX4_RX_GROUP) {
		struct rte_mbuf **m = &elts[i];
		__m128i ptype, flags, vlan;
		struct columns c;

		read_columns(cqe, &c);
		if (_mm_movemask_epi8(_mm_cmpeq_epi32(c.op, op)) != 0xffff)
			break;
		for (j = 0; j < MLX4_RX_GROUP; j++)
			rte_prefetch0(m[MLX4_RX_GROUP + j]);
		look_up(c.status, &ptype, &flags);
		vlan = _mm_and_si128(_mm_cmpeq_epi32(_mm_and_si128(c.qpn, cvlan), cvlan), stripped);
		flags = _mm_and_si128(_mm_or_si128(_mm_or_si128(flags, vlan), always), mask);
		c.len = _mm_sub_epi32(c.len, crc);
		sum = _mm_add_epi32(sum, c.len);
		store_flags(m, rearm, flags);
		store_rest(m, ptype, c.len, _mm_blend_epi16(c.len, c.vlan, 0xaa), c.hash);
		_mm256_storeu_si256((void *)&pkts[i], _mm256_loadu_si256((const void *)m));
	}
	*bytes += sum_of(sum);
	return i;
}
#endif
