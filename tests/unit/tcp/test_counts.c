/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Each counter moves for its reason and by how much. Those of losses, cookies and reuse are looked at where these are tested. */
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

static uint32_t seq, ack; /* what the peer of side 0 says next */

/* A frame for side 0 as it is, in mbufs of at most so many octets; flags: what a card says of it. */
static void
give(const uint8_t *frame, uint32_t len, uint32_t piece, uint64_t flags)
{
	struct rte_mbuf *m = NULL, *k;

	while (len != 0) {
		const uint32_t n = RTE_MIN(len, piece);

		k = rte_pktmbuf_alloc(r.side[0].conf.pool);
		assert_non_null(k);
		memcpy(rte_pktmbuf_append(k, (uint16_t)n), frame, n);
		k->ol_flags = flags;
		if (m == NULL)
			m = k;
		else
			assert_int_equal(rte_pktmbuf_chain(m, k), 0);
		frame += n;
		len -= n;
	}
	tcp_input(r.side[0].s, &m, 1, r.now);
}

/* The peer's last frame with one octet changed, which no checksum knows of. */
static void
changed(uint32_t at, uint8_t to, uint64_t flags)
{
	uint8_t f[128];

	memcpy(f, rec[1].last, sizeof(f));
	f[at] = to;
	give(f, 14 + ((uint32_t)f[16] << 8 | f[17]), UINT16_MAX, flags);
}

#define GOOD (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD)

static void
udp(void)
{
	changed(23, IPPROTO_UDP, GOOD);
}

static void
too_long(void)
{
	changed(46, 0xf0, GOOD);
}

static void
bad_sum(void)
{
	changed(38, rec[1].last[38] ^ 1, 0);
}

static void
bad_by_card(void)
{
	changed(38, rec[1].last[38], RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD);
}

static void
fragment(void)
{
	changed(20, 0x20, GOOD);
}

static void
elsewhere(void)
{
	changed(37, rec[1].last[37] ^ 1, GOOD);
}

/* A VLAN tag and as many options as IP and TCP can have, of which the last octets lie in another mbuf. */
static void
long_headers(void)
{
	uint8_t f[138];

	memset(f, 1, sizeof(f)); /* options: nothing, so often */
	memcpy(f, rec[1].last, 12);
	memcpy(f + 12, ((uint8_t[]){0x81, 0, 0, 5, 8, 0}), 6);
	memcpy(f + 18, rec[1].last + 14, 20);
	f[18] = 0x4f;
	f[20] = 0;
	f[21] = 120;
	memcpy(f + 78, rec[1].last + 34, 20);
	f[81] ^= 1;
	f[90] = 0xf0;
	f[91] = RST; /* which is not answered */
	give(f, sizeof(f), 136, GOOD);
}

static void
plain_ack(void)
{
	forge(0, ACK, seq, ack, 65535, NULL, 0, 0);
}

static void
data(void)
{
	forge(0, ACK, seq, ack, 65535, NULL, 0, 10);
}

static void
old_timestamp(void)
{
	uint8_t ts[12] = {1, 1, 8, 10};

	put32(ts + 4, get32(rec[1].last + 62) - 1);
	forge(0, ACK, seq, ack, 65535, ts, sizeof(ts), 0);
}

static void
outside(void)
{
	forge(0, ACK, seq - 1, ack, 65535, NULL, 0, 0);
}

static void
ack_ahead(void)
{
	uint32_t i;

	for (i = 0; i < 11; i++)
		forge(0, ACK, seq, ack + 1, 65535, NULL, 0, 0);
}

static void
no_flag(void)
{
	forge(0, 0, seq, ack, 65535, NULL, 0, 0);
}

static void
twice(void)
{
	data();
	data();
}

static void
data_after_close(void)
{
	tcp_close(c[0]);
	data();
}

static void
two_holes(void)
{
	forge(0, ACK, seq + 1, ack, 65535, NULL, 0, 1);
	forge(0, ACK, seq + 3, ack, 65535, NULL, 0, 1);
}

static void
told_twice(void)
{
	uint8_t sack[12] = {1, 1, 5, 10};

	put32(sack + 4, ack - 1);
	put32(sack + 8, ack);
	forge(0, ACK, seq, ack, 65535, sack, sizeof(sack), 0);
}

static void
second_peer(void)
{
	const struct tcp_addr at = {0, RTE_BE16(81)}, to = {r.side[0].ip, RTE_BE16(81)};
	struct tcp_conn *l;
	int err;

	r.free_window = true; /* the rig knows one connection */
	l = tcp_listen(r.side[0].s, &at, 1, NULL, &err);
	assert_non_null(l);
	assert_non_null(tcp_connect(r.side[1].s, NULL, &to, NULL, &err));
	rig_until(&r, r.now + 500 * MS);
	tcp_close(l);
}

static void
send_100(void)
{
	(void)put(0, 100);
	rig_until(&r, r.now + 100 * MS);
}

static void
send_without_path(void)
{
	r.side[0].path_error = -EHOSTUNREACH;
	tcp_paths_changed(r.side[0].s);
	send_100();
	r.side[0].path_error = 0;
}

static void
send_without_mbuf(void)
{
	rig_pool_empty(&r, true);
	assert_int_equal(put(0, 100), -ENOBUFS);
	rig_pool_empty(&r, false);
}

static void
card_takes_nothing(void)
{
	r.side[0].stopped = true;
	assert_int_equal(put(0, 100), 100);
	tcp_run(r.side[0].s, r.now);
	r.side[0].stopped = false;
}

