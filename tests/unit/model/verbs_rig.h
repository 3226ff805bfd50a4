/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Plays a verbs driver against a card: queue pairs of both ports, brought up by commands, their WQEs written byte by
 * byte, and a wire between the ports that keeps each frame and may lose it.
 */
#ifndef VERBS_RIG_H
#define VERBS_RIG_H

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "verbs_octets.h"

#define VR_LG_SQ 8u /* strides of 64 bytes; no test wraps round */
#define VR_LG_RQ 4u /* receive WQEs of up to four segments */
#define VR_LG_CQ 6u
#define VR_QPS 8u
#define VR_FRAMES 512u
#define VR_FRAME_MAX 2304u
#define VR_BUF 16384u
#define VR_SPECIAL 72u /* QP1 of the ports is 74 and 75 */
#define VR_QPN 80u
#define VR_RW_KEY ((CARD_MPT + 1) << 8 | 0x11u)    /* all of memory, any access */
#define VR_RO_KEY ((CARD_MPT + 2) << 8 | 0x22u)    /* local read, remote read */
#define VR_PD_KEY ((CARD_MPT + 3) << 8 | 0x33u)    /* any access, another protection domain */
#define VR_SMALL_KEY ((CARD_MPT + 4) << 8 | 0x44u) /* any access, VR_SMALL_LEN bytes from the rig's memory on */
#define VR_SMALL_LEN 256u
#define VR_SENT 0x40u /* in the opcode of a send's completion */
#define VR_QKEY 0x11111111u
#define VR_ASYNC UINT64_C(0x1d1f46fe) /* the events that drivers ask for */

/* What the GID tables of the ports hold at these places. */
enum { VR_GID_V1, VR_GID_V4, VR_GID_V6, VR_GIDS };

struct vr_frame {
	uint8_t data[VR_FRAME_MAX];
	uint32_t len;
};

/* One end of the wire. Frames that were sent stay; those up to taken were delivered. */
struct vr_end {
	struct tp_wire w;
	struct vr_end *peer;
	struct vr_frame *frame;
	uint32_t sent, taken;
	uint32_t lose; /* so many of the next frames are lost */
	uint32_t mark; /* so many of the next ones that know ECN are marked, as by a switch */
};

struct vr_qp {
	uint32_t qpn, cqn, prod, rprod, ci;
	uint64_t ring, rq, cq, dbrec, cq_rec, mem; /* mem: VR_BUF bytes, host view by vr_mem */
	uint8_t ctx[MLX4_QPC_SIZE];
};

struct vr {
	struct card *c;
	struct vr_end *end[2];
	struct vr_qp q[VR_QPS];
	uint8_t mac[2][6];
	uint8_t gid[2][VR_GIDS][16];
	unsigned int n;
	uint32_t eq_ci;
	uint64_t small; /* where VR_SMALL_KEY begins */
	uint64_t now;
};

/* --- the wire --- */

static inline unsigned int
vr_send(struct tp_wire *w, const struct tp_frame *f, unsigned int n)
{
	struct vr_end *e = (struct vr_end *)w;

	for (unsigned int i = 0; i < n; i++) {
		struct vr_frame *to = &e->frame[e->sent++];

		assert_true(e->sent <= VR_FRAMES && f[i].len <= VR_FRAME_MAX);
		to->len = 0;
		for (uint32_t s = 0; s < f[i].nseg; s++) {
			memcpy(to->data + to->len, f[i].seg[s].data, f[i].seg[s].len);
			to->len += f[i].seg[s].len;
		}
	}
	return n;
}

static inline unsigned int
vr_poll(struct tp_wire *w, struct tp_model *m, unsigned int port, unsigned int budget)
{
	struct vr_end *from = ((struct vr_end *)w)->peer;
	unsigned int n = 0;

	for (; from->taken != from->sent && n < budget; n++) {
		struct vr_frame v = from->frame[from->taken++];
		struct tp_frame_seg seg = {.data = v.data, .len = v.len};
		struct tp_frame f = {.seg = &seg, .nseg = 1, .len = v.len};

		if (from->mark != 0 && vr_mark(v.data))
			from->mark--;
		if (from->lose != 0)
			from->lose--;
		else
			tp_model_port_receive(m, port, &f, 1);
	}
	return n;
}

