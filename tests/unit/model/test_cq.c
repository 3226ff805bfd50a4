/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Completion and shared receive queues by command [CP 5.2, 5.3, DP 6.5, 6.7]. */
#include "harness.h"

#include "model/event/event.h"

static void
test_ring_is_initialised(void **state)
{
	struct card *c = *state;
	const uint8_t *ring = card_ptr(c, c->cq_buf);

	for (unsigned int i = 0; i < 256; i++)
		assert_int_equal(ring[i * 32 + 0x1f] & 0x80, 0x80);
}

static void
test_software_initialised(void **state)
{
	struct card *c = *state;
	uint64_t buf = card_alloc(c, 4096, CARD_PAGE);

	card_cq_ctx(c, card_in(c), buf, 6, CARD_EQN, card_alloc(c, 8, 8));
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_CQ, 1, CARD_CQN + 1), 0);
	assert_int_equal(card_ptr(c, buf)[0x1f], 0);
}

static void
test_moderation_and_query(void **state)
{
	struct card *c = *state;

	prm_set32(card_in(c), 0x10, 16u << 16 | 88u);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MODIFY_CQ, 1, CARD_CQN), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_CQ, 0, CARD_CQN), 0);
	assert_memory_equal(card_out(c) + 0x10, "\x00\x10\x00\x58", 4);
	assert_int_equal(prm_get32(card_out(c), 0x0c), 8u << 24 | CARD_UAR);
	assert_memory_equal(card_out(c) + 0x16, "\x00\x04", 2);
	/* The context is in ICM, 128 bytes for each CQ. */
	assert_int_equal(prm_get32(card_ptr(c, c->cqc_mem + CARD_CQN * 128), 0x0c), 8u << 24 | CARD_UAR);
	card_expect_clean(c);
}

static void
test_resize(void **state)
{
	struct card *c = *state;
	uint64_t buf = card_alloc(c, 512 * 32, CARD_PAGE);

	card_cq_ctx(c, card_in(c), buf, 9, CARD_EQN, 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MODIFY_CQ, 0, CARD_CQN), 0);
	/* Entry 0 of the old ring tells where it ends; the next completion is number 1 of the new one. */
	assert_int_equal(card_ptr(c, c->cq_buf)[0x1f], 0x16);
	assert_int_equal(card_ptr(c, buf)[32 + 0x1f] & 0x80, 0x80);
	/* Entry 0 is the last one to be written, as number 512, which 1 hands over. */
	assert_int_equal(card_ptr(c, buf)[0x1f] & 0x80, 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_CQ, 0, CARD_CQN), 0);
	assert_int_equal(prm_get32(card_out(c), 0x0c) >> 24, 9);
	assert_int_equal(prm_get32(card_out(c), 0x2c), 1);
	card_expect_clean(c);
}

/* What is unread stays where it is, so that no smaller buffer is taken; it goes where it was, and one entry says so. */
static void
test_resize_too_small(void **state)
{
	struct card *c = *state;
	struct tpm_cq *cq = c->m->cq[CARD_CQN];

	for (unsigned int i = 0; i < 20; i++)
		tpm_cqe_commit(cq, tpm_cqe_next(c->m, cq), MLX4_OP_SEND);
	card_cq_ctx(c, card_in(c), card_alloc(c, 4096, CARD_PAGE), 4, CARD_EQN, 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MODIFY_CQ, 0, CARD_CQN), MLX4_STAT_BAD_SIZE);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_CQ, 0, CARD_CQN), 0);
	assert_int_equal(prm_get32(card_out(c), 0x0c) >> 24, 8);
	/* Four were read: 16 and the one that says so are too many still. */
	prm_set32(card_ptr(c, c->cq_dbrec), 0, 4);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MODIFY_CQ, 0, CARD_CQN), MLX4_STAT_BAD_SIZE);
	prm_set32(card_ptr(c, c->cq_dbrec), 0, 5);
	card_cq_ctx(c, card_in(c), card_alloc(c, 4096, CARD_PAGE), 4, CARD_EQN, 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MODIFY_CQ, 0, CARD_CQN), 0);
	assert_int_equal(card_ptr(c, c->cq_buf)[20 * 32 + 0x1f] & 0x1f, 0x16);
	card_expect_clean(c);
}

