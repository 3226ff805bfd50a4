/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* BAR0 as [CP 1.3 .. 1.8, 2.1, 2.2] describe it. */
#include "harness.h"

static uint32_t
rd(struct card *c, uint32_t off)
{
	return tp_model_bar0_read32(c->m, off);
}

static void
wr(struct card *c, uint32_t off, uint32_t val)
{
	tp_model_bar0_write32(c->m, off, val);
}

static void
test_ownership(void **state)
{
	struct card *c = *state;

	assert_int_equal(rd(c, 0x8069c), 0);
	assert_int_not_equal(rd(c, 0x8069c), 0);
	wr(c, 0x8069c, 0);
	assert_int_equal(rd(c, 0x8069c), 0);
	card_expect_clean(c);
}

static void
test_reset(void **state)
{
	struct card *c = *state;

	card_boot(c, CARD_DMFS);
	card_objects(c);
	assert_int_equal(rd(c, 0x8069c), 0);
	assert_int_equal(rd(c, 0xf03fc), 0);
	assert_int_not_equal(rd(c, 0xf03fc), 0);
	wr(c, 0xf0010, 1);
	card_expect_clean(c);
	/* Everything is as after power-on: semaphores free, toggle 0, firmware not running. */
	assert_int_equal(rd(c, 0x8069c), 0);
	assert_int_equal(rd(c, 0xf03fc), 0);
	assert_int_equal(rd(c, 0x80680 + 0x18), 0);
	c->toggle = 1;
	c->mtt_next = 0;
	c->used = 2 * CARD_PAGE;
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_DEV_CAP, 0, 0), MLX4_STAT_BAD_SYS_STATE);
	card_boot(c, CARD_DMFS);
	card_objects(c);
	card_expect(c, "cmd-state", 1);
}

static void
test_reset_without_semaphore(void **state)
{
	struct card *c = *state;

	wr(c, 0xf0010, 2); /* not bit 0: nothing happens */
	card_expect_clean(c);
	wr(c, 0xf0010, 1);
	card_expect(c, "reset-semaphore", 1);
}

static void
test_hw_id(void **state)
{
	struct tp_model_config cfg;
	struct card *c;

	assert_int_equal(rd(*state, 0xf0014) & 0xffff, 0x1f7);
	tp_model_config_default(&cfg);
	cfg.device_id = 0x1003;
	c = card_new(&cfg);
	assert_int_equal(rd(c, 0xf0014) & 0xffff, 0x1f5);
	card_free(c);
}

static void
test_range(void **state)
{
	struct card *c = *state;

	assert_int_equal(rd(c, 0x100000), 0xffffffff);
	assert_int_equal(rd(c, 0x80682), 0xffffffff);
	wr(c, 0xfffffffc, 0);
	card_expect(c, "bar-range", 3);
}

static void
test_clock(void **state)
{
	struct card *c = *state;

	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_FW, 0, 0), 0);
	assert_int_equal(prm_get64(card_out(c), 0x50), 0x1f0a0);
	tp_model_set_time(c->m, UINT64_C(20000000000)); /* 20 s at 427 MHz = 8540000000 = 0x1_fd06_0f00 */
	assert_int_equal(rd(c, 0x1f0a0), 1);
	assert_int_equal(rd(c, 0x1f0a4), 0xfd060f00);
}

static void
test_msix_memory(void **state)
{
	struct card *c = *state;

	/* Vector control is little-endian: masked is the number 0x01000000 of a big-endian dword. */
	assert_int_equal(rd(c, 0x7c00c), 0x01000000);
	assert_int_equal(rd(c, 0x7c7fc), 0x01000000);
	wr(c, 0x7c7f0, 0xcafe1234);
	assert_int_equal(rd(c, 0x7c7f0), 0xcafe1234);
	wr(c, 0x1f020, 5); /* the error buffer is read-only */
	assert_int_equal(rd(c, 0x1f020), 0);
	card_expect_clean(c);
}

static void
test_busy(void **state)
{
	struct tp_model_config cfg;
	struct card *c;

	(void)state;
	tp_model_config_default(&cfg);
	cfg.cmd_latency_reads = 3;
	c = card_new(&cfg);
	wr(c, 0x80680 + 0x18, 1u << 23 | MLX4_CMD_HW_HEALTH_CHECK);
	wr(c, 0x80680, 0); /* while it runs */
	card_expect(c, "hcr-busy", 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(rd(c, 0x80680 + 0x18) >> 23 & 1, 1);
	assert_int_equal(rd(c, 0x80680 + 0x18) >> 23 & 1, 0);
	c->toggle = 1;
	card_boot(c, 0);
	card_free(c);
}

static void
test_reserved(void **state)
{
	struct card *c = *state;

	wr(c, 0x80680 + 0x18, 1u << 23 | 1u << 16 | MLX4_CMD_HW_HEALTH_CHECK);
	card_expect(c, "hcr-reserved", 1);
	wr(c, 0x80680 + 0x14, 1);
	wr(c, 0x80680 + 0x18, 1u << 23 | MLX4_CMD_HW_HEALTH_CHECK);
	card_expect(c, "hcr-reserved", 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ownership, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_reset, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_reset_without_semaphore, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_hw_id, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_range, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_clock, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_msix_memory, setup_power_on, teardown_card),
		cmocka_unit_test(test_busy),
		cmocka_unit_test_setup_teardown(test_reserved, setup_power_on, teardown_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
