/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What a card takes though the reference advises against it: it works, is counted by name beside the violations, and violates
 * nothing. All of it is what a shipping driver does to real cards.
 */
#include <stdlib.h>

#include "harness.h"

#include "model/mem/mem.h"

static unsigned int lines[3]; /* by enum tp_model_line */

static void
count_line(void *arg, enum tp_model_line kind, const char *line)
{
	(void)arg, (void)line;
	lines[kind]++;
}

static struct card *
listen_to(void **state)
{
	struct card *c = *state;

	memset(lines, 0, sizeof(lines));
	tp_model_set_log(c->m, count_line, NULL);
	return c;
}

/* That advice was not followed once, and its text begins so. */
static void
advised(struct card *c, const char *name, const char *text)
{
	int i = tp_model_violation_by_name(name);
	char last[256];

	assert_true(i >= 0);
	assert_int_equal(tp_model_violation_class((unsigned int)i), TP_RULE_ADVICE);
	assert_int_equal(tp_model_violations(c->m, (unsigned int)i), 1);
	assert_int_equal(tp_model_advice_total(c->m), 1);
	assert_int_equal(tp_model_violations_total(c->m), 0);
	tp_model_last_violation(c->m, last, sizeof(last));
	assert_string_equal(last, "");
	tp_model_last_advice(c->m, last, sizeof(last));
	assert_memory_equal(last, text, strlen(text));
	assert_int_equal(lines[TP_LINE_ADVICE], 1);
	assert_int_equal(lines[TP_LINE_VIOLATION], 0);
}

static void
test_reset(void **state)
{
	struct card *c = listen_to(state);

	tp_model_bar0_write32(c->m, 0xf0010, 1);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_DEV_CAP, 0, 0), MLX4_STAT_BAD_SYS_STATE);
	assert_int_equal(tp_model_violations_total(c->m), 1); /* of the command, which shows that the reset was done */
	assert_int_equal(tp_model_advice_total(c->m), 1);
	assert_int_equal(card_violations(c, "reset-semaphore"), 1);
}

static void
test_steering_entry(void **state)
{
	struct card *c = listen_to(state);
	uint8_t *in;

	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_HCA, 0, 0), 0);
	in = card_in(c);
	card_fill_init_hca(c, in, 0);
	in[0xd3] = 6;
	assert_int_equal(card_cmd_in(c, MLX4_CMD_INIT_HCA, 0, 0), 0);
	advised(c, "steering-entry", "steering-entry: steering table 0x6: ");
	/* 64 bytes have room for 8 members behind the header of 32. */
	prm_set32(card_in(c), 4, 9);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_WRITE_MCG, 0, 1), MLX4_STAT_EXCEED_LIM);
	prm_set32(card_in(c), 4, 8);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_WRITE_MCG, 0, 1), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_HCA, 0, 0), 0);
	card_fill_init_hca(c, in, 0);
	in[0xd3] = 5;
	assert_int_equal(card_cmd_in(c, MLX4_CMD_INIT_HCA, 0, 0), MLX4_STAT_BAD_PARAM);
}

static void
test_event_mask(void **state)
{
	struct card *c = listen_to(state);

	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, UINT64_MAX, 0), 0);
	advised(c, "event-mask", "event-mask: MAP_EQ 0x4: mask 0xffffffffffffffff ");
}

/* Nothing is written to address 0 for a command whose answer nobody wants. */
static void
test_outbox(void **state)
{
	struct card *c = listen_to(state);
	uint8_t *low = aligned_alloc(4096, 4096);

	assert_non_null(low);
	memset(low, 0xa5, 4096);
	assert_int_equal(tp_model_dma_map(c->m, 0, 4096, low, TP_DMA_READ | TP_DMA_WRITE), 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_HW2SW_MPT, 0, CARD_MPT, 0, 0), 0);
	advised(c, "command-outbox", "command-outbox: HW2SW_MPT 0x100: ");
	for (unsigned int i = 0; i < 4096; i++)
		assert_int_equal(low[i], 0xa5);
	assert_int_equal(tp_model_dma_unmap(c->m, 0, 4096), 0);
	free(low);
}

static void
test_qp_number(void **state)
{
	struct card *c = listen_to(state);
	uint32_t high = CARD_QPN | 0x123u << CARD_LG_QPS;
	uint64_t buf = card_alloc(c, card_qp_buf_size(6, 6, 4), CARD_PAGE), rec = card_alloc(c, 8, 8);
	uint8_t ctx[MLX4_QPC_SIZE] = {0};

	card_qp_ctx(c, ctx, high, 1, buf, 6, 6, 4, rec);
	assert_int_equal(card_qp_up(c, high, ctx), 0);
	advised(c, "qp-number", "qp-number: QP 0x24640: ");
	assert_ptr_equal(tpm_qp_get(c->m, CARD_QPN), NULL);
	assert_int_equal(tpm_qp_get(c->m, high)->qpn, high);
	/* Its place is taken, for a number of other high bits and for one without. */
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_QP, 0, high), 0);
	assert_int_equal(card_out(c)[8] >> 4, MLX4_QP_RTS);
	card_qp_ctx(c, ctx, CARD_QPN, 1, buf, 6, 6, 4, rec);
	assert_int_equal(card_qp_step(c, MLX4_CMD_RST2INIT_QP, CARD_QPN, ctx), MLX4_STAT_BAD_RES_STATE);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_2RST_QP, 3, high), 0);
	assert_int_equal(card_qp_step(c, MLX4_CMD_RST2INIT_QP, CARD_QPN, ctx), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_2RST_QP, 3, 1u << 24 | CARD_QPN), MLX4_STAT_BAD_INDEX);
}

