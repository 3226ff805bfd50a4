/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which commands there are, what goes in and out with them [CP 3.1], and what their arguments name: mailboxes, objects, ports. */
#include <inttypes.h>

#include "model/mem/mem.h"
#include "cmd.h"

const struct tpm_cmd_info tpm_cmd_info[] = {
#define INFO(name, opc, in, out) {#name, (opc), TPM_ARG_##in, TPM_ARG_##out},
	MLX4_CMD_LIST(INFO)
#undef INFO
};
const unsigned int tpm_cmd_info_count = sizeof(tpm_cmd_info) / sizeof(tpm_cmd_info[0]);

int
tpm_cmd_index(uint16_t opcode)
{
	for (unsigned int i = 0; i < tpm_cmd_info_count; i++)
		if (tpm_cmd_info[i].opcode == opcode)
			return (int)i;
	return -1;
}

static uint8_t *
mailbox(struct tp_model *m, uint64_t addr, uint32_t prot, const char *cmd)
{
	if (addr % MLX4_MAILBOX_SIZE != 0) {
		tpm_violate(m, TPM_V_MBOX_ALIGN, cmd, 0, "mailbox at 0x%" PRIx64 ", wanted a multiple of %u", addr,
			    MLX4_MAILBOX_SIZE);
		return NULL;
	}
	return tpm_dma(m, addr, MLX4_MAILBOX_SIZE, prot, cmd);
}

/* Mailboxes of commands that have one or none depending on op_modifier: the handler asks. */
bool
tpm_cmd_need_in(struct tp_model *m, struct tpm_cmd *c)
{
	c->in = mailbox(m, c->in_param, TP_DMA_READ, tpm_cmd_info[tpm_cmd_index(c->opcode)].name);
	return c->in != NULL;
}

bool
tpm_cmd_need_out(struct tp_model *m, struct tpm_cmd *c)
{
	c->out = mailbox(m, c->out_param, TP_DMA_WRITE, tpm_cmd_info[tpm_cmd_index(c->opcode)].name);
	return c->out != NULL;
}

bool
tpm_cmd_may_out(struct tp_model *m, struct tpm_cmd *c)
{
	if (c->op_modifier != 0)
		return true;
	if (c->out_param != 0)
		return tpm_cmd_need_out(m, c);
	tpm_violate(m, TPM_V_OUTBOX, tpm_cmd_info[tpm_cmd_index(c->opcode)].name, c->in_modifier,
		    "op_modifier 0 with a mailbox at 0, wanted op_modifier %u", MLX4_OPM_NO_OUTBOX);
	return true;
}

uint8_t
tpm_index_check(struct tp_model *m, const char *obj, uint32_t num, uint32_t lg, uint32_t reserved)
{
	if (num >= 1u << lg || num < reserved)
		return tpm_fail(m, BAD_INDEX, CMD_INDEX, obj, num, "wanted 0x%x..0x%x", reserved, (1u << lg) - 1);
	return MLX4_STAT_OK;
}

struct tpm_port *
tpm_cmd_port(struct tp_model *m, const char *cmd, uint32_t port)
{
	if (port >= 1 && port <= m->cfg.num_ports)
		return &m->port[port - 1];
	tpm_violate(m, TPM_V_CMD_INDEX, cmd, port, "port %u, wanted 1..%u", port, m->cfg.num_ports);
	return NULL;
}
