/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames that stay inside the card [DP 8.7], and WQEs that come with their doorbell [DP 2.5]. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_pair.h"

#define FLAGS 0x0000000eu /* completion, no ICRC */
#define FL 0x00000001u
#define BF_HALF 256u

/* A listener on the sender's own port, for an address of its own. */
struct loop {
	struct fix *f;
	struct rig_q local;
	uint64_t rule;
};

static const uint8_t own[6] = {2, 0, 0, 0, 0, 0x11};
static const uint8_t group[6] = {0x33, 0x33, 0, 0, 0, 1};

static void
loop_up(struct loop *l, void **state)
{
	memset(l, 0, sizeof(*l));
	l->f = *state;
	rig_qp(&l->f->r, &l->local, 10, 1, 64, true);
	assert_int_equal(rig_rule(&l->f->r, 1, own, 10, &l->rule), 0);
}

/* Sends 60 bytes to dst; vouch: the control segment names the address, as one that the card may loop to. */
static void
send_to(struct loop *l, const uint8_t *dst, uint32_t flags, bool vouch)
{
	struct fix *f = l->f;
	uint8_t *w = rig_wqe(&f->tx);

	memcpy(f->tx.bufs, dst, 6);
	rig_data(&f->tx, 1, f->tx.bufs, 60);
	if (vouch)
		flags |= (uint32_t)dst[0] << 24 | (uint32_t)dst[1] << 16;
	rig_post(&f->tx, MLX4_OP_SEND, 2, flags);
	if (vouch)
		prm_set32(w, 12, (uint32_t)dst[2] << 24 | (uint32_t)dst[3] << 16 | (uint32_t)dst[4] << 8 | dst[5]);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	assert_non_null(rig_poll(f->tx.scq, 64, &f->tx.sci, f->tx.scq_rec));
}

