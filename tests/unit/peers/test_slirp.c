/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * libslirp as the peer: our stack is the guest, and behind slirp's TCP are sockets of the kernel on loopback. Frames and timers
 * have a virtual time, which waits for the kernel where nothing else is due.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include <slirp/libslirp.h>
#include <rte_ip.h>

#include "wire.h"

#define GUEST RTE_IPV4(10, 0, 2, 15)
#define HOST RTE_IPV4(10, 0, 2, 2) /* of slirp: the kernel's loopback address */
#define OUR_PORT 80u
#define ARP_LEN 42u
#define ETHER 14u
#define POLLS 32
#define PATIENCE (600 * WIRE_S)
/* Where nothing is due, so much time goes by for the millisecond that the kernel has for its own. */
#define IDLE_US (10 * WIRE_MS)

static struct wire w;
static Slirp *slirp;
static struct tcp_conn *c;
static int sock = -1; /* the kernel's end */

struct end {
	uint64_t sent, got, all; /* all: that it sends */
	bool shut, end;
};

static struct end ours, theirs;

/* --- slirp's side --- */

struct timer {
	SlirpTimerCb cb;
	void *arg;
	uint64_t at_us; /* 0: none */
	struct timer *next;
};

static struct timer *timers;
static struct pollfd polls[POLLS];
static int num_polls;

static ssize_t
from_slirp(const void *frame, size_t len, void *arg)
{
	static const uint8_t arp[] = {8, 6};

	(void)arg;
	/* Its answer to our ARP has its MAC address. */
	if (len >= ARP_LEN && memcmp((const uint8_t *)frame + 12, arp, 2) == 0)
		memcpy(&w.peer_mac, (const uint8_t *)frame + 6, sizeof(w.peer_mac));
	else
		wire_give(&w, frame, (uint32_t)len);
	return (ssize_t)len;
}

static void
guest_error(const char *text, void *arg)
{
	(void)arg;
	fail_msg("slirp: %s", text);
}

static int64_t
clock_ns(void *arg)
{
	(void)arg;
	return (int64_t)w.now * 1000;
}

static void *
timer_new(SlirpTimerCb cb, void *cb_arg, void *arg)
{
	struct timer *t = calloc(1, sizeof(*t));

	(void)arg;
	if (t == NULL)
		abort();
	*t = (struct timer){.cb = cb, .arg = cb_arg, .next = timers};
	timers = t;
	return t;
}

static void
timer_free(void *timer, void *arg)
{
	struct timer **at = &timers;

	(void)arg;
	while (*at != timer)
		at = &(*at)->next;
	*at = (*at)->next;
	free(timer);
}

static void
timer_mod(void *timer, int64_t at_ms, void *arg)
{
	(void)arg;
	((struct timer *)timer)->at_us = (uint64_t)at_ms * 1000;
}

static void
for_polls(int fd, void *arg)
{
	(void)fd, (void)arg;
}

static void
notify(void *arg)
{
	(void)arg;
}

static const SlirpCb callbacks = {
	.send_packet = from_slirp,
	.guest_error = guest_error,
	.clock_get_ns = clock_ns,
	.timer_new = timer_new,
	.timer_free = timer_free,
	.timer_mod = timer_mod,
	.register_poll_fd = for_polls,
	.unregister_poll_fd = for_polls,
	.notify = notify,
};

static int
add_poll(int fd, int events, void *arg)
{
	short e = 0;

	(void)arg;
	assert_true(num_polls < POLLS);
	e |= (events & SLIRP_POLL_IN) != 0 ? POLLIN : 0;
	e |= (events & SLIRP_POLL_OUT) != 0 ? POLLOUT : 0;
	e |= (events & SLIRP_POLL_PRI) != 0 ? POLLPRI : 0;
	polls[num_polls] = (struct pollfd){fd, e, 0};
	return num_polls++;
}

