/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Each message in each state of a connection (IBTA 12.9.7): what the next state is, what is answered, what the owner hears.
 * The test plays the peer by hand. What no row names is dropped: same state, no answer, no event, one more in a counter.
 */
#include "cm_states.h"

#define NO (-1)
struct row {
	enum tcm_state state;
	enum cm_msg msg;
	enum tcm_state next;
	int answer, event;
};

/* 12.9.7.1, 12.9.7.2; of messages that came before, 12.9.8.2 and 12.9.8.3. */
static const struct row rows[] = {
	{TCM_REQ_SENT, CM_MRA, TCM_MRA_REQ_RCVD, NO, NO},
	{TCM_REQ_SENT, CM_REJ, TCM_IDLE, NO, TCM_EV_REJECTED},
	{TCM_REQ_SENT, CM_REP, TCM_REP_RCVD, NO, TCM_EV_REP},
	{TCM_MRA_REQ_RCVD, CM_MRA, TCM_MRA_REQ_RCVD, NO, NO},
	{TCM_MRA_REQ_RCVD, CM_REJ, TCM_IDLE, NO, TCM_EV_REJECTED},
	{TCM_MRA_REQ_RCVD, CM_REP, TCM_REP_RCVD, NO, TCM_EV_REP},
	{TCM_REP_RCVD, CM_REJ, TCM_TIMEWAIT, NO, TCM_EV_REJECTED},
	{TCM_REP_RCVD, CM_REP, TCM_MRA_REP_SENT, CM_MRA, NO},
	{TCM_REP_RCVD, CM_DREQ, TCM_TIMEWAIT, CM_DREP, TCM_EV_DISCONNECTED},
	{TCM_MRA_REP_SENT, CM_REJ, TCM_TIMEWAIT, NO, TCM_EV_REJECTED},
	{TCM_MRA_REP_SENT, CM_REP, TCM_MRA_REP_SENT, CM_MRA, NO},
	{TCM_MRA_REP_SENT, CM_DREQ, TCM_TIMEWAIT, CM_DREP, TCM_EV_DISCONNECTED},
	{TCM_REQ_RCVD, CM_REQ, TCM_MRA_REQ_SENT, CM_MRA, NO},
	{TCM_REQ_RCVD, CM_REJ, TCM_IDLE, NO, TCM_EV_REJECTED},
	{TCM_MRA_REQ_SENT, CM_REQ, TCM_MRA_REQ_SENT, CM_MRA, NO},
	{TCM_MRA_REQ_SENT, CM_REJ, TCM_IDLE, NO, TCM_EV_REJECTED},
	{TCM_REP_SENT, CM_REQ, TCM_REP_SENT, CM_REP, NO},
	{TCM_REP_SENT, CM_MRA, TCM_MRA_REP_RCVD, NO, NO},
	{TCM_REP_SENT, CM_REJ, TCM_TIMEWAIT, NO, TCM_EV_REJECTED},
	{TCM_REP_SENT, CM_RTU, TCM_ESTABLISHED, NO, TCM_EV_ESTABLISHED},
	{TCM_REP_SENT, CM_DREQ, TCM_TIMEWAIT, CM_DREP, TCM_EV_DISCONNECTED},
	{TCM_MRA_REP_RCVD, CM_REQ, TCM_MRA_REP_RCVD, CM_REP, NO},
	{TCM_MRA_REP_RCVD, CM_MRA, TCM_MRA_REP_RCVD, NO, NO},
	{TCM_MRA_REP_RCVD, CM_REJ, TCM_TIMEWAIT, NO, TCM_EV_REJECTED},
	{TCM_MRA_REP_RCVD, CM_RTU, TCM_ESTABLISHED, NO, TCM_EV_ESTABLISHED},
	{TCM_MRA_REP_RCVD, CM_DREQ, TCM_TIMEWAIT, CM_DREP, TCM_EV_DISCONNECTED},
	{TCM_ESTABLISHED, CM_REJ, TCM_TIMEWAIT, NO, TCM_EV_DISCONNECTED},
	{TCM_ESTABLISHED, CM_REP, TCM_ESTABLISHED, CM_RTU, NO}, /* of the active side */
	{TCM_ESTABLISHED, CM_DREQ, TCM_TIMEWAIT, CM_DREP, TCM_EV_DISCONNECTED},
	{TCM_ESTABLISHED, CM_LAP, TCM_ESTABLISHED, CM_APR, NO},
	{TCM_DREQ_SENT, CM_REJ, TCM_TIMEWAIT, NO, TCM_EV_DISCONNECTED},
	{TCM_DREQ_SENT, CM_DREQ, TCM_TIMEWAIT, CM_DREP, TCM_EV_DISCONNECTED},
	{TCM_DREQ_SENT, CM_DREP, TCM_TIMEWAIT, NO, TCM_EV_DISCONNECTED},
	{TCM_TIMEWAIT, CM_REQ, TCM_TIMEWAIT, CM_REJ, NO},
	{TCM_TIMEWAIT, CM_DREQ, TCM_TIMEWAIT, CM_DREP, NO},
	{TCM_SIDR_REQ_SENT, CM_SIDR_REP, TCM_IDLE, NO, TCM_EV_SIDR_REP},
	{TCM_SIDR_ANSWERED, CM_SIDR_REQ, TCM_SIDR_ANSWERED, CM_SIDR_REP, NO},
	{TCM_IDLE, CM_REQ, TCM_IDLE, CM_REJ, NO}, /* which was lost */
};

