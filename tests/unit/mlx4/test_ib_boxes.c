/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of InfiniBand ports in bytes: management datagrams, PortInfo, the way up, rates [CP 4.2, 4.9]. */
#include <errno.h>

#include "fake_one.h"
#include "drivers/mlx4/hca/port/ib.h"

#define INIT_PORT 0x009
#define SET_PORT 0x00c
#define MAD_IFC 0x024

static void
test_mads(void **state)
{
	static uint8_t mad[MLX4_MAD_SIZE], in[MLX4_MAD_SIZE], grh[40];
	struct mlx4_mad_from from = {.my_qpn = 0x123456,
				     .remote_qpn = 0x654321,
				     .slid = 0xabcd,
				     .pkey_index = 0x77,
				     .sl = 9,
				     .path_bits = 5};
	const struct fake_cmd *cmd;
	unsigned int i;

	assert_int_equal(mlx4_port_ib_get(hca, 2, 0x0015, 2, mad), 0);
	cmd = fake_last(&card, MAD_IFC);
	/* No keys are asked for. Class 1 of version 1, method Get. */
	assert_int_equal(cmd->op_modifier, 3);
	assert_int_equal(cmd->in_modifier, 2);
	FAKE_BOX(cmd, {0x00, 0x01010101}, {0x10, 0x00150000}, {0x14, 2});
	/* A status of the answer: known to be possible, or an error. */
	prm_set32(fake_answer(&card, MAD_IFC, 2)->box, 4, 0x000c0000);
	assert_int_equal(mlx4_port_ib_try(hca, 1, 0xff90, 1, mad), -ENOTSUP);
	rig_log_begin();
	assert_int_equal(mlx4_port_ib_get(hca, 1, 0xff90, 1, mad), -EIO);
	rig_log_one("attribute 0xff90, modifier 0x1", "status 0x000c");
	fake_refuse(&card, MAD_IFC, 1, 0x30);
	assert_int_equal(mlx4_port_ib_get(hca, 1, 0xff90, 1, mad), -EINVAL);
	/* One from the wire comes with where it came from. */
	for (i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)i;
	memset(grh, 0x6e, sizeof(grh));
	from.grh = grh;
	memset(fake_answer(&card, MAD_IFC, 1)->box, 0x3c, 0x200);
	assert_int_equal(mlx4_port_ib_mad_ifc(hca, 1, in, &from, mad), 0);
	assert_int_equal(mad[255], 0x3c);
	cmd = fake_last(&card, MAD_IFC);
	assert_int_equal(cmd->op_modifier, 4);
	assert_int_equal(cmd->in_modifier, 0xabcd0001);
	assert_memory_equal(cmd->box, in, sizeof(in));
	assert_int_equal(prm_get32(cmd->box, 0x100), 0x123456);
	assert_int_equal(prm_get32(cmd->box, 0x108), 0x654321);
	assert_int_equal(prm_get32(cmd->box, 0x10c), 0x90850000);
	assert_int_equal(prm_get32(cmd->box, 0x110), 0x77);
	assert_memory_equal(cmd->box + 0x140, grh, sizeof(grh));
	assert_int_equal(cmd->box[0x168], 0);
	from.grh = NULL;
	assert_int_equal(mlx4_port_ib_mad_ifc(hca, 1, in, &from, mad), 0);
	assert_int_equal(prm_get32(fake_last(&card, MAD_IFC)->box, 0x10c), 0x90050000);
	/* The host's own. */
	assert_int_equal(mlx4_port_ib_mad_ifc(hca, 2, in, NULL, mad), 0);
	cmd = fake_last(&card, MAD_IFC);
	assert_int_equal(cmd->op_modifier, 3);
	assert_int_equal(cmd->in_modifier, 2);
	fake_bytes_are(cmd->box + 256, 256, NULL, 0);
}

