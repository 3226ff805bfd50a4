/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Congestion control against the formulas, worked out by hand or with real numbers of C. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/roce/cc/cc.h"

#define LINE 40000u
#define US UINT64_C(1000)
#define G(x) ((uint32_t)((x)*1000000.0 + 0.5)) /* Gb/s as kb/s */

static struct tcc_conf paper, card, vendor;

static int
defaults(void **state)
{
	(void)state;
	tcc_conf_default(&paper, TCC_PAPER, LINE);
	tcc_conf_default(&card, TCC_CARD, LINE);
	tcc_conf_default(&vendor, TCC_VENDOR, LINE);
	return 0;
}

/* Rates are whole kb/s, and one is rounded up in each step. */
static void
near_rate(uint32_t got, double gbps, unsigned int steps)
{
	if (fabs((double)got - gbps * 1e6) > steps)
		fail_msg("%u kb/s, wanted %.3f", got, gbps * 1e6);
}

static double
alpha(struct tcc_rp *rp, const struct tcc_conf *c, uint64_t now)
{
	return (double)tcc_rp_alpha(rp, c, now) / TCC_ALPHA_ONE;
}

static void
unlimited(void **state)
{
	struct tcc_rp rp = {0};

	(void)state;
	assert_int_equal(tcc_rp_next(&rp, &paper, 5 * US), 5 * US);
	tcc_rp_sent(&rp, &paper, 1000000000, 5 * US);
	assert_int_equal(tcc_rp_next(&rp, &paper, 5 * US), 5 * US);
	assert_int_equal(tcc_rp_rate(&rp, &paper, 5 * US), G(40));
}

/* With alpha at 1 each CNP halves: 40, 20, 10, ... */
static void
halves(void **state)
{
	struct tcc_rp rp = {0};
	double want = 40;

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		assert_true(tcc_rp_cnp(&rp, &paper, 100 * US + i));
		want /= 2;
		near_rate(tcc_rp_rate(&rp, &paper, 100 * US + i), want, 8);
	}
}

/* alpha falls by g = 1/256 each 55 us, also when nobody asks for long; the next CNP cuts by half of it, then it grows. */
static void
alpha_falls(void **state)
{
	double want = pow(1 - 1 / 256.0, 100), rate;
	struct tcc_rp rp = {0};
	uint64_t now = 100 * 55 * US + 7;

	(void)state;
	paper.time_reset = 0;
	tcc_rp_cnp(&rp, &paper, 0);
	assert_true(fabs(alpha(&rp, &paper, 55 * US - 1) - 1) < 1e-6);
	assert_true(fabs(alpha(&rp, &paper, 55 * US) - 255 / 256.0) < 1e-6);
	assert_true(fabs(alpha(&rp, &paper, now) - want) < 1e-6);
	tcc_rp_cnp(&rp, &paper, now);
	rate = 20 * (1 - want / 2);
	near_rate(tcc_rp_rate(&rp, &paper, now), rate, 40);
	assert_true(fabs(alpha(&rp, &paper, now) - (want * 255 / 256 + 1 / 256.0)) < 1e-6);
	/* The timer began anew. */
	assert_true(fabs(alpha(&rp, &paper, now + 55 * US - 1) - (want * 255 / 256 + 1 / 256.0)) < 1e-6);
	/* A second is 18181 updates: alpha is 1.3e-31. */
	assert_true(alpha(&rp, &paper, now + 1000000 * US) < 1e-8);
}

/* Fast recovery halves the way to the target, then the target moves by 40 Mb/s a stage of time. */
static void
stages_of_time(void **state)
{
	static const double recovery[] = {15, 17.5, 18.75, 19.375};
	double rate = 19.375, target = 20;
	struct tcc_rp rp = {0};
	uint64_t t = 0;

	(void)state;
	tcc_rp_cnp(&rp, &paper, 0);
	tcc_rp_cnp(&rp, &paper, 0);
	for (unsigned int i = 0; i < 4; i++) {
		near_rate(tcc_rp_rate(&rp, &paper, t + 55 * US - 1), i == 0 ? 10 : recovery[i - 1], 4);
		t += 55 * US;
		near_rate(tcc_rp_rate(&rp, &paper, t), recovery[i], 4);
	}
	for (unsigned int i = 0; i < 50; i++) {
		t += 55 * US;
		target += 0.04;
		rate = (rate + target) / 2;
		near_rate(tcc_rp_rate(&rp, &paper, t), rate, 60);
	}
}

