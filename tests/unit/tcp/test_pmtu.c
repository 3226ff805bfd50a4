/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A path that is narrower than both ends know: its routers say so (RFC 1191), or swallow what is too large (RFC 4821); and
 * ICMP of those who only guess (RFC 5927). What fits is judged by the wire, ICMP is written by the tests' own code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "path.h"
#include "record.h"

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

/* So many octets from side 0 to side 1; the virtual time that it took. */
static uint64_t
transfer(uint32_t octets)
{
	const uint64_t began = r.now;
	uint32_t sent = 0, got = 0;
	ssize_t n;

	while (got < octets && r.why[0] == 0 && r.now < began + 600 * S) {
		while (sent < octets && (n = put(0, RTE_MIN(octets - sent, 65536u))) > 0)
			sent += (uint32_t)n;
		rig_step(&r);
		while ((n = get(1, 65536)) > 0)
			got += (uint32_t)n;
	}
	if (got != octets)
		fail_msg("%u of %u octets; %s", got, octets, r.why);
	return r.now - began;
}

/* A router tells: one round trip, nothing is cut but the packets, and each that was too large is sent again at once. */
static void
test_told(void **state)
{
	static const struct tcp_conf confs[][2] = {{{0}, {0}},
						   {{.no_sack = true}, {0}},
						   {{.cc = TCP_CC_RENO, .no_timestamps = true}, {0}},
						   {{.tso = true, .tx_checksum = true}, {0}}};
	uint32_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(confs); i++) {
		uint32_t cwnd;

		connected(confs[i], 5000);
		r.wire[0].mtu = 1000;
		r.wire[0].icmp = RIG_ICMP;
		cwnd = info().tcpi_snd_cwnd * info().tcpi_snd_mss;
		assert_true(transfer(10000) < 50 * MS);
		assert_int_equal(info().tcpi_pmtu, 1000);
		assert_int_equal(info().tcpi_snd_mss, 960 - (confs[i][0].no_timestamps ? 0 : 12));
		assert_true(info().tcpi_snd_cwnd * info().tcpi_snd_mss >= cwnd - 1500);
		transfer(1000000);
		/* One window's worth was too large; nothing was taken for congestion. */
		assert_in_range(r.side[0].too_large, 1, 10);
		assert_int_equal(stats()->rx_icmp_mtu, 1);
		assert_int_equal(stats()->timeouts + stats()->fast_retransmits, 0);
		assert_int_equal(stats()->mtu_black_holes, 0);
		end();
	}
}

/* RFC 1191 5: of a router that does not say how large, the sizes of the table are tried, the next one below. */
static void
test_old_router(void **state)
{
	(void)state;
	connected(plain, 5000);
	r.wire[0].mtu = 1006;
	r.wire[0].icmp = RIG_ICMP_OLD;
	assert_true(transfer(100000) < 2 * S);
	assert_int_equal(info().tcpi_pmtu, 1006);
	assert_int_equal(stats()->rx_icmp_mtu, 2); /* 1492 first */
	assert_int_equal(stats()->timeouts, 0);
	end();
}

/* RFC 1191 6.3: after ten minutes a larger size is tried; it costs a segment where the path did not change, and no window. */
static void
test_again(void **state)
{
	uint32_t i;

	(void)state;
	connected(plain, 5000);
	r.wire[0].mtu = 1000;
	r.wire[0].icmp = RIG_ICMP;
	transfer(100000);
	for (i = 0; i < 3; i++) {
		const uint64_t large = r.side[0].too_large;

		rig_until(&r, r.now + 601 * S);
		if (i == 2)
			r.wire[0].mtu = 0;
		transfer(300000);
		assert_int_equal(r.side[0].too_large - large, i < 2);
		assert_int_equal(info().tcpi_pmtu, i < 2 ? 1000 : 1500);
	}
	assert_int_equal(stats()->mtu_probes, 3);
	assert_int_equal(stats()->timeouts + stats()->fast_retransmits, 0);
	end();
}

/* RFC 4821: nobody tells. Time-outs lead down, probes up to what the path can take, less than 8 octets below. */
static void
test_black_hole(void **state)
{
	static const uint16_t sizes[] = {1492, 1400, 1280, 1000, 576, 300};
	uint32_t i;

	(void)state;
	for (i = 0; i < 2 * RTE_DIM(sizes); i++) {
		const struct tcp_conf conf[2] = {{.no_sack = i >= RTE_DIM(sizes), .tso = i % 2, .tx_checksum = true},
						 {0}};
		const uint16_t mtu = sizes[i % RTE_DIM(sizes)];
		uint64_t took, timeouts;

		connected(conf, 5000);
		r.wire[0].mtu = mtu;
		took = transfer(100000);
		timeouts = stats()->timeouts;
		transfer(2000000);
		print_message("%s, a path of %u: %lu time-outs, %lu s until through; then %lu probes, of which %lu "
			      "lost: %u\n",
			      conf[0].no_sack ? "no SACK" : "SACK", mtu, (unsigned long)timeouts,
			      (unsigned long)(took / S), (unsigned long)stats()->mtu_probes,
			      (unsigned long)stats()->mtu_probes_lost, info().tcpi_pmtu);
		assert_in_range(info().tcpi_pmtu, mtu - 8, mtu);
		assert_true(stats()->mtu_black_holes >= 1);
		/* 1500 in vain twice, then once a size. */
		assert_true(timeouts <= 2 + stats()->mtu_black_holes);
		assert_true(stats()->mtu_probes <= 10);
		/* Lost probes are no congestion: no window was cut for one. */
		assert_int_equal(stats()->timeouts, timeouts);
		end();
	}
}

