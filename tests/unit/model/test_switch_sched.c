/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What leaves a switch and when: shares, strict priority, rates, pauses. Times are virtual and computed by hand. */
#include "switch_rig.h"

#define MS 1000000u

/* Keeps priorities of the mask waiting at port 2 while it runs for so long; len[]: of each priority's frames. */
static void
run_backlogged(struct swrig *r, unsigned int mask, const uint32_t *len, uint64_t ns)
{
	uint64_t end = r->now + ns;

	for (; r->now < end; r->now += 10000) {
		for (unsigned int prio = 0; prio < TP_SWITCH_PRIOS; prio++)
			while ((mask >> prio & 1) != 0 && swrig_prio(r, 1, prio).out_bytes < 200000)
				swrig_send(r, 0, 2, 1, (int)prio, len[prio]);
		swrig_drain(r, 1);
	}
}

/* Line bytes (with FCS, preamble, gap) of a priority at port 2. */
static double
line_bytes(struct swrig *r, unsigned int prio)
{
	struct tp_switch_prio_stats s = swrig_prio(r, 1, prio);

	return (double)(s.tx_bytes + 24 * s.tx_frames);
}

#define assert_near(got, want, percent)                                                                                \
	do {                                                                                                           \
		double got_ = (got), want_ = (want);                                                                   \
		if (got_ < want_ * (1 - (percent) / 100.0) || got_ > want_ * (1 + (percent) / 100.0))                  \
			fail_msg("%s is %f, wanted %f", #got, got_, want_);                                            \
	} while (0)

/* 50/30/20 of 10 Gb/s over 20 ms (25 MB), whatever the sizes of frames. */
static void
shares(void **state)
{
	static const uint32_t len[8] = {1500, 64, 9000};
	struct swrig *r = *state;

	swrig_word(r, 2, "rate:10000");
	swrig_word(r, 2, "ets:50+30+20+0+0+0+0+0");
	swrig_teach(r);
	run_backlogged(r, 0x7, len, 20 * MS);
	assert_near(line_bytes(r, 0), 12.5e6, 1);
	assert_near(line_bytes(r, 1), 7.5e6, 1);
	assert_near(line_bytes(r, 2), 5.0e6, 1);
	assert_near(line_bytes(r, 0) + line_bytes(r, 1) + line_bytes(r, 2), 25e6, 0.1);
}

/* A strict class with a rate of 2 Gb/s goes first; the others share what is left, 8 Gb/s. */
static void
strict_and_shares(void **state)
{
	static const uint32_t len[8] = {1500, 1500, 1500, 0, 0, 0, 0, 1000};
	struct swrig *r = *state;

	swrig_word(r, 2, "rate:10000");
	swrig_word(r, 2, "ets:50+30+20+0+0+0+0+0");
	swrig_word(r, 2, "tc-rate:0+0+0+0+0+0+0+2000");
	swrig_teach(r);
	run_backlogged(r, 0x87, len, 20 * MS);
	/* The rate is of frames with FCS: 1004 of 1024 bytes on the line. */
	assert_near((double)swrig_prio(r, 1, 7).tx_frames * 1004, 5e6, 1);
	assert_near(line_bytes(r, 0), 0.5 * (25e6 - 5e6 * 1024 / 1004), 1);
	assert_near(line_bytes(r, 1), 0.3 * (25e6 - 5e6 * 1024 / 1004), 1);
	assert_near(line_bytes(r, 2), 0.2 * (25e6 - 5e6 * 1024 / 1004), 1);
}

/* Without a rate the highest strict class leaves nothing; lower strict classes still come before shares. */
static void
strict_order(void **state)
{
	static const uint32_t len[8] = {1500, 1500, 1500, 1500, 1500};
	struct swrig *r = *state;

	swrig_word(r, 2, "rate:1000");
	swrig_word(r, 2, "ets:0+0+0+0+100+0+0+0");
	swrig_teach(r);
	for (unsigned int n = 0; n < 5; n++)
		for (unsigned int prio = 0; prio < 5; prio++)
			swrig_send(r, 0, 2, 1, (int)prio, len[prio]);
	r->now += MS;
	assert_int_equal(swrig_recv(r, 1), 25);
	for (unsigned int n = 0; n < 25; n++)
		assert_int_equal(r->got[n].seg[0].data[14] >> 5, n < 20 ? 3 - n / 5 : 4);
}

static void
rate_of_class(void **state)
{
	static const uint32_t len[8] = {1500, 700};
	struct swrig *r = *state;

	swrig_word(r, 2, "tc-rate:400+25500+0+0+0+0+0+0");
	swrig_teach(r);
	run_backlogged(r, 0x3, len, 50 * MS);
	assert_near((double)swrig_prio(r, 1, 0).tx_frames * 1504 * 8, 400e6 * 0.05, 1);
	assert_near((double)swrig_prio(r, 1, 1).tx_frames * 704 * 8, 25500e6 * 0.05, 1);
}

/* A frame of 1476 bytes is 1500 on the line: 1.2 us at 10 Gb/s. It leaves when its last bit does, not before. */
static void
line_time(void **state)
{
	struct swrig *r = *state;
	uint64_t t;

	swrig_word(r, 2, "rate:10000");
	swrig_teach(r);
	r->now += MS;
	t = r->now;
	for (unsigned int n = 0; n < 3; n++)
		swrig_send(r, 0, 2, 1, 0, 1476);
	for (unsigned int n = 1; n <= 3; n++) {
		r->now = t + n * 1200 - 1;
		assert_int_equal(swrig_recv(r, 1), 0);
		r->now++;
		assert_int_equal(swrig_recv(r, 1), 1);
	}
	/* Asked once, late, it is the same: 1 ms at 10 Gb/s are 833 such frames. */
	for (unsigned int n = 0; n < 1000; n++)
		swrig_send(r, 0, 2, 1, 0, 1476);
	r->now += MS;
	assert_int_equal(swrig_drain(r, 1), 833);
}

/* 802.3 Annex 31B: 100 quanta of 512 bit times at 10 Gb/s are 5120 ns; a frame on its way is finished. */
static void
pause_quanta(void **state)
{
	struct swrig *r = *state;
	uint64_t t;

	swrig_word(r, 2, "rate:10000");
	swrig_teach(r);
	r->now += MS;
	t = r->now;
	for (unsigned int n = 0; n < 3; n++)
		swrig_send(r, 0, 2, 1, 0, 1476);
	assert_int_equal(swrig_recv(r, 1), 0);
	r->now = t + 100;
	swrig_pause(r, 1, 0, 100);
	r->now = t + 1200;
	assert_int_equal(swrig_recv(r, 1), 1);
	r->now = t + 100 + 5120 + 1200 - 1;
	assert_int_equal(swrig_recv(r, 1), 0);
	r->now++;
	assert_int_equal(swrig_recv(r, 1), 1);
	assert_int_equal(swrig_prio(r, 1, 0).rx_pause_ns, 5120);
	/* A new time replaces the old one; none lets it go on at once. */
	swrig_pause(r, 1, 0, 0xffff);
	r->now += 2000;
	assert_int_equal(swrig_recv(r, 1), 1);
	swrig_send(r, 0, 2, 1, 0, 1476);
	r->now += 100000;
	assert_int_equal(swrig_recv(r, 1), 0);
	swrig_pause(r, 1, 0, 0);
	r->now += 1200;
	assert_int_equal(swrig_recv(r, 1), 1);
	assert_int_equal(swrig_prio(r, 1, 0).rx_pause_ns, 5120 + 102000);
	assert_int_equal(swrig_prio(r, 1, 0).rx_pause_frames, 3);
}

/* A line that stood still has not gone on meanwhile: behind a pause that was ended frames leave one by one, from then on. */
static void
no_burst_behind_pause(void **state)
{
	struct swrig *r = *state;
	uint64_t t;

	swrig_word(r, 0, "lossless:3");
	swrig_word(r, 2, "rate:10000");
	swrig_teach(r);
	for (unsigned int round = 0; round < 2; round++) {
		swrig_pause(r, 1, 1 << 3, 0xffff);
		for (unsigned int n = 0; n < 20; n++)
			swrig_send(r, 0, 2, 1, 3, 1476);
		r->now += 100000;
		assert_int_equal(swrig_recv(r, 1), 0);
		/* Of another priority there is one meanwhile. */
		if (round == 1)
			swrig_send(r, 0, 2, 1, 0, 1476);
		swrig_pause(r, 1, 1 << 3, 0);
		t = r->now;
		for (unsigned int n = 1; n <= 20 + round; n++) {
			r->now = t + n * 1200 - 1;
			assert_int_equal(swrig_recv(r, 1), 0);
			r->now++;
			assert_int_equal(swrig_recv(r, 1), 1);
		}
		r->now += 100000;
		assert_int_equal(swrig_recv(r, 1), 0);
	}
	assert_int_equal(swrig_prio(r, 1, 3).rx_pause_ns, 2 * 100000);
}

/* 802.1Qbb: only the priorities that it names stop, only where the switch is set up for it. */
static void
pfc_quanta(void **state)
{
	struct swrig *r = *state;
	struct tp_switch_port_stats st;

	swrig_word(r, 0, "lossless:3");
	swrig_word(r, 2, "tc:0+0+0+0+0+0+0+0");
	swrig_teach(r);
	swrig_pause(r, 1, 1 << 3, 1000);
	swrig_pause(r, 1, 1 << 0, 1000);
	swrig_pause(r, 1, 0, 1000);
	swrig_send(r, 0, 2, 1, 3, 100);
	swrig_send(r, 0, 2, 1, 0, 100);
	/* Both share a class: the paused one does not hold up the other. */
	assert_int_equal(swrig_recv(r, 1), 1);
	assert_int_equal(r->got[0].seg[0].data[14] >> 5, 0);
	/* Without a rate quanta are those of 40 Gb/s: 12.8 ns. */
	r->now += 12799;
	assert_int_equal(swrig_recv(r, 1), 0);
	r->now++;
	assert_int_equal(swrig_recv(r, 1), 1);
	assert_int_equal(tp_switch_port_stats_get(r->sw, 2, &st), 0);
	assert_int_equal(st.rx_control, 3);
	assert_int_equal(st.prio[3].rx_pause_ns, 12800);
	assert_int_equal(st.prio[0].rx_pause_frames, 0);
	swrig_word(r, 2, "flow:off");
	swrig_pause(r, 1, 1 << 3, 1000);
	swrig_send(r, 0, 2, 1, 3, 100);
	assert_int_equal(swrig_recv(r, 1), 1);
}

/* A class that was paused has saved nothing: afterwards it gets its share and no more. */
static void
no_credit_from_pause(void **state)
{
	static const uint32_t len[8] = {0, 1500, 0, 1500};
	struct swrig *r = *state;
	double before;

	swrig_word(r, 0, "lossless:3");
	swrig_word(r, 2, "rate:10000");
	swrig_word(r, 2, "ets:0+50+0+50+0+0+0+0");
	swrig_word(r, 0, "xoff:400000");
	swrig_teach(r);
	swrig_pause(r, 1, 1 << 3, 0xffff);
	run_backlogged(r, 0xa, len, 3 * MS);
	assert_int_equal(swrig_prio(r, 1, 3).tx_frames, 0);
	swrig_pause(r, 1, 1 << 3, 0);
	before = line_bytes(r, 1);
	run_backlogged(r, 0xa, len, 10 * MS);
	assert_near(line_bytes(r, 3), 6.25e6, 1);
	assert_near(line_bytes(r, 1) - before, 6.25e6, 1);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, swrig_up, swrig_down)
	const struct CMUnitTest tests[] = {
		T(shares),       T(strict_and_shares), T(strict_order),          T(rate_of_class),       T(line_time),
		T(pause_quanta), T(pfc_quanta),        T(no_burst_behind_pause), T(no_credit_from_pause)};

	return cmocka_run_group_tests_name("switch_sched", tests, NULL, NULL);
}
