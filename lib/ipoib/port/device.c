/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * InfiniBand ports with IPoIB on them: opened with the first IPoIB port, closed with the last. Each has a control thread, which
 * does the interfaces' work; management datagrams and events are the business of the port's management service and its thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_string_fns.h>

#include "../mad/tp_mad_service.h"
#include "port.h"
#include "conn.h"
#include "tp_roce.h"

#define IDLE_US 200u /* sleep of a control thread without work */
#define PKEYS 128u
#define LOOK_MS 5000u /* the port's state is asked for so often without an event */

struct ipoib_device {
	TAILQ_ENTRY(ipoib_device) next;
	char name[TP_IPOIB_NAME];
	unsigned int refs;
	struct ibv_context *ctx;
	struct tp_mad_service *service;
	pthread_mutex_t lock; /* of ports, and of all their interfaces */
	TAILQ_HEAD(, ipoib_port) ports;
	pthread_t thread;
	_Atomic bool stop;
	_Atomic unsigned int wanting; /* calls that wait for the lock */
	uint64_t look_ms;
	_Atomic bool look, renew, pkeys_changed; /* events that came */
	/* The port as it was when it was last asked; of the partitions as many as were looked at. */
	struct ibv_port_attr attr;
	union ibv_gid gid;
	uint16_t pkeys[PKEYS];
	unsigned int pkeys_read;
};

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static TAILQ_HEAD(, ipoib_device) devices = TAILQ_HEAD_INITIALIZER(devices);

uint64_t
ipoib_now_ms(void)
{
	return rte_get_timer_cycles() / (rte_get_timer_hz() / 1000);
}

void
ipoib_device_lock(struct ipoib_device *d)
{
	atomic_fetch_add(&d->wanting, 1);
	pthread_mutex_lock(&d->lock);
	atomic_fetch_sub(&d->wanting, 1);
}
void
ipoib_device_unlock(struct ipoib_device *d)
{
	pthread_mutex_unlock(&d->lock);
}
struct ibv_context *
ipoib_device_ctx(struct ipoib_device *d)
{
	return d->ctx;
}
struct tp_sa *
ipoib_device_sa(struct ipoib_device *d)
{
	return tp_mad_service_sa(d->service);
}
const char *
ipoib_device_name(const struct ipoib_device *d)
{
	return d->name;
}

uint64_t
ipoib_device_guid(struct ipoib_device *d)
{
	union ibv_gid gid;

	return tp_roce_query_gid(d->ctx, 1, 0, &gid) == 0 ? rte_be_to_cpu_64(gid.global.interface_id) : 0;
}

/* --- the port's state --------------------------------------------------------------------------------------------------- */

static void
refresh(struct ipoib_device *d)
{
	if (tp_roce_query_port(d->ctx, 1, &d->attr) != 0 || tp_roce_query_gid(d->ctx, 1, 0, &d->gid) != 0)
		memset(&d->attr, 0, sizeof(d->attr));
	if (atomic_exchange(&d->pkeys_changed, false))
		d->pkeys_read = 0;
}

/* An entry is a command of the card: none is read twice, and none that is not needed. */
static uint16_t
pkey_at(struct ipoib_device *d, unsigned int i)
{
	for (; d->pkeys_read <= i; d->pkeys_read++) {
		__be16 be = 0;

		if (tp_roce_query_pkey(d->ctx, 1, (int)d->pkeys_read, &be) != 0)
			be = 0;
		d->pkeys[d->pkeys_read] = rte_be_to_cpu_16(be);
	}
	return d->pkeys[i];
}

/* Where a partition stands in the port's table: as full member, or else as partial one; -1: not there. */
static int
pkey_find(struct ipoib_device *d, uint16_t want, uint16_t *found)
{
	unsigned int i, n = RTE_MIN((unsigned int)d->attr.pkey_tbl_len, PKEYS);
	int partial = -1;

	*found = 0;
	for (i = 0; i < n; i++) {
		uint16_t pkey = pkey_at(d, i);

		if ((pkey & IB_PKEY_MASK) != (want & IB_PKEY_MASK))
			continue;
		*found = pkey;
		if ((pkey & IB_PKEY_FULL) != 0)
			return (int)i;
		partial = (int)i;
	}
	return partial;
}

/* The queue pairs follow the partition's place in the table; without one they stay where they are. */
static void
follow_pkey(struct ipoib_port *p, int index)
{
	if (index < 0 || (index == p->pkey_index && p->ready && !ipoib_queues_broken(p)))
		return;
	if (p->ready) {
		IPOIB_LOG(NOTICE, "port %u: queue pairs start again with P_Key index %d", p->port_id, index);
		ipoib_publish(p, NULL);
		ipoib_groups_stop(&p->core);
		ipoib_conns_close(&p->core);
		p->core.place.active = false;
		ipoib_queues_reset(p);
		p->core.dirty = true;
	}
	p->pkey_index = index;
	ipoib_queues_ready(p);
}

