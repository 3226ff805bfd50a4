/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs made ahead of their connections. */
#include <errno.h>

#include <rte_cycles.h>

#include "conn.h"
#include "tp_rdma.h"

#define WAIT_MS 60000u

static struct tp_roce_qp_pool_stats
pool_stats(struct tp_roce_qp_pool *pool)
{
	struct tp_roce_qp_pool_stats s;

	tp_roce_qp_pool_stats(pool, &s);
	return s;
}

/* The thread of a pool has made or destroyed what it has to. */
static void
pool_at_rest(struct tp_roce_qp_pool *pool, unsigned int ready, uint64_t destroyed)
{
	for (unsigned int i = 0; i < WAIT_MS; i++) {
		struct tp_roce_qp_pool_stats s = pool_stats(pool);

		if (s.ready == ready && s.destroyed == destroyed)
			return;
		rte_delay_us_sleep(1000);
	}
	fail_msg("%u ready, %u destroyed", pool_stats(pool).ready, (unsigned int)pool_stats(pool).destroyed);
}

static void
pools(void **state)
{
	struct pair *p = *state;
	struct tp_roce_qp_pool_conf conf = {
		.pd = p->n[0].pd,
		.size = 8,
		.threshold = 4,
		.init = {.qp_type = IBV_QPT_RC,
			 .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}}};
	struct rdma_conn_param param = {.retry_count = 7};
	struct tp_roce_qp_pool *pool;
	struct rdma_cm_id *l, *a, *b;
	struct ibv_qp *qp[10];

	conf.size = 0;
	assert_null(tp_roce_qp_pool_create(&conf));
	conf.size = TP_ROCE_POOL_MAX + 1;
	assert_null(tp_roce_qp_pool_create(&conf));
	conf.size = 3;
	assert_null(tp_roce_qp_pool_create(&conf));
	conf.size = 8;
	conf.init.send_cq = p->n[0].cq;
	assert_null(tp_roce_qp_pool_create(&conf));
	conf.init.send_cq = NULL;
	conf.init.qp_type = IBV_QPT_UD;
	assert_null(tp_roce_qp_pool_create(&conf));
	assert_int_equal(errno, EINVAL);
	conf.init.qp_type = IBV_QPT_RC;
	/* More than the port gives: nothing of it is left. */
	conf.init.cap.max_send_wr = 1u << 30;
	assert_null(tp_roce_qp_pool_create(&conf));
	conf.init.cap.max_send_wr = 4;

	pool = tp_roce_qp_pool_create(&conf);
	assert_non_null(pool);
	assert_int_equal(pool_stats(pool).ready, 8);
	/* Down to the threshold nothing is made, below it all. */
	for (unsigned int i = 0; i < 4; i++) {
		qp[i] = tp_roce_qp_pool_get(pool);
		assert_non_null(qp[i]);
		assert_int_equal(qp[i]->state, IBV_QPS_INIT);
		assert_non_null(qp[i]->send_cq);
	}
	rte_delay_us_sleep(20000);
	assert_int_equal(pool_stats(pool).ready, 4);
	assert_int_equal(pool_stats(pool).made, 8);
	qp[4] = tp_roce_qp_pool_get(pool);
	pool_at_rest(pool, 8, 0);
	assert_int_equal(pool_stats(pool).made, 13);
	assert_int_equal(tp_roce_qp_pool_destroy(pool), EBUSY);
	for (unsigned int i = 0; i < 5; i++)
		tp_roce_qp_pool_put(pool, qp[i]);
	pool_at_rest(pool, 8, 5);
	/* A connection */
	l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 4);
	assert_int_equal(tp_rdma_create_qp_pooled(l, pool), -1);
	a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	assert_int_equal(tp_rdma_create_qp_pooled(a, pool), 0);
	assert_int_equal(tp_rdma_create_qp_pooled(a, pool), -1);
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	b = conn_request(p, l);
	assert_int_equal(tp_rdma_create_qp_pooled(b, pool), -1);
	conn_with_qp(p, 1, b);
	assert_int_equal(tp_rdma_accept(b, &param), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
	conn_expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
	pair_recv(p, 1, b->qp, 1, 4096, 100);
	pair_send(p, 0, a->qp, 2, 0, 100);
	pair_wait(p, a->qp->send_cq, 1, NULL);
	pair_wait(p, p->n[1].cq, 1, NULL);
	conn_destroy(a);
	conn_expect_status(p, 1, RDMA_CM_EVENT_DISCONNECTED, 0);
	conn_destroy(b);
	conn_destroy(l);
	assert_int_equal(pool_stats(pool).out, 0);
	assert_int_equal(tp_roce_qp_pool_destroy(pool), 0);
}

/* Faster than anybody makes them: those that are missing are made on the spot, none is given twice. */
static void
pool_dry(void **state)
{
	struct pair *p = *state;
	const struct tp_roce_qp_pool_conf conf = {.pd = p->n[0].pd,
						  .size = 2,
						  .threshold = 2, /* one that is left is no reason to make another */
						  .init = {.qp_type = IBV_QPT_UC,
							   .send_cq = p->n[0].cq,
							   .recv_cq = p->n[0].cq,
							   .cap = {.max_send_wr = 1, .max_recv_wr = 1}}};
	struct tp_roce_qp_pool *pool = tp_roce_qp_pool_create(&conf);
	struct ibv_qp *qp[50];

	assert_non_null(pool);
	for (unsigned int i = 0; i < 50; i++) {
		qp[i] = tp_roce_qp_pool_get(pool);
		assert_non_null(qp[i]);
		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(qp[i]->qp_num, qp[k]->qp_num);
	}
	assert_int_equal(pool_stats(pool).out, 50);
	assert_int_equal(pool_stats(pool).taken, 50);
	for (unsigned int i = 0; i < 50; i++)
		tp_roce_qp_pool_put(pool, qp[i]);
	pool_at_rest(pool, 2, 50);
	assert_int_equal(pool_stats(pool).made, 52);
	assert_int_equal(pool_stats(pool).failures, 0);
	assert_int_equal(tp_roce_qp_pool_destroy(pool), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, conn_setup, conn_teardown)
	const struct CMUnitTest tests[] = {
		T(pools),
		T(pool_dry),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
