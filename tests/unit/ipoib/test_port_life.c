/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What an application may do with IPoIB ports as ethdevs: what they can, how they start and stop, what is refused. */
#include <errno.h>

#include "port_rig.h"

#define IP_A PR_IP_A
#define IP_B PR_IP_B
#define FRONT 60u /* of a buffer, in front of an Ethernet frame's packet of IP: 44 and 16 (docs/ipoib.md) */

static uint16_t a, b;

static int
setup(void **state)
{
	pr_open_two(&a, &b);
	pr_manage(0, 1, NULL, 0);
	return 0;
}

static int
teardown(void **state)
{
	pr_close_two();
	return 0;
}

/* --- what it is ------------------------------------------------------------------------------------------------------ */

static void
test_infos(void **state)
{
	const uint64_t sums =
		RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
	const uint64_t large = RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	struct rte_eth_dev_info i;

	assert_int_equal(rte_eth_dev_info_get(a, &i), 0);
	assert_int_equal(i.rx_offload_capa,
			 RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM);
	assert_int_equal(i.rx_queue_offload_capa, i.rx_offload_capa);
	assert_int_equal(i.tx_offload_capa, sums | large);
	assert_int_equal(i.tx_queue_offload_capa, i.tx_offload_capa);
	assert_int_equal(i.min_mtu, 1500);
	assert_int_equal(i.max_mtu, 65520);
	assert_int_equal(i.min_rx_bufsize, 1500 + 44);
	assert_int_equal(i.max_rx_pktlen, 65520 + 14);
	assert_int_equal(i.max_rx_queues, 16);
	assert_int_equal(i.max_tx_queues, 16);
	assert_int_equal(i.hash_key_size, 40);
	assert_int_equal(i.reta_size, 128);
	assert_true((i.flow_type_rss_offloads & RTE_ETH_RSS_NONFRAG_IPV4_TCP) != 0);
	assert_int_equal(i.max_mac_addrs, 1);
	assert_int_equal(i.rx_desc_lim.nb_max, 4096);
	assert_int_equal(i.rx_desc_lim.nb_min, 64);
	assert_int_equal(i.rx_desc_lim.nb_align, 32);
	assert_int_equal(i.tx_desc_lim.nb_max, 4096);
	assert_int_equal(i.tx_desc_lim.nb_seg_max, 18);
	assert_int_equal(i.tx_desc_lim.nb_mtu_seg_max, 32);
	assert_int_equal(i.default_rxportconf.burst_size, 32);
	assert_int_equal(i.default_rxportconf.ring_size, 512);
	assert_int_equal(i.default_rxportconf.nb_queues, 1);
	assert_int_equal(i.default_txportconf.burst_size, 32);
	assert_int_equal(i.default_txportconf.ring_size, 512);
	assert_int_equal(i.default_txportconf.nb_queues, 1);
	assert_true((*i.dev_flags & RTE_ETH_DEV_INTR_LSC) != 0);
	assert_int_equal(rte_eth_promiscuous_get(a), 1);
	assert_int_equal(rte_eth_promiscuous_disable(a), 0);
	assert_int_equal(rte_eth_promiscuous_enable(a), 0);
}

/* --- start ----------------------------------------------------------------------------------------------------------- */

static int
rx_queue(uint16_t queue)
{
	return rte_eth_rx_queue_setup(a, queue, RIG_DESC, SOCKET_ID_ANY, NULL, rig_pool());
}

static int
tx_queue(uint16_t queue)
{
	return rte_eth_tx_queue_setup(a, queue, RIG_DESC, SOCKET_ID_ANY, NULL);
}

static void
start_refused(const char *word1, const char *word2)
{
	pr_log_begin();
	assert_int_equal(rte_eth_dev_start(a), -EINVAL);
	pr_log_end(word1, word2);
	assert_int_equal(pr_info(a).state, TP_IPOIB_STOPPED);
}

