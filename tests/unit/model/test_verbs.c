/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What verbs need of commands: GID tables, RoCE capabilities, QPs of all services, SRQs, indirection as verbs write it. */
#include "harness.h"

#include <string.h>

static const uint8_t gid_ipv4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
static const uint8_t gid_ipv6[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 0xff, 0xfe, 0xa1, 0xb2, 1};
static const uint8_t gid_none[16];
static const uint8_t gid_group[16] = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

static int
set_port(struct card *c, uint32_t sel)
{
	return card_cmd_in(c, MLX4_CMD_SET_PORT, MLX4_SET_PORT_OPM_ETH, sel << 8 | 1);
}

static struct card *
card_of(uint16_t device_id)
{
	struct tp_model_config cfg;
	struct card *c;

	tp_model_config_default(&cfg);
	cfg.device_id = device_id;
	c = card_new(&cfg);
	card_boot(c, CARD_DMFS);
	return c;
}

static void
test_capabilities(void **state)
{
	static const uint16_t kind[] = {MLX4_PCI_DEV_CX3, MLX4_PCI_DEV_CX3_PRO};

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct card *c = card_of(kind[i]);
		const uint8_t *o = card_out(c);

		assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_DEV_CAP, 0, 0), 0);
		assert_int_equal(prm_get64(o, 0x40) >> 30 & 1, 1);
		assert_int_equal(prm_get64(o, 0x40) & 7, 7);       /* RC, UC, UD */
		assert_int_equal(prm_get32(o, 0x94) >> 19 & 1, i); /* v2 on the Pro */
		memcpy(card_in(c), "\0\0\0\x10\x20", 5);           /* SET_PORT general: RoCE mode v1 and v2 */
		assert_int_equal(set_port(c, 0), i == 1 ? 0 : MLX4_STAT_BAD_PARAM);
		prm_set32(card_in(c), 0, 1u << 3);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_CONFIG_DEV, 0, 0), i == 1 ? 0 : MLX4_STAT_BAD_PARAM);
		card_free(c);
	}
}

static void
test_gid_table(void **state)
{
	struct card *c = *state;
	uint8_t *in = card_in(c);

	memcpy(in, gid_ipv6, 16);
	memcpy(in + 127 * 16, gid_ipv4, 16);
	assert_int_equal(set_port(c, 5), 0);
	card_expect_clean(c);
	memcpy(in + 3 * 16, gid_group, 16);
	assert_int_equal(set_port(c, 5), MLX4_STAT_BAD_PARAM);
	card_expect(c, "cmd-param", 1);
}

static void
test_roce_addr(void **state)
{
	static const struct {
		const uint8_t *gid;
		uint8_t type, version;
		int status;
	} v[] = {
		{gid_ipv6, 0, 0, 0}, /* v1 */
		{gid_ipv4, 0, 0, 0},
		{gid_ipv4, 0, 2, 0}, /* v2 over IPv4 */
		{gid_ipv6, 1, 2, 0}, /* v2 over IPv6 */
		{gid_ipv6, 0, 2, MLX4_STAT_BAD_PARAM},
		{gid_ipv4, 1, 2, MLX4_STAT_BAD_PARAM},
		{gid_ipv4, 1, 0, MLX4_STAT_BAD_PARAM},
		{gid_ipv4, 0, 1, MLX4_STAT_BAD_PARAM},
		{gid_group, 1, 2, MLX4_STAT_BAD_PARAM},
		{gid_none, 1, 2, 0}, /* free, whatever stands behind */
	};
	struct card *c = *state;

	for (unsigned int i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		uint8_t *e = card_in(c) + 5 * 32;

		memcpy(e, v[i].gid, 16);
		e[0x1a] = v[i].type;
		e[0x1b] = v[i].version;
		assert_int_equal(set_port(c, 0xd), v[i].status);
	}
	card_expect(c, "cmd-param", 5);
}

static void
test_roce_addr_needs_a_pro(void **state)
{
	struct card *c = card_of(MLX4_PCI_DEV_CX3);

	(void)state;
	memcpy(card_in(c), gid_ipv4, 16);
	assert_int_equal(set_port(c, 0xd), MLX4_STAT_BAD_PARAM);
	memcpy(card_in(c), gid_ipv4, 16);
	assert_int_equal(set_port(c, 5), 0);
	card_expect(c, "cmd-param", 1);
	card_free(c);
}

/* --- QPs --- */

static uint8_t ctx[MLX4_QPC_SIZE];

static void
make_ctx(struct card *c, uint32_t qpn, enum mlx4_qp_service service)
{
	uint64_t buf = card_alloc(c, card_qp_buf_size(6, 6, 4), CARD_PAGE);

	memset(ctx, 0, sizeof(ctx));
	card_qp_ctx(c, ctx, qpn, 1, buf, 6, 6, 4, card_alloc(c, 8, 8));
	prm_set(ctx, MLX4_QPC_SERVICE, service);
	prm_set(ctx, MLX4_QPC_MTU, 5);
	prm_set(ctx, MLX4_QPC_LG_MSG, 11);
}

