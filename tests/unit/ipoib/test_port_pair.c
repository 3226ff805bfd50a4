/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Failover pairs as their application has them: ports of two cards at a switch, and a third port as their neighbour. */
#include <errno.h>
#include <inttypes.h>

#include <rte_arp.h>

#include "mlx4_prm.h"
#include "port_rig.h"

#define IP_A RTE_IPV4(10, 0, 0, 1)
#define IP_B RTE_IPV4(10, 0, 0, 2)
#define PRIMARY PR_PORT(1)
#define BACKUP "net_mlx4_model1/1"
#define BOTH "primary=" PRIMARY ",backup=" BACKUP
#define AT_SWITCH "wire0=ibswitch:pairs,wire1=ibswitch:pairs"
#define INTERNAL_ERR 0x01u

/* What the neighbour makes of the GUIDs (docs/ipoib.md). */
static const struct rte_ether_addr primary_mac = {{0x00, 0x02, 0xca, 0xa1, 0xd2, 0x01}};
static const struct rte_ether_addr backup_mac = {{0x00, 0x02, 0xca, 0xa1, 0xe2, 0x01}};
static uint16_t pair, peer;

static void
plug(const char *args)
{
	char text[256];

	snprintf(text, sizeof(text), BOTH "%s%s", args[0] == '\0' ? "" : ",", args);
	pair = pr_plug("net_ib_pair0", text);
}

static int
setup_cards(void **state)
{
	pr_card(0, AT_SWITCH);
	pr_card(1, AT_SWITCH);
	pr_manage(1, 2, NULL, 0);
	peer = pr_plug("net_ipoib0", "port=" PR_PORT(2));
	return 0;
}

static int
setup(void **state)
{
	setup_cards(state);
	plug("failback-delay=0");
	return 0;
}

static int
teardown(void **state)
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

static struct tp_ipoib_pair_info
info(void)
{
	struct tp_ipoib_pair_info i;

	assert_int_equal(tp_ipoib_pair_info(pair, &i), 0);
	return i;
}

static bool
carries(void *arg)
{
	struct tp_ipoib_pair_info i = info();

	return i.active == *(unsigned int *)arg && i.up;
}

static void
wait_carries(unsigned int member)
{
	pr_until(carries, &member, member == 0 ? "the primary port carries" : "the backup carries");
}

static struct tp_ipoib_pair_info begin;

static void
members_up(void)
{
	struct tp_ipoib_pair_info i = info();

	pr_wait_up(i.member[0]);
	pr_wait_up(i.member[1]);
	pr_wait_up(pair);
}

static void
all_up(uint16_t queues)
{
	const struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS};

	pr_start(peer, 1, 1, rig_pool());
	rig_start(pair, queues, &conf);
	pr_wait_up(peer);
	members_up();
	/* From here on the pair moves only for what a test does. */
	wait_carries(0);
	begin = info();
}

static bool
made_active(void *arg)
{
	return tp_ipoib_pair_set_active(pair, *(unsigned int *)arg) == 0;
}

/* A port that is up may be asked for once the pair has seen that it is. */
static void
make_active(unsigned int member)
{
	pr_until(made_active, &member, "a port is made the active one");
}

/* Both ways, with the neighbour's name for who carries; the application sees one MAC and one port. */
static void
exchange(const struct rte_ether_addr *want)
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

/* --- what it is ------------------------------------------------------------------------------------------------------ */

