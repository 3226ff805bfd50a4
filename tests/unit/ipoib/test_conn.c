/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connected mode of interfaces on a subnet in memory and in virtual time: when connections come and go, what goes by them. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include <rte_ip.h>

#include "link_rig.h"

#define IP_A 0x0a000001u
#define IP_B 0x0a000002u
#define LONG 3000u /* more than a datagram, less than a buffer of the rig */
#define CM_MTU 4000u

static struct rig rig;

static void
connected(unsigned int node, bool on)
{
	rig.node[node].core->conf.connected = on;
	rig.node[node].core->conf.cm_mtu = CM_MTU;
	rig.node[node].core->dirty = true;
}

static void
forget_frames(void)
{
	struct rte_mbuf *m;
	unsigned int i;

	for (i = 0; i < RIG_NODES; i++) {
		while ((m = rig_take(&rig, i)) != NULL)
			rte_pktmbuf_free(m);
	}
}

/* A and B know each other; the MAC under which A knows B. */
static struct rte_ether_addr
meet(void)
{
	struct rte_ether_addr a = rig.node[0].core->mac, b;

	rig_arp(&rig, 0, 1, IP_A, IP_B, NULL);
	rig_run(&rig, 5);
	rig_arp(&rig, 1, 2, IP_B, IP_A, &a);
	rig_run(&rig, 5);
	memcpy(&b, rte_pktmbuf_mtod_offset(rig.node[0].app[rig.node[0].napp - 1], uint8_t *, 22), 6);
	forget_frames();
	return b;
}

static int
open_rig(void **state)
{
	(void)state;
	rig_open(&rig);
	connected(0, true);
	connected(1, true);
	rig_all_up(&rig);
	return 0;
}

static int
close_rig(void **state)
{
	(void)state;
	forget_frames();
	rig_close(&rig);
	return 0;
}

static void
send_from(unsigned int node, const struct rte_ether_addr *dst, uint32_t len)
{
	static uint8_t p[CM_MTU + 100];

	memset(p, 0x5a, sizeof(p));
	memcpy(p, "\x45\0\0\0\0\0\x40\0\x40\x11\0\0", 12);
	ib_put16(p + 2, (uint16_t)len);
	ib_put32(p + 12, node == 0 ? IP_A : IP_B);
	ib_put32(p + 16, node == 0 ? IP_B : IP_A);
	ib_put32(p + 20, 0x00070009);
	rig_send(&rig, node, dst, 0x0800, p, len);
}

static void
send_len(const struct rte_ether_addr *dst, uint32_t len)
{
	send_from(0, dst, len);
}

static void
expect_frame(unsigned int node, uint32_t len)
{
	struct rte_mbuf *m = rig_take(&rig, node);

	assert_non_null(m);
	assert_int_equal(m->pkt_len, 14 + len);
	rte_pktmbuf_free(m);
}

static uint64_t
drops(unsigned int node, enum ipoib_drop why)
{
	return rig.node[node].core->stats.drop[why];
}

/* The number of octets that an answer to a packet that was too long names; IPv4. */
static void
expect_too_big(const struct rte_ether_addr *from, uint32_t mtu)
{
	struct rte_mbuf *m = rig_take(&rig, 0);
	const uint8_t *p;

	assert_non_null(m);
	p = rte_pktmbuf_mtod(m, const uint8_t *);
	assert_memory_equal(p, &rig.node[0].core->mac, 6);
	assert_memory_equal(p + 6, from, 6);
	assert_memory_equal(p + 12, "\x08\x00\x45", 3);
	assert_int_equal(p[23], IPPROTO_ICMP);
	assert_int_equal(ib_get32(p + 26), IP_B);
	assert_int_equal(ib_get32(p + 30), IP_A);
	assert_int_equal(rte_raw_cksum(p + 14, 20), 0xffff);
	assert_int_equal(rte_raw_cksum(p + 34, ib_get16(p + 16) - 20u), 0xffff);
	assert_memory_equal(p + 34, "\x03\x04", 2); /* RFC 1191: fragmentation needed, the next hop's MTU */
	assert_int_equal(ib_get16(p + 40), mtu);
	assert_int_equal(ib_get32(p + 42 + 16), IP_B); /* of the header that it quotes */
	rte_pktmbuf_free(m);
}

