/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* When a receive queue waits for an interrupt, and how long that waits, by the numbers of the catalogue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "apps/triplane/traffic/rxwait.h"

static struct rxwait_conf
conf(enum rxwait_mode mode)
{
	struct rxwait_conf c;

	rxwait_default(&c);
	c.mode = mode;
	return c;
}

/* How many empty polls it takes until the queue waits; 0: more than limit. */
static unsigned int
gives_up(const struct rxwait_conf *c, struct rxwait *w, unsigned int limit)
{
	unsigned int i;

	for (i = 1; i <= limit; i++)
		if (rxwait_poll(c, w, 0))
			return i;
	return 0;
}

static void
test_polling_never_waits(void **state)
{
	struct rxwait_conf c = conf(RXWAIT_POLLING);
	struct rxwait w = {0};

	(void)state;
	assert_false(rxwait_poll(&c, &w, 512));
	assert_int_equal(gives_up(&c, &w, 300000), 0);
}

static void
test_interrupt_waits_at_once(void **state)
{
	struct rxwait_conf c = conf(RXWAIT_INTERRUPT);
	struct rxwait w = {0};

	(void)state;
	assert_int_equal(gives_up(&c, &w, 10), 1);
	assert_false(rxwait_poll(&c, &w, 512)); /* there may be more */
	assert_int_equal(gives_up(&c, &w, 10), 1);
}

static void
test_adaptive_thresholds(void **state)
{
	struct rxwait_conf c = conf(RXWAIT_ADAPTIVE);
	struct rxwait w = {0};
	unsigned int i;

	(void)state;
	assert_int_equal(gives_up(&c, &w, 10), 1); /* nothing speaks for polling yet */
	rxwait_poll(&c, &w, 99);
	assert_int_equal(gives_up(&c, &w, 10), 1);
	rxwait_poll(&c, &w, 100); /* one poll with this-poll packets */
	assert_int_equal(gives_up(&c, &w, 20000), 10001);
	assert_int_equal(gives_up(&c, &w, 10), 1);
	/* polls of 11: the average passes 10 after a while, with a weight of 16/256 */
	w = (struct rxwait){0};
	for (i = 1; !w.pays && i < 1000; i++)
		rxwait_poll(&c, &w, 11);
	assert_in_range(i, 30, 60); /* 11 * (1 - (15/16)^n) = 10: n = 37 */
	assert_int_equal(gives_up(&c, &w, 20000), 10001);
	for (i = 0; i < 1000; i++)
		rxwait_poll(&c, &w, 9);
	assert_int_equal(gives_up(&c, &w, 10), 1);
}

static void
test_adaptive_ranges(void **state)
{
	struct rxwait_conf c = conf(RXWAIT_ADAPTIVE);
	struct rxwait w = {0};

	(void)state;
	c.thread_poll = 0;
	rxwait_poll(&c, &w, 512);
	assert_int_equal(gives_up(&c, &w, 10), 1);
	c.thread_poll = 200000;
	rxwait_poll(&c, &w, 512);
	assert_int_equal(gives_up(&c, &w, 300000), 200001);
	/* a weight of 0 keeps the average, one of 256 takes the newest poll for it */
	c = conf(RXWAIT_ADAPTIVE);
	w = (struct rxwait){0};
	c.average_weight = 256;
	rxwait_poll(&c, &w, 10);
	assert_int_equal(gives_up(&c, &w, 20000), 10001);
	rxwait_poll(&c, &w, 1);
	assert_int_equal(gives_up(&c, &w, 10), 1);
	c.average_weight = 0;
	rxwait_poll(&c, &w, 99);
	assert_int_equal(gives_up(&c, &w, 10), 1);
	/* thresholds of 0: polling always pays once something came */
	c.average_poll = 0;
	rxwait_poll(&c, &w, 1);
	assert_int_equal(gives_up(&c, &w, 20000), 10001);
	c.average_poll = 1000;
	c.this_poll = 1000;
	rxwait_poll(&c, &w, 999);
	assert_int_equal(gives_up(&c, &w, 10), 1);
}

static void
values(const struct rxwait_conf *c, bool busy, uint16_t count, uint16_t us)
{
	uint16_t got_count = 1, got_us = 1;

	rxmod_values(c, busy, &got_count, &got_us);
	assert_int_equal(got_count, count);
	assert_int_equal(got_us, us);
}

static void
test_moderation(void **state)
{
	struct rxwait_conf c = conf(RXWAIT_INTERRUPT);

	(void)state;
	values(&c, false, 5, 10);
	c.profile = RXMOD_LOW_LATENCY;
	values(&c, true, 0, 0);
	c.profile = RXMOD_AGGRESSIVE;
	values(&c, false, 32, 64);
	c.count = 65535;
	c.us = 7;
	c.profile = RXMOD_MANUAL;
	values(&c, false, 65535, 7);
	c.profile = RXMOD_ADAPTIVE;
	values(&c, false, 0, 0);
	values(&c, true, 65535, 7);
	assert_false(rxmod_busy(&c, false, 149999));
	assert_false(rxmod_busy(&c, false, 170000));
	assert_true(rxmod_busy(&c, false, 170001));
	assert_true(rxmod_busy(&c, true, 150000));
	assert_false(rxmod_busy(&c, true, 149999));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_polling_never_waits), cmocka_unit_test(test_interrupt_waits_at_once),
		cmocka_unit_test(test_adaptive_thresholds), cmocka_unit_test(test_adaptive_ranges),
		cmocka_unit_test(test_moderation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
