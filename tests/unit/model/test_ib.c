/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * InfiniBand ports of the card as software and the wire see them [CP 4.9, DP 10, WF 1, 5, 9]: the port's states and
 * attributes, counters, QP0 and QP1, and the firmware that answers for a port whose QP0 nobody opened.
 */
#include "ib_rig.h"

/* --- state --- */

static void
test_states(void **state)
{
	struct vr *v = *state;
	uint32_t of;

	ir_events(v);
	assert_int_equal(ir_state(v, 1), 2);
	assert_int_equal(ir_get(v, 1, 0x15, 1)[33] >> 4, 5);
	/* Not over two steps at once, and not back */
	assert_int_equal(ir_set_state(v, 1, 4), 0x1c);
	assert_int_equal(ir_set_state(v, 1, 2), 0x1c);
	assert_int_equal(ir_set_state(v, 1, 3), 0);
	assert_int_equal(ir_state(v, 1), 3);
	vr_no_event(v);
	assert_int_equal(ir_set_state(v, 1, 4), 0);
	assert_int_equal(ir_state(v, 1), 4);
	assert_int_equal(vr_event(v, &of), MLX4_EVENT_PORT_CHANGE);
	assert_int_equal(ir_set_state(v, 1, 3), 0x1c);
	/* Down for a moment: the link trains again. */
	assert_int_equal(ir_set_state(v, 1, 1), 0);
	assert_int_equal(vr_event(v, &of), MLX4_EVENT_PORT_CHANGE);
	vr_step(v);
	assert_int_equal(ir_state(v, 1), 2);
	vr_quiet(v);
}

static void
test_disabled(void **state)
{
	struct vr *v = *state;
	uint8_t *d = ir_port_info(v, 1);

	d[32] |= 1;
	d[33] |= 3 << 4;
	assert_int_equal(ir_mad_ifc(v, 1), 0);
	vr_step(v);
	assert_int_equal(ir_state(v, 1), 1);
	assert_int_equal(ir_get(v, 1, 0x15, 1)[33] >> 4, 3);
	d = ir_port_info(v, 1);
	d[32] |= 1;
	d[33] |= 2 << 4;
	assert_int_equal(ir_mad_ifc(v, 1), 0);
	vr_step(v);
	assert_int_equal(ir_state(v, 1), 2);
	card_expect_clean(v->c);
}

static void
test_cable(void **state)
{
	struct vr *v = *state;
	uint32_t of;

	tp_model_cable(v->c->m, 1, false);
	vr_step(v);
	assert_int_equal(ir_state(v, 1), 1);
	assert_int_equal(vr_event(v, &of), MLX4_EVENT_PORT_CHANGE);
	tp_model_cable(v->c->m, 1, true);
	vr_step(v);
	assert_int_equal(ir_state(v, 1), 2);
	vr_quiet(v); /* up is told when it is active */
}

/* --- attributes --- */

static void
test_port_info(void **state)
{
	struct vr *v = *state;
	const uint8_t *e, *i;
	uint8_t *d;

	ir_events(v);
	d = ir_port_info(v, 2);
	memcpy(d + 8, "\xfe\xc0\0\0\0\0\0\x07", 8);
	memcpy(d + 16, "\x00\x24\x00\x05", 4);
	d[34] = 2;
	d[36] = 4 << 4 | 3; /* MTU 2048, SL of the manager 3 */
	d[51] = 0x80 | 18;
	assert_int_equal(ir_mad_ifc(v, 2), 0);
	e = card_ptr(v->c, v->c->eq_buf) + (size_t)v->eq_ci * 32;
	assert_int_equal(e[1], 0x1d);
	assert_int_equal(e[3], 0x15);
	assert_int_equal(e[7], 2);
	assert_memory_equal(e + 8, "\x00\x05\x00\x24\x00\x00\x00\x1f", 8);
	assert_int_equal(e[0x13], 3);
	assert_memory_equal(e + 0x14, "\xfe\xc0\0\0\0\0\0\x07", 8);
	v->eq_ci++;
	i = ir_get(v, 2, 0x15, 2);
	assert_memory_equal(i + 16, "\x00\x24\x00\x05", 4);
	assert_int_equal(i[34], 2);
	assert_int_equal(i[36], 4 << 4 | 3);
	assert_int_equal(i[51], 18);
	/* LIDs that are none, that do not fit their LMC; an MTU that is too large */
	d = ir_port_info(v, 2);
	d[16] = 0xc0;
	assert_int_equal(ir_mad_ifc(v, 2), 0x1c);
	d = ir_port_info(v, 2);
	d[17] = 0x25;
	assert_int_equal(ir_mad_ifc(v, 2), 0x1c);
	d = ir_port_info(v, 2);
	d[36] = 6 << 4;
	assert_int_equal(ir_mad_ifc(v, 2), 0x1c);
	vr_quiet(v);
}

