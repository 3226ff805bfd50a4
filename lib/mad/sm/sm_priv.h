/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The small manager's parts: sm.c (life, steps of a sweep, one request at a time), sm_discover.c (what is there), sm_peer.c
 * (other managers), sm_route.c (who is reached how), sm_sa.c and sm_paths.c (what others ask), sm_group.c (groups).
 */
#ifndef MAD_SM_SM_PRIV_H
#define MAD_SM_SM_PRIV_H

#include "lib/mad/agent/mad_fmt.h"
#include "lib/mad/sa/sa_record.h"
#include "tp_mad.h"
#include "tp_sm.h"

#define SM_PREFIX 0xfe80000000000000ull
#define SM_MEMBERS 64u
#define SM_LIDS (TP_SM_NODES * 2u)
#define SM_LFT_BLOCK 64u
#define SM_MFT_BLOCK 32u
#define SM_NO_PORT 0xffu
#define SM_STEPS 4096u
#define SM_SWITCH 2u
#define SM_PEERS 8u
#define SM_LIFETIME 18u /* of a packet, a second */

enum sm_state { SM_DOWN = 1, SM_INIT = 2, SM_ARMED = 3, SM_ACTIVE = 4 };

/* PortInfo (14.2.5.6): where its fields are. */
enum sm_port_info {
	SM_PI_PREFIX = 8,
	SM_PI_LID = 16,
	SM_PI_SM_LID = 18,
	SM_PI_CAPS = 20,
	SM_PI_WIDTH_ENABLED = 29,
	SM_PI_WIDTH = 31,
	SM_PI_STATE = 32,
	SM_PI_PHYS = 33,
	SM_PI_LMC = 34,
	SM_PI_SPEED = 35,
	SM_PI_MTU_SL = 36,
	SM_PI_MTU_CAP = 41,
	SM_PI_REREGISTER = 51,
	SM_PI_EXT_SPEED = 62, /* in force, 1 FDR, 2 EDR, and what the port can */
	SM_PI_EXT_SPEED_ENABLED = 63,
};
#define SM_CAP_IS_SM (1u << 1)
#define SM_CAP_REREGISTER (1u << 25)

/* NodeInfo (14.2.5.3). */
enum sm_node_info { SM_NI_TYPE = 2, SM_NI_PORTS = 3, SM_NI_NODE_GUID = 12, SM_NI_PORT_GUID = 20, SM_NI_PORT = 36 };

struct sm_port {
	uint8_t info[SMP_DATA_LEN]; /* PortInfo */
	bool known;
	int peer; /* node, -1: none */
	uint8_t peer_port;
	uint8_t path[SMP_MAX_HOPS], hops; /* to this port of an adapter, or to the switch */
};

struct sm_node {
	uint64_t guid;
	uint8_t info[SMP_DATA_LEN]; /* NodeInfo as seen first */
	uint8_t desc[SMP_DATA_LEN];
	uint8_t ports;
	bool is_switch;
	uint64_t port_guid[TP_SM_PORTS + 1];
	uint16_t lid[TP_SM_PORTS + 1]; /* of an adapter's ports, of a switch's port 0 */
	struct sm_port port[TP_SM_PORTS + 1];
	uint8_t switch_info[SMP_DATA_LEN];
	uint8_t out[SM_LIDS + 1];     /* by LID: which port leads there */
	uint8_t hops_to[TP_SM_NODES]; /* by node, over switches */
};

enum sm_what {
	SM_STEP_NODE,
	SM_STEP_DESC,
	SM_STEP_PORT,
	SM_STEP_SWITCH,
	SM_STEP_PEER, /* another manager's SMInfo */
	SM_STEP_SET,
	SM_STEP_TELL, /* Set(SMInfo): a word to another manager */
};

/* One request of a sweep. */
struct sm_step {
	enum sm_what what;
	uint8_t path[SMP_MAX_HOPS];
	uint8_t hops, port;
	int node, from; /* from: who is at the other end of the last hop, NODE */
	uint16_t attr;
	uint32_t mod;
	uint8_t data[SMP_DATA_LEN];
};

enum sm_phase { SM_IDLE, SM_DISCOVER, SM_CONFIGURE, SM_ARM, SM_ACTIVATE, SM_TELL, SM_POLL };

/* Words of Set(SMInfo) (14.2.5.13, 14.4.2). */
enum sm_word { SM_HANDOVER = 1, SM_ACKNOWLEDGE = 2, SM_DISABLE = 3, SM_STAND_BY = 4, SM_DISCOVER_AGAIN = 5 };

struct sm_peer {
	uint64_t guid;
	uint8_t priority, state; /* state: enum tp_sm_role */
	struct sm_port at;       /* the way there */
};

struct sm_group {
	struct tp_sa_member rec; /* without port GID and join state */
	unsigned int num;
	struct {
		union ibv_gid gid;
		uint8_t state;
	} member[SM_MEMBERS];
	bool keep; /* stays without members */
};

