/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Addresses and the GID table that comes of them. */
#include <stdio.h>

#include "net_port.h"

#define MAC "34:56:78:9a:bc:de" /* the example of RFC 2464, 4 */
#define MAC_LL "fe80::3656:78ff:fe9a:bcde"
#define V1 IBV_GID_TYPE_ROCE_V1
#define V2 IBV_GID_TYPE_ROCE_V2
#define NONE TP_ROCE_NO_VLAN

static int
close_port(void **state)
{
	np_close();
	return 0;
}

/* The entry is this one for whoever asks, and in the provider's table. */
static void
assert_entry(int index, const char *addr, enum ibv_gid_type type, uint16_t vlan)
{
	union ibv_gid want = np_gid(addr), gid;
	struct ibv_gid_entry e;

	assert_int_equal(tp_roce_query_gid(np_ctx(), 1, index, &gid), 0);
	assert_memory_equal(&gid, &want, sizeof(gid));
	assert_int_equal(tp_roce_query_gid_ex(np_ctx(), 1, (uint32_t)index, &e), 0);
	assert_memory_equal(&e.gid, &want, sizeof(gid));
	assert_int_equal(e.gid_type, type);
	assert_int_equal(e.gid_index, index);
	assert_int_equal(e.port_num, 1);
	assert_int_equal(troce_gid_find(&np.dev, &want, type, vlan), index);
	assert_true(np.table[index].valid);
	assert_int_equal(np.table[index].vlan, vlan);
	assert_memory_equal(&np.table[index].gid, &want, sizeof(gid));
	assert_int_equal(np.table[index].type, type);
}

static void
assert_empty(int index)
{
	static const union ibv_gid zero;
	struct ibv_gid_entry e;
	union ibv_gid gid;

	assert_int_equal(tp_roce_query_gid_ex(np_ctx(), 1, (uint32_t)index, &e), ENODATA);
	assert_int_equal(tp_roce_query_gid(np_ctx(), 1, index, &gid), 0);
	assert_memory_equal(&gid, &zero, sizeof(gid));
	assert_false(np.table[index].valid);
}

/* Appendix A of RFC 4291: the bit is inverted, which makes a 0 of the 1 of a local MAC. */
static void
mac_bit(void **state)
{
	static const struct {
		const char *mac, *gid;
	} v[] = {
		{MAC, MAC_LL},
		{"02:00:00:00:00:01", "fe80::ff:fe00:1"},
		{"00:02:c9:11:22:33", "fe80::202:c9ff:fe11:2233"},
		{"fe:54:00:aa:bb:cc", "fe80::fc54:ff:feaa:bbcc"},
	};
	struct rte_ether_addr mac, back;
	union ibv_gid gid, want;
	unsigned int i;

	for (i = 0; i < RTE_DIM(v); i++) {
		mac = np_mac(v[i].mac);
		want = np_gid(v[i].gid);
		gid = trn_mac_gid(&mac);
		assert_memory_equal(&gid, &want, sizeof(gid));
		assert_true(trn_gid_mac(&gid, &back));
		assert_true(rte_is_same_ether_addr(&mac, &back));
	}
	gid = np_gid("fe80::1");
	assert_false(trn_gid_mac(&gid, &back));
	gid = np_gid("2001:db8::3656:78ff:fe9a:bcde");
	assert_false(trn_gid_mac(&gid, &back));
	gid = np_gid("fe80::3156:78ff:fe9a:bcde"); /* of a group's MAC */
	assert_false(trn_gid_mac(&gid, &back));
}

static void
mode_v2(void **state)
{
	assert_int_equal(np_open(TP_ROCE_V2, MAC), 0);
	assert_entry(0, MAC_LL, V1, NONE);
	assert_entry(1, MAC_LL, V2, NONE);
	assert_empty(2);
	assert_int_equal(np_add("192.0.2.1/24", NONE), 0);
	assert_int_equal(np_add("2001:db8::1/64", 7), 0);
	assert_entry(2, "192.0.2.1", V1, NONE);
	assert_entry(3, "192.0.2.1", V2, NONE);
	assert_entry(4, "2001:db8::1", V1, 7);
	assert_entry(5, "2001:db8::1", V2, 7);
	assert_int_equal(np.events, 2);
	assert_int_equal(np.tables, 3);
	assert_string_equal(np_log(), "");
}

