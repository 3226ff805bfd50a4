/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The queue pair of an id: made with it, and brought up by what the two ends agreed on. */
#include "rdma_priv.h"
#include "tp_rdma.h"

/*
 * 655.36 ms (9.7.5.2.8): a peer that asked for a few repetitions only waits for seconds, until whoever just learnt of the connection
 * posts what receives. It is what Linux's connection manager sets.
 */
#define MIN_RNR_TIMER 0u

/* --- completion queues that the application does not bring --- */

static struct ibv_cq *
make_cq(struct trd_id *id, uint32_t entries, struct ibv_comp_channel **channel)
{
	struct ibv_context *ctx = id->v.verbs;
	struct ibv_cq *cq;

	*channel = tp_roce_create_comp_channel(ctx);
	if (*channel == NULL)
		return NULL;
	cq = tp_roce_create_cq(ctx, (int)RTE_MAX(entries, 1u), id, *channel, 0);
	if (cq == NULL) {
		(void)tp_roce_destroy_comp_channel(*channel);
		*channel = NULL;
	}
	return cq;
}

static void
free_cqs(struct trd_id *id)
{
	if (id->v.recv_cq != NULL && id->v.recv_cq_channel != NULL) {
		(void)tp_roce_destroy_cq(id->v.recv_cq);
		(void)tp_roce_destroy_comp_channel(id->v.recv_cq_channel);
	}
	if (id->v.send_cq != NULL && id->v.send_cq_channel != NULL) {
		(void)tp_roce_destroy_cq(id->v.send_cq);
		(void)tp_roce_destroy_comp_channel(id->v.send_cq_channel);
	}
	id->v.recv_cq = id->v.send_cq = NULL;
	id->v.recv_cq_channel = id->v.send_cq_channel = NULL;
}

static int
find_cqs(struct trd_id *id, struct ibv_qp_init_attr *init)
{
	if (init->send_cq == NULL) {
		init->send_cq = id->v.send_cq = make_cq(id, init->cap.max_send_wr, &id->v.send_cq_channel);
		if (init->send_cq == NULL)
			return errno;
	}
	if (init->recv_cq == NULL) {
		init->recv_cq = id->v.recv_cq = make_cq(id, init->cap.max_recv_wr, &id->v.recv_cq_channel);
		if (init->recv_cq == NULL)
			return errno;
	}
	return 0;
}

/* --- the domain of those that name none: one a port, while there are such queue pairs --- */

static struct ibv_pd *
take_pd(struct trd_id *id)
{
	struct troce_cm *cm = id->dev->cm;
	struct ibv_pd *pd;

	trd_lock();
	if (cm->pd == NULL)
		cm->pd = tp_roce_alloc_pd(id->v.verbs);
	pd = cm->pd;
	cm->pd_users += pd != NULL;
	trd_unlock();
	id->own_pd = pd != NULL;
	return pd;
}

static void
drop_pd(struct trd_id *id)
{
	struct troce_cm *cm;

	if (!id->own_pd)
		return;
	id->own_pd = false;
	trd_lock();
	cm = id->dev != NULL ? id->dev->cm : NULL;
	/* Memory that was registered in it keeps it. */
	if (cm != NULL && --cm->pd_users == 0 && tp_roce_dealloc_pd(cm->pd) == 0)
		cm->pd = NULL;
	trd_unlock();
}

/* --- states --- */

static void
init_attr(const struct trd_id *id, struct ibv_qp_attr *a, int *mask)
{
	*a = (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1};
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (id->v.qp_type == IBV_QPT_UD) {
		a->qkey = RDMA_UDP_QKEY;
		*mask |= IBV_QP_QKEY;
		return;
	}
	a->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (id->resp_res != 0)
		a->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	*mask |= IBV_QP_ACCESS_FLAGS;
}

static void
rtr_attr(const struct trd_id *id, struct ibv_qp_attr *a, int *mask)
{
	*a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR};
	*mask = IBV_QP_STATE;
	if (id->v.qp_type == IBV_QPT_UD)
		return;
	a->ah_attr = id->av;
	a->path_mtu = id->mtu;
	a->dest_qp_num = id->dest_qpn;
	a->rq_psn = id->rq_psn;
	*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (id->v.qp_type == IBV_QPT_RC) {
		a->max_dest_rd_atomic = id->resp_res;
		a->min_rnr_timer = MIN_RNR_TIMER;
		*mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
}

static void
rts_attr(const struct trd_id *id, struct ibv_qp_attr *a, int *mask)
{
	*a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .sq_psn = id->sq_psn};
	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (id->v.qp_type == IBV_QPT_RC) {
		a->timeout = id->timeout;
		a->retry_cnt = id->retry;
		a->rnr_retry = id->rnr_retry;
		a->max_rd_atomic = id->init_depth;
		*mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	}
}

static int
attr_for(const struct trd_id *id, enum ibv_qp_state state, struct ibv_qp_attr *a, int *mask)
{
	switch (state) {
	case IBV_QPS_INIT: init_attr(id, a, mask); break;
	case IBV_QPS_RTR: rtr_attr(id, a, mask); break;
	case IBV_QPS_RTS: rts_attr(id, a, mask); break;
	default: return EINVAL;
	}
	return 0;
}

