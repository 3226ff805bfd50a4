/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The QP state machine and contexts [CP 3.1, 5.4 .. 5.13]. */
#include "harness.h"

#include <string.h>

#include "model/card/model_priv.h"
#include "model/cmd/cmd.h"
#include "model/qos/qos.h"

static uint8_t ctx[MLX4_QPC_SIZE];

static void
make_ctx(struct card *c, uint32_t qpn, unsigned int port)
{
	uint64_t buf = card_alloc(c, card_qp_buf_size(6, 6, 4), CARD_PAGE);

	memset(ctx, 0, sizeof(ctx));
	card_qp_ctx(c, ctx, qpn, port, buf, 6, 6, 4, card_alloc(c, 8, 8));
}

static uint32_t
state_of(struct card *c, uint32_t qpn)
{
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_QP, 0, qpn), 0);
	return card_out(c)[8] >> 4;
}

static void
test_up_and_down(void **state)
{
	static const struct {
		uint16_t op;
		uint8_t to;
	} walk[] = {
		{MLX4_CMD_RST2INIT_QP, 1}, {MLX4_CMD_INIT2INIT_QP, 1}, {MLX4_CMD_INIT2RTR_QP, 2},
		{MLX4_CMD_RTR2RTS_QP, 3},  {MLX4_CMD_RTS2RTS_QP, 3},   {MLX4_CMD_RTS2SQD_QP, 5},
		{MLX4_CMD_SQD2SQD_QP, 5},  {MLX4_CMD_SQD2RTS_QP, 3},   {MLX4_CMD_2ERR_QP, 6},
	};
	struct card *c = *state;

	make_ctx(c, CARD_QPN, 1);
	assert_int_equal(state_of(c, CARD_QPN), 0);
	for (unsigned int i = 0; i < sizeof(walk) / sizeof(walk[0]); i++) {
		assert_int_equal(card_qp_step(c, walk[i].op, CARD_QPN, ctx), 0);
		assert_int_equal(state_of(c, CARD_QPN), walk[i].to);
	}
	for (uint8_t op_mod = 0; op_mod < 4; op_mod++)
		assert_int_equal(card_cmd_none(c, MLX4_CMD_2RST_QP, op_mod, CARD_QPN), 0);
	assert_int_equal(state_of(c, CARD_QPN), 0);
	card_expect_clean(c);
}

static void
test_wrong_transitions(void **state)
{
	static const uint16_t ops[] = {MLX4_CMD_RST2INIT_QP, MLX4_CMD_INIT2INIT_QP, MLX4_CMD_INIT2RTR_QP,
				       MLX4_CMD_RTR2RTS_QP,  MLX4_CMD_RTS2RTS_QP,   MLX4_CMD_SQERR2RTS_QP,
				       MLX4_CMD_RTS2SQD_QP,  MLX4_CMD_SQD2SQD_QP,   MLX4_CMD_SQD2RTS_QP,
				       MLX4_CMD_2ERR_QP};
	/* Which of them each state allows, as bits in the order above. */
	static const uint16_t allowed[] = {0x001, 0x206, 0x208, 0x250};
	static const uint16_t up[] = {MLX4_CMD_RST2INIT_QP, MLX4_CMD_INIT2RTR_QP, MLX4_CMD_RTR2RTS_QP};
	struct card *c = *state;
	uint64_t wrong = 0;

	make_ctx(c, CARD_QPN, 1);
	for (unsigned int s = 0; s < 4; s++) {
		for (unsigned int i = 0; i < 10; i++) {
			if ((allowed[s] >> i & 1) != 0)
				continue;
			assert_int_equal(card_qp_step(c, ops[i], CARD_QPN, ctx), MLX4_STAT_BAD_QP_STATE);
			card_expect(c, "cmd-qp-state", ++wrong);
		}
		assert_int_equal(state_of(c, CARD_QPN), s);
		if (s < 3)
			assert_int_equal(card_qp_step(c, up[s], CARD_QPN, ctx), 0);
	}
}