static void
long_packets_wait_for_the_connection(void **state)
{
	struct rte_ether_addr b = meet();

	(void)state;
	send_len(&b, LONG);
	send_len(&b, 100); /* needs none, only the path */
	rig_run(&rig, 5);
	expect_frame(1, 100);
	expect_frame(1, LONG);
	assert_int_equal(rig.node[0].conns_asked, 1);
	assert_int_equal(rig.node[0].conn_sent, 1);
	send_len(&b, CM_MTU);
	expect_frame(1, CM_MTU);
	assert_int_equal(rig.node[0].conns_asked, 1);
	assert_int_equal(rig.node[1].core->stats.conns_accepted, 1);
	assert_int_equal(rig.node[0].core->stats.conns_up, 1);
	/* B asked for one with its first packet: each direction has its own. */
	assert_int_equal(rig.node[1].conns_asked, 1);
	assert_int_equal(rig.node[0].core->num_conns, 2);
	/* More than the interface takes. */
	assert_int_equal(rig.node[0].core->too_long, 0);
	send_len(&b, CM_MTU + 1);
	assert_int_equal(drops(0, IPOIB_DROP_TX_LONG), 1);
	assert_int_equal(rig.node[0].core->too_long, (uint64_t)(CM_MTU + 1) << 32 | CM_MTU);
}

/* Flags of the hardware address say who takes connections (RFC 4755, 3.1). */
static void
who_offers_none_gets_datagrams(void **state)
{
	struct rte_ether_addr b;

	(void)state;
	connected(1, false);
	b = meet();
	send_len(&b, 1000);
	rig_run(&rig, 5);
	expect_frame(1, 1000);
	send_len(&b, LONG);
	assert_int_equal(rig.node[0].conns_asked, 0);
	expect_too_big(&b, 2044);
	assert_int_equal(drops(0, IPOIB_DROP_TX_TOO_BIG), 1);
	assert_int_equal(rig.node[0].core->stats.too_big_told, 1);
	assert_int_equal(rig.node[0].core->too_long, (uint64_t)LONG << 32 | 2044);
	/* A few answers are enough. */
	send_len(&b, LONG);
	assert_null(rig_take(&rig, 0));
	rig_run(&rig, 5);
	send_len(&b, LONG);
	expect_too_big(&b, 2044);
}

/* What the control thread sends as a datagram is in one buffer, however it came. */
static void
datagrams_of_several_buffers(void **state)
{
	struct rte_ether_addr b = meet();
	struct rte_mbuf *head = rte_pktmbuf_alloc(rig.pool), *tail = rte_pktmbuf_alloc(rig.pool), *got;
	uint8_t *p;

	(void)state;
	/* No room behind the first part. */
	head->data_off = (uint16_t)(head->buf_len - 114);
	p = rig_room(head, 114);
	memcpy(p, &b, 6);
	memcpy(p + 12, "\x08\0\x45", 3);
	memset(p + 15, 0x11, 99);
	ib_put16(p + 16, 2000);
	ib_put16(p + 20, 0);
	p[23] = IPPROTO_TCP;
	memset(rig_room(tail, 1900), 0x22, 1900);
	assert_int_equal(rte_pktmbuf_chain(head, tail), 0);
	ipoib_core_tx(rig.node[0].core, head);
	rig_run(&rig, 5);
	got = rig_take(&rig, 1);
	assert_non_null(got);
	assert_int_equal(got->pkt_len, 14 + 2000);
	p = rte_pktmbuf_mtod(got, uint8_t *);
	assert_int_equal(p[113], 0x11);
	assert_int_equal(p[114], 0x22);
	assert_int_equal(p[2013], 0x22);
	rte_pktmbuf_free(got);
	assert_int_equal(rig.node[0].conn_sent, 0);
}