static void
other_modes(void **state)
{
	assert_int_equal(np_open(TP_ROCE_V1, MAC), 0);
	assert_int_equal(np_add("192.0.2.1/24", 4094), 0);
	assert_entry(0, MAC_LL, V1, NONE);
	assert_entry(1, "192.0.2.1", V1, 4094);
	assert_empty(2);
	np_close();

	assert_int_equal(np_open(TP_ROCE_V1_MAC, MAC), 0);
	assert_int_equal(np_add("192.0.2.1/24", NONE), 0);
	assert_entry(0, MAC_LL, V1, NONE);
	assert_empty(1);
	assert_int_equal(np.events, 0);
	np_close();

	assert_int_equal(np_open(TP_ROCE_OFF, MAC), 0);
	assert_empty(0);
}

/* What stays keeps its index; what comes takes the first that is free. */
static void
stable(void **state)
{
	assert_int_equal(np_open(TP_ROCE_V2, MAC), 0);
	assert_int_equal(np_add("192.0.2.1/24", NONE), 0);
	assert_int_equal(np_add("192.0.2.2/24", NONE), 0);
	assert_int_equal(np_add("192.0.2.3/24", NONE), 0);
	assert_int_equal(np_del("192.0.2.2"), 0);
	assert_entry(2, "192.0.2.1", V1, NONE);
	assert_empty(4);
	assert_empty(5);
	assert_entry(6, "192.0.2.3", V1, NONE);
	assert_int_equal(np_add("2001:db8::5/48", 3), 0);
	assert_entry(4, "2001:db8::5", V1, 3);
	assert_entry(5, "2001:db8::5", V2, 3);
	assert_entry(7, "192.0.2.3", V2, NONE);
	assert_int_equal(np.events, 5);
}

static void
vlans(void **state)
{
	assert_int_equal(np_open(TP_ROCE_V2, MAC), 0);
	assert_int_equal(np_add("192.0.2.1/24", 5), 0);
	assert_int_equal(np_add("192.0.2.1/24", 6), 0);
	assert_entry(2, "192.0.2.1", V1, 5);
	assert_entry(5, "192.0.2.1", V2, 6);
	assert_int_equal(np_add("192.0.2.1/24", 6), EEXIST);
	np_assert_line("192.0.2.1", "already", NULL);
	assert_int_equal(np_del("192.0.2.1"), 0);
	assert_empty(2);
	assert_empty(5);
	assert_int_equal(np.events, 3);
}

static void
full(void **state)
{
	unsigned int i;
	char a[32];

	assert_int_equal(np_open(TP_ROCE_V2, MAC), 0);
	for (i = 1; i < TP_ROCE_GIDS / 2; i++) {
		snprintf(a, sizeof(a), "10.0.0.%u/8", i);
		assert_int_equal(np_add(a, NONE), 0);
	}
	assert_entry(TP_ROCE_GIDS - 1, "10.0.0.63", V2, NONE);
	assert_int_equal(np_add("10.0.1.1/8", NONE), ENOSPC);
	np_assert_line("10.0.1.1", "full", "128", NULL);
	assert_int_equal(np.events, 63);
	assert_int_equal(np_del("10.0.0.7"), 0);
	assert_int_equal(np_add("10.0.1.1/8", NONE), 0);
	assert_entry(14, "10.0.1.1", V1, NONE);
}

