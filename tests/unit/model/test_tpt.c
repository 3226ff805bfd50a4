/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Memory keys by command and in use [CP 5.8, 5.9, 10.3]. The translation itself is called directly. */
#include "harness.h"

#include "model/mem/mem.h"

#define KEY (((CARD_MPT + 1) << 8) | 0x33u)
#define VA UINT64_C(0x7f0000000800)

static struct tpm_tlb tlb;

static uint8_t *
xlat(struct card *c, uint32_t key, uint32_t pd, uint64_t va, uint32_t *len, uint32_t access, enum tpm_xlat_err *err)
{
	return tpm_mr_translate(c->m, &tlb, key, pd, va, len, access, err);
}

static enum tpm_xlat_err
why(struct card *c, uint32_t key, uint32_t pd, uint64_t va, uint32_t len, uint32_t access)
{
	enum tpm_xlat_err err = TPM_XLAT_OK;

	assert_true((xlat(c, key, pd, va, &len, access, &err) == NULL) == (err != TPM_XLAT_OK));
	return err;
}

/* Three pages in reverse order of memory, so that no two are neighbours going up. */
static uint64_t
make_mr(struct card *c)
{
	uint64_t buf = card_alloc(c, 3 * CARD_PAGE, CARD_PAGE), mtt = card_mtt(c, buf + 2 * CARD_PAGE, 1);

	card_mtt(c, buf + CARD_PAGE, 1);
	card_mtt(c, buf, 1);
	card_mr_ctx(c, card_in(c), KEY, VA, 2 * CARD_PAGE, false);
	prm_set(card_ptr(c, c->in), MLX4_MPT_MTT_L, (uint32_t)mtt);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT + 1), 0);
	tlb = (struct tpm_tlb){0};
	return buf;
}

/* A number beyond the table, as software counts it up with each round, is part of the key and not of the place. */
static void
test_key_beyond_the_table(void **state)
{
	struct card *c = *state;
	uint32_t key = KEY | 5u << (8 + CARD_LG_MPTS);
	uint64_t buf = card_alloc(c, CARD_PAGE, CARD_PAGE);
	uint8_t *in = card_in(c);

	card_mr_ctx(c, in, key, VA, CARD_PAGE, false);
	prm_set(in, MLX4_MPT_MTT_L, (uint32_t)card_mtt(c, buf, 1));
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT + 1), 0);
	tlb = (struct tpm_tlb){0};
	assert_int_equal(why(c, key, CARD_PD, VA, 64, TPM_ACC_LR), TPM_XLAT_OK);
	assert_int_equal(why(c, KEY, CARD_PD, VA, 64, TPM_ACC_LR), TPM_XLAT_KEY);
	card_expect_clean(c);
}

static void
test_translate(void **state)
{
	struct card *c = *state;
	uint64_t buf = make_mr(c);
	enum tpm_xlat_err err;
	uint32_t len = 64;

	/* The region starts 0x800 into its first page. */
	assert_ptr_equal(xlat(c, KEY, CARD_PD, VA, &len, TPM_ACC_LR, &err), card_ptr(c, buf + 2 * CARD_PAGE + 0x800));
	assert_int_equal(len, 64);
	len = 4096;
	assert_ptr_equal(xlat(c, KEY, CARD_PD, VA, &len, TPM_ACC_LR, &err), card_ptr(c, buf + 2 * CARD_PAGE + 0x800));
	assert_int_equal(len, 0x800); /* cut at the page: the next one is elsewhere */
	len = 16;
	assert_ptr_equal(xlat(c, KEY, CARD_PD, VA + 0x1900, &len, TPM_ACC_LW, &err), card_ptr(c, buf + 0x100));
	assert_int_equal(why(c, KEY, CARD_PD, VA + 0x1fff, 1, TPM_ACC_LR), TPM_XLAT_OK);
	assert_int_equal(why(c, KEY, CARD_PD, VA + 0x1fff, 2, TPM_ACC_LR), TPM_XLAT_BOUNDS);
	assert_int_equal(why(c, KEY, CARD_PD, VA + 0x2000, 1, TPM_ACC_LR), TPM_XLAT_BOUNDS);
	assert_int_equal(why(c, KEY, CARD_PD, VA + 0x2800, 1, TPM_ACC_LR), TPM_XLAT_BOUNDS);
	assert_int_equal(why(c, KEY, CARD_PD, VA - 1, 1, TPM_ACC_LR), TPM_XLAT_BOUNDS);
	assert_int_equal(why(c, KEY, CARD_PD + 1, VA + 0x1000, 1, TPM_ACC_RR), TPM_XLAT_PD);
	assert_int_equal(why(c, KEY, CARD_PD, VA, 1, TPM_ACC_RW), TPM_XLAT_ACCESS);
	assert_int_equal(why(c, KEY ^ 1, CARD_PD, VA, 1, TPM_ACC_LR), TPM_XLAT_KEY);
	assert_int_equal(why(c, KEY + 256, CARD_PD, VA, 1, TPM_ACC_LR), TPM_XLAT_KEY);
	assert_int_equal(why(c, 0xffffff00, CARD_PD, VA, 1, TPM_ACC_LR), TPM_XLAT_KEY);
	/* The table has 2^10 entries: higher bits of the number lead to the same one, which has another key. */
	assert_int_equal(why(c, KEY | 1u << (8 + CARD_LG_MPTS), CARD_PD, VA, 1, TPM_ACC_LR), TPM_XLAT_KEY);
}

