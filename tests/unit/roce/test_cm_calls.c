/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A communication manager's calls and times: what they write, what they refuse, how long each state waits (IBTA 1.4, 12.9.8),
 * how connections are told apart and in which order their times come.
 */
#include <errno.h>

#include "cm_states.h"

#define ROWS(t) (sizeof(t) / sizeof((t)[0]))
#define TIME(code) (UINT64_C(4096) << (code))

static struct rig r;
#define E (&r.end[0])

static int
setup(void **state)
{
	(void)state;
	rig_up(&r, 21);
	r.cut = true;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rig_down(&r);
	return 0;
}

static unsigned int
sent_of(enum cm_msg msg)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < E->sents && i < RIG_LOG; i++)
		n += cm_msg_of(E->sent[i].data) == (int)msg;
	return n;
}

static uint64_t
last_tid(void)
{
	return ib_get64(E->sent[(E->sents - 1) % RIG_LOG].data + MAD_TID_AT);
}

/* --- what is written ------------------------------------------------------------------------------------------- */

/* Of a path on Ethernet LIDs say nothing (A17.4.1): all ones behind routers, 0 on the link itself. */
static void
test_path_of_request(void **state)
{
	static const struct {
		uint8_t type, hop_limit;
		uint16_t slid, dlid, wants, wantd;
		bool local;
	} t[] = {
		{IBV_GID_TYPE_ROCE_V2, 64, 5, 6, 0xffff, 0xffff, false},
		{IBV_GID_TYPE_ROCE_V2, 2, 5, 6, 0xffff, 0xffff, false},
		{IBV_GID_TYPE_ROCE_V2, 1, 5, 6, 0, 0, true},
		{IBV_GID_TYPE_ROCE_V1, 0, 5, 6, 0, 0, true},
		{IBV_GID_TYPE_IB, 0, 0x1234, 0x4321, 0x1234, 0x4321, true},
	};
	union cm_any got;

	(void)state;
	for (size_t i = 0; i < ROWS(t); i++) {
		struct troce_path path = rig_path(0);
		struct cm_req req = rig_req(QPN);
		struct tcm_conn *c;
		uint64_t tid = E->cm.tid;

		path.type = t[i].type;
		path.hop_limit = t[i].hop_limit;
		path.slid = t[i].slid;
		path.dlid = t[i].dlid;
		path.flow_label = 0x54321;
		path.tclass = 0x6b;
		path.prio = 5;
		assert_int_equal(tcm_connect(&E->cm, &path, &req, &r, &c), 0);
		assert_int_equal(rig_sent(E, &got), CM_REQ);
		assert_int_equal(got.req.path.local_lid, t[i].wants);
		assert_int_equal(got.req.path.remote_lid, t[i].wantd);
		assert_int_equal(got.req.path.subnet_local, t[i].local);
		assert_int_equal(got.req.path.hop_limit, t[i].hop_limit);
		assert_int_equal(got.req.path.flow_label, 0x54321);
		assert_int_equal(got.req.path.tclass, 0x6b);
		assert_int_equal(got.req.path.sl, 5);
		assert_memory_equal(got.req.path.local_gid, path.sgid.raw, 16);
		assert_memory_equal(got.req.path.remote_gid, path.dgid.raw, 16);
		assert_int_equal(got.req.local_id, c->local_id);
		assert_true(got.req.ca_guid == 0x0002c90300000001);
		/* Each request is a transaction of its own, and what belongs to it has its number. */
		assert_true(last_tid() == c->tid && c->tid != tid);
	}
}

static void
test_one_transaction(void **state)
{
	struct tcm_conn *c = bring(&r, TCM_ESTABLISHED, true);
	uint64_t tid = c->tid;

	(void)state;
	assert_int_equal(rig_sent(E, NULL), CM_RTU);
	assert_true(last_tid() == tid);
	assert_int_equal(tcm_disconnect(c, NULL, 0), 0);
	assert_true(last_tid() != tid);
	/* The passive side answers in its peer's. */
	rig_down(&r);
	setup(NULL);
	(void)bring(&r, TCM_REP_SENT, false);
	assert_true(last_tid() == REQ_TID);
	/* Who disconnects is answered in its own, whenever it asks. */
	rig_down(&r);
	setup(NULL);
	c = bring(&r, TCM_ESTABLISHED, false);
	for (uint64_t k = 0; k < 2; k++) {
		const struct cm_dreq m = {.local_id = PEER_ID, .remote_id = c->local_id, .remote_qpn = QPN};

		rig_inject(&r, 0, CM_DREQ, &m, 0x1122334455667788 + k);
		assert_int_equal(rig_sent(E, NULL), CM_DREP);
		assert_true(last_tid() == 0x1122334455667788 + k);
	}
}