/* The same by bytes; with both beyond the threshold the target moves by 400 Mb/s, twice that, ... (paper). */
static void
stages_of_bytes(void **state)
{
	struct tcc_rp rp = {0};
	double rate = 10, target = 20;

	(void)state;
	tcc_rp_cnp(&rp, &paper, 0);
	tcc_rp_cnp(&rp, &paper, 0);
	for (unsigned int i = 1; i <= 6; i++) {
		tcc_rp_sent(&rp, &paper, 9999999, 1);
		near_rate(tcc_rp_rate(&rp, &paper, 1), rate, 8);
		tcc_rp_sent(&rp, &paper, 1, 1);
		if (i >= 5)
			target += 0.04;
		rate = (rate + target) / 2;
		near_rate(tcc_rp_rate(&rp, &paper, 1), rate, 8);
	}
	/* Six stages of bytes stand; the sixth of time is beyond the threshold, too. */
	for (unsigned int i = 1; i <= 8; i++) {
		target += i <= 5 ? 0.04 : 0.4 * 1;
		rate = (rate + target) / 2;
		near_rate(tcc_rp_rate(&rp, &paper, i * 55 * US), rate, 20);
	}
}

static void
released(void **state)
{
	struct tcc_rp rp = {0};
	uint64_t t = 0;

	(void)state;
	tcc_rp_cnp(&rp, &paper, 0);
	while (rp.limited && t < 100000 * US)
		tcc_rp_rate(&rp, &paper, t += 55 * US);
	assert_false(rp.limited);
	assert_int_equal(tcc_rp_rate(&rp, &paper, t), G(40));
	assert_int_equal(tcc_rp_next(&rp, &paper, t), t);
	/* The next CNP is the first of a new time: half. */
	tcc_rp_cnp(&rp, &paper, t);
	near_rate(tcc_rp_rate(&rp, &paper, t), 20, 1);
}

/* A packet of 1000 bytes at 20 Gb/s takes 400 ns; who waited has saved nothing. */
static void
paced(void **state)
{
	struct tcc_rp rp = {0};

	(void)state;
	tcc_rp_cnp(&rp, &paper, 0);
	assert_int_equal(tcc_rp_next(&rp, &paper, 0), 0);
	tcc_rp_sent(&rp, &paper, 1000, 0);
	assert_int_equal(tcc_rp_next(&rp, &paper, 10), 400);
	tcc_rp_sent(&rp, &paper, 1000, 400);
	assert_int_equal(tcc_rp_next(&rp, &paper, 400), 800);
	assert_int_equal(tcc_rp_next(&rp, &paper, 30 * US), 30 * US);
	tcc_rp_sent(&rp, &paper, 1000, 30 * US);
	assert_int_equal(tcc_rp_next(&rp, &paper, 30 * US), 30 * US + 400);
}

/* --- the card's parameters -------------------------------------------------------------------------------------- */

static void
first_cnp(void **state)
{
	struct tcc_rp rp = {0};

	(void)state;
	tcc_rp_cnp(&rp, &card, 0);
	assert_int_equal(tcc_rp_rate(&rp, &card, 0), G(3));
	/* Back to the line: half the way each 100 us. */
	near_rate(tcc_rp_rate(&rp, &card, 100 * US), 21.5, 1);
	/* 0: as any other; alpha begins at 0, so nothing is taken. */
	rp = (struct tcc_rp){0};
	card.rate_on_first_cnp = 0;
	tcc_rp_cnp(&rp, &card, 0);
	assert_int_equal(tcc_rp_rate(&rp, &card, 0), G(40));
	/* initial-alpha 1023/1024: half, but for a thousandth. */
	rp = (struct tcc_rp){0};
	card.initial_alpha = 1023;
	tcc_rp_cnp(&rp, &card, 0);
	near_rate(tcc_rp_rate(&rp, &card, 0), 40 * (1 - 1023 / 2048.0), 40);
}

/* alpha is updated each 4 us: by CNPs in that time it grows by 32/1024 of what is missing. */
static void
ticks(void **state)
{
	struct tcc_rp rp = {0};
	double want = 0;

	(void)state;
	card.time_reset = card.byte_reset = 0;
	for (unsigned int i = 0; i < 20; i++) {
		tcc_rp_cnp(&rp, &card, i * 4 * US);
		tcc_rp_cnp(&rp, &card, i * 4 * US + 1);
		want = want * (1 - 32 / 1024.0) + 32 / 1024.0;
		assert_true(fabs(alpha(&rp, &card, (i + 1) * 4 * US - 1) - (want - 32 / 1024.0) / (1 - 32 / 1024.0)) <
			    1e-6);
		assert_true(fabs(alpha(&rp, &card, (i + 1) * 4 * US) - want) < 1e-6);
	}
	want *= pow(1 - 32 / 1024.0, 10);
	assert_true(fabs(alpha(&rp, &card, 30 * 4 * US) - want) < 1e-6);
}

