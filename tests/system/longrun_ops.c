/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Control operations as an application makes them: only what ethdev wants unpolled is kept from the worker meanwhile. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_flow.h>

#include "longrun.h"
#include "rte_pmd_mlx4.h"
#include "rte_pmd_mlx4_queue.h"

#define MAX_RULES 8u
#define KEY_LEN 40u

struct lr_port lr_port[PORTS];

static struct rte_flow *rules[PORTS][MAX_RULES];
static bool extra[PORTS][EXTRA_MACS], vlan[PORTS][VLANS];
static uint64_t state;

void
lr_seed(uint64_t seed)
{
	state = seed;
}

uint32_t
lr_random(uint32_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33) % below;
}

static void
rest(const struct lr_port *p, bool on)
{
	__atomic_store_n(&lr_traffic.rest[p->id], on, __ATOMIC_RELEASE);
	lr_told();
}

static void
queues_told(const struct lr_port *p)
{
	lr_traffic.queues[p->id] = p->queues;
	lr_traffic.rxq_off[p->id] = p->rxq_off;
	lr_traffic.txq_off[p->id] = p->txq_off;
	lr_told();
}

/* --- life ------------------------------------------------------------------------------------------------------ */

int
lr_up(struct lr_port *p, uint16_t queues)
{
	struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS, .mtu = MTU_USUAL}};
	struct rte_eth_dev_info info;
	uint16_t q;
	int ret = rte_eth_dev_info_get(p->id, &info);

	conf.rx_adv_conf.rss_conf.rss_hf = (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP) & info.flow_type_rss_offloads;
	if (ret == 0)
		ret = rte_eth_dev_configure(p->id, queues, queues, &conf);
	for (q = 0; q < queues && ret == 0; q++) {
		ret = rte_eth_rx_queue_setup(p->id, q, (uint16_t)(256u << lr_random(2)), 0, NULL, lr_traffic.pool);
		if (ret == 0)
			ret = rte_eth_tx_queue_setup(p->id, q, (uint16_t)(256u << lr_random(2)), 0, NULL);
	}
	if (ret == 0)
		ret = rte_eth_dev_start(p->id);
	if (ret != 0)
		return ret;
	p->queues = queues;
	lr_traffic.longest[p->id] = MTU_USUAL + RTE_ETHER_HDR_LEN;
	p->rxq_off = p->txq_off = 0;
	queues_told(p);
	return 0;
}

static int
stop_start(struct lr_port *p)
{
	int ret;

	rest(p, true);
	ret = rte_eth_dev_stop(p->id);
	if (ret == 0)
		ret = rte_eth_dev_start(p->id);
	p->rxq_off = p->txq_off = 0;
	queues_told(p);
	rest(p, false);
	return ret;
}

static int
flush_rules(struct lr_port *p)
{
	struct rte_flow_error err;

	memset(rules[p->id], 0, sizeof(rules[p->id]));
	return rte_flow_flush(p->id, &err);
}

static int
other_queues(struct lr_port *p)
{
	int ret;

	rest(p, true);
	ret = flush_rules(p);
	if (ret == 0)
		ret = rte_eth_dev_stop(p->id);
	if (ret == 0)
		ret = lr_up(p, (uint16_t)(1 + lr_random(MAX_QUEUES)));
	rest(p, false);
	return ret;
}

static int
reset(struct lr_port *p)
{
	int ret;

	rest(p, true);
	ret = flush_rules(p);
	if (ret == 0)
		ret = rte_eth_dev_reset(p->id);
	if (ret == 0)
		ret = lr_up(p, p->queues);
	rest(p, false);
	return ret;
}

static int
stop_start_rxq(struct lr_port *p)
{
	const uint16_t q = (uint16_t)lr_random(p->queues);
	const uint64_t bit = RTE_BIT64(q);
	int ret;

	if ((p->rxq_off & bit) == 0) {
		p->rxq_off |= bit;
		queues_told(p);
		return rte_eth_dev_rx_queue_stop(p->id, q);
	}
	ret = rte_eth_dev_rx_queue_start(p->id, q);
	p->rxq_off &= ~bit;
	queues_told(p);
	return ret;
}

static int
stop_start_txq(struct lr_port *p)
{
	const uint16_t q = (uint16_t)lr_random(p->queues);
	const uint64_t bit = RTE_BIT64(q);
	int ret;

	if ((p->txq_off & bit) == 0) {
		p->txq_off |= bit;
		queues_told(p);
		return rte_eth_dev_tx_queue_stop(p->id, q);
	}
	ret = rte_eth_dev_tx_queue_start(p->id, q);
	p->txq_off &= ~bit;
	queues_told(p);
	return ret;
}

/* --- link ------------------------------------------------------------------------------------------------------ */

