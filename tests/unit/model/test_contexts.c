/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What follows from a field of a context or of a card's make: addresses of tables, sizes, checks of sources, what is sensed. */
#include "harness.h"

#include <string.h>

#include "model/card/model_priv.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A base shares its low five bits with the number of entries, all five of them [CP 3.6]. */
static void
bases_with_large_counts(void **state)
{
	struct card *c = *state;
	uint8_t *in;

	assert_int_equal(card_start_fw(c), 0);
	assert_int_equal(card_init_hca(c, CARD_DMFS), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_HCA, 0, 0), 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_SET_ICM_SIZE, 0, 0, UINT64_C(8) << 30, 0), 0);
	assert_int_equal(c->imm, 16 + 512);
	assert_int_equal(card_map(c, MLX4_CMD_MAP_ICM_AUX, 0, card_alloc(c, 528 * CARD_PAGE, CARD_PAGE), 528), 0);
	in = card_in(c);
	card_fill_init_hca(c, in, CARD_DMFS);
	prm_set64(in, 0x050, UINT64_C(5) << 30 | 17);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_INIT_HCA, 0, 0), 0);
	assert_int_equal(c->m->lg_cqs, 17);
	assert_true(c->m->cqc_base == UINT64_C(5) << 30);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_HCA, 0, 0), 0);
	card_expect_clean(c);
	/* An entry has 128 octets, and so the base is a multiple of that; the last table ends where ICM does. */
	prm_set64(in, 0x050, (UINT64_C(5) << 30) + 64 + 17);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_INIT_HCA, 0, 0), MLX4_STAT_BAD_PARAM);
	prm_set64(in, 0x050, (UINT64_C(8) << 30) - (128 << 17) + 17);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_INIT_HCA, 0, 0), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_HCA, 0, 0), 0);
	prm_set64(in, 0x050, (UINT64_C(8) << 30) - (128 << 17) + 128 + 17);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_INIT_HCA, 0, 0), MLX4_STAT_BAD_PARAM);
	prm_set64(in, 0x050, UINT64_C(8) << 30 | 1);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_INIT_HCA, 0, 0), MLX4_STAT_BAD_PARAM);
}

static void
records_of_receive_queues(void **state)
{
	struct card *c = *state;
	uint64_t rec = card_alloc(c, 64, 64);

	for (uint32_t off = 0; off < 8; off++) {
		uint8_t *in = card_in(c);

		prm_set(in, MLX4_SRQC_LG_SIZE, 5);
		prm_set(in, MLX4_SRQC_SRQN, CARD_SRQN);
		prm_set64(in, MLX4_SRQC_DBREC, rec + off);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_SRQ, 0, CARD_SRQN),
				 off % 4 == 0 ? 0 : MLX4_STAT_BAD_PARAM);
		if (off % 4 == 0)
			assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_SRQ, 1, CARD_SRQN), 0);
	}
}

static void
sizes_of_completion_queues(void **state)
{
	static const uint32_t sizes[] = {9, 5, 1};
	struct card *c = *state;

	for (unsigned int i = 0; i < COUNT(sizes); i++) {
		uint32_t lg = sizes[i];
		uint64_t buf = card_alloc(c, 512 * 32, CARD_PAGE);

		/* Software has seen the entries that told of the sizes before. */
		prm_set32(card_ptr(c, c->cq_dbrec), 0, i);
		card_cq_ctx(c, card_in(c), buf, lg, CARD_EQN, 0);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_MODIFY_CQ, 0, CARD_CQN), 0);
		assert_int_equal(c->m->cq[CARD_CQN]->mask, (1u << lg) - 1);
	}
	card_expect_clean(c);
}

/* Each of the two checks of loopback needs its own bit and the one that says how to compare [DP 8.7]. */
static void
checks_of_sources(void **state)
{
	struct card *c = *state;

	for (unsigned int bits = 0; bits < 8; bits++) {
		uint8_t ctx[MLX4_QPC_SIZE] = {0}, *path = ctx + MLX4_QPC_PRI_PATH;
		uint64_t buf = card_alloc(c, card_qp_buf_size(6, 6, 4), CARD_PAGE);

		card_qp_ctx(c, ctx, CARD_QPN + bits, 1, buf, 6, 6, 4, card_alloc(c, 8, 8));
		prm_set(path, MLX4_PATH_F_MC_LB_CHECK, bits & 1);
		prm_set(path, MLX4_PATH_F_UC_LB_CHECK, bits >> 1 & 1);
		prm_set(path, MLX4_PATH_LB_BY_COUNTER, bits >> 2);
		assert_int_equal(card_qp_up(c, CARD_QPN + bits, ctx), 0);
		assert_int_equal(c->m->qp[CARD_QPN + bits]->lb_check_mc, (bits & 5) == 5);
		assert_int_equal(c->m->qp[CARD_QPN + bits]->lb_check_uc, (bits & 6) == 6);
	}
	card_expect_clean(c);
}

