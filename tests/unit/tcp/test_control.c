/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Windows of congestion control as their RFCs compute them, and what options and settings change. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "lib/tcp/tcp_priv.h"
#include "record.h"

#define MSS 1448u

static struct tcp_info
info(void)
{
	struct tcp_info i;

	tcp_info_get(c[0], &i);
	return i;
}

static struct tcp_conn *
connect_to(uint32_t ip, uint16_t port, uint16_t from)
{
	const struct tcp_addr local = {r.side[0].ip, rte_cpu_to_be_16(from)};
	const struct tcp_addr to = {rte_cpu_to_be_32(ip), rte_cpu_to_be_16(port)};
	int err;

	return tcp_connect(r.side[0].s, &local, &to, NULL, &err);
}

/* Port 80 of side 1. */
static struct tcp_conn *
listener(uint32_t backlog)
{
	const struct tcp_addr at = {0, RTE_BE16(80)};
	struct tcp_conn *l;
	int err;

	l = tcp_listen(r.side[1].s, &at, backlog, NULL, &err);
	assert_non_null(l);
	return l;
}

#define PEER RTE_IPV4(10, 0, 0, 2)

/* RFC 6928 2: ten segments, not more than 14600 octets but two; one where more than one SYN was lost. */
static void
test_first_window(void **state)
{
	static const struct {
		uint16_t mtu;
		uint64_t lost_us; /* SYN go after 0, 1 and 3 s */
		uint32_t segments;
	} rows[] = {{1500, 0, 10}, {9000, 0, 2}, {600, 0, 10}, {1500, 500 * MS, 10}, {1500, 2 * S, 1}};
	struct tcp_conn *l;
	uint32_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(rows); i++) {
		start(plain, 5000);
		r.side[0].mtu = r.side[1].mtu = rows[i].mtu;
		l = listener(1);
		rec[0].lose = rows[i].lost_us != 0;
		c[0] = connect_to(PEER, 80, 0);
		rig_until(&r, r.now + rows[i].lost_us);
		rec[0].lose = false;
		rig_until(&r, r.now + 4 * S);
		assert_int_equal(tcp_state(c[0]), TCP_ESTABLISHED);
		rec[0].n = 0;
		assert_int_equal(put(0, 65536), 65536);
		rig_until(&r, r.now + 100);
		assert_int_equal(rec[0].n, rows[i].segments);
		tcp_close(l);
		end();
	}
}

/* A flow that always has more to send. */
static void
flow(uint64_t until)
{
	while (r.now < until && r.why[0] == 0) {
		while (put(0, 65536) > 0)
			;
		rig_step(&r);
		while (get(1, 65536) > 0)
			;
	}
}

static void
near_window(double should)
{
	const double is = info().tcpi_snd_cwnd;

	if (fabs(is - should) > should * 0.06)
		fail_msg("a window of %.0f segments instead of %.1f", is, should);
}

/* After a loss: RFC 5681 halves and adds a segment a round trip; RFC 9438 keeps 0.7 and follows a cubic through the old window. */
static void
test_growth(void **state)
{
	static const enum tcp_cc cc[] = {TCP_CC_RENO, TCP_CC_CUBIC};
	const uint64_t rtt = 100 * MS;
	uint64_t began;
	uint32_t i, w;
	double k;

	(void)state;
	for (i = 0; i < 2; i++) {
		const struct tcp_conf conf[2] = {{.cc = cc[i]}, {0}};

		connected(conf, rtt / 2);
		r.wire[0].bytes_per_ms = 125000;
		while ((w = info().tcpi_snd_cwnd) < 100)
			flow(r.now + 1);
		rec[0].lose_next = 1;
		while (tcp_stats(r.side[0].s)->fast_retransmits == 0) {
			w = info().tcpi_snd_cwnd;
			flow(r.now + 1);
		}
		while (info().tcpi_ca_state != TCP_CA_Open)
			flow(r.now + 1);
		began = r.now;
		if (cc[i] == TCP_CC_RENO) {
			near_window(w * 0.5);
			flow(began + 20 * rtt);
			near_window(w * 0.5 + 20);
		} else {
			near_window(w * 0.7);
			k = cbrt(w * 0.3 / 0.4);
			flow(began + (uint64_t)(k * 1e6));
			near_window(w);
			flow(began + (uint64_t)(2 * k * 1e6));
			near_window(w * 1.3);
		}
		end();
	}
}

/* A connection behind a loss, as far as the arithmetic needs it. */
static struct tcp_conn after;
static struct tcp_stack clock_only;

static void
after_loss(uint32_t segments, uint32_t now_ms)
{
	after.s = &clock_only;
	after.mss = 1000;
	after.cc = TCP_CC_CUBIC;
	after.cwnd = segments * 1000;
	clock_only.now_ms = now_ms;
	tcp_cc_loss(&after, after.cwnd);
	after.cwnd = after.ssthresh;
}

