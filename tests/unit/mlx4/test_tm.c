/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Classes by ethdev's own words: rte_tm's hierarchy and DCB in rte_eth_dev_configure, judged by the mailboxes that the
 * card gets, written out by hand.
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_tm.h>

#include "card_trace.h"
#include "rig.h"

#define QUEUES 8
#define PORT_NODE 100
#define CLASS_NODE 200
#define NONE RTE_TM_SHAPER_PROFILE_ID_NONE
#define SCHEDULER "0x901"
#define PRIO2TC "0x801"

static int
setup(void **state)
{
	rig_open("");
	rig_start(0, QUEUES, NULL);
	rig_start(1, 1, NULL);
	return 0;
}

static int
profile(uint32_t id, uint64_t mbps)
{
	struct rte_tm_shaper_params p = {.peak.rate = mbps * 125000};
	struct rte_tm_error e;

	return rte_tm_shaper_profile_add(0, id, &p, &e);
}

static int
nonleaf(uint32_t id, uint32_t parent, uint32_t prio, uint32_t weight, uint32_t shaper, enum rte_tm_error_type *why)
{
	struct rte_tm_node_params p = {.shaper_profile_id = shaper,
				       .nonleaf.n_sp_priorities = parent == RTE_TM_NODE_ID_NULL ? 8 : 1};
	struct rte_tm_error e = {.type = RTE_TM_ERROR_TYPE_NONE};
	int rc = rte_tm_node_add(0, id, parent, prio, weight, RTE_TM_NODE_LEVEL_ID_ANY, &p, &e);

	if (why != NULL)
		*why = e.type;
	return rc;
}

static int
leaf(uint32_t queue, uint32_t parent, uint32_t shaper, enum rte_tm_error_type *why)
{
	struct rte_tm_node_params p = {.shaper_profile_id = shaper,
				       .leaf.wred.wred_profile_id = RTE_TM_WRED_PROFILE_ID_NONE};
	struct rte_tm_error e = {.type = RTE_TM_ERROR_TYPE_NONE};
	int rc = rte_tm_node_add(0, queue, parent, 0, 1, 2, &p, &e);

	if (why != NULL)
		*why = e.type;
	return rc;
}

/* A strict class above three that share 1 : 1 : 1, a limited class, a limited queue. */
static void
build(void)
{
	assert_int_equal(profile(1, 2000), 0);
	assert_int_equal(profile(2, 600), 0);
	assert_int_equal(nonleaf(PORT_NODE, RTE_TM_NODE_ID_NULL, 0, 1, NONE, NULL), 0);
	assert_int_equal(nonleaf(CLASS_NODE, PORT_NODE, 0, 1, 1, NULL), 0);
	assert_int_equal(nonleaf(CLASS_NODE + 1, PORT_NODE, 5, 7, NONE, NULL), 0);
	assert_int_equal(nonleaf(CLASS_NODE + 2, PORT_NODE, 5, 7, NONE, NULL), 0);
	assert_int_equal(nonleaf(CLASS_NODE + 3, PORT_NODE, 5, 7, NONE, NULL), 0);
	assert_int_equal(leaf(0, CLASS_NODE, NONE, NULL), 0);
	assert_int_equal(leaf(1, CLASS_NODE + 1, 2, NULL), 0);
	assert_int_equal(leaf(2, CLASS_NODE + 3, NONE, NULL), 0);
}

static struct {
	unsigned int n;
	char text[8][TP_ERR_LEN];
} told;

static void
on_event(uint16_t port, enum rte_pmd_mlx4_qos_event event, uint16_t index, const char *text, void *arg)
{
	(void)arg;
	if (event != RTE_PMD_MLX4_EVENT_TXQ_SETTING)
		return;
	assert_int_equal(port, 0);
	assert_in_range(index, 0, 2);
	assert_true(told.n < RTE_DIM(told.text));
	snprintf(told.text[told.n++], sizeof(told.text[0]), "%s", text);
}