static void
test_queues_are_needed(void **state)
{
	const struct rte_eth_conf conf = {0};

	assert_int_equal(rte_eth_dev_configure(a, 1, 0, &conf), 0);
	assert_int_equal(rx_queue(0), 0);
	start_refused("1 receive and 0 transmit queues", "at least 1 of each");
	assert_int_equal(rte_eth_dev_configure(a, 0, 1, &conf), 0);
	assert_int_equal(tx_queue(0), 0);
	start_refused("0 receive and 1 transmit queues", "at least 1 of each");
	assert_int_equal(rte_eth_dev_configure(a, 2, 1, &conf), 0);
	assert_int_equal(rx_queue(0), 0);
	assert_int_equal(tx_queue(0), 0);
	start_refused("queue 1 of 2 receive and 1 transmit queues", "not set up");
	assert_int_equal(rte_eth_dev_configure(a, 1, 2, &conf), 0);
	assert_int_equal(rx_queue(0), 0);
	assert_int_equal(tx_queue(0), 0);
	start_refused("queue 1 of 1 receive and 2 transmit queues", "not set up");
	assert_int_equal(tx_queue(1), 0);
	assert_int_equal(rte_eth_dev_start(a), 0);
	pr_wait_up(a);
	assert_int_equal(rte_eth_dev_stop(a), 0);
}

/* Mbufs hold the MTU, and 60 octets more; one octet less is refused by name. */
static void
test_smallest_mbufs(void **state)
{
	char want[64];

	assert_int_equal(rig_configure(a, 1, 1, NULL, pr_pool(FRONT + 2044 - 1)), 0);
	snprintf(want, sizeof(want), "mbufs of %u octets are too small", FRONT + 2044 - 1);
	start_refused(want, "an MTU of 2044 takes 2104");
	/* A smaller MTU takes smaller ones. */
	assert_int_equal(rte_eth_dev_set_mtu(a, 2043), 0);
	assert_int_equal(rte_eth_dev_start(a), 0);
	pr_wait_up(a);
	assert_int_equal(pr_info(a).mtu, 2043);
	assert_int_equal(rte_eth_dev_stop(a), 0);
	rig_unplug("net_ipoib0");
	a = pr_plug("net_ipoib0", "port=" PR_PORT(1));
	pr_both_up(a, b, 1, pr_pool(FRONT + 2044));
	assert_int_equal(pr_info(a).mtu, 2044);
	pr_exchange(a, b, 28);
	pr_exchange(a, b, 2044);
	assert_int_equal(rte_eth_dev_stop(a), 0);
	assert_int_equal(rte_eth_dev_stop(b), 0);
}

/* The longest datagrams are what a port takes when the mbufs of all of its queues hold them, until the group says less. */
static void
test_mtu_by_mbufs(void **state)
{
	struct rte_mempool *enough = pr_pool(FRONT + 4092), *less = pr_pool(FRONT + 4091);
	uint16_t mtu;

	/* Nobody manages the port, so there is no group. */
	pr_unmanage();
	pr_start(a, 2, 1, enough);
	assert_int_equal(pr_info(a).mtu, 4092);
	assert_int_equal(rte_eth_dev_stop(a), 0);
	assert_int_equal(rte_eth_rx_queue_setup(a, 1, RIG_DESC, SOCKET_ID_ANY, NULL, less), 0);
	assert_int_equal(rte_eth_dev_start(a), 0);
	assert_int_equal(pr_info(a).mtu, 2044);
	assert_int_equal(rte_eth_dev_stop(a), 0);
	assert_int_equal(rte_eth_rx_queue_setup(a, 1, RIG_DESC, SOCKET_ID_ANY, NULL, enough), 0);
	assert_int_equal(rte_eth_dev_start(a), 0);
	assert_int_equal(pr_info(a).mtu, 4092);
	/* The group of this manager has 2048 octets, 4 of them the encapsulation. */
	pr_manage(0, 1, NULL, 0);
	pr_wait_up(a);
	assert_int_equal(pr_info(a).mtu, 2044);
	assert_int_equal(rte_eth_dev_get_mtu(a, &mtu), 0);
	assert_int_equal(mtu, 2044);
	assert_int_equal(rte_eth_dev_stop(a), 0);
}

