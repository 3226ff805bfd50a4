/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Contexts of completion, event and shared receive queues in bytes [CP 5.1..5.3], and what is left when one is refused. */
#include <errno.h>

#include "fake_one.h"

#define SW2HW_EQ 0x013
#define HW2SW_EQ 0x014
#define SW2HW_CQ 0x016
#define HW2SW_CQ 0x017
#define MODIFY_CQ 0x02c
#define SW2HW_SRQ 0x035
#define HW2SW_SRQ 0x036
#define QUERY_SRQ 0x037
#define ARM_SRQ 0x040
#define HI(x) ((uint32_t)((x) >> 32))
#define LO(x) ((uint32_t)(x))

static void
test_cq(void **state)
{
	struct mlx4_cq cq;
	const struct fake_cmd *cmd;
	uint64_t rec;
	uint32_t i;

	/* 1024 entries of 32 bytes: a page of 32 KiB. */
	assert_int_equal(mlx4_cq_create(hca, 1024, 0x81, 0, 0, &cq), 0);
	cmd = fake_last(&card, SW2HW_CQ);
	assert_int_equal(cmd->in_modifier, 0xff);
	assert_int_equal(cmd->op_modifier, 0);
	assert_int_equal(cq.cqn, 0xff);
	rec = cq.buf.iova + 1024 * 32;
	FAKE_BOX(cmd, {0x0c, 0x0a000081}, {0x14, 0x2a}, {0x18, 0x03000000}, {0x1c, 0x10 * 8}, {0x38, HI(rec)},
		 {0x3c, LO(rec)});
	fake_mtts_are(&card, 0x10, 1, 32768, cq.buf.iova);
	assert_int_equal(cq.buf.iova % 32768, 0);
	assert_ptr_equal(cq.dbrec, (uint8_t *)cq.buf.va + 1024 * 32);
	for (i = 0; i < 1024; i++)
		assert_int_equal(((uint8_t *)cq.buf.va)[i * 32 + 31], 0x80);
	assert_int_equal(cq.vector, 0);
	assert_int_equal(cq.uar, 0x81);
	assert_int_equal(cq.entries, 1024);
	/* Moderation: period and count, nothing else. */
	assert_int_equal(mlx4_cq_moderate(hca, &cq, 0x1234, 0x5678), 0);
	cmd = fake_last(&card, MODIFY_CQ);
	assert_int_equal(cmd->op_modifier, 1);
	assert_int_equal(cmd->in_modifier, 0xff);
	FAKE_BOX(cmd, {0x10, 0x56781234});
	assert_int_equal(mlx4_cq_destroy(hca, &cq), 0);
	cmd = fake_last(&card, HW2SW_CQ);
	assert_int_equal(cmd->op_modifier, 1);
	assert_int_equal(cmd->in_modifier, 0xff);
	assert_int_equal(cmd->hcr[3] | cmd->hcr[4], 0);
	assert_int_equal(fake_mtt(&card, 0x10), 0);
	assert_null(cq.buf.va);
	assert_int_equal(card.resets, 0);
}

/* More than a page of 64 KiB; without a vector of its own; with time stamps; another number each time. */
static void
test_large_cq(void **state)
{
	struct mlx4_cq cq, small;

	assert_int_equal(mlx4_cq_create(hca, 2, 1, -1, 0, &small), 0);
	assert_int_equal(prm_get32(fake_last(&card, SW2HW_CQ)->box, 0x18), 0);
	assert_int_equal(prm_get32(fake_last(&card, SW2HW_CQ)->box, 0x1c), 0x10 * 8);
	assert_int_equal(mlx4_cq_create_stamped(hca, 8192, 0xabcdef, -1, 0, &cq), 0);
	assert_int_equal(fake_last(&card, SW2HW_CQ)->in_modifier, 0xfe);
	FAKE_BOX(fake_last(&card, SW2HW_CQ), {0x00, 1u << 19}, {0x0c, 0x0dabcdef}, {0x14, 0x28}, {0x18, 0x04000000},
		 {0x1c, 0x11 * 8}, {0x38, HI(cq.buf.iova + (8192 << 5))}, {0x3c, LO(cq.buf.iova + (8192 << 5))});
	fake_mtts_are(&card, 0x11, 4, 65536, cq.buf.iova);
	assert_int_equal(cq.buf.iova % 65536, 0);
	assert_int_equal(mlx4_cq_destroy(hca, &cq), 0);
	assert_int_equal(mlx4_cq_create(hca, 2, 1, -1, 0, &cq), 0);
	assert_int_equal(cq.cqn, 0xfd);
	assert_int_equal(mlx4_cq_destroy(hca, &cq), 0);
	assert_int_equal(mlx4_cq_destroy(hca, &small), 0);
}

