/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* From address vectors to headers. */
#include "net_port.h"

#define US "02:00:00:00:00:aa"
#define PEER "02:00:00:00:00:bb"
#define ROUTER "02:00:00:00:00:cc"
#define NONE TP_ROCE_NO_VLAN

/* Entries of the table */
enum { LL_V1, LL_V2, A4_V1, A4_V2, A6_V1, A6_V2, TAG_V1, TAG_V2 };

static int
open_port(void **state)
{
	assert_int_equal(np_open(TP_ROCE_V2, US), 0);
	assert_int_equal(np_add("192.0.2.1/24", NONE), 0);
	assert_int_equal(np_add("2001:db8::1/64", NONE), 0);
	assert_int_equal(np_add("198.51.100.1/24", 42), 0);
	return 0;
}

static int
close_port(void **state)
{
	np_close();
	return 0;
}

static struct ibv_ah_attr
av_to(const char *dgid, uint8_t sgid_index)
{
	struct ibv_ah_attr av = {.is_global = 1, .port_num = 1};

	av.grh.dgid = np_gid(dgid);
	av.grh.sgid_index = sgid_index;
	return av;
}

static void
is_at(const char *addr, uint16_t vlan, const char *mac)
{
	struct rte_ether_addr m = np_mac(mac);
	union ibv_gid gid = np_gid(addr);

	trn_neigh_heard(&np.dev.net->neighs, &gid, vlan, &m, TRN_HEARD_CREATE | TRN_HEARD_OVERRIDE, 1);
}

/* 0 and the MAC is this one, or an errno; both calls say the same. */
static int
way(const char *dgid, uint8_t sgid_index, const char *want)
{
	struct ibv_ah_attr av = av_to(dgid, sgid_index);
	struct troce_path path;
	struct rte_ether_addr m;
	uint8_t mac[6];
	int rc = troce_path_resolve(&np.dev, &av, 0, 0, &path);

	assert_int_equal(tp_roce_resolve(np_ctx(), sgid_index, &av.grh.dgid, mac), rc);
	if (rc == 0) {
		m = np_mac(want);
		assert_memory_equal(&path.dmac, &m, 6);
		assert_memory_equal(mac, &m, 6);
	}
	return rc;
}

static unsigned int
asked_for(const char *addr, uint16_t vlan)
{
	const struct trn_neighs *t = &np.dev.net->neighs;
	union ibv_gid gid = np_gid(addr);
	unsigned int i, n = 0;

	for (i = 0; i < TRN_NEIGHS; i++)
		n += t->e[i].state == TRN_INCOMPLETE && t->e[i].vlan == vlan && trn_gid_equal(&t->e[i].addr, &gid);
	return n;
}

static void
on_link(void **state)
{
	np.dev.net->side->woken = 0;
	assert_int_equal(way("192.0.2.2", A4_V2, NULL), EINPROGRESS);
	assert_int_equal(asked_for("192.0.2.2", NONE), 1);
	assert_true(np.dev.net->side->woken != 0);
	is_at("192.0.2.2", NONE, PEER);
	assert_int_equal(way("192.0.2.2", A4_V2, PEER), 0);
	assert_int_equal(way("192.0.2.2", A4_V1, PEER), 0);
	assert_int_equal(way("198.51.100.7", TAG_V2, NULL), EINPROGRESS);
	assert_int_equal(asked_for("198.51.100.7", 42), 1);
	is_at("198.51.100.7", 42, PEER);
	assert_int_equal(way("198.51.100.7", TAG_V2, PEER), 0);
	is_at("2001:db8::2", NONE, PEER);
	assert_int_equal(way("2001:db8::2", A6_V2, PEER), 0);
	/* A neighbour on one VLAN is none on another. */
	assert_int_equal(way("192.0.2.2", TAG_V2, NULL), EHOSTUNREACH);
	assert_int_equal(way("198.51.100.7", A4_V2, NULL), EHOSTUNREACH);
}

static void
by_router(void **state)
{
	assert_int_equal(way("203.0.113.5", A4_V2, NULL), EHOSTUNREACH);
	assert_int_equal(way("2001:db8:1::5", A6_V2, NULL), EHOSTUNREACH);
	assert_int_equal(tp_roce_gateway(np_ctx(), np_sockaddr("192.0.2.254")), 0);
	assert_int_equal(tp_roce_gateway(np_ctx(), np_sockaddr("fe80::1")), 0);
	assert_int_equal(way("203.0.113.5", A4_V2, NULL), EINPROGRESS);
	assert_int_equal(asked_for("192.0.2.254", NONE), 1);
	assert_int_equal(asked_for("203.0.113.5", NONE), 0);
	is_at("192.0.2.254", NONE, ROUTER);
	assert_int_equal(way("203.0.113.5", A4_V2, ROUTER), 0);
	assert_int_equal(way("2001:db8:1::5", A6_V2, NULL), EINPROGRESS);
	is_at("fe80::1", NONE, ROUTER);
	assert_int_equal(way("2001:db8:1::5", A6_V2, ROUTER), 0);
	/* The router is not in this VLAN; a link-local address is not routed. */
	assert_int_equal(way("203.0.113.5", TAG_V2, NULL), EHOSTUNREACH);
	assert_int_equal(way("2001:db8:1::5", LL_V2, NULL), EHOSTUNREACH);
	assert_int_equal(tp_roce_gateway(np_ctx(), NULL), 0);
	assert_int_equal(way("203.0.113.5", A4_V2, NULL), EHOSTUNREACH);
	assert_int_equal(way("2001:db8:1::5", A6_V2, NULL), EHOSTUNREACH);
	assert_string_equal(np_log(), "");
}