static int
polled(int i, void *arg)
{
	const short e = polls[i].revents;

	(void)arg;
	return ((e & POLLIN) != 0 ? SLIRP_POLL_IN : 0) | ((e & POLLOUT) != 0 ? SLIRP_POLL_OUT : 0) |
	       ((e & POLLPRI) != 0 ? SLIRP_POLL_PRI : 0) | ((e & POLLERR) != 0 ? SLIRP_POLL_ERR : 0) |
	       ((e & POLLHUP) != 0 ? SLIRP_POLL_HUP : 0);
}

static void
to_slirp(void *arg, const uint8_t *frame, uint32_t len)
{
	(void)arg;
	slirp_input(slirp, frame, (int)len);
}

/* Frames and timers for a while; then what the kernel has for slirp, for which it has a millisecond where nothing is due. */
static void
pass(void)
{
	const uint64_t next = wire_next(&w);
	const bool idle = next > w.now + IDLE_US;
	uint32_t timeout = idle ? 1 : 0;
	struct timer *t;

	wire_until(&w, idle ? w.now + IDLE_US : next);
	for (t = timers; t != NULL; t = t->next) {
		if (t->at_us != 0 && t->at_us <= w.now) {
			t->at_us = 0;
			t->cb(t->arg);
		}
	}
	num_polls = 0;
	slirp_pollfds_fill(slirp, &timeout, add_poll, NULL);
	slirp_pollfds_poll(slirp, poll(polls, (nfds_t)num_polls, idle ? 1 : 0) < 0, polled, NULL);
	tcp_run(w.s, w.now);
}

/* --- the kernel's side --- */

static int
bound(uint16_t *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(at);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static void
start(uint64_t seed, const struct tcp_conf *conf, uint32_t loss, uint32_t reorder)
{
	const struct in_addr host = {htonl(HOST)}, guest = {htonl(GUEST)};
	const SlirpConfig config = {
		.version = 1,
		.in_enabled = true,
		.vnetwork.s_addr = htonl(RTE_IPV4(10, 0, 2, 0)),
		.vnetmask.s_addr = htonl(0xffffff00),
		.vhost = host,
		.vdhcp_start = guest,
		.vnameserver.s_addr = htonl(RTE_IPV4(10, 0, 2, 3)),
		.if_mtu = 1500,
		.if_mru = 1500,
	};
	/* Who has slirp's address? By that it learns ours. */
	uint8_t arp[64] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 6,
			   0,    1,    8,    0,    6,    4,    0, 1, 2, 0, 0, 0, 0, 1};
	const rte_be32_t from = htonl(GUEST), whom = htonl(HOST);

	w.loss = loss;
	w.reorder = reorder;
	w.ip = from;
	w.mac = (struct rte_ether_addr){{2, 0, 0, 0, 0, 1}};
	w.out = to_slirp;
	wire_start(&w, seed, conf);
	slirp = slirp_new(&config, &callbacks, NULL);
	assert_non_null(slirp);
	memcpy(arp + 28, &from, 4);
	memcpy(arp + 38, &whom, 4);
	memset(&w.peer_mac, 0, sizeof(w.peer_mac));
	slirp_input(slirp, arp, sizeof(arp));
	assert_false(rte_is_zero_ether_addr(&w.peer_mac));
	ours = theirs = (struct end){0};
	c = NULL;
	sock = -1;
}

static void
end(void)
{
	const uint64_t limit = w.now + PATIENCE;

	while (tcp_conns(w.s) != 0 && w.now < limit)
		pass();
	assert_int_equal(tcp_conns(w.s), 0);
	assert_int_equal(tcp_stats(w.s)->rx_checksum, 0);
	assert_int_equal(tcp_stats(w.s)->rx_malformed, 0);
	slirp_cleanup(slirp);
	if (sock >= 0)
		close(sock);
	assert_true(wire_end(&w));
}

static void
connect_ours(uint16_t port)
{
	const struct tcp_addr to = {htonl(HOST), htons(port)};
	int err;

	c = tcp_connect(w.s, NULL, &to, NULL, &err);
	assert_non_null(c);
}