/* A right is given by its own bit of the region's context, and by no other. */
static void
test_rights(void **state)
{
	static const uint32_t bit[] = {MLX4_MPT_LR, MLX4_MPT_LW, MLX4_MPT_RR, MLX4_MPT_RW, MLX4_MPT_ATOMIC};
	static const uint32_t access[] = {TPM_ACC_LR, TPM_ACC_LW, TPM_ACC_RR, TPM_ACC_RW, TPM_ACC_ATOMIC};
	struct card *c = *state;
	uint64_t buf = card_alloc(c, CARD_PAGE, CARD_PAGE), mtt = card_mtt(c, buf, 1);

	for (unsigned int given = 0; given < 5; given++) {
		uint8_t *in = card_in(c);

		card_mr_ctx(c, in, KEY, VA, CARD_PAGE, false);
		prm_set(in, MLX4_MPT_MTT_L, (uint32_t)mtt);
		for (unsigned int i = 0; i < 5; i++)
			prm_set(in, bit[i], i == given);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT + 1), 0);
		for (unsigned int i = 0; i < 5; i++) {
			tlb = (struct tpm_tlb){0};
			assert_int_equal(why(c, KEY, CARD_PD, VA, 8, access[i]),
					 i == given ? TPM_XLAT_OK : TPM_XLAT_ACCESS);
		}
		assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_MPT, 1, CARD_MPT + 1), 0);
	}
}

static void
test_contiguous_pages_are_one_piece(void **state)
{
	struct card *c = *state;
	uint64_t buf = card_alloc(c, 4 * CARD_PAGE, CARD_PAGE), mtt = card_mtt(c, buf, 4);
	enum tpm_xlat_err err;
	uint32_t len = 4 * CARD_PAGE;

	card_mr_ctx(c, card_in(c), KEY, buf, 4 * CARD_PAGE, false);
	prm_set(card_ptr(c, c->in), MLX4_MPT_MTT_L, (uint32_t)mtt);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT + 1), 0);
	tlb = (struct tpm_tlb){0};
	assert_ptr_equal(xlat(c, KEY, CARD_PD, buf, &len, TPM_ACC_LR, &err), card_ptr(c, buf));
	assert_int_equal(len, 4 * CARD_PAGE);
}

