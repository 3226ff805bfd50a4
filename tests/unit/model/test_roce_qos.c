/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Verbs queue pairs of a port whose classes have rates or an order [DP 12]: each packet waits for its turn, and a queue
 * pair that waits for answers takes nobody else's.
 */
#include "verbs_rig.h"

#include "mlx4_prm_qos.h"

#define MS UINT64_C(1000000)
#define RATE_MBPS 100u
#define BURST 16384u /* that a class may catch up */
#define WRITE_LEN 8192u
#define WRITES 20u

/* Class 1 is strict and before class 0; priorities 1 to 7 are in class 1. rate: of both, in units of 100 Mb/s, 0: none. */
static void
classes(struct vr *v, uint32_t rate)
{
	uint8_t *in = card_in(v->c);

	memset(in, 0, MLX4_PRIO2TC_SIZE);
	prm_set32(in, 0, 0x01111111);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SET_PORT, 1, MLX4_SET_PORT_PRIO2TC << 8 | 1), 0);
	in = card_in(v->c);
	memset(in, 0, MLX4_TCS * MLX4_SCHED_ENTRY);
	for (unsigned int i = 0; i < MLX4_TCS; i++, in += MLX4_SCHED_ENTRY) {
		prm_set(in, MLX4_SCHED_GROUP, MLX4_TCS - 1 - i);
		prm_set(in, MLX4_SCHED_BW_PCT, 100);
		prm_set(in, MLX4_SCHED_RATE_UNIT, rate == 0 ? MLX4_SCHED_UNIT_1G : MLX4_SCHED_UNIT_100M);
		prm_set(in, MLX4_SCHED_RATE, rate == 0 ? MLX4_SCHED_RATE_NONE : rate);
	}
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SET_PORT, 1, MLX4_SET_PORT_SCHEDULER << 8 | 1), 0);
}

static void
pair(struct vr *v, uint8_t prio, struct vr_qp **a, struct vr_qp **b)
{
	*a = vr_qp(v, 1, MLX4_QP_ST_RC);
	*b = vr_qp(v, 2, MLX4_QP_ST_RC);
	vr_to(v, *a, 2, (*b)->qpn, VR_GID_V4);
	vr_to(v, *b, 1, (*a)->qpn, VR_GID_V4);
	prm_set((*a)->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_SCHED_QUEUE, MLX4_SCHED_QUEUE(1, prio));
	vr_qp_up(v, *a);
	vr_qp_up(v, *b);
}

static void
post_writes(struct vr *v, struct vr_qp *a, const struct vr_qp *b, unsigned int n)
{
	while (n-- != 0)
		vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem, WRITE_LEN, VR_RW_KEY, b->mem);
}

static unsigned int
completions(struct vr *v, struct vr_qp *a)
{
	unsigned int n = 0;

	while (vr_poll_cq(v, a) != NULL)
		n++;
	return n;
}

/* Bytes with FCS of the frames that an end sent. */
static uint64_t
bytes_sent(const struct vr_end *e)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < e->sent; i++)
		sum += e->frame[i].len + 4;
	return sum;
}

static void
test_rate_of_a_class(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint64_t before, due;

	classes(v, RATE_MBPS / 100);
	pair(v, 0, &a, &b);
	vr_fill(vr_mem(v, a), WRITE_LEN, 3);
	post_writes(v, a, b, WRITES);
	vr_step(v);
	before = bytes_sent(v->end[0]);
	assert_true(before <= BURST + VR_FRAME_MAX);
	for (unsigned int ms = 1; ms <= 10; ms++) {
		vr_wait(v, MS);
		due = ms * RATE_MBPS * 1000 / 8;
		assert_in_range(bytes_sent(v->end[0]) - before, due - VR_FRAME_MAX, due + VR_FRAME_MAX);
	}
	for (unsigned int ms = 0; ms < 5; ms++)
		vr_wait(v, MS);
	assert_int_equal(completions(v, a), WRITES);
	assert_memory_equal(vr_mem(v, b), vr_mem(v, a), WRITE_LEN);
	assert_int_equal(vr_diag(v, 1, 0x134), 0); /* nothing timed out */
	vr_quiet(v);
}

