/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The card's transport as software sees it [DP 3, 6.4]: connected queue pairs send, write, read and do atomics; wrong
 * keys and requests end with the syndrome and the event of the reference.
 */
#include "verbs_rig.h"

static const enum mlx4_qp_service reliable = MLX4_QP_ST_RC;

/* --- what is carried --- */

static void
test_send(void **state)
{
	static const uint32_t lengths[] = {1, 3, 4, 1023, 1024, 1025, 4096, 5001};
	static const enum mlx4_qp_service kind[] = {MLX4_QP_ST_RC, MLX4_QP_ST_UC};
	struct vr *v = *state;
	struct vr_qp *a, *b;

	for (unsigned int k = 0; k < 2; k++) {
		vr_pair(v, kind[k], VR_GID_V4, &a, &b);
		for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			vr_exchange(v, a, b, lengths[i]);
			vr_exchange(v, b, a, lengths[i]);
		}
	}
	vr_quiet(v);
}

static void
test_send_by_every_gid(void **state)
{
	static const uint16_t etype[] = {0x8915, 0x0800, 0x86dd};
	struct vr *v = *state;

	for (unsigned int g = 0; g < VR_GIDS; g++) {
		uint32_t first = v->end[0]->sent;
		struct vr_qp *a, *b;

		vr_pair(v, reliable, g, &a, &b);
		vr_exchange(v, a, b, 100);
		assert_int_equal(prm_get32(v->end[0]->frame[first].data, 12) >> 16, etype[g]);
	}
	vr_quiet(v);
}

static void
test_scatter_gather_inline(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint8_t *w;

	vr_pair(v, reliable, VR_GID_V1, &a, &b);
	vr_fill(vr_mem(v, a), 64, 9);
	/* Into 5 and 40 bytes, out of 10 and 20 */
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 5);
	w = card_ptr(v->c, b->rq);
	prm_set32(w, 16, 40);
	prm_set32(w, 20, VR_RW_KEY);
	prm_set64(w, 24, b->mem + 100);
	prm_set32(w, 36, MLX4_LKEY_INVALID);
	vr_data(v, a, 1, VR_RW_KEY, a->mem, 10);
	vr_data(v, a, 2, VR_RW_KEY, a->mem + 10, 20);
	vr_post(v, a, MLX4_OP_SEND_IMM, 3, MLX4_CTRL_SOLICITED, 0xcafe0001);
	vr_step(v);
	w = (uint8_t *)(uintptr_t)vr_expect(v, b, 2, 0);
	assert_int_equal(prm_get32(w, 4), 0xcafe0001);
	assert_int_equal(prm_get32(w, 0x14), 30);
	assert_memory_equal(vr_mem(v, b), vr_mem(v, a), 5);
	assert_memory_equal(vr_mem(v, b) + 100, vr_mem(v, a) + 5, 25);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND_IMM, 0);
	/* Inline: 6 bytes behind their count */
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	memcpy(vr_wqe(v, a) + 20, "inline", 6);
	prm_set32(vr_wqe(v, a), 16, MLX4_DATA_INLINE | 6);
	vr_post(v, a, MLX4_OP_SEND, 2, 0, 0);
	vr_step(v);
	assert_int_equal(prm_get32(vr_expect(v, b, 1, 1), 0x14), 6);
	assert_memory_equal(vr_mem(v, b), "inline", 6);
	vr_quiet(v);
}

