/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Verbs queue pairs at their edges: who is woken, tags and addresses, pauses, long lists, windows, steps of a context. */
#include <sys/mman.h>

#include "mlx4_prm_qos.h"
#include "model/roce/roce.h"
#include "verbs_rig.h"

static const enum mlx4_qp_service reliable = MLX4_QP_ST_RC;

static const struct vr_frame *
last(struct vr *v, unsigned int port)
{
	assert_true(v->end[port - 1]->sent != 0);
	return &v->end[port - 1]->frame[v->end[port - 1]->sent - 1];
}

/* --- who is woken -------------------------------------------------------------------------------------------------------------- */

static void
arm(struct vr *v, const struct vr_qp *q, uint32_t sn, uint32_t command)
{
	uint8_t db[8];

	prm_set32(db, 0, sn << MLX4_CQ_ARM_SN_SHIFT | command << MLX4_CQ_ARM_CMD_SHIFT | q->cqn);
	prm_set32(db, 4, q->ci);
	assert_int_equal(tp_model_uar_write(v->c->m, CARD_UAR * 4096 + MLX4_UAR_CQ_ARM, db, sizeof(db)), 0);
}

/* A send as it is, with a request for an event at the other end or without. */
static void
send_one(struct vr *v, struct vr_qp *a, struct vr_qp *b, bool solicited)
{
	uint16_t sent = (uint16_t)a->prod, taken = (uint16_t)b->rprod;

	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	vr_data(v, a, 1, VR_RW_KEY, a->mem, 16);
	vr_post(v, a, MLX4_OP_SEND, 2, solicited ? MLX4_CTRL_SOLICITED : 0, 0);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, sent);
	vr_expect(v, b, 1, taken);
}

/*
 * Solicited is a message that came and asks for an event, or what failed; a send that went well never is, whatever it asked
 * for (ibv_req_notify_cq(3)).
 */
static void
test_solicited(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	arm(v, a, 1, MLX4_CQ_ARM_SOLICITED);
	arm(v, b, 1, MLX4_CQ_ARM_SOLICITED);
	vr_step(v);
	send_one(v, a, b, false);
	vr_no_event(v);
	send_one(v, a, b, true);
	vr_expect_event(v, MLX4_EVENT_COMP, b->cqn);
	vr_no_event(v);
	send_one(v, a, b, true);
	vr_no_event(v);
	/* An error is. */
	vr_data(v, a, 1, VR_RW_KEY + 1, a->mem, 16);
	vr_post(v, a, MLX4_OP_SEND, 2, 0, 0);
	vr_step(v);
	vr_expect_event(v, MLX4_EVENT_COMP, a->cqn);
}

/* Who is told that a queue is drained is who asked for it. */
static void
test_drained_quietly(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	assert_int_equal(card_cmd_none(v->c, MLX4_CMD_RTS2SQD_QP, 0, a->qpn), 0);
	vr_step(v);
	vr_no_event(v);
	assert_int_equal(card_cmd_none(v->c, MLX4_CMD_RTS2SQD_QP, 0, b->qpn | 1u << 31), 0);
	vr_step(v);
	vr_expect_event(v, MLX4_EVENT_SQ_DRAINED, b->qpn);
	vr_quiet(v);
}

/* A CQ that overruns takes those with it that are alive: one in error is told nothing again. */
static void
test_overrun_beside_an_error(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b, *c = vr_qp(v, 1, reliable);

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	prm_set(c->ctx, MLX4_QPC_CQN_SEND, a->cqn);
	prm_set(c->ctx, MLX4_QPC_CQN_RECV, a->cqn);
	vr_to(v, c, 2, b->qpn, VR_GID_V4);
	vr_qp_up(v, c);
	assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2ERR_QP, 0, c->qpn), 0);
	for (unsigned int i = 0; i < 65; i++)
		vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem, 8, VR_RW_KEY, b->mem);
	vr_step(v);
	vr_expect_event(v, MLX4_EVENT_CQ_ERROR, a->cqn);
	vr_expect_event(v, MLX4_EVENT_WQ_CATAS, a->qpn);
	vr_no_event(v);
}

/* --- what is on the wire ---------------------------------------------------------------------------------------------------------- */

