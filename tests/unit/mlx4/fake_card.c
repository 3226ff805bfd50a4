/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_memory.h>

#include "fake_card.h"

#define HCR 0x80680u
#define GO (1u << 23)
#define EVENT (1u << 22)
#define ATTACH 0x065
#define DETACH 0x066
#define UARS 1024u
#define PAGE 4096u

static struct fake_card *
of(struct mlx4_bus *bus)
{
	return (struct fake_card *)((uint8_t *)bus - offsetof(struct fake_card, bus));
}

static uint32_t
read32(struct mlx4_bus *bus, uint32_t off)
{
	struct fake_card *c = of(bus);

	if (off >= HCR && off < HCR + sizeof(c->hcr))
		return c->hcr[(off - HCR) / 4];
	switch (off) {
	case 0xf03fc:
		if (c->sem_reads != 0 && --c->sem_reads == 0)
			c->sem = 0;
		return c->sem;
	case 0x8069c: return c->owner;
	default:
		if (c->catas_frees)
			c->hcr[6] = 0;
		return c->catas;
	}
}

static struct fake_answer *
find_answer(struct fake_card *c, const struct fake_cmd *cmd)
{
	unsigned int i;

	for (i = 0; i < c->num_answers; i++) {
		struct fake_answer *a = &c->answer[i];

		if (a->op == cmd->op && a->times != 0 &&
		    (a->in_modifier == FAKE_ALWAYS || a->in_modifier == cmd->in_modifier))
			return a;
	}
	return NULL;
}

static void
tell(struct fake_card *c, uint16_t token, uint8_t status, uint64_t imm)
{
	uint8_t *e;

	pthread_mutex_lock(&c->lock);
	assert_true(c->num_eqes < RTE_DIM(c->eqe));
	e = c->eqe[c->num_eqes++];
	c->most_eqes = RTE_MAX(c->most_eqes, c->num_eqes);
	memset(e, 0, MLX4_EQE_SIZE);
	e[1] = 0x0a;
	e[6] = (uint8_t)(token >> 8);
	e[7] = (uint8_t)token;
	e[15] = status;
	prm_set64(e, 0x10, imm);
	pthread_mutex_unlock(&c->lock);
}

/* Commands without an op_modifier [CP 3.1], and those without an in_modifier. */
static void
check_modifiers(const struct fake_cmd *cmd)
{
	static const uint16_t no_op[] = {
		MLX4_CMD_QUERY_DEV_CAP,
		MLX4_CMD_QUERY_FW,
		MLX4_CMD_QUERY_ADAPTER,
		MLX4_CMD_INIT_HCA,
		MLX4_CMD_CLOSE_HCA,
		MLX4_CMD_INIT_PORT,
		MLX4_CMD_CLOSE_PORT,
		MLX4_CMD_SW2HW_MPT,
		MLX4_CMD_MAP_EQ,
		MLX4_CMD_SW2HW_EQ,
		MLX4_CMD_SW2HW_CQ,
		MLX4_CMD_RST2INIT_QP,
		MLX4_CMD_INIT2RTR_QP,
		MLX4_CMD_RTR2RTS_QP,
		MLX4_CMD_RTS2RTS_QP,
		MLX4_CMD_SQERR2RTS_QP,
		MLX4_CMD_2ERR_QP,
		MLX4_CMD_RTS2SQD_QP,
		MLX4_CMD_SQD2RTS_QP,
		MLX4_CMD_QUERY_QP,
		MLX4_CMD_CONF_SPECIAL_QP,
		MLX4_CMD_INIT2INIT_QP,
		MLX4_CMD_SW2HW_SRQ,
		MLX4_CMD_QUERY_SRQ,
		MLX4_CMD_SQD2SQD_QP,
		MLX4_CMD_CONFIG_DEV,
		MLX4_CMD_ARM_SRQ,
		MLX4_CMD_QUERY_PORT,
		MLX4_CMD_SET_VLAN_FLTR,
		MLX4_CMD_DUMP_ETH_STATS,
		MLX4_CMD_SENSE_PORT,
		MLX4_CMD_QUERY_FUNC,
		MLX4_CMD_UPDATE_QP,
		MLX4_CMD_QP_FLOW_STEERING_ATTACH,
		MLX4_CMD_QP_FLOW_STEERING_DETACH,
		MLX4_CMD_RUN_FW,
		MLX4_CMD_UNMAP_ICM,
		MLX4_CMD_MAP_ICM,
		MLX4_CMD_UNMAP_ICM_AUX,
		MLX4_CMD_MAP_ICM_AUX,
		MLX4_CMD_SET_ICM_SIZE,
		MLX4_CMD_UNMAP_FA,
		MLX4_CMD_MAP_FA,
	};
	static const uint16_t no_in[] = {
		MLX4_CMD_QUERY_DEV_CAP,
		MLX4_CMD_QUERY_FW,
		MLX4_CMD_QUERY_ADAPTER,
		MLX4_CMD_INIT_HCA,
		MLX4_CMD_CLOSE_HCA,
		MLX4_CMD_RUN_FW,
		MLX4_CMD_SET_ICM_SIZE,
		MLX4_CMD_UNMAP_FA,
		MLX4_CMD_UNMAP_ICM_AUX,
		MLX4_CMD_CONFIG_DEV,
		MLX4_CMD_QP_FLOW_STEERING_DETACH,
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(no_op); i++)
		if (no_op[i] == cmd->op && cmd->op_modifier != 0)
			fail_msg("command 0x%03x has op_modifier %u", cmd->op, cmd->op_modifier);
	for (i = 0; i < RTE_DIM(no_in); i++)
		if (no_in[i] == cmd->op && cmd->in_modifier != 0)
			fail_msg("command 0x%03x has in_modifier 0x%x", cmd->op, cmd->in_modifier);
}

