/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* How long a connection waits before it sends again: after time-outs whose answer was late, when a window opens, and by tail probes
 * (RFC 8985 7.2, 7.3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "record.h"

#define MSS 1448u

static struct tcp_info
info(void)
{
	struct tcp_info i;

	tcp_info_get(c[0], &i);
	return i;
}

static const struct tcp_stats *
stats(void)
{
	return tcp_stats(r.side[0].s);
}

/* What side 0 sends arrives after 13 s, all that it sends again meanwhile does not: the answer is that to what was sent first. */
static void
late_answer(void)
{
	const uint64_t delay = r.wire[0].delay_us;

	r.wire[0].delay_us = 13 * S;
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + 100);
	r.wire[0].delay_us = delay;
	rec[0].lose = true;
	rig_until(&r, r.now + 13 * S + 100 * MS);
	rec[0].lose = false;
	assert_int_equal(get(1, 1000), 100);
	assert_int_equal(info().tcpi_unacked, 0);
	/* Karn: no round trip of the path as it is, and the timer stays backed off until there is one. */
	assert_true(info().tcpi_backoff >= 6);
	assert_true(info().tcpi_rtt < 10 * MS);
}

/* Data behind such an answer that is lost does not wait for a timer of 64 times the time-out: the tail is probed. */
static void
test_loss_after_late_answer(void **state)
{
	uint64_t began;

	(void)state;
	connected(plain, 1000);
	late_answer();
	rec[0].lose_next = 1;
	began = r.now;
	assert_int_equal(put(0, 100), 100);
	while (tcp_readable(c[1]) == 0 && rig_step(&r))
		;
	assert_true(r.now - began < S);
	rig_until(&r, r.now + S);
	assert_int_equal(info().tcpi_backoff, 0);
	end();
}

/* The clock of timestamps may come half round between a time-out and the next data. */
static void
test_answer_after_a_month(void **state)
{
	(void)state;
	connected(plain, 1000);
	/* In CLOSE-WAIT nothing goes the short way. */
	assert_int_equal(tcp_shutdown(c[1], SHUT_WR), 0);
	rig_until(&r, r.now + S);
	assert_int_equal(tcp_state(c[0]), TCP_CLOSE_WAIT);
	late_answer();
	rig_until(&r, r.now + 30 * 24 * 3600 * S);
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(info().tcpi_unacked, 0);
	assert_int_equal(info().tcpi_backoff, 0);
	end();
}

/* What goes when a closed window opens, and is lost, is sent again after one time-out, and not when the window would have been
 * asked again. */
static void
test_window_opens(void **state)
{
	uint64_t began;
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		const struct tcp_conf conf[2] = {{.no_sack = i != 0}, {.rcvbuf = 4096}};

		connected(conf, 100);
		assert_int_equal(put(0, 4097), 4097);
		rig_until(&r, r.now + 600 * S);
		assert_int_equal(tcp_readable(c[1]), 4096);
		assert_true(info().tcpi_backoff >= 9);
		rec[0].lose_next = 1;
		began = r.now;
		assert_int_equal(get(1, 4096), 4096);
		while (r.why[0] == 0 && tcp_readable(c[1]) == 0 && rig_step(&r))
			;
		assert_true(r.now - began < S);
		assert_int_equal(rec[0].lose_next, 0);
		end();
	}
}

/* 8985 7.2: where the time-out would come before the probe, the probe goes at its time, and the window stays as it is. */
static void
test_probe_in_place(void **state)
{
	uint32_t cwnd;

	(void)state;
	connected(plain, 500);
	cwnd = info().tcpi_snd_cwnd;
	rec[0].lose_next = 1;
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	assert_int_equal(rec[0].n, 2);
	near(rec[0].e[1].at - rec[0].e[0].at, 200 * MS);
	assert_int_equal(stats()->tail_probes, 1);
	assert_int_equal(stats()->timeouts, 0);
	assert_true(info().tcpi_snd_cwnd >= cwnd);
	assert_int_equal(get(1, 1000), 100);
	end();
}

