/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* MACs of GUIDs by the table of the vendor's manual; MGIDs by RFC 4391, section 4 and the mapping of RFC 1112 and 2464. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/ipoib/wire/ipoib_addr.h"

static void
assert_mac(uint64_t guid, unsigned int mask, const char *want)
{
	struct rte_ether_addr mac, expected;

	assert_int_equal(rte_ether_unformat_addr(want, &expected), 0);
	assert_true(ipoib_guid_mac(guid, mask, &mac));
	assert_memory_equal(&mac, &expected, sizeof(mac));
}

static void
macs_of_guids(void **state)
{
	(void)state;
	/* The adapter of the vendor's own example. */
	assert_mac(UINT64_C(0xf45214030001b8a1), 0, "f4:52:14:01:b8:a1");
	assert_mac(UINT64_C(0xf45214030001b8a1), 0xe7, "f4:52:14:01:b8:a1");
	/* The two forms. */
	assert_mac(UINT64_C(0x0002c90200123456), 0, "00:02:c9:12:34:56");
	assert_mac(UINT64_C(0x0002c90300123456), 0, "00:02:ca:12:34:56");
	assert_mac(UINT64_C(0x0002c90200ffffff), 0, "00:02:c9:ff:ff:ff");
	assert_mac(UINT64_C(0x0002c90300ffffff), 0, "00:02:ca:ff:ff:ff");
	/* A mask that is none is the default, which for these forms is their own rule. */
	assert_mac(UINT64_C(0x0002c90300123456), 0x7f, "00:02:ca:12:34:56");
	assert_mac(UINT64_C(0x0002c90300123456), 0xe7, "00:02:c9:12:34:56");
	assert_mac(UINT64_C(0x0102030405060708), 0x7e, "02:03:04:05:06:07");
	/* Another vendor's. */
	assert_mac(UINT64_C(0x0008f10403961234), 0, "00:08:f1:96:12:34");
}

static void
guids_without_a_mac(void **state)
{
	struct rte_ether_addr mac, expected;

	(void)state;
	assert_false(ipoib_guid_mac(UINT64_C(0xaabbcc0000000001), 0, &mac));
	/* A mask that would make a group's address, or none at all. */
	assert_false(ipoib_guid_mac(UINT64_C(0x0102030405060708), 0xe7, &mac));
	assert_false(ipoib_guid_mac(0, 0xe7, &mac));
	assert_int_equal(ipoib_guid_mask_suggest(UINT64_C(0xaabbcc0000000001)), 0xe7);
	assert_int_equal(ipoib_guid_mask_suggest(0), 0);
	assert_int_equal(rte_ether_unformat_addr("02:00:00:00:00:2a", &expected), 0);
	ipoib_counter_mac(42, &mac);
	assert_memory_equal(&mac, &expected, sizeof(mac));
	assert_int_equal(rte_ether_unformat_addr("02:00:00:ff:ff:fe", &expected), 0);
	ipoib_counter_mac(0x5fffffe, &mac);
	assert_memory_equal(&mac, &expected, sizeof(mac));
}

static void
masks(void **state)
{
	unsigned int mask, valid = 0;

	(void)state;
	for (mask = 0; mask <= 0x1ff; mask++)
		valid += ipoib_guid_mask_valid(mask);
	assert_int_equal(valid, 28); /* 8 over 6 */
	assert_false(ipoib_guid_mask_valid(0));
	assert_true(ipoib_guid_mask_valid(0xfc));
	assert_false(ipoib_guid_mask_valid(0x13f >> 1 | 0x100));
}

static void
suggestions(void **state)
{
	(void)state;
	/* Whatever is suggested makes a unicast address. */
	for (uint64_t i = 0; i < 4096; i++) {
		uint64_t guid = (i * UINT64_C(0x9e3779b97f4a7c15)) ^ (i << 51);
		unsigned int mask = ipoib_guid_mask_suggest(guid);
		struct rte_ether_addr mac;

		if (mask == 0)
			continue;
		assert_true(ipoib_guid_mac(guid, mask, &mac));
		assert_false(rte_is_multicast_ether_addr(&mac));
	}
	assert_int_equal(ipoib_guid_mask_suggest(UINT64_C(0x0102030405060708)), 0x77);
}

