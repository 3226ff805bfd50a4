/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The control thread of an InfiniBand port with IPoIB on it, which does the interfaces' work. Management datagrams and events
 * are the business of the port's management service and its thread; here they are only noted.
 */
#include <unistd.h>

#include "device.h"
#include "lib/ipoib/iface/conn.h"
#include "tp_roce.h"

#define IDLE_US 200u  /* sleep of a control thread without work */
#define TELL_MS 1000u /* between two lines about packets that are too long, or of an unknown type */
#define LOOK_MS 5000u /* the port's state is asked for so often without an event */

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
	unsigned int i, n = RTE_MIN((unsigned int)d->attr.pkey_tbl_len, IPOIB_PKEYS);
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
	/* Bursts of a port that waits for its partition give buffers to the card, too: none runs until the queues are filled. */
	ipoib_publish(p, NULL);
	p->core.dirty = true;
	if (p->ready) {
		IPOIB_LOG(NOTICE, "port %u: queue pairs start again with P_Key index %d", p->port_id, index);
		ipoib_groups_stop(&p->core);
		ipoib_conns_close(&p->core);
		p->core.place.active = false;
		ipoib_queues_reset(p);
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

/* A burst of packets that are too long is one line. */
static void
tell_too_long(struct ipoib_port *p)
{
	uint64_t now = ipoib_now_ms(), packet;

	if (now < p->too_long_ms)
		return;
	packet = atomic_exchange_explicit(&p->core.too_long, 0, memory_order_relaxed);
	if (packet == 0)
		return;
	p->too_long_ms = now + TELL_MS;
	IPOIB_LOG(WARNING, "port %u: packet len %u > %u too long to send, dropping", p->port_id,
		  (unsigned int)(packet >> 32), (unsigned int)packet);
}

static void
tell_odd(struct ipoib_port *p)
{
	const struct ipoib_odd *odd = &p->core.odd;
	char begin[2 * sizeof(odd->begin) + 1];
	uint64_t now = ipoib_now_ms();
	size_t i;

	if (odd->len == 0 || now < p->odd_ms)
		return;
	for (i = 0; i < sizeof(odd->begin); i++)
		snprintf(begin + 2 * i, 3, "%02x", odd->begin[i]);
	IPOIB_LOG(
		WARNING,
		"port %u: packet of type 0x%04x, len %u, from QP 0x%06x of LID %u: not IPv4, IPv6 or ARP, dropping: %s",
		p->port_id, odd->type, odd->len, odd->qpn, odd->slid, begin);
	p->odd_ms = now + TELL_MS;
	p->core.odd.len = 0;
}

static unsigned int
port_work(struct ipoib_port *p)
{
	unsigned int done = ipoib_io_work(p);
	struct ipoib_view *v;

	ipoib_core_tick(&p->core, ipoib_now_ms());
	tell_too_long(p);
	tell_odd(p);
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

int
ipoib_worker_start(struct ipoib_device *d)
{
	int ret = tp_mad_service_listen(d->service, event_cb, d);

	if (ret != 0)
		return ret;
	ret = ipoib_thread_start(&d->thread, device_run, d);
	if (ret != 0)
		tp_mad_service_unlisten(d->service, event_cb, d);
	return ret;
}

void
ipoib_worker_stop(struct ipoib_device *d)
{
	atomic_store(&d->stop, true);
	pthread_join(d->thread, NULL);
	tp_mad_service_unlisten(d->service, event_cb, d);
}
