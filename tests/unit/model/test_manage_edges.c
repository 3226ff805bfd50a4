/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Management at its edges: versions, keys and ports that are none, answers that are no questions [IBTA 13.4, 14.2]. */
#include <rte_byteorder.h>

#include "ibswitch_rig.h"

#define BAD_VERSION 0x04u
#define BAD_VALUE 0x1cu

/* A question of a subnet manager to the switch with one octet of the datagram changed; its answer, or NULL. */
static const uint8_t *
changed(struct vr *v, unsigned int at, uint8_t value)
{
	uint8_t *mad = vr_mem(v, sm), *reply = mad + 4096;
	uint16_t send = (uint16_t)sm->prod, recv = (uint16_t)sm->rprod;

	memset(mad, 0, 256);
	mad[0] = mad[2] = mad[3] = 1;
	mad[1] = 0x81;
	mad[6] = mad[7] = 1;
	mad[0x11] = 0x11;
	memset(mad + 0x20, 0xff, 4);
	mad[0x81] = 1;
	mad[at] = value;
	memset(reply, 0, 296);
	vr_post_recv(v, sm, VR_RW_KEY, sm->mem + 4096, 512);
	ir_post_mad(v, sm, 0xffff, 0);
	vr_step(v);
	vr_expect(v, sm, VR_SENT | MLX4_OP_SEND, send);
	if (vr_poll_cq(v, sm) == NULL) {
		sm->rprod = recv;
		return NULL;
	}
	return reply + 40;
}

static void
test_versions(void **state)
{
	struct vr *v = *state;
	const uint8_t *mad = changed(v, 0, 1);

	assert_non_null(mad);
	assert_int_equal(mad[5], 0);
	for (unsigned int at = 0; at <= 2; at += 2)
		for (uint8_t version = 0; version < 4; version++) {
			mad = version == 1 ? NULL : changed(v, at, version);
			if (mad != NULL)
				assert_int_equal(mad[5] & 0x1f, BAD_VERSION);
			else if (version == 2)
				fail_msg("no answer to version %u at %u", version, at);
		}
}

/* Ports that a switch of four has not: one more, and numbers that look like those that it has without their highest bit. */
static void
test_ports_of_tables(void **state)
{
	static const uint8_t none[] = {5, 0x41, 0x81, 0x84, 0xff};
	struct vr *v = *state;

	for (unsigned int i = 0; i < sizeof(none); i++) {
		assert_int_equal(ask(v, 1, 0, 1, 0x17, 0x0100u | none[i], NULL)[5], BAD_VALUE);
		assert_int_equal(ask(v, 1, 0, 1, 0x17, (uint32_t)none[i] << 8 | 1, NULL)[5], BAD_VALUE);
		assert_int_equal(ask(v, 1, 0, 1, 0x16, (uint32_t)none[i] << 16, NULL)[5], BAD_VALUE);
	}
	ask_ok(v, 1, 0, 1, 0x17, 0x0104, NULL);
	ask_ok(v, 1, 0, 1, 0x16, 4u << 16, NULL);
}

/* Tables of groups keep each of the sixteen ports of a word, whether the switch has them or not [IBTA 14.2.5.12]. */
static void
test_words_of_groups(void **state)
{
	struct vr *v = *state;
	uint8_t mft[64];

	for (unsigned int bit = 0; bit < 16; bit++) {
		memset(mft, 0, sizeof(mft));
		mft[2 * bit] = (uint8_t)(0x8000u >> bit >> 8);
		mft[2 * bit + 1] = (uint8_t)(0x8000u >> bit);
		mft[63] = 0xff;
		mft[62] = 0xff;
		ask_ok(v, 1, 0, 2, 0x1b, 0, mft);
		assert_memory_equal(ask_ok(v, 1, 0, 1, 0x1b, 0, NULL), mft, 64);
	}
}

/* What leaves by a port that is not active is discarded there (18.2.4.1). */
static void
test_port_not_active(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD);

	manage(v);
	vr_qp_up(v, a);
	switch_port_state(v, 3, 1);
	ir_post_ud(v, a, IR_LID2, 5, NULL, 30);
	vr_step(v);
	assert_int_equal(counter("port3.xmit_discards"), 1);
	assert_int_equal(counter("port3.tx_packets"), 0);
}

