/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What time does, frame by frame: retransmission of SYN and data, acknowledgements that wait, Nagle, closed windows, keepalive,
 * TIME-WAIT. Times are those of the RFCs and of the configuration. */
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

/* RFC 6298 2.1, 5.5: one second, then twice as long each time; then the caller is told. */
static void
test_syn(void **state)
{
	const struct tcp_conf conf[2] = {{.syn_retries = 3}, {0}};
	uint32_t i;
	int err;

	(void)state;
	start(conf, 10);
	rec[0].lose = true;
	c[0] = tcp_connect(r.side[0].s, NULL, &(struct tcp_addr){r.side[1].ip, RTE_BE16(80)}, NULL, &err);
	assert_non_null(c[0]);
	rig_until(&r, r.now + 60 * S);
	assert_int_equal(rec[0].n, 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(rec[0].e[i].flags, SYN);
	for (i = 1; i < 4; i++)
		near(rec[0].e[i].at - rec[0].e[i - 1].at, (S << (i - 1)));
	assert_int_equal(tcp_state(c[0]), TCP_CLOSE);
	assert_int_equal(tcp_error(c[0]), ETIMEDOUT);
	tcp_close(c[0]);
	end();
}

static void
test_refused(void **state)
{
	int err;

	(void)state;
	start(plain, 10);
	c[0] = tcp_connect(r.side[0].s, NULL, &(struct tcp_addr){r.side[1].ip, RTE_BE16(80)}, NULL, &err);
	rig_until(&r, r.now + S);
	assert_int_equal(rec[1].n, 1);
	assert_int_equal(rec[1].e[0].flags, RST | ACK);
	assert_int_equal(tcp_error(c[0]), ECONNREFUSED);
	assert_int_equal(tcp_error(c[0]), 0);
	tcp_close(c[0]);
	end();
}

/* Without SACK there is no tail probe: the first retransmission is the timer's, at no less than rto_min, then twice. */
static void
test_rto(void **state)
{
	const struct tcp_conf conf[2] = {{.no_sack = true, .data_retries = 4, .rto_min_ms = 300}, {0}};
	uint32_t i;

	(void)state;
	connected(conf, 1000);
	rec[0].lose_data = true;
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + 60 * S);
	assert_int_equal(rec[0].n, 5);
	for (i = 1; i < 5; i++) {
		near(rec[0].e[i].at - rec[0].e[i - 1].at, 300 * MS << (i - 1));
		assert_int_equal(rec[0].e[i].seq, rec[0].e[0].seq);
	}
	assert_int_equal(tcp_state(c[0]), TCP_CLOSE);
	assert_int_equal(put(0, 1), -ETIMEDOUT);
	tcp_close(c[0]);
	end();
}

/* RFC 6582 4: after the time-out ten segments go again, and the first is lost again. The third answer to those behind it tells. */
static void
test_lost_again(void **state)
{
	const struct tcp_conf conf[2] = {{.no_sack = true, .rto_min_ms = 300}, {0}};
	uint32_t i;

	(void)state;
	connected(conf, 1000);
	tcp_opt_set(c[0], IPPROTO_TCP, TCP_NODELAY, 1);
	rec[0].lose_data = true;
	for (i = 0; i < 10; i++) {
		assert_int_equal(put(0, 100), 100);
		rig_until(&r, r.now + 1);
	}
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(rec[0].n, 10);
	rec[0].lose_data = false;
	rec[0].lose_next = 1;
	rig_until(&r, r.now + 500 * MS);
	/* Each once more, and the first a third time, a round trip later: a second time-out would take 600 ms. */
	assert_int_equal(rec[0].n, 21);
	for (i = 0; i < 10; i++)
		assert_int_equal(rec[0].e[10 + i].seq, rec[0].e[i].seq);
	assert_int_equal(rec[0].e[20].seq, rec[0].e[0].seq);
	near(rec[0].e[20].at - rec[0].e[10].at, 2 * MS);
	assert_int_equal(get(1, 2000), 1000);
	end();
}

