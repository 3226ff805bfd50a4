/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A responder against a peer by hand: what is executed, what is refused and how, what is answered again (IBTA 1.4, 9.7.4,
 * 9.7.5, 9.8.2).
 */
#include "steps.h"

#define ROWS(t) (sizeof(t) / sizeof((t)[0]))
#define MTU 256u
#define BAD_KEY 0x666u

static void
fresh(enum ibv_qp_type type)
{
	struct tre_attr a = rig_attr(type, MTU);

	teardown(NULL);
	setup(NULL);
	rig_connect(&r, &a);
}

/* A request of A's to B with len bytes of payload; at: address and length of a RETH, where there is one. */
static void
request(uint8_t op, uint32_t psn, uint32_t rkey, uint64_t va, uint32_t total, uint32_t len)
{
	uint32_t head = ib_opcodes[op].hlen;
	uint8_t p[RIG_PACKET];

	memset(p, (int)psn, sizeof(p));
	ib_bth_put(p, op, false, -len & 3u, 0xffff, 0x101, true, psn);
	if (ib_opcodes[op].reth != 0) {
		ib_put64(p + 12, va);
		ib_put32(p + 20, rkey);
		ib_put32(p + 24, total);
	}
	if ((op & 0x1f) == 0x16 || (op & 0x1f) == 0x17)
		ib_put32(p + 12, rkey);
	rig_inject(B, p, head + len + (-len & 3u));
}

static void
send_part(uint8_t op, uint32_t psn, uint32_t len)
{
	request(op, psn, 0, 0, 0, len);
}

/* B's only answer is this; a NAK that ends the connection leaves nothing behind. */
static void
expect_refusal(uint8_t syndrome, uint32_t psn)
{
	run(B);
	assert_true(B->out.n != 0);
	while (B->out.n > 1)
		lose(B);
	assert_int_equal(B->out.p[0]->d[0], 0x11);
	assert_int_equal(B->out.p[0]->d[12], syndrome);
	assert_int_equal(ib_bth_psn(B->out.p[0]->d), psn);
	assert_int_equal(B->qp.state, IBV_QPS_ERR);
	assert_false(tre_busy(&B->qp));
}

/* --- lengths ------------------------------------------------------------------------------------------------- */

/* First and middle packets are as long as a packet may be, last and only ones at most that; together as long as was said. */
static void
lengths(void **state)
{
	static const struct {
		uint8_t op[3];
		uint32_t len[3], num, total;
		bool good;
	} t[] = {
		{{0x04}, {MTU}, 1, 0, true},
		{{0x04}, {MTU + 4}, 1, 0, false},
		{{0x00}, {MTU - 4}, 1, 0, false},
		{{0x00}, {MTU + 4}, 1, 0, false},
		{{0x00, 0x01, 0x02}, {MTU, MTU, MTU}, 3, 0, true},
		{{0x00, 0x01}, {MTU, MTU - 1}, 2, 0, false},
		{{0x00, 0x02}, {MTU, MTU + 1}, 2, 0, false},
		{{0x00, 0x02}, {MTU, 1}, 2, 0, true},
		{{0x0a}, {8}, 1, 8, true},
		{{0x0a}, {8}, 1, 9, false},
		{{0x0a}, {8}, 1, 7, false},
		{{0x0a}, {0}, 1, 0, true},
		{{0x06, 0x08}, {MTU, 4}, 2, MTU + 4, true},
		{{0x06, 0x08}, {MTU, 4}, 2, MTU + 5, false},
		{{0x06, 0x08}, {MTU, 5}, 2, MTU + 4, false},
		{{0x06, 0x07, 0x08}, {MTU, MTU, MTU}, 3, 3 * MTU, true},
		{{0x06, 0x07}, {MTU, MTU}, 2, 2 * MTU - 1, false},
		{{0x06}, {MTU}, 1, MTU - 1, false},
	};

	for (size_t i = 0; i < ROWS(t) * 2; i++) {
		bool uc = i % 2 == 1;

		fresh(uc ? IBV_QPT_UC : IBV_QPT_RC);
		rig_recv(B, 0, 0x1000, 0x1000);
		for (uint32_t k = 0; k < t[i / 2].num; k++)
			request(t[i / 2].op[k] | (uc ? 0x20 : 0), PSN0 + k, RIG_RKEY, rig_addr(0x4000), t[i / 2].total,
				t[i / 2].len[k]);
		if (uc) {
			assert_int_equal(B->st.rs_uc_discarded, !t[i / 2].good);
			assert_int_equal(B->qp.drop_msg, !t[i / 2].good);
			assert_int_equal(B->qp.state, IBV_QPS_RTS);
		} else if (t[i / 2].good) {
			run(B);
			assert_int_equal(B->qp.msn, 1);
			assert_int_equal(B->qp.state, IBV_QPS_RTS);
		} else {
			assert_int_equal(B->st.rs_len_err, 1);
			assert_int_equal(B->st.rs_remote_invalid, 1);
			assert_int_equal(B->events[IBV_EVENT_QP_REQ_ERR], 1);
			expect_refusal(0x61, PSN0 + t[i / 2].num - 1);
		}
	}
}

