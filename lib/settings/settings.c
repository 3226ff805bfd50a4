/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The registry: rows of all tables, found, read, set one at a time. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/dcb/words.h"

#include "settings_priv.h"

int
tp_settings_create(const struct tp_settings_ops *ops, void *arg, struct tp_settings **out)
{
	struct tp_settings *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	s->ops = *ops;
	s->arg = arg;
	*out = s;
	return 0;
}

void
tp_settings_free(struct tp_settings *s)
{
	free(s);
}

static const struct tp_setting *
find(const struct tp_settings *s, enum tp_setting_scope scope, const char *name)
{
	unsigned int t, i;

	for (t = 0; t < s->num; t++)
		for (i = 0; i < s->table[t]->num; i++)
			if (s->table[t]->row[i].scope == scope && strcmp(s->table[t]->row[i].name, name) == 0)
				return &s->table[t]->row[i];
	return NULL;
}

int
tp_settings_add(struct tp_settings *s, const struct tp_settings_table *table)
{
	unsigned int i, k;

	if (s->num == TP_SETTINGS_TABLES)
		return -ENOSPC;
	for (i = 0; i < table->num; i++) {
		if (find(s, table->row[i].scope, table->row[i].name) != NULL)
			return -EEXIST;
		for (k = 0; k < i; k++)
			if (table->row[k].scope == table->row[i].scope &&
			    strcmp(table->row[k].name, table->row[i].name) == 0)
				return -EEXIST;
	}
	s->table[s->num++] = table;
	return 0;
}

const struct tp_setting *
tp_settings_row(const struct tp_settings *s, unsigned int i)
{
	unsigned int t;

	for (t = 0; t < s->num; t++) {
		if (i < s->table[t]->num)
			return &s->table[t]->row[i];
		i -= s->table[t]->num;
	}
	return NULL;
}

const struct tp_settings_table *
settings_table(const struct tp_settings *s, const struct tp_setting *row)
{
	unsigned int t = 0;

	while (row < s->table[t]->row || row >= s->table[t]->row + s->table[t]->num)
		t++;
	return s->table[t];
}

const struct tp_setting *
tp_settings_find(const struct tp_settings *s, enum tp_setting_scope scope, const char *name, const char **near)
{
	const struct tp_setting *row = find(s, scope, name);
	unsigned int i, far, best = UINT_MAX;

	if (row != NULL || near == NULL)
		return row;
	*near = NULL;
	for (i = 0; (row = tp_settings_row(s, i)) != NULL; i++) {
		far = row->scope == scope ? word_distance(name, row->name) : UINT_MAX;
		if (far < best) {
			best = far;
			*near = row->name;
		}
	}
	return NULL;
}

bool
settings_same_object(const struct tp_setting_at *a, const struct tp_setting_at *b)
{
	return a->scope == b->scope && a->port == b->port && a->queue == b->queue && strcmp(a->group, b->group) == 0;
}

int
settings_object(struct tp_settings *s, const struct tp_setting_at *at, char *err)
{
	char text[TP_SETTING_OBJECT], last[TP_SETTING_OBJECT];
	struct tp_setting_at is, end = *at;
	unsigned int i;

	for (i = 0; s->ops.object(s->arg, at->scope, i, &is); i++) {
		if (settings_same_object(at, &is))
			return 0;
		end = is;
	}
	tp_setting_at_text(at, text);
	if (i == 0)
		return settings_err(err, -ENOENT, "%s: there is no %s now", text, tp_setting_scope_name(at->scope));
	/* the last one shows the range, since they are in order */
	tp_setting_at_text(&end, last);
	return settings_err(err, -ENOENT, "%s: not there, want one of %u, the last of which is %s", text, i, last);
}

