/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * ICM: the card's contexts in host memory [CP 7].
 *
 * One small static layout, mapped whole when the card is opened: a poll-mode driver knows its needs beforehand, and a
 * queue then never waits for memory. Sized for two ports with a default set of up to 128 rings, 127 groups of up
 * to eight, both twice (an update builds the new rings beside the old ones), and 256 transmit queues.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_malloc.h>

#include "core.h"

#define WANT_QPS 4096u
#define WANT_CQS 2048u
#define WANT_SRQS 256u
#define WANT_EQS 128u
#define WANT_MPTS 4096u
#define WANT_MTTS 262144u /* a region of 1 GiB in pages of 4 KiB */
#define LG_RDMARC 4u      /* READs and atomics that a QP answers at a time */
/*
 * Rules: two ports with 127 unicast and 1024 multicast addresses and 127 groups with up to 14 rules, twice while they
 * move to another QP.
 */
#define WANT_RULES 16384u
#define LG_RULE_MIN 7u
#define LG_RULE_MAX 12u
#define MEMBERS_PER_LINE 4u /* QPNs in 16 bytes of a steering entry, which has two such lines of other things */

#define ALIGN_MAX (UINT64_C(256) << 10)
#define PAGE MLX4_UAR_PAGE_SIZE

enum icm_table_id {
	ICM_CMPT,
	ICM_CMPT_SRQ,
	ICM_CMPT_CQ,
	ICM_CMPT_EQ,
	ICM_DMFS,
	ICM_QPC,
	ICM_MTT,
	ICM_ALTC,
	ICM_RDMARC,
	ICM_CQC,
	ICM_AUXC,
	ICM_SRQC,
	ICM_EQC,
	ICM_DMPT,
	ICM_TABLES
};

struct icm_table {
	const char *name;
	uint64_t base, span; /* place in ICM; span is what it takes of the address space */
	uint64_t len;        /* bytes with memory behind them */
	uint32_t num;
	struct mlx4_dma mem;
	bool mapped;
};

struct mlx4_icm {
	struct icm_table t[ICM_TABLES];
	struct mlx4_dma aux;
	uint64_t size;
	uint32_t lg_rule;
	bool aux_mapped;
};

static void
table_set(struct mlx4_icm *icm, enum icm_table_id id, const char *name, uint32_t num, uint64_t entry)
{
	struct icm_table *t = &icm->t[id];

	t->name = name;
	t->num = num;
	t->len = RTE_ALIGN_CEIL(num * entry, (uint64_t)PAGE);
	t->span = UINT64_C(1) << mlx4_lg_up(t->len);
}

static void
profile(struct mlx4_hca *hca, struct mlx4_icm *icm)
{
	const struct mlx4_caps *c = &hca->caps;
	uint32_t qps = RTE_MIN(WANT_QPS, c->max_qps), cqs = RTE_MIN(WANT_CQS, c->max_cqs);
	uint32_t eqs = c->sys_eqs != 0 ? c->sys_eqs : RTE_MIN(WANT_EQS, c->max_eqs);
	uint32_t srqs = 1u << mlx4_lg_up(RTE_MAX(WANT_SRQS, c->rsvd_srqs));

	icm->lg_rule = LG_RULE_MIN;
	while (icm->lg_rule < LG_RULE_MAX &&
	       MEMBERS_PER_LINE * ((1u << icm->lg_rule) / 16 - 2) < (uint32_t)c->dmfs_max_qps)
		icm->lg_rule++;
	table_set(icm, ICM_CMPT, "cMPT of QPs", qps, c->sz_cmpt);
	table_set(icm, ICM_CMPT_SRQ, "cMPT of SRQs", srqs, c->sz_cmpt);
	table_set(icm, ICM_CMPT_CQ, "cMPT of CQs", cqs, c->sz_cmpt);
	table_set(icm, ICM_CMPT_EQ, "cMPT of EQs", eqs, c->sz_cmpt);
	table_set(icm, ICM_DMFS, "steering", WANT_RULES, UINT64_C(1) << icm->lg_rule);
	table_set(icm, ICM_QPC, "QPC", qps, c->sz_qpc);
	table_set(icm, ICM_MTT, "MTT", WANT_MTTS, c->sz_mtt);
	table_set(icm, ICM_ALTC, "ALTC", qps, c->sz_altc);
	table_set(icm, ICM_RDMARC, "RDMARC", qps, c->sz_rdmarc << LG_RDMARC);
	table_set(icm, ICM_CQC, "CQC", cqs, c->sz_cqc);
	table_set(icm, ICM_AUXC, "AUXC", qps, c->sz_auxc);
	table_set(icm, ICM_SRQC, "SRQC", srqs, c->sz_srqc);
	table_set(icm, ICM_EQC, "EQC", eqs, c->sz_eqc);
	table_set(icm, ICM_DMPT, "dMPT", RTE_MIN(WANT_MPTS, c->max_mpts), c->sz_dmpt);
}

