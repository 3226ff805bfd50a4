/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Verbs queue pairs where a request cannot go on: groups of nobody, refused keys, holes in memory, fences, ports with a scheduler. */
#include "ib_rig.h"

#include "mlx4_prm_qos.h"
#include "model/card/model_priv.h"

#define MS UINT64_C(1000000)
#define HOLE_MPT (CARD_MPT + 0x40)
#define HOLE_KEY (HOLE_MPT << 8 | 0x11)
#define HOLE_VA UINT64_C(0x40000000)

enum { DIAG_BIND = 0x2c, DIAG_RESP_OP = 0x58, DIAG_REQ_OP = 0x54, DIAG_MCAST = 0x108 };

/* A packet to a group that nobody is attached to: the port that it comes to counts it, the one that sent it does not. */
static void
group_of_nobody(void **state)
{
	static const uint8_t group[16] = {0xff, 0x0e, [10] = 0xff, 0xff, 239, 1, 2, 3};
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint8_t *d;

	vr_pair(v, MLX4_QP_ST_UD, VR_GID_V1, &a, &b);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 100);
	vr_post_ud(v, a, 2, 0xffffff, VR_GID_V1, 0xffff, 20);
	d = card_ptr(v->c, a->ring) + 16;
	memcpy(d + 16, group, 16);
	memcpy(d + 42, "\x33\x33\xef\x01\x02\x03", 6);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	assert_null(vr_poll_cq(v, b));
	assert_int_equal(vr_diag(v, 1, DIAG_MCAST), 0);
	assert_int_equal(vr_diag(v, 2, DIAG_MCAST), 1);
	assert_int_equal(vr_diag(v, 0, DIAG_MCAST), 1);
	/* To one queue pair of that number in a group's place: not a group's packet. */
	vr_post_ud(v, a, 2, b->qpn, VR_GID_V1, 0xffff, 20);
	d = card_ptr(v->c, a->ring) + 2 * 64 + 16;
	memcpy(d + 16, group, 16);
	memcpy(d + 42, "\x33\x33\xef\x01\x02\x03", 6);
	vr_step(v);
	assert_int_equal(vr_diag(v, 0, DIAG_MCAST), 1);
}

/* A list that the responder may not write: it says so with a NAK, and both count it. */
static void
receive_refused(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, MLX4_QP_ST_RC, VR_GID_V4, &a, &b);
	vr_post_recv(v, b, VR_RO_KEY, b->mem, 100);
	vr_post_send(v, a, a->mem, 100);
	vr_step(v);
	vr_expect_error(v, a, true, MLX4_SYND_REMOTE_OP, 0);
	vr_expect_error(v, b, false, MLX4_SYND_LOCAL_PROT, 0);
	assert_int_equal(vr_diag(v, 2, DIAG_RESP_OP), 1);
	assert_int_equal(vr_diag(v, 1, DIAG_RESP_OP), 0);
	assert_int_equal(vr_diag(v, 1, DIAG_REQ_OP), 1);
	assert_int_equal(vr_diag(v, 2, DIAG_REQ_OP), 0);
}

/* A key that may not be taken back by a request. */
static void
invalidate_refused(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint8_t *w;

	vr_pair(v, MLX4_QP_ST_RC, VR_GID_V4, &a, &b);
	w = vr_wqe(v, a);
	memset(w + 16, 0, 48);
	prm_set(w + 16, MLX4_INV_KEY, VR_RW_KEY);
	vr_post(v, a, MLX4_OP_LOCAL_INV, 1 + MLX4_INV_SIZE / 16, 0, 0);
	vr_step(v);
	vr_expect_error(v, a, true, MLX4_SYND_MW_BIND, 0);
	assert_int_equal(vr_diag(v, 1, DIAG_BIND), 1);
	assert_int_equal(vr_diag(v, 2, DIAG_BIND), 0);
	assert_int_equal(vr_diag(v, 1, 0x0c), 0);
}