/* Private data up to the length of its field (12.6). */
static void
test_private_data(void **state)
{
	static const struct {
		enum tcm_state state;
		uint32_t most;
	} t[] = {{TCM_REP_RCVD, 224}, {TCM_ESTABLISHED, 220}, {TCM_REP_SENT, 148}};
	uint8_t data[256];
	union cm_any got;

	(void)state;
	memset(data, 0xd7, sizeof(data));
	for (size_t i = 0; i < ROWS(t); i++)
		for (uint32_t more = 2; more-- > 0;) {
			struct tcm_conn *c;
			uint32_t len = t[i].most + more;
			const uint8_t *at;
			int rc;

			rig_down(&r);
			setup(NULL);
			c = bring(&r, t[i].state, true);
			if (t[i].state == TCM_REP_RCVD)
				rc = tcm_rtu(c, data, len);
			else if (t[i].state == TCM_ESTABLISHED)
				rc = tcm_disconnect(c, data, len);
			else
				rc = tcm_reject(c, CM_REJ_CONSUMER, data, 72, data, len);
			assert_int_equal(rc, more == 1 ? -EINVAL : 0);
			if (more == 1) {
				assert_int_equal(c->state, t[i].state);
				continue;
			}
			rig_sent(E, &got);
			at = i == 0 ? got.rtu.private_data : i == 1 ? got.dreq.private_data : got.rej.private_data;
			assert_memory_equal(at, data, len);
		}
	rig_down(&r);
	setup(NULL);
	assert_int_equal(tcm_reject(bring(&r, TCM_REQ_RCVD, false), 28, data, 73, NULL, 0), -EINVAL);
}

/* --- what is refused ------------------------------------------------------------------------------------------- */

/* Which call may be made in which state; what is refused changes nothing and says nothing. */
static void
test_calls_in_states(void **state)
{
	static const struct {
		unsigned int call;
		const char *states; /* by enum tcm_state */
	} t[] = {
		/*    qRrMQmpPEdTssai */
		{0, "....xx........."}, /* accept */
		{1, "..xx..........."}, /* rtu */
		{2, "..xxxxxx......."}, /* reject */
		{3, "......xx......."}, /* established */
		{4, "........x......"}, /* disconnect */
		{5, "............x.."}, /* sidr_answer */
	};

	(void)state;
	for (size_t i = 0; i < ROWS(t); i++)
		for (unsigned int s = 0; s < TCM_STATES; s++) {
			struct cm_sidr_rep sidr = {.qpn = QPN};
			struct cm_rep rep = {.qpn = QPN};
			unsigned int sents;
			struct tcm_conn *c;
			int rc;

			rig_down(&r);
			setup(NULL);
			c = bring(&r, (enum tcm_state)s, true);
			sents = E->sents;
			switch (t[i].call) {
			case 0: rc = tcm_accept(c, &rep); break;
			case 1: rc = tcm_rtu(c, NULL, 0); break;
			case 2: rc = tcm_reject(c, CM_REJ_CONSUMER, NULL, 0, NULL, 0); break;
			case 3: rc = tcm_established(c); break;
			case 4: rc = tcm_disconnect(c, NULL, 0); break;
			default: rc = tcm_sidr_answer(c, &sidr); break;
			}
			if (rc != (t[i].states[s] == 'x' ? 0 : -EINVAL))
				fail_msg("call %u, %s: %d", t[i].call, tcm_state_str((enum tcm_state)s), rc);
			if (rc == 0 && t[i].call == 3)
				assert_int_equal(rig_last(E)->reason, 0);
			if (rc != 0) {
				assert_int_equal(c->state, s);
				assert_int_equal(E->sents, sents);
			}
		}
}

