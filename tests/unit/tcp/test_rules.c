/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Rules of the RFCs that show only in rare places: after a time-out, a long silence, two gigabytes, in TIME-WAIT, under attack. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "record.h"

#define MSS 1448u

/* Octets of test_two_gigabytes; "test_tcp rules N" moves N. */
static uint64_t gigabytes = UINT64_C(2200000000);

/* RFC 5681 3.1: after a time-out the window doubles each round trip, also of a flow that it did not limit before. */
static void
test_slow_start_after_timeout(void **state)
{
	const uint64_t rtt = 100 * MS;
	uint64_t began;

	(void)state;
	connected(plain, rtt / 2);
	tcp_opt_set(c[1], IPPROTO_TCP, TCP_QUICKACK, 1);
	rec[0].lose_data = true;
	assert_int_equal(put(0, 10 * MSS), 10 * MSS);
	while (tcp_stats(r.side[0].s)->tail_probes == 0 && rig_step(&r))
		;
	rec[0].lose_data = false;
	while (tcp_stats(r.side[0].s)->timeouts == 0 && rig_step(&r))
		;
	began = r.now;
	while (tcp_readable(c[1]) < 10 * MSS && rig_step(&r))
		;
	/* 1, 2, 4 and 3 segments */
	assert_true(r.now - began <= 4 * rtt);
	end();
}

/* RFC 8985 goes on after a silence in which a clock of 32 bits came half round. */
static void
test_loss_after_silence(void **state)
{
	(void)state;
	connected(plain, 1000);
	r.wire[0].bytes_per_ms = 1500; /* they arrive one by one */
	assert_int_equal(put(0, 2 * MSS), 2 * MSS);
	rig_until(&r, r.now + 40 * 60 * S);
	assert_int_equal(get(1, 65536), 2 * MSS);
	rec[0].lose_next = 1;
	assert_int_equal(put(0, 10 * MSS), 10 * MSS);
	rig_until(&r, r.now + 20 * MS);
	assert_int_equal(get(1, 65536), 10 * MSS);
	assert_int_equal(tcp_stats(r.side[0].s)->fast_retransmits, 1);
	/* Only what was lost. */
	assert_int_equal(tcp_stats(r.side[0].s)->retransmits, 1);
	end();
}

/* More than half of the sequence space without a loss or a small segment: numbers that were kept from before do not mislead. */
static void
test_two_gigabytes(void **state)
{
	const struct tcp_conf fast = {.no_sack = true, .cc = TCP_CC_NONE, .tx_checksum = true, .tso = true};
	const struct tcp_conf conf[2] = {fast, fast};
	uint64_t sent = 100, got = 0;
	ssize_t n;

	(void)state;
	start(conf, 10);
	r.side[0].mtu = r.side[1].mtu = 9000;
	if (!rig_connect(&r, c))
		fail_msg("%s", r.why);
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	while (got < gigabytes && r.why[0] == 0) {
		while (sent < gigabytes && (n = put(0, 65536)) > 0)
			sent += (uint64_t)n;
		assert_true(rig_step(&r));
		while ((n = get(1, 65536)) > 0)
			got += (uint64_t)n;
	}
	rig_until(&r, r.now + S);
	/* Nagle: nothing is out, so it leaves. */
	rec[0].n = 0;
	assert_int_equal(put(0, 10), 10);
	rig_until(&r, r.now + 100);
	assert_int_equal(rec[0].n, 1);
	rig_until(&r, r.now + S);
	/* RFC 5681 3.2: three duplicates. */
	rec[0].lose_next = 1;
	assert_int_equal(put(0, 60000), 60000);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(get(1, 65536), 10 + 60000);
	assert_int_equal(tcp_stats(r.side[0].s)->fast_retransmits, 1);
	end();
}

/* A window that holds exactly what waits is filled by one large send. */
static void
test_whole_window(void **state)
{
	const struct tcp_conf conf[2] = {{.tx_checksum = true, .tso = true, .no_wscale = true}, {.rcvbuf = 10 * MSS}};
	uint64_t before;

	(void)state;
	connected(conf, 5000);
	before = tcp_stats(r.side[0].s)->tx_segments;
	assert_int_equal(put(0, 20 * MSS), 20 * MSS);
	rig_until(&r, r.now + 100);
	assert_int_equal(rec[0].n, 10);
	assert_int_equal(tcp_stats(r.side[0].s)->tx_segments, before + 1);
	end();
}

static struct tcp_conn *
connect_from(uint16_t port)
{
	const struct tcp_addr from = {r.side[0].ip, rte_cpu_to_be_16(port)}, to = {r.side[1].ip, RTE_BE16(80)};
	struct tcp_conn *k;
	int err;

	k = tcp_connect(r.side[0].s, &from, &to, NULL, &err);
	assert_non_null(k);
	return k;
}

