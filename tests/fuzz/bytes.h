/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Takes an input apart; behind its end everything is 0. */
#ifndef FUZZ_BYTES_H
#define FUZZ_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *p;
	size_t left;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void
bytes_copy(struct bytes *b, void *to, size_t n)
{
	size_t k = n < b->left ? n : b->left;

	memcpy(to, b->p, k);
	memset((uint8_t *)to + k, 0, n - k);
	b->p += k;
	b->left -= k;
}

static inline uint8_t
bytes_u8(struct bytes *b)
{
	uint8_t v;

	bytes_copy(b, &v, sizeof(v));
	return v;
}

static inline uint16_t
bytes_u16(struct bytes *b)
{
	return (uint16_t)(bytes_u8(b) << 8 | bytes_u8(b));
}

static inline uint32_t
bytes_u32(struct bytes *b)
{
	return (uint32_t)bytes_u16(b) << 16 | bytes_u16(b);
}

#endif /* FUZZ_BYTES_H */