/* What the home does not take is not there. */
static void
refused(void **state)
{
	assert_int_equal(np_open(TP_ROCE_V2, MAC), 0);
	assert_int_equal(np_add("192.0.2.1/24", NONE), 0);
	np.refuse = EIO;
	assert_int_equal(np_add("192.0.2.2/24", NONE), EIO);
	np_assert_line("test", "GID table", NULL);
	assert_empty(4);
	assert_int_equal(np_del("192.0.2.1"), EIO);
	np.refuse = 0;
	assert_entry(2, "192.0.2.1", V1, NONE);
	assert_int_equal(np.events, 1);
	(void)np_log();
	assert_int_equal(np_add("192.0.2.2/24", NONE), 0);
	assert_entry(4, "192.0.2.2", V1, NONE);
}

static void
refused_at_open(void **state)
{
	assert_int_equal(np_open(TP_ROCE_OFF, MAC), 0);
	np_close();
	assert_int_equal(np_open(TP_ROCE_V2, MAC), 0);
	troce_net_side.fini(&np.dev);
	np.refuse = ENOMEM;
	assert_int_equal(troce_net_side.init(&np.dev), ENOMEM);
	assert_null(np.dev.net);
}

static void
bad_addresses(void **state)
{
	static const char *const hosts[] = {"0.0.0.0/8",     "127.0.0.1/8", "224.0.0.1/4", "255.255.255.255/32",
					    "240.0.0.1/8",   "ff02::1/128", "::1/128",     "::/0",
					    "::192.0.2.1/96"};
	struct sockaddr other = {.sa_family = AF_UNIX};
	union ibv_gid gid;
	unsigned int i;

	assert_int_equal(np_open(TP_ROCE_V2, MAC), 0);
	for (i = 0; i < RTE_DIM(hosts); i++) {
		assert_int_equal(np_add(hosts[i], NONE), EINVAL);
		np_assert_line("unicast", NULL);
	}
	assert_int_equal(np_add("192.0.2.1/33", NONE), EINVAL);
	np_assert_line("192.0.2.1", "33", "0..32", NULL);
	assert_int_equal(np_add("2001:db8::1/129", NONE), EINVAL);
	np_assert_line("2001:db8::1", "129", "0..128", NULL);
	assert_int_equal(np_add("192.0.2.1/24", 0), EINVAL);
	np_assert_line("VLAN 0", "1..4094", NULL);
	assert_int_equal(np_add("192.0.2.1/24", 4095), EINVAL);
	np_assert_line("VLAN 4095", "1..4094", NULL);
	assert_int_equal(np_add("::ffff:192.0.2.1/120", NONE), EINVAL);
	np_assert_line("sockaddr_in6", NULL);
	assert_int_equal(tp_roce_addr_add(np_ctx(), &other, 24, NONE), EINVAL);
	np_assert_line("family 1", NULL);
	assert_int_equal(tp_roce_addr_add(np_ctx(), NULL, 24, NONE), EINVAL);
	np_assert_line("NULL", NULL);
	assert_int_equal(np_del("192.0.2.1"), ENOENT);
	np_assert_line("192.0.2.1", NULL);
	/* The MAC's own cannot be taken away. */
	assert_int_equal(np_del(MAC_LL), ENOENT);
	np_assert_line(MAC_LL, NULL);
	assert_int_equal(np_add(MAC_LL "/64", NONE), EEXIST);
	(void)np_log();
	assert_int_equal(tp_roce_gateway(np_ctx(), np_sockaddr("224.0.0.1")), EINVAL);
	np_assert_line("224.0.0.1", NULL);
	assert_int_equal(tp_roce_query_gid(np_ctx(), 2, 0, &gid), EINVAL);
	np_assert_line("port 2", "port 1", NULL);
	assert_int_equal(tp_roce_query_gid(np_ctx(), 1, 128, &gid), EINVAL);
	np_assert_line("GID 128", "0..127", NULL);
	assert_int_equal(tp_roce_query_gid(np_ctx(), 1, -1, &gid), EINVAL);
	(void)np_log();
	assert_int_equal(np.events, 0);
	assert_int_equal(np.tables, 1);
}

