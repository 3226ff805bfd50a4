/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Memory page by page: rings whose pages lie anywhere, ICM up to its last page, windows of DMA at their edges [CP 5.9, 7]. */
#include "harness.h"

#include <errno.h>
#include <string.h>

#include "model/mem/mem.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Fills a ring and says how many octets of the pages around it have the value, in all and from its first one on. */
static uint64_t
filled(struct card *c, const struct tpm_ring *r, uint64_t buf, uint64_t octets)
{
	uint64_t n = 0;

	memset(card_ptr(c, buf), 0, octets);
	tpm_ring_fill(r, 0xcc);
	for (uint64_t i = 0; i < octets; i++)
		n += *card_ptr(c, buf + i) == 0xcc;
	return n;
}

static void
rings_of_pages(void **state)
{
	static const struct {
		uint32_t page_off, size;
		uint8_t order[3]; /* of the three pages in memory */
		bool flat;
	} row[] = {
		{0, 4096, {0, 1, 2}, true},     {0, 8192, {0, 1, 2}, true},    {0, 12288, {0, 1, 2}, true},
		{0, 12288, {2, 1, 0}, false},   {0, 12288, {0, 2, 1}, false},  {0, 8192, {0, 2, 1}, false},
		{0, 4096, {1, 0, 2}, true},     {2048, 2048, {1, 0, 2}, true}, {2048, 4096, {0, 1, 2}, true},
		{2048, 4096, {1, 0, 2}, false}, {64, 64, {2, 0, 1}, true},     {4032, 128, {2, 0, 1}, false},
		{0, 12288, {0, 1, 1}, false},
	};
	struct card *c = *state;

	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint64_t buf = card_alloc(c, 3 * CARD_PAGE, CARD_PAGE), first = c->mtt_next;
		struct tpm_ring r;

		for (unsigned int p = 0; p < 3; p++)
			card_mtt(c, buf + row[i].order[p] * CARD_PAGE, 1);
		assert_int_equal(tpm_ring_init(c->m, &r, first, 12, row[i].page_off, row[i].size), 0);
		assert_false(r.valid);
		assert_int_equal(tpm_ring_resolve(c->m, &r, "ring", 1), 0);
		assert_true(r.valid);
		assert_int_equal(r.gen, c->m->tpt_gen);
		assert_int_equal(r.flat != NULL, row[i].flat);
		for (uint32_t off = 0; off < row[i].size; off += 64) {
			uint32_t at = row[i].page_off + off;

			assert_ptr_equal(tpm_ring_at(&r, off),
					 card_ptr(c, buf + row[i].order[at / 4096] * CARD_PAGE + at % 4096));
		}
		if (row[i].order[1] != row[i].order[2]) {
			assert_int_equal(filled(c, &r, buf, 3 * CARD_PAGE), row[i].size);
			assert_int_equal(*tpm_ring_at(&r, 0), 0xcc);
			assert_int_equal(tpm_ring_at(&r, row[i].size - 64)[63], 0xcc);
		}
		tpm_ring_fini(&r);
		assert_null(r.page);
	}
	card_expect_clean(c);
}

/* An entry may stand for more than a page: 16 KiB, aligned, and the ring begins anywhere in it. */
static void
rings_of_large_pages(void **state)
{
	struct card *c = *state;
	uint64_t buf = card_alloc(c, 2 * 4 * CARD_PAGE, 4 * CARD_PAGE), first = c->mtt_next;
	struct tpm_ring r;

	card_mtt(c, buf + 4 * CARD_PAGE, 1);
	card_mtt(c, buf, 1);
	assert_int_equal(tpm_ring_init(c->m, &r, first, 14, 8192, 16384), 0);
	assert_int_equal(tpm_ring_resolve(c->m, &r, "ring", 1), 0);
	assert_null(r.flat);
	assert_ptr_equal(tpm_ring_at(&r, 0), card_ptr(c, buf + 6 * CARD_PAGE));
	assert_ptr_equal(tpm_ring_at(&r, 4096 + 64), card_ptr(c, buf + 7 * CARD_PAGE + 64));
	assert_ptr_equal(tpm_ring_at(&r, 8192), card_ptr(c, buf));
	assert_ptr_equal(tpm_ring_at(&r, 16384 - 64), card_ptr(c, buf + 2 * CARD_PAGE - 64));
	assert_int_equal(filled(c, &r, buf, 8 * CARD_PAGE), 16384);
	tpm_ring_fini(&r);
}

