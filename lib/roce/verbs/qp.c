/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs (10.2.4, 10.3): making, changing, asking, destroying. */
#include <errno.h>

#include "lib/roce/net/net.h"
#include "verbs.h"
#include "qp_attr.h"

#define SPORT_MIN 0xc000u

static struct troce_qp *
qp_of(struct ibv_qp *qp)
{
	return (struct troce_qp *)qp;
}

/* Each capability against its limit. */
static int
cap_check(struct troce_dev *dev, const struct ibv_qp_cap *cap, bool srq)
{
	const struct ibv_device_attr *d = &dev->attr;
	const struct {
		const char *name;
		uint32_t value, max;
	} caps[] = {
		{"max_send_wr", cap->max_send_wr, (uint32_t)d->max_qp_wr},
		{"max_send_sge", cap->max_send_sge, (uint32_t)d->max_sge},
		{"max_inline_data", cap->max_inline_data, dev->max_inline},
		/* 11.2.5.1: not looked at when the queue pair receives from a shared queue */
		{"max_recv_wr", srq ? 0 : cap->max_recv_wr, (uint32_t)d->max_qp_wr},
		{"max_recv_sge", srq ? 0 : cap->max_recv_sge, (uint32_t)d->max_sge},
	};

	for (unsigned int i = 0; i < RTE_DIM(caps); i++) {
		if (caps[i].value > caps[i].max)
			return TROCE_REFUSE(dev, EINVAL, "%s %u is not in 0..%u", caps[i].name, caps[i].value,
					    caps[i].max);
	}
	return 0;
}

static int
type_check(struct troce_dev *dev, const struct ibv_qp_init_attr *a)
{
	switch ((int)a->qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
		if (dev->mode == TP_ROCE_OFF)
			return TROCE_REFUSE(dev, ENOTSUP, "RoCE is off, there are no queue pairs with a transport");
		return 0;
	case IBV_QPT_RAW_PACKET: break;
	default:
		return TROCE_REFUSE(dev, EOPNOTSUPP,
				    "queue pair type %d is none of %d (RC), %d (UC), %d (UD), %d (raw packet)",
				    (int)a->qp_type, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET);
	}
	if (dev->ib != NULL || dev->prov->create_flow == NULL)
		return TROCE_REFUSE(dev, EOPNOTSUPP,
				    "provider %s has no raw packet queue pairs here, the Ethernet port of a card has",
				    dev->prov->name);
	if (a->srq != NULL)
		return TROCE_REFUSE(dev, EINVAL,
				    "a raw packet queue pair has a receive queue of its own, no shared one");
	return 0;
}

static int
tso_check(const struct troce_dev *dev, enum ibv_qp_type type, uint16_t max_tso_header)
{
	if (max_tso_header == 0 || (type == IBV_QPT_UD && (dev->attr.device_cap_flags & TP_ROCE_DEVICE_UD_TSO) != 0) ||
	    (type == IBV_QPT_RAW_PACKET && dev->max_tso != 0))
		return 0;
	return TROCE_REFUSE(dev, EOPNOTSUPP,
			    "large sends are for datagrams of InfiniBand and for raw packets, on cards that have them");
}

static int
create_check(struct troce_dev *dev, const struct ibv_qp_init_attr *a, const struct troce_qp_more *more)
{
	const struct ibv_context *ctx = &dev->vctx.context;
	int err = type_check(dev, a);

	if (err == 0)
		err = tso_check(dev, a->qp_type, more->max_tso_header);
	if (err != 0)
		return err;
	if (a->send_cq == NULL || a->recv_cq == NULL)
		return TROCE_REFUSE(dev, EINVAL, "a queue pair needs a %s completion queue",
				    a->send_cq == NULL ? "send" : "receive");
	if (a->send_cq->context != ctx || a->recv_cq->context != ctx || (a->srq != NULL && a->srq->context != ctx))
		return TROCE_REFUSE(dev, EINVAL,
				    "a queue pair's completion queues and shared receive queue are of its port");
	return cap_check(dev, &a->cap, a->srq != NULL);
}

/* What is asked of the home: queues have an entry, and there is none that a shared one replaces. */
static void
cap_init(struct ibv_qp_cap *cap, bool srq)
{
	cap->max_send_wr = RTE_MAX(cap->max_send_wr, 1u);
	cap->max_send_sge = RTE_MAX(cap->max_send_sge, 1u);
	cap->max_recv_wr = srq ? 0 : RTE_MAX(cap->max_recv_wr, 1u);
	cap->max_recv_sge = srq ? 0 : RTE_MAX(cap->max_recv_sge, 1u);
}

