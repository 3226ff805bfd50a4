/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Configuration space, dword by dword: what is there, what may be written, what a write does [CP 1.2]. */
#include "harness.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* After a reset, in dwords; all others are 0 [CP 1.2]. */
static const struct {
	uint16_t at;
	uint32_t value, writable;
} space[] = {
	{0x000, 0x100715b3, 0},          {0x004, 0x00100000, 0x00000547}, {0x008, 0x02000000, 0},
	{0x00c, 0, 0x0000ffff},          {0x010, 0x00000004, 0xfff00000}, {0x014, 0, 0xffffffff},
	{0x018, 0x0000000c, 0xff800000}, {0x01c, 0, 0xffffffff},          {0x02c, 0x005015b3, 0},
	{0x030, 0, 0xfff00001},          {0x034, 0x00000040, 0},          {0x03c, 0x00000100, 0x000000ff},
	{0x040, 0x00034801, 0},          /* power management v3, then VPD */
	{0x044, 0x00000008, 0x00000003}, /* no soft reset */
	{0x048, 0x00009c03, 0xffff0000}, /* VPD, then MSI-X; its address is looked at elsewhere */
	{0x060, 0x0002c010, 0},          /* PCI Express v2, then vendor specific */
	{0x064, 0x10008002, 0},          {0x068, 0x00002810, 0x00007fff}, {0x06c, 0x00000083, 0},
	{0x070, 0x00830000, 0x000003ff}, {0x084, 0x0000001f, 0},          {0x088, 0, 0x0000001f},
	{0x090, 0x00000003, 0x0000ffff}, {0x09c, 0x007f6011, 0xc0000000}, /* MSI-X of 128 vectors, then PCI Express */
	{0x0a0, 0x0007c000, 0},          {0x0a4, 0x0007d000, 0},          {0x0c0, 0x00180009, 0},
	{0x100, 0x1481000e, 0},          {0x148, 0x15410003, 0},          {0x14c, 0x00a1b200, 0},
	{0x150, 0x0002c903, 0},          {0x154, 0x18c20001, 0},          {0x15c, 0, 0x003ff030},
	{0x160, 0x00062030, 0x003ff030}, {0x168, 0x00002000, 0x000031c1}, {0x16c, 0, 0x00000140},
	{0x18c, 0x00010019, 0},
};

static void
configuration_space(void **state)
{
	struct card *c = *state;

	for (uint32_t at = 0; at < 4096; at += 4) {
		uint8_t b[4], ones[4] = {0xff, 0xff, 0xff, 0xff}, zero[4] = {0};
		uint32_t want = 0, mask = 0, v;

		for (unsigned int i = 0; i < COUNT(space); i++)
			if (space[i].at == at) {
				want = space[i].value;
				mask = space[i].writable;
			}
		assert_int_equal(tp_model_cfg_read(c->m, at, b, 4), 0);
		v = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
		if (v != want)
			fail_msg("dword 0x%x is 0x%08x, wanted 0x%08x", at, v, want);
		if (at == 0x48)
			continue;
		/* Bit 15 of device control would reset the card. */
		if (at == 0x68)
			ones[1] = 0x7f;
		assert_int_equal(tp_model_cfg_write(c->m, at, ones, 4), 0);
		assert_int_equal(tp_model_cfg_read(c->m, at, b, 4), 0);
		v = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
		if (v != (want | mask))
			fail_msg("dword 0x%x becomes 0x%08x, wanted 0x%08x", at, v, want | mask);
		assert_int_equal(tp_model_cfg_write(c->m, at, zero, 4), 0);
		assert_int_equal(tp_model_cfg_read(c->m, at, b, 4), 0);
		v = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
		if (v != (want & ~mask))
			fail_msg("dword 0x%x becomes 0x%08x, wanted 0x%08x", at, v, want & ~mask);
	}
}