/* What a REJ of ours is about, by the state in which it is sent (12.6.7.1). */
static void
test_reject_says_about_what(void **state)
{
	static const struct {
		enum tcm_state state;
		enum cm_about about;
	} t[] = {
		{TCM_REQ_RCVD, CM_ABOUT_REQ},
		{TCM_MRA_REQ_SENT, CM_ABOUT_REQ},
		{TCM_REP_RCVD, CM_ABOUT_REP},
		{TCM_MRA_REP_SENT, CM_ABOUT_REP},
		{TCM_REP_SENT, CM_ABOUT_OTHER},
		{TCM_MRA_REP_RCVD, CM_ABOUT_OTHER},
		/* Nobody answers: only the time is up. */
		{TCM_REQ_SENT, CM_ABOUT_REQ},
		{TCM_MRA_REQ_RCVD, CM_ABOUT_REQ},
	};
	union cm_any got;

	(void)state;
	for (size_t i = 0; i < ROWS(t) * 2; i++) {
		bool late = i % 2 == 1, asking = t[i / 2].state == TCM_REQ_SENT || t[i / 2].state == TCM_MRA_REQ_RCVD;
		struct tcm_conn *c;
		uint64_t failed, out;

		rig_down(&r);
		setup(NULL);
		c = bring(&r, t[i / 2].state, true);
		failed = E->cm.stats.failed;
		out = E->cm.stats.rejected_out;
		if (late)
			rig_run(&r, 4000 * 1000 * RIG_MS);
		else if (asking)
			tcm_release(c);
		else
			assert_int_equal(tcm_reject(c, CM_REJ_CONSUMER, "why", 3, NULL, 0), 0);
		assert_int_equal(rig_sent(E, &got), CM_REJ);
		assert_int_equal(got.rej.msg, t[i / 2].about);
		assert_int_equal(got.rej.reason, late || asking ? CM_REJ_TIMEOUT : CM_REJ_CONSUMER);
		assert_int_equal(got.rej.ari_len, late || asking ? 8 : 3);
		assert_memory_equal(got.rej.ari, late || asking ? "\x00\x02\xc9\x03\x00\x00\x00\x01" : "why",
				    late || asking ? 8 : 3);
		assert_int_equal(E->cm.stats.rejected_out, out + 1);
		assert_int_equal(E->cm.stats.timeouts, late);
		/* Who refuses a request has not failed. */
		assert_int_equal(E->cm.stats.failed - failed,
				 late || asking ||
					 (t[i / 2].state != TCM_REQ_RCVD && t[i / 2].state != TCM_MRA_REQ_SENT));
	}
}

/* Borders of what a REQ may say; a service that drops it says nothing to anybody. */
static void
test_borders_of_request(void **state)
{
	static const struct {
		uint32_t qpn;
		uint8_t mtu, service;
		bool good;
	} t[] = {
		{2, IBV_MTU_256, CM_SERVICE_RC, true},       {0xfffffe, IBV_MTU_2048, CM_SERVICE_UC, true},
		{1, IBV_MTU_1024, CM_SERVICE_RC, false},     {0xffffff, IBV_MTU_1024, CM_SERVICE_RC, false},
		{5, IBV_MTU_2048 + 1, CM_SERVICE_RC, false}, {5, IBV_MTU_256 - 1, CM_SERVICE_RC, false},
	};

	(void)state;
	for (size_t i = 0; i < ROWS(t); i++) {
		struct cm_req req = peer_req();

		rig_down(&r);
		setup(NULL);
		req.qpn = t[i].qpn;
		req.mtu = t[i].mtu;
		req.service = t[i].service;
		rig_inject(&r, 0, CM_REQ, &req, 3);
		assert_int_equal(E->count[TCM_EV_REQ], t[i].good);
		assert_int_equal(E->sents, !t[i].good);
		if (t[i].good)
			assert_int_equal(rig_last(E)->reason, 0);
		E->refuse = TCM_DROP;
		req.local_id++;
		req.qpn = 77;
		req.mtu = IBV_MTU_256;
		req.service = CM_SERVICE_RC;
		rig_inject(&r, 0, CM_REQ, &req, 4);
		assert_int_equal(E->sents, !t[i].good);
		assert_int_equal(E->cm.stats.half_open_drops, 1);
		assert_int_equal(E->cm.conns, t[i].good);
	}
}

