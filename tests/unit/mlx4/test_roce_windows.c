/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Memory windows and fast registration on the card's queue pairs: bound, used, taken back by their owner and by the peer.
 */
#include "roce_rig.h"

static int
bind_to(struct rr_end *e, struct ibv_mw *mw, uint32_t rkey, uint32_t at, uint32_t len, unsigned int access)
{
	struct ibv_send_wr wr = {.wr_id = 77, .opcode = IBV_WR_BIND_MW};

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = e->mr, .addr = (uintptr_t)e->mem + at, .length = len, .mw_access_flags = access};
	return rr_post(e, &wr);
}

static int
write_by(struct rr_end *e, uint32_t len, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge = {.addr = (uintptr_t)e->mem, .length = len, .lkey = e->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 5, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};

	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = rkey;
	return rr_post(e, &wr);
}

static void
test_window_type1(void **state)
{
	struct rr_end a, b;
	struct ibv_mw *mw;
	struct ibv_mw_bind info = {.wr_id = 78, .send_flags = IBV_SEND_SIGNALED};
	uint32_t old;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	mw = tp_roce_alloc_mw(rr_pd[1], IBV_MW_TYPE_1);
	assert_non_null(mw);
	old = mw->rkey;
	info.bind_info = (struct ibv_mw_bind_info){
		.mr = b.mr, .addr = (uintptr_t)b.mem + 1000, .length = 100, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
	assert_int_equal(tp_roce_bind_mw(b.qp, mw, &info), 0);
	assert_int_not_equal(mw->rkey, old);
	rr_run();
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_BIND_MW, 78);
	rr_fill(a.mem, 100, 3);
	assert_int_equal(write_by(&a, 100, (uintptr_t)b.mem + 1000, mw->rkey), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 5);
	assert_memory_equal(b.mem + 1000, a.mem, 100);
	/* The region stays as long as the window. */
	assert_int_equal(tp_roce_dereg_mr(b.mr), EBUSY);
	/* Bound again, elsewhere: the old key is none any more. */
	old = mw->rkey;
	info.bind_info.addr += 1000;
	assert_int_equal(tp_roce_bind_mw(b.qp, mw, &info), 0);
	rr_run();
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_BIND_MW, 78);
	assert_int_equal(write_by(&a, 100, (uintptr_t)b.mem + 2000, old), 0);
	rr_run();
	rr_expect(&a, IBV_WC_REM_ACCESS_ERR, 0, 5);
	rr_expect_event(1, IBV_EVENT_QP_ACCESS_ERR, b.qp);
	assert_int_equal(tp_roce_dealloc_mw(mw), 0);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* What a window of type 2 does not open: after it, past its end, with another right, from another queue pair. */
static void
test_window_type2(void **state)
{
	static const struct {
		uint32_t at, len;
		unsigned int access;
		bool invalidate, other;
		enum ibv_wc_status status;
	} t[] = {
		{0, 100, IBV_ACCESS_REMOTE_WRITE, false, false, IBV_WC_SUCCESS},
		{1, 100, IBV_ACCESS_REMOTE_WRITE, false, false, IBV_WC_REM_ACCESS_ERR},
		{0, 100, IBV_ACCESS_REMOTE_READ, false, false, IBV_WC_REM_ACCESS_ERR},
		{0, 100, IBV_ACCESS_REMOTE_WRITE, true, false, IBV_WC_REM_ACCESS_ERR},
		{0, 100, IBV_ACCESS_REMOTE_WRITE, false, true, IBV_WC_REM_ACCESS_ERR},
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(t); i++) {
		struct ibv_send_wr inv = {.wr_id = 79, .opcode = IBV_WR_LOCAL_INV};
		struct rr_end a, b, a2, b2;
		struct ibv_mw *mw;
		uint32_t key;

		rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
		rr_pair(&a2, &b2, IBV_QPT_RC, RR_IPV4_V2);
		mw = tp_roce_alloc_mw(rr_pd[1], IBV_MW_TYPE_2);
		assert_non_null(mw);
		key = ibv_inc_rkey(mw->rkey);
		assert_int_equal(bind_to(&b, mw, key, 1000, 100, t[i].access), 0);
		if (t[i].invalidate) {
			inv.invalidate_rkey = key;
			assert_int_equal(rr_post(&b, &inv), 0);
		}
		rr_run();
		rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_BIND_MW, 77);
		if (t[i].invalidate)
			rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_LOCAL_INV, 79);
		assert_int_equal(write_by(t[i].other ? &a2 : &a, t[i].len, (uintptr_t)b.mem + 1000 + t[i].at, key), 0);
		rr_run();
		rr_expect(t[i].other ? &a2 : &a, t[i].status, IBV_WC_RDMA_WRITE, 5);
		assert_int_equal(tp_roce_dealloc_mw(mw), 0);
		rr_end_free(&a);
		rr_end_free(&b);
		rr_end_free(&a2);
		rr_end_free(&b2);
	}
}

