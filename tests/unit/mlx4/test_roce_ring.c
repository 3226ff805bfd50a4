/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The rings of queue pairs: sizes that they get, owner bits and stamps, doorbells and their other way, and what may not be posted.
 * Wanted values are counted by hand from the sections of the reference that a line names.
 */
#include <stdlib.h>
#include <unistd.h>

#include "card_trace.h"
#include "roce_wqe.h"
#include "drivers/mlx4/verbs/verbs.h"

/* --- sizes ------------------------------------------------------------------------------------------------------- */

/*
 * The stride holds headers of 32 bytes (datagrams: 64), elements of 16, and inline data with 4 bytes a block of 64. 2048 bytes
 * of the ring and one request stay free [DP 4.4]; a request has 1008 bytes at most.
 */
static const struct {
	enum ibv_qp_type type;
	uint32_t wr, sge, bytes;                     /* asked for */
	uint32_t stride, got_wr, got_sge, got_bytes; /* got_sge 0: as many as the card takes */
} send_sizes[] = {
	{IBV_QPT_RC, 1, 1, 0, 64, 31, 2, 28},     {IBV_QPT_RC, 31, 2, 28, 64, 31, 2, 28},
	{IBV_QPT_RC, 32, 2, 28, 64, 95, 2, 28},   {IBV_QPT_RC, 1, 3, 0, 128, 15, 6, 88},
	{IBV_QPT_RC, 1, 1, 29, 128, 15, 6, 88},   {IBV_QPT_RC, 15, 6, 88, 128, 15, 6, 88},
	{IBV_QPT_RC, 16, 6, 88, 128, 47, 6, 88},  {IBV_QPT_RC, 1, 7, 0, 256, 7, 14, 208},
	{IBV_QPT_RC, 1, 1, 89, 256, 7, 14, 208},  {IBV_QPT_RC, 1, 15, 0, 512, 3, 30, 448},
	{IBV_QPT_RC, 1, 1, 209, 512, 3, 30, 448}, {IBV_QPT_RC, 1, 1, 449, 1024, 1, 0, 912},
	{IBV_QPT_RC, 1, 1, 884, 1024, 1, 0, 912}, {IBV_QPT_UC, 1, 1, 0, 64, 31, 2, 28},
	{IBV_QPT_UC, 1, 3, 0, 128, 15, 6, 88},    {IBV_QPT_UD, 1, 1, 0, 128, 15, 4, 60},
	{IBV_QPT_UD, 1, 4, 60, 128, 15, 4, 60},   {IBV_QPT_UD, 1, 5, 0, 256, 7, 12, 180},
	{IBV_QPT_UD, 1, 1, 61, 256, 7, 12, 180},  {IBV_QPT_UD, 1, 1, 181, 512, 3, 28, 420},
	{IBV_QPT_UD, 1, 1, 884, 1024, 1, 0, 884},
};

static void
test_send_sizes(void **state)
{
	struct ibv_qp_init_attr init;
	struct ibv_device_attr d;
	struct ibv_qp_attr at;
	struct rr_end e;
	unsigned int i;

	assert_int_equal(tp_roce_query_device(rr_ctx[0], &d), 0);
	for (i = 0; i < RTE_DIM(send_sizes); i++) {
		const struct ibv_qp_cap caps = {.max_send_wr = send_sizes[i].wr,
						.max_send_sge = send_sizes[i].sge,
						.max_inline_data = send_sizes[i].bytes,
						.max_recv_wr = 1,
						.max_recv_sge = 1};

		rr_end(&e, 0);
		rr_qp(&e, send_sizes[i].type, &caps);
		assert_int_equal(tp_roce_query_qp(e.qp, &at, 0, &init), 0);
		if (1u << qp_of(&e)->lg_sq_stride != send_sizes[i].stride)
			fail_msg("row %u: stride %u", i, 1u << qp_of(&e)->lg_sq_stride);
		if (init.cap.max_send_wr != send_sizes[i].got_wr || init.cap.max_inline_data != send_sizes[i].got_bytes)
			fail_msg("row %u: %u requests, %u bytes", i, init.cap.max_send_wr, init.cap.max_inline_data);
		assert_int_equal(init.cap.max_send_sge,
				 send_sizes[i].got_sge != 0 ? (int)send_sizes[i].got_sge : d.max_sge);
		rr_end_free(&e);
	}
}

