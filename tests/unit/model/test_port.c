/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Port commands, counters, datagrams, multicast groups [CP 4, 6.2]. */
#include "harness.h"

#include <errno.h>
#include <string.h>

#include "mlx4_prm_qos.h"
#include "model/card/model_priv.h"

static void
test_query_port(void **state)
{
	struct card *c = *state;
	const uint8_t *o = card_out(c);

	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_PORT, 0, 2), 0);
	assert_int_equal(o[0] & 0x83, 0x02); /* Ethernet only, link down */
	assert_int_equal(o[0x0a], 0x77);     /* 128 MACs, 128 VLANs */
	assert_memory_equal(o + 0x10, "\x00\x00\x00\x02\xc9\xa1\xb2\x02", 8);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_PORT, 0, 3), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_PORT, 0, 0), MLX4_STAT_BAD_INDEX);
	card_expect(c, "cmd-index", 2);
}

static void
test_link(void **state)
{
	struct card *c = *state;
	const uint8_t *e = card_ptr(c, c->eq_buf);

	assert_int_equal(tp_model_wire_loopback(c->m, 1), 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, UINT64_C(1) << 9, 0), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_INIT_PORT, 0, 1), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_INIT_PORT, 0, 1), 0); /* again: allowed [CP 3.7] */
	assert_int_equal(e[3], 4);
	assert_int_equal(e[0x0c], 0x10);
	assert_int_equal(e[32 + 0x1f] & 0x80, 0x80); /* one event only */
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_PORT, 0, 1), 0);
	assert_int_equal(card_out(c)[0] & 0x80, 0x80);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_PORT, 0, 1), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_PORT, 0, 1), 0);
	assert_int_equal(e[32 + 3], 1);
	card_expect_clean(c);
}

static void
test_link_across(void **state)
{
	struct card *c = *state;

	assert_int_equal(tp_model_wire_cross(c->m), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_INIT_PORT, 0, 1), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_PORT, 0, 1), 0);
	assert_int_equal(card_out(c)[0] & 0x80, 0); /* nobody at the other end yet */
	assert_int_equal(card_cmd_none(c, MLX4_CMD_INIT_PORT, 0, 2), 0);
	for (uint32_t port = 1; port <= 2; port++) {
		assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_PORT, 0, port), 0);
		assert_int_equal(card_out(c)[0] & 0x80, 0x80);
	}
	assert_int_equal(card_cmd_none(c, MLX4_CMD_CLOSE_PORT, 0, 2), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_PORT, 0, 1), 0);
	assert_int_equal(card_out(c)[0] & 0x80, 0);
}

/* A request as Linux writes it [CP 4.10], in octets. */
static void
ptys_ask(struct card *c, uint8_t method, uint16_t id, uint8_t port)
{
	uint8_t *in = card_in(c);

	in[0x00] = 0x08;
	in[0x01] = 0x04;
	in[0x04] = (uint8_t)(id >> 8);
	in[0x05] = (uint8_t)id;
	in[0x06] = method;
	in[0x07] = 0x01;
	in[0x10] = 0x30;
	in[0x11] = 0x11; /* 16 dwords and this one */
	in[0x15] = port;
	in[0x17] = 0x04;
}

static int
ptys_run(struct card *c)
{
	return card_cmd(c, MLX4_CMD_ACCESS_REG, 0, 0, c->in, c->out);
}

static void
test_speeds(void **state)
{
	struct card *c = *state;
	uint8_t *in = card_ptr(c, c->in);
	const uint8_t *o = card_out(c);

	assert_int_equal(tp_model_wire_loopback(c->m, 1), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_INIT_PORT, 0, 1), 0);
	ptys_ask(c, 1, 0x5004, 1);
	assert_int_equal(ptys_run(c), 0);
	assert_int_equal(o[0x02] & 0x7f, 0);
	assert_int_equal(o[0x15], 1);
	assert_int_equal(o[0x17] & 5, 4);
	assert_memory_equal(o + 0x20, "\x01\x06\xb1\xff", 4); /* all of copper and fibre, 56 GbE among them */
	assert_memory_equal(o + 0x2c, "\x01\x06\xb1\xff", 4);
	assert_memory_equal(o + 0x38, "\x00\x00\x00\x40", 4); /* 40GBASE-CR4 */
	assert_memory_equal(o + 0x44, "\x01\x06\xb1\xff", 4);
	/* Only 10 GbE may be used, and the peer has no other than 40. */
	ptys_ask(c, 2, 0x5004, 1);
	memcpy(in + 0x2c, "\x00\x00\x10\x00", 4);
	assert_int_equal(ptys_run(c), 0);
	assert_memory_equal(o + 0x2c, "\x00\x00\x10\x00", 4);
	assert_int_equal(tp_model_peer_speed(c->m, 1, 40000), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_PORT, 0, 1), 0);
	assert_int_equal(o[0] & 0xc0, 0); /* no link, negotiation did not end */
	ptys_ask(c, 1, 0x5004, 1);
	assert_int_equal(ptys_run(c), 0);
	assert_memory_equal(o + 0x38, "\x00\x00\x00\x00", 4);
	assert_memory_equal(o + 0x44, "\x00\x00\x80\xc0", 4);
	assert_int_equal(tp_model_peer_speed(c->m, 1, 10000), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_PORT, 0, 1), 0);
	assert_int_equal(o[0] & 0xc0, 0xc0);
	card_expect_clean(c);
	assert_int_equal(tp_model_peer_speed(c->m, 1, 5), -EINVAL);
	assert_int_equal(tp_model_peer_speed(c->m, 3, 0), -EINVAL);
}

