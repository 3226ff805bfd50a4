/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The states of a queue pair of the engine: who receives and who sends, what is flushed and told, what is left afterwards
 * (IBTA 1.4, 10.3.1).
 */
#include "steps.h"

#define ROWS(t) (sizeof(t) / sizeof((t)[0]))
#define MTU 256u

static void
fresh(enum ibv_qp_type type)
{
	struct tre_attr a = rig_attr(type, MTU);

	teardown(NULL);
	setup(NULL);
	rig_connect(&r, &a);
}

/* An answer of B's to A. */
static void
answer(uint8_t op, uint32_t psn, uint32_t aeth, uint32_t len)
{
	uint8_t p[RIG_PACKET];
	uint32_t head = ib_opcodes[op].hlen;

	memset(p, 0x5c, sizeof(p));
	ib_bth_put(p, op, false, -len & 3u, 0xffff, 0x100, false, psn);
	if (head > 12)
		ib_put32(p + 12, aeth);
	rig_inject(A, p, head + len + (-len & 3u));
}

static void
ack(uint32_t psn, uint8_t syndrome)
{
	answer(0x11, psn, (uint32_t)syndrome << 24, 0);
}

static struct tre_wqe *
post_write(uint64_t id, uint32_t len)
{
	struct tre_wqe *w = rig_send(A, IBV_WR_RDMA_WRITE, id, 0, len);

	w->remote = rig_addr(0);
	return w;
}

static struct tre_wqe *
post_read(uint64_t id, uint32_t off, uint32_t len)
{
	struct tre_wqe *w = rig_send(A, IBV_WR_RDMA_READ, id, off, len);

	w->remote = rig_addr(0x8000);
	return w;
}

static void
lose_all(struct rig_side *s)
{
	while (s->out.n != 0)
		lose(s);
}

/* Who receives and who sends in a state (10.3.1). */
static void
states(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		enum ibv_qp_state state;
		bool receives, sends, flushes;
	} t[] = {
		{IBV_QPT_RC, IBV_QPS_RESET, false, false, false}, {IBV_QPT_RC, IBV_QPS_INIT, false, false, false},
		{IBV_QPT_RC, IBV_QPS_RTR, true, false, false},    {IBV_QPT_RC, IBV_QPS_RTS, true, true, false},
		{IBV_QPT_RC, IBV_QPS_SQD, true, false, false},    {IBV_QPT_RC, IBV_QPS_ERR, false, false, true},
		{IBV_QPT_UC, IBV_QPS_INIT, false, false, false},  {IBV_QPT_UC, IBV_QPS_RTR, true, false, false},
		{IBV_QPT_UC, IBV_QPS_SQD, true, false, false},    {IBV_QPT_UC, IBV_QPS_SQE, true, false, true},
		{IBV_QPT_UC, IBV_QPS_ERR, false, false, true},    {IBV_QPT_UD, IBV_QPS_RTS, true, true, false},
		{IBV_QPT_UD, IBV_QPS_SQE, true, false, true},     {IBV_QPT_RC, IBV_QPS_SQE, false, false, true},
	};
	uint8_t p[64] = {0}, op[] = {[IBV_QPT_RC] = 0x04, [IBV_QPT_UC] = 0x24, [IBV_QPT_UD] = 0x64};

	for (size_t i = 0; i < ROWS(t); i++) {
		bool ud = t[i].type == IBV_QPT_UD;

		fresh(t[i].type);
		A->qp.state = t[i].state;
		rig_send(A, IBV_WR_SEND, 1, 0, 8);
		assert_int_equal(tre_busy(&A->qp), t[i].sends || t[i].flushes);
		run(A);
		assert_int_equal(A->out.n, t[i].sends);
		assert_int_equal(A->st.rq_flush_err, t[i].flushes);
		if (t[i].flushes)
			assert_true(tre_deadline(&A->qp) == TRE_NEVER);
		rig_recv(A, 1, 0x1000, 64);
		ib_bth_put(p, op[t[i].type], false, 0, 0xffff, 0x100, false, 0x7ffff8);
		ib_put32(p + 12, 0x11111111);
		rig_inject(A, p, ud ? 28 : 20);
		assert_int_equal(A->num_got, t[i].receives);
		assert_int_equal(A->st.rx_bytes, t[i].receives ? 8 : 0);
		A->qp.state = IBV_QPS_RTS;
		if (t[i].receives)
			assert_int_equal(A->got[0].wc.status, IBV_WC_SUCCESS);
	}
}

