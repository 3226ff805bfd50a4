/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the card does with RoCE packets besides connections [DP 5.2, 6.2, 10]: datagrams and the header in front of
 * them, QP1, tags, shared receive queues, and packets that are damaged or for nobody.
 */
#include "verbs_rig.h"

#define UD_HLEN (14u + 40u + 12u + 8u) /* of a packet with a GRH */

/* The frame that port sent last. */
static struct vr_frame *
last_frame(struct vr *v, unsigned int port)
{
	assert_true(v->end[port - 1]->sent != 0);
	return &v->end[port - 1]->frame[v->end[port - 1]->sent - 1];
}

/* A frame arrives at a port. */
static void
inject(struct vr *v, unsigned int port, const uint8_t *data, uint32_t len)
{
	struct vr_end *from = v->end[port - 1]->peer;

	memcpy(from->frame[from->sent].data, data, len);
	from->frame[from->sent++].len = len;
	vr_step(v);
}

/* --- datagrams --- */

/* The 40 bytes for 20 bytes of payload: BTH 12, DETH 8, CRC 4 */
static const uint8_t grh_v1[40] = {0x62, 0xb0, 0x12, 0x34, 0, 44, 0x1b, 9, 0xfe, 0x80, 0,    0,    0, 0,
				   0,    0,    0,    0,    0, 0,  0,    0, 0,    1,    0xfe, 0x80, 0, 0,
				   0,    0,    0,    0,    0, 0,  0,    0, 0,    0,    0,    2};
static const uint8_t grh_v4[40] = {[20] = 0x45, 0x2b, 0,   72, 0, 0, 0x40, 0, 9, 17,
				   0xed,        0x76, 192, 0,  2, 1, 192,  0, 2, 2};
static const uint8_t grh_v6[40] = {0x62, 0xb0, 0x12, 0x34, 0, 52, 17, 9, 0x20, 1, 0x0d, 0xb8, 0,    0,
				   0,    0,    0,    0,    0, 0,  0,  0, 0,    1, 0x20, 1,    0x0d, 0xb8,
				   0,    0,    0,    0,    0, 0,  0,  0, 0,    0, 0,    2};

static void
test_ud(void **state)
{
	static const uint8_t *const grh[VR_GIDS] = {grh_v1, grh_v4, grh_v6};
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, MLX4_QP_ST_UD, VR_GID_V1, &a, &b);
	vr_fill(vr_mem(v, a), 20, 1);
	for (uint16_t g = 0; g < VR_GIDS; g++) {
		const uint8_t *e;

		vr_post_recv(v, b, VR_RW_KEY, b->mem, 60);
		vr_post_ud(v, a, 2, b->qpn, g, 0xffff, 20);
		vr_step(v);
		vr_expect(v, a, VR_SENT | MLX4_OP_SEND, g * 2);
		e = vr_expect(v, b, 1, g);
		assert_int_equal(prm_get32(e, 0x14), 60);
		assert_int_equal(prm_get32(e, 8), 0x80000000 | a->qpn);
		assert_memory_equal(e + 0x0e, v->mac[0], 6);
		assert_int_equal(e[0] & 0x20, 0); /* no tag */
		assert_memory_equal(vr_mem(v, b), grh[g], 40);
		assert_memory_equal(vr_mem(v, b) + 40, vr_mem(v, a), 20);
	}
	card_expect_clean(v->c);
	vr_no_event(v);
}

static void
test_ud_tagged(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	const uint8_t *e;

	vr_pair(v, MLX4_QP_ST_UD, VR_GID_V1, &a, &b);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 100);
	vr_post_ud(v, a, 2, b->qpn, VR_GID_V1, 7, 20);
	prm_set32(card_ptr(v->c, a->ring), 16 + 12, 3u << 29); /* priority */
	vr_step(v);
	assert_int_equal(prm_get32(last_frame(v, 1)->data, 12), 0x81006007);
	e = vr_expect(v, b, 1, 0);
	assert_int_equal(e[0] & 0x20, 0x20);
	assert_int_equal(prm_get32(e, 12) >> 16, 0x6007);
}

