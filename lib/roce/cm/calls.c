/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the owner of a connection asks of its communication manager (IBTA 1.4, 12.9.6). */
#include "priv.h"

#include <errno.h>

/* Identifiers on a path that has no LIDs: as if the LIDs were those of everybody (annex A16). */
static void
fill_path(struct cm_path *p, const struct troce_path *path)
{
	if (path->type == IBV_GID_TYPE_IB) {
		p->local_lid = path->slid;
		p->remote_lid = path->dlid;
	} else {
		p->local_lid = p->remote_lid = path->hop_limit <= 1 ? 0 : 0xffff;
	}
	p->subnet_local = path->hop_limit <= 1;
	memcpy(p->local_gid, path->sgid.raw, sizeof(p->local_gid));
	memcpy(p->remote_gid, path->dgid.raw, sizeof(p->remote_gid));
	p->flow_label = path->flow_label;
	p->hop_limit = path->hop_limit;
	p->tclass = path->tclass;
	p->sl = path->prio;
}

int
tcm_connect(struct tcm *cm, const struct troce_path *path, struct cm_req *req, void *owner, struct tcm_conn **conn)
{
	struct tcm_conn *c;
	int rc;

	if (cm->conns == cm->max_conns)
		return -ENOSPC;
	c = tcm_conn_new(cm, path, TCM_REQ_SENT, owner);
	if (c == NULL)
		return -ENOMEM;
	fill_path(&req->path, path);
	req->local_id = c->local_id;
	req->ca_guid = cm->ca_guid;
	c->local_qpn = req->qpn;
	c->service_id = req->service_id;
	c->max_retries = c->retries = req->max_retries;
	c->peer_timeout = req->remote_timeout;
	c->lifetime = tcm_lifetime(req->path.ack_timeout);
	c->tid = tcm_tid(cm);
	rc = tcm_send(c, CM_REQ, req, c->tid);
	if (rc != 0) {
		tcm_conn_free(c);
		return rc;
	}
	cm->stats.initiated++;
	tcm_timer(c, tcm_answer_ns(c, c->peer_timeout));
	*conn = c;
	return 0;
}

int
tcm_accept(struct tcm_conn *c, struct cm_rep *rep)
{
	int rc;

	if (c->state != TCM_REQ_RCVD && c->state != TCM_MRA_REQ_SENT)
		return -EINVAL;
	rep->local_id = c->local_id;
	rep->remote_id = c->remote_id;
	rep->ca_guid = c->cm->ca_guid;
	rc = tcm_send(c, CM_REP, rep, c->tid);
	if (rc != 0)
		return rc;
	c->local_qpn = rep->qpn;
	c->retries = c->max_retries;
	tcm_state_set(c, TCM_REP_SENT);
	tcm_timer(c, tcm_answer_ns(c, c->peer_timeout));
	return 0;
}

int
tcm_rtu(struct tcm_conn *c, const void *private_data, uint32_t len)
{
	struct cm_rtu m = {.local_id = c->local_id, .remote_id = c->remote_id};

	if ((c->state != TCM_REP_RCVD && c->state != TCM_MRA_REP_SENT) || len > sizeof(m.private_data))
		return -EINVAL;
	if (len != 0)
		memcpy(m.private_data, private_data, len);
	tcm_timer(c, TCM_NEVER);
	tcm_state_set(c, TCM_ESTABLISHED);
	return tcm_send(c, CM_RTU, &m, c->tid);
}

void
tcm_send_rej(struct tcm_conn *c, uint16_t reason, const void *ari, uint32_t ari_len, const void *private_data,
	     uint32_t len)
{
	struct cm_rej m = {.local_id = c->local_id, .remote_id = c->remote_id, .reason = reason};

	if (c->state == TCM_REQ_RCVD || c->state == TCM_MRA_REQ_SENT)
		m.msg = CM_ABOUT_REQ;
	else if (c->state == TCM_REP_RCVD || c->state == TCM_MRA_REP_SENT)
		m.msg = CM_ABOUT_REP;
	else
		m.msg = CM_ABOUT_OTHER;
	/* Who asked first and gives up says which REQ it was. */
	if (reason == CM_REJ_TIMEOUT && !c->passive && !c->has_remote_id)
		m.msg = CM_ABOUT_REQ;
	m.ari_len = (uint8_t)ari_len;
	if (ari_len != 0)
		memcpy(m.ari, ari, ari_len);
	if (len != 0)
		memcpy(m.private_data, private_data, len);
	c->cm->stats.rejected_out++;
	(void)tcm_send(c, CM_REJ, &m, c->tid);
}

int
tcm_reject(struct tcm_conn *c, uint16_t reason, const void *ari, uint32_t ari_len, const void *private_data,
	   uint32_t len)
{
	if (c->dgram || ari_len > CM_ARI_LEN || len > CM_REJ_PRIVATE)
		return -EINVAL;
	switch (c->state) {
	case TCM_REQ_RCVD:
	case TCM_MRA_REQ_SENT:
		tcm_send_rej(c, reason, ari, ari_len, private_data, len);
		tcm_timer(c, TCM_NEVER);
		tcm_state_set(c, TCM_IDLE);
		return 0;
	case TCM_REP_RCVD:
	case TCM_MRA_REP_SENT:
	case TCM_REP_SENT:
	case TCM_MRA_REP_RCVD:
		c->cm->stats.failed++;
		tcm_send_rej(c, reason, ari, ari_len, private_data, len);
		tcm_timewait(c);
		return 0;
	default: return -EINVAL;
	}
}

