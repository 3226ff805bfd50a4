/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* One wrong action per rule of the data path: the rule is counted by name, and the card answers as it would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_pair.h"

/* The WQE at hand goes out: the rule is broken once and the QP dies of it with this syndrome. */
static void
dies(struct fix *f, uint32_t op, uint32_t ds, uint32_t flags, const char *rule, uint8_t syndrome)
{
	const struct mlx4_err_cqe *e;

	rig_post(&f->tx, op, ds, flags);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	assert_int_equal(rig_violations(&f->r, rule), 1);
	assert_int_equal(tp_model_violations_total(f->r.m), 1);
	e = (const struct mlx4_err_cqe *)(const void *)rig_poll(f->tx.scq, 64, &f->tx.sci, f->tx.scq_rec);
	assert_non_null(e);
	assert_int_equal(e->owner_sr_opcode & 0x7f, MLX4_CQE_IS_SEND | MLX4_CQE_ERROR);
	assert_int_equal(e->syndrome, syndrome);
	assert_int_equal(f->tx.qp->state, MLX4_QP_ERR);
}

#define GOOD (MLX4_CTRL_NO_ICRC | MLX4_CTRL_CQE)
#define DIES(name, prepare, op, ds, flags, rule, synd)                                                                 \
	static void name(void **state)                                                                                 \
	{                                                                                                              \
		struct fix *f = *state;                                                                                \
                                                                                                                       \
		rig_data(&f->tx, 1, f->tx.bufs, 60);                                                                   \
		prepare;                                                                                               \
		dies(f, op, ds, flags, rule, synd);                                                                    \
	}

DIES(opcode, , MLX4_OP_RDMA_WRITE, 2, GOOD, "wqe-opcode", MLX4_SYND_LOCAL_QP_OP)
DIES(reserved0, , MLX4_OP_SEND | 1u << 30, 2, GOOD, "wqe-reserved", MLX4_SYND_LOCAL_QP_OP)
DIES(reserved1, , MLX4_OP_SEND, 2 | 1u << 9, GOOD, "wqe-reserved", MLX4_SYND_LOCAL_QP_OP)
DIES(reserved2, , MLX4_OP_SEND, 2, GOOD | 1u << 6, "wqe-reserved", MLX4_SYND_LOCAL_QP_OP)
DIES(cqe_bits, , MLX4_OP_SEND, 2, MLX4_CTRL_NO_ICRC | 1u << 2, "wqe-cqe-bits", MLX4_SYND_LOCAL_QP_OP)
DIES(lkey, prm_set32(rig_wqe(&f->tx), 20, 0x1300), MLX4_OP_SEND, 2, GOOD, "wqe-lkey", MLX4_SYND_LOCAL_PROT)
DIES(zero_length, prm_set32(rig_wqe(&f->tx), 16, 0), MLX4_OP_SEND, 2, GOOD, "wqe-zero-length", MLX4_SYND_LOCAL_PROT)
DIES(inline_cross, prm_set32(rig_wqe(&f->tx), 16, MLX4_DATA_INLINE | 60), MLX4_OP_SEND, 5, GOOD, "wqe-inline",
     MLX4_SYND_LOCAL_QP_OP)
DIES(inline_short, prm_set32(rig_wqe(&f->tx), 16, MLX4_DATA_INLINE | 16), MLX4_OP_SEND, 3, GOOD, "wqe-inline-min",
     MLX4_SYND_LOCAL_LENGTH)
DIES(lso_bit, prm_set32(rig_wqe(&f->tx), 16, 100u << 16 | 54), MLX4_OP_LSO, 6, GOOD, "wqe-lso", MLX4_SYND_LOCAL_QP_OP)
DIES(too_short, prm_set32(rig_wqe(&f->tx), 16, 13), MLX4_OP_SEND, 2, GOOD, "wqe-length", MLX4_SYND_LOCAL_LENGTH)
DIES(too_long, prm_set32(rig_wqe(&f->tx), 16, 1519), MLX4_OP_SEND, 2, GOOD, "wqe-length", MLX4_SYND_LOCAL_LENGTH)

static void
size_zero(void **state)
{
	struct fix *f = *state;

	rig_post(&f->tx, MLX4_OP_SEND, 0, GOOD);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	assert_int_equal(rig_violations(&f->r, "wqe-size"), 1);
	assert_int_equal(f->tx.qp->state, MLX4_QP_ERR);
}