/* --- times ----------------------------------------------------------------------------------------------------- */

/* How long each state waits. Times in the rig: answers 2^18, packets 2^14 there and back; services of datagrams 2^19, 2^16. */
static void
test_times_of_states(void **state)
{
	const uint64_t answer = TIME(18) + 2 * TIME(14), ours = TIME(19) + 2 * TIME(14), sidr = TIME(19) + 2 * TIME(16);
	const uint64_t wait[TCM_STATES] = {
		[TCM_REQ_SENT] = answer,
		[TCM_MRA_REQ_RCVD] = TIME(20) + 2 * TIME(14), /* what the peer asked for */
		[TCM_REP_RCVD] = 16 * ours,
		[TCM_MRA_REP_SENT] = TIME(24) + answer,
		[TCM_REQ_RCVD] = 16 * answer,
		[TCM_MRA_REQ_SENT] = TIME(24) + answer,
		[TCM_REP_SENT] = answer,
		[TCM_MRA_REP_RCVD] = TIME(20) + 2 * TIME(14),
		[TCM_ESTABLISHED] = TCM_NEVER,
		[TCM_DREQ_SENT] = answer,
		[TCM_TIMEWAIT] = 2 * TIME(14),
		[TCM_SIDR_REQ_SENT] = sidr,
		[TCM_SIDR_REQ_RCVD] = 16 * sidr,
		[TCM_SIDR_ANSWERED] = sidr,
		[TCM_IDLE] = TCM_NEVER,
	};

	(void)state;
	for (unsigned int s = 0; s < TCM_STATES; s++) {
		rig_down(&r);
		setup(NULL);
		(void)bring(&r, (enum tcm_state)s, true);
		if (tcm_deadline(&E->cm) != wait[s])
			fail_msg("%s: %llu ns", tcm_state_str((enum tcm_state)s),
				 (unsigned long long)tcm_deadline(&E->cm));
		if (wait[s] == TCM_NEVER)
			continue;
		/* Not a moment before. */
		tcm_clock(&E->cm, wait[s] - 1);
		assert_int_equal(tcm_run(&E->cm), 0);
		tcm_clock(&E->cm, wait[s]);
		assert_int_equal(tcm_run(&E->cm), 1);
	}
}

/* A peer names times of hours and gets seconds: 4.3 s after the end, 69 s for an answer. */
static void
test_longest_times(void **state)
{
	struct cm_req req = peer_req();
	struct cm_rep rep = {.qpn = QPN};
	struct cm_dreq m = {.local_id = PEER_ID, .remote_qpn = QPN};
	struct tcm_conn *c;

	(void)state;
	req.local_timeout = req.path.ack_timeout = 31;
	rig_inject(&r, 0, CM_REQ, &req, REQ_TID);
	c = rig_last(E)->conn;
	assert_int_equal(tcm_accept(c, &rep), 0);
	assert_true(tcm_deadline(&E->cm) == TIME(24) + 2 * TIME(20));
	m.remote_id = c->local_id;
	rig_inject(&r, 0, CM_DREQ, &m, 1);
	assert_int_equal(c->state, TCM_TIMEWAIT);
	assert_true(tcm_deadline(&E->cm) == 2 * TIME(19));
}

