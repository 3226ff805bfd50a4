/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Where the contexts lie, UAR pages and the reset, in bytes and registers [CP 1.4, 3.6, 7, 8]. */
#include <errno.h>

#include "fake_one.h"

#define INIT_HCA 0x007
#define UNMAP_ICM 0xff9
#define MAP_ICM 0xffa
#define UNMAP_ICM_AUX 0xffb
#define MAP_ICM_AUX 0xffc
#define SET_ICM_SIZE 0xffd

/* 2^10 bytes for a steering entry: 121 members in lines of four, behind two lines of other things. */
static void
open_icm(void)
{
	hca->caps.dmfs_max_qps = 121;
	hca->caps.mw = true;
	hca->caps.flags = UINT64_C(1) << 48 | UINT64_C(1) << 52;
	fake_answer(&card, SET_ICM_SIZE, 1)->imm = 3;
	assert_int_equal(mlx4_icm_create(hca), 0);
}

/* Where each table begins and how many pages of 4 KiB it has: each aligned to its size, behind 4 windows of 1 GiB. */
static const struct {
	uint64_t base;
	uint32_t pages;
} table[] = {
	{0x00000000, 64},              /* cMPT of 4096 QPs of 64 bytes */
	{0x40000000, 4},               /* of 256 SRQs */
	{0x80000000, 32},              /* of 2048 CQs */
	{0xc0000000, 2},               /* of 128 EQs */
	{UINT64_C(0x100000000), 4096}, /* 16384 rules of 1024 bytes */
	{UINT64_C(0x101000000), 256},  /* QPC of 256 */
	{UINT64_C(0x101200000), 512},  /* 262144 MTTs of 8 */
	{UINT64_C(0x101400000), 64},   /* ALTC of 64 */
	{UINT64_C(0x101600000), 512},  /* RDMARC: 16 of 32 for each QP */
	{UINT64_C(0x101800000), 64},   /* CQC of 128 */
	{UINT64_C(0x101840000), 1},    /* AUXC of 1 */
	{UINT64_C(0x101848000), 8},    /* SRQC of 128 */
	{UINT64_C(0x101850000), 4},    /* EQC of 128 */
	{UINT64_C(0x101880000), 64},   /* 4096 dMPTs of 64 */
};

static void
test_icm(void **state)
{
	const struct fake_cmd *cmd;
	unsigned int i, k;

	open_icm();
	assert_int_equal(fake_nth(&card, SET_ICM_SIZE, 0)->in_param, UINT64_C(0x1018c0000));
	assert_int_equal(fake_count(&card, MAP_ICM_AUX), 1);
	assert_int_equal(fake_count(&card, MAP_ICM), RTE_DIM(table));
	for (i = 0; i < RTE_DIM(table); i++) {
		uint64_t at = table[i].base, pages = 0;

		cmd = fake_nth(&card, MAP_ICM, i);
		for (k = 0; k < cmd->in_modifier; k++) {
			assert_int_equal(prm_get64(cmd->box, k * 16), at + pages * 4096);
			pages += UINT64_C(1) << (prm_get64(cmd->box, k * 16 + 8) & 0x3f);
		}
		assert_int_equal(pages, table[i].pages);
		/* Aligned to 256 KiB at least, so that few pieces are enough. */
		assert_in_range(cmd->in_modifier, 1, RTE_MAX(table[i].pages / 64, 1u));
	}
	assert_int_equal(mlx4_icm_num_qps(hca), 4096);
	assert_int_equal(mlx4_icm_num_cqs(hca), 2048);
	assert_int_equal(mlx4_icm_num_srqs(hca), 256);
	assert_int_equal(mlx4_icm_num_eqs(hca), 128);
	assert_int_equal(mlx4_icm_num_mpts(hca), 4096);
	assert_int_equal(mlx4_icm_num_mtts(hca), 262144);
	assert_ptr_equal(mlx4_icm_mtt(hca, 3), mlx4_icm_mtt(hca, 0) + 3);
	assert_int_equal((uintptr_t)mlx4_icm_mtt(hca, 0),
			 prm_get64(fake_nth(&card, MAP_ICM, 6)->box, 8) & ~UINT64_C(0xfff));
	fake_forget(&card);
	mlx4_icm_destroy(hca);
	assert_int_equal(card.num_cmds, RTE_DIM(table) + 1);
	for (i = 0; i < RTE_DIM(table); i++) {
		assert_int_equal(card.cmd[i].op, UNMAP_ICM);
		assert_int_equal(card.cmd[i].in_param, table[RTE_DIM(table) - 1 - i].base);
		assert_int_equal(card.cmd[i].in_modifier, table[RTE_DIM(table) - 1 - i].pages);
	}
	fake_last(&card, UNMAP_ICM_AUX);
	assert_int_equal(card.resets, 0);
}

