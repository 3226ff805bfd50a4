/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The switch's buffer: what is charged to whom, what is dropped, and that lossless priorities lose nothing. */
#include <stdio.h>

#include "switch_rig.h"

/* The sum of what waits is the sum of what is charged, and both fit the buffer. */
static void
check_sums(struct swrig *r)
{
	uint64_t in = 0, out = 0, frames = 0;
	struct tp_switch_stats st;

	tp_switch_stats_get(r->sw, &st);
	for (unsigned int i = 0; i < RIG_PORTS; i++)
		for (unsigned int prio = 0; prio < TP_SWITCH_PRIOS; prio++) {
			struct tp_switch_prio_stats s = swrig_prio(r, i, prio);

			in += s.in_bytes;
			out += s.out_bytes;
			frames += s.out_frames;
		}
	assert_int_equal(st.used, st.shared_used + st.reserve_used + st.headroom_used);
	assert_int_equal(st.used, in);
	assert_int_equal(st.used, out);
	assert_int_equal(st.queued_frames, frames);
	assert_true(st.used <= st.buffer_bytes);
	assert_true(st.shared_used <= st.shared_bytes);
}

/* Random traffic of all kinds through a small buffer: never more than there is, and every frame is accounted for. */
static void
accounting(void **state)
{
	struct swrig *r = *state;
	uint64_t sent = 0, got = 0, dropped = 0, queued;
	struct tp_switch_stats st;

	swrig_word(r, 0, "buffer:200000");
	swrig_word(r, 0, "xon:4000");
	swrig_word(r, 0, "xoff:8000");
	swrig_word(r, 0, "headroom:5000");
	swrig_word(r, 0, "reserve:1000");
	swrig_word(r, 0, "lossless:3+4");
	for (unsigned int i = 1; i <= RIG_PORTS; i++)
		swrig_word(r, i, "flow:off");
	swrig_teach(r);
	srand(7);
	for (unsigned int n = 0; n < 40000; n++) {
		unsigned int i = (unsigned int)rand() % RIG_PORTS, dst = (unsigned int)rand() % RIG_PORTS;

		if (rand() % 5 != 0 && dst != i) {
			swrig_send(r, i, dst + 1, i + 1, rand() % 8, 60 + (uint32_t)rand() % 3000);
			sent++;
		} else if (rand() % 40 == 0) {
			got += swrig_recv(r, i);
		}
		check_sums(r);
	}
	tp_switch_stats_get(r->sw, &st);
	queued = st.queued_frames;
	assert_true(st.used_peak > 150000);
	for (unsigned int i = 0; i < RIG_PORTS; i++)
		for (unsigned int prio = 0; prio < TP_SWITCH_PRIOS; prio++) {
			struct tp_switch_prio_stats s = swrig_prio(r, i, prio);

			for (unsigned int d = 0; d < TP_SWITCH_NUM_DROPS; d++)
				dropped += s.drop[d];
		}
	assert_int_equal(sent, got + dropped + queued);
	assert_true(dropped > 1000 && got > 1000);
	for (unsigned int i = 0; i < RIG_PORTS; i++)
		queued -= swrig_drain(r, i);
	assert_int_equal(queued, 0);
	check_sums(r);
}

/*
 * Dynamic limit by hand: pool S = 100000, frames of 1000. With alpha 1 a frame is taken while q + 1000 <= S - q, so one
 * queue ends at 50 frames. Another then has 50000 free: 1000 (k + 1) <= 50000 - 1000 k gives 25. With alpha 1/4 alone:
 * q + 1000 <= (S - q) / 4 ends at 20 frames.
 */
static void
dynamic_limit(void **state)
{
	struct swrig *r = *state;

	swrig_word(r, 0, "buffer:100000");
	swrig_teach(r);
	for (unsigned int n = 0; n < 80; n++)
		swrig_send(r, 0, 2, 1, 0, 1000);
	assert_int_equal(swrig_prio(r, 1, 0).out_frames, 50);
	assert_int_equal(swrig_prio(r, 0, 0).drop[TP_SWITCH_DROP_QUEUE], 30);
	for (unsigned int n = 0; n < 80; n++)
		swrig_send(r, 0, 3, 1, 0, 1000);
	assert_int_equal(swrig_prio(r, 2, 0).out_frames, 25);
	swrig_drain(r, 1);
	swrig_drain(r, 2);
	swrig_word(r, 0, "alpha:25");
	for (unsigned int n = 0; n < 80; n++)
		swrig_send(r, 0, 2, 1, 0, 1000);
	assert_int_equal(swrig_prio(r, 1, 0).out_frames, 20);
	check_sums(r);
}

