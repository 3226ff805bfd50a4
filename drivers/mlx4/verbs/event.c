/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the card tells about the objects of a port [CP 9.3]. Both kinds of events come in the interrupt thread: the
 * asynchronous ones by the core, completions by a vector of the port's own. An object cannot go while it is told about.
 */
#include <errno.h>
#include <unistd.h>

#include <rte_interrupts.h>

#include "verbs.h"

static void
qp_event(struct mlx4_roce *r, const struct mlx4_async_event *e, enum ibv_event_type type)
{
	uint32_t qpn = prm_get(e->eqe, MLX4_EQE_QPN);
	struct mlx4_roce_qp *q;

	pthread_mutex_lock(&r->tables);
	q = r->qp_of[qpn & (r->num_qps - 1)];
	if (q != NULL && q->qpn == qpn && e->seq >= q->created_seq) {
		bool error =
			type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR || type == IBV_EVENT_QP_ACCESS_ERR;

		/* It may have been reset, and be on its way up again, before this thread came to its error. */
		if (error && e->seq >= q->reset_seq && q->q.v.state != IBV_QPS_RESET)
			q->q.v.state = IBV_QPS_ERR;
		troce_async_event(r->dev, type, q);
	}
	pthread_mutex_unlock(&r->tables);
}

void
mlx4_roce_qp_forget(struct mlx4_roce_qp *q)
{
	const uint64_t seq = mlx4_events_seq(q->home->hca);

	pthread_mutex_lock(&q->home->tables);
	q->reset_seq = seq;
	pthread_mutex_unlock(&q->home->tables);
}

static void
srq_event(struct mlx4_roce *r, const uint8_t *eqe, enum ibv_event_type type)
{
	uint32_t srqn = prm_get(eqe, MLX4_EQE_SRQN);
	struct mlx4_roce_srq *s;

	pthread_mutex_lock(&r->tables);
	s = r->srq_of[srqn & (r->num_srqs - 1)];
	if (s != NULL && s->hw.srqn == srqn)
		troce_async_event(r->dev, type, s);
	pthread_mutex_unlock(&r->tables);
}

static void
cq_error(struct mlx4_roce *r, const uint8_t *eqe)
{
	uint32_t cqn = prm_get(eqe, MLX4_EQE_CQN);
	struct mlx4_roce_cq *c;

	pthread_mutex_lock(&r->tables);
	c = r->cq_of[cqn & (r->num_cqs - 1)];
	if (c != NULL && c->cqn == cqn)
		troce_async_event(r->dev, IBV_EVENT_CQ_ERR, c);
	pthread_mutex_unlock(&r->tables);
}

static void
port_event(struct mlx4_roce *r, const uint8_t *eqe)
{
	bool up = prm_get(eqe, MLX4_EQE_SUBTYPE) == MLX4_PORT_CHANGE_ACTIVE;

	troce_async_event(r->dev, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, NULL);
}

/* What the subnet manager changed. */
static void
manager_event(struct mlx4_roce *r, const uint8_t *eqe)
{
	static const struct {
		uint32_t bit;
		enum ibv_event_type type;
	} changes[] = {
		{MLX4_MNG_LID, IBV_EVENT_LID_CHANGE},
		{MLX4_MNG_SM_LID | MLX4_MNG_SM_SL, IBV_EVENT_SM_CHANGE},
		{MLX4_MNG_GID_PREFIX, IBV_EVENT_GID_CHANGE},
		{MLX4_MNG_REREGISTER, IBV_EVENT_CLIENT_REREGISTER},
	};
	uint32_t changed = prm_get(eqe, MLX4_EQE_MNG_CHANGED);
	unsigned int i;

	switch (prm_get(eqe, MLX4_EQE_SUBTYPE)) {
	case MLX4_PORT_MNG_GUID: troce_async_event(r->dev, IBV_EVENT_GID_CHANGE, NULL); break;
	case MLX4_PORT_MNG_PKEY: troce_async_event(r->dev, IBV_EVENT_PKEY_CHANGE, NULL); break;
	case MLX4_PORT_MNG_INFO:
		if ((changed & MLX4_MNG_LID) != 0)
			atomic_store(&r->lid, prm_get(eqe, MLX4_EQE_MNG_LID));
		for (i = 0; i < RTE_DIM(changes); i++)
			if ((changed & changes[i].bit) != 0)
				troce_async_event(r->dev, changes[i].type, NULL);
		break;
	default: break;
	}
}

