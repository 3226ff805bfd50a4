/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What goes wrong with the card's queue pairs, and how it ends: posts that are refused, requests that fail with the status
 * of table 11.6.2, their counters and events, and what is flushed behind them.
 */
#include "roce_rig.h"

/* --- posts ----------------------------------------------------------------------------------------------------- */

static void
test_bad_posts(void **state)
{
	struct ibv_sge sge[40];
	struct ibv_send_wr wr = {.sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	struct ibv_recv_wr rwr = {.sg_list = sge, .num_sge = 1}, *rbad;
	struct rr_end a, b, u, v;
	struct ibv_qp_attr at;
	struct ibv_qp_init_attr init;
	unsigned int i;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	rr_pair(&u, &v, IBV_QPT_UC, RR_IPV4_V2);
	assert_int_equal(tp_roce_query_qp(a.qp, &at, 0, &init), 0);
	for (i = 0; i < RTE_DIM(sge); i++)
		sge[i] = (struct ibv_sge){.addr = (uintptr_t)a.mem, .length = 8, .lkey = a.mr->lkey};
	/* An opcode that nobody knows, and some that the type does not have */
	wr.opcode = 99;
	assert_int_equal(rr_post(&a, &wr), EINVAL);
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(rr_post(&u, &wr), EINVAL);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	assert_int_equal(rr_post(&u, &wr), EINVAL);
	/* Inline: one byte more than granted; where nothing is sent */
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_INLINE;
	sge[0].length = init.cap.max_inline_data + 1;
	assert_int_equal(rr_post(&a, &wr), EINVAL);
	sge[0].length = 8;
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(rr_post(&a, &wr), EINVAL);
	/* Elements: one more than granted, fewer than none; longer than any message */
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = 0;
	wr.num_sge = (int)init.cap.max_send_sge + 1;
	assert_int_equal(rr_post(&a, &wr), EINVAL);
	wr.num_sge = -1;
	assert_int_equal(rr_post(&a, &wr), EINVAL);
	wr.num_sge = 1;
	sge[0].length = (1u << 30) + 1;
	assert_int_equal(rr_post(&a, &wr), EINVAL);
	rwr.num_sge = (int)init.cap.max_recv_sge + 1;
	assert_int_equal(ibv_post_recv(a.qp, &rwr, &rbad), EINVAL);
	assert_ptr_equal(rbad, &rwr);
	/* In a chain the bad one is named, those before it are posted. */
	sge[0].length = 8;
	assert_int_equal(rr_recv(&b, 0, 64), 0);
	wr = (struct ibv_send_wr){
		.wr_id = 1, .sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	wr.next = &(struct ibv_send_wr){.wr_id = 2, .opcode = 99};
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	assert_int_equal(bad->wr_id, 2);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 1);
	rr_no_wc(&a);
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV, 0);
	rr_end_free(&a);
	rr_end_free(&b);
	rr_end_free(&u);
	rr_end_free(&v);
}

/* In which state what may be posted (10.3.1). */
static void
test_posts_by_state(void **state)
{
	struct rr_end a, b;
	unsigned int i;

	rr_end(&a, 0);
	rr_end(&b, 1);
	rr_qp(&a, IBV_QPT_RC, NULL);
	rr_qp(&b, IBV_QPT_RC, NULL);
	assert_int_equal(rr_send(&a, 0, 8, 0), EINVAL);
	assert_int_equal(rr_recv(&a, 0, 8), EINVAL);
	rr_init(&a);
	rr_init(&b);
	assert_int_equal(rr_send(&a, 0, 8, 0), EINVAL);
	assert_int_equal(rr_recv(&b, 0, 8), 0);
	rr_rtr(&a, &b, RR_IPV4_V2);
	rr_rtr(&b, &a, RR_IPV4_V2);
	assert_int_equal(rr_send(&a, 0, 8, 0), EINVAL);
	rr_rts(&a);
	rr_rts(&b);
	/* Stopped, requests wait. */
	rr_state(&a, IBV_QPS_SQD);
	assert_int_equal(rr_send(&a, 0, 8, 0), 0);
	rr_run();
	rr_no_wc(&a);
	rr_no_wc(&b);
	rr_state(&a, IBV_QPS_RTS);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV, 0);
	/* In error they are flushed, in their order. */
	for (i = 0; i < 3; i++)
		assert_int_equal(rr_recv(&a, i, 8), 0);
	rr_state(&a, IBV_QPS_ERR);
	for (i = 0; i < 3; i++)
		assert_int_equal(rr_send(&a, 10 + i, 8, 0), 0);
	assert_int_equal(rr_recv(&a, 3, 8), 0);
	rr_run();
	for (i = 0; i < 4; i++)
		rr_expect(&a, IBV_WC_WR_FLUSH_ERR, 0, i < 3 ? i : 10);
	for (i = 0; i < 3; i++)
		rr_poll(&a);
	rr_no_wc(&a);
	/* Reset forgets, and a second life begins. */
	assert_int_equal(rr_recv(&a, 4, 8), 0);
	rr_run();
	rr_state(&a, IBV_QPS_RESET);
	rr_no_wc(&a);
	rr_state(&b, IBV_QPS_RESET);
	rr_init(&a);
	rr_init(&b);
	rr_rtr(&a, &b, RR_IPV4_V2);
	rr_rtr(&b, &a, RR_IPV4_V2);
	rr_rts(&a);
	rr_rts(&b);
	assert_int_equal(rr_recv(&b, 7, 8), 0);
	assert_int_equal(rr_send(&a, 20, 8, 0), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 20);
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV, 7);
	rr_end_free(&a);
	rr_end_free(&b);
}

