/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Declarations of quality of service: what the card is told, judged by the mailboxes that it got (written out by hand from
 * the programming reference); all or nothing when a command fails; refusals.
 */
#include <errno.h>
#include <stdlib.h>

#include "card_trace.h"
#include "rig.h"

#define GENERAL "0x1"
#define PRIO_MAP "0x401"
#define PRIO2TC "0x801"
#define SCHEDULER "0x901"

static int
setup(void **state)
{
	rig_open_pair("", 1, NULL);
	return 0;
}

/* Something of everything. */
static struct tp_qos_port
rich(void)
{
	static const uint8_t prio_tc[TP_PRIOS] = {0, 0, 1, 1, 2, 2, 3, 3};
	struct tp_qos_port q;

	tp_qos_port_default(&q);
	memcpy(q.prio_tc, prio_tc, sizeof(prio_tc));
	q.tc[0] = (struct tp_qos_tc){TP_TSA_ETS, 50, 0};
	q.tc[1] = (struct tp_qos_tc){TP_TSA_ETS, 30, 26400};
	q.tc[2] = (struct tp_qos_tc){TP_TSA_ETS, 20, 60};
	q.tc[3] = (struct tp_qos_tc){TP_TSA_STRICT, 0, 450};
	q.rx_pfc = 0x30;
	q.tx_pfc = 0xc0;
	q.trust = TP_TRUST_DSCP;
	q.rx_untagged_lossless = true;
	q.untagged_prio = 2;
	return q;
}

static void
set_ok(uint16_t port, const struct tp_qos_port *q)
{
	char err[TP_ERR_LEN];

	if (rte_pmd_mlx4_qos_set(port, q, err) != 0)
		fail_msg("%s", err);
	assert_string_equal(err, "");
}

static void
test_mailboxes(void **state)
{
	struct tp_qos_port q = rich(), now;
	struct card_trace t;

	card_trace_begin(&t, rig_model(0));
	set_ok(0, &q);
	card_trace_end(&t);
	assert_int_equal(card_trace_count(&t, "SET_PORT"), 4);
	assert_string_equal(card_trace_box(&t, "SET_PORT", PRIO2TC), "000: 00112233 00000000 00000000 00000000\n");
	/*
	 * A class: group and share, unit and rate. Strict classes go by their number in groups of their own: 7 in 0, 6 in
	 * 1 ... 3 in 4; shares are in group 7. 26400 becomes 26 of 1 Gb/s, 60 becomes 1 and 450 becomes 4 of 100 Mb/s.
	 */
	assert_string_equal(card_trace_box(&t, "SET_PORT", SCHEDULER), "000: 00070032 000400ff 0007001e 0004001a\n"
								       "010: 00070014 00030001 00040064 00030004\n"
								       "020: 00030064 000400ff 00020064 000400ff\n"
								       "030: 00010064 000400ff 00000064 000400ff\n");
	assert_string_equal(card_trace_box(&t, "SET_PORT", PRIO_MAP), "000: 82020000 00000000 11111111 22222222\n"
								      "010: 33333333 44444444 55555555 66666666\n"
								      "020: 77777777 00000000 00000000 00000000\n");
	assert_string_equal(card_trace_box(&t, "SET_PORT", GENERAL), "000: 00000006 00000000 00c00000 00300000\n");
	card_trace_free(&t);
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &now), 0);
	assert_int_equal(now.tc[1].rate_mbps, 26000);
	assert_int_equal(now.tc[2].rate_mbps, 100);
	assert_int_equal(now.tc[3].rate_mbps, 400);
	/* The other port has what it had. */
	assert_int_equal(rte_pmd_mlx4_qos_get(1, &now), 0);
	assert_int_equal(now.tx_pfc, 0);
}

