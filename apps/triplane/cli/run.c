/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* From a line to the command it names, with an explanation when it names none; and what could follow a part of one. */
#include <errno.h>
#include <string.h>

#include "cmd.h"

unsigned int
cmd_split(char *line, char *words[CMD_MAX_WORDS + 1])
{
	unsigned int n = 0;
	char *save = NULL, *w;

	for (w = strtok_r(line, " \t\r\n", &save); w != NULL && *w != '#'; w = strtok_r(NULL, " \t\r\n", &save)) {
		if (n == CMD_MAX_WORDS + 1)
			return n;
		words[n++] = w;
	}
	return n;
}

/* How a line fits one command. */
struct fit {
	unsigned int depth; /* tokens that fit */
	bool whole;
	char err[512]; /* about the first token that did not, when it is a value */
};

/* Leaves the words that the rest token swallows to the caller. */
static void
fit_line(struct cmd_reg *reg, const struct cmd_def *def, char **words, unsigned int n, struct cmd_args *args,
	 struct fit *fit)
{
	unsigned int i;

	memset(fit, 0, sizeof(*fit));
	args->tok = def->tok;
	args->n = 0;
	args->json = reg->json;
	if (def->cmd->shows && n > 1 && strcmp(words[n - 1], "json") == 0) {
		args->json = true;
		n--;
	}
	for (i = 0; i < n; i++) {
		const struct cmd_tok *tok = &def->tok[i];

		fit->depth = i;
		if (i == def->n) {
			snprintf(fit->err, sizeof(fit->err), "'%s' is too much after '%s'", words[i],
				 i == 0 ? "nothing" : words[i - 1]);
			return;
		}
		if (cmd_parse_value(reg, tok, words[i], &args->val[i], fit->err, sizeof(fit->err)) != 0) {
			if (tok->kind == CMD_WORD)
				fit->err[0] = '\0';
			return;
		}
		args->n = i + 1;
		if (tok->kind == CMD_REST) {
			fit->depth = n;
			fit->whole = true;
			return;
		}
	}
	fit->depth = n;
	fit->whole = n == def->n || def->tok[n].may_stop;
}

/* Appends what def wants at a depth, unless another command wanted it too. */
static void
add_want(char *buf, size_t len, const struct cmd_def *def, unsigned int depth)
{
	char text[CMD_WORD_LEN * 2], seen[CMD_MAX_LINE * 4 + 4];
	size_t at = strlen(buf);

	if (depth >= def->n)
		return;
	cmd_tok_text(&def->tok[depth], text, sizeof(text));
	snprintf(seen, sizeof(seen), ", %s,", buf);
	{
		char key[sizeof(text) + 4];

		snprintf(key, sizeof(key), ", %s,", text);
		if (strstr(seen, key) != NULL)
			return;
	}
	snprintf(buf + at, len - at, "%s%s", at == 0 ? "" : ", ", text);
}

static void
join(char **words, unsigned int n, char *buf, size_t len)
{
	unsigned int i;
	size_t at = 0;

	buf[0] = '\0';
	for (i = 0; i < n && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%s", i == 0 ? "" : " ", words[i]);
}

/* Nothing fits: name the word and what was wanted in its place, from the commands that got farthest. */
static void
explain(struct cmd_reg *reg, char **words, unsigned int n, unsigned int deepest, char *err, size_t err_len)
{
	char wants[CMD_MAX_LINE * 4] = "", before[CMD_MAX_LINE], reason[512] = "";
	struct cmd_args args;
	unsigned int i, num = 0, values = 0;
	struct fit fit;

	for (i = 0; i < reg->num_defs; i++) {
		fit_line(reg, reg->def[i], words, n, &args, &fit);
		if (fit.depth != deepest)
			continue;
		num++;
		values += fit.err[0] != '\0';
		if (fit.err[0] != '\0')
			snprintf(reason, sizeof(reason), "%s", fit.err);
		add_want(wants, sizeof(wants), reg->def[i], deepest);
	}
	join(words, deepest, before, sizeof(before));
	if (num == 1 && reason[0] != '\0')
		snprintf(err, err_len, "%s", reason);
	else if (deepest == 0)
		snprintf(err, err_len, "unknown command '%s'; want one of: %s", words[0], wants);
	else if (deepest >= n)
		snprintf(err, err_len, "'%s' is not complete; next: %s", before, wants);
	else
		snprintf(err, err_len, "'%s' does not fit after '%s'; want: %s%s%s", words[deepest], before,
			 wants[0] == '\0' ? "nothing" : wants, values == 1 ? "; " : "", values == 1 ? reason : "");
}

int
cmd_run(struct cmd_reg *reg, const char *line, char *err, size_t err_len)
{
	char buf[CMD_MAX_LINE], rest[CMD_MAX_LINE], *words[CMD_MAX_WORDS + 1];
	unsigned int i, n, deepest = 0;
	struct cmd_args args;
	struct fit fit;

	err[0] = '\0';
	if (strlen(line) >= sizeof(buf)) {
		snprintf(err, err_len, "line of %zu characters, want at most %zu", strlen(line), sizeof(buf) - 1);
		return -EINVAL;
	}
	strcpy(buf, line);
	n = cmd_split(buf, words);
	if (n == 0)
		return 0;
	if (n > CMD_MAX_WORDS) {
		snprintf(err, err_len, "more than %u words", CMD_MAX_WORDS);
		return -EINVAL;
	}
	for (i = 0; i < reg->num_defs; i++) {
		fit_line(reg, reg->def[i], words, n, &args, &fit);
		if (fit.depth > deepest)
			deepest = fit.depth;
		if (!fit.whole)
			continue;
		if (args.n > 0 && args.tok[args.n - 1].kind == CMD_REST) {
			join(&words[args.n - 1], n - args.n + 1, rest, sizeof(rest));
			args.val[args.n - 1].text = rest;
		}
		return reg->def[i]->cmd->run(reg->app, &args);
	}
	explain(reg, words, n, deepest, err, err_len);
	return -EINVAL;
}

static unsigned int
add_word(char (*words)[CMD_WORD_LEN], unsigned int n, unsigned int max, const char *word)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (strcmp(words[i], word) == 0)
			return n;
	if (n == max)
		return n;
	snprintf(words[n], CMD_WORD_LEN, "%s", word);
	return n + 1;
}

