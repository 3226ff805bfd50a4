/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* 802.1Qau against its formulas, worked out by hand: the message's octets, what is sampled and said, how rates fall and rise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/roce/cc/qau.h"

#define LINE 10000u
#define MS UINT64_C(1000000)
#define QEQ 26000u
#define BASE 150000u

/* As switches of several makers have it: 4 bits of version, 6 of nothing, 6 of feedback, 8 octets of CPID, 2 + 2, priority, address, length. */
static void
octets(void **state)
{
	static const uint8_t want[TQAU_CNM_LEN] = {0x00, 0x2a, 1,    2,    3, 4, 5, 6, 7, 8,    0x00, 0x10,
						   0xff, 0xff, 0xa0, 0x00, 2, 0, 0, 0, 0, 0x07, 0x00, 0x40};
	const struct tqau_cnm m = {.fb = 42,
				   .cpid = UINT64_C(0x0102030405060708),
				   .qoff = 1024,
				   .qdelta = -64,
				   .prio = 5,
				   .dst = {2, 0, 0, 0, 0, 7},
				   .msdu_len = 64};
	uint8_t out[TQAU_CNM_LEN];
	struct tqau_cnm back;

	(void)state;
	tqau_cnm_put(out, &m);
	assert_memory_equal(out, want, sizeof(want));
	assert_true(tqau_cnm_get(out, sizeof(out), &back));
	assert_int_equal(back.fb, 42);
	assert_int_equal(back.cpid, m.cpid);
	assert_int_equal(back.qoff, 1024);
	assert_int_equal(back.qdelta, -64);
	assert_int_equal(back.prio, 5);
	assert_memory_equal(back.dst, m.dst, 6);
	assert_int_equal(back.msdu_len, 64);
	assert_false(tqau_cnm_get(out, sizeof(out) - 1, &back));
	out[0] = 0x10;
	assert_false(tqau_cnm_get(out, sizeof(out), &back));
	/* What does not fit is at its end. */
	tqau_cnm_put(out, &(struct tqau_cnm){.qoff = 1 << 30, .qdelta = -(1 << 30)});
	assert_memory_equal(out + 10, ((const uint8_t[]){0x7f, 0xff, 0x80, 0x00}), 4);
}

/* Fb = qoff + 2 qdelta, 63 of which are 5 QEQ; nothing is said while it is not above 0. */
static void
feedback(void **state)
{
	static const struct {
		uint32_t old, depth;
		int fb; /* -1: nothing is said */
	} cases[] = {{0, 0, -1},         {26000, 26000, -1}, {26000, 25000, -1}, {30000, 30000, 1},  {0, 26000, 25},
		     {26000, 52000, 37}, {52000, 52000, 12}, {52000, 30000, -1}, {26000, 91000, 63}, {0, 10000000, 63}};

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tqau_cp cp = {.old = cases[i].old, .left = 1000};
		struct tqau_cnm m = {.fb = 0};

		assert_false(tqau_cp_frame(&cp, cases[i].depth, 999, QEQ, BASE, 512, &m));
		assert_int_equal(tqau_cp_frame(&cp, cases[i].depth, 1, QEQ, BASE, 512, &m), cases[i].fb > 0);
		if (cases[i].fb > 0) {
			assert_int_equal(m.fb, cases[i].fb);
			assert_int_equal(m.qoff, (int)cases[i].depth - (int)QEQ);
			assert_int_equal(m.qdelta, (int)cases[i].depth - (int)cases[i].old);
		}
		assert_int_equal(cp.old, cases[i].depth);
		/* The gap is 150 KB by 1 + Fb / 8, spread by 15 %. */
		assert_in_range(cp.left, BASE / (1 + (cases[i].fb > 0 ? (unsigned int)cases[i].fb / 8 : 0)) * 99 / 100,
				BASE / (1 + (cases[i].fb > 0 ? (unsigned int)cases[i].fb / 8 : 0)) * 101 / 100);
	}
}

