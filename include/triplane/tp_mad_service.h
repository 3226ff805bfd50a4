/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * The management service of an InfiniBand port. All who manage or ask through a port share one service, which has a thread.
 *
 * Errors are negative errno. Threads: any.
 */
#ifndef TP_MAD_SERVICE_H
#define TP_MAD_SERVICE_H

#include "tp_mad.h"
#include "tp_sa.h"
#include "tp_umad.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tp_mad_service;

/**
 * Opens an InfiniBand port by its name (tp_roce_open_ib()), with its QP0, or shares the one that was opened so. A thread does the
 * port's and the service's work and takes the port's asynchronous events: callers need call no progress function.
 * @return 0; -ENODEV no such port, -EBUSY somebody opened it without its service, -ENOMEM, -EIO.
 */
int tp_mad_service_open(const char *device, struct tp_mad_service **service);
/**
 * The last one ends it: agents are taken back, the firmware answers for the port by itself again, and the port is closed, whose
 * objects must be gone. Not from within the service's thread, or with a lock that its calls take.
 */
void tp_mad_service_close(struct tp_mad_service *service);
/** The port, for queue pairs of the caller's. */
struct ibv_context *tp_mad_service_ctx(struct tp_mad_service *service);

#define TP_MAD_LISTENERS 64u /**< of a port */

/** Told of each asynchronous event of the port, after the SA client was, in the service's thread with its lock held. */
typedef void (*tp_mad_event_cb)(void *arg, const struct ibv_async_event *event);
/** @return 0, -ENOSPC there are TP_MAD_LISTENERS. */
int tp_mad_service_listen(struct tp_mad_service *service, tp_mad_event_cb cb, void *arg);
/** No call with this cb and arg comes later. */
void tp_mad_service_unlisten(struct tp_mad_service *service, tp_mad_event_cb cb, const void *arg);

struct tp_mad *tp_mad_service_mad(struct tp_mad_service *service);
/** The client of subnet administration that all share. */
struct tp_sa *tp_mad_service_sa(struct tp_mad_service *service);
/** Datagrams that came in faster than the service's work took them. */
uint64_t tp_mad_service_dropped(struct tp_mad_service *service);

/** The port as programs of libibumad see it; for struct tp_umad_port. */
void tp_mad_service_describe(void *service, struct tp_umad_desc *port);
/** "Is a subnet manager" in the port's capabilities; counts who says so. For struct tp_umad_port. */
void tp_mad_service_issm(void *service, bool on);

#ifdef __cplusplus
}
#endif

#endif /* TP_MAD_SERVICE_H */
