/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Whole connections between two communication managers: on a good channel, on bad ones, with owners that are slow or gone,
 * under floods; all in virtual time.
 */
#include <errno.h>

#include "cm_rig.h"

#define SECOND (1000 * RIG_MS)

static struct rig r;

static int
setup(void **state)
{
	(void)state;
	rig_up(&r, 1);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rig_down(&r);
	return 0;
}

/* An owner that takes what comes. */
static void
willing(struct rig_end *e, const struct tcm_event *ev)
{
	struct cm_rep rep = {.qpn = 0x2000 + ev->conn->slot, .private_data = "yes"};
	struct cm_sidr_rep sidr = {.qpn = 0x3000, .qkey = 0x01234567};

	(void)e;
	switch (ev->type) {
	case TCM_EV_REQ: assert_int_equal(tcm_accept(ev->conn, &rep), 0); break;
	case TCM_EV_REP: assert_int_equal(tcm_rtu(ev->conn, "go", 2), 0); break;
	case TCM_EV_SIDR_REQ: assert_int_equal(tcm_sidr_answer(ev->conn, &sidr), 0); break;
	default: break;
	}
}

static struct tcm_conn *
ask(uint32_t qpn)
{
	const struct troce_path path = rig_path(0);
	struct cm_req req = rig_req(qpn);
	struct tcm_conn *c;

	memcpy(req.private_data, "hello", 5);
	assert_int_equal(tcm_connect(&r.end[0].cm, &path, &req, &r.end[0], &c), 0);
	return c;
}

static struct tcm_conn *
connected(void)
{
	struct tcm_conn *c;

	r.end[0].on_event = r.end[1].on_event = willing;
	c = ask(0x1000);
	rig_run(&r, 100 * RIG_MS);
	assert_int_equal(c->state, TCM_ESTABLISHED);
	assert_int_equal(rig_last(&r.end[1])->type, TCM_EV_ESTABLISHED);
	return c;
}

static void
test_life(void **state)
{
	struct tcm_conn *a = connected(), *b = rig_last(&r.end[1])->conn;

	(void)state;
	/* Each side was told what the other one said. */
	assert_string_equal((const char *)r.end[1].msg[0].req.private_data, "hello");
	assert_string_equal((const char *)r.end[0].msg[0].rep.private_data, "yes");
	assert_string_equal((const char *)r.end[1].msg[1].rtu.private_data, "go");
	assert_int_equal(a->remote_qpn, 0x2000);
	assert_int_equal(b->remote_qpn, 0x1000);
	assert_int_equal(r.end[0].sents, 2);
	assert_int_equal(r.end[1].sents, 1);
	assert_int_equal(r.end[0].cm.stats.initiated, 1);
	assert_int_equal(r.end[1].cm.stats.accepted, 1);
	assert_int_equal(r.end[0].cm.stats.active + r.end[1].cm.stats.active, 2);

	assert_int_equal(tcm_disconnect(a, "bye", 3), 0);
	assert_int_equal(tcm_disconnect(a, NULL, 0), -EINVAL);
	rig_run(&r, 10 * RIG_MS);
	assert_int_equal(a->state, TCM_TIMEWAIT);
	assert_int_equal(b->state, TCM_TIMEWAIT);
	assert_int_equal(rig_last(&r.end[0])->type, TCM_EV_DISCONNECTED);
	assert_int_equal(rig_last(&r.end[1])->type, TCM_EV_DISCONNECTED);
	assert_string_equal((const char *)rig_last(&r.end[1])->msg->dreq.private_data, "bye");
	assert_int_equal(r.end[0].cm.stats.active + r.end[1].cm.stats.active, 0);
	/* 12.9.8.4: twice a packet's life, which is code 14 here */
	rig_run(&r, 2 * (4096ull << 14) - 12 * RIG_MS);
	assert_int_equal(a->state, TCM_TIMEWAIT);
	rig_run(&r, 13 * RIG_MS);
	assert_int_equal(rig_last(&r.end[0])->type, TCM_EV_TIMEWAIT_EXIT);
	assert_int_equal(rig_last(&r.end[1])->type, TCM_EV_TIMEWAIT_EXIT);
	tcm_release(a);
	tcm_release(b);
	assert_int_equal(r.end[0].cm.conns + r.end[1].cm.conns, 0);
}

