/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The rules that a port has at any time, with their priorities [CP 6.3], and the order in which they come and go. */
#include <errno.h>
#include <stdlib.h>

#include "drivers/mlx4/steer/filter.h"
#include "drivers/mlx4/steer/vlan.h"
#include "fake_card.h"
#include "rte_pmd_mlx4.h"

#define SET_PORT 0x00c
#define SET_VLAN_FLTR 0x047
#define SET_MCAST_FLTR 0x048
#define ATTACH 0x065
#define DETACH 0x066
#define QPN 0x50u
/* Kinds of rules: priority, type, flags. Each has a second place, for its successor. */
#define GUARD 0x50020008u
#define OWN 0x50060008u
#define MISS 0x50080008u
#define NEXT 0x00010000u
#define ALL 0x00000108u
#define MULTICAST 0x00000308u

static struct fake_card card;
static struct rte_ether_addr macs[MLX4_ETH_MAX_UC_MACS] = {{{0x02, 0, 0, 0, 0, 1}}};
static struct rte_eth_dev_data data = {.mac_addrs = macs, .port_id = 3};
static struct rte_eth_dev dev = {.data = &data};
static struct mlx4_eth *eth;
static const struct rte_ether_addr bcast = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}, a = {{0x01, 0, 0x5e, 0, 0, 1}},
				   b = {{0x01, 0, 0x5e, 0, 0, 2}}, c = {{0x01, 0, 0x5e, 0, 0, 3}},
				   uc = {{0x02, 0, 0, 0, 0, 0x77}}, group = {{0x02, 0, 0, 0, 0, 0x88}};

static int
setup(void **state)
{
	fake_open(&card);
	eth = calloc(1, sizeof(*eth));
	assert_non_null(eth);
	eth->hca = &card.hca;
	eth->port = 1;
	eth->dev = &dev;
	eth->target_qpn = QPN;
	data.dev_private = eth;
	data.dev_started = 0;
	data.dev_conf.rxmode.offloads = 0;
	assert_int_equal(mlx4_filter_create(eth), 0);
	assert_int_equal(eth->mc_size, 128);
	return 0;
}

/* Whatever happened, a port that is stopped has no rule. */
static int
teardown(void **state)
{
	mlx4_filter_stop(eth);
	assert_int_equal(fake_rules(&card), 0);
	mlx4_filter_destroy(eth);
	free(eth);
	fake_close(&card);
	return 0;
}

static void
start(void)
{
	assert_int_equal(mlx4_filter_start(eth), 0);
	data.dev_started = 1;
	fake_forget(&card);
}

static bool
has(uint32_t kind, const struct rte_ether_addr *mac)
{
	return fake_has_rule(&card, kind, mac, 0, QPN);
}

/* The commands since the last look were these. */
static void
commands_are(const uint16_t *op, unsigned int n)
{
	unsigned int i;

	assert_int_equal(card.num_cmds, n);
	for (i = 0; i < n; i++)
		assert_int_equal(card.cmd[i].op, op[i]);
	fake_forget(&card);
}

#define COMMANDS(...) commands_are((const uint16_t[]){__VA_ARGS__}, RTE_DIM(((const uint16_t[]){__VA_ARGS__})))

static void
test_start(void **state)
{
	static const uint16_t op[] = {SET_MCAST_FLTR, SET_PORT, SET_VLAN_FLTR, ATTACH, ATTACH};
	unsigned int i;

	assert_int_equal(mlx4_filter_start(eth), 0);
	/* The card's table has the port's address, and each VLAN passes. */
	FAKE_BOX(&card.cmd[1], {0, 0x80000200}, {4, 1});
	assert_int_equal(prm_get32(card.cmd[2].box, 0), UINT32_MAX);
	commands_are(op, RTE_DIM(op));
	assert_int_equal(fake_rules(&card), 2);
	assert_true(has(OWN, &bcast) && has(OWN, &macs[0]));
	mlx4_filter_stop(eth);
	COMMANDS(DETACH, DETACH);
	assert_int_equal(fake_rules(&card), 0);
	mlx4_filter_stop(eth);
	assert_int_equal(card.num_cmds, 0);
	/* Each step refused once. */
	for (i = 0; i < RTE_DIM(op); i++) {
		fake_forget(&card);
		card.num_answers = 0;
		if (i == 4) {
			fake_answer(&card, ATTACH, 1)->imm = 1000;
			fake_answer(&card, DETACH, 1);
		}
		fake_refuse(&card, op[i], 1, 3);
		assert_int_equal(mlx4_filter_start(eth), -EINVAL);
		assert_int_equal(fake_count(&card, op[i]), i == 4 ? 2 : 1);
		assert_int_equal(fake_count(&card, DETACH), i == 4 ? 1 : 0);
		assert_int_equal(fake_rules(&card), 0);
		/* Not on: nothing is told to the card. */
		fake_forget(&card);
		assert_int_equal(mlx4_promiscuous_enable(&dev), 0);
		assert_int_equal(mlx4_promiscuous_disable(&dev), 0);
		assert_int_equal(card.num_cmds, 0);
	}
}

