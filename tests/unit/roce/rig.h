/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Two queue pairs of the transport engine, each with memory and queues of its own, joined by a wire that loses, repeats,
 * reorders and delays, in virtual time. The wire flattens packets to bytes and judges nothing.
 */
#ifndef ROCE_RIG_H
#define ROCE_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/roce/engine/engine.h"

#define RIG_MEM (1u << 20)
#define RIG_LKEY 0x1100u
#define RIG_RKEY 0x2200u
#define RIG_BASE UINT64_C(0x7f0000000000) /* address of the first byte of a side's memory */
#define RIG_LG_SQ 6
#define RIG_SQ (1u << RIG_LG_SQ)
#define RIG_SGES 4
#define RIG_RQ 256u
#define RIG_PACKET 4400u
#define RIG_INFLIGHT 1024u

struct rig_packet {
	uint64_t at;
	uint32_t len;
	uint8_t d[RIG_PACKET];
};

struct rig_wire {
	struct rig_packet *p[RIG_INFLIGHT];
	uint32_t n;
	uint32_t drop_ppm, dup_ppm, reorder_ppm;
	uint64_t delay_ns;
	uint64_t sent, dropped;
	bool full; /* takes nothing */
};

struct rig_done {
	uint64_t id;
	enum ibv_wc_status status;
};

struct rig_recv {
	uint64_t addr;
	uint32_t len;
	uint64_t id;
};

struct rig_got {
	uint64_t id;
	struct tre_recv wc;
};

struct rig;
struct rig_side {
	struct rig *rig;
	struct tre_qp qp;
	struct tre_stats st;
	struct tre_wqe sq[RIG_SQ];
	struct tre_sge sge[RIG_SQ][RIG_SGES];
	uint8_t *mem;
	struct rig_recv rq[RIG_RQ];
	struct tre_sge rq_sge;
	uint32_t rq_head, rq_tail;
	struct rig_done *done; /* send completions in order */
	uint32_t num_done, max_done;
	struct rig_got *got;
	uint32_t num_got, max_got;
	struct rig_wire out; /* towards the other side */
	uint32_t events[32]; /* by enum ibv_event_type */
	uint32_t invalidated;
	bool closed; /* its remote key is good no longer */
};

struct rig {
	struct rig_side side[2];
	uint64_t now, rng;
};

uint64_t rig_random(struct rig *r);
uint32_t rig_below(struct rig *r, uint32_t n);

/* Both QPs in RTS with the same attributes, each the other's peer. */
void rig_init(struct rig *r, uint64_t seed);
void rig_free(struct rig *r);
struct tre_attr rig_attr(enum ibv_qp_type type, uint32_t mtu);
void rig_connect(struct rig *r, const struct tre_attr *a);

/* Posts; NULL when the queue is full. The list has one entry [off, off + len) of the side's memory. */
struct tre_wqe *rig_send(struct rig_side *s, enum ibv_wr_opcode op, uint64_t id, uint32_t off, uint32_t len);
bool rig_recv(struct rig_side *s, uint64_t id, uint32_t off, uint32_t len);
static inline uint64_t
rig_addr(uint32_t off)
{
	return RIG_BASE + off;
}

/* One round: packets that are due arrive, both sides run, time moves on. False: nothing will ever happen again. */
bool rig_step(struct rig *r);
/* Until nothing happens or so many rounds have passed. Returns the rounds. */
uint32_t rig_run(struct rig *r, uint32_t rounds);

/* A packet by hand, as the other side would send it: straight into the QP. */
void rig_inject(struct rig_side *s, const uint8_t *d, uint32_t len);
/* Takes the oldest packet off a wire; false: none. */
bool rig_capture(struct rig_wire *w, uint8_t *d, uint32_t *len);

#endif /* ROCE_RIG_H */