/* One decrease in 32 us, however many CNPs come. */
static void
monitor_period(void **state)
{
	struct tcc_rp rp = {0};
	uint32_t rate;

	(void)state;
	card.initial_alpha = 1023;
	card.dce_tcp_rtt = 0;
	card.time_reset = card.byte_reset = 0;
	card.rate_on_first_cnp = 20000;
	tcc_rp_cnp(&rp, &card, 0);
	assert_int_equal(tcc_rp_rate(&rp, &card, 0), G(20));
	for (unsigned int us = 1; us < 32; us++)
		tcc_rp_cnp(&rp, &card, us * US);
	assert_int_equal(tcc_rp_rate(&rp, &card, 32 * US - 1), G(20));
	tcc_rp_cnp(&rp, &card, 32 * US);
	rate = tcc_rp_rate(&rp, &card, 32 * US);
	near_rate(rate, 20 * (1 - 1023 / 2048.0), 40);
	assert_int_equal(tcc_rp_rate(&rp, &card, 1000 * US), rate);
}

static void
variant_names(void **state)
{
	(void)state;
	assert_int_equal(tcc_variant_find("card"), TCC_CARD);
	assert_int_equal(tcc_variant_find("paper"), TCC_PAPER);
	assert_int_equal(tcc_variant_find("vendor-hpcc"), TCC_VENDOR);
	assert_int_equal(tcc_variant_find("vendor"), TCC_VENDOR);
	assert_int_equal(tcc_variant_find(""), TCC_VARIANTS);
	assert_int_equal(tcc_variant_find("hpcc"), TCC_VARIANTS);
	for (unsigned int v = 0; v < TCC_VARIANTS; v++)
		assert_int_equal(tcc_variant_find(tcc_variant_name((enum tcc_variant)v)), v);
}

/*
 * Target after a second decrease: moved by both flags as the manual says. time, bytes: was there a stage of it since the
 * first?
 */
static void
clamps(void **state)
{
	static const struct {
		bool clamp, after, time, bytes, moves;
	} rows[] = {
		{false, false, false, false, false}, {false, false, true, false, false},
		{false, false, false, true, true},   {false, true, false, false, false},
		{false, true, true, false, true},    {false, true, false, true, false},
		{true, false, false, false, true},   {true, false, true, false, true},
		{true, true, false, true, true},
	};

	(void)state;
	card.rate_on_first_cnp = 10000;
	card.byte_reset = 32767;
	card.min_dec_fac = 100; /* decreases leave the rate, so that the target alone is seen */
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcc_rp rp = {0};
		uint32_t before;
		uint64_t t = 50 * US;

		card.clamp_target_rate = rows[i].clamp;
		card.clamp_target_rate_after_time_inc = rows[i].after;
		tcc_rp_cnp(&rp, &card, 0);
		if (rows[i].bytes)
			tcc_rp_sent(&rp, &card, 32767 * 64, 1);
		if (rows[i].time)
			t = 150 * US;
		before = tcc_rp_rate(&rp, &card, t);
		tcc_rp_cnp(&rp, &card, t);
		assert_int_equal(rp.target, rows[i].moves ? before : G(40));
	}
}

/* One decrease leaves min-dec-fac percent, and never less than min-rate. */
static void
floors(void **state)
{
	struct tcc_rp rp = {0};

	(void)state;
	card.initial_alpha = 1023;
	card.dce_tcp_rtt = 0;
	card.time_reset = card.byte_reset = 0;
	card.rate_on_first_cnp = 1000;
	card.alpha_to_rate_shift = 10; /* a decrease by alpha itself */
	card.min_dec_fac = 80;
	card.min_rate = 500;
	tcc_rp_cnp(&rp, &card, 0);
	assert_int_equal(tcc_rp_rate(&rp, &card, 0), G(1));
	tcc_rp_cnp(&rp, &card, 40 * US);
	near_rate(tcc_rp_rate(&rp, &card, 40 * US), 0.8, 1);
	for (unsigned int i = 2; i < 10; i++)
		tcc_rp_cnp(&rp, &card, i * 40 * US);
	assert_int_equal(tcc_rp_rate(&rp, &card, 400 * US), G(0.5));
	/* Even with no floor at all a queue pair moves on. */
	card.min_rate = card.min_dec_fac = 0;
	card.alpha_to_rate_shift = 0;
	tcc_rp_cnp(&rp, &card, 500 * US);
	assert_int_equal(tcc_rp_rate(&rp, &card, 500 * US), 1);
	tcc_rp_sent(&rp, &card, 1000, 500 * US);
	assert_int_equal(tcc_rp_next(&rp, &card, 500 * US), 500 * US + UINT64_C(8000000000));
}