/* An index that is further behind than the queue is long was never true [CP 5.2]. */
static void
test_armed_far_behind(void **state)
{
	struct card *c = *state;
	struct tpm_cq *cq = c->m->cq[CARD_CQN];

	for (unsigned int i = 0; i < 300; i++) {
		tpm_cqe_commit(cq, tpm_cqe_next(c->m, cq), MLX4_OP_SEND);
		prm_set32(card_ptr(c, c->cq_dbrec), 0, i + 1);
	}
	tpm_cq_doorbell(c->m, CARD_UAR,
			1u << MLX4_CQ_ARM_SN_SHIFT | MLX4_CQ_ARM_NEXT << MLX4_CQ_ARM_CMD_SHIFT | CARD_CQN, 300 - 256);
	card_expect_clean(c);
	tpm_cq_doorbell(c->m, CARD_UAR,
			2u << MLX4_CQ_ARM_SN_SHIFT | MLX4_CQ_ARM_NEXT << MLX4_CQ_ARM_CMD_SHIFT | CARD_CQN, 300 - 257);
	card_expect(c, "dbrec-cq", 1);
	tpm_cq_doorbell(c->m, CARD_UAR,
			2u << MLX4_CQ_ARM_SN_SHIFT | MLX4_CQ_ARM_NEXT << MLX4_CQ_ARM_CMD_SHIFT | CARD_CQN, 301);
	card_expect(c, "dbrec-cq", 2);
}

/* Its state of arming is in the context: 9 any, 6 solicited, 10 it has fired [CP 5.2]. */
static void
test_state_of_arming(void **state)
{
	struct card *c = *state;
	static const struct {
		uint32_t command, state;
	} row[] = {{MLX4_CQ_ARM_SOLICITED, 6}, {MLX4_CQ_ARM_NEXT, 9}};

	for (uint32_t i = 0; i < 2; i++) {
		tpm_cq_doorbell(c->m, CARD_UAR,
				(i + 1) << MLX4_CQ_ARM_SN_SHIFT | row[i].command << MLX4_CQ_ARM_CMD_SHIFT | CARD_CQN,
				0);
		assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_CQ, 0, CARD_CQN), 0);
		assert_int_equal(prm_get32(card_out(c), 0) >> 8 & 0xf, row[i].state);
	}
	tpm_cqe_commit(c->m->cq[CARD_CQN], tpm_cqe_next(c->m, c->m->cq[CARD_CQN]), MLX4_OP_SEND);
	tpm_cq_notify(c->m, c->m->cq[CARD_CQN], false);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_CQ, 0, CARD_CQN), 0);
	assert_int_equal(prm_get32(card_out(c), 0) >> 8 & 0xf, 10);
	card_expect_clean(c);
}

static void
wrong(struct card *c, uint32_t field, uint32_t value, int status)
{
	uint32_t old = prm_get(card_ptr(c, c->in), field);

	prm_set(card_ptr(c, c->in), field, value);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_CQ, 0, CARD_CQN + 1), status);
	prm_set(card_ptr(c, c->in), field, old);
}

static void
test_wrong_use(void **state)
{
	struct card *c = *state;
	uint64_t dbrec = card_alloc(c, 16, 16);

	card_cq_ctx(c, card_in(c), card_alloc(c, 8192, CARD_PAGE), 8, CARD_EQN, dbrec);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_CQ, 0, CARD_CQN), MLX4_STAT_BAD_RES_STATE);
	card_expect(c, "cmd-resource-state", 1);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_CQ, 0, 127), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_CQ, 0, 512), MLX4_STAT_BAD_INDEX);
	wrong(c, MLX4_CQC_EQN, 9, MLX4_STAT_BAD_RESOURCE);
	assert_int_equal(card_violations(c, "cmd-index"), 3);
	wrong(c, MLX4_CQC_UAR, 127, MLX4_STAT_BAD_PARAM);
	wrong(c, MLX4_CQC_UAR, 1024, MLX4_STAT_BAD_PARAM);
	wrong(c, MLX4_CQC_LG_SIZE, 23, MLX4_STAT_EXCEED_LIM);
	assert_int_equal(card_violations(c, "cmd-limit"), 3);
	prm_set64(card_ptr(c, c->in), MLX4_CQC_DBREC, dbrec + 4);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_CQ, 0, CARD_CQN + 1), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_violations(c, "context-reserved"), 1);
	prm_set64(card_ptr(c, c->in), MLX4_CQC_DBREC, 0x1000);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_CQ, 0, CARD_CQN + 1), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_violations(c, "dma-unmapped"), 1);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MODIFY_CQ, 2, CARD_CQN), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_CQ, 1, CARD_CQN), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_CQ, 1, CARD_CQN), MLX4_STAT_BAD_RES_STATE);
}

