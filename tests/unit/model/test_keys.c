/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Keys that work requests change: regions that are registered and given back, and windows over regions [DP 3.10 .. 3.12,
 * 11.3] (IBTA 10.6.7). Each condition is broken alone.
 */
#include "harness.h"

#include <string.h>

#include "model/roce/roce.h"
#include "mlx4_prm_wqe.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define VA UINT64_C(0x7f0000001000)
#define QPN 0x123456u
enum { REGION = CARD_MPT + 1, TYPE1, TYPE2, FREE };
#define KEY(mpt) ((uint32_t)(mpt) << 8 | 0x5au)

static struct tpm_roce roce;
static struct tpm_qp qp;
static uint64_t buf, list;
static struct tpm_tlb tlb;

static uint8_t *
entry(struct card *c, uint32_t mpt)
{
	return card_ptr(c, c->dmpt_mem + (uint64_t)mpt * 64);
}

static void
put_window(struct card *c, uint32_t mpt, bool type2)
{
	uint8_t *in = card_in(c);

	prm_set(in, MLX4_MPT_STATUS, type2 ? 3 : 0);
	prm_set(in, MLX4_MPT_KEY, (uint32_t)KEY(mpt) << 24 | KEY(mpt) >> 8);
	prm_set(in, MLX4_MPT_PD, CARD_PD);
	prm_set(in, MLX4_MPT_BOUND_QP, type2);
	prm_set(in, MLX4_MPT_EN_INV, type2 ? 3 : 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, mpt), 0);
}

/* A region of two pages, a window of each type, and an entry for four pages that is free. */
static int
up(void **state)
{
	struct card *c;
	uint8_t *in;

	if (setup_booted(state) != 0)
		return -1;
	c = *state;
	c->m->ctl->windows = true;
	buf = card_alloc(c, 4 * CARD_PAGE, CARD_PAGE);
	list = card_alloc(c, CARD_PAGE, CARD_PAGE);
	in = card_in(c);
	card_mr_ctx(c, in, KEY(REGION), VA, 2 * CARD_PAGE, false);
	prm_set(in, MLX4_MPT_BIND, 1);
	prm_set(in, MLX4_MPT_MTT_L, (uint32_t)card_mtt(c, buf, 2));
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, REGION), 0);
	put_window(c, TYPE1, false);
	put_window(c, TYPE2, true);
	in = card_in(c);
	card_mr_ctx(c, in, KEY(FREE), 0, 0, false);
	prm_set(in, MLX4_MPT_STATUS, 3);
	prm_set(in, MLX4_MPT_FAST_REG, 1);
	prm_set(in, MLX4_MPT_EN_INV, 3);
	prm_set(in, MLX4_MPT_MTT_L, (uint32_t)card_mtt(c, 0, 4));
	prm_set(in, MLX4_MPT_MTT_SZ, 4);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, FREE), 0);
	memset(&roce, 0, sizeof(roce));
	memset(&qp, 0, sizeof(qp));
	roce.m = c->m;
	roce.qp = &qp;
	roce.e.home = &roce;
	qp.qpn = QPN;
	qp.pd = CARD_PD;
	memset(&tlb, 0, sizeof(tlb));
	return 0;
}

/* --- windows --- */

struct bind {
	bool type2, zero_based, rr, rw, atomic;
	uint32_t rkey, lkey;
	uint64_t start, len;
};

static int
bind(const struct bind *b)
{
	uint8_t seg[32] = {0};

	seg[0] = (uint8_t)(b->atomic << 7 | b->rw << 6 | b->rr << 5);
	seg[4] = (uint8_t)(b->type2 << 7 | b->zero_based << 6);
	prm_set32(seg, 8, b->rkey);
	prm_set32(seg, 12, b->lkey);
	prm_set64(seg, 16, b->start);
	prm_set64(seg, 24, b->len);
	return tpm_roce_bind(&roce, seg);
}

