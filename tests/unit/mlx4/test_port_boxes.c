/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of ports in bytes: what is set, and what answers mean [CP 3.8, 4]. */
#include <errno.h>

#include "drivers/mlx4/hca/port/qos.h"
#include "drivers/mlx4/hca/port/type.h"
#include "drivers/mlx4/qos/qos.h"
#include "drivers/mlx4/verbs/verbs.h"
#include "fake_one.h"

#define INIT_PORT 0x009
#define CLOSE_PORT 0x00a
#define SET_PORT 0x00c
#define DIAG_RPRT 0x030
#define MOD_STAT_CFG 0x034
#define CONFIG_DEV 0x03a
#define QUERY_PORT 0x043
#define SET_VLAN_FLTR 0x047
#define SET_MCAST_FLTR 0x048
#define DUMP_ETH_STATS 0x049
#define SENSE_PORT 0x04d
#define CONGESTION_CTRL 0x068

/* SET_PORT of an Ethernet port: selector and port. */
static const struct fake_cmd *
set_port(uint32_t sel, uint32_t port)
{
	const struct fake_cmd *cmd = fake_last(&card, SET_PORT);

	assert_int_equal(cmd->op_modifier, 1);
	assert_int_equal(cmd->in_modifier, sel << 8 | port);
	return cmd;
}

static void
test_query(void **state)
{
	struct mlx4_port_info i;
	struct fake_answer *a = fake_answer(&card, QUERY_PORT, 1);

	prm_set32(a->box, 0x00, 0x8b801234); /* link up, Ethernet suggested, both; negotiates; MTU */
	prm_set32(a->box, 0x04, 0x00400075); /* 40 Gb/s; lg GIDs 7, lg P_Keys 5 */
	prm_set32(a->box, 0x08, 0x00006983); /* lg VLANs 6, lg MACs 9; classes 8, lanes 3 */
	prm_set32(a->box, 0x10, 0x7fff8002);
	prm_set32(a->box, 0x14, 0xc9a0b0c1);
	assert_int_equal(mlx4_port_query(hca, 2, &i), 0);
	assert_int_equal(fake_last(&card, QUERY_PORT)->in_modifier, 2);
	assert_true(i.link_up && i.type_eth && i.type_ib && i.suggested_eth && i.autoneg);
	assert_int_equal(i.eth_mtu, 0x1234);
	assert_int_equal(i.speed, 40000);
	assert_int_equal(i.mac, UINT64_C(0x8002c9a0b0c1));
	assert_int_equal(i.lg_macs, 9);
	assert_int_equal(i.lg_vlans, 6);
	assert_int_equal(i.max_tc, 8);
	assert_int_equal(i.lg_pkeys, 5);
	assert_int_equal(i.lg_gids, 7);
	memset(&i, 0xff, sizeof(i));
	assert_int_equal(mlx4_port_query(hca, 1, &i), 0);
	assert_false(i.link_up || i.type_eth || i.type_ib || i.suggested_eth || i.autoneg);
	assert_int_equal(i.speed, 0);
	fake_refuse(&card, QUERY_PORT, 1, 0x0a);
	assert_int_equal(mlx4_port_query(hca, 1, &i), -EBADF);
}

/* Codes of speed; the fifth bit says nothing, and without a link there is none. */
static void
test_speed(void **state)
{
	static const struct {
		uint8_t code;
		uint32_t mbps;
	} row[] = {{0x00, 10000}, {0x01, 10000}, {0x02, 1000}, {0x04, 100},  {0x08, 20000},
		   {0x20, 56000}, {0x40, 40000}, {0x0f, 0},    {0x50, 40000}};
	struct mlx4_port_info i;
	unsigned int k;

	for (k = 0; k < 2 * RTE_DIM(row); k++) {
		struct fake_answer *a = fake_answer(&card, QUERY_PORT, 1);

		a->box[0] = k < RTE_DIM(row) ? 0x80 : 0x7f;
		a->box[5] = row[k % RTE_DIM(row)].code;
		assert_int_equal(mlx4_port_query(hca, 1, &i), 0);
		assert_int_equal(i.speed, k < RTE_DIM(row) ? row[k].mbps : 0);
	}
}

