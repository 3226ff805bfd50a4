/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Where a home puts what came for a program's memory. */
#ifndef ROCE_ENGINE_PLACE_H
#define ROCE_ENGINE_PLACE_H

#include <stddef.h>
#include <stdint.h>

/* Words at any address, of memory of any type. */
typedef uint64_t tre_word16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t tre_word8 __attribute__((aligned(1), may_alias));
typedef uint32_t tre_word4 __attribute__((aligned(1), may_alias));
typedef uint16_t tre_word2 __attribute__((aligned(1), may_alias));

/* One store, which no compiler repeats, nor makes a call of memcpy() with others. */
#define TRE_PLACE(type, at) (*(volatile type *)(void *)(d + (at)) = *(const type *)(const void *)(s + (at)))

/*
 * Each octet is stored once, in rising order, as a card does. Programs look at their memory and change it as soon as something is
 * there, before any completion. memcpy() stores octets twice where words overlap at the end, and undoes what they wrote in
 * between.
 */
static inline void
tre_place(void *to, const void *from, uint32_t len)
{
	const uint8_t *s = from;
	uint8_t *d = to;
	size_t at = 0;

	for (; len - at >= 64; at += 64) {
		TRE_PLACE(tre_word16, at);
		TRE_PLACE(tre_word16, at + 16);
		TRE_PLACE(tre_word16, at + 32);
		TRE_PLACE(tre_word16, at + 48);
	}
	if ((len & 32) != 0) {
		TRE_PLACE(tre_word16, at);
		TRE_PLACE(tre_word16, at + 16);
		at += 32;
	}
	if ((len & 16) != 0) {
		TRE_PLACE(tre_word16, at);
		at += 16;
	}
	if ((len & 8) != 0) {
		TRE_PLACE(tre_word8, at);
		at += 8;
	}
	if ((len & 4) != 0) {
		TRE_PLACE(tre_word4, at);
		at += 4;
	}
	if ((len & 2) != 0) {
		TRE_PLACE(tre_word2, at);
		at += 2;
	}
	if ((len & 1) != 0)
		TRE_PLACE(uint8_t, at);
}

#endif /* ROCE_ENGINE_PLACE_H */