static void
test_infos(void **state)
{
	struct tp_ipoib_pair_info p = info();
	struct rte_eth_dev_owner owner;
	struct rte_eth_dev_info i, m;
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
	assert_int_equal(rte_eth_promiscuous_disable(pair), 0);
	assert_int_equal(rte_eth_promiscuous_enable(pair), 0);
	assert_int_equal(rte_eth_link_get_nowait(pair, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
	assert_int_equal(tp_ipoib_pair_set_active(pair, 1), -ENETDOWN); /* it is not started */
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
		members_up();
		pr_until(told_so_often, &want, "the application is told that the link is up");
		assert_int_equal(rte_eth_link_get_nowait(pair, &link), 0);
		assert_int_equal(link.link_speed, 32000);
		assert_int_equal(rte_eth_devices[pair].data->rx_queue_state[1], RTE_ETH_QUEUE_STATE_STARTED);
		assert_int_equal(rte_eth_devices[pair].data->tx_queue_state[1], RTE_ETH_QUEUE_STATE_STARTED);
		assert_int_equal(rte_eth_dev_stop(pair), 0);
		assert_false(info().up);
		assert_int_equal(rte_eth_link_get_nowait(pair, &link), 0);
		assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
		assert_int_equal(link.link_speed, RTE_ETH_SPEED_NUM_UNKNOWN);
		assert_int_equal(pr_info(info().member[0]).state, TP_IPOIB_STOPPED);
		assert_int_equal(pr_info(info().member[1]).state, TP_IPOIB_STOPPED);
		assert_int_equal(rte_eth_devices[pair].data->rx_queue_state[1], RTE_ETH_QUEUE_STATE_STOPPED);
		assert_int_equal(rte_eth_devices[pair].data->tx_queue_state[1], RTE_ETH_QUEUE_STATE_STOPPED);
		want++;
	}
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
	return info().announced == begin.announced + 3;
}

/* The cable of the primary port is pulled and plugged in. */
static void
test_failover(void **state)
{
	const struct rte_ether_addr mac = rig_mac(pair), peer_mac = rig_mac(peer);
	struct rte_ether_addr at_pair, at_peer;
	struct rte_eth_stats st;

	all_up(1);
	exchange(&primary_mac);
	pr_meet(pair, IP_A, peer, IP_B, &at_pair, &at_peer);
	pr_log_begin();
	assert_int_equal(tp_model_cable(pr_model(0), 1, false), 0);
	wait_carries(1);
	pr_log_end(PRIMARY " is not up", BACKUP " takes over");
	assert_true(pr_is_up(&pair));
	announced(&backup_mac);
	/* The neighbour's MAC is the one that the application knows, without a question. */
	pr_send(pair, 0, pr_udp(&mac, &at_pair, IP_A, IP_B, 100));
	pr_expect(peer, &backup_mac, &peer_mac, IP_A, IP_B, 100);
	pr_send(peer, 0, pr_udp(&peer_mac, &backup_mac, IP_B, IP_A, 90));
	pr_expect(pair, &at_pair, &mac, IP_B, IP_A, 90);
	assert_int_equal(info().failovers, begin.failovers + 1);
	assert_int_equal(info().failbacks, begin.failbacks);
	assert_int_equal(rig_xstat(pair, "failovers"), begin.failovers + 1);
	/* Both have sent; what the application received is counted by the pair. */
	assert_int_equal(rte_eth_stats_get(pair, &st), 0);
	assert_int_equal(st.opackets, rig_xstat(info().member[0], "tx_good_packets") +
					      rig_xstat(info().member[1], "tx_good_packets"));
	assert_true(st.opackets >= 4);
	assert_int_equal(st.ipackets, rig_xstat(pair, "rx_q0_packets"));
	/* Once at once, and twice in the next seconds. */
	pr_until(announced_thrice, NULL, "the move is told three times");
	assert_int_equal(tp_ipoib_pair_set_active(pair, 0), -ENETDOWN);
	assert_int_equal(tp_model_cable(pr_model(0), 1, true), 0);
	pr_log_begin();
	wait_carries(0);
	pr_log_end(PRIMARY " is up again", "takes over from " BACKUP);
	assert_int_equal(info().failbacks, begin.failbacks + 1);
	exchange(&primary_mac);
	assert_int_equal(rig_xstat(pair, "failbacks"), begin.failbacks + 1);
}

/* Neither is up: the pair stays where it is, and its link is down. */
static void
test_both_down(void **state)
{
	all_up(1);
	assert_int_equal(tp_model_cable(pr_model(1), 1, false), 0);
	pr_wait_state(info().member[1], TP_IPOIB_LINK_DOWN);
	assert_true(pr_is_up(&pair));
	assert_int_equal(tp_model_cable(pr_model(0), 1, false), 0);
	while (pr_is_up(&pair))
		pr_step();
	assert_int_equal(info().active, 0);
	assert_int_equal(info().failovers, begin.failovers);
	assert_false(info().up);
	assert_int_equal(tp_model_cable(pr_model(0), 1, true), 0);
	assert_int_equal(tp_model_cable(pr_model(1), 1, true), 0);
	members_up();
	wait_carries(0);
	exchange(&primary_mac);
}

static void
test_by_hand(void **state)
{
	struct tp_ipoib_pair_info i;

	all_up(1);
	exchange(&primary_mac);
	assert_int_equal(tp_ipoib_pair_set_active(peer, 0), -ENODEV);
	pr_log_begin();
	assert_int_equal(tp_ipoib_pair_set_active(pair, 2), -EINVAL);
	pr_log_end("member 2", "not in 0..1");
	pr_log_begin();
	make_active(1);
	pr_log_end(BACKUP " takes over from " PRIMARY, "as asked");
	i = info();
	assert_int_equal(i.active, 1);
	assert_true(i.kept);
	assert_int_equal(i.asked, 1);
	assert_int_equal(rig_xstat(pair, "moves_asked"), 1);
	exchange(&backup_mac);
	/* No failback from a port that was asked for, though its delay is none. */
	assert_int_equal(info().active, 1);
	/* Asked for again, it is no move. */
	make_active(1);
	assert_int_equal(info().asked, 1);
	make_active(0);
	assert_int_equal(info().asked, 2);
	exchange(&primary_mac);
	assert_true(info().announced >= 1);
	assert_true(rig_xstat(pair, "addresses_announced") >= 1);
	/* What a reset begins anew. */
	assert_int_equal(rte_eth_stats_reset(pair), 0);
	i = info();
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
	assert_int_equal(tp_ipoib_endpoints(info().member[l->member], TP_IPOIB_MULTICAST, look_at, l), 0);
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
	all_up(1);
	pr_until(heard, &l[0], "the primary port is in the group");
	assert_true(not_heard(&l[1]));
	assert_int_equal(rte_eth_dev_set_mc_addr_list(pair, list, 129), -ENOSPC);
	make_active(1);
	pr_until(heard, &l[1], "the backup is in the group");
	pr_until(not_heard, &l[0], "the primary port has left it");
	assert_int_equal(rte_eth_dev_set_mc_addr_list(pair, NULL, 0), 0);
	pr_until(not_heard, &l[1], "nobody is in the group");
	make_active(0);
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
	return info().standby_dropped != 0;
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
	return n == BROADCASTS && info().standby_dropped >= BROADCASTS;
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

	all_up(1);
	pr_meet(pair, IP_A, peer, IP_B, &at_pair, &at_peer);
	pr_until(standby_hears, NULL, "the other port hears broadcasts");
	assert_int_equal(rte_eth_stats_reset(pair), 0);
	assert_int_equal(info().standby_dropped, 0);
	for (i = 0; i < BROADCASTS; i++)
		pr_send(peer, 0, pr_udp(&peer_mac, &all, IP_B, RTE_IPV4(10, 0, 0, 255), (uint16_t)(100 + i)));
	pr_until(all_had, &h, "all come, and the other port's copies are dropped");
	for (i = 0; i < 20; i++)
		(void)all_had(&h);
	for (i = 0; i < BROADCASTS; i++)
		assert_int_equal(h.times[i], 1);
	assert_int_equal(rig_xstat(pair, "standby_dropped"), info().standby_dropped);
	assert_int_equal(rig_xstat(pair, "rx_good_packets"), h.packets);
	assert_int_equal(rig_xstat(pair, "rx_good_bytes"), h.bytes);
	/* What comes to the other one for us alone is the application's. */
	make_active(1);
	pr_send(peer, 0, pr_udp(&peer_mac, &primary_mac, IP_B, IP_A, 60));
	do {
		rte_pktmbuf_free(m);
		m = pr_take(pair, RTE_ETHER_TYPE_IPV4, NULL);
	} while (rte_is_multicast_ether_addr(rte_pktmbuf_mtod(m, struct rte_ether_addr *)));
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), &mac, sizeof(mac));
	assert_int_equal(m->pkt_len, 14 + 60);
	rte_pktmbuf_free(m);
}