static void
rings_that_are_not_there(void **state)
{
	struct card *c = *state;
	uint64_t buf = card_alloc(c, 2 * CARD_PAGE, CARD_PAGE), first = c->mtt_next;
	struct tpm_ring r;

	card_mtt(c, buf, 2);
	assert_int_equal(tpm_ring_init(c->m, &r, first, 12, 0, 8192), 0);
	assert_int_equal(tpm_ring_resolve(c->m, &r, "ring", 1), 0);
	/* The second page: not present, then nowhere, then may not be written, then without an entry. What was valid is no more. */
	prm_set64(card_ptr(c, c->mtt_mem + first), 8, buf + CARD_PAGE);
	assert_int_equal(tpm_ring_resolve(c->m, &r, "ring", 1), -EFAULT);
	assert_false(r.valid);
	assert_null(r.flat);
	card_expect(c, "mtt-absent", 1);
	prm_set64(card_ptr(c, c->mtt_mem + first), 8, 0x1000 | 1);
	assert_int_equal(tpm_ring_resolve(c->m, &r, "ring", 1), -EFAULT);
	assert_int_equal(card_violations(c, "dma-unmapped"), 1);
	prm_set64(card_ptr(c, c->mtt_mem + first), 8, (buf + CARD_PAGE) | 1);
	assert_int_equal(tpm_ring_resolve(c->m, &r, "ring", 1), 0);
	tpm_ring_fini(&r);
	assert_int_equal(tpm_ring_init(c->m, &r, UINT64_C(1) << 36, 12, 0, 4096), 0);
	assert_int_equal(tpm_ring_resolve(c->m, &r, "ring", 1), -EFAULT);
	assert_int_equal(card_violations(c, "icm-unmapped"), 1);
	tpm_ring_fini(&r);
}

/* --- ICM --- */

static int
map_icm(struct card *c, uint64_t va, uint64_t pa)
{
	uint8_t *in = card_in(c);

	prm_set64(in, 0, va);
	prm_set64(in, 8, pa);
	return card_cmd_in(c, MLX4_CMD_MAP_ICM, 0, 1);
}

/* 2^40 octets: its first and last page, and those where each level of the table goes on. */
static void
pages_of_icm(void **state)
{
	static const uint64_t at[] = {UINT64_C(5) << 30,
				      (UINT64_C(5) << 30) + (UINT64_C(511) << 12),
				      (UINT64_C(5) << 30) + (UINT64_C(512) << 12),
				      (UINT64_C(6) << 30) - 4096,
				      UINT64_C(6) << 30,
				      (UINT64_C(1) << 40) - 4096};
	struct card *c = *state;
	uint64_t buf = card_alloc(c, 8 * CARD_PAGE, 8 * CARD_PAGE);
	struct tp_model_stats before, st;

	tp_model_get_stats(c->m, &before);
	for (unsigned int i = 0; i < COUNT(at); i++) {
		assert_null(tpm_icm_probe(c->m, at[i], 1));
		assert_int_equal(map_icm(c, at[i], buf + i * CARD_PAGE), 0);
		tp_model_get_stats(c->m, &st);
		assert_int_equal(st.icm_pages, before.icm_pages + i + 1);
	}
	for (unsigned int i = 0; i < COUNT(at); i++) {
		uint8_t *p = card_ptr(c, buf + i * CARD_PAGE);

		assert_ptr_equal(tpm_icm_probe(c->m, at[i], 4096), p);
		assert_ptr_equal(tpm_icm_probe(c->m, at[i] + 4095, 1), p + 4095);
		/* Not over the end of a page, whatever comes behind it. */
		assert_null(tpm_icm_probe(c->m, at[i] + 4095, 2));
		assert_null(tpm_icm_probe(c->m, at[i], 4097));
	}
	assert_null(tpm_icm_probe(c->m, UINT64_C(1) << 40, 1));
	assert_null(tpm_icm_probe(c->m, UINT64_MAX, 1));
	/* One page goes, and only once. */
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(card_cmd(c, MLX4_CMD_UNMAP_ICM, 0, 1, at[1], 0), 0);
		tp_model_get_stats(c->m, &st);
		assert_int_equal(st.icm_pages, before.icm_pages + COUNT(at) - 1);
	}
	assert_null(tpm_icm_probe(c->m, at[1], 1));
	assert_non_null(tpm_icm_probe(c->m, at[0], 1));
	assert_non_null(tpm_icm_probe(c->m, at[2], 1));
	/* What lies in a window that closes is gone. */
	assert_int_equal(tp_model_dma_unmap(c->m, buf, CARD_PAGE), 0);
	assert_null(tpm_icm_probe(c->m, at[0], 1));
	assert_non_null(tpm_icm_probe(c->m, at[2], 1));
	card_expect_clean(c);
}

