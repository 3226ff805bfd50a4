/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Single rules of the transport, each with the packets and numbers that the specification asks for (IBTA 1.4, chapter 9). */
#include "steps.h"

/* --- sequence ---------------------------------------------------------------------------------------------- */

static void
gap(void **state)
{
	uint8_t p[RIG_PACKET];

	connect_rc(256);
	for (uint32_t i = 0; i < 4; i++) {
		rig_recv(B, i, 0x1000 * i, 0x1000);
		rig_send(A, IBV_WR_SEND, i, 0, 8);
	}
	run(A);
	pass(A, B);
	lose(A);
	pass(A, B);
	pass(A, B);
	run(B);
	/* One NAK for the gap, however much follows, and it stands for the ACK of the first. */
	expect_ack(B, 0x60, PSN0 + 1, 1);
	expect_nothing(B);
	assert_int_equal(B->st.rs_out_of_order, 2);
	ib_bth_put(p, 0x11, false, 0, 0xffff, 0x100, false, PSN0 + 1);
	ib_put32(p + 12, 0x60000001);
	rig_inject(A, p, 16);
	expect_done(A, 0, 0, IBV_WC_SUCCESS);
	run(A);
	expect_packet(A, 0x04, PSN0 + 1, p);
	rig_inject(B, p, 12 + 8);
	expect_packet(A, 0x04, PSN0 + 2, p);
	rig_inject(B, p, 12 + 8);
	expect_packet(A, 0x04, PSN0 + 3, p);
	rig_inject(B, p, 12 + 8);
	run(B);
	expect_ack(B, 0x1f, PSN0 + 3, 4);
	assert_int_equal(B->num_got, 4);
	assert_int_equal(A->st.rq_resent, 3);
}

static void
duplicate(void **state)
{
	uint8_t p[RIG_PACKET];
	uint32_t len;

	connect_rc(256);
	rig_recv(B, 0, 0, 64);
	rig_recv(B, 1, 64, 64);
	rig_send(A, IBV_WR_SEND, 0, 0x100, 8);
	run(A);
	assert_true(rig_capture(&A->out, p, &len));
	rig_inject(B, p, len);
	run(B);
	expect_ack(B, 0x1f, PSN0, 1);
	rig_inject(B, p, len);
	run(B);
	expect_ack(B, 0x1f, PSN0, 1);
	assert_int_equal(B->num_got, 1);
	assert_int_equal(B->st.rs_duplicate, 1);
}

/* Answers to what was never sent, or was answered long ago, change nothing. */
static void
ghosts(void **state)
{
	uint8_t p[16];

	connect_rc(256);
	rig_send(A, IBV_WR_RDMA_WRITE, 0, 0, 8)->remote = rig_addr(0);
	run(A);
	ib_bth_put(p, 0x11, false, 0, 0xffff, 0x100, false, PSN0 + 1);
	ib_put32(p + 12, 0x1f000001);
	rig_inject(A, p, 16);
	ib_bth_put(p, 0x11, false, 0, 0xffff, 0x100, false, PSN0 - 2);
	rig_inject(A, p, 16);
	assert_int_equal(A->num_done, 0);
	assert_int_equal(A->st.rq_ghost, 2);
	ib_bth_put(p, 0x11, false, 0, 0xffff, 0x100, false, PSN0);
	rig_inject(A, p, 16);
	expect_done(A, 0, 0, IBV_WC_SUCCESS);
}

/* One ACK for many. */
static void
coalesced(void **state)
{
	uint8_t p[16];

	connect_rc(256);
	for (uint32_t i = 0; i < 5; i++)
		rig_send(A, IBV_WR_RDMA_WRITE, i, 0, 300)->remote = rig_addr(0);
	run(A);
	ib_bth_put(p, 0x11, false, 0, 0xffff, 0x100, false, PSN0 + 6);
	ib_put32(p + 12, 0x1f000003);
	rig_inject(A, p, 16);
	/* Two packets each: the fourth is acknowledged in half. */
	assert_int_equal(A->num_done, 3);
	assert_int_equal(A->qp.una_psn, PSN0 + 7);
}