/* Under traffic; a smaller one when longer frames have left: the card stops a queue that sends more than the port may. */
static int
mtu(struct lr_port *p)
{
	const uint16_t now = (uint16_t)(600 + lr_random(MTU_USUAL - 600 + 1)), longest = now + RTE_ETHER_HDR_LEN;
	const bool less = longest < lr_traffic.longest[p->id];
	int ret;

	if (less) {
		lr_settle();
		lr_traffic.longest[p->id] = longest;
	}
	ret = rte_eth_dev_set_mtu(p->id, now);
	lr_traffic.longest[p->id] = longest;
	if (less)
		lr_resume();
	return ret;
}

/* Buffers of a running queue do not grow. */
static int
mtu_refused(struct lr_port *p)
{
	const int ret = rte_eth_dev_set_mtu(p->id, 9000);

	return ret == -EBUSY ? 0 : ret == 0 ? -EPROTO : ret;
}

static int
link_flap(struct lr_port *p)
{
	const int ret = rte_eth_dev_set_link_down(p->id);

	lr_told();
	return ret != 0 ? ret : rte_eth_dev_set_link_up(p->id);
}

static int
cable(struct lr_port *p)
{
	const int ret = rte_pmd_mlx4_model_cable(p->id, false);

	lr_told();
	return ret != 0 ? ret : rte_pmd_mlx4_model_cable(p->id, true);
}

/* --- what arrives, and where ----------------------------------------------------------------------------------- */

static int
reta(struct lr_port *p)
{
	struct rte_eth_rss_reta_entry64 table[RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE] = {0};
	struct rte_eth_dev_info info;
	const uint32_t plain = lr_random(2);
	int ret = rte_eth_dev_info_get(p->id, &info);
	uint16_t i;

	for (i = 0; i < info.reta_size && ret == 0; i++) {
		table[i / RTE_ETH_RETA_GROUP_SIZE].mask = UINT64_MAX;
		table[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] =
			(uint16_t)(plain != 0 ? i % p->queues : lr_random(p->queues));
	}
	return ret != 0 ? ret : rte_eth_dev_rss_reta_update(p->id, table, info.reta_size);
}

static int
rss_key(struct lr_port *p)
{
	struct rte_eth_rss_conf conf = {0};
	uint8_t key[KEY_LEN];
	struct rte_eth_dev_info info;
	unsigned int i;
	int ret = rte_eth_dev_info_get(p->id, &info);

	for (i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)lr_random(256);
	conf.rss_key = key;
	conf.rss_key_len = sizeof(key);
	conf.rss_hf = (RTE_ETH_RSS_IP | (lr_random(2) != 0 ? RTE_ETH_RSS_UDP : 0)) & info.flow_type_rss_offloads;
	return ret != 0 ? ret : rte_eth_dev_rss_hash_update(p->id, &conf);
}

static int
mac_extra(struct lr_port *p)
{
	const unsigned int i = lr_random(EXTRA_MACS);
	struct rte_ether_addr mac = lr_extra_mac(p->id, i);
	int ret = extra[p->id][i] ? rte_eth_dev_mac_addr_remove(p->id, &mac) : rte_eth_dev_mac_addr_add(p->id, &mac, 0);

	if (ret == 0)
		extra[p->id][i] = !extra[p->id][i];
	return ret;
}

/* The peer learns the new address a moment later. */
static int
mac_own(struct lr_port *p)
{
	struct rte_ether_addr mac = {{0x02, 0, 0, (uint8_t)p->id, (uint8_t)lr_random(256), (uint8_t)lr_random(256)}};
	const int ret = rte_eth_dev_default_mac_addr_set(p->id, &mac);

	if (ret != 0)
		return ret;
	lr_told();
	rest(&lr_port[1 - p->id], true);
	lr_traffic.mac[p->id] = mac;
	rest(&lr_port[1 - p->id], false);
	return 0;
}

static int
vlan_filter(struct lr_port *p)
{
	const int mask = rte_eth_dev_get_vlan_offload(p->id);

	return mask < 0 ? mask : rte_eth_dev_set_vlan_offload(p->id, mask ^ RTE_ETH_VLAN_FILTER_OFFLOAD);
}

/* VLANs can be named while the filter is on. */
static int
vlan_id(struct lr_port *p)
{
	const unsigned int i = lr_random(VLANS);
	const int mask = rte_eth_dev_get_vlan_offload(p->id);
	int ret;

	if (mask < 0)
		return mask;
	if ((mask & RTE_ETH_VLAN_FILTER_OFFLOAD) == 0)
		return vlan_filter(p);
	ret = rte_eth_dev_vlan_filter(p->id, lr_vlan(i), !vlan[p->id][i]);
	if (ret == 0)
		vlan[p->id][i] = !vlan[p->id][i];
	return ret;
}

