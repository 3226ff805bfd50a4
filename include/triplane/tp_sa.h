/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * A client of the subnet administrator of an InfiniBand port (IBTA 1.4, 15.2): path and multicast member records.
 *
 * All calls are asynchronous: they give 0 and call back once, or a negative errno and never. Callbacks come from the
 * port's management work (tp_mad_progress() or its thread) with the port's lock held, never from within the call that
 * asked; each call of this file may be made from them. A callback that waits for a lock of its owner needs an owner that
 * calls nothing here with that lock held.
 *
 * What a callback says: 0; -ETIMEDOUT no answer in time to any try; -ENOENT no such record; -EACCES denied; -ENOBUFS the
 * administrator is out of resources; -EINVAL it finds the request wrong (also an invalid GID, too few components);
 * -EPROTO an answer that is not one; -ECANCELED the client is closed.
 *
 * Threads: any, the port's lock serialises them.
 */
#ifndef TP_SA_H
#define TP_SA_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TP_SA_TIMEOUT_MS 1000u
#define TP_SA_TIMEOUT_MS_MIN 250u
#define TP_SA_TIMEOUT_MS_MAX 60000u
#define TP_SA_RETRIES 10u
#define TP_SA_RETRIES_MIN 1u
#define TP_SA_RETRIES_MAX 64u
#define TP_SA_PATHS 4096u   /**< destinations that are remembered or asked for; those remembered make room for others */
#define TP_SA_WAITING 8192u /**< calls of a client that wait for answers */

struct tp_mad;
struct tp_sa;

/** How often and how long a client asks; all zero: the defaults. */
struct tp_sa_conf {
	uint32_t timeout_ms; /**< TP_SA_TIMEOUT_MS_MIN..TP_SA_TIMEOUT_MS_MAX for one answer; 0: TP_SA_TIMEOUT_MS */
	uint32_t retries;    /**< TP_SA_RETRIES_MIN..TP_SA_RETRIES_MAX after the first try; 0: TP_SA_RETRIES */
};

/** A path (15.2.5.16). Rates and MTUs are the codes of enum ibv_rate and enum ibv_mtu. */
struct tp_sa_path {
	union ibv_gid dgid, sgid;
	uint16_t dlid, slid; /**< host order */
	uint16_t pkey;
	uint8_t sl;
	uint8_t mtu, rate;
	uint8_t lifetime; /**< 4.096 us * 2^lifetime */
	uint8_t traffic_class, hop_limit;
	uint32_t flow_label;
	bool reversible;
};

/** A member of a multicast group, or the group (15.2.5.17). */
struct tp_sa_member {
	union ibv_gid mgid, port_gid;
	uint32_t qkey;
	uint16_t mlid, pkey;
	uint8_t mtu_selector, mtu, rate_selector, rate, lifetime_selector, lifetime; /**< selector: TP_SA_EXACTLY ... */
	uint8_t sl, traffic_class, hop_limit, scope;
	uint8_t join_state; /**< TP_SA_FULL ... */
	uint32_t flow_label;
	bool proxy_join;
};

enum tp_sa_selector { TP_SA_GREATER, TP_SA_LESS, TP_SA_EXACTLY, TP_SA_BEST };
enum tp_sa_join_state { TP_SA_FULL = 1, TP_SA_NON = 2, TP_SA_SEND_ONLY = 4, TP_SA_SEND_ONLY_FULL = 8 };

/** Components of a member record that a request names, as in the mask of the datagram. */
enum tp_sa_member_mask {
	TP_SA_MC_MGID = 1 << 0,
	TP_SA_MC_PORT_GID = 1 << 1,
	TP_SA_MC_QKEY = 1 << 2,
	TP_SA_MC_MLID = 1 << 3,
	TP_SA_MC_MTU_SELECTOR = 1 << 4,
	TP_SA_MC_MTU = 1 << 5,
	TP_SA_MC_TRAFFIC_CLASS = 1 << 6,
	TP_SA_MC_PKEY = 1 << 7,
	TP_SA_MC_RATE_SELECTOR = 1 << 8,
	TP_SA_MC_RATE = 1 << 9,
	TP_SA_MC_LIFETIME_SELECTOR = 1 << 10,
	TP_SA_MC_LIFETIME = 1 << 11,
	TP_SA_MC_SL = 1 << 12,
	TP_SA_MC_FLOW_LABEL = 1 << 13,
	TP_SA_MC_HOP_LIMIT = 1 << 14,
	TP_SA_MC_SCOPE = 1 << 15,
	TP_SA_MC_JOIN_STATE = 1 << 16,
	TP_SA_MC_PROXY_JOIN = 1 << 17,
};