/* A wrong Q_Key, a queue without a WQE, a WQE that is too short; none of it is told to the sender. */
static void
test_ud_lost(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, MLX4_QP_ST_UD, VR_GID_V4, &a, &b);
	vr_post_ud(v, a, 2, b->qpn, VR_GID_V4, 0xffff, 20);
	vr_step(v);
	assert_null(vr_poll_cq(v, b));
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 59);
	vr_post_ud(v, a, 2, b->qpn, VR_GID_V4, 0xffff, 20);
	prm_set32(card_ptr(v->c, a->ring), 128 + 16 + 36, VR_QKEY + 1);
	vr_step(v);
	assert_null(vr_poll_cq(v, b));
	vr_post_ud(v, a, 2, b->qpn, VR_GID_V4, 0xffff, 20);
	vr_step(v);
	vr_expect_error(v, b, false, 0x01, 0);
	for (uint16_t i = 0; i < 3; i++)
		vr_expect(v, a, VR_SENT | MLX4_OP_SEND, i * 2);
}

/* The doorbell was rung before the command that ends its queue pair: the datagram is on the wire. */
static void
test_ud_before_reset(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

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

/* The address names another protection domain. */
static void
test_ud_wrong_pd(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, MLX4_QP_ST_UD, VR_GID_V4, &a, &b);
	vr_post_ud(v, a, 2, b->qpn, VR_GID_V4, 0xffff, 20);
	prm_set32(card_ptr(v->c, a->ring), 16, 1u << 24 | (CARD_PD + 1));
	vr_step(v);
	vr_expect_error(v, a, true, 0x02, 0);
	assert_int_equal(v->end[0]->sent, 0);
}

/* --- tags of connections --- */

static void
test_vlan_of_the_path(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = vr_qp(v, 1, MLX4_QP_ST_RC), *b = vr_qp(v, 2, MLX4_QP_ST_RC);

	vr_to(v, a, 2, b->qpn, VR_GID_V4);
	vr_to(v, b, 1, a->qpn, VR_GID_V4);
	prm_set(a->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_FORCE_VLAN, 1);
	prm_set(a->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_VLAN_INDEX, 3);
	prm_set(a->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_SCHED_QUEUE, MLX4_SCHED_QUEUE(1, 5));
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 100);
	vr_post_send(v, a, a->mem, 10);
	vr_step(v);
	assert_int_equal(prm_get32(last_frame(v, 1)->data, 12), 0x8100a007);
	assert_int_equal(prm_get32(last_frame(v, 1)->data, 16) >> 16, 0x0800);
	vr_expect(v, b, 1, 0);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
}

/* --- QP1 --- */

static struct vr_qp *
qp1(struct vr *v, unsigned int port)
{
	struct vr_qp *q = vr_qp(v, port, MLX4_QP_ST_MLX);

	q->qpn = VR_SPECIAL + 2 + port - 1;
	prm_set(q->ctx, MLX4_QPC_LOCAL_QPN, q->qpn);
	prm_set(q->ctx, MLX4_QPC_QKEY, 0x80010000);
	vr_qp_up(v, q);
	return q;
}

/* Inline bytes at off of the WQE at hand; what follows begins at the returned place. */
static uint32_t
put_inline(struct vr *v, struct vr_qp *q, uint32_t off, const uint8_t *p, uint32_t len)
{
	prm_set32(vr_wqe(v, q), off, MLX4_DATA_INLINE | len);
	memcpy(vr_wqe(v, q) + off + 4, p, len);
	return (off + 4 + len + 15) & ~15u;
}

