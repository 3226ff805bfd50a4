/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * verbs_own DEVICE DEVICE GID_INDEX: a program of libibverbs that looks at what those of others do not: each field of a datagram's
 * completion, registered memory across fork() and munmap(), threads that share queues, and refusals. It is linked with Debian's
 * libibverbs and knows nothing of the libraries here.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs_end.h"

#define QKEY 0x11111111u
#define GRH 40u
#define LEN 1000u
#define DEPTH 64

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	union ibv_gid gid;
	int index;
};

static void
up(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};

	done(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), "INIT");
	a.qp_state = IBV_QPS_RTR;
	done(ibv_modify_qp(qp, &a, IBV_QP_STATE), "RTR");
	a.qp_state = IBV_QPS_RTS;
	done(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
}

static void
open_end(struct end *e, const char *name, int index)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_UD, .cap = {DEPTH, DEPTH, 1, 1, 0}};

	e->ctx = open_device(name);
	e->index = index;
	e->pd = need(ibv_alloc_pd(e->ctx), "protection domain");
	e->cq = need(ibv_create_cq(e->ctx, 2 * DEPTH, NULL, NULL, 0), "completion queue");
	done(ibv_query_gid(e->ctx, 1, index, &e->gid), "GID");
	init.send_cq = init.recv_cq = e->cq;
	e->qp = need(ibv_create_qp(e->pd, &init), "queue pair");
	up(e->qp);
}

static struct ibv_mr *
reg(struct end *e, void *mem, size_t len)
{
	return need(ibv_reg_mr(e->pd, mem, len, IBV_ACCESS_LOCAL_WRITE), "region");
}

static struct ibv_ah *
towards(struct end *from, const struct end *to)
{
	struct ibv_ah_attr a = {.is_global = 1,
				.port_num = 1,
				.grh = {.dgid = to->gid, .sgid_index = (uint8_t)from->index, .hop_limit = 64}};

	return need(ibv_create_ah(from->pd, &a), "address");
}

static void
post_recv(struct end *e, void *mem, uint32_t len, uint32_t lkey, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)mem, len, lkey};
	struct ibv_recv_wr *bad, wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};

	done(ibv_post_recv(e->qp, &wr, &bad), "post_recv");
}

static int
post_send(struct end *e, struct ibv_ah *ah, uint32_t qpn, void *mem, uint32_t len, uint32_t lkey, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)mem, len, lkey};
	struct ibv_send_wr *bad, wr = {.wr_id = id,
				       .sg_list = &sge,
				       .num_sge = 1,
				       .opcode = IBV_WR_SEND_WITH_IMM,
				       .send_flags = IBV_SEND_SIGNALED,
				       .imm_data = htobe32(0x12345678),
				       .wr.ud = {ah, qpn, QKEY}};

	return ibv_post_send(e->qp, &wr, &bad);
}

static const char *
wait_for(struct ibv_cq *cq, struct ibv_wc *wc)
{
	if (!completes(cq, wc))
		return "no completion";
	return wc->status == IBV_WC_SUCCESS ? NULL : ibv_wc_status_str(wc->status);
}

/* One datagram from a to b, whose octets are n, n + 1 ... */
static const char *
one(struct end *a, struct end *b, struct ibv_mr *from, struct ibv_mr *to, uint8_t n)
{
	struct ibv_ah *ah = towards(a, b);
	uint8_t *src = from->addr, *dst = to->addr;
	const char *why;
	struct ibv_wc wc;

	for (unsigned int i = 0; i < LEN; i++)
		src[i] = (uint8_t)(n + i);
	memset(dst, 0, GRH + LEN);
	post_recv(b, dst, GRH + LEN, to->lkey, 77);
	if (post_send(a, ah, b->qp->qp_num, src, LEN, from->lkey, 78) != 0)
		return "post_send";
	why = wait_for(a->cq, &wc);
	if (why == NULL && (wc.wr_id != 78 || wc.opcode != IBV_WC_SEND || wc.qp_num != a->qp->qp_num))
		why = "the send's completion";
	if (why == NULL)
		why = wait_for(b->cq, &wc);
	if (why == NULL && (wc.wr_id != 77 || wc.opcode != IBV_WC_RECV || wc.qp_num != b->qp->qp_num))
		why = "the receive's completion";
	if (why == NULL && (wc.src_qp != a->qp->qp_num || wc.byte_len != GRH + LEN))
		why = "src_qp or byte_len";
	if (why == NULL && wc.wc_flags != (IBV_WC_GRH | IBV_WC_WITH_IMM))
		why = "wc_flags";
	if (why == NULL && be32toh(wc.imm_data) != 0x12345678)
		why = "imm_data";
	for (unsigned int i = 0; i < LEN && why == NULL; i++)
		why = dst[GRH + i] == (uint8_t)(n + i) ? NULL : "data";
	(void)ibv_destroy_ah(ah);
	return why;
}

