/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections of ids: asked for, accepted, refused, ended. What the application says; what comes is in rdma_core.c. */
#include <stdlib.h>
#include <string.h>

#include <rte_random.h>

#include "lib/roce/net/net.h"
#include "rdma_guest.h"
#include "rdma_priv.h"

#define RETRY_DEFAULT 7u
#define ACK_DELAY 15u /* what this end takes to answer a packet: 0.13 s at most */

static int
too_long(const char *call, uint32_t len, uint32_t max)
{
	TROCE_LOG(ERR, "%s: %u octets of private data are not in 0..%u", call, len, max);
	return EINVAL;
}

/* --- what is asked for --- */

static const struct rdma_conn_param defaults = {
	.responder_resources = RDMA_MAX_RESP_RES,
	.initiator_depth = RDMA_MAX_INIT_DEPTH,
	.retry_count = RETRY_DEFAULT,
	.rnr_retry_count = RETRY_DEFAULT,
	.flow_control = 1,
};

/* A depth of READs and atomics within what the port has; the greatest code means all. */
static int
depth(const char *name, uint8_t asked, int max, uint8_t *out)
{
	if (asked == RDMA_MAX_RESP_RES || asked <= max) {
		*out = asked == RDMA_MAX_RESP_RES ? (uint8_t)RTE_MIN(max, 0xfe) : asked;
		return 0;
	}
	TROCE_LOG(ERR, "%s %u is not in 0..%d", name, asked, max);
	return EINVAL;
}

static int
take_param(struct trd_id *id, const struct rdma_conn_param *p, uint8_t *resp_res, uint8_t *init_depth)
{
	const struct ibv_device_attr *attr = &id->dev->attr;
	int err = depth("responder_resources", p->responder_resources, attr->max_qp_rd_atom, resp_res);

	if (err == 0)
		err = depth("initiator_depth", p->initiator_depth, attr->max_qp_init_rd_atom, init_depth);
	if (err == 0 && (p->retry_count > 7 || p->rnr_retry_count > 7)) {
		TROCE_LOG(ERR, "retry_count %u or rnr_retry_count %u is not in 0..7", p->retry_count,
			  p->rnr_retry_count);
		err = EINVAL;
	}
	return err;
}

static uint32_t
qpn_of(const struct trd_id *id, const struct rdma_conn_param *p)
{
	return id->v.qp != NULL ? id->v.qp->qp_num : p->qp_num;
}

static bool
srq_of(const struct trd_id *id, const struct rdma_conn_param *p)
{
	return id->v.qp != NULL ? id->v.qp->srq != NULL : p->srq != 0;
}

/* Annex A11: the addresses, then what the application says. */
static void
put_private(const struct trd_id *id, uint8_t *out, const struct rdma_conn_param *p)
{
	const struct rdma_addr *a = &id->v.route.addr;
	const union ibv_gid src = trd_gid(&a->src_addr), dst = trd_gid(&a->dst_addr);
	struct cm_ip_hdr h = {.version = a->src_addr.sa_family == AF_INET ? 4 : 6, .port = trd_port(&a->src_addr)};
	/* IPv4 has zeros in front, not those of a mapped address. */
	unsigned int at = h.version == 4 ? 12 : 0;

	memcpy(h.src + at, src.raw + at, 16 - at);
	memcpy(h.dst + at, dst.raw + at, 16 - at);
	cm_ip_put(&h, out);
	if (p->private_data_len != 0)
		memcpy(out + CM_IP_HDR_LEN, p->private_data, p->private_data_len);
}

/* The code of the time for an ACK: there and back, and what the other end takes (12.7.34). */
static uint8_t
ack_timeout(const struct trd_id *id)
{
	return id->ack_timeout != TRD_NO_OPTION ? id->ack_timeout : TCM_LIFETIME + 1;
}

static int
ask_datagram(struct trd_id *id, const struct troce_path *path, const struct rdma_conn_param *p)
{
	struct cm_sidr_req req = {.pkey = 0xffff};

	req.service_id = CM_IP_SERVICE(id->v.ps, trd_port(&id->v.route.addr.dst_addr));
	put_private(id, req.private_data, p);
	return -tcm_sidr_connect(trd_core(id->dev), path, &req, id, &id->conn);
}

