/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Interfaces on a subnet in memory: neighbours, paths, groups, what waits, and what becomes of it all when the port moves. */
#include <errno.h>
#include <stdlib.h>

#include "ipoib_packets.h"
#include "link_rig.h"

#define IP_A 0x0a000001u
#define IP_B 0x0a000002u

static struct rig rig;

static int
open_rig(void **state)
{
	rig_open(&rig);
	*state = &rig;
	return 0;
}

static int
close_rig(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

static uint64_t
drops(unsigned int node, enum ipoib_drop why)
{
	return rig.node[node].core->stats.drop[why];
}

/* A header of IPv4 with a destination, and eight octets. */
static void
send_v4(unsigned int node, const struct rte_ether_addr *dst, uint32_t ip)
{
	uint8_t p[28] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 253};

	ib_put32(p + 12, IP_A);
	ib_put32(p + 16, ip);
	rig_send(&rig, node, dst, 0x0800, p, sizeof(p));
}

/* A asks for B's address, B answers; the MAC under which A knows B. */
static struct rte_ether_addr
meet(void)
{
	struct rte_ether_addr a, b;
	const uint8_t *p;
	struct rte_mbuf *m;

	rig_arp(&rig, 0, 1, IP_A, IP_B, NULL);
	rig_run(&rig, 5);
	m = rig_take(&rig, 1);
	assert_non_null(m);
	p = rte_pktmbuf_mtod(m, const uint8_t *);
	assert_int_equal(p[0] & p[5], 0xff);
	memcpy(&a, p + 14 + 8, 6);
	assert_memory_equal(&a, &rig.node[0].core->mac, 6);
	assert_memory_equal(p + 6, &a, 6);
	rte_pktmbuf_free(m);
	m = rig_take(&rig, 2); /* it was a broadcast */
	assert_non_null(m);
	rte_pktmbuf_free(m);
	rig_arp(&rig, 1, 2, IP_B, IP_A, &a);
	rig_run(&rig, 5);
	m = rig_take(&rig, 0);
	assert_non_null(m);
	p = rte_pktmbuf_mtod(m, const uint8_t *);
	assert_memory_equal(p, &rig.node[0].core->mac, 6);
	memcpy(&b, p + 14 + 8, 6);
	rte_pktmbuf_free(m);
	assert_null(rig_take(&rig, 2));
	return b;
}

static void
two_hosts_meet(void **state)
{
	struct rte_ether_addr b;
	struct rte_mbuf *m;

	(void)state;
	rig_all_up(&rig);
	b = meet();
	assert_memory_equal(&b, "\xf4\x52\x14\x01\x00\x02", 6); /* by B's GUID */
	send_v4(0, &b, IP_B);
	rig_run(&rig, 5);
	m = rig_take(&rig, 1);
	assert_non_null(m);
	assert_int_equal(m->pkt_len, 14 + 28);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), &rig.node[1].core->mac, 6);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *) + 6, &rig.node[0].core->mac, 6);
	rte_pktmbuf_free(m);
	assert_int_equal(rig.node[0].path_asked, 1);
}

static void
broadcast_group_comes_first(void **state)
{
	(void)state;
	rig.sa_delay = 50;
	rig_up(&rig, 0, 1);
	rig_run(&rig, 10);
	assert_int_equal(rig.node[0].join_asked, 1);
	assert_int_equal(ib_get32(rig.node[0].group[0].mgid + 12), UINT32_MAX);
	assert_int_equal(rig.node[0].up_calls, 0);
	rig_arp(&rig, 0, 1, IP_A, IP_B, NULL);
	assert_int_equal(drops(0, IPOIB_DROP_TX_DOWN), 1);
	rig_run(&rig, 60);
	/* Then all hosts and all nodes. */
	assert_int_equal(rig.node[0].up_calls, 1);
	assert_int_equal(rig.node[0].join_asked, 3);
	assert_int_equal(rig.node[0].core->mtu, 2044);
}

