/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* QUERY_DEV_CAP: what the card is and what it can do [CP 3.4]. Only what the model does is advertised. */
#include <string.h>

#include "model/qos/qos.h"
#include "cmd.h"

#define LG_MAX_PDS 17u
#define LG_MAX_XRCDS 16u
#define LG_MAX_MRW 40u
#define LG_MAX_RDMA 7u
#define LG_MAX_MSG 30u
#define ACK_DELAY 15u
#define LG_MAX_BF_PAGES 10u
#define LG_RSVD_EQS 2u /* the same four as the plain count, for readers of either encoding */
#define DMFS_QPS_PER_ENTRY 24u
#define LG_UC_QP_RANGE 7u
#define LG_QPS_PER_MCG 8u

static_assert(1u << LG_RSVD_EQS == TPM_NUM_RSVD_EQS, "both encodings of the reserved EQs agree");
static_assert(1u << LG_MAX_BF_PAGES == TPM_NUM_UARS, "one BlueFlame page for each UAR page");

static void
caps_queues(const struct tp_model *m, uint8_t *out)
{
	prm_set(out, MLX4_CAP_LG_MAX_SRQ_WQES, TPM_LG_MAX_QP_WQES);
	prm_set(out, MLX4_CAP_LG_MAX_QP_WQES, TPM_LG_MAX_QP_WQES);
	prm_set(out, MLX4_CAP_LG_RSVD_QPS, TPM_LG_RSVD_QPS);
	prm_set(out, MLX4_CAP_LG_MAX_QPS, TPM_LG_MAX_QPS);
	prm_set(out, MLX4_CAP_LG_RSVD_SRQS, TPM_LG_RSVD_SRQS);
	prm_set(out, MLX4_CAP_LG_MAX_SRQS, TPM_LG_MAX_SRQS);
	/* One of the two fields may be something else, as far as it goes. */
	prm_set(out, MLX4_CAP_NUM_RSVD_EQS,
		tpm_quirk(m, MLX4_QUIRK_RSVD_EQS) == 2 ? PRM_MAX(MLX4_CAP_NUM_RSVD_EQS) : TPM_NUM_RSVD_EQS);
	prm_set(out, MLX4_CAP_LG_RSVD_EQS,
		tpm_quirk(m, MLX4_QUIRK_RSVD_EQS) == 1 ? PRM_MAX(MLX4_CAP_LG_RSVD_EQS) : LG_RSVD_EQS);
	prm_set(out, MLX4_CAP_LG_MAX_EQS, TPM_LG_MAX_EQS);
	prm_set(out, MLX4_CAP_LG_MAX_EQES, TPM_LG_MAX_EQES);
	prm_set(out, MLX4_CAP_LG_MAX_CQES, TPM_LG_MAX_CQES);
	prm_set(out, MLX4_CAP_LG_RSVD_CQS, TPM_LG_RSVD_CQS);
	prm_set(out, MLX4_CAP_LG_MAX_CQS, TPM_LG_MAX_CQS);
	prm_set(out, MLX4_CAP_MAX_SQ_SGE, TPM_MAX_SQ_SGE);
	prm_set(out, MLX4_CAP_MAX_SQ_DESC, MLX4_SEND_WQE_MAX);
	prm_set(out, MLX4_CAP_MAX_RQ_SGE, TPM_MAX_RQ_SGE);
	prm_set(out, MLX4_CAP_MAX_RQ_DESC, TPM_MAX_RQ_DESC);
	prm_set(out, MLX4_CAP_LG_MAX_GSO, TPM_LG_MAX_GSO);
	prm_set(out, MLX4_CAP_RSS_TOEPLITZ, 1);
	prm_set(out, MLX4_CAP_PORT_BEACON, 1);
	prm_set(out, MLX4_CAP_ETH_PROT_CTRL, 1);
	prm_set(out, MLX4_CAP_RSS_XOR, 1);
	prm_set(out, MLX4_CAP_LG_MAX_RSS, TPM_LG_MAX_RSS);
}