static void
test_cq_refused(void **state)
{
	static const uint32_t bad[] = {0, 1, 3, 1000, 1u << 15};
	struct mlx4_cq cq, many[128];
	unsigned int i;

	hca->caps.max_cqes = 1u << 14;
	for (i = 0; i < RTE_DIM(bad); i++) {
		rig_log_begin();
		assert_int_equal(mlx4_cq_create(hca, bad[i], 1, 0, 0, &cq), -EINVAL);
		rig_log_one("entries: wanted a power of two", "2..16384");
	}
	rig_log_begin();
	assert_int_equal(mlx4_cq_create(hca, 64, 1, 1, 0, &cq), -EINVAL);
	rig_log_one("interrupt vector 1", "the card has 0..0");
	assert_int_equal(card.num_cmds, 0);
	fake_refuse(&card, SW2HW_CQ, 1, 8);
	assert_int_equal(mlx4_cq_create(hca, 64, 1, 0, 0, &cq), -ENOSPC);
	assert_null(cq.buf.va);
	assert_int_equal(card.resets, 0);
	for (i = 0; i < RTE_DIM(many); i++)
		assert_int_equal(mlx4_cq_create(hca, 2, 1, 0, 0, &many[i]), 0);
	rig_log_begin();
	assert_int_equal(mlx4_cq_create(hca, 2, 1, 0, 0, &cq), -ENOSPC);
	rig_log_one("all 128 CQs", "in use");
	for (i = 0; i < RTE_DIM(many); i++)
		assert_int_equal(mlx4_cq_destroy(hca, &many[i]), 0);
	/* Translation entries that are used up. */
	assert_int_equal(mlx4_mtt_get(hca, 0x1000 - 0x10, &(uint32_t){0}), 0);
	rig_log_begin();
	assert_int_equal(mlx4_cq_create(hca, 2, 1, 0, 0, &cq), -ENOSPC);
	rig_log_one("no 1 translation entries left: 4080", "of 262144");
	mlx4_numbers_put(hca->mtts, 0x10, 0x1000 - 0x10);
	/* One that the card keeps: it is reset before the memory goes. */
	assert_int_equal(mlx4_cq_create(hca, 2, 1, 0, 0, &cq), 0);
	fake_refuse(&card, HW2SW_CQ, 1, 6);
	assert_int_equal(mlx4_cq_destroy(hca, &cq), -EBUSY);
	assert_int_equal(card.resets, 1);
}

/* No answer: the card may have it. */
static void
test_cq_no_answer(void **state)
{
	struct mlx4_cq cq;

	card.bus.cmd_timeout_ms = 20;
	fake_answer(&card, SW2HW_CQ, 1)->silent = true;
	assert_int_equal(mlx4_cq_create(hca, 64, 1, 0, 0, &cq), -ETIMEDOUT);
	assert_int_equal(card.resets, 1);
}

