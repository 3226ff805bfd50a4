/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The control side of the card: state that commands, registers and translation share. The data path never looks at it. */
#ifndef MODEL_CARD_CTL_H
#define MODEL_CARD_CTL_H

#include "model_priv.h"

/* Sizes of context entries, as QUERY_DEV_CAP reports them [CP 3.4] */
#define TPM_QPC_ENTRY 256u
#define TPM_RDMARC_ENTRY 32u
#define TPM_ALTC_ENTRY 64u
#define TPM_AUXC_ENTRY 1u
#define TPM_SRQC_ENTRY 128u
#define TPM_CQC_ENTRY 128u
#define TPM_EQC_ENTRY 128u
#define TPM_CMPT_ENTRY 64u
#define TPM_MTT_ENTRY MLX4_MTT_SIZE
#define TPM_DMPT_ENTRY MLX4_MPT_SIZE

#define TPM_LG_MIN_PAGE 9u
#define TPM_LG_MAX_MCGS 17u
#define TPM_LG_MIN_MCG_ENTRY 7u /* that Linux gives; a group of 8 members fits into one of 6 */
#define TPM_LG_LEAST_MCG_ENTRY 6u
#define TPM_LG_MAX_MCG_ENTRY 12u
#define TPM_PAGE 4096u
#define TPM_LG_PAGE 12u
/* Firmware work areas: one page for each 16 MiB of ICM, and a few for the firmware itself. */
#define TPM_AUX_BASE_PAGES 16u

#define TPM_EQ_NONE UINT32_MAX

#define TPM_MCAST_MAX 512u
struct tpm_mcast {
	uint32_t count;
	uint64_t mac[TPM_MCAST_MAX];
};

/* An entry of a port's GID table */
struct tpm_gid {
	uint8_t gid[MLX4_GID_SIZE];
	uint8_t version; /* MLX4_ROCE_V1 or MLX4_ROCE_V2 */
	bool valid;
};

enum tpm_empty { TPM_EMPTY_DEV_CAP, TPM_EMPTY_PORT, TPM_EMPTY_KINDS };

struct tpm_ctl {
	uint8_t empty[TPM_EMPTY_KINDS]; /* empty answers given since the reset */
	uint16_t uar_refs[TPM_NUM_UARS];
	bool uar_sends[TPM_NUM_UARS]; /* a send queue names it, or did since nothing did */
	uint64_t *mpt_known; /* bitmap: entries that SW2HW_MPT made, so that fresh ICM is not taken for an entry */
	bool windows;        /* INIT_HCA enabled them */
	uint64_t altc_base, auxc_base, rdmarc_base, cmpt_base, mc_base;
	uint8_t mc_lg_entry, mc_lg_table;
	uint8_t default_group[TP_MODEL_PORTS][2][1u << TPM_LG_MAX_MCG_ENTRY]; /* of a port: multicast, unicast */
	uint8_t node_desc[64];
	struct {
		uint8_t rqp_calc[MLX4_RQP_SIZE]; /* as software gave it */
		struct tpm_gid gid[MLX4_GID_ENTRIES];
		struct tpm_mcast mcast;
	} port[TP_MODEL_PORTS];
};

/* Counts the broken rule and gives the status of the command. */
#define tpm_fail(m, st, v, obj, num, ...)                                                                              \
	(tpm_violate((m), TPM_V_##v, (obj), (num), __VA_ARGS__), (uint8_t)MLX4_STAT_##st)

/* RoCE v2 came with the Pro. */
static inline bool
tpm_roce_v2(const struct tp_model *m)
{
	return m->cfg.device_id == MLX4_PCI_DEV_CX3_PRO;
}

/* And so did tunnels. */
static inline bool
tpm_tunnels_offered(const struct tp_model *m)
{
	return m->cfg.device_id == MLX4_PCI_DEV_CX3_PRO;
}

/* 56 GbE came with firmware 2.31.5050. */
static inline bool
tpm_56g_offered(const struct tp_model *m)
{
	const uint32_t v[] = {m->cfg.fw_major, m->cfg.fw_minor, m->cfg.fw_subminor}, need[] = {2, 31, 5050};

	for (unsigned int i = 0; i < 3; i++)
		if (v[i] != need[i])
			return v[i] > need[i];
	return true;
}

/* --- UAR pages that live contexts name --- */

bool tpm_uar_valid(const struct tp_model *m, uint32_t page);
void tpm_uar_get(struct tp_model *m, uint32_t page);
void tpm_uar_put(struct tp_model *m, uint32_t page);
/* Who got the page is a send queue. */
void tpm_uar_sends(struct tp_model *m, uint32_t page);

#endif /* MODEL_CARD_CTL_H */
