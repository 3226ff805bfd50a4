/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Contexts of queue pairs in bytes, their steps and live changes [CP 5.4..5.13], and what is left when one is refused. */
#include <errno.h>

#include "fake_one.h"

#define RST2INIT 0x019
#define RTR2RTS 0x01b
#define TO_ERR 0x01e
#define RTS2SQD 0x01f
#define TO_RST 0x021
#define QUERY_QP 0x022
#define CONF_SPECIAL_QP 0x023
#define UPDATE_QP 0x061
#define HI(x) ((uint32_t)((x) >> 32))
#define LO(x) ((uint32_t)(x))

static struct mlx4_cq scq = {.cqn = 0x85, .uar = 0x91}, rcq = {.cqn = 0x86};

/* A sender of 256 blocks on port 2, of a card with counters, and with a check of what comes back. */
static void
test_sender(void **state)
{
	const struct mlx4_qp_attr a = {
		.port = 2, .sq_txbbs = 256, .scq = &scq, .rcq = &rcq, .uar = 0x93, .delay_drop = 0};
	const struct fake_cmd *cmd;
	struct mlx4_qp qp;
	unsigned int i;

	hca->caps.flags = UINT64_C(1) << 48;
	hca->caps.max_counters = 3;
	hca->caps.lb_src_check = true;
	hca->caps.vxlan = true;
	assert_int_equal(mlx4_qp_create(hca, 0x123, &a, &qp), 0);
	assert_int_equal(card.num_cmds, 0);
	assert_ptr_equal(qp.sq, qp.buf.va);
	assert_int_equal(qp.state, MLX4_QP_RST);
	assert_int_equal(mlx4_qp_start(hca, &qp), 0);
	assert_int_equal(qp.state, MLX4_QP_RTS);
	for (i = 0; i < 3; i++) {
		cmd = fake_nth(&card, (uint16_t)(RST2INIT + i), 0);
		assert_int_equal(cmd->in_modifier, 0x123);
		assert_int_equal(cmd->op_modifier, 0);
		FAKE_BOX(cmd, {0x08, (i + 1) << 28 | 0x00071800}, /* the state to come, MLX, migrated */
			 {0x0c, 4},                               /* protection domain */
			 {0x10, 0xff004200},                      /* raw; send queue of 2^8 blocks of 2^6 */
			 {0x14, 0x93}, {0x18, 0x123},             /* UAR page, number */
			 {0x20, 0x02800000},                      /* path: multicast check by the counter */
			 {0x24, 0x01000000},                      /* counter 1 */
			 {0x28, 0x01000000},                      /* Ethernet */
			 {0x40, 0xc3000000},                      /* scheduling queue of port 2 */
			 {0x84, 0x85}, {0xa4, 0x86},              /* CQs */
			 {0xc8, 0x40000000},                      /* tags stay */
			 {0xd0, 0x02000000},                      /* 16 KiB in pages of 2^(12 + 2) */
			 {0xd4, 0x10 * 8});
	}
	fake_mtts_are(&card, 0x10, 1, 16384, qp.buf.iova);
	assert_int_equal(mlx4_qp_stop(hca, &qp), 0);
	assert_int_equal(fake_last(&card, TO_RST)->op_modifier, 2);
	assert_int_equal(fake_last(&card, TO_RST)->in_modifier, 0x123);
	mlx4_qp_destroy(hca, &qp);
	assert_null(qp.buf.va);
}

