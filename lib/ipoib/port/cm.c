/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Connections of a port: what the interface asks for becomes messages to the peer, and what the peer says becomes queue pairs.
 * What the connection manager tells comes in the service's thread and with its lock held: it is noted, and the control thread
 * looks at it.
 */
#include "cm.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_random.h>

#include "tp_roce.h"

#define RESPONSE_TIMEOUT 18u /* code: a second for an answer */
#define ASK_RETRIES 3u
#define RNR_FOREVER 7u /* a peer that takes nothing for IPOIB_RC_STALL_MS has its connection ended */
#define ACK_DELAY 15u
#define CLOSE_MS 100u  /* in which what has come is taken by the application */
#define DRAIN_MS 1000u /* for the card to give back what it had */
#define PSN_MASK 0xffffffu

static uint64_t
now_ms(void)
{
	return rte_get_timer_cycles() / (rte_get_timer_hz() / 1000);
}

/* --- notes --------------------------------------------------------------------------------------------------------------- */

static void
on_event(struct troce_cm_owner *owner, const struct tcm_event *ev)
{
	struct ipoib_rc *rc = RTE_PTR_SUB(owner, offsetof(struct ipoib_rc, owner));
	struct ipoib_cm *cm = rc->port->cm;
	struct ipoib_note *n = malloc(sizeof(*n));

	if (n == NULL) {
		/* The peer hears no answer; ours is found out by its silence. */
		IPOIB_LOG(ERR, "port %u: no memory to note what a connection was told", rc->port->port_id);
		return;
	}
	*n = (struct ipoib_note){.rc = rc, .type = ev->type};
	if (ev->msg != NULL)
		n->msg = *ev->msg;
	pthread_mutex_lock(&cm->note_lock);
	TAILQ_INSERT_TAIL(&cm->notes, n, next);
	pthread_mutex_unlock(&cm->note_lock);
}

static struct ipoib_rc *
rc_new(struct ipoib_port *p, struct ipoib_conn *conn)
{
	struct ipoib_rc *rc = calloc(1, sizeof(*rc));

	if (rc == NULL)
		return NULL;
	rc->owner.event = on_event;
	rc->port = p;
	rc->conn = conn;
	rc->psn = (uint32_t)rte_rand() & PSN_MASK;
	rc->stall_ms = UINT64_MAX;
	return rc;
}

static void
on_request(struct troce_cm_owner *owner, const struct tcm_event *ev)
{
	struct ipoib_cm *cm = RTE_PTR_SUB(owner, offsetof(struct ipoib_cm, service.owner));
	struct ipoib_rc *rc = rc_new(cm->port, NULL);

	if (rc == NULL) {
		(void)tcm_reject(ev->conn, CM_REJ_NO_RESOURCES, NULL, 0, NULL, 0);
		tcm_release(ev->conn);
		return;
	}
	rc->tcm = ev->conn;
	ev->conn->owner = &rc->owner;
	on_event(&rc->owner, ev);
}

static struct ipoib_note *
note_take(struct ipoib_cm *cm)
{
	struct ipoib_note *n;

	pthread_mutex_lock(&cm->note_lock);
	n = TAILQ_FIRST(&cm->notes);
	if (n != NULL)
		TAILQ_REMOVE(&cm->notes, n, next);
	pthread_mutex_unlock(&cm->note_lock);
	return n;
}

/* The connection is told nothing more, and what it was told is forgotten. */
static void
rc_release(struct ipoib_rc *rc)
{
	struct ipoib_cm *cm = rc->port->cm;
	struct ipoib_note *n, *after;

	if (rc->tcm == NULL)
		return;
	(void)troce_cm_ib_lock(ipoib_device_ctx(rc->port->device));
	tcm_release(rc->tcm);
	troce_cm_ib_unlock();
	rc->tcm = NULL;
	pthread_mutex_lock(&cm->note_lock);
	for (n = TAILQ_FIRST(&cm->notes); n != NULL; n = after) {
		after = TAILQ_NEXT(n, next);
		if (n->rc != rc)
			continue;
		TAILQ_REMOVE(&cm->notes, n, next);
		free(n);
	}
	pthread_mutex_unlock(&cm->note_lock);
}

/* --- to a peer ------------------------------------------------------------------------------------------------------------ */