/* RFC 6298 3 (Karn): what waited behind a hole, and was sent once, tells nothing of the round trip. */
static void
test_rtt_behind_hole(void **state)
{
	const struct tcp_conf conf[2] = {{.no_sack = true, .no_timestamps = true}, {0}};
	struct tcp_info info;

	(void)state;
	connected(conf, 1000);
	/* Two that arrive behind it are too few for a fast retransmission, and the time-out sends the first alone. */
	rec[0].lose_next = 1;
	assert_int_equal(put(0, 3 * 1460), 3 * 1460);
	rig_until(&r, r.now + 10 * S);
	assert_int_equal(rec[0].n, 4);
	assert_int_equal(get(1, 10000), 3 * 1460);
	tcp_info_get(c[0], &info);
	assert_in_range(info.tcpi_rtt, 2000, 5000);
	end();
}

/*
 * A program that does not run for half a minute while acknowledgements wait for it: that is no round trip of the path, by clocks of
 * its own or by timestamps, and of none of them.
 */
static void
test_rtt_away(void **state)
{
	struct tcp_conf conf[2] = {{.no_sack = true}, {0}};
	struct tcp_info info;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		conf[0].no_timestamps = i != 0;
		connected(conf, 10 * MS);
		tcp_opt_set(c[0], IPPROTO_TCP, TCP_NODELAY, 1);
		for (uint32_t k = 0; k < 4; k++) {
			assert_int_equal(put(0, 100), 100);
			rig_until(&r, r.now + MS);
		}
		r.side[0].asleep_until = r.now + 30 * S;
		rig_until(&r, r.now + 40 * S);
		tcp_info_get(c[0], &info);
		assert_in_range(info.tcpi_rtt, 1000, 400000);
		assert_in_range(info.tcpi_rto, 200000, 1500000);
		assert_int_equal(get(1, 1000), 400);
		end();
	}
}

/* RFC 8985 7.2: with SACK the last segment goes again after two round trips and the time that its ACK may wait. */
static void
test_tail_probe(void **state)
{
	const struct tcp_conf conf[2] = {{.rto_min_ms = 200}, {0}};

	(void)state;
	connected(conf, 100 * MS);
	assert_int_equal(put(0, 2 * 1448), 2 * 1448);
	rec[0].lose_data = true;
	rig_until(&r, r.now + 420 * MS);
	assert_int_equal(rec[0].n, 3);
	assert_int_equal(rec[0].e[2].seq, rec[0].e[1].seq);
	assert_true(rec[0].e[2].at - rec[0].e[1].at <= 405 * MS && rec[0].e[2].at - rec[0].e[1].at >= 400 * MS);
	rec[0].lose_data = false;
	rig_until(&r, r.now + 5 * S);
	assert_int_equal(get(1, 5000), 2 * 1448);
	assert_int_equal(tcp_stats(r.side[0].s)->tail_probes, 1);
	end();
}

/* 8985 7.2, RFC 5681 4.2: for less than two full segments the peer may wait, and no probe asks before. */
static void
test_probe_waits(void **state)
{
	uint32_t i;

	(void)state;
	connected(plain, 500);
	assert_int_equal(tcp_opt_set(c[0], IPPROTO_TCP, TCP_NODELAY, 1), 0);
	for (i = 0; i < 5; i++) {
		assert_int_equal(put(0, 100), 100);
		rig_until(&r, r.now + 2 * MS);
	}
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(rec[0].n, 5);
	assert_int_equal(rec[1].n, 1); /* after 40 ms */
	assert_int_equal(tcp_stats(r.side[0].s)->tail_probes, 0);
	end();
}

/* Karn: an answer that a time-out asked for, and that echoes what was sent before it, is no round trip; the timer stays backed
 * off until there is one. */
