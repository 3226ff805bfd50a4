/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Two connected queue pairs of one program, on two ports that another process shares, and messages whose octets are checked. */
#ifndef TESTS_SYSTEM_VERBS_PAIR_H
#define TESTS_SYSTEM_VERBS_PAIR_H

#include "verbs_end.h"

#define PAIR_LEN 3000u /* octets of a message, of several packets */
#define PAIR_DEPTH 16u

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr; /* PAIR_DEPTH messages to send, then as many to receive */
	uint8_t *buf;
	union ibv_gid gid;
	int index;
};

struct pair {
	struct end e[2];
	uint64_t sent;
};

/* RTS on both sides, nothing posted. The program ends when something fails. */
void pair_open(struct pair *p, const char *const name[2], int gid_index);
/* 0 or what ibv_post_recv() and ibv_post_send() say. */
int pair_receive(struct end *e, unsigned int slot);
int pair_send(struct end *e, unsigned int slot);
/*
 * One message each way, whose octets depend on its number; sleeps until there are completions. NULL, or what went wrong; *status of
 * a completion that is no success.
 */
const char *pair_exchange(struct pair *p, enum ibv_wc_status *status);

#endif /* TESTS_SYSTEM_VERBS_PAIR_H */