static void
test_tables(void **state)
{
	struct vr *v = *state;
	const uint8_t *e;
	uint8_t *d;

	ir_events(v);
	d = ir_mad(v, 1, 2, 0x16, 1); /* P_Keys, second block */
	memcpy(d + 4, "\x80\x01\x00\x02", 4);
	assert_int_equal(ir_mad_ifc(v, 1), 0);
	e = card_ptr(v->c, v->c->eq_buf) + (size_t)v->eq_ci++ * 32;
	assert_int_equal(e[3], 0x16);
	assert_memory_equal(e + 8, "\0\0\0\x01\0\0\0\x0c", 8);
	assert_memory_equal(ir_get(v, 1, 0x16, 1) + 4, "\x80\x01\x00\x02", 4);
	ir_mad(v, 1, 2, 0x16, 4);
	assert_int_equal(ir_mad_ifc(v, 1), 0x1c);
	ir_mad(v, 1, 2, 0x14, 16);
	assert_int_equal(ir_mad_ifc(v, 1), 0x1c);
	ir_mad(v, 1, 2, 0x14, UINT32_MAX);
	assert_int_equal(ir_mad_ifc(v, 1), 0x1c);
	d = ir_mad(v, 1, 2, 0x14, 0); /* GUIDs: the first stays */
	memset(d, 0x11, 16);
	assert_int_equal(ir_mad_ifc(v, 1), 0);
	e = card_ptr(v->c, v->c->eq_buf) + (size_t)v->eq_ci++ * 32;
	assert_int_equal(e[3], 0x14);
	assert_int_equal(e[0xf], 2);
	assert_int_equal(prm_get64(ir_get(v, 1, 0x14, 0), 0), IR_GUID + 1);
	assert_int_equal(ir_get(v, 1, 0x14, 0)[8], 0x11);
	d = ir_mad(v, 1, 2, 0x17, 0);
	memset(d, 0, 8);
	assert_int_equal(ir_mad_ifc(v, 1), 0);
	e = card_ptr(v->c, v->c->eq_buf) + (size_t)v->eq_ci++ * 32;
	assert_int_equal(e[3], 0x17);
	assert_int_equal(e[8], 0);
	d = ir_mad(v, 1, 2, 0x18, 1u << 16);
	memset(d, 0x21, 64);
	assert_int_equal(ir_mad_ifc(v, 1), 0);
	assert_int_equal(ir_get(v, 1, 0x18, 1u << 16)[63], 0x21);
	ir_mad(v, 1, 1, 0x18, 5u << 16);
	assert_int_equal(ir_mad_ifc(v, 1), 0x1c);
	d = ir_mad(v, 1, 2, 0x10, 0);
	memcpy(d, "name", 5);
	assert_int_equal(ir_mad_ifc(v, 1), 0);
	assert_string_equal((const char *)ir_get(v, 2, 0x10, 0), "name");
	vr_quiet(v);
}

static void
test_mkey(void **state)
{
	struct vr *v = *state;
	uint8_t *d = ir_port_info(v, 1);

	prm_set64(d, 0, 0x1234);
	assert_int_equal(ir_mad_ifc(v, 1), 0);
	/* Without the key nothing is set; with it, all */
	d = ir_port_info(v, 1);
	d[17] = 9;
	assert_int_equal(card_cmd(v->c, MLX4_CMD_MAD_IFC, 0, 1, v->c->in, v->c->out), MLX4_STAT_BAD_PKT);
	d = ir_port_info(v, 1);
	assert_int_equal(d[45], 1); /* violations */
	d[17] = 9;
	prm_set64(d - 0x40, 0x18, 0x1234);
	assert_int_equal(card_cmd(v->c, MLX4_CMD_MAD_IFC, 0, 1, v->c->in, v->c->out), 0);
	assert_int_equal(ir_get(v, 1, 0x15, 1)[17], 9);
	card_expect_clean(v->c);
}

