/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Help and the reference in Markdown, both from the command table. */
#include <errno.h>
#include <string.h>

#include "cmd.h"

/* The syntax as a user reads it: values in angle brackets. */
static void
print_syntax(const struct cmd_def *def, FILE *f)
{
	unsigned int i, open = 0;

	for (i = 0; i < def->n; i++) {
		const struct cmd_tok *tok = &def->tok[i];

		fprintf(f, "%s", i == 0 ? "" : " ");
		if (tok->may_stop) {
			fputc('[', f);
			open++;
		}
		if (tok->kind == CMD_WORD)
			fputs(tok->want, f);
		else if (tok->kind == CMD_CHOICE && strchr(tok->want, '|') != NULL && strlen(tok->want) < 40)
			fprintf(f, "{%s}", tok->want);
		else
			fprintf(f, "<%s>", tok->name);
	}
	while (open-- > 0)
		fputc(']', f);
	if (def->cmd->shows)
		fputs(" [json]", f);
}

static bool
needs_explanation(const struct cmd_tok *tok)
{
	return tok->kind != CMD_WORD && !(tok->kind == CMD_CHOICE && strlen(tok->want) < 40);
}

static void
print_values(const struct cmd_def *def, FILE *f, const char *format)
{
	unsigned int i;

	for (i = 0; i < def->n; i++)
		if (needs_explanation(&def->tok[i]))
			fprintf(f, format, def->tok[i].name, def->tok[i].want);
}

static bool
selected(const struct cmd_def *def, const char *topic)
{
	char words[CMD_MAX_LINE] = "";
	unsigned int i;

	if (topic == NULL || strcmp(def->cmd->topic, topic) == 0)
		return true;
	for (i = 0; i < def->n && def->tok[i].kind == CMD_WORD; i++) {
		if (i > 0)
			strcat(words, " ");
		strncat(words, def->tok[i].want, sizeof(words) - strlen(words) - 2);
	}
	return strncmp(words, topic, strlen(topic)) == 0;
}

int
cmd_help(struct cmd_reg *reg, const char *topic, FILE *f)
{
	const char *last = "";
	unsigned int i, n = 0;

	for (i = 0; i < reg->num_defs; i++) {
		const struct cmd_def *def = reg->def[i];

		if (!selected(def, topic))
			continue;
		n++;
		if (strcmp(last, def->cmd->topic) != 0)
			fprintf(f, "%s%s\n", n == 1 ? "" : "\n", def->cmd->topic);
		last = def->cmd->topic;
		fputs("  ", f);
		print_syntax(def, f);
		fprintf(f, "\n      %s\n", def->cmd->help);
		if (topic != NULL)
			print_values(def, f, "      <%s>: %s\n");
	}
	return n == 0 ? -ENOENT : 0;
}

void
cmd_help_markdown(struct cmd_reg *reg, FILE *f)
{
	const char *last = "";
	unsigned int i;

	for (i = 0; i < reg->num_defs; i++) {
		const struct cmd_def *def = reg->def[i];

		if (strcmp(last, def->cmd->topic) != 0)
			fprintf(f, "\n## %s\n", def->cmd->topic);
		last = def->cmd->topic;
		fputs("\n### `", f);
		print_syntax(def, f);
		fprintf(f, "`\n\n%s\n", def->cmd->help);
		for (unsigned int k = 0, head = 0; k < def->n; k++) {
			if (!needs_explanation(&def->tok[k]))
				continue;
			fprintf(f, "%s- `%s`: %s%s%s\n", head++ == 0 ? "\n" : "", def->tok[k].name,
				def->tok[k].kind == CMD_CHOICE ? "`" : "", def->tok[k].want,
				def->tok[k].kind == CMD_CHOICE ? "`" : "");
		}
	}
}
