/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Packets that the control thread looks at: reports, advertisements, those that are long, and all when there are no buffers. */
#include <errno.h>
#include <stdlib.h>

#include "ipoib_packets.h"
#include "link_rig.h"
#include "lib/ipoib/iface/carry.h"

#define IP_A 0x0a000001u
#define IP_B 0x0a000002u
#define LONG 3000u

static struct rig rig;
static const struct rte_ether_addr vm = {{2, 0xaa, 0, 0, 0, 1}};

static int
packets_up(void **state)
{
	(void)state;
	rig_open(&rig);
	rig_all_up(&rig);
	return 0;
}

static void
forget_frames(void)
{
	struct rte_mbuf *m;

	for (unsigned int i = 0; i < RIG_NODES; i++) {
		while ((m = rig_take(&rig, i)) != NULL)
			rte_pktmbuf_free(m);
	}
}

static int
packets_down(void **state)
{
	(void)state;
	forget_frames();
	rig_close(&rig);
	return 0;
}

static uint64_t
drops(enum ipoib_drop why)
{
	return rig.node[0].core->stats.drop[why];
}

static struct rte_mbuf *
frame(const struct rte_ether_addr *dst, const struct rte_ether_addr *src, uint16_t etype, const void *l3, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);
	uint8_t *p;

	assert_non_null(m);
	p = rig_room(m, 14 + len);
	memcpy(p, dst, 6);
	memcpy(p + 6, src, 6);
	ib_put16(p + 12, etype);
	memcpy(p + 14, l3, len);
	return m;
}

static void
mapped(uint32_t ip, uint8_t to[16])
{
	memset(to, 0, 16);
	to[10] = to[11] = 0xff;
	ib_put32(to + 12, ip);
}

/* As node 0's application calls another node. */
static struct ipoib_remote *
remote(unsigned int node)
{
	struct ipoib_hw hw = ipoib_own_hw(rig.node[node].core);

	return ipoib_remote_get(rig.node[0].core, &hw);
}

/* --- asking hosts --------------------------------------------------------------------------------------------------------- */

/* To all hosts, or all nodes, from an address that is nearly our own: a host would take its own for a loop. */
static void
queries_are_frames(void **state)
{
	struct ipoib_core *c = rig.node[0].core;

	(void)state;
	for (unsigned int v6 = 0; v6 < 2; v6++) {
		struct rte_ether_addr from = c->mac;
		struct rte_mbuf *m;
		const uint8_t *p;

		from.addr_bytes[5] ^= 1;
		ipoib_query(c, v6 != 0);
		m = rig_take(&rig, 0);
		assert_non_null(m);
		p = rte_pktmbuf_mtod(m, const uint8_t *);
		assert_memory_equal(p, v6 != 0 ? "\x33\x33\0\0\0\1" : "\1\0\x5e\0\0\1", 6);
		assert_memory_equal(p + 6, &from, 6);
		assert_int_equal(ib_get16(p + 12), v6 != 0 ? 0x86dd : 0x0800);
		assert_int_equal(m->pkt_len, 14 + (v6 != 0 ? 72 : 32));
		assert_int_equal(p[14], v6 != 0 ? 0x60 : 0x46);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(c->stats.queries, 2);
}

/* A host that leaves a group need not be the last one: the monitor's next run asks, and a report keeps the group. */
static void
leaving_is_asked_about_soon(void **state)
{
	static const struct rte_ether_addr group = {{1, 0, 0x5e, 1, 2, 3}}, routers = {{1, 0, 0x5e, 0, 0, 2}};
	struct ipoib_core *c = rig.node[0].core;
	struct ipoib_group *g;
	uint8_t mgid[16];

	(void)state;
	ipoib_mgid_v4(0xffff, 2, (const uint8_t[]){239, 1, 2, 3}, mgid);
	rig_send(&rig, 0, &routers, 0x0800, igmp2_leave, sizeof(igmp2_leave));
	assert_null(ipoib_group_find(c, mgid));
	for (unsigned int i = 0; i < 2; i++) {
		rig_send(&rig, 0, &group, 0x0800, igmp2_report, sizeof(igmp2_report));
		rig_run(&rig, 31000);
		assert_int_equal(c->stats.queries, i);
		rig_send(&rig, 0, &routers, 0x0800, igmp2_leave, sizeof(igmp2_leave));
		g = ipoib_group_find(c, mgid);
		assert_non_null(g);
		assert_int_equal(g->runs, 2);
		rig_run(&rig, 30000);
		assert_int_equal(c->stats.queries, i + 1);
	}
	/* To say it again does not make the time start again. */
	rig_send(&rig, 0, &routers, 0x0800, igmp2_leave, sizeof(igmp2_leave));
	rig_run(&rig, 30000);
	assert_non_null(ipoib_group_find(c, mgid));
	rig_send(&rig, 0, &routers, 0x0800, igmp2_leave, sizeof(igmp2_leave));
	rig_run(&rig, 30000);
	/* What the host sent to it keeps it for sending alone. */
	assert_int_equal(ipoib_group_find(c, mgid)->why, IPOIB_WHY_SEND);
	assert_false(ipoib_group_find(c, mgid)->attached);
}

/* A report with a wrong checksum is none, unless the card is to write it. */
static void
checksums_of_the_card_are_not_looked_at(void **state)
{
	static const struct {
		uint64_t flags;
		bool counts;
	} row[] = {
		{0, false},
		{RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV6, false},
		{RTE_MBUF_F_TX_TCP_CKSUM, true},
		{RTE_MBUF_F_TX_SCTP_CKSUM, true},
		{RTE_MBUF_F_TX_UDP_CKSUM, true},
	};
	static const struct rte_ether_addr mld = {{0x33, 0x33, 0, 0, 0, 0x16}};
	struct ipoib_core *c = rig.node[0].core;
	uint8_t p[sizeof(mld1_report)], mgid[16];

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint8_t group[16] = {0xff, 0x02, [14] = 0x77, [15] = (uint8_t)i};
		struct rte_mbuf *m;

		memcpy(p, mld1_report, sizeof(p));
		memcpy(p + sizeof(p) - 16, group, 16);
		m = frame(&mld, &vm, 0x86dd, p, sizeof(p));
		m->ol_flags |= row[i].flags;
		ipoib_core_tx(c, m);
		ipoib_mgid_v6(0xffff, 2, group, mgid);
		assert_int_equal(ipoib_group_find(c, mgid) != NULL &&
					 (ipoib_group_find(c, mgid)->why & IPOIB_WHY_SNOOP) != 0,
				 row[i].counts);
	}
}

