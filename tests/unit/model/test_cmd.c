/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Bring-up, teardown, and the command interface's own rules. Expected numbers are from [CP 2, 3]. */
#include "harness.h"

#include <string.h>

static void
test_boot_and_teardown(void **state)
{
	struct card *c = *state;
	struct tp_model_stats st;

	card_boot(c, CARD_DMFS);
	tp_model_get_stats(c->m, &st);
	assert_int_equal(st.fw_pages, 1024);
	assert_true(st.icm_pages > 0);
	assert_int_equal(card_shutdown(c), MLX4_STAT_OK);
	tp_model_get_stats(c->m, &st);
	assert_int_equal(st.fw_pages + st.icm_pages + st.aux_pages, 0);
	assert_int_equal(st.commands_failed, 0);
	card_expect_clean(c);
	card_boot(c, 0);
	card_expect_clean(c);
}

static void
test_query_fw(void **state)
{
	struct card *c = *state;
	const uint8_t *o = card_out(c);

	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_FW, 0, 0), 0);
	/* Bytes 2..7: 2.42.5000 with the subminor before the minor; revision 3 at 0x0a. */
	assert_memory_equal(o + 2, "\x00\x02\x13\x88\x00\x2a", 6);
	assert_memory_equal(o + 0x0a, "\x00\x03", 2);
	assert_memory_equal(o + 0x30, "\0\0\0\0\0\x01\xf0\x20", 8); /* error buffer ... */
	assert_memory_equal(o + 0x38, "\0\0\0\x10", 4);             /* ... of 16 dwords */
}

static void
test_dev_cap(void **state)
{
	struct card *c = *state;
	const uint8_t *o = card_out(c);

	card_boot(c, CARD_DMFS);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_DEV_CAP, 0, 0), 0);
	assert_int_equal(o[0x12] & 0xf, 6);               /* 64 reserved QPs */
	assert_int_equal(o[0x22] & 0xf, 8);               /* 256 reserved MPTs */
	assert_int_equal(o[0x1a] & 0xf, 7);               /* 128 reserved CQs */
	assert_int_equal(o[0x37] & 0xf, 2);               /* ports */
	assert_int_equal(o[0x49] & 0x3f, 2);              /* 4 MiB of UARs */
	assert_int_equal(o[0x76] & 0x80, 0x80);           /* flow steering */
	assert_memory_equal(o + 0x82, "\x01\x00", 2);     /* QPC entries of 256 bytes */
	assert_memory_equal(o + 0x92, "\x00\x40", 2);     /* dMPT entries of 64 bytes */
	assert_true((prm_get64(o, 0x40) >> 48 & 1) == 1); /* counters ... */
	assert_int_equal(prm_get32(o, 0x68), 256);        /* ... 256 of them */
}

/* The Pro offers tunnels and takes their settings; the other card does neither. */
static void
test_vxlan(void **state)
{
	static const uint16_t kind[] = {MLX4_PCI_DEV_CX3, MLX4_PCI_DEV_CX3_PRO};
	struct tp_model_config cfg;
	struct card *c;
	uint8_t *in;

	(void)state;
	tp_model_config_default(&cfg);
	for (unsigned int i = 0; i < 2; i++) {
		cfg.device_id = kind[i];
		c = card_new(&cfg);
		card_boot(c, CARD_DMFS);
		assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_DEV_CAP, 0, 0), 0);
		assert_int_equal(prm_get32(card_out(c), 0x9c) >> 11 & 1, i);
		in = card_in(c);
		in[4] = 0xc0; /* modify enable and steering */
		in[6] = 0x80;
		assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 0xb << 8 | 1), MLX4_STAT_BAD_PARAM);
		in[7] = 0x01;
		assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 0xb << 8 | 1),
				 i == 1 ? MLX4_STAT_OK : MLX4_STAT_BAD_PARAM);
		in = card_in(c);
		in[3] = 0x01;
		memcpy(in + 0x10, "\x12\xb5", 2);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_CONFIG_DEV, 0, 0),
				 i == 1 ? MLX4_STAT_OK : MLX4_STAT_BAD_PARAM);
		card_free(c);
	}
}

static void
test_states(void **state)
{
	struct card *c = *state;

	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_DEV_CAP, 0, 0), MLX4_STAT_BAD_SYS_STATE);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_RUN_FW, 0, 0), MLX4_STAT_BAD_SYS_STATE); /* no pages given */
	assert_int_equal(card_start_fw(c), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_RUN_FW, 0, 0), MLX4_STAT_BAD_SYS_STATE);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_CQ, 0, 128), MLX4_STAT_BAD_SYS_STATE);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MAP_ICM, 0, 1), MLX4_STAT_BAD_SYS_STATE); /* no SET_ICM_SIZE */
	assert_int_equal(card_cmd_in(c, MLX4_CMD_INIT_HCA, 0, 0), MLX4_STAT_BAD_SYS_STATE);
	card_expect(c, "cmd-state", 6);
	assert_int_equal(card_init_hca(c, 0), 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_INIT_HCA, 0, 0), MLX4_STAT_BAD_SYS_STATE);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_UNMAP_FA, 0, 0), MLX4_STAT_BAD_SYS_STATE);
	card_expect(c, "cmd-state", 8);
}