static void
test_full_queues(void **state)
{
	struct ibv_qp_attr at;
	struct ibv_qp_init_attr init;
	struct rr_end a, b;
	unsigned int i, round;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	assert_int_equal(tp_roce_query_qp(a.qp, &at, 0, &init), 0);
	assert_in_range(init.cap.max_send_wr, RR_WRS, 1024);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < init.cap.max_recv_wr; i++)
			assert_int_equal(rr_recv(&b, i, 64), 0);
		assert_int_equal(rr_recv(&b, i, 64), ENOMEM);
		for (i = 0; i < init.cap.max_recv_wr && i < init.cap.max_send_wr; i++)
			assert_int_equal(rr_send(&a, i, 8, 0), 0);
		for (; i < init.cap.max_send_wr; i++)
			assert_int_equal(rr_rdma(&a, IBV_WR_RDMA_WRITE, i, 8, &b, 0), 0);
		assert_int_equal(rr_send(&a, 0, 8, 0), ENOMEM);
		rr_run();
		for (i = 0; i < init.cap.max_send_wr; i++)
			assert_int_equal(rr_poll(&a).wr_id, i);
		for (i = 0; i < init.cap.max_recv_wr && i < init.cap.max_send_wr; i++)
			assert_int_equal(rr_poll(&b).wr_id, i);
		rr_no_wc(&a);
		rr_no_wc(&b);
	}
	rr_end_free(&a);
	rr_end_free(&b);
}

/* --- keys and bounds ------------------------------------------------------------------------------------------- */

enum { OWN, STALE, FOREIGN, READ_ONLY, KEYS };

static const struct bad_key {
	enum ibv_wr_opcode op;
	unsigned int local, remote; /* OWN ... */
	uint32_t len, at;           /* at: in the memory whose key it is about */
	enum ibv_wc_status status;
	const char *counter; /* of the requester */
	bool event;          /* at the responder */
} bad_keys[] = {
	{IBV_WR_SEND, STALE, OWN, 8, 0, IBV_WC_LOC_PROT_ERR, "req_protection_errors", false},
	{IBV_WR_SEND, FOREIGN, OWN, 8, 0, IBV_WC_LOC_PROT_ERR, "req_protection_errors", false},
	{IBV_WR_SEND, OWN, OWN, 8, RR_MEM - 7, IBV_WC_LOC_PROT_ERR, "req_protection_errors", false},
	{IBV_WR_RDMA_READ, READ_ONLY, OWN, 8, 0, IBV_WC_LOC_PROT_ERR, "req_protection_errors", false},
	{IBV_WR_RDMA_WRITE, OWN, STALE, 8, 0, IBV_WC_REM_ACCESS_ERR, "req_remote_access_errors", true},
	{IBV_WR_RDMA_WRITE, OWN, FOREIGN, 8, 0, IBV_WC_REM_ACCESS_ERR, "req_remote_access_errors", true},
	{IBV_WR_RDMA_WRITE, OWN, READ_ONLY, 8, 0, IBV_WC_REM_ACCESS_ERR, "req_remote_access_errors", true},
	{IBV_WR_RDMA_WRITE, OWN, OWN, 8, RR_MEM - 7, IBV_WC_REM_ACCESS_ERR, "req_remote_access_errors", true},
	{IBV_WR_RDMA_READ, OWN, STALE, 8, 0, IBV_WC_REM_ACCESS_ERR, "req_remote_access_errors", true},
	{IBV_WR_RDMA_READ, OWN, OWN, 4096, RR_MEM - 4095, IBV_WC_REM_ACCESS_ERR, "req_remote_access_errors", true},
};

