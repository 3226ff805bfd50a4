/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The small administrator: groups, partitions, records, as clients on other ports see them. */
#include "sm_rig.h"

#include <errno.h>
#include <stdlib.h>

/* --- groups --------------------------------------------------------------------------------------------------------- */

static void
test_groups(void **state)
{
	struct tp_sa_member want = sm_group(0x07, TP_SA_FULL), got;
	struct tp_sa *a, *b;
	struct tp_sm *sm;

	(void)state;
	sm_star(3);
	sm = sm_manage(1, 0);
	a = sm_client(2);
	b = sm_client(3);
	fab_run(&fab, 100);
	/* A group that nobody has made cannot be joined without what makes it. */
	assert_int_equal(sm_join(a, &want, 0, NULL), -EINVAL);
	/* Nor by who only sends. */
	want.join_state = TP_SA_SEND_ONLY;
	assert_int_equal(sm_join(a, &want, TO_MAKE, NULL), -EINVAL);
	want.join_state = TP_SA_FULL;
	want.pkey = 0x8123;
	assert_int_equal(sm_join(a, &want, TO_MAKE, NULL), -EINVAL);
	want.pkey = 0xffff;
	assert_int_equal(sm_stats(sm).groups, 1);
	assert_int_equal(sm_join(a, &want, TO_MAKE, &got), 0);
	assert_int_equal(sm_stats(sm).groups, 2);
	assert_int_equal(got.mlid, 0xc001);
	assert_int_equal(got.mtu, IBV_MTU_4096);
	assert_int_equal(got.rate, IBV_RATE_40_GBPS);
	assert_int_equal(got.join_state, TP_SA_FULL);
	/* What does not agree with it. */
	want.qkey = 1;
	assert_int_equal(sm_join(b, &want, TO_MAKE, NULL), -EINVAL);
	want.qkey = 0x0b1b;
	want.mtu_selector = TP_SA_GREATER;
	want.mtu = IBV_MTU_4096;
	assert_int_equal(sm_join(b, &want, TP_SA_MC_MTU_SELECTOR | TP_SA_MC_MTU, NULL), -EINVAL);
	/* Who only sends gets nothing. */
	want.join_state = TP_SA_SEND_ONLY;
	assert_int_equal(sm_join(b, &want, 0, &got), 0);
	fab_run(&fab, 100);
	assert_int_equal(sm_copies_from(1, 0xc001), 1);
	assert_int_equal(fab.node[2].port[1].rx, 1);
	want.join_state = TP_SA_FULL;
	assert_int_equal(sm_join(b, &want, 0, &got), 0);
	assert_int_equal(got.join_state, TP_SA_FULL | TP_SA_SEND_ONLY);
	fab_run(&fab, 100);
	assert_int_equal(sm_copies_from(1, 0xc001), 2);
	/* It ends with its last full member. */
	assert_int_equal(sm_leave(a, &want.mgid, TP_SA_FULL), 0);
	assert_int_equal(sm_leave(a, &want.mgid, TP_SA_FULL), -EINVAL);
	assert_int_equal(sm_stats(sm).groups, 2);
	assert_int_equal(sm_leave(b, &want.mgid, TP_SA_FULL), 0);
	assert_int_equal(sm_stats(sm).groups, 1);
	fab_run(&fab, 100);
	assert_int_equal(sm_copies_from(1, 0xc001), 0);
	tp_sa_destroy(a);
	tp_sa_destroy(b);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/* A member that goes is one no more; all groups there can be, and one more. */
static void
test_groups_end(void **state)
{
	struct tp_sa_member want = sm_group(0x07, TP_SA_FULL);
	struct tp_sa *a;
	struct tp_sm *sm;

	(void)state;
	sm_star(3);
	sm = sm_manage(1, 0);
	a = sm_client(2);
	fab_run(&fab, 100);
	for (unsigned int i = 1; i < TP_SM_GROUPS; i++) {
		want.mgid.raw[15] = (uint8_t)i;
		assert_int_equal(sm_join(a, &want, TO_MAKE, NULL), 0);
	}
	want.mgid.raw[15] = TP_SM_GROUPS;
	assert_int_equal(sm_join(a, &want, TO_MAKE, NULL), -ENOBUFS);
	assert_int_equal(sm_stats(sm).groups, TP_SM_GROUPS);
	fab_cut(&fab, 2, 1);
	fab_run(&fab, 500);
	assert_int_equal(sm_stats(sm).groups, 1);
	tp_sa_destroy(a);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/* --- partitions ------------------------------------------------------------------------------------------------------ */

static void
test_partitions(void **state)
{
	static const uint16_t keys[] = {0x8005, 0x0006}, bad[][2] = {{0, 0}, {0x8000, 1}, {0xffff, 1}, {0x8005, 5}};
	struct tp_sa_member want = {.mgid = broadcast, .join_state = TP_SA_FULL}, got;
	uint16_t many[TP_SM_PKEYS];
	struct tp_sa_path path;
	struct tp_sa *sa;
	struct tp_sm *sm;

	(void)state;
	sm_star(3);
	sm = sm_manage(1, 0);
	sa = sm_client(2);
	fab_run(&fab, 100);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(tp_sm_partitions(sm, bad[i], 2), -EINVAL);
	for (unsigned int i = 0; i < TP_SM_PKEYS; i++)
		many[i] = (uint16_t)(i + 1);
	assert_int_equal(tp_sm_partitions(sm, many, TP_SM_PKEYS), -EINVAL);
	assert_int_equal(sm_ask_path(sa, 3, 0x8005, NULL), -ENOENT);
	assert_int_equal(tp_sm_partitions(sm, keys, 2), 0);
	fab_run(&fab, 100);
	for (unsigned int i = 1; i <= 3; i++) {
		assert_int_equal(ib_get16(fab.node[i].port[1].pkeys), 0xffff);
		assert_int_equal(ib_get16(fab.node[i].port[1].pkeys + 2), 0x8005);
		assert_int_equal(ib_get16(fab.node[i].port[1].pkeys + 4), 0x0006);
		assert_int_equal(ib_get16(fab.node[i].port[1].pkeys + 6), 0);
		assert_int_equal(fab.node[i].port[1].registered, 2);
	}
	assert_int_equal(sm_ask_path(sa, 3, 0x8005, &path), 0);
	assert_int_equal(path.pkey, 0x8005);
	/* Limited members do not talk to each other. */
	assert_int_equal(sm_ask_path(sa, 3, 0x0006, NULL), -ENOENT);
	/* Each partition has its broadcast group. */
	want.mgid.raw[4] = 0x80;
	want.mgid.raw[5] = 0x05;
	assert_int_equal(sm_join(sa, &want, 0, &got), 0);
	assert_int_equal(got.pkey, 0x8005);
	assert_int_equal(tp_sm_partitions(sm, NULL, 0), 0);
	fab_run(&fab, 100);
	assert_int_equal(ib_get16(fab.node[2].port[1].pkeys + 2), 0);
	assert_int_equal(sm_join(sa, &want, 0, NULL), -EINVAL);
	tp_sa_destroy(sa);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/* --- records ---------------------------------------------------------------------------------------------------------- */

static void
test_records(void **state)
{
	uint8_t rec[64] = {0};
	struct tp_sa *sa;
	struct tp_sm *sm;
	struct answer a;

	(void)state;
	sm_ring();
	sm = sm_manage(3, 7);
	sa = sm_client(7);
	fab_run(&fab, 200);
	/* All nodes: six adapters, three switches. */
	a = sm_ask(sa, SA_GET_TABLE, SA_ATTR_NODE, 0, NULL, 0);
	assert_int_equal(a.status, 0);
	assert_int_equal(a.n, 9);
	assert_int_equal(a.stride, 112);
	free(a.records);
	/* One of them by its LID. */
	ib_put16(rec, fab_lid(&fab, 5, 1));
	a = sm_ask(sa, MAD_GET, SA_ATTR_NODE, 1, rec, 2);
	assert_int_equal(a.n, 1);
	assert_int_equal(ib_get64(a.records + 4 + 12), GUID(5));
	assert_string_equal((char *)a.records + 44, "adapter");
	free(a.records);
	ib_put16(rec, 0x77);
	assert_int_equal(sm_ask(sa, MAD_GET, SA_ATTR_NODE, 1, rec, 2).status, -ENOENT);
	/* Several, where one is asked for. */
	assert_int_not_equal(sm_ask(sa, MAD_GET, SA_ATTR_NODE, 0, rec, 2).status, 0);
	/* Ports: one of each adapter, eight and the 0th of each switch. */
	a = sm_ask(sa, SA_GET_TABLE, SA_ATTR_PORT_INFO, 0, NULL, 0);
	assert_int_equal(a.n, 6 + 3 * 9);
	free(a.records);
	/* The whole of all paths, from each of nine to each of nine: RMPP of 24 segments. */
	a = sm_ask(sa, SA_GET_TABLE, SA_ATTR_PATH, 0, NULL, 0);
	assert_int_equal(a.status, 0);
	assert_int_equal(a.n, 81);
	free(a.records);
	/* Managers. */
	a = sm_ask(sa, SA_GET_TABLE, SA_ATTR_SM_INFO, 0, NULL, 0);
	assert_int_equal(a.status, 0);
	assert_int_equal(a.n, 1);
	assert_int_equal(ib_get16(a.records), fab_lid(&fab, 3, 1));
	assert_int_equal(ib_get64(a.records + 4), GUID(3) + 1);
	assert_int_equal(a.records[24], 7 << 4 | 3);
	free(a.records);
	a = sm_ask(sa, MAD_GET, MAD_ATTR_CLASS_PORT_INFO, 0, NULL, 0);
	assert_int_equal(a.status, 0);
	free(a.records);
	/* What it does not know. */
	assert_int_not_equal(sm_ask(sa, SA_GET_TABLE, 0x31, 0, NULL, 0).status, 0);
	assert_in_range(sm_stats(sm).sa_refused, 3, 3);
	tp_sa_destroy(sa);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_groups_end),
		cmocka_unit_test(test_partitions),
		cmocka_unit_test(test_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