/* A card is not told what it has: the defaults of a port that nobody declared, or one part of four. */
static void
test_only_changes(void **state)
{
	struct tp_qos_port q;
	struct card_trace t;

	tp_qos_port_default(&q);
	card_trace_begin(&t, rig_model(0));
	set_ok(0, &q);
	card_trace_end(&t);
	assert_int_equal(card_trace_count(&t, "SET_PORT"), 0);
	card_trace_free(&t);
	q.tx_pause = true;
	card_trace_begin(&t, rig_model(0));
	set_ok(0, &q);
	card_trace_end(&t);
	assert_int_equal(card_trace_count(&t, "SET_PORT"), 1);
	assert_string_equal(card_trace_box(&t, "SET_PORT", GENERAL), "000: 00000006 00000000 80000000 00000000\n");
	card_trace_free(&t);
	/* Back to the defaults is a change. */
	q = rich();
	set_ok(0, &q);
	tp_qos_port_default(&q);
	card_trace_begin(&t, rig_model(0));
	set_ok(0, &q);
	card_trace_end(&t);
	assert_int_equal(card_trace_count(&t, "SET_PORT"), 4);
	assert_string_equal(card_trace_box(&t, "SET_PORT", PRIO2TC), "");
	assert_string_equal(card_trace_box(&t, "SET_PORT", GENERAL), "000: 00000006 00000000 00000000 00000000\n");
	card_trace_free(&t);
}

/* A card that died and came back by a reset has forgotten everything, and is told again. */
static void
test_after_revival(void **state)
{
	struct tp_qos_port q = rich(), now;
	struct rte_eth_stats st;
	struct card_trace t;

	set_ok(0, &q);
	tp_model_fault(rig_model(0), TP_FAULT_CATAS, 0, 1, 0);
	assert_true(rte_eth_stats_get(0, &st) < 0);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(rte_eth_dev_reset(1), 0);
	card_trace_end(&t);
	assert_int_equal(card_trace_count(&t, "SET_PORT"), 4);
	assert_string_equal(card_trace_box(&t, "SET_PORT", PRIO2TC), "000: 00112233 00000000 00000000 00000000\n");
	assert_string_equal(card_trace_box(&t, "SET_PORT", GENERAL), "000: 00000006 00000000 00c00000 00300000\n");
	card_trace_free(&t);
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &now), 0);
	assert_int_equal(now.tx_pfc, 0xc0);
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
}

/* Each of the four commands fails once: the card is left with what it had, and so is the declaration. */
static void
test_all_or_nothing(void **state)
{
	static const char *const sel[] = {PRIO2TC, SCHEDULER, PRIO_MAP, GENERAL};
	struct tp_qos_port before, want = rich(), now;
	char had[RTE_DIM(sel)][512], err[TP_ERR_LEN], *text;
	struct card_trace t;
	unsigned int n, i;

	before = rich();
	before.prio_tc[7] = 1;
	before.prio_tc[6] = 1;
	before.tx_pfc = 0;
	before.tc[0].bw_pct = 40;
	before.tc[1].bw_pct = 40;
	before.untagged_prio = 1;
	card_trace_begin(&t, rig_model(0));
	set_ok(0, &before);
	card_trace_end(&t);
	for (i = 0; i < RTE_DIM(sel); i++)
		snprintf(had[i], sizeof(had[i]), "%s", card_trace_box(&t, "SET_PORT", sel[i]));
	card_trace_free(&t);
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &before), 0);
	for (n = 1; n <= RTE_DIM(sel); n++) {
		assert_int_equal(
			tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_SET_PORT, n, MLX4_STAT_BAD_PARAM), 0);
		card_trace_begin(&t, rig_model(0));
		rig_log_begin();
		assert_int_not_equal(rte_pmd_mlx4_qos_set(0, &want, err), 0);
		text = rig_log_end(&i);
		/* Of what was taken back nothing is said. */
		assert_null(strstr(text, "did not take"));
		free(text);
		card_trace_end(&t);
		assert_non_null(strstr(err, "the card refused"));
		assert_null(strchr(err, '\n'));
		/* n - 1 went through and were taken back; what is made to fail does not get into the trace. */
		assert_int_equal(card_trace_count(&t, "SET_PORT"), 2 * (n - 1));
		for (i = 0; i + 1 < n; i++)
			assert_string_equal(card_trace_box(&t, "SET_PORT", sel[i]), had[i]);
		card_trace_free(&t);
		assert_int_equal(rte_pmd_mlx4_qos_get(0, &now), 0);
		assert_memory_equal(&now, &before, sizeof(now));
	}
	set_ok(0, &want);
}

