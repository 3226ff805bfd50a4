/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Rules of rte_flow on a port of the model: which queue gets a frame, with what mark, and what rules outlive. */
#include <errno.h>

#include <rte_errno.h>
#include <rte_thash.h>

#include "flow_rig.h"
#include "tp_roce.h"

#define QUEUES 4u
#define MANY 3000u

static int
setup(void **state)
{
	rig_open_pair("", QUEUES, NULL);
	return 0;
}

static int
hits(struct rte_mbuf *m)
{
	struct rte_mbuf *got;
	int q = flow_queue_of(m, QUEUES, &got);

	rte_pktmbuf_free(got);
	return q;
}

static struct rte_mbuf *
udp(uint16_t dport)
{
	return rig_ipv4(IPPROTO_UDP, 0x0a000001, 0x0a000002, 1000, dport);
}

static struct rte_mbuf *
tagged(uint16_t tci)
{
	struct rte_mbuf *m = udp(7);

	m->vlan_tci = tci;
	assert_int_equal(rte_vlan_insert(&m), 0);
	return m;
}

/* UDP over IPv6 without payload. */
static struct rte_mbuf *
udp6(uint16_t dport)
{
	struct rte_ether_addr mac = rig_mac(1);
	struct rte_mbuf *m = rig_frame(&mac, 62);
	uint8_t *h = rte_pktmbuf_mtod(m, uint8_t *);

	memset(h + 12, 0, 50);
	h[12] = 0x86, h[13] = 0xdd, h[14] = 0x60, h[19] = 8, h[20] = IPPROTO_UDP, h[21] = 64;
	h[22] = h[38] = 0xfd, h[37] = 1, h[53] = 2;
	h[56] = (uint8_t)(dport >> 8), h[57] = (uint8_t)dport, h[59] = 8;
	return m;
}

static void
test_queue(void **state)
{
	struct rte_flow *f = flow_add(0, TO_PORT(5000), ACTIONS(QUEUE(2))), *g;

	assert_int_equal(hits(udp(5000)), 2);
	assert_int_equal(hits(udp(5001)), 0);
	g = flow_add(0, TO_PORT(5001), ACTIONS(QUEUE(2)));
	assert_int_equal(hits(udp(5001)), 2);
	flow_remove(f);
	assert_int_equal(hits(udp(5000)), 0);
	assert_int_equal(hits(udp(5001)), 2);
	flow_remove(g);
	assert_int_equal(hits(udp(5001)), 0);
}

