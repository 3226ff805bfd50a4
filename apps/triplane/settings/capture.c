/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Captures of ports: 'capture start' and 'stop' change these. */
#include <errno.h>
#include <string.h>

#include "settings.h"
#include "capture/tp_capture.h"

#define OFF "off"
#define WORDS                                                                                                          \
	" direction in|out|both, queue N, rss any|none, snap OCTETS, ring OCTETS*PACKETS, and at last filter "         \
	"EXPRESSION"

static enum tp_capture_kind
kind_of(const struct tp_setting *row)
{
	return (enum tp_capture_kind)row->id;
}

static int
read_words(const struct tp_setting *row, const char *value, struct tp_capture_conf *conf, char err[TP_SETTING_ERR])
{
	char why[TP_CAPTURE_ERR];
	int ret = tp_capture_conf_parse(kind_of(row), value, conf, why);

	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "%s: %.480s", row->name, why);
	return ret;
}

static int
judge(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	struct tp_capture_conf conf;
	int ret = 0;

	if (strcmp(value, OFF) == 0)
		return 0;
	ret = read_words(row, value, &conf, err);
	if (ret == 0)
		tp_capture_conf_text(kind_of(row), &conf, value);
	return ret;
}

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	struct tp_capture_info info;

	(void)ctx;
	if (tp_capture_info_get(at->port, kind_of(row), &info) == 0 && info.running)
		tp_capture_conf_text(kind_of(row), &info.conf, value);
	else
		snprintf(value, TP_SETTING_VALUE, "%s", row->def);
	return 0;
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct tp_capture_conf conf;
	char why[TP_CAPTURE_ERR];
	int ret;

	(void)ctx;
	if (strcmp(value, OFF) == 0) {
		ret = tp_capture_stop(at->port, kind_of(row), NULL, why);
		if (ret == -ENOENT)
			return 0;
	} else {
		ret = read_words(row, value, &conf, err);
		if (ret != 0)
			return ret;
		ret = tp_capture_start(at->port, kind_of(row), &conf, why);
	}
	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "port %u: %s: %.460s", at->port, row->name, why);
	return ret;
}

#define ROW(text, kind, names_, help_)                                                                                 \
	{                                                                                                              \
		.name = text, .vendor = "", .unit = "", .def = OFF, .help = help_, .names = names_,                    \
		.scope = TP_SCOPE_PORT, .type = TP_SETTING_TEXT, .when = TP_WHEN_LIVE, .get = get, .set = set,         \
		.judge = judge, .id = kind                                                                             \
	}

static const struct tp_setting rows[] = {
	ROW("capture", TP_CAPTURE_FILE, OFF " or a path with a / in it, and any of" WORDS,
	    "Packets of the port go to a pcapng file, which is overwritten"),
	ROW("capture-memory", TP_CAPTURE_MEMORY, OFF " or on, and any of" WORDS,
	    "The port's last packets are kept in memory; unless it says more, 128 octets of 1024 received ones that "
	    "have no "
	    "RSS hash"),
};

int
settings_capture_add(struct app *app)
{
	app->settings->capture = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->capture);
}