static void
test_init_hca(void **state)
{
	open_icm();
	assert_int_equal(mlx4_icm_init_hca(hca), 0);
	FAKE_BOX(fake_last(&card, INIT_HCA), {0x000, 0x02000000}, /* version 2 */
		 {0x00c, 0x00005000},                             /* cache lines of 64 bytes */
		 {0x014, 0x00002059}, /* fragments, steering by rules, counters, checksums, ports in address vectors */
		 {0x030, 1}, {0x034, 0x0100000c}, {0x048, 1}, {0x04c, 0x01848008}, {0x050, 1}, {0x054, 0x0180000b},
		 {0x060, 1}, {0x064, 0x01400000}, {0x070, 1}, {0x074, 0x01840000}, {0x080, 1}, {0x084, 0x01850007},
		 {0x090, 1}, {0x094, 0x01600004}, {0x0f0, 1}, {0x0f4, 0x01880000}, {0x0f8, 0x8000000c}, {0x100, 1},
		 {0x104, 0x01200000}, {0x128, 0x00000a00}, {0x1d0, 1}, {0x1e0, 0x0000000a}, {0x1e8, 0x0000000e},
		 {0x1f0, 0x00060008}, {0x1f4, 0x00060008});
	mlx4_icm_destroy(hca);
	/* Event queues that the firmware shares out; neither counters nor windows. */
	hca->caps.sys_eqs = 64;
	hca->caps.mw = false;
	hca->caps.flags = 0;
	hca->caps.dmfs_max_qps = 250;
	assert_int_equal(mlx4_icm_create(hca), 0);
	assert_int_equal(mlx4_icm_num_eqs(hca), 64);
	assert_int_equal(mlx4_icm_init_hca(hca), 0);
	assert_int_equal(prm_get32(fake_last(&card, INIT_HCA)->box, 0x014), 0x49);
	assert_int_equal(prm_get32(fake_last(&card, INIT_HCA)->box, 0x084) & 0x1f, 0x1f);
	assert_int_equal(prm_get32(fake_last(&card, INIT_HCA)->box, 0x088), 64);
	assert_int_equal(prm_get32(fake_last(&card, INIT_HCA)->box, 0x0f8), 12);
	assert_int_equal(prm_get32(fake_last(&card, INIT_HCA)->box, 0x1e0), 11);
	mlx4_icm_destroy(hca);
}

/* Entries of steering: from 128 bytes to 4096, by how many queue pairs the card puts into one. */
static void
test_rule_size(void **state)
{
	static const struct {
		uint16_t members;
		uint32_t lg;
	} row[] = {{0, 7}, {24, 7}, {25, 8}, {56, 8}, {57, 9}, {120, 9}, {1016, 12}, {1017, 12}};
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		hca->caps.dmfs_max_qps = row[i].members;
		assert_int_equal(mlx4_icm_create(hca), 0);
		assert_int_equal(mlx4_icm_init_hca(hca), 0);
		assert_int_equal(prm_get32(fake_last(&card, INIT_HCA)->box, 0x1e0), row[i].lg);
		mlx4_icm_destroy(hca);
		fake_forget(&card);
	}
}

/* Limits of a smaller card; its reserved SRQs are rounded up. */
static void
test_small_card(void **state)
{
	hca->caps.max_qps = hca->caps.max_cqs = hca->caps.max_mpts = 512;
	hca->caps.max_eqs = 32;
	hca->caps.rsvd_srqs = 300;
	assert_int_equal(mlx4_icm_create(hca), 0);
	/* No page of bookkeeping was asked for. */
	assert_int_equal(fake_count(&card, MAP_ICM_AUX), 0);
	assert_int_equal(mlx4_icm_num_qps(hca), 512);
	assert_int_equal(mlx4_icm_num_cqs(hca), 512);
	assert_int_equal(mlx4_icm_num_srqs(hca), 512);
	assert_int_equal(mlx4_icm_num_eqs(hca), 32);
	assert_int_equal(mlx4_icm_num_mpts(hca), 512);
	mlx4_icm_destroy(hca);
	assert_int_equal(fake_count(&card, UNMAP_ICM_AUX), 0);
}

static void
test_icm_fails(void **state)
{
	unsigned int i;

	hca->caps.dmfs_max_qps = 121;
	hca->caps.max_icm = UINT64_C(0x1018c0000) - 1;
	rig_log_begin();
	assert_int_equal(mlx4_icm_create(hca), -ENOSPC);
	rig_log_one("contexts need 0x1018c0000 bytes of ICM", "the card has 0x1018bffff");
	assert_int_equal(card.num_cmds, 0);
	assert_null(hca->icm);
	hca->caps.max_icm++;
	fake_refuse(&card, SET_ICM_SIZE, 1, 8);
	assert_int_equal(mlx4_icm_create(hca), -ENOSPC);
	assert_int_equal(card.num_cmds, 1);
	/* The one that was refused is taken back, too: it may have been done. */
	for (i = 0; i < 3; i++) {
		fake_forget(&card);
		card.num_answers = 0;
		if (i != 0)
			fake_answer(&card, MAP_ICM, i);
		fake_refuse(&card, MAP_ICM, 1, 0x05);
		assert_int_equal(mlx4_icm_create(hca), -EBADF);
		assert_int_equal(fake_count(&card, MAP_ICM), i + 1);
		assert_int_equal(fake_count(&card, UNMAP_ICM), i + 1);
		assert_null(hca->icm);
	}
	assert_int_equal(card.resets, 0);
	/* A card that keeps a table is reset before its memory goes. */
	assert_int_equal(mlx4_icm_create(hca), 0);
	fake_refuse(&card, UNMAP_ICM, 1, 6);
	mlx4_icm_destroy(hca);
	assert_int_equal(card.resets, 1);
}

