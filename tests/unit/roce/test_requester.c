/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A requester against a peer by hand: what an answer ends, what is sent again and when (IBTA 1.4, 9.7.5, 9.7.6, 9.7.7).
 */
#include "steps.h"

#define ROWS(t) (sizeof(t) / sizeof((t)[0]))
#define MTU 256u
#define TIMEOUT 131072u /* code 5 */

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
post_local(uint64_t id, uint32_t rkey)
{
	rig_send(A, IBV_WR_SEND, id, 0, 0);
	A->sq[(A->qp.tail - 1) & A->qp.sq_mask].opcode = TRE_WR_LOCAL;
	A->sq[(A->qp.tail - 1) & A->qp.sq_mask].rkey = rkey;
}

static void
lose_all(struct rig_side *s)
{
	while (s->out.n != 0)
		lose(s);
}

/* --- answers ------------------------------------------------------------------------------------------------- */

/* What a NAK says ends the oldest request with that; every number of table 44 that is not known is an error of the peer. */
static void
naks(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum ibv_wc_status status;
	} t[] = {
		{0x61, IBV_WC_REM_INV_REQ_ERR}, {0x62, IBV_WC_REM_ACCESS_ERR}, {0x63, IBV_WC_REM_OP_ERR},
		{0x64, IBV_WC_REM_OP_ERR},      {0x65, IBV_WC_REM_OP_ERR},
	};

	for (size_t i = 0; i < ROWS(t); i++) {
		fresh(IBV_QPT_RC);
		post_write(1, 8);
		post_write(2, 8);
		post_write(3, 8);
		run(A);
		ack(PSN0 + 1, t[i].syndrome);
		/* What lies before its number is acknowledged. */
		expect_done(A, 0, 1, IBV_WC_SUCCESS);
		expect_done(A, 1, 2, t[i].status);
		expect_done(A, 2, 3, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(A->num_done, 3);
		assert_int_equal(A->qp.state, IBV_QPS_ERR);
		assert_int_equal(A->st.rq_flush_err, 1);
	}
}

/* Answers that do not fit the READ or atomic that waits end it as a bad response. */
static void
bad_responses(void **state)
{
	static const struct {
		enum ibv_wr_opcode op; /* of 600 bytes, or 8 */
		uint8_t answer;
		uint32_t psn, aeth, len;
	} t[] = {
		{IBV_WR_RDMA_READ, 0x0d, 0, 0x1f000001, MTU - 4}, {IBV_WR_RDMA_READ, 0x0d, 0, 0x1f000001, MTU + 4},
		{IBV_WR_RDMA_READ, 0x10, 0, 0x1f000001, MTU},     {IBV_WR_RDMA_READ, 0x12, 0, 0x1f000001, 0},
		{IBV_WR_RDMA_READ, 0x0d, 0, 0x60000001, MTU},     {IBV_WR_RDMA_READ, 0x0d, 0, 0x21000001, MTU},
		{IBV_WR_RDMA_WRITE, 0x10, 0, 0x1f000001, 8},      {IBV_WR_ATOMIC_FETCH_AND_ADD, 0x10, 0, 0x1f000001, 8},
	};

	for (size_t i = 0; i < ROWS(t); i++) {
		fresh(IBV_QPT_RC);
		rig_send(A, t[i].op, 1, 0, t[i].op == IBV_WR_RDMA_READ ? 600 : 8)->remote = rig_addr(0);
		run(A);
		answer(t[i].answer, PSN0 + t[i].psn, t[i].aeth, t[i].len);
		expect_done(A, 0, 1, IBV_WC_BAD_RESP_ERR);
		assert_int_equal(A->num_done, 1);
		assert_int_equal(A->st.rq_bad_response, 1);
		assert_int_equal(A->qp.state, IBV_QPS_ERR);
		assert_int_equal(A->mem[0], 0);
	}
}