/* Keeps what is attached; an id that nobody attached is none to detach. */
static uint64_t
attach(struct fake_card *c, const struct fake_cmd *cmd)
{
	struct fake_rule *r = c->rule;

	while (r->id != 0)
		assert_true(++r < c->rule + FAKE_RULES);
	r->id = ++c->rule_ids;
	memcpy(r->box, cmd->box, sizeof(r->box));
	return r->id;
}

static void
detach(struct fake_card *c, uint64_t id)
{
	struct fake_rule *r;

	for (r = c->rule; r < c->rule + FAKE_RULES; r++)
		if (r->id == id) {
			r->id = 0;
			return;
		}
	fail_msg("rule %u is not attached", (unsigned int)id);
}

static void
run(struct fake_card *c)
{
	struct fake_cmd *cmd;
	struct fake_answer *a;
	uint32_t ctrl = c->hcr[6];
	void *out;

	assert_true(c->num_cmds < FAKE_CMDS);
	cmd = &c->cmd[c->num_cmds++];
	memset(cmd, 0, sizeof(*cmd));
	memcpy(cmd->hcr, c->hcr, sizeof(c->hcr));
	cmd->op = ctrl & 0xfff;
	cmd->op_modifier = ctrl >> 12 & 0xf;
	cmd->in_modifier = c->hcr[2];
	cmd->in_param = (uint64_t)c->hcr[0] << 32 | c->hcr[1];
	out = (void *)(uintptr_t)((uint64_t)c->hcr[3] << 32 | c->hcr[4]);
	/* A number is no place in EAL's memory. */
	if (rte_mem_virt2memseg_list((void *)(uintptr_t)cmd->in_param) != NULL)
		memcpy(cmd->box, (void *)(uintptr_t)cmd->in_param, sizeof(cmd->box));
	if (!c->any_modifier)
		check_modifiers(cmd);
	a = find_answer(c, cmd);
	if (c->refuse_at != 0 && --c->refuse_at == 0) {
		c->hcr[6] = (ctrl & ~(GO | 0xff000000u)) | 3u << 24;
		return;
	}
	if (a != NULL && a->times != FAKE_ALWAYS)
		a->times--;
	if (a != NULL && a->silent)
		return;
	c->hcr[6] = (ctrl & ~(GO | 0xff000000u)) | (a == NULL ? 0 : (uint32_t)a->status << 24);
	if (a != NULL && a->status == 0 && out != NULL)
		memcpy(out, a->box, sizeof(a->box));
	if ((ctrl & EVENT) != 0) {
		tell(c, (uint16_t)(c->hcr[5] >> 16), a == NULL ? 0 : a->status, a == NULL ? 0 : a->imm);
		return;
	}
	if (a != NULL && out == NULL) {
		c->hcr[3] = (uint32_t)(a->imm >> 32);
		c->hcr[4] = (uint32_t)a->imm;
	} else if (a == NULL && cmd->op == ATTACH) {
		uint64_t id = attach(c, cmd);

		c->hcr[3] = (uint32_t)(id >> 32);
		c->hcr[4] = (uint32_t)id;
	} else if (a == NULL && cmd->op == DETACH && cmd->in_param <= c->rule_ids) {
		detach(c, cmd->in_param);
	}
}