static void
test_modes(void **state)
{
	start();
	assert_int_equal(mlx4_promiscuous_enable(&dev), 0);
	COMMANDS(ATTACH, ATTACH);
	assert_true(has(ALL, NULL) && has(MULTICAST, NULL));
	assert_false(eth->mc_hidden);
	assert_int_equal(mlx4_allmulticast_enable(&dev), 0);
	assert_int_equal(card.num_cmds, 0);
	assert_int_equal(mlx4_promiscuous_disable(&dev), 0);
	COMMANDS(DETACH);
	assert_true(!has(ALL, NULL) && has(MULTICAST, NULL));
	assert_int_equal(mlx4_allmulticast_disable(&dev), 0);
	COMMANDS(DETACH);
	assert_int_equal(fake_rules(&card), 2);
	/* Asked for while the port is stopped, they come with its start. */
	mlx4_filter_stop(eth);
	assert_int_equal(mlx4_allmulticast_enable(&dev), 0);
	start();
	assert_true(has(MULTICAST, NULL));
	/* A refusal is told. */
	fake_refuse(&card, ATTACH, 1, 8);
	assert_int_equal(mlx4_promiscuous_enable(&dev), -ENOSPC);
}

/* The new address comes before the old one goes; what is refused changes nothing. */
static void
test_addresses(void **state)
{
	struct rte_ether_addr mac = uc;

	start();
	assert_int_equal(mlx4_mac_set(&dev, &mac), 0);
	FAKE_BOX(fake_nth(&card, SET_PORT, 0), {0, 0x80000200}, {4, 0x77});
	COMMANDS(ATTACH, SET_PORT, DETACH);
	assert_true(has(OWN, &uc) && !has(OWN, &macs[0]));
	assert_int_equal(mlx4_mac_set(&dev, &mac), 0);
	assert_int_equal(card.num_cmds, 0);
	assert_int_equal(mlx4_mac_add(&dev, &macs[0], 126, 0), 0);
	COMMANDS(ATTACH, SET_PORT);
	assert_true(has(OWN, &uc) && has(OWN, &macs[0]));
	assert_int_equal(mlx4_mac_add(&dev, &macs[0], 127, 0), -EINVAL);
	mlx4_mac_remove(&dev, 127);
	assert_int_equal(card.num_cmds, 0);
	mlx4_mac_remove(&dev, 126);
	COMMANDS(SET_PORT, DETACH);
	assert_int_equal(fake_rules(&card), 2);
	fake_refuse(&card, ATTACH, 1, 8);
	assert_int_equal(mlx4_mac_add(&dev, &macs[0], 5, 0), -ENOSPC);
	COMMANDS(ATTACH);
	fake_refuse(&card, SET_PORT, 1, 3);
	assert_int_equal(mlx4_mac_add(&dev, &macs[0], 5, 0), -EINVAL);
	COMMANDS(ATTACH, SET_PORT, DETACH);
	assert_int_equal(fake_rules(&card), 2);
	assert_true(has(OWN, &uc));
	/* The place is free still, so that nothing is to be taken away. */
	mlx4_mac_remove(&dev, 5);
	assert_int_equal(card.num_cmds, 0);
	mlx4_filter_stop(eth);
	fake_forget(&card);
	assert_int_equal(mlx4_mac_set(&dev, &macs[0]), 0);
	assert_int_equal(card.num_cmds, 0);
	start();
	assert_true(has(OWN, &macs[0]) && !has(OWN, &uc));
}

