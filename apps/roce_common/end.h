/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * One end of a RoCE test program: its port, its socket to the other end, its memory, its queue pairs. A program has one
 * end, or with --self both, each with a thread of its own. All calls of an end are its thread's; each call that waits
 * drives the port meanwhile, so that requests of the other end are answered.
 *
 * Functions that return int give 0 or a negative errno, and have said on stderr what went wrong.
 */
#ifndef ROCE_END_H
#define ROCE_END_H

#include <stdbool.h>
#include <stdint.h>

#include "exch.h"
#include "opt.h"
#include "tp_roce.h"

#define REND_ADDRS 4u
#define REND_QOS 16u
#define REND_CC 24u

/* Options of the port that all programs have; see rport_opts. */
struct rport_conf {
	const char *dev, *addr[REND_ADDRS], *gateway, *provider, *netdev, *capture;
	const char *self_dev, *self_addr[REND_ADDRS];
	const char *qos[REND_QOS]; /* KEY=VALUE of a card's port, see docs/qos.md */
	const char *cc[REND_CC];   /* on, NAME=VALUE of congestion control */
	uint32_t mode, vlan, gid_index, mtu, udp_port, prio, dscp, ttl, link_wait;
	uint32_t self;
	uint32_t lanes; /* 1..TP_ROCE_LANES, a power of two; each but the first wants an lcore at each end */
};
#define RPORT_ANY_GID 0xffffffffu

extern const struct ropt rport_opts[];
extern const unsigned int rport_nopts;
/* The defaults. */
void rport_conf_init(struct rport_conf *conf);

struct rport {
	uint16_t id;
	char name[64];
	struct ibv_context *ctx;
	uint8_t gid_index;
	struct ibv_gid_entry gid;
	struct rte_mempool *pool;
	uint16_t eth_mtu; /* that ethdev does not know of; 0: it does */
	bool started;
	struct sockaddr_storage addr; /* the first one, family 0: none */
	uint16_t lanes;
};

struct rend {
	struct rport port;
	bool server;
	bool quiet;       /* the other end of --self: it prints nothing */
	const char *host; /* of the server's socket */
	uint16_t tcp_port;
	int sock;                          /* -1: none */
	void *arg;                         /* the program's */
	unsigned int lcore[TP_ROCE_LANES]; /* of each lane; the first is the end's own */
};

/* Says one line: the program, the message. Returns -err. */
int rend_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
extern const char *rend_program;
/* A signal asked the program to end. */
bool rend_stopping(void);

/* --- programs ------------------------------------------------------------------------------------------------- */

/*
 * Splits the arguments at "--": *argc becomes the number of EAL's, *own those of the program with its name in front.
 * Returns how many these are.
 */
int rend_args(int *argc, char **argv, char ***own);
/* Starts EAL, with what the ends of conf need of memory and CPUs, and takes SIGINT and SIGTERM. */
int rend_eal(const struct rport_conf *conf, int argc, char **argv);
/*
 * Opens the port or both, runs fn on each end, on the calling thread and with --self the server's on another lcore.
 * host NULL: this end is the server. Returns the exit status of the program, or ends it.
 */
int rend_run(const struct rport_conf *conf, const char *host, uint16_t tcp_port, int (*fn)(struct rend *), void *arg);

/* --- ports ---------------------------------------------------------------------------------------------------- */

/* Configures the ethdev that is named, or the nth, with a queue each way for each lane and starts it. */
int rport_start(struct rport *port, const struct rport_conf *conf, unsigned int nth);
/* Waits for its link, opens it for RoCE, gives it its addresses and picks a GID. */
int rport_open(struct rport *port, const struct rport_conf *conf, unsigned int nth);
/* Undoes what was done of either. @return false: the ethdev is left open, EAL must not be cleaned up. */
bool rport_close(struct rport *port);
/*
 * Until the other end has left, for ms milliseconds at most, without a look at the port's rings: net_memif takes them away from
 * an end that is still at work when the other one leaves. Ports of other drivers have nothing to wait for.
 */
void rport_outwait(const struct rport *port, unsigned int ms);
/* "192.0.2.1/24", "2001:db8::1" (prefix 0: none given). @return 0, -EINVAL without a word. */
int rport_addr_parse(const char *text, struct sockaddr_storage *addr, unsigned int *prefix);

/* While lanes have no lcores of their own. */
static inline void
rend_idle(struct rend *e)
{
	for (uint16_t i = 0; i < e->port.lanes; i++)
		tp_roce_progress_lane(e->port.ctx, i);
}

/* --- the socket ----------------------------------------------------------------------------------------------- */

/* Calls the server, for 10 s at most, or waits for one call. Does nothing when there is a socket already. */
int rend_connect(struct rend *e);
int rend_send(struct rend *e, const void *data, size_t len);
int rend_recv(struct rend *e, void *data, size_t len);
/* Both tell, the client first, as perftest has it. */
int rend_swap(struct rend *e, const void *mine, void *theirs, size_t len);
/*
 * Says that this end has all it waits for, and drives the port until the other one says so. Others' programs hang up long before, or
 * when they are done: a moment is granted then.
 */
void rend_linger(struct rend *e);
/* The other end has hung up, or is gone. */
bool rend_hung_up(const struct rend *e);
/* When the port is closed. */
void rend_hangup(struct rend *e);

/* --- verbs ---------------------------------------------------------------------------------------------------- */

/* How a queue pair is connected; the words of struct ibv_qp_attr. */
struct rqp_conf {
	enum ibv_qp_type type;
	enum ibv_mtu mtu;
	uint8_t sl, tclass, timeout, retry_cnt, rnr_retry, rd_atomic, dest_rd_atomic;
	int access;
	uint32_t qkey;
};
/* RESET to INIT; to RTS with the other end's and one's own destination. UD: *ah is the handle of the other end. */
int rqp_init(struct ibv_qp *qp, const struct rqp_conf *conf);
int rqp_connect(struct rend *e, struct ibv_qp *qp, const struct rqp_conf *conf, const struct rdest *mine,
		const struct rdest *theirs, struct ibv_ah **ah);

/* Memory that a card can reach, zeroed, from hugepages where there are some. */
void *rend_alloc(size_t len);
void rend_free(void *p);

/*
 * Completions of a queue, at least one, polled or by its channel's event (channel not NULL). Returns how many, or a
 * negative errno; -EINTR when the program is asked to end, -ETIMEDOUT after idle_us without one (0: never), -ECONNRESET after
 * 5 s without one from an end that has hung up.
 */
int rend_wait(struct rend *e, struct ibv_cq *cq, struct ibv_comp_channel *channel, struct ibv_wc *wc, int n,
	      uint32_t idle_us);
/* Says which request failed, and how. */
int rend_wc_fail(const struct ibv_wc *wc);
const char *rend_wc_str(enum ibv_wc_status status);

/* "192.0.2.1" of a mapped GID, or the IPv6 form. */
const char *rend_gid_str(const union ibv_gid *gid, char buf[64]);

#endif /* ROCE_END_H */
