/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Event channels, ids and groups of guests. A channel of a guest is one of tp_rdma.h, whose descriptor the guest has, too. The
 * queue pairs of ids are the guest's own business, as a kernel leaves them to librdmacm.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_string_fns.h>

#include "cm.h"

#define ID_MAX 0xffffu   /* librdmacm's table of ids ends there */
#define UNREAD_MAX 64u   /* questions of an id whose answers nobody fetches */
#define DEVICE "rdma_cm" /* what such a connection is called */

uint32_t
share_ibdev(const char *name)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char(*names)[IBV_SYSFS_NAME_MAX];
	static uint32_t num;
	char(*all)[IBV_SYSFS_NAME_MAX];
	uint32_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < num && strcmp(names[i], name) != 0; i++)
		;
	all = i < num ? NULL : realloc(names, (num + 1) * sizeof(*names));
	if (all != NULL) {
		names = all;
		rte_strlcpy(names[num++], name, sizeof(*names));
	} else if (i == num) {
		i = UINT32_MAX; /* no memory: no device that there is */
	}
	pthread_mutex_unlock(&lock);
	return i;
}

/* --- channels --- */

int
share_do_cm_open(struct share_guest *s, struct share_call *c)
{
	struct rdma_event_channel *ch = tp_rdma_create_event_channel();

	int err;

	if (ch == NULL)
		return errno;
	err = share_fd_room(s, ch->fd);
	c->m->handle = err != 0 ? 0 : share_obj_new(s, SHARE_EVENTS, ch);
	if (c->m->handle == 0) {
		tp_rdma_destroy_event_channel(ch);
		return err != 0 ? err : ENOMEM;
	}
	if (!s->cm) {
		s->cm = true;
		pthread_mutex_lock(&s->share->lock);
		rte_strlcpy(s->name, DEVICE, sizeof(s->name));
		pthread_mutex_unlock(&s->share->lock);
	}
	c->out[c->num_out++] = ch->fd;
	return 0;
}

void
share_free_events(struct share_guest *s, struct share_obj *o)
{
	(void)s;
	tp_rdma_destroy_event_channel(o->obj);
}

/* With its ids, as a kernel at the end of the file. */
int
share_do_cm_close(struct share_guest *s, struct share_call *c)
{
	struct share_obj *o = share_obj_of(s, SHARE_EVENTS, c->m->handle);

	if (o == NULL)
		return EBADF;
	for (uint32_t i = 0; i < s->num_obj; i++) {
		struct share_obj *id = share_obj_of(s, SHARE_ID, i + 1);

		if (id == NULL || id->id.events != c->m->handle)
			continue;
		share_free_id(s, id);
		share_obj_drop(s, i + 1);
	}
	share_free_events(s, o);
	share_obj_drop(s, c->m->handle);
	return 0;
}

/* --- ids --- */

int
share_cm_id(const struct share_cm_call *k, uint32_t handle, struct share_obj **obj)
{
	struct share_obj *o = share_obj_of(k->s, SHARE_ID, handle);

	if (o == NULL)
		return ENOENT;
	*obj = o;
	return o->id.events == k->events ? 0 : EINVAL;
}

int
share_cm_room(const struct share_cm_call *k, const struct share_obj *o)
{
	if (o->id.unread < UNREAD_MAX)
		return 0;
	TROCE_LOG(ERR, "%s: process %d: id %u has %u events that nobody fetches, which is the limit", k->s->name,
		  k->s->pid, o->id.handle, o->id.unread);
	return ENOBUFS;
}

/* A place for an id; 0 and a line: there is none. */
static uint32_t
new_id(struct share_cm_call *k, struct rdma_cm_id *id, uint64_t uid)
{
	uint32_t handle = share_obj_room(k->s, SHARE_ID) != 0 ? 0 : share_obj_new(k->s, SHARE_ID, id);
	struct share_obj *o;

	if (handle > ID_MAX) {
		TROCE_LOG(ERR, "%s: process %d: number %u of an id is not in 1..%u", k->s->name, k->s->pid, handle,
			  ID_MAX);
		share_obj_drop(k->s, handle);
		return 0;
	}
	if (handle == 0)
		return 0;
	o = share_obj_of(k->s, SHARE_ID, handle);
	o->id.uid = uid;
	o->id.handle = handle;
	o->id.events = k->events;
	LIST_INIT(&o->id.joined);
	id->context = o;
	return handle;
}

