/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Signals that come in the moment in which a command has looked for them, and does not sleep yet; on its thread, and on another one. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>

#include <cmocka.h>

#include "apps/triplane/app/app.h"

#define LONG_MS 3600000

/* What comes before the next sleep. */
static int signal_before;
static bool elsewhere;
static unsigned int sleeps;

static void *
raised(void *arg)
{
	raise(*(int *)arg);
	return NULL;
}

int __real_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms);

int
__wrap_poll(struct pollfd *fds, nfds_t n, int ms)
{
	int sig = signal_before;
	pthread_t t;

	signal_before = 0;
	sleeps++;
	if (sig != 0 && elsewhere) {
		assert_int_equal(pthread_create(&t, NULL, raised, &sig), 0);
		assert_int_equal(pthread_join(t, NULL), 0);
	} else if (sig != 0) {
		raise(sig);
	}
	return __real_poll(fds, n, ms);
}

static void
test_time(void **state)
{
	const struct app app = {0};

	(void)state;
	sleeps = 0;
	assert_true(app_sleep_ms(&app, 1));
	assert_int_not_equal(sleeps, 0);
	sleeps = 0;
	assert_true(app_sleep_ms(&app, 0));
	assert_int_equal(sleeps, 0);
}

static void
interrupted(bool other)
{
	const struct app app = {0};

	sleeps = 0;
	elsewhere = other;
	signal_before = SIGINT;
	assert_false(app_sleep_ms(&app, LONG_MS));
	assert_int_equal(sleeps, 1);
	/* It ended that command alone: the next one sleeps its time. */
	assert_true(app_resume(&app));
	assert_false(app_resume(&app));
	sleeps = 0;
	assert_true(app_sleep_ms(&app, 1));
	assert_int_not_equal(sleeps, 0);
}

static void
test_interrupted(void **state)
{
	(void)state;
	interrupted(false);
	interrupted(true);
}

/* The last test: the program ends. */
static void
test_terminated(void **state)
{
	const struct app app = {0};

	(void)state;
	elsewhere = true;
	signal_before = SIGTERM;
	assert_false(app_sleep_ms(&app, LONG_MS));
	assert_false(app_resume(&app));
	sleeps = 0;
	assert_false(app_sleep_ms(&app, LONG_MS));
	assert_int_equal(sleeps, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_terminated),
	};

	app_signals();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
