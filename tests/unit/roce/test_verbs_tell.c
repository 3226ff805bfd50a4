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
	const struct tp_roce_conf conf = {.mode = TP_ROCE_V1};
	struct ibv_srq_init_attr si = {.attr = {.max_wr = 1}};
	struct ibv_comp_channel *ch;
	struct ibv_context *ctx;
	static uint8_t memory[64];
	struct ibv_cq *cq[2];
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw[3];
	char stats[32], info[32], want[64];
	const char *said;

	fake_reset();
	snprintf(info, sizeof(info), "/triplane/roce/info,%u", fake_port);
	snprintf(stats, sizeof(stats), "/triplane/roce/stats,%u", fake_port);
	assert_string_equal(tell_ask("/triplane/roce/list"), "{\"/triplane/roce/list\":[]}");
	assert_string_equal(tell_ask(info), "{\"/triplane/roce/info\":null}");

	ctx = fake_open(&conf);
	pd = tp_roce_alloc_pd(ctx);
	ch = tp_roce_create_comp_channel(ctx);
	srq = tp_roce_create_srq(pd, &si);
	mr = tp_roce_reg_mr(pd, memory, sizeof(memory), 0);
	for (unsigned int i = 0; i < 2; i++)
		cq[i] = tp_roce_create_cq(ctx, 1, NULL, NULL, 0);
	for (unsigned int i = 0; i < 3; i++)
		mw[i] = tp_roce_alloc_mw(pd, IBV_MW_TYPE_1);
	snprintf(want, sizeof(want), "{\"/triplane/roce/list\":[%u]}", fake_port);
	assert_string_equal(tell_ask("/triplane/roce/list"), want);
	said = tell_ask(info);
	assert_non_null(strstr(said, "\"provider\":\"fake\""));
	assert_non_null(strstr(said, "\"device\":\"net_null0\""));
	assert_non_null(strstr(said, "\"udp_port\":4791"));
	assert_non_null(strstr(said, "\"mtu\":1024"));
	assert_non_null(strstr(said, "\"mode\":1"));
	assert_non_null(strstr(said, "\"pds\":1"));
	assert_non_null(strstr(said, "\"qps\":0"));
	assert_non_null(strstr(said, "\"cqs\":2"));
	assert_non_null(strstr(said, "\"srqs\":1"));
	assert_non_null(strstr(said, "\"ahs\":0"));
	assert_non_null(strstr(said, "\"mrs\":1"));
	assert_non_null(strstr(said, "\"mws\":3"));
	assert_non_null(strstr(said, "\"channels\":1"));
	said = tell_ask(stats);
	assert_non_null(strstr(said, "\"fake_counter\":42"));
	assert_non_null(strstr(said, "\"net_counter\":1"));
	assert_non_null(strstr(said, "\"async_events_lost\":0"));

	assert_string_equal(tell_ask("/triplane/roce/devices"), "{\"/triplane/roce/devices\":[\"net_null0\"]}");
	assert_string_equal(tell_ask("/triplane/roce/pkeys,net_null0"),
			    "{\"/triplane/roce/pkeys\":{\"0\":\"0xffff\"}}");
	assert_string_equal(tell_ask("/triplane/roce/pkeys,net_null1"), "{\"/triplane/roce/pkeys\":null}");
	assert_string_equal(tell_ask("/triplane/roce/pkeys"), "{\"/triplane/roce/pkeys\":null}");

	/* parameters that name no open port */
	assert_string_equal(tell_ask("/triplane/roce/info"), "{\"/triplane/roce/info\":null}");
	assert_string_equal(tell_ask("/triplane/roce/stats,x"), "{\"/triplane/roce/stats\":null}");
	assert_string_equal(tell_ask("/triplane/roce/stats,31"), "{\"/triplane/roce/stats\":null}");
	assert_string_equal(tell_ask("/triplane/roce/stats,99999999999"), "{\"/triplane/roce/stats\":null}");
	/* no number, and one whose low 16 bits are the port's */
	snprintf(info, sizeof(info), "/triplane/roce/info,%ux", fake_port);
	assert_string_equal(tell_ask(info), "{\"/triplane/roce/info\":null}");
	snprintf(info, sizeof(info), "/triplane/roce/info,%u", fake_port + 65536u);
	assert_string_equal(tell_ask(info), "{\"/triplane/roce/info\":null}");
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(tp_roce_dealloc_mw(mw[i]), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(tp_roce_destroy_cq(cq[i]), 0);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	assert_int_equal(tp_roce_destroy_srq(srq), 0);
	assert_int_equal(tp_roce_destroy_comp_channel(ch), 0);
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
