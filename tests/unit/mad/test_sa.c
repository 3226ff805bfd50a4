/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The client of subnet administration against an administrator that a test plays: octets as 15.2.5.16 and 15.2.5.17 have
 * them, answers out of order, late, wrong, or none.
 */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>

#include "tp_sa.h"

#define M(method) (1ull << (method))
#define PKEY 0xffffu

static struct rig r;
static struct tp_sa *sa;
/* What the administrator was asked. */
static struct tp_mad_agent *admin;
static struct tp_mad_packet asked[256];
static unsigned int num_asked;
static bool answering;

struct told {
	unsigned int num;
	int status;
	struct tp_sa_path path;
	struct tp_sa_member member;
	uint32_t records, stride;
	uint8_t first[64];
	unsigned int order;  /* the how manieth of all */
	bool again;          /* asks at once again */
	const void *cancels; /* what he waits for is given up when this one is told */
};
static unsigned int tellings;

static union ibv_gid
gid(uint8_t n)
{
	union ibv_gid g = {.raw = {0xfe, 0x80}};

	g.raw[15] = n;
	return g;
}

static void
answer(const struct tp_mad_packet *q, uint16_t status, const uint8_t *record, uint32_t len)
{
	struct tp_mad_packet to;

	tp_mad_reply_to(q, &to);
	to.data[MAD_METHOD_AT] = q->data[MAD_METHOD_AT] == MAD_SET ? 0x81 : q->data[MAD_METHOD_AT] | 0x80;
	ib_put16(to.data + MAD_STATUS_AT, status);
	if (len != 0)
		memcpy(to.data + 56, record, len);
	assert_int_equal(tp_mad_send(admin, &to, to.data, MAD_SIZE, 0, 0), 0);
}

/* A path to whom was asked for: its LID is the last octet. */
static void
answer_path(const struct tp_mad_packet *q)
{
	uint8_t rec[64];

	memcpy(rec, q->data + 56, 64);
	ib_put16(rec + 40, rec[23]);
	ib_put16(rec + 42, 0x10);
	rec[53] = 3;
	rec[54] = 0x84; /* exactly 2048 */
	rec[55] = 0x87; /* exactly 40 Gb/s */
	rec[56] = 0x92;
	answer(q, 0, rec, 64);
}

static void
hear(void *arg, const struct tp_mad_msg *msg)
{
	(void)arg;
	if (msg->status != 0)
		return;
	asked[num_asked++ % 256] = *msg->pkt;
	if (answering)
		answer_path(msg->pkt);
}

static void
on_path(void *arg, int status, const struct tp_sa_path *path)
{
	struct told *t = arg;

	t->num++;
	t->status = status;
	t->order = ++tellings;
	if (path != NULL)
		t->path = *path;
	if (t->cancels != NULL)
		assert_int_equal(tp_sa_cancel(sa, t->cancels), 1);
	if (t->again && t->num < 50)
		assert_int_equal(tp_sa_path(sa, &path->dgid, PKEY, on_path, arg), 0);
}

static void
on_member(void *arg, int status, const struct tp_sa_member *m)
{
	struct told *t = arg;

	t->num++;
	t->status = status;
	t->order = ++tellings;
	if (m != NULL)
		t->member = *m;
}

static void
on_records(void *arg, int status, const uint8_t *records, uint32_t stride, uint32_t n)
{
	struct told *t = arg;

	t->num++;
	t->status = status;
	t->records = n;
	t->stride = stride;
	if (n != 0)
		memcpy(t->first, records, stride < sizeof(t->first) ? stride : sizeof(t->first));
}

static int
up(void **state)
{
	struct tp_mad_agent_conf c = {.qpn = 1,
				      .mgmt_class = MAD_CLASS_SA,
				      .class_version = 2,
				      .rmpp_version = 1,
				      .methods = {M(MAD_GET) | M(MAD_SET) | M(SA_GET_TABLE) | M(SA_DELETE), 0},
				      .recv = hear};

	(void)state;
	rig_up(&r);
	num_asked = tellings = 0;
	answering = true;
	assert_int_equal(tp_mad_register(r.port[1].mad, &c, &admin), 0);
	assert_int_equal(tp_sa_create(r.port[0].mad, NULL, &sa), 0);
	return 0;
}

static int
down(void **state)
{
	(void)state;
	if (sa != NULL)
		tp_sa_destroy(sa);
	sa = NULL;
	rig_down(&r);
	return 0;
}

