/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Lists of changes: all or none. First those that need forwarding or ports stopped, then, with everything running again,
 * those that are live, since a queue's settings want the queue that a port's have made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "settings_priv.h"

int
tp_setting_list_add(struct tp_settings *s, struct tp_setting_list *l, const struct tp_setting_at *at, const char *name,
		    const char *value, unsigned int line, char err[TP_SETTING_ERR])
{
	struct tp_setting_change c = {.at = *at, .line = line}, *all;
	int ret;

	err[0] = '\0';
	if ((size_t)snprintf(c.value, sizeof(c.value), "%s", value) >= sizeof(c.value))
		return settings_err(err, -EINVAL, "%.31s: a value of %zu characters, want at most %u", name,
				    strlen(value), TP_SETTING_VALUE - 1);
	ret = settings_wanted(s, at, name, c.value, &c.row, err);
	if (ret != 0)
		return ret;
	all = realloc(l->change, (l->num + 1) * sizeof(*all));
	if (all == NULL)
		return settings_err(err, -ENOMEM, "%s: no memory to remember it", name);
	l->change = all;
	all[l->num++] = c;
	return 0;
}

void
tp_setting_list_free(struct tp_setting_list *l)
{
	free(l->change);
	memset(l, 0, sizeof(*l));
}

/* Values of one object and table stand together, so that they come into force together. */
static int
in_order(const void *a, const void *b)
{
	const struct tp_setting_change *x = a, *y = b;
	const bool live_x = x->when == TP_WHEN_LIVE, live_y = y->when == TP_WHEN_LIVE;

	if (live_x != live_y)
		return live_x ? 1 : -1;
	if (x->at.scope != y->at.scope)
		return x->at.scope < y->at.scope ? -1 : 1;
	if (x->at.port != y->at.port)
		return x->at.port < y->at.port ? -1 : 1;
	if (x->at.queue != y->at.queue)
		return x->at.queue < y->at.queue ? -1 : 1;
	if (strcmp(x->at.group, y->at.group) != 0)
		return strcmp(x->at.group, y->at.group);
	return x->row == y->row ? 0 : x->row < y->row ? -1 : 1;
}

static bool
together(const struct tp_settings *s, const struct tp_setting_change *a, const struct tp_setting_change *b)
{
	return settings_table(s, a->row) == settings_table(s, b->row) && settings_same_object(&a->at, &b->at);
}

/* Whether a refusal of the whole begins with the setting's name. */
static bool
is_about(const char *err, const char *name)
{
	const size_t len = strlen(name);

	return strncmp(err, name, len) == 0 && err[len] == ':';
}

/* Sets c[0..n), of one table and object. bad: the change that was refused. */
static int
set_some(const struct tp_settings_table *t, struct tp_setting_change *c, unsigned int n, bool back, unsigned int *bad,
	 char *err)
{
	unsigned int i;
	int ret = 0;

	err[0] = '\0';
	*bad = 0;
	if (t->begin != NULL)
		ret = t->begin(t->ctx, &c->at, err);
	for (i = 0; i < n && ret == 0; i++) {
		*bad = i;
		ret = c[i].row->set(t->ctx, c[i].row, &c[i].at, back ? c[i].was : c[i].value, err);
	}
	if (ret == 0 && t->end != NULL) {
		ret = t->end(t->ctx, &c->at, err);
		for (i = 0; ret != 0 && i < n; i++)
			if (is_about(err, c[i].row->name))
				*bad = i;
	}
	if (ret != 0 && err[0] == '\0')
		settings_err(err, ret, "%s: '%.60s': %s", c[*bad].row->name, c[*bad].value, strerror(-ret));
	return ret;
}

/* Undoes c[0..n) in reverse; what is refused is said in err, behind what was there, and the others go on. */
static void
undo(struct tp_settings *s, struct tp_setting_change *c, unsigned int n, char *err)
{
	char more[TP_SETTING_ERR];
	unsigned int first, bad;
	size_t len;

	while (n > 0) {
		for (first = n - 1; first > 0 && together(s, &c[first - 1], &c[n - 1]); first--)
			;
		if (set_some(settings_table(s, c[first].row), &c[first], n - first, true, &bad, more) != 0) {
			len = strlen(err);
			snprintf(err + len, TP_SETTING_ERR - len, "; what was in force before does not hold again: %s",
				 more);
		}
		n = first;
	}
}

/* Makes c[0..n); nothing is changed when one is refused. */
static int
make(struct tp_settings *s, struct tp_setting_change *c, unsigned int n, unsigned int *bad, char *err)
{
	const struct tp_settings_table *t;
	unsigned int i, k, at;
	int ret;

	for (i = 0; i < n; i = k) {
		for (k = i + 1; k < n && together(s, &c[k - 1], &c[k]); k++)
			;
		t = settings_table(s, c[i].row);
		ret = set_some(t, &c[i], k - i, false, &at, err);
		if (ret == 0)
			continue;
		*bad = i + at;
		/* without an end, the values before the refused one are in force */
		undo(s, c, t->end != NULL ? i : i + at, err);
		return ret;
	}
	return 0;
}

