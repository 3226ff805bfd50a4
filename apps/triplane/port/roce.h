/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * RoCE on ports that forward, too. A port that the user wants RoCE on has one transmit queue more, which is RoCE's alone.
 * While forwarding runs, one lcore has all receive queues of the port and a stream for RoCE: what the queues receive is
 * shown to RoCE first, the rest is forwarded; the stream drives the transport and the traffic of queue pairs. While
 * forwarding is stopped nobody does, and nothing is sent or answered.
 *
 * Queue pairs live while their port is started. They are made and changed by the main lcore and used by the stream; both
 * hold the port's lock meanwhile, and the stream passes by when it is taken.
 */
#ifndef TRIPLANE_PORT_ROCE_H
#define TRIPLANE_PORT_ROCE_H

#include <net/if.h>
#include <sys/queue.h>

#include <rte_spinlock.h>

#include <tp_roce.h>

#include "apps/triplane/app/app.h"
#include "stream.h"

#define ROCE_ADDRS 16u
#define ROCE_SIZE_MAX (1u << 20)
#define ROCE_DEPTH_MAX 1024u

/* Traffic of a queue pair, one kind at a time. */
struct roce_traffic {
	bool on;
	enum ibv_wr_opcode op;
	uint32_t size;
	bool counted;
	uint64_t left;     /* messages to send, when counted */
	uint64_t interval; /* TSC cycles between messages, 0: as fast as they go */
	uint64_t next;     /* TSC of the next one */
	uint64_t begun, ended;
	uint64_t base_msgs, base_bytes; /* counters of the queue pair when it began */
};

/* Written by the port's stream; readers on other lcores may see values of different moments. */
struct roce_counters {
	uint64_t tx_msgs, tx_bytes, rx_msgs, rx_bytes;
	uint64_t lost, late; /* of the numbered messages that another triplane sends */
	uint64_t errors;
	enum ibv_wc_status first_error;
};

struct roce_qp {
	TAILQ_ENTRY(roce_qp) next;
	struct roce_port *port;
	unsigned int id; /* in commands, of the port; the number that packets carry may be any */
	enum ibv_qp_type type;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_ah *ah; /* UD: of the peer */
	uint32_t size, depth;
	uint8_t *mem; /* depth receive slots, depth send slots, the place that a peer reads and writes */
	bool receives;
	uint32_t rx_posted, rx_done, tx_posted, tx_done;
	uint64_t tx_seq, rx_seq;
	struct {
		bool known, memory;
		uint32_t qpn, rkey;
		uint64_t addr;
		union ibv_gid gid;
	} peer;
	struct roce_traffic traffic;
	struct roce_counters count;
};

struct roce_addr {
	struct sockaddr_storage addr;
	unsigned int prefix;
	uint16_t vlan;
};

/* Congestion control of a priority: what differs from the defaults. */
#define ROCE_CC_PARAMS 32u
struct roce_cc {
	bool on;
	uint8_t variant; /* tp_roce_cc_variant_name(), 0: as at first */
	uint32_t has;    /* bit n: tp_roce_cc_param(n) is value[n] */
	uint64_t value[ROCE_CC_PARAMS];
};

struct roce_port {
	uint16_t id;
	bool on; /* the user wants it */
	/* as the next opening of the port will have it */
	struct tp_roce_conf conf;
	char provider[16], netdev[IF_NAMESIZE];
	struct roce_addr addr[ROCE_ADDRS];
	unsigned int num_addrs;
	struct sockaddr_storage gateway; /* family 0: none */
	struct roce_cc cc[TP_ROCE_PRIOS];
	/* while the port is started */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	rte_spinlock_t lock;
	TAILQ_HEAD(, roce_qp) qps;
	const struct rte_eth_rxtx_callback *hook[APP_MAX_QUEUES];
};

/* --- roce.c: life with the port, stream ------------------------------------------------------------------------- */

/* By their names in commands and settings; TP_ROCE_OFF has one, too. */
extern const char *const roce_mode_names[];
enum tp_roce_mode roce_mode_of(const char *name);

/* What is known of a port, made when there is nothing; NULL: no memory, which was said. */
struct roce_port *roce_of(struct app_port *p);
/* The same for a port that has RoCE on and is started; NULL: it has not, which was said. */
struct roce_port *roce_open_of(const struct app_port *p);
/* A command that shows "ports": fn for each that has RoCE on, the others without anything. */
int roce_show(void *arg, const struct cmd_args *a,
	      void (*fn)(struct out *o, struct roce_port *r, const struct cmd_args *a));
/* Transmit queues beside the user's. */
static inline uint16_t
roce_txq(const struct app_port *p)
{
	return p->roce != NULL && p->roce->on;
}
/* After a port was started, before it stops, before the program ends. */
int roce_port_up(struct app_port *p);
void roce_port_down(struct app_port *p);
void roce_port_free(struct app_port *p);
/* Gives the open port an address, or the gateway, that the user declared. 0 or a negative errno, which was said. */
int roce_addr_apply(struct roce_port *r, const struct roce_addr *a);
int roce_gateway_apply(struct roce_port *r);
/* Does it say anything? */
static inline bool
roce_cc_says(const struct roce_cc *c)
{
	return c->on || c->variant != 0 || c->has != 0;
}
/* Congestion control of the open port as cc says, by priority. 0 or a negative errno, which was said. */
int roce_cc_apply(struct roce_port *r, const struct roce_cc cc[TP_ROCE_PRIOS]);
void roce_stream_init(struct fwd_stream *s, const struct app_port *p);
int roce_hook_all(struct app *app);
void roce_unhook_all(struct app *app);

/* --- roce_qp.c: queue pairs -------------------------------------------------------------------------------------- */

/* In INIT, with receives to be posted. NULL: which was said. */
struct roce_qp *roce_qp_create(struct roce_port *r, enum ibv_qp_type type, uint32_t size, uint32_t depth);
int roce_qp_destroy(struct roce_qp *q);
void roce_qps_destroy(struct roce_port *r);
struct roce_qp *roce_qp_find(const struct roce_port *r, unsigned int id);
/* Whom a queue pair talks to. */
struct roce_peer {
	union ibv_gid gid;
	uint32_t qpn, rq_psn, sq_psn;
	int own_gid; /* index, -1: the first of the peer's kind */
};
/* To RTS, with the peer's queue pair. */
int roce_qp_connect(struct roce_qp *q, const struct roce_peer *peer);
/* Two of this program with each other: by addresses of one kind. */
int roce_qp_pair(struct roce_qp *a, struct roce_qp *b);
/* RESET, SQD, RTS from SQD, or ERR. RESET goes on to INIT. */
int roce_qp_state(struct roce_qp *q, enum ibv_qp_state state);
/* Where a peer may read and write. */
static inline uint8_t *
roce_qp_target(const struct roce_qp *q)
{
	return q->mem + (size_t)q->depth * (2 * q->size + sizeof(struct ibv_grh));
}

/* --- roce_traffic.c ----------------------------------------------------------------------------------------------- */

/* rate: messages a second, 0: as fast as they go; count 0: until stopped. */
int roce_traffic_start(struct roce_qp *q, enum ibv_wr_opcode op, uint32_t size, uint64_t rate, uint64_t count);
void roce_traffic_stop(struct roce_qp *q);
/* The stream's part for a queue pair; how much was done. With the port's lock. */
unsigned int roce_qp_round(struct roce_qp *q, uint64_t tsc);

#endif /* TRIPLANE_PORT_ROCE_H */