/* 8985 7.2: each transmission puts the probe off, but not beyond the time-out of the oldest. */
static void
test_probe_not_later(void **state)
{
	static const struct {
		uint64_t each;
		uint32_t len, n; /* n of them in 200 ms */
	} way[] = {{60 * MS, 100, 4}, {30 * MS, MSS, 7}};
	uint32_t i, k;

	(void)state;
	for (i = 0; i < RTE_DIM(way); i++) {
		connected(plain, 10 * MS);
		assert_int_equal(tcp_opt_set(c[0], IPPROTO_TCP, TCP_NODELAY, 1), 0);
		rec[0].lose_data = true;
		for (k = 0; k < way[i].n; k++) {
			assert_int_equal(put(0, way[i].len), way[i].len);
			rig_until(&r, r.now + way[i].each);
		}
		assert_int_equal(rec[0].n, way[i].n + 1);
		assert_int_equal(rec[0].e[way[i].n].seq, rec[0].e[way[i].n - 1].seq);
		near(rec[0].e[way[i].n].at - rec[0].e[0].at, 200 * MS);
		assert_int_equal(stats()->tail_probes, 1);
		assert_int_equal(stats()->timeouts, 0);
		end();
	}
}

/* 8985 7.3: the probe is new data, if there is some; what Nagle held back tells of the loss in front of it. */
static void
test_probe_of_held_data(void **state)
{
	(void)state;
	connected(plain, 500);
	rec[0].lose_next = 1;
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + MS);
	assert_int_equal(put(0, 50), 50);
	rig_until(&r, r.now + S);
	assert_int_equal(rec[0].n, 3);
	assert_int_equal(rec[0].e[1].seq, rec[0].e[0].seq + 100);
	assert_int_equal(rec[0].e[1].len, 50);
	near(rec[0].e[1].at - rec[0].e[0].at, 200 * MS);
	assert_int_equal(rec[0].e[2].seq, rec[0].e[0].seq);
	assert_true(rec[0].e[2].at - rec[0].e[1].at <= 5 * MS);
	assert_int_equal(stats()->timeouts, 0);
	assert_int_equal(get(1, 1000), 150);
	end();
}

/* 8985 7.3: no second probe before a round trip was measured; what was sent again is none (Karn). */
static void
test_probe_blind(void **state)
{
	const struct tcp_conf conf[2] = {{.no_timestamps = true}, {0}};

	(void)state;
	connected(conf, 500);
	rec[0].lose_next = 2;
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	assert_int_equal(get(1, 1000), 100);
	assert_int_equal(stats()->tail_probes, 1);
	assert_int_equal(stats()->timeouts, 1);
	rec[0].lose_next = 1;
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	assert_int_equal(get(1, 1000), 100);
	assert_int_equal(stats()->tail_probes, 1);
	assert_int_equal(stats()->timeouts, 2);
	/* One that arrives at once is one. */
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	rec[0].lose_next = 1;
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	assert_int_equal(get(1, 1000), 200);
	assert_int_equal(stats()->tail_probes, 2);
	assert_int_equal(stats()->timeouts, 2);
	end();
}

/* 8985 7.2: where no round trip was measured the probe goes after a second; the time-out is 3 s after a lost SYN (6298 5.7). */
static void
test_probe_unmeasured(void **state)
{
	const struct tcp_conf conf[2] = {{.no_timestamps = true}, {0}};
	const struct tcp_addr at = {0, RTE_BE16(80)};
	struct tcp_conn *l;
	int err;

	(void)state;
	start(conf, 500);
	l = tcp_listen(r.side[1].s, &at, 4, NULL, &err);
	assert_non_null(l);
	c[0] = tcp_connect(r.side[0].s, NULL, &(struct tcp_addr){r.side[1].ip, RTE_BE16(80)}, NULL, &err);
	assert_non_null(c[0]);
	rec[0].lose = true;
	rig_until(&r, r.now + 500 * MS);
	rec[0].lose = false;
	rig_until(&r, r.now + 2 * S);
	c[1] = tcp_accept(l, NULL);
	assert_non_null(c[1]);
	tcp_close(l);
	rec[0].n = 0;
	rec[0].lose_next = 1;
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + 2 * S);
	assert_int_equal(rec[0].n, 2);
	near(rec[0].e[1].at - rec[0].e[0].at, S);
	assert_int_equal(stats()->tail_probes, 1);
	assert_int_equal(get(1, 1000), 100);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loss_after_late_answer),
		cmocka_unit_test(test_answer_after_a_month),
		cmocka_unit_test(test_window_opens),
		cmocka_unit_test(test_probe_in_place),
		cmocka_unit_test(test_probe_not_later),
		cmocka_unit_test(test_probe_of_held_data),
		cmocka_unit_test(test_probe_blind),
		cmocka_unit_test(test_probe_unmeasured),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