static void
test_mtu(void **state)
{
	hca->pause[1] = (struct mlx4_pause){.rx = true};
	assert_int_equal(mlx4_port_set_mtu(hca, 2, 1522, 1500), 0);
	assert_int_equal(card.num_cmds, 2);
	assert_int_equal(card.cmd[0].in_modifier, 2);
	assert_int_equal(card.cmd[0].op_modifier, 1);
	/* MTU and pause are valid; then the MTU that is told to others. */
	FAKE_BOX(&card.cmd[0], {0x00, 0x00000007}, {0x04, 1522}, {0x0c, 0x80000000});
	FAKE_BOX(set_port(0, 2), {0x00, 0x00002000}, {0x18, 1500});
	fake_forget(&card);
	fake_refuse(&card, SET_PORT, 1, 3);
	assert_int_equal(mlx4_port_set_mtu(hca, 2, 1522, 1500), -EINVAL);
	assert_int_equal(card.num_cmds, 1);
	fake_answer(&card, SET_PORT, 1);
	fake_refuse(&card, SET_PORT, 1, 8);
	assert_int_equal(mlx4_port_set_mtu(hca, 2, 1522, 1500), -ENOSPC);
}

static void
test_pause(void **state)
{
	struct mlx4_pause p = {.tx = true, .rx_pfc = 0x81};

	assert_int_equal(mlx4_port_pause(hca, 1, &p), 0);
	FAKE_BOX(set_port(0, 1), {0x00, 0x00000006}, {0x08, 0x80000000}, {0x0c, 0x00810000});
	assert_memory_equal(&hca->pause[0], &p, sizeof(p));
	p = (struct mlx4_pause){.rx = true, .tx_pfc = 0x42};
	fake_refuse(&card, SET_PORT, 1, 3);
	assert_int_equal(mlx4_port_pause(hca, 1, &p), -EINVAL);
	assert_true(hca->pause[0].tx);
	assert_int_equal(mlx4_port_pause(hca, 1, &p), 0);
	FAKE_BOX(set_port(0, 1), {0x00, 0x00000006}, {0x08, 0x00420000}, {0x0c, 0x80000000});
	assert_false(hca->pause[0].tx);
	assert_false(hca->pause[1].rx);
}

static void
test_classes(void **state)
{
	const uint8_t tc[8] = {1, 2, 3, 4, 5, 6, 7, 0};
	const struct mlx4_sched_tc t[8] = {
		{.group = 15, .share = 100, .rate_mbps = 0},    {.group = 7, .share = 33, .rate_mbps = 100},
		{.group = 0, .share = 0, .rate_mbps = 25500},   {.group = 1, .share = 1, .rate_mbps = 25501},
		{.group = 2, .share = 2, .rate_mbps = 39999},   {.group = 3, .share = 3, .rate_mbps = 255000},
		{.group = 4, .share = 4, .rate_mbps = 9999999}, {.group = 5, .share = 5, .rate_mbps = 250},
	};

	assert_int_equal(mlx4_port_prio2tc(hca, 1, tc), 0);
	FAKE_BOX(set_port(8, 1), {0x00, 0x12345670});
	/* Up to 25500 Mb/s in units of 100, then of 1000; 255 of these is no limit. */
	assert_int_equal(mlx4_port_scheduler(hca, 2, t), 0);
	FAKE_BOX(set_port(9, 2), {0x00, 0x000f0064}, {0x04, 0x000400ff}, {0x08, 0x00070021}, {0x0c, 0x00030001},
		 {0x10, 0}, {0x14, 0x000300ff}, {0x18, 0x00010001}, {0x1c, 0x00040019}, {0x20, 0x00020002},
		 {0x24, 0x00040027}, {0x28, 0x00030003}, {0x2c, 0x000400ff}, {0x30, 0x00040004}, {0x34, 0x000400ff},
		 {0x38, 0x00050005}, {0x3c, 0x00030002});
}

