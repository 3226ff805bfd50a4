/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Firmware commands as the registers see them [CP 2]: each dword, the order, both ways of waiting, each status, what is refused. */
#include <errno.h>
#include <stdlib.h>

#include "fake_card.h"

#define HCR 0x80680u
#define SHORT_MS 20u
#define THREADS 4u
#define ROUNDS 40u

static struct fake_card card;
static struct mlx4_hca *const hca = &card.hca;

static int
setup(void **state)
{
	fake_open(&card);
	card.any_modifier = true;
	return 0;
}

static int
teardown(void **state)
{
	fake_close(&card);
	return 0;
}

/* Six dwords, then the one that starts it; the toggle bit is set in the first command and in every other one. */
static void
test_registers(void **state)
{
	static const uint32_t order[] = {HCR, HCR + 4, HCR + 8, HCR + 12, HCR + 16, HCR + 20, HCR + 24};
	const struct fake_cmd *cmd;

	assert_int_equal(mlx4_cmd_imm(hca, MLX4_CMD_ARM_SRQ, 0xa, 0x12345678, UINT64_C(0xaabbccdd11223344), NULL), 0);
	cmd = fake_last(&card, 0x040);
	assert_int_equal(card.num_written, RTE_DIM(order));
	assert_memory_equal(card.written, order, sizeof(order));
	assert_int_equal(cmd->hcr[0], 0xaabbccdd);
	assert_int_equal(cmd->hcr[1], 0x11223344);
	assert_int_equal(cmd->hcr[2], 0x12345678);
	assert_int_equal(cmd->hcr[3], 0);
	assert_int_equal(cmd->hcr[4], 0);
	assert_int_equal(cmd->hcr[5], 0xffff0000);
	assert_int_equal(cmd->hcr[6], 1u << 23 | 1u << 21 | 0xa040);
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, NULL, 0, NULL, 0), 0);
	assert_int_equal(fake_last(&card, 0x031)->hcr[6], 1u << 23 | 0x031);
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, NULL, 0, NULL, 0), 0);
	assert_int_equal(fake_last(&card, 0x031)->hcr[6], 1u << 23 | 1u << 21 | 0x031);
	assert_int_equal(mlx4_cmd_count(hca), 3);
	/* A card after its reset has the bit clear again. */
	mlx4_cmd_after_reset(hca);
	memset(card.hcr, 0, sizeof(card.hcr));
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, NULL, 0, NULL, 0), 0);
	assert_int_equal(fake_last(&card, 0x031)->hcr[6], 1u << 23 | 1u << 21 | 0x031);
}

static void
test_immediate(void **state)
{
	uint64_t v = 7;

	fake_answer(&card, 0x04d, 1)->imm = UINT64_C(0x0102030405060708);
	fake_refuse(&card, 0x04d, 1, 0x03);
	assert_int_equal(mlx4_cmd_imm(hca, MLX4_CMD_SENSE_PORT, 0, 1, 0, &v), 0);
	assert_int_equal(v, UINT64_C(0x0102030405060708));
	/* What fails says nothing. */
	assert_int_equal(mlx4_cmd_imm(hca, MLX4_CMD_SENSE_PORT, 0, 1, 0, &v), -EINVAL);
	assert_int_equal(v, UINT64_C(0x0102030405060708));
}

