/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the provider in software asks of its ethdev: the link's speed, multicast, rules for packets. */
#include <errno.h>

#include <ethdev_driver.h>
#include <rte_eth_ring.h>
#include <rte_flow_driver.h>

#include "pair.h"

static const struct qp_conf ud = {.type = IBV_QPT_UD};

/* --- the link and groups ---------------------------------------------------------------------------------------------- */

/* Widths and speeds as verbs names them: 1 and 2 are one and four lanes; 1, 4, 32, 64 are SDR, QDR, EDR, HDR. */
static void
link_speeds(void **state)
{
	static const struct {
		uint32_t mbps;
		uint8_t width, speed;
	} t[] = {
		{0, 1, 1},       {1000, 1, 1},    {9999, 1, 1},    {10000, 1, 4},   {24999, 1, 4},
		{25000, 1, 32},  {39999, 1, 32},  {40000, 2, 4},   {50000, 2, 4},   {99999, 2, 4},
		{100000, 2, 32}, {199999, 2, 32}, {200000, 2, 64}, {400000, 2, 64}, {RTE_ETH_SPEED_NUM_UNKNOWN, 1, 1},
	};
	struct pair *p = *state;
	struct rte_eth_link *link = &rte_eth_devices[p->n[0].port].data->dev_link, was = *link;
	struct ibv_port_attr a;

	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		link->link_speed = t[i].mbps;
		assert_int_equal(tp_roce_query_port(p->n[0].ctx, 1, &a), 0);
		assert_int_equal(a.active_width, t[i].width);
		assert_int_equal(a.active_speed, t[i].speed);
		assert_int_equal(a.phys_state, 5); /* LinkUp */
	}
	link->link_status = RTE_ETH_LINK_DOWN;
	assert_int_equal(tp_roce_query_port(p->n[0].ctx, 1, &a), 0);
	assert_int_equal(a.phys_state, 2); /* Polling */
	assert_int_equal(a.state, IBV_PORT_DOWN);
	*link = was;
}

static unsigned int asked_for_groups;

static int
refuse_groups(struct rte_eth_dev *dev)
{
	asked_for_groups++;
	return -ENOTSUP;
}

/* A port that lets no groups through when a queue pair joins one is told to, once; what its application says it keeps. */
static void
all_groups(void **state)
{
	const struct pair_conf conf = {.mtu = 1024};
	const union ibv_gid gid = {.raw = {0xff, 0x0e, [15] = 9}};
	struct eth_dev_ops ops;

	(void)state;
	for (unsigned int how = 0; how < 4; how++) {
		struct pair *p = pair_open(&conf);
		uint16_t port = p->n[0].port;
		const struct eth_dev_ops *was = rte_eth_devices[port].dev_ops;
		struct ibv_qp *a = pair_qp(p, 0, &ud), *b = pair_qp(p, 0, &ud);

		ops = *was;
		ops.allmulticast_enable = refuse_groups;
		asked_for_groups = 0;
		/* Ports of rings begin with both. */
		if (how != 2)
			assert_int_equal(rte_eth_allmulticast_disable(port), 0);
		if (how != 1)
			assert_int_equal(rte_eth_promiscuous_disable(port), 0);
		if (how == 3)
			rte_eth_devices[port].dev_ops = &ops;
		assert_int_equal(tp_roce_attach_mcast(a, &gid, 0), 0);
		assert_int_equal(tp_roce_attach_mcast(b, &gid, 0), 0);
		assert_int_equal(rte_eth_allmulticast_get(port), how == 0 || how == 2);
		/* One that refuses is asked for each member. */
		assert_int_equal(asked_for_groups, how == 3 ? 2 : 0);
		assert_int_equal(tp_roce_detach_mcast(a, &gid, 0), 0);
		assert_int_equal(tp_roce_detach_mcast(b, &gid, 0), 0);
		assert_int_equal(tp_roce_destroy_qp(a), 0);
		assert_int_equal(tp_roce_destroy_qp(b), 0);
		rte_eth_devices[port].dev_ops = was;
		pair_close(p);
		assert_int_equal(rte_eth_allmulticast_get(port), how == 2);
		assert_int_equal(rte_eth_promiscuous_enable(port), 0);
		assert_int_equal(rte_eth_allmulticast_enable(port), 0);
	}
}

