/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * rdma-core's rping over connections of tp_rdma.h. A ping: the client names a source buffer, the server reads it and says
 * go ahead; the client names a sink, the server writes there what it read and says go ahead.
 *
 * options.c what is asked for; conn.c a connection and its pings, either role; rping.c who calls whom.
 */
#ifndef RPING_H
#define RPING_H

#include "apps/roce_common/end.h"
#include "tp_rdma.h"

#define RPING_PORT 7174u
#define RPING_MIN_SIZE 26u    /* the text of a ping with the largest number, and its end */
#define RPING_MAX_SIZE 65535u /* 64 KiB is what a server has room for */
#define RPING_MAX_CONNS 256u

struct rping_conf {
	struct rport_conf port;
	const char *addr, *source;
	uint32_t server, client, persistent, verbose, validate, debug;
	uint32_t tcp_port, size, count, help;
};

int rping_parse(struct rping_conf *conf, int argc, char **argv, char *err, size_t errlen);
void rping_usage(void);
/* One end, for rend_run(). */
int rping_run(struct rend *e);

/* What is named to the other end, in network order. */
struct rping_info {
	rte_be64_t addr;
	rte_be32_t rkey, size;
};

enum rping_step {
	RPING_IDLE,   /* client: not connected. server: waits for a source */
	RPING_SOURCE, /* client: the source was named. server: it is being read */
	RPING_SINK,   /* client: the sink was named. server: waits for it */
	RPING_WRITE,  /* server: it is being written */
};

struct rping_conn {
	const struct rping_conf *conf;
	struct rend *e;
	struct rdma_cm_id *id;
	bool server, quiet, connected, over; /* over: it is to go */
	int status;                          /* negative errno: why */
	enum rping_step step;
	uint32_t pings;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct rping_info *out, *in; /* in mem, as are the buffers */
	char *mem, *start, *data;
};

/* Queues and memory of a connection, before connect or accept. The id stays the caller's. */
int rping_conn_open(struct rping_conn *c);
void rping_conn_close(struct rping_conn *c);
/* The client's first ping. */
int rping_conn_begin(struct rping_conn *c);
/* Does what its completions ask for; over is set when it ended, well or not. */
void rping_conn_poll(struct rping_conn *c);

#endif /* RPING_H */
