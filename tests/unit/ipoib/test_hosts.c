/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What an interface knows of hosts behind it, of groups, neighbours and its place, and for how long. */
#include <errno.h>
#include <stdlib.h>

#include "link_rig.h"

#define IP_A 0x0a000001u

static struct rig rig;
static const struct rte_ether_addr vm = {{2, 0xaa, 0, 0, 0, 1}};

static int
hosts_up(void **state)
{
	(void)state;
	rig_open(&rig);
	rig_all_up(&rig);
	return 0;
}

static void
forget_frames(void)
{
	struct rte_mbuf *m;

	for (unsigned int i = 0; i < RIG_NODES; i++) {
		while ((m = rig_take(&rig, i)) != NULL)
			rte_pktmbuf_free(m);
	}
}

static int
hosts_down(void **state)
{
	(void)state;
	forget_frames();
	rig_close(&rig);
	return 0;
}

static struct rte_mbuf *
frame(const struct rte_ether_addr *dst, const struct rte_ether_addr *src, uint16_t etype, const void *l3, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);
	uint8_t *p;

	assert_non_null(m);
	p = rig_room(m, 14 + len);
	memcpy(p, dst, 6);
	memcpy(p + 6, src, 6);
	ib_put16(p + 12, etype);
	memcpy(p + 14, l3, len);
	return m;
}

static void
mapped(uint32_t ip, uint8_t to[16])
{
	memset(to, 0, 16);
	to[10] = to[11] = 0xff;
	ib_put32(to + 12, ip);
}

static const struct ipoib_local *
local(const uint8_t ip[16])
{
	const struct ipoib_core *c = rig.node[0].core;

	for (unsigned int i = 0; i < IPOIB_LOCALS; i++) {
		if (c->local[i].valid && memcmp(c->local[i].ip, ip, 16) == 0)
			return &c->local[i];
	}
	return NULL;
}

/* Nobody's addresses, groups' ones, and MACs that no host has are not remembered; there is an end to how many are. */
static void
addresses_worth_knowing(void **state)
{
	static const struct rte_ether_addr zero = {{0}}, group = {{1, 0, 0, 0, 0, 1}};
	struct ipoib_core *c = rig.node[0].core;
	uint8_t ip[16];

	(void)state;
	memset(ip, 0, 16);
	ipoib_local_seen(c, ip, &vm);
	mapped(0, ip);
	ipoib_local_seen(c, ip, &vm);
	memset(ip, 0xff, 16);
	ipoib_local_seen(c, ip, &vm);
	mapped(IP_A, ip);
	ipoib_local_seen(c, ip, &zero);
	ipoib_local_seen(c, ip, &group);
	assert_int_equal(c->num_locals, 0);
	assert_memory_equal(ipoib_local_mac(c, ip), &c->mac, 6);
	assert_false(ipoib_local_has(c, &vm));
	memset(ip, 0, 16);
	ip[15] = 1; /* one that differs from nobody's in the last octet */
	ipoib_local_seen(c, ip, &vm);
	assert_int_equal(c->num_locals, 1);
	assert_true(ipoib_local_has(c, &vm));
	for (uint32_t i = 1; i < IPOIB_LOCALS + 3; i++) {
		struct rte_ether_addr mac = {{2, 0xbb, 0, 0, (uint8_t)(i >> 8), (uint8_t)i}};

		mapped(IP_A + i, ip);
		ipoib_local_seen(c, ip, &mac);
		assert_int_equal(memcmp(ipoib_local_mac(c, ip), &mac, 6) == 0, i < IPOIB_LOCALS);
	}
	assert_int_equal(c->num_locals, IPOIB_LOCALS);
	/* An address that moves is with its new owner. */
	c->dirty = false;
	mapped(IP_A + 1, ip);
	ipoib_local_seen(c, ip, &vm);
	assert_true(c->dirty);
	assert_memory_equal(ipoib_local_mac(c, ip), &vm, 6);
	c->dirty = false;
	ipoib_local_seen(c, ip, &vm);
	assert_false(c->dirty);
}

/* Five runs of ageing without use, each a minute after the other, and it is gone; the run after a use does not count. */
static void
unused_for_five_runs(void **state)
{
	static const struct rte_ether_addr group = {{1, 0, 0x5e, 9, 9, 9}};
	struct ipoib_core *c = rig.node[0].core;
	uint8_t ip[16], mgid[16], v4[28] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 253, 0, 0, 10, 0, 0, 1, 239, 9, 9, 9};

	(void)state;
	mapped(IP_A, ip);
	ipoib_local_seen(c, ip, &vm);
	ipoib_core_tx(c, frame(&group, &c->mac, 0x0800, v4, sizeof(v4)));
	ipoib_mgid_v4(0xffff, 2, v4 + 16, mgid);
	assert_non_null(ipoib_group_find(c, mgid));
	/* It is 1.02 s; runs are at 61 s, 121 s ... of which the sixth is at 361 s. */
	rig_run(&rig, 61000);
	for (unsigned int i = 2; i <= 5; i++) {
		rig_run(&rig, 60000);
		assert_non_null(local(ip));
		assert_non_null(ipoib_group_find(c, mgid));
	}
	rig_run(&rig, 60000);
	assert_null(local(ip));
	assert_null(ipoib_group_find(c, mgid));
	assert_int_equal(c->num_locals, 0);
	assert_int_equal(c->stats.aged, 2);
}

/* --- neighbours ---------------------------------------------------------------------------------------------------------------- */

