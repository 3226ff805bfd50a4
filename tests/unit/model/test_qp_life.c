/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Verbs queue pairs over time: time-outs in virtual time, changes of state with work on its way, a CQ that overruns. */
#include "verbs_rig.h"

static const enum mlx4_qp_service reliable = MLX4_QP_ST_RC;

/* --- timers, in virtual time --- */

static void
test_lost_packet(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	v->end[0]->lose = 1;
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	vr_post_send(v, a, a->mem, 16);
	vr_step(v);
	assert_null(vr_poll_cq(v, b));
	vr_wait(v, 4194303); /* 4.096 us * 2^10 are not over */
	assert_int_equal(v->end[0]->sent, 1);
	vr_wait(v, 1);
	assert_int_equal(v->end[0]->sent, 2);
	vr_expect(v, b, 1, 0);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	vr_quiet(v);
}

static void
test_retries_exceeded(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	v->end[0]->lose = UINT32_MAX;
	vr_post_send(v, a, a->mem, 16);
	vr_step(v);
	for (unsigned int i = 0; i < 2; i++)
		vr_wait(v, 4194304);
	assert_int_equal(v->end[0]->sent, 3); /* once and two retries */
	assert_null(vr_poll_cq(v, a));
	vr_wait(v, 4194304);
	vr_expect_error(v, a, true, 0x15, 0);
	assert_int_equal(vr_diag(v, 1, 0x5c), 1);  /* retries exceeded */
	assert_int_equal(vr_diag(v, 1, 0x134), 3); /* time-outs */
	assert_int_equal(vr_diag(v, 2, 0x5c), 0);
	assert_int_equal(v->end[0]->sent, 3);
	assert_int_equal(vr_state(v, a), MLX4_QP_ERR);
}

static void
test_receiver_not_ready(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	vr_post_send(v, a, a->mem, 16);
	vr_step(v);
	vr_wait(v, 639999); /* code 12: 0.64 ms */
	assert_int_equal(v->end[0]->sent, 1);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	vr_wait(v, 1);
	vr_expect(v, b, 1, 0);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	/* With none for longer than the retries last */
	vr_post_send(v, a, a->mem, 16);
	vr_step(v);
	for (unsigned int i = 0; i < 2; i++)
		vr_wait(v, 640000);
	vr_expect_error(v, a, true, 0x16, 1);
	assert_int_equal(vr_diag(v, 1, 0x64), 1); /* RNR retries exceeded */
	assert_int_equal(vr_diag(v, 1, 0x6c), 4); /* RNR NAKs received, and sent */
	assert_int_equal(vr_diag(v, 2, 0x68), 4);
	assert_int_equal(vr_diag(v, 0, 0x68), 4);
	assert_int_equal(vr_state(v, b), MLX4_QP_RTS);
	vr_quiet(v);
}

/* --- states --- */

static void
test_error_flushes_in_order(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	v->end[0]->lose = UINT32_MAX;
	for (unsigned int i = 0; i < 5; i++) {
		vr_post_recv(v, a, VR_RW_KEY, a->mem, 64);
		vr_post_send(v, a, a->mem, 16);
	}
	vr_step(v);
	assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2ERR_QP, 0, a->qpn), 0);
	vr_step(v);
	for (uint16_t i = 0; i < 5; i++)
		vr_expect_error(v, a, true, 0x05, i);
	for (uint16_t i = 0; i < 5; i++)
		vr_expect_error(v, a, false, 0x05, i);
	assert_null(vr_poll_cq(v, a));
	/* What is posted now is flushed too: software drains a queue so. */
	vr_post_send(v, a, a->mem, 16);
	vr_post_recv(v, a, VR_RW_KEY, a->mem, 64);
	vr_step(v);
	vr_expect_error(v, a, true, 0x05, 5);
	vr_expect_error(v, a, false, 0x05, 5);
	assert_int_equal(vr_diag(v, 1, 0x20), 6); /* flushed receives and sends */
	assert_int_equal(vr_diag(v, 1, 0x24), 6);
	assert_null(vr_poll_cq(v, a));
	vr_quiet(v);
}

static void
test_reset_with_work(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	v->end[0]->lose = 3;
	for (unsigned int i = 0; i < 3; i++)
		vr_post_send(v, a, a->mem, 4000);
	tp_model_step(v->c->m, 2);
	assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2RST_QP, 2, a->qpn), 0);
	vr_wait(v, UINT64_C(1000000000));
	assert_null(vr_poll_cq(v, a));
	/* And up again, from the beginning of its rings */
	for (uint32_t i = 0; i < 1u << VR_LG_SQ; i++)
		prm_set32(card_ptr(v->c, a->ring), i * 64, UINT32_MAX);
	prm_set32(card_ptr(v->c, a->dbrec), 0, 0);
	a->prod = a->rprod = 0;
	assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2RST_QP, 2, b->qpn), 0);
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	vr_exchange(v, a, b, 2000);
	vr_quiet(v);
}

static void
test_drain(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	v->end[0]->lose = 1;
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	vr_post_send(v, a, a->mem, 16);
	tp_model_step(v->c->m, 32);
	assert_int_equal(card_cmd_none(v->c, MLX4_CMD_RTS2SQD_QP, 0, a->qpn | 1u << 31), 0);
	vr_step(v);
	vr_no_event(v); /* one is on its way, and lost */
	vr_wait(v, 4194304);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	vr_expect_event(v, MLX4_EVENT_SQ_DRAINED, a->qpn);
	vr_no_event(v);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SQD2RTS_QP, 0, a->qpn), 0);
	vr_post_send(v, a, a->mem, 16);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 1);
	vr_quiet(v);
}

static void
test_established(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = vr_qp(v, 1, reliable), *b = vr_qp(v, 2, reliable);

	vr_to(v, a, 2, b->qpn, VR_GID_V4);
	vr_to(v, b, 1, a->qpn, VR_GID_V4);
	vr_qp_up(v, a);
	assert_int_equal(card_qp_step(v->c, MLX4_CMD_RST2INIT_QP, b->qpn, b->ctx), 0);
	assert_int_equal(card_qp_step(v->c, MLX4_CMD_INIT2RTR_QP, b->qpn, b->ctx), 0);
	vr_exchange(v, a, b, 10);
	vr_expect_event(v, MLX4_EVENT_COMM_EST, b->qpn);
	vr_exchange(v, a, b, 10);
	vr_quiet(v);
}

/* Nothing is consumed: the 65th completion finds no room, and the queue pairs of the CQ are in error. */
static void
test_cq_overrun(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	for (unsigned int i = 0; i < 65; i++)
		vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem, 8, VR_RW_KEY, b->mem);
	vr_step(v);
	card_expect(v->c, "cq-overrun", 1);
	vr_expect_event(v, MLX4_EVENT_CQ_ERROR, a->cqn);
	vr_expect_event(v, MLX4_EVENT_WQ_CATAS, a->qpn);
	vr_no_event(v);
	assert_int_equal(vr_state(v, a), MLX4_QP_ERR);
	assert_int_equal(vr_state(v, b), MLX4_QP_RTS);
}

#define T(f) cmocka_unit_test_setup_teardown(f, vr_up, vr_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_lost_packet),        T(test_retries_exceeded),
		T(test_receiver_not_ready), T(test_error_flushes_in_order),
		T(test_reset_with_work),    T(test_drain),
		T(test_established),        T(test_cq_overrun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