/* Width (1, 4, 8, 12 lanes by bits 0 to 3) times speed of a lane: what is left of it after the coding of lanes. */
static uint32_t
mbps(const struct ibv_port_attr *attr)
{
	static const struct {
		uint8_t code;
		uint32_t mbps;
	} lanes[] = {{1, 2000}, {2, 4000}, {4, 8000}, {8, 10000}, {16, 13636}, {32, 25000}};
	uint32_t lane = 0, width = 1;
	unsigned int i;

	for (i = 0; i < RTE_DIM(lanes); i++) {
		if (attr->active_speed == lanes[i].code)
			lane = lanes[i].mbps;
	}
	if (attr->active_width == 2)
		width = 4;
	else if (attr->active_width == 4)
		width = 8;
	else if (attr->active_width == 8)
		width = 12;
	return lane * width;
}

static void
look(struct ipoib_device *d, struct ipoib_port *p)
{
	struct ipoib_place place = {.qpn = p->qp->qp_num, .lid = p->core.place.lid, .lmc = p->core.place.lmc};
	int index;

	p->port_active = d->attr.state == IBV_PORT_ACTIVE;
	p->speed = mbps(&d->attr);
	index = p->port_active ? pkey_find(d, p->conf.pkey, &p->pkey_used) : -1;
	follow_pkey(p, index);
	place.active = index >= 0 && p->ready;
	/* Names stay while the link is away. */
	memcpy(place.gid, p->core.place.gid, sizeof(place.gid));
	if (place.active) {
		place.lid = d->attr.lid;
		place.lmc = d->attr.lmc;
		memcpy(place.gid, d->gid.raw, sizeof(place.gid));
	}
	ipoib_core_place(&p->core, &place);
}

void
ipoib_device_look(struct ipoib_device *d, struct ipoib_port *p)
{
	refresh(d);
	look(d, p);
}

/* In the service's thread, with its lock held: only noted. */
static void
event_cb(void *arg, const struct ibv_async_event *event)
{
	struct ipoib_device *d = arg;

	switch (event->event_type) {
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER: atomic_store(&d->renew, true); break;
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_PORT_ACTIVE: atomic_store(&d->pkeys_changed, true); /* fall through */
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_PORT_ERR: atomic_store(&d->look, true); break;
	default: break;
	}
}

static void
events(struct ipoib_device *d)
{
	bool renew = atomic_exchange(&d->renew, false), moved = atomic_exchange(&d->look, false);
	struct ipoib_port *p;

	if (!renew && !moved && ipoib_now_ms() < d->look_ms)
		return;
	d->look_ms = ipoib_now_ms() + LOOK_MS;
	refresh(d);
	TAILQ_FOREACH(p, &d->ports, next)
	{
		if (!p->started)
			continue;
		look(d, p);
		if (renew)
			ipoib_core_renew(&p->core);
	}
}

static unsigned int
port_work(struct ipoib_port *p)
{
	unsigned int done = ipoib_io_work(p);
	struct ipoib_view *v;

	ipoib_core_tick(&p->core, ipoib_now_ms());
	if (!p->core.dirty)
		return done;
	v = ipoib_view_make(&p->core);
	if (v == NULL) {
		p->core.dirty = true; /* again, when there is memory */
		return done;
	}
	ipoib_publish(p, v);
	ipoib_retired_free(p);
	return done + 1;
}

static void *
device_run(void *arg)
{
	struct ipoib_device *d = arg;

	while (!atomic_load(&d->stop)) {
		struct ipoib_port *p;
		unsigned int done = 0;

		pthread_mutex_lock(&d->lock);
		events(d);
		TAILQ_FOREACH(p, &d->ports, next)
		{
			if (p->started)
				done += port_work(p);
		}
		pthread_mutex_unlock(&d->lock);
		if (done == 0 || atomic_load(&d->wanting) != 0)
			usleep(IDLE_US);
	}
	return NULL;
}

/* --- life --------------------------------------------------------------------------------------------------------------- */