static const struct bind good1 = {
	.rr = true, .rkey = KEY(TYPE1), .lkey = KEY(REGION), .start = VA + 0x100, .len = 0x200};
static const struct bind good2 = {
	.type2 = true, .rr = true, .rkey = KEY(TYPE2), .lkey = KEY(REGION), .start = VA + 0x100, .len = 0x200};

/* What may be reached through a window's key: where it lies in the region, or 0. */
static uint64_t
reach(uint32_t key, uint64_t va, uint32_t len, uint32_t access)
{
	uint32_t k = key;

	if (!tpm_roce_window(&roce, &k, &va, len, access))
		return 0;
	assert_int_equal(k, KEY(REGION));
	return va;
}

static void
windows_show_a_part_of_a_region(void **state)
{
	static const struct {
		uint64_t off; /* from the beginning of the window */
		uint32_t len;
		bool there;
	} row[] = {{0, 1, true},      {0, 0x200, true},  {0, 0x201, false},      {0x1ff, 1, true},
		   {0x1ff, 2, false}, {0x200, 0, false}, {UINT64_MAX, 1, false}, {0x100, 0x100, true}};
	struct card *c = *state;

	for (unsigned int based = 0; based < 2; based++)
		for (unsigned int t = 0; t < 2; t++) {
			struct bind b = t == 0 ? good1 : good2;
			uint64_t from = based != 0 ? 0 : b.start;

			if (t == 1) {
				if (based != 0)
					assert_int_equal(tpm_roce_invalidate(&roce.e, KEY(TYPE2)), 0);
			}
			b.zero_based = based != 0;
			assert_int_equal(bind(&b), 0);
			for (unsigned int i = 0; i < COUNT(row); i++)
				assert_true(reach(b.rkey, from + row[i].off, row[i].len, TPM_ACC_RR) ==
					    (row[i].there ? VA + 0x100 + row[i].off : 0));
			/* Other keys of the same place, other queues and domains. */
			assert_true(reach(b.rkey ^ 1, from, 1, TPM_ACC_RR) == 0);
			qp.qpn++;
			assert_true((reach(b.rkey, from, 1, TPM_ACC_RR) != 0) == (t == 0));
			qp.qpn--;
			qp.pd++;
			assert_true(reach(b.rkey, from, 1, TPM_ACC_RR) == 0);
			qp.pd--;
		}
	assert_true(reach(KEY(REGION), VA, 1, TPM_ACC_RR) == 0);
	assert_true(reach(KEY(FREE + 1), VA, 1, TPM_ACC_RR) == 0);
	/* A region with windows cannot go, and knows how many there are. */
	assert_int_equal(prm_get(entry(c, REGION), MLX4_MPT_WIN_CNT), 2);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_MPT, 1, REGION), MLX4_STAT_REG_BOUND);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_MPT, 1, TYPE1), 0);
	assert_int_equal(prm_get(entry(c, REGION), MLX4_MPT_WIN_CNT), 1);
	assert_int_equal(tpm_roce_invalidate(&roce.e, KEY(TYPE2)), 0);
	assert_int_equal(prm_get(entry(c, REGION), MLX4_MPT_WIN_CNT), 0);
	assert_true(reach(KEY(TYPE2), VA + 0x100, 1, TPM_ACC_RR) == 0);
	assert_int_equal(card_cmd_none(c, MLX4_CMD_HW2SW_MPT, 1, REGION), 0);
	card_expect_clean(c);
}

static void
windows_have_rights_of_their_own(void **state)
{
	static const uint32_t access[] = {TPM_ACC_RR, TPM_ACC_RW, TPM_ACC_ATOMIC};

	(void)state;
	for (unsigned int given = 0; given < 8; given++) {
		struct bind b = good1;

		b.rr = given & 1;
		b.rw = (given & 2) != 0;
		b.atomic = (given & 4) != 0;
		assert_int_equal(bind(&b), 0);
		for (unsigned int i = 0; i < 3; i++)
			assert_true((reach(KEY(TYPE1), VA + 0x100, 8, access[i]) != 0) == ((given >> i & 1) != 0));
		assert_true((reach(KEY(TYPE1), VA + 0x100, 8, TPM_ACC_RR | TPM_ACC_RW) != 0) == ((given & 3) == 3));
	}
}