/* RFC 9293 3.6.1: a connection out of TIME-WAIT begins above all numbers of the last one; one that finds no place leaves the wait
 * as it was. */
static void
test_time_wait_reused(void **state)
{
	const struct tcp_addr at = {0, RTE_BE16(80)};
	const struct tcp_stats *st;
	struct tcp_conn *l, *other;
	uint32_t sent, last, i;
	int err;

	(void)state;
	start(plain, 10);
	r.free_window = true; /* the rig knows one connection */
	st = tcp_stats(r.side[1].s);
	l = tcp_listen(r.side[1].s, &at, 1, NULL, &err);
	assert_non_null(l);
	c[0] = connect_from(1234);
	rig_until(&r, r.now + MS);
	c[1] = tcp_accept(l, NULL);
	assert_non_null(c[1]);
	/* Numbers run faster than the clock of 4 us that new ones come from. */
	for (sent = 0; sent < 4000000; rig_step(&r)) {
		const ssize_t n = put(1, 65536);

		sent += n > 0 ? (uint32_t)n : 0;
		get(0, 65536);
	}
	for (i = 0; i < 100; i++) {
		while (get(0, 65536) > 0)
			;
		rig_until(&r, r.now + 100);
	}
	tcp_close(c[1]);
	rig_until(&r, r.now + MS);
	assert_int_equal(get(0, 1), 0);
	tcp_close(c[0]);
	rig_until(&r, r.now + MS);
	assert_int_equal(tcp_time_waits(r.side[1].s), 1);
	last = get32(rec[1].last + 38);
	other = connect_from(1235);
	rig_until(&r, r.now + MS);
	assert_int_equal(tcp_state(other), TCP_ESTABLISHED);
	rec[1].n = 0;
	c[0] = connect_from(1234);
	rig_until(&r, r.now + 500 * MS);
	assert_int_equal(tcp_state(c[0]), TCP_SYN_SENT);
	assert_int_equal(rec[1].n, 0);
	assert_int_equal(tcp_time_waits(r.side[1].s), 1);
	assert_int_equal(st->time_waits_reused, 0);
	assert_non_null(tcp_accept(l, NULL));
	rig_until(&r, r.now + 2 * S);
	assert_int_equal(tcp_state(c[0]), TCP_ESTABLISHED);
	assert_int_equal(st->time_waits_reused, 1);
	assert_int_equal(tcp_time_waits(r.side[1].s), 0);
	assert_int_equal(rec[1].e[0].flags, SYN | ACK);
	assert_true((int32_t)(rec[1].e[0].seq - last) >= 65536);
	tcp_close(l);
	end();
}

/* Octets with a hole behind each cost little: there are 128 runs a connection at most, and the newest goes. */
static void
test_many_holes(void **state)
{
	const struct tcp_conf conf[2] = {{.no_timestamps = true}, {0}};
	const struct tcp_stats *st;
	uint32_t seq, ack, i, k;

	(void)state;
	connected(conf, 1000);
	st = tcp_stats(r.side[0].s);
	seq = get32(rec[1].last + 38) + 1;
	ack = get32(rec[1].last + 42);
	for (k = 1; k <= 2; k++) {
		for (i = 0; i < 200; i++)
			forge(0, ACK, seq + 1 + 2 * i, ack, 65535, NULL, 0, 1);
		assert_int_equal(st->rx_ooo, 200 * k);
		assert_int_equal(st->rx_ooo_dropped, (200 - 128) * k);
		/* What is missing comes, and all runs go. */
		assert_int_equal(put(1, 400), 400);
		rig_until(&r, r.now + S);
		assert_int_equal(get(0, 1000), 400);
		seq += 400;
	}
	end();
}

/* Timestamps and what follows, as the peer's last frame has them. */
static uint32_t
clock_of(int peer, uint8_t *opt)
{
	memcpy(opt, rec[peer].last + 54, 12);
	assert_int_equal(get32(opt), 0x0101080a);
	return get32(opt + 4);
}

/*
 * RFC 7323 5.3 wants a segment acceptable before it sets the clock, RFC 5961 5.2 throws away what acknowledges what was not sent. One
 * who guesses a place in the window would else make all that the peer sends look old.
 */
