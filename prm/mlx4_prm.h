/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * How the card lays out what it shares with software. Everything is big-endian. A field is one constant that
 * carries its dword offset and bit range, so that driver, model and tests name a field and never a mask.
 *
 * Section marks: [CP n.n] control-plane reference, [DP n.n] data-path reference; a [U] after a mark says that the
 * source itself is uncertain (docs/fidelity.md lists how driver and model treat each of those).
 */
#ifndef MLX4_PRM_H
#define MLX4_PRM_H

#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

/* Bits [hi:lo] of the 32-bit big-endian dword at off (a multiple of 4). */
#define PRM_D(off, hi, lo) ((uint32_t)(((off) << 10) | ((hi) << 5) | (lo)))
/* Bits [hi:lo] of the byte at off. */
#define PRM_B(off, hi, lo) PRM_D((off) & ~3u, (hi) + 24 - 8 * ((off)&3), (lo) + 24 - 8 * ((off)&3))
/* Bits [hi:lo] of the 16-bit big-endian word at off (a multiple of 2). */
#define PRM_H(off, hi, lo) PRM_D((off) & ~3u, (hi) + 16 - 8 * ((off)&2), (lo) + 16 - 8 * ((off)&2))

#define PRM_OFF(f) ((f) >> 10)
#define PRM_HI(f) (((f) >> 5) & 31)
#define PRM_LO(f) ((f)&31)
#define PRM_WIDTH(f) (PRM_HI(f) - PRM_LO(f) + 1)
/* The field's mask, right-aligned. */
#define PRM_MAX(f) ((uint32_t)((UINT64_C(1) << PRM_WIDTH(f)) - 1))

static inline uint32_t
prm_get32(const void *base, uint32_t off)
{
	rte_be32_t v;

	memcpy(&v, (const uint8_t *)base + off, sizeof(v));
	return rte_be_to_cpu_32(v);
}

static inline void
prm_set32(void *base, uint32_t off, uint32_t val)
{
	rte_be32_t v = rte_cpu_to_be_32(val);

	memcpy((uint8_t *)base + off, &v, sizeof(v));
}

static inline uint64_t
prm_get64(const void *base, uint32_t off)
{
	rte_be64_t v;

	memcpy(&v, (const uint8_t *)base + off, sizeof(v));
	return rte_be_to_cpu_64(v);
}

static inline void
prm_set64(void *base, uint32_t off, uint64_t val)
{
	rte_be64_t v = rte_cpu_to_be_64(val);

	memcpy((uint8_t *)base + off, &v, sizeof(v));
}

static inline uint32_t
prm_get(const void *base, uint32_t field)
{
	return (prm_get32(base, PRM_OFF(field)) >> PRM_LO(field)) & PRM_MAX(field);
}

/* Bits of val beyond the field are dropped: callers validate ranges before they build a structure. */
static inline void
prm_set(void *base, uint32_t field, uint32_t val)
{
	uint32_t mask = PRM_MAX(field) << PRM_LO(field);
	uint32_t old = prm_get32(base, PRM_OFF(field));

	prm_set32(base, PRM_OFF(field), (old & ~mask) | ((val << PRM_LO(field)) & mask));
}

#endif /* MLX4_PRM_H */