/* A mailbox is a page of its own at each end; what the caller does not give, or the card not write, is zero. */
static void
test_mailboxes(void **state)
{
	uint8_t in[MLX4_MAILBOX_SIZE], out[300];
	const struct fake_cmd *cmd;
	uint64_t in_at, out_at, imm = 0;
	unsigned int i;

	memset(in, 0xa5, sizeof(in));
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_INIT_HCA, 0, 0, in, sizeof(in), NULL, 0), 0);
	cmd = fake_last(&card, 0x007);
	assert_memory_equal(cmd->box, in, sizeof(in));
	assert_int_equal(cmd->hcr[3] | cmd->hcr[4], 0);
	in_at = cmd->in_param;
	assert_int_equal(in_at % 4096, 0);
	/* Nothing of the one before is left behind the end. */
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_INIT_HCA, 0, 0, in, 5, NULL, 0), 0);
	FAKE_BOX(fake_last(&card, 0x007), {0, 0xa5a5a5a5}, {4, 0xa5000000});
	memset(fake_answer(&card, 0x004, 1)->box, 0x5a, 0x200);
	memset(out, 0x11, sizeof(out));
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_QUERY_FW, 0, 0, NULL, 0, out, 256), 0);
	for (i = 0; i < sizeof(out); i++)
		assert_int_equal(out[i], i < 256 ? 0x5a : 0x11);
	cmd = fake_last(&card, 0x004);
	out_at = (uint64_t)cmd->hcr[3] << 32 | cmd->hcr[4];
	assert_int_equal(out_at, in_at + 4096);
	assert_int_equal(cmd->in_param, 0);
	/* A card that writes nothing has written zeros, and one that refuses does not touch what the caller has. */
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_QUERY_FW, 0, 0, NULL, 0, out, 4), 0);
	fake_bytes_are(out, 4, NULL, 0);
	fake_refuse(&card, 0x004, 1, 1);
	memset(out, 0x11, sizeof(out));
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_QUERY_FW, 0, 0, NULL, 0, out, 256), -EIO);
	assert_int_equal(out[0], 0x11);
	/* A mailbox in, a number out. */
	fake_answer(&card, 0x065, 1)->imm = UINT64_C(0xfedcba9876543210);
	assert_int_equal(mlx4_cmd_mbox_imm(hca, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 3, 16, in, 64, &imm), 0);
	assert_int_equal(imm, UINT64_C(0xfedcba9876543210));
	cmd = fake_last(&card, 0x065);
	assert_int_equal(cmd->op_modifier, 3);
	assert_int_equal(cmd->in_modifier, 16);
	assert_memory_equal(cmd->box, in, 64);
	assert_int_equal(cmd->box[64], 0);
}

/* Status, what the call returns, and a word of what is said. */
static void
test_status(void **state)
{
	static const struct {
		uint8_t status;
		int rc;
		const char *word;
	} row[] = {
		{0x01, -EIO, "status 0x01: internal error"},   {0x02, -ENOTSUP, "0x02: operation not supported"},
		{0x03, -EINVAL, "0x03: bad parameter"},        {0x04, -ENXIO, "0x04: illegal in the current"},
		{0x05, -EBADF, "0x05: reserved or unknown"},   {0x06, -EBUSY, "0x06: resource in use"},
		{0x07, -EIO, "0x07: a status that is not"},    {0x08, -ENOSPC, "0x08: limit exceeded"},
		{0x09, -EBADF, "0x09: resource in the wrong"}, {0x0a, -EBADF, "0x0a: index out of range"},
		{0x0b, -EIO, "0x0b: bad flash content"},       {0x0c, -EIO, "0x0c: ICM not mapped"},
		{0x0d, -EACCES, "0x0d: no permission"},        {0x10, -EINVAL, "0x10: QP not in the state"},
		{0x20, -EINVAL, "0x20: bad segment"},          {0x21, -EBUSY, "0x21: memory windows"},
		{0x22, -EIO, "0x22: no local attached"},       {0x30, -EINVAL, "0x30: bad management"},
		{0x40, -ENOSPC, "0x40: size too small"},       {0x50, -EACCES, "0x50: another function"},
		{0xff, -EIO, "0xff: a status that is not"},
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		fake_refuse(&card, 0x031, 1, row[i].status);
		rig_log_begin();
		assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 2, 0xabc, NULL, 0, NULL, 0), row[i].rc);
		rig_log_one("fake0: command NOP (0x031), op_modifier 2, in_modifier 0xabc: ", row[i].word);
		assert_false(hca->dead);
	}
	assert_string_equal(mlx4_cmd_status_text(0), "success");
	assert_null(mlx4_cmd_describe(0x001));
	assert_string_equal(mlx4_cmd_describe(0xfff)->name, "MAP_FA");
}

