/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is told of IPoIB ports while a subnet comes and goes, and what changes while they are at work. */
#include <errno.h>

#include <rte_arp.h>

#include "port_rig.h"

#define IP_A RTE_IPV4(10, 0, 0, 1)
#define IP_B RTE_IPV4(10, 0, 0, 2)
#define QKEY 0x0b1bu /* of IPoIB's groups, OpenSM's and this manager's */

static uint16_t a, b;

static int
setup(void **state)
{
	pr_card(0, "");
	a = pr_plug("net_ipoib0", "port=" PR_PORT(1));
	b = pr_plug("net_ipoib1", "port=" PR_PORT(2));
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
	return 0;
}

static void
both_up(void)
{
	if (pr_sm() == NULL)
		pr_manage(0, 1, NULL, 0);
	pr_start(a, 1, 1, rig_pool());
	pr_start(b, 1, 1, rig_pool());
	pr_wait_up(a);
	pr_wait_up(b);
}

/* Unicast goes both ways. */
static void
exchange(uint16_t octets)
{
	const struct rte_ether_addr amac = rig_mac(a), bmac = rig_mac(b);
	struct rte_ether_addr b_at_a, a_at_b;

	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	pr_send(a, 0, pr_udp(&amac, &b_at_a, IP_A, IP_B, octets));
	pr_expect(b, &a_at_b, &bmac, IP_A, IP_B, octets);
	pr_send(b, 0, pr_udp(&bmac, &a_at_b, IP_B, IP_A, octets));
	pr_expect(a, &b_at_a, &amac, IP_B, IP_A, octets);
}

/* --- states ---------------------------------------------------------------------------------------------------------- */

static unsigned int told;