/* A receiver of 512 entries of 64 bytes, with what an Ethernet queue can ask for. */
static void
test_receiver(void **state)
{
	struct mlx4_qp_attr a = {.port = 1,
				 .rq_entries = 512,
				 .rq_stride = 64,
				 .scq = &scq,
				 .rcq = &rcq,
				 .uar = 0x94,
				 .vlan_strip = true,
				 .keep_fcs = true,
				 .delay_drop = 0xbeef};
	struct mlx4_qp qp;
	uint64_t rec;

	hca->caps.vxlan = true;
	assert_int_equal(mlx4_qp_create(hca, 0x200, &a, &qp), 0);
	/* A block that is never sent in front of the ring, marked as software's. */
	assert_null(qp.sq);
	assert_ptr_equal(qp.rq, (uint8_t *)qp.buf.va + 64);
	assert_int_equal(prm_get32(qp.buf.va, 0), 0x80000000);
	rec = qp.buf.iova + 64 + 512 * 64;
	assert_ptr_equal(qp.dbrec, (uint8_t *)qp.buf.va + 64 + 512 * 64);
	assert_int_equal(mlx4_qp_start(hca, &qp), 0);
	FAKE_BOX(fake_last(&card, RTR2RTS), {0x08, 0x30071800}, {0x0c, 4}, {0x10, 0xff4a0200}, {0x14, 0x94},
		 {0x18, 0x200}, {0x24, 0xff000000}, {0x28, 0x01000000}, {0x40, 0x83000000}, {0x84, 0x85},
		 {0x8c, 0xbeef0000}, {0xa4, 0x86}, {0xa8, HI(rec)}, {0xac, LO(rec)}, {0xb4, 0x70000000},
		 {0xc8, 0x20000000}, {0xd0, 0x04000000}, {0xd4, 0x10 * 8});
	fake_mtts_are(&card, 0x10, 1, 65536, qp.buf.iova);
	assert_int_equal(mlx4_qp_stop(hca, &qp), 0);
	mlx4_qp_destroy(hca, &qp);
	/* Entries larger than a block come first. */
	a.rq_stride = 128;
	hca->caps.vxlan = false;
	a.keep_fcs = false;
	assert_int_equal(mlx4_qp_create(hca, 0x200, &a, &qp), 0);
	assert_ptr_equal(qp.rq, qp.buf.va);
	assert_int_equal(prm_get32(qp.buf.va, 512 * 128), 0x80000000);
	assert_int_equal(mlx4_qp_start(hca, &qp), 0);
	assert_int_equal(prm_get32(fake_last(&card, RTR2RTS)->box, 0x10), 0xff4b0200);
	assert_int_equal(prm_get32(fake_last(&card, RTR2RTS)->box, 0xb4), 0);
	assert_int_equal(prm_get32(fake_last(&card, RTR2RTS)->box, 0xc8), 0);
	/* 65600 bytes: two pages. */
	fake_mtts_are(&card, 0x10, 2, 65536, qp.buf.iova);
	mlx4_qp_stop(hca, &qp);
	mlx4_qp_destroy(hca, &qp);
}

/* Both queues: that with the larger entries in front. */
static void
test_both_queues(void **state)
{
	struct mlx4_qp_attr a = {
		.port = 1, .sq_txbbs = 4, .rq_entries = 8, .rq_stride = 16, .scq = &scq, .rcq = &rcq, .uar = 1};
	struct mlx4_qp qp;

	assert_int_equal(mlx4_qp_create(hca, 0x200, &a, &qp), 0);
	assert_ptr_equal(qp.sq, qp.buf.va);
	assert_ptr_equal(qp.rq, (uint8_t *)qp.buf.va + 4 * 64);
	assert_int_equal(prm_get32(qp.ctx, 0x08), 0xff181200);
	mlx4_qp_destroy(hca, &qp);
	a.rq_stride = 512;
	assert_int_equal(mlx4_qp_create(hca, 0x200, &a, &qp), 0);
	assert_ptr_equal(qp.rq, qp.buf.va);
	assert_ptr_equal(qp.sq, (uint8_t *)qp.buf.va + 8 * 512);
	assert_ptr_equal(qp.dbrec, (uint8_t *)qp.buf.va + 8 * 512 + 4 * 64);
	mlx4_qp_destroy(hca, &qp);
}

