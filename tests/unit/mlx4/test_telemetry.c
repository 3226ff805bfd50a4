/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What ports, their queues and cards tell: by telemetry, through its socket, and by the reports that it is made of. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "rig.h"
#include "rte_pmd_mlx4.h"
#include "rte_pmd_mlx4_queue.h"
#include "roce_rig.h"
#include "tests/unit/eal.h"
#include "tests/unit/telemetry_client.h"

static void
says(const char *command, const char *word)
{
	const char *text = tell_ask(command);

	if (strstr(text, word) == NULL)
		fail_msg("%s: no %s in %s", command, word, text);
}

static void
test_list(void **state)
{
	assert_string_equal(tell_ask("/mlx4/list"), "{\"/mlx4/list\":[]}");
	rig_open("");
	assert_string_equal(tell_ask("/mlx4/list"), "{\"/mlx4/list\":[0,1]}");
	rig_close();
	/* Ports of other drivers are not in it, and have none of the reports. */
	assert_int_equal(rig_plug("net_null0", ""), 0);
	rig_open("");
	assert_string_equal(tell_ask("/mlx4/list"), "{\"/mlx4/list\":[1,2]}");
	assert_int_equal(rte_pmd_mlx4_device_get(0, &(struct rte_pmd_mlx4_device){0}), -ENODEV);
	says("/mlx4/regs,0", ":null}");
	rig_unplug(RIG_DEV);
	rig_unplug("net_null0");
}

/* Numbers with commas between them, as many as a command takes, of ports and queues that there are. */
static void
test_parameters(void **state)
{
	static const char *const none[] = {
		"/mlx4/info",        "/mlx4/info,",   "/mlx4/info,x",     "/mlx4/info,0x",    "/mlx4/info,0,0",
		"/mlx4/info,-1",     "/mlx4/info,7",  "/mlx4/info,65535", "/mlx4/info,65536", "/mlx4/regs,7",
		"/mlx4/rxq,0",       "/mlx4/rxq,0,",  "/mlx4/rxq,0,1",    "/mlx4/rxq,0;0",    "/mlx4/txq,0,0,0",
		"/mlx4/txq,0,65535", "/mlx4/txq,7,0", "/mlx4/xstats,0",   "/mlx4/xstats,7,0", "/mlx4/xstats,0,x"};
	unsigned int i;

	rig_open_pair("", 1, NULL);
	for (i = 0; i < RTE_DIM(none); i++) {
		const char *text = tell_ask(none[i]);

		if (strstr(text, ":null}") == NULL)
			fail_msg("%s: %s", none[i], text);
	}
	rig_close();
}

/* What is in use of the card, by the report. */
static void
counts(void)
{
	struct rte_pmd_mlx4_device d;
	char want[160];

	assert_int_equal(rte_pmd_mlx4_device_get(0, &d), 0);
	assert_true(d.mtts != 0 && d.cqs != 0 && d.qps != 0 && d.eqs != 0);
	snprintf(want, sizeof(want),
		 "\"qps\":%" PRIu64 ",\"cqs\":%" PRIu64 ",\"srqs\":%" PRIu64 ",\"mrs\":%" PRIu64 ",\"mtts\":%" PRIu64
		 ",\"pds\":%" PRIu64 ",\"eqs\":%" PRIu64 ",\"commands\":",
		 (uint64_t)d.qps, (uint64_t)d.cqs, (uint64_t)d.srqs, (uint64_t)d.mrs, (uint64_t)d.mtts, (uint64_t)d.pds,
		 (uint64_t)d.eqs);
	says("/mlx4/info,0", want);
}

