/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Mbufs get scarce: data is copied or waits, and acknowledgements go and come all the same. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "record.h"

#define RESERVE 64u

/* Side 1 believes what comes to be of the pool that has few. */
static void
few_connected(uint32_t max_copied)
{
	const struct tcp_conf conf[2] = {{0}, {.reserve = RESERVE, .rx_pool = rig_few(), .max_copied = max_copied}};

	rig_few_leave(RIG_FEW);
	connected(conf, 100);
}

/* What is sent and what arrives is numbered, so that each octet has its place. */
static uint64_t out, in;

static void
say(uint32_t len)
{
	static uint8_t buf[65536];

	for (uint32_t i = 0; i < len; i++)
		buf[i] = rig_byte(0, out + i);
	out += len;
	assert_int_equal(tcp_send(c[0], &(struct iovec){buf, len}, 1, 0), len);
}

static void
hear(uint32_t len)
{
	static uint8_t buf[65536];

	assert_int_equal(tcp_recv(c[1], &(struct iovec){buf, len}, 1, 0), len);
	for (uint32_t i = 0; i < len; i++, in++)
		if (buf[i] != rig_byte(0, in))
			fail_msg("octet %lu is wrong", (unsigned long)in);
}

static const struct tcp_stats *
stats(void)
{
	return tcp_stats(r.side[1].s);
}

static uint32_t
unacked(int n)
{
	struct tcp_info info;

	tcp_info_get(c[n], &info);
	return info.tcpi_unacked;
}

/* A program's data leaves the reserve, of which what comes is acknowledged; it hears when there are mbufs again. */
static void
test_sent(void **state)
{
	const struct tcp_conf few_sent[2] = {{.reserve = RESERVE}, {0}};

	(void)state;
	connected(few_sent, 100);
	rig_pool_leave(&r, RESERVE - 1);
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	assert_int_equal(put(0, 100), -ENOBUFS);
	assert_int_equal(tcp_stats(r.side[0].s)->tx_scarce, 1);
	assert_int_equal(put(1, 1000), 1000);
	rig_until(&r, r.now + S);
	assert_int_equal(tcp_readable(c[0]), 1000);
	assert_int_equal(unacked(1), 0);
	r.side[0].events = 0;
	assert_int_equal(put(1, 1), 1);
	rig_until(&r, r.now + S);
	assert_int_equal(r.side[0].events & TCP_EV_WRITABLE, 0);
	rig_pool_empty(&r, false);
	assert_int_equal(put(1, 1), 1);
	rig_until(&r, r.now + S);
	assert_int_equal(r.side[0].events & TCP_EV_WRITABLE, TCP_EV_WRITABLE);
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	assert_int_equal(get(1, 1000), 200);
	end();
}

/*
 * Data of which nothing is read: mbufs down to the reserve, then copies as far as they may be, then nothing: it comes again. What it
 * acknowledged counts.
 */
static void
test_received(void **state)
{
	(void)state;
	few_connected(1);
	out = in = 0;
	say(3 * 1448);
	rig_few_leave(RESERVE + 3);
	rig_until(&r, r.now + 10 * MS);
	assert_int_equal(tcp_readable(c[1]), 3 * 1448);
	assert_int_equal(stats()->rx_copied, 0);
	rig_few_leave(RESERVE);
	assert_int_equal(put(1, 100), 100);
	say(2 * 1448);
	rig_until(&r, r.now + 300 * MS);
	assert_int_equal(tcp_readable(c[1]), 4 * 1448);
	assert_int_equal(stats()->rx_copied, 1);
	assert_true(stats()->rx_scarce >= 2);
	assert_int_equal(unacked(1), 0);
	rig_few_leave(RIG_FEW);
	rig_until(&r, r.now + 300 * S);
	assert_int_equal(stats()->rx_copied, 1);
	hear(5 * 1448);
	end();
}

/* A connection that has nothing unread gets what comes, whatever else there is: its program may wait for just that. */
static void
test_first(void **state)
{
	uint32_t i;

	(void)state;
	few_connected(1);
	out = in = 0;
	rig_few_leave(0);
	for (i = 1; i <= 20; i++) {
		say(i == 20 ? 1448 : i);
		rig_until(&r, r.now + 100 * MS);
		assert_int_equal(stats()->rx_copied, i);
		hear(i == 20 ? 1448 : i);
		assert_int_equal(rig_copied(&r, 1), 0);
	}
	assert_int_equal(stats()->rx_scarce, 0);
	assert_int_equal(tcp_stats(r.side[0].s)->retransmits, 0);
	end();
}