static void
test_commit(void **state)
{
	struct rte_pmd_mlx4_txq_policy policy;
	struct rte_tm_error e;
	struct card_trace t;
	unsigned int i;
	static const uint8_t prio[QUEUES] = {3, 0, 2, 0, 0, 0, 0, 0};

	build();
	told.n = 0;
	assert_int_equal(rte_pmd_mlx4_qos_on_event(0, on_event, NULL), 0);
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(rte_tm_hierarchy_commit(0, 0, &e), 0);
	card_trace_end(&t);
	assert_int_equal(rte_pmd_mlx4_qos_on_event(0, NULL, NULL), 0);
	/* What changed for queues is told, each once. */
	assert_int_equal(told.n, 3);
	assert_string_equal(told.text[0], "port 0 Tx queue 0: prio: 0 -> 3");
	assert_string_equal(told.text[1], "port 0 Tx queue 1: rate: 0 -> 600");
	assert_string_equal(told.text[2], "port 0 Tx queue 2: prio: 0 -> 2");
	/* Those that share are classes 0 to 2, the strict one is 3; priority n is in class n. */
	assert_string_equal(card_trace_box(&t, "SET_PORT", PRIO2TC), "000: 01230000 00000000 00000000 00000000\n");
	/* A third each: 34, 33 and 33 percent. Class 3 has 20 of 100 Mb/s. */
	assert_string_equal(card_trace_box(&t, "SET_PORT", SCHEDULER), "000: 00070022 000400ff 00070021 000400ff\n"
								       "010: 00070021 000400ff 00040064 00030014\n"
								       "020: 00030064 000400ff 00020064 000400ff\n"
								       "030: 00010064 000400ff 00000064 000400ff\n");
	card_trace_free(&t);
	for (i = 0; i < QUEUES; i++) {
		assert_int_equal(rte_pmd_mlx4_txq_policy_get(0, (uint16_t)i, &policy), 0);
		assert_int_equal(policy.prio, prio[i]);
		assert_int_equal(policy.rate_mbps, i == 1 ? 600 : 0);
	}
}

/* A queue that refuses: neither classes nor other queues are changed. */
static void
test_commit_fails(void **state)
{
	struct rte_pmd_mlx4_txq_policy policy;
	struct tp_qos_port before, now;
	unsigned int i, lines;

	assert_int_equal(rte_pmd_mlx4_qos_get(0, &before), 0);
	build();
	/* The last of the three UPDATE_QPs. */
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_UPDATE_QP, 3, MLX4_STAT_BAD_PARAM), 0);
	rig_log_begin();
	/* Who does not want to know the reason need not. */
	assert_int_not_equal(rte_tm_hierarchy_commit(0, 0, NULL), 0);
	free(rig_log_end(&lines));
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &now), 0);
	assert_memory_equal(&now, &before, sizeof(now));
	for (i = 0; i < QUEUES; i++) {
		assert_int_equal(rte_pmd_mlx4_txq_policy_get(0, (uint16_t)i, &policy), 0);
		assert_int_equal(policy.prio, 0);
		assert_int_equal(policy.rate_mbps, 0);
	}
	assert_int_equal(rte_tm_hierarchy_commit(0, 0, NULL), 0);
}

