/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* When calls that send and receive look for frames. Two nets with a cable between them, each call of whose ends is counted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "cable.h"

#define LOOK_US 10u
#define PARK_US 1000u

static struct sock *s[2];

static ssize_t
put(int n, const void *data, size_t len)
{
	return sock_send(s[n], &(struct iovec){(void *)(uintptr_t)data, len}, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static ssize_t
get(int n, void *data, size_t len)
{
	return sock_recv(s[n], &(struct iovec){data, len}, 1, MSG_DONTWAIT);
}

static int
connected(void **state)
{
	static uint16_t port = 4000; /* another one each time */
	const struct tcp_addr at = {cable[1].ip, rte_cpu_to_be_16(++port)}, from = {cable[0].ip, at.port};
	struct sock *l = sock_new(cable[1].net);

	(void)state;
	s[0] = sock_new(cable[0].net);
	if (sock_listen(l, &at, 1) != 0 || sock_connect(s[0], &from, &at) != 0)
		return -1;
	while (sock_accept(l, &s[1]) != 0 || sock_connected(s[0]) != 0)
		usleep(100);
	sock_close(l);
	return 0;
}

static int
closed(void **state)
{
	(void)state;
	sock_close(s[0]);
	sock_close(s[1]);
	return 0;
}

/* Who has what it asked for looks once in a while; beside it the net's own thread does. */
static void
test_seldom(void **state)
{
	static uint8_t data[4000];
	unsigned int looks;
	uint64_t began, us;

	(void)state;
	assert_int_equal(put(1, data, sizeof(data)), sizeof(data));
	while (sock_inq(s[0]) < (int)sizeof(data))
		usleep(100);
	looks = cable[0].looks;
	began = sock_now();
	for (unsigned int i = 0; i < sizeof(data); i++)
		assert_int_equal(get(0, data, 1), 1);
	us = sock_now() - began;
	looks = cable[0].looks - looks;
	if (looks > us / LOOK_US + 2 * (us / PARK_US) + 4)
		fail_msg("%u looks in %lu us", looks, (unsigned long)us);
}

/* Who has not, looks at once: what has come by then is found. */
static void
test_at_once(void **state)
{
	const int on = 1;
	uint8_t octet;

	(void)state;
	assert_int_equal(sock_opt_set(s[1], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	for (unsigned int i = 0; i < 2000; i++) {
		octet = (uint8_t)i;
		assert_int_equal(put(1, &octet, 1), 1);
		octet = 0;
		assert_int_equal(get(0, &octet, 1), 1);
		assert_int_equal(octet, (uint8_t)i);
		assert_int_equal(get(0, &octet, 1), -EAGAIN);
	}
}

/* The same of room. */
static void
test_room(void **state)
{
	static uint8_t data[65536];
	const int buf = 8192;
	size_t sent = 0, got = 0;
	ssize_t n;

	(void)state;
	assert_int_equal(sock_opt_set(s[0], SOL_SOCKET, SO_SNDBUF, &buf, sizeof(buf)), 0);
	for (unsigned int i = 0; i < 200; i++) {
		while ((n = put(0, data, sizeof(data))) > 0)
			sent += (size_t)n;
		assert_int_equal(n, -EAGAIN);
		/* All that is there, and its acknowledgements lie at the other end. */
		while (got < sent) {
			n = get(1, data, sizeof(data));
			if (n > 0)
				got += (size_t)n;
			else
				(void)sock_inq(s[0]);
		}
		n = put(0, data, 1);
		assert_int_equal(n, 1);
		sent++;
	}
}

int
main(void)
{
	const uint8_t addr[2] = {1, 2};
#define T(f) cmocka_unit_test_setup_teardown(f, connected, closed)
	const struct CMUnitTest tests[] = {T(test_seldom), T(test_at_once), T(test_room)};
	int failed;

	if (cable_begin(2, addr) != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	cable_over();
	return failed;
}
