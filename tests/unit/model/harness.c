/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/eventfd.h>
#include <sys/mman.h>

#define GO_POLLS 1000u
#define FW_PAGES 1024u
#define TABLES_AT (UINT64_C(4) << 30) /* behind the four cMPT windows */
#define CMPT_WINDOW (UINT64_C(1) << 30)

/* Where the tables of the static layout are in ICM. */
enum { QPC, ALTC, AUXC, SRQC, CQC, EQC, DMPT, MTT, MCG, TABLES };
static const struct {
	uint32_t lg, entry;
} table[TABLES] = {
	[QPC] = {CARD_LG_QPS, 256},   [ALTC] = {CARD_LG_QPS, 64}, [AUXC] = {CARD_LG_QPS, 1},
	[SRQC] = {CARD_LG_SRQS, 128}, [CQC] = {CARD_LG_CQS, 128}, [EQC] = {CARD_LG_EQS, 128},
	[DMPT] = {CARD_LG_MPTS, 64},  [MTT] = {CARD_LG_MTTS, 8},  [MCG] = {CARD_LG_MCGS, 1u << CARD_LG_MCG_ENTRY},
};
#define TABLE_STEP (UINT64_C(1) << 20) /* every table is smaller */

static uint64_t
table_va(unsigned int t)
{
	return TABLES_AT + t * TABLE_STEP;
}

uint64_t
card_alloc(struct card *c, uint64_t len, uint64_t align)
{
	uint64_t at = (c->used + align - 1) & ~(align - 1);

	assert_true(at + len <= CARD_MEM_SIZE);
	c->used = at + len;
	memset(c->mem + at, 0, len);
	return CARD_IOVA + at;
}

uint8_t *
card_ptr(struct card *c, uint64_t iova)
{
	assert_true(iova >= CARD_IOVA && iova < CARD_IOVA + CARD_MEM_SIZE);
	return c->mem + (iova - CARD_IOVA);
}