/* A ring of receives has two entries at least, of two elements; all sizes are powers of two [DP 5.1]. */
static void
test_receive_sizes(void **state)
{
	static const struct {
		uint32_t wr, sge, got_wr, got_sge;
	} t[] = {{1, 1, 2, 2}, {2, 2, 2, 2},   {3, 3, 4, 4},    {4, 4, 4, 4},
		 {5, 5, 8, 8}, {33, 1, 64, 2}, {64, 16, 64, 16}};
	struct ibv_qp_cap caps = {.max_send_wr = 1, .max_send_sge = 1};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr at;
	struct rr_end e;
	unsigned int i;

	for (i = 0; i < RTE_DIM(t); i++) {
		caps.max_recv_wr = t[i].wr;
		caps.max_recv_sge = t[i].sge;
		rr_end(&e, 0);
		rr_qp(&e, IBV_QPT_RC, &caps);
		assert_int_equal(tp_roce_query_qp(e.qp, &at, 0, &init), 0);
		assert_int_equal(init.cap.max_recv_wr, t[i].got_wr);
		assert_int_equal(init.cap.max_recv_sge, t[i].got_sge);
		rr_end_free(&e);
	}
}

/* One entry of a shared queue stays free; an entry has 16 bytes in front of its elements, and 32 at least [DP 5.2]. */
static void
test_shared_sizes(void **state)
{
	static const struct {
		uint32_t wr, sge, got_wr, got_sge;
	} t[] = {{1, 1, 1, 1},   {2, 1, 3, 1}, {10, 3, 15, 3}, {15, 2, 15, 3},
		 {16, 1, 31, 1}, {1, 4, 1, 7}, {1, 8, 1, 15}};
	struct ibv_srq_attr now;
	struct ibv_srq *srq;
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(t); i++) {
		struct ibv_srq_init_attr init = {.attr = {.max_wr = t[i].wr, .max_sge = t[i].sge, .srq_limit = i & 1}};
		struct ibv_recv_wr wr = {0}, *bad;

		srq = tp_roce_create_srq(rr_pd[0], &init);
		assert_non_null(srq);
		assert_int_equal(init.attr.max_wr, t[i].got_wr);
		assert_int_equal(init.attr.max_sge, t[i].got_sge);
		assert_int_equal(tp_roce_query_srq(srq, &now), 0);
		assert_int_equal(now.max_wr, t[i].got_wr);
		assert_int_equal(now.max_sge, t[i].got_sge);
		for (k = 0; k < t[i].got_wr; k++)
			assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
		assert_ptr_equal(bad, &wr);
		assert_int_equal(tp_roce_destroy_srq(srq), 0);
	}
}

static void
test_completion_sizes(void **state)
{
	static const int t[][2] = {{1, 1}, {2, 3}, {3, 3}, {4, 7}, {255, 255}, {256, 511}};
	struct ibv_cq *cq;
	unsigned int i;

	for (i = 0; i < RTE_DIM(t); i++) {
		cq = tp_roce_create_cq(rr_ctx[0], t[i][0], NULL, NULL, 0);
		assert_non_null(cq);
		assert_int_equal(cq->cqe, t[i][1]);
		assert_int_equal(tp_roce_destroy_cq(cq), 0);
	}
}

/* --- the ring ---------------------------------------------------------------------------------------------------- */

/*
 * Before its first pass each block looks like none of it; posting makes the blocks behind the first one of the request that
 * comes into the card's reach look so, again, and touches nothing else there [DP 4.3].
 */