struct tp_sm {
	struct tp_mad *mad;
	struct tp_sm_conf conf;
	struct tp_mad_agent *smp, *directed, *sa;
	enum tp_sm_role role;
	enum sm_phase phase;
	struct sm_step *steps;
	unsigned int num_steps, at;
	uint32_t tid;
	bool waits, again, failed;
	uint64_t due;
	struct sm_node *node, *found; /* as of the last whole look, and of the one under way */
	unsigned int num_nodes, num_found, doubts;
	uint64_t lid_guid[SM_LIDS + 1]; /* who has a LID */
	uint64_t told[SM_LIDS + 1];     /* who was told to register anew, by this manager */
	struct sm_peer peer[SM_PEERS];  /* other managers, as of this look */
	unsigned int num_peers, silent; /* silent: polls that the master did not answer as one */
	struct sm_peer master;          /* while we stand by */
	uint64_t taken_from;            /* who handed over and waits for our word; 0: nobody */
	struct sm_group group[TP_SM_GROUPS];
	unsigned int num_groups;
	struct tp_sm_stats stats;
};

/* --- step.c --- */
/* A request to whom a path leads; NULL: there is no memory for more. */
struct sm_step *sm_step_add(struct tp_sm *sm, enum sm_what what, uint16_t attr, uint32_t mod, const struct sm_port *to);
/* What is to be set at a node's port; the answer to a PortInfo is kept. */
void sm_set(struct tp_sm *sm, unsigned int node, uint8_t port, uint16_t attr, uint32_t mod, const uint8_t *data);
/* Something has changed: another look, soon. */
void sm_again(struct tp_sm *sm);
uint64_t sm_own_guid(struct tp_sm *sm);

/* --- sm_discover.c --- */
void sm_discover_begin(struct tp_sm *sm);
void sm_discovered(struct tp_sm *sm, const struct sm_step *s, const uint8_t *data);

/* --- sm_peer.c --- */
void sm_peer_ask(struct tp_sm *sm, const struct sm_port *at);
void sm_peer_found(struct tp_sm *sm, const struct sm_step *s, const uint8_t *info);
/* After a look: whether it is ours to manage. */
bool sm_peer_verdict(struct tp_sm *sm);
/* Words that are due to others after a sweep. */
void sm_peer_tell(struct tp_sm *sm);
/* While we stand by: is the master alive? info: NULL when it did not answer. */
void sm_peer_poll(struct tp_sm *sm);
void sm_peer_polled(struct tp_sm *sm, const uint8_t *info);
/* Get and Set of SMInfo. */
void sm_peer_input(struct tp_sm *sm, struct tp_mad_agent *a, const struct tp_mad_packet *pkt);
void sm_info_put(struct tp_sm *sm, uint8_t info[SMP_DATA_LEN]);

/* --- sm_route.c --- */
void sm_assign_lids(struct tp_sm *sm);
void sm_configure(struct tp_sm *sm);
/* Each link that is not yet there. */
void sm_raise(struct tp_sm *sm, enum sm_state from, enum sm_state to);
bool sm_find_guid(const struct tp_sm *sm, uint64_t guid, const struct sm_node **node, uint8_t *port);
/* Ports of a switch that lead to members of a group. */
uint64_t sm_group_ports(const struct tp_sm *sm, const struct sm_node *sw, const struct sm_group *g);

/* --- answer.c, sm_sa.c, sm_paths.c --- */
void sm_sa_input(void *arg, const struct tp_mad_msg *msg);
void sm_answer(struct tp_sm *sm, const struct tp_mad_msg *msg, uint16_t status, const uint8_t *records, uint32_t stride,
	       uint32_t n);
/* One is wanted, or all: what a Get says when there is not one; a table may be empty. */
void sm_answer_found(struct tp_sm *sm, const struct tp_mad_msg *msg, const uint8_t *records, uint32_t stride,
		     uint32_t n);
void sm_paths(struct tp_sm *sm, const struct tp_mad_msg *msg);
/* Whether ports have it, full members or not. */
bool sm_has_pkey(const struct tp_sm *sm, uint16_t pkey, bool *full);
/* Codes of MTU and rate of a port (PortInfo). */
uint8_t sm_port_mtu(const struct sm_port *p);
uint8_t sm_port_rate(const struct sm_port *p);
/* A rate in 100 Mb/s, 0: none. The codes came one after the other and are in no order (15.2.5.16). */
uint32_t sm_rate_order(uint8_t code);

/* --- sm_group.c --- */
void sm_groups_begin(struct tp_sm *sm);
/* Memberships of ports that are there no more. */
void sm_groups_purge(struct tp_sm *sm);
void sm_member(struct tp_sm *sm, const struct tp_mad_msg *msg);

static inline enum sm_state
sm_port_state(const struct sm_port *p)
{
	return p->info[SM_PI_STATE] & 0xf;
}

#endif /* MAD_SM_SM_PRIV_H */
