/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The invariant CRC against captured and published packets, the fast CRC against the plain one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/roce/wire/crc16.h"
#include "lib/roce/wire/ib_crc.h"
#include "lib/roce/wire/icrc.h"

static size_t
unhex(const char *text, uint8_t *out)
{
	size_t n = 0;

	for (const char *p = text; *p != '\0';) {
		char two[3] = {p[0], p[1], '\0'};

		if (*p == ' ') {
			p++;
			continue;
		}
		out[n++] = (uint8_t)strtoul(two, NULL, 16);
		p += 2;
	}
	return n;
}

static const struct {
	const char *name;
	enum troce_icrc_net kind;
	uint32_t net_len;
	const char *packet; /* network header up to the end of payload */
	const char *icrc;   /* as on the wire */
} vectors[] = {
	/* A CNP of a ConnectX-4 Lx, published with scapy's tests. */
	{"CNP captured", TROCE_ICRC_IPV4_UDP, 28,
	 "45c2003c718c4000401191610a0011010a001201 000012b700280000 8100ffff4000011800000000"
	 "00000000000000000000000000000000",
	 "82fd002a"},
	/* A captured UC SEND with two bytes of padding. */
	{"UC SEND captured", TROCE_ICRC_IPV4_UDP, 28,
	 "450100400478400040 11b4d5c0a80007c0a80007 c00012b7002caca2 2460ffff000000d300cf1710"
	 "4630818be28935d90e9a95505401be885e500000",
	 "78f353f3"},
	{"RC WRITE, IPv4", TROCE_ICRC_IPV4_UDP, 28,
	 "456a0044000040004011b63bc0000201c0000202 c12312b70030ebdb 0a40ffff0000012380000abc"
	 "00007f001234567800001a2b00000008 49425441726f6365",
	 "aa360645"},
	{"RC SEND, IPv6", TROCE_ICRC_IPV6_UDP, 48,
	 "66a1234500201140 20010db8000000000000000000000001 20010db8000000000000000000000002 c12312b700202bce"
	 "0440ffff0000012380000abc 49425441726f6365",
	 "03bc9d5c"},
	{"RC SEND, RoCE v1", TROCE_ICRC_GRH, 40,
	 "66a1234500181b40 fe800000000000000202c9fffe000001 fe800000000000000202c9fffe000002"
	 "0440ffff0000012380000abc 49425441726f6365",
	 "bf33168f"},
};

static void
published(void **state)
{
	uint8_t p[256], want[4], got[4];

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		size_t len = unhex(vectors[i].packet, p), bth = vectors[i].net_len;
		uint32_t reg = troce_icrc_start(vectors[i].kind, p, p + bth);

		assert_int_equal(unhex(vectors[i].icrc, want), 4);
		troce_icrc_put(troce_crc32(reg, p + bth + 12, len - bth - 12), got);
		if (memcmp(got, want, 4) != 0)
			fail_msg("%s: %02x%02x%02x%02x", vectors[i].name, got[0], got[1], got[2], got[3]);
	}
}

/* What routers and switches change does not matter; everything else does. */
static void
masks(void **state)
{
	uint8_t p[256], q[256];

	for (size_t v = 0; v < sizeof(vectors) / sizeof(vectors[0]); v++) {
		size_t len = unhex(vectors[v].packet, p), bth = vectors[v].net_len;
		bool v4 = vectors[v].kind == TROCE_ICRC_IPV4_UDP, udp = vectors[v].kind != TROCE_ICRC_GRH;
		uint32_t reg = troce_icrc_start(vectors[v].kind, p, p + bth);

		for (size_t i = 0; i < bth + 12; i++) {
			bool may = i == bth + 4;

			may |= v4 ? (i == 1 || i == 8 || i == 10 || i == 11) : (i >= 1 && i <= 3) || i == 7;
			may |= udp && (i == bth - 1 || i == bth - 2);
			memcpy(q, p, len);
			q[i] ^= 0x01;
			/* Half of the first IPv6 byte is the traffic class. */
			may |= !v4 && i == 0;
			if ((troce_icrc_start(vectors[v].kind, q, q + bth) == reg) != may)
				fail_msg("%s: byte %zu", vectors[v].name, i);
		}
	}
}

