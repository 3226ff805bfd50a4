/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* INIT_HCA, QUERY_HCA, CLOSE_HCA: the tables of the card come and go [CP 3.6]. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/event.h"
#include "model/port/port.h"
#include "cmd.h"

#define LG_UARS_MAX 10u

struct table {
	const char *name;
	uint64_t base;
	uint32_t lg, lg_max, entry;
};

static uint64_t
base_at(const uint8_t *in, uint32_t off)
{
	return prm_get64(in, off) & MLX4_HCA_BASE_MASK;
}

static uint8_t
table_check(struct tp_model *m, const struct table *t)
{
	uint64_t bytes = (uint64_t)t->entry << t->lg;

	if (t->lg > t->lg_max)
		return tpm_fail(m, EXCEED_LIM, CMD_LIMIT, t->name, t->lg,
				"lg number of entries is %u, wanted at most %u", t->lg, t->lg_max);
	if (t->base % t->entry != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, t->name, t->lg,
				"base 0x%" PRIx64 ", wanted a multiple of its %u-byte entry", t->base, t->entry);
	if (t->base >= m->icm_size || bytes > m->icm_size - t->base)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, t->name, t->lg,
				"[0x%" PRIx64 ", +0x%" PRIx64 ") leaves the 0x%" PRIx64 " bytes of SET_ICM_SIZE",
				t->base, bytes, m->icm_size);
	return MLX4_STAT_OK;
}

static uint8_t
tables_check(struct tp_model *m, const uint8_t *in)
{
	bool dmfs = prm_get(in, MLX4_HCA_F_DMFS) != 0;
	uint32_t lg_qps = prm_get(in, MLX4_HCA_LG_QPS);
	uint32_t lg_mcg = prm_get(in, dmfs ? MLX4_HCA_DMFS_LG_ENTRY : MLX4_HCA_MC_LG_ENTRY), lg_min;
	const struct table t[] = {
		{"QPC table", base_at(in, MLX4_HCA_QPC_BASE), lg_qps, TPM_LG_MAX_QPS, TPM_QPC_ENTRY},
		{"ALTC table", base_at(in, MLX4_HCA_ALTC_BASE), lg_qps, TPM_LG_MAX_QPS, TPM_ALTC_ENTRY},
		{"AUXC table", base_at(in, MLX4_HCA_AUXC_BASE), lg_qps, TPM_LG_MAX_QPS, TPM_AUXC_ENTRY},
		{"SRQC table", base_at(in, MLX4_HCA_SRQC_BASE), prm_get(in, MLX4_HCA_LG_SRQS), TPM_LG_MAX_SRQS,
		 TPM_SRQC_ENTRY},
		{"CQC table", base_at(in, MLX4_HCA_CQC_BASE), prm_get(in, MLX4_HCA_LG_CQS), TPM_LG_MAX_CQS,
		 TPM_CQC_ENTRY},
		{"EQC table", base_at(in, MLX4_HCA_EQC_BASE), prm_get(in, MLX4_HCA_LG_EQS), TPM_LG_MAX_EQS,
		 TPM_EQC_ENTRY},
		{"dMPT table", base_at(in, MLX4_HCA_DMPT_BASE), prm_get(in, MLX4_HCA_LG_DMPTS), TPM_LG_MAX_MPTS,
		 TPM_DMPT_ENTRY},
		{"MTT table", prm_get64(in, MLX4_HCA_MTT_BASE), 0, TPM_LG_MAX_MTTS, TPM_MTT_ENTRY},
		{"cMPT table", prm_get64(in, MLX4_HCA_CMPT_BASE), 0, 0, TPM_CMPT_ENTRY},
	};
	uint8_t st = MLX4_STAT_OK;

	for (unsigned int i = 0; i < sizeof(t) / sizeof(t[0]) && st == MLX4_STAT_OK; i++)
		st = table_check(m, &t[i]);
	if (st != MLX4_STAT_OK)
		return st;
	lg_min = dmfs ? TPM_LG_MIN_MCG_ENTRY : TPM_LG_LEAST_MCG_ENTRY;
	if (lg_mcg < lg_min || lg_mcg > TPM_LG_MAX_MCG_ENTRY)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "steering table", lg_mcg,
				"lg entry bytes is %u, wanted %u..%u", lg_mcg, lg_min, TPM_LG_MAX_MCG_ENTRY);
	if (lg_mcg < TPM_LG_MIN_MCG_ENTRY)
		tpm_violate(m, TPM_V_MCG_ENTRY, "steering table", lg_mcg, "lg entry bytes is %u, wanted %u or more",
			    lg_mcg, TPM_LG_MIN_MCG_ENTRY);
	return table_check(m,
			   &(struct table){"steering table", base_at(in, dmfs ? MLX4_HCA_DMFS_BASE : MLX4_HCA_MC_BASE),
					   prm_get(in, dmfs ? MLX4_HCA_DMFS_LG_TABLE : MLX4_HCA_MC_LG_TABLE),
					   TPM_LG_MAX_MCGS, 1u << lg_mcg});
}

