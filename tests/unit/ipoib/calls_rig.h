/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections of a port between an interface and a connection manager that are functions of the rig. */
#ifndef IPOIB_CALLS_RIG_H
#define IPOIB_CALLS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <rte_cycles.h>

#include "lib/ipoib/port/cm.h"

#define QPN 0x345678u    /* of datagrams */
#define RC_QPN 0x000abcu /* of a connection */
#define PEER_QPN 0x112233u
#define PEER_RC 0x445566u
#define RNR_FOREVER 7
#define LMC 2u

extern struct ipoib_port port;
extern struct ipoib_rxq rxq;
extern struct ipoib_remote remote;
extern struct tcm_conn tcm_conn;
extern const union ibv_gid own, peer;

/* What was called, and what the next calls answer. */
struct calls {
	unsigned int locked, published, reaped, qps, destroyed, errors, released, listening, queues;
	unsigned int overs, gones, ups, requests, rtus, closed_all, rejects;
	struct troce_path way;
	struct cm_req req;
	struct cm_rep rep;
	struct ipoib_hw hw;
	struct ibv_ah_attr av; /* of a queue pair that was made ready */
	uint8_t mtu, timeout, rnr;
	uint32_t dest, psn, up_qpn, up_mtu, peer_mtu;
	bool passive, refused;
	uint16_t reason;
	uint64_t service;
	int connect_err, open_err, ready_err, accept_err, rtu_err, listen_err, queues_err;
	bool full, stalled;
	struct ipoib_rc *rc; /* the last one with a queue pair */
	struct ipoib_conn conn;
};
extern struct calls did;

/* Connected mode of a port that has begun; its end, with a look at what is left. */
int calls_open(void **state);
int calls_close(void **state);
uint64_t now(void); /* in the code's milliseconds */
/* What the manager says of the last connection. */
void say(enum tcm_event_type type, const union cm_any *msg);
/* The peer's answer to our request, and its request, which comes with ask(). */
union cm_any answer(void);
union cm_any question(void);
void ask(const union cm_any *msg);
/* The connection goes when its time has come. */
void goes(void);

#endif /* IPOIB_CALLS_RIG_H */
