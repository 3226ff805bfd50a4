/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Failover pairs as their application has them: what they are, when the traffic moves, which groups they hear. */
#include <errno.h>

#include <rte_arp.h>

#include "pair_rig.h"

/* --- what it is ------------------------------------------------------------------------------------------------------ */

static void
test_infos(void **state)
{
	struct tp_ipoib_pair_info p = pair_info();
	struct rte_eth_dev_owner owner;
	struct rte_eth_dev_info i, m;
	struct rte_ether_addr mac;
	struct rte_eth_link link;

	assert_string_equal(p.name, "net_ib_pair0");
	assert_int_equal(p.active, 0);
	assert_false(p.up);
	assert_true(p.failback);
	assert_int_equal(p.failback_ms, 0);
	assert_false(p.kept);
	assert_string_equal(pr_info(p.member[0]).device, PRIMARY);
	assert_string_equal(pr_info(p.member[1]).device, BACKUP);
	assert_int_equal(tp_ipoib_pair_info(peer, &p), -ENODEV);
	assert_int_equal(tp_ipoib_pair_info(PR_NONE, &p), -ENODEV);
	/* It is a port of its own; its two are not for applications. */
	assert_int_equal(rte_eth_dev_count_avail(), 2);
	assert_int_equal(rte_eth_dev_owner_get(p.member[0], &owner), 0);
	assert_string_equal(owner.name, "net_ib_pair0");
	assert_int_equal(rte_eth_dev_owner_get(p.member[1], &owner), 0);
	assert_string_equal(owner.name, "net_ib_pair0");
	assert_int_equal(rte_eth_dev_info_get(pair, &i), 0);
	assert_int_equal(rte_eth_dev_info_get(p.member[0], &m), 0);
	assert_string_equal(i.driver_name, "net_ib_pair");
	assert_string_equal(rte_dev_name(i.device), "net_ib_pair0");
	assert_int_equal(i.rx_offload_capa, m.rx_offload_capa);
	assert_int_equal(i.tx_offload_capa, m.tx_offload_capa);
	assert_int_equal(i.rx_queue_offload_capa, m.rx_queue_offload_capa);
	assert_int_equal(i.tx_queue_offload_capa, m.tx_queue_offload_capa);
	assert_true((i.tx_offload_capa & RTE_ETH_TX_OFFLOAD_TCP_TSO) != 0);
	assert_int_equal(i.max_mtu, 65520);
	assert_int_equal(i.max_rx_queues, 16);
	assert_int_equal(i.max_tx_queues, 16);
	assert_int_equal(i.reta_size, 128);
	assert_int_equal(i.flow_type_rss_offloads, m.flow_type_rss_offloads);
	mac = rig_mac(pair);
	assert_memory_equal(&mac, &primary_mac, sizeof(mac));
	mac = rig_mac(p.member[1]);
	assert_memory_equal(&mac, &primary_mac, sizeof(mac));
	assert_int_equal(rte_eth_promiscuous_disable(pair), 0);
	assert_int_equal(rte_eth_promiscuous_enable(pair), 0);
	assert_int_equal(rte_eth_link_get_nowait(pair, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
	assert_int_equal(tp_ipoib_pair_set_active(pair, 1), -ENETDOWN); /* it is not started */
}

static eth_dev_infos_get_t whole;
static uint16_t weaker; /* of its two ports */

static uint64_t
without_one(uint64_t bits)
{
	assert_int_not_equal(bits, 0);
	return bits & (bits - 1);
}

static int
less(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	int ret = whole(dev, info);

	if (dev->data->port_id != weaker)
		return ret;
	info->rx_offload_capa = without_one(info->rx_offload_capa);
	info->tx_offload_capa = without_one(info->tx_offload_capa);
	info->rx_queue_offload_capa = without_one(info->rx_queue_offload_capa);
	info->tx_queue_offload_capa = without_one(info->tx_queue_offload_capa);
	info->flow_type_rss_offloads = without_one(info->flow_type_rss_offloads);
	info->max_mtu -= 100;
	info->max_rx_queues = 3;
	info->max_tx_queues = 5;
	info->reta_size = 64;
	return ret;
}

/* What one of the two has not, the pair has not, whichever it is; of tables that differ it has none. */
static void
test_weaker_one(void **state)
{
	struct tp_ipoib_pair_info p = pair_info();
	struct rte_eth_dev_info i, was, m;
	static struct eth_dev_ops ops;

	assert_int_equal(rte_eth_dev_info_get(pair, &was), 0);
	for (unsigned int k = 0; k < 2; k++) {
		struct rte_eth_dev *dev = &rte_eth_devices[p.member[k]];
		const struct eth_dev_ops *own = dev->dev_ops;

		ops = *own;
		whole = ops.dev_infos_get;
		ops.dev_infos_get = less;
		dev->dev_ops = &ops;
		weaker = p.member[k];
		assert_int_equal(rte_eth_dev_info_get(weaker, &m), 0);
		assert_int_equal(rte_eth_dev_info_get(pair, &i), 0);
		dev->dev_ops = own;
		assert_int_equal(i.rx_offload_capa, m.rx_offload_capa);
		assert_int_equal(i.tx_offload_capa, m.tx_offload_capa);
		assert_int_equal(i.rx_queue_offload_capa, m.rx_queue_offload_capa);
		assert_int_equal(i.tx_queue_offload_capa, m.tx_queue_offload_capa);
		assert_int_equal(i.flow_type_rss_offloads, m.flow_type_rss_offloads);
		assert_int_not_equal(i.rx_offload_capa, was.rx_offload_capa);
		assert_int_equal(i.max_mtu, was.max_mtu - 100);
		assert_int_equal(i.max_rx_queues, 3);
		assert_int_equal(i.max_tx_queues, 5);
		assert_int_equal(i.reta_size, 0);
	}
}

static unsigned int told;

static int
on_link(uint16_t port, enum rte_eth_event_type event, void *arg, void *ret)
{
	assert_int_equal(port, pair);
	__atomic_fetch_add(&told, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static bool
told_so_often(void *arg)
{
	return __atomic_load_n(&told, __ATOMIC_SEQ_CST) == *(unsigned int *)arg;
}

/* The link is that of who carries; the application hears of it when it asked for that. Stop and start, queue states. */
static void
test_link(void **state)
{
	const struct rte_eth_conf conf = {.intr_conf.lsc = 1};
	unsigned int want = 1, i;
	struct rte_eth_link link;

	told = 0;
	assert_int_equal(rig_configure(pair, 2, 2, &conf, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_callback_register(pair, RTE_ETH_EVENT_INTR_LSC, on_link, NULL), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(rte_eth_dev_start(pair), 0);
		pair_members_up();
		pr_until(told_so_often, &want, "the application is told that the link is up");
		assert_int_equal(rte_eth_link_get_nowait(pair, &link), 0);
		assert_int_equal(link.link_speed, 32000);
		assert_int_equal(rte_eth_devices[pair].data->rx_queue_state[1], RTE_ETH_QUEUE_STATE_STARTED);
		assert_int_equal(rte_eth_devices[pair].data->tx_queue_state[1], RTE_ETH_QUEUE_STATE_STARTED);
		assert_int_equal(rte_eth_dev_stop(pair), 0);
		assert_false(pair_info().up);
		assert_int_equal(pair_info().ports_up, 0);
		assert_int_equal(rte_eth_link_get_nowait(pair, &link), 0);
		assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
		assert_int_equal(link.link_speed, RTE_ETH_SPEED_NUM_UNKNOWN);
		assert_int_equal(pr_info(pair_info().member[0]).state, TP_IPOIB_STOPPED);
		assert_int_equal(pr_info(pair_info().member[1]).state, TP_IPOIB_STOPPED);
		assert_int_equal(rte_eth_devices[pair].data->rx_queue_state[1], RTE_ETH_QUEUE_STATE_STOPPED);
		assert_int_equal(rte_eth_devices[pair].data->tx_queue_state[1], RTE_ETH_QUEUE_STATE_STOPPED);
		want++;
	}
	/* One that did not ask for it is told nothing. */
	pr_start(pair, 1, 1, rig_pool());
	pair_members_up();
	assert_int_equal(rte_eth_dev_stop(pair), 0);
	assert_int_equal(told, want - 1);
	assert_int_equal(rte_eth_dev_callback_unregister(pair, RTE_ETH_EVENT_INTR_LSC, on_link, NULL), 0);
}

/* --- moves ----------------------------------------------------------------------------------------------------------- */

/* The neighbour's application hears by gratuitous ARP where the address is now. */
static void
announced(const struct rte_ether_addr *mac)
{
	const struct rte_arp_hdr *arp;
	struct rte_mbuf *m = pr_take(peer, RTE_ETHER_TYPE_ARP, NULL);

	arp = rte_pktmbuf_mtod_offset(m, struct rte_arp_hdr *, sizeof(struct rte_ether_hdr));
	assert_int_equal(arp->arp_data.arp_sip, rte_cpu_to_be_32(IP_A));
	assert_int_equal(arp->arp_data.arp_tip, rte_cpu_to_be_32(IP_A));
	assert_memory_equal(&arp->arp_data.arp_sha, mac, sizeof(*mac));
	rte_pktmbuf_free(m);
}

static bool
announced_thrice(void *arg)
{
	return pair_info().announced == begin.announced + 3;
}

/* The cable of the primary port is pulled and plugged in. */
static void
test_failover(void **state)
{
	const struct rte_ether_addr mac = rig_mac(pair), peer_mac = rig_mac(peer);
	struct rte_ether_addr at_pair, at_peer;
	struct rte_eth_stats st;

	pair_all_up(1);
	pair_exchange(&primary_mac);
	pr_meet(pair, IP_A, peer, IP_B, &at_pair, &at_peer);
	pr_log_begin();
	assert_int_equal(tp_model_cable(pr_model(0), 1, false), 0);
	pair_wait_carries(1);
	pr_log_end(PRIMARY " is not up", BACKUP " takes over");
	assert_true(pr_is_up(&pair));
	announced(&backup_mac);
	/* The neighbour's MAC is the one that the application knows, without a question. */
	pr_send(pair, 0, pr_udp(&mac, &at_pair, IP_A, IP_B, 100));
	pr_expect(peer, &backup_mac, &peer_mac, IP_A, IP_B, 100);
	pr_send(peer, 0, pr_udp(&peer_mac, &backup_mac, IP_B, IP_A, 90));
	pr_expect(pair, &at_pair, &mac, IP_B, IP_A, 90);
	assert_int_equal(pair_info().failovers, begin.failovers + 1);
	assert_int_equal(pair_info().failbacks, begin.failbacks);
	assert_int_equal(rig_xstat(pair, "failovers"), begin.failovers + 1);
	/* Both have sent; what the application received is counted by the pair. */
	assert_int_equal(rte_eth_stats_get(pair, &st), 0);
	assert_int_equal(st.opackets, rig_xstat(pair_info().member[0], "tx_good_packets") +
					      rig_xstat(pair_info().member[1], "tx_good_packets"));
	assert_true(st.opackets >= 4);
	assert_int_equal(st.ipackets, rig_xstat(pair, "rx_q0_packets"));
	/* Once at once, and twice in the next seconds. */
	pr_until(announced_thrice, NULL, "the move is told three times");
	assert_int_equal(tp_ipoib_pair_set_active(pair, 0), -ENETDOWN);
	assert_int_equal(tp_model_cable(pr_model(0), 1, true), 0);
	pr_log_begin();
	pair_wait_carries(0);
	pr_log_end(PRIMARY " is up again", "takes over from " BACKUP);
	assert_int_equal(pair_info().failbacks, begin.failbacks + 1);
	pair_exchange(&primary_mac);
	assert_int_equal(rig_xstat(pair, "failbacks"), begin.failbacks + 1);
}

static bool
is_down(void *port)
{
	return !pr_is_up(port);
}

static bool
so_many_up(void *arg)
{
	return rig_xstat(pair, "ports_up") == *(const uint64_t *)arg;
}

/* Neither is up: the pair stays where it is, and its link is down. */
static void
test_both_down(void **state)
{
	pair_all_up(1);
	pr_until(so_many_up, &(uint64_t){2}, "the pair knows that both ports are up");
	assert_int_equal(tp_model_cable(pr_model(1), 1, false), 0);
	pr_wait_state(pair_info().member[1], TP_IPOIB_LINK_DOWN);
	pr_until(so_many_up, &(uint64_t){1}, "the pair knows that one port is up");
	assert_true(pr_is_up(&pair));
	assert_int_equal(tp_model_cable(pr_model(0), 1, false), 0);
	pr_until(is_down, &pair, "the pair's link is down");
	assert_int_equal(pair_info().active, 0);
	assert_int_equal(pair_info().failovers, begin.failovers);
	assert_false(pair_info().up);
	assert_int_equal(rig_xstat(pair, "ports_up"), 0);
	assert_int_equal(tp_model_cable(pr_model(0), 1, true), 0);
	assert_int_equal(tp_model_cable(pr_model(1), 1, true), 0);
	pair_members_up();
	pair_wait_carries(0);
	pair_exchange(&primary_mac);
}

static bool
announced_more(void *arg)
{
	return pair_info().announced > *(uint64_t *)arg;
}

static void
test_by_hand(void **state)
{
	struct tp_ipoib_pair_info i;

	pair_all_up(1);
	pair_exchange(&primary_mac);
	assert_int_equal(tp_ipoib_pair_set_active(peer, 0), -ENODEV);
	pr_log_begin();
	assert_int_equal(tp_ipoib_pair_set_active(pair, 2), -EINVAL);
	pr_log_end("member 2", "not in 0..1");
	pr_log_begin();
	pair_make_active(1);
	pr_log_end(BACKUP " takes over from " PRIMARY, "as asked");
	i = pair_info();
	assert_int_equal(i.active, 1);
	assert_true(i.kept);
	assert_int_equal(i.asked, 1);
	assert_int_equal(rig_xstat(pair, "moves_asked"), 1);
	pair_exchange(&backup_mac);
	/* No failback from a port that was asked for, though its delay is none: whoever tells of the move again has looked. */
	pr_until(announced_more, &i.announced, "the move is told again");
	assert_int_equal(pair_info().active, 1);
	assert_int_equal(pair_info().failbacks, begin.failbacks);
	/* Asked for again, it is no move. */
	pair_make_active(1);
	assert_int_equal(pair_info().asked, 1);
	pair_make_active(0);
	assert_int_equal(pair_info().asked, 2);
	pair_exchange(&primary_mac);
	assert_true(pair_info().announced >= 1);
	assert_true(rig_xstat(pair, "addresses_announced") >= 1);
	/* What a reset begins anew. */
	assert_int_equal(rte_eth_stats_reset(pair), 0);
	i = pair_info();
	assert_int_equal(i.asked + i.failovers + i.failbacks + i.announced, 0);
	assert_int_equal(rig_xstat(pair, "rx_good_packets"), 0);
	assert_int_equal(rig_xstat(pair, "tx_good_packets"), 0);
}

/* --- groups ---------------------------------------------------------------------------------------------------------- */

static const struct rte_ether_addr group_mac = {{0x01, 0x00, 0x5e, 0x01, 0x02, 0x03}};

struct looking {
	unsigned int member;
	bool heard;
};

static void
look_at(void *arg, const struct tp_ipoib_endpoint *e)
{
	struct looking *l = arg;

	if (rte_is_same_ether_addr(&e->mac, &group_mac) && e->receives && strcmp(e->state, "joined") == 0)
		l->heard = true;
}

static bool
heard(void *arg)
{
	struct looking *l = arg;

	l->heard = false;
	assert_int_equal(tp_ipoib_endpoints(pair_info().member[l->member], TP_IPOIB_MULTICAST, look_at, l), 0);
	return l->heard;
}

static bool
not_heard(void *arg)
{
	return !heard(arg);
}

/* Who carries is in the groups of the application's list, the other one in none. */
static void
test_groups(void **state)
{
	struct rte_ether_addr list[129];
	struct looking l[2] = {{0}, {1}};
	unsigned int i;

	for (i = 0; i < RTE_DIM(list); i++)
		list[i] = (struct rte_ether_addr){{0x01, 0x00, 0x5e, 0x11, 0x00, (uint8_t)i}};
	list[0] = group_mac;
	assert_int_equal(rig_configure(pair, 1, 1, NULL, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(pair, list, 2), 0);
	pair_all_up(1);
	pr_until(heard, &l[0], "the primary port is in the group");
	assert_true(not_heard(&l[1]));
	assert_int_equal(rte_eth_dev_set_mc_addr_list(pair, list, 129), -ENOSPC);
	pair_make_active(1);
	pr_until(heard, &l[1], "the backup is in the group");
	pr_until(not_heard, &l[0], "the primary port has left it");
	assert_int_equal(rte_eth_dev_set_mc_addr_list(pair, NULL, 0), 0);
	pr_until(not_heard, &l[1], "nobody is in the group");
	pair_make_active(0);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(pair, list, 1), 0);
	pr_until(heard, &l[0], "the primary port is in the group again");
}

/* It has heard one: the switch knows that it is in the group. */
static bool
standby_hears(void *arg)
{
	const struct rte_ether_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}, peer_mac = rig_mac(peer);
	struct rte_mbuf *m = pr_udp(&peer_mac, &all, IP_B, RTE_IPV4(10, 0, 0, 255), 60);

	if (rte_eth_tx_burst(peer, 0, &m, 1) != 1)
		rte_pktmbuf_free(m);
	if (rte_eth_rx_burst(pair, 0, &m, 1) == 1)
		rte_pktmbuf_free(m);
	return pair_info().standby_dropped != 0;
}

#define BROADCASTS 20u

/* Broadcasts of so many octets and more that the application has had. */
struct had {
	unsigned int times[BROADCASTS];
	uint64_t packets, bytes;
};

static bool
all_had(void *arg)
{
	struct had *h = arg;
	unsigned int i, n = 0;
	struct rte_mbuf *m;

	while (rte_eth_rx_burst(pair, 0, &m, 1) == 1) {
		i = m->pkt_len - (14 + 100);
		if (i < BROADCASTS)
			h->times[i]++;
		h->packets++;
		h->bytes += m->pkt_len;
		rte_pktmbuf_free(m);
	}
	for (i = 0; i < BROADCASTS; i++)
		n += h->times[i] != 0;
	return n == BROADCASTS && pair_info().standby_dropped >= BROADCASTS;
}

/* Both ports hear a broadcast; the application gets it once, and the other copy is counted. */
static void
test_once(void **state)
{
	const struct rte_ether_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}, peer_mac = rig_mac(peer);
	const struct rte_ether_addr mac = rig_mac(pair);
	struct rte_ether_addr at_pair, at_peer;
	struct rte_mbuf *m = NULL;
	struct had h = {{0}};
	unsigned int i;

	pair_all_up(1);
	pr_meet(pair, IP_A, peer, IP_B, &at_pair, &at_peer);
	pr_until(standby_hears, NULL, "the other port hears broadcasts");
	assert_int_equal(rte_eth_stats_reset(pair), 0);
	assert_int_equal(pair_info().standby_dropped, 0);
	for (i = 0; i < BROADCASTS; i++)
		pr_send(peer, 0, pr_udp(&peer_mac, &all, IP_B, RTE_IPV4(10, 0, 0, 255), (uint16_t)(100 + i)));
	pr_until(all_had, &h, "all come, and the other port's copies are dropped");
	for (i = 0; i < 20; i++) {
		pr_step();
		(void)all_had(&h);
	}
	for (i = 0; i < BROADCASTS; i++)
		assert_int_equal(h.times[i], 1);
	assert_int_equal(rig_xstat(pair, "standby_dropped"), pair_info().standby_dropped);
	assert_int_equal(rig_xstat(pair, "rx_good_packets"), h.packets);
	assert_int_equal(rig_xstat(pair, "rx_good_bytes"), h.bytes);
	/* What comes to the other one for us alone is the application's. */
	pair_make_active(1);
	pr_send(peer, 0, pr_udp(&peer_mac, &primary_mac, IP_B, IP_A, 60));
	do {
		rte_pktmbuf_free(m);
		m = pr_take(pair, RTE_ETHER_TYPE_IPV4, NULL);
	} while (rte_is_multicast_ether_addr(rte_pktmbuf_mtod(m, struct rte_ether_addr *)));
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), &mac, sizeof(mac));
	assert_int_equal(m->pkt_len, 14 + 60);
	rte_pktmbuf_free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_infos, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_weaker_one, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_link, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_failover, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_both_down, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_by_hand, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_groups, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_once, pair_setup, pair_teardown),
	};

	if (pr_eal("ipoib_port_pair") < 0)
		return 1;
	return cmocka_run_group_tests_name("ipoib-port_pair", tests, NULL, NULL);
}