static const char *
datagram(struct end *a, struct end *b)
{
	struct ibv_mr *from = reg(a, malloc(LEN), LEN), *to = reg(b, malloc(GRH + LEN), GRH + LEN);
	const char *why = one(a, b, from, to, 1);

	if (why == NULL)
		why = one(a, b, from, to, 99);
	(void)ibv_dereg_mr(from);
	(void)ibv_dereg_mr(to);
	return why;
}

/* A child has what was there, and what it writes stays with it: in the region, and in the heap around it. */
static const char *
forks(struct end *a, struct end *b)
{
	uint8_t *near = malloc(64), *src = malloc(LEN), *dst = malloc(GRH + LEN);
	struct ibv_mr *from, *to;
	const char *why;
	int status;
	pid_t pid;

	memset(near, 5, 64);
	memset(src, 6, LEN);
	from = reg(a, src, LEN);
	to = reg(b, dst, GRH + LEN);
	pid = fork();
	if (pid == 0) {
		bool as_was = near[63] == 5 && src[0] == 6 && src[LEN - 1] == 6;

		if (ibv_alloc_pd(a->ctx) != NULL || errno != EIO)
			_exit(2);
		if (ibv_close_device(a->ctx) != 0)
			_exit(3);

		memset(near, 0xee, 64);
		memset(src, 0xee, LEN);
		free(malloc(100000));
		_exit(as_was ? 0 : 1);
	}
	why = waitpid(pid, &status, 0) == pid && status == 0 ? NULL
							     : "the child did not find what was there, or had a device";
	for (unsigned int i = 0; i < 64; i++)
		if (near[i] != 5)
			why = "the child wrote into its parent's heap";
	free(near);
	if (src[0] != 6 || src[LEN - 1] != 6)
		why = "the child wrote into its parent's region";
	if (why == NULL)
		why = one(a, b, from, to, 3);
	(void)ibv_dereg_mr(from);
	(void)ibv_dereg_mr(to);
	return why;
}

