/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A stream is one receive queue together with the transmit queue that its packets leave by, or the queues, when it chooses
 * among several by size or hash (a generator's stream is one transmit queue, and the receive queue of the same number when
 * there is one). Agents and transports of a port have a stream, too, so the struct is here and forwarding above.
 *
 * Counters have one writer, the lcore that owns the stream; readers on other lcores see values that are whole but may be of
 * different moments.
 */
#ifndef TRIPLANE_PORT_STREAM_H
#define TRIPLANE_PORT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_ether.h>

#include "apps/triplane/traffic/echo.h"
#include "tp_txq.h"

struct app_port;
struct fwd_gen;
struct fwd_reserve;
struct roce_port;
struct tp_dcbx_port;

/* Bursts by size: none, 1, 2..3, 4..7 ... 256..511, 512 packets. */
#define FWD_BINS 11

struct fwd_stats {
	uint64_t rx, tx;
	uint64_t drop;      /* packets that the transmit queue did not take */
	uint64_t no_mbuf;   /* generator: rounds without buffers */
	uint64_t tx_full;   /* bursts that the transmit queue did not take as a whole */
	uint64_t doorbells; /* bursts of which it took something */
	uint64_t sums[4];   /* csum: received packets by what their device found, SWAP_IP_GOOD .. SWAP_L4_BAD */
	uint64_t ignored;   /* icmpecho: packets that want no answer */
	uint64_t rx_full;   /* receive bursts that were as large as was asked for: there is more */
	uint64_t rx_bin[FWD_BINS], tx_bin[FWD_BINS]; /* tx: as handed to the queue */
	uint64_t polls;                              /* calls of its mode */
	uint64_t bursts;                             /* calls that moved packets */
	uint64_t full_cycles;                        /* in calls that the transmit queue did not take all of */
	uint64_t cycles;                             /* in calls that moved packets */
	uint64_t idle_cycles;                        /* in the others */
} __rte_cache_aligned;

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
	uint8_t tx_sums, rx_sums; /* SWAP_*: checksums that its device makes; of which the other one's word counts */
	struct fwd_reserve
		*reserve; /* that it takes its packets from, or, when it catches, puts them into; else NULL */
	struct fwd_gen *gen;
	struct echo_frags *frags;
	struct tp_dcbx_port *dcbx;
	const struct app_port *port; /* that it receives from; NULL of control streams */
	struct roce_port *roce;      /* has what the receive queue receives, or the stream is its own */
	unsigned int lcore;          /* index in fwd */
	uint32_t wanted;             /* 1 + the lcore that its group of queues wants, 0: any will do */
	struct fwd_stats stats;
} __rte_cache_aligned;

struct fwd_mode {
	const char *name;
	const char *help;
	unsigned int (*round)(struct fwd_stream *s); /* returns the number of packets it moved */
	bool to_self;                                /* packets leave by the port they came from */
	bool generates;                              /* sends on its own: one stream per transmit queue */
	bool sends;
	bool deaf;    /* receives nothing */
	bool control; /* not the user's packets: in no table */
	bool catches; /* empties a receive ring for another stream */
};

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

#endif /* TRIPLANE_PORT_STREAM_H */
