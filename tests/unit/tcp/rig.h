/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Two stacks on a wire in virtual time that loses, repeats, reorders and delays by a seed, at a rate. The rig stands for the
 * cards: it cuts large sends, writes checksums where a stack left them, and keeps sent mbufs for a while. It checks each
 * frame by code of its own: checksums, lengths, options, and that no byte leaves outside of the window that the peer told.
 */
#ifndef TCP_RIG_H
#define TCP_RIG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tcp/tcp.h"

#define RIG_FRAMES 4096u /* on the wire at a time, both ways */
#define RIG_HELD 512u    /* mbufs that a card has not given back */

struct rig_wire {
	uint32_t loss, dup, reorder; /* of 65536 */
	uint64_t delay_us, jitter_us;
	uint32_t bytes_per_ms; /* 0: no limit */
	uint32_t queue_bytes;  /* with a rate: what waits at most; 0: all */
	uint32_t mark_bytes;   /* with a rate: marks what finds more than this waiting (RFC 3168); 0: nothing */
	uint32_t mark;         /* of 65536: marks so many whatever waits */
	uint16_t mtu;          /* larger frames are dropped; 0: none */
	enum {
		RIG_SILENT,
		RIG_ICMP,
		RIG_ICMP_OLD
	} icmp; /* what their sender is told; old routers do not say how large */
};

struct rig;
struct rig_frame {
	uint64_t at, order;
	struct rte_mbuf *m;
};

struct rig_side {
	struct rig *r;
	struct tcp_stack *s;
	uint8_t n;
	rte_be32_t ip;
	struct tcp_conf conf;
	uint16_t mtu;
	int path_error;
	/* What the rig knows of what this side said */
	bool syn_seen, fin_seen;
	uint32_t syn_seq, high_seq; /* high_seq: end of what it ever sent */
	uint32_t edge;              /* right edge it told */
	bool edge_set;
	uint8_t scale;
	bool scale_said, sack_said, ts_said;
	uint64_t busy_until; /* of its direction of the wire */
	unsigned int events;
	struct tcp_conn *event_conn;
	uint32_t tx_room;      /* frames that tx takes at a time; 0: all */
	bool stopped;          /* tx takes none */
	uint64_t asleep_until; /* its program does not run before: frames wait, and timers */
	uint16_t vlan;         /* tag of what it sends, 0: none; the wire takes it off */
	/* Looks at each frame before the wire, may be NULL; true: it is lost */
	bool (*tap)(struct rig_side *side, const uint8_t *frame, uint32_t len);
	void *tap_arg;
	uint64_t frames, data_frames, rtx_bytes;
	uint64_t too_large, dropped, marked; /* by its wire: by size; by a full queue; by ECN */
	uint8_t ecn_said;                    /* flags of its SYN */
};

struct rig {
	struct rig_side side[2];
	struct rig_wire wire[2]; /* by sender */
	struct rig_frame *q;     /* a heap by time */
	uint32_t nq;
	struct rte_mbuf *held[RIG_HELD];
	uint32_t nheld;
	bool hold;        /* cards keep mbufs */
	bool free_window; /* the check of windows is off: a test forges segments */
	uint64_t now, order;
	uint64_t random;
	rte_be16_t port; /* of side 0 in the connection of rig_connect; 0: none */
	char why[256];   /* empty: all is well */
};

/* EAL and the pools of all rigs; once. */
void rig_init(void);
/* conf[i].pool is set by the rig. */
void rig_start(struct rig *r, uint64_t seed, const struct tcp_conf conf[2], const struct rig_wire wire[2],
	       const uint16_t mtu[2]);
/* false: an mbuf is missing (why says so). */
bool rig_end(struct rig *r);
/* Runs until nothing is due before the time. */
void rig_until(struct rig *r, uint64_t us);
/* One event; false: nothing is due, ever. */
bool rig_step(struct rig *r);
uint32_t rig_random(struct rig *r, uint32_t below);
void rig_fail(struct rig *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Gives a side a frame of up to 2048 octets as if a peer had sent it; its checksums are written. */
void rig_inject(struct rig *r, int to, const uint8_t *frame, uint32_t len);
/* The same of any frame, as it is. */
void rig_frame(struct rig *r, int to, const uint8_t *frame, uint32_t len);
/* A connection between the two, port 80 of side 1; c[0] opened it. false: not within a minute. */
bool rig_connect(struct rig *r, struct tcp_conn *c[2]);
/* Takes all mbufs that stacks send with, also those that they have laid by, or gives them back. */
void rig_pool_empty(struct rig *r, bool empty);
/* Likewise, but for so many. */
void rig_pool_leave(struct rig *r, uint32_t left);
/* A pool that stands for that of what comes, where tests say how many mbufs are left: frames of the rig are of another. */
#define RIG_FEW 128u
struct rte_mempool *rig_few(void);
void rig_few_leave(uint32_t left);
/* Octets of what a side received that lie in copies. */
size_t rig_copied(const struct rig *r, int side);
/* Byte number i of what a side sends. */
uint8_t rig_byte(int side, uint64_t i);

#endif /* TCP_RIG_H */