static void
test_stamps(void **state)
{
	static const struct {
		uint32_t bytes, stride, entries, ahead;
	} t[] = {{28, 64, 64, 33}, {88, 128, 64, 17}, {208, 256, 16, 9}, {448, 512, 16, 5}};
	struct ibv_qp_cap caps = {.max_send_sge = 1, .max_recv_wr = 1};
	struct ibv_sge sge = {.length = 64};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct rr_end a, b;
	unsigned int i, k;
	uint32_t off;

	for (i = 0; i < RTE_DIM(t); i++) {
		caps.max_inline_data = t[i].bytes;
		caps.max_send_wr = t[i].entries - t[i].ahead;
		lone(&a, &b, IBV_QPT_UC, &caps);
		for (off = 0; off < t[i].stride * t[i].entries; off += 64)
			assert_int_equal(dword(wqe_at(&a, 0) + off, 0), STAMP);
		/* A long way and the way of small messages, whose length two blocks have. */
		for (k = 0; k < 2; k++) {
			uint8_t *ahead = wqe_at(&a, k + t[i].ahead), before[512];

			memset(ahead, 0x21, t[i].stride);
			memset(before, 0x21, sizeof(before));
			sge.addr = (uintptr_t)a.mem;
			wr.send_flags = k != 0 && t[i].bytes >= 64 ? IBV_SEND_INLINE : 0;
			assert_int_equal(post(&a, &wr), 0);
			for (off = 64; off < t[i].stride; off += 64)
				memset(before + off, 0xff, 4);
			assert_memory_equal(ahead, before, t[i].stride);
			memset(ahead, 0xff, t[i].stride);
		}
		rr_end_free(&a);
		rr_end_free(&b);
	}
}

/* 0 in the first pass, 1 in the second, 0 again; a reset begins anew [DP 4.2]. */
static void
test_owner_bits(void **state)
{
	const struct ibv_qp_cap caps = {.max_send_wr = 15, .max_send_sge = 1, .max_inline_data = 88, .max_recv_wr = 1};
	struct rr_end a, b;
	struct ibv_sge sge = {.length = 70};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1};
	unsigned int i, pass, off;

	rr_end(&a, 0);
	rr_end(&b, 1);
	rr_qp(&a, IBV_QPT_RC, &caps);
	rr_qp(&b, IBV_QPT_RC, &caps);
	for (i = 0; i < 2; i++) {
		rr_init(&a);
		rr_init(&b);
		rr_rtr(&a, &b, RR_IPV4_V2);
		rr_rtr(&b, &a, RR_IPV4_V2);
		rr_rts(&a);
		rr_rts(&b);
		for (off = 0; off < 32 * 128; off += 64)
			assert_int_equal(dword(wqe_at(&a, 0) + off, 0), STAMP);
		for (pass = 0; pass < 3 * 32 + 5; pass++) {
			sge.addr = (uintptr_t)a.mem;
			sge.lkey = a.mr->lkey;
			wr.wr.rdma.remote_addr = (uintptr_t)b.mem;
			wr.wr.rdma.rkey = b.mr->rkey;
			wr.opcode = IBV_WR_RDMA_WRITE;
			/* Some of them by the way of small messages */
			wr.send_flags = IBV_SEND_SIGNALED | (pass % 3 == 0 ? IBV_SEND_INLINE : 0);
			if (pass % 3 == 0) {
				wr.opcode = IBV_WR_SEND;
				assert_int_equal(rr_recv(&b, 0, 100), 0);
			}
			wr.wr_id = pass;
			assert_int_equal(post(&a, &wr), 0);
			assert_int_equal(dword(wqe_at(&a, pass % 32), 0),
					 (pass / 32 % 2 != 0 ? 0x80000000u : 0) | (pass % 3 == 0 ? 0x0a : 0x08));
			rr_run();
			rr_expect(&a, IBV_WC_SUCCESS, pass % 3 == 0 ? IBV_WC_SEND : IBV_WC_RDMA_WRITE, pass);
			if (pass % 3 == 0)
				rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV, 0);
		}
		rr_state(&a, IBV_QPS_RESET);
		rr_state(&b, IBV_QPS_RESET);
	}
	rr_end_free(&a);
	rr_end_free(&b);
}