static void
test_aux_stays(void **state)
{
	open_icm();
	fake_refuse(&card, UNMAP_ICM_AUX, 1, 6);
	mlx4_icm_destroy(hca);
	assert_int_equal(card.resets, 1);
	assert_true(hca->dead);
}

/* UAR pages behind those of event queues and of the firmware; as many again for BlueFlame. */
static void
test_uars(void **state)
{
	uint32_t page;

	card.bus.uar_len = 2 * 1024 * 4096 - 1;
	rig_log_begin();
	assert_int_equal(mlx4_uars_init(hca), -ENODEV);
	rig_log_one("BAR2 has 8388607 bytes", "1024 UAR pages and as many BlueFlame pages need 8388608");
	card.bus.uar_len++;
	assert_int_equal(mlx4_uars_init(hca), 0);
	assert_int_equal(mlx4_uar_alloc(hca, &page), 0);
	assert_int_equal(page, 128);
	assert_int_equal(mlx4_uar_alloc(hca, &page), 0);
	assert_int_equal(page, 129);
	assert_ptr_equal(mlx4_uar_addr(hca, 129), card.uar + 129 * 4096);
	assert_ptr_equal(mlx4_bf_addr(hca, 129), card.uar + (1024 + 129) * 4096);
	mlx4_uar_free(hca, 128);
	assert_int_equal(mlx4_uar_alloc(hca, &page), 0);
	assert_int_equal(page, 128);
	mlx4_uars_fini(hca);
	assert_null(hca->uars);
	hca->caps.rsvd_uars = 1022;
	assert_int_equal(mlx4_uars_init(hca), 0);
	assert_int_equal(mlx4_uar_alloc(hca, &page), 0);
	assert_int_equal(page, 1022);
	assert_int_equal(mlx4_uar_alloc(hca, &page), 0);
	rig_log_begin();
	assert_int_equal(mlx4_uar_alloc(hca, &page), -ENOSPC);
	rig_log_one("all 2 UAR pages", "in use");
	mlx4_uars_fini(hca);
}

/* Memory for the card is zeros, also where there were others. */
static void
test_memory(void **state)
{
	struct mlx4_dma d;
	unsigned int i, k;

	for (i = 0; i < 2; i++) {
		assert_int_equal(mlx4_dma_alloc(hca, "a test", 8192, 4096, 0, &d), 0);
		assert_int_equal(d.iova % 4096, 0);
		assert_int_equal(d.len, 8192);
		for (k = 0; k < 8192; k++)
			assert_int_equal(((uint8_t *)d.va)[k], 0);
		memset(d.va, 0x5a, d.len);
		mlx4_dma_free(&d);
		assert_null(d.va);
		mlx4_dma_free(&d);
	}
	/* In whole cache lines. */
	assert_int_equal(mlx4_dma_alloc(hca, "a test", 65, 4096, 0, &d), 0);
	assert_int_equal(d.len, 128);
	mlx4_dma_free(&d);
	memset(&d, 0x5a, sizeof(d));
	rig_log_begin();
	assert_int_equal(mlx4_dma_alloc(hca, "a test", (size_t)1 << 40, 4096, 0, &d), -ENOMEM);
	rig_log_one("cannot get 1099511627776 bytes of DMA memory for a test on NUMA node 0", "fake0");
	assert_null(d.mz);
	assert_null(d.va);
	assert_int_equal(d.iova | d.len, 0);
}

/* The reset waits for its semaphore; a card whose registers are all ones for two seconds is gone. */
static void
test_reset(void **state)
{
	card.sem = 1;
	card.sem_reads = 4;
	hca->gone = true;
	assert_int_equal(mlx4_hca_reset(hca), 0);
	assert_false(hca->gone);
	assert_int_equal(card.resets, 1);
	card.sem = UINT32_MAX;
	card.sem_reads = 0;
	rig_log_begin();
	assert_int_equal(mlx4_hca_reset(hca), -ENODEV);
	rig_log_one("the card is gone", "2000 ms");
	assert_true(hca->gone);
	assert_int_equal(card.resets, 1);
	/* All ones at first are no such card. */
	card.sem_reads = 100;
	assert_int_equal(mlx4_hca_reset(hca), 0);
	assert_int_equal(card.resets, 2);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fake_up, fake_down)
	const struct CMUnitTest tests[] = {
		T(test_icm),       T(test_init_hca), T(test_rule_size), T(test_small_card), T(test_icm_fails),
		T(test_aux_stays), T(test_uars),     T(test_memory),    T(test_reset),
	};

	if (rig_eal("mlx4icm", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
