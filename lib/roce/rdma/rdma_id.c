/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Identifiers of connections: their life, their local addresses, who listens. */
#include <stdlib.h>
#include <string.h>

#include <rte_random.h>
#include <rte_string_fns.h>

#include "rdma_guest.h"
#include "rdma_priv.h"

#define PORT_FIRST 49152u /* of those that are chosen (RFC 6335) */
#define PORT_TRIES 4096u
#define BACKLOG_MAX 1024u

int
tp_rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context, enum rdma_port_space ps)
{
	struct trd_id *id;

	if (ps != RDMA_PS_TCP && ps != RDMA_PS_UDP && ps != RDMA_PS_IB) {
		TROCE_LOG(ERR, "port space 0x%x is none of 0x%x (TCP), 0x%x (UDP), 0x%x (IB)", ps, RDMA_PS_TCP,
			  RDMA_PS_UDP, RDMA_PS_IB);
		return trd_fail(EOPNOTSUPP);
	}
	id = trd_id_new(ps, context);
	if (id == NULL)
		return trd_fail(ENOMEM);
	id->sync = channel == NULL;
	id->v.channel = channel != NULL ? channel : tp_rdma_create_event_channel();
	if (id->v.channel == NULL) {
		free(id);
		return -1;
	}
	trd_lock();
	TAILQ_INSERT_TAIL(&trd_ids, id, next);
	trd_unlock();
	*out = &id->v;
	return 0;
}

/* Requests that were fetched and not answered outlive their listener. */
static void
orphan(const struct trd_id *listener)
{
	struct trd_id *id;

	TAILQ_FOREACH(id, &trd_ids, next)
	{
		if (id->listener == listener)
			id->listener = NULL;
	}
}

int
tp_rdma_destroy_id(struct rdma_cm_id *v)
{
	struct trd_id *id = trd_id_of(v);
	struct rdma_event_channel *own = id->sync ? v->channel : NULL;

	if (v->qp != NULL) {
		TROCE_LOG(ERR, "the id still has queue pair 0x%x, destroy that first", v->qp->qp_num);
		return trd_fail(EBUSY);
	}
	if (v->event != NULL) {
		(void)tp_rdma_ack_cm_event(v->event);
		v->event = NULL;
	}
	trd_lock();
	trd_events_drop(id);
	while (id->acked != id->delivered)
		trd_wait_signal();
	/* Some may have come meanwhile. */
	trd_events_drop(id);
	orphan(id);
	trd_id_free(id);
	trd_unlock();
	if (own != NULL)
		tp_rdma_destroy_event_channel(own);
	return 0;
}

int
tp_rdma_migrate_id(struct rdma_cm_id *v, struct rdma_event_channel *channel)
{
	struct trd_id *id = trd_id_of(v);
	struct rdma_event_channel *was = v->channel, *to = channel;
	bool was_own = id->sync;

	if (to == NULL)
		to = tp_rdma_create_event_channel();
	if (to == NULL)
		return -1;
	trd_lock();
	trd_events_move(id, (struct trd_channel *)to);
	v->channel = to;
	id->sync = channel == NULL;
	trd_unlock();
	if (was_own)
		tp_rdma_destroy_event_channel(was);
	return 0;
}

int
tp_rdma_bind_port(struct rdma_cm_id *v, struct ibv_context *ctx)
{
	struct trd_id *id = trd_id_of(v);
	int err = 0;

	trd_lock();
	if (id->dev != NULL || id->state != TRD_IDLE) {
		err = EINVAL;
	} else {
		id->dev = troce_dev_of(ctx);
		v->verbs = ctx;
		v->port_num = 1;
	}
	trd_unlock();
	return err != 0 ? trd_fail(err) : 0;
}

/* --- local ports: one space for each of TCP, UDP, IB --- */

static bool
overlap(const struct sockaddr *a, const struct sockaddr *b)
{
	if (trd_addr_any(a) || trd_addr_any(b))
		return true;
	return trd_addr_equal(a, b);
}

/* An IPv6 id takes IPv4, too, unless it says no. */
static bool
of_one_family(const struct trd_id *id, const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET || id->afonly;
}

