/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What datagrams and the clock do to a connection (IBTA 1.4, 12.9.7 and 12.9.8): a table with an answer for each message in
 * each state. What the table calls unexpected is dropped and counted: it is old, repeated, or forged.
 */
#include "priv.h"

enum act {
	UNEXP,     /* unexpected */
	DUP,       /* repeated, and nothing to say about it */
	AGAIN,     /* repeated because our answer was lost: the same answer */
	MORE_TIME, /* repeated because our owner has not decided yet: MRA */
	STALE,     /* of a connection that is over */
	MRA,
	REP,
	RTU,
	REJ,
	DREQ,
	DREP,
	LAP,
	SIDR_REP,
};

#define U UNEXP
/* clang-format off */
static const uint8_t table[TCM_STATES][CM_MSGS] = {
	/*                       REQ        MRA  REJ  REP        RTU  DREQ  DREP  SIDR_REQ SIDR_REP  LAP  APR */
	[TCM_REQ_SENT]       = { U,         MRA, REJ, REP,       U,   U,    U,    U,       U,        U,   U },
	[TCM_MRA_REQ_RCVD]   = { U,         MRA, REJ, REP,       U,   U,    U,    U,       U,        U,   U },
	[TCM_REP_RCVD]       = { U,         U,   REJ, MORE_TIME, U,   DREQ, U,    U,       U,        U,   U },
	[TCM_MRA_REP_SENT]   = { U,         U,   REJ, AGAIN,     U,   DREQ, U,    U,       U,        U,   U },
	[TCM_REQ_RCVD]       = { MORE_TIME, U,   REJ, U,         U,   U,    U,    U,       U,        U,   U },
	[TCM_MRA_REQ_SENT]   = { AGAIN,     U,   REJ, U,         U,   U,    U,    U,       U,        U,   U },
	[TCM_REP_SENT]       = { AGAIN,     MRA, REJ, U,         RTU, DREQ, U,    U,       U,        U,   U },
	[TCM_MRA_REP_RCVD]   = { AGAIN,     MRA, REJ, U,         RTU, DREQ, U,    U,       U,        U,   U },
	[TCM_ESTABLISHED]    = { DUP,       U,   REJ, AGAIN,     DUP, DREQ, U,    U,       U,        LAP, U },
	[TCM_DREQ_SENT]      = { DUP,       U,   REJ, DUP,       DUP, DREQ, DREP, U,       U,        U,   U },
	[TCM_TIMEWAIT]       = { STALE,     U,   DUP, DUP,       DUP, AGAIN, DUP, U,       U,        U,   U },
	[TCM_SIDR_REQ_SENT]  = { U,         U,   U,   U,         U,   U,    U,    U,       SIDR_REP, U,   U },
	[TCM_SIDR_REQ_RCVD]  = { U,         U,   U,   U,         U,   U,    U,    DUP,     U,        U,   U },
	[TCM_SIDR_ANSWERED]  = { U,         U,   U,   U,         U,   U,    U,    AGAIN,   U,        U,   U },
	[TCM_IDLE]           = { AGAIN,      U,   U,   U,         U,   U,    U,    U,       U,        U,   U },
};
/* clang-format on */

/* The connection is over, and nothing of it can come. */
static void
finish(struct tcm_conn *c, enum tcm_event_type type, uint16_t reason, const union cm_any *msg)
{
	tcm_timer(c, TCM_NEVER);
	tcm_state_set(c, TCM_IDLE);
	if (c->released)
		tcm_conn_free(c);
	else
		tcm_event(c, type, reason, msg);
}

static void
more_time(struct tcm_conn *c)
{
	bool req = c->state == TCM_REQ_RCVD;
	const struct cm_mra m = {.local_id = c->local_id,
				 .remote_id = c->remote_id,
				 .msg = req ? CM_ABOUT_REQ : CM_ABOUT_REP,
				 .timeout = TCM_SERVICE_TIMEOUT};

	tcm_state_set(c, req ? TCM_MRA_REQ_SENT : TCM_MRA_REP_SENT);
	tcm_timer(c, cm_time_ns(TCM_SERVICE_TIMEOUT) + tcm_answer_ns(c, c->peer_timeout));
	(void)tcm_send(c, CM_MRA, &m, c->tid);
}

/* 12.9.8.1: each MRA costs a retry, or a peer could hold the connection for ever. */
static void
mra(struct tcm_conn *c, const struct cm_mra *m)
{
	bool req = c->state == TCM_REQ_SENT || c->state == TCM_MRA_REQ_RCVD;

	if (m->msg != (req ? CM_ABOUT_REQ : CM_ABOUT_REP) || c->retries == 0) {
		c->cm->stats.unexpected++;
		return;
	}
	c->retries--;
	tcm_state_set(c, req ? TCM_MRA_REQ_RCVD : TCM_MRA_REP_RCVD);
	tcm_timer(c, tcm_answer_ns(c, m->timeout));
}