static void
test_query_reads_back(void **state)
{
	struct card *c = *state;
	const uint8_t *o = card_out(c) + 8;

	make_ctx(c, CARD_QPN, 2);
	assert_int_equal(card_qp_up(c, CARD_QPN, ctx), 0);
	assert_int_equal(state_of(c, CARD_QPN), 3);
	assert_int_equal(o[0x08], 0xff);
	assert_int_equal(o[0x0a], 6 << 3 | 2);
	assert_int_equal(o[0x18 + 0x20], 0xc3); /* port 2, priority 0 */
	assert_memory_equal(o + 0x9c, ctx + 0x9c, 12);
	assert_memory_equal(card_ptr(c, c->qpc_mem + CARD_QPN * 256) + 4, ctx + 4, 16);
}

static void
test_context_checks(void **state)
{
	static const struct {
		uint32_t field, value;
		int status;
		const char *rule;
	} wrong[] = {
		{MLX4_QPC_SERVICE, MLX4_QP_ST_RD, MLX4_STAT_BAD_PARAM, "cmd-param"},
		{MLX4_QPC_LOCAL_QPN, CARD_QPN + 1, MLX4_STAT_BAD_PARAM, "cmd-param"},
		{MLX4_QPC_SRQ_VALID, 1, MLX4_STAT_BAD_RESOURCE, "cmd-index"},
		{MLX4_QPC_UAR, 5, MLX4_STAT_BAD_PARAM, "cmd-limit"},
		{MLX4_QPC_SQ_LG_SIZE, 15, MLX4_STAT_EXCEED_LIM, "cmd-limit"},
		{MLX4_QPC_SQ_LG_STRIDE, 1, MLX4_STAT_BAD_PARAM, "cmd-param"},
		{MLX4_QPC_CQN_SEND, CARD_CQN + 1, MLX4_STAT_BAD_RESOURCE, "cmd-index"},
		{MLX4_QPC_CQN_RECV, 0x1000, MLX4_STAT_BAD_RESOURCE, "cmd-index"},
		{MLX4_QPC_MTT_L, 0x1fff8, MLX4_STAT_ICM_ERROR, "mtt-absent"},
	};
	struct card *c = *state;

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint64_t before = card_violations(c, wrong[i].rule);

		make_ctx(c, CARD_QPN, 1);
		prm_set(ctx, wrong[i].field, wrong[i].value);
		assert_int_equal(card_qp_step(c, MLX4_CMD_RST2INIT_QP, CARD_QPN, ctx), wrong[i].status);
		assert_int_equal(card_violations(c, wrong[i].rule), before + 1);
		assert_int_equal(state_of(c, CARD_QPN), 0);
	}
	assert_int_equal(card_qp_step(c, MLX4_CMD_RST2INIT_QP, 63, ctx), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_qp_step(c, MLX4_CMD_RST2INIT_QP, 1u << CARD_LG_QPS, ctx), MLX4_STAT_BAD_INDEX);
}

static void
test_cq_in_use(void **state)
{
	struct card *c = *state;

	make_ctx(c, CARD_QPN, 1);
	assert_int_equal(card_qp_up(c, CARD_QPN, ctx), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_CQ, 1, CARD_CQN), MLX4_STAT_RESOURCE_BUSY);
	card_expect(c, "cmd-resource-busy", 1);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_2RST_QP, 2, CARD_QPN), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_CQ, 1, CARD_CQN), 0);
}

static void
test_port_of_a_one_port_card(void **state)
{
	struct tp_model_config cfg;
	struct card *c;

	(void)state;
	tp_model_config_default(&cfg);
	cfg.num_ports = 1;
	c = card_new(&cfg);
	card_boot(c, CARD_DMFS);
	card_objects(c);
	make_ctx(c, CARD_QPN, 2);
	assert_int_equal(card_qp_up(c, CARD_QPN, ctx), MLX4_STAT_BAD_PARAM);
	card_expect(c, "cmd-param", 1);
	assert_int_equal(state_of(c, CARD_QPN), 1);
	card_free(c);
}