static void
test_qp_refused(void **state)
{
	static const struct {
		uint32_t txbbs, entries, stride;
	} bad[] = {{3, 0, 0},  {1u << 15, 0, 0}, {0, 3, 16}, {0, 1u << 15, 16},
		   {0, 16, 8}, {0, 16, 48},      {0, 16, 0}, {0, 16, 1024}};
	const struct mlx4_qp_attr good = {.port = 1, .sq_txbbs = 64, .scq = &scq, .rcq = &rcq};
	struct mlx4_qp_attr a = good;
	struct mlx4_qp qp;
	unsigned int i;

	for (i = 0; i < RTE_DIM(bad); i++) {
		a.sq_txbbs = bad[i].txbbs;
		a.rq_entries = bad[i].entries;
		a.rq_stride = bad[i].stride;
		rig_log_begin();
		assert_int_equal(mlx4_qp_create(hca, 0x200, &a, &qp), -EINVAL);
		rig_log_one("wanted", i < 4 ? "powers of two up to 16384" : "a power of two, 16..512");
	}
	a.sq_txbbs = 1u << 14;
	a.rq_entries = 0;
	assert_int_equal(mlx4_qp_create(hca, 0x200, &a, &qp), 0);
	mlx4_qp_destroy(hca, &qp);
	/* Each step is refused once: nothing to take back before the first one was done. */
	for (i = 0; i < 3; i++) {
		assert_int_equal(mlx4_qp_create(hca, 0x200, &good, &qp), 0);
		fake_forget(&card);
		card.num_answers = 0;
		fake_refuse(&card, (uint16_t)(RST2INIT + i), 1, 0x10);
		assert_int_equal(mlx4_qp_start(hca, &qp), -EINVAL);
		assert_int_equal(fake_count(&card, TO_RST), i == 0 ? 0 : 1);
		assert_int_equal(qp.state, MLX4_QP_RST);
		assert_int_equal(card.num_cmds, i == 0 ? 1 : i + 2);
		mlx4_qp_destroy(hca, &qp);
	}
	/* Translation entries that are used up: the memory comes back, see teardown. */
	assert_int_equal(mlx4_mtt_get(hca, 0x1000 - 0x10, &(uint32_t){0}), 0);
	assert_int_equal(mlx4_qp_create(hca, 0x200, &good, &qp), -ENOSPC);
	mlx4_numbers_put(hca->mtts, 0x10, 0x1000 - 0x10);
	assert_int_equal(mlx4_qp_create(hca, 0x200, &good, &qp), 0);
	assert_int_equal(mlx4_qp_start(hca, &qp), 0);
	fake_refuse(&card, TO_RST, 1, 6);
	assert_int_equal(mlx4_qp_stop(hca, &qp), -EBUSY);
	assert_int_equal(card.resets, 1);
	assert_int_equal(qp.state, MLX4_QP_RST);
	mlx4_qp_destroy(hca, &qp);
}

/* The first step got no answer, so it may have been done. */
static void
test_qp_no_answer(void **state)
{
	const struct mlx4_qp_attr a = {.port = 1, .sq_txbbs = 64, .scq = &scq, .rcq = &rcq};
	struct mlx4_qp qp;

	card.bus.cmd_timeout_ms = 20;
	fake_answer(&card, RST2INIT, 1)->silent = true;
	assert_int_equal(mlx4_qp_create(hca, 0x200, &a, &qp), 0);
	assert_int_equal(mlx4_qp_start(hca, &qp), -ETIMEDOUT);
	assert_int_equal(card.resets, 1);
	mlx4_qp_destroy(hca, &qp);
}

/* A parent of 16 rings from 0x340 on: Toeplitz or XOR, with UDP or without. */
static void
test_rss_parent(void **state)
{
	struct mlx4_rss_attr a = {
		.port = 2, .base_qpn = 0x340, .lg_rings = 4, .fn = 1, .flags = 0x34, .default_qpn = 0x345, .cq = &scq};
	struct mlx4_qp qp;
	unsigned int i;

	for (i = 0; i < sizeof(a.key); i++)
		a.key[i] = (uint8_t)(i + 1);
	hca->caps.flags = UINT64_C(1) << 48;
	hca->caps.max_counters = 255;
	hca->caps.lb_src_check = true;
	hca->caps.vxlan = true;
	assert_int_equal(mlx4_qp_create_rss(hca, 0x300, &a, &qp), 0);
	assert_int_equal(mlx4_qp_start(hca, &qp), 0);
	/* The key from 0x50 on. */
	FAKE_BOX(fake_last(&card, RTR2RTS), {0x08, 0x30073800}, {0x0c, 4}, {0x10, 0xff000200}, {0x14, 0x91},
		 {0x18, 0x300}, {0x24, 0x01000000}, {0x28, 0x01000000}, {0x40, 0xc3000000}, {0x44, 0x04000340},
		 {0x48, 0x345}, {0x4c, 0x0134}, {0x50, 0x01020304}, {0x54, 0x05060708}, {0x58, 0x090a0b0c},
		 {0x5c, 0x0d0e0f10}, {0x60, 0x11121314}, {0x64, 0x15161718}, {0x68, 0x191a1b1c}, {0x6c, 0x1d1e1f20},
		 {0x70, 0x21222324}, {0x74, 0x25262728}, {0x84, 0x85}, {0xa4, 0x85}, {0xb4, 0x70000000},
		 {0xc8, 0x40000000});
	for (i = 1; i <= 2; i++) {
		a.flags = (uint8_t)i;
		a.fn = 0;
		assert_int_equal(mlx4_qp_create_rss(hca, 0x300, &a, &qp), 0);
		assert_int_equal(prm_get32(qp.ctx, 0x44), i);
		assert_int_equal(prm_get32(qp.ctx, 0x70), 0x340);
	}
	rig_log_begin();
	a.lg_rings = 8;
	assert_int_equal(mlx4_qp_create_rss(hca, 0x300, &a, &qp), -EINVAL);
	rig_log_one("an RSS table of 256 rings", "wanted up to 128");
	a.lg_rings = 7;
	assert_int_equal(mlx4_qp_create_rss(hca, 0x300, &a, &qp), -EINVAL);
	a.base_qpn = 0x380;
	assert_int_equal(mlx4_qp_create_rss(hca, 0x300, &a, &qp), 0);
	mlx4_qp_destroy(hca, &qp);
}

