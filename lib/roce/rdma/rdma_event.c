/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Events of connections: made, fetched, given back; waiting for them. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "rdma_priv.h"

#define LOOK_MS 10 /* how often a thread that waits looks whether it must drive a port itself */

static struct trd_channel *
channel_of(struct rdma_event_channel *c)
{
	return (struct trd_channel *)c;
}

struct rdma_event_channel *
tp_rdma_create_event_channel(void)
{
	struct trd_channel *ch = calloc(1, sizeof(*ch));
	int err;

	if (ch == NULL)
		return NULL;
	err = tp_roce_bell_open(&ch->bell);
	if (err != 0) {
		TP_ROCE_LOG(ERR, "no descriptor for an event channel: %s", strerror(err));
		free(ch);
		errno = err;
		return NULL;
	}
	TAILQ_INIT(&ch->events);
	ch->v.fd = ch->bell.fd;
	return &ch->v;
}

void
tp_rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct trd_channel *ch = channel_of(channel);

	tp_roce_bell_close(&ch->bell);
	free(ch);
}

/* --- in --- */

struct trd_event *
trd_event_new(struct trd_id *id, enum rdma_cm_event_type type, int status)
{
	struct trd_event *e = calloc(1, sizeof(*e));

	if (e == NULL) {
		TP_ROCE_LOG(ERR, "no memory for an event, %s is lost", tp_rdma_event_str(type));
		return NULL;
	}
	e->id = id;
	e->v.id = &id->v;
	e->v.event = type;
	e->v.status = status;
	return e;
}

void
trd_event_data(struct trd_event *e, const void *data, uint32_t len)
{
	memcpy(e->data, data, len);
	e->v.param.conn.private_data = e->data;
	e->v.param.conn.private_data_len = (uint8_t)len;
}

static void
queue(struct trd_channel *ch, struct trd_event *e)
{
	bool first = TAILQ_EMPTY(&ch->events);

	TAILQ_INSERT_TAIL(&ch->events, e, next);
	if (first)
		tp_roce_bell_ring(&ch->bell);
}

void
trd_event_post(struct trd_event *e, struct trd_id *on)
{
	queue(channel_of(on->v.channel), e);
}

void
trd_post(struct trd_id *id, enum rdma_cm_event_type type, int status)
{
	struct trd_event *e = trd_event_new(id, type, status);

	if (e != NULL)
		trd_event_post(e, id);
}

/* --- taken back --- */

void
trd_events_drop(struct trd_id *id)
{
	TAILQ_HEAD(, trd_event) mine = TAILQ_HEAD_INITIALIZER(mine);
	struct trd_channel *ch = channel_of(id->v.channel);
	struct trd_event *e, *next;

	for (e = TAILQ_FIRST(&ch->events); e != NULL; e = next) {
		next = TAILQ_NEXT(e, next);
		if (e->id != id)
			continue;
		TAILQ_REMOVE(&ch->events, e, next);
		TAILQ_INSERT_TAIL(&mine, e, next);
	}
	for (e = TAILQ_FIRST(&mine); e != NULL; e = next) {
		struct trd_id *child = e->v.event == RDMA_CM_EVENT_CONNECT_REQUEST ? trd_id_of(e->v.id) : NULL;

		next = TAILQ_NEXT(e, next);
		free(e);
		/* Nobody knows the id of this request; what it has heard since goes with it. */
		if (child != NULL) {
			trd_events_drop(child);
			trd_id_free(child);
		}
	}
	if (TAILQ_EMPTY(&ch->events))
		tp_roce_bell_hush(&ch->bell);
}

void
trd_events_forget(struct trd_id *id, const struct trd_group *g)
{
	struct trd_event *e;

	TAILQ_FOREACH(e, &channel_of(id->v.channel)->events, next)
	{
		if (e->group == g)
			e->group = NULL;
	}
}

void
trd_events_move(struct trd_id *id, struct trd_channel *to)
{
	struct trd_channel *from = channel_of(id->v.channel);
	struct trd_event *e, *after;

	for (e = TAILQ_FIRST(&from->events); e != NULL; e = after) {
		after = TAILQ_NEXT(e, next);
		if (e->id != id)
			continue;
		TAILQ_REMOVE(&from->events, e, next);
		queue(to, e);
	}
	if (TAILQ_EMPTY(&from->events))
		tp_roce_bell_hush(&from->bell);
}

/* --- out --- */

static struct trd_event *
fetch(struct trd_channel *ch)
{
	struct trd_event *e;

	trd_lock();
	e = TAILQ_FIRST(&ch->events);
	if (e != NULL) {
		TAILQ_REMOVE(&ch->events, e, next);
		if (TAILQ_EMPTY(&ch->events))
			tp_roce_bell_hush(&ch->bell);
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
	struct tp_roce_dev *devs[RTE_MAX_ETHPORTS];
	struct tp_roce_cm *cm;
	unsigned int n = 0;
	int driven = 0;

	trd_lock();
	TAILQ_FOREACH(cm, &trd_cms, next)
	{
		if (tp_roce_needs_work(cm->dev))
			devs[n++] = cm->dev;
	}
	trd_unlock();
	for (unsigned int i = 0; i < n; i++)
		driven += tp_roce_let_work(devs[i]) == 0;
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
tp_rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct trd_channel *ch = channel_of(channel);
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

const char *
tp_rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const words[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
		[RDMA_CM_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
		[RDMA_CM_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
		[RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
		[RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
		[RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
		[RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
		[RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
		[RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
		[RDMA_CM_EVENT_MULTICAST_JOIN] = "RDMA_CM_EVENT_MULTICAST_JOIN",
		[RDMA_CM_EVENT_MULTICAST_ERROR] = "RDMA_CM_EVENT_MULTICAST_ERROR",
		[RDMA_CM_EVENT_ADDR_CHANGE] = "RDMA_CM_EVENT_ADDR_CHANGE",
		[RDMA_CM_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT",
	};

	return (unsigned int)event < RTE_DIM(words) ? words[event] : "UNKNOWN EVENT";
}