static void
test_refusals(void **state)
{
	struct rte_tm_shaper_params p;
	struct rte_tm_capabilities cap;
	enum rte_tm_error_type why;
	struct rte_tm_error e;
	unsigned int i;
	FILE *quiet = fopen("/dev/null", "w");

	assert_non_null(quiet);
	rte_openlog_stream(quiet);
	p = (struct rte_tm_shaper_params){.peak.rate = 125000, .committed.rate = 1};
	assert_int_not_equal(rte_tm_shaper_profile_add(0, 1, &p, &e), 0);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_SHAPER_PROFILE_COMMITTED_RATE);
	p = (struct rte_tm_shaper_params){.peak.rate = 124999};
	assert_int_not_equal(rte_tm_shaper_profile_add(0, 1, &p, &e), 0);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_SHAPER_PROFILE_PEAK_RATE);
	p = (struct rte_tm_shaper_params){.peak = {125000, 1}};
	assert_int_not_equal(rte_tm_shaper_profile_add(0, 1, &p, &e), 0);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_SHAPER_PROFILE_PEAK_SIZE);
	assert_int_equal(profile(1, 100), 0);
	assert_int_not_equal(profile(1, 100), 0);
	assert_int_not_equal(rte_tm_hierarchy_commit(0, 0, &e), 0);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_NODE_ID);
	assert_int_not_equal(nonleaf(QUEUES - 1, RTE_TM_NODE_ID_NULL, 0, 1, NONE, &why), 0);
	assert_int_equal(why, RTE_TM_ERROR_TYPE_NODE_ID);
	assert_int_not_equal(nonleaf(PORT_NODE, RTE_TM_NODE_ID_NULL, 0, 1, 1, &why), 0);
	assert_int_equal(why, RTE_TM_ERROR_TYPE_NODE_PARAMS_SHAPER_PROFILE_ID);
	assert_int_equal(nonleaf(PORT_NODE, RTE_TM_NODE_ID_NULL, 0, 1, NONE, NULL), 0);
	assert_int_not_equal(nonleaf(PORT_NODE + 1, RTE_TM_NODE_ID_NULL, 0, 1, NONE, &why), 0);
	assert_int_equal(why, RTE_TM_ERROR_TYPE_NODE_ID);
	assert_int_not_equal(nonleaf(CLASS_NODE, PORT_NODE, 8, 1, NONE, &why), 0);
	assert_int_equal(why, RTE_TM_ERROR_TYPE_NODE_PRIORITY);
	assert_int_not_equal(nonleaf(CLASS_NODE, PORT_NODE, 0, 0, NONE, &why), 0);
	assert_int_equal(why, RTE_TM_ERROR_TYPE_NODE_WEIGHT);
	assert_int_not_equal(nonleaf(CLASS_NODE, PORT_NODE, 0, 256, NONE, &why), 0);
	assert_int_equal(why, RTE_TM_ERROR_TYPE_NODE_WEIGHT);
	assert_int_not_equal(nonleaf(CLASS_NODE, PORT_NODE, 0, 1, 77, &why), 0);
	assert_int_equal(why, RTE_TM_ERROR_TYPE_NODE_PARAMS_SHAPER_PROFILE_ID);
	for (i = 0; i < 8; i++)
		assert_int_equal(nonleaf(CLASS_NODE + i, PORT_NODE, i < 2 ? 0 : i, 1, i == 0 ? 1 : NONE, NULL), 0);
	assert_int_not_equal(nonleaf(CLASS_NODE + 8, PORT_NODE, 0, 1, NONE, &why), 0);
	assert_int_equal(why, RTE_TM_ERROR_TYPE_NODE_ID);
	assert_int_not_equal(leaf(QUEUES, CLASS_NODE, NONE, &why), 0);
	assert_int_equal(why, RTE_TM_ERROR_TYPE_NODE_ID);
	assert_int_not_equal(leaf(0, 999, NONE, &why), 0);
	assert_int_equal(why, RTE_TM_ERROR_TYPE_NODE_PARENT_NODE_ID);
	assert_int_equal(leaf(0, CLASS_NODE, NONE, NULL), 0);
	assert_int_not_equal(leaf(0, CLASS_NODE, NONE, &why), 0);
	assert_int_equal(why, RTE_TM_ERROR_TYPE_NODE_ID);
	/* Two classes share the first priority and others follow. */
	assert_int_not_equal(rte_tm_hierarchy_commit(0, 0, &e), 0);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_NODE_PRIORITY);
	assert_int_not_equal(rte_tm_shaper_profile_delete(0, 1, &e), 0);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_SHAPER_PROFILE);
	assert_int_not_equal(rte_tm_node_delete(0, PORT_NODE, &e), 0);
	assert_int_not_equal(rte_tm_node_delete(0, CLASS_NODE, &e), 0);
	assert_int_equal(rte_tm_node_delete(0, 0, &e), 0);
	assert_int_equal(rte_tm_node_delete(0, CLASS_NODE, &e), 0);
	assert_int_equal(rte_tm_hierarchy_commit(0, 0, &e), 0);
	assert_int_equal(rte_tm_shaper_profile_delete(0, 1, &e), 0);
	assert_int_equal(rte_tm_capabilities_get(0, &cap, &e), 0);
	assert_int_equal(cap.n_levels_max, 3);
	assert_int_equal(cap.n_nodes_max, 1 + 8 + QUEUES);
	rte_openlog_stream(NULL);
	fclose(quiet);
}

static struct rte_eth_conf
dcb_conf(uint64_t capability)
{
	struct rte_eth_conf conf = {.txmode.mq_mode = RTE_ETH_MQ_TX_DCB, .dcb_capability_en = (uint32_t)capability};
	unsigned int i;

	conf.tx_adv_conf.dcb_tx_conf.nb_tcs = RTE_ETH_4_TCS;
	for (i = 0; i < 8; i++)
		conf.tx_adv_conf.dcb_tx_conf.dcb_tc[i] = i % 4;
	return conf;
}