/* --- control operations ---------------------------------------------------------------------------------------------- */

static void
test_settings(void **state)
{
	const struct rte_ether_addr other = {{0x02, 0, 0, 0, 0, 0x66}}, peer_mac = rig_mac(peer);
	struct rte_ether_addr at_pair, at_peer;
	struct tp_ipoib_pair_info i = info();
	uint16_t mtu;

	assert_int_equal(rig_configure(pair, 1, 1, NULL, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_set_mtu(pair, 4093), -EINVAL);
	assert_int_equal(rte_eth_dev_set_mtu(pair, 1600), 0);
	assert_int_equal(pr_info(i.member[0]).mtu, 1600);
	assert_int_equal(pr_info(i.member[1]).mtu, 1600);
	assert_int_equal(rte_eth_dev_set_mtu(pair, 1500), 0);
	assert_int_equal(rte_eth_dev_default_mac_addr_set(pair, (struct rte_ether_addr *)(uintptr_t)&other), 0);
	all_up(1);
	assert_int_equal(rte_eth_dev_get_mtu(pair, &mtu), 0);
	assert_int_equal(mtu, 1500);
	pr_meet(pair, IP_A, peer, IP_B, &at_pair, &at_peer);
	for (unsigned int k = 0; k < 2; k++) {
		make_active(1 - k);
		pr_meet(pair, IP_A, peer, IP_B, &at_pair, &at_peer);
		pr_send(peer, 0, pr_udp(&peer_mac, &at_peer, IP_B, IP_A, 60));
		pr_expect(pair, &at_pair, &other, IP_B, IP_A, 60);
	}
}

static void
get_rss(uint16_t port, uint16_t *queue, uint8_t key[40], uint64_t *hf)
{
	struct rte_eth_rss_reta_entry64 reta[2] = {{.mask = UINT64_MAX}, {.mask = UINT64_MAX}};
	struct rte_eth_rss_conf conf = {.rss_key = key, .rss_key_len = 40};

	assert_int_equal(rte_eth_dev_rss_reta_query(port, reta, 128), 0);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(port, &conf), 0);
	*queue = reta[1].reta[63];
	*hf = conf.rss_hf;
}

