/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The InfiniBand switch, with the two ports of a card on its ports 1 and 3: managed by directed routes as a subnet manager
 * does, then carrying packets by its tables [IBTA 14.2, 18.2].
 */
#include <unistd.h>

#include "ib_rig.h"
#include "mlx4_prm_dmfs.h"
#include "tp_ibswitch.h"

#define SWITCH_GUID UINT64_C(0x0002c90511223344)
#define MGID_LID 0xc001u

static struct vr_qp *sm; /* QP0 of port 1, from where all is managed */

static void
plug(struct vr *v, unsigned int port, const char *spec)
{
	char err[TP_IBSWITCH_TEXT];

	if (tp_model_wire_ibswitch(v->c->m, port, spec, err) != 0)
		fail_msg("%s", err);
}

static int
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
static uint8_t *
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

static uint8_t *
ask_ok(struct vr *v, unsigned int hops, uint8_t second, uint8_t method, uint16_t attr, uint32_t mod,
       const uint8_t *data)
{
	uint8_t *mad = ask(v, hops, second, method, attr, mod, data);

	if (mad == NULL)
		fail_msg("no answer to method %u, attribute 0x%x, modifier 0x%x over %u hops", method, attr, mod, hops);
	assert_int_equal(mad[5], 0);
	return mad + 0x40;
}

static void
switch_port_state(struct vr *v, uint8_t port, uint8_t to)
{
	uint8_t info[64];

	memcpy(info, ask_ok(v, 1, 0, 1, 0x15, port, NULL), 64);
	info[32] = (uint8_t)((info[32] & 0xf0) | to);
	info[33] &= 0x0f;
	ask_ok(v, 1, 0, 2, 0x15, port, info);
}

/* What a subnet manager does: LIDs, tables, states. */
static void
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

static void
match(void *arg, const char *counter, uint64_t value)
{
	if (strcmp(counter, arg) == 0)
		found = value;
}

static uint64_t
counter(const char *name)
{
	char text[48];

	snprintf(text, sizeof(text), "%s", name);
	found = UINT64_MAX;
	assert_int_equal(tp_ibswitch_each_counter("t", match, text), 0);
	assert_true(found != UINT64_MAX);
	return found;
}

/* --- management --- */

static void
test_discovery(void **state)
{
	struct vr *v = *state;
	const uint8_t *d = ask_ok(v, 1, 0, 1, 0x11, 0, NULL);

	assert_int_equal(d[2], 2); /* a switch */
	assert_int_equal(d[3], 4);
	assert_int_equal(prm_get64(d, 12), SWITCH_GUID);
	assert_int_equal(d[36], 1); /* it came by port 1 */
	d = ask_ok(v, 2, 3, 1, 0x11, 0, NULL);
	assert_int_equal(d[2], 1);
	assert_int_equal(prm_get64(d, 20), IR_GUID + 2);
	assert_memory_equal(d + 0x80 + 1, "\x01\x02", 2); /* the return path: ports where it came in */
	/* Nobody behind port 2, and no port 9 */
	assert_null(ask(v, 2, 2, 1, 0x11, 0, NULL));
	assert_null(ask(v, 2, 9, 1, 0x11, 0, NULL));
	d = ask_ok(v, 1, 0, 1, 0x12, 0, NULL);
	assert_int_equal(prm_get32(d, 0) >> 16, 0xc000);
	assert_int_equal(d[11] >> 2 & 1, 1); /* ports came up since a manager looked */
	assert_memory_equal(ask_ok(v, 1, 0, 1, 0x10, 0, NULL), "Triplane switch t", 18);
	card_expect_clean(v->c);
}