static void
one_bad_key(const struct bad_key *t)
{
	struct ibv_pd *other[2];
	struct rr_end e[2];
	uint32_t key[2][KEYS];
	struct ibv_mr *mr[2][KEYS];
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = t->op};
	uint64_t before, sends, receives, accesses;
	unsigned int p;

	rr_pair(&e[0], &e[1], IBV_QPT_RC, RR_IPV4_V2);
	for (p = 0; p < 2; p++) {
		other[p] = tp_roce_alloc_pd(rr_ctx[p]);
		key[p][OWN] = e[p].mr->lkey;
		mr[p][STALE] = tp_roce_reg_mr(rr_pd[p], e[p].mem, RR_MEM, RR_ALL);
		key[p][STALE] = mr[p][STALE]->lkey;
		assert_int_equal(tp_roce_dereg_mr(mr[p][STALE]), 0);
		/* The same place of the table, the next key */
		mr[p][FOREIGN] = tp_roce_reg_mr(other[p], e[p].mem, RR_MEM, RR_ALL);
		key[p][FOREIGN] = mr[p][FOREIGN]->lkey;
		assert_int_not_equal(key[p][FOREIGN], key[p][STALE]);
		assert_int_equal(key[p][FOREIGN] >> 8, key[p][STALE] >> 8);
		mr[p][READ_ONLY] = tp_roce_reg_mr(rr_pd[p], e[p].mem, RR_MEM, IBV_ACCESS_REMOTE_READ);
		key[p][READ_ONLY] = mr[p][READ_ONLY]->lkey;
	}
	before = rr_stat(0, t->counter);
	sends = rr_stat(0, "req_flushed");
	receives = rr_stat(0, "resp_flushed");
	accesses = rr_stat(1, "resp_access_errors");
	sge = (struct ibv_sge){.addr = (uintptr_t)e[0].mem + (t->op == IBV_WR_SEND ? t->at : 0),
			       .length = t->len,
			       .lkey = key[0][t->local]};
	wr.wr.rdma.remote_addr = (uintptr_t)e[1].mem + t->at;
	wr.wr.rdma.rkey = key[1][t->remote];
	assert_int_equal(rr_recv(&e[0], 5, 64), 0);
	assert_int_equal(rr_post(&e[0], &wr), 0);
	assert_int_equal(rr_send(&e[0], 2, 8, 0), 0);
	rr_run();
	rr_expect(&e[0], t->status, 0, 1);
	rr_expect(&e[0], IBV_WC_WR_FLUSH_ERR, 0, 2);
	rr_expect(&e[0], IBV_WC_WR_FLUSH_ERR, 0, 5);
	rr_no_wc(&e[0]);
	assert_int_equal(e[0].qp->state, IBV_QPS_ERR);
	assert_int_equal(rr_stat(0, t->counter), before + 1);
	assert_int_equal(rr_stat(0, "req_flushed"), sends + 1);
	assert_int_equal(rr_stat(0, "resp_flushed"), receives + 1);
	assert_int_equal(rr_stat(1, "resp_access_errors"), accesses + t->event);
	if (t->event) {
		rr_expect_event(1, IBV_EVENT_QP_ACCESS_ERR, e[1].qp);
		assert_int_equal(e[1].qp->state, IBV_QPS_ERR);
	} else if (t->op == IBV_WR_SEND) {
		assert_int_equal(e[1].qp->state, IBV_QPS_RTS);
	}
	for (p = 0; p < 2; p++) {
		assert_int_equal(tp_roce_dereg_mr(mr[p][FOREIGN]), 0);
		assert_int_equal(tp_roce_dereg_mr(mr[p][READ_ONLY]), 0);
		assert_int_equal(tp_roce_dealloc_pd(other[p]), 0);
		rr_end_free(&e[p]);
	}
}

static void
test_bad_keys(void **state)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(bad_keys); i++)
		one_bad_key(&bad_keys[i]);
}

