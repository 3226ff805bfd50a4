/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Questions for paths: who is told what, when and how often. */
#include "sa_rig.h"

#include "lib/mad/sa/sa_record.h"

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
	struct tp_sa_stats st;
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
	tp_sa_stats_get(sa, &st);
	assert_int_equal(st.timeouts, 2);
}

/* Each value alone and at its ends; 0 is the default, and what is refused changes nothing. */
static void
times_have_ranges(void **state)
{
	static const struct {
		struct tp_sa_conf conf, want; /* want.timeout_ms 0: refused */
	} row[] = {
		{{250, 1}, {250, 1}},  {{249, 1}, {0, 0}},  {{60000, 64}, {60000, 64}}, {{60001, 64}, {0, 0}},
		{{60000, 65}, {0, 0}}, {{0, 5}, {1000, 5}}, {{500, 0}, {500, 10}},      {{0, 0}, {1000, 10}},
	};
	struct tp_sa_conf got, before;

	(void)state;
	tp_sa_conf_get(sa, &before);
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		bool good = row[i].want.timeout_ms != 0;

		assert_int_equal(tp_sa_configure(sa, &row[i].conf), good ? 0 : -EINVAL);
		tp_sa_conf_get(sa, &got);
		assert_int_equal(got.timeout_ms, good ? row[i].want.timeout_ms : before.timeout_ms);
		assert_int_equal(got.retries, good ? row[i].want.retries : before.retries);
		before = got;
	}
	assert_int_equal(tp_sa_configure(sa, NULL), 0);
	tp_sa_conf_get(sa, &got);
	assert_int_equal(got.timeout_ms, 1000);
	assert_int_equal(got.retries, 10);
}

/* Who waits for what is known already is told it when the client is closed; who waits for an answer is told that. */
static void
closing_tells_all(void **state)
{
	union ibv_gid g = gid(1), other = gid(2);
	struct told t[3] = {{0}};

	(void)state;
	assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t[0]), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(t[0].num, 1);
	answering = false;
	assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t[1]), 0);
	assert_int_equal(tp_sa_path(sa, &other, PKEY, on_path, &t[2]), 0);
	tp_sa_destroy(sa);
	sa = NULL;
	assert_int_equal(t[1].num, 1);
	assert_int_equal(t[1].status, 0);
	assert_int_equal(t[1].path.dlid, 1);
	assert_int_equal(t[2].num, 1);
	assert_int_equal(t[2].status, -ECANCELED);
}

/* An answer of one record has 200 octets of it; methods are those of requests (13.4.5). */
static void
any_request(void **state)
{
	static const struct {
		uint8_t method;
		uint32_t len;
		int err;
	} row[] = {{MAD_GET, 200, 0},
		   {MAD_GET, 201, -EINVAL},
		   {0, 10, -EINVAL},
		   {MAD_GET | MAD_RESPONSE, 10, -EINVAL},
		   {MAD_SET, 0, 0}};
	uint8_t record[201];

	(void)state;
	answering = false;
	memset(record, 0x5a, sizeof(record));
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct told t = {0};

		num_asked = 0;
		assert_int_equal(tp_sa_request(sa, row[i].method, 0x31, 0x1122334455667788ull, record, row[i].len,
					       on_records, &t),
				 row[i].err);
		rig_run(&r, RIG_MS);
		assert_int_equal(num_asked, row[i].err == 0);
		if (row[i].err != 0)
			continue;
		assert_int_equal(ib_get64(asked[0].data + 48), 0x1122334455667788ull);
		assert_int_equal(asked[0].data[56 + 199], row[i].len == 200 ? 0x5a : 0);
		answer(&asked[0], 0, record, 200);
		rig_run(&r, RIG_MS);
		assert_int_equal(t.num, 1);
		assert_int_equal(t.status, 0);
		assert_int_equal(t.records, 1);
		assert_int_equal(t.stride, 200);
		assert_int_equal(t.first[63], 0x5a);
	}
}

/* Of several that are known only who is asked for again is told again; who is asked for is not known yet. */
static void
known_ones_that_nobody_waits_for(void **state)
{
	struct told t[8] = {{0}}, again = {0}, later = {0};
	struct tp_sa_path path;
	union ibv_gid g;

	(void)state;
	for (uint8_t i = 0; i < 8; i++) {
		g = gid((uint8_t)(i + 1));
		assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &t[i]), 0);
	}
	rig_run(&r, RIG_MS);
	assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &again), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(again.num, 1);
	assert_int_equal(again.path.dlid, 8);
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(t[i].num, 1);
	answering = false;
	g = gid(9);
	assert_int_equal(tp_sa_path(sa, &g, PKEY, on_path, &later), 0);
	rig_run(&r, RIG_MS);
	assert_false(tp_sa_path_cached(sa, &g, PKEY, &path));
	assert_int_equal(later.num, 0);
	tp_sa_destroy(sa);
	sa = NULL;
	assert_int_equal(later.status, -ECANCELED);
}