static void
fill_av(struct ibv_ah_attr *av, const struct tp_sa_path *path, uint8_t bits)
{
	*av = (struct ibv_ah_attr){
		.dlid = path->dlid, .sl = path->sl, .static_rate = path->rate, .src_path_bits = bits, .port_num = 1};
	if (path->hop_limit <= 1)
		return;
	av->is_global = 1;
	av->grh.dgid = path->dgid;
	av->grh.flow_label = path->flow_label;
	av->grh.hop_limit = path->hop_limit;
	av->grh.traffic_class = path->traffic_class;
}

static int
send_req(struct ipoib_rc *rc, const struct tp_sa_path *path, uint32_t peer_qpn)
{
	const struct ipoib_core *c = &rc->port->core;
	struct troce_path way = {
		.type = IBV_GID_TYPE_IB,
		.vlan = TP_ROCE_NO_VLAN,
		.dgid = path->dgid,
		.prio = path->sl,
		.dlid = path->dlid,
		.slid = path->slid,
		.pkey_index = (uint16_t)rc->port->pkey_index,
		.path_bits = rc->av.src_path_bits,
		.grh = rc->av.is_global != 0,
		.hop_limit = path->hop_limit,
		.tclass = path->traffic_class,
		.flow_label = path->flow_label,
	};
	struct cm_req req = {
		.service_id = IPOIB_CM_SERVICE | peer_qpn,
		.qpn = rc->qp->qp_num,
		.psn = rc->psn,
		.resp_res = 4, /* as Linux */
		.remote_timeout = RESPONSE_TIMEOUT,
		.local_timeout = RESPONSE_TIMEOUT,
		.flow_control = 1,
		.retry = RNR_FOREVER,
		.rnr_retry = RNR_FOREVER,
		.pkey = rc->port->pkey_used,
		.mtu = path->mtu,
		.max_retries = ASK_RETRIES,
		.srq = 1,
		.path = {.ack_timeout = rc->timeout, .rate = path->rate},
	};
	struct tcm *core;
	int ret;

	memcpy(way.sgid.raw, c->place.gid, sizeof(way.sgid.raw));
	ipoib_cm_data_put(c->place.qpn, c->conf.cm_mtu, req.private_data);
	core = troce_cm_ib_lock(ipoib_device_ctx(rc->port->device));
	ret = tcm_connect(core, &way, &req, &rc->owner, &rc->tcm);
	troce_cm_ib_unlock();
	return ret;
}

int
ipoib_cm_conn_open(struct ipoib_port *p, struct ipoib_conn *conn)
{
	const struct tp_sa_path *path = &conn->remote->path;
	struct ipoib_rc *rc = rc_new(p, conn);
	int ret;

	if (rc == NULL)
		return -ENOMEM;
	rc->mtu = path->mtu;
	rc->timeout = RTE_MIN(path->lifetime + 1u, 31u);
	fill_av(&rc->av, path, (uint8_t)(path->slid & ((1u << p->core.place.lmc) - 1)));
	ret = ipoib_rc_qp_open(rc, false);
	if (ret == 0)
		ret = send_req(rc, path, conn->remote->qpn);
	if (ret != 0) {
		IPOIB_LOG(NOTICE, "port %u: no connection to LID %u: %s", p->port_id, path->dlid, strerror(-ret));
		if (rc->qp != NULL)
			tp_roce_destroy_qp(rc->qp);
		free(rc);
		return ret;
	}
	conn->home = rc;
	TAILQ_INSERT_TAIL(&p->cm->rcs, rc, next);
	return 0;
}

/* The peer takes it: the queue pair is ready before the peer is told so. */
static int
take_rep(struct ipoib_rc *rc, const struct cm_rep *rep)
{
	uint32_t qpn, mtu;
	int ret;

	if (!ipoib_cm_data_get(rep->private_data, &qpn, &mtu))
		return -EPROTO;
	ret = ipoib_rc_qp_ready(rc, rep->qpn, rep->psn, rep->rnr_retry);
	if (ret != 0)
		return ret;
	(void)troce_cm_ib_lock(ipoib_device_ctx(rc->port->device));
	ret = tcm_rtu(rc->tcm, NULL, 0);
	troce_cm_ib_unlock();
	if (ret != 0)
		return ret;
	rc->stall_ms = now_ms() + IPOIB_RC_STALL_MS;
	ipoib_conn_up(&rc->port->core, rc->conn, rc->qp->qp_num, mtu);
	return 0;
}

