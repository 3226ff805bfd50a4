/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What queue pairs keep by time: when each is looked at again, and what congestion has left behind. */
#include <stdlib.h>

#include <rte_cycles.h>

#include "lib/roce/soft/sw.h"
#include "pair.h"

#define QPS 24u

static unsigned int
cut(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	(void)p, (void)from, (void)m;
	return 0;
}

/* Nothing is due before what it lies below, and each queue pair knows its place. */
static void
in_order(const struct rsw_dev *d)
{
	for (uint32_t i = 1; i <= d->heap_len; i++) {
		assert_int_equal(d->heap[i].qp->heap_at, i);
		if (i > 1 && d->heap[i / 2].due > d->heap[i].due)
			fail_msg("%u of %u comes before its time", i, d->heap_len);
	}
}

/* Many that wait for ACKs, for 1 to 17 ms, in any order; some go in the middle. All others are told in the end. */
static void
many_wait(void **state)
{
	struct pair *p = *state;
	const struct rsw_dev *d = troce_dev_of(p->n[0].ctx)->home;
	struct ibv_qp *a[QPS], *b[QPS];
	unsigned int most = 0, told = 0;
	struct ibv_wc wc;

	for (unsigned int round = 0; round < 4; round++) {
		for (unsigned int i = 0; i < QPS; i++) {
			const struct qp_conf c = {.type = IBV_QPT_RC,
						  .timeout = (uint8_t)(8 + pair_random(p) % 5),
						  .retry = 1 + pair_random(p) % 3};

			pair_qps(p, &c, &a[i], &b[i]);
		}
		p->wire = cut;
		for (unsigned int i = 0; i < QPS; i++) {
			pair_send(p, 0, a[i], i, 0, 64);
			pair_step(p);
			in_order(d);
		}
		most = RTE_MAX(most, d->heap_len);
		for (unsigned int i = 0; i < QPS; i += 3) {
			assert_int_equal(tp_roce_destroy_qp(a[i]), 0);
			in_order(d);
			pair_step(p);
			in_order(d);
		}
		for (told = 0; told < QPS - QPS / 3;) {
			pair_step(p);
			in_order(d);
			if (ibv_poll_cq(p->n[0].cq, 1, &wc) == 0)
				continue;
			if (wc.wr_id % 3 != 0) {
				assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
				told++;
			}
		}
		assert_int_equal(d->heap_len, 0);
		p->wire = NULL;
		for (unsigned int i = 0; i < QPS; i++) {
			if (i % 3 != 0)
				assert_int_equal(tp_roce_destroy_qp(a[i]), 0);
			assert_int_equal(tp_roce_destroy_qp(b[i]), 0);
		}
		pair_run(p, 1);
		while (ibv_poll_cq(p->n[0].cq, 1, &wc) != 0)
			;
	}
	assert_true(most > QPS / 2);
}

/* An acknowledgement has come, and lies behind more frames of others than a poll takes, on a machine that polls too seldom: a time-out
 * that is due by then is none of the peer's. */
static void
answer_waits_behind_others(void **state)
{
	static const uint8_t other[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
	const struct qp_conf c = {.type = IBV_QPT_RC, .timeout = 10, .retry = 1};
	struct pair *p = *state;
	struct ibv_qp *a, *b;
	uint64_t before = pair_stat(p, 0, "req_timeouts");
	struct ibv_wc wc;
	unsigned int polls;

	pair_qps(p, &c, &a, &b);
	pair_recv(p, 1, b, 7, 4096, 64);
	pair_send(p, 0, a, 1, 0, 64);
	pair_step(p);
	for (unsigned int i = 0; i < 320; i++)
		pair_inject(p, 0, other, sizeof(other));
	/* The other end answers, behind them. */
	pair_step(p);
	for (polls = 0; ibv_poll_cq(p->n[0].cq, 1, &wc) == 0; polls++) {
		rte_delay_us_sleep(6000);
		tp_roce_progress(p->n[0].ctx);
	}
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_true(polls > 5);
	assert_int_equal(pair_stat(p, 0, "req_timeouts"), before);
	assert_int_equal(ibv_poll_cq(p->n[1].cq, 1, &wc), 1);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* What congestion has done to a queue pair is of its path: another path, or a reset, ends it; nothing else does. */
static void
congestion_is_of_a_path(void **state)
{
	static const struct {
		enum ibv_qp_state to;
		int mask;
		bool ends;
	} row[] = {
		{IBV_QPS_RTS, IBV_QP_MIN_RNR_TIMER, false},
		{IBV_QPS_SQD, 0, false},
		{IBV_QPS_SQD, IBV_QP_AV, true},
		{IBV_QPS_RTS, 0, false},
		{IBV_QPS_ERR, 0, false},
		{IBV_QPS_RESET, 0, true},
	};
	const struct qp_conf c = {.type = IBV_QPT_RC};
	struct pair *p = *state;
	struct ibv_qp_init_attr init;
	struct ibv_qp *a, *b;
	struct ibv_qp_attr was;
	struct rsw_qp *qp;

	pair_qps(p, &c, &a, &b);
	assert_int_equal(tp_roce_query_qp(a, &was, IBV_QP_AV, &init), 0);
	qp = (struct rsw_qp *)a;
	for (unsigned int i = 0; i < RTE_DIM(row); i++) {
		struct ibv_qp_attr attr = was;

		attr.qp_state = row[i].to;
		qp->held_until = 7;
		memset(&qp->np, 0x11, sizeof(qp->np));
		assert_int_equal(tp_roce_modify_qp(a, &attr, IBV_QP_STATE | row[i].mask), 0);
		if ((qp->held_until == 0) != row[i].ends || (((const uint8_t *)&qp->np)[0] == 0) != row[i].ends)
			fail_msg("row %u: %s", i, row[i].ends ? "left" : "gone");
		/* Draining takes a turn. */
		pair_run(p, 1);
	}
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {T(many_wait), T(answer_waits_behind_others), T(congestion_is_of_a_path)};

	return cmocka_run_group_tests_name("roce_sw_timers", tests, NULL, NULL);
}