static void
test_services(void **state)
{
	static const enum mlx4_qp_service ok[] = {MLX4_QP_ST_RC, MLX4_QP_ST_UC, MLX4_QP_ST_UD, MLX4_QP_ST_MLX};
	struct card *c = *state;

	for (unsigned int i = 0; i < sizeof(ok) / sizeof(ok[0]); i++) {
		make_ctx(c, CARD_QPN + i, ok[i]);
		assert_int_equal(card_qp_up(c, CARD_QPN + i, ctx), 0);
	}
	card_expect_clean(c);
	make_ctx(c, CARD_QPN + 9, MLX4_QP_ST_RD);
	assert_int_equal(card_qp_up(c, CARD_QPN + 9, ctx), MLX4_STAT_BAD_PARAM);
	make_ctx(c, CARD_QPN + 9, MLX4_QP_ST_XRC);
	assert_int_equal(card_qp_up(c, CARD_QPN + 9, ctx), MLX4_STAT_BAD_PARAM);
	card_expect(c, "cmd-param", 2);
}

static void
test_srq(void **state)
{
	struct card *c = *state;
	uint8_t *in;

	make_ctx(c, CARD_QPN, MLX4_QP_ST_RC);
	prm_set(ctx, MLX4_QPC_SRQ_VALID, 1);
	prm_set(ctx, MLX4_QPC_SRQN, CARD_SRQN);
	ctx[0x09] = 0xfc; /* what Linux leaves in the size of a receive ring that does not exist */
	assert_int_equal(card_qp_up(c, CARD_QPN, ctx), MLX4_STAT_BAD_RESOURCE);
	card_expect(c, "cmd-index", 1);
	in = card_in(c);
	prm_set32(in, 0, 4u << 24 | CARD_SRQN);
	in[4] = 1;
	prm_set64(in, 0x28, card_alloc(c, 8, 8));
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_SRQ, 0, CARD_SRQN), 0);
	assert_int_equal(card_qp_up(c, CARD_QPN, ctx), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_SRQ, 1, CARD_SRQN), MLX4_STAT_RESOURCE_BUSY);
	assert_int_equal(card_violations(c, "cmd-resource-busy"), 1);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_2RST_QP, 2, CARD_QPN), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_SRQ, 1, CARD_SRQN), 0);
}

/* Verbs write the indirection with the first step and zeros afterwards. */
static void
test_indirection_of_the_first_step(void **state)
{
	struct card *c = *state;
	const uint8_t *o = card_out(c) + MLX4_QP_MBOX_CTX;
	uint8_t later[MLX4_QPC_SIZE], db[4];

	for (uint32_t i = 0; i < 2; i++) {
		make_ctx(c, CARD_QPN + i, MLX4_QP_ST_MLX);
		assert_int_equal(card_qp_up(c, CARD_QPN + i, ctx), 0);
	}
	make_ctx(c, CARD_QPN + 8, MLX4_QP_ST_MLX);
	prm_set(ctx, MLX4_QPC_MTU, MLX4_QPC_MTU_RAW);
	memcpy(later, ctx, sizeof(later));
	memset(later + 0x3c, 0, 0x38);
	prm_set(ctx, MLX4_QPC_RSS, 1);
	prm_set32(ctx, 0x3c, 1u << 24 | CARD_QPN);
	prm_set32(ctx, 0x40, CARD_QPN);
	memset(ctx + 0x48, 0xa5, 40);
	prm_set32(ctx, 0x70, CARD_QPN);
	later[0x18 + 4] = 9; /* counter */
	assert_int_equal(card_qp_step(c, MLX4_CMD_RST2INIT_QP, CARD_QPN + 8, ctx), 0);
	assert_int_equal(card_qp_step(c, MLX4_CMD_INIT2RTR_QP, CARD_QPN + 8, later), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_QP, 0, CARD_QPN + 8), 0);
	assert_memory_equal(o + 0x3c, ctx + 0x3c, 0x38);
	assert_int_equal(o[0x18 + 4], 9);
	card_expect_clean(c);
	/* It has no queue to send from. */
	prm_set32(db, 0, (CARD_QPN + 8) << 8);
	assert_int_equal(tp_model_uar_write(c->m, CARD_UAR * 4096 + MLX4_UAR_SEND_DB, db, 4), 0);
	card_expect(c, "doorbell-qpn", 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test_setup_teardown(test_gid_table, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_roce_addr, setup_booted, teardown_card),
		cmocka_unit_test(test_roce_addr_needs_a_pro),
		cmocka_unit_test_setup_teardown(test_services, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_srq, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_indirection_of_the_first_step, setup_objects, teardown_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
