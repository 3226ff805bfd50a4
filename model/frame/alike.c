/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What frames that are alike have in common, by the parser's word. */
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "lib/roce/engine/place.h"
#include "alike.h"

#define OCTETS_AT (2 * TPM_ETH_ALEN)
#define V4_L4 (TPM_ETH_HLEN + 20u)
#define V6_L4 (TPM_ETH_HLEN + 40u)
#define V4_ADDRS (TPM_ETH_HLEN + 12u)
#define V6_ADDRS (TPM_ETH_HLEN + 8u)
#define UDP_LEN 4u
#define UDP_HLEN 8u
#define TCP_HLEN 20u
#define UDP_CSUM 6u
#define RUN_MIN 512u   /* a sum that is worth vectors */
#define BEHIND_MAX 32u /* octets behind the packet that the last loads reach, too */

/* All octets that the parser looks at in a frame without tags, IP options and extension headers, but for UDP's length. */
static const uint8_t mask_other[TPM_ALIKE_OCTETS] = {0xff, 0xff};
/* Type; version and header length; length; fragments; protocol. */
static const uint8_t mask_v4[TPM_ALIKE_OCTETS] = {0xff, 0xff, 0xff, 0, 0xff, 0xff, 0, 0, 0x3f, 0xff, 0, 0xff};
/* Type; version; length; next header. */
static const uint8_t mask_v6[TPM_ALIKE_OCTETS] = {0xff, 0xff, 0xf0, 0, 0, 0, 0xff, 0xff, 0xff};

static void
sum_l4(struct tpm_alike *a, const struct tpm_pkt *k, uint32_t from)
{
	const uint32_t len = k->l4 + k->l4_len - from, whole = (len - 1) & ~7u;

	a->pseudo = (uint64_t)rte_cpu_to_be_16((uint16_t)k->l4_len) + rte_cpu_to_be_16(k->proto);
	a->from = (uint16_t)from;
	a->end128 = from + (whole & ~127u);
	a->end32 = from + (whole & ~31u);
	a->end8 = from + whole;
	a->end = from + len;
	a->shift = (uint8_t)(8 * (8 - (len - whole)));
	if ((a->check & TPM_ALIKE_SUM_L4) != 0 && len >= RUN_MIN && a->len - a->end <= BEHIND_MAX)
		a->check |= TPM_ALIKE_RUN;
}

void
tpm_alike_make(struct tpm_alike *a, const struct tp_frame *f)
{
	const uint8_t *d = f->seg[0].data;
	struct tpm_pkt k;
	uint32_t good;
	bool v4, udp;

	tpm_parse(d, RTE_MIN(f->seg[0].len, TPM_PARSE_MAX), f->len, &k);
	v4 = k.etype == TPM_ETYPE_IPV4;
	udp = (k.status & MLX4_CQE_ST_UDP) != 0;
	memcpy(a->want, d + OCTETS_AT, TPM_ALIKE_OCTETS);
	memcpy(a->mask, mask_other, TPM_ALIKE_OCTETS);
	a->shape = tpm_frame_shape(f);
	a->len = f->len;
	a->at = a->csum_at = OCTETS_AT;
	a->two = tpm_raw16(d + OCTETS_AT);
	a->check = TPM_ALIKE_PARSE | (f->nseg != 1 ? TPM_ALIKE_PIECES : 0);
	a->rss = 0;
	a->v4 = false;
	a->head = f->seg[0].len;
	if ((k.status & (MLX4_CQE_ST_TCP | MLX4_CQE_ST_UDP)) == 0 || k.l3 != TPM_ETH_HLEN ||
	    k.l4 != (v4 ? V4_L4 : V6_L4) || (udp && tpm_load16(d + k.l4 + UDP_LEN) != k.l4_len))
		return;
	memcpy(a->mask, v4 ? mask_v4 : mask_v6, TPM_ALIKE_OCTETS);
	if (f->nseg != 1)
		a->head = k.l4 + (udp ? UDP_HLEN : TCP_HLEN);
	a->v4 = v4;
	a->check = (f->nseg != 1 ? TPM_ALIKE_PIECES : 0) |
		   (v4 && (f->flags & TPM_FRAME_IP_OK) == 0 ? TPM_ALIKE_SUM_IP : 0) |
		   ((f->flags & TPM_FRAME_L4_OK) == 0 ? TPM_ALIKE_SUM_L4 : 0);
	if (udp) {
		a->at = (uint16_t)(k.l4 + UDP_LEN);
		a->two = tpm_raw16(d + a->at);
		a->csum_at = (uint16_t)(k.l4 + UDP_CSUM);
	}
	a->rss = udp ? (v4 ? MLX4_RSS_F_UDP_IPV4 : MLX4_RSS_F_UDP_IPV6)
		     : (v4 ? MLX4_RSS_F_TCP_IPV4 : MLX4_RSS_F_TCP_IPV6);
	good = (uint32_t)(k.status | MLX4_CQE_ST_IP_OK) << 16;
	a->unsummed = rte_cpu_to_be_64((uint64_t)good << 32 | f->len);
	a->summed = rte_cpu_to_be_64((uint64_t)(good | MLX4_CQE_L4_OK) << 32 | f->len);
	sum_l4(a, &k, v4 ? V4_ADDRS : V6_ADDRS);
}

