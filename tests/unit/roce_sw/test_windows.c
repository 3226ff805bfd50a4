/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Memory in software: windows that are refused, which leaves all as it was; atomics; elements of lists without octets. */
#include <errno.h>

#include "pair.h"

static const struct qp_conf rc = {.type = IBV_QPT_RC};

static void
destroy(struct ibv_qp *a, struct ibv_qp *b)
{
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* The request of a queue pair of node 1 ends with this status. */
static void
one(struct pair *p, struct ibv_qp *qp, struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	pair_post(qp, wr);
	pair_wait(p, p->n[1].cq, 1, &wc);
	assert_int_equal(wc.status, status);
}

/* 10.6.7.2: what is bound must be the domain's, lie in its region, and give no right that the region has not. */
static void
refused_binds(void **state)
{
	enum {
		GOOD,
		WHOLE,
		READ,
		OTHER_INDEX,
		SAME_KEY,
		NOTHING,
		NO_REGION,
		FOREIGN_REGION,
		UNBINDABLE,
		READ_ONLY,
		ATOMIC,
		LOCAL,
		BEFORE,
		BEHIND,
		TOO_LONG,
		AGAIN,
		OTHER_PD,
		NUM
	};
	struct pair *p = *state;
	struct node *n = &p->n[1];
	const unsigned int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND;
	uint64_t at = (uintptr_t)n->mem + 4096;
	struct ibv_mr *mr = tp_roce_reg_mr(n->pd, n->mem + 4096, 1000, (int)all);
	struct ibv_mr *unbindable = tp_roce_reg_mr(n->pd, n->mem + 4096, 1000, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *read_only = tp_roce_reg_mr(n->pd, n->mem + 4096, 1000, IBV_ACCESS_MW_BIND);
	struct ibv_pd *pd = tp_roce_alloc_pd(n->ctx);

	for (unsigned int how = 0; how < NUM; how++) {
		struct ibv_mw *mw = tp_roce_alloc_mw(how == OTHER_PD ? pd : n->pd, IBV_MW_TYPE_2);
		struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW,
					 .send_flags = IBV_SEND_SIGNALED,
					 .bind_mw = {.mw = mw,
						     .rkey = ibv_inc_rkey(mw->rkey),
						     .bind_info = {mr, at + 10, 900, IBV_ACCESS_REMOTE_WRITE}}};
		struct ibv_mw_bind_info *b = &wr.bind_mw.bind_info;
		struct ibv_qp *a, *q;

		pair_qps(p, &rc, &a, &q);
		switch (how) {
		case WHOLE: *b = (struct ibv_mw_bind_info){mr, at, 1000, IBV_ACCESS_REMOTE_WRITE}; break;
		case READ: *b = (struct ibv_mw_bind_info){read_only, at, 1000, IBV_ACCESS_REMOTE_READ}; break;
		case OTHER_INDEX: wr.bind_mw.rkey ^= 0x100; break;
		case SAME_KEY: wr.bind_mw.rkey = mw->rkey; break;
		case NOTHING: b->length = 0; break;
		case NO_REGION: b->mr = NULL; break;
		case FOREIGN_REGION: b->mr = p->n[0].mr; break;
		case UNBINDABLE: b->mr = unbindable; break;
		case READ_ONLY: b->mr = read_only; break;
		case ATOMIC:
			b->mr = read_only;
			b->mw_access_flags = IBV_ACCESS_REMOTE_ATOMIC;
			break;
		case LOCAL: b->mw_access_flags |= IBV_ACCESS_LOCAL_WRITE; break;
		case BEFORE: b->addr = at - 1; break;
		case BEHIND: b->addr = at + 1001; break;
		case TOO_LONG: b->addr = at + 101; break;
		case AGAIN:
			one(p, q, &wr, IBV_WC_SUCCESS);
			wr.bind_mw.rkey = ibv_inc_rkey(wr.bind_mw.rkey);
			break;
		default: break;
		}
		one(p, q, &wr, how <= READ ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR);
		assert_int_equal(pair_state(q), how <= READ ? IBV_QPS_RTS : IBV_QPS_ERR);
		assert_int_equal(pair_stat(p, 1, "req_bind_errors"), how <= READ ? 0 : how - READ);
		/* What is refused keeps nothing of the region. */
		if (how > READ && how != AGAIN)
			assert_int_equal(tp_roce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, (int)all), 0);
		destroy(a, q);
		assert_int_equal(tp_roce_dealloc_mw(mw), 0);
	}
	assert_int_equal(tp_roce_dealloc_pd(pd), 0);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	assert_int_equal(tp_roce_dereg_mr(unbindable), 0);
	assert_int_equal(tp_roce_dereg_mr(read_only), 0);
}

