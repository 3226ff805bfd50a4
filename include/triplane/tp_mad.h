/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * The management service of an InfiniBand port (IBTA 1.4, chapter 13): agents that serve and ask, transaction identifiers,
 * times and retries, directed routes and RMPP, between QP0 and QP1 of the port and whoever uses them. Who gets what is
 * decided as Linux does it for its own agents, so that its programs find what they know.
 *
 * It has no thread and no clock of its own: the home brings both. Errors are negative errno.
 *
 * Threads: all functions may be called from any thread; the service's own lock, which is recursive, is held meanwhile, and
 * during each call of an agent and of the home's operations.
 */
#ifndef TP_MAD_H
#define TP_MAD_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "tp_mad_port.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TP_MAD_AGENTS 256u        /**< of a port */
#define TP_MAD_SENDS 4096u        /**< requests and transfers of an agent under way */
#define TP_MAD_MESSAGE (4u << 20) /**< the longest message, bytes */
/** Memory for messages that come in segments, bytes, all agents of a port; requests get half, so that answers find room. */
#define TP_MAD_REASSEMBLY (32u << 20)
#define TP_MAD_FOREVER UINT32_MAX /**< a time-out that never comes */

/** What the service must know of its port. */
struct tp_mad_port_state {
	uint16_t lid, sm_lid; /**< 0: none */
	uint8_t lmc, sm_sl;
	uint8_t port_num;
	bool active;
	union ibv_gid gid;
};

/** What a port's home does for its service. */
struct tp_mad_ops {
	/** Puts a datagram on the wire. @return 0, -EAGAIN: no room now, other: it is lost. */
	int (*send)(void *home, const struct tp_mad_packet *pkt);
	/**
	 * The firmware's answer to a datagram for this port.
	 * @return 1: out->data is the answer, 0: taken, no answer, negative: not the firmware's.
	 */
	int (*process)(void *home, const struct tp_mad_packet *in, struct tp_mad_packet *out);
	void (*port)(void *home, struct tp_mad_port_state *state);
	uint64_t (*now_ns)(void *home);
};

struct tp_mad;
struct tp_mad_agent;

/** What an agent gets: a datagram or a whole message, or its own request that nobody answered. */
struct tp_mad_msg {
	int status; /**< 0; -ETIMEDOUT, -ECONNABORTED (RMPP): of a request or message of this agent */
	const struct tp_mad_packet *pkt; /**< where it is from; its data are the first 256 bytes */
	const uint8_t *data; /**< the message: that of the first segment, further ones add only their data */
	uint32_t len;
};

struct tp_mad_agent_conf {
	uint8_t qpn;           /**< 0 or 1 */
	uint8_t mgmt_class;    /**< 0: answers only */
	uint8_t class_version; /**< of what it serves */
	uint64_t methods[2];   /**< bit per method that it serves of its class; both 0: answers only */
	uint32_t oui;          /**< of vendor classes 0x30 to 0x4f that it serves, in host order */
	uint8_t rmpp_version;  /**< 1: the service segments and reassembles, 0: it shows each datagram */
	/** Called without and within calls of the agent; may call everything, also tp_mad_unregister(). */
	void (*recv)(void *arg, const struct tp_mad_msg *msg);
	/** Called by tp_mad_progress() after tp_mad_wake(); may be NULL. */
	void (*work)(void *arg);
	void *arg;
};

struct tp_mad_stats {
	uint64_t received, sent, send_errors, send_full;
	uint64_t malformed; /**< not a datagram of this standard, or not of this QP */
	uint64_t bad_route; /**< directed route that does not lead here */
	uint64_t unmatched; /**< requests that nobody serves: refused by an answer where the standard has one */
	uint64_t late;      /**< answers to nothing, or to what was given up */
	uint64_t timeouts, retries;
	uint64_t rmpp_received, rmpp_sent, rmpp_dropped, rmpp_aborted;
	uint64_t firmware; /**< answered by the port's firmware */
};

struct tp_mad *tp_mad_create(const struct tp_mad_ops *ops, void *home);
/** Agents that are left go too; nobody is called back. */
void tp_mad_destroy(struct tp_mad *mad);

/** A datagram that came in. Any bytes may come. */
void tp_mad_input(struct tp_mad *mad, const struct tp_mad_packet *pkt);
/** Time has passed: time-outs, and what waits for room. @return how much was done. */
unsigned int tp_mad_progress(struct tp_mad *mad);
/** When tp_mad_progress() has something to do, in the home's nanoseconds; UINT64_MAX: nothing waits. */
uint64_t tp_mad_deadline(struct tp_mad *mad);

/**
 * A new agent.
 * @return 0; -EINVAL a value out of its range, -EBUSY another agent of the QP serves such a method of the class and version,
 *   -ENOSPC TP_MAD_AGENTS are there, -ENOMEM.
 */
int tp_mad_register(struct tp_mad *mad, const struct tp_mad_agent_conf *conf, struct tp_mad_agent **agent);
/** What it has under way is dropped; it is not called any more. */
void tp_mad_unregister(struct tp_mad_agent *agent);

/**
 * Sends a datagram, or a message in segments where its class has RMPP, its header says that RMPP is active and the agent
 * has rmpp_version. A request gets the agent's 32 bits as the high part of its transaction identifier.
 * @param to addressing: dlid, remote_qpn, qkey, pkey_index, sl, path_bits, GRH; its data are not looked at
 * @param len 24..TP_MAD_MESSAGE; above 256 only with RMPP
 * @param timeout_ms of an answer, or of a segment's acknowledgement; 0: no answer is expected; TP_MAD_FOREVER
 * @param retries after the first try
 * @return 0; -EINVAL a header or route that cannot be sent, or a request with this identifier, or an answer to this one of this
 *   receiver, is under way already,
 *   -EMSGSIZE, -ENOBUFS TP_MAD_SENDS are under way, -ENOMEM, or what the home's send said.
 */
int tp_mad_send(struct tp_mad_agent *agent, const struct tp_mad_packet *to, const uint8_t *data, uint32_t len,
		uint32_t timeout_ms, uint32_t retries);
/** Gives a request up by the low 32 bits of its identifier. @return whether it was under way. */
bool tp_mad_cancel(struct tp_mad_agent *agent, uint32_t tid);
/** The agent's work() is called by the next tp_mad_progress(). */
void tp_mad_wake(struct tp_mad_agent *agent);
/** The same at a time of the home's clock; a later call replaces it. */
void tp_mad_wake_at(struct tp_mad_agent *agent, uint64_t ns);
/** How to reach who sent a datagram (13.5.4). */
void tp_mad_reply_to(const struct tp_mad_packet *from, struct tp_mad_packet *to);

/** The home's clock, ns. */
uint64_t tp_mad_now(struct tp_mad *mad);
void tp_mad_port_state_get(struct tp_mad *mad, struct tp_mad_port_state *state);
void tp_mad_stats_get(struct tp_mad *mad, struct tp_mad_stats *stats);
void tp_mad_lock(struct tp_mad *mad);
void tp_mad_unlock(struct tp_mad *mad);

#ifdef __cplusplus
}
#endif

#endif /* TP_MAD_H */