/* The peer invalidates; afterwards the window is free and may be bound again. Bound twice, it may not. */
static void
test_send_with_invalidate(void **state)
{
	struct rr_end a, b;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_INV};
	struct ibv_wc wc;
	struct ibv_mw *mw;
	uint32_t key;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	mw = tp_roce_alloc_mw(rr_pd[1], IBV_MW_TYPE_2);
	assert_non_null(mw);
	key = ibv_inc_rkey(mw->rkey);
	assert_int_equal(bind_to(&b, mw, key, 0, 64, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED), 0);
	rr_run();
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_BIND_MW, 77);
	a.mem[0] = 0x5a;
	assert_int_equal(write_by(&a, 1, 63, key), 0); /* by its place in the window */
	assert_int_equal(rr_recv(&b, 100, 10), 0);
	wr.invalidate_rkey = key;
	assert_int_equal(rr_post(&a, &wr), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 5);
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	assert_int_equal(b.mem[63], 0x5a);
	wc = rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV, 100);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, key);
	key = ibv_inc_rkey(key);
	assert_int_equal(bind_to(&b, mw, key, 0, 64, IBV_ACCESS_REMOTE_READ), 0);
	assert_int_equal(bind_to(&b, mw, ibv_inc_rkey(key), 0, 64, IBV_ACCESS_REMOTE_READ), 0);
	rr_run();
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_BIND_MW, 77);
	rr_expect(&b, IBV_WC_MW_BIND_ERR, 0, 77);
	assert_int_equal(tp_roce_dealloc_mw(mw), 0);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* --- fast registration -------------------------------------------------------------------------------------------- */

#define AWAY UINT64_C(0x100000000000) /* where a region is reached: not where its memory lies */

static int
fast_reg(struct rr_end *e, struct ibv_mr *mr, uint32_t at, uint32_t len, uint64_t iova, int access)
{
	const struct tp_roce_fast_reg r = {.wr_id = 80,
					   .send_flags = IBV_SEND_SIGNALED,
					   .access = access,
					   .addr = e->mem + at,
					   .length = len,
					   .iova = iova};

	return tp_roce_fast_reg_mr(e->qp, mr, &r);
}

/* Same place in a page of 4 KiB, but in none that is larger: the list has an entry for each 4 KiB. */
static uint64_t
away(const struct rr_end *e, uint32_t at)
{
	uintptr_t p = (uintptr_t)e->mem + at;

	return AWAY + (p & 0xfff) + (~p & 0x1000);
}

/* What happens to a write from a port 0 queue pair of its own. */
static enum ibv_wc_status
written(uint32_t len, uint64_t addr, uint32_t rkey)
{
	struct rr_end a, b;
	struct ibv_wc wc;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	rr_fill(a.mem, len, 9);
	assert_int_equal(write_by(&a, len, addr, rkey), 0);
	rr_run();
	wc = rr_poll(&a);
	rr_end_free(&a);
	rr_end_free(&b);
	return wc.status;
}