/* Each field that the card compares: a frame that agrees, and one that does not. */
static void
test_items(void **state)
{
	const struct rte_ether_addr mac = rig_mac(1), src = {{0x02, 0, 0, 0, 0, 0x77}};
	const struct rte_flow_item_eth dst = {.hdr.dst_addr = mac}, from = {.hdr.src_addr = src},
				       type = {.hdr.ether_type = RTE_BE16(0x88b5)},
				       type_mask = {.hdr.ether_type = RTE_BE16(0xffff)},
				       oui = {.hdr.src_addr = {{0xff, 0xff, 0xff, 0, 0, 0}}},
				       whole = {.hdr.src_addr = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}};
	const struct rte_flow_item_vlan vid = {.hdr.vlan_tci = RTE_BE16(100)},
					prio = {.hdr.vlan_tci = RTE_BE16(0x6000)},
					prio_mask = {.hdr.vlan_tci = RTE_BE16(0xe000)};
	const struct rte_flow_item_ipv4 net = {.hdr.src_addr = RTE_BE32(0x0a0000ff)},
					net_mask = {.hdr.src_addr = RTE_BE32(0xffffff00)},
					tcp4 = {.hdr.next_proto_id = IPPROTO_TCP}, proto = {.hdr.next_proto_id = 0xff};
	const struct rte_flow_item_udp ports = {.hdr = {.src_port = RTE_BE16(1000), .dst_port = RTE_BE16(9)}};
	const struct rte_flow_item_tcp sport = {.hdr.src_port = RTE_BE16(1000)},
				       sport_mask = {.hdr.src_port = RTE_BE16(0xffff)};
	const struct {
		const struct rte_flow_item *pattern;
		struct rte_mbuf *yes, *no;
	} c[] = {
		{PATTERN(ITEM(ETH, .spec = &dst,
			      .mask = &(const struct rte_flow_item_eth){.hdr.dst_addr = {{[0 ... 5] = 0xff}}})),
		 rig_frame(&mac, RIG_FRAME), NULL},
		{PATTERN(ITEM(ETH, .spec = &from, .mask = &whole)), udp(1), NULL},
		{PATTERN(ITEM(ETH, .spec = &from, .mask = &oui)), udp(1), NULL},
		{PATTERN(ITEM(ETH, .spec = &type, .mask = &type_mask)), rig_frame(&mac, RIG_FRAME), udp(1)},
		{PATTERN(ITEM(ETH), ITEM(VLAN, .spec = &vid)), tagged(0xa064), tagged(101)},
		{PATTERN(ITEM(ETH), ITEM(VLAN, .spec = &prio, .mask = &prio_mask)), tagged(0x6001), tagged(0x4001)},
		{PATTERN(ITEM(ETH), ITEM(VLAN, .spec = &vid), ITEM(IPV4), ITEM(UDP)), tagged(100), udp(7)},
		{PATTERN(ITEM(ETH), ITEM(IPV4, .spec = &net, .mask = &net_mask)), udp(1),
		 rig_ipv4(IPPROTO_UDP, 0x0a000101, 1, 2, 3)},
		{PATTERN(ITEM(IPV4)), udp(1), udp6(1)},
		{PATTERN(ITEM(ETH), ITEM(IPV4, .spec = &tcp4, .mask = &proto)), rig_ipv4(IPPROTO_TCP, 1, 2, 3, 4),
		 udp(1)},
		{PATTERN(ITEM(ETH), ITEM(IPV6)), udp6(1), udp(1)},
		{PATTERN(ITEM(ETH), ITEM(IPV6), UDP_DST(77)), udp6(77), udp6(78)},
		{PATTERN(ITEM(ETH), ITEM(VOID), ITEM(IPV4), ITEM(UDP, .spec = &ports)), udp(9), udp(10)},
		{PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(TCP, .spec = &sport, .mask = &sport_mask)),
		 rig_ipv4(IPPROTO_TCP, 1, 2, 1000, 4), udp(4)},
		{PATTERN(ITEM(TCP)), rig_ipv4(IPPROTO_TCP, 1, 2, 1000, 4), udp(4)},
		{PATTERN(ITEM(ETH)), udp6(1), NULL},
	};
	struct rte_flow *f;
	unsigned int i;

	for (i = 0; i < RTE_DIM(c); i++) {
		print_message("pattern %u\n", i);
		f = flow_add(3, c[i].pattern, ACTIONS(QUEUE(3)));
		assert_int_equal(hits(c[i].yes), 3);
		if (c[i].no != NULL)
			assert_int_equal(hits(c[i].no), 0);
		flow_remove(f);
	}
}

static void
test_vxlan_cx3(void **state)
{
	rig_unplug(RIG_DEV);
	rig_open_pair("type=cx3", QUEUES, NULL);
	flow_refused(&(const struct rte_flow_attr){.ingress = 1}, PATTERN(ITEM(ETH), ITEM(UDP), ITEM(VXLAN)),
		     ACTIONS(QUEUE(1)), RTE_FLOW_ERROR_TYPE_ITEM, "Pro");
}