static void
csum_unknown(void **state)
{
	struct fix *f = *state;

	rig_data(&f->tx, 1, f->tx.bufs, 60);
	rig_post(&f->tx, MLX4_OP_SEND, 2, GOOD | MLX4_CTRL_L4_CSUM);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	assert_int_equal(rig_violations(&f->r, "wqe-csum"), 1);
	assert_int_equal(f->tx.qp->state, MLX4_QP_RTS);
}

static void
doorbells(void **state)
{
	struct fix *f = *state;
	uint8_t *uar = tp_model_uar(f->r.m, NULL);
	uint8_t db[8];

	/* nothing posted */
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	assert_int_equal(rig_violations(&f->r, "wqe-owner"), 1);
	/* another queue's page */
	rig_data(&f->tx, 1, f->tx.bufs, 60);
	rig_post(&f->tx, MLX4_OP_SEND, 2, GOOD);
	prm_set32(uar + (size_t)f->rx.qp->uar * 4096, MLX4_UAR_SEND_DB, 8 << 8);
	tp_model_step(f->r.m, 32);
	assert_int_equal(rig_violations(&f->r, "doorbell-page"), 1);
	/* which moves nothing */
	assert_int_equal(f->tx.qp->sq_head, 0);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	assert_int_equal(f->tx.qp->sq_head, 1);
	/* no such QP; reserved bits; a QP that is not ready */
	prm_set32(db, 0, 0x55 << 8);
	assert_int_equal(tp_model_uar_write(f->r.m, f->tx.qp->uar * 4096 + MLX4_UAR_SEND_DB, db, 4), 0);
	assert_int_equal(rig_violations(&f->r, "doorbell-qpn"), 1);
	f->tx.qp->state = MLX4_QP_RTR;
	prm_set32(db, 0, 8 << 8 | 1);
	assert_int_equal(tp_model_uar_write(f->r.m, f->tx.qp->uar * 4096 + MLX4_UAR_SEND_DB, db, 4), 0);
	assert_int_equal(rig_violations(&f->r, "doorbell-qp-state"), 1);
	assert_int_equal(rig_violations(&f->r, "doorbell-reserved"), 1);
	/* a CQ that is not there */
	prm_set32(db, 0, MLX4_CQ_ARM_NEXT << MLX4_CQ_ARM_CMD_SHIFT | 0x99);
	prm_set32(db, 4, 0);
	assert_int_equal(tp_model_uar_write(f->r.m, f->tx.qp->uar * 4096 + MLX4_UAR_CQ_ARM, db, 8), 0);
	assert_int_equal(rig_violations(&f->r, "doorbell-cqn"), 1);
}

/* With many pages those of receive queues are not looked at for sends in each round: what is wrong there is found all the same. */
static void
doorbells_of_many_pages(void **state)
{
	struct fix *f = *state;
	uint8_t *uar = tp_model_uar(f->r.m, NULL);

	for (uint32_t page = 300; page < 400; page++)
		tpm_uar_get(f->r.m, page);
	prm_set32(uar + 350 * 4096, MLX4_UAR_SEND_DB, 8 << 8);
	memset(uar + (TPM_NUM_UARS + 360) * 4096, 0x11, 64);
	prm_set64(uar + 370 * 4096, MLX4_UAR_CQ_ARM,
		  (uint64_t)(MLX4_CQ_ARM_NEXT << MLX4_CQ_ARM_CMD_SHIFT | 0x99) << 32);
	tp_model_step(f->r.m, 32);
	/* An arming is looked at in each round, and so are pages of send queues. */
	assert_int_equal(rig_violations(&f->r, "doorbell-cqn"), 1);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	assert_int_equal(rig_violations(&f->r, "wqe-owner"), 1);
	for (unsigned int i = 0; i < 16; i++)
		tp_model_step(f->r.m, 32);
	assert_int_equal(rig_violations(&f->r, "doorbell-page"), 1);
	assert_int_equal(tp_model_violations_total(f->r.m), 4);
}

/* One frame is sent; two blocks behind its WQE there is a stale one. */
static void
send_before_stale(struct fix *f)
{
	rig_data(&f->tx, 1, f->tx.bufs, 60);
	rig_post(&f->tx, MLX4_OP_SEND, 2, GOOD);
	prm_set32(rig_wqe(&f->tx), 64, 0x40);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
}

