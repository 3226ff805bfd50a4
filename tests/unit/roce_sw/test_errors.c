/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What goes wrong: each request ends once, with the status that the architecture names, and each cause is counted. */
#include <errno.h>

#include "pair.h"

#define NOWHERE 0x12345601u

struct rc {
	struct pair *p;
	struct ibv_qp *a, *b;
};

static struct rc
start(void **state, const struct qp_conf *c)
{
	struct rc r = {.p = *state};

	pair_qps(r.p, c, &r.a, &r.b);
	return r;
}

static void
stop(struct rc *r)
{
	assert_int_equal(tp_roce_destroy_qp(r->a), 0);
	assert_int_equal(tp_roce_destroy_qp(r->b), 0);
}

static const struct qp_conf plain = {.type = IBV_QPT_RC};

static void
ends(struct rc *r, unsigned int node, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	pair_wait(r->p, r->p->n[node].cq, 1, &wc);
	assert_int_equal(wc.wr_id, id);
	assert_int_equal(wc.status, status);
	assert_int_equal(wc.qp_num, node == 0 ? r->a->qp_num : r->b->qp_num);
}

static void
quiet(struct rc *r, unsigned int node)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(r->p->n[node].cq, 1, &wc), 0);
}

/* A request of a fails with this status, one behind it is flushed, and the queue pair is in error. */
static void
a_fails(struct rc *r, struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	struct ibv_sge sge;
	struct ibv_send_wr next = pair_wr(r->p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 4, 0), *bad;

	wr->wr_id = 1;
	next.wr_id = 2;
	next.send_flags = 0; /* errors are told of all */
	wr->next = &next;
	assert_int_equal(ibv_post_send(r->a, wr, &bad), 0);
	ends(r, 0, 1, status);
	ends(r, 0, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(pair_state(r->a), IBV_QPS_ERR);
	assert_int_equal(r->a->state, IBV_QPS_ERR);
	/* What is posted from here on is flushed, too. */
	pair_recv(r->p, 0, r->a, 3, 0, 4);
	ends(r, 0, 3, IBV_WC_WR_FLUSH_ERR);
	next.wr_id = 4;
	pair_post(r->a, &next);
	ends(r, 0, 4, IBV_WC_WR_FLUSH_ERR);
	quiet(r, 0);
}

/* --- keys and bounds of the sender ---------------------------------------------------------------------------- */

static void
local_key(void **state)
{
	for (unsigned int how = 0; how < 4; how++) {
		struct rc r = start(state, &plain);
		struct ibv_sge sge;
		struct ibv_send_wr wr = pair_wr(r.p, 0, IBV_WR_SEND, &sge, 0, 100, 0);
		struct ibv_pd *pd = tp_roce_alloc_pd(r.p->n[0].ctx);
		struct ibv_mr *other = tp_roce_reg_mr(pd, r.p->n[0].mem, 4096, 0);

		pair_recv(r.p, 1, r.b, 9, 0, 100);
		if (how == 0)
			sge.lkey = NOWHERE; /* nobody's key */
		else if (how == 1)
			sge.lkey ^= 1; /* the right place, and not the key */
		else if (how == 2)
			sge.addr += PAIR_MEM - 99; /* one byte behind the end */
		else
			sge.lkey = other->lkey; /* of another protection domain */
		a_fails(&r, &wr, IBV_WC_LOC_PROT_ERR);
		assert_int_equal(pair_stat(r.p, 0, "req_protection_errors"), how + 1);
		assert_int_equal(tp_roce_dereg_mr(other), 0);
		assert_int_equal(tp_roce_dealloc_pd(pd), 0);
		stop(&r);
	}
}

/* The element that fails is the second one, behind a whole packet. */
static void
local_key_later(void **state)
{
	struct rc r = start(state, &plain);
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = pair_wr(r.p, 0, IBV_WR_RDMA_WRITE, sge, 0, 1500, 0);

	sge[1] = sge[0];
	sge[1].lkey = NOWHERE;
	wr.num_sge = 2;
	a_fails(&r, &wr, IBV_WC_LOC_PROT_ERR);
	stop(&r);
}

/* A READ's answer may only be written where writing is allowed. */
static void
read_into_read_only(void **state)
{
	struct rc r = start(state, &plain);
	struct ibv_mr *ro = tp_roce_reg_mr(r.p->n[0].pd, r.p->n[0].mem, 4096, 0);
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(r.p, 0, IBV_WR_RDMA_READ, &sge, 0, 100, 0);

	sge.lkey = ro->lkey;
	a_fails(&r, &wr, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(tp_roce_dereg_mr(ro), 0);
	stop(&r);
}

/* --- keys and bounds of the other side ------------------------------------------------------------------------ */

static void
remote_key(void **state)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD};
	uint64_t refused = 0;

	for (unsigned int k = 0; k < RTE_DIM(ops); k++) {
		for (unsigned int how = 0; how < 4; how++) {
			struct rc r = start(state, &plain);
			struct ibv_pd *pd = tp_roce_alloc_pd(r.p->n[1].ctx);
			struct ibv_mr *other = tp_roce_reg_mr(pd, r.p->n[1].mem, 4096, PAIR_ALL);
			struct ibv_mr *closed =
				tp_roce_reg_mr(r.p->n[1].pd, r.p->n[1].mem, 4096, IBV_ACCESS_LOCAL_WRITE);
			struct ibv_sge sge;
			struct ibv_send_wr wr = pair_wr(r.p, 0, ops[k], &sge, 0, 8, how == 1 ? PAIR_MEM - 4 : 0);
			uint32_t *rkey = k == 2 ? &wr.wr.atomic.rkey : &wr.wr.rdma.rkey;

			if (how == 1 && k == 2)
				wr.wr.atomic.remote_addr = (uintptr_t)r.p->n[1].mem + PAIR_MEM;
			if (how != 1)
				*rkey = how == 0 ? NOWHERE : how == 2 ? other->rkey : closed->rkey;
			a_fails(&r, &wr, IBV_WC_REM_ACCESS_ERR);
			assert_int_equal(pair_stat(r.p, 1, "resp_access_errors"), ++refused);
			assert_int_equal(pair_stat(r.p, 1, "responder_remote_access_errors"), refused);
			assert_int_equal(pair_stat(r.p, 0, "req_remote_access_errors"), refused);
			assert_int_equal(pair_stat(r.p, 0, "requester_remote_access_errors"), refused);
			assert_ptr_equal(pair_event(r.p, 1, IBV_EVENT_QP_ACCESS_ERR), r.b);
			assert_int_equal(pair_state(r.b), IBV_QPS_ERR);
			assert_int_equal(tp_roce_dereg_mr(other), 0);
			assert_int_equal(tp_roce_dereg_mr(closed), 0);
			assert_int_equal(tp_roce_dealloc_pd(pd), 0);
			stop(&r);
		}
	}
}