/* A region of three pages, the second of which the table does not map. */
static void
region_with_a_hole(struct vr *v)
{
	uint64_t buf = card_alloc(v->c, 3 * CARD_PAGE, CARD_PAGE), mtt = card_mtt(v->c, buf, 3);
	uint8_t *in = card_in(v->c);

	prm_set64(card_ptr(v->c, v->c->mtt_mem + mtt), MLX4_MTT_SIZE, 0); /* not present */
	card_mr_ctx(v->c, in, HOLE_KEY, HOLE_VA, 3 * CARD_PAGE, false);
	prm_set(in, MLX4_MPT_RR, 1);
	prm_set(in, MLX4_MPT_MTT_L, (uint32_t)mtt);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SW2HW_MPT, 0, HOLE_MPT), 0);
}

/* What is not mapped shows when it is read: the requester is refused, and nothing of that packet comes. */
static void
read_over_a_hole(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	region_with_a_hole(v);
	vr_pair(v, MLX4_QP_ST_RC, VR_GID_V4, &a, &b);
	memset(vr_mem(v, a), 0x5a, 4096);
	vr_post_rdma(v, a, MLX4_OP_RDMA_READ, a->mem, 1024, HOLE_KEY, HOLE_VA);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_RDMA_READ, 0);
	assert_int_not_equal(vr_mem(v, a)[0], 0x5a);
	memset(vr_mem(v, a), 0x5a, 4096);
	vr_post_rdma(v, a, MLX4_OP_RDMA_READ, a->mem, 1024, HOLE_KEY, HOLE_VA + CARD_PAGE - 512);
	vr_step(v);
	vr_expect_error(v, a, true, MLX4_SYND_REMOTE_ACCESS, 1);
	for (unsigned int i = 0; i < 1024; i++)
		assert_int_equal(vr_mem(v, a)[i], 0x5a);
	assert_int_equal(vr_diag(v, 2, 0x50), 1);
}

/* A fenced request stays until all READs before it are answered (IBTA 10.8.3.3): the READ is lost and comes again. */
static void
fence(void **state)
{
	struct vr *v = *state;

	for (unsigned int fenced = 0; fenced < 2; fenced++) {
		struct vr_qp *a, *b;
		uint8_t *w;
		uint32_t first;

		vr_pair(v, MLX4_QP_ST_RC, VR_GID_V4, &a, &b);
		first = v->end[0]->sent;
		v->end[0]->lose = 1;
		vr_post_rdma(v, a, MLX4_OP_RDMA_READ, a->mem, 100, VR_RW_KEY, b->mem);
		w = vr_wqe(v, a);
		vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem + 4096, 100, VR_RW_KEY, b->mem + 4096);
		if (fenced != 0)
			prm_set32(w, 4, prm_get32(w, 4) | MLX4_CTRL_FENCE);
		vr_step(v);
		/* Nothing is behind the READ, so that nobody misses it before its time is over; else a NAK tells at once. */
		if (fenced != 0) {
			assert_null(vr_poll_cq(v, a));
			assert_int_equal(v->end[0]->sent - first, 1);
		}
		assert_int_equal(vr_diag(v, 1, 0x104), 1); /* NAKs for what was out of order */
		vr_wait(v, 20 * MS);
		vr_expect(v, a, VR_SENT | MLX4_OP_RDMA_READ, 0);
		vr_expect(v, a, VR_SENT | MLX4_OP_RDMA_WRITE, 1);
	}
	vr_quiet(v);
}

