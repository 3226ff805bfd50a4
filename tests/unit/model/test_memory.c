/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Memory as a queue pair sees it, set up by commands alone: data segments through keys that do not fit [CP 5.8, DP 3.4],
 * rings whose pages lie anywhere [CP 5.9], completions of 64 bytes [DP 6.1]. The wire is a loopback.
 */
#include "harness.h"

#include <string.h>

#define LG_SQ 8u /* 256 blocks of 64 bytes: four pages, and one of receive WQEs */
#define SQ_BLOCKS (1u << LG_SQ)
#define LG_RQ 8u
#define RQ_WQES (1u << LG_RQ)
#define POSTED 128u /* receive WQEs, fewer than the CQ has entries: an error flushes them */
#define RING_PAGES 5u
#define FRAME 60u
#define BAD_MPT (CARD_MPT + 1)
#define BAD_KEY (BAD_MPT << 8)

struct path {
	struct card *c;
	uint64_t page[RING_PAGES], cq_page[4], dbrec, tx, rx;
	uint32_t sent, received, completions;
};

static uint8_t *
ring_at(struct path *p, uint32_t off)
{
	return card_ptr(p->c, p->page[off / CARD_PAGE] + off % CARD_PAGE);
}

/* A QP whose ring's pages are in descending order with holes between them, and a rule that gives it every frame. */
static void
path_up(struct path *p, unsigned int flags)
{
	struct card *c = p->c = card_new(NULL);
	uint8_t ctx[MLX4_QPC_SIZE] = {0}, *rule;
	uint32_t i, first;

	card_boot(c, flags | CARD_DMFS);
	card_objects(c);
	for (i = 0; i < RING_PAGES; i++)
		p->page[RING_PAGES - 1 - i] = card_alloc(c, 2 * CARD_PAGE, CARD_PAGE);
	p->dbrec = card_alloc(c, 8, 8);
	p->tx = card_alloc(c, 2 * CARD_PAGE, CARD_PAGE);
	p->rx = card_alloc(c, RQ_WQES * 64, CARD_PAGE);
	card_qp_ctx(c, ctx, CARD_QPN, 1, p->page[0], LG_SQ, LG_RQ, 4, p->dbrec);
	first = (uint32_t)card_mtt(c, p->page[0], 1);
	for (i = 1; i < RING_PAGES; i++)
		card_mtt(c, p->page[i], 1);
	prm_set(ctx, MLX4_QPC_MTT_L, first);
	for (i = 0; i < SQ_BLOCKS; i++)
		prm_set32(ring_at(p, i * 64), 0, UINT32_MAX);
	for (i = 0; i < RQ_WQES; i++) {
		uint8_t *w = ring_at(p, SQ_BLOCKS * 64 + i * 16);

		prm_set32(w, 0, 64);
		prm_set32(w, 4, CARD_KEY);
		prm_set64(w, 8, p->rx + i * 64);
	}
	prm_set32(card_ptr(c, p->dbrec), 0, POSTED);
	assert_int_equal(card_qp_up(c, CARD_QPN, ctx), 0);
	rule = card_in(c);
	rule[2] = 1; /* all default */
	rule[7] = 1; /* port */
	prm_set32(rule, 8, CARD_QPN);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 0, 4), 0);
	assert_int_equal(tp_model_wire_loopback(c->m, 1), 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_INIT_PORT, 0, 1), 0);
}

/* The next WQE of one data segment; asks for a completion. */
static void
post(struct path *p, uint32_t key, uint64_t addr, uint32_t len)
{
	uint8_t *w = ring_at(p, p->sent % SQ_BLOCKS * 64), db[4];

	prm_set32(w, 4, 2);
	prm_set32(w, 8, 0x0e);
	prm_set32(w, 12, 0);
	prm_set32(w, 16, len);
	prm_set32(w, 20, key);
	prm_set64(w, 24, addr);
	prm_set32(w, 0, (p->sent & SQ_BLOCKS) != 0 ? 0x8000000a : 0x0000000a);
	p->sent++;
	prm_set32(db, 0, CARD_QPN << 8);
	assert_int_equal(tp_model_uar_write(p->c->m, CARD_UAR * CARD_PAGE + 0x14, db, 4), 0);
	while (tp_model_step(p->c->m, 64) != 0)
		;
}

