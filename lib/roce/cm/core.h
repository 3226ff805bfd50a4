/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The communication manager of a port as pure code (IBTA 1.4, 12.9): datagrams, calls and the time come in, datagrams and
 * events go out by the operations of its home. No clock, no thread, no lock: the home calls one at a time.
 *
 * A connection belongs to the core. Its owner keeps a pointer until tcm_release(); after that the core ends it in an orderly
 * way and frees it when nothing of it can come from the wire any more. Events are the last thing the core does for an
 * input, so that any call may be made from within one.
 *
 * Whatever comes from the wire is bounded: connections, requests that nobody has decided on, and each time that a peer asks
 * for. What is refused is counted.
 */
#ifndef ROCE_CM_CORE_H
#define ROCE_CM_CORE_H

#include <sys/queue.h>

#include "lib/roce/wire/cm_wire.h"
#include "lib/roce/port/provider.h"

#define TCM_NEVER UINT64_MAX
#define TCM_MAX_CONNS 65536u
#define TCM_HALF_OPEN 1024u
/* Codes of times, 4.096 us * 2^code: what is asked of peers, and the most that a peer is granted. */
#define TCM_RESPONSE_TIMEOUT 19u /* 2.1 s for an answer */
#define TCM_MAX_RETRIES 15u
#define TCM_LIFETIME 16u        /* of a packet: 0.27 s */
#define TCM_SERVICE_TIMEOUT 24u /* in MRA, 69 s: the application may take that long */
#define TCM_PEER_TIMEOUT_MAX 24u
#define TCM_TIMEWAIT_MAX 20u /* 4.3 s */

/* Connection managers are called at QP1 (16.7), whatever queue pair they send from: Linux has others on this card. */
#define TCM_QPN 1u

/* 12.9.7; the two last ones are of service resolution (12.11). */
enum tcm_state {
	TCM_REQ_SENT,
	TCM_MRA_REQ_RCVD, /* the peer asked for more time */
	TCM_REP_RCVD,
	TCM_MRA_REP_SENT,
	TCM_REQ_RCVD,
	TCM_MRA_REQ_SENT,
	TCM_REP_SENT,
	TCM_MRA_REP_RCVD,
	TCM_ESTABLISHED,
	TCM_DREQ_SENT,
	TCM_TIMEWAIT,
	TCM_SIDR_REQ_SENT,
	TCM_SIDR_REQ_RCVD,
	TCM_SIDR_ANSWERED,
	TCM_IDLE, /* over; waits for its release */
	TCM_STATES
};
const char *tcm_state_str(enum tcm_state state);

enum tcm_event_type {
	TCM_EV_REQ,          /* a peer asks: tcm_accept, tcm_reject; msg->req */
	TCM_EV_REP,          /* the peer accepts: tcm_rtu, tcm_reject; msg->rep */
	TCM_EV_ESTABLISHED,  /* on the passive side; msg->rtu, NULL when it was tcm_established */
	TCM_EV_REJECTED,     /* reason; msg->rej */
	TCM_EV_UNREACHABLE,  /* no answer in time to REQ, REP, SIDR_REQ; or the owner did not decide in time */
	TCM_EV_DISCONNECTED, /* the peer's DREQ, which is answered already (msg->dreq); the end of our own (msg NULL) */
	TCM_EV_TIMEWAIT_EXIT, /* the queue pair's number may be used again */
	TCM_EV_SIDR_REQ,      /* msg->sidr_req: tcm_sidr_answer */
	TCM_EV_SIDR_REP,      /* msg->sidr_rep */
};

#define TCM_DROP 0xffffu

struct tcm_conn;
struct tcm_event {
	enum tcm_event_type type;
	struct tcm_conn *conn;
	void *owner; /* the connection's; of EV_REQ and EV_SIDR_REQ: what the home's service() gave */
	uint16_t reason;
	const union cm_any *msg; /* until the event returns */
};

/* What a request is for, when the home is asked who serves it. */
struct tcm_ask {
	uint64_t service_id;
	bool dgram;
	uint8_t service; /* enum cm_service */
	const struct troce_mad *mad;
	const uint8_t *private_data;
	uint32_t private_len;
};

struct tcm_ops {
	void (*send)(void *home, const struct troce_mad *mad);
	/*
	 * Who serves it: 0 and *owner; else the reason of a REJ, or for datagrams an enum cm_sidr_status; TCM_DROP: somebody,
	 * but not now.
	 */
	uint16_t (*service)(void *home, const struct tcm_ask *ask, void **owner);
	void (*event)(void *home, const struct tcm_event *ev);
};