/* --- time -------------------------------------------------------------------------------------------------- */

static void
timer_codes(void **state)
{
	assert_int_equal(tre_timeout_ns(1), 8192);
	assert_int_equal(tre_timeout_ns(14), 67108864);
	assert_true(tre_timeout_ns(0) == TRE_NEVER);
	assert_int_equal(tre_rnr_ns(0), 655360000);
	assert_int_equal(tre_rnr_ns(1), 10000);
	assert_int_equal(tre_rnr_ns(12), 640000);
	assert_int_equal(tre_rnr_ns(31), 491520000);
	assert_int_equal(tre_credit_code(0), 0);
	assert_int_equal(tre_credit_code(5), 4);
	assert_int_equal(tre_credit_code(6), 5);
	assert_int_equal(tre_credit_code(1000000), 30);
	assert_int_equal(tre_credit_count(30), 32768);
}

static void
retry_exceeded(void **state)
{
	struct tre_attr a = rig_attr(IBV_QPT_RC, 256);

	a.retry_cnt = 3;
	rig_connect(&r, &a);
	A->out.drop_ppm = 1000000;
	rig_send(A, IBV_WR_RDMA_WRITE, 1, 0, 8)->remote = rig_addr(0);
	rig_send(A, IBV_WR_RDMA_WRITE, 2, 0, 8)->remote = rig_addr(0);
	rig_run(&r, 100);
	/* The first time and three more, 131.072 us apart. */
	assert_int_equal(A->out.sent, 2 * 4);
	assert_int_equal(A->st.rq_timeout, 4);
	expect_done(A, 0, 1, IBV_WC_RETRY_EXC_ERR);
	expect_done(A, 1, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(A->qp.state, IBV_QPS_ERR);
	assert_in_range(r.now - 1000000, 4 * 131072, 4 * 131072 + 20000);
}

static void
receiver_not_ready(void **state)
{
	struct tre_attr a = rig_attr(IBV_QPT_RC, 256);

	a.rnr_retry = 1;
	a.min_rnr_timer = 14; /* 1.28 ms */
	rig_connect(&r, &a);
	rig_send(A, IBV_WR_SEND, 1, 0, 8);
	run(A);
	pass(A, B);
	run(B);
	assert_int_equal(B->out.p[0]->d[12], 0x20 | 14);
	assert_int_equal(ib_bth_psn(B->out.p[0]->d), PSN0);
	pass(B, A);
	r.now += 1280000 - 1;
	run(A);
	expect_nothing(A);
	r.now += 1;
	run(A);
	pass(A, B);
	run(B);
	pass(B, A);
	expect_done(A, 0, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(A->st.rq_rnr_nak, 2);
	assert_int_equal(B->st.rs_rnr_nak, 2);
	assert_int_equal(B->qp.state, IBV_QPS_RTS);
}

/* --- READ and atomics --------------------------------------------------------------------------------------- */

static void
read_resumes(void **state)
{
	uint8_t p[RIG_PACKET];

	connect_rc(256);
	for (uint32_t i = 0; i < 1000; i++)
		B->mem[0x5000 + i] = (uint8_t)(i * 7);
	rig_send(A, IBV_WR_RDMA_READ, 1, 0, 1000)->remote = rig_addr(0x5000);
	rig_send(A, IBV_WR_RDMA_WRITE, 2, 0x2000, 4)->remote = rig_addr(0x9000);
	run(A);
	expect_packet(A, 0x0c, PSN0, p);
	rig_inject(B, p, 28);
	/* The READ took four numbers. */
	expect_packet(A, 0x0a, PSN0 + 4, p);
	rig_inject(B, p, 32);
	run(B);
	assert_int_equal(B->out.n, 5);
	pass(B, A);
	lose(B);
	pass(B, A);
	pass(B, A);
	pass(B, A);
	run(A);
	/* The rest is asked for again: 744 bytes from the second packet on, and what came behind it. */
	expect_packet(A, 0x0c, PSN0 + 1, p);
	assert_true(ib_get64(p + 12) == rig_addr(0x5000 + 256));
	assert_int_equal(ib_get32(p + 24), 744);
	rig_inject(B, p, 28);
	expect_packet(A, 0x0a, PSN0 + 4, p);
	rig_inject(B, p, 32);
	run(B);
	assert_int_equal(B->out.p[0]->d[0], 0x0d);
	assert_int_equal(B->out.p[1]->d[0], 0x0e);
	assert_int_equal(B->out.p[2]->d[0], 0x0f);
	rig_run(&r, 10);
	expect_done(A, 0, 1, IBV_WC_SUCCESS);
	expect_done(A, 1, 2, IBV_WC_SUCCESS);
	assert_memory_equal(A->mem, B->mem + 0x5000, 1000);
	/* Executed once. */
	assert_int_equal(B->qp.msn, 2);
}

static void
atomic_once(void **state)
{
	uint64_t v = 40;
	struct tre_wqe *w;

	connect_rc(256);
	memcpy(B->mem + 64, &v, 8);
	w = rig_send(A, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8);
	w->remote = rig_addr(64);
	w->compare_add = 2;
	run(A);
	pass(A, B);
	run(B);
	lose(B);
	r.now += 200000;
	run(A);
	pass(A, B);
	run(B);
	pass(B, A);
	expect_done(A, 0, 1, IBV_WC_SUCCESS);
	memcpy(&v, B->mem + 64, 8);
	assert_int_equal(v, 42);
	memcpy(&v, A->mem, 8);
	assert_int_equal(v, 40);
}

static void
depth(void **state)
{
	struct tre_attr a = rig_attr(IBV_QPT_RC, 256);
	uint8_t p[28];

	a.max_rd_atomic = 2;
	a.max_dest_rd_atomic = 2;
	rig_connect(&r, &a);
	for (uint32_t i = 0; i < 4; i++)
		rig_send(A, IBV_WR_RDMA_READ, i, i * 8, 8)->remote = rig_addr(0);
	run(A);
	assert_int_equal(A->out.n, 2);
	rig_run(&r, 20);
	assert_int_equal(A->num_done, 4);
	/* A peer that does not keep to it. */
	for (uint32_t i = 0; i < 3; i++) {
		ib_bth_put(p, 0x0c, false, 0, 0xffff, 0x101, true, PSN0 + 4 + i);
		ib_put64(p + 12, rig_addr(0));
		ib_put32(p + 20, RIG_RKEY);
		ib_put32(p + 24, 8);
		rig_inject(B, p, 28);
	}
	run(B);
	lose(B);
	lose(B);
	expect_ack(B, 0x61, PSN0 + 6, 6);
	assert_int_equal(B->qp.state, IBV_QPS_ERR);
}

static void
fence(void **state)
{
	connect_rc(256);
	rig_recv(B, 0, 0x100, 64);
	rig_send(A, IBV_WR_RDMA_READ, 0, 0, 8)->remote = rig_addr(0);
	rig_send(A, IBV_WR_SEND, 1, 0, 8)->flags = IBV_SEND_FENCE;
	run(A);
	assert_int_equal(A->out.n, 1);
	pass(A, B);
	run(B);
	pass(B, A);
	run(A);
	assert_int_equal(A->out.n, 1);
	rig_run(&r, 10);
	assert_int_equal(A->num_done, 2);
}

/* --- credits ------------------------------------------------------------------------------------------------ */

/* Both count messages modulo 2^24. */
static void
credits_from(uint32_t first)
{
	struct tre_attr a = rig_attr(IBV_QPT_RC, 256);

	a.credits = true;
	rig_connect(&r, &a);
	A->qp.ssn = B->qp.msn = first;
	rig_recv(B, 0, 0, 64);
	rig_recv(B, 1, 64, 64);
	rig_recv(B, 2, 128, 64);
	rig_send(A, IBV_WR_SEND, 0, 0, 8);
	run(A);
	pass(A, B);
	run(B);
	/* Two requests are left. */
	assert_int_equal(B->out.p[0]->d[12], 2);
	pass(B, A);
	for (uint32_t i = 1; i < 6; i++)
		rig_send(A, IBV_WR_SEND, i, 0, 8);
	run(A);
	assert_int_equal(A->out.n, 2);
	pass(A, B);
	pass(A, B);
	run(B);
	assert_int_equal(B->out.p[0]->d[12], 0);
	pass(B, A);
	/* None left: one goes anyway, its answer tells. */
	run(A);
	assert_int_equal(A->out.n, 1);
	pass(A, B);
	run(B);
	assert_int_equal(B->out.p[0]->d[12] & 0xe0, 0x20);
	for (uint32_t i = 3; i < 8; i++)
		rig_recv(B, i, i * 64, 64);
	rig_run(&r, 1000);
	assert_int_equal(A->num_done, 6);
	assert_int_equal(B->num_got, 6);
}

static void
credits(void **state)
{
	credits_from(0);
}

static void
credits_in_the_middle(void **state)
{
	credits_from(0x7fffff);
}

static void
credits_at_the_end(void **state)
{
	credits_from(0xfffffe);
}

/* --- UC and UD ---------------------------------------------------------------------------------------------- */

static void
uc_loss(void **state)
{
	struct tre_attr a = rig_attr(IBV_QPT_UC, 256);

	rig_connect(&r, &a);
	for (uint32_t i = 0; i < 3; i++)
		rig_recv(B, i, 0x1000 * i, 0x1000);
	memset(A->mem, 0x11, 0x1000);
	memset(A->mem + 0x1000, 0x22, 0x1000);
	rig_send(A, IBV_WR_SEND, 1, 0, 700);
	rig_send(A, IBV_WR_SEND, 2, 0x1000, 500);
	run(A);
	/* Done when sent. */
	assert_int_equal(A->num_done, 2);
	pass(A, B);
	lose(A);
	pass(A, B);
	pass(A, B);
	pass(A, B);
	run(B);
	expect_nothing(B);
	/* The message that lost a packet is gone, its receive request serves the next. */
	assert_int_equal(B->num_got, 1);
	assert_int_equal(B->got[0].id, 0);
	assert_int_equal(B->got[0].wc.len, 500);
	assert_memory_equal(B->mem, A->mem + 0x1000, 500);
	assert_int_equal(B->st.rs_uc_discarded, 1);
}

static void
ud(void **state)
{
	struct tre_attr a = rig_attr(IBV_QPT_UD, 1024);
	uint8_t grh[40];
	struct tre_wqe *w;

	rig_connect(&r, &a);
	for (uint32_t i = 0; i < 3; i++)
		rig_recv(B, i, 0x1000 * i, i == 1 ? 139 : 140);
	memset(A->mem, 0x5a, 100);
	memset(grh, 0x6e, sizeof(grh));
	for (uint32_t i = 0; i < 4; i++) {
		w = rig_send(A, IBV_WR_SEND_WITH_IMM, i, 0, 100);
		w->ud_qpn = 0x101;
		/* The QP's own key instead of a privileged one; a wrong one. */
		w->ud_qkey = i == 0 ? 0x80000000 : i == 1 ? 0x11111112 : 0x11111111;
		w->imm = 0xcafe0000 + i;
	}
	run(A);
	assert_int_equal(ib_get32(A->out.p[0]->d + 12), 0x11111111);
	assert_int_equal(ib_get24(A->out.p[0]->d + 17), 0x100);
	tre_input(&B->qp, &(struct tre_in){.bth = A->out.p[0]->d, .len = A->out.p[0]->len, .grh = grh}, r.now);
	lose(A);
	assert_int_equal(B->got[0].wc.len, 140);
	assert_int_equal(B->got[0].wc.src_qpn, 0x100);
	assert_int_equal(B->got[0].wc.imm, 0xcafe0000);
	assert_memory_equal(B->mem, grh, 40);
	assert_memory_equal(B->mem + 40, A->mem, 100);
	pass(A, B);
	assert_int_equal(B->st.rs_bad_qkey, 1);
	pass(A, B);
	assert_int_equal(B->got[1].wc.status, IBV_WC_LOC_LEN_ERR);
	pass(A, B);
	assert_int_equal(B->got[2].wc.status, IBV_WC_SUCCESS);
	assert_int_equal(B->qp.state, IBV_QPS_RTS);
}

/* --- life --------------------------------------------------------------------------------------------------- */

static void
drain(void **state)
{
	connect_rc(256);
	rig_send(A, IBV_WR_RDMA_WRITE, 1, 0, 600)->remote = rig_addr(0);
	A->out.full = true;
	run(A);
	A->out.full = false;
	tre_run(&A->qp, 1, r.now);
	tre_qp_state(&A->qp, IBV_QPS_SQD, NULL);
	rig_send(A, IBV_WR_RDMA_WRITE, 2, 0, 8)->remote = rig_addr(0);
	rig_run(&r, 20);
	/* What was begun is finished, what was not waits. */
	assert_int_equal(A->num_done, 1);
	assert_int_equal(A->events[IBV_EVENT_SQ_DRAINED], 1);
	tre_qp_state(&A->qp, IBV_QPS_RTS, NULL);
	rig_run(&r, 20);
	assert_int_equal(A->num_done, 2);
}

static void
flush(void **state)
{
	connect_rc(256);
	rig_recv(A, 7, 0, 64);
	rig_send(A, IBV_WR_RDMA_WRITE, 1, 0, 8)->remote = rig_addr(0);
	run(A);
	tre_qp_state(&A->qp, IBV_QPS_ERR, NULL);
	expect_done(A, 0, 1, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(A->got[0].wc.status, IBV_WC_WR_FLUSH_ERR);
	/* So is what is posted afterwards. */
	rig_send(A, IBV_WR_RDMA_WRITE, 2, 0, 8);
	rig_recv(A, 8, 0, 64);
	run(A);
	expect_done(A, 1, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(A->num_got, 2);
	tre_qp_state(&A->qp, IBV_QPS_RESET, NULL);
	rig_send(A, IBV_WR_RDMA_WRITE, 3, 0, 8);
	run(A);
	assert_int_equal(A->num_done, 2);
}

static void
established(void **state)
{
	struct tre_attr a = rig_attr(IBV_QPT_RC, 256);

	rig_connect(&r, &a);
	B->qp.state = IBV_QPS_RTR;
	rig_send(A, IBV_WR_RDMA_WRITE, 1, 0, 8)->remote = rig_addr(0);
	rig_send(A, IBV_WR_RDMA_WRITE, 2, 0, 8)->remote = rig_addr(0);
	rig_run(&r, 20);
	assert_int_equal(B->events[IBV_EVENT_COMM_EST], 1);
	assert_int_equal(A->num_done, 2);
}

static void
malformed(void **state)
{
	uint8_t p[64] = {0};

	connect_rc(256);
	ib_bth_put(p, 0x04, false, 0, 0xffff, 0x101, true, PSN0);
	for (uint32_t len = 0; len < 12; len++)
		rig_inject(B, p, len == 0 ? 1 : len);
	/* Not a multiple of four; padding that is not there; a version that nobody speaks; a short header. */
	rig_inject(B, p, 13);
	rig_inject(B, p, 14);
	rig_inject(B, p, 15);
	p[1] = 0x70;
	rig_inject(B, p, 12);
	p[1] = 0x41;
	rig_inject(B, p, 16);
	ib_bth_put(p, 0x0c, false, 0, 0xffff, 0x101, true, PSN0);
	rig_inject(B, p, 24);
	/* A request that has no payload by definition, with some. */
	rig_inject(B, p, 32);
	run(B);
	expect_nothing(B);
	assert_int_equal(B->st.rs_malformed, 12 + 7);
	assert_int_equal(B->qp.state, IBV_QPS_RTS);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(gap),
		T(duplicate),
		T(ghosts),
		T(coalesced),
		T(timer_codes),
		T(retry_exceeded),
		T(receiver_not_ready),
		T(read_resumes),
		T(atomic_once),
		T(depth),
		T(fence),
		T(credits),
		T(credits_in_the_middle),
		T(credits_at_the_end),
		T(uc_loss),
		T(ud),
		T(drain),
		T(flush),
		T(established),
		T(malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
