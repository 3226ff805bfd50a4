/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Bandwidth and latency of send, write, read and atomic, with the options, the tables and the exchange of perftest: either
 * end may be one of its programs. options.c what is asked for, session.c the order of things, queues.c what verbs need,
 * cm.c connections by RDMA CM, bw.c and lat.c the measurements, lanes.c that of several lcores, series.c what they are over
 * time, report.c the tables.
 */
#ifndef PERF_H
#define PERF_H

#include <stdio.h>

#include "apps/roce_common/end.h"
#include "apps/roce_common/stats.h"

enum perf_verb { PERF_SEND, PERF_WRITE, PERF_READ, PERF_ATOMIC };
enum perf_output { PERF_OUT_FULL, PERF_OUT_BANDWIDTH, PERF_OUT_RATE, PERF_OUT_LATENCY };

#define PERF_AUTO 0xffffffffu
#define PERF_MAX_SIZE (1u << 23)

struct perf_conf {
	struct rport_conf port;
	const char *host; /* NULL: server */
	uint32_t verb;    /* enum perf_verb */
	bool lat;
	uint32_t type, tcp_port, size, iters, duration, margin, mtu, qps, tx_depth, rx_depth, inl, cq_mod, post_list;
	uint32_t outs, sl, tclass, timeout, retry, gap_us, output, atomic;
	uint32_t all, bidir, events, gbits, both, no_peak, unsorted, histogram, cycles, srq, json;
	uint32_t rdma_cm, ib_port, cpu_freq, help, version;
	uint32_t interval;         /* ms; 0: no lines while it runs */
	const char *plot;          /* NULL: none */
	uint32_t min_bw, min_rate; /* limits below which the program fails, in the report's unit; rate in Mpps */
};

/*
 * What the program is called says the test: tp_send_bw ... tp_atomic_lat; tp_perf takes it as its first argument. argv is
 * without EAL's. @return 0, -EINVAL with a line in err.
 */
int perf_parse(struct perf_conf *conf, int argc, char **argv, char *err, size_t errlen);
void perf_usage(void);
enum ibv_qp_type perf_qp_type(const struct perf_conf *conf);

struct perf_qp {
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct rdest mine, theirs;
	struct ibv_send_wr *wr; /* post_list of them */
	struct ibv_sge *sge;
	uint8_t *tx, *rx;
	uint64_t posted, done, received;
	uint32_t unsignalled, to_refill;
	uint32_t off; /* where in the slot the next message lies */
	uint32_t id;  /* among those of its lane */
};

struct perf_cm;
struct perf_crew;
struct sample;

/* --interval */
struct perf_series {
	uint64_t begun, last, due;      /* TSC */
	uint64_t messages, cnps, marks; /* at the last line */
	struct sample *sample;
	uint32_t num, room;
	FILE *out; /* of --plot */
};

struct perf {
	struct rend *e;
	struct perf_cm *cm; /* --rdma_cm; NULL: the socket, and queue pairs that the program connects itself */
	const char *host;   /* whom a client calls by it */
	const struct perf_conf *conf;
	enum ibv_qp_type type;
	enum ibv_mtu mtu;
	uint32_t cycle, line; /* octets over which small messages rotate; of a cache line: the larger of both ends' */
	uint32_t hdr;         /* GRH in front of what UD receives */
	uint32_t inl;
	uint32_t reads; /* READs and atomics under way, at most */
	uint32_t size;  /* of the run that is under way */
	size_t slot;    /* memory of a queue pair, each way */
	size_t buf_len;
	uint8_t *buf;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *scq, *rcq; /* of the lane at hand */
	struct ibv_cq *scqs[TP_ROCE_LANES], *rcqs[TP_ROCE_LANES];
	struct ibv_srq *srq;
	struct perf_qp *qp;
	uint32_t qps; /* of the lane at hand; outside of a measurement of all */
	uint16_t lane;
	struct perf_crew *crew;      /* of all lanes, while they measure; NULL: there is one */
	double rates[TP_ROCE_LANES]; /* messages a second of each lane */
	bool armed;
	uint32_t rests, hung_up;   /* turns in which nothing came; looks at a socket that was hung up */
	uint64_t *t_post, *t_done; /* TSC of each message, NULL: not kept */
	uint64_t begun, ended;     /* TSC of what is reported */
	uint64_t count;            /* messages of that time */
	uint64_t lost;
	struct rreport mine, theirs;
	struct perf_series series;
};