/* Counts a queue pair in or out where it is used. */
static void
count(struct troce_qp *qp, int by)
{
	struct troce_dev *dev = troce_dev_of(qp->v.context);

	dev->qps += (unsigned int)by;
	((struct troce_pd *)qp->v.pd)->refs += (unsigned int)by;
	((struct troce_cq *)qp->v.send_cq)->refs += (unsigned int)by;
	((struct troce_cq *)qp->v.recv_cq)->refs += (unsigned int)by;
	if (qp->v.srq != NULL)
		((struct troce_srq *)qp->v.srq)->refs += (unsigned int)by;
}

struct ibv_qp *
troce_qp_make(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, const struct troce_qp_more *more)
{
	struct troce_dev *dev = troce_dev_of(pd->context);
	struct troce_qp *qp;
	int err = create_check(dev, attr, more);

	if (err != 0) {
		errno = err;
		return NULL;
	}
	qp = troce_obj_alloc(dev, dev->prov->qp_size, sizeof(*qp));
	if (qp == NULL)
		return NULL;
	qp->v.context = pd->context;
	qp->v.qp_context = attr->qp_context;
	qp->v.pd = pd;
	qp->v.send_cq = attr->send_cq;
	qp->v.recv_cq = attr->recv_cq;
	qp->v.srq = attr->srq;
	qp->v.qp_type = attr->qp_type;
	pthread_mutex_init(&qp->v.mutex, NULL);
	pthread_cond_init(&qp->v.cond, NULL);
	qp->init = *attr;
	qp->v.qp_num = more->qpn;
	qp->role = more->role;
	qp->guest = more->guest;
	qp->max_tso_header = more->max_tso_header;
	if (qp->role == TROCE_QP_PLAIN)
		cap_init(&qp->init.cap, attr->srq != NULL);
	SLIST_INIT(&qp->groups);
	troce_lock(dev);
	err = troce_room(dev, "queue pairs", dev->qps, dev->attr.max_qp);
	if (err == 0)
		err = dev->prov->create_qp(qp);
	if (err == 0) {
		qp->v.handle = qp->v.qp_num;
		count(qp, 1);
		attr->cap = qp->init.cap;
	}
	troce_unlock(dev);
	return troce_made(qp, err);
}

struct ibv_qp *
tp_roce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return troce_qp_make(pd, attr, &(struct troce_qp_more){0});
}

static int
ex_check(struct troce_dev *dev, const struct ibv_qp_init_attr_ex *a)
{
	const uint32_t mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;

	if (a->comp_mask != mask || a->pd == NULL)
		return TROCE_REFUSE(dev, EINVAL, "comp_mask 0x%x is not 0x%x, or there is no protection domain",
				    a->comp_mask, mask);
	return 0;
}

struct ibv_qp *
tp_roce_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr plain = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
	};
	struct ibv_qp *qp;
	int err = ex_check(troce_dev_of(ctx), attr);

	if (err != 0) {
		errno = err;
		return NULL;
	}
	qp = troce_qp_make(attr->pd, &plain, &(struct troce_qp_more){.max_tso_header = attr->max_tso_header});
	attr->cap = plain.cap;
	return qp;
}

int
tp_roce_destroy_qp(struct ibv_qp *ibqp)
{
	struct troce_qp *qp = qp_of(ibqp);
	struct troce_dev *dev = troce_dev_of(ibqp->context);
	int err;

	troce_lock(dev);
	if (qp->refs != 0)
		err = TROCE_REFUSE(dev, EBUSY, "queue pair 0x%x %s %u %s", ibqp->qp_num,
				   ibqp->qp_type == IBV_QPT_UD ? "is attached to" : "has", qp->refs,
				   ibqp->qp_type == IBV_QPT_UD ? "multicast group(s)" : "steering rule(s)");
	else
		err = dev->prov->destroy_qp(qp);
	if (err == 0) {
		count(qp, -1);
		if (qp->table != NULL)
			qp->table->parents--;
		troce_async_discard(dev, qp);
	}
	troce_unlock(dev);
	if (err != 0)
		return err;
	troce_settle(&ibqp->mutex, &ibqp->cond, &ibqp->events_completed, &qp->async_events);
	troce_obj_free(qp);
	return 0;
}

/* Judges the change in the state that the queue pair is in now. */
static int
judge(const struct troce_qp *qp, const struct ibv_qp_attr *attr, int mask, enum ibv_qp_state *from,
      enum ibv_qp_state *to)
{
	*from = qp->v.state;
	*to = (mask & IBV_QP_STATE) != 0 ? attr->qp_state : *from;
	return troce_qp_attr_check(qp, *from, *to, attr, mask);
}

