/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <string.h>

#include <zlib.h>

#include "crc32.h"
#include "crc_fold.h"

uint32_t
troce_crc32_scalar(uint32_t reg, const void *p, size_t len)
{
	/* zlib complements on the way in and out. */
	return ~(uint32_t)crc32_z(~reg, p, len);
}

/* Octets that count as ones in bits that the mask has. */
static uint32_t
masked_scalar(uint32_t reg, const uint8_t mask[TROCE_CRC_MASK], const void *p, size_t len)
{
	uint8_t first[TROCE_CRC_MASK];

	memcpy(first, p, sizeof(first));
	for (unsigned int i = 0; i < sizeof(first); i++)
		first[i] |= mask[i];
	reg = troce_crc32_scalar(reg, first, sizeof(first));
	return troce_crc32_scalar(reg, (const uint8_t *)p + sizeof(first), len - sizeof(first));
}

#ifdef __x86_64__
/* P: 0xEDB88320 */
const struct crc_fold troce_crc32_by = {
	{0x1e88ef372, 0x14a7fe880}, {0x154442bd4, 0x1c6e41596}, {0x0f1da05aa, 0x15a546366},
	{0x1751997d0, 0x0ccaa009e}, {0x163cd6124, 0},           {0x1db710641, 0x1f7011641},
};
static bool can_fold, can_fold_wide;

__attribute__((constructor)) static void
crc32_choose(void)
{
	can_fold = crc_can_fold();
	can_fold_wide = crc_can_fold_wide();
}

TARGET static uint32_t
crc32_fold(uint32_t reg, const uint8_t *p, size_t len)
{
	return crc_fold(&troce_crc32_by, reg, load(p), p, len);
}

TARGET_WIDE static uint32_t
crc32_fold_wide(uint32_t reg, const uint8_t *p, size_t len)
{
	return crc_fold_wide(&troce_crc32_by, reg, load(p), p, len);
}

TARGET static uint32_t
crc32_fold_masked(uint32_t reg, const uint8_t *mask, const uint8_t *p, size_t len)
{
	return crc_fold(&troce_crc32_by, reg, _mm_or_si128(load(p), load(mask)), p, len);
}

TARGET_WIDE static uint32_t
crc32_fold_wide_masked(uint32_t reg, const uint8_t *mask, const uint8_t *p, size_t len)
{
	return crc_fold_wide(&troce_crc32_by, reg, _mm_or_si128(load(p), load(mask)), p, len);
}

uint32_t
troce_crc32_masked(uint32_t reg, const uint8_t mask[TROCE_CRC_MASK], const void *p, size_t len)
{
	if (!can_fold)
		return masked_scalar(reg, mask, p, len);
	return can_fold_wide && len >= FOLD_WIDE ? crc32_fold_wide_masked(reg, mask, p, len)
						 : crc32_fold_masked(reg, mask, p, len);
}

uint32_t
troce_crc32_narrow(uint32_t reg, const void *p, size_t len)
{
	return can_fold && len >= FOLD_MIN ? crc32_fold(reg, p, len) : troce_crc32_scalar(reg, p, len);
}

uint32_t
troce_crc32(uint32_t reg, const void *p, size_t len)
{
	if (!can_fold || len < FOLD_MIN)
		return troce_crc32_scalar(reg, p, len);
	return can_fold_wide && len >= FOLD_WIDE ? crc32_fold_wide(reg, p, len) : crc32_fold(reg, p, len);
}
#else
uint32_t
troce_crc32_masked(uint32_t reg, const uint8_t mask[TROCE_CRC_MASK], const void *p, size_t len)
{
	return masked_scalar(reg, mask, p, len);
}

uint32_t
troce_crc32_narrow(uint32_t reg, const void *p, size_t len)
{
	return troce_crc32_scalar(reg, p, len);
}

uint32_t
troce_crc32(uint32_t reg, const void *p, size_t len)
{
	return troce_crc32_scalar(reg, p, len);
}
#endif