/* --- a copy that is summed up on its way ------------------------------------------------------------------ */

static bool
copy_plain(const struct tpm_alike *a, uint8_t *dst, const uint8_t *src)
{
	memcpy(dst, src, a->len);
	return tpm_alike_l4_right(a, src);
}

tpm_alike_copy_fn tpm_alike_ways[TPM_ALIKE_WAYS + 1] = {copy_plain};

#ifdef __x86_64__
/*
 * What is summed up are numbers of 64 bits, whose carries are lost at first: an addition a vector. How many there were is told by an
 * estimate of the same sum in units of 2^48. Of eight numbers that is eight times the average of their highest words, which is found
 * for four numbers in a row by one instruction a pair. It is wrong by less than 19 units for eight; a carry is 65536 units. So it tells
 * carries as long as there are less than 13000 vectors; a frame has some hundreds. 2^64 and 2^32 are 1 in a sum of words with their
 * carries around.
 */
#define TOPS(n) (48 - __builtin_ctz(n)) /* an average of n, as the units of all of them */
#define HALF 0x8000                     /* of a carry: the estimate is rounded to the next one */

/* Tuned for what has it: else each load and store is made of two. */
#define AVX2 __attribute__((target("avx2,tune=haswell")))
#define AVX2_INLINE static inline __attribute__((target("avx2,tune=haswell"), always_inline))

AVX2_INLINE __m256i
copy_1(uint8_t *dst, const uint8_t *src)
{
	__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)src);

	_mm256_storeu_si256((__m256i *)(void *)dst, v);
	return v;
}

/* Copies, adds, and returns the average of the words in each place. */
AVX2_INLINE __m256i
copy_2(uint8_t *dst, const uint8_t *src, __m256i *sum)
{
	__m256i v0 = copy_1(dst, src), v1 = copy_1(dst + 32, src + 32);

	*sum = _mm256_add_epi64(_mm256_add_epi64(*sum, v0), v1);
	return _mm256_avg_epu16(v0, v1);
}

AVX2_INLINE __m256i
copy_4(uint8_t *dst, const uint8_t *src, __m256i *sum)
{
	__m256i v = copy_2(dst, src, sum);

	return _mm256_avg_epu16(v, copy_2(dst + 64, src + 64, sum));
}

AVX2_INLINE __m256i
copy_8(uint8_t *dst, const uint8_t *src, __m256i *sum)
{
	__m256i v = copy_4(dst, src, sum);

	return _mm256_avg_epu16(v, copy_4(dst + 128, src + 128, sum));
}

AVX2_INLINE uint64_t
all_256(__m256i sum, __m256i tops)
{
	const __m256i carries = _mm256_srli_epi64(_mm256_sub_epi64(tops, _mm256_srli_epi64(sum, 48)), 16);
	__m128i s;

	sum = _mm256_add_epi64(_mm256_blend_epi32(sum, _mm256_setzero_si256(), 0xaa), _mm256_srli_epi64(sum, 32));
	sum = _mm256_add_epi64(sum, carries);
	s = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
	return (uint64_t)_mm_cvtsi128_si64(_mm_add_epi64(s, _mm_unpackhi_epi64(s, s)));
}