/* How often a message is sent that nobody answers; each kind of message has all its tries, whatever was used up before. */
static void
test_tries(void **state)
{
	static const struct {
		enum tcm_state state;
		enum cm_msg msg;
		enum tcm_event_type end;
	} t[] = {
		{TCM_REQ_SENT, CM_REQ, TCM_EV_UNREACHABLE},
		{TCM_REP_SENT, CM_REP, TCM_EV_UNREACHABLE},
		{TCM_DREQ_SENT, CM_DREQ, TCM_EV_DISCONNECTED},
		{TCM_SIDR_REQ_SENT, CM_SIDR_REQ, TCM_EV_UNREACHABLE},
	};

	(void)state;
	for (size_t i = 0; i < ROWS(t); i++) {
		struct tcm_conn *c;

		rig_down(&r);
		setup(NULL);
		if (t[i].state == TCM_DREQ_SENT) {
			struct cm_rep rep;

			c = asked(&r);
			rig_run(&r, TIME(19));
			assert_int_equal(c->retries, 14);
			rep = peer_rep(c);
			rig_inject(&r, 0, CM_REP, &rep, c->tid);
			assert_int_equal(tcm_rtu(c, NULL, 0), 0);
			assert_int_equal(tcm_disconnect(c, NULL, 0), 0);
		} else {
			(void)bring(&r, t[i].state, true);
		}
		rig_run(&r, 100 * 1000 * RIG_MS);
		assert_int_equal(sent_of(t[i].msg), 16);
		assert_int_equal(E->count[t[i].end], 1);
		assert_int_equal(E->cm.stats.timeouts, 1);
	}
}

/* Each MRA costs a try, so that no peer holds a connection for ever; one about something else costs nothing. */
static void
test_more_time_costs(void **state)
{
	struct tcm_conn *c = asked(&r);

	(void)state;
	peer_mra(&r, c, CM_ABOUT_REP);
	assert_int_equal(c->state, TCM_REQ_SENT);
	assert_int_equal(E->cm.stats.unexpected, 1);
	for (unsigned int i = 0; i < 15; i++) {
		assert_int_equal(c->retries, 15 - i);
		peer_mra(&r, c, CM_ABOUT_REQ);
	}
	assert_int_equal(E->cm.stats.unexpected, 1);
	peer_mra(&r, c, CM_ABOUT_REQ);
	assert_int_equal(E->cm.stats.unexpected, 2);
	rig_run(&r, TIME(20) + 2 * TIME(14));
	assert_int_equal(E->count[TCM_EV_UNREACHABLE], 1);
	/* Nothing of it can come: the peer has no queue pair. */
	assert_int_equal(c->state, TCM_IDLE);
	/* With tries left, it asks again when that time is up, and waits as at first. */
	c = asked(&r);
	peer_mra(&r, c, CM_ABOUT_REQ);
	rig_run(&r, TIME(20) + 2 * TIME(14));
	assert_int_equal(c->state, TCM_REQ_SENT);
	assert_int_equal(E->cm.stats.retries, 1);
	assert_true(tcm_deadline(&E->cm) == r.now + TIME(18) + 2 * TIME(14));
}

/* --- many ------------------------------------------------------------------------------------------------------ */

/* Of many times the earliest is known, whatever comes and goes in between. */
static void
test_earliest_time(void **state)
{
	static struct tcm_conn *c[300];
	const struct troce_path path = rig_path(0);
	uint64_t rng = 99;

	(void)state;
	for (unsigned int step = 0; step < 6000; step++) {
		unsigned int i = (unsigned int)((rng = rng * 6364136223846793005 + 1442695040888963407) >> 33) % 300;
		uint64_t least = TCM_NEVER;

		if (c[i] == NULL) {
			struct cm_req req = rig_req(QPN);

			req.remote_timeout = (uint8_t)(rng >> 20) % 23;
			tcm_clock(&E->cm, step);
			assert_int_equal(tcm_connect(&E->cm, &path, &req, &r, &c[i]), 0);
		} else {
			tcm_release(c[i]);
			c[i] = NULL;
		}
		for (unsigned int k = 0; k < 300; k++)
			if (c[k] != NULL && c[k]->deadline < least)
				least = c[k]->deadline;
		assert_true(tcm_deadline(&E->cm) == least);
	}
	for (unsigned int k = 0; k < 300; k++)
		if (c[k] != NULL)
			tcm_release(c[k]);
	memset(c, 0, sizeof(c));
	assert_true(tcm_deadline(&E->cm) == TCM_NEVER);
}