/* Both ends disconnect at once. */
static void
test_cross(void **state)
{
	struct tcm_conn *a = connected(), *b = rig_last(&r.end[1])->conn;

	(void)state;
	assert_int_equal(tcm_disconnect(a, NULL, 0), 0);
	assert_int_equal(tcm_disconnect(b, NULL, 0), 0);
	rig_run(&r, SECOND / 100);
	assert_int_equal(a->state, TCM_TIMEWAIT);
	assert_int_equal(b->state, TCM_TIMEWAIT);
	assert_int_equal(r.end[0].count[TCM_EV_DISCONNECTED], 1);
	assert_int_equal(r.end[1].count[TCM_EV_DISCONNECTED], 1);
}

/* Nobody is there: so many REQs, with so much time between them, and a last word (12.9.8.1). */
static void
test_unreachable(void **state)
{
	const uint64_t wait = (4096ull << 18) + 2 * (4096ull << 14);
	struct tcm_conn *c;
	union cm_any got;

	(void)state;
	r.cut = true;
	c = ask(0x1000);
	rig_run(&r, wait - 1);
	assert_int_equal(r.end[0].sents, 1);
	rig_run(&r, 1);
	assert_int_equal(r.end[0].sents, 2);
	assert_memory_equal(r.end[0].sent[0].data, r.end[0].sent[1].data, MAD_SIZE);
	rig_run(&r, 15 * wait - 1);
	assert_int_equal(r.end[0].sents, 16);
	assert_int_equal(r.end[0].evs, 0);
	rig_run(&r, 1);
	assert_int_equal(rig_last(&r.end[0])->type, TCM_EV_UNREACHABLE);
	assert_int_equal(rig_sent(&r.end[0], &got), CM_REJ);
	assert_int_equal(got.rej.reason, CM_REJ_TIMEOUT);
	assert_int_equal(got.rej.local_id, c->local_id);
	assert_int_equal(got.rej.ari_len, 8);
	assert_true(ib_get64(got.rej.ari) == r.end[0].cm.ca_guid);
	assert_int_equal(r.end[0].cm.stats.failed, 1);
	assert_int_equal(r.end[0].cm.stats.retries, 15);
	tcm_release(c);
	assert_int_equal(r.end[0].cm.conns, 0);
}

/* That last word ends what the other side has begun, though it names no identifier of it. */
static void
test_gives_up(void **state)
{
	struct tcm_conn *c = ask(0x1000);

	(void)state;
	rig_run(&r, RIG_MS);
	assert_int_equal(rig_last(&r.end[1])->type, TCM_EV_REQ);
	tcm_release(c);
	rig_run(&r, RIG_MS);
	assert_int_equal(rig_last(&r.end[1])->type, TCM_EV_REJECTED);
	assert_int_equal(rig_last(&r.end[1])->reason, CM_REJ_TIMEOUT);
	tcm_release(rig_last(&r.end[1])->conn);
	assert_int_equal(r.end[0].cm.conns + r.end[1].cm.conns, 0);
	assert_int_equal(r.end[1].cm.half_open, 0);
}