static void
caps_memory(uint8_t *out)
{
	prm_set(out, MLX4_CAP_LG_MAX_MPTS, TPM_LG_MAX_MPTS);
	prm_set(out, MLX4_CAP_LG_RSVD_MPTS, TPM_LG_RSVD_MPTS);
	prm_set(out, MLX4_CAP_LG_RSVD_MTTS, TPM_LG_RSVD_MTTS);
	prm_set(out, MLX4_CAP_LG_MAX_MTT_SEGS, TPM_LG_MAX_MTTS);
	prm_set(out, MLX4_CAP_LG_MAX_MRW, LG_MAX_MRW);
	prm_set(out, MLX4_CAP_LG_MIN_PAGE, TPM_LG_MIN_PAGE);
	prm_set(out, MLX4_CAP_QPC_SZ, TPM_QPC_ENTRY);
	prm_set(out, MLX4_CAP_RDMARC_SZ, TPM_RDMARC_ENTRY);
	prm_set(out, MLX4_CAP_ALTC_SZ, TPM_ALTC_ENTRY);
	prm_set(out, MLX4_CAP_AUXC_SZ, TPM_AUXC_ENTRY);
	prm_set(out, MLX4_CAP_SRQC_SZ, TPM_SRQC_ENTRY);
	prm_set(out, MLX4_CAP_CQC_SZ, TPM_CQC_ENTRY);
	prm_set(out, MLX4_CAP_EQC_SZ, TPM_EQC_ENTRY);
	prm_set(out, MLX4_CAP_CMPT_SZ, TPM_CMPT_ENTRY);
	prm_set(out, MLX4_CAP_MTT_SZ, TPM_MTT_ENTRY);
	prm_set(out, MLX4_CAP_DMPT_SZ, TPM_DMPT_ENTRY);
	prm_set64(out, MLX4_CAP_MAX_ICM, TPM_MAX_ICM);
}

static void
caps_device(const struct tp_model *m, uint8_t *out)
{
	prm_set(out, MLX4_CAP_NUM_PORTS, m->cfg.num_ports);
	prm_set(out, MLX4_CAP_ACK_DELAY, ACK_DELAY);
	prm_set(out, MLX4_CAP_LG_MAX_MSG, LG_MAX_MSG);
	prm_set(out, MLX4_CAP_LG_MAX_RDMA_REQ, LG_MAX_RDMA);
	prm_set(out, MLX4_CAP_LG_MAX_RDMA_RSP, LG_MAX_RDMA);
	prm_set(out, MLX4_CAP_RSVD_UARS, TPM_RSVD_UARS);
	prm_set(out, MLX4_CAP_LG_UAR_MIB, TPM_LG_UAR_MIB);
	prm_set(out, MLX4_CAP_BF, 1);
	prm_set(out, MLX4_CAP_LG_BF_REG, TPM_LG_BF_REG);
	prm_set(out, MLX4_CAP_LG_BF_REGS_PAGE, TPM_LG_BF_REGS_PAGE);
	prm_set(out, MLX4_CAP_LG_MAX_BF_PAGES, LG_MAX_BF_PAGES);
	prm_set(out, MLX4_CAP_LG_MAX_QP_MCG, LG_QPS_PER_MCG);
	prm_set(out, MLX4_CAP_LG_MAX_MCGS, TPM_LG_MAX_MCGS);
	prm_set(out, MLX4_CAP_RSVD_PDS, TPM_RSVD_PDS);
	prm_set(out, MLX4_CAP_LG_MAX_PDS, LG_MAX_PDS);
	prm_set(out, MLX4_CAP_LG_MAX_XRCDS, LG_MAX_XRCDS);
	prm_set(out, MLX4_CAP_MAX_COUNTERS, TPM_MAX_COUNTERS);
	prm_set(out, MLX4_CAP_UPDATE_QP, 1);
	prm_set(out, MLX4_CAP_UPDATE_LB_CHECK, 1);
	prm_set(out, MLX4_CAP_LB_SRC_CHECK, 1);
	prm_set(out, MLX4_CAP_SW_CQ_INIT, 1);
	prm_set(out, MLX4_CAP_PFC_COUNTERS, 1);
	prm_set(out, MLX4_CAP_CQ_TIMESTAMP, 1);
	prm_set(out, MLX4_CAP_DMFS, 1);
	prm_set(out, MLX4_CAP_LG_UC_QP_RANGE, LG_UC_QP_RANGE);
	prm_set(out, MLX4_CAP_DMFS_MAX_QPS, DMFS_QPS_PER_ENTRY);
	prm_set(out, MLX4_CAP_IGNORE_FCS, 1);
	prm_set(out, MLX4_CAP_VSD_INIT2RTR, 1);
	prm_set(out, MLX4_CAP_CONFIG_DEV, 1);
	prm_set(out, MLX4_CAP_ETS_CFG, 1);
	prm_set(out, MLX4_CAP_RECOVER_EVENT, tpm_delay_offered(m));
	prm_set(out, MLX4_CAP_QP_RATES, TPM_QP_RATES);
	prm_set(out, MLX4_CAP_MAX_RATE_UNIT, TPM_RATE_MAX_UNIT);
	prm_set(out, MLX4_CAP_MAX_RATE_VAL, TPM_RATE_MAX_VAL);
	prm_set(out, MLX4_CAP_MIN_RATE_UNIT, TPM_RATE_MIN_UNIT);
	prm_set(out, MLX4_CAP_MIN_RATE_VAL, TPM_RATE_MIN_VAL);
	prm_set(out, MLX4_CAP_ROCE_V1V2, tpm_roce_v2(m));
	prm_set(out, MLX4_CAP_VXLAN, tpm_tunnels_offered(m));
	prm_set(out, MLX4_CAP_QCN, !m->cfg.no_congestion);
	prm_set(out, MLX4_CAP_DIAG_PORT, 1);
	prm_set(out, MLX4_CAP_LOCAL_INV, 1);
	prm_set(out, MLX4_CAP_REMOTE_INV, 1);
	prm_set(out, MLX4_CAP_FAST_REG, 1);
	prm_set(out, MLX4_CAP_MW_2, 1);
	prm_set(out, MLX4_CAP_MW_2B, 1);
}

