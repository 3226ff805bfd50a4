/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Shared by the files that implement the control calls of tp_roce.h: ports, their objects, their events. */
#ifndef ROCE_PORT_FRONT_H
#define ROCE_PORT_FRONT_H

#include "lib/roce/wire/mad.h"
#include "provider.h"

/* --- status.c --------------------------------------------------------------------------------------------------- */

/* Tells who listens, if it is news. */
void troce_status(struct troce_dev *dev, enum tp_roce_status status);

/* --- registry.c ------------------------------------------------------------------------------------------------- */

/* The provider that serves a port best, or the one of that name; NULL: none does. */
const struct troce_provider *troce_provider_find(uint16_t port_id, const char *name);
/* The device that stands for an ethdev, with its name; the same at each call. */
struct ibv_device *troce_device_of(uint16_t port_id);
struct ibv_device *troce_device_of_ib(const struct troce_ib_port *port);
/* What a device stands for: an ethdev (*ib_name is NULL), or the port of that name. 0, ENODEV. */
int troce_device_target(const struct ibv_device *device, uint16_t *port_id, const char **ib_name);
/* With the list of open ports locked; NULL: there is none of that name. */
const struct troce_ib_port *troce_ib_find(const char *name);
/* The list of open ports; it is locked between begin and end. */
struct troce_dev *troce_open_find(uint16_t port_id);
struct troce_dev *troce_open_find_ib(const struct troce_ib_port *port);
struct troce_dev *troce_open_find_name(const char *device);
void troce_open_begin(void);
void troce_open_end(void);
/* Calls fn for each open port; for none while the list is in use elsewhere. */
void troce_open_each(void (*fn)(struct troce_dev *dev, void *arg), void *arg);
/* The same, and waits for the list. Not from where a port is being opened or closed, or makes progress. */
void troce_open_all(void (*fn)(struct troce_dev *dev, void *arg), void *arg);
void troce_open_add(struct troce_dev *dev);
void troce_open_remove(struct troce_dev *dev);

/* --- progress.c ------------------------------------------------------------------------------------------------- */

/* Nobody else drives the port: no thread, or the caller's own. */
bool troce_needs_work(const struct troce_dev *dev);
/*
 * Lets the port work for a moment. 0, or EAGAIN: it is the caller who would have to show it the packets, or who was
 * called by it.
 */
int troce_let_work(struct troce_dev *dev);

/* --- object.c --------------------------------------------------------------------------------------------------- */

/* Zeroed memory for an object of size octets, at least least; on the port's NUMA node. */
void *troce_obj_alloc(struct troce_dev *dev, size_t size, size_t least);
void troce_obj_free(void *obj);
/* The end of making an object: itself, or (err is not 0) NULL and errno; it is freed then. */
void *troce_made(void *obj, int err);
/* The end of destroying one: err, and it is freed when that is 0. */
int troce_gone(void *obj, int err);
/* Waits until all events that were fetched are acknowledged, and destroys the two. */
void troce_settle(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		  const unsigned int *delivered);

/* One more object of a kind, of max; ENOMEM and a line: there are as many as there may be. */
int troce_room(struct troce_dev *dev, const char *what, unsigned int have, int max);

/* A refusal: a line that begins with the port, and errno's value. */
#define TROCE_REFUSE(dev, err, fmt, ...)                                                                               \
	({                                                                                                             \
		TROCE_LOG(ERR, "%s: " fmt, (dev)->where, ##__VA_ARGS__);                                               \
		(err);                                                                                                 \
	})

static inline void
troce_lock(struct troce_dev *dev)
{
	pthread_mutex_lock(&dev->lock);
}
static inline void
troce_unlock(struct troce_dev *dev)
{
	pthread_mutex_unlock(&dev->lock);
}

/* --- bell.c ----------------------------------------------------------------------------------------------------- */

int troce_bell_open(struct troce_bell *bell);
void troce_bell_close(struct troce_bell *bell);
void troce_bell_ring(struct troce_bell *bell);
/* Takes the ring back, if no thread did: the queue is empty. */
void troce_bell_hush(struct troce_bell *bell);
/* After troce_bell_wait, when an event was taken out of the queue. */
void troce_bell_taken(struct troce_bell *bell, bool empty);
/* Waits for a ring and takes it, unless the descriptor does not block. 0, or -1 and errno. */
int troce_bell_wait(struct troce_bell *bell);

/* --- traffic.c -------------------------------------------------------------------------------------------------- */

/* Of an Ethernet port: all frames of the wire where its driver knows them, else those of its queues. 0 or EIO. Any thread. */
int troce_traffic(const struct troce_dev *dev, struct mad_port_counters *c);

/* --- event.c ---------------------------------------------------------------------------------------------------- */

int troce_async_init(struct troce_dev *dev);
void troce_async_fini(struct troce_dev *dev);
/* Forgets events of an object that nobody fetched. After this, its count of fetched ones stands. */
void troce_async_discard(struct troce_dev *dev, const void *obj);
uint64_t troce_async_lost(struct troce_dev *dev);

#endif /* ROCE_PORT_FRONT_H */