static void
same_rss(uint16_t queue, uint8_t key0, uint64_t hf)
{
	struct tp_ipoib_pair_info i = info();
	const uint16_t ports[] = {pair, i.member[0], i.member[1]};
	uint8_t key[40];
	unsigned int k;
	uint64_t got;
	uint16_t q;

	for (k = 0; k < RTE_DIM(ports); k++) {
		get_rss(ports[k], &q, key, &got);
		assert_int_equal(q, queue);
		assert_int_equal(key[0], key0);
		assert_true(got == hf);
	}
}

/* Both ports spread alike: changes go to both, or to none when the second one's card refuses. */
static void
test_rss(void **state)
{
	struct rte_eth_rss_reta_entry64 reta[2] = {{.mask = UINT64_MAX}, {.mask = UINT64_MAX}};
	uint8_t key[40] = {0x5a, 1, 2, 3};
	struct rte_eth_rss_conf conf = {.rss_key = key, .rss_key_len = 40, .rss_hf = RTE_ETH_RSS_IPV4};

	all_up(2);
	reta[1].reta[63] = 0;
	assert_int_equal(rte_eth_dev_rss_reta_update(pair, reta, 128), 0);
	assert_int_equal(rte_eth_dev_rss_hash_update(pair, &conf), 0);
	same_rss(0, 0x5a, RTE_ETH_RSS_IPV4);
	reta[1].reta[63] = 1;
	assert_int_equal(rte_eth_dev_rss_reta_update(pair, reta, 128), 0);
	same_rss(1, 0x5a, RTE_ETH_RSS_IPV4);
	assert_true(rte_eth_dev_rss_reta_update(pair, reta, 64) < 0);

	reta[1].reta[63] = 0;
	assert_int_equal(tp_model_fault(pr_model(1), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, INTERNAL_ERR), 0);
	assert_true(rte_eth_dev_rss_reta_update(pair, reta, 128) < 0);
	same_rss(1, 0x5a, RTE_ETH_RSS_IPV4);
	key[0] = 0x77;
	conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP;
	assert_int_equal(tp_model_fault(pr_model(1), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, INTERNAL_ERR), 0);
	assert_true(rte_eth_dev_rss_hash_update(pair, &conf) < 0);
	same_rss(1, 0x5a, RTE_ETH_RSS_IPV4);
	/* And when the first one's does. */
	assert_int_equal(tp_model_fault(pr_model(0), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, INTERNAL_ERR), 0);
	assert_true(rte_eth_dev_rss_hash_update(pair, &conf) < 0);
	same_rss(1, 0x5a, RTE_ETH_RSS_IPV4);
	assert_int_equal(tp_model_fault(pr_model(0), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, INTERNAL_ERR), 0);
	assert_true(rte_eth_dev_rss_reta_update(pair, reta, 128) < 0);
	same_rss(1, 0x5a, RTE_ETH_RSS_IPV4);
}

