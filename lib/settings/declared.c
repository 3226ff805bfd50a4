/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Rows from the keys of declarations. A key with several values, such as the classes, is one setting: all, with blanks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "settings_priv.h"
#include "declared.h"

#define MAX_KEYS 64u

union decl {
	struct tp_qos_port port;
	struct tp_group group;
};

struct tp_declared {
	struct tp_declared_ops ops;
	void *arg;
	bool group;
	union decl pending; /* between begin and end */
	struct tp_settings_table table;
	struct tp_setting row[MAX_KEYS];
	struct tp_qos_key key[MAX_KEYS];
};

static void
decl_default(const struct tp_declared *d, union decl *u)
{
	if (d->group)
		tp_group_default(&u->group);
	else
		tp_qos_port_default(&u->port);
}

static int
decl_word(const struct tp_declared *d, union decl *u, const char *word, char *err)
{
	return d->group ? tp_group_word(&u->group, word, err) : tp_qos_port_word(&u->port, word, err);
}

static char *
decl_print(const struct tp_declared *d, const union decl *u)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NULL;
	if (d->group)
		tp_group_print(&u->group, true, f);
	else
		tp_qos_port_print(&u->port, true, f);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

/* The values of a key. -ENOTSUP: it has none, since it only sets others. */
static int
decl_value(const struct tp_declared *d, const union decl *u, const char *key, char value[TP_SETTING_VALUE])
{
	char *text = decl_print(d, u), *save = NULL, *line;
	const size_t name = strlen(key);
	int ret = -ENOTSUP;
	size_t at = 0;

	if (text == NULL)
		return -ENOMEM;
	value[0] = '\0';
	for (line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, key, name) != 0 || line[name] != '=')
			continue;
		at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, "%s%s", ret == 0 ? " " : "", line + name + 1);
		ret = 0;
		if (at >= TP_SETTING_VALUE) {
			ret = -E2BIG;
			break;
		}
	}
	free(text);
	return ret;
}

/* Takes "A B" as key=A key=B. */
static int
take(const struct tp_declared *d, union decl *u, const char *key, const char *value, char err[TP_SETTING_ERR])
{
	char word[TP_SETTING_VALUE + 64], why[TP_ERR_LEN] = "";
	size_t len;
	int ret = 0;

	do {
		value += strspn(value, " \t");
		len = strcspn(value, " \t");
		snprintf(word, sizeof(word), "%s=%.*s", key, (int)len, value);
		ret = decl_word(d, u, word, why);
		value += len;
	} while (ret == 0 && value[strspn(value, " \t")] != '\0');
	settings_err(err, 0, "%s", why);
	return ret < 0 ? ret : 0;
}

static int
judge(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	const struct tp_declared *d = (const void *)row->id;
	union decl u;
	int ret;

	decl_default(d, &u);
	ret = take(d, &u, row->name, value, err);
	return ret != 0 ? ret : decl_value(d, &u, row->name, value);
}

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	struct tp_declared *d = ctx;
	union decl u;
	int ret = d->ops.get(d->arg, at, &u);

	return ret != 0 ? ret : decl_value(d, &u, row->name, value);
}

/* Lists are not added to what is there. */
static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct tp_declared *d = ctx;
	int ret = row->def[0] != '\0' ? take(d, &d->pending, row->name, row->def, err) : 0;

	(void)at;
	return ret != 0 ? ret : take(d, &d->pending, row->name, value, err);
}

static int
begin(void *ctx, const struct tp_setting_at *at, char err[TP_SETTING_ERR])
{
	struct tp_declared *d = ctx;
	char text[TP_SETTING_OBJECT];
	int ret = d->ops.get(d->arg, at, &d->pending);

	if (ret == 0)
		return 0;
	tp_setting_at_text(at, text);
	return settings_err(err, ret, "%s: has no such settings: %s", text, strerror(-ret));
}

static int
end(void *ctx, const struct tp_setting_at *at, char err[TP_SETTING_ERR])
{
	struct tp_declared *d = ctx;
	char why[TP_ERR_LEN] = "";
	int ret = d->ops.set(d->arg, at, &d->pending, why);

	if (ret < 0)
		settings_err(err, ret, "%s", why);
	return ret < 0 ? ret : 0;
}

static void
make_rows(struct tp_declared *d, enum tp_setting_scope scope)
{
	char value[TP_SETTING_VALUE];
	struct tp_qos_key *key;
	unsigned int i, n = 0;
	union decl def;

	decl_default(d, &def);
	for (i = 0; n < MAX_KEYS; i++) {
		key = &d->key[n];
		if ((d->group ? tp_group_key(i, key) : tp_qos_port_key(i, key)) != 0)
			break;
		/* pause sets rx-pause and tx-pause: a word, not a setting */
		if (key->def[0] == '\0' && decl_value(d, &def, key->name, value) == -ENOTSUP && !d->group)
			continue;
		d->row[n] = (struct tp_setting){
			.name = key->name,
			.vendor = key->vendor,
			.unit = key->unit,
			.def = key->def,
			.help = key->help,
			.names = key->values,
			.scope = scope,
			.type = TP_SETTING_TEXT,
			.when = TP_WHEN_LIVE,
			.min = key->min,
			.max = key->max,
			.get = get,
			.set = set,
			.judge = judge,
			.id = (uintptr_t)d,
		};
		n++;
	}
	d->table = (struct tp_settings_table){.row = d->row, .num = n, .ctx = d, .begin = begin, .end = end};
}

int
tp_declared_add(struct tp_settings *s, enum tp_setting_scope scope, const struct tp_declared_ops *ops, void *arg,
		bool tells, struct tp_declared **out)
{
	struct tp_declared *d = calloc(1, sizeof(*d));
	int ret;

	if (d == NULL)
		return -ENOMEM;
	d->ops = *ops;
	d->arg = arg;
	d->group = scope == TP_SCOPE_GROUP;
	make_rows(d, scope);
	d->table.tells = tells;
	ret = tp_settings_add(s, &d->table);
	if (ret != 0)
		free(d);
	else
		*out = d;
	return ret;
}

void
tp_declared_free(struct tp_declared *d)
{
	free(d);
}
