/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Completion queues that get another size while completions wait, over many passes of their rings: each of them is polled once,
 * in order, and a queue takes as many as it says.
 */
#include <poll.h>

#include "roce_rig.h"

#define STEP 64u /* between the places of messages */

/* Messages from a to b, as many as the receive queue takes at once; where they begin. */
struct flow {
	struct rr_end a, b;
	struct ibv_comp_channel *channel; /* of b's queue, or NULL */
	uint32_t sent, polled;
};

static uint32_t
place(uint32_t n)
{
	return n % (RR_MEM / STEP) * STEP;
}

static void
flow_send(struct flow *f, uint32_t n)
{
	for (; n != 0; n--, f->sent++) {
		assert_int_equal(rr_recv(&f->b, place(f->sent), STEP), 0);
		assert_int_equal(rr_send(&f->a, place(f->sent), STEP, 0), 0);
	}
	rr_run();
	for (struct ibv_wc wc; ibv_poll_cq(f->a.cq, 1, &wc) == 1;)
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

/* All but so many of those that wait. */
static void
flow_poll(struct flow *f, uint32_t but)
{
	for (; f->sent - f->polled > but; f->polled++)
		(void)rr_expect(&f->b, IBV_WC_SUCCESS, IBV_WC_RECV, place(f->polled));
	if (but == 0)
		rr_no_wc(&f->b);
}

static void
flow_open(struct flow *f, int cqe, bool events)
{
	memset(f, 0, sizeof(*f));
	rr_end(&f->a, 0);
	rr_end(&f->b, 1);
	assert_int_equal(tp_roce_destroy_cq(f->b.cq), 0);
	f->channel = events ? tp_roce_create_comp_channel(rr_ctx[1]) : NULL;
	f->b.cq = tp_roce_create_cq(rr_ctx[1], cqe, NULL, f->channel, 0);
	assert_non_null(f->b.cq);
	rr_qp(&f->a, IBV_QPT_RC, NULL);
	rr_qp(&f->b, IBV_QPT_RC, NULL);
	rr_init(&f->a);
	rr_init(&f->b);
	rr_rtr(&f->a, &f->b, RR_IPV4_V2);
	rr_rtr(&f->b, &f->a, RR_IPV4_V2);
	rr_rts(&f->a);
	rr_rts(&f->b);
}

static void
flow_close(struct flow *f)
{
	flow_poll(f, 0);
	rr_end_free(&f->a);
	rr_end_free(&f->b);
	if (f->channel != NULL)
		assert_int_equal(tp_roce_destroy_comp_channel(f->channel), 0);
}

/* To this size from any place of the old ring, with so many completions that wait. */
static void
resize_with(struct flow *f, int cqe, uint32_t waiting)
{
	uint32_t room;

	flow_poll(f, 0);
	flow_send(f, waiting);
	assert_int_equal(tp_roce_resize_cq(f->b.cq, cqe), 0);
	assert_true(f->b.cq->cqe >= cqe);
	/* As full as it may be, at once; then some passes. */
	room = RTE_MIN((uint32_t)f->b.cq->cqe, RR_WRS);
	flow_send(f, room - waiting);
	flow_poll(f, room / 2);
	flow_send(f, room - room / 2);
	flow_poll(f, 0);
	for (uint32_t i = 0; i < 3; i++) {
		flow_send(f, room);
		flow_poll(f, 0);
	}
}

static void
test_sizes(void **state)
{
	static const int sizes[] = {7, 31, 3, 255, 15, 1, 2, 63, 16, 8};
	struct flow f;

	flow_open(&f, 5, false);
	for (uint32_t i = 0; i < 12 * RTE_DIM(sizes); i++) {
		int now = f.b.cq->cqe, to = sizes[i % RTE_DIM(sizes)];
		uint32_t most = (uint32_t)RTE_MIN(RTE_MIN(now, to), (int)RR_WRS);

		/* The next one begins at another place. */
		flow_send(&f, 1);
		resize_with(&f, to, i % (most + 1));
	}
	flow_close(&f);
}

/* What waits to be polled must find room; what was polled needs none. */
static void
test_too_small(void **state)
{
	struct flow f;

	flow_open(&f, 31, false);
	flow_send(&f, 30);
	flow_poll(&f, 0);
	flow_send(&f, 8);
	assert_int_equal(tp_roce_resize_cq(f.b.cq, 3), EINVAL);
	assert_int_equal(tp_roce_resize_cq(f.b.cq, 7), EINVAL);
	assert_int_equal(tp_roce_resize_cq(f.b.cq, 0), EINVAL);
	assert_int_equal(tp_roce_resize_cq(f.b.cq, -1), EINVAL);
	assert_int_equal(tp_roce_resize_cq(f.b.cq, INT_MAX), EINVAL);
	assert_int_equal(f.b.cq->cqe, 31);
	flow_poll(&f, 7);
	assert_int_equal(tp_roce_resize_cq(f.b.cq, 7), 0);
	assert_int_equal(f.b.cq->cqe, 7);
	flow_poll(&f, 0);
	assert_int_equal(tp_roce_resize_cq(f.b.cq, 1), 0);
	flow_send(&f, 1);
	flow_close(&f);
}

static bool
event(struct flow *f, int ms)
{
	struct pollfd fd = {.fd = f->channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	void *context;

	if (poll(&fd, 1, ms) != 1)
		return false;
	assert_int_equal(tp_roce_get_cq_event(f->channel, &cq, &context), 0);
	assert_ptr_equal(cq, f->b.cq);
	tp_roce_ack_cq_events(cq, 1);
	return true;
}

/* The queue stays armed, and can be armed. */
static void
test_armed(void **state)
{
	struct flow f;

	flow_open(&f, 15, true);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(ibv_req_notify_cq(f.b.cq, 0), 0);
		rr_run();
		assert_int_equal(tp_roce_resize_cq(f.b.cq, i % 2 == 0 ? 63 : 7), 0);
		rr_run();
		assert_false(event(&f, i == 0 ? 20 : 0));
		flow_send(&f, 3);
		assert_true(event(&f, 30000));
		flow_poll(&f, 0);
	}
	flow_close(&f);
}

/* Queue pairs that are reset take what they completed along, wherever it lies by then. */
static void
test_reset(void **state)
{
	struct flow f;

	flow_open(&f, 15, false);
	flow_send(&f, 9);
	assert_int_equal(tp_roce_resize_cq(f.b.cq, 63), 0);
	flow_send(&f, 4);
	rr_state(&f.b, IBV_QPS_RESET);
	rr_no_wc(&f.b);
	f.polled = f.sent;
	flow_close(&f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {TEST(test_sizes), TEST(test_too_small), TEST(test_armed), TEST(test_reset)};

	if (rig_eal("mlx4_roce_resize", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-roce-resize", tests, NULL, NULL);
}
