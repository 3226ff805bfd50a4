/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Rings of other processes. Requests and completions are written octet by octet, as the reference of the card's data path has
 * them (its sections in brackets), not by the driver's code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/roce/ring/ring.h"

#define ENTRIES 4u
#define SGES 3u
#define INLINE 150u

static uint8_t ring[ENTRIES * 256];
static struct troce_ring_sq sq;
static struct tre_wqe w;
static struct troce_ring_more more;
static uint8_t data[256] __attribute__((aligned(16)));

/* Octets in hexadecimal from an offset on, blanks between them as wanted. */
static void
put(uint32_t off, const char *hex)
{
	unsigned int v;

	for (; *hex != '\0'; hex++) {
		if (*hex == ' ')
			continue;
		assert_int_equal(sscanf(hex, "%2x", &v), 1);
		ring[off++] = (uint8_t)v;
		hex++;
	}
}

static void
fresh(enum ibv_qp_type type)
{
	memset(ring, 0, sizeof(ring));
	memset(data, 0xee, sizeof(data));
	sq = (struct troce_ring_sq){
		.base = ring, .mask = ENTRIES - 1, .lg_stride = 8, .type = type, .max_sge = SGES, .max_inline = INLINE};
}

static bool
read_at(uint32_t at)
{
	return troce_ring_send(&sq, at, &w, data, &more);
}

/* [4.2] The bit changes with each pass, and a ring is made with all of them set. */
static void
owner_bits(void **state)
{
	fresh(IBV_QPT_RC);
	for (uint32_t i = 0; i < ENTRIES; i++)
		put(i * 256, "ff ff ff ff");
	for (uint32_t i = 0; i < ENTRIES; i++) {
		assert_false(troce_ring_send_ready(&sq, i));
		put(i * 256, "00 00 00 0a");
		assert_true(troce_ring_send_ready(&sq, i));
		assert_false(troce_ring_send_ready(&sq, i + ENTRIES));
		put(i * 256, "80 00 00 0a");
		assert_true(troce_ring_send_ready(&sq, i + ENTRIES));
	}
	/* The counter goes on for ever. */
	assert_true(troce_ring_send_ready(&sq, UINT32_MAX - 3));
}

/* [3.1, 3.6] */
static void
send_list(void **state)
{
	fresh(IBV_QPT_RC);
	put(256, "0000000b 00000044 0000000e 12345678"); /* fence, completion, solicited, immediate */
	put(272, "00000010 0000aa01 1122334455667788");
	put(288, "80000000 00000000 0000000000000000"); /* an element of nothing */
	put(304, "00000005 0000aa02 00000000000000ff");
	/* What has data inline, if only nothing of it, has no list behind it. */
	assert_false(read_at(1));
	put(257 + 6, "43");
	put(288, "00000005 0000aa02 00000000000000ff");
	assert_true(read_at(1));
	assert_int_equal(w.opcode, IBV_WR_SEND_WITH_IMM);
	assert_int_equal(w.flags, IBV_SEND_FENCE | IBV_SEND_SOLICITED);
	assert_int_equal(w.imm, 0x12345678);
	assert_true(more.signaled);
	assert_int_equal(w.num_sge, 2);
	assert_int_equal(w.len, 21);
	assert_int_equal(w.sge[0].addr, 0x1122334455667788);
	assert_int_equal(w.sge[0].len, 16);
	assert_int_equal(w.sge[0].lkey, 0xaa01);
	assert_int_equal(w.sge[1].addr, 0xff);
	assert_null(w.inline_data);
	/* Completions 1 and 2 are not used, and are none. */
	put(256 + 11, "04");
	assert_true(read_at(1));
	assert_false(more.signaled);
	assert_int_equal(w.flags, IBV_SEND_FENCE);
}

