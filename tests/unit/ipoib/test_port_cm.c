/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ports in connected mode: connections come with long packets, and end with the mode, the link and the peer. */
#include <errno.h>

#include "port_rig.h"

#define IP_A PR_IP_A
#define IP_B PR_IP_B
#define LONG 9000u
#define HEAD 64u /* octets of IP in the first mbuf of a chain */

static uint16_t a, b;
static struct rte_ether_addr b_at_a, a_at_b;

static void
plug(const char *of_a, const char *of_b)
{
	char text[128];

	snprintf(text, sizeof(text), "port=" PR_PORT(1) ",connected=1%s", of_a);
	a = pr_plug("net_ipoib0", text);
	snprintf(text, sizeof(text), "port=" PR_PORT(2) ",connected=1%s", of_b);
	b = pr_plug("net_ipoib1", text);
}

static int
setup(void **state)
{
	pr_card(0, "");
	pr_manage(0, 1, NULL, 0);
	return 0;
}

static int
teardown(void **state)
{
	rig_unplug("net_ipoib0");
	rig_unplug("net_ipoib1");
	assert_int_equal(rte_eth_dev_count_avail(), 0);
	pr_unplug();
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
	assert_int_equal(rte_mempool_in_use_count(rig_large_pool()), 0);
	return 0;
}

static void
both_up(struct rte_mempool *pool)
{
	pr_both_up(a, b, 1, pool);
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
}

/* A packet of so many octets in mbufs of the usual size. */
static struct rte_mbuf *
chain(const struct rte_ether_addr *src, const struct rte_ether_addr *dst, uint16_t octets)
{
	const uint32_t room = 2048;
	struct rte_mbuf *whole = pr_udp(src, dst, IP_A, IP_B, HEAD), *m = whole, *next;
	uint32_t left = octets - HEAD;

	while (left != 0) {
		uint32_t n = RTE_MIN(left, room);

		next = rte_pktmbuf_alloc(rig_pool());
		assert_non_null(next);
		memset(rte_pktmbuf_append(next, (uint16_t)n), 0x5a, n);
		m->next = next;
		m = next;
		whole->nb_segs++;
		whole->pkt_len += n;
		left -= n;
	}
	rte_pktmbuf_mtod_offset(whole, struct rte_ipv4_hdr *, 14)->total_length = rte_cpu_to_be_16(octets);
	rte_pktmbuf_mtod_offset(whole, struct rte_ipv4_hdr *, 14)->hdr_checksum = 0;
	rte_pktmbuf_mtod_offset(whole, struct rte_ipv4_hdr *, 14)->hdr_checksum =
		rte_ipv4_cksum(rte_pktmbuf_mtod_offset(whole, struct rte_ipv4_hdr *, 14));
	return whole;
}

static void
a_to_b(uint16_t octets)
{
	const struct rte_ether_addr amac = rig_mac(a), bmac = rig_mac(b);

	pr_send(a, 0, pr_udp(&amac, &b_at_a, IP_A, IP_B, octets));
	pr_expect(b, &a_at_b, &bmac, IP_A, IP_B, octets);
}

static void
b_to_a(uint16_t octets)
{
	const struct rte_ether_addr amac = rig_mac(a), bmac = rig_mac(b);

	pr_send(b, 0, pr_udp(&bmac, &a_at_b, IP_B, IP_A, octets));
	pr_expect(a, &b_at_a, &amac, IP_B, IP_A, octets);
}

/* A host that says something until it is heard: what is too long for datagrams is lost while a peer is left in peace. */
struct sender {
	uint16_t from, to, octets;
	uint64_t again;
};