/* REQ and SIDR_REQ find a connection only from the passive side; for others they are the first of a new one. */
static bool
starts_anew(const struct tcm_conn *c, enum cm_msg msg)
{
	if (msg == CM_REQ)
		return c->dgram || !c->passive;
	return msg == CM_SIDR_REQ && !(c->dgram && c->passive);
}

static uint64_t
dropped(const struct tcm_stats *s)
{
	return s->unexpected + s->duplicates + s->unknown + s->foreign;
}

static void
one(enum tcm_state state, enum cm_msg msg, bool active)
{
	static struct rig r;
	const struct row *row = NULL;
	struct row expected = {state, msg, state, NO, NO};
	struct rig_end *e = &r.end[0];
	unsigned int sents, evs;
	struct tcm_stats stats;
	struct tcm_conn *c;
	union cm_any m;
	uint64_t tid;

	rig_up(&r, 1 + state * CM_MSGS + msg);
	r.cut = true;
	c = bring(&r, state, active);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].state == state && rows[i].msg == msg)
			row = &rows[i];
	/* Whoever was asked has sent a REP and hears none. */
	if (state == TCM_ESTABLISHED && msg == CM_REP && !active)
		row = NULL;
	if (row != NULL)
		expected = *row;
	if (starts_anew(c, msg)) {
		rig_down(&r);
		return;
	}
	sents = e->sents;
	evs = e->evs;
	stats = e->cm.stats;
	tid = compose(c, msg, &m);
	rig_inject(&r, 0, msg, &m, tid);
	if (c->state != expected.next)
		fail_msg("%s + %s: now %s", tcm_state_str(state), cm_layouts[msg].name, tcm_state_str(c->state));
	if ((expected.answer == NO) != (e->sents == sents) ||
	    (expected.answer != NO && rig_sent(e, NULL) != expected.answer))
		fail_msg("%s + %s: answered %d", tcm_state_str(state), cm_layouts[msg].name,
			 e->sents == sents ? NO : rig_sent(e, NULL));
	if ((expected.event == NO) != (e->evs == evs) ||
	    (expected.event != NO && (int)rig_last(e)->type != expected.event))
		fail_msg("%s + %s: %u events", tcm_state_str(state), cm_layouts[msg].name, e->evs - evs);
	if (row == NULL && dropped(&e->cm.stats) != dropped(&stats) + 1)
		fail_msg("%s + %s: not counted", tcm_state_str(state), cm_layouts[msg].name);
	rig_down(&r);
}

static void
test_every_cell(void **state)
{
	(void)state;
	for (unsigned int s = 0; s < TCM_STATES; s++)
		for (unsigned int m = 0; m < CM_MSGS; m++) {
			one((enum tcm_state)s, (enum cm_msg)m, true);
			one((enum tcm_state)s, (enum cm_msg)m, false);
		}
}

/* 12.9.7: what comes for a connection that is not there. */
static void
test_nobody(void **state)
{
	static const struct {
		enum cm_msg msg;
		int answer;
	} cases[] = {
		{CM_MRA, NO},  {CM_REJ, NO},      {CM_REP, CM_REJ}, {CM_RTU, NO}, {CM_DREQ, CM_DREP},
		{CM_DREP, NO}, {CM_SIDR_REP, NO}, {CM_LAP, NO},     {CM_APR, NO},
	};
	static struct rig r;
	union cm_any m, got;

	(void)state;
	rig_up(&r, 7);
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned int sents = r.end[0].sents;

		memset(&m, 0, sizeof(m));
		m.rtu.local_id = 0x1111;
		m.rtu.remote_id = 0x2222;
		rig_inject(&r, 0, cases[i].msg, &m, 3);
		assert_int_equal(r.end[0].cm.stats.unknown, i + 1);
		assert_int_equal(r.end[0].sents - sents, cases[i].answer != NO);
		if (cases[i].answer == NO)
			continue;
		assert_int_equal(rig_sent(&r.end[0], &got), cases[i].answer);
		/* Both ends' names for the connection change places. */
		assert_int_equal(got.rtu.local_id, 0x2222);
		assert_int_equal(got.rtu.remote_id, 0x1111);
		if (cases[i].answer == CM_REJ)
			assert_int_equal(got.rej.reason, CM_REJ_COMM_ID);
	}
	assert_int_equal(r.end[0].cm.conns, 0);
	rig_down(&r);
}