/* The whole test of one end, for rend_run(). */
int perf_run(struct rend *e);

/*
 * Memory and queues for messages of up to max bytes; queue pairs are in INIT, receive requests are posted. With --rdma_cm
 * queue pairs come when they are connected, by perf_make_qp().
 */
int perf_make(struct perf *p, uint32_t max);
struct rdma_cm_id;
/* Queue pair i with its receive requests, in INIT. @param id its connection, NULL: none */
int perf_make_qp(struct perf *p, uint32_t i, struct rdma_cm_id *id);
void perf_unmake(struct perf *p);
/* Posts n receive requests of a queue pair. */
int perf_post_recv(struct perf *p, uint32_t i, uint32_t n);
/* Posts the next n messages of a queue pair, at most post_list; last: the very last is among them. */
int perf_post_send(struct perf *p, uint32_t i, uint32_t n, bool last);
/* Sets the requests of all queue pairs up for messages of p->size. */
void perf_prepare(struct perf *p);
/* Call when both queues were found empty: with -e it sleeps until an event, in any case it drives the port. */
int perf_rest(struct perf *p);

/* --rdma_cm: connects the two ends for the exchange. What fails is undone by perf_cm_close(), as all the rest. */
int perf_cm_open(struct perf *p);
/* Connects all queue pairs, in their order. */
int perf_cm_connect(struct perf *p);
/* Both tell, the client first. @param len 56 at most */
int perf_cm_swap(struct perf *p, const void *mine, void *theirs, size_t len);
/* @param well the test is done: each end waits for the other's goodbye */
void perf_cm_close(struct perf *p, bool well);

/* Messages of p->qps queue pairs of a lane. */
int perf_bw(struct perf *p);
/* The same of all lanes, each by an lcore; p has the sums. */
int perf_lanes(struct perf *p);
/* Turns of a lane: whether it is to go on; messages: that it has sent or received so far. Returns how many all have. */
bool perf_crew_goes_on(const struct perf *p);
uint64_t perf_crew_messages(struct perf *p, uint64_t messages);
/* Opens what --plot names; its picture is drawn when the test is done well. */
int perf_series_open(struct perf *p);
int perf_series_close(struct perf *p, bool well);
/* Of --interval: time begins; a line when one is due, messages: that were sent or received so far. */
void perf_series_begin(struct perf *p);
void perf_series_look(struct perf *p, uint64_t now, uint64_t messages);
int perf_lat_send(struct perf *p);
int perf_lat_write(struct perf *p);
/* Waits until what was written is acknowledged, and answers for a moment more. */
int perf_lat_end(struct perf *p);
int perf_lat_ask(struct perf *p); /* read, atomic */

/* Who starts the client waits for this line. */
void perf_say_waiting(const struct perf *p);
void perf_say_test(const struct perf *p);
void perf_say_dest(const struct perf *p, const char *which, const struct rdest *d);
void perf_say_head(const struct perf *p);
void perf_say_line(const struct perf *p);
/* Messages a second in the unit of the report, and its name. */
double perf_unit(const struct perf *p, double rate);
const char *perf_unit_name(const struct perf *p);
/* What was measured becomes p->mine. */
void perf_rate(struct perf *p);
void perf_say_bw(const struct perf *p, const struct rreport *r);
void perf_say_lat(struct perf *p);
/* Sum of both directions. */
struct rreport perf_sum(const struct rreport *a, const struct rreport *b);

#endif /* PERF_H */