static void
test_info(void **state)
{
	struct rte_eth_fc_conf fc = {.mode = RTE_ETH_FC_RX_PAUSE};
	const struct tp_roce_conf v1 = {.mode = TP_ROCE_V1};
	struct rte_pmd_mlx4_device d;

	rig_open_pair("guid=0x0002c90300123450,wol=1", 1, NULL);
	rig_run(0);
	assert_int_equal(rte_pmd_mlx4_wake_on_lan_set(1, true), 0);
	assert_int_equal(rte_eth_dev_flow_ctrl_set(1, &fc), 0);
	says("/mlx4/info,1", "\"name\":\"" RIG_DEV "\",\"bus\":\"model\",\"firmware\":\"2.42.5000\"");
	says("/mlx4/info,1", "\"link_layer\":\"Ethernet\"");
	says("/mlx4/info,1",
	     "\"state\":\"ACTIVE\",\"physical_state\":\"LinkUp\",\"width\":\"4X\",\"roce_mode\":\"off\"");
	says("/mlx4/info,1", "\"gids\":[]");
	says("/mlx4/info,1", "\"device_id\":4103,\"port\":2");
	says("/mlx4/info,1", "\"node_guid\":783964676699216");
	says("/mlx4/info,1", "\"port_guid\":783964676699218");
	says("/mlx4/info,0", "\"port_guid\":783964676699217");
	says("/mlx4/info,1", "\"system_guid\":783964676699219");
	says("/mlx4/info,1", "\"active_mtu\":1500");
	says("/mlx4/info,1", "\"rx_pause\":1,\"tx_pause\":0,\"wake_on_lan\":1,\"wake_on_lan_set\":1");
	says("/mlx4/info,0", "\"wake_on_lan\":1,\"wake_on_lan_set\":0");
	says("/mlx4/info,0", "\"dead\":0");
	counts();
	fc.mode = RTE_ETH_FC_TX_PAUSE;
	assert_int_equal(rte_eth_dev_flow_ctrl_set(1, &fc), 0);
	says("/mlx4/info,1", "\"rx_pause\":0,\"tx_pause\":1");
	fc.mode = RTE_ETH_FC_FULL;
	assert_int_equal(rte_eth_dev_flow_ctrl_set(1, &fc), 0);
	says("/mlx4/info,1", "\"rx_pause\":1,\"tx_pause\":1");
	/* Without a cable, and without a start */
	assert_int_equal(rte_pmd_mlx4_model_cable(1, false), 0);
	says("/mlx4/info,1", "\"state\":\"DOWN\",\"physical_state\":\"Polling\",\"width\":\"none\"");
	says("/mlx4/info,1", "\"speed_mbps\":0");
	assert_int_equal(rte_eth_dev_stop(1), 0);
	says("/mlx4/info,1", "\"state\":\"DOWN\",\"physical_state\":\"Disabled\"");
	assert_int_equal(rte_pmd_mlx4_device_get(0, &d), 0);
	assert_true(d.speed_mbps == 0 || d.speed_mbps == 40000);
	assert_int_equal(d.num_ports, 2);
	assert_int_equal(d.num_gids | d.num_pkeys, 0);
	assert_int_equal(rte_pmd_mlx4_device_get(7, &d), -ENODEV);
	/* RoCE of one version */
	rr_ctx[0] = tp_roce_open(0, &v1);
	assert_non_null(rr_ctx[0]);
	says("/mlx4/info,0", "\"roce_mode\":\"v1\"");
	says("/mlx4/info,0", "\"gids\":[\"0 v1 fe80::");
	assert_int_equal(tp_roce_close_device(rr_ctx[0]), 0);
	rr_ctx[0] = NULL;
	says("/mlx4/info,0", "\"roce_mode\":\"off\"");
	rig_close();
}

