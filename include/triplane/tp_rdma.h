/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Connections between RoCE ports in the words of librdmacm (IBTA 1.4, chapter 12, and annex A11), without a kernel.
 *
 * Types, events and the meaning of each call are those of <rdma/rdma_cma.h> and its manual pages; each function is there
 * under its name without tp_. What differs or is added is said here. A peer may be any program on librdmacm or on the
 * kernel's rdma_cm.
 *
 * Functions return 0, or -1 and errno, as librdmacm's do. Private data that is too long is refused (EINVAL) with a line that
 * names the limit: 56 bytes in connect, 196 in accept, 148 in reject; for datagrams 180 in connect and 136 in accept, reject.
 *
 * Ports: an id belongs to an open port (tp_roce_open()): the one that has its local address, or the one that is given by
 * tp_rdma_bind_port(). An id that listens on the unspecified address listens on all ports, also on those opened later.
 *
 * Threads: all calls may be made from any thread, but one id by one thread at a time. Nothing happens unless somebody calls
 * tp_roce_progress() of the ports. A call that waits (tp_rdma_get_cm_event(), and all calls of an id without a channel), made
 * by the thread that drives a port, or when nobody has driven it yet, drives the port itself while it waits.
 *
 * When a queue pair is made by tp_rdma_create_qp(), its states are changed by tp_rdma_connect(), tp_rdma_accept(),
 * tp_rdma_disconnect() and within tp_rdma_get_cm_event(), as in librdmacm. Its packets of RoCEv2 have the UDP source port
 * (port of the source XOR port of the destination) OR 0xc000.
 */
#ifndef TP_RDMA_H
#define TP_RDMA_H

#include <rdma/rdma_cma.h>

#include "tp_roce.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An end point where events of ids come; its fd is readable when there is one. @return NULL and errno. */
struct rdma_event_channel *tp_rdma_create_event_channel(void);
/** All ids of the channel must have been destroyed or moved before. */
void tp_rdma_destroy_event_channel(struct rdma_event_channel *channel);

/**
 * @param channel NULL: each call of the id waits for its end
 * @param ps RDMA_PS_TCP; RDMA_PS_UDP; RDMA_PS_IB is served as RDMA_PS_TCP with a service of its own; others: EOPNOTSUPP
 */
int tp_rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		      enum rdma_port_space ps);
/** Ends the connection, if there is one. Waits until all events that were fetched are acknowledged. */
int tp_rdma_destroy_id(struct rdma_cm_id *id);
/** Moves the id, and its events that nobody has fetched, to another channel; NULL: to one of its own, as at creation. */
int tp_rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel);

/**
 * Gives the id to a port of its own choice, before its address is bound or resolved. An address of that port is chosen for
 * it where the application names none. @return -1: EINVAL it has one.
 */
int tp_rdma_bind_port(struct rdma_cm_id *id, struct ibv_context *ctx);

/**
 * @param addr struct sockaddr_in or _in6; unspecified, or of loopback: any address; port 0: a free one is chosen
 * @return -1: EADDRNOTAVAIL no open port has the address, EADDRINUSE, EAFNOSUPPORT, EINVAL it is bound.
 */
int tp_rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr);
/**
 * Finds the port and address towards a destination, and the destination's neighbour: RDMA_CM_EVENT_ADDR_RESOLVED, or
 * RDMA_CM_EVENT_ADDR_ERROR with status -EHOSTUNREACH or -ETIMEDOUT. A destination that is unspecified or of loopback becomes the
 * port's own address.
 * @param src NULL: the address is chosen
 * @param timeout_ms 0..3600000
 * @return -1: ENODEV no open port has a route there, EADDRNOTAVAIL, EAFNOSUPPORT, EINVAL.
 */
int tp_rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst, int timeout_ms);
/** There is nothing to ask on Ethernet: fills id->route; RDMA_CM_EVENT_ROUTE_RESOLVED. */
int tp_rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms);

/** @param pd NULL: one that all ids of the port share. CQs that init names none of are made, with channels of their own. */
int tp_rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *init);
void tp_rdma_destroy_qp(struct rdma_cm_id *id);
/** Attributes for a change to attr->qp_state (INIT, RTR, RTS) of a queue pair that the application made itself. */
int tp_rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *attr_mask);

/**
 * @param param NULL: no private data, as many READs as the port allows, 7 retries, flow_control. Without flow_control, here or
 *   in tp_rdma_accept(), messages are sent that the peer may have no receive request for (RNR NAK); with it an end in
 *   software tells its receive requests and obeys the peer's (end-to-end credits, IBTA 9.7.7.2). A card has no credits.
 */
int tp_rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param);
/** Of an id without a queue pair of its own, after RDMA_CM_EVENT_CONNECT_RESPONSE. */
int tp_rdma_establish(struct rdma_cm_id *id);
/** @param backlog requests that wait for accept or reject, 1..1024; 0: 1024. Those beyond are dropped; peers ask again. */
int tp_rdma_listen(struct rdma_cm_id *id, int backlog);
/** The next request to an id that was made without a channel; waits for it. */
int tp_rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id);
int tp_rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param);
int tp_rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t len);
/** @param event IBV_EVENT_COMM_EST: the queue pair heard from its peer */
int tp_rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event);
/** Moves the queue pair to the error state and ends the connection. */
int tp_rdma_disconnect(struct rdma_cm_id *id);

