/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Traces of a card as text (docs/traces.md): firmware commands with their mailboxes, what the driver wrote and read in the
 * card's registers, and the first entries of queues. Driver and model write the same lines, so that two can be compared.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TRACE_BOX 4096u /* bytes of a mailbox */
#define TRACE_ERR 256u
#define TRACE_NAME 32u

struct trace_cmd {
	char name[TRACE_NAME];
	uint64_t in_param, out_param, imm;
	uint32_t in_modifier;
	unsigned int line; /* of the file, where it begins */
	uint16_t opcode;
	uint8_t op_modifier, status;
	bool event;    /* completes by an event */
	bool answered; /* has an OUTPUT line */
	bool has_imm;
	const uint8_t *in, *out; /* TRACE_BOX bytes each, or NULL: all zeros, or none */
};

/* What else changes a card's answers: entries of the translation table, which software writes itself, and resets. */
struct trace_step {
	bool reset;
	uint64_t off, val;   /* of an entry: bytes from the table's begin; address and flags */
	unsigned int before; /* index of the command that it comes before */
};

/* What a file holds of commands, in its order. */
struct trace {
	struct trace_cmd *cmd;
	unsigned int num, room;
	struct trace_step *step;
	unsigned int num_steps, room_steps;
	unsigned int others; /* lines of registers and queues */
};

/* A headline and the mailbox, which may be NULL. */
void trace_put_input(FILE *f, const struct trace_cmd *c);
void trace_put_output(FILE *f, const struct trace_cmd *c);
void trace_put_mtt(FILE *f, uint64_t off, uint64_t val);
/* way: read or write. */
void trace_put_reg(FILE *f, const char *way, uint32_t off, uint32_t val);
/* len bytes (a multiple of 16) as lines of an offset and four dwords; lines that are all zero are left out. */
void trace_put_box(FILE *f, const void *box, uint32_t len);

/* Reads a file. 0, or a negative errno with the reason, which names the line. */
int trace_load(struct trace *t, const char *path, char err[TRACE_ERR]);
void trace_free(struct trace *t);

#endif /* TRACE_TRACE_H */
