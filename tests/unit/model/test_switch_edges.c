/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The switch where settings, links and headers change under way: coins, pauses that end, frames that are on the line. */
#include "switch_rig.h"

/* --- what headers say ----------------------------------------------------------------------------------------------------- */

/* By DSCP only what is IP by its type, by its version and by its length (RFC 791, RFC 8200); the rest is untagged. */
static void
trusted_headers(void **state)
{
	static const struct {
		uint16_t etype;
		uint8_t b0, b1; /* the first octets behind the type */
		uint32_t len;
		unsigned int prio;
	} row[] = {
		{0x0800, 0x45, 0xb8, 60, 5}, /* DSCP 46 */
		{0x0800, 0x45, 0xb8, 34, 5}, /* with the last octet of its header */
		{0x0800, 0x45, 0xb8, 33, 1}, {0x0800, 0x65, 0xb8, 60, 1}, {0x88b5, 0x45, 0xb8, 60, 1},
		{0x0800, 0x4f, 0xe0, 60, 7}, {0x86dd, 0x6b, 0x80, 60, 5}, /* class 0xb8 */
		{0x86dd, 0x6b, 0x80, 54, 5}, {0x86dd, 0x6b, 0x80, 53, 1}, {0x86dd, 0x4b, 0x80, 60, 1},
		{0x88b5, 0x6b, 0x80, 60, 1}, {0x0800, 0x45, 0x03, 60, 0}, /* DSCP 0, congestion bits */
	};
	struct swrig *r = *state;

	swrig_word(r, 1, "untagged:1");
	swrig_word(r, 1, "trust:dscp");
	swrig_teach(r);
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint64_t before = swrig_prio(r, 0, row[i].prio).rx_frames;
		uint8_t *h = swrig_frame(r, 2, 1, UNTAGGED, 0);

		h[12] = (uint8_t)(row[i].etype >> 8);
		h[13] = (uint8_t)row[i].etype;
		h[14] = row[i].b0;
		h[15] = row[i].b1;
		swrig_send_buf(r, 0, row[i].len, 0);
		if (swrig_prio(r, 0, row[i].prio).rx_frames != before + 1)
			fail_msg("row %u: not in priority %u", i, row[i].prio);
	}
}

/* Behind two tags as behind one; the first says the priority where no address does, and a third is not looked behind. */
static void
two_tags(void **state)
{
	static const struct {
		unsigned int tags, prio;
		uint32_t len;
	} row[] = {{1, 5, 60}, {2, 5, 60}, {3, 6, 60}, {2, 5, 42}, {2, 6, 41}, {1, 5, 38}, {1, 6, 37}};
	struct swrig *r = *state;

	swrig_word(r, 1, "trust:dscp");
	swrig_teach(r);
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint64_t before = swrig_prio(r, 0, row[i].prio).rx_frames;
		uint8_t *h = swrig_frame(r, 2, 1, UNTAGGED, 0) + 12;

		for (unsigned int k = 0; k < row[i].tags; k++, h += 4) {
			h[0] = k == 0 && row[i].tags > 1 ? 0x88 : 0x81;
			h[1] = h[0] == 0x88 ? 0xa8 : 0x00;
			h[2] = k == 0 ? 6 << 5 : 3 << 5;
			h[3] = 0;
		}
		memcpy(h, "\x08\x00\x45\xb8", 4);
		swrig_send_buf(r, 0, row[i].len, 0);
		if (swrig_prio(r, 0, row[i].prio).rx_frames != before + 1)
			fail_msg("row %u: not in priority %u", i, row[i].prio);
	}
}

/* --- the coin -------------------------------------------------------------------------------------------------------------- */

/* Which of 64 packets are marked, each of which finds 40000 octets waiting: one in five (switch_ecn has the curve). */
static uint64_t
pattern(struct swrig *r)
{
	uint64_t marked = 0;

	while (swrig_prio(r, 1, 0).out_bytes < 40000)
		swrig_send(r, 0, 2, 1, UNTAGGED, 1000);
	for (unsigned int i = 0; i < 64; i++) {
		uint64_t before = swrig_prio(r, 1, 0).ecn_marks;
		uint8_t *h = swrig_frame(r, 2, 1, UNTAGGED, 0);
		struct tp_frame one;

		h[12] = 0x08;
		h[13] = 0x00;
		h[14] = 0x45;
		h[15] = 2;
		swrig_send_buf(r, 0, 1000, 0);
		marked |= (swrig_prio(r, 1, 0).ecn_marks - before) << i;
		assert_int_equal(tp_switch_port_recv(r->port[1], r->now, &one, 1), 1);
	}
	swrig_drain(r, 1);
	return marked;
}

