/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What is refused, by whom, with which status, event and counter at either end (IBTA 1.4, 9.7.5.2, 9.9); what comes again, and
 * what an answer says besides.
 */
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

/* Each failure is in one counter. */
static uint64_t
failures(const struct tre_stats *st)
{
	return st->rq_len_err + st->rq_op_err + st->rq_prot_err + st->rq_remote_invalid + st->rq_remote_access +
	       st->rq_remote_op + st->rq_retry_exceeded + st->rq_rnr_exceeded + st->rq_bad_response;
}

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
		assert_int_equal(failures(&A->st), 1);
		assert_int_equal(
			bad[i].status == IBV_WC_REM_ACCESS_ERR ? A->st.rq_remote_access : A->st.rq_remote_invalid, 1);
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
	assert_int_equal(B->st.rs_remote_op, 0);
}

static void
bad_receive_list(void **state)
{
	connect_rc(256);
	rig_recv(B, 9, RIG_MEM - 4, 64);
	rig_send(A, IBV_WR_SEND, 1, 0, 64);
	rig_run(&r, 100);
	expect_done(A, 0, 1, IBV_WC_REM_OP_ERR);
	assert_int_equal(A->st.rq_remote_op, 1);
	assert_int_equal(failures(&A->st), 1);
	assert_int_equal(B->got[0].wc.status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(B->st.rs_prot_err, 1);
	assert_int_equal(B->st.rs_remote_op, 1);
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
	assert_int_equal(A->st.rq_prot_err, 1);
	assert_int_equal(failures(&A->st), 1);
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
		assert_int_equal(t[i].status == IBV_WC_LOC_LEN_ERR ? A->st.rq_len_err : A->st.rq_op_err, 1);
		assert_int_equal(failures(&A->st), 1);
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

/* What a READ that was answered brings again is nobody's: it is no acknowledgement, and brings no credits (9.7.7.2.5). */
static void
answers_again(void **state)
{
	uint8_t p[RIG_PACKET];
	uint32_t len, limit;

	connect_rc(256);
	rig_send(A, IBV_WR_RDMA_READ, 1, 0, 8)->remote = rig_addr(0);
	run(A);
	pass(A, B);
	run(B);
	assert_true(rig_capture(&B->out, p, &len));
	rig_inject(A, p, len);
	expect_done(A, 0, 1, IBV_WC_SUCCESS);
	limit = A->qp.credit_limit;
	p[12] = 0x0a;
	rig_inject(A, p, len);
	assert_int_equal(A->st.rq_ghost, 1);
	assert_int_equal(A->qp.credit_limit, limit);
	/* Nothing is outstanding, so nothing is waited for. */
	assert_true(A->qp.timer == TRE_NEVER);
}

/* Duplicates of READs that come in the wrong order are answered in that of their numbers. */
static void
reads_again(void **state)
{
	uint8_t read[2][RIG_PACKET], p[RIG_PACKET];
	uint32_t len[2];

	connect_rc(256);
	for (unsigned int i = 0; i < 2; i++)
		rig_send(A, IBV_WR_RDMA_READ, i, 0, 8)->remote = rig_addr(0x100 * i);
	run(A);
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(rig_capture(&A->out, read[i], &len[i]));
		rig_inject(B, read[i], len[i]);
	}
	run(B);
	lose(B);
	lose(B);
	rig_inject(B, read[1], len[1]);
	rig_inject(B, read[0], len[0]);
	run(B);
	expect_packet(B, 0x10, PSN0, p);
	expect_packet(B, 0x10, PSN0 + 1, p);
	expect_nothing(B);
}

/* The answer to a READ acknowledges what was sent before it (9.7.5.1.2). */
static void
answers_acknowledge(void **state)
{
	uint8_t p[RIG_PACKET];

	connect_rc(256);
	rig_recv(B, 0, 0, 64);
	rig_send(A, IBV_WR_SEND, 1, 0, 8);
	rig_send(A, IBV_WR_RDMA_READ, 2, 0x100, 8)->remote = rig_addr(0);
	run(A);
	pass(A, B);
	pass(A, B);
	run(B);
	expect_packet(B, 0x10, PSN0 + 1, p);
	expect_nothing(B);
	rig_inject(A, p, 12 + 4 + 8);
	expect_done(A, 0, 1, IBV_WC_SUCCESS);
	expect_done(A, 1, 2, IBV_WC_SUCCESS);
}

/* The number of messages that credits are compared with has 24 bits. */
static void
messages_are_counted_by_24_bits(void **state)
{
	static const uint32_t from[] = {0x7fffff, 0xffffff}, to[] = {0x800000, 0};

	for (unsigned int i = 0; i < 2; i++) {
		teardown(NULL);
		setup(NULL);
		connect_rc(256);
		A->qp.ssn = from[i];
		A->qp.credit_limit = 0x800010;
		rig_recv(B, 0, 0, 64);
		rig_send(A, IBV_WR_SEND, 1, 0, 8);
		rig_run(&r, 100);
		expect_done(A, 0, 1, IBV_WC_SUCCESS);
		assert_int_equal(A->qp.ssn, to[i]);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(remote_errors),       T(too_long_for_receive),
		T(bad_receive_list),    T(local_errors),
		T(not_for_this_type),   T(partition),
		T(answers_again),       T(reads_again),
		T(answers_acknowledge), T(messages_are_counted_by_24_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