/* Where a window may be opened: inside of a region that allows it, and not more than the region may be written. */
static void
windows_lie_in_their_region(void **state)
{
	static const struct {
		uint64_t start, len;
		bool fits;
	} row[] = {
		{VA, 0x2000, true},      {VA, 0x2001, false},    {VA - 1, 1, false},      {VA + 0x1fff, 1, true},
		{VA + 0x2000, 1, false}, {VA + 1, 0x1fff, true}, {VA + 1, 0x2000, false}, {VA, UINT64_MAX, false},
	};
	struct card *c = *state;
	uint8_t *region = entry(c, REGION), was[64];
	struct bind b = good1;

	for (unsigned int i = 0; i < COUNT(row); i++) {
		b.start = row[i].start;
		b.len = row[i].len;
		assert_int_equal(bind(&b), row[i].fits ? 0 : -IBV_WC_MW_BIND_ERR);
	}
	memcpy(was, region, 64);
	for (unsigned int i = 0; i < 8; i++) {
		bool opens = i == 0;

		b = good1;
		memcpy(region, was, 64);
		switch (i) {
		case 1: prm_set(region, MLX4_MPT_BIND, 0); break;
		case 2: prm_set(region, MLX4_MPT_STATUS, 3); break;
		case 3: prm_set(region, MLX4_MPT_PD, CARD_PD + 1); break;
		case 4: prm_set(region, MLX4_MPT_KEY, prm_get(region, MLX4_MPT_KEY) ^ 1u << 24); break;
		case 5: prm_set(region, MLX4_MPT_REGION, 0); break;
		case 6: b.lkey = KEY(FREE + 1); break;
		case 7: b.lkey ^= 1; break;
		default: break;
		}
		assert_int_equal(bind(&b), opens ? 0 : -IBV_WC_MW_BIND_ERR);
	}
	memcpy(region, was, 64);
	/* Writing and atomics want a region that software itself may write. */
	prm_set(region, MLX4_MPT_LW, 0);
	for (unsigned int i = 0; i < 4; i++) {
		b = good1;
		b.rw = i & 1;
		b.atomic = (i & 2) != 0;
		assert_int_equal(bind(&b), i == 0 ? 0 : -IBV_WC_MW_BIND_ERR);
	}
}

