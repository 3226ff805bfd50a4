/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What queries answer, octet by octet: all that the reference has a place for [CP 3.2 .. 3.8, 4.1, 4.10], and zeros
 * between. A driver sizes its tables by these numbers, so each stands here as a number.
 */
#include "harness.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct field {
	uint32_t at, octets;
	uint64_t value;
};

/* The mailbox has these fields, big-endian, and nothing else in its first octets. */
static void
assert_mailbox(struct card *c, const struct field *f, unsigned int n, uint32_t octets)
{
	uint8_t want[MLX4_MAILBOX_SIZE] = {0};

	for (unsigned int i = 0; i < n; i++)
		for (uint32_t k = 0; k < f[i].octets; k++)
			want[f[i].at + k] |= (uint8_t)(f[i].value >> 8 * (f[i].octets - 1 - k));
	for (uint32_t at = 0; at < octets; at++)
		if (card_out(c)[at] != want[at])
			fail_msg("octet 0x%x is 0x%02x, wanted 0x%02x", at, card_out(c)[at], want[at]);
}

/* Fills the mailbox that a query writes with what it must not leave there. */
static int
query(struct card *c, uint16_t op, uint8_t op_mod, uint32_t in_mod)
{
	memset(card_out(c), 0xa5, MLX4_MAILBOX_SIZE);
	return card_cmd_out(c, op, op_mod, in_mod);
}

static struct card *
make(uint16_t device, uint16_t minor, uint16_t subminor)
{
	struct tp_model_config cfg;

	tp_model_config_default(&cfg);
	cfg.device_id = device;
	cfg.fw_minor = minor;
	cfg.fw_subminor = subminor;
	return card_new(&cfg);
}

static void
firmware(void **state)
{
	static const struct field want[] = {
		{0x00, 2, 1024}, {0x02, 2, 2},       {0x04, 2, 5000},    {0x06, 2, 42}, {0x0a, 2, 3},
		{0x0f, 1, 6},    {0x20, 8, 0xf0058}, {0x30, 8, 0x1f020}, {0x38, 4, 16}, {0x50, 8, 0x1f0a0},
	};
	struct card *c = *state;

	assert_int_equal(query(c, MLX4_CMD_QUERY_FW, 0, 0), 0);
	assert_mailbox(c, want, COUNT(want), 0x100);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW_HEALTH_CHECK, 0, 0), 0);
	assert_int_equal(c->imm, 0);
}

#define BIT(n) (UINT64_C(1) << (n))

