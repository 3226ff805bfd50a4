/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Threads of a program in the sockets library: two nets with a queue each, several threads at each, and the nets' own. ThreadSanitizer
 * runs it, too (tests/long/test_tsan.py).
 */
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"
#include "lib/sock/dgram.h"

#define SERVERS 2u

static struct sock_net *net[2];
static atomic_uint next_port = 4000;

/* --- the nets --- */

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
steer(void *home, rte_be32_t what, bool on)
{
	(void)home, (void)what, (void)on;
	return 0;
}

static int
steer_port(void *home, bool udp, rte_be16_t port, bool on)
{
	(void)udp;
	return steer(home, port, on);
}

static const struct sock_home ops = {.rx = end_take,
				     .tx = end_give,
				     .sent = yes,
				     .arm = nothing,
				     .event_fd = fd_of,
				     .event = told,
				     .path = end_path,
				     .local = end_ours,
				     .steer = steer_port,
				     .steer_group = steer};

/* A socket looks for frames itself while it waits, where it may. */
static enum sock_handlers
handlers(void)
{
	return SOCK_HANDLERS_GO_ON;
}

static struct sock_net *
net_new(struct end *e)
{
	const struct sock_conf conf = {.tcp = {.pool = e->pool, .delack_ms = 1, .rto_min_ms = 20},
				       .udp = {.pool = e->pool},
				       .spin_us = 20,
				       .handlers = handlers};
	int err = 0;

	return sock_net_create(&conf, &ops, e, &err);
}

/* --- threads --- */

static ssize_t
put(struct sock *s, const void *data, size_t len)
{
	return sock_send(s, &(struct iovec){(void *)(uintptr_t)data, len}, 1, MSG_NOSIGNAL);
}

static ssize_t
get(struct sock *s, void *data, size_t len)
{
	return sock_recv(s, &(struct iovec){data, len}, 1, 0);
}

static bool
calls(struct sock *s, unsigned int from, const struct tcp_addr *to, uint64_t limit_us)
{
	const struct tcp_addr local = {end[from].ip, rte_cpu_to_be_16((uint16_t)next_port++)};
	int rc = sock_connect(s, &local, to);

	while (rc == 0 && (rc = sock_connected(s)) == -EINPROGRESS)
		rc = sock_wait_ready(s, EPOLLOUT, sock_now() + limit_us);
	return rc == 0;
}

static atomic_bool cut; /* connections may end before their time */

/* One of several that take the connections of a listener: it gives back what comes. */
static void *
serves(void *arg)
{
	struct sock *l = arg, *s;
	uint8_t data[3000];
	ssize_t n;
	int rc;

	for (;;) {
		while ((rc = sock_accept(l, &s)) == -EAGAIN)
			CHECK(sock_wait_ready(l, EPOLLIN, soon()) == 0);
		if (rc != 0)
			break; /* it listens no more */
		while ((n = get(s, data, sizeof(data))) > 0)
			CHECK(put(s, data, (size_t)n) == n || cut);
		CHECK(n == 0 || cut);
		sock_close(s);
	}
	CHECK(rc == -EINVAL);
	return NULL;
}

struct client {
	unsigned int from;
	struct tcp_addr to;
};

static void *
asks(void *arg)
{
	const struct client *c = arg;
	uint8_t data[OCTETS], back[OCTETS];
	struct sock *s;
	size_t got;
	ssize_t n;

	for (unsigned int i = 0; i < CALLS; i++) {
		memset(data, (int)(i + c->from), sizeof(data));
		s = sock_new(net[c->from]);
		if (i % 4 == 0) {
			sock_net_lock(net[c->from]);
			end[c->from].unknown = 1;
			sock_net_unlock(net[c->from]);
		}
		CHECK(calls(s, c->from, &c->to, LIMIT_US));
		CHECK(put(s, data, sizeof(data)) == (ssize_t)sizeof(data));
		CHECK(sock_shutdown(s, SHUT_WR) == 0);
		for (got = 0; (n = get(s, back + got, sizeof(back) - got)) > 0;)
			got += (size_t)n;
		CHECK(got == sizeof(back) && memcmp(data, back, got) == 0);
		sock_close(s);
	}
	return NULL;
}

static void
test_calls_and_listeners(void **state)
{
	pthread_t server[2][SERVERS], client[2][SERVERS];
	struct sock *l[2];
	struct client c[2];

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		const struct tcp_addr at = {end[i].ip, RTE_BE16(80)};

		l[i] = sock_new(net[i]);
		c[1 - i] = (struct client){1 - i, at};
		assert_int_equal(sock_listen(l[i], &at, 8), 0);
	}
	for (unsigned int i = 0; i < 2 * SERVERS; i++) {
		begin(&server[i % 2][i / 2], serves, l[i % 2]);
		begin(&client[i % 2][i / 2], asks, &c[i % 2]);
	}
	join(client[0], SERVERS);
	join(client[1], SERVERS);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(sock_shutdown(l[i], SHUT_RDWR), 0);
		join(server[i], SERVERS);
		sock_close(l[i]);
	}
}

