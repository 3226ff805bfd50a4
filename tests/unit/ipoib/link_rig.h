/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A subnet in memory and virtual time: interfaces (the code under test) on ports with LIDs, and an administrator that answers
 * after a while, not at all, or with a refusal.
 */
#ifndef IPOIB_LINK_RIG_H
#define IPOIB_LINK_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/ipoib/iface/conn.h"
#include "lib/ipoib/iface/view.h"

#define RIG_NODES 3
#define RIG_QUEUE 256
#define RIG_QKEY 0x0b1bu

struct rig;

/* What an address handle stands for. */
struct rig_ah {
	struct ibv_ah ah;
	struct ibv_ah_attr attr;
	unsigned int node;
};

struct rig_node {
	struct rig *rig;
	struct ipoib_core *core;
	unsigned int index, ahs, up_calls, down_calls;
	struct {
		uint8_t mgid[16];
		uint16_t mlid;
		bool member, attached;
	} group[32];
	unsigned int groups;
	struct rte_mbuf *app[RIG_QUEUE]; /* frames for the application */
	unsigned int napp;
	uint64_t sent;
	uint64_t sent_flags; /* what the last datagram asked of the card */
	unsigned int path_asked, join_asked, left, detached;
	unsigned int conns_asked, conn_sent;
};

struct rig_answer {
	uint64_t at;
	unsigned int node;
	bool path;
	uint32_t token;
	int status;
	union {
		struct tp_sa_path p;
		struct tp_sa_member m;
	};
};

struct rig {
	struct rte_mempool *pool;
	struct rig_node node[RIG_NODES];
	uint64_t now;
	struct rig_answer answer[RIG_QUEUE];
	unsigned int answers;
	uint64_t sa_delay;
	int sa_path_status, sa_join_status; /* of answers */
	int sa_call;                        /* of the calls themselves */
	bool sa_silent;
	int cm_call;    /* of the call that asks for a connection */
	bool cm_silent; /* peers do not answer */
	uint16_t next_mlid;
	uint8_t mtu_code;
};

void rig_open(struct rig *r);
void rig_close(struct rig *r);
/* Lets ms go by; answers come when their time has. */
void rig_run(struct rig *r, uint64_t ms);
/* The node's port comes up with a LID. */
void rig_up(struct rig *r, unsigned int node, uint16_t lid);
void rig_all_up(struct rig *r);
/* Makes len octets of a fresh mbuf its data. */
uint8_t *rig_room(struct rte_mbuf *m, uint32_t len);
/* A frame from the application of a node: header, then l3. */
void rig_send(struct rig *r, unsigned int node, const struct rte_ether_addr *dst, uint16_t etype, const void *l3,
	      uint32_t len);
/* The oldest frame of the application, or NULL; to be freed. */
struct rte_mbuf *rig_take(struct rig *r, unsigned int node);
/* An ARP request or reply of Ethernet. */
void rig_arp(struct rig *r, unsigned int node, uint16_t op, uint32_t sip, uint32_t tip,
	     const struct rte_ether_addr *tha);
/* --- conn_rig.c */
int rig_conn_open(void *arg, struct ipoib_conn *conn);
void rig_conn_close(void *arg, struct ipoib_conn *conn);
void rig_conn_send(void *arg, struct ipoib_conn *conn, struct rte_mbuf *m);
void rig_conns_run(struct rig *r);
/* All that ends has ended. */
void rig_conns_end(struct rig *r);

uint64_t rig_guid(unsigned int node);
uint32_t rig_qpn(unsigned int node);

#endif /* IPOIB_LINK_RIG_H */