static void
min_rate_is_line(void **state)
{
	struct tcc_rp rp = {0};

	(void)state;
	card.min_rate = LINE;
	assert_false(tcc_rp_cnp(&rp, &card, 0));
	assert_int_equal(tcc_rp_rate(&rp, &card, 0), G(40));
	assert_false(rp.limited);
}

/* A limit begins and ends at max-rate; above the line's it is that. A first rate is at most that, and min-rate there is no control. */
static void
max_rate(void **state)
{
	static const double rates[] = {5, 7.5, 8.75, 9.375, 9.6875};
	struct tcc_rp rp = {0};
	uint64_t t = 0;

	(void)state;
	paper.max_rate = 10000;
	paper.ai_rate = 400;
	assert_int_equal(tcc_rp_rate(&rp, &paper, 0), G(40));
	tcc_rp_cnp(&rp, &paper, 0);
	for (unsigned int i = 0; i < sizeof(rates) / sizeof(rates[0]); i++, t += 55 * US)
		near_rate(tcc_rp_rate(&rp, &paper, t), rates[i], 8);
	assert_int_equal(rp.target, G(10));
	for (unsigned int i = 0; i < 60 && rp.limited; i++, t += 55 * US)
		(void)tcc_rp_rate(&rp, &paper, t);
	assert_false(rp.limited);
	assert_int_equal(tcc_rp_rate(&rp, &paper, t), G(40));
	paper.max_rate = LINE + 1;
	tcc_rp_cnp(&rp, &paper, t);
	near_rate(tcc_rp_rate(&rp, &paper, t), 20, 1);
	card.max_rate = 2000;
	rp = (struct tcc_rp){0};
	tcc_rp_cnp(&rp, &card, 0);
	assert_int_equal(tcc_rp_rate(&rp, &card, 0), G(2));
	card.min_rate = 2000;
	rp = (struct tcc_rp){0};
	assert_false(tcc_rp_cnp(&rp, &card, 0));
}

/* Beyond both thresholds each stage of time moves the target by the hyper step, and without that stage by the additive one. */
static void
no_hyper(void **state)
{
	struct tcc_conf *const conf[] = {&card, &vendor, &paper};

	(void)state;
	card.initial_alpha = 1023;
	card.rate_on_first_cnp = vendor.rate_on_first_cnp = 1000;
	for (unsigned int k = 0; k < 5; k++) {
		struct tcc_conf *c = conf[k / 2];
		struct tcc_rp rp = {0};
		uint32_t target, step;
		uint64_t t = 0;

		/* Cuts move the target down from the line; the paper's hyper step grows, and has a test of its own. */
		c->clamp_target_rate = true;
		c->disable_hai_stage = k % 2 == 0;
		step = (k % 2 == 0 ? c->ai_rate : c->hai_rate) * 1000;
		for (unsigned int i = 0; i < 6; i++)
			tcc_rp_cnp(&rp, c, t += 50 * US);
		t += 4 * US;
		(void)tcc_rp_rate(&rp, c, t);
		tcc_rp_sent(&rp, c, 7 * c->byte_reset * 64, t);
		t += 7 * c->time_reset * US;
		(void)tcc_rp_rate(&rp, c, t);
		target = rp.target;
		for (unsigned int i = 1; i <= 3; i++) {
			t += c->time_reset * US;
			(void)tcc_rp_rate(&rp, c, t);
			assert_true(rp.limited);
			assert_int_equal(rp.target, target + i * step);
		}
	}
}

/* --- notification point, words ----------------------------------------------------------------------------------- */

static void
cnp_spacing(void **state)
{
	struct tcc_np np = {0};
	unsigned int told = 0;

	(void)state;
	assert_true(tcc_np_mark(&np, 50, 0));
	assert_false(tcc_np_mark(&np, 50, 50 * US - 1));
	assert_true(tcc_np_mark(&np, 50, 50 * US));
	/* 0: each one */
	assert_true(tcc_np_mark(&np, 0, 50 * US));
	/* A mark each us for 10 ms: 200 at most. */
	np = (struct tcc_np){0};
	for (unsigned int us = 0; us < 10000; us++)
		told += tcc_np_mark(&np, 50, us * US);
	assert_int_equal(told, 200);
}

