/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What posting writes for the card, dword by dword: work requests and receives with their segments. Wanted values are counted by
 * hand from the sections of the reference that a line names.
 */
#include "roce_wqe.h"

/* --- requests of connections ------------------------------------------------------------------------------------- */

#define RADDR UINT64_C(0x0102030405060708)
#define RKEY 0xa1b2c3d4u
#define SWAP UINT64_C(0x1112131415161718)
#define COMPARE UINT64_C(0x2122232425262728)
#define IMM 0x31323334u

static void
test_requests(void **state)
{
	struct rr_end a, b;
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = {.wr_id = 1, .sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	uint64_t mem;
	uint32_t n = 0, key;

	lone(&a, &b, IBV_QPT_RC, NULL);
	mem = (uintptr_t)a.mem;
	key = a.mr->lkey;
	sge[0] = (struct ibv_sge){mem, 0x123, key};
	sge[1] = (struct ibv_sge){mem + 0x200, 0x45, key};
	assert_int_equal(post(&a, &wr), 0);
	CHECK("send", wqe_at(&a, n++), 0x0a, 2, 0, 0, 0x123, key, hi(mem), lo(mem));
	wr.num_sge = 2;
	wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htobe32(IMM);
	assert_int_equal(post(&a, &wr), 0);
	CHECK("send with immediate", wqe_at(&a, n++), 0x0b, 3, SIGNALLED | 2, IMM, 0x123, key, hi(mem), lo(mem), 0x45,
	      key, hi(mem + 0x200), lo(mem + 0x200));
	/* An element without bytes has no segment. */
	sge[0].length = 0;
	wr.send_flags = IBV_SEND_FENCE | IBV_SEND_SOLICITED;
	wr.opcode = IBV_WR_SEND;
	assert_int_equal(post(&a, &wr), 0);
	CHECK("fenced", wqe_at(&a, n++), 0x0a, 0x40 | 2, 2, 0, 0x45, key, hi(mem + 0x200), lo(mem + 0x200));
	wr.num_sge = 0;
	wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(post(&a, &wr), 0);
	CHECK("empty", wqe_at(&a, n++), 0x0a, 1, SIGNALLED, 0);
	/* Remote memory [DP 3.8] */
	sge[0].length = 8;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = RADDR;
	wr.wr.rdma.rkey = RKEY;
	wr.opcode = IBV_WR_RDMA_WRITE;
	assert_int_equal(post(&a, &wr), 0);
	CHECK("write", wqe_at(&a, n++), 0x08, 3, SIGNALLED, 0, hi(RADDR), lo(RADDR), RKEY, 0, 8, key, hi(mem), lo(mem));
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	assert_int_equal(post(&a, &wr), 0);
	CHECK("write with immediate", wqe_at(&a, n++), 0x09, 3, SIGNALLED, IMM, hi(RADDR), lo(RADDR), RKEY, 0, 8, key);
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(post(&a, &wr), 0);
	CHECK("read", wqe_at(&a, n++), 0x10, 3, SIGNALLED, 0, hi(RADDR), lo(RADDR), RKEY, 0, 8, key, hi(mem), lo(mem));
	/* Atomics [DP 3.9] */
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.remote_addr = RADDR;
	wr.wr.atomic.rkey = RKEY;
	wr.wr.atomic.compare_add = COMPARE;
	wr.wr.atomic.swap = SWAP;
	assert_int_equal(post(&a, &wr), 0);
	CHECK("compare and swap", wqe_at(&a, n++), 0x11, 4, SIGNALLED, 0, hi(RADDR), lo(RADDR), RKEY, 0, hi(SWAP),
	      lo(SWAP), hi(COMPARE), lo(COMPARE), 8, key, hi(mem), lo(mem));
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	assert_int_equal(post(&a, &wr), 0);
	CHECK("fetch and add", wqe_at(&a, n++), 0x12, 4, SIGNALLED, 0, hi(RADDR), lo(RADDR), RKEY, 0, hi(COMPARE),
	      lo(COMPARE), 0, 0, 8, key, hi(mem), lo(mem));
	/* Keys that are taken back [DP 3.1, 3.12] */
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = RKEY;
	assert_int_equal(post(&a, &wr), 0);
	CHECK("send with invalidate", wqe_at(&a, n++), 0x01, 2, SIGNALLED, RKEY, 8, key);
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.num_sge = 0;
	memset(wqe_at(&a, n), 0x5a, 64);
	assert_int_equal(post(&a, &wr), 0);
	CHECK("invalidate", wqe_at(&a, n++), 0x1b, 3, 0x80 | SIGNALLED, 0, 0, 0, RKEY, 0, 0, 0, 0, 0);
	/* The doorbell [DP 2.2] */
	assert_int_equal(
		*(volatile uint32_t *)(volatile void *)(mlx4_uar_addr(qp_of(&a)->home->hca, qp_of(&a)->uar) + 0x14),
		htobe32(a.qp->qp_num << 8));
	rr_run();
	rr_end_free(&a);
	rr_end_free(&b);
}

/* A bit for each right, and none for others [DP 3.10, 3.11]. */
static const struct {
	unsigned int access;
	uint32_t flags1, flags2;
} rights[] = {
	{IBV_ACCESS_REMOTE_ATOMIC, 1u << 31, 0},
	{IBV_ACCESS_REMOTE_WRITE, 1u << 30, 0},
	{IBV_ACCESS_REMOTE_READ, 1u << 29, 0},
	{IBV_ACCESS_ZERO_BASED, 0, 1u << 30},
	{IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, 7u << 29, 0},
};

static void
test_binds(void **state)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW};
	struct ibv_mw *mw[2];
	struct rr_end a, b;
	unsigned int i, type;
	uint32_t n = 0;

	lone(&a, &b, IBV_QPT_RC, NULL);
	mw[0] = tp_roce_alloc_mw(rr_pd[0], IBV_MW_TYPE_1);
	mw[1] = tp_roce_alloc_mw(rr_pd[0], IBV_MW_TYPE_2);
	assert_non_null(mw[0]);
	assert_non_null(mw[1]);
	for (type = 0; type < 2; type++)
		for (i = 0; i < RTE_DIM(rights); i++) {
			wr.bind_mw.mw = mw[type];
			wr.bind_mw.rkey = RKEY;
			wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
				.mr = a.mr, .addr = RADDR, .length = SWAP, .mw_access_flags = rights[i].access};
			memset(wqe_at(&a, n), 0x5a, 64);
			assert_int_equal(post(&a, &wr), 0);
			CHECK("bind", wqe_at(&a, n++), 0x18, 3, 0x80, 0, rights[i].flags1,
			      rights[i].flags2 | type << 31, RKEY, a.mr->lkey, hi(RADDR), lo(RADDR), hi(SWAP),
			      lo(SWAP));
		}
	/* Without a region it closes the window. */
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){0};
	assert_int_equal(post(&a, &wr), 0);
	CHECK("unbind", wqe_at(&a, n++), 0x18, 3, 0x80, 0, 0, 1u << 31, RKEY, 0, 0, 0, 0, 0);
	assert_int_equal(tp_roce_dealloc_mw(mw[0]), 0);
	assert_int_equal(tp_roce_dealloc_mw(mw[1]), 0);
	rr_end_free(&a);
	rr_end_free(&b);
}

