/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections that could wait for ever: what is missing for a while (a path, mbufs, room on the wire) comes back, and they go on. */
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

/* RFC 6298 5.6: the timer runs on, also when the segment could not be sent again: for want of an mbuf to cut it for a path that
 * became narrower, or of a path. */
static void
test_resend_fails(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		connected(plain, 1000);
		rec[0].lose_data = true;
		assert_int_equal(put(0, 1000), 1000);
		rig_until(&r, r.now + 100);
		assert_int_equal(rec[0].n, 1);
		if (i == 0) {
			rig_pool_empty(&r, true);
			r.side[0].mtu = 600;
		} else {
			r.side[0].path_error = -EAGAIN;
		}
		tcp_paths_changed(r.side[0].s);
		rig_until(&r, r.now + 5 * S);
		assert_int_equal(rec[0].n, 1);
		rig_pool_empty(&r, false);
		r.side[0].path_error = 0;
		rec[0].lose_data = false;
		rig_until(&r, r.now + 30 * S);
		assert_int_equal(get(1, 2000), 1000);
		end();
	}
}

/* RFC 2018 8: a peer that took its SACK back and closed its window is asked all the same. */
static void
test_sacked_and_closed(void **state)
{
	const struct tcp_conf conf[2] = {{.no_timestamps = true}, {0}};
	uint8_t sack[12] = {1, 1, 5, 10};
	uint32_t seq, ack;

	(void)state;
	connected(conf, 1000);
	rec[0].lose_data = true;
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + 100);
	seq = rec[0].e[0].seq;
	ack = rec[0].e[0].ack;
	put32(sack + 4, seq);
	put32(sack + 8, seq + 100);
	forge(0, ACK, ack, seq, 0, sack, sizeof(sack), 0);
	rec[0].lose_data = false;
	rig_until(&r, r.now + 30 * S);
	assert_int_equal(get(1, 1000), 100);
	end();
}

/* A timer that moves on does not take one with it that comes earlier. */
static void
test_keepalive_and_loss(void **state)
{
	const struct tcp_conf conf[2] = {{.no_sack = true}, {0}};

	(void)state;
	connected(conf, 100);
	tcp_opt_set(c[0], IPPROTO_TCP, TCP_KEEPIDLE, 10);
	tcp_opt_set(c[0], SOL_SOCKET, SO_KEEPALIVE, 1);
	rig_until(&r, r.now + 9900 * MS);
	rec[0].lose_data = true;
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + 500 * MS);
	assert_int_equal(rec[0].n, 2);
	near(rec[0].e[1].at - rec[0].e[0].at, 200 * MS);
	end();
}

/* FIN for which there was no mbuf while data was out follows the acknowledgement. */
static void
test_fin_without_mbuf(void **state)
{
	(void)state;
	connected(plain, 5000);
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + 100);
	rig_pool_empty(&r, true);
	assert_int_equal(tcp_shutdown(c[0], SHUT_WR), 0);
	rig_until(&r, r.now + 100);
	assert_int_equal(rec[0].n, 1);
	rig_pool_empty(&r, false);
	rig_until(&r, r.now + 5 * S);
	assert_int_equal(tcp_state(c[0]), TCP_FIN_WAIT2);
	assert_int_equal(tcp_state(c[1]), TCP_CLOSE_WAIT);
	end();
}

/* RFC 9293 3.5, figure 8: both open at once. */
static void
test_simultaneous_open(void **state)
{
	struct tcp_addr at[2];
	int i, err;

	(void)state;
	start(plain, 1000);
	for (i = 0; i < 2; i++)
		at[i] = (struct tcp_addr){r.side[i].ip, rte_cpu_to_be_16((uint16_t)(1000 + i))};
	for (i = 0; i < 2; i++) {
		c[i] = tcp_connect(r.side[i].s, &at[i], &at[!i], NULL, &err);
		assert_non_null(c[i]);
	}
	rig_until(&r, r.now + S);
	for (i = 0; i < 2; i++) {
		assert_int_equal(tcp_state(c[i]), TCP_ESTABLISHED);
		assert_int_equal(rec[i].n, 3);
		assert_int_equal(put(i, 1000), 1000);
	}
	rig_until(&r, r.now + S);
	assert_int_equal(get(0, 2000), 1000);
	assert_int_equal(get(1, 2000), 1000);
	end();
}

/* A send that takes nothing says why, and changes nothing. */
static void
test_send_refused(void **state)
{
	const struct tcp_conf conf[2] = {{.sndbuf = 4096}, {0}};

	(void)state;
	connected(conf, 1000);
	rig_pool_empty(&r, true);
	/* More than there is room for: what is missing is an mbuf all the same. */
	assert_int_equal(put(0, 10000), -ENOBUFS);
	rig_pool_empty(&r, false);
	assert_int_equal(put(0, 10000), 4096);
	assert_int_equal(put(0, 1), -EAGAIN);
	assert_int_equal(put(0, 0), 0);
	r.side[0].events = 0;
	rig_until(&r, r.now + 100 * MS);
	assert_true((r.side[0].events & TCP_EV_WRITABLE) != 0);
	/* No octets with MSG_MORE do not hold back those that stand there. */
	rec[0].n = 0;
	assert_int_equal(put(0, 10), 10);
	assert_int_equal(tcp_send(c[0], NULL, 0, MSG_MORE), 0);
	rig_until(&r, r.now + 100);
	assert_int_equal(rec[0].n, 1);
	end();
}