static int
ask(struct trd_id *id, const struct troce_path *path, const struct rdma_conn_param *p)
{
	struct cm_req req = {.pkey = 0xffff,
			     .remote_timeout = TCM_RESPONSE_TIMEOUT,
			     .local_timeout = TCM_RESPONSE_TIMEOUT,
			     .max_retries = TCM_MAX_RETRIES};

	req.service_id = CM_IP_SERVICE(id->v.ps, trd_port(&id->v.route.addr.dst_addr));
	req.qpn = qpn_of(id, p);
	req.service = id->v.qp_type == IBV_QPT_UC ? CM_SERVICE_UC : CM_SERVICE_RC;
	/* The starting PSN of REQ and REP (12.6.5, 12.6.8) is where the other end begins to send, not this one. */
	req.psn = id->rq_psn = (uint32_t)rte_rand() & IB_PSN_MASK;
	req.rnr_retry = p->rnr_retry_count;
	req.retry = id->retry = p->retry_count;
	req.resp_res = id->resp_res;
	req.init_depth = id->init_depth;
	req.flow_control = id->flow_control = p->flow_control != 0;
	req.mtu = (uint8_t)id->mtu;
	req.srq = srq_of(id, p);
	req.path.ack_timeout = id->timeout = ack_timeout(id);
	put_private(id, req.private_data, p);
	return -tcm_connect(trd_core(id->dev), path, &req, id, &id->conn);
}

static int
connect_locked(struct trd_id *id, const struct rdma_conn_param *p)
{
	struct troce_path path;
	int err;

	if (id->state != TRD_ROUTED)
		return EINVAL;
	/* The neighbour answered a moment ago; if it is being asked again, its old answer serves. */
	err = troce_path_resolve(id->dev, &id->av, 0, trd_service(id), &path);
	if (err != 0)
		return err == EINPROGRESS ? EHOSTUNREACH : err;
	path.flow_label = id->av.grh.flow_label;
	id->mtu = id->dev->port.active_mtu;
	err = id->v.ps == RDMA_PS_UDP ? ask_datagram(id, &path, p) : ask(id, &path, p);
	if (err == 0)
		id->state = TRD_CONNECT;
	return err;
}

int
tp_rdma_connect(struct rdma_cm_id *v, struct rdma_conn_param *param)
{
	const struct rdma_conn_param *p = param != NULL ? param : &defaults;
	struct trd_id *id = trd_id_of(v);
	uint32_t max = (v->ps == RDMA_PS_UDP ? CM_SIDR_REQ_PRIVATE : CM_REQ_PRIVATE) - CM_IP_HDR_LEN;
	int err = 0;

	if (p->private_data_len > max)
		return trd_fail(too_long("connect", p->private_data_len, max));
	trd_lock();
	if (id->state != TRD_ROUTED)
		err = EINVAL;
	else if (v->ps != RDMA_PS_UDP)
		err = take_param(id, p, &id->resp_res, &id->init_depth);
	if (err == 0)
		err = connect_locked(id, p);
	trd_unlock();
	return err != 0 ? trd_fail(err) : trd_finish(id);
}

int
tp_rdma_establish(struct rdma_cm_id *v)
{
	struct trd_id *id = trd_id_of(v);
	int rc = -EINVAL;

	trd_lock();
	if (id->conn != NULL) {
		(void)trd_core(id->dev);
		rc = tcm_rtu(id->conn, NULL, 0);
	}
	trd_unlock();
	return rc != 0 ? trd_fail(-rc) : 0;
}

/* --- what is accepted --- */

/* The listener's place is free again. */
static void
answered(struct trd_id *id)
{
	if (id->listener != NULL)
		id->listener->pending--;
	id->listener = NULL;
}

static int
accept_datagram(struct trd_id *id, const struct rdma_conn_param *p)
{
	struct cm_sidr_rep rep = {.status = CM_SIDR_OK, .qpn = qpn_of(id, p), .qkey = RDMA_UDP_QKEY};
	int err = ENODEV;

	if (p->private_data_len > sizeof(rep.private_data))
		return too_long("accept", p->private_data_len, sizeof(rep.private_data));
	if (p->private_data_len != 0)
		memcpy(rep.private_data, p->private_data, p->private_data_len);
	trd_lock();
	if (id->conn != NULL) {
		(void)trd_core(id->dev);
		err = -tcm_sidr_answer(id->conn, &rep);
	}
	answered(id);
	trd_unlock();
	return err;
}

/* What the application leaves open is what the peer asked for; more than the peer offers cannot be. */
static int
accept_depths(struct trd_id *id, const struct rdma_conn_param *p)
{
	uint8_t resp_res = id->resp_res, init_depth = id->init_depth;
	int err = take_param(id, p, &resp_res, &init_depth);

	if (err != 0)
		return err;
	id->init_depth = RTE_MIN(init_depth, id->init_depth);
	id->resp_res = p->responder_resources == RDMA_MAX_RESP_RES ? RTE_MIN(resp_res, id->resp_res) : resp_res;
	return 0;
}

