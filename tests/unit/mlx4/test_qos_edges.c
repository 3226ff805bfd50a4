/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The edges of quality of service: how often stalls are looked for, what ethdev's words refuse and divide, where each counter is,
 * and what holds when the card refuses a part of a change.
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers/mlx4/qos/qos.h"
#include "qos_tx_rig.h"

#define QUEUES 10

static struct mlx4_eth *
eth_of(uint16_t port)
{
	return rte_eth_devices[port].data->dev_private;
}

static int
setup(void **state)
{
	rig_open("");
	rig_start(0, QUEUES, NULL);
	rig_start(1, 1, NULL);
	tp_model_set_time(rig_model(0), 0);
	return 0;
}

/* A fourth of the shortest time that is watched for, of 250 us at least and 100 ms at most. */
static void
test_watch_period(void **state)
{
	static const struct {
		uint16_t stall_ms, minor_ms;
		uint32_t hol_us, queue_us, period_us;
	} t[] = {
		{0, 0, 0, 0, 0},        {100, 0, 0, 0, 12500}, /* the minor one is half of it */
		{100, 40, 0, 0, 10000}, {100, 40, 8000, 0, 2000}, {100, 40, 60000, 0, 10000},
		{0, 0, 8000, 0, 2000},  {0, 0, 8000, 4000, 1000}, {0, 0, 8000, 9000, 2000},
		{0, 0, 0, 9000, 2250},  {0, 0, 100, 0, 250},      {0, 0, 1000, 0, 250},
		{0, 0, 1004, 0, 251},   {1000, 0, 0, 0, 100000},  {0, 0, 399996, 0, 99999},
	};
	struct mlx4_eth *eth = eth_of(0);
	char err[TP_ERR_LEN];
	unsigned int i;

	for (i = 0; i < RTE_DIM(t); i++) {
		struct tp_qos_port q = defaults();

		q.rx_stall_ms = t[i].stall_ms;
		q.rx_stall_minor_ms = t[i].minor_ms;
		q.hol_lifetime_us = t[i].hol_us;
		declare(&q);
		mlx4_qos_lock(eth);
		assert_int_equal(mlx4_txq_hol(eth->txqs[QUEUES - 1], t[i].queue_us, err), 0);
		mlx4_qos_unlock(eth);
		if (eth->qos->watch_us != t[i].period_us)
			fail_msg("case %u: %u us", i, eth->qos->watch_us);
		assert_int_equal(eth->qos->watching, t[i].period_us != 0);
	}
}

