/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The short ways of posting and polling: each length, each length of WQEs, lists that mix what is short with what is not, and
 * what is refused in the middle of them. The card reads what was written and says so, by the bytes that arrive.
 */
#include <rte_vect.h>

#include "roce_wqe.h"

#define LIST 24u
#define LEN_MOST 240u
#define TO 32768u /* in the receiver's memory */

static const uint32_t inlines[] = {0, 64, 180}; /* WQEs of one, two and four blocks; of datagrams of two or more */

static struct ibv_qp_cap
caps_of(uint32_t max_inline)
{
	return (struct ibv_qp_cap){.max_send_wr = RR_WRS,
				   .max_recv_wr = RR_WRS,
				   .max_send_sge = 1,
				   .max_recv_sge = 1,
				   .max_inline_data = max_inline};
}

static void
pair(struct rr_end *a, struct rr_end *b, enum ibv_qp_type type, uint32_t max_inline)
{
	const struct ibv_qp_cap caps = caps_of(max_inline);
	struct ibv_ah_attr to;

	lone(a, b, type, &caps);
	rr_attr(&to, 1, RR_IPV4_V2);
	if (type == IBV_QPT_UD) {
		a->ah = tp_roce_create_ah(rr_pd[0], &to);
		assert_non_null(a->ah);
	}
}

static uint32_t
granted(const struct rr_end *e)
{
	return ((const struct troce_qp *)(const void *)e->qp)->init.cap.max_inline_data;
}

static struct ibv_send_wr
request(const struct rr_end *a, const struct rr_end *b, enum ibv_wr_opcode op, struct ibv_sge *sge, unsigned int flags)
{
	struct ibv_send_wr wr = {.sg_list = sge, .num_sge = 1, .opcode = op, .send_flags = flags | IBV_SEND_SIGNALED};

	if (a->qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = a->ah;
		wr.wr.ud.remote_qpn = b->qp->qp_num;
		wr.wr.ud.remote_qkey = RR_QKEY;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)b->mem + TO;
		wr.wr.rdma.rkey = b->mr->rkey;
	}
	return wr;
}

/* One message of each length, inline and from memory. */
static void
lengths(enum ibv_qp_type type, enum ibv_wr_opcode op, uint32_t max_inline)
{
	const bool send = op == IBV_WR_SEND;
	const uint32_t grh = type == IBV_QPT_UD ? 40 : 0;
	struct rr_end a, b;
	uint32_t len, most;
	unsigned int in;

	pair(&a, &b, type, max_inline);
	most = granted(&a);
	for (in = 0; in < 2; in++)
		for (len = 0; len <= LEN_MOST; len++) {
			struct ibv_sge sge = {(uintptr_t)a.mem + len % 5, len, a.mr->lkey};
			struct ibv_send_wr wr = request(&a, &b, op, &sge, in != 0 ? IBV_SEND_INLINE : 0);

			rr_fill(a.mem, LEN_MOST + 8, (uint8_t)len);
			memset(b.mem + TO, 0xee, 512);
			wr.wr_id = len;
			if (in != 0 && len > most) {
				assert_int_equal(post(&a, &wr), EINVAL);
				continue;
			}
			if (send)
				assert_int_equal(rr_recv(&b, TO, 512), 0);
			assert_int_equal(post(&a, &wr), 0);
			rr_run();
			rr_expect(&a, IBV_WC_SUCCESS, send ? IBV_WC_SEND : IBV_WC_RDMA_WRITE, len);
			if (send)
				assert_int_equal(rr_poll(&b).byte_len, len + grh);
			assert_memory_equal(b.mem + TO + grh, a.mem + len % 5, len);
			assert_int_equal(b.mem[TO + grh + len], 0xee);
		}
	rr_end_free(&a);
	rr_end_free(&b);
}

static void
test_lengths(void **state)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(inlines); i++) {
		lengths(IBV_QPT_RC, IBV_WR_SEND, inlines[i]);
		lengths(IBV_QPT_RC, IBV_WR_RDMA_WRITE, inlines[i]);
		lengths(IBV_QPT_UC, IBV_WR_RDMA_WRITE, inlines[i]);
		lengths(IBV_QPT_UD, IBV_WR_SEND, inlines[i]);
	}
}

