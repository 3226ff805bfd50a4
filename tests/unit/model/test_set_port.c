/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Settings of ports by command: each alone, at the ends of its range, and refused without a trace [CP 4.2 .. 4.6]. */
#include "harness.h"

#include <string.h>

#include "model/card/ctl.h"
#include "model/qos/qos.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
enum { GENERAL, RQP_CALC, MACS, VLANS, PRIO_MAP, GIDS, PRIO2TC = 8, SCHEDULER, VXLAN = 0xb, ROCE_ADDR = 0xd };

static struct card *
make(uint16_t device, enum tp_port_type type, unsigned int flags)
{
	struct tp_model_config cfg;
	struct card *c;

	tp_model_config_default(&cfg);
	cfg.device_id = device;
	cfg.port_type[0] = cfg.port_type[1] = type;
	c = card_new(&cfg);
	card_boot(c, flags);
	return c;
}

static int
set(struct card *c, uint32_t sel, uint32_t port)
{
	return card_cmd_in(c, MLX4_CMD_SET_PORT, 1, sel << 8 | port);
}

/* --- general --- */

static uint8_t *
general(struct card *c, uint8_t valid2, uint8_t valid)
{
	uint8_t *in = card_in(c);

	in[2] = valid2;
	in[3] = valid;
	in[4] = 0x21;                  /* ignore FCS; RoCE v1 and v2 */
	memcpy(in + 6, "\x12\x34", 2); /* largest frame: 4660 octets */
	in[8] = 0;
	in[9] = 0x5a; /* PFC that is sent, and that is honoured */
	in[13] = 0xa5;
	memcpy(in + 0x1a, "\x23\x45", 2);
	return in;
}

static void
what_is_valid_is_set(void **state)
{
	static const struct {
		uint8_t valid2, valid;
	} row[] = {{0, 0}, {0, 1}, {0, 2}, {0, 4}, {2, 0}, {0x20, 0}, {0x10, 0}, {0x40, 0}, {0, 0x10}, {0x72, 0x17}};
	struct card *c = *state;

	for (unsigned int i = 0; i < COUNT(row); i++) {
		struct tpm_port *p = &c->m->port[1];

		p->max_frame = 1522;
		p->rx_pfc = p->tx_pfc = 0;
		p->rx_pause = p->tx_pause = true;
		p->ignore_fcs = false;
		p->user_mtu = 1;
		general(c, row[i].valid2, row[i].valid);
		assert_int_equal(set(c, GENERAL, 2), 0);
		assert_int_equal(p->max_frame, (row[i].valid & 1) != 0 ? 0x1234 : 1522);
		assert_int_equal(p->rx_pfc, (row[i].valid & 2) != 0 ? 0xa5 : 0);
		assert_int_equal(p->rx_pause, (row[i].valid & 2) == 0);
		assert_int_equal(p->tx_pfc, (row[i].valid & 4) != 0 ? 0x5a : 0);
		assert_int_equal(p->tx_pause, (row[i].valid & 4) == 0);
		assert_int_equal(p->ignore_fcs, (row[i].valid2 & 2) != 0);
		assert_int_equal(p->user_mtu, (row[i].valid2 & 0x20) != 0 ? 0x2345 : 1);
		assert_int_equal(c->m->port[0].max_frame, 1522);
	}
	/* And back. */
	general(c, 2, 0)[4] = 0;
	assert_int_equal(set(c, GENERAL, 2), 0);
	assert_false(c->m->port[1].ignore_fcs);
	card_expect_clean(c);
}

static void
valid_bits_that_nobody_knows(void **state)
{
	struct card *c = *state;
	uint64_t wrong = 0;

	for (unsigned int bit = 0; bit < 16; bit++) {
		uint8_t valid2 = bit < 8 ? (uint8_t)(1u << bit) : 0, valid = bit < 8 ? 0 : (uint8_t)(1u << (bit - 8));
		bool known = (valid2 & 0x72) != 0 || (valid & 0x17) != 0;

		general(c, valid2, valid);
		assert_int_equal(set(c, GENERAL, 1), known ? 0 : MLX4_STAT_BAD_PARAM);
		wrong += !known;
	}
	card_expect(c, "cmd-param", wrong);
}

