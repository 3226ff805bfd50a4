/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A connection brought into any of its states: the test plays the peer by hand. */
#ifndef CM_STATES_H
#define CM_STATES_H

#include "cm_rig.h"

#define PEER_ID 0x77777777u
#define PEER_GUID 0x0002c90300000002ull
#define PEER_QPN 0x4711u
#define QPN 0x1234u
#define REQ_TID 0x5555ull

/* Plays the end 0; the peer is the test, as end 1 never sees anything. */
static inline struct tcm_conn *
asked(struct rig *r)
{
	struct cm_req req = rig_req(QPN);
	const struct troce_path path = rig_path(0);
	struct tcm_conn *c;

	assert_int_equal(tcm_connect(&r->end[0].cm, &path, &req, r, &c), 0);
	return c;
}

static inline struct cm_req
peer_req(void)
{
	struct cm_req req = rig_req(PEER_QPN);
	const struct troce_path path = rig_path(1);

	req.local_id = PEER_ID;
	req.ca_guid = PEER_GUID;
	memcpy(req.path.local_gid, path.sgid.raw, 16);
	memcpy(req.path.remote_gid, path.dgid.raw, 16);
	return req;
}

static inline struct tcm_conn *
was_asked(struct rig *r)
{
	const struct cm_req req = peer_req();

	rig_inject(r, 0, CM_REQ, &req, REQ_TID);
	assert_int_equal(rig_last(&r->end[0])->type, TCM_EV_REQ);
	return rig_last(&r->end[0])->conn;
}

static inline struct cm_rep
peer_rep(const struct tcm_conn *c)
{
	return (struct cm_rep){.local_id = PEER_ID, .remote_id = c->local_id, .qpn = PEER_QPN, .ca_guid = PEER_GUID};
}

static inline void
peer_mra(struct rig *r, const struct tcm_conn *c, enum cm_about about)
{
	const struct cm_mra m = {.local_id = PEER_ID, .remote_id = c->local_id, .msg = about, .timeout = 20};

	rig_inject(r, 0, CM_MRA, &m, REQ_TID);
}

static inline struct tcm_conn *
to_rep_rcvd(struct rig *r)
{
	struct tcm_conn *c = asked(r);
	const struct cm_rep rep = peer_rep(c);

	rig_inject(r, 0, CM_REP, &rep, c->tid);
	return c;
}

static inline struct tcm_conn *
to_rep_sent(struct rig *r)
{
	struct tcm_conn *c = was_asked(r);
	struct cm_rep rep = {.qpn = QPN};

	assert_int_equal(tcm_accept(c, &rep), 0);
	return c;
}

static inline struct tcm_conn *
to_sidr_rcvd(struct rig *r)
{
	const struct cm_sidr_req m = {.request_id = PEER_ID, .service_id = RIG_SERVICE, .pkey = 0xffff};

	rig_inject(r, 0, CM_SIDR_REQ, &m, REQ_TID);
	assert_int_equal(rig_last(&r->end[0])->type, TCM_EV_SIDR_REQ);
	return rig_last(&r->end[0])->conn;
}