static bool
gets_through(void *arg)
{
	struct sender *y = arg;
	const struct rte_ether_addr src = rig_mac(y->from), dst = y->from == a ? b_at_a : a_at_b, mac = rig_mac(y->to);
	struct rte_mbuf *m;
	bool found = false;

	if (rte_get_timer_cycles() > y->again) {
		y->again = rte_get_timer_cycles() + rte_get_timer_hz() / 5;
		m = pr_udp(&src, &dst, y->from == a ? IP_A : IP_B, y->from == a ? IP_B : IP_A, y->octets);
		if (rte_eth_tx_burst(y->from, 0, &m, 1) != 1)
			rte_pktmbuf_free(m);
	}
	while (rte_eth_rx_burst(y->to, 0, &m, 1) == 1) {
		found |= m->pkt_len == y->octets + 14u && memcmp(rte_pktmbuf_mtod(m, void *), &mac, sizeof(mac)) == 0;
		rte_pktmbuf_free(m);
	}
	return found;
}

static void
until_heard(uint16_t from, uint16_t to, uint16_t octets)
{
	struct sender y = {.from = from, .to = to, .octets = octets};

	pr_until(gets_through, &y, "a packet gets through");
}

struct conns {
	uint16_t port;
	unsigned int out, in;
};

static bool
so_many(void *arg)
{
	const struct conns *c = arg;
	struct tp_ipoib_info i = pr_info(c->port);

	return i.conns_out == c->out && i.conns_in == c->in;
}

static void
wait_conns(uint16_t port, unsigned int out, unsigned int in)
{
	struct conns c = {port, out, in};

	pr_until(so_many, &c, "connections come or end");
}

static void
look_at(void *arg, const struct tp_ipoib_endpoint *e)
{
	*(struct tp_ipoib_endpoint *)arg = *e;
}

/* One burst has what goes by the connection and what is a datagram. */
static void
one_burst(void)
{
	const struct rte_ether_addr amac = rig_mac(a), bmac = rig_mac(b), hosts = {{1, 0, 0x5e, 0, 0, 1}};
	struct rte_mbuf *m[3];

	m[0] = pr_udp(&amac, &b_at_a, IP_A, IP_B, 3000);
	m[1] = pr_udp(&amac, &hosts, IP_A, 0xe0000001u, 100);
	m[2] = pr_udp(&amac, &b_at_a, IP_A, IP_B, 4000);
	assert_int_equal(rte_eth_tx_burst(a, 0, m, 3), 3);
	pr_step();
	m[0] = pr_take(b, RTE_ETHER_TYPE_IPV4, NULL);
	m[1] = pr_take(b, RTE_ETHER_TYPE_IPV4, NULL);
	m[2] = pr_take(b, RTE_ETHER_TYPE_IPV4, NULL);
	/* Each way keeps its order. */
	assert_int_equal(m[0]->pkt_len + m[1]->pkt_len + m[2]->pkt_len, 3014 + 114 + 4014);
	for (unsigned int i = 0; i < 3; i++) {
		assert_memory_equal(rte_pktmbuf_mtod(m[i], void *), m[i]->pkt_len == 114 ? &hosts : &bmac, 6);
		rte_pktmbuf_free(m[i]);
	}
}

