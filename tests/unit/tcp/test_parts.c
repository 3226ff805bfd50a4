/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sizes, the keyed hash by its published vector, the wheel beside a plain list, and what a stack refuses. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "lib/tcp/tcp_priv.h"
#include "rig.h"

static void
test_sizes(void **state)
{
	(void)state;
	assert_true(sizeof(struct tcp_conn) <= 512);
	assert_true(sizeof(struct tcp_tw) <= 64);
	/* What a segment in order needs lies in three cache lines. */
	assert_true(offsetof(struct tcp_conn, wheel) <= 3 * 64);
}

/* The 17th vector of the authors' table: key 00 01 .. 0f, input 00 01 .. 0f. */
static void
test_siphash(void **state)
{
	const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};

	(void)state;
	assert_true(tcp_siphash(key, key[0], key[1]) == UINT64_C(0x3f2acc7f57c29bdb));
}

#define ENTRIES 200
static void
test_wheel(void **state)
{
	static struct wheel w;
	static struct wheel_entry e[ENTRIES];
	uint64_t at[ENTRIES] = {0}, now = UINT64_C(123456789012), next, span;
	struct rig r = {.random = 4711};
	struct wheel_entry *d;
	uint32_t round, i, n;

	(void)state;
	wheel_init(&w, now);
	for (round = 0; round < 20000; round++) {
		i = rig_random(&r, ENTRIES);
		span = UINT64_C(1) << rig_random(&r, 40);
		if (rig_random(&r, 4) == 0) {
			wheel_del(&w, &e[i]);
			at[i] = 0;
		} else {
			at[i] = now + rig_random(&r, (uint32_t)RTE_MIN(span, UINT64_C(0x7fffffff))) + span;
			wheel_add(&w, &e[i], at[i]);
		}
		/* Never later than a tick after the earliest. */
		for (next = UINT64_MAX, i = 0; i < ENTRIES; i++)
			if (at[i] != 0)
				next = RTE_MIN(next, at[i]);
		assert_true(wheel_next(&w) <= (next == UINT64_MAX ? next : next + 16));
		now = rig_random(&r, 2) != 0 ? now + rig_random(&r, 5000) : RTE_MIN(wheel_next(&w), now + (1u << 30));
		for (d = wheel_turn(&w, now); d != NULL; d = d->next) {
			n = (uint32_t)(d - e);
			assert_true(at[n] != 0 && at[n] <= now);
			at[n] = 0;
		}
		for (i = 0; i < ENTRIES; i++)
			assert_true(at[i] == 0 || at[i] + 16 > now);
	}
}

static uint16_t
no_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	(void)home, (void)m, (void)n;
	return 0;
}

static uint32_t
no_random(void *home)
{
	(void)home;
	return 4;
}

static void
refused(struct tcp_conf conf)
{
	static const struct tcp_home ops = {.tx = no_tx, .random = no_random};
	int err = 0;

	assert_null(tcp_stack_create(&conf, &ops, NULL, 0, &err));
	assert_int_equal(err, -EINVAL);
}

static void
test_refusals(void **state)
{
	const struct tcp_conf conf[2] = {{.max_conns = 1}, {.max_conns = 2}};
	const struct rig_wire wire[2] = {{.delay_us = 10}, {.delay_us = 10}};
	const uint16_t mtu[2] = {1500, 1500};
	const struct tcp_addr any = {0, 0}, port = {0, RTE_BE16(80)};
	static struct rig r;
	struct tcp_conf good;
	struct tcp_conn *c[2], *l;
	int err, v;

	(void)state;
	rig_start(&r, 3, conf, wire, mtu);
	good = r.side[0].conf;
	refused((struct tcp_conf){.pool = NULL});
	refused((struct tcp_conf){.pool = good.pool, .max_conns = 1048577});
	refused((struct tcp_conf){.pool = good.pool, .rcvbuf = 4095});
	refused((struct tcp_conf){.pool = good.pool, .sndbuf = 16777217});
	refused((struct tcp_conf){.pool = good.pool, .rto_min_ms = 1001});
	refused((struct tcp_conf){.pool = good.pool, .delack_ms = 501});
	refused((struct tcp_conf){.pool = good.pool, .data_retries = 2});
	refused((struct tcp_conf){.pool = good.pool, .port_min = 50000, .port_max = 40000});
	refused((struct tcp_conf){.pool = good.pool, .tso = true});
	refused((struct tcp_conf){.pool = good.pool, .tso_mbufs = 41});
	assert_null(tcp_listen(r.side[1].s, &any, 1, NULL, &err));
	assert_int_equal(err, -EINVAL);
	assert_null(tcp_listen(r.side[1].s, &port, 65536, NULL, &err));
	assert_int_equal(err, -EINVAL);
	l = tcp_listen(r.side[1].s, &port, 1, NULL, &err);
	assert_non_null(l);
	assert_null(tcp_listen(r.side[1].s, &port, 1, NULL, &err));
	assert_int_equal(err, -EADDRINUSE);
	tcp_close(l);
	assert_null(tcp_connect(r.side[0].s, NULL, &any, NULL, &err));
	assert_int_equal(err, -EINVAL);
	assert_true(rig_connect(&r, c));
	/* max_conns is 1 */
	assert_null(tcp_connect(r.side[0].s, NULL, &(struct tcp_addr){r.side[1].ip, RTE_BE16(81)}, NULL, &err));
	assert_int_equal(err, -ENFILE);
	assert_int_equal(tcp_opt_set(c[0], IPPROTO_TCP, TCP_MAXSEG, 1000), -EISCONN);
	assert_int_equal(tcp_opt_set(c[0], IPPROTO_TCP, TCP_NODELAY, 2), -EINVAL);
	assert_int_equal(tcp_opt_set(c[0], IPPROTO_TCP, TCP_KEEPIDLE, 0), -EINVAL);
	assert_int_equal(tcp_opt_set(c[0], IPPROTO_TCP, TCP_KEEPCNT, 128), -EINVAL);
	assert_int_equal(tcp_opt_set(c[0], SOL_SOCKET, SO_SNDBUF, 4095), -EINVAL);
	assert_int_equal(tcp_opt_set(c[0], SOL_SOCKET, 9999, 1), -ENOPROTOOPT);
	assert_int_equal(tcp_opt_set(c[0], 9999, 1, 1), -ENOPROTOOPT);
	assert_int_equal(tcp_opt_set(c[0], IPPROTO_TCP, TCP_KEEPINTVL, 32767), 0);
	assert_int_equal(tcp_opt_get(c[0], IPPROTO_TCP, TCP_KEEPINTVL, &v), 0);
	assert_int_equal(v, 32767);
	assert_int_equal(tcp_send(c[0], NULL, 0, 0), 0);
	assert_int_equal(tcp_shutdown(c[0], SHUT_WR), 0);
	assert_int_equal(tcp_send(c[0], &(struct iovec){&v, 4}, 1, 0), -EPIPE);
	assert_int_equal(tcp_recv(c[0], &(struct iovec){&v, 4}, 1, 0), -EAGAIN);
	assert_true(rig_end(&r));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_siphash),
		cmocka_unit_test(test_wheel),
		cmocka_unit_test(test_refusals),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
