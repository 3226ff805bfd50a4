/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Packets of the engine byte by byte, as IBTA 1.4 draws them (5.2.2 headers, table 38 opcodes, 9.3 extended headers), what a
 * receive completion says of such packets, and the codes of tables 45 and 46.
 */
#include "steps.h"

#define ROWS(t) (sizeof(t) / sizeof((t)[0]))
/* What a base header of A says behind its first two bytes when it asks for an ACK, and when it does not. */
#define TO_B "ffff 00 000101 80 fffff0"
#define QUIET "ffff 00 000101 00 fffff0"
#define TO_A "ffff 00 000100 00 fffff0"
#define RETH "1112131415161718 21222324 "

static uint32_t
bytes(const char *hex, uint8_t *out)
{
	uint32_t n = 0, digits = 0;

	for (; *hex != '\0'; hex++) {
		if (*hex == ' ')
			continue;
		out[n] = (uint8_t)(out[n] << 4 | (*hex <= '9' ? *hex - '0' : *hex - 'a' + 10));
		n += ++digits % 2 == 0;
	}
	return n;
}

/* The next packet of a side: these headers, this much of its memory, zero bytes up to a multiple of four. */
static void
expect_bytes(struct rig_side *s, const char *hex, const uint8_t *payload, uint32_t len)
{
	static const uint8_t zero[4];
	uint8_t p[RIG_PACKET], want[64];
	uint32_t n, head = bytes(hex, want);

	assert_true(rig_capture(&s->out, p, &n));
	assert_int_equal(n, head + (len + 3) / 4 * 4);
	assert_memory_equal(p, want, head);
	assert_memory_equal(p + head, payload, len);
	assert_memory_equal(p + head + len, zero, n - head - len);
}

static void
fill(struct rig_side *s)
{
	for (uint32_t i = 0; i < 4096; i++)
		s->mem[i] = (uint8_t)(i * 7 + i / 256);
}

static struct tre_wqe *
ask(enum ibv_wr_opcode op, uint32_t len, unsigned int flags)
{
	struct tre_wqe *w = rig_send(A, op, 1, 0, len);

	w->flags = (uint8_t)flags;
	w->remote = 0x1112131415161718;
	w->rkey = 0x21222324;
	w->imm = 0x31323334;
	w->compare_add = 0x4142434445464748;
	w->swap = 0x5152535455565758;
	w->ud_qpn = 0x99;
	w->ud_qkey = 0x61626364;
	return w;
}

static void
again_as(enum ibv_qp_type type)
{
	struct tre_attr a = rig_attr(type, 256);

	teardown(NULL);
	setup(NULL);
	rig_connect(&r, &a);
	fill(A);
	fill(B);
}

