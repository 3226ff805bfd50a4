/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* SipHash-2-4 of 16 octets (Aumasson, Bernstein 2012): the keyed function of RFC 6528. */
#include "siphash.h"

static inline uint64_t
rotl(uint64_t x, unsigned int n)
{
	return x << n | x >> (64 - n);
}

static inline void
rounds(uint64_t v[4], int n)
{
	while (n-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotl(v[1], 13) ^ v[0];
		v[3] = rotl(v[3], 16) ^ v[2];
		v[0] = rotl(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotl(v[1], 17) ^ v[2];
		v[3] = rotl(v[3], 21) ^ v[0];
		v[2] = rotl(v[2], 32);
	}
}

/* a and b: the 16 octets as little-endian numbers. */
uint64_t
tcp_siphash(const uint64_t key[2], uint64_t a, uint64_t b)
{
	uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
			 key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
	const uint64_t word[3] = {a, b, UINT64_C(16) << 56};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		v[3] ^= word[i];
		rounds(v, 2);
		v[0] ^= word[i];
	}
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