static void
test_attributes(void **state)
{
	struct vr *v = *state;
	uint8_t d[64], *mad;

	memcpy(d, ask_ok(v, 1, 0, 1, 0x12, 0, NULL), 64);
	d[11] |= 4;
	ask_ok(v, 1, 0, 2, 0x12, 0, d);
	assert_int_equal(ask_ok(v, 1, 0, 1, 0x12, 0, NULL)[11] >> 2 & 1, 0);
	for (unsigned int i = 0; i < 64; i++)
		d[i] = (uint8_t)(i % 5);
	ask_ok(v, 1, 0, 2, 0x19, 7, d);
	assert_memory_equal(ask_ok(v, 1, 0, 1, 0x19, 7, NULL), d, 64);
	ask_ok(v, 1, 0, 2, 0x1b, 1u << 28 | 3, d); /* ports 16..31 of the fourth block */
	assert_memory_equal(ask_ok(v, 1, 0, 1, 0x1b, 1u << 28 | 3, NULL), d, 64);
	assert_int_equal(ask_ok(v, 1, 0, 1, 0x1b, 3, NULL)[1], 0);
	ask_ok(v, 1, 0, 2, 0x17, 2u << 8 | 3, d);
	assert_memory_equal(ask_ok(v, 1, 0, 1, 0x17, 2u << 8 | 3, NULL), d, 8);
	assert_int_equal(ask_ok(v, 1, 0, 1, 0x17, 1u << 8 | 3, NULL)[0], 0x01);
	ask_ok(v, 1, 0, 2, 0x18, 1u << 16 | 3, d);
	assert_memory_equal(ask_ok(v, 1, 0, 1, 0x18, 1u << 16 | 3, NULL), d, 64);
	ask_ok(v, 1, 0, 2, 0x16, 3u << 16, d);
	assert_memory_equal(ask_ok(v, 1, 0, 1, 0x16, 3u << 16, NULL), d, 64);
	mad = ask(v, 1, 0, 1, 0x15, 5, NULL);
	assert_int_equal(mad[5], 0x1c);
	mad = ask(v, 1, 0, 1, 0x20, 0, NULL);
	assert_int_equal(mad[5], 0x0c);
	card_expect_clean(v->c);
}

/* The port of the switch is disabled and the card's link is gone; enabled, and it is there. */
static void
test_port_disabled(void **state)
{
	struct vr *v = *state;
	uint8_t info[64];

	manage(v);
	memcpy(info, ask_ok(v, 1, 0, 1, 0x15, 3, NULL), 64);
	info[32] = (uint8_t)((info[32] & 0xf0) | 1);
	info[33] = (uint8_t)((info[33] & 0x0f) | 3 << 4);
	ask_ok(v, 1, 0, 2, 0x15, 3, info);
	vr_step(v);
	assert_int_equal(ir_state(v, 2), 1);
	assert_int_equal(ask_ok(v, 1, 0, 1, 0x15, 3, NULL)[33] >> 4, 3);
	info[33] = (uint8_t)((info[33] & 0x0f) | 2 << 4);
	ask_ok(v, 1, 0, 2, 0x15, 3, info);
	vr_step(v);
	assert_int_equal(ir_state(v, 2), 2);
	assert_int_equal(ask_ok(v, 1, 0, 1, 0x15, 3, NULL)[32] & 0xf, 2);
	card_expect_clean(v->c);
}

/* --- packets --- */

static void
test_by_lid(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	manage(v);
	ir_pair(v, MLX4_QP_ST_RC, &a, &b);
	for (uint32_t len = 1; len < 14000; len = len * 3 + 2) {
		vr_exchange(v, a, b, len < 7000 ? len : 7000);
		vr_exchange(v, b, a, len < 7000 ? len : 7000);
	}
	assert_int_equal(counter("port3.xmit_discards"), 0);
	vr_quiet(v);
}

static void
test_nowhere(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD);

	manage(v);
	vr_qp_up(v, a);
	ir_post_ud(v, a, 0x21, 80, NULL, 8);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	assert_int_equal(counter("port1.relay_errors"), 1);
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

/* A rule for a group, as with flow steering [CP 6.3] */
static void
attach(struct vr *v, unsigned int port, const uint8_t *gid, uint32_t qpn)
{
	uint8_t *in = card_in(v->c), *spec = in + MLX4_DMFS_CTRL_SIZE;

	prm_set(in, MLX4_DMFS_PORT, port);
	prm_set(in, MLX4_DMFS_QPN, qpn);
	prm_set(spec, MLX4_SPEC_SIZE, MLX4_SPEC_IB_SIZE / 4);
	prm_set(spec, MLX4_SPEC_ID, MLX4_SPEC_IB);
	memcpy(spec + MLX4_SPEC_IB_DGID, gid, 16);
	memset(spec + MLX4_SPEC_IB_DGID_MASK, 0xff, 16);
	assert_int_equal(card_cmd(v->c, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 0,
				  (MLX4_DMFS_CTRL_SIZE + MLX4_SPEC_IB_SIZE) / 4, v->c->in, 0),
			 0);
}

