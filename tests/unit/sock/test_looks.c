/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* When calls that send and receive look for frames. Two nets with a cable between them, each call of whose ends is counted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_eal.h>

#include "lib/sock/sock.h"

#define WIRE 1024u
#define LOOK_US 10u
#define PARK_US 1000u

/* An end of the cable: what comes to it. */
struct end {
	pthread_mutex_t lock;
	struct rte_mbuf *m[WIRE];
	uint32_t first, n;
	rte_be32_t ip;
	int fd;
	atomic_uint looks;
};

static struct end end[2] = {{.lock = PTHREAD_MUTEX_INITIALIZER, .ip = RTE_BE32(0x0a000001)},
			    {.lock = PTHREAD_MUTEX_INITIALIZER, .ip = RTE_BE32(0x0a000002)}};
static struct rte_mempool *pool;
static struct sock_net *net[2];
static struct sock *s[2];

static uint16_t
take(void *home, struct rte_mbuf **m, uint16_t n)
{
	struct end *e = home;
	uint16_t k;

	e->looks++;
	pthread_mutex_lock(&e->lock);
	for (k = 0; k < n && e->n != 0; k++, e->n--)
		m[k] = e->m[e->first++ % WIRE];
	pthread_mutex_unlock(&e->lock);
	return k;
}

static uint16_t
give(void *home, struct rte_mbuf **m, uint16_t n)
{
	struct end *to = home == &end[0] ? &end[1] : &end[0];
	const uint64_t one = 1;
	uint16_t k;

	pthread_mutex_lock(&to->lock);
	for (k = 0; k < n && to->n < WIRE; k++, to->n++) {
		to->m[(to->first + to->n) % WIRE] = rte_pktmbuf_copy(m[k], pool, 0, UINT32_MAX);
		assert_non_null(to->m[(to->first + to->n) % WIRE]);
		rte_pktmbuf_free(m[k]);
	}
	pthread_mutex_unlock(&to->lock);
	(void)!write(to->fd, &one, sizeof(one));
	return k;
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
fd_of(void *home)
{
	return ((struct end *)home)->fd;
}

static void
told(void *home)
{
	uint64_t count;

	(void)!read(fd_of(home), &count, sizeof(count));
}

static int
path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *p)
{
	(void)local, (void)remote;
	*p = (struct tcp_path){.local = ((struct end *)home)->ip, .mtu = 1500};
	memset(&p->src, 2, sizeof(p->src));
	memset(&p->dst, 4, sizeof(p->dst));
	return 0;
}

static bool
ours(void *home, rte_be32_t ip)
{
	return ip == ((struct end *)home)->ip;
}

static int
steer(void *home, rte_be16_t port, bool on)
{
	(void)home, (void)port, (void)on;
	return 0;
}

static const struct sock_home ops = {.rx = take,
				     .tx = give,
				     .sent = yes,
				     .arm = nothing,
				     .event_fd = fd_of,
				     .event = told,
				     .path = path,
				     .local = ours,
				     .steer = steer};

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
	const struct tcp_addr at = {end[1].ip, rte_cpu_to_be_16(++port)}, from = {end[0].ip, at.port};
	struct sock *l = sock_new(net[1]);

	(void)state;
	s[0] = sock_new(net[0]);
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
	looks = end[0].looks;
	began = sock_now();
	for (unsigned int i = 0; i < sizeof(data); i++)
		assert_int_equal(get(0, data, 1), 1);
	us = sock_now() - began;
	looks = end[0].looks - looks;
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

static struct sock_net *
net_new(struct end *e)
{
	const struct sock_conf conf = {.tcp = {.pool = pool, .delack_ms = 1}, .spin_us = 100};
	int err = 0;

	e->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return e->fd < 0 ? NULL : sock_net_create(&conf, &ops, e, &err);
}

int
main(void)
{
	char *eal[] = {
		(char *)(uintptr_t) "sock",        (char *)(uintptr_t) "--no-huge",
		(char *)(uintptr_t) "-m",          (char *)(uintptr_t) "64",
		(char *)(uintptr_t) "--no-shconf", (char *)(uintptr_t) "--no-telemetry",
		(char *)(uintptr_t) "--no-pci",    (char *)(uintptr_t) "--lcores",
		(char *)(uintptr_t) "0@0",         (char *)(uintptr_t) "--log-level=error",
	};
#define T(f) cmocka_unit_test_setup_teardown(f, connected, closed)
	const struct CMUnitTest tests[] = {T(test_seldom), T(test_at_once), T(test_room)};
	int failed;

	if (rte_eal_init(RTE_DIM(eal), eal) < 0)
		return 1;
	pool = rte_pktmbuf_pool_create("sock", 4095, 0, 0, 4096, 0);
	if (pool == NULL)
		return 1;
	for (int i = 0; i < 2; i++)
		if ((net[i] = net_new(&end[i])) == NULL)
			return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	sock_net_end(net[0], 0);
	sock_net_end(net[1], 0);
	return failed;
}