/* A MAD from QP1 of port 1 to QP1 of a port. */
static void
qp1_to(struct vr *v, struct vr_qp *a, struct vr_qp *b, unsigned int port)
{
	uint8_t h[UD_HLEN] = {[12] = 0x89, 0x15};
	const uint8_t *e;
	uint32_t off;

	memcpy(h, v->mac[port - 1], 6);
	memcpy(h + 6, v->mac[0], 6);
	memcpy(h + 14, "\x60\0\0\0\x01\x18\x1b\x40", 8); /* 280 bytes */
	memcpy(h + 22, v->gid[0][VR_GID_V1], 16);
	memcpy(h + 38, v->gid[port - 1][VR_GID_V1], 16);
	memcpy(h + 54, "\x64\0\xff\xff\0\0\0\x01\0\0\0\x05\x80\x01\0\0\0\0\0\x01", 20); /* to QP 1, from QP 1 */
	vr_fill(vr_mem(v, a), 256, 6);
	vr_post_recv(v, b, VR_RW_KEY, b->mem + 4096, 296);
	off = put_inline(v, a, 16, h, 44);
	off = put_inline(v, a, off, h + 44, UD_HLEN - 44);
	vr_data(v, a, off / 16, VR_RW_KEY, a->mem, 256);
	off = put_inline(v, a, off + 16, h, 4); /* room for the CRC */
	vr_post(v, a, MLX4_OP_SEND, off / 16, port == 1 ? MLX4_CTRL_FL : 0, 0);
	vr_step(v);
	e = vr_expect(v, b, 1, 0);
	assert_int_equal(prm_get32(e, 0x14), 296);
	assert_int_equal(prm_get32(e, 8), 0x80000001);
	assert_int_equal(prm_get32(e, 4) & 0x7f, 0); /* P_Key index */
	assert_memory_equal(e + 0x0e, v->mac[0], 6);
	assert_memory_equal(vr_mem(v, b) + 4096, h + 14, 40);
	assert_memory_equal(vr_mem(v, b) + 4136, vr_mem(v, a), 256);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	card_expect_clean(v->c);
}

static void
test_qp1(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = qp1(v, 1);

	qp1_to(v, a, qp1(v, 2), 2);
}

/* With "force loopback", as Linux sends to an address of its own. */
static void
test_qp1_to_itself(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = qp1(v, 1);

	qp1_to(v, a, a, 1);
	assert_int_equal(v->end[0]->sent, 0);
}

/* --- packets that reach no queue --- */

static void
test_damaged_or_for_nobody(void **state)
{
	struct vr *v = *state;
	struct tp_model_stats st;
	struct vr_frame *f;
	struct vr_qp *a, *b;
	uint8_t copy[256];

	vr_pair(v, MLX4_QP_ST_UD, VR_GID_V1, &a, &b);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 100);
	v->end[0]->lose = 1;
	vr_post_ud(v, a, 2, b->qpn, VR_GID_V1, 0xffff, 20);
	vr_step(v);
	f = last_frame(v, 1);
	memcpy(copy, f->data, f->len);
	copy[UD_HLEN + 3] ^= 1; /* one bit of the payload */
	inject(v, 2, copy, f->len);
	tp_model_get_stats(v->c->m, &st);
	assert_int_equal(st.port[1].roce_bad_icrc, 1);
	memcpy(copy, f->data, f->len);
	inject(v, 2, copy, f->len - 1);
	inject(v, 2, copy, 60);
	tp_model_get_stats(v->c->m, &st);
	assert_int_equal(st.port[1].rx_no_rule, 2); /* cut: no RoCE packet any more */
	vr_post_ud(v, a, 2, b->qpn + 1, VR_GID_V1, 0xffff, 20);
	vr_step(v);
	tp_model_get_stats(v->c->m, &st);
	assert_int_equal(st.port[1].roce_no_qp, 1);
	assert_null(vr_poll_cq(v, b));
	/* The frame as it was */
	inject(v, 2, f->data, f->len);
	vr_expect(v, b, 1, 0);
	card_expect_clean(v->c);
}

