/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Connections of an InfiniBand port's own services, by the core of cm_core.h (IBTA 1.4, chapter 12): the way to the peer is a
 * path record of the subnet administrator, datagrams go to LIDs. For protocols that are above LIDs themselves, such as IPoIB's
 * connected mode; those between IP addresses use tp_rdma.h.
 *
 * Threads: any. One lock is over all connection management of the process; calls of the core are made between
 * tp_cm_ib_lock() and tp_cm_ib_unlock(), owners are told with the lock held.
 */
#ifndef TP_ROCE_CM_IB_H
#define TP_ROCE_CM_IB_H

#include "cm_core.h"

/* The owner of a connection (tcm_conn.owner), a part of something of its owner's. */
struct tp_cm_owner {
	/* In the port's thread or in one that calls the core: calls nothing but the core, takes no lock that is held while the
	 * core is called. Of TCM_EV_REQ it is the service's; it makes the connection another owner's or releases it. */
	void (*event)(struct tp_cm_owner *owner, const struct tcm_event *ev);
};

/* Somebody who takes requests for a service; the caller's memory. */
struct tp_cm_service {
	TAILQ_ENTRY(tp_cm_service) next;
	uint64_t id;
	struct tp_cm_owner owner;
};
TAILQ_HEAD(tp_cm_services, tp_cm_service);

/* 0, EADDRINUSE: the service has somebody, ENOTSUP: not an InfiniBand port. */
int tp_cm_ib_listen(struct ibv_context *ctx, struct tp_cm_service *service);
/* No request for it is told of later. Connections stay their owners'. */
void tp_cm_ib_unlisten(struct ibv_context *ctx, struct tp_cm_service *service);

/* The port's core, which knows the time; what it sends leaves with the unlock. */
struct tcm *tp_cm_ib_lock(struct ibv_context *ctx);
void tp_cm_ib_unlock(void);

/* --- for cm.c and mad_port.c ------------------------------------------------------------------------------------ */

extern const struct tcm_ops tp_cm_ib_ops;
/* A datagram of the class came to QP1. The port's thread, no lock. */
void tp_cm_ib_input(struct tp_roce_dev *dev, const struct tp_mad_packet *pkt);
/* 0 or a positive errno, as tp_roce_provider.packet_send. */
int tp_cm_ib_send(struct tp_roce_dev *dev, const struct tp_roce_mad *mad);

#endif /* TP_ROCE_CM_IB_H */
