/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "crc16.h"
#include "crc_fold.h"

#define POLY 0xd008u /* 0x100b with its bits turned round */
#define SLICES 8u

/* Remainders of a byte that is followed by 0 to 7 bytes of zero. */
static uint16_t table[SLICES][256];

static void
table_init(void)
{
	for (unsigned int i = 0; i < 256; i++) {
		uint16_t r = (uint16_t)i;

		for (unsigned int bit = 0; bit < 8; bit++)
			r = (uint16_t)(r >> 1 ^ ((r & 1) != 0 ? POLY : 0));
		table[0][i] = r;
	}
	for (unsigned int s = 1; s < SLICES; s++)
		for (unsigned int i = 0; i < 256; i++)
			table[s][i] = (uint16_t)(table[s - 1][i] >> 8 ^ table[0][table[s - 1][i] & 0xff]);
}

uint16_t
troce_crc16_scalar(uint16_t r, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (; len >= SLICES; p += SLICES, len -= SLICES)
		r = table[7][(r ^ p[0]) & 0xff] ^ table[6][(r >> 8 ^ p[1]) & 0xff] ^ table[5][p[2]] ^ table[4][p[3]] ^
		    table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
	for (; len != 0; p++, len--)
		r = (uint16_t)(r >> 8 ^ table[0][(r ^ *p) & 0xff]);
	return r;
}

uint16_t
troce_crc16_4(uint16_t r, uint32_t v)
{
	v ^= r;
	return table[3][v & 0xff] ^ table[2][v >> 8 & 0xff] ^ table[1][v >> 16 & 0xff] ^ table[0][v >> 24];
}

#ifdef __x86_64__
const struct crc_fold troce_crc16_by = {
	{0x1d730, 0x16c36}, {0x09c2, 0x64b0}, {0xa008, 0x1b7dc},
	{0x1f9ea, 0x1e9de}, {0x15864, 0},     {0x1a011, 0x1b4b0b111},
};
static bool can_fold, can_fold_wide;

TARGET static uint16_t
crc16_fold(uint16_t reg, const uint8_t *p, size_t len)
{
	return (uint16_t)crc_fold(&troce_crc16_by, reg, load(p), p, len);
}

TARGET_WIDE static uint16_t
crc16_fold_wide(uint16_t reg, const uint8_t *p, size_t len)
{
	return (uint16_t)crc_fold_wide(&troce_crc16_by, reg, load(p), p, len);
}

uint16_t
troce_crc16_narrow(uint16_t reg, const void *p, size_t len)
{
	return can_fold && len >= FOLD_MIN ? crc16_fold(reg, p, len) : troce_crc16_scalar(reg, p, len);
}

uint16_t
troce_crc16(uint16_t reg, const void *p, size_t len)
{
	if (!can_fold || len < FOLD_MIN)
		return troce_crc16_scalar(reg, p, len);
	return can_fold_wide && len >= FOLD_WIDE ? crc16_fold_wide(reg, p, len) : crc16_fold(reg, p, len);
}
#else
uint16_t
troce_crc16_narrow(uint16_t reg, const void *p, size_t len)
{
	return troce_crc16_scalar(reg, p, len);
}

uint16_t
troce_crc16(uint16_t reg, const void *p, size_t len)
{
	return troce_crc16_scalar(reg, p, len);
}
#endif

__attribute__((constructor)) static void
crc16_choose(void)
{
	table_init();
#ifdef __x86_64__
	can_fold = crc_can_fold();
	can_fold_wide = crc_can_fold_wide();
#endif
}
