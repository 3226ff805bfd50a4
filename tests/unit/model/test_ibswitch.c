/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The InfiniBand switch, with the two ports of a card on its ports 1 and 3: managed by directed routes as a subnet manager
 * does, then carrying packets by its tables [IBTA 14.2, 18.2].
 */
#include <unistd.h>

#include "ibswitch_rig.h"
#include "mlx4_prm_dmfs.h"

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
	static const uint8_t gid[16] = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1},
			     nobody[16] = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 2};
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
	assert_int_equal(vr_diag(v, 0, 0x108), 0);
	/* A group that the port is in, and none of its queue pairs: it is told of what comes, not of what it sends. */
	ir_post_ud(v, a, MGID_LID, 0xffffff, nobody, 60);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 2);
	assert_null(vr_poll_cq(v, b));
	assert_int_equal(vr_diag(v, 1, 0x108), 0);
	assert_int_equal(vr_diag(v, 2, 0x108), 1);
	/* A group without ports */
	ir_post_ud(v, a, MGID_LID + 1, 0xffffff, gid, 60);
	vr_step(v);
	assert_int_equal(counter("port1.relay_errors"), 1);
	vr_quiet(v);
}

/* 13.4.4: QP0 is asked about the subnet and nothing else; answers are not answered. */
static void
test_classes_of_qp0(void **state)
{
	static const struct {
		uint8_t class, method;
		bool answered;
	} row[] = {{1, 1, true},  {1, 0x81, false}, {1, 7, false}, {3, 1, false},
		   {4, 1, false}, {9, 1, false},    {1, 1, true}};
	struct vr *v = *state;
	uint8_t *mad = vr_mem(v, sm);
	uint16_t recv;

	manage(v);
	recv = (uint16_t)sm->rprod;
	vr_post_recv(v, sm, VR_RW_KEY, sm->mem + 4096, 512);
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint16_t send = (uint16_t)sm->prod;

		memset(mad, 0, 256);
		mad[0] = mad[2] = 1;
		mad[1] = row[i].class;
		mad[3] = row[i].method;
		mad[15] = (uint8_t)(i + 1);
		mad[0x11] = 0x11;
		ir_post_mad(v, sm, 0xffff, 0);
		vr_step(v);
		vr_expect(v, sm, VR_SENT | MLX4_OP_SEND, send);
		if (row[i].answered) {
			vr_expect(v, sm, 1, recv++);
			assert_int_equal(mad[4096 + 40 + 1], row[i].class);
			assert_int_equal(mad[4096 + 40 + 3], 0x81);
			assert_int_equal(mad[4096 + 40 + 15], i + 1);
			assert_int_equal(prm_get64(mad + 4096 + 40 + 0x40, 4), SWITCH_GUID); /* of the system */
			vr_post_recv(v, sm, VR_RW_KEY, sm->mem + 4096, 512);
		}
		assert_null(vr_poll_cq(v, sm));
	}
	card_expect_clean(v->c);
}

/*
 * Who hears a group: its members that are queue pairs of datagrams of this port and may receive, not the one that sent it. What
 * comes to one that may not is nobody's mistake.
 */
static void
test_members(void **state)
{
	static const uint8_t gid[16] = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1};
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD), *good = ir_qp(v, 2, MLX4_QP_ST_UD);
	struct vr_qp *uc = ir_qp(v, 2, MLX4_QP_ST_UC), *early = ir_qp(v, 2, MLX4_QP_ST_UD),
		     *other = ir_qp(v, 1, MLX4_QP_ST_UD), *failed = ir_qp(v, 2, MLX4_QP_ST_UD),
		     *gone = ir_qp(v, 2, MLX4_QP_ST_UD);
	struct vr_qp *deaf[] = {uc, early, other, failed};

	manage(v);
	vr_qp_up(v, a);
	vr_qp_up(v, good);
	vr_qp_up(v, uc);
	vr_qp_up(v, other);
	vr_qp_up(v, failed);
	assert_int_equal(card_qp_step(v->c, MLX4_CMD_RST2INIT_QP, early->qpn, early->ctx), 0);
	for (unsigned int i = 0; i < 4; i++) {
		attach(v, 2, gid, deaf[i]->qpn);
		vr_post_recv(v, deaf[i], VR_RW_KEY, deaf[i]->mem, 1000);
	}
	assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2ERR_QP, 0, failed->qpn), 0);
	vr_step(v);
	while (vr_poll_cq(v, failed) != NULL)
		;
	vr_qp_up(v, gone);
	attach(v, 2, gid, gone->qpn);
	assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2RST_QP, 3, gone->qpn), 0);
	attach(v, 2, gid, good->qpn);
	attach(v, 1, gid, a->qpn);
	for (uint16_t i = 0; i < 3; i++) {
		vr_post_recv(v, good, VR_RW_KEY, good->mem, 1000);
		vr_post_recv(v, a, VR_RW_KEY, a->mem + 4096, 1000);
		ir_post_ud(v, a, MGID_LID, 0xffffff, gid, 60);
		vr_step(v);
		vr_expect(v, a, VR_SENT | MLX4_OP_SEND, (uint16_t)(2 * i));
		assert_null(vr_poll_cq(v, a));
		vr_expect(v, good, 1, i);
		assert_null(vr_poll_cq(v, good));
		for (unsigned int k = 0; k < 4; k++)
			assert_null(vr_poll_cq(v, deaf[k]));
	}
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