static void
test_multicast(void **state)
{
	static const uint8_t gid[16] = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1};
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD), *b = ir_qp(v, 2, MLX4_QP_ST_UD), *c = ir_qp(v, 1, MLX4_QP_ST_UD);

	manage(v);
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	vr_qp_up(v, c);
	attach(v, 2, gid, b->qpn);
	attach(v, 1, gid, c->qpn);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 1000);
	vr_post_recv(v, c, VR_RW_KEY, c->mem, 1000);
	vr_fill(vr_mem(v, a), 60, 1);
	ir_post_ud(v, a, MGID_LID, 0xffffff, gid, 60);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	vr_expect(v, b, 1, 0);
	vr_expect(v, c, 1, 0); /* inside the card, once */
	assert_null(vr_poll_cq(v, c));
	assert_memory_equal(vr_mem(v, b) + 40, vr_mem(v, a), 60);
	/* A group without ports */
	ir_post_ud(v, a, MGID_LID + 1, 0xffffff, gid, 60);
	vr_step(v);
	assert_int_equal(counter("port1.relay_errors"), 1);
	vr_quiet(v);
}

static void
test_limits(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint8_t info[64], pkeys[64] = {0x80, 0x07};

	manage(v);
	ir_pair(v, MLX4_QP_ST_UC, &a, &b);
	/* The port's link carries 256 bytes */
	memcpy(info, ask_ok(v, 1, 0, 1, 0x15, 3, NULL), 64);
	info[32] &= 0xf0;
	info[33] &= 0x0f;
	info[36] = 1 << 4;
	ask_ok(v, 1, 0, 2, 0x15, 3, info);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 4096);
	vr_post_send(v, a, a->mem, 500);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	assert_null(vr_poll_cq(v, b));
	assert_int_equal(counter("port3.xmit_discards"), 1);
	vr_post_send(v, a, a->mem, 256);
	vr_step(v);
	vr_expect(v, b, 1, 0);
	/* Partitions, once asked for */
	ask_ok(v, 1, 0, 2, 0x16, 3u << 16, pkeys);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 4096);
	info[43] |= 4; /* outbound */
	ask_ok(v, 1, 0, 2, 0x15, 3, info);
	vr_post_send(v, a, a->mem, 20);
	vr_step(v);
	assert_null(vr_poll_cq(v, b));
	assert_int_equal(counter("port3.xmit_constraint"), 1);
	card_expect_clean(v->c);
}

/* Performance management by the switch's LID */
static void
test_counters(void **state)
{
	struct vr *v = *state;
	struct vr_qp *gsi = ir_special(v, 1, 1);
	uint8_t info[64], lft[64], *mad = vr_mem(v, gsi);

	manage(v);
	memcpy(info, ask_ok(v, 1, 0, 1, 0x15, 0, NULL), 64);
	info[17] = 5;
	info[32] &= 0xf0;
	info[33] &= 0x0f;
	ask_ok(v, 1, 0, 2, 0x15, 0, info);
	memcpy(lft, ask_ok(v, 1, 0, 1, 0x19, 0, NULL), 64);
	lft[5] = 0;
	ask_ok(v, 1, 0, 2, 0x19, 0, lft);
	mad[0] = mad[2] = mad[3] = 1;
	mad[1] = 4;
	mad[0x11] = 0x12;
	mad[0x41] = 1;
	vr_post_recv(v, gsi, VR_RW_KEY, gsi->mem + 4096, 512);
	ir_post_mad(v, gsi, 5, 1);
	vr_step(v);
	vr_expect(v, gsi, VR_SENT | MLX4_OP_SEND, 0);
	assert_int_equal(prm_get32(vr_expect(v, gsi, 1, 0), 12) & 0xffff, 5);
	mad += 4096 + 40;
	assert_int_equal(mad[3], 0x81);
	assert_int_equal(mad[5], 0);
	/* What was received includes this question. */
	assert_int_equal(prm_get32(mad, 0x40 + 36), counter("port1.rx_packets"));
	card_expect_clean(v->c);
}

