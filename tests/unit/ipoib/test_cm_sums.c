/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the driver does for connections that cards do for datagrams: checksums, and large sends in parts. */
#include <netinet/in.h>

#include <rte_ip.h>

#include "cm_rig.h"

#define TCP_AT 20u

/* A frame of IP whose checksums are wrong, and which asks for right ones. */
static struct rte_mbuf *
asking(uint32_t len, bool v6, uint8_t proto, uint64_t asks)
{
	struct rte_mbuf *m = frame(len);
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *), *l3 = p + 14;

	if (v6) {
		memcpy(p + 12, "\x86\xdd\x60", 3);
		ib_put16(l3 + 4, (uint16_t)(len - 54));
		l3[6] = proto;
	} else {
		ib_put16(l3 + 2, (uint16_t)(len - 14));
		ib_put16(l3 + 4, 0xffff);
		l3[9] = proto;
	}
	m->l2_len = 14;
	m->l3_len = v6 ? 40 : 20;
	m->l4_len = 20;
	m->tso_segsz = 1400;
	m->ol_flags |= asks;
	return m;
}

/* What was sent before the last n packets, from its header of IP on; all its sums are right. */
static uint8_t *
expect_sums(unsigned int before, uint32_t len)
{
	uint8_t *p = wire[(card.num_sent - 1 - before) % LAST] + IPOIB_ENCAP_LEN;
	bool v6 = p[0] >> 4 == 6, udp = p[v6 ? 6 : 9] == IPPROTO_UDP;
	uint8_t *l4 = p + (v6 ? 40 : 20);
	uint16_t have, want, zero = 0;

	assert_int_equal(card.wire_len[(card.num_sent - 1 - before) % LAST], IPOIB_ENCAP_LEN + len);
	if (!v6)
		assert_int_equal(rte_raw_cksum(p, 20), 0xffff);
	memcpy(&have, l4 + (udp ? 6 : 16), sizeof(have));
	memcpy(l4 + (udp ? 6 : 16), &zero, sizeof(zero));
	want = v6 ? rte_ipv6_udptcp_cksum((const void *)p, l4) : rte_ipv4_udptcp_cksum((const void *)p, l4);
	assert_int_equal(have, want);
	return p;
}

#define V4 (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM)
#define LARGE RTE_MBUF_F_TX_TCP_SEG

/* The card completes no sums on a connection. */
static void
sums_are_written(void **state)
{
	static const struct {
		uint32_t len;
		bool v6;
		uint8_t proto;
		uint64_t asks;
	} rows[] = {
		{100, false, IPPROTO_UDP, V4 | RTE_MBUF_F_TX_UDP_CKSUM},
		{9001, false, IPPROTO_TCP, V4 | RTE_MBUF_F_TX_TCP_CKSUM},
		{MTU + 14, true, IPPROTO_TCP, RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM},
		{5001, true, IPPROTO_UDP, RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM},
		{1454, false, IPPROTO_TCP, V4 | LARGE}, /* nothing to cut */
	};
	struct rte_mbuf *m;
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(rows); i++) {
		m = asking(rows[i].len, rows[i].v6, rows[i].proto, rows[i].asks);
		assert_int_equal(send_burst(&m, 1, 0), 1);
		assert_int_equal(card.num_sent, i + 1);
		expect_sums(0, rows[i].len - 14);
	}
	/* The header of IP alone. */
	m = asking(100, false, IPPROTO_TCP, V4);
	assert_int_equal(send_burst(&m, 1, 0), 1);
	assert_int_equal(rte_raw_cksum(wire[(card.num_sent - 1) % LAST] + IPOIB_ENCAP_LEN, 20), 0xffff);
	assert_int_equal(wire[(card.num_sent - 1) % LAST][IPOIB_ENCAP_LEN + 36], octet(14 + 36));
	/* One that says that it is longer than it is. */
	m = asking(100, false, IPPROTO_TCP, V4 | RTE_MBUF_F_TX_TCP_CKSUM);
	ib_put16(rte_pktmbuf_mtod(m, uint8_t *) + 16, 87);
	assert_int_equal(send_burst(&m, 1, 0), 1);
	assert_int_equal(txq.n.drop[IPOIB_DROP_TX_SHORT], 1);
	/* One that says that it is shorter than its header. */
	m = asking(100, false, IPPROTO_TCP, V4 | RTE_MBUF_F_TX_TCP_CKSUM);
	ib_put16(rte_pktmbuf_mtod(m, uint8_t *) + 16, 19);
	assert_int_equal(send_burst(&m, 1, 0), 1);
	assert_int_equal(txq.n.drop[IPOIB_DROP_TX_SHORT], 2);
}