/* [3.7] 44 octets in the first block, 60 in the next, each piece with a length of its own. */
static void
send_inline(void **state)
{
	fresh(IBV_QPT_UC);
	put(0, "0000000a 0000000b 00000000 00000000");
	put(16, "8000002c");
	put(64, "8000003c");
	put(128, "80000007");
	for (unsigned int i = 0; i < 111; i++)
		ring[i < 44 ? 20 + i : i < 104 ? 68 + i - 44 : 132 + i - 104] = (uint8_t)i;
	ring[7] = 9;
	assert_true(read_at(0));
	assert_int_equal(w.len, 111);
	assert_int_equal(w.num_sge, 0);
	for (unsigned int i = 0; i < 111; i++)
		assert_int_equal(w.inline_data[i], i);
	/* A length of nothing at the end changes nothing; more than there may be is refused, as what crosses a block is. */
	put(144, "80000000");
	ring[7] = 10;
	assert_true(read_at(0));
	assert_int_equal(w.len, 111);
	put(128, "8000002f");
	ring[7] = 12;
	assert_false(read_at(0));
	put(128, "80000007");
	put(16, "8000002d");
	assert_false(read_at(0));
	/* It ends behind the request. */
	put(16, "8000002c");
	put(128, "80000010");
	ring[7] = 9;
	assert_false(read_at(0));
	for (unsigned int i = INLINE; i < sizeof(data); i++)
		assert_int_equal(data[i], 0xee);
}