/* Mbufs, copies, small ones that go into a copy's room, and mbufs again: one stream, read in pieces, looked at before. */
static void
test_mixed(void **state)
{
	uint8_t byte;
	uint32_t i;

	(void)state;
	few_connected(100000);
	out = in = 0;
	say(200);
	rig_until(&r, r.now + 100 * MS);
	rig_few_leave(RESERVE);
	say(1448); /* does not fit into the mbuf's room */
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(stats()->rx_copied, 1);
	for (i = 0; i < 10; i++) {
		say(30);
		rig_until(&r, r.now + 100 * MS);
	}
	assert_int_equal(stats()->rx_copied, 2);
	rig_few_leave(RIG_FEW);
	say(2896);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(stats()->rx_copied, 2);
	assert_int_equal(tcp_readable(c[1]), out);
	assert_int_equal(tcp_recv(c[1], &(struct iovec){&byte, 1}, 1, MSG_PEEK), 1);
	assert_int_equal(byte, rig_byte(0, 0));
	while (in + 77 <= out)
		hear(77);
	hear((uint32_t)(out - in));
	assert_int_equal(rig_copied(&r, 1), 0);
	assert_int_equal(tcp_readable(c[1]), 0);
	end();
}

/* What is behind a hole comes again, what fills it is copied; a peer is told of no more room than copies have. */
static void
test_copies_bounded(void **state)
{
	const uint32_t most = 20000;
	uint32_t seen;

	(void)state;
	few_connected(most);
	out = in = 0;
	rig_few_leave(RESERVE);
	rec[0].lose_next = 1;
	say(3 * 1448);
	rig_until(&r, r.now + 10 * S);
	assert_int_equal(tcp_readable(c[1]), 3 * 1448);
	assert_int_equal(stats()->rx_copied, 3);
	say(60000);
	rig_until(&r, r.now + 60 * S);
	/* The one that reaches the bound may be beyond it. */
	assert_true(rig_copied(&r, 1) >= most && rig_copied(&r, 1) < most + 2048);
	assert_true(stats()->rx_scarce != 0);
	for (seen = tcp_readable(c[1]); in < out; seen = tcp_readable(c[1])) {
		assert_true(seen != 0 && rig_copied(&r, 1) < most + 2048);
		hear(seen);
		rig_until(&r, r.now + 120 * S);
	}
	assert_int_equal(rig_copied(&r, 1), 0);
	end();
}

/* What was told at first is used up: then a peer hears of as much as is always taken, and of more when there are mbufs again. */
static void
test_window(void **state)
{
	const uint32_t always = 8192; /* 4 segments, or twice what is always taken */

	(void)state;
	few_connected(1);
	out = in = 0;
	rig_few_leave(RESERVE);
	say(65000);
	while (in < out) {
		rig_until(&r, r.now + 120 * S);
		hear(tcp_readable(c[1]));
	}
	rec[1].n = 0;
	say(1000);
	rig_until(&r, r.now + S);
	assert_true(rec[1].n != 0 && rec[1].n < LOG - 1);
	assert_true(rec[1].e[rec[1].n - 1].wnd << r.side[1].scale <= always);
	hear(1000);
	rig_few_leave(RIG_FEW);
	rec[1].n = 0;
	say(3000);
	rig_until(&r, r.now + S);
	assert_true(rec[1].n != 0 && rec[1].n < LOG - 1);
	assert_true(rec[1].e[rec[1].n - 1].wnd << r.side[1].scale > 10 * always);
	hear(3000);
	end();
}

/* Copies go with a connection that nobody reads. */
static void
test_ended(void **state)
{
	(void)state;
	few_connected(100000);
	out = in = 0;
	rig_few_leave(0);
	say(1000);
	rig_until(&r, r.now + S);
	assert_true(rig_copied(&r, 1) >= 1000);
	tcp_close(c[1]);
	rig_until(&r, r.now + S);
	assert_int_equal(rig_copied(&r, 1), 0);
	assert_int_equal(tcp_conns(r.side[1].s), 0);
	end();
	few_connected(100000);
	out = in = 0;
	rig_few_leave(0);
	say(1000);
	rig_until(&r, r.now + S);
	end(); /* the address sanitizer looks for what is left */
}

/* Small segments go into the mbuf that the connection has. */
static void
test_joined(void **state)
{
	int i;

	(void)state;
	few_connected(1);
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	rig_few_leave(RESERVE);
	for (i = 0; i < 5; i++) {
		assert_int_equal(put(0, 100), 100);
		rig_until(&r, r.now + S);
	}
	assert_int_equal(tcp_readable(c[1]), 600);
	assert_int_equal(stats()->rx_scarce, 0);
	assert_int_equal(stats()->rx_copied, 0);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sent),  cmocka_unit_test(test_received),       cmocka_unit_test(test_first),
		cmocka_unit_test(test_mixed), cmocka_unit_test(test_copies_bounded), cmocka_unit_test(test_window),
		cmocka_unit_test(test_ended), cmocka_unit_test(test_joined),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