/* The queue pair itself does not let the peer do it; and an address that atomics cannot have. */
static void
not_allowed(void **state)
{
	static const struct {
		enum ibv_wr_opcode op;
		uint8_t off;
		uint32_t roff;
	} cases[] = {{IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE, 0},
		     {IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ, 0},
		     {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_ACCESS_REMOTE_ATOMIC, 0},
		     {IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 4}};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		const struct qp_conf c = {.type = IBV_QPT_RC, .access_off = cases[i].off};
		struct rc r = start(state, &c);
		struct ibv_sge sge;
		struct ibv_send_wr wr = pair_wr(r.p, 0, cases[i].op, &sge, 0, 8, cases[i].roff);

		a_fails(&r, &wr, IBV_WC_REM_INV_REQ_ERR);
		assert_ptr_equal(pair_event(r.p, 1, IBV_EVENT_QP_REQ_ERR), r.b);
		assert_int_equal(pair_stat(r.p, 1, "resp_invalid_requests"), i + 1);
		assert_int_equal(pair_stat(r.p, 0, "req_remote_invalid_requests"), i + 1);
		stop(&r);
	}
}

/* --- receivers ---------------------------------------------------------------------------------------------------- */

static void
receive_too_short(void **state)
{
	struct rc r = start(state, &plain);
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(r.p, 0, IBV_WR_SEND, &sge, 0, 2000, 0);

	pair_recv(r.p, 1, r.b, 9, 0, 1999);
	pair_recv(r.p, 1, r.b, 10, 0, 10);
	a_fails(&r, &wr, IBV_WC_REM_INV_REQ_ERR);
	ends(&r, 1, 9, IBV_WC_LOC_LEN_ERR);
	ends(&r, 1, 10, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(pair_stat(r.p, 1, "resp_length_errors"), 1);
	assert_int_equal(pair_stat(r.p, 0, "req_remote_invalid_requests"), 1);
	stop(&r);
}

static void
receive_key(void **state)
{
	struct rc r = start(state, &plain);
	struct ibv_sge rsge = {(uintptr_t)r.p->n[1].mem, 100, NOWHERE}, sge;
	struct ibv_recv_wr *bad, rr = {.wr_id = 9, .sg_list = &rsge, .num_sge = 1};
	struct ibv_send_wr wr = pair_wr(r.p, 0, IBV_WR_SEND, &sge, 0, 100, 0);

	assert_int_equal(ibv_post_recv(r.b, &rr, &bad), 0);
	a_fails(&r, &wr, IBV_WC_REM_OP_ERR);
	ends(&r, 1, 9, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(pair_stat(r.p, 1, "resp_protection_errors"), 1);
	assert_int_equal(pair_stat(r.p, 1, "resp_remote_operation_errors"), 1);
	assert_int_equal(pair_stat(r.p, 0, "req_remote_operation_errors"), 1);
	stop(&r);
}

static void
not_ready(void **state)
{
	/* What is sent again for want of time is refused again. */
	const struct qp_conf never = {.type = IBV_QPT_RC, .no_rnr_retry = true, .timeout = 20};
	const struct qp_conf twice = {.type = IBV_QPT_RC, .rnr_retry = 2, .timeout = 20};
	struct rc r = start(state, &never);
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(r.p, 0, IBV_WR_SEND, &sge, 0, 100, 0);

	a_fails(&r, &wr, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(pair_stat(r.p, 1, "resp_rnr_naks"), 1);
	assert_int_equal(pair_stat(r.p, 1, "responder_rnr_naks"), 1); /* as it was called before */
	stop(&r);
	r = start(state, &twice);
	wr.next = NULL;
	a_fails(&r, &wr, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(pair_stat(r.p, 1, "resp_rnr_naks"), 4);
	assert_int_equal(pair_stat(r.p, 0, "req_rnr_naks"), 4);
	assert_int_equal(pair_stat(r.p, 0, "req_rnr_retries_exceeded"), 2);
	stop(&r);
	/* For ever, and then there is one. */
	r = start(state, &plain);
	pair_send(r.p, 0, r.a, 5, 0, 100);
	pair_run(r.p, 3);
	pair_recv(r.p, 1, r.b, 6, 0, 100);
	ends(&r, 1, 6, IBV_WC_SUCCESS);
	ends(&r, 0, 5, IBV_WC_SUCCESS);
	stop(&r);
}

/* --- nobody answers ----------------------------------------------------------------------------------------------- */

static unsigned int
nothing(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	return 0;
}

static void
silence(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .timeout = 6, .retry = 3};
	struct rc r = start(state, &c);
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(r.p, 0, IBV_WR_SEND, &sge, 0, 100, 0);

	r.p->wire = nothing;
	a_fails(&r, &wr, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(pair_stat(r.p, 0, "req_timeouts"), 4);
	assert_int_equal(pair_stat(r.p, 0, "req_retries_exceeded"), 1);
	r.p->wire = NULL;
	stop(&r);
}

/* The port loses the address: nothing is sent from it any more. */
static void
address_gone(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .timeout = 6, .retry = 2};
	struct sockaddr_in a = {.sin_family = AF_INET};
	struct rc r = start(state, &c);
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(r.p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 100, 0);

	pair_post(r.a, &wr);
	pair_wait(r.p, r.p->n[0].cq, 1, NULL);
	assert_int_equal(inet_pton(AF_INET, "192.0.2.1", &a.sin_addr), 1);
	assert_int_equal(tp_roce_addr_del(r.p->n[0].ctx, (struct sockaddr *)&a), 0);
	a_fails(&r, &wr, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(pair_stat(r.p, 0, "no_source_address"), 2 * 3); /* two requests */
	stop(&r);
}

/* --- what cannot be posted ------------------------------------------------------------------------------------- */

static void
refused_requests(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .send_wr = 4, .recv_wr = 4, .sge = 2, .inl = 64};
	struct pair *p = *state;
	struct ibv_qp *a = pair_qp(p, 0, &c), *b = pair_qp(p, 1, &c);
	struct ibv_sge sge[3];
	struct ibv_send_wr *bad, wr = pair_wr(p, 0, IBV_WR_SEND, sge, 0, 65, 0);
	struct ibv_recv_wr *rbad, rr = {.sg_list = sge, .num_sge = 3};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	/* INIT: no sending yet. */
	bad = NULL;
	assert_int_equal(ibv_post_send(a, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	pair_connect(p, a, b, &c);
	wr.send_flags |= IBV_SEND_INLINE;
	assert_int_equal(ibv_post_send(a, &wr, &bad), EINVAL);
	sge[0].length = 64;
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(ibv_post_send(a, &wr, &bad), EINVAL);
	wr.send_flags = 0;
	wr.opcode = IBV_WR_TSO;
	assert_int_equal(ibv_post_send(a, &wr, &bad), EINVAL);
	wr.opcode = (enum ibv_wr_opcode)200;
	assert_int_equal(ibv_post_send(a, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = 3;
	assert_int_equal(ibv_post_send(a, &wr, &bad), EINVAL);
	wr.num_sge = -1;
	assert_int_equal(ibv_post_send(a, &wr, &bad), EINVAL);
	assert_int_equal(ibv_post_recv(a, &rr, &rbad), EINVAL);
	assert_int_equal(pair_stat(p, 0, "refused_work_requests"), 8);
	/* Full queues: the requests in front of the one that finds no room are posted. */
	p->wire = nothing;
	wr.num_sge = 1;
	assert_int_equal(tp_roce_query_qp(a, &attr, IBV_QP_CAP, &init), 0);
	for (uint32_t i = 0; i < init.cap.max_send_wr; i++)
		pair_post(a, &wr);
	assert_int_equal(ibv_post_send(a, &wr, &bad), ENOMEM);
	rr.num_sge = 1;
	for (uint32_t i = 0; i < init.cap.max_recv_wr; i++)
		assert_int_equal(ibv_post_recv(a, &rr, &rbad), 0);
	assert_int_equal(ibv_post_recv(a, &rr, &rbad), ENOMEM);
	assert_ptr_equal(rbad, &rr);
	p->wire = NULL;
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* Each service sends only what it can. */
static void
services(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		enum ibv_wr_opcode op;
	} cases[] = {{IBV_QPT_UC, IBV_WR_RDMA_READ},          {IBV_QPT_UC, IBV_WR_ATOMIC_CMP_AND_SWP},
		     {IBV_QPT_UC, IBV_WR_SEND_WITH_INV},      {IBV_QPT_UD, IBV_WR_RDMA_WRITE},
		     {IBV_QPT_UD, IBV_WR_RDMA_READ},          {IBV_QPT_UD, IBV_WR_ATOMIC_FETCH_AND_ADD},
		     {IBV_QPT_UD, IBV_WR_SEND_WITH_INV},      {IBV_QPT_UD, IBV_WR_BIND_MW},
		     {IBV_QPT_UD, IBV_WR_RDMA_WRITE_WITH_IMM}};
	struct pair *p = *state;

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		const struct qp_conf c = {.type = cases[i].type};
		struct ibv_qp *a, *b;
		struct ibv_sge sge;
		struct ibv_send_wr *bad, wr = pair_wr(p, 0, cases[i].op, &sge, 0, 8, 0);

		pair_qps(p, &c, &a, &b);
		assert_int_equal(ibv_post_send(a, &wr, &bad), EINVAL);
		assert_int_equal(tp_roce_destroy_qp(a), 0);
		assert_int_equal(tp_roce_destroy_qp(b), 0);
	}
}

/* --- completion queues ----------------------------------------------------------------------------------------- */

/* More completions than the queue holds: it says so, and all its queue pairs fail. */
static void
cq_overrun(void **state)
{
	struct pair *p = *state;
	struct ibv_cq *small = tp_roce_create_cq(p->n[0].ctx, 4, NULL, NULL, 0);
	const struct qp_conf on_small = {.type = IBV_QPT_RC, .scq = small, .rcq = small};
	struct ibv_qp *a = pair_qp(p, 0, &on_small), *c = pair_qp(p, 0, &on_small), *b = pair_qp(p, 1, &plain),
		      *d = pair_qp(p, 1, &plain);
	struct ibv_async_event e;
	unsigned int cq_errors = 0, fatal = 0;
	struct ibv_wc wc[8];

	pair_connect(p, a, b, &on_small);
	pair_connect(p, c, d, &on_small);
	for (int i = 0; i < small->cqe + 1; i++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 8, 0);

		pair_post(a, &wr);
	}
	pair_run(p, 2);
	while (tp_roce_get_async_event(p->n[0].ctx, &e) == 0) {
		if (e.event_type == IBV_EVENT_CQ_ERR) {
			assert_ptr_equal(e.element.cq, small);
			cq_errors++;
		} else {
			assert_int_equal(e.event_type, IBV_EVENT_QP_FATAL);
			fatal++;
		}
		tp_roce_ack_async_event(&e);
	}
	assert_int_equal(cq_errors, 1);
	assert_int_equal(fatal, 2);
	assert_int_equal(pair_state(a), IBV_QPS_ERR);
	assert_int_equal(pair_state(c), IBV_QPS_ERR);
	assert_int_equal(pair_stat(p, 0, "cq_overflows"), 1);
	assert_int_equal(pair_stat(p, 0, "cq_overruns"), 1); /* its name before */
	assert_int_equal(pair_stat(p, 0, "cq_overruns"), 1);
	/* What was in it is still there; then it says that no more will come. */
	assert_int_equal(ibv_poll_cq(small, 8, wc), small->cqe);
	assert_true(ibv_poll_cq(small, 8, wc) < 0);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
	assert_int_equal(tp_roce_destroy_qp(c), 0);
	assert_int_equal(tp_roce_destroy_qp(d), 0);
	assert_int_equal(tp_roce_destroy_cq(small), 0);
}

/* --- states ------------------------------------------------------------------------------------------------------- */

static void
flush_by_application(void **state)
{
	struct rc r = start(state, &plain);

	r.p->wire = nothing;
	pair_recv(r.p, 0, r.a, 1, 0, 10);
	pair_send(r.p, 0, r.a, 2, 0, 10);
	pair_send(r.p, 0, r.a, 3, 0, 10);
	pair_to_error(r.a);
	ends(&r, 0, 2, IBV_WC_WR_FLUSH_ERR);
	ends(&r, 0, 3, IBV_WC_WR_FLUSH_ERR);
	ends(&r, 0, 1, IBV_WC_WR_FLUSH_ERR);
	quiet(&r, 0);
	assert_int_equal(pair_stat(r.p, 0, "req_flushed"), 2);
	assert_int_equal(pair_stat(r.p, 0, "resp_flushed"), 1);
	r.p->wire = NULL;
	stop(&r);
}

/* Back to the beginning, and connected anew: nothing of before comes back. */
static void
reset_and_again(void **state)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	int mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
	struct rc r = start(state, &plain);

	r.p->wire = nothing;
	pair_recv(r.p, 0, r.a, 1, 0, 10);
	pair_send(r.p, 0, r.a, 2, 0, 10);
	assert_int_equal(tp_roce_modify_qp(r.a, &a, IBV_QP_STATE), 0);
	assert_int_equal(tp_roce_modify_qp(r.b, &a, IBV_QP_STATE), 0);
	r.p->wire = NULL;
	pair_run(r.p, 1);
	assert_int_equal(tp_roce_modify_qp(r.a, &init, mask), 0);
	assert_int_equal(tp_roce_modify_qp(r.b, &init, mask), 0);
	pair_connect(r.p, r.a, r.b, &plain);
	pair_recv(r.p, 0, r.a, 11, 0, 10);
	pair_send(r.p, 1, r.b, 12, 0, 10);
	ends(&r, 0, 11, IBV_WC_SUCCESS);
	ends(&r, 1, 12, IBV_WC_SUCCESS);
	quiet(&r, 0);
	stop(&r);
}

static void
drained(void **state)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
	struct rc r = start(state, &plain);

	pair_recv(r.p, 1, r.b, 1, 0, 10);
	pair_send(r.p, 0, r.a, 2, 0, 10);
	assert_int_equal(tp_roce_modify_qp(r.a, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	pair_send(r.p, 0, r.a, 3, 0, 10);
	ends(&r, 0, 2, IBV_WC_SUCCESS);
	assert_ptr_equal(pair_event(r.p, 0, IBV_EVENT_SQ_DRAINED), r.a);
	pair_run(r.p, 1);
	quiet(&r, 0);
	/* What was posted meanwhile goes out afterwards. */
	ends(&r, 1, 1, IBV_WC_SUCCESS);
	pair_recv(r.p, 1, r.b, 4, 0, 10);
	a.qp_state = IBV_QPS_RTS;
	assert_int_equal(tp_roce_modify_qp(r.a, &a, IBV_QP_STATE), 0);
	ends(&r, 0, 3, IBV_WC_SUCCESS);
	stop(&r);
}

/* A queue pair is destroyed with work on its way; the other side finds nobody. */
static void
destroyed_at_work(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .timeout = 6, .retry = 2};
	struct rc r = start(state, &c);
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(r.p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 100000, 0);

	pair_post(r.a, &wr);
	pair_post(r.b, &wr);
	assert_int_equal(tp_roce_destroy_qp(r.b), 0);
	ends(&r, 0, 0, IBV_WC_RETRY_EXC_ERR);
	assert_true(pair_stat(r.p, 1, "invalid_qp") > 0);
	assert_int_equal(tp_roce_destroy_qp(r.a), 0);
	pair_run(r.p, 2);
}

/* No mbuf for packets: they are counted and wait; nothing is lost when there are some again. */
static void
no_packets(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .timeout = 20};
	struct rc r = start(state, &c);
	struct rte_mempool *mp;
	struct rte_mbuf **taken;
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(r.p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 100000, 0);
	unsigned int n = 0;
	char name[32];

	snprintf(name, sizeof(name), "tp_roce_%u", r.p->n[0].port);
	mp = rte_mempool_lookup(name);
	assert_non_null(mp);
	taken = calloc(mp->size + 1, sizeof(taken[0]));
	assert_non_null(taken);
	while ((taken[n] = rte_pktmbuf_alloc(mp)) != NULL)
		n++;
	assert_int_equal(pair_stat(r.p, 0, "tx_no_mbuf"), 0);
	pair_fill(r.p, 0, 0, 100000, 1);
	pair_post(r.a, &wr);
	pair_step(r.p);
	assert_true(pair_stat(r.p, 0, "tx_no_mbuf") > 0);
	quiet(&r, 0);
	rte_pktmbuf_free_bulk(taken, n);
	free(taken);
	ends(&r, 0, 0, IBV_WC_SUCCESS);
	pair_same(r.p, 0, 0, 100000);
	assert_int_equal(pair_stat(r.p, 0, "req_timeouts"), 0);
	stop(&r);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(local_key),         T(local_key_later),      T(read_into_read_only), T(remote_key),
		T(not_allowed),       T(receive_too_short),    T(receive_key),         T(not_ready),
		T(silence),           T(address_gone),         T(refused_requests),    T(services),
		T(cq_overrun),        T(flush_by_application), T(reset_and_again),     T(drained),
		T(destroyed_at_work), T(no_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