/* 12.7.2: a service is one id's; connections of one source port to several services do not disturb each other. */
static bool
taken(const struct trd_id *id, const struct sockaddr *addr, uint16_t port)
{
	const struct trd_id *o;

	TAILQ_FOREACH(o, &trd_ids, next)
	{
		if (o == id || o->passive || o->v.ps != id->v.ps || o->state == TRD_IDLE ||
		    trd_port(&o->v.route.addr.src_addr) != port || (o->reuse && id->reuse && o->state != TRD_LISTEN))
			continue;
		if (o->dev != NULL && id->dev != NULL && o->dev != id->dev)
			continue;
		if (o->v.route.addr.src_addr.sa_family != addr->sa_family && of_one_family(id, addr) &&
		    of_one_family(o, &o->v.route.addr.src_addr))
			continue;
		if (overlap(&o->v.route.addr.src_addr, addr))
			return true;
	}
	return false;
}

int
trd_port_bind(struct trd_id *id, struct sockaddr *addr)
{
	if (trd_port(addr) != 0)
		return taken(id, addr, trd_port(addr)) ? EADDRINUSE : 0;
	for (unsigned int i = 0; i < PORT_TRIES; i++) {
		uint16_t port = (uint16_t)(PORT_FIRST + rte_rand_max(65536 - PORT_FIRST));

		if (!taken(id, addr, port)) {
			trd_port_set(addr, port);
			return 0;
		}
	}
	return EADDRNOTAVAIL;
}

struct trd_id *
trd_listener(const struct troce_dev *dev, enum rdma_port_space ps, const struct sockaddr *addr)
{
	struct trd_id *id, *best = NULL;

	TAILQ_FOREACH(id, &trd_ids, next)
	{
		const struct sockaddr *a = &id->v.route.addr.src_addr;

		if (id->state != TRD_LISTEN || id->v.ps != ps || (id->dev != NULL && id->dev != dev) ||
		    trd_port(a) != trd_port(addr))
			continue;
		if (!trd_addr_any(a) && trd_addr_equal(a, addr))
			return id;
		/* As with sockets: the unspecified IPv6 address takes IPv4, too, unless the id says no. */
		if (trd_addr_any(a) && (a->sa_family == addr->sa_family || (a->sa_family == AF_INET6 && !id->afonly)))
			best = id;
	}
	return best;
}

/* The port that has the address; with the lock. */
static int
find_port(struct trd_id *id, const struct sockaddr *addr)
{
	struct troce_cm *cm;

	if (trd_addr_any(addr))
		return 0;
	if (id->dev != NULL)
		return trd_sgid(id->dev, addr) >= 0 ? 0 : EADDRNOTAVAIL;
	TAILQ_FOREACH(cm, &trd_cms, next)
	{
		if (trd_sgid(cm->dev, addr) < 0)
			continue;
		id->dev = cm->dev;
		id->v.verbs = &cm->dev->vctx.context;
		id->v.port_num = 1;
		return 0;
	}
	return EADDRNOTAVAIL;
}

static int
bind_locked(struct trd_id *id, const struct sockaddr *addr)
{
	struct sockaddr_storage local = {0};
	int err;

	if (id->state != TRD_IDLE)
		return EINVAL;
	memcpy(&local, addr, trd_addr_len(addr));
	err = find_port(id, addr);
	if (err == 0)
		err = trd_port_bind(id, (struct sockaddr *)&local);
	if (err != 0)
		return err;
	id->v.route.addr.src_storage = local;
	id->state = TRD_BOUND;
	return 0;
}

int
tp_rdma_bind_addr(struct rdma_cm_id *v, struct sockaddr *addr)
{
	int err;

	if (!trd_addr_ok(addr))
		return trd_fail(EAFNOSUPPORT);
	trd_lock();
	err = bind_locked(trd_id_of(v), addr);
	trd_unlock();
	return err != 0 ? trd_fail(err) : 0;
}

