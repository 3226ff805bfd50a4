/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Rules of the RFCs that show only in rare places: after a time-out, a long silence, two gigabytes, in TIME-WAIT, under attack. */
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

/* Octets with a hole behind each cost little: there are 128 runs a connection at most, and the newest goes. */
static void
test_many_holes(void **state)
{
	const struct tcp_conf conf[2] = {{.no_timestamps = true}, {0}};
	const struct tcp_stats *st;
	uint32_t seq, ack, i, k;

	(void)state;
	connected(conf, 1000);
	st = tcp_stats(r.side[0].s);
	seq = be32(rec[1].last + 38) + 1;
	ack = be32(rec[1].last + 42);
	for (k = 1; k <= 2; k++) {
		for (i = 0; i < 200; i++)
			forge(0, ACK, seq + 1 + 2 * i, ack, 65535, NULL, 0, 1);
		assert_int_equal(st->rx_ooo, 200 * k);
		assert_int_equal(st->rx_ooo_dropped, (200 - 128) * k);
		/* What is missing comes, and all runs go. */
		assert_int_equal(put(1, 400), 400);
		rig_until(&r, r.now + S);
		assert_int_equal(get(0, 1000), 400);
		seq += 400;
	}
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_holes),
	};

	rig_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
