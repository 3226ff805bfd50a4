/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Settings of one receive or transmit queue. The driver logs their changes. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "settings.h"

enum { DROPLESS, PRIO, RATE };

#define RATE_MOST 56000

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	struct rte_pmd_mlx4_txq_policy policy = {0};
	uint32_t units = 0;
	int ret;

	(void)ctx;
	if (row->id == DROPLESS)
		ret = rte_pmd_mlx4_dropless_get(at->port, at->queue, &units, NULL);
	else
		ret = rte_pmd_mlx4_txq_policy_get(at->port, at->queue, &policy);
	/* Others than the program make the queues of a member of a bond: fewer, or none. */
	if (ret == -EINVAL)
		return -ENODEV;
	snprintf(value, TP_SETTING_VALUE, "%u",
		 row->id == DROPLESS ? units
		 : row->id == PRIO   ? policy.prio
				     : policy.rate_mbps);
	return ret;
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	const uint32_t v = (uint32_t)tp_setting_num(value);
	char why[TP_ERR_LEN] = "";
	int ret;

	(void)ctx;
	switch (row->id) {
	case DROPLESS: ret = rte_pmd_mlx4_dropless_set(at->port, at->queue, v, why); break;
	case PRIO: ret = rte_pmd_mlx4_txq_prio_set(at->port, at->queue, (uint8_t)v, why); break;
	default: ret = rte_pmd_mlx4_txq_rate_set(at->port, at->queue, v, why); break;
	}
	snprintf(err, TP_SETTING_ERR, "%s", why);
	return ret;
}

#define ROW(scope_, text, vendor_, unit_, most, id_, help_)                                                            \
	{                                                                                                              \
		.name = text, .vendor = vendor_, .unit = unit_, .def = "0", .help = help_, .scope = scope_,            \
		.type = TP_SETTING_NUMBER, .when = TP_WHEN_LIVE, .max = most, .get = get, .set = set, .id = id_        \
	}

static const struct tp_setting rows[] = {
	ROW(TP_SCOPE_RXQ, "dropless", "DelayDropTimeout", "100 us", RTE_PMD_MLX4_DROPLESS_FOREVER, DROPLESS,
	    "How long a frame waits for a buffer; 0: it is dropped; 65535: for ever"),
	ROW(TP_SCOPE_TXQ, "prio", "", "", TP_PRIOS - 1, PRIO, "Priority of what the queue sends"),
	ROW(TP_SCOPE_TXQ, "rate", "", "Mb/s", RATE_MOST, RATE, "Limit of the queue, as the card rounds it; 0: none"),
};

int
settings_queue_add(struct app *app)
{
	app->settings->queue = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app, .tells = true};
	return tp_settings_add(app->settings->reg, &app->settings->queue);
}