/* So many groups at most; the place of any that lost its last member is free, the first one's, too. */
static void
places_of_groups(void **state)
{
	struct pair *p = *state;
	struct ibv_device_attr attr;
	struct ibv_qp *qp = pair_qp(p, 0, &ud);
	union ibv_gid gid = {.raw = {0xff, 0x0e}};
	unsigned int most;

	assert_int_equal(tp_roce_query_device(p->n[0].ctx, &attr), 0);
	most = (unsigned int)attr.max_mcast_grp;
	for (unsigned int i = 0; i <= most; i++) {
		gid.raw[14] = (uint8_t)(i >> 8);
		gid.raw[15] = (uint8_t)i;
		assert_int_equal(tp_roce_attach_mcast(qp, &gid, 0), i < most ? 0 : ENOMEM);
	}
	gid.raw[14] = gid.raw[15] = 0;
	assert_int_equal(tp_roce_detach_mcast(qp, &gid, 0), 0);
	gid.raw[13] = 1;
	assert_int_equal(tp_roce_attach_mcast(qp, &gid, 0), 0);
	assert_int_equal(tp_roce_detach_mcast(qp, &gid, 0), 0);
	gid.raw[13] = 0;
	for (unsigned int i = 1; i < most; i++) {
		gid.raw[14] = (uint8_t)(i >> 8);
		gid.raw[15] = (uint8_t)i;
		assert_int_equal(tp_roce_detach_mcast(qp, &gid, 0), 0);
	}
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

/* --- its MTU -------------------------------------------------------------------------------------------------------- */

/* The application may know of longer frames than ethdev does. */
static void
told_mtu(void **state)
{
	const struct pair_conf conf = {.eth_mtu = 1500, .told = 4200};
	const struct qp_conf rc = {.type = IBV_QPT_RC, .timeout = 20}; /* nothing is sent twice */
	struct pair *p = pair_open(&conf);
	struct rte_eth_stats before, after;
	struct ibv_port_attr a;
	struct ibv_qp *qp[2];

	(void)state;
	assert_int_equal(tp_roce_query_port(p->n[0].ctx, 1, &a), 0);
	assert_int_equal(a.active_mtu, IBV_MTU_4096);
	pair_qps(p, &rc, &qp[0], &qp[1]);
	pair_fill(p, 0, 0, 8192, 1);
	pair_recv(p, 1, qp[1], 1, 16384, 8192);
	assert_int_equal(rte_eth_stats_get(p->n[0].port, &before), 0);
	pair_send(p, 0, qp[0], 2, 0, 8192);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	pair_same(p, 0, 16384, 8192);
	assert_int_equal(rte_eth_stats_get(p->n[0].port, &after), 0);
	/* Two of 4 KiB, not eight of 1 KiB; neighbours may be asked for in between. */
	assert_in_range(after.opackets - before.opackets, 2, 4);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(tp_roce_destroy_qp(qp[i]), 0);
	pair_close(p);
	p = pair_open(&(struct pair_conf){.eth_mtu = 1500});
	assert_int_equal(tp_roce_query_port(p->n[0].ctx, 1, &a), 0);
	assert_int_equal(a.active_mtu, IBV_MTU_1024);
	pair_close(p);
}

/* --- rules of the ethdev -------------------------------------------------------------------------------------------- */

static struct {
	enum rte_flow_item_type refused; /* in the second place */
	unsigned int checked, made, gone;
	struct rule {
		enum rte_flow_item_type second;
		uint16_t udp_port, udp_mask, etype, etype_mask, queue, queues;
		uint64_t rss;
	} rule[3];
} flows;
static struct rte_flow *const handles[3] = {(struct rte_flow *)&flows.rule[0], (struct rte_flow *)&flows.rule[1],
					    (struct rte_flow *)&flows.rule[2]};

static int
flow_check(struct rte_eth_dev *dev, const struct rte_flow_attr *attr, const struct rte_flow_item pattern[],
	   const struct rte_flow_action actions[], struct rte_flow_error *err)
{
	flows.checked++;
	assert_int_equal(attr->ingress, 1);
	assert_int_equal(attr->egress, 0);
	assert_int_equal(attr->transfer, 0);
	assert_int_equal(pattern[0].type, RTE_FLOW_ITEM_TYPE_ETH);
	assert_true(actions[0].type == RTE_FLOW_ACTION_TYPE_QUEUE || actions[0].type == RTE_FLOW_ACTION_TYPE_RSS);
	assert_int_equal(actions[1].type, RTE_FLOW_ACTION_TYPE_END);
	return pattern[1].type == flows.refused ? rte_flow_error_set(err, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, NULL, "no")
						: 0;
}

static struct rte_flow *
flow_make(struct rte_eth_dev *dev, const struct rte_flow_attr *attr, const struct rte_flow_item pattern[],
	  const struct rte_flow_action actions[], struct rte_flow_error *err)
{
	struct rule *r = &flows.rule[flows.made];

	r->second = pattern[1].type;
	if (actions[0].type == RTE_FLOW_ACTION_TYPE_RSS) {
		const struct rte_flow_action_rss *rss = actions[0].conf;

		r->queue = rss->queue[0];
		r->queues = (uint16_t)rss->queue_num;
		r->rss = rss->types;
		for (uint16_t i = 1; i < r->queues; i++)
			assert_int_equal(rss->queue[i], r->queue + i);
	} else {
		r->queue = ((const struct rte_flow_action_queue *)actions[0].conf)->index;
		r->queues = 1;
	}
	if (r->second == RTE_FLOW_ITEM_TYPE_END) {
		r->etype = ((const struct rte_flow_item_eth *)pattern[0].spec)->type;
		r->etype_mask = ((const struct rte_flow_item_eth *)pattern[0].mask)->type;
	} else {
		assert_null(pattern[0].spec);
		assert_int_equal(pattern[2].type, RTE_FLOW_ITEM_TYPE_UDP);
		assert_int_equal(pattern[3].type, RTE_FLOW_ITEM_TYPE_END);
		r->udp_port = ((const struct rte_flow_item_udp *)pattern[2].spec)->hdr.dst_port;
		r->udp_mask = ((const struct rte_flow_item_udp *)pattern[2].mask)->hdr.dst_port;
	}
	return handles[flows.made++];
}

static int
flow_end(struct rte_eth_dev *dev, struct rte_flow *flow, struct rte_flow_error *err)
{
	assert_ptr_equal(flow, handles[flows.gone]);
	flows.gone++;
	return 0;
}

static const struct rte_flow_ops flow_ops = {.validate = flow_check, .create = flow_make, .destroy = flow_end};

static int
get_flow_ops(struct rte_eth_dev *dev, const struct rte_flow_ops **ops)
{
	*ops = &flow_ops;
	return 0;
}

/* A port of up to three receive queues, whose driver has rules. */
static uint16_t
port_with_rules(uint16_t num_rx, uint16_t num_tx, struct eth_dev_ops *ops)
{
	static const struct rte_eth_conf conf;
	static struct rte_mempool *pool;
	static struct rte_ring *ring;
	static uint16_t port;
	struct rte_eth_dev *dev;

	if (ring == NULL) {
		struct rte_ring *all[3];

		ring = rte_ring_create("rules", 64, SOCKET_ID_ANY, 0);
		assert_non_null(ring);
		all[0] = all[1] = all[2] = ring;
		port = (uint16_t)rte_eth_from_rings("rules", all, 3, all, 3, SOCKET_ID_ANY);
		pool = rte_pktmbuf_pool_create("rules", 63, 0, 0, 2048, SOCKET_ID_ANY);
		assert_non_null(pool);
	}
	dev = &rte_eth_devices[port];
	*ops = *dev->dev_ops;
	ops->flow_ops_get = get_flow_ops;
	dev->dev_ops = ops;
	assert_int_equal(rte_eth_dev_configure(port, num_rx, num_tx, &conf), 0);
	for (uint16_t i = 0; i < num_rx; i++)
		assert_int_equal(rte_eth_rx_queue_setup(port, i, 64, 0, NULL, pool), 0);
	for (uint16_t i = 0; i < num_tx; i++)
		assert_int_equal(rte_eth_tx_queue_setup(port, i, 64, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start(port), 0);
	return port;
}

/* Rules bring RoCE to the library's queue of several, or v2 to those of its lanes; what the driver refuses is left out, the others go with the port. */
static void
steering(void **state)
{
	static const struct {
		uint16_t num_rx, rx_queue, udp_port;
		bool app_rx;
		enum rte_flow_item_type refused;
		unsigned int rules;
		uint16_t lanes;
	} t[] = {
		{2, 1, 0, false, RTE_FLOW_ITEM_TYPE_VOID, 3},    {2, 0, 1021, false, RTE_FLOW_ITEM_TYPE_VOID, 3},
		{2, 1, 0, false, RTE_FLOW_ITEM_TYPE_IPV6, 2},    {2, 1, 0, false, RTE_FLOW_ITEM_TYPE_END, 2},
		{1, 0, 0, false, RTE_FLOW_ITEM_TYPE_VOID, 0},    {2, 0, 0, true, RTE_FLOW_ITEM_TYPE_VOID, 0},
		{3, 1, 0, false, RTE_FLOW_ITEM_TYPE_VOID, 3, 2}, {2, 0, 0, false, RTE_FLOW_ITEM_TYPE_VOID, 0, 2},
	};
	static struct eth_dev_ops ops[RTE_DIM(t)];

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		const struct tp_roce_conf conf = {.provider = "sw",
						  .rx_queue = t[i].rx_queue,
						  .udp_port = t[i].udp_port,
						  .app_rx = t[i].app_rx,
						  .lanes = t[i].lanes};
		uint16_t lanes = t[i].lanes == 0 ? 1 : t[i].lanes;
		uint16_t port = port_with_rules(t[i].num_rx, lanes, &ops[i]);
		struct ibv_context *ctx;

		memset(&flows, 0, sizeof(flows));
		flows.refused = t[i].refused;
		ctx = tp_roce_open(port, &conf);
		assert_non_null(ctx);
		assert_int_equal(flows.checked, t[i].rules == 0 ? 0 : 3);
		assert_int_equal(flows.made, t[i].rules);
		for (unsigned int k = 0; k < flows.made; k++) {
			const struct rule *r = &flows.rule[k];
			bool v1 = r->second == RTE_FLOW_ITEM_TYPE_END;

			assert_int_equal(r->queue, t[i].rx_queue);
			assert_int_equal(r->queues, v1 ? 1 : lanes);
			assert_int_equal(r->rss, r->queues == 1                         ? 0
						 : r->second == RTE_FLOW_ITEM_TYPE_IPV4 ? RTE_ETH_RSS_NONFRAG_IPV4_UDP
											: RTE_ETH_RSS_NONFRAG_IPV6_UDP);
			assert_int_equal(r->etype, v1 ? RTE_BE16(0x8915) : 0);
			assert_int_equal(r->etype_mask, v1 ? 0xffff : 0);
			assert_int_equal(r->udp_port,
					 v1 ? 0 : rte_cpu_to_be_16(t[i].udp_port != 0 ? t[i].udp_port : 4791));
			assert_int_equal(r->udp_mask, v1 ? 0 : 0xffff);
		}
		if (t[i].rules == 3) {
			assert_int_equal(flows.rule[0].second, RTE_FLOW_ITEM_TYPE_IPV4);
			assert_int_equal(flows.rule[1].second, RTE_FLOW_ITEM_TYPE_IPV6);
			assert_int_equal(flows.rule[2].second, RTE_FLOW_ITEM_TYPE_END);
		}
		assert_int_equal(flows.gone, 0);
		assert_int_equal(tp_roce_close_device(ctx), 0);
		assert_int_equal(flows.gone, t[i].rules);
		assert_int_equal(rte_eth_dev_stop(port), 0);
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {T(link_speeds), cmocka_unit_test(all_groups), T(places_of_groups),
					   cmocka_unit_test(told_mtu), T(steering)};

	return cmocka_run_group_tests_name("roce_sw_ethdev", tests, NULL, NULL);
}