struct card *
card_new(const struct tp_model_config *cfg)
{
	struct tp_model_config def;
	struct card *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	tp_model_config_default(&def);
	assert_int_equal(tp_model_create(cfg == NULL ? &def : cfg, &c->m), 0);
	c->mem = mmap(NULL, CARD_MEM_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(c->mem, MAP_FAILED);
	assert_int_equal(tp_model_dma_map(c->m, CARD_IOVA, CARD_MEM_SIZE, c->mem, TP_DMA_READ | TP_DMA_WRITE), 0);
	c->toggle = 1;
	c->in = card_alloc(c, MLX4_MAILBOX_SIZE, MLX4_MAILBOX_SIZE);
	c->out = card_alloc(c, MLX4_MAILBOX_SIZE, MLX4_MAILBOX_SIZE);
	c->irq_fd = eventfd(0, EFD_NONBLOCK);
	assert_true(c->irq_fd >= 0);
	assert_int_equal(tp_model_irq_set(c->m, 0, c->irq_fd), 0);
	return c;
}

void
card_free(struct card *c)
{
	tp_model_destroy(c->m);
	close(c->irq_fd);
	munmap(c->mem, CARD_MEM_SIZE);
	free(c);
}

/* --- commands --- */

uint8_t *
card_in(struct card *c)
{
	return memset(card_ptr(c, c->in), 0, MLX4_MAILBOX_SIZE);
}

uint8_t *
card_out(struct card *c)
{
	return card_ptr(c, c->out);
}

static void
hcr_write(struct card *c, uint32_t off, uint32_t val)
{
	tp_model_bar0_write32(c->m, MLX4_REG_HCR + off, val);
}

static uint32_t
hcr_read(struct card *c, uint32_t off)
{
	return tp_model_bar0_read32(c->m, MLX4_REG_HCR + off);
}

int
card_cmd(struct card *c, uint16_t op, uint8_t op_mod, uint32_t in_mod, uint64_t in_param, uint64_t out_param)
{
	uint32_t ctrl = 0;

	hcr_write(c, MLX4_HCR_IN_PARAM, (uint32_t)(in_param >> 32));
	hcr_write(c, MLX4_HCR_IN_PARAM + 4, (uint32_t)in_param);
	hcr_write(c, MLX4_HCR_IN_MODIFIER, in_mod);
	hcr_write(c, MLX4_HCR_OUT_PARAM, (uint32_t)(out_param >> 32));
	hcr_write(c, MLX4_HCR_OUT_PARAM + 4, (uint32_t)out_param);
	hcr_write(c, MLX4_HCR_TOKEN, MLX4_HCR_TOKEN_POLL << 16);
	hcr_write(c, MLX4_HCR_CTRL, MLX4_HCR_GO | (c->toggle != 0 ? MLX4_HCR_TOGGLE : 0) | (uint32_t)op_mod << 12 | op);
	for (unsigned int i = 0; i < GO_POLLS; i++) {
		ctrl = hcr_read(c, MLX4_HCR_CTRL);
		if ((ctrl & MLX4_HCR_GO) == 0)
			break;
	}
	if ((ctrl & MLX4_HCR_GO) != 0)
		return -1;
	assert_int_equal((ctrl & MLX4_HCR_TOGGLE) != 0, c->toggle);
	c->toggle ^= 1;
	c->imm = (uint64_t)hcr_read(c, MLX4_HCR_OUT_PARAM) << 32 | hcr_read(c, MLX4_HCR_OUT_PARAM + 4);
	return (int)(ctrl >> 24);
}

int
card_cmd_in(struct card *c, uint16_t op, uint8_t op_mod, uint32_t in_mod)
{
	return card_cmd(c, op, op_mod, in_mod, c->in, 0);
}

int
card_cmd_out(struct card *c, uint16_t op, uint8_t op_mod, uint32_t in_mod)
{
	return card_cmd(c, op, op_mod, in_mod, 0, c->out);
}

int
card_cmd_none(struct card *c, uint16_t op, uint8_t op_mod, uint32_t in_mod)
{
	return card_cmd(c, op, op_mod, in_mod, 0, 0);
}

/* --- bring-up --- */

/* Page by page, as a driver with scattered memory would. */
int
card_map(struct card *c, uint16_t op, uint64_t va, uint64_t iova, uint64_t pages)
{
	while (pages > 0) {
		uint32_t n = pages < MLX4_MAP_ENTRIES_MAX ? (uint32_t)pages : MLX4_MAP_ENTRIES_MAX;
		uint8_t *in = card_in(c);
		int st;

		for (uint32_t i = 0; i < n; i++) {
			prm_set64(in, i * MLX4_MAP_ENTRY_SIZE + MLX4_MAP_VA, va + i * CARD_PAGE);
			prm_set64(in, i * MLX4_MAP_ENTRY_SIZE + MLX4_MAP_PA, iova + i * CARD_PAGE);
		}
		st = card_cmd_in(c, op, 0, n);
		if (st != MLX4_STAT_OK)
			return st;
		pages -= n;
		iova += n * CARD_PAGE;
		va += op == MLX4_CMD_MAP_ICM ? n * CARD_PAGE : 0;
	}
	return MLX4_STAT_OK;
}

int
card_start_fw(struct card *c)
{
	uint64_t fa;
	int st = card_cmd_out(c, MLX4_CMD_QUERY_FW, 0, 0);

	if (st != MLX4_STAT_OK)
		return st;
	assert_int_equal(prm_get(card_out(c), MLX4_QFW_PAGES), FW_PAGES);
	fa = card_alloc(c, (uint64_t)FW_PAGES * CARD_PAGE, CARD_PAGE);
	st = card_map(c, MLX4_CMD_MAP_FA, 0, fa, FW_PAGES);
	return st != MLX4_STAT_OK ? st : card_cmd_none(c, MLX4_CMD_RUN_FW, 0, 0);
}

void
card_fill_init_hca(struct card *c, uint8_t *in, unsigned int flags)
{
	bool dmfs = (flags & CARD_DMFS) != 0;

	prm_set(in, MLX4_HCA_VERSION, MLX4_HCA_VERSION_VALUE);
	prm_set(in, MLX4_HCA_F_CSUM, 1);
	prm_set(in, MLX4_HCA_F_COUNTERS, 1);
	prm_set(in, MLX4_HCA_F_DMFS, dmfs);
	prm_set64(in, MLX4_HCA_QPC_BASE, table_va(QPC) | CARD_LG_QPS);
	prm_set64(in, MLX4_HCA_SRQC_BASE, table_va(SRQC) | CARD_LG_SRQS);
	prm_set64(in, MLX4_HCA_CQC_BASE, table_va(CQC) | CARD_LG_CQS);
	prm_set64(in, MLX4_HCA_ALTC_BASE, table_va(ALTC));
	prm_set64(in, MLX4_HCA_AUXC_BASE, table_va(AUXC));
	prm_set64(in, MLX4_HCA_EQC_BASE, table_va(EQC) | CARD_LG_EQS);
	prm_set(in, MLX4_HCA_F_CQE64, (flags & CARD_CQE64) != 0);
	prm_set(in, MLX4_HCA_F_EQE64, (flags & CARD_EQE64) != 0);
	prm_set64(in, MLX4_HCA_DMPT_BASE, table_va(DMPT));
	prm_set(in, MLX4_HCA_LG_DMPTS, CARD_LG_MPTS);
	prm_set64(in, MLX4_HCA_MTT_BASE, table_va(MTT));
	prm_set64(in, MLX4_HCA_CMPT_BASE, 0);
	prm_set(in, MLX4_HCA_LG_UARS, 10);
	prm_set64(in, dmfs ? MLX4_HCA_DMFS_BASE : MLX4_HCA_MC_BASE, table_va(MCG));
	prm_set(in, dmfs ? MLX4_HCA_DMFS_LG_ENTRY : MLX4_HCA_MC_LG_ENTRY, CARD_LG_MCG_ENTRY);
	prm_set(in, dmfs ? MLX4_HCA_DMFS_LG_TABLE : MLX4_HCA_MC_LG_TABLE, CARD_LG_MCGS);
	if (!dmfs)
		prm_set(in, MLX4_HCA_MC_LG_HASH, CARD_LG_MCGS - 1);
	prm_set(in, MLX4_HCA_UC_STEER, (flags & CARD_GROUPS) != 0);
}

/* Maps each table and the cMPT entries of its objects; remembers where the tables that tests read are. */
static int
map_tables(struct card *c)
{
	static const unsigned int cmpt_lg[MLX4_CMPT_TYPES] = {CARD_LG_QPS, CARD_LG_SRQS, CARD_LG_CQS, CARD_LG_EQS};
	uint64_t mem[TABLES];
	int st = MLX4_STAT_OK;

	for (unsigned int t = 0; t < MLX4_CMPT_TYPES && st == MLX4_STAT_OK; t++) {
		uint64_t bytes = ((UINT64_C(64) << cmpt_lg[t]) + CARD_PAGE - 1) & ~(uint64_t)(CARD_PAGE - 1);

		st = card_map(c, MLX4_CMD_MAP_ICM, t * CMPT_WINDOW, card_alloc(c, bytes, CARD_PAGE), bytes / CARD_PAGE);
	}
	for (unsigned int t = 0; t < TABLES && st == MLX4_STAT_OK; t++) {
		uint64_t bytes = ((uint64_t)table[t].entry << table[t].lg);

		bytes = (bytes + CARD_PAGE - 1) & ~(uint64_t)(CARD_PAGE - 1);
		mem[t] = card_alloc(c, bytes, CARD_PAGE);
		st = card_map(c, MLX4_CMD_MAP_ICM, table_va(t), mem[t], bytes / CARD_PAGE);
	}
	if (st == MLX4_STAT_OK) {
		c->mtt_mem = mem[MTT];
		c->eqc_mem = mem[EQC];
		c->qpc_mem = mem[QPC];
		c->cqc_mem = mem[CQC];
		c->dmpt_mem = mem[DMPT];
	}
	return st;
}

int
card_init_hca(struct card *c, unsigned int flags)
{
	uint64_t aux;
	uint8_t *in;
	int st;

	c->icm_size = table_va(TABLES);
	c->mtt_base = table_va(MTT);
	c->flags = flags;
	st = card_cmd(c, MLX4_CMD_SET_ICM_SIZE, 0, 0, c->icm_size, 0);
	if (st != MLX4_STAT_OK)
		return st;
	aux = c->imm;
	st = card_map(c, MLX4_CMD_MAP_ICM_AUX, 0, card_alloc(c, aux * CARD_PAGE, CARD_PAGE), aux);
	if (st == MLX4_STAT_OK)
		st = map_tables(c);
	if (st != MLX4_STAT_OK)
		return st;
	in = card_in(c);
	card_fill_init_hca(c, in, flags);
	c->cqe_size = (flags & CARD_CQE64) != 0 ? 64 : 32;
	c->cqe_off = c->cqe_size - 32;
	c->eqe_size = (flags & CARD_EQE64) != 0 ? 64 : 32;
	c->eqe_off = c->eqe_size - 32;
	return card_cmd_in(c, MLX4_CMD_INIT_HCA, 0, 0);
}

void
card_boot(struct card *c, unsigned int flags)
{
	assert_int_equal(card_start_fw(c), MLX4_STAT_OK);
	assert_int_equal(card_init_hca(c, flags), MLX4_STAT_OK);
}

int
card_shutdown(struct card *c)
{
	int st = card_cmd_none(c, MLX4_CMD_CLOSE_HCA, 0, 0);

	for (unsigned int t = 0; t < TABLES && st == MLX4_STAT_OK; t++)
		st = card_cmd(c, MLX4_CMD_UNMAP_ICM, 0, TABLE_STEP / CARD_PAGE, table_va(t), 0);
	for (unsigned int t = 0; t < MLX4_CMPT_TYPES && st == MLX4_STAT_OK; t++)
		st = card_cmd(c, MLX4_CMD_UNMAP_ICM, 0, 64, t * CMPT_WINDOW, 0);
	if (st == MLX4_STAT_OK)
		st = card_cmd_none(c, MLX4_CMD_UNMAP_ICM_AUX, 0, 0);
	return st != MLX4_STAT_OK ? st : card_cmd_none(c, MLX4_CMD_UNMAP_FA, 0, 0);
}

/* --- objects --- */

uint64_t
card_mtt(struct card *c, uint64_t iova, uint32_t pages)
{
	uint64_t first = c->mtt_next;

	assert_true(first + (uint64_t)pages * MLX4_MTT_SIZE <= UINT64_C(1) << (CARD_LG_MTTS + 3));
	for (uint32_t i = 0; i < pages; i++)
		prm_set64(card_ptr(c, c->mtt_mem + first), i * MLX4_MTT_SIZE,
			  (iova + i * CARD_PAGE) | MLX4_MTT_PRESENT);
	c->mtt_next += (uint64_t)pages * MLX4_MTT_SIZE;
	return first;
}

static uint64_t
buf_mtt(struct card *c, uint64_t buf, uint64_t bytes)
{
	return card_mtt(c, buf, (uint32_t)((bytes + CARD_PAGE - 1) / CARD_PAGE));
}

void
card_eq_ctx(struct card *c, uint8_t *ctx, uint64_t buf, uint32_t lg, uint32_t vector)
{
	prm_set(ctx, MLX4_EQC_STATE, MLX4_EQ_STATE_ARMED);
	prm_set(ctx, MLX4_EQC_LG_SIZE, lg);
	prm_set(ctx, MLX4_EQC_INTR, vector);
	prm_set(ctx, MLX4_EQC_MTT_L, (uint32_t)buf_mtt(c, buf, (uint64_t)c->eqe_size << lg));
}

void
card_cq_ctx(struct card *c, uint8_t *ctx, uint64_t buf, uint32_t lg, uint32_t eqn, uint64_t dbrec)
{
	prm_set(ctx, MLX4_CQC_LG_SIZE, lg);
	prm_set(ctx, MLX4_CQC_UAR, CARD_UAR);
	prm_set(ctx, MLX4_CQC_EQN, eqn);
	prm_set(ctx, MLX4_CQC_MTT_L, (uint32_t)buf_mtt(c, buf, (uint64_t)c->cqe_size << lg));
	prm_set64(ctx, MLX4_CQC_DBREC, dbrec);
}

void
card_mr_ctx(struct card *c, uint8_t *ctx, uint32_t key, uint64_t va, uint64_t len, bool pa)
{
	(void)c;
	prm_set(ctx, MLX4_MPT_STATUS, MLX4_MPT_SW);
	prm_set(ctx, MLX4_MPT_MIO, 1);
	prm_set(ctx, MLX4_MPT_REGION, 1);
	prm_set(ctx, MLX4_MPT_LR, 1);
	prm_set(ctx, MLX4_MPT_LW, 1);
	prm_set(ctx, MLX4_MPT_PA, pa);
	prm_set(ctx, MLX4_MPT_KEY, key << 24 | key >> 8);
	prm_set(ctx, MLX4_MPT_PD, CARD_PD);
	prm_set64(ctx, MLX4_MPT_START, va);
	prm_set64(ctx, MLX4_MPT_LENGTH, len);
	prm_set(ctx, MLX4_MPT_ENTITY, pa ? 0 : 12);
}

uint32_t
card_qp_buf_size(uint32_t lg_sq, uint32_t lg_rq, uint32_t lg_rq_stride)
{
	return (1u << (lg_sq + 6)) + (lg_rq == 0 ? 0 : 1u << (lg_rq + lg_rq_stride));
}

void
card_qp_ctx(struct card *c, uint8_t *ctx, uint32_t qpn, unsigned int port, uint64_t buf, uint32_t lg_sq, uint32_t lg_rq,
	    uint32_t lg_rq_stride, uint64_t dbrec)
{
	uint8_t *path = ctx + MLX4_QPC_PRI_PATH;

	prm_set(ctx, MLX4_QPC_SERVICE, MLX4_QP_ST_MLX);
	prm_set(ctx, MLX4_QPC_PM_STATE, 3);
	prm_set(ctx, MLX4_QPC_PD, CARD_PD);
	prm_set(ctx, MLX4_QPC_MTU, MLX4_QPC_MTU_RAW);
	prm_set(ctx, MLX4_QPC_LG_MSG, MLX4_QPC_LG_MSG_RAW);
	prm_set(ctx, MLX4_QPC_SQ_LG_SIZE, lg_sq);
	prm_set(ctx, MLX4_QPC_SQ_LG_STRIDE, 2);
	if (lg_rq != 0) {
		prm_set(ctx, MLX4_QPC_RQ_LG_SIZE, lg_rq);
		prm_set(ctx, MLX4_QPC_RQ_LG_STRIDE, lg_rq_stride - 4);
	}
	prm_set(ctx, MLX4_QPC_UAR, CARD_UAR);
	prm_set(ctx, MLX4_QPC_LOCAL_QPN, qpn);
	prm_set(ctx, MLX4_QPC_CQN_SEND, CARD_CQN);
	prm_set(ctx, MLX4_QPC_CQN_RECV, CARD_CQN);
	prm_set64(ctx, MLX4_QPC_DBREC, dbrec);
	prm_set(ctx, MLX4_QPC_MTT_L, (uint32_t)buf_mtt(c, buf, card_qp_buf_size(lg_sq, lg_rq, lg_rq_stride)));
	prm_set(path, MLX4_PATH_LINK_ETH, 1);
	prm_set(path, MLX4_PATH_SCHED_QUEUE, MLX4_SCHED_QUEUE(port, 0));
}

int
card_qp_step(struct card *c, uint16_t op, uint32_t qpn, const uint8_t *ctx)
{
	memcpy(card_in(c) + MLX4_QP_MBOX_CTX, ctx, MLX4_QPC_SIZE);
	return card_cmd_in(c, op, 0, qpn);
}

int
card_qp_up(struct card *c, uint32_t qpn, const uint8_t *ctx)
{
	static const uint16_t steps[] = {MLX4_CMD_RST2INIT_QP, MLX4_CMD_INIT2RTR_QP, MLX4_CMD_RTR2RTS_QP};
	int st = MLX4_STAT_OK;

	for (unsigned int i = 0; i < 3 && st == MLX4_STAT_OK; i++)
		st = card_qp_step(c, steps[i], qpn, ctx);
	return st;
}

void
card_objects(struct card *c)
{
	c->eq_buf = card_alloc(c, (uint64_t)c->eqe_size << 8, CARD_PAGE);
	card_eq_ctx(c, card_in(c), c->eq_buf, 8, 0);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_EQ, 0, CARD_EQN), MLX4_STAT_OK);
	c->cq_buf = card_alloc(c, (uint64_t)c->cqe_size << 8, CARD_PAGE);
	c->cq_dbrec = card_alloc(c, 8, 8);
	card_cq_ctx(c, card_in(c), c->cq_buf, 8, CARD_EQN, c->cq_dbrec);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_CQ, 0, CARD_CQN), MLX4_STAT_OK);
	card_mr_ctx(c, card_in(c), CARD_KEY, CARD_IOVA, CARD_MEM_SIZE, true);
	assert_int_equal(card_cmd_in(c, MLX4_CMD_SW2HW_MPT, 0, CARD_MPT), MLX4_STAT_OK);
}