/* On any CPU: the thread that calls may be bound to that of an lcore. */
int
ipoib_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	cpu_set_t all;
	int cpu, err = pthread_attr_init(&attr);

	if (err != 0)
		return -err;
	CPU_ZERO(&all);
	for (cpu = 0; cpu < CPU_SETSIZE && cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		CPU_SET(cpu, &all);
	err = pthread_attr_setaffinity_np(&attr, sizeof(all), &all);
	if (err == 0)
		err = pthread_create(thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	return -err;
}

static int
device_open(struct ipoib_device *d)
{
	int ret;

	ret = tp_mad_service_open(d->name, &d->service);
	if (ret != 0)
		return ret;
	d->ctx = tp_mad_service_ctx(d->service);
	ret = tp_mad_service_listen(d->service, event_cb, d);
	if (ret != 0)
		goto err_service;
	ret = ipoib_thread_start(&d->thread, device_run, d);
	if (ret == 0)
		return 0;
	tp_mad_service_unlisten(d->service, event_cb, d);
err_service:
	tp_mad_service_close(d->service);
	return ret;
}

/* Recursive: the application's callback of a link change may ask for the link. */
static void
lock_init(struct ipoib_device *d)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&d->lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

struct ipoib_device *
ipoib_device_get(const char *name, int *err)
{
	struct ipoib_device *d;

	pthread_mutex_lock(&devices_lock);
	*err = 0;
	TAILQ_FOREACH(d, &devices, next)
	{
		if (strcmp(d->name, name) == 0)
			break;
	}
	if (d == NULL) {
		d = calloc(1, sizeof(*d));
		*err = -ENOMEM;
		if (d != NULL) {
			rte_strlcpy(d->name, name, sizeof(d->name));
			lock_init(d);
			TAILQ_INIT(&d->ports);
			*err = device_open(d);
			if (*err == 0)
				TAILQ_INSERT_TAIL(&devices, d, next);
		}
	}
	if (*err == 0) {
		d->refs++;
	} else if (d != NULL) {
		pthread_mutex_destroy(&d->lock);
		free(d);
		d = NULL;
	}
	pthread_mutex_unlock(&devices_lock);
	return d;
}

void
ipoib_device_put(struct ipoib_device *d)
{
	pthread_mutex_lock(&devices_lock);
	if (--d->refs == 0) {
		TAILQ_REMOVE(&devices, d, next);
		atomic_store(&d->stop, true);
		pthread_join(d->thread, NULL);
		tp_mad_service_unlisten(d->service, event_cb, d);
		tp_mad_service_close(d->service);
		pthread_mutex_destroy(&d->lock);
		free(d);
	}
	pthread_mutex_unlock(&devices_lock);
}

/* Cards' names end before the slash. */
static size_t
card_len(const char *device)
{
	const char *slash = strrchr(device, '/');

	return slash != NULL ? (size_t)(slash - device) : strlen(device);
}

int
ipoib_device_add(struct ipoib_device *d, struct ipoib_port *p)
{
	unsigned int of_port = 0, of_card = 0;
	struct ipoib_device *e;
	struct ipoib_port *q;
	int ret = 0;

	pthread_mutex_lock(&devices_lock);
	TAILQ_FOREACH(e, &devices, next)
	{
		if (card_len(e->name) != card_len(d->name) || strncmp(e->name, d->name, card_len(d->name)) != 0)
			continue;
		TAILQ_FOREACH(q, &e->ports, next)
		{
			of_card++;
			of_port += e == d;
			if (e == d && ((q->conf.pkey ^ p->conf.pkey) & IB_PKEY_MASK) == 0)
				ret = -EEXIST;
		}
	}
	if (ret == -EEXIST)
		IPOIB_LOG(ERR, "%s has an IPoIB port of P_Key 0x%04x", d->name, p->conf.pkey);
	else if (of_port >= TP_IPOIB_PORTS_PER_PORT || of_card >= TP_IPOIB_PORTS_PER_CARD)
		ret = -ENOSPC;
	if (ret == -ENOSPC)
		IPOIB_LOG(ERR, "%s has %u IPoIB ports, its card %u; %u and %u are the most", d->name, of_port, of_card,
			  TP_IPOIB_PORTS_PER_PORT, TP_IPOIB_PORTS_PER_CARD);
	if (ret == 0) {
		ipoib_device_lock(d);
		TAILQ_INSERT_TAIL(&d->ports, p, next);
		ipoib_device_unlock(d);
	}
	pthread_mutex_unlock(&devices_lock);
	return ret;
}

void
ipoib_device_del(struct ipoib_device *d, struct ipoib_port *p)
{
	pthread_mutex_lock(&devices_lock);
	ipoib_device_lock(d);
	TAILQ_REMOVE(&d->ports, p, next);
	ipoib_device_unlock(d);
	pthread_mutex_unlock(&devices_lock);
}
