/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "verbs_ends.h"

/* --- ends ---------------------------------------------------------------------------------------------------------- */

static struct ibv_qp *
make_qp(struct end *e, enum ibv_qp_type type, uint64_t ops)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = ibv_cq_ex_to_cq(e->cq),
		.recv_cq = ibv_cq_ex_to_cq(e->cq),
		.cap = {DEPTH, DEPTH, 4, 1, 200},
		.qp_type = type,
		.sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = e->pd,
		.send_ops_flags = ops,
	};

	return need(ibv_create_qp_ex(e->ctx, &init), "queue pair");
}

void
open_end(struct end *e, const char *name, int index, uint32_t flags)
{
	struct ibv_cq_init_attr_ex cq = {
		.cqe = 4 * DEPTH,
		.wc_flags = FIELDS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = flags,
	};

	e->ctx = open_device(name);
	e->index = index;
	e->pd = need(ibv_alloc_pd(e->ctx), "protection domain");
	if (e->events)
		cq.channel = e->channel = need(ibv_create_comp_channel(e->ctx), "channel");
	e->cq = need(ibv_create_cq_ex(e->ctx, &cq), "completion queue");
	done(ibv_query_gid(e->ctx, 1, index, &e->gid), "GID");
	e->rc = make_qp(e, IBV_QPT_RC,
			IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
				IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
				IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
				IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV);
	e->ud = make_qp(e, IBV_QPT_UD, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM);
	e->rcx = need(ibv_qp_to_qp_ex(e->rc), "ibv_qp_to_qp_ex");
	e->udx = need(ibv_qp_to_qp_ex(e->ud), "ibv_qp_to_qp_ex");
	e->mem = need(malloc(MEM), "memory");
	memset(e->mem, 0, MEM);
	e->mr = need(ibv_reg_mr(e->pd, e->mem, MEM,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
					IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND),
		     "region");
}

void
ud_up(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};

	done(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), "INIT");
	a.qp_state = IBV_QPS_RTR;
	done(ibv_modify_qp(qp, &a, IBV_QP_STATE), "RTR");
	a.qp_state = IBV_QPS_RTS;
	done(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
}

struct ibv_ah_attr
av_of(const struct end *from, const struct end *to)
{
	return (struct ibv_ah_attr){.is_global = 1,
				    .port_num = 1,
				    .grh = {.dgid = to->gid, .sgid_index = (uint8_t)from->index, .hop_limit = 64}};
}

/*
 * The first PSN of connections. Those that follow on the same queue pairs begin elsewhere: packets of the one before that are still
 * on their way are out of sequence then, where they would be requests with keys that are gone.
 */
static uint32_t first_psn;

void
rc_up(struct end *e, struct end *peer)
{
	struct ibv_qp_attr a = {
		.rq_psn = first_psn,
		.sq_psn = first_psn,
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->rc->qp_num,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = av_of(e, peer),
	};

	done(ibv_modify_qp(e->rc, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
	a.qp_state = IBV_QPS_RTR;
	done(ibv_modify_qp(e->rc, &a,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	a.qp_state = IBV_QPS_RTS;
	done(ibv_modify_qp(e->rc, &a,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				   IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

void
again(struct end *a, struct end *b)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

	done(ibv_modify_qp(a->rc, &reset, IBV_QP_STATE), "RESET");
	done(ibv_modify_qp(b->rc, &reset, IBV_QP_STATE), "RESET");
	first_psn = (first_psn + 0x10000) & 0xffffff;
	rc_up(a, b);
	rc_up(b, a);
}

void
post_recv(struct end *e, struct ibv_qp *qp, uint32_t at, uint32_t len, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)e->mem + at, len, e->mr->lkey};
	struct ibv_recv_wr *bad, wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};

	done(ibv_post_recv(qp, &wr, &bad), "post_recv");
}

/* --- completions --------------------------------------------------------------------------------------------------- */

bool
polled(struct end *e)
{
	struct ibv_poll_cq_attr attr = {0};
	time_t end = time(NULL) + LIMIT_S;
	int err;

	while ((err = ibv_start_poll(e->cq, &attr)) == ENOENT)
		if (time(NULL) > end)
			return false;
	return err == 0;
}

const char *
completed(struct end *e, enum ibv_wc_opcode opcode, uint64_t id)
{
	static char text[80];
	enum ibv_wc_status status;
	enum ibv_wc_opcode got;
	uint64_t wr_id;

	if (!polled(e))
		return "no completion";
	status = e->cq->status;
	wr_id = e->cq->wr_id;
	got = ibv_wc_read_opcode(e->cq);
	ibv_end_poll(e->cq);
	if (status == IBV_WC_SUCCESS && got == opcode && wr_id == id)
		return NULL;
	snprintf(text, sizeof(text), "%s, opcode %d of wr_id %lu where %d of %lu was due", ibv_wc_status_str(status),
		 got, (unsigned long)wr_id, opcode, (unsigned long)id);
	return text;
}

bool
is_idle(struct end *e)
{
	struct ibv_poll_cq_attr attr = {0};

	return ibv_start_poll(e->cq, &attr) == ENOENT;
}

void
fill(struct end *a, struct end *b)
{
	for (unsigned int i = 0; i < MEM; i++) {
		a->mem[i] = (uint8_t)(i * 7 + 1);
		b->mem[i] = 0;
	}
}

void
close_end(struct end *e)
{
	done(ibv_destroy_qp(e->rc), "destroy_qp");
	done(ibv_destroy_qp(e->ud), "destroy_qp");
	done(ibv_destroy_cq(ibv_cq_ex_to_cq(e->cq)), "destroy_cq");
	if (e->channel != NULL)
		done(ibv_destroy_comp_channel(e->channel), "destroy_comp_channel");
	done(ibv_dereg_mr(e->mr), "dereg_mr");
	done(ibv_dealloc_pd(e->pd), "dealloc_pd");
	done(ibv_close_device(e->ctx), "close_device");
	free(e->mem);
}