static void
test_registers_refused(void **state)
{
	static const struct {
		uint8_t method, status, port;
		uint16_t id;
		uint8_t admin;
	} bad[] = {{1, 4, 1, 0x5003, 0},
		   {3, 6, 1, 0x5004, 0},
		   {1, 7, 0, 0x5004, 0},
		   {1, 7, 3, 0x5004, 0},
		   {2, 7, 1, 0x5004, 0x80}};
	struct card *c = *state;
	uint8_t *in = card_ptr(c, c->in);

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ptys_ask(c, bad[i].method, bad[i].id, bad[i].port);
		in[0x2c] = bad[i].admin;
		assert_int_equal(ptys_run(c), 0);
		assert_int_equal(card_out(c)[0x02] & 0x7f, bad[i].status);
	}
	ptys_ask(c, 1, 0x5004, 1);
	in[0x17] = 1; /* InfiniBand */
	assert_int_equal(ptys_run(c), 0);
	assert_int_equal(card_out(c)[0x02] & 0x7f, 7);
	card_expect_clean(c);
	ptys_ask(c, 1, 0x5004, 1);
	in[0x00] = 0x10;
	assert_int_equal(ptys_run(c), MLX4_STAT_BAD_PARAM);
	ptys_ask(c, 1, 0x5004, 1);
	in[0x10] = 0x20;
	assert_int_equal(ptys_run(c), MLX4_STAT_BAD_PARAM);
	/* The TLV in front is of four dwords. */
	for (uint8_t dwords = 0; dwords < 16; dwords++) {
		ptys_ask(c, 1, 0x5004, 1);
		in[0x01] = dwords;
		assert_int_equal(ptys_run(c), dwords == 4 ? 0 : MLX4_STAT_BAD_PARAM);
	}
	ptys_ask(c, 1, 0x5004, 1);
	in[0x00] |= 4; /* 1028 */
	assert_int_equal(ptys_run(c), MLX4_STAT_BAD_PARAM);
	card_expect(c, "cmd-param", 2 + 15 + 1);
}

static void
test_registers_length(void **state)
{
	struct card *c = *state;
	uint8_t *in = card_ptr(c, c->in);

	ptys_ask(c, 1, 0x5004, 1);
	in[0x10] = 0x18; /* the other reading of the type */
	assert_int_equal(ptys_run(c), 0);
	in[0x11] = 14; /* Linux's */
	assert_int_equal(ptys_run(c), 0);
	in[0x11] = 13;
	assert_int_equal(ptys_run(c), MLX4_STAT_BAD_PARAM);
	in[0x11] = 0x3d;
	assert_int_equal(ptys_run(c), MLX4_STAT_BAD_PARAM);
	card_expect(c, "cmd-limit", 2);
}

static int
general(struct card *c, unsigned int valid, uint16_t mtu, uint8_t tx_pause, uint8_t tx_pfc)
{
	uint8_t *in = card_in(c);

	in[3] = (uint8_t)valid;
	prm_set(in, MLX4_SPG_MTU, mtu);
	in[8] = tx_pause;
	in[9] = tx_pfc;
	return card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 1);
}