static void
capabilities(void **state)
{
	static const struct field want[] = {
		{0x10, 1, 14},
		{0x11, 1, 14},
		{0x12, 1, 6},
		{0x13, 1, 19},
		{0x14, 1, 0x60},
		{0x15, 1, 17},
		{0x18, 1, 4},
		{0x19, 1, 22},
		{0x1a, 1, 7},
		{0x1b, 1, 17},
		{0x1c, 1, 22},
		{0x1d, 1, 20},
		{0x1e, 1, 2},
		{0x1f, 1, 9},
		{0x21, 1, 40},
		{0x22, 1, 8},
		{0x23, 1, 31},
		{0x29, 1, 7},
		{0x2b, 1, 7},
		{0x2d, 1, 17},
		{0x2e, 1, 0x37},
		{0x34, 1, 0x80},
		{0x35, 1, 15},
		{0x37, 1, 2},
		{0x38, 1, 30},
		{0x3e, 1, 0x80},
		{0x48, 1, 0x10},
		{0x49, 1, 2},
		{0x4b, 1, 9},
		{0x4c, 1, 0x80},
		{0x4d, 1, 9},
		{0x4e, 1, 3},
		{0x4f, 1, 10},
		{0x51, 1, 62},
		{0x52, 2, 1008},
		{0x55, 1, 32},
		{0x56, 2, 512},
		{0x61, 1, 8},
		{0x63, 1, 17},
		{0x64, 1, 0x40},
		{0x65, 1, 17},
		{0x67, 1, 16},
		{0x68, 4, 256},
		{0x76, 1, 0x87},
		{0x77, 1, 24},
		{0x7a, 1, 0x20},
		{0x7b, 1, 1},
		{0x80, 2, 32},
		{0x82, 2, 256},
		{0x84, 2, 1},
		{0x86, 2, 64},
		{0x88, 2, 128},
		{0x8a, 2, 128},
		{0x8c, 2, 128},
		{0x8e, 2, 64},
		{0x90, 2, 8},
		{0x92, 2, 64},
		{0xa0, 8, BIT(40)},
		{0xcc, 2, 128},
		{0xd0, 2, 3 << 14 | 40},
		{0xd2, 2, 2 << 14 | 1},
		/* flags: transports, checksums, large sends, windows, atomics, ... */
		{0x40, 8,
		 BIT(0) | BIT(1) | BIT(2) | BIT(6) | BIT(7) | BIT(12) | BIT(15) | BIT(16) | BIT(18) | BIT(21) |
			 BIT(30)},
		/* ... loopback, FCS, RSS, both ways of steering, counters, ETS, sensing, events, entries of 64 octets */
		{0x40, 8,
		 BIT(32) | BIT(34) | BIT(40) | BIT(41) | BIT(42) | BIT(48) | BIT(52) | BIT(53) | BIT(55) | BIT(59) |
			 BIT(61) | BIT(62)},
		{0x70, 4, BIT(16) | BIT(18) | BIT(19) | BIT(23) | BIT(28)},
		{0x94, 4, BIT(1) | BIT(6) | BIT(7) | BIT(9) | BIT(11) | BIT(26) | BIT(28) | BIT(29)},
		{0x9c, 4, BIT(13) | BIT(17)},
	};
	static const struct {
		uint16_t device, minor, subminor;
		struct field more[4];
	} card[] = {
		/* RoCE v2 and tunnels came with the Pro, delay drop with firmware 2.31.5050. */
		{MLX4_PCI_DEV_CX3_PRO, 42, 5000, {{0x94, 4, BIT(19)}, {0x9c, 4, BIT(11)}, {0x9c, 4, BIT(7)}}},
		{MLX4_PCI_DEV_CX3, 42, 5000, {{0x9c, 4, BIT(7)}}},
		{MLX4_PCI_DEV_CX3, 31, 5050, {{0x9c, 4, BIT(7)}}},
		{MLX4_PCI_DEV_CX3, 31, 5049, {{0, 0, 0}}},
		{MLX4_PCI_DEV_CX3, 30, 9999, {{0, 0, 0}}},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(card); i++) {
		struct card *c = make(card[i].device, card[i].minor, card[i].subminor);
		struct field all[COUNT(want) + 4];

		memcpy(all, want, sizeof(want));
		memcpy(all + COUNT(want), card[i].more, sizeof(card[i].more));
		assert_int_equal(card_start_fw(c), 0);
		assert_int_equal(query(c, MLX4_CMD_QUERY_DEV_CAP, 0, 0), 0);
		assert_mailbox(c, all, COUNT(all), 0x100);
		card_free(c);
	}
}

/* Wake-on-LAN is offered for the ports that there are, when it is offered. */
static void
capability_of_waking(void **state)
{
	(void)state;
	for (uint8_t ports = 1; ports <= 2; ports++)
		for (unsigned int wol = 0; wol < 2; wol++) {
			struct tp_model_config cfg;
			struct card *c;

			tp_model_config_default(&cfg);
			cfg.num_ports = ports;
			cfg.wol = wol != 0;
			c = card_new(&cfg);
			assert_int_equal(card_start_fw(c), 0);
			assert_int_equal(query(c, MLX4_CMD_QUERY_DEV_CAP, 0, 0), 0);
			assert_int_equal(prm_get64(card_out(c), 0x40) >> 37 & 3, wol == 0 ? 0 : ports == 1 ? 1 : 3);
			assert_int_equal(card_out(c)[0x37], ports);
			card_free(c);
		}
}

static void
board(void **state)
{
	struct card *c = *state;
	uint8_t want[0x100] = {0};

	assert_int_equal(card_start_fw(c), 0);
	assert_int_equal(query(c, MLX4_CMD_QUERY_ADAPTER, 0, 0), 0);
	/* "MT_1090120019", each dword the other way round */
	memcpy(want + 0xf0, "1_TM10901002\0\0\0009", 16);
	assert_memory_equal(card_out(c), want, 0x100);
}

static void
function(void **state)
{
	static const struct field want[] = {{0x04, 2, 4}, {0x06, 2, 1u << CARD_LG_EQS}, {0x0b, 1, 1}};
	struct card *c = *state;

	assert_int_equal(query(c, MLX4_CMD_QUERY_FUNC, 0, 0), 0);
	assert_mailbox(c, want, COUNT(want), 0x100);
}