/* What may fail is no line of its own; with level debug it is, as are the registers and the mailbox. */
static void
test_what_is_said(void **state)
{
	uint8_t in[40];
	unsigned int lines;
	char *text;

	memset(in, 0, sizeof(in));
	in[0] = 0xde, in[3] = 1, in[16] = 0xad, in[31] = 2, in[32] = 3;
	fake_refuse(&card, 0x007, FAKE_ALWAYS, 3);
	rig_log_begin();
	assert_int_equal(mlx4_cmd_try(hca, MLX4_CMD_INIT_HCA, 0, 0, in, sizeof(in), NULL, 0), -EINVAL);
	free(rig_log_end(&lines));
	assert_int_equal(lines, 0);
	rte_log_set_level((uint32_t)mlx4_logtype, RTE_LOG_DEBUG);
	rig_log_begin();
	assert_int_equal(mlx4_cmd_try(hca, MLX4_CMD_INIT_HCA, 1, 2, in, sizeof(in), NULL, 0), -EINVAL);
	text = rig_log_end(&lines);
	rte_log_set_level((uint32_t)mlx4_logtype, RTE_LOG_NOTICE);
	/* The refusal, seven dwords in two lines, and the whole lines of the mailbox. */
	assert_int_equal(lines, 1 + 3 + 3);
	assert_non_null(strstr(text, "in_modifier 0x2: status 0x03"));
	assert_non_null(strstr(text, "HCR:\n"));
	assert_non_null(strstr(text, " 00000002 00000000\n"));
	assert_non_null(strstr(text, "  010: 00000000 ffff0000 03001007 00000000\n"));
	assert_non_null(strstr(text, "in mailbox:\n"));
	assert_non_null(strstr(text, "  000: de000001 00000000 00000000 00000000\n"));
	assert_non_null(strstr(text, "  010: ad000000 00000000 00000000 00000002\n"));
	assert_null(strstr(text, "  020: "));
	free(text);
}

/* A mistake of a caller does not reach the card. */
static void
test_kinds(void **state)
{
	static uint8_t box[MLX4_MAILBOX_SIZE + 1];
	uint64_t imm;

	rig_log_begin();
	/* No mailbox where one is wanted, and the reverse. */
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_INIT_HCA, 0, 0, NULL, 0, NULL, 0), -EINVAL);
	rig_log_one("command INIT_HCA: wrong parameters", "in mailbox 0 bytes");
	rig_log_begin();
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, box, 4, NULL, 0), -EINVAL);
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, NULL, 0, box, 4), -EINVAL);
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_QUERY_FW, 0, 0, NULL, 0, NULL, 0), -EINVAL);
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_QUERY_FW, 0, 0, box, 4, box, 4), -EINVAL);
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_MAP_EQ, 0, 0, box, 4, NULL, 0), -EINVAL);
	/* Numbers. */
	assert_int_equal(mlx4_cmd_imm(hca, MLX4_CMD_NOP, 0, 0, 1, NULL), -EINVAL);
	assert_int_equal(mlx4_cmd_imm(hca, MLX4_CMD_NOP, 0, 0, 0, &imm), -EINVAL);
	assert_int_equal(mlx4_cmd_imm(hca, MLX4_CMD_MAP_EQ, 0, 0, 1, &imm), -EINVAL);
	assert_int_equal(mlx4_cmd_imm(hca, MLX4_CMD_SENSE_PORT, 0, 0, 1, &imm), -EINVAL);
	assert_int_equal(mlx4_cmd_mbox_imm(hca, MLX4_CMD_INIT_HCA, 0, 0, box, 4, &imm), -EINVAL);
	/* Longer than a page. */
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_INIT_HCA, 0, 0, box, sizeof(box), NULL, 0), -EINVAL);
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_QUERY_FW, 0, 0, NULL, 0, box, sizeof(box)), -EINVAL);
	free(rig_log_end(&(unsigned int){0}));
	assert_int_equal(card.num_cmds, 0);
	/* Either will do. */
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_MOD_STAT_CFG, 0, 0, box, 4, NULL, 0), 0);
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_MOD_STAT_CFG, 2, 0, NULL, 0, box, MLX4_MAILBOX_SIZE), 0);
	assert_int_equal(mlx4_cmd_imm(hca, MLX4_CMD_MOD_STAT_CFG, 3, 0, 1, &imm), 0);
	assert_int_equal(card.num_cmds, 3);
}

static unsigned int told_dead;

static void
on_dead(struct mlx4_hca *h)
{
	told_dead++;
}