/* A page of a region may lie in windows that are neighbours for the card and not for the host; where there is none nothing is reached. */
static void
test_page_of_several_windows(void **state)
{
	const uint64_t far = UINT64_C(0x7000000000), va = UINT64_C(0x7f0000100000);
	struct card *c = *state;
	static _Alignas(CARD_PAGE) uint8_t mem[2 * CARD_PAGE];
	enum tpm_xlat_err err;
	uint8_t *in = card_in(c);
	uint32_t len = 64;

	assert_int_equal(tp_model_dma_map(c->m, far, CARD_PAGE, mem + CARD_PAGE, TP_DMA_READ | TP_DMA_WRITE), 0);
	assert_int_equal(tp_model_dma_map(c->m, far + CARD_PAGE, CARD_PAGE, mem, TP_DMA_READ | TP_DMA_WRITE), 0);
	card_mr_ctx(c, in, KEY, va, 4 * CARD_PAGE, false);
	prm_set(in, MLX4_MPT_ENTITY, 14);
	prm_set(in, MLX4_MPT_MTT_L, (uint32_t)card_mtt(c, far, 1));
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT + 1), 0);
	tlb = (struct tpm_tlb){0};
	assert_ptr_equal(xlat(c, KEY, CARD_PD, va + 8, &len, TPM_ACC_LR, &err), mem + CARD_PAGE + 8);
	assert_int_equal(len, 64);
	len = 2 * CARD_PAGE - 8;
	assert_ptr_equal(xlat(c, KEY, CARD_PD, va + 8, &len, TPM_ACC_LR, &err), mem + CARD_PAGE + 8);
	assert_int_equal(len, CARD_PAGE - 8);
	len = 64;
	assert_ptr_equal(xlat(c, KEY, CARD_PD, va + CARD_PAGE + 8, &len, TPM_ACC_LR, &err), mem + 8);
	assert_int_equal(why(c, KEY, CARD_PD, va + 2 * CARD_PAGE, 1, TPM_ACC_LR), TPM_XLAT_DMA);
	assert_int_equal(why(c, KEY, CARD_PD, va + 4 * CARD_PAGE, 1, TPM_ACC_LR), TPM_XLAT_BOUNDS);
	card_expect_clean(c);
}

/* A queue pair sends from the memory that it receives into: what was looked up for one is there for the other, as the table goes. */
static void
test_one_line_for_both_ways(void **state)
{
	struct card *c = *state;
	uint64_t buf = card_alloc(c, CARD_PAGE, CARD_PAGE), mtt = card_mtt(c, buf, 1);

	card_mr_ctx(c, card_in(c), KEY, buf, CARD_PAGE, false);
	prm_set(card_ptr(c, c->in), MLX4_MPT_MTT_L, (uint32_t)mtt);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT + 1), 0);
	tlb = (struct tpm_tlb){0};
	assert_int_equal(why(c, KEY, CARD_PD, buf, 64, TPM_ACC_LR), TPM_XLAT_OK);
	assert_int_equal(why(c, KEY, CARD_PD, buf, 64, TPM_ACC_RW), TPM_XLAT_ACCESS);
	assert_int_equal(why(c, KEY, CARD_PD, buf, 64, TPM_ACC_LW), TPM_XLAT_OK);
	/* The entry's edit is not seen before a command tells of it, so that nothing may be looked up again until then. */
	memset(tpm_icm_probe(c->m, c->m->mtt_base + mtt, MLX4_MTT_SIZE), 0, MLX4_MTT_SIZE);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(why(c, KEY, CARD_PD, buf, 64, i % 2 == 0 ? TPM_ACC_LR : TPM_ACC_LW), TPM_XLAT_OK);
	tpm_tpt_changed(c->m);
	assert_int_equal(why(c, KEY, CARD_PD, buf, 64, TPM_ACC_LR), TPM_XLAT_MTT);
	assert_int_equal(why(c, KEY, CARD_PD, buf, 64, TPM_ACC_LW), TPM_XLAT_MTT);
}

static void
test_physical(void **state)
{
	struct card *c = *state;

	tlb = (struct tpm_tlb){0};
	card_mr_ctx(c, card_in(c), KEY, 0, UINT64_MAX, true);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT + 1), 0);
	assert_int_equal(why(c, KEY, CARD_PD, CARD_IOVA + 5, 100, TPM_ACC_LR), TPM_XLAT_OK);
	assert_int_equal(why(c, KEY, CARD_PD, 0x1000, 1, TPM_ACC_LR), TPM_XLAT_DMA);
	/* A window that closes takes cached translations with it. */
	assert_int_equal(tp_model_dma_unmap(c->m, CARD_IOVA + (32u << 20), 4096), 0);
	assert_int_equal(why(c, KEY, CARD_PD, CARD_IOVA + (32u << 20), 1, TPM_ACC_LR), TPM_XLAT_DMA);
	assert_int_equal(why(c, KEY, CARD_PD, CARD_IOVA + (32u << 20) - 1, 1, TPM_ACC_LR), TPM_XLAT_OK);
}