/* A peer that was silent for a while was no black hole: the first probe is of the whole size. */
static void
test_no_black_hole(void **state)
{
	(void)state;
	connected(plain, 5000);
	rec[0].lose_data = true;
	assert_int_equal(put(0, 20000), 20000);
	rig_until(&r, r.now + 5 * S);
	rec[0].lose_data = false;
	assert_true(info().tcpi_pmtu < 1500);
	rig_until(&r, r.now + 10 * S);
	while (get(1, 65536) > 0)
		;
	transfer(200000);
	assert_int_equal(info().tcpi_pmtu, 1500);
	assert_int_equal(stats()->mtu_probes, 1);
	assert_int_equal(stats()->mtu_probes_lost, 0);
	end();
}

/* A message about the frame that side 0 sent last, with one field changed. */
static void
icmp(uint32_t mtu, uint32_t at, uint32_t value)
{
	uint8_t f[PATH_ICMP_LEN];

	path_too_large(rec[0].last, mtu, f);
	if (at != 0)
		put32(f + at, value);
	/* Its own sums are right where they were not meant to be wrong. */
	if (at != 34 || (value & 0xffff) == 0) {
		put16(f + 36, 0);
		put16(f + 36, ~fold(add(f + 34, 36, 0)));
	}
	put16(f + 24, 0);
	put16(f + 24, ~fold(add(f + 14, 20, 0)));
	rig_frame(&r, 0, f, sizeof(f));
}

/* RFC 5927 4.1, 7: whoever does not see our packets cannot make them small. */
static void
test_forged(void **state)
{
	uint32_t seq, i;

	(void)state;
	connected(plain, 5000);
	rec[0].lose_data = true;
	assert_int_equal(put(0, 1448), 1448);
	rig_until(&r, r.now + 1);
	seq = get32(rec[0].last + 38);
	icmp(1000, 66, seq - 1);          /* acknowledged long ago */
	icmp(1000, 66, seq + 1448);       /* not sent yet */
	icmp(1000, 62, 0x00501234);       /* of a port that is not ours */
	icmp(1000, 58, 0x0a000003);       /* to somebody else */
	icmp(1500, 0, 0);                 /* as large as it was */
	icmp(1600, 0, 0);                 /* larger */
	icmp(1000, 34, 0x03041234);       /* a wrong sum */
	icmp(1000, 34, 0x03010000);       /* no host */
	icmp(1000, 42, 0x45000000 | 600); /* of a packet that would have fitted */
	assert_int_equal(stats()->rx_icmp_ignored, 9);
	icmp(1000, 30, 0x0a000007); /* to an address that is not ours */
	assert_int_equal(stats()->rx_other, 1);
	assert_int_equal(info().tcpi_pmtu, 1500);
	for (i = 0; i < PATH_ICMP_LEN - 14; i++) { /* cut short */
		uint8_t f[PATH_ICMP_LEN];

		path_too_large(rec[0].last, 1000, f);
		rig_frame(&r, 0, f, 14 + i);
	}
	assert_int_equal(info().tcpi_pmtu, 1500);
	icmp(1000, 0, 0);
	assert_int_equal(info().tcpi_pmtu, 1000);
	assert_int_equal(stats()->rx_icmp_mtu, 1);
	/* No path of IPv4 is narrower than what fits our headers and 48 octets. */
	rec[0].lose_data = false;
	rig_until(&r, r.now + S);
	rec[0].lose_data = true;
	assert_int_equal(put(0, 1448), 1448);
	rig_until(&r, r.now + 1);
	icmp(20, 0, 0);
	assert_int_equal(info().tcpi_pmtu, 88);
	rec[0].lose_data = false;
	rig_until(&r, r.now + 10 * S);
	assert_int_equal(get(1, 65536), 2 * 1448);
	end();
}

/* The home says that routes changed: what was found out holds, until a probe shows otherwise. */
static void
test_routes(void **state)
{
	(void)state;
	connected(plain, 5000);
	r.wire[0].mtu = 1000;
	r.wire[0].icmp = RIG_ICMP;
	transfer(100000);
	tcp_paths_changed(r.side[0].s);
	transfer(3000);
	assert_int_equal(info().tcpi_pmtu, 1000);
	r.side[0].mtu = 900;
	tcp_paths_changed(r.side[0].s);
	transfer(3000);
	assert_int_equal(info().tcpi_pmtu, 900);
	r.wire[0].mtu = 0;
	r.side[0].mtu = 1500;
	tcp_paths_changed(r.side[0].s);
	transfer(3000);
	assert_int_equal(info().tcpi_pmtu, 1500);
	assert_int_equal(stats()->timeouts, 0);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told),       cmocka_unit_test(test_old_router),    cmocka_unit_test(test_again),
		cmocka_unit_test(test_black_hole), cmocka_unit_test(test_no_black_hole), cmocka_unit_test(test_forged),
		cmocka_unit_test(test_routes),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
