/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Reports as scapy builds them; queries by the layouts of RFC 2236 and 2710. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "ipoib_packets.h"
#include "lib/ipoib/wire/snoop.h"

struct heard {
	unsigned int n;
	struct {
		char text[INET6_ADDRSTRLEN];
		bool join;
	} call[8];
};

static void
hear(void *arg, bool v6, const uint8_t group[16], bool join)
{
	struct heard *h = arg;

	assert_true(h->n < RTE_DIM(h->call));
	assert_non_null(
		inet_ntop(v6 ? AF_INET6 : AF_INET, v6 ? group : group + 12, h->call[h->n].text, INET6_ADDRSTRLEN));
	h->call[h->n++].join = join;
}

static void
says(uint16_t etype, const uint8_t *p, uint32_t len, const char *groups[], const bool joins[], unsigned int n)
{
	struct heard h = {0};
	uint8_t *copy = malloc(len);

	assert_non_null(copy);
	memcpy(copy, p, len);
	assert_int_equal(ipoib_snoop(etype, copy, len, true, hear, &h), n);
	free(copy);
	assert_int_equal(h.n, n);
	for (unsigned int i = 0; i < n; i++) {
		assert_string_equal(h.call[i].text, groups[i]);
		assert_int_equal(h.call[i].join, joins[i]);
	}
}

static void
igmp(void **state)
{
	(void)state;
	says(0x0800, igmp2_report, sizeof(igmp2_report), (const char *[]){"239.1.2.3"}, (bool[]){true}, 1);
	says(0x0800, igmp2_leave, sizeof(igmp2_leave), (const char *[]){"239.1.2.3"}, (bool[]){false}, 1);
	says(0x0800, igmp3_report, sizeof(igmp3_report), (const char *[]){"239.1.2.3", "239.1.2.4", "232.9.9.9"},
	     (bool[]){true, false, true}, 3);
}

static void
mld(void **state)
{
	(void)state;
	says(0x86dd, mld1_report, sizeof(mld1_report), (const char *[]){"ff02::99"}, (bool[]){true}, 1);
	says(0x86dd, mld1_done, sizeof(mld1_done), (const char *[]){"ff02::99"}, (bool[]){false}, 1);
	says(0x86dd, mld2_report, sizeof(mld2_report), (const char *[]){"ff02::1:ff00:2", "ff05::7", "ff3e::8"},
	     (bool[]){true, false, true}, 3);
}

static int
bent(uint16_t etype, const uint8_t *p, uint32_t len, unsigned int at, uint8_t to, bool check)
{
	uint8_t *copy = malloc(len);
	struct heard h = {0};
	int ret;

	assert_non_null(copy);
	memcpy(copy, p, len);
	copy[at] = to;
	ret = ipoib_snoop(etype, copy, len, check, hear, &h);
	free(copy);
	return ret;
}

static void
wrong_ones(void **state)
{
	(void)state;
	/* Checksums; more records, and more sources, than there are. */
	assert_int_equal(bent(0x0800, igmp2_report, sizeof(igmp2_report), 30, 9, true), -1);
	assert_int_equal(bent(0x86dd, mld1_report, sizeof(mld1_report), 60, 9, true), -1);
	assert_int_equal(bent(0x0800, igmp3_report, sizeof(igmp3_report), 24 + 7, 200, false), -1);
	assert_int_equal(bent(0x0800, igmp3_report, sizeof(igmp3_report), 24 + 8 + 2, 255, false), -1);
	assert_int_equal(bent(0x86dd, mld2_report, sizeof(mld2_report), 48 + 7, 200, false), -1);
	assert_int_equal(bent(0x86dd, mld2_report, sizeof(mld2_report), 48 + 8 + 1, 255, false), -1);
	/* An address that is no group is not told. */
	assert_int_equal(bent(0x0800, igmp2_report, sizeof(igmp2_report), 28, 10, false), 0);
}

/* Lengths that a packet says of itself: not more than there is, and eight octets of IGMP at least. */
static void
lengths(void **state)
{
	static const struct {
		unsigned int total, len;
		int ret;
	} row[] = {{32, 32, 1}, {33, 32, -1}, {31, 32, -1}, {24, 32, -1}, {32, 40, 1}};
	uint8_t p[40] = {0};
	struct heard h;

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		memset(&h, 0, sizeof(h));
		memcpy(p, igmp2_report, sizeof(igmp2_report));
		p[3] = (uint8_t)row[i].total;
		assert_int_equal(ipoib_snoop(0x0800, p, row[i].len, false, hear, &h), row[i].ret);
		assert_int_equal(h.n, row[i].ret > 0);
	}
	/* What stands behind a packet of IPv6 is not of it: its checksum is over what it says that it has. */
	{
		uint8_t longer[sizeof(mld1_report) + 9] = {0};

		memset(longer, 0xff, sizeof(longer));
		memcpy(longer, mld1_report, sizeof(mld1_report));
		memset(&h, 0, sizeof(h));
		assert_int_equal(ipoib_snoop(0x86dd, longer, sizeof(longer), true, hear, &h), 1);
		assert_string_equal(h.call[0].text, "ff02::99");
	}
}

static void
queries(void **state)
{
	uint8_t l3[IPOIB_QUERY_MAX];
	unsigned int n = ipoib_query_v4(l3);
	struct heard h = {0};
	char text[INET6_ADDRSTRLEN];

	(void)state;
	assert_int_equal(n, 32);
	assert_memory_equal(l3 + 16, "\xe0\x00\x00\x01\x94\x04\x00\x00\x11\x64\xee\x9b\x00\x00\x00\x00", 16);
	assert_int_equal(ipoib_snoop(0x0800, l3, n, true, hear, &h), 0);
	n = ipoib_query_v6(UINT64_C(0xf45214030001b8a1), l3);
	assert_int_equal(n, 72);
	assert_int_equal(ipoib_snoop(0x86dd, l3, n, true, hear, &h), 0);
	assert_non_null(inet_ntop(AF_INET6, l3 + 8, text, sizeof(text)));
	assert_string_equal(text, "fe80::f652:1403:1:b8a1");
	assert_int_equal(l3[48], 130);
	assert_int_equal(h.n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(igmp),    cmocka_unit_test(mld),     cmocka_unit_test(wrong_ones),
		cmocka_unit_test(lengths), cmocka_unit_test(queries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