/* What is behind the last whole vector is at most two of them, which end where the frame ends. */
AVX2 static bool
copy_avx2(const struct tpm_alike *a, uint8_t *dst, const uint8_t *src)
{
	const uint32_t len = a->len, vectors = (a->end32 - a->from) / 32;
	__m256i sum = _mm256_setzero_si256(), tops = _mm256_set1_epi64x(HALF);
	uint32_t at = a->from;
	uint64_t s;

	copy_1(dst, src);
	for (unsigned int i = vectors / 8; i != 0; i--, at += 256)
		tops = _mm256_add_epi64(tops, _mm256_srli_epi64(copy_8(dst + at, src + at, &sum), TOPS(8)));
	if ((vectors & 4) != 0) {
		tops = _mm256_add_epi64(tops, _mm256_srli_epi64(copy_4(dst + at, src + at, &sum), TOPS(4)));
		at += 128;
	}
	if ((vectors & 2) != 0) {
		tops = _mm256_add_epi64(tops, _mm256_srli_epi64(copy_2(dst + at, src + at, &sum), TOPS(2)));
		at += 64;
	}
	if ((vectors & 1) != 0) {
		const __m256i v = copy_1(dst + at, src + at);

		sum = _mm256_add_epi64(sum, v);
		tops = _mm256_add_epi64(tops, _mm256_srli_epi64(v, TOPS(1)));
		at += 32;
	}
	s = a->pseudo + all_256(sum, tops);
	for (; at != a->end8; at += 8)
		s = tpm_csum_add(s, tpm_raw64(src + at));
	s = tpm_csum_add(s, tpm_raw64(src + a->end - 8) >> a->shift);
	copy_1(dst + len - 64, src + len - 64);
	copy_1(dst + len - 32, src + len - 32);
	return tpm_csum_right(s);
}

/* The same in vectors of 64 octets. */
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,tune=haswell")))
#define AVX512_INLINE static inline __attribute__((target("avx512f,avx512bw,avx512vl,tune=haswell"), always_inline))

AVX512_INLINE __m512i
wide_1(uint8_t *dst, const uint8_t *src)
{
	__m512i v = _mm512_loadu_si512(src);

	_mm512_storeu_si512(dst, v);
	return v;
}

AVX512_INLINE __m512i
wide_2(uint8_t *dst, const uint8_t *src, __m512i *sum)
{
	__m512i v0 = wide_1(dst, src), v1 = wide_1(dst + 64, src + 64);

	*sum = _mm512_add_epi64(_mm512_add_epi64(*sum, v0), v1);
	return _mm512_avg_epu16(v0, v1);
}

AVX512_INLINE __m512i
wide_4(uint8_t *dst, const uint8_t *src, __m512i *sum)
{
	__m512i v = wide_2(dst, src, sum);

	return _mm512_avg_epu16(v, wide_2(dst + 128, src + 128, sum));
}

AVX512_INLINE __m512i
wide_8(uint8_t *dst, const uint8_t *src, __m512i *sum)
{
	__m512i v = wide_4(dst, src, sum);

	return _mm512_avg_epu16(v, wide_4(dst + 256, src + 256, sum));
}

