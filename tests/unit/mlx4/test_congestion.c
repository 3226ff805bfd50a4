/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Congestion control of the card: what its mailboxes hold after each call, by number, and what the driver does where the
 * firmware has none, refuses, or was reset.
 */
#include <stdlib.h>

#include "roce_rig.h"

#include "drivers/mlx4/hca/core.h"
#include "rte_pmd_mlx4_qos.h"

#define CMD MLX4_CMD_CONGESTION_CTRL
#define RP 1u
#define NP 2u
#define CE 3u

static struct mlx4_hca *
hca(void)
{
	return ((struct mlx4_eth *)rte_eth_devices[0].data->dev_private)->hca;
}

/* A dword of the parameters of a port's (1, 2) priority, as the card has them. */
static uint32_t
param(unsigned int port, unsigned int prio, uint32_t algorithm, uint32_t off)
{
	uint8_t box[0x108];

	assert_int_equal(mlx4_cmd(hca(), CMD, 0, algorithm << 16 | 1u << (8 + prio) | port, NULL, 0, box, sizeof(box)),
			 0);
	return (uint32_t)box[off] << 24 | (uint32_t)box[off + 1] << 16 | (uint32_t)box[off + 2] << 8 | box[off + 3];
}

static uint64_t
word(uint16_t port, unsigned int prio, const char *name)
{
	uint64_t v = UINT64_MAX;

	assert_int_equal(rte_pmd_mlx4_cc_get(port, prio, name, &v), 0);
	return v;
}

static void
count_cc(void *arg, const char *name, uint64_t count)
{
	if (strcmp(name, "CONGESTION_CTRL") == 0)
		*(uint64_t *)arg = count;
}

/* Nothing is asked of firmware that does not offer it, and of a card without RoCE v2. */
static void
test_not_offered(void **state)
{
	static const char *const args[] = {"congestion=0", "type=cx3"};
	struct rte_pmd_mlx4_cc_stats st;
	uint64_t v, asked;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(args); i++) {
		rig_open(args[i]);
		assert_int_equal(rte_pmd_mlx4_cc_enable(0, 1, true), -ENOTSUP);
		assert_int_equal(rte_pmd_mlx4_cc_enabled(0, 0), -ENOTSUP);
		assert_int_equal(rte_pmd_mlx4_cc_set(0, 1, "ai-rate", 5), -ENOTSUP);
		assert_int_equal(rte_pmd_mlx4_cc_get(0, 0, "ai-rate", &v), -ENOTSUP);
		assert_int_equal(rte_pmd_mlx4_cc_defaults(0, 0xff), -ENOTSUP);
		assert_int_equal(rte_pmd_mlx4_cc_restore(0, 0xff), -ENOTSUP);
		assert_int_equal(rte_pmd_mlx4_cc_stats(0, 0, &st), -ENOTSUP);
		assert_int_equal(rig_xstat(0, "tx_prio0_cnps"), 0);
		asked = 0;
		tp_model_each_command(rig_model(0), count_cc, &asked);
		assert_int_equal(asked, 0);
		rig_close();
	}
}