/* --- counters --- */

static void
test_counters(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	const uint8_t *o = card_out(v->c);
	uint32_t bytes = 0;

	ir_pair(v, MLX4_QP_ST_UC, &a, &b);
	vr_exchange(v, a, b, 100);
	vr_exchange(v, a, b, 200);
	for (uint32_t i = 0; i < v->end[0]->sent; i++)
		bytes += v->end[0]->frame[i].len;
	ir_mad(v, 4, 1, 0x12, 0)[1] = 1;
	assert_int_equal(ir_mad_ifc(v, 1), 0);
	assert_int_equal(prm_get32(o, 0x40 + 32), 2);
	assert_int_equal(prm_get32(o, 0x40 + 24), bytes / 4);
	ir_mad(v, 4, 1, 0x1d, 0)[1] = 2;
	assert_int_equal(ir_mad_ifc(v, 2), 0);
	assert_int_equal(prm_get64(o, 0x40 + 16), bytes / 4);
	assert_int_equal(prm_get64(o, 0x40 + 32), 2);
	assert_int_equal(prm_get64(o, 0x40 + 48), 2); /* unicast */
	/* Set to 0 by selection: packets sent, not bytes */
	memcpy(ir_mad(v, 4, 2, 0x12, 0), "\0\x01\x40\0", 4);
	assert_int_equal(ir_mad_ifc(v, 1), 0);
	ir_mad(v, 4, 1, 0x12, 0)[1] = 1;
	assert_int_equal(ir_mad_ifc(v, 1), 0);
	assert_int_equal(prm_get32(o, 0x40 + 32), 0);
	assert_int_equal(prm_get32(o, 0x40 + 24), bytes / 4);
	ir_mad(v, 4, 1, 0x12, 0)[1] = 3;
	assert_int_equal(ir_mad_ifc(v, 1), 0x1c);
	vr_quiet(v);
}

/* --- QP0 and QP1 --- */

static void
test_firmware_answers(void **state)
{
	struct vr *v = *state;
	struct vr_qp *q = ir_special(v, 1, 0);
	uint8_t *mad = vr_mem(v, q);
	const uint8_t *e;

	/* One hop by directed route: the other port's firmware */
	mad[0] = mad[2] = mad[3] = 1;
	mad[1] = 0x81;
	mad[6] = mad[7] = 1;
	mad[0x11] = 0x11;
	memset(mad + 0x20, 0xff, 4);
	mad[0x81] = 1;
	vr_post_recv(v, q, VR_RW_KEY, q->mem + 4096, 512);
	ir_post_mad(v, q, 0xffff, 0);
	vr_step(v);
	vr_expect(v, q, VR_SENT | MLX4_OP_SEND, 0);
	ir_check_crcs(ir_last(v, 1));
	ir_check_crcs(ir_last(v, 2));
	e = vr_expect(v, q, 1, 0);
	assert_int_equal(prm_get32(e, 0x14), 296);
	mad = vr_mem(v, q) + 4096 + 40;
	assert_int_equal(mad[3], 0x81);
	assert_memory_equal(mad + 4, "\x80\0", 2);
	assert_int_equal(mad[0xc1], 2);
	assert_int_equal(mad[0x40 + 2], 1);
	assert_int_equal(mad[0x40 + 36], 2);
	assert_int_equal(prm_get64(mad, 0x54), IR_GUID + 2);
	vr_quiet(v);
}

