/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What losses cost. A transfer over 1 Gb/s and 1 ms loses so many segments of one window at once; the time is compared with
 * the same transfer without a loss. With SACK (RFC 6675, 8985) all of them are repaired in the round trip that follows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "rig.h"

#define RTT_US 1000u
#define OCTETS 1000000u

static struct rig r;
static struct {
	uint32_t seen, from, count, dropped; /* data frames */
} drop;

static bool
tap(struct rig_side *side, const uint8_t *frame, uint32_t len)
{
	(void)side, (void)frame;
	if (len < 500)
		return false;
	drop.seen++;
	if (drop.seen <= drop.from || drop.seen > drop.from + drop.count)
		return false;
	drop.dropped++;
	return true;
}

/* Microseconds until all has arrived. */
static uint64_t
transfer(const struct tcp_conf *how, uint32_t from, uint32_t count)
{
	static uint8_t buf[65536];
	struct tcp_conf conf[2] = {*how, *how};
	struct rig_wire wire[2] = {{.delay_us = RTT_US / 2}, {.delay_us = RTT_US / 2}};
	const uint16_t mtu[2] = {1500, 1500};
	uint32_t sent = 0, got = 0;
	struct tcp_conn *c[2];
	uint64_t began, took;
	ssize_t n;

	wire[0].bytes_per_ms = 125000;
	rig_start(&r, 7, conf, wire, mtu);
	memset(&drop, 0, sizeof(drop));
	drop.from = from;
	drop.count = count;
	r.side[0].tap = tap;
	if (!rig_connect(&r, c))
		fail_msg("%s", r.why);
	began = r.now;
	while (got < OCTETS && r.why[0] == 0) {
		while (sent < OCTETS &&
		       (n = tcp_send(c[0], &(struct iovec){buf, RTE_MIN(OCTETS - sent, 65536u)}, 1, 0)) > 0)
			sent += (uint32_t)n;
		assert_true(rig_step(&r));
		while ((n = tcp_recv(c[1], &(struct iovec){buf, sizeof(buf)}, 1, 0)) > 0)
			got += (uint32_t)n;
	}
	took = r.now - began;
	assert_int_equal(drop.dropped, count);
	if (!rig_end(&r))
		fail_msg("%s", r.why);
	return took;
}

/* In the middle, when the window is large. */
static void
test_sack(void **state)
{
	static const uint32_t counts[] = {1, 2, 16, 64};
	static const enum tcp_cc cc[] = {TCP_CC_NONE, TCP_CC_CUBIC, TCP_CC_RENO};
	uint32_t i, k;

	(void)state;
	for (k = 0; k < 3; k++) {
		const struct tcp_conf conf = {.cc = cc[k]};
		const uint64_t plain = transfer(&conf, 0, 0);

		for (i = 0; i < RTE_DIM(counts); i++) {
			const uint64_t took = transfer(&conf, 300, counts[i]);

			print_message("control %u, %2u lost: %lu us, none: %lu us\n", cc[k], counts[i],
				      (unsigned long)took, (unsigned long)plain);
			assert_true(took <= plain + 3 * RTT_US);
		}
	}
}

/* The last segments have none behind them: the tail probe finds them without the timer (RFC 8985 7). */
static void
test_tail(void **state)
{
	const struct tcp_conf conf = {0};
	const uint64_t plain = transfer(&conf, 0, 0), took = transfer(&conf, 686, 5);

	(void)state;
	print_message("tail of 5 lost: %lu us, none: %lu us\n", (unsigned long)took, (unsigned long)plain);
	assert_true(took <= plain + 20 * RTT_US);
}

/* Without SACK each loss costs a round trip (RFC 6582), not a time-out. */
static void
test_newreno(void **state)
{
	const struct tcp_conf conf = {.no_sack = true};
	const uint64_t plain = transfer(&conf, 0, 0), took = transfer(&conf, 300, 16);

	(void)state;
	print_message("no SACK, 16 lost: %lu us, none: %lu us\n", (unsigned long)took, (unsigned long)plain);
	assert_true(took <= plain + 25 * RTT_US);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sack),
		cmocka_unit_test(test_tail),
		cmocka_unit_test(test_newreno),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