static void
kinds_of_windows(void **state)
{
	struct card *c = *state;
	struct bind b;

	/* The kind that the request names is the kind that it is. */
	b = good1;
	b.type2 = true;
	assert_int_equal(bind(&b), -IBV_WC_MW_BIND_ERR);
	b = good2;
	b.type2 = false;
	assert_int_equal(bind(&b), -IBV_WC_MW_BIND_ERR);
	/* A region is none, and neither is what does not exist. */
	b = good1;
	b.rkey = KEY(REGION);
	assert_int_equal(bind(&b), -IBV_WC_MW_BIND_ERR);
	b.rkey = KEY(FREE + 1);
	assert_int_equal(bind(&b), -IBV_WC_MW_BIND_ERR);
	qp.pd++;
	assert_int_equal(bind(&good1), -IBV_WC_MW_BIND_ERR);
	qp.pd--;
	/* Type 1 is bound again at will, with another key; without a length it is closed. */
	assert_int_equal(bind(&good1), 0);
	b = good1;
	b.rkey = KEY(TYPE1) + 1;
	b.start += 8;
	assert_int_equal(bind(&b), 0);
	assert_true(reach(KEY(TYPE1), VA + 0x108, 1, TPM_ACC_RR) == 0);
	assert_true(reach(KEY(TYPE1) + 1, VA + 0x108, 1, TPM_ACC_RR) == VA + 0x108);
	assert_int_equal(prm_get(entry(c, REGION), MLX4_MPT_WIN_CNT), 1);
	b.len = 0;
	assert_int_equal(bind(&b), 0);
	assert_true(reach(KEY(TYPE1) + 1, VA + 0x108, 1, TPM_ACC_RR) == 0);
	assert_int_equal(prm_get(entry(c, REGION), MLX4_MPT_WIN_CNT), 0);
	/* Type 2 is bound while it is free, and never without a length. */
	b = good2;
	b.len = 0;
	assert_int_equal(bind(&b), -IBV_WC_MW_BIND_ERR);
	assert_int_equal(bind(&good2), 0);
	assert_int_equal(bind(&good2), -IBV_WC_MW_BIND_ERR);
	b = good2;
	b.type2 = false;
	assert_int_equal(bind(&b), -IBV_WC_MW_BIND_ERR);
	/* One that is closed again takes nothing from the region's count, which has another window. */
	b = good1;
	b.len = 0;
	assert_int_equal(bind(&b), 0);
	assert_int_equal(bind(&b), 0);
	assert_int_equal(prm_get(entry(c, REGION), MLX4_MPT_WIN_CNT), 1);
	/* It is freed by the queue that bound it, in its domain, by its key. */
	assert_int_equal(tpm_roce_invalidate(&roce.e, KEY(TYPE2) ^ 1), -IBV_WC_MW_BIND_ERR);
	qp.qpn++;
	assert_int_equal(tpm_roce_invalidate(&roce.e, KEY(TYPE2)), -IBV_WC_MW_BIND_ERR);
	qp.qpn--;
	qp.pd++;
	assert_int_equal(tpm_roce_invalidate(&roce.e, KEY(TYPE2)), -IBV_WC_MW_BIND_ERR);
	qp.pd--;
	assert_int_equal(tpm_roce_invalidate(&roce.e, KEY(TYPE2)), 0);
	assert_int_equal(tpm_roce_invalidate(&roce.e, KEY(TYPE2)), -IBV_WC_MW_BIND_ERR);
	assert_int_equal(bind(&good2), 0);
	/* Type 1 is not freed this way. */
	assert_int_equal(bind(&good1), 0);
	assert_int_equal(tpm_roce_invalidate(&roce.e, KEY(TYPE1)), -IBV_WC_MW_BIND_ERR);
	assert_true(reach(KEY(TYPE1), VA + 0x100, 1, TPM_ACC_RR) != 0);
}

/* --- fast registration --- */

static uint8_t wqe[48];

/* Pages 3, 2, 1, 0 of the buffer at this address. */
static void
registration(struct card *c, uint64_t start, uint64_t len)
{
	uint8_t *l = card_ptr(c, list);

	for (uint32_t i = 0; i < 4; i++)
		prm_set64(l, 8 * i, (buf + (3 - i) * CARD_PAGE) | 1);
	memset(wqe, 0, sizeof(wqe));
	wqe[0] = 0x08; /* local read */
	prm_set32(wqe, 4, KEY(FREE) + 1);
	prm_set64(wqe, 8, list);
	prm_set64(wqe, 16, start);
	prm_set64(wqe, 24, len);
	prm_set32(wqe, 36, 12);
}

static int
register_it(void)
{
	struct tpm_roce_slot *s = &roce.slot[1];

	s->opcode = MLX4_OP_FAST_REG;
	memcpy(s->data, wqe, sizeof(wqe));
	return tpm_roce_local(&roce.e, &roce.sq[1]);
}

static int
give_back(uint32_t key)
{
	struct tpm_roce_slot *s = &roce.slot[0];

	s->opcode = MLX4_OP_LOCAL_INV;
	memset(s->data, 0, MLX4_INV_SIZE);
	prm_set(s->data, MLX4_INV_KEY, key);
	return tpm_roce_local(&roce.e, &roce.sq[0]);
}