/* The last packet of a READ has its very length; the others are full. */
static void
last_response(void **state)
{
	static const struct {
		uint8_t op;
		uint32_t len;
		bool good;
	} t[] = {{0x0f, 88, true}, {0x0f, 87, false}, {0x0f, 89, false}, {0x0e, 88, false}, {0x10, 88, true}};

	for (size_t i = 0; i < ROWS(t); i++) {
		fresh(IBV_QPT_RC);
		post_read(1, 0x100, 600);
		run(A);
		answer(0x0d, PSN0, 0x1f000001, MTU);
		assert_int_equal(A->qp.una_psn, PSN0 + 1);
		answer(0x0e, PSN0 + 1, 0, MTU);
		assert_int_equal(A->qp.una_psn, PSN0 + 2);
		assert_int_equal(A->num_done, 0);
		answer(t[i].op, PSN0 + 2, 0x1f000001, t[i].len);
		expect_done(A, 0, 1, t[i].good ? IBV_WC_SUCCESS : IBV_WC_BAD_RESP_ERR);
		assert_int_equal(A->mem[0x100 + 599], t[i].good ? 0x5c : 0);
		assert_int_equal(A->mem[0x100 + 600], 0);
		assert_int_equal(A->qp.rd_out, 0);
	}
}

/* The place that waits for an answer may be no memory of ours. */
static void
answers_without_place(void **state)
{
	static const enum ibv_wr_opcode op[] = {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP};

	for (size_t i = 0; i < ROWS(op); i++) {
		fresh(IBV_QPT_RC);
		rig_send(A, op[i], 1, RIG_MEM - 4, 8)->remote = rig_addr(0);
		run(A);
		answer(i == 0 ? 0x10 : 0x12, PSN0, 0x1f000001, i == 0 ? 8 : 0);
		expect_done(A, 0, 1, IBV_WC_LOC_PROT_ERR);
		assert_int_equal(A->st.rq_prot_err, 1);
		assert_int_equal(A->qp.state, IBV_QPS_ERR);
	}
}

/* An ACK or an answer of something later says that the answer of a READ was lost: it is asked for again, once. */
static void
lost_response(void **state)
{
	uint8_t p[RIG_PACKET];

	for (uint32_t how = 0; how < 3; how++) {
		fresh(IBV_QPT_RC);
		post_read(1, 0, 300);
		if (how == 2)
			post_read(2, 0x200, 8);
		else
			post_write(2, 8);
		post_write(3, 8);
		run(A);
		lose_all(A);
		if (how == 0)
			ack(PSN0 + 2, 0x1f);
		else if (how == 1)
			answer(0x0f, PSN0 + 1, 0x1f000001, 44);
		else
			answer(0x10, PSN0 + 2, 0x1f000001, 8);
		assert_int_equal(A->num_done, 0);
		assert_int_equal(A->qp.retries, 6);
		/* More of what came behind it says nothing new. */
		ack(PSN0 + 3, 0x1f);
		assert_int_equal(A->qp.retries, 6);
		run(A);
		expect_packet(A, 0x0c, PSN0, p);
		assert_int_equal(ib_get32(p + 24), 300);
		assert_int_equal(A->out.n, 2);
		assert_int_equal(A->st.rq_resent, 3);
		/* Something new: a loss behind it is one of its own. */
		answer(0x0d, PSN0, 0x1f000001, MTU);
		assert_int_equal(A->qp.retries, 7);
		lose_all(A);
		ack(PSN0 + 3, 0x1f);
		assert_int_equal(A->qp.retries, 6);
		run(A);
		expect_packet(A, 0x0c, PSN0 + 1, p);
		assert_int_equal(ib_get32(p + 24), 44);
	}
}

/* What was about to be sent again has arrived after all: it is not sent. */
static void
late_acks(void **state)
{
	uint8_t p[RIG_PACKET];

	fresh(IBV_QPT_RC);
	post_write(1, 8);
	post_local(2, RIG_RKEY);
	post_write(3, 600);
	post_write(4, 8);
	run(A);
	lose_all(A);
	ack(PSN0, 0x60);
	ack(PSN0 + 1, 0x1f);
	expect_done(A, 0, 1, IBV_WC_SUCCESS);
	expect_done(A, 1, 2, IBV_WC_SUCCESS);
	assert_int_equal(A->num_done, 2);
	run(A);
	/* On with the second packet of three that is missing. */
	expect_packet(A, 0x07, PSN0 + 2, p);
	expect_packet(A, 0x08, PSN0 + 3, p);
	expect_packet(A, 0x0a, PSN0 + 4, p);
	expect_nothing(A);
	ack(PSN0, 0x60);
	ack(PSN0 + 4, 0x1f);
	run(A);
	expect_nothing(A);
	assert_int_equal(A->num_done, 4);
	assert_false(tre_busy(&A->qp));
}