/* A call that posts nothing rings no doorbell, and one with a bad request in it rings for those before. */
static void
test_doorbells(void **state)
{
	struct ibv_sge sge = {.length = 8};
	struct ibv_send_wr bad_wr = {.opcode = (enum ibv_wr_opcode)99}, *bad;
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_recv_wr rwr = {.sg_list = &sge, .num_sge = 1}, bad_rwr = {.num_sge = 99}, *rbad;
	struct rr_end a, b;

	lone(&a, &b, IBV_QPT_RC, NULL);
	sge.addr = (uintptr_t)a.mem;
	sge.lkey = a.mr->lkey;
	*qp_of(&a)->db = 0;
	assert_int_equal(ibv_post_send(a.qp, &bad_wr, &bad), EINVAL);
	assert_int_equal(*qp_of(&a)->db, 0);
	wr.next = &bad_wr;
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &bad_wr);
	assert_int_equal(*qp_of(&a)->db, htobe32(a.qp->qp_num << 8));
	assert_int_equal(dword(wqe_at(&a, 1), 0), STAMP);
	/* Receives: the number of those that were posted, modulo 65536 [DP 2.3] */
	assert_int_equal(*qp_of(&a)->rq_dbrec, 0);
	assert_int_equal(ibv_post_recv(a.qp, &bad_rwr, &rbad), EINVAL);
	assert_ptr_equal(rbad, &bad_rwr);
	assert_int_equal(*qp_of(&a)->rq_dbrec, 0);
	rwr.next = &bad_rwr;
	assert_int_equal(ibv_post_recv(a.qp, &rwr, &rbad), EINVAL);
	assert_ptr_equal(rbad, &bad_rwr);
	assert_int_equal(*qp_of(&a)->rq_dbrec, htobe32(1));
	rwr.next = NULL;
	assert_int_equal(ibv_post_recv(a.qp, &rwr, &rbad), 0);
	assert_int_equal(*qp_of(&a)->rq_dbrec, htobe32(2));
	/* A reset takes all of it back. */
	rr_state(&a, IBV_QPS_RESET);
	assert_int_equal(*qp_of(&a)->rq_dbrec, 0);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* --- what is refused --------------------------------------------------------------------------------------------- */

#define WHOLE 88u /* bytes that fit inline */

static const struct {
	enum ibv_qp_type type;
	enum ibv_wr_opcode op;
	int sges;
	uint32_t len[2];
	unsigned int flags;
	int want;
} refusals[] = {
	/* What a type has no request for */
	{IBV_QPT_UC, IBV_WR_RDMA_WRITE, 1, {8, 0}, 0, 0},
	{IBV_QPT_UC, IBV_WR_RDMA_WRITE_WITH_IMM, 1, {8, 0}, 0, 0},
	{IBV_QPT_UC, IBV_WR_SEND_WITH_IMM, 1, {8, 0}, 0, 0},
	{IBV_QPT_UC, IBV_WR_RDMA_READ, 1, {8, 0}, 0, EINVAL},
	{IBV_QPT_UC, IBV_WR_ATOMIC_CMP_AND_SWP, 1, {8, 0}, 0, EINVAL},
	{IBV_QPT_UC, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, {8, 0}, 0, EINVAL},
	{IBV_QPT_UC, IBV_WR_LOCAL_INV, 0, {0, 0}, 0, EINVAL},
	{IBV_QPT_UC, IBV_WR_BIND_MW, 0, {0, 0}, 0, EINVAL},
	{IBV_QPT_UC, IBV_WR_SEND_WITH_INV, 1, {8, 0}, 0, EINVAL},
	{IBV_QPT_UC, IBV_WR_TSO, 1, {8, 0}, 0, EINVAL},
	{IBV_QPT_RC, IBV_WR_TSO, 1, {8, 0}, 0, EINVAL},
	{IBV_QPT_RC, (enum ibv_wr_opcode)(TROCE_WR_FAST_REG + 1), 1, {8, 0}, 0, EINVAL},
	/* A message has at most 2^30 bytes, in how many pieces ever. */
	{IBV_QPT_RC, IBV_WR_SEND, 1, {1u << 30, 0}, 0, 0},
	{IBV_QPT_RC, IBV_WR_SEND, 2, {1u << 29, 1u << 29}, 0, 0},
	{IBV_QPT_RC, IBV_WR_SEND, 2, {1u << 30, 1}, 0, EINVAL},
	{IBV_QPT_RC, IBV_WR_SEND, 2, {UINT32_MAX, 9}, 0, EINVAL},
	/* Inline: sends and writes, no more than was granted */
	{IBV_QPT_RC, IBV_WR_SEND, 1, {WHOLE, 0}, IBV_SEND_INLINE, 0},
	{IBV_QPT_RC, IBV_WR_SEND, 1, {WHOLE + 1, 0}, IBV_SEND_INLINE, EINVAL},
	{IBV_QPT_RC, IBV_WR_SEND, 2, {WHOLE - 9, 10}, IBV_SEND_INLINE, EINVAL},
	{IBV_QPT_RC, IBV_WR_RDMA_WRITE, 1, {WHOLE, 0}, IBV_SEND_INLINE, 0},
	{IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM, 1, {WHOLE + 1, 0}, IBV_SEND_INLINE, EINVAL},
	{IBV_QPT_RC, IBV_WR_RDMA_READ, 1, {8, 0}, IBV_SEND_INLINE, EINVAL},
	{IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, {8, 0}, IBV_SEND_INLINE, EINVAL},
	{IBV_QPT_RC, IBV_WR_LOCAL_INV, 0, {0, 0}, IBV_SEND_INLINE, EINVAL},
	/* Atomics have eight bytes. */
	{IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, {7, 0}, 0, EINVAL},
	{IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, 2, {4, 4}, 0, 0},
	{IBV_QPT_RC, IBV_WR_ATOMIC_CMP_AND_SWP, 1, {9, 0}, 0, EINVAL},
	/* Elements: 6 fit. */
	{IBV_QPT_RC, IBV_WR_SEND, 7, {8, 0}, 0, EINVAL},
	{IBV_QPT_RC, IBV_WR_SEND, -1, {8, 0}, 0, EINVAL},
};