static void
test_general(void **state)
{
	struct card *c = *state;

	assert_int_equal(general(c, 7, 1522, 0x80, 0), 0);
	assert_int_equal(c->m->port[0].max_frame, 1522);
	assert_true(c->m->port[0].tx_pause);
	assert_int_equal(general(c, 0, 9000, 0, 0), 0); /* not marked valid */
	assert_int_equal(c->m->port[0].max_frame, 1522);
	card_expect_clean(c);
	assert_int_equal(general(c, 7, 1522, 0x80, 0xff), MLX4_STAT_BAD_PARAM);
	assert_int_equal(general(c, 0x80, 1522, 0, 0), MLX4_STAT_BAD_PARAM);
	card_expect(c, "cmd-param", 2);
	assert_int_equal(general(c, 1, 63, 0, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(general(c, 1, 9627, 0, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_violations(c, "cmd-limit"), 2);
	assert_int_equal(general(c, 1, 9626, 0, 0), 0);
}

static void
test_tables(void **state)
{
	struct card *c = *state;
	uint8_t *in = card_in(c);

	prm_set64(in, 8, UINT64_C(1) << 63 | UINT64_C(0x0002c9a1b201));
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 2 << 8 | 1), 0);
	assert_true((c->m->port[0].mac_table[1] & MLX4_MAC_MASK) == UINT64_C(0x0002c9a1b201));
	prm_set64(in, 16, UINT64_C(1) << 63 | UINT64_C(0x01005e000001));
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 2 << 8 | 1), MLX4_STAT_BAD_PARAM);
	in = card_in(c);
	prm_set32(in, 8, 1u << 31 | 100);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 3 << 8 | 2), 0);
	assert_int_equal(c->m->port[1].vlan_table[2] & 0xfff, 100);
	prm_set32(in, 0, 1u << 31 | 5);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 3 << 8 | 2), MLX4_STAT_BAD_PARAM);
	in = card_in(c);
	memcpy(in, "\x01\x23\x45\x67", 4);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 8 << 8 | 1), 0);
	assert_memory_equal(c->m->port[0].prio2tc, "\0\1\2\3\4\5\6\7", 8);
	in[0] = 0x81;
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 8 << 8 | 1), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 1 << 8 | 1), MLX4_STAT_BAD_SYS_STATE); /* A0 under DMFS */
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 1, 7 << 8 | 1), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 0, 1), MLX4_STAT_BAD_PARAM); /* InfiniBand on Ethernet */
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 4, 1), MLX4_STAT_OK);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, 5, 1), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_violations(c, "cmd-param"), 6);
	assert_int_equal(card_violations(c, "cmd-state"), 1);
}

static void
test_filters(void **state)
{
	struct card *c = *state;
	uint8_t *in = card_in(c);

	/* VID 100 is bit 4 of dword 127 - 3. */
	prm_set32(in, 4 * 124, 1u << 4);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_VLAN_FLTR, 0, 1), 0);
	assert_int_equal(c->m->port[0].vlan_bitmap[3], 1u << 4);
	assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, 0, 1, UINT64_C(1) << 63 | 0x01005e000001, 0), 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, 2, 1, 0, 0), 0);
	assert_true(c->m->port[0].mcast_filter);
	assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, 3, 1, 0, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, 0, 1, UINT64_C(1) << 50, 0), MLX4_STAT_BAD_PARAM);
	card_expect(c, "cmd-param", 2);
	for (uint32_t i = 1; i < 512; i++)
		assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, 0, 1, UINT64_C(0x01005e000001) + i, 0), 0);
	assert_int_equal(card_cmd(c, MLX4_CMD_SET_MCAST_FLTR, 0, 1, 0x01005f000001, 0), MLX4_STAT_EXCEED_LIM);
}

static void
test_sense(void **state)
{
	struct card *c = *state;

	assert_int_equal(card_cmd_none(c, MLX4_CMD_SENSE_PORT, 0, 1), 0);
	assert_int_equal(c->imm, 2);
	assert_int_equal(tp_model_cable(c->m, 1, false), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_SENSE_PORT, 0, 1), 0);
	assert_int_equal(c->imm, 0);
}

