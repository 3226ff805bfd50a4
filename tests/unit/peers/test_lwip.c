/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* lwIP as the peer, in virtual time: octets both ways over a wire that loses and reorders, ends, resets, closed windows. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include <rte_ip.h>

#include "lwip.h"
#include "wire.h"

#define OURS RTE_BE32(RTE_IPV4(10, 0, 0, 1))
#define THEIRS RTE_BE32(RTE_IPV4(10, 0, 0, 2))
#define OUR_PORT 80u
#define NOBODY 9u
#define CLOSED_PORT 11u
#define SEEDS 40u
#define LWIP_TICK (250 * WIRE_MS) /* what it looks at its timers by */
#define PATIENCE (3600 * WIRE_S)  /* lwIP counts by half seconds, and doubles */

static const struct lwip_module *lwip;
static struct wire w;
static struct tcp_conn *listener;
static uint16_t lwip_port = 5000; /* of its listener: another one each time */

struct end {
	uint64_t sent, got, all; /* all: that it sends */
	uint64_t quiet_until;    /* it reads nothing before */
	bool shut, end;
};

static struct tcp_conn *c;
static struct lwip_conn *p;
static struct end ours, theirs;

static void
to_lwip(void *arg, const uint8_t *frame, uint32_t len)
{
	(void)arg;
	lwip->time(w.now);
	lwip->input(frame, len);
}

static void
from_lwip(void *arg, const uint8_t *frame, uint32_t len)
{
	(void)arg;
	wire_give(&w, frame, len);
}

/* Frames, and timers of both; lwIP's are late by a step at most. */
static void
pass_by(uint64_t us, uint64_t step)
{
	const uint64_t end = w.now + us;

	while (w.now < end) {
		wire_until(&w, RTE_MIN(end, w.now + step));
		lwip->time(w.now);
	}
}

static void
pass(uint64_t us)
{
	pass_by(us, 10 * WIRE_MS);
}

static void
start(uint64_t seed, const struct tcp_conf *conf, uint32_t loss, uint32_t reorder)
{
	const struct tcp_addr at = {0, RTE_BE16(OUR_PORT)};
	int err;

	w.loss = loss;
	w.reorder = reorder;
	w.ip = OURS;
	w.out = to_lwip;
	wire_start(&w, seed, conf);
	lwip->time(w.now);
	listener = tcp_listen(w.s, &at, 4, NULL, &err);
	assert_non_null(listener);
	assert_true(lwip->listen(++lwip_port));
	ours = theirs = (struct end){0};
}

/* Both have given all back, but for who is in TIME-WAIT. */
static void
end(void)
{
	const uint64_t limit = w.now + PATIENCE;

	tcp_close(listener);
	while ((tcp_conns(w.s) != 0 || lwip->conns() != 0) && w.now < limit)
		pass(100 * WIRE_MS);
	assert_int_equal(tcp_conns(w.s), 0);
	assert_int_equal(lwip->conns(), 0);
	/* Ports of lwIP's that wait would meet those of the next test. */
	w.loss = 0;
	while (lwip->time_waits() != 0 && w.now < limit)
		pass_by(WIRE_S, LWIP_TICK);
	assert_int_equal(tcp_stats(w.s)->rx_checksum, 0);
	assert_int_equal(tcp_stats(w.s)->rx_malformed, 0);
	assert_true(wire_end(&w));
}

static void
connect_ours(void)
{
	const struct tcp_addr to = {THEIRS, rte_cpu_to_be_16(lwip_port)};
	const uint64_t limit = w.now + PATIENCE;
	int err;

	p = NULL;
	c = tcp_connect(w.s, NULL, &to, NULL, &err);
	assert_non_null(c);
	while ((tcp_state(c) == TCP_SYN_SENT || p == NULL) && w.now < limit) {
		pass(WIRE_MS);
		if (p == NULL)
			p = lwip->accepted();
	}
	assert_int_equal(tcp_state(c), TCP_ESTABLISHED);
	assert_non_null(p);
}

static void
connect_theirs(void)
{
	const uint64_t limit = w.now + PATIENCE;

	c = NULL;
	p = lwip->connect(OURS, OUR_PORT);
	assert_non_null(p);
	while ((c == NULL || !lwip->open(p)) && w.now < limit) {
		pass(WIRE_MS);
		if (c == NULL)
			c = tcp_accept(listener, NULL);
	}
	assert_non_null(c);
	assert_true(lwip->open(p));
}

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
	const size_t n = (size_t)RTE_MIN(from->all - from->sent, (uint64_t)wire_random(&w, (uint32_t)room) + 1);
	size_t i;

	for (i = 0; i < n; i++)
		data[i] = wire_octet(side, from->sent + i);
	return n;
}