/* Other pages at the same address are other memory. */
static const char *
mapped_again(struct end *a, struct end *b)
{
	uint8_t *dst = malloc(GRH + LEN),
		*at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *to = reg(b, dst, GRH + LEN), *from;
	const char *why = NULL;

	for (int i = 0; i < 3 && why == NULL; i++) {
		from = reg(a, at, 8192);
		why = one(a, b, from, to, (uint8_t)(10 + i));
		(void)ibv_dereg_mr(from);
		munmap(at, 8192);
		if (mmap(at, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
			return "mmap";
		if (at[0] != 0)
			return "new pages are not zero";
	}
	(void)ibv_dereg_mr(to);
	return why;
}

struct work {
	struct end *a;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	uint32_t to;
	unsigned int sent, done, bad;
};
#define MESSAGES 2000u

/* Posts, and takes whatever completion comes, its own or another thread's. */
static void *
worker(void *arg)
{
	struct work *w = arg;
	time_t end = time(NULL) + LIMIT_S;
	struct ibv_wc wc;

	while (__atomic_load_n(&w->done, __ATOMIC_RELAXED) < MESSAGES && time(NULL) <= end) {
		if (__atomic_load_n(&w->sent, __ATOMIC_RELAXED) < MESSAGES &&
		    __atomic_fetch_add(&w->sent, 1, __ATOMIC_RELAXED) < MESSAGES)
			while (post_send(w->a, w->ah, w->to, w->mr->addr, 64, w->mr->lkey, 1) != 0)
				if (ibv_poll_cq(w->a->cq, 1, &wc) > 0)
					__atomic_fetch_add(&w->done, 1, __ATOMIC_RELAXED);
		if (ibv_poll_cq(w->a->cq, 1, &wc) > 0) {
			__atomic_fetch_add(&w->done, 1, __ATOMIC_RELAXED);
			if (wc.status != IBV_WC_SUCCESS || wc.wr_id != 1)
				__atomic_fetch_add(&w->bad, 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static const char *
threads(struct end *a, struct end *b)
{
	struct work w = {.a = a, .ah = towards(a, b), .mr = reg(a, malloc(64), 64), .to = b->qp->qp_num};
	pthread_t t[2];
	struct ibv_wc wc;

	/* Nothing is posted at the other end: datagrams may be lost. */
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, worker, &w);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	(void)ibv_dereg_mr(w.mr);
	(void)ibv_destroy_ah(w.ah);
	if (w.done != MESSAGES || w.bad != 0)
		return "not each message completed once, in success";
	return ibv_poll_cq(a->cq, 1, &wc) == 0 ? NULL : "a completion too many";
}

static const char *
refusals(struct end *a)
{
	struct ibv_qp_init_attr xrc = {
		.qp_type = IBV_QPT_XRC_SEND, .send_cq = a->cq, .recv_cq = a->cq, .cap = {1, 1, 1, 1, 0}};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	uint8_t stack[64];

	if (ibv_reg_mr(a->pd, stack, sizeof(stack), IBV_ACCESS_LOCAL_WRITE) != NULL || errno != EFAULT)
		return "a region on the stack";
	if (ibv_reg_mr(a->pd, (void *)(uintptr_t)0x1000, 64, IBV_ACCESS_LOCAL_WRITE) != NULL || errno != EFAULT)
		return "a region of nothing";
	if (ibv_reg_mr(a->pd, malloc(64), 0, IBV_ACCESS_LOCAL_WRITE) != NULL || errno != EINVAL)
		return "a region of no octets";
	if (ibv_reg_mr(a->pd, malloc(64), 64, IBV_ACCESS_REMOTE_WRITE) != NULL || errno != EINVAL)
		return "remote writing without local writing";
	if (ibv_create_qp(a->pd, &xrc) != NULL || errno != EOPNOTSUPP)
		return "a queue pair of XRC";
	if (ibv_create_cq(a->ctx, 1 << 30, NULL, NULL, 0) != NULL || errno != EINVAL)
		return "a completion queue that is too large";
	if (ibv_modify_qp(a->qp, &attr, IBV_QP_STATE) != EINVAL)
		return "RTS to RTR";
	return ibv_dealloc_pd(a->pd) == EBUSY ? NULL : "a protection domain that is in use";
}

static void
close_end(struct end *e)
{
	done(ibv_destroy_qp(e->qp), "destroy_qp");
	done(ibv_destroy_cq(e->cq), "destroy_cq");
	done(ibv_dealloc_pd(e->pd), "dealloc_pd");
	done(ibv_close_device(e->ctx), "close_device");
}

int
main(int argc, char **argv)
{
	struct end a = {0}, b = {0};

	if (argc != 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_end(&a, argv[1], atoi(argv[3]));
	open_end(&b, argv[2], atoi(argv[3]));
	say("datagram", datagram(&a, &b));
	say("fork", forks(&a, &b));
	say("mapped-again", mapped_again(&a, &b));
	say("threads", threads(&a, &b));
	say("refusals", refusals(&a));
	say("datagram-after", datagram(&b, &a));
	close_end(&a);
	close_end(&b);
	say("closed", NULL);
	return failed != 0;
}