static inline bool
vr_link(struct tp_wire *w)
{
	(void)w;
	return true;
}

static inline void
vr_destroy(struct tp_wire *w)
{
	free(((struct vr_end *)w)->frame);
	free(w);
}

static const struct tp_wire_ops vr_wire = {
	.name = "tap", .send = vr_send, .poll = vr_poll, .link = vr_link, .destroy = vr_destroy};

/* --- the card --- */

static inline void
vr_step(struct vr *v)
{
	unsigned int idle = 0;

	for (unsigned int i = 0; i < 4096 && idle < 3; i++)
		idle = tp_model_step(v->c->m, 32) == 0 ? idle + 1 : 0;
	assert_int_equal(idle, 3);
}

static inline void
vr_wait(struct vr *v, uint64_t ns)
{
	v->now += ns;
	tp_model_set_time(v->c->m, v->now);
	vr_step(v);
}

static inline void
vr_key(struct vr *v, uint32_t key, uint32_t pd, uint64_t va, uint64_t len, bool write)
{
	uint8_t *in = card_in(v->c);

	card_mr_ctx(v->c, in, key, va, len, true);
	prm_set(in, MLX4_MPT_PD, pd);
	prm_set(in, MLX4_MPT_RR, 1);
	prm_set(in, MLX4_MPT_LW, write);
	prm_set(in, MLX4_MPT_RW, write);
	prm_set(in, MLX4_MPT_ATOMIC, write);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SW2HW_MPT, 0, key >> 8), 0);
}

/* fe80::P (v1), 192.0.2.P and 2001:db8::P (v2) */
static inline void
vr_gids(struct vr *v, unsigned int port)
{
	static const uint8_t v1[16] = {0xfe, 0x80}, v4[16] = {[10] = 0xff, 0xff, 192, 0, 2},
			     v6[16] = {0x20, 1, 0x0d, 0xb8};
	const uint8_t *of[VR_GIDS] = {v1, v4, v6};
	uint8_t *in = card_in(v->c);

	for (unsigned int i = 0; i < VR_GIDS; i++) {
		uint8_t *g = v->gid[port - 1][i];

		memcpy(g, of[i], 16);
		g[15] = (uint8_t)port;
		memcpy(in + 32 * i, g, 16);
		in[32 * i + 0x1a] = i == VR_GID_V6;
		in[32 * i + 0x1b] = i == VR_GID_V1 ? 0 : 2;
	}
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SET_PORT, 1, 0xd << 8 | port), 0);
}

static inline void
vr_wire_end(struct vr *v, unsigned int port)
{
	v->end[port - 1] = calloc(1, sizeof(struct vr_end));
	assert_non_null(v->end[port - 1]);
	v->end[port - 1]->w.ops = &vr_wire;
	v->end[port - 1]->frame = calloc(VR_FRAMES, sizeof(struct vr_frame));
	assert_non_null(v->end[port - 1]->frame);
}

/* What software tells an Ethernet port. */
static inline void
vr_port(struct vr *v, unsigned int port)
{
	uint64_t mac;

	assert_int_equal(card_cmd_out(v->c, MLX4_CMD_QUERY_PORT, 0, port), 0);
	mac = prm_get64(card_out(v->c), 0x10);
	for (unsigned int i = 0; i < 6; i++)
		v->mac[port - 1][i] = (uint8_t)(mac >> (40 - 8 * i));
	vr_gids(v, port);
	/* VLAN 7 has place 3 */
	prm_set32(card_in(v->c), 12, 1u << 31 | 7);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SET_PORT, 1, 3 << 8 | port), 0);
}