static void
test_list(void **state)
{
	struct rte_ether_addr list[] = {a, b}, other[] = {b, c}, bad[] = {a, uc};

	start();
	assert_int_equal(mlx4_mc_list_set(&dev, list, 2), 0);
	COMMANDS(ATTACH, ATTACH);
	assert_true(has(OWN, &a) && has(OWN, &b));
	/* What is in both lists keeps its rule. */
	assert_int_equal(mlx4_mc_list_set(&dev, other, 2), 0);
	COMMANDS(ATTACH, DETACH);
	assert_true(!has(OWN, &a) && has(OWN, &b) && has(OWN, &c));
	/* A list that is refused leaves the one before. */
	fake_answer(&card, ATTACH, 1)->imm = 1000;
	fake_refuse(&card, ATTACH, 1, 8);
	fake_answer(&card, DETACH, 1);
	bad[1] = (struct rte_ether_addr){{0x33, 0x33, 0, 0, 0, 1}};
	assert_int_equal(mlx4_mc_list_set(&dev, bad, 2), -ENOSPC);
	COMMANDS(ATTACH, ATTACH, DETACH);
	assert_int_equal(fake_rules(&card), 4);
	assert_true(has(OWN, &b) && has(OWN, &c));
	assert_int_equal(eth->num_mc, 2);
	assert_int_equal(eth->mc_listed, 2);
	bad[1] = uc;
	rig_log_begin();
	assert_int_equal(mlx4_mc_list_set(&dev, bad, 2), -EINVAL);
	rig_log_one("port 3: 02:00:00:00:00:77 in a multicast list", "not a group address");
	assert_int_equal(mlx4_mc_list_set(&dev, NULL, 0), 0);
	COMMANDS(DETACH, DETACH);
	assert_int_equal(fake_rules(&card), 2);
	/* Kept over a stop. */
	assert_int_equal(mlx4_mc_list_set(&dev, list, 2), 0);
	mlx4_filter_stop(eth);
	assert_int_equal(mlx4_mc_list_set(&dev, other, 2), 0);
	start();
	assert_int_equal(fake_rules(&card), 4);
	assert_true(has(OWN, &b) && has(OWN, &c));
}

/* More than the list holds: all multicast, which comes first; with room it goes last. */
static void
test_overflow(void **state)
{
	struct rte_ether_addr list[] = {a, b, c};

	start();
	eth->mc_size = 2;
	assert_int_equal(mlx4_mc_list_set(&dev, list, 2), 0);
	COMMANDS(ATTACH, ATTACH);
	rig_log_begin();
	assert_int_equal(mlx4_mc_list_set(&dev, list, 3), 0);
	rig_log_one("port 3: 3 multicast addresses", "the list holds 2: all multicast is received");
	COMMANDS(ATTACH, DETACH, DETACH);
	assert_true(has(MULTICAST, NULL) && fake_rules(&card) == 3 && eth->mc_overflow);
	assert_int_equal(eth->mc_listed, 3);
	rig_log_begin();
	assert_int_equal(mlx4_mc_size_set(eth, 3), 0);
	rig_log_one("the list holds 3", "they alone are received");
	COMMANDS(ATTACH, ATTACH, ATTACH, DETACH);
	assert_true(has(OWN, &a) && has(OWN, &b) && has(OWN, &c) && !has(MULTICAST, NULL));
	/* Neither way is taken halfway. */
	fake_refuse(&card, ATTACH, 1, 8);
	assert_int_equal(mlx4_mc_size_set(eth, 2), -ENOSPC);
	assert_int_equal(eth->mc_size, 3);
	assert_true(!eth->mc_overflow && fake_rules(&card) == 5);
	assert_int_equal(mlx4_mc_size_set(eth, 2), 0);
	fake_forget(&card);
	fake_refuse(&card, ATTACH, 1, 8);
	assert_int_equal(mlx4_mc_size_set(eth, 3), -ENOSPC);
	assert_true(eth->mc_overflow && has(MULTICAST, NULL) && fake_rules(&card) == 3);
	assert_int_equal(eth->mc_size, 2);
}