static void
test_firmware_sets_by_lid(void **state)
{
	struct vr *v = *state;
	struct vr_qp *q = ir_special(v, 1, 0);
	uint8_t *mad = vr_mem(v, q), info[64];

	memcpy(info, ir_get(v, 2, 0x15, 2), sizeof(info));
	mad[0] = mad[1] = mad[2] = 1;
	mad[3] = 2;
	mad[0x11] = 0x15;
	memcpy(mad + 0x40, info, sizeof(info));
	mad[0x40 + 19] = 0x77; /* LID of the manager */
	mad[0x40 + 32] &= 0xf0;
	mad[0x40 + 33] &= 0x0f;
	vr_post_recv(v, q, VR_RW_KEY, q->mem + 4096, 512);
	ir_post_mad(v, q, IR_LID2, 0);
	vr_step(v);
	vr_expect(v, q, VR_SENT | MLX4_OP_SEND, 0);
	assert_int_equal(prm_get32(vr_expect(v, q, 1, 0), 12) & 0xffff, IR_LID2);
	assert_memory_equal(vr_mem(v, q) + 4096 + 40 + 4, "\0\0", 2);
	assert_int_equal(ir_get(v, 2, 0x15, 2)[19], 0x77);
	card_expect_clean(v->c);
}

static void
test_software_answers(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_special(v, 1, 0), *b = ir_special(v, 2, 0);

	vr_fill(vr_mem(v, a), 256, 3);
	vr_post_recv(v, b, VR_RW_KEY, b->mem + 4096, 512);
	ir_post_mad(v, a, 0xffff, 0);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	assert_int_equal(prm_get32(vr_expect(v, b, 1, 0), 12) & 0xffff, 0xffff);
	assert_memory_equal(vr_mem(v, b) + 4096 + 40, vr_mem(v, a), 256);
	assert_int_equal(ir_last(v, 1)->data[0] >> 4, 15);
	assert_int_equal(v->end[1]->sent, 0);
	vr_quiet(v);
}

static void
test_qp1(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_special(v, 1, 1), *b = ir_special(v, 2, 1);
	const uint8_t *e;

	vr_fill(vr_mem(v, a), 256, 3);
	vr_post_recv(v, b, VR_RW_KEY, b->mem + 4096, 512);
	ir_post_mad(v, a, IR_LID2, 1);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	e = vr_expect(v, b, 1, 0);
	assert_int_equal(prm_get32(e, 8), 1);
	assert_int_equal(prm_get32(e, 12) & 0xffff, IR_LID1);
	assert_memory_equal(vr_mem(v, b) + 4096 + 40, vr_mem(v, a), 256);
	assert_memory_equal(ir_last(v, 1)->data + 6, "\0\x10", 2);
	vr_quiet(v);
}

/* Software's header contradicts the packet or the control segment: nothing leaves, and the queue pair is in error. */
static void
test_wrong_headers(void **state)
{
	static const struct {
		unsigned int port, which, at;
		uint8_t value;
	} wrong[] = {
		{1, 1, 1, 1},                      /* LNH: raw, no transport header */
		{2, 1, 5, (28 + 256 + 4) / 4 + 1}, /* one word more than there is */
		{1, 0, 3, IR_LID2 + 1},            /* another destination than the control segment's */
	};
	struct vr *v = *state;
	unsigned int i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct vr_qp *q = ir_special(v, wrong[i].port, wrong[i].which);
		uint8_t *lrh = vr_wqe(v, q) + 20;

		ir_post_mad(v, q, wrong[i].port == 1 ? IR_LID2 : IR_LID1, wrong[i].which);
		lrh[wrong[i].at] = wrong[i].value;
		vr_step(v);
		vr_expect_error(v, q, true, MLX4_SYND_LOCAL_QP_OP, 0);
		assert_int_equal(card_violations(v->c, "wqe-lrh"), i + 1);
	}
	assert_int_equal(tp_model_violations_total(v->c->m), i);
	assert_int_equal(v->end[0]->sent + v->end[1]->sent, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_states, ir_up_init, vr_down),
		cmocka_unit_test_setup_teardown(test_disabled, ir_up_init, vr_down),
		cmocka_unit_test_setup_teardown(test_cable, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_port_info, ir_up_init, vr_down),
		cmocka_unit_test_setup_teardown(test_tables, ir_up_init, vr_down),
		cmocka_unit_test_setup_teardown(test_mkey, ir_up_init, vr_down),
		cmocka_unit_test_setup_teardown(test_counters, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_firmware_answers, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_firmware_sets_by_lid, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_software_answers, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_qp1, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_wrong_headers, ir_up, vr_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
