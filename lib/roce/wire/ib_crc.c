/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <rte_byteorder.h>

#include "crc16.h"
#include "crc32.h"
#include "crc_fold.h"
#include "ib_crc.h"

#define BTH_AT 8u

/* What changes on the way counts as ones: the virtual lane, and the octet that the BTH has for congestion. */
static const uint8_t may_change[TROCE_CRC_MASK] = {[0] = 0xf0, [BTH_AT + 4] = 0xff};

/* Registers behind the octets. */
static inline void
one_by_one(const uint8_t *p, size_t len, uint32_t *i, uint16_t *v)
{
	*i = troce_crc32_masked(TROCE_CRC32_INIT, may_change, p, len);
	*v = troce_crc16(TROCE_CRC16_INIT, p, len);
}

#ifdef __x86_64__
static bool can_fold;

__attribute__((constructor)) static void
ib_crc_choose(void)
{
	can_fold = crc_can_fold();
}

TARGET static inline void
both(const uint8_t *p, size_t len, uint32_t *i, uint16_t *v)
{
	const __m128i ki = constants(&troce_crc32_by.by_16), kv = constants(&troce_crc16_by.by_16);
	__m128i next = load(p), a = _mm_or_si128(next, load(may_change)), b;

	a = _mm_xor_si128(a, _mm_cvtsi32_si128((int)TROCE_CRC32_INIT));
	b = _mm_xor_si128(next, _mm_cvtsi32_si128((int)TROCE_CRC16_INIT));
	for (p += 16, len -= 16; len >= 16; p += 16, len -= 16) {
		next = load(p);
		a = fold(a, ki, next);
		b = fold(b, kv, next);
	}
	if (len != 0) {
		a = fold_tail(a, ki, p, len);
		b = fold_tail(b, kv, p, len);
	}
	*i = crc_reduce(&troce_crc32_by, a);
	*v = (uint16_t)crc_reduce(&troce_crc16_by, b);
}
#else
static const bool can_fold = false;
#define TARGET
#define both one_by_one
#endif

TARGET struct troce_ib_crcs
troce_ib_crcs(const uint8_t *p, size_t len, bool sent)
{
	rte_le32_t there;
	uint32_t i;
	uint16_t v;

	if (can_fold)
		both(p, len, &i, &v);
	else
		one_by_one(p, len, &i, &v);
	i = ~i;
	there = rte_cpu_to_le_32(i);
	if (!sent)
		memcpy(&there, p + len, sizeof(there));
	return (struct troce_ib_crcs){.icrc = i, .vcrc = (uint16_t)~troce_crc16_4(v, rte_le_to_cpu_32(there))};
}