static void
test_fast_reg(void **state)
{
	const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct rr_end a, b;
	struct ibv_send_wr inv = {.wr_id = 79, .opcode = IBV_WR_LOCAL_INV};
	struct ibv_mr *mr;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.wr_id = 6, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	uint64_t at;
	uint32_t old;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	mr = tp_roce_alloc_mr(rr_pd[1], 5);
	assert_non_null(mr);
	at = away(&b, 4100);
	old = mr->rkey;
	/* Without memory it opens nothing. */
	assert_int_equal(written(8, at, old), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(fast_reg(&b, mr, 4100, 15000, at, rights), 0);
	assert_int_not_equal(mr->rkey, old);
	assert_int_equal(mr->rkey >> 8, old >> 8);
	assert_int_equal(mr->lkey, mr->rkey);
	rr_run();
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_DRIVER1, 80);
	assert_int_equal(written(8, at, old), IBV_WC_REM_ACCESS_ERR);
	/* All of it is where its pages are, and nothing else is open. */
	rr_fill(a.mem, 15000, 4);
	memset(b.mem, 0, RR_MEM);
	assert_int_equal(write_by(&a, 15000, at, mr->rkey), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 5);
	assert_memory_equal(b.mem + 4100, a.mem, 15000);
	assert_int_equal(b.mem[4099] | b.mem[4100 + 15000], 0);
	assert_int_equal(written(1, at + 15000, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(written(1, at - 1, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	/* Its own queue pair sends from it, by the same address. */
	assert_int_equal(rr_recv(&a, 20000, 5000), 0);
	sge = (struct ibv_sge){at + 3000, 5000, mr->lkey};
	assert_int_equal(rr_post(&b, &wr), 0);
	rr_run();
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_SEND, 6);
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RECV, 20000);
	assert_memory_equal(a.mem + 20000, a.mem + 3000, 5000);
	/* Taken away and given other memory, with other rights, at once: requests are executed in their order. */
	old = inv.invalidate_rkey = mr->rkey;
	assert_int_equal(rr_post(&b, &inv), 0);
	assert_int_equal(fast_reg(&b, mr, 40960, 100, away(&b, 40960), IBV_ACCESS_REMOTE_READ), 0);
	rr_run();
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_LOCAL_INV, 79);
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_DRIVER1, 80);
	assert_int_equal(written(1, at, old), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(written(1, away(&b, 40960), mr->rkey), IBV_WC_REM_ACCESS_ERR);
	rr_fill(b.mem + 40960, 100, 5);
	wr = (struct ibv_send_wr){.wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ};
	sge = (struct ibv_sge){(uintptr_t)a.mem, 100, a.mr->lkey};
	wr.wr.rdma.remote_addr = away(&b, 40960);
	wr.wr.rdma.rkey = mr->rkey;
	assert_int_equal(rr_post(&a, &wr), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_READ, 7);
	assert_memory_equal(a.mem, b.mem + 40960, 100);
	/* It has memory: no second. */
	assert_int_equal(fast_reg(&b, mr, 0, 100, away(&b, 0), rights), 0);
	rr_run();
	rr_expect(&b, IBV_WC_MW_BIND_ERR, 0, 80);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* What a request cannot say is refused when it is posted, and leaves queue and keys as they are. */
static void
test_fast_reg_refused(void **state)
{
	struct rr_end a, b;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_INV};
	struct ibv_mr *mr;
	struct ibv_wc wc;
	uint32_t key;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	assert_null(tp_roce_alloc_mr(rr_pd[1], 0));
	assert_int_equal(errno, EINVAL);
	assert_null(tp_roce_alloc_mr(rr_pd[1], TP_ROCE_FAST_REG_PAGES + 1));
	assert_int_equal(errno, EINVAL);
	mr = tp_roce_alloc_mr(rr_pd[1], 2);
	assert_non_null(mr);
	key = mr->rkey;
	assert_int_equal(fast_reg(&b, mr, 0, 8193, away(&b, 0), IBV_ACCESS_REMOTE_READ), EINVAL); /* three pages */
	assert_int_equal(fast_reg(&b, mr, 0, 10, away(&b, 1), IBV_ACCESS_REMOTE_READ),
			 EINVAL); /* another place in its page */
	assert_int_equal(fast_reg(&b, mr, 0, 0, away(&b, 0), IBV_ACCESS_REMOTE_READ), EINVAL);
	assert_int_equal(fast_reg(&b, mr, 0, 10, away(&b, 0), IBV_ACCESS_REMOTE_WRITE), EINVAL);
	assert_int_equal(fast_reg(&b, mr, 0, 10, away(&b, 0), IBV_ACCESS_MW_BIND), EOPNOTSUPP);
	assert_int_equal(fast_reg(&a, mr, 0, 10, away(&a, 0), IBV_ACCESS_REMOTE_READ), EPERM); /* of another domain */
	assert_int_equal(fast_reg(&b, b.mr, 0, 10, away(&b, 0), IBV_ACCESS_REMOTE_READ), EINVAL);
	assert_int_equal(mr->rkey, key);
	rr_run();
	rr_no_wc(&b);
	/* The peer takes the memory away, and the region takes more. */
	assert_int_equal(fast_reg(&b, mr, 0, 4096, away(&b, 0), IBV_ACCESS_REMOTE_READ), 0);
	rr_run();
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_DRIVER1, 80);
	assert_int_equal(rr_recv(&b, 100, 10), 0);
	wr.invalidate_rkey = mr->rkey;
	assert_int_equal(rr_post(&a, &wr), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	wc = rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV, 100);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, mr->rkey);
	assert_int_equal(fast_reg(&b, mr, 0, 4096, away(&b, 0), IBV_ACCESS_REMOTE_READ), 0);
	rr_run();
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_DRIVER1, 80);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* A region gets other memory, rights and another protection domain under its key, but not while a window is bound. */
static void
test_changed_region(void **state)
{
	struct ibv_mw_bind info = {.wr_id = 78, .send_flags = IBV_SEND_SIGNALED};
	struct rr_end a, b;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint32_t key;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	pd = tp_roce_alloc_pd(rr_pd[1]->context);
	mw = tp_roce_alloc_mw(rr_pd[1], IBV_MW_TYPE_1);
	mr = tp_roce_reg_mr(rr_pd[1], b.mem, 4096,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
	assert_non_null(pd);
	assert_non_null(mw);
	assert_non_null(mr);
	key = mr->rkey;
	assert_int_equal(tp_roce_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b.mem + 4096, 100, 0), 0);
	assert_int_equal(mr->rkey, key);
	rr_fill(a.mem, 100, 3);
	assert_int_equal(write_by(&a, 100, (uintptr_t)b.mem + 4096, key), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 5);
	assert_memory_equal(b.mem + 4096, a.mem, 100);
	info.bind_info = (struct ibv_mw_bind_info){mr, (uintptr_t)b.mem + 4096, 50, IBV_ACCESS_REMOTE_WRITE};
	assert_int_equal(tp_roce_bind_mw(b.qp, mw, &info), 0);
	rr_run();
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_BIND_MW, 78);
	assert_int_equal(tp_roce_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(write_by(&a, 50, (uintptr_t)b.mem + 4096, mw->rkey), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 5);
	assert_int_equal(tp_roce_dealloc_mw(mw), 0);
	assert_int_equal(tp_roce_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, &key, 4, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(tp_roce_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), 0);
	assert_int_equal(write_by(&a, 50, (uintptr_t)b.mem + 4096, key), 0);
	rr_run();
	rr_expect(&a, IBV_WC_REM_ACCESS_ERR, 0, 5);
	rr_expect_event(1, IBV_EVENT_QP_ACCESS_ERR, b.qp);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	assert_int_equal(tp_roce_dealloc_pd(pd), 0);
	rr_end_free(&a);
	rr_end_free(&b);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_window_type1), TEST(test_window_type2),     TEST(test_send_with_invalidate),
		TEST(test_fast_reg),     TEST(test_fast_reg_refused), TEST(test_changed_region),
	};

	if (rig_eal("mlx4_roce_windows", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
