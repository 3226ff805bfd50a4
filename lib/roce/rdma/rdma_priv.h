/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Inside the calls of tp_rdma.h. One lock is over all connection management of the process: ids, channels and the
 * communication managers of all ports (cm_port.c). It is held for moments only, never while a queue pair is changed or anything
 * is waited for; the locks of a port may be taken under it.
 */
#ifndef ROCE_RDMA_RDMA_PRIV_H
#define ROCE_RDMA_RDMA_PRIV_H

#include <errno.h>

#include "cm_ib.h"
#include "lib/roce/port/front.h"
#include "tp_rdma.h"

enum trd_state {
	TRD_IDLE,
	TRD_BOUND, /* has a local address or port */
	TRD_RESOLVING,
	TRD_RESOLVED, /* knows the way to its peer */
	TRD_ROUTED,
	TRD_LISTEN,
	TRD_CONNECT, /* asked, or was asked */
	TRD_DONE,    /* disconnected, rejected, unreachable, or its port is gone */
};

/* A multicast group that an id has joined. */
struct trd_group {
	TAILQ_ENTRY(trd_group) next;
	struct sockaddr_storage addr;
	struct ibv_ah_attr av;
	void *context;
	bool attached;
};

struct trd_id {
	struct rdma_cm_id v;
	TAILQ_ENTRY(trd_id) next; /* of all ids */
	enum trd_state state;
	struct troce_dev *dev; /* NULL: of no port yet, or of all */
	struct tcm_conn *conn;
	struct tp_roce_qp_pool *pool; /* that its queue pair goes back to */
	struct trd_id *listener;      /* whose request it is, until it is answered */
	unsigned int pending;         /* requests of a listener that are not answered */
	unsigned int backlog;
	bool sync, passive, reuse, afonly, own_pd, addr_changed;
	uint8_t tos, ack_timeout;      /* options; ack_timeout 0xff: none */
	unsigned int delivered, acked; /* events that were fetched, given back */
	uint64_t until;                /* TRD_RESOLVING */
	struct ibv_ah_attr av;         /* to the peer */
	struct ibv_sa_path_rec path_rec;
	/* What was agreed on, for the queue pair. */
	uint32_t sq_psn, rq_psn, dest_qpn;
	uint8_t resp_res, init_depth, retry, rnr_retry, timeout;
	bool flow_control; /* as this end has it */
	enum ibv_mtu mtu;
	TAILQ_HEAD(, trd_group) groups;
};

#define TRD_NO_OPTION 0xffu

/* An event, and the private data that it points to. */
struct trd_event {
	struct rdma_cm_event v;
	TAILQ_ENTRY(trd_event) next;
	struct trd_id *id;       /* that counts it */
	struct trd_group *group; /* MULTICAST_JOIN: to be attached */
	uint8_t data[CM_RTU_PRIVATE];
};
TAILQ_HEAD(trd_events, trd_event);

struct trd_channel {
	struct rdma_event_channel v;
	struct troce_bell bell;
	struct trd_events events;
};

/* Connection management of a port. */
#define TRD_OUT 256u
struct troce_cm {
	struct troce_dev *dev;
	TAILQ_ENTRY(troce_cm) next;
	struct tcm core;
	struct troce_side *side;       /* due 0: something waits; woken: bits of port events */
	struct troce_mad out[TRD_OUT]; /* datagrams that are to be sent: a ring */
	uint32_t out_head, out_num, sending;
	struct troce_cm_services services; /* of an InfiniBand port */
	unsigned int resolving;            /* ids */
	struct ibv_pd *pd;                 /* of queue pairs whose application names none */
	unsigned int pd_users;
	struct mad_port_counters counters;
	uint64_t counters_at;
	uint64_t mads_answered, mads_ignored, mads_malformed, out_lost;
};
TAILQ_HEAD(trd_cms, troce_cm);

static inline struct trd_channel *
trd_channel_of(struct rdma_event_channel *c)
{
	return (struct trd_channel *)c;
}

static inline struct trd_id *
trd_id_of(struct rdma_cm_id *id)
{
	return (struct trd_id *)id;
}

/* -1 and errno */
static inline int
trd_fail(int err)
{
	errno = err;
	return -1;
}

/* --- cm_lock.c -------------------------------------------------------------------------------------------------- */

void trd_lock(void);
/* Also sends what was left to send. */
void trd_unlock(void);
/* With the lock, before calls of the core: it is told the time. */
struct tcm *trd_core(struct troce_dev *dev);
/* A datagram is to be sent when the lock is given back. */
void trd_send(struct troce_cm *cm, const struct troce_mad *mad);
/* Waits for a signal of the lock's condition, or 100 ms. */
void trd_wait_signal(void);
void trd_signal(void);
/* Open ports; with the lock. */
extern struct trd_cms trd_cms;