static inline int
vr_up_config(void **state, unsigned int flags, const struct tp_model_config *cfg)
{
	struct vr *v = calloc(1, sizeof(*v));

	assert_non_null(v);
	*state = v;
	v->c = card_new(cfg);
	v->now = 1000000;
	tp_model_set_time(v->c->m, v->now);
	card_boot(v->c, flags);
	card_objects(v->c);
	assert_int_equal(card_cmd(v->c, MLX4_CMD_MAP_EQ, 0, CARD_EQN, VR_ASYNC, 0), 0);
	assert_int_equal(card_cmd_none(v->c, MLX4_CMD_CONF_SPECIAL_QP, 0, VR_SPECIAL), 0);
	prm_set32(card_in(v->c), 0, 1u << 3); /* the UDP port of RoCE */
	prm_set32(card_ptr(v->c, v->c->in), 0x14, 4791);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_CONFIG_DEV, 0, 0), 0);
	v->small = card_alloc(v->c, 4096, 4096);
	vr_key(v, VR_RW_KEY, CARD_PD, CARD_IOVA, CARD_MEM_SIZE, true);
	vr_key(v, VR_RO_KEY, CARD_PD, CARD_IOVA, CARD_MEM_SIZE, false);
	vr_key(v, VR_PD_KEY, CARD_PD + 1, CARD_IOVA, CARD_MEM_SIZE, true);
	vr_key(v, VR_SMALL_KEY, CARD_PD, v->small, VR_SMALL_LEN, true);
	for (unsigned int p = 1; p <= 2; p++) {
		vr_wire_end(v, p);
		if (cfg == NULL)
			vr_port(v, p);
	}
	v->end[0]->peer = v->end[1];
	v->end[1]->peer = v->end[0];
	for (unsigned int p = 1; p <= 2; p++) {
		assert_int_equal(tp_model_wire_attach(v->c->m, p, &v->end[p - 1]->w), 0);
		assert_int_equal(card_cmd_none(v->c, MLX4_CMD_INIT_PORT, 0, p), 0);
	}
	vr_step(v);
	v->eq_ci = 0;
	while (card_ptr(v->c, v->c->eq_buf)[v->eq_ci * 32 + 0x1f] == 0) /* the links came up */
		v->eq_ci++;
	return 0;
}

static inline int
vr_up_mode(void **state, unsigned int flags)
{
	return vr_up_config(state, flags, NULL);
}

static inline int
vr_up(void **state)
{
	return vr_up_mode(state, CARD_DMFS);
}

static inline int
vr_down(void **state)
{
	struct vr *v = *state;

	card_free(v->c);
	free(v);
	return 0;
}

/* The type of the next event and the object that it names, or -1. */
static inline int
vr_event(struct vr *v, uint32_t *object)
{
	const uint8_t *e = card_ptr(v->c, v->c->eq_buf) + (size_t)v->eq_ci * 32;

	if ((e[0x1f] & 0x80) != 0)
		return -1;
	v->eq_ci++;
	*object = prm_get32(e, 4) & 0xffffff;
	return e[1];
}

static inline void
vr_expect_event(struct vr *v, int type, uint32_t object)
{
	uint32_t of = 0;

	assert_int_equal(vr_event(v, &of), type);
	assert_int_equal(of, object);
}

static inline void
vr_no_event(struct vr *v)
{
	uint32_t of;

	assert_int_equal(vr_event(v, &of), -1);
}

/* --- queue pairs --- */

static inline uint8_t *
vr_mem(struct vr *v, const struct vr_qp *q)
{
	return card_ptr(v->c, q->mem);
}

static inline void
vr_cq(struct vr *v, struct vr_qp *q)
{
	q->cq = card_alloc(v->c, 32u << VR_LG_CQ, CARD_PAGE);
	q->cq_rec = card_alloc(v->c, 8, 8);
	card_cq_ctx(v->c, card_in(v->c), q->cq, VR_LG_CQ, CARD_EQN, q->cq_rec);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SW2HW_CQ, 0, q->cqn), 0);
}