/* Our call reaches a socket that listens. */
static void
open_ours(void)
{
	const uint64_t limit = w.now + PATIENCE;
	uint16_t port;
	const int l = bound(&port);

	assert_int_equal(listen(l, 4), 0);
	connect_ours(port);
	while ((tcp_state(c) == TCP_SYN_SENT || sock < 0) && w.now < limit) {
		pass();
		if (sock < 0)
			sock = accept4(l, NULL, NULL, SOCK_NONBLOCK);
	}
	close(l);
	assert_int_equal(tcp_state(c), TCP_ESTABLISHED);
	assert_true(sock >= 0);
}

/* A socket's call of a port of the host, which slirp forwards to us. */
static void
open_theirs(void)
{
	const struct in_addr loopback = {htonl(INADDR_LOOPBACK)}, guest = {htonl(GUEST)};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = loopback};
	const struct tcp_addr at = {0, RTE_BE16(OUR_PORT)};
	const uint64_t limit = w.now + PATIENCE;
	struct tcp_conn *l;
	uint16_t port;
	int err, tries = 0, fd;

	l = tcp_listen(w.s, &at, 4, NULL, &err);
	assert_non_null(l);
	/* A port that was free a moment ago. */
	do {
		fd = bound(&port);
		close(fd);
	} while (slirp_add_hostfwd(slirp, 0, loopback, port, guest, OUR_PORT) != 0 && ++tries < 20);
	to.sin_port = htons(port);
	sock = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	err = connect(sock, (struct sockaddr *)&to, sizeof(to));
	assert_true(err == 0 || errno == EINPROGRESS);
	while (c == NULL && w.now < limit) {
		pass();
		c = tcp_accept(l, NULL);
	}
	assert_non_null(c);
	tcp_close(l);
}

/* --- what goes between the two --- */

static void
check(int side, struct end *to, const uint8_t *data, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		assert_int_equal(data[i], wire_octet(side, to->got + i));
	to->got += n;
}

static size_t
next_octets(int side, const struct end *from, uint8_t *data, size_t room)
{
	const size_t n = (size_t)RTE_MIN(from->all - from->sent, (uint64_t)room);
	size_t i;

	for (i = 0; i < n; i++)
		data[i] = wire_octet(side, from->sent + i);
	return n;
}

static void
work_ours(void)
{
	uint8_t data[8192];
	struct iovec iov = {data, sizeof(data)};
	ssize_t n;

	while (!ours.end) {
		n = tcp_recv(c, &iov, 1, 0);
		if (n == -EAGAIN)
			break;
		assert_true(n >= 0);
		check(1, &ours, data, (size_t)n);
		ours.end = n == 0;
	}
	while (ours.sent < ours.all) {
		iov.iov_len = next_octets(0, &ours, data, sizeof(data));
		n = tcp_send(c, &iov, 1, 0);
		if (n == -EAGAIN)
			break;
		assert_true(n > 0);
		ours.sent += (uint64_t)n;
	}
}