/* Each word in its dword; on and off are flags; other priorities and the other port stay as they are. */
static void
test_words(void **state)
{
	static const struct {
		const char *name;
		uint32_t algorithm, off, shift, value;
	} words[] = {
		{"time-reset", RP, 0x14, 0, 131071},
		{"byte-reset", RP, 0x18, 0, 32767},
		{"threshold", RP, 0x1c, 0, 31},
		{"ai-rate", RP, 0x24, 0, 77},
		{"hai-rate", RP, 0x28, 0, 770},
		{"alpha-to-rate-shift", RP, 0x2c, 0, 3},
		{"min-dec-fac", RP, 0x30, 0, 100},
		{"min-rate", RP, 0x34, 0, 40},
		{"rate-on-first-cnp", RP, 0x54, 0, 200},
		{"dce-tcp-g", RP, 0x58, 0, 1023},
		{"dce-tcp-rtt", RP, 0x5c, 0, 9},
		{"max-rate", RP, 0x20, 0, 39000},
		{"clamp-target-rate", RP, 0x0c, 27, 1},
		{"disable-hai-stage", RP, 0x0c, 17, 1},
		{"clamp-target-rate-after-time-inc", RP, 0x0c, 23, 0},
		{"cnp-interval", NP, 0x14, 0, 50},
		{"cnp-dscp", NP, 0x18, 8, 46},
		{"cnp-802p-prio", NP, 0x18, 0, 5},
	};
	unsigned int prio = 3;
	uint64_t asked = 0;

	(void)state;
	assert_int_equal(rte_pmd_mlx4_cc_enabled(1, prio), 0);
	tp_model_each_command(rig_model(0), count_cc, &asked);
	assert_int_equal(asked, 2);
	for (unsigned int i = 0; i < RTE_DIM(words); i++) {
		uint64_t first = word(1, prio, words[i].name);
		uint32_t mask = words[i].off == 0x0c                               ? 1
				: words[i].off == 0x18 && words[i].algorithm == NP ? 0x3f
										   : ~0u;

		assert_int_not_equal(first, words[i].value);
		assert_int_equal(rte_pmd_mlx4_cc_set(1, 1u << prio, words[i].name, words[i].value), 0);
		assert_int_equal(word(1, prio, words[i].name), words[i].value);
		assert_int_equal(param(2, prio, words[i].algorithm, words[i].off) >> words[i].shift & mask,
				 words[i].value);
		assert_int_equal(word(1, 4, words[i].name), first);
		assert_int_equal(word(0, prio, words[i].name), first);
	}
	assert_int_equal(rte_pmd_mlx4_cc_enable(1, 1u << prio, true), 0);
	assert_int_equal(rte_pmd_mlx4_cc_enabled(1, prio), 1);
	assert_int_equal(param(2, prio, RP, 0x0c), 1u << 31 | 1u << 27 | 3u << 24 | 1u << 17);
	assert_int_equal(param(2, prio, NP, 0x0c), 1u << 31);
	/* All words stayed, and stay while it goes off. */
	for (unsigned int i = 0; i < RTE_DIM(words); i++)
		assert_int_equal(word(1, prio, words[i].name), words[i].value);
	assert_int_equal(rte_pmd_mlx4_cc_enable(1, 0xff, false), 0);
	assert_int_equal(param(2, prio, RP, 0x0c), 1u << 27 | 1u << 17);
	assert_int_equal(param(2, prio, NP, 0x0c), 0);
	assert_int_equal(word(1, prio, "ai-rate"), 77);
	assert_int_equal(rte_pmd_mlx4_cc_defaults(1, 1u << prio), 0);
	for (unsigned int i = 0; i < RTE_DIM(words); i++)
		assert_int_equal(word(1, prio, words[i].name), word(1, 4, words[i].name));
}

static void
test_refused(void **state)
{
	static const char *const lacks[] = {"initial-alpha", "rate-reduce-monitor-period", "cnp-prio-mode"};
	struct rte_pmd_mlx4_cc_stats st;
	uint64_t v;

	(void)state;
	assert_int_equal(rte_pmd_mlx4_cc_enable(31, 1, true), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_cc_enabled(31, 1), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_cc_stats(31, 1, &st), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_cc_enabled(0, 8), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_cc_get(0, 8, "ai-rate", &v), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_cc_stats(0, 8, &st), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_cc_set(0, 1, "ai", 5), -ENOENT);
	assert_int_equal(rte_pmd_mlx4_cc_get(0, 0, "ai", &v), -ENOENT);
	assert_int_equal(rte_pmd_mlx4_cc_set(0, 1, "threshold", 0), -ERANGE);
	assert_int_equal(rte_pmd_mlx4_cc_set(0, 1, "threshold", 32), -ERANGE);
	assert_int_equal(rte_pmd_mlx4_cc_set(0, 1, "cnp-dscp", 64), -ERANGE);
	for (unsigned int i = 0; i < RTE_DIM(lacks); i++) {
		assert_int_equal(rte_pmd_mlx4_cc_set(0, 1, lacks[i], 1), -EOPNOTSUPP);
		assert_int_equal(rte_pmd_mlx4_cc_get(0, 0, lacks[i], &v), -EOPNOTSUPP);
	}
	/* A rate above the line's is the line's. */
	rig_log_begin();
	assert_int_equal(rte_pmd_mlx4_cc_set(0, 1, "min-rate", 99999), 0);
	rig_log_one("port 0: min-rate 99999", "is above the line rate: it is 40000 Mb/s");
	assert_int_equal(param(1, 0, RP, 0x34), 40000);
	assert_int_equal(word(0, 0, "threshold"), 5);
}