/* Reads what is in force before changes first.. and drops those that change nothing; end: behind the last of them. */
static int
look(struct tp_settings *s, struct tp_setting_list *l, unsigned int first, bool live, unsigned int *end,
     unsigned int *bad, char *err)
{
	char text[TP_SETTING_OBJECT];
	unsigned int i = first, k = first;
	int ret;

	for (; i < l->num && (l->change[i].when == TP_WHEN_LIVE) == live; i++) {
		struct tp_setting_change *c = &l->change[i];

		*bad = i;
		ret = settings_object(s, &c->at, err);
		if (ret != 0)
			return ret;
		ret = tp_settings_get(s, c->row, &c->at, c->was);
		if (c->unnamed && (ret == -ENODEV || ret == -ENOTSUP))
			continue;
		if (ret != 0) {
			tp_setting_at_text(&c->at, text);
			return settings_err(err, ret, "%s: has no %s: %s", text, c->row->name, strerror(-ret));
		}
		if (strcmp(c->was, c->value) != 0)
			l->change[k++] = *c;
	}
	*end = k;
	memmove(&l->change[k], &l->change[i], (l->num - i) * sizeof(l->change[0]));
	l->num -= i - k;
	return 0;
}

/* c[0..n) need forwarding, or also ports, stopped. */
static int
stop(struct tp_settings *s, const struct tp_setting_change *c, unsigned int n, char *err)
{
	bool ports = false;
	unsigned int i;

	for (i = 0; i < n; i++)
		ports |= c[i].when == TP_WHEN_STOPPED;
	return n == 0 || s->ops.stop == NULL ? 0 : s->ops.stop(s->arg, ports, err);
}

/* all: what a change needs at most. */
static void
sort(struct tp_settings *s, struct tp_setting_list *l, bool all)
{
	unsigned int i;

	for (i = 0; i < l->num; i++) {
		struct tp_setting_change *c = &l->change[i];

		c->when = c->row->when;
		if (!all && c->row->needs != NULL)
			c->when = c->row->needs(settings_table(s, c->row)->ctx, c->row, &c->at, c->value);
	}
	qsort(l->change, l->num, sizeof(l->change[0]), in_order);
}

/* Sorts and looks at what is not live. When a change stops the ports anyway, the others are not made to wait for their start. */
static int
look_slow(struct tp_settings *s, struct tp_setting_list *l, unsigned int *slow, unsigned int *bad, char *err)
{
	unsigned int i;
	int ret;

	sort(s, l, false);
	ret = look(s, l, 0, false, slow, bad, err);
	for (i = 0; ret == 0 && i < *slow; i++) {
		if (l->change[i].when != TP_WHEN_STOPPED)
			continue;
		sort(s, l, true);
		return look(s, l, 0, false, slow, bad, err);
	}
	return ret;
}

static int
go(struct tp_settings *s, unsigned int n, char *err)
{
	return n == 0 || s->ops.go == NULL ? 0 : s->ops.go(s->arg, err);
}

/* Back to what was before c[0..n), which are in force; err gets longer when that fails. */
static void
back(struct tp_settings *s, struct tp_setting_change *c, unsigned int n, char *err)
{
	char more[TP_SETTING_ERR] = "";
	size_t len;

	if (stop(s, c, n, more) == 0) {
		undo(s, c, n, err);
		if (go(s, n, more) == 0)
			return;
	}
	len = strlen(err);
	snprintf(err + len, TP_SETTING_ERR - len, "; what was in force before does not hold again: %s", more);
}

static void
tell(struct tp_settings *s, const struct tp_setting_list *l)
{
	char is[TP_SETTING_VALUE];
	unsigned int i;

	for (i = 0; i < l->num && s->ops.changed != NULL; i++) {
		const struct tp_setting_change *c = &l->change[i];

		if (!settings_table(s, c->row)->tells && tp_settings_get(s, c->row, &c->at, is) == 0 &&
		    strcmp(c->was, is) != 0)
			s->ops.changed(s->arg, c->row, &c->at, c->was, is);
	}
}

int
tp_settings_apply(struct tp_settings *s, struct tp_setting_list *l, unsigned int *bad, char err[TP_SETTING_ERR])
{
	unsigned int slow = 0, all = 0, unused;
	int ret;

	if (bad == NULL)
		bad = &unused;
	*bad = 0;
	err[0] = '\0';
	if (l->num == 0)
		return 0;
	ret = look_slow(s, l, &slow, bad, err);
	if (ret != 0)
		return ret;
	ret = stop(s, l->change, slow, err);
	if (ret != 0) {
		*bad = l->num;
		return ret;
	}
	ret = make(s, l->change, slow, bad, err);
	if (ret != 0) {
		char more[TP_SETTING_ERR];

		(void)go(s, slow, more);
		return ret;
	}
	ret = go(s, slow, err);
	if (ret != 0) {
		*bad = l->num;
		back(s, l->change, slow, err);
		return ret;
	}
	ret = look(s, l, slow, true, &all, bad, err);
	if (ret == 0) {
		ret = make(s, l->change + slow, all - slow, bad, err);
		if (ret != 0)
			*bad += slow;
	}
	if (ret != 0) {
		back(s, l->change, slow, err);
		return ret;
	}
	tell(s, l);
	return 0;
}
