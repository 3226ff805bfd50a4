/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What comes in for a communication manager, and the first request of a peer. */
#include "priv.h"

#include <errno.h>

/* --- requests that start something --- */

static uint16_t
judge_req(const struct tcm *cm, const struct troce_mad *mad, const struct cm_req *r, uint8_t *ari, uint8_t *ari_len)
{
	*ari_len = 0;
	if (r->service != CM_SERVICE_RC && r->service != CM_SERVICE_UC)
		return CM_REJ_SERVICE_TYPE;
	if (r->qpn < 2 || r->qpn == IB_MCAST_QPN)
		return CM_REJ_UNSUPPORTED;
	if (memcmp(r->path.remote_gid, mad->path.sgid.raw, sizeof(r->path.remote_gid)) != 0) {
		memcpy(ari, mad->path.sgid.raw, *ari_len = sizeof(mad->path.sgid));
		return CM_REJ_GID;
	}
	if (r->mtu < IBV_MTU_256 || r->mtu > cm->mtu_max) {
		ari[0] = (uint8_t)cm->mtu_max;
		*ari_len = 1;
		return CM_REJ_MTU;
	}
	return 0;
}

/* The peer has forgotten a connection that we still have (12.9.8.3.1): it is told to go, and our owner that it is gone. */
static void
end_stale(struct tcm_conn *c)
{
	if (c->state == TCM_ESTABLISHED && tcm_disconnect(c, NULL, 0) == 0)
		tcm_event(c, TCM_EV_DISCONNECTED, 0, NULL);
}

static void
req_fields(struct tcm_conn *c, const struct troce_mad *mad, const struct cm_req *r)
{
	c->passive = true;
	c->remote_id = r->local_id;
	c->has_remote_id = true;
	c->remote_guid = r->ca_guid;
	c->remote_qpn = r->qpn;
	c->max_retries = r->max_retries;
	c->peer_timeout = r->local_timeout;
	c->lifetime = tcm_lifetime(r->path.ack_timeout);
	c->tid = ib_get64(mad->data + MAD_TID_AT);
	c->service_id = r->service_id;
	tcm_index_remote(c);
	tcm_index_qpn(c);
	/* So long the peer asks; behind that nobody waits for our answer. */
	tcm_timer(c, (uint64_t)(r->max_retries + 1) * tcm_answer_ns(c, r->remote_timeout));
}

void
tcm_new_req(struct tcm *cm, const struct troce_mad *mad, const union cm_any *msg)
{
	const struct cm_req *r = &msg->req;
	const struct tcm_ask ask = {.service_id = r->service_id,
				    .service = r->service,
				    .mad = mad,
				    .private_data = r->private_data,
				    .private_len = sizeof(r->private_data)};
	struct tcm_conn *c, *old = tcm_by_qpn(cm, r->qpn, r->ca_guid);
	uint8_t ari[CM_ARI_LEN], ari_len;
	uint16_t reason = judge_req(cm, mad, r, ari, &ari_len);
	void *owner = NULL;

	if (reason == 0 && old != NULL) {
		tcm_stale(cm, mad, msg);
		if (tcm_same_peer(&old->out.path, &mad->path))
			end_stale(old);
		return;
	}
	if (reason == 0 && cm->half_open >= cm->max_half_open) {
		/* Not refused: the peer asks again, and by then there may be room. */
		cm->stats.half_open_drops++;
		return;
	}
	if (reason == 0) {
		reason = cm->ops->service(cm->home, &ask, &owner);
		cm->stats.no_service += reason == CM_REJ_SERVICE_ID;
	}
	if (reason == TCM_DROP) {
		cm->stats.half_open_drops++;
		return;
	}
	c = reason == 0 ? tcm_conn_new(cm, &mad->path, TCM_REQ_RCVD, owner) : NULL;
	if (c == NULL) {
		cm->stats.no_resources += reason == 0;
		tcm_refuse_req(cm, mad, r->local_id, reason != 0 ? reason : CM_REJ_NO_RESOURCES, ari, ari_len);
		return;
	}
	req_fields(c, mad, r);
	tcm_event(c, TCM_EV_REQ, 0, msg);
}

void
tcm_new_sidr_req(struct tcm *cm, const struct troce_mad *mad, const union cm_any *msg)
{
	const struct cm_sidr_req *r = &msg->sidr_req;
	const struct tcm_ask ask = {.service_id = r->service_id,
				    .dgram = true,
				    .mad = mad,
				    .private_data = r->private_data,
				    .private_len = sizeof(r->private_data)};
	struct cm_sidr_rep no = {.request_id = r->request_id, .service_id = r->service_id};
	struct tcm_conn *c;
	void *owner = NULL;
	uint16_t status = TCM_DROP;

	if (cm->half_open < cm->max_half_open)
		status = cm->ops->service(cm->home, &ask, &owner);
	if (status == TCM_DROP) {
		cm->stats.half_open_drops++;
		return;
	}
	no.status = (uint8_t)status;
	if (no.status != CM_SIDR_OK) {
		cm->stats.no_service++;
		tcm_answer(cm, mad, CM_SIDR_REP, &no);
		return;
	}
	c = tcm_conn_new(cm, &mad->path, TCM_SIDR_REQ_RCVD, owner);
	if (c == NULL) {
		cm->stats.no_resources++;
		no.status = CM_SIDR_REJECT;
		tcm_answer(cm, mad, CM_SIDR_REP, &no);
		return;
	}
	c->passive = c->dgram = true;
	c->remote_id = r->request_id;
	c->has_remote_id = true;
	c->tid = ib_get64(mad->data + MAD_TID_AT);
	c->service_id = r->service_id;
	c->lifetime = TCM_LIFETIME;
	tcm_index_remote(c);
	tcm_timer(c, (TCM_MAX_RETRIES + 1) * tcm_answer_ns(c, TCM_RESPONSE_TIMEOUT));
	tcm_event(c, TCM_EV_SIDR_REQ, 0, msg);
}

