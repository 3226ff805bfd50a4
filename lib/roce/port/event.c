/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Asynchronous events of a port (11.6.3). They come from any thread, also from one that polls, so that a fixed store of
 * entries takes them: no allocation. What is destroyed takes its events along that nobody fetched, and waits until those
 * that were fetched are acknowledged.
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_tailq.h>

#include "front.h"

#define MAX_EVENTS 1024u

struct event {
	TAILQ_ENTRY(event) next;
	enum ibv_event_type type;
	void *obj; /* NULL: the port's */
};

TAILQ_HEAD(events, event);

struct troce_async {
	pthread_mutex_t lock;
	pthread_cond_t left; /* a guest has */
	struct troce_bell bell;
	struct events waiting, unused;
	uint64_t lost;
	struct event store[MAX_EVENTS];
};

enum kind { KIND_PORT, KIND_CQ, KIND_QP, KIND_SRQ };

static enum kind
kind_of(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR: return KIND_CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED: return KIND_QP;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED: return KIND_SRQ;
	default: return KIND_PORT;
	}
}

int
troce_async_init(struct troce_dev *dev)
{
	struct troce_async *a = calloc(1, sizeof(*a));
	int err;

	if (a == NULL)
		return ENOMEM;
	err = troce_bell_open(&a->bell);
	if (err != 0) {
		free(a);
		return err;
	}
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->left, NULL);
	TAILQ_INIT(&a->waiting);
	TAILQ_INIT(&a->unused);
	TAILQ_INIT(&dev->guests);
	for (unsigned int i = 0; i < MAX_EVENTS; i++)
		TAILQ_INSERT_TAIL(&a->unused, &a->store[i], next);
	dev->async = a;
	dev->vctx.context.async_fd = a->bell.fd;
	return 0;
}

void
troce_async_fini(struct troce_dev *dev)
{
	troce_bell_close(&dev->async->bell);
	pthread_cond_destroy(&dev->async->left);
	pthread_mutex_destroy(&dev->async->lock);
	free(dev->async);
	dev->async = NULL;
}

static void
sides_event(struct troce_dev *dev, enum ibv_event_type type)
{
	for (unsigned int i = 0; i < TROCE_SIDES; i++) {
		const struct troce_side_ops *ops = dev->side[i].ops;

		if (ops != NULL && ops->port_event != NULL)
			ops->port_event(dev, type);
	}
}

int
troce_guest_add(struct troce_dev *dev, struct troce_guest *g)
{
	int err = 0;

	pthread_mutex_lock(&dev->async->lock);
	if (dev->closing)
		err = ENODEV;
	else
		TAILQ_INSERT_TAIL(&dev->guests, g, next);
	pthread_mutex_unlock(&dev->async->lock);
	return err;
}

void
troce_guest_del(struct troce_dev *dev, struct troce_guest *g)
{
	pthread_mutex_lock(&dev->async->lock);
	TAILQ_REMOVE(&dev->guests, g, next);
	pthread_cond_broadcast(&dev->async->left);
	pthread_mutex_unlock(&dev->async->lock);
}

void
troce_guests_leave(struct troce_dev *dev)
{
	struct troce_async *a = dev->async;
	struct troce_guest *g;

	pthread_mutex_lock(&a->lock);
	dev->closing = true;
	TAILQ_FOREACH(g, &dev->guests, next)
	g->leave(g);
	while (!TAILQ_EMPTY(&dev->guests))
		pthread_cond_wait(&a->left, &a->lock);
	pthread_mutex_unlock(&a->lock);
}

void
troce_guests_welcome(struct troce_dev *dev)
{
	pthread_mutex_lock(&dev->async->lock);
	dev->closing = false;
	pthread_mutex_unlock(&dev->async->lock);
}

/* What is a guest's goes to it alone, what is the port's to all. False: the event is nobody else's. */
static bool
guests_event(struct troce_dev *dev, enum ibv_event_type type, void *obj)
{
	struct troce_guest *g = NULL;

	switch (obj == NULL ? KIND_PORT : kind_of(type)) {
	case KIND_CQ: g = ((struct troce_cq *)obj)->guest; break;
	case KIND_QP: g = ((struct troce_qp *)obj)->guest; break;
	case KIND_SRQ: g = ((struct troce_srq *)obj)->guest; break;
	case KIND_PORT: TAILQ_FOREACH(g, &dev->guests, next) g->async(g, type, NULL); break;
	}
	if (g == NULL)
		return true;
	g->async(g, type, obj);
	return false;
}