/* What INIT_HCA was given, with the core's clock in its place; all zero but for that before. */
static void
hca(void **state)
{
	static const struct field clock[] = {{0x0c, 2, 427}};
	struct card *c = *state;
	uint8_t want[0x200] = {0};

	assert_int_equal(card_start_fw(c), 0);
	assert_int_equal(query(c, MLX4_CMD_QUERY_HCA, 0, 0), 0);
	assert_mailbox(c, clock, 1, 0x200);
	assert_int_equal(card_init_hca(c, CARD_DMFS), 0);
	card_fill_init_hca(c, want, CARD_DMFS);
	memcpy(want + 0x0c, "\x01\xab", 2);
	assert_int_equal(query(c, MLX4_CMD_QUERY_HCA, 0, 0), 0);
	assert_memory_equal(card_out(c), want, sizeof(want));
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_HCA, 2, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_HCA, 1, 0), 0);
	assert_int_equal(query(c, MLX4_CMD_QUERY_HCA, 0, 0), 0);
	assert_mailbox(c, clock, 1, 0x200);
}

static void
ports(void **state)
{
	static const struct {
		enum tp_port_type type;
		bool stored_ib;
		uint8_t kind;
	} row[] = {
		{TP_PORT_ETH, false, 0x0a}, /* Ethernet, which is what it suggests */
		{TP_PORT_ETH, true, 0x0a},   {TP_PORT_IB, false, 0x01},
		{TP_PORT_AUTO, false, 0x1b}, /* both, to be sensed */
		{TP_PORT_AUTO, true, 0x13},
	};
	static const struct field want[] = {
		{0x01, 1, 0x85}, {0x02, 2, 9600}, {0x04, 1, 7},
		{0x05, 1, 0x40}, {0x06, 1, 2},    {0x07, 1, 0x77},
		{0x0a, 1, 0x77}, {0x0b, 1, 0x88}, {0x10, 8, 0x000002c9a1b202},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		struct tp_model_config cfg;
		struct field all[COUNT(want) + 1];
		struct card *c;

		tp_model_config_default(&cfg);
		cfg.port_type[1] = row[i].type;
		cfg.stored_ib[1] = row[i].stored_ib;
		c = card_new(&cfg);
		assert_int_equal(card_start_fw(c), 0);
		memcpy(all, want, sizeof(want));
		all[COUNT(want)] = (struct field){0, 1, row[i].kind};
		assert_int_equal(query(c, MLX4_CMD_QUERY_PORT, 0, 2), 0);
		assert_mailbox(c, all, COUNT(all), 0x100);
		card_free(c);
	}
}

/* The code of what a port sends at most; 56 GbE came with firmware 2.31.5050. */
static void
speeds_of_ports(void **state)
{
	static const struct {
		uint32_t mbps;
		uint16_t minor, subminor;
		uint8_t code;
	} row[] = {
		{0, 42, 5000, 0x40},     {100, 42, 5000, 0x04},   {1000, 42, 5000, 0x02},  {10000, 42, 5000, 0x01},
		{20000, 42, 5000, 0x08}, {40000, 42, 5000, 0x40}, {56000, 42, 5000, 0x20}, {56000, 31, 5050, 0x20},
		{56000, 31, 5049, 0x40}, {56000, 30, 9999, 0x40}, {56000, 32, 0, 0x20},    {5000, 42, 5000, 0x40},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		struct tp_model_config cfg;
		struct card *c;

		tp_model_config_default(&cfg);
		cfg.rate_mbps[0] = row[i].mbps;
		cfg.fw_minor = row[i].minor;
		cfg.fw_subminor = row[i].subminor;
		c = card_new(&cfg);
		assert_int_equal(card_start_fw(c), 0);
		assert_int_equal(query(c, MLX4_CMD_QUERY_PORT, 0, 1), 0);
		assert_int_equal(card_out(c)[5], row[i].code);
		card_free(c);
	}
}

/* A link that is up says so twice: up, and negotiated. */
static void
link_of_a_port(void **state)
{
	struct card *c = *state;

	assert_int_equal(tp_model_wire_loopback(c->m, 1), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_INIT_PORT, 0, 1), 0);
	assert_int_equal(query(c, MLX4_CMD_QUERY_PORT, 0, 1), 0);
	assert_int_equal(card_out(c)[0], 0xca);
	assert_int_equal(query(c, MLX4_CMD_QUERY_PORT, 0, 2), 0);
	assert_int_equal(card_out(c)[0], 0x0a);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_PORT, 0, 1), 0);
	assert_int_equal(query(c, MLX4_CMD_QUERY_PORT, 0, 1), 0);
	assert_int_equal(card_out(c)[0], 0x0a);
}