static void
assert_mgid(const uint8_t got[16], const char *hex)
{
	char text[33];

	for (int i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02x", got[i]);
	assert_string_equal(text, hex);
}

static void
groups(void **state)
{
	const uint8_t v4[4] = {239, 1, 2, 3}, v4_low[4] = {224, 0, 0, 251};
	uint8_t v6[16] = {0xff, 0x02, [11] = 1, [12] = 0xff, [13] = 0x12, [14] = 0x34, [15] = 0x56}, mgid[16];

	(void)state;
	ipoib_mgid_broadcast(0xffff, 2, mgid);
	assert_mgid(mgid, "ff12401bffff000000000000ffffffff");
	/* The membership bit is part of every group's name. */
	ipoib_mgid_broadcast(0x0001, 5, mgid);
	assert_mgid(mgid, "ff15401b8001000000000000ffffffff");
	ipoib_mgid_v4(0xffff, 2, v4, mgid);
	assert_mgid(mgid, "ff12401bffff0000000000000f010203");
	ipoib_mgid_v4(0x8001, 2, v4_low, mgid);
	assert_mgid(mgid, "ff12401b80010000000000000"
			  "00000fb");
	ipoib_mgid_v6(0x8001, 2, v6, mgid);
	assert_mgid(mgid, "ff12601b80010000000000"
			  "01ff123456");
}

static void
groups_as_macs(void **state)
{
	static const struct {
		uint8_t mgid[16];
		const char *mac; /* NULL: none of ours */
	} rows[] = {
		{{0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, [12] = 0xff, 0xff, 0xff, 0xff}, "ff:ff:ff:ff:ff:ff"},
		{{0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, [12] = 0x0f, 0x81, 2, 3}, "01:00:5e:01:02:03"},
		{{0xff, 0x12, 0x60, 0x1b, 0x80, 0x01, [11] = 1, 0xff, 0x12, 0x34, 0x56}, "33:33:ff:12:34:56"},
		{{0xff, 0x12, 0x40, 0x1b, 0x80, 0x02, [12] = 0x0f, 1, 2, 3}, NULL},    /* another partition */
		{{0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, 1, [12] = 0x0f, 1, 2, 3}, NULL}, /* not zero between */
		{{0xff, 0x12, 0xa0, 0x1b, 0x80, 0x01, [12] = 0x0f, 1, 2, 3}, NULL},    /* another signature */
		{{0xff, 0x02, 0x40, 0x1b, 0x80, 0x01, [12] = 0x0f, 1, 2, 3}, NULL},    /* not transient */
		{{0xfe, 0x80, [8] = 2}, NULL},
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		struct rte_ether_addr mac, want;

		assert_int_equal(ipoib_mgid_mac(rows[i].mgid, 0x0001, &mac), rows[i].mac != NULL);
		if (rows[i].mac == NULL)
			continue;
		assert_int_equal(rte_ether_unformat_addr(rows[i].mac, &want), 0);
		assert_memory_equal(&mac, &want, sizeof(mac));
	}
}

static void
macs_as_groups(void **state)
{
	static const struct {
		const char *mac, *mgid;
	} rows[] = {
		{"ff:ff:ff:ff:ff:ff", "ff12401bffff000000000000ffffffff"},
		{"01:00:5e:00:00:fb", "ff12401bffff000000000000000000fb"},
		{"33:33:00:00:00:01", "ff12601bffff00000000000000000001"},
		{"33:33:ff:12:34:56", "ff12601bffff0000000000"
				      "01ff123456"},
		{"01:00:5e:80:00:01", NULL},
		{"01:80:c2:00:00:0e", NULL},
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		struct rte_ether_addr mac;
		uint8_t mgid[16];

		assert_int_equal(rte_ether_unformat_addr(rows[i].mac, &mac), 0);
		assert_int_equal(ipoib_mac_mgid(&mac, 0xffff, 2, mgid), rows[i].mgid != NULL);
		if (rows[i].mgid != NULL)
			assert_mgid(mgid, rows[i].mgid);
	}
}

static void
hardware_addresses(void **state)
{
	const uint8_t gid[16] = {0xfe, 0x80, [8] = 0xf4, [15] = 1}, group[16] = {0xff, 0x12, [15] = 1},
		      none[16] = {0xfe, 0x80};
	struct ipoib_hw hw, other;

	(void)state;
	ipoib_hw_set(&hw, IPOIB_HW_RC, 0x123456, gid);
	assert_int_equal(hw.b[0], 0x80);
	assert_int_equal(hw.b[1], 0x12);
	assert_int_equal(hw.b[3], 0x56);
	assert_int_equal(ipoib_hw_qpn(&hw), 0x123456);
	assert_true(ipoib_hw_valid(&hw));
	/* A neighbour that comes to take connections stays the same one. */
	ipoib_hw_set(&other, 0, 0x123456, gid);
	assert_true(ipoib_hw_same(&hw, &other));
	ipoib_hw_set(&other, 0, 1, gid);
	assert_false(ipoib_hw_valid(&other));
	ipoib_hw_set(&other, 0, 0xffffff, gid);
	assert_false(ipoib_hw_valid(&other));
	ipoib_hw_set(&other, 0, 2, group);
	assert_false(ipoib_hw_valid(&other));
	ipoib_hw_set(&other, 0, 2, none);
	assert_false(ipoib_hw_valid(&other));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(macs_of_guids),  cmocka_unit_test(guids_without_a_mac),
		cmocka_unit_test(masks),          cmocka_unit_test(suggestions),
		cmocka_unit_test(groups),         cmocka_unit_test(groups_as_macs),
		cmocka_unit_test(macs_as_groups), cmocka_unit_test(hardware_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