/* A message has 2^31 bytes at most (9.7.2). Longer is an invalid request; of that size the memory is looked at. */
static void
longest_message(void **state)
{
	static const uint8_t op[] = {0x06, 0x0c};

	for (size_t i = 0; i < ROWS(op); i++) {
		fresh(IBV_QPT_RC);
		request(op[i], PSN0, RIG_RKEY, rig_addr(0), 0x80000001, i == 0 ? MTU : 0);
		expect_refusal(0x61, PSN0);
		fresh(IBV_QPT_RC);
		request(op[i], PSN0, RIG_RKEY, rig_addr(0), 0x80000000, i == 0 ? MTU : 0);
		expect_refusal(0x62, PSN0);
		assert_int_equal(B->st.rs_remote_access, 1);
	}
}

static void
longest_request(void **state)
{
	static const struct {
		enum ibv_wr_opcode op;
		uint32_t mtu, len;
		bool good;
	} t[] = {
		/* 2^23 - 1 packets can be told apart (9.7.2). */
		{IBV_WR_RDMA_READ, 256, 0x7fffff00, true},   {IBV_WR_RDMA_READ, 256, 0x7fffff01, false},
		{IBV_WR_RDMA_READ, 512, 0x80000000, true},   {IBV_WR_RDMA_READ, 512, 0x80000001, false},
		{IBV_WR_RDMA_WRITE, 4096, 0x80000000, true}, {IBV_WR_RDMA_WRITE, 4096, 0x80000001, false},
		{IBV_WR_SEND, 4096, 0x80000001, false},      {IBV_WR_SEND_WITH_INV, 4096, 0x80000001, false},
	};

	for (size_t i = 0; i < ROWS(t); i++) {
		struct tre_attr a = rig_attr(IBV_QPT_RC, t[i].mtu);

		teardown(NULL);
		setup(NULL);
		a.window = 1;
		rig_connect(&r, &a);
		rig_send(A, t[i].op, 1, 0, t[i].len);
		/* No list of the rig is as long. */
		A->sq[0].inline_data = A->mem;
		run(A);
		assert_int_equal(A->out.n, t[i].good);
		assert_int_equal(A->st.rq_len_err, !t[i].good);
	}
}

/* A READ takes the numbers of all its packets: a second one waits until both fit into those that can be told apart. */
static void
reads_share_the_numbers(void **state)
{
	struct tre_attr a = rig_attr(IBV_QPT_RC, MTU);

	a.window = 1u << 20;
	for (uint32_t more = 0; more < 2; more++) {
		teardown(NULL);
		setup(NULL);
		rig_connect(&r, &a);
		rig_send(A, IBV_WR_RDMA_WRITE, 1, 0, 8);
		rig_send(A, IBV_WR_RDMA_READ, 2, 0, 0x7ffffe * MTU + more);
		run(A);
		/* 2^23 - 1 numbers in all, or one more. */
		assert_int_equal(A->out.n, more == 0 ? 2 : 1);
	}
}

