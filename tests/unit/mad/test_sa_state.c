/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Events, groups, tables, and the bounds of what is kept. */
#include "sa_rig.h"

/* An event between a question about what is known and its answer: told, and forgotten. */
static void
what_is_told_after_an_event_is_not_kept(void **state)
{
	union ibv_gid g = gid(1);
	struct told t = {0}, goes = {0};
	struct tp_sa_stats st;
	struct tp_sa_path p;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t), 0);
		rig_run(&r, RIG_MS);
		assert_int_equal(num_asked, i + 1);
		assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, i == 0 ? &t : &goes), 0);
		tp_sa_event(sa, IBV_EVENT_SM_CHANGE);
		assert_false(tp_sa_path_cached(sa, &g, PKEY, &p));
		if (i == 1)
			assert_int_equal(tp_sa_cancel(sa, &goes), 1);
		rig_run(&r, RIG_MS);
		assert_false(tp_sa_path_cached(sa, &g, PKEY, &p));
	}
	assert_int_equal(t.num, 3);
	assert_int_equal(goes.num, 0);
	tp_sa_stats_get(sa, &st);
	assert_int_equal(st.paths, 0);
	assert_int_equal(st.waiting, 0);
}

/* Another manager: what was known is not, and what is under way is asked of the new one. */
static void
events_make_all_new(void **state)
{
	union ibv_gid known = gid(1), unknown = gid(2);
	struct told t[2] = {{0}};
	struct tp_sa_path p;

	(void)state;
	assert_int_equal(tp_sa_path(sa, &known, PKEY, on_path, &t[0]), 0);
	rig_run(&r, RIG_MS);
	r.port[0].state.sm_lid = 0x99; /* nobody there */
	assert_int_equal(tp_sa_path(sa, &unknown, PKEY, on_path, &t[1]), 0);
	rig_run(&r, 500 * RIG_MS);
	assert_int_equal(num_asked, 1);
	tp_sa_event(sa, IBV_EVENT_QP_FATAL);
	assert_true(tp_sa_path_cached(sa, &known, PKEY, &p));
	r.port[0].state.sm_lid = 0x20;
	r.port[0].state.gid.raw[0] = 0xfd;
	tp_sa_event(sa, IBV_EVENT_SM_CHANGE);
	assert_false(tp_sa_path_cached(sa, &known, PKEY, &p));
	rig_run(&r, RIG_MS);
	assert_int_equal(num_asked, 2);
	assert_int_equal(asked[1].data[56 + 24], 0xfd);
	assert_int_equal(t[1].num, 1);
	assert_int_equal(t[1].status, 0);
	/* No manager: nothing can be asked. */
	r.port[0].state.sm_lid = 0;
	tp_sa_event(sa, IBV_EVENT_PORT_ERR);
	assert_int_equal(tp_sa_path(sa, &known, PKEY, on_path, &t[0]), -ENETUNREACH);
}

