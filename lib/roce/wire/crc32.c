/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <zlib.h>

#include "crc32.h"
#include "crc_fold.h"

uint32_t
troce_crc32_scalar(uint32_t reg, const void *p, size_t len)
{
	/* zlib complements on the way in and out. */
	return ~(uint32_t)crc32_z(~reg, p, len);
}

#ifdef __x86_64__
/* P: 0xEDB88320 */
static const struct crc_fold crc32_by = {
	{0x154442bd4, 0x1c6e41596},
	{0x1751997d0, 0x0ccaa009e},
	{0x163cd6124, 0},
	{0x1db710641, 0x1f7011641},
};
static bool can_fold;

__attribute__((constructor)) static void
crc32_choose(void)
{
	can_fold = crc_can_fold();
}

TARGET static uint32_t
crc32_fold(uint32_t reg, const uint8_t *p, size_t len)
{
	return crc_fold(&crc32_by, reg, p, len);
}

uint32_t
troce_crc32(uint32_t reg, const void *p, size_t len)
{
	const uint8_t *b = p;

	return can_fold && len >= FOLD_MIN ? crc32_fold(reg, b, len) : troce_crc32_scalar(reg, b, len);
}
#else
uint32_t
troce_crc32(uint32_t reg, const void *p, size_t len)
{
	return troce_crc32_scalar(reg, p, len);
}
#endif