/* At times who reads does not. */
static bool
reads(struct end *e)
{
	if (w.now >= e->quiet_until && wire_random(&w, 500) == 0)
		e->quiet_until = w.now + wire_random(&w, 2 * (uint32_t)WIRE_S);
	return w.now >= e->quiet_until;
}

static void
work_ours(void)
{
	uint8_t data[8192];
	struct iovec iov = {data, sizeof(data)};
	ssize_t n;

	while (!ours.end && reads(&ours)) {
		iov.iov_len = wire_random(&w, sizeof(data)) + 1;
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
	if (ours.sent == ours.all && !ours.shut) {
		assert_int_equal(tcp_shutdown(c, SHUT_WR), 0);
		ours.shut = true;
	}
}

static void
work_theirs(void)
{
	uint8_t data[8192];
	size_t n;

	while (reads(&theirs) && (n = lwip->recv(p, data, wire_random(&w, sizeof(data)) + 1)) != 0)
		check(0, &theirs, data, n);
	theirs.end = lwip->end(p);
	while (theirs.sent < theirs.all && (n = lwip->send(p, data, next_octets(1, &theirs, data, 2000))) != 0)
		theirs.sent += n;
	assert_int_equal(lwip->error(p), 0);
	if (theirs.sent == theirs.all && !theirs.shut) {
		lwip->shut(p);
		theirs.shut = true;
	}
}

/* All octets both ways, then the ends. */
static void
transfer(uint64_t from_us, uint64_t from_them)
{
	const uint64_t limit = w.now + PATIENCE;

	ours.all = from_us;
	theirs.all = from_them;
	while (!(ours.end && theirs.end && ours.shut && theirs.shut) && w.now < limit) {
		work_ours();
		work_theirs();
		pass(WIRE_MS);
	}
	assert_int_equal(theirs.got, from_us);
	assert_int_equal(ours.got, from_them);
	assert_true(ours.end && theirs.end);
}

static void
close_both(void)
{
	tcp_close(c);
	lwip->close(p);
}

/* lwIP holds acknowledgements back for longer than we wait before a tail is probed. */
static void
no_loss(void)
{
	const struct tcp_stats *t = tcp_stats(w.s);

	assert_int_equal(t->retransmits, t->tail_probes);
	assert_int_equal(t->timeouts, 0);
}

static void
test_octets(void **state)
{
	const struct tcp_conf conf = {0};

	(void)state;
	start(1, &conf, 0, 0);
	connect_ours();
	transfer(200000, 200000);
	no_loss();
	close_both();
	end();
	start(2, &conf, 0, 0);
	connect_theirs();
	transfer(200000, 200000);
	no_loss();
	close_both();
	end();
}

/* What is lost and reordered is made good by both; who opens, options and lengths go by the seed. */
static void
test_losses(void **state)
{
	uint64_t seed, again = 0;

	(void)state;
	for (seed = 0; seed < SEEDS; seed++) {
		const struct tcp_conf conf = {
			.no_timestamps = (seed & 2) != 0,
			.no_wscale = (seed & 4) != 0,
			.no_sack = (seed & 8) != 0,
			.cc = seed % 5 == 0 ? TCP_CC_RENO : TCP_CC_CUBIC,
			.ecn = seed % 3 == 0 ? TCP_ECN_ON : TCP_ECN_PASSIVE,
			.rcvbuf = seed % 7 == 0 ? 4096 : 0,
		};

		start(100 + seed, &conf, 65536 / 50, 65536 / 50);
		if ((seed & 1) != 0)
			connect_ours();
		else
			connect_theirs();
		transfer(wire_random(&w, 400000), wire_random(&w, 400000));
		again += tcp_stats(w.s)->retransmits;
		assert_true(w.frames < 400 || w.lost + w.late != 0);
		close_both();
		end();
	}
	assert_true(again > SEEDS);
}

/* Ports that nobody has, of both. */
static void
test_refused(void **state)
{
	const struct tcp_addr to = {THEIRS, RTE_BE16(NOBODY)};
	const struct tcp_conf conf = {0};
	int err;

	(void)state;
	start(3, &conf, 0, 0);
	c = tcp_connect(w.s, NULL, &to, NULL, &err);
	assert_non_null(c);
	pass(10 * WIRE_MS);
	assert_int_equal(tcp_state(c), TCP_CLOSE);
	assert_int_equal(tcp_error(c), ECONNREFUSED);
	tcp_close(c);
	p = lwip->connect(OURS, CLOSED_PORT);
	assert_non_null(p);
	pass(10 * WIRE_MS);
	assert_false(lwip->open(p));
	assert_int_equal(lwip->error(p), lwip->refused);
	assert_int_equal(tcp_stats(w.s)->tx_rst, 1);
	lwip->close(p);
	end();
}

/* RST of either, in both directions' midst: what the other one's program is told. */
static void
test_resets(void **state)
{
	const struct iovec some = {(void *)(uintptr_t) "0123456789", 10};
	const struct tcp_conf conf = {0};
	uint8_t data[16];
	const struct iovec room = {data, sizeof(data)};

	(void)state;
	start(4, &conf, 0, 0);
	connect_ours();
	assert_int_equal(tcp_send(c, &some, 1, 0), 10);
	pass(100 * WIRE_MS);
	tcp_abort(c);
	pass(100 * WIRE_MS);
	assert_int_equal(lwip->error(p), lwip->reset);
	lwip->close(p);

	connect_theirs();
	assert_int_equal(lwip->send(p, "0123456789", 10), 10);
	lwip->abort(p);
	pass(100 * WIRE_MS);
	/* What was acknowledged can be read. */
	assert_int_equal(tcp_recv(c, &room, 1, 0), 10);
	assert_int_equal(tcp_recv(c, &room, 1, 0), -ECONNRESET);
	tcp_close(c);
	end();
}

/* RFC 2525 2.17, of both: who closes with data unread says that it is lost. */
static void
test_unread(void **state)
{
	const struct iovec some = {(void *)(uintptr_t) "0123456789", 10};
	const struct tcp_conf conf = {0};

	(void)state;
	start(5, &conf, 0, 0);
	connect_ours();
	assert_int_equal(lwip->send(p, "0123456789", 10), 10);
	pass(100 * WIRE_MS);
	tcp_close(c);
	pass(100 * WIRE_MS);
	assert_int_equal(lwip->error(p), lwip->reset);
	lwip->close(p);

	connect_theirs();
	assert_int_equal(tcp_send(c, &some, 1, 0), 10);
	pass(100 * WIRE_MS);
	lwip->close(p);
	pass(100 * WIRE_MS);
	assert_int_equal(tcp_error(c), ECONNRESET);
	tcp_close(c);
	end();
}

/* A reader that stands still for minutes: the window is asked for by the sender, and all comes when it opens. */
static void
test_closed_window(void **state)
{
	const struct tcp_conf conf = {.rcvbuf = 4096, .sndbuf = 65536};
	uint64_t probes;

	(void)state;
	start(6, &conf, 0, 0);
	connect_ours();
	ours.all = theirs.all = 300000;
	ours.quiet_until = theirs.quiet_until = w.now + 120 * WIRE_S;
	while (w.now < ours.quiet_until) {
		work_ours();
		work_theirs();
		pass(10 * WIRE_MS);
	}
	probes = tcp_stats(w.s)->window_probes;
	assert_true(probes > 3);
	assert_true(theirs.got == 0 && ours.got == 0);
	transfer(300000, 300000);
	close_both();
	end();
}

/* Who ends first, by calls of close alone. */
static void
test_ends(void **state)
{
	const struct tcp_conf conf = {0};
	uint8_t data[16];
	const struct iovec room = {data, sizeof(data)};
	uint64_t seed;
	ssize_t n;
	int first;

	(void)state;
	for (seed = 0; seed < 3 * SEEDS; seed++) {
		start(200 + seed, &conf, seed < 6 ? 0 : 65536 / 20, 65536 / 10);
		if ((seed & 1) != 0)
			connect_ours();
		else
			connect_theirs();
		first = (int)(seed / 2 % 3);
		if (first != 1)
			tcp_shutdown(c, SHUT_WR);
		if (first != 0)
			lwip->shut(p);
		/* The other one hears of it, then ends, too. */
		while (first == 0 && !lwip->end(p)) {
			assert_int_equal(lwip->error(p), 0);
			pass(10 * WIRE_MS);
		}
		while (first == 1 && (n = tcp_recv(c, &room, 1, 0)) != 0) {
			assert_int_equal(n, -EAGAIN);
			pass(10 * WIRE_MS);
		}
		close_both();
		end();
	}
}

static int
set_up(void **state)
{
	void *h = dlopen(getenv("LWIP_MODULE"), RTLD_NOW | RTLD_LOCAL);

	(void)state;
	if (h == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return -1;
	}
	lwip = dlsym(h, LWIP_MODULE_TABLE);
	if (lwip == NULL)
		return -1;
	wire_init();
	lwip->time(UINT64_C(1) << 32);
	lwip->start(THEIRS, from_lwip, NULL);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_octets), cmocka_unit_test(test_losses), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_resets), cmocka_unit_test(test_unread), cmocka_unit_test(test_closed_window),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