/* No answer: the card is dead, said once, and gets no more commands. */
static void
test_no_answer(void **state)
{
	card.bus.cmd_timeout_ms = SHORT_MS;
	fake_answer(&card, 0x031, 1)->silent = true;
	told_dead = 0;
	hca->on_dead = on_dead;
	rig_log_begin();
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0x77, NULL, 0, NULL, 0), -ETIMEDOUT);
	rig_log_one("given up until it is reset: command NOP (0x031), in_modifier 0x77 was not answered",
		    "within 20 ms");
	assert_true(hca->dead);
	assert_int_equal(told_dead, 1);
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, NULL, 0, NULL, 0), -EIO);
	assert_int_equal(card.num_cmds, 1);
	mlx4_hca_mark_dead(hca, "again");
	assert_int_equal(told_dead, 1);
}

/* Registers that never get free: nothing is written into them. */
static void
test_busy_registers(void **state)
{
	card.bus.cmd_timeout_ms = SHORT_MS;
	card.hcr[6] = 1u << 23;
	rig_log_begin();
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, NULL, 0, NULL, 0), -ETIMEDOUT);
	rig_log_one("NOP", "not answered");
	assert_int_equal(card.num_written, 0);
	/* The bit of the command before: it is still at it. */
	hca->dead = false;
	card.hcr[6] = 1u << 21;
	rig_log_begin();
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, NULL, 0, NULL, 0), -ETIMEDOUT);
	rig_log_one("NOP", "not answered");
	assert_int_equal(card.num_written, 0);
}

/* A card that says itself that it failed is not waited for. */
static void
test_fatal_error(void **state)
{
	uint64_t t = rte_get_tsc_cycles();

	hca->caps.catas_off = 0x1f020;
	assert_false(mlx4_hca_catas(hca));
	card.catas = 0x80000000;
	assert_true(mlx4_hca_catas(hca));
	fake_answer(&card, 0x031, 1)->silent = true;
	card.bus.cmd_timeout_ms = 3600 * 1000;
	rig_log_begin();
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, NULL, 0, NULL, 0), -ETIMEDOUT);
	rig_log_one("it reports a fatal error in its error buffer", "fake0");
	assert_true(rte_get_tsc_cycles() - t < rte_get_tsc_hz() * 3600);
	/* Without a place for it nobody looks. */
	hca->caps.catas_off = 0;
	assert_false(mlx4_hca_catas(hca));
}

/* Registers that are free when it is too late do not make a command that was never written succeed. */
static void
test_free_too_late(void **state)
{
	hca->caps.catas_off = 0x1f020;
	card.catas = 1;
	card.catas_frees = true;
	card.hcr[6] = 1u << 23;
	card.bus.cmd_timeout_ms = 3600 * 1000;
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, NULL, 0, NULL, 0), -ETIMEDOUT);
	assert_int_equal(card.num_cmds, 0);
	assert_int_equal(mlx4_cmd_count(hca), 0);
}

static void
complete_late(struct mlx4_hca *h)
{
	uint8_t e[MLX4_EQE_SIZE] = {[1] = 0x0a, [15] = 0x03};
	uint16_t token = (uint16_t)(card.cmd[card.num_cmds - 1].hcr[5] >> 16);

	/* That of a command of the same slot before, and that of a slot that nobody uses. */
	e[6] = (uint8_t)((token - 16) >> 8), e[7] = (uint8_t)(token - 16);
	mlx4_cmd_completed(h, e);
	e[6] = (uint8_t)((token + 1) >> 8), e[7] = (uint8_t)(token + 1);
	mlx4_cmd_completed(h, e);
	fake_complete(h);
}

