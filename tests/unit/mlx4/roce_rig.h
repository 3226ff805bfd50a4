/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* RoCE on the two ports of a stepped card that a cable joins: an end of a connection on each, with memory and a CQ. */
#ifndef ROCE_RIG_H
#define ROCE_RIG_H

#include <errno.h>

#include "rig.h"
#include "tp_roce.h"

#define RR_MEM 65536u
#define RR_CQES 255
#define RR_WRS 32u
#define RR_QKEY 0x11111111u
#define RR_ALL                                                                                                         \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |        \
	 IBV_ACCESS_MW_BIND)

/* The GIDs that a port has, in this order, where the card has both versions (see gid.c). */
enum rr_gid { RR_MAC_V1, RR_MAC_V2, RR_IPV4_V1, RR_IPV4_V2, RR_IPV6_V1, RR_IPV6_V2, RR_VLAN_V1, RR_VLAN_V2, RR_GIDS };
#define RR_VLAN 7u

struct rr_end {
	unsigned int port; /* 0, 1 */
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	uint8_t *mem; /* RR_MEM bytes */
};

/* The open ports. */
extern struct ibv_context *rr_ctx[2];
extern struct ibv_pd *rr_pd[2];

/* A card with these arguments, both ports open with addresses that know each other; and its end. */
void rr_open(const char *args, const struct tp_roce_conf *conf);
void rr_open_ports(const struct tp_roce_conf *conf); /* of a card that is there, with started ports */
void rr_close_ports(void);                           /* without a look at what the card has to complain about */
void rr_close(void);
/* What setup and teardown functions of cmocka want: a Pro card. */
int rr_setup(void **state);
int rr_teardown(void **state);

/* Moves the card and both ports until nothing happens any more. */
void rr_run(void);
/* Moves the card's clock, too. */
void rr_wait(uint64_t ns);
void rr_attr(struct ibv_ah_attr *a, unsigned int to, enum rr_gid gid);

/* An end without a queue pair, then one with it: in RESET. caps NULL: RR_WRS of two elements, 64 bytes inline. */
void rr_end(struct rr_end *e, unsigned int port);
void rr_qp(struct rr_end *e, enum ibv_qp_type type, const struct ibv_qp_cap *caps);
void rr_end_free(struct rr_end *e);
/* Steps of the state machine; they succeed. */
void rr_init(struct rr_end *e);
void rr_rtr(struct rr_end *e, const struct rr_end *peer, enum rr_gid gid);
void rr_rts(struct rr_end *e);
void rr_state(struct rr_end *e, enum ibv_qp_state state);
/* Two ends of one type, joined and ready; of ports 0 and 1. */
void rr_pair(struct rr_end *a, struct rr_end *b, enum ibv_qp_type type, enum rr_gid gid);

/* Work requests. Memory is named by its place in the end's. rr_post: whatever is in wr, signalled. */
int rr_post(struct rr_end *e, struct ibv_send_wr *wr);
int rr_send(struct rr_end *e, uint32_t at, uint32_t len, unsigned int flags);
int rr_rdma(struct rr_end *e, enum ibv_wr_opcode op, uint32_t at, uint32_t len, const struct rr_end *to,
	    uint32_t to_at);
int rr_recv(struct rr_end *e, uint32_t at, uint32_t len);

/* The next completion, which there must be; or that there is none. */
struct ibv_wc rr_poll(struct rr_end *e);
void rr_no_wc(struct rr_end *e);
struct ibv_wc rr_expect(struct rr_end *e, enum ibv_wc_status status, enum ibv_wc_opcode opcode, uint64_t wr_id);
/* The next asynchronous event of a port, acknowledged; waits for it. None: IBV_EVENT_CLIENT_REREGISTER. */
enum ibv_event_type rr_event(unsigned int port, void *object);
/* The same, without a look at other events that come before. */
void rr_expect_event(unsigned int port, enum ibv_event_type type, void *object);

void rr_fill(uint8_t *p, uint32_t len, uint8_t seed);
uint64_t rr_stat(unsigned int port, const char *name);

#endif /* ROCE_RIG_H */
