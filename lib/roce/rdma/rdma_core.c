/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a port's communication manager tells its ids: operations of the core. All with the lock. */
#include <string.h>

#include <rte_random.h>

#include "rdma_priv.h"

/* The addresses that a request names; false: its header is of another kind. */
static bool
addresses(const uint8_t *private_data, uint64_t service_id, struct sockaddr_storage *local,
	  struct sockaddr_storage *peer)
{
	struct cm_ip_hdr h;

	if (!cm_ip_get(private_data, &h))
		return false;
	trd_addr_from(local, h.version, h.dst, (uint16_t)service_id);
	trd_addr_from(peer, h.version, h.src, h.port);
	return true;
}

/* Port space of a service; 0: none of ours. */
static enum rdma_port_space
space_of(uint64_t service_id, bool dgram)
{
	uint64_t ps = service_id >> 16;

	if (dgram)
		return ps == RDMA_PS_UDP ? RDMA_PS_UDP : 0;
	return ps == RDMA_PS_TCP ? RDMA_PS_TCP : ps == RDMA_PS_IB ? RDMA_PS_IB : 0;
}

static uint16_t
on_service(void *home, const struct tcm_ask *ask, void **owner)
{
	const struct troce_cm *cm = home;
	enum rdma_port_space ps = space_of(ask->service_id, ask->dgram);
	struct sockaddr_storage local, peer;
	struct trd_id *id;

	if (ps == 0)
		return ask->dgram ? CM_SIDR_UNSUPPORTED : CM_REJ_SERVICE_ID;
	if (!addresses(ask->private_data, ask->service_id, &local, &peer))
		return ask->dgram ? CM_SIDR_REJECT : CM_REJ_CONSUMER;
	id = trd_listener(cm->dev, ps, (struct sockaddr *)&local);
	if (id == NULL)
		return ask->dgram ? CM_SIDR_UNSUPPORTED : CM_REJ_SERVICE_ID;
	if (id->pending >= id->backlog)
		return TCM_DROP;
	*owner = id;
	return 0;
}

/* --- a request --- */

static struct ibv_ah_attr
av_back(const struct troce_path *path)
{
	struct ibv_ah_attr av = {.is_global = 1, .port_num = 1, .sl = path->prio};

	av.grh.dgid = path->dgid;
	av.grh.sgid_index = path->sgid_index;
	av.grh.traffic_class = path->tclass;
	av.grh.flow_label = path->flow_label;
	return av;
}

static struct trd_id *
child_of(struct trd_id *listener, struct troce_cm *cm, struct tcm_conn *conn, const uint8_t *private_data)
{
	struct trd_id *id = trd_id_new(listener->v.ps, listener->v.context);
	struct rdma_addr *a;

	if (id == NULL)
		return NULL;
	a = &id->v.route.addr;
	(void)addresses(private_data, conn->service_id, &a->src_storage, &a->dst_storage);
	a->addr.ibaddr.sgid = conn->out.path.sgid;
	a->addr.ibaddr.dgid = conn->out.path.dgid;
	a->addr.ibaddr.pkey = 0xffff;
	id->v.verbs = &cm->dev->vctx.context;
	id->v.channel = listener->v.channel;
	id->v.port_num = 1;
	id->dev = cm->dev;
	id->passive = true;
	id->tos = listener->tos;
	id->state = TRD_CONNECT;
	id->conn = conn;
	id->av = av_back(&conn->out.path);
	trd_classify(id);
	conn->owner = id;
	id->listener = listener;
	listener->pending++;
	TAILQ_INSERT_TAIL(&trd_ids, id, next);
	return id;
}

/* Of READs and atomics, the one end's offer is the other one's depth. */
static void
take_req(struct trd_id *id, const struct cm_req *r)
{
	const struct ibv_device_attr *attr = &id->dev->attr;

	id->v.qp_type = r->service == CM_SERVICE_UC ? IBV_QPT_UC : IBV_QPT_RC;
	id->dest_qpn = r->qpn;
	id->sq_psn = r->psn; /* where the other end expects this one to begin */
	id->rq_psn = (uint32_t)rte_rand() & IB_PSN_MASK;
	id->mtu = (enum ibv_mtu)r->mtu;
	id->retry = r->retry;
	id->rnr_retry = r->rnr_retry;
	id->timeout = r->path.ack_timeout;
	id->resp_res = (uint8_t)RTE_MIN((int)r->init_depth, attr->max_qp_rd_atom);
	id->init_depth = (uint8_t)RTE_MIN((int)r->resp_res, attr->max_qp_init_rd_atom);
	id->av.grh.flow_label = r->path.flow_label;
}

static void
on_req(struct troce_cm *cm, const struct tcm_event *ev)
{
	const struct cm_req *r = &ev->msg->req;
	struct trd_id *listener = ev->owner, *id = child_of(listener, cm, ev->conn, r->private_data);
	struct rdma_conn_param *p;
	struct trd_event *e;

	e = id != NULL ? trd_event_new(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0) : NULL;
	if (e == NULL) {
		/* No memory: the peer hears that, and nothing is left. */
		(void)tcm_reject(ev->conn, CM_REJ_NO_RESOURCES, NULL, 0, NULL, 0);
		if (id != NULL)
			trd_id_free(id);
		else
			tcm_release(ev->conn);
		return;
	}
	take_req(id, r);
	e->v.id = &id->v;
	e->v.listen_id = &listener->v;
	trd_event_data(e, r->private_data + CM_IP_HDR_LEN, CM_REQ_PRIVATE - CM_IP_HDR_LEN);
	p = &e->v.param.conn;
	p->responder_resources = r->init_depth;
	p->initiator_depth = r->resp_res;
	p->flow_control = r->flow_control;
	p->retry_count = r->retry;
	p->rnr_retry_count = r->rnr_retry;
	p->srq = r->srq;
	p->qp_num = r->qpn;
	trd_event_post(e, listener);
}