/* A counter of its own for each port, where the card has as many and one to spare for all others. */
static void
test_counters(void **state)
{
	static const struct {
		uint64_t flags;
		uint32_t max;
		uint8_t counter;
	} row[] = {{UINT64_C(1) << 48, 3, 1}, {UINT64_C(1) << 48, 2, 0xff}, {UINT64_C(1) << 47, 255, 0xff}};
	uint8_t ctx[0xf8];
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		memset(ctx, 0, sizeof(ctx));
		hca->caps.flags = row[i].flags;
		hca->caps.max_counters = row[i].max;
		assert_int_equal(mlx4_qp_counter(hca, ctx, 2), row[i].counter == 1);
		assert_int_equal(ctx[0x1c], row[i].counter);
	}
}

static void
check_update(const struct mlx4_qp *qp, uint64_t mask, uint64_t path_mask)
{
	const struct fake_cmd *cmd = fake_last(&card, UPDATE_QP);

	assert_int_equal(cmd->in_modifier, qp->qpn);
	assert_int_equal(prm_get64(cmd->box, 0), mask);
	assert_int_equal(prm_get64(cmd->box, 8), path_mask);
	fake_bytes_are(cmd->box + 16, 16, NULL, 0);
	assert_memory_equal(cmd->box + 32, qp->ctx, sizeof(qp->ctx));
	fake_bytes_are(cmd->box + 32 + 0xf8, 0x200, NULL, 0);
}

