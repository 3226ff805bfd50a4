/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Events of connections: waited for, fetched, given back. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#include "rdma_guest.h"
#include "rdma_priv.h"

#define LOOK_MS 10 /* how often a thread that waits looks whether it must drive a port itself */

static struct trd_event *
fetch(struct trd_channel *ch)
{
	struct trd_event *e;

	trd_lock();
	e = TAILQ_FIRST(&ch->events);
	if (e != NULL) {
		TAILQ_REMOVE(&ch->events, e, next);
		if (TAILQ_EMPTY(&ch->events))
			troce_bell_hush(&ch->bell);
		e->id->delivered++;
	}
	trd_unlock();
	return e;
}

/* The peer has accepted: the queue pair is made ready before the peer is told so. */
static void
respond(struct trd_event *e)
{
	struct trd_id *id = e->id;
	int err;

	if (id->v.qp == NULL)
		return;
	err = trd_qp_connect(id);
	if (err == 0 && tp_rdma_establish(&id->v) == 0) {
		e->v.event = RDMA_CM_EVENT_ESTABLISHED;
		return;
	}
	if (err != 0)
		(void)tp_rdma_reject(&id->v, NULL, 0);
	e->v.event = RDMA_CM_EVENT_CONNECT_ERROR;
	e->v.status = -(err != 0 ? err : errno);
}

static void
attach(struct trd_event *e)
{
	struct trd_id *id = e->id;
	int err = 0;

	if (e->group == NULL)
		return;
	if (id->v.qp != NULL)
		err = tp_roce_attach_mcast(id->v.qp, &e->group->av.grh.dgid, 0);
	if (err == 0) {
		e->group->attached = id->v.qp != NULL;
		return;
	}
	e->v.event = RDMA_CM_EVENT_MULTICAST_ERROR;
	e->v.status = -err;
}

/* What librdmacm does for the application before it sees an event. */
static void
prepare(struct trd_event *e)
{
	switch (e->v.event) {
	case RDMA_CM_EVENT_CONNECT_RESPONSE: respond(e); break;
	case RDMA_CM_EVENT_MULTICAST_JOIN: attach(e); break;
	case RDMA_CM_EVENT_REJECTED: (void)trd_qp_error(e->id); break;
	default: break;
	}
}

/* --- waiting --- */

/* Ports that no other thread drives are driven. How many: 0: others do it all; -1: the caller would have to, and cannot. */
static int
drive_ports(void)
{
	struct troce_dev *devs[RTE_MAX_ETHPORTS];
	struct troce_cm *cm;
	unsigned int n = 0;
	int driven = 0;

	trd_lock();
	TAILQ_FOREACH(cm, &trd_cms, next)
	{
		if (troce_needs_work(cm->dev))
			devs[n++] = cm->dev;
	}
	trd_unlock();
	for (unsigned int i = 0; i < n; i++)
		driven += troce_let_work(devs[i]) == 0;
	return n != 0 && driven == 0 ? -1 : driven;
}

static bool
blocks(const struct trd_channel *ch)
{
	return (fcntl(ch->v.fd, F_GETFL) & O_NONBLOCK) == 0;
}

/* 0: look again; -1 and errno */
static int
wait_some(struct trd_channel *ch)
{
	struct pollfd p = {.fd = ch->v.fd, .events = POLLIN};
	int driven;

	if (!blocks(ch))
		return trd_fail(EAGAIN);
	driven = drive_ports();
	if (driven < 0)
		return trd_fail(EAGAIN);
	if (driven == 0 && poll(&p, 1, LOOK_MS) < 0)
		return -1;
	return 0;
}

int
trd_event_now(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct trd_event *e = fetch(trd_channel_of(channel));

	if (e == NULL)
		return EAGAIN;
	prepare(e);
	*event = &e->v;
	return 0;
}

int
tp_rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct trd_channel *ch = trd_channel_of(channel);
	struct trd_event *e;

	for (e = fetch(ch); e == NULL; e = fetch(ch)) {
		if (wait_some(ch) != 0)
			return -1;
	}
	prepare(e);
	*event = &e->v;
	return 0;
}

int
tp_rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct trd_event *e = (struct trd_event *)event;

	if (event == NULL)
		return trd_fail(EINVAL);
	trd_lock();
	e->id->acked++;
	trd_signal();
	trd_unlock();
	free(e);
	return 0;
}

void
trd_event_give(struct rdma_cm_event *event)
{
	struct trd_event *e = (struct trd_event *)event;
	struct trd_id *to = trd_id_of(event->id);

	trd_lock();
	e->id->acked++;
	to->delivered++;
	e->id = to;
	trd_signal();
	trd_unlock();
}

static int
result(const struct rdma_cm_event *e)
{
	if (e->event == RDMA_CM_EVENT_REJECTED)
		return ECONNREFUSED;
	return e->status < 0 ? -e->status : e->status != 0 ? EPROTO : 0;
}

int
trd_finish(struct trd_id *id)
{
	int err;

	if (!id->sync)
		return 0;
	if (id->v.event != NULL) {
		(void)tp_rdma_ack_cm_event(id->v.event);
		id->v.event = NULL;
	}
	if (tp_rdma_get_cm_event(id->v.channel, &id->v.event) != 0)
		return -1;
	err = result(id->v.event);
	return err != 0 ? trd_fail(err) : 0;
}