/* A path's tag is that of a place in the port's table, when there is one (SET_PORT VLAN table [CP 4.3]). */
static void
test_tags_of_paths(void **state)
{
	static const struct {
		bool force;
		uint8_t place;
		int tci; /* -1: none */
	} row[] = {{true, 3, 7}, {false, 3, -1}, {true, 4, -1}, {true, 5, 0xabc}, {true, 6, -1}};
	struct vr *v = *state;
	uint8_t *in = card_in(v->c);

	prm_set32(in, 12, 1u << 31 | 7);
	prm_set32(in, 20, 1u << 31 | 0xabc);
	prm_set32(in, 24, 0x123); /* not valid */
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SET_PORT, 1, 3 << 8 | 1), 0);
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct vr_qp *a = vr_qp(v, 1, MLX4_QP_ST_UC);
		const uint8_t *f;

		vr_to(v, a, 2, 5, VR_GID_V4);
		prm_set(a->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_FORCE_VLAN, row[i].force);
		prm_set(a->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_VLAN_INDEX, row[i].place);
		vr_qp_up(v, a);
		vr_post_send(v, a, a->mem, 16);
		vr_step(v);
		f = last(v, 1)->data;
		assert_int_equal(f[12] << 8 | f[13], row[i].tci >= 0 ? 0x8100 : 0x0800);
		if (row[i].tci >= 0) {
			assert_int_equal((f[14] & 0xf) << 8 | f[15], row[i].tci);
			assert_int_equal(f[16] << 8 | f[17], 0x0800);
		}
	}
	card_expect_clean(v->c);
}

/* A datagram's tag: none by 0xffff, or by 0 without a mark [DP 10.1]; its UDP port from all 20 bits of the flow label. */
static void
test_tags_and_ports_of_datagrams(void **state)
{
	static const struct {
		uint16_t tci;
		bool mark;
		uint32_t flow;
		int tag;
		uint16_t port;
	} row[] = {
		{0xffff, false, 0x00000, -1, 0xc000},    {0xffff, true, 0xfedcb, -1, 0xedf4},
		{0, false, 0x02000, -1, 0xe000},         {0, true, 0x04000, 0, 0xc001},
		{0x0123, false, 0x80000, 0x123, 0xc020},
	};
	struct vr *v = *state;
	struct vr_qp *a = vr_qp(v, 1, MLX4_QP_ST_UD);

	vr_qp_up(v, a);
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint8_t *w = vr_wqe(v, a);
		const uint8_t *f;

		vr_post_ud(v, a, 2, 5, VR_GID_V4, row[i].tci, 30);
		prm_set(w + 16, MLX4_AV_VLAN, row[i].mark);
		prm_set(w + 16, MLX4_AV_FLOW_LABEL, row[i].flow);
		vr_step(v);
		f = last(v, 1)->data;
		assert_int_equal(f[12] << 8 | f[13], row[i].tag >= 0 ? 0x8100 : 0x0800);
		if (row[i].tag >= 0)
			assert_int_equal(f[14] << 8 | f[15], row[i].tag);
		f += row[i].tag >= 0 ? 38 : 34;
		assert_int_equal(f[0] << 8 | f[1], row[i].port);
		assert_int_equal(f[2] << 8 | f[3], 4791);
	}
	card_expect_clean(v->c);
}

/* The UDP port that software gives is the card's, for what it sends and what it takes [CP 3.8]. */
static void
test_another_udp_port(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	prm_set32(card_in(v->c), 0, 1u << 3);
	prm_set32(card_ptr(v->c, v->c->in), 0x14, 5001);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_CONFIG_DEV, 0, 0), 0);
	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	vr_exchange(v, a, b, 40);
	assert_int_equal(last(v, 1)->data[36] << 8 | last(v, 1)->data[37], 5001);
	/* Without a word about it, it stays. */
	prm_set32(card_in(v->c), 0, 0);
	prm_set32(card_ptr(v->c, v->c->in), 0x14, 4791);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_CONFIG_DEV, 0, 0), 0);
	vr_exchange(v, a, b, 40);
	assert_int_equal(last(v, 1)->data[36] << 8 | last(v, 1)->data[37], 5001);
	vr_quiet(v);
}

