/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* When a call that waits looks for frames before it sleeps. What it waits for comes when the test says so, not by a frame. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_eal.h>

#include "lib/sock/sock.h"
#include "tests/unit/eal.h"

/* Longer than any test, and so is the quarter of it in which others may have the CPU: what is looked for is found by count. */
#define SPIN_US 1000000u
#define NEVER_FOUND UINT32_MAX
#define NETS 5u /* one a test */

static struct rte_mempool *pool;
static int event_fd;

/* --- a home without frames --- */

static uint16_t
no_rx(void *home, struct rte_mbuf **m, uint16_t n)
{
	(void)home, (void)m, (void)n;
	return 0;
}

static uint16_t
no_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	(void)home, (void)m, (void)n;
	return 0;
}

static bool
yes(void *home)
{
	(void)home;
	return true;
}

static void
nothing(void *home)
{
	(void)home;
}

static int
fd(void *home)
{
	(void)home;
	return event_fd;
}

static const struct sock_home ops = {
	.rx = no_rx, .tx = no_tx, .sent = yes, .arm = nothing, .event_fd = fd, .event = nothing};

/* --- a wait --- */

struct wait {
	uint32_t looks, found_at; /* done() is true from so many looks on */
	uint32_t sleeps;
	uint64_t sleep_us, count[SOCK_COUNTS];
};

static bool
done(void *arg)
{
	struct wait *w = arg;

	return w->looks++ >= w->found_at;
}

/* It sleeps so long, and what it waits for is there. */
static int
sleeps(void *arg, uint64_t until, struct pollfd *frames)
{
	struct wait *w = arg;

	(void)frames;
	if (until != TCP_NEVER)
		return -EAGAIN;
	w->sleeps++;
	usleep((useconds_t)w->sleep_us);
	w->found_at = 0;
	return 0;
}

static struct sock_net *
net_new(uint32_t spin_us, uint32_t looks)
{
	/* None is ever freed, since other threads of a program may call it to the end: each stays in sight. */
	static struct sock_net *nets[NETS];
	static unsigned int num;
	const struct sock_conf conf = {.tcp = {.pool = pool}, .spin_us = spin_us, .spin_looks = looks};
	int err = 0;

	assert_in_range(num, 0, NETS - 1);
	nets[num] = sock_net_create(&conf, &ops, NULL, &err);
	assert_non_null(nets[num]);
	return nets[num++];
}

static int
wait_for(struct sock_net *n, struct wait *w, uint32_t found_at, uint64_t until)
{
	uint64_t *const count = w->count;

	w->looks = 0;
	w->found_at = found_at;
	return sock_wait(n, &(struct sock_wait){done, NULL, sleeps, w, false, &count}, until);
}

/* --- tests --- */

static void
test_found_by_looking(void **state)
{
	struct sock_net *n = net_new(SPIN_US, 0);
	struct wait w = {0};

	(void)state;
	for (unsigned int i = 1; i <= 5; i++) {
		assert_int_equal(wait_for(n, &w, 3, TCP_NEVER), 0);
		assert_int_equal(w.count[SOCK_POLL_HITS], i);
	}
	assert_int_equal(w.sleeps, 0);
	/* What is there at once is not looked for. */
	assert_int_equal(wait_for(n, &w, 0, TCP_NEVER), 0);
	assert_int_equal(w.count[SOCK_POLL_HITS], 5);
	sock_net_end(n, 0);
}

/* A number of looks ends it, too. */
static void
test_so_many_looks(void **state)
{
	struct sock_net *n = net_new(SPIN_US, 7);
	struct wait w = {0};

	(void)state;
	assert_int_equal(wait_for(n, &w, NEVER_FOUND, TCP_NEVER), 0);
	assert_int_equal(w.sleeps, 1);
	assert_int_equal(w.count[SOCK_POLL_MISSES], 1);
	/* Once before it looks, seven times; before it arms, behind that, and after it slept. */
	assert_in_range(w.looks, 8, 11);
	sock_net_end(n, 0);
}

/* Waits that ended without a thing are looked for more and more seldom. */
static void
miss(struct sock_net *n, struct wait *w, unsigned int times)
{
	const uint64_t want = w->count[SOCK_POLL_MISSES] + times;

	while (w->count[SOCK_POLL_MISSES] < want)
		assert_int_equal(wait_for(n, w, NEVER_FOUND, sock_now() + 1), -EAGAIN);
}

static void
test_seldom_where_it_brings_nothing(void **state)
{
	struct sock_net *n = net_new(SPIN_US, 1);
	struct wait w = {0};
	unsigned int waits = 0;

	(void)state;
	miss(n, &w, 3);
	/* Seven waits without, then one that looks. */
	while (w.count[SOCK_POLL_MISSES] == 3) {
		(void)wait_for(n, &w, NEVER_FOUND, sock_now() + 1);
		waits++;
	}
	assert_int_equal(waits, 8);
	sock_net_end(n, 0);
}

/* One that slept for a short time only is no reason: two ends that sleep would keep each other from looking. */
static void
test_short_sleeps_do_not_count(void **state)
{
	struct sock_net *n = net_new(SPIN_US, 1);
	struct wait w = {0};

	(void)state;
	miss(n, &w, 3);
	assert_int_equal(wait_for(n, &w, NEVER_FOUND, TCP_NEVER), 0);
	assert_int_equal(w.count[SOCK_POLL_MISSES], 3);
	for (unsigned int i = 1; i <= 3; i++) {
		assert_int_equal(wait_for(n, &w, 1, TCP_NEVER), 0);
		assert_int_equal(w.count[SOCK_POLL_HITS], i);
	}
	assert_int_equal(w.count[SOCK_POLL_MISSES], 3);
	sock_net_end(n, 0);
}

static void
test_long_sleeps_do(void **state)
{
	struct sock_net *n = net_new(SPIN_US / 10, 1);
	struct wait w = {.sleep_us = 4 * SPIN_US / 10 + 1};

	(void)state;
	miss(n, &w, 3);
	assert_int_equal(wait_for(n, &w, NEVER_FOUND, TCP_NEVER), 0);
	assert_int_equal(wait_for(n, &w, 1, TCP_NEVER), 0);
	assert_int_equal(w.count[SOCK_POLL_HITS], 0);
	sock_net_end(n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found_by_looking),
		cmocka_unit_test(test_so_many_looks),
		cmocka_unit_test(test_seldom_where_it_brings_nothing),
		cmocka_unit_test(test_short_sleeps_do_not_count),
		cmocka_unit_test(test_long_sleeps_do),
	};

	if (unit_eal("sock", "64", "--log-level=error") < 0)
		return 1;
	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pool = rte_pktmbuf_pool_create("sock", 255, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (event_fd < 0 || pool == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
