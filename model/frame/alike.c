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

#ifdef __x86_64__
/* Tuned for what has it: else each load and store is made of two. */
#define AVX2 __attribute__((target("avx2,tune=haswell")))
#define AVX2_INLINE static inline __attribute__((target("avx2,tune=haswell"), always_inline))

static bool has_avx2;

__attribute__((constructor)) static void
look_for_avx2(void)
{
	__builtin_cpu_init();
	has_avx2 = __builtin_cpu_supports("avx2") != 0;
}

/* Words of 16 bits are added less 2^15, as numbers with a sign, in lanes of 32 bits. */
AVX2_INLINE __m256i
add_words(__m256i sum, __m256i v)
{
	v = _mm256_xor_si256(v, _mm256_set1_epi16(INT16_MIN));
	sum = _mm256_add_epi32(sum, _mm256_madd_epi16(v, _mm256_set1_epi16(1)));
	/* Else compilers add in another order, with more moves. */
	__asm__("" : "+x"(sum));
	return sum;
}

AVX2_INLINE uint64_t
all_words(__m256i sum, uint32_t words)
{
	__m128i s = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));

	s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
	s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
	return (uint64_t)((int64_t)words * 0x8000 + _mm_cvtsi128_si32(s));
}

AVX2_INLINE __m256i
copy_32(uint8_t *dst, const uint8_t *src)
{
	__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)src);

	_mm256_storeu_si256((__m256i *)(void *)dst, v);
	return v;
}

/* What is behind the last whole vector is at most two of them, which end where the frame ends. */
AVX2 static bool
copy_avx2(const struct tpm_alike *a, uint8_t *dst, const uint8_t *src)
{
	const uint32_t len = a->len, vectors = (a->end32 - a->from) / 32;
	__m256i s0 = _mm256_setzero_si256(), s1 = s0;
	uint32_t at = a->from;
	uint64_t sum;

	copy_32(dst, src);
	for (unsigned int i = vectors / 4; i != 0; i--, at += 128) {
		s0 = add_words(s0, copy_32(dst + at, src + at));
		s1 = add_words(s1, copy_32(dst + at + 32, src + at + 32));
		s0 = add_words(s0, copy_32(dst + at + 64, src + at + 64));
		s1 = add_words(s1, copy_32(dst + at + 96, src + at + 96));
	}
	for (; at != a->end32; at += 32)
		s0 = add_words(s0, copy_32(dst + at, src + at));
	sum = a->pseudo + all_words(_mm256_add_epi32(s0, s1), 16 * vectors);
	for (; at != a->end8; at += 8)
		sum = tpm_csum_add(sum, tpm_raw64(src + at));
	sum = tpm_csum_add(sum, tpm_raw64(src + a->end - 8) >> a->shift);
	copy_32(dst + len - 64, src + len - 64);
	copy_32(dst + len - 32, src + len - 32);
	return tpm_csum_right(sum);
}

/* One store, as those of tre_place(). */
AVX2_INLINE __m256i
place_32(uint8_t *dst, const uint8_t *src)
{
	__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)src);

	*(volatile __m256i_u *)(void *)dst = v;
	return v;
}

AVX2 static bool
place_avx2(const struct tpm_alike *a, uint8_t *dst, const uint8_t *src, uint32_t off)
{
	const uint32_t vectors = (a->end32 - a->from) / 32;
	__m256i s0 = _mm256_setzero_si256(), s1 = s0;
	uint32_t at = a->from;
	uint64_t sum;

	tre_place(dst + off, src + off, at - off);
	for (unsigned int i = vectors / 4; i != 0; i--, at += 128) {
		s0 = add_words(s0, place_32(dst + at, src + at));
		s1 = add_words(s1, place_32(dst + at + 32, src + at + 32));
		s0 = add_words(s0, place_32(dst + at + 64, src + at + 64));
		s1 = add_words(s1, place_32(dst + at + 96, src + at + 96));
	}
	for (; at != a->end32; at += 32)
		s0 = add_words(s0, place_32(dst + at, src + at));
	tre_place(dst + at, src + at, a->len - at);
	sum = a->pseudo + all_words(_mm256_add_epi32(s0, s1), 16 * vectors);
	for (; at != a->end8; at += 8)
		sum = tpm_csum_add(sum, tpm_raw64(src + at));
	return tpm_csum_right(tpm_csum_add(sum, tpm_raw64(src + a->end - 8) >> a->shift));
}
#endif /* __x86_64__ */

bool
tpm_alike_copy(const struct tpm_alike *a, uint8_t *dst, const uint8_t *src)
{
#ifdef __x86_64__
	if (tpm_likely(has_avx2))
		return copy_avx2(a, dst, src);
#endif
	memcpy(dst, src, a->len);
	return tpm_alike_l4_right(a, src);
}

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