static void
test_mark(void **state)
{
	struct rte_mbuf *m;

	flow_add(0, TO_PORT(1), ACTIONS(MARK(0xdeadbeef), QUEUE(1)));
	flow_add(0, TO_PORT(2), ACTIONS(MARK(0), QUEUE(1)));
	flow_add(0, TO_PORT(3), ACTIONS(ACTION(FLAG), QUEUE(1)));
	flow_add(0, TO_PORT(4), ACTIONS(QUEUE(1)));
	assert_int_equal(flow_queue_of(udp(1), QUEUES, &m), 1);
	assert_int_equal(m->ol_flags & (RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID),
			 RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID);
	assert_int_equal(m->hash.fdir.hi, 0xdeadbeef);
	rte_pktmbuf_free(m);
	assert_int_equal(flow_queue_of(udp(2), QUEUES, &m), 1);
	assert_int_not_equal(m->ol_flags & RTE_MBUF_F_RX_FDIR_ID, 0);
	assert_int_equal(m->hash.fdir.hi, 0);
	rte_pktmbuf_free(m);
	assert_int_equal(flow_queue_of(udp(3), QUEUES, &m), 1);
	assert_int_equal(m->ol_flags & (RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID), RTE_MBUF_F_RX_FDIR);
	rte_pktmbuf_free(m);
	assert_int_equal(flow_queue_of(udp(4), QUEUES, &m), 1);
	assert_int_equal(m->ol_flags & (RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID), 0);
	rte_pktmbuf_free(m);
}

/* What is not known is called by DPDK's name, or by its number where DPDK has none. */
static void
test_names(void **state)
{
	const struct rte_flow_attr in = {.ingress = 1};
	const struct rte_flow_action queue[] = {QUEUE(1), {.type = RTE_FLOW_ACTION_TYPE_END}};
	const struct rte_flow_action mark = {.type = RTE_FLOW_ACTION_TYPE_MARK};
	struct rte_flow_query_count q;
	struct rte_flow_error e = {0};
	struct rte_flow *f;

	flow_refused(&in, PATTERN(ITEM(ETH), ITEM(ICMP)), queue, RTE_FLOW_ERROR_TYPE_ITEM, "item icmp (type ");
	flow_refused(&in, PATTERN(ITEM(ETH), ITEM(E_TAG)), queue, RTE_FLOW_ERROR_TYPE_ITEM, "item e_tag (type ");
	flow_refused(&in, PATTERN(ITEM(ETH), {.type = 30000}), queue, RTE_FLOW_ERROR_TYPE_ITEM, "item type 30000: ");
	flow_refused(&in, PATTERN(ITEM(ETH), {.type = INT32_MIN}), queue, RTE_FLOW_ERROR_TYPE_ITEM,
		     "item type -2147483648: ");
	flow_refused(&in, TO_PORT(1), ACTIONS(ACTION(PASSTHRU)), RTE_FLOW_ERROR_TYPE_ACTION, "action passthru (type ");
	flow_refused(&in, TO_PORT(1), ACTIONS({.type = 30000}), RTE_FLOW_ERROR_TYPE_ACTION, "action type 30000: ");
	f = flow_add(0, TO_PORT(1), ACTIONS(ACTION(COUNT), QUEUE(1)));
	assert_int_equal(rte_flow_query(1, f, &mark, &q, &e), -ENOTSUP);
	assert_non_null(strstr(e.message, "action mark (type "));
}