/* RoCE for an address that the port does not have is an Ethernet frame like any other; so are other UDP ports. */
static void
test_foreign_is_ethernet(void **state)
{
	static const unsigned int where[] = {VR_GID_V1, VR_GID_V4, VR_GID_V6};
	struct vr *v = *state;
	struct vr_qp *a, *b, *raw;
	uint16_t n = 0;

	vr_pair(v, MLX4_QP_ST_UD, VR_GID_V1, &a, &b);
	raw = vr_raw_qp(v, 2);
	vr_rule(v, 2, raw);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 100);
	for (unsigned int i = 0; i < 3; i++) {
		uint8_t *gid = v->gid[1][where[i]];

		gid[15] = 99;
		vr_post_recv(v, raw, VR_RW_KEY, raw->mem, 2048);
		vr_post_ud(v, a, 2, b->qpn, where[i], 0xffff, 20);
		vr_step(v);
		assert_int_equal(prm_get32(vr_expect(v, raw, 1, n++), 0x14), last_frame(v, 1)->len);
		assert_memory_equal(vr_mem(v, raw), last_frame(v, 1)->data, last_frame(v, 1)->len);
		gid[15] = 2;
	}
	assert_null(vr_poll_cq(v, b));
	/* A raw queue has no QPN on the wire. */
	vr_post_ud(v, a, 2, raw->qpn, VR_GID_V4, 0xffff, 20);
	vr_step(v);
	assert_null(vr_poll_cq(v, raw));
	card_expect_clean(v->c);
}

static void
test_address_was_taken_away(void **state)
{
	struct vr *v = *state;
	struct tp_model_stats st;
	struct vr_qp *a, *b;

	vr_pair(v, MLX4_QP_ST_UD, VR_GID_V1, &a, &b);
	(void)card_in(v->c);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SET_PORT, 1, 0xd << 8 | 1), 0);
	vr_post_ud(v, a, 2, b->qpn, VR_GID_V4, 0xffff, 20);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0); /* sent, as far as the queue knows */
	tp_model_get_stats(v->c->m, &st);
	assert_int_equal(st.port[0].roce_no_gid, 1);
	assert_int_equal(v->end[0]->sent, 0);
}

/* --- groups --- */

static const uint8_t group[16] = {0xff, 0x0e, [10] = 0xff, 0xff, 239, 1, 2, 3};

/* Attaches with a rule of the port, as Linux does where rules steer. */
static void
attach_by_rule(struct vr *v, unsigned int port, const struct vr_qp *q)
{
	uint8_t *in = card_in(v->c);

	in[7] = (uint8_t)port;
	prm_set32(in, 8, q->qpn);
	memcpy(in + 16, "\x0c\0\xe0\x05", 4);
	memcpy(in + 32, group, 16);
	memset(in + 48, 0xff, 16);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 0, 16), 0);
}

/* Attaches two with an entry of the group table. */
static void
attach_by_entry(struct vr *v, const struct vr_qp *a, const struct vr_qp *b)
{
	uint8_t *in = card_in(v->c);
	uint64_t index;

	memcpy(in, group, 16);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_MGID_HASH, 0, 0), 0);
	index = v->c->imm;
	in = card_in(v->c);
	prm_set32(in, 4, 2); /* protocol 0, two members */
	memcpy(in + 16, group, 16);
	prm_set32(in, 32, a->qpn);
	prm_set32(in, 36, b->qpn);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_WRITE_MCG, 0, (uint32_t)index), 0);
}