static void
rep(struct tcm_conn *c, const union cm_any *msg)
{
	const struct cm_rep *m = &msg->rep;
	struct tcm_conn *old = tcm_by_qpn(c->cm, m->qpn, m->ca_guid);
	uint16_t reason = 0;

	if (m->qpn < 2 || m->qpn == IB_MCAST_QPN)
		reason = CM_REJ_NO_QP;
	else if (old != NULL)
		reason = CM_REJ_STALE;
	c->remote_id = m->local_id;
	c->has_remote_id = true;
	c->remote_guid = m->ca_guid;
	c->remote_qpn = m->qpn;
	if (reason != 0) {
		c->cm->stats.stale += reason == CM_REJ_STALE;
		c->cm->stats.failed++;
		tcm_state_set(c, TCM_REP_RCVD);
		tcm_send_rej(c, reason, NULL, 0, NULL, 0);
		finish(c, TCM_EV_REJECTED, reason, NULL);
		return;
	}
	tcm_index_remote(c);
	tcm_index_qpn(c);
	tcm_state_set(c, TCM_REP_RCVD);
	tcm_timer(c, (c->max_retries + 1) * tcm_answer_ns(c, TCM_RESPONSE_TIMEOUT));
	tcm_event(c, TCM_EV_REP, 0, msg);
}

static void
rtu(struct tcm_conn *c, const union cm_any *msg)
{
	c->cm->stats.accepted++;
	tcm_timer(c, TCM_NEVER);
	tcm_state_set(c, TCM_ESTABLISHED);
	tcm_event(c, TCM_EV_ESTABLISHED, 0, msg);
}

static void
rej(struct tcm_conn *c, const union cm_any *msg)
{
	bool told = c->told, failed = c->state != TCM_ESTABLISHED && c->state != TCM_DREQ_SENT;

	c->cm->stats.rejected_in++;
	c->cm->stats.failed += failed;
	/* Before a REP, the peer has no queue pair that could send. */
	if (c->state == TCM_REQ_SENT || c->state == TCM_MRA_REQ_RCVD || c->state == TCM_REQ_RCVD ||
	    c->state == TCM_MRA_REQ_SENT) {
		finish(c, TCM_EV_REJECTED, msg->rej.reason, msg);
		return;
	}
	tcm_timewait(c);
	if (!told)
		tcm_event(c, failed ? TCM_EV_REJECTED : TCM_EV_DISCONNECTED, msg->rej.reason, msg);
}

static void
drep_to(struct tcm_conn *c, uint64_t tid)
{
	const struct cm_drep m = {.local_id = c->local_id, .remote_id = c->remote_id};

	(void)tcm_send(c, CM_DREP, &m, tid);
}

/* 12.9.7: a DREQ also ends a connection whose RTU was lost, and crosses one of ours. */
static void
dreq(struct tcm_conn *c, const struct troce_mad *mad, const union cm_any *msg)
{
	bool told = c->told;

	if (msg->dreq.remote_qpn != c->local_qpn) {
		c->cm->stats.foreign++;
		return;
	}
	c->cm->stats.disconnects++;
	drep_to(c, ib_get64(mad->data + MAD_TID_AT));
	tcm_timewait(c);
	if (!told)
		tcm_event(c, TCM_EV_DISCONNECTED, 0, msg);
}

static void
drep(struct tcm_conn *c, const struct troce_mad *mad)
{
	bool told = c->told;

	if (ib_get64(mad->data + MAD_TID_AT) != ib_get64(c->out.data + MAD_TID_AT)) {
		c->cm->stats.unexpected++;
		return;
	}
	tcm_timewait(c);
	if (!told)
		tcm_event(c, TCM_EV_DISCONNECTED, 0, NULL);
}

/* Alternate paths are for fabrics with several; on Ethernet the network below has them. */
static void
lap(struct tcm_conn *c, const struct troce_mad *mad)
{
	const struct cm_apr m = {.local_id = c->local_id, .remote_id = c->remote_id, .status = CM_APR_UNSUPPORTED};

	tcm_answer(c->cm, mad, CM_APR, &m);
}

static void
sidr_rep(struct tcm_conn *c, const union cm_any *msg)
{
	c->cm->stats.failed += msg->sidr_rep.status != CM_SIDR_OK;
	finish(c, TCM_EV_SIDR_REP, msg->sidr_rep.status, msg);
}