/* Who does not know the key of a switch that is protected altogether hears nothing (14.2.4.1). */
static void
test_key_of_the_switch(void **state)
{
	struct vr *v = *state;
	uint8_t info[64];

	memcpy(info, ask_ok(v, 1, 0, 1, 0x15, 0, NULL), 64);
	prm_set64(info, 0, 0x1234);
	info[34] |= 2 << 6;
	ask_ok(v, 1, 0, 2, 0x15, 0, info);
	assert_null(changed(v, 0x1f, 0));
	assert_null(changed(v, 0x1f, 0x34));
	assert_null(ask(v, 1, 0, 2, 0x15, 0, info));
}

/* Out of QP1 of port 1, to a LID; the reply's first octet behind GRH, or NULL. */
static const uint8_t *
general(struct vr *v, struct vr_qp *gsi, uint8_t class, uint8_t method, uint16_t lid)
{
	uint8_t *mad = vr_mem(v, gsi);
	uint16_t send = (uint16_t)gsi->prod, recv = (uint16_t)gsi->rprod;

	memset(mad, 0, 256);
	mad[0] = mad[2] = 1;
	mad[1] = class;
	mad[3] = method;
	mad[0x11] = 0x12;
	mad[0x41] = 3;
	vr_post_recv(v, gsi, VR_RW_KEY, gsi->mem + 4096, 512);
	ir_post_mad(v, gsi, lid, 1);
	vr_step(v);
	vr_expect(v, gsi, VR_SENT | MLX4_OP_SEND, send);
	if (vr_poll_cq(v, gsi) == NULL) {
		gsi->rprod = recv;
		return NULL;
	}
	return mad + 4096 + 40;
}

static void
sm_by_lid(struct vr *v, uint8_t method, bool answered)
{
	uint8_t *mad = vr_mem(v, sm);
	uint16_t send = (uint16_t)sm->prod;
	bool got;

	memset(mad, 0, 256);
	mad[0] = mad[1] = mad[2] = 1;
	mad[3] = method;
	mad[4] = method == 1 ? 0x80 : 0; /* no direction here */
	mad[0x11] = 0x11;
	vr_post_recv(v, sm, VR_RW_KEY, sm->mem + 4096, 512);
	ir_post_mad(v, sm, 7, 0);
	vr_step(v);
	vr_expect(v, sm, VR_SENT | MLX4_OP_SEND, send);
	got = vr_poll_cq(v, sm) != NULL;
	assert_int_equal(got, answered);
	if (got) {
		assert_int_equal(mad[4096 + 40 + 3], 0x81);
		assert_int_equal(mad[4096 + 40 + 0x40 + 2], 2); /* a switch */
	}
}

/* The switch answers questions about its counters, not answers, nor questions of other classes (13.4.5). */
static void
test_no_questions(void **state)
{
	struct vr *v = *state;
	struct vr_qp *gsi;
	uint8_t info[64];

	manage(v);
	memcpy(info, ask_ok(v, 1, 0, 1, 0x15, 0, NULL), 64);
	info[17] = 7; /* the LID */
	info[32] &= 0xf0;
	info[33] &= 0x0f;
	ask_ok(v, 1, 0, 2, 0x15, 0, info);
	gsi = ir_special(v, 1, 1);
	/* A subnet manager's question by LID, and its answer. */
	sm_by_lid(v, 1, true);
	sm_by_lid(v, 0x81, false);
	assert_int_equal(general(v, gsi, 4, 1, 7)[3], 0x81);
	assert_int_equal(general(v, gsi, 4, 2, 7)[3], 0x81);
	assert_null(general(v, gsi, 4, 0x81, 7));
	assert_null(general(v, gsi, 4, 5, 7));
	assert_null(general(v, gsi, 3, 1, 7));
}

/* --- without the switch ----------------------------------------------------------------------------------------------------- */