int
tp_rdma_listen(struct rdma_cm_id *v, int backlog)
{
	const struct sockaddr_in any = {.sin_family = AF_INET};
	struct trd_id *id = trd_id_of(v);
	int err = 0;

	if (backlog < 0 || backlog > (int)BACKLOG_MAX) {
		TROCE_LOG(ERR, "backlog %d is not in 0..%u", backlog, BACKLOG_MAX);
		return trd_fail(EINVAL);
	}
	trd_lock();
	if (id->state == TRD_IDLE)
		err = bind_locked(id, (const struct sockaddr *)&any);
	if (err == 0 && id->state != TRD_BOUND)
		err = EINVAL;
	/* Two ids may share a port (option REUSEADDR), but only one is asked. */
	if (err == 0 && taken(id, &v->route.addr.src_addr, trd_port(&v->route.addr.src_addr)) && !id->reuse)
		err = EADDRINUSE;
	if (err == 0) {
		id->backlog = backlog != 0 ? (unsigned int)backlog : BACKLOG_MAX;
		id->state = TRD_LISTEN;
	}
	trd_unlock();
	return err != 0 ? trd_fail(err) : 0;
}

int
tp_rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	struct trd_id *l = trd_id_of(listen);
	struct rdma_cm_event *event;

	if (!l->sync)
		return trd_fail(EINVAL);
	if (listen->event != NULL) {
		(void)tp_rdma_ack_cm_event(listen->event);
		listen->event = NULL;
	}
	if (tp_rdma_get_cm_event(listen->channel, &event) != 0)
		return -1;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST || event->status != 0) {
		int err = event->status < 0 ? -event->status : EINVAL;

		(void)tp_rdma_ack_cm_event(event);
		return trd_fail(err);
	}
	/* The event is the new id's from here on: the listener may go before it. */
	trd_event_give(event);
	if (tp_rdma_migrate_id(event->id, NULL) != 0)
		return -1;
	event->id->event = event;
	*id = event->id;
	return 0;
}

void
trd_view(struct rdma_cm_id *v, struct trd_view *view)
{
	struct trd_id *id = trd_id_of(v);
	const struct rdma_addr *a = &v->route.addr;

	*view = (struct trd_view){0};
	trd_lock();
	view->src = a->src_storage;
	view->dst = a->dst_storage;
	if (id->dev != NULL) {
		rte_strlcpy(view->device, id->dev->vctx.context.device->name, sizeof(view->device));
		view->node_guid = id->dev->attr.node_guid;
		view->port_num = v->port_num;
		view->sgid = a->addr.ibaddr.sgid;
		view->dgid = a->addr.ibaddr.dgid;
		view->path = id->path_rec;
		view->num_paths = (unsigned int)v->route.num_paths;
	}
	trd_unlock();
}

/* --- options --- */

__be16
tp_rdma_get_src_port(struct rdma_cm_id *id)
{
	return rte_cpu_to_be_16(trd_port(&id->route.addr.src_addr));
}

__be16
tp_rdma_get_dst_port(struct rdma_cm_id *id)
{
	return rte_cpu_to_be_16(trd_port(&id->route.addr.dst_addr));
}

static int
option(struct trd_id *id, int name, const void *val, size_t len)
{
	bool octet = name == RDMA_OPTION_ID_TOS || name == RDMA_OPTION_ID_ACK_TIMEOUT;
	uint8_t u8;
	int i;

	if (len != (octet ? sizeof(u8) : sizeof(i)))
		return EINVAL;
	memcpy(octet ? (void *)&u8 : (void *)&i, val, len);
	switch (name) {
	case RDMA_OPTION_ID_TOS: id->tos = u8; return 0;
	case RDMA_OPTION_ID_REUSEADDR: id->reuse = i != 0; return 0;
	case RDMA_OPTION_ID_AFONLY: id->afonly = i != 0; return 0;
	default:
		if (u8 > 31) {
			TROCE_LOG(ERR, "ACK time-out %u is not in 0..31", u8);
			return EINVAL;
		}
		id->ack_timeout = u8;
		return 0;
	}
}

int
tp_rdma_set_option(struct rdma_cm_id *v, int level, int optname, void *optval, size_t optlen)
{
	int err;

	if (level != RDMA_OPTION_ID || optname < RDMA_OPTION_ID_TOS || optname > RDMA_OPTION_ID_ACK_TIMEOUT)
		return trd_fail(ENOSYS);
	trd_lock();
	err = option(trd_id_of(v), optname, optval, optlen);
	trd_unlock();
	return err != 0 ? trd_fail(err) : 0;
}