/* Another ring: size and translation, nothing else; the doorbell record stays where it is, and its memory with it. */
static void
test_cq_resize(void **state)
{
	struct mlx4_dma first, old;
	const struct fake_cmd *cmd;
	struct mlx4_cq cq;
	uint32_t i;

	assert_int_equal(mlx4_cq_create(hca, 1024, 0x81, 0, 0, &cq), 0);
	first = cq.buf;
	assert_int_equal(mlx4_cq_resize(hca, NULL, 64, 0, &cq, &old), 0);
	cmd = fake_last(&card, MODIFY_CQ);
	assert_int_equal(cmd->op_modifier, 0);
	assert_int_equal(cmd->in_modifier, 0xff);
	FAKE_BOX(cmd, {0x0c, 0x06000000}, {0x1c, 0x11 * 8});
	fake_mtts_are(&card, 0x11, 1, 4096, cq.buf.iova);
	assert_int_equal(fake_mtt(&card, 0x10), 0);
	assert_int_equal(cq.entries, 64);
	for (i = 0; i < 64; i++)
		assert_int_equal(((uint8_t *)cq.cqes)[i * 32 + 31], 0x80);
	assert_ptr_equal(cq.dbrec, (uint8_t *)first.va + 1024 * 32);
	/* What was not read is there until nobody needs it. */
	assert_ptr_equal(old.va, first.va);
	mlx4_cq_drop(&cq, &old);
	assert_int_equal(*cq.dbrec, 0);
	assert_int_equal(mlx4_cq_resize(hca, NULL, 4096, 0, &cq, &old), 0);
	cmd = fake_last(&card, MODIFY_CQ);
	assert_int_equal(prm_get32(cmd->box, 0x0c), 0x0c000000);
	assert_int_equal(prm_get32(cmd->box, 0x18), 0x04000000);
	assert_ptr_equal(cq.dbrec, (uint8_t *)first.va + 1024 * 32);
	assert_ptr_not_equal(old.va, first.va);
	mlx4_cq_drop(&cq, &old);
	assert_null(old.va);
	/* Refused: a size that is none, one that the card finds too small; the queue is as it was. */
	old = cq.buf;
	rig_log_begin();
	assert_int_equal(mlx4_cq_resize(hca, NULL, 3, 0, &cq, &first), -EINVAL);
	rig_log_one("a CQ of 3 entries: wanted a power of two", "2..");
	fake_refuse(&card, MODIFY_CQ, 1, 0x40);
	assert_int_equal(mlx4_cq_resize(hca, NULL, 2, 0, &cq, &first), -EINVAL);
	fake_refuse(&card, MODIFY_CQ, 1, 6);
	assert_int_equal(mlx4_cq_resize(hca, NULL, 2, 0, &cq, &first), -EBUSY);
	assert_int_equal(cq.entries, 4096);
	assert_ptr_equal(cq.buf.va, old.va);
	assert_int_equal(mlx4_cq_destroy(hca, &cq), 0);
	assert_null(cq.buf.va);
	assert_null(cq.first.va);
	assert_int_equal(card.resets, 0);
}