static void
a_refused_join_is_tried_again(void **state)
{
	(void)state;
	rig.sa_join_status = -EINVAL;
	rig_up(&rig, 0, 1);
	rig_run(&rig, 10000);
	/* At 0, 1, 3, 7 s. */
	assert_int_equal(rig.node[0].join_asked, 4);
	assert_false(rig.node[0].core->up);
	rig.sa_join_status = 0;
	rig.sa_call = -ENETUNREACH;
	rig_run(&rig, 10000);
	rig.sa_call = 0;
	rig_run(&rig, 17000);
	assert_true(rig.node[0].core->up);
}

static void
one_question_and_a_queue(void **state)
{
	struct rte_ether_addr b;
	unsigned int i;

	(void)state;
	rig_all_up(&rig);
	b = meet();
	/* A forgets the way, and gets no answer. */
	ipoib_remote_free(rig.node[0].core, ipoib_remote_by_mac(rig.node[0].core, &b));
	rig_arp(&rig, 1, 1, IP_B, IP_A, NULL);
	rig_run(&rig, 5);
	rte_pktmbuf_free(rig_take(&rig, 0));
	rte_pktmbuf_free(rig_take(&rig, 2));
	rig.node[0].path_asked = 0;
	rig.sa_delay = 100;
	for (i = 0; i < IPOIB_WAIT + 7; i++)
		send_v4(0, &b, IP_B);
	assert_int_equal(rig.node[0].path_asked, 1);
	assert_int_equal(drops(0, IPOIB_DROP_TX_WAIT_FULL), 7);
	rig_run(&rig, 99);
	assert_null(rig_take(&rig, 1));
	rig_run(&rig, 2);
	assert_int_equal(rig.node[1].napp, IPOIB_WAIT);
}

static void
no_path(void **state)
{
	struct rte_ether_addr b;

	(void)state;
	rig_all_up(&rig);
	b = meet();
	send_v4(0, &b, IP_B);
	rig_run(&rig, 5);
	rte_pktmbuf_free(rig_take(&rig, 1));
	rig.sa_path_status = -ENOENT;
	ipoib_core_renew(rig.node[0].core);
	rig_run(&rig, 5);
	assert_int_equal(rig.node[0].core->stats.paths_failed, 1);
	rig.node[0].path_asked = 0;
	send_v4(0, &b, IP_B);
	assert_int_equal(drops(0, IPOIB_DROP_TX_NO_PATH), 1);
	assert_int_equal(rig.node[0].path_asked, 0); /* not again at once */
	rig.sa_path_status = 0;
	rig_run(&rig, IPOIB_HOLD_MS);
	send_v4(0, &b, IP_B);
	rig_run(&rig, 5);
	assert_int_equal(rig.node[1].napp, 1);
}

static void
strangers_and_wrong_frames(void **state)
{
	static const struct rte_ether_addr nobody = {{2, 1, 1, 1, 1, 1}}, lldp = {{1, 0x80, 0xc2, 0, 0, 0xe}};
	static const struct rte_ether_addr group = {{1, 0, 0x5e, 1, 2, 3}};
	uint8_t longer[3000] = {0x45, 0, 11, 184};

	(void)state;
	rig_all_up(&rig);
	send_v4(0, &nobody, IP_B);
	assert_int_equal(drops(0, IPOIB_DROP_TX_NO_NEIGHBOUR), 1);
	send_v4(0, &group, IP_B);
	assert_int_equal(drops(0, IPOIB_DROP_TX_GROUP), 1);
	rig_send(&rig, 0, &lldp, 0x88cc, longer, 40);
	assert_int_equal(drops(0, IPOIB_DROP_TX_TYPE), 1);
	rig_send(&rig, 0, &nobody, 0x8100, longer, 40);
	assert_int_equal(drops(0, IPOIB_DROP_TX_TYPE), 2);
	rig_send(&rig, 0, &nobody, 0x0800, longer, 2045);
	assert_int_equal(drops(0, IPOIB_DROP_TX_LONG), 1);
	rig_send(&rig, 0, &nobody, 0x0800, longer, 10);
	assert_int_equal(drops(0, IPOIB_DROP_TX_SHORT), 1);
	rig_send(&rig, 0, &nobody, 0x0806, longer, 28);
	assert_int_equal(drops(0, IPOIB_DROP_TX_ARP), 1);
	rig_send(&rig, 0, &nobody, 0x86dd, ns_ib, sizeof(ns_ib));
	assert_int_equal(drops(0, IPOIB_DROP_TX_ND), 1);
	rig_send(&rig, 0, &nobody, 0x0800, discover_ib, sizeof(discover_ib));
	assert_int_equal(drops(0, IPOIB_DROP_TX_DHCP), 1);
	assert_int_equal(rig.node[0].sent, 0);
}