static void
jitter(void **state)
{
	(void)state;
	for (unsigned int j = 0; j < 2; j++) {
		struct tqau_cp cp = {0};
		struct tqau_cnm m;

		assert_false(tqau_cp_frame(&cp, 0, 60, QEQ, BASE, j == 0 ? 0 : 1023, &m));
		assert_in_range(cp.left, j == 0 ? 127500 : 172300, j == 0 ? 127500 : 172500);
	}
}

/* A message of 63 takes 63/128 of the rate, one of 1 takes 1/128; never more than half is taken, and min-rate is left. */
static void
decrease(void **state)
{
	struct tqau_conf c;
	struct tqau_rp rp = {0};

	(void)state;
	tqau_conf_default(&c, LINE);
	assert_int_equal(tqau_rp_rate(&rp, &c, 0), LINE * 1000);
	assert_false(tqau_rp_cnm(&rp, &c, 0, 0));
	assert_true(tqau_rp_cnm(&rp, &c, 63, 0));
	assert_int_equal(tqau_rp_rate(&rp, &c, 0), 10000000 - 10000000 * 63 / 128);
	assert_true(tqau_rp_cnm(&rp, &c, 1, 0));
	assert_int_equal(tqau_rp_rate(&rp, &c, 0), 5078125 - 5078125 / 128);
	/* Nothing raised it between: the target is still where it was. */
	assert_int_equal(rp.target, LINE * 1000);
	c.gd = 0;
	assert_true(tqau_rp_cnm(&rp, &c, 63, 0));
	assert_int_equal(tqau_rp_rate(&rp, &c, 0), (5078125 - 5078125 / 128) / 2);
	for (unsigned int i = 0; i < 20; i++)
		assert_true(tqau_rp_cnm(&rp, &c, 63, 0));
	assert_int_equal(tqau_rp_rate(&rp, &c, 0), 10000);
	c.min_rate = LINE;
	rp = (struct tqau_rp){0};
	assert_false(tqau_rp_cnm(&rp, &c, 63, 0));
	c.min_rate = 10;
	c.max_rate = 4000;
	assert_true(tqau_rp_cnm(&rp, &c, 32, 0));
	assert_int_equal(tqau_rp_rate(&rp, &c, 0), 2000000);
}

/* Half the way to the target five times, each 15 ms; then steps of 5 Mb/s, of stages of half the time. */
static void
stages_of_time(void **state)
{
	uint64_t rate = 5078125, target = 10000000, now = 0;
	struct tqau_conf c;
	struct tqau_rp rp = {0};

	(void)state;
	tqau_conf_default(&c, 100000);
	c.max_rate = LINE;
	assert_true(tqau_rp_cnm(&rp, &c, 63, 0));
	/* A second message soon after, so that the target is below the top. */
	now = 15 * MS;
	rate = (rate + target + 1) / 2;
	assert_int_equal(tqau_rp_rate(&rp, &c, now), rate);
	assert_true(tqau_rp_cnm(&rp, &c, 63, now));
	target = rate;
	rate -= rate * 63 / 128;
	assert_int_equal(tqau_rp_rate(&rp, &c, now), rate);
	assert_int_equal(rp.target, target);
	for (unsigned int i = 1; i <= 8; i++) {
		now += i <= 5 ? 15 * MS : 15 * MS / 2;
		assert_int_equal(tqau_rp_rate(&rp, &c, now - 1), rate);
		if (i >= 5)
			target += 5000;
		rate = (rate + target + 1) / 2;
		assert_int_equal(tqau_rp_rate(&rp, &c, now), rate);
	}
}