/* Buffers of 2 KB hold a packet of the usual MTU only with their headroom. */
static void
two_buffers_of_2k(void **state)
{
	struct rte_mempool *small = rte_pktmbuf_pool_create("small", 3, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct rte_mbuf *m = rte_pktmbuf_alloc(small), *tail = rte_pktmbuf_alloc(small), *one;

	(void)state;
	memset(rig_room(m, 1058), 0x11, 1058);
	memset(rig_room(tail, 1000), 0x22, 1000);
	assert_int_equal(rte_pktmbuf_chain(m, tail), 0);
	/* What is wanted of the card goes along; where the buffer came from does not. */
	m->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	one = ipoib_copy(small, m);
	m->ol_flags = 0;
	assert_non_null(one);
	assert_int_equal(one->ol_flags, RTE_MBUF_F_TX_IP_CKSUM);
	assert_int_equal(one->nb_segs, 1);
	assert_int_equal(one->data_len, 2058);
	assert_int_equal(rte_pktmbuf_mtod(one, uint8_t *)[1057], 0x11);
	assert_int_equal(rte_pktmbuf_mtod(one, uint8_t *)[1058], 0x22);
	rte_pktmbuf_free(one);
	/* Longer than a buffer, and no buffer. */
	assert_non_null(rte_pktmbuf_append(m, 119));
	assert_null(ipoib_copy(small, m));
	one = rte_pktmbuf_alloc(small);
	assert_null(ipoib_copy(small, m));
	rte_pktmbuf_free(one);
	rte_pktmbuf_free(m);
	rte_mempool_free(small);
}

/* B makes connections and takes none: A hears so, and is heard by datagrams. */
static void
incoming_ones_may_be_refused(void **state)
{
	struct rte_ether_addr b = meet();
	struct ipoib_core *const a_core = rig.node[0].core, *const b_core = rig.node[1].core;

	(void)state;
	b_core->conf.refuse_incoming = true;
	send_len(&b, 1000);
	rig_run(&rig, 5);
	expect_frame(1, 1000);
	assert_int_equal(a_core->stats.conns_refused, 1);
	assert_int_equal(b_core->stats.conns_declined, 1);
	assert_int_equal(b_core->stats.conns_accepted, 0);
	/* The only neighbour that it has. */
	send_from(1, &b_core->remote[0]->mac, LONG);
	rig_run(&rig, 5);
	expect_frame(0, LONG);
	assert_int_equal(b_core->stats.conns_up, 1);
	assert_int_equal(a_core->stats.conns_accepted, 1);
	assert_int_equal(a_core->stats.conns_declined, 0);
}

static void
who_refuses_is_asked_again_later(void **state)
{
	struct rte_ether_addr b = meet();
	struct ipoib_remote *r;
	unsigned int asked;

	(void)state;
	connected(1, false);
	send_len(&b, LONG);
	rig_run(&rig, 5);
	expect_too_big(&b, 2044);
	assert_int_equal(rig.node[0].core->stats.conns_refused, 1);
	asked = rig.node[0].conns_asked;
	send_len(&b, 100);
	expect_frame(1, 100);
	rig_run(&rig, 500);
	send_len(&b, 100);
	assert_int_equal(rig.node[0].conns_asked, asked);
	/* Each time twice as long; then it has changed its mind. */
	rig_run(&rig, 600);
	send_len(&b, 100);
	rig_run(&rig, 1100);
	send_len(&b, 100);
	assert_int_equal(rig.node[0].conns_asked, asked + 1);
	connected(1, true);
	rig_run(&rig, 1000);
	send_len(&b, LONG);
	rig_run(&rig, 5);
	assert_int_equal(rig.node[0].conn_sent, 1);
	forget_frames();
	/* That is forgotten: the next refusal costs as little as the first one did. */
	r = ipoib_remote_by_mac(rig.node[0].core, &b);
	ipoib_conn_over(rig.node[0].core, r->conn, false);
	connected(1, false);
	rig_run(&rig, 5);
	send_len(&b, LONG);
	rig_run(&rig, 5);
	assert_int_equal(rig.node[0].core->stats.conns_refused, 3);
	assert_in_range(r->conn_hold_ms, rig.node[0].core->now_ms + 990, rig.node[0].core->now_ms + 1000);
	forget_frames();
}

static void
without_an_answer_only_long_packets_are_lost(void **state)
{
	struct rte_ether_addr b;

	(void)state;
	rig.cm_call = -ENOMEM;
	b = meet();
	send_len(&b, LONG);
	rig_run(&rig, 5);
	expect_too_big(&b, 2044);
	assert_int_equal(rig.node[0].core->stats.conns_failed, 1);
	rig.cm_call = 0;
	rig.cm_silent = true;
	rig_run(&rig, 1100);
	send_len(&b, LONG);
	rig_run(&rig, 5);
	assert_null(rig_take(&rig, 1));
	assert_non_null(ipoib_remote_by_mac(rig.node[0].core, &b)->conn);
	send_len(&b, 100);
	expect_frame(1, 100);
	/* The manager gives up. Nobody is told of a shorter path, which would be kept for minutes. */
	ipoib_conn_over(rig.node[0].core, ipoib_remote_by_mac(rig.node[0].core, &b)->conn, false);
	assert_null(rig_take(&rig, 0));
	assert_int_equal(drops(0, IPOIB_DROP_TX_NO_CONN), 1);
	send_len(&b, LONG);
	assert_null(rig_take(&rig, 0));
	assert_int_equal(drops(0, IPOIB_DROP_TX_NO_CONN), 2);
	rig_run(&rig, 5);
	assert_int_equal(rig.node[0].core->num_conns, 0);
	/* It is back. */
	rig.cm_silent = false;
	rig_run(&rig, 3000);
	send_len(&b, LONG);
	rig_run(&rig, 5);
	assert_int_equal(rig.node[0].conn_sent, 1);
	forget_frames();
	assert_int_equal(drops(0, IPOIB_DROP_TX_NO_CONN), 2);
	assert_int_equal(rig.node[0].core->stats.too_big_told, 1);
}

static void
groups_are_always_datagrams(void **state)
{
	static const struct rte_ether_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	struct rte_ether_addr b = meet();

	(void)state;
	send_len(&b, LONG);
	rig_run(&rig, 5);
	forget_frames();
	send_len(&all, 200);
	expect_frame(1, 200);
	assert_int_equal(rig.node[0].conn_sent, 1);
	send_len(&all, LONG);
	assert_int_equal(drops(0, IPOIB_DROP_TX_LONG), 1);
}

static void
idle_ones_are_ended_by_both(void **state)
{
	struct rte_ether_addr b = meet();

	(void)state;
	send_len(&b, LONG);
	rig_run(&rig, 5);
	forget_frames();
	assert_int_equal(rig.node[0].core->num_conns, 2);
	assert_int_equal(rig.node[1].core->num_conns, 2);
	/* They are used again, and are not idle since the beginning. */
	rig_run(&rig, 3 * 60000);
	assert_int_equal(rig.node[0].core->num_conns, 2);
	send_len(&b, LONG);
	rig_run(&rig, 3 * 60000);
	expect_frame(1, LONG);
	assert_int_equal(rig.node[0].conns_asked, 1);
	assert_non_null(ipoib_remote_by_mac(rig.node[0].core, &b)->conn);
	rig_run(&rig, 7 * 60000);
	assert_int_equal(rig.node[0].core->num_conns, 0);
	assert_int_equal(rig.node[1].core->num_conns, 0);
	assert_int_equal(rig.node[0].core->stats.conns_closed, 2);
}

/* Connections of a neighbour that is forgotten end with it, also the one that it asked for. */
static void
forgotten_ones_end(void **state)
{
	struct rte_ether_addr b = meet();
	struct ipoib_core *core = rig.node[0].core;
	struct ipoib_conn *conn;

	(void)state;
	send_len(&b, LONG);
	rig_run(&rig, 5);
	forget_frames();
	assert_int_equal(core->num_conns, 2);
	ipoib_remote_free(core, ipoib_remote_by_mac(core, &b));
	TAILQ_FOREACH(conn, &core->conns, next)
	{
		assert_true(conn->closing);
		assert_null(conn->remote);
	}
	rig_run(&rig, 5);
	assert_int_equal(core->num_conns, 0);
}

/* The port goes away and comes back: connections end, and are there again when they are needed. */
static void
the_link_goes(void **state)
{
	struct ipoib_place gone = {.active = false};
	struct rte_ether_addr b = meet();

	(void)state;
	send_len(&b, LONG);
	rig_run(&rig, 5);
	forget_frames();
	gone.qpn = rig_qpn(0);
	memcpy(gone.gid, rig.node[0].core->place.gid, 16);
	ipoib_core_place(rig.node[0].core, &gone);
	rig_run(&rig, 10);
	assert_int_equal(rig.node[0].core->num_conns, 0);
	assert_int_equal(rig.node[1].core->num_conns, 0);
	rig_up(&rig, 0, 9);
	rig_run(&rig, 20);
	send_len(&b, LONG);
	rig_run(&rig, 10);
	expect_frame(1, LONG);
	assert_int_equal(rig.node[0].conns_asked, 2);
}

/* B knows without asking that A offers connections, then that it offers none: what it sends does not wait for refusals. */
static void
neighbours_are_told_of_another_mode(void **state)
{
	struct rte_ether_addr b = meet(), a = rig.node[0].core->mac;
	const struct ipoib_remote *r = ipoib_remote_by_mac(rig.node[1].core, &a);
	struct rte_mbuf *m;
	unsigned int i;

	(void)state;
	send_len(&b, LONG);
	rig_run(&rig, 5);
	forget_frames();
	assert_int_equal(r->hw.b[0], IPOIB_HW_RC);
	ipoib_conns_close(rig.node[0].core);
	ipoib_core_mode(rig.node[0].core, false, true);
	for (i = 0; i < 3; i++) {
		rig_run(&rig, i == 0 ? 5 : 1000);
		assert_int_equal(r->hw.b[0], 0);
		/* A request of the owner of IP_A for its own address, to all (RFC 5227, 3). */
		m = rig_take(&rig, 1);
		assert_non_null(m);
		assert_int_equal(ib_get16(rte_pktmbuf_mtod_offset(m, uint8_t *, 12)), 0x0806);
		assert_int_equal(ib_get32(rte_pktmbuf_mtod_offset(m, uint8_t *, 28)), IP_A);
		assert_int_equal(ib_get32(rte_pktmbuf_mtod_offset(m, uint8_t *, 38)), IP_A);
		rte_pktmbuf_free(m);
		assert_null(rig_take(&rig, 1));
	}
	rig_run(&rig, 5000);
	assert_null(rig_take(&rig, 1));
	ipoib_core_mode(rig.node[0].core, true, true);
	rig_run(&rig, 5);
	assert_int_equal(r->hw.b[0], IPOIB_HW_RC);
	/* The same mode, or a port whose addresses another one may have: nobody is told. */
	rig_run(&rig, 5000);
	forget_frames();
	ipoib_core_mode(rig.node[0].core, true, true);
	ipoib_core_mode(rig.node[0].core, false, false);
	rig_run(&rig, 5000);
	assert_null(rig_take(&rig, 1));
	assert_int_equal(r->hw.b[0], IPOIB_HW_RC);
}

/* What the datapath sees: a connection with its length, or that somebody should ask. */
static void
snapshots(void **state)
{
	struct ipoib_core *c = rig.node[0].core;
	struct rte_ether_addr b = meet();
	struct ipoib_conn *conn, *in;
	struct ipoib_view *v;
	uint64_t mac = 0;
	unsigned int i;
	int home;

	(void)state;
	memcpy(&mac, &b, sizeof(b));
	send_len(&b, 100);
	rig_run(&rig, 5);
	conn = ipoib_remote_by_mac(c, &b)->conn;
	conn->home = &home;
	v = ipoib_view_make(c);
	assert_non_null(v);
	i = (unsigned int)(ipoib_view_tx(v, mac) - v->tx);
	assert_ptr_equal(v->cm[i].rc, &home);
	assert_int_equal(v->cm[i].mtu, CM_MTU);
	assert_false(v->cm[i].ask);
	free(v);
	/* B's end of it is found by its own queue pair. */
	v = ipoib_view_make(rig.node[1].core);
	TAILQ_FOREACH(in, &rig.node[1].core->conns, next)
	{
		assert_int_equal(ipoib_view_rx(v, ipoib_rx_conn_key(in->qpn)) != NULL, in->passive);
	}
	assert_null(ipoib_view_rx(v, ipoib_rx_conn_key(0x39)));
	free(v);
	ipoib_conn_over(c, conn, false);
	v = ipoib_view_make(c);
	i = (unsigned int)(ipoib_view_tx(v, mac) - v->tx);
	assert_null(v->cm[i].rc);
	assert_true(v->cm[i].ask);
	free(v);
	/* Datagram mode has no such table. */
	ipoib_conns_close(c);
	connected(0, false);
	v = ipoib_view_make(c);
	assert_null(v->cm);
	free(v);
	forget_frames();
}

/* RFC 4755, 6, in Linux's reading: the queue pair, and what a message may have with its encapsulation. */
static void
private_data(void **state)
{
	uint8_t data[IPOIB_CM_DATA];
	uint32_t qpn, mtu;

	(void)state;
	ipoib_cm_data_put(0x123456, 65520, data);
	assert_memory_equal(data, "\x00\x12\x34\x56\x00\x00\xff\xf4", 8);
	data[0] = 0xff;
	assert_true(ipoib_cm_data_get(data, &qpn, &mtu));
	assert_int_equal(qpn, 0x123456);
	assert_int_equal(mtu, 65520);
	ib_put32(data + 4, 4);
	assert_false(ipoib_cm_data_get(data, &qpn, &mtu));
	ib_put32(data + 4, 0);
	assert_false(ipoib_cm_data_get(data, &qpn, &mtu));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(long_packets_wait_for_the_connection, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(who_offers_none_gets_datagrams, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(datagrams_of_several_buffers, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(two_buffers_of_2k, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(incoming_ones_may_be_refused, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(who_refuses_is_asked_again_later, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(without_an_answer_only_long_packets_are_lost, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(groups_are_always_datagrams, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(idle_ones_are_ended_by_both, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(forgotten_ones_end, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(the_link_goes, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(neighbours_are_told_of_another_mode, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(snapshots, open_rig, close_rig),
		cmocka_unit_test(private_data),
	};

	return cmocka_run_group_tests_name("connections of IPoIB", tests, NULL, NULL);
}
