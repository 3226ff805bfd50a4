/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * A small subnet manager and administrator (IBTA 1.4, chapters 14 and 15) for machines without one: tests and demonstrations.
 * It finds what is there by directed routes, gives LIDs and partitions, routes by the fewest hops, brings links up, and answers
 * for paths, groups, nodes, ports and managers. It asks for one thing at a time and knows no QoS, no service levels, no keys of
 * management and no forwarding of notices: real fabrics take OpenSM, for which it stands back as the standard says.
 *
 * Errors are negative errno. Threads: any, by the lock of the port's service; it works within tp_mad_progress().
 */
#ifndef TP_SM_H
#define TP_SM_H

#include "tp_mad.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TP_SM_NODES 64u
#define TP_SM_PORTS 36u /**< of a switch */
#define TP_SM_PKEYS 32u /**< of a port, the default one among them */
#define TP_SM_GROUPS 64u
#define TP_SM_PRIORITY_MAX 15u
#define TP_SM_KEY 1u /**< OpenSM's, unless it is told another */
#define TP_SM_SWEEP_MS 1000u
#define TP_SM_SWEEP_MS_MIN 10u
#define TP_SM_SWEEP_MS_MAX 3600000u

/** All zero: the defaults. */
struct tp_sm_conf {
	uint32_t sweep_ms; /**< TP_SM_SWEEP_MS_MIN..TP_SM_SWEEP_MS_MAX between looks; 0: TP_SM_SWEEP_MS */
	uint8_t priority; /**< 0..TP_SM_PRIORITY_MAX: of several managers the highest is master, then the lowest GUID */
	uint64_t key;     /**< SM_Key; managers of one subnet have the same (OpenSM looks); 0: TP_SM_KEY */
	unsigned int num_pkeys;      /**< of each adapter's port, beside the default one; 0..TP_SM_PKEYS - 1 */
	uint16_t pkeys[TP_SM_PKEYS]; /**< with the bit of membership */
};

/** What a manager is, as in SMInfo (14.2.5.13). */
enum tp_sm_role { TP_SM_NOT_ACTIVE = 0, TP_SM_DISCOVERING = 1, TP_SM_STANDBY = 2, TP_SM_MASTER = 3 };

struct tp_sm_stats {
	uint64_t sweeps, requests, failed; /**< failed: requests of a sweep that nobody answered, or with an error */
	uint64_t sa_requests, sa_refused, traps, handovers;
	uint32_t nodes, ports, switches, groups; /**< as of the last sweep; ports: those that are active */
	enum tp_sm_role role;
	uint8_t priority;
	uint64_t master;         /**< port GUID of the manager that is master; 0: none is known */
	uint8_t master_priority; /**< its priority */
	bool up;                 /**< the last sweep left every link active */
};

struct tp_sm;

/**
 * A manager on a port; it begins with tp_mad_progress().
 * @return 0; -EINVAL a value out of its range, -EBUSY a manager runs on the port, -ENOMEM, -ENOSPC.
 */
int tp_sm_create(struct tp_mad *mad, const struct tp_sm_conf *conf, struct tp_sm **sm);
/** Ports stay as they are. */
void tp_sm_destroy(struct tp_sm *sm);
/**
 * Other partitions for all adapters' ports, by the next sweep, which begins at once; each has a broadcast group of IPoIB.
 * @param pkeys n of them, 0..TP_SM_PKEYS - 1, beside the default one
 * @return 0; -EINVAL too many, or a key whose bits 0 to 14 are all 0 or all 1 (10.9.1.2), or one that is named twice.
 */
int tp_sm_partitions(struct tp_sm *sm, const uint16_t *pkeys, unsigned int n);
void tp_sm_stats_get(struct tp_sm *sm, struct tp_sm_stats *stats);
/** "not-active", "discovering", "standby", "master". */
const char *tp_sm_role_name(enum tp_sm_role role);

#ifdef __cplusplus
}
#endif

#endif /* TP_SM_H */