/* The same seed gives the same marks, from when it is set; other settings go on with the coin as it is. */
static void
seeds(void **state)
{
	uint64_t first, second, other;
	struct swrig *r = *state;

	swrig_word(r, 0, "ecn:20000+60000+400000");
	swrig_word(r, 0, "ecn-prio:0");
	swrig_word(r, 0, "seed:5");
	swrig_teach(r);
	first = pattern(r);
	swrig_word(r, 0, "alpha:200");
	second = pattern(r);
	assert_int_not_equal(first, second);
	assert_in_range(__builtin_popcountll(first), 1, 40);
	swrig_word(r, 0, "seed:6");
	other = pattern(r);
	assert_int_not_equal(other, first);
	swrig_word(r, 0, "seed:5");
	assert_int_equal(pattern(r), first);
	swrig_word(r, 0, "seed:5"); /* that it is */
	assert_int_equal(pattern(r), second);
	/* A number is judged by itself, not by what went wrong before. */
	errno = ERANGE;
	swrig_word(r, 0, "seed:6");
	assert_int_equal(pattern(r), other);
}

/* --- frames that wait when a link goes ------------------------------------------------------------------------------------- */

static void
link_goes_under_way(void **state)
{
	struct tp_switch_stats st;
	struct swrig *r = *state;

	swrig_word(r, 2, "rate:1000");
	swrig_teach(r);
	for (unsigned int i = 0; i < 5; i++)
		swrig_send(r, 0, 2, 1, (int)i, 1500);
	/* One is on the line by now, and takes 12.2 us. */
	assert_int_equal(swrig_recv(r, 1), 0);
	tp_switch_stats_get(r->sw, &st);
	assert_int_equal(st.queued_frames, 5);
	tp_switch_port_link(r->port[1], false);
	tp_switch_stats_get(r->sw, &st);
	assert_int_equal(st.queued_frames, 0);
	assert_int_equal(st.used, 0);
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(swrig_prio(r, 0, i).drop[TP_SWITCH_DROP_LINK_DOWN], 1);
		assert_int_equal(swrig_prio(r, 1, i).out_bytes, 0);
		assert_int_equal(swrig_prio(r, 0, i).in_bytes, 0);
	}
	tp_switch_port_link(r->port[1], true);
	swrig_send(r, 0, 2, 1, UNTAGGED, 1500);
	r->now += 1000000;
	assert_int_equal(swrig_recv(r, 1), 1);
}

/* --- pauses that end ------------------------------------------------------------------------------------------------------- */

/* Who was told to pause and whose cable is pulled is told nothing when it comes back: a pause does not outlive its link. */
static void
pause_ends_with_its_link(void **state)
{
	struct swrig *r = *state;

	for (unsigned int pfc = 0; pfc < 2; pfc++) {
		swrig_word(r, 0, pfc != 0 ? "lossless:0+3+7" : "lossless:none");
		swrig_word(r, 2, pfc != 0 ? "flow:pfc" : "flow:pause");
		swrig_word(r, 2, "rate:10000");
		swrig_teach(r);
		swrig_pause(r, 1, pfc != 0 ? 0x89 : 0, 0xffff);
		for (int prio = 0; prio < 8; prio++)
			swrig_send(r, 0, 2, 1, prio, 100);
		r->now += 100000;
		/* PFC leaves the others be. */
		assert_int_equal(swrig_drain(r, 1), pfc != 0 ? 5 : 0);
		/* A pause counts as far as it has gone. */
		for (unsigned int prio = 0; prio < 8; prio++)
			assert_int_equal(swrig_prio(r, 1, prio).rx_pause_ns,
					 pfc == 0 || (0x89 >> prio & 1) != 0 ? 100000 * (pfc + 1) : 100000);
		tp_switch_port_link(r->port[1], false);
		tp_switch_port_link(r->port[1], true);
		for (int prio = 0; prio < 8; prio++)
			swrig_send(r, 0, 2, 1, prio, 100);
		r->now += 100000;
		assert_int_equal(swrig_drain(r, 1), 8);
		for (unsigned int prio = 0; prio < 8; prio++) {
			bool paused = pfc == 0 || (0x89 >> prio & 1) != 0;

			assert_int_equal(swrig_prio(r, 1, prio).rx_pause_ns, pfc == 0 ? 100000
									     : paused ? 200000
										      : 100000);
		}
	}
}

