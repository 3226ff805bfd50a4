/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* How long TLVs, identities, and LLDPDUs may be (IEEE 802.1AB-2016, 8.4 to 8.5), sent and received. */
#include <errno.h>

#include "lldp_one.h"

/* 511 octets are the longest information; it is put whole where there is room for it, or not at all. */
static void
tlvs_put(void **state)
{
	static const struct {
		size_t len, room, put;
	} row[] = {{511, 600, 513}, {512, 600, 0}, {511, 513, 513}, {511, 512, 0},
		   {0, 2, 2},       {0, 1, 0},     {256, 258, 258}};
	uint8_t info[512], to[600];

	(void)state;
	memset(info, 0xa5, sizeof(info));
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		memset(to, 0, sizeof(to));
		assert_int_equal(tp_lldp_tlv_put(to, row[i].room, 5, info, row[i].len), row[i].put);
		assert_int_equal(to[0], row[i].put == 0 ? 0 : 5 << 1 | (row[i].len > 255));
		assert_int_equal(to[1], row[i].put == 0 ? 0 : row[i].len & 0xff);
		assert_int_equal(to[row[i].put], 0);
		if (row[i].put > 2)
			assert_int_equal(to[row[i].put - 1], 0xa5);
	}
}

static size_t room_seen;

static size_t
fills(void *arg, uint8_t *to, size_t room)
{
	size_t n = 0;

	(void)arg;
	room_seen = room;
	while (room - n >= 2)
		n += tp_lldp_tlv_put(to + n, room - n, 127, NULL, 0);
	return n;
}

/* A frame is 1514 octets at most, and ends with its End TLV. */
static void
whole_frames(void **state)
{
	static const struct tp_lldp_client client = {.build = fills};
	struct tp_lldp_conf c;

	(void)state;
	tp_lldp_conf_default(&c, own_mac);
	assert_int_equal(tp_lldp_init(&agent, &c, &client), 0);
	tp_lldp_port_set(&agent, true);
	tp_lldp_admin_set(&agent, TP_LLDP_TX_ONLY);
	/* Behind Ethernet 14, chassis 9, port 9, TTL 4, capabilities 6; 2 are the End's. */
	assert_int_equal(tp_lldp_poll(&agent, 0, out), 1514);
	assert_int_equal(room_seen, 1514 - 42 - 2);
	assert_int_equal(out[1512] | out[1513], 0);
}

/* Identities of 255 octets behind their subtype, and LLDPDUs of 1500, are the longest; of one octet the shortest. */
static void
longest(void **state)
{
	static uint8_t f[2000];
	size_t n;

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		/* The longest that is good and one more; then the shortest, and one less. */
		static const size_t size[] = {256, 257, 2, 1};
		size_t one = size[i / 4 * 2 + i % 2], chassis = i % 4 < 2 ? one : 7, port = i % 4 < 2 ? 7 : one;

		memcpy(f, hello, 14);
		n = 14;
		memset(f + n, 7, 600);
		f[n] = (uint8_t)(1 << 1 | chassis >> 8);
		f[n + 1] = (uint8_t)chassis;
		n += 2 + chassis;
		f[n] = (uint8_t)(2 << 1 | port >> 8);
		f[n + 1] = (uint8_t)port;
		n += 2 + port;
		memcpy(f + n, hello + 32, 6);
		n += 6;
		assert_int_equal(tp_lldp_input(&agent, f, n, 0), i % 2 == 0 ? 0 : -EBADMSG);
	}
	for (unsigned int more = 0; more < 2; more++) {
		static const size_t lens[] = {500, 500, 472};

		memcpy(f, hello, sizeof(hello) - 2);
		n = sizeof(hello) - 2;
		for (unsigned int k = 0; k < 3; k++) {
			size_t len = lens[k] + (k == 2 ? more : 0);

			memset(f + n, 0x33, 2 + len);
			f[n] = 127 << 1 | 1;
			f[n + 1] = (uint8_t)len;
			n += 2 + len;
		}
		assert_int_equal(n, 14 + 1500 + more);
		assert_int_equal(tp_lldp_input(&agent, f, n, 0), more == 0 ? 0 : -EBADMSG);
	}
}

/* Text that does not fit is no text: it is shown as octets, as many as there is room for. */
static void
names_in_little_room(void **state)
{
	static const uint8_t info[] = "\x07"
				      "switch-of-the-lab";
	const struct tp_lldp_tlv tlv = {.type = TP_LLDP_CHASSIS, .len = sizeof(info) - 1, .info = info};
	struct tp_lldp_tlv some = tlv;
	char text[24];

	(void)state;
	/* Nothing, the kind alone, one letter, two. */
	for (some.len = 0; some.len <= 3; some.len++) {
		char want[] = "sw";

		want[some.len == 0 ? 0 : some.len - 1] = '\0';
		tp_lldp_id_text(TP_LLDP_CHASSIS, &some, text, sizeof(text));
		assert_string_equal(text, want);
	}
	for (size_t size = 1; size <= 20; size++) {
		memset(text, 0x7e, sizeof(text));
		tp_lldp_id_text(TP_LLDP_CHASSIS, &tlv, text, size);
		assert_non_null(memchr(text, '\0', size));
		for (size_t i = size; i < sizeof(text); i++)
			assert_int_equal(text[i], 0x7e);
		if (size > 17)
			assert_string_equal(text, "switch-of-the-lab");
		else if (size > 3)
			assert_memory_equal(text, "73", 2);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(tlvs_put, fresh),
		cmocka_unit_test_setup(whole_frames, fresh),
		cmocka_unit_test_setup(longest, fresh),
		cmocka_unit_test(names_in_little_room),
	};

	return cmocka_run_group_tests_name("sizes of LLDP", tests, NULL, NULL);
}
