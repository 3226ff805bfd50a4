/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Neighbours of a port: a bounded table of addresses, VLANs and MACs. The states are those of neighbour discovery (RFC
 * 4861, 7.3.2), for IPv4 too; DELAY is left out, since no upper layer tells that a neighbour is reachable. No input or output,
 * no clock: time is an argument where it matters, and whoever runs the table sends what it asks for.
 */
#ifndef ROCE_NET_NEIGH_H
#define ROCE_NET_NEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rte_ether.h>

#define TRN_NEIGHS 1024u /* a power of two */
#define TRN_NEIGH_NONE 0xffffu
#define TRN_NEVER UINT64_MAX

#define TRN_NEIGH_TRIES 3u                     /* MAX_MULTICAST_SOLICIT, MAX_UNICAST_SOLICIT (RFC 4861, 10) */
#define TRN_RETRANS_NS UINT64_C(1000000000)    /* RETRANS_TIMER */
#define TRN_REACHABLE_NS UINT64_C(30000000000) /* REACHABLE_TIME */
#define TRN_UNUSED_NS UINT64_C(600000000000)   /* a stale entry goes */
#define TRN_FAILED_NS UINT64_C(3000000000)     /* so long nobody asks again for one that does not answer */

enum trn_neigh_state { TRN_FREE = 0, TRN_INCOMPLETE, TRN_REACHABLE, TRN_STALE, TRN_PROBE, TRN_FAILED };

struct trn_neigh {
	union ibv_gid addr; /* IPv4 as ::ffff:a.b.c.d */
	union ibv_gid src;  /* ours, that asks */
	struct rte_ether_addr mac;
	uint16_t vlan;
	uint16_t next; /* in the bucket, or of the free ones */
	uint8_t state, tries;
	uint32_t used; /* when it was last looked for, by the table's count */
	uint64_t due;  /* when it changes by itself */
};

struct trn_neighs {
	struct trn_neigh e[TRN_NEIGHS];
	uint16_t bucket[TRN_NEIGHS];
	uint16_t free;
	uint32_t uses;
	uint64_t due; /* the earliest of all entries; 0: one has to be asked for */
	uint64_t evicted, failed;
};

/* What a packet says of a neighbour (RFC 4861, 7.2.3 and 7.2.5). */
enum {
	TRN_HEARD_SOLICITED = 1, /* it answers our question */
	TRN_HEARD_OVERRIDE = 2,  /* its MAC replaces one that is known */
	TRN_HEARD_CREATE = 4,    /* it asked for us: it is worth an entry */
};

/* Asks for a neighbour: by broadcast or multicast when INCOMPLETE, by its MAC when PROBE. */
typedef void (*trn_neigh_ask_fn)(void *arg, const struct trn_neigh *n);

void trn_neigh_init(struct trn_neighs *t);
/* 0: mac is filled; EINPROGRESS: it will be asked for; EHOSTUNREACH: it did not answer. */
int trn_neigh_lookup(struct trn_neighs *t, const union ibv_gid *addr, uint16_t vlan, const union ibv_gid *src,
		     struct rte_ether_addr *mac);
/* Someone said where addr is; mac NULL: it did not say. */
void trn_neigh_heard(struct trn_neighs *t, const union ibv_gid *addr, uint16_t vlan, const struct rte_ether_addr *mac,
		     unsigned int flags, uint64_t now);
/* Our address src went: nobody can ask in its name. */
void trn_neigh_forget(struct trn_neighs *t, const union ibv_gid *src, uint16_t vlan);
/* Timers; how many were asked for. t->due is then the time of the next call. */
unsigned int trn_neigh_run(struct trn_neighs *t, uint64_t now, trn_neigh_ask_fn ask, void *arg);

#endif /* ROCE_NET_NEIGH_H */
