/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Settings in DPDK's telemetry, to be read; names have '_' where settings have '-', which telemetry has no keys with:
 *   /triplane/settings               objects that have settings
 *   /triplane/settings,NUMBER        the same from that one on: an answer has 511, and then how many more there are
 *   /triplane/settings,OBJECT        the values in force of an object such as "port 0"
 *   /triplane/settings_diff          objects with a value that is not the default
 *   /triplane/settings_diff,OBJECT   these values
 *   /triplane/setting,OBJECT,NAME    one of them, with its default, range, unit and when it can be changed
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "settings.h"

/* How long who asks waits for a command to end. */
#define PATIENCE_S 2

#define DIGITS "0123456789"
#define MOST 1000000u /* far more objects than there are */

static struct app *telemetry_app;

struct answer {
	struct rte_tel_data *d;
	bool diff, objects;
	struct tp_setting_at last;   /* of objects */
	unsigned int num, from, end; /* objects seen; those between from and end are told */
};

/* What is longer than telemetry's strings ends in dots. */
static void
tell(struct rte_tel_data *d, const char *name, const char *value)
{
	char key[RTE_TEL_MAX_STRING_LEN], text[RTE_TEL_MAX_STRING_LEN];
	size_t i;

	if ((size_t)snprintf(text, sizeof(text), "%s", value) >= sizeof(text))
		memcpy(&text[sizeof(text) - 4], "...", 4);
	snprintf(key, sizeof(key), "%s", name);
	for (i = 0; key[i] != '\0'; i++)
		if (key[i] == '-')
			key[i] = '_';
	rte_tel_data_add_dict_string(d, key, text);
}

static int
one(void *arg, const struct tp_setting *row, const struct tp_setting_at *at, const char *value)
{
	char text[TP_SETTING_OBJECT];
	struct answer *a = arg;

	if (a->diff && (row->def[0] == '\0' || tp_setting_is_default(row, value)))
		return 0;
	if (!a->objects) {
		tell(a->d, row->name, value);
		return 0;
	}
	if (a->num != 0 && memcmp(at, &a->last, sizeof(*at)) == 0)
		return 0;
	a->num++;
	a->last = *at;
	if (a->num <= a->from || a->num > a->end)
		return 0;
	tp_setting_at_text(at, text);
	rte_tel_data_add_array_string(a->d, text);
	return 0;
}

/* An array of telemetry's has so much room, and loses the rest without a word: the last place tells of it. */
static int
list_objects(struct answer *a)
{
	char more[RTE_TEL_MAX_STRING_LEN];
	int ret;

	a->end = a->from + RTE_TEL_MAX_ARRAY_ENTRIES - 1;
	rte_tel_data_start_array(a->d, RTE_TEL_STRING_VAL);
	ret = tp_settings_each(telemetry_app->settings->reg, NULL, one, a);
	if (ret != 0 || a->num <= a->end)
		return ret;
	snprintf(more, sizeof(more), "%u more, from %u", a->num - a->end, a->end);
	rte_tel_data_add_array_string(a->d, more);
	return 0;
}

static int
list(const char *params, bool diff, struct rte_tel_data *d)
{
	struct answer a = {.d = d, .diff = diff, .objects = params == NULL || strspn(params, DIGITS) == strlen(params)};
	struct tp_settings *reg = telemetry_app->settings->reg;
	struct tp_setting_at at;
	char err[TP_SETTING_ERR];

	if (a.objects) {
		a.from = params == NULL ? 0 : (unsigned int)RTE_MIN(strtoul(params, NULL, 10), (unsigned long)MOST);
		return list_objects(&a);
	}
	if (tp_setting_at_parse(params, &at, err) != 0)
		return -EINVAL;
	rte_tel_data_start_dict(d);
	return tp_settings_each(reg, &at, one, &a);
}

struct single {
	const struct tp_setting *row;
	char value[TP_SETTING_VALUE];
};

static int
is_it(void *arg, const struct tp_setting *row, const struct tp_setting_at *at, const char *value)
{
	struct single *s = arg;

	(void)at;
	if (row != s->row)
		return 0;
	snprintf(s->value, sizeof(s->value), "%s", value);
	return 1;
}

/* Only of objects that are there. */
static int
info(const char *params, struct rte_tel_data *d)
{
	const char *comma = params == NULL ? NULL : strchr(params, ',');
	char object[TP_SETTING_OBJECT], err[TP_SETTING_ERR], range[TP_SETTING_RANGE];
	struct tp_settings *reg = telemetry_app->settings->reg;
	struct tp_setting_at at;
	struct single s;

	if (comma == NULL || (size_t)(comma - params) >= sizeof(object))
		return -EINVAL;
	snprintf(object, sizeof(object), "%.*s", (int)(comma - params), params);
	if (tp_setting_at_parse(object, &at, err) != 0)
		return -EINVAL;
	s.row = tp_settings_find(reg, at.scope, comma + 1, NULL);
	if (s.row == NULL || tp_settings_each(reg, &at, is_it, &s) != 1)
		return -ENOENT;
	tp_setting_range(s.row, range);
	rte_tel_data_start_dict(d);
	tell(d, "value", s.value);
	tell(d, "default", s.row->def);
	tell(d, "values", range);
	tell(d, "unit", s.row->unit);
	tell(d, "changed", tp_setting_when_text(s.row));
	tell(d, "vendor", s.row->vendor);
	return 0;
}

/* Commands change what is read here: between them is the time for it, or while one of them waits. */
static int
answer(const char *cmd, const char *params, struct rte_tel_data *d)
{
	int ret;

	if (!app_control_ask(PATIENCE_S))
		return -EBUSY;
	if (strcmp(cmd, "/triplane/setting") == 0)
		ret = info(params, d);
	else
		ret = list(params, strcmp(cmd, "/triplane/settings_diff") == 0, d);
	app_control_give();
	return ret;
}

void
settings_telemetry(struct app *app)
{
	telemetry_app = app;
	rte_telemetry_register_cmd(
		"/triplane/settings", answer,
		"Objects that have settings, or the values in force of one. Parameter: object, or the "
		"number of the first one");
	rte_telemetry_register_cmd(
		"/triplane/settings_diff", answer,
		"Objects with settings that are not the defaults, or these of one. Parameter: object, or the number of "
		"the first one");
	rte_telemetry_register_cmd("/triplane/setting", answer, "A setting. Parameters: object,name");
}