static void
test_flow_ctrl(void **state)
{
	static const struct {
		struct rte_eth_fc_conf fc;
		int rc;
		const char *word[2]; /* of the line that is logged */
	} t[] = {
		{{.mode = RTE_ETH_FC_FULL + 1}, -EINVAL, {"flow control mode 4", "0..3"}},
		{{.mode = RTE_ETH_FC_FULL, .mac_ctrl_frame_fwd = 1}, -ENOTSUP, {"MAC control", "0"}},
		{{.mode = RTE_ETH_FC_NONE, .low_water = 7}, 0, {"low water 7", "the card has its own"}},
		{{.mode = RTE_ETH_FC_NONE, .pause_time = 9}, 0, {"pause time 9", "the card has its own"}},
	};
	struct rte_eth_pfc_conf pfc = {.priority = 7};
	struct tp_qos_port before, q;
	struct rte_eth_fc_conf fc;
	unsigned int i;

	assert_int_equal(rte_pmd_mlx4_qos_get(0, &before), 0);
	for (i = 0; i < RTE_DIM(t); i++) {
		fc = t[i].fc;
		rig_log_begin();
		assert_int_equal(rte_eth_dev_flow_ctrl_set(0, &fc), t[i].rc);
		rig_log_one(t[i].word[0], t[i].word[1]);
		assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
		assert_memory_equal(&q, &before, sizeof(q));
		if (t[i].rc == 0)
			continue;
		pfc.fc = t[i].fc;
		rig_log_begin();
		assert_int_equal(rte_eth_dev_priority_flow_ctrl_set(0, &pfc), t[i].rc);
		rig_log_one(t[i].word[0], t[i].word[1]);
	}
	pfc.fc = (struct rte_eth_fc_conf){.mode = RTE_ETH_FC_RX_PAUSE};
	assert_int_equal(rte_eth_dev_priority_flow_ctrl_set(0, &pfc), 0);
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
	assert_int_equal(q.rx_pfc, 0x80);
	assert_int_equal(q.tx_pfc, 0);
	memset(&fc, 0xa5, sizeof(fc));
	assert_int_equal(rte_eth_dev_flow_ctrl_get(0, &fc), 0);
	assert_int_equal(fc.mode, RTE_ETH_FC_NONE);
	assert_int_equal(fc.high_water + fc.low_water + fc.pause_time, 0);
	assert_int_equal(fc.send_xon, 1);
	assert_int_equal(fc.mac_ctrl_frame_fwd, 0);
	assert_int_equal(fc.autoneg, 0);
	/* The card refuses: an error, and a line that says so. */
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_SET_PORT, 1, MLX4_STAT_BAD_PARAM), 0);
	fc.mode = RTE_ETH_FC_TX_PAUSE;
	rig_log_begin();
	assert_int_not_equal(rte_eth_dev_flow_ctrl_set(0, &fc), 0);
	{
		unsigned int lines;
		char *text = rig_log_end(&lines);

		assert_non_null(strstr(text, "the card refused pause frames"));
		free(text);
	}
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
	assert_false(q.tx_pause);
}

static struct rte_eth_conf
dcb(enum rte_eth_nb_tcs tcs, uint32_t wants)
{
	struct rte_eth_conf conf = {.txmode.mq_mode = RTE_ETH_MQ_TX_DCB, .dcb_capability_en = wants};
	unsigned int i;

	conf.tx_adv_conf.dcb_tx_conf.nb_tcs = tcs;
	for (i = 0; i < 8; i++)
		conf.tx_adv_conf.dcb_tx_conf.dcb_tc[i] = (uint8_t)((7 - i) % tcs);
	return conf;
}

