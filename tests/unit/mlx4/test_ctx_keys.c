/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Memory keys and steering rules in bytes [CP 5.8, 5.9, 6.3], and what is left when one is refused. */
#include <errno.h>

#include "fake_one.h"

#define SW2HW_MPT 0x00d
#define HW2SW_MPT 0x00f
#define ATTACH 0x065
#define DETACH 0x066
#define HI(x) ((uint32_t)((x) >> 32))
#define LO(x) ((uint32_t)(x))

/* The region of all memory by IO addresses. */
static void
test_whole_memory(void **state)
{
	assert_int_equal(mlx4_mr_create_pa(hca), 0);
	assert_int_equal(fake_last(&card, SW2HW_MPT)->in_modifier, 0x100);
	FAKE_BOX(fake_last(&card, SW2HW_MPT), {0x00, 0xf0020f00}, {0x08, 0x100}, {0x0c, 4}, {0x18, UINT32_MAX},
		 {0x1c, UINT32_MAX});
	assert_int_equal(hca->pa_key, 0x10000);
	mlx4_mr_destroy_pa(hca);
	assert_int_equal(fake_last(&card, HW2SW_MPT)->in_modifier, 0x100);
	assert_int_equal(fake_last(&card, HW2SW_MPT)->op_modifier, 1);
	assert_int_equal(card.resets, 0);
	fake_refuse(&card, SW2HW_MPT, 1, 3);
	assert_int_equal(mlx4_mr_create_pa(hca), -EINVAL);
	assert_int_equal(mlx4_mr_create_pa(hca), 0);
	fake_refuse(&card, HW2SW_MPT, 1, 3);
	mlx4_mr_destroy_pa(hca);
	assert_int_equal(card.resets, 1);
}

/* Memory that begins at a multiple of 256 KiB; a key is the place and a byte of its own. */
static void
test_region(void **state)
{
	static const struct {
		uint32_t access, bits;
	} row[] = {{0, 0x400}, {1, 0xc00}, {2, 0x1400}, {4, 0x2400}, {8, 0x4400}, {16, 0x8400}, {31, 0xfc00}};
	uint8_t *p = rte_malloc(NULL, 256 << 10, 256 << 10);
	struct mlx4_mkey key;
	unsigned int i;

	assert_non_null(p);
	for (i = 0; i < RTE_DIM(row); i++) {
		const struct fake_cmd *cmd;
		uint64_t va = (uintptr_t)p + 0x123;

		assert_int_equal(mlx4_region_create(hca, 6, p + 0x123, 1000, va, row[i].access, &key), 0);
		cmd = fake_last(&card, SW2HW_MPT);
		assert_int_equal(cmd->in_modifier, 0x100);
		assert_int_equal(key.index, 0x100);
		assert_int_equal(key.key, 0x10000 | (i + 1));
		FAKE_BOX(cmd, {0x00, 0xf0020100 | row[i].bits}, {0x08, (i + 1) << 24 | 0x100}, {0x0c, 0x03000006},
			 {0x10, HI(va)}, {0x14, LO(va)}, {0x1c, 1000}, {0x30, 0x10 * 8}, {0x38, 12});
		fake_mtts_are(&card, 0x10, 1, 4096, (uintptr_t)p);
		assert_int_equal(mlx4_mkey_destroy(hca, &key), 0);
		assert_int_equal(fake_last(&card, HW2SW_MPT)->in_modifier, 0x100);
		assert_int_equal(fake_last(&card, HW2SW_MPT)->op_modifier, 1);
		assert_int_equal(fake_mtt(&card, 0x10), 0);
	}
	/* Another address for it, as long as both lie alike in a page: the pages are as large as that allows. */
	assert_int_equal(mlx4_region_create(hca, 6, p, 128 << 10, 0x50000, 1, &key), 0);
	assert_int_equal(prm_get32(fake_last(&card, SW2HW_MPT)->box, 0x38), 16);
	assert_int_equal(prm_get32(fake_last(&card, SW2HW_MPT)->box, 0x14), 0x50000);
	fake_mtts_are(&card, 0x10, 2, 65536, (uintptr_t)p);
	assert_int_equal(mlx4_mkey_destroy(hca, &key), 0);
	rig_log_begin();
	assert_int_equal(mlx4_region_create(hca, 6, p, 100, 0x50800, 1, &key), -EINVAL);
	rig_log_one("as address 0x50800", "the same place in a page");
	rig_log_begin();
	assert_int_equal(mlx4_region_create(hca, 6, &key, 8, (uintptr_t)&key, 1, &key), -EFAULT);
	rig_log_one("8 bytes at", "no memory of the EAL");
	/* Refusals of the card leave nothing. */
	fake_refuse(&card, SW2HW_MPT, 1, 0x0a);
	assert_int_equal(mlx4_region_create(hca, 6, p, 100, (uintptr_t)p, 1, &key), -EBADF);
	assert_int_equal(card.resets, 0);
	assert_int_equal(mlx4_mtt_get(hca, 0x1000 - 0x10, &(uint32_t){0}), 0);
	assert_int_equal(mlx4_region_create(hca, 6, p, 100, (uintptr_t)p, 1, &key), -ENOSPC);
	mlx4_numbers_put(hca->mtts, 0x10, 0x1000 - 0x10);
	/* Windows are bound to it: it stays, and so do its numbers. */
	assert_int_equal(mlx4_region_create(hca, 6, p, 100, (uintptr_t)p, 1, &key), 0);
	fake_refuse(&card, HW2SW_MPT, 1, 0x21);
	assert_int_equal(mlx4_mkey_destroy(hca, &key), -EBUSY);
	assert_int_equal(mlx4_numbers_used(hca->mpts), 1);
	assert_int_equal(fake_mtt(&card, 0x10), (uintptr_t)p | 1);
	assert_int_equal(card.resets, 0);
	fake_refuse(&card, HW2SW_MPT, 1, 0x01);
	assert_int_equal(mlx4_mkey_destroy(hca, &key), -EIO);
	assert_int_equal(card.resets, 1);
	rte_free(p);
}