static void
requests_of_one_packet(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		enum ibv_wr_opcode op;
		uint32_t flags, len, payload;
		const char *hex;
	} t[] = {
		{IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_SOLICITED, 5, 5, "04 f0" TO_B},
		{IBV_QPT_RC, IBV_WR_SEND, 0, 6, 6, "04 60" TO_B},
		{IBV_QPT_RC, IBV_WR_SEND, 0, 0, 0, "04 40" TO_B},
		{IBV_QPT_RC, IBV_WR_SEND_WITH_IMM, 0, 256, 256, "05 40" TO_B "31323334"},
		{IBV_QPT_RC, IBV_WR_SEND_WITH_INV, 0, 8, 8, "17 40" TO_B "31323334"},
		{IBV_QPT_RC, IBV_WR_RDMA_WRITE, 0, 7, 7, "0a 50" TO_B RETH "00000007"},
		{IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 8, 8, "0b 40" TO_B RETH "00000008 31323334"},
		{IBV_QPT_RC, IBV_WR_RDMA_READ, 0, 600, 0, "0c 40" TO_B RETH "00000258"},
		{IBV_QPT_RC, IBV_WR_RDMA_READ, IBV_SEND_SOLICITED, 8, 0, "0c c0" TO_B RETH "00000008"},
		{IBV_QPT_RC, IBV_WR_ATOMIC_CMP_AND_SWP, 0, 8, 0, "13 40" TO_B RETH "5152535455565758 4142434445464748"},
		{IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_SEND_SOLICITED, 8, 0,
		 "14 c0" TO_B RETH "4142434445464748 0000000000000000"},
		{IBV_QPT_UC, IBV_WR_SEND, 0, 8, 8, "24 40" QUIET},
		{IBV_QPT_UC, IBV_WR_SEND_WITH_IMM, IBV_SEND_SOLICITED, 8, 8, "25 c0" QUIET "31323334"},
		{IBV_QPT_UC, IBV_WR_RDMA_WRITE, 0, 8, 8, "2a 40" QUIET RETH "00000008"},
		{IBV_QPT_UC, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 8, 8, "2b 40" QUIET RETH "00000008 31323334"},
		{IBV_QPT_UD, IBV_WR_SEND, IBV_SEND_SOLICITED, 3, 3,
		 "64 d0 ffff 00 000099 00 fffff0 61626364 00 000100"},
		{IBV_QPT_UD, IBV_WR_SEND_WITH_IMM, 0, 256, 256,
		 "65 40 ffff 00 000099 00 fffff0 61626364 00 000100 31323334"},
	};

	for (size_t i = 0; i < ROWS(t); i++) {
		again_as(t[i].type);
		ask(t[i].op, t[i].len, t[i].flags);
		run(A);
		expect_bytes(A, t[i].hex, A->mem, t[i].payload);
		expect_nothing(A);
		/* Nobody answers UC and UD: what was sent is done. */
		assert_int_equal(A->num_done, t[i].type == IBV_QPT_RC ? 0 : 1);
		assert_int_equal(A->st.tx_packets, 1);
		assert_int_equal(A->st.tx_bytes, t[i].payload);
	}
}

/* First, middle and last packet of a message: opcodes, where the headers are, who asks for an ACK and for an event. */
static void
requests_of_three_packets(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		enum ibv_wr_opcode op;
		const char *first, *middle, *last;
	} t[] = {
		{IBV_QPT_RC, IBV_WR_SEND, "00 40" TO_B, "01 40 ffff 00 000101 00 fffff1",
		 "02 c0 ffff 00 000101 80 fffff2"},
		{IBV_QPT_RC, IBV_WR_SEND_WITH_IMM, "00 40" TO_B, "01 40 ffff 00 000101 00 fffff1",
		 "03 c0 ffff 00 000101 80 fffff2 31323334"},
		{IBV_QPT_RC, IBV_WR_SEND_WITH_INV, "00 40" TO_B, "01 40 ffff 00 000101 00 fffff1",
		 "16 c0 ffff 00 000101 80 fffff2 31323334"},
		{IBV_QPT_RC, IBV_WR_RDMA_WRITE, "06 40" TO_B RETH "00000258", "07 40 ffff 00 000101 00 fffff1",
		 "08 c0 ffff 00 000101 80 fffff2"},
		{IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM, "06 40" TO_B RETH "00000258", "07 40 ffff 00 000101 00 fffff1",
		 "09 c0 ffff 00 000101 80 fffff2 31323334"},
		{IBV_QPT_UC, IBV_WR_SEND, "20 40" QUIET, "21 40 ffff 00 000101 00 fffff1",
		 "22 c0 ffff 00 000101 00 fffff2"},
		{IBV_QPT_UC, IBV_WR_RDMA_WRITE_WITH_IMM, "26 40" QUIET RETH "00000258",
		 "27 40 ffff 00 000101 00 fffff1", "29 c0 ffff 00 000101 00 fffff2 31323334"},
	};
	uint8_t other[600];

	for (size_t i = 0; i < ROWS(t) * 2; i++) {
		bool inlined = i % 2 == 1;
		const uint8_t *from = inlined ? other : A->mem;
		struct tre_wqe *w;

		again_as(t[i / 2].type);
		from = inlined ? other : A->mem;
		for (uint32_t k = 0; k < sizeof(other); k++)
			other[k] = (uint8_t)(k * 3 + k / 256);
		w = ask(t[i / 2].op, 600, IBV_SEND_SOLICITED);
		if (inlined)
			w->inline_data = other;
		run(A);
		/* Numbers that are a multiple of a quarter of the window ask for an ACK on the way: fffff0 is one of 16. */
		expect_bytes(A, t[i / 2].first, from, 256);
		expect_bytes(A, t[i / 2].middle, from + 256, 256);
		expect_bytes(A, t[i / 2].last, from + 512, 88);
		expect_nothing(A);
	}
}