static void
ranges_of_general_settings(void **state)
{
	static const struct {
		uint8_t valid;
		uint32_t at, octets, value;
		int status;
	} row[] = {
		{1, 6, 2, 63, MLX4_STAT_BAD_PARAM},
		{1, 6, 2, 64, 0},
		{1, 6, 2, 9626, 0},
		{1, 6, 2, 9627, MLX4_STAT_BAD_PARAM},
		{0, 6, 2, 63, 0},
		{4, 8, 2, 0x8000, 0}, /* global pause, or PFC, and not both */
		{4, 8, 2, 0x8001, MLX4_STAT_BAD_PARAM},
		{4, 8, 2, 0x0001, 0},
		{2, 8, 2, 0x8001, 0},
		{2, 12, 2, 0x8000, 0},
		{2, 12, 2, 0x8001, MLX4_STAT_BAD_PARAM},
		{2, 12, 2, 0x0001, 0},
		{4, 12, 2, 0x8001, 0},
	};
	struct card *c = *state;

	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint8_t *in = card_in(c);

		in[3] = row[i].valid;
		in[row[i].at] = (uint8_t)(row[i].value >> 8);
		in[row[i].at + 1] = (uint8_t)row[i].value;
		assert_int_equal(set(c, GENERAL, 1), row[i].status);
	}
	assert_int_equal(card_violations(c, "cmd-limit"), 2);
	assert_int_equal(card_violations(c, "cmd-param"), 2);
}

/* RoCE v2 came with the Pro. */
static void
modes_of_roce(void **state)
{
	(void)state;
	for (unsigned int pro = 0; pro < 2; pro++) {
		struct card *c = make(pro != 0 ? MLX4_PCI_DEV_CX3_PRO : MLX4_PCI_DEV_CX3, TP_PORT_ETH, CARD_DMFS);

		for (uint8_t mode = 0; mode < 16; mode++) {
			card_in(c)[4] = (uint8_t)(mode << 4);
			assert_int_equal(set(c, GENERAL, 1), 0);
			card_ptr(c, c->in)[3] = 0x10;
			assert_int_equal(set(c, GENERAL, 1),
					 mode == 0 || (mode == 2 && pro != 0) ? 0 : MLX4_STAT_BAD_PARAM);
		}
		card_free(c);
	}
}

static void
ports_and_selectors(void **state)
{
	static const uint32_t none[] = {6, 7, 10, 12, 14, 15, 0x100, 0xffffff};
	struct card *c = *state;
	struct tp_model_stats st;

	for (unsigned int i = 0; i < COUNT(none); i++) {
		card_in(c);
		assert_int_equal(set(c, none[i], 1), MLX4_STAT_BAD_PARAM);
	}
	card_expect(c, "cmd-param", COUNT(none));
	for (uint8_t op_mod = 0; op_mod <= 4; op_mod += op_mod == 1 ? 3 : 1) {
		assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, op_mod, 0), MLX4_STAT_BAD_INDEX);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, op_mod, 3), MLX4_STAT_BAD_INDEX);
		/* The port is an octet: 129 is none. */
		assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, op_mod, 0x81), MLX4_STAT_BAD_INDEX);
	}
	assert_int_equal(card_violations(c, "cmd-index"), 9);
	for (uint8_t op_mod = 2; op_mod < 16; op_mod++) {
		prm_set32(card_in(c), 0, 1000 + op_mod);
		assert_int_equal(card_cmd_in(c, MLX4_CMD_SET_PORT, op_mod, 2), op_mod == 4 ? 0 : MLX4_STAT_BAD_PARAM);
	}
	/* The light blinks for so many seconds. */
	tp_model_get_stats(c->m, &st);
	assert_int_equal(st.port[1].beacon_s, 1004);
	assert_int_equal(st.port[0].beacon_s, 0);
}