/* Ten queues among four classes and among eight: what is left over goes to the last. Each sends at its class's first priority. */
static void
test_dcb_blocks(void **state)
{
	static const struct {
		enum rte_eth_nb_tcs tcs;
		uint8_t prio[QUEUES], base[8], n[8], pct[8];
	} t[] = {
		/* priority 7 - i is in class i */
		{RTE_ETH_4_TCS, {3, 3, 2, 2, 1, 1, 0, 0, 0, 0}, {0, 2, 4, 6}, {2, 2, 2, 4}, {25, 25, 25, 25}},
		{RTE_ETH_8_TCS,
		 {7, 6, 5, 4, 3, 2, 1, 0, 0, 0},
		 {0, 1, 2, 3, 4, 5, 6, 7},
		 {1, 1, 1, 1, 1, 1, 1, 3},
		 {16, 12, 12, 12, 12, 12, 12, 12}},
	};
	struct rte_pmd_mlx4_txq_policy policy;
	struct rte_eth_dcb_info info;
	struct rte_eth_conf conf;
	struct tp_qos_port q;
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(t); i++) {
		/* Pause of the whole port, which gives way. */
		q = defaults();
		q.rx_pause = q.tx_pause = true;
		declare(&q);
		conf = dcb(t[i].tcs, RTE_ETH_DCB_PG_SUPPORT | RTE_ETH_DCB_PFC_SUPPORT);
		assert_int_equal(rte_eth_dev_stop(0), 0);
		rig_start(0, QUEUES, &conf);
		assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
		assert_false(q.rx_pause || q.tx_pause);
		assert_int_equal(q.rx_pfc, 0xff);
		assert_int_equal(q.tx_pfc, 0xff);
		for (k = 0; k < QUEUES; k++) {
			assert_int_equal(rte_pmd_mlx4_txq_policy_get(0, (uint16_t)k, &policy), 0);
			assert_int_equal(policy.prio, t[i].prio[k]);
		}
		memset(&info, 0xa5, sizeof(info));
		assert_int_equal(rte_eth_dev_get_dcb_info(0, &info), 0);
		assert_int_equal(info.nb_tcs, t[i].tcs);
		for (k = 0; k < 8; k++) {
			assert_int_equal(info.tc_bws[k], t[i].pct[k]);
			assert_int_equal(q.tc[k].bw_pct, t[i].pct[k]);
			assert_int_equal(info.prio_tc[k], (7 - k) % t[i].tcs);
			assert_int_equal(info.tc_queue.tc_txq[0][k].base, t[i].base[k]);
			assert_int_equal(info.tc_queue.tc_txq[0][k].nb_queue, t[i].n[k]);
			assert_int_equal(info.tc_queue.tc_rxq[0][k].nb_queue, k == 0 ? QUEUES : 0);
			assert_int_equal(info.tc_queue.tc_rxq[0][k].base, 0);
		}
		/* Neither shares nor pauses were asked for: strict classes. */
		conf = dcb(t[i].tcs, 0);
		assert_int_equal(rte_eth_dev_stop(0), 0);
		rig_start(0, QUEUES, &conf);
		assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
		assert_int_equal(q.rx_pfc + q.tx_pfc, 0);
		assert_int_equal(rte_eth_dev_get_dcb_info(0, &info), 0);
		for (k = 0; k < 8; k++) {
			assert_int_equal(q.tc[k].tsa, TP_TSA_STRICT);
			assert_int_equal(info.tc_bws[k], k < (unsigned int)t[i].tcs ? 100 : 0);
		}
		/* And none: all of it goes, also the priorities of queues. */
		assert_int_equal(rte_eth_dev_stop(0), 0);
		rig_start(0, QUEUES, NULL);
		for (k = 0; k < QUEUES; k++) {
			assert_int_equal(rte_pmd_mlx4_txq_policy_get(0, (uint16_t)k, &policy), 0);
			assert_int_equal(policy.prio, 0);
		}
		assert_int_equal(rte_eth_dev_get_dcb_info(0, &info), 0);
		assert_int_equal(info.nb_tcs, 1);
		assert_int_equal(info.tc_queue.tc_txq[0][0].nb_queue, QUEUES);
		assert_int_equal(info.tc_bws[0], 100);
	}
	/* Classes by a declaration alone. */
	q = defaults();
	q.prio_tc[6] = 2;
	q.tc[0] = (struct tp_qos_tc){.tsa = TP_TSA_ETS, .bw_pct = 100};
	declare(&q);
	assert_int_equal(rte_eth_dev_get_dcb_info(0, &info), 0);
	assert_int_equal(info.nb_tcs, 3);
	assert_int_equal(info.tc_bws[0], 100);
	assert_int_equal(info.tc_queue.tc_txq[0][0].nb_queue, QUEUES);
}