static void
test_fast_registration(void **state)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.opcode = (enum ibv_wr_opcode)TROCE_WR_FAST_REG, .sg_list = &sge, .num_sge = 1};
	static const struct {
		unsigned int access;
		uint32_t flags;
	} t[] = {
		{0, 1u << 27},
		{IBV_ACCESS_LOCAL_WRITE, 3u << 27},
		{IBV_ACCESS_REMOTE_READ, 1u << 29 | 1u << 27},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 1u << 30 | 3u << 27},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC, 1u << 31 | 3u << 27},
	};
	struct rr_end a, b;
	struct mlx4_roce_mr *m;
	struct ibv_mr *mr;
	unsigned int i;
	uint32_t n = 0;
	uint64_t at;

	lone(&a, &b, IBV_QPT_RC, NULL);
	mr = tp_roce_alloc_mr(rr_pd[0], 8);
	assert_non_null(mr);
	m = (struct mlx4_roce_mr *)(void *)mr;
	assert_int_equal((uintptr_t)m->list % 64, 0);
	/* Same place in a page of 4 KiB, another in those that are larger. */
	at = UINT64_C(0x100000000000) + ((uintptr_t)a.mem & 0xfff) + (~(uintptr_t)a.mem & 0x1000);
	sge = (struct ibv_sge){.addr = (uintptr_t)a.mem, .length = 5000};
	for (i = 0; i < RTE_DIM(t); i++) {
		wr.bind_mw.rkey = RKEY;
		wr.bind_mw.bind_info =
			(struct ibv_mw_bind_info){.mr = mr, .addr = at, .length = 5000, .mw_access_flags = t[i].access};
		memset(wqe_at(&a, n), 0x5a, 64);
		assert_int_equal(post(&a, &wr), 0);
		CHECK("fast registration", wqe_at(&a, n++), 0x19, 4, 0x80, 0, t[i].flags, RKEY, hi(m->list_iova),
		      lo(m->list_iova), hi(at), lo(at), 0, 5000, 0, 12, 0, 0);
	}
	/* One piece of memory, not inline, on a reliable connection, of a region that is made for it. */
	wr.num_sge = 0;
	assert_int_equal(post(&a, &wr), EINVAL);
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_INLINE;
	assert_int_equal(post(&a, &wr), EINVAL);
	wr.send_flags = 0;
	wr.bind_mw.bind_info.mr = a.mr;
	assert_int_equal(post(&a, &wr), EINVAL);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	rr_end_free(&a);
	rr_end_free(&b);
	lone(&a, &b, IBV_QPT_UC, NULL);
	mr = tp_roce_alloc_mr(rr_pd[0], 8);
	assert_non_null(mr);
	wr.bind_mw.bind_info.mr = mr;
	sge.addr = (uintptr_t)a.mem;
	wr.bind_mw.bind_info.addr = (uintptr_t)a.mem;
	assert_int_equal(post(&a, &wr), EINVAL);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* --- inline ------------------------------------------------------------------------------------------------------ */

