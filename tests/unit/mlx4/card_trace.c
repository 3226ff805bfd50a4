/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdlib.h>

#include "rig.h"

#include "card_trace.h"

void
card_trace_begin(struct card_trace *t, struct tp_model *m)
{
	memset(t, 0, sizeof(*t));
	t->model = m;
	t->f = open_memstream(&t->text, &t->len);
	assert_non_null(t->f);
	tp_model_trace(m, t->f);
}

void
card_trace_end(struct card_trace *t)
{
	tp_model_trace(t->model, NULL);
	fclose(t->f);
}

void
card_trace_free(struct card_trace *t)
{
	free(t->text);
}

/* The next line "dump command NAME(0x..) INPUT" from p on. */
static const char *
next_input(const char *p, const char *command)
{
	char head[64];

	snprintf(head, sizeof(head), "dump command %s(", command);
	while ((p = strstr(p, head)) != NULL) {
		const char *word = strchr(p, ')');

		if (word != NULL && strncmp(word, ") INPUT", 7) == 0)
			return p;
		p++;
	}
	return NULL;
}

unsigned int
card_trace_count(const struct card_trace *t, const char *command)
{
	const char *p = t->text;
	unsigned int n = 0;

	while ((p = next_input(p, command)) != NULL) {
		n++;
		p++;
	}
	return n;
}

const char *
card_trace_box(struct card_trace *t, const char *command, const char *in_modifier)
{
	const char *p = t->text, *box, *end;
	char word[64];
	bool found = false;

	snprintf(word, sizeof(word), " in_modifier %s ", in_modifier);
	for (; (p = next_input(p, command)) != NULL; p++) {
		box = strchr(p, '\n') + 1;
		end = strstr(box, "dump command");
		if (end == NULL || strncmp(strstr(end, "OUTPUT"), "OUTPUT: status 0x0", 18) != 0 ||
		    strstr(p, word) == NULL || strstr(p, word) > box)
			continue;
		snprintf(t->box, sizeof(t->box), "%.*s", (int)(end - box), box);
		found = true;
	}
	if (!found)
		fail_msg("no %s%sin:\n%s", command, word, t->text);
	return t->box;
}