/* Each word at its ends, and beside them: what is refused leaves what was. */
static void
test_ranges(void **state)
{
	static const struct {
		const char *name;
		uint64_t min, max; /* UINT64_MAX: the line's rate */
	} row[] = {
		{"clamp-target-rate", 0, 1},
		{"clamp-target-rate-after-time-inc", 0, 1},
		{"disable-hai-stage", 0, 1},
		{"max-rate", 0, UINT64_MAX},
		{"time-reset", 0, 131071},
		{"byte-reset", 0, 32767},
		{"threshold", 1, 31},
		{"ai-rate", 1, UINT64_MAX},
		{"hai-rate", 1, UINT64_MAX},
		{"alpha-to-rate-shift", 0, 11},
		{"min-dec-fac", 0, 100},
		{"min-rate", 0, UINT64_MAX},
		{"rate-on-first-cnp", 0, UINT64_MAX},
		{"dce-tcp-g", 0, 1023},
		{"dce-tcp-rtt", 0, 131071},
		{"cnp-interval", 0, 131071},
		{"cnp-dscp", 0, 63},
		{"cnp-802p-prio", 0, 7},
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(row); i++) {
		const char *name = row[i].name;
		bool line = row[i].max == UINT64_MAX;
		uint64_t max = line ? 40000 : row[i].max;

		if (row[i].min != 0)
			assert_int_equal(rte_pmd_mlx4_cc_set(0, 1, name, row[i].min - 1), -ERANGE);
		assert_int_equal(rte_pmd_mlx4_cc_set(0, 1, name, row[i].min), 0);
		assert_int_equal(word(0, 0, name), row[i].min);
		assert_int_equal(rte_pmd_mlx4_cc_set(0, 1, name, max), 0);
		assert_int_equal(rte_pmd_mlx4_cc_set(0, 1, name, max + 1), line ? 0 : -ERANGE);
		assert_int_equal(rte_pmd_mlx4_cc_set(0, 1, name, UINT64_MAX), -ERANGE);
		assert_int_equal(word(0, 0, name), max);
	}
}

/* The notification point refuses: the reaction point is as it was. */
static void
test_half_refused(void **state)
{
	(void)state;
	/* Twice two questions, the reaction point, and then. */
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, CMD, 6, MLX4_STAT_BAD_OP), 0);
	assert_true(rte_pmd_mlx4_cc_enable(0, 1, true) < 0);
	assert_int_equal(param(1, 0, RP, 0x0c), 1u << 23);
	assert_int_equal(param(1, 0, NP, 0x0c), 0);
	assert_int_equal(rte_pmd_mlx4_cc_enabled(0, 0), 0);
	assert_int_equal(rte_pmd_mlx4_cc_enable(0, 1, true), 0);
	assert_int_equal(rte_pmd_mlx4_cc_enabled(0, 0), 1);
}

/* What a reset takes from the card it is told again. */
static void
test_reset(void **state)
{
	(void)state;
	rig_open("");
	assert_int_equal(rte_pmd_mlx4_cc_enable(0, 1u << 3, true), 0);
	assert_int_equal(rte_pmd_mlx4_cc_set(0, 1u << 3, "ai-rate", 55), 0);
	assert_int_equal(rte_pmd_mlx4_cc_set(1, 1u << 5, "cnp-dscp", 12), 0);
	mlx4_hca_mark_dead(hca(), "the test says so");
	assert_int_equal(rte_eth_dev_reset(0), 0);
	assert_int_equal(param(1, 3, RP, 0x0c), 1u << 31 | 3u << 24 | 1u << 23);
	assert_int_equal(param(1, 3, NP, 0x0c), 1u << 31);
	assert_int_equal(param(1, 3, RP, 0x24), 55);
	assert_int_equal(param(1, 4, RP, 0x24), 10);
	assert_int_equal(rte_eth_dev_reset(1), 0);
	assert_int_equal(param(2, 5, NP, 0x18), 12u << 8 | 7);
	rig_close();
}