/* --- in --- */

/*
 * The connection a message is about. Whoever sends it must know both identifiers, as soon as there are two, and be at the
 * address that the connection leads to.
 */
static struct tcm_conn *
find(struct tcm *cm, enum cm_msg type, const struct troce_mad *mad, const union cm_any *msg)
{
	/* All but REQ and the two of service resolution start with local and remote identifier. */
	uint32_t their = msg->rtu.local_id, our = msg->rtu.remote_id;
	struct tcm_conn *c;

	switch (type) {
	case CM_REQ: c = tcm_by_remote(cm, msg->req.local_id, msg->req.ca_guid); break;
	case CM_SIDR_REQ: return tcm_by_request(cm, msg->sidr_req.request_id, &mad->path);
	case CM_SIDR_REP: c = tcm_by_local(cm, msg->sidr_rep.request_id); break;
	case CM_REJ:
		/* 12.6.7.2: who never heard of us names itself by its GUID. */
		if (msg->rej.reason == CM_REJ_TIMEOUT && our == 0) {
			c = tcm_by_remote(cm, their, ib_get64(msg->rej.ari));
			break;
		}
		/* fall through */
	default:
		c = tcm_by_local(cm, our);
		/* A peer that refuses a REQ has no identifier. */
		if (c != NULL && c->has_remote_id && c->remote_id != their)
			c = NULL;
	}
	if (c != NULL && !tcm_same_peer(&c->out.path, &mad->path)) {
		cm->stats.foreign++;
		return NULL;
	}
	return c;
}

/* 12.9.7, the row of a connection that does not exist. */
static void
nobody(struct tcm *cm, enum cm_msg type, const struct troce_mad *mad, const union cm_any *msg)
{
	const struct cm_drep drep = {.local_id = msg->dreq.remote_id, .remote_id = msg->dreq.local_id};
	const struct cm_rej rej = {.local_id = msg->rep.remote_id,
				   .remote_id = msg->rep.local_id,
				   .msg = CM_ABOUT_REP,
				   .reason = CM_REJ_COMM_ID};

	cm->stats.unknown++;
	if (type == CM_DREQ) {
		tcm_answer(cm, mad, CM_DREP, &drep);
	} else if (type == CM_REP) {
		cm->stats.rejected_out++;
		tcm_answer(cm, mad, CM_REJ, &rej);
	}
}

static void
bad_version(struct tcm *cm, const struct troce_mad *mad)
{
	const uint8_t ours = CM_CLASS_VERSION;

	cm->stats.bad_version++;
	if (cm_msg_of(mad->data) == CM_REQ)
		tcm_refuse_req(cm, mad, ib_get32(mad->data + MAD_DATA_AT), CM_REJ_CLASS_VERSION, &ours, sizeof(ours));
}

void
tcm_input(struct tcm *cm, const struct troce_mad *mad)
{
	int type = cm_msg_of(mad->data);
	struct tcm_conn *c;
	union cm_any msg;

	cm->stats.rx++;
	if (mad->data[MAD_CLASS_VERSION_AT] != CM_CLASS_VERSION) {
		bad_version(cm, mad);
		return;
	}
	if (type < 0) {
		cm->stats.malformed++;
		return;
	}
	cm_get((enum cm_msg)type, mad->data, &msg);
	c = find(cm, (enum cm_msg)type, mad, &msg);
	/* The same identifier in a request of another transaction: the peer has started anew. */
	if (c != NULL && type == CM_REQ && c->passive && c->state != TCM_TIMEWAIT &&
	    ib_get64(mad->data + MAD_TID_AT) != c->tid) {
		tcm_stale(cm, mad, &msg);
		end_stale(c);
	} else if (c != NULL) {
		tcm_apply(c, (enum cm_msg)type, mad, &msg);
	} else if (type == CM_REQ) {
		tcm_new_req(cm, mad, &msg);
	} else if (type == CM_SIDR_REQ) {
		tcm_new_sidr_req(cm, mad, &msg);
	} else {
		nobody(cm, (enum cm_msg)type, mad, &msg);
	}
}

void
tcm_each(const struct tcm *cm, void (*fn)(void *arg, const struct tcm_conn *c), void *arg)
{
	uint32_t i;

	for (i = 0; i < cm->num_slots; i++)
		if (cm->slots[i].conn != NULL && cm->slots[i].conn->state != TCM_IDLE)
			fn(arg, cm->slots[i].conn);
}