static struct rte_mbuf *
packet(uint16_t etype, const void *l3, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);
	uint8_t *p;

	assert_non_null(m);
	p = rig_room(m, 44 + len);
	memset(p, 0, 44);
	ib_put16(p + 40, etype);
	memcpy(p + 44, l3, len);
	return m;
}

static void
wrong_packets(void **state)
{
	const struct ipoib_meta meta = {.qpn = 0x77, .slid = 9};
	uint8_t arp[sizeof(arp_asked_ib)];
	struct rte_mbuf *m;

	(void)state;
	rig_all_up(&rig);
	/* An ARP with Ethernet's lengths, an ND option of Ethernet's, DHCP with a hardware address; a short one. */
	ipoib_core_rx(rig.node[0].core, packet(0x0806, arp_asked_eth, sizeof(arp_asked_eth)), &meta);
	ipoib_core_rx(rig.node[0].core, packet(0x86dd, ns_eth, sizeof(ns_eth)), &meta);
	ipoib_core_rx(rig.node[0].core, packet(0x0800, offer_eth, sizeof(offer_eth)), &meta);
	ipoib_core_rx(rig.node[0].core, packet(0x0800, offer_eth, 12), &meta);
	ipoib_core_rx(rig.node[0].core, packet(0x88cc, offer_eth, 12), &meta);
	memcpy(arp, arp_asked_ib, sizeof(arp));
	memset(arp + 8, 0xff, 20);
	ipoib_core_rx(rig.node[0].core, packet(0x0806, arp, sizeof(arp)), &meta);
	m = packet(0x0800, offer_eth, 12);
	m->data_len = 43;
	m->pkt_len = 43;
	ipoib_core_rx(rig.node[0].core, m, &meta);
	assert_int_equal(drops(0, IPOIB_DROP_RX_ARP), 1);
	assert_int_equal(drops(0, IPOIB_DROP_RX_NO_NEIGHBOUR), 1);
	assert_int_equal(drops(0, IPOIB_DROP_RX_ND), 1);
	assert_int_equal(drops(0, IPOIB_DROP_RX_DHCP), 1);
	assert_int_equal(drops(0, IPOIB_DROP_RX_SHORT), 2);
	assert_int_equal(drops(0, IPOIB_DROP_RX_TYPE), 1);
	assert_int_equal(rig.node[0].napp, 0);
}

/* IGMP makes a member, the monitor asks, and lets go of a group that nobody reports. */
static void
the_monitor_asks_and_leaves(void **state)
{
	static const struct rte_ether_addr routers = {{1, 0, 0x5e, 0, 0, 0x16}};
	struct rte_mbuf *m;
	uint8_t mgid[16];
	struct ipoib_group *g;

	(void)state;
	rig_all_up(&rig);
	ipoib_mgid_v4(0xffff, 2, (const uint8_t[]){239, 1, 2, 3}, mgid);
	rig_send(&rig, 0, &routers, 0x0800, igmp3_report, sizeof(igmp3_report));
	rig_run(&rig, 5);
	g = ipoib_group_find(rig.node[0].core, mgid);
	assert_non_null(g);
	assert_true(g->attached);
	/* Two runs without a report are nothing, the third asks. */
	rig_run(&rig, 61000);
	assert_int_equal(rig.node[0].core->stats.queries, 0);
	rig_run(&rig, 30000);
	assert_int_equal(rig.node[0].core->stats.queries, 1);
	m = rig_take(&rig, 0);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_mtod(m, uint8_t *)[14 + 24], 0x11);
	rte_pktmbuf_free(m);
	/* A report saves it. */
	rig_send(&rig, 0, &routers, 0x0800, igmp3_report, sizeof(igmp3_report));
	rig_run(&rig, 61000);
	assert_int_equal(rig.node[0].core->stats.queries, 1);
	/* Third run asks, fourth asks, fifth leaves. */
	rig_run(&rig, 60000);
	assert_non_null(ipoib_group_find(rig.node[0].core, mgid));
	rig_run(&rig, 30000);
	assert_null(ipoib_group_find(rig.node[0].core, mgid));
	assert_true(rig.node[0].left > 0);
	while ((m = rig_take(&rig, 0)) != NULL)
		rte_pktmbuf_free(m);
}

