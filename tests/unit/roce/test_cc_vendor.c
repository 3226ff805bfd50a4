/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Congestion control as simulators of later cards have it, against the description by a program in Python, and by real numbers of C. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/roce/cc/cc.h"

#define LINE 40000u
#define US UINT64_C(1000)
#define G(x) ((uint32_t)((x)*1000000.0 + 0.5)) /* Gb/s as kb/s */

static struct tcc_conf paper, vendor;

static int
defaults(void **state)
{
	(void)state;
	tcc_conf_default(&paper, TCC_PAPER, LINE);
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

/*
 * The vendor's variant, event by event: what a program in Python says that was written from the description alone, with CNPs at
 * 0, 1.5, 2.5, 9.1, 1000.5 and 1900.2 us. The first CNP cuts nothing: checks come each 4 us since then, alpha's updates each us.
 * Behind a cut the first stage of time is fast recovery, the second additive, all others hyper.
 */
static void
vendor_walk(void **state)
{
	static const uint64_t cnps[] = {0, 1500, 2500, 9100, 1000500, 1900200};
	static const struct {
		uint64_t at;
		double rate, target, alpha;
	} rows[] = {
		{0, 40.000000, 40.000000, 1.000000000},       {3999, 40.000000, 40.000000, 0.996124208},
		{4000, 20.155338, 40.000000, 0.992233098},    {8000, 20.155338, 40.000000, 0.976820061},
		{12000, 10.425125, 40.000000, 0.965522237},   {311999, 10.425125, 40.000000, 0.299589510},
		{312000, 25.212562, 40.000000, 0.298419238},  {612000, 32.606281, 40.000000, 0.092234066},
		{912000, 36.303141, 40.000000, 0.028507287},  {1003999, 36.303141, 40.000000, 0.023841075},
		{1004000, 35.872078, 36.303141, 0.023747946}, {1304000, 36.087609, 36.303141, 0.007339907},
		{1604000, 36.197875, 36.308141, 0.002268585}, {1903999, 36.197875, 36.308141, 0.004579706},
		{1904000, 36.195261, 36.278008, 0.004561816}, {2204000, 36.236634, 36.278008, 0.001409946},
		{2504000, 36.259821, 36.283008, 0.000435780}, {2804000, 36.296414, 36.333008, 0.000134689},
		{3104000, 36.339711, 36.383008, 0.000041629}, {3404000, 36.386359, 36.433008, 0.000012867},
	};
	struct tcc_rp rp = {0}, idle = {0};
	unsigned int next = 0;

	(void)state;
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (; next < sizeof(cnps) / sizeof(cnps[0]) && cnps[next] <= rows[i].at; next++)
			assert_true(tcc_rp_cnp(&rp, &vendor, cnps[next]));
		near_rate(tcc_rp_rate(&rp, &vendor, rows[i].at), rows[i].rate, 60);
		near_rate(rp.target, rows[i].target, 60);
		assert_true(fabs(alpha(&rp, &vendor, rows[i].at) - rows[i].alpha) < 1e-6);
	}
	/* Bytes are no stages: only time raises the rate. */
	near_rate(rp.rate, rows[sizeof(rows) / sizeof(rows[0]) - 1].rate, 60);
	tcc_rp_sent(&rp, &vendor, 1u << 30, rows[sizeof(rows) / sizeof(rows[0]) - 1].at);
	near_rate(rp.rate, rows[sizeof(rows) / sizeof(rows[0]) - 1].rate, 60);
	/* Nobody asks meanwhile: the same. */
	for (unsigned int i = 0; i < sizeof(cnps) / sizeof(cnps[0]); i++)
		tcc_rp_cnp(&idle, &vendor, cnps[i]);
	near_rate(tcc_rp_rate(&idle, &vendor, 3404000), rows[sizeof(rows) / sizeof(rows[0]) - 1].rate, 60);
}

/* The same program with three stages of fast recovery, and cuts that move the target. */
static void
vendor_threshold(void **state)
{
	static const double rates[] = {20.310674, 10.581759, 15.446216, 17.878445, 19.094559,
				       19.705117, 20.035395, 20.225534, 20.345604};
	struct tcc_rp rp = {0};

	(void)state;
	vendor.threshold = 3;
	vendor.clamp_target_rate = true;
	tcc_rp_cnp(&rp, &vendor, 0);
	near_rate(tcc_rp_rate(&rp, &vendor, 4 * US), rates[0], 60);
	tcc_rp_cnp(&rp, &vendor, 10500);
	for (unsigned int i = 0; i < sizeof(rates) / sizeof(rates[0]) - 1; i++)
		near_rate(tcc_rp_rate(&rp, &vendor, (12 + 300 * i) * US), rates[i + 1], 60);
	/* A first rate is also the target; a period of 0 cuts at once, by all that alpha says. */
	rp = (struct tcc_rp){0};
	vendor.rate_on_first_cnp = 8000;
	vendor.rate_reduce_monitor_period = 0;
	tcc_rp_cnp(&rp, &vendor, 5 * US);
	assert_int_equal(rp.target, G(8));
	assert_int_equal(tcc_rp_rate(&rp, &vendor, 5 * US), G(4));
}

/*
 * A flow that is back at the line's rate is limited no more. In simulators alpha has gone on meanwhile, 255/256 of it each ms here, and
 * checks come each 4 us since the first CNP: the next cut is by what is left. In the paper a limit begins with alpha at 1.
 */
static void
vendor_back_at_line(void **state)
{
	struct tcc_rp rp = {0};
	double left = pow(255 / 256.0, 100);

	(void)state;
	vendor.dce_tcp_rtt = 1000;
	vendor.hai_rate = LINE;
	tcc_rp_cnp(&rp, &vendor, 0);
	near_rate(tcc_rp_rate(&rp, &vendor, 4 * US), 20, 1);
	assert_int_equal(tcc_rp_rate(&rp, &vendor, 100001 * US), G(40));
	assert_false(rp.limited);
	tcc_rp_cnp(&rp, &vendor, 100001 * US);
	assert_true(rp.limited);
	assert_true(fabs(alpha(&rp, &vendor, 100001 * US) - left) < 1e-6);
	assert_int_equal(tcc_rp_rate(&rp, &vendor, 100004 * US - 1), G(40));
	near_rate(tcc_rp_rate(&rp, &vendor, 100004 * US), 40 * (1 - left / 2), 40);
	/* That CNP counts for alpha, as it is not the first one. */
	assert_true(fabs(alpha(&rp, &vendor, 101000 * US) - (left * 255 / 256 + 1 / 256.0)) < 1e-6);
	/* The paper's: half again. */
	rp = (struct tcc_rp){0};
	tcc_rp_cnp(&rp, &paper, 0);
	assert_int_equal(tcc_rp_rate(&rp, &paper, 1000000 * US), G(40));
	tcc_rp_cnp(&rp, &paper, 1000000 * US);
	assert_int_equal(tcc_rp_rate(&rp, &paper, 1000000 * US), G(20));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(vendor_walk, defaults),
		cmocka_unit_test_setup(vendor_threshold, defaults),
		cmocka_unit_test_setup(vendor_back_at_line, defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
