/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Settings of packet-burst buffering: both want the pool of receive buffers made anew. */
#include "settings.h"
#include "apps/triplane/port/port.h"

enum { BURST_BUFFER, RESERVATION };

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct app_port *p = &app->port[at->port];

	if (row->id == BURST_BUFFER)
		snprintf(value, TP_SETTING_VALUE, "%s", p->burst_buffer ? "on" : "off");
	else
		snprintf(value, TP_SETTING_VALUE, "%u", p->reservation);
	return 0;
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct app_port *p = &app->port[at->port];
	int ret = port_check_stopped(app, p, err, TP_SETTING_ERR);

	if (ret != 0)
		return ret;
	if (row->id == BURST_BUFFER)
		p->burst_buffer = tp_setting_on(value);
	else
		p->reservation = (uint32_t)tp_setting_num(value);
	p->dirty = true;
	return 0;
}

static const struct tp_setting rows[] = {
	{.name = "burst-buffer",
	 .vendor = "AsyncReceiveIndication",
	 .unit = "",
	 .def = "off",
	 .help = "Packets wait in reserves, which an lcore of its own fills from the receive rings; lcores that take "
		 "from "
		 "them poll",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_SWITCH,
	 .when = TP_WHEN_STOPPED,
	 .get = get,
	 .set = set,
	 .id = BURST_BUFFER},
	{.name = "rfd-reservation",
	 .vendor = "RfdReservationFactor",
	 .unit = "packets",
	 .def = "150",
	 .help = "Reserve of each receive queue with burst-buffer; 10000 for bursts of many connections",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_NUMBER,
	 .when = TP_WHEN_STOPPED,
	 .min = 1,
	 .max = APP_RESERVATION_MOST,
	 .get = get,
	 .set = set,
	 .id = RESERVATION},
};

int
settings_reserve_add(struct app *app)
{
	app->settings->reserve = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->reserve);
}
