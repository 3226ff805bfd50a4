/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Requests to subnet administration. They stand in one list; those that must come after another wait in it: a group's joins
 * and leaves keep their order.
 */
#include "sa_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

/* A machine that starts asks for all of its peers at once: no more than this burden an administrator at a time. */
#define UNDER_WAY 64u

static bool
must_wait(struct tp_sa *sa, const struct sa_request *r)
{
	const struct sa_request *o;

	if (r->kind != SA_MEMBER)
		return false;
	TAILQ_FOREACH(o, &sa->requests, next)
	{
		if (o == r)
			return false;
		/* A member record begins with its group. */
		if (o->kind == SA_MEMBER && memcmp(o->record, r->record, sizeof(union ibv_gid)) == 0)
			return true;
	}
	return false;
}

static int
transmit(struct tp_sa *sa, struct sa_request *r, const struct tp_mad_port_state *port)
{
	struct tp_mad_packet to = {.remote_qpn = 1, .qkey = MAD_QP1_QKEY, .dlid = port->sm_lid, .sl = port->sm_sl};
	uint8_t mad[MAD_SIZE];

	r->tid = ++sa->tid;
	mad_init(mad, MAD_CLASS_SA, SA_CLASS_VERSION, r->method, r->attr, r->tid);
	ib_put64(mad + SA_MASK_AT, r->mask);
	memcpy(mad + SA_RECORD_AT, r->record, sizeof(r->record));
	return tp_mad_send(sa->agent, &to, mad, sizeof(mad), sa->conf.timeout_ms, sa->conf.retries);
}

/* Starts what may start. What finds no way out now is tried again by the port's work. */
static void
pump(struct tp_sa *sa)
{
	struct tp_mad_port_state port;
	struct sa_request *r;

	tp_mad_port_state_get(sa->mad, &port);
	if (port.sm_lid == 0 || port.lid == 0)
		return;
	TAILQ_FOREACH(r, &sa->requests, next)
	{
		if (sa->under_way >= UNDER_WAY)
			return;
		if (r->under_way || must_wait(sa, r))
			continue;
		if (transmit(sa, r, &port) != 0)
			return;
		r->under_way = true;
		sa->under_way++;
		sa->stats.requests++;
	}
}

static void
recall(struct tp_sa *sa, struct sa_request *r)
{
	if (!r->under_way)
		return;
	r->under_way = false;
	sa->under_way--;
	(void)tp_mad_cancel(sa->agent, r->tid);
}

void
sa_drop(struct tp_sa *sa, struct sa_request *r)
{
	recall(sa, r);
	TAILQ_REMOVE(&sa->requests, r, next);
	if (r->kind != SA_PATH)
		sa->stats.waiting--;
	free(r);
}

int
sa_ready(struct tp_sa *sa)
{
	struct tp_mad_port_state port;

	if (sa->closing)
		return -ECANCELED;
	tp_mad_port_state_get(sa->mad, &port);
	if (port.lid == 0 || port.sm_lid == 0)
		return -ENETUNREACH;
	return sa->stats.waiting >= TP_SA_WAITING ? -ENOBUFS : 0;
}

