/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Between the files of the communication manager's core: connections by identifier and by time (conn.c), what is sent (send.c). */
#ifndef ROCE_CM_PRIV_H
#define ROCE_CM_PRIV_H

#include "core.h"

struct tcm_slot {
	struct tcm_conn *conn;
	uint32_t next; /* free slots are used again in the order in which they became free */
	uint16_t generation;
};
#define TCM_NO_SLOT UINT32_MAX

/* NULL: as many as there may be, or no memory */
struct tcm_conn *tcm_conn_new(struct tcm *cm, const struct troce_path *path, enum tcm_state state, void *owner);
void tcm_conn_free(struct tcm_conn *c);
struct tcm_conn *tcm_by_local(struct tcm *cm, uint32_t local_id);
struct tcm_conn *tcm_by_remote(struct tcm *cm, uint32_t remote_id, uint64_t guid);
struct tcm_conn *tcm_by_qpn(struct tcm *cm, uint32_t qpn, uint64_t guid);
/* A service resolution, whose peer has no GUID but an address. */
struct tcm_conn *tcm_by_request(struct tcm *cm, uint32_t request_id, const struct troce_path *path);
/*
 * Whether two paths lead to one peer: of the same GID; or of the same LID, where datagrams need no GRH. Path bits, of which there
 * are seven at most, are the peer's to choose (IBTA 1.4, 4.1.3).
 */
static inline bool
tcm_same_peer(const struct troce_path *a, const struct troce_path *b)
{
	if (a->type == IBV_GID_TYPE_IB && !(a->grh && b->grh))
		return (a->dlid ^ b->dlid) >> 7 == 0;
	return memcmp(&a->dgid, &b->dgid, sizeof(a->dgid)) == 0;
}
/* The connection's remote identifier, then its remote queue pair, are known from here on. */
void tcm_index_remote(struct tcm_conn *c);
void tcm_index_qpn(struct tcm_conn *c);

void tcm_state_set(struct tcm_conn *c, enum tcm_state state);
/* ns from now, TCM_NEVER: stop */
void tcm_timer(struct tcm_conn *c, uint64_t ns);

/* Sends a message and keeps it, to be sent again. */
int tcm_send(struct tcm_conn *c, enum cm_msg msg, const void *m, uint64_t tid);
void tcm_again(struct tcm_conn *c);
/* A message that belongs to no connection, to where a datagram came from. */
void tcm_answer(struct tcm *cm, const struct troce_mad *to, enum cm_msg msg, const void *m);
uint64_t tcm_tid(struct tcm *cm);

void tcm_event(struct tcm_conn *c, enum tcm_event_type type, uint16_t reason, const union cm_any *msg);
/* The code of a packet's life from the one of an ACK's time, which is there and back. */
static inline uint8_t
tcm_lifetime(uint8_t ack_timeout)
{
	return (uint8_t)RTE_MIN(ack_timeout == 0 ? 0u : ack_timeout - 1u, TCM_TIMEWAIT_MAX);
}
/* How long the peer may take for an answer, with the way there and back (12.9.8.1). */
uint64_t tcm_answer_ns(const struct tcm_conn *c, uint8_t code);
/* The connection can be heard of for some time yet (12.9.8.4); then the slot is free. */
void tcm_timewait(struct tcm_conn *c);
void tcm_send_rej(struct tcm_conn *c, uint16_t reason, const void *ari, uint32_t ari_len, const void *private_data,
		  uint32_t len);
/* Rejects a first request, which has no connection yet. */
void tcm_refuse_req(struct tcm *cm, const struct troce_mad *mad, uint32_t remote_id, uint16_t reason,
		    const uint8_t *ari, uint8_t ari_len);
/* A request that names a connection which is over, or a queue pair of one that is not. */
void tcm_stale(struct tcm *cm, const struct troce_mad *mad, const union cm_any *msg);
/* A first request, and a first request for a datagram service. */
void tcm_new_req(struct tcm *cm, const struct troce_mad *mad, const union cm_any *msg);
void tcm_new_sidr_req(struct tcm *cm, const struct troce_mad *mad, const union cm_any *msg);
/* What a datagram means to a connection in its state (state.c). */
void tcm_apply(struct tcm_conn *c, enum cm_msg type, const struct troce_mad *mad, const union cm_any *msg);

#endif /* ROCE_CM_PRIV_H */