/* How many frames came to the local listener and to the one at the other end of the wire since the last look. */
static void
expect(struct loop *l, unsigned int local, unsigned int remote)
{
	struct fix *f = l->f;

	while (rig_poll(l->local.rcq, 64, &l->local.rci, l->local.rcq_rec) != NULL)
		local--;
	while (rig_poll(f->rx.rcq, 64, &f->rx.rci, f->rx.rcq_rec) != NULL)
		remote--;
	assert_int_equal(local, 0);
	assert_int_equal(remote, 0);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* A local address alone is no reason to loop; the sender has to name it, or to force it. */
static void
own_address(void **state)
{
	struct loop l;

	loop_up(&l, state);
	send_to(&l, own, FLAGS, false);
	expect(&l, 0, 0);
	assert_int_equal(l.f->r.m->port[1].rx_no_rule, 1);
	send_to(&l, own, FLAGS, true);
	expect(&l, 1, 0);
	assert_int_equal(l.f->r.m->port[1].rx_no_rule, 1);
	/* What is named but has no rule goes out. */
	send_to(&l, mac2, FLAGS, true);
	expect(&l, 0, 1);
	/* The frame's address counts, not the one that is named. */
	memcpy(l.f->tx.bufs, mac2, 6);
	rig_data(&l.f->tx, 1, l.f->tx.bufs, 60);
	rig_post(&l.f->tx, MLX4_OP_SEND, 2, FLAGS | (uint32_t)own[0] << 24);
	prm_set32(l.f->tx.sq + ((l.f->tx.prod - 1) & 63) * 64, 12, 0x11);
	rig_ring(&l.f->r, &l.f->tx);
	tp_model_step(l.f->r.m, 32);
	expect(&l, 0, 1);
}

static void
forced(void **state)
{
	struct loop l;

	loop_up(&l, state);
	send_to(&l, own, FLAGS | FL, false);
	expect(&l, 1, 0);
	/* Nobody here has this address: it is gone, and nothing was on the wire. */
	send_to(&l, mac2, FLAGS | FL, false);
	expect(&l, 0, 0);
}

/* A group address goes out, and in as well where the rule allows it. */
static void
group_address(void **state)
{
	uint8_t rule[64] = {0};
	struct loop l;
	uint64_t id;

	loop_up(&l, state);
	assert_int_equal(rig_rule(&l.f->r, 2, group, 9, &id), 0);
	assert_int_equal(rig_rule(&l.f->r, 1, group, 10, &id), 0);
	send_to(&l, group, FLAGS, true);
	expect(&l, 0, 1);
	assert_int_equal(tpm_steer_detach(l.f->r.m, id), 0);
	rule[3] = 0x08; /* allow loopback */
	rule[7] = 1;
	prm_set32(rule, 8, 10);
	rule[16] = 12;
	rule[18] = 0xe0;
	rule[19] = 0x01;
	memcpy(rule + 16 + 0x0a, group, 6);
	memset(rule + 16 + 0x12, 0xff, 6);
	assert_int_equal(tpm_steer_attach(l.f->r.m, rule, 16, &id), 0);
	send_to(&l, group, FLAGS, true);
	expect(&l, 1, 1);
	send_to(&l, group, FLAGS, false);
	expect(&l, 0, 1);
}

/* A copy of the WQE at the head, put into a BlueFlame register in memory, in ascending order of its bytes. */
static void
copy_part(struct fix *f, unsigned int half, const uint8_t *w, unsigned int from, unsigned int to)
{
	uint8_t *reg = (uint8_t *)tp_model_uar(f->r.m, NULL) + (size_t)(TPM_NUM_UARS + f->tx.qp->uar) * 4096;
	unsigned int i;

	for (i = from; i < to; i += 8)
		memcpy(reg + half * BF_HALF + i, w + i, 8);
}

static void
copy_to_register(struct fix *f, unsigned int half, const uint8_t *w)
{
	copy_part(f, half, w, 0, 64);
}

/* Both halves of the register in turn, round the ring: each WQE is sent once, with no doorbell. */
static void
polled_blueflame(void **state)
{
	struct fix *f = *state;
	struct tp_model_stats st;
	const uint8_t *w;
	unsigned int i;

	for (i = 0; i < 200; i++) {
		w = rig_wqe(&f->tx);
		f->tx.bufs[20] = (uint8_t)i;
		rig_data(&f->tx, 1, f->tx.bufs, 60);
		rig_post(&f->tx, MLX4_OP_SEND | (i & 0xffff) << 8, 8 << 8 | 2, FLAGS);
		copy_to_register(f, i & 1, w);
		tp_model_step(f->r.m, 8);
		tp_model_step(f->r.m, 8);
		assert_non_null(rig_poll(f->tx.scq, 64, &f->tx.sci, f->tx.scq_rec));
		assert_int_equal(f->rx.bufs[(i & 63) * RIG_BUF + 20], (uint8_t)i);
		assert_non_null(rig_poll(f->rx.rcq, 64, &f->rx.rci, f->rx.rcq_rec));
		*f->rx.dbrec = rte_cpu_to_be_32(64 + i + 1);
	}
	tp_model_get_stats(f->r.m, &st);
	assert_int_equal(st.bf_doorbells, 200);
	assert_int_equal(st.doorbells, 0);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* Who writes a copy may lose its CPU in the middle: what is there of it is no WQE yet. */
static void
half_written(void **state)
{
	struct fix *f = *state;
	struct tp_model_stats st;
	const uint8_t *w;
	unsigned int i, k;

	f->r.m->virtual_time = false; /* where time stands still, all is written in one thread */
	for (i = 0; i < 2; i++) {
		w = rig_wqe(&f->tx);
		rig_data(&f->tx, 1, f->tx.bufs, 60 + i);
		rig_post(&f->tx, MLX4_OP_SEND | i << 8, 8 << 8 | 2, FLAGS);
		copy_part(f, 0, w, 0, 16);
		for (k = 0; k < 8 && i == 1; k++)
			tp_model_poll(f->r.m, 8);
		assert_null(rig_poll(f->tx.scq, 64, &f->tx.sci, f->tx.scq_rec));
		copy_part(f, 0, w, 16, 64);
		tp_model_poll(f->r.m, 8);
		tp_model_poll(f->r.m, 8);
		assert_non_null(rig_poll(f->tx.scq, 64, &f->tx.sci, f->tx.scq_rec));
	}
	tp_model_get_stats(f->r.m, &st);
	assert_int_equal(st.bf_doorbells, 2);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* One that stays wrong is reported after a while. */
static void
wrong_for_good(void **state)
{
	struct fix *f = *state;
	uint8_t copy[64];
	const uint8_t *w;

	f->r.m->virtual_time = false;
	w = rig_wqe(&f->tx);
	rig_data(&f->tx, 1, f->tx.bufs, 60);
	rig_post(&f->tx, MLX4_OP_SEND, 8 << 8 | 2, FLAGS);
	memcpy(copy, w, sizeof(copy));
	copy[20] ^= 1;
	copy_to_register(f, 0, copy);
	tp_model_poll(f->r.m, 8);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
	f->r.m->bf_part_ns -= UINT64_C(2000000000); /* so long ago */
	tp_model_poll(f->r.m, 8);
	assert_int_equal(rig_violations(&f->r, "bf-copy"), 1);
	assert_int_equal(tp_model_violations_total(f->r.m), 1);
}

/* The QPN takes the place of the tag in the control segment: numbers with bits that would ask for a tag do not go. */
static void
blueflame_number(void **state)
{
	struct fix *f = *state;
	for (uint32_t i = 0; i < 3; i++) {
		static const uint32_t qpn[] = {0x60, 0x81, 0x21};
		struct rig_q q;

		rig_qp(&f->r, &q, qpn[i], 1, 16, false);
		rig_data(&q, 1, f->tx.bufs, 60);
		rig_post(&q, MLX4_OP_SEND, qpn[i] << 8 | 2, FLAGS);
		rig_ring(&f->r, &q);
		tp_model_step(f->r.m, 8);
		assert_int_equal(rig_violations(&f->r, "wqe-vlan-bf"), i < 2 ? i + 1 : 2);
		assert_int_equal(tp_model_violations_total(f->r.m), i < 2 ? i + 1 : 2);
		assert_int_equal(q.qp->state, i < 2 ? MLX4_QP_ERR : MLX4_QP_RTS);
	}
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)
	const struct CMUnitTest tests[] = {T(own_address),  T(forced),         T(group_address),   T(polled_blueflame),
					   T(half_written), T(wrong_for_good), T(blueflame_number)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