static void
groups_of_ip(void **state)
{
	static const struct rte_ether_addr mac = {{1, 0, 0x5e, 1, 2, 3}}, mld = {{0x33, 0x33, 0, 0, 0, 0x16}};
	struct rte_mbuf *m;
	uint8_t mgid[16];

	(void)state;
	rig_all_up(&rig);
	rig_send(&rig, 1, &mld, 0x86dd, mld2_report, sizeof(mld2_report));
	rig_send(&rig, 1, &mac, 0x0800, igmp2_report, sizeof(igmp2_report));
	rig_run(&rig, 5);
	/* 239.129.2.3 has the same MAC as 239.1.2.3, and is another group. */
	send_v4(0, &mac, 0xef810203);
	send_v4(0, &mac, 0xef010203);
	rig_run(&rig, 5);
	m = rig_take(&rig, 1);
	assert_non_null(m);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), &mac, 6);
	assert_int_equal(ib_get32(rte_pktmbuf_mtod(m, uint8_t *) + 30), 0xef010203);
	rte_pktmbuf_free(m);
	assert_null(rig_take(&rig, 1));
	assert_null(rig_take(&rig, 2));
	/* A sender is a member that hears nothing. */
	ipoib_mgid_v4(0xffff, 2, (const uint8_t[]){239, 1, 2, 3}, mgid);
	assert_false(ipoib_group_find(rig.node[0].core, mgid)->attached);
	/* It is aged when nothing is sent any more. */
	rig_run(&rig, 5 * 60000 + 61000);
	assert_null(ipoib_group_find(rig.node[0].core, mgid));
}

static void
listed_groups(void **state)
{
	static const struct rte_ether_addr macs[] = {{{1, 0, 0x5e, 9, 9, 9}}, {{0x33, 0x33, 0xff, 1, 2, 3}}};
	uint8_t mgid[16];

	(void)state;
	rig_all_up(&rig);
	ipoib_core_mac_groups(rig.node[0].core, macs, 2);
	rig_run(&rig, 5);
	ipoib_mac_mgid(&macs[1], 0xffff, 2, mgid);
	assert_true(ipoib_group_find(rig.node[0].core, mgid)->attached);
	ipoib_core_mac_groups(rig.node[0].core, macs, 1);
	assert_null(ipoib_group_find(rig.node[0].core, mgid));
	ipoib_mac_mgid(&macs[0], 0xffff, 2, mgid);
	assert_non_null(ipoib_group_find(rig.node[0].core, mgid));
}

/* A group that is given up before it is joined: its answer is for nobody, and the administrator hears of it. */
static void
answers_find_who_asked_or_nobody(void **state)
{
	static const struct rte_ether_addr macs[] = {{{1, 0, 0x5e, 9, 9, 9}}, {{1, 0, 0x5e, 8, 8, 8}}};
	struct ipoib_core *c = rig.node[0].core;
	struct ipoib_group *g;
	uint8_t mgid[16];
	uint16_t mlid;

	(void)state;
	rig_all_up(&rig);
	rig.sa_delay = 20;
	ipoib_core_mac_groups(c, &macs[0], 1);
	rig_run(&rig, 10);
	ipoib_core_mac_groups(c, NULL, 0);
	assert_int_equal(rig.node[0].left, 1);
	ipoib_core_mac_groups(c, &macs[1], 1);
	ipoib_mac_mgid(&macs[1], 0xffff, 2, mgid);
	g = ipoib_group_find(c, mgid);
	assert_int_equal(g->state, IPOIB_GROUP_JOINING);
	rig_run(&rig, 12); /* the first answer is there, the second one not */
	assert_int_equal(g->state, IPOIB_GROUP_JOINING);
	rig_run(&rig, 10);
	assert_int_equal(g->state, IPOIB_GROUP_JOINED);
	assert_memory_equal(g->member.mgid.raw, mgid, 16);
	/* To join again what has not changed interrupts nothing. */
	mlid = g->member.mlid;
	rig.node[0].detached = 0;
	ipoib_core_renew(c);
	rig_run(&rig, 50);
	assert_int_equal(g->member.mlid, mlid);
	assert_true(g->attached);
	assert_int_equal(rig.node[0].detached, 0);
}