/* Completions as events: a token for each use of a slot, the result in the event, and NOP before anything else. */
static void
test_events(void **state)
{
	uint64_t v = 0;

	hca->caps.max_cmds = 4;
	assert_int_equal(mlx4_cmd_use_events(hca, complete_late), 0);
	assert_int_equal(fake_last(&card, 0x031)->hcr[6], 1u << 23 | 1u << 22 | 1u << 21 | 0x031);
	assert_int_equal(fake_last(&card, 0x031)->in_modifier, 0x1f);
	assert_int_equal(fake_last(&card, 0x031)->hcr[5], 16u << 16);
	fake_answer(&card, 0x04d, 1)->imm = UINT64_C(0x1122334455667788);
	assert_int_equal(mlx4_cmd_imm(hca, MLX4_CMD_SENSE_PORT, 0, 2, 0, &v), 0);
	assert_int_equal(v, UINT64_C(0x1122334455667788));
	assert_int_equal(fake_last(&card, 0x04d)->hcr[5], 32u << 16);
	fake_refuse(&card, 0x04d, 1, 0x06);
	assert_int_equal(mlx4_cmd_imm(hca, MLX4_CMD_SENSE_PORT, 0, 2, 0, &v), -EBUSY);
	assert_int_equal(fake_last(&card, 0x04d)->hcr[5], 48u << 16);
	mlx4_cmd_use_polling(hca);
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, NULL, 0, NULL, 0), 0);
	assert_int_equal(fake_last(&card, 0x031)->hcr[6] & 1u << 22, 0);
	assert_int_equal(fake_last(&card, 0x031)->hcr[5], 0xffff0000);
}

static void
complete_never(struct mlx4_hca *h)
{
	card.num_eqes = 0;
}

/* Events that do not come are found out by the first command. */
static void
test_no_events(void **state)
{
	card.bus.cmd_timeout_ms = SHORT_MS;
	assert_int_equal(mlx4_cmd_use_events(hca, complete_never), -ETIMEDOUT);
	assert_true(hca->dead);
	hca->dead = false;
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, NULL, 0, NULL, 0), 0);
	assert_int_equal(fake_last(&card, 0x031)->hcr[6] & 1u << 22, 0);
}

/* The completion of a command that was given up does not end a later one of the slot. */
static void
test_refused_by_event(void **state)
{
	fake_refuse(&card, 0x031, 1, 0x04);
	assert_int_equal(mlx4_cmd_use_events(hca, fake_complete), -ENXIO);
	assert_false(hca->dead);
	assert_int_equal(mlx4_cmd(hca, MLX4_CMD_NOP, 0, 0, NULL, 0, NULL, 0), 0);
	assert_int_equal(fake_last(&card, 0x031)->hcr[6] & 1u << 22, 0);
}

static void *
many(void *arg)
{
	uintptr_t i, me = (uintptr_t)arg;
	uint8_t in[8];

	for (i = 0; i < ROUNDS; i++) {
		prm_set64(in, 0, me << 32 | i);
		if (mlx4_cmd(hca, MLX4_CMD_SET_NODE, 0, (uint32_t)(me << 16 | i), in, sizeof(in), NULL, 0) != 0)
			return arg;
	}
	return NULL;
}

/* Threads share two slots: each command has its own mailbox and token, and no more than two are under way. */
static void
test_threads(void **state)
{
	bool seen[THREADS][ROUNDS] = {{false}};
	pthread_t t[THREADS];
	uintptr_t i;
	void *bad;

	hca->caps.max_cmds = 2;
	assert_int_equal(mlx4_cmd_use_events(hca, fake_complete), 0);
	fake_forget(&card);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, many, (void *)(i + 1)), 0);
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(t[i], &bad), 0);
		assert_null(bad);
	}
	assert_int_equal(card.num_cmds, THREADS * ROUNDS);
	assert_in_range(card.most_eqes, 1, 2);
	for (i = 0; i < card.num_cmds; i++) {
		uint32_t from = prm_get32(card.cmd[i].box, 0), n = prm_get32(card.cmd[i].box, 4);

		assert_int_equal(card.cmd[i].in_modifier, from << 16 | n);
		assert_in_range(from, 1, THREADS);
		assert_false(seen[from - 1][n]);
		seen[from - 1][n] = true;
		assert_in_range(card.cmd[i].hcr[5] >> 16 & 15, 0, 1);
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_registers),        T(test_immediate),     T(test_mailboxes), T(test_status),
		T(test_what_is_said),     T(test_kinds),         T(test_no_answer), T(test_busy_registers),
		T(test_fatal_error),      T(test_free_too_late), T(test_events),    T(test_no_events),
		T(test_refused_by_event), T(test_threads),
	};

	if (rig_eal("mlx4cmds", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