/* Timers of the last PFC frame that port index 0 gives, 0: none came. */
static unsigned int
last_pause(struct swrig *r, uint16_t *timer3)
{
	unsigned int n = 0;

	for (unsigned int got = swrig_recv(r, 0); got != 0; got = swrig_recv(r, 0))
		for (unsigned int i = 0; i < got; i++) {
			const uint8_t *h = r->got[i].seg[0].data;

			assert_int_equal(h[12] << 8 | h[13], 0x8808);
			/* From an address of this port's own, to the one that no bridge forwards (802.1Qbb). */
			assert_memory_equal(h, "\x01\x80\xc2\0\0\x01", 6);
			assert_int_equal(h[6], 2);
			assert_int_equal(h[11], 1);
			*timer3 = (uint16_t)(h[24] << 8 | h[25]);
			n++;
		}
	return n;
}

/* A priority that is not lossless any more lets its sender go on; one that stays so does not. */
static void
lossless_no_more(void **state)
{
	struct swrig *r = *state;
	uint16_t timer = 0;

	swrig_word(r, 0, "lossless:3+4");
	swrig_word(r, 0, "xon:2000");
	swrig_word(r, 0, "xoff:4000");
	swrig_word(r, 1, "flow:pfc");
	swrig_word(r, 2, "rate:1");
	swrig_teach(r);
	for (unsigned int i = 0; i < 5; i++)
		swrig_send(r, 0, 2, 1, 3, 1000);
	assert_int_equal(last_pause(r, &timer), 1);
	assert_int_not_equal(timer, 0);
	swrig_word(r, 0, "lossless:3");
	assert_int_equal(last_pause(r, &timer), 0);
	/* A frame more does not stop who has stopped; who takes none gets none. */
	r->now += 5000;
	swrig_send(r, 0, 2, 1, 3, 1000);
	assert_int_equal(swrig_prio(r, 0, 3).tx_pause_ns, 5000);
	assert_int_equal(tp_switch_port_recv(r->port[0], r->now + 100000000, r->got, 0), 0);
	r->now += 100000000;
	assert_int_equal(last_pause(r, &timer), 1);
	assert_int_not_equal(timer, 0);
	swrig_word(r, 0, "lossless:4");
	assert_int_equal(last_pause(r, &timer), 1);
	assert_int_equal(timer, 0);
	assert_int_equal(swrig_prio(r, 0, 3).tx_pause_frames, 3);
}

/* Who has filled headroom goes on when that is empty again, and not only when little waits. */
static void
headroom_first(void **state)
{
	struct tp_switch_stats st;
	struct swrig *r = *state;
	unsigned int sent = 0, out = 0;
	uint16_t timer = 1;

	swrig_word(r, 0, "lossless:3");
	swrig_word(r, 0, "xoff:150000");
	swrig_word(r, 0, "xon:140000");
	swrig_word(r, 0, "buffer:1148576"); /* four times 256 KiB of headroom, and 100000 octets for all */
	swrig_word(r, 1, "flow:pfc");
	swrig_teach(r);
	do {
		swrig_send(r, 0, 2, 1, 3, 9000);
		sent++;
		tp_switch_stats_get(r->sw, &st);
	} while (st.headroom_used < 20000 && sent < 500);
	assert_in_range(st.used, 110000, 140000);
	assert_int_equal(last_pause(r, &timer), 1);
	assert_int_not_equal(timer, 0);
	for (; st.headroom_used != 0; out++) {
		assert_int_equal(last_pause(r, &timer), 0);
		assert_int_equal(tp_switch_port_recv(r->port[1], r->now, r->got, 1), 1);
		tp_switch_stats_get(r->sw, &st);
	}
	assert_int_equal(out, sent);
	assert_int_equal(last_pause(r, &timer), 1);
	assert_int_equal(timer, 0);
}