static void
test_update(void **state)
{
	const struct mlx4_qp_attr a = {.port = 2, .sq_txbbs = 64, .scq = &scq, .rcq = &rcq};
	struct mlx4_qp qp;

	hca->caps.update_qp = true;
	hca->caps.num_qp_rates = 1;
	assert_int_equal(mlx4_qp_create(hca, 0x200, &a, &qp), 0);
	/* In RST it goes with the start. */
	assert_int_equal(mlx4_qp_prio(hca, &qp, 5), 0);
	assert_int_equal(qp.ctx[0x38], 0xc3 | 5 << 3);
	assert_int_equal(card.num_cmds, 0);
	assert_int_equal(mlx4_qp_start(hca, &qp), 0);
	assert_int_equal(mlx4_qp_prio(hca, &qp, 7), 0);
	assert_int_equal(qp.ctx[0x38], 0xfb);
	check_update(&qp, 0, UINT64_C(1) << 46);
	/* Rates: up to 4095 in Mb/s, then in Gb/s, rounded down; 0: none. */
	assert_int_equal(mlx4_qp_rate(hca, &qp, 4095), 0);
	assert_int_equal(prm_get32(qp.ctx, 0xbc), 0x8fff0000);
	check_update(&qp, UINT64_C(1) << 35, 0);
	assert_int_equal(mlx4_qp_rate(hca, &qp, 4096), 0);
	assert_int_equal(prm_get32(qp.ctx, 0xbc), 0xc0040000);
	assert_int_equal(mlx4_qp_rate(hca, &qp, 39999), 0);
	assert_int_equal(prm_get32(qp.ctx, 0xbc), 0xc0270000);
	fake_forget(&card);
	assert_int_equal(mlx4_qp_rate(hca, &qp, 39000), 0);
	assert_int_equal(card.num_cmds, 0); /* the same */
	assert_int_equal(mlx4_qp_rate(hca, &qp, 5000000), 0);
	assert_int_equal(prm_get32(qp.ctx, 0xbc), 0xcfff0000);
	assert_int_equal(mlx4_qp_rate(hca, &qp, 1), 0);
	assert_int_equal(prm_get32(qp.ctx, 0xbc), 0x80010000);
	assert_int_equal(mlx4_qp_rate(hca, &qp, 0), 0);
	assert_int_equal(prm_get32(qp.ctx, 0xbc), 0);
	check_update(&qp, UINT64_C(1) << 35, 0);
	assert_int_equal(mlx4_qp_delay_drop(hca, &qp, 0x1234), 0);
	assert_int_equal(prm_get32(qp.ctx, 0x84), 0x12340000);
	check_update(&qp, UINT64_C(1) << 36, 0);
	/* What is refused leaves the old value. */
	fake_refuse(&card, UPDATE_QP, FAKE_ALWAYS, 3);
	assert_int_equal(mlx4_qp_prio(hca, &qp, 1), -EINVAL);
	assert_int_equal(qp.ctx[0x38], 0xfb);
	assert_int_equal(mlx4_qp_rate(hca, &qp, 10), -EINVAL);
	assert_int_equal(prm_get32(qp.ctx, 0xbc), 0);
	assert_int_equal(mlx4_qp_delay_drop(hca, &qp, 1), -EINVAL);
	assert_int_equal(prm_get32(qp.ctx, 0x84), 0x12340000);
	fake_forget(&card);
	hca->caps.update_qp = false;
	rig_log_begin();
	assert_int_equal(mlx4_qp_prio(hca, &qp, 1), -ENOTSUP);
	rig_log_one("the priority cannot be changed on a started queue", "no UPDATE_QP");
	assert_int_equal(qp.ctx[0x38], 0xfb);
	hca->caps.num_qp_rates = 0;
	rig_log_begin();
	assert_int_equal(mlx4_qp_rate(hca, &qp, 77), -ENOTSUP);
	rig_log_one("limited to 77 Mb/s", "no rate limits of queues");
	assert_int_equal(mlx4_qp_rate(hca, &qp, 0), 0);
	assert_int_equal(card.num_cmds, 0);
	mlx4_qp_stop(hca, &qp);
	mlx4_qp_destroy(hca, &qp);
}

static void
test_query_and_flush(void **state)
{
	struct mlx4_qp qp = {.qpn = 0x77, .state = MLX4_QP_RTS};
	uint8_t ctx[0xf8];
	uint16_t pos = 1;
	unsigned int i;

	for (i = 0; i < 0x200; i++)
		card.answer[0].box[i] = (uint8_t)i;
	card.answer[0].op = QUERY_QP;
	card.answer[0].in_modifier = 0x77;
	card.answer[0].times = 2;
	card.num_answers = 1;
	assert_int_equal(mlx4_qp_query(hca, &qp, ctx), 0);
	for (i = 0; i < sizeof(ctx); i++)
		assert_int_equal(ctx[i], i + 8);
	/* The send queue's counter at 0xb6 of the context. */
	assert_int_equal(mlx4_qp_sent(hca, &qp, &pos), 0);
	assert_int_equal(pos, 0xbebf);
	fake_refuse(&card, QUERY_QP, 2, 5);
	assert_int_equal(mlx4_qp_sent(hca, &qp, &pos), -EBADF);
	assert_int_equal(pos, 0xbebf);
	ctx[0] = 0x99;
	assert_int_equal(mlx4_qp_query(hca, &qp, ctx), -EBADF);
	assert_int_equal(ctx[0], 0x99);
	fake_refuse(&card, TO_ERR, 1, 0x10);
	assert_int_equal(mlx4_qp_flush(hca, &qp), -EINVAL);
	assert_int_equal(qp.state, MLX4_QP_RTS);
	assert_int_equal(mlx4_qp_flush(hca, &qp), 0);
	assert_int_equal(fake_last(&card, TO_ERR)->in_modifier, 0x77);
	assert_int_equal(qp.state, MLX4_QP_ERR);
}