static void
rss_ctx(struct card *c, uint32_t qpn, uint32_t base, uint32_t lg)
{
	make_ctx(c, qpn, 1);
	prm_set(ctx, MLX4_QPC_RSS, 1);
	prm_set32(ctx, 0x3c, lg << 24 | base);
	prm_set32(ctx, 0x40, base);
	prm_set32(ctx, 0x70, base);
}

static void
test_rss_parent(void **state)
{
	struct card *c = *state;

	for (uint32_t i = 0; i < 4; i++) {
		make_ctx(c, CARD_QPN + i, 1);
		assert_int_equal(card_qp_up(c, CARD_QPN + i, ctx), 0);
	}
	rss_ctx(c, CARD_QPN + 8, CARD_QPN, 2);
	assert_int_equal(card_qp_up(c, CARD_QPN + 8, ctx), 0);
	card_expect_clean(c);
	assert_int_equal(state_of(c, CARD_QPN + 8), 3);
	assert_int_equal(prm_get32(card_out(c) + 8, 0x3c), 2u << 24 | CARD_QPN);
	rss_ctx(c, CARD_QPN + 9, CARD_QPN + 1, 2); /* not aligned to four */
	assert_int_equal(card_qp_up(c, CARD_QPN + 9, ctx), MLX4_STAT_BAD_PARAM);
	rss_ctx(c, CARD_QPN + 12, CARD_QPN + 1, 1); /* nor to two, though both are there */
	assert_int_equal(card_qp_up(c, CARD_QPN + 12, ctx), MLX4_STAT_BAD_PARAM);
	rss_ctx(c, CARD_QPN + 10, CARD_QPN, 3); /* rings 4..7 do not exist */
	assert_int_equal(card_qp_up(c, CARD_QPN + 10, ctx), MLX4_STAT_BAD_PARAM);
	rss_ctx(c, CARD_QPN + 11, 0, 8);
	assert_int_equal(card_qp_up(c, CARD_QPN + 11, ctx), MLX4_STAT_EXCEED_LIM);
	card_expect(c, "rss-range", 4);
}

static void
test_update(void **state)
{
	struct card *c = *state;
	uint8_t *in;

	make_ctx(c, CARD_QPN, 1);
	assert_int_equal(card_qp_up(c, CARD_QPN, ctx), 0);
	in = card_in(c);
	prm_set64(in, 0, UINT64_C(1) << 33);
	prm_set64(in, 8, UINT64_C(1) << 47);
	in[0x20 + 0xc0] = 0x40;
	in[0x20 + 0x18 + 4] = 17;
	assert_int_equal(card_cmd_in(c, MLX4_CMD_UPDATE_QP, 0, CARD_QPN), 0);
	assert_int_equal(state_of(c, CARD_QPN), 3);
	assert_int_equal(card_out(c)[8 + 0xc0], 0x40);
	assert_int_equal(card_out(c)[8 + 0x18 + 4], 17);
	card_expect_clean(c);
	/* Rates of 100 Mb/s and 4000 kb/s; 500 kb/s and 41 Gb/s are outside of what QUERY_DEV_CAP says. */
	prm_set64(in, 0, UINT64_C(1) << 35);
	prm_set(in + 0x20, MLX4_QPC_RATE_UNIT, 2);
	prm_set(in + 0x20, MLX4_QPC_RATE_VALUE, 100);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_UPDATE_QP, 0, CARD_QPN), 0);
	assert_int_equal(c->m->qp[CARD_QPN]->rate_kbps, 100000);
	prm_set(in + 0x20, MLX4_QPC_RATE_UNIT, 1);
	prm_set(in + 0x20, MLX4_QPC_RATE_VALUE, 4000);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_UPDATE_QP, 0, CARD_QPN), 0);
	prm_set(in + 0x20, MLX4_QPC_RATE_VALUE, 500);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_UPDATE_QP, 0, CARD_QPN), MLX4_STAT_EXCEED_LIM);
	prm_set(in + 0x20, MLX4_QPC_RATE_UNIT, 3);
	prm_set(in + 0x20, MLX4_QPC_RATE_VALUE, 41);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_UPDATE_QP, 0, CARD_QPN), MLX4_STAT_EXCEED_LIM);
	assert_int_equal(c->m->qp[CARD_QPN]->rate_kbps, 4000);
	assert_true(c->m->port[0].tx_managed);
	card_expect(c, "cmd-limit", 2);
	/* The port is paced as long as a queue pair is. */
	for (unsigned int i = 0; i < 2; i++) {
		prm_set(in + 0x20, MLX4_QPC_RATE_UNIT, 0);
		prm_set(in + 0x20, MLX4_QPC_RATE_VALUE, 0);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_UPDATE_QP, 0, CARD_QPN), 0);
		assert_int_equal(c->m->qp[CARD_QPN]->rate_kbps, 0);
		assert_int_equal(c->m->port[0].qos->rated_qps, 0);
		assert_false(c->m->port[0].tx_managed);
	}
	prm_set(in + 0x20, MLX4_QPC_RATE_UNIT, 2);
	prm_set(in + 0x20, MLX4_QPC_RATE_VALUE, 100);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(card_cmd_in(c, MLX4_CMD_UPDATE_QP, 0, CARD_QPN), 0);
		assert_int_equal(c->m->port[0].qos->rated_qps, 1);
		assert_true(c->m->port[0].tx_managed);
	}
	prm_set64(in, 0, UINT64_C(1) << 34); /* QoS by virtual port is not offered */
	assert_int_equal(card_cmd_in(c, MLX4_CMD_UPDATE_QP, 0, CARD_QPN), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_UPDATE_QP, 0, CARD_QPN + 1), MLX4_STAT_BAD_QP_STATE);
	assert_int_equal(card_violations(c, "cmd-qp-state"), 1);
}