static uint32_t
bind_type_1(struct pair *p, struct ibv_qp *qp, struct ibv_mw *mw)
{
	struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED,
				   .bind_info = {p->n[1].mr, (uintptr_t)p->n[1].mem, 100, IBV_ACCESS_REMOTE_WRITE}};

	assert_int_equal(tp_roce_bind_mw(qp, mw, &bind), 0);
	pair_wait(p, p->n[1].cq, 1, NULL);
	return mw->rkey;
}

/* 10.6.7.2.6: a window is invalidated by its key and by the queue pair that bound it; a region and a window of type 1 not at all. */
static void
refused_invalidations(void **state)
{
	enum { OTHER_QP, OLD_KEY, NO_KEY, REGION, TYPE_1, NUM };
	struct pair *p = *state;
	struct node *n = &p->n[1];

	for (unsigned int how = 0; how < NUM; how++) {
		struct ibv_mw *mw = tp_roce_alloc_mw(n->pd, IBV_MW_TYPE_2),
			      *other = tp_roce_alloc_mw(n->pd, IBV_MW_TYPE_1);
		uint32_t rkey = ibv_inc_rkey(mw->rkey);
		struct ibv_send_wr bind = {
			.opcode = IBV_WR_BIND_MW,
			.send_flags = IBV_SEND_SIGNALED,
			.bind_mw = {.mw = mw,
				    .rkey = rkey,
				    .bind_info = {n->mr, (uintptr_t)n->mem, 100, IBV_ACCESS_REMOTE_WRITE}}};
		struct ibv_send_wr inval = {
			.opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED, .invalidate_rkey = rkey};
		struct ibv_qp *a, *b, *c, *d;

		pair_qps(p, &rc, &a, &b);
		pair_qps(p, &rc, &c, &d);
		one(p, b, &bind, IBV_WC_SUCCESS);
		if (how == OLD_KEY)
			inval.invalidate_rkey = rkey ^ 1;
		else if (how == NO_KEY)
			inval.invalidate_rkey = rkey ^ 0x3fff00;
		else if (how == REGION)
			inval.invalidate_rkey = n->mr->rkey;
		else if (how == TYPE_1)
			inval.invalidate_rkey = bind_type_1(p, b, other);
		one(p, how == OTHER_QP ? d : b, &inval, IBV_WC_MW_BIND_ERR);
		destroy(a, b);
		destroy(c, d);
		/* It is bound still. */
		assert_int_equal(tp_roce_dereg_mr(n->mr), EBUSY);
		assert_int_equal(tp_roce_dealloc_mw(mw), 0);
		assert_int_equal(tp_roce_dealloc_mw(other), 0);
	}
}

/* A window of one octet: it can be written, what is beside it cannot. */
static void
one_octet(void **state)
{
	struct pair *p = *state;
	struct node *n = &p->n[1];

	for (unsigned int i = 0; i < 3; i++) {
		struct ibv_mw *mw = tp_roce_alloc_mw(n->pd, IBV_MW_TYPE_2);
		struct ibv_send_wr bind = {
			.opcode = IBV_WR_BIND_MW,
			.send_flags = IBV_SEND_SIGNALED,
			.bind_mw = {.mw = mw,
				    .rkey = ibv_inc_rkey(mw->rkey),
				    .bind_info = {n->mr, (uintptr_t)n->mem + 50, 1, IBV_ACCESS_REMOTE_WRITE}}};
		struct ibv_sge sge;
		struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 1, 49 + i);
		struct ibv_qp *a, *b;
		struct ibv_wc wc;

		pair_qps(p, &rc, &a, &b);
		one(p, b, &bind, IBV_WC_SUCCESS);
		wr.wr.rdma.rkey = bind.bind_mw.rkey;
		p->n[0].mem[0] = 0xa5;
		pair_post(a, &wr);
		pair_wait(p, p->n[0].cq, 1, &wc);
		assert_int_equal(wc.status, i == 1 ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(n->mem[49 + i], i == 1 ? 0xa5 : 0);
		if (i != 1)
			assert_ptr_equal(pair_event(p, 1, IBV_EVENT_QP_ACCESS_ERR), b);
		destroy(a, b);
		assert_int_equal(tp_roce_dealloc_mw(mw), 0);
	}
}