static void
test_dcb_refused(void **state)
{
	static const struct {
		enum rte_eth_rx_mq_mode mode;
		bool taken;
	} rx[] = {{RTE_ETH_MQ_RX_NONE, true},      {RTE_ETH_MQ_RX_RSS, true},          {RTE_ETH_MQ_RX_DCB, true},
		  {RTE_ETH_MQ_RX_DCB_RSS, true},   {RTE_ETH_MQ_RX_VMDQ_ONLY, false},   {RTE_ETH_MQ_RX_VMDQ_RSS, false},
		  {RTE_ETH_MQ_RX_VMDQ_DCB, false}, {RTE_ETH_MQ_RX_VMDQ_DCB_RSS, false}};
	struct rte_eth_conf conf = dcb(RTE_ETH_4_TCS, RTE_ETH_DCB_PG_SUPPORT);
	struct tp_qos_port before, q;
	unsigned int i, lines;

	assert_int_equal(rte_pmd_mlx4_qos_get(0, &before), 0);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_SET_PORT, 1, MLX4_STAT_BAD_PARAM), 0);
	rig_log_begin();
	assert_int_not_equal(rte_eth_dev_configure(0, 1, QUEUES, &conf), 0);
	free(rig_log_end(&lines));
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
	assert_memory_equal(&q, &before, sizeof(q));
	conf.txmode.mq_mode = RTE_ETH_MQ_TX_VMDQ_ONLY;
	rig_log_begin();
	assert_int_equal(rte_eth_dev_configure(0, 1, QUEUES, &conf), -EINVAL);
	rig_log_one("queue modes", "wanted none, RSS or DCB");
	/* Of the modes of receive queues all without VMDq are taken. */
	for (i = 0; i < RTE_DIM(rx); i++) {
		conf = (struct rte_eth_conf){.rxmode.mq_mode = rx[i].mode};
		rig_log_begin();
		assert_int_equal(rte_eth_dev_configure(0, 1, QUEUES, &conf), rx[i].taken ? 0 : -EINVAL);
		free(rig_log_end(&lines));
		assert_int_equal(lines, rx[i].taken ? 0 : 1);
	}
	rig_start(0, QUEUES, NULL);
}

/* All names in their order, with numbers behind those of the port. */
static void
test_counter_names(void **state)
{
	static const char *const name[] = {"rx_prio%u_packets",
					   "rx_prio%u_bytes",
					   "tx_prio%u_packets",
					   "tx_prio%u_bytes",
					   "rx_prio%u_pause",
					   "rx_prio%u_pause_us",
					   "rx_prio%u_pause_transitions",
					   "tx_prio%u_pause",
					   "tx_prio%u_pause_us",
					   "tx_prio%u_pause_transitions",
					   "tx_prio%u_discards"};
	static const char *const congestion[] = {
		"rx_prio%u_ecn_marked",   "rx_prio%u_ecn_ignored", "tx_prio%u_cnps",        "rx_prio%u_cnps",
		"rx_prio%u_cnps_ignored", "tx_prio%u_limited_qps", "tx_prio%u_limited_mbps"};
	struct rte_eth_xstat_name got[8 * 11 + 2 + 8 * 2 + 8 * 7], *at = got;
	struct rte_eth_xstat xs[RTE_DIM(got)];
	uint8_t box[MLX4_STATS_SIZE] = {0};
	char want[RTE_ETH_XSTATS_NAME_SIZE];
	unsigned int p, i;

	assert_int_equal(mlx4_qos_xstats_num(), RTE_DIM(got));
	mlx4_qos_xstats_names(got);
	for (p = 0; p < 8; p++)
		for (i = 0; i < RTE_DIM(name); i++, at++) {
			snprintf(want, sizeof(want), name[i], p);
			assert_string_equal(at->name, want);
		}
	assert_string_equal((at++)->name, "rx_stall_minor");
	assert_string_equal((at++)->name, "rx_stall_critical");
	for (p = 0; p < 8; p++) {
		snprintf(want, sizeof(want), "tx_tc%u_lifetime_drops", p);
		assert_string_equal((at++)->name, want);
		snprintf(want, sizeof(want), "tx_tc%u_stalls", p);
		assert_string_equal((at++)->name, want);
	}
	for (p = 0; p < 8; p++)
		for (i = 0; i < RTE_DIM(congestion); i++, at++) {
			snprintf(want, sizeof(want), congestion[i], p);
			assert_string_equal(at->name, want);
		}
	eth_of(0)->qos->hol[7].stalls = 5;
	eth_of(0)->qos->hol[0].drops = 6;
	eth_of(0)->qos->stall.minors = 7;
	eth_of(0)->qos->stall.criticals = 8;
	eth_of(0)->qos->tx_discards[7] = 9;
	assert_int_equal(mlx4_qos_xstats(eth_of(0), box, xs, 1000), 0);
	for (i = 0; i < RTE_DIM(xs); i++) {
		assert_int_equal(xs[i].id, 1000 + i);
		assert_int_equal(xs[i].value, i == 87 ? 9 : i == 88 ? 7 : i == 89 ? 8 : i == 90 ? 6 : i == 105 ? 5 : 0);
	}
	memset(eth_of(0)->qos->hol, 0, sizeof(eth_of(0)->qos->hol));
}