/* What a queue pair of the id will be; -1: none that there is. */
static int
qp_type(uint16_t ps, uint8_t asked)
{
	switch (ps) {
	case RDMA_PS_TCP: return IBV_QPT_RC;
	case RDMA_PS_UDP: return IBV_QPT_UD;
	case RDMA_PS_IB: return asked == IBV_QPT_RC || asked == IBV_QPT_UC ? asked : -1;
	default: return -1;
	}
}

int
share_cm_create(struct share_cm_call *k)
{
	const struct ucma_abi_create_id *q = k->in;
	struct ucma_abi_create_id_resp *r = k->out;
	int type = qp_type(q->ps, q->qp_type);
	struct rdma_cm_id *id;

	if (type < 0)
		return EOPNOTSUPP;
	if (tp_rdma_create_id(k->channel, &id, NULL, (enum rdma_port_space)q->ps) != 0)
		return errno;
	id->qp_type = (enum ibv_qp_type)type;
	r->id = new_id(k, id, q->uid);
	if (r->id != 0)
		return 0;
	(void)tp_rdma_destroy_id(id);
	return ENOMEM;
}

void
share_free_joined(struct share_guest *s, struct share_obj *o)
{
	struct share_joined *j = o->obj;

	(void)s;
	LIST_REMOVE(j, next);
	free(j);
}

void
share_free_id(struct share_guest *s, struct share_obj *o)
{
	struct share_joined *j;

	while ((j = LIST_FIRST(&o->id.joined)) != NULL) {
		uint32_t handle = j->handle;

		share_free_joined(s, share_obj_of(s, SHARE_JOINED, handle));
		share_obj_drop(s, handle);
	}
	s->listening -= o->id.listens;
	/* Its events were given back when they were fetched, so this does not wait. */
	(void)tp_rdma_destroy_id(o->obj);
}

int
share_cm_destroy(struct share_cm_call *k)
{
	const struct ucma_abi_destroy_id *q = k->in;
	struct ucma_abi_destroy_id_resp *r = k->out;
	struct share_obj *o;
	int err = share_cm_id(k, q->id, &o);

	if (err != 0)
		return err;
	r->events_reported = o->id.reported;
	share_free_id(k->s, o);
	share_obj_drop(k->s, q->id);
	return 0;
}

/* From the channel whose number stands for its descriptor, to the one by which the command came. */
int
share_cm_migrate(struct share_cm_call *k)
{
	const struct ucma_abi_migrate_id *q = k->in;
	struct ucma_abi_migrate_resp *r = k->out;
	struct share_obj *o = share_obj_of(k->s, SHARE_ID, q->id);

	if (o == NULL)
		return ENOENT;
	if (o->id.events != q->fd)
		return EINVAL;
	if (tp_rdma_migrate_id(o->obj, k->channel) != 0)
		return errno;
	o->id.events = k->events;
	r->events_reported = o->id.reported;
	return 0;
}

/* --- groups --- */

static int
join(struct share_cm_call *k, uint32_t id, uint64_t uid, const struct sockaddr *addr, socklen_t len)
{
	struct ucma_abi_create_id_resp *r = k->out;
	struct share_joined *j;
	struct share_obj *o;
	uint32_t handle;
	int err = share_cm_id(k, id, &o);

	if (err == 0)
		err = share_obj_room(k->s, SHARE_JOINED);
	if (err != 0)
		return err;
	j = calloc(1, sizeof(*j));
	handle = j == NULL ? 0 : share_obj_new(k->s, SHARE_JOINED, j);
	if (handle == 0) {
		free(j);
		return ENOMEM;
	}
	*j = (struct share_joined){.id = o, .uid = uid, .serial = ++k->s->serial, .handle = handle};
	memcpy(&j->addr, addr, len);
	LIST_INSERT_HEAD(&o->id.joined, j, next);
	/* Events of a group that was left meanwhile are nobody's: a serial number is given once. */
	err = share_cm_room(k, o);
	if (err == 0 && tp_rdma_join_multicast(o->obj, (struct sockaddr *)&j->addr, (void *)(uintptr_t)j->serial) != 0)
		err = errno;
	if (err != 0) {
		share_free_joined(k->s, share_obj_of(k->s, SHARE_JOINED, handle));
		share_obj_drop(k->s, handle);
		return err;
	}
	o->id.unread++;
	r->id = handle;
	return 0;
}