/* Each direction has a connection of its own, which the first long packet brings. */
static void
test_connections(void **state)
{
	struct tp_ipoib_endpoint e = {.state = NULL};
	struct rte_eth_dev_info info;
	struct rte_eth_stats st;
	uint16_t mtu;

	plug(",cm-mtu=9000", ",cm-mtu=8999");
	assert_int_equal(rte_eth_dev_info_get(a, &info), 0);
	assert_int_equal(info.max_tx_queues, 1);
	both_up(rig_pool());
	assert_int_equal(pr_info(a).hw[0], 0x80);
	assert_true(pr_info(a).connected);
	assert_int_equal(pr_info(a).cm_mtu, LONG);
	/* That of ethdev is what configuring made of it: the broadcast group, with 2044, is the MTU of datagrams alone. */
	assert_int_equal(rte_eth_dev_get_mtu(a, &mtu), 0);
	assert_int_equal(mtu, RTE_ETHER_MTU);
	/* The answer to ARP was the first packet to a. */
	wait_conns(b, 1, 0);
	wait_conns(a, 0, 1);
	assert_int_equal(tp_ipoib_endpoints(a, TP_IPOIB_REMOTE, look_at, &e), 0);
	assert_int_equal(e.cm_mtu, 0);
	until_heard(a, b, LONG - 1);
	wait_conns(a, 1, 1);
	wait_conns(b, 1, 1);
	assert_int_equal(tp_ipoib_endpoints(a, TP_IPOIB_REMOTE, look_at, &e), 0);
	assert_true(e.offers);
	assert_int_equal(e.cm_mtu, LONG - 1);
	until_heard(b, a, LONG - 1);
	assert_int_equal(tp_ipoib_endpoints(b, TP_IPOIB_REMOTE, look_at, &e), 0);
	assert_int_equal(e.cm_mtu, LONG - 1);
	assert_int_equal(rig_xstat(a, "conns_asked"), 1);
	assert_int_equal(rig_xstat(a, "conns_up"), 1);
	assert_int_equal(rig_xstat(a, "conns_accepted"), 1);
	/* Short ones go by it, too. */
	assert_int_equal(rte_eth_stats_reset(a), 0);
	a_to_b(100);
	a_to_b(2044);
	b_to_a(3000);
	assert_int_equal(rig_xstat(a, "tx_conn_packets"), 2);
	assert_int_equal(rig_xstat(a, "rx_conn_packets"), 1);
	assert_int_equal(rte_eth_stats_get(a, &st), 0);
	assert_int_equal(st.opackets, 2);
	assert_int_equal(st.ipackets, 1);
	assert_int_equal(st.ibytes, 3014);
	/* Queue 0 receives by connections, and stays. */
	assert_int_equal(rte_eth_dev_rx_queue_stop(a, 0), -ENOTSUP);
	assert_int_equal(rte_eth_dev_tx_queue_stop(a, 0), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(a, 0), 0);
	a_to_b(5000);
	one_burst();
}

static bool
icmp_came(void *arg)
{
	struct rte_mbuf *m;
	const uint8_t *p;

	while (rte_eth_rx_burst(a, 0, &m, 1) == 1) {
		p = rte_pktmbuf_mtod(m, const uint8_t *);
		/* Destination unreachable, fragmentation needed [RFC 792, 1191], of an IPv4 header of 20 octets. */
		if (p[12] == 8 && p[13] == 0 && p[23] == 1 && p[34] == 3 && p[35] == 4)
			*(unsigned int *)arg = (unsigned int)p[40] << 8 | p[41];
		rte_pktmbuf_free(m);
	}
	return *(unsigned int *)arg != 0;
}

/* The sender is told what its destination takes. */
static unsigned int
told_limit(uint16_t octets)
{
	const struct rte_ether_addr amac = rig_mac(a);
	unsigned int limit = 0;

	pr_send(a, 0, pr_udp(&amac, &b_at_a, IP_A, IP_B, octets));
	pr_until(icmp_came, &limit, "the sender is told what passes");
	return limit;
}

static void
test_limits(void **state)
{
	plug(",cm-mtu=9000", ",cm-mtu=4000");
	both_up(rig_pool());
	until_heard(a, b, 4000);
	assert_int_equal(told_limit(4001), 4000);
	assert_int_equal(rig_xstat(a, "drop_tx_too_big"), 1);
	assert_int_equal(rig_xstat(a, "too_big_told"), 1);
	pr_nothing(b, RTE_ETHER_TYPE_IPV4);
}