static void
test_unknown(void **state)
{
	struct card *c = *state;

	assert_int_equal(card_cmd_none(c, 0x7ff, 0, 0), MLX4_STAT_BAD_OP);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_GEN_EQE, 0, 0), MLX4_STAT_BAD_OP);
	card_expect(c, "cmd-unknown", 2);
}

static void
test_mailboxes(void **state)
{
	struct card *c = *state;

	assert_int_equal(card_cmd(c, MLX4_CMD_QUERY_FW, 0, 0, 0, c->out + 8), MLX4_STAT_BAD_PARAM);
	card_expect(c, "mailbox-align", 1);
	assert_int_equal(card_cmd(c, MLX4_CMD_QUERY_FW, 0, 0, 0, 0x1000), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_violations(c, "dma-unmapped"), 1);
}

static void
test_init_hca_checks(void **state)
{
	struct card *c = *state;
	static const struct {
		uint32_t field, value;
		int status;
	} wrong[] = {
		{MLX4_HCA_VERSION, 1, MLX4_STAT_BAD_PARAM},   {MLX4_HCA_LG_QPS, 20, MLX4_STAT_EXCEED_LIM},
		{MLX4_HCA_LG_UARS, 11, MLX4_STAT_EXCEED_LIM}, {MLX4_HCA_CQE_STRIDE, 1, MLX4_STAT_BAD_PARAM},
		{MLX4_HCA_LG_EQS, 10, MLX4_STAT_EXCEED_LIM},  {MLX4_HCA_DMFS_LG_ENTRY, 6, MLX4_STAT_BAD_PARAM},
	};

	assert_int_equal(card_start_fw(c), 0);
	assert_int_equal(card_init_hca(c, CARD_DMFS), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_HCA, 0, 0), 0);
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		card_fill_init_hca(c, card_in(c), CARD_DMFS);
		prm_set(card_ptr(c, c->in), wrong[i].field, wrong[i].value);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_INIT_HCA, 0, 0), wrong[i].status);
	}
	assert_int_equal(card_violations(c, "cmd-limit"), 3);
	assert_int_equal(card_violations(c, "cmd-param"), 3);
	card_fill_init_hca(c, card_in(c), CARD_DMFS);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_INIT_HCA, 0, 0), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_HCA, 0, 0), 0);
	assert_int_equal(card_out(c)[0x37] & 0x1f, CARD_LG_QPS);
	assert_memory_equal(card_out(c) + 0x0c, "\x01\xab", 2); /* 427 MHz */
}

static void
test_close_with_objects(void **state)
{
	struct card *c = *state;
	struct tp_model_stats st;

	card_boot(c, CARD_DMFS);
	card_objects(c);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_HCA, 0, 0), 0);
	card_expect(c, "cmd-resource-busy", 1);
	tp_model_get_stats(c->m, &st);
	assert_int_equal(st.cqs + st.eqs + st.mpts, 0);
}

static void
test_event_completion(void **state)
{
	struct card *c = *state;
	const uint8_t *eqe;

	card_boot(c, CARD_DMFS);
	card_objects(c);
	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, UINT64_C(1) << MLX4_EVENT_CMD, 0), 0);
	tp_model_bar0_write32(c->m, MLX4_REG_HCR + MLX4_HCR_TOKEN, 0x12340000);
	tp_model_bar0_write32(c->m, MLX4_REG_HCR + MLX4_HCR_CTRL, MLX4_HCR_GO | MLX4_HCR_EVENT | MLX4_CMD_NOP);
	eqe = card_ptr(c, c->eq_buf);
	assert_int_equal(eqe[0x01], 0x0a);
	assert_memory_equal(eqe + 6, "\x12\x34", 2);
	assert_int_equal(eqe[0x0f], 0);
	assert_int_equal(eqe[0x1f] & 0x80, 0);
	assert_int_equal(tp_model_bar0_read32(c->m, MLX4_REG_HCR + MLX4_HCR_CTRL) & MLX4_HCR_GO, 0);
	card_expect_clean(c);
	/* Without an EQ for it the completion has nowhere to go. */
	tp_model_bar0_write32(c->m, MLX4_REG_HCR + MLX4_HCR_CTRL, MLX4_HCR_GO | MLX4_CMD_NOP);
	assert_int_equal(
		card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN | MLX4_MAP_EQ_UNMAP, UINT64_C(1) << MLX4_EVENT_CMD, 0), 0);
	tp_model_bar0_write32(c->m, MLX4_REG_HCR + MLX4_HCR_CTRL, MLX4_HCR_GO | MLX4_HCR_EVENT | MLX4_CMD_NOP);
	card_expect(c, "cmd-event", 1);
}

static void
test_counts(void *arg, const char *name, uint64_t count)
{
	uint64_t *nop = arg;

	if (strcmp(name, "NOP") == 0)
		*nop = count;
}

static void
test_command_counters(void **state)
{
	struct card *c = *state;
	uint64_t nop = 0;

	card_boot(c, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(card_cmd_none(c, MLX4_CMD_NOP, 0, 0x1f), 0);
	tp_model_each_command(c->m, test_counts, &nop);
	assert_int_equal(nop, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_boot_and_teardown, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_query_fw, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_dev_cap, setup_power_on, teardown_card),
		cmocka_unit_test(test_vxlan),
		cmocka_unit_test_setup_teardown(test_states, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_unknown, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_mailboxes, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_init_hca_checks, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_close_with_objects, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_event_completion, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_command_counters, setup_power_on, teardown_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