/* The card's own GIDs: by their index, with their version; one partition; and neither while RoCE is off. */
static void
test_gids(void **state)
{
	struct rte_pmd_mlx4_gid g;
	struct ibv_gid_entry e;
	struct rte_pmd_mlx4_device d;
	unsigned int i, n = 0;
	uint16_t pkey = 0;

	rr_open("", NULL);
	assert_int_equal(rte_pmd_mlx4_device_get(1, &d), 0);
	assert_string_equal(d.roce_mode, "v2");
	assert_int_equal(d.num_gids, 128);
	assert_int_equal(d.num_pkeys, 1);
	for (i = 0; i < 128; i++) {
		int rc = rte_pmd_mlx4_gid_get(1, i, &g);

		if (i < RR_GIDS) {
			assert_int_equal(rc, 0);
			assert_int_equal(tp_roce_query_gid_ex(rr_ctx[1], 1, i, &e), 0);
			assert_memory_equal(g.gid, e.gid.raw, 16);
			assert_int_equal(g.roce_version, (i & 1) + 1);
			n++;
		} else {
			assert_int_equal(rc, -ENODATA);
		}
	}
	assert_int_equal(n, RR_GIDS);
	assert_int_equal(rte_pmd_mlx4_gid_get(1, 128, &g), -ENOENT);
	assert_int_equal(rte_pmd_mlx4_gid_get(7, 0, &g), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_pkey_get(1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(rte_pmd_mlx4_pkey_get(1, 1, &pkey), -ENOENT);
	assert_int_equal(rte_pmd_mlx4_pkey_get(7, 0, &pkey), -ENODEV);
	says("/mlx4/info,1", "\"2 v1 ::ffff:192.0.2.2\",\"3 v2 ::ffff:192.0.2.2\",\"4 v1 2001:db8::2\"");
	rr_close_ports();
	assert_int_equal(rte_pmd_mlx4_gid_get(1, 0, &g), -ENOENT);
	assert_int_equal(rte_pmd_mlx4_pkey_get(1, 0, &pkey), -ENOENT);
	rig_close();
}

static void
test_queues(void **state)
{
	static const struct rte_eth_conf intr = {.intr_conf.rxq = 1};
	struct rte_pmd_mlx4_tx_load load;
	struct rte_eth_burst_mode mode;
	char word[128];
	struct rte_ether_addr mac;
	unsigned int i;

	rig_open_pair("", 1, &intr);
	mac = rig_mac(1);
	for (i = 0; i < 3; i++)
		rig_send(0, rig_frame(&mac, RIG_FRAME));
	says("/mlx4/rxq,1,0",
	     "\"started\":1,\"descriptors\":256,\"posted\":256,\"waiting\":3,\"packets\":0,\"nombuf\":0,"
	     "\"errors\":0,\"moderation_count\":");
	says("/mlx4/txq,0,0", "\"started\":1,\"descriptors\":256");
	assert_int_equal(rte_pmd_mlx4_tx_load_get(0, 0, &load), 0);
	snprintf(word, sizeof(word), "\"used\":%u,\"room\":%u,", load.used, load.room);
	assert_in_range(load.room, 1, 256);
	says("/mlx4/txq,0,0", word);
	says("/mlx4/txq,0,0", "\"packets\":3,\"burst_mode\":\"Scalar\"");
	assert_int_equal(rig_drain(1, 0), 3);
	says("/mlx4/rxq,1,0", "\"waiting\":0,\"packets\":3");
	assert_int_equal(rte_pmd_mlx4_rx_moderation_set(1, 0, 9, 77), 0);
	assert_int_equal(rte_eth_rx_burst_mode_get(1, 0, &mode), 0);
	assert_int_not_equal(mode.info[0], '\0');
	snprintf(word, sizeof(word), "\"moderation_count\":9,\"moderation_us\":77,\"burst_mode\":\"%.20s\"", mode.info);
	says("/mlx4/rxq,1,0", word);
	rig_close();
}

/* The words of the dump: HCR first. */
static void
test_registers(void **state)
{
	uint32_t words[256];
	struct rte_dev_reg_info r = {.data = NULL};
	char want[4096] = "{\"/mlx4/regs\":[";
	uint32_t i;

	rig_open("");
	assert_int_equal(rte_eth_dev_get_reg_info(0, &r), 0);
	assert_in_range(r.length, 7, 256);
	assert_int_equal(r.width, 4);
	assert_int_equal(r.version, 0x1007);
	r.data = words;
	assert_int_equal(rte_eth_dev_get_reg_info(0, &r), 0);
	for (i = 0; i < r.length; i++)
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%u", i == 0 ? "" : ",", words[i]);
	snprintf(want + strlen(want), sizeof(want) - strlen(want), "]}");
	assert_string_equal(tell_ask("/mlx4/regs,0"), want);
	rig_close();
}

/* Each rule of the model by its number; those behind the last are none. */
static void
test_rules(void **state)
{
	const unsigned int n = rte_pmd_mlx4_model_rules();
	unsigned int i, advice = 0;
	const char *name, *text;
	uint64_t count;

	rig_open("");
	assert_int_equal(n, tp_model_violation_count());
	for (i = 0; i < n; i++) {
		assert_int_equal(rte_pmd_mlx4_model_violation(0, i, &name, &text, &count), 0);
		assert_int_equal(tp_model_violation_by_name(name), i);
		assert_int_equal(count, 0);
		assert_true(strlen(text) > 10);
		assert_int_equal(rte_pmd_mlx4_model_is_advice(i), tp_model_violation_class(i) == TP_RULE_ADVICE);
		advice += rte_pmd_mlx4_model_is_advice(i) == 1;
	}
	assert_in_range(advice, 1, n - 1);
	assert_int_equal(rte_pmd_mlx4_model_violation(0, n, &name, &text, &count), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_model_violation(7, 0, &name, &text, &count), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_model_is_advice(n), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_model_cable(7, true), -ENODEV);
	rig_close();
}

static void
on_counter(void *arg, unsigned int port, int prio, const char *name, uint64_t value)
{
	++*(unsigned int *)arg;
}

/* Switches have names, counters and settings, as long as a card is plugged into them. */
static void
test_switches(void **state)
{
	char names[4][RTE_PMD_MLX4_SWITCH_NAME], err[128] = "";
	unsigned int n = 0;

	rig_open("wire0=switch:alpha,wire1=switch:alpha");
	assert_int_equal(rte_pmd_mlx4_switch_list(names, 4), 1);
	assert_string_equal(names[0], "alpha");
	assert_int_equal(rte_pmd_mlx4_switch_counters("alpha", on_counter, &n), 0);
	assert_true(n > 2);
	assert_int_equal(rte_pmd_mlx4_switch_counters("beta", on_counter, &n), -ENOENT);
	assert_int_equal(rte_pmd_mlx4_switch_set("beta", 0, "x:1", err, sizeof(err)), -ENOENT);
	assert_string_equal(err, "there is no switch 'beta'");
	err[0] = '\0';
	assert_true(rte_pmd_mlx4_switch_set("alpha", 0, "x:1", err, sizeof(err)) < 0);
	assert_int_not_equal(err[0], '\0');
	rig_close();
	assert_int_equal(rte_pmd_mlx4_switch_list(names, 4), 0);
	assert_int_equal(rte_pmd_mlx4_switch_counters("alpha", on_counter, &n), -ENOENT);
}

/* In parts, each of which fits an answer; all of them are what ethdev has. */
static void
test_xstats(void **state)
{
	struct rte_eth_xstat_name *names;
	unsigned int first, members = 0;
	int n, i;

	rig_open_pair("", 16, NULL);
	n = rte_eth_xstats_get_names(1, NULL, 0);
	assert_true(n > 200);
	names = calloc((size_t)n, sizeof(*names));
	assert_non_null(names);
	assert_int_equal(rte_eth_xstats_get_names(1, names, (unsigned int)n), n);
	for (first = 0; first < (unsigned int)n; first += 200) {
		char command[32], want[RTE_ETH_XSTATS_NAME_SIZE + 8];
		const char *text, *c;

		snprintf(command, sizeof(command), "/mlx4/xstats,1,%u", first);
		text = tell_ask(command);
		/* Whole, and within what every release has room for. */
		assert_true(strlen(text) < 16384);
		assert_string_equal(text + strlen(text) - 2, "}}");
		for (i = (int)first; i < n && i < (int)first + 200; i++) {
			snprintf(want, sizeof(want), "\"%s\":", names[i].name);
			if (strstr(text, want) == NULL)
				fail_msg("%s: no %s", command, want);
		}
		for (c = text; (c = strstr(c, "\":")) != NULL; c++)
			members++;
		members--; /* the question */
	}
	assert_int_equal(members, n);
	snprintf(names[0].name, sizeof(names[0].name), "/mlx4/xstats,1,%u", (unsigned int)n);
	says(names[0].name, "{\"/mlx4/xstats\":{}}");
	free(names);
	rig_close();
}

/* What queues have counted, whatever was reset; the card hears of nothing but of what asks for the number of its commands. */
static void
test_queue_totals(void **state)
{
	const struct rte_ether_addr to = {{2, 0, 0, 0, 0, 9}};
	struct rte_pmd_mlx4_device first, before, after;
	struct rte_pmd_mlx4_totals t;
	unsigned int i;

	rig_open_pair("", 1, NULL);
	for (i = 0; i < 3; i++)
		rig_send(0, rig_frame(&to, 100));
	assert_int_equal(rte_eth_stats_reset(0), 0);
	assert_int_equal(rte_pmd_mlx4_device_get(0, &first), 0);
	assert_int_equal(rte_pmd_mlx4_device_get(0, &before), 0);
	assert_int_equal(rte_pmd_mlx4_queue_totals_get(0, &t), 0);
	assert_int_equal(rte_pmd_mlx4_device_get(0, &after), 0);
	assert_int_equal(t.tx_packets, 3);
	assert_int_equal(t.tx_bytes, 300);
	assert_int_equal(after.commands - before.commands, before.commands - first.commands);
	assert_int_equal(rte_pmd_mlx4_queue_totals_get(31, &t), -ENODEV);
	rig_close();
}

int
main(int argc, char **argv)
{
	static char arg[][24] = {"test", "--no-huge", "-m", "512", "--no-pci", "--file-prefix=mlx4_tell", "--lcores"};
	char *eal[RTE_DIM(arg) + 2] = {NULL};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),   cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_info),   cmocka_unit_test(test_gids),
		cmocka_unit_test(test_queues), cmocka_unit_test(test_registers),
		cmocka_unit_test(test_rules),  cmocka_unit_test(test_switches),
		cmocka_unit_test(test_xstats), cmocka_unit_test(test_queue_totals),
	};
	unsigned int i;
	int rc;

	for (i = 0; i < RTE_DIM(arg); i++)
		eal[i] = arg[i];
	eal[i++] = unit_lcores("0");
	if (rte_eal_init((int)i, eal) < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	rc = cmocka_run_group_tests_name("mlx4-telemetry", tests, tell_dial, tell_hang_up);
	rte_eal_cleanup(); /* the socket goes */
	return rc;
}
