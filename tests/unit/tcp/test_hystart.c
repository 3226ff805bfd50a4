/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* HyStart++ by RFC 9406: its arithmetic by numbers that the RFC's text gives, and what it spares on a wire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "lib/tcp/tcp_priv.h"
#include "record.h"

/* A connection in its first slow start, as far as the arithmetic needs it. */
static struct tcp_conn h;

static void
fresh(void)
{
	memset(&h, 0, sizeof(h));
	h.mss = 1000;
	h.cwnd = 10000;
	h.ssthresh = TCP_BUF_MAX;
	h.snd_una = 1;
	h.snd_nxt = 10001;
	tcp_hystart(&h, 1000, 0); /* the first round begins */
}

/* A round with so many round trips, all but the last of them longer; what the last acknowledgement lets the window grow by. */
static uint32_t
round_of(uint32_t samples, uint32_t us)
{
	uint32_t i, growth = 0;

	for (i = 1; i <= samples; i++) {
		if (i == samples) {
			h.snd_una = h.snd_nxt;
			h.snd_nxt += 10000;
		}
		growth = tcp_hystart(&h, 1000, i == samples ? us : us + 30000);
	}
	return growth;
}

/* 4.2, 4.3: an eighth of the round trip, 4 ms at least and 16 at most; eight of them; a quarter of the growth. */
static void
test_threshold(void **state)
{
	static const struct {
		uint32_t first, second, samples, growth;
	} rows[] = {
		{100000, 112499, 8, 1000}, {100000, 112500, 8, 250},  {10000, 13999, 8, 1000},
		{10000, 14000, 8, 250},    {400000, 415999, 8, 1000}, {400000, 416000, 8, 250},
		{100000, 112500, 7, 1000}, {100000, 90000, 8, 1000},
	};
	uint32_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(rows); i++) {
		fresh();
		assert_int_equal(round_of(8, rows[i].first), 1000);
		if (round_of(rows[i].samples, rows[i].second) != rows[i].growth)
			fail_msg("%u us, then %u: not a growth of %u", rows[i].first, rows[i].second, rows[i].growth);
		assert_int_equal(h.ssthresh, TCP_BUF_MAX);
	}
}

/* 4.2: five rounds of it, that in which it began among them; shorter round trips end it earlier. */
static void
test_rounds(void **state)
{
	uint32_t i;

	(void)state;
	fresh();
	round_of(8, 100000);
	for (i = 1; i <= 5; i++) {
		assert_int_equal(h.ssthresh, TCP_BUF_MAX);
		assert_int_equal(round_of(8, 120000), 250);
	}
	assert_int_equal(h.ssthresh, h.cwnd);
	fresh();
	round_of(8, 100000);
	for (i = 1; i <= 3; i++)
		assert_int_equal(round_of(8, 120000), 250);
	assert_int_equal(round_of(8, 119999), 1000);
	assert_int_equal(round_of(8, 119999), 1000);
	assert_int_equal(h.ssthresh, TCP_BUF_MAX);
	/* Longer again: anew, by the last round. */
	assert_int_equal(round_of(8, 134998), 250);
}

/* What slow start loses, and the time until all has arrived: Reno has RFC 5681's, CUBIC this one. */
static void
test_spared(void **state)
{
	static const struct {
		uint32_t rtt_ms, bytes_per_ms, queue; /* queue: of what fits the wire, in tenths */
	} rows[] = {{40, 12500, 10}, {40, 12500, 20}, {100, 12500, 20}};
	static const enum tcp_cc cc[] = {TCP_CC_RENO, TCP_CC_CUBIC};
	uint64_t all[2] = {0, 0};
	uint32_t i, k;

	(void)state;
	for (i = 0; i < RTE_DIM(rows); i++) {
		const uint32_t bdp = rows[i].rtt_ms * rows[i].bytes_per_ms;
		uint64_t lost[2], took[2], octets = UINT64_C(8) * bdp;

		for (k = 0; k < 2; k++) {
			const struct tcp_conf conf[2] = {{.cc = cc[k], .sndbuf = TCP_BUF_MAX}, {.rcvbuf = TCP_BUF_MAX}};
			uint64_t sent = 0, got = 0, began;
			ssize_t n;

			connected(conf, rows[i].rtt_ms * MS / 2);
			r.wire[0].bytes_per_ms = rows[i].bytes_per_ms;
			r.wire[0].queue_bytes = bdp / 10 * rows[i].queue;
			began = r.now;
			while (got < octets && r.why[0] == 0) {
				while (sent < octets && (n = put(0, RTE_MIN(octets - sent, UINT64_C(65536)))) > 0)
					sent += (uint64_t)n;
				rig_step(&r);
				while ((n = get(1, 65536)) > 0)
					got += (uint64_t)n;
			}
			lost[k] = r.side[0].dropped;
			took[k] = r.now - began;
			end();
		}
		print_message("%u ms, %u Mb/s, a queue of %u KB: %lu frames lost without, %lu with HyStart++; %lu and "
			      "%lu ms\n",
			      rows[i].rtt_ms, rows[i].bytes_per_ms / 125, bdp / 10000 * rows[i].queue,
			      (unsigned long)lost[0], (unsigned long)lost[1], (unsigned long)(took[0] / MS),
			      (unsigned long)(took[1] / MS));
		for (k = 0; k < 2; k++)
			all[k] += lost[k];
		assert_true(lost[1] < lost[0]);
		assert_true(took[1] <= took[0]);
	}
	assert_true(all[1] * 2 <= all[0]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threshold),
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_spared),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