/* RFC 9438 4.2: the curve begins where the window was cut, at whatever time: what the first acknowledgement covers is no growth. */
static void
test_epoch(void **state)
{
	static const uint32_t times[] = {0, 1, 2, 1000, 1001, UINT32_MAX - 1, UINT32_MAX};
	uint32_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(times); i++) {
		memset(&after, 0, sizeof(after));
		after.ssthresh = 200000;
		after_loss(100, times[i]);
		assert_int_equal(after.cwnd, 70000);
		tcp_cc_acked(&after, 100000, 0);
		assert_in_range(after.cwnd, 70000, 71000);
	}
}

/* 4.3: as Reno would, by 9/17 of a segment a round trip up to the window before the cut, then by one; 4.7 does not change that. */
static void
test_as_reno(void **state)
{
	uint32_t i;

	(void)state;
	memset(&after, 0, sizeof(after));
	after.ssthresh = 200000;
	after_loss(100, 1000);
	after_loss(80, 1000);
	assert_int_equal(after.cwnd, 56000);
	for (i = 0; i < 30; i++)
		tcp_cc_acked(&after, after.cwnd, 0);
	assert_in_range(after.cwnd, 71400, 72400);
	for (; i < 60; i++)
		tcp_cc_acked(&after, after.cwnd, 0);
	assert_in_range(after.cwnd, 94000, 95500);
}

/* A queue that drops what it has no room for: each time that the window has grown too large a few segments are lost, no window. */
static void
test_full_queue(void **state)
{
	const struct tcp_conf conf[2] = {{.sndbuf = 1 << 20}, {.rcvbuf = 1 << 20}};
	uint64_t dropped, recoveries;

	(void)state;
	connected(conf, 10 * MS);
	r.wire[0].bytes_per_ms = 2500;
	r.wire[0].queue_bytes = 50000;
	flow(r.now + 2 * S);
	dropped = r.side[0].dropped;
	recoveries = tcp_stats(r.side[0].s)->fast_retransmits;
	flow(r.now + 30 * S);
	dropped = r.side[0].dropped - dropped;
	recoveries = tcp_stats(r.side[0].s)->fast_retransmits - recoveries;
	assert_in_range(recoveries, 5, 100);
	assert_in_range(dropped, recoveries, 2 * recoveries);
	assert_int_equal(tcp_stats(r.side[0].s)->timeouts, 0);
	end();
}

/* Another control while a time-out is repaired: the window grows from one segment on. */
static void
test_control_in_timeout(void **state)
{
	static const enum tcp_cc cc[] = {TCP_CC_RENO, TCP_CC_NONE, TCP_CC_CUBIC};
	uint32_t i;

	(void)state;
	connected(plain, 1000);
	rec[0].lose_data = true;
	assert_int_equal(put(0, 10 * MSS), 10 * MSS);
	while (tcp_stats(r.side[0].s)->timeouts == 0 && rig_step(&r))
		;
	for (i = 0; i < RTE_DIM(cc); i++) {
		assert_int_equal(tcp_cc_set(c[0], cc[i]), 0);
		assert_int_equal(info().tcpi_snd_cwnd, 1);
	}
	assert_int_equal(tcp_cc_set(c[0], TCP_CC_NONE + 1), -EINVAL);
	rec[0].lose_data = false;
	rig_until(&r, r.now + 10 * S);
	assert_int_equal(get(1, 65536), 10 * MSS);
	end();
}

/* RFC 6528 3: one tuple's numbers follow a clock of 4 us, another's have nothing to do with them. */
static void
test_initial_numbers(void **state)
{
	struct entry first;

	(void)state;
	start(plain, 10);
	rec[0].lose = true;
	tcp_abort(connect_to(PEER, 80, 1234));
	assert_non_null(c[0] = connect_to(PEER, 80, 1235));
	rig_until(&r, r.now + 1000);
	tcp_abort(c[0]);
	first = rec[0].e[0];
	rig_until(&r, r.now + 10 * S);
	rec[0].n = 0;
	assert_non_null(c[0] = connect_to(PEER, 80, 1235));
	assert_non_null(connect_to(PEER, 80, 1236));
	rig_until(&r, r.now + 1000);
	assert_int_equal(rec[0].n, 2);
	assert_int_equal(rec[0].e[0].seq - first.seq, (rec[0].e[0].at >> 2) - (first.at >> 2));
	assert_true(labs((int32_t)(rec[0].e[1].seq - rec[0].e[0].seq)) > 1 << 20);
	end();
}