static void
again(struct tcm_conn *c, enum cm_msg type, const struct troce_mad *mad)
{
	/* Who accepted hears no REP. */
	if (type == CM_REP && c->passive) {
		c->cm->stats.unexpected++;
		return;
	}
	c->cm->stats.duplicates++;
	/* Of what is over, only a refusal is said again. */
	if (c->state == TCM_IDLE && cm_msg_of(c->out.data) != CM_REJ)
		return;
	if (type == CM_DREQ)
		drep_to(c, ib_get64(mad->data + MAD_TID_AT));
	else
		tcm_again(c);
}

void
tcm_apply(struct tcm_conn *c, enum cm_msg type, const struct troce_mad *mad, const union cm_any *msg)
{
	switch ((enum act)table[c->state][type]) {
	case UNEXP: c->cm->stats.unexpected++; break;
	case DUP: c->cm->stats.duplicates++; break;
	case AGAIN: again(c, type, mad); break;
	case MORE_TIME:
		c->cm->stats.duplicates++;
		more_time(c);
		break;
	case STALE: tcm_stale(c->cm, mad, msg); break;
	case MRA: mra(c, &msg->mra); break;
	case REP: rep(c, msg); break;
	case RTU: rtu(c, msg); break;
	case REJ: rej(c, msg); break;
	case DREQ: dreq(c, mad, msg); break;
	case DREP: drep(c, mad); break;
	case LAP: lap(c, mad); break;
	case SIDR_REP: sidr_rep(c, msg); break;
	}
}

/* --- time-outs --- */

static bool
retry(struct tcm_conn *c)
{
	if (c->retries == 0)
		return false;
	c->retries--;
	c->cm->stats.retries++;
	tcm_timer(c, tcm_answer_ns(c, c->peer_timeout));
	tcm_again(c);
	return true;
}

static void
give_up(struct tcm_conn *c)
{
	uint8_t guid[8];

	c->cm->stats.timeouts++;
	c->cm->stats.failed++;
	if (c->dgram) {
		finish(c, TCM_EV_UNREACHABLE, 0, NULL);
		return;
	}
	ib_put64(guid, c->cm->ca_guid);
	tcm_send_rej(c, CM_REJ_TIMEOUT, guid, sizeof(guid), NULL, 0);
	if (c->passive ? c->state == TCM_REQ_RCVD || c->state == TCM_MRA_REQ_SENT
		       : c->state == TCM_REQ_SENT || c->state == TCM_MRA_REQ_RCVD) {
		finish(c, TCM_EV_UNREACHABLE, 0, NULL);
		return;
	}
	tcm_timewait(c);
	tcm_event(c, TCM_EV_UNREACHABLE, 0, NULL);
}

static void
dreq_unanswered(struct tcm_conn *c)
{
	bool told = c->told;

	c->cm->stats.timeouts++;
	tcm_timewait(c);
	if (!told)
		tcm_event(c, TCM_EV_DISCONNECTED, 0, NULL);
}

static void
expire(struct tcm_conn *c)
{
	switch (c->state) {
	case TCM_MRA_REQ_RCVD:
	case TCM_MRA_REP_RCVD:
	case TCM_REQ_SENT:
	case TCM_REP_SENT:
	case TCM_SIDR_REQ_SENT:
		if (!retry(c))
			give_up(c);
		else if (c->state == TCM_MRA_REQ_RCVD || c->state == TCM_MRA_REP_RCVD)
			tcm_state_set(c, c->passive ? TCM_REP_SENT : TCM_REQ_SENT);
		break;
	case TCM_DREQ_SENT:
		if (!retry(c))
			dreq_unanswered(c);
		break;
	case TCM_REQ_RCVD:
	case TCM_MRA_REQ_SENT:
	case TCM_REP_RCVD:
	case TCM_MRA_REP_SENT:
	case TCM_SIDR_REQ_RCVD: give_up(c); break;
	case TCM_TIMEWAIT: finish(c, TCM_EV_TIMEWAIT_EXIT, 0, NULL); break;
	case TCM_SIDR_ANSWERED: finish(c, TCM_EV_TIMEWAIT_EXIT, 0, NULL); break;
	case TCM_ESTABLISHED:
	case TCM_IDLE:
	case TCM_STATES: tcm_timer(c, TCM_NEVER); break;
	}
}

unsigned int
tcm_run(struct tcm *cm)
{
	unsigned int n = 0;

	while (tcm_deadline(cm) <= cm->now) {
		expire(cm->heap[0]);
		n++;
	}
	return n;
}
