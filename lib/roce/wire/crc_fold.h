/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * CRCs of reflected polynomials of degree 32 by carry-less multiplication ("Fast CRC Computation for Generic Polynomials
 * Using PCLMULQDQ", Intel 2009): 64 bytes a turn, or 128 where the CPU multiplies two blocks of 16 at once (VPCLMULQDQ).
 */
#ifndef ROCE_WIRE_CRC_FOLD_H
#define ROCE_WIRE_CRC_FOLD_H

#ifdef __x86_64__
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FOLD_MIN 16u
#define FOLD_FOUR 64u
#define FOLD_WIDE 128u

struct fold {
	uint64_t lo, hi;
};
/* Remainders of powers of x by a polynomial P of degree 32, all with their bits turned round. */
struct crc_fold {
	struct fold by_128;  /* x^(8*128+32), x^(8*128-32) */
	struct fold by_64;   /* x^(4*128+32), x^(4*128-32) */
	struct fold by_32;   /* x^(2*128+32), x^(2*128-32) */
	struct fold by_16;   /* x^(128+32), x^(128-32) */
	struct fold to_64;   /* x^64 */
	struct fold barrett; /* P, floor(x^64 / P) */
};

/* Of crc32.c; of crc16.c, of P * x^16: a remainder by it is the remainder by P, times x^16. */
extern const struct crc_fold troce_crc32_by, troce_crc16_by;

#define TARGET __attribute__((target("pclmul,sse4.1")))
#define TARGET_WIDE __attribute__((target("vpclmulqdq,pclmul,avx2")))

TARGET static inline __m128i
load(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

TARGET static inline __m128i
constants(const struct fold *f)
{
	return _mm_set_epi64x((int64_t)f->hi, (int64_t)f->lo);
}

TARGET static inline __m128i
fold(__m128i x, __m128i k, __m128i next)
{
	return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x, k, 0x00), _mm_clmulepi64_si128(x, k, 0x11)), next);
}

/*
 * The last n bytes, 1..15, behind a: the first n bytes of the two together move to the end of a block of their own, which
 * is folded onto the block of all that follows.
 */
TARGET static inline __m128i
fold_tail(__m128i a, __m128i k, const uint8_t *p, size_t n)
{
	/* Indices of bytes for a shuffle; those with the high bit give zero. */
	static const uint8_t order[48] = {[0 ... 15] = 0x80, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
					  [32 ... 47] = 0x80};
	const __m128i to_front = load(order + 16 + n), first = _mm_shuffle_epi8(a, load(order + n));

	/* What lies in front of p was folded, so that it can be read, too. */
	return fold(first, k, _mm_blendv_epi8(_mm_shuffle_epi8(a, to_front), load(p + n - 16), to_front));
}

/* What a stands for: 128 bits to 64, and to 32 by Barrett's reduction. */
TARGET static inline uint32_t
crc_reduce(const struct crc_fold *crc, __m128i a)
{
	const __m128i low = _mm_set_epi32(0, -1, 0, -1);
	__m128i k = constants(&crc->by_16), t;

	a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, k, 0x10));
	t = _mm_srli_si128(a, 4);
	a = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(a, low), constants(&crc->to_64), 0x00), t);
	k = constants(&crc->barrett);
	t = _mm_clmulepi64_si128(_mm_and_si128(a, low), k, 0x10);
	t = _mm_clmulepi64_si128(_mm_and_si128(t, low), k, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(a, t), 1);
}

/* a stands for all that came, up to p; len octets follow. */
TARGET static inline uint32_t
crc_fold_rest(const struct crc_fold *crc, __m128i a, const uint8_t *p, size_t len)
{
	const __m128i k = constants(&crc->by_16);

	for (; len >= 16; p += 16, len -= 16)
		a = fold(a, k, load(p));
	if (len != 0)
		a = fold_tail(a, k, p, len);
	return crc_reduce(crc, a);
}

/* len: at least FOLD_MIN; first: what the first 16 octets count as. */
TARGET static inline uint32_t
crc_fold(const struct crc_fold *crc, uint32_t reg, __m128i first, const uint8_t *p, size_t len)
{
	__m128i k, a = _mm_xor_si128(first, _mm_cvtsi32_si128((int)reg));

	if (len >= FOLD_FOUR) {
		__m128i b = load(p + 16), c = load(p + 32), d = load(p + 48);

		k = constants(&crc->by_64);
		for (p += 64, len -= 64; len >= 64; p += 64, len -= 64) {
			a = fold(a, k, load(p));
			b = fold(b, k, load(p + 16));
			c = fold(c, k, load(p + 32));
			d = fold(d, k, load(p + 48));
		}
		k = constants(&crc->by_16);
		a = fold(fold(fold(a, k, b), k, c), k, d);
	} else {
		p += 16;
		len -= 16;
	}
	return crc_fold_rest(crc, a, p, len);
}

TARGET_WIDE static inline __m256i
load_wide(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

TARGET_WIDE static inline __m256i
constants_wide(const struct fold *f)
{
	return _mm256_broadcastsi128_si256(constants(f));
}

/* Both halves, each for itself. */
TARGET_WIDE static inline __m256i
fold_wide(__m256i x, __m256i k, __m256i next)
{
	return _mm256_xor_si256(
		_mm256_xor_si256(_mm256_clmulepi64_epi128(x, k, 0x00), _mm256_clmulepi64_epi128(x, k, 0x11)), next);
}

/* len: at least FOLD_WIDE; first: as above. */
TARGET_WIDE static inline uint32_t
crc_fold_wide(const struct crc_fold *crc, uint32_t reg, __m128i first, const uint8_t *p, size_t len)
{
	__m256i k = constants_wide(&crc->by_128), b = load_wide(p + 32), c = load_wide(p + 64), d = load_wide(p + 96),
		a = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_xor_si128(first, _mm_cvtsi32_si128((int)reg))),
					    load(p + 16), 1);

	for (p += 128, len -= 128; len >= 128; p += 128, len -= 128) {
		a = fold_wide(a, k, load_wide(p));
		b = fold_wide(b, k, load_wide(p + 32));
		c = fold_wide(c, k, load_wide(p + 64));
		d = fold_wide(d, k, load_wide(p + 96));
	}
	k = constants_wide(&crc->by_32);
	a = fold_wide(fold_wide(fold_wide(a, k, b), k, c), k, d);
	for (; len >= 32; p += 32, len -= 32)
		a = fold_wide(a, k, load_wide(p));
	return crc_fold_rest(
		crc, fold(_mm256_castsi256_si128(a), constants(&crc->by_16), _mm256_extracti128_si256(a, 1)), p, len);
}

static inline bool
crc_can_fold(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

static inline bool
crc_can_fold_wide(void)
{
	return crc_can_fold() && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2");
}
#endif /* __x86_64__ */

#endif /* ROCE_WIRE_CRC_FOLD_H */