/* Where the published function says: queue list[hash & (n - 1)], with the mark and the hash in the mbuf. */
static void
test_rss(void **state)
{
	/* What lies behind the last of so many queues is none. */
	static const uint16_t four[] = {3, 1, 2, 0, QUEUES}, three[] = {0, 2, 3, QUEUES};
	uint8_t key[40];
	struct rte_flow_action_rss rss = {.queue = four,
					  .queue_num = 4,
					  .key = key,
					  .key_len = sizeof(key),
					  .types = RTE_ETH_RSS_NONFRAG_IPV4_UDP};
	unsigned int i, seen = 0, hist[QUEUES] = {0};
	struct rte_flow *f;
	struct rte_mbuf *m;

	for (i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(i * 37 + 11);
	f = flow_add(0, PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(UDP)), ACTIONS(MARK(9), ACTION(RSS, .conf = &rss)));
	for (i = 0; i < 64; i++) {
		uint32_t tuple[3] = {0x0a000001, 0x0a000002, 1000u << 16 | i}, hash = rte_softrss(tuple, 3, key);

		assert_int_equal(flow_queue_of(udp((uint16_t)i), QUEUES, &m), four[hash & 3]);
		assert_int_equal(m->hash.rss, hash);
		assert_int_not_equal(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH, 0);
		assert_int_equal(m->hash.fdir.hi, 9);
		seen |= 1u << (hash & 3);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(seen, 0xf);
	flow_remove(f);
	/* A number that is no power of two: shares differ by an eighth at most. */
	rss.queue = three;
	rss.queue_num = 3;
	f = flow_add(0, PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(UDP)), ACTIONS(ACTION(RSS, .conf = &rss)));
	for (i = 0; i < 300; i++)
		hist[hits(udp((uint16_t)i))]++;
	assert_int_equal(hist[1], 0);
	for (i = 0; i < 3; i++)
		assert_in_range(hist[three[i]], 60, 140);
	flow_remove(f);
	rss.func = RTE_ETH_HASH_FUNCTION_SIMPLE_XOR;
	f = flow_add(0, PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(UDP)), ACTIONS(ACTION(RSS, .conf = &rss)));
	assert_int_not_equal(hits(udp(1)), 1);
	flow_remove(f);
	/* One queue hashes nothing. */
	rss.queue_num = 1;
	rss.func = RTE_ETH_HASH_FUNCTION_DEFAULT;
	rss.types = 0;
	flow_add(0, PATTERN(ITEM(ETH)), ACTIONS(ACTION(RSS, .conf = &rss)));
	assert_int_equal(flow_queue_of(udp(1), QUEUES, &m), 0);
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH, 0);
	rte_pktmbuf_free(m);
}

static void
test_drop(void **state)
{
	struct rte_flow *f = flow_add(0, TO_PORT(9), ACTIONS(ACTION(DROP)));
	struct rte_eth_stats before, after;

	assert_int_equal(rte_eth_stats_get(1, &before), 0);
	assert_int_equal(hits(udp(9)), -1);
	assert_int_equal(hits(udp(10)), 0);
	assert_int_equal(rte_eth_stats_get(1, &after), 0);
	assert_int_equal(after.ipackets - before.ipackets, 1);
	assert_int_equal(after.imissed - before.imissed, 1);
	flow_remove(f);
	assert_int_equal(hits(udp(9)), 0);
}

/* A card that does not make the queue of dropped frames keeps nothing of it, however far it came. */
static void
test_drop_refused(void **state)
{
	static const uint16_t steps[] = {MLX4_CMD_SW2HW_CQ, MLX4_CMD_RST2INIT_QP, MLX4_CMD_INIT2RTR_QP,
					 MLX4_CMD_RTR2RTS_QP};
	const struct rte_flow_attr attr = {.ingress = 1};
	struct mlx4_hca *hca = ((struct mlx4_eth *)rte_eth_devices[1].data->dev_private)->hca;
	struct mlx4_limits before, after;
	struct rte_flow_error e;
	uint64_t commands;
	unsigned int i;
	uint32_t eqs;

	mlx4_hca_usage(hca, &before, &eqs, &commands);
	for (i = 0; i < RTE_DIM(steps); i++) {
		assert_int_equal(tp_model_fault(rig_model(1), TP_FAULT_STATUS, steps[i], 1, MLX4_STAT_BAD_PARAM), 0);
		rig_log_begin();
		assert_null(rte_flow_create(1, &attr, TO_PORT(9), ACTIONS(ACTION(DROP)), &e));
		free(rig_log_end(&(unsigned int){0}));
		mlx4_hca_usage(hca, &after, &eqs, &commands);
		assert_memory_equal(&after, &before, sizeof(before));
	}
	flow_remove(flow_add(0, TO_PORT(9), ACTIONS(ACTION(DROP))));
}