static void
link_local(void **state)
{
	/* RoCE v1 takes the MAC out of the GID; v2 asks, since the address need not be made of the MAC. */
	assert_int_equal(way("fe80::ff:fe00:bb", LL_V1, PEER), 0);
	assert_int_equal(way("fe80::ff:fe00:bb", LL_V2, NULL), EINPROGRESS);
	assert_int_equal(asked_for("fe80::ff:fe00:bb", NONE), 1);
	assert_int_equal(way("fe80::1234", LL_V1, NULL), EINPROGRESS);
	assert_int_equal(asked_for("fe80::1234", NONE), 1);
}

static void
to_itself(void **state)
{
	assert_int_equal(way("192.0.2.1", A4_V2, US), 0);
	assert_int_equal(way("2001:db8::1", A6_V1, US), 0);
	assert_int_equal(way("fe80::ff:fe00:aa", LL_V2, US), 0);
}

static void
groups(void **state)
{
	assert_int_equal(way("239.129.2.3", A4_V2, "01:00:5e:01:02:03"), 0);
	assert_int_equal(way("239.255.254.253", A4_V2, "01:00:5e:7f:fe:fd"), 0);
	assert_int_equal(way("ff02::1:ff11:2233", A6_V2, "33:33:ff:11:22:33"), 0);
	assert_int_equal(way("ff0e::ffff:239.129.2.3", A4_V1, "33:33:ef:81:02:03"), 0);
}

static void
defaults(void **state)
{
	struct ibv_ah_attr av = av_to("192.0.2.2", A4_V2);
	struct rte_ether_addr us = np_mac(US);
	union ibv_gid own = np_gid("192.0.2.1");
	struct troce_path p;

	is_at("192.0.2.2", NONE, PEER);
	np.dev.conf.dscp = 26;
	np.dev.conf.prio = 3;
	assert_int_equal(troce_path_resolve(&np.dev, &av, 0, 0, &p), 0);
	assert_int_equal(p.hop_limit, 16);
	assert_int_equal(p.tclass, 26 << 2);
	assert_int_equal(p.prio, 3);
	assert_int_equal(p.vlan, NONE);
	assert_int_equal(p.type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(p.sgid_index, A4_V2);
	assert_memory_equal(&p.sgid, &own, sizeof(own));
	assert_memory_equal(&p.dgid, &av.grh.dgid, sizeof(own));
	assert_memory_equal(&p.smac, &us, 6);
	assert_true(p.sport >= 0xc000);

	av.grh.hop_limit = 64;
	av.grh.traffic_class = 0x8a;
	av.sl = 5;
	assert_int_equal(troce_path_resolve(&np.dev, &av, 51000, 0, &p), 0);
	assert_int_equal(p.hop_limit, 64);
	assert_int_equal(p.tclass, 0x8a);
	assert_int_equal(p.prio, 5);
	assert_int_equal(p.sport, 51000);
}

/* What the address vector names comes first, then a rule of the port, then what the port was opened with. */
static void
rules(void **state)
{
	struct ibv_ah_attr av = av_to("192.0.2.2", A4_V2), v1 = av_to("192.0.2.2", A4_V1);
	struct troce_path p;

	is_at("192.0.2.2", NONE, PEER);
	np.dev.conf.dscp = 26;
	np.dev.conf.prio = 3;
	np.rule_service = 5000;
	np.rule_prio = 0;
	np.rule_dscp = 46;
	assert_int_equal(troce_path_resolve(&np.dev, &av, 0, 5000, &p), 0);
	assert_int_equal(p.prio, 0);
	assert_int_equal(p.tclass, 46 << 2);
	assert_true(p.decided);
	np.rule_dscp = -1;
	assert_int_equal(troce_path_resolve(&np.dev, &av, 0, 5000, &p), 0);
	assert_int_equal(p.tclass, 26 << 2);
	/* Another service, no connection, the other version: not its. */
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(troce_path_resolve(&np.dev, i == 2 ? &v1 : &av, 0,
						    i == 0   ? 5001
						    : i == 1 ? 0
							     : 5000,
						    &p),
				 0);
		assert_int_equal(p.prio, 3);
		assert_int_equal(p.tclass, 26 << 2);
		assert_false(p.decided);
	}
	np.rule_prio = 6;
	np.rule_dscp = 1;
	av.sl = 2;
	assert_int_equal(troce_path_resolve(&np.dev, &av, 0, 5000, &p), 0);
	assert_int_equal(p.prio, 2);
	assert_int_equal(p.tclass, 1 << 2);
	assert_true(p.decided);
	av.sl = 0;
	av.grh.traffic_class = 0x8a;
	assert_int_equal(troce_path_resolve(&np.dev, &av, 0, 5000, &p), 0);
	assert_int_equal(p.prio, 6);
	assert_int_equal(p.tclass, 0x8a);
}

