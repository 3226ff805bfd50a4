/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * The management service of an open InfiniBand port. All who manage or ask through a port share one service: each gets and
 * puts it.
 *
 * Either the service has a thread (tp_mad_service_open()), or somebody calls tp_roce_progress() of the port, which brings
 * datagrams in, and tp_mad_service_progress(), in the same loop.
 * Errors are negative errno. Threads: any.
 */
#ifndef TP_MAD_SERVICE_H
#define TP_MAD_SERVICE_H

#include "tp_mad.h"
#include "tp_sa.h"
#include "umad_proto.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tp_mad_service;

/**
 * Opens an InfiniBand port by its name (tp_roce_open_ib()), or shares the one that was opened so, with a thread of its own that
 * does the port's and the service's work and takes its asynchronous events: callers need call no progress function.
 * @return as tp_mad_service_get(); -ENODEV no such port, -EBUSY somebody opened it without its service.
 */
int tp_mad_service_open(const char *device, struct tp_mad_service **service);
/** The last one closes the port, whose objects must be gone. Not from within the service's thread. */
void tp_mad_service_close(struct tp_mad_service *service);
/** The port, for queue pairs of the caller's. */
struct ibv_context *tp_mad_service_ctx(struct tp_mad_service *service);

/** Told of each asynchronous event of a port with a thread, after the SA client was, in that thread. */
typedef void (*tp_mad_event_cb)(void *arg, const struct ibv_async_event *event);
/** @return 0, -ENOSPC there are TP_MAD_LISTENERS. */
#define TP_MAD_LISTENERS 64u
int tp_mad_service_listen(struct tp_mad_service *service, tp_mad_event_cb cb, void *arg);
/** No call with this cb and arg comes later. */
void tp_mad_service_unlisten(struct tp_mad_service *service, tp_mad_event_cb cb, const void *arg);

/**
 * The service of a port; the first one starts it, with the port's QP0.
 * @return 0; -ENOTSUP the port is not InfiniBand, -EBUSY another service has it, -ENOMEM, -EIO.
 */
int tp_mad_service_get(struct ibv_context *ctx, struct tp_mad_service **service);
/** The last one ends it: agents are taken back, the firmware answers for the port by itself again. */
void tp_mad_service_put(struct tp_mad_service *service);

struct tp_mad *tp_mad_service_mad(struct tp_mad_service *service);
/** The client of subnet administration that all share. */
struct tp_sa *tp_mad_service_sa(struct tp_mad_service *service);
/** Datagrams that came in faster than the service's work took them. */
uint64_t tp_mad_service_dropped(struct tp_mad_service *service);
/** What has come in, times and retries of the service. @return how much was done. */
unsigned int tp_mad_service_progress(struct tp_mad_service *service);

/** The port as programs of libibumad see it; for struct tp_umad_port. */
void tp_mad_service_describe(void *service, struct umad_proto_port *port);
/** "Is a subnet manager" in the port's capabilities; counts who says so. For struct tp_umad_port. */
void tp_mad_service_issm(void *service, bool on);

#ifdef __cplusplus
}
#endif

#endif /* TP_MAD_SERVICE_H */
