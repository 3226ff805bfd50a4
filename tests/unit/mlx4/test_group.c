/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Groups of queues: who gets what, refusals, what is left behind. Where a frame belongs is computed here, not asked. */
#include <errno.h>
#include <stdlib.h>

#include <rte_flow.h>

#include "group_rig.h"

#define GROUPS 127u
#define UNTAGGED 0xffffu

/* The declarations of a test, as the test sees them. */
static struct tp_group conf[GROUPS];
static unsigned int num_conf;

/* Which queue a frame belongs to, by the words of the requirements: exact VLAN first, then untagged-only, then any. */
static int
belongs_to(unsigned int mac, uint16_t vlan)
{
	struct rte_ether_addr addr = group_mac(mac);
	uint16_t vid = vlan == UNTAGGED ? 0 : vlan & 0xfff;
	int best = -1, best_rank = 0;
	bool known = false;
	unsigned int i;

	for (i = 0; i < num_conf; i++) {
		int rank = 0;

		if (memcmp(conf[i].mac, addr.addr_bytes, 6) != 0)
			continue;
		known = true;
		if (conf[i].vlan == TP_VLAN_ANY)
			rank = 1;
		else if (conf[i].vlan == TP_VLAN_NONE)
			rank = vid == 0 ? 2 : 0;
		else if (vlan != UNTAGGED && conf[i].vlan == vid)
			rank = 3;
		if (rank > best_rank) {
			best_rank = rank;
			best = conf[i].queue[0];
		}
	}
	return best_rank != 0 ? best : known ? GROUP_DEFAULT_QUEUE : -1;
}

static void
declare(const struct tp_group *g)
{
	group_add(g, 1);
	conf[num_conf++] = *g;
}

/* 127 groups on 128 queues, 60 addresses with VLANs, untagged-only and any in every mixture. */
static void
declare_all(void)
{
	char name[TP_GROUP_NAME];
	uint16_t q = 1;
	unsigned int i;

	num_conf = 0;
	for (i = 0; q <= GROUPS; i++) {
		uint16_t vlan[] = {TP_VLAN_ANY, TP_VLAN_NONE, (uint16_t)(100 + i), 4095, 0};
		unsigned int k;

		for (k = 0; k < RTE_DIM(vlan) && q <= GROUPS; k++) {
			struct tp_group g;

			/* Untagged and any VLAN of one address exclude each other. */
			if (((i + 1) >> k & 1) == 0 || (k == 1 && ((i + 1) & 1) != 0))
				continue;
			snprintf(name, sizeof(name), "g%u-%u", i, k);
			g = group_conf(name, i, vlan[k], q++, 1);
			declare(&g);
		}
	}
	assert_int_equal(num_conf, GROUPS);
}

static void
random_traffic(unsigned int frames, unsigned int seed)
{
	static const uint16_t some[] = {UNTAGGED, UNTAGGED, 0, 0xe000, 4095, 1, 2048, 0x2064};
	unsigned int i, n, sent = 0, got = 0;

	srand(seed);
	group_account_reset();
	for (i = 0; i < frames; i++) {
		unsigned int mac = (unsigned int)rand() % 90;
		uint16_t vlan = rand() % 3 == 0 ? (uint16_t)((rand() % 8) << 13 | (100 + mac))
						: some[(unsigned int)rand() % RTE_DIM(some)];
		struct rte_ether_addr addr = group_mac(mac);
		int queue = belongs_to(mac, vlan);
		uint32_t number;

		group_tx(group_frame(&addr, vlan, &number));
		group_expect(number, queue);
		sent += queue >= 0;
		if (i % 64 == 63) {
			rig_run(0);
			got += group_poll();
		}
	}
	rig_run(0);
	while ((n = group_poll()) != 0)
		got += n;
	assert_int_equal(group_missing(), 0);
	assert_int_equal(got, sent);
	assert_true(sent > frames / 2);
}

