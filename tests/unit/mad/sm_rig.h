/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Fabrics that a small manager is to manage, and who asks its administrator, in virtual time. */
#ifndef MAD_SM_RIG_H
#define MAD_SM_RIG_H

#include "fabric.h"
#include "tp_sa.h"
#include "tp_sm.h"

#define GUID(n) (0x0002c90300000000ull + (n)*0x10)
#define SWITCH(n) (0x0002c90500000000ull + (n))
#define TO_MAKE (TP_SA_MC_QKEY | TP_SA_MC_PKEY | TP_SA_MC_TRAFFIC_CLASS | TP_SA_MC_SL | TP_SA_MC_FLOW_LABEL)

extern struct fab fab;
extern const union ibv_gid broadcast;

/* What the administrator said to one question. */
struct answer {
	unsigned int calls;
	int status;
	struct tp_sa_path path;
	struct tp_sa_member member;
	uint8_t *records;
	uint32_t stride, n;
};

/* Adapters 1..n of one port, at a switch, node 0. */
void sm_star(unsigned int n);
/* Switches 0, 1, 2 in a ring with two adapters each: 3 and 4, 5 and 6, 7 and 8. Between 0 and 1 there are two cables. */
void sm_ring(void);
/* A manager on port 1 of a node, which looks each 100 ms. */
struct tp_sm *sm_manage(unsigned int node, uint8_t priority);
struct tp_sm_stats sm_stats(struct tp_sm *sm);
/* Every adapter's port is up, with a LID of its own, and packets of each reach each other. */
void assert_whole(unsigned int first, unsigned int last);
/* How many copies come to members from one port; none gets two. */
unsigned int sm_copies_from(unsigned int node, uint16_t mlid);

/* A client on port 1 of a node, and what it is told, as errno. */
struct tp_sa *sm_client(unsigned int node);
int sm_ask_path(struct tp_sa *sa, unsigned int node, uint16_t pkey, struct tp_sa_path *path);
/* Records are the caller's to free. */
struct answer sm_ask(struct tp_sa *sa, uint8_t method, uint16_t attr, uint64_t mask, const uint8_t *record,
		     uint32_t len);
struct tp_sa_member sm_group(uint8_t last, uint8_t join_state);
int sm_join(struct tp_sa *sa, const struct tp_sa_member *want, uint64_t mask, struct tp_sa_member *got);
int sm_leave(struct tp_sa *sa, const union ibv_gid *mgid, uint8_t join_state);

/* What a question looks like, and the whole answer: header and records as they were on the wire. */
struct sm_reply {
	unsigned int calls;
	uint16_t status;
	uint32_t len;
	uint8_t data[40000];
};
/* Asks the administrator from port 1 of a node. key: SM_Key. @return the answer, until the next question. */
const struct sm_reply *sm_raw(unsigned int node, uint8_t method, uint16_t attr, uint64_t key, uint64_t mask,
			      const uint8_t *record, uint32_t len);

#endif /* MAD_SM_RIG_H */