/* An address belongs to a version of RoCE: a packet of the other one is for somebody else. */
static void
test_versions_of_addresses(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = vr_qp(v, 1, MLX4_QP_ST_UC), *b = vr_qp(v, 2, MLX4_QP_ST_UC);

	vr_to(v, b, 1, a->qpn, VR_GID_V6);
	vr_qp_up(v, b);
	/* A GRH to the address of IPv6 */
	vr_to(v, a, 2, b->qpn, VR_GID_V6);
	prm_set(a->ctx, MLX4_QPC_ROCE_MODE, 0);
	prm_set(a->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_SGID_INDEX, VR_GID_V1);
	vr_qp_up(v, a);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	vr_post_send(v, a, a->mem, 16);
	vr_step(v);
	assert_int_equal(last(v, 1)->data[12] << 8 | last(v, 1)->data[13], 0x8915);
	assert_null(vr_poll_cq(v, b));
	card_expect_clean(v->c);
}

static void
pause(struct vr *v, unsigned int port, uint16_t quanta)
{
	uint8_t f[60] = {0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0, 1};
	struct tp_frame_seg seg = {.data = f, .len = sizeof(f)};
	struct tp_frame frame = {.seg = &seg, .nseg = 1, .len = sizeof(f)};

	f[16] = (uint8_t)(quanta >> 8);
	f[17] = (uint8_t)quanta;
	tp_model_port_receive(v->c->m, port, &frame, 1);
}

/* A port that was told to pause sends nothing, no acknowledgement either (IEEE 802.3 annex 31B). */
static void
test_paused_port(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint8_t *in = card_in(v->c);
	uint32_t sent;

	prm_set(in, MLX4_SPG_V_RX_PAUSE, 1);
	prm_set(in, MLX4_SPG_RX_PAUSE, 1);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SET_PORT, 1, 2), 0);
	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	vr_exchange(v, a, b, 40);
	sent = v->end[1]->sent;
	pause(v, 2, 0xffff);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	vr_post_send(v, a, a->mem, 16);
	vr_post_send(v, b, b->mem, 16);
	vr_post_recv(v, a, VR_RW_KEY, a->mem, 64);
	vr_wait(v, 100000);
	vr_expect(v, b, 1, 1);
	assert_null(vr_poll_cq(v, a));
	assert_int_equal(v->end[1]->sent, sent);
	pause(v, 2, 0);
	vr_wait(v, 1000);
	assert_true(v->end[1]->sent >= sent + 2);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 1);
	vr_expect(v, a, 1, 0);
	vr_expect(v, b, VR_SENT | MLX4_OP_SEND, 0);
	card_expect_clean(v->c);
}

/* --- lists and inline data ------------------------------------------------------------------------------------------------------- */

/* 61 pieces of 41 octets in packets of 1024: more pieces than one packet is made of, and none ends where a packet does. */
static void
test_list_of_many_pieces(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint8_t want[61 * 41];

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	for (unsigned int i = 0; i < 61; i++) {
		vr_fill(vr_mem(v, a) + 100 * i, 41, (uint8_t)(i * 11));
		memcpy(want + 41 * i, vr_mem(v, a) + 100 * i, 41);
		vr_data(v, a, i + 1, VR_RW_KEY, a->mem + 100 * i, 41);
	}
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 4096);
	vr_post(v, a, MLX4_OP_SEND, 62, 0, 0);
	vr_step(v);
	assert_int_equal(prm_get32(vr_expect(v, b, 1, 0), 0x14), sizeof(want));
	assert_memory_equal(vr_mem(v, b), want, sizeof(want));
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	vr_quiet(v);
	/* A key that is not good among them ends it, as the local error that it is. */
	for (unsigned int i = 0; i < 61; i++)
		vr_data(v, a, i + 1, i == 50 ? VR_PD_KEY : VR_RW_KEY, a->mem + 100 * i, 10);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 4096);
	vr_post(v, a, MLX4_OP_SEND, 62, 0, 0);
	vr_step(v);
	vr_expect_error(v, a, true, MLX4_SYND_LOCAL_PROT, 16);
}