/* The peer of the first class does not answer: its window is full, and the other class has the port. */
static void
test_waiting_for_answers(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b, *c, *d;

	classes(v, 0);
	pair(v, 3, &a, &b);
	pair(v, 0, &c, &d);
	v->end[0]->lose = UINT32_MAX;
	for (unsigned int i = 0; i < 48; i++)
		vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem, 64, VR_RW_KEY, b->mem);
	vr_step(v);
	assert_int_equal(completions(v, a), 0);
	v->end[0]->lose = 0;
	vr_fill(vr_mem(v, c), WRITE_LEN, 5);
	post_writes(v, c, d, WRITES);
	vr_step(v);
	assert_int_equal(completions(v, c), WRITES);
	assert_memory_equal(vr_mem(v, d), vr_mem(v, c), WRITE_LEN);
	/* What was lost comes by the timer. */
	vr_wait(v, 10 * MS);
	assert_int_equal(completions(v, a), 48);
	vr_quiet(v);
}

/* Rung before the command that ends its queue pair: on the wire, as on a port without a scheduler. */
static void
test_before_reset(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	classes(v, 0);
	vr_pair(v, MLX4_QP_ST_UD, VR_GID_V4, &a, &b);
	vr_fill(vr_mem(v, a), 20, 3);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 60);
	vr_post_ud(v, a, 2, b->qpn, VR_GID_V4, 0xffff, 20);
	assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2RST_QP, 2, a->qpn), 0);
	vr_step(v);
	assert_int_equal(prm_get32(vr_expect(v, b, 1, 0), 0x14), 60);
	assert_memory_equal(vr_mem(v, b) + 40, vr_mem(v, a), 20);
	card_expect_clean(v->c);
}

/* But no more than the rate lets go. */
static void
test_rate_before_reset(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	classes(v, RATE_MBPS / 100);
	pair(v, 0, &a, &b);
	post_writes(v, a, b, WRITES);
	assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2RST_QP, 2, a->qpn), 0);
	assert_in_range(bytes_sent(v->end[0]), 1, BURST + VR_FRAME_MAX);
	card_expect_clean(v->c);
}

#define T(f) cmocka_unit_test_setup_teardown(f, vr_up, vr_down)

/* What goes to an address that software put in the port's table (SET_PORT) turns round inside the card [DP 8.7]. */
static void
test_other_addresses(void **state)
{
	static const uint8_t mac[6] = {0x02, 0xc9, 0x80, 0x55, 0xaa, 0x81};
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint8_t *in;

	for (unsigned int i = 0; i < 3; i++) {
		uint32_t sent = v->end[0]->sent;

		a = vr_qp(v, 1, MLX4_QP_ST_UC);
		b = vr_qp(v, 1, MLX4_QP_ST_UC);
		vr_to(v, a, 1, b->qpn, VR_GID_V4);
		vr_to(v, b, 1, a->qpn, VR_GID_V4);
		memcpy(a->ctx + MLX4_QPC_PRI_PATH + MLX4_PATH_DMAC, mac, 6);
		vr_qp_up(v, a);
		vr_qp_up(v, b);
		in = card_in(v->c);
		/* The last of 128; first not valid, then valid, then another one. */
		prm_set64(in, 127 * 8, UINT64_C(0x02c98055aa81) | (i == 0 ? 0 : UINT64_C(1) << 63));
		in[127 * 8 + 2] ^= i == 2 ? 0x80 : 0;
		assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SET_PORT, 1, MLX4_SET_PORT_MAC_TABLE << 8 | 1), 0);
		vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
		vr_post_send(v, a, a->mem, 40);
		vr_step(v);
		if (i == 1)
			vr_expect(v, b, 1, 0);
		else
			assert_null(vr_poll_cq(v, b));
		assert_int_equal(v->end[0]->sent - sent, i != 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_rate_of_a_class),   T(test_waiting_for_answers), T(test_before_reset),
		T(test_rate_before_reset), T(test_other_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