/* Lists over the ring's end, of requests that differ from each other as chance has it. */
static void
lists(enum ibv_qp_type type, uint32_t max_inline)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_SEND, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
						 IBV_WR_RDMA_READ};
	struct ibv_sge sge[LIST];
	struct ibv_send_wr wr[LIST], *bad;
	struct ibv_wc wc[LIST];
	struct rr_end a, b;
	unsigned int i, n, round, sends, rnd = 1, at[LIST];

	pair(&a, &b, type, max_inline);
	for (round = 0; round < 60; round++) {
		enum ibv_wr_opcode op = IBV_WR_SEND;
		unsigned int flags = 0;
		struct ibv_recv_wr rwr[LIST], *rbad;
		struct ibv_sge rsge[LIST];

		n = 1 + round * 7 % LIST;
		sends = 0;
		for (i = 0; i < n; i++) {
			rnd = rnd * 1103515245 + 12345;
			if ((rnd >> 16) % 3 == 0) {
				op = ops[(rnd >> 20) % (type == IBV_QPT_UD ? 3 : RTE_DIM(ops))];
				flags = (rnd >> 24 & 1) != 0 && op != IBV_WR_RDMA_READ && max_inline != 0
						? IBV_SEND_INLINE
						: 0;
			}
			at[i] = 256 * i;
			sge[i] = (struct ibv_sge){(uintptr_t)a.mem + at[i], 1 + (rnd >> 8) % RTE_MAX(max_inline, 32u),
						  a.mr->lkey};
			wr[i] = request(&a, &b, op, &sge[i], flags);
			wr[i].wr_id = 1000 * round + i;
			wr[i].next = i + 1 == n ? NULL : &wr[i + 1];
			if (op == IBV_WR_RDMA_WRITE || op == IBV_WR_RDMA_READ) {
				wr[i].wr.rdma.remote_addr += 256 * i;
			} else {
				rsge[sends] = (struct ibv_sge){(uintptr_t)b.mem + TO + 256 * i, 256, b.mr->lkey};
				rwr[sends] = (struct ibv_recv_wr){
					.wr_id = i, .sg_list = &rsge[sends], .num_sge = 1, .next = &rwr[sends + 1]};
				sends++;
			}
		}
		rr_fill(a.mem, 256 * LIST, (uint8_t)round);
		rr_fill(b.mem + TO, 256 * LIST, (uint8_t)(round + 100));
		if (sends != 0) {
			rwr[sends - 1].next = NULL;
			assert_int_equal(ibv_post_recv(b.qp, rwr, &rbad), 0);
		}
		assert_int_equal(ibv_post_send(a.qp, wr, &bad), 0);
		rr_run();
		assert_int_equal(ibv_poll_cq(a.cq, LIST, wc), (int)n);
		for (i = 0; i < n; i++) {
			const uint32_t to = TO + 256 * i + (type == IBV_QPT_UD ? 40 : 0);

			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
			assert_int_equal(wc[i].wr_id, wr[i].wr_id);
			assert_memory_equal(a.mem + at[i], b.mem + to, sge[i].length);
		}
		assert_int_equal(ibv_poll_cq(b.cq, LIST, wc), (int)sends);
		for (i = 0; i < sends; i++) {
			n = (unsigned int)wc[i].wr_id;
			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
			assert_int_equal(wc[i].qp_num, b.qp->qp_num);
			assert_int_equal(wc[i].byte_len, sge[n].length + (type == IBV_QPT_UD ? 40 : 0));
			assert_int_equal((wc[i].wc_flags & IBV_WC_WITH_IMM) != 0, wr[n].opcode == IBV_WR_SEND_WITH_IMM);
		}
	}
	rr_end_free(&a);
	rr_end_free(&b);
}

static void
test_lists(void **state)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(inlines); i++) {
		lists(IBV_QPT_RC, inlines[i]);
		lists(IBV_QPT_UD, inlines[i]);
	}
}

/* Lists of inline requests that are alike, of each length, and behind them shorter ones that are alike, too. */
static void
alike(enum ibv_qp_type type, enum ibv_wr_opcode op, uint32_t max_inline)
{
	enum { N = 5, LONG = 3 };
	const uint32_t grh = type == IBV_QPT_UD ? 40 : 0;
	struct ibv_sge sge[N], rsge[N];
	struct ibv_send_wr wr[N], *bad;
	struct ibv_recv_wr rwr[N], *rbad;
	struct ibv_wc wc[N];
	struct rr_end a, b;
	uint32_t len, i;

	pair(&a, &b, type, max_inline);
	for (len = 2; len <= granted(&a); len++) {
		rr_fill(a.mem, 256 * N, (uint8_t)len);
		memset(b.mem + TO, 0xee, 512 * N);
		for (i = 0; i < N; i++) {
			sge[i] = (struct ibv_sge){(uintptr_t)a.mem + 256 * i, i < LONG ? len : len / 2, a.mr->lkey};
			rsge[i] = (struct ibv_sge){(uintptr_t)b.mem + TO + 512 * i, 512, b.mr->lkey};
			wr[i] = request(&a, &b, op, &sge[i], IBV_SEND_INLINE);
			wr[i].wr_id = len * N + i;
			if (op == IBV_WR_RDMA_WRITE)
				wr[i].wr.rdma.remote_addr += 512 * i;
			wr[i].next = i + 1 == N ? NULL : &wr[i + 1];
			rwr[i] = (struct ibv_recv_wr){
				.sg_list = &rsge[i], .num_sge = 1, .next = i + 1 == N ? NULL : &rwr[i + 1]};
		}
		if (op == IBV_WR_SEND)
			assert_int_equal(ibv_post_recv(b.qp, rwr, &rbad), 0);
		assert_int_equal(ibv_post_send(a.qp, wr, &bad), 0);
		rr_run();
		assert_int_equal(ibv_poll_cq(a.cq, N, wc), N);
		for (i = 0; i < N; i++) {
			const uint8_t *got = b.mem + TO + 512 * i + grh;

			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
			assert_int_equal(wc[i].wr_id, wr[i].wr_id);
			assert_memory_equal(got, a.mem + 256 * i, sge[i].length);
			assert_int_equal(got[sge[i].length], 0xee);
		}
		assert_int_equal(ibv_poll_cq(b.cq, N, wc), op == IBV_WR_SEND ? N : 0);
		for (i = 0; i < N && op == IBV_WR_SEND; i++)
			assert_int_equal(wc[i].byte_len, sge[i].length + grh);
	}
	rr_end_free(&a);
	rr_end_free(&b);
}

