/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Who serves ports, the devices that stand for them, and which are open. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>

#include "front.h"

#define MAX_PROVIDERS 8u
#define MAX_IB_PORTS 64u

RTE_LOG_REGISTER(troce_logtype, lib.roce, NOTICE);
__thread struct troce_talk troce_talk;

static const struct troce_provider *providers[MAX_PROVIDERS + 1]; /* NULL behind the last */
/* They outlast lists and open ports, as pointers to devices are compared and kept. */
static struct ibv_device devices[RTE_MAX_ETHPORTS];
static struct ib_slot {
	struct ibv_device v;
	struct troce_ib_port port;
	bool there;
} ib_slots[MAX_IB_PORTS];
static TAILQ_HEAD(, troce_dev) open_devs = TAILQ_HEAD_INITIALIZER(open_devs);
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- providers -------------------------------------------------------------------------------------------------- */

void
troce_provider_register(const struct troce_provider *prov)
{
	const struct troce_provider **p = providers;

	pthread_mutex_lock(&registry_lock);
	while (*p != NULL)
		p++;
	if (p < providers + MAX_PROVIDERS)
		*p = prov;
	else
		TROCE_LOG(ERR, "provider %s: there are %u already, which is the limit", prov->name, MAX_PROVIDERS);
	pthread_mutex_unlock(&registry_lock);
}

const struct troce_provider *
troce_provider_find(uint16_t port_id, const char *name)
{
	const struct troce_provider *best = NULL;
	unsigned int best_score = 0;

	for (const struct troce_provider **p = providers; *p != NULL; p++) {
		unsigned int score;

		if (name != NULL && strcmp(name, (*p)->name) != 0)
			continue;
		score = (*p)->serves(port_id);
		if (score > best_score) {
			best = *p;
			best_score = score;
		}
	}
	return best;
}

struct troce_marks
troce_marks_of(const struct troce_dev *dev, bool v2, uint16_t service)
{
	struct troce_marks marks = {.dscp = -1};
	const struct troce_provider **p;

	for (p = providers; dev->ib == NULL && *p != NULL; p++) {
		if ((*p)->marks != NULL && (*p)->marks(dev->port_id, v2, service, &marks))
			break;
	}
	return marks;
}

uint64_t
troce_decided_flag(void)
{
	static const struct rte_mbuf_dynflag flag = {.name = "tp_decided"};
	int bit = rte_mbuf_dynflag_register(&flag);

	return bit < 0 ? 0 : RTE_BIT64(bit);
}

/* --- devices ---------------------------------------------------------------------------------------------------- */

static struct ibv_device *
device_fill(struct ibv_device *d, const char *name)
{
	d->node_type = IBV_NODE_CA;
	d->transport_type = IBV_TRANSPORT_IB;
	rte_strlcpy(d->name, name, sizeof(d->name));
	return d;
}

struct ibv_device *
troce_device_of(uint16_t port_id)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	if (rte_eth_dev_get_name_by_port(port_id, name) != 0)
		name[0] = 0;
	return device_fill(&devices[port_id], name);
}

static struct ib_slot *
slot_of(const struct troce_ib_port *port)
{
	return (struct ib_slot *)((uintptr_t)port - offsetof(struct ib_slot, port));
}

struct ibv_device *
troce_device_of_ib(const struct troce_ib_port *port)
{
	return device_fill(&slot_of(port)->v, port->name);
}

/* --- ports of InfiniBand ---------------------------------------------------------------------------------------- */

const struct troce_ib_port *
troce_ib_find(const char *name)
{
	for (unsigned int i = 0; i < MAX_IB_PORTS; i++) {
		if (ib_slots[i].there && strcmp(ib_slots[i].port.name, name) == 0)
			return &ib_slots[i].port;
	}
	return NULL;
}