/* What a port is asked for and cannot have: one line, nothing sent, nothing changed. */
static void
test_refusals(void **state)
{
	struct tp_qos_port q[8], before, now;
	const char *word[8] = {"pause", "tc", "prio-tc", "stall", "hol", "stall-count", "untagged-prio", "rate"};
	char err[TP_ERR_LEN];
	struct card_trace t;
	unsigned int i;

	before = rich();
	set_ok(0, &before);
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &before), 0);
	for (i = 0; i < RTE_DIM(q); i++)
		q[i] = rich();
	q[0].rx_pause = true;
	q[1].tc[0].bw_pct = 51;
	q[2].prio_tc[3] = 8;
	q[3].rx_stall_ms = 9;
	q[4].hol_lifetime_us = 99;
	q[5].hol_stall_count = 256;
	q[6].untagged_prio = 8;
	q[7].tc[3].rate_mbps = 40001;
	card_trace_begin(&t, rig_model(0));
	for (i = 0; i < RTE_DIM(q); i++) {
		err[0] = '\0';
		assert_int_equal(rte_pmd_mlx4_qos_set(0, &q[i], err), -EINVAL);
		if (strstr(err, word[i]) == NULL || strchr(err, '\n') != NULL)
			fail_msg("case %u: %s", i, err);
	}
	card_trace_end(&t);
	assert_int_equal(card_trace_count(&t, "SET_PORT"), 0);
	card_trace_free(&t);
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &now), 0);
	assert_memory_equal(&now, &before, sizeof(now));
	assert_int_equal(rte_pmd_mlx4_qos_set(RTE_MAX_ETHPORTS, &q[0], err), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_qos_get(7, &now), -ENODEV);
}

static void
test_limits(void **state)
{
	struct tp_qos_limits lim;

	assert_int_equal(rte_pmd_mlx4_qos_ops.limits(0, &lim), 0);
	assert_int_equal(lim.max_tc, 8);
	assert_int_equal(lim.speed_mbps, 40000);
	assert_true(lim.pfc && lim.ets && lim.dscp && lim.delay_drop);
	assert_int_equal(lim.max_groups, 127);
	assert_int_equal(lim.max_rx_queues, 1);
}

/* Changing the MTU, or stopping and starting, repeats the pause settings that are in force. */
static void
test_pause_stays(void **state)
{
	struct rte_eth_fc_conf fc = {.mode = RTE_ETH_FC_FULL};
	struct card_trace t;

	assert_int_equal(rte_eth_dev_flow_ctrl_set(0, &fc), 0);
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(rte_eth_dev_set_mtu(0, 1400), 0);
	card_trace_end(&t);
	/* 1400 and header, two tags, FCS: 1426; the second mailbox is the MTU for others. */
	assert_non_null(strstr(t.text, "000: 00000007 00000592 80000000 80000000\n"));
	card_trace_free(&t);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(rte_eth_dev_start(0), 0);
	card_trace_end(&t);
	assert_non_null(strstr(t.text, " 80000000 80000000\n"));
	card_trace_free(&t);
}

