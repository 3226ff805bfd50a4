/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The card's own thread: no doorbell is lost, an idle card sleeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_pair.h"

#include <time.h>
#include <unistd.h>

#define WAIT_S 60 /* nobody is that slow, but the card's thread may have to wait for a CPU */

static void
thread_forwards(void **state)
{
	struct fix *f = *state;
	unsigned int got = 0, tries = 0;
	time_t end = time(NULL) + WAIT_S;

	f->r.m->virtual_time = false;
	assert_int_equal(tp_model_thread_start(f->r.m, -1, 200), 0);
	assert_int_equal(tp_model_thread_start(f->r.m, -1, 200), -EBUSY);
	/* One at a time: the next is posted when the last has arrived, so a lost doorbell stops everything. */
	while (got < 5000 && time(NULL) < end) {
		if (f->tx.prod == got) {
			rig_data(&f->tx, 1, f->tx.bufs, 60);
			rig_post(&f->tx, MLX4_OP_SEND, 2, MLX4_CTRL_NO_ICRC);
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
			rig_ring(&f->r, &f->tx);
		}
		if (rig_poll(f->rx.rcq, 64, &f->rx.rci, f->rx.rcq_rec) != NULL)
			__atomic_store_n(f->rx.dbrec, rte_cpu_to_be_32((64 + ++got) & 0xffff), __ATOMIC_RELEASE);
		else if (++tries % 1000 == 0)
			usleep(100);
	}
	assert_int_equal(got, 5000);
	tp_model_thread_stop(f->r.m);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/*
 * What an idle card costs is its rounds: one for each sleep of wake_max_us at the most, however fast the machine is.
 * The share of a CPU is the bench's business.
 */
static void
idle_sleeps(void **state)
{
	struct fix *f = *state;
	struct tp_model_stats before, after;
	struct timespec a, b;
	uint64_t ms;

	assert_int_equal(tp_model_thread_start(f->r.m, -1, 0), -EINVAL);
	assert_int_equal(tp_model_thread_start(f->r.m, -1, 1000), 0);
	usleep(50000);
	clock_gettime(CLOCK_MONOTONIC, &a);
	tp_model_get_stats(f->r.m, &before);
	do {
		usleep(500000);
		tp_model_get_stats(f->r.m, &after);
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while (after.sleeps - before.sleeps < 10 && b.tv_sec - a.tv_sec < WAIT_S);
	tp_model_thread_stop(f->r.m);
	ms = (uint64_t)((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000) + 1;
	assert_in_range(after.steps - before.steps, 10, ms + 2);
	assert_in_range(after.sleeps - before.sleeps, 10, ms + 2);
}

#define RARE_POLLS 64u
#define RARE_US 110u
#define RARE_TIMES 8u

/* A core that has many cards to poll comes to each of them a few times in a millisecond, and the thread leaves the card to it. */
static void
rare_polls(void **state)
{
	struct fix *f = *state;
	struct tp_model_stats before, after;
	time_t end = time(NULL) + WAIT_S;
	unsigned int alone = 0;

	assert_int_equal(tp_model_thread_start(f->r.m, -1, 1000), 0);
	/* Who loses its CPU among them is no such core for that long; once the thread may have none itself. */
	while (alone < RARE_TIMES && time(NULL) < end) {
		tp_model_get_stats(f->r.m, &before);
		for (unsigned int i = 0; i < RARE_POLLS; i++) {
			struct timespec from, now;

			tp_model_poll(f->r.m, 8);
			clock_gettime(CLOCK_MONOTONIC, &from);
			do
				clock_gettime(CLOCK_MONOTONIC, &now);
			while ((now.tv_sec - from.tv_sec) * 1000000 + (now.tv_nsec - from.tv_nsec) / 1000 < RARE_US);
		}
		tp_model_get_stats(f->r.m, &after);
		alone += after.steps - before.steps == RARE_POLLS;
	}
	tp_model_thread_stop(f->r.m);
	assert_int_equal(alone, RARE_TIMES);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)
	const struct CMUnitTest tests[] = {T(thread_forwards), T(idle_sleeps), T(rare_polls)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