static void
write32(struct mlx4_bus *bus, uint32_t off, uint32_t val)
{
	struct fake_card *c = of(bus);

	c->written[c->num_written++ % FAKE_WRITES] = off;
	if (off >= HCR && off < HCR + sizeof(c->hcr)) {
		c->hcr[(off - HCR) / 4] = val;
		if (off == HCR + 0x18 && (val & GO) != 0)
			run(c);
	} else if (off == 0xf0010) {
		assert_int_equal(val, 1);
		c->resets++;
		memset(c->hcr, 0, sizeof(c->hcr));
	} else if (off == 0x8069c) {
		c->owner = val;
	}
}

static int
reset_done(struct mlx4_bus *bus)
{
	return 0;
}

static int
irq_setup(struct mlx4_bus *bus, unsigned int n)
{
	of(bus)->irqs = n;
	return n == 0 ? 0 : of(bus)->irq_setup_rc;
}

static const struct mlx4_bus_ops ops = {
	.name = "fake", .read32 = read32, .write32 = write32, .reset_done = reset_done, .irq_setup = irq_setup};

void
fake_open(struct fake_card *c)
{
	struct mlx4_caps *caps = &c->hca.caps;

	memset(c, 0, sizeof(*c));
	c->cmd = calloc(FAKE_CMDS, sizeof(*c->cmd));
	assert_non_null(c->cmd);
	c->uar = calloc(2 * UARS, PAGE);
	assert_non_null(c->uar);
	pthread_mutex_init(&c->lock, NULL);
	c->bus = (struct mlx4_bus){.ops = &ops,
				   .uar = c->uar,
				   .uar_len = 2 * UARS * PAGE,
				   .share_fd = -1,
				   .max_vectors = 32,
				   .cmd_timeout_ms = 20000,
				   .dev = &c->dev,
				   .where = "fake0"};
	c->hca.bus = &c->bus;
	rte_spinlock_init(&c->hca.lock);
	pthread_mutex_init(&c->hca.shared, NULL);
	caps->num_ports = 2;
	caps->max_qps = caps->max_cqs = caps->max_mpts = 1u << 20;
	caps->max_eqs = 1u << 10;
	caps->rsvd_srqs = 64;
	caps->max_qp_wqes = caps->max_srq_wqes = 1u << 14;
	caps->max_cqes = 1u << 22;
	caps->max_rq_desc = 512;
	caps->max_rss = 128;
	caps->num_uars = UARS;
	caps->max_icm = UINT64_C(1) << 52;
	caps->sz_qpc = 256;
	caps->sz_rdmarc = 32;
	caps->sz_altc = caps->sz_cmpt = caps->sz_dmpt = 64;
	caps->sz_auxc = 1;
	caps->sz_srqc = caps->sz_cqc = caps->sz_eqc = 128;
	caps->sz_mtt = 8;
	assert_int_equal(mlx4_cmd_init(&c->hca), 0);
}

void
fake_close(struct fake_card *c)
{
	mlx4_cmd_fini(&c->hca);
	pthread_mutex_destroy(&c->hca.shared);
	pthread_mutex_destroy(&c->lock);
	free(c->uar);
	free(c->cmd);
}

void
fake_open_with_numbers(struct fake_card *c)
{
	static struct mlx4_eq async_eq = {.eqn = 0x28}, comp_eq = {.eqn = 0x2a}, *comp_eqs[] = {&comp_eq};
	const size_t heap = rig_heap();
	struct mlx4_hca *hca = &c->hca;

	fake_open(c);
	c->heap = heap;
	assert_int_equal(mlx4_icm_create(hca), 0);
	assert_int_equal(mlx4_numbers_create("QPNs", 0x40, 0x1000, 0, &hca->qpns), 0);
	assert_int_equal(mlx4_numbers_create("CQNs", 0x80, 0x100, 0, &hca->cqns), 0);
	assert_int_equal(mlx4_numbers_create("SRQNs", 0x40, 0x80, 0, &hca->srqns), 0);
	assert_int_equal(mlx4_numbers_create("MPTs", 0x100, 0x110, 0, &hca->mpts), 0);
	assert_int_equal(mlx4_numbers_create("MTTs", 0x10, 0x1000, 0, &hca->mtts), 0);
	assert_int_equal(mlx4_numbers_create("PDs", 5, 7, 0, &hca->pds), 0);
	hca->async_eq = &async_eq;
	hca->comp_eq = comp_eqs;
	hca->num_comp_eq = 1;
	hca->pd = 4;
	fake_forget(c);
}