static void
groups_are_joined_and_left_in_order(void **state)
{
	struct tp_sa_member want = {.qkey = 0xb1b,
				    .pkey = 0xffff,
				    .mtu_selector = TP_SA_EXACTLY,
				    .mtu = IBV_MTU_2048,
				    .rate_selector = TP_SA_EXACTLY,
				    .rate = 3,
				    .sl = 5,
				    .flow_label = 0x12345,
				    .hop_limit = 9,
				    .traffic_class = 7,
				    .scope = 2,
				    .join_state = TP_SA_FULL};
	struct told t[3] = {{0}};
	const uint8_t *rec = asked[0].data + 56;
	uint8_t back[52];

	(void)state;
	answering = false;
	want.mgid = gid(0x77);
	want.mgid.raw[0] = 0xff;
	assert_int_equal(
		tp_sa_join(sa, &want, TP_SA_MC_QKEY | TP_SA_MC_PKEY | TP_SA_MC_MTU | TP_SA_MC_SL, on_member, &t[0]), 0);
	assert_int_equal(tp_sa_leave(sa, &want.mgid, TP_SA_FULL, on_member, &t[1]), 0);
	want.mgid.raw[14] = 1;
	assert_int_equal(tp_sa_join(sa, &want, 0, on_member, &t[2]), 0);
	rig_run(&r, RIG_MS);
	/* The leave waits for its join, the other group does not. */
	assert_int_equal(num_asked, 2);
	assert_int_equal(asked[0].data[3], MAD_SET);
	assert_int_equal(ib_get16(asked[0].data + 16), 0x38);
	assert_int_equal(ib_get64(asked[0].data + 48), 0x110a7);
	assert_int_equal(rec[0], 0xff);
	assert_memory_equal(rec + 16, r.port[0].state.gid.raw, 16);
	assert_int_equal(ib_get32(rec + 32), 0xb1b);
	assert_int_equal(rec[38], 0x84);
	assert_int_equal(rec[39], 7);
	assert_int_equal(ib_get16(rec + 40), 0xffff);
	assert_int_equal(rec[42], 0x83);
	assert_int_equal(ib_get32(rec + 44), 0x51234509);
	assert_int_equal(rec[48], 0x21);
	assert_int_equal(asked[1].data[56 + 14], 1);
	memcpy(back, rec, sizeof(back));
	ib_put16(back + 36, 0xc001);
	answer(&asked[0], 0, back, sizeof(back));
	rig_run(&r, RIG_MS);
	assert_int_equal(t[0].num, 1);
	assert_int_equal(t[0].status, 0);
	assert_int_equal(t[0].member.mlid, 0xc001);
	assert_int_equal(t[0].member.qkey, 0xb1b);
	assert_int_equal(t[0].member.sl, 5);
	assert_int_equal(t[0].member.flow_label, 0x12345);
	assert_int_equal(num_asked, 3);
	assert_int_equal(asked[2].data[3], SA_DELETE);
	assert_int_equal(ib_get64(asked[2].data + 48), 0x10003);
	answer(&asked[2], 0, back, sizeof(back));
	/* A group without a multicast LID is none. */
	memcpy(back, asked[1].data + 56, sizeof(back));
	ib_put16(back + 36, 0x20);
	answer(&asked[1], 0, back, sizeof(back));
	rig_run(&r, RIG_MS);
	assert_int_equal(t[1].num, 1);
	assert_int_equal(t[1].status, 0);
	assert_int_equal(t[2].num, 1);
	assert_int_equal(t[2].status, -EPROTO);
}

