/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Connected mode of a port: queue pairs of connections, with one shared receive queue and one completion queue for each
 * direction. The bursts of the port's queues send (cm_tx.c) and receive (cm_rx.c) while a snapshot says so; the control thread
 * makes and ends connections (cm.c, cm_qp.c) and touches what bursts use only when they have no snapshot.
 */
#ifndef IPOIB_PORT_CM_H
#define IPOIB_PORT_CM_H

#include "lib/roce/rdma/cm_ib.h"
#include "lib/ipoib/iface/conn.h"
#include "port.h"

#define IPOIB_RC_SENDS 64u       /* of a connection, in flight */
#define IPOIB_RC_SLOTS 1024u     /* of all connections */
#define IPOIB_RC_STALL_MS 10000u /* how often it is looked whether a connection still sends */
#define IPOIB_RC_SGES 32u        /* buffers of a packet */
#define IPOIB_RC_BUFFERS 2048u
#define IPOIB_RC_RECVS_MIN 16u
#define IPOIB_RC_RECVS_MAX 256u
/* In front of a received packet: what the control thread looks at, or the header of Ethernet. */
#define IPOIB_RC_OFFSET (RTE_PKTMBUF_HEADROOM + RTE_ETHER_HDR_LEN - IPOIB_ENCAP_LEN)

/* A connection as the card and its manager have it. */
struct ipoib_rc {
	TAILQ_ENTRY(ipoib_rc) next;
	struct troce_cm_owner owner;
	struct ipoib_port *port;
	struct ipoib_conn *conn; /* NULL: a request that was not looked at */
	struct tcm_conn *tcm;    /* NULL: released */
	struct ibv_qp *qp;
	bool closing;
	uint64_t until_ms; /* closing: when it goes */
	uint64_t stall_ms; /* when it is looked at again */
	uint32_t psn, stall_done;
	bool stall_busy; /* it had something to send when it was looked at */
	struct ibv_ah_attr av;
	uint8_t mtu, timeout;
	_Atomic bool broken;
	_Atomic uint32_t inflight, done; /* packets that the card has; that it had: written by bursts */
};

/* What a connection was told, for the control thread. */
struct ipoib_note {
	TAILQ_ENTRY(ipoib_note) next;
	struct ipoib_rc *rc;
	enum tcm_event_type type;
	union cm_any msg;
};

struct ipoib_slot {
	struct rte_mbuf *m;
	struct ipoib_rc *rc;
};

struct ipoib_cm {
	struct ipoib_port *port;
	struct troce_cm_service service;
	TAILQ_HEAD(, ipoib_rc) rcs;
	pthread_mutex_t note_lock; /* of notes */
	TAILQ_HEAD(, ipoib_note) notes;
	_Atomic bool trouble; /* a connection has broken */
	/* Receive: chains of buffers, which the card knows by their number. */
	struct ibv_srq *srq;
	struct ibv_cq *rcq;
	uint32_t depth, segs, lkey;
	uint32_t num_free;                 /* numbers without a chain */
	uint32_t num_spare, num_held;      /* buffers that packets left; completions that were put aside */
	uint32_t free[IPOIB_RC_RECVS_MAX]; /* numbers */
	struct rte_mbuf *chain[IPOIB_RC_RECVS_MAX];
	struct rte_mbuf *spare[IPOIB_RC_RECVS_MAX * IPOIB_RC_SGES];
	struct ibv_wc held[IPOIB_RC_RECVS_MAX];
	/* Send */
	struct ibv_cq *scq;
	const struct rte_mempool *last_pool;
	uint32_t last_lkey, sges;
	uint32_t num_slots; /* that are free */
	uint32_t slots[IPOIB_RC_SLOTS];
	struct ipoib_slot slot[IPOIB_RC_SLOTS];
};

/* --- cm.c: the control thread, with the device's lock ----------------------------------------------------------------- */

/* Connected mode begins and ends; 0 or a negative errno. The datapath's snapshot must be made anew. */
int ipoib_cm_open(struct ipoib_port *p);
void ipoib_cm_close(struct ipoib_port *p);
/* Returns how much was done. */
unsigned int ipoib_cm_work(struct ipoib_port *p);
int ipoib_cm_conn_open(struct ipoib_port *p, struct ipoib_conn *conn);
void ipoib_cm_conn_close(struct ipoib_port *p, struct ipoib_conn *conn);

/* --- cm_qp.c ---------------------------------------------------------------------------------------------------------- */

int ipoib_cm_queues_open(struct ipoib_cm *cm);
void ipoib_cm_queues_close(struct ipoib_cm *cm);
/* RESET to INIT; to RTR and RTS by rc->av, mtu, timeout and the peer's numbers. 0 or a negative errno. */
int ipoib_rc_qp_open(struct ipoib_rc *rc, bool passive);
int ipoib_rc_qp_ready(struct ipoib_rc *rc, uint32_t dest_qpn, uint32_t sq_psn, uint8_t rnr_retry);
void ipoib_rc_qp_error(struct ipoib_rc *rc);
/* Bursts must have no snapshot. */
void ipoib_rc_qp_close(struct ipoib_rc *rc);

/* --- cm_sums.c: what cards do for datagrams only --------------------------------------------------------------------------- */

/* Writes the checksums that a packet asks for, whose header of IP is at octets behind its beginning. False: it is cut short. */
bool ipoib_cm_sums(struct rte_mbuf *m, uint32_t at);
/* The headers of a large send are such that it can be cut. */
bool ipoib_cm_can_cut(const struct rte_mbuf *m);
/* Part no of a large send, a frame with its checksums; NULL: no memory, or the packet is cut short. */
struct rte_mbuf *ipoib_cm_cut(const struct rte_mbuf *m, struct rte_mempool *pool, uint32_t no);

/* --- cm_tx.c, cm_rx.c ------------------------------------------------------------------------------------------------- */

/* Frees what the card has sent. Bursts, or the control thread while they have no snapshot. */
void ipoib_cm_reap(struct ipoib_cm *cm);
/* Posts a packet whose encapsulation header is skip octets behind its beginning. False: there is no room, it stays the caller's. */
bool ipoib_cm_post(struct ipoib_cm *cm, struct ipoib_rc *rc, struct rte_mbuf *m, uint32_t skip);
/* Sends a packet (encapsulated) of the control thread; takes it. */
void ipoib_cm_send(struct ipoib_port *p, struct ipoib_conn *conn, struct rte_mbuf *m);
/*
 * Whether a connection has sent nothing since it was last looked at, although it had something even then: the peer is gone, or
 * takes nothing. Looks every IPOIB_RC_STALL_MS.
 */
bool ipoib_cm_stalled(struct ipoib_rc *rc, uint64_t now_ms);
/* Puts completions aside for the next burst, before a queue pair goes. */
void ipoib_cm_hold(struct ipoib_cm *cm);
void ipoib_cm_fill(struct ipoib_cm *cm);

#endif /* IPOIB_PORT_CM_H */
