/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* IPoIB ports that are made, changed and taken away at run time, and what they count. */
#include <errno.h>

#include <ethdev_driver.h>

#include "lib/ipoib/port/port.h"
#include "port_rig.h"

#define IP_A PR_IP_A
#define IP_B PR_IP_B

static uint16_t a, b;

static int
setup(void **state)
{
	pr_open_two(&a, &b);
	return 0;
}

static int
teardown(void **state)
{
	pr_close_two();
	return 0;
}

/* --- changes --------------------------------------------------------------------------------------------------------- */

static void
test_change(void **state)
{
	static const char *const made_with[] = {"port", "mac", "pkey", "mtu", "cm-mtu", "guid-mask"};
	struct tp_ipoib_conf c;
	unsigned int i;

	pr_start_two(a, b);
	for (i = 0; i < RTE_DIM(made_with); i++)
		assert_int_equal(tp_ipoib_change(a, made_with[i], "1"), -EPERM);
	assert_int_equal(tp_ipoib_change(PR_NONE, "age", "3"), -ENODEV);
	assert_int_equal(tp_ipoib_change(a, "ages", "3"), -ENOENT);
	assert_int_equal(tp_ipoib_change(a, "age", "21"), -EINVAL);
	assert_int_equal(pr_info(a).conf.age, 5);
	assert_int_equal(tp_ipoib_change(a, "age", "3"), 0);
	assert_int_equal(tp_ipoib_change(a, "age-interval", "20000"), 0);
	assert_int_equal(tp_ipoib_change(a, "monitor", "2000"), 0);
	assert_int_equal(tp_ipoib_change(a, "query-runs", "7"), 0);
	assert_int_equal(tp_ipoib_change(a, "leave-runs", "8"), 0);
	assert_int_equal(tp_ipoib_change(a, "refuse-incoming", "1"), 0);
	assert_int_equal(tp_ipoib_change(a, "connected", "1"), 0);
	c = pr_info(a).conf;
	assert_int_equal(c.age, 3);
	assert_int_equal(c.age_interval_ms, 20000);
	assert_int_equal(c.monitor_ms, 2000);
	assert_int_equal(c.query_runs, 7);
	assert_int_equal(c.leave_runs, 8);
	assert_true(c.refuse_incoming);
	assert_true(c.connected);
	assert_int_equal(pr_info(a).hw[0], 0x80);
	assert_int_equal(tp_ipoib_change(a, "connected", "0"), 0);
	assert_false(pr_info(a).connected);
	assert_int_equal(pr_info(a).hw[0], 0);
	pr_exchange(a, b, 100);
}

/* The monitor of groups is that of now: with the shortest time, hosts are asked for reports within seconds. */
static void
test_monitor(void **state)
{
	const struct rte_ether_addr all_hosts = {{0x01, 0x00, 0x5e, 0, 0, 1}}, amac = rig_mac(a);
	const struct rte_ipv4_hdr *ip;
	struct rte_mbuf *m;

	pr_start_two(a, b);
	assert_int_equal(tp_ipoib_change(a, "monitor", "1000"), 0);
	assert_int_equal(tp_ipoib_change(a, "query-runs", "1"), 0);
	/* A report of a group [RFC 2236]: the host behind the port is in 239.1.2.3. */
	m = pr_udp(&amac, &(struct rte_ether_addr){{0x01, 0x00, 0x5e, 0x01, 0x02, 0x03}}, IP_A, 0xef010203u, 28);
	memcpy(rte_pktmbuf_mtod_offset(m, void *, 34), ((uint8_t[]){0x16, 0, 0xf8, 0xfa, 239, 1, 2, 3}), 8);
	rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14)->next_proto_id = 2;
	rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14)->hdr_checksum = 0;
	rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14)->hdr_checksum =
		rte_ipv4_cksum(rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14));
	pr_send(a, 0, m);
	pr_wait_xstat(a, "queries", 1);
	m = pr_take(a, RTE_ETHER_TYPE_IPV4, NULL);
	ip = rte_pktmbuf_mtod_offset(m, const struct rte_ipv4_hdr *, 14);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), &all_hosts, sizeof(all_hosts));
	assert_int_equal(ip->next_proto_id, 2);
	assert_int_equal(ip->dst_addr, rte_cpu_to_be_32(0xe0000001u));
	rte_pktmbuf_free(m);
}

/* Too long a packet: counted, and said with its length and the limit. */
static void
test_too_long(void **state)
{
	const struct rte_ether_addr amac = rig_mac(a);
	struct rte_ether_addr b_at_a, a_at_b;

	pr_start_two(a, b);
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	pr_log_begin();
	pr_send(a, 0, pr_udp(&amac, &b_at_a, IP_A, IP_B, 2045));
	pr_log_wait("port 0: packet len 2045 > 2044 too long to send, dropping");
	pr_log_end(NULL, NULL);
	pr_wait_xstat(a, "drop_tx_long", 1);
}