/* Brings a connection into a state; active: as the one that asked, where both sides have the state. */
static inline struct tcm_conn *
bring(struct rig *r, enum tcm_state state, bool active)
{
	struct cm_sidr_rep sidr_rep = {.qpn = QPN};
	struct cm_sidr_req sidr_req = {.service_id = RIG_SERVICE};
	const struct troce_path path = rig_path(0);
	const struct cm_req again = peer_req();
	struct tcm_conn *c = NULL;
	struct cm_rep rep;

	switch (state) {
	case TCM_REQ_SENT: c = asked(r); break;
	case TCM_MRA_REQ_RCVD:
		c = asked(r);
		peer_mra(r, c, CM_ABOUT_REQ);
		break;
	case TCM_REP_RCVD: c = to_rep_rcvd(r); break;
	case TCM_MRA_REP_SENT:
		c = to_rep_rcvd(r);
		rep = peer_rep(c);
		rig_inject(r, 0, CM_REP, &rep, c->tid);
		break;
	case TCM_REQ_RCVD: c = was_asked(r); break;
	case TCM_MRA_REQ_SENT:
		c = was_asked(r);
		rig_inject(r, 0, CM_REQ, &again, REQ_TID);
		break;
	case TCM_REP_SENT: c = to_rep_sent(r); break;
	case TCM_MRA_REP_RCVD:
		c = to_rep_sent(r);
		peer_mra(r, c, CM_ABOUT_REP);
		break;
	case TCM_ESTABLISHED:
		c = active ? to_rep_rcvd(r) : to_rep_sent(r);
		assert_int_equal(active ? tcm_rtu(c, NULL, 0) : tcm_established(c), 0);
		break;
	case TCM_DREQ_SENT:
		c = bring(r, TCM_ESTABLISHED, active);
		assert_int_equal(tcm_disconnect(c, NULL, 0), 0);
		break;
	case TCM_TIMEWAIT: {
		struct cm_dreq m = {.local_id = PEER_ID, .remote_qpn = QPN};

		c = bring(r, TCM_ESTABLISHED, active);
		m.remote_id = c->local_id;
		rig_inject(r, 0, CM_DREQ, &m, 0x9999);
		break;
	}
	case TCM_SIDR_REQ_SENT: assert_int_equal(tcm_sidr_connect(&r->end[0].cm, &path, &sidr_req, r, &c), 0); break;
	case TCM_SIDR_REQ_RCVD: c = to_sidr_rcvd(r); break;
	case TCM_SIDR_ANSWERED:
		c = to_sidr_rcvd(r);
		assert_int_equal(tcm_sidr_answer(c, &sidr_rep), 0);
		break;
	case TCM_IDLE:
		c = was_asked(r);
		assert_int_equal(tcm_reject(c, CM_REJ_CONSUMER, NULL, 0, NULL, 0), 0);
		break;
	case TCM_STATES: break;
	}
	assert_non_null(c);
	assert_int_equal(c->state, state);
	return c;
}

/* The message as the right peer of this connection would write it. */
static inline uint64_t
compose(const struct tcm_conn *c, enum cm_msg msg, union cm_any *m)
{
	bool said_req = c->state == TCM_REQ_SENT || c->state == TCM_MRA_REQ_RCVD;

	memset(m, 0, sizeof(*m));
	/* Where all others have them */
	m->rtu.local_id = PEER_ID;
	m->rtu.remote_id = c->local_id;
	switch (msg) {
	case CM_REQ: m->req = peer_req(); return REQ_TID;
	case CM_REP: m->rep = peer_rep(c); return c->tid;
	case CM_MRA:
		m->mra.msg = said_req ? CM_ABOUT_REQ : CM_ABOUT_REP;
		m->mra.timeout = 20;
		return c->tid;
	case CM_REJ:
		m->rej.reason = CM_REJ_CONSUMER;
		m->rej.msg = said_req ? CM_ABOUT_REQ : CM_ABOUT_OTHER;
		return c->tid;
	case CM_DREQ: m->dreq.remote_qpn = QPN; return 0x9999;
	case CM_DREP: return ib_get64(c->out.data + MAD_TID_AT);
	case CM_SIDR_REQ:
		memset(m, 0, sizeof(*m));
		m->sidr_req.request_id = PEER_ID;
		m->sidr_req.service_id = RIG_SERVICE;
		return REQ_TID;
	case CM_SIDR_REP:
		memset(m, 0, sizeof(*m));
		m->sidr_rep.request_id = c->local_id;
		m->sidr_rep.qpn = PEER_QPN;
		return c->tid;
	default: return c->tid;
	}
}

#endif /* CM_STATES_H */
