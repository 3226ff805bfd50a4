/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Marking: how often, against the curve's formula, and what a marked packet looks like. */
#include <math.h>

#include "frames.h"
#include "switch_rig.h"

#define LEN 1000u

/* A packet to host 2 with this ECN field, the rest of its header random, its checksum made by plain_sum. */
static void
ipv4(struct swrig *r, unsigned int ecn, int prio)
{
	uint8_t *h = swrig_frame(r, 2, 1, prio, 0) + (prio == UNTAGGED ? 14 : 18);
	uint16_t sum;

	h[-2] = 0x08;
	h[-1] = 0x00;
	for (unsigned int i = 0; i < 20; i++)
		h[i] = (uint8_t)rand();
	h[0] = 0x45;
	h[1] = (uint8_t)((unsigned int)rand() << 2 | ecn);
	h[10] = h[11] = 0;
	sum = (uint16_t)~plain_sum(0, h, 20);
	h[10] = (uint8_t)(sum >> 8);
	h[11] = (uint8_t)sum;
}

static void
setup(struct swrig *r)
{
	srand(11);
	swrig_word(r, 0, "ecn:20000+60000+400000");
	swrig_word(r, 0, "ecn-prio:0+1+2+3");
	swrig_word(r, 0, "seed:5");
	swrig_teach(r);
}

/* Marks out of n packets that each find so many bytes waiting. */
static unsigned int
marks_at(struct swrig *r, unsigned int depth, unsigned int n)
{
	struct tp_frame one;
	uint64_t before;

	while (swrig_prio(r, 1, 0).out_bytes < depth)
		swrig_send(r, 0, 2, 1, UNTAGGED, LEN);
	before = swrig_prio(r, 1, 0).ecn_marks;
	for (unsigned int i = 0; i < n; i++) {
		ipv4(r, 2, UNTAGGED);
		swrig_send_buf(r, 0, LEN, 0);
		assert_int_equal(tp_switch_port_recv(r->port[1], r->now, &one, 1), 1);
	}
	before = swrig_prio(r, 1, 0).ecn_marks - before;
	swrig_drain(r, 1);
	return (unsigned int)before;
}

/* Pmax (depth - Kmin) / (Kmax - Kmin), within four standard deviations. */
static void
curve(void **state)
{
	static const unsigned int depth[] = {20000, 24000, 30000, 40000, 50000, 59000};
	const unsigned int n = 20000;
	struct swrig *r = *state;

	setup(r);
	assert_int_equal(marks_at(r, 0, n), 0);
	assert_int_equal(marks_at(r, 19000, n), 0);
	for (unsigned int i = 0; i < sizeof(depth) / sizeof(depth[0]); i++) {
		double p = 0.4 * (depth[i] - 20000) / 40000, sigma = sqrt(n * p * (1 - p));
		unsigned int got = marks_at(r, depth[i], n);

		if (fabs(got - n * p) > 4 * sigma)
			fail_msg("%u bytes: %u marks of %u, wanted %f", depth[i], got, n, n * p);
	}
	assert_int_equal(marks_at(r, 60000, n), n);
	assert_int_equal(marks_at(r, 90000, n), n);
}

/* Only packets that can be marked are (RFC 3168, 5), and nothing but the field and the checksum changes. */
static void
marked_packets(void **state)
{
	struct swrig *r = *state;

	setup(r);
	swrig_word(r, 0, "ecn:0+0+0");
	for (unsigned int n = 0; n < 2000; n++) {
		unsigned int ecn = n % 4, tagged = n / 4 % 2, at = tagged ? 18 : 14;
		const uint8_t *h;

		ipv4(r, ecn, tagged ? 2 : UNTAGGED);
		swrig_send_buf(r, 0, 100, 0);
		assert_int_equal(swrig_recv(r, 1), 1);
		h = r->got[0].seg[0].data + at;
		assert_int_equal(h[1] & 3, ecn == 0 ? 0 : 3);
		assert_int_equal(h[1] >> 2, r->buf[at + 1] >> 2);
		assert_int_equal(plain_sum(0, h, 20), 0xffff);
		assert_memory_equal(h - at, r->buf, at + 1);
		assert_memory_equal(h + 2, r->buf + at + 2, 8);
		assert_memory_equal(h + 12, r->buf + at + 12, 100 - at - 12);
	}
	assert_int_equal(swrig_prio(r, 1, 0).ecn_marks + swrig_prio(r, 1, 2).ecn_marks, 1000);
}

static void
ipv6(void **state)
{
	struct swrig *r = *state;

	setup(r);
	swrig_word(r, 0, "ecn:0+0+0");
	for (unsigned int ecn = 0; ecn < 4; ecn++) {
		uint8_t *h = swrig_frame(r, 2, 1, UNTAGGED, 0);

		h[12] = 0x86;
		h[13] = 0xdd;
		h[14] = 0x6a;
		h[15] = (uint8_t)(0x8f | ecn << 4);
		swrig_send_buf(r, 0, 100, 0);
		assert_int_equal(swrig_recv(r, 1), 1);
		assert_int_equal(r->got[0].seg[0].data[14], 0x6a);
		assert_int_equal(r->got[0].seg[0].data[15], ecn == 0 ? 0x8f : 0xbf);
	}
	/* Not in a priority that is not told to. */
	ipv4(r, 1, 5);
	swrig_send_buf(r, 0, 100, 0);
	assert_int_equal(swrig_recv(r, 1), 1);
	assert_memory_equal(r->got[0].seg[0].data, r->buf, 100);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, swrig_up, swrig_down)
	const struct CMUnitTest tests[] = {T(curve), T(marked_packets), T(ipv6)};

	return cmocka_run_group_tests_name("switch_ecn", tests, NULL, NULL);
}
