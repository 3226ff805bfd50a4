/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Neighbours: who sends by more queue pairs than the one of its hardware address, whose addresses and paths are new. */
#include <stdlib.h>

#include "ipoib_packets.h"
#include "link_rig.h"

#define LID_B 2u
#define ALIAS 0x900u
#define IP_A 0x0a000001u

static struct rig rig;

/* A and B have met. */
static int
setup(void **state)
{
	struct rte_mbuf *m;
	unsigned int i;

	(void)state;
	rig_open(&rig);
	rig_all_up(&rig);
	rig_arp(&rig, 1, 1, 0x0a000002, 0x0a000001, NULL);
	rig_run(&rig, 5);
	for (i = 0; i < RIG_NODES; i++) {
		while ((m = rig_take(&rig, i)) != NULL)
			rte_pktmbuf_free(m);
	}
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

/* A packet without a GRH comes to A; its source as A's application sees it. */
static struct rte_ether_addr
from(uint16_t slid, uint32_t qpn)
{
	const struct ipoib_meta meta = {.qpn = qpn, .slid = slid};
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);
	struct rte_ether_addr mac;
	uint8_t *p;

	assert_non_null(m);
	p = rig_room(m, 40 + 4 + 28);
	memset(p, 0, 40 + 4 + 28);
	p[40] = 8;
	memcpy(p + 44, "\x45\0\0\x1c", 4);
	p[44 + 9] = 17;
	ipoib_core_rx(rig.node[0].core, m, &meta);
	m = rig_take(&rig, 0);
	assert_non_null(m);
	memcpy(&mac, rte_pktmbuf_mtod_offset(m, uint8_t *, 6), sizeof(mac));
	rte_pktmbuf_free(m);
	return mac;
}

/* Whom the datapath takes a sender for. */
static bool
view_has(uint16_t slid, uint32_t qpn, const struct rte_ether_addr *mac)
{
	struct ipoib_view *v = ipoib_view_make(rig.node[0].core);
	const struct ipoib_rx_ent *e;
	bool same;

	assert_non_null(v);
	e = ipoib_view_rx(v, ipoib_rx_key(slid, qpn));
	same = e != NULL && memcmp(&e->mac, mac, sizeof(*mac)) == 0;
	free(v);
	return same;
}

static void
known_by_more(void **state)
{
	const struct rte_ether_addr *b = &rig.node[1].core->mac;
	struct ipoib_core *c = rig.node[0].core;
	struct rte_ether_addr mac;
	unsigned int i;

	(void)state;
	assert_true(view_has(LID_B, rig_qpn(1), b));
	for (i = 0; i < IPOIB_ALIASES + 2; i++) {
		assert_false(view_has(LID_B, ALIAS + i, b));
		mac = from(LID_B, ALIAS + i);
		assert_true(rte_is_same_ether_addr(&mac, b));
		/* Those that there is no room for go on by the control thread, and change nothing. */
		assert_int_equal(view_has(LID_B, ALIAS + i, b), i < IPOIB_ALIASES);
	}
	assert_int_equal(c->num_remotes, 1);
	assert_int_equal(c->num_aliases, IPOIB_ALIASES);
	c->dirty = false;
	from(LID_B, ALIAS);
	from(LID_B, ALIAS + IPOIB_ALIASES);
	assert_false(c->dirty);
	assert_true(view_has(LID_B, rig_qpn(1), b));
}

/* Another LID is another port: what was sent from there before is nobody's now. */
static void
moves(void **state)
{
	const struct rte_ether_addr *b = &rig.node[1].core->mac;
	struct rte_mbuf *m;

	(void)state;
	from(LID_B, ALIAS);
	assert_true(view_has(LID_B, ALIAS, b));
	rig_up(&rig, 1, 9);
	rig_run(&rig, 20);
	rig_arp(&rig, 1, 1, 0x0a000002, 0x0a000001, NULL);
	rig_run(&rig, 5);
	while ((m = rig_take(&rig, 0)) != NULL)
		rte_pktmbuf_free(m);
	assert_true(view_has(9, rig_qpn(1), b));
	assert_false(view_has(LID_B, ALIAS, b));
	assert_int_equal(rig.node[0].core->num_aliases, 0);
}