static void
test_write(void **state)
{
	static const enum mlx4_qp_service kind[] = {MLX4_QP_ST_RC, MLX4_QP_ST_UC};
	struct vr *v = *state;
	struct vr_qp *a, *b;
	const uint8_t *e;

	for (unsigned int k = 0; k < 2; k++) {
		vr_pair(v, kind[k], VR_GID_V4, &a, &b);
		vr_fill(vr_mem(v, a), 3000, 5);
		vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem, 3000, VR_RW_KEY, b->mem + 1);
		vr_step(v);
		vr_expect(v, a, VR_SENT | MLX4_OP_RDMA_WRITE, 0);
		assert_memory_equal(vr_mem(v, b) + 1, vr_mem(v, a), 3000);
		assert_null(vr_poll_cq(v, b));
		vr_post_recv(v, b, VR_RW_KEY, b->mem + 8192, 16);
		vr_remote(v, a, VR_RW_KEY, b->mem + 4096);
		vr_data(v, a, 2, VR_RW_KEY, a->mem, 2000);
		vr_post(v, a, MLX4_OP_RDMA_WRITE_IMM, 3, 0, 0x12345678);
		vr_step(v);
		vr_expect(v, a, VR_SENT | MLX4_OP_RDMA_WRITE_IMM, 1);
		e = vr_expect(v, b, 0, 0);
		assert_int_equal(prm_get32(e, 4), 0x12345678);
		assert_int_equal(prm_get32(e, 0x14), 2000);
		assert_memory_equal(vr_mem(v, b) + 4096, vr_mem(v, a), 2000);
	}
	vr_quiet(v);
}

static void
test_read(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	const uint8_t *e;

	vr_pair(v, reliable, VR_GID_V6, &a, &b);
	vr_fill(vr_mem(v, b), 6000, 3);
	for (unsigned int i = 0; i < 6; i++) /* more than may be under way */
		vr_post_rdma(v, a, MLX4_OP_RDMA_READ, a->mem + i * 1000, 1000, VR_RO_KEY, b->mem + i * 1000);
	vr_post_rdma(v, a, MLX4_OP_RDMA_READ, a->mem + 8192, 6000, VR_RO_KEY, b->mem);
	vr_step(v);
	for (uint16_t i = 0; i < 7; i++) {
		e = vr_expect(v, a, VR_SENT | MLX4_OP_RDMA_READ, i);
		assert_int_equal(prm_get32(e, 0x14), i < 6 ? 1000 : 6000);
	}
	assert_memory_equal(vr_mem(v, a), vr_mem(v, b), 6000);
	assert_memory_equal(vr_mem(v, a) + 8192, vr_mem(v, b), 6000);
	vr_quiet(v);
}

/* The words in memory are of the host, as verbs define. */
static void
test_atomics(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint64_t *word, *old;

	vr_pair(v, reliable, VR_GID_V1, &a, &b);
	word = (uint64_t *)(void *)vr_mem(v, b);
	old = (uint64_t *)(void *)vr_mem(v, a);
	*word = 41;
	for (unsigned int i = 0; i < 3; i++) {
		bool cas = i != 0;

		vr_remote(v, a, VR_RW_KEY, b->mem);
		prm_set64(vr_wqe(v, a), 32, cas ? 100 : 1);    /* swap, or what to add */
		prm_set64(vr_wqe(v, a), 40, cas ? 40 + i : 0); /* compare: 41 is wrong, 42 is right */
		vr_data(v, a, 3, VR_RW_KEY, a->mem + 8 * i, 8);
		vr_post(v, a, cas ? MLX4_OP_ATOMIC_CS : MLX4_OP_ATOMIC_FA, 4, 0, 0);
		vr_step(v);
		assert_int_equal(
			prm_get32(vr_expect(v, a, VR_SENT | (cas ? MLX4_OP_ATOMIC_CS : MLX4_OP_ATOMIC_FA), (uint16_t)i),
				  0x14),
			8);
		assert_int_equal(*word, i < 2 ? 42 : 100);
	}
	assert_int_equal(old[0], 41);
	assert_int_equal(old[1], 42);
	assert_int_equal(old[2], 42);
	vr_quiet(v);
}

static void
test_unsignalled_and_nop(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	for (unsigned int i = 0; i < 3; i++) {
		vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
		vr_post_send(v, a, a->mem, 8);
		prm_set32(card_ptr(v->c, a->ring) + i * 64, 8, i == 2 ? MLX4_CTRL_CQE : 0);
	}
	vr_post(v, a, MLX4_OP_NOP, 1, 0, 0);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 2);
	vr_expect(v, a, VR_SENT | MLX4_OP_NOP, 3);
	for (uint16_t i = 0; i < 3; i++)
		vr_expect(v, b, 1, i);
	vr_quiet(v);
}