static void
a_path_is_asked_for_as_the_standard_has_it(void **state)
{
	union ibv_gid g = gid(0x42);
	struct told t = {0};
	const uint8_t *q = asked[0].data;

	(void)state;
	assert_int_equal(tp_sa_path(sa, &g, 0x8001, on_path, &t), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(num_asked, 1);
	assert_int_equal(asked[0].qkey, 0x80010000);
	assert_int_equal(q[1], 3);
	assert_int_equal(q[2], 2);
	assert_int_equal(q[3], 1);
	assert_int_equal(ib_get16(q + 16), 0x35);
	/* DGID, SGID, reversible, number of paths, P_Key. */
	assert_int_equal(ib_get64(q + 48), 0x380c);
	assert_memory_equal(q + 56 + 8, g.raw, 16);
	assert_memory_equal(q + 56 + 24, r.port[0].state.gid.raw, 16);
	assert_int_equal(q[56 + 49], 0x81);
	assert_int_equal(ib_get16(q + 56 + 50), 0x8001);
	assert_int_equal(t.num, 1);
	assert_int_equal(t.status, 0);
	assert_int_equal(t.path.dlid, 0x42);
	assert_int_equal(t.path.slid, 0x10);
	assert_int_equal(t.path.sl, 3);
	assert_int_equal(t.path.mtu, IBV_MTU_2048);
	assert_int_equal(t.path.rate, IBV_RATE_40_GBPS);
	assert_int_equal(t.path.lifetime, 18);
	assert_true(t.path.reversible);
}

static void
one_question_for_all_who_wait(void **state)
{
	struct tp_sa_stats st;
	struct tp_sa_path p;
	union ibv_gid g = gid(1);
	struct told t[20] = {{0}};

	(void)state;
	assert_false(tp_sa_path_cached(sa, &g, PKEY, &p));
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t[i]), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(num_asked, 1);
	for (unsigned int i = 0; i < 20; i++) {
		assert_int_equal(t[i].num, 1);
		assert_int_equal(t[i].order, i + 1);
	}
	assert_true(tp_sa_path_cached(sa, &g, PKEY, &p));
	assert_int_equal(p.dlid, 1);
	/* Later it is known, and told by the port's work. */
	assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t[0]), 0);
	assert_int_equal(t[0].num, 1);
	rig_run(&r, RIG_MS);
	assert_int_equal(t[0].num, 2);
	assert_int_equal(num_asked, 1);
	/* Another partition is another path. */
	assert_int_equal(tp_sa_path(sa, &g, 0x8001, on_path, &t[0]), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(num_asked, 2);
	tp_sa_stats_get(sa, &st);
	assert_int_equal(st.requests, 2);
	assert_int_equal(st.waited, 19);
	assert_int_equal(st.cache_hits, 1);
	assert_int_equal(st.paths, 2);
	assert_int_equal(st.waiting, 0);
	tp_sa_forget(sa, &g);
	assert_false(tp_sa_path_cached(sa, &g, PKEY, &p));
}

static void
who_is_told_may_ask_again(void **state)
{
	union ibv_gid g = gid(1);
	struct told t = {.again = true};

	(void)state;
	assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t), 0);
	rig_run(&r, 10 * RIG_MS);
	assert_int_equal(t.num, 50);
	assert_int_equal(num_asked, 1);
}

static void
answers_may_come_in_any_order(void **state)
{
	struct told t[64] = {{0}};

	(void)state;
	answering = false;
	for (uint8_t i = 0; i < 64; i++) {
		union ibv_gid g = gid((uint8_t)(i + 1));

		assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t[i]), 0);
	}
	rig_run(&r, RIG_MS);
	assert_int_equal(num_asked, 64);
	for (int i = 63; i >= 0; i--)
		answer_path(&asked[i]);
	answer_path(&asked[5]); /* and one twice */
	rig_run(&r, RIG_MS);
	for (unsigned int i = 0; i < 64; i++) {
		assert_int_equal(t[i].num, 1);
		assert_int_equal(t[i].path.dlid, i + 1);
		assert_int_equal(t[i].order, 64 - i);
	}
}

/* Not all at once: the administrator is asked for so many at a time, and the rest follows its answers. */
static void
many_questions_are_spread(void **state)
{
	static struct told t[200];

	(void)state;
	memset(t, 0, sizeof(t));
	answering = false;
	for (uint8_t i = 0; i < 200; i++) {
		union ibv_gid g = gid((uint8_t)(i + 1));

		assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t[i]), 0);
	}
	rig_run(&r, RIG_MS);
	assert_int_equal(num_asked, 64);
	answering = true;
	for (unsigned int i = 0; i < 64; i++)
		answer_path(&asked[i]);
	rig_run(&r, 10 * RIG_MS);
	assert_int_equal(num_asked, 200);
	for (unsigned int i = 0; i < 200; i++)
		assert_int_equal(t[i].num, 1);
}