/* Who takes no pause frames any more gets none, nor one about the time before when it takes them again. */
static void
no_flow_control_any_more(void **state)
{
	struct swrig *r = *state;
	uint16_t timer = 0;

	swrig_word(r, 0, "lossless:3");
	swrig_word(r, 0, "xon:2000");
	swrig_word(r, 0, "xoff:4000");
	swrig_word(r, 1, "flow:pfc");
	swrig_teach(r);
	for (unsigned int i = 0; i < 5; i++)
		swrig_send(r, 0, 2, 1, 3, 1000);
	assert_int_equal(last_pause(r, &timer), 1);
	swrig_word(r, 1, "flow:off");
	assert_int_equal(swrig_drain(r, 1), 5);
	assert_int_equal(last_pause(r, &timer), 0);
	swrig_word(r, 1, "flow:pfc");
	r->now += 1000000000;
	assert_int_equal(last_pause(r, &timer), 0);
	assert_int_equal(swrig_prio(r, 0, 3).tx_pause_frames, 1);
}

/* Priorities of one class leave as they came. */
static void
one_class(void **state)
{
	static const uint8_t order[] = {5, 1, 7, 1, 0, 5};
	struct swrig *r = *state;

	swrig_word(r, 2, "tc:2+2+2+2+2+2+2+2");
	swrig_teach(r);
	for (unsigned int i = 0; i < sizeof(order); i++)
		swrig_send(r, 0, 2, 1, order[i], 60 + i);
	assert_int_equal(swrig_recv(r, 1), sizeof(order));
	for (unsigned int i = 0; i < sizeof(order); i++) {
		assert_int_equal(r->got[i].len, 60 + i);
		assert_int_equal(((const uint8_t *)r->got[i].seg[0].data)[14] >> 5, order[i]);
	}
}

/* As the header says them. */
static void
defaults(void **state)
{
	struct swrig *r = *state;
	struct tp_switch_port_config p;
	struct tp_switch_config c;

	tp_switch_config_get(r->sw, &c);
	assert_int_equal(c.max_ports, 64);
	assert_int_equal(c.lossless, 0);
	assert_int_equal(c.buffer_bytes, 12 << 20);
	assert_int_equal(c.reserve_bytes, 0);
	assert_int_equal(c.alpha_pct, 100);
	assert_int_equal(c.xoff_bytes, 64 << 10);
	assert_int_equal(c.xon_bytes, 32 << 10);
	assert_int_equal(c.headroom_bytes, 256 << 10);
	assert_int_equal(c.ecn_prios, 0);
	assert_int_equal(c.ecn_kmin_bytes, 100 << 10);
	assert_int_equal(c.ecn_kmax_bytes, 400 << 10);
	assert_int_equal(c.ecn_pmax_ppm, 10000);
	assert_int_equal(c.mac_entries, 8192);
	assert_int_equal(c.mac_age_s, 300);
	assert_false(c.flood_link_local);
	assert_int_equal(c.seed, 1);
	tp_switch_port_config_get(r->port[0], &p);
	assert_int_equal(p.rate_mbps, 0);
	assert_int_equal(p.trust, TP_SWITCH_TRUST_PCP);
	assert_int_equal(p.flow, TP_SWITCH_FLOW_AUTO);
	assert_int_equal(p.untagged_prio, 0);
	assert_int_equal(p.max_frame, 9728);
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(p.prio_tc[i], i);
		assert_int_equal(p.tc[i].weight, 0);
		assert_int_equal(p.tc[i].rate_mbps, 0);
	}
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, swrig_up, swrig_down)
	const struct CMUnitTest tests[] = {T(trusted_headers),     T(seeds),
					   T(link_goes_under_way), T(pause_ends_with_its_link),
					   T(lossless_no_more),    T(two_tags),
					   T(headroom_first),      T(defaults),
					   T(one_class),           T(no_flow_control_any_more)};

	return cmocka_run_group_tests_name("switch_edges", tests, NULL, NULL);
}