/* The passive owner takes a minute: its peer is told to wait (MRA) and does. */
static void
test_slow_owner(void **state)
{
	struct cm_rep rep = {.qpn = 0x2000};
	struct tcm_conn *c = ask(0x1000);

	(void)state;
	r.end[0].on_event = willing;
	rig_run(&r, 60 * SECOND);
	assert_int_equal(c->state, TCM_MRA_REQ_RCVD);
	assert_int_equal(r.end[1].count[TCM_EV_REQ], 1);
	assert_int_equal(r.end[0].sents, 2);
	assert_int_equal(tcm_accept(rig_last(&r.end[1])->conn, &rep), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(c->state, TCM_ESTABLISHED);
	assert_int_equal(rig_last(&r.end[1])->type, TCM_EV_ESTABLISHED);
}

/* The active owner does not go on: it is held for a while, then both sides let go. */
static void
test_undecided(void **state)
{
	(void)state;
	r.end[1].on_event = willing;
	(void)ask(0x1000);
	rig_run(&r, 4000 * SECOND);
	assert_int_equal(r.end[0].count[TCM_EV_UNREACHABLE], 1);
	assert_int_equal(r.end[1].count[TCM_EV_REJECTED], 1);
	assert_int_equal(r.end[1].cm.half_open, 0);
	/* And an owner that is asked and never says a word */
	r.end[1].on_event = NULL;
	r.end[0].count[TCM_EV_UNREACHABLE] = 0;
	(void)ask(0x1001);
	rig_run(&r, 4000 * SECOND);
	assert_int_equal(r.end[1].cm.half_open, 0);
	assert_int_equal(r.end[0].count[TCM_EV_UNREACHABLE] + r.end[0].count[TCM_EV_REJECTED], 1);
}

static void
test_reject(void **state)
{
	struct tcm_conn *c = ask(0x1000);

	(void)state;
	rig_run(&r, RIG_MS);
	assert_int_equal(tcm_reject(rig_last(&r.end[1])->conn, CM_REJ_CONSUMER, "ari", 3, "no", 2), 0);
	assert_int_equal(tcm_reject(rig_last(&r.end[1])->conn, CM_REJ_CONSUMER, NULL, 0, NULL, 0), -EINVAL);
	rig_run(&r, RIG_MS);
	assert_int_equal(rig_last(&r.end[0])->type, TCM_EV_REJECTED);
	assert_int_equal(rig_last(&r.end[0])->reason, CM_REJ_CONSUMER);
	assert_string_equal((const char *)rig_last(&r.end[0])->msg->rej.private_data, "no");
	assert_int_equal(rig_last(&r.end[0])->msg->rej.ari_len, 3);
	tcm_release(c);
	tcm_release(rig_last(&r.end[1])->conn);
	assert_int_equal(r.end[0].cm.conns + r.end[1].cm.conns, 0);
	/* Refused after it was accepted */
	r.end[1].on_event = willing;
	c = ask(0x1001);
	rig_run(&r, RIG_MS);
	assert_int_equal(rig_last(&r.end[0])->type, TCM_EV_REP);
	assert_int_equal(tcm_reject(c, CM_REJ_CONSUMER, NULL, 0, "x", 1), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(rig_last(&r.end[1])->type, TCM_EV_REJECTED);
	tcm_release(c);
	tcm_release(rig_last(&r.end[1])->conn);
	rig_run(&r, SECOND);
	assert_int_equal(r.end[0].cm.conns + r.end[1].cm.conns, 0);
}

/* Owners that go away in each state leave nothing behind, on either side. */
static void
test_release(void **state)
{
	static const uint64_t moments[] = {0, 5000, 15000, 25000, 35000, 45000, 100000};

	(void)state;
	for (unsigned int side = 0; side < 2; side++)
		for (unsigned int i = 0; i < sizeof(moments) / sizeof(moments[0]); i++)
			for (unsigned int helpful = 0; helpful < 4; helpful++) {
				struct tcm_conn *c;

				rig_down(&r);
				rig_up(&r, 1 + i);
				r.end[0].on_event = (helpful & 1) != 0 ? willing : NULL;
				r.end[1].on_event = (helpful & 2) != 0 ? willing : NULL;
				c = ask(0x1000);
				rig_run(&r, moments[i]);
				if (side == 0)
					tcm_release(c);
				else if (r.end[1].evs != 0)
					tcm_release(rig_last(&r.end[1])->conn);
				else
					continue;
				rig_run(&r, 4000 * SECOND);
				/* The other owner heard of the end. */
				if (r.end[1 - side].evs != 0 || side == 1) {
					const struct tcm_event *last = rig_last(&r.end[1 - side]);

					assert_true(last->type == TCM_EV_TIMEWAIT_EXIT ||
						    last->type == TCM_EV_REJECTED || last->type == TCM_EV_UNREACHABLE);
					tcm_release(last->conn);
				}
				assert_int_equal(r.end[0].cm.conns + r.end[1].cm.conns, 0);
				assert_int_equal(r.end[0].cm.half_open + r.end[1].cm.half_open, 0);
			}
}

static void
test_sidr(void **state)
{
	const struct troce_path path = rig_path(0);
	struct cm_sidr_req req = {.service_id = RIG_SERVICE, .pkey = 0xffff};
	struct tcm_conn *c;

	(void)state;
	r.end[1].on_event = willing;
	assert_int_equal(tcm_sidr_connect(&r.end[0].cm, &path, &req, &r, &c), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(rig_last(&r.end[0])->type, TCM_EV_SIDR_REP);
	assert_int_equal(rig_last(&r.end[0])->reason, CM_SIDR_OK);
	assert_int_equal(rig_last(&r.end[0])->msg->sidr_rep.qpn, 0x3000);
	assert_int_equal(rig_last(&r.end[0])->msg->sidr_rep.qkey, 0x01234567);
	tcm_release(c);
	tcm_release(rig_last(&r.end[1])->conn);
	/* Nobody serves it. */
	req.service_id++;
	assert_int_equal(tcm_sidr_connect(&r.end[0].cm, &path, &req, &r, &c), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(rig_last(&r.end[0])->reason, CM_SIDR_UNSUPPORTED);
	tcm_release(c);
	/* Nobody is there. */
	r.cut = true;
	assert_int_equal(tcm_sidr_connect(&r.end[0].cm, &path, &req, &r, &c), 0);
	rig_run(&r, 1000 * SECOND);
	assert_int_equal(rig_last(&r.end[0])->type, TCM_EV_UNREACHABLE);
	tcm_release(c);
	assert_int_equal(r.end[0].cm.conns + r.end[1].cm.conns, 0);
}

/*
 * Channels that lose up to half of everything, repeat and reorder. A connection is made on both sides or on none; it ends on
 * both; owners hear each thing once; nothing is left.
 */
static void
test_bad_channels(void **state)
{
	unsigned int made = 0, failed = 0;

	(void)state;
	for (unsigned int seed = 1; seed <= 2000; seed++) {
		struct tcm_conn *a, *b = NULL;

		rig_down(&r);
		rig_up(&r, seed);
		r.lose = rig_random(&r) % 60;
		r.repeat = rig_random(&r) % 50;
		r.delay_ms = 1 + rig_random(&r) % 3000;
		r.end[0].on_event = r.end[1].on_event = willing;
		a = ask(0x1000);
		rig_run(&r, 600 * SECOND);
		if (r.end[1].evs != 0)
			b = r.end[1].ev[0].conn;
		assert_true(r.end[1].count[TCM_EV_REQ] <= 1);
		assert_true(r.end[0].count[TCM_EV_REP] <= 1);
		assert_true(r.end[1].count[TCM_EV_ESTABLISHED] <= 1);
		if (a->state == TCM_ESTABLISHED && b->state == TCM_ESTABLISHED) {
			made++;
			assert_int_equal(tcm_disconnect(rig_random(&r) % 2 ? a : b, NULL, 0), 0);
			rig_run(&r, 600 * SECOND);
			assert_true(a->state != TCM_ESTABLISHED);
			assert_int_equal(r.end[0].count[TCM_EV_DISCONNECTED], 1);
			/* With all DREQs lost, the other side learns it from its queue pair only. */
			if (b->state == TCM_ESTABLISHED)
				assert_true(r.lose > 40);
		} else {
			failed++;
		}
		tcm_release(a);
		if (b != NULL)
			tcm_release(b);
		r.lose = 0;
		rig_run(&r, 4000 * SECOND);
		assert_int_equal(r.end[0].cm.conns, 0);
		assert_int_equal(r.end[1].cm.conns, 0);
		assert_int_equal(r.end[0].cm.half_open + r.end[1].cm.half_open, 0);
		assert_int_equal(r.flights, 0);
	}
	/* 16 tries at less than 60 % loss hardly ever fail. */
	assert_true(made > 1990);
	assert_int_equal(made + failed, 2000);
}

/* Requests from anywhere, faster than anybody decides: memory has an end, and those who are connected notice nothing. */
static void
test_flood(void **state)
{
	struct tcm_conn *a = connected();
	struct troce_mad mad = {.path = rig_path(1), .remote_qpn = 1};
	struct tcm *cm = &r.end[1].cm;
	const struct troce_path path = rig_path(0);
	struct cm_req req = rig_req(0x5000);

	(void)state;
	r.end[1].on_event = NULL;
	memcpy(req.path.remote_gid, path.dgid.raw, 16);
	for (unsigned int i = 0; i < 20000; i++) {
		req.local_id = i;
		req.ca_guid = 0xbad0000000000000ull + i;
		req.qpn = 0x5000 + i;
		assert_int_equal(cm_put(CM_REQ, &req, i, mad.data, NULL), 0);
		mad.path.dgid.raw[14] = (uint8_t)i;
		tcm_input(cm, &mad);
	}
	assert_int_equal(cm->half_open, TCM_HALF_OPEN);
	assert_int_equal(cm->conns, TCM_HALF_OPEN + 1);
	assert_int_equal(cm->stats.half_open_drops, 20000 - TCM_HALF_OPEN);
	assert_int_equal(a->state, TCM_ESTABLISHED);
	/* Nobody waits for ever: there is room again. */
	rig_run(&r, 4000 * SECOND);
	assert_int_equal(cm->half_open, 0);
	assert_int_equal(a->state, TCM_ESTABLISHED);
	r.end[1].on_event = willing;
	rig_run(&r, SECOND);
	a = ask(0x1001);
	rig_run(&r, SECOND);
	assert_int_equal(a->state, TCM_ESTABLISHED);
}

static void
test_limits(void **state)
{
	const struct troce_path path = rig_path(0);
	const struct tcm_conf conf = {.ca_guid = 1, .seed = 1, .mtu_max = IBV_MTU_1024, .max_conns = 100};
	const struct tcm_conf bad = {.max_conns = TCM_MAX_CONNS + 1};
	struct tcm_conn *c[101];
	struct cm_req req = rig_req(5);
	struct tcm small = {0};
	union cm_any got;

	(void)state;
	assert_int_equal(tcm_init(&small, r.end[0].cm.ops, &r.end[0], &bad), -EINVAL);
	assert_int_equal(tcm_init(&small, r.end[0].cm.ops, &r.end[0], &conf), 0);
	tcm_clock(&small, 0);
	r.cut = true;
	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(tcm_connect(&small, &path, &req, &r, &c[i]), 0);
		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(c[i]->local_id, c[k]->local_id);
	}
	assert_int_equal(tcm_connect(&small, &path, &req, &r, &c[100]), -ENOSPC);
	/* A peer is told. */
	memcpy(req.path.remote_gid, path.sgid.raw, 16);
	{
		struct troce_mad mad = {.path = path, .remote_qpn = 1};

		assert_int_equal(cm_put(CM_REQ, &req, 1, mad.data, NULL), 0);
		tcm_input(&small, &mad);
	}
	assert_int_equal(rig_sent(&r.end[0], &got), CM_REJ);
	assert_int_equal(got.rej.reason, CM_REJ_NO_RESOURCES);
	/* An identifier is another one when its place is used again. */
	for (unsigned int i = 0; i < 100; i++) {
		uint32_t was = c[0]->local_id;

		tcm_release(c[0]);
		assert_int_equal(tcm_connect(&small, &path, &req, &r, &c[0]), 0);
		assert_int_not_equal(c[0]->local_id, was);
	}
	/* Numbers that no field holds */
	tcm_release(c[0]);
	req.qpn = 1u << 24;
	assert_int_equal(tcm_connect(&small, &path, &req, &r, &c[0]), -ERANGE);
	assert_int_equal(small.conns, 99);
	assert_int_equal(tcm_rtu(c[1], "x", 225), -EINVAL);
	assert_int_equal(tcm_disconnect(c[1], "x", 221), -EINVAL);
	assert_int_equal(tcm_reject(c[1], 28, NULL, 73, NULL, 0), -EINVAL);
	tcm_fini(&small);
}

/* A peer that names times of hours gets minutes at most. */
static void
test_long_times(void **state)
{
	struct cm_req req = rig_req(0x1000);
	const struct troce_path path = rig_path(0);
	struct tcm_conn *c;

	(void)state;
	r.end[0].on_event = r.end[1].on_event = willing;
	req.remote_timeout = req.local_timeout = 31;
	req.path.ack_timeout = 31;
	assert_int_equal(tcm_connect(&r.end[0].cm, &path, &req, &r, &c), 0);
	rig_run(&r, SECOND);
	assert_int_equal(c->state, TCM_ESTABLISHED);
	assert_int_equal(tcm_disconnect(c, NULL, 0), 0);
	rig_run(&r, 20 * SECOND);
	assert_int_equal(rig_last(&r.end[0])->type, TCM_EV_TIMEWAIT_EXIT);
	assert_int_equal(rig_last(&r.end[1])->type, TCM_EV_TIMEWAIT_EXIT);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_life),      T(test_cross),  T(test_unreachable), T(test_gives_up), T(test_slow_owner),
		T(test_undecided), T(test_reject), T(test_release),     T(test_sidr),     T(test_bad_channels),
		T(test_flood),     T(test_limits), T(test_long_times),
	};

	return cmocka_run_group_tests_name("cm", tests, NULL, NULL);
}