/* A queue pair of a port with a scheduler answers before it may send. */
static void
answers_before_it_sends(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = vr_qp(v, 1, MLX4_QP_ST_RC), *b = vr_qp(v, 2, MLX4_QP_ST_RC);
	uint8_t *in = card_in(v->c);

	for (unsigned int i = 0; i < MLX4_TCS; i++) {
		prm_set(in + i * MLX4_SCHED_ENTRY, MLX4_SCHED_GROUP, i);
		prm_set(in + i * MLX4_SCHED_ENTRY, MLX4_SCHED_BW_PCT, 100);
		prm_set(in + i * MLX4_SCHED_ENTRY, MLX4_SCHED_RATE_UNIT, MLX4_SCHED_UNIT_1G);
		prm_set(in + i * MLX4_SCHED_ENTRY, MLX4_SCHED_RATE, 10);
	}
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SET_PORT, 1, MLX4_SET_PORT_SCHEDULER << 8 | 2), 0);
	assert_true(v->c->m->port[1].tx_managed);
	vr_to(v, a, 2, b->qpn, VR_GID_V4);
	vr_to(v, b, 1, a->qpn, VR_GID_V4);
	vr_qp_up(v, a);
	assert_int_equal(card_qp_step(v->c, MLX4_CMD_RST2INIT_QP, b->qpn, b->ctx), 0);
	assert_int_equal(card_qp_step(v->c, MLX4_CMD_INIT2RTR_QP, b->qpn, b->ctx), 0);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 100);
	vr_post_send(v, a, a->mem, 100);
	vr_step(v);
	vr_expect(v, b, 1, 0);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	assert_int_equal(vr_diag(v, 1, 0x134), 0); /* nothing timed out */
}

/* Frames for the port's address go to an Ethernet queue, RoCE of each kind among them to its queue pair. */
static void
beside_ethernet(void **state)
{
	static const unsigned int where[] = {VR_GID_V1, VR_GID_V4, VR_GID_V6};
	struct vr *v = *state;
	struct vr_qp *a, *b, *raw;
	uint8_t frame[80] = {[12] = 8, [14] = 0x45, [17] = 66, [23] = 17, [36] = 0x12, 0xb6};
	struct tp_frame_seg seg = {.data = frame, .len = sizeof(frame)};
	const struct tp_frame f = {.seg = &seg, .nseg = 1, .len = sizeof(frame)};

	vr_pair(v, MLX4_QP_ST_UD, VR_GID_V1, &a, &b);
	raw = vr_raw_qp(v, 2);
	vr_rule(v, 2, raw);
	memcpy(frame, v->mac[1], 6);
	for (uint16_t i = 0; i < 3; i++) {
		vr_post_recv(v, raw, VR_RW_KEY, raw->mem, 2048);
		vr_post_recv(v, b, VR_RW_KEY, b->mem, 100);
		/* UDP to the port before that of RoCE */
		assert_int_equal(tp_model_port_receive(v->c->m, 2, &f, 1), 1);
		vr_post_ud(v, a, 2, b->qpn, where[i], 0xffff, 20);
		vr_step(v);
		vr_expect(v, raw, 1, i);
		assert_memory_equal(vr_mem(v, raw), frame, sizeof(frame));
		assert_int_equal(prm_get32(vr_expect(v, b, 1, i), 0x14), 60);
		assert_null(vr_poll_cq(v, raw));
	}
	card_expect_clean(v->c);
}