/* --- hosts behind the port --------------------------------------------------------------------------------------------------- */

static const struct ipoib_local *
local(const uint8_t ip[16])
{
	const struct ipoib_core *c = rig.node[0].core;

	for (unsigned int i = 0; i < IPOIB_LOCALS; i++) {
		if (c->local[i].valid && memcmp(c->local[i].ip, ip, 16) == 0)
			return &c->local[i];
	}
	return NULL;
}

/* The router flag of an advertisement (RFC 4861, 4.4) is the highest bit, and the last word counts. */
static void
routers_say_so(void **state)
{
	static const struct {
		uint8_t flags;
		bool router;
	} row[] = {{0x20, false}, {0xa0, true}, {0x60, false}, {0x80, true}, {0x40, false}, {0xe0, true}};
	static const struct rte_ether_addr nodes = {{0x33, 0x33, 0, 0, 0, 1}}, somebody = {{2, 9, 9, 9, 9, 9}};
	uint8_t na[sizeof(na_vm)];

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct rte_mbuf *m;

		memcpy(na, na_vm, sizeof(na));
		na[44] = row[i].flags;
		m = frame(&nodes, &vm, 0x86dd, na, sizeof(na));
		m->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM;
		ipoib_core_tx(rig.node[0].core, m);
		assert_non_null(local(na + 48));
		assert_int_equal(local(na + 48)->router, row[i].router);
		assert_memory_equal(&local(na + 48)->mac, &vm, 6);
		assert_memory_equal(&local(na + 8)->mac, &vm, 6);
	}
	/* Who advertises a network is one. */
	ipoib_core_tx(rig.node[0].core, frame(&somebody, &vm, 0x86dd, ra_eth, sizeof(ra_eth)));
	assert_non_null(local(ra_eth + 8));
	assert_true(local(ra_eth + 8)->router);
}

/* --- without memory ----------------------------------------------------------------------------------------------------------- */