/* A peer that refuses connections gets datagrams, and makes connections itself. */
static void
test_refused(void **state)
{
	plug(",cm-mtu=9000", ",cm-mtu=9000,refuse-incoming=1");
	both_up(rig_pool());
	until_heard(a, b, 100);
	pr_wait_xstat(a, "conns_refused", 1);
	assert_int_equal(rig_xstat(b, "conns_declined"), 1);
	wait_conns(a, 0, 1);
	assert_int_equal(told_limit(LONG), 2044);
	until_heard(b, a, LONG);
	wait_conns(a, 0, 1);
	/* Those that are asked for once it takes them. */
	assert_int_equal(tp_ipoib_change(b, "refuse-incoming", "0"), 0);
	assert_int_equal(tp_ipoib_mode_set(b, false), 0);
	assert_int_equal(tp_ipoib_mode_set(b, true), 0);
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	until_heard(b, a, LONG);
}

/* Modes change while the ports are at work. */
static void
test_modes(void **state)
{
	struct rte_ether_addr amac;

	plug(",cm-mtu=9000", ",cm-mtu=9000");
	both_up(rig_pool());
	amac = rig_mac(a);
	until_heard(a, b, LONG);
	until_heard(b, a, LONG);
	assert_int_equal(tp_ipoib_mode_set(a, false), 0);
	wait_conns(a, 0, 0);
	wait_conns(b, 0, 0);
	assert_true(rig_xstat(a, "conns_closed") >= 2);
	assert_int_equal(pr_info(a).hw[0], 0);
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	until_heard(a, b, 2044);
	until_heard(b, a, 2044);
	pr_send(a, 0, pr_udp(&amac, &b_at_a, IP_A, IP_B, 2045));
	pr_wait_xstat(a, "drop_tx_long", 1);
	/* One that is there already. */
	assert_int_equal(tp_ipoib_mode_set(a, false), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(a, 0), 0);
	assert_int_equal(tp_ipoib_mode_set(a, true), -EBUSY);
	assert_int_equal(rte_eth_dev_rx_queue_start(a, 0), 0);
	assert_int_equal(tp_ipoib_mode_set(a, true), 0);
	assert_int_equal(tp_ipoib_mode_set(a, true), 0);
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	until_heard(b, a, LONG);
	assert_int_equal(tp_ipoib_mode_set(PR_NONE, true), -ENODEV);
	/* A stopped port begins with what it was told. */
	assert_int_equal(rte_eth_dev_stop(a), 0);
	wait_conns(b, 0, 0);
	assert_int_equal(tp_ipoib_mode_set(a, false), 0);
	assert_int_equal(rte_eth_dev_start(a), 0);
	assert_int_equal(pr_info(a).hw[0], 0);
	assert_int_equal(rte_eth_dev_stop(a), 0);
	assert_int_equal(tp_ipoib_mode_set(a, true), 0);
	assert_int_equal(rte_eth_dev_start(a), 0);
	pr_wait_up(a);
	assert_int_equal(pr_info(a).hw[0], 0x80);
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	until_heard(a, b, LONG);
}

/* The link and the peer go and come back. */
static void
test_ends(void **state)
{
	plug(",cm-mtu=9000", ",cm-mtu=9000");
	both_up(rig_pool());
	until_heard(a, b, LONG);
	until_heard(b, a, LONG);
	assert_int_equal(tp_model_cable(pr_model(0), 1, false), 0);
	wait_conns(a, 0, 0);
	wait_conns(b, 0, 0);
	assert_int_equal(tp_model_cable(pr_model(0), 1, true), 0);
	pr_wait_up(a);
	pr_wait_up(b);
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	until_heard(a, b, LONG);
	until_heard(b, a, LONG);
	assert_int_equal(rte_eth_dev_stop(b), 0);
	wait_conns(a, 0, 0);
	assert_int_equal(rte_eth_dev_start(b), 0);
	pr_wait_up(b);
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	until_heard(b, a, LONG);
	until_heard(a, b, LONG);
}