static void
on_sidr_req(struct troce_cm *cm, const struct tcm_event *ev)
{
	const struct cm_sidr_req *r = &ev->msg->sidr_req;
	struct trd_id *listener = ev->owner, *id = child_of(listener, cm, ev->conn, r->private_data);
	struct trd_event *e;

	e = id != NULL ? trd_event_new(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0) : NULL;
	if (e == NULL) {
		if (id != NULL)
			trd_id_free(id);
		else
			tcm_release(ev->conn);
		return;
	}
	e->v.id = &id->v;
	e->v.listen_id = &listener->v;
	memcpy(e->data, r->private_data + CM_IP_HDR_LEN, CM_SIDR_REQ_PRIVATE - CM_IP_HDR_LEN);
	e->v.param.ud.private_data = e->data;
	e->v.param.ud.private_data_len = CM_SIDR_REQ_PRIVATE - CM_IP_HDR_LEN;
	trd_event_post(e, listener);
}

/* --- answers --- */

/* The time for an ACK knows now how long the peer takes (12.7.34): there and back, or that, and twice the greater. */
static uint8_t
ack_time(uint8_t asked, uint8_t delay)
{
	if (asked == 0 || delay == 0)
		return asked;
	if (asked >= delay)
		return (uint8_t)RTE_MIN(asked + (delay >= asked - 1), 31);
	return (uint8_t)RTE_MIN(delay + (asked >= delay - 1), 31);
}

static void
on_rep(struct trd_id *id, const struct cm_rep *r)
{
	struct trd_event *e = trd_event_new(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	struct rdma_conn_param *p;

	id->dest_qpn = r->qpn;
	id->sq_psn = r->psn;
	id->rnr_retry = r->rnr_retry;
	/* Never more than the peer offers; it may take less than it was offered. */
	id->init_depth = RTE_MIN(id->init_depth, r->resp_res);
	id->resp_res = RTE_MIN(id->resp_res, r->init_depth);
	id->timeout = ack_time(id->timeout, r->ack_delay);
	if (e == NULL)
		return;
	trd_event_data(e, r->private_data, CM_REP_PRIVATE);
	p = &e->v.param.conn;
	p->responder_resources = r->init_depth;
	p->initiator_depth = r->resp_res;
	p->flow_control = r->flow_control;
	p->rnr_retry_count = r->rnr_retry;
	p->srq = r->srq;
	p->qp_num = r->qpn;
	trd_event_post(e, id);
}

static void
on_sidr_rep(struct trd_id *id, const struct tcm_event *ev)
{
	const struct cm_sidr_rep *r = &ev->msg->sidr_rep;
	bool ok = r->status == CM_SIDR_OK;
	struct trd_event *e = trd_event_new(id, ok ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_UNREACHABLE, r->status);

	if (e == NULL)
		return;
	memcpy(e->data, r->private_data, CM_SIDR_REP_PRIVATE);
	e->v.param.ud = (struct rdma_ud_param){.private_data = e->data,
					       .private_data_len = CM_SIDR_REP_PRIVATE,
					       .ah_attr = id->av,
					       .qp_num = r->qpn,
					       .qkey = r->qkey};
	trd_event_post(e, id);
}

static void
with_data(struct trd_id *id, enum rdma_cm_event_type type, int status, const uint8_t *data, uint32_t len)
{
	struct trd_event *e = trd_event_new(id, type, status);

	if (e == NULL)
		return;
	if (data != NULL)
		trd_event_data(e, data, len);
	trd_event_post(e, id);
}

/* The core's message may be none. */
static void
on_event(void *home, const struct tcm_event *ev)
{
	struct trd_id *id = ev->owner;

	switch (ev->type) {
	case TCM_EV_REQ: on_req(home, ev); break;
	case TCM_EV_SIDR_REQ: on_sidr_req(home, ev); break;
	case TCM_EV_REP: on_rep(id, &ev->msg->rep); break;
	case TCM_EV_SIDR_REP: on_sidr_rep(id, ev); break;
	case TCM_EV_ESTABLISHED:
		with_data(id, RDMA_CM_EVENT_ESTABLISHED, 0, ev->msg != NULL ? ev->msg->rtu.private_data : NULL,
			  CM_RTU_PRIVATE);
		break;
	case TCM_EV_REJECTED:
		id->state = TRD_DONE;
		with_data(id, RDMA_CM_EVENT_REJECTED, ev->reason, ev->msg != NULL ? ev->msg->rej.private_data : NULL,
			  CM_REJ_PRIVATE);
		break;
	case TCM_EV_UNREACHABLE:
		id->state = TRD_DONE;
		trd_post(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case TCM_EV_DISCONNECTED:
		id->state = TRD_DONE;
		trd_post(id, RDMA_CM_EVENT_DISCONNECTED, 0);
		break;
	case TCM_EV_TIMEWAIT_EXIT:
		/* A datagram's answer has no queue pair that waits. */
		if (id->v.ps != RDMA_PS_UDP)
			trd_post(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
		break;
	}
}

static void
on_send(void *home, const struct troce_mad *mad)
{
	trd_send(home, mad);
}

const struct tcm_ops trd_core_ops = {.send = on_send, .service = on_service, .event = on_event};