AVX512_INLINE uint64_t
all_512(__m512i sum, __m512i tops)
{
	const __m512i carries = _mm512_srli_epi64(_mm512_sub_epi64(tops, _mm512_srli_epi64(sum, 48)), 16);
	__m256i half;
	__m128i s;

	sum = _mm512_add_epi64(_mm512_maskz_mov_epi32(0x5555, sum), _mm512_srli_epi64(sum, 32));
	sum = _mm512_add_epi64(sum, carries);
	half = _mm256_add_epi64(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
	s = _mm_add_epi64(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
	return (uint64_t)_mm_cvtsi128_si64(_mm_add_epi64(s, _mm_unpackhi_epi64(s, s)));
}

/* What is behind the last whole vector, 1 to 64 octets, is one of which the rest is 0; a padding ends where the frame ends. */
AVX512 static bool
copy_avx512(const struct tpm_alike *a, uint8_t *dst, const uint8_t *src)
{
	const uint32_t len = a->len, behind = a->end - a->from - 1, vectors = behind / 64;
	const __mmask64 rest = UINT64_MAX >> (63 - behind % 64);
	__m512i sum = _mm512_setzero_si512(), tops = _mm512_set1_epi64(HALF), v;
	uint32_t at = a->from;

	_mm256_storeu_si256((__m256i *)(void *)dst, _mm256_loadu_si256((const __m256i *)(const void *)src));
	for (unsigned int i = vectors / 8; i != 0; i--, at += 512)
		tops = _mm512_add_epi64(tops, _mm512_srli_epi64(wide_8(dst + at, src + at, &sum), TOPS(8)));
	if ((vectors & 4) != 0) {
		tops = _mm512_add_epi64(tops, _mm512_srli_epi64(wide_4(dst + at, src + at, &sum), TOPS(4)));
		at += 256;
	}
	if ((vectors & 2) != 0) {
		tops = _mm512_add_epi64(tops, _mm512_srli_epi64(wide_2(dst + at, src + at, &sum), TOPS(2)));
		at += 128;
	}
	if ((vectors & 1) != 0) {
		v = wide_1(dst + at, src + at);
		sum = _mm512_add_epi64(sum, v);
		tops = _mm512_add_epi64(tops, _mm512_srli_epi64(v, TOPS(1)));
		at += 64;
	}
	v = _mm512_maskz_loadu_epi8(rest, src + at);
	_mm512_mask_storeu_epi8(dst + at, rest, v);
	sum = _mm512_add_epi64(sum, v);
	tops = _mm512_add_epi64(tops, _mm512_srli_epi64(v, TOPS(1)));
	_mm256_storeu_si256((__m256i *)(void *)(dst + len - 32),
			    _mm256_loadu_si256((const __m256i *)(const void *)(src + len - 32)));
	return tpm_csum_right(a->pseudo + all_512(sum, tops));
}

/* One store, as those of tre_place(). */
AVX2_INLINE __m256i
place_1(uint8_t *dst, const uint8_t *src)
{
	__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)src);

	*(volatile __m256i_u *)(void *)dst = v;
	return v;
}

AVX2 static bool
place_avx2(const struct tpm_alike *a, uint8_t *dst, const uint8_t *src, uint32_t off)
{
	__m256i sum = _mm256_setzero_si256(), tops = _mm256_set1_epi64x(HALF), v, w;
	uint32_t at = a->from;
	uint64_t s;

	tre_place(dst + off, src + off, at - off);
	for (; a->end32 - at >= 64; at += 64) {
		v = place_1(dst + at, src + at);
		w = place_1(dst + at + 32, src + at + 32);
		sum = _mm256_add_epi64(_mm256_add_epi64(sum, v), w);
		tops = _mm256_add_epi64(tops, _mm256_srli_epi64(_mm256_avg_epu16(v, w), TOPS(2)));
	}
	if (at != a->end32) {
		v = place_1(dst + at, src + at);
		sum = _mm256_add_epi64(sum, v);
		tops = _mm256_add_epi64(tops, _mm256_srli_epi64(v, TOPS(1)));
		at += 32;
	}
	tre_place(dst + at, src + at, a->len - at);
	s = a->pseudo + all_256(sum, tops);
	for (; at != a->end8; at += 8)
		s = tpm_csum_add(s, tpm_raw64(src + at));
	return tpm_csum_right(tpm_csum_add(s, tpm_raw64(src + a->end - 8) >> a->shift));
}

static bool has_avx2;

__attribute__((constructor)) static void
choose_ways(void)
{
	tpm_alike_copy_fn *way = tpm_alike_ways;

	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		*way++ = copy_avx512;
	has_avx2 = __builtin_cpu_supports("avx2") != 0;
	if (has_avx2)
		*way++ = copy_avx2;
	*way = copy_plain;
}
#endif /* __x86_64__ */

bool
tpm_alike_place(const struct tpm_alike *a, uint8_t *dst, const uint8_t *src, uint32_t off)
{
#ifdef __x86_64__
	if (tpm_likely(has_avx2))
		return place_avx2(a, dst, src, off);
#endif
	tre_place(dst + off, src + off, a->len - off);
	return tpm_alike_l4_right(a, src);
}