static void
test_all_groups(void **state)
{
	struct tp_group g;

	group_start(GROUPS + 1, NULL);
	declare_all();
	random_traffic(20000, 1);
	/* The 128th. */
	g = group_conf("toomany", 200, TP_VLAN_ANY, 0, 1);
	group_refused(&g, -ENOSPC, "127", "group");
	/* They are there after a restart. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	random_traffic(5000, 2);
	assert_int_equal(rte_pmd_mlx4_group_get(1, GROUPS - 1, &g), 0);
	assert_memory_equal(&g, &conf[GROUPS - 1], sizeof(g));
	assert_int_equal(rte_pmd_mlx4_group_get(1, GROUPS, &g), -ENOENT);
}

/* A promiscuous port still gives groups what is theirs; the rest goes to the default queue. */
static void
test_promiscuous(void **state)
{
	struct rte_ether_addr addr = group_mac(500);
	uint32_t number;

	group_start(GROUPS + 1, NULL);
	assert_int_equal(rte_eth_promiscuous_enable(1), 0);
	declare_all();
	group_tx(group_frame(&addr, 7, &number));
	group_expect(number, GROUP_DEFAULT_QUEUE);
	addr = group_mac(0); /* g0: any */
	group_tx(group_frame(&addr, 7, &number));
	group_expect(number, belongs_to(0, 7));
	rig_run(0);
	assert_int_equal(group_poll(), 2);
	assert_int_equal(group_missing(), 0);
}

/* What is added goes away whole. */
static void
test_nothing_left(void **state)
{
	struct rte_pmd_mlx4_device dev, dev_after;
	struct rte_pmd_mlx4_model m, m_after;
	struct tp_group last = group_conf("last", 1, TP_VLAN_ANY, 1, 1);
	size_t heap;

	group_start(GROUPS + 1, NULL);
	assert_int_equal(rte_pmd_mlx4_model_get(1, &m), 0);
	assert_int_equal(rte_pmd_mlx4_device_get(1, &dev), 0);
	heap = rig_heap();
	declare_all();
	random_traffic(1000, 3);
	while (num_conf != 0)
		group_remove(conf[--num_conf].name);
	/* The pollers leave the old rings, the next change frees them; it has rings of its own until they leave those. */
	group_poll();
	group_add(&last, 1);
	group_remove("last");
	assert_int_equal(rte_pmd_mlx4_device_get(1, &dev_after), 0);
	assert_int_equal(rte_pmd_mlx4_model_get(1, &m_after), 0);
	assert_int_equal(m_after.rules, m.rules);
	assert_int_equal(dev_after.qps, dev.qps);
	assert_int_equal(dev_after.cqs, dev.cqs + 1);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_int_equal(rte_pmd_mlx4_device_get(1, &dev_after), 0);
	assert_int_equal(rte_pmd_mlx4_model_get(1, &m_after), 0);
	assert_int_equal(dev_after.qps, dev.qps);
	assert_int_equal(dev_after.cqs, dev.cqs);
	assert_int_equal(m_after.qps, m.qps);
	assert_int_equal(m_after.cqs, m.cqs);
	assert_int_equal(m_after.rules, m.rules);
	/* The allocator pads; a group or its sets are much more. */
	assert_in_range(rig_heap(), heap - 256, heap + 256);
}

/* A VLAN filter passes the VLANs of groups, too, and ceases to with them. */
static void
test_vlan_filter(void **state)
{
	const struct rte_eth_conf filter = {.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER};
	struct rte_ether_addr addr = group_mac(1);
	struct tp_group g = group_conf("tagged", 1, 300, 1, 1);
	uint32_t number;

	group_start(2, &filter);
	group_add(&g, 1);
	group_tx(group_frame(&addr, 300, &number));
	group_expect(number, 1);
	group_tx(group_frame(&addr, 301, &number));
	group_expect(number, -1);
	rig_run(0);
	assert_int_equal(group_poll(), 1);
	g.vlan = 301;
	group_modify(&g, 1);
	group_tx(group_frame(&addr, 300, &number));
	group_expect(number, -1);
	group_tx(group_frame(&addr, 301, &number));
	group_expect(number, 1);
	rig_run(0);
	assert_int_equal(group_poll(), 1);
	assert_int_equal(group_missing(), 0);
}

static void
test_refusals(void **state)
{
	struct tp_group g, one = group_conf("one", 1, 100, 1, 2);
	char err[TP_ERR_LEN];

	group_start(4, NULL);
	group_add(&one, 1);
	g = group_conf("one", 2, 100, 3, 1);
	group_refused(&g, -EEXIST, "one", "name");
	g = group_conf("two", 1, 100, 3, 1);
	group_refused(&g, -EEXIST, "02:aa:00:00:00:01", "one");
	g = group_conf("any", 5, TP_VLAN_ANY, 3, 1);
	group_add(&g, 1);
	g = group_conf("none", 5, TP_VLAN_NONE, 0, 1);
	group_refused(&g, -ENOTSUP, "vlan: none", "any");
	g = group_conf("any", 5, TP_VLAN_NONE, 3, 1);
	group_modify(&g, 1);
	g = group_conf("two", 5, TP_VLAN_ANY, 0, 1);
	group_refused(&g, -ENOTSUP, "vlan: any", "none");
	group_remove("any");
	g = group_conf("two", 2, 100, 2, 1);
	group_refused(&g, -EBUSY, "queue", "one");
	g = group_conf("two", 2, 100, 4, 1);
	group_refused(&g, -EINVAL, "queues: 4", "4");
	g = group_conf("two", 2, 4096, 3, 1);
	group_refused(&g, -EINVAL, "vlan: 4096", "4095");
	g = group_conf("two", 2, 100, 3, 1);
	g.mac[0] |= 1;
	group_refused(&g, -EINVAL, "mac", "unicast");
	g = group_conf("two", 2, 100, 3, 1);
	snprintf(g.mempool, sizeof(g.mempool), "nobody");
	group_refused(&g, -ENOENT, "mempool: nobody", "want");
	assert_non_null(rig_large_pool());
	snprintf(g.mempool, sizeof(g.mempool), "rig_large");
	group_refused(&g, -EINVAL, "rig_large", "bytes");
	/* Queue 0 and 3 are the last of the default set. */
	g = group_conf("two", 2, 100, 0, 1);
	group_add(&g, 1);
	g = group_conf("three", 3, 100, 3, 1);
	group_refused(&g, -EBUSY, "queues", "one left");
	/* A group cannot become the default one. */
	g = group_conf("two", 2, 100, 0, 1);
	g.is_default = true;
	memset(g.mac, 0, sizeof(g.mac));
	g.vlan = TP_VLAN_ANY;
	assert_int_equal(rte_pmd_mlx4_group_modify(1, &g, err), -EINVAL);
	assert_non_null(strstr(err, "default: on"));
	g = group_conf("nobody", 2, 100, 0, 1);
	assert_int_equal(rte_pmd_mlx4_group_modify(1, &g, err), -ENOENT);
	assert_int_equal(rte_pmd_mlx4_group_remove(1, "nobody", err), -ENOENT);
	assert_non_null(strstr(err, "nobody"));
	assert_int_equal(rte_pmd_mlx4_group_remove(77, "one", err), -ENODEV);
	/* The port cannot lose the queues of a group. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_log_begin();
	assert_int_not_equal(rte_eth_dev_configure(1, 2, 1, &(struct rte_eth_conf){0}), 0);
	rig_log_one("group one", "queue 2");
	assert_int_equal(rig_configure(1, 4, 1, NULL, group_pool()), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
}

static void
isolate_refused(const char *word1, const char *word2)
{
	struct rte_flow_error e = {0};

	assert_int_equal(rte_flow_isolate(1, 1, &e), -EBUSY);
	assert_non_null(e.message);
	if (strstr(e.message, word1) == NULL || strstr(e.message, word2) == NULL)
		fail_msg("\"%s\", wanted \"%s\" and \"%s\"", e.message, word1, word2);
}

/* Frames of three kinds for a group of untagged frames: one of it, one of another VLAN, one of nobody. */
static void
untagged_traffic(int mine, int tagged)
{
	struct rte_ether_addr addr = group_mac(1), nobody = group_mac(2);
	uint32_t number;

	group_account_reset();
	group_tx(group_frame(&addr, UNTAGGED, &number));
	group_expect(number, mine);
	group_tx(group_frame(&addr, 7, &number));
	group_expect(number, tagged);
	group_tx(group_frame(&nobody, UNTAGGED, &number));
	group_expect(number, -1);
	rig_run(0);
	assert_int_equal(group_poll(), (mine >= 0) + (tagged >= 0));
	assert_int_equal(group_missing(), 0);
}

/* Flow rules alone direct frames of an isolated port, so it has no groups; the default one only names the port's own queues. */
static void
test_isolated(void **state)
{
	struct tp_group g = group_conf("untagged", 1, TP_VLAN_NONE, 2, 1), two = group_conf("two", 5, 100, 1, 1), def;
	struct rte_flow_error e;

	group_start(4, NULL);
	group_add(&g, 1);
	untagged_traffic(2, GROUP_DEFAULT_QUEUE);
	isolate_refused("the group untagged,", "want none");
	/* All as it was: a tagged frame is not the group's. */
	untagged_traffic(2, GROUP_DEFAULT_QUEUE);
	group_add(&two, 1);
	isolate_refused("untagged and 1 more", "want none");
	/* Of a stopped port, too: its groups come to the card with the start. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	isolate_refused("untagged and 1 more", "want none");
	assert_int_equal(rte_eth_dev_start(1), 0);
	group_remove("untagged");
	group_remove("two");

	tp_group_default(&def);
	snprintf(def.name, sizeof(def.name), "rest");
	def.is_default = true;
	def.num_queues = 1;
	def.queue[0] = 3;
	group_add(&def, 1);
	assert_int_equal(rte_flow_isolate(1, 1, &e), 0);
	group_refused(&g, -EBUSY, "group untagged", "isolated");
	untagged_traffic(-1, -1);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	group_refused(&g, -EBUSY, "group untagged", "isolated");
	assert_int_equal(rte_eth_dev_start(1), 0);
	group_remove("rest");
	group_add(&def, 1);
	group_remove("rest");
	assert_int_equal(rte_flow_isolate(1, 0, &e), 0);
	group_add(&g, 1);
	untagged_traffic(2, GROUP_DEFAULT_QUEUE);
	assert_int_equal(rte_flow_isolate(1, 0, &e), 0);
	group_remove("untagged");
}

/* Broadcast and multicast to the default queue and to the first queue of each group that asks for them. */
static void
test_flood(void **state)
{
	static const struct rte_ether_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	struct rte_ether_addr listed = {{0x01, 0x00, 0x5e, 0, 0, 5}}, other = {{0x01, 0x00, 0x5e, 0, 0, 6}};
	struct tp_group a = group_conf("a", 1, TP_VLAN_ANY, 1, 2), b = group_conf("b", 2, 50, 3, 1);
	unsigned int i;
	uint32_t number;

	group_start(4, NULL);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(1, &listed, 1), 0);
	a.flood = true;
	a.rss = TP_RSS_ALL;
	group_add(&a, 2);
	group_add(&b, 1);
	rig_send(0, group_frame(&all, UNTAGGED, &number));
	assert_int_equal(group_drain(0), 1);
	assert_int_equal(group_drain(1), 1);
	assert_int_equal(group_drain(2) + group_drain(3), 0);
	b.flood = true;
	group_modify(&b, 1);
	for (i = 0; i < 4; i++) {
		rig_send(0, group_frame(i % 2 == 0 ? &listed : &all, i < 2 ? UNTAGGED : 9, &number));
		assert_int_equal(group_drain(0), 1);
		assert_int_equal(group_drain(1), 1);
		assert_int_equal(group_drain(2), 0);
		assert_int_equal(group_drain(3), 1);
	}
	group_remove("a");
	b.flood = false;
	group_modify(&b, 1);
	/* The list is exact again. */
	rig_send(0, group_frame(&other, UNTAGGED, &number));
	assert_int_equal(group_drain(0) + group_drain(1) + group_drain(3), 0);
	rig_send(0, group_frame(&listed, UNTAGGED, &number));
	assert_int_equal(group_drain(0), 1);
	assert_int_equal(group_drain(1) + group_drain(3), 0);
}

static const struct rte_ether_addr everybody = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

/* Polls until nothing comes any more, the default queue first since it makes copies; frees all. got: by queue. */
static void
drain_all(unsigned int *got, uint16_t queues)
{
	uint16_t q;

	for (q = 0; q < queues; q++)
		got[q] = group_drain(q);
}

/* All 127 groups get broadcast and multicast, once each: the first ones from the card, the others by software. */
static void
test_flood_all(void **state)
{
	struct rte_ether_addr mc = {{0x01, 0x00, 0x5e, 0, 0, 5}}, own;
	unsigned int got[GROUPS + 1], i, round, by_card;
	struct rte_pmd_mlx4_group_stats st;
	struct rte_eth_stats port;
	struct rte_mempool *mp = rte_pktmbuf_pool_create("floods", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, -1);
	char name[TP_GROUP_NAME];
	eth_rx_burst_t plain;
	struct tp_group g;
	struct rte_mbuf *m;
	uint32_t number;

	assert_non_null(mp);
	group_start(GROUPS + 1, NULL);
	plain = rte_eth_fp_ops[1].rx_pkt_burst;
	by_card = ((struct mlx4_eth *)rte_eth_devices[1].data->dev_private)->hca->caps.dmfs_max_qps - 2;
	assert_in_range(by_card, 8, 30);
	for (i = 0; i < GROUPS; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		g = group_conf(name, 10 + i, TP_VLAN_ANY, (uint16_t)(1 + i), 1);
		g.flood = true;
		if (i == by_card)
			assert_ptr_equal(rte_eth_fp_ops[1].rx_pkt_burst, plain);
		if (i == GROUPS - 1)
			snprintf(g.mempool, sizeof(g.mempool), "floods");
		group_add(&g, 1);
	}
	assert_ptr_not_equal(rte_eth_fp_ops[1].rx_pkt_burst, plain);
	own = rig_mac(1);
	for (round = 0; round < 2; round++) {
		rig_send(0, group_frame(&everybody, UNTAGGED, &number));
		drain_all(got, GROUPS + 1);
		for (i = 0; i <= GROUPS; i++)
			assert_int_equal(got[i], 1);
		/* Multicast that the port was not asked to take stays hidden from its own queue, and uncounted there. */
		assert_int_equal(rte_eth_stats_reset(1), 0);
		rig_send(0, group_frame(&mc, 7, &number));
		drain_all(got, GROUPS + 1);
		assert_int_equal(got[0], 0);
		for (i = 1; i <= GROUPS; i++)
			assert_int_equal(got[i], 1);
		assert_int_equal(rte_eth_stats_get(1, &port), 0);
		assert_int_equal(port.q_ipackets[0] + port.q_ibytes[0], 0);
		assert_int_equal(rte_pmd_mlx4_group_stats(1, "f126", &st), 0);
		assert_int_equal(st.rx_frames, 1);
		assert_int_equal(rte_eth_allmulticast_enable(1), 0);
		rig_send(0, group_frame(&mc, UNTAGGED, &number));
		drain_all(got, GROUPS + 1);
		for (i = 0; i <= GROUPS; i++)
			assert_int_equal(got[i], 1);
		assert_int_equal(rte_eth_allmulticast_disable(1), 0);
		/* Unicast is nobody else's. */
		rig_send(0, group_frame(&own, UNTAGGED, &number));
		drain_all(got, GROUPS + 1);
		for (i = 0; i <= GROUPS; i++)
			assert_int_equal(got[i], i == 0);
		if (round == 0) {
			assert_int_equal(rte_eth_dev_stop(1), 0);
			assert_int_equal(rte_eth_dev_start(1), 0);
		}
	}
	/* A copy has the bytes of the frame and lies in a buffer of the group. */
	rig_send(0, rig_frame(&everybody, 200));
	group_drain(0);
	assert_int_equal(rte_eth_rx_burst(1, GROUPS, &m, 1), 1);
	assert_ptr_equal(m->pool, mp);
	assert_int_equal(m->pkt_len, 200);
	for (i = RTE_ETHER_HDR_LEN; i < 200; i++)
		assert_int_equal(*rte_pktmbuf_mtod_offset(m, uint8_t *, i), (uint8_t)i);
	rte_pktmbuf_free(m);
	drain_all(got, GROUPS);
	/* Who does not poll loses copies, which are counted; the others have theirs. */
	for (i = 0; i < 700; i++) {
		rig_send(0, group_frame(&everybody, UNTAGGED, &number));
		drain_all(got, GROUPS);
		assert_int_equal(got[GROUPS - 1], 1);
	}
	assert_int_equal(rte_pmd_mlx4_group_stats(1, "f126", &st), 0);
	assert_int_equal(group_drain(GROUPS) + st.flood_drops, 700);
	assert_true(st.flood_drops != 0);
	assert_int_equal(rte_pmd_mlx4_group_stats(1, "f125", &st), 0);
	assert_int_equal(st.flood_drops, 0);
	/* A copy waits for the queue to which its group goes over. */
	rig_send(0, group_frame(&everybody, UNTAGGED, &number));
	group_drain(0);
	group_remove("f125");
	snprintf(g.name, sizeof(g.name), "f126");
	g.queue[0] = GROUPS - 1;
	group_modify(&g, 1);
	assert_int_equal(group_drain(GROUPS - 1), 1);
	assert_int_equal(group_drain(GROUPS), 0);
	/* The last that needs copies takes the burst function for them away, and what waits for it. */
	rig_send(0, group_frame(&everybody, UNTAGGED, &number));
	group_drain(0);
	for (i = by_card; i < GROUPS; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		if (i != 125)
			group_remove(name);
	}
	assert_ptr_equal(rte_eth_fp_ops[1].rx_pkt_burst, plain);
	drain_all(got, GROUPS + 1);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_mempool_in_use_count(mp), 0);
	rte_mempool_free(mp);
}

/* Two groups of one address: networks that the card can tell apart go beside each other, in either order. */
static void
test_one_address(void **state)
{
	static const struct {
		uint16_t vlan, beside;
		int error; /* of the second */
	} row[] = {
		{TP_VLAN_ANY, TP_VLAN_NONE, -ENOTSUP},
		{TP_VLAN_NONE, TP_VLAN_ANY, -ENOTSUP},
		{TP_VLAN_NONE, 7, 0},
		{7, TP_VLAN_NONE, 0},
		{TP_VLAN_ANY, 7, 0},
		{7, TP_VLAN_ANY, 0},
		{7, 8, 0},
		{7, 7, -EEXIST},
	};
	unsigned int i;

	group_start(4, NULL);
	for (i = 0; i < RTE_DIM(row); i++) {
		const struct tp_group first = group_conf("first", 5, row[i].vlan, 1, 1);
		const struct tp_group second = group_conf("second", 5, row[i].beside, 2, 1);

		group_add(&first, 1);
		if (row[i].error != 0) {
			group_refused(&second, row[i].error, "group", "first");
		} else {
			group_add(&second, 1);
			group_remove("second");
		}
		group_remove("first");
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, group_open, group_close)
	const struct CMUnitTest tests[] = {
		T(test_all_groups), T(test_promiscuous), T(test_nothing_left), T(test_vlan_filter), T(test_refusals),
		T(test_isolated),   T(test_flood),       T(test_flood_all),    T(test_one_address),
	};

	if (rig_eal("mlx4grp", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