/* --- InfiniBand --- */

static int
set_ib(struct card *c, uint32_t dw0)
{
	prm_set32(card_ptr(c, c->in), 0, dw0);
	return card_cmd_in(c, MLX4_CMD_SET_PORT, 0, 1);
}

/* PortInfo of port 1 [IBA 14.2.5.6]: an octet of its data. */
static uint8_t
port_info(struct card *c, uint32_t at)
{
	uint8_t *in = card_ptr(c, card_alloc(c, 4096, 4096));
	uint64_t iova = CARD_IOVA + (uint64_t)(in - c->mem);

	memcpy(in, "\x01\x01\x01\x01", 4);
	in[0x11] = 0x15;
	prm_set32(in, 0x14, 1);
	assert_int_equal(card_cmd(c, MLX4_CMD_MAD_IFC, 1, 1, iova, c->out), 0);
	return card_out(c)[0x40 + at];
}

static void
lanes_of_infiniband(void **state)
{
	static const uint8_t code[16] = {[1] = 1, [2] = 2, [4] = 3, [8] = 4};
	struct card *c = make(MLX4_PCI_DEV_CX3_PRO, TP_PORT_AUTO, CARD_DMFS);

	(void)state;
	for (uint32_t lanes = 0; lanes < 16; lanes++) {
		card_in(c);
		assert_int_equal(set_ib(c, 1u << 21 | lanes << 4), code[lanes] != 0 ? 0 : MLX4_STAT_BAD_SIZE);
		if (code[lanes] != 0) {
			assert_int_equal(port_info(c, 0x25) >> 4, code[lanes]); /* VLCap */
			assert_int_equal(port_info(c, 0x2b) >> 4, code[lanes]); /* OperationalVLs */
		}
		/* Not valid: not looked at. */
		assert_int_equal(set_ib(c, lanes << 4), 0);
	}
	assert_int_equal(port_info(c, 0x25) >> 4, 4);
	assert_int_equal(card_violations(c, "cmd-limit"), 12);
	card_free(c);
}

static void
mtu_of_infiniband(void **state)
{
	struct card *c = make(MLX4_PCI_DEV_CX3_PRO, TP_PORT_AUTO, CARD_DMFS);

	(void)state;
	assert_int_equal(port_info(c, 0x24) >> 4, 5);
	for (uint32_t code = 0; code < 16; code++) {
		card_in(c);
		assert_int_equal(set_ib(c, 1u << 22 | code << 12), code >= 1 && code <= 5 ? 0 : MLX4_STAT_BAD_PARAM);
		if (code >= 1 && code <= 5)
			assert_int_equal(port_info(c, 0x29) & 0xf, code); /* MTUCap */
		/* The MTU in force comes down to it, and does not go up again: that is the subnet manager's. */
		assert_int_equal(port_info(c, 0x24) >> 4, code == 0 ? 5 : 1);
		assert_int_equal(c->m->port[0].ibp.mtu, code == 0 ? 4096 : 256);
	}
	card_in(c);
	assert_int_equal(set_ib(c, 7u << 12), 0);
	card_free(c);
}

static void
keys_of_infiniband(void **state)
{
	static const struct {
		uint16_t asked, has;
		int status;
	} row[] = {
		{0, 0, MLX4_STAT_BAD_PARAM},
		{1, 32, 0},
		{31, 32, 0},
		{32, 32, 0},
		{63, 32, 0},
		{64, 64, 0},
		{127, 96, 0},
		{128, 128, 0},
		{129, 0, MLX4_STAT_BAD_PARAM},
	};
	struct card *c = make(MLX4_PCI_DEV_CX3_PRO, TP_PORT_AUTO, CARD_DMFS);

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint16_t was = c->m->port[0].ibp.num_pkeys;
		uint8_t *in = card_in(c);

		in[0x28] = (uint8_t)(row[i].asked >> 8);
		in[0x29] = (uint8_t)row[i].asked;
		assert_int_equal(set_ib(c, 1u << 20), row[i].status);
		assert_int_equal(c->m->port[0].ibp.num_pkeys, row[i].status == 0 ? row[i].has : was);
		if (row[i].status == 0)
			assert_int_equal(set_ib(c, 0), 0);
	}
	/* Fewer than a block are advised against. */
	assert_int_equal(tp_model_advice_total(c->m), 2);
	card_free(c);
}

