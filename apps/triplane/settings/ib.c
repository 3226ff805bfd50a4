/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What IPoIB ports and pairs of them have that can change while they are at work. */
#include <errno.h>
#include <string.h>

#include <tp_ipoib.h>

#include "settings.h"

#define PREFIX "ipoib-" /* of a row's name, in front of that of the library */

enum { MODE, REFUSE, AGE_INTERVAL, AGE, MONITOR, QUERY_RUNS, LEAVE_RUNS };

/* The IPoIB ports that a port is: itself, or the two of a pair. Returns how many. */
static unsigned int
members(uint16_t port, uint16_t ids[TP_IPOIB_PAIR_MEMBERS])
{
	struct tp_ipoib_pair_info pair;
	struct tp_ipoib_info info;

	if (tp_ipoib_pair_info(port, &pair) == 0) {
		memcpy(ids, pair.member, sizeof(pair.member));
		return TP_IPOIB_PAIR_MEMBERS;
	}
	ids[0] = port;
	return tp_ipoib_info(port, &info) == 0 ? 1 : 0;
}

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	uint16_t ids[TP_IPOIB_PAIR_MEMBERS];
	struct tp_ipoib_info info;
	uint32_t n = 0;

	(void)ctx;
	if (members(at->port, ids) == 0 || tp_ipoib_info(ids[0], &info) != 0)
		return -ENODEV;
	switch (row->id) {
	case MODE: snprintf(value, TP_SETTING_VALUE, "%s", info.connected ? "connected" : "datagram"); return 0;
	case REFUSE: snprintf(value, TP_SETTING_VALUE, "%s", info.conf.refuse_incoming ? "on" : "off"); return 0;
	case AGE_INTERVAL: n = info.conf.age_interval_ms; break;
	case AGE: n = info.conf.age; break;
	case MONITOR: n = info.conf.monitor_ms; break;
	case QUERY_RUNS: n = info.conf.query_runs; break;
	default: n = info.conf.leave_runs; break;
	}
	snprintf(value, TP_SETTING_VALUE, "%u", n);
	return 0;
}

static int
change(uint16_t port, const struct tp_setting *row, const char *value)
{
	switch (row->id) {
	case MODE: return tp_ipoib_mode_set(port, strcmp(value, "connected") == 0);
	case REFUSE: return tp_ipoib_change(port, row->name + strlen(PREFIX), tp_setting_on(value) ? "1" : "0");
	default: return tp_ipoib_change(port, row->name + strlen(PREFIX), value);
	}
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	char was[TP_SETTING_VALUE];
	uint16_t ids[TP_IPOIB_PAIR_MEMBERS];
	unsigned int i, n = members(at->port, ids);
	int ret = n == 0 ? -ENODEV : get(ctx, row, at, was);

	for (i = 0; i < n && ret == 0; i++)
		ret = change(ids[i], row, value);
	if (ret == 0)
		return 0;
	/* Both ports of a pair, or none. */
	if (i > 1)
		(void)change(ids[0], row, was);
	snprintf(err, TP_SETTING_ERR, "port %u: %s %.60s: %s", at->port, row->name, value,
		 n == 0 ? "it is no IPoIB port" : strerror(-ret));
	return ret;
}

#define ROW(text, unit_, type_, def_, names_, lo, hi, id_, help_)                                                      \
	{                                                                                                              \
		.name = PREFIX text, .vendor = "", .unit = unit_, .def = def_, .help = help_, .names = names_,         \
		.scope = TP_SCOPE_PORT, .type = type_, .when = TP_WHEN_LIVE, .min = lo, .max = hi, .get = get,         \
		.set = set, .id = id_                                                                                  \
	}
#define COUNT(text, unit_, def_, lo, hi, id_, help_) ROW(text, unit_, TP_SETTING_NUMBER, def_, NULL, lo, hi, id_, help_)

static const struct tp_setting rows[] = {
	ROW("mode", "", TP_SETTING_CHOICE, "datagram", "datagram|connected", 0, 0, MODE,
	    "Datagrams alone, or connections to neighbours that offer them, too"),
	ROW("refuse-incoming", "", TP_SETTING_SWITCH, "off", NULL, 0, 0, REFUSE,
	    "In connected mode, refuses the connections that neighbours ask for; those that are there stay"),
	COUNT("age-interval", "ms", "60000", 10000, 1200000, AGE_INTERVAL,
	      "Between two looks for neighbours, groups and addresses that were not used"),
	COUNT("age", "intervals", "5", 1, 20, AGE, "Intervals without use until they are forgotten"),
	COUNT("monitor", "ms", "30000", 1000, 300000, MONITOR, "Between two looks at group memberships"),
	COUNT("query-runs", "looks", "3", 1, 10, QUERY_RUNS, "Looks without a report until one is asked for"),
	COUNT("leave-runs", "looks", "2", 1, 10, LEAVE_RUNS, "Looks without an answer until the group is left"),
};

int
settings_ib_add(struct app *app)
{
	app->settings->ib = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->ib);
}
