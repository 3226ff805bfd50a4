/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* DMA windows, MAP_* and what contexts need of ICM [CP 3.3, 7, 10.2]. */
#include "harness.h"

#include <string.h>

static void
entry(struct card *c, uint64_t va, uint64_t pa)
{
	uint8_t *in = card_in(c);

	prm_set64(in, 0, va);
	prm_set64(in, 8, pa);
}

static int
map_icm(struct card *c, uint64_t va, uint64_t pa)
{
	entry(c, va, pa);
	return card_cmd_in(c, MLX4_CMD_MAP_ICM, 0, 1);
}

static void
test_windows(void **state)
{
	struct card *c = *state;
	static uint8_t mem[3 * 4096];

	assert_int_equal(tp_model_dma_map(c->m, 0x1000, sizeof(mem), mem, 3), 0);
	assert_int_equal(tp_model_dma_map(c->m, 0x3000, 4096, mem, 3), -17);
	assert_int_equal(tp_model_dma_map(c->m, 0x0, 0x1001, mem, 3), -17);
	assert_int_equal(tp_model_dma_map(c->m, 0x4000, 4096, mem, 3), 0);
	assert_int_equal(tp_model_dma_map(c->m, 0x9000, 0, mem, 3), -22);
	assert_int_equal(tp_model_dma_map(c->m, 0x9000, 4096, mem, 0), -22);
	assert_int_equal(tp_model_dma_map(c->m, UINT64_MAX, 2, mem, 3), -22);
	/* A hole in the middle leaves both ends. */
	assert_int_equal(tp_model_dma_unmap(c->m, 0x2000, 4096), 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_QUERY_FW, 0, 0, 0, 0x1000), 0);
	assert_memory_equal(mem, "\x04\x00", 2);
	memset(mem, 0, sizeof(mem));
	assert_int_equal(card_cmd(c, MLX4_CMD_QUERY_FW, 0, 0, 0, 0x2000), MLX4_STAT_BAD_PARAM);
	card_expect(c, "dma-unmapped", 1);
	assert_int_equal(card_cmd(c, MLX4_CMD_QUERY_FW, 0, 0, 0, 0x3000), 0);
	assert_memory_equal(mem + 0x2000, "\x04\x00", 2);
	assert_int_equal(mem[0], 0);
}

static void
test_read_only_window(void **state)
{
	struct card *c = *state;
	static uint8_t mem[4096];

	assert_int_equal(tp_model_dma_map(c->m, 0x1000, sizeof(mem), mem, TP_DMA_READ), 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_QUERY_FW, 0, 0, 0, 0x1000), MLX4_STAT_BAD_PARAM);
	card_expect(c, "dma-unmapped", 1);
}

static void
test_map_checks(void **state)
{
	struct card *c = *state;
	uint64_t page = card_alloc(c, 4 * CARD_PAGE, 4 * CARD_PAGE);

	assert_int_equal(map_icm(c, 0x1000, page | 1), MLX4_STAT_BAD_PARAM); /* 8 KiB at a 4 KiB address */
	card_expect(c, "map-align", 1);
	assert_int_equal(map_icm(c, 0, (page + CARD_PAGE) | 1), MLX4_STAT_BAD_PARAM);
	card_expect(c, "map-align", 2);
	assert_int_equal(map_icm(c, UINT64_C(1) << 40, page), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_violations(c, "icm-overlap"), 1);
	assert_int_equal(map_icm(c, 0, page | 60), MLX4_STAT_BAD_PARAM);
	assert_int_equal(map_icm(c, 0, page | 32), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MAP_ICM, 0, 257), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MAP_ICM, 0, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_violations(c, "cmd-param"), 4);
	assert_int_equal(map_icm(c, 0, CARD_IOVA + CARD_MEM_SIZE), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_violations(c, "dma-unmapped"), 1);
}

static void
test_what_must_be_accepted(void **state)
{
	struct card *c = *state;
	struct tp_model_stats a, b;
	uint64_t page = card_alloc(c, 4 * CARD_PAGE, 4 * CARD_PAGE);

	tp_model_get_stats(c->m, &a);
	/* Beyond the total of SET_ICM_SIZE, twice, and unmapping more than was mapped [CP 7.1, 7.2]. */
	assert_int_equal(map_icm(c, c->icm_size + (1u << 20), page | 2), 0);
	assert_int_equal(map_icm(c, c->icm_size + (1u << 20), page | 2), 0);
	tp_model_get_stats(c->m, &b);
	assert_int_equal(b.icm_pages - a.icm_pages, 4);
	assert_int_equal(card_cmd(c, MLX4_CMD_UNMAP_ICM, 0, 64, c->icm_size + (1u << 20), 0), 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_UNMAP_ICM, 0, 64, c->icm_size + (1u << 20), 0), 0);
	tp_model_get_stats(c->m, &b);
	assert_int_equal(b.icm_pages, a.icm_pages);
	card_expect_clean(c);
	assert_int_equal(card_cmd(c, MLX4_CMD_UNMAP_ICM, 0, 1, 0x800, 0), MLX4_STAT_BAD_PARAM);
	card_expect(c, "cmd-param", 1);
}

static void
test_context_needs_icm(void **state)
{
	struct card *c = *state;
	uint64_t buf = card_alloc(c, 0x2000, CARD_PAGE), eqc = (UINT64_C(4) << 30) + (5u << 20);

	card_eq_ctx(c, card_in(c), buf, 8, 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_UNMAP_ICM, 0, 1, eqc, 0), 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_EQ, 0, CARD_EQN), MLX4_STAT_ICM_ERROR);
	card_expect(c, "icm-unmapped", 1);
	assert_int_equal(map_icm(c, eqc, c->eqc_mem), 0);
	/* The cMPT entry is asked for as well: EQs are the fourth window of 1 GiB. */
	assert_int_equal(card_cmd(c, MLX4_CMD_UNMAP_ICM, 0, 1, UINT64_C(3) << 30, 0), 0);
	card_eq_ctx(c, card_in(c), buf, 8, 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_EQ, 0, CARD_EQN), MLX4_STAT_ICM_ERROR);
	card_expect(c, "icm-unmapped", 2);
}

static void
test_remapped_page_wins(void **state)
{
	struct card *c = *state;
	uint64_t other = card_alloc(c, CARD_PAGE, CARD_PAGE), eqc = (UINT64_C(4) << 30) + (5u << 20);
	uint64_t buf = card_alloc(c, 0x2000, CARD_PAGE);

	assert_int_equal(map_icm(c, eqc, other), 0);
	card_eq_ctx(c, card_in(c), buf, 8, 3);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_EQ, 0, CARD_EQN), 0);
	/* Entries are 128 bytes; interrupt vector be16 at 0x16. */
	assert_memory_equal(card_ptr(c, other) + CARD_EQN * 128 + 0x16, "\x00\x03", 2);
	assert_memory_equal(card_ptr(c, c->eqc_mem) + CARD_EQN * 128 + 0x16, "\x00\x00", 2);
	card_expect_clean(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_windows, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_read_only_window, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_map_checks, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_what_must_be_accepted, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_context_needs_icm, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_remapped_page_wins, setup_booted, teardown_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
