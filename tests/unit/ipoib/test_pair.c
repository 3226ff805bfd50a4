/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Failover pairs: who carries, in virtual time; what goes with the traffic from one interface to the other. */
#include <errno.h>

#include "lib/ipoib/iface/carry.h"
#include "link_rig.h"
#include "lib/ipoib/failover/pair_state.h"

#define IP_A 0x0a000001u
#define IP_B 0x0a000002u
#define PRIMARY 0
#define PEER 1
#define BACKUP 2

/* --- who carries ----------------------------------------------------------------------------------------------------- */

static enum ipoib_pair_why
step(struct ipoib_pair_state *s, bool primary, bool backup, uint64_t now)
{
	const bool up[IPOIB_PAIR_MEMBERS] = {primary, backup};

	return ipoib_pair_step(s, up, now);
}

static void
fails_over_and_back(void **state)
{
	struct ipoib_pair_state s;

	(void)state;
	ipoib_pair_reset(&s, true, 500);
	assert_int_equal(step(&s, false, false, 0), IPOIB_PAIR_STAY);
	assert_int_equal(step(&s, true, true, 10), IPOIB_PAIR_STAY);
	assert_int_equal(s.active, 0);
	assert_false(ipoib_pair_notice(&s, 10)); /* nobody has moved */
	assert_int_equal(step(&s, true, false, 20), IPOIB_PAIR_STAY);
	assert_int_equal(step(&s, false, true, 30), IPOIB_PAIR_FAILOVER);
	assert_int_equal(s.active, 1);
	/* The primary comes, goes and comes: it counts from the last time. */
	assert_int_equal(step(&s, true, true, 100), IPOIB_PAIR_STAY);
	assert_int_equal(step(&s, false, true, 400), IPOIB_PAIR_STAY);
	assert_int_equal(step(&s, true, true, 450), IPOIB_PAIR_STAY);
	assert_int_equal(step(&s, true, true, 949), IPOIB_PAIR_STAY);
	assert_int_equal(step(&s, true, true, 950), IPOIB_PAIR_FAILBACK);
	assert_int_equal(s.active, 0);
	/* Both gone: it stays; the first that comes has it, without delay. */
	assert_int_equal(step(&s, false, false, 1000), IPOIB_PAIR_STAY);
	assert_int_equal(s.active, 0);
	assert_int_equal(step(&s, false, true, 1100), IPOIB_PAIR_FAILOVER);
	assert_int_equal(step(&s, true, false, 1200), IPOIB_PAIR_FAILOVER);
	assert_int_equal(s.active, 0);
}

static void
stays_without_failback(void **state)
{
	struct ipoib_pair_state s;

	(void)state;
	ipoib_pair_reset(&s, false, 0);
	step(&s, true, true, 0);
	assert_int_equal(step(&s, false, true, 1), IPOIB_PAIR_FAILOVER);
	assert_int_equal(step(&s, true, true, 2), IPOIB_PAIR_STAY);
	assert_int_equal(step(&s, true, true, 1000000), IPOIB_PAIR_STAY);
	assert_int_equal(s.active, 1);
	assert_int_equal(step(&s, true, false, 1000001), IPOIB_PAIR_FAILOVER);
	assert_int_equal(s.active, 0);
}

static void
keeps_what_was_asked_for(void **state)
{
	struct ipoib_pair_state s;

	(void)state;
	ipoib_pair_reset(&s, true, 0);
	assert_int_equal(ipoib_pair_ask(&s, 0, 0), -ENETDOWN);
	step(&s, true, false, 1);
	assert_int_equal(ipoib_pair_ask(&s, 1, 2), -ENETDOWN);
	assert_int_equal(s.active, 0);
	step(&s, true, true, 3);
	assert_int_equal(ipoib_pair_ask(&s, 1, 4), 0);
	assert_int_equal(s.active, 1);
	assert_true(ipoib_pair_notice(&s, 4));
	assert_int_equal(step(&s, true, true, 100000), IPOIB_PAIR_STAY);
	/* It ends when it goes down, also if the other one is down, too. */
	assert_int_equal(step(&s, false, false, 100001), IPOIB_PAIR_STAY);
	assert_int_equal(step(&s, false, true, 100002), IPOIB_PAIR_STAY);
	assert_int_equal(step(&s, true, true, 100003), IPOIB_PAIR_FAILBACK);
}