/* A card that does not come for its packets does not hold up others for ever. */
static void
test_head_of_queue(void **state)
{
	struct vr *v = *state, *w;
	struct vr_qp *a, *b, *q;
	uint8_t lft[64];
	void *other;

	ir_up_init(&other);
	w = other;
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

/* --- capture and settings --- */

static void
test_capture(void **state)
{
	char path[] = "/tmp/ibswitch-XXXXXX", spec[64];
	struct vr *v = *state;
	uint8_t head[24], packet[16 + 16 + 8];
	struct vr_qp *a, *b;
	FILE *f;

	assert_true(close(mkstemp(path)) == 0);
	snprintf(spec, sizeof(spec), "t/port:3/capture:%s", path);
	tp_model_wire_none(v->c->m, 2);
	plug(v, 2, spec);
	vr_step(v);
	manage(v);
	ir_pair(v, MLX4_QP_ST_UC, &a, &b);
	vr_exchange(v, a, b, 10);
	f = fopen(path, "re");
	unlink(path);
	assert_non_null(f);
	assert_int_equal(fread(head, sizeof(head), 1, f), 1);
	assert_int_equal(head[20], 197);
	assert_int_equal(fread(packet, sizeof(packet), 1, f), 1);
	assert_int_equal(packet[8], 16 + 8 + 12 + 12 + 4 + 2); /* pad, both CRCs */
	assert_memory_equal(packet + 16 + 8, "\x15\x04\0\x36\0\0\0\x26", 8);
	assert_memory_equal(packet + 32 + 2, "\0\x20", 2);
	fclose(f);
	card_expect_clean(v->c);
}

static void
test_refusals(void **state)
{
	static const struct {
		const char *spec, *text;
	} t[] = {{"", "wanted a name"},
		 {"a b", "wanted a name"},
		 {"t/port:3", "port 3 is taken"},
		 {"t/port:5", "1..4"},
		 {"u/ports:37", "1..36"},
		 {"u/credit:1", "4608..16777216"},
		 {"u/guid:xyz", "hexadecimal"},
		 {"u/speed:9", "wanted KEY:VALUE"},
		 {"u/capture:/nowhere/x", "capture '/nowhere/x'"},
		 {"u/capture:/dev/full", "No space left"}};
	char err[TP_IBSWITCH_TEXT], names[4][TP_IBSWITCH_NAME];
	struct vr *v = *state;

	for (unsigned int i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_true(tp_model_wire_ibswitch(v->c->m, 1, t[i].spec, err) < 0);
		if (strstr(err, t[i].text) == NULL)
			fail_msg("'%s': '%s' instead of '%s'", t[i].spec, err, t[i].text);
	}
	assert_int_equal(tp_ibswitch_list(names, 4), 1);
	assert_string_equal(names[0], "t");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_discovery, up, vr_down),
		cmocka_unit_test_setup_teardown(test_attributes, up, vr_down),
		cmocka_unit_test_setup_teardown(test_port_disabled, up, vr_down),
		cmocka_unit_test_setup_teardown(test_by_lid, up, vr_down),
		cmocka_unit_test_setup_teardown(test_nowhere, up, vr_down),
		cmocka_unit_test_setup_teardown(test_credits, up, vr_down),
		cmocka_unit_test_setup_teardown(test_multicast, up, vr_down),
		cmocka_unit_test_setup_teardown(test_limits, up, vr_down),
		cmocka_unit_test_setup_teardown(test_counters, up, vr_down),
		cmocka_unit_test_setup_teardown(test_head_of_queue, up, vr_down),
		cmocka_unit_test_setup_teardown(test_capture, up, vr_down),
		cmocka_unit_test_setup_teardown(test_refusals, up, vr_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
