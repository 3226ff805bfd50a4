/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ports of the InfiniBand switch: when they take packets, how much waits there, and for how long [IBTA 7.9, 18.2]. */
#include "ibswitch_rig.h"

/* Before a manager has armed the switch's port it takes no data; what comes is counted. */
static void
test_not_armed(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD);

	ir_set_lid(v, 1, IR_LID1, 0);
	assert_int_equal(ir_set_state(v, 1, 3), 0);
	assert_int_equal(ir_set_state(v, 1, 4), 0);
	ir_events(v);
	vr_qp_up(v, a);
	ir_post_ud(v, a, IR_LID2, 80, NULL, 8);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	assert_int_equal(counter("port1.rcv_not_armed"), 1);
	assert_int_equal(counter("port1.rx_packets"), 0);
	vr_quiet(v);
}

/* Far more than a lane's credit: the sender waits, nothing is lost. */
static void
test_credits(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	manage(v);
	ir_pair(v, MLX4_QP_ST_UC, &a, &b);
	for (unsigned int i = 0; i < 4; i++) {
		vr_fill(vr_mem(v, a) + i * 4096, 4096, (uint8_t)i);
		vr_post_recv(v, b, VR_RW_KEY, b->mem + i * 4096, 4096);
		vr_post_send(v, a, a->mem + i * 4096, 4096);
	}
	vr_step(v);
	for (uint16_t i = 0; i < 4; i++)
		vr_expect(v, b, 1, i);
	assert_memory_equal(vr_mem(v, b), vr_mem(v, a), VR_BUF);
	assert_true(counter("port1.xmit_wait") > 0);
	assert_int_equal(counter("port3.xmit_discards"), 0);
	vr_quiet(v);
}

/* Another card on port 2, with LID 0x30; who wants its port to be polled steps it. */
static void
third_port(struct vr *v, void **other)
{
	uint8_t lft[64];
	struct vr *w;

	ir_up_init(other);
	w = *other;
	tp_model_wire_none(w->c->m, 2); /* the other end of the wire that goes */
	plug(w, 1, "t/port:2");
	vr_step(w);
	manage(v);
	memcpy(lft, ask_ok(v, 1, 0, 1, 0x19, 0, NULL), 64);
	lft[0x30] = 2;
	ask_ok(v, 1, 0, 2, 0x19, 0, lft);
	ir_set_lid(w, 1, 0x30, 0);
	for (uint8_t s = 3; s <= 4; s++) {
		switch_port_state(v, 2, s);
		assert_int_equal(ir_set_state(w, 1, s), 0);
	}
	ir_events(v);
}

static unsigned int completions(struct vr *v, struct vr_qp *q);

/* As many packets as fit, by their octets on the wire: with a GRH and without one. */
static void
test_credits_by_octets(void **state)
{
	enum { HEADERS = 8 + 12, CRCS = 4 + 2, GRH = 40, PAYLOAD = 968 };
	struct vr *v = *state;
	struct vr_qp *q;
	void *other;

	third_port(v, &other);
	for (unsigned int grh = 0; grh < 2; grh++) {
		unsigned int fit = 5000 / (HEADERS + grh * GRH + PAYLOAD + CRCS);

		q = ir_qp(v, 1, MLX4_QP_ST_UC);
		ir_to(q, 0x30, 0x50);
		if (grh != 0)
			ir_to_gid(q, 2);
		vr_qp_up(v, q);
		for (unsigned int i = 0; i < 8; i++)
			vr_post_send(v, q, q->mem, PAYLOAD);
		for (unsigned int i = 0; i < 100; i++)
			tp_model_step(v->c->m, 32);
		assert_int_equal(completions(v, q), fit);
		assert_int_equal(fit, grh != 0 ? 4 : 5);
		/* The other card takes them, and all the rest. */
		for (unsigned int i = 0; i < 100; i++) {
			tp_model_step(((struct vr *)other)->c->m, 32);
			tp_model_step(v->c->m, 32);
		}
		assert_int_equal(completions(v, q), 8 - fit);
	}
	vr_down(&other);
}

static unsigned int
completions(struct vr *v, struct vr_qp *q)
{
	unsigned int n = 0;

	while (vr_poll_cq(v, q) != NULL)
		n++;
	return n;
}

/* Datagrams of QP1 have credits as all packets have but those of VL 15: they wait in their queue, and none is lost. */
static void
test_credits_of_datagrams(void **state)
{
	struct vr *v = *state, *w;
	struct vr_qp *gsi;
	void *other;

	third_port(v, &other);
	w = other;
	gsi = ir_special(v, 1, 1);
	for (unsigned int i = 0; i < 20; i++)
		ir_post_mad(v, gsi, 0x30, 1);
	for (unsigned int i = 0; i < 100; i++)
		tp_model_step(v->c->m, 32);
	assert_int_equal(completions(v, gsi), 5000 / (8 + 12 + 8 + 256 + 4 + 2));
	assert_true(counter("port1.xmit_wait") > 0);
	for (unsigned int i = 0; i < 100; i++) {
		tp_model_step(w->c->m, 32);
		tp_model_step(v->c->m, 32);
	}
	assert_int_equal(completions(v, gsi), 3);
	tp_model_step(w->c->m, 32);
	assert_int_equal(counter("port2.tx_packets"), 20);
	assert_int_equal(counter("port2.xmit_discards"), 0);
	card_expect_clean(v->c);
	vr_down(&other);
}

/* A card that does not come for its packets does not hold up others for ever. */
static void
test_head_of_queue(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b, *q;
	void *other;

	third_port(v, &other);
	ir_pair(v, MLX4_QP_ST_UC, &a, &b);
	q = ir_qp(v, 1, MLX4_QP_ST_UC);
	ir_to(q, 0x30, 0x50);
	vr_qp_up(v, q);
	for (unsigned int i = 0; i < 8; i++)
		vr_post_send(v, q, q->mem, 1024);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 4096);
	for (unsigned int i = 0; i < 100; i++)
		tp_model_step(v->c->m, 32);
	assert_true(counter("port1.xmit_wait") > 0);
	vr_post_send(v, a, a->mem, 1024);
	for (unsigned int i = 0; i < 100; i++)
		tp_model_step(v->c->m, 32);
	assert_null(vr_poll_cq(v, b));
	for (unsigned int i = 0; i < 4; i++) {
		v->now += 1100000000; /* HoqLife 18 is 1.07 s */
		tp_model_set_time(v->c->m, v->now);
		for (unsigned int k = 0; k < 100; k++)
			tp_model_step(v->c->m, 32);
	}
	vr_expect(v, b, 1, 0);
	assert_int_equal(counter("port2.xmit_discards"), 8);
	assert_int_equal(counter("port3.xmit_discards"), 0);
	card_expect_clean(v->c);
	vr_down(&other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_not_armed, up, vr_down),
		cmocka_unit_test_setup_teardown(test_credits, up, vr_down),
		cmocka_unit_test_setup_teardown(test_credits_by_octets, up, vr_down),
		cmocka_unit_test_setup_teardown(test_credits_of_datagrams, up, vr_down),
		cmocka_unit_test_setup_teardown(test_head_of_queue, up, vr_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