static void
on_async(struct mlx4_hca *hca, unsigned int port, const struct mlx4_async_event *e, void *arg)
{
	struct mlx4_roce *r = arg;
	const uint8_t *eqe = e->eqe;

	switch (e->type) {
	case MLX4_EVENT_COMM_EST: qp_event(r, e, IBV_EVENT_COMM_EST); break;
	case MLX4_EVENT_SQ_DRAINED: qp_event(r, e, IBV_EVENT_SQ_DRAINED); break;
	case MLX4_EVENT_SRQ_LAST_WQE: qp_event(r, e, IBV_EVENT_QP_LAST_WQE_REACHED); break;
	case MLX4_EVENT_WQ_CATAS: qp_event(r, e, IBV_EVENT_QP_FATAL); break;
	case MLX4_EVENT_WQ_INVAL_REQ: qp_event(r, e, IBV_EVENT_QP_REQ_ERR); break;
	case MLX4_EVENT_WQ_ACCESS: qp_event(r, e, IBV_EVENT_QP_ACCESS_ERR); break;
	case MLX4_EVENT_SRQ_CATAS: srq_event(r, eqe, IBV_EVENT_SRQ_ERR); break;
	case MLX4_EVENT_SRQ_LIMIT: srq_event(r, eqe, IBV_EVENT_SRQ_LIMIT_REACHED); break;
	case MLX4_EVENT_CQ_ERROR: cq_error(r, eqe); break;
	case MLX4_EVENT_PORT_CHANGE: port_event(r, eqe); break;
	case MLX4_EVENT_PORT_MNG: manager_event(r, eqe); break;
	case MLX4_EVENT_LOCAL_CATAS: mlx4_roce_dead(r); break;
	default: break;
	}
}

void
mlx4_roce_dead(struct mlx4_roce *r)
{
	struct mlx4_roce_srq *s;
	struct mlx4_roce_qp *q;
	struct mlx4_roce_cq *c;
	bool told = r->dead;

	r->dead = true;
	pthread_mutex_lock(&r->tables);
	LIST_FOREACH(q, &r->qps, next)
	{
		q->sq_room = q->rq_room = 0;
		if (q->q.v.state != IBV_QPS_RESET)
			q->q.v.state = IBV_QPS_ERR;
	}
	LIST_FOREACH(s, &r->srqs, next)
	s->refuse = true;
	LIST_FOREACH(c, &r->cqs, next)
	{
		c->dead = true;
		if (c->c.v.channel != NULL && !told)
			troce_cq_event(&c->c);
	}
	pthread_mutex_unlock(&r->tables);
	if (!told)
		troce_async_event(r->dev, IBV_EVENT_DEVICE_FATAL, NULL);
}

/* --- completions ------------------------------------------------------------------------------------------- */

static void
on_completion(void *arg, uint32_t cqn)
{
	struct mlx4_roce *r = arg;
	struct mlx4_roce_cq *c;

	pthread_mutex_lock(&r->tables);
	c = r->cq_of[cqn & (r->num_cqs - 1)];
	if (c != NULL && c->cqn == cqn) {
		/* The next arming counts as a new one [DP 2.4]. */
		atomic_fetch_add_explicit(&c->arm_sn, 1, memory_order_relaxed);
		troce_cq_event(&c->c);
	}
	pthread_mutex_unlock(&r->tables);
}

static void
on_vector(void *arg)
{
	struct mlx4_roce *r = arg;
	uint64_t n;

	/* The count does not matter, the queue is read until it is empty. */
	if (read(rte_intr_fd_get(r->comp_intr), &n, sizeof(n)) < 0 && errno != EAGAIN)
		TROCE_LOG(ERR, "%s: cannot read the completion vector: %s", r->dev->where, strerror(errno));
	mlx4_comp_eq_rearm(r->hca, (unsigned int)r->vector, on_completion, r);
}

static int
vector_connect(struct mlx4_roce *r)
{
	int fd, rc;

	r->vector = mlx4_verbs_vector(r->hca, r->port);
	if (r->vector < 0)
		return 0;
	r->comp_intr = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	if (r->comp_intr == NULL)
		return -ENOMEM;
	fd = rte_intr_efds_index_get(r->hca->bus->intr, r->vector);
	rte_intr_fd_set(r->comp_intr, fd);
	rte_intr_type_set(r->comp_intr, RTE_INTR_HANDLE_VDEV);
	rc = rte_intr_callback_register(r->comp_intr, on_vector, r);
	if (rc != 0) {
		rte_intr_instance_free(r->comp_intr);
		r->comp_intr = NULL;
		return rc;
	}
	/* Arms the event queue, which nobody looked at before. */
	mlx4_comp_eq_rearm(r->hca, (unsigned int)r->vector, on_completion, r);
	return 0;
}

int
mlx4_roce_events_start(struct mlx4_roce *r)
{
	int rc = vector_connect(r);

	if (rc != 0) {
		TROCE_LOG(ERR, "%s: no completion events: %s", r->dev->where, strerror(-rc));
		return rc;
	}
	mlx4_hca_on_event(r->hca, r->port, MLX4_CLIENT_ROCE, on_async, r);
	return 0;
}

void
mlx4_roce_events_stop(struct mlx4_roce *r)
{
	mlx4_hca_on_event(r->hca, r->port, MLX4_CLIENT_ROCE, NULL, NULL);
	if (r->comp_intr == NULL)
		return;
	rte_intr_callback_unregister_sync(r->comp_intr, on_vector, r);
	rte_intr_instance_free(r->comp_intr);
	r->comp_intr = NULL;
}
