/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Event queues [CP 5.1, 9]. */
#include "harness.h"

#include <unistd.h>

#include "model/event/event.h"

#define DB(ci, arm) ((ci) | ((arm) ? 0x80000000u : 0))

static uint64_t
fired(struct card *c)
{
	uint64_t n = 0;

	return read(c->irq_fd, &n, sizeof(n)) == (ssize_t)sizeof(n) ? n : 0;
}

static void
map_port_events(struct card *c)
{
	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, UINT64_C(1) << 9, 0), 0);
}

static void
test_ring_is_initialised(void **state)
{
	struct card *c = *state;
	const uint8_t *ring = card_ptr(c, c->eq_buf);

	for (unsigned int i = 0; i < 256; i++)
		assert_int_equal(ring[i * 32 + 0x1f] & 0x80, 0x80);
}

static void
test_event(void **state)
{
	struct card *c = *state;
	const uint8_t *e = card_ptr(c, c->eq_buf);

	tpm_event_port(c->m, 2, MLX4_PORT_CHANGE_ACTIVE); /* nobody has the event */
	assert_int_equal(e[0x1f] & 0x80, 0x80);
	map_port_events(c);
	tpm_event_port(c->m, 2, MLX4_PORT_CHANGE_ACTIVE);
	assert_int_equal(e[0x01], 0x09);
	assert_int_equal(e[0x03], 4);
	assert_int_equal(e[0x0c], 0x20);
	assert_int_equal(e[0x1f] & 0x80, 0);
	assert_int_equal(fired(c), 1); /* born armed */
	tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_DOWN);
	assert_int_equal(e[32 + 0x0c], 0x10);
	assert_int_equal(fired(c), 0); /* not armed again yet */
	tpm_eq_doorbell(c->m, CARD_EQN, DB(1, true));
	assert_int_equal(fired(c), 1); /* armed with an event unseen: at once */
	tpm_eq_doorbell(c->m, CARD_EQN, DB(2, true));
	assert_int_equal(fired(c), 0);
	card_expect_clean(c);
}

static void
test_second_pass_and_overflow(void **state)
{
	struct card *c = *state;
	const uint8_t *e = card_ptr(c, c->eq_buf);

	map_port_events(c);
	for (unsigned int i = 0; i < 256; i++)
		tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_DOWN);
	card_expect_clean(c);
	tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_DOWN);
	card_expect(c, "eq-overrun", 1);
	tpm_eq_doorbell(c->m, CARD_EQN, DB(256, false));
	tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_ACTIVE);
	assert_int_equal(e[0x03], 4);
	assert_int_equal(e[0x1f] & 0x80, 0x80); /* owner of the second pass */
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_EQ, 0, CARD_EQN), 0);
	assert_int_equal(prm_get32(card_out(c), 0x2c), 257);
	assert_int_equal(prm_get32(card_out(c), 0x28), 256);
}

static void
test_doorbell_rules(void **state)
{
	struct card *c = *state;

	tpm_eq_doorbell(c->m, CARD_EQN + 1, 0);
	card_expect(c, "doorbell-eqn", 1);
	tpm_eq_doorbell(c->m, CARD_EQN, 0x01000000);
	assert_int_equal(card_violations(c, "doorbell-reserved"), 1);
	tpm_eq_doorbell(c->m, CARD_EQN, 1);
	assert_int_equal(card_violations(c, "doorbell-eq-ci"), 1);
}

static void
test_64_byte_entries(void **state)
{
	struct card *c = card_new(NULL);
	const uint8_t *e;

	(void)state;
	card_boot(c, CARD_DMFS | CARD_EQE64 | CARD_CQE64);
	card_objects(c);
	map_port_events(c);
	e = card_ptr(c, c->eq_buf);
	tpm_event_port(c->m, 1, MLX4_PORT_CHANGE_ACTIVE);
	assert_int_equal(e[0x20 + 0x01], 0x09);
	assert_int_equal(e[0x3f] & 0x80, 0);
	card_expect_clean(c);
	card_free(c);
}

static void
test_wrong_use(void **state)
{
	struct card *c = *state;
	uint64_t buf = card_alloc(c, 256 * 32, CARD_PAGE);

	card_eq_ctx(c, card_in(c), buf, 8, 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_EQ, 0, CARD_EQN), MLX4_STAT_BAD_RES_STATE);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_EQ, 1, CARD_EQN + 1), MLX4_STAT_BAD_RES_STATE);
	card_expect(c, "cmd-resource-state", 2);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_EQ, 0, 3), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_EQ, 0, 32), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_violations(c, "cmd-index"), 2);
	prm_set(card_ptr(c, c->in), MLX4_EQC_INTR, 128);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_EQ, 0, CARD_EQN + 1), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN | 1u << 10, 2, 0), MLX4_STAT_BAD_PARAM);
	/* There are fewer than its number has room for. */
	assert_int_not_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN | 1u << 9, 2, 0), MLX4_STAT_OK);
	assert_int_equal(card_violations(c, "cmd-param"), 2);
	prm_set(card_ptr(c, c->in), MLX4_EQC_INTR, 0);
	prm_set(card_ptr(c, c->in), MLX4_EQC_LG_SIZE, 23);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_EQ, 0, CARD_EQN + 1), MLX4_STAT_EXCEED_LIM);
	/* A CQ still reports to the EQ. */
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_EQ, 1, CARD_EQN), MLX4_STAT_RESOURCE_BUSY);
	assert_int_equal(card_violations(c, "cmd-resource-busy"), 1);
	/* An MTT entry that is not present. */
	card_eq_ctx(c, card_in(c), buf, 7, 0);
	prm_set64(card_ptr(c, c->mtt_mem + c->mtt_next - 8), 0, 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_EQ, 0, CARD_EQN + 1), MLX4_STAT_ICM_ERROR);
	assert_int_equal(card_violations(c, "mtt-absent"), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ring_is_initialised, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_event, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_second_pass_and_overflow, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_doorbell_rules, setup_objects, teardown_card),
		cmocka_unit_test(test_64_byte_entries),
		cmocka_unit_test_setup_teardown(test_wrong_use, setup_objects, teardown_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