static void
expect_group(struct vr *v, unsigned int flags)
{
	struct vr_qp *a, *b, *c = vr_qp(v, 2, MLX4_QP_ST_UD);
	uint8_t *d;

	vr_pair(v, MLX4_QP_ST_UD, VR_GID_V1, &a, &b);
	vr_qp_up(v, c);
	if (flags == CARD_DMFS) {
		attach_by_rule(v, 1, a);
		attach_by_rule(v, 2, b);
	} else {
		attach_by_entry(v, a, b);
	}
	vr_post_recv(v, a, VR_RW_KEY, a->mem + 4096, 100);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 100);
	vr_post_recv(v, c, VR_RW_KEY, c->mem, 100);
	vr_fill(vr_mem(v, a), 20, 3);
	vr_post_ud(v, a, 2, 0xffffff, VR_GID_V1, 0xffff, 20);
	d = card_ptr(v->c, a->ring) + 16;
	memcpy(d + 16, group, 16);
	memcpy(d + 42, "\x33\x33\xef\x01\x02\x03", 6);
	vr_step(v);
	assert_int_equal(prm_get32(vr_expect(v, b, 1, 0), 0x14), 60);
	assert_memory_equal(vr_mem(v, b) + 24, group, 16);
	assert_memory_equal(vr_mem(v, b) + 40, vr_mem(v, a), 20);
	/* The sender is a member too. */
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	assert_int_equal(prm_get32(vr_expect(v, a, 1, 0), 0x14), 60);
	assert_null(vr_poll_cq(v, c));
	card_expect_clean(v->c);
}

static void
test_group_by_rule(void **state)
{
	expect_group(*state, CARD_DMFS);
}

static void
test_group_by_entry(void **state)
{
	vr_down(state);
	vr_up_mode(state, CARD_GROUPS);
	expect_group(*state, CARD_GROUPS);
}

/* --- shared receive queues --- */

struct srq {
	uint64_t buf, dbrec;
	uint16_t posted;
};

/* 16 WQEs of 64 bytes, each with 100 bytes of q's memory; the list of free ones runs 0, 5, 10, 15, 4, 9 ... */
static void
srq_up(struct vr *v, const struct vr_qp *q, struct srq *s, uint16_t limit)
{
	uint8_t *in;

	s->buf = card_alloc(v->c, 16 * 64, CARD_PAGE);
	s->dbrec = card_alloc(v->c, 8, 8);
	s->posted = 0;
	for (uint32_t i = 0; i < 16; i++) {
		uint8_t *w = card_ptr(v->c, s->buf) + i * 64;

		w[3] = (uint8_t)((i + 5) % 16);
		prm_set32(w, 16, 100);
		prm_set32(w, 20, VR_RW_KEY);
		prm_set64(w, 24, q->mem + i * 128);
		prm_set32(w, 36, MLX4_LKEY_INVALID);
	}
	in = card_in(v->c);
	prm_set32(in, 0, 4u << 24 | CARD_SRQN);
	prm_set(in, MLX4_SRQC_LG_STRIDE, 2);
	prm_set(in, MLX4_SRQC_PD, CARD_PD);
	prm_set(in, MLX4_SRQC_LIMIT, limit);
	prm_set(in, MLX4_SRQC_MTT_L, (uint32_t)card_mtt(v->c, s->buf, 1));
	prm_set64(in, MLX4_SRQC_DBREC, s->dbrec);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SW2HW_SRQ, 0, CARD_SRQN), 0);
}

static void
srq_post(struct vr *v, struct srq *s, uint16_t n)
{
	s->posted += n;
	prm_set32(card_ptr(v->c, s->dbrec), 0, s->posted);
}

static void
srq_pair(struct vr *v, struct vr_qp *of, struct vr_qp **a, struct vr_qp **b)
{
	*a = vr_qp(v, 1, MLX4_QP_ST_RC);
	*b = of != NULL ? of : vr_qp(v, 2, MLX4_QP_ST_RC);
	(*b)->ctx[9] = 0xfc; /* no receive ring */
	prm_set((*b)->ctx, MLX4_QPC_SRQ_VALID, 1);
	prm_set((*b)->ctx, MLX4_QPC_SRQN, CARD_SRQN);
	vr_to(v, *a, 2, (*b)->qpn, VR_GID_V4);
	vr_to(v, *b, 1, (*a)->qpn, VR_GID_V4);
	vr_qp_up(v, *a);
	vr_qp_up(v, *b);
}

