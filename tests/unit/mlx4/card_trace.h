/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The commands that a model card got meanwhile, with their mailboxes as text. */
#ifndef MLX4_CARD_TRACE_H
#define MLX4_CARD_TRACE_H

#include "tp_model.h"

struct card_trace {
	struct tp_model *model;
	FILE *f;
	char *text;
	size_t len;
	char box[4096];
};

void card_trace_begin(struct card_trace *t, struct tp_model *m);
void card_trace_end(struct card_trace *t);
void card_trace_free(struct card_trace *t);
/* How many commands of this name there were. */
unsigned int card_trace_count(const struct card_trace *t, const char *command);
/*
 * The input mailbox of the last command of this name with this in_modifier that succeeded: lines of four dwords that are
 * not all zero. Fails the test when there was none.
 */
const char *card_trace_box(struct card_trace *t, const char *command, const char *in_modifier);

#endif /* MLX4_CARD_TRACE_H */