/* Memory that the card cannot know, and addresses in other places of a page. */
static void
test_bad_regions(void **state)
{
	static uint8_t mine[4096];
	uint8_t *mem = rte_malloc(NULL, 8192, 4096);

	assert_null(tp_roce_reg_mr(rr_pd[0], mine, sizeof(mine), IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	assert_null(tp_roce_reg_mr_iova(rr_pd[0], mem, 4096, 0x1001, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EINVAL);
	rte_free(mem);
}

/* A region with addresses of its own: the peer uses those, from the first byte to the last. */
static void
test_iova(void **state)
{
	struct ibv_send_wr wr = {.wr_id = 3, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
	const uint64_t iova = UINT64_C(0x7000000000);
	struct rr_end a, b;
	struct ibv_mr *mr;
	struct ibv_sge sge;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	mr = tp_roce_reg_mr_iova(rr_pd[1], b.mem, RR_MEM, iova + ((uintptr_t)b.mem & 0xfff), RR_ALL);
	assert_non_null(mr);
	rr_fill(a.mem, 6000, 4);
	sge = (struct ibv_sge){.addr = (uintptr_t)a.mem, .length = 6000, .lkey = a.mr->lkey};
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = iova + ((uintptr_t)b.mem & 0xfff) + RR_MEM - 6000;
	wr.wr.rdma.rkey = mr->rkey;
	assert_int_equal(rr_post(&a, &wr), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 3);
	assert_memory_equal(b.mem + RR_MEM - 6000, a.mem, 6000);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* --- receivers -------------------------------------------------------------------------------------------------- */

static void
test_too_long(void **state)
{
	struct rr_end a, b;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	assert_int_equal(rr_recv(&b, 1, 99), 0);
	assert_int_equal(rr_send(&a, 0, 100, 0), 0);
	rr_run();
	rr_expect(&a, IBV_WC_REM_INV_REQ_ERR, 0, 0);
	rr_expect(&b, IBV_WC_LOC_LEN_ERR, 0, 1);
	assert_int_equal(rr_stat(1, "resp_length_errors"), 1);
	assert_int_equal(rr_stat(0, "req_remote_invalid_requests"), 1);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* Nothing to receive into: asked to come back later, in vain. */
static void
test_rnr(void **state)
{
	struct rr_end a, b;
	unsigned int i;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	assert_int_equal(rr_send(&a, 0, 8, 0), 0);
	rr_run();
	rr_no_wc(&a);
	/* In time: it is sent again. */
	assert_int_equal(rr_recv(&b, 1, 8), 0);
	rr_wait(1000000);
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV, 1);
	assert_int_equal(rr_send(&a, 2, 8, 0), 0);
	for (i = 0; i < 10; i++)
		rr_wait(1000000);
	rr_expect(&a, IBV_WC_RNR_RETRY_EXC_ERR, 0, 2);
	assert_int_equal(rr_stat(0, "req_rnr_retries_exceeded"), 1);
	assert_in_range(rr_stat(1, "resp_rnr_naks"), 2, 20);
	assert_int_equal(rr_stat(0, "req_rnr_naks"), rr_stat(1, "resp_rnr_naks"));
	rr_end_free(&a);
	rr_end_free(&b);
}

/* Nobody answers. */
static void
test_retries(void **state)
{
	struct rr_end a, b;
	unsigned int i;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	rr_state(&b, IBV_QPS_ERR);
	assert_int_equal(rr_rdma(&a, IBV_WR_RDMA_WRITE, 3, 8, &b, 0), 0);
	for (i = 0; i < 10; i++)
		rr_wait(10000000);
	rr_expect(&a, IBV_WC_RETRY_EXC_ERR, 0, 3);
	assert_int_equal(rr_stat(0, "req_retries_exceeded"), 1);
	assert_int_equal(rr_stat(0, "req_timeouts"), 3);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* --- completion queues ------------------------------------------------------------------------------------------ */

/* More completions than there is room for: an event of the queue, and of the queue pairs that complete to it. */
static void
test_overrun(void **state)
{
	struct ibv_cq *cq;
	struct rr_end a, b;
	unsigned int i;

	rr_end(&a, 0);
	rr_end(&b, 1);
	assert_int_equal(tp_roce_destroy_cq(a.cq), 0);
	a.cq = cq = tp_roce_create_cq(rr_ctx[0], 3, NULL, NULL, 0);
	assert_non_null(cq);
	assert_in_range(cq->cqe, 3, 15);
	rr_qp(&a, IBV_QPT_RC, NULL);
	rr_qp(&b, IBV_QPT_RC, NULL);
	rr_init(&a);
	rr_init(&b);
	rr_rtr(&a, &b, RR_IPV4_V2);
	rr_rtr(&b, &a, RR_IPV4_V2);
	rr_rts(&a);
	rr_rts(&b);
	for (i = 0; i < 20; i++)
		assert_int_equal(rr_rdma(&a, IBV_WR_RDMA_WRITE, i, 8, &b, 0), 0);
	rr_run();
	rr_expect_event(0, IBV_EVENT_CQ_ERR, cq);
	rr_expect_event(0, IBV_EVENT_QP_FATAL, a.qp);
	assert_int_equal(a.qp->state, IBV_QPS_ERR);
	assert_int_not_equal(rr_stat(0, "cq_overflows"), 0);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* What software did wrong, the model says, too. */
static int
teardown_overrun(void **state)
{
	rr_close_ports();
	assert_int_not_equal(tp_model_violations(rig_model(0), (unsigned int)tp_model_violation_by_name("cq-overrun")),
			     0);
	rig_unplug(RIG_DEV);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bad_posts),   TEST(test_posts_by_state),
		TEST(test_full_queues), TEST(test_bad_keys),
		TEST(test_bad_regions), TEST(test_iova),
		TEST(test_too_long),    TEST(test_rnr),
		TEST(test_retries),     cmocka_unit_test_setup_teardown(test_overrun, rr_setup, teardown_overrun),
	};

	if (rig_eal("mlx4_roce_errors", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