static void
test_path_link(void **state)
{
	struct card *c = listen_to(state);
	uint64_t buf = card_alloc(c, card_qp_buf_size(6, 6, 4), CARD_PAGE), rec = card_alloc(c, 8, 8);
	uint8_t ctx[MLX4_QPC_SIZE] = {0};

	card_qp_ctx(c, ctx, CARD_QPN, 1, buf, 6, 6, 4, rec);
	prm_set(ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_LINK_ETH, 0);
	assert_int_equal(card_qp_up(c, CARD_QPN, ctx), 0);
	assert_true(tpm_qp_get(c->m, CARD_QPN)->eth);
	advised(c, "path-link", "path-link: QP 0x40: ");
}

static void
test_pkey_table(void **state)
{
	struct tp_model_config cfg;
	struct card *c;

	tp_model_config_default(&cfg);
	cfg.port_type[0] = TP_PORT_IB;
	c = card_new(&cfg);
	state = (void **)&c;
	card_boot(c, 0);
	(void)listen_to(state);
	prm_set32(card_in(c), 0, 1u << 20);
	prm_set32(card_ptr(c, c->in), 0x28, 1u << 16);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 0, 1), 0);
	advised(c, "pkey-table", "pkey-table: port 0x1: 1 P_Keys");
	assert_int_equal(c->m->port[0].ibp.num_pkeys, 32);
	prm_set32(card_in(c), 0, 1u << 20);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 0, 1), MLX4_STAT_BAD_PARAM);
	card_free(c);
}

/* Answers end where their layouts do: what software keeps behind them in the same page stays. */
static void
test_answers_end(void **state)
{
	static const struct {
		uint16_t op;
		uint8_t op_mod;
		uint32_t in_mod, size;
	} q[] = {
		{MLX4_CMD_QUERY_FW, 0, 0, 0x100},       {MLX4_CMD_QUERY_DEV_CAP, 0, 0, 0x100},
		{MLX4_CMD_QUERY_ADAPTER, 0, 0, 0x100},  {MLX4_CMD_QUERY_PORT, 0, 1, 0x100},
		{MLX4_CMD_QUERY_HCA, 0, 0, 0x200},      {MLX4_CMD_QUERY_FUNC, 0, 0, 0x100},
		{MLX4_CMD_CONFIG_DEV, 1, 0, 0x100},     {MLX4_CMD_QUERY_IF_STAT, 0, 0, 0x100},
		{MLX4_CMD_QUERY_EQ, 0, CARD_EQN, 0x40}, {MLX4_CMD_QUERY_MPT, 0, CARD_MPT, 0x40},
	};
	struct card *c = listen_to(state);
	uint8_t *out = card_out(c);

	for (unsigned int i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
		memset(out, 0xa5, CARD_PAGE);
		assert_int_equal(card_cmd(c, q[i].op, q[i].op_mod, q[i].in_mod, 0, c->out), 0);
		assert_int_not_equal(out[q[i].size - 1], 0xa5);
		for (uint32_t at = q[i].size; at < CARD_PAGE; at++)
			assert_int_equal(out[at], 0xa5);
	}
}

/* A region of all addresses: its length of 64 bits would be 2^64. */
static void
test_all_addresses(void **state)
{
	struct card *c = listen_to(state);
	uint32_t key = (CARD_MPT + 1) << 8, len = 64;
	uint64_t at = card_alloc(c, 64, 64);
	struct tpm_tlb tlb = {0};
	enum tpm_xlat_err err;
	uint8_t *in = card_in(c);

	card_mr_ctx(c, in, key, 0, 0, true);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT + 1), MLX4_STAT_BAD_PARAM);
	card_mr_ctx(c, in, key, 0, 0, true);
	prm_set32(in, 0x28, 1u << 22);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT + 1), 0);
	assert_ptr_equal(tpm_mr_translate(c->m, &tlb, key, CARD_PD, at, &len, TPM_ACC_LR, &err), card_ptr(c, at));
	assert_int_equal(len, 64);
	card_expect(c, "cmd-param", 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reset, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_steering_entry, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_event_mask, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_outbox, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_qp_number, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_path_link, setup_objects, teardown_card),
		cmocka_unit_test(test_pkey_table),
		cmocka_unit_test_setup_teardown(test_answers_end, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_all_addresses, setup_objects, teardown_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