/* A message that ends at the border of a packet has no empty one behind it. */
static void
whole_packets(void **state)
{
	again_as(IBV_QPT_RC);
	ask(IBV_WR_SEND, 512, 0);
	run(A);
	expect_bytes(A, "00 40" TO_B, A->mem, 256);
	expect_bytes(A, "02 40 ffff 00 000101 80 fffff1", A->mem + 256, 256);
	expect_nothing(A);
}

static void
window(void **state)
{
	static const struct {
		uint32_t window, packets;
		const char *asks; /* which of the first packets ask for an ACK */
	} t[] = {
		{8, 8, "10101010"}, {12, 12, "100100100100"}, {7, 7, "1111111"}, {3, 3, "111"}, {1, 1, "1"},
	};
	uint8_t p[RIG_PACKET];

	for (size_t i = 0; i < ROWS(t); i++) {
		struct tre_attr a = rig_attr(IBV_QPT_RC, 256);

		teardown(NULL);
		setup(NULL);
		a.window = t[i].window;
		rig_connect(&r, &a);
		rig_send(A, IBV_WR_RDMA_WRITE, 1, 0, 256 * 20)->remote = rig_addr(0);
		assert_true(tre_busy(&A->qp));
		run(A);
		/* As many as the window has are on their way; nothing else can go. */
		assert_int_equal(A->out.n, t[i].packets);
		assert_false(tre_busy(&A->qp));
		for (uint32_t k = 0; k < t[i].packets; k++) {
			/* fffff0 is a multiple of 2, of 4 and of 3. */
			expect_packet(A, k == 0 ? 0x06 : 0x07, PSN0 + k, p);
			assert_int_equal(p[8], t[i].asks[k] == '1' ? 0x80 : 0);
		}
		/* An ACK makes room for one more. */
		ib_bth_put(p, 0x11, false, 0, 0xffff, 0x100, false, PSN0);
		ib_put32(p + 12, 0x1f000000);
		rig_inject(A, p, 16);
		assert_true(tre_busy(&A->qp));
		run(A);
		assert_int_equal(A->out.n, 1);
	}
}

/* --- answers ------------------------------------------------------------------------------------------------ */

static void
inject_hex(struct rig_side *s, const char *hex)
{
	uint8_t p[RIG_PACKET];

	rig_inject(s, p, bytes(hex, p));
}

static void
acknowledge(void **state)
{
	again_as(IBV_QPT_RC);
	rig_recv(B, 0, 0x2000, 64);
	rig_recv(B, 1, 0x2100, 64);
	inject_hex(B, "04 40" TO_B "a1a2a3a4");
	run(B);
	expect_bytes(B, "11 40" TO_A "1f 000001", NULL, 0);
	/* Nobody asked for this one. */
	inject_hex(B, "04 40 ffff 00 000101 00 fffff1 a1a2a3a4");
	run(B);
	expect_nothing(B);
	assert_int_equal(B->num_got, 2);
	assert_int_equal(B->st.rx_packets, 2);
	assert_int_equal(B->st.rx_bytes, 8);
}