/* A region for work requests of up to 4 pages, and the list that such a request has. */
static void
test_fast_region(void **state)
{
	uint8_t *p = rte_malloc(NULL, 256 << 10, 256 << 10);
	struct mlx4_mkey key;
	rte_be64_t list[8];
	uint32_t lg;

	assert_non_null(p);
	assert_int_equal(mlx4_fast_region_create(hca, 6, 4, &key), 0);
	FAKE_BOX(fake_last(&card, SW2HW_MPT), {0x00, 0x30020100}, {0x08, 0x01000100}, {0x0c, 0x1b000006},
		 {0x30, 0x10 * 8}, {0x34, 4});
	assert_int_equal(mlx4_numbers_used(hca->mtts), 4);
	memset(list, 0, sizeof(list));
	assert_int_equal(mlx4_fast_region_pages(hca, &key, p, 256 << 10, 0x10000, list, &lg), 0);
	assert_int_equal(lg, 16);
	assert_int_equal(rte_be_to_cpu_64(list[0]), (uintptr_t)p | 1);
	assert_int_equal(rte_be_to_cpu_64(list[3]), ((uintptr_t)p + (192 << 10)) | 1);
	assert_int_equal(list[4], 0);
	rig_log_begin();
	assert_int_equal(mlx4_fast_region_pages(hca, &key, p, 20 << 10, 0x1000, list, &lg), -ENOSPC);
	rig_log_one("take 5 pages of 4096 bytes", "the region has 4");
	assert_int_equal(mlx4_mkey_destroy(hca, &key), 0);
	fake_refuse(&card, SW2HW_MPT, 1, 0x0a);
	assert_int_equal(mlx4_fast_region_create(hca, 6, 4, &key), -EBADF);
	assert_int_equal(mlx4_fast_region_create(hca, 6, 0x1000, &key), -ENOSPC);
	rte_free(p);
}

