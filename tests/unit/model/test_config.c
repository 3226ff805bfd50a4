/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Configuration space against the dumps of real cards [CP 1.1, 1.2]. */
#include "harness.h"

#include <string.h>

static uint32_t
cfg(struct card *c, uint32_t off, uint32_t len)
{
	uint8_t b[4] = {0};

	assert_int_equal(tp_model_cfg_read(c->m, off, b, len), 0);
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void
put(struct card *c, uint32_t off, uint32_t val, uint32_t len)
{
	uint8_t b[4] = {(uint8_t)val, (uint8_t)(val >> 8), (uint8_t)(val >> 16), (uint8_t)(val >> 24)};

	assert_int_equal(tp_model_cfg_write(c->m, off, b, len), 0);
}

static void
test_identity(void **state)
{
	struct card *c = *state;

	assert_int_equal(cfg(c, 0, 4), 0x100715b3);
	assert_int_equal(cfg(c, 0x2c, 4), 0x005015b3);
	assert_int_equal(cfg(c, 0x3d, 1), 1);
	assert_int_equal(cfg(c, 0x06, 2) & 0x10, 0x10);
}

static void
test_capability_chain(void **state)
{
	static const struct {
		uint32_t off, id;
	} chain[] = {{0x40, 1}, {0x48, 3}, {0x9c, 0x11}, {0x60, 0x10}, {0xc0, 9}};
	static const struct {
		uint32_t off, id;
	} ext[] = {{0x100, 0x0e}, {0x148, 3}, {0x154, 1}, {0x18c, 0x19}};
	struct card *c = *state;
	uint32_t at = cfg(c, 0x34, 1);

	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(at, chain[i].off);
		assert_int_equal(cfg(c, at, 1), chain[i].id);
		at = cfg(c, at + 1, 1);
	}
	assert_int_equal(at, 0);
	at = 0x100;
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(at, ext[i].off);
		assert_int_equal(cfg(c, at, 2), ext[i].id);
		at = cfg(c, at, 4) >> 20;
	}
	assert_int_equal(at, 0);
	assert_int_equal(cfg(c, 0x9e, 2), 127); /* 128 vectors */
	assert_int_equal(cfg(c, 0xa0, 4), 0x7c000);
	assert_int_equal(cfg(c, 0xa4, 4), 0x7d000);
	/* The serial number is the node's GUID. */
	assert_int_equal(cfg(c, 0x14c, 4), 0x00a1b200);
	assert_int_equal(cfg(c, 0x150, 4), 0x0002c903);
}

static void
test_bar_sizing(void **state)
{
	struct card *c = *state;

	for (uint32_t i = 0; i < 4; i++)
		put(c, 0x10 + 4 * i, 0xffffffff, 4);
	assert_int_equal(cfg(c, 0x10, 4), 0xfff00004); /* 1 MiB, 64 bits, not prefetchable */
	assert_int_equal(cfg(c, 0x14, 4), 0xffffffff);
	assert_int_equal(cfg(c, 0x18, 4), 0xff80000c); /* 8 MiB, 64 bits, prefetchable */
	put(c, 0x20, 0xffffffff, 4);
	assert_int_equal(cfg(c, 0x20, 4), 0);
	put(c, 0x30, 0xffffffff, 4);
	assert_int_equal(cfg(c, 0x30, 4), 0xfff00001);
}

static void
test_write_masks(void **state)
{
	struct card *c = *state;

	put(c, 0, 0xffffffff, 4);
	put(c, 4, 0x0406, 2);
	put(c, 0x9e, 0xc000, 2);
	assert_int_equal(cfg(c, 0, 4), 0x100715b3);
	assert_int_equal(cfg(c, 4, 2), 0x0406);
	assert_int_equal(cfg(c, 0x9e, 2), 0xc07f);
	assert_int_equal(tp_model_cfg_read(c->m, 4094, &(uint32_t){0}, 4), -22);
	assert_int_equal(tp_model_cfg_write(c->m, 5000, &(uint32_t){0}, 4), -22);
}

static void
test_vpd(void **state)
{
	struct card *c = *state;
	uint8_t img[128], sum = 0;
	uint32_t ro, len;

	for (uint32_t i = 0; i < sizeof(img); i += 4) {
		uint32_t v;

		put(c, 0x4a, i, 2);
		assert_int_equal(cfg(c, 0x4a, 2), i | 0x8000);
		v = cfg(c, 0x4c, 4);
		memcpy(img + i, &v, 4);
	}
	assert_int_equal(img[0], 0x82);
	ro = 3u + img[1];
	assert_int_equal(img[ro], 0x90);
	len = img[ro + 1];
	assert_memory_equal(img + ro + 3, "PN\x0cMCX354A-FCBT", 15);
	/* RV: the bytes from the start through the checksum add up to zero (PCI 3.0, appendix I). */
	for (uint32_t i = 0; i < ro + 3 + len; i++)
		sum = (uint8_t)(sum + img[i]);
	assert_int_equal(sum, 0);
	assert_int_equal(img[ro + 3 + len], 0x78);
}

static void
test_flr(void **state)
{
	struct card *c = *state;

	card_boot(c, 0);
	put(c, 4, 6, 2);
	put(c, 0x68, 0x8000, 2);
	assert_int_equal(cfg(c, 4, 2), 0);
	c->toggle = 1;
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_DEV_CAP, 0, 0), MLX4_STAT_BAD_SYS_STATE);
}

static void
test_bad_config(void **state)
{
	struct tp_model_config k;
	struct tp_model *m;

	(void)state;
	tp_model_config_default(&k);
	k.device_id = 0x1004;
	assert_int_equal(tp_model_create(&k, &m), -22);
	tp_model_config_default(&k);
	k.num_ports = 3;
	assert_int_equal(tp_model_create(&k, &m), -22);
	k.num_ports = 0;
	assert_int_equal(tp_model_create(&k, &m), -22);
	/* Each kind that there is none of, of either port. */
	for (unsigned int i = 0; i < 2; i++) {
		tp_model_config_default(&k);
		k.sense[i] = (enum tp_sense)(TP_SENSE_IB + 1);
		assert_int_equal(tp_model_create(&k, &m), -22);
		tp_model_config_default(&k);
		k.port_type[i] = (enum tp_port_type)(TP_PORT_AUTO + 1);
		assert_int_equal(tp_model_create(&k, &m), -22);
		tp_model_config_default(&k);
		k.ib_speed[i] = (enum tp_ib_speed)(TP_IB_FDR + 1);
		assert_int_equal(tp_model_create(&k, &m), -22);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_identity, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_capability_chain, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_bar_sizing, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_write_masks, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_vpd, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(test_flr, setup_power_on, teardown_card),
		cmocka_unit_test(test_bad_config),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