/* --- receive requests ---------------------------------------------------------------------------------------- */

/* A receive request that is missing: one RNR NAK, silence about what follows, and nothing of the packet is executed. */
static void
not_ready(void **state)
{
	fresh(IBV_QPT_RC);
	B->qp.a.min_rnr_timer = 12;
	request(0x0b, PSN0, RIG_RKEY, rig_addr(0x4000), 8, 8);
	send_part(0x04, PSN0 + 1, 8);
	run(B);
	expect_ack(B, 0x2c, PSN0, 0);
	expect_nothing(B);
	assert_int_equal(B->st.rs_out_of_order, 1);
	assert_int_equal(B->mem[0x4000], 0);
	/* It comes again. Behind it a gap is told as at first. */
	rig_recv(B, 0, 0x1000, 64);
	rig_recv(B, 1, 0x1000, 64);
	request(0x0b, PSN0, RIG_RKEY, rig_addr(0x4000), 8, 8);
	assert_int_equal(B->mem[0x4000], 0xf0);
	run(B);
	expect_ack(B, 0x1f, PSN0, 1);
	send_part(0x04, PSN0 + 2, 8);
	run(B);
	expect_ack(B, 0x60, PSN0 + 1, 1);
	/* So it is behind a READ. */
	request(0x0c, PSN0 + 1, RIG_RKEY, rig_addr(0), 8, 0);
	run(B);
	lose(B);
	send_part(0x04, PSN0 + 3, 8);
	run(B);
	expect_ack(B, 0x60, PSN0 + 2, 2);
}

/* What is asked for again while a NAK waits to be sent does not take its place. */
static void
nak_stays(void **state)
{
	fresh(IBV_QPT_RC);
	rig_recv(B, 0, 0x1000, 64);
	send_part(0x04, PSN0, 8);
	run(B);
	lose(B);
	send_part(0x04, PSN0 + 5, 8);
	send_part(0x04, PSN0, 8);
	run(B);
	expect_ack(B, 0x60, PSN0 + 1, 1);
	expect_nothing(B);
	assert_int_equal(B->st.rs_duplicate, 1);
}

/* Nobody answers UC and UD: without a receive request, or without memory to write to, a message is gone, and counted. */
static void
nobody_asked(void **state)
{
	uint8_t p[64] = {0};

	fresh(IBV_QPT_UC);
	send_part(0x24, PSN0, 8);
	request(0x2b, PSN0 + 1, RIG_RKEY, rig_addr(0x4000), 8, 8);
	assert_int_equal(B->st.rs_uc_discarded, 2);
	assert_int_equal(B->mem[0x4000], 0);
	request(0x2a, PSN0 + 2, RIG_RKEY, rig_addr(0x4000), 8, 8);
	assert_int_equal(B->mem[0x4000], 0xf2);
	request(0x26, PSN0 + 3, RIG_RKEY, rig_addr(0x4000), 2 * MTU, MTU);
	B->closed = true;
	request(0x28, PSN0 + 4, 0, 0, 0, MTU);
	assert_int_equal(B->st.rs_uc_discarded, 3);
	assert_true(B->qp.drop_msg);
	B->closed = false;
	request(0x2a, PSN0 + 5, BAD_KEY, rig_addr(0x4000), 8, 8);
	B->qp.a.access = IBV_ACCESS_REMOTE_READ;
	request(0x2a, PSN0 + 6, RIG_RKEY, rig_addr(0x4000), 8, 8);
	assert_int_equal(B->st.rs_uc_discarded, 5);
	assert_int_equal(B->mem[0x4000], 0xf3);
	fresh(IBV_QPT_UD);
	ib_bth_put(p, 0x64, false, 0, 0xffff, 0x101, false, PSN0);
	ib_put32(p + 12, 0x11111111);
	rig_inject(B, p, 28);
	assert_int_equal(B->st.rs_ud_discarded, 1);
	rig_recv(B, 1, 0x1000, 0x1000);
	rig_inject(B, p, 28);
	assert_int_equal(B->num_got, 1);
	assert_int_equal(B->st.rs_ud_discarded, 1);
}

