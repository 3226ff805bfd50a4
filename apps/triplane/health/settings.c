/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* How ports are watched: settings that the driver keeps, all of them live. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/triplane/settings/settings.h"
#include "health.h"

enum { TIME, CHECKS, RESTART, DUMP, PATH };

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	struct rte_pmd_mlx4_health_conf conf;

	(void)ctx;
	if (rte_pmd_mlx4_health_conf_get(at->port, &conf) != 0)
		return -ENOTSUP;
	switch (row->id) {
	case TIME: snprintf(value, TP_SETTING_VALUE, "%u", conf.period_s); break;
	case CHECKS: snprintf(value, TP_SETTING_VALUE, "%u", conf.checks); break;
	case RESTART: snprintf(value, TP_SETTING_VALUE, "0x%x", conf.restart_mask); break;
	case DUMP: snprintf(value, TP_SETTING_VALUE, "0x%x", conf.dump_mask); break;
	default: snprintf(value, TP_SETTING_VALUE, "%s", conf.dump_path); break;
	}
	return 0;
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct rte_pmd_mlx4_health_conf conf;
	int ret = rte_pmd_mlx4_health_conf_get(at->port, &conf);
	char why[TP_ERR_LEN];

	(void)ctx;
	if (ret != 0) {
		snprintf(err, TP_SETTING_ERR, "port %u: %s: its device is not watched", at->port, row->name);
		return -ENOTSUP;
	}
	switch (row->id) {
	case TIME: conf.period_s = (uint32_t)tp_setting_num(value); break;
	case CHECKS: conf.checks = (uint32_t)tp_setting_num(value); break;
	case RESTART: conf.restart_mask = (uint32_t)strtoul(value, NULL, 0); break;
	case DUMP: conf.dump_mask = (uint32_t)strtoul(value, NULL, 0); break;
	default: snprintf(conf.dump_path, sizeof(conf.dump_path), "%s", value); break;
	}
	ret = rte_pmd_mlx4_health_conf_set(at->port, &conf, why);
	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "port %u: %s: %s", at->port, row->name, why);
	return ret;
}

static int
judge_mask(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(value, &end, 0);
	if (errno != 0 || !isdigit((unsigned char)value[0]) || *end != '\0' ||
	    (v & ~(unsigned long long)RTE_PMD_MLX4_SENSOR_ALL) != 0)
		return setting_refuse(row, value, err);
	snprintf(value, TP_SETTING_VALUE, "0x%llx", v);
	return 0;
}

static int
judge_path(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	if (value[0] != '/' || strlen(value) >= RTE_PMD_MLX4_PATH)
		return setting_refuse(row, value, err);
	return 0;
}

#define MASK                                                                                                           \
	"bits of 0xf0058: 0x8 tx-stuck, 0x10 tx-completion, 0x40 rx-completion, 0x10000 rx-error, 0x20000 tx-error, "  \
	"0x40000 command, 0x80000 event"
#define ROW(text, unit_, type_, def_, lo, hi, id_, names_, judge_, help_)                                              \
	{                                                                                                              \
		.name = text, .vendor = "", .unit = unit_, .def = def_, .help = help_, .names = names_,                \
		.scope = TP_SCOPE_PORT, .type = type_, .when = TP_WHEN_LIVE, .min = lo, .max = hi, .get = get,         \
		.set = set, .id = id_, .judge = judge_                                                                 \
	}

static const struct tp_setting rows[] = {
	ROW("health-time", "s", TP_SETTING_NUMBER, "4", 0, 3600, TIME, NULL, NULL,
	    "Time between two looks at the port's health; 0: none"),
	ROW("health-checks", "looks", TP_SETTING_NUMBER, "4", 1, 1000, CHECKS, NULL, NULL,
	    "Looks without progress that make an alarm; twice that for tx-completion"),
	ROW("health-restart", "", TP_SETTING_TEXT, "0xf0058", 0, 0, RESTART, MASK, judge_mask,
	    "Sensors whose alarm restarts the port"),
	ROW("health-dump", "", TP_SETTING_TEXT, "0x0", 0, 0, DUMP, MASK, judge_mask,
	    "Sensors whose alarm writes a dump"),
	ROW("dump-path", "", TP_SETTING_TEXT, "/var/tmp/triplane-dumps", 0, 0, PATH,
	    "a path that begins with /, of up to 255 octets", judge_path, "The folder of dumps"),
};

int
settings_health_add(struct app *app)
{
	app->settings->health = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->health);
}