static uint64_t
count_of(struct rte_flow *f, bool reset, uint64_t *bytes)
{
	const struct rte_flow_action count = {.type = RTE_FLOW_ACTION_TYPE_COUNT};
	struct rte_flow_query_count q = {.reset = reset};
	struct rte_flow_error e;

	assert_int_equal(rte_flow_query(1, f, &count, &q, &e), 0);
	assert_int_equal(q.hits_set, 1);
	assert_int_equal(q.bytes_set, 1);
	*bytes = q.bytes;
	return q.hits;
}

static void
test_count(void **state)
{
	const struct rte_flow_action count = {.type = RTE_FLOW_ACTION_TYPE_COUNT};
	struct rte_flow *f = flow_add(0, TO_PORT(1), ACTIONS(ACTION(COUNT), QUEUE(1)));
	struct rte_flow *g = flow_add(0, TO_PORT(2), ACTIONS(ACTION(COUNT), QUEUE(1)));
	struct rte_flow *plain = flow_add(0, TO_PORT(3), ACTIONS(QUEUE(1)));
	struct rte_flow_query_count q = {0};
	struct rte_flow_error e;
	unsigned int i;
	uint64_t bytes;

	for (i = 0; i < 5; i++)
		assert_int_equal(hits(udp(1)), 1);
	assert_int_equal(hits(udp(2)), 1);
	assert_int_equal(hits(udp(3)), 1);
	assert_int_equal(count_of(f, false, &bytes), 5);
	assert_int_equal(bytes, 5 * 80);
	assert_int_equal(count_of(g, false, &bytes), 1);
	/* Neither a stop nor another queue loses what was counted. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(count_of(f, false, &bytes), 5);
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_int_equal(hits(udp(1)), 1);
	assert_int_equal(count_of(f, true, &bytes), 6);
	assert_int_equal(bytes, 6 * 80);
	assert_int_equal(count_of(f, false, &bytes), 0);
	assert_int_equal(bytes, 0);
	assert_int_not_equal(rte_flow_query(1, plain, &count, &q, &e), 0);
	assert_non_null(strstr(e.message, "no such action"));
	flow_remove(f);
	assert_int_equal(rte_flow_query(1, f, &count, &q, &e), -ENOENT);
	assert_int_equal(rte_flow_destroy(1, f, &e), -ENOENT);
	assert_int_equal(e.type, RTE_FLOW_ERROR_TYPE_HANDLE);
}

static void
test_priority(void **state)
{
	struct rte_flow *f = flow_add(5, PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(UDP)), ACTIONS(QUEUE(1)));
	struct rte_flow *g = flow_add(4, TO_PORT(1), ACTIONS(QUEUE(2))), *h;

	assert_int_equal(hits(udp(1)), 2);
	assert_int_equal(hits(udp(2)), 1);
	h = flow_add(0, PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(UDP)), ACTIONS(QUEUE(3)));
	assert_int_equal(hits(udp(1)), 3);
	flow_remove(h);
	/* The same frames twice at one priority: both would get them. */
	flow_refused(&(const struct rte_flow_attr){.ingress = 1, .priority = 4}, TO_PORT(1), ACTIONS(QUEUE(3)),
		     RTE_FLOW_ERROR_TYPE_ITEM, "priority 4");
	h = flow_add(2047, TO_PORT(1), ACTIONS(QUEUE(3)));
	assert_int_equal(hits(udp(1)), 2);
	flow_remove(g);
	assert_int_equal(hits(udp(1)), 1);
	flow_remove(f);
	assert_int_equal(hits(udp(1)), 3);
	flow_remove(h);
	assert_int_equal(hits(udp(1)), 0);
}

