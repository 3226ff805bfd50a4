/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* An InfiniBand port with IPoIB on it. */
#ifndef IPOIB_PORT_DEVICE_H
#define IPOIB_PORT_DEVICE_H

#include "tp_mad_service.h"
#include "port.h"

#define IPOIB_PKEYS 128u

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
	uint16_t pkeys[IPOIB_PKEYS];
	unsigned int pkeys_read;
};

/* Starts and stops the control thread, and what it hears of events. 0 or a negative errno. */
int ipoib_worker_start(struct ipoib_device *d);
void ipoib_worker_stop(struct ipoib_device *d);

#endif /* IPOIB_PORT_DEVICE_H */