int
sa_add(struct tp_sa *sa, const struct sa_request *what)
{
	struct sa_request *r = malloc(sizeof(*r));

	if (r == NULL)
		return -ENOMEM;
	*r = *what;
	TAILQ_INSERT_TAIL(&sa->requests, r, next);
	if (r->kind != SA_PATH)
		sa->stats.waiting++;
	pump(sa);
	return 0;
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

/* What the administrator says, as errno: its own code, or that of any manager. */
static int
verdict(uint16_t status)
{
	if (status == 0)
		return 0;
	switch (status & SA_STATUS_CODE) {
	case SA_ST_RESOURCES: return -ENOBUFS;
	case SA_ST_NO_RECORDS: return -ENOENT;
	case SA_ST_DENIED: return -EACCES;
	case SA_ST_MANY_RECORDS: return -E2BIG;
	default: return -EINVAL;
	}
}

static bool
is_answer_to(const struct sa_request *r, const struct tp_mad_msg *msg)
{
	const uint8_t *mad = msg->data;
	uint8_t method = r->method == MAD_SET ? MAD_GET : r->method;
	/* A table in segments ends with its last record. */
	uint32_t least = r->kind == SA_ANY && r->method == SA_GET_TABLE ? SA_RECORD_AT : MAD_SIZE;

	return msg->len >= least && mad[MAD_CLASS_VERSION_AT] == SA_CLASS_VERSION &&
	       mad[MAD_METHOD_AT] == (method | MAD_RESPONSE) && ib_get16(mad + MAD_ATTR_AT) == r->attr;
}

static void
answer_path(struct tp_sa *sa, struct sa_dest *d, int status, const uint8_t *record)
{
	struct tp_sa_path path;

	if (status == 0) {
		sa_path_take(record, &path);
		/* A path to somebody else is none to whom we asked for. */
		if (memcmp(&path.dgid, &d->path.dgid, sizeof(path.dgid)) != 0 || path.dlid == 0) {
			sa->stats.malformed++;
			status = -EPROTO;
		}
	}
	sa_dest_answer(sa, d, status, status == 0 ? &path : NULL);
}

static void
answer_member(struct tp_sa *sa, const struct sa_request *r, int status, const uint8_t *record)
{
	struct tp_sa_member m;

	if (status == 0) {
		sa_member_take(record, &m);
		if (memcmp(record, r->record, sizeof(union ibv_gid)) != 0 ||
		    (r->method != SA_DELETE && m.mlid < MAD_LID_MULTICAST)) {
			sa->stats.malformed++;
			status = -EPROTO;
		}
	}
	if (r->member != NULL)
		r->member(r->arg, status, status == 0 ? &m : NULL);
}

/* Tables come in segments, one record is in the datagram. */
static void
answer_any(struct tp_sa *sa, const struct sa_request *r, int status, const struct tp_mad_msg *msg)
{
	const uint8_t *records = msg == NULL ? NULL : msg->data + SA_RECORD_AT;
	uint32_t stride = msg == NULL ? 0 : ib_get16(msg->data + SA_ATTR_OFFSET_AT) * 8u, n = 1;

	if (status == 0 && r->method == SA_GET_TABLE) {
		n = stride == 0 ? 0 : (msg->len - SA_RECORD_AT) / stride;
		/* An empty table need not say how long its records would be. */
		if (stride == 0 && mad_rmpp_active(msg->data) && msg->len > SA_RECORD_AT) {
			sa->stats.malformed++;
			status = -EPROTO;
		}
	} else if (status == 0) {
		stride = SA_RECORD_LEN;
	}
	if (r->records != NULL)
		r->records(r->arg, status, status == 0 ? records : NULL, status == 0 ? stride : 0, status == 0 ? n : 0);
}

/* The request is over; what it was is kept while its owner is told. */
static void
finish(struct tp_sa *sa, struct sa_request *r, int status, const struct tp_mad_msg *msg)
{
	const uint8_t *record = msg == NULL ? NULL : msg->data + SA_RECORD_AT;
	struct sa_request was = *r;

	r->under_way = false;
	sa->under_way -= was.under_way ? 1 : 0;
	sa_drop(sa, r);
	switch (was.kind) {
	case SA_PATH: answer_path(sa, was.dest, status, record); break;
	case SA_MEMBER: answer_member(sa, &was, status, record); break;
	case SA_ANY: answer_any(sa, &was, status, msg); break;
	}
}

static void
received(void *arg, const struct tp_mad_msg *msg)
{
	uint32_t tid = ib_get32(msg->pkt->data + MAD_TID_AT + 4);
	struct tp_sa *sa = arg;
	struct sa_request *r;
	int status = msg->status;

	TAILQ_FOREACH(r, &sa->requests, next)
	{
		if (r->under_way && r->tid == tid)
			break;
	}
	if (r == NULL)
		return;
	if (status == 0 && !is_answer_to(r, msg)) {
		sa->stats.malformed++;
		status = -EPROTO;
	} else if (status == 0) {
		sa->stats.answers++;
		status = verdict(ib_get16(msg->data + MAD_STATUS_AT));
		sa->stats.refused += status != 0;
	} else {
		sa->stats.timeouts++;
	}
	finish(sa, r, status, msg);
	tp_mad_wake(sa->agent);
}

/* The port's work: what is known already, and what may start now. */
static void
work(void *arg)
{
	struct tp_sa *sa = arg;

	sa_tell_known(sa);
	pump(sa);
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

static int
configure(struct tp_sa *sa, const struct tp_sa_conf *conf)
{
	struct tp_sa_conf c = {.timeout_ms =
				       conf == NULL || conf->timeout_ms == 0 ? TP_SA_TIMEOUT_MS : conf->timeout_ms,
			       .retries = conf == NULL || conf->retries == 0 ? TP_SA_RETRIES : conf->retries};

	if (c.timeout_ms < TP_SA_TIMEOUT_MS_MIN || c.timeout_ms > TP_SA_TIMEOUT_MS_MAX ||
	    c.retries < TP_SA_RETRIES_MIN || c.retries > TP_SA_RETRIES_MAX)
		return -EINVAL;
	sa->conf = c;
	return 0;
}

int
tp_sa_create(struct tp_mad *mad, const struct tp_sa_conf *conf, struct tp_sa **out)
{
	struct tp_mad_agent_conf agent = {.qpn = 1,
					  .mgmt_class = MAD_CLASS_SA,
					  .class_version = SA_CLASS_VERSION,
					  .rmpp_version = 1,
					  .recv = received,
					  .work = work};
	struct tp_sa *sa = calloc(1, sizeof(*sa));
	int err;

	if (sa == NULL)
		return -ENOMEM;
	sa->mad = mad;
	TAILQ_INIT(&sa->requests);
	agent.arg = sa;
	err = configure(sa, conf);
	if (err == 0)
		err = tp_mad_register(mad, &agent, &sa->agent);
	if (err != 0) {
		free(sa);
		return err;
	}
	*out = sa;
	return 0;
}

void
tp_sa_destroy(struct tp_sa *sa)
{
	struct tp_mad *mad = sa->mad;

	tp_mad_lock(mad);
	sa->closing = true;
	while (!TAILQ_EMPTY(&sa->requests))
		finish(sa, TAILQ_FIRST(&sa->requests), -ECANCELED, NULL); /* the list knows it no more: NOLINT */
	sa_tell_known(sa);
	sa_forget_known(sa, NULL);
	tp_mad_unregister(sa->agent);
	tp_mad_unlock(mad);
	free(sa);
}

void
tp_sa_conf_get(struct tp_sa *sa, struct tp_sa_conf *conf)
{
	tp_mad_lock(sa->mad);
	*conf = sa->conf;
	tp_mad_unlock(sa->mad);
}

int
tp_sa_configure(struct tp_sa *sa, const struct tp_sa_conf *conf)
{
	int err;

	tp_mad_lock(sa->mad);
	err = configure(sa, conf);
	tp_mad_unlock(sa->mad);
	return err;
}

static int
member_request(struct tp_sa *sa, uint8_t method, struct tp_sa_member *m, uint64_t mask, tp_sa_member_cb cb, void *arg)
{
	struct sa_request r = {.kind = SA_MEMBER,
			       .method = method,
			       .attr = SA_ATTR_MEMBER,
			       .mask = mask | TP_SA_MC_MGID | TP_SA_MC_PORT_GID | TP_SA_MC_JOIN_STATE,
			       .member = cb,
			       .arg = arg};
	struct tp_mad_port_state port;
	int err;

	tp_mad_lock(sa->mad);
	tp_mad_port_state_get(sa->mad, &port);
	m->port_gid = port.gid;
	sa_member_put(m, r.record);
	err = sa_ready(sa);
	if (err == 0)
		err = sa_add(sa, &r);
	tp_mad_unlock(sa->mad);
	return err;
}

int
tp_sa_join(struct tp_sa *sa, const struct tp_sa_member *want, uint64_t mask, tp_sa_member_cb cb, void *arg)
{
	struct tp_sa_member m = *want;

	return member_request(sa, MAD_SET, &m, mask, cb, arg);
}

int
tp_sa_leave(struct tp_sa *sa, const union ibv_gid *mgid, uint8_t join_state, tp_sa_member_cb cb, void *arg)
{
	struct tp_sa_member m = {.mgid = *mgid, .join_state = join_state};

	return member_request(sa, SA_DELETE, &m, 0, cb, arg);
}

int
tp_sa_request(struct tp_sa *sa, uint8_t method, uint16_t attr, uint64_t mask, const uint8_t *record, uint32_t len,
	      tp_sa_records_cb cb, void *arg)
{
	struct sa_request r = {.kind = SA_ANY, .method = method, .attr = attr, .mask = mask, .records = cb, .arg = arg};
	int err;

	if (len > SA_RECORD_LEN || (method & MAD_RESPONSE) != 0 || method == 0)
		return -EINVAL;
	if (len != 0)
		memcpy(r.record, record, len);
	tp_mad_lock(sa->mad);
	err = sa_ready(sa);
	if (err == 0)
		err = sa_add(sa, &r);
	tp_mad_unlock(sa->mad);
	return err;
}

unsigned int
tp_sa_cancel(struct tp_sa *sa, const void *arg)
{
	struct sa_request *r, *after;
	unsigned int n;

	tp_mad_lock(sa->mad);
	n = sa_path_cancel(sa, arg);
	for (r = TAILQ_FIRST(&sa->requests); r != NULL; r = after) {
		after = TAILQ_NEXT(r, next);
		if (r->kind != SA_PATH && r->arg == arg) {
			sa_drop(sa, r);
			n++;
		}
	}
	tp_mad_wake(sa->agent);
	tp_mad_unlock(sa->mad);
	return n;
}

void
tp_sa_event(struct tp_sa *sa, enum ibv_event_type type)
{
	struct sa_request *r;

	switch (type) {
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_PORT_ACTIVE: break;
	default: return;
	}
	tp_mad_lock(sa->mad);
	sa_forget_known(sa, NULL);
	TAILQ_FOREACH(r, &sa->requests, next)
	{
		recall(sa, r);
		if (r->kind == SA_PATH)
			sa_path_want(sa, r);
	}
	tp_mad_wake(sa->agent);
	tp_mad_unlock(sa->mad);
}

void
tp_sa_stats_get(struct tp_sa *sa, struct tp_sa_stats *stats)
{
	tp_mad_lock(sa->mad);
	*stats = sa->stats;
	tp_mad_unlock(sa->mad);
}