/* What the card has stored is on before anything was set. */
static void
test_stored(void **state)
{
	(void)state;
	rig_open("cc1=prio:5/ai-rate:66/cnp-dscp:12");
	assert_int_equal(word(1, 5, "ai-rate"), 66);
	assert_int_equal(word(1, 5, "cnp-dscp"), 12);
	assert_int_equal(word(1, 4, "ai-rate"), 10);
	assert_int_equal(word(0, 5, "ai-rate"), 10);
	assert_int_equal(rte_pmd_mlx4_cc_enabled(1, 5), 1);
	assert_int_equal(rte_pmd_mlx4_cc_enabled(1, 4), 0);
	assert_int_equal(rte_pmd_mlx4_cc_enabled(0, 5), 0);
	rig_close();
}

/* Back to what the card had before it was told, which it is told no more after a reset. */
static void
test_restore(void **state)
{
	(void)state;
	rig_open("cc0=prio:3/ai-rate:66/cnp-dscp:12");
	assert_int_equal(rte_pmd_mlx4_cc_restore(31, 1), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_cc_restore(0, 0xff), 0);
	assert_int_equal(param(1, 3, RP, 0x24), 66);
	for (unsigned int prio = 3; prio < 5; prio++) {
		assert_int_equal(rte_pmd_mlx4_cc_set(0, 1u << prio, "rpgAiRate", 77), 0);
		assert_int_equal(rte_pmd_mlx4_cc_set(0, 1u << prio, "cnp_dscp", 13), 0);
		assert_int_equal(rte_pmd_mlx4_cc_enable(0, 1u << prio, prio == 4), 0);
		assert_int_equal(param(1, prio, RP, 0x24), 77);
		assert_int_equal(param(1, prio, NP, 0x18), 13u << 8 | 7);
	}
	assert_int_equal(param(1, 3, RP, 0x0c), 1u << 23);
	assert_int_equal(rte_pmd_mlx4_cc_restore(0, 3u << 3), 0);
	assert_int_equal(param(1, 3, RP, 0x24), 66);
	assert_int_equal(param(1, 3, NP, 0x18), 12u << 8 | 7);
	assert_int_equal(param(1, 3, RP, 0x0c), 1u << 31 | 3u << 24 | 1u << 23);
	assert_int_equal(param(1, 3, NP, 0x0c), 1u << 31);
	assert_int_equal(param(1, 4, RP, 0x24), 10);
	assert_int_equal(param(1, 4, RP, 0x0c), 1u << 23);
	assert_int_equal(param(1, 4, NP, 0x18), 7);
	/* What another one tells the card behind its back is there after a restore of what is as at first. */
	assert_int_equal(mlx4_cmd(hca(), CMD, 4, RP << 16 | 1u << (8 + 4) | 1,
				  (const uint8_t[0x108]){[4] = 0x04, [0x27] = 55}, 0x108, NULL, 0),
			 0);
	assert_int_equal(rte_pmd_mlx4_cc_restore(0, 1u << 4), 0);
	assert_int_equal(param(1, 4, RP, 0x24), 55);
	mlx4_hca_mark_dead(hca(), "the test says so");
	assert_int_equal(rte_eth_dev_reset(0), 0);
	assert_int_equal(param(1, 4, RP, 0x24), 10);
	assert_int_equal(param(1, 3, RP, 0x24), 66);
	rig_close();
}

/* A card with another algorithm has defaults that no call may set: they stay while other things change, and come back. */
static void
test_variant(void **state)
{
	(void)state;
	rig_open("cc0=variant:paper");
	assert_int_equal(word(0, 3, "byte-reset"), 156250);
	assert_int_equal(rte_pmd_mlx4_cc_enable(0, 1u << 3, true), 0);
	assert_int_equal(rte_pmd_mlx4_cc_set(0, 1u << 3, "ai-rate", 50), 0);
	assert_int_equal(rte_pmd_mlx4_cc_set(0, 1u << 3, "byte-reset", 156250), -ERANGE);
	assert_int_equal(param(1, 3, RP, 0x18), 156250);
	assert_int_equal(rte_pmd_mlx4_cc_defaults(0, 1u << 3), 0);
	assert_int_equal(param(1, 3, RP, 0x18), 400);
	assert_int_equal(rte_pmd_mlx4_cc_restore(0, 1u << 3), 0);
	assert_int_equal(param(1, 3, RP, 0x18), 156250);
	assert_int_equal(param(1, 3, RP, 0x24), 40);
	rig_close();
}

