/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * bench_verbs_client DEVICE GID ROUNDS: a program of libibverbs that sends 64 B, inline, between two queue pairs of one port, a
 * message a round. What ibv_post_send() and ibv_poll_cq() take is counted from outside, as bench_verbs has it for the owner:
 * bench_post, bench_poll_send and bench_poll_recv hold one call each, which finds what it looks for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#define LEN 64
#define WRS 128

struct end {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct ibv_pd *pd;
static struct ibv_mr *mr;
static uint8_t *mem;

__attribute__((noinline)) static int
bench_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	return ibv_post_send(qp, wr, bad);
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

/* Called as the compiler sees nothing of: else they are made for this one caller, and take more than those of bench_verbs. */
static int (*volatile poll_send)(struct ibv_cq *, int, struct ibv_wc *) = bench_poll_send;
static int (*volatile poll_recv)(struct ibv_cq *, int, struct ibv_wc *) = bench_poll_recv;

static int
make(struct ibv_context *ctx, struct end *e)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = WRS,
						.max_recv_wr = WRS,
						.max_send_sge = 1,
						.max_recv_sge = 1,
						.max_inline_data = LEN},
					.sq_sig_all = 1};

	e->channel = ibv_create_comp_channel(ctx);
	e->cq = e->channel == NULL ? NULL : ibv_create_cq(ctx, WRS, NULL, e->channel, 0);
	if (e->cq == NULL)
		return errno;
	init.send_cq = init.recv_cq = e->cq;
	e->qp = ibv_create_qp(pd, &init);
	return e->qp == NULL ? errno : 0;
}

static int
join(struct end *e, const struct end *peer, const union ibv_gid *gid, uint8_t index)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	int err = ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
				 .path_mtu = IBV_MTU_1024,
				 .dest_qp_num = peer->qp->qp_num,
				 .max_dest_rd_atomic = 1,
				 .min_rnr_timer = 12,
				 .ah_attr = {.is_global = 1,
					     .port_num = 1,
					     .grh = {.dgid = *gid, .sgid_index = index, .hop_limit = 64}}};
	if (err == 0)
		err = ibv_modify_qp(e->qp, &a,
				    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
	if (err == 0)
		err = ibv_modify_qp(e->qp, &a,
				    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	return err;
}

/* Until there is something in the queue, which was armed. */
static int
wait_for(struct end *e)
{
	struct ibv_cq *cq;
	void *arg;

	if (ibv_get_cq_event(e->channel, &cq, &arg) != 0)
		return errno;
	ibv_ack_cq_events(cq, 1);
	return 0;
}

static int
one_round(struct end *from, struct end *to)
{
	struct ibv_sge out = {(uintptr_t)mem, LEN, mr->lkey}, in = {(uintptr_t)mem + LEN, LEN, mr->lkey};
	struct ibv_recv_wr rwr = {.sg_list = &in, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr wr = {.sg_list = &out, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE};
	struct ibv_send_wr *bad;
	struct ibv_wc wc[2];

	if (ibv_req_notify_cq(from->cq, 0) != 0 || ibv_req_notify_cq(to->cq, 0) != 0 ||
	    ibv_post_recv(to->qp, &rwr, &bad_recv) != 0 || bench_post(from->qp, &wr, &bad) != 0)
		return EIO;
	if (wait_for(from) != 0 || wait_for(to) != 0)
		return EIO;
	if (poll_send(from->cq, 1, &wc[0]) != 1 || poll_recv(to->cq, 1, &wc[1]) != 1)
		return EAGAIN;
	return wc[0].status == IBV_WC_SUCCESS && wc[1].status == IBV_WC_SUCCESS && memcmp(mem, mem + LEN, LEN) == 0
		       ? 0
		       : EIO;
}

static struct ibv_context *
open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (unsigned int i = 0; list != NULL && list[i] != NULL && ctx == NULL; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			ctx = ibv_open_device(list[i]);
	if (list != NULL)
		ibv_free_device_list(list);
	return ctx;
}

int
main(int argc, char **argv)
{
	struct ibv_context *ctx = argc == 4 ? open_named(argv[1]) : NULL;
	const unsigned int rounds = argc == 4 ? (unsigned int)atoi(argv[3]) : 0;
	const int index = argc == 4 ? atoi(argv[2]) : 0;
	struct end e[2];
	union ibv_gid gid;
	int err;

	if (ctx == NULL || rounds == 0) {
		fprintf(stderr, "usage: bench_verbs_client DEVICE GID ROUNDS, of a device that there is\n");
		return 1;
	}
	pd = ibv_alloc_pd(ctx);
	mem = aligned_alloc(4096, 4096);
	mr = pd == NULL || mem == NULL ? NULL : ibv_reg_mr(pd, mem, 4096, IBV_ACCESS_LOCAL_WRITE);
	err = mr == NULL || ibv_query_gid(ctx, 1, index, &gid) != 0 ? errno : 0;
	for (unsigned int i = 0; i < 2 && err == 0; i++)
		err = make(ctx, &e[i]);
	for (unsigned int i = 0; i < 2 && err == 0; i++)
		err = join(&e[i], &e[!i], &gid, (uint8_t)index);
	for (unsigned int i = 0; i < rounds && err == 0; i++) {
		memset(mem, (int)i, LEN);
		err = one_round(&e[0], &e[1]);
	}
	if (err != 0) {
		fprintf(stderr, "bench_verbs_client: %s\n", strerror(err));
		return 1;
	}
	printf("client packets %u\n", rounds);
	return 0;
}