/* The protection windows first: they are the largest; the rest behind them, each aligned to its own span. */
static int
place(struct mlx4_hca *hca, struct mlx4_icm *icm)
{
	uint64_t window = (uint64_t)hca->caps.sz_cmpt << MLX4_CMPT_SHIFT, at = MLX4_CMPT_TYPES * window;
	unsigned int i;

	for (i = 0; i < MLX4_CMPT_TYPES; i++)
		icm->t[ICM_CMPT + i].base = i * window;
	for (i = ICM_DMFS; i < ICM_TABLES; i++) {
		at = RTE_ALIGN_CEIL(at, icm->t[i].span);
		icm->t[i].base = at;
		at += icm->t[i].span;
	}
	icm->size = at;
	if (icm->size > hca->caps.max_icm) {
		HCA_LOG(hca, ERR, "contexts need 0x%" PRIx64 " bytes of ICM, the card has 0x%" PRIx64, icm->size,
			hca->caps.max_icm);
		return -ENOSPC;
	}
	return 0;
}

static int
map_aux(struct mlx4_hca *hca, struct mlx4_icm *icm)
{
	uint64_t pages = 0;
	int rc;

	rc = mlx4_cmd_imm(hca, MLX4_CMD_SET_ICM_SIZE, 0, 0, icm->size, &pages);
	if (rc != 0)
		return rc;
	if (pages == 0)
		return 0;
	rc = mlx4_dma_alloc(hca, "ICM bookkeeping", pages * PAGE, PAGE, hca->numa_node, &icm->aux);
	if (rc != 0)
		return rc;
	icm->aux_mapped = true;
	return mlx4_fw_map(hca, MLX4_CMD_MAP_ICM_AUX, 0, &icm->aux);
}

static int
map_table(struct mlx4_hca *hca, struct icm_table *t)
{
	int rc;

	rc = mlx4_dma_alloc(hca, t->name, t->len, RTE_MIN(t->span, ALIGN_MAX), hca->numa_node, &t->mem);
	if (rc != 0)
		return rc;
	t->mapped = true;
	return mlx4_fw_map(hca, MLX4_CMD_MAP_ICM, t->base, &t->mem);
}

int
mlx4_icm_create(struct mlx4_hca *hca)
{
	struct mlx4_icm *icm = rte_zmalloc_socket("mlx4_icm", sizeof(*icm), 0, hca->numa_node);
	unsigned int i;
	int rc;

	if (icm == NULL)
		return -ENOMEM;
	hca->icm = icm;
	profile(hca, icm);
	rc = place(hca, icm);
	if (rc == 0)
		rc = map_aux(hca, icm);
	for (i = 0; rc == 0 && i < ICM_TABLES; i++)
		rc = map_table(hca, &icm->t[i]);
	if (rc != 0)
		mlx4_icm_destroy(hca);
	return rc;
}

void
mlx4_icm_destroy(struct mlx4_hca *hca)
{
	struct mlx4_icm *icm = hca->icm;
	unsigned int i;

	for (i = ICM_TABLES; i-- > 0;) {
		struct icm_table *t = &icm->t[i];

		if (t->mapped && mlx4_cmd_imm(hca, MLX4_CMD_UNMAP_ICM, 0, t->len / PAGE, t->base, NULL) != 0)
			mlx4_hca_stop_dma(hca);
		mlx4_dma_free(&t->mem);
	}
	if (icm->aux_mapped && mlx4_cmd(hca, MLX4_CMD_UNMAP_ICM_AUX, 0, 0, NULL, 0, NULL, 0) != 0)
		mlx4_hca_stop_dma(hca);
	mlx4_dma_free(&icm->aux);
	rte_free(icm);
	hca->icm = NULL;
}

/* A base shares its low five bits with the table's lg count, so the count is written second. */
static void
set_table(uint8_t *box, const struct icm_table *t, uint32_t base_off, uint32_t lg_field)
{
	prm_set64(box, base_off, t->base);
	if (lg_field != 0)
		prm_set(box, lg_field, mlx4_lg(t->num));
}

