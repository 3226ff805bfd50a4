/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Rules of the RFCs that show only in rare places: after a time-out, a long silence, two gigabytes, in TIME-WAIT, under attack. */
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
	last = be32(rec[1].last + 38);
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
	seq = be32(rec[1].last + 38) + 1;
	ack = be32(rec[1].last + 42);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_wait_reused),
		cmocka_unit_test(test_many_holes),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