static void
test_forged_clock(void **state)
{
	uint8_t opt[12];
	uint32_t val;

	(void)state;
	connected(plain, 1000);
	assert_int_equal(put(1, 100), 100);
	rig_until(&r, r.now + S);
	val = clock_of(1, opt);
	put32(opt + 4, val + 200000);
	forge(0, ACK, get32(rec[1].last + 38) + 100, get32(rec[1].last + 42) + 1000, 65535, opt, sizeof(opt), 1);
	assert_int_equal(tcp_stats(r.side[0].s)->rx_bad_ack, 1);
	assert_int_equal(put(1, 100), 100);
	rig_until(&r, r.now + 10 * MS);
	assert_int_equal(tcp_stats(r.side[0].s)->rx_paws, 0);
	assert_int_equal(get(0, 1000), 200);
	end();
}

/* An acknowledgement that others overtook has news all the same: what it says has arrived, has. */
static void
test_old_acknowledgement(void **state)
{
	uint8_t opt[24];
	struct tcp_info info;
	uint32_t una;

	(void)state;
	connected(plain, 1000);
	assert_int_equal(put(0, 4 * MSS), 4 * MSS);
	rig_until(&r, r.now + 100 * MS);
	una = get32(rec[1].last + 42);
	/* The fifth is lost, and what the peer says of those behind it. */
	rec[1].lose = true;
	rec[0].lose_next = 1;
	assert_int_equal(put(0, 3 * MSS), 3 * MSS);
	rig_until(&r, r.now + 1500);
	(void)clock_of(1, opt);
	put32(opt + 12, 0x0101050a);
	put32(opt + 16, una + MSS);
	put32(opt + 20, una + 3 * MSS);
	forge(0, ACK, get32(rec[1].last + 38), una - MSS, 65535, opt, sizeof(opt), 0);
	tcp_info_get(c[0], &info);
	assert_int_equal(info.tcpi_sacked, 2);
	assert_int_equal(info.tcpi_unacked, 3);
	rec[1].lose = false;
	rig_until(&r, r.now + 10 * MS);
	/* Not by a time-out, and without a tail probe. */
	assert_int_equal(get(1, 65536), 7 * MSS);
	assert_int_equal(tcp_stats(r.side[0].s)->tail_probes + tcp_stats(r.side[0].s)->timeouts, 0);
	end();
}

/* RFC 7323 3.2: RST of a connection has the timestamps, too. */
static void
test_reset_has_clock(void **state)
{
	uint8_t opt[12];

	(void)state;
	connected(plain, 1000);
	assert_int_equal(put(1, 100), 100);
	rig_until(&r, r.now + S);
	tcp_abort(c[0]);
	rig_until(&r, r.now + 10 * MS);
	assert_int_equal(rec[0].last[47], RST | ACK);
	assert_int_equal(rec[0].last[46] >> 4, 8);
	(void)clock_of(0, opt);
	assert_int_equal(get32(opt + 8), get32(rec[1].last + 58));
	assert_int_equal(tcp_state(c[1]), TCP_CLOSE);
	end();
}

/* As Linux has it: SHUT_RD leaves what came to be read, and what comes while our end is open. Data behind our own end is reset, since
 * nobody wants it. */
static void
test_read_shut(void **state)
{
	(void)state;
	connected(plain, 100);
	assert_int_equal(put(1, 100), 100);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(tcp_shutdown(c[0], SHUT_RD), 0);
	assert_int_equal(get(0, 40), 40);
	assert_int_equal(get(0, 1000), 60);
	assert_int_equal(get(0, 1000), 0);
	assert_int_equal(put(1, 50), 50);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(get(0, 1000), 50);
	assert_int_equal(get(0, 1000), 0);
	assert_int_equal(tcp_shutdown(c[0], SHUT_WR), 0);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(tcp_state(c[0]), TCP_FIN_WAIT2);
	assert_int_equal(tcp_stats(r.side[0].s)->rx_after_close, 0);
	assert_int_equal(put(1, 10), 10);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(tcp_stats(r.side[0].s)->rx_after_close, 1);
	assert_int_equal(tcp_state(c[0]), TCP_CLOSE);
	assert_int_equal(get(0, 10), -ECONNRESET);
	assert_int_equal(get(0, 10), 0);
	assert_int_equal(tcp_error(c[1]), EPIPE);
	end();
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_start_after_timeout),
		cmocka_unit_test(test_loss_after_silence),
		cmocka_unit_test(test_read_shut),
		cmocka_unit_test(test_two_gigabytes),
		cmocka_unit_test(test_whole_window),
		cmocka_unit_test(test_time_wait_reused),
		cmocka_unit_test(test_many_holes),
		cmocka_unit_test(test_forged_clock),
		cmocka_unit_test(test_old_acknowledgement),
		cmocka_unit_test(test_reset_has_clock),
	};

	if (argc > 1)
		gigabytes = strtoull(argv[1], NULL, 0);
	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