static void
start_refused(const char *args, int error, const char *word1, const char *word2, struct rte_mempool *pool)
{
	a = pr_plug("net_ipoib0", args);
	assert_int_equal(rig_configure(a, 1, 1, NULL, pool), 0);
	pr_log_begin();
	assert_int_equal(rte_eth_dev_start(a), error);
	pr_log_end(word1, word2);
	assert_int_equal(pr_info(a).state, TP_IPOIB_STOPPED);
	rig_unplug("net_ipoib0");
}

/* The longest packet takes as many mbufs as the card has room for in a request, and no more. */
static void
test_layout(void **state)
{
	const struct rte_eth_rxconf rx = {.rx_deferred_start = 1};
	struct rte_mempool *pool = pr_pool(1700);
	struct rte_ether_addr amac;
	struct rte_mbuf *m, *s;
	uint32_t len = 0;

	/* 31 of 1700 octets, less the headroom, the longer header of Ethernet and the encapsulation. */
	start_refused("connected=1,mtu=1500,cm-mtu=52559,port=" PR_PORT(1), -EINVAL,
		      "cm-mtu 52559 takes 32 mbufs of 1700 octets, the card takes 31", "at most 52558", pool);
	start_refused("connected=1,mtu=1500,port=" PR_PORT(1), -EINVAL, "cm-mtu 65520 takes", "at most 52558", pool);
	plug(",mtu=1500,cm-mtu=52558", ",mtu=1500,cm-mtu=52558");
	both_up(pool);
	amac = rig_mac(a);
	pr_send(a, 0, chain(&amac, &b_at_a, 52558));
	m = pr_take(b, RTE_ETHER_TYPE_IPV4, NULL);
	assert_int_equal(m->pkt_len, 52558 + 14);
	assert_int_equal(m->nb_segs, 31);
	for (s = m; s != NULL; s = s->next) {
		assert_true(s == m || (*rte_pktmbuf_mtod(s, uint8_t *) == 0x5a &&
				       *rte_pktmbuf_mtod_offset(s, uint8_t *, s->data_len - 1) == 0x5a));
		len += s->data_len;
	}
	assert_int_equal(len, m->pkt_len);
	rte_pktmbuf_free(m);
	assert_int_equal(rte_eth_dev_stop(a), 0);
	/* The first receive queue starts with the port. */
	assert_int_equal(rte_eth_rx_queue_setup(a, 0, RIG_DESC, SOCKET_ID_ANY, &rx, pool), 0);
	assert_int_equal(rte_eth_dev_start(a), -ENOTSUP);
	/* Of a stopped port, the MTU is what it says and takes. */
	assert_int_equal(rte_eth_dev_set_mtu(a, 30000), 0);
	assert_int_equal(pr_info(a).cm_mtu, 30000);
	assert_int_equal(pr_info(a).conf.cm_mtu, 30000);
	assert_int_equal(pr_info(a).mtu, 1500);
}

/* Several transmit queues are of datagram mode alone. */
static void
test_one_tx_queue(void **state)
{
	a = pr_plug("net_ipoib0", "port=" PR_PORT(1));
	b = pr_plug("net_ipoib1", "port=" PR_PORT(2));
	pr_start(a, 2, 2, rig_pool());
	pr_log_begin();
	assert_int_equal(tp_ipoib_mode_set(a, true), -ENOTSUP);
	pr_log_end("2 transmit queues, connected mode has 1", NULL);
	assert_false(pr_info(a).connected);
	assert_int_equal(rte_eth_dev_stop(a), 0);
	assert_int_equal(rig_configure(a, 2, 1, NULL, rig_pool()), 0);
	assert_int_equal(tp_ipoib_mode_set(a, true), 0);
	assert_int_equal(tp_ipoib_mode_set(a, true), 0);
	assert_int_equal(rte_eth_dev_configure(a, 2, 2, &(struct rte_eth_conf){0}), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_connections, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_layout, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_tx_queue, setup, teardown),
	};

	if (pr_eal("ipoib_port_cm") < 0)
		return 1;
	return cmocka_run_group_tests_name("ipoib-port_cm", tests, NULL, NULL);
}