/**
 * Multicast, for ids of RDMA_PS_UDP: RDMA_CM_EVENT_MULTICAST_JOIN, whose param.ud names the group's address vector, queue
 * pair and Q_Key. The queue pair of the id is attached. Networks that must be told by IGMP or MLD are not.
 * @param addr the group; of an IPv4 group the MGID is its address mapped to IPv6 on RoCEv2, and that with ff0e in front on v1
 */
int tp_rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context);
int tp_rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr);

/**
 * Waits for an event, unless the channel's descriptor does not block (EAGAIN).
 * @return -1: EAGAIN; also when the calling thread drives the port but cannot do so now, as the application itself polls
 *   the port's queues (tp_roce_conf.app_rx).
 */
int tp_rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event);
/** Gives the event back; it is no more. */
int tp_rdma_ack_cm_event(struct rdma_cm_event *event);

__be16 tp_rdma_get_src_port(struct rdma_cm_id *id);
__be16 tp_rdma_get_dst_port(struct rdma_cm_id *id);
const char *tp_rdma_event_str(enum rdma_cm_event_type event);
/**
 * @param level RDMA_OPTION_ID with RDMA_OPTION_ID_TOS (uint8_t), _REUSEADDR (int), _AFONLY (int), _ACK_TIMEOUT (uint8_t,
 *   0..31); others: ENOSYS
 */
int tp_rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen);

/** As getaddrinfo(3) for the numbers and names of hosts and services. */
int tp_rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
			struct rdma_addrinfo **res);
void tp_rdma_freeaddrinfo(struct rdma_addrinfo *res);

/* --- queue pairs made ahead (R-6) ------------------------------------------------------------------------------- */

/*
 * A pool keeps queue pairs, each with a completion queue of its own where none is named, in the INIT state. Whoever needs one
 * takes it and waits for nothing. When fewer than the threshold are left, a thread of the pool makes new ones, while
 * the port's thread goes on. A queue pair that comes back is destroyed by that thread, too: its number rests
 * until peers have forgotten it (IBTA 1.4, 12.9.8.4), so that it is not used again.
 */
#define TP_ROCE_POOL_MAX 4096u

struct tp_roce_qp_pool;

struct tp_roce_qp_pool_conf {
	struct ibv_pd *pd;
	/** IBV_QPT_RC or _UC. send_cq and recv_cq NULL: one CQ for both directions is made with each queue pair. */
	struct ibv_qp_init_attr init;
	unsigned int size;      /**< how many are kept ready, 1..TP_ROCE_POOL_MAX */
	unsigned int threshold; /**< with fewer than that the pool is filled up, 1..size; 0: half of size */
};

struct tp_roce_qp_pool_stats {
	unsigned int ready, out; /**< now: to be taken, taken */
	uint64_t taken, returned;
	uint64_t misses;  /**< taken when none was ready: made there and then */
	uint64_t refills; /**< times that the thread filled the pool up */
	uint64_t made, destroyed, failures;
};

/**
 * Makes a pool and fills it.
 * @return NULL and errno: EINVAL a value out of its range, or what tp_roce_create_cq() and tp_roce_create_qp() say of the
 *   first queue pair that cannot be made.
 */
struct tp_roce_qp_pool *tp_roce_qp_pool_create(const struct tp_roce_qp_pool_conf *conf);
/** @return 0, EBUSY: queue pairs of it are taken. */
int tp_roce_qp_pool_destroy(struct tp_roce_qp_pool *pool);

/**
 * A queue pair in INIT, with the right of remote writes only. Any thread. Its CQ is qp->send_cq.
 * @return NULL and errno as tp_roce_create_qp(), when none is ready and none can be made.
 */
struct ibv_qp *tp_roce_qp_pool_get(struct tp_roce_qp_pool *pool);
/** Gives one back, in any state. Any thread; what is still in its CQ is lost. */
void tp_roce_qp_pool_put(struct tp_roce_qp_pool *pool, struct ibv_qp *qp);
void tp_roce_qp_pool_stats(struct tp_roce_qp_pool *pool, struct tp_roce_qp_pool_stats *stats);

/**
 * As tp_rdma_create_qp(), with a queue pair of the pool, to which tp_rdma_destroy_qp() gives it back.
 * @return 0; -1: EINVAL the pool is of another port, or of datagrams; as tp_roce_qp_pool_get().
 */
int tp_rdma_create_qp_pooled(struct rdma_cm_id *id, struct tp_roce_qp_pool *pool);

/* --- what there is ------------------------------------------------------------------------------------------------- */

/** A connection, or an id that may become one: of this process, and of programs on its shared ports. */
struct tp_rdma_conn {
	char device[64];  /**< "": no port yet, or all of them */
	const char *kind; /**< "rdma_cm": an id of this file; "ib-service": of IPoIB's connected mode */
	const char *
		state; /**< "idle", "bound", "resolving", "resolved", "routed", "listening", "done", or IBTA's (12.9.7): "established" ... */
	bool passive;                          /**< the peer asked */
	bool dgram;                            /**< of a datagram service */
	struct sockaddr_storage local, remote; /**< of ids; family 0: not known */
	uint64_t service_id;                   /**< 0: not known */
	uint32_t local_qpn, remote_qpn;        /**< 0: not known */
	uint16_t remote_lid;                   /**< on InfiniBand, else 0 */
	unsigned int pending;                  /**< requests that a listening id has not answered */
};
typedef void (*tp_rdma_conn_fn)(void *arg, const struct tp_rdma_conn *conn);

/** Calls fn for each, with the lock of connection management held: fn calls nothing of this file. Any thread. */
void tp_rdma_connections(tp_rdma_conn_fn fn, void *arg);

#ifdef __cplusplus
}
#endif

#endif /* TP_RDMA_H */
