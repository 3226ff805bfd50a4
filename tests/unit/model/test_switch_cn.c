/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Congestion notification of the switch: who is told, by which frame, about which queue. */
#include "frames.h"
#include "switch_rig.h"

#define LEN 1000u
#define PRIO 3

static void
setup(struct swrig *r)
{
	swrig_word(r, 0, "cn-prio:3");
	swrig_word(r, 0, "cn:2000+4000");
	swrig_teach(r);
}

/* Frames of host 1 to host 2, until its source is told: the message is in r->got[0]. */
static void
crowd(struct swrig *r, const uint8_t *frame)
{
	for (unsigned int i = 0; i < 20 && swrig_prio(r, 1, PRIO).cn_messages == 0; i++) {
		memcpy(r->buf, frame, 64);
		swrig_send_buf(r, 0, LEN, 0);
	}
	assert_int_equal(swrig_prio(r, 1, PRIO).cn_messages, 1);
	assert_int_equal(swrig_recv(r, 0), 1);
}

/* Tagged, with a flow of its own: the message has the VLAN and the flow, priority 6, and what the frame was. */
static void
test_frame(void **state)
{
	struct swrig *r = *state;
	uint8_t frame[64];
	const uint8_t *h, *m;
	struct tp_frame f;
	uint64_t depth;

	setup(r);
	/* Host 2 is known in the VLAN, too. */
	swrig_frame(r, 99, 2, PRIO, 0x123);
	swrig_send_buf(r, 1, 60, 0);
	for (unsigned int i = 0; i < RIG_PORTS; i++)
		swrig_drain(r, i);
	memcpy(frame, swrig_frame(r, 2, 1, PRIO, 0x123), 64);
	memcpy(frame + 16, ((const uint8_t[]){0x22, 0xe9, 0xbe, 0xef, 0x88, 0xb5, 1, 2, 3}), 9);
	crowd(r, frame);
	f = r->got[0];
	depth = swrig_prio(r, 1, PRIO).out_bytes;
	assert_int_equal(f.nseg, 1);
	assert_int_equal(f.len, 22 + 24 + 64);
	h = f.seg[0].data;
	assert_memory_equal(h, frame + 6, 6);
	assert_int_equal(h[6] & 3, 2);
	assert_memory_equal(h + 12, ((const uint8_t[]){0x81, 0x00, 0xc1, 0x23, 0x22, 0xe9, 0xbe, 0xef, 0x22, 0xe7}),
			    10);
	m = h + 22;
	assert_int_equal(m[0], 0);
	assert_in_range(m[1], 1, 63);
	assert_memory_equal(m + 2, h + 6, 6);
	assert_int_equal(m[10] << 8 | m[11], (uint16_t)(((int)depth - 2000) / 64));
	assert_int_equal(m[14] << 8 | m[15], PRIO << 13);
	assert_memory_equal(m + 16, frame, 6);
	assert_int_equal(m[22] << 8 | m[23], 64);
	/* The frame's octets from its type on. */
	assert_memory_equal(m + 24, frame + 20, 5);
	/* Forwarded as it came. */
	assert_true(swrig_recv(r, 1) > 0);
	assert_memory_equal(r->got[0].seg[0].data, frame, 64);
}

/* Untagged: no VLAN, flow 0. Short frames make short messages. */
static void
test_untagged(void **state)
{
	struct swrig *r = *state;
	const uint8_t *h;
	uint8_t frame[64];

	setup(r);
	swrig_word(r, 1, "untagged:3");
	swrig_word(r, 0, "cn:64+64");
	memcpy(frame, swrig_frame(r, 2, 1, UNTAGGED, 0), 64);
	for (unsigned int i = 0; i < 20 && swrig_prio(r, 1, PRIO).cn_messages == 0; i++) {
		memcpy(r->buf, frame, 64);
		swrig_send_buf(r, 0, 60, 0);
	}
	assert_int_equal(swrig_recv(r, 0), 1);
	h = r->got[0].seg[0].data;
	assert_int_equal(r->got[0].len, 18 + 24 + 48);
	assert_memory_equal(h + 12, ((const uint8_t[]){0x22, 0xe9, 0, 0, 0x22, 0xe7}), 6);
	assert_int_equal(h[18 + 23], 48);
	assert_memory_equal(h + 18 + 24, frame + 12, 48);
}

/* No queue below what is wanted, no other priority, nothing about a message; and a port that is gone is told nothing. */
static void
test_quiet(void **state)
{
	struct swrig *r = *state;
	uint8_t *h;

	setup(r);
	/* A frame of 1000 octets in an empty queue: 1000 - 4000 + 2 * 1000 is below 0. */
	swrig_word(r, 0, "cn:4000+4000");
	for (unsigned int i = 0; i < 50; i++) {
		swrig_send(r, 0, 2, 1, PRIO, LEN);
		assert_int_equal(swrig_drain(r, 1), 1);
		swrig_send(r, 0, 3, 1, PRIO + 1, LEN);
	}
	assert_int_equal(swrig_prio(r, 1, PRIO).cn_messages, 0);
	assert_int_equal(swrig_prio(r, 2, PRIO + 1).cn_messages, 0);
	for (unsigned int i = 0; i < 50; i++) {
		h = swrig_frame(r, 2, 1, PRIO, 0);
		h[16] = 0x22;
		h[17] = 0xe7;
		swrig_send_buf(r, 0, LEN, 0);
	}
	assert_int_equal(swrig_prio(r, 1, PRIO).cn_messages, 0);
	assert_int_equal(swrig_drain(r, 0), 0);
	/* Frames that end in their tags. */
	h = swrig_frame(r, 2, 1, PRIO, 0);
	h[16] = 0x22;
	h[17] = 0xe9;
	for (uint32_t len = 14; len < 24; len++)
		for (unsigned int i = 0; i < 200; i++)
			swrig_send_buf(r, 0, len, 0);
	tp_switch_port_link(r->port[0], false);
	tp_switch_port_link(r->port[0], true);
	assert_int_equal(swrig_drain(r, 0), 0);
}

static void
test_refused(void **state)
{
	static const char *const words[] = {"cn:63+150000", "cn:26000+63", "cn:26000", "cn:1+2+3",
					    "cn:x+1",       "cn-prio:8",   "cn-prio:"};
	struct swrig *r = *state;
	char err[TP_SWITCH_TEXT];

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		err[0] = '\0';
		assert_int_equal(tp_switch_word(r->sw, 0, words[i], err), -EINVAL);
		assert_non_null(strstr(err, "wanted"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_frame, swrig_up, swrig_down),
		cmocka_unit_test_setup_teardown(test_untagged, swrig_up, swrig_down),
		cmocka_unit_test_setup_teardown(test_quiet, swrig_up, swrig_down),
		cmocka_unit_test_setup_teardown(test_refused, swrig_up, swrig_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
