/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Events of connections and their channels: made, queued, taken back. */
#include <stdlib.h>
#include <string.h>

#include "rdma_priv.h"

struct rdma_event_channel *
tp_rdma_create_event_channel(void)
{
	struct trd_channel *ch = calloc(1, sizeof(*ch));
	int err;

	if (ch == NULL)
		return NULL;
	err = troce_bell_open(&ch->bell);
	if (err != 0) {
		TROCE_LOG(ERR, "no descriptor for an event channel: %s", strerror(err));
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
	struct trd_channel *ch = trd_channel_of(channel);

	troce_bell_close(&ch->bell);
	free(ch);
}

/* --- in --- */

struct trd_event *
trd_event_new(struct trd_id *id, enum rdma_cm_event_type type, int status)
{
	struct trd_event *e = calloc(1, sizeof(*e));

	if (e == NULL) {
		TROCE_LOG(ERR, "no memory for an event, %s is lost", tp_rdma_event_str(type));
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
		troce_bell_ring(&ch->bell);
}

void
trd_event_post(struct trd_event *e, struct trd_id *on)
{
	queue(trd_channel_of(on->v.channel), e);
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
	struct trd_channel *ch = trd_channel_of(id->v.channel);
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
		troce_bell_hush(&ch->bell);
}

void
trd_events_forget(struct trd_id *id, const struct trd_group *g)
{
	struct trd_event *e;

	TAILQ_FOREACH(e, &trd_channel_of(id->v.channel)->events, next)
	{
		if (e->group == g)
			e->group = NULL;
	}
}

void
trd_events_move(struct trd_id *id, struct trd_channel *to)
{
	struct trd_channel *from = trd_channel_of(id->v.channel);
	struct trd_event *e, *after;

	if (from == to)
		return;
	for (e = TAILQ_FIRST(&from->events); e != NULL; e = after) {
		after = TAILQ_NEXT(e, next);
		if (e->id != id)
			continue;
		TAILQ_REMOVE(&from->events, e, next);
		queue(to, e);
		/* Of a request that nobody has fetched, the new id hears by the same channel. */
		if (e->v.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			trd_events_move(trd_id_of(e->v.id), to);
			e->v.id->channel = &to->v;
			after = TAILQ_FIRST(&from->events);
		}
	}
	if (TAILQ_EMPTY(&from->events))
		troce_bell_hush(&from->bell);
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
