/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Mbufs get scarce: data waits, and acknowledgements go and come all the same. */
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

#define RESERVE 64u

/* Stands for the pool of what comes: frames of the rig are others. */
static struct rte_mempool *few;

static void
leave(uint32_t left)
{
	static struct rte_mbuf *taken[2 * RESERVE];
	static uint32_t n;

	while (rte_mempool_avail_count(few) > left)
		taken[n++] = rte_pktmbuf_alloc(few);
	while (rte_mempool_avail_count(few) < left)
		rte_pktmbuf_free(taken[--n]);
}

static uint32_t
unacked(int n)
{
	struct tcp_info info;

	tcp_info_get(c[n], &info);
	return info.tcpi_unacked;
}

/* A program's data leaves the reserve, of which what comes is acknowledged; it hears when there are mbufs again. */
static void
test_sent(void **state)
{
	const struct tcp_conf conf[2] = {{.reserve = RESERVE}, {0}};

	(void)state;
	connected(conf, 100);
	rig_pool_leave(&r, RESERVE - 1);
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	assert_int_equal(put(0, 100), -ENOBUFS);
	assert_int_equal(tcp_stats(r.side[0].s)->tx_scarce, 1);
	assert_int_equal(put(1, 1000), 1000);
	rig_until(&r, r.now + S);
	assert_int_equal(tcp_readable(c[0]), 1000);
	assert_int_equal(unacked(1), 0);
	r.side[0].events = 0;
	assert_int_equal(put(1, 1), 1);
	rig_until(&r, r.now + S);
	assert_int_equal(r.side[0].events & TCP_EV_WRITABLE, 0);
	rig_pool_empty(&r, false);
	assert_int_equal(put(1, 1), 1);
	rig_until(&r, r.now + S);
	assert_int_equal(r.side[0].events & TCP_EV_WRITABLE, TCP_EV_WRITABLE);
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	assert_int_equal(get(1, 1000), 200);
	end();
}

/* What is not taken from a peer comes again; what it acknowledged counts. */
static void
test_received(void **state)
{
	const struct tcp_conf conf[2] = {{0}, {.reserve = RESERVE, .rx_pool = few}};

	(void)state;
	connected(conf, 100);
	assert_int_equal(put(0, 1448), 1448);
	leave(RESERVE + 1);
	rig_until(&r, r.now + 10 * MS);
	assert_int_equal(tcp_readable(c[1]), 1448);
	leave(RESERVE);
	assert_int_equal(put(1, 100), 100);
	assert_int_equal(put(0, 2 * 1448), 2 * 1448);
	rig_until(&r, r.now + 300 * MS);
	assert_int_equal(tcp_readable(c[1]), 1448);
	assert_true(tcp_stats(r.side[1].s)->rx_scarce >= 2);
	assert_int_equal(unacked(1), 0);
	leave(2 * RESERVE);
	rig_until(&r, r.now + 300 * S);
	assert_int_equal(get(1, 10000), 3 * 1448);
	end();
}

/* Small segments go into the mbuf that the connection has. */
static void
test_joined(void **state)
{
	const struct tcp_conf conf[2] = {{.no_timestamps = true}, {.reserve = RESERVE, .rx_pool = few}};
	int i;

	(void)state;
	connected(conf, 100);
	assert_int_equal(put(0, 100), 100);
	rig_until(&r, r.now + S);
	leave(RESERVE);
	for (i = 0; i < 5; i++) {
		assert_int_equal(put(0, 100), 100);
		rig_until(&r, r.now + S);
	}
	assert_int_equal(tcp_readable(c[1]), 600);
	assert_int_equal(tcp_stats(r.side[1].s)->rx_scarce, 0);
	leave(2 * RESERVE);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sent),
		cmocka_unit_test(test_received),
		cmocka_unit_test(test_joined),
	};

	rig_init();
	few = rte_pktmbuf_pool_create("few", 2 * RESERVE, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	assert_non_null(few);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