/* A datagram of QP1 from the beginning of q's memory with a GRH from port 1's GID. */
static void
post_with_grh(struct vr *v, struct vr_qp *q, uint8_t lid, const uint8_t *dgid)
{
	uint8_t h[68] = {[1] = 3,     [3] = lid,   [5] = (68 + 256 + 4) / 4,
			 [8] = 0x60,  [12] = 1,    [13] = 0x18,
			 [14] = 0x1b, [15] = 1,    [48] = 0x64,
			 [49] = 0x40, [50] = 0xff, [51] = 0xff,
			 [55] = 1,    [67] = 1};
	uint8_t *w = vr_wqe(v, q);

	prm_set64(h, 16, IR_PREFIX);
	prm_set64(h, 24, IR_GUID + 1);
	memcpy(h + 32, dgid, 16);
	prm_set32(h, 60, IB_QP1_QKEY);
	memset(w, 0, 128);
	/* Inline data end with their block of 64 bytes. */
	prm_set32(w, 16, MLX4_DATA_INLINE | 44);
	memcpy(w + 20, h, 44);
	prm_set32(w, 64, MLX4_DATA_INLINE | 24);
	memcpy(w + 68, h + 44, 24);
	vr_data(v, q, 6, VR_RW_KEY, q->mem, 256);
	prm_set32(w, 112, MLX4_DATA_INLINE | 4);
	vr_post(v, q, MLX4_OP_SEND, 8, 0, (uint32_t)lid << 16);
}

/* Performance management by the switch's LID */
static void
test_counters(void **state)
{
	static const uint8_t gid[16] = {0xfe, 0x80, [9] = 0x02, 0xc9, 0x05, 0x11, 0x22, 0x33, 0x44};
	struct vr *v = *state;
	struct vr_qp *gsi = ir_special(v, 1, 1);
	uint8_t info[64], lft[64], *mad = vr_mem(v, gsi);
	uint16_t send;

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
	/* Where the question has a GRH, the answer's leads back. */
	mad -= 40;
	memset(mad, 0, 40 + 256);
	vr_post_recv(v, gsi, VR_RW_KEY, gsi->mem + 4096, 512);
	send = (uint16_t)gsi->prod;
	post_with_grh(v, gsi, 5, gid);
	vr_step(v);
	vr_expect(v, gsi, VR_SENT | MLX4_OP_SEND, send);
	vr_expect(v, gsi, 1, 1);
	assert_int_equal(mad[7], 0xff);
	assert_memory_equal(mad + 8, gid, 16);
	assert_int_equal(prm_get64(mad, 24), IR_PREFIX);
	assert_int_equal(prm_get64(mad, 32), IR_GUID + 1);
	assert_int_equal(mad[40 + 3], 0x81);
	card_expect_clean(v->c);
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
		cmocka_unit_test_setup_teardown(test_multicast, up, vr_down),
		cmocka_unit_test_setup_teardown(test_members, up, vr_down),
		cmocka_unit_test_setup_teardown(test_classes_of_qp0, up, vr_down),
		cmocka_unit_test_setup_teardown(test_limits, up, vr_down),
		cmocka_unit_test_setup_teardown(test_counters, up, vr_down),
		cmocka_unit_test_setup_teardown(test_capture, up, vr_down),
		cmocka_unit_test_setup_teardown(test_refusals, up, vr_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