static void
arm(struct card *c, uint32_t sn, uint32_t ci)
{
	tpm_cq_doorbell(c->m, CARD_UAR,
			sn << MLX4_CQ_ARM_SN_SHIFT | MLX4_CQ_ARM_NEXT << MLX4_CQ_ARM_CMD_SHIFT | CARD_CQN, ci);
}

/* An interrupt's handler is at work when the CQ is taken back: it may arm it, once. */
static void
test_armed_by_a_handler_at_work(void **state)
{
	struct card *c = *state;

	arm(c, 1, 0);
	tpm_cq_notify(c->m, c->m->cq[CARD_CQN], false);
	assert_true(tpm_eq_tells_of_cq(c->m, CARD_EQN, CARD_CQN));
	assert_false(tpm_eq_tells_of_cq(c->m, CARD_EQN, CARD_CQN + 1));
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_CQ, 1, CARD_CQN), 0);
	arm(c, 2, 0);
	card_expect_clean(c);
	arm(c, 2, 0);
	card_expect(c, "doorbell-cqn", 1);
}

/* The handler has told the EQ that it is done. */
static void
test_armed_by_nobody(void **state)
{
	struct card *c = *state;

	arm(c, 1, 0);
	tpm_cq_notify(c->m, c->m->cq[CARD_CQN], false);
	tpm_eq_doorbell(c->m, CARD_EQN, 1);
	assert_false(tpm_eq_tells_of_cq(c->m, CARD_EQN, CARD_CQN));
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_CQ, 1, CARD_CQN), 0);
	arm(c, 2, 0);
	card_expect(c, "doorbell-cqn", 1);
}

/* A number has 24 bits; none of them is left out. */
static void
test_numbers_of_others(void **state)
{
	struct card *c = *state;

	for (unsigned int bit = 9; bit < 24; bit++) {
		tpm_cq_doorbell(c->m, CARD_UAR,
				1u << MLX4_CQ_ARM_SN_SHIFT | MLX4_CQ_ARM_NEXT << MLX4_CQ_ARM_CMD_SHIFT | 1u << bit |
					CARD_CQN,
				0);
		card_expect(c, "doorbell-cqn", bit - 8);
	}
	assert_false(tpm_eq_tells_of_cq(c->m, CARD_EQN + 1, CARD_CQN));
}

static void
test_srq(void **state)
{
	struct card *c = *state;
	uint8_t *in = card_in(c);

	prm_set(in, MLX4_SRQC_LG_SIZE, 5);
	prm_set(in, MLX4_SRQC_SRQN, CARD_SRQN);
	prm_set64(in, MLX4_SRQC_DBREC, card_alloc(c, 4, 4));
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_SRQ, 0, CARD_SRQN), 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_SRQ, 0, CARD_SRQN), MLX4_STAT_BAD_RES_STATE);
	assert_int_equal(card_cmd(c, MLX4_CMD_ARM_SRQ, 0, CARD_SRQN, 9, 0), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_SRQ, 0, CARD_SRQN), 0);
	assert_memory_equal(card_out(c) + 0x1c, "\x00\x09", 2);
	assert_int_equal(card_cmd(c, MLX4_CMD_ARM_SRQ, 0, CARD_SRQN, 33, 0), MLX4_STAT_EXCEED_LIM);
	assert_int_equal(card_cmd(c, MLX4_CMD_ARM_SRQ, 0, CARD_SRQN, 32, 0), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_HW2SW_SRQ, 0, CARD_SRQN), 0);
	assert_memory_equal(card_out(c) + 0x1c, "\x00\x20", 2);
	assert_int_equal(prm_get(card_out(c), MLX4_SRQC_LG_SIZE), 5);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_SRQ, 1, CARD_SRQN), MLX4_STAT_BAD_RES_STATE);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_SRQ, 1, 3), MLX4_STAT_BAD_INDEX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ring_is_initialised, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_software_initialised, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_moderation_and_query, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_resize, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_numbers_of_others, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_armed_far_behind, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_state_of_arming, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_resize_too_small, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_wrong_use, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_armed_by_a_handler_at_work, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_armed_by_nobody, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_srq, setup_objects, teardown_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