/* Where there are no buffers nothing is lost but what would need one, and that is counted. */
static void
no_buffers(void **state)
{
	static struct rte_mbuf *all[4096];
	struct ipoib_core *c = rig.node[0].core;
	const struct ipoib_meta meta = {.qpn = 0x77, .slid = 9};
	struct rte_mbuf *arp, *in, *parts[2][2];
	unsigned int n = 0;
	uint8_t ip[16];

	(void)state;
	arp = frame((const struct rte_ether_addr *)"\xff\xff\xff\xff\xff\xff", &c->mac, 0x0806, arp_request_eth,
		    sizeof(arp_request_eth));
	memcpy(rte_pktmbuf_mtod_offset(arp, uint8_t *, 14 + 8), &c->mac, 6);
	in = rte_pktmbuf_alloc(rig.pool);
	memset(rig_room(in, 44 + sizeof(arp_asked_ib)), 0, 44);
	ib_put16(rte_pktmbuf_mtod_offset(in, uint8_t *, 40), 0x0806);
	memcpy(rte_pktmbuf_mtod_offset(in, uint8_t *, 44), arp_asked_ib, sizeof(arp_asked_ib));
	/* Of two buffers: as long as a datagram, and a little longer. */
	for (unsigned int i = 0; i < 2; i++) {
		static const uint8_t v4[1500] = {0x45};

		parts[i][0] = frame(&vm, &c->mac, 0x0800, v4, 1000);
		parts[i][1] = rte_pktmbuf_alloc(rig.pool);
		memset(rig_room(parts[i][1], c->mtu - 1000 + i), 0, c->mtu - 1000 + i);
		assert_int_equal(rte_pktmbuf_chain(parts[i][0], parts[i][1]), 0);
	}
	mapped(IP_A, ip);
	ipoib_local_seen(c, ip, &vm);
	while ((all[n] = rte_pktmbuf_alloc(rig.pool)) != NULL)
		n++;
	ipoib_query(c, false);
	assert_int_equal(drops(IPOIB_DROP_RX_NO_MBUF), 1);
	assert_int_equal(c->stats.queries, 0);
	ipoib_core_rx(c, in, &meta);
	assert_int_equal(drops(IPOIB_DROP_RX_NO_MBUF), 2);
	assert_non_null(all[n++] = rte_pktmbuf_alloc(rig.pool)); /* the buffer that it was in */
	assert_int_equal(ipoib_announce(c), 1);
	assert_int_equal(drops(IPOIB_DROP_TX_NO_MBUF), 1);
	ipoib_core_tx(c, parts[1][0]);
	assert_int_equal(drops(IPOIB_DROP_TX_LONG), 1);
	for (unsigned int i = 0; i < 2; i++)
		assert_non_null(all[n++] = rte_pktmbuf_alloc(rig.pool));
	ipoib_core_tx(c, parts[0][0]);
	assert_int_equal(drops(IPOIB_DROP_TX_NO_MBUF), 2);
	for (unsigned int i = 0; i < 2; i++)
		assert_non_null(all[n++] = rte_pktmbuf_alloc(rig.pool));
	ipoib_core_tx(c, arp);
	assert_int_equal(drops(IPOIB_DROP_TX_NO_MBUF), 3);
	assert_int_equal(c->stats.tx_arp, 0);
	while (n-- != 0)
		rte_pktmbuf_free(all[n]);
}

/* A copy has the octets and the wishes of a packet in one buffer, with its headroom where there is room for it. */
static void
copies(void **state)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool), *tail = rte_pktmbuf_alloc(rig.pool), *copy;
	const uint32_t room = rte_pktmbuf_tailroom(m);
	const uint64_t wishes = RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV4;

	(void)state;
	memset(rig_room(m, 1000), 0x11, 1000);
	memset(rig_room(tail, room - 1000), 0x22, room - 1000);
	assert_int_equal(rte_pktmbuf_chain(m, tail), 0);
	m->l2_len = 14;
	m->l3_len = 20;
	m->ol_flags = wishes | RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
	for (uint32_t more = 0; more < 2; more++) {
		copy = ipoib_copy(rig.pool, m);
		assert_non_null(copy);
		assert_int_equal(copy->data_off, more == 0 ? RTE_PKTMBUF_HEADROOM : 0);
		assert_int_equal(copy->nb_segs, 1);
		assert_int_equal(copy->pkt_len, room + more);
		assert_int_equal(copy->data_len, room + more);
		assert_int_equal(copy->ol_flags, wishes);
		assert_int_equal(copy->l2_len, 14);
		assert_int_equal(copy->l3_len, 20);
		assert_int_equal(rte_pktmbuf_mtod(copy, uint8_t *)[0], 0x11);
		assert_int_equal(rte_pktmbuf_mtod(copy, uint8_t *)[999], 0x11);
		assert_int_equal(rte_pktmbuf_mtod(copy, uint8_t *)[1000], 0x22);
		assert_int_equal(rte_pktmbuf_mtod(copy, uint8_t *)[room - 1], 0x22);
		rte_pktmbuf_free(copy);
		tail->data_len++;
		m->pkt_len++;
	}
	/* The whole of a buffer, and one octet more. */
	tail->data_off = 0;
	tail->data_len = (uint16_t)(m->buf_len - 1000);
	m->pkt_len = m->buf_len;
	copy = ipoib_copy(rig.pool, m);
	assert_non_null(copy);
	rte_pktmbuf_free(copy);
	tail->data_len++;
	m->pkt_len++;
	assert_null(ipoib_copy(rig.pool, m));
	m->ol_flags = 0;
	rte_pktmbuf_free(m);
}