/* What neither IPv4, IPv6 nor ARP is: counted, and said with its sender and what it begins with. */
static void
test_other_protocol(void **state)
{
	static const uint8_t lldp[] = {0x88, 0xcc, 0, 0, 0x02, 0x07, 0x04, 0x00, 0x02, 0xc9, 0x03, 0x00, 0x01};
	struct rte_ether_addr b_at_a, a_at_b;
	struct ipoib_port *p;
	struct rte_mbuf *m;

	pr_start_two(a, b);
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	p = rte_eth_devices[a].data->dev_private;
	m = rte_pktmbuf_alloc(rig_pool());
	assert_non_null(m);
	memset(rte_pktmbuf_append(m, 100), 0, 100);
	memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, 40), lldp, sizeof(lldp));
	*ipoib_meta_of(m) = (struct ipoib_meta){.qpn = 0x4a, .slid = 2};
	pr_log_begin();
	assert_int_equal(rte_ring_sp_enqueue(p->rxq[0]->slow, m), 0);
	pr_log_wait(
		"port 0: packet of type 0x88cc, len 60, from QP 0x00004a of LID 2: not IPv4, IPv6 or ARP, dropping: "
		"0207040002c903000100000000000000");
	pr_log_end(NULL, NULL);
	pr_wait_xstat(a, "drop_rx_type", 1);
}

/* --- made and taken away at run time --------------------------------------------------------------------------------- */