/* R-2 and Linux: ((label & 0x3fff) ^ (label >> 14)) | 0xc000; the label of a pair is a fold of the numbers' product. */
static void
source_port(void **state)
{
	static const struct {
		uint32_t label, l, r;
		uint16_t port;
	} v[] = {
		{0x12345, 0, 0, 0xe341},
		{0xfffff, 1, 2, 0xffc0},
		{0x00001, 9, 9, 0xc001},
		/* 0x11 * 0x12 = 0x132 */
		{0, 0x11, 0x12, 0xc132},
		/* 0xabcdef * 0x123456 = 0xc379a59ba4a; with itself >> 20, then >> 40: ...ac3e3 */
		{0, 0xabcdef, 0x123456, 0xc3c8},
		{0, 0xffffff, 0xffffff, 0xff21},
	};
	struct ibv_ah_attr av = av_to("192.0.2.2", A4_V2);
	struct troce_path p;
	unsigned int i;

	for (i = 0; i < RTE_DIM(v); i++)
		assert_int_equal(troce_sport(v[i].label, v[i].l, v[i].r), v[i].port);
	is_at("192.0.2.2", NONE, PEER);
	av.grh.flow_label = 0x12345;
	assert_int_equal(troce_path_resolve(&np.dev, &av, 0, 0, &p), 0);
	assert_int_equal(p.sport, 0xe341);
	assert_int_equal(p.flow_label, 0x12345);
	assert_int_equal(tp_roce_udp_sport(7471, 40000), ((7471 ^ 40000) | 0xc000) & 0xffff);
}

static void
bad_vectors(void **state)
{
	struct ibv_ah_attr good = av_to("192.0.2.2", A4_V2), av;
	struct troce_path p;
	uint8_t mac[6];

#define REFUSED(...)                                                                                                   \
	do {                                                                                                           \
		assert_int_equal(troce_path_resolve(&np.dev, &av, 0, 0, &p), EINVAL);                                  \
		np_assert_line(__VA_ARGS__, NULL);                                                                     \
	} while (0)
	av = good;
	av.is_global = 0;
	REFUSED("is_global 0", "1");
	av = good;
	av.port_num = 2;
	REFUSED("port_num 2", "1");
	av = good;
	av.sl = 8;
	REFUSED("sl 8", "0..7");
	av = good;
	av.grh.flow_label = 0x100000;
	REFUSED("flow_label 0x100000", "0xfffff");
	av = good;
	av.grh.sgid_index = 128;
	REFUSED("sgid_index 128", "0..127");
	av = good;
	av.grh.sgid_index = 20;
	REFUSED("sgid_index 20", "empty");
	av = av_to("2001:db8::2", A4_V2);
	REFUSED("2001:db8::2", "192.0.2.1");
	av = av_to("192.0.2.2", A6_V2);
	REFUSED("192.0.2.2", "2001:db8::1");
	av = av_to("::", A6_V2);
	REFUSED("dgid ::");
	av = av_to("255.255.255.255", A4_V2);
	REFUSED("255.255.255.255");
	av = av_to("127.0.0.1", A4_V2);
	REFUSED("127.0.0.1");
	assert_int_equal(tp_roce_resolve(np_ctx(), 200, &good.grh.dgid, mac), EINVAL);
	np_assert_line("sgid_index 200", NULL);
}

/* the largest that fits with GRH or IPv6, UDP, BTH, RETH, immediate data, ICRC: 84 bytes. */
static void
mtu(void **state)
{
	static const uint16_t v[][2] = {{9000, 4096}, {4200, 4096}, {4180, 4096}, {4179, 2048}, {2132, 2048},
					{2131, 1024}, {1500, 1024}, {1107, 512},  {596, 512},   {595, 256},
					{340, 256},   {339, 0},     {0, 0},       {65535, 4096}};
	unsigned int i;

	for (i = 0; i < RTE_DIM(v); i++)
		assert_int_equal(troce_mtu_fit(v[i][0]), v[i][1]);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_port, close_port)
	const struct CMUnitTest tests[] = {
		T(on_link),  T(by_router), T(link_local),  T(to_itself),   T(groups),
		T(defaults), T(rules),     T(source_port), T(bad_vectors), T(mtu),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