static void
test_special_qps(void **state)
{
	struct card *c = *state;

	assert_int_equal(card_cmd_none(c, MLX4_CMD_CONF_SPECIAL_QP, 0, 128), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CONF_SPECIAL_QP, 0, 0), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CONF_SPECIAL_QP, 0, 129), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CONF_SPECIAL_QP, 0, 8), MLX4_STAT_BAD_INDEX);
	card_expect(c, "cmd-index", 2);
}

/* A queue pair without a receive ring has its send ring at the beginning, whatever the stride of the other would be. */
static void
test_layout(void **state)
{
	uint8_t q[MLX4_QPC_SIZE] = {0};
	uint32_t sq = 7, rq = 7;

	(void)state;
	prm_set(q, MLX4_QPC_SQ_LG_SIZE, 4);
	prm_set(q, MLX4_QPC_SQ_LG_STRIDE, 2);
	prm_set(q, MLX4_QPC_RQ_LG_SIZE, 3);
	prm_set(q, MLX4_QPC_RQ_LG_STRIDE, 3);
	assert_int_equal(tpm_qpc_layout(q, &sq, &rq), 16 * 64);
	assert_int_equal(sq, 0);
	prm_set(q, MLX4_QPC_SQ_LG_SIZE, 0);
	assert_int_equal(tpm_qpc_layout(q, &sq, &rq), 0);
	/* With one the ring of larger strides comes first. */
	prm_set64(q, MLX4_QPC_DBREC, 64);
	prm_set(q, MLX4_QPC_SQ_LG_SIZE, 4);
	assert_int_equal(tpm_qpc_layout(q, &sq, &rq), 16 * 64 + 8 * 128);
	assert_int_equal(rq, 0);
	assert_int_equal(sq, 8 * 128);
	prm_set(q, MLX4_QPC_RQ_LG_STRIDE, 2);
	assert_int_equal(tpm_qpc_layout(q, &sq, &rq), 16 * 64 + 8 * 64);
	assert_int_equal(sq, 0);
	assert_int_equal(rq, 16 * 64);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_up_and_down, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_wrong_transitions, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_query_reads_back, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_context_checks, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_cq_in_use, setup_objects, teardown_card),
		cmocka_unit_test(test_port_of_a_one_port_card),
		cmocka_unit_test_setup_teardown(test_rss_parent, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_update, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_special_qps, setup_objects, teardown_card),
		cmocka_unit_test(test_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