/* A request whose memory went away before it was sent again ends when those before it have ended, and nothing after it does. */
static void
memory_goes_away(void **state)
{
	fresh(IBV_QPT_RC);
	post_write(1, 8);
	post_write(2, 8);
	post_read(3, 0x100, 8);
	run(A);
	lose_all(A);
	A->sge[1][0].lkey = 0;
	ack(PSN0, 0x60);
	run(A);
	assert_int_equal(A->num_done, 0);
	answer(0x10, PSN0 + 2, 0x1f000003, 8);
	expect_done(A, 0, 1, IBV_WC_SUCCESS);
	expect_done(A, 1, 2, IBV_WC_LOC_PROT_ERR);
	expect_done(A, 2, 3, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(A->num_done, 3);
	/* What a request that is over asked for is not written. */
	assert_int_equal(A->mem[0x100], 0);
}

/* In which state of the requester an answer counts, and what is no answer to anything. */
static void
answers_in_states(void **state)
{
	static const struct {
		enum ibv_qp_state state;
		bool counts;
	} t[] = {{IBV_QPS_RTS, true}, {IBV_QPS_SQD, true}, {IBV_QPS_RTR, false}, {IBV_QPS_ERR, false}};

	for (size_t i = 0; i < ROWS(t); i++) {
		fresh(IBV_QPT_RC);
		post_write(1, 8);
		run(A);
		A->qp.state = t[i].state;
		ack(PSN0, 0x1f);
		assert_int_equal(A->num_done, t[i].counts);
		assert_int_equal(A->st.rq_ghost, 0);
	}
}

/* --- credits ------------------------------------------------------------------------------------------------- */

/* An ACK for the last number brings new credits and nothing else; who counts none is not held up (9.7.7.2.5). */
static void
credits_again(void **state)
{
	struct tre_attr a = rig_attr(IBV_QPT_RC, MTU);

	a.credits = true;
	rig_connect(&r, &a);
	rig_send(A, IBV_WR_SEND, 1, 0, 8);
	run(A);
	lose_all(A);
	answer(0x11, PSN0, 0x00000001, 0);
	for (uint32_t i = 2; i < 10; i++)
		rig_send(A, i == 2 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND_WITH_IMM, i, 0, 8)->remote = rig_addr(0);
	run(A);
	/* None left: one goes, and its answer tells. */
	assert_int_equal(A->out.n, 1);
	assert_false(tre_busy(&A->qp));
	/* A NAK and a READ's answer with this number are no such thing; nor is another number. */
	answer(0x11, PSN0, 0x21000001, 0);
	answer(0x10, PSN0, 0x05000001, 8);
	answer(0x11, PSN0 - 1, 0x05000001, 0);
	assert_int_equal(A->st.rq_ghost, 3);
	run(A);
	assert_int_equal(A->out.n, 1);
	/* Two messages beyond the first may be under way. */
	answer(0x11, PSN0, 0x02000001, 0);
	assert_int_equal(A->st.rq_ghost, 3);
	assert_true(tre_busy(&A->qp));
	run(A);
	assert_int_equal(A->out.n, 2);
	/* From now on they are not counted. */
	answer(0x11, PSN0, 0x1f000001, 0);
	run(A);
	assert_int_equal(A->out.n, 8);
	/* Messages that need no receive request were never held up. */
	answer(0x11, PSN0, 0x00000001, 0);
	rig_send(A, IBV_WR_SEND, 10, 0, 8);
	post_write(11, 8);
	run(A);
	assert_int_equal(A->out.n, 8);
	A->qp.sq[9 & A->qp.sq_mask].opcode = IBV_WR_RDMA_WRITE;
	run(A);
	assert_int_equal(A->out.n, 10);
}

/* --- time ---------------------------------------------------------------------------------------------------- */

static void
timer(void **state)
{
	uint8_t p[RIG_PACKET];
	uint64_t start;

	fresh(IBV_QPT_RC);
	start = r.now;
	assert_true(tre_deadline(&A->qp) == TRE_NEVER);
	post_write(1, 8);
	post_write(2, 8);
	run(A);
	lose_all(A);
	assert_true(tre_deadline(&A->qp) == start + TIMEOUT);
	r.now = start + TIMEOUT - 1;
	run(A);
	expect_nothing(A);
	r.now++;
	run(A);
	expect_packet(A, 0x0a, PSN0, p);
	expect_packet(A, 0x0a, PSN0 + 1, p);
	assert_int_equal(A->st.rq_timeout, 1);
	assert_int_equal(A->qp.retries, 6);
	/* An ACK starts it anew and gives back the retries; with nothing on its way it stands. */
	r.now += 1000;
	ack(PSN0, 0x1f);
	assert_int_equal(A->qp.retries, 7);
	assert_true(tre_deadline(&A->qp) == r.now + TIMEOUT);
	ack(PSN0 + 1, 0x1f);
	assert_true(tre_deadline(&A->qp) == TRE_NEVER);
	/* Code 0: never. */
	A->qp.a.timeout = 0;
	post_write(3, 8);
	run(A);
	assert_true(tre_deadline(&A->qp) == TRE_NEVER);
}

/* Seven: as often as it takes. While it waits no ACK is awaited, and nothing is sent. */
static void
receiver_never_ready(void **state)
{
	uint8_t p[RIG_PACKET];

	fresh(IBV_QPT_RC);
	rig_send(A, IBV_WR_SEND, 1, 0, 8);
	for (uint32_t i = 0; i < 20; i++) {
		run(A);
		expect_packet(A, 0x04, PSN0, p);
		ack(PSN0, 0x20 | 14);
		assert_true(tre_deadline(&A->qp) == r.now + 1280000);
		assert_false(tre_busy(&A->qp));
		r.now += 1279999;
		run(A);
		expect_nothing(A);
		r.now++;
	}
	assert_int_equal(A->st.rq_rnr_nak, 20);
	assert_int_equal(A->st.rq_timeout, 0);
	assert_int_equal(A->num_done, 0);
	run(A);
	lose_all(A);
	/* Other than a NAK of the sequence it costs no retry. */
	assert_int_equal(A->qp.retries, 7);
	ack(PSN0, 0x1f);
	expect_done(A, 0, 1, IBV_WC_SUCCESS);
}

/* So often in a row; an ACK between them starts the count anew. */
static void
receiver_seldom_ready(void **state)
{
	fresh(IBV_QPT_RC);
	A->qp.a.rnr_retry = A->qp.rnr_retries = 2;
	post_write(1, 8);
	post_write(2, 8);
	for (uint32_t i = 0; i < 5; i++) {
		run(A);
		lose_all(A);
		if (i == 2)
			ack(PSN0, 0x1f);
		assert_int_equal(A->num_done, i >= 2);
		ack(PSN0 + (i >= 2), 0x21);
		r.now += 10000;
	}
	expect_done(A, 1, 2, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(A->st.rq_rnr_exceeded, 1);
	assert_true(tre_deadline(&A->qp) == TRE_NEVER);
	assert_int_equal(A->st.rq_rnr_nak, 5);
}

/* --- requests of the card itself ------------------------------------------------------------------------------ */

static void
local_requests(void **state)
{
	uint8_t p[RIG_PACKET];

	fresh(IBV_QPT_RC);
	post_local(1, RIG_RKEY);
	post_write(2, 8);
	post_local(3, RIG_RKEY);
	post_write(4, 8);
	post_local(5, 0);
	post_write(6, 8);
	run(A);
	/* In order, and without a number. */
	assert_int_equal(A->num_done, 1);
	expect_packet(A, 0x0a, PSN0, p);
	expect_packet(A, 0x0a, PSN0 + 1, p);
	expect_nothing(A);
	/* What was executed is not executed again when the queue goes back. */
	A->sq[2].rkey = 0;
	r.now += TIMEOUT;
	run(A);
	expect_packet(A, 0x0a, PSN0, p);
	expect_packet(A, 0x0a, PSN0 + 1, p);
	ack(PSN0, 0x1f);
	expect_done(A, 2, 3, IBV_WC_SUCCESS);
	assert_int_equal(A->num_done, 3);
	ack(PSN0 + 1, 0x1f);
	expect_done(A, 3, 4, IBV_WC_SUCCESS);
	expect_done(A, 4, 5, IBV_WC_LOC_PROT_ERR);
	expect_done(A, 5, 6, IBV_WC_WR_FLUSH_ERR);
}

/* What is not for a queue pair of this kind, or was not granted. */
static void
not_granted(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		enum ibv_wr_opcode op;
		uint32_t len;
		enum ibv_wc_status status;
	} t[] = {
		{IBV_QPT_RC, IBV_WR_RDMA_READ, 8, IBV_WC_LOC_QP_OP_ERR},
		{IBV_QPT_RC, IBV_WR_ATOMIC_CMP_AND_SWP, 8, IBV_WC_LOC_QP_OP_ERR},
		{IBV_QPT_UC, IBV_WR_SEND_WITH_INV, 8, IBV_WC_LOC_QP_OP_ERR},
		{IBV_QPT_UD, IBV_WR_SEND_WITH_INV, 8, IBV_WC_LOC_QP_OP_ERR},
		{IBV_QPT_UD, IBV_WR_RDMA_WRITE_WITH_IMM, 8, IBV_WC_LOC_QP_OP_ERR},
		{IBV_QPT_UD, IBV_WR_SEND_WITH_IMM, MTU + 1, IBV_WC_LOC_LEN_ERR},
		{IBV_QPT_UD, IBV_WR_SEND, MTU, IBV_WC_SUCCESS},
		{IBV_QPT_UC, IBV_WR_RDMA_WRITE, 8, IBV_WC_SUCCESS},
	};

	for (size_t i = 0; i < ROWS(t); i++) {
		fresh(t[i].type);
		A->qp.a.max_rd_atomic = 0;
		rig_send(A, t[i].op, 1, 0, t[i].len)->remote = rig_addr(0);
		run(A);
		expect_done(A, 0, 1, t[i].status);
		assert_int_equal(A->out.n, t[i].status == IBV_WC_SUCCESS);
	}
	fresh(IBV_QPT_RC);
	rig_send(A, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 0, 7)->remote = rig_addr(0);
	run(A);
	expect_done(A, 0, 1, IBV_WC_LOC_LEN_ERR);
}

/* What waits for its rate is not what the peer has not answered (9.7.6.1.3: the time-out runs from what was sent last). */
static void
held_by_a_rate(void **state)
{
	uint64_t at = r.now + TIMEOUT - 1;
	uint8_t p[RIG_PACKET];

	fresh(IBV_QPT_RC);
	tre_held(&A->qp, at);
	assert_true(tre_deadline(&A->qp) == TRE_NEVER);
	post_write(1, 3 * MTU);
	tre_run(&A->qp, 1, r.now);
	expect_packet(A, 0x06, PSN0, p);
	for (uint32_t i = 1; i < 3; i++, at += TIMEOUT - 1) {
		tre_held(&A->qp, at);
		assert_true(tre_deadline(&A->qp) == at + TIMEOUT);
		r.now = at + 1;
		tre_run(&A->qp, 1, r.now);
		expect_packet(A, i == 2 ? 0x08 : 0x07, PSN0 + i, p);
	}
	assert_int_equal(A->st.rq_timeout, 0);
	/* The last one was sent; from then on it is the peer's time. */
	r.now = at + 1;
	run(A);
	assert_int_equal(A->st.rq_timeout, 1);
	expect_packet(A, 0x06, PSN0, p);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(naks),           T(bad_responses), T(last_response),        T(answers_without_place),
		T(lost_response),  T(late_acks),     T(memory_goes_away),     T(answers_in_states),
		T(credits_again),  T(timer),         T(receiver_never_ready), T(receiver_seldom_ready),
		T(local_requests), T(not_granted),   T(held_by_a_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