static void
the_rest_of_infiniband(void **state)
{
	struct card *c = make(MLX4_PCI_DEV_CX3_PRO, TP_PORT_AUTO, CARD_DMFS);
	struct tpm_port *p = &c->m->port[0];
	uint64_t guid = p->ibp.guid[0];

	(void)state;
	assert_false(p->ib);
	p->ibp.qkey_bad = 5;
	prm_set64(card_in(c), 0x10, 0x1122334455667788);
	prm_set32(card_ptr(c, c->in), 4, 0x02510868);
	assert_int_equal(set_ib(c, 0), 0);
	assert_true(p->ib);
	assert_true(p->ibp.guid[0] == guid);
	assert_int_equal(p->ibp.qkey_bad, 5);
	assert_int_equal(prm_get32(p->ibp.info, 0x14), 0x02510868);
	assert_int_equal(set_ib(c, 1u << 16), 0);
	assert_true(p->ibp.guid[0] == 0x1122334455667788);
	assert_int_equal(set_ib(c, 1), 0);
	assert_int_equal(p->ibp.qkey_bad, 0);
	/* Ethernet settings of a port that can be both say what it is to be. */
	card_in(c)[3] = 0;
	assert_int_equal(set(c, GENERAL, 1), 0);
	assert_false(p->ib);
	card_free(c);
	c = make(MLX4_PCI_DEV_CX3_PRO, TP_PORT_IB, CARD_DMFS);
	assert_true(c->m->port[0].ib);
	card_in(c)[3] = 0;
	assert_int_equal(set(c, GENERAL, 1), 0);
	assert_true(c->m->port[0].ib);
	assert_int_equal(set_ib(c, 0), 0);
	card_free(c);
	c = make(MLX4_PCI_DEV_CX3_PRO, TP_PORT_ETH, CARD_DMFS);
	card_in(c);
	assert_int_equal(set_ib(c, 0), MLX4_STAT_BAD_PARAM);
	assert_false(c->m->port[0].ib);
	card_free(c);
}

/* --- tables --- */

static void
addresses(void **state)
{
	static const struct {
		uint64_t entry;
		int status;
	} row[] = {
		{UINT64_C(1) << 63 | 0x0002c9000001, 0},
		{UINT64_C(1) << 63, MLX4_STAT_BAD_PARAM},
		{UINT64_C(1) << 63 | 0x010000000000, MLX4_STAT_BAD_PARAM}, /* a group */
		{UINT64_C(1) << 63 | 0x020000000000, 0},
		{UINT64_C(1) << 63 | 0x000000000001, 0},
		{0x010000000000, 0}, /* not valid: no address */
		{0, 0},
	};
	struct card *c = *state;

	for (unsigned int i = 0; i < COUNT(row); i++)
		for (uint32_t at = 0; at < 128; at += 127) {
			uint64_t was = c->m->port[0].mac_table[at];

			prm_set64(card_in(c), 8 * at, row[i].entry);
			assert_int_equal(set(c, MACS, 1), row[i].status);
			assert_true(c->m->port[0].mac_table[at] == (row[i].status == 0 ? row[i].entry : was));
		}
	assert_true(c->m->port[1].mac_table[0] == 0);
}

/* Places 0 and 1 are those of frames without a tag and without a place. */
static void
vlans(void **state)
{
	struct card *c = *state;

	for (uint32_t at = 0; at < 128; at++) {
		prm_set32(card_in(c), 4 * at, 1u << 31 | (at + 5));
		assert_int_equal(set(c, VLANS, 2), at < 2 ? MLX4_STAT_BAD_PARAM : 0);
		if (at >= 2)
			assert_int_equal(c->m->port[1].vlan_table[at], 1u << 31 | (at + 5));
		prm_set32(card_ptr(c, c->in), 4 * at, at + 5);
		assert_int_equal(set(c, VLANS, 2), 0);
	}
	assert_int_equal(c->m->port[0].vlan_table[5], 0);
}