/* The next completion, or NULL. */
static const uint8_t *
completion(struct path *p)
{
	struct card *c = p->c;
	const uint8_t *e = card_ptr(c, c->cq_buf + p->completions % 256 * c->cqe_size + c->cqe_off);

	if (((e[0x1f] & 0x80) != 0) != ((p->completions & 256) != 0))
		return NULL;
	p->completions++;
	prm_set32(card_ptr(c, c->cq_dbrec), 0, p->completions);
	return e;
}

/* A frame that reads another key ends the queue: a completion with error 0x04, and the rule that was broken. */
static void
refused(struct path *p, uint32_t key, uint64_t addr, const char *rule)
{
	const uint8_t *e;

	post(p, key, addr, FRAME);
	card_expect(p->c, rule, 1);
	e = completion(p);
	assert_non_null(e);
	assert_int_equal(e[0x1f] & 0x7f, 0x5e); /* error of a send queue */
	assert_int_equal(e[0x1b], 0x04);        /* local protection */
	/* What waits in the receive queue is flushed. */
	e = completion(p);
	assert_non_null(e);
	assert_int_equal(e[0x1f] & 0x7f, 0x1e);
	assert_int_equal(e[0x1b], 0x05);
	assert_int_equal(card_cmd_out(p->c, MLX4_CMD_QUERY_QP, 0, CARD_QPN), 0);
	assert_int_equal(card_out(p->c)[8] >> 4, MLX4_QP_ERR);
	card_free(p->c);
}

/* A region of one page at p->tx, or with the changes that f makes. */
static void
region(struct path *p, uint64_t mtt, uint64_t len, bool readable)
{
	uint8_t *ctx = card_in(p->c);

	card_mr_ctx(p->c, ctx, BAD_KEY, p->tx, len, false);
	prm_set(ctx, MLX4_MPT_LR, readable);
	prm_set(ctx, MLX4_MPT_MTT_L, (uint32_t)mtt);
	assert_int_equal(card_cmd_in(p->c, MLX4_CMD_SW2HW_MPT, 0, BAD_MPT), 0);
}

static void
test_bounds(void **state)
{
	struct path p = {0};

	(void)state;
	path_up(&p, 0);
	region(&p, card_mtt(p.c, p.tx, 1), CARD_PAGE, true);
	/* The last byte of the region is the last one that may be read. */
	post(&p, BAD_KEY, p.tx + CARD_PAGE - FRAME, FRAME);
	card_expect_clean(p.c);
	assert_non_null(completion(&p));
	assert_non_null(completion(&p));
	refused(&p, BAD_KEY, p.tx + CARD_PAGE - FRAME + 1, "wqe-bounds");
}

static void
test_below_bounds(void **state)
{
	struct path p = {0};

	(void)state;
	path_up(&p, 0);
	region(&p, card_mtt(p.c, p.tx, 1), CARD_PAGE, true);
	refused(&p, BAD_KEY, p.tx - 1, "wqe-bounds");
}

static void
test_access(void **state)
{
	struct path p = {0};

	(void)state;
	path_up(&p, 0);
	region(&p, card_mtt(p.c, p.tx, 1), CARD_PAGE, false);
	refused(&p, BAD_KEY, p.tx, "wqe-access");
}

/* The second page's translation entry has no "present" bit: only a frame that reaches it fails. */
static void
test_mtt_absent(void **state)
{
	struct path p = {0};
	uint64_t mtt;

	(void)state;
	path_up(&p, 0);
	mtt = card_mtt(p.c, p.tx, 2);
	prm_set64(card_ptr(p.c, p.c->mtt_mem + mtt + 8), 0, p.tx + CARD_PAGE);
	region(&p, mtt, 2 * CARD_PAGE, true);
	post(&p, BAD_KEY, p.tx + CARD_PAGE - FRAME, FRAME);
	card_expect_clean(p.c);
	assert_non_null(completion(&p));
	assert_non_null(completion(&p));
	refused(&p, BAD_KEY, p.tx + CARD_PAGE - FRAME + 1, "mtt-absent");
}