static void
test_windows(void **state)
{
	struct mlx4_mkey key, many[16];
	unsigned int i;

	assert_int_equal(mlx4_window_create(hca, 6, false, &key), 0);
	FAKE_BOX(fake_last(&card, SW2HW_MPT), {0x08, 0x01000100}, {0x0c, 6});
	assert_int_equal(mlx4_mkey_destroy(hca, &key), 0);
	assert_int_equal(mlx4_window_create(hca, 6, true, &key), 0);
	FAKE_BOX(fake_last(&card, SW2HW_MPT), {0x00, 0x30000000}, {0x08, 0x02000100}, {0x0c, 0x03000006});
	assert_int_equal(mlx4_mkey_destroy(hca, &key), 0);
	hca->caps.mw2b = true;
	assert_int_equal(mlx4_window_create(hca, 6, true, &key), 0);
	FAKE_BOX(fake_last(&card, SW2HW_MPT), {0x00, 0x30000000}, {0x04, 0x80}, {0x08, 0x03000100}, {0x0c, 0x03000006});
	assert_int_equal(mlx4_mkey_destroy(hca, &key), 0);
	assert_int_equal(key.mtt_pages, 0);
	for (i = 0; i < RTE_DIM(many); i++)
		assert_int_equal(mlx4_window_create(hca, 6, false, &many[i]), 0);
	rig_log_begin();
	assert_int_equal(mlx4_window_create(hca, 6, false, &key), -ENOSPC);
	rig_log_one("all 16 memory keys", "in use");
	for (i = 0; i < RTE_DIM(many); i++)
		assert_int_equal(mlx4_mkey_destroy(hca, &many[i]), 0);
	fake_refuse(&card, SW2HW_MPT, 1, 3);
	assert_int_equal(mlx4_window_create(hca, 6, false, &key), -EINVAL);
	card.bus.cmd_timeout_ms = 20;
	fake_answer(&card, SW2HW_MPT, 1)->silent = true;
	assert_int_equal(mlx4_window_create(hca, 6, false, &key), -ETIMEDOUT);
	assert_int_equal(card.resets, 1);
}

static void
test_protection_domains(void **state)
{
	uint32_t a, b, c;

	assert_int_equal(mlx4_pd_alloc(hca, &a), 0);
	assert_int_equal(mlx4_pd_alloc(hca, &b), 0);
	assert_int_equal(a, 5);
	assert_int_equal(b, 6);
	rig_log_begin();
	assert_int_equal(mlx4_pd_alloc(hca, &c), -ENOSPC);
	rig_log_one("all 2 protection domains", "in use");
	mlx4_pd_free(hca, a);
	assert_int_equal(mlx4_pd_alloc(hca, &a), 0);
	assert_int_equal(a, 5);
	mlx4_pd_free(hca, a);
	mlx4_pd_free(hca, b);
}

