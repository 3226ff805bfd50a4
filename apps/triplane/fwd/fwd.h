/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Forwarding: run-to-completion lcores over streams (port/stream.h). A stream belongs to one lcore, and all streams that
 * use one transmit queue belong to the same lcore, so no queue is ever shared and nothing locks.
 */
#ifndef TRIPLANE_FWD_FWD_H
#define TRIPLANE_FWD_FWD_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "apps/triplane/app/app.h"
#include "apps/triplane/port/stream.h"
#include "tp_qos.h"

/* Calls of one stream in a round, when its receive bursts are full. */
#define FWD_AGAIN_MAX 8u

/* A generator's own state. */
struct fwd_gen {
	struct rte_mempool *pool;
	struct gen_hdr hdr;
	struct gen_flow *flow;
	uint8_t pattern[sizeof(struct gen_hdr)]; /* what a segment begins with when it has no headers */
	uint32_t flows, next;
	uint16_t num_segs, waiting, first;
	uint16_t seg[GEN_MAX_SEGS];
	uint32_t len;
	struct rte_mbuf *pkts[APP_BURST_MAX]; /* built and not yet taken by the queue */
};

/* reserve.c: where the packets of a receive queue wait (E-15). */
struct fwd_reserve {
	struct rte_ring *ring;
	uint32_t size;
	uint64_t most __rte_cache_aligned; /* packets that waited at once */
	uint64_t full;                     /* rounds that found no room */
};

/* What an lcore is told. */
enum fwd_call { FWD_GO, FWD_STOP, FWD_LOOK }; /* LOOK: how it waits is another way now */

struct fwd_lcore {
	unsigned int id;
	unsigned int num;
	struct fwd_stream **stream;
	uint32_t call;            /* enum fwd_call, to it */
	struct fwd_stream **next; /* home.c: its streams from its next look at them on */
	unsigned int next_num;
	uint32_t lists_given, lists_taken; /* how many such lists there were, and which it has */
	int tid;                           /* of its thread, 0: it did not run yet */
	pthread_mutex_t *conf_lock;
	const uint32_t *idle_sleep;
	uint64_t sleeps, wakes; /* also for interrupts, and those that one ended */
	uint64_t rounds __rte_cache_aligned;
};

struct fwd {
	struct fwd_stream *stream;
	unsigned int num_streams;
	struct fwd_lcore lcore[RTE_MAX_LCORE];
	unsigned int num_lcores;
	struct fwd_lcore *catcher;    /* that empties rings into reserves, NULL: there are none */
	pthread_mutex_t conf_lock;    /* what lcores read of ports when they are called */
	uint32_t idle_sleep;          /* us that lcores to which nothing comes sleep, 0: they poll on */
	uint64_t start_tsc, stop_tsc; /* stop_tsc 0: runs */
	struct fwd_stats *zero;       /* what each stream had counted when that was cleared, NULL: never */
	uint64_t zero_tsc;
	bool silence_told;                              /* that nothing came */
	struct rte_eth_stats base[RTE_MAX_ETHPORTS];    /* at the start */
	struct rte_eth_stats cleared[RTE_MAX_ETHPORTS]; /* what ports of other drivers set to zero since then */
};

extern const struct fwd_mode fwd_modes[];
extern const unsigned int fwd_num_modes;
int fwd_mode_by_name(const char *name); /* index or -1 */

/* Builds the streams from the settings and gives them to lcores, without running. */
int fwd_plan(struct app *app, struct fwd **out);
void fwd_free(struct fwd *fwd);
int fwd_start(struct app *app);
/* One lcore, which has streams. 0, or a negative errno, which was said. */
int fwd_lcore_start(struct fwd *fwd, struct fwd_lcore *lc);
void fwd_lcore_stop(struct fwd_lcore *lc);
/* It looks at what it has to do again after its round; a sleeper does when its sleep ends. */
void fwd_lcore_look(struct fwd_lcore *lc);
void fwd_stop(struct app *app);
/*
 * assign.c: gives the streams to lcores, of which there is one at least. Those that share a queue or a RoCE port, directly
 * or by others, get the same one; those that catch get one of their own; those of a group that wants an lcore get that.
 * 0, -EINVAL (no lcore is left for them, or two groups want different lcores for what has to stay together) or -ENOMEM,
 * which was said.
 */