void
fake_close_with_numbers(struct fake_card *c)
{
	struct mlx4_hca *hca = &c->hca;
	struct mlx4_numbers **const all[] = {&hca->qpns, &hca->cqns, &hca->srqns, &hca->mpts, &hca->mtts, &hca->pds};
	const size_t heap = c->heap;
	unsigned int i;

	for (i = 0; i < RTE_DIM(all); i++) {
		assert_int_equal(mlx4_numbers_used(*all[i]), 0);
		mlx4_numbers_destroy(*all[i]);
	}
	mlx4_icm_destroy(hca);
	fake_close(c);
	assert_int_equal(rig_heap(), heap);
}

uint64_t
fake_mtt(const struct fake_card *c, uint32_t i)
{
	return rte_be_to_cpu_64(*mlx4_icm_mtt(&c->hca, i));
}

void
fake_mtts_are(const struct fake_card *c, uint32_t first, uint32_t n, uint64_t page, uint64_t iova)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		assert_int_equal(fake_mtt(c, first + i), (iova + i * page) | 1);
	assert_int_equal(fake_mtt(c, first + n), 0);
}

void
fake_forget(struct fake_card *c)
{
	c->num_cmds = 0;
	c->num_written = 0;
}

struct fake_answer *
fake_answer(struct fake_card *c, uint16_t op, uint32_t times)
{
	struct fake_answer *a = &c->answer[c->num_answers++];

	assert_true(c->num_answers <= FAKE_ANSWERS);
	*a = (struct fake_answer){.op = op, .in_modifier = FAKE_ALWAYS, .times = times};
	return a;
}

void
fake_refuse(struct fake_card *c, uint16_t op, uint32_t times, uint8_t status)
{
	fake_answer(c, op, times)->status = status;
}

const struct fake_cmd *
fake_last(const struct fake_card *c, uint16_t op)
{
	assert_int_not_equal(c->num_cmds, 0);
	assert_int_equal(c->cmd[c->num_cmds - 1].op, op);
	return &c->cmd[c->num_cmds - 1];
}

unsigned int
fake_count(const struct fake_card *c, uint16_t op)
{
	unsigned int i, n = 0;

	for (i = 0; i < c->num_cmds; i++)
		n += c->cmd[i].op == op;
	return n;
}

const struct fake_cmd *
fake_nth(const struct fake_card *c, uint16_t op, unsigned int nth)
{
	unsigned int i;

	for (i = 0; i < c->num_cmds; i++)
		if (c->cmd[i].op == op && nth-- == 0)
			return &c->cmd[i];
	fail_msg("there are fewer commands 0x%03x", op);
	return NULL;
}

void
fake_bytes_are(const uint8_t *box, size_t len, const struct fake_dword *want, unsigned int n)
{
	unsigned int i;
	size_t off;

	for (off = 0; off < len; off += 4) {
		uint32_t v = 0, got = (uint32_t)box[off] << 24 | (uint32_t)box[off + 1] << 16 |
				      (uint32_t)box[off + 2] << 8 | box[off + 3];

		for (i = 0; i < n; i++)
			if (want[i].off == off)
				v = want[i].value;
		if (got != v)
			fail_msg("dword 0x%03zx is 0x%08x, wanted 0x%08x", off, got, v);
	}
}

unsigned int
fake_rules(const struct fake_card *c)
{
	unsigned int i, n = 0;

	for (i = 0; i < FAKE_RULES; i++)
		n += c->rule[i].id != 0;
	return n;
}

bool
fake_has_rule(const struct fake_card *c, uint32_t kind, const struct rte_ether_addr *mac, uint32_t vlan, uint32_t qpn)
{
	uint8_t want[64] = {0};
	unsigned int i;

	prm_set32(want, 0x00, kind);
	prm_set32(want, 0x04, 1);
	prm_set32(want, 0x08, qpn);
	if (mac != NULL) {
		prm_set32(want, 0x10, 0x0c00e001);
		memcpy(want + 0x1a, mac, 6);
		memset(want + 0x22, 0xff, 6);
		prm_set32(want, 0x3c, vlan);
	}
	for (i = 0; i < FAKE_RULES; i++)
		if (c->rule[i].id != 0 && memcmp(c->rule[i].box, want, sizeof(want)) == 0)
			return true;
	return false;
}

void
fake_complete(struct mlx4_hca *hca)
{
	struct fake_card *c = of(hca->bus);
	uint8_t e[MLX4_EQE_SIZE];

	for (;;) {
		pthread_mutex_lock(&c->lock);
		if (c->num_eqes == 0) {
			pthread_mutex_unlock(&c->lock);
			return;
		}
		memcpy(e, c->eqe[0], sizeof(e));
		memmove(c->eqe[0], c->eqe[1], --c->num_eqes * sizeof(e));
		pthread_mutex_unlock(&c->lock);
		mlx4_cmd_completed(hca, e);
	}
}