/* --- from a peer ---------------------------------------------------------------------------------------------------------- */

static int
send_rep(struct ipoib_rc *rc, const struct cm_req *req)
{
	const struct ipoib_core *c = &rc->port->core;
	struct cm_rep rep = {
		.qpn = rc->qp->qp_num,
		.psn = rc->psn,
		.resp_res = req->init_depth,
		.init_depth = req->resp_res,
		.ack_delay = ACK_DELAY,
		.rnr_retry = RNR_FOREVER,
		.srq = 1,
	};
	int ret;

	ipoib_cm_data_put(c->place.qpn, c->conf.cm_mtu, rep.private_data);
	(void)troce_cm_ib_lock(ipoib_device_ctx(rc->port->device));
	ret = tcm_accept(rc->tcm, &rep);
	troce_cm_ib_unlock();
	return ret;
}

static int
take_req(struct ipoib_rc *rc, const struct cm_req *req)
{
	struct ipoib_core *c = &rc->port->core;
	const struct cm_path *path = &req->path;
	uint32_t qpn, mtu;
	struct ipoib_hw hw;
	int ret;

	if (!ipoib_cm_data_get(req->private_data, &qpn, &mtu))
		return -EPROTO;
	ipoib_hw_set(&hw, IPOIB_HW_RC, qpn, path->local_gid);
	rc->mtu = req->mtu;
	rc->timeout = path->ack_timeout;
	rc->av = (struct ibv_ah_attr){
		.dlid = path->local_lid,
		.sl = path->sl,
		.static_rate = path->rate,
		.src_path_bits = (uint8_t)(path->remote_lid & ((1u << c->place.lmc) - 1)),
		.port_num = 1,
		.is_global = !path->subnet_local,
	};
	if (!path->subnet_local) {
		memcpy(rc->av.grh.dgid.raw, path->local_gid, sizeof(rc->av.grh.dgid.raw));
		rc->av.grh.flow_label = path->flow_label;
		rc->av.grh.hop_limit = path->hop_limit;
		rc->av.grh.traffic_class = path->tclass;
	}
	ret = ipoib_rc_qp_open(rc, true);
	if (ret == 0)
		ret = ipoib_rc_qp_ready(rc, req->qpn, req->psn, RNR_FOREVER);
	if (ret != 0)
		return ret;
	rc->conn = ipoib_conn_request(c, &hw, mtu);
	if (rc->conn == NULL)
		return -EBUSY;
	rc->conn->home = rc;
	TAILQ_INSERT_TAIL(&rc->port->cm->rcs, rc, next);
	/* Packets may come before the peer's last word. */
	ipoib_conn_up(c, rc->conn, rc->qp->qp_num, mtu);
	ret = send_rep(rc, req);
	if (ret != 0)
		ipoib_conn_over(c, rc->conn, false);
	return 0;
}

static void
request(struct ipoib_rc *rc, const struct cm_req *req)
{
	int ret = take_req(rc, req);

	if (ret == 0)
		return;
	(void)troce_cm_ib_lock(ipoib_device_ctx(rc->port->device));
	(void)tcm_reject(rc->tcm, ret == -EBUSY || ret == -EPROTO ? CM_REJ_CONSUMER : CM_REJ_NO_RESOURCES, NULL, 0,
			 NULL, 0);
	troce_cm_ib_unlock();
	rc_release(rc);
	if (rc->qp != NULL) {
		ipoib_publish(rc->port, NULL);
		rc->port->core.dirty = true;
		ipoib_rc_qp_close(rc);
	}
	free(rc);
}

/* --- the end -------------------------------------------------------------------------------------------------------------- */

void
ipoib_cm_conn_close(struct ipoib_port *p, struct ipoib_conn *conn)
{
	struct ipoib_rc *rc = conn->home;

	(void)p;
	rc->closing = true;
	rc->until_ms = now_ms() + CLOSE_MS;
	rc_release(rc);
	ipoib_rc_qp_error(rc);
}

/* Bursts have no snapshot. */
static void
rc_free(struct ipoib_rc *rc)
{
	struct ipoib_port *p = rc->port;

	TAILQ_REMOVE(&p->cm->rcs, rc, next);
	ipoib_rc_qp_close(rc);
	ipoib_conn_gone(&p->core, rc->conn);
	free(rc);
}