static void
test_refusals(void **state)
{
	struct ibv_sge sge[8] = {{0}};
	struct rr_end a, b;
	unsigned int i;

	for (i = 0; i < RTE_DIM(refusals); i++) {
		struct ibv_send_wr wr = {.sg_list = sge,
					 .num_sge = refusals[i].sges,
					 .opcode = refusals[i].op,
					 .send_flags = refusals[i].flags};
		int rc;

		lone(&a, &b, refusals[i].type, NULL);
		sge[0] = (struct ibv_sge){(uintptr_t)a.mem, refusals[i].len[0], a.mr->lkey};
		sge[1] = (struct ibv_sge){(uintptr_t)a.mem, refusals[i].len[1], a.mr->lkey};
		rc = post(&a, &wr);
		if (rc != refusals[i].want)
			fail_msg("row %u: %d", i, rc);
		assert_int_equal(dword(wqe_at(&a, 0), 0) == STAMP, rc != 0);
		rr_end_free(&a);
		rr_end_free(&b);
	}
}

/* --- BlueFlame --------------------------------------------------------------------------------------------------- */

static int
setup_bf(void **state)
{
	rr_open("bf=1", NULL);
	return 0;
}

/*
 * The copy has the queue pair's number and the request's place, is of whole blocks, and goes to the two halves of the register
 * in turn; several requests in a call, and those that are longer than a half, take the doorbell [DP 2.5].
 */