/* What does not fit its WQE, or mixes data of both kinds, is refused. */
static void
test_malformed_lists(void **state)
{
	for (unsigned int i = 0; i < 4; i++) {
		struct vr *v;
		struct vr_qp *a, *b;
		uint8_t *w;

		assert_int_equal(vr_up(state), 0);
		v = *state;
		vr_pair(v, reliable, VR_GID_V4, &a, &b);
		w = vr_wqe(v, a);
		memset(w, 0, 64);
		prm_set32(w, 16, MLX4_DATA_INLINE | (i == 0 ? 100 : 12));
		if (i == 1)
			vr_data(v, a, 2, VR_RW_KEY, a->mem, 16); /* inline, then not */
		if (i == 2) {
			vr_data(v, a, 1, VR_RW_KEY, a->mem, 16);
			prm_set32(w, 32, MLX4_DATA_INLINE | 8);
		}
		vr_post(v, a, MLX4_OP_SEND, i == 0 ? 3 : i == 3 ? 0 : 3, 0, 0);
		if (i == 3)
			a->prod++;
		vr_step(v);
		vr_expect_error(v, a, true, MLX4_SYND_LOCAL_QP_OP, 0);
		assert_int_equal(v->end[0]->sent, 0);
		assert_int_equal(card_violations(v->c, "wqe-size"), i == 3);
		if (i < 3)
			vr_down(state);
	}
}

/* A slot of the card's that held inline data holds a list the next time: 40 requests are more than there are slots. */
static void
test_slots_are_used_again(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	for (unsigned int i = 0; i < 40; i++) {
		uint8_t *w = vr_wqe(v, a);
		uint16_t sent = (uint16_t)a->prod, taken = (uint16_t)b->rprod;

		vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
		prm_set32(w, 16, MLX4_DATA_INLINE | 12);
		memset(w + 20, (int)i + 1, 12);
		vr_post(v, a, MLX4_OP_SEND, 2, 0, 0);
		vr_step(v);
		vr_expect(v, a, VR_SENT | MLX4_OP_SEND, sent);
		vr_expect(v, b, 1, taken);
		assert_int_equal(vr_mem(v, b)[11], i + 1);
	}
	for (unsigned int i = 0; i < 40; i++)
		vr_exchange(v, a, b, 30 + i);
	vr_quiet(v);
}

/* An inline piece ends where its block of 16 octets ends, however long it is; the next begins there [DP 3.7]. */
static void
test_inline_pieces(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	for (uint32_t n = 1; n <= 28; n++) {
		uint8_t *w = vr_wqe(v, a);
		uint32_t next = n <= 12 ? 32 : 48;

		memset(w, 0xee, 64);
		memset(vr_mem(v, b), 0, 64);
		vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
		prm_set32(w, 16, MLX4_DATA_INLINE | n);
		vr_fill(w + 20, n, (uint8_t)n);
		prm_set32(w, next, MLX4_DATA_INLINE | 7);
		memcpy(w + next + 4, "behind", 7);
		vr_post(v, a, MLX4_OP_SEND, next / 16 + 1, 0, 0);
		vr_step(v);
		vr_expect(v, a, VR_SENT | MLX4_OP_SEND, (uint16_t)(n - 1));
		assert_int_equal(prm_get32(vr_expect(v, b, 1, (uint16_t)(n - 1)), 0x14), n + 7);
		assert_memory_equal(vr_mem(v, b), w + 20, n);
		assert_memory_equal(vr_mem(v, b) + n, "behind", 7);
	}
	vr_quiet(v);
}

/* A damaged packet is nobody's: no rule of Ethernet is asked about it. */
static void
test_damaged(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	struct tp_model_stats st;
	struct tp_frame_seg seg;
	struct tp_frame f = {.seg = &seg, .nseg = 1};
	uint8_t pkt[256];

	vr_pair(v, MLX4_QP_ST_UC, VR_GID_V4, &a, &b);
	vr_exchange(v, a, b, 64);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	f.len = seg.len = last(v, 1)->len;
	seg.data = pkt;
	memcpy(pkt, last(v, 1)->data, f.len);
	pkt[f.len - 10] ^= 1;
	tp_model_port_receive(v->c->m, 2, &f, 1);
	vr_step(v);
	assert_null(vr_poll_cq(v, b));
	tp_model_get_stats(v->c->m, &st);
	assert_int_equal(st.port[1].roce_bad_icrc, 1);
	assert_int_equal(st.port[1].rx_no_rule, 0);
	vr_quiet(v);
}