/* --- work ----------------------------------------------------------------------------------------------------------------- */

static void
look_at(struct ipoib_note *n)
{
	struct ipoib_rc *rc = n->rc;
	struct ipoib_core *c = &rc->port->core;

	switch (n->type) {
	case TCM_EV_REQ: request(rc, &n->msg.req); break;
	case TCM_EV_REP:
		if (take_rep(rc, &n->msg.rep) != 0)
			ipoib_conn_over(c, rc->conn, false);
		break;
	case TCM_EV_REJECTED: ipoib_conn_over(c, rc->conn, true); break;
	case TCM_EV_UNREACHABLE:
	case TCM_EV_DISCONNECTED: ipoib_conn_over(c, rc->conn, false); break;
	default: break;
	}
}

static unsigned int
look_after(struct ipoib_port *p)
{
	bool trouble = atomic_exchange(&p->cm->trouble, false);
	struct ipoib_rc *rc, *after;
	uint64_t now = now_ms();
	unsigned int done = 0;

	for (rc = TAILQ_FIRST(&p->cm->rcs); rc != NULL; rc = after) {
		after = TAILQ_NEXT(rc, next);
		if (!rc->closing && ((trouble && rc->broken) || ipoib_cm_stalled(rc, now)))
			ipoib_conn_over(&p->core, rc->conn, false);
		if (!rc->closing || now < rc->until_ms)
			continue;
		ipoib_publish(p, NULL);
		p->core.dirty = true;
		ipoib_cm_reap(p->cm);
		if (rc->inflight != 0 && now < rc->until_ms + DRAIN_MS)
			continue;
		rc_free(rc);
		done++;
	}
	return done;
}

unsigned int
ipoib_cm_work(struct ipoib_port *p)
{
	struct ipoib_note *n;
	unsigned int done = 0;

	if (p->cm == NULL)
		return 0;
	while ((n = note_take(p->cm)) != NULL) {
		look_at(n);
		free(n);
		done++;
	}
	return done + look_after(p);
}

/* --- life ----------------------------------------------------------------------------------------------------------------- */

static void
cm_free(struct ipoib_port *p)
{
	ipoib_cm_queues_close(p->cm);
	pthread_mutex_destroy(&p->cm->note_lock);
	free(p->cm);
	p->cm = NULL;
}

int
ipoib_cm_open(struct ipoib_port *p)
{
	struct ipoib_cm *cm = calloc(1, sizeof(*cm));
	int ret;

	if (cm == NULL)
		return -ENOMEM;
	cm->port = p;
	p->cm = cm;
	TAILQ_INIT(&cm->rcs);
	TAILQ_INIT(&cm->notes);
	pthread_mutex_init(&cm->note_lock, NULL);
	cm->service.id = IPOIB_CM_SERVICE | p->qp->qp_num;
	cm->service.owner.event = on_request;
	ret = ipoib_cm_queues_open(cm);
	if (ret == 0)
		ret = -troce_cm_ib_listen(ipoib_device_ctx(p->device), &cm->service);
	if (ret != 0)
		cm_free(p);
	return ret;
}

void
ipoib_cm_close(struct ipoib_port *p)
{
	struct ipoib_cm *cm = p->cm;
	struct ipoib_note *n;
	struct ipoib_rc *rc;
	unsigned int ms;

	if (cm == NULL)
		return;
	ipoib_publish(p, NULL);
	p->core.dirty = true;
	troce_cm_ib_unlisten(ipoib_device_ctx(p->device), &cm->service);
	/* Requests that nobody has looked at. */
	while ((n = note_take(cm)) != NULL) {
		rc = n->rc;
		free(n);
		if (rc->conn != NULL)
			continue;
		rc_release(rc);
		free(rc);
	}
	ipoib_conns_close(&p->core);
	for (ms = 0; ms < DRAIN_MS && cm->num_slots != IPOIB_RC_SLOTS; ms++) {
		usleep(1000);
		ipoib_cm_reap(cm);
	}
	/* What was freed is in the list no more. */
	while ((rc = TAILQ_FIRST(&cm->rcs)) != NULL)
		rc_free(rc); /* NOLINT */
	p->rxq[0]->n.drop[IPOIB_DROP_RX_CONN] += cm->num_held;
	cm_free(p);
}