int
settings_wanted(struct tp_settings *s, const struct tp_setting_at *at, const char *name, char *value,
		const struct tp_setting **row, char *err)
{
	const char *scope = tp_setting_scope_name(at->scope), *near = NULL;

	*row = tp_settings_find(s, at->scope, name, &near);
	if (*row == NULL)
		return settings_err(err, -ENOENT, "no setting '%.40s' of a %s%s%s", name, scope,
				    near != NULL ? "; the nearest is " : "", near != NULL ? near : "");
	if ((*row)->set == NULL)
		return settings_err(err, -EPERM, "%s: cannot be changed; it is an argument of the device (%s)", name,
				    tp_setting_when_name((*row)->when));
	return tp_setting_judge(*row, value, err);
}

int
tp_settings_get(struct tp_settings *s, const struct tp_setting *row, const struct tp_setting_at *at,
		char value[TP_SETTING_VALUE])
{
	value[0] = '\0';
	return row->get(settings_table(s, row)->ctx, row, at, value);
}

static int
set_one(const struct tp_settings_table *t, const struct tp_setting *row, const struct tp_setting_at *at,
	const char *value, char *err)
{
	int ret = 0;

	if (t->begin != NULL)
		ret = t->begin(t->ctx, at, err);
	if (ret == 0)
		ret = row->set(t->ctx, row, at, value, err);
	if (ret == 0 && t->end != NULL)
		ret = t->end(t->ctx, at, err);
	return ret;
}

int
tp_settings_set(struct tp_settings *s, const struct tp_setting_at *at, const char *name, const char *value,
		char err[TP_SETTING_ERR])
{
	char wanted[TP_SETTING_VALUE], was[TP_SETTING_VALUE], is[TP_SETTING_VALUE], text[TP_SETTING_OBJECT];
	const struct tp_settings_table *t;
	const struct tp_setting *row;
	int ret;

	err[0] = '\0';
	if ((size_t)snprintf(wanted, sizeof(wanted), "%s", value) >= sizeof(wanted))
		return settings_err(err, -EINVAL, "%.31s: a value of %zu characters, want at most %u", name,
				    strlen(value), TP_SETTING_VALUE - 1);
	ret = settings_object(s, at, err);
	if (ret == 0)
		ret = settings_wanted(s, at, name, wanted, &row, err);
	if (ret != 0)
		return ret;
	ret = tp_settings_get(s, row, at, was);
	if (ret != 0) {
		tp_setting_at_text(at, text);
		return settings_err(err, ret, "%s: has no %s: %s", text, name, strerror(-ret));
	}
	if (strcmp(was, wanted) == 0)
		return 0;
	t = settings_table(s, row);
	ret = set_one(t, row, at, wanted, err);
	if (ret != 0) {
		if (err[0] == '\0')
			settings_err(err, ret, "%s: '%.60s': %s", name, wanted, strerror(-ret));
		return ret;
	}
	/* what is in force may be rounded */
	if (s->ops.changed != NULL && !t->tells && tp_settings_get(s, row, at, is) == 0 && strcmp(was, is) != 0)
		s->ops.changed(s->arg, row, at, was, is);
	return 0;
}

/* All settings of one object. */
static int
each_of(struct tp_settings *s, const struct tp_setting_at *at, tp_setting_fn fn, void *arg)
{
	char value[TP_SETTING_VALUE];
	const struct tp_setting *row;
	unsigned int i;
	int ret;

	for (i = 0; (row = tp_settings_row(s, i)) != NULL; i++) {
		if (row->scope != at->scope)
			continue;
		ret = tp_settings_get(s, row, at, value);
		if (ret == -ENODEV || ret == -ENOTSUP)
			continue;
		if (ret == 0)
			ret = fn(arg, row, at, value);
		if (ret != 0)
			return ret;
	}
	return 0;
}

int
tp_settings_each(struct tp_settings *s, const struct tp_setting_at *only, tp_setting_fn fn, void *arg)
{
	struct tp_setting_at at;
	unsigned int scope, i;
	int ret = 0;

	for (scope = 0; scope < TP_SCOPES && ret == 0; scope++)
		for (i = 0; ret == 0 && s->ops.object(s->arg, (enum tp_setting_scope)scope, i, &at); i++)
			if (only == NULL || settings_same_object(only, &at))
				ret = each_of(s, &at, fn, arg);
	return ret;
}