/* RFC 6056 3.3.3: of the range, each once, from a place that the peer decides. */
static void
test_ports(void **state)
{
	const struct tcp_conf conf[2] = {{.port_min = 40000, .port_max = 40003}, {0}};
	struct tcp_addr local, remote, other;
	struct tcp_conn *k;
	uint32_t i, seen = 0;

	(void)state;
	start(conf, 10);
	for (i = 0; i < 4; i++) {
		assert_non_null(k = connect_to(PEER, 80, 0));
		tcp_addrs(k, &local, &remote);
		assert_int_equal(local.ip, r.side[0].ip);
		assert_int_equal(remote.ip, r.side[1].ip);
		assert_int_equal(remote.port, RTE_BE16(80));
		assert_in_range(rte_be_to_cpu_16(local.port), 40000, 40003);
		seen |= 1u << (rte_be_to_cpu_16(local.port) - 40000);
	}
	assert_int_equal(seen, 0xf);
	assert_null(connect_to(PEER, 80, 0));
	assert_non_null(connect_to(PEER, 81, 0));
	end();
	start(plain, 10);
	tcp_addrs(connect_to(PEER, 80, 0), &local, &remote);
	tcp_addrs(connect_to(PEER, 81, 0), &other, &remote);
	assert_true(abs(rte_be_to_cpu_16(local.port) - rte_be_to_cpu_16(other.port)) > 16);
	end();
}

/* More than so many in TIME-WAIT: the oldest goes. */
static void
test_max_time_wait(void **state)
{
	const struct tcp_conf conf[2] = {{.max_time_wait = 2}, {0}};
	struct tcp_conn *l, *k;
	uint32_t i;

	(void)state;
	start(conf, 10);
	r.free_window = true; /* the rig knows one connection */
	l = listener(4);
	for (i = 0; i < 4; i++) {
		assert_non_null(k = connect_to(PEER, 80, (uint16_t)(1000 + i)));
		rig_until(&r, r.now + MS);
		tcp_close(k);
		rig_until(&r, r.now + MS);
		tcp_close(tcp_accept(l, NULL));
		rig_until(&r, r.now + MS);
		assert_int_equal(tcp_time_waits(r.side[0].s), RTE_MIN(i + 1, 2u));
	}
	assert_non_null(connect_to(PEER, 80, 1001));
	assert_null(connect_to(PEER, 80, 1002));
	tcp_close(l);
	end();
}

/* SO_SNDBUF, SO_RCVBUF and TCP_MAXSEG, of a connection and of a listener for those that it makes. */
static void
test_sizes_by_option(void **state)
{
	struct tcp_conn *l;

	(void)state;
	start(plain, 10);
	l = listener(1);
	assert_int_equal(tcp_opt_set(l, SOL_SOCKET, SO_RCVBUF, 8192), 0);
	assert_int_equal(tcp_opt_set(l, IPPROTO_TCP, TCP_MAXSEG, 1000), 0);
	assert_non_null(c[0] = connect_to(PEER, 80, 0));
	assert_int_equal(tcp_opt_set(c[0], IPPROTO_TCP, TCP_MAXSEG, 600), 0);
	assert_int_equal(tcp_opt_set(c[0], SOL_SOCKET, SO_SNDBUF, 20000), 0);
	rig_until(&r, r.now + MS);
	/* Kind 2, of 4 octets */
	assert_memory_equal(rec[1].last + 54, ((uint8_t[]){2, 4, 1000 >> 8, 1000 & 0xff}), 4);
	assert_int_equal(info().tcpi_advmss, 600);
	assert_int_equal(tcp_opt_set(c[0], IPPROTO_TCP, TCP_MAXSEG, 700), -EISCONN);
	c[1] = tcp_accept(l, NULL);
	assert_non_null(c[1]);
	rec[0].n = 0;
	assert_int_equal(tcp_writable(c[0]), 20000);
	assert_int_equal(put(0, 65536), 20000);
	rig_until(&r, r.now + S);
	assert_int_equal(rec[0].e[0].len, 600 - 12);
	assert_int_equal(tcp_readable(c[1]), 8192);
	tcp_close(l);
	end();
}

/* IEEE 802.1Q: what a path's frames are tagged with, also large sends. */
static void
test_vlan(void **state)
{
	const struct tcp_conf conf[2][2] = {{{0}, {0}}, {{.tx_checksum = true, .tso = true}, {0}}};
	struct tcp_conn *l;
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		start(conf[i], 10);
		r.side[0].vlan = 0x2005;
		l = listener(1);
		assert_non_null(c[0] = connect_to(PEER, 80, 0));
		rig_until(&r, r.now + MS);
		assert_int_equal(put(0, 20000), 20000);
		rig_until(&r, r.now + S);
		assert_non_null(c[1] = tcp_accept(l, NULL));
		assert_int_equal(get(1, 65536), 20000);
		tcp_close(l);
		end();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_window),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_epoch),
		cmocka_unit_test(test_as_reno),
		cmocka_unit_test(test_full_queue),
		cmocka_unit_test(test_control_in_timeout),
		cmocka_unit_test(test_initial_numbers),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_max_time_wait),
		cmocka_unit_test(test_sizes_by_option),
		cmocka_unit_test(test_vlan),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
