/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the control thread makes of packets that the datapath does not send itself: large sends, and headers in pieces. */
#include <stdlib.h>

#include "link_rig.h"

#define IP_A 0x0a000001u
#define IP_B 0x0a000002u
#define HEADERS 54u /* Ethernet, IPv4, TCP */
#define CM_MTU 9000u

static struct rig rig;
static struct rte_ether_addr peer; /* under which A knows B */

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

/* A and B know each other, and would have connections. */
static int
open_rig(void **state)
{
	(void)state;
	rig_open(&rig);
	for (unsigned int i = 0; i < 2; i++) {
		rig.node[i].core->conf.connected = true;
		rig.node[i].core->conf.cm_mtu = CM_MTU;
	}
	rig_all_up(&rig);
	rig_arp(&rig, 0, 1, IP_A, IP_B, NULL);
	rig_run(&rig, 5);
	rig_arp(&rig, 1, 2, IP_B, IP_A, &rig.node[0].core->mac);
	rig_run(&rig, 5);
	memcpy(&peer, rte_pktmbuf_mtod_offset(rig.node[0].app[rig.node[0].napp - 1], uint8_t *, 22), 6);
	forget_frames();
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

static uint8_t
octet(uint32_t at)
{
	return (uint8_t)(at * 5 + (at >> 8));
}

/* A frame of IPv4 with TCP from A: first octets in the first buffer, the rest in others of up to 1500. */
static struct rte_mbuf *
tcp(const struct rte_ether_addr *dst, uint32_t payload, uint32_t first)
{
	static uint8_t f[HEADERS + CM_MTU];
	uint32_t len = HEADERS + payload, at, n;
	struct rte_mbuf *head = NULL;

	for (at = 0; at < len; at++)
		f[at] = octet(at);
	memcpy(f, dst, 6);
	memcpy(f + 6, &rig.node[0].core->mac, 6);
	memcpy(f + 12, "\x08\x00\x45\x00\x00\x00\x00\x00\x40\x00\x40\x06\x00\x00", 14);
	ib_put16(f + 16, (uint16_t)(len - 14));
	ib_put32(f + 26, IP_A);
	ib_put32(f + 30, IP_B);
	for (at = 0; at < len; at += n) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);

		assert_non_null(m);
		n = RTE_MIN(len - at, at == 0 ? first : 1500u);
		memcpy(rig_room(m, n), f + at, n);
		if (head == NULL)
			head = m;
		else
			assert_int_equal(rte_pktmbuf_chain(head, m), 0);
	}
	head->l2_len = 14;
	head->l3_len = 20;
	head->l4_len = 20;
	return head;
}

static uint64_t
drops(enum ipoib_drop why)
{
	return rig.node[0].core->stats.drop[why];
}

/* A large send that nobody has cut is dropped by its name; one that is a single segment goes, with its checksum. */
static void
large_sends(void **state)
{
	static const struct rte_ether_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	static const struct {
		bool group;
		uint32_t payload, segment;
		bool goes;
	} t[] = {
		{false, 500, 500, true}, {false, 501, 500, false}, {false, 1, 1400, true}, {false, 0, 1400, true},
		{false, 100, 0, false},  {true, 501, 500, false},  {true, 500, 500, true}, {false, 8000, 1400, false},
	};
	uint64_t lost = 0;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		uint64_t sent = rig.node[0].sent;
		struct rte_mbuf *m = tcp(t[i].group ? &all : &peer, t[i].payload, 2000);

		m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
		m->tso_segsz = (uint16_t)t[i].segment;
		ipoib_core_tx(rig.node[0].core, m);
		rig_run(&rig, 5); /* the first one asks for the path */
		lost += !t[i].goes;
		assert_int_equal(drops(IPOIB_DROP_TX_TSO), lost);
		assert_int_equal(rig.node[0].sent, sent + t[i].goes);
		if (!t[i].goes)
			continue;
		assert_int_equal(rig.node[0].sent_flags & RTE_MBUF_F_TX_TCP_SEG, 0);
		assert_int_equal(rig.node[0].sent_flags & RTE_MBUF_F_TX_L4_MASK, RTE_MBUF_F_TX_TCP_CKSUM);
		assert_int_equal(rig.node[0].sent_flags & RTE_MBUF_F_TX_IP_CKSUM, RTE_MBUF_F_TX_IP_CKSUM);
		m = rig_take(&rig, 1);
		assert_non_null(m);
		assert_int_equal(m->pkt_len, HEADERS + t[i].payload);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(drops(IPOIB_DROP_TX_LONG), 0);
}

/* However short the first buffer of a packet is, it is its headers that count. */
static void
headers_in_pieces(void **state)
{
	static const uint32_t payloads[] = {100, 8000}, firsts[] = {1, 13, 14, 33, 34, 53, 54, 55, 700};

	(void)state;
	for (unsigned int k = 0; k < RTE_DIM(payloads); k++) {
		for (unsigned int i = 0; i < RTE_DIM(firsts); i++) {
			uint32_t len = HEADERS + payloads[k];
			uint8_t flat[HEADERS + CM_MTU];
			const uint8_t *p;
			struct rte_mbuf *m;

			ipoib_core_tx(rig.node[0].core, tcp(&peer, payloads[k], RTE_MIN(firsts[i], len)));
			rig_run(&rig, 20); /* the first long one asks for the connection */
			m = rig_take(&rig, 1);
			assert_non_null(m);
			assert_int_equal(m->pkt_len, len);
			p = rte_pktmbuf_read(m, 0, len, flat);
			for (uint32_t at = 34; at < len; at++)
				if (p[at] != octet(at))
					fail_msg("octet %u of %u", at, len);
			rte_pktmbuf_free(m);
		}
	}
	assert_int_equal(drops(IPOIB_DROP_TX_SHORT), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(large_sends, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(headers_in_pieces, open_rig, close_rig),
	};

	return cmocka_run_group_tests_name("large sends of IPoIB, and headers in pieces", tests, NULL, NULL);
}