/* Of the pseudo header of UDP over IPv4 and of what follows (RFC 768, 1071), 16 bits after 16. */
static uint64_t
sum_of_udp(const uint8_t *l3, uint32_t len)
{
	uint64_t sum = IPPROTO_UDP + len;
	uint32_t i;

	for (i = 12; i < 20 + len; i += 2)
		sum += ib_get16(l3 + i);
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Whatever a word is, its carries are all added: a right sum is 0xffff in ones' complement, and is never said as 0. */
static void
every_carry(void **state)
{
	struct rte_mbuf *m = asking(80, false, IPPROTO_UDP, V4 | RTE_MBUF_F_TX_UDP_CKSUM);
	uint8_t *l3 = rte_pktmbuf_mtod_offset(m, uint8_t *, 14);
	uint32_t word;

	(void)state;
	memset(l3 + 28, 0xff, 80 - 14 - 28);
	for (word = 0; word < 0x10000; word++) {
		ib_put16(l3 + 40, (uint16_t)word);
		assert_true(ipoib_cm_sums(m, 14));
		if (sum_of_udp(l3, 46) != 0xffff || ib_get16(l3 + 26) == 0)
			fail_msg("the sum of 0x%04x is 0x%04x", word, ib_get16(l3 + 26));
	}
	rte_pktmbuf_free(m);
}

static void
the_control_thread_writes_them_too(void **state)
{
	struct rte_mbuf *m = asking(5000, false, IPPROTO_TCP, V4 | RTE_MBUF_F_TX_TCP_CKSUM);
	struct ipoib_conn *conn = ipoib_remote_by_mac(rig.node[0].core, &peer)->conn;
	uint8_t *p = (uint8_t *)rte_pktmbuf_adj(m, 14 - IPOIB_ENCAP_LEN);

	(void)state;
	memcpy(p, "\x08\0\0", 4);
	published = 0;
	ipoib_cm_send(&port, conn, m);
	assert_int_equal(published, 1);
	assert_int_equal(port.n.slow_sent, 1);
	expect_sums(0, 5000 - 14);
}

static void
expect_part(unsigned int no, unsigned int of, uint32_t len, uint8_t flags)
{
	bool v6 = wire[(card.num_sent - of + no) % LAST][IPOIB_ENCAP_LEN] >> 4 == 6;
	uint32_t head = v6 ? 60 : 40, i;
	const uint8_t *p = expect_sums(of - 1 - no, head + len), *tcp = p + head - TCP_AT;

	if (v6)
		assert_int_equal(ib_get16(p + 4), TCP_AT + len);
	else
		assert_int_equal(ib_get16(p + 2), head + len);
	if (!v6)
		assert_int_equal(ib_get16(p + 4), (0xffff + no) & 0xffff);
	assert_int_equal(ib_get32(tcp + 4), 0xfffffff0u + no * 1400);
	assert_int_equal(tcp[13], flags);
	for (i = 0; i < len; i++) {
		if (tcp[TCP_AT + i] != octet(14 + head + no * 1400 + i))
			fail_msg("octet %u of part %u is wrong", i, no);
	}
}

static void
large_sends_go_in_parts(void **state)
{
	struct rte_mbuf *m;
	unsigned int v6;
	uint8_t *tcp;

	(void)state;
	for (v6 = 0; v6 < 2; v6++) {
		m = asking(54 + 20 * v6 + 5000, v6 != 0, IPPROTO_TCP, v6 ? RTE_MBUF_F_TX_IPV6 | LARGE : V4 | LARGE);
		tcp = rte_pktmbuf_mtod_offset(m, uint8_t *, 14 + m->l3_len);
		ib_put32(tcp + 4, 0xfffffff0u);
		tcp[12] = 0x50;
		tcp[13] = 0x99; /* CWR, ACK, PSH, FIN */
		card.num_sent = 0;
		assert_int_equal(send_burst(&m, 1, 0), 1);
		assert_int_equal(card.num_sent, 4);
		expect_part(0, 4, 1400, 0x90);
		expect_part(1, 4, 1400, 0x10);
		expect_part(2, 4, 1400, 0x10);
		expect_part(3, 4, 800, 0x19);
	}
	/* More than a connection takes at a time: the card cuts datagrams. */
	m = asking(54 + 64 * 90, false, IPPROTO_TCP, V4 | LARGE);
	m->tso_segsz = 90;
	assert_int_equal(send_burst(&m, 1, 0), 1);
	m = asking(54 + 64 * 90 + 1, false, IPPROTO_TCP, V4 | LARGE);
	m->tso_segsz = 90;
	assert_int_equal(send_burst(&m, 1, 1), 1);
}

static void
large_sends_that_cannot_be(void **state)
{
	struct rte_mbuf *m[IPOIB_RC_SENDS];
	unsigned int i;

	(void)state;
	m[0] = asking(5000, false, IPPROTO_TCP, V4 | LARGE);
	m[0]->l2_len = 18;
	m[1] = asking(5000, false, IPPROTO_TCP, V4 | LARGE);
	m[1]->l4_len = 255;
	assert_int_equal(send_burst(m, 2, 0), 2);
	assert_int_equal(txq.n.drop[IPOIB_DROP_TX_TSO], 2);
	/* Parts that are longer than the peer takes. */
	m[0] = asking(54 + 65535 + 1, false, IPPROTO_TCP, V4 | LARGE);
	m[0]->tso_segsz = 65535;
	assert_int_equal(send_burst(m, 1, 0), 1);
	assert_int_equal(txq.n.drop[IPOIB_DROP_TX_LONG], 1);
	/* Room for two, and it has three: it stays as it is. */
	card.hold = true;
	for (i = 0; i < IPOIB_RC_SENDS - 2; i++) {
		m[0] = frame(100);
		assert_int_equal(send_burst(m, 1, 0), 1);
	}
	m[0] = asking(54 + 2801, false, IPPROTO_TCP, V4 | LARGE);
	assert_int_equal(send_burst(m, 1, 0), 0);
	assert_memory_equal(rte_pktmbuf_mtod(m[0], uint8_t *) + 12, "\x08\x00\x45", 3);
	card.hold = false;
	assert_int_equal(send_burst(m, 1, 0), 1);
	assert_int_equal(rc.inflight, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_carry, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(sums_are_written, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(the_control_thread_writes_them_too, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(large_sends_go_in_parts, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(large_sends_that_cannot_be, cm_rig_open, cm_rig_close),
	};

	return cmocka_run_group_tests_name("checksums and large sends of connected IPoIB", tests, NULL, NULL);
}