/* A QP with rings, a CQ and memory of its own; its context may be changed before vr_qp_up. */
static inline struct vr_qp *
vr_qp(struct vr *v, unsigned int port, enum mlx4_qp_service service)
{
	uint32_t size = card_qp_buf_size(VR_LG_SQ, VR_LG_RQ, 6);
	struct vr_qp *q = &v->q[v->n];

	assert_true(v->n < VR_QPS);
	q->qpn = VR_QPN + v->n;
	q->cqn = CARD_CQN + 1 + v->n++;
	q->ring = card_alloc(v->c, size, CARD_PAGE);
	q->rq = q->ring + (64u << VR_LG_SQ);
	q->dbrec = card_alloc(v->c, 8, 8);
	q->mem = card_alloc(v->c, VR_BUF, CARD_PAGE);
	for (uint32_t i = 0; i < 1u << VR_LG_SQ; i++)
		prm_set32(card_ptr(v->c, q->ring), i * 64, UINT32_MAX);
	vr_cq(v, q);
	card_qp_ctx(v->c, q->ctx, q->qpn, port, q->ring, VR_LG_SQ, VR_LG_RQ, 6, q->dbrec);
	prm_set(q->ctx, MLX4_QPC_SERVICE, service);
	prm_set(q->ctx, MLX4_QPC_CQN_SEND, q->cqn);
	prm_set(q->ctx, MLX4_QPC_CQN_RECV, q->cqn);
	prm_set(q->ctx, MLX4_QPC_MTU, 3); /* 1024 */
	prm_set(q->ctx, MLX4_QPC_RRE, 1);
	prm_set(q->ctx, MLX4_QPC_RWE, 1);
	prm_set(q->ctx, MLX4_QPC_RAE, 1);
	prm_set(q->ctx, MLX4_QPC_RRA_MAX, 2); /* lg */
	prm_set(q->ctx, MLX4_QPC_SRA_MAX, 2);
	prm_set(q->ctx, MLX4_QPC_RETRY_COUNT, 2);
	prm_set(q->ctx, MLX4_QPC_RNR_RETRY, 2);
	prm_set(q->ctx, MLX4_QPC_MIN_RNR_TIMER, 12); /* 0.64 ms */
	prm_set(q->ctx, MLX4_QPC_ROCE_ENTROPY, 0xc123);
	prm_set(q->ctx, MLX4_QPC_QKEY, VR_QKEY);
	prm_set(q->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_ACK_TIMEOUT, 10); /* 4.2 ms */
	prm_set(q->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_HOP_LIMIT, 64);
	return q;
}

/* Where q's packets go: a QP of a port's address. */
static inline void
vr_to(struct vr *v, struct vr_qp *q, unsigned int port, uint32_t qpn, unsigned int gid)
{
	uint8_t *path = q->ctx + MLX4_QPC_PRI_PATH;

	prm_set(q->ctx, MLX4_QPC_REMOTE_QPN, qpn);
	prm_set(q->ctx, MLX4_QPC_ROCE_MODE, gid == VR_GID_V1 ? 0 : 2);
	prm_set(path, MLX4_PATH_SGID_INDEX, gid);
	memcpy(path + MLX4_PATH_RGID, v->gid[port - 1][gid], 16);
	memcpy(path + MLX4_PATH_DMAC, v->mac[port - 1], 6);
}

static inline void
vr_qp_up(struct vr *v, struct vr_qp *q)
{
	assert_int_equal(card_qp_up(v->c, q->qpn, q->ctx), 0);
}

/* Two QPs of one kind, joined: the first on port 1, the second on port 2. */
static inline void
vr_pair(struct vr *v, enum mlx4_qp_service service, unsigned int gid, struct vr_qp **a, struct vr_qp **b)
{
	*a = vr_qp(v, 1, service);
	*b = vr_qp(v, 2, service);
	vr_to(v, *a, 2, (*b)->qpn, gid);
	vr_to(v, *b, 1, (*a)->qpn, gid);
	vr_qp_up(v, *a);
	vr_qp_up(v, *b);
}

/* One that takes Ethernet frames. */
static inline struct vr_qp *
vr_raw_qp(struct vr *v, unsigned int port)
{
	struct vr_qp *q = vr_qp(v, port, MLX4_QP_ST_MLX);

	prm_set(q->ctx, MLX4_QPC_MTU, MLX4_QPC_MTU_RAW);
	prm_set(q->ctx, MLX4_QPC_LG_MSG, MLX4_QPC_LG_MSG_RAW);
	vr_qp_up(v, q);
	return q;
}

/* A rule of a port: its own address to a QP. */
static inline void
vr_rule(struct vr *v, unsigned int port, const struct vr_qp *q)
{
	uint8_t *in = card_in(v->c);

	in[7] = (uint8_t)port;
	prm_set32(in, 8, q->qpn);
	memcpy(in + 16, "\x0c\0\xe0\x01", 4);
	memcpy(in + 16 + 10, v->mac[port - 1], 6);
	memset(in + 16 + 18, 0xff, 6);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 0, 16), 0);
}