/* --- inside the card --- */

static void
test_own_address(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = vr_qp(v, 1, reliable), *b = vr_qp(v, 1, reliable);

	vr_to(v, a, 1, b->qpn, VR_GID_V4);
	vr_to(v, b, 1, a->qpn, VR_GID_V4);
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	vr_exchange(v, a, b, 3000);
	assert_int_equal(v->end[0]->sent, 0);
	vr_quiet(v);
}

static void
test_to_itself(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = vr_qp(v, 1, reliable);
	const uint8_t *e;

	vr_to(v, a, 1, a->qpn, VR_GID_V1);
	vr_qp_up(v, a);
	vr_fill(vr_mem(v, a), 5000, 77);
	vr_post_recv(v, a, VR_RW_KEY, a->mem + 8192, 5000);
	vr_post_send(v, a, a->mem, 5000);
	vr_step(v);
	e = vr_expect(v, a, 1, 0);
	assert_int_equal(prm_get32(e, 0x14), 5000);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	assert_memory_equal(vr_mem(v, a) + 8192, vr_mem(v, a), 5000);
	memset(vr_mem(v, a) + 8192, 0, 5000);
	vr_post_rdma(v, a, MLX4_OP_RDMA_READ, a->mem + 8192, 5000, VR_RW_KEY, a->mem);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_RDMA_READ, 1);
	assert_memory_equal(vr_mem(v, a) + 8192, vr_mem(v, a), 5000);
	vr_quiet(v);
}

static void
test_cross_and_loopback_wires(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b, *c = vr_qp(v, 2, reliable);

	assert_int_equal(tp_model_wire_cross(v->c->m), 0);
	v->end[0] = v->end[1] = NULL;
	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	vr_exchange(v, a, b, 5000);
	/* What comes back from the wire to its sender */
	assert_int_equal(tp_model_wire_loopback(v->c->m, 2), 0);
	vr_to(v, c, 2, c->qpn, VR_GID_V6);
	memcpy(c->ctx + MLX4_QPC_PRI_PATH + MLX4_PATH_DMAC, v->mac[0], 6);
	vr_qp_up(v, c);
	vr_step(v);
	vr_fill(vr_mem(v, c), 4000, 1);
	vr_post_recv(v, c, VR_RW_KEY, c->mem + 8192, 4000);
	vr_post_send(v, c, c->mem, 4000);
	vr_step(v);
	vr_expect(v, c, 1, 0);
	vr_expect(v, c, VR_SENT | MLX4_OP_SEND, 0);
	assert_memory_equal(vr_mem(v, c) + 8192, vr_mem(v, c), 4000);
	card_expect_clean(v->c);
}

/* --- wrong keys [DP 6.4] --- */

static const struct bad {
	uint32_t op, lkey, rkey;
	uint32_t len;
	uint8_t synd;
	int event; /* at the responder, or -1 */
} bad[] = {
	/* Local: no such key, another domain, out of bounds, not writable */
	{MLX4_OP_SEND, 0x12345600, 0, 16, 0x04, -1},
	{MLX4_OP_SEND, VR_PD_KEY, 0, 16, 0x04, -1},
	{MLX4_OP_SEND, VR_SMALL_KEY, 0, VR_SMALL_LEN + 1, 0x04, -1},
	{MLX4_OP_RDMA_READ, VR_RO_KEY, VR_RW_KEY, 16, 0x04, -1},
	/* Remote: the same and not readable or writable */
	{MLX4_OP_RDMA_WRITE, VR_RW_KEY, 0x12345600, 16, 0x13, 0x11},
	{MLX4_OP_RDMA_WRITE, VR_RW_KEY, VR_PD_KEY, 16, 0x13, 0x11},
	{MLX4_OP_RDMA_WRITE, VR_RW_KEY, VR_SMALL_KEY, VR_SMALL_LEN + 1, 0x13, 0x11},
	{MLX4_OP_RDMA_WRITE, VR_RW_KEY, VR_RO_KEY, 16, 0x13, 0x11},
	{MLX4_OP_RDMA_READ, VR_RW_KEY, VR_PD_KEY, 16, 0x13, 0x11},
	{MLX4_OP_RDMA_READ, VR_RW_KEY, CARD_KEY, 16, 0x13, 0x11},
	{MLX4_OP_ATOMIC_FA, VR_RW_KEY, VR_RO_KEY, 8, 0x13, 0x11},
};