/* --- memory ---------------------------------------------------------------------------------------------------------------------- */

/* Software gives the card other memory at the same addresses: all that the card knew of the old one is forgotten. */
static void
test_memory_moves(void **state)
{
	struct vr *v = *state;
	uint8_t *old = v->c->mem,
		*new = mmap(NULL, CARD_MEM_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct vr_qp *a, *b;

	assert_ptr_not_equal(new, MAP_FAILED);
	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	vr_exchange(v, a, b, 100);
	vr_exchange(v, b, a, 100);
	memcpy(new, old, CARD_MEM_SIZE);
	assert_int_equal(tp_model_dma_unmap(v->c->m, CARD_IOVA, CARD_MEM_SIZE), 0);
	assert_int_equal(tp_model_dma_map(v->c->m, CARD_IOVA, CARD_MEM_SIZE, new, TP_DMA_READ | TP_DMA_WRITE), 0);
	v->c->mem = new;
	memset(old, 0xff, CARD_MEM_SIZE);
	vr_exchange(v, a, b, 200);
	vr_exchange(v, b, a, 3000);
	vr_quiet(v);
	assert_int_equal(munmap(old, CARD_MEM_SIZE), 0);
}

/* A window opens a part of a region to the peer, with its own rights, by a key of its own (IBTA 10.6.7). */
static void
test_through_a_window(void **state)
{
	enum { REGION = CARD_MPT + 8, WINDOW };
	const uint32_t lkey = REGION << 8 | 0x66, rkey = WINDOW << 8 | 0x77;
	static const struct {
		bool rr, rw; /* what the window gives */
		uint32_t op;
		uint64_t off; /* from its beginning */
		uint32_t len;
		bool good;
	} row[] = {
		{true, false, MLX4_OP_RDMA_READ, 0, 0x200, true},
		{true, false, MLX4_OP_RDMA_READ, 1, 0x200, false},
		{true, false, MLX4_OP_RDMA_WRITE, 0, 8, false},
		{false, true, MLX4_OP_RDMA_WRITE, 0x1f8, 8, true},
		{false, true, MLX4_OP_RDMA_WRITE, 0x1f9, 8, false},
		{false, true, MLX4_OP_RDMA_READ, 0, 8, false},
		{true, true, MLX4_OP_RDMA_WRITE, 0, 0x200, true},
		{true, true, MLX4_OP_RDMA_READ, 0x100, 0x100, true},
		{true, true, MLX4_OP_RDMA_WRITE, UINT64_MAX, 4, false},
	};

	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct vr *v;
		struct vr_qp *a, *b;
		uint64_t at;
		uint8_t *in;

		assert_int_equal(vr_up(state), 0);
		v = *state;
		v->c->m->ctl->windows = true;
		vr_pair(v, reliable, VR_GID_V4, &a, &b);
		at = b->mem + 0x1000;
		in = card_in(v->c);
		card_mr_ctx(v->c, in, lkey, b->mem, VR_BUF, true);
		prm_set(in, MLX4_MPT_BIND, 1);
		assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SW2HW_MPT, 0, REGION), 0);
		in = card_in(v->c);
		prm_set(in, MLX4_MPT_KEY, rkey << 24 | rkey >> 8);
		prm_set(in, MLX4_MPT_PD, CARD_PD);
		assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SW2HW_MPT, 0, WINDOW), 0);
		in = vr_wqe(v, b) + 16;
		memset(in, 0, 32);
		in[0] = (uint8_t)(row[i].rw << 6 | row[i].rr << 5);
		prm_set32(in, 8, rkey);
		prm_set32(in, 12, lkey);
		prm_set64(in, 16, at);
		prm_set64(in, 24, 0x200);
		vr_post(v, b, MLX4_OP_BIND_MW, 3, 0, 0);
		vr_step(v);
		vr_expect(v, b, VR_SENT | MLX4_OP_BIND_MW, 0);
		vr_fill(vr_mem(v, a), 0x400, 3);
		vr_fill(vr_mem(v, b), 0x2000, 90);
		vr_post_rdma(v, a, row[i].op, a->mem, row[i].len, rkey, at + row[i].off);
		vr_step(v);
		if (row[i].good) {
			vr_expect(v, a, (uint8_t)(VR_SENT | row[i].op), 0);
			assert_memory_equal(vr_mem(v, a), vr_mem(v, b) + 0x1000 + row[i].off, row[i].len);
			vr_quiet(v);
		} else {
			vr_expect_error(v, a, true, 0x13, 0); /* remote access */
		}
		if (i + 1 < sizeof(row) / sizeof(row[0]))
			vr_down(state);
	}
}

