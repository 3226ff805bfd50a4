/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Frames that are alike. What the parser found in the headers of one holds for all that have the same octets there: then it
 * need not look again. Both checksums are verified of each frame.
 */
#ifndef MODEL_FRAME_ALIKE_H
#define MODEL_FRAME_ALIKE_H

#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#include "frame.h"

#define TPM_ALIKE_OCTETS 16u /* that are compared, from the type on */
/* The shortest frame that has them. */
#define TPM_ALIKE_MIN (2 * TPM_ETH_ALEN + TPM_ALIKE_OCTETS)

/* What is left to look at in each frame. */
#define TPM_ALIKE_SUM_IP 1u
#define TPM_ALIKE_SUM_L4 2u
#define TPM_ALIKE_PARSE 4u   /* all: it is no TCP or UDP that lies where it mostly does */
#define TPM_ALIKE_RUN 8u     /* ... and so long that it is summed up by tpm_alike_copy() on its way */
#define TPM_ALIKE_PIECES 16u /* it is in several, headers in the first, and longer than TPM_ALIKE_SMALL */
#define TPM_ALIKE_SMALL 64u

struct tpm_alike {
	uint8_t want[TPM_ALIKE_OCTETS], mask[TPM_ALIKE_OCTETS];
	uint64_t shape;   /* tpm_frame_shape() */
	uint16_t at, two; /* two octets as they lie at this place: UDP's length, or the type once more */
	uint32_t len;
	/* The third double dword of a completion as it lies in memory, when the checksums are right; when UDP has none. */
	rte_be64_t summed, unsummed;
	/* The sum over TCP or UDP: from the addresses on in whole pieces of 128, 32 and 8 octets, then in a load that ends at its end. */
	uint64_t pseudo; /* what the pseudo header has besides the addresses */
	uint32_t end128, end32, end8, end;
	uint16_t from, csum_at; /* csum_at: UDP's checksum; else two octets that are not 0 */
	uint8_t shift;          /* octets of the last load that were summed up before, in bits */
	uint8_t check;          /* TPM_ALIKE_* */
	uint8_t rss;            /* MLX4_RSS_F_* that hashes addresses and ports, 0: none */
	bool v4;                /* of IPv4, and TPM_ALIKE_PARSE does not apply */
	uint32_t head;          /* octets that each has in its first piece, at least */
} __attribute__((aligned(64)));

/* Has a frame of the same shape, which begins at d, what the first one of its kind had? */
static inline bool
tpm_is_alike_within(const struct tpm_alike *a, const uint8_t *d)
{
	const uint8_t *o = d + 2 * TPM_ETH_ALEN;

#ifdef __SSE4_1__
	if (_mm_testz_si128(_mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)o),
					  *(const __m128i *)(const void *)a->want),
			    *(const __m128i *)(const void *)a->mask) == 0)
		return false;
#else
	if (((tpm_raw64(o) ^ tpm_raw64(a->want)) & tpm_raw64(a->mask)) != 0 ||
	    ((tpm_raw64(o + 8) ^ tpm_raw64(a->want + 8)) & tpm_raw64(a->mask + 8)) != 0)
		return false;
#endif
	return tpm_raw16(d + a->at) == a->two;
}

/* The same of any frame. */
static inline bool
tpm_is_alike(const struct tpm_alike *a, const struct tp_frame *f, const uint8_t *d)
{
	if (tpm_frame_shape(f) != a->shape)
		return false;
	return tpm_is_alike_within(a, d);
}

/* Of a frame without C-tag, of TPM_ALIKE_MIN octets at least, with a type, all headers in its first piece. */
void tpm_alike_make(struct tpm_alike *a, const struct tp_frame *f);

/* Is the sum of the IPv4 header right? It has no options. */
static inline bool
tpm_alike_ip_right(const uint8_t *d)
{
	const uint8_t *ip = d + TPM_ETH_HLEN;

	return tpm_csum_right(tpm_csum_add(tpm_csum_add(tpm_raw64(ip), tpm_raw64(ip + 8)), tpm_raw32(ip + 16)));
}

/* Is the checksum of TCP or UDP right? */
static inline bool
tpm_alike_l4_right(const struct tpm_alike *a, const uint8_t *d)
{
	uint64_t sum = a->pseudo;
	const uint8_t *p = d + a->from;

	for (const uint8_t *to = d + a->end128; p != to; p += 128)
		sum = tpm_csum_128(sum, p);
	for (const uint8_t *to = d + a->end32; p != to; p += 32)
		sum = tpm_csum_32(sum, p);
	for (const uint8_t *to = d + a->end8; p != to; p += 8)
		sum = tpm_csum_add(sum, tpm_raw64(p));
	return tpm_csum_right(
		tpm_csum_add(sum, rte_cpu_to_le_64(rte_le_to_cpu_64(tpm_raw64(d + a->end - 8)) >> a->shift)));
}

typedef bool (*tpm_alike_copy_fn)(const struct tpm_alike *a, uint8_t *dst, const uint8_t *src);
/* Ways to copy a frame and to sum it up that this CPU has, the best one first; NULL is behind the last. */
#define TPM_ALIKE_WAYS 3u
extern tpm_alike_copy_fn tpm_alike_ways[TPM_ALIKE_WAYS + 1];

/* Copies a frame of a kind with TPM_ALIKE_RUN, and says the same. */
static inline bool
tpm_alike_copy(const struct tpm_alike *a, uint8_t *dst, const uint8_t *src)
{
	return tpm_alike_ways[0](a, dst, src);
}

/* The same of its octets from off on, which is not behind where the sum begins; each is stored once, as by tre_place(). */
bool tpm_alike_place(const struct tpm_alike *a, uint8_t *dst, const uint8_t *src, uint32_t off);

#endif /* MODEL_FRAME_ALIKE_H */