static void
test_blueflame(void **state)
{
	const struct ibv_qp_cap caps = {.max_send_wr = 4, .max_send_sge = 1, .max_inline_data = 400, .max_recv_wr = 1};
	static const struct {
		uint32_t len, blocks; /* blocks 0: by doorbell */
	} t[] = {{8, 1}, {44, 1}, {45, 2}, {104, 2}, {105, 3}, {224, 4}, {225, 0}, {8, 1}};
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, second;
	uint32_t half, n, off = 0, i;
	struct mlx4_roce_qp *q;
	struct ibv_send_wr *bad;
	struct rr_end a, b;
	uint8_t before[512];

	lone(&a, &b, IBV_QPT_UC, &caps);
	q = qp_of(&a);
	half = q->home->hca->caps.bf_reg_size / 2;
	assert_int_equal(half, 256);
	rr_fill(a.mem, 400, 3);
	for (n = 0; n < 3; n++) {
		/* Three at a time: so many find room. */
		uint32_t stop = RTE_MIN(n * 3 + 3, (uint32_t)RTE_DIM(t));

		for (i = n * 3; i < stop; i++) {
			uint8_t *bf = (uint8_t *)(uintptr_t)q->bf;
			const uint8_t *w = wqe_at(&a, i % 8);

			memset(bf, 0, 2 * half);
			memset(before, 0, sizeof(before));
			*q->db = 0;
			sge = (struct ibv_sge){.addr = (uintptr_t)a.mem, .length = t[i].len};
			wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
			assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
			assert_memory_equal(bf + (off ^ half), before, half);
			if (t[i].blocks == 0) {
				assert_memory_equal(bf + off, before, half);
				assert_int_equal(*q->db, htobe32(a.qp->qp_num << 8));
				continue;
			}
			assert_int_equal(*q->db, 0);
			assert_memory_equal(bf + off, w, t[i].blocks * 64);
			assert_memory_equal(bf + off + t[i].blocks * 64, before, half - t[i].blocks * 64);
			assert_int_equal(dword(w, 0) & 0x7fffffff, i << 8 | 0x0a);
			assert_int_equal(dword(w, 1) >> 8, a.qp->qp_num);
			off ^= half;
			tp_model_step(rig_model(0), 64);
		}
		rr_run();
		while (ibv_poll_cq(a.cq, 1, &(struct ibv_wc){0}) == 1)
			;
	}
	*q->db = 0;
	memset((uint8_t *)(uintptr_t)q->bf, 0, 2 * half);
	sge.length = 8;
	second = wr;
	wr.next = &second;
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
	assert_int_equal(*q->db, htobe32(a.qp->qp_num << 8));
	assert_memory_equal((uint8_t *)(uintptr_t)q->bf, before, half);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* --- traces ------------------------------------------------------------------------------------------------------ */

/* The dwords of an entry of a ring in a trace. */
static size_t
entry(const char *trace, const char *kind, uint32_t num, unsigned int i, const char **at)
{
	char head[64];
	const char *p;

	snprintf(head, sizeof(head), "entry %s 0x%x %u\n", kind, num, i);
	p = strstr(trace, head);
	if (p == NULL)
		fail_msg("no %s", head);
	for (*at = p += strlen(head); strspn(p, "0123456789abcdef") == 3 && p[3] == ':';)
		p += strcspn(p, "\n") + 1;
	return (size_t)(p - *at);
}

static void
same_entries(const char *ours, const char *cards, const char *kind, uint32_t num, unsigned int n)
{
	const char *a, *b;
	unsigned int i;
	size_t len;

	for (i = 0; i < n; i++) {
		len = entry(ours, kind, num, i, &a);
		assert_true(len > 0);
		assert_int_equal(entry(cards, kind, num, i, &b), len);
		assert_memory_equal(a, b, len);
	}
}

/* With a trace= the driver writes what its queues had when they go, and the card has seen the same. */
static void
test_traced(void **state)
{
	static char driver[1 << 20];
	char path[] = "/tmp/roce-trace.XXXXXX", args[64];
	uint32_t qpn[2], cqn[2];
	struct card_trace card;
	struct rr_end a, b;
	unsigned int i;
	FILE *f;

	close(mkstemp(path));
	snprintf(args, sizeof(args), "trace=%s", path);
	rr_open(args, NULL);
	card_trace_begin(&card, rig_model(0));
	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	for (i = 0; i < 3; i++) {
		assert_int_equal(rr_recv(&b, 0, 200) | rr_send(&a, 0, 100 + i, 0), 0);
		rr_run();
		rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
		rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV, 0);
	}
	qpn[0] = a.qp->qp_num;
	qpn[1] = b.qp->qp_num;
	cqn[0] = ((struct mlx4_roce_cq *)(void *)a.cq)->cqn;
	cqn[1] = ((struct mlx4_roce_cq *)(void *)b.cq)->cqn;
	rr_end_free(&a);
	rr_end_free(&b);
	card_trace_end(&card);
	rr_close();
	f = fopen(path, "r");
	assert_non_null(f);
	assert_true(fread(driver, 1, sizeof(driver) - 1, f) > 0);
	fclose(f);
	unlink(path);
	same_entries(driver, card.text, "sq", qpn[0], 3);
	same_entries(driver, card.text, "rq", qpn[1], 3);
	same_entries(driver, card.text, "cq", cqn[0], 3);
	same_entries(driver, card.text, "cq", cqn[1], 3);
	card_trace_free(&card);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_send_sizes),
		TEST(test_receive_sizes),
		TEST(test_shared_sizes),
		TEST(test_completion_sizes),
		TEST(test_stamps),
		TEST(test_owner_bits),
		TEST(test_doorbells),
		TEST(test_refusals),
		cmocka_unit_test_setup_teardown(test_blueflame, setup_bf, rr_teardown),
		cmocka_unit_test(test_traced),
	};

	if (rig_eal("mlx4_roce_ring", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-roce-ring", tests, NULL, NULL);
}