static void
stamp(void **state)
{
	struct fix *f = *state;

	send_before_stale(f);
	assert_int_equal(rig_violations(&f->r, "wqe-stamp"), 0);
	/* The first look may have come in the middle of a WQE. */
	tp_model_set_time(f->r.m, 1000000000);
	tp_model_step(f->r.m, 32);
	assert_int_equal(rig_violations(&f->r, "wqe-stamp"), 0);
	tp_model_set_time(f->r.m, 2900000000);
	tp_model_step(f->r.m, 32);
	assert_int_equal(rig_violations(&f->r, "wqe-stamp"), 0);
	tp_model_set_time(f->r.m, 3100000000);
	tp_model_step(f->r.m, 32);
	assert_int_equal(rig_violations(&f->r, "wqe-stamp"), 1);
}

/* WQEs of 128 octets: where one begins a block must not look posted; in the middle it should not, and drivers ship that leave it. */
static void
stamp_of_data(void **state)
{
	static const struct {
		uint32_t at;
		unsigned int head, data;
	} row[] = {{192, 0, 1}, {256, 1, 0}, {320, 0, 1}, {384, 1, 0}};
	struct fix *f;

	for (unsigned int i = 0; i < RTE_DIM(row); i++) {
		assert_int_equal(up(state), 0);
		f = *state;
		f->tx.qp->sq_lg_stride++;
		f->tx.qp->sq_mask >>= 1;
		rig_data(&f->tx, 1, f->tx.bufs, 60);
		rig_post(&f->tx, MLX4_OP_SEND, 2, GOOD);
		prm_set32(f->tx.sq, row[i].at, 0x40);
		rig_ring(&f->r, &f->tx);
		tp_model_step(f->r.m, 32);
		assert_int_equal(f->tx.qp->sq_head, 1);
		for (uint64_t t = 1000000000; t < 6000000000; t += 1000000000) {
			tp_model_set_time(f->r.m, t);
			tp_model_step(f->r.m, 32);
		}
		assert_int_equal(rig_violations(&f->r, "wqe-stamp"), row[i].head);
		assert_int_equal(rig_violations(&f->r, "wqe-stamp-data"), row[i].data);
		down(state);
	}
	assert_int_equal(up(state), 0);
}

static void
stamp_in_time(void **state)
{
	struct fix *f = *state;

	send_before_stale(f);
	tp_model_set_time(f->r.m, 1000000000);
	tp_model_step(f->r.m, 32);
	prm_set32(rig_wqe(&f->tx), 64, UINT32_MAX);
	for (uint64_t t = 2; t < 10; t++) {
		tp_model_set_time(f->r.m, t * 1000000000);
		tp_model_step(f->r.m, 32);
	}
	assert_int_equal(rig_violations(&f->r, "wqe-stamp"), 0);
}

/* Nothing is said of a queue that is not where it was, whatever lies behind its last WQE. */
static void
stamp_of_another_state(void **state)
{
	enum { AS_IT_WAS, IN_ERROR, WAITS, MOVED, NO_DOORBELL, NUM };
	struct fix *f;

	for (unsigned int how = 0; how < NUM; how++) {
		assert_int_equal(up(state), 0);
		f = *state;
		send_before_stale(f);
		tp_model_set_time(f->r.m, 1000000000);
		tp_model_step(f->r.m, 32);
		switch (how) {
		case IN_ERROR: f->tx.qp->state = MLX4_QP_ERR; break;
		case WAITS: f->tx.qp->pending = &f->r.m->pending; break;
		case MOVED: f->tx.qp->stamp_head++; break;
		/* The WQE at the head is posted; its doorbell will come. */
		case NO_DOORBELL:
			rig_data(&f->tx, 1, f->tx.bufs, 60);
			rig_post(&f->tx, MLX4_OP_SEND, 2, GOOD);
			break;
		default: break;
		}
		tpm_lock(&f->r.m->lock);
		f->r.m->now_ns = 3100000000;
		tpm_sq_stamp_check(f->r.m);
		tpm_unlock(&f->r.m->lock);
		assert_int_equal(rig_violations(&f->r, "wqe-stamp"), how == AS_IT_WAS);
		f->tx.qp->pending = NULL;
		down(state);
	}
	assert_int_equal(up(state), 0);
}

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
cq_overrun(void **state)
{
	struct fix *f = *state;

	send_n(f, 60);
	*f->rx.dbrec = rte_cpu_to_be_32(64 + 60);
	send_n(f, 60);
	assert_int_equal(rig_violations(&f->r, "cq-overrun"), 1);
	assert_int_equal(f->rx.qp->state, MLX4_QP_ERR);
	assert_int_equal(f->rx.qp->rcq->status, MLX4_CTX_STATUS_OVERFLOW);
}

