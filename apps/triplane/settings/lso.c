/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Settings of large sends, of ports of our driver: all of them live, kept by the driver. */
#include <errno.h>

#include "settings.h"

enum { SIZE, SEGMENTS, WITH_TCP_OPTIONS, WITH_IP_OPTIONS };

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	struct rte_pmd_mlx4_lso lso;

	(void)ctx;
	if (rte_pmd_mlx4_lso_get(at->port, &lso) != 0)
		return -ENOTSUP;
	if (row->type == TP_SETTING_SWITCH)
		snprintf(value, TP_SETTING_VALUE, "%s",
			 (row->id == WITH_TCP_OPTIONS ? lso.tcp_options : lso.ip_options) ? "on" : "off");
	else
		snprintf(value, TP_SETTING_VALUE, "%u", row->id == SIZE ? lso.size : lso.min_segments);
	return 0;
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct rte_pmd_mlx4_lso lso;
	int ret = rte_pmd_mlx4_lso_get(at->port, &lso);
	char why[TP_ERR_LEN];

	(void)ctx;
	if (ret != 0) {
		snprintf(err, TP_SETTING_ERR, "port %u: %s %s: its device makes no segments", at->port, row->name,
			 value);
		return -ENOTSUP;
	}
	switch (row->id) {
	case SIZE: lso.size = (uint32_t)tp_setting_num(value); break;
	case SEGMENTS: lso.min_segments = (uint16_t)tp_setting_num(value); break;
	case WITH_TCP_OPTIONS: lso.tcp_options = tp_setting_on(value); break;
	default: lso.ip_options = tp_setting_on(value); break;
	}
	ret = rte_pmd_mlx4_lso_set(at->port, &lso, why);
	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "port %u: %s", at->port, why);
	return ret;
}

#define ROW(text, vendor_, unit_, type_, def_, lo, hi, id_, help_)                                                     \
	{                                                                                                              \
		.name = text, .vendor = vendor_, .unit = unit_, .def = def_, .help = help_, .scope = TP_SCOPE_PORT,    \
		.type = type_, .when = TP_WHEN_LIVE, .min = lo, .max = hi, .get = get, .set = set, .id = id_           \
	}

static const struct tp_setting rows[] = {
	ROW("lso-size", "LSOSize", "octets", TP_SETTING_NUMBER, "131072", 0, 131072, SIZE,
	    "Most data of a large send (tx-tcp-tso), larger ones are dropped; below MTU + 1024 all of them are"),
	ROW("lso-min-segments", "LSOMinSegment", "segments", TP_SETTING_NUMBER, "2", RTE_PMD_MLX4_LSO_SEGMENTS_MIN,
	    RTE_PMD_MLX4_LSO_SEGMENTS_MAX, SEGMENTS,
	    "Large sends of fewer segments are dropped; a packet that fits into one segment is no large send"),
	ROW("lso-tcp-options", "LSOTcpOptions", "", TP_SETTING_SWITCH, "on", 0, 0, WITH_TCP_OPTIONS,
	    "Large sends may have TCP options"),
	ROW("lso-ip-options", "LSOIpOptions", "", TP_SETTING_SWITCH, "on", 0, 0, WITH_IP_OPTIONS,
	    "Large sends may have IPv4 options or IPv6 extension headers"),
};

int
settings_lso_add(struct app *app)
{
	app->settings->lso = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->lso);
}