static void
test_priority_map(void **state)
{
	struct mlx4_prio_map m = {.trust_dscp = true, .untagged_lossless = true, .untagged_prio = 5};

	/* Eight DSCPs a priority, two in a byte. */
	assert_int_equal(mlx4_port_prio_map(hca, 1, &m), 0);
	FAKE_BOX(set_port(4, 1), {0x00, 0x82050000}, {0x04, 0}, {0x08, 0x11111111}, {0x0c, 0x22222222},
		 {0x10, 0x33333333}, {0x14, 0x44444444}, {0x18, 0x55555555}, {0x1c, 0x66666666}, {0x20, 0x77777777});
	m = (struct mlx4_prio_map){0};
	assert_int_equal(mlx4_port_prio_map(hca, 1, &m), 0);
	assert_int_equal(prm_get32(set_port(4, 1)->box, 0), 0x01000000);
}

static void
test_switches(void **state)
{
	assert_int_equal(mlx4_port_ignore_fcs(hca, 1, true), 0);
	FAKE_BOX(set_port(0, 1), {0x00, 0x00000200}, {0x04, 0x01000000});
	assert_int_equal(mlx4_port_ignore_fcs(hca, 1, false), 0);
	FAKE_BOX(set_port(0, 1), {0x00, 0x00000200});
	assert_int_equal(mlx4_port_tunnels(hca, 2, true), 0);
	FAKE_BOX(set_port(0xb, 2), {0x04, 0xc0008001});
	assert_int_equal(mlx4_port_tunnels(hca, 2, false), 0);
	FAKE_BOX(set_port(0xb, 2), {0x04, 0xc0000001});
	assert_int_equal(mlx4_port_roce_mode(hca, 2, true), 0);
	FAKE_BOX(set_port(0, 2), {0x00, 0x00000010}, {0x04, 0x20000000});
	assert_int_equal(mlx4_port_roce_mode(hca, 2, false), 0);
	FAKE_BOX(set_port(0, 2), {0x00, 0x00000010});
	assert_int_equal(mlx4_vxlan_udp_port(hca, 4789), 0);
	FAKE_BOX(fake_last(&card, CONFIG_DEV), {0x00, 1}, {0x10, 4789u << 16});
	assert_int_equal(fake_last(&card, CONFIG_DEV)->op_modifier, 0);
	assert_int_equal(mlx4_port_roce_udp_port(hca, 4791), 0);
	FAKE_BOX(fake_last(&card, CONFIG_DEV), {0x00, 8}, {0x14, 4791});
	assert_int_equal(mlx4_port_mcast_filter_off(hca, 2), 0);
	assert_int_equal(fake_last(&card, SET_MCAST_FLTR)->op_modifier, 1);
	assert_int_equal(fake_last(&card, SET_MCAST_FLTR)->in_modifier, 2);
	assert_int_equal(fake_last(&card, SET_MCAST_FLTR)->in_param, 0);
	assert_int_equal(mlx4_port_init(hca, 2), 0);
	assert_int_equal(fake_last(&card, INIT_PORT)->in_modifier, 2);
	assert_int_equal(mlx4_port_close(hca, 1), 0);
	assert_int_equal(fake_last(&card, CLOSE_PORT)->in_modifier, 1);
}

static void
test_tables(void **state)
{
	struct rte_ether_addr mac[1024];
	uint32_t map[128] = {[0] = 1, [1] = 0x80000002, [127] = 0x12345678};
	uint16_t vids[128] = {[0] = 7, [1] = 8, [2] = 9, [5] = 0x1000, [127] = 4095};
	const struct fake_cmd *cmd;
	unsigned int i;

	for (i = 0; i < RTE_DIM(mac); i++)
		mac[i] = (struct rte_ether_addr){{0x02, 0x11, 0x22, 0x33, 0x44, (uint8_t)i}};
	assert_int_equal(mlx4_port_set_macs(hca, 2, mac, 2), 0);
	FAKE_BOX(set_port(2, 2), {0x00, 0x80000211}, {0x04, 0x22334400}, {0x08, 0x80000211}, {0x0c, 0x22334401});
	assert_int_equal(mlx4_port_set_macs(hca, 2, mac, RTE_DIM(mac)), 0);
	cmd = set_port(2, 2);
	assert_int_equal(prm_get32(cmd->box, 127 * 8 + 4), 0x2233447f);
	fake_bytes_are(cmd->box + 1024, 1024, NULL, 0);
	/* The words of the map of VLANs are stored backwards. */
	assert_int_equal(mlx4_port_vlan_filter(hca, 2, map), 0);
	assert_int_equal(fake_last(&card, SET_VLAN_FLTR)->in_modifier, 2);
	FAKE_BOX(fake_last(&card, SET_VLAN_FLTR), {127 * 4, 1}, {126 * 4, 0x80000002}, {0, 0x12345678});
	/* VLANs from place 2 on; 0x1000 is VLAN 0. */
	assert_int_equal(mlx4_port_vlans(hca, 1, vids), 0);
	FAKE_BOX(set_port(3, 1), {2 * 4, 0x80000009}, {5 * 4, 0x80000000}, {127 * 4, 0x80000fff});
}

