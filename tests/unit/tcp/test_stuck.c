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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send_refused),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