static void
test_mtu_by_hand(void **state)
{
	uint16_t mtu;

	assert_int_equal(rte_eth_dev_get_mtu(a, &mtu), 0);
	assert_int_equal(mtu, 2044);
	assert_int_equal(rig_configure(a, 1, 1, NULL, rig_large_pool()), 0);
	pr_log_begin();
	assert_int_equal(rte_eth_dev_set_mtu(a, 4093), -EINVAL);
	pr_log_end("an MTU of 4093 is more than 4092", NULL);
	assert_int_equal(rte_eth_dev_set_mtu(a, 4092), 0);
	assert_int_equal(pr_info(a).mtu, 4092);
	assert_int_equal(rte_eth_dev_set_mtu(a, 1500), 0);
	assert_int_equal(rte_eth_dev_start(a), 0);
	/* Mbufs with room for more change nothing, since somebody chose it. */
	assert_int_equal(pr_info(a).mtu, 1500);
	assert_int_equal(rte_eth_dev_set_mtu(a, 1600), -EBUSY);
	pr_wait_up(a);
	assert_int_equal(pr_info(a).mtu, 1500);
	assert_int_equal(rte_eth_dev_get_mtu(a, &mtu), 0);
	assert_int_equal(mtu, 1500);
	assert_int_equal(rte_eth_dev_stop(a), 0);
	/* More than the group takes is said, once it is joined; it stays what the application set. */
	assert_int_equal(rte_eth_dev_set_mtu(a, 2045), 0);
	pr_log_begin();
	assert_int_equal(rte_eth_dev_start(a), 0);
	pr_wait_up(a);
	pr_log_end("the broadcast group takes 2044 octets", "less than the MTU of 2045");
	assert_int_equal(rte_eth_dev_get_mtu(a, &mtu), 0);
	assert_int_equal(mtu, 2045);
	assert_int_equal(pr_info(a).mtu, 2044);
	assert_int_equal(rte_eth_dev_stop(a), 0);
	assert_int_equal(rte_eth_dev_set_mtu(a, 2044), 0);
	pr_log_begin();
	assert_int_equal(rte_eth_dev_start(a), 0);
	pr_wait_up(a);
	assert_int_equal(rte_eth_dev_stop(a), 0);
	pr_log_end(NULL, NULL);
}

/* --- stop ------------------------------------------------------------------------------------------------------------ */

static uint8_t
rx_state(uint16_t port, uint16_t queue)
{
	struct rte_eth_rxq_info info;

	assert_int_equal(rte_eth_rx_queue_info_get(port, queue, &info), -ENOTSUP);
	return rte_eth_devices[port].data->rx_queue_state[queue];
}

static void
states(uint8_t want)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		assert_int_equal(rx_state(a, (uint16_t)i), want);
		assert_int_equal(rte_eth_devices[a].data->tx_queue_state[i], want);
	}
}

/* A port stops and starts as often as it likes; all mbufs come back, with what waits for the application or for an answer. */
static void
test_stop_and_start(void **state)
{
	const struct rte_ether_addr amac = rig_mac(a), bmac = rig_mac(b);
	struct rte_ether_addr b_at_a, a_at_b;
	struct rte_eth_link link;
	unsigned int i;

	pr_both_up(a, b, 2, rig_pool());
	for (i = 0; i < 3; i++) {
		states(RTE_ETH_QUEUE_STATE_STARTED);
		pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
		/* On its way to the application, and to a control thread. */
		pr_send(b, 0, pr_udp(&bmac, &a_at_b, IP_B, IP_A, 100));
		pr_send(b, 1, pr_arp(1, &bmac, IP_B, NULL, IP_A));
		pr_send(a, 1, pr_arp(1, &amac, IP_A, NULL, IP_B));
		assert_int_equal(rte_eth_dev_stop(a), 0);
		states(RTE_ETH_QUEUE_STATE_STOPPED);
		assert_int_equal(rte_eth_link_get_nowait(a, &link), 0);
		assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
		assert_int_equal(link.link_speed, RTE_ETH_SPEED_NUM_UNKNOWN);
		assert_int_equal(pr_info(a).state, TP_IPOIB_STOPPED);
		assert_int_equal(rte_eth_dev_stop(a), 0);
		assert_int_equal(rte_eth_dev_start(a), 0);
		pr_wait_up(a);
		assert_int_equal(rte_eth_link_get_nowait(a, &link), 0);
		assert_int_equal(link.link_speed, 32000);
		assert_int_equal(link.link_duplex, RTE_ETH_LINK_FULL_DUPLEX);
		assert_int_equal(link.link_autoneg, RTE_ETH_LINK_AUTONEG);
	}
	assert_int_equal(rte_eth_dev_stop(a), 0);
	assert_int_equal(rte_eth_dev_stop(b), 0);
	pr_step();
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
}