static void
test_verbs_qp(void **state)
{
	struct mlx4_vqp_attr a = {.port = 2,
				  .service = MLX4_QP_ST_UD,
				  .pd = 6,
				  .cqn_send = 0x81,
				  .cqn_recv = 0x82,
				  .uar = 0x99,
				  .lg_sq = 5,
				  .lg_sq_stride = 7,
				  .lg_rq_stride = 6,
				  .rq_entries = 32};
	struct mlx4_qp qp;
	uint64_t rec;

	hca->caps.flags = UINT64_C(1) << 48;
	hca->caps.max_counters = 255;
	assert_int_equal(mlx4_vqp_create(hca, 0x222, &a, &qp), 0);
	assert_ptr_equal(qp.sq, qp.buf.va);
	assert_ptr_equal(qp.rq, (uint8_t *)qp.buf.va + 32 * 128);
	rec = qp.buf.iova + 32 * 128 + 32 * 64;
	fake_bytes_are(qp.ctx, sizeof(qp.ctx),
		       (const struct fake_dword[]){{0x00, 0x00031800},
						   {0x04, 6},
						   {0x08, 0x002a2b00},
						   {0x0c, 0x99},
						   {0x10, 0x222},
						   {0x1c, 0x01000000},
						   {0x20, 0x01000000},
						   {0x38, 0xc3000000},
						   {0x7c, 0x81},
						   {0x9c, 0x82},
						   {0xa0, HI(rec)},
						   {0xa4, LO(rec)},
						   {0xc8, 0x01000000},
						   {0xcc, 0x10 * 8}},
		       14);
	mlx4_qp_destroy(hca, &qp);
	/* On InfiniBand, with a shared receive queue. */
	a.ib = a.srq = true;
	a.srqn = 0x41;
	a.rq_entries = 0;
	a.service = MLX4_QP_ST_RC;
	a.port = 1;
	assert_int_equal(mlx4_vqp_create(hca, 0x222, &a, &qp), 0);
	fake_bytes_are(qp.ctx, sizeof(qp.ctx),
		       (const struct fake_dword[]){{0x00, 0x00001800},
						   {0x04, 6},
						   {0x08, 0x00002b00},
						   {0x0c, 0x99},
						   {0x10, 0x222},
						   {0x38, 0x83000000},
						   {0x7c, 0x81},
						   {0x90, 0x10},
						   {0x9c, 0x82},
						   {0xac, 0x01000041},
						   {0xcc, 0x10 * 8}},
		       11);
	mlx4_qp_destroy(hca, &qp);
	/* Receive entries larger than those of the send queue come first. */
	a.rq_entries = 4;
	a.lg_rq_stride = 8;
	assert_int_equal(mlx4_vqp_create(hca, 0x222, &a, &qp), 0);
	assert_ptr_equal(qp.rq, qp.buf.va);
	assert_ptr_equal(qp.sq, (uint8_t *)qp.buf.va + 4 * 256);
	mlx4_qp_destroy(hca, &qp);
	a.lg_rq_stride = 7;
	assert_int_equal(mlx4_vqp_create(hca, 0x222, &a, &qp), 0);
	assert_ptr_equal(qp.sq, qp.buf.va);
	mlx4_qp_destroy(hca, &qp);
}

static void
test_verbs_qp_refused(void **state)
{
	const struct mlx4_vqp_attr good = {
		.port = 1, .lg_sq = 14, .lg_sq_stride = 6, .lg_rq_stride = 4, .rq_entries = 1u << 14};
	struct mlx4_vqp_attr a = good;
	struct mlx4_qp qp;

	assert_int_equal(mlx4_vqp_create(hca, 0x222, &a, &qp), 0);
	mlx4_qp_destroy(hca, &qp);
	rig_log_begin();
	a.lg_sq = 15;
	assert_int_equal(mlx4_vqp_create(hca, 0x222, &a, &qp), -EINVAL);
	rig_log_one("a QP with 32768 send", "up to 16384");
	a = good;
	a.rq_entries = 3;
	assert_int_equal(mlx4_vqp_create(hca, 0x222, &a, &qp), -EINVAL);
	a.rq_entries = 1u << 15;
	assert_int_equal(mlx4_vqp_create(hca, 0x222, &a, &qp), -EINVAL);
	a = good;
	a.lg_sq_stride = 5;
	assert_int_equal(mlx4_vqp_create(hca, 0x222, &a, &qp), -EINVAL);
}