static void
read_responses(void **state)
{
	again_as(IBV_QPT_RC);
	inject_hex(B, "0c 40" TO_B "00007f0000000000 00002200 00000258");
	inject_hex(B, "0c 40 ffff 00 000101 80 fffff3 00007f0000000001 00002200 00000005");
	inject_hex(B, "0c 40 ffff 00 000101 80 fffff4 0000000000000000 00000000 00000000");
	run(B);
	expect_bytes(B, "0d 40" TO_A "1f 000001", B->mem, 256);
	expect_bytes(B, "0e 40 ffff 00 000100 00 fffff1", B->mem + 256, 256);
	expect_bytes(B, "0f 40 ffff 00 000100 00 fffff2 1f 000001", B->mem + 512, 88);
	expect_bytes(B, "10 70 ffff 00 000100 00 fffff3 1f 000002", B->mem + 1, 5);
	/* Of nothing, neither address nor key are looked at (9.7.4.1.5). */
	expect_bytes(B, "10 40 ffff 00 000100 00 fffff4 1f 000003", B->mem, 0);
	expect_nothing(B);
}

static void
atomic_responses(void **state)
{
	static const uint64_t was = 0x0102030405060708;
	uint64_t v;

	again_as(IBV_QPT_RC);
	memcpy(B->mem + 8, &was, 8);
	/* One that compares and finds something else, one that finds it, one that adds. */
	inject_hex(B, "13 40" TO_B "00007f0000000008 00002200 1111111111111111 0102030405060709");
	run(B);
	expect_bytes(B, "12 40" TO_A "1f 000001 0102030405060708", NULL, 0);
	inject_hex(B, "13 40 ffff 00 000101 80 fffff1 00007f0000000008 00002200 1111111111111111 0102030405060708");
	inject_hex(B, "14 40 ffff 00 000101 80 fffff2 00007f0000000008 00002200 2222222222222222 ffffffffffffffff");
	run(B);
	expect_bytes(B, "12 40 ffff 00 000100 00 fffff1 1f 000002 0102030405060708", NULL, 0);
	expect_bytes(B, "12 40 ffff 00 000100 00 fffff2 1f 000003 1111111111111111", NULL, 0);
	memcpy(&v, B->mem + 8, 8);
	assert_true(v == 0x3333333333333333);
}