/* The administrator cannot be asked again: what waits for its first answer does not wait for ever. */
static void
a_question_that_fails_ends_the_waiting(void **state)
{
	struct rte_ether_addr b;

	(void)state;
	rig_all_up(&rig);
	b = meet();
	rig.sa_silent = true;
	send_v4(0, &b, IP_B);
	send_v4(0, &b, IP_B);
	assert_int_equal(drops(0, IPOIB_DROP_TX_NO_PATH), 0);
	rig.sa_call = -ENETUNREACH;
	ipoib_core_renew(rig.node[0].core);
	assert_int_equal(drops(0, IPOIB_DROP_TX_NO_PATH), 2);
	rig.sa_call = 0;
	rig.sa_silent = false;
}

static void
the_port_moves(void **state)
{
	struct rte_ether_addr b;
	struct ipoib_place down = {0};
	struct rte_mbuf *m;

	(void)state;
	rig_all_up(&rig);
	b = meet();
	/* B gets another LID; the manager tells everybody to register anew. */
	rig_up(&rig, 1, 77);
	ipoib_core_renew(rig.node[0].core);
	rig_run(&rig, 10);
	send_v4(0, &b, IP_B);
	rig_run(&rig, 5);
	m = rig_take(&rig, 1);
	assert_non_null(m);
	rte_pktmbuf_free(m);
	/* The cable of A, out and in. */
	ipoib_core_place(rig.node[0].core, &down);
	assert_int_equal(rig.node[0].down_calls, 1);
	send_v4(0, &b, IP_B);
	assert_int_equal(drops(0, IPOIB_DROP_TX_DOWN), 1);
	rig_run(&rig, 1000);
	rig_up(&rig, 0, 5);
	rig_run(&rig, 10);
	send_v4(0, &b, IP_B);
	rig_run(&rig, 5);
	m = rig_take(&rig, 1);
	assert_non_null(m);
	rte_pktmbuf_free(m);
}

static void
everybody_is_forgotten_in_time(void **state)
{
	struct rte_ether_addr b;

	(void)state;
	rig_all_up(&rig);
	b = meet();
	rig_run(&rig, 4 * 60000);
	assert_non_null(ipoib_remote_by_mac(rig.node[0].core, &b));
	send_v4(0, &b, IP_B); /* use keeps it */
	rig_run(&rig, 4 * 60000);
	assert_non_null(ipoib_remote_by_mac(rig.node[0].core, &b));
	rig_run(&rig, 3 * 60000);
	assert_null(ipoib_remote_by_mac(rig.node[0].core, &b));
	assert_int_equal(rig.node[0].core->num_locals, 0);
}

/* Hosts behind a bridge: what comes for their addresses has their MACs. */
static void
hosts_behind_the_port(void **state)
{
	static const struct rte_ether_addr vm = {{2, 0xaa, 0, 0, 0, 1}};
	struct rte_ether_addr b = {{0}}, port;
	struct rte_mbuf *m;

	(void)state;
	rig_all_up(&rig);
	port = rig.node[0].core->mac;
	rig.node[0].core->mac = vm; /* rig_arp() sends as the bridge's host */
	rig_arp(&rig, 0, 1, IP_A, IP_B, NULL);
	rig.node[0].core->mac = port;
	rig_run(&rig, 5);
	m = rig_take(&rig, 1);
	memcpy(&b, rte_pktmbuf_mtod(m, uint8_t *) + 14 + 8, 6);
	assert_memory_equal(&b, &port, 6); /* B sees one hardware address */
	rte_pktmbuf_free(m);
	rte_pktmbuf_free(rig_take(&rig, 2));
	rig_arp(&rig, 1, 2, IP_B, IP_A, &b);
	send_v4(1, &b, IP_A);
	rig_run(&rig, 5);
	m = rig_take(&rig, 0);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), &vm, 6);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *) + 14 + 18, &vm, 6);
	rte_pktmbuf_free(m);
	m = rig_take(&rig, 0);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), &vm, 6);
	rte_pktmbuf_free(m);
}