static void
queue_is(uint16_t port, uint16_t queue, uint8_t rx, uint8_t tx)
{
	assert_int_equal(rte_eth_devices[port].data->rx_queue_state[queue], rx);
	assert_int_equal(rte_eth_devices[port].data->tx_queue_state[queue], tx);
}

/* Single queues of both ports; when the second port refuses, those of none. */
static void
test_queue_states(void **state)
{
	const uint8_t on = RTE_ETH_QUEUE_STATE_STARTED, off = RTE_ETH_QUEUE_STATE_STOPPED;
	struct tp_ipoib_pair_info i = info();

	all_up(2);
	assert_int_equal(rte_eth_dev_rx_queue_stop(pair, 1), 0);
	queue_is(pair, 1, off, on);
	queue_is(i.member[0], 1, off, on);
	queue_is(i.member[1], 1, off, on);
	queue_is(pair, 0, on, on);
	assert_int_equal(rte_eth_dev_tx_queue_stop(pair, 1), 0);
	queue_is(pair, 1, off, off);
	queue_is(i.member[1], 1, off, off);
	assert_int_equal(rte_eth_dev_rx_queue_start(pair, 1), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(pair, 1), 0);
	queue_is(pair, 1, on, on);
	queue_is(i.member[0], 1, on, on);
	queue_is(i.member[1], 1, on, on);
	assert_int_equal(tp_model_fault(pr_model(1), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, INTERNAL_ERR), 0);
	assert_true(rte_eth_dev_rx_queue_stop(pair, 1) < 0);
	queue_is(pair, 1, on, on);
	queue_is(i.member[0], 1, on, on);
	queue_is(i.member[1], 1, on, on);
	assert_int_equal(tp_model_fault(pr_model(0), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, INTERNAL_ERR), 0);
	assert_true(rte_eth_dev_rx_queue_stop(pair, 1) < 0);
	queue_is(pair, 1, on, on);
	queue_is(i.member[1], 1, on, on);
}

static void
test_start_fails(void **state)
{
	struct tp_ipoib_pair_info i = info();
	unsigned int k;

	assert_int_equal(rig_configure(pair, 1, 1, NULL, rig_pool()), 0);
	for (k = 0; k < 2; k++) {
		assert_int_equal(tp_model_fault(pr_model(k), TP_FAULT_STATUS, MLX4_CMD_SW2HW_CQ, 1, INTERNAL_ERR), 0);
		assert_true(rte_eth_dev_start(pair) < 0);
		assert_int_equal(pr_info(i.member[0]).state, TP_IPOIB_STOPPED);
		assert_int_equal(pr_info(i.member[1]).state, TP_IPOIB_STOPPED);
	}
	all_up(1);
	exchange(&primary_mac);
}

/* --- counters -------------------------------------------------------------------------------------------------------- */