int
mlx4_icm_init_hca(struct mlx4_hca *hca)
{
	const struct mlx4_icm *icm = hca->icm;
	uint8_t box[MLX4_HCA_SIZE] = {0};

	prm_set(box, MLX4_HCA_VERSION, MLX4_HCA_VERSION_VALUE);
	prm_set(box, MLX4_HCA_CACHE_LINE, mlx4_lg(RTE_CACHE_LINE_SIZE) - 4);
	prm_set(box, MLX4_HCA_CACHE_LINE_VALID, 1);
	prm_set(box, MLX4_HCA_F_BIG_ENDIAN, RTE_BYTE_ORDER == RTE_BIG_ENDIAN);
	prm_set(box, MLX4_HCA_F_UD_AV_PORT, 1);
	prm_set(box, MLX4_HCA_F_CSUM, 1);
	prm_set(box, MLX4_HCA_F_DMFS, 1);
	prm_set(box, MLX4_HCA_F_COUNTERS, (hca->caps.flags >> MLX4_DEV_FLAG_COUNTERS) & 1);
	prm_set(box, MLX4_HCA_F_RSS_IP_FRAG, (hca->caps.flags >> MLX4_DEV_FLAG_RSS_IP_FRAG) & 1);
	set_table(box, &icm->t[ICM_QPC], MLX4_HCA_QPC_BASE, MLX4_HCA_LG_QPS);
	set_table(box, &icm->t[ICM_SRQC], MLX4_HCA_SRQC_BASE, MLX4_HCA_LG_SRQS);
	set_table(box, &icm->t[ICM_CQC], MLX4_HCA_CQC_BASE, MLX4_HCA_LG_CQS);
	set_table(box, &icm->t[ICM_ALTC], MLX4_HCA_ALTC_BASE, 0);
	set_table(box, &icm->t[ICM_AUXC], MLX4_HCA_AUXC_BASE, 0);
	set_table(box, &icm->t[ICM_EQC], MLX4_HCA_EQC_BASE, MLX4_HCA_LG_EQS);
	set_table(box, &icm->t[ICM_RDMARC], MLX4_HCA_RDMARC_BASE, 0);
	prm_set(box, MLX4_HCA_LG_RDMARC, LG_RDMARC);
	prm_set(box, MLX4_HCA_MW_ENABLE, hca->caps.mw);
	if (hca->caps.sys_eqs != 0) {
		prm_set(box, MLX4_HCA_LG_EQS, PRM_MAX(MLX4_HCA_LG_EQS));
		prm_set(box, MLX4_HCA_NUM_SYS_EQS, hca->caps.sys_eqs);
	}
	set_table(box, &icm->t[ICM_DMPT], MLX4_HCA_DMPT_BASE, MLX4_HCA_LG_DMPTS);
	set_table(box, &icm->t[ICM_MTT], MLX4_HCA_MTT_BASE, 0);
	set_table(box, &icm->t[ICM_CMPT], MLX4_HCA_CMPT_BASE, 0);
	prm_set(box, MLX4_HCA_LG_UARS, mlx4_lg(hca->caps.num_uars));
	set_table(box, &icm->t[ICM_DMFS], MLX4_HCA_DMFS_BASE, MLX4_HCA_DMFS_LG_TABLE);
	prm_set(box, MLX4_HCA_DMFS_LG_ENTRY, icm->lg_rule);
	prm_set(box, MLX4_HCA_DMFS_ETH_UDP_UC, 1);
	prm_set(box, MLX4_HCA_DMFS_ETH_TCP_UC, 1);
	prm_set(box, MLX4_HCA_DMFS_ETH_ADDRS, MLX4_DMFS_L2_ADDRS);
	prm_set(box, MLX4_HCA_DMFS_IB_UDP_UC, 1);
	prm_set(box, MLX4_HCA_DMFS_IB_TCP_UC, 1);
	prm_set(box, MLX4_HCA_DMFS_IB_ADDRS, MLX4_DMFS_L2_ADDRS);
	return mlx4_cmd(hca, MLX4_CMD_INIT_HCA, 0, 0, box, sizeof(box), NULL, 0);
}

uint32_t
mlx4_icm_num_qps(const struct mlx4_hca *hca)
{
	return hca->icm->t[ICM_QPC].num;
}

uint32_t
mlx4_icm_num_cqs(const struct mlx4_hca *hca)
{
	return hca->icm->t[ICM_CQC].num;
}

uint32_t
mlx4_icm_num_srqs(const struct mlx4_hca *hca)
{
	return hca->icm->t[ICM_SRQC].num;
}

uint32_t
mlx4_icm_num_eqs(const struct mlx4_hca *hca)
{
	return hca->icm->t[ICM_EQC].num;
}

uint32_t
mlx4_icm_num_mpts(const struct mlx4_hca *hca)
{
	return hca->icm->t[ICM_DMPT].num;
}

uint32_t
mlx4_icm_num_mtts(const struct mlx4_hca *hca)
{
	return hca->icm->t[ICM_MTT].num;
}

rte_be64_t *
mlx4_icm_mtt(const struct mlx4_hca *hca, uint32_t index)
{
	return (rte_be64_t *)((uint8_t *)hca->icm->t[ICM_MTT].mem.va + (size_t)index * hca->caps.sz_mtt);
}