static int
accept_connection(struct trd_id *id, const struct rdma_conn_param *p)
{
	struct cm_rep rep = {.qpn = qpn_of(id, p),
			     .psn = id->rq_psn,
			     .ack_delay = ACK_DELAY,
			     .flow_control = p->flow_control != 0,
			     .rnr_retry = p->rnr_retry_count,
			     .srq = srq_of(id, p)};
	int err;

	if (p->private_data_len > sizeof(rep.private_data))
		return too_long("accept", p->private_data_len, sizeof(rep.private_data));
	trd_lock();
	/* The port may have gone since. */
	err = id->dev == NULL ? ENODEV : accept_depths(id, p);
	trd_unlock();
	id->flow_control = p->flow_control != 0;
	if (err == 0 && id->v.qp != NULL)
		err = trd_qp_connect(id);
	if (err != 0)
		return err;
	rep.resp_res = id->resp_res;
	rep.init_depth = id->init_depth;
	if (p->private_data_len != 0)
		memcpy(rep.private_data, p->private_data, p->private_data_len);
	trd_lock();
	if (id->conn != NULL) {
		(void)trd_core(id->dev);
		err = -tcm_accept(id->conn, &rep);
	} else {
		err = ENODEV;
	}
	answered(id);
	trd_unlock();
	return err;
}

int
tp_rdma_accept(struct rdma_cm_id *v, struct rdma_conn_param *param)
{
	struct trd_id *id = trd_id_of(v);
	const struct rdma_conn_param *p = param != NULL ? param : &defaults;
	int err;

	if (!id->passive || id->state != TRD_CONNECT)
		return trd_fail(EINVAL);
	if (v->ps == RDMA_PS_UDP) {
		err = accept_datagram(id, p);
		/* A datagram's peer says no word more. */
		return err != 0 ? trd_fail(err) : 0;
	}
	err = accept_connection(id, p);
	if (err != 0)
		return trd_fail(err);
	return trd_finish(id);
}

static int
reject_locked(struct trd_id *id, uint16_t reason, const void *data, uint8_t len)
{
	struct cm_sidr_rep no = {.status = CM_SIDR_REJECT};

	if (id->conn == NULL)
		return EINVAL;
	(void)trd_core(id->dev);
	answered(id);
	if (id->v.ps != RDMA_PS_UDP)
		return -tcm_reject(id->conn, reason, NULL, 0, data, len);
	if (len != 0)
		memcpy(no.private_data, data, len);
	return -tcm_sidr_answer(id->conn, &no);
}

int
tp_rdma_reject(struct rdma_cm_id *v, const void *private_data, uint8_t len)
{
	return trd_reject(v, CM_REJ_CONSUMER, private_data, len);
}

int
trd_reject(struct rdma_cm_id *v, uint16_t reason, const void *private_data, uint8_t len)
{
	struct trd_id *id = trd_id_of(v);
	uint32_t max = v->ps == RDMA_PS_UDP ? CM_SIDR_REP_PRIVATE : CM_REJ_PRIVATE;
	int err;

	if (len > max)
		return trd_fail(too_long("reject", len, max));
	trd_lock();
	err = reject_locked(id, reason, private_data, len);
	if (err == 0)
		id->state = TRD_DONE;
	trd_unlock();
	return err != 0 ? trd_fail(err) : 0;
}

/* --- the end --- */

int
tp_rdma_notify(struct rdma_cm_id *v, enum ibv_event_type event)
{
	struct trd_id *id = trd_id_of(v);
	int rc = -EINVAL;

	if (event != IBV_EVENT_COMM_EST)
		return trd_fail(EINVAL);
	trd_lock();
	if (id->conn != NULL) {
		(void)trd_core(id->dev);
		/* It may have become so in the meantime. */
		rc = id->conn->state == TCM_ESTABLISHED ? 0 : tcm_established(id->conn);
	}
	trd_unlock();
	return rc != 0 ? trd_fail(-rc) : 0;
}

int
tp_rdma_disconnect(struct rdma_cm_id *v)
{
	struct trd_id *id = trd_id_of(v);
	bool begun = false;
	int err = trd_qp_error(id);

	if (err != 0)
		return trd_fail(err);
	trd_lock();
	if (id->conn == NULL) {
		err = EINVAL;
	} else {
		(void)trd_core(id->dev);
		/* Where the peer was first, there is nothing left to say. */
		begun = tcm_disconnect(id->conn, NULL, 0) == 0;
	}
	trd_unlock();
	if (err != 0)
		return trd_fail(err);
	return begun ? trd_finish(id) : 0;
}