/* A full pool does not reach the reserve of another queue. 4 ports, 8 classes, 2000 bytes: 64000 of 100000. */
static void
reserves(void **state)
{
	struct swrig *r = *state;
	struct tp_switch_stats st;

	swrig_word(r, 0, "buffer:100000");
	swrig_word(r, 0, "reserve:2000");
	swrig_word(r, 0, "alpha:6400");
	swrig_teach(r);
	tp_switch_stats_get(r->sw, &st);
	assert_int_equal(st.shared_bytes, 36000);
	for (unsigned int n = 0; n < 80; n++)
		swrig_send(r, 0, 2, 1, 0, 1000);
	assert_int_equal(swrig_prio(r, 1, 0).out_frames, 2 + 36);
	assert_int_equal(swrig_prio(r, 0, 0).drop[TP_SWITCH_DROP_BUFFER], 42);
	for (unsigned int n = 0; n < 5; n++)
		swrig_send(r, 0, 3, 1, 0, 1000);
	assert_int_equal(swrig_prio(r, 2, 0).out_frames, 2);
	check_sums(r);
}

/* --- lossless --------------------------------------------------------------------------------------------------- */

/*
 * A sender at 10 Gb/s on a cable of 5 us each way, into a receiver at 1 Gb/s. Frames of 1500 bytes take 1524 on the line:
 * 1219.2 ns. After XOFF: 5 us until the sender hears, up to one frame that it has begun, 5 us of frames on the cable, and
 * 0.1 us of the test's step: 10.1 us / 1219.2 ns = 8.3, so 9 frames and 1, 15000 bytes of headroom.
 */
#define CABLE_NS 5000u
#define STEP_NS 100u
#define SENT_LEN 1500u
#define LINE_PS 1219200u
#define FLIGHT 64u

struct sender {
	uint64_t next_ps, hears_ns[FLIGHT], arrives_ns[FLIGHT];
	bool pause[FLIGHT];
	unsigned int heard, told, begun, arrived;
	bool paused;
	uint64_t until_ns;
};

/* Pause frames arrive at the sender CABLE_NS after they left; 0xffff quanta at 10 Gb/s are 3.36 ms. */
static void
sender_hears(struct swrig *r, struct sender *s)
{
	for (unsigned int n = swrig_recv(r, 0), k = 0; k < n; k++) {
		const uint8_t *h = r->got[k].seg[0].data;

		assert_int_equal(h[12] << 8 | h[13], 0x8808);
		assert_int_equal(h[14] << 8 | h[15], 0x0101);
		assert_int_equal(h[17], 1 << 3);
		s->pause[s->told % FLIGHT] = h[24] != 0;
		s->hears_ns[s->told++ % FLIGHT] = r->now + CABLE_NS;
	}
	while (s->heard != s->told && s->hears_ns[s->heard % FLIGHT] <= r->now) {
		s->paused = s->pause[s->heard++ % FLIGHT];
		s->until_ns = r->now + 0xffff * 512 / 10;
	}
	if (s->paused && r->now >= s->until_ns)
		s->paused = false;
}

static void
sender_step(struct swrig *r, struct sender *s, unsigned int frames)
{
	sender_hears(r, s);
	while (!s->paused && s->begun < frames && s->next_ps <= r->now * 1000) {
		if (s->next_ps + STEP_NS * 1000 < r->now * 1000)
			s->next_ps = r->now * 1000; /* it waited */
		s->next_ps += LINE_PS;
		s->arrives_ns[s->begun++ % FLIGHT] = s->next_ps / 1000 + CABLE_NS;
	}
	while (s->arrived != s->begun && s->arrives_ns[s->arrived % FLIGHT] <= r->now) {
		s->arrived++;
		swrig_send(r, 0, 2, 1, 3, SENT_LEN);
	}
}