/* With two neighbours behind a LID nobody knows whose it is; and who has the number as its own has it. */
static void
two_behind_a_lid(void **state)
{
	struct ipoib_core *c = rig.node[0].core;
	struct ipoib_meta meta = {.qpn = ALIAS, .slid = LID_B};
	struct ipoib_remote *b, *other;
	struct ipoib_hw hw;

	(void)state;
	from(LID_B, ALIAS);
	b = ipoib_remote_by_mac(c, &rig.node[1].core->mac);
	assert_int_equal(b->aliases, 1);
	hw = b->hw;
	ib_put24(hw.b + 1, ALIAS);
	other = ipoib_remote_get(c, &hw);
	assert_non_null(other);
	assert_ptr_not_equal(other, b);
	ipoib_remote_seen(c, other, &meta);
	assert_true(view_has(LID_B, ALIAS, &other->mac));
	assert_ptr_equal(ipoib_remote_of(c, &meta), other);
	meta.qpn = ALIAS + 1;
	ipoib_remote_of(c, &meta);
	assert_int_equal(c->num_aliases, 1);
	assert_false(view_has(LID_B, ALIAS + 1, &b->mac));
	/* When it goes, so do its numbers. */
	ipoib_remote_free(c, b);
	assert_int_equal(c->num_aliases, 0);
}

static void
take_to(unsigned int node, const struct rte_ether_addr *mac)
{
	struct rte_mbuf *m = rig_take(&rig, node);

	assert_non_null(m);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), mac, 6);
	rte_pktmbuf_free(m);
}

/* How a node's application calls another node. */
static struct rte_ether_addr
mac_of(unsigned int node, unsigned int other)
{
	struct ipoib_hw hw = ipoib_own_hw(rig.node[other].core);

	return ipoib_remote_get(rig.node[node].core, &hw)->mac;
}

/* A host behind the port advertises an address; what it sends besides tells nothing of addresses. */
static void
ipv6_hosts_behind_the_port(void **state)
{
	static const struct rte_ether_addr vm = {{2, 0xaa, 0, 0, 0, 1}}, nodes = {{0x33, 0x33, 0, 0, 0, 1}};
	uint8_t na[sizeof(na_vm)], p[48] = {0x60, 0, 0, 0, 0, 8, 59, 64},
				   v4[28] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 253};
	struct rte_ether_addr b, port;

	(void)state;
	port = rig.node[0].core->mac;
	memcpy(na, na_vm, sizeof(na));
	rig.node[0].core->mac = vm; /* rig_send() sends as the host */
	rig_send(&rig, 0, &nodes, 0x86dd, na, sizeof(na));
	/* Octets 14 to 17 would be the sender's address in ARP. */
	ib_put32(v4 + 12, 0x0a000000u);
	ib_put32(v4 + 14, IP_A);
	b = mac_of(0, 1);
	rig_send(&rig, 0, &b, 0x0800, v4, sizeof(v4));
	rig.node[0].core->mac = port;
	rig_run(&rig, 5);
	while (rig.node[1].napp != 0)
		rte_pktmbuf_free(rig_take(&rig, 1));
	while (rig.node[2].napp != 0)
		rte_pktmbuf_free(rig_take(&rig, 2));
	/* Its target address is not the one that it was sent from; both are the host's. */
	b = mac_of(1, 0);
	memcpy(p + 24, na + 8, 16);
	rig_send(&rig, 1, &b, 0x86dd, p, sizeof(p));
	memcpy(p + 24, na + 48, 16);
	rig_send(&rig, 1, &b, 0x86dd, p, sizeof(p));
	ib_put32(v4 + 14, 0);
	ib_put32(v4 + 16, IP_A);
	rig_send(&rig, 1, &b, 0x0800, v4, sizeof(v4));
	rig_run(&rig, 5);
	take_to(0, &vm);
	take_to(0, &vm);
	take_to(0, &port);
}