/* An address of groups is the port's, too, behind its own; frames with a tag come first where a group wants none. */
static void
test_groups(void **state)
{
	unsigned int i;

	start();
	assert_int_equal(mlx4_filter_group_add(eth, &group, false), 0);
	FAKE_BOX(fake_nth(&card, SET_PORT, 0), {0, 0x80000200}, {4, 1}, {8, 0x80000200}, {12, 0x88});
	COMMANDS(SET_PORT, ATTACH);
	assert_true(has(MISS, &group));
	assert_int_equal(mlx4_filter_group_add(eth, &group, true), 0);
	assert_int_equal(fake_count(&card, ATTACH), 12);
	for (i = 0; i < 12; i++)
		assert_true(fake_has_rule(&card, GUARD, &group, 0x10001u << i, QPN));
	fake_forget(&card);
	assert_int_equal(mlx4_filter_group_add(eth, &group, true), 0);
	COMMANDS(SET_PORT);
	mlx4_filter_group_remove(eth, &group, true);
	COMMANDS(SET_PORT);
	assert_int_equal(fake_rules(&card), 2 + 1 + 12);
	mlx4_filter_group_remove(eth, &group, true);
	assert_int_equal(fake_count(&card, DETACH), 12);
	assert_int_equal(fake_rules(&card), 3);
	fake_forget(&card);
	mlx4_filter_group_remove(eth, &group, false);
	FAKE_BOX(fake_nth(&card, SET_PORT, 0), {0, 0x80000200}, {4, 1});
	COMMANDS(SET_PORT, DETACH);
	assert_int_equal(fake_rules(&card), 2);
	/* The port's own address is in the table once. */
	assert_int_equal(mlx4_filter_group_add(eth, &macs[0], false), 0);
	FAKE_BOX(fake_nth(&card, SET_PORT, 0), {0, 0x80000200}, {4, 1});
	mlx4_filter_group_remove(eth, &macs[0], false);
	/* A refusal, in the midst of the guards. */
	fake_forget(&card);
	card.num_answers = 0;
	fake_answer(&card, ATTACH, 5)->imm = 1000;
	fake_refuse(&card, ATTACH, 1, 8);
	fake_answer(&card, DETACH, 5);
	assert_int_equal(mlx4_filter_group_add(eth, &group, true), -ENOSPC);
	assert_int_equal(fake_count(&card, DETACH), 5);
	assert_int_equal(fake_rules(&card), 2);
	fake_forget(&card);
	assert_int_equal(mlx4_filter_group_add(eth, &group, false), 0);
	COMMANDS(SET_PORT, ATTACH);
	mlx4_filter_group_remove(eth, &group, false);
	/* While the port is stopped, and with its start. */
	mlx4_filter_stop(eth);
	fake_forget(&card);
	assert_int_equal(mlx4_filter_group_add(eth, &group, true), 0);
	assert_int_equal(card.num_cmds, 0);
	start();
	assert_int_equal(fake_rules(&card), 2 + 1 + 12);
	mlx4_filter_group_remove(eth, &group, true);
	assert_int_equal(fake_rules(&card), 2);
}

/* 128 addresses are the card's table; there are 127 of groups. */
static void
test_table_full(void **state)
{
	struct rte_ether_addr mac = {{0x02, 1, 0, 0, 0, 0}};
	unsigned int i;

	start();
	assert_int_equal(mlx4_mac_add(&dev, &mac, 1, 0), 0);
	for (i = 0; i < 126; i++) {
		mac.addr_bytes[3] = (uint8_t)(i + 1);
		fake_forget(&card);
		assert_int_equal(mlx4_filter_group_add(eth, &mac, false), 0);
	}
	mac.addr_bytes[3] = 200;
	rig_log_begin();
	assert_int_equal(mlx4_filter_group_add(eth, &mac, false), -ENOSPC);
	rig_log_one("port 3: 129 addresses of the port and of groups", "has room for 128");
	mac.addr_bytes[3] = 0;
	mlx4_mac_remove(&dev, 1);
	mac.addr_bytes[3] = 200;
	assert_int_equal(mlx4_filter_group_add(eth, &mac, false), 0);
	mac.addr_bytes[3] = 201;
	assert_int_equal(mlx4_filter_group_add(eth, &mac, false), -ENOSPC);
	/* One that is there needs no other place. */
	mac.addr_bytes[3] = 7;
	assert_int_equal(mlx4_filter_group_add(eth, &mac, false), 0);
	mlx4_filter_group_remove(eth, &mac, false);
	assert_true(has(MISS, &mac));
	fake_forget(&card);
}