static void
be64(uint8_t *at, uint64_t v)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		at[i] = (uint8_t)(v >> (56 - 8 * i));
}

/* Frames by the tag, without one by the priority that they are received with; what the card does not count is none. */
static void
test_counters(void **state)
{
	struct tp_qos_prio_stats st[TP_PRIOS];
	struct tp_qos_port q = defaults();
	uint8_t box[MLX4_STATS_SIZE] = {0};
	struct mlx4_eth *eth = eth_of(0);
	struct rte_eth_xstat xs[256];
	unsigned int p;

	q.untagged_prio = 3;
	declare(&q);
	/* Receive: good octets from 0x3b8, frames from 0x480; transmit: 0x9b8, 0xa98; each 24 bytes apart [DP 13.1]. */
	for (p = 0; p < 9; p++) {
		be64(box + 0x480 + p * 24, 10 + p);
		be64(box + 0x3b8 + p * 24, 1000 + p);
		be64(box + 0xa98 + p * 24, 20 + p);
		be64(box + 0x9b8 + p * 24, 2000 + p);
	}
	be64(box + 0x480 + 5 * 24, UINT64_MAX);
	be64(box + 0x9b8 + 5 * 24, UINT64_MAX);
	be64(box + 0x480 + 6 * 24, UINT64_MAX - 1);
	mlx4_qos_lock(eth);
	assert_int_equal(mlx4_qos_stats(eth, box, st), 0);
	mlx4_qos_unlock(eth);
	for (p = 0; p < 8; p++) {
		assert_true(st[p].rx_frames == (p == 5 ? 0 : p == 6 ? UINT64_MAX - 1 : 10 + p + (p == 3 ? 18 : 0)));
		assert_int_equal(st[p].rx_bytes, 1000 + p + (p == 3 ? 1008 : 0));
		assert_int_equal(st[p].tx_frames, 20 + p + (p == 0 ? 28 : 0));
		assert_int_equal(st[p].tx_bytes, p == 5 ? 0 : 2000 + p + (p == 0 ? 2008 : 0));
	}
	/* What a queue sent without the tag of its priority is not priority 0's; of what was sent, not of what waits. */
	eth->txqs[1]->prio_count[2].untagged = 40;
	eth->txqs[1]->prio_count[2].untagged_bytes = 4000;
	eth->txqs[2]->prio_count[2].untagged = 1;
	eth->txqs[2]->prio_count[4].untagged = 100;
	eth->txqs[2]->prio_count[4].untagged_bytes = 100000;
	eth->txqs[QUEUES - 1]->prio_count[0].discards = 6;
	eth->txqs[QUEUES - 1]->prio_count[0].untagged = 1;
	mlx4_qos_lock(eth);
	assert_int_equal(mlx4_qos_stats(eth, box, st), 0);
	mlx4_qos_unlock(eth);
	assert_int_equal(st[2].tx_frames, 22 + 41);
	assert_int_equal(st[2].tx_bytes, 2002 + 4000);
	assert_int_equal(st[4].tx_frames, 24 + 7); /* 48 - 41 are left */
	assert_int_equal(st[4].tx_bytes, 2004 + 8);
	assert_int_equal(st[0].tx_frames + st[0].tx_bytes, 0);
	assert_int_equal(st[0].tx_discards, 6);
	/* Without a page of pauses there are none; one that cannot be read is an error. */
	eth->hca->caps.pfc_counters = false;
	assert_int_equal(rte_pmd_mlx4_qos_stats(0, st), 0);
	assert_int_equal(mlx4_qos_xstats(eth, box, xs, 0), 0);
	eth->hca->caps.pfc_counters = true;
	tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_DUMP_ETH_STATS, 2, MLX4_STAT_BAD_PARAM);
	assert_true(rte_pmd_mlx4_qos_stats(0, st) < 0);
	tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_DUMP_ETH_STATS, 1, MLX4_STAT_BAD_PARAM);
	assert_true(rte_pmd_mlx4_qos_stats(0, st) < 0);
	tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_DUMP_ETH_STATS, 1, MLX4_STAT_BAD_PARAM);
	assert_true(mlx4_qos_xstats(eth, box, xs, 0) < 0);
	assert_int_equal(rte_pmd_mlx4_qos_stats(9, st), -ENODEV);
	eth->qos->tx_discards[1] = 3;
	assert_int_equal(rte_eth_stats_reset(0), 0);
	assert_int_equal(rte_pmd_mlx4_qos_stats(0, st), 0);
	for (p = 0; p < 8; p++)
		assert_int_equal(st[p].tx_discards + st[p].tx_frames, 0);
}