/* Translation leads to where no window is open, for a page and for a physical address. */
static void
test_dma_unmapped(void **state)
{
	struct path p = {0};

	(void)state;
	path_up(&p, 0);
	region(&p, card_mtt(p.c, CARD_IOVA + CARD_MEM_SIZE, 1), CARD_PAGE, true);
	refused(&p, BAD_KEY, p.tx, "dma-unmapped");
	memset(&p, 0, sizeof(p));
	path_up(&p, 0);
	card_mr_ctx(p.c, card_in(p.c), BAD_KEY, 0, UINT64_MAX, true);
	assert_int_equal(card_cmd_in(p.c, MLX4_CMD_SW2HW_MPT, 0, BAD_MPT), 0);
	refused(&p, BAD_KEY, CARD_IOVA - FRAME, "dma-unmapped");
}

/* A receive buffer that may not be written: an error of the receive queue. */
static void
test_receive_access(void **state)
{
	struct path p = {0};
	uint8_t *ctx, *w;
	const uint8_t *e;

	(void)state;
	path_up(&p, 0);
	ctx = card_in(p.c);
	card_mr_ctx(p.c, ctx, BAD_KEY, p.rx, CARD_PAGE, false);
	prm_set(ctx, MLX4_MPT_LW, 0);
	prm_set(ctx, MLX4_MPT_MTT_L, (uint32_t)card_mtt(p.c, p.rx, 1));
	assert_int_equal(card_cmd_in(p.c, MLX4_CMD_SW2HW_MPT, 0, BAD_MPT), 0);
	w = ring_at(&p, SQ_BLOCKS * 64);
	prm_set32(w, 4, BAD_KEY);
	post(&p, CARD_KEY, p.tx, FRAME);
	card_expect(p.c, "wqe-access", 1);
	e = completion(&p);
	assert_non_null(e);
	/* The error comes before or behind the completion of the send. */
	if ((e[0x1f] & 0x7f) == 0x4a)
		e = completion(&p);
	assert_non_null(e);
	assert_int_equal(e[0x1f] & 0x7f, 0x1e);
	assert_int_equal(e[0x1b], 0x04);
	card_free(p.c);
}

/* Three passes over all rings, each frame with bytes of its own. */
static void
passes(unsigned int flags)
{
	struct path p = {0};
	uint8_t want[FRAME];
	const uint8_t *e;
	uint32_t i, k;

	path_up(&p, flags);
	for (i = 0; i < 3 * SQ_BLOCKS; i++) {
		for (k = 0; k < FRAME; k++)
			want[k] = (uint8_t)(i * 7 + k * 3) & 0xfe;
		memcpy(card_ptr(p.c, p.tx), want, FRAME);
		post(&p, CARD_KEY, p.tx, FRAME);
		for (k = 0; k < 2; k++) {
			e = completion(&p);
			assert_non_null(e);
			assert_int_equal(prm_get32(e, 0) & 0xffffff, CARD_QPN);
			assert_int_equal(e[0x18] << 8 | e[0x19], i & 0xffff);
			if ((e[0x1f] & 0x40) != 0)
				continue;
			assert_int_equal(e[0x1f] & 0x1f, 1);
			assert_int_equal(prm_get32(e, 0x14), FRAME);
			assert_memory_equal(card_ptr(p.c, p.rx + i % RQ_WQES * 64), want, FRAME);
		}
		assert_null(completion(&p));
		prm_set32(card_ptr(p.c, p.dbrec), 0, (POSTED + i + 1) & 0xffff);
	}
	card_expect_clean(p.c);
	card_free(p.c);
}

static void
test_scattered_rings(void **state)
{
	(void)state;
	passes(0);
}

/* The upper half of each entry holds what the short form does; the lower one is not written. */
static void
test_wide_completions(void **state)
{
	struct path p = {0};
	const uint8_t *e;
	uint32_t i;

	(void)state;
	passes(CARD_CQE64);
	path_up(&p, CARD_CQE64);
	memset(card_ptr(p.c, p.c->cq_buf), 0xa5, 32);
	post(&p, CARD_KEY, p.tx, FRAME);
	e = card_ptr(p.c, p.c->cq_buf);
	for (i = 0; i < 32; i++)
		assert_int_equal(e[i], 0xa5);
	assert_int_equal(e[63] & 0x80, 0);
	card_free(p.c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),          cmocka_unit_test(test_below_bounds),
		cmocka_unit_test(test_access),          cmocka_unit_test(test_mtt_absent),
		cmocka_unit_test(test_dma_unmapped),    cmocka_unit_test(test_receive_access),
		cmocka_unit_test(test_scattered_rings), cmocka_unit_test(test_wide_completions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
