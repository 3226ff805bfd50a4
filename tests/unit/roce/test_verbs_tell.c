/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What telemetry says of RoCE ports, asked through its socket as dpdk-telemetry.py does. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fake.h"
#include "tests/unit/telemetry_client.h"

static void
test_telemetry(void **state)
{
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	char stats[32], info[32], want[64];
	const char *said;

	fake_reset();
	snprintf(info, sizeof(info), "/triplane/roce/info,%u", fake_port);
	snprintf(stats, sizeof(stats), "/triplane/roce/stats,%u", fake_port);
	assert_string_equal(tell_ask("/triplane/roce/list"), "{\"/triplane/roce/list\":[]}");
	assert_string_equal(tell_ask(info), "{\"/triplane/roce/info\":null}");

	ctx = fake_open(NULL);
	pd = tp_roce_alloc_pd(ctx);
	snprintf(want, sizeof(want), "{\"/triplane/roce/list\":[%u]}", fake_port);
	assert_string_equal(tell_ask("/triplane/roce/list"), want);
	said = tell_ask(info);
	assert_non_null(strstr(said, "\"provider\":\"fake\""));
	assert_non_null(strstr(said, "\"device\":\"net_null0\""));
	assert_non_null(strstr(said, "\"udp_port\":4791"));
	assert_non_null(strstr(said, "\"mtu\":1024"));
	assert_non_null(strstr(said, "\"pds\":1"));
	assert_non_null(strstr(said, "\"qps\":0"));
	said = tell_ask(stats);
	assert_non_null(strstr(said, "\"fake_counter\":42"));
	assert_non_null(strstr(said, "\"net_counter\":1"));
	assert_non_null(strstr(said, "\"async_events_lost\":0"));

	/* parameters that name no open port */
	assert_string_equal(tell_ask("/triplane/roce/info"), "{\"/triplane/roce/info\":null}");
	assert_string_equal(tell_ask("/triplane/roce/stats,x"), "{\"/triplane/roce/stats\":null}");
	assert_string_equal(tell_ask("/triplane/roce/stats,31"), "{\"/triplane/roce/stats\":null}");
	assert_string_equal(tell_ask("/triplane/roce/stats,99999999999"), "{\"/triplane/roce/stats\":null}");
	assert_int_equal(tp_roce_dealloc_pd(pd), 0);
	fake_close(ctx);
	assert_string_equal(tell_ask("/triplane/roce/list"), "{\"/triplane/roce/list\":[]}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_telemetry, tell_dial, tell_hang_up),
	};
	int rc = fake_eal("--telemetry");

	if (rc == 0)
		rc = cmocka_run_group_tests_name("roce_verbs_tell", tests, NULL, NULL);
	rte_eal_cleanup(); /* the socket goes */
	return rc;
}