static void
work_theirs(void)
{
	uint8_t data[8192];
	ssize_t n;

	while (!theirs.end && (n = recv(sock, data, sizeof(data), 0)) >= 0) {
		check(0, &theirs, data, (size_t)n);
		theirs.end = n == 0;
	}
	assert_true(theirs.end || errno == EAGAIN);
	while (theirs.sent < theirs.all) {
		n = send(sock, data, next_octets(1, &theirs, data, sizeof(data)), MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			break;
		assert_true(n > 0);
		theirs.sent += (uint64_t)n;
	}
}

static void
shut_ours(void)
{
	assert_int_equal(tcp_shutdown(c, SHUT_WR), 0);
	ours.shut = true;
}

static void
shut_theirs(void)
{
	assert_int_equal(shutdown(sock, SHUT_WR), 0);
	theirs.shut = true;
}

/* All octets both ways, then the ends: who is first ends when all of its own has gone, the other one when it has heard of that. */
static void
transfer(uint64_t from_us, uint64_t from_them, bool we_first)
{
	const uint64_t limit = w.now + PATIENCE;

	ours.all = from_us;
	theirs.all = from_them;
	while (!(ours.end && theirs.end) && w.now < limit) {
		work_ours();
		work_theirs();
		if (!ours.shut && ours.sent == ours.all && (we_first || ours.end))
			shut_ours();
		if (!theirs.shut && theirs.sent == theirs.all && (!we_first || theirs.end))
			shut_theirs();
		pass();
	}
	assert_int_equal(theirs.got, from_us);
	assert_int_equal(ours.got, from_them);
	assert_true(ours.end && theirs.end);
	tcp_close(c);
}

static void
test_octets(void **state)
{
	const struct tcp_conf conf = {0};
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		start((uint64_t)i, &conf, 0, 0);
		if (i < 2)
			open_ours();
		else
			open_theirs();
		transfer(400000, 400000, i % 2 == 0);
		end();
	}
}

static void
test_losses(void **state)
{
	uint64_t seed, again = 0;

	(void)state;
	for (seed = 0; seed < 8; seed++) {
		const struct tcp_conf conf = {.cc = seed % 3 == 0 ? TCP_CC_RENO : TCP_CC_CUBIC,
					      .rcvbuf = seed == 5 ? 4096 : 0};

		start(100 + seed, &conf, 65536 / 100, 65536 / 100);
		if ((seed & 1) != 0)
			open_ours();
		else
			open_theirs();
		transfer(300000, 300000, (seed & 2) != 0);
		again += tcp_stats(w.s)->retransmits;
		assert_true(w.lost != 0 && w.late != 0);
		end();
	}
	assert_true(again != 0);
}

/* Nobody listens there: slirp says so by RST. */
static void
test_refused(void **state)
{
	const struct tcp_conf conf = {0};
	const uint64_t limit = w.now + PATIENCE;
	uint16_t port;
	const int fd = bound(&port);

	(void)state;
	start(20, &conf, 0, 0);
	connect_ours(port); /* bound, and not listening */
	while (tcp_state(c) != TCP_CLOSE && w.now < limit)
		pass();
	assert_int_equal(tcp_error(c), ECONNREFUSED);
	assert_int_equal(tcp_stats(w.s)->refused, 1);
	tcp_close(c);
	close(fd);
	end();
}

/* The kernel's end goes with data unread; ours is aborted: each hears of the other. */
static void
test_resets(void **state)
{
	const struct iovec some = {(void *)(uintptr_t) "0123456789", 10};
	const struct linger at_once = {1, 0};
	const struct tcp_conf conf = {0};
	struct pollfd p = {.events = POLLIN};
	uint64_t limit;
	int error = 0;
	socklen_t len = sizeof(error);

	(void)state;
	start(21, &conf, 0, 0);
	open_ours();
	assert_int_equal(tcp_send(c, &some, 1, 0), 10);
	assert_int_equal(setsockopt(sock, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	close(sock);
	sock = -1;
	limit = w.now + PATIENCE;
	while (tcp_state(c) != TCP_CLOSE && w.now < limit)
		pass();
	assert_int_equal(tcp_error(c), ECONNRESET);
	tcp_close(c);
	end();

	start(22, &conf, 0, 0);
	open_ours();
	tcp_abort(c);
	p.fd = sock;
	limit = w.now + PATIENCE;
	while (poll(&p, 1, 0) == 0 && w.now < limit)
		pass();
	/* slirp ends its socket in order or not; the kernel has the word either way. */
	assert_true(getsockopt(sock, SOL_SOCKET, SO_ERROR, &error, &len) == 0);
	assert_true(p.revents != 0);
	end();
}

static int
set_up(void **state)
{
	(void)state;
	wire_init();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_octets),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_resets),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
