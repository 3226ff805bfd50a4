/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What telemetry says of RoCE ports, asked through its socket as dpdk-telemetry.py does. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_eal.h>

#include "fake.h"

static int sock;

static int
dial(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char hello[1024];

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/dpdk_telemetry.v2", rte_eal_get_runtime_dir());
	sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (sock < 0 || connect(sock, (const struct sockaddr *)&addr, sizeof(addr)) != 0)
		return -1;
	return read(sock, hello, sizeof(hello)) > 0 ? 0 : -1;
}

static int
hang_up(void **state)
{
	return close(sock);
}

/* The answer to a command, as it is on the socket. */
static const char *
ask(const char *command)
{
	static char answer[16384];
	ssize_t n;

	assert_int_equal(write(sock, command, strlen(command)), strlen(command));
	n = read(sock, answer, sizeof(answer) - 1);
	assert_true(n > 0);
	answer[n] = 0;
	return answer;
}

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
	assert_string_equal(ask("/triplane/roce/list"), "{\"/triplane/roce/list\":[]}");
	assert_string_equal(ask(info), "{\"/triplane/roce/info\":null}");

	ctx = fake_open(NULL);
	pd = tp_roce_alloc_pd(ctx);
	snprintf(want, sizeof(want), "{\"/triplane/roce/list\":[%u]}", fake_port);
	assert_string_equal(ask("/triplane/roce/list"), want);
	said = ask(info);
	assert_non_null(strstr(said, "\"provider\":\"fake\""));
	assert_non_null(strstr(said, "\"device\":\"net_null0\""));
	assert_non_null(strstr(said, "\"udp_port\":4791"));
	assert_non_null(strstr(said, "\"mtu\":1024"));
	assert_non_null(strstr(said, "\"pds\":1"));
	assert_non_null(strstr(said, "\"qps\":0"));
	said = ask(stats);
	assert_non_null(strstr(said, "\"fake_counter\":42"));
	assert_non_null(strstr(said, "\"net_counter\":1"));
	assert_non_null(strstr(said, "\"async_events_lost\":0"));

	/* parameters that name no open port */
	assert_string_equal(ask("/triplane/roce/info"), "{\"/triplane/roce/info\":null}");
	assert_string_equal(ask("/triplane/roce/stats,x"), "{\"/triplane/roce/stats\":null}");
	assert_string_equal(ask("/triplane/roce/stats,31"), "{\"/triplane/roce/stats\":null}");
	assert_string_equal(ask("/triplane/roce/stats,99999999999"), "{\"/triplane/roce/stats\":null}");
	assert_int_equal(tp_roce_dealloc_pd(pd), 0);
	fake_close(ctx);
	assert_string_equal(ask("/triplane/roce/list"), "{\"/triplane/roce/list\":[]}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_telemetry, dial, hang_up),
	};
	int rc = fake_eal("--telemetry");

	if (rc == 0)
		rc = cmocka_run_group_tests_name("roce_verbs_tell", tests, NULL, NULL);
	rte_eal_cleanup(); /* the socket goes */
	return rc;
}