/* --- work requests --- */

static inline uint8_t *
vr_wqe(struct vr *v, const struct vr_qp *q)
{
	return card_ptr(v->c, q->ring) + (q->prod & ((1u << VR_LG_SQ) - 1)) * 64;
}

/* Data segment i (in 16 bytes) of the WQE at hand. */
static inline void
vr_data(struct vr *v, const struct vr_qp *q, unsigned int i, uint32_t key, uint64_t addr, uint32_t len)
{
	uint8_t *s = vr_wqe(v, q) + 16 * i;

	prm_set32(s, 0, len);
	prm_set32(s, 4, key);
	prm_set64(s, 8, addr);
}

static inline void
vr_remote(struct vr *v, const struct vr_qp *q, uint32_t rkey, uint64_t addr)
{
	uint8_t *s = vr_wqe(v, q) + 16;

	prm_set64(s, 0, addr);
	prm_set32(s, 8, rkey);
	prm_set32(s, 12, 0);
}

/* Hands over the WQE at hand: ds units of 16 bytes, signalled; extra: more bits of the flags. */
static inline void
vr_post(struct vr *v, struct vr_qp *q, uint32_t op, uint32_t ds, uint32_t extra, uint32_t imm)
{
	uint8_t *w = vr_wqe(v, q);
	uint8_t db[4];

	prm_set32(w, 4, ds);
	prm_set32(w, 8, MLX4_CTRL_CQE | extra);
	prm_set32(w, 12, imm);
	prm_set32(w, 0, op);
	q->prod += (ds + 3) / 4;
	prm_set32(db, 0, q->qpn << 8);
	assert_int_equal(tp_model_uar_write(v->c->m, CARD_UAR * 4096 + MLX4_UAR_SEND_DB, db, 4), 0);
}

static inline void
vr_post_send(struct vr *v, struct vr_qp *q, uint64_t addr, uint32_t len)
{
	vr_data(v, q, 1, VR_RW_KEY, addr, len);
	vr_post(v, q, MLX4_OP_SEND, 2, 0, 0);
}

static inline void
vr_post_rdma(struct vr *v, struct vr_qp *q, uint32_t op, uint64_t addr, uint32_t len, uint32_t rkey, uint64_t remote)
{
	vr_remote(v, q, rkey, remote);
	vr_data(v, q, 2, VR_RW_KEY, addr, len);
	vr_post(v, q, op, 3, 0, 0);
}

static inline void
vr_post_recv(struct vr *v, struct vr_qp *q, uint32_t key, uint64_t addr, uint32_t len)
{
	uint8_t *w = card_ptr(v->c, q->rq) + (q->rprod++ & ((1u << VR_LG_RQ) - 1)) * 64;

	memset(w, 0, 64);
	prm_set32(w, 0, len);
	prm_set32(w, 4, key);
	prm_set64(w, 8, addr);
	prm_set32(w, 16 + 4, MLX4_LKEY_INVALID);
	prm_set32(card_ptr(v->c, q->dbrec), 0, q->rprod & 0xffff);
}

/* A datagram of len bytes from the beginning of q's memory to a QP of a port; tci 0xffff: no tag. */
static inline void
vr_post_ud(struct vr *v, struct vr_qp *q, unsigned int port, uint32_t qpn, unsigned int gid, uint16_t tci, uint32_t len)
{
	uint8_t *d = vr_wqe(v, q) + 16;

	memset(d, 0, 48);
	prm_set32(d, 0, (3 - port) << 24 | CARD_PD);
	d[5] = 0x80;
	d[9] = (uint8_t)gid;
	d[11] = 9;                             /* hop limit */
	prm_set32(d, 12, 0x02b00000 | 0x1234); /* traffic class 0x2b, flow label */
	memcpy(d + 16, v->gid[port - 1][gid], 16);
	prm_set32(d, 32, qpn);
	prm_set32(d, 36, VR_QKEY);
	d[40] = (uint8_t)(tci >> 8);
	d[41] = (uint8_t)tci;
	memcpy(d + 42, v->mac[port - 1], 6);
	vr_data(v, q, 4, VR_RW_KEY, q->mem, len);
	vr_post(v, q, MLX4_OP_SEND, 5, 0, 0);
}