static void
dhcp_finds_its_client(void **state)
{
	static const struct rte_ether_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	struct rte_mbuf *m;

	(void)state;
	rig_all_up(&rig);
	rig_send(&rig, 0, &all, 0x0800, discover_eth, sizeof(discover_eth));
	rig_run(&rig, 5);
	m = rig_take(&rig, 1);
	assert_non_null(m);
	/* The server's host sees the client by the MAC that its neighbour has here. */
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *) + 14 + 28 + 28, &rig.node[0].core->mac, 6);
	rte_pktmbuf_free(m);
	rte_pktmbuf_free(rig_take(&rig, 2));
	rig_send(&rig, 1, &all, 0x0800, offer_eth, sizeof(offer_eth));
	rig_run(&rig, 5);
	m = rig_take(&rig, 0);
	assert_non_null(m);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *) + 14, offer_eth, sizeof(offer_eth));
	rte_pktmbuf_free(m);
}

/* The datapath's snapshot has what the interface has. */
static void
snapshots(void **state)
{
	struct rte_ether_addr b;
	struct ipoib_view *v;
	uint64_t mac = 0, id[2];
	uint8_t mgid[16];

	(void)state;
	rig_all_up(&rig);
	b = meet();
	rig_arp(&rig, 0, 2, IP_A, IP_B, &b);
	rig_run(&rig, 5);
	assert_true(rig.node[0].core->dirty);
	v = ipoib_view_make(rig.node[0].core);
	assert_non_null(v);
	assert_false(rig.node[0].core->dirty);
	memcpy(&mac, &b, 6);
	assert_non_null(ipoib_view_tx(v, mac));
	assert_int_equal(ipoib_view_tx(v, mac)->qpn, rig_qpn(1));
	assert_null(ipoib_view_tx(v, mac ^ UINT64_C(0x10000000000)));
	assert_non_null(ipoib_view_rx(v, ipoib_rx_key(2, rig_qpn(1))));
	assert_true(ipoib_view_rx(v, ipoib_rx_key(2, rig_qpn(1)))->mac == mac);
	assert_null(ipoib_view_rx(v, ipoib_rx_key(3, rig_qpn(1))));
	ipoib_mgid_broadcast(0xffff, 2, mgid);
	memcpy(id, mgid, 16);
	assert_non_null(ipoib_view_group(v, id));
	id[0]++;
	assert_null(ipoib_view_group(v, id));
	free(v);
}

/* A port that stops and starts again goes on counting. */
static void
counters_go_on(void **state)
{
	struct ipoib_core *c = rig.node[0].core;
	const struct ipoib_core_conf conf = c->conf;
	const struct ipoib_io io = c->io;
	struct ipoib_core_stats was;

	(void)state;
	rig_all_up(&rig);
	meet();
	ipoib_core_fini(c);
	was = c->stats;
	assert_int_not_equal(was.tx_arp, 0);
	ipoib_core_init(c, &conf, &io, rig.pool, rig_guid(0), NULL, 4092);
	assert_memory_equal(&c->stats, &was, sizeof(was));
	assert_int_equal(c->num_remotes, 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
		T(two_hosts_meet),
		T(broadcast_group_comes_first),
		T(a_refused_join_is_tried_again),
		T(one_question_and_a_queue),
		T(no_path),
		T(strangers_and_wrong_frames),
		T(wrong_packets),
		T(the_monitor_asks_and_leaves),
		T(groups_of_ip),
		T(listed_groups),
		T(answers_find_who_asked_or_nobody),
		T(a_question_that_fails_ends_the_waiting),
		T(the_port_moves),
		T(everybody_is_forgotten_in_time),
		T(hosts_behind_the_port),
		T(dhcp_finds_its_client),
		T(snapshots),
		T(counters_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
