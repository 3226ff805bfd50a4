/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * rings list | CASE [ROUNDS]: posts requests to a queue pair whose rings no card reads, and polls for the completions that
 * are put there; says how many there were. The instructions are counted from outside (callgrind, collecting only inside
 * bench_*); what the card would do, looking at each WQE included, happens in between and is not counted.
 */
#include <endian.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mlx4_prm_wqe.h"

#include "rings.h"

#define BATCH 16
#define LKEY 0x100200u
#define RKEY 0x300400u
#define REMOTE 0x123456789000u
#define PEER_QPN 0x77u
#define QKEY 0x11111111u

enum count { POST, POST_RECV, POST_SRQ, POLL_SEND, POLL_RECV };

static const struct bench_case {
	const char *name;
	enum count count;
	enum ibv_qp_type type;
	enum ibv_wr_opcode op;
	unsigned int flags, batch;
	bool bf, srq;
} cases[] = {
	{"send-inline", POST, IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_INLINE, 1, false, false},
	{"send", POST, IBV_QPT_RC, IBV_WR_SEND, 0, 1, false, false},
	{"write-inline", POST, IBV_QPT_RC, IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, 1, false, false},
	{"write", POST, IBV_QPT_RC, IBV_WR_RDMA_WRITE, 0, 1, false, false},
	{"read", POST, IBV_QPT_RC, IBV_WR_RDMA_READ, 0, 1, false, false},
	{"atomic", POST, IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 1, false, false},
	{"ud-inline", POST, IBV_QPT_UD, IBV_WR_SEND, IBV_SEND_INLINE, 1, false, false},
	{"ud", POST, IBV_QPT_UD, IBV_WR_SEND, 0, 1, false, false},
	{"send-inline-16", POST, IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_INLINE, BATCH, false, false},
	{"send-16", POST, IBV_QPT_RC, IBV_WR_SEND, 0, BATCH, false, false},
	{"write-inline-16", POST, IBV_QPT_RC, IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, BATCH, false, false},
	{"write-16", POST, IBV_QPT_RC, IBV_WR_RDMA_WRITE, 0, BATCH, false, false},
	{"read-16", POST, IBV_QPT_RC, IBV_WR_RDMA_READ, 0, BATCH, false, false},
	{"atomic-16", POST, IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, BATCH, false, false},
	{"ud-inline-16", POST, IBV_QPT_UD, IBV_WR_SEND, IBV_SEND_INLINE, BATCH, false, false},
	{"ud-16", POST, IBV_QPT_UD, IBV_WR_SEND, 0, BATCH, false, false},
	{"send-blueflame", POST, IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_INLINE, 1, true, false},
	{"write-blueflame", POST, IBV_QPT_RC, IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, 1, true, false},
	{"ud-blueflame", POST, IBV_QPT_UD, IBV_WR_SEND, IBV_SEND_INLINE, 1, true, false},
	{"recv", POST_RECV, IBV_QPT_RC, IBV_WR_SEND, 0, 1, false, false},
	{"recv-16", POST_RECV, IBV_QPT_RC, IBV_WR_SEND, 0, BATCH, false, false},
	{"srq-recv", POST_SRQ, IBV_QPT_RC, IBV_WR_SEND, 0, 1, false, true},
	{"srq-recv-16", POST_SRQ, IBV_QPT_RC, IBV_WR_SEND, 0, BATCH, false, true},
	{"poll-send", POLL_SEND, IBV_QPT_RC, IBV_WR_SEND, 0, 1, false, false},
	{"poll-send-16", POLL_SEND, IBV_QPT_RC, IBV_WR_SEND, 0, BATCH, false, false},
	{"poll-read", POLL_SEND, IBV_QPT_RC, IBV_WR_RDMA_READ, 0, 1, false, false},
	{"poll-read-16", POLL_SEND, IBV_QPT_RC, IBV_WR_RDMA_READ, 0, BATCH, false, false},
	{"poll-recv", POLL_RECV, IBV_QPT_RC, IBV_WR_SEND, 0, 1, false, false},
	{"poll-recv-16", POLL_RECV, IBV_QPT_RC, IBV_WR_SEND, 0, BATCH, false, false},
	{"poll-recv-imm", POLL_RECV, IBV_QPT_RC, IBV_WR_SEND_WITH_IMM, 0, 1, false, false},
	{"poll-recv-imm-16", POLL_RECV, IBV_QPT_RC, IBV_WR_SEND_WITH_IMM, 0, BATCH, false, false},
	{"poll-srq", POLL_RECV, IBV_QPT_RC, IBV_WR_SEND, 0, 1, false, true},
	{"poll-srq-16", POLL_RECV, IBV_QPT_RC, IBV_WR_SEND, 0, BATCH, false, true},
	{"poll-ud", POLL_RECV, IBV_QPT_UD, IBV_WR_SEND, 0, 1, false, false},
	{"poll-ud-16", POLL_RECV, IBV_QPT_UD, IBV_WR_SEND, 0, BATCH, false, false},
};