static void
post_bad(struct vr *v, struct vr_qp *a, const struct bad *t)
{
	unsigned int i = 1;

	if (t->op != MLX4_OP_SEND)
		vr_remote(v, a, t->rkey, v->small), i++;
	if (t->op == MLX4_OP_ATOMIC_FA)
		memset(vr_wqe(v, a) + 32, 0, 16), i++;
	vr_data(v, a, i, t->lkey, v->small, t->len);
	vr_post(v, a, t->op, i + 1, 0, 0);
}

static void
test_bad_keys(void **state)
{
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct bad *t = &bad[i];
		struct vr_qp *a, *b;
		struct vr *v;

		if (i != 0)
			vr_up(state);
		v = *state;
		vr_pair(v, reliable, VR_GID_V4, &a, &b);
		vr_post_recv(v, a, VR_RW_KEY, a->mem, 64);
		post_bad(v, a, t);
		vr_post_send(v, a, a->mem, 4);
		vr_step(v);
		vr_expect_error(v, a, true, t->synd, 0);
		vr_expect_error(v, a, true, 0x05, 1);
		vr_expect_error(v, a, false, 0x05, 0);
		assert_int_equal(vr_state(v, a), MLX4_QP_ERR);
		assert_int_equal(vr_diag(v, 1, t->synd == 0x04 ? 0x1c : 0x4c), 1);
		if (t->event >= 0) {
			assert_int_equal(vr_diag(v, 2, 0x50), 1);
			vr_expect_event(v, t->event, b->qpn);
			assert_int_equal(vr_state(v, b), MLX4_QP_ERR);
		} else if (t->op == MLX4_OP_SEND) {
			assert_int_equal(vr_state(v, b), MLX4_QP_RTS);
		}
		vr_no_event(v);
		if (i + 1 < sizeof(bad) / sizeof(bad[0]))
			vr_down(state);
	}
}

static void
test_access_of_the_qp(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = vr_qp(v, 1, reliable), *b = vr_qp(v, 2, reliable);

	vr_to(v, a, 2, b->qpn, VR_GID_V4);
	vr_to(v, b, 1, a->qpn, VR_GID_V4);
	prm_set(b->ctx, MLX4_QPC_RWE, 0);
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem, 16, VR_RW_KEY, b->mem);
	vr_step(v);
	vr_expect_error(v, a, true, 0x12, 0);
	vr_expect_event(v, MLX4_EVENT_WQ_INVAL_REQ, b->qpn);
	assert_int_equal(vr_state(v, b), MLX4_QP_ERR);
}

static void
test_receive_too_short(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 15);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	vr_post_send(v, a, a->mem, 16);
	vr_step(v);
	vr_expect_error(v, b, false, 0x01, 0);
	vr_expect_error(v, b, false, 0x05, 1);
	vr_expect_error(v, a, true, 0x12, 0);
}

static void
test_receive_bad_key(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	vr_post_recv(v, b, VR_RO_KEY, b->mem, 64);
	vr_post_send(v, a, a->mem, 16);
	vr_step(v);
	vr_expect_error(v, b, false, 0x04, 0);
	vr_expect_error(v, a, true, 0x14, 0);
}