/* --- rdma_event.c ----------------------------------------------------------------------------------------------- */

/* With the lock. NULL: no memory, which is logged: the event is lost. */
struct trd_event *trd_event_new(struct trd_id *id, enum rdma_cm_event_type type, int status);
/* Puts it on the channel of the id, or, for a request, of its listener. */
void trd_event_post(struct trd_event *e, struct trd_id *on);
void trd_post(struct trd_id *id, enum rdma_cm_event_type type, int status);
/* Private data of len octets goes with the event. */
void trd_event_data(struct trd_event *e, const void *data, uint32_t len);
/* Takes back those of an id that nobody has fetched; requests among them are refused. */
void trd_events_drop(struct trd_id *id);
/* A group is left, whose event nobody has fetched. */
void trd_events_forget(struct trd_id *id, const struct trd_group *g);
void trd_events_move(struct trd_id *id, struct trd_channel *to);

/* --- rdma_fetch.c ----------------------------------------------------------------------------------------------- */

/* A request that was fetched counts as its new id's, no longer as the listener's. Without the lock. */
void trd_event_give(struct rdma_cm_event *event);
/* The end of a call: 0, or for an id without a channel what its event says. Without the lock. */
int trd_finish(struct trd_id *id);

/* --- rdma_ids.c ------------------------------------------------------------------------------------------------- */

extern TAILQ_HEAD(trd_ids, trd_id) trd_ids;
struct trd_id *trd_id_new(enum rdma_port_space ps, void *context);
/* With the lock. Forgets the connection and frees what the id has. */
void trd_id_free(struct trd_id *id);

/* --- rdma_id.c -------------------------------------------------------------------------------------------------- */

/* A port of this address for the id; 0: a free one. 0, EADDRINUSE, EADDRNOTAVAIL */
int trd_port_bind(struct trd_id *id, struct sockaddr *addr);
/* The id that listens for it; NULL */
struct trd_id *trd_listener(const struct troce_dev *dev, enum rdma_port_space ps, const struct sockaddr *addr);

/* --- rdma_sockaddr.c -------------------------------------------------------------------------------------------- */

bool trd_addr_ok(const struct sockaddr *addr);
socklen_t trd_addr_len(const struct sockaddr *addr);
/* The unspecified address, or, as Linux has it, a loopback address: any of a port's own. */
bool trd_addr_any(const struct sockaddr *addr);
/* Without ports */
bool trd_addr_equal(const struct sockaddr *a, const struct sockaddr *b);
uint16_t trd_port(const struct sockaddr *addr);
void trd_port_set(struct sockaddr *addr, uint16_t port);
union ibv_gid trd_gid(const struct sockaddr *addr);
/* Of family 4 or 6, 16 octets with an IPv4 address in the last four, and a port */
void trd_addr_from(struct sockaddr_storage *to, uint8_t family, const uint8_t addr[16], uint16_t port);
/* Of the port's GIDs those that belong to addresses */
static inline enum ibv_gid_type
trd_gid_type(const struct troce_dev *dev)
{
	return dev->mode == TP_ROCE_V2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
}
/* The entry of the port's table for its own address; -1 */
int trd_sgid(struct troce_dev *dev, const struct sockaddr *addr);

/* --- rdma_addr.c ------------------------------------------------------------------------------------------------ */

/* Ids that resolve addresses: the next look at each. With the lock */
/* RDMA port of the connection at the end that listens; 0: it is none of RDMA_PS_TCP. */
uint16_t trd_service(const struct trd_id *id);
/* Priority and DSCP of the port's rule for that service, where there is one, into the address vector. */
void trd_classify(struct trd_id *id);
void trd_resolve_run(struct troce_cm *cm, uint64_t now_ns);
/* Addresses of the port have changed. With the lock */
void trd_addr_check(struct troce_cm *cm);

/* --- cm_ib.c: a port of InfiniBand ------------------------------------------------------------------------------ */

extern const struct tcm_ops trd_ib_ops;
/* A datagram of the class came to QP1. The port's thread, no lock. */
void trd_ib_input(struct troce_dev *dev, const struct tp_mad_packet *pkt);

/* --- rdma_core.c ------------------------------------------------------------------------------------------------ */

extern const struct tcm_ops trd_core_ops;

/* --- rdma_qp.c -------------------------------------------------------------------------------------------------- */

/* To RTR and RTS by what was agreed on; 0 or a positive errno. Without the lock */
int trd_qp_connect(struct trd_id *id);
int trd_qp_error(struct trd_id *id);

#endif /* ROCE_RDMA_RDMA_PRIV_H */