/* --- connected mode ---------------------------------------------------------------------------------------------------------------- */

static void
connect_all(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		rig.node[i].core->conf.connected = true;
		rig.node[i].core->conf.cm_mtu = 4000;
		rig.node[i].core->dirty = true;
	}
}

static void
send_v4(const struct rte_ether_addr *dst, uint32_t len, uint16_t fragment, uint64_t flags)
{
	static uint8_t p[LONG];
	struct rte_mbuf *m;

	memset(p, 0x5a, sizeof(p));
	memcpy(p, "\x45\0\0\0\0\0\0\0\x40\x11\0\0", 12);
	ib_put16(p + 2, (uint16_t)len);
	ib_put16(p + 6, fragment);
	ib_put32(p + 12, IP_A);
	ib_put32(p + 16, IP_B);
	m = frame(dst, &vm, 0x0800, p, len);
	m->ol_flags |= flags;
	ipoib_core_tx(rig.node[0].core, m);
}

/*
 * Nothing is told about parts of a datagram but the first (RFC 1122, 3.2.2): 13 bits say where a part begins, the three above them
 * something else. The host that sent it is told, at its own MAC.
 */
static void
first_parts_are_answered(void **state)
{
	static const struct {
		uint16_t fragment;
		bool told;
	} row[] = {{0, true},       {0x4000, true},  {0x2000, true}, {0x1000, false},
		   {0x3000, false}, {0x2001, false}, {0x1fff, false}};
	uint8_t ip[16];
	struct ipoib_remote *r;

	(void)state;
	connect_all(1);
	mapped(IP_A, ip);
	ipoib_local_seen(rig.node[0].core, ip, &vm);
	r = remote(1);
	send_v4(&r->mac, 100, 0, 0); /* asks for the path */
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct rte_mbuf *m;

		rig_run(&rig, 5);
		forget_frames();
		send_v4(&r->mac, LONG, row[i].fragment, 0);
		assert_int_equal(drops(IPOIB_DROP_TX_TOO_BIG), i + 1);
		m = rig_take(&rig, 0);
		assert_int_equal(m != NULL, row[i].told);
		if (m != NULL) {
			assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), &vm, 6);
			assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *) + 6, &r->mac, 6);
		}
		rte_pktmbuf_free(m);
	}
	assert_int_equal(rig.node[0].core->stats.too_big_told, 3);
}

/* RFC 4443, 3.2: Packet Too Big has the MTU, and as much of the packet as 1280 octets hold. */
static void
answers_of_ipv6(void **state)
{
	static const uint8_t src[16] = {0xfd, [15] = 1}, dst[16] = {0xfd, [15] = 2};
	struct ipoib_core *c = rig.node[0].core;
	uint8_t p[LONG] = {0x60, 0, 0, 0, 0, 0, 17, 9};
	struct ipoib_remote *r;
	struct rte_mbuf *m;
	const uint8_t *f;
	uint64_t sum = 0;

	(void)state;
	connect_all(1);
	memcpy(p + 8, src, 16);
	memcpy(p + 24, dst, 16);
	ipoib_local_seen(c, src, &vm);
	r = remote(1);
	for (unsigned int i = 0; i < 2; i++) {
		/* The first one asks for the path. */
		uint32_t len = i == 0 ? 100 : LONG;

		ib_put16(p + 4, (uint16_t)(len - 40));
		ipoib_core_tx(c, frame(&r->mac, &vm, 0x86dd, p, len));
		if (i != 0)
			break;
		rig_run(&rig, 5);
		forget_frames();
	}
	m = rig_take(&rig, 0);
	assert_non_null(m);
	assert_int_equal(m->pkt_len, 14 + 1280);
	f = rte_pktmbuf_mtod(m, const uint8_t *);
	assert_memory_equal(f, &vm, 6);
	assert_memory_equal(f + 6, &r->mac, 6);
	assert_memory_equal(f + 12, "\x86\xdd\x60\0\0\0\x04\xd8\x3a", 9); /* 1240 octets of ICMPv6 */
	assert_memory_equal(f + 14 + 8, dst, 16);
	assert_memory_equal(f + 14 + 24, src, 16);
	assert_memory_equal(f + 54, "\2\0", 2);
	assert_int_equal(ib_get32(f + 58), c->mtu);
	assert_memory_equal(f + 62, p, 1232);
	for (unsigned int i = 14 + 8; i < 14 + 1280; i += 2)
		sum += ib_get16(f + i);
	for (sum += 1240 + 58; sum >> 16 != 0;)
		sum = (sum & 0xffff) + (sum >> 16);
	assert_int_equal(sum, 0xffff);
	rte_pktmbuf_free(m);
	assert_int_equal(c->stats.too_big_told, 1);
}