static void
notices_are_repeated(void **state)
{
	struct ipoib_pair_state s;

	(void)state;
	ipoib_pair_reset(&s, true, 0);
	step(&s, true, true, 0);
	step(&s, false, true, 1000);
	assert_true(ipoib_pair_notice(&s, 1000));
	assert_false(ipoib_pair_notice(&s, 1999));
	assert_true(ipoib_pair_notice(&s, 2000));
	/* Nothing is told through a port that is down. */
	step(&s, false, false, 3000);
	assert_false(ipoib_pair_notice(&s, 3000));
	step(&s, false, true, 3500);
	assert_true(ipoib_pair_notice(&s, 3500));
	assert_false(ipoib_pair_notice(&s, 100000));
}

/* --- what goes along ------------------------------------------------------------------------------------------------- */

static struct rig rig;

static int
open_rig(void **state)
{
	rig_open(&rig);
	/* A pair has one MAC. */
	rig.node[BACKUP].core->mac = rig.node[PRIMARY].core->mac;
	rig_all_up(&rig);
	*state = &rig;
	return 0;
}

static int
close_rig(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

static void
forget_frames(void)
{
	unsigned int i;
	struct rte_mbuf *m;

	for (i = 0; i < RIG_NODES; i++) {
		while ((m = rig_take(&rig, i)) != NULL)
			rte_pktmbuf_free(m);
	}
}

/* The primary's host asks for the peer's address and is answered: the MAC that it knows the peer by. */
static struct rte_ether_addr
meet(void)
{
	struct rte_ether_addr mac, peer;
	struct rte_mbuf *m;

	rig_arp(&rig, PRIMARY, 1, IP_A, IP_B, NULL);
	rig_run(&rig, 5);
	m = rig_take(&rig, PEER);
	assert_non_null(m);
	memcpy(&mac, rte_pktmbuf_mtod_offset(m, uint8_t *, 14 + 8), 6);
	rte_pktmbuf_free(m);
	rig_arp(&rig, PEER, 2, IP_B, IP_A, &mac);
	rig_run(&rig, 5);
	m = rig_take(&rig, PRIMARY);
	assert_non_null(m);
	memcpy(&peer, rte_pktmbuf_mtod_offset(m, uint8_t *, 14 + 8), 6);
	rte_pktmbuf_free(m);
	forget_frames();
	return peer;
}

static void
move(unsigned int from, unsigned int to)
{
	struct ipoib_carry *y = ipoib_carry_take(rig.node[from].core);

	assert_non_null(y);
	ipoib_carry_give(rig.node[to].core, y);
	ipoib_carry_leave(rig.node[from].core);
	ipoib_carry_free(y);
	rig_run(&rig, 5);
}

static void
send_v4(unsigned int node, const struct rte_ether_addr *dst)
{
	uint8_t p[28] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 253};

	ib_put32(p + 12, IP_A);
	ib_put32(p + 16, IP_B);
	rig_send(&rig, node, dst, 0x0800, p, sizeof(p));
	rig_run(&rig, 5);
}

/* What the application knows a neighbour by is what the other port knows it by, whatever it has called it before. */
static void
names_go_along(void **state)
{
	static const struct rte_ether_addr other = {{2, 0, 0, 0, 0x77, 1}};
	struct rte_ether_addr peer;
	struct ipoib_hw hw;
	struct rte_mbuf *m;
	uint8_t gid[16] = {0xfe, 0x80};

	(void)state;
	/* The backup has heard of the peer under another name, and has given the peer's to somebody. */
	ib_put64(gid + 8, rig_guid(PEER));
	ipoib_hw_set(&hw, 0, rig_qpn(PEER), gid);
	ipoib_remote_name(rig.node[BACKUP].core, &hw, &other, true);
	peer = meet();
	ipoib_hw_set(&hw, 0, 0x999, gid);
	ipoib_remote_name(rig.node[BACKUP].core, &hw, &peer, true);
	assert_int_equal(rig.node[BACKUP].core->num_remotes, 3); /* and the primary */
	move(PRIMARY, BACKUP);
	assert_null(ipoib_remote_by_mac(rig.node[BACKUP].core, &other));
	send_v4(BACKUP, &peer);
	m = rig_take(&rig, PEER);
	assert_non_null(m);
	rte_pktmbuf_free(m);
	/* Later on only who is not known is named. */
	ipoib_hw_set(&hw, 0, rig_qpn(PEER), gid);
	ipoib_remote_name(rig.node[BACKUP].core, &hw, &other, false);
	assert_null(ipoib_remote_by_mac(rig.node[BACKUP].core, &other));
	ipoib_hw_set(&hw, 0, 0x998, gid);
	ipoib_remote_name(rig.node[BACKUP].core, &hw, &peer, false);
	assert_int_equal(ipoib_remote_by_mac(rig.node[BACKUP].core, &peer)->qpn, rig_qpn(PEER));
}

