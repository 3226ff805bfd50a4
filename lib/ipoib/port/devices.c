/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* InfiniBand ports with IPoIB on them: opened with the first IPoIB port, closed with the last. */
#include <errno.h>
#include <stdlib.h>

#include <rte_string_fns.h>

#include "device.h"

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static TAILQ_HEAD(, ipoib_device) devices = TAILQ_HEAD_INITIALIZER(devices);

static int
device_open(struct ipoib_device *d)
{
	int ret;

	ret = tp_mad_service_open(d->name, &d->service);
	if (ret != 0)
		return ret;
	d->ctx = tp_mad_service_ctx(d->service);
	ret = ipoib_worker_start(d);
	if (ret != 0)
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
		ipoib_worker_stop(d);
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