static enum tpm_xlat_err
why(struct card *c, uint32_t key, uint64_t va, uint32_t access, uint8_t **at)
{
	enum tpm_xlat_err err = TPM_XLAT_OK;
	uint32_t len = 1;

	*at = tpm_mr_translate(c->m, &tlb, key, CARD_PD, va, &len, access, &err);
	return err;
}

static void
registered_by_work_request(void **state)
{
	struct card *c = *state;
	uint8_t *at;

	prm_set(qp.ctx, MLX4_QPC_FRE, 1);
	registration(c, VA + 0x800, 0x3000);
	assert_int_equal(register_it(), 0);
	assert_int_equal(why(c, KEY(FREE) + 1, VA + 0x800, TPM_ACC_LR, &at), TPM_XLAT_OK);
	assert_ptr_equal(at, card_ptr(c, buf + 3 * CARD_PAGE + 0x800));
	assert_int_equal(why(c, KEY(FREE) + 1, VA + 0x37ff, TPM_ACC_LR, &at), TPM_XLAT_OK);
	assert_ptr_equal(at, card_ptr(c, buf + 0x7ff));
	assert_int_equal(why(c, KEY(FREE) + 1, VA + 0x7ff, TPM_ACC_LR, &at), TPM_XLAT_BOUNDS);
	assert_int_equal(why(c, KEY(FREE) + 1, VA + 0x3800, TPM_ACC_LR, &at), TPM_XLAT_BOUNDS);
	assert_int_equal(why(c, KEY(FREE), VA + 0x800, TPM_ACC_LR, &at), TPM_XLAT_KEY);
	/* It is registered once until it is given back, by the key that it has. */
	assert_int_equal(register_it(), -IBV_WC_MW_BIND_ERR);
	assert_int_equal(give_back(KEY(FREE)), -IBV_WC_MW_BIND_ERR);
	assert_int_equal(give_back(KEY(REGION)), -IBV_WC_MW_BIND_ERR);
	/* What the card remembers of it is forgotten then. */
	assert_int_equal(why(c, KEY(FREE) + 1, VA + 0x800, TPM_ACC_LR, &at), TPM_XLAT_OK);
	assert_int_equal(give_back(KEY(FREE) + 1), 0);
	assert_int_equal(why(c, KEY(FREE) + 1, VA + 0x800, TPM_ACC_LR, &at), TPM_XLAT_KEY);
	assert_int_equal(give_back(KEY(FREE) + 1), -IBV_WC_MW_BIND_ERR);
	assert_int_equal(why(c, KEY(FREE) + 1, VA + 0x800, TPM_ACC_LR, &at), TPM_XLAT_KEY);
	assert_int_equal(register_it(), 0);
	/* One that may not be taken back stays. */
	prm_set(entry(c, FREE), MLX4_MPT_EN_INV, 0);
	assert_int_equal(give_back(KEY(FREE) + 1), -IBV_WC_MW_BIND_ERR);
	/* A queue that may not register. */
	prm_set(qp.ctx, MLX4_QPC_FRE, 0);
	assert_int_equal(register_it(), -IBV_WC_LOC_QP_OP_ERR);
}

static void
rights_of_a_registration(void **state)
{
	/* Local read and write, remote read and write, atomics: bits 27, 28, 29, 30, 31 */
	static const uint32_t access[] = {TPM_ACC_LR, TPM_ACC_LW, TPM_ACC_RR, TPM_ACC_RW, TPM_ACC_ATOMIC};
	struct card *c = *state;
	uint8_t *at;

	prm_set(qp.ctx, MLX4_QPC_FRE, 1);
	for (unsigned int given = 0; given < 5; given++) {
		registration(c, VA, 0x1000);
		wqe[0] = (uint8_t)(0x08 << given);
		assert_int_equal(register_it(), 0);
		for (unsigned int i = 0; i < 5; i++)
			assert_int_equal(why(c, KEY(FREE) + 1, VA, access[i], &at),
					 i == given ? TPM_XLAT_OK : TPM_XLAT_ACCESS);
		assert_int_equal(give_back(KEY(FREE) + 1), 0);
	}
}