int
tp_rdma_init_qp_attr(struct rdma_cm_id *v, struct ibv_qp_attr *attr, int *attr_mask)
{
	int err = attr_for(trd_id_of(v), attr->qp_state, attr, attr_mask);

	return err != 0 ? trd_fail(err) : 0;
}

static int
change(struct trd_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr a;
	int mask, err = attr_for(id, state, &a, &mask);

	return err != 0 ? err : tp_roce_modify_qp(id->v.qp, &a, mask);
}

int
trd_qp_connect(struct trd_id *id)
{
	const struct rdma_addr *addr = &id->v.route.addr;
	struct troce_qp *qp = (struct troce_qp *)id->v.qp;
	/* of the connection's ports */
	uint16_t sport = tp_roce_udp_sport(trd_port(&addr->src_addr), trd_port(&addr->dst_addr));
	/* Rights depend on what was agreed on: INIT once more. */
	int err = change(id, IBV_QPS_INIT);

	if (err == 0)
		err = tp_roce_set_udp_sport(id->v.qp, sport);
	qp->service = trd_service(id);
	qp->no_credits = !id->flow_control;
	if (err == 0)
		err = change(id, IBV_QPS_RTR);
	if (err == 0)
		err = change(id, IBV_QPS_RTS);
	return err;
}

int
trd_qp_error(struct trd_id *id)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};

	if (id->v.qp == NULL || id->v.qp_type == IBV_QPT_UD)
		return 0;
	return tp_roce_modify_qp(id->v.qp, &a, IBV_QP_STATE);
}

/* Of datagrams everything is known at once; a connection's waits for its peer. */
static int
bring_up(struct trd_id *id)
{
	int err = change(id, IBV_QPS_INIT);

	if (err == 0 && id->v.qp_type == IBV_QPT_UD)
		err = change(id, IBV_QPS_RTR);
	if (err == 0 && id->v.qp_type == IBV_QPT_UD)
		err = change(id, IBV_QPS_RTS);
	return err;
}

/* --- calls --- */

static int
create_check(const struct trd_id *id, const struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	if (id->v.qp != NULL || id->dev == NULL) {
		TROCE_LOG(ERR, "an id takes a queue pair %s",
			  id->v.qp != NULL ? "once" : "when it belongs to a port: bind or resolve its address first");
		return EINVAL;
	}
	if (pd != NULL && pd->context != id->v.verbs) {
		TROCE_LOG(ERR, "the protection domain is not of port %u, as the id is", id->dev->port_id);
		return EINVAL;
	}
	if ((id->v.ps == RDMA_PS_UDP) != (init->qp_type == IBV_QPT_UD)) {
		TROCE_LOG(ERR, "queue pair type %d does not fit port space 0x%x", init->qp_type, id->v.ps);
		return EINVAL;
	}
	return 0;
}

int
tp_rdma_create_qp(struct rdma_cm_id *v, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct trd_id *id = trd_id_of(v);
	int err = create_check(id, pd, init);

	if (err != 0)
		return trd_fail(err);
	if (pd == NULL) {
		pd = take_pd(id);
		if (pd == NULL)
			return -1;
	}
	err = find_cqs(id, init);
	if (err != 0)
		goto err_cqs;
	v->qp = tp_roce_create_qp(pd, init);
	if (v->qp == NULL) {
		err = errno;
		goto err_cqs;
	}
	v->qp_type = init->qp_type;
	v->pd = pd;
	v->srq = init->srq;
	err = bring_up(id);
	if (err != 0)
		goto err_qp;
	return 0;

err_qp:
	(void)tp_roce_destroy_qp(v->qp);
	v->qp = NULL;
	v->pd = NULL;
err_cqs:
	free_cqs(id);
	drop_pd(id);
	return trd_fail(err);
}

int
tp_rdma_create_qp_pooled(struct rdma_cm_id *v, struct tp_roce_qp_pool *pool)
{
	struct trd_id *id = trd_id_of(v);
	struct ibv_qp *qp = tp_roce_qp_pool_get(pool);
	struct ibv_qp_init_attr init;
	int err;

	if (qp == NULL)
		return -1;
	init.qp_type = qp->qp_type;
	err = create_check(id, qp->pd, &init);
	if (err != 0) {
		tp_roce_qp_pool_put(pool, qp);
		return trd_fail(err);
	}
	id->pool = pool;
	v->qp = qp;
	v->qp_type = qp->qp_type;
	v->pd = qp->pd;
	v->srq = qp->srq;
	return 0;
}

void
tp_rdma_destroy_qp(struct rdma_cm_id *v)
{
	struct trd_id *id = trd_id_of(v);
	struct trd_group *g;

	if (v->qp == NULL)
		return;
	TAILQ_FOREACH(g, &id->groups, next)
	{
		if (g->attached)
			(void)tp_roce_detach_mcast(v->qp, &g->av.grh.dgid, 0);
		g->attached = false;
	}
	if (id->pool != NULL)
		tp_roce_qp_pool_put(id->pool, v->qp);
	else
		(void)tp_roce_destroy_qp(v->qp);
	id->pool = NULL;
	v->qp = NULL;
	v->pd = NULL;
	free_cqs(id);
	drop_pd(id);
}