int
share_cm_join(struct share_cm_call *k)
{
	const struct ucma_abi_join_mcast *q = k->in;
	const struct sockaddr *addr = (const struct sockaddr *)&q->addr;

	/* Who only sends is told the same way; it is the guest that attaches a queue pair, or does not. */
	if (q->join_flags != RDMA_MC_JOIN_FLAG_FULLMEMBER && q->join_flags != RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER)
		return EINVAL;
	if (q->addr_size != share_cm_addr_len(addr))
		return EINVAL;
	return join(k, q->id, q->uid, addr, q->addr_size);
}

int
share_cm_join_ip(struct share_cm_call *k)
{
	const struct ucma_abi_join_ip_mcast *q = k->in;
	const struct sockaddr *addr = (const struct sockaddr *)&q->addr;
	socklen_t len = share_cm_addr_len(addr);

	return len == 0 ? EINVAL : join(k, q->id, q->uid, addr, len);
}

int
share_cm_leave(struct share_cm_call *k)
{
	const struct ucma_abi_destroy_id *q = k->in;
	struct ucma_abi_destroy_id_resp *r = k->out;
	struct share_obj *o = share_obj_of(k->s, SHARE_JOINED, q->id);
	struct share_joined *j;
	int err;

	if (o == NULL)
		return ENOENT;
	j = o->obj;
	if (j->id->id.events != k->events)
		return EINVAL;
	err = tp_rdma_leave_multicast(j->id->obj, (struct sockaddr *)&j->addr) != 0 ? errno : 0;
	if (err != 0)
		return err;
	r->events_reported = j->reported;
	share_free_joined(k->s, o);
	share_obj_drop(k->s, q->id);
	return 0;
}

/* --- events --- */

static struct share_joined *
joined_of(const struct share_obj *id, uint64_t serial)
{
	struct share_joined *j;

	LIST_FOREACH(j, &id->id.joined, next)
	{
		if (j->serial == serial)
			break;
	}
	return j;
}

/* Of a request the guest hears by the id that listens. */
static bool
fill_request(struct share_cm_call *k, const struct rdma_cm_event *e, struct ucma_abi_event_resp *r)
{
	struct share_obj *listener = e->listen_id->context;

	share_cm_event_out(e, e->listen_id->qp_type == IBV_QPT_UD, r);
	e->id->qp_type = e->listen_id->qp_type;
	e->id->context = NULL;
	r->id = new_id(k, e->id, 0);
	if (r->id == 0)
		return false;
	r->uid = listener->id.uid;
	listener->id.reported++;
	return true;
}

/* What an id is told because it asked. */
static bool
answers(enum rdma_cm_event_type type)
{
	return type == RDMA_CM_EVENT_ADDR_RESOLVED || type == RDMA_CM_EVENT_ADDR_ERROR ||
	       type == RDMA_CM_EVENT_MULTICAST_JOIN || type == RDMA_CM_EVENT_MULTICAST_ERROR;
}

/* False: the guest does not hear of it. */
static bool
fill(struct share_cm_call *k, const struct rdma_cm_event *e, struct ucma_abi_event_resp *r)
{
	struct share_obj *o = e->id->context;
	struct share_joined *j;

	if (e->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return fill_request(k, e, r);
	share_cm_event_out(e, e->id->qp_type == IBV_QPT_UD, r);
	if (answers(e->event) && o->id.unread != 0)
		o->id.unread--;
	r->uid = o->id.uid;
	r->id = o->id.handle;
	if (e->event == RDMA_CM_EVENT_MULTICAST_JOIN) {
		j = joined_of(o, (uintptr_t)e->param.ud.private_data);
		if (j == NULL)
			return false;
		r->uid = j->uid;
		r->id = j->handle;
		j->reported++;
	}
	/* As in a kernel: what happens to a request before it is accepted, the accept says. */
	if (r->uid == 0)
		return false;
	o->id.reported++;
	return true;
}

int
share_cm_event(struct share_cm_call *k)
{
	struct rdma_cm_event *e;
	bool told;

	do {
		struct rdma_cm_id *nobody = NULL;
		int err = trd_event_now(k->channel, &e);

		if (err != 0)
			return err;
		memset(k->out, 0, sizeof(struct ucma_abi_event_resp));
		told = fill(k, e, k->out);
		if (!told && e->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			nobody = e->id;
		(void)tp_rdma_ack_cm_event(e);
		if (nobody != NULL)
			(void)tp_rdma_destroy_id(nobody);
	} while (!told);
	return 0;
}
