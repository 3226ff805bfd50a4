/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the parts of a capture share: the ring between pollers and writer, the time, the file. */
#ifndef CAPTURE_CAPTURE_PRIV_H
#define CAPTURE_CAPTURE_PRIV_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_log.h>

#include "capture/tp_capture.h"

#define CAP_LOG(level, ...) rte_log(RTE_LOG_##level, (uint32_t)cap_logtype, "triplane: capture: " __VA_ARGS__)
extern int cap_logtype;

/* --- ring.c: packets that wait ------------------------------------------------------------------------------------- */

struct cap_slot {
	uint64_t seq;  /* says whose turn it is */
	uint64_t time; /* cycles of the TSC, or (card) of the card's clock */
	uint64_t lost; /* packets that had found no room until then */
	uint32_t len, kept;
	uint16_t queue;
	bool out, card;
	uint8_t data[];
};

struct cap_ring {
	uint8_t *mem;
	size_t stride;
	uint32_t count, room; /* slots, a power of two; octets of each */
	bool cyclic;          /* the oldest packet goes, instead of the newest */
	uint64_t head __rte_cache_aligned;
	uint64_t tail __rte_cache_aligned; /* the writer's */
};

/* 0 or -ENOMEM. Its pages are there: pollers wait for none. */
int cap_ring_init(struct cap_ring *r, uint32_t room, uint32_t count, bool cyclic);
void cap_ring_free(struct cap_ring *r);

static inline struct cap_slot *
cap_slot_of(const struct cap_ring *r, uint64_t pos)
{
	return (struct cap_slot *)(void *)(r->mem + (pos & (r->count - 1)) * r->stride);
}

/* A slot to be filled, for any number of threads; NULL: there is no room. */
struct cap_slot *cap_ring_take(struct cap_ring *r, uint64_t *pos);
void cap_ring_put(const struct cap_ring *r, struct cap_slot *s, uint64_t pos);
/* For the one who reads: the next filled slot, or NULL; and back again, in any order. */
struct cap_slot *cap_ring_next(struct cap_ring *r, uint64_t *pos);
void cap_ring_give(const struct cap_ring *r, struct cap_slot *s, uint64_t pos);
/* Of a cyclic one: copies the packet at a position, unless it is gone or being written. */
bool cap_ring_peek(const struct cap_ring *r, uint64_t pos, struct cap_slot *to);

/* --- clock.c: nanoseconds since 1970 ------------------------------------------------------------------------------- */

struct cap_clock {
	uint64_t tsc0, ns0;
	double ns_of_tsc;
	uint16_t port;
	bool card; /* the port has a clock that can be read */
	uint64_t card0, card_tsc0, from, from_tsc, next;
	double tsc_of_card;
};
void cap_clock_init(struct cap_clock *c, uint16_t port, bool card);
/* Compares both clocks, if it is time to. */
void cap_clock_tick(struct cap_clock *c);
uint64_t cap_clock_ns(const struct cap_clock *c, const struct cap_slot *s);
uint64_t cap_clock_now(const struct cap_clock *c);

/* --- file.c: pcapng ------------------------------------------------------------------------------------------------- */

struct cap_file {
	TAILQ_ENTRY(cap_file) next;
	int fd, error;
	uint64_t dev, ino; /* that no two write to */
	uint64_t good;     /* octets up to the end of the last whole block */
	bool seekable;
	uint8_t *buf;
	size_t len;
	uint64_t lost;                    /* that packets told so far */
	uint64_t waiting, waiting_octets; /* packets in the buffer */
	uint64_t packets, octets;         /* in the file */
	uint64_t missing;                 /* packets that could not be written */
};
/* 0 or a negative errno with a line in err. */
int cap_file_open(struct cap_file *f, const char *path, char err[TP_CAPTURE_ERR]);
void cap_file_head(struct cap_file *f, uint16_t port, const struct tp_capture_conf *conf, uint32_t keep, bool card);
void cap_file_packet(struct cap_file *f, const struct cap_slot *s, uint64_t ns);
void cap_file_stats(struct cap_file *f, uint64_t from, uint64_t to, const struct tp_capture_stats *st);
void cap_file_flush(struct cap_file *f);
/* Whole blocks only are left in it. The error, 0: none. */
int cap_file_close(struct cap_file *f);

/* --- filter.c ------------------------------------------------------------------------------------------------------- */

struct cap_filter; /* NULL: all */
int cap_filter_make(const char *text, struct cap_filter **out, char err[TP_CAPTURE_ERR]);
void cap_filter_free(struct cap_filter *f);
/* tag: the packet's VLAN tag is beside it. */
bool cap_filter_match(const struct cap_filter *f, const struct rte_mbuf *m, bool tag);
/* Copies the first octets of a packet, with a tag that is beside it. */
void cap_copy(uint8_t *to, const struct rte_mbuf *m, uint32_t octets, bool tag);

/* --- words.c -------------------------------------------------------------------------------------------------------- */

int cap_conf_check(enum tp_capture_kind kind, const struct tp_capture_conf *c, char err[TP_CAPTURE_ERR]);

/* --- hook.c: callbacks ---------------------------------------------------------------------------------------------- */

struct tp_capture;

struct cap_hook {
	SLIST_ENTRY(cap_hook) next;
	struct tp_capture *c; /* NULL: it has ended */
	uint32_t use;         /* odd while a thread is in it */
	uint16_t port, queue;
	bool out;
	const struct rte_eth_rxtx_callback *cb;
	bool listed;                   /* ethdev still has it, although it was taken away */
	struct tp_capture_stats stats; /* written by the queue's thread */
} __rte_cache_aligned;

struct tp_capture {
	uint16_t port;
	enum tp_capture_kind kind;
	struct tp_capture_conf conf;
	uint32_t keep;
	struct cap_filter *filter;
	struct cap_ring ring;
	struct cap_clock clock;
	uint64_t stamp_flag; /* of packets that carry the card's time, 0: none does */
	int stamp_off;
	uint64_t lost; /* that found no room */
	SLIST_HEAD(, cap_hook) hooks;
	bool running;
	bool failed;                   /* the file, which the log has heard of */
	struct tp_capture_stats ended; /* of hooks that are gone */
	/* the writer's */
	struct cap_file file;
	pthread_t writer;
	bool has_writer, stop;
	uint64_t began;
	struct cap_pending *pending;
	uint32_t num_pending;
};

/* What its callback does with a burst. n */
uint16_t cap_burst(struct cap_hook *h, struct rte_mbuf *const *pkts, uint16_t n);
/* Queues that have none get one. 0 or a negative errno. */
int cap_hook_all(struct tp_capture *c);
/* When this returns, no thread is in them, and ended has their counters. */
void cap_unhook_all(struct tp_capture *c);
void cap_hooks_free(void);
void cap_hooks_sum(const struct tp_capture *c, struct tp_capture_stats *st);

/* --- writer.c ------------------------------------------------------------------------------------------------------- */

int cap_writer_start(struct tp_capture *c);
void cap_writer_stop(struct tp_capture *c);
/* What is in memory, in the order of time. Packets written. */
uint64_t cap_write_memory(struct tp_capture *c, struct cap_file *f);

/* capture.c: of one that may be running. */
void cap_stats(const struct tp_capture *c, struct tp_capture_stats *st);

#endif /* CAPTURE_CAPTURE_PRIV_H */
