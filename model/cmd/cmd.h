/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Firmware commands: their dispatch, and what their handlers share. */
#ifndef MODEL_CMD_CMD_H
#define MODEL_CMD_CMD_H

#include "model/card/ctl.h"

/* --- commands (cmd.c) ------------------------------------------------------------------------------------- */

struct tpm_cmd {
	uint64_t in_param, out_param;
	uint32_t in_modifier;
	uint16_t opcode;
	uint8_t op_modifier;
	/*
	 * Mailboxes, already translated; NULL when the command has none. Nothing is written behind what an answer has: iPXE gives
	 * 1 KiB, and has other things behind it.
	 */
	uint8_t *in, *out;
	uint64_t imm; /* immediate result */
	bool has_imm; /* of a command that may have one */
};
typedef uint8_t (*tpm_cmd_fn)(struct tp_model *m, struct tpm_cmd *c); /* returns enum mlx4_cmd_status */

/* Runs what is in the HCR. */
void tpm_cmd_execute(struct tp_model *m);

/* The answer is to be zeros: a card that gives some of them after each reset. */
#define TPM_EMPTY_ANSWERS 9u
static inline bool
tpm_cmd_answers_empty(struct tp_model *m, enum tpm_empty kind)
{
	if (tpm_quirk(m, MLX4_QUIRK_EMPTY_ANSWERS) == 0 || m->ctl->empty[kind] == TPM_EMPTY_ANSWERS)
		return false;
	m->ctl->empty[kind]++;
	return true;
}

/* --- objects that commands make ------------------------------------------------------------------------------ */

/* Pages that MAP_ICM_AUX is to give for the size of SET_ICM_SIZE. */
uint32_t tpm_aux_pages_wanted(const struct tp_model *m);
/* Frees all queues and forgets the tables of INIT_HCA. */
void tpm_hca_stop(struct tp_model *m);

void tpm_cq_free(struct tp_model *m, struct tpm_cq *cq);
void tpm_qp_free(struct tp_model *m, struct tpm_qp *qp);
void tpm_srq_free(struct tp_model *m, struct tpm_srq *srq);

/* Object number check of a command: in range and not reserved. A command status. */
uint8_t tpm_index_check(struct tp_model *m, const char *obj, uint32_t num, uint32_t lg, uint32_t reserved);

/* --- commands as text (trace.c) --- */

void tpm_trace_input(struct tp_model *m, const struct tpm_cmd *c);
void tpm_trace_output(struct tp_model *m, const struct tpm_cmd *c, uint8_t status);
#define TPM_TRACE_ENTRIES 16u /* of each ring, in strides */
void tpm_trace_entries(struct tp_model *m);
void tpm_trace_reg(struct tp_model *m, const char *way, uint32_t off, uint32_t val);
/* The card was reset: it has no queue and no table. */
void tpm_trace_reset(struct tp_model *m);
void tpm_trace_end(struct tp_model *m);

/* --- answers out of a recording (replay.c) --- */

/* The status that the recording has for a command that it saw refused; MLX4_STAT_OK: the card runs it. */
uint8_t tpm_replay_refuses(struct tp_model *m, const struct tpm_cmd *c);
/* What a card says about itself becomes what the recorded one said. */
void tpm_replay_answer(struct tp_model *m, struct tpm_cmd *c);
void tpm_replay_end(struct tp_model *m);

/* --- SET_PORT's GID tables (cmd_gid.c): a command status --- */

uint8_t tpm_set_gid_table(struct tp_model *m, struct tpm_port *p, const uint8_t *in);
uint8_t tpm_set_roce_addr(struct tp_model *m, struct tpm_port *p, const uint8_t *in);

/* --- QP contexts (qp_ctx.c) --- */

/* Copies what the transition applies from a mailbox context into the QP's [CP 5.12]. */
void tpm_qpc_apply(uint8_t *dst, const uint8_t *src, uint16_t opcode, uint32_t optpar);
/* Is the context one that the card takes? A command status. */
uint8_t tpm_qpc_check(struct tp_model *m, const struct tpm_qp *qp);
/* Derives the run-time fields of qp from its context. */
void tpm_qpc_load(const struct tp_model *m, struct tpm_qp *qp);
/* Gives the QP the operations of its service; tpm_qpc_load() calls it. */
void tpm_qp_ops_set(struct tpm_qp *qp);
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

/* Translates a mailbox that depends on op_modifier. False after a violation: the command ends with BAD_PARAM. */
bool tpm_cmd_need_in(struct tp_model *m, struct tpm_cmd *c);
bool tpm_cmd_need_out(struct tp_model *m, struct tpm_cmd *c);
/* Of the HW2SW_ commands, which leave c->out NULL when op_modifier asks for none, or none was given. */
bool tpm_cmd_may_out(struct tp_model *m, struct tpm_cmd *c);

/* A port number of a command: 1..num_ports, or NULL after cmd-index. */
struct tpm_port *tpm_cmd_port(struct tp_model *m, const char *cmd, uint32_t port);
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
	X(congestion_ctrl)                                                                                             \
	X(health_check)                                                                                                \
	X(access_reg)
#define TPM_CMD_DECL(f) uint8_t tpm_cmd_##f(struct tp_model *m, struct tpm_cmd *c);
TPM_CMD_FNS(TPM_CMD_DECL)
#undef TPM_CMD_DECL

/* --- cmd_reg.c --- */

void tpm_reg_reset(const struct tp_model *m, struct tpm_port *p);

/* --- commands (cmd_qos.c): command statuses --- */

uint8_t tpm_set_prio2tc(struct tp_model *m, struct tpm_port *p, const uint8_t *in);
uint8_t tpm_set_scheduler(struct tp_model *m, struct tpm_port *p, const uint8_t *in);
uint8_t tpm_set_prio_map(struct tp_model *m, struct tpm_port *p, const uint8_t *in);
/* The delay-drop field of a QP context. */
uint8_t tpm_delay_check(struct tp_model *m, uint32_t qpn, const uint8_t *ctx);
/* The rate limit of a QP context, in kb/s, 0: none; is it one that QUERY_DEV_CAP offers? */
uint32_t tpm_qp_rate_kbps(const uint8_t *ctx);
uint8_t tpm_qp_rate_check(struct tp_model *m, uint32_t qpn, const uint8_t *ctx);
/* The flow-control block of DUMP_ETH_STATS; reset: its counters start again. */
void tpm_dump_flow(const struct tp_model *m, struct tpm_port *p, bool reset, uint8_t *out);

#endif /* MODEL_CMD_CMD_H */