static void
test_isolate(void **state)
{
	const struct rte_ether_addr bcast = {{[0 ... 5] = 0xff}}, other = {{2, 9, 9, 9, 9, 9}};
	struct rte_flow_error e;

	assert_int_equal(rte_flow_isolate(1, 1, &e), 0);
	assert_int_equal(hits(udp(1)), -1);
	assert_int_equal(hits(rig_frame(&bcast, RIG_FRAME)), -1);
	flow_add(0, TO_PORT(1), ACTIONS(QUEUE(1)));
	assert_int_equal(hits(udp(1)), 1);
	assert_int_equal(hits(udp(2)), -1);
	/* What is set meanwhile is in force afterwards; a start changes nothing. */
	assert_int_equal(rte_eth_promiscuous_enable(1), 0);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_int_equal(hits(udp(1)), 1);
	assert_int_equal(hits(udp(2)), -1);
	assert_int_equal(rte_flow_isolate(1, 0, &e), 0);
	assert_int_equal(hits(udp(1)), 1);
	assert_int_equal(hits(udp(2)), 0);
	assert_int_equal(hits(rig_frame(&other, RIG_FRAME)), 0);
	assert_int_equal(rte_flow_flush(1, &e), 0);
	assert_int_equal(hits(udp(1)), 0);
}

static void
test_many(void **state)
{
	static struct rte_flow *f[MANY];
	struct rte_flow_item_udp spec = {0}, mask = {.hdr.dst_port = RTE_BE16(0xffff)};
	struct rte_flow_error e;
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		spec.hdr.dst_port = rte_cpu_to_be_16((uint16_t)(10000 + i));
		f[i] = flow_add(i % 3, PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(UDP, .spec = &spec, .mask = &mask)),
				ACTIONS(QUEUE((uint16_t)(i % QUEUES))));
	}
	for (i = 0; i < MANY; i += 41)
		assert_int_equal(hits(udp((uint16_t)(10000 + i))), i % QUEUES);
	for (i = 0; i < MANY; i += 2)
		flow_remove(f[i]);
	for (i = 0; i < MANY; i += 41)
		assert_int_equal(hits(udp((uint16_t)(10000 + i))), i % 2 == 0 ? 0 : i % QUEUES);
	assert_int_equal(rte_flow_flush(1, &e), 0);
	for (i = 0; i < MANY; i += 101)
		assert_int_equal(hits(udp((uint16_t)(10000 + i))), 0);
}

/* Rings for marks come and go, and their frames too: those that the card took before a rule went still arrive. */
static void
test_come_and_go(void **state)
{
	struct rte_flow *f;
	unsigned int i;
	size_t before = 0;

	flow_add(0, TO_PORT(1), ACTIONS(MARK(1), QUEUE(1)));
	for (i = 0; i < 100; i++) {
		f = flow_add(0, TO_PORT(2), ACTIONS(MARK(i + 2), QUEUE(1)));
		rig_send(0, udp(1));
		rig_send(0, udp(2));
		flow_remove(f);
		assert_int_equal(rig_drain(1, 1), 2);
		assert_int_equal(hits(udp(2)), 0);
		/* The next call finds emptied rings and frees them. */
		rte_flow_validate(1, &(const struct rte_flow_attr){.ingress = 1}, TO_PORT(3), ACTIONS(QUEUE(1)), NULL);
		if (i == 0)
			before = rig_heap();
	}
	/* The heap's own splinters; a ring of any round would be more. */
	assert_true(rig_heap() < before + 1024);
}

static void
test_queue_stop(void **state)
{
	static const uint16_t all[] = {0, 1, 2, 3};
	const struct rte_flow_action_rss rss = {.queue = all, .queue_num = 4, .types = RTE_ETH_RSS_NONFRAG_IPV4_UDP};
	unsigned int i, seen = 0;

	flow_add(0, TO_PORT(1), ACTIONS(MARK(7), QUEUE(2)));
	flow_add(1, PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(UDP)), ACTIONS(ACTION(RSS, .conf = &rss)));
	assert_int_equal(hits(udp(1)), 2);
	/* What is for a queue that is stopped alone is lost, what is for several goes to the others. */
	assert_int_equal(rte_eth_dev_rx_queue_stop(1, 2), 0);
	assert_int_equal(hits(udp(1)), -1);
	for (i = 2; i < 66; i++)
		seen |= 1u << hits(udp((uint16_t)i));
	assert_int_equal(seen, 0xb);
	assert_int_equal(rte_eth_dev_rx_queue_start(1, 2), 0);
	assert_int_equal(hits(udp(1)), 2);
	for (i = 2, seen = 0; i < 66; i++)
		seen |= 1u << hits(udp((uint16_t)i));
	assert_int_equal(seen, 0xf);
}