static uint64_t
flag(enum mlx4_dev_flag f)
{
	return UINT64_C(1) << f;
}

uint8_t
tpm_cmd_query_dev_cap(struct tp_model *m, struct tpm_cmd *c)
{
	uint64_t flags = flag(MLX4_DEV_FLAG_IPOIB_CSUM) | flag(MLX4_DEV_FLAG_DPDP) | flag(MLX4_DEV_FLAG_BIG_LSO) |
			 flag(MLX4_DEV_FLAG_UC_LOOPBACK) | flag(MLX4_DEV_FLAG_FCS_KEEP) | flag(MLX4_DEV_FLAG_UDP_RSS) |
			 flag(MLX4_DEV_FLAG_COUNTERS) | flag(MLX4_DEV_FLAG_RSS_IP_FRAG) |
			 flag(MLX4_DEV_FLAG_SET_ETH_SCHED) | flag(MLX4_DEV_FLAG_SENSE) |
			 flag(MLX4_DEV_FLAG_PORT_MNG_EV) | flag(MLX4_DEV_FLAG_64B_EQE) | flag(MLX4_DEV_FLAG_64B_CQE) |
			 flag(MLX4_DEV_FLAG_VEP_UC_STEER) | flag(MLX4_DEV_FLAG_VEP_MC_STEER) | flag(MLX4_DEV_FLAG_RC) |
			 flag(MLX4_DEV_FLAG_UC) | flag(MLX4_DEV_FLAG_UD) | flag(MLX4_DEV_FLAG_SRQ) |
			 flag(MLX4_DEV_FLAG_IBOE) | flag(MLX4_DEV_FLAG_ATOMIC) | flag(MLX4_DEV_FLAG_UD_MCAST) |
			 flag(MLX4_DEV_FLAG_MW);

	if (m->cfg.wol)
		flags |= flag(MLX4_DEV_FLAG_WOL_PORT1) | (m->cfg.num_ports > 1 ? flag(MLX4_DEV_FLAG_WOL_PORT2) : 0);
	memset(c->out, 0, MLX4_CAP_SIZE);
	if (tpm_cmd_answers_empty(m, TPM_EMPTY_DEV_CAP))
		return MLX4_STAT_OK;
	caps_queues(m, c->out);
	caps_memory(c->out);
	caps_device(m, c->out);
	prm_set64(c->out, MLX4_CAP_FLAGS, flags);
	return MLX4_STAT_OK;
}