static void
test_no_round_trip(void **state)
{
	struct tcp_info i;
	uint32_t rto;

	(void)state;
	connected(plain, 5 * MS);
	tcp_info_get(c[0], &i);
	rto = i.tcpi_rto;
	assert_int_equal(put(0, 100), 100);
	rec[1].lose = true;
	rig_until(&r, r.now + 3 * S);
	rec[1].lose = false;
	rig_until(&r, r.now + 10 * S);
	assert_true(tcp_stats(r.side[0].s)->timeouts >= 3);
	tcp_info_get(c[0], &i);
	assert_int_equal(i.tcpi_unacked, 0);
	assert_true(i.tcpi_rtt < 100 * MS);
	assert_true(i.tcpi_backoff >= 3);
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	tcp_info_get(c[0], &i);
	assert_int_equal(i.tcpi_backoff, 0);
	assert_true(i.tcpi_rto <= rto + 100 * MS);
	end();
}

/* RFC 9293 3.8.6.3: one small segment waits for its acknowledgement, the second full one does not. */
static void
test_delayed_ack(void **state)
{
	const struct tcp_conf conf[2] = {{0}, {.delack_ms = 70}};

	(void)state;
	connected(conf, 10);
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	assert_int_equal(rec[1].n, 1);
	near(rec[1].e[0].at - rec[0].e[0].at, 10 + 70 * MS);
	rec[0].n = rec[1].n = 0;
	assert_int_equal(put(0, 2 * 1448), 2 * 1448);
	rig_until(&r, r.now + S);
	assert_int_equal(rec[1].n, 1);
	assert_true(rec[1].e[0].at - rec[0].e[1].at <= 20);
	tcp_opt_set(c[1], IPPROTO_TCP, TCP_QUICKACK, 1);
	rec[0].n = rec[1].n = 0;
	put(0, 100);
	rig_until(&r, r.now + S);
	assert_true(rec[1].e[0].at - rec[0].e[0].at <= 20);
	/* Data that goes back takes the acknowledgement along. */
	tcp_opt_set(c[1], IPPROTO_TCP, TCP_QUICKACK, 0);
	rec[0].n = rec[1].n = 0;
	put(0, 100);
	rig_until(&r, r.now + 30);
	put(1, 10);
	rig_until(&r, r.now + 30);
	assert_int_equal(rec[1].n, 1);
	assert_int_equal(rec[1].e[0].ack, rec[0].e[0].seq + 100);
	end();
}

/* RFC 9293 3.7.4: small data waits while some is not acknowledged; TCP_NODELAY and TCP_CORK change that. */
static void
test_nagle(void **state)
{
	(void)state;
	connected(plain, 5000);
	put(0, 10);
	rig_until(&r, r.now + 100);
	put(0, 10);
	put(0, 10);
	rig_until(&r, r.now + 100);
	assert_int_equal(rec[0].n, 1);
	rig_until(&r, r.now + S);
	assert_int_equal(rec[0].n, 2);
	assert_int_equal(rec[0].e[1].len, 20);
	tcp_opt_set(c[0], IPPROTO_TCP, TCP_NODELAY, 1);
	rec[0].n = 0;
	put(0, 10);
	rig_until(&r, r.now + 100);
	put(0, 10);
	rig_until(&r, r.now + 100);
	assert_int_equal(rec[0].n, 2);
	rig_until(&r, r.now + S);
	tcp_opt_set(c[0], IPPROTO_TCP, TCP_CORK, 1);
	rec[0].n = 0;
	put(0, 10);
	rig_until(&r, r.now + 100);
	assert_int_equal(rec[0].n, 0);
	tcp_opt_set(c[0], IPPROTO_TCP, TCP_CORK, 0);
	rig_until(&r, r.now + 100);
	assert_int_equal(rec[0].n, 1);
	/* tcp(7): TCP_NODELAY lets go what waits, once, also what is corked. */
	tcp_opt_set(c[0], IPPROTO_TCP, TCP_CORK, 1);
	put(0, 10);
	rig_until(&r, r.now + 100);
	assert_int_equal(rec[0].n, 1);
	tcp_opt_set(c[0], IPPROTO_TCP, TCP_NODELAY, 1);
	rig_until(&r, r.now + 100);
	assert_int_equal(rec[0].n, 2);
	put(0, 10);
	rig_until(&r, r.now + 100);
	assert_int_equal(rec[0].n, 2);
	end();
}