/* Queues that are set up again, ports that are configured again or closed: nothing is left of them. */
static void
test_memory(void **state)
{
	const struct rte_eth_conf conf = {0};
	size_t heap;
	unsigned int i;

	(void)rig_pool();
	rig_unplug("net_ipoib1");
	heap = rig_heap();
	b = pr_plug("net_ipoib1", "port=" PR_PORT(2));
	for (i = 0; i < 2; i++) {
		pr_start(b, 3, 2, rig_pool());
		assert_int_equal(rte_eth_dev_stop(b), 0);
		assert_int_equal(rte_eth_rx_queue_setup(b, 2, RIG_DESC, SOCKET_ID_ANY, NULL, rig_pool()), 0);
		assert_int_equal(rte_eth_tx_queue_setup(b, 1, RIG_DESC, SOCKET_ID_ANY, NULL), 0);
		assert_int_equal(rte_eth_dev_configure(b, 1, 1, &conf), 0);
	}
	pr_start(b, 2, 2, rig_pool());
	rig_unplug("net_ipoib1");
	assert_int_equal(rig_heap(), heap);
	b = pr_plug("net_ipoib1", "port=" PR_PORT(2));
}

/* What started as deferred is stopped until somebody starts it; packets of a stopped transmit queue are dropped by name. */
static void
test_deferred(void **state)
{
	const struct rte_eth_rxconf rx = {.rx_deferred_start = 1};
	const struct rte_eth_txconf tx = {.tx_deferred_start = 1};
	const struct rte_ether_addr amac = rig_mac(a);
	struct rte_ether_addr b_at_a, a_at_b;

	assert_int_equal(rig_configure(a, 2, 2, NULL, rig_pool()), 0);
	assert_int_equal(rte_eth_rx_queue_setup(a, 1, RIG_DESC, SOCKET_ID_ANY, &rx, rig_pool()), 0);
	assert_int_equal(rte_eth_tx_queue_setup(a, 1, RIG_DESC, SOCKET_ID_ANY, &tx), 0);
	assert_int_equal(rte_eth_dev_start(a), 0);
	pr_start(b, 1, 1, rig_pool());
	pr_wait_up(a);
	pr_wait_up(b);
	assert_int_equal(rte_eth_devices[a].data->rx_queue_state[0], RTE_ETH_QUEUE_STATE_STARTED);
	assert_int_equal(rte_eth_devices[a].data->rx_queue_state[1], RTE_ETH_QUEUE_STATE_STOPPED);
	assert_int_equal(rte_eth_devices[a].data->tx_queue_state[0], RTE_ETH_QUEUE_STATE_STARTED);
	assert_int_equal(rte_eth_devices[a].data->tx_queue_state[1], RTE_ETH_QUEUE_STATE_STOPPED);
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	pr_send(a, 1, pr_udp(&amac, &b_at_a, IP_A, IP_B, 100));
	pr_nothing(b, RTE_ETHER_TYPE_IPV4);
	assert_int_equal(rig_xstat(a, "drop_tx_stopped"), 1);
	assert_int_equal(rte_eth_dev_tx_queue_start(a, 1), 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(a, 1), 0);
	states(RTE_ETH_QUEUE_STATE_STARTED);
	pr_send(a, 1, pr_udp(&amac, &b_at_a, IP_A, IP_B, 100));
	rte_pktmbuf_free(pr_take(b, RTE_ETHER_TYPE_IPV4, NULL));
	assert_int_equal(rte_eth_dev_stop(a), 0);
	assert_int_equal(rte_eth_dev_stop(b), 0);
}

static struct rte_mbuf *
large(const struct rte_ether_addr *dst)
{
	const struct rte_ether_addr amac = rig_mac(a);
	struct rte_mbuf *m = pr_udp(&amac, dst, IP_A, IP_B, 1240);
	uint8_t *tcp = rte_pktmbuf_mtod_offset(m, uint8_t *, 34);

	/* 1200 octets behind 20 and 20. */
	rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14)->next_proto_id = IPPROTO_TCP;
	memset(tcp, 0, 20);
	tcp[12] = 5 << 4;
	m->ol_flags = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM;
	m->l2_len = 14;
	m->l3_len = 20;
	m->l4_len = 20;
	m->tso_segsz = 500;
	return m;
}