/* Ranges and defaults of the manual. */
static void
words(void **state)
{
	static const struct {
		const char *name;
		uint64_t min, max, def;
		bool line;
	} rows[] = {
		{"clamp-target-rate", 0, 1, 0, false},
		{"clamp-target-rate-after-time-inc", 0, 1, 1, false},
		{"disable-hai-stage", 0, 1, 0, false},
		{"time-reset", 0, 131071, 100, false},
		{"byte-reset", 0, 32767, 400, false},
		{"threshold", 1, 31, 5, false},
		{"ai-rate", 1, LINE, 10, true},
		{"hai-rate", 1, LINE, 100, true},
		{"alpha-to-rate-shift", 0, 11, 11, false},
		{"min-dec-fac", 0, 100, 50, false},
		{"min-rate", 0, LINE, 1, true},
		{"max-rate", 0, LINE, 0, true},
		{"rate-on-first-cnp", 0, LINE, 3000, true},
		{"dce-tcp-g", 0, 1023, 32, false},
		{"dce-tcp-rtt", 0, 131071, 4, false},
		{"rate-reduce-monitor-period", 0, UINT64_C(4294967294), 32, false},
		{"initial-alpha", 0, 1023, 0, false},
		{"cnp-interval", 0, 131071, 4, false},
		{"cnp-dscp", 0, 63, 0, false},
		{"cnp-802p-prio", 0, 7, 7, false},
		{"cnp-prio-mode", 0, 1, 1, false},
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int p = tcc_param_find(rows[i].name);

		assert_true(p >= 0);
		assert_int_equal(tcc_param_get(&card, (unsigned int)p), rows[i].def);
		assert_int_equal(tcc_param_set(&card, (unsigned int)p, rows[i].min), 0);
		assert_int_equal(tcc_param_get(&card, (unsigned int)p), rows[i].min);
		assert_int_equal(tcc_param_set(&card, (unsigned int)p, rows[i].max), 0);
		assert_int_equal(tcc_param_get(&card, (unsigned int)p), rows[i].max);
		if (rows[i].min != 0)
			assert_int_equal(tcc_param_set(&card, (unsigned int)p, rows[i].min - 1), -ERANGE);
		assert_int_equal(tcc_param_set(&card, (unsigned int)p, rows[i].max + 1), rows[i].line ? 1 : -ERANGE);
		assert_int_equal(tcc_param_get(&card, (unsigned int)p), rows[i].max);
	}
	assert_null(tcc_param(sizeof(rows) / sizeof(rows[0])));
	assert_int_equal(tcc_param_find("cnp"), -1);
	assert_int_equal(tcc_param_set(&card, sizeof(rows) / sizeof(rows[0]), 0), -ERANGE);
	/* A line slower than a default. */
	tcc_conf_default(&card, TCC_CARD, 50);
	assert_int_equal(card.hai_rate, 50);
	assert_int_equal(card.rate_on_first_cnp, 50);
	/* A line that became slower. */
	tcc_conf_line(&paper, 100);
	assert_int_equal(paper.line_rate, 100);
	assert_int_equal(paper.hai_rate, 100);
	assert_int_equal(paper.ai_rate, 40);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(unlimited, defaults),       cmocka_unit_test_setup(halves, defaults),
		cmocka_unit_test_setup(alpha_falls, defaults),     cmocka_unit_test_setup(stages_of_time, defaults),
		cmocka_unit_test_setup(stages_of_bytes, defaults), cmocka_unit_test_setup(released, defaults),
		cmocka_unit_test_setup(paced, defaults),           cmocka_unit_test_setup(first_cnp, defaults),
		cmocka_unit_test_setup(ticks, defaults),           cmocka_unit_test_setup(monitor_period, defaults),
		cmocka_unit_test_setup(variant_names, defaults),   cmocka_unit_test_setup(clamps, defaults),
		cmocka_unit_test_setup(floors, defaults),          cmocka_unit_test_setup(min_rate_is_line, defaults),
		cmocka_unit_test_setup(max_rate, defaults),        cmocka_unit_test_setup(no_hyper, defaults),
		cmocka_unit_test_setup(cnp_spacing, defaults),     cmocka_unit_test_setup(words, defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