/* The text that software gives its node is the one that managers read. */
static void
name_of_the_node(void **state)
{
	struct card *c = *state;
	uint8_t *in = card_in(c);

	for (unsigned int i = 0; i < 64; i++)
		in[i] = (uint8_t)('A' + i % 26);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_NODE, 0, 1), 0);
	in = card_in(c);
	memcpy(in, "\x01\x01\x01\x01", 4);
	in[0x11] = 0x10;
	assert_int_equal(card_cmd(c, MLX4_CMD_MAD_IFC, 0, 1, c->in, c->out), 0);
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(card_out(c)[0x40 + i], 'A' + i % 26);
}

/* A port that can be both senses what it is told to, or what the far end of its wire is by its make or by its settings. */
static void
what_a_port_senses(void **state)
{
	static const struct {
		enum tp_port_type type[2];
		enum tp_sense sense[2];
		const char *wire;
		uint64_t senses[2]; /* 0 nothing, 1 InfiniBand, 2 Ethernet */
	} row[] = {
		{{TP_PORT_ETH, TP_PORT_IB}, {TP_SENSE_NONE, TP_SENSE_NONE}, "cross", {2, 1}},
		{{TP_PORT_AUTO, TP_PORT_AUTO}, {TP_SENSE_ETH, TP_SENSE_IB}, "cross", {2, 1}},
		{{TP_PORT_AUTO, TP_PORT_AUTO}, {TP_SENSE_NONE, TP_SENSE_ETH}, "cross", {0, 2}},
		{{TP_PORT_AUTO, TP_PORT_AUTO}, {TP_SENSE_WIRE, TP_SENSE_WIRE}, "cross", {0, 0}},
		{{TP_PORT_AUTO, TP_PORT_IB}, {TP_SENSE_WIRE, TP_SENSE_WIRE}, "cross", {1, 1}},
		{{TP_PORT_ETH, TP_PORT_AUTO}, {TP_SENSE_WIRE, TP_SENSE_WIRE}, "cross", {2, 2}},
		{{TP_PORT_AUTO, TP_PORT_AUTO}, {TP_SENSE_WIRE, TP_SENSE_WIRE}, "loopback", {0, 0}},
		{{TP_PORT_AUTO, TP_PORT_AUTO}, {TP_SENSE_WIRE, TP_SENSE_WIRE}, "none", {0, 0}},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		struct tp_model_config cfg;
		struct card *c;

		tp_model_config_default(&cfg);
		memcpy(cfg.port_type, row[i].type, sizeof(cfg.port_type));
		memcpy(cfg.sense, row[i].sense, sizeof(cfg.sense));
		c = card_new(&cfg);
		card_boot(c, CARD_DMFS);
		if (strcmp(row[i].wire, "cross") == 0)
			assert_int_equal(tp_model_wire_cross(c->m), 0);
		for (unsigned int p = 1; p <= 2; p++) {
			if (strcmp(row[i].wire, "loopback") == 0)
				assert_int_equal(tp_model_wire_loopback(c->m, p), 0);
			assert_int_equal(card_cmd_none(c, MLX4_CMD_SENSE_PORT, 0, p), 0);
			assert_int_equal(c->imm, row[i].senses[p - 1]);
		}
		/* An open port that can be both is what it was set to. */
		if (row[i].type[1] == TP_PORT_AUTO && row[i].sense[0] == TP_SENSE_WIRE &&
		    row[i].type[0] == TP_PORT_AUTO && strcmp(row[i].wire, "cross") == 0) {
			assert_int_equal(card_cmd_none(c, MLX4_CMD_INIT_PORT, 0, 2), 0);
			for (unsigned int ib = 0; ib < 2; ib++) {
				c->m->port[1].ib = ib;
				assert_int_equal(card_cmd_none(c, MLX4_CMD_SENSE_PORT, 0, 1), 0);
				assert_int_equal(c->imm, ib != 0 ? 1 : 2);
			}
			c->m->port[1].ib = false;
		}
		assert_int_equal(card_cmd_none(c, MLX4_CMD_SENSE_PORT, 0, 3), MLX4_STAT_BAD_INDEX);
		card_free(c);
	}
}

static void
a_port_without_history(void **state)
{
	static const struct tp_model_qos zero;
	struct card *c = *state;
	struct tp_model_qos q;

	memset(&q, 0xff, sizeof(q));
	assert_int_equal(tp_model_get_qos(c->m, 2, &q), 0);
	assert_int_equal(q.tx_managed, 0);
	assert_memory_equal(q.rx_waiting, zero.rx_waiting, sizeof(q.rx_waiting));
	assert_memory_equal(q.tx_queues, zero.tx_queues, sizeof(q.tx_queues));
	assert_memory_equal(q.rx_lossless_fill, zero.rx_lossless_fill, sizeof(q.rx_lossless_fill));
	assert_memory_equal(q.rx_pause, zero.rx_pause, sizeof(q.rx_pause));
}

int
main(void)
{
#define ON(f) cmocka_unit_test_setup_teardown(f, setup_power_on, teardown_card)
#define OBJ(f) cmocka_unit_test_setup_teardown(f, setup_objects, teardown_card)
	const struct CMUnitTest tests[] = {
		ON(bases_with_large_counts), OBJ(records_of_receive_queues), OBJ(sizes_of_completion_queues),
		OBJ(checks_of_sources),      OBJ(name_of_the_node),          cmocka_unit_test(what_a_port_senses),
		ON(a_port_without_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