static unsigned int
complete_token(struct cmd_reg *reg, const struct cmd_tok *tok, const char *part, char (*words)[CMD_WORD_LEN],
	       unsigned int n, unsigned int max)
{
	uint32_t ids[CMD_MAX_LIST];
	char one[CMD_WORD_LEN];
	const char *next;
	unsigned int i, num;

	if (tok->kind == CMD_WORD || tok->kind == CMD_CHOICE || tok->kind == CMD_REST) {
		for (next = tok->kind == CMD_REST ? tok->words : tok->want; next != NULL;) {
			next = cmd_next_word(next, one, sizeof(one));
			if (strncmp(one, part, strlen(part)) == 0)
				n = add_word(words, n, max, one);
		}
	} else if ((tok->kind == CMD_PORT || tok->kind == CMD_PORTS) && reg->ports != NULL) {
		num = reg->ports(reg->app, ids);
		for (i = 0; i < num; i++) {
			snprintf(one, sizeof(one), "%u", ids[i]);
			if (strncmp(one, part, strlen(part)) == 0)
				n = add_word(words, n, max, one);
		}
		if (tok->kind == CMD_PORTS && strncmp("all", part, strlen(part)) == 0)
			n = add_word(words, n, max, "all");
	}
	return n;
}

/* The token that the word behind n words belongs to; NULL: they do not fit, or there is none. */
static const struct cmd_tok *
next_token(struct cmd_reg *reg, const struct cmd_def *def, char **w, unsigned int n)
{
	struct cmd_args args;
	struct fit fit;

	fit_line(reg, def, w, n, &args, &fit);
	if (args.n != 0 && args.n <= n && args.tok[args.n - 1].kind == CMD_REST)
		return &def->tok[args.n - 1];
	return fit.depth == n && args.n == n && n < def->n ? &def->tok[n] : NULL;
}

unsigned int
cmd_complete(struct cmd_reg *reg, const char *line, char (*words)[CMD_WORD_LEN], unsigned int max, unsigned int *typed)
{
	char buf[CMD_MAX_LINE], one[CMD_WORD_LEN], *w[CMD_MAX_WORDS + 1], empty[] = "", *part = empty;
	unsigned int i, n, num = 0, first_typed;
	const struct cmd_tok *tok;
	size_t len = strlen(line);

	*typed = 0;
	if (len >= sizeof(buf))
		return 0;
	strcpy(buf, line);
	n = cmd_split(buf, w);
	if (n > 0 && line[len - 1] != ' ')
		part = w[--n];
	for (i = 0; i < reg->num_defs; i++) {
		tok = next_token(reg, reg->def[i], w, n);
		if (tok != NULL)
			num = complete_token(reg, tok, part, words, num, max);
	}
	first_typed = num;
	for (i = 0; i < reg->num_defs; i++) {
		tok = next_token(reg, reg->def[i], w, n);
		if (tok == NULL || tok->kind == CMD_WORD || tok->kind == CMD_CHOICE || tok->words != NULL)
			continue;
		cmd_tok_text(tok, one, sizeof(one));
		num = add_word(words, num, max, one);
	}
	*typed = num - first_typed;
	return num;
}