/* Software's own numbers, kept as they are; with rules in the card there are none. */
static void
computed_numbers(void **state)
{
	struct card *c = make(MLX4_PCI_DEV_CX3_PRO, TP_PORT_ETH, 0);

	(void)state;
	card_in(c);
	for (unsigned int i = 0; i < 0x20; i++)
		card_ptr(c, c->in)[i] = (uint8_t)(i + 1);
	assert_int_equal(set(c, RQP_CALC, 2), 0);
	assert_memory_equal(c->m->ctl->port[1].rqp_calc, card_ptr(c, c->in), 0x1c);
	assert_int_equal(c->m->ctl->port[0].rqp_calc[0], 0);
	card_free(c);
	c = make(MLX4_PCI_DEV_CX3_PRO, TP_PORT_ETH, CARD_DMFS);
	card_in(c);
	assert_int_equal(set(c, RQP_CALC, 2), MLX4_STAT_BAD_SYS_STATE);
	card_free(c);
}

static void
tunnels(void **state)
{
	static const struct {
		uint8_t valid, enable, steer;
		bool was, is;
		int status;
	} row[] = {
		{0x80, 0x80, 0, false, true, 0},
		{0x80, 0, 0, true, false, 0},
		{0, 0x80, 0, false, false, 0},
		{0, 0, 0, true, true, 0},
		{0x40, 0x80, 1, false, false, 0},
		{0xc0, 0x80, 1, false, true, 0},
		{0xc0, 0x80, 0x10, false, true, 0},
		{0xc0, 0x80, 0, false, false, MLX4_STAT_BAD_PARAM},
		{0xc0, 0x80, 0x20, false, false, MLX4_STAT_BAD_PARAM},
		{0xc0, 0, 0, true, false, 0},
	};
	struct card *c = *state;

	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint8_t *in = card_in(c);

		c->m->port[0].tunnels = row[i].was;
		in[4] = row[i].valid;
		in[6] = row[i].enable;
		in[7] = row[i].steer;
		assert_int_equal(set(c, VXLAN, 1), row[i].status);
		assert_int_equal(c->m->port[0].tunnels, row[i].is);
	}
	c->m->port[0].tunnels = false;
}

/* --- GIDs --- */

static const uint8_t ipv4_gid[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1};

/* RoCE v1 alone: an entry of zeros is free, and groups have no place in it. */
static void
gids(void **state)
{
	struct card *c = *state;
	struct tpm_gid *t = c->m->ctl->port[1].gid;
	uint8_t *in = card_in(c);

	in[127 * 16] = 0xfe;
	in[127 * 16 + 1] = 0x80;
	in[16 + 15] = 1;
	t[3].valid = true;
	t[127].version = 2;
	assert_int_equal(set(c, GIDS, 2), 0);
	for (unsigned int i = 0; i < 128; i++) {
		assert_int_equal(t[i].valid, i == 127 || i == 1);
		assert_memory_equal(t[i].gid, in + 16 * i, 16);
		assert_int_equal(t[i].version, 0);
	}
	in[127 * 16] = 0xff;
	in[1 * 16 + 15] = 0;
	assert_int_equal(set(c, GIDS, 2), MLX4_STAT_BAD_PARAM);
	assert_true(t[1].valid);
	assert_int_equal(t[127].gid[0], 0xfe);
	assert_false(c->m->ctl->port[0].gid[1].valid);
}

