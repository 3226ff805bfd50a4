/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Two ethdevs joined by a wire that a test may spoil, each opened for RoCE in software; the calling thread drives both.
 * Everything goes through the public calls of tp_roce.h.
 */
#ifndef RSW_PAIR_H
#define RSW_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>

#include "lib/roce/port/provider.h"

#define PAIR_MEM (4u << 20)
#define PAIR_LANES 4u /* of a node, at most */
#define PAIR_ALL                                                                                                       \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |        \
	 IBV_ACCESS_MW_BIND)

struct node {
	uint16_t port;
	uint16_t lanes;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	uint8_t *mem; /* PAIR_MEM */
	struct troce_mad mads[256];
	unsigned int num_mads;
};

enum pair_net { PAIR_V4, PAIR_V6, PAIR_V1, PAIR_VLAN };

struct pair {
	struct node n[2];
	unsigned int vlan;
	int gid[2][4]; /* index by enum pair_net */
	/* Judges a frame on the wire, from node 0 or 1: how often it arrives. NULL: once. */
	unsigned int (*wire)(struct pair *p, unsigned int from, struct rte_mbuf *m);
	void *arg;
	uint64_t frames[2];
	bool managed; /* connection management takes part; if not, datagrams of QP1 are only kept */
	uint32_t seed;
};

struct pair_conf {
	uint16_t mtu, udp_port;
	uint16_t eth_mtu; /* 0: 4500 */
	uint16_t told;    /* tp_roce_conf.eth_mtu */
	bool app_rx;
	uint16_t lanes[2];        /* 0: 1 */
	struct rte_mempool *pool; /* tp_roce_conf.pool */
};

/*
 * cmocka fixtures with a pair that carries RoCE MTU 1024; *state is the pair. Where the environment has RSW_LANES, node 1 has so many
 * lanes, packets come to all of its queues, and what its CQ is given to is of another lane than the first.
 */
int pair_setup(void **state);
int pair_teardown(void **state);
struct pair *pair_open(const struct pair_conf *conf);
/* Memory of the EAL in MB, for who sets it before the first pair is opened. */
extern unsigned int pair_eal_mb;
void pair_close(struct pair *p);

/* One turn of both ports and the wire. */
void pair_step(struct pair *p);
/* Until the CQ has n completions, 20 s at most; they must succeed when wc is NULL. */
void pair_wait(struct pair *p, struct ibv_cq *cq, int n, struct ibv_wc *wc);
/* Steps for some milliseconds, and often enough for a packet and its answer to arrive. */
void pair_run(struct pair *p, unsigned int ms);
/* A counter of a node. */
uint64_t pair_stat(struct pair *p, unsigned int node, const char *name);
/* The next asynchronous event, of this type; what it is about. */
void *pair_event(struct pair *p, unsigned int node, enum ibv_event_type type);
/* There is none. */
void pair_no_event(struct pair *p, unsigned int node);

struct qp_conf {
	enum ibv_qp_type type;
	struct ibv_srq *srq;
	struct ibv_cq *scq, *rcq; /* NULL: the node's */
	struct ibv_pd *pd;
	uint32_t send_wr, recv_wr, sge, inl; /* 0: 64, 64, 4, 256 */
	enum pair_net net;
	uint8_t timeout, retry, rnr_retry, min_rnr, access_off; /* 0: code 10, 7, 7, code 1 */
	bool no_retry, no_rnr_retry, sig_all;
	uint8_t rd_atomic; /* 0: 4 */
	uint8_t mtu;       /* enum ibv_mtu; 0: the port's */
};

struct ibv_qp *pair_qp(struct pair *p, unsigned int node, const struct qp_conf *c);
void pair_connect(struct pair *p, struct ibv_qp *a, struct ibv_qp *b, const struct qp_conf *c);
/* One end of it alone. */
void pair_connect_one(struct pair *p, struct ibv_qp *a, const struct ibv_qp *b, const struct qp_conf *c);
/* Two that are connected: of node 0 and of node 1. */
void pair_qps(struct pair *p, const struct qp_conf *c, struct ibv_qp **a, struct ibv_qp **b);
void pair_to_error(struct ibv_qp *qp);
enum ibv_qp_state pair_state(struct ibv_qp *qp);
struct ibv_ah *pair_ah(struct pair *p, unsigned int node, const union ibv_gid *dgid, enum pair_net net);
union ibv_gid pair_gid(struct pair *p, unsigned int node, enum pair_net net);

/* Requests of one element at an offset of the node's memory; they must be accepted. */
void pair_recv(struct pair *p, unsigned int node, struct ibv_qp *qp, uint64_t id, uint32_t off, uint32_t len);
void pair_send(struct pair *p, unsigned int node, struct ibv_qp *qp, uint64_t id, uint32_t off, uint32_t len);
/* A request towards the peer's memory at roff. */
struct ibv_send_wr pair_wr(struct pair *p, unsigned int node, enum ibv_wr_opcode op, struct ibv_sge *sge, uint32_t off,
			   uint32_t len, uint32_t roff);
void pair_post(struct ibv_qp *qp, struct ibv_send_wr *wr);
void pair_fill(struct pair *p, unsigned int node, uint32_t off, uint32_t len, uint32_t seed);
void pair_same(struct pair *p, uint32_t off0, uint32_t off1, uint32_t len);
uint32_t pair_random(struct pair *p);

/* A frame as if it came from the wire to a node. */
void pair_inject(struct pair *p, unsigned int node, const void *frame, uint32_t len);

#endif /* RSW_PAIR_H */