/* PortInfo, with other numbers in each field. */
static void
test_port_info(void **state)
{
	uint8_t *b = fake_answer(&card, MAD_IFC, 1)->box + 0x40;
	struct mlx4_port_ib_info i;

	prm_set64(b, 0x08, UINT64_C(0xfe80000000000001)); /* GID prefix */
	prm_set32(b, 0x10, 0x12345678);                   /* LID, SM LID */
	prm_set32(b, 0x14, 0x02514868);
	b[0x1f] = 0x02;                 /* active width */
	b[0x20] = 0xf3;                 /* state */
	b[0x21] = 0x5f;                 /* physical state */
	b[0x22] = 0xfd;                 /* LMC */
	b[0x23] = 0x4f;                 /* active speed */
	b[0x24] = 0x57;                 /* MTU, SM SL */
	b[0x25] = 0x3f;                 /* lanes */
	b[0x29] = 0x64;                 /* init reply, MTU cap */
	prm_set32(b, 0x2c, 0x0000abcd); /* bad P_Keys at 0x2e */
	prm_set32(b, 0x30, 0xef012b00); /* bad Q_Keys, GUIDs */
	b[0x33] = 0xf1;                 /* subnet timeout */
	b[0x3e] = 0x2f;                 /* extended speed */
	assert_int_equal(mlx4_port_ib_info(hca, 2, &i), 0);
	assert_int_equal(prm_get32(fake_last(&card, MAD_IFC)->box, 0x14), 2);
	assert_int_equal(i.prefix, UINT64_C(0xfe80000000000001));
	assert_int_equal(i.lid, 0x1234);
	assert_int_equal(i.sm_lid, 0x5678);
	assert_int_equal(i.cap_mask, 0x02514868);
	assert_int_equal(i.width, 2);
	assert_int_equal(i.state, 3);
	assert_int_equal(i.phys_state, 5);
	assert_int_equal(i.lmc, 5);
	assert_int_equal(i.speed, 4);
	assert_int_equal(i.mtu, 5);
	assert_int_equal(i.sm_sl, 7);
	assert_int_equal(i.vl_cap, 3);
	assert_int_equal(i.init_reply, 6);
	assert_int_equal(i.mtu_cap, 4);
	assert_int_equal(i.bad_pkeys, 0xabcd);
	assert_int_equal(i.bad_qkeys, 0xef01);
	assert_int_equal(i.guids, 0x2b);
	assert_int_equal(i.subnet_timeout, 0x11);
	assert_int_equal(i.ext_speed, 2);
	fake_refuse(&card, MAD_IFC, 1, 0x0a);
	assert_int_equal(mlx4_port_ib_info(hca, 2, &i), -EBADF);
	assert_int_equal(i.lid, 0x1234);
}

/* SET_PORT with the largest MTU and as many virtual lanes as the firmware takes, then INIT_PORT. */
static void
test_port_up(void **state)
{
	unsigned int i;

	prm_set32(fake_answer(&card, MAD_IFC, FAKE_ALWAYS)->box, 0x54, 0x02514868);
	hca->port[1].lg_pkeys = 7;
	fake_refuse(&card, SET_PORT, 2, 0x40);
	assert_int_equal(mlx4_port_ib_up(hca, 2), 0);
	assert_int_equal(fake_count(&card, SET_PORT), 3);
	for (i = 0; i < 3; i++) {
		const struct fake_cmd *cmd = fake_nth(&card, SET_PORT, i);

		assert_int_equal(cmd->op_modifier, 0);
		assert_int_equal(cmd->in_modifier, 2);
		FAKE_BOX(cmd, {0x00, 0x00705000 | (8u >> i) << 4}, {0x04, 0x02514868}, {0x28, 128u << 16});
	}
	assert_int_equal(fake_last(&card, INIT_PORT)->in_modifier, 2);
	fake_forget(&card);
	fake_refuse(&card, SET_PORT, 4, 0x08);
	rig_log_begin();
	assert_int_equal(mlx4_port_ib_up(hca, 2), -ENOSPC);
	rig_log_one("port 2", "no number of virtual lanes from 8 down to 1");
	assert_int_equal(fake_count(&card, SET_PORT), 4);
	assert_int_equal(prm_get32(fake_last(&card, SET_PORT)->box, 0) & 0xf0, 0x10);
	assert_int_equal(mlx4_port_ib_caps(hca, 1, 0x12340000), 0);
	assert_int_equal(fake_last(&card, SET_PORT)->op_modifier, 0);
	assert_int_equal(fake_last(&card, SET_PORT)->in_modifier, 1);
	FAKE_BOX(fake_last(&card, SET_PORT), {0x04, 0x12340000});
	card.answer[0].status = 1;
	fake_forget(&card);
	assert_int_equal(mlx4_port_ib_up(hca, 1), -EIO);
	assert_int_equal(card.num_cmds, 1);
}

/* A path's rate as a code of the card, five more than that of verbs; what the card lacks is the next smaller one. */
static void
test_rates(void **state)
{
	static const struct {
		uint16_t bits;
		uint8_t rate, code;
	} row[] = {
		{0xff80, 0, 0},   {0xff80, 2, 7},    {0xff80, 5, 10},  {0xff80, 10, 15},
		{0xff80, 11, 15}, {0xff80, 200, 15}, {0x7f80, 10, 14}, {0x0180, 10, 8},
		{0x0080, 10, 7},  {0, 10, 7},        {0xfb80, 5, 9},
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		hca->caps.static_rates = row[i].bits;
		assert_int_equal(mlx4_port_ib_rate(hca, row[i].rate), row[i].code);
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fake_up, fake_down)
	const struct CMUnitTest tests[] = {
		T(test_mads),
		T(test_port_info),
		T(test_port_up),
		T(test_rates),
	};

	if (rig_eal("mlx4ibox", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