/* [3.8, 3.9] */
static void
remote(void **state)
{
	fresh(IBV_QPT_RC);
	put(0, "00000010 00000003 0000000c 00000000 0102030405060708 0000bb07 00000000 00000008 000000cc "
	       "00000000deadbeef");
	assert_true(read_at(0));
	assert_int_equal(w.opcode, IBV_WR_RDMA_READ);
	assert_int_equal(w.remote, 0x0102030405060708);
	assert_int_equal(w.rkey, 0xbb07);
	assert_int_equal(w.len, 8);
	put(0, "00000011 00000004");
	put(32, "00000000000000aa 00000000000000bb 00000008 000000cc 00000000deadbeef");
	assert_true(read_at(0));
	assert_int_equal(w.opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
	assert_int_equal(more.done, IBV_WC_COMP_SWAP);
	assert_int_equal(w.swap, 0xaa);
	assert_int_equal(w.compare_add, 0xbb);
	put(3, "12");
	assert_true(read_at(0));
	assert_int_equal(w.opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
	assert_int_equal(w.compare_add, 0xaa);
	/* What is read has a place to go. */
	put(0, "00000010 00000003");
	put(32, "80000004 11223344");
	assert_false(read_at(0));
	/* And only a connection that is reliable may ask. */
	put(32, "00000008 000000cc 00000000deadbeef");
	assert_true(read_at(0));
	sq.type = IBV_QPT_UC;
	assert_false(read_at(0));
	put(3, "08");
	assert_true(read_at(0));
	assert_int_equal(w.opcode, IBV_WR_RDMA_WRITE);
	sq.type = IBV_QPT_UD;
	assert_false(read_at(0));
}

/* [3.3] */
static void
datagram(void **state)
{
	fresh(IBV_QPT_UD);
	put(0, "0000000a 00000005 0000000c 00000000");
	put(16, "03000000 00800000 00 05 00 40 00000000 00000000000000000000ffffc0000201");
	put(48, "00abcdef 11111111 ffff 020000000007");
	put(64, "00000004 000000dd 0000000000001000");
	assert_true(read_at(0));
	assert_int_equal(w.ud_qpn, 0xabcdef);
	assert_int_equal(w.ud_qkey, 0x11111111);
	assert_memory_equal(more.dgram, ring + 16, 48);
	assert_int_equal(w.len, 4);
	/* The address is not all there. */
	ring[7] = 3;
	assert_false(read_at(0));
}

/* [3.10, 3.12] */
static void
keys(void **state)
{
	fresh(IBV_QPT_RC);
	put(0, "00000018 00000003 0000008c 00000000 60000000 80000000 00001201 00003402 0000000000004000 "
	       "0000000000000100");
	assert_true(read_at(0));
	assert_int_equal(w.opcode, TRE_WR_LOCAL);
	assert_int_equal(more.opcode, IBV_WR_BIND_MW);
	assert_int_equal(w.rkey, 0x1201);
	assert_int_equal(more.lkey, 0x3402);
	assert_null(more.bind.mr);
	assert_int_equal(more.bind.addr, 0x4000);
	assert_int_equal(more.bind.length, 0x100);
	assert_int_equal(more.bind.mw_access_flags, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	put(0, "0000001b 00000003 0000008c 00000000 00000000 00000000 00005603 00000000");
	assert_true(read_at(0));
	assert_int_equal(w.opcode, TRE_WR_LOCAL);
	assert_int_equal(more.opcode, IBV_WR_LOCAL_INV);
	assert_int_equal(w.imm, 0x5603);
	sq.type = IBV_QPT_UD;
	assert_false(read_at(0));
}

/* Opcodes and sizes that are none; whatever is there, what lies behind what it may have is not touched. */
static void
rubbish(void **state)
{
	static const uint8_t known[] = {0x01, 0x08, 0x09, 0x0a, 0x0b, 0x10, 0x11, 0x12, 0x18, 0x1b};
	unsigned int good = 0;

	for (unsigned int op = 0; op < 32; op++) {
		fresh(IBV_QPT_RC);
		put(0, "00000000 00000006 0000000c 00000000");
		ring[3] = (uint8_t)op;
		/* Elements of one octet suit every segment. */
		for (unsigned int i = 16; i < 96; i += 16)
			put(i, "00000001 00000001 0000000000000001");
		ring[7] = op == 0x01 || op == 0x0a || op == 0x0b ? 4 : op == 0x11 || op == 0x12 ? 6 : 5;
		assert_int_equal(read_at(0), memchr(known, (int)op, sizeof(known)) != NULL);
		ring[7] = 0;
		assert_false(read_at(0));
		ring[7] = 17; /* longer than its place */
		assert_false(read_at(0));
	}
	/* One element more than there may be. */
	fresh(IBV_QPT_RC);
	put(0, "0000000a 00000005 0000000c 00000000");
	for (unsigned int i = 16; i < 80; i += 16)
		put(i, "00000001 00000001 0000000000000001");
	assert_false(read_at(0));
	srand(7);
	for (unsigned int n = 0; n < 200000; n++) {
		fresh((enum ibv_qp_type)(n % 3 == 0 ? IBV_QPT_UD : n % 3 == 1 ? IBV_QPT_UC : IBV_QPT_RC));
		for (unsigned int i = 0; i < 256; i++)
			ring[i] = (uint8_t)(rand() & rand() & rand());
		ring[3] = known[(unsigned int)rand() % sizeof(known)];
		ring[7] = (uint8_t)(rand() % 18);
		ring[16] |= (uint8_t)(rand() % 2 << 7);
		good += read_at(0);
		assert_true(w.num_sge <= SGES && (w.inline_data == NULL || w.len <= INLINE));
		for (unsigned int i = INLINE; i < sizeof(data); i++)
			assert_int_equal(data[i], 0xee);
	}
	assert_true(good > 1000);
}

/* [5.1] */
static void
receive_list(void **state)
{
	struct tre_sge sge[5];
	uint32_t len;

	fresh(IBV_QPT_RC);
	memset(sge, 0, sizeof(sge));
	put(0,
	    "00001000 00000011 0000000000002000 80000000 00000012 0000000000003000 00000000 00000100 0000000000000000");
	put(48, "00000001 00000013 0000000000000000");
	assert_int_equal(troce_ring_list(ring, 4, sge, &len), 2);
	assert_int_equal(len, 0x1000);
	assert_int_equal(sge[0].addr, 0x2000);
	assert_int_equal(sge[0].lkey, 0x11);
	assert_int_equal(sge[1].len, 0);
	assert_int_equal(troce_ring_list(ring + 48, 1, sge, &len), 1);
	assert_int_equal(len, 1);
	/* Lengths that sum up to more than a message may have. */
	for (unsigned int i = 0; i < 64; i += 16)
		put(i, "7fffffff 00000013 0000000000000000");
	assert_int_equal(troce_ring_list(ring, 4, sge, &len), 4);
	assert_int_equal(len, UINT32_MAX);
}

/* [6.2, 6.4] */
static void
completions(void **state)
{
	struct ibv_wc wc = {.opcode = IBV_WC_RDMA_READ, .qp_num = 0xabcdef, .byte_len = 0x1234};
	struct mlx4_cqe cqe;
	uint8_t want[32];

	memset(&cqe, 0xee, sizeof(cqe));
	fresh(IBV_QPT_RC);
	put(0, "00abcdef 00000000 00000000 0000 0000 0000 00 00 00001234 fffe 0000 000000 50");
	troce_ring_cqe(&cqe, &wc, 0xfffe, false);
	assert_memory_equal(&cqe, ring, 32);
	/* A datagram with immediate data, which stays as it is. */
	wc = (struct ibv_wc){.opcode = IBV_WC_RECV,
			     .qp_num = 7,
			     .byte_len = 140,
			     .src_qp = 0x010203,
			     .sl = 5,
			     .wc_flags = IBV_WC_GRH | IBV_WC_WITH_IMM};
	memcpy(&wc.imm_data, "\x0a\x0b\x0c\x0d", 4);
	put(0, "00000007 0a0b0c0d 80010203 a000 0000 0000 00 00 0000008c 0003 0000 000000 82");
	troce_ring_cqe(&cqe, &wc, 3, true);
	assert_memory_equal(&cqe, ring, 32);
	wc = (struct ibv_wc){
		.opcode = IBV_WC_RECV, .qp_num = 7, .invalidated_rkey = 0x01020304, .wc_flags = IBV_WC_WITH_INV};
	put(0, "00000007 01020304 00000000 0000 0000 0000 00 00 00000000 0003 0000 000000 03");
	troce_ring_cqe(&cqe, &wc, 3, false);
	assert_memory_equal(&cqe, ring, 32);
	wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	wc.wc_flags = IBV_WC_WITH_IMM;
	troce_ring_cqe(&cqe, &wc, 3, false);
	assert_int_equal(((uint8_t *)&cqe)[31], 0x00);
	/* Errors by the table. */
	static const struct {
		enum ibv_wc_status status;
		uint8_t syndrome;
	} errors[] = {{IBV_WC_LOC_LEN_ERR, 0x01},    {IBV_WC_LOC_QP_OP_ERR, 0x02},   {IBV_WC_LOC_PROT_ERR, 0x04},
		      {IBV_WC_WR_FLUSH_ERR, 0x05},   {IBV_WC_MW_BIND_ERR, 0x06},     {IBV_WC_BAD_RESP_ERR, 0x10},
		      {IBV_WC_LOC_ACCESS_ERR, 0x11}, {IBV_WC_REM_INV_REQ_ERR, 0x12}, {IBV_WC_REM_ACCESS_ERR, 0x13},
		      {IBV_WC_REM_OP_ERR, 0x14},     {IBV_WC_RETRY_EXC_ERR, 0x15},   {IBV_WC_RNR_RETRY_EXC_ERR, 0x16},
		      {IBV_WC_REM_ABORT_ERR, 0x22}};

	for (unsigned int i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		wc = (struct ibv_wc){.status = errors[i].status,
				     .opcode = i % 2 != 0 ? IBV_WC_RECV : IBV_WC_SEND,
				     .qp_num = 9,
				     .byte_len = 77};
		troce_ring_cqe(&cqe, &wc, 0x0102, false);
		memset(want, 0, sizeof(want));
		want[3] = 9;
		want[0x18] = 1;
		want[0x19] = 2;
		want[0x1b] = errors[i].syndrome;
		want[0x1f] = i % 2 != 0 ? 0x1e : 0x5e;
		assert_memory_equal(&cqe, want, 32);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_bits), cmocka_unit_test(send_list),    cmocka_unit_test(send_inline),
		cmocka_unit_test(remote),     cmocka_unit_test(datagram),     cmocka_unit_test(keys),
		cmocka_unit_test(rubbish),    cmocka_unit_test(receive_list), cmocka_unit_test(completions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