/* Keys that are bad when the receive request is taken already end that request, without an event besides (9.9.3). */
static void
access_with_receive(void **state)
{
	static const struct {
		uint8_t op;
		bool in_receive;
	} t[] = {{0x17, true}, {0x0b, true}, {0x0a, false}, {0x0c, false}};

	for (size_t i = 0; i < ROWS(t); i++) {
		fresh(IBV_QPT_RC);
		rig_recv(B, 3, 0x1000, 64);
		request(t[i].op, PSN0, BAD_KEY, rig_addr(0), 4, t[i].op == 0x0c ? 0 : 4);
		assert_int_equal(B->events[IBV_EVENT_QP_ACCESS_ERR], !t[i].in_receive);
		assert_int_equal(B->st.rs_remote_access, 1);
		expect_refusal(0x62, PSN0);
		assert_int_equal(B->num_got, 1);
		assert_int_equal(B->got[0].wc.status, t[i].in_receive ? IBV_WC_LOC_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(B->st.rs_flush_err, !t[i].in_receive);
	}
}

/* --- again --------------------------------------------------------------------------------------------------- */

static void
read_at(uint32_t psn, uint32_t off, uint32_t len)
{
	request(0x0c, psn, RIG_RKEY, rig_addr(off), len, 0);
}

/* Of a READ that comes again, the same or the rest of it is answered; what differs stays without an answer. */
static void
reads_that_differ(void **state)
{
	static const struct {
		uint32_t psn, rkey, off, len;
		int first; /* the packet that answers first; -1: none */
	} t[] = {
		{0, RIG_RKEY, 0x100, 600, 0x0d},   {1, RIG_RKEY, 0x200, 344, 0x0d}, {2, RIG_RKEY, 0x300, 88, 0x10},
		{0, RIG_RKEY, 0x101, 600, -1},     {0, RIG_RKEY, 0x100, 599, -1},   {0, RIG_RKEY + 1, 0x100, 600, -1},
		{1, RIG_RKEY, 0x100, 344, -1},     {1, RIG_RKEY, 0x200, 600, -1},   {3, RIG_RKEY, 0x400, 0, -1},
		{0xfffff, RIG_RKEY, 0x100, 8, -1},
	};
	uint8_t p[RIG_PACKET];

	for (size_t i = 0; i < ROWS(t); i++) {
		fresh(IBV_QPT_RC);
		rig_recv(B, 0, 0x1000, 64);
		read_at(PSN0, 0x100, 600);
		send_part(0x04, PSN0 + 3, 8);
		run(B);
		while (B->out.n != 0)
			lose(B);
		request(0x0c, (PSN0 + t[i].psn) & 0xffffff, t[i].rkey, rig_addr(t[i].off), t[i].len, 0);
		run(B);
		if (t[i].psn == 0xfffff) {
			/* Far ahead it is no duplicate at all. */
			expect_ack(B, 0x60, PSN0 + 4, 2);
		} else if (t[i].first < 0) {
			expect_nothing(B);
			assert_int_equal(B->st.rs_duplicate, 1);
		} else {
			expect_packet(B, (uint8_t)t[i].first, PSN0 + t[i].psn, p);
			assert_int_equal(B->out.n, 2 - t[i].psn);
		}
		assert_int_equal(B->qp.msn, 2);
	}
}

/* So many answers are kept as READs may be outstanding; older requests are forgotten. */
static void
answers_kept(void **state)
{
	uint8_t p[RIG_PACKET];

	for (uint32_t n = 1; n <= 6; n++) {
		fresh(IBV_QPT_RC);
		for (uint32_t i = 0; i < n; i++) {
			read_at(PSN0 + i, 8 * i, 8);
			run(B);
			lose(B);
		}
		for (uint32_t i = 0; i < n; i++) {
			read_at(PSN0 + i, 8 * i, 8);
			run(B);
			/* Four in the rig. */
			if (i + 4 < n)
				expect_nothing(B);
			else
				expect_packet(B, 0x10, PSN0 + i, p);
		}
	}
	/* A number before all that was asked for. */
	fresh(IBV_QPT_RC);
	read_at(PSN0, 0, 8);
	run(B);
	lose(B);
	read_at(PSN0 - 1, 0, 8);
	run(B);
	expect_nothing(B);
}

/* Of atomics and READs, each is answered again as what it was. */
static void
kinds_again(void **state)
{
	uint8_t p[RIG_PACKET];
	uint64_t v;

	fresh(IBV_QPT_RC);
	request(0x14, PSN0, RIG_RKEY, rig_addr(0x40), 8, 0);
	read_at(PSN0 + 1, 0x40, 8);
	run(B);
	lose(B);
	lose(B);
	memcpy(&v, B->mem + 0x40, 8);
	/* A READ with the atomic's number, an atomic with the READ's, an atomic with none's. */
	read_at(PSN0, 0x40, 8);
	request(0x14, PSN0 + 1, RIG_RKEY, rig_addr(0x40), 8, 0);
	request(0x14, PSN0 - 1, RIG_RKEY, rig_addr(0x40), 8, 0);
	run(B);
	expect_nothing(B);
	/* Twice before it could be answered is once. */
	request(0x14, PSN0, RIG_RKEY, rig_addr(0x40), 8, 0);
	request(0x14, PSN0, RIG_RKEY, rig_addr(0x40), 8, 0);
	run(B);
	expect_packet(B, 0x12, PSN0, p);
	expect_nothing(B);
	assert_memory_equal(B->mem + 0x40, &v, 8);
	assert_int_equal(B->st.rs_duplicate, 5);
}

/* Who asks for something new has received what was repeated: the new request takes the place of the repetition. */
static void
new_takes_place(void **state)
{
	uint8_t p[RIG_PACKET];

	for (uint32_t moved = 0; moved < 2; moved++) {
		fresh(IBV_QPT_RC);
		B->qp.a.max_dest_rd_atomic = 3;
		for (uint32_t i = 0; i < 3 + moved; i++) {
			read_at(PSN0 + i, 8 * i, 8);
			run(B);
			lose(B);
		}
		/* In no order; sent by their numbers. */
		for (uint32_t i = 3; i-- > 0;)
			read_at(PSN0 + moved + i, 8 * (moved + i), 8);
		assert_int_equal(B->qp.num_due, 3);
		read_at(PSN0 + 3 + moved, 0x80, 8);
		run(B);
		for (uint32_t i = 1; i < 4; i++)
			expect_packet(B, 0x10, PSN0 + moved + i, p);
		expect_nothing(B);
		assert_int_equal(B->qp.state, IBV_QPS_RTS);
	}
}

/* An ACK for what came behind a READ is sent behind the READ's answer; an ACK for what came before it is not sent at all. */
static void
ack_behind_read(void **state)
{
	uint8_t p[RIG_PACKET];

	fresh(IBV_QPT_RC);
	read_at(PSN0, 0, 8);
	run(B);
	lose(B);
	request(0x0a, PSN0 + 1, RIG_RKEY, rig_addr(0), 8, 8);
	read_at(PSN0, 0, 8);
	/* One packet a turn: the answer first. */
	assert_int_equal(tre_run(&B->qp, 1, r.now), 1);
	expect_packet(B, 0x10, PSN0, p);
	assert_true(tre_busy(&B->qp));
	assert_int_equal(tre_run(&B->qp, 1, r.now), 1);
	expect_ack(B, 0x1f, PSN0 + 1, 2);
	assert_int_equal(tre_run(&B->qp, 1, r.now), 0);
	assert_false(tre_busy(&B->qp));
}

/* A full wire takes nothing from anybody: everything goes when there is room. */
static void
full_wire(void **state)
{
	uint8_t p[RIG_PACKET];

	fresh(IBV_QPT_RC);
	B->out.full = true;
	read_at(PSN0, 0, 300);
	request(0x14, PSN0 + 2, RIG_RKEY, rig_addr(0x40), 8, 0);
	request(0x0a, PSN0 + 3, RIG_RKEY, rig_addr(0), 8, 8);
	run(B);
	B->out.full = false;
	assert_int_equal(tre_run(&B->qp, 1, r.now), 1);
	expect_packet(B, 0x0d, PSN0, p);
	B->out.full = true;
	assert_int_equal(tre_run(&B->qp, 5, r.now), 0);
	B->out.full = false;
	run(B);
	expect_packet(B, 0x0f, PSN0 + 1, p);
	expect_packet(B, 0x12, PSN0 + 2, p);
	expect_ack(B, 0x1f, PSN0 + 3, 3);
	/* An ACK, too. */
	B->out.full = true;
	request(0x0a, PSN0 + 4, RIG_RKEY, rig_addr(0), 8, 8);
	run(B);
	B->out.full = false;
	run(B);
	expect_ack(B, 0x1f, PSN0 + 4, 4);
	assert_int_equal(B->st.tx_packets, 5);
	assert_int_equal(B->st.tx_bytes, 300);
}

/* The key was good when the READ came, and is taken away while the answer is sent. */
static void
key_goes_away(void **state)
{
	fresh(IBV_QPT_RC);
	read_at(PSN0, 0, 600);
	read_at(PSN0 + 3, 0, 8);
	assert_int_equal(tre_run(&B->qp, 1, r.now), 1);
	B->closed = true;
	run(B);
	assert_int_equal(B->out.n, 2);
	assert_int_equal(B->events[IBV_EVENT_QP_ACCESS_ERR], 1);
	assert_int_equal(B->st.rs_remote_access, 1);
	expect_refusal(0x62, PSN0 + 1);
	/* So it may be of a WRITE under way. */
	fresh(IBV_QPT_RC);
	request(0x06, PSN0, RIG_RKEY, rig_addr(0), 2 * MTU, MTU);
	B->closed = true;
	request(0x08, PSN0 + 1, 0, 0, 0, MTU);
	assert_int_equal(B->events[IBV_EVENT_QP_ACCESS_ERR], 1);
	expect_refusal(0x62, PSN0 + 1);
}

static void
no_depth(void **state)
{
	for (uint8_t op = 0x0c; op <= 0x14; op += 8) {
		fresh(IBV_QPT_RC);
		B->qp.a.max_dest_rd_atomic = 0;
		request(op, PSN0, RIG_RKEY, rig_addr(0), 8, 0);
		assert_int_equal(B->st.rs_remote_invalid, 1);
		expect_refusal(0x61, PSN0);
		/* Nothing is taken any more. */
		request(0x0a, PSN0, RIG_RKEY, rig_addr(0), 8, 8);
		assert_int_equal(B->qp.msn, 0);
	}
}

/* Message numbers have 24 bits. */
static void
messages_wrap(void **state)
{
	fresh(IBV_QPT_RC);
	B->qp.msn = 0xfffffe;
	request(0x0a, PSN0, RIG_RKEY, rig_addr(0), 8, 8);
	run(B);
	expect_ack(B, 0x1f, PSN0, 0xffffff);
	request(0x0a, PSN0 + 1, RIG_RKEY, rig_addr(0), 8, 8);
	run(B);
	expect_ack(B, 0x1f, PSN0 + 1, 0);
	B->qp.msn = 0xffffff;
	read_at(PSN0 + 2, 0, 8);
	run(B);
	assert_int_equal(ib_get24(B->out.p[0]->d + 13), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(lengths),           T(longest_message), T(longest_request), T(reads_share_the_numbers),
		T(not_ready),         T(nak_stays),       T(nobody_asked),    T(access_with_receive),
		T(reads_that_differ), T(answers_kept),    T(kinds_again),     T(new_takes_place),
		T(ack_behind_read),   T(full_wire),       T(key_goes_away),   T(no_depth),
		T(messages_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
