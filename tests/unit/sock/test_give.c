/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port goes from one process to another: connections stay where they are, new ones are the other's. One net calls, two serve. */
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

enum { CALLER, OLD, NEW };

/* A connection: both ends, and the caller's address. */
struct pair {
	struct sock *s[2];
	struct tcp_addr from;
};

static struct tcp_addr at; /* the port, another one in each test */

static struct sock *
server(unsigned int end)
{
	struct sock *l = sock_new(cable[end].net);

	assert_int_equal(sock_listen(l, &at, 8), 0);
	return l;
}

/* From a port of its own each time. */
static struct pair
call(struct sock *listener)
{
	static uint16_t port = 10000;
	struct pair p = {.from = {cable[CALLER].ip, rte_cpu_to_be_16(++port)}};

	p.s[0] = sock_new(cable[CALLER].net);
	assert_int_equal(sock_connect(p.s[0], &p.from, &at), 0);
	while (sock_accept(listener, &p.s[1]) == -EAGAIN)
		usleep(100);
	while (sock_connected(p.s[0]) == -EINPROGRESS)
		usleep(100);
	assert_int_equal(sock_connected(p.s[0]), -EISCONN);
	return p;
}

/* Octets go both ways. */
static void
speaks(const struct pair *p)
{
	for (unsigned int i = 0; i < 2; i++) {
		uint8_t out = (uint8_t)(17 + i), in = 0;

		assert_int_equal(sock_send(p->s[i], &(struct iovec){&out, 1}, 1, MSG_NOSIGNAL), 1);
		assert_int_equal(sock_recv(p->s[!i], &(struct iovec){&in, 1}, 1, 0), 1);
		assert_int_equal(in, out);
	}
}

static void
end(const struct pair *p)
{
	sock_close(p->s[0]);
	sock_close(p->s[1]);
}

/* A listener ends. wanted: another process waits for its port already. What makes it wanted, else. */
static int
leave(struct sock *l, bool wanted)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	if (wanted)
		assert_int_equal(write(ends[1], "w", 1), 1);
	sock_leave_port(l, ends[0]);
	if (!wanted)
		return ends[1];
	close(ends[1]);
	return -1;
}

static int
begin(void **state)
{
	static uint16_t port = 4000;

	(void)state;
	at = (struct tcp_addr){cable[OLD].ip, rte_cpu_to_be_16(++port)};
	return 0;
}

static void
test_given(void **state)
{
	struct sock *l = server(OLD), *l2;
	struct pair before = call(l), closed = call(l), after, late;
	struct sock *none;

	(void)state;
	/* The program has closed it, its peer has not. */
	sock_close(closed.s[1]);
	assert_int_equal(leave(l, true), -1);
	assert_int_equal(cable_rules(&cable[OLD], at.port, &before.from), 1);
	assert_int_equal(cable_rules(&cable[OLD], at.port, &closed.from), 1);
	l2 = server(NEW);
	after = call(l2);
	/* Both have the port's rule now. */
	assert_int_equal(cable_rules(&cable[OLD], at.port, NULL) + cable_rules(&cable[NEW], at.port, NULL), 2);
	speaks(&before);
	speaks(&after);
	assert_int_equal(sock_accept(l, &none), -EAGAIN);
	while (cable_rules(&cable[OLD], at.port, NULL) != 0)
		usleep(1000);
	speaks(&before);
	speaks(&after);
	late = call(l2);
	speaks(&late);
	/* A connection's rule lives as long as the connection does. */
	assert_int_equal(cable_rules(&cable[OLD], at.port, &before.from), 1);
	sock_close(closed.s[0]);
	end(&before);
	while (cable_rules(&cable[OLD], at.port, &before.from) + cable_rules(&cable[OLD], at.port, &closed.from) != 0)
		usleep(1000);
	speaks(&after);
	end(&after);
	end(&late);
	sock_close(l);
	sock_close(l2);
}