static void
test_restart(void **state)
{
	struct rte_flow *f = flow_add(0, TO_PORT(1), ACTIONS(MARK(7), QUEUE(2)));
	struct rte_mbuf *m;

	assert_int_equal(rte_eth_dev_stop(1), 0);
	/* Made while the port is stopped, it holds from its start on. */
	flow_add(0, TO_PORT(2), ACTIONS(QUEUE(3)));
	rig_log_begin();
	assert_int_not_equal(rte_eth_dev_configure(1, 2, 1, &(const struct rte_eth_conf){0}), 0);
	rig_log_one("names queue 2", "2 receive queues");
	rig_start(1, QUEUES, NULL);
	assert_int_equal(flow_queue_of(udp(1), QUEUES, &m), 2);
	assert_int_equal(m->hash.fdir.hi, 7);
	rte_pktmbuf_free(m);
	assert_int_equal(hits(udp(2)), 3);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_reset(1), 0);
	rig_start(1, QUEUES, NULL);
	assert_int_equal(hits(udp(1)), 2);
	flow_remove(f);
	assert_int_equal(hits(udp(1)), 0);
	assert_int_equal(hits(udp(2)), 3);
}

/* Large frames through rings of rules, too. */
static void
test_scattered(void **state)
{
	struct rte_eth_conf conf = {.rxmode = {.mtu = 9000, .offloads = RTE_ETH_RX_OFFLOAD_SCATTER}};
	const struct rte_flow_item_eth spec = {.hdr.ether_type = RTE_BE16(0x88b5)},
				       mask = {.hdr.ether_type = RTE_BE16(0xffff)};
	struct rte_ether_addr dst = rig_mac(1);
	struct rte_mbuf *m;

	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rig_configure(0, 1, 1, &(struct rte_eth_conf){.rxmode.mtu = 9000}, rig_large_pool()), 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	rig_start(1, QUEUES, &conf);
	flow_add(0, PATTERN(ITEM(ETH, .spec = &spec, .mask = &mask)), ACTIONS(MARK(3), QUEUE(3)));
	assert_int_equal(flow_queue_of(rig_frame(&dst, 9000), QUEUES, &m), 3);
	assert_int_equal(m->pkt_len, 9000);
	assert_int_equal(m->hash.fdir.hi, 3);
	rte_pktmbuf_free(m);
}

/* RoCE in software asks the port for its packets by such rules, and gives them back. */
static void
test_roce_software(void **state)
{
	const struct tp_roce_conf conf = {.provider = "sw", .rx_queue = 3, .tx_queue = 3};
	struct ibv_context *ctx = tp_roce_open(1, &conf);
	struct rte_ether_addr mac = rig_mac(1);
	struct rte_mbuf *m = rig_frame(&mac, RIG_FRAME);

	assert_non_null(ctx);
	assert_int_equal(hits(udp(4791)), 3);
	assert_int_equal(hits(udp6(4791)), 3);
	assert_int_equal(hits(udp(4790)), 0);
	rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->ether_type = RTE_BE16(0x8915);
	assert_int_equal(hits(m), 3);
	assert_int_equal(tp_roce_close_device(ctx), 0);
	assert_int_equal(hits(udp(4791)), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_queue),       T(test_items),        T(test_vxlan_cx3), T(test_mark),      T(test_rss),
		T(test_drop),        T(test_count),        T(test_priority),  T(test_isolate),   T(test_many),
		T(test_come_and_go), T(test_queue_stop),   T(test_restart),   T(test_scattered), T(test_roce_software),
		T(test_names),       T(test_drop_refused),
	};

	if (rig_eal("mlx4flow", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