/* The peer knows two addresses by the new port's hardware address, without having asked. */
static void
neighbours_are_told(void **state)
{
	uint8_t v6[16] = {0xfe, 0x80, [15] = 1}, gid[16] = {0xfe, 0x80};
	const struct ipoib_local *l;
	struct ipoib_remote *r;
	struct ipoib_hw hw;
	struct rte_mbuf *m;
	const uint8_t *p;

	(void)state;
	meet();
	ipoib_local_seen(rig.node[PRIMARY].core, v6, &rig.node[PRIMARY].core->mac);
	ipoib_local_router(rig.node[PRIMARY].core, v6, true);
	move(PRIMARY, BACKUP);
	assert_int_equal(rig.node[BACKUP].core->num_locals, 2);
	forget_frames();
	assert_int_equal(ipoib_announce(rig.node[BACKUP].core), 2);
	rig_run(&rig, 5);
	ib_put64(gid + 8, rig_guid(BACKUP));
	ipoib_hw_set(&hw, 0, rig_qpn(BACKUP), gid);
	r = ipoib_remote_get(rig.node[PEER].core, &hw);
	assert_non_null(r);
	/* ARP: request of the sender for its own address (RFC 5227, 3). */
	m = rig_take(&rig, PEER);
	assert_non_null(m);
	p = rte_pktmbuf_mtod(m, const uint8_t *);
	assert_int_equal(ib_get16(p + 12), 0x0806);
	assert_memory_equal(p, "\xff\xff\xff\xff\xff\xff", 6);
	assert_int_equal(ib_get16(p + 14 + 6), 1);
	assert_memory_equal(p + 14 + 8, &r->mac, 6);
	assert_int_equal(ib_get32(p + 14 + 14), IP_A);
	assert_int_equal(ib_get32(p + 14 + 24), IP_A);
	rte_pktmbuf_free(m);
	/* Advertisement to all nodes: router, override, not solicited (RFC 4861, 4.4, 7.2.6). */
	m = rig_take(&rig, PEER);
	assert_non_null(m);
	p = rte_pktmbuf_mtod(m, const uint8_t *);
	assert_int_equal(ib_get16(p + 12), 0x86dd);
	assert_memory_equal(p, "\x33\x33\x00\x00\x00\x01", 6);
	assert_int_equal(p[14 + 7], 255);
	assert_memory_equal(p + 14 + 8, v6, 16);
	assert_int_equal(p[14 + 40], 136);
	assert_int_equal(p[14 + 44], 0xa0);
	assert_memory_equal(p + 14 + 48, v6, 16);
	assert_int_equal(p[14 + 64], 2);
	assert_memory_equal(p + 14 + 66, &r->mac, 6);
	rte_pktmbuf_free(m);
	assert_null(rig_take(&rig, PEER));
	assert_int_equal(rig.node[PEER].core->stats.drop[IPOIB_DROP_RX_ND], 0);
	/* To be told keeps no address alive. */
	l = &rig.node[BACKUP].core->local[0];
	rig.node[BACKUP].core->local[0].touched = 0;
	ipoib_announce(rig.node[BACKUP].core);
	assert_int_equal(l->touched, 0);
	forget_frames();
}

/* An address that has gone to somebody else meanwhile is not what the primary tells when it is back. */
static void
addresses_are_replaced(void **state)
{
	uint8_t ip[16];

	(void)state;
	meet();
	move(PRIMARY, BACKUP);
	rig.node[BACKUP].core->local[0].valid = false;
	rig.node[BACKUP].core->num_locals = 0;
	ipoib_v4_mapped((const uint8_t *)"\x0a\x00\x00\x09", ip);
	ipoib_local_seen(rig.node[BACKUP].core, ip, &rig.node[BACKUP].core->mac);
	move(BACKUP, PRIMARY);
	assert_int_equal(rig.node[PRIMARY].core->num_locals, 1);
	assert_memory_equal(rig.node[PRIMARY].core->local[0].ip, ip, 16);
	forget_frames();
}