/* What a completion says of a message that a receive request took. */
static void
receive_completions(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		const char *hex;
		struct tre_recv wc;
	} t[] = {
		{IBV_QPT_RC,
		 "04 f0" TO_B "a1000000",
		 {.opcode = IBV_WC_RECV, .len = 1, .src_qpn = 0x100, .solicited = true}},
		{IBV_QPT_RC,
		 "05 40" TO_B "31323334 a1a2a3a4",
		 {.opcode = IBV_WC_RECV, .len = 4, .src_qpn = 0x100, .has_imm = true, .imm = 0x31323334}},
		{IBV_QPT_RC,
		 "17 40" TO_B "00002200 a1a2a3a4",
		 {.opcode = IBV_WC_RECV, .len = 4, .src_qpn = 0x100, .invalidated = true, .imm = 0x2200}},
		{IBV_QPT_RC,
		 "0b 40" TO_B "00007f0000000000 00002200 00000004 31323334 a1a2a3a4",
		 {.opcode = IBV_WC_RECV_RDMA_WITH_IMM, .len = 4, .src_qpn = 0x100, .has_imm = true, .imm = 0x31323334}},
		{IBV_QPT_UC, "24 40" QUIET "a1a2a3a4", {.opcode = IBV_WC_RECV, .len = 4, .src_qpn = 0x100}},
		{IBV_QPT_UC,
		 "25 c0" QUIET "31323334",
		 {.opcode = IBV_WC_RECV, .src_qpn = 0x100, .has_imm = true, .imm = 0x31323334, .solicited = true}},
		{IBV_QPT_UC,
		 "2b 40" QUIET "00007f0000000000 00002200 00000004 31323334 a1a2a3a4",
		 {.opcode = IBV_WC_RECV_RDMA_WITH_IMM, .len = 4, .src_qpn = 0x100, .has_imm = true, .imm = 0x31323334}},
		{IBV_QPT_UD,
		 "64 50" QUIET "11111111 00 abcdef a1a2a300",
		 {.opcode = IBV_WC_RECV, .len = 43, .src_qpn = 0xabcdef}},
		{IBV_QPT_UD,
		 "65 c0" QUIET "11111111 00 abcdef 31323334",
		 {.opcode = IBV_WC_RECV,
		  .len = 40,
		  .src_qpn = 0xabcdef,
		  .has_imm = true,
		  .imm = 0x31323334,
		  .solicited = true}},
	};

	for (size_t i = 0; i < ROWS(t); i++) {
		const struct tre_recv *wc;

		again_as(t[i].type);
		rig_recv(B, 77, 0x2000, 64);
		inject_hex(B, t[i].hex);
		assert_int_equal(B->num_got, 1);
		assert_int_equal(B->got[0].id, 77);
		wc = &B->got[0].wc;
		assert_int_equal(wc->status, IBV_WC_SUCCESS);
		assert_int_equal(wc->opcode, t[i].wc.opcode);
		assert_int_equal(wc->len, t[i].wc.len);
		assert_int_equal(wc->imm, t[i].wc.imm);
		assert_int_equal(wc->src_qpn, t[i].wc.src_qpn);
		assert_int_equal(wc->has_imm, t[i].wc.has_imm);
		assert_int_equal(wc->invalidated, t[i].wc.invalidated);
		assert_int_equal(wc->solicited, t[i].wc.solicited);
		assert_false(wc->grh);
	}
}

/* --- codes --------------------------------------------------------------------------------------------------- */

static void
codes_of_times(void **state)
{
	/* Table 45, in units of 10 us. */
	static const uint32_t rnr[32] = {65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
					 48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
					 2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
	uint64_t ns = 4096;

	for (uint32_t i = 0; i < 32; i++) {
		assert_int_equal(tre_rnr_ns((uint8_t)i), rnr[i] * UINT64_C(10000));
		/* Five bits in an AETH; the others say what it is. */
		assert_int_equal(tre_rnr_ns((uint8_t)(0x20 | i)), rnr[i] * UINT64_C(10000));
	}
	assert_true(tre_timeout_ns(0) == TRE_NEVER && tre_timeout_ns(32) == TRE_NEVER);
	for (uint32_t i = 1; i < 32; i++) {
		ns *= 2;
		assert_true(tre_timeout_ns((uint8_t)i) == ns && tre_timeout_ns((uint8_t)(i + 32)) == ns);
	}
}

static void
codes_of_credits(void **state)
{
	/* Table 46. */
	static const uint32_t count[31] = {0,    1,    2,    3,    4,    6,     8,     12,    16,   24,   32,
					   48,   64,   96,   128,  192,  256,   384,   512,   768,  1024, 1536,
					   2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

	for (uint32_t i = 0; i < 31; i++) {
		assert_int_equal(tre_credit_count((uint8_t)i), count[i]);
		assert_int_equal(tre_credit_code(count[i]), i);
		if (i != 0)
			assert_int_equal(tre_credit_code(count[i] - 1), i - 1);
	}
	assert_int_equal(tre_credit_code(65535), 30);
	assert_int_equal(tre_credit_code(65536), 30);
	assert_int_equal(tre_credit_code(UINT32_MAX - 1), 30);
	assert_true(tre_credit_count(31) == UINT32_MAX);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(requests_of_one_packet),
		T(requests_of_three_packets),
		T(whole_packets),
		T(window),
		T(acknowledge),
		T(read_responses),
		T(atomic_responses),
		T(receive_completions),
		T(codes_of_times),
		T(codes_of_credits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