static int
promiscuous(struct lr_port *p)
{
	return rte_eth_promiscuous_get(p->id) == 1 ? rte_eth_promiscuous_disable(p->id)
						   : rte_eth_promiscuous_enable(p->id);
}

static int
multicast(struct lr_port *p)
{
	struct rte_ether_addr list[8];
	uint32_t i, n = lr_random(RTE_DIM(list) + 1);

	for (i = 0; i < n; i++)
		list[i] = (struct rte_ether_addr){{0x01, 0, 0x5e, 1, (uint8_t)lr_random(256), (uint8_t)i}};
	if (lr_random(2) != 0)
		return rte_eth_dev_set_mc_addr_list(p->id, list, n);
	return rte_eth_allmulticast_get(p->id) == 1 ? rte_eth_allmulticast_disable(p->id)
						    : rte_eth_allmulticast_enable(p->id);
}

/* Each place has UDP ports of its own: two rules for the same frames are refused. */
static int
rule(struct lr_port *p)
{
	const uint32_t at = lr_random(MAX_RULES), udp = at * (UDP_PORTS / MAX_RULES) + lr_random(UDP_PORTS / MAX_RULES);
	const struct rte_flow_action_queue queue = {.index = (uint16_t)lr_random(p->queues)};
	const struct rte_flow_action_mark mark = {.id = lr_random(1000)};
	const struct rte_flow_item_udp spec = {.hdr.dst_port = rte_cpu_to_be_16((uint16_t)(UDP_FIRST + udp))};
	const struct rte_flow_item_udp mask = {.hdr.dst_port = UINT16_MAX};
	const struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};
	const struct rte_flow_action to_queue[] = {{RTE_FLOW_ACTION_TYPE_QUEUE, &queue},
						   {RTE_FLOW_ACTION_TYPE_END, NULL}};
	const struct rte_flow_action marked[] = {{RTE_FLOW_ACTION_TYPE_MARK, &mark},
						 {RTE_FLOW_ACTION_TYPE_QUEUE, &queue},
						 {RTE_FLOW_ACTION_TYPE_END, NULL}};
	const struct rte_flow_action drop[] = {{RTE_FLOW_ACTION_TYPE_DROP, NULL}, {RTE_FLOW_ACTION_TYPE_END, NULL}};
	const struct rte_flow_action *const fate[] = {to_queue, marked, drop};
	const struct rte_flow_attr attr = {.ingress = 1, .priority = lr_random(3)};
	struct rte_flow **slot = &rules[p->id][at];
	struct rte_flow_error err = {0};
	int ret;

	if (*slot != NULL) {
		ret = rte_flow_destroy(p->id, *slot, &err);
		*slot = NULL;
		return ret;
	}
	*slot = rte_flow_create(p->id, &attr, pattern, fate[lr_random(RTE_DIM(fate))], &err);
	return *slot != NULL ? 0 : -rte_errno;
}

/* --- looks ----------------------------------------------------------------------------------------------------- */

static int
look(struct lr_port *p)
{
	struct rte_dev_reg_info regs = {0};
	struct rte_pmd_mlx4_rx_load load;
	struct rte_eth_rxq_info rxq;
	struct rte_eth_stats stats;
	struct rte_eth_link link;
	int ret = rte_eth_stats_get(p->id, &stats);

	if (ret == 0)
		ret = rte_eth_link_get_nowait(p->id, &link);
	if (ret == 0)
		ret = rte_eth_rx_queue_info_get(p->id, 0, &rxq);
	if (ret == 0)
		ret = rte_pmd_mlx4_rx_load_get(p->id, 0, &load);
	return ret != 0 ? ret : rte_eth_dev_get_reg_info(p->id, &regs);
}

struct lr_op lr_ops[] = {
	{.name = "stop-start", .run = stop_start, .stops = true},
	{.name = "other-queues", .run = other_queues, .stops = true},
	{.name = "reset", .run = reset, .stops = true},
	{.name = "rxq-stop-start", .run = stop_start_rxq, .stops = true},
	{.name = "txq-stop-start", .run = stop_start_txq, .stops = true},
	{.name = "mtu", .run = mtu},
	{.name = "mtu-refused", .run = mtu_refused},
	{.name = "link-down-up", .run = link_flap},
	{.name = "cable-out-in", .run = cable},
	{.name = "reta", .run = reta},
	{.name = "rss-key-types", .run = rss_key},
	{.name = "mac-add-remove", .run = mac_extra},
	{.name = "mac-set", .run = mac_own},
	{.name = "vlan-filter", .run = vlan_filter},
	{.name = "vlan-add-remove", .run = vlan_id},
	{.name = "promiscuous", .run = promiscuous},
	{.name = "multicast", .run = multicast},
	{.name = "flow-rule", .run = rule},
	{.name = "look", .run = look},
};
const unsigned int lr_num_ops = RTE_DIM(lr_ops);
