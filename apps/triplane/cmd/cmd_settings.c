/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* show settings, set setting, save, load. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/triplane/settings/settings.h"
#include "commands.h"

/* --- show ---------------------------------------------------------------------------------------------------- */

enum view { CURRENT, DIFF, INFO };

struct show {
	struct out o;
	enum view view;
	const struct cmd_val *ports; /* NULL: all, and the program */
	struct tp_setting_at at;     /* the object that is open */
	bool open;
};

static void
show_row(struct out *o, const struct tp_setting *row)
{
	char range[TP_SETTING_RANGE];

	tp_setting_range(row, range);
	out_str(o, "type", tp_setting_type_name(row->type));
	out_str(o, "values", range);
	out_str(o, "unit", row->unit);
	out_str(o, "default", row->def);
	if (row->type == TP_SETTING_NUMBER || row->max != 0) {
		out_u64(o, "min", row->min);
		out_u64(o, "max", row->max);
	}
	out_str(o, "when", tp_setting_when_text(row));
	out_str(o, "vendor", row->vendor);
	out_str(o, "help", row->help);
}

static void
close_object(struct show *s)
{
	if (s->open) {
		out_end(&s->o);
		out_end(&s->o);
	}
	s->open = false;
}

static void
open_object(struct show *s, const struct tp_setting_at *at)
{
	char text[TP_SETTING_OBJECT];

	if (s->open && memcmp(at, &s->at, sizeof(*at)) == 0)
		return;
	close_object(s);
	tp_setting_at_text(at, text);
	out_object(&s->o, NULL);
	out_str(&s->o, "object", text);
	out_object(&s->o, "settings");
	s->at = *at;
	s->open = true;
}

static int
show_one(void *arg, const struct tp_setting *row, const struct tp_setting_at *at, const char *value)
{
	struct show *s = arg;
	unsigned int i = 0;

	if (s->ports != NULL) {
		while (i < s->ports->n && s->ports->list[i] != at->port)
			i++;
		if (at->scope == TP_SCOPE_PROGRAM || i == s->ports->n)
			return 0;
	}
	if (s->view == DIFF && (row->def[0] == '\0' || tp_setting_is_default(row, value)))
		return 0;
	open_object(s, at);
	if (s->view == CURRENT) {
		out_str(&s->o, row->name, value);
		return 0;
	}
	out_object(&s->o, row->name);
	out_str(&s->o, "current", value);
	if (s->view == DIFF)
		out_str(&s->o, "default", row->def);
	else
		show_row(&s->o, row);
	out_end(&s->o);
	return 0;
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct show s = {.view = cmd_is(a, "view", "diff")   ? DIFF
				 : cmd_is(a, "view", "info") ? INFO
							     : CURRENT,
			 .ports = cmd_val(a, "ports")};
	int ret;

	out_init(&s.o, stdout, app->json || a->json);
	out_array(&s.o, "objects");
	ret = tp_settings_each(app->settings->reg, NULL, show_one, &s);
	close_object(&s);
	out_end(&s.o);
	out_done(&s.o);
	return ret == 0 ? 0 : app_err(ret, "settings: %s", strerror(-ret));
}

/* The whole table, whatever is there now. */
static int
do_table(void *arg, const struct cmd_args *a)
{
	const struct tp_setting *row;
	struct app *app = arg;
	struct out o;
	unsigned int i;

	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "settings");
	for (i = 0; (row = tp_settings_row(app->settings->reg, i)) != NULL; i++) {
		out_object(&o, NULL);
		out_str(&o, "name", row->name);
		out_str(&o, "scope", tp_setting_scope_name(row->scope));
		show_row(&o, row);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
	return 0;
}

/* --- the reference ------------------------------------------------------------------------------------------- */

static void
cell(FILE *f, const char *text, const char *quote)
{
	if (text[0] == '\0')
		quote = "";
	fprintf(f, " %s", quote);
	for (; *text != '\0'; text++)
		fprintf(f, "%s%c", *text == '|' ? "\\" : "", *text);
	fprintf(f, "%s |", quote);
}

void
settings_markdown(const struct app *app, FILE *f)
{
	static const char *const heads[TP_SCOPES] = {
		[TP_SCOPE_PROGRAM] = "Of the program: `[program]`",
		[TP_SCOPE_CARD] = "Of a card: `[card PORT]`, device arguments, to be read only",
		[TP_SCOPE_PORT] = "Of a port: `[port N]`",
		[TP_SCOPE_RXQ] = "Of a receive queue: `[rxq PORT QUEUE]`",
		[TP_SCOPE_TXQ] = "Of a transmit queue: `[txq PORT QUEUE]`",
		[TP_SCOPE_GROUP] = "Of a group of queues: `[group PORT NAME]`",
	};
	const struct tp_setting *row;
	char range[TP_SETTING_RANGE];
	unsigned int scope, i;

	for (scope = 0; scope < TP_SCOPES; scope++) {
		fprintf(f,
			"\n## %s\n\n| setting | values | unit | default | changed | vendor's name | meaning |\n"
			"| --- | --- | --- | --- | --- | --- | --- |\n",
			heads[scope]);
		for (i = 0; (row = tp_settings_row(app->settings->reg, i)) != NULL; i++) {
			if (row->scope != scope)
				continue;
			tp_setting_range(row, range);
			fputc('|', f);
			cell(f, row->name, "`");
			cell(f, range, "");
			cell(f, row->unit, "");
			cell(f, row->def, "`");
			cell(f, tp_setting_when_text(row), "");
			cell(f, row->vendor, "`");
			cell(f, row->help, "");
			fputc('\n', f);
		}
	}
}