int fwd_assign(struct fwd *fwd, const uint32_t *cores, unsigned int num_cores);
/* joins[i]: an earlier stream that has to have the same lcore as stream i, or itself. */
void fwd_join(const struct fwd *fwd, unsigned int *joins);
/* The first of those that stay together with stream i. */
unsigned int fwd_first_of(const unsigned int *joins, unsigned int i);
/* Where an lcore is in the list of those that forward; num: nowhere. */
unsigned int fwd_place(uint32_t lcore, const uint32_t *cores, unsigned int num);
/* 1 + the lcore that those want which stay together with stream first, 0: any. -EINVAL with a line in err: two lcores. */
int fwd_wanted(const struct fwd *fwd, const unsigned int *joins, unsigned int first, char err[TP_ERR_LEN]);

/*
 * home.c: groups of queues and the lcores that they want (Q-1, V-7). What a stream's group wants goes into the streams;
 * instead, when not NULL, is how a group of that port would be.
 */
void fwd_groups_want(struct fwd *fwd, uint16_t port, const struct tp_group *instead);
/*
 * Whether the lcores can be had that a group wants, as it would be. 0, or -EINVAL with a line in err.
 */
int fwd_group_check(struct app *app, uint16_t port, const struct tp_group *g, char err[TP_ERR_LEN]);
/* After a change of groups of a port: queues that nobody polls settle, and streams move to the lcores that are wanted now,
 * while all others go on. 0, or a negative errno, which was said. */
int fwd_group_settle(struct app *app, uint16_t port);

/* Whether the stream is the one that empties its receive queue. */
static inline bool
fwd_polls(const struct fwd_stream *s)
{
	return s->has_rx && (s->reserve == NULL || s->mode->catches);
}

/* Lets a stream take its packets from a reserve, which another stream fills. 0, or a negative errno, which was said. */
int fwd_reserve_make(struct fwd_stream *s, struct fwd_stream *catcher);
void fwd_reserve_free(struct fwd_stream *s);
/* Waits for the reserves to be empty, but not for long; nobody fills them now. */
void fwd_reserve_drain(const struct fwd *fwd);

/* Changes how long lcores sleep to which nothing comes, in us, 0: not at all; forwarding goes on. */
void fwd_idle_sleep_set(struct app *app, uint32_t us);
/* Changes how a port's queues wait; forwarding goes on. */
void fwd_wait_set(struct app *app, struct app_port *p, const struct rxwait_conf *c);

/* wait.c, on the lcore itself: between begin, NULL when it has to poll, and end, called after each round. */
struct fwd_wait;
bool fwd_may_wait(const struct fwd_lcore *lc);
struct fwd_wait *fwd_wait_begin(struct fwd_lcore *lc);
void fwd_wait_round(struct fwd_lcore *lc, struct fwd_wait *w);
void fwd_wait_end(struct fwd_lcore *lc, struct fwd_wait *w);
/* How long the lcore may sleep with the streams that it has, in us, 0: not at all. A generator always has something to send. */
uint32_t fwd_idle_us(const struct fwd_lcore *lc);
/* After a round, of an lcore that may sleep so long; idle: rounds in a row that brought nothing. */
void fwd_idle_round(struct fwd_lcore *lc, uint32_t us, bool any, uint32_t *idle);

/* mode_gen.c */
int fwd_gen_init(struct app *app, struct fwd_stream *s);
void fwd_gen_free(struct fwd_stream *s);
unsigned int fwd_round_txonly(struct fwd_stream *s);
unsigned int fwd_round_flowgen(struct fwd_stream *s);

#endif /* TRIPLANE_FWD_FWD_H */