static void
test_add(void **state)
{
	const struct rte_ether_addr mac = {{0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee}};
	struct tp_ipoib_conf conf = {.device = PR_PORT(1), .pkey = 0x8003}, got;
	struct tp_ipoib_info info;
	size_t heap = rig_heap();
	struct rte_eth_link link;
	uint16_t port, again;

	assert_int_equal(tp_ipoib_add(&conf, &port), 0);
	assert_string_equal(pr_info(port).name, "net_ipoib2");
	assert_int_equal(pr_info(port).conf.mtu, 0);
	assert_int_equal(rte_eth_link_get_nowait(port, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
	assert_int_equal(tp_ipoib_add(&conf, &again), -EEXIST);
	assert_int_equal(tp_ipoib_rem(port), 0);
	assert_int_equal(tp_ipoib_rem(port), -ENODEV);
	/* All that there is to say. */
	conf = (struct tp_ipoib_conf){.device = PR_PORT(2),
				      .pkey = 0x8005,
				      .mtu = 1600,
				      .connected = true,
				      .cm_mtu = 9000,
				      .refuse_incoming = true,
				      .guid_mask = 0x77,
				      .has_mac = true,
				      .mac = mac,
				      .age_interval_ms = 12000,
				      .age = 6,
				      .monitor_ms = 4000,
				      .query_runs = 4,
				      .leave_runs = 5};
	assert_int_equal(tp_ipoib_add(&conf, &port), 0);
	got = pr_info(port).conf;
	assert_memory_equal(&got.device, &conf.device, sizeof(got.device));
	assert_int_equal(got.pkey, 0x8005);
	assert_int_equal(got.mtu, 1600);
	assert_true(got.connected && got.refuse_incoming && got.has_mac);
	assert_int_equal(got.cm_mtu, 9000);
	assert_int_equal(got.guid_mask, 0x77);
	assert_int_equal(got.age_interval_ms, 12000);
	assert_int_equal(got.age, 6);
	assert_int_equal(got.monitor_ms, 4000);
	assert_int_equal(got.query_runs, 4);
	assert_int_equal(got.leave_runs, 5);
	info = pr_info(port);
	assert_memory_equal(&info.mac, &mac, sizeof(mac));
	assert_int_equal(info.mtu, 1600);
	pr_start(port, 1, 1, rig_pool());
	assert_int_equal(tp_ipoib_rem(port), -EBUSY);
	assert_int_equal(rte_eth_dev_stop(port), 0);
	/* A port that was closed left the bus its name, which the next one takes. */
	assert_int_equal(rte_eth_dev_close(port), 0);
	conf.has_mac = false;
	assert_int_equal(tp_ipoib_add(&conf, &port), 0);
	assert_string_equal(pr_info(port).name, "net_ipoib2");
	assert_int_equal(pr_info(port).mac.addr_bytes[0], 0x02); /* octets 1, 2, 3, 5, 6, 7 of the GUID */
	assert_int_equal(pr_info(port).mac.addr_bytes[1], 0xc9);
	assert_int_equal(tp_ipoib_rem(port), 0);
	assert_int_equal(rig_heap(), heap);
}

static void
test_not_added(void **state)
{
	struct tp_ipoib_conf conf = {.device = "net_mlx4_model7/1"};
	size_t heap;
	uint16_t port;

	heap = rig_heap();
	assert_int_equal(tp_ipoib_add(&conf, &port), -ENODEV);
	strcpy(conf.device, "net_mlx4_model0");
	assert_int_equal(tp_ipoib_add(&conf, &port), -EINVAL);
	strcpy(conf.device, PR_PORT(1));
	assert_int_equal(tp_ipoib_add(&conf, &port), -EEXIST);
	conf.pkey = 0x8000;
	assert_int_equal(tp_ipoib_add(&conf, &port), -EINVAL);
	assert_int_not_equal(rig_plug("net_ipoib40", "pkey=0x10000,port=" PR_PORT(1)), 0);
	assert_int_not_equal(rig_plug("net_ipoib41", ""), 0);
	assert_int_not_equal(rig_plug("net_ipoib42", "port=" PR_PORT(1)), 0);
	assert_int_equal(rte_eth_dev_count_avail(), 2);
	assert_int_equal(rig_heap(), heap);
}

/* As many ports as DPDK has places for. */
static void
test_all_places(void **state)
{
	struct tp_ipoib_conf conf = {.device = PR_PORT(1), .pkey = 0x8001};
	uint16_t port[RTE_MAX_ETHPORTS];
	unsigned int n;

	for (n = 2; n < RTE_MAX_ETHPORTS; n++, conf.pkey++) {
		if (n > 20)
			strcpy(conf.device, PR_PORT(2));
		assert_int_equal(tp_ipoib_add(&conf, &port[n]), 0);
	}
	pr_log_begin();
	assert_int_equal(tp_ipoib_add(&conf, &port[0]), -ENOSPC);
	pr_log_end("net_ipoib0..31 are taken", "32 ports in all");
	while (--n > 1)
		assert_int_equal(tp_ipoib_rem(port[n]), 0);
}

/* What could not be plugged in leaves its name to the bus; the next port has another one. The last test, since it stays so. */
static void
test_name_taken(void **state)
{
	struct tp_ipoib_conf conf = {.device = PR_PORT(1), .pkey = 0x8001};
	uint16_t port;

	assert_int_not_equal(rig_plug("net_ipoib2", "port=x"), 0);
	assert_int_equal(tp_ipoib_add(&conf, &port), 0);
	assert_string_equal(pr_info(port).name, "net_ipoib3");
	assert_int_equal(tp_ipoib_rem(port), 0);
}

/* A GUID that no rule knows: a MAC of the counter, by the port's number. */
static void
test_counter_mac(void **state)
{
	struct rte_ether_addr want = {{0x02, 0, 0, 0, 0, 0}};
	struct tp_ipoib_info info;
	uint16_t port;

	assert_int_equal(rig_plug("net_mlx4_model1", "run=step,port0=ib,port1=ib,guid=0x1022334455667700"), 0);
	port = pr_plug("net_ipoib2", "port=net_mlx4_model1/1");
	want.addr_bytes[5] = (uint8_t)(port + 1);
	info = pr_info(port);
	assert_memory_equal(&info.mac, &want, sizeof(want));
	rig_unplug("net_ipoib2");
	rig_unplug("net_mlx4_model1");
}

/* --- counters -------------------------------------------------------------------------------------------------------- */

struct counters {
	char name[128][64];
	uint64_t value[128];
	unsigned int n;
};

static void
count(void *arg, const char *name, const char *text, uint64_t value)
{
	struct counters *c = arg;

	assert_true(c->n < RTE_DIM(c->value) && text[0] != '\0');
	snprintf(c->name[c->n], sizeof(c->name[0]), "%s", name);
	c->value[c->n++] = value;
}

static uint64_t
counter(uint16_t port, const char *name)
{
	struct counters c = {.n = 0};
	unsigned int i, found = 0;
	uint64_t value = 0;

	assert_int_equal(tp_ipoib_counters(port, count, &c), 0);
	for (i = 0; i < c.n; i++)
		if (strcmp(c.name[i], name) == 0) {
			value = c.value[i];
			found++;
		}
	if (found != 1)
		fail_msg("%s: %u times", name, found);
	return value;
}

/* Three packets this way and four that; what a reset leaves, and what it does not touch. */
static void
test_counters(void **state)
{
	const struct rte_ether_addr amac = rig_mac(a), bmac = rig_mac(b);
	struct rte_ether_addr b_at_a, a_at_b;
	struct tp_ipoib_totals before, t;
	struct rte_eth_stats st;
	struct counters c = {.n = 0};
	unsigned int i, asked, sent;

	pr_start_two(a, b);
	asked = pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	pr_wait_xstat(a, "tx_arp", asked);
	assert_int_equal(counter(a, "tx_arp"), asked);
	assert_true(counter(a, "rx_arp") >= 1);
	assert_int_equal(counter(a, "rx_learned"), 1);
	assert_int_equal(rig_xstat(a, "rx_learned"), 1);
	/* The control thread asks for the paths and sends the first ones. */
	(void)pr_by_burst(b, a, &a_at_b, IP_B, IP_A);
	sent = pr_by_burst(a, b, &b_at_a, IP_A, IP_B);
	assert_true(sent > 1);
	assert_int_equal(counter(a, "tx_control_sent"), asked + sent - 1);
	assert_int_equal(rte_eth_stats_reset(a), 0);
	assert_int_equal(counter(a, "tx_control_sent"), 0);
	assert_int_equal(tp_ipoib_totals_get(a, &before), 0);
	assert_int_equal(before.tx_packets, asked + sent);
	for (i = 0; i < 3; i++) {
		pr_send(a, 0, pr_udp(&amac, &b_at_a, IP_A, IP_B, 100));
		pr_expect(b, &a_at_b, &bmac, IP_A, IP_B, 100);
	}
	for (i = 0; i < 4; i++) {
		pr_send(b, 0, pr_udp(&bmac, &a_at_b, IP_B, IP_A, 86));
		pr_expect(a, &b_at_a, &amac, IP_B, IP_A, 86);
	}
	pr_send(a, 0, pr_udp(&amac, &b_at_a, IP_A, IP_B, 2045));
	pr_wait_xstat(a, "drop_tx_long", 1);
	assert_int_equal(rte_eth_stats_get(a, &st), 0);
	assert_int_equal(st.opackets, 3);
	assert_int_equal(st.obytes, 3 * 114);
	assert_int_equal(st.oerrors, 1);
	assert_int_equal(st.ipackets, 4);
	assert_int_equal(st.ibytes, 4 * 100);
	assert_int_equal(st.ierrors, 0);
	assert_int_equal(st.q_opackets[0], 3);
	assert_int_equal(st.q_ipackets[0], 4);
	assert_int_equal(st.q_obytes[0], 3 * 114);
	assert_int_equal(st.q_ibytes[0], 4 * 100);
	assert_int_equal(counter(a, "tx_arp"), 0);
	assert_int_equal(tp_ipoib_totals_get(a, &t), 0);
	assert_int_equal(t.tx_packets, before.tx_packets + 3);
	assert_int_equal(t.rx_packets, before.rx_packets + 4);
	assert_int_equal(t.tx_errors, before.tx_errors + 1);
	assert_int_equal(tp_ipoib_totals_get(PR_NONE, &t), -ENODEV);
	/* The card's come last: nobody had to send a packet again. */
	assert_int_equal(tp_ipoib_counters(a, count, &c), 0);
	assert_string_equal(c.name[c.n - 9], "card_req_timeouts");
	assert_string_equal(c.name[c.n - 1], "card_resp_ud_dropped");
	assert_int_equal(counter(a, "card_resp_ud_dropped"), 0);
	assert_int_equal(tp_ipoib_counters(PR_NONE, count, &c), -ENODEV);
}

static bool
is_dropped(void *arg)
{
	return counter(b, "card_resp_ud_dropped") >= *(uint64_t *)arg;
}

/* Nobody takes what comes: the card counts what it has no buffer for. */
static void
test_card_counters(void **state)
{
	const struct rte_ether_addr amac = rig_mac(a);
	struct rte_ether_addr b_at_a, a_at_b;
	uint64_t want = 10;
	unsigned int i;

	pr_start_two(a, b);
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	(void)pr_by_burst(a, b, &b_at_a, IP_A, IP_B);
	for (i = 0; i < RIG_DESC + 10; i++)
		pr_send(a, 0, pr_udp(&amac, &b_at_a, IP_A, IP_B, 100));
	pr_until(is_dropped, &want, "card_resp_ud_dropped");
	/* A queue gets buffers when half a burst is missing. */
	assert_in_range(counter(b, "card_resp_ud_dropped"), 10, 10 + 16);
	assert_int_equal(counter(a, "card_resp_ud_dropped"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_monitor, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_long, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_protocol, setup, teardown),
		cmocka_unit_test_setup_teardown(test_add, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_added, setup, teardown),
		cmocka_unit_test_setup_teardown(test_all_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counter_mac, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_card_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_name_taken, setup, teardown),
	};

	if (pr_eal("ipoib_port_add") < 0)
		return 1;
	return cmocka_run_group_tests_name("ipoib-port_add", tests, NULL, NULL);
}