static void
receive_records(void **state)
{
	struct fix *f = *state;

	*f->rx.dbrec = rte_cpu_to_be_32(65);
	send_n(f, 1);
	assert_int_equal(rig_violations(&f->r, "dbrec-rq"), 1);
	assert_int_equal(f->rx.qp->state, MLX4_QP_ERR);
}

static void
consumer_record(void **state)
{
	struct fix *f = *state;

	send_n(f, 60);
	*f->rx.dbrec = rte_cpu_to_be_32(64 + 60);
	*f->rx.rcq_rec = rte_cpu_to_be_32(200);
	send_n(f, 10);
	assert_true(rig_violations(&f->r, "dbrec-cq") >= 1);
}

static void
scatter_empty(void **state)
{
	struct fix *f = *state;

	prm_set32(f->rx.rq, 0, 0);
	prm_set32(f->rx.rq, 4, MLX4_LKEY_INVALID);
	send_n(f, 1);
	assert_int_equal(rig_violations(&f->r, "rq-scatter"), 1);
}

static void
no_receive_wqe(void **state)
{
	struct fix *f = *state;

	*f->rx.dbrec = rte_cpu_to_be_32(3);
	send_n(f, 10);
	assert_int_equal(f->rx.qp->rcq->pi, 3);
	assert_int_equal(f->r.m->port[1].rx_no_wqe, 7);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

static void
steering(void **state)
{
	struct fix *f = *state;
	uint8_t mbox[64] = {0};
	uint64_t id;

	assert_int_equal(rig_rule(&f->r, 2, mac2, 0x55, &id), MLX4_STAT_BAD_PARAM);
	assert_int_equal(rig_violations(&f->r, "steer-qpn"), 1);
	prm_set(mbox, MLX4_DMFS_PORT, 2);
	prm_set(mbox, MLX4_DMFS_QPN, 9);
	prm_set(mbox + 16, MLX4_SPEC_SIZE, 3);
	prm_set(mbox + 16, MLX4_SPEC_ID, MLX4_SPEC_ETH);
	assert_int_equal(tpm_steer_attach(f->r.m, mbox, 16, &id), MLX4_STAT_BAD_PARAM);
	assert_int_equal(rig_violations(&f->r, "steer-spec"), 1);
}

static void
rss_range(void **state)
{
	struct fix *f = *state;

	f->rx.qp->is_rss = true;
	f->rx.qp->rss.default_qpn = 0x20;
	send_n(f, 1);
	assert_int_equal(rig_violations(&f->r, "rss-range"), 1);
}

static void
blueflame(void **state)
{
	struct fix *f = *state;
	uint8_t copy[64];

	rig_data(&f->tx, 1, f->tx.bufs, 60);
	rig_post(&f->tx, MLX4_OP_SEND, 8 << 8 | 2, GOOD);
	memcpy(copy, f->tx.sq, 64);
	copy[20] ^= 1;
	assert_int_equal(tp_model_uar_write(f->r.m, (TPM_NUM_UARS + f->tx.qp->uar) * 4096, copy, 64), 0);
	assert_int_equal(rig_violations(&f->r, "bf-copy"), 1);
	tp_model_step(f->r.m, 8);
	assert_int_equal(f->rx.qp->rcq->pi, 1);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)
#define OWN_UP(fn) cmocka_unit_test_setup_teardown(fn, NULL, down)
	const struct CMUnitTest tests[] = {
		T(opcode),          T(reserved0),     T(reserved1),          T(reserved2),
		T(cqe_bits),        T(lkey),          T(zero_length),        T(inline_cross),
		T(inline_short),    T(lso_bit),       T(too_short),          T(too_long),
		T(size_zero),       T(csum_unknown),  T(doorbells),          OWN_UP(stamp_of_another_state),
		T(stamp),           T(stamp_in_time), T(cq_overrun),         T(receive_records),
		T(consumer_record), T(scatter_empty), T(no_receive_wqe),     T(steering),
		T(rss_range),       T(blueflame),     OWN_UP(stamp_of_data), T(doorbells_of_many_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