/* A rate goes to all pairs of a queue or to none; large ones are in steps of 1 Gb/s. */
static void
test_rate_of_lanes(void **state)
{
	struct tp_qos_port q = defaults();
	struct mlx4_eth *eth = eth_of(0);
	struct mlx4_txq *t = eth->txqs[0];
	struct rte_eth_link link;
	char err[TP_ERR_LEN];
	unsigned int lines, n, p;

	assert_int_equal(rte_eth_link_get_nowait(0, &link), 0);
	add_rule(&q, TP_MATCH_UDP_PORT, 1, 1, 2, -1);
	add_rule(&q, TP_MATCH_UDP_PORT, 2, 2, 7, -1);
	declare(&q);
	assert_non_null(t->lane[2]);
	assert_non_null(t->lane[7]);
	assert_int_equal(rte_pmd_mlx4_txq_rate_set(0, 0, 100, err), 0);
	for (n = 1; n <= 3; n++) {
		tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_UPDATE_QP, n, MLX4_STAT_BAD_PARAM);
		rig_log_begin();
		assert_int_not_equal(rte_pmd_mlx4_txq_rate_set(0, 0, 200, err), 0);
		free(rig_log_end(&lines));
		assert_non_null(strstr(err, "rate 200 of Tx queue 0: the card refused"));
		assert_int_equal(t->rate_mbps, 100);
		assert_int_equal(prm_get(t->qp.ctx, MLX4_QPC_RATE_VALUE), 100);
		for (p = 0; p < TP_PRIOS; p++)
			if (t->lane[p] != NULL)
				assert_int_equal(prm_get(t->lane[p]->qp.ctx, MLX4_QPC_RATE_VALUE), 100);
	}
	assert_int_equal(rte_pmd_mlx4_txq_rate_set(0, 0, 4095, err), 0);
	assert_int_equal(t->rate_mbps, 4095);
	assert_int_equal(rte_pmd_mlx4_txq_rate_set(0, 0, 4096, err), 0);
	assert_int_equal(t->rate_mbps, 4000);
	for (p = 0; p < TP_PRIOS; p++)
		if (t->lane[p] != NULL)
			assert_int_equal(prm_get(t->lane[p]->qp.ctx, MLX4_QPC_RATE_VALUE), 4);
	/* New pairs have it from the beginning. */
	add_rule(&q, TP_MATCH_UDP_PORT, 3, 3, 5, -1);
	declare(&q);
	assert_int_equal(prm_get(t->lane[5]->qp.ctx, MLX4_QPC_RATE_UNIT), 2); /* 1 Mb/s */
	assert_int_equal(prm_get(t->lane[5]->qp.ctx, MLX4_QPC_RATE_VALUE), 4000);
	assert_int_equal(prm_get(t->lane[5]->qp.ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_SCHED_QUEUE), 0x83 | 5 << 3);
}