static void
test_srq(void **state)
{
	struct vr_qp *a[2], *b[2], *first;
	struct vr *v = *state;
	struct srq s;

	first = vr_qp(v, 2, MLX4_QP_ST_RC);
	srq_up(v, first, &s, 3);
	srq_pair(v, first, &a[0], &b[0]);
	srq_pair(v, NULL, &a[1], &b[1]);
	srq_post(v, &s, 6);
	for (uint16_t i = 0; i < 6; i++) {
		unsigned int k = i & 1;
		uint16_t slot = i * 5 % 16;

		vr_fill(vr_mem(v, a[k]), 20, (uint8_t)i);
		vr_post_send(v, a[k], a[k]->mem, 20);
		vr_step(v);
		assert_int_equal(prm_get32(vr_expect(v, b[k], 1, slot), 0x14), 20);
		assert_memory_equal(vr_mem(v, first) + slot * 128, vr_mem(v, a[k]), 20);
		vr_expect(v, a[k], VR_SENT | MLX4_OP_SEND, i / 2);
		/* Fewer than three are left: once */
		if (i == 3)
			vr_expect_event(v, MLX4_EVENT_SRQ_LIMIT, CARD_SRQN);
		vr_no_event(v);
	}
	/* Armed again */
	srq_post(v, &s, 3);
	assert_int_equal(card_cmd(v->c, MLX4_CMD_ARM_SRQ, 0, CARD_SRQN, 3, 0), 0);
	vr_post_send(v, a[0], a[0]->mem, 20);
	vr_step(v);
	vr_expect(v, b[0], 1, 14);
	vr_expect_event(v, MLX4_EVENT_SRQ_LIMIT, CARD_SRQN);
	/* A queue pair in error leaves the others' WQEs alone. */
	assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2ERR_QP, 0, b[0]->qpn), 0);
	vr_step(v);
	assert_null(vr_poll_cq(v, b[0]));
	vr_expect_event(v, MLX4_EVENT_SRQ_LAST_WQE, b[0]->qpn);
	vr_post_send(v, a[1], a[1]->mem, 20);
	vr_step(v);
	vr_expect(v, b[1], 1, 3);
	vr_no_event(v);
	card_expect_clean(v->c);
}

/* None is left: the sender waits, and goes on by itself. */
static void
test_srq_runs_dry(void **state)
{
	struct vr_qp *a, *b, *first;
	struct vr *v = *state;
	struct srq s;

	first = vr_qp(v, 2, MLX4_QP_ST_RC);
	srq_up(v, first, &s, 0);
	srq_pair(v, first, &a, &b);
	vr_post_send(v, a, a->mem, 20);
	vr_step(v);
	assert_null(vr_poll_cq(v, b));
	srq_post(v, &s, 1);
	vr_wait(v, 640000);
	vr_expect(v, b, 1, 0);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	vr_no_event(v);
	srq_post(v, &s, 16); /* all that it has */
	vr_post_send(v, a, a->mem, 20);
	vr_step(v);
	vr_expect(v, b, 1, 5);
	card_expect_clean(v->c);
	srq_post(v, &s, 2); /* and one more */
	vr_post_send(v, a, a->mem, 20);
	vr_step(v);
	assert_null(vr_poll_cq(v, b));
	assert_true(card_violations(v->c, "dbrec-rq") > 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, vr_up, vr_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_ud),
		T(test_ud_tagged),
		T(test_ud_lost),
		T(test_ud_before_reset),
		T(test_ud_wrong_pd),
		T(test_vlan_of_the_path),
		T(test_qp1),
		T(test_qp1_to_itself),
		T(test_damaged_or_for_nobody),
		T(test_foreign_is_ethernet),
		T(test_address_was_taken_away),
		T(test_group_by_rule),
		T(test_group_by_entry),
		T(test_srq),
		T(test_srq_runs_dry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