typedef void (*tp_sa_path_cb)(void *arg, int status, const struct tp_sa_path *path);
typedef void (*tp_sa_member_cb)(void *arg, int status, const struct tp_sa_member *member);
/** records: n of them, each `stride` bytes long; they are the callee's until it returns. */
typedef void (*tp_sa_records_cb)(void *arg, int status, const uint8_t *records, uint32_t stride, uint32_t n);

/**
 * A client on the management service of a port.
 * @return 0; -EINVAL a value out of its range, -ENOMEM, -ENOSPC the port has no room for another agent.
 */
int tp_sa_create(struct tp_mad *mad, const struct tp_sa_conf *conf, struct tp_sa **sa);
/** Calls back -ECANCELED to all who wait. */
void tp_sa_destroy(struct tp_sa *sa);
/** New times for requests to come. @return 0, -EINVAL. */
int tp_sa_configure(struct tp_sa *sa, const struct tp_sa_conf *conf);
/** The times in force. */
void tp_sa_conf_get(struct tp_sa *sa, struct tp_sa_conf *conf);

/**
 * The path to a GID with a partition key. One request per destination is under way, others wait for its answer; an answer is
 * kept until an event or tp_sa_forget().
 * @param pkey as in the port's table
 * @return 0; -ENETUNREACH the port has no LID or knows no subnet manager yet, -ENOBUFS TP_SA_PATHS are asked for or
 *   TP_SA_WAITING are there, -ENOMEM.
 */
int tp_sa_path(struct tp_sa *sa, const union ibv_gid *dgid, uint16_t pkey, tp_sa_path_cb cb, void *arg);
/** What is remembered of a destination, without asking. */
bool tp_sa_path_cached(struct tp_sa *sa, const union ibv_gid *dgid, uint16_t pkey, struct tp_sa_path *path);
/** Forgets a destination (NULL: all): the next call asks again. */
void tp_sa_forget(struct tp_sa *sa, const union ibv_gid *dgid);

/**
 * Joins a group, or makes it when the components are enough for that. Requests of one group are made one after the other
 * in the order of the calls. The port GID is filled in.
 * @param mask TP_SA_MC_*; MGID, port GID and join state are always named
 */
int tp_sa_join(struct tp_sa *sa, const struct tp_sa_member *want, uint64_t mask, tp_sa_member_cb cb, void *arg);
/** Takes join states back. @param cb may be NULL. */
int tp_sa_leave(struct tp_sa *sa, const union ibv_gid *mgid, uint8_t join_state, tp_sa_member_cb cb, void *arg);

/**
 * Any request: method and attribute as in 15.2.2 and 15.2.5 (ClassPortInfo, ServiceRecord, InformInfo, tables ...).
 * @param record len bytes, 0..200
 */
int tp_sa_request(struct tp_sa *sa, uint8_t method, uint16_t attr, uint64_t mask, const uint8_t *record, uint32_t len,
		  tp_sa_records_cb cb, void *arg);

/** Nobody waits any more with this arg: no callback with it comes later. @return how many there were. */
unsigned int tp_sa_cancel(struct tp_sa *sa, const void *arg);

/**
 * An asynchronous event of the port. After IBV_EVENT_SM_CHANGE, LID_CHANGE, CLIENT_REREGISTER, PKEY_CHANGE, GID_CHANGE,
 * PORT_ERR and PORT_ACTIVE nothing is remembered, and what is under way is asked anew, of the manager there is now; others
 * change nothing. To join again is the owner's.
 */
void tp_sa_event(struct tp_sa *sa, enum ibv_event_type type);

struct tp_sa_stats {
	uint64_t requests, answers, timeouts, refused, malformed;
	uint64_t cache_hits, waited; /**< calls without a request of their own */
	uint32_t paths, waiting;
};
void tp_sa_stats_get(struct tp_sa *sa, struct tp_sa_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* TP_SA_H */