/* To another queue pair: all new rules, at the neighbouring places, before any old one goes. */
static void
test_retarget(void **state)
{
	struct rte_ether_addr list[] = {a};
	unsigned int n, i;

	assert_int_equal(mlx4_filter_retarget(eth, 0x60), 0);
	assert_int_equal(card.num_cmds, 0);
	start();
	assert_int_equal(mlx4_mc_list_set(&dev, list, 1), 0);
	assert_int_equal(mlx4_promiscuous_enable(&dev), 0);
	assert_int_equal(mlx4_filter_group_add(eth, &group, true), 0);
	n = fake_rules(&card);
	assert_int_equal(n, 2 + 1 + 2 + 1 + 12);
	fake_forget(&card);
	assert_int_equal(mlx4_filter_retarget(eth, 0x60), 0);
	assert_int_equal(card.num_cmds, 2 * n);
	for (i = 0; i < 2 * n; i++)
		assert_int_equal(card.cmd[i].op, i < n ? ATTACH : DETACH);
	assert_int_equal(fake_rules(&card), n);
	assert_true(fake_has_rule(&card, OWN, &bcast, 0, 0x60));
	assert_true(fake_has_rule(&card, OWN + NEXT, &macs[0], 0, 0x60));
	assert_true(fake_has_rule(&card, OWN, &a, 0, 0x60));
	assert_true(fake_has_rule(&card, MISS + NEXT, &group, 0, 0x60));
	assert_true(fake_has_rule(&card, GUARD + NEXT, &group, 0x08000800, 0x60));
	assert_true(fake_has_rule(&card, ALL + NEXT, NULL, 0, 0x60));
	assert_true(fake_has_rule(&card, MULTICAST, NULL, 0, 0x60));
	/* And back to the first places. */
	assert_int_equal(mlx4_filter_retarget(eth, QPN), 0);
	assert_true(has(OWN, &macs[0]) && has(ALL, NULL));
	/* A refusal of any of them: the old ones stay. */
	for (i = 0; i < n; i++) {
		fake_forget(&card);
		card.num_answers = 0;
		if (i != 0) {
			fake_answer(&card, ATTACH, i)->imm = 1000;
			fake_answer(&card, DETACH, i);
		}
		fake_refuse(&card, ATTACH, 1, 8);
		assert_int_equal(mlx4_filter_retarget(eth, 0x60), -ENOSPC);
		assert_int_equal(fake_count(&card, ATTACH), i + 1);
		assert_int_equal(fake_count(&card, DETACH), i);
		assert_int_equal(fake_rules(&card), n);
		assert_true(has(OWN, &macs[0]) && has(ALL, NULL));
	}
	mlx4_filter_group_remove(eth, &group, true);
}

/* Groups that get multicast, too: a list would keep it from them. What takes over comes first. */
static void
test_flood(void **state)
{
	struct rte_ether_addr list[] = {a, b};

	start();
	/* Nothing listed: nothing to take over. */
	assert_int_equal(mlx4_filter_flood(eth, true), 0);
	assert_int_equal(card.num_cmds, 0);
	assert_int_equal(mlx4_filter_flood(eth, false), 0);
	assert_int_equal(mlx4_mc_list_set(&dev, list, 2), 0);
	fake_forget(&card);
	assert_int_equal(mlx4_filter_flood(eth, true), 0);
	COMMANDS(ATTACH, DETACH, DETACH);
	assert_true(has(MULTICAST, NULL) && !eth->mc_hidden);
	assert_int_equal(mlx4_filter_flood(eth, true), 0);
	assert_int_equal(mlx4_filter_flood(eth, false), 0);
	assert_int_equal(card.num_cmds, 0);
	assert_int_equal(mlx4_filter_flood(eth, false), 0);
	COMMANDS(ATTACH, ATTACH, DETACH);
	assert_true(has(OWN, &a) && has(OWN, &b) && !has(MULTICAST, NULL));
	fake_refuse(&card, ATTACH, 1, 8);
	assert_int_equal(mlx4_filter_flood(eth, true), -ENOSPC);
	COMMANDS(ATTACH);
	assert_true(has(OWN, &a) && has(OWN, &b));
	assert_int_equal(mlx4_filter_flood(eth, false), 0);
	/* Copies by software: the port receives all of it, for them alone. */
	fake_forget(&card);
	assert_int_equal(mlx4_mc_list_set(&dev, NULL, 0), 0);
	fake_forget(&card);
	assert_int_equal(mlx4_filter_copies(eth, true), 0);
	COMMANDS(ATTACH);
	assert_true(has(MULTICAST, NULL) && eth->mc_hidden);
	assert_int_equal(mlx4_allmulticast_enable(&dev), 0);
	assert_false(eth->mc_hidden);
	assert_int_equal(mlx4_allmulticast_disable(&dev), 0);
	assert_true(has(MULTICAST, NULL) && eth->mc_hidden);
	assert_int_equal(mlx4_filter_copies(eth, false), 0);
	COMMANDS(DETACH);
}