/* --- what is counted --------------------------------------------------------------------------------------------- */

__attribute__((noinline)) static int
bench_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	return ibv_post_send(qp, wr, bad);
}

__attribute__((noinline)) static int
bench_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return ibv_post_recv(qp, wr, bad);
}

__attribute__((noinline)) static int
bench_post_srq(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return ibv_post_srq_recv(srq, wr, bad);
}

__attribute__((noinline)) static int
bench_poll_send(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	return ibv_poll_cq(cq, n, wc);
}

__attribute__((noinline)) static int
bench_poll_recv(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	__asm__ volatile(""); /* not one function with the other */
	return ibv_poll_cq(cq, n, wc);
}

static const char *const counted[] = {"bench_post", "bench_post_recv", "bench_post_srq", "bench_poll_send",
				      "bench_poll_recv"};

/* --- the card ------------------------------------------------------------------------------------------------------ */

struct run {
	const struct bench_case *c;
	struct rings_qp q;
	uint8_t data[RINGS_LEN], room[2 * RINGS_LEN];
	uint64_t id; /* of the next request */
	uint64_t done, cycles;
};

static uint32_t
be(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static int
wrong(const struct run *x, const char *what, uint32_t v)
{
	fprintf(stderr, "%s %s: %s 0x%08x, WQE %u\n", rings_driver, x->c->name, what, v, x->q.sq_ci);
	return -EIO;
}

static uint8_t
opcode(enum ibv_wr_opcode op)
{
	switch (op) {
	case IBV_WR_RDMA_WRITE: return MLX4_OP_RDMA_WRITE;
	case IBV_WR_RDMA_READ: return MLX4_OP_RDMA_READ;
	case IBV_WR_ATOMIC_FETCH_AND_ADD: return MLX4_OP_ATOMIC_FA;
	case IBV_WR_SEND_WITH_IMM: return MLX4_OP_SEND_IMM;
	default: return MLX4_OP_SEND;
	}
}

static uint32_t
length(const struct bench_case *c)
{
	return c->op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : RINGS_LEN;
}

static void
write_cqe(struct run *x, struct rings_cq *c, uint8_t op, uint32_t index)
{
	struct mlx4_cqe *e = (void *)(c->cqes + (size_t)(c->pi & c->mask) * sizeof(*e));

	memset(e, 0, sizeof(*e) - 1);
	e->vlan_my_qpn = htobe32(x->q.qpn);
	e->immed_rss = htobe32(0x12345678);
	e->g_mlpath_rqpn = x->c->type == IBV_QPT_UD ? htobe32(MLX4_CQE_GRH | PEER_QPN) : 0;
	e->byte_cnt = htobe32(length(x->c));
	e->wqe_index = htobe16((uint16_t)index);
	atomic_thread_fence(memory_order_release);
	e->owner_sr_opcode = (uint8_t)(op | ((c->pi & (c->mask + 1)) != 0 ? MLX4_CQE_OWNER : 0));
	c->pi++;
}

/* Bytes of the message from offset at of the WQE on; they are looked at. 0: not as asked. */
static uint32_t
message(const struct run *x, const uint8_t *w, uint32_t at, uint32_t end)
{
	uint8_t got[2 * RINGS_LEN];
	uint32_t n = 0, len;

	while (at < end) {
		len = be(w + at);
		if ((len & MLX4_DATA_INLINE) == 0) {
			uint64_t addr = (uint64_t)be(w + at + 8) << 32 | be(w + at + 12);

			if (be(w + at + 4) != LKEY || addr != (uint64_t)(uintptr_t)x->data)
				return 0;
			n += len;
			at += MLX4_DS_SIZE;
			continue;
		}
		len &= MLX4_INLINE_LEN_MASK;
		if (n + len > sizeof(got) || at % MLX4_TXBB_SIZE + 4 + len > MLX4_TXBB_SIZE)
			return 0;
		memcpy(got + n, w + at + 4, len);
		if (memcmp(got + n, x->data + n, len) != 0)
			return 0;
		n += len;
		at += (4 + len + MLX4_DS_SIZE - 1) & ~(MLX4_DS_SIZE - 1);
	}
	return n;
}

/* A WQE is the card's, and as it was asked for. */
static int
execute(struct run *x)
{
	struct rings_qp *q = &x->q;
	const uint8_t *w = q->sq + ((size_t)(q->sq_ci & q->sq_mask) << q->lg_stride);
	uint32_t dw0 = be(w), dw1 = be(w + 4), flags = be(w + 8), at = 16,
		 end = (dw1 & MLX4_CTRL_DS_MASK) * MLX4_DS_SIZE;
	bool own = (q->sq_ci & (q->sq_mask + 1)) != 0;

	if ((dw0 & MLX4_CTRL_OPCODE_MASK) != opcode(x->c->op) || ((dw0 & MLX4_CTRL_OWN) != 0) != own)
		return wrong(x, "control dword 0 is", dw0);
	if ((flags & MLX4_CTRL_CQE_MASK) != MLX4_CTRL_CQE)
		return wrong(x, "no completion is asked for, flags", flags);
	if (x->c->type == IBV_QPT_UD) {
		if (be(w + at + 0x20) != PEER_QPN || be(w + at + 0x24) != QKEY)
			return wrong(x, "datagram to", be(w + at + 0x20));
		at += MLX4_DGRAM_SIZE;
	} else if (x->c->op != IBV_WR_SEND && x->c->op != IBV_WR_SEND_WITH_IMM) {
		if (be(w + at) != REMOTE >> 32 || be(w + at + 4) != (uint32_t)REMOTE || be(w + at + 8) != RKEY)
			return wrong(x, "remote key", be(w + at + 8));
		at += MLX4_RADDR_SIZE;
	}
	if (x->c->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		if (be(w + at + 4) != 5)
			return wrong(x, "to add", be(w + at + 4));
		at += MLX4_ATOMIC_SIZE;
	}
	if (message(x, w, at, end) != length(x->c))
		return wrong(x, "another message, length", message(x, w, at, end));
	if (x->c->bf && memcmp(q->bf, w, end) != 0 && memcmp(q->bf + q->bf_len, w, end) != 0)
		return wrong(x, "not in the BlueFlame register: dword 0", dw0);
	write_cqe(x, &q->send, (uint8_t)(opcode(x->c->op) | MLX4_CQE_IS_SEND), q->sq_ci++);
	return 0;
}

static int
receive(struct run *x)
{
	struct rings_qp *q = &x->q;
	uint32_t at = q->rq_ci & q->rq_mask;
	const uint8_t *w = q->rq + ((size_t)at << q->lg_rq_stride) + (x->c->srq ? 16 : 0);

	if (be(w) != sizeof(x->room) || be(w + 4) != LKEY || be(w + 12) != (uint32_t)(uintptr_t)x->room)
		return wrong(x, "receive of", be(w));
	write_cqe(x, &q->recv, x->c->op == IBV_WR_SEND_WITH_IMM ? MLX4_CQE_RECV_SEND_IMM : MLX4_CQE_RECV_SEND,
		  x->c->srq ? at : q->rq_ci);
	q->rq_ci++;
	return 0;
}

/* --- rounds ------------------------------------------------------------------------------------------------------ */

static int
check(const struct run *x, const struct ibv_wc *wc, int got, bool send)
{
	const struct bench_case *c = x->c;

	for (int i = 0; i < (int)c->batch; i++) {
		unsigned int want = !send                                  ? IBV_WC_RECV
				    : c->op == IBV_WR_RDMA_WRITE           ? IBV_WC_RDMA_WRITE
				    : c->op == IBV_WR_RDMA_READ            ? IBV_WC_RDMA_READ
				    : c->op == IBV_WR_ATOMIC_FETCH_AND_ADD ? IBV_WC_FETCH_ADD
									   : IBV_WC_SEND;

		if (got != (int)c->batch || wc[i].status != IBV_WC_SUCCESS || wc[i].wr_id != x->id + (unsigned int)i ||
		    wc[i].opcode != want || wc[i].qp_num != x->q.qpn)
			return wrong(x, "a completion's opcode", wc[i].opcode);
		if (!send &&
		    (wc[i].byte_len != RINGS_LEN ||
		     (c->op == IBV_WR_SEND_WITH_IMM &&
		      ((wc[i].wc_flags & IBV_WC_WITH_IMM) == 0 || wc[i].imm_data != htobe32(0x12345678))) ||
		     (c->type == IBV_QPT_UD && (wc[i].src_qp != PEER_QPN || (wc[i].wc_flags & IBV_WC_GRH) == 0))))
			return wrong(x, "a received message's length", wc[i].byte_len);
	}
	return 0;
}

static uint64_t
now(void)
{
	return __builtin_ia32_rdtsc();
}

static int
round_of(struct run *x)
{
	const struct bench_case *c = x->c;
	bool recv = c->count == POST_RECV || c->count == POST_SRQ || c->count == POLL_RECV;
	struct ibv_sge out = {(uintptr_t)x->data, length(c), LKEY}, in = {(uintptr_t)x->room, sizeof(x->room), LKEY};
	struct ibv_send_wr wr[BATCH], *bad;
	struct ibv_recv_wr rwr[BATCH], *rbad;
	struct ibv_wc wc[BATCH];
	uint64_t t[5];
	int rc = 0, n;

	for (unsigned int i = 0; i < c->batch; i++) {
		wr[i] = (struct ibv_send_wr){.wr_id = x->id + i,
					     .next = i + 1 == c->batch ? NULL : &wr[i + 1],
					     .sg_list = &out,
					     .num_sge = 1,
					     .opcode = c->op,
					     .send_flags = c->flags | IBV_SEND_SIGNALED};
		rwr[i] = (struct ibv_recv_wr){.wr_id = x->id + i,
					      .next = i + 1 == c->batch ? NULL : &rwr[i + 1],
					      .sg_list = &in,
					      .num_sge = 1};
		if (c->type == IBV_QPT_UD) {
			wr[i].wr.ud.ah = x->q.ah;
			wr[i].wr.ud.remote_qpn = PEER_QPN;
			wr[i].wr.ud.remote_qkey = QKEY;
		} else if (c->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr[i].wr.atomic.remote_addr = REMOTE;
			wr[i].wr.atomic.rkey = RKEY;
			wr[i].wr.atomic.compare_add = 5;
		} else {
			wr[i].wr.rdma.remote_addr = REMOTE;
			wr[i].wr.rdma.rkey = RKEY;
		}
	}
	x->data[0]++;
	t[0] = now();
	if (recv)
		rc = c->srq ? bench_post_srq(x->q.srq, rwr, &rbad) : bench_post_recv(x->q.qp, rwr, &rbad);
	else
		rc = bench_post(x->q.qp, wr, &bad);
	t[1] = now();
	if (rc != 0)
		return -rc;
	if (!recv && !c->bf && *x->q.doorbell != htobe32(x->q.qpn << 8))
		return wrong(x, "doorbell", *x->q.doorbell);
	*x->q.doorbell = 0;
	for (unsigned int i = 0; i < c->batch && rc == 0; i++)
		rc = recv ? receive(x) : execute(x);
	if (rc != 0)
		return rc;
	t[2] = now();
	n = recv ? bench_poll_recv(x->q.recv.cq, (int)c->batch, wc) : bench_poll_send(x->q.send.cq, (int)c->batch, wc);
	t[3] = now();
	rc = check(x, wc, n, !recv);
	x->id += c->batch;
	x->done += c->batch;
	x->cycles += c->count == POLL_SEND || c->count == POLL_RECV ? t[3] - t[2] : t[1] - t[0];
	return rc;
}

static int
measure(const struct bench_case *c, unsigned int rounds)
{
	static struct run x;
	int rc = rings_init(c->bf);

	x.c = c;
	if (rc == 0)
		rc = rings_make(c->type, c->srq, &x.q);
	for (unsigned int i = 0; i < RINGS_LEN; i++)
		x.data[i] = (uint8_t)(i * 7 + 1);
	for (unsigned int i = 0; rc == 0 && i < rounds; i++)
		rc = round_of(&x);
	if (rc != 0) {
		fprintf(stderr, "%s %s: %s\n", rings_driver, c->name, strerror(-rc));
		return 1;
	}
	printf("%s packets %lu cycles_per_packet %.1f\n", c->name, (unsigned long)x.done,
	       (double)x.cycles / (double)x.done);
	return 0;
}

int
main(int argc, char **argv)
{
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc == 2 && strcmp(argv[1], "list") == 0)
			printf("%s %s\n", cases[i].name, counted[cases[i].count]);
		else if (argc > 1 && strcmp(argv[1], cases[i].name) == 0)
			return measure(&cases[i], argc > 2 ? (unsigned int)atoi(argv[2]) : 512);
	}
	if (argc == 2 && strcmp(argv[1], "list") == 0)
		return 0;
	fprintf(stderr, "usage: %s list | CASE [ROUNDS]\n", argv[0]);
	return 2;
}
