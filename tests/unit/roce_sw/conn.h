/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections between the two ports of a pair, for tests of tp_rdma.h: node 0 asks, node 1 is asked. */
#ifndef RSW_CONN_H
#define RSW_CONN_H

#include "pair.h"
#include "tp_rdma.h"

#define CONN_SERVICE 7174

/* Of node 0 and of node 1; they do not block. */
extern struct rdma_event_channel *conn_ch[2];

/* cmocka fixtures: *state is a pair with connection management. */
int conn_setup(void **state);
int conn_teardown(void **state);

/* Of a node; in one of a few places that are used in turn. */
struct sockaddr *conn_address(enum pair_net net, unsigned int node, uint16_t port);
/* The next event of a node's channel, which must be this one. The second acknowledges it. */
struct rdma_cm_event *conn_expect(struct pair *p, unsigned int node, enum rdma_cm_event_type type);
void conn_expect_status(struct pair *p, unsigned int node, enum rdma_cm_event_type type, int status);
/* No event comes. */
void conn_silence(struct pair *p, unsigned int ms);

struct rdma_cm_id *conn_new_id(unsigned int node, enum rdma_port_space ps);
struct rdma_cm_id *conn_listening(unsigned int node, enum rdma_port_space ps, struct sockaddr *addr, int backlog);
/* Of node 0, ready to connect. */
struct rdma_cm_id *conn_routed(struct pair *p, enum rdma_port_space ps, struct sockaddr *dst);
void conn_with_qp(struct pair *p, unsigned int node, struct rdma_cm_id *id);
/* A request that arrives at node 1; its id. */
struct rdma_cm_id *conn_request(struct pair *p, struct rdma_cm_id *listener);
/* With its queue pair */
void conn_destroy(struct rdma_cm_id *id);

/* Who asked, who was asked, who listens. */
struct conn_both {
	struct rdma_cm_id *a, *b, *l;
};
struct conn_both conn_connected(struct pair *p, enum pair_net net);
/* Ends it from side a and gives everything back. */
void conn_disconnected(struct pair *p, struct conn_both *c);

#endif /* RSW_CONN_H */