/* QP1 reaches itself by the port's own LID, and nothing goes out. */
static void
test_to_itself(void **state)
{
	struct vr *v = *state;
	struct vr_qp *gsi = ir_special(v, 1, 1);
	uint8_t *mad = vr_mem(v, gsi);
	uint32_t sent = v->end[0]->sent;

	for (uint16_t i = 0; i < 2; i++) {
		memset(mad, 0, 256);
		mad[0] = mad[2] = 1;
		mad[1] = 3;
		mad[3] = 0x81;
		mad[8] = (uint8_t)(i + 1);
		memset(mad + 4096, 0, 296);
		vr_post_recv(v, gsi, VR_RW_KEY, gsi->mem + 4096, 512);
		ir_post_mad(v, gsi, IR_LID1, 1);
		vr_step(v);
		/* What arrives comes before the end of what was sent, or behind. */
		assert_non_null(vr_poll_cq(v, gsi));
		assert_non_null(vr_poll_cq(v, gsi));
		assert_null(vr_poll_cq(v, gsi));
		assert_memory_equal(mad + 4096 + 40, mad, 256);
	}
	assert_int_equal(v->end[0]->sent, sent);
	card_expect_clean(v->c);
}

/* A directed route that goes on by LIDs at its end is not for this port (14.2.1.2). */
static void
test_mixed_routes(void **state)
{
	struct vr *v = *state;

	sm = ir_special(v, 1, 0);
	assert_non_null(changed(v, 3, 1));
	assert_null(changed(v, 0x22, 0));
	assert_null(changed(v, 0x23, 0));
	assert_null(changed(v, 7, 2));
	assert_null(changed(v, 4, 0x80));
	assert_non_null(changed(v, 3, 1));
	card_expect_clean(v->c);
}

/* Each bit of an opcode counts: queue pairs of whole packets only send. */
static void
test_opcodes(void **state)
{
	for (unsigned int bit = 0; bit < 5; bit++) {
		struct vr *v;
		struct vr_qp *gsi;
		uint8_t *w;

		assert_int_equal(ir_up(state), 0);
		v = *state;
		gsi = ir_special(v, 1, 1);
		w = vr_wqe(v, gsi);
		ir_post_mad(v, gsi, IR_LID2, 1);
		w[3] ^= (uint8_t)(1u << bit);
		vr_step(v);
		vr_expect_error(v, gsi, true, MLX4_SYND_LOCAL_QP_OP, 0);
		assert_int_equal(v->end[0]->sent, 0);
		card_expect(v->c, "wqe-opcode", 1);
		vr_down(state);
	}
	assert_int_equal(ir_up(state), 0);
}

/* Packets of no more octets than headers and CRCs have are none, whatever their CRC says. */
static void
test_short_packets(void **state)
{
	struct vr *v = *state;
	uint8_t pkt[32] = {0, 2, 0, IR_LID2};
	struct tp_frame_seg seg = {.data = pkt};
	struct tp_frame f = {.seg = &seg, .nseg = 1};
	uint32_t n = 0;

	for (f.len = 2; f.len < 8 + 12 + 4 + 2; f.len++, n++) {
		uint16_t crc = ir_crc16(pkt, f.len - 2);

		seg.len = f.len;
		memcpy(pkt + f.len - 2, (uint8_t[]){(uint8_t)crc, (uint8_t)(crc >> 8)}, 2);
		tp_model_port_receive(v->c->m, 2, &f, 1);
		memset(pkt + 4, 0, sizeof(pkt) - 4);
	}
	ir_mad(v, 4, 1, 0x12, 0)[1] = 2;
	assert_int_equal(ir_mad_ifc(v, 2), 0);
	assert_int_equal(prm_get32(card_out(v->c), 0x48) >> 16, n);
	card_expect_clean(v->c);
}

static int
none(void **state)
{
	*state = NULL;
	return 0;
}

int
main(void)
{
#define PORT(f) cmocka_unit_test_setup_teardown(f, ir_up, vr_down)
#define SWITCH(f) cmocka_unit_test_setup_teardown(f, up, vr_down)
	const struct CMUnitTest tests[] = {
		SWITCH(test_versions),
		SWITCH(test_ports_of_tables),
		SWITCH(test_key_of_the_switch),
		SWITCH(test_words_of_groups),
		SWITCH(test_port_not_active),
		PORT(test_mixed_routes),
		SWITCH(test_no_questions),
		PORT(test_to_itself),
		cmocka_unit_test_setup_teardown(test_opcodes, none, vr_down),
		PORT(test_short_packets),
	};

	return cmocka_run_group_tests_name("manage_edges", tests, NULL, NULL);
}