/* --- steps of a context ---------------------------------------------------------------------------------------------------------- */

/* What each transition takes of the context that comes with it: all, what it needs, what its optional bits name [CP 5.12]. */
static void
test_fields_by_transition(void **state)
{
	static const struct {
		uint32_t field;
		uint8_t value[2];
		bool at_rtr, at_rts;
	} row[] = {
		{MLX4_QPC_REMOTE_QPN, {0x55, 0x66}, true, false},
		{MLX4_QPC_MTU, {2, 3}, true, false},
		{MLX4_QPC_LG_MSG, {20, 21}, true, false},
		{MLX4_QPC_MIN_RNR_TIMER, {5, 6}, true, false},
		{MLX4_QPC_RRA_MAX, {1, 2}, true, false},
		{MLX4_QPC_SRA_MAX, {1, 2}, false, true},
		{MLX4_QPC_RETRY_COUNT, {1, 2}, false, true},
		{MLX4_QPC_RNR_RETRY, {1, 2}, false, true},
		{MLX4_QPC_NEXT_SEND_PSN, {0x21, 0x22}, false, true},
		{MLX4_QPC_ROCE_ENTROPY, {0x31, 0x32}, false, true},
	};
	static const uint16_t step[] = {MLX4_CMD_RST2INIT_QP, MLX4_CMD_INIT2RTR_QP, MLX4_CMD_RTR2RTS_QP,
					MLX4_CMD_RTS2RTS_QP};
	struct vr *v = *state;
	struct vr_qp *q = vr_qp(v, 1, reliable);

	vr_to(v, q, 2, 1, VR_GID_V4);
	for (unsigned int s = 0; s < 4; s++) {
		uint8_t ctx[MLX4_QPC_SIZE];

		/* 1 at RTR, 2 at RTS, then other ones that nobody takes. */
		memcpy(ctx, q->ctx, sizeof(ctx));
		for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++)
			prm_set(ctx, row[i].field, s == 0 ? 0 : s < 3 ? row[i].value[s - 1] : 7);
		assert_int_equal(card_qp_step(v->c, step[s], q->qpn, ctx), 0);
		assert_int_equal(card_cmd_out(v->c, MLX4_CMD_QUERY_QP, 0, q->qpn), 0);
		for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
			uint32_t want = s >= 1 && row[i].at_rtr   ? row[i].value[0]
					: s >= 2 && row[i].at_rts ? row[i].value[1]
								  : 0;

			if (prm_get(card_out(v->c) + MLX4_QP_MBOX_CTX, row[i].field) != want)
				fail_msg("step %u: row %u is 0x%x, wanted 0x%x", s, i,
					 prm_get(card_out(v->c) + MLX4_QP_MBOX_CTX, row[i].field), want);
		}
	}
	card_expect_clean(v->c);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, vr_up, vr_down)
#define OWN(f) cmocka_unit_test_teardown(f, vr_down)
	const struct CMUnitTest tests[] = {
		T(test_solicited),
		T(test_drained_quietly),
		T(test_overrun_beside_an_error),
		T(test_tags_of_paths),
		T(test_tags_and_ports_of_datagrams),
		T(test_another_udp_port),
		T(test_versions_of_addresses),
		T(test_paused_port),
		T(test_list_of_many_pieces),
		OWN(test_malformed_lists),
		T(test_slots_are_used_again),
		T(test_inline_pieces),
		T(test_damaged),
		T(test_memory_moves),
		OWN(test_through_a_window),
		T(test_fields_by_transition),
	};

	return cmocka_run_group_tests_name("verbs_edges", tests, NULL, NULL);
}