static void
test_alike(void **state)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(inlines); i++) {
		alike(IBV_QPT_RC, IBV_WR_SEND, inlines[i]);
		alike(IBV_QPT_UC, IBV_WR_RDMA_WRITE, inlines[i]);
		alike(IBV_QPT_UD, IBV_WR_SEND, inlines[i]);
	}
}

/* The same of datagrams where wide vectors are not wanted, or not there. */
static void
test_narrow(void **state)
{
	const uint16_t was = rte_vect_get_max_simd_bitwidth();
	unsigned int i;

	assert_int_equal(rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_128), 0);
	for (i = 0; i < RTE_DIM(inlines); i++) {
		lists(IBV_QPT_UD, inlines[i]);
		alike(IBV_QPT_UD, IBV_WR_SEND, inlines[i]);
	}
	assert_int_equal(rte_vect_set_max_simd_bitwidth(was), 0);
}

/* What is before the request that is refused is sent, and no more; the same for want of room. */
static void
test_refused(void **state)
{
	struct ibv_sge sge[3];
	struct ibv_send_wr wr[RR_WRS * 4], *bad = NULL;
	struct ibv_recv_wr rwr[RR_WRS * 2], *rbad = NULL;
	struct rr_end a, b;
	unsigned int i, n, room;

	pair(&a, &b, IBV_QPT_RC, 64);
	for (i = 0; i < 3; i++) {
		sge[i] = (struct ibv_sge){(uintptr_t)a.mem, i == 2 ? LEN_MOST : 16, a.mr->lkey};
		wr[i] = request(&a, &b, IBV_WR_RDMA_WRITE, &sge[i], IBV_SEND_INLINE);
		wr[i].next = i == 2 ? NULL : &wr[i + 1];
	}
	assert_int_equal(ibv_post_send(a.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[2]);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 0);
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 0);
	rr_no_wc(&a);
	/* An opcode that there is not, a list that is too long for its queue, an atomic of another length. */
	wr[1].opcode = (enum ibv_wr_opcode)77;
	assert_int_equal(ibv_post_send(a.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	wr[1].opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	assert_int_equal(ibv_post_send(a.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	wr[1].send_flags = 0;
	assert_int_equal(ibv_post_send(a.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	wr[1].num_sge = 99;
	assert_int_equal(ibv_post_send(a.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	rr_run();
	for (i = 0; i < 4; i++)
		rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 0);
	/* Room. */
	room = ((const struct troce_qp *)(const void *)a.qp)->init.cap.max_send_wr;
	n = RTE_MIN(room + 3, RTE_DIM(wr));
	assert_true(room < n);
	for (i = 0; i < n; i++) {
		wr[i] = request(&a, &b, IBV_WR_RDMA_WRITE, &sge[0], IBV_SEND_INLINE);
		wr[i].wr_id = i;
		wr[i].next = i + 1 == n ? NULL : &wr[i + 1];
	}
	assert_int_equal(ibv_post_send(a.qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[room]);
	rr_run();
	for (i = 0; i < room; i++)
		rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, i);
	rr_no_wc(&a);
	/* Receives. */
	room = ((const struct troce_qp *)(const void *)b.qp)->init.cap.max_recv_wr;
	assert_true(room < RTE_DIM(rwr));
	for (i = 0; i <= room; i++)
		rwr[i] = (struct ibv_recv_wr){
			.wr_id = i, .sg_list = &sge[0], .num_sge = 1, .next = i == room ? NULL : &rwr[i + 1]};
	rwr[2].num_sge = 99;
	assert_int_equal(ibv_post_recv(b.qp, rwr, &rbad), EINVAL);
	assert_ptr_equal(rbad, &rwr[2]);
	rwr[2].num_sge = 1;
	assert_int_equal(ibv_post_recv(b.qp, rwr, &rbad), ENOMEM);
	assert_ptr_equal(rbad, &rwr[room - 2]);
	rr_state(&b, IBV_QPS_ERR);
	rr_run();
	for (i = 0; i < room; i++)
		rr_expect(&b, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV, i < 2 ? i : i - 2);
	rr_no_wc(&b);
	rr_end_free(&a);
	rr_end_free(&b);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {TEST(test_lengths), TEST(test_lists), TEST(test_alike), TEST(test_narrow),
					   TEST(test_refused)};

	if (rig_eal("mlx4_roce_fast", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-roce-fast", tests, NULL, NULL);
}