static struct tcp_conn *
open_to(uint16_t port)
{
	const struct tcp_addr from = {r.side[0].ip, 0}, to = {r.side[1].ip, rte_cpu_to_be_16(port)};
	struct tcp_conn *k;
	int err;

	k = tcp_connect(r.side[0].s, &from, &to, NULL, &err);
	assert_non_null(k);
	return k;
}

/* A path that must be asked for first costs no try, and SYN that leaves later is the first one: it is answered by RTT and window. */
static void
test_path_comes_late(void **state)
{
	const struct tcp_conf conf[2] = {{.syn_retries = 2}, {0}};
	uint32_t i;

	(void)state;
	start(conf, 10);
	r.side[0].path_error = -EAGAIN;
	rec[0].lose = true;
	c[0] = open_to(80);
	rig_until(&r, r.now + 1500 * MS);
	assert_int_equal(rec[0].n, 0);
	r.side[0].path_error = 0;
	rig_until(&r, r.now + 60 * S);
	assert_int_equal(rec[0].n, 3);
	for (i = 1; i < 3; i++)
		near(rec[0].e[i].at - rec[0].e[i - 1].at, S << (i - 1));
	assert_int_equal(tcp_error(c[0]), ETIMEDOUT);
	tcp_close(c[0]);
	/* One that never comes ends, too. */
	r.side[0].path_error = -EAGAIN;
	tcp_paths_changed(r.side[0].s);
	c[0] = open_to(80);
	rig_until(&r, r.now + 60 * S);
	assert_int_equal(tcp_error(c[0]), ETIMEDOUT);
	tcp_close(c[0]);
	end();
}

/* SYN without a path while the card takes nothing: it leaves when both are there. */
static void
test_syn_while_blocked(void **state)
{
	struct tcp_conn *first;

	(void)state;
	start(plain, 10);
	r.side[0].stopped = true;
	first = open_to(80);
	rig_until(&r, r.now + 1000);
	r.side[0].path_error = -EAGAIN;
	c[0] = open_to(81);
	rig_until(&r, r.now + 1000);
	r.side[0].path_error = 0;
	r.side[0].stopped = false;
	rig_until(&r, r.now + 10 * S);
	assert_int_equal(tcp_error(first), ECONNREFUSED);
	assert_int_equal(tcp_error(c[0]), ECONNREFUSED);
	tcp_close(first);
	tcp_close(c[0]);
	end();
}

/* Of many that have something to send, the first one that the card does not take stands for all. */
static void
test_many_while_blocked(void **state)
{
	struct tcp_conn *many[200];
	const struct tcp_stats *st;
	uint64_t before;
	unsigned int i;

	(void)state;
	start(plain, 10);
	st = tcp_stats(r.side[0].s);
	r.side[0].stopped = true;
	for (i = 0; i < RTE_DIM(many); i++)
		many[i] = open_to((uint16_t)(81 + i));
	(void)tcp_run(r.side[0].s, r.now);
	before = st->tx_blocked;
	(void)tcp_run(r.side[0].s, r.now);
	assert_in_range(st->tx_blocked - before, 1, 3);
	r.side[0].stopped = false;
	rig_until(&r, r.now + 10 * S);
	for (i = 0; i < RTE_DIM(many); i++) {
		assert_int_equal(tcp_error(many[i]), ECONNREFUSED);
		tcp_close(many[i]);
	}
	end();
}

/* RFC 9293 3.8.6.1: neither end reads, and both answer: nobody gives up. */
static void
test_both_closed(void **state)
{
	const struct tcp_conf conf[2] = {{.data_retries = 3, .rcvbuf = 4096}, {.data_retries = 3, .rcvbuf = 4096}};
	uint32_t got[2] = {0, 0}, k;
	int i;

	(void)state;
	connected(conf, 100);
	for (i = 0; i < 2; i++)
		assert_int_equal(put(i, 8192), 8192);
	rig_until(&r, r.now + 3600 * S);
	for (i = 0; i < 2; i++)
		assert_int_equal(tcp_state(c[i]), TCP_ESTABLISHED);
	for (k = 0; k < 10; k++) {
		for (i = 0; i < 2; i++) {
			const ssize_t n = get(i, 8192);

			got[i] += n > 0 ? (uint32_t)n : 0;
		}
		rig_until(&r, r.now + S);
	}
	assert_int_equal(got[0], 8192);
	assert_int_equal(got[1], 8192);
	end();
}

/* RFC 6429: an end that nobody holds does not wait for ever for a peer that keeps its window closed. */
static void
test_orphan_behind_closed_window(void **state)
{
	const struct tcp_conf conf[2] = {{.data_retries = 3}, {.rcvbuf = 4096}};

	(void)state;
	connected(conf, 100);
	assert_int_equal(put(0, 8192), 8192);
	rig_until(&r, r.now + S);
	tcp_close(c[0]);
	assert_int_equal(tcp_conns(r.side[0].s), 1);
	rig_until(&r, r.now + 600 * S);
	assert_int_equal(tcp_conns(r.side[0].s), 0);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resend_fails),
		cmocka_unit_test(test_sacked_and_closed),
		cmocka_unit_test(test_keepalive_and_loss),
		cmocka_unit_test(test_fin_without_mbuf),
		cmocka_unit_test(test_simultaneous_open),
		cmocka_unit_test(test_send_refused),
		cmocka_unit_test(test_path_comes_late),
		cmocka_unit_test(test_syn_while_blocked),
		cmocka_unit_test(test_many_while_blocked),
		cmocka_unit_test(test_both_closed),
		cmocka_unit_test(test_orphan_behind_closed_window),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