static void
test_isolated(void **state)
{
	assert_false(mlx4_filter_is_isolated(eth));
	assert_int_equal(mlx4_filter_isolate(eth, true), 0);
	assert_true(mlx4_filter_is_isolated(eth));
	assert_int_equal(card.num_cmds, 0);
	start();
	assert_int_equal(fake_rules(&card), 0);
	assert_int_equal(mlx4_promiscuous_enable(&dev), 0);
	assert_int_equal(card.num_cmds, 0);
	assert_int_equal(mlx4_filter_isolate(eth, false), 0);
	assert_int_equal(fake_rules(&card), 4);
	fake_forget(&card);
	assert_int_equal(mlx4_filter_isolate(eth, false), 0);
	assert_int_equal(card.num_cmds, 0);
	assert_int_equal(mlx4_filter_isolate(eth, true), 0);
	COMMANDS(DETACH, DETACH, DETACH, DETACH);
	/* Its rules are refused: it stays as it is. */
	fake_refuse(&card, ATTACH, 1, 8);
	assert_int_equal(mlx4_filter_isolate(eth, false), -ENOSPC);
	assert_true(mlx4_filter_is_isolated(eth));
	assert_int_equal(fake_rules(&card), 0);
	assert_int_equal(mlx4_filter_isolate(eth, false), 0);
	assert_false(mlx4_filter_is_isolated(eth));
	assert_int_equal(fake_rules(&card), 4);
}

static const uint8_t *
vlan_box(void)
{
	return fake_last(&card, SET_VLAN_FLTR)->box;
}

/* Off, each VLAN passes; on, those that were named, those of groups, and frames of VLAN 0. */
static void
test_vlans(void **state)
{
	unsigned int i;

	assert_int_equal(mlx4_vlan_filter_set(&dev, 40, 1), 0);
	assert_int_equal(card.num_cmds, 0);
	eth->group_vlans[127] = 0x80000000;
	eth->group_vlans[1] = 1;
	assert_int_equal(mlx4_vlan_apply(eth), 0);
	for (i = 0; i < 128; i++)
		assert_int_equal(prm_get32(vlan_box(), i * 4), UINT32_MAX);
	data.dev_conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	start();
	assert_int_equal(mlx4_vlan_filter_set(&dev, 4095, 1), 0);
	FAKE_BOX(fake_last(&card, SET_VLAN_FLTR), {127 * 4, 1}, {126 * 4, 0x101}, {0, 0x80000000});
	/* Those of groups stay. */
	assert_int_equal(mlx4_vlan_filter_set(&dev, 4095, 0), 0);
	assert_int_equal(mlx4_vlan_filter_set(&dev, 40, 0), 0);
	FAKE_BOX(fake_last(&card, SET_VLAN_FLTR), {127 * 4, 1}, {126 * 4, 1}, {0, 0x80000000});
	fake_refuse(&card, SET_VLAN_FLTR, 2, 3);
	assert_int_equal(mlx4_vlan_filter_set(&dev, 41, 1), -EINVAL);
	assert_int_equal(eth->vlan_filter[1], 0);
	for (i = 1; i <= 127; i++) {
		fake_forget(&card);
		assert_int_equal(mlx4_vlan_filter_set(&dev, (uint16_t)(i * 32), 1), i == 1 ? -EINVAL : 0);
	}
	fake_forget(&card);
	assert_int_equal(mlx4_vlan_filter_set(&dev, 32, 1), 0);
	rig_log_begin();
	assert_int_equal(mlx4_vlan_filter_set(&dev, 33, 1), -ENOSPC);
	rig_log_one("port 3: VLAN 33 is one too many", "127 entries");
	assert_int_equal(eth->vlan_filter[1], 1);
	assert_int_equal(card.num_cmds, 1);
	/* One of them again is none more. */
	assert_int_equal(mlx4_vlan_filter_set(&dev, 32, 1), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_start),    T(test_modes),    T(test_addresses),  T(test_list),
		T(test_overflow), T(test_groups),   T(test_table_full), T(test_retarget),
		T(test_flood),    T(test_isolated), T(test_vlans),
	};

	if (rig_eal("mlx4frules", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
