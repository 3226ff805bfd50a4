/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Connections of an InfiniBand port's own services, by the core of cm_core.h (IBTA 1.4, chapter 12): the way to the peer is a
 * path record of the subnet administrator, datagrams go to LIDs. For protocols that are above LIDs themselves, such as IPoIB's
 * connected mode; those between IP addresses use tp_rdma.h.
 *
 * Threads: any. One lock is over all connection management of the process; calls of the core are made between
 * troce_cm_ib_lock() and troce_cm_ib_unlock(), owners are told with the lock held.
 */
#ifndef ROCE_RDMA_CM_IB_H
#define ROCE_RDMA_CM_IB_H

#include "lib/roce/cm/core.h"

/* The owner of a connection (tcm_conn.owner), a part of something of its owner's. */
struct troce_cm_owner {
	/* In the port's thread or in one that calls the core: calls nothing but the core, takes no lock that is held while the
	 * core is called. Of TCM_EV_REQ it is the service's; it makes the connection another owner's or releases it. */
	void (*event)(struct troce_cm_owner *owner, const struct tcm_event *ev);
};

/* Somebody who takes requests for a service; the caller's memory. */
struct troce_cm_service {
	TAILQ_ENTRY(troce_cm_service) next;
	uint64_t id;
	struct troce_cm_owner owner;
};
TAILQ_HEAD(troce_cm_services, troce_cm_service);

/* 0, EADDRINUSE: the service has somebody, ENOTSUP: not an InfiniBand port. */
int troce_cm_ib_listen(struct ibv_context *ctx, struct troce_cm_service *service);
/* No request for it is told of later. Connections stay their owners'. */
void troce_cm_ib_unlisten(struct ibv_context *ctx, struct troce_cm_service *service);

/* The port's core, which knows the time; what it sends leaves with the unlock. */
struct tcm *troce_cm_ib_lock(struct ibv_context *ctx);
void troce_cm_ib_unlock(void);

#endif /* ROCE_RDMA_CM_IB_H */
