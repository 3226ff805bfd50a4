/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Two answers to one command, by the names of the fields. */
#include "replay.h"

#include <inttypes.h>
#include <string.h>

#include "mlx4_prm_cc.h"
#include "mlx4_prm_cmd.h"
#include "mlx4_prm_ctx.h"

struct field {
	const char *prefix, *name;
	uint32_t field;
	unsigned int bytes; /* 8: the offset of a 64-bit number */
};

static const struct field fields[] = {
#include "fields.inc"
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Whose fields an answer has; NULL: none that have names. */
static const char *
prefix_of(uint16_t opcode)
{
	static const struct {
		uint16_t opcode;
		const char *prefix;
	} known[] = {
		{MLX4_CMD_QUERY_FW, "QFW"},       {MLX4_CMD_QUERY_DEV_CAP, "CAP"}, {MLX4_CMD_QUERY_ADAPTER, "ADAPTER"},
		{MLX4_CMD_QUERY_HCA, "HCA"},      {MLX4_CMD_QUERY_PORT, "QPORT"},  {MLX4_CMD_QUERY_FUNC, "QFUNC"},
		{MLX4_CMD_QUERY_CQ, "CQC"},       {MLX4_CMD_HW2SW_CQ, "CQC"},      {MLX4_CMD_QUERY_EQ, "EQC"},
		{MLX4_CMD_HW2SW_EQ, "EQC"},       {MLX4_CMD_QUERY_SRQ, "SRQC"},    {MLX4_CMD_QUERY_MPT, "MPT"},
		{MLX4_CMD_HW2SW_MPT, "MPT"},      {MLX4_CMD_READ_MCG, "MCG"},      {MLX4_CMD_DUMP_ETH_STATS, "STATS"},
		{MLX4_CMD_CONGESTION_CTRL, "CC"},
	};

	for (unsigned int i = 0; i < COUNT(known); i++)
		if (known[i].opcode == opcode)
			return known[i].prefix;
	return NULL;
}

bool
rp_is_still(uint16_t opcode)
{
	static const uint16_t moving[] = {
		MLX4_CMD_QUERY_QP,       MLX4_CMD_QUERY_CQ,        MLX4_CMD_QUERY_EQ,  MLX4_CMD_QUERY_SRQ,
		MLX4_CMD_HW2SW_CQ,       MLX4_CMD_HW2SW_EQ,        MLX4_CMD_HW2SW_SRQ, MLX4_CMD_HW2SW_MPT,
		MLX4_CMD_DUMP_ETH_STATS, MLX4_CMD_QUERY_IF_STAT,   MLX4_CMD_DIAG_RPRT, MLX4_CMD_CONGESTION_CTRL,
		MLX4_CMD_MAD_IFC,        MLX4_CMD_HW_HEALTH_CHECK,
	};

	for (unsigned int i = 0; i < COUNT(moving); i++)
		if (moving[i] == opcode)
			return false;
	return true;
}

/* What belongs to one card and to its cable, and to none of its kind: not compared. */
static bool
is_own(const struct field *f)
{
	static const char *const own[] = {"QPORT mac",       "QPORT link_up",  "QPORT an_done", "QPORT eth_speed",
					  "QPORT ib_speed",  "QPORT ib_width", "QFW build_hms", "QFW build_year",
					  "QFW build_month", "QFW build_day"};
	char text[64];

	snprintf(text, sizeof(text), "%s %s", f->prefix, f->name);
	for (unsigned int i = 0; i < COUNT(own); i++)
		if (strcmp(own[i], text) == 0)
			return true;
	return false;
}

static uint64_t
value(const uint8_t *box, const struct field *f)
{
	return f->bytes == 8 ? prm_get64(box, f->field) : prm_get(box, f->field);
}

/* Takes the field's bits out of both, so that what is left has no name. */
static void
clear(uint8_t *box, const struct field *f)
{
	if (f->bytes == 8)
		prm_set64(box, f->field, 0);
	else
		prm_set(box, f->field, 0);
}

static void
headline(FILE *f, const struct trace_cmd *c)
{
	fprintf(f, "line %u: %s (0x%03x), op_modifier %u, in_modifier 0x%x: ", c->line, c->name, c->opcode,
		c->op_modifier, c->in_modifier);
}

/* A place may have two names, where commands share a prefix: the first one that differs is told, and its bits are told once. */
static unsigned int
compare_boxes(FILE *f, const struct trace_cmd *was, uint8_t *a, uint8_t *b, unsigned int room)
{
	const char *prefix = prefix_of(was->opcode);
	unsigned int n = 0;
	uint32_t off;

	for (unsigned int i = 0; i < COUNT(fields) && prefix != NULL; i++) {
		const struct field *d = &fields[i];
		uint64_t va, vb;

		if (strcmp(d->prefix, prefix) != 0)
			continue;
		va = value(a, d);
		vb = value(b, d);
		clear(a, d);
		clear(b, d);
		if (va == vb || is_own(d))
			continue;
		if (n++ < room) {
			headline(f, was);
			fprintf(f, "%s is 0x%" PRIx64 ", the model's 0x%" PRIx64 "\n", d->name, va, vb);
		}
	}
	for (off = 0; off < TRACE_BOX; off += 4) {
		if (prm_get32(a, off) == prm_get32(b, off))
			continue;
		if (n++ < room) {
			headline(f, was);
			fprintf(f, "%s0x%03x is 0x%08x, the model's 0x%08x\n",
				prefix != NULL ? "bits without a name at " : "", off, prm_get32(a, off),
				prm_get32(b, off));
		}
	}
	return n;
}

unsigned int
rp_compare(FILE *f, const struct trace_cmd *was, const struct trace_cmd *now, const char *why, unsigned int room)
{
	uint8_t a[TRACE_BOX] = {0}, b[TRACE_BOX] = {0};

	if (was->status != now->status) {
		if (room > 0) {
			headline(f, was);
			fprintf(f, "status is 0x%02x, the model's 0x%02x%s%s\n", was->status, now->status,
				why[0] != '\0' ? ": " : "", why);
		}
		return 1;
	}
	if (was->status != MLX4_STAT_OK)
		return 0;
	if (was->has_imm && was->imm != now->imm) {
		if (room > 0) {
			headline(f, was);
			fprintf(f, "the result is 0x%" PRIx64 ", the model's 0x%" PRIx64 "\n", was->imm, now->imm);
		}
		return 1;
	}
	if (was->out != NULL)
		memcpy(a, was->out, TRACE_BOX);
	memcpy(b, now->out, TRACE_BOX);
	return compare_boxes(f, was, a, b, room);
}