/* The next completion, or NULL. */
static inline const uint8_t *
vr_poll_cq(struct vr *v, struct vr_qp *q)
{
	const uint8_t *e = card_ptr(v->c, q->cq) + (q->ci & ((1u << VR_LG_CQ) - 1)) * 32;

	if ((e[31] >> 7) != (q->ci >> VR_LG_CQ & 1) || (e[31] & 0x1f) == 0x1f)
		return NULL;
	q->ci++;
	prm_set32(card_ptr(v->c, q->cq_rec), 0, q->ci & 0xffffff);
	return e;
}

/* The next completion is a good one of this kind: 0x40 and the opcode of a send, or the opcode of a receive. */
static inline const uint8_t *
vr_expect(struct vr *v, struct vr_qp *q, uint8_t opcode, uint16_t index)
{
	const uint8_t *e = vr_poll_cq(v, q);

	if (e == NULL)
		fail_msg("QP 0x%x: no completion, wanted opcode 0x%x of WQE %u", q->qpn, opcode, index);
	if ((e[31] & 0x1f) == 0x1e && opcode != 0x1e)
		fail_msg("QP 0x%x: error 0x%02x of WQE %u, wanted opcode 0x%x", q->qpn, e[0x1b],
			 prm_get32(e, 0x18) >> 16, opcode);
	assert_int_equal(e[31] & 0x7f, opcode);
	assert_int_equal(prm_get32(e, 0) & 0xffffff, q->qpn);
	assert_int_equal(prm_get32(e, 0x18) >> 16, index);
	return e;
}

/* The next completion is an error of a send or receive. */
static inline void
vr_expect_error(struct vr *v, struct vr_qp *q, bool send, uint8_t syndrome, uint16_t index)
{
	const uint8_t *e = vr_poll_cq(v, q);

	if (e == NULL)
		fail_msg("QP 0x%x: no completion, wanted error 0x%02x", q->qpn, syndrome);
	assert_int_equal(e[31] & 0x7f, 0x1e | (send ? 0x40 : 0));
	assert_int_equal(e[0x1b], syndrome);
	assert_int_equal(prm_get32(e, 0) & 0xffffff, q->qpn);
	assert_int_equal(prm_get32(e, 0x18) >> 16, index);
}

/* By QUERY_QP */
static inline uint32_t
vr_state(struct vr *v, const struct vr_qp *q)
{
	assert_int_equal(card_cmd_out(v->c, MLX4_CMD_QUERY_QP, 0, q->qpn), 0);
	return prm_get32(card_out(v->c), 8) >> 28;
}

/* A diagnostic counter of a port, by its place in the output of DIAG_RPRT. */
static inline uint32_t
vr_diag(struct vr *v, unsigned int port, uint32_t at)
{
	assert_int_equal(card_cmd_out(v->c, MLX4_CMD_DIAG_RPRT, 2, port), 0);
	return prm_get32(card_out(v->c), at);
}

/* No event waits, no rule was broken. */
static inline void
vr_quiet(struct vr *v)
{
	vr_no_event(v);
	card_expect_clean(v->c);
}

/* A message of len bytes from a's memory arrives in b's. */
static inline void
vr_exchange(struct vr *v, struct vr_qp *a, struct vr_qp *b, uint32_t len)
{
	uint16_t recv = (uint16_t)b->rprod, send = (uint16_t)a->prod;
	const uint8_t *e;

	vr_fill(vr_mem(v, a), len, (uint8_t)len);
	memset(vr_mem(v, b) + 8192, 0, len + 1);
	vr_post_recv(v, b, VR_RW_KEY, b->mem + 8192, len);
	vr_post_send(v, a, a->mem, len);
	vr_step(v);
	e = vr_expect(v, b, 1, recv);
	assert_int_equal(prm_get32(e, 0x14), len);
	assert_memory_equal(vr_mem(v, b) + 8192, vr_mem(v, a), len);
	assert_int_equal(vr_mem(v, b)[8192 + len], 0);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, send);
	assert_null(vr_poll_cq(v, a));
	assert_null(vr_poll_cq(v, b));
}

#endif /* VERBS_RIG_H */
