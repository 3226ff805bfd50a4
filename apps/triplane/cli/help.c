/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Help and the reference in Markdown, both from the command table. */
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "columns.h"

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
print_values(const struct cmd_def *def, unsigned int line, FILE *f)
{
	char text[CMD_MAX_LINE * 2];
	unsigned int i;

	for (i = 0; i < def->n; i++) {
		if (!needs_explanation(&def->tok[i]))
			continue;
		snprintf(text, sizeof(text), "<%s>: %s", def->tok[i].name, def->tok[i].want);
		columns_wrap(text, 6, line, f);
	}
}

static bool
same_start(const char *text, const char *part)
{
	return strncasecmp(text, part, strlen(part)) == 0;
}

/* By its first words. */
static bool
called(const struct cmd_def *def, const char *topic)
{
	char words[CMD_MAX_LINE] = "";
	unsigned int i;

	for (i = 0; i < def->n && def->tok[i].kind == CMD_WORD; i++) {
		if (i > 0)
			strcat(words, " ");
		strncat(words, def->tok[i].want, sizeof(words) - strlen(words) - 2);
	}
	return strncmp(words, topic, strlen(topic)) == 0;
}

enum fits { FITS_ALL, FITS_GROUP, FITS_COMMAND, FITS_START };

static bool
selected(const struct cmd_def *def, enum fits how, const char *topic)
{
	switch (how) {
	case FITS_ALL: return true;
	case FITS_GROUP: return strcasecmp(def->cmd->topic, topic) == 0;
	case FITS_COMMAND: return called(def, topic);
	default: return same_start(def->cmd->topic, topic);
	}
}

static unsigned int
print_selected(const struct cmd_reg *reg, enum fits how, const char *topic, FILE *f)
{
	const unsigned int line = columns_of(f);
	const char *last = "";
	unsigned int i, n = 0;

	for (i = 0; i < reg->num_defs; i++) {
		const struct cmd_def *def = reg->def[i];

		if (!selected(def, how, topic))
			continue;
		n++;
		if (strcmp(last, def->cmd->topic) != 0)
			fprintf(f, "%s%s\n", n == 1 ? "" : "\n", def->cmd->topic);
		last = def->cmd->topic;
		fputs("  ", f);
		print_syntax(def, f);
		fputc('\n', f);
		columns_wrap(def->cmd->help, 6, line, f);
		if (how != FITS_ALL)
			print_values(def, line, f);
	}
	return n;
}

/* The groups with a line each, in the order in which their first commands came. */
static void
print_index(const struct cmd_reg *reg, FILE *f)
{
	const unsigned int line = columns_of(f);
	unsigned int i, k;

	fputs("'help GROUP' or 'help COMMAND' shows more, 'help all' everything:\n", f);
	for (i = 0; i < reg->num_defs; i++) {
		const char *name = reg->def[i]->cmd->topic, *text = "";

		for (k = 0; k < i && strcmp(reg->def[k]->cmd->topic, name) != 0; k++)
			;
		if (k != i)
			continue;
		for (k = 0; k < reg->num_topics; k++)
			if (strcmp(reg->topic[k].name, name) == 0)
				text = reg->topic[k].text;
		fprintf(f, "  %-15s %.*s\n", name, (int)(line > 18 ? line - 18 : 0), text);
	}
}

int
cmd_help(struct cmd_reg *reg, const char *topic, FILE *f)
{
	if (topic == NULL) {
		print_index(reg, f);
		return 0;
	}
	if (strcmp(topic, "all") == 0)
		return print_selected(reg, FITS_ALL, topic, f) == 0 ? -ENOENT : 0;
	return print_selected(reg, FITS_GROUP, topic, f) == 0 && print_selected(reg, FITS_COMMAND, topic, f) == 0 &&
			       print_selected(reg, FITS_START, topic, f) == 0
		       ? -ENOENT
		       : 0;
}

static void
markdown_command(const struct cmd_def *def, FILE *f)
{
	unsigned int i, head = 0;

	fputs("\n### `", f);
	print_syntax(def, f);
	fprintf(f, "`\n\n%s\n", def->cmd->help);
	for (i = 0; i < def->n; i++) {
		if (!needs_explanation(&def->tok[i]))
			continue;
		fprintf(f, "%s- `%s`: %s%s%s\n", head++ == 0 ? "\n" : "", def->tok[i].name,
			def->tok[i].kind == CMD_CHOICE ? "`" : "", def->tok[i].want,
			def->tok[i].kind == CMD_CHOICE ? "`" : "");
	}
}

/* Whether a command before this one has its topic. */
static bool
topic_began(const struct cmd_reg *reg, unsigned int at)
{
	unsigned int i;

	for (i = 0; i < at; i++)
		if (strcmp(reg->def[i]->cmd->topic, reg->def[at]->cmd->topic) == 0)
			return true;
	return false;
}

/* Several tables have commands of a topic; the reference has each topic once. */
void
cmd_help_markdown(struct cmd_reg *reg, FILE *f)
{
	unsigned int i, k;

	for (i = 0; i < reg->num_defs; i++) {
		if (topic_began(reg, i))
			continue;
		fprintf(f, "\n## %s\n", reg->def[i]->cmd->topic);
		for (k = i; k < reg->num_defs; k++)
			if (strcmp(reg->def[k]->cmd->topic, reg->def[i]->cmd->topic) == 0)
				markdown_command(reg->def[k], f);
	}
}
