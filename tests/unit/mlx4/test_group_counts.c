/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a group counts: of its queues, since they joined it, also of those that left or were made again; and its hash types. */
#include <errno.h>

#include "drivers/mlx4/group/group.h"
#include "group_rig.h"

#define QUEUES 6
#define LEN (RIG_FRAME + 4u)

static void
start(void)
{
	group_start(QUEUES, NULL);
}

/* So many frames to address n come to a queue. */
static void
receive(unsigned int n, uint16_t queue, unsigned int frames)
{
	const struct rte_ether_addr dst = group_mac(n);
	uint32_t number;
	unsigned int i;

	for (i = 0; i < frames; i++) {
		group_tx(group_frame(&dst, 0xffff, &number));
		group_expect(number, queue);
	}
	rig_run(0);
	assert_int_equal(group_poll(), frames);
}

/* So many frames leave by a queue of the group's port. */
static void
transmit(uint16_t queue, unsigned int frames)
{
	const struct rte_ether_addr dst = rig_mac(0);
	struct rte_mbuf *m;
	unsigned int i;

	for (i = 0; i < frames; i++) {
		m = rig_frame(&dst, LEN);
		assert_int_equal(rte_eth_tx_burst(1, queue, &m, 1), 1);
	}
	rig_run(0);
	assert_int_equal(rig_drain(0, 0), frames);
}

static void
counted(const char *name, uint64_t rx, uint64_t tx, unsigned int used)
{
	struct rte_pmd_mlx4_group_stats st;

	assert_int_equal(rte_pmd_mlx4_group_stats(1, name, &st), 0);
	assert_int_equal(st.rx_frames, rx);
	assert_int_equal(st.rx_bytes, rx * LEN);
	assert_int_equal(st.tx_frames, tx);
	assert_int_equal(st.tx_bytes, tx * LEN);
	assert_int_equal(st.rx_errors + st.rx_nombuf + st.tx_errors + st.flood_drops, 0);
	assert_int_equal(st.spoof_mac_drops + st.spoof_type_drops, 0);
	assert_int_equal(st.queues_used, used);
}

static void
test_account(void **state)
{
	struct tp_group x = group_conf("x", 1, TP_VLAN_ANY, 2, 1), g = group_conf("g", 2, TP_VLAN_ANY, 2, 2);
	struct rte_pmd_mlx4_group_stats st;

	start();
	group_add(&x, 1);
	receive(1, 2, 3);
	transmit(2, 4);
	counted("x", 3, 4, 1);
	group_remove("x");
	assert_int_equal(rte_pmd_mlx4_group_stats(1, "x", &st), -ENOENT);
	assert_int_equal(rte_pmd_mlx4_group_stats(9, "x", &st), -ENODEV);
	/* What its queues did before is not its. */
	group_add(&g, 1);
	counted("g", 0, 0, 1);
	receive(2, 2, 5);
	transmit(2, 6);
	transmit(3, 1);
	counted("g", 5, 7, 1);
	/* Queue 2 leaves, what it did stays; what it does from now on is no part of it. */
	g = group_conf("g", 2, TP_VLAN_ANY, 3, 2);
	group_modify(&g, 1);
	counted("g", 5, 7, 1);
	transmit(2, 2);
	receive(2, 3, 2);
	transmit(4, 1);
	counted("g", 7, 8, 1);
	/* It comes back. */
	g = group_conf("g", 2, TP_VLAN_ANY, 2, 3);
	group_modify(&g, 1);
	receive(2, 2, 1);
	counted("g", 8, 8, 1);
	/* Queues that are made again begin at 0, the group does not. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_rx_queue_setup(1, 2, RIG_DESC, SOCKET_ID_ANY, NULL, group_pool()), 0);
	assert_int_equal(rte_eth_tx_queue_setup(1, 2, RIG_DESC, SOCKET_ID_ANY, NULL), 0);
	counted("g", 8, 8, 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	receive(2, 2, 2);
	transmit(2, 3);
	counted("g", 10, 11, 1);
	assert_int_equal(rte_eth_stats_reset(1), 0);
	counted("g", 0, 0, 1);
	receive(2, 2, 1);
	counted("g", 1, 0, 1);
}

/* Queues with frames: all of those of an RSS group, one of another, those of the default set that its table names. */
static void
test_used(void **state)
{
	const struct rte_eth_conf rss = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
					 .rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP};
	struct tp_group g = group_conf("g", 1, TP_VLAN_ANY, 1, 3), def = group_conf("def", 0, TP_VLAN_ANY, 4, 2), got;

	group_start(QUEUES, &rss);
	/* Of a port that stands all are named. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	group_add(&g, 3);
	counted("g", 0, 0, 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	counted("g", 0, 0, 1);
	g.rss = TP_RSS_UDP6;
	group_modify(&g, 3);
	counted("g", 0, 0, 3);
	def.is_default = true;
	memset(def.mac, 0, sizeof(def.mac));
	def.rss = TP_RSS_TCP4;
	group_add(&def, 2);
	counted("def", 0, 0, 2);
	assert_int_equal(rte_pmd_mlx4_group_get(1, 0, &got), 0);
	assert_string_equal(got.name, "g");
	assert_int_equal(rte_pmd_mlx4_group_get(1, 1, &got), 0);
	assert_string_equal(got.name, "def");
	assert_int_equal(rte_pmd_mlx4_group_get(1, 2, &got), -ENOENT);
	assert_int_equal(rte_pmd_mlx4_group_get(9, 0, &got), -ENODEV);
	/* The first goes, the second moves up. */
	group_remove("g");
	assert_int_equal(rte_pmd_mlx4_group_get(1, 0, &got), 0);
	assert_string_equal(got.name, "def");
	assert_int_equal(rte_pmd_mlx4_group_get(1, 1, &got), -ENOENT);
}