static void
accesses_of_configuration_space(void **state)
{
	struct card *c = *state;
	uint8_t b[8] = {0};

	/* Octets and pieces across dwords. */
	assert_int_equal(tp_model_cfg_read(c->m, 1, b, 4), 0);
	assert_memory_equal(b, "\x15\x07\x10\0", 4);
	assert_int_equal(tp_model_cfg_write(c->m, 0x3b, "\xff\xaa\xff", 3), 0);
	assert_int_equal(tp_model_cfg_read(c->m, 0x3a, b, 5), 0);
	assert_memory_equal(b, "\0\0\xaa\x01\0", 5);
	/* Up to the end and no further. */
	assert_int_equal(tp_model_cfg_read(c->m, 4095, b, 1), 0);
	assert_int_equal(tp_model_cfg_read(c->m, 4096, b, 0), 0);
	assert_int_equal(tp_model_cfg_read(c->m, 4095, b, 2), -22);
	assert_int_equal(tp_model_cfg_read(c->m, 4096, b, 1), -22);
	assert_int_equal(tp_model_cfg_read(c->m, 4097, b, 0), -22);
	assert_int_equal(tp_model_cfg_write(c->m, 4095, b, 1), 0);
	assert_int_equal(tp_model_cfg_write(c->m, 4095, b, 2), -22);
	assert_int_equal(tp_model_cfg_write(c->m, 4097, b, 0), -22);
	/* Bit 15 of device control resets the card, wherever the write begins; other octets with that bit do not. */
	for (unsigned int i = 0; i < 4; i++) {
		static const struct {
			uint32_t at, len;
			bool resets;
		} row[] = {{0x68, 2, true}, {0x69, 1, true}, {0x66, 4, true}, {0x68, 1, false}};

		assert_int_equal(tp_model_cfg_write(c->m, 0x3c, "\x2a", 1), 0);
		memset(b, 0xff, sizeof(b));
		assert_int_equal(tp_model_cfg_write(c->m, row[i].at, b, row[i].len), 0);
		assert_int_equal(tp_model_cfg_read(c->m, 0x3c, b, 1), 0);
		assert_int_equal(b[0], row[i].resets ? 0 : 0x2a);
	}
	assert_int_equal(tp_model_cfg_write(c->m, 0x69, "\x7f\xff", 2), 0);
	assert_int_equal(tp_model_cfg_read(c->m, 0x3c, b, 1), 0);
	assert_int_equal(b[0], 0x2a);
}

/* Vital product data by address; bit 15 of the address says that the data is there. */
static void
product_data(void **state)
{
	static const char want[] = "\x82\x18\0CX354A - ConnectX-3 QSFP"
				   "\x90\x26\0PN\x0cMCX354A-FCBTSN\x10"
				   "0002C90300A1B200RV\x01";
	struct card *c = *state;
	uint8_t got[128];

	for (uint32_t at = 0; at < 128; at += 4) {
		uint8_t addr[2] = {(uint8_t)at, 0};

		assert_int_equal(tp_model_cfg_write(c->m, 0x4a, addr, 2), 0);
		assert_int_equal(tp_model_cfg_read(c->m, 0x4a, addr, 2), 0);
		assert_int_equal(addr[1], 0x80);
		assert_int_equal(tp_model_cfg_read(c->m, 0x4c, got + at, 4), 0);
	}
	assert_memory_equal(got, want, sizeof(want) - 1);
	assert_int_equal(got[sizeof(want)], 0x78);
	for (unsigned int i = sizeof(want) + 1; i < 128; i++)
		assert_int_equal(got[i], 0);
	/* An address with bit 15 asks for a write, and there is none: the data stays. */
	assert_int_equal(tp_model_cfg_write(c->m, 0x4a, "\0\x80", 2), 0);
	assert_int_equal(tp_model_cfg_read(c->m, 0x4c, got, 1), 0);
	assert_int_equal(got[0], 0);
	/* A write beside the address asks for nothing. */
	assert_int_equal(tp_model_cfg_write(c->m, 0x48, "\0\0", 2), 0);
	assert_int_equal(tp_model_cfg_read(c->m, 0x4c, got, 1), 0);
	assert_int_equal(got[0], 0);
	assert_int_equal(tp_model_cfg_write(c->m, 0x48, "\0\0\0\0", 4), 0);
	assert_int_equal(tp_model_cfg_read(c->m, 0x4c, got, 1), 0);
	assert_int_equal(got[0], 0x82);
}

int
main(void)
{
#define ON(f) cmocka_unit_test_setup_teardown(f, setup_power_on, teardown_card)
	const struct CMUnitTest tests[] = {
		ON(configuration_space),
		ON(accesses_of_configuration_space),
		ON(product_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