static void
refusals_have_their_names(void **state)
{
	static const struct {
		uint16_t status;
		int err;
	} cases[] = {{0x0100, -ENOBUFS}, {0x0200, -EINVAL}, {0x0300, -ENOENT}, {0x0500, -EINVAL}, {0x0600, -EINVAL},
		     {0x0700, -EACCES},  {0x001c, -EINVAL}, {0x4100, -EINVAL}, {0x0400, -E2BIG}};
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
	assert_int_equal(st.refused, 9);
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

/* Each field at its place and in its width, by IBTA 15.2.5.16 and 15.2.5.17: once with patterns, once with all bits set. */
static void
records_are_laid_out_as_the_standard_has_it(void **state)
{
	static const uint8_t
		path[SA_PATH_LEN] =
			{
				[8] = 0xd1,  [23] = 0xd2, [24] = 0x51, [39] = 0x52, [40] = 0x12,
				0x34,        0x56,        0x78,              /* GIDs, LIDs */
				[44] = 0x8a, 0xbc,        0xde,        0x3f, /* flow label of 20 bits, hop limit */
				[48] = 0x9e, 0x80,        0xab,        0xcd,        [53] = 0xf9,
				0xa5,        0x87,        0xb3, /* class, P_Key, SL, MTU, rate, life time */
			};
	static const uint8_t member[SA_MEMBER_LEN] = {
		[0] = 0xff,  [15] = 0xd2, [16] = 0x51, [31] = 0x52, [32] = 0x01, 0x23, 0x45,
		0x67, /* GIDs, Q_Key */
		[36] = 0xc0, 0x0e,        0x85,        0x9e,        0xab,        0xcd, 0x47,
		0xd3, /* LID, MTU, class, P_Key, rate, life time */
		[44] = 0x9a, 0xbc,        0xde,        0x3f,        0x25,        0x80, /* SL, flow label, hop limit, scope, state, proxy */
	};
	uint8_t back[SA_MEMBER_LEN], ones[SA_MEMBER_LEN], again[SA_PATH_LEN];
	struct tp_sa_member m;
	struct tp_sa_path p;

	(void)state;
	sa_path_take(path, &p);
	assert_memory_equal(p.dgid.raw, path + 8, 16);
	assert_memory_equal(p.sgid.raw, path + 24, 16);
	assert_int_equal(p.dlid, 0x1234);
	assert_int_equal(p.slid, 0x5678);
	assert_int_equal(p.flow_label, 0xabcde);
	assert_int_equal(p.hop_limit, 0x3f);
	assert_int_equal(p.traffic_class, 0x9e);
	assert_true(p.reversible);
	assert_int_equal(p.pkey, 0xabcd);
	assert_int_equal(p.sl, 9);
	assert_int_equal(p.mtu, 0x25);
	assert_int_equal(p.rate, 0x07);
	assert_int_equal(p.lifetime, 0x33);
	/* Said again, selectors are "exactly", the number of paths is the caller's, and what is not a field is 0. */
	memset(again, 0xee, sizeof(again));
	sa_path_put(&p, 0x7f, again);
	for (unsigned int i = 0; i < SA_PATH_LEN; i++)
		assert_int_equal(again[i], i == 44   ? 0x0a
					   : i == 49 ? 0xff
					   : i == 53 ? 9
					   : i == 55 ? 0x87
					   : i == 56 ? 0xb3
						     : path[i]);
	sa_member_take(member, &m);
	assert_int_equal(m.qkey, 0x01234567);
	assert_int_equal(m.mlid, 0xc00e);
	assert_int_equal(m.mtu_selector, 2);
	assert_int_equal(m.mtu, 5);
	assert_int_equal(m.traffic_class, 0x9e);
	assert_int_equal(m.pkey, 0xabcd);
	assert_int_equal(m.rate_selector, 1);
	assert_int_equal(m.rate, 7);
	assert_int_equal(m.lifetime_selector, 3);
	assert_int_equal(m.lifetime, 0x13);
	assert_int_equal(m.sl, 9);
	assert_int_equal(m.flow_label, 0xabcde);
	assert_int_equal(m.hop_limit, 0x3f);
	assert_int_equal(m.scope, 2);
	assert_int_equal(m.join_state, 5);
	assert_true(m.proxy_join);
	memset(back, 0xee, sizeof(back));
	sa_member_put(&m, back);
	assert_memory_equal(back, member, sizeof(back));
	memset(ones, 0xff, sizeof(ones));
	sa_member_take(ones, &m);
	assert_int_equal(m.flow_label, 0xfffff);
	assert_int_equal(m.sl, 15);
	assert_int_equal(m.join_state, 15);
	assert_int_equal(m.mtu & m.rate & m.lifetime, 63);
	/* What is too wide is cut to its field. */
	m.scope = 0;
	sa_member_put(&m, back);
	ones[48] = 0x0f;
	ones[49] = 0x80;
	memset(ones + 50, 0, 2);
	assert_memory_equal(back, ones, sizeof(back));
	/* Each field of a path in full. */
	memset(again, 0xff, sizeof(again));
	sa_path_take(again, &p);
	assert_int_equal(p.flow_label, 0xfffff);
	assert_int_equal(p.sl, 15);
	assert_int_equal(p.mtu, 63);
	assert_int_equal(p.rate, 63);
	assert_int_equal(p.lifetime, 63);
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
					   T(times_have_ranges),
					   T(closing_tells_all),
					   T(any_request),
					   T(known_ones_that_nobody_waits_for),
					   T(refusals_have_their_names),
					   T(answers_that_are_none_are_said_to_be),
					   T(who_is_told_may_give_up_for_others),
					   T(records_are_laid_out_as_the_standard_has_it)};

	return cmocka_run_group_tests_name("sa client", tests, NULL, NULL);
}