static void
tables_come_in_segments(void **state)
{
	struct tp_mad_packet to;
	uint8_t msg[56 + 3 * 112] = {0};
	struct told t = {0};

	(void)state;
	answering = false;
	assert_int_equal(tp_sa_request(sa, SA_GET_TABLE, SA_ATTR_NODE, 0, NULL, 0, on_records, &t), 0);
	rig_run(&r, RIG_MS);
	tp_mad_reply_to(&asked[0], &to);
	memcpy(msg, asked[0].data, 56);
	msg[3] = 0x92;
	msg[26] = RMPP_ACTIVE;
	ib_put16(msg + 44, 14);
	for (unsigned int i = 0; i < 3; i++)
		msg[56 + 112 * i] = (uint8_t)(i + 1);
	assert_int_equal(tp_mad_send(admin, &to, msg, sizeof(msg), 100, 1), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(t.num, 1);
	assert_int_equal(t.status, 0);
	assert_int_equal(t.records, 3);
	assert_int_equal(t.stride, 112);
	assert_int_equal(t.first[0], 1);
	/* One short record, and none: less than a datagram. */
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(tp_sa_request(sa, SA_GET_TABLE, SA_ATTR_NODE, 0, NULL, 0, on_records, &t), 0);
		rig_run(&r, RIG_MS);
		memcpy(msg, asked[1 + i].data, 56);
		msg[3] = 0x92;
		msg[26] = RMPP_ACTIVE;
		ib_put16(msg + 44, 14);
		assert_int_equal(tp_mad_send(admin, &to, msg, i == 0 ? 56 + 112 : 56, 100, 1), 0);
		rig_run(&r, RIG_MS);
		assert_int_equal(t.num, 2 + i);
		assert_int_equal(t.status, 0);
		assert_int_equal(t.records, 1 - i);
	}
	/* Refused for want of records. */
	assert_int_equal(tp_sa_request(sa, SA_GET_TABLE, SA_ATTR_NODE, 0, NULL, 0, on_records, &t), 0);
	rig_run(&r, RIG_MS);
	answer(&asked[3], 0x0300, NULL, 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(t.num, 4);
	assert_int_equal(t.status, -ENOENT);
	/* Records without a length. */
	assert_int_equal(tp_sa_request(sa, SA_GET_TABLE, SA_ATTR_NODE, 0, NULL, 0, on_records, &t), 0);
	rig_run(&r, RIG_MS);
	tp_mad_reply_to(&asked[4], &to);
	memcpy(msg, asked[4].data, 56);
	msg[3] = 0x92;
	msg[26] = RMPP_ACTIVE;
	ib_put16(msg + 44, 0);
	assert_int_equal(tp_mad_send(admin, &to, msg, sizeof(msg), 100, 1), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(t.num, 5);
	assert_int_equal(t.status, -EPROTO);
}

static void
who_gives_up_is_not_told(void **state)
{
	union ibv_gid g = gid(1), mgid = gid(9);
	struct told stays = {0}, goes = {0};

	(void)state;
	answering = false;
	assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &goes), 0);
	assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &stays), 0);
	assert_int_equal(tp_sa_leave(sa, &mgid, 1, on_member, &goes), 0);
	assert_int_equal(tp_sa_request(sa, MAD_GET, 1, 0, NULL, 0, on_records, &goes), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(tp_sa_cancel(sa, &goes), 3);
	assert_int_equal(tp_sa_cancel(sa, &goes), 0);
	answer_path(&asked[0]);
	rig_run(&r, RIG_MS);
	assert_int_equal(stays.num, 1);
	assert_int_equal(goes.num, 0);
	/* Closing tells all who are left. */
	g = gid(2);
	assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &goes), 0);
	assert_int_equal(tp_sa_leave(sa, &mgid, 1, on_member, &stays), 0);
	tp_sa_destroy(sa);
	sa = NULL;
	assert_int_equal(goes.num, 1);
	assert_int_equal(goes.status, -ECANCELED);
	assert_int_equal(stays.num, 2);
	assert_int_equal(stays.status, -ECANCELED);
}

static union ibv_gid
one_of_many(unsigned int n)
{
	union ibv_gid g = gid(1);

	g.raw[14] = (uint8_t)(n >> 8);
	g.raw[13] = (uint8_t)n;
	return g;
}

static void
destinations_are_bounded(void **state)
{
	static struct told t;
	union ibv_gid g;
	unsigned int n = 0;
	int err;

	(void)state;
	answering = false;
	do {
		g = one_of_many(n++);
	} while ((err = tp_sa_path(sa, &g, PKEY, on_path, &t)) == 0);
	assert_int_equal(err, -ENOBUFS);
	assert_int_equal(n, TP_SA_PATHS + 1);
}

static void
what_is_remembered_makes_room(void **state)
{
	struct tp_sa_stats st;
	struct tp_sa_path p;
	struct told t = {0};
	union ibv_gid g;

	(void)state;
	for (unsigned int n = 0; n < TP_SA_PATHS + 100; n++) {
		g = one_of_many(n);
		assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t), 0);
		if (n % 64 == 63)
			rig_run(&r, RIG_MS);
	}
	rig_run(&r, RIG_MS);
	assert_int_equal(t.num, TP_SA_PATHS + 100);
	assert_true(tp_sa_path_cached(sa, &g, PKEY, &p));
	tp_sa_stats_get(sa, &st);
	assert_int_equal(st.paths, TP_SA_PATHS);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {T(what_is_told_after_an_event_is_not_kept),
					   T(events_make_all_new),
					   T(groups_are_joined_and_left_in_order),
					   T(tables_come_in_segments),
					   T(who_gives_up_is_not_told),
					   T(destinations_are_bounded),
					   T(what_is_remembered_makes_room)};

	return cmocka_run_group_tests_name("sa client, what it keeps", tests, NULL, NULL);
}
