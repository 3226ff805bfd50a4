/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "verbs_pair.h"

#include <poll.h>

#define RECV_ID 1000u

static void
end_open(struct end *e, const char *name, int index)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = {PAIR_DEPTH, PAIR_DEPTH, 1, 1, 0}};

	e->ctx = open_device(name);
	e->index = index;
	e->pd = need(ibv_alloc_pd(e->ctx), "protection domain");
	e->channel = need(ibv_create_comp_channel(e->ctx), "channel");
	e->buf = need(malloc(2 * PAIR_DEPTH * PAIR_LEN), "memory");
	done(ibv_query_gid(e->ctx, 1, index, &e->gid), "GID");
	e->cq = need(ibv_create_cq(e->ctx, 4 * PAIR_DEPTH, NULL, e->channel, 0), "completion queue");
	e->mr = need(ibv_reg_mr(e->pd, e->buf, 2 * PAIR_DEPTH * PAIR_LEN, IBV_ACCESS_LOCAL_WRITE), "region");
	init.send_cq = init.recv_cq = e->cq;
	e->qp = need(ibv_create_qp(e->pd, &init), "queue pair");
}

static void
connect_to(struct end *e, const struct end *to)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	done(ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = to->qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = to->gid, .sgid_index = (uint8_t)e->index, .hop_limit = 64}},
	};
	done(ibv_modify_qp(e->qp, &a,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
	done(ibv_modify_qp(e->qp, &a,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				   IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

void
pair_open(struct pair *p, const char *const name[2], int gid_index)
{
	memset(p, 0, sizeof(*p));
	for (unsigned int i = 0; i < 2; i++)
		end_open(&p->e[i], name[i], gid_index);
	for (unsigned int i = 0; i < 2; i++)
		connect_to(&p->e[i], &p->e[!i]);
}

int
pair_receive(struct end *e, unsigned int slot)
{
	struct ibv_sge sge = {(uintptr_t)e->buf + (PAIR_DEPTH + slot) * PAIR_LEN, PAIR_LEN, e->mr->lkey};
	struct ibv_recv_wr *bad, wr = {.wr_id = RECV_ID + slot, .sg_list = &sge, .num_sge = 1};

	return ibv_post_recv(e->qp, &wr, &bad);
}

int
pair_send(struct end *e, unsigned int slot)
{
	struct ibv_sge sge = {(uintptr_t)e->buf + slot * PAIR_LEN, PAIR_LEN, e->mr->lkey};
	struct ibv_send_wr *bad, wr = {.wr_id = slot,
				       .sg_list = &sge,
				       .num_sge = 1,
				       .opcode = IBV_WR_SEND,
				       .send_flags = IBV_SEND_SIGNALED};

	return ibv_post_send(e->qp, &wr, &bad);
}

/* Octet i of message n. */
static uint8_t
octet(uint64_t n, unsigned int i)
{
	return (uint8_t)((n * 0x9e3779b97f4a7c15u >> 32) + i * 7);
}

/* Sleeps until the queue tells of something; NULL or why not. */
static const char *
sleep_for(struct end *e)
{
	struct pollfd fd = {.fd = e->channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	void *context;
	int n;

	do
		n = poll(&fd, 1, LIMIT_S * 1000);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return "no completion";
	if (ibv_get_cq_event(e->channel, &cq, &context) != 0)
		return "no event";
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

/* n completions. */
static const char *
completions(struct end *e, unsigned int n, enum ibv_wc_status *status)
{
	const char *why = NULL;
	struct ibv_wc wc;
	int got;

	while (n > 0 && why == NULL) {
		got = ibv_poll_cq(e->cq, 1, &wc);
		if (got == 0) {
			if (ibv_req_notify_cq(e->cq, 0) != 0)
				return "req_notify_cq";
			/* What came in between brings no event. */
			got = ibv_poll_cq(e->cq, 1, &wc);
			if (got == 0) {
				why = sleep_for(e);
				continue;
			}
		}
		if (got < 0)
			return "poll_cq";
		*status = wc.status;
		if (wc.status != IBV_WC_SUCCESS)
			return ibv_wc_status_str(wc.status);
		n--;
	}
	return why;
}

const char *
pair_exchange(struct pair *p, enum ibv_wc_status *status)
{
	unsigned int slot = (unsigned int)(p->sent % PAIR_DEPTH);
	const char *why = NULL;

	for (unsigned int k = 0; k < 2; k++) {
		struct end *e = &p->e[k];

		for (unsigned int i = 0; i < PAIR_LEN; i++)
			e->buf[slot * PAIR_LEN + i] = octet(2 * p->sent + k, i);
		memset(e->buf + (PAIR_DEPTH + slot) * PAIR_LEN, 0, PAIR_LEN);
		if (pair_receive(e, slot) != 0)
			return "post_recv";
	}
	for (unsigned int k = 0; k < 2; k++)
		if (pair_send(&p->e[k], slot) != 0)
			return "post_send";
	for (unsigned int k = 0; k < 2 && why == NULL; k++)
		why = completions(&p->e[k], 2, status);
	for (unsigned int k = 0; k < 2 && why == NULL; k++)
		for (unsigned int i = 0; i < PAIR_LEN && why == NULL; i++)
			if (p->e[k].buf[(PAIR_DEPTH + slot) * PAIR_LEN + i] != octet(2 * p->sent + !k, i))
				why = "data";
	p->sent++;
	return why;
}