static void
registrations_that_are_refused(void **state)
{
	static const struct {
		uint32_t at, octets; /* of the request, 0: none */
		uint64_t value;
		bool taken;
	} row[] = {
		{0, 0, 0, true},
		{36, 4, 8, false}, /* lg page */
		{36, 4, 13, true},
		{36, 4, 31, true},
		{36, 4, 32, false},
		{32, 4, 1, false},     /* first byte's offset */
		{24, 8, 0, false},     /* length */
		{24, 8, 0x4000, true}, /* four pages */
		{24, 8, 0x4001, false},
		{16, 8, VA + 1, true},
		{24, 8, UINT64_MAX - VA + 2, false}, /* beyond the end of addresses */
		{8, 8, 0, false},                    /* no such memory: its upper dword */
		{4, 4, KEY(REGION), false},
		{4, 4, KEY(FREE + 1), false},
	};
	struct card *c = *state;

	prm_set(qp.ctx, MLX4_QPC_FRE, 1);
	for (unsigned int i = 0; i < COUNT(row); i++) {
		registration(c, VA, 0x2000);
		if (row[i].octets == 4)
			prm_set32(wqe, row[i].at, (uint32_t)row[i].value);
		else if (row[i].octets == 8)
			prm_set64(wqe, row[i].at, row[i].value);
		if (row[i].at == 16)
			prm_set64(wqe, 24, 0x3fff);
		assert_int_equal(register_it(), row[i].taken ? 0 : -IBV_WC_MW_BIND_ERR);
		if (row[i].taken)
			assert_int_equal(give_back(KEY(FREE) + 1), 0);
	}
	/* A page more than the address and the length say, since they begin in the middle of one. */
	registration(c, VA + 1, 0x4000);
	assert_int_equal(register_it(), -IBV_WC_MW_BIND_ERR);
	/* To the last of all addresses. */
	registration(c, UINT64_MAX - 0xfff, 0x1000);
	assert_int_equal(register_it(), 0);
	assert_int_equal(give_back(KEY(FREE) + 1), 0);
	registration(c, UINT64_MAX - 0xfff, 0x1001);
	assert_int_equal(register_it(), -IBV_WC_MW_BIND_ERR);
	/* The list lies on 64 octets, in memory that the card may read. */
	registration(c, VA, 0x1000);
	prm_set64(wqe, 8, list + 32);
	assert_int_equal(register_it(), -IBV_WC_MW_BIND_ERR);
	prm_set64(wqe, 8, list + 64);
	assert_int_equal(register_it(), 0);
	assert_int_equal(give_back(KEY(FREE) + 1), 0);
	qp.pd++;
	assert_int_equal(register_it(), -IBV_WC_MW_BIND_ERR);
	qp.pd--;
	prm_set(entry(c, FREE), MLX4_MPT_FAST_REG, 0);
	assert_int_equal(register_it(), -IBV_WC_MW_BIND_ERR);
	prm_set(entry(c, FREE), MLX4_MPT_FAST_REG, 1);
	assert_int_equal(register_it(), 0);
	assert_int_equal(tpm_roce_local_size(MLX4_OP_FAST_REG), 48);
	assert_int_equal(tpm_roce_local_size(MLX4_OP_BIND_MW), 32);
	assert_int_equal(tpm_roce_local_size(MLX4_OP_LOCAL_INV), MLX4_INV_SIZE);
	assert_int_equal(tpm_roce_local_size(MLX4_OP_SEND), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, teardown_card)
	const struct CMUnitTest tests[] = {
		T(windows_show_a_part_of_a_region), T(windows_have_rights_of_their_own),
		T(windows_lie_in_their_region),     T(kinds_of_windows),
		T(registered_by_work_request),      T(rights_of_a_registration),
		T(registrations_that_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