/* The address on the wire is a multiple of 8. What it stands for must be one, too (9.4.5). */
static void
atomics_in_memory(void **state)
{
	struct pair *p = *state;
	struct node *n = &p->n[1];

	for (uint32_t off = 0; off <= 8; off++) {
		struct ibv_mr *mr = tp_roce_alloc_mr(n->pd, 4);
		struct tp_roce_fast_reg reg = {.send_flags = IBV_SEND_SIGNALED,
					       .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
					       .addr = n->mem + 4096 + off,
					       .length = 64,
					       .iova = (uintptr_t)n->mem + 0x40000000u};
		struct ibv_async_event e;
		struct ibv_sge sge;
		struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 0, 8, 0);
		struct ibv_qp *a, *b;
		struct ibv_wc wc;
		uint64_t got = 0;

		pair_qps(p, &rc, &a, &b);
		memset(n->mem + 4096, 0, 32);
		assert_int_equal(tp_roce_fast_reg_mr(b, mr, &reg), 0);
		pair_wait(p, n->cq, 1, NULL);
		wr.wr.atomic.remote_addr = reg.iova;
		wr.wr.atomic.rkey = mr->rkey;
		wr.wr.atomic.compare_add = 7;
		pair_post(a, &wr);
		pair_wait(p, p->n[0].cq, 1, &wc);
		memcpy(&got, n->mem + 4096 + off, sizeof(got));
		if (off % 8 == 0) {
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			assert_int_equal(got, 7);
		} else {
			assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
			assert_int_equal(got, 0);
			while (tp_roce_get_async_event(n->ctx, &e) == 0)
				tp_roce_ack_async_event(&e);
		}
		destroy(a, b);
		assert_int_equal(tp_roce_dereg_mr(mr), 0);
	}
}

#define NOBODYS 0x12345601u

/* An element of no octets names no memory, whatever its key, in the first place, between others and in the last one. */
static void
empty_elements(void **state)
{
	struct pair *p = *state;

	for (unsigned int empty = 0; empty < 3; empty++) {
		struct ibv_sge sge[3], rsge[3], none;
		struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_SEND, sge, 0, 0, 0), read;
		struct ibv_recv_wr *bad, rr = {.sg_list = rsge, .num_sge = 3};
		struct ibv_qp *a, *b;
		uint32_t at = 0;

		pair_qps(p, &rc, &a, &b);
		for (unsigned int i = 0; i < 3; i++) {
			sge[i] = (struct ibv_sge){(uintptr_t)p->n[0].mem + at, 700, p->n[0].mr->lkey};
			rsge[i] = (struct ibv_sge){(uintptr_t)p->n[1].mem + 8192 + at, 700, p->n[1].mr->lkey};
			at += i == empty ? 0 : 700;
		}
		sge[empty] = rsge[empty] = (struct ibv_sge){.lkey = NOBODYS};
		pair_fill(p, 0, 0, 1400, empty);
		assert_int_equal(ibv_post_recv(b, &rr, &bad), 0);
		wr.num_sge = 3;
		pair_post(a, &wr);
		pair_wait(p, p->n[1].cq, 1, NULL);
		pair_wait(p, p->n[0].cq, 1, NULL);
		pair_same(p, 0, 8192, 1400);
		/* What a READ brings, too */
		pair_fill(p, 1, 16384, 1400, empty + 9);
		read = pair_wr(p, 0, IBV_WR_RDMA_READ, &none, 0, 1400, 16384);
		read.sg_list = sge;
		read.num_sge = 3;
		pair_post(a, &read);
		pair_wait(p, p->n[0].cq, 1, NULL);
		pair_same(p, 0, 16384, 1400);
		destroy(a, b);
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {T(refused_binds), T(refused_invalidations), T(one_octet),
					   T(atomics_in_memory), T(empty_elements)};

	return cmocka_run_group_tests_name("roce_sw_windows", tests, NULL, NULL);
}
