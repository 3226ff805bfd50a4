/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A fabric in memory, in virtual time: adapters whose ports have a management service with a firmware behind it, switches that
 * follow directed routes and forward by their tables, cables between them. It knows what the standard says of attributes and
 * nothing of who manages it.
 */
#ifndef MAD_FABRIC_H
#define MAD_FABRIC_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/mad/agent/mad_fmt.h"
#include "tp_mad.h"

#define FAB_NODES 12
#define FAB_PORTS 20 /* more than the 16 of one block of a multicast table */
#define FAB_LIDS 256
#define FAB_GROUPS 128
#define FAB_MS 1000000ull

struct fab;
struct fab_port {
	struct fab *fab;
	unsigned int node, num;
	int peer; /* -1: no cable */
	unsigned int peer_port;
	uint8_t info[64], pkeys[64];
	uint8_t set[8][64]; /* the first PortInfos that were set, whatever became of them */
	unsigned int num_set;
	struct tp_mad *mad;      /* of an adapter's port */
	unsigned int registered; /* how often it was told to register anew */
	uint64_t rx;             /* group packets that arrived here, fab_multicast() */
};

struct fab_node {
	bool used, is_switch, deaf; /* deaf: answers nothing */
	uint64_t guid;
	unsigned int ports;
	uint8_t says_ports; /* in its NodeInfo; 0: how many it has */
	bool says_none;     /* that it has no ports */
	struct fab_port port[FAB_PORTS + 1];
	uint8_t lft[FAB_LIDS];
	uint64_t mft[FAB_GROUPS];
	uint8_t switch_set[64]; /* SwitchInfo as set last */
};

struct fab {
	struct fab_node node[FAB_NODES];
	uint64_t now, smps, lost;
	struct {
		struct tp_mad_packet pkt;
		unsigned int node, port; /* where it arrives */
	} wire[512];
	unsigned int head, num;
};

void fab_up(struct fab *f);
void fab_down(struct fab *f);
/* An adapter's port p has the GUID of the node plus p. */
void fab_adapter(struct fab *f, unsigned int node, uint64_t guid, unsigned int ports);
void fab_switch(struct fab *f, unsigned int node, uint64_t guid, unsigned int ports);
void fab_cable(struct fab *f, unsigned int a, unsigned int port_a, unsigned int b, unsigned int port_b);
/* Takes the cable of a port out: both ends are down. */
void fab_cut(struct fab *f, unsigned int node, unsigned int port);
/* Datagrams arrive, time passes. */
void fab_run(struct fab *f, uint64_t ms);
struct fab_port *fab_port(struct fab *f, unsigned int node, unsigned int port);
uint16_t fab_lid(struct fab *f, unsigned int node, unsigned int port);
unsigned int fab_state(struct fab *f, unsigned int node, unsigned int port);
/* Where a packet from a port ends that the switches forward by its LID; NULL: nowhere. */
struct fab_port *fab_unicast(struct fab *f, struct fab_port *from, uint16_t dlid);
/* How many copies of a group's packet come to adapters' ports; counts them there. false: it goes round in circles. */
bool fab_multicast(struct fab *f, struct fab_port *from, uint16_t mlid, unsigned int *copies);
struct tp_mad *fab_mad(struct fab *f, unsigned int node, unsigned int port);

#endif /* MAD_FABRIC_H */
