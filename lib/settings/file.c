/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Configuration files: "[port 0]" and NAME=VALUE lines, written and read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "settings_priv.h"

#define MAX_LINE (TP_SETTING_VALUE + 1024u) /* with a name and a comment */

struct reader {
	struct tp_settings *s;
	const char *path;
	bool whole;
	struct tp_setting_list *l;
	void (*wrong)(void *arg, const char *text);
	void *arg;
	unsigned int line, head, mistakes; /* head: line of the section's name */
	bool in_section;                   /* one whose name was good */
	bool skip;                         /* one whose name was not */
	struct tp_setting_at at;
	unsigned int first; /* of the list, of this section */
	struct tp_setting_at *seen;
	unsigned int num_seen;
};

static void
complain(struct reader *r, unsigned int line, const char *text)
{
	char full[TP_SETTING_ERR + MAX_LINE];

	r->mistakes++;
	snprintf(full, sizeof(full), "%s:%u: %s", r->path, line, text);
	r->wrong(r->arg, full);
}

static bool
named(const struct reader *r, const struct tp_setting *row, unsigned int *line)
{
	unsigned int i;

	for (i = r->first; i < r->l->num; i++) {
		if (r->l->change[i].row == row) {
			*line = r->l->change[i].line;
			return true;
		}
	}
	return false;
}

/* What a whole section did not name. */
static void
fill(struct reader *r)
{
	const struct tp_setting *row;
	char err[TP_SETTING_ERR];
	unsigned int i, line;

	for (i = 0; (row = tp_settings_row(r->s, i)) != NULL; i++) {
		if (row->scope != r->at.scope || row->set == NULL || row->def[0] == '\0' || named(r, row, &line))
			continue;
		if (tp_setting_list_add(r->s, r->l, &r->at, row->name, row->def, r->head, err) != 0)
			complain(r, r->head, err);
		else
			r->l->change[r->l->num - 1].unnamed = true;
	}
}

static void
finish(struct reader *r)
{
	if (r->in_section && r->whole)
		fill(r);
	r->in_section = false;
	r->first = r->l->num;
}

/* Once a file. */
static int
remember(struct reader *r, char *err)
{
	struct tp_setting_at *all;
	unsigned int i;

	for (i = 0; i < r->num_seen; i++)
		if (memcmp(&r->seen[i], &r->at, sizeof(r->at)) == 0)
			return settings_err(err, -EEXIST, "has a section already, want one of each");
	all = realloc(r->seen, (r->num_seen + 1) * sizeof(*all));
	if (all == NULL)
		return settings_err(err, -ENOMEM, "no memory to remember the section");
	r->seen = all;
	all[r->num_seen++] = r->at;
	return 0;
}

static void
section(struct reader *r, char *text)
{
	const size_t len = strlen(text);
	char err[TP_SETTING_ERR];
	int ret;

	finish(r);
	r->head = r->line;
	r->skip = true;
	if (len < 2 || text[len - 1] != ']') {
		settings_err(err, 0, "'%.60s', want a section such as [port 0]", text);
		complain(r, r->line, err);
		return;
	}
	text[len - 1] = '\0';
	ret = tp_setting_at_parse(text + 1, &r->at, err);
	/* queues may come with the settings of their port */
	if (ret == 0 && r->at.scope != TP_SCOPE_RXQ && r->at.scope != TP_SCOPE_TXQ)
		ret = settings_object(r->s, &r->at, err);
	if (ret == 0)
		ret = remember(r, err);
	if (ret != 0)
		complain(r, r->line, err);
	r->skip = ret != 0;
	r->in_section = ret == 0;
}

static void
word(struct reader *r, char *text)
{
	char *value = strchr(text, '='), err[TP_SETTING_ERR];
	const struct tp_setting *row;
	unsigned int line;
	int ret;

	if (r->skip)
		return;
	if (!r->in_section || value == NULL || value == text) {
		settings_err(err, 0, "'%.60s', want %s", text,
			     r->in_section ? "NAME=VALUE" : "a section such as [port 0] first");
		complain(r, r->line, err);
		return;
	}
	*value++ = '\0';
	row = tp_settings_find(r->s, r->at.scope, text, NULL);
	if (row != NULL && named(r, row, &line))
		ret = settings_err(err, -EEXIST, "%s: '%.60s', want it once; line %u has it already", text, value,
				   line);
	else
		ret = tp_setting_list_add(r->s, r->l, &r->at, text, value, r->line, err);
	if (ret != 0)
		complain(r, r->line, err);
}