/* Places are used again under other names: who knows the old one means nobody. */
static void
test_old_names(void **state)
{
	const struct tcm_conf conf = {.ca_guid = 1, .seed = 1, .mtu_max = IBV_MTU_1024, .max_conns = 1};
	struct troce_mad mad = {.path = rig_path(0), .remote_qpn = 1};
	const struct troce_path path = rig_path(0);
	struct cm_req req = rig_req(QPN);
	struct tcm_conn *c;
	struct tcm one = {0};
	struct cm_rep rep;

	(void)state;
	assert_int_equal(tcm_init(&one, E->cm.ops, E, &conf), 0);
	tcm_clock(&one, 0);
	assert_int_equal(tcm_connect(&one, &path, &req, &r, &c), 0);
	rep = peer_rep(c);
	tcm_release(c);
	assert_int_equal(tcm_connect(&one, &path, &req, &r, &c), 0);
	assert_int_equal(cm_put(CM_REP, &rep, c->tid, mad.data, NULL), 0);
	tcm_input(&one, &mad);
	assert_int_equal(c->state, TCM_REQ_SENT);
	assert_int_equal(one.stats.unknown, 1);
	rep.remote_id = c->local_id;
	assert_int_equal(cm_put(CM_REP, &rep, c->tid, mad.data, NULL), 0);
	tcm_input(&one, &mad);
	assert_int_equal(c->state, TCM_REP_RCVD);
	tcm_fini(&one);
}

/* As many as there may be, each found by its name. */
static void
test_all_places(void **state)
{
	static struct tcm_conn *c[TCM_MAX_CONNS];
	struct troce_mad mad = {.path = rig_path(0), .remote_qpn = 1};
	const struct troce_path path = rig_path(0);
	struct cm_req req = rig_req(QPN);

	(void)state;
	for (uint32_t i = 0; i < TCM_MAX_CONNS; i++)
		assert_int_equal(tcm_connect(&E->cm, &path, &req, &r, &c[i]), 0);
	assert_int_equal(tcm_connect(&E->cm, &path, &req, &r, &c[0]), -ENOSPC);
	for (uint32_t i = 0; i < TCM_MAX_CONNS; i += 4369) {
		const struct cm_mra m = {.remote_id = c[i]->local_id, .msg = CM_ABOUT_REQ, .timeout = 20};

		assert_int_equal(cm_put(CM_MRA, &m, c[i]->tid, mad.data, NULL), 0);
		tcm_input(&E->cm, &mad);
		assert_int_equal(c[i]->state, TCM_MRA_REQ_RCVD);
	}
	assert_int_equal(E->cm.stats.unknown, 0);
}

/* Services of datagrams are told apart by the number of the request and by who asks. */
static void
test_datagram_peers(void **state)
{
	struct cm_sidr_req m = {.request_id = PEER_ID, .service_id = RIG_SERVICE, .pkey = 0xffff};
	struct troce_mad mad = {.path = rig_path(0), .remote_qpn = 1};
	struct cm_sidr_rep rep = {.qpn = QPN};
	union cm_any got;

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		/* The fourth is the first again. */
		m.request_id = PEER_ID + (i == 1);
		mad.path = rig_path(0);
		/* The interface part is the same: both are in one list. */
		mad.path.dgid.raw[3] = i == 2 ? 9 : 0;
		assert_int_equal(cm_put(CM_SIDR_REQ, &m, REQ_TID, mad.data, NULL), 0);
		tcm_input(&E->cm, &mad);
		assert_int_equal(E->count[TCM_EV_SIDR_REQ], i < 3 ? i + 1 : 3);
	}
	assert_int_equal(E->cm.stats.duplicates, 1);
	/* Answers name request and service. */
	assert_int_equal(tcm_sidr_answer(rig_last(E)->conn, &rep), 0);
	assert_int_equal(rig_sent(E, &got), CM_SIDR_REP);
	assert_int_equal(got.sidr_rep.request_id, PEER_ID);
	assert_true(got.sidr_rep.service_id == RIG_SERVICE);
	/* A connection of that number is none of them. */
	(void)was_asked(&r);
	assert_int_equal(E->count[TCM_EV_REQ], 1);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_path_of_request), T(test_one_transaction),        T(test_private_data),
		T(test_calls_in_states), T(test_reject_says_about_what), T(test_borders_of_request),
		T(test_times_of_states), T(test_longest_times),          T(test_tries),
		T(test_more_time_costs), T(test_earliest_time),          T(test_old_names),
		T(test_all_places),      T(test_datagram_peers),
	};

	return cmocka_run_group_tests_name("cm_calls", tests, NULL, NULL);
}