static void
test_dcb(void **state)
{
	struct rte_eth_conf conf = dcb_conf(RTE_ETH_DCB_PG_SUPPORT | RTE_ETH_DCB_PFC_SUPPORT);
	static const uint8_t prio[QUEUES] = {0, 0, 1, 1, 2, 2, 3, 3};
	struct rte_pmd_mlx4_txq_policy policy;
	struct rte_eth_dcb_info info;
	struct tp_qos_port q;
	struct card_trace t;
	unsigned int i;

	assert_int_equal(rte_eth_dev_stop(0), 0);
	card_trace_begin(&t, rig_model(0));
	rig_start(0, QUEUES, &conf);
	card_trace_end(&t);
	assert_string_equal(card_trace_box(&t, "SET_PORT", PRIO2TC), "000: 01230123 00000000 00000000 00000000\n");
	assert_non_null(strstr(card_trace_box(&t, "SET_PORT", SCHEDULER),
			       "000: 00070019 000400ff 00070019 000400ff\n010: 00070019 000400ff 00070019 000400ff\n"));
	card_trace_free(&t);
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
	assert_int_equal(q.rx_pfc, 0xff);
	assert_int_equal(q.tx_pfc, 0xff);
	for (i = 0; i < QUEUES; i++) {
		assert_int_equal(rte_pmd_mlx4_txq_policy_get(0, (uint16_t)i, &policy), 0);
		assert_int_equal(policy.prio, prio[i]);
	}
	assert_int_equal(rte_eth_dev_get_dcb_info(0, &info), 0);
	assert_int_equal(info.nb_tcs, 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(info.prio_tc[i + 4], i);
		assert_int_equal(info.tc_bws[i], 25);
		assert_int_equal(info.tc_queue.tc_txq[0][i].base, 2 * i);
		assert_int_equal(info.tc_queue.tc_txq[0][i].nb_queue, 2);
	}
	assert_int_equal(info.tc_queue.tc_rxq[0][0].nb_queue, QUEUES);
	/* Configured without: the classes go. */
	assert_int_equal(rte_eth_dev_stop(0), 0);
	rig_start(0, QUEUES, NULL);
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
	assert_int_equal(q.prio_tc[7], 0);
	assert_int_equal(q.tx_pfc, 0);
	assert_int_equal(rte_eth_dev_get_dcb_info(0, &info), 0);
	assert_int_equal(info.nb_tcs, 1);
}

static void
test_dcb_refusals(void **state)
{
	struct rte_eth_conf conf = dcb_conf(0);
	struct rte_eth_dcb_info info;

	assert_int_equal(rte_eth_dev_stop(0), 0);
	/* Fewer queues than classes: the last ones have none. */
	assert_int_equal(rte_eth_dev_configure(0, 1, 3, &conf), 0);
	assert_int_equal(rte_eth_dev_get_dcb_info(0, &info), 0);
	assert_int_equal(info.tc_queue.tc_txq[0][2].nb_queue, 1);
	assert_int_equal(info.tc_queue.tc_txq[0][3].nb_queue, 0);
	conf.tx_adv_conf.dcb_tx_conf.nb_tcs = 5;
	rig_log_begin();
	assert_int_not_equal(rte_eth_dev_configure(0, 1, 8, &conf), 0);
	rig_log_one("5 classes", "4 or 8");
	conf.tx_adv_conf.dcb_tx_conf.nb_tcs = RTE_ETH_4_TCS;
	conf.tx_adv_conf.dcb_tx_conf.dcb_tc[6] = 4;
	rig_log_begin();
	assert_int_not_equal(rte_eth_dev_configure(0, 1, 8, &conf), 0);
	rig_log_one("priority 6 in class 4", "0..3");
	conf = (struct rte_eth_conf){.rxmode.mq_mode = RTE_ETH_MQ_RX_VMDQ_DCB};
	rig_log_begin();
	assert_int_not_equal(rte_eth_dev_configure(0, 1, 8, &conf), 0);
	rig_log_one("queue modes", "wanted none, RSS or DCB");
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_commit), T(test_commit_fails), T(test_refusals), T(test_dcb), T(test_dcb_refusals),
	};

	if (rig_eal("mlx4tm", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