/* A hardware address may come again with other flags, and a GID with another queue pair (RFC 4391, 9.1). */
static void
neighbours_by_address(void **state)
{
	struct ipoib_core *c = rig.node[0].core;
	struct ipoib_hw hw[2] = {{{0}}, {{0}}}, from;
	struct ipoib_remote *r[2];

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		hw[i] = ipoib_own_hw(rig.node[i + 1].core);
		r[i] = ipoib_remote_get(c, &hw[i]);
		assert_non_null(r[i]);
	}
	c->dirty = false;
	assert_ptr_equal(ipoib_remote_get(c, &hw[0]), r[0]);
	assert_false(c->dirty);
	hw[0].b[0] ^= IPOIB_HW_RC;
	assert_ptr_equal(ipoib_remote_get(c, &hw[0]), r[0]);
	assert_true(c->dirty);
	assert_int_equal(r[0]->hw.b[0], hw[0].b[0]);
	for (unsigned int i = 0; i < 2; i++) {
		from = hw[i];
		from.b[3] ^= 0x55;
		assert_ptr_equal(ipoib_remote_of_gid(c, &from), r[i]);
	}
	from.b[19] ^= 0x55;
	assert_non_null(ipoib_remote_of_gid(c, &from));
	assert_ptr_not_equal(ipoib_remote_of_gid(c, &from), r[0]);
	assert_ptr_not_equal(ipoib_remote_of_gid(c, &from), r[1]);
}

/* The path that is in use is the last one that was told. */
static void
paths_are_kept(void **state)
{
	static const uint8_t v4[28] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 253};
	struct ipoib_core *c = rig.node[0].core;
	struct ipoib_hw hw = ipoib_own_hw(rig.node[1].core);
	struct ipoib_remote *r = ipoib_remote_get(c, &hw);
	struct tp_sa_path path;

	(void)state;
	rig_send(&rig, 0, &r->mac, 0x0800, v4, sizeof(v4));
	rig_run(&rig, 5);
	assert_int_equal(r->path.dlid, LID_B);
	path = r->path;
	path.dlid = 0x123;
	ipoib_core_path(c, r->token, 0, &path);
	assert_int_equal(r->path.dlid, 0x123);
}

/* A request of Ethernet's type on InfiniBand, as boot firmware makes it: the answer is of that type. */
static void
dhcp_of_firmware(void **state)
{
	static const struct rte_ether_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	const struct ipoib_meta meta = {.qpn = rig_qpn(1), .slid = LID_B};
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);
	const struct ipoib_core *b = rig.node[1].core;
	uint8_t *p;

	(void)state;
	assert_non_null(m);
	p = rig_room(m, 40 + 4 + sizeof(discover_eth));
	memset(p, 0, 44);
	p[40] = 8;
	memcpy(p + 44, discover_eth, sizeof(discover_eth));
	ipoib_core_rx(rig.node[0].core, m, &meta);
	m = rig_take(&rig, 0);
	assert_non_null(m);
	p = rte_pktmbuf_mtod(m, uint8_t *);
	assert_memory_equal(p + 14 + 28 + 28, p + 6, 6); /* chaddr is the source */
	rte_pktmbuf_free(m);
	rig_send(&rig, 0, &all, 0x0800, offer_eth, sizeof(offer_eth));
	rig_run(&rig, 5);
	/* A port of ours takes no answer of that type: it is for the firmware alone. */
	assert_null(rig_take(&rig, 1));
	assert_int_equal(b->stats.drop[IPOIB_DROP_RX_DHCP], 1);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(known_by_more),         T(moves),          T(two_behind_a_lid), T(ipv6_hosts_behind_the_port),
		T(neighbours_by_address), T(paths_are_kept), T(dhcp_of_firmware)};

	return cmocka_run_group_tests_name("ipoib senders", tests, NULL, NULL);
}
