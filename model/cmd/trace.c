/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Commands as text: a headline, then the mailbox in lines of an offset and four dwords. Runs of lines that are all zero
 * are left out, so that a diff of two traces shows what differs.
 */
#include <inttypes.h>

#include "model/mem/mem.h"
#include "cmd.h"

#define LINE 16u

static void
dump(FILE *f, const uint8_t *mbox)
{
	for (uint32_t off = 0; off < MLX4_MAILBOX_SIZE; off += LINE) {
		uint32_t v[4];

		for (uint32_t i = 0; i < 4; i++)
			v[i] = prm_get32(mbox, off + 4 * i);
		if ((v[0] | v[1] | v[2] | v[3]) != 0)
			fprintf(f, "%03x: %08x %08x %08x %08x\n", off, v[0], v[1], v[2], v[3]);
	}
}

void
tpm_trace_input(struct tp_model *m, const struct tpm_cmd *c)
{
	int i = tpm_cmd_index(c->opcode);
	const uint8_t *in = NULL;

	fprintf(m->trace,
		"dump command %s(0x%x) INPUT: op_modifier 0x%x in_modifier 0x%x in_param 0x%" PRIx64
		" out_param 0x%" PRIx64 "%s\n",
		i < 0 ? "unknown" : tpm_cmd_info[i].name, c->opcode, c->op_modifier, c->in_modifier, c->in_param,
		c->out_param, (prm_get32(m->hcr, MLX4_HCR_CTRL) & MLX4_HCR_EVENT) != 0 ? " event" : "");
	if (i >= 0 && tpm_cmd_info[i].in == TPM_ARG_MBOX)
		in = tpm_dma_probe(m, c->in_param, MLX4_MAILBOX_SIZE, TP_DMA_READ, NULL);
	if (in != NULL)
		dump(m->trace, in);
}

void
tpm_trace_output(struct tp_model *m, const struct tpm_cmd *c, uint8_t status)
{
	int i = tpm_cmd_index(c->opcode);

	fprintf(m->trace, "dump command %s(0x%x) OUTPUT: status 0x%x", i < 0 ? "unknown" : tpm_cmd_info[i].name,
		c->opcode, status);
	if (i >= 0 && tpm_cmd_info[i].out == TPM_ARG_IMM)
		fprintf(m->trace, " immediate 0x%" PRIx64, c->imm);
	fprintf(m->trace, "\n");
	if (c->out != NULL)
		dump(m->trace, c->out);
	fflush(m->trace);
}

void
tp_model_trace(struct tp_model *m, FILE *f)
{
	tpm_lock(&m->lock);
	m->trace = f;
	tpm_unlock(&m->lock);
}