/* Of packets that differ by IPv4's number alone. */
static void
numbers(void **state)
{
	uint8_t p[256];

	for (size_t v = 0; v < sizeof(vectors) / sizeof(vectors[0]); v++) {
		uint32_t without;

		if (vectors[v].kind != TROCE_ICRC_IPV4_UDP)
			continue;
		unhex(vectors[v].packet, p);
		p[4] = p[5] = 0;
		without = troce_icrc_net(vectors[v].kind, p);
		for (uint32_t n = 0; n < 0x10000; n++) {
			p[4] = (uint8_t)(n >> 8);
			p[5] = (uint8_t)n;
			assert_int_equal(troce_icrc_net(vectors[v].kind, p), without ^ troce_icrc_id((uint16_t)n));
		}
	}
}

static void
fast_is_plain(void **state)
{
	static uint8_t buf[9000];

	srand(1);
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)rand();
	for (uint32_t n = 0; n < 6000; n++) {
		uint32_t off = (uint32_t)rand() % 65, len = n < 600 ? n : (uint32_t)rand() % 8900,
			 reg = (uint32_t)rand();

		assert_int_equal(troce_crc32(reg, buf + off, len), troce_crc32_scalar(reg, buf + off, len));
		assert_int_equal(troce_crc32_narrow(reg, buf + off, len), troce_crc32_scalar(reg, buf + off, len));
		assert_int_equal(troce_crc16((uint16_t)reg, buf + off, len),
				 troce_crc16_scalar((uint16_t)reg, buf + off, len));
		assert_int_equal(troce_crc16_narrow((uint16_t)reg, buf + off, len),
				 troce_crc16_scalar((uint16_t)reg, buf + off, len));
	}
	for (uint32_t n = 0; n < 3000; n++) {
		uint32_t off = (uint32_t)rand() % 65, len = 16 + n % 600, reg = (uint32_t)rand();
		uint8_t copy[616], mask[16];

		memcpy(copy, buf + off, len);
		for (unsigned int i = 0; i < sizeof(mask); i++) {
			mask[i] = (uint8_t)rand();
			copy[i] |= mask[i];
		}
		assert_int_equal(troce_crc32_masked(reg, mask, buf + off, len), troce_crc32_scalar(reg, copy, len));
	}
	for (uint32_t n = 0; n < 3000; n++) {
		uint32_t off = (uint32_t)rand() % 65, len = 16 + n % 241, i = 0xffffffff;
		uint8_t p[262], m[256];
		struct troce_ib_crcs c;
		uint16_t v = 0xffff;

		memcpy(p, buf + off, sizeof(p));
		memcpy(m, p, len);
		m[0] |= 0xf0;
		m[12] = 0xff;
		i = ~troce_crc32_scalar(i, m, len);
		c = troce_ib_crcs(p, len, false);
		assert_int_equal(c.icrc, i);
		assert_int_equal(c.vcrc, (uint16_t)~troce_crc16_scalar(v, p, len + 4));
		for (unsigned int k = 0; k < 4; k++)
			p[len + k] = (uint8_t)(i >> 8 * k);
		c = troce_ib_crcs(buf + off, len, true);
		assert_int_equal(c.icrc, i);
		assert_int_equal(c.vcrc, (uint16_t)~troce_crc16_scalar(v, p, len + 4));
	}
	/* The check value of the polynomial. */
	assert_int_equal(~troce_crc32(TROCE_CRC32_INIT, "123456789", 9), 0xcbf43926);
}

/* Bit by bit, as the standard has it; the same packet by whole ways and in two pieces. */
static void
link_crc(void **state)
{
	uint8_t p[64];
	size_t len = unhex("7012375c000e17d2 0a2024870087b1b3000dec2a 01710a1c015d400238f27a050000000e"
			   "bb884d85fd5cfba4728bc0690ed40000 9625b75a",
			   p);
	uint16_t r = TROCE_CRC16_INIT;

	for (size_t i = 0; i < len; i++) {
		r ^= p[i];
		for (unsigned int bit = 0; bit < 8; bit++)
			r = (uint16_t)((r & 1) != 0 ? r >> 1 ^ 0xd008 : r >> 1);
	}
	assert_int_equal((uint16_t)~r, 0xfa45);
	for (size_t at = 0; at <= len; at++)
		assert_int_equal(troce_crc16(troce_crc16(TROCE_CRC16_INIT, p, at), p + at, len - at), r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published),     cmocka_unit_test(masks),    cmocka_unit_test(numbers),
		cmocka_unit_test(fast_is_plain), cmocka_unit_test(link_crc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
