/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The command interface: takes what is in the HCR, checks it, runs the handler, reports completion [CP 2]. */
#include <time.h>

#include "model/event/event.h"
#include "model/queue/queue.h"
#include "cmd.h"

#define CATAS_SYNDROME 0x0fffffffu
#define RUBBISH_LEN 256u /* of an answer: what every mailbox has room for */
#define SLOW_NS 10000000

static const char *
status_text(uint8_t status)
{
	switch (status) {
#define STATUS_CASE(n, code, text)                                                                                     \
	case (code): return text;
		MLX4_CMD_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
	default: return "unknown status";
	}
}

static unsigned int
state_bit(const struct tp_model *m)
{
	switch (m->state) {
	case TPM_SYS_RESET: return TPM_IN_RESET;
	case TPM_SYS_FW: return TPM_IN_FW;
	case TPM_SYS_HCA: return TPM_IN_HCA;
	default: return 0;
	}
}

static uint8_t
run(struct tp_model *m, struct tpm_cmd *c)
{
	static const char *const state_name[] = {"before RUN_FW", "before INIT_HCA", "after INIT_HCA", "dead"};
	const struct tpm_cmd_handler *h = tpm_cmd_handler(c->opcode);
	int i = tpm_cmd_index(c->opcode);

	if (h == NULL || i < 0)
		return tpm_fail(m, BAD_OP, CMD_UNKNOWN, "opcode", c->opcode, "the firmware does not offer %s",
				i < 0 ? "it" : tpm_cmd_info[i].name);
	m->cmd_count[i]++;
	if ((h->states & state_bit(m)) == 0)
		return tpm_fail(m, BAD_SYS_STATE, CMD_STATE, tpm_cmd_info[i].name, c->opcode, "not allowed %s",
				state_name[m->state]);
	if (tpm_cmd_info[i].in == TPM_ARG_MBOX && !tpm_cmd_need_in(m, c))
		return MLX4_STAT_BAD_PARAM;
	if (tpm_cmd_info[i].out == TPM_ARG_MBOX && !tpm_cmd_need_out(m, c))
		return MLX4_STAT_BAD_PARAM;
	return h->fn(m, c);
}

/* True when the command is the one that was chosen to fail. */
static bool
fault_hits(struct tp_model *m, uint16_t opcode)
{
	struct tpm_fault *f = &m->fault;

	if (!f->armed || (f->opcode != 0 && f->opcode != opcode))
		return false;
	if (--f->countdown != 0)
		return false;
	f->armed = false;
	tpm_note(m, "injected fault in command 0x%x", opcode);
	return true;
}

/* Whatever the command answers becomes random, the same for one seed. */
static void
rubbish(struct tpm_cmd *c, uint8_t seed)
{
	uint32_t x = seed * 2654435761u + 1, i;

	for (i = 0; i < RUBBISH_LEN; i++) {
		x = x * 1664525u + 1013904223u;
		if (c->out != NULL)
			c->out[i] = (uint8_t)(x >> 24);
		c->imm = c->imm << 8 | x >> 24;
	}
}

static void
complete_event(struct tp_model *m, const struct tpm_cmd *c, uint8_t status)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {0};

	if (m->event_eq[MLX4_EVENT_CMD] == TPM_EQ_NONE) {
		tpm_violate(m, TPM_V_CMD_EVENT, "command", c->opcode,
			    "asks for completion by event, but MAP_EQ gave event 0x%x to no EQ", MLX4_EVENT_CMD);
		return;
	}
	prm_set(eqe, MLX4_EQE_TYPE, MLX4_EVENT_CMD);
	prm_set(eqe, MLX4_EQE_CMD_TOKEN, prm_get(m->hcr, MLX4_HCR_F_TOKEN));
	prm_set(eqe, MLX4_EQE_CMD_STATUS, status);
	prm_set64(eqe, MLX4_EQE_CMD_OUT_PARAM, c->imm);
	tpm_event(m, MLX4_EVENT_CMD, eqe);
}

static void
complete(struct tp_model *m, const struct tpm_cmd *c, uint8_t status)
{
	uint32_t ctrl = prm_get32(m->hcr, MLX4_HCR_CTRL);
	int i = tpm_cmd_index(c->opcode);

	if (status != MLX4_STAT_OK) {
		m->st.commands_failed++;
		tpm_note(m, "command 0x%x (%s) ends with status 0x%x: %s", c->opcode,
			 i < 0 ? "unknown" : tpm_cmd_info[i].name, status, status_text(status));
	}
	if (i >= 0 && (tpm_cmd_info[i].out == TPM_ARG_IMM || c->has_imm))
		prm_set64(m->hcr, MLX4_HCR_OUT_PARAM, c->imm);
	m->hcr_result = (ctrl & ~(MLX4_HCR_GO | 0xff000000u)) | (uint32_t)status << 24;
	m->hcr_busy_reads = m->cfg.cmd_latency_reads;
	if (m->hcr_busy_reads == 0)
		prm_set32(m->hcr, MLX4_HCR_CTRL, m->hcr_result);
	if ((ctrl & MLX4_HCR_EVENT) != 0)
		complete_event(m, c, status);
}

void
tpm_cmd_execute(struct tp_model *m)
{
	struct tpm_cmd c = {
		.in_param = prm_get64(m->hcr, MLX4_HCR_IN_PARAM),
		.in_modifier = prm_get32(m->hcr, MLX4_HCR_IN_MODIFIER),
		.out_param = prm_get64(m->hcr, MLX4_HCR_OUT_PARAM),
		.opcode = (uint16_t)prm_get(m->hcr, MLX4_HCR_F_OPCODE),
		.op_modifier = (uint8_t)prm_get(m->hcr, MLX4_HCR_F_OP_MODIFIER),
	};
	const struct timespec pause = {.tv_sec = m->fault.status / 100, .tv_nsec = m->fault.status % 100 * SLOW_NS};
	bool hit = m->state != TPM_SYS_DEAD && fault_hits(m, c.opcode);
	uint8_t status;

	m->st.commands++;
	if (hit && m->fault.kind == TP_FAULT_SLOW)
		nanosleep(&pause, NULL);
	if (hit && m->fault.kind < TP_FAULT_RUBBISH) {
		if (m->fault.kind == TP_FAULT_STATUS) {
			complete(m, &c, m->fault.status);
			return;
		}
		if (m->fault.kind == TP_FAULT_CATAS)
			tpm_die(m, CATAS_SYNDROME, "injected fault");
		m->hcr_busy_reads = UINT32_MAX;
		return;
	}
	if (m->state == TPM_SYS_DEAD) {
		/* A dead card leaves GO set: only the reset register still answers. */
		m->hcr_busy_reads = UINT32_MAX;
		return;
	}
	/* A card sees a doorbell before the command that was posted after it; here it may wait in its page. */
	if (m->state == TPM_SYS_HCA)
		(void)tpm_uar_poll(m);
	if (tpm_unlikely(m->trace != NULL))
		tpm_trace_input(m, &c);
	status = tpm_unlikely(m->replay != NULL) ? tpm_replay_refuses(m, &c) : MLX4_STAT_OK;
	if (status == MLX4_STAT_OK)
		status = run(m, &c);
	if (tpm_unlikely(m->replay != NULL) && status == MLX4_STAT_OK)
		tpm_replay_answer(m, &c);
	if (tpm_unlikely(hit) && m->fault.kind == TP_FAULT_RUBBISH)
		rubbish(&c, m->fault.status);
	if (tpm_unlikely(m->trace != NULL))
		tpm_trace_output(m, &c, status);
	complete(m, &c, status);
}
