/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The InfiniBand switch "t" with the two ports of a card on its ports 1 and 3, and what a subnet manager does there by directed
 * routes.
 */
#ifndef IBSWITCH_RIG_H
#define IBSWITCH_RIG_H

#include "ib_rig.h"
#include "tp_ibswitch.h"

#define SWITCH_GUID UINT64_C(0x0002c90511223344)
#define MGID_LID 0xc001u

static struct vr_qp *sm; /* QP0 of port 1, from where all is managed */

static inline void
plug(struct vr *v, unsigned int port, const char *spec)
{
	char err[TP_IBSWITCH_TEXT];

	if (tp_model_wire_ibswitch(v->c->m, port, spec, err) != 0)
		fail_msg("%s", err);
}

static inline int
up(void **state)
{
	struct vr *v;

	ir_up_init(state);
	v = *state;
	plug(v, 1, "t/ports:4/guid:0002c90511223344/credit:5000");
	plug(v, 2, "t/port:3");
	vr_step(v);
	sm = ir_special(v, 1, 0);
	ir_events(v);
	return 0;
}

/* A directed route of up to two hops: out of the card, then out of the switch. The answer, or NULL. */
static inline uint8_t *
ask(struct vr *v, unsigned int hops, uint8_t second, uint8_t method, uint16_t attr, uint32_t mod, const uint8_t *data)
{
	static uint64_t tid;
	uint8_t *mad = vr_mem(v, sm), *reply = mad + 4096;
	uint16_t send = (uint16_t)sm->prod, recv = (uint16_t)sm->rprod;

	memset(mad, 0, 256);
	mad[0] = mad[2] = 1;
	mad[1] = 0x81;
	mad[3] = method;
	mad[6] = 1;
	mad[7] = (uint8_t)hops;
	prm_set64(mad, 8, ++tid);
	mad[0x10] = (uint8_t)(attr >> 8);
	mad[0x11] = (uint8_t)attr;
	prm_set32(mad, 0x14, mod);
	memset(mad + 0x20, 0xff, 4);
	mad[0x81] = 1;
	mad[0x82] = second;
	if (data != NULL)
		memcpy(mad + 0x40, data, 64);
	memset(reply, 0, 296);
	vr_post_recv(v, sm, VR_RW_KEY, sm->mem + 4096, 512);
	ir_post_mad(v, sm, 0xffff, 0);
	vr_step(v);
	vr_expect(v, sm, VR_SENT | MLX4_OP_SEND, send);
	if (vr_poll_cq(v, sm) == NULL) {
		sm->rprod = recv;
		return NULL;
	}
	assert_int_equal(prm_get64(reply + 40, 8), tid);
	assert_int_equal(reply[43], 0x81);
	assert_int_equal(reply[44], 0x80);
	return reply + 40;
}

static inline uint8_t *
ask_ok(struct vr *v, unsigned int hops, uint8_t second, uint8_t method, uint16_t attr, uint32_t mod,
       const uint8_t *data)
{
	uint8_t *mad = ask(v, hops, second, method, attr, mod, data);

	if (mad == NULL)
		fail_msg("no answer to method %u, attribute 0x%x, modifier 0x%x over %u hops", method, attr, mod, hops);
	assert_int_equal(mad[5], 0);
	return mad + 0x40;
}

static inline void
switch_port_state(struct vr *v, uint8_t port, uint8_t to)
{
	uint8_t info[64];

	memcpy(info, ask_ok(v, 1, 0, 1, 0x15, port, NULL), 64);
	info[32] = (uint8_t)((info[32] & 0xf0) | to);
	info[33] &= 0x0f;
	ask_ok(v, 1, 0, 2, 0x15, port, info);
}

/* What a subnet manager does: LIDs, tables, states. */
static inline void
manage(struct vr *v)
{
	uint8_t lft[64], mft[64] = {0};

	memset(lft, 0xff, sizeof(lft));
	lft[IR_LID1] = 1;
	lft[IR_LID2] = 3;
	ask_ok(v, 1, 0, 2, 0x19, 0, lft);
	mft[2 * (MGID_LID & 31) + 1] = 1 << 1 | 1 << 3;
	ask_ok(v, 1, 0, 2, 0x1b, 0, mft);
	for (unsigned int p = 1; p <= 2; p++)
		ir_set_lid(v, p, p == 1 ? IR_LID1 : IR_LID2, 0);
	for (uint8_t s = 3; s <= 4; s++) {
		switch_port_state(v, 1, s);
		switch_port_state(v, 3, s);
		assert_int_equal(ir_set_state(v, 1, s), 0);
		assert_int_equal(ir_set_state(v, 2, s), 0);
	}
	ir_events(v);
}

static uint64_t found;

static inline void
match(void *arg, const char *counter, uint64_t value)
{
	if (strcmp(counter, arg) == 0)
		found = value;
}

static inline uint64_t
counter(const char *name)
{
	char text[48];

	snprintf(text, sizeof(text), "%s", name);
	found = UINT64_MAX;
	assert_int_equal(tp_ibswitch_each_counter("t", match, text), 0);
	assert_true(found != UINT64_MAX);
	return found;
}

#endif /* IBSWITCH_RIG_H */