/* --- change -------------------------------------------------------------------------------------------------- */

static int
set_value(void *arg, const struct cmd_args *a, struct tp_setting_at at)
{
	at.port = (uint16_t)cmd_num(a, "port", 0);
	at.queue = (uint16_t)cmd_num(a, "queue", 0);
	return setting_set(arg, &at, cmd_text(a, "name"), cmd_text(a, "value"));
}

static int
do_set(void *arg, const struct cmd_args *a)
{
	struct tp_setting_at at = {.scope = TP_SCOPE_PORT};
	const char *group = cmd_text(a, "group_name");

	if (cmd_has(a, "program"))
		at.scope = TP_SCOPE_PROGRAM;
	else if (cmd_has(a, "queue"))
		at.scope = cmd_has(a, "rxq") ? TP_SCOPE_RXQ : TP_SCOPE_TXQ;
	if (group != NULL) {
		at.scope = TP_SCOPE_GROUP;
		if (strlen(group) >= sizeof(at.group))
			return app_err(-EINVAL, "group '%.40s', want a name of 1..%zu characters", group,
				       sizeof(at.group) - 1);
		snprintf(at.group, sizeof(at.group), "%s", group);
	}
	return set_value(arg, a, at);
}

static void
wrong(void *arg, const char *text)
{
	(void)arg;
	app_err_line("%s", text);
}

static int
do_load(void *arg, const struct cmd_args *a)
{
	const char *path = cmd_text(a, "file");
	struct tp_setting_list l = {0};
	uint16_t new_ports[RTE_MAX_ETHPORTS];
	struct app *app = arg;
	unsigned int n = 0;
	int ret;

	ret = settings_make_ports(app, path, new_ports, &n);
	if (ret != 0)
		return ret;
	ret = tp_settings_read(app->settings->reg, path, true, &l, wrong, NULL);
	if (ret == 0) {
		ret = settings_apply(app, &l, path);
		if (ret == 0) {
			app_event("settings-loaded", "%s: %u settings changed", path, l.num);
			app_say(app, "%s: %u settings changed\n", path, l.num);
		}
	}
	tp_setting_list_free(&l);
	if (ret != 0)
		settings_unmake_ports(app, new_ports, n);
	return ret;
}

/* Beside the file first, so that one that is there is replaced by a whole one or not at all. */
static int
do_save(void *arg, const struct cmd_args *a)
{
	const char *path = cmd_text(a, "file");
	struct app *app = arg;
	char beside[512];
	FILE *f;
	int ret;

	if ((size_t)snprintf(beside, sizeof(beside), "%s.new", path) >= sizeof(beside))
		return app_err(-ENAMETOOLONG, "file '%.60s...', want a name of at most %zu characters", path,
			       sizeof(beside) - 5);
	f = fopen(beside, "w");
	if (f == NULL)
		return app_err(-errno, "cannot write '%s': %s", path, strerror(errno));
	ret = tp_settings_write(app->settings->reg, f);
	if (fclose(f) != 0 && ret == 0)
		ret = -errno;
	if (ret == 0 && rename(beside, path) != 0)
		ret = -errno;
	if (ret == 0)
		return 0;
	(void)remove(beside);
	return app_err(ret, "cannot write '%s': %s", path, strerror(-ret));
}

static const struct cmd table[] = {
	{"Settings", "show settings [{view:current|diff|info}]",
	 "Shows all settings: the values in force, those that are not the defaults, or all that is known of them.",
	 do_show, true},
	{"Settings", "show settings {ports:ports} [{view:current|diff|info}]",
	 "The same of ports, with their queues, groups and cards.", do_show, true},
	{"Settings", "show setting-table", "Shows the table of all settings, whether something has them now or not.",
	 do_table, true},
	{"Settings", "set setting program {name:str} {value:rest}", "Changes a setting of the program.", do_set, false},
	{"Settings", "set setting {port:port} {name:str} {value:rest}",
	 "Changes a setting of a port: the same as the port's own commands do, with the same checks.", do_set, false},
	{"Settings", "set setting rxq {port:port} {queue:0..255} {name:str} {value:rest}",
	 "Changes a setting of a receive queue; it stays that of the queue's number when the port is configured again.",
	 do_set, false},
	{"Settings", "set setting txq {port:port} {queue:0..255} {name:str} {value:rest}",
	 "Changes a setting of a transmit queue; it stays that of the queue's number when the port is configured "
	 "again.",
	 do_set, false},
	{"Settings", "set setting group {port:port} {group_name:str} {name:str} {value:rest}",
	 "Changes a setting of a group.", do_set, false},
	{"Settings", "save {file:str}",
	 "Writes the settings that are not the defaults as a configuration file. qos save writes groups; commands that "
	 "make flow rules stand in a file for --cmdline-file.",
	 do_save, false},
	{"Settings", "load {file:str}",
	 "Puts a configuration file in force, all of it or nothing. A section says all of its object: what it does not "
	 "name gets its default. Forwarding and ports stop for a moment when a change needs it. Groups must be there; "
	 "qos "
	 "load makes them.",
	 do_load, false},
};

int
cmd_settings_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