/* The steps of the state machine, by their commands; the others are none. */
static void
test_steps(void **state)
{
	static const struct {
		enum mlx4_qp_state from, to;
		uint16_t op;
	} row[] = {
		{MLX4_QP_RST, MLX4_QP_INIT, 0x019}, {MLX4_QP_INIT, MLX4_QP_INIT, 0x02d},
		{MLX4_QP_INIT, MLX4_QP_RTR, 0x01a}, {MLX4_QP_RTR, MLX4_QP_RTS, 0x01b},
		{MLX4_QP_RTS, MLX4_QP_RTS, 0x01c},  {MLX4_QP_SQER, MLX4_QP_RTS, 0x01d},
		{MLX4_QP_RTS, MLX4_QP_SQD, 0x01f},  {MLX4_QP_SQD, MLX4_QP_SQD, 0x038},
		{MLX4_QP_SQD, MLX4_QP_RTS, 0x020},  {MLX4_QP_RTS, MLX4_QP_ERR, 0x01e},
		{MLX4_QP_SQD, MLX4_QP_RST, 0x021},
	};
	struct mlx4_qp qp = {.qpn = 0x77};
	const struct fake_cmd *cmd;
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		memset(qp.ctx, 0x5a, sizeof(qp.ctx));
		qp.state = row[i].from;
		assert_int_equal(mlx4_qp_step(hca, &qp, row[i].to, 0x12345678, false), 0);
		assert_int_equal(qp.state, row[i].to);
		cmd = fake_last(&card, row[i].op);
		assert_int_equal(cmd->in_modifier, 0x77);
		if (row[i].op == 0x01f || row[i].op == 0x01e || row[i].op == 0x021) {
			assert_int_equal(cmd->in_param, 0);
			continue;
		}
		assert_int_equal(prm_get32(cmd->box, 0), 0x12345678);
		assert_int_equal(prm_get32(cmd->box, 8), (uint32_t)row[i].to << 28 | 0x0a5a5a5a);
		assert_memory_equal(cmd->box + 8, qp.ctx, sizeof(qp.ctx));
	}
	fake_forget(&card);
	qp.state = MLX4_QP_RTS;
	assert_int_equal(mlx4_qp_step(hca, &qp, MLX4_QP_SQD, 0, true), 0);
	assert_int_equal(fake_last(&card, RTS2SQD)->in_modifier, 0x80000077);
	fake_forget(&card);
	qp.state = MLX4_QP_ERR;
	assert_int_equal(mlx4_qp_step(hca, &qp, MLX4_QP_ERR, 0, false), 0);
	qp.state = MLX4_QP_RST;
	assert_int_equal(mlx4_qp_step(hca, &qp, MLX4_QP_RST, 0, false), 0);
	rig_log_begin();
	assert_int_equal(mlx4_qp_step(hca, &qp, MLX4_QP_RTS, 0, false), -EINVAL);
	rig_log_one("QP 0x77", "no step from state 0 to 3");
	assert_int_equal(card.num_cmds, 0);
	fake_refuse(&card, RST2INIT, 1, 3);
	assert_int_equal(mlx4_qp_step(hca, &qp, MLX4_QP_INIT, 0, false), -EINVAL);
	assert_int_equal(qp.state, MLX4_QP_RST);
}

/* QP0 and QP1 of both ports: eight numbers, aligned to eight. */
static void
test_special_qps(void **state)
{
	mlx4_numbers_destroy(hca->qpns);
	assert_int_equal(mlx4_numbers_create("QPNs", 0x41, 0x1000, 0, &hca->qpns), 0);
	assert_int_equal(mlx4_special_qps_create(hca), 0);
	assert_int_equal(hca->special_qp_base, 0x48);
	assert_int_equal(fake_last(&card, CONF_SPECIAL_QP)->in_modifier, 0x48);
	assert_int_equal(mlx4_numbers_used(hca->qpns), 8);
	mlx4_special_qps_destroy(hca);
	assert_int_equal(fake_last(&card, CONF_SPECIAL_QP)->in_modifier, 0);
	fake_refuse(&card, CONF_SPECIAL_QP, 1, 3);
	assert_int_equal(mlx4_special_qps_create(hca), -EINVAL);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fake_up_with_numbers, fake_down_with_numbers)
	const struct CMUnitTest tests[] = {
		T(test_sender),          T(test_receiver),   T(test_both_queues),      T(test_qp_refused),
		T(test_qp_no_answer),    T(test_rss_parent), T(test_counters),         T(test_update),
		T(test_query_and_flush), T(test_verbs_qp),   T(test_verbs_qp_refused), T(test_steps),
		T(test_special_qps),
	};

	if (rig_eal("mlx4ctxp", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