static void
take_line(struct reader *r, char *line)
{
	size_t len;

	line[strcspn(line, "#")] = '\0';
	line += strspn(line, " \t\r\n");
	for (len = strlen(line); len > 0 && strchr(" \t\r\n", line[len - 1]) != NULL; len--)
		line[len - 1] = '\0';
	if (line[0] == '[')
		section(r, line);
	else if (len > 0)
		word(r, line);
}

static void
read_lines(struct reader *r, FILE *f)
{
	char *line = NULL, err[TP_SETTING_ERR];
	size_t size = 0;
	ssize_t len;

	while ((len = getline(&line, &size, f)) >= 0) {
		r->line++;
		if (len >= (ssize_t)MAX_LINE || strlen(line) != (size_t)len) {
			settings_err(err, 0, "a line of %zd characters%s, want text of at most %u", len,
				     strlen(line) != (size_t)len ? " with a NUL" : "", MAX_LINE - 1);
			complain(r, r->line, err);
			continue;
		}
		take_line(r, line);
	}
	free(line);
	finish(r);
}

int
tp_settings_read(struct tp_settings *s, const char *path, bool whole, struct tp_setting_list *l,
		 void (*wrong)(void *arg, const char *text), void *arg)
{
	struct reader r = {.s = s, .path = path, .whole = whole, .l = l, .wrong = wrong, .arg = arg};
	char err[TP_SETTING_ERR];
	FILE *f = fopen(path, "r");
	int ret = f == NULL ? -errno : 0;

	if (ret == 0) {
		r.first = l->num;
		read_lines(&r, f);
		ret = ferror(f) ? -EIO : 0;
		fclose(f);
		free(r.seen);
	}
	if (ret != 0) {
		settings_err(err, ret, "cannot read '%s': %s", path, strerror(-ret));
		wrong(arg, err);
		return ret;
	}
	return r.mistakes == 0 ? 0 : -EINVAL;
}

static int
write_one(void *arg, const struct tp_setting *row, const struct tp_setting_at *at, const char *value)
{
	(void)at;
	if (row->set != NULL && !tp_setting_is_default(row, value))
		fprintf(arg, "%s=%s\n", row->name, value);
	return 0;
}

int
tp_settings_write(struct tp_settings *s, FILE *f)
{
	char text[TP_SETTING_OBJECT];
	struct tp_setting_at at;
	unsigned int scope, i;
	int ret = 0;

	for (scope = 0; scope < TP_SCOPES; scope++) {
		for (i = 0;
		     scope != TP_SCOPE_CARD && ret == 0 && s->ops.object(s->arg, (enum tp_setting_scope)scope, i, &at);
		     i++) {
			tp_setting_at_text(&at, text);
			fprintf(f, "[%s]\n", text);
			ret = tp_settings_each(s, &at, write_one, f);
		}
	}
	return ret == 0 && ferror(f) ? -EIO : ret;
}

/* Live changes stand behind the others in a list, but an object has one section. */
void
tp_setting_list_write(const struct tp_setting_list *l, FILE *f)
{
	char text[TP_SETTING_OBJECT];
	unsigned int i, k;

	for (i = 0; i < l->num; i++) {
		for (k = 0; k < i && !settings_same_object(&l->change[k].at, &l->change[i].at); k++)
			;
		if (k < i)
			continue;
		tp_setting_at_text(&l->change[i].at, text);
		fprintf(f, "[%s]\n", text);
		for (k = i; k < l->num; k++)
			if (settings_same_object(&l->change[k].at, &l->change[i].at))
				fprintf(f, "%s=%s # became %s\n", l->change[k].row->name, l->change[k].was,
					l->change[k].value);
	}
}