static void
test_counters(void **state)
{
	struct card *c = *state;
	const uint8_t *o = card_out(c);
	struct tpm_port *p = &c->m->port[0];

	p->c.rx_ucast[8] = 7;
	p->c.rx_frames[8] = 9;
	p->c.rx_oct[8] = 900;
	p->c.tx_frames[3] = 5;
	p->c.tx_size[1][9] = 4;
	p->c.rx_drop = 11;
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DUMP_ETH_STATS, 0, 1 | MLX4_STATS_RESET), 0);
	assert_int_equal(prm_get64(o, 0x360 + 8 * 8), 7);
	assert_int_equal(prm_get64(o, 0x540), 9);
	assert_int_equal(prm_get64(o, 0x3a8 + 0x18 * 8), 900);
	assert_int_equal(prm_get64(o, 0x3b0 + 0x18 * 8), 900 - 9 * 18);
	assert_int_equal(prm_get64(o, 0xa98 + 0x18 * 3), 5);
	assert_int_equal(prm_get64(o, 0x5e8 + 72), 4);
	assert_int_equal(prm_get32(o, 0xb98), 11);
	assert_int_equal(prm_get32(o, 0xba4), 7);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DUMP_ETH_STATS, 0, 1), 0);
	assert_int_equal(prm_get64(o, 0x540), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DUMP_ETH_STATS, 0, 1 | MLX4_STATS_MOD_FLOW), 0);
	card_expect_clean(c);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DUMP_ETH_STATS, 0, 1 | 1u << 20), MLX4_STAT_BAD_PARAM);
	c->m->counter[5].tx_bytes = 77;
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_IF_STAT, 0, 5 | 1u << 31), 0);
	assert_int_equal(prm_get64(o, 0x28), 77);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_IF_STAT, 0, 5), 0);
	assert_int_equal(prm_get64(o, 0x28), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_IF_STAT, 0, 256), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DIAG_RPRT, 2, 0), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_DIAG_RPRT, 1, 0), MLX4_STAT_BAD_PARAM);
}

static int
mad_get(struct card *c, uint16_t attr, uint32_t mod)
{
	uint8_t *in = card_in(c);

	memcpy(in, "\x01\x01\x01\x01", 4);
	in[0x11] = (uint8_t)attr;
	prm_set32(in, 0x14, mod);
	return card_cmd(c, MLX4_CMD_MAD_IFC, 3, 1, c->in, c->out);
}

static void
test_mads(void **state)
{
	struct card *c = *state;
	const uint8_t *o = card_out(c);

	assert_int_equal(mad_get(c, 0x11, 0), 0);
	assert_int_equal(o[3], 0x81);
	assert_memory_equal(o + 0x4c, "\x00\x02\xc9\x03\x00\xa1\xb2\x00", 8); /* node GUID */
	assert_memory_equal(o + 0x44, "\x00\x02\xc9\x03\x00\xa1\xb2\x03", 8); /* system image GUID */
	assert_memory_equal(o + 0x65, "\x00\x02\xc9", 3);                     /* vendor */
	assert_int_equal(mad_get(c, 0x15, 1), 0);
	assert_int_equal(o[0x60] & 0xf, 1); /* down */
	assert_int_equal(mad_get(c, 0x14, 0), 0);
	assert_int_equal(o[0x47], 0x01);
	assert_int_equal(mad_get(c, 0x16, 0), 0);
	assert_memory_equal(o + 0x40, "\xff\xff", 2);
	assert_int_equal(mad_get(c, 0x10, 0), 0);
	assert_true(o[0x40] != 0);
	assert_int_equal(mad_get(c, 0x99, 0), 0);
	assert_int_equal(o[5], 0x0c); /* status of the datagram: not supported */
	card_expect_clean(c);
	card_in(c);
	assert_int_equal(card_cmd(c, MLX4_CMD_MAD_IFC, 3, 1, c->in, c->out), MLX4_STAT_BAD_PKT);
}

static void
test_multicast_groups(void **state)
{
	struct card *c = card_new(NULL);
	uint8_t *in;

	(void)state;
	card_boot(c, 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_READ_MCG, 0, 5), 0);
	assert_int_equal(prm_get32(card_out(c), 4), 0); /* empty after INIT_HCA */
	in = card_in(c);
	prm_set32(in, 4, 2);
	prm_set32(in, 0x20, CARD_QPN);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_WRITE_MCG, 0, 5), 0);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_READ_MCG, 0, 5), 0);
	assert_int_equal(prm_get32(card_out(c), 0x20), CARD_QPN);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_MGID_HASH, 1, 0), 0);
	assert_in_range(c->imm, 0, (1u << (CARD_LG_MCGS - 1)) - 1);
	card_expect_clean(c);
	prm_set32(in, 4, 25); /* 128 bytes hold 24 members */
	assert_int_equal(card_cmd_in(c, MLX4_CMD_WRITE_MCG, 0, 5), MLX4_STAT_EXCEED_LIM);
	assert_int_equal(card_cmd_out(c, MLX4_CMD_READ_MCG, 0, 1u << CARD_LG_MCGS), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 0, 4), MLX4_STAT_BAD_SYS_STATE);
	card_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_query_port, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_link, setup_objects, teardown_card),
		cmocka_unit_test_setup_teardown(test_link_across, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_speeds, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_registers_refused, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_registers_length, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_general, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_tables, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_filters, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_sense, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_counters, setup_booted, teardown_card),
		cmocka_unit_test_setup_teardown(test_mads, setup_booted, teardown_card),
		cmocka_unit_test(test_multicast_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