static void
test_counters(void **state)
{
	static const char *const names[] = {"failovers", "failbacks", "moves_asked", "standby_dropped"};
	const struct rte_ether_addr mac = rig_mac(pair), peer_mac = rig_mac(peer);
	struct rte_ether_addr at_pair, at_peer;
	struct tp_ipoib_totals before, t;
	uint64_t announcements;
	struct rte_eth_stats st;
	unsigned int k;

	all_up(2);
	exchange(&primary_mac);
	pr_meet(pair, IP_A, peer, IP_B, &at_pair, &at_peer);
	assert_int_equal(rte_eth_stats_reset(pair), 0);
	for (k = 0; k < RTE_DIM(names); k++)
		assert_int_equal(rig_xstat(pair, names[k]), 0);
	assert_int_equal(tp_ipoib_totals_get(pair, &before), 0);
	assert_true(before.tx_packets >= 2 && before.rx_packets >= 2);
	for (k = 0; k < 3; k++)
		pr_send(pair, 1, pr_udp(&mac, &at_pair, IP_A, IP_B, 100));
	make_active(1);
	/* The control thread asks for the path and sends the first one there. */
	for (k = 0; k < 4; k++) {
		pr_send(pair, 0, pr_udp(&mac, &at_pair, IP_A, IP_B, 200));
		rte_pktmbuf_free(pr_take(peer, RTE_ETHER_TYPE_IPV4, NULL));
	}
	pr_send(pair, 0, pr_udp(&mac, &at_pair, IP_A, IP_B, 2045));
	announcements = info().announced;
	assert_int_equal(rte_eth_stats_get(pair, &st), 0);
	assert_int_equal(st.oerrors, 1);
	assert_int_equal(st.q_opackets[1], 3);
	assert_int_equal(st.q_obytes[1], 3 * 114);
	assert_in_range(st.opackets, 7 + announcements, 7 + info().announced);
	assert_int_equal(st.ipackets, 0);
	assert_int_equal(tp_ipoib_totals_get(pair, &t), 0);
	assert_in_range(t.tx_packets - before.tx_packets, 7 + announcements, 7 + info().announced);
	assert_int_equal(t.rx_packets, before.rx_packets);
	assert_int_equal(t.tx_errors, before.tx_errors + 1);
	pr_send(peer, 0, pr_udp(&peer_mac, &backup_mac, IP_B, IP_A, 90));
	pr_expect(pair, &at_pair, &mac, IP_B, IP_A, 90);
	/* Hosts were asked to report their groups, too. */
	assert_int_equal(rte_eth_stats_get(pair, &st), 0);
	assert_in_range(st.ipackets, 1, 3);
	assert_in_range(st.ibytes, 104, 104 + 2 * 100);
	assert_int_equal(st.q_ipackets[0] + st.q_ipackets[1], st.ipackets);
	assert_int_equal(st.q_ibytes[0] + st.q_ibytes[1], st.ibytes);
	assert_int_equal(tp_ipoib_totals_get(pair, &t), 0);
	assert_int_equal(t.rx_packets, before.rx_packets + st.ipackets);
	assert_int_equal(t.rx_bytes, before.rx_bytes + st.ibytes);
}

/* --- made and taken away --------------------------------------------------------------------------------------------- */

static void
refused(const char *args, const char *why)
{
	static unsigned int n = 40;
	char name[32];

	/* Of a device that no driver took the bus keeps the name. */
	snprintf(name, sizeof(name), "net_ib_pair%u", n++);
	pr_log_begin();
	if (rig_plug(name, args) == 0)
		fail_msg("taken: %s", args);
	pr_log_end(why, NULL);
	assert_int_equal(rte_eth_dev_count_avail(), 1);
}

static void
test_arguments(void **state)
{
	char longer[320];
	size_t heap = rig_heap();

	refused("primary=" PRIMARY, "wants primary=CARD/PORT and backup=CARD/PORT");
	refused("backup=" PRIMARY, "wants primary=CARD/PORT and backup=CARD/PORT");
	refused("primary=" PRIMARY ",backup=" PRIMARY, PRIMARY " cannot be primary and backup");
	refused("primary=x,backup=" PRIMARY, "primary 'x' is no InfiniBand port");
	refused("primary=" PRIMARY ",backup=net_mlx4_model0", "backup 'net_mlx4_model0' is no InfiniBand port");
	refused(BOTH ",failback=2", "failback '2' is not in 0..1");
	refused(BOTH ",failback=-1", "failback '-1' is not in 0..1");
	refused(BOTH ",failback=", "failback '' is not in 0..1");
	refused(BOTH ",failback=1x", "failback '1x' is not in 0..1");
	refused(BOTH ",failback-delay=600001", "failback-delay '600001' is not in 0..600000");
	refused(BOTH ",port=" PRIMARY, "a pair has primary and backup, not port");
	refused(BOTH ",age=21", "age '21' is not in 1..20");
	refused("primary=" PRIMARY ",backup=net_mlx4_model9/1", "no pair of " PRIMARY " and net_mlx4_model9/1");
	refused("primary=" PR_PORT(2) ",backup=" BACKUP, PR_PORT(2) " has an IPoIB port of P_Key 0xffff");
	snprintf(longer, sizeof(longer), BOTH ",%0255d=1", 7);
	refused(longer, "are longer than 255 characters");
	assert_int_equal(rig_heap(), heap);
	plug("failback=0,failback-delay=600000,pkey=0x8005,mtu=1700");
	assert_false(info().failback);
	assert_int_equal(info().failback_ms, 600000);
	assert_int_equal(pr_info(info().member[1]).pkey, 0x8005);
	assert_int_equal(pr_info(info().member[0]).mtu, 1700);
	rig_unplug("net_ib_pair0");
	plug("");
	assert_true(info().failback);
	assert_int_equal(info().failback_ms, 1000);
}