/* A datagram of QP1 to a group goes to the wire, and to those of the same port that are in the group. */
static void
group_from_qp1(void **state)
{
	static const uint8_t gid[16] = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1};
	struct vr *v = *state;
	struct vr_qp *gsi, *c;
	uint8_t *in, *w, *h;
	uint32_t first;

	vr_down(state);
	ir_up(state);
	v = *state;
	gsi = ir_special(v, 1, 1);
	c = ir_qp(v, 1, MLX4_QP_ST_UD);
	prm_set(c->ctx, MLX4_QPC_QKEY, IB_QP1_QKEY);
	vr_qp_up(v, c);
	in = card_in(v->c);
	prm_set(in, MLX4_DMFS_PORT, 1);
	prm_set(in, MLX4_DMFS_QPN, c->qpn);
	prm_set(in + MLX4_DMFS_CTRL_SIZE, MLX4_SPEC_SIZE, MLX4_SPEC_IB_SIZE / 4);
	prm_set(in + MLX4_DMFS_CTRL_SIZE, MLX4_SPEC_ID, MLX4_SPEC_IB);
	memcpy(in + MLX4_DMFS_CTRL_SIZE + MLX4_SPEC_IB_DGID, gid, 16);
	memset(in + MLX4_DMFS_CTRL_SIZE + MLX4_SPEC_IB_DGID_MASK, 0xff, 16);
	assert_int_equal(card_cmd(v->c, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 0,
				  (MLX4_DMFS_CTRL_SIZE + MLX4_SPEC_IB_SIZE) / 4, v->c->in, 0),
			 0);
	vr_post_recv(v, c, VR_RW_KEY, c->mem, 1000);
	vr_fill(vr_mem(v, gsi), 256, 1);
	/* LRH, GRH, BTH and DETH inline */
	w = vr_wqe(v, gsi);
	memset(w, 0, 128);
	prm_set32(w, 16, MLX4_DATA_INLINE | 44);
	h = w + 20;
	h[1] = 3;
	h[2] = 0xc0;
	h[3] = 1;
	h[5] = (8 + 40 + 12 + 8 + 256 + 4) / 4;
	h[8] = 0x60;
	prm_set32(h, 12, (12 + 8 + 256 + 4) << 16 | 0x1b40);
	prm_set64(h, 16, IR_PREFIX);
	prm_set64(h, 24, IR_GUID + 1);
	memcpy(h + 32, gid, 12);
	/* Inline data ends where its 64 octets end; the rest is in the next ones. */
	prm_set32(w, 64, MLX4_DATA_INLINE | 24);
	memcpy(w + 68, gid + 12, 4);
	h = w + 72;
	h[0] = 0x64;
	h[1] = 0x40;
	h[2] = h[3] = 0xff;
	h[5] = h[6] = h[7] = 0xff;
	prm_set32(h, 12, IB_QP1_QKEY);
	h[19] = 1;
	prm_set32(w, 96, 256);
	prm_set32(w, 100, VR_RW_KEY);
	prm_set64(w, 104, gsi->mem);
	prm_set32(w, 112, MLX4_DATA_INLINE | 4);
	first = v->end[0]->sent;
	vr_post(v, gsi, MLX4_OP_SEND, 8, 0, 0xc001u << MLX4_MLX_RLID_SHIFT);
	vr_step(v);
	vr_expect(v, gsi, VR_SENT | MLX4_OP_SEND, 0);
	assert_int_equal(v->end[0]->sent - first, 1);
	vr_expect(v, c, 1, 0);
	assert_memory_equal(vr_mem(v, c) + 40, vr_mem(v, gsi), 256);
	card_expect_clean(v->c);
}

/*
 * Who saw the completion of a receive may end the queue pair at once, before it had another turn: the sender hears of its message, too.
 * A card that is asked to end it answers first.
 */
static void
answered_when_it_ends(void **state)
{
	static const uint16_t ends[] = {MLX4_CMD_2RST_QP, MLX4_CMD_2ERR_QP};
	struct vr *v = *state;

	for (unsigned int i = 0; i < RTE_DIM(ends); i++) {
		struct tp_frame_seg seg;
		struct tp_frame f = {.seg = &seg, .nseg = 1};
		struct vr_qp *a, *b;
		uint32_t sent;

		vr_pair(v, MLX4_QP_ST_RC, VR_GID_V4, &a, &b);
		vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
		vr_step(v);
		v->end[0]->lose = 1;
		vr_post_send(v, a, a->mem, 16);
		vr_step(v);
		assert_null(vr_poll_cq(v, b));
		seg.data = v->end[0]->frame[v->end[0]->sent - 1].data;
		f.len = seg.len = v->end[0]->frame[v->end[0]->sent - 1].len;
		sent = v->end[1]->sent;
		tp_model_port_receive(v->c->m, 2, &f, 1);
		vr_expect(v, b, 1, 0);
		assert_int_equal(v->end[1]->sent, sent);
		assert_int_equal(card_cmd_none(v->c, ends[i], ends[i] == MLX4_CMD_2RST_QP ? 2 : 0, b->qpn), 0);
		assert_int_equal(v->end[1]->sent, sent + 1);
		vr_step(v);
		vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
		card_expect_clean(v->c);
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, vr_up, vr_down)
	const struct CMUnitTest tests[] = {
		T(group_of_nobody),  T(receive_refused), T(invalidate_refused),
		T(read_over_a_hole), T(fence),           T(answers_before_it_sends),
		T(group_from_qp1),   T(beside_ethernet), T(answered_when_it_ends),
	};

	return cmocka_run_group_tests_name("verbs_ends", tests, NULL, NULL);
}