static struct trn_addr
kernel_addr(const char *addr, uint8_t prefix, uint16_t vlan)
{
	struct trn_addr a = {np_gid(addr), prefix, vlan, true, true};

	return a;
}

/* Addresses of the kernel come and go; the application's stay. */
static void
follow(void **state)
{
	struct trn_addr list[70] = {kernel_addr("192.0.2.1", 120, NONE), kernel_addr("2001:db8::1", 64, 9),
				    kernel_addr(MAC_LL, 64, NONE), kernel_addr("192.0.2.9", 120, NONE)};
	struct trn_addrs a;
	unsigned int i;
	bool none_left;
	char s[32];

	assert_int_equal(np_open(TP_ROCE_V2, MAC), 0);
	assert_int_equal(np_add("192.0.2.9/24", NONE), 0);
	a = np.dev.net->a;
	assert_true(trn_follow(&a, TP_ROCE_V2, list, 4, &none_left));
	assert_false(none_left);
	assert_false(trn_follow(&a, TP_ROCE_V2, list, 4, &none_left));
	assert_int_equal(trn_commit(&np.dev, &a), 0);
	assert_entry(0, MAC_LL, V1, NONE);
	assert_entry(2, "192.0.2.9", V1, NONE);
	assert_entry(4, "192.0.2.1", V1, NONE);
	assert_entry(7, "2001:db8::1", V2, 9);
	/* Another prefix is another address: the route changes, its GIDs do not. */
	list[0].prefix = 112;
	assert_true(trn_follow(&a, TP_ROCE_V2, list, 2, &none_left));
	np.events = 0;
	assert_int_equal(trn_commit(&np.dev, &a), 0);
	assert_int_equal(np.events, 0);
	assert_true(trn_follow(&a, TP_ROCE_V2, list + 1, 1, &none_left));
	assert_int_equal(trn_commit(&np.dev, &a), 0);
	assert_int_equal(np.events, 1);
	assert_entry(2, "192.0.2.9", V1, NONE);
	assert_empty(4);
	assert_entry(6, "2001:db8::1", V1, 9);
	for (i = 0; i < 70; i++) {
		snprintf(s, sizeof(s), "10.0.0.%u", i + 1);
		list[i] = kernel_addr(s, 104, NONE);
	}
	assert_true(trn_follow(&a, TP_ROCE_V2, list, 70, &none_left));
	assert_true(none_left);
}

static void
new_mac(void **state)
{
	struct rte_ether_addr mac = np_mac("02:00:00:00:00:01");
	struct trn_addrs a;

	assert_int_equal(np_open(TP_ROCE_V2, MAC), 0);
	assert_int_equal(np_add("192.0.2.9/24", NONE), 0);
	assert_int_equal(np_add("fe80::ff:fe00:1/64", NONE), 0);
	a = np.dev.net->a;
	trn_addrs_set_mac(&a, &mac);
	assert_int_equal(trn_commit(&np.dev, &a), 0);
	assert_entry(0, "fe80::ff:fe00:1", V1, NONE);
	assert_entry(1, "fe80::ff:fe00:1", V2, NONE);
	assert_entry(2, "192.0.2.9", V1, NONE);
	assert_empty(4);
	assert_empty(5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mac_bit),
		cmocka_unit_test_teardown(mode_v2, close_port),
		cmocka_unit_test_teardown(other_modes, close_port),
		cmocka_unit_test_teardown(stable, close_port),
		cmocka_unit_test_teardown(vlans, close_port),
		cmocka_unit_test_teardown(full, close_port),
		cmocka_unit_test_teardown(refused, close_port),
		cmocka_unit_test_teardown(refused_at_open, close_port),
		cmocka_unit_test_teardown(bad_addresses, close_port),
		cmocka_unit_test_teardown(follow, close_port),
		cmocka_unit_test_teardown(new_mac, close_port),
	};

	return cmocka_run_group_tests_name("gid", tests, NULL, NULL);
}