/* What is to be cut goes by what the datapath knows; here nobody cuts it, and it is not that it is too long. */
static void
large_sends_are_not_cut_here(void **state)
{
	struct ipoib_remote *r;

	(void)state;
	connect_all(2);
	r = remote(1);
	send_v4(&r->mac, LONG, 0, RTE_MBUF_F_TX_TCP_SEG);
	assert_int_equal(drops(IPOIB_DROP_TX_TSO), 1);
	assert_int_equal(rig.node[0].core->too_long, 0);
	send_v4(&r->mac, LONG, 0, RTE_MBUF_F_TX_UDP_SEG);
	send_v4(&r->mac, LONG, 0, RTE_MBUF_F_TX_IEEE1588_TMST);
	assert_int_equal(drops(IPOIB_DROP_TX_TSO), 1);
	assert_int_equal(drops(IPOIB_DROP_TX_LONG), 0);
}

/* There is an end to how many connections there are: who is left out is asked again in a while, and told what fits a datagram. */
static void
too_many_connections(void **state)
{
	struct ipoib_core *c = rig.node[0].core;
	unsigned int were = c->num_conns;
	struct ipoib_remote *r;

	(void)state;
	connect_all(2);
	r = remote(1);
	send_v4(&r->mac, 100, 0, 0);
	rig_run(&rig, 5);
	ipoib_conns_close(c);
	rig_conns_run(&rig);
	r->conn_hold_ms = 0;
	were = c->num_conns;
	c->num_conns = IPOIB_CONNS;
	send_v4(&r->mac, LONG, 0, 0);
	assert_null(r->conn);
	assert_true(r->conn_refused);
	assert_int_equal(r->conn_hold_ms, c->now_ms + IPOIB_CM_HOLD_MS);
	assert_int_equal(drops(IPOIB_DROP_TX_TOO_BIG), 1);
	assert_int_equal(drops(IPOIB_DROP_TX_NO_CONN), 0);
	c->num_conns = were;
	rig_run(&rig, IPOIB_CM_HOLD_MS);
	send_v4(&r->mac, LONG, 0, 0);
	assert_non_null(r->conn);
}

/* With a neighbour go its connections, and nobody else's. */
static void
connections_of_one(void **state)
{
	struct ipoib_core *c = rig.node[0].core;
	struct ipoib_remote *r[2];
	struct ipoib_conn *kept;

	(void)state;
	connect_all(3);
	for (unsigned int i = 0; i < 2; i++) {
		r[i] = remote(i + 1);
		send_v4(&r[i]->mac, 100, 0, 0);
	}
	rig_run(&rig, 20);
	kept = r[1]->conn;
	assert_non_null(r[0]->conn);
	assert_non_null(kept);
	assert_true(kept->up);
	ipoib_remote_free(c, r[0]);
	assert_ptr_equal(r[1]->conn, kept);
	assert_ptr_equal(kept->remote, r[1]);
	assert_false(kept->closing);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, packets_up, packets_down)
	const struct CMUnitTest tests[] = {
		T(queries_are_frames),
		T(leaving_is_asked_about_soon),
		T(checksums_of_the_card_are_not_looked_at),
		T(routers_say_so),
		T(no_buffers),
		T(copies),
		T(first_parts_are_answered),
		T(answers_of_ipv6),
		T(large_sends_are_not_cut_here),
		T(too_many_connections),
		T(connections_of_one),
	};

	return cmocka_run_group_tests_name("packets of IPoIB", tests, NULL, NULL);
}
