/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Forwarding: run-to-completion lcores over streams.
 *
 * A stream is one receive queue together with the transmit queue that its packets leave by, or the queues, when it chooses
 * among several by size or hash (a generator's stream is one transmit queue, and the receive queue of the same number when
 * there is one). A stream belongs to one lcore, and all streams that use one transmit queue belong to the same lcore, so no queue is ever shared and nothing locks.
 *
 * Counters have one writer, the owning lcore; readers on other lcores see values that are whole but may be of
 * different moments.
 */
#ifndef TRI_FWD_H
#define TRI_FWD_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_ether.h>

#include "app.h"
#include "echo.h"
#include "tp_txq.h"

/* Bursts by size: none, 1, 2..3, 4..7 ... 256..511, 512 packets. */
#define FWD_BINS 11

/* Calls of one stream in a round, when its receive bursts are full. */
#define FWD_AGAIN_MAX 8u

struct fwd_stats {
	uint64_t rx, tx;
	uint64_t drop;      /* packets that the transmit queue did not take */
	uint64_t no_mbuf;   /* generator: rounds without buffers */
	uint64_t tx_full;   /* bursts that the transmit queue did not take as a whole */
	uint64_t doorbells; /* bursts of which it took something */
	uint64_t ignored;   /* icmpecho: packets that want no answer */
	uint64_t rx_full;   /* receive bursts that were as large as was asked for: there is more */
	uint64_t rx_bin[FWD_BINS], tx_bin[FWD_BINS]; /* tx: as handed to the queue */
	uint64_t polls;                              /* calls of its mode */
	uint64_t bursts;                             /* calls that moved packets */
	uint64_t full_cycles;                        /* in calls that the transmit queue did not take all of */
	uint64_t cycles;                             /* in calls that moved packets */
	uint64_t idle_cycles;                        /* in the others */
} __rte_cache_aligned;

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

/* fwd_reserve.c: where the packets of a receive queue wait (E-15). */
struct fwd_reserve {
	struct rte_ring *ring;
	uint32_t size;
	uint64_t most __rte_cache_aligned; /* packets that waited at once */
	uint64_t full;                     /* rounds that found no room */
};

struct fwd_stream {
	const struct fwd_mode *mode;
	uint16_t rx_port, rx_queue, tx_port, tx_queue;
	uint16_t burst;
	struct tp_txq_choice choice; /* of transmit queues from tx_queue on; num 0: none but that one */
	uint32_t work;               /* cycles that each packet is made to cost */
	bool has_rx, prepare;        /* prepare: the transmit queue needs rte_eth_tx_prepare */
	bool relays_lro;             /* receives joined TCP segments, which leave as large sends */
	struct rte_ether_addr src, dst;
	uint64_t tx_flags; /* offload flags that every packet gets */
	uint64_t tx_offloads;
	struct fwd_reserve
		*reserve; /* that it takes its packets from, or, when it catches, puts them into; else NULL */
	struct fwd_gen *gen;
	struct echo_frags *frags;
	struct tp_dcbx_port *dcbx;
	const struct app_port *port; /* that it receives from; NULL of control streams */
	struct roce_port *roce;      /* has what the receive queue receives, or the stream is its own */
	unsigned int lcore;          /* index in fwd */
	struct fwd_stats stats;
} __rte_cache_aligned;

struct fwd_mode {
	const char *name;
	const char *help;
	unsigned int (*round)(struct fwd_stream *s); /* returns the number of packets it moved */
	bool to_self;                                /* packets leave by the port they came from */
	bool generates;                              /* sends on its own: one stream per transmit queue */
	bool sends;
	bool control; /* not the user's packets: in no table */
	bool catches; /* empties a receive ring for another stream */
};

/* What an lcore is told. */
enum fwd_call { FWD_GO, FWD_STOP, FWD_LOOK }; /* LOOK: how it waits is another way now */

struct fwd_lcore {
	unsigned int id;
	unsigned int num;
	struct fwd_stream **stream;
	uint32_t call; /* enum fwd_call, to it */
	int tid;       /* of its thread, 0: it did not run yet */
	pthread_mutex_t *conf_lock;
	uint64_t sleeps, wakes; /* waits for interrupts, and those that one ended */
	uint64_t rounds __rte_cache_aligned;
};

struct fwd {
	struct fwd_stream *stream;
	unsigned int num_streams;
	struct fwd_lcore lcore[RTE_MAX_LCORE];
	unsigned int num_lcores;
	struct fwd_lcore *catcher;                      /* that empties rings into reserves, NULL: there are none */
	pthread_mutex_t conf_lock;                      /* what lcores read of ports when they are called */
	uint64_t start_tsc, stop_tsc;                   /* stop_tsc 0: runs */
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
void fwd_stop(struct app *app);
/*
 * live.c: what a port has counted, of which a reset takes nothing away: those that tables show. Ports of other drivers
 * have only counters that are reset; live_clear() keeps what they were. 0 or a negative errno.
 */
int live_totals(const struct fwd *fwd, uint16_t port, struct rte_eth_stats *s);

/*
 * fwd_assign.c: gives the streams to lcores, of which there is one at least. Those that share a queue or a RoCE port, directly
 * or by others, get the same one; those that catch get one of their own. 0, -EINVAL (no lcore is left for them) or -ENOMEM,
 * which was said.
 */
int fwd_assign(struct fwd *fwd, const uint32_t *cores, unsigned int num_cores);

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

/* Changes how a port's queues wait; forwarding goes on. */
void fwd_wait_set(struct app *app, struct app_port *p, const struct rxwait_conf *c);

/* fwd_wait.c, on the lcore itself: between begin, NULL when it has to poll, and end, called after each round. */
struct fwd_wait;
bool fwd_may_wait(const struct fwd_lcore *lc);
struct fwd_wait *fwd_wait_begin(struct fwd_lcore *lc);
void fwd_wait_round(struct fwd_lcore *lc, struct fwd_wait *w);
void fwd_wait_end(struct fwd_lcore *lc, struct fwd_wait *w);

/* fwd_gen.c */
int fwd_gen_init(struct app *app, struct fwd_stream *s);
void fwd_gen_free(struct fwd_stream *s);
unsigned int fwd_round_txonly(struct fwd_stream *s);
unsigned int fwd_round_flowgen(struct fwd_stream *s);

/* Adds to a counter of which the caller is the only writer. */
static inline void
stat_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline uint64_t
stat_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static inline void
stat_bin(uint64_t bin[FWD_BINS], unsigned int packets)
{
	stat_add(&bin[packets == 0 ? 0 : 32 - __builtin_clz(packets)], 1);
}

/* What a call of rte_eth_rx_burst brought. */
static inline void
stat_rx(struct fwd_stream *s, unsigned int n)
{
	stat_bin(s->stats.rx_bin, n);
	if (n == 0)
		return;
	stat_add(&s->stats.rx, n);
	if (n == s->burst)
		stat_add(&s->stats.rx_full, 1);
}

/* What became of a burst of n packets; those that were not taken are the caller's. */
static inline void
stat_tx(struct fwd_stream *s, unsigned int n, unsigned int sent)
{
	stat_bin(s->stats.tx_bin, n);
	stat_add(&s->stats.tx, sent);
	if (sent > 0)
		stat_add(&s->stats.doorbells, 1);
	if (unlikely(sent < n))
		stat_add(&s->stats.tx_full, 1);
}

#endif /* TRI_FWD_H */