/*
 * Data in the request: 44 bytes in its first block, 60 in each other one, each block with a length in front [DP 3.7]. One
 * piece and two, with a fence or without, take different ways through the code and make the same bytes.
 */
static void
check_inline(struct rr_end *e, uint32_t index, const uint8_t *data, uint32_t len, uint32_t flags)
{
	const uint8_t *w = wqe_at(e, index);
	uint32_t at = 16, done = 0, ds;

	while (done < len) {
		uint32_t room = 64 - at % 64 - 4, n = RTE_MIN(room, len - done);

		if (dword(w + at, 0) != (0x80000000u | n))
			fail_msg("%u bytes: 0x%08x at %u", len, dword(w + at, 0), at);
		assert_memory_equal(w + at + 4, data + done, n);
		at += 4 + n;
		done += n;
	}
	ds = (at + 15) / 16;
	assert_int_equal(dword(w, 0) & 0x7fffffff, 0x0a);
	assert_int_equal(dword(w, 1), ds | (flags & IBV_SEND_FENCE ? 0x40 : 0));
	assert_int_equal(dword(w, 2),
			 (flags & IBV_SEND_SIGNALED ? SIGNALLED : 0) | (flags & IBV_SEND_SOLICITED ? 2 : 0));
	assert_int_equal(dword(w, 3), 0);
}

static void
test_inline(void **state)
{
	static const unsigned int flags[] = {0, IBV_SEND_SIGNALED, IBV_SEND_SOLICITED, IBV_SEND_FENCE};
	const struct ibv_qp_cap caps = {.max_send_wr = 40, .max_send_sge = 2, .max_inline_data = 88, .max_recv_wr = 1};
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = {.sg_list = sge, .opcode = IBV_WR_SEND};
	struct rr_end a, b;
	unsigned int f;
	uint32_t len, n;

	for (len = 1; len <= 88; len++) {
		lone(&a, &b, IBV_QPT_UC, &caps);
		rr_fill(a.mem, 128, (uint8_t)len);
		for (f = 0, n = 0; f < RTE_DIM(flags); f++) {
			wr.send_flags = IBV_SEND_INLINE | flags[f];
			wr.num_sge = 1;
			sge[0] = (struct ibv_sge){.addr = (uintptr_t)a.mem, .length = len};
			memset(wqe_at(&a, n), 0x5a, 128);
			assert_int_equal(post(&a, &wr), 0);
			check_inline(&a, n++, a.mem, len, wr.send_flags);
			wr.num_sge = 2;
			sge[0].length = len / 3;
			sge[1] = (struct ibv_sge){.addr = (uintptr_t)a.mem + len / 3, .length = len - len / 3};
			memset(wqe_at(&a, n), 0x5a, 128);
			assert_int_equal(post(&a, &wr), 0);
			check_inline(&a, n++, a.mem, len, wr.send_flags);
		}
		rr_end_free(&a);
		rr_end_free(&b);
	}
}

/* --- receives ---------------------------------------------------------------------------------------------------- */