static void
test_flow_ctrl(void **state)
{
	static const struct {
		enum rte_eth_fc_mode mode;
		bool rx, tx;
	} m[] = {{RTE_ETH_FC_RX_PAUSE, true, false},
		 {RTE_ETH_FC_TX_PAUSE, false, true},
		 {RTE_ETH_FC_FULL, true, true},
		 {RTE_ETH_FC_NONE, false, false}};
	struct rte_eth_fc_conf fc;
	struct tp_qos_port q;
	unsigned int i;

	for (i = 0; i < RTE_DIM(m); i++) {
		fc = (struct rte_eth_fc_conf){.mode = m[i].mode};
		assert_int_equal(rte_eth_dev_flow_ctrl_set(0, &fc), 0);
		assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
		assert_int_equal(q.rx_pause, m[i].rx);
		assert_int_equal(q.tx_pause, m[i].tx);
		fc.mode = RTE_ETH_FC_NONE;
		assert_int_equal(rte_eth_dev_flow_ctrl_get(0, &fc), 0);
		assert_int_equal(fc.mode, m[i].mode);
	}
	fc = (struct rte_eth_fc_conf){.mode = RTE_ETH_FC_FULL, .mac_ctrl_frame_fwd = 1};
	rig_log_begin();
	assert_int_equal(rte_eth_dev_flow_ctrl_set(0, &fc), -ENOTSUP);
	rig_log_one("MAC control frames", "wanted 0");
	/* The card's own thresholds are said to be in force. */
	fc = (struct rte_eth_fc_conf){.mode = RTE_ETH_FC_NONE, .high_water = 80};
	rig_log_begin();
	assert_int_equal(rte_eth_dev_flow_ctrl_set(0, &fc), 0);
	rig_log_one("high water 80", "the card has its own");
}

static void
test_priority_flow_ctrl(void **state)
{
	struct rte_eth_pfc_conf pfc = {.fc.mode = RTE_ETH_FC_FULL, .priority = 3};
	struct rte_eth_fc_conf fc = {.mode = RTE_ETH_FC_RX_PAUSE};
	struct tp_qos_port q;

	assert_int_equal(rte_eth_dev_priority_flow_ctrl_set(0, &pfc), 0);
	pfc.priority = 5;
	pfc.fc.mode = RTE_ETH_FC_TX_PAUSE;
	assert_int_equal(rte_eth_dev_priority_flow_ctrl_set(0, &pfc), 0);
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
	assert_int_equal(q.rx_pfc, 0x08);
	assert_int_equal(q.tx_pfc, 0x28);
	/* One direction has one kind of pause. */
	rig_log_begin();
	assert_int_equal(rte_eth_dev_flow_ctrl_set(0, &fc), -EINVAL);
	rig_log_one("rx-pause", "0x08");
	pfc.priority = 3;
	pfc.fc.mode = RTE_ETH_FC_NONE;
	assert_int_equal(rte_eth_dev_priority_flow_ctrl_set(0, &pfc), 0);
	assert_int_equal(rte_eth_dev_flow_ctrl_set(0, &fc), 0);
}

/* The lines of the log since rig_log_begin, without the driver's prefix. */
static void
logged(const char *want)
{
	unsigned int lines, n = 0;
	char *text = rig_log_end(&lines);
	const char *p;

	for (p = want; *p != '\0'; p++)
		n += *p == '\n';
	if (strcmp(text, want) != 0 || lines != n)
		fail_msg("the log has:\n%swanted:\n%s", text, want);
	free(text);
}

static unsigned int told;
static char last_told[TP_ERR_LEN];

static void
on_event(uint16_t port, enum rte_pmd_mlx4_qos_event event, uint16_t index, const char *text, void *arg)
{
	assert_int_equal(port, 0);
	assert_string_equal(rte_pmd_mlx4_qos_event_name(event), arg);
	snprintf(last_told, sizeof(last_told), "%u: %s", index, text);
	told++;
}