void
troce_async_event(struct troce_dev *dev, enum ibv_event_type type, void *obj)
{
	struct troce_async *a = dev->async;
	struct event *e, *last;

	if (obj == NULL)
		sides_event(dev, type);
	if (type == IBV_EVENT_DEVICE_FATAL)
		troce_status(dev, TP_ROCE_ADAPTER_DOWN);
	pthread_mutex_lock(&a->lock);
	if (!guests_event(dev, type, obj))
		goto out;
	last = TAILQ_LAST(&a->waiting, events);
	/* said twice in a row is said once: nobody may be listening */
	if (last != NULL && last->type == type && last->obj == obj)
		goto out;
	e = TAILQ_FIRST(&a->unused);
	if (e == NULL) {
		if (a->lost++ == 0)
			TROCE_LOG(WARNING, "%s: %u asynchronous events wait, event %d and later ones are lost",
				  dev->where, MAX_EVENTS, type);
		goto out;
	}
	TAILQ_REMOVE(&a->unused, e, next);
	e->type = type;
	e->obj = obj;
	TAILQ_INSERT_TAIL(&a->waiting, e, next);
	if (last == NULL)
		troce_bell_ring(&a->bell);
out:
	pthread_mutex_unlock(&a->lock);
}

void
troce_async_discard(struct troce_dev *dev, const void *obj)
{
	struct troce_async *a = dev->async;
	struct event *e, *tmp;

	pthread_mutex_lock(&a->lock);
	RTE_TAILQ_FOREACH_SAFE(e, &a->waiting, next, tmp)
	{
		if (e->obj != obj)
			continue;
		TAILQ_REMOVE(&a->waiting, e, next);
		TAILQ_INSERT_TAIL(&a->unused, e, next);
	}
	if (TAILQ_EMPTY(&a->waiting))
		troce_bell_hush(&a->bell);
	pthread_mutex_unlock(&a->lock);
}

uint64_t
troce_async_lost(struct troce_dev *dev)
{
	uint64_t lost;

	pthread_mutex_lock(&dev->async->lock);
	lost = dev->async->lost;
	pthread_mutex_unlock(&dev->async->lock);
	return lost;
}

/* The caller has the lock, so that the object cannot go between being taken out here and being counted. */
static void
hand_out(const struct event *e, struct ibv_async_event *out)
{
	out->event_type = e->type;
	switch (kind_of(e->type)) {
	case KIND_CQ:
		out->element.cq = e->obj;
		((struct troce_cq *)e->obj)->async_events++;
		break;
	case KIND_QP:
		out->element.qp = e->obj;
		((struct troce_qp *)e->obj)->async_events++;
		break;
	case KIND_SRQ:
		out->element.srq = e->obj;
		((struct troce_srq *)e->obj)->async_events++;
		break;
	case KIND_PORT: out->element.port_num = 1; break;
	}
}

int
tp_roce_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	struct troce_async *a = troce_dev_of(ctx)->async;
	struct event *e;

	do {
		if (troce_bell_wait(&a->bell) < 0)
			return -1;
		pthread_mutex_lock(&a->lock);
		e = TAILQ_FIRST(&a->waiting);
		if (e != NULL) {
			TAILQ_REMOVE(&a->waiting, e, next);
			hand_out(e, event);
			TAILQ_INSERT_HEAD(&a->unused, e, next);
			troce_bell_taken(&a->bell, TAILQ_EMPTY(&a->waiting));
		}
		pthread_mutex_unlock(&a->lock);
	} while (e == NULL); /* its object was destroyed meanwhile */
	return 0;
}

static void
acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	(*completed)++;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

void
tp_roce_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_srq *srq = event->element.srq;

	switch (kind_of(event->event_type)) {
	case KIND_CQ: acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed); break;
	case KIND_QP: acknowledge(&qp->mutex, &qp->cond, &qp->events_completed); break;
	case KIND_SRQ: acknowledge(&srq->mutex, &srq->cond, &srq->events_completed); break;
	case KIND_PORT: break;
	}
}