/* A key that fails with a receive request in use ends that request. */
static void
test_write_imm_bad_key(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE_IMM, a->mem, 16, VR_RO_KEY, b->mem);
	vr_step(v);
	vr_expect_error(v, b, false, 0x11, 0);
	vr_expect_error(v, a, true, 0x13, 0);
	vr_no_event(v);
}

static void
test_wrong_opcode(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, MLX4_QP_ST_UC, VR_GID_V4, &a, &b);
	vr_post_rdma(v, a, MLX4_OP_RDMA_READ, a->mem, 16, VR_RW_KEY, b->mem);
	vr_step(v);
	vr_expect_error(v, a, true, 0x02, 0);
	assert_int_equal(vr_state(v, a), MLX4_QP_SQER); /* receives go on */
	assert_int_equal(vr_state(v, b), MLX4_QP_RTS);
}

/* --- keys by work request [DP 3.11, 3.12] --- */

#define FR_KEY(byte) ((CARD_MPT + 9) << 8 | (byte))
#define FR_PAGES 4u

static void
free_region(struct vr *v)
{
	uint8_t *in = card_in(v->c);

	prm_set(in, MLX4_MPT_STATUS, MLX4_MPT_FREE);
	prm_set(in, MLX4_MPT_REGION, 1);
	prm_set(in, MLX4_MPT_FAST_REG, 1);
	prm_set(in, MLX4_MPT_EN_INV, 3);
	prm_set(in, MLX4_MPT_KEY, CARD_MPT + 9);
	prm_set(in, MLX4_MPT_PD, CARD_PD);
	prm_set(in, MLX4_MPT_MTT_L, (uint32_t)card_mtt(v->c, CARD_IOVA, FR_PAGES));
	prm_set(in, MLX4_MPT_MTT_SZ, FR_PAGES);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT + 9), 0);
}

/* n pages of b's memory in reverse order, from virtual address va on. */
static void
post_fast_reg(struct vr *v, struct vr_qp *b, uint32_t key, uint64_t va, uint64_t len, uint32_t n)
{
	uint64_t list = card_alloc(v->c, 4096, 4096);
	uint8_t *s = vr_wqe(v, b) + 16;

	for (uint32_t i = 0; i < n; i++)
		prm_set64(card_ptr(v->c, list), i * 8, (b->mem + (n - 1 - i) * 4096) | 1);
	memset(s, 0, 48);
	prm_set32(s, 0, 7u << 28); /* remote write, remote read, local write */
	prm_set32(s, 4, key);
	prm_set64(s, 8, list);
	prm_set64(s, 16, va);
	prm_set64(s, 24, len);
	prm_set32(s, 36, 12);
	vr_post(v, b, MLX4_OP_FAST_REG, 4, MLX4_CTRL_SO, 0);
}

static void
post_invalidate(struct vr *v, struct vr_qp *b, uint32_t key)
{
	memset(vr_wqe(v, b) + 16, 0, 32);
	prm_set32(vr_wqe(v, b), 24, key);
	vr_post(v, b, MLX4_OP_LOCAL_INV, 3, MLX4_CTRL_SO, 0);
}

static void
fast_pair(struct vr *v, struct vr_qp **a, struct vr_qp **b)
{
	*a = vr_qp(v, 1, reliable);
	*b = vr_qp(v, 2, reliable);
	vr_to(v, *a, 2, (*b)->qpn, VR_GID_V4);
	vr_to(v, *b, 1, (*a)->qpn, VR_GID_V4);
	prm_set((*b)->ctx, MLX4_QPC_FRE, 1);
	vr_qp_up(v, *a);
	vr_qp_up(v, *b);
	free_region(v);
}