/* --- one connection, several threads at each end --- */

#define STREAM 400000u

static struct sock *pair[2];
static atomic_bool over;

static void *
writes(void *arg)
{
	uint8_t data[1000];
	uint32_t sent = 0;

	while (sent < STREAM) {
		for (unsigned int i = 0; i < sizeof(data); i++)
			data[i] = (uint8_t)((sent + i) % 251);
		CHECK(put(arg, data, sizeof(data)) == (ssize_t)sizeof(data));
		sent += sizeof(data);
	}
	CHECK(sock_shutdown(arg, SHUT_WR) == 0);
	return NULL;
}

static void *
reads(void *arg)
{
	uint8_t data[1700];
	uint32_t got = 0;
	ssize_t n;

	while ((n = get(arg, data, sizeof(data))) > 0)
		for (ssize_t i = 0; i < n; i++)
			CHECK(data[i] == (uint8_t)(got++ % 251));
	CHECK(n == 0 && got == STREAM);
	return NULL;
}

/* Options, counters and questions while others send, receive and wait. */
static void *
asks_of(void *arg)
{
	const struct timeval long_time = {60, 0}, none = {0, 0};
	uint64_t count[SOCK_COUNTS] = {0};
	struct tcp_addr local, remote;
	struct tcp_info info;
	uint32_t state = 0, len;
	int on;

	for (unsigned int i = 0; !over; i++) {
		on = i % 2;
		CHECK(sock_opt_set(arg, SOL_SOCKET, SO_RCVTIMEO, on ? &long_time : &none, sizeof(none)) == 0);
		CHECK(sock_opt_set(arg, SOL_SOCKET, SO_SNDTIMEO, on ? &long_time : &none, sizeof(none)) == 0);
		CHECK(sock_opt_set(arg, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
		sock_count_in(arg, on ? count : NULL);
		sock_state_in(arg, on ? &state : NULL);
		len = sizeof(info);
		CHECK(sock_opt_get(arg, IPPROTO_TCP, TCP_INFO, &info, &len) == 0);
		(void)sock_name(arg, &local, &remote);
		(void)sock_inq(arg);
		usleep(50);
	}
	sock_count_in(arg, NULL);
	sock_state_in(arg, NULL);
	return NULL;
}

/* As poll(2) of several threads: each is told of each change. */
struct polls {
	struct sock_watch watch; /* first */
	struct sock *s;
	int fd;
	bool watched, asleep;
};

static void
changed(struct sock_watch *w)
{
	struct polls *p = (struct polls *)(void *)w;
	const uint64_t one = 1;

	if (p->asleep)
		(void)!write(p->fd, &one, sizeof(one));
}

static bool
poll_done(void *arg)
{
	struct polls *p = arg;

	if (!p->watched)
		sock_watch_add(p->s, &p->watch);
	p->watched = true;
	return (sock_ready_now(p->s) & EPOLLRDHUP) != 0;
}

static void
poll_asleep(void *arg, bool is)
{
	((struct polls *)arg)->asleep = is;
}

static int
poll_sleep(void *arg, uint64_t until, struct pollfd *frames)
{
	struct polls *p = arg;
	struct pollfd both[2] = {{.fd = p->fd, .events = POLLIN}, *frames};
	struct timespec t;
	uint64_t count;
	int k = ppoll(both, 2, sock_left(until, &t), NULL);

	if (k <= 0)
		return k == 0 ? -EAGAIN : -errno;
	frames->revents = both[1].revents;
	if (both[0].revents != 0)
		(void)!read(p->fd, &count, sizeof(count));
	return 0;
}

static void *
polls(void *arg)
{
	struct polls p = {.watch.fn = changed, .s = arg, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	struct sock_net *n = arg == pair[0] ? net[0] : net[1];

	CHECK(p.fd >= 0);
	CHECK(sock_wait(n, &(struct sock_wait){poll_done, poll_asleep, poll_sleep, &p, true, NULL}, soon()) == 0);
	sock_net_lock(n);
	sock_watch_del(&p.watch);
	sock_net_unlock(n);
	close(p.fd);
	return NULL;
}

static void
test_one_connection(void **state)
{
	const struct tcp_addr at = {end[1].ip, RTE_BE16(81)};
	pthread_t data[4], other[6];
	struct sock *l = sock_new(net[1]);

	(void)state;
	pair[0] = sock_new(net[0]);
	assert_int_equal(sock_listen(l, &at, 1), 0);
	assert_true(calls(pair[0], 0, &at, LIMIT_US));
	while (sock_accept(l, &pair[1]) == -EAGAIN)
		assert_int_equal(sock_wait_ready(l, EPOLLIN, soon()), 0);
	over = false;
	for (unsigned int i = 0; i < 2; i++) {
		begin(&other[i], asks_of, pair[i]);
		begin(&other[2 + i], polls, pair[i]);
		begin(&other[4 + i], polls, pair[i]);
		begin(&data[i], reads, pair[i]);
		begin(&data[2 + i], writes, pair[i]);
	}
	join(data, 4);
	over = true;
	join(other, 6);
	for (unsigned int i = 0; i < 2; i++)
		sock_close(pair[i]);
	sock_close(l);
}

/* --- datagrams --- */

#define DATAGRAMS 300u

struct dgram_end {
	struct sock *s;
	struct tcp_addr to;
};

static void *
sends(void *arg)
{
	const struct dgram_end *e = arg;
	const struct udp_tx tx = {.to = &e->to, .ttl = -1, .tos = -1};
	uint32_t number;

	for (number = 0; number < DATAGRAMS; number++)
		CHECK(sock_dgram_send(e->s, &(struct iovec){&number, sizeof(number)}, 1, 0, &tx) == sizeof(number));
	return NULL;
}

static atomic_uint heard;

/* Some are lost where the cable is full. */
static void *
hears(void *arg)
{
	const struct dgram_end *e = arg;
	struct udp_meta meta;
	uint32_t number;
	ssize_t n;

	while (!over) {
		n = sock_dgram_recv(e->s, &(struct iovec){&number, sizeof(number)}, 1, 0, &meta);
		if (n == -EAGAIN)
			(void)sock_wait_ready(e->s, EPOLLIN, sock_now() + 10000);
		else
			CHECK(n == sizeof(number) && number < DATAGRAMS && heard++ < 4 * DATAGRAMS);
	}
	return NULL;
}

static void
test_datagrams(void **state)
{
	pthread_t sender[4], hearer[4];
	struct dgram_end e[2];
	uint64_t until;
	int err;

	(void)state;
	over = false;
	for (unsigned int i = 0; i < 2; i++) {
		const struct tcp_addr at = {end[i].ip, RTE_BE16(53)};

		e[i] = (struct dgram_end){sock_dgram_new(net[i], &err), {end[1 - i].ip, RTE_BE16(53)}};
		assert_non_null(e[i].s);
		assert_int_equal(sock_dgram_bind(e[i].s, &at, false, true), 0);
	}
	for (unsigned int i = 0; i < 4; i++) {
		begin(&hearer[i], hears, &e[i % 2]);
		begin(&sender[i], sends, &e[i % 2]);
	}
	join(sender, 4);
	until = soon();
	while (heard == 0 && sock_now() < until)
		usleep(100);
	over = true;
	join(hearer, 4);
	assert_int_not_equal(heard, 0);
	for (unsigned int i = 0; i < 2; i++)
		sock_close(e[i].s);
}

/* --- the program ends by one thread, and others still call --- */

static void *
goes_on(void *arg)
{
	const struct timeval brief = {0, 2000};
	const struct client *c = arg;
	uint8_t data[500] = {0};
	struct sock *s;

	while (!over) {
		s = sock_new(net[c->from]);
		(void)sock_opt_set(s, SOL_SOCKET, SO_RCVTIMEO, &brief, sizeof(brief));
		(void)sock_opt_set(s, SOL_SOCKET, SO_LINGER, &(struct linger){1, 1}, sizeof(struct linger));
		if (calls(s, c->from, &c->to, 5000) && put(s, data, sizeof(data)) > 0)
			(void)get(s, data, sizeof(data));
		sock_close(s);
	}
	return NULL;
}

static void *
ends(void *arg)
{
	sock_net_end(arg, 100);
	return NULL;
}

static void
test_end(void **state)
{
	const struct tcp_addr at = {end[1].ip, RTE_BE16(82)};
	const struct timeval brief = {0, 200000};
	struct client c = {0, at};
	pthread_t t[3], e[2], server;
	struct sock *l = sock_new(net[1]);

	(void)state;
	assert_int_equal(sock_listen(l, &at, 8), 0);
	over = false;
	/* Nobody tells the server of peers that are cut off. */
	assert_int_equal(sock_opt_set(l, SOL_SOCKET, SO_RCVTIMEO, &brief, sizeof(brief)), 0);
	cut = true;
	begin(&server, serves, l);
	for (unsigned int i = 0; i < 3; i++)
		begin(&t[i], goes_on, &c);
	usleep(50000);
	/* Two of them end it. */
	for (unsigned int i = 0; i < 2; i++)
		begin(&e[i], ends, net[0]);
	join(e, 2);
	usleep(20000);
	over = true;
	join(t, 3);
	assert_int_equal(sock_shutdown(l, SHUT_RDWR), 0);
	join(&server, 1);
	sock_close(l);
	sock_net_end(net[1], 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_and_listeners),
		cmocka_unit_test(test_one_connection),
		cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_end),
	};

	for (int i = 0; i < 4; i++)
		if (!end_open(&end[i]) || (i < 2 && (net[i] = net_new(&end[i])) == NULL))
			return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