/* A REQ that cannot be served, each with its reason (12.6.7.2). */
static void
test_refusals(void **state)
{
	static struct rig r;
	struct cm_req req = peer_req();
	union cm_any got;

	(void)state;
	rig_up(&r, 8);
#define REFUSED(change, why)                                                                                           \
	do {                                                                                                           \
		struct cm_req bad = req;                                                                               \
                                                                                                                       \
		bad.change;                                                                                            \
		rig_inject(&r, 0, CM_REQ, &bad, 77);                                                                   \
		assert_int_equal(rig_sent(&r.end[0], &got), CM_REJ);                                                   \
		assert_int_equal(got.rej.reason, why);                                                                 \
		assert_int_equal(got.rej.msg, CM_ABOUT_REQ);                                                           \
		assert_int_equal(got.rej.remote_id, PEER_ID);                                                          \
		assert_int_equal(got.rej.local_id, 0);                                                                 \
		assert_true(ib_get64(r.end[0].sent[(r.end[0].sents - 1) % RIG_LOG].data + MAD_TID_AT) == 77);          \
	} while (0)
	REFUSED(service = CM_SERVICE_RD, CM_REJ_SERVICE_TYPE);
	REFUSED(service = CM_SERVICE_EXT, CM_REJ_SERVICE_TYPE);
	REFUSED(qpn = 0, CM_REJ_UNSUPPORTED);
	REFUSED(qpn = 1, CM_REJ_UNSUPPORTED);
	REFUSED(qpn = 0xffffff, CM_REJ_UNSUPPORTED);
	REFUSED(mtu = 0, CM_REJ_MTU);
	REFUSED(mtu = IBV_MTU_4096, CM_REJ_MTU);
	assert_int_equal(got.rej.ari_len, 1);
	assert_int_equal(got.rej.ari[0], IBV_MTU_2048);
	REFUSED(path.remote_gid[15] = 99, CM_REJ_GID);
	assert_int_equal(got.rej.ari_len, 16);
	assert_memory_equal(got.rej.ari, req.path.remote_gid, 16);
	REFUSED(service_id = RIG_SERVICE + 1, CM_REJ_SERVICE_ID);
	r.end[0].refuse = CM_REJ_CONSUMER;
	REFUSED(psn = 0, CM_REJ_CONSUMER);
	r.end[0].refuse = 0;
	assert_int_equal(r.end[0].cm.conns, 0);
	assert_int_equal(r.end[0].evs, 0);
	assert_int_equal(r.end[0].cm.stats.rejected_out, 10);
	assert_int_equal(r.end[0].cm.stats.no_service, 1);
	rig_down(&r);
}

/* Class version 1 is told which one there is (reason 31); other messages of it are dropped. */
static void
test_versions(void **state)
{
	struct troce_mad mad = {.path = rig_path(0), .remote_qpn = 1};
	const struct cm_req req = peer_req();
	static struct rig r;
	union cm_any got;

	(void)state;
	rig_up(&r, 9);
	assert_int_equal(cm_put(CM_REQ, &req, 5, mad.data, NULL), 0);
	mad.data[MAD_CLASS_VERSION_AT] = 1;
	tcm_input(&r.end[0].cm, &mad);
	assert_int_equal(rig_sent(&r.end[0], &got), CM_REJ);
	assert_int_equal(got.rej.reason, CM_REJ_CLASS_VERSION);
	assert_int_equal(got.rej.remote_id, PEER_ID);
	assert_int_equal(got.rej.ari_len, 1);
	assert_int_equal(got.rej.ari[0], 2);
	ib_put16(mad.data + MAD_ATTR_AT, CM_ATTR_FIRST + CM_DREQ);
	tcm_input(&r.end[0].cm, &mad);
	assert_int_equal(r.end[0].sents, 1);
	assert_int_equal(r.end[0].cm.stats.bad_version, 2);
	mad.data[MAD_CLASS_VERSION_AT] = 2;
	ib_put16(mad.data + MAD_ATTR_AT, 0x1b);
	tcm_input(&r.end[0].cm, &mad);
	ib_put16(mad.data + MAD_ATTR_AT, 1);
	tcm_input(&r.end[0].cm, &mad);
	assert_int_equal(r.end[0].cm.stats.malformed, 2);
	rig_down(&r);
}

