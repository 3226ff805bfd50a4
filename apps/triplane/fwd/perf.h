/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Why a port is not faster: what its queues and their lcores did over a short time, and one sentence about it.
 *
 * perf.c measures while forwarding runs; perf_why.c judges, and knows nothing but the figures.
 */
#ifndef TRIPLANE_FWD_PERF_H
#define TRIPLANE_FWD_PERF_H

#include <stdbool.h>
#include <stdint.h>

#include "fwd.h"

#define PERF_QUEUES 256
#define PERF_MS_DEFAULT 500

/* What limits a port, the most certain reason first. */
enum perf_limit {
	PERF_LINK,     /* it is down */
	PERF_POOL,     /* no buffers to receive into */
	PERF_UNPOLLED, /* a receive queue that nobody empties */
	PERF_PAUSE,    /* the peer stops what is sent */
	PERF_WIRE,     /* the transmit queue is full */
	PERF_BURST,    /* packets are handed over in too small bursts */
	PERF_SOCKET,   /* the lcore is busy, on another socket than the queue's memory */
	PERF_CPU,      /* the lcore's CPU is busy with something else */
	PERF_LCORE,    /* the lcore is busy */
	PERF_RING,     /* the receive ring does not hold what comes from one poll to the next */
	PERF_IDLE,     /* less comes than could be received */
	PERF_NOTHING,  /* no packet at all */
};

/* Who serves a queue. */
struct perf_lcore {
	unsigned int id;
	int socket;        /* of the lcore */
	int memory;        /* of the queue, -1: any */
	int sharing;       /* another forwarding lcore that is on the same CPU only, -1: none */
	double away;       /* share of the time in which it wanted to run and something else had its CPU */
	double stolen;     /* share of the time in which the host of this machine had its CPU */
	uint64_t switches; /* it was taken off its CPU without having asked for it */
};

struct perf_rx {
	uint16_t queue, burst;
	bool served; /* by a stream; the fields up to cycles are 0 otherwise */
	bool polled; /* by a stream that receives, however seldom its lcore had its CPU */
	struct perf_lcore lcore;
	uint64_t packets, polls, full, bin[FWD_BINS];
	uint64_t cycles, idle_cycles; /* of the stream, in rounds that moved packets and in others */
	uint32_t ring;                /* descriptors */
	bool seen;                    /* the device told these: */
	double waiting;               /* packets in the ring, on average */
	uint32_t waiting_max;
	uint64_t nombuf;
};

struct perf_tx {
	uint16_t queue, burst;
	bool served, generates;
	struct perf_lcore lcore;
	uint64_t sent, bursts, blocked, doorbells, bin[FWD_BINS];
	uint64_t cycles, idle_cycles, full_cycles; /* the last ones are among the others */
	bool seen;
	double used; /* share of the ring, 0..1, on average */
};

struct perf {
	uint16_t port;
	bool link_up;
	uint32_t speed_mbps;
	double seconds;
	uint64_t missed, nombuf; /* of the port */
	uint64_t paused;         /* pause frames of the peer */
	uint64_t tx_bytes;
	uint16_t num_rx, num_tx;
	struct perf_rx rx[PERF_QUEUES];
	struct perf_tx tx[PERF_QUEUES];
	enum perf_limit limit;
	char why[320];
};

extern const char *const perf_limit_names[];

/*
 * Watches a started port for so many milliseconds. *out is the caller's, to be freed. The caller makes sure that
 * forwarding goes on meanwhile. 0 or a negative errno with the reason in err.
 */
int perf_measure(const struct app *app, uint16_t port, unsigned int ms, struct perf **out, char *err, size_t err_len);

/*
 * What the queues of a port have done since forwarding began, or since the last clear; also after its end. While app->fwd is
 * there. Only what streams count is filled in; NULL: no memory.
 */
struct perf *perf_total(const struct app *app, uint16_t port);
/* Of all ports. 0, -ENOMEM. */
int perf_total_clear(const struct app *app);

/* Fills in limit and why. */
void perf_judge(struct perf *p);

#endif /* TRIPLANE_FWD_PERF_H */
