/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Registration: from the text of a syntax to tokens, once, so that a wrong table is found when the program starts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

#define REST "rest="

static const struct {
	const char *name;
	enum cmd_kind kind;
	const char *want;
} kinds[] = {
	{"port", CMD_PORT, "a port"},
	{"ports", CMD_PORTS, "ports such as 0,2-3, or all"},
	{"list", CMD_LIST, "numbers such as 1,4-6"},
	{"mac", CMD_MAC, "a MAC address such as 02:00:00:00:00:01"},
	{"ip4", CMD_IP4, "an IPv4 address such as 198.18.0.1"},
	{"hex", CMD_HEX, "hexadecimal octets without blanks"},
	{"str", CMD_STR, "a word"},
	{"rest", CMD_REST, "text"},
};

int
cmd_reg_create(void *app, cmd_ports_fn ports, struct cmd_reg **out)
{
	struct cmd_reg *reg = calloc(1, sizeof(*reg));

	if (reg == NULL)
		return -ENOMEM;
	reg->app = app;
	reg->ports = ports;
	*out = reg;
	return 0;
}

void
cmd_reg_free(struct cmd_reg *reg)
{
	unsigned int i;

	if (reg == NULL)
		return;
	for (i = 0; i < reg->num_defs; i++) {
		free(reg->def[i]->text);
		free(reg->def[i]);
	}
	free(reg);
}

void
cmd_reg_topics(struct cmd_reg *reg, const struct cmd_topic *topics, unsigned int n)
{
	reg->topic = topics;
	reg->num_topics = n;
}

int
cmd_reg_set(struct cmd_reg *reg, const struct cmd_set *set)
{
	if (reg->num_sets == sizeof(reg->set) / sizeof(reg->set[0]))
		return -ENOSPC;
	reg->set[reg->num_sets++] = set;
	return 0;
}

/* The words of a set, joined as in a choice; kept with the command that names it. */
static char *
set_words(const struct cmd_reg *reg, const char *name)
{
	const struct cmd_set *set = NULL;
	size_t len = 1;
	char *text;
	unsigned int i;

	for (i = 0; i < reg->num_sets; i++)
		if (strcmp(reg->set[i]->name, name) == 0)
			set = reg->set[i];
	if (set == NULL)
		return NULL;
	for (i = 0; i < set->n; i++)
		len += strlen(set->words[i]) + 1;
	text = calloc(1, len);
	for (i = 0; text != NULL && i < set->n; i++) {
		strcat(text, i == 0 ? "" : "|");
		strcat(text, set->words[i]);
	}
	return text;
}

/* "{name:what}" without the braces. */
static int
compile_value(char *spec, struct cmd_tok *tok)
{
	char *what = strchr(spec, ':'), *end;
	size_t i;

	if (what == NULL || what == spec)
		return -EINVAL;
	*what++ = '\0';
	tok->name = spec;
	if (strncmp(what, REST, strlen(REST)) == 0) {
		tok->words = what + strlen(REST);
		what[strlen(REST) - 1] = '\0';
	}
	tok->want = what;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, what) == 0) {
			tok->kind = kinds[i].kind;
			tok->want = kinds[i].want;
			return 0;
		}
	}
	end = strstr(what, "..");
	if (end == NULL) {
		tok->kind = CMD_CHOICE;
		return *what == '\0' ? -EINVAL : 0;
	}
	tok->kind = CMD_NUM;
	tok->min = strtoull(what, NULL, 0);
	tok->max = strtoull(end + 2, NULL, 0);
	return tok->min <= tok->max ? 0 : -EINVAL;
}

/* Replaces {name:@set} by the set's words; result is malloc'ed. */
static char *
expand_sets(const struct cmd_reg *reg, const char *syntax)
{
	char *out = strdup(syntax), *at, *words, *more, *end;

	while (out != NULL && (at = strchr(out, '@')) != NULL) {
		end = strchr(at, '}');
		if (end == NULL)
			goto bad;
		*end = '\0';
		words = set_words(reg, at + 1);
		if (words == NULL)
			goto bad;
		*at = '\0';
		if (asprintf(&more, "%s%s}%s", out, words, end + 1) < 0)
			more = NULL;
		free(words);
		free(out);
		out = more;
	}
	return out;
bad:
	free(out);
	return NULL;
}

int
cmd_syntax_compile(struct cmd_reg *reg, const struct cmd *cmd, struct cmd_def *def)
{
	char *save = NULL, *word;
	unsigned int depth = 0;

	memset(def, 0, sizeof(*def));
	def->cmd = cmd;
	def->text = expand_sets(reg, cmd->syntax);
	if (def->text == NULL)
		return -EINVAL;
	for (word = strtok_r(def->text, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
		struct cmd_tok *tok = &def->tok[def->n];
		size_t len;

		if (def->n == CMD_MAX_TOKENS)
			goto bad;
		while (*word == '[') {
			tok->may_stop = true;
			depth++;
			word++;
		}
		for (len = strlen(word); len > 0 && word[len - 1] == ']'; word[--len] = '\0')
			depth--;
		if (*word == '{' && word[len - 1] == '}') {
			word[len - 1] = '\0';
			if (compile_value(word + 1, tok) != 0)
				goto bad;
		} else {
			tok->kind = CMD_WORD;
			tok->name = tok->want = word;
		}
		def->n++;
	}
	if (def->n != 0 && depth == 0)
		return 0;
bad:
	free(def->text);
	def->text = NULL;
	return -EINVAL;
}

int
cmd_reg_add(struct cmd_reg *reg, const struct cmd *cmds, unsigned int n)
{
	unsigned int i;
	int ret;

	for (i = 0; i < n; i++) {
		struct cmd_def *def;

		if (reg->num_defs == CMD_MAX_CMDS)
			return -ENOSPC;
		def = calloc(1, sizeof(*def));
		if (def == NULL)
			return -ENOMEM;
		ret = cmd_syntax_compile(reg, &cmds[i], def);
		if (ret != 0) {
			fprintf(stderr, "error: wrong syntax in the command table: '%s'\n", cmds[i].syntax);
			free(def);
			return ret;
		}
		reg->def[reg->num_defs++] = def;
	}
	return 0;
}