struct tcm_stats {
	uint64_t initiated, accepted, active, failed, rejected_in, rejected_out, disconnects;
	uint64_t rx, tx, retries, duplicates, unexpected, unknown, foreign, malformed, bad_version, stale;
	uint64_t no_service, no_resources, half_open_drops, timeouts, sidr_initiated, sidr_answered;
};

struct tcm_conn {
	struct tcm *cm;
	void *owner;
	enum tcm_state state;
	bool passive, dgram, released;
	bool told; /* the owner knows that it is disconnected */
	uint32_t local_id, remote_id, slot;
	uint64_t remote_guid;
	uint32_t local_qpn, remote_qpn;
	bool has_remote_id, in_remote, in_qpn;
	uint8_t max_retries, retries, peer_timeout; /* peer_timeout: code, how long the peer may take to answer */
	uint8_t lifetime;                           /* code of a packet's */
	uint64_t tid, service_id;
	uint64_t deadline;
	uint32_t heap_at;
	struct troce_mad out; /* the last one that was sent, to be sent again; its path leads to the peer */
	LIST_ENTRY(tcm_conn) by_remote, by_qpn;
};
LIST_HEAD(tcm_list, tcm_conn);

#define TCM_BUCKETS 4096u

struct tcm {
	const struct tcm_ops *ops;
	void *home;
	uint64_t ca_guid, now, tid, rng;
	uint16_t mtu_max; /* code of the greatest path MTU that the port takes */
	uint32_t max_conns, max_half_open;
	uint32_t conns, half_open;
	struct tcm_slot *slots; /* by local id */
	uint32_t num_slots, free_head, free_tail, cookie;
	struct tcm_conn **heap; /* by deadline */
	uint32_t heap_len, heap_room;
	struct tcm_list *by_remote, *by_qpn;
	struct tcm_stats stats;
};

struct tcm_conf {
	uint64_t ca_guid, seed;
	uint16_t mtu_max;                  /* enum ibv_mtu */
	uint32_t max_conns, max_half_open; /* 1..TCM_MAX_CONNS; 0: TCM_MAX_CONNS, TCM_HALF_OPEN */
};

/* 0, -ENOMEM, -EINVAL */
int tcm_init(struct tcm *cm, const struct tcm_ops *ops, void *home, const struct tcm_conf *conf);
/* Frees all connections without a word to anybody. */
void tcm_fini(struct tcm *cm);

/* Calls fn for each connection that is not over; fn calls nothing of this file. */
void tcm_each(const struct tcm *cm, void (*fn)(void *arg, const struct tcm_conn *c), void *arg);

/* The time; never goes back. Before any other call. */
static inline void
tcm_clock(struct tcm *cm, uint64_t now_ns)
{
	cm->now = now_ns;
}

/* A datagram of the class came in. */
void tcm_input(struct tcm *cm, const struct troce_mad *mad);
/* What is due by the clock; how much was done. */
unsigned int tcm_run(struct tcm *cm);
/* When tcm_run is due; TCM_NEVER */
static inline uint64_t
tcm_deadline(const struct tcm *cm)
{
	return cm->heap_len == 0 ? TCM_NEVER : cm->heap[0]->deadline;
}

/*
 * Asks a peer. Of req the identifiers, GUID, GIDs and LIDs are filled in here. 0 and *conn; -ERANGE: a number does not fit its
 * field, which is logged; -ENOMEM; -ENOSPC: as many connections as there may be.
 */
int tcm_connect(struct tcm *cm, const struct troce_path *path, struct cm_req *req, void *owner, struct tcm_conn **conn);
/* Answers of the passive, then of the active side. 0; -EINVAL: not in this state (so the peer may just have gone); -ERANGE. */
int tcm_accept(struct tcm_conn *c, struct cm_rep *rep);
int tcm_rtu(struct tcm_conn *c, const void *private_data, uint32_t len);
/* Either side, up to the moment the connection is established. ari_len 0..72 */
int tcm_reject(struct tcm_conn *c, uint16_t reason, const void *ari, uint32_t ari_len, const void *private_data,
	       uint32_t len);
/* The queue pair heard from its peer before the RTU came. */
int tcm_established(struct tcm_conn *c);
int tcm_disconnect(struct tcm_conn *c, const void *private_data, uint32_t len);
/* The owner forgets the connection. */
void tcm_release(struct tcm_conn *c);

/* Asks for the queue pair of a datagram service (12.11). As tcm_connect. */
int tcm_sidr_connect(struct tcm *cm, const struct troce_path *path, struct cm_sidr_req *req, void *owner,
		     struct tcm_conn **conn);
int tcm_sidr_answer(struct tcm_conn *c, struct cm_sidr_rep *rep);

#endif /* ROCE_CM_CORE_H */