static int
on_link(uint16_t port, enum rte_eth_event_type event, void *arg, void *ret)
{
	assert_int_equal(port, a);
	__atomic_fetch_add(&told, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static bool
told_so_often(void *arg)
{
	return __atomic_load_n(&told, __ATOMIC_SEQ_CST) == *(unsigned int *)arg;
}

static void
wait_told(unsigned int times)
{
	pr_until(told_so_often, &times, "the application is told of the link");
}

/* From stopped to up, the cable out and in again; an application that asks for it is told of each change of the link. */
static void
test_states(void **state)
{
	const struct rte_eth_conf conf = {.intr_conf.lsc = 1};
	struct tp_ipoib_info info;
	struct rte_eth_link link;

	told = 0;
	assert_string_equal(tp_ipoib_state_name(TP_IPOIB_STOPPED), "stopped");
	assert_string_equal(tp_ipoib_state_name(TP_IPOIB_UP), "up");
	assert_int_equal(pr_info(a).state, TP_IPOIB_STOPPED);
	assert_int_equal(rig_configure(a, 1, 1, &conf, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_callback_register(a, RTE_ETH_EVENT_INTR_LSC, on_link, NULL), 0);
	assert_int_equal(rte_eth_dev_start(a), 0);
	assert_int_equal(pr_info(a).state, TP_IPOIB_LINK_DOWN);
	assert_int_equal(told, 0);
	pr_manage(0, 1, NULL, 0);
	pr_wait_state(a, TP_IPOIB_UP);
	wait_told(1);
	assert_int_equal(tp_model_cable(pr_model(0), 1, false), 0);
	pr_wait_state(a, TP_IPOIB_LINK_DOWN);
	wait_told(2);
	assert_int_equal(rte_eth_link_get_nowait(a, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
	/* Its name on the fabric stays. */
	info = pr_info(a);
	assert_int_not_equal(info.lid, 0);
	assert_int_equal(info.pkey_used, 0xffff);
	assert_int_equal(tp_model_cable(pr_model(0), 1, true), 0);
	pr_wait_state(a, TP_IPOIB_UP);
	wait_told(3);
	/* A manager that is gone takes no link down; a port that starts then finds none to ask. */
	pr_unmanage();
	pr_start(b, 1, 1, rig_pool());
	pr_wait_state(b, TP_IPOIB_JOINING);
	assert_int_equal(pr_info(a).state, TP_IPOIB_UP);
	assert_int_equal(rte_eth_dev_stop(b), 0);
	assert_int_equal(pr_info(b).state, TP_IPOIB_STOPPED);
	assert_int_equal(rte_eth_dev_stop(a), 0);
	wait_told(4);
	assert_int_equal(rte_eth_dev_callback_unregister(a, RTE_ETH_EVENT_INTR_LSC, on_link, NULL), 0);
}

/* Another manager: what is known is asked for anew, and used until then. */
static void
test_renewal(void **state)
{
	uint64_t joins;
	struct tp_sm_stats st;

	both_up();
	exchange(100);
	joins = rig_xstat(a, "joins");
	assert_true(joins >= 1);
	pr_unmanage();
	exchange(100);
	pr_manage(0, 2, NULL, 0);
	do {
		assert_true(pr_is_up(&a));
		pr_step();
		tp_sm_stats_get(pr_sm(), &st);
	} while (rig_xstat(a, "joins") == joins || st.groups == 0);
	exchange(100);
}

/* --- what is told ---------------------------------------------------------------------------------------------------- */

static void
test_info(void **state)
{
	const struct rte_ether_addr mac = {{0x00, 0x02, 0xca, 0xa1, 0xd2, 0x01}}; /* of a GUID 0002c90300a1d201 */
	uint8_t gid[16] = {0xfe, 0x80, [8] = 0x00, 0x02, 0xc9, 0x03, 0x00, 0xa1, 0xd2, 0x01};
	struct tp_ipoib_info i;

	i = pr_info(a);
	assert_int_equal(i.lid, 0);
	assert_int_equal(i.remotes + i.groups + i.locals, 0);
	assert_int_equal(i.mtu, 2044);
	both_up();
	exchange(100);
	i = pr_info(a);
	assert_string_equal(i.name, "net_ipoib0");
	assert_string_equal(i.device, PR_PORT(1));
	assert_int_equal(i.state, TP_IPOIB_UP);
	assert_int_equal(i.pkey, 0xffff);
	assert_int_equal(i.pkey_used, 0xffff);
	assert_true(i.pkey_full);
	assert_int_equal(i.mtu, 2044);
	assert_true(i.guid == PR_GUID(0) + 1);
	assert_memory_equal(&i.mac, &mac, sizeof(mac));
	assert_int_equal(i.qkey, QKEY);
	assert_false(i.connected);
	assert_int_equal(i.cm_mtu, 65520);
	assert_int_equal(i.conf.age, 5);
	assert_int_equal(i.conf.age_interval_ms, 60000);
	assert_int_equal(i.hw[0], 0);
	assert_int_equal(i.hw[1] << 16 | i.hw[2] << 8 | i.hw[3], i.qpn);
	assert_memory_equal(i.hw + 4, gid, sizeof(gid));
	assert_int_equal(i.remotes, 1);
	assert_int_equal(i.locals, 1);
	assert_int_equal(i.groups, 3); /* broadcast, 224.0.0.1, ff02::1 */
	assert_int_equal(i.conns_in + i.conns_out, 0);
	assert_int_equal(tp_ipoib_info(PR_NONE, &i), -ENODEV);
}

struct list {
	struct tp_ipoib_endpoint e[8];
	unsigned int n;
};

static void
note(void *arg, const struct tp_ipoib_endpoint *e)
{
	struct list *l = arg;

	assert_true(l->n < RTE_DIM(l->e));
	l->e[l->n++] = *e;
}

static struct list
endpoints(uint16_t port, enum tp_ipoib_table table)
{
	struct list l = {.n = 0};

	assert_int_equal(tp_ipoib_endpoints(port, table, note, &l), 0);
	return l;
}

static void
test_endpoints(void **state)
{
	static const uint8_t ip[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
	const struct rte_ether_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}, amac = rig_mac(a), bmac = rig_mac(b);
	const struct rte_ether_addr other = {{0x01, 0x00, 0x5e, 0x01, 0x02, 0x03}};
	struct rte_ether_addr b_at_a, a_at_b;
	struct ibv_port_attr attr;
	struct list l;
	unsigned int i;

	assert_int_equal(endpoints(a, TP_IPOIB_REMOTE).n, 0);
	both_up();
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	pr_send(a, 0, pr_udp(&amac, &b_at_a, IP_A, IP_B, 100));
	pr_expect(b, &a_at_b, &bmac, IP_A, IP_B, 100);
	l = endpoints(a, TP_IPOIB_REMOTE);
	assert_int_equal(l.n, 1);
	assert_memory_equal(&l.e[0].mac, &b_at_a, sizeof(b_at_a));
	assert_memory_equal(l.e[0].hw, pr_info(b).hw, 20);
	assert_int_equal(l.e[0].lid, pr_info(b).lid);
	assert_int_equal(tp_roce_query_port(tp_mad_service_ctx(pr_service(0)), 1, &attr), 0);
	assert_int_equal(pr_info(a).lid, attr.lid);
	assert_int_equal(l.e[0].mtu, 128 << attr.active_mtu);
	assert_int_equal(l.e[0].rate, IBV_RATE_40_GBPS);
	assert_string_equal(l.e[0].state, "known");
	assert_false(l.e[0].offers);
	assert_int_equal(l.e[0].cm_mtu, 0);

	/* A group that is only sent to, beside those that are heard. */
	pr_send(a, 0, pr_udp(&amac, &other, IP_A, RTE_IPV4(224, 1, 2, 3), 100));
	do
		l = endpoints(a, TP_IPOIB_MULTICAST);
	while (l.n < 4 || strcmp(l.e[3].state, "joined") != 0 ? (pr_step(), true) : false);
	assert_int_equal(l.n, 4);
	for (i = 0; i < l.n; i++) {
		const bool broadcast = rte_is_same_ether_addr(&l.e[i].mac, &all),
			   sent = rte_is_same_ether_addr(&l.e[i].mac, &other);

		assert_int_equal(l.e[i].receives, !sent);
		assert_int_equal(l.e[i].sends, sent || broadcast);
		assert_true(l.e[i].lid >= 0xc000);
		assert_string_equal(l.e[i].state, "joined");
		assert_memory_equal(l.e[i].hw, ((uint8_t[]){0, 0xff, 0xff, 0xff, 0xff, 0x12}), 6);
		if (broadcast) {
			assert_int_equal(l.e[i].mtu, 2048);
			assert_int_equal(l.e[i].rate, IBV_RATE_10_GBPS);
		}
	}

	l = endpoints(a, TP_IPOIB_LOCAL);
	assert_int_equal(l.n, 1);
	assert_memory_equal(&l.e[0].mac, &amac, sizeof(amac));
	assert_memory_equal(l.e[0].ip, ip, sizeof(ip));
	assert_string_equal(l.e[0].state, "known");
	assert_int_equal(rte_eth_dev_stop(a), 0);
	assert_int_equal(endpoints(a, TP_IPOIB_REMOTE).n, 0);
	assert_int_equal(endpoints(a, TP_IPOIB_MULTICAST).n, 0);
	assert_int_equal(endpoints(a, TP_IPOIB_LOCAL).n, 0);
	assert_int_equal(tp_ipoib_endpoints(PR_NONE, TP_IPOIB_LOCAL, note, &l), -ENODEV);
}

/* MACs of GUIDs by the rules of docs/ipoib.md. */
static void
test_guid2mac(void **state)
{
	const struct rte_ether_addr vendor = {{0x00, 0x02, 0xc9, 0x12, 0x34, 0x56}},
				    masked = {{0x22, 0x33, 0x44, 0x66, 0x77, 0x88}};
	const struct rte_ether_addr suggested = {{0x10, 0x22, 0x33, 0x66, 0x77, 0x88}};
	struct tp_ipoib_guid g;

	assert_int_equal(tp_ipoib_guid2mac(UINT64_C(0x0002c90200123456), 0, &g), 0);
	assert_true(g.recognised);
	assert_int_equal(g.mask, 0);
	assert_memory_equal(&g.mac, &vendor, sizeof(vendor));
	assert_int_equal(tp_ipoib_guid2mac(UINT64_C(0x1122334455667788), 0x77, &g), 0);
	assert_true(g.recognised);
	assert_memory_equal(&g.mac, &masked, sizeof(masked));
	/* No rule: a mask is suggested that makes a unicast address, with the last three octets. */
	assert_int_equal(tp_ipoib_guid2mac(UINT64_C(0x1022334455667788), 0, &g), 0);
	assert_false(g.recognised);
	assert_int_equal(g.mask, 0xe7);
	assert_memory_equal(&g.mac, &suggested, sizeof(suggested));
	assert_int_equal(tp_ipoib_guid2mac(UINT64_C(0x1122334455667788), 0x7f, &g), -EINVAL);
	assert_false(g.recognised);
}

/* --- speeds ---------------------------------------------------------------------------------------------------------- */

/* What a link carries: four lanes of the trained speed, without their coding. */
static void
test_speeds(void **state)
{
	static const struct {
		const char *word;
		uint32_t mbps;
	} speeds[] = {{"sdr", 8000}, {"ddr", 16000}, {"qdr", 32000}, {"fdr10", 40000}, {"fdr", 54544}};
	struct rte_eth_link link;
	char args[64];
	unsigned int i;

	for (i = 0; i < RTE_DIM(speeds); i++) {
		snprintf(args, sizeof(args), "ib-speed0=%s,ib-speed1=%s", speeds[i].word, speeds[i].word);
		pr_card(0, args);
		a = pr_plug("net_ipoib0", "port=" PR_PORT(1));
		pr_manage(0, 1, NULL, 0);
		pr_start(a, 1, 1, rig_pool());
		pr_wait_up(a);
		assert_int_equal(rte_eth_link_get_nowait(a, &link), 0);
		assert_int_equal(link.link_speed, speeds[i].mbps);
		rig_unplug("net_ipoib0");
		pr_unplug();
	}
}

/* --- partitions ------------------------------------------------------------------------------------------------------ */

static struct tp_ipoib_info
partition_info(uint16_t port, enum tp_ipoib_state state)
{
	pr_wait_state(port, state);
	return pr_info(port);
}

/* A port follows its partition: not there, there, elsewhere in the table, gone, back. */
static void
test_partitions(void **state)
{
	const uint16_t one[] = {0x8002}, two[] = {0x8001, 0x8002}, partial[] = {0x0002};
	struct tp_ipoib_info i;

	rig_unplug("net_ipoib0");
	rig_unplug("net_ipoib1");
	a = pr_plug("net_ipoib0", "pkey=0x8002,port=" PR_PORT(1));
	b = pr_plug("net_ipoib1", "pkey=2,port=" PR_PORT(2));
	pr_manage(0, 1, NULL, 0);
	pr_start(a, 1, 1, rig_pool());
	pr_start(b, 1, 1, rig_pool());
	i = partition_info(a, TP_IPOIB_NO_PKEY);
	assert_int_equal(i.pkey, 0x8002);
	assert_int_equal(i.pkey_used, 0);
	assert_false(i.pkey_full);
	assert_int_equal(tp_sm_partitions(pr_sm(), two, 2), 0);
	pr_wait_up(a);
	pr_wait_up(b);
	i = pr_info(b);
	assert_int_equal(i.pkey, 2);
	assert_int_equal(i.pkey_used, 0x8002);
	assert_true(i.pkey_full);
	exchange(200);
	/* One place further up: the queue pairs start again there. */
	pr_log_begin();
	assert_int_equal(tp_sm_partitions(pr_sm(), one, 1), 0);
	pr_log_wait("port 0: queue pairs start again with P_Key index 1");
	pr_log_wait("port 1: queue pairs start again with P_Key index 1");
	pr_log_end(NULL, NULL);
	pr_wait_up(a);
	pr_wait_up(b);
	exchange(200);
	assert_int_equal(tp_sm_partitions(pr_sm(), NULL, 0), 0);
	pr_wait_state(a, TP_IPOIB_NO_PKEY);
	pr_wait_state(b, TP_IPOIB_NO_PKEY);
	assert_int_equal(tp_sm_partitions(pr_sm(), partial, 1), 0);
	i = partition_info(a, TP_IPOIB_UP);
	assert_int_equal(i.pkey_used, 0x0002);
	assert_false(i.pkey_full);
	assert_int_equal(tp_sm_partitions(pr_sm(), one, 1), 0);
	pr_wait_up(a);
	pr_wait_up(b);
}

/* --- changes --------------------------------------------------------------------------------------------------------- */

static void
test_change(void **state)
{
	static const char *const made_with[] = {"port", "mac", "pkey", "mtu", "cm-mtu", "guid-mask"};
	struct tp_ipoib_conf c;
	unsigned int i;

	both_up();
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
	exchange(100);
}

/* The monitor of groups is that of now: with the shortest time, hosts are asked for reports within seconds. */
static void
test_monitor(void **state)
{
	const struct rte_ether_addr all_hosts = {{0x01, 0x00, 0x5e, 0, 0, 1}}, amac = rig_mac(a);
	const struct rte_ipv4_hdr *ip;
	struct rte_mbuf *m;

	both_up();
	assert_int_equal(tp_ipoib_change(a, "monitor", "1000"), 0);
	assert_int_equal(tp_ipoib_change(a, "query-runs", "1"), 0);
	/* A report of a group [RFC 2236]: the host behind the port is in 239.1.2.3. */
	m = pr_udp(&amac, &(struct rte_ether_addr){{0x01, 0x00, 0x5e, 0x01, 0x02, 0x03}}, IP_A, RTE_IPV4(239, 1, 2, 3),
		   28);
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
	assert_int_equal(ip->dst_addr, rte_cpu_to_be_32(RTE_IPV4(224, 0, 0, 1)));
	rte_pktmbuf_free(m);
}

/* Too long a packet: counted, and said with its length and the limit. */
static void
test_too_long(void **state)
{
	const struct rte_ether_addr amac = rig_mac(a);
	struct rte_ether_addr b_at_a, a_at_b;

	both_up();
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	pr_log_begin();
	pr_send(a, 0, pr_udp(&amac, &b_at_a, IP_A, IP_B, 2045));
	pr_log_wait("port 0: packet len 2045 > 2044 too long to send, dropping");
	pr_log_end(NULL, NULL);
	pr_wait_xstat(a, "drop_tx_long", 1);
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
	unsigned int i, asked;

	both_up();
	asked = pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	assert_int_equal(counter(a, "tx_arp"), asked);
	assert_true(counter(a, "rx_arp") >= 1);
	assert_int_equal(counter(a, "rx_learned"), 1);
	assert_int_equal(rig_xstat(a, "rx_learned"), 1);
	/* The control thread asks for the path and sends the first one. */
	pr_send(a, 0, pr_udp(&amac, &b_at_a, IP_A, IP_B, 100));
	pr_expect(b, &a_at_b, &bmac, IP_A, IP_B, 100);
	assert_int_equal(counter(a, "tx_control_sent"), asked + 1);
	assert_int_equal(rte_eth_stats_reset(a), 0);
	assert_int_equal(counter(a, "tx_control_sent"), 0);
	assert_int_equal(tp_ipoib_totals_get(a, &before), 0);
	assert_int_equal(before.tx_packets, asked + 1);
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
	const struct rte_ether_addr amac = rig_mac(a), bmac = rig_mac(b);
	struct rte_ether_addr b_at_a, a_at_b;
	uint64_t want = 10;
	unsigned int i;

	both_up();
	pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	pr_send(a, 0, pr_udp(&amac, &b_at_a, IP_A, IP_B, 100));
	pr_expect(b, &a_at_b, &bmac, IP_A, IP_B, 100);
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
		cmocka_unit_test_setup_teardown(test_states, setup, teardown),
		cmocka_unit_test_setup_teardown(test_renewal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_info, setup, teardown),
		cmocka_unit_test_setup_teardown(test_endpoints, setup, teardown),
		cmocka_unit_test(test_guid2mac),
		cmocka_unit_test(test_speeds),
		cmocka_unit_test_setup_teardown(test_partitions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_monitor, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_long, setup, teardown),
		cmocka_unit_test_setup_teardown(test_add, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_added, setup, teardown),
		cmocka_unit_test_setup_teardown(test_all_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counter_mac, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_card_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_name_taken, setup, teardown),
	};

	if (pr_eal("ipoib_port_info") < 0)
		return 1;
	return cmocka_run_group_tests_name("ipoib-port_info", tests, NULL, NULL);
}
