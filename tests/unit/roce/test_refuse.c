/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is refused, by whom, with which status and event at either end (IBTA 1.4, 9.7.5.2, 9.9). */
#include "steps.h"

static const struct {
	enum ibv_wr_opcode op;
	uint64_t remote;
	uint32_t rkey, len, access;
	enum ibv_wc_status status;
	enum ibv_event_type event;
} bad[] = {
	{IBV_WR_RDMA_WRITE, RIG_BASE, 0x666, 8, 7 << 1, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR},
	{IBV_WR_RDMA_WRITE, RIG_BASE + RIG_MEM - 7, RIG_RKEY, 8, 7 << 1, IBV_WC_REM_ACCESS_ERR,
	 IBV_EVENT_QP_ACCESS_ERR},
	{IBV_WR_RDMA_WRITE, UINT64_MAX - 3, RIG_RKEY, 8, 7 << 1, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR},
	{IBV_WR_RDMA_READ, RIG_BASE - 1, RIG_RKEY, 8, 7 << 1, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, RIG_BASE + 4, RIG_RKEY, 8, 7 << 1, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR},
	{IBV_WR_ATOMIC_CMP_AND_SWP, RIG_BASE + RIG_MEM, RIG_RKEY, 8, 7 << 1, IBV_WC_REM_ACCESS_ERR,
	 IBV_EVENT_QP_ACCESS_ERR},
	{IBV_WR_RDMA_WRITE, RIG_BASE, RIG_RKEY, 8, 0, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR},
	{IBV_WR_RDMA_READ, RIG_BASE, RIG_RKEY, 8, IBV_ACCESS_REMOTE_WRITE, IBV_WC_REM_INV_REQ_ERR,
	 IBV_EVENT_QP_REQ_ERR},
	{IBV_WR_ATOMIC_FETCH_AND_ADD, RIG_BASE, RIG_RKEY, 8, IBV_ACCESS_REMOTE_WRITE, IBV_WC_REM_INV_REQ_ERR,
	 IBV_EVENT_QP_REQ_ERR},
};

static void
remote_errors(void **state)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct tre_attr a = rig_attr(IBV_QPT_RC, 256);
		struct tre_wqe *w;

		teardown(NULL);
		setup(NULL);
		a.access = (int)bad[i].access;
		rig_connect(&r, &a);
		rig_recv(B, 5, 0, 64);
		w = rig_send(A, bad[i].op, 1, 0, bad[i].len);
		w->remote = bad[i].remote;
		w->rkey = bad[i].rkey;
		rig_send(A, IBV_WR_SEND, 2, 0, 8);
		rig_run(&r, 100);
		expect_done(A, 0, 1, bad[i].status);
		expect_done(A, 1, 2, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(A->qp.state, IBV_QPS_ERR);
		assert_int_equal(B->qp.state, IBV_QPS_ERR);
		assert_int_equal(B->events[bad[i].event], 1);
		/* The receive request behind it is flushed, and only that. */
		assert_int_equal(B->num_got, 1);
		assert_int_equal(B->got[0].wc.status, IBV_WC_WR_FLUSH_ERR);
	}
}

static void
too_long_for_receive(void **state)
{
	connect_rc(256);
	rig_recv(B, 9, 0, 299);
	rig_send(A, IBV_WR_SEND, 1, 0, 300);
	rig_run(&r, 100);
	expect_done(A, 0, 1, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(B->got[0].wc.status, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(B->got[0].id, 9);
	assert_int_equal(B->st.rs_len_err, 1);
}

static void
bad_receive_list(void **state)
{
	connect_rc(256);
	rig_recv(B, 9, RIG_MEM - 4, 64);
	rig_send(A, IBV_WR_SEND, 1, 0, 64);
	rig_run(&r, 100);
	expect_done(A, 0, 1, IBV_WC_REM_OP_ERR);
	assert_int_equal(B->got[0].wc.status, IBV_WC_LOC_PROT_ERR);
}

/* A request that cannot be sent waits for those before it, then ends with its own status. */
static void
local_errors(void **state)
{
	connect_rc(256);
	rig_send(A, IBV_WR_RDMA_WRITE, 1, 0, 8)->remote = rig_addr(0);
	rig_send(A, IBV_WR_RDMA_WRITE, 2, RIG_MEM - 4, 8)->remote = rig_addr(0);
	rig_send(A, IBV_WR_RDMA_WRITE, 3, 0, 8)->remote = rig_addr(0);
	run(A);
	assert_int_equal(A->num_done, 0);
	rig_run(&r, 100);
	expect_done(A, 0, 1, IBV_WC_SUCCESS);
	expect_done(A, 1, 2, IBV_WC_LOC_PROT_ERR);
	expect_done(A, 2, 3, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(B->qp.state, IBV_QPS_RTS);
}

static void
not_for_this_type(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		enum ibv_wr_opcode op;
		uint32_t len;
		enum ibv_wc_status status;
	} t[] = {
		{IBV_QPT_UC, IBV_WR_RDMA_READ, 8, IBV_WC_LOC_QP_OP_ERR},
		{IBV_QPT_UC, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, IBV_WC_LOC_QP_OP_ERR},
		{IBV_QPT_UD, IBV_WR_RDMA_WRITE, 8, IBV_WC_LOC_QP_OP_ERR},
		{IBV_QPT_UD, IBV_WR_SEND, 257, IBV_WC_LOC_LEN_ERR},
		{IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, 4, IBV_WC_LOC_LEN_ERR},
		{IBV_QPT_RC, (enum ibv_wr_opcode)99, 8, IBV_WC_LOC_QP_OP_ERR},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct tre_attr a = rig_attr(t[i].type, 256);

		teardown(NULL);
		setup(NULL);
		rig_connect(&r, &a);
		rig_send(A, t[i].op, 1, 0, t[i].len)->remote = rig_addr(0);
		rig_send(A, IBV_WR_SEND, 2, 0, 8);
		run(A);
		expect_nothing(A);
		expect_done(A, 0, 1, t[i].status);
		expect_done(A, 1, 2, IBV_WC_WR_FLUSH_ERR);
		/* UC and UD receive on; sending waits for software. */
		assert_int_equal(A->qp.state, t[i].type == IBV_QPT_RC ? IBV_QPS_ERR : IBV_QPS_SQE);
	}
}

static void
partition(void **state)
{
	struct tre_attr a = rig_attr(IBV_QPT_RC, 256);

	a.pkey = 0x8001;
	rig_connect(&r, &a);
	rig_recv(B, 0, 0, 64);
	rig_send(A, IBV_WR_SEND, 1, 0, 8);
	run(A);
	/* Two limited members do not talk, nor do members of different partitions; nobody is told. */
	B->qp.a.pkey = 0x8002;
	rig_inject(B, A->out.p[0]->d, A->out.p[0]->len);
	A->out.p[0]->d[2] = 0x00;
	B->qp.a.pkey = 0x0001;
	rig_inject(B, A->out.p[0]->d, A->out.p[0]->len);
	run(B);
	expect_nothing(B);
	assert_int_equal(B->st.rs_bad_pkey, 2);
	B->qp.a.pkey = 0x8001;
	pass(A, B);
	assert_int_equal(B->num_got, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(remote_errors), T(too_long_for_receive), T(bad_receive_list),
		T(local_errors),  T(not_for_this_type),    T(partition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