static void
groups_go_along(void **state)
{
	static const uint8_t group[4] = {239, 1, 2, 3};
	struct ipoib_core *from, *to;
	uint8_t mgid[16], listed[16];
	struct rte_mbuf *m;
	const uint8_t *p;

	(void)state;
	from = rig.node[PRIMARY].core;
	to = rig.node[BACKUP].core;
	ipoib_mgid_v4(0xffff, 2, group, mgid);
	ipoib_mgid_v4(0xffff, 2, (const uint8_t *)"\xef\x01\x02\x04", listed);
	ipoib_group_want(from, mgid, IPOIB_WHY_SNOOP);
	ipoib_group_want(from, listed, IPOIB_WHY_MAC);
	rig_run(&rig, 5);
	move(PRIMARY, BACKUP);
	assert_non_null(ipoib_group_find(to, mgid));
	assert_int_equal(ipoib_group_find(to, mgid)->state, IPOIB_GROUP_JOINED);
	assert_true(ipoib_group_find(to, mgid)->attached);
	assert_null(ipoib_group_find(from, mgid));
	/* Lists of the application are the ethdev's business. */
	assert_null(ipoib_group_find(to, listed));
	assert_non_null(ipoib_group_find(from, listed));
	/* The hosts are asked to report again: a general query of IGMP. */
	m = rig_take(&rig, BACKUP);
	assert_non_null(m);
	p = rte_pktmbuf_mtod(m, const uint8_t *);
	assert_int_equal(p[14 + 9], 2);
	assert_int_equal(p[14 + 24], 0x11);
	rte_pktmbuf_free(m);
	assert_null(rig_take(&rig, BACKUP));
}

/* The port that goes on knows what came through the other one a moment ago. */
static void
neighbours_of_the_last_moment(void **state)
{
	const struct ipoib_meta meta = {.qpn = 0x777, .slid = 9};
	struct ipoib_carry *y;
	struct rte_ether_addr peer;
	struct rte_mbuf *m;
	unsigned int known, i;
	uint8_t *at;

	(void)state;
	move(PRIMARY, BACKUP);
	peer = meet();
	/* Of whom there is no more than a LID, which says nothing at the other port. */
	m = rte_pktmbuf_alloc(rig.pool);
	assert_non_null(m);
	at = rig_room(m, 40 + 4 + 28);
	memset(at, 0, 40 + 4 + 28);
	at[40] = 8;
	memcpy(at + 44, "\x45\0\0\x1c", 4);
	ipoib_core_rx(rig.node[PRIMARY].core, m, &meta);
	m = rig_take(&rig, PRIMARY);
	assert_non_null(m);
	rte_pktmbuf_free(m);
	known = rig.node[PRIMARY].core->num_remotes;
	assert_true(known >= 2);
	y = ipoib_carry_take(rig.node[PRIMARY].core);
	assert_non_null(y);
	ipoib_carry_neighbours(rig.node[BACKUP].core, y);
	ipoib_carry_free(y);
	send_v4(BACKUP, &peer);
	m = rig_take(&rig, PEER);
	assert_non_null(m);
	rte_pktmbuf_free(m);
	/* Nor does it go along when all does, under its name of here. */
	move(PRIMARY, BACKUP);
	for (i = 0; i < IPOIB_REMOTES; i++) {
		const struct ipoib_remote *r = rig.node[BACKUP].core->remote[i];

		assert_true(r == NULL || r->named);
		assert_true(r == NULL || r->qpn == rig_qpn(PEER) || r->qpn == rig_qpn(PRIMARY));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fails_over_and_back),
		cmocka_unit_test(stays_without_failback),
		cmocka_unit_test(keeps_what_was_asked_for),
		cmocka_unit_test(notices_are_repeated),
		cmocka_unit_test_setup_teardown(names_go_along, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(neighbours_are_told, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(addresses_are_replaced, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(groups_go_along, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(neighbours_of_the_last_moment, open_rig, close_rig),
	};

	return cmocka_run_group_tests_name("ipoib_pair", tests, NULL, NULL);
}