/* From another address, or with a wrong identifier, queue pair or transaction, nothing is believed. */
static void
test_forged(void **state)
{
	struct troce_mad mad = {.path = rig_path(0), .remote_qpn = 1};
	struct tcm_conn *c;
	static struct rig r;
	struct cm_dreq dreq = {.local_id = PEER_ID, .remote_qpn = QPN};
	struct cm_drep drep = {.local_id = PEER_ID};

	(void)state;
	rig_up(&r, 10);
	r.cut = true;
	c = bring(&r, TCM_ESTABLISHED, true);
	dreq.remote_id = drep.remote_id = c->local_id;
	assert_int_equal(cm_put(CM_DREQ, &dreq, 5, mad.data, NULL), 0);
	mad.path.dgid.raw[15] = 77;
	tcm_input(&r.end[0].cm, &mad);
	assert_int_equal(c->state, TCM_ESTABLISHED);
	assert_int_equal(r.end[0].cm.stats.foreign, 1);
	dreq.remote_qpn++;
	rig_inject(&r, 0, CM_DREQ, &dreq, 5);
	assert_int_equal(c->state, TCM_ESTABLISHED);
	assert_int_equal(r.end[0].cm.stats.foreign, 2);
	dreq.remote_qpn--;
	dreq.local_id++;
	rig_inject(&r, 0, CM_DREQ, &dreq, 5);
	assert_int_equal(c->state, TCM_ESTABLISHED);
	assert_int_equal(tcm_disconnect(c, NULL, 0), 0);
	rig_inject(&r, 0, CM_DREP, &drep, 5);
	assert_int_equal(c->state, TCM_DREQ_SENT);
	rig_down(&r);
}

/* 12.9.8.3.1: a peer that started anew; with the same identifier, or with the same queue pair. */
static void
test_stale(void **state)
{
	static struct rig r;
	struct cm_req req = peer_req();
	struct tcm_conn *c;
	union cm_any got;

	(void)state;
	for (unsigned int same_id = 0; same_id < 2; same_id++) {
		rig_up(&r, 11);
		r.cut = true;
		c = bring(&r, TCM_ESTABLISHED, false);
		req.local_id = PEER_ID + !same_id;
		rig_inject(&r, 0, CM_REQ, &req, REQ_TID + 1);
		assert_int_equal(c->state, TCM_DREQ_SENT);
		assert_int_equal(rig_sent(&r.end[0], NULL), CM_DREQ);
		cm_get(CM_REJ, r.end[0].sent[r.end[0].sents - 2].data, &got);
		assert_int_equal(got.rej.reason, CM_REJ_STALE);
		assert_int_equal(got.rej.remote_id, req.local_id);
		assert_int_equal(rig_last(&r.end[0])->type, TCM_EV_DISCONNECTED);
		assert_int_equal(r.end[0].cm.stats.stale, 1);
		/* Told once. */
		rig_run(&r, 3600000 * RIG_MS);
		assert_int_equal(r.end[0].count[TCM_EV_DISCONNECTED], 1);
		assert_int_equal(rig_last(&r.end[0])->type, TCM_EV_TIMEWAIT_EXIT);
		tcm_release(c);
		assert_int_equal(r.end[0].cm.conns, 0);
		rig_down(&r);
	}
	/* Who asks and is answered by a queue pair that is connected already */
	rig_up(&r, 12);
	r.cut = true;
	(void)bring(&r, TCM_ESTABLISHED, true);
	c = asked(&r);
	rig_inject(&r, 0, CM_REP,
		   &(struct cm_rep){.local_id = 5, .remote_id = c->local_id, .qpn = PEER_QPN, .ca_guid = PEER_GUID}, 1);
	assert_int_equal(rig_sent(&r.end[0], &got), CM_REJ);
	assert_int_equal(got.rej.reason, CM_REJ_STALE);
	assert_int_equal(rig_last(&r.end[0])->type, TCM_EV_REJECTED);
	rig_down(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cell), cmocka_unit_test(test_nobody), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_versions),   cmocka_unit_test(test_forged), cmocka_unit_test(test_stale),
	};

	return cmocka_run_group_tests_name("cm_table", tests, NULL, NULL);
}