static void
test_eq(void **state)
{
	uint8_t eqe[4][MLX4_EQE_SIZE], *ring;
	volatile rte_be32_t *db;
	const struct fake_cmd *cmd;
	struct mlx4_eq *eq;
	unsigned int i;

	/* 256 entries of 32 bytes on vector 3; EQ 0x2a's doorbell is the third of page 10. */
	assert_int_equal(mlx4_eq_create(hca, 0x2a, 256, 3, &eq), 0);
	cmd = fake_last(&card, SW2HW_EQ);
	assert_int_equal(cmd->in_modifier, 0x2a);
	FAKE_BOX(cmd, {0x00, 0x900}, {0x0c, 0x08000000}, {0x14, 3}, {0x18, 0x01000000}, {0x1c, 0x10 * 8});
	fake_mtts_are(&card, 0x10, 1, 8192, eq->buf.iova);
	ring = eq->buf.va;
	for (i = 0; i < 256; i++)
		assert_int_equal(ring[i * 32 + 31], 0x80);
	db = (volatile rte_be32_t *)(card.uar + 10 * 4096 + 0x800 + 2 * 8);
	assert_ptr_equal(eq->db, db);
	/* Nothing: no doorbell, unless one is asked for. */
	assert_int_equal(mlx4_eq_take(eq, eqe, 4, false, NULL), 0);
	assert_int_equal(*db, 0);
	assert_int_equal(mlx4_eq_take(eq, eqe, 4, true, NULL), 0);
	assert_int_equal(rte_be_to_cpu_32(*db), 0x80000000);
	/* Entries in pass 0 have the bit clear, in pass 1 set. */
	for (i = 0; i < 512; i++) {
		uint8_t *e = ring + i % 256 * 32;

		*db = 0;
		assert_int_equal(mlx4_eq_take(eq, eqe, 4, false, NULL), 0);
		memset(e, 0, 32);
		e[0] = (uint8_t)i, e[30] = 0x77, e[31] = i < 256 ? 0x7f : 0x80;
		assert_int_equal(mlx4_eq_take(eq, eqe, 4, false, NULL), 1);
		assert_memory_equal(eqe[0], e, 32);
		assert_int_equal(rte_be_to_cpu_32(*db), 0x80000000 | (i + 1));
	}
	/* As many as there is room for, the rest later. */
	for (i = 0; i < 6; i++)
		ring[i * 32 + 31] = 0;
	assert_int_equal(mlx4_eq_take(eq, eqe, 4, false, NULL), 4);
	assert_int_equal(mlx4_eq_take(eq, eqe, 4, false, NULL), 2);
	/* The index has 24 bits in the doorbell. */
	eq->ci = 0x1000000;
	ring[31] = 0;
	mlx4_eq_take(eq, eqe, 1, true, NULL);
	assert_int_equal(rte_be_to_cpu_32(*db), 0x80000001);
	mlx4_eq_destroy(eq);
	assert_int_equal(fake_last(&card, HW2SW_EQ)->in_modifier, 0x2a);
	assert_int_equal(fake_last(&card, HW2SW_EQ)->op_modifier, 1);
	assert_int_equal(card.resets, 0);
	/* Pages of 4 KiB at least, of 64 at most. */
	assert_int_equal(mlx4_eq_create(hca, 0x2b, 4096, 0, &eq), 0);
	assert_int_equal(prm_get32(fake_last(&card, SW2HW_EQ)->box, 0x18), 0x04000000);
	fake_mtts_are(&card, 0x10, 2, 65536, eq->buf.iova);
	fake_refuse(&card, HW2SW_EQ, 1, 6);
	mlx4_eq_destroy(eq);
	assert_int_equal(card.resets, 1);
}

static void
test_eq_refused(void **state)
{
	struct mlx4_eq *eq;

	fake_refuse(&card, SW2HW_EQ, 1, 0x0a);
	assert_int_equal(mlx4_eq_create(hca, 0x2a, 256, 3, &eq), -EBADF);
	assert_int_equal(card.resets, 0);
	assert_int_equal(mlx4_mtt_get(hca, 0x1000 - 0x10, &(uint32_t){0}), 0);
	assert_int_equal(mlx4_eq_create(hca, 0x2a, 256, 3, &eq), -ENOSPC);
	mlx4_numbers_put(hca->mtts, 0x10, 0x1000 - 0x10);
	card.bus.cmd_timeout_ms = 20;
	fake_answer(&card, SW2HW_EQ, 1)->silent = true;
	assert_int_equal(mlx4_eq_create(hca, 0x2a, 256, 3, &eq), -ETIMEDOUT);
	assert_int_equal(card.resets, 1);
}