static void
forget(struct troce_qp *qp)
{
	qp->attr = (struct ibv_qp_attr){0};
	qp->path = (struct troce_path){0};
	qp->sport = qp->service = 0;
	qp->no_credits = false;
}

/* With the port's lock. A change that the home refuses leaves no trace. */
static int
change(struct troce_qp *qp, const struct ibv_qp_attr *attr, int mask, enum ibv_qp_state from, enum ibv_qp_state to,
       const struct troce_path *path)
{
	struct troce_dev *dev = troce_dev_of(qp->v.context);
	struct ibv_qp_attr old_attr = qp->attr;
	struct troce_path old_path = qp->path;
	int err;

	troce_qp_attr_merge(&qp->attr, attr, mask);
	if ((mask & IBV_QP_AV) != 0)
		qp->path = *path;
	err = dev->prov->modify_qp(qp, attr, mask, from, to);
	if (err != 0) {
		qp->attr = old_attr;
		qp->path = old_path;
		return err;
	}
	if (to == IBV_QPS_RESET)
		forget(qp);
	/*
	 * A home that works on while this returns says itself where the queue pair is: in error already, perhaps. But what was
	 * reset is, whatever it has heard of the time before.
	 */
	if (to == IBV_QPS_RESET || (from != to && qp->v.state == from))
		qp->v.state = to;
	return 0;
}

/* The UDP source port of a path: the application's, or by the numbers of both queue pairs. */
static uint16_t
sport_of(const struct troce_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	uint32_t remote = (mask & IBV_QP_DEST_QPN) != 0 ? attr->dest_qp_num : qp->attr.dest_qp_num;

	return qp->sport != 0 ? qp->sport : troce_sport(attr->ah_attr.grh.flow_label, qp->v.qp_num, remote);
}

int
tp_roce_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask)
{
	struct troce_qp *qp = qp_of(ibqp);
	struct troce_dev *dev = troce_dev_of(ibqp->context);
	struct troce_path path = {0};
	enum ibv_qp_state from, to;
	int err;

	troce_lock(dev);
	/* The subnet manager may have changed the MTU. */
	if (dev->ib != NULL && (attr_mask & IBV_QP_PATH_MTU) != 0)
		(void)dev->prov->query_port(dev, &dev->port);
	err = judge(qp, attr, attr_mask, &from, &to);
	if (err == 0 && (attr_mask & IBV_QP_AV) != 0) {
		uint16_t sport = sport_of(qp, attr, attr_mask);

		/* the state may change while the neighbour is asked */
		troce_unlock(dev);
		err = troce_path_wait(dev, &attr->ah_attr, sport, qp->service, &path);
		troce_lock(dev);
		if (err == 0)
			err = judge(qp, attr, attr_mask, &from, &to);
	}
	if (err == 0)
		err = change(qp, attr, attr_mask, from, to, &path);
	troce_unlock(dev);
	return err;
}

int
tp_roce_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	struct troce_qp *qp = qp_of(ibqp);
	struct troce_dev *dev = troce_dev_of(ibqp->context);
	int err = 0;

	/* the mask says what the caller needs at least; everything is known */
	(void)attr_mask;
	troce_lock(dev);
	*attr = qp->attr;
	attr->qp_state = ibqp->state;
	attr->cap = qp->init.cap;
	attr->path_mig_state = IBV_MIG_MIGRATED;
	if (dev->prov->query_qp != NULL)
		err = dev->prov->query_qp(qp, attr);
	attr->cur_qp_state = attr->qp_state;
	*init_attr = qp->init;
	troce_unlock(dev);
	return err;
}

int
tp_roce_set_udp_sport(struct ibv_qp *ibqp, uint16_t port)
{
	struct troce_qp *qp = qp_of(ibqp);
	struct troce_dev *dev = troce_dev_of(ibqp->context);
	int err = 0;

	troce_lock(dev);
	if (port < SPORT_MIN)
		err = TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x: UDP source port %u is not in %u..65535", ibqp->qp_num,
				   port, SPORT_MIN);
	else if (ibqp->state != IBV_QPS_RESET && ibqp->state != IBV_QPS_INIT)
		err = TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x: the UDP source port is set before RTR, not in %s",
				   ibqp->qp_num, troce_qp_state_name(ibqp->state));
	else
		qp->sport = port;
	troce_unlock(dev);
	return err;
}