static void
test_rules(void **state)
{
	const struct rte_ether_addr mac = {{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}};
	uint8_t gid[16] = {0xff, 0x12, 0x40, 0x1b, [15] = 0x77}, specs[24], large[4096];
	const struct fake_cmd *cmd;
	uint64_t id = MLX4_NO_RULE;

	fake_answer(&card, ATTACH, 1)->imm = UINT64_C(0x1122334455667788);
	assert_int_equal(mlx4_rule_mac(hca, 2, 6, &mac, 0xabcdef, &id), 0);
	assert_int_equal(id, UINT64_C(0x1122334455667788));
	cmd = fake_last(&card, ATTACH);
	assert_int_equal(cmd->in_modifier, 16);
	FAKE_BOX(cmd, {0x00, 0x50060008}, {0x04, 2}, {0x08, 0xabcdef}, {0x10, 0x0c00e001}, {0x18, 0x00000211},
		 {0x1c, 0x22334455}, {0x20, 0x0000ffff}, {0x24, 0xffffffff});
	mlx4_rule_drop(hca, 2, &id);
	assert_int_equal(fake_last(&card, DETACH)->in_param, UINT64_C(0x1122334455667788));
	assert_int_equal(id, MLX4_NO_RULE);
	fake_forget(&card);
	mlx4_rule_drop(hca, 2, &id);
	assert_int_equal(card.num_cmds, 0);
	assert_int_equal(mlx4_rule_tagged(hca, 1, 0xfff, &mac, 0x0123, 0x0fff, 5, &id), 0);
	FAKE_BOX(fake_last(&card, ATTACH), {0x00, 0x5fff0008}, {0x04, 1}, {0x08, 5}, {0x10, 0x0c00e001},
		 {0x18, 0x00000211}, {0x1c, 0x22334455}, {0x20, 0x0000ffff}, {0x24, 0xffffffff}, {0x3c, 0x0fff0123});
	/* All frames and all multicast: no specification. */
	assert_int_equal(mlx4_rule_default(hca, 1, 1, MLX4_DMFS_ALL_DEFAULT, 5, &id), 0);
	assert_int_equal(fake_last(&card, ATTACH)->in_modifier, 4);
	FAKE_BOX(fake_last(&card, ATTACH), {0x00, 0x00010108}, {0x04, 1}, {0x08, 5});
	assert_int_equal(mlx4_rule_default(hca, 2, 0, MLX4_DMFS_MC_DEFAULT, 5, &id), 0);
	FAKE_BOX(fake_last(&card, ATTACH), {0x00, 0x00000308}, {0x04, 2}, {0x08, 5});
	assert_int_equal(mlx4_rule_gid(hca, 1, gid, 5, &id), 0);
	assert_int_equal(fake_last(&card, ATTACH)->in_modifier, 16);
	FAKE_BOX(fake_last(&card, ATTACH), {0x00, 0x10000008}, {0x04, 1}, {0x08, 5}, {0x10, 0x0c00e005},
		 {0x20, 0xff12401b}, {0x2c, 0x77}, {0x30, UINT32_MAX}, {0x34, UINT32_MAX}, {0x38, UINT32_MAX},
		 {0x3c, UINT32_MAX});
	memset(specs, 0x5a, sizeof(specs));
	assert_int_equal(mlx4_rule_specs(hca, 1, 0x2ffe, specs, sizeof(specs), 5, &id), 0);
	assert_int_equal(fake_last(&card, ATTACH)->in_modifier, 10);
	FAKE_BOX(fake_last(&card, ATTACH), {0x00, 0x2ffe0008}, {0x04, 1}, {0x08, 5}, {0x10, 0x5a5a5a5a},
		 {0x14, 0x5a5a5a5a}, {0x18, 0x5a5a5a5a}, {0x1c, 0x5a5a5a5a}, {0x20, 0x5a5a5a5a}, {0x24, 0x5a5a5a5a});
	memset(large, 0, sizeof(large));
	assert_int_equal(mlx4_rule_specs(hca, 1, 0, large, 4080, 5, &id), 0);
	fake_forget(&card);
	assert_int_equal(mlx4_rule_specs(hca, 1, 0, large, 4081, 5, &id), -EINVAL);
	assert_int_equal(card.num_cmds, 0);
	fake_refuse(&card, ATTACH, 1, 8);
	assert_int_equal(mlx4_rule_mac(hca, 2, 6, &mac, 5, &id), -ENOSPC);
	fake_refuse(&card, DETACH, 1, 5);
	assert_int_equal(mlx4_rule_remove(hca, 2, 3), -EBADF);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fake_up_with_numbers, fake_down_with_numbers)
	const struct CMUnitTest tests[] = {
		T(test_whole_memory),       T(test_region), T(test_fast_region), T(test_windows),
		T(test_protection_domains), T(test_rules),
	};

	if (rig_eal("mlx4ctxk", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