static void
test_gids(void **state)
{
	struct mlx4_gid gids[128] = {{{0}}}, got;
	const struct fake_cmd *cmd;

	memcpy(gids[0].gid, "\xfe\x80\0\0\0\0\0\0\x02\x11\x22\xff\xfe\x33\x44\x55", 16);
	memcpy(gids[1].gid, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
	gids[1].v2 = true;
	memcpy(gids[127].gid, "\xfd\1\2\3\4\5\6\7\x08\x09\xff\xff\x0a\0\0\1", 16);
	gids[127].v2 = true;
	assert_int_equal(mlx4_port_gids(hca, 1, gids), 0);
	FAKE_BOX(set_port(5, 1), {0, 0xfe800000}, {8, 0x021122ff}, {12, 0xfe334455}, {24, 0x0000ffff}, {28, 0x0a000001},
		 {2032, 0xfd010203}, {2036, 0x04050607}, {2040, 0x0809ffff}, {2044, 0x0a000001});
	mlx4_port_gid_get(hca, 1, 127, &got);
	assert_memory_equal(&got, &gids[127], sizeof(got));
	mlx4_port_gid_get(hca, 2, 127, &got);
	assert_int_equal(got.gid[0], 0);
	/* With version 2 an entry has 32 bytes: its version, and for IPv6 its type. */
	hca->caps.roce_v2 = true;
	assert_int_equal(mlx4_port_gids(hca, 2, gids), 0);
	cmd = set_port(0xd, 2);
	FAKE_BOX(cmd, {0, 0xfe800000}, {8, 0x021122ff}, {12, 0xfe334455}, {40, 0x0000ffff}, {44, 0x0a000001},
		 {56, 0x00000002}, {4064, 0xfd010203}, {4068, 0x04050607}, {4072, 0x0809ffff}, {4076, 0x0a000001},
		 {4088, 0x00000102});
	fake_refuse(&card, SET_PORT, 1, 3);
	gids[127].gid[0] = 0xfc;
	assert_int_equal(mlx4_port_gids(hca, 2, gids), -EINVAL);
	mlx4_port_gid_get(hca, 2, 127, &got);
	assert_int_equal(got.gid[0], 0xfd);
	mlx4_port_roce_version_set(hca, 2, 2);
	assert_int_equal(mlx4_port_roce_version(hca, 2), 2);
	assert_int_equal(mlx4_port_roce_version(hca, 1), 0);
}

static void
test_counters(void **state)
{
	uint8_t out[MLX4_MAILBOX_SIZE];

	memset(fake_answer(&card, DUMP_ETH_STATS, FAKE_ALWAYS)->box, 0x77, 0x200);
	assert_int_equal(mlx4_port_stats(hca, 2, false, out), 0);
	assert_int_equal(fake_last(&card, DUMP_ETH_STATS)->in_modifier, 2);
	assert_int_equal(out[0x1ff], 0x77);
	assert_int_equal(mlx4_port_stats(hca, 2, true, out), 0);
	assert_int_equal(fake_last(&card, DUMP_ETH_STATS)->in_modifier, 0x102);
	fake_forget(&card);
	assert_int_equal(mlx4_port_flow_stats(hca, 1, false, out), -ENOTSUP);
	assert_int_equal(card.num_cmds, 0);
	hca->caps.pfc_counters = true;
	assert_int_equal(mlx4_port_flow_stats(hca, 1, false, out), 0);
	assert_int_equal(fake_last(&card, DUMP_ETH_STATS)->in_modifier, 0x1001);
	assert_int_equal(mlx4_port_flow_stats(hca, 1, true, out), 0);
	assert_int_equal(fake_last(&card, DUMP_ETH_STATS)->in_modifier, 0x1101);
	/* The transport's: of a port where the firmware has them, else of the card. */
	assert_int_equal(mlx4_port_diag(hca, 2, out), 0);
	assert_int_equal(fake_last(&card, DIAG_RPRT)->op_modifier, 2);
	assert_int_equal(fake_last(&card, DIAG_RPRT)->in_modifier, 0);
	hca->caps.diag_port = true;
	assert_int_equal(mlx4_port_diag(hca, 2, out), 0);
	assert_int_equal(fake_last(&card, DIAG_RPRT)->in_modifier, 2);
}

/* which counter of the transport has which name, by the places of the reference [CP 4.8]. */
static const struct diag {
	const char *name;
	uint32_t at;
} diags[] = {
	{"resp_length_errors", 0x00},
	{"req_length_errors", 0x04},
	{"resp_qp_operation_errors", 0x08},
	{"req_qp_operation_errors", 0x0c},
	{"resp_protection_errors", 0x18},
	{"req_protection_errors", 0x1c},
	{"resp_flushed", 0x20},
	{"req_flushed", 0x24},
	{"req_bind_errors", 0x2c},
	{"req_bad_responses", 0x34},
	{"req_remote_invalid_requests", 0x44},
	{"resp_invalid_requests", 0x48},
	{"req_remote_access_errors", 0x4c},
	{"resp_access_errors", 0x50},
	{"req_remote_operation_errors", 0x54},
	{"req_retries_exceeded", 0x5c},
	{"req_rnr_retries_exceeded", 0x64},
	{"resp_remote_operation_errors", 0x58},
	{"resp_rnr_naks", 0x68},
	{"req_rnr_naks", 0x6c},
	{"resp_out_of_order", 0x100},
	{"req_out_of_order", 0x104},
	{"bad_multicast", 0x108},
	{"resp_ud_dropped", 0x118},
	{"resp_uc_dropped", 0x120},
	{"resp_duplicates", 0x130},
	{"req_timeouts", 0x134},
	{"cq_overflows", 0x1a0},
	{"eq_overflows", 0x1a4},
	{"bad_doorbells", 0x1a8},
};

#define DIAG_VALUE(at) (0xf0000000u | (at))

static void
is_at_its_place(void *arg, const char *name, uint64_t value)
{
	unsigned int i, *n = arg;

	for (i = 0; i < RTE_DIM(diags) && strcmp(diags[i].name, name) != 0; i++)
		;
	if (i == RTE_DIM(diags) || value != DIAG_VALUE(diags[i].at))
		fail_msg("%s: 0x%" PRIx64, name, value);
	(*n)++;
}

static void
test_counters_of_the_transport(void **state)
{
	struct mlx4_roce roce = {.hca = hca, .port = 2};
	struct troce_dev dev = {.home = &roce};
	struct fake_answer *a = fake_answer(&card, DIAG_RPRT, FAKE_ALWAYS);
	unsigned int n = 0;
	uint32_t at;

	for (at = 0; at < sizeof(a->box); at += 4)
		prm_set32(a->box, at, DIAG_VALUE(at));
	assert_int_equal(mlx4_roce_stats(&dev, is_at_its_place, &n), 0);
	assert_int_equal(n, RTE_DIM(diags));
	fake_refuse(&card, DIAG_RPRT, 1, 0x0a);
	a->times = 0;
	assert_int_equal(mlx4_roce_stats(&dev, is_at_its_place, &n), EIO);
}

/* A dword of a block of 0x40 octets, one of each priority. */
#define CC_VALUE(prio, at) (UINT32_C(0x5a000000) | (uint32_t)(prio) << 8 | (at))
#define CC_LONG(prio, at) ((uint64_t)CC_VALUE(prio, at) << 32 | CC_VALUE(prio, (at) + 4))

static void
cc_blocks(void)
{
	struct fake_answer *a = fake_answer(&card, CONGESTION_CTRL, 1);
	unsigned int prio;
	uint32_t at;

	for (prio = 0; prio < 8; prio++)
		for (at = 0; at < 0x40; at += 4)
			prm_set32(a->box, prio * 0x40 + at, CC_VALUE(prio, at));
}

/* Also those that a card in software leaves at zero: what its firmware dropped, and when it stopped for want of buffers. */
static void
test_counters_of_congestion_control(void **state)
{
	struct mlx4_eth eth = {.hca = hca, .port = 2};
	struct rte_pmd_mlx4_cc_stats st[8];
	struct rte_pmd_mlx4_qcn_stats qcn;
	unsigned int p;

	hca->caps.dcqcn = hca->caps.qcn = true;
	cc_blocks();
	cc_blocks();
	assert_int_equal(mlx4_cc_stats(&eth, st), 0);
	assert_int_equal(card.num_cmds, 2);
	for (p = 0; p < 2; p++) {
		assert_int_equal(card.cmd[p].op_modifier, 1);
		assert_int_equal(card.cmd[p].in_modifier, (p + 1) << 16 | 2);
	}
	for (p = 0; p < 8; p++) {
		assert_int_equal(st[p].limited_cs, CC_LONG(p, 0x00));
		assert_int_equal(st[p].cnps_ignored, CC_VALUE(p, 0x0c));
		assert_int_equal(st[p].limited, CC_VALUE(p, 0x10));
		assert_int_equal(st[p].rate_average, CC_VALUE(p, 0x14));
		assert_int_equal(st[p].cnps_dropped, CC_VALUE(p, 0x1c));
		assert_int_equal(st[p].rate, CC_VALUE(p, 0x20));
		assert_int_equal(st[p].cnps_handled, CC_VALUE(p, 0x24));
		assert_int_equal(st[p].rate_min, CC_VALUE(p, 0x28));
		assert_int_equal(st[p].rate_max, CC_VALUE(p, 0x2c));
		assert_int_equal(st[p].marks_ignored, CC_LONG(p, 0x08));
		assert_int_equal(st[p].flows, CC_VALUE(p, 0x10));
		assert_int_equal(st[p].np_off, CC_VALUE(p, 0x14));
		assert_int_equal(st[p].np_off_us, CC_LONG(p, 0x18));
		assert_int_equal(st[p].marked, CC_VALUE(p, 0x24));
		assert_int_equal(st[p].cnps_sent, CC_VALUE(p, 0x28));
	}
	/* Who asks for one priority has it in front. */
	cc_blocks();
	assert_int_equal(mlx4_qcn_stats(&eth, 5, &qcn), 0);
	assert_int_equal(fake_last(&card, CONGESTION_CTRL)->in_modifier, 1u << 13 | 2);
	assert_int_equal(qcn.limited_cs, CC_LONG(0, 0x00));
	assert_int_equal(qcn.cnms_ignored, CC_VALUE(0, 0x0c));
	assert_int_equal(qcn.created, CC_VALUE(0, 0x10));
	assert_int_equal(qcn.rate_average, CC_VALUE(0, 0x14));
	assert_int_equal(qcn.cnms_dropped, CC_VALUE(0, 0x1c));
	assert_int_equal(qcn.cnms_handled, CC_VALUE(0, 0x24));
	assert_int_equal(qcn.rate_min, CC_VALUE(0, 0x28));
	assert_int_equal(qcn.rate_max, CC_VALUE(0, 0x2c));
	fake_refuse(&card, CONGESTION_CTRL, 2, 0x0a);
	assert_int_equal(mlx4_cc_stats(&eth, st), -EBADF);
	assert_int_equal(mlx4_qcn_stats(&eth, 5, &qcn), -EBADF);
}

static void
test_wake_on_lan(void **state)
{
	static const struct {
		uint64_t v;
		bool on;
	} row[] = {{UINT64_C(3) << 61, true},
		   {UINT64_C(1) << 62, false},
		   {UINT64_C(1) << 61, false},
		   {0, false},
		   {UINT64_C(1) << 63, false}};
	unsigned int i;
	bool on;

	assert_false(mlx4_wol_offered(hca, 1) || mlx4_wol_offered(hca, 2));
	hca->caps.flags = UINT64_C(1) << 37;
	assert_true(mlx4_wol_offered(hca, 1) && !mlx4_wol_offered(hca, 2));
	hca->caps.flags = UINT64_C(1) << 38;
	assert_true(!mlx4_wol_offered(hca, 1) && mlx4_wol_offered(hca, 2));
	for (i = 0; i < RTE_DIM(row); i++) {
		fake_answer(&card, MOD_STAT_CFG, 1)->imm = row[i].v;
		on = !row[i].on;
		assert_int_equal(mlx4_wol_get(hca, 2, &on), 0);
		assert_int_equal(on, row[i].on);
		assert_int_equal(fake_last(&card, MOD_STAT_CFG)->op_modifier, 3);
		assert_int_equal(fake_last(&card, MOD_STAT_CFG)->in_modifier, 0x50000200);
	}
	/* What was written is read again. */
	fake_answer(&card, MOD_STAT_CFG, 1);
	fake_answer(&card, MOD_STAT_CFG, 1)->imm = UINT64_C(3) << 61;
	assert_int_equal(mlx4_wol_set(hca, 1, true), 0);
	assert_int_equal(card.cmd[card.num_cmds - 2].op_modifier, 1);
	assert_int_equal(card.cmd[card.num_cmds - 2].in_modifier, 0x50000100);
	assert_int_equal(card.cmd[card.num_cmds - 2].in_param, UINT64_C(7) << 61);
	rig_log_begin();
	assert_int_equal(mlx4_wol_set(hca, 1, true), -EIO);
	rig_log_one("wake-on-LAN was turned on", "it is off");
	assert_int_equal(mlx4_wol_set(hca, 1, false), 0);
	assert_int_equal(card.cmd[card.num_cmds - 2].in_param, UINT64_C(1) << 63);
	fake_refuse(&card, MOD_STAT_CFG, 1, 2);
	on = true;
	assert_int_equal(mlx4_wol_get(hca, 1, &on), -ENOTSUP);
	assert_false(on);
	fake_forget(&card);
	fake_refuse(&card, MOD_STAT_CFG, 1, 2);
	assert_int_equal(mlx4_wol_set(hca, 1, true), -ENOTSUP);
	assert_int_equal(card.num_cmds, 1);
}

/* --- which type a port is --------------------------------------------------------------------------------- */

#define NO_SENSE 0xff

/* What ports can be (bit 0 InfiniBand, bit 1 Ethernet, bit 3 Ethernet is stored), what is wanted and sensed. */
static void
test_types(void **state)
{
	enum { AUTO = MLX4_PORT_WANT_AUTO, ETH = MLX4_PORT_WANT_ETH, IB = MLX4_PORT_WANT_IB };
	static const struct {
		uint8_t can[2], want[2], sense[2], ports;
		bool mixed, roce;
		int rc;
		uint8_t ib, sensed;
	} row[] = {
		/* One type only. */
		{{2, 2}, {AUTO, AUTO}, {1, 1}, 2, true, true, 0, 0, 0},
		{{1, 1}, {AUTO, AUTO}, {2, 2}, 2, true, true, 0, 3, 0},
		{{2, 1}, {ETH, IB}, {0, 0}, 2, true, true, 0, 2, 0},
		{{2, 2}, {IB, AUTO}, {0, 0}, 2, true, true, -EINVAL, 0, 0},
		{{1, 1}, {AUTO, ETH}, {0, 0}, 2, true, true, -EINVAL, 0, 0},
		/* Both: by the wire, else by what is stored. */
		{{3, 3}, {AUTO, AUTO}, {1, 2}, 2, true, true, 0, 1, 3},
		{{3, 3}, {AUTO, AUTO}, {2, 1}, 2, true, true, 0, 2, 3},
		{{3, 11}, {AUTO, AUTO}, {0, 0}, 2, true, true, 0, 1, 3},
		{{11, 3}, {AUTO, AUTO}, {NO_SENSE, 3}, 2, true, true, 0, 2, 3},
		{{11, 11}, {IB, ETH}, {2, 1}, 2, true, true, 0, 1, 0},
		{{3, 3}, {ETH, AUTO}, {1, 1}, 2, true, true, 0, 2, 2},
		/* Different types want firmware for it, and RoCE on port 1 when that is the Ethernet one. */
		{{3, 3}, {IB, ETH}, {0, 0}, 2, false, true, -EINVAL, 0, 0},
		{{3, 3}, {ETH, IB}, {0, 0}, 2, false, true, -EINVAL, 0, 0},
		{{3, 3}, {IB, IB}, {0, 0}, 2, false, true, 0, 3, 0},
		{{3, 3}, {ETH, ETH}, {0, 0}, 2, false, false, 0, 0, 0},
		{{3, 3}, {ETH, IB}, {0, 0}, 2, true, false, -ENOTSUP, 0, 0},
		{{3, 3}, {IB, ETH}, {0, 0}, 2, true, false, 0, 1, 0},
		/* One port. */
		{{3, 0}, {IB, AUTO}, {0, 0}, 1, false, false, 0, 1, 0},
		{{2, 0}, {ETH, ETH}, {0, 0}, 1, true, true, -EINVAL, 0, 0},
		{{2, 0}, {ETH, IB}, {0, 0}, 1, true, true, -EINVAL, 0, 0},
	};
	unsigned int i, p;

	for (i = 0; i < RTE_DIM(row); i++) {
		print_message("row %u\n", i);
		card.num_answers = 0;
		hca->caps.num_ports = row[i].ports;
		hca->caps.roce = row[i].roce;
		hca->caps.flags = UINT64_C(1) << 55 | (row[i].mixed ? 1u << 12 : 0);
		for (p = 0; p < 2; p++) {
			struct fake_answer *a = fake_answer(&card, SENSE_PORT, FAKE_ALWAYS);

			a->in_modifier = p + 1;
			a->imm = row[i].sense[p];
			a->status = row[i].sense[p] == NO_SENSE ? 1 : 0;
			hca->port[p] = (struct mlx4_port_info){.type_ib = row[i].can[p] & 1,
							       .type_eth = (row[i].can[p] & 2) != 0,
							       .suggested_eth = (row[i].can[p] & 8) != 0};
		}
		assert_int_equal(mlx4_port_types_choose(hca, row[i].want), row[i].rc);
		if (row[i].rc != 0)
			continue;
		assert_int_equal(hca->ib_ports, row[i].ib);
		assert_int_equal(hca->sensed_ports, row[i].sensed);
	}
	/* Firmware that cannot sense is not asked. */
	fake_forget(&card);
	hca->caps.num_ports = 1;
	hca->caps.flags = 0;
	hca->port[0] = (struct mlx4_port_info){.type_ib = true, .type_eth = true, .suggested_eth = true};
	assert_int_equal(mlx4_port_types_choose(hca, (const uint8_t[]){AUTO, AUTO}), 0);
	assert_int_equal(hca->ib_ports, 0);
	assert_int_equal(card.num_cmds, 0);
}

static void
test_types_are_said(void **state)
{
	hca->port[0].type_ib = true;
	hca->port[1].type_eth = true;
	rig_log_begin();
	assert_int_equal(mlx4_port_types_choose(hca, (const uint8_t[]){MLX4_PORT_WANT_ETH, 0}), -EINVAL);
	rig_log_one("port-type0=eth: port 1", "can be ib only");
	hca->caps.num_ports = 1;
	rig_log_begin();
	assert_int_equal(mlx4_port_types_choose(hca, (const uint8_t[]){MLX4_PORT_WANT_IB, MLX4_PORT_WANT_ETH}),
			 -EINVAL);
	rig_log_one("port-type1=eth", "the card has 1 port(s)");
	hca->port[0] = (struct mlx4_port_info){0};
	rig_log_begin();
	assert_int_equal(mlx4_port_types_choose(hca, (const uint8_t[]){MLX4_PORT_WANT_AUTO, 0}), -EINVAL);
	rig_log_one("port-type0=auto", "can be nothing only");
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fake_up, fake_down)
	const struct CMUnitTest tests[] = {
		T(test_query),
		T(test_speed),
		T(test_mtu),
		T(test_pause),
		T(test_classes),
		T(test_priority_map),
		T(test_switches),
		T(test_tables),
		T(test_gids),
		T(test_counters),
		T(test_counters_of_the_transport),
		T(test_counters_of_congestion_control),
		T(test_wake_on_lan),
		T(test_types),
		T(test_types_are_said),
	};

	if (rig_eal("mlx4pbox", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