/* RFC 9293 3.8.6.1: a closed window is asked, ever more seldom, and the connection stays. */
static void
test_closed_window(void **state)
{
	const struct tcp_conf conf[2] = {{.data_retries = 3}, {.rcvbuf = 4096}};
	uint32_t before, i;

	(void)state;
	connected(conf, 100);
	assert_int_equal(put(0, 6000), 6000);
	rig_until(&r, r.now + 2 * S);
	assert_int_equal(tcp_readable(c[1]), 4096);
	before = rec[0].n;
	rig_until(&r, r.now + 600 * S);
	assert_true(rec[0].n >= before + 6);
	for (i = before + 1; i < rec[0].n; i++) {
		assert_int_equal(rec[0].e[i].len, 1);
		assert_true(rec[0].e[i].at - rec[0].e[i - 1].at <= 121 * S);
		if (i > before + 1)
			assert_true(rec[0].e[i].at - rec[0].e[i - 1].at >=
				    (rec[0].e[i - 1].at - rec[0].e[i - 2].at) * 9 / 10);
	}
	assert_int_equal(tcp_state(c[0]), TCP_ESTABLISHED);
	/* It opens: the rest follows at once. */
	assert_int_equal(get(1, 4096), 4096);
	rig_until(&r, r.now + 100 * MS);
	assert_int_equal(tcp_readable(c[1]), 6000 - 4096);
	/* But a peer that says nothing is given up. */
	assert_int_equal(put(0, 6000), 6000);
	rig_until(&r, r.now + 2 * S);
	rec[1].lose = true;
	rig_until(&r, r.now + 900 * S);
	assert_int_equal(tcp_error(c[0]), ETIMEDOUT);
	end();
}

/* RFC 9293 3.8.4 */
static void
test_keepalive(void **state)
{
	(void)state;
	connected(plain, 100);
	tcp_opt_set(c[0], IPPROTO_TCP, TCP_KEEPIDLE, 10);
	tcp_opt_set(c[0], IPPROTO_TCP, TCP_KEEPINTVL, 3);
	tcp_opt_set(c[0], IPPROTO_TCP, TCP_KEEPCNT, 2);
	rig_until(&r, r.now + 60 * S);
	assert_int_equal(rec[0].n, 0);
	tcp_opt_set(c[0], SOL_SOCKET, SO_KEEPALIVE, 1);
	rig_until(&r, r.now + 35 * S);
	assert_int_equal(rec[0].n, 3);
	assert_int_equal(rec[1].n, 3);
	assert_int_equal(rec[0].e[0].len, 0);
	assert_int_equal(rec[0].e[0].seq + 1, rec[1].e[0].ack);
	rec[1].lose = true;
	rec[0].n = 0;
	rig_until(&r, r.now + 60 * S);
	assert_int_equal(rec[0].n, 3);
	near(rec[0].e[1].at - rec[0].e[0].at, 3 * S);
	assert_true((rec[0].e[2].flags & RST) != 0);
	assert_int_equal(tcp_error(c[0]), ETIMEDOUT);
	end();
}

/* RFC 5482: counted from the data, or FIN, that nobody acknowledges, however long the silence before was. */
static void
test_user_timeout(void **state)
{
	static const enum tcp_cc cc[] = {TCP_CC_CUBIC, TCP_CC_NONE};
	uint64_t began;
	uint32_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		const struct tcp_conf conf[2] = {{.cc = cc[i % 2]}, {0}};

		connected(conf, 100);
		tcp_opt_set(c[0], IPPROTO_TCP, TCP_USER_TIMEOUT, 5000);
		rig_until(&r, r.now + 3600 * S);
		rec[0].lose = true;
		began = r.now;
		if (i < 2)
			put(0, 100);
		else
			tcp_shutdown(c[0], SHUT_WR);
		while (tcp_state(c[0]) != TCP_CLOSE && rig_step(&r))
			;
		near(r.now - began, 5 * S);
		assert_int_equal(tcp_error(c[0]), ETIMEDOUT);
		end();
	}
}

