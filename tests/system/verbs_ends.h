/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Two ends on two ports: a queue pair of connections and one of datagrams each, as extended verbs make them. */
#ifndef TESTS_SYSTEM_VERBS_ENDS_H
#define TESTS_SYSTEM_VERBS_ENDS_H

#include "verbs_end.h"

#define QKEY 0x11111111u
#define GRH 40u
#define DEPTH 16u
#define MEM 8192u
#define IMM 0x12345678u

#define FIELDS IBV_WC_STANDARD_FLAGS

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq_ex *cq;
	bool events; /* set before it is opened: with a channel */
	struct ibv_comp_channel *channel;
	struct ibv_qp *rc, *ud;
	struct ibv_qp_ex *rcx, *udx;
	union ibv_gid gid;
	int index;
	uint8_t *mem;
	struct ibv_mr *mr;
};

/* flags: of the completion queue. Queue pairs in RESET. */
void open_end(struct end *e, const char *name, int index, uint32_t flags);
void close_end(struct end *e);
void ud_up(struct ibv_qp *qp);
void rc_up(struct end *e, struct end *peer);
/* After an error. */
void again(struct end *a, struct end *b);
struct ibv_ah_attr av_of(const struct end *from, const struct end *to);
/* What a will send, and zeros at b. */
void fill(struct end *a, struct end *b);
void post_recv(struct end *e, struct ibv_qp *qp, uint32_t at, uint32_t len, uint64_t id);
/* Waits for a completion; the poll is not over when it returns true. */
bool polled(struct end *e);
/* The next completion succeeded and is the one of this opcode and wr_id. NULL, or what is wrong. */
const char *completed(struct end *e, enum ibv_wc_opcode opcode, uint64_t id);
bool is_idle(struct end *e);

#endif /* TESTS_SYSTEM_VERBS_ENDS_H */