/* --- MOD_STAT_CFG --- */

static void
general_page(void **state)
{
	struct card *c = *state;

	for (uint32_t port = 0; port <= 2; port++) {
		const struct field guid[] = {{0x14, 4, 0x0002c903}, {0x1c, 4, 0x00a1b200 + port}};

		assert_int_equal(query(c, MLX4_CMD_MOD_STAT_CFG, 2, port << 8), 0);
		assert_mailbox(c, guid, 2, 0x100);
	}
	assert_int_equal(query(c, MLX4_CMD_MOD_STAT_CFG, 2, 3 << 8), MLX4_STAT_BAD_INDEX);
	/* Pages of 4 KiB are all that there is; without the bit that says so nothing is asked. */
	card_in(c)[3] = 1;
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MOD_STAT_CFG, 0, 0), 0);
	card_ptr(c, c->in)[2] = 1;
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MOD_STAT_CFG, 0, 0), MLX4_STAT_BAD_PARAM);
	card_ptr(c, c->in)[3] = 0;
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MOD_STAT_CFG, 0, 0), 0);
	assert_int_equal(card_violations(c, "cmd-index"), 1);
	assert_int_equal(card_violations(c, "cmd-param"), 1);
}

static void
pages_that_are_not_offered(void **state)
{
	static const struct {
		uint8_t op_mod;
		uint32_t in_mod;
		int status;
	} row[] = {
		{1, 0, MLX4_STAT_BAD_OP},
		{3, 0, MLX4_STAT_BAD_OP},
		{0, 1u << 28, MLX4_STAT_BAD_OP},
		{2, 5u << 28, MLX4_STAT_BAD_OP},
		{3, 5u << 28 | 1u << 8, MLX4_STAT_BAD_OP},
		{4, 0, MLX4_STAT_BAD_PARAM},
	};
	struct card *c = *state;

	for (unsigned int i = 0; i < COUNT(row); i++)
		assert_int_equal(card_cmd(c, MLX4_CMD_MOD_STAT_CFG, row[i].op_mod, row[i].in_mod, c->in, c->out),
				 row[i].status);
	card_expect(c, "cmd-param", COUNT(row));
	/* A mailbox that is needed and not there. */
	assert_int_equal(card_cmd(c, MLX4_CMD_MOD_STAT_CFG, 0, 0, 8, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd(c, MLX4_CMD_MOD_STAT_CFG, 2, 0, 0, 8), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_violations(c, "mailbox-align"), 2);
}

static int
wake(struct card *c, uint8_t op_mod, uint32_t port, uint32_t more, uint64_t value)
{
	return card_cmd(c, MLX4_CMD_MOD_STAT_CFG, op_mod, 5u << 28 | port << 8 | more, value, 0);
}

static void
waking(void **state)
{
	struct tp_model_config cfg;
	struct card *c;

	(void)state;
	tp_model_config_default(&cfg);
	cfg.wol = true;
	c = card_new(&cfg);
	assert_int_equal(card_start_fw(c), 0);
	for (uint32_t port = 1; port <= 2; port++) {
		assert_int_equal(wake(c, 3, port, 0, 0), 0);
		assert_true(c->imm == 0);
	}
	assert_int_equal(wake(c, 1, 2, 0, BIT(63) | BIT(62) | BIT(61)), 0);
	assert_int_equal(wake(c, 3, 2, 0, 0), 0);
	assert_true(c->imm == (BIT(62) | BIT(61)));
	assert_int_equal(wake(c, 3, 1, 0, 0), 0);
	assert_true(c->imm == 0);
	/* Without the bit that changes, nothing changes. */
	assert_int_equal(wake(c, 1, 2, 0, BIT(62)), 0);
	assert_int_equal(wake(c, 3, 2, 0, 0), 0);
	assert_true(c->imm == (BIT(62) | BIT(61)));
	assert_int_equal(wake(c, 1, 2, 0, BIT(63) | BIT(61)), 0);
	assert_int_equal(wake(c, 3, 2, 0, 0), 0);
	assert_true(c->imm == BIT(61));
	/* It outlives a reset. */
	tp_model_reset(c->m);
	c->toggle = 1;
	c->used = 2 * CARD_PAGE;
	assert_int_equal(card_start_fw(c), 0);
	assert_int_equal(wake(c, 3, 2, 0, 0), 0);
	assert_true(c->imm == BIT(61));
	card_expect_clean(c);
	assert_int_equal(wake(c, 3, 0, 0, 0), MLX4_STAT_BAD_INDEX);
	assert_int_equal(wake(c, 3, 3, 0, 0), MLX4_STAT_BAD_INDEX);
	assert_int_equal(wake(c, 3, 1, 8, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(wake(c, 0, 1, 0, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(wake(c, 2, 1, 0, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(wake(c, 1, 1, 0, BIT(63) | BIT(60)), MLX4_STAT_BAD_PARAM);
	assert_int_equal(wake(c, 1, 1, 0, BIT(63) | 1), MLX4_STAT_BAD_PARAM);
	assert_int_equal(wake(c, 3, 1, 0, 0), 0);
	assert_true(c->imm == 0);
	/* The general page is offered beside it, others are not. */
	assert_int_equal(query(c, MLX4_CMD_MOD_STAT_CFG, 2, 1 << 8), 0);
	assert_int_equal(prm_get32(card_out(c), 0x1c), 0x00a1b201);
	assert_int_equal(query(c, MLX4_CMD_MOD_STAT_CFG, 2, 6u << 28), MLX4_STAT_BAD_OP);
	card_free(c);
}

/* --- CONFIG_DEV --- */

static int
config_dev(struct card *c, uint8_t op_mod, uint32_t mask)
{
	prm_set32(card_in(c), 0, mask);
	return card_cmd(c, MLX4_CMD_CONFIG_DEV, op_mod, 0, c->in, c->out);
}

static void
device_settings(void **state)
{
	(void)state;
	for (unsigned int pro = 0; pro < 2; pro++) {
		struct card *c = make(pro != 0 ? MLX4_PCI_DEV_CX3_PRO : MLX4_PCI_DEV_CX3, 42, 5000);

		assert_int_equal(card_start_fw(c), 0);
		/* No partial sums: checksum mode 0 of both ports. */
		assert_int_equal(query(c, MLX4_CMD_CONFIG_DEV, 1, 0), 0);
		assert_mailbox(c, NULL, 0, 0x100);
		assert_int_equal(config_dev(c, 0, 0), 0);
		assert_int_equal(config_dev(c, 0, 1), pro != 0 ? 0 : MLX4_STAT_BAD_PARAM);
		assert_int_equal(config_dev(c, 0, 8), pro != 0 ? 0 : MLX4_STAT_BAD_PARAM);
		assert_int_equal(config_dev(c, 0, 9), pro != 0 ? 0 : MLX4_STAT_BAD_PARAM);
		assert_int_equal(config_dev(c, 0, 2), MLX4_STAT_BAD_PARAM);
		assert_int_equal(config_dev(c, 0, 1u << 18), MLX4_STAT_BAD_PARAM);
		assert_int_equal(config_dev(c, 2, 0), MLX4_STAT_BAD_PARAM);
		assert_int_equal(card_cmd(c, MLX4_CMD_CONFIG_DEV, 0, 0, 8, 0), MLX4_STAT_BAD_PARAM);
		assert_int_equal(card_cmd(c, MLX4_CMD_CONFIG_DEV, 1, 0, 0, 8), MLX4_STAT_BAD_PARAM);
		assert_int_equal(card_violations(c, "cmd-param"), pro != 0 ? 3 : 6);
		assert_int_equal(card_violations(c, "mailbox-align"), 2);
		card_free(c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(firmware, setup_power_on, teardown_card),
		cmocka_unit_test(capabilities),
		cmocka_unit_test(capability_of_waking),
		cmocka_unit_test_setup_teardown(board, setup_power_on, teardown_card),
		cmocka_unit_test_setup_teardown(function, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(hca, setup_power_on, teardown_card),
		cmocka_unit_test(ports),
		cmocka_unit_test(speeds_of_ports),
		cmocka_unit_test_setup_teardown(link_of_a_port, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(general_page, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(pages_that_are_not_offered, setup_booted, teardown_card),
		cmocka_unit_test(waking),
		cmocka_unit_test(device_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
