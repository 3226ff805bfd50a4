/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "trace.h"

#include <inttypes.h>

#include "mlx4_prm.h"

#define LINE 16u

void
trace_put_box(FILE *f, const void *box, uint32_t len)
{
	uint32_t off, i, v[4];

	for (off = 0; off < len; off += LINE) {
		for (i = 0; i < 4; i++)
			v[i] = prm_get32(box, off + 4 * i);
		if ((v[0] | v[1] | v[2] | v[3]) != 0)
			fprintf(f, "%03x: %08x %08x %08x %08x\n", off, v[0], v[1], v[2], v[3]);
	}
}

void
trace_put_input(FILE *f, const struct trace_cmd *c)
{
	fprintf(f,
		"dump command %s(0x%x) INPUT: op_modifier 0x%x in_modifier 0x%x in_param 0x%" PRIx64
		" out_param 0x%" PRIx64 "%s\n",
		c->name, c->opcode, c->op_modifier, c->in_modifier, c->in_param, c->out_param,
		c->event ? " event" : "");
	if (c->in != NULL)
		trace_put_box(f, c->in, TRACE_BOX);
}

void
trace_put_output(FILE *f, const struct trace_cmd *c)
{
	fprintf(f, "dump command %s(0x%x) OUTPUT: status 0x%x", c->name, c->opcode, c->status);
	if (c->has_imm)
		fprintf(f, " immediate 0x%" PRIx64, c->imm);
	fprintf(f, "\n");
	if (c->out != NULL)
		trace_put_box(f, c->out, TRACE_BOX);
	fflush(f);
}

void
trace_put_mtt(FILE *f, uint64_t off, uint64_t val)
{
	fprintf(f, "mtt 0x%" PRIx64 " 0x%016" PRIx64 "\n", off, val);
}

void
trace_put_reg(FILE *f, const char *way, uint32_t off, uint32_t val)
{
	fprintf(f, "%s 0x%05x 0x%08x\n", way, off, val);
}
