/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Completion queues at run time: arming, sequence numbers, moderation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_pair.h"

static void
send_n(struct fix *f, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		rig_data(&f->tx, 1, f->tx.bufs, 60);
		rig_post(&f->tx, MLX4_OP_SEND, 2, MLX4_CTRL_NO_ICRC);
	}
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 64);
}

static void
arm(struct fix *f, uint32_t sn, uint32_t ci)
{
	uint8_t db[8];

	prm_set32(db, 0, sn << MLX4_CQ_ARM_SN_SHIFT | MLX4_CQ_ARM_NEXT << MLX4_CQ_ARM_CMD_SHIFT | f->rx.qp->rcq->cqn);
	prm_set32(db, 4, ci);
	assert_int_equal(tp_model_uar_write(f->r.m, f->rx.qp->uar * 4096 + MLX4_UAR_CQ_ARM, db, 8), 0);
}

static void
fires_once(void **state)
{
	struct fix *f = *state;
	struct tpm_cq *cq = f->rx.qp->rcq;

	send_n(f, 1);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_IDLE);
	arm(f, 1, 1);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_ARMED);
	send_n(f, 1);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_FIRED);
	assert_int_equal(cq->last_notified, 2);
	/* The same number was answered already. */
	arm(f, 1, 2);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_FIRED);
	/* Completions beyond the index: at once. */
	arm(f, 2, 1);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_FIRED);
	assert_int_equal(cq->arm_sn, 2);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

static void
moderation(void **state)
{
	struct fix *f = *state;
	struct tpm_cq *cq = f->rx.qp->rcq;

	cq->mod_count = 4;
	cq->mod_period_us = 50;
	arm(f, 1, 0);
	send_n(f, 3);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_ARMED);
	send_n(f, 1);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_FIRED);
	arm(f, 2, 4);
	send_n(f, 1);
	tp_model_set_time(f->r.m, 1000 + 49999);
	tp_model_step(f->r.m, 8);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_ARMED);
	tp_model_set_time(f->r.m, 1000 + 50000);
	tp_model_step(f->r.m, 8);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_FIRED);
}

/* Completions that wait when the queue is armed are moderated like those that come later. */
static void
moderated_at_arming(void **state)
{
	struct fix *f = *state;
	struct tpm_cq *cq = f->rx.qp->rcq;

	cq->mod_count = 4;
	cq->mod_period_us = 50;
	send_n(f, 3);
	arm(f, 1, 0);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_ARMED);
	send_n(f, 1);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_FIRED);
	send_n(f, 2);
	arm(f, 2, 4);
	tp_model_set_time(f->r.m, 1000 + 49999);
	tp_model_step(f->r.m, 8);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_ARMED);
	tp_model_set_time(f->r.m, 1000 + 50000);
	tp_model_step(f->r.m, 8);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_FIRED);
	send_n(f, 5);
	arm(f, 3, 6);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_FIRED);
}

/* A period of 0 is over at once, whatever the count: what Linux sets at low rates. */
static void
no_period(void **state)
{
	struct fix *f = *state;
	struct tpm_cq *cq = f->rx.qp->rcq;

	cq->mod_count = 44;
	cq->mod_period_us = 0;
	arm(f, 1, 0);
	send_n(f, 1);
	assert_int_equal(cq->arm, MLX4_CQ_STATE_FIRED);
}

/* The owner bit turns with each pass of the ring. */
static void
passes(void **state)
{
	struct fix *f = *state;

	for (unsigned int i = 0; i < 200; i++) {
		const struct mlx4_cqe *c;

		send_n(f, 1);
		c = rig_poll(f->rx.rcq, 64, &f->rx.rci, f->rx.rcq_rec);
		assert_non_null(c);
		assert_int_equal(rte_be_to_cpu_16(c->wqe_index), i);
		assert_int_equal((c->owner_sr_opcode & MLX4_CQE_OWNER) != 0, i / 64 % 2);
		*f->rx.dbrec = rte_cpu_to_be_32(64 + i + 1);
	}
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)
	const struct CMUnitTest tests[] = {T(fires_once), T(moderation), T(moderated_at_arming), T(no_period),
					   T(passes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