static void
test_srq(void **state)
{
	struct mlx4_srq srq;
	uint32_t limit = 1;
	uint64_t rec;
	unsigned int i, at;

	assert_int_equal(mlx4_srq_create(hca, NULL, 6, 64, 64, 0, &srq), 0);
	assert_int_equal(srq.srqn, 0x7f);
	assert_int_equal(fake_last(&card, SW2HW_SRQ)->in_modifier, 0x7f);
	rec = srq.buf.iova + 64 * 64;
	assert_ptr_equal(srq.dbrec, srq.wqes + 64 * 64);
	FAKE_BOX(fake_last(&card, SW2HW_SRQ), {0x00, 0x0600007f}, {0x04, 0x02000000}, {0x14, 0x10 * 8}, {0x18, 6},
		 {0x28, HI(rec)}, {0x2c, LO(rec)});
	/* Each names its successor in a 16-bit word at 2; a list begins at 16 and its entries have no key yet. */
	for (i = 0; i < 64; i++) {
		assert_int_equal(prm_get32(srq.wqes + i * 64, 0), i == 63 ? 0 : i + 1);
		for (at = 16; at < 64; at += 16)
			assert_int_equal(prm_get32(srq.wqes + i * 64, at + 4), 0x100);
	}
	assert_int_equal(mlx4_srq_arm(hca, &srq, 0x33), 0);
	assert_int_equal(fake_last(&card, ARM_SRQ)->in_param, 0x33);
	assert_int_equal(fake_last(&card, ARM_SRQ)->in_modifier, 0x7f);
	prm_set32(fake_answer(&card, QUERY_SRQ, 1)->box, 0x1c, 0xabcd1234);
	assert_int_equal(mlx4_srq_query(hca, &srq, &limit), 0);
	assert_int_equal(limit, 0xabcd);
	fake_refuse(&card, QUERY_SRQ, 1, 5);
	assert_int_equal(mlx4_srq_query(hca, &srq, &limit), -EBADF);
	assert_int_equal(limit, 0xabcd);
	assert_int_equal(mlx4_srq_retire(hca, &srq), 0);
	assert_int_equal(fake_last(&card, HW2SW_SRQ)->op_modifier, 1);
	assert_int_equal(fake_last(&card, HW2SW_SRQ)->in_modifier, 0x7f);
	assert_int_equal(fake_mtt(&card, 0x10), 0);
	mlx4_dma_free(&srq.buf);
	assert_int_equal(card.resets, 0);
}

static void
test_srq_refused(void **state)
{
	static const uint32_t bad[][2] = {{1, 64}, {3, 64}, {1u << 15, 64}, {4, 16}, {4, 48}, {4, 2048}};
	struct mlx4_srq srq, many[64];
	unsigned int i;

	for (i = 0; i < RTE_DIM(bad); i++) {
		rig_log_begin();
		assert_int_equal(mlx4_srq_create(hca, NULL, 6, bad[i][0], bad[i][1], 0, &srq), -EINVAL);
		rig_log_one("wanted powers of two", "2..16384 and 32..1024");
	}
	assert_int_equal(mlx4_srq_create(hca, NULL, 6, 2, 1024, 0, &srq), 0);
	assert_int_equal(mlx4_srq_retire(hca, &srq), 0);
	mlx4_dma_free(&srq.buf);
	fake_refuse(&card, SW2HW_SRQ, 1, 8);
	assert_int_equal(mlx4_srq_create(hca, NULL, 6, 2, 32, 0, &srq), -ENOSPC);
	assert_int_equal(card.resets, 0);
	for (i = 0; i < RTE_DIM(many); i++)
		assert_int_equal(mlx4_srq_create(hca, NULL, 6, 2, 32, 0, &many[i]), 0);
	rig_log_begin();
	assert_int_equal(mlx4_srq_create(hca, NULL, 6, 2, 32, 0, &srq), -ENOSPC);
	rig_log_one("all 64 shared receive queues", "in use");
	for (i = 0; i < RTE_DIM(many); i++) {
		assert_int_equal(mlx4_srq_retire(hca, &many[i]), 0);
		mlx4_dma_free(&many[i].buf);
	}
	assert_int_equal(mlx4_mtt_get(hca, 0x1000 - 0x10, &(uint32_t){0}), 0);
	assert_int_equal(mlx4_srq_create(hca, NULL, 6, 2, 32, 0, &srq), -ENOSPC);
	mlx4_numbers_put(hca->mtts, 0x10, 0x1000 - 0x10);
	assert_int_equal(mlx4_srq_create(hca, NULL, 6, 2, 32, 0, &srq), 0);
	fake_refuse(&card, HW2SW_SRQ, 1, 6);
	assert_int_equal(mlx4_srq_retire(hca, &srq), -EBUSY);
	assert_int_equal(card.resets, 1);
	mlx4_dma_free(&srq.buf);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fake_up_with_numbers, fake_down_with_numbers)
	const struct CMUnitTest tests[] = {
		T(test_cq), T(test_large_cq),   T(test_cq_refused), T(test_cq_no_answer), T(test_cq_resize),
		T(test_eq), T(test_eq_refused), T(test_srq),        T(test_srq_refused),
	};

	if (rig_eal("mlx4ctxq", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