static void
closed_window(void)
{
	forge(0, ACK, seq, ack, 0, NULL, 0, 0);
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + 250 * MS);
}

static void
keepalive(void)
{
	tcp_opt_set(c[0], IPPROTO_TCP, TCP_KEEPIDLE, 10);
	tcp_opt_set(c[0], SOL_SOCKET, SO_KEEPALIVE, 1);
	rig_until(&r, r.now + 15 * S);
}

static void
silent_peer(void)
{
	tcp_opt_set(c[0], IPPROTO_TCP, TCP_USER_TIMEOUT, 1000);
	rec[0].lose = true;
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + 2 * S);
}

static void
no_listener(void)
{
	const struct tcp_addr to = {r.side[1].ip, RTE_BE16(9)};
	int err;

	r.free_window = true;
	assert_non_null(tcp_connect(r.side[0].s, NULL, &to, NULL, &err));
	rig_until(&r, r.now + 100 * MS);
}

/* A call that fails opens nothing, and closes nothing. */
static void
no_remote(void)
{
	const struct tcp_addr to = {r.side[1].ip, 0};
	int err;

	assert_null(tcp_connect(r.side[0].s, NULL, &to, NULL, &err));
	assert_int_equal(err, -EINVAL);
	rig_until(&r, r.now + 100 * MS);
}

static void
peer_resets(void)
{
	tcp_abort(c[1]);
	rig_until(&r, r.now + 100 * MS);
}

static void
both_close(void)
{
	tcp_close(c[0]);
	rig_until(&r, r.now + 100 * MS);
	tcp_close(c[1]);
	rig_until(&r, r.now + 100 * MS);
}

static const struct {
	const char *name;
	size_t at;
	void (*provoke)(void);
	uint64_t by;
	bool timestamps;
} counts[] = {
#define COUNT(member, provoke, by)                                                                                     \
	{                                                                                                              \
#member, offsetof(struct tcp_stats, member), provoke, by, false                                        \
	}
#define COUNT_TS(member, provoke, by)                                                                                  \
	{                                                                                                              \
#member, offsetof(struct tcp_stats, member), provoke, by, true                                         \
	}
	COUNT(rx_segments, plain_ack, 1),
	COUNT(tx_segments, send_100, 1),
	COUNT(rx_bytes, data, 10),
	COUNT(tx_bytes, send_100, 100),
	COUNT(rx_other, udp, 1),
	COUNT(rx_malformed, too_long, 1),
	COUNT(rx_malformed, long_headers, 0),
	COUNT(rx_no_conn, long_headers, 1),
	COUNT(rx_checksum, bad_sum, 1),
	COUNT(rx_checksum, bad_by_card, 1),
	COUNT(rx_fragment, fragment, 1),
	COUNT(rx_no_conn, elsewhere, 1),
	COUNT_TS(rx_paws, old_timestamp, 1),
	COUNT_TS(rx_no_timestamp, plain_ack, 1),
	COUNT(rx_outside, outside, 1),
	COUNT(rx_bad_ack, ack_ahead, 11),
	COUNT(tx_challenge, ack_ahead, 10),
	COUNT(tx_challenge_limited, ack_ahead, 1),
	COUNT(rx_no_ack, no_flag, 1),
	COUNT(rx_duplicate, twice, 1),
	COUNT(rx_after_close, data_after_close, 1),
	COUNT(tx_rst, data_after_close, 1),
	COUNT(rx_ooo, two_holes, 2),
	COUNT(rx_ooo_dropped, two_holes, 1),
	COUNT(rx_no_memory, second_peer, 1),
	COUNT(tx_no_path, send_without_path, 1),
	COUNT(tx_no_mbuf, send_without_mbuf, 1),
	COUNT(tx_blocked, card_takes_nothing, 1),
	COUNT(window_probes, closed_window, 1),
	COUNT(keepalives, keepalive, 1),
	COUNT(timed_out, silent_peer, 1),
	COUNT(spurious, told_twice, 1),
	COUNT(opened, no_remote, 0),
	COUNT(closed, no_remote, 0),
	COUNT(reset, peer_resets, 1),
	COUNT(closed, peer_resets, 1),
	COUNT(time_waits, both_close, 1),
	COUNT(closed, both_close, 1),
};

static uint64_t
value(size_t at)
{
	uint64_t v;

	memcpy(&v, (const uint8_t *)tcp_stats(r.side[0].s) + at, sizeof(v));
	return v;
}

static void
test_counts(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(counts); i++) {
		const struct tcp_conf conf[2] = {{.no_timestamps = !counts[i].timestamps,
						  .max_ooo_mbufs = 1,
						  .max_conns = counts[i].provoke == second_peer ? 1 : 4},
						 {0}};
		uint64_t before;

		connected(conf, 100);
		seq = get32(rec[1].last + 38) + 1;
		ack = get32(rec[1].last + 42);
		before = value(counts[i].at);
		counts[i].provoke();
		if (value(counts[i].at) - before != counts[i].by)
			fail_msg("%s: %lu instead of %lu more", counts[i].name,
				 (unsigned long)(value(counts[i].at) - before), (unsigned long)counts[i].by);
		end();
	}
}

static void
test_refused(void **state)
{
	(void)state;
	connected(plain, 100);
	no_listener();
	assert_int_equal(tcp_stats(r.side[0].s)->refused, 1);
	assert_int_equal(tcp_stats(r.side[0].s)->opened, 2);
	assert_int_equal(tcp_stats(r.side[0].s)->closed, 1);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_refused),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