static void
times_are_as_configured(void **state)
{
	static const struct tp_sa_conf bad[] = {{249, 0}, {60001, 0}, {0, 65}};
	const struct tp_sa_conf fast = {250, 2};
	union ibv_gid g = gid(1);
	struct told t = {0};

	(void)state;
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(tp_sa_configure(sa, &bad[i]), -EINVAL);
	answering = false;
	assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t), 0);
	rig_run(&r, 10999 * RIG_MS);
	assert_int_equal(num_asked, 11);
	assert_int_equal(t.num, 0);
	rig_run(&r, 2 * RIG_MS);
	assert_int_equal(t.num, 1);
	assert_int_equal(t.status, -ETIMEDOUT);
	/* Late: to nobody, and the next one asks anew. */
	answer_path(&asked[0]);
	rig_run(&r, RIG_MS);
	assert_int_equal(t.num, 1);
	assert_int_equal(tp_sa_configure(sa, &fast), 0);
	num_asked = 0;
	assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t), 0);
	rig_run(&r, 751 * RIG_MS);
	assert_int_equal(num_asked, 3);
	assert_int_equal(t.num, 2);
}

static void
refusals_have_their_names(void **state)
{
	static const struct {
		uint16_t status;
		int err;
	} cases[] = {{0x0100, -ENOBUFS}, {0x0200, -EINVAL}, {0x0300, -ENOENT}, {0x0500, -EINVAL},
		     {0x0600, -EINVAL},  {0x0700, -EACCES}, {0x001c, -EINVAL}};
	union ibv_gid g = gid(1);
	struct tp_sa_stats st;

	(void)state;
	answering = false;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct told t = {0};

		assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t), 0);
		rig_run(&r, RIG_MS);
		answer(&asked[num_asked - 1], cases[i].status, NULL, 0);
		rig_run(&r, RIG_MS);
		assert_int_equal(t.num, 1);
		assert_int_equal(t.status, cases[i].err);
	}
	tp_sa_stats_get(sa, &st);
	assert_int_equal(st.refused, 7);
	assert_int_equal(st.paths, 0);
}

static void
answers_that_are_none_are_said_to_be(void **state)
{
	union ibv_gid g = gid(1);
	struct tp_sa_stats st;

	(void)state;
	answering = false;
	for (unsigned int i = 0; i < 5; i++) {
		struct told t = {0};
		struct tp_mad_packet q;
		uint8_t rec[64];

		assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t), 0);
		rig_run(&r, RIG_MS);
		q = asked[num_asked - 1];
		memcpy(rec, q.data + 56, 64);
		ib_put16(rec + 40, 0x99);
		switch (i) {
		case 0: ib_put16(q.data + MAD_ATTR_AT, 0x38); break; /* another attribute */
		case 1: q.data[MAD_METHOD_AT] = SA_GET_TABLE; break; /* another method */
		case 2: q.data[MAD_CLASS_VERSION_AT] = 1; break;
		case 3: rec[23] ^= 1; break;           /* the path to somebody else */
		default: ib_put16(rec + 40, 0); break; /* to nowhere */
		}
		answer(&q, 0, rec, 64);
		rig_run(&r, RIG_MS);
		assert_int_equal(t.num, 1);
		assert_int_equal(t.status, -EPROTO);
	}
	tp_sa_stats_get(sa, &st);
	assert_int_equal(st.malformed, 5);
}

/* Who is told may end others who are to be told of the same. */
static void
who_is_told_may_give_up_for_others(void **state)
{
	union ibv_gid g = gid(1);
	struct told t[3] = {{0}};
	struct tp_sa_stats st;

	(void)state;
	t[0].cancels = &t[1];
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t[i]), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(t[0].num, 1);
	assert_int_equal(t[1].num, 0);
	assert_int_equal(t[2].num, 1);
	tp_sa_stats_get(sa, &st);
	assert_int_equal(st.waiting, 0);
}

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
	const struct CMUnitTest tests[] = {T(a_path_is_asked_for_as_the_standard_has_it),
					   T(one_question_for_all_who_wait),
					   T(who_is_told_may_ask_again),
					   T(answers_may_come_in_any_order),
					   T(many_questions_are_spread),
					   T(times_are_as_configured),
					   T(refusals_have_their_names),
					   T(answers_that_are_none_are_said_to_be),
					   T(who_is_told_may_give_up_for_others),
					   T(what_is_told_after_an_event_is_not_kept),
					   T(events_make_all_new),
					   T(groups_are_joined_and_left_in_order),
					   T(tables_come_in_segments),
					   T(who_gives_up_is_not_told),
					   T(destinations_are_bounded),
					   T(what_is_remembered_makes_room)};

	return cmocka_run_group_tests_name("sa client", tests, NULL, NULL);
}