static void
gids_with_versions(void **state)
{
	static const uint8_t link_local[16] = {0xfe, 0x80, [15] = 1}, group[16] = {0xff, 2, [15] = 1};
	static const uint8_t nearly[][16] = {
		{[0] = 1, [10] = 0xff, [11] = 0xff, [15] = 1}, /* not quite ::ffff:0:0/96 */
		{[9] = 1, [10] = 0xff, [11] = 0xff, [15] = 1},
		{[11] = 0xff, [15] = 1},
		{[10] = 0xff, [15] = 1},
	};
	static const uint8_t none[16];
	static const struct {
		const uint8_t *gid;
		uint8_t type, version;
		int status;
	} row[] = {
		{link_local, 0, 0, 0},
		{link_local, 1, 0, MLX4_STAT_BAD_PARAM},
		{link_local, 1, 2, 0},
		{link_local, 0, 2, MLX4_STAT_BAD_PARAM},
		{link_local, 2, 2, MLX4_STAT_BAD_PARAM},
		{link_local, 0, 1, MLX4_STAT_BAD_PARAM},
		{link_local, 0, 3, MLX4_STAT_BAD_PARAM},
		{ipv4_gid, 0, 0, 0},
		{ipv4_gid, 0, 2, 0},
		{ipv4_gid, 1, 2, MLX4_STAT_BAD_PARAM},
		{nearly[0], 1, 2, 0},
		{nearly[0], 0, 2, MLX4_STAT_BAD_PARAM},
		{nearly[1], 1, 2, 0},
		{nearly[1], 0, 2, MLX4_STAT_BAD_PARAM},
		{nearly[2], 1, 2, 0},
		{nearly[2], 0, 2, MLX4_STAT_BAD_PARAM},
		{nearly[3], 1, 2, 0},
		{nearly[3], 0, 2, MLX4_STAT_BAD_PARAM},
		{none, 7, 9, 0}, /* free, whatever else it says */
		{group, 0, 0, MLX4_STAT_BAD_PARAM},
		{group, 1, 2, MLX4_STAT_BAD_PARAM},
	};
	struct card *c = *state;
	struct tpm_gid *t = c->m->ctl->port[0].gid;

	for (unsigned int i = 0; i < COUNT(row); i++)
		for (uint32_t at = 0; at < 128; at += 127) {
			uint8_t *in = card_in(c);

			memcpy(in + 32 * at, row[i].gid, 16);
			in[32 * at + 0x1a] = row[i].type;
			in[32 * at + 0x1b] = row[i].version;
			memset(t[at].gid, 0xee, 16);
			assert_int_equal(set(c, ROCE_ADDR, 1), row[i].status);
			if (row[i].status != 0) {
				assert_int_equal(t[at].gid[3], 0xee);
				continue;
			}
			assert_memory_equal(t[at].gid, row[i].gid, 16);
			assert_int_equal(t[at].version, row[i].version);
			assert_int_equal(t[at].valid, row[i].gid != none);
		}
	assert_false(c->m->ctl->port[1].gid[0].valid);
}

static void
no_versions_before_the_pro(void **state)
{
	struct card *c = make(MLX4_PCI_DEV_CX3, TP_PORT_ETH, CARD_DMFS);

	(void)state;
	card_in(c);
	assert_int_equal(set(c, ROCE_ADDR, 1), MLX4_STAT_BAD_PARAM);
	assert_int_equal(set(c, GIDS, 1), 0);
	card_free(c);
}

int
main(void)
{
#define UP(f) cmocka_unit_test_setup_teardown(f, setup_booted, teardown_card)
	const struct CMUnitTest tests[] = {
		UP(what_is_valid_is_set),
		UP(valid_bits_that_nobody_knows),
		UP(ranges_of_general_settings),
		cmocka_unit_test(modes_of_roce),
		UP(ports_and_selectors),
		cmocka_unit_test(lanes_of_infiniband),
		cmocka_unit_test(mtu_of_infiniband),
		cmocka_unit_test(keys_of_infiniband),
		cmocka_unit_test(the_rest_of_infiniband),
		UP(addresses),
		UP(vlans),
		cmocka_unit_test(computed_numbers),
		UP(tunnels),
		UP(gids),
		UP(gids_with_versions),
		cmocka_unit_test(no_versions_before_the_pro),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
