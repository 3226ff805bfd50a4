/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "pair_rig.h"

#define AT_SWITCH "wire0=ibswitch:pairs,wire1=ibswitch:pairs"

const struct rte_ether_addr primary_mac = {{0x00, 0x02, 0xca, 0xa1, 0xd2, 0x01}};
const struct rte_ether_addr backup_mac = {{0x00, 0x02, 0xca, 0xa1, 0xe2, 0x01}};
uint16_t pair, peer;

void
pair_plug(const char *args)
{
	char text[256];

	snprintf(text, sizeof(text), BOTH "%s%s", args[0] == '\0' ? "" : ",", args);
	pair = pr_plug("net_ib_pair0", text);
}

int
pair_setup_cards(void **state)
{
	pr_card(0, AT_SWITCH);
	pr_card(1, AT_SWITCH);
	pr_manage(1, 2, NULL, 0);
	peer = pr_plug("net_ipoib0", "port=" PR_PORT(2));
	return 0;
}

int
pair_setup(void **state)
{
	pair_setup_cards(state);
	pair_plug("failback-delay=0");
	return 0;
}

int
pair_teardown(void **state)
{
	uint16_t port;

	if (rte_eth_dev_get_port_by_name("net_ib_pair0", &port) == 0)
		rig_unplug("net_ib_pair0");
	rig_unplug("net_ipoib0");
	/* The members' names are the bus's until the next pair comes. */
	for (port = 0; port < RTE_MAX_ETHPORTS; port++)
		assert_false(rte_eth_dev_is_valid_port(port));
	pr_unplug();
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
	return 0;
}

struct tp_ipoib_pair_info
pair_info(void)
{
	struct tp_ipoib_pair_info i;

	assert_int_equal(tp_ipoib_pair_info(pair, &i), 0);
	return i;
}

static bool
carries(void *arg)
{
	struct tp_ipoib_pair_info i = pair_info();

	return i.active == *(unsigned int *)arg && i.up;
}

void
pair_wait_carries(unsigned int member)
{
	pr_until(carries, &member, member == 0 ? "the primary port carries" : "the backup carries");
}

struct tp_ipoib_pair_info begin;

void
pair_members_up(void)
{
	struct tp_ipoib_pair_info i = pair_info();

	pr_wait_up(i.member[0]);
	pr_wait_up(i.member[1]);
	pr_wait_up(pair);
}

void
pair_all_up(uint16_t queues)
{
	const struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS};

	pr_start(peer, 1, 1, rig_pool());
	rig_start(pair, queues, &conf);
	pr_wait_up(peer);
	pair_members_up();
	/* From here on the pair moves only for what a test does. */
	pair_wait_carries(0);
	begin = pair_info();
}

static bool
made_active(void *arg)
{
	return tp_ipoib_pair_set_active(pair, *(unsigned int *)arg) == 0;
}

void
pair_make_active(unsigned int member)
{
	pr_until(made_active, &member, "a port is made the active one");
}

void
pair_exchange(const struct rte_ether_addr *want)
{
	const struct rte_ether_addr mac = rig_mac(pair), peer_mac = rig_mac(peer);
	struct rte_ether_addr at_pair, at_peer;

	pr_meet(pair, IP_A, peer, IP_B, &at_pair, &at_peer);
	assert_memory_equal(&at_peer, want, sizeof(at_peer));
	pr_send(pair, 0, pr_udp(&mac, &at_pair, IP_A, IP_B, 100));
	pr_expect(peer, &at_peer, &peer_mac, IP_A, IP_B, 100);
	pr_send(peer, 0, pr_udp(&peer_mac, &at_peer, IP_B, IP_A, 90));
	pr_expect(pair, &at_pair, &mac, IP_B, IP_A, 90);
}