/* A queue pair whose packets come marked, since its traffic class says so. */
static void
join(struct rr_end *a, struct rr_end *b, uint8_t tclass)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .max_dest_rd_atomic = 4};

	for (unsigned int i = 0; i < 2; i++) {
		struct rr_end *e = i == 0 ? a : b, *peer = i == 0 ? b : a;

		rr_init(e);
		attr.dest_qp_num = peer->qp->qp_num;
		attr.rq_psn = 100 + peer->port;
		attr.min_rnr_timer = 12;
		rr_attr(&attr.ah_attr, peer->port, RR_IPV4_V2);
		attr.ah_attr.grh.traffic_class = tclass;
		assert_int_equal(tp_roce_modify_qp(e->qp, &attr,
						   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
							   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
							   IBV_QP_MIN_RNR_TIMER),
				 0);
		rr_rts(e);
	}
}

static uint64_t
stat(unsigned int port, const char *name)
{
	uint64_t v = UINT64_MAX;

	assert_int_equal(tp_roce_stat(rr_ctx[port], name, &v), 0);
	return v;
}

/* Both interfaces are one setting, and both have the counters. */
static void
test_roce(void **state)
{
	struct rte_pmd_mlx4_cc_stats st;
	struct rr_end a, b;
	unsigned int lines;
	uint64_t v, sent;
	char *said;

	(void)state;
	assert_int_equal(tp_roce_cc_enable(rr_ctx[1], 1, true), 0);
	assert_int_equal(rte_pmd_mlx4_cc_enabled(1, 0), 1);
	assert_true(tp_roce_cc_enabled(rr_ctx[1], 0));
	assert_int_equal(tp_roce_cc_set(rr_ctx[1], 1, "cnp-dscp", 46), 0);
	assert_int_equal(word(1, 0, "cnp-dscp"), 46);
	assert_int_equal(tp_roce_cc_get(rr_ctx[1], 0, "cnp-dscp", &v), 0);
	assert_int_equal(v, 46);
	assert_int_equal(tp_roce_cc_get(rr_ctx[1], 0, "initial-alpha", &v), EOPNOTSUPP);
	assert_int_equal(tp_roce_cc_limited(rr_ctx[1], NULL, 0, &lines), EOPNOTSUPP);
	/* The card has one variant, which is its own. */
	assert_int_equal(tp_roce_cc_set_variant(rr_ctx[1], 2, "card"), 0);
	assert_int_equal(tp_roce_cc_set_variant(rr_ctx[1], 1, "paper"), EOPNOTSUPP);
	assert_string_equal(tp_roce_cc_variant(rr_ctx[1], 0), "card");
	rig_log_begin();
	assert_int_equal(tp_roce_cc_set(rr_ctx[1], 1, "initial-alpha", 5), EOPNOTSUPP);
	said = rig_log_end(&lines);
	assert_non_null(strstr(said, "provider mlx4 has no parameter 'initial-alpha'"));
	free(said);
	rr_end(&a, 0);
	rr_end(&b, 1);
	rr_qp(&a, IBV_QPT_RC, NULL);
	rr_qp(&b, IBV_QPT_RC, NULL);
	join(&a, &b, CE);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(rr_rdma(&a, IBV_WR_RDMA_WRITE, 0, 500, &b, 0), 0);
		rr_run();
		assert_int_equal(rr_poll(&a).status, IBV_WC_SUCCESS);
		rr_wait(1000);
	}
	/* Its acknowledgements say ECT, whatever the path does. Three marks, and one answer within 4 us. */
	assert_int_equal(stat(1, "cc_marked"), 3);
	assert_int_equal(stat(1, "cc_marks_ignored"), 0);
	assert_int_equal(stat(1, "cc_cnps_sent"), 1);
	assert_int_equal(stat(0, "cnps"), 1);
	assert_int_equal(stat(0, "cc_cnps_ignored"), 1);
	assert_int_equal(stat(0, "cc_cnps_handled"), 0);
	assert_int_equal(rte_pmd_mlx4_cc_stats(1, 0, &st), 0);
	assert_int_equal(st.marked, 3);
	assert_int_equal(st.cnps_sent, 1);
	assert_int_equal(rig_xstat(1, "rx_prio0_ecn_marked"), 3);
	assert_int_equal(rig_xstat(1, "tx_prio0_cnps"), 1);
	assert_int_equal(rig_xstat(0, "rx_prio0_cnps_ignored"), 1);
	assert_int_equal(rig_xstat(1, "tx_prio1_cnps"), 0);
	/* Of another priority, nothing; then all that the card counted starts again, in xstats, too. */
	assert_int_equal(tp_roce_cc_clear(rr_ctx[1], 0xfe), 0);
	assert_int_equal(stat(1, "cc_marked"), 3);
	assert_int_equal(rig_xstat(1, "rx_prio0_ecn_marked"), 3);
	assert_int_equal(rte_eth_xstats_reset(1), 0);
	assert_int_equal(tp_roce_cc_clear(rr_ctx[1], 1), 0);
	assert_int_equal(stat(1, "cc_marked"), 0);
	assert_int_equal(stat(1, "cc_cnps_sent"), 0);
	assert_int_equal(rig_xstat(1, "rx_prio0_ecn_marked"), 0);
	assert_int_equal(rig_xstat(1, "tx_prio0_cnps"), 0);
	rr_wait(10000);
	assert_int_equal(rr_rdma(&a, IBV_WR_RDMA_WRITE, 0, 500, &b, 0), 0);
	rr_run();
	assert_int_equal(rr_poll(&a).status, IBV_WC_SUCCESS);
	assert_int_equal(stat(1, "cc_marked"), 1);
	assert_int_equal(rig_xstat(1, "rx_prio0_ecn_marked"), 1);
	assert_int_equal(stat(0, "cc_cnps_ignored"), 2);
	assert_int_equal(rte_pmd_mlx4_cc_clear(0, 0xff), 0);
	assert_int_equal(stat(0, "cc_cnps_ignored"), 0);
	/* Those of the ethdev start again, those of RoCE do not. */
	assert_int_equal(rte_eth_xstats_reset(1), 0);
	assert_int_equal(rig_xstat(1, "rx_prio0_ecn_marked"), 0);
	assert_int_equal(stat(1, "cc_marked"), 1);
	/* Heard, the CNP limits the queue pair; at port 0 it is on without the ECT that port 1 would not mark. */
	rr_wait(10000);
	assert_int_equal(mlx4_cmd(hca(), CMD, 4, RP << 16 | 1u << 8 | 1, (const uint8_t[0x108]){0x80, [0x0c] = 0x80},
				  0x108, NULL, 0),
			 0);
	assert_int_equal(rr_rdma(&a, IBV_WR_RDMA_WRITE, 0, 500, &b, 0), 0);
	rr_run();
	assert_int_equal(rr_poll(&a).status, IBV_WC_SUCCESS);
	assert_int_equal(stat(0, "cc_cnps_handled"), 1);
	assert_int_equal(stat(0, "cc_limited_qps"), 1);
	assert_int_equal(stat(0, "cc_limited_mbps"), 3000);
	assert_int_equal(rig_xstat(0, "tx_prio0_limited_qps"), 1);
	assert_int_equal(rig_xstat(0, "tx_prio0_limited_mbps"), 3000);
	assert_int_equal(rte_pmd_mlx4_cc_stats(0, 0, &st), 0);
	assert_int_equal(st.rate, 3000);
	assert_int_equal(st.rate_min, 3000);
	assert_int_equal(st.rate_max, 3000);
	assert_int_equal(tp_roce_cc_enable(rr_ctx[0], 1, false), 0);
	assert_int_equal(stat(0, "cc_limited_qps"), 0);
	/* Where it is off nobody answers for marks. */
	sent = stat(1, "cc_cnps_sent");
	assert_int_equal(tp_roce_cc_enable(rr_ctx[1], 1, false), 0);
	assert_int_equal(rr_rdma(&a, IBV_WR_RDMA_WRITE, 0, 500, &b, 0), 0);
	rr_run();
	assert_int_equal(rr_poll(&a).status, IBV_WC_SUCCESS);
	assert_int_equal(stat(1, "cc_marks_ignored"), 1);
	assert_int_equal(stat(1, "cc_cnps_sent"), sent);
	assert_int_equal(rig_xstat(1, "rx_prio0_ecn_ignored"), 1);
	rr_end_free(&a);
	rr_end_free(&b);
}

static int
setup(void **state)
{
	(void)state;
	rig_open("");
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_offered),
		cmocka_unit_test_setup_teardown(test_words, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_ranges, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_half_refused, setup, rig_teardown),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_stored),
		cmocka_unit_test(test_restore),
		cmocka_unit_test(test_variant),
		cmocka_unit_test_setup_teardown(test_roce, rr_setup, rr_teardown),
	};

	if (rig_eal("mlx4cc", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