/* Until another process has the port, a call is answered by nobody, and by the other one when it comes again. */
static void
test_nobody(void **state)
{
	struct sock *l = server(OLD), *s = sock_new(cable[CALLER].net), *l2, *got;
	const struct tcp_addr from = {cable[CALLER].ip, RTE_BE16(9000)};
	unsigned int looks;

	(void)state;
	(void)leave(l, true);
	looks = cable[OLD].looks;
	assert_int_equal(sock_connect(s, &from, &at), 0);
	/* It has seen the call by then. */
	while (cable[OLD].looks - looks < 4)
		(void)sock_inq(l);
	assert_int_equal(sock_connected(s), -EINPROGRESS);
	l2 = server(NEW);
	while (sock_accept(l2, &got) == -EAGAIN)
		usleep(1000);
	while (sock_connected(s) == -EINPROGRESS)
		usleep(100);
	speaks(&(struct pair){.s = {s, got}});
	end(&(struct pair){.s = {s, got}});
	sock_close(l);
	sock_close(l2);
}

/* Who gave a port away and gets it again keeps its rule. */
static void
test_again(void **state)
{
	struct sock *l = server(OLD), *l2;
	struct pair p = call(l), q;

	(void)state;
	(void)leave(l, true);
	l2 = server(OLD);
	end(&p);
	/* What ends then has ended with it. */
	while (cable_rules(&cable[OLD], at.port, &p.from) != 0)
		usleep(1000);
	(void)sock_inq(l2);
	assert_int_equal(cable_rules(&cable[OLD], at.port, NULL), 1);
	q = call(l2);
	speaks(&q);
	end(&q);
	sock_close(l);
	sock_close(l2);
	while (cable_rules(&cable[OLD], at.port, NULL) != 0)
		usleep(1000);
}

/* Who wants the port comes later, or never. */
static void
test_wanted_later(void **state)
{
	struct sock *l = server(OLD), *l2;
	struct pair before = call(l), after;
	const unsigned int unclaimed = cable_unclaimed;
	int wish = leave(l, false);

	(void)state;
	sock_close(l);
	assert_int_equal(cable_rules(&cable[OLD], at.port, &before.from), 0);
	assert_int_equal(write(wish, "w", 1), 1);
	while (cable_unclaimed == unclaimed)
		usleep(1000);
	close(wish);
	l2 = server(NEW);
	after = call(l2);
	speaks(&before);
	speaks(&after);
	end(&before);
	end(&after);
	wish = leave(l2, false);
	sock_close(l2);
	/* Its connection's end is the last that uses the port. */
	while (cable_unclaimed == unclaimed + 1)
		usleep(1000);
	assert_int_equal(cable_rules(&cable[NEW], at.port, NULL), 0);
	close(wish);
}

static void
test_stand_by(void **state)
{
	struct sock *l = sock_new(cable[NEW].net), *none;
	const unsigned int freed = cable_freed;
	struct pair p;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(sock_stand_by(l, &at, ends[0]), 0);
	assert_int_equal(sock_accept(l, &none), -EAGAIN);
	sock_net_lock(cable[NEW].net);
	assert_int_equal(sock_ready_now(l), 0);
	sock_net_unlock(cable[NEW].net);
	assert_int_equal(cable_rules(&cable[NEW], at.port, NULL), 0);
	assert_int_equal(cable_freed, freed);
	close(ends[1]);
	while (cable_freed == freed)
		usleep(1000);
	close(ends[0]);
	assert_int_equal(sock_listen(l, &at, 8), 0);
	p = call(l);
	speaks(&p);
	end(&p);
	sock_close(l);
}

int
main(void)
{
	const uint8_t addr[CABLE_ENDS] = {[CALLER] = 1, [OLD] = 2, [NEW] = 2};
#define T(f) cmocka_unit_test_setup(f, begin)
	const struct CMUnitTest tests[] = {T(test_given), T(test_nobody), T(test_again), T(test_wanted_later),
					   T(test_stand_by)};
	int failed;

	if (cable_begin(CABLE_ENDS, addr) != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	cable_over();
	return failed;
}