/* Bytes count as time does; with both behind the threshold steps are 50 Mb/s, 100, 150 ... */
static void
hyper(void **state)
{
	uint64_t rate, target;
	struct tqau_conf c;
	struct tqau_rp rp = {0};

	(void)state;
	tqau_conf_default(&c, LINE);
	assert_true(tqau_rp_cnm(&rp, &c, 63, 0));
	tqau_rp_sent(&rp, &c, 150000, 0);
	rate = tqau_rp_rate(&rp, &c, 0);
	assert_int_equal(rate, (5078125 + 10000000 + 1) / 2);
	assert_true(tqau_rp_cnm(&rp, &c, 63, 0));
	/* Stage 5 of both comes with the last: bytes first, a step of 5, then time, one of 50. */
	for (unsigned int i = 1; i <= 4; i++) {
		tqau_rp_sent(&rp, &c, 150000, 15 * MS * i - 1);
		(void)tqau_rp_rate(&rp, &c, 15 * MS * i);
	}
	rate = rp.rate;
	target = rp.target;
	tqau_rp_sent(&rp, &c, 150000, 15 * MS * 5 - 1);
	target += 5000;
	rate = (rate + target + 1) / 2;
	assert_int_equal(rp.rate, rate);
	target += 50000;
	rate = (rate + target + 1) / 2;
	assert_int_equal(tqau_rp_rate(&rp, &c, 15 * MS * 5), rate);
	/* Stages of half the octets from here: time is at 5 still, so the step is 50 again; then both at 6 make it 100. */
	tqau_rp_sent(&rp, &c, 75000, 15 * MS * 5);
	target += 50000;
	rate = (rate + target + 1) / 2;
	assert_int_equal(rp.rate, rate);
	target += 100000;
	rate = (rate + target + 1) / 2;
	assert_int_equal(tqau_rp_rate(&rp, &c, 15 * MS * 5 + 15 * MS / 2), rate);
}

/* A target more than ten times the rate is an eighth with the first stage. */
static void
far_target(void **state)
{
	struct tqau_conf c;
	struct tqau_rp rp = {0};

	(void)state;
	tqau_conf_default(&c, LINE);
	for (unsigned int i = 0; i < 6; i++)
		assert_true(tqau_rp_cnm(&rp, &c, 63, 0));
	assert_int_equal(rp.target, 10000000);
	assert_true(rp.rate < 1000000);
	tqau_rp_sent(&rp, &c, 150000, 0);
	assert_int_equal(rp.target, 1250000);
}

/* The frames of a limited flow are as far apart as its rate says; at the top it is let go. */
static void
paced(void **state)
{
	struct tqau_conf c;
	struct tqau_rp rp = {0};
	uint64_t now = 1000;

	(void)state;
	tqau_conf_default(&c, LINE);
	assert_int_equal(tqau_rp_next(&rp, &c, now), now);
	tqau_rp_sent(&rp, &c, 1000000, now);
	assert_int_equal(tqau_rp_next(&rp, &c, now), now);
	assert_true(tqau_rp_cnm(&rp, &c, 64, now));
	c.byte_reset = 0;
	assert_int_equal(rp.rate, 5000000);
	tqau_rp_sent(&rp, &c, 1000, now);
	assert_int_equal(tqau_rp_next(&rp, &c, now), now + 1600);
	assert_int_equal(tqau_rp_next(&rp, &c, now + 2000), now + 2000);
	/* Steps of 0 end nowhere, and do not take for ever. */
	c.ai_rate = c.hai_rate = 0;
	rp.target = 6000000;
	c.time_reset = 1;
	assert_int_equal(tqau_rp_rate(&rp, &c, UINT64_C(1) << 62), 6000000);
	c.ai_rate = 5;
	assert_int_equal(tqau_rp_rate(&rp, &c, (UINT64_C(1) << 62) + 100 * MS), LINE * 1000);
	assert_false(rp.limited);
	assert_int_equal(tqau_rp_next(&rp, &c, 5), 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(octets),     cmocka_unit_test(feedback),       cmocka_unit_test(jitter),
		cmocka_unit_test(decrease),   cmocka_unit_test(stages_of_time), cmocka_unit_test(hyper),
		cmocka_unit_test(far_target), cmocka_unit_test(paced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
