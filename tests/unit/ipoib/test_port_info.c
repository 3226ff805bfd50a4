/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is told of IPoIB ports while a subnet comes and goes. */
#include <errno.h>

#include <rte_arp.h>

#include "port_rig.h"
#include "tp_mad_port.h"

#define IP_A PR_IP_A
#define IP_B PR_IP_B
#define QKEY 0x0b1bu /* of IPoIB's groups, OpenSM's and this manager's */

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
	/* One that did not ask for it is told nothing. */
	pr_manage(0, 1, NULL, 0);
	pr_start(a, 1, 1, rig_pool());
	pr_wait_up(a);
	assert_int_equal(rte_eth_dev_stop(a), 0);
	assert_int_equal(told, 4);
	assert_int_equal(rte_eth_dev_callback_unregister(a, RTE_ETH_EVENT_INTR_LSC, on_link, NULL), 0);
}

/* It joined again, with the manager that is there now; it is up all the time. */
static bool
joined_again(void *arg)
{
	struct tp_sm_stats st;

	assert_true(pr_is_up(&a));
	tp_sm_stats_get(pr_sm(), &st);
	return rig_xstat(a, "joins") != *(uint64_t *)arg && st.groups != 0;
}

/* Another manager: what is known is asked for anew, and used until then. */
static void
test_renewal(void **state)
{
	uint64_t joins;

	pr_start_two(a, b);
	pr_exchange(a, b, 100);
	joins = rig_xstat(a, "joins");
	assert_true(joins >= 1);
	pr_unmanage();
	pr_exchange(a, b, 100);
	pr_manage(0, 2, NULL, 0);
	pr_until(joined_again, &joins, "the group is joined again");
	pr_exchange(a, b, 100);
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
	pr_start_two(a, b);
	pr_exchange(a, b, 100);
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

static bool
fourth_joined(void *arg)
{
	struct list *l = arg;

	*l = endpoints(a, TP_IPOIB_MULTICAST);
	return l->n >= 4 && strcmp(l->e[3].state, "joined") == 0;
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
	pr_start_two(a, b);
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
	pr_send(a, 0, pr_udp(&amac, &other, IP_A, 0xe0010203u, 100));
	pr_until(fourth_joined, &l, "the group that is sent to is joined");
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
	pr_exchange(a, b, 200);
	/* One place further up: the queue pairs start again there. */
	pr_log_begin();
	assert_int_equal(tp_sm_partitions(pr_sm(), one, 1), 0);
	pr_log_wait("port 0: queue pairs start again with P_Key index 1");
	pr_log_wait("port 1: queue pairs start again with P_Key index 1");
	pr_log_end(NULL, NULL);
	pr_wait_up(a);
	pr_wait_up(b);
	pr_exchange(a, b, 200);
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

static bool
is_full(void *arg)
{
	return pr_info(a).pkey_used == 0x8002;
}

/* A table that has the partition twice: the full member's place counts, wherever it is. */
static void
test_full_member(void **state)
{
	const uint16_t partial[] = {0x0002}, table[] = {0xffff, 0x0002, 0x8002, 0x0002};
	struct tp_mad_packet set = {.data = {1, 1, 1, 2, [17] = 0x16}}, out; /* SubnSet(P_KeyTable) [IBA 14.2.5.7] */
	unsigned int i;

	rig_unplug("net_ipoib0");
	a = pr_plug("net_ipoib0", "pkey=2,port=" PR_PORT(1));
	pr_manage(0, 1, partial, 1);
	pr_start(a, 1, 1, rig_pool());
	pr_wait_up(a);
	assert_int_equal(pr_info(a).pkey_used, 0x0002);
	pr_unmanage();
	for (i = 0; i < RTE_DIM(table); i++) {
		set.data[64 + 2 * i] = (uint8_t)(table[i] >> 8);
		set.data[65 + 2 * i] = (uint8_t)table[i];
	}
	assert_int_equal(tp_mad_port_process(tp_mad_service_ctx(pr_service(0)), &set, &out), 0);
	pr_until(is_full, NULL, "the port is a full member");
	assert_true(pr_info(a).pkey_full);
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
		cmocka_unit_test_setup_teardown(test_full_member, setup, teardown),
	};

	if (pr_eal("ipoib_port_info") < 0)
		return 1;
	return cmocka_run_group_tests_name("ipoib-port_info", tests, NULL, NULL);
}