/* --- rules --- */

uint64_t
card_violations(struct card *c, const char *name)
{
	int i = tp_model_violation_by_name(name);

	if (i < 0)
		fail_msg("no rule is named %s", name);
	return tp_model_violations(c->m, (unsigned int)i);
}

void
card_expect(struct card *c, const char *name, uint64_t n)
{
	uint64_t all = tp_model_violations_total(c->m) + tp_model_advice_total(c->m);
	char last[256], advice[256];

	tp_model_last_violation(c->m, last, sizeof(last));
	tp_model_last_advice(c->m, advice, sizeof(advice));
	if (card_violations(c, name) != n || all != n)
		fail_msg("%s was broken %llu times of %llu broken rules, wanted %llu; last: %s; %s", name,
			 (unsigned long long)card_violations(c, name), (unsigned long long)all, (unsigned long long)n,
			 last, advice);
}

void
card_expect_clean(struct card *c)
{
	card_expect(c, "cmd-state", 0);
}

int
setup_power_on(void **state)
{
	*state = card_new(NULL);
	return 0;
}

int
setup_booted(void **state)
{
	struct card *c = card_new(NULL);

	card_boot(c, CARD_DMFS);
	*state = c;
	return 0;
}

int
setup_objects(void **state)
{
	setup_booted(state);
	card_objects(*state);
	return 0;
}

int
teardown_card(void **state)
{
	card_free(*state);
	return 0;
}
