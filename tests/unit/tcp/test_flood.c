/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Peers that ask and never answer (RFC 4987). A listener whose places are taken by forged SYN still serves a peer that
 * answers: by a cookie, which no other segment, time or address makes valid.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include <rte_byteorder.h>

#include "octets.h"
#include "rig.h"

#define BACKLOG 4u
#define SYN 2u
#define RST 4u
#define ACK 16u

static struct rig r;
static uint8_t last[128]; /* that side 1 sent */
static uint32_t last_len;

static bool
tap(struct rig_side *side, const uint8_t *frame, uint32_t len)
{
	(void)side;
	last_len = len;
	memcpy(last, frame, RTE_MIN(len, (uint32_t)sizeof(last)));
	return false;
}

/* A segment to port 80 of side 1 from 10.9.0.x. */
static void
forge(uint8_t from, uint8_t flags, uint32_t seq, uint32_t ack)
{
	uint8_t f[54] = {2,  2, 2, 2, 2, 2,  4, 4, 4, 4,  4, 4, 8,    0,  0x45, 0, 0,
			 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 9, 0, from, 10, 0,    0, 2};

	f[34] = 0x20;
	f[37] = 80;
	put32(f + 38, seq);
	put32(f + 42, ack);
	f[46] = 5 << 4;
	f[47] = flags;
	f[48] = 0x40;
	last_len = 0;
	rig_inject(&r, 1, f, sizeof(f));
}

static struct tcp_conn *
flooded(void)
{
	const struct tcp_conf conf[2] = {{.tx_checksum = true}, {.tx_checksum = true}};
	const struct rig_wire wire[2] = {{.delay_us = 100}, {.delay_us = 100}};
	const uint16_t mtu[2] = {1500, 1500};
	const struct tcp_addr at = {0, RTE_BE16(80)};
	struct tcp_conn *l;
	uint32_t i;
	int err;

	rig_start(&r, 5, conf, wire, mtu);
	r.free_window = true; /* the rig knows one connection */
	r.side[1].tap = tap;
	l = tcp_listen(r.side[1].s, &at, BACKLOG, NULL, &err);
	assert_non_null(l);
	for (i = 0; i < 100; i++)
		forge((uint8_t)(1 + i), SYN, 1000 * i, 0);
	assert_int_equal(tcp_conns(r.side[1].s), BACKLOG);
	assert_int_equal(tcp_stats(r.side[1].s)->cookies_sent, 100 - BACKLOG);
	return l;
}

static void
test_served(void **state)
{
	struct tcp_conn *l = flooded(), *c[2];
	static uint8_t out[20000], in[20000];
	uint32_t got = 0, i;
	struct tcp_info info;
	ssize_t n;
	int err;

	(void)state;
	c[0] = tcp_connect(r.side[0].s, NULL, &(struct tcp_addr){r.side[1].ip, RTE_BE16(80)}, NULL, &err);
	assert_non_null(c[0]);
	rig_until(&r, r.now + 10000);
	assert_int_equal(tcp_stats(r.side[1].s)->cookies_good, 1);
	c[1] = tcp_accept(l, NULL);
	assert_non_null(c[1]);
	tcp_info_get(c[1], &info);
	assert_int_equal(info.tcpi_snd_mss, 1460);
	assert_int_equal(info.tcpi_options, 0);
	for (i = 0; i < sizeof(out); i++)
		out[i] = rig_byte(0, i);
	for (i = 0; i < 2; i++) {
		got = 0;
		assert_int_equal(tcp_send(c[i], &(struct iovec){out, sizeof(out)}, 1, 0), sizeof(out));
		while (got < sizeof(out) && rig_step(&r) && r.why[0] == 0)
			while ((n = tcp_recv(c[!i], &(struct iovec){in + got, sizeof(in) - got}, 1, 0)) > 0)
				got += (uint32_t)n;
		assert_memory_equal(in, out, sizeof(out));
	}
	tcp_close(l);
	assert_true(rig_end(&r));
}

static void
test_forged(void **state)
{
	struct tcp_conn *l = flooded();
	uint32_t isn, i;

	(void)state;
	forge(200, SYN, 5000, 0);
	assert_int_equal(last[47], SYN | ACK);
	assert_int_equal(get32(last + 42), 5001);
	isn = get32(last + 38);
	/* Another number, another first number of its own, another address: RST, and nothing is kept. */
	for (i = 0; i < 4; i++) {
		forge(i == 2 ? 201 : 200, ACK, i == 1 ? 5002 : 5001, isn + 1 + (i == 0) + (i == 3 ? 1u << 24 : 0));
		assert_int_equal(last[47], RST);
		assert_int_equal(tcp_conns(r.side[1].s), BACKLOG);
	}
	/* Its time is over. */
	rig_until(&r, r.now + UINT64_C(140000000));
	forge(200, SYN, 5000, 0); /* so that cookies are out */
	forge(200, ACK, 5001, isn + 1);
	assert_int_equal(last[47], RST);
	tcp_close(l);
	assert_true(rig_end(&r));
}

/* Who is served and not accepted takes a place, too. */
static void
test_full(void **state)
{
	struct tcp_conn *l = flooded();
	uint32_t i;

	(void)state;
	for (i = 0; i < 20; i++) {
		forge((uint8_t)(200 + i), SYN, 5000, 0);
		if (last_len != 0)
			forge((uint8_t)(200 + i), ACK, 5001, get32(last + 38) + 1);
	}
	assert_int_equal(tcp_conns(r.side[1].s), 2 * BACKLOG);
	assert_int_equal(tcp_stats(r.side[1].s)->rx_backlog_full, 20 - BACKLOG);
	for (i = 0; i < BACKLOG; i++)
		assert_non_null(tcp_accept(l, NULL));
	assert_null(tcp_accept(l, NULL));
	tcp_close(l);
	assert_true(rig_end(&r));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_served),
		cmocka_unit_test(test_forged),
		cmocka_unit_test(test_full),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