/* A queue with the offload has large sends cut, three parts of this one; others drop them by name. */
static void
test_large_sends(void **state)
{
	const struct rte_eth_txconf tx = {.offloads = RTE_ETH_TX_OFFLOAD_TCP_TSO};
	const struct rte_eth_conf conf = {.txmode.offloads = 0};
	const uint32_t parts[] = {554, 554, 254};
	const struct rte_ether_addr amac = rig_mac(a);
	struct rte_ether_addr b_at_a, a_at_b;
	uint64_t by_control;
	struct rte_mbuf *m;
	unsigned int i;

	assert_int_equal(rig_configure(a, 1, 2, &conf, rig_pool()), 0);
	assert_int_equal(rte_eth_tx_queue_setup(a, 1, RIG_DESC, SOCKET_ID_ANY, &tx), 0);
	assert_int_equal(rte_eth_dev_start(a), 0);
	pr_start(b, 1, 1, rig_pool());
	pr_wait_up(a);
	pr_wait_up(b);
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	(void)pr_by_burst(a, b, &b_at_a, IP_A, IP_B);
	/* Each queue is a sender of its own: until a burst knows it, the control thread receives, and others may overtake that. */
	do {
		by_control = rig_xstat(b, "rx_control_packets");
		pr_send(a, 1, pr_udp(&amac, &b_at_a, IP_A, IP_B, 60));
		rte_pktmbuf_free(pr_take(b, RTE_ETHER_TYPE_IPV4, NULL));
	} while (rig_xstat(b, "rx_control_packets") != by_control);
	pr_send(a, 1, large(&b_at_a));
	for (i = 0; i < RTE_DIM(parts); i++) {
		m = pr_take(b, RTE_ETHER_TYPE_IPV4, NULL);
		assert_int_equal(m->pkt_len, parts[i]);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(rig_xstat(a, "tx_large"), 1);
	pr_send(a, 0, large(&b_at_a));
	pr_nothing(b, RTE_ETHER_TYPE_IPV4);
	assert_int_equal(rig_xstat(a, "drop_tx_tso"), 1);
}

/* The control thread sends the first packet to somebody, who gets its checksum, too. */
static void
test_first_sum(void **state)
{
	const struct rte_ether_addr amac = rig_mac(a), bmac = rig_mac(b);
	struct rte_ether_addr b_at_a, a_at_b;
	struct rte_mbuf *m;

	pr_both_up(a, b, 1, rig_pool());
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	m = pr_udp(&amac, &b_at_a, IP_A, IP_B, 100);
	rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14)->hdr_checksum = 0;
	m->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
	m->l2_len = 14;
	m->l3_len = 20;
	pr_send(a, 0, m);
	m = pr_take(b, RTE_ETHER_TYPE_IPV4, NULL);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), &bmac, sizeof(bmac));
	assert_int_equal(rte_raw_cksum(rte_pktmbuf_mtod_offset(m, void *, 14), 20), 0xffff);
	rte_pktmbuf_free(m);
	assert_true(rig_xstat(a, "tx_control_sent") >= 2);
}

/* A port of one queue takes other keys and types, too, and goes on. */
static void
test_one_queue_rss(void **state)
{
	uint8_t first[40] = {0x11, 2}, key[40] = {0x5a, 1}, got[40] = {0};
	const struct rte_eth_conf conf = {
		.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
		.rx_adv_conf.rss_conf = {.rss_key = first, .rss_key_len = 40, .rss_hf = RTE_ETH_RSS_IPV4}};
	struct rte_eth_rss_conf rss = {.rss_key = got, .rss_key_len = 40};

	rig_start(a, 1, &conf);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(a, &rss), 0);
	assert_memory_equal(got, first, sizeof(got));
	assert_true(rss.rss_hf == RTE_ETH_RSS_IPV4);
	rss.rss_key = key;
	pr_start(b, 1, 1, rig_pool());
	pr_wait_up(a);
	pr_wait_up(b);
	assert_int_equal(rte_eth_dev_rss_hash_update(a, &rss), 0);
	rss.rss_key = got;
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(a, &rss), 0);
	assert_memory_equal(got, key, sizeof(got));
	pr_exchange(a, b, 28);
	pr_exchange(a, b, 2044);
}

/* --- addresses ------------------------------------------------------------------------------------------------------- */

/* What comes has the MAC that the application has now. */
static void
test_mac(void **state)
{
	struct rte_ether_addr other = {{0x02, 0, 0, 0, 0, 0x55}}, bmac, b_at_a, a_at_b;

	pr_both_up(a, b, 1, rig_pool());
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	bmac = rig_mac(b);
	assert_int_equal(rte_eth_dev_default_mac_addr_set(a, &other), 0);
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	pr_send(b, 0, pr_udp(&bmac, &a_at_b, IP_B, IP_A, 60));
	pr_expect(a, &b_at_a, &other, IP_B, IP_A, 60);
	assert_int_equal(rte_eth_dev_stop(a), 0);
	assert_int_equal(rte_eth_dev_stop(b), 0);
}