int
tcm_established(struct tcm_conn *c)
{
	if (c->state != TCM_REP_SENT && c->state != TCM_MRA_REP_RCVD)
		return -EINVAL;
	c->cm->stats.accepted++;
	tcm_timer(c, TCM_NEVER);
	tcm_state_set(c, TCM_ESTABLISHED);
	tcm_event(c, TCM_EV_ESTABLISHED, 0, NULL);
	return 0;
}

int
tcm_disconnect(struct tcm_conn *c, const void *private_data, uint32_t len)
{
	struct cm_dreq m = {.local_id = c->local_id, .remote_id = c->remote_id, .remote_qpn = c->remote_qpn};

	if (c->state != TCM_ESTABLISHED || len > sizeof(m.private_data))
		return -EINVAL;
	if (len != 0)
		memcpy(m.private_data, private_data, len);
	c->cm->stats.disconnects++;
	c->retries = c->max_retries;
	tcm_state_set(c, TCM_DREQ_SENT);
	tcm_timer(c, tcm_answer_ns(c, c->peer_timeout));
	return tcm_send(c, CM_DREQ, &m, tcm_tid(c->cm));
}

void
tcm_release(struct tcm_conn *c)
{
	struct cm_sidr_rep no = {.status = CM_SIDR_REJECT};
	uint8_t guid[8];

	c->released = true;
	c->owner = NULL;
	switch (c->state) {
	case TCM_REQ_SENT:
	case TCM_MRA_REQ_RCVD:
		ib_put64(guid, c->cm->ca_guid);
		c->cm->stats.failed++;
		tcm_send_rej(c, CM_REJ_TIMEOUT, guid, sizeof(guid), NULL, 0);
		tcm_conn_free(c);
		break;
	case TCM_REQ_RCVD:
	case TCM_MRA_REQ_SENT:
		(void)tcm_reject(c, CM_REJ_CONSUMER, NULL, 0, NULL, 0);
		tcm_conn_free(c);
		break;
	case TCM_REP_RCVD:
	case TCM_MRA_REP_SENT:
	case TCM_REP_SENT:
	case TCM_MRA_REP_RCVD: (void)tcm_reject(c, CM_REJ_CONSUMER, NULL, 0, NULL, 0); break;
	case TCM_ESTABLISHED: (void)tcm_disconnect(c, NULL, 0); break;
	case TCM_SIDR_REQ_RCVD: (void)tcm_sidr_answer(c, &no); break;
	case TCM_SIDR_REQ_SENT:
	case TCM_IDLE: tcm_conn_free(c); break;
	case TCM_DREQ_SENT:
	case TCM_TIMEWAIT:
	case TCM_SIDR_ANSWERED:
	case TCM_STATES: break; /* the time frees it */
	}
}

/* --- services of datagrams --- */

int
tcm_sidr_connect(struct tcm *cm, const struct troce_path *path, struct cm_sidr_req *req, void *owner,
		 struct tcm_conn **conn)
{
	struct tcm_conn *c;
	int rc;

	if (cm->conns == cm->max_conns)
		return -ENOSPC;
	c = tcm_conn_new(cm, path, TCM_SIDR_REQ_SENT, owner);
	if (c == NULL)
		return -ENOMEM;
	req->request_id = c->local_id;
	c->dgram = true;
	c->service_id = req->service_id;
	c->max_retries = c->retries = TCM_MAX_RETRIES;
	c->peer_timeout = TCM_RESPONSE_TIMEOUT;
	c->lifetime = TCM_LIFETIME;
	c->tid = tcm_tid(cm);
	rc = tcm_send(c, CM_SIDR_REQ, req, c->tid);
	if (rc != 0) {
		tcm_conn_free(c);
		return rc;
	}
	cm->stats.sidr_initiated++;
	tcm_timer(c, tcm_answer_ns(c, c->peer_timeout));
	*conn = c;
	return 0;
}

int
tcm_sidr_answer(struct tcm_conn *c, struct cm_sidr_rep *rep)
{
	int rc;

	if (c->state != TCM_SIDR_REQ_RCVD)
		return -EINVAL;
	rep->request_id = c->remote_id;
	rep->service_id = c->service_id;
	rc = tcm_send(c, CM_SIDR_REP, rep, c->tid);
	if (rc != 0)
		return rc;
	c->cm->stats.sidr_answered++;
	tcm_state_set(c, TCM_SIDR_ANSWERED);
	/* As long as the peer may ask again because this answer was lost. */
	tcm_timer(c, tcm_answer_ns(c, TCM_RESPONSE_TIMEOUT));
	return 0;
}