/* Elements, then an end where there is room for one more [DP 5.1]. */
static void
test_receives(void **state)
{
	struct ibv_sge sge[3];
	struct ibv_recv_wr wr = {.sg_list = sge}, *bad;
	struct rr_end a, b;
	const uint8_t *w;
	uint64_t mem;
	uint32_t key;

	lone(&a, &b, IBV_QPT_RC, NULL);
	mem = (uintptr_t)a.mem;
	key = a.mr->lkey;
	w = qp_of(&a)->rq;
	memset(qp_of(&a)->rq, 0x5a, 4 * 32);
	sge[0] = (struct ibv_sge){mem, 0x111, key};
	sge[1] = (struct ibv_sge){mem + 0x1000, 0x222, key};
	wr.num_sge = 2;
	assert_int_equal(ibv_post_recv(a.qp, &wr, &bad), 0);
	CHECK("two", w, 0x111, key, hi(mem), lo(mem), 0x222, key, hi(mem + 0x1000), lo(mem + 0x1000), 0x5a5a5a5a);
	wr.num_sge = 1;
	assert_int_equal(ibv_post_recv(a.qp, &wr, &bad), 0);
	CHECK("one", w + 32, 0x111, key, hi(mem), lo(mem), 0, 0x100, 0, 0, 0x5a5a5a5a);
	wr.num_sge = 0;
	assert_int_equal(ibv_post_recv(a.qp, &wr, &bad), 0);
	CHECK("none", w + 64, 0, 0x100, 0, 0, 0x5a5a5a5a);
	sge[0].length = 0;
	wr.num_sge = 2;
	assert_int_equal(ibv_post_recv(a.qp, &wr, &bad), 0);
	CHECK("one of them empty", w + 96, 0x222, key, hi(mem + 0x1000), lo(mem + 0x1000), 0, 0x100, 0, 0);
	/* 2^30 bytes at most */
	sge[0].length = sge[1].length = 1u << 29;
	assert_int_equal(ibv_post_recv(a.qp, &wr, &bad), 0);
	sge[1].length++;
	assert_int_equal(ibv_post_recv(a.qp, &wr, &bad), EINVAL);
	wr.num_sge = 3;
	sge[0].length = sge[1].length = sge[2].length = 1;
	assert_int_equal(ibv_post_recv(a.qp, &wr, &bad), EINVAL);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* The list follows a header with the number of the next entry [DP 5.2]. */
static void
test_shared_receives(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 3, .max_sge = 3}};
	struct ibv_sge sge[4] = {{0}};
	struct ibv_recv_wr bad_wr = {.sg_list = sge, .num_sge = 4}, wr = {.sg_list = sge}, *bad;
	struct rr_end a = {0};
	struct mlx4_roce_srq *s;
	uint64_t mem;
	uint32_t key;

	rr_end(&a, 0);
	mem = (uintptr_t)a.mem;
	key = a.mr->lkey;
	a.srq = tp_roce_create_srq(rr_pd[0], &init);
	assert_non_null(a.srq);
	s = (struct mlx4_roce_srq *)(void *)a.srq;
	CHECK("first entry", s->wqes, 1, 0, 0, 0);
	CHECK("third entry", s->wqes + 2 * 64, 3, 0, 0, 0);
	CHECK("last entry", s->wqes + 3 * 64, 0, 0, 0, 0);
	sge[0] = (struct ibv_sge){mem, 0x111, key};
	sge[1] = (struct ibv_sge){mem + 0x1000, 0x222, key};
	assert_int_equal(ibv_post_srq_recv(a.srq, &bad_wr, &bad), EINVAL);
	assert_ptr_equal(bad, &bad_wr);
	assert_int_equal(*s->dbrec, 0);
	wr.num_sge = 2;
	wr.next = &bad_wr;
	assert_int_equal(ibv_post_srq_recv(a.srq, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &bad_wr);
	assert_int_equal(*s->dbrec, htobe32(1));
	CHECK("two", s->wqes, 1, 0, 0, 0, 0x111, key, hi(mem), lo(mem), 0x222, key, hi(mem + 0x1000), lo(mem + 0x1000),
	      0, 0x100, 0, 0);
	wr.next = NULL;
	wr.num_sge = 3;
	sge[2] = (struct ibv_sge){mem, 0x333, key};
	assert_int_equal(ibv_post_srq_recv(a.srq, &wr, &bad), 0);
	assert_int_equal(*s->dbrec, htobe32(2));
	CHECK("three", s->wqes + 64, 2, 0, 0, 0, 0x111, key, hi(mem), lo(mem), 0x222, key, hi(mem + 0x1000),
	      lo(mem + 0x1000), 0x333, key, hi(mem), lo(mem));
	rr_end_free(&a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_requests), TEST(test_binds),    TEST(test_fast_registration),
		TEST(test_inline),   TEST(test_receives), TEST(test_shared_receives),
	};

	if (rig_eal("mlx4_roce_wqe", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-roce-wqe", tests, NULL, NULL);
}