struct looking {
	uint16_t port;
	struct rte_ether_addr mac;
	bool there, receives, sends;
	const char *state;
	uint8_t hw[20];
};

static void
look_at(void *arg, const struct tp_ipoib_endpoint *e)
{
	struct looking *l = arg;

	if (!rte_is_same_ether_addr(&e->mac, &l->mac))
		return;
	l->there = true;
	l->receives = e->receives;
	l->sends = e->sends;
	l->state = e->state;
	memcpy(l->hw, e->hw, sizeof(l->hw));
}

static bool
heard(void *arg)
{
	struct looking *l = arg;

	l->there = false;
	assert_int_equal(tp_ipoib_endpoints(l->port, TP_IPOIB_MULTICAST, look_at, l), 0);
	return l->there && strcmp(l->state, "joined") == 0 && l->receives;
}

static bool
not_heard(void *arg)
{
	return !heard(arg);
}

static bool
taken_group(void *arg)
{
	const struct rte_ether_addr bmac = rig_mac(b);
	struct looking *l = arg;
	struct rte_mbuf *m[8], *p = pr_udp(&bmac, &l->mac, IP_B, 0xe0010203u, 64);
	uint16_t n, i;

	/* The sender joins the group first, in order to send. */
	assert_int_equal(rte_eth_tx_burst(b, 0, &p, 1), 1);
	n = rte_eth_rx_burst(a, 0, m, RTE_DIM(m));
	for (i = 0; i < n; i++) {
		if (memcmp(rte_pktmbuf_mtod(m[i], void *), &l->mac, sizeof(l->mac)) == 0)
			l->sends = true;
		rte_pktmbuf_free(m[i]);
	}
	return l->sends;
}

static bool
fewer_groups(void *arg)
{
	const struct tp_sm_stats *before = arg;
	struct tp_sm_stats st;

	tp_sm_stats_get(pr_sm(), &st);
	return st.groups < before->groups;
}

/* A list of multicast addresses: its groups are joined, also those of before the start, and the others left. */
static void
test_mc_list(void **state)
{
	static const uint8_t group[16] = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [12] = 0, 1, 2, 3};
	struct rte_ether_addr list[129] = {{{0x01, 0x00, 0x5e, 0x01, 0x02, 0x03}}};
	struct looking l = {.port = a, .mac = list[0]};
	struct tp_sm_stats before;
	unsigned int i;

	for (i = 1; i < RTE_DIM(list); i++)
		list[i] = (struct rte_ether_addr){{0x01, 0x00, 0x5e, 0x11, 0x00, (uint8_t)i}};
	assert_int_equal(rig_configure(a, 1, 1, NULL, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(a, list, 1), 0);
	pr_both_up(a, b, 1, rig_pool());
	pr_until(heard, &l, "the group of before the start is joined");
	assert_memory_equal(l.hw + 4, group, sizeof(group));
	assert_memory_equal(l.hw, ((uint8_t[]){0, 0xff, 0xff, 0xff}), 4);
	l.sends = false;
	pr_until(taken_group, &l, "a packet of the group comes");
	pr_log_begin();
	assert_int_equal(rte_eth_dev_set_mc_addr_list(a, list, 129), -ENOSPC);
	pr_log_end("129 multicast addresses are more than 128", NULL);
	assert_true(heard(&l));
	assert_int_equal(rte_eth_dev_set_mc_addr_list(a, list + 1, 2), 0);
	pr_until(not_heard, &l, "the group is left");
	l.mac = list[2];
	pr_until(heard, &l, "the second group of the list is joined");
	tp_sm_stats_get(pr_sm(), &before);
	/* As many as there is room for, then none. */
	assert_int_equal(rte_eth_dev_set_mc_addr_list(a, list, 128), 0);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(a, NULL, 0), 0);
	pr_until(not_heard, &l, "all are left");
	assert_int_equal(rte_eth_dev_stop(a), 0);
	/* The administrator knows it, too. */
	pr_until(fewer_groups, &before, "the manager has fewer groups");
	assert_int_equal(rte_eth_dev_stop(b), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_infos, setup, teardown),
		cmocka_unit_test_setup_teardown(test_queues_are_needed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_smallest_mbufs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mtu_by_mbufs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mtu_by_hand, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop_and_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deferred, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_sends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_first_sum, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_queue_rss, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mac, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mc_list, setup, teardown),
	};

	if (pr_eal("ipoib_port_life") < 0)
		return 1;
	return cmocka_run_group_tests_name("ipoib-port_life", tests, NULL, NULL);
}