static void
test_add(void **state)
{
	struct tp_ipoib_pair_conf conf = {
		.device = {PRIMARY, BACKUP}, .port.age = 7, .failback = true, .failback_ms = 50};
	uint16_t port, member[2];
	unsigned int k;
	size_t heap;

	(void)rig_pool();
	heap = rig_heap();
	for (k = 0; k < 2; k++) {
		assert_int_equal(tp_ipoib_pair_add(&conf, &pair), 0);
		assert_string_equal(info().name, "net_ib_pair0");
		assert_int_equal(info().failback_ms, 50);
		assert_int_equal(pr_info(info().member[1]).conf.age, 7);
		assert_int_equal(tp_ipoib_pair_add(&conf, &port), -EEXIST);
		pr_start(pair, 2, 2, rig_pool());
		assert_int_equal(rte_eth_rx_queue_setup(peer, 0, RIG_DESC, SOCKET_ID_ANY, NULL, rig_pool()), -EINVAL);
		memcpy(member, info().member, sizeof(member));
		assert_int_equal(tp_ipoib_pair_rem(pair), -EBUSY);
		assert_int_equal(rte_eth_dev_stop(pair), 0);
		/* Queues that are set up again, or are fewer. */
		assert_int_equal(rte_eth_rx_queue_setup(pair, 1, RIG_DESC, SOCKET_ID_ANY, NULL, rig_pool()), 0);
		assert_int_equal(rte_eth_tx_queue_setup(pair, 1, RIG_DESC, SOCKET_ID_ANY, NULL), 0);
		assert_int_equal(rte_eth_dev_configure(pair, 1, 1, &(struct rte_eth_conf){0}), 0);
		if (k == 1)
			assert_int_equal(rte_eth_dev_close(pair), 0);
		else
			assert_int_equal(tp_ipoib_pair_rem(pair), 0);
		assert_false(rte_eth_dev_is_valid_port(member[0]));
		assert_false(rte_eth_dev_is_valid_port(member[1]));
		assert_int_equal(tp_ipoib_pair_rem(pair), -ENODEV);
		assert_int_equal(tp_ipoib_pair_rem(peer), -ENODEV);
	}
	assert_int_equal(rig_heap(), heap);
	conf.failback = false;
	assert_int_equal(tp_ipoib_pair_add(&conf, &pair), 0);
	assert_false(info().failback);
	strcpy(conf.device[1], PRIMARY);
	assert_int_equal(tp_ipoib_pair_add(&conf, &port), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_infos, setup, teardown),
		cmocka_unit_test_setup_teardown(test_link, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failover, setup, teardown),
		cmocka_unit_test_setup_teardown(test_both_down, setup, teardown),
		cmocka_unit_test_setup_teardown(test_by_hand, setup, teardown),
		cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_settings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rss, setup, teardown),
		cmocka_unit_test_setup_teardown(test_queue_states, setup, teardown),
		cmocka_unit_test_setup_teardown(test_start_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_arguments, setup_cards, teardown),
		cmocka_unit_test_setup_teardown(test_add, setup_cards, teardown),
	};

	if (pr_eal("ipoib_port_pair") < 0)
		return 1;
	return cmocka_run_group_tests_name("ipoib-port_pair", tests, NULL, NULL);
}