/* Each value that is another one is a line with its name, the old and the new value; what is the same or refused is none. */
static void
test_changes_are_told(void **state)
{
	static char port_setting[] = "port-setting", txq_setting[] = "txq-setting";
	struct tp_qos_port q;
	struct rte_eth_link link;
	char err[TP_ERR_LEN], *text;
	unsigned int lines;

	tp_qos_port_default(&q);
	assert_int_equal(rte_pmd_mlx4_qos_on_event(0, on_event, port_setting), 0);
	q.trust = TP_TRUST_DSCP;
	q.tx_pfc = 0x18;
	q.tc[2].rate_mbps = 450;
	q.num_rules = 1;
	q.rule[0] = (struct tp_qos_rule){TP_MATCH_UDP_PORT, 3, 26, 4791, 4800};
	rig_log_begin();
	set_ok(0, &q);
	logged("mlx4: [port-setting] port 0: tx-pfc: none -> 3,4\n"
	       "mlx4: [port-setting] port 0: tc-rate: 2:0 -> 2:400\n"
	       "mlx4: [port-setting] port 0: trust: pcp -> dscp\n"
	       "mlx4: [port-setting] port 0: rule: none -> udp:4791-4800:3:26\n");
	assert_int_equal(told, 4);
	assert_string_equal(last_told, "0: port 0: rule: none -> udp:4791-4800:3:26");
	rig_log_begin();
	set_ok(0, &q);
	logged("");
	rig_log_begin();
	q.untagged_prio = 8;
	assert_int_equal(rte_pmd_mlx4_qos_set(0, &q, err), -EINVAL);
	logged("");
	q.untagged_prio = 7;
	q.num_rules = 0;
	q.prio_tc[6] = 1;
	q.tx_pfc = 0;
	rig_log_begin();
	set_ok(0, &q);
	logged("mlx4: [port-setting] port 0: tx-pfc: 3,4 -> none\n"
	       "mlx4: [port-setting] port 0: prio-tc: 0,0,0,0,0,0,0,0 -> 0,0,0,0,0,0,1,0\n"
	       "mlx4: [port-setting] port 0: untagged-prio: 0 -> 7\n"
	       "mlx4: [port-setting] port 0: rule: udp:4791-4800:3:26 -> none\n");
	/* A queue's own. */
	assert_int_equal(rte_pmd_mlx4_qos_on_event(0, on_event, txq_setting), 0);
	rig_log_begin();
	assert_int_equal(rte_pmd_mlx4_txq_prio_set(0, 0, 5, err), 0);
	assert_int_equal(rte_pmd_mlx4_txq_prio_set(0, 0, 5, err), 0);
	/* A limit is compared with the speed that was asked for last; the thread of interrupts may not have come to it. */
	assert_int_equal(rte_eth_link_get_nowait(0, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	assert_int_equal(rte_eth_set_queue_rate_limit(0, 0, 300), 0);
	assert_int_equal(rte_pmd_mlx4_txq_prio_set(0, 0, 8, err), -EINVAL);
	logged("mlx4: [txq-setting] port 0 Tx queue 0: prio: 0 -> 5\n"
	       "mlx4: [txq-setting] port 0 Tx queue 0: rate: 0 -> 300\n");
	assert_string_equal(last_told, "0: port 0 Tx queue 0: rate: 0 -> 300");
	assert_int_equal(rte_pmd_mlx4_qos_on_event(0, NULL, NULL), 0);
	rig_log_begin();
	assert_int_equal(rte_pmd_mlx4_dropless_set(0, 0, 50, err), 0);
	assert_int_equal(rte_pmd_mlx4_dropless_set(0, 0, 50, err), 0);
	assert_int_equal(rte_pmd_mlx4_dropless_set(0, 0, 65536, err), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_dropless_set(0, 0, 0, err), 0);
	/* Among states that the queue enters and leaves. */
	text = rig_log_end(&lines);
	assert_non_null(strstr(text, "mlx4: [rxq-setting] port 0 Rx queue 0: dropless: 0 -> 50\n"));
	assert_non_null(strstr(text, "mlx4: [rxq-setting] port 0 Rx queue 0: dropless: 50 -> 0\n"));
	assert_null(strstr(text, "50 -> 50"));
	free(text);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_mailboxes),          T(test_only_changes),     T(test_after_revival), T(test_all_or_nothing),
		T(test_refusals),           T(test_limits),           T(test_pause_stays),   T(test_flow_ctrl),
		T(test_priority_flow_ctrl), T(test_changes_are_told),
	};

	if (rig_eal("mlx4qos", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
