/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Injected faults: every command of a bring-up fails once; timeouts; a dead card [CP 1.8, 2.5]. */
#include "harness.h"

#include <string.h>

#define BOOT_COMMANDS_MAX 500u

static void
start_over(struct card *c)
{
	(void)tp_model_bar0_read32(c->m, MLX4_REG_RESET_SEM);
	tp_model_bar0_write32(c->m, MLX4_REG_RESET, MLX4_RESET_VALUE);
	c->toggle = 1;
	c->used = 2 * CARD_PAGE;
	c->mtt_next = 0;
}

static int
boot(struct card *c)
{
	int st = card_start_fw(c);

	return st != MLX4_STAT_OK ? st : card_init_hca(c, CARD_DMFS);
}

static void
test_each_command_fails_once(void **state)
{
	struct card *c = *state;
	unsigned int n = 0;

	/* The nth command ends with an error that no check gives; the bring-up stops there and a reset repairs it. */
	while (n < BOOT_COMMANDS_MAX) {
		assert_int_equal(tp_model_fault(c->m, TP_FAULT_STATUS, 0, ++n, MLX4_STAT_BAD_NVMEM), 0);
		if (boot(c) == MLX4_STAT_OK)
			break;
		start_over(c);
	}
	/* QUERY_FW, MAP_FA x4, RUN_FW, SET_ICM_SIZE, MAP_ICM_AUX, MAP_ICM of 13 ranges ..., INIT_HCA, and then none. */
	assert_in_range(n, 20, BOOT_COMMANDS_MAX - 1);
	assert_int_equal(tp_model_fault(c->m, TP_FAULT_STATUS, 0, 0, 0), 0);
	start_over(c);
	assert_int_equal(boot(c), MLX4_STAT_OK);
	card_expect_clean(c);
}

static void
test_by_opcode(void **state)
{
	struct card *c = *state;

	assert_int_equal(tp_model_fault(c->m, TP_FAULT_STATUS, MLX4_CMD_NOP, 2, MLX4_STAT_INTERNAL_ERR), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_NOP, 0, 0), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_FW, 0, 0), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_NOP, 0, 0), MLX4_STAT_INTERNAL_ERR);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_NOP, 0, 0), 0);
	assert_int_equal(tp_model_fault(c->m, TP_FAULT_STATUS, 0x7ff, 1, 1), -22);
	assert_int_equal(tp_model_fault(c->m, TP_FAULT_STATUS, 0, 1, 0), -22);
}

static void
test_timeout(void **state)
{
	struct card *c = *state;

	assert_int_equal(tp_model_fault(c->m, TP_FAULT_TIMEOUT, MLX4_CMD_NOP, 1, 0), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_NOP, 0, 0), -1);
	assert_int_equal(tp_model_bar0_read32(c->m, MLX4_REG_CATAS_TYPICAL), 0);
	start_over(c);
	assert_int_equal(boot(c), MLX4_STAT_OK);
}

static void
test_catastrophic(void **state)
{
	struct card *c = *state;

	card_objects(c);
	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, UINT64_C(1) << 8, 0), 0);
	assert_int_equal(tp_model_fault(c->m, TP_FAULT_CATAS, 0, 1, 0), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_NOP, 0, 0), -1);
	assert_int_not_equal(tp_model_bar0_read32(c->m, MLX4_REG_CATAS_TYPICAL), 0);
	assert_int_equal(card_ptr(c, c->eq_buf)[1], 0x08);
	start_over(c);
	assert_int_equal(tp_model_bar0_read32(c->m, MLX4_REG_CATAS_TYPICAL), 0);
	assert_int_equal(boot(c), MLX4_STAT_OK);
}

static int logged[3]; /* by enum tp_model_line */

static void
count_lines(void *arg, enum tp_model_line kind, const char *line)
{
	assert_true(strlen(line) > 0);
	logged[kind]++;
	(void)arg;
}

static void
test_registry(void **state)
{
	struct card *c = *state;
	unsigned int n = tp_model_violation_count();
	char last[256];

	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(tp_model_violation_by_name(tp_model_violation_name(i)), i); /* so names differ */
		assert_true(strlen(tp_model_violation_text(i)) > 10);
	}
	assert_int_equal(tp_model_violation_by_name("no-such-rule"), -1);
	assert_null(tp_model_violation_name(n));
	tp_model_last_violation(c->m, last, sizeof(last));
	assert_string_equal(last, "");
	tp_model_set_log(c->m, count_lines, NULL);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_CQ, 0, 5), MLX4_STAT_BAD_INDEX);
	tp_model_last_violation(c->m, last, sizeof(last));
	assert_string_equal(last, "cmd-index: CQ 0x5: wanted 0x80..0x1ff");
	assert_int_equal(logged[TP_LINE_VIOLATION], 1);
	assert_int_equal(logged[TP_LINE_NOTE], 1); /* and the command that failed */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_command_fails_once, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_by_opcode, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_timeout, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_catastrophic, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_registry, setup_booted, teardown_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
