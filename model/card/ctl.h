/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The control side of the card: what commands, registers and translation share and the data path never looks at. */
#ifndef TPM_CTL_H
#define TPM_CTL_H

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

#define TPM_LG_MIN_PAGE 12u
#define TPM_LG_MAX_MCGS 17u
#define TPM_LG_MIN_MCG_ENTRY 7u
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

struct tpm_ctl {
	uint16_t uar_refs[TPM_NUM_UARS];
	uint64_t *mpt_known; /* bitmap: entries that SW2HW_MPT made, so that fresh ICM is not taken for an entry */
	bool windows;        /* INIT_HCA enabled them */
	uint64_t altc_base, auxc_base, rdmarc_base, cmpt_base, mc_base;
	uint8_t mc_lg_entry, mc_lg_table;
	uint8_t default_group[TP_MODEL_PORTS][2][1u << TPM_LG_MAX_MCG_ENTRY]; /* of a port: multicast, unicast */
	uint8_t node_desc[64];
	struct {
		uint8_t rqp_calc[0x1c]; /* as software gave it */
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

/* --- life of the card --- */

void tpm_config_reset(struct tp_model *m);
void tpm_regs_reset(struct tp_model *m);
/* Everything back to the power-on state; DMA windows, interrupts, wires and counters of the observer stay. */
void tpm_reset(struct tp_model *m);
/* Pages that MAP_ICM_AUX is to give for the size of SET_ICM_SIZE. */
uint32_t tpm_aux_pages_wanted(const struct tp_model *m);
/* Frees all queues and forgets the tables of INIT_HCA. */
void tpm_hca_stop(struct tp_model *m);
void tpm_die(struct tp_model *m, uint32_t syndrome, const char *why);

/* Bucket of a group's key, of MLX4_MCG_KEY_SIZE bytes. */
uint32_t tpm_group_hash(const struct tp_model *m, const uint8_t *key);

/* --- commands as text (trace.c) --- */

void tpm_trace_input(struct tp_model *m, const struct tpm_cmd *c);
void tpm_trace_output(struct tp_model *m, const struct tpm_cmd *c, uint8_t status);

/* --- SET_PORT's GID tables (cmd_gid.c): a command status --- */

uint8_t tpm_set_gid_table(struct tp_model *m, struct tpm_port *p, const uint8_t *in);
uint8_t tpm_set_roce_addr(struct tp_model *m, struct tpm_port *p, const uint8_t *in);

/* --- UAR pages that live contexts name --- */

bool tpm_uar_valid(const struct tp_model *m, uint32_t page);
void tpm_uar_get(struct tp_model *m, uint32_t page);
void tpm_uar_put(struct tp_model *m, uint32_t page);

/* --- translation --- */

/* Every cached translation is stale. */
static inline void
tpm_tpt_changed(struct tp_model *m)
{
	if (++m->tpt_gen == 0)
		m->tpt_gen = 1;
}

/* Start of the window that holds iova; *below says how far before iova it lies. iova must be in a window. */
uint8_t *tpm_dma_window_base(struct tp_model *m, uint64_t iova, uint64_t *below);

struct tpm_icm *tpm_icm_create(void);
void tpm_icm_destroy(struct tpm_icm *icm);
void tpm_icm_clear(struct tp_model *m);
/* Maps one 4 KiB page of ICM to a DMA address; a second mapping of the same page replaces the first [CP 7.1]. */
int tpm_icm_map_page(struct tp_model *m, uint64_t icm_addr, uint64_t iova);
void tpm_icm_unmap_page(struct tp_model *m, uint64_t icm_addr);
/* As tpm_icm_at without a violation. */
uint8_t *tpm_icm_probe(struct tp_model *m, uint64_t icm_addr, uint32_t len);

/* The DMA address in an MTT entry; *iova is valid when this returns TPM_XLAT_OK. off: byte offset of the entry. */
enum tpm_xlat_err tpm_mtt_read(struct tp_model *m, uint64_t off, uint64_t *iova);

/* Did software hand this entry over since INIT_HCA? */
bool tpm_mpt_is_known(const struct tp_model *m, uint32_t index);
void tpm_mpt_forget(struct tp_model *m, uint64_t icm_addr, uint64_t len);

/* --- contexts --- */

/* Object number check of a command: in range and not reserved. A command status. */
uint8_t tpm_index_check(struct tp_model *m, const char *obj, uint32_t num, uint32_t lg, uint32_t reserved);

/* A context's place in ICM, or NULL after icm-unmapped. Also asks for the entry's companion tables. */
uint8_t *tpm_ctx_at(struct tp_model *m, uint64_t base, uint32_t entry, enum mlx4_cmpt_type type, const char *obj,
		    uint32_t num);
/* 40-bit byte offset in the MTT that a context carries. */
static inline uint64_t
tpm_mtt_offset(const void *ctx, uint32_t field_h, uint32_t field_l)
{
	return (uint64_t)prm_get(ctx, field_h) << 32 | (prm_get(ctx, field_l) & ~7u);
}

/* Fills a resolved ring. */
void tpm_ring_fill(const struct tpm_ring *r, uint8_t byte);

void tpm_eq_free(struct tp_model *m, struct tpm_eq *eq);
void tpm_cq_free(struct tp_model *m, struct tpm_cq *cq);
/*
 * Software takes a CQ back while it works on an event of it: its handler may arm the CQ once more, as Linux's does when the
 * interface goes down, before it tells the EQ. A card drops that.
 */
void tpm_cq_left(struct tp_model *m, const struct tpm_cq *cq);
/* Is it so? Once: the answer is forgotten. */
bool tpm_cq_has_left(struct tp_model *m, uint32_t cqn);
/* Is there a completion event of the CQ that software has not taken? */
bool tpm_eq_tells_of_cq(struct tp_model *m, uint32_t eqn, uint32_t cqn);
void tpm_qp_free(struct tp_model *m, struct tpm_qp *qp);
void tpm_srq_free(struct tp_model *m, struct tpm_srq *srq);

/* Fires the EQ when it is armed and holds events that software has not seen. */
void tpm_eq_check(struct tp_model *m, struct tpm_eq *eq);

/* --- QP contexts (qp_ctx.c) --- */

/* Copies what the transition applies from a mailbox context into the QP's [CP 5.12]. */
void tpm_qpc_apply(uint8_t *dst, const uint8_t *src, uint16_t opcode, uint32_t optpar);
/* Derives the run-time fields of qp from its context; a command status. */
uint8_t tpm_qpc_check(struct tp_model *m, const struct tpm_qp *qp);
void tpm_qpc_load(struct tpm_qp *qp);
/* Bytes of the queue buffer that the context describes, and the offsets of both rings in it. */
uint32_t tpm_qpc_layout(const uint8_t *ctx, uint32_t *sq_off, uint32_t *rq_off);

/* --- commands --- */

#define TPM_IN_RESET 1u
#define TPM_IN_FW 2u
#define TPM_IN_HCA 4u

enum tpm_cmd_arg { TPM_ARG_NONE, TPM_ARG_IMM, TPM_ARG_MBOX, TPM_ARG_MAYBE };

struct tpm_cmd_info {
	const char *name;
	uint16_t opcode;
	uint8_t in, out; /* enum tpm_cmd_arg */
};
struct tpm_cmd_handler {
	uint16_t opcode;
	uint8_t states; /* TPM_IN_* */
	tpm_cmd_fn fn;
};
extern const struct tpm_cmd_info tpm_cmd_info[];
extern const unsigned int tpm_cmd_info_count;
int tpm_cmd_index(uint16_t opcode); /* into tpm_cmd_info, or -1 */
const struct tpm_cmd_handler *tpm_cmd_handler(uint16_t opcode);

/* For mailboxes that depend on op_modifier. False after a violation: the command ends with BAD_PARAM. */
bool tpm_cmd_need_in(struct tp_model *m, struct tpm_cmd *c);
bool tpm_cmd_need_out(struct tp_model *m, struct tpm_cmd *c);

/* A port number of a command: 1..num_ports, or NULL after cmd-index. */
struct tpm_port *tpm_cmd_port(struct tp_model *m, const char *cmd, uint32_t port);
/* cable.c: fills the data of a datagram that asks for the EEPROM of what is plugged in; enum mlx4_cable_status. */
uint8_t tpm_cable_get(const struct tp_model *m, const struct tpm_port *p, uint8_t *mad);

uint8_t tpm_mcast_config(struct tp_model *m, struct tpm_port *p, bool clear, uint64_t mac);

#define TPM_CMD_FNS(X)                                                                                                 \
	X(query_fw)                                                                                                    \
	X(map_fa)                                                                                                      \
	X(unmap_fa)                                                                                                    \
	X(run_fw)                                                                                                      \
	X(mod_stat_cfg)                                                                                                \
	X(query_dev_cap)                                                                                               \
	X(query_adapter)                                                                                               \
	X(set_icm_size)                                                                                                \
	X(map_icm_aux)                                                                                                 \
	X(unmap_icm_aux)                                                                                               \
	X(map_icm)                                                                                                     \
	X(unmap_icm)                                                                                                   \
	X(init_hca)                                                                                                    \
	X(query_hca)                                                                                                   \
	X(close_hca)                                                                                                   \
	X(query_func)                                                                                                  \
	X(config_dev)                                                                                                  \
	X(nop)                                                                                                         \
	X(sw2hw_mpt)                                                                                                   \
	X(query_mpt)                                                                                                   \
	X(hw2sw_mpt)                                                                                                   \
	X(write_mtt)                                                                                                   \
	X(sync_tpt)                                                                                                    \
	X(map_eq)                                                                                                      \
	X(sw2hw_eq)                                                                                                    \
	X(hw2sw_eq)                                                                                                    \
	X(query_eq)                                                                                                    \
	X(sw2hw_cq)                                                                                                    \
	X(hw2sw_cq)                                                                                                    \
	X(query_cq)                                                                                                    \
	X(modify_cq)                                                                                                   \
	X(qp_modify)                                                                                                   \
	X(qp_2rst)                                                                                                     \
	X(query_qp)                                                                                                    \
	X(update_qp)                                                                                                   \
	X(conf_special_qp)                                                                                             \
	X(sw2hw_srq)                                                                                                   \
	X(hw2sw_srq)                                                                                                   \
	X(query_srq)                                                                                                   \
	X(arm_srq)                                                                                                     \
	X(query_port)                                                                                                  \
	X(init_port)                                                                                                   \
	X(close_port)                                                                                                  \
	X(set_port)                                                                                                    \
	X(sense_port)                                                                                                  \
	X(set_vlan_fltr)                                                                                               \
	X(set_mcast_fltr)                                                                                              \
	X(dump_eth_stats)                                                                                              \
	X(query_if_stat)                                                                                               \
	X(diag_rprt)                                                                                                   \
	X(mad_ifc)                                                                                                     \
	X(set_node)                                                                                                    \
	X(read_mcg)                                                                                                    \
	X(write_mcg)                                                                                                   \
	X(mgid_hash)                                                                                                   \
	X(flow_attach)                                                                                                 \
	X(flow_detach)                                                                                                 \
	X(health_check)
#define TPM_CMD_DECL(f) uint8_t tpm_cmd_##f(struct tp_model *m, struct tpm_cmd *c);
TPM_CMD_FNS(TPM_CMD_DECL)
#undef TPM_CMD_DECL

#endif /* TPM_CTL_H */