/* Returns how many frames came through. */
static unsigned int
incast(struct swrig *r, unsigned int frames, uint64_t stalled_ns)
{
	struct sender s = {.next_ps = r->now * 1000};
	unsigned int got = 0;
	uint64_t begin = r->now;

	for (unsigned int idle = 0; idle < 2000; r->now += STEP_NS) {
		struct tp_switch_stats st;

		sender_step(r, &s, frames);
		if (r->now - begin >= stalled_ns)
			got += swrig_recv(r, 1);
		tp_switch_stats_get(r->sw, &st);
		assert_true(st.used <= st.buffer_bytes);
		idle = s.arrived == frames && st.used == 0 ? idle + 1 : 0;
	}
	check_sums(r);
	return got;
}

static void
lossless_setup(struct swrig *r)
{
	swrig_word(r, 0, "buffer:300000");
	swrig_word(r, 0, "xon:15000");
	swrig_word(r, 0, "xoff:30000");
	swrig_word(r, 0, "headroom:15000");
	swrig_word(r, 0, "lossless:3");
	swrig_word(r, 1, "rate:10000");
	swrig_word(r, 2, "rate:1000");
	swrig_teach(r);
}

static void
pfc_loses_nothing(void **state)
{
	struct swrig *r = *state;
	struct tp_switch_prio_stats s;

	lossless_setup(r);
	assert_int_equal(incast(r, 2000, 0), 2000);
	s = swrig_prio(r, 0, 3);
	assert_int_equal(s.rx_frames, 2000);
	for (unsigned int d = 0; d < TP_SWITCH_NUM_DROPS; d++)
		assert_int_equal(s.drop[d], 0);
	/* The headroom was needed, and what was computed was enough. */
	assert_in_range(s.headroom_peak, 8 * SENT_LEN, 15000);
	assert_in_range(s.in_peak, 30000 + 8 * SENT_LEN, 45000);
	/* Off and on again in turns, and paused for 9/10 of the time: the receiver is ten times slower. */
	assert_true(s.tx_pause_frames > 10 && s.tx_pause_frames % 2 == 0);
	assert_in_range(s.tx_pause_ns, 2000u * 12192 * 80 / 100, 2000u * 12192 * 95 / 100);
}

/* With less headroom than the cable holds frames are lost; without pause most are. */
static void
headroom_too_small(void **state)
{
	struct swrig *r = *state;
	unsigned int got;

	lossless_setup(r);
	swrig_word(r, 0, "headroom:9000");
	got = incast(r, 2000, 0);
	assert_true(got < 2000);
	assert_int_equal(swrig_prio(r, 0, 3).drop[TP_SWITCH_DROP_HEADROOM], 2000 - got);
	swrig_word(r, 1, "flow:off");
	got = incast(r, 2000, 0);
	assert_in_range(got, 200, 300);
}

/*
 * A receiver that takes nothing for 20 ms: the sender is told again at half of the longest pause, 1.678 ms, so 1 + 11
 * frames stop it, and one lets it go on.
 */
static void
pause_is_renewed(void **state)
{
	struct swrig *r = *state;
	struct tp_switch_prio_stats s;

	lossless_setup(r);
	swrig_word(r, 2, "rate:0");
	assert_int_equal(incast(r, 100, 20000000), 100);
	s = swrig_prio(r, 0, 3);
	assert_int_equal(s.drop[TP_SWITCH_DROP_HEADROOM], 0);
	assert_int_equal(s.tx_pause_frames, 1 + 11 + 1);
	assert_in_range(s.tx_pause_ns, 19900000, 20000000);
}

/* Lossy traffic of others takes no headroom and stops nobody. */
static void
lossy_beside_lossless(void **state)
{
	struct swrig *r = *state;

	lossless_setup(r);
	for (unsigned int n = 0; n < 1000; n++)
		swrig_send(r, 2, 2, 3, 0, 1500);
	assert_true(swrig_prio(r, 2, 0).drop[TP_SWITCH_DROP_QUEUE] > 0);
	assert_int_equal(swrig_prio(r, 2, 0).headroom_peak, 0);
	assert_int_equal(swrig_recv(r, 2), 0);
	assert_int_equal(incast(r, 500, 0) > 500, true);
	assert_int_equal(swrig_prio(r, 1, 3).tx_frames, 500);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, swrig_up, swrig_down)
	const struct CMUnitTest tests[] = {T(accounting),           T(dynamic_limit),      T(reserves),
					   T(pfc_loses_nothing),    T(headroom_too_small), T(pause_is_renewed),
					   T(lossy_beside_lossless)};

	return cmocka_run_group_tests_name("switch_buf", tests, NULL, NULL);
}