/* Two ports whose queue pairs have one number are two neighbours. */
static void
one_number_two_ports(void **state)
{
	static const struct rte_ether_addr mac[2] = {{{2, 0, 0, 0, 7, 1}}, {{2, 0, 0, 0, 7, 2}}};
	struct ipoib_core *c = rig.node[0].core;
	uint64_t learned = c->stats.rx_learned;
	struct ipoib_hw hw[2];

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		hw[i] = ipoib_own_hw(rig.node[1].core);
		hw[i].b[12] = 0x66;
		hw[i].b[19] = (uint8_t)i;
		ipoib_remote_name(c, &hw[i], &mac[i], true);
	}
	assert_int_equal(c->stats.rx_learned, learned + 2);
	for (unsigned int i = 0; i < 2; i++) {
		struct ipoib_remote *r = ipoib_remote_by_mac(c, &mac[i]);

		assert_non_null(r);
		assert_true(ipoib_hw_same(&r->hw, &hw[i]));
		assert_ptr_equal(ipoib_remote_get(c, &hw[i]), r);
	}
	assert_int_equal(c->stats.rx_learned, learned + 2);
}

/* --- places -------------------------------------------------------------------------------------------------------------------- */

/* Each thing that a port may have otherwise is an event, which joins groups anew while it is up; the same is none. */
static void
places(void **state)
{
	struct ipoib_core *c = rig.node[0].core;

	(void)state;
	for (unsigned int i = 0; i < 5; i++) {
		struct ipoib_place place = c->place;
		uint64_t events = c->stats.events;
		unsigned int asked = rig.node[0].join_asked;

		c->dirty = false;
		ipoib_core_place(c, &place);
		assert_int_equal(c->stats.events, events);
		assert_false(c->dirty);
		switch (i) {
		case 0: place.lid++; break;
		case 1: place.lmc++; break;
		case 2: place.qpn++; break;
		case 3: place.gid[15] ^= 1; break;
		default: place.gid[0] ^= 1; break;
		}
		ipoib_core_place(c, &place);
		assert_true(c->stats.events > events);
		assert_true(c->dirty);
		assert_int_equal(rig.node[0].join_asked, asked + 3);
		rig_run(&rig, 10);
	}
	/* A port that is down may change as well; nothing is asked for it. */
	{
		struct ipoib_place place = {.lid = 9};
		unsigned int asked = rig.node[0].join_asked;

		ipoib_core_place(c, &place);
		assert_int_equal(rig.node[0].down_calls, 1);
		place.lid = 10;
		ipoib_core_place(c, &place);
		ipoib_core_renew(c);
		rig_run(&rig, 10);
		assert_int_equal(rig.node[0].join_asked, asked);
		assert_int_equal(rig.node[0].down_calls, 1);
	}
}

/* A frame to a group of IPv4 (RFC 1112, 6.4). */
static void
to_group(uint8_t last)
{
	const struct rte_ether_addr mac = {{1, 0, 0x5e, 1, 2, last}};
	uint8_t ip[28] = {0x45, 0, 0, 28, [8] = 64, 253, [16] = 239, 1, 2, last};

	rig_send(&rig, 0, &mac, 0x0800, ip, sizeof(ip));
}

/* What is for a group that the administrator keeps us out of is lost, waiting or not; when it lets us in, the next frame goes. */
static void
kept_out(void **state)
{
	const struct ipoib_core_stats *s = &rig.node[0].core->stats;
	const uint64_t *lost = &s->drop[IPOIB_DROP_TX_NO_MEMBER];
	uint64_t failed = s->joins_failed, sent = rig.node[0].sent;

	(void)state;
	rig.sa_join_status = -EINVAL;
	rig.sa_delay = 10;
	for (unsigned int i = 0; i < 3; i++)
		to_group(9);
	rig_run(&rig, 5);
	assert_int_equal(*lost, 0);
	rig_run(&rig, 10);
	assert_int_equal(*lost, 3);
	assert_int_equal(s->joins_failed - failed, 1);
	to_group(9);
	to_group(9);
	assert_int_equal(*lost, 5);
	assert_int_equal(rig.node[0].sent, sent);
	rig.sa_join_status = 0;
	rig_run(&rig, 5000);
	to_group(9);
	assert_int_equal(*lost, 5);
	assert_int_equal(s->joins_failed - failed, 1);
	assert_int_equal(rig.node[0].sent, sent + 1);
	/* There is a limit of groups: a frame to one more is lost like those. */
	rig.sa_call = -ENETUNREACH;
	for (unsigned int i = 0; rig.node[0].core->num_groups < IPOIB_GROUPS; i++) {
		uint8_t mgid[16] = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [14] = (uint8_t)(i >> 8), (uint8_t)i};

		assert_non_null(ipoib_group_want(rig.node[0].core, mgid, IPOIB_WHY_RECEIVE));
	}
	to_group(10);
	assert_int_equal(*lost, 6);
	rig.sa_call = 0;
}

/* A GUID of no known vendor has no MAC in it: the first one of those that are counted. */
static void
guids_without_a_mac(void **state)
{
	struct ipoib_core *c = calloc(1, sizeof(*c));
	const struct ipoib_core *like = rig.node[0].core;

	(void)state;
	assert_non_null(c);
	ipoib_core_init(c, &like->conf, &like->io, rig.pool, UINT64_C(0xaabbcc0000000001), NULL, 2044);
	assert_memory_equal(&c->mac, "\x02\0\0\0\0\x01", 6);
	ipoib_core_fini(c);
	free(c);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, hosts_up, hosts_down)
	const struct CMUnitTest tests[] = {
		T(addresses_worth_knowing), T(unused_for_five_runs),
		T(one_number_two_ports),    T(places),
		T(guids_without_a_mac),     T(kept_out),
	};

	return cmocka_run_group_tests_name("hosts and neighbours of IPoIB", tests, NULL, NULL);
}