static void
test_fast_register(void **state)
{
	const uint64_t va = UINT64_C(0x7f0000000800); /* in the middle of its first page */
	struct vr *v = *state;
	struct vr_qp *a, *b;

	fast_pair(v, &a, &b);
	vr_fill(vr_mem(v, a), 8000, 8);
	post_fast_reg(v, b, FR_KEY(0x77), va, 8000, 3);
	vr_step(v);
	vr_expect(v, b, VR_SENT | MLX4_OP_FAST_REG, 0);
	vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem, 8000, FR_KEY(0x77), va);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_RDMA_WRITE, 0);
	assert_memory_equal(vr_mem(v, b) + 2 * 4096 + 0x800, vr_mem(v, a), 2048);
	assert_memory_equal(vr_mem(v, b) + 4096, vr_mem(v, a) + 2048, 4096);
	assert_memory_equal(vr_mem(v, b), vr_mem(v, a) + 6144, 8000 - 6144);
	/* Free again, and registered with another key byte */
	post_invalidate(v, b, FR_KEY(0x77));
	post_fast_reg(v, b, FR_KEY(0x78), va, 4096, 2);
	vr_step(v);
	vr_expect(v, b, VR_SENT | MLX4_OP_LOCAL_INV, 1);
	vr_expect(v, b, VR_SENT | MLX4_OP_FAST_REG, 2);
	/* The peer's word: a send that invalidates */
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	vr_data(v, a, 1, VR_RW_KEY, a->mem, 8);
	vr_post(v, a, MLX4_OP_SEND_INV, 2, 0, FR_KEY(0x78));
	vr_step(v);
	assert_int_equal(prm_get32(vr_expect(v, b, 3, 0), 4), FR_KEY(0x78));
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND_INV, 1);
	vr_quiet(v);
	vr_post_rdma(v, a, MLX4_OP_RDMA_READ, a->mem, 8, FR_KEY(0x78), va);
	vr_step(v);
	vr_expect_error(v, a, true, 0x13, 2);
	vr_expect_event(v, 0x11, b->qpn);
	assert_int_equal(card_cmd(v->c, MLX4_CMD_HW2SW_MPT, 1, CARD_MPT + 9, 0, 0), 0);
}

static void
wrong_key_request(void **state, unsigned int i)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	fast_pair(v, &a, &b);
	switch (i) {
	case 0: post_fast_reg(v, b, FR_KEY(1), 0, (FR_PAGES + 1) * 4096, FR_PAGES + 1); break; /* too many pages */
	case 1: post_fast_reg(v, b, VR_RW_KEY, 0, 4096, 1); break;                             /* not a free region */
	case 2: post_invalidate(v, b, FR_KEY(1)); break;                                       /* is free */
	case 3: post_invalidate(v, b, VR_RW_KEY); break;                                       /* an ordinary region */
	default: post_fast_reg(v, b, FR_KEY(1), 0, 0, 1); break;
	}
	vr_step(v);
	vr_expect_error(v, b, true, 0x06, 0);
	assert_int_equal(vr_state(v, b), MLX4_QP_ERR);
	vr_quiet(v);
}

static void
test_wrong_key_requests(void **state)
{
	for (unsigned int i = 0; i < 5; i++) {
		if (i != 0) {
			vr_down(state);
			vr_up(state);
		}
		wrong_key_request(state, i);
	}
}

/* A QP that was not allowed to. */
static void
test_fast_register_not_enabled(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	vr_pair(v, reliable, VR_GID_V4, &a, &b);
	free_region(v);
	post_fast_reg(v, b, FR_KEY(1), 0, 4096, 1);
	vr_step(v);
	vr_expect_error(v, b, true, 0x02, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, vr_up, vr_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_send),
		T(test_send_by_every_gid),
		T(test_scatter_gather_inline),
		T(test_write),
		T(test_read),
		T(test_atomics),
		T(test_unsignalled_and_nop),
		T(test_own_address),
		T(test_to_itself),
		T(test_cross_and_loopback_wires),
		T(test_bad_keys),
		T(test_access_of_the_qp),
		T(test_receive_too_short),
		T(test_receive_bad_key),
		T(test_write_imm_bad_key),
		T(test_wrong_opcode),
		T(test_fast_register),
		T(test_wrong_key_requests),
		T(test_fast_register_not_enabled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