static void
test_edit_in_place(void **state)
{
	struct card *c = *state;
	uint64_t buf = make_mr(c);
	uint8_t *mpt = card_ptr(c, c->dmpt_mem) + (CARD_MPT + 1) * 64;

	assert_int_equal(why(c, KEY, CARD_PD, VA, 1, TPM_ACC_LR), TPM_XLAT_OK);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_MPT, 1, CARD_MPT + 1), 0);
	assert_int_equal(mpt[0] >> 4, 0xf);
	assert_int_equal(why(c, KEY, CARD_PD, VA, 1, TPM_ACC_LR), TPM_XLAT_KEY);
	prm_set(mpt, MLX4_MPT_PD, 9);
	mpt[0] = 0;
	assert_int_equal(card_cmd_none(c, MLX4_CMD_SYNC_TPT, 0, 0), 0);
	assert_int_equal(why(c, KEY, 9, VA, 1, TPM_ACC_LR), TPM_XLAT_OK);
	/* Entries of the MTT are read when they are used. */
	prm_set64(card_ptr(c, c->mtt_mem + c->mtt_next - 24), 0, 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_SYNC_TPT, 0, 0), 0);
	assert_int_equal(why(c, KEY, 9, VA, 1, TPM_ACC_LR), TPM_XLAT_MTT);
	(void)buf;
	card_expect_clean(c);
}

static void
test_write_mtt(void **state)
{
	struct card *c = *state;
	uint8_t *in = card_in(c);

	prm_set64(in, 0, 0x40); /* a byte offset: entry 8 */
	prm_set64(in, 0x10, 0xabc001);
	prm_set64(in, 0x18, 0xdef001);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_WRITE_MTT, 0, 2), 0);
	assert_int_equal(prm_get64(card_ptr(c, c->mtt_mem), 0x40), 0xabc001);
	assert_int_equal(prm_get64(card_ptr(c, c->mtt_mem), 0x48), 0xdef001);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_WRITE_MTT, 0, 511), MLX4_STAT_BAD_PARAM);
	card_expect(c, "cmd-param", 1);
	prm_set64(in, 0, 1u << 20);                                    /* beyond what is mapped */
	assert_int_equal(card_cmd_in(c, MLX4_CMD_WRITE_MTT, 0, 1), 0); /* the next table: real cards do not check */
	prm_set64(in, 0, UINT64_C(1) << 36);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_WRITE_MTT, 0, 1), MLX4_STAT_ICM_ERROR);
	assert_int_equal(card_violations(c, "icm-unmapped"), 1);
}

static void
test_wrong_use(void **state)
{
	struct card *c = *state;

	make_mr(c);
	card_mr_ctx(c, card_in(c), KEY, VA, 1, true);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT + 1), MLX4_STAT_BAD_RES_STATE);
	card_expect(c, "cmd-resource-state", 1);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, 255), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, 1u << CARD_LG_MPTS), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_violations(c, "cmd-index"), 2);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_MPT, 1, CARD_MPT + 9), MLX4_STAT_BAD_RES_STATE);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT + 2), MLX4_STAT_BAD_PARAM); /* key of another */
	card_mr_ctx(c, card_in(c), KEY + 256, VA, 0, true);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT + 2), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_violations(c, "cmd-param"), 2);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_MPT, 0, CARD_MPT + 1), 0);
	assert_int_equal(prm_get64(card_out(c), 0x10), VA);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_key_beyond_the_table, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_translate, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_rights, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_contiguous_pages_are_one_piece, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_page_of_several_windows, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_one_line_for_both_ways, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_physical, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_edit_in_place, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_write_mtt, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_wrong_use, setup_booted, teardown_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