static void
mappings_that_are_refused(void **state)
{
	static const struct {
		uint64_t va, pa;
		int status;
	} row[] = {
		{UINT64_C(1) << 40, 0, MLX4_STAT_BAD_PARAM},
		{(UINT64_C(1) << 40) - 8192, 1, 0},
		{(UINT64_C(1) << 40) - 4096, 1, MLX4_STAT_BAD_PARAM}, /* 8 KiB, not aligned */
		{UINT64_C(7) << 30 | 0x800, 0, MLX4_STAT_BAD_PARAM},
		{UINT64_C(7) << 30 | 1, 0, MLX4_STAT_BAD_PARAM},
		{UINT64_C(7) << 30, 0x40, MLX4_STAT_BAD_PARAM}, /* reserved bits 11:6 */
		{UINT64_C(7) << 30, 0x800, MLX4_STAT_BAD_PARAM},
		{UINT64_C(7) << 30, 19, MLX4_STAT_BAD_PARAM}, /* 2 GiB */
		{UINT64_C(7) << 30, 63, MLX4_STAT_BAD_PARAM},
		{UINT64_C(7) << 30, 2, 0},
	};
	struct card *c = *state;
	uint64_t buf = card_alloc(c, 4 * CARD_PAGE, 4 * CARD_PAGE);

	for (unsigned int i = 0; i < COUNT(row); i++)
		assert_int_equal(map_icm(c, row[i].va, buf | row[i].pa), row[i].status);
	/* Whole pages, at least one, and none behind the end. */
	assert_int_equal(card_cmd(c, MLX4_CMD_UNMAP_ICM, 0, 0, 0, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd(c, MLX4_CMD_UNMAP_ICM, 0, 1, UINT64_C(1) << 40, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd(c, MLX4_CMD_UNMAP_ICM, 0, 2, (UINT64_C(1) << 40) - 4096, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd(c, MLX4_CMD_UNMAP_ICM, 0, 2, (UINT64_C(1) << 40) - 8192, 0), 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_UNMAP_ICM, 0, 1, 0x7fff, 0), MLX4_STAT_BAD_PARAM);
	/* A firmware area may be bigger pieces at any address, but these are aligned, too; all of it lies in open windows. */
	assert_int_equal(tp_model_dma_unmap(c->m, buf + 2 * CARD_PAGE, CARD_PAGE), 0);
	assert_int_equal(map_icm(c, UINT64_C(8) << 30, buf | 2), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_violations(c, "dma-unmapped"), 1);
	assert_int_equal(map_icm(c, UINT64_C(8) << 30, buf | 1), 0);
}

static void
sizes_of_icm(void **state)
{
	static const struct {
		uint64_t octets;
		int status;
		uint64_t pages;
	} row[] = {
		{0, MLX4_STAT_EXCEED_LIM, 0},
		{1, 0, 16},
		{(1 << 24) - 1, 0, 16},
		{1 << 24, 0, 17},
		{UINT64_C(1) << 40, 0, 16 + 65536},
		{(UINT64_C(1) << 40) + 1, MLX4_STAT_EXCEED_LIM, 0},
	};
	struct card *c = *state;

	assert_int_equal(card_start_fw(c), 0);
	for (unsigned int i = 0; i < COUNT(row); i++) {
		assert_int_equal(card_cmd(c, MLX4_CMD_SET_ICM_SIZE, 0, 0, row[i].octets, 0), row[i].status);
		if (row[i].status == 0)
			assert_int_equal(c->imm, row[i].pages);
	}
}

/* --- windows of DMA --- */

static void
windows_of_dma(void **state)
{
	static uint8_t mem[8 * 4096];
	struct card *c = *state;
	uint64_t avail = 0, below = 0;
	char text[256];

	assert_int_equal(tp_model_dma_map(c->m, 0x1000, 0x1000, mem, TP_DMA_READ), 0);
	assert_int_equal(tp_model_dma_map(c->m, 0x2000, 0x1000, mem + 0x1000, TP_DMA_WRITE), 0);
	assert_int_equal(tp_model_dma_map(c->m, UINT64_MAX - 0xfff, 0x1000, mem + 0x2000, 3), 0);
	assert_int_equal(tp_model_dma_map(c->m, 0x9000, 0x1000, NULL, 3), -EINVAL);
	assert_int_equal(tp_model_dma_map(c->m, 0x9000, 0x1000, mem, 4), -EINVAL);
	assert_int_equal(tp_model_dma_map(c->m, 0x9000, 0x1000, mem, 7), -EINVAL);
	assert_ptr_equal(tpm_dma_probe(c->m, 0x1000, 0x1000, TP_DMA_READ, NULL), mem);
	assert_ptr_equal(tpm_dma_probe(c->m, 0x1fff, 1, TP_DMA_READ, NULL), mem + 0xfff);
	assert_null(tpm_dma_probe(c->m, 0x1fff, 2, TP_DMA_READ, NULL));
	assert_null(tpm_dma_probe(c->m, 0xfff, 1, TP_DMA_READ, NULL));
	assert_null(tpm_dma_probe(c->m, 0x1000, 1, TP_DMA_WRITE, NULL));
	assert_null(tpm_dma_probe(c->m, 0x1000, 1, 3, NULL));
	assert_null(tpm_dma_probe(c->m, 0x2000, 1, TP_DMA_READ, NULL));
	assert_ptr_equal(tpm_dma_probe(c->m, 0x2abc, 1, TP_DMA_WRITE, &avail), mem + 0x1abc);
	assert_int_equal(avail, 0x1000 - 0xabc);
	assert_ptr_equal(tpm_dma_probe(c->m, UINT64_MAX, 1, 3, NULL), mem + 0x2fff);
	assert_ptr_equal(tpm_dma_window_base(c->m, 0x2abc, &below), mem + 0x1000);
	assert_int_equal(below, 0xabc);
	/* A refusal says what was wanted. */
	assert_null(tpm_dma(c->m, 0x1000, 16, TP_DMA_WRITE, "thing"));
	tp_model_last_violation(c->m, text, sizeof(text));
	assert_string_equal(text, "dma-unmapped: thing 0x0: address 0x1000, 16 bytes, access w: no open window");
	assert_null(tpm_dma(c->m, 0x3000, 8, TP_DMA_READ, "thing"));
	tp_model_last_violation(c->m, text, sizeof(text));
	assert_string_equal(text, "dma-unmapped: thing 0x0: address 0x3000, 8 bytes, access r: no open window");
	assert_null(tpm_dma(c->m, 0x3000, 8, 3, "thing"));
	tp_model_last_violation(c->m, text, sizeof(text));
	assert_string_equal(text, "dma-unmapped: thing 0x0: address 0x3000, 8 bytes, access rw: no open window");
	/* Ranges to close. */
	assert_int_equal(tp_model_dma_unmap(c->m, 0x1000, 0), -EINVAL);
	assert_int_equal(tp_model_dma_unmap(c->m, UINT64_MAX, 2), -EINVAL);
	assert_int_equal(tp_model_dma_unmap(c->m, UINT64_MAX, 1), 0);
	assert_null(tpm_dma_probe(c->m, UINT64_MAX, 1, 3, NULL));
	assert_non_null(tpm_dma_probe(c->m, UINT64_MAX - 1, 1, 3, NULL));
	assert_int_equal(tp_model_dma_unmap(c->m, 0x1800, 0x1000), 0);
	assert_ptr_equal(tpm_dma_probe(c->m, 0x17ff, 1, TP_DMA_READ, NULL), mem + 0x7ff);
	assert_null(tpm_dma_probe(c->m, 0x1800, 1, TP_DMA_READ, NULL));
	assert_null(tpm_dma_probe(c->m, 0x27ff, 1, TP_DMA_WRITE, NULL));
	assert_ptr_equal(tpm_dma_probe(c->m, 0x2800, 0x800, TP_DMA_WRITE, NULL), mem + 0x1800);
}

/* Any number of windows, in any order. */
static void
many_windows(void **state)
{
	static uint8_t mem[101 * 4096];
	struct card *c = *state;
	struct tp_model_stats st;

	for (uint32_t i = 0; i < 101; i++) {
		uint32_t n = i * 37 % 101;

		assert_int_equal(tp_model_dma_map(c->m, 0x100000 + n * 8192, 4096, mem + n * 4096, 3), 0);
	}
	for (uint32_t n = 0; n < 101; n++) {
		assert_ptr_equal(tpm_dma_probe(c->m, 0x100000 + n * 8192, 4096, 3, NULL), mem + n * 4096);
		assert_null(tpm_dma_probe(c->m, 0x100000 + n * 8192 + 4096, 1, 3, NULL));
	}
	assert_int_equal(tp_model_dma_unmap(c->m, 0x100000 + 8192, 50 * 8192), 0);
	tp_model_get_stats(c->m, &st);
	assert_int_equal(st.dma_windows, 1 + 101 - 50);
	for (uint32_t n = 0; n < 101; n++)
		assert_int_equal(tpm_dma_probe(c->m, 0x100000 + n * 8192, 1, 3, NULL) != NULL, n < 1 || n > 50);
}

int
main(void)
{
#define ON(f) cmocka_unit_test_setup_teardown(f, setup_power_on, teardown_card)
#define UP(f) cmocka_unit_test_setup_teardown(f, setup_booted, teardown_card)
	const struct CMUnitTest tests[] = {
		UP(rings_of_pages),
		UP(rings_of_large_pages),
		UP(rings_that_are_not_there),
		UP(pages_of_icm),
		UP(mappings_that_are_refused),
		ON(sizes_of_icm),
		ON(windows_of_dma),
		ON(many_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