/* What a port had, and the card will not take again after it was reset: the defaults hold, and that is told. */
static void
test_not_restored(void **state)
{
	struct tp_qos_port q = defaults(), now;
	struct mlx4_eth *eth = eth_of(0);
	unsigned int lines;
	char *text;

	q.tx_pfc = 0x10;
	q.prio_tc[4] = 4;
	declare(&q);
	tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_SET_PORT, 2, MLX4_STAT_BAD_PARAM);
	rig_log_begin();
	assert_true(mlx4_qos_restore(eth) < 0);
	text = rig_log_end(&lines);
	assert_non_null(strstr(text, "its quality of service is the default now: the card refused pause frames"));
	assert_non_null(strstr(text, "tx-pfc: 4 -> none"));
	assert_non_null(strstr(text, "prio-tc: 0,0,0,0,4,0,0,0 -> 0,0,0,0,0,0,0,0"));
	free(text);
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &now), 0);
	q = defaults();
	assert_memory_equal(&now, &q, sizeof(q));
	assert_int_equal(mlx4_qos_restore(eth), 0);
}

static void
test_event_names(void **state)
{
	static const char *const name[] = {
		"dropless-entered", "dropless-exited", "dropless-timeout", "rx-stall-begin",
		"rx-stall-end",     "tc-stall-begin",  "tc-stall-end",     "port-setting",
		"group-setting",    "rxq-setting",     "txq-setting",      "port-type-refused",
		"health-alarm",     "health-cleared",  "port-restarted",   "dump-written"};
	unsigned int i;

	for (i = 0; i < RTE_DIM(name); i++)
		assert_string_equal(rte_pmd_mlx4_qos_event_name((enum rte_pmd_mlx4_qos_event)i), name[i]);
	assert_string_equal(rte_pmd_mlx4_qos_event_name((enum rte_pmd_mlx4_qos_event)i), "");
	assert_string_equal(rte_pmd_mlx4_qos_event_name((enum rte_pmd_mlx4_qos_event) - 1), "");
	assert_int_equal(rte_pmd_mlx4_qos_on_event(9, NULL, NULL), -ENODEV);
}

/* Ports that are not ours; ethdev's port VLAN leaves nothing behind. */
static void
test_ports(void **state)
{
	struct rte_pmd_mlx4_txq_policy policy;
	struct rte_pmd_mlx4_stalls st;
	struct tp_qos_limits lim;
	struct tp_qos_port q;
	char err[TP_ERR_LEN];

	assert_int_equal(rte_pmd_mlx4_qos_limits(9, &lim), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_stalls_get(9, &st), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_txq_prio_set(9, 0, 1, err), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_txq_policy_get(9, 0, &policy), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_txq_policy_get(0, QUEUES, &policy), -EINVAL);
	assert_int_equal(rte_eth_dev_set_vlan_pvid(0, 4095, 1), 0);
	assert_int_equal(rte_eth_dev_set_vlan_pvid(0, 4095, 0), 0);
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
	assert_int_equal(q.port_vlan, 0);
	assert_int_equal(q.tag_untagged, 0);
	/* The first class counts, too. */
	eth_of(0)->qos->hol[0].until_us = 1;
	eth_of(0)->qos->hol[0].drops = 5;
	assert_int_equal(rte_pmd_mlx4_stalls_get(0, &st), 0);
	assert_int_equal(st.tc_stalled, 1);
	assert_int_equal(st.tc_drops[0], 5);
	eth_of(0)->qos->hol[0].until_us = 0;
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_watch_period),  T(test_flow_ctrl), T(test_dcb_blocks),    T(test_dcb_refused),
		T(test_counter_names), T(test_counters),  T(test_rate_of_lanes), T(test_not_restored),
		T(test_event_names),   T(test_ports),
	};

	if (rig_eal("mlx4qed", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
