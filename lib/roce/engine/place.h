/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Where a home puts what came for a program's memory. */
#ifndef ROCE_ENGINE_PLACE_H
#define ROCE_ENGINE_PLACE_H

#include <stdint.h>

#define TRE_PLACE(n)                                                                                                   \
	do {                                                                                                           \
		__builtin_memcpy(d, s, n);                                                                             \
		__asm__ volatile("" ::: "memory"); /* no call of memcpy() is made of several */                        \
		d += n;                                                                                                \
		s += n;                                                                                                \
	} while (0)

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

	for (; len >= 64; len -= 64)
		TRE_PLACE(64);
	if ((len & 32) != 0)
		TRE_PLACE(32);
	if ((len & 16) != 0)
		TRE_PLACE(16);
	if ((len & 8) != 0)
		TRE_PLACE(8);
	if ((len & 4) != 0)
		TRE_PLACE(4);
	if ((len & 2) != 0)
		TRE_PLACE(2);
	if ((len & 1) != 0)
		*d = *s;
}

#endif /* ROCE_ENGINE_PLACE_H */