/* The home takes a queue pair down: once, with everything that is posted. */
static void
fails(void **state)
{
	static const enum ibv_qp_state calm[] = {IBV_QPS_ERR, IBV_QPS_RESET};

	fresh(IBV_QPT_RC);
	rig_recv(A, 1, 0, 64);
	post_write(2, 8);
	run(A);
	assert_true(tre_deadline(&A->qp) != TRE_NEVER);
	tre_qp_fail(&A->qp, IBV_EVENT_QP_FATAL);
	assert_int_equal(A->qp.state, IBV_QPS_ERR);
	assert_int_equal(A->events[IBV_EVENT_QP_FATAL], 1);
	expect_done(A, 0, 2, IBV_WC_WR_FLUSH_ERR);
	/* Nothing is waited for any more. */
	assert_true(tre_deadline(&A->qp) == TRE_NEVER);
	assert_int_equal(A->got[0].wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(A->got[0].wc.opcode, IBV_WC_RECV);
	assert_int_equal(A->st.rs_flush_err, 1);
	for (size_t i = 0; i < ROWS(calm); i++) {
		A->qp.state = calm[i];
		tre_qp_fail(&A->qp, IBV_EVENT_QP_FATAL);
		assert_int_equal(A->qp.state, calm[i]);
		assert_int_equal(A->events[IBV_EVENT_QP_FATAL], 1);
	}
}

/* After RESET nothing is left of what a queue pair was, and it serves again. */
static void
reset(void **state)
{
	struct tre_attr a = rig_attr(IBV_QPT_RC, MTU);

	fresh(IBV_QPT_RC);
	rig_recv(B, 1, 0x1000, 0x1000);
	post_read(1, 0, 600);
	post_write(2, 8);
	run(A);
	pass(A, B);
	tre_run(&B->qp, 1, r.now);
	pass(B, A);
	ack(PSN0 + 1, 0x21);
	for (int i = 0; i < 2; i++) {
		tre_qp_state(&r.side[i].qp, IBV_QPS_RESET, NULL);
		assert_int_equal(r.side[i].qp.state, IBV_QPS_RESET);
		assert_true(tre_deadline(&r.side[i].qp) == TRE_NEVER);
		assert_false(tre_busy(&r.side[i].qp));
		lose_all(&r.side[i]);
	}
	assert_int_equal(A->num_done, 0);
	rig_connect(&r, &a);
	for (uint32_t i = 0; i < RIG_SQ; i++)
		assert_non_null(post_write(10 + i, 300));
	assert_null(tre_sq_slot(&A->qp));
	rig_run(&r, 1000);
	assert_int_equal(A->num_done, RIG_SQ);
	for (uint32_t i = 0; i < RIG_SQ; i++)
		expect_done(A, i, 10 + i, IBV_WC_SUCCESS);
}

/* Draining is told once, when nothing that was begun is open; a queue that goes on keeps its numbers. */
static void
drained(void **state)
{
	uint8_t p[RIG_PACKET];

	fresh(IBV_QPT_RC);
	post_write(1, 600);
	assert_int_equal(tre_run(&A->qp, 1, r.now), 1);
	tre_qp_state(&A->qp, IBV_QPS_SQD, NULL);
	post_write(2, 8);
	run(A);
	assert_int_equal(A->out.n, 3);
	assert_int_equal(A->events[IBV_EVENT_SQ_DRAINED], 0);
	lose_all(A);
	ack(PSN0 + 2, 0x1f);
	run(A);
	run(A);
	assert_int_equal(A->events[IBV_EVENT_SQ_DRAINED], 1);
	tre_qp_state(&A->qp, IBV_QPS_RTS, NULL);
	run(A);
	expect_packet(A, 0x0a, PSN0 + 3, p);
	/* Of an empty queue at once; who goes on before hears nothing. */
	fresh(IBV_QPT_RC);
	tre_qp_state(&A->qp, IBV_QPS_SQD, NULL);
	tre_qp_state(&A->qp, IBV_QPS_RTS, NULL);
	run(A);
	tre_qp_state(&A->qp, IBV_QPS_SQD, NULL);
	run(A);
	assert_int_equal(A->events[IBV_EVENT_SQ_DRAINED], 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(states),
		T(fails),
		T(reset),
		T(drained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