static void
test_hash_types(void **state)
{
	static const struct {
		uint32_t type;
		uint64_t hf;
	} t[] = {
		{TP_RSS_IPV4, RTE_ETH_RSS_IPV4},
		{TP_RSS_TCP4, RTE_ETH_RSS_NONFRAG_IPV4_TCP},
		{TP_RSS_UDP4, RTE_ETH_RSS_NONFRAG_IPV4_UDP},
		{TP_RSS_IPV6, RTE_ETH_RSS_IPV6},
		{TP_RSS_TCP6, RTE_ETH_RSS_NONFRAG_IPV6_TCP},
		{TP_RSS_UDP6, RTE_ETH_RSS_NONFRAG_IPV6_UDP},
	};
	struct tp_group g = group_conf("g", 1, TP_VLAN_ANY, 1, 1);
	uint64_t all = 0;
	unsigned int i;

	start();
	assert_true(mlx4_group_rss_hf(&g) == 0);
	for (i = 0; i < RTE_DIM(t); i++) {
		g.rss = t[i].type;
		assert_true(mlx4_group_rss_hf(&g) == t[i].hf);
		all |= t[i].type;
	}
	g.rss = all;
	assert_true(mlx4_group_rss_hf(&g) ==
		    (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |
		     RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP));
}

/* What the folders below are told: whose queues are taken, and the VLANs that groups name. */
static void
test_facts(void **state)
{
	struct tp_group a = group_conf("a", 1, 31, 1, 1), b = group_conf("b", 2, 4095, 3, 2),
			c = group_conf("c", 3, TP_VLAN_NONE, 5, 1);
	const struct mlx4_eth *eth;
	unsigned int i;

	start();
	eth = rte_eth_devices[1].data->dev_private;
	group_add(&a, 1);
	group_add(&b, 1);
	group_add(&c, 1);
	for (i = 0; i < QUEUES; i++)
		assert_int_equal(eth->taken[i], i != 0 && i != 2);
	for (i = 0; i < RTE_DIM(eth->group_vlans); i++)
		assert_int_equal(eth->group_vlans[i], i == 0 || i == 127 ? UINT32_C(1) << 31 : 0);
	assert_false(eth->default_set.declared);
	group_remove("b");
	assert_false(eth->taken[3] || eth->taken[4]);
	assert_int_equal(eth->group_vlans[127], 0);
	assert_int_equal(eth->group_vlans[0], UINT32_C(1) << 31);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, group_open, group_close)
	const struct CMUnitTest tests[] = {T(test_account), T(test_used), T(test_hash_types), T(test_facts)};

	if (rig_eal("mlx4gct", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
