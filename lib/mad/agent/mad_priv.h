/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The management service's parts: core.c (ways in), out.c (ways out), agent.c (who serves what), send.c (requests and their times),
 * rmpp_send.c and rmpp_recv.c (messages in segments), smi.c (directed routes).
 */
#ifndef MAD_AGENT_MAD_PRIV_H
#define MAD_AGENT_MAD_PRIV_H

#include <pthread.h>
#include <sys/queue.h>

#include "mad_fmt.h"
#include "tp_mad.h"

#define MAD_NEVER UINT64_MAX
#define MAD_MS 1000000ull
#define MAD_WAITING 1024u /* datagrams that wait for room, or for their turn within this port */

/* A datagram that waits. */
struct mad_wait {
	STAILQ_ENTRY(mad_wait) next;
	struct tp_mad_packet pkt;
};
struct mad_queue {
	STAILQ_HEAD(, mad_wait) list;
	unsigned int num;
};

/* A request, or a message in segments, that is under way. */
struct mad_send {
	TAILQ_ENTRY(mad_send) next;
	struct tp_mad_packet pkt; /* addressing, and the first 256 octets */
	uint8_t *data;            /* of a message in segments: all of it */
	uint32_t len;
	uint32_t timeout_ms, retries, retries_left;
	uint64_t deadline;
	bool wants_answer;
	bool segments; /* not all of them are acknowledged */
	uint32_t segs, sent, acked, window;
};

/* A message that comes in segments. */
struct mad_transfer {
	TAILQ_ENTRY(mad_transfer) next;
	struct tp_mad_packet first; /* its first segment */
	uint8_t *buf;
	uint32_t len, size;
	uint32_t got, window;
	uint64_t deadline;
	bool done; /* kept to acknowledge what is sent again */
};

struct tp_mad_agent {
	TAILQ_ENTRY(tp_mad_agent) next;
	struct tp_mad *mad;
	struct tp_mad_agent_conf conf;
	uint32_t hi_tid;
	unsigned int busy;      /* calls of it that have not returned */
	bool gone, awake, turn; /* turn: this time */
	uint64_t alarm;         /* wakes it; MAD_NEVER */
	TAILQ_HEAD(mad_sends, mad_send) sends;
	TAILQ_HEAD(mad_transfers, mad_transfer) transfers;
	unsigned int num_sends, num_transfers;
};

struct tp_mad {
	pthread_mutex_t lock;
	struct tp_mad_ops ops;
	void *home;
	TAILQ_HEAD(, tp_mad_agent) agents;
	unsigned int num_agents;
	uint32_t last_hi_tid;
	struct mad_queue out;                    /* for the wire */
	struct mad_queue local;                  /* from this port to itself */
	unsigned int awake;                      /* agents that want to work */
	uint32_t rmpp_bytes, rmpp_request_bytes; /* that transfers hold; of them requests */
	struct tp_mad_stats stats;
};

/* --- out.c --- */
uint64_t mad_now(struct tp_mad *m);
void mad_transmit(struct tp_mad *m, const struct tp_mad_packet *pkt);
/* Hands a message to an agent. false: the agent went away meanwhile. */
bool mad_deliver(struct tp_mad_agent *a, const struct tp_mad_packet *pkt, const uint8_t *data, uint32_t len,
		 int status);
/* Sends, or queues for this port itself. Directed routes are followed. 0, -EINVAL the route leads nowhere. */
int mad_route_out(struct tp_mad *m, struct tp_mad_packet *pkt);
bool mad_queue_add(struct mad_queue *q, const struct tp_mad_packet *pkt);
void mad_queue_pop(struct mad_queue *q);
void mad_queue_clear(struct mad_queue *q);
/* Frees one that is gone, unless it is being called. */
void mad_agent_free(struct tp_mad_agent *a);

/* --- agent.c --- */
struct tp_mad_agent *mad_agent_for_request(struct tp_mad *m, const struct tp_mad_packet *pkt);
struct tp_mad_agent *mad_agent_for_response(struct tp_mad *m, const struct tp_mad_packet *pkt);
unsigned int mad_agents_work(struct tp_mad *m);

/* --- send.c --- */
/* Do identifier and class agree? */
bool mad_send_same(const struct mad_send *s, const uint8_t *mad);
/* The agent's request that a datagram may answer. */
struct mad_send *mad_send_find(struct tp_mad_agent *a, const uint8_t *mad);
void mad_send_free(struct tp_mad_agent *a, struct mad_send *s);
void mad_send_arm(struct tp_mad *m, struct mad_send *s, uint32_t timeout_ms);
unsigned int mad_send_expire(struct tp_mad *m);

/* --- rmpp_send.c --- */
int rmpp_send_start(struct tp_mad_agent *a, struct mad_send *s);
void rmpp_send_again(struct tp_mad_agent *a, struct mad_send *s);
/* ACK, STOP and ABORT of the peer. */
void rmpp_send_input(struct tp_mad_agent *a, const struct tp_mad_packet *pkt);
void rmpp_abort(struct tp_mad *m, const struct tp_mad_packet *about, enum rmpp_status status);

/* --- rmpp_recv.c --- */
void rmpp_recv_input(struct tp_mad_agent *a, const struct tp_mad_packet *pkt);
/* The sender of a message ends it. */
void rmpp_recv_stop(struct tp_mad_agent *a, const struct tp_mad_packet *pkt);
void rmpp_recv_free(struct tp_mad_agent *a, struct mad_transfer *t);
unsigned int rmpp_recv_expire(struct tp_mad *m);

/* --- smi.c --- */
enum smi_verdict { SMI_HERE, SMI_WIRE, SMI_DROP };
enum smi_verdict smi_out(uint8_t *smp, uint8_t port_num);
enum smi_verdict smi_in(uint8_t *smp, uint8_t port_num);

#endif /* MAD_AGENT_MAD_PRIV_H */
