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

/* Takes all mbufs that stacks send with, or gives them back. */
static void
pool_empty(bool empty)
{
	static struct rte_mbuf *held[16384];
	static uint32_t n;

	while (empty && (held[n] = rte_pktmbuf_alloc(r.side[0].conf.pool)) != NULL)
		n++;
	while (!empty && n != 0)
		rte_pktmbuf_free(held[--n]);
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
	pool_empty(true);
	/* More than there is room for: what is missing is an mbuf all the same. */
	assert_int_equal(put(0, 10000), -ENOBUFS);
	pool_empty(false);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_simultaneous_open),
		cmocka_unit_test(test_send_refused),
		cmocka_unit_test(test_both_closed),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