static uint8_t
init_check(struct tp_model *m, const uint8_t *in)
{
	if (m->icm_size == 0)
		return tpm_fail(m, BAD_SYS_STATE, CMD_STATE, "INIT_HCA", 0, "comes before SET_ICM_SIZE");
	if (m->aux_pages < tpm_aux_pages_wanted(m))
		return tpm_fail(m, BAD_SYS_STATE, CMD_STATE, "INIT_HCA", 0, "%u pages given by MAP_ICM_AUX, wanted %u",
				m->aux_pages, tpm_aux_pages_wanted(m));
	if (prm_get(in, MLX4_HCA_VERSION) != MLX4_HCA_VERSION_VALUE)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "INIT_HCA", 0, "version %u, wanted %u",
				prm_get(in, MLX4_HCA_VERSION), MLX4_HCA_VERSION_VALUE);
	if (prm_get(in, MLX4_HCA_LG_UARS) > LG_UARS_MAX || prm_get(in, MLX4_HCA_UAR_PAGE) != 0)
		return tpm_fail(m, EXCEED_LIM, CMD_LIMIT, "INIT_HCA", 0,
				"lg UARs %u, lg UAR page - 12 %u, wanted at most %u and 0",
				prm_get(in, MLX4_HCA_LG_UARS), prm_get(in, MLX4_HCA_UAR_PAGE), LG_UARS_MAX);
	if (prm_get(in, MLX4_HCA_EQE_STRIDE) != 0 || prm_get(in, MLX4_HCA_CQE_STRIDE) != 0 ||
	    prm_get(in, MLX4_HCA_NUM_SYS_EQS) != 0 || prm_get(in, MLX4_HCA_A0_MODE) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "INIT_HCA", 0,
				"asks for EQE/CQE strides, system EQs or A0 modes, which QUERY_DEV_CAP does not offer");
	return tables_check(m, in);
}

static void
tables_take(struct tp_model *m, const uint8_t *in)
{
	m->dmfs = prm_get(in, MLX4_HCA_F_DMFS) != 0;
	m->qpc_base = base_at(in, MLX4_HCA_QPC_BASE);
	m->srqc_base = base_at(in, MLX4_HCA_SRQC_BASE);
	m->cqc_base = base_at(in, MLX4_HCA_CQC_BASE);
	m->eqc_base = base_at(in, MLX4_HCA_EQC_BASE);
	m->dmpt_base = base_at(in, MLX4_HCA_DMPT_BASE);
	m->mtt_base = prm_get64(in, MLX4_HCA_MTT_BASE);
	m->lg_qps = prm_get(in, MLX4_HCA_LG_QPS);
	m->lg_srqs = prm_get(in, MLX4_HCA_LG_SRQS);
	m->lg_cqs = prm_get(in, MLX4_HCA_LG_CQS);
	m->lg_eqs = prm_get(in, MLX4_HCA_LG_EQS);
	m->lg_mpts = prm_get(in, MLX4_HCA_LG_DMPTS);
	m->num_uars = 1u << prm_get(in, MLX4_HCA_LG_UARS);
	m->eqe64 = prm_get(in, MLX4_HCA_F_EQE64) != 0;
	m->cqe64 = prm_get(in, MLX4_HCA_F_CQE64) != 0;
	/* A 64-byte entry carries the 32 bytes in its second half [CP 9.1]. */
	m->eqe_lg_stride = m->eqe64 ? 6 : 5;
	m->eqe_off = m->eqe64 ? 32 : 0;
	m->cqe_lg_stride = m->cqe64 ? 6 : 5;
	m->cqe_off = m->cqe64 ? 32 : 0;
	m->ctl->windows = prm_get(in, MLX4_HCA_MW_ENABLE) != 0;
	m->ctl->altc_base = base_at(in, MLX4_HCA_ALTC_BASE);
	m->ctl->auxc_base = base_at(in, MLX4_HCA_AUXC_BASE);
	m->ctl->rdmarc_base = base_at(in, MLX4_HCA_RDMARC_BASE);
	m->ctl->cmpt_base = prm_get64(in, MLX4_HCA_CMPT_BASE);
	m->ctl->mc_base = base_at(in, m->dmfs ? MLX4_HCA_DMFS_BASE : MLX4_HCA_MC_BASE);
	m->ctl->mc_lg_entry = (uint8_t)prm_get(in, m->dmfs ? MLX4_HCA_DMFS_LG_ENTRY : MLX4_HCA_MC_LG_ENTRY);
	m->ctl->mc_lg_table = (uint8_t)prm_get(in, m->dmfs ? MLX4_HCA_DMFS_LG_TABLE : MLX4_HCA_MC_LG_TABLE);
	memset(m->ctl->default_group, 0, sizeof(m->ctl->default_group));
	for (unsigned int i = 0; i < TP_MODEL_PORTS; i++)
		memset(m->ctl->port[i].rqp_calc, 0, MLX4_RQP_SIZE);
	tpm_steer_mode(m, m->dmfs                               ? TPM_STEER_BY_RULES
			  : prm_get(in, MLX4_HCA_UC_STEER) != 0 ? TPM_STEER_BY_GROUPS
								: TPM_STEER_BY_CALC);
}