int
troce_ib_add(const struct troce_ib_port *port)
{
	struct ib_slot *s = ib_slots;
	int err = 0;

	pthread_mutex_lock(&registry_lock);
	/* One whose port is gone may still be open. */
	while (s < ib_slots + MAX_IB_PORTS && (s->there || troce_open_find_ib(&s->port) != NULL))
		s++;
	if (troce_ib_find(port->name) != NULL) {
		err = EEXIST;
	} else if (s == ib_slots + MAX_IB_PORTS) {
		TROCE_LOG(ERR, "%s: there are %u InfiniBand ports already, which is the limit", port->name,
			  MAX_IB_PORTS);
		err = ENOSPC;
	} else {
		s->port = *port;
		s->there = true;
	}
	pthread_mutex_unlock(&registry_lock);
	return err;
}

void
troce_ib_del(const char *name)
{
	const struct troce_ib_port *port;

	pthread_mutex_lock(&registry_lock);
	port = troce_ib_find(name);
	if (port != NULL)
		slot_of(port)->there = false;
	pthread_mutex_unlock(&registry_lock);
}

/* --- open ports ------------------------------------------------------------------------------------------------- */

void
troce_open_begin(void)
{
	pthread_mutex_lock(&registry_lock);
}

void
troce_open_end(void)
{
	pthread_mutex_unlock(&registry_lock);
}

struct troce_dev *
troce_open_find(uint16_t port_id)
{
	struct troce_dev *dev;

	TAILQ_FOREACH(dev, &open_devs, next)
	{
		if (dev->port_id == port_id)
			return dev;
	}
	return NULL;
}

struct troce_dev *
troce_open_find_ib(const struct troce_ib_port *port)
{
	struct troce_dev *dev;

	TAILQ_FOREACH(dev, &open_devs, next)
	{
		if (dev->ib == port)
			return dev;
	}
	return NULL;
}

struct troce_dev *
troce_open_find_name(const char *device)
{
	struct troce_dev *dev;

	TAILQ_FOREACH(dev, &open_devs, next)
	{
		if (strcmp(dev->vctx.context.device->name, device) == 0)
			return dev;
	}
	return NULL;
}

/* Does not wait: the caller may have locks that an opening port wants. */
static void
each_locked(void (*fn)(struct troce_dev *dev, void *arg), void *arg)
{
	struct troce_dev *dev;

	TAILQ_FOREACH(dev, &open_devs, next)
	fn(dev, arg);
	pthread_mutex_unlock(&registry_lock);
}

void
troce_open_each(void (*fn)(struct troce_dev *dev, void *arg), void *arg)
{
	if (pthread_mutex_trylock(&registry_lock) == 0)
		each_locked(fn, arg);
}

void
troce_open_all(void (*fn)(struct troce_dev *dev, void *arg), void *arg)
{
	pthread_mutex_lock(&registry_lock);
	each_locked(fn, arg);
}

void
troce_open_add(struct troce_dev *dev)
{
	TAILQ_INSERT_TAIL(&open_devs, dev, next);
}

void
troce_open_remove(struct troce_dev *dev)
{
	TAILQ_REMOVE(&open_devs, dev, next);
}

struct ibv_device **
tp_roce_get_device_list(int *num)
{
	struct ibv_device **list = calloc(RTE_MAX_ETHPORTS + MAX_IB_PORTS + 1, sizeof(*list));
	unsigned int i;
	uint16_t port_id;
	int n = 0;

	if (list == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	troce_open_begin();
	RTE_ETH_FOREACH_DEV(port_id)
	{
		if (troce_provider_find(port_id, NULL) != NULL)
			list[n++] = troce_device_of(port_id);
	}
	for (i = 0; i < MAX_IB_PORTS; i++) {
		if (ib_slots[i].there)
			list[n++] = troce_device_of_ib(&ib_slots[i].port);
	}
	troce_open_end();
	if (num != NULL)
		*num = n;
	return list;
}

void
tp_roce_free_device_list(struct ibv_device **list)
{
	free(list);
}

int
troce_device_target(const struct ibv_device *device, uint16_t *port_id, const char **ib_name)
{
	const struct ib_slot *s = (const struct ib_slot *)device;

	if (device >= devices && device < devices + RTE_MAX_ETHPORTS) {
		*port_id = (uint16_t)(device - devices);
		*ib_name = NULL;
		return 0;
	}
	if (s >= ib_slots && s < ib_slots + MAX_IB_PORTS) {
		*ib_name = s->port.name;
		return 0;
	}
	return ENODEV;
}
