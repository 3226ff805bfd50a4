/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The small manager on fabrics in memory. What it set up is judged by packets that the switches' tables forward, by what the
 * ports were told, and by a client of the administrator on other ports.
 */
#include "sm_rig.h"

#include <errno.h>
#include <stdlib.h>

/* --- links and ways ------------------------------------------------------------------------------------------------- */

static void
test_cable(void **state)
{
	struct tp_sm_stats st;
	struct tp_sm *sm;

	(void)state;
	fab_up(&fab);
	fab_adapter(&fab, 0, GUID(1), 2);
	fab_cable(&fab, 0, 1, 0, 2);
	sm = sm_manage(0, 0);
	fab_run(&fab, 50);
	st = sm_stats(sm);
	assert_true(st.up);
	assert_int_equal(st.role, TP_SM_MASTER);
	assert_int_equal(st.nodes, 1);
	assert_int_equal(st.ports, 2);
	assert_int_equal(st.failed, 0);
	for (unsigned int p = 1; p <= 2; p++) {
		assert_int_equal(fab_state(&fab, 0, p), 4);
		assert_int_equal(fab_lid(&fab, 0, p), p);
		assert_int_equal(ib_get16(fab.node[0].port[p].info + 18), 1);
		assert_int_equal(fab.node[0].port[p].registered, 1);
		/* Both ends could have 4096. */
		assert_int_equal(fab.node[0].port[p].info[36] >> 4, 5);
		assert_int_equal(ib_get16(fab.node[0].port[p].pkeys), 0xffff);
		assert_int_equal(ib_get16(fab.node[0].port[p].pkeys + 2), 0);
	}
	/* Further sweeps find nothing to set. */
	fab_run(&fab, 1000);
	assert_in_range(sm_stats(sm).sweeps, 8, 11);
	assert_int_equal(fab.node[0].port[2].registered, 1);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

static void
test_star(void **state)
{
	struct tp_sa_path path;
	struct tp_sa *sa, *own;
	struct tp_sm *sm;

	(void)state;
	sm_star(5);
	sm = sm_manage(2, 0);
	sa = sm_client(4);
	own = sm_client(2);
	fab_run(&fab, 100);
	assert_whole(1, 5);
	assert_int_equal(sm_stats(sm).switches, 1);
	assert_int_equal(sm_stats(sm).nodes, 6);
	assert_int_equal(fab_unicast(&fab, fab_port(&fab, 1, 1), fab_lid(&fab, 0, 0))->node, 0);
	for (unsigned int i = 1; i <= 5; i++) {
		assert_int_equal(sm_ask_path(sa, i, 0xffff, &path), 0);
		assert_int_equal(path.dlid, fab_lid(&fab, i, 1));
		assert_int_equal(path.slid, fab_lid(&fab, 4, 1));
		assert_int_equal(path.mtu, IBV_MTU_4096);
		assert_int_equal(path.rate, IBV_RATE_40_GBPS);
		assert_true(path.reversible);
	}
	/* Who asks on the manager's own port is answered, too. */
	assert_int_equal(sm_ask_path(own, 5, 0xffff, &path), 0);
	assert_int_equal(path.dlid, fab_lid(&fab, 5, 1));
	assert_int_equal(sm_ask_path(own, 9, 0xffff, NULL), -ENOENT);
	assert_int_equal(sm_ask_path(own, 5, 0x8005, NULL), -ENOENT);
	tp_sa_destroy(sa);
	tp_sa_destroy(own);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/* Whoever sends, though the switches are a ring with a double side. */
static void
test_ring(void **state)
{
	static const unsigned int members[] = {3, 5, 8};
	const struct tp_sa_member want = {.mgid = broadcast, .join_state = TP_SA_FULL};
	struct tp_sa_member got;
	struct tp_sa *sa[3];
	struct tp_sm *sm;
	uint16_t mlid = 0;

	(void)state;
	sm_ring();
	sm = sm_manage(6, 3);
	fab_run(&fab, 200);
	assert_whole(3, 8);
	assert_true(sm_stats(sm).up);
	for (unsigned int i = 0; i < 3; i++) {
		sa[i] = sm_client(members[i]);
		assert_int_equal(sm_join(sa[i], &want, 0, &got), 0);
		mlid = got.mlid;
	}
	assert_int_equal(mlid, 0xc000);
	fab_run(&fab, 100);
	assert_int_equal(sm_copies_from(4, mlid), 3);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(fab.node[members[i]].port[1].rx, 1);
	assert_int_equal(sm_copies_from(7, mlid), 3);
	/* From a member: the others. */
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(sm_copies_from(members[i], mlid), 2);
	assert_int_equal(sm_leave(sa[1], &broadcast, TP_SA_FULL), 0);
	fab_run(&fab, 100);
	assert_int_equal(sm_copies_from(4, mlid), 2);
	assert_int_equal(sm_copies_from(5, mlid), 2);
	assert_int_equal(sm_copies_from(8, mlid), 1);
	for (unsigned int i = 0; i < 3; i++)
		tp_sa_destroy(sa[i]);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/*
 * The first port of a switch leads on as any other does. Who was away behind a switch has a link that was up all the time,
 * but is in no group any more: it is told to register anew.
 */
static void
test_chain(void **state)
{
	struct tp_sm *sm;

	(void)state;
	fab_up(&fab);
	for (unsigned int i = 0; i < 3; i++)
		fab_switch(&fab, i, SWITCH(i + 1), FAB_PORTS);
	fab_cable(&fab, 0, 7, 1, 8);
	fab_cable(&fab, 1, 1, 2, 2);
	fab_adapter(&fab, 3, GUID(3), 1);
	fab_cable(&fab, 3, 1, 0, 1);
	fab_adapter(&fab, 4, GUID(4), 1);
	fab_cable(&fab, 4, 1, 2, 1);
	sm = sm_manage(3, 0);
	fab_run(&fab, 200);
	assert_whole(3, 4);
	assert_int_equal(fab.node[4].port[1].registered, 1);
	fab_cut(&fab, 1, 1);
	fab_run(&fab, 1000);
	assert_int_equal(sm_stats(sm).switches, 2);
	assert_int_equal(fab_state(&fab, 4, 1), 4);
	fab_cable(&fab, 1, 1, 2, 2);
	fab_run(&fab, 1000);
	assert_whole(3, 4);
	assert_int_equal(fab.node[3].port[1].registered, 1);
	assert_int_equal(fab.node[4].port[1].registered, 2);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/* Members behind ports that are in different blocks of the switch's table (14.2.5.12). */
static void
test_far_ports(void **state)
{
	static const unsigned int port[] = {1, 15, 16, 17, 20};
	const struct tp_sa_member want = {.mgid = broadcast, .join_state = TP_SA_FULL};
	struct tp_sa_member got = {.mlid = 0};
	struct tp_sa *sa[5];
	struct tp_sm *sm;

	(void)state;
	fab_up(&fab);
	fab_switch(&fab, 0, SWITCH(1), FAB_PORTS);
	for (unsigned int i = 0; i < 5; i++) {
		fab_adapter(&fab, i + 1, GUID(i + 1), 1);
		fab_cable(&fab, i + 1, 1, 0, port[i]);
	}
	sm = sm_manage(1, 0);
	fab_run(&fab, 200);
	assert_whole(1, 5);
	for (unsigned int i = 0; i < 5; i++) {
		sa[i] = sm_client(i + 1);
		assert_int_equal(sm_join(sa[i], &want, 0, &got), 0);
	}
	fab_run(&fab, 200);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(sm_copies_from(i + 1, got.mlid), 4);
	for (unsigned int i = 0; i < 5; i++)
		tp_sa_destroy(sa[i]);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/* Whoever is gone is in no table, though it was the last one that was found. */
static void
test_gone(void **state)
{
	struct tp_sm *sm;
	uint16_t lid;

	(void)state;
	sm_star(4);
	sm = sm_manage(1, 0);
	fab_run(&fab, 500);
	assert_whole(1, 4);
	lid = fab_lid(&fab, 4, 1);
	assert_int_equal(fab.node[0].lft[lid], 4);
	fab_cut(&fab, 4, 1);
	fab_run(&fab, 1000);
	assert_whole(1, 3);
	assert_int_equal(fab.node[0].lft[lid], 255);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

static void
test_cables_move(void **state)
{
	struct tp_sm *sm;
	uint16_t lid;

	(void)state;
	sm_ring();
	sm = sm_manage(3, 0);
	fab_run(&fab, 300);
	assert_whole(3, 8);
	/* One side of the ring less, then another: 1 is still reached by the second cable. */
	fab_cut(&fab, 1, 7);
	fab_cut(&fab, 0, 7);
	fab_run(&fab, 500);
	assert_whole(3, 8);
	/* An adapter goes away, and comes back at another switch: its LID stays, and it registers anew. */
	lid = fab_lid(&fab, 8, 1);
	assert_int_equal(fab.node[8].port[1].registered, 1);
	fab_cut(&fab, 8, 1);
	fab_run(&fab, 500);
	assert_int_equal(sm_stats(sm).ports, 2 * 5 + 2 * 2);
	assert_null(fab_unicast(&fab, fab_port(&fab, 3, 1), lid));
	fab_cable(&fab, 8, 1, 0, 3);
	fab_run(&fab, 500);
	assert_whole(3, 8);
	assert_int_equal(fab_lid(&fab, 8, 1), lid);
	assert_int_equal(fab.node[8].port[1].registered, 2);
	/* A new one. */
	fab_adapter(&fab, 9, GUID(9), 1);
	fab_cable(&fab, 9, 1, 2, 4);
	fab_run(&fab, 500);
	assert_whole(3, 9);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/* One that does not answer is no reason not to serve the others. */
static void
test_deaf(void **state)
{
	struct tp_sm *sm;

	(void)state;
	sm_star(4);
	fab.node[3].deaf = true;
	sm = sm_manage(1, 0);
	fab_run(&fab, 4000);
	assert_int_equal(fab_state(&fab, 1, 1), 4);
	assert_int_equal(fab_state(&fab, 4, 1), 4);
	assert_false(sm_stats(sm).up);
	assert_in_range(sm_stats(sm).failed, 1, 100);
	fab.node[3].deaf = false;
	fab_run(&fab, 4000);
	assert_whole(1, 4);
	assert_true(sm_stats(sm).up);
	/* Silent for the time of one look: nothing is cut. */
	fab.node[3].deaf = true;
	fab_run(&fab, 2000);
	assert_false(sm_stats(sm).up);
	assert_whole(1, 4);
	/* For longer: it is believed. */
	fab_run(&fab, 6000);
	assert_null(fab_unicast(&fab, fab_port(&fab, 1, 1), fab_lid(&fab, 3, 1)));
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/* --- refusals ----------------------------------------------------------------------------------------------------------- */

static void
test_refused(void **state)
{
	const struct tp_sm_conf bad[] = {{.sweep_ms = TP_SM_SWEEP_MS_MIN - 1},
					 {.sweep_ms = TP_SM_SWEEP_MS_MAX + 1},
					 {.priority = 16},
					 {.num_pkeys = TP_SM_PKEYS},
					 {.num_pkeys = 1, .pkeys = {0x8000}}};
	struct tp_mad_stats before, after;
	struct tp_sm *sm, *again;

	(void)state;
	sm_star(2);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(tp_sm_create(fab_mad(&fab, 1, 1), &bad[i], &sm), -EINVAL);
	sm = sm_manage(1, 0);
	assert_int_equal(tp_sm_create(fab_mad(&fab, 1, 1), NULL, &again), -EBUSY);
	fab_run(&fab, 150);
	/* In the middle of a sweep. */
	tp_mad_stats_get(fab_mad(&fab, 1, 1), &before);
	tp_sm_destroy(sm);
	fab_run(&fab, 3000);
	tp_mad_stats_get(fab_mad(&fab, 1, 1), &after);
	assert_int_equal(before.sent, after.sent);
	assert_int_equal(fab_state(&fab, 2, 1), 4);
	fab_down(&fab);
}

/* --- what is asked and set, octet by octet ------------------------------------------------------------------------------ */

/*
 * A switch of 8 ports with 3 adapters, the manager's at port 1. It asks: of its own node NodeInfo, description, PortInfo; of the
 * switch NodeInfo, description, SwitchInfo and PortInfo of ports 0 to 8; of each other adapter NodeInfo, description, PortInfo:
 * 3 + 12 + 6. Each time it sets SwitchInfo, three blocks of 64 of the 129 LIDs from 0, and two blocks of 32 of the 64 groups: 6.
 * The first time the LID of the switch (1), LIDs and keys of the adapters (6), and the six ends of links ARMED and ACTIVE.
 */
static void
test_nothing_in_vain(void **state)
{
	struct tp_sm_stats first, later;
	struct tp_sm *sm;

	(void)state;
	sm_star(3);
	sm = sm_manage(1, 0);
	fab_run(&fab, 50);
	first = sm_stats(sm);
	assert_int_equal(first.sweeps, 1);
	assert_int_equal(first.requests, 21 + 6 + 1 + 6 + 6 + 6);
	assert_int_equal(first.failed, 0);
	fab_run(&fab, 1000);
	later = sm_stats(sm);
	assert_int_equal(later.sweeps, 11);
	assert_int_equal(later.requests - first.requests, 10 * 27);
	assert_true(later.up);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/* PortInfo and SwitchInfo as they are set (14.2.5.4, 14.2.5.6): 0 is "as it is" of states, widths and speeds. */
static void
test_what_is_set(void **state)
{
	static const unsigned int states[] = {0, 3, 4};
	struct tp_sm *sm;

	(void)state;
	sm_star(3);
	for (unsigned int i = 1; i <= 3; i++) {
		uint8_t *d = fab.node[i].port[1].info;

		d[29] = d[63] = 0x0f; /* enabled widths and speeds */
		d[33] = 0x52;
		d[34] = 0xc3; /* protection, LMC 3 */
		d[36] = 0x1b;
		d[51] = 0x85;
		fab.node[0].port[i].info[36] = 0x1b;
	}
	/* One that cannot be told to register, and a link whose other end takes no more than 2048 octets. */
	fab.node[3].port[1].info[20] = 0;
	fab.node[0].port[2].info[41] = 4;
	sm = sm_manage(1, 0);
	fab_run(&fab, 100);
	assert_whole(1, 3);
	for (unsigned int i = 1; i <= 3; i++) {
		const struct fab_port *p = &fab.node[i].port[1];
		uint8_t mtu = i == 2 ? 4 : 5;

		assert_int_equal(p->num_set, 3);
		for (unsigned int k = 0; k < 3; k++) {
			const uint8_t *d = p->set[k];

			assert_int_equal(ib_get64(d + 8), 0xfe80000000000000ull);
			assert_int_equal(ib_get16(d + 16), fab_lid(&fab, i, 1));
			assert_int_equal(ib_get16(d + 18), fab_lid(&fab, 1, 1));
			assert_int_equal(ib_get32(d + 20), ib_get32(p->info + 20));
			assert_int_equal(d[29], 0);
			assert_int_equal(d[32] & 0xf, states[k]);
			assert_int_equal(d[33], 0);
			assert_int_equal(d[34], 0);
			assert_int_equal(d[35], 0x40);
			assert_int_equal(d[36], mtu << 4); /* and service level 0 for the manager */
			assert_int_equal(d[63], 0);
		}
		/* To register anew is said once; answers take 4.096 us * 2^18. */
		assert_int_equal(p->set[0][51], i == 3 ? 18 : 0x80 | 18);
		assert_int_equal(p->set[1][51] & 0x80, 0);
		assert_int_equal(p->set[2][51] & 0x80, 0);
		/* Of the switch's port the level is not looked at. */
		assert_int_equal(fab.node[0].port[i].num_set, 2);
		assert_int_equal(fab.node[0].port[i].set[1][36], mtu << 4 | 0xb);
		assert_int_equal(fab.node[0].port[i].set[1][32] & 0xf, 4);
	}
	assert_int_equal(fab.node[0].port[0].num_set, 1);
	assert_int_equal(ib_get16(fab.node[0].port[0].set[0] + 16), fab_lid(&fab, 0, 0));
	/* LIDs up to 128 in the linear table; packets live 2^18, changes of state are known. The rest is as it was. */
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(fab.node[0].switch_set[i], i == 6 ? 0 : i == 7 ? 128 : i == 11 ? 18 << 3 | 4 : 0x11);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/* Ports keep LIDs of a manager before us, but not one that another has, and none that is beyond the tables. */
static void
test_lids_are_kept(void **state)
{
	static const uint16_t had[] = {0, 7, 7, 129, 128, 0, 1};
	struct tp_sm *sm;

	(void)state;
	sm_star(6);
	for (unsigned int i = 1; i <= 6; i++)
		ib_put16(fab.node[i].port[1].info + 16, had[i]);
	sm = sm_manage(1, 0);
	fab_run(&fab, 100);
	assert_whole(1, 6);
	assert_int_equal(fab_lid(&fab, 1, 1), 7);
	assert_int_equal(fab_lid(&fab, 4, 1), 128);
	assert_int_equal(fab_lid(&fab, 6, 1), 1);
	for (unsigned int i = 2; i <= 5; i++)
		assert_in_range(fab_lid(&fab, i, 1), 2, 128);
	assert_true(sm_stats(sm).up);
	/* Whoever has the first of them, and was away, registers anew. */
	assert_int_equal(fab.node[6].port[1].registered, 1);
	fab_cut(&fab, 6, 1);
	fab_run(&fab, 500);
	fab_cable(&fab, 6, 1, 0, 6);
	fab_run(&fab, 500);
	assert_int_equal(fab_lid(&fab, 6, 1), 1);
	assert_int_equal(fab.node[6].port[1].registered, 2);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/* A node with more ports than we care for, or with none, is left out; the others are served. */
static void
test_odd_nodes(void **state)
{
	static const struct {
		uint8_t says;
		bool none, served;
	} row[] = {{36, false, true}, {37, false, false}, {255, false, false}, {0, true, false}};

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct tp_sm *sm;

		sm_star(3);
		fab.node[3].says_ports = row[i].says;
		fab.node[3].says_none = row[i].none;
		sm = sm_manage(1, 0);
		fab_run(&fab, 3000);
		assert_whole(1, 2);
		assert_int_equal(sm_stats(sm).up, row[i].served);
		assert_int_equal(sm_stats(sm).nodes, row[i].served ? 4 : 3);
		assert_int_equal(fab_lid(&fab, 3, 1) != 0, row[i].served);
		tp_sm_destroy(sm);
		fab_down(&fab);
	}
}

/* Who begins where a class is served already leaves nothing behind. */
static void
test_class_taken(void **state)
{
	const struct tp_mad_agent_conf conf = {.qpn = 1,
					       .mgmt_class = MAD_CLASS_SA,
					       .class_version = 2,
					       .methods = {1ull << MAD_GET, 0},
					       .recv = (void (*)(void *, const struct tp_mad_msg *))abort};
	struct tp_mad_agent *agent;
	struct tp_sm *sm;

	(void)state;
	sm_star(2);
	assert_int_equal(tp_mad_register(fab_mad(&fab, 1, 1), &conf, &agent), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(tp_sm_create(fab_mad(&fab, 1, 1), NULL, &sm), -EBUSY);
	fab_run(&fab, 2000);
	assert_int_equal(fab.smps, 0);
	tp_mad_unregister(agent);
	sm = sm_manage(1, 0);
	fab_run(&fab, 200);
	assert_whole(1, 2);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/* Keys of partitions differ in any of 15 bits. */
static void
test_keys(void **state)
{
	static const uint16_t good[][2] = {{0x4005, 0x0005}, {0x8001, 0x0002}, {0x7ffe, 0xbfff}};
	struct tp_sm *sm;

	(void)state;
	sm_star(2);
	sm = sm_manage(1, 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(tp_sm_partitions(sm, good[i], 2), 0);
		fab_run(&fab, 100);
		assert_int_equal(ib_get16(fab.node[2].port[1].pkeys + 2), good[i][0]);
		assert_int_equal(ib_get16(fab.node[2].port[1].pkeys + 4), good[i][1]);
		assert_int_equal(sm_stats(sm).groups, 3);
	}
	tp_sm_destroy(sm);
	assert_string_equal(tp_sm_role_name(TP_SM_NOT_ACTIVE), "not-active");
	assert_string_equal(tp_sm_role_name(TP_SM_MASTER), "master");
	assert_string_equal(tp_sm_role_name(4), "unknown");
	fab_down(&fab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cable),       cmocka_unit_test(test_star),
		cmocka_unit_test(test_ring),        cmocka_unit_test(test_cables_move),
		cmocka_unit_test(test_deaf),        cmocka_unit_test(test_refused),
		cmocka_unit_test(test_chain),       cmocka_unit_test(test_far_ports),
		cmocka_unit_test(test_gone),        cmocka_unit_test(test_nothing_in_vain),
		cmocka_unit_test(test_what_is_set), cmocka_unit_test(test_lids_are_kept),
		cmocka_unit_test(test_keys),        cmocka_unit_test(test_odd_nodes),
		cmocka_unit_test(test_class_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