static bool
objects_alloc(struct tp_model *m)
{
	m->qp = calloc(UINT64_C(1) << m->lg_qps, sizeof(struct tpm_qp *));
	m->cq = calloc(UINT64_C(1) << m->lg_cqs, sizeof(struct tpm_cq *));
	m->eq = calloc(UINT64_C(1) << m->lg_eqs, sizeof(struct tpm_eq *));
	m->srq = calloc(UINT64_C(1) << m->lg_srqs, sizeof(struct tpm_srq *));
	m->ctl->mpt_known = calloc(((UINT64_C(1) << m->lg_mpts) + 63) / 64, sizeof(uint64_t));
	return m->qp != NULL && m->cq != NULL && m->eq != NULL && m->srq != NULL && m->ctl->mpt_known != NULL;
}

/* Multicast groups are empty after INIT_HCA: drivers rely on it [CP 6.2]. */
static void
mcg_clear(struct tp_model *m)
{
	uint64_t bytes = UINT64_C(1) << (m->ctl->mc_lg_entry + m->ctl->mc_lg_table);

	for (uint64_t off = 0; off < bytes; off += TPM_PAGE) {
		uint8_t *p = tpm_icm_probe(m, m->ctl->mc_base + off, TPM_PAGE);

		if (p != NULL)
			memset(p, 0, TPM_PAGE);
	}
}

uint8_t
tpm_cmd_init_hca(struct tp_model *m, struct tpm_cmd *c)
{
	uint8_t st = init_check(m, c->in);

	if (st != MLX4_STAT_OK)
		return st;
	memcpy(m->hca, c->in, MLX4_HCA_SIZE);
	tables_take(m, c->in);
	if (!objects_alloc(m)) {
		tpm_hca_stop(m);
		return MLX4_STAT_INTERNAL_ERR;
	}
	mcg_clear(m);
	tpm_tpt_changed(m);
	m->state = TPM_SYS_HCA;
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_query_hca(struct tp_model *m, struct tpm_cmd *c)
{
	memcpy(c->out, m->hca, MLX4_HCA_SIZE);
	/* What INIT_HCA has in these places is something else. */
	prm_set64(c->out, MLX4_HCA_GLOBAL_CAPS, 0);
	prm_set(c->out, MLX4_HCA_CORE_CLOCK, TPM_CORE_CLOCK_MHZ);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_close_hca(struct tp_model *m, struct tpm_cmd *c)
{
	if (c->op_modifier > 1)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "CLOSE_HCA", c->opcode, "op_modifier %u, wanted 0 or 1",
				c->op_modifier);
	/* The card stops whatever is left; an orderly close (0) should not leave anything. */
	if (c->op_modifier == 0 && m->st.qps + m->st.cqs + m->st.eqs != 0)
		tpm_violate(m, TPM_V_CMD_BUSY, "CLOSE_HCA", c->opcode, "%u QPs, %u CQs and %u EQs still exist",
			    m->st.qps, m->st.cqs, m->st.eqs);
	tpm_hca_stop(m);
	m->state = TPM_SYS_FW;
	return MLX4_STAT_OK;
}

static void
queues_free(struct tp_model *m)
{
	for (uint64_t i = 0; m->qp != NULL && m->st.qps != 0 && i < UINT64_C(1) << m->lg_qps; i++)
		if (m->qp[i] != NULL)
			tpm_qp_free(m, m->qp[i]);
	for (uint64_t i = 0; m->srq != NULL && i < UINT64_C(1) << m->lg_srqs; i++)
		if (m->srq[i] != NULL)
			tpm_srq_free(m, m->srq[i]);
	for (uint64_t i = 0; m->cq != NULL && m->st.cqs != 0 && i < UINT64_C(1) << m->lg_cqs; i++)
		if (m->cq[i] != NULL)
			tpm_cq_free(m, m->cq[i]);
	for (uint64_t i = 0; m->eq != NULL && m->st.eqs != 0 && i < UINT64_C(1) << m->lg_eqs; i++)
		if (m->eq[i] != NULL)
			tpm_eq_free(m, m->eq[i]);
}

void
tpm_hca_stop(struct tp_model *m)
{
	tpm_steer_flush(m);
	queues_free(m);
	free(m->qp);
	free(m->cq);
	free(m->eq);
	free(m->srq);
	free(m->ctl->mpt_known);
	m->qp = NULL;
	m->cq = NULL;
	m->eq = NULL;
	m->srq = NULL;
	m->ctl->mpt_known = NULL;
	m->st.mpts = 0;
	m->lg_qps = m->lg_srqs = m->lg_cqs = m->lg_eqs = m->lg_mpts = 0;
	for (unsigned int t = 0; t < 64; t++)
		m->event_eq[t] = TPM_EQ_NONE;
	for (unsigned int i = 0; i < TP_MODEL_PORTS; i++) {
		m->port[i].open = false;
		tpm_port_set_link(&m->port[i], false);
	}
	memset(m->hca, 0, sizeof(m->hca));
	tpm_tpt_changed(m);
}