/* RFC 9293 3.6.1: who closes first waits; a FIN that comes again starts the wait anew. */
static void
test_time_wait(void **state)
{
	const struct tcp_conf conf[2] = {{.time_wait_ms = 5000}, {.no_sack = true}};

	(void)state;
	connected(conf, 100);
	assert_int_equal(tcp_unacked(r.side[0].s), 1);
	tcp_close(c[0]);
	assert_int_equal(tcp_unacked(r.side[0].s), 1);
	rig_until(&r, r.now + 10 * MS);
	assert_int_equal(tcp_state(c[1]), TCP_CLOSE_WAIT);
	assert_int_equal(tcp_unacked(r.side[0].s), 0);
	assert_int_equal(tcp_unacked(r.side[1].s), 1);
	assert_int_equal(get(1, 10), 0);
	rec[0].lose = true;
	tcp_close(c[1]);
	rig_until(&r, r.now + 3 * S);
	assert_int_equal(tcp_time_waits(r.side[0].s), 1);
	assert_int_equal(tcp_conns(r.side[0].s), 0);
	assert_int_equal(tcp_conns(r.side[1].s), 1);
	assert_int_equal(tcp_unacked(r.side[0].s), 0);
	assert_int_equal(tcp_unacked(r.side[1].s), 1);
	rec[0].lose = false;
	rig_until(&r, r.now + 3 * S);
	assert_int_equal(tcp_conns(r.side[1].s), 0);
	assert_int_equal(tcp_unacked(r.side[1].s), 0);
	assert_int_equal(tcp_time_waits(r.side[0].s), 1);
	rig_until(&r, r.now + 6 * S);
	assert_int_equal(tcp_time_waits(r.side[0].s), 0);
	end();
}

/* A FIN-WAIT-2 that nobody holds ends by TCP_LINGER2. */
static void
test_fin_wait2(void **state)
{
	(void)state;
	connected(plain, 100);
	tcp_opt_set(c[0], IPPROTO_TCP, TCP_LINGER2, 7);
	tcp_close(c[0]);
	rig_until(&r, r.now + 6 * S);
	assert_int_equal(tcp_conns(r.side[0].s), 1);
	rig_until(&r, r.now + 2 * S);
	assert_int_equal(tcp_conns(r.side[0].s), 0);
	end();
}

/* RFC 2525 2.17: data that nobody will read is not passed over in silence. */
static void
test_close_unread(void **state)
{
	(void)state;
	connected(plain, 100);
	put(0, 100);
	rig_until(&r, r.now + 10 * MS);
	tcp_close(c[1]);
	rig_until(&r, r.now + 10 * MS);
	assert_true((rec[1].e[rec[1].n - 1].flags & RST) != 0);
	assert_int_equal(tcp_conns(r.side[1].s), 0);
	assert_int_equal(get(0, 10), -ECONNRESET);
	tcp_close(c[0]);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syn),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_rto),
		cmocka_unit_test(test_lost_again),
		cmocka_unit_test(test_rtt_behind_hole),
		cmocka_unit_test(test_rtt_away),
		cmocka_unit_test(test_tail_probe),
		cmocka_unit_test(test_delayed_ack),
		cmocka_unit_test(test_probe_waits),
		cmocka_unit_test(test_no_round_trip),
		cmocka_unit_test(test_nagle),
		cmocka_unit_test(test_closed_window),
		cmocka_unit_test(test_keepalive),
		cmocka_unit_test(test_user_timeout),
		cmocka_unit_test(test_time_wait),
		cmocka_unit_test(test_fin_wait2),
		cmocka_unit_test(test_close_unread),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
