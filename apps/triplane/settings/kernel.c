/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The interface of the kernel that a port has. */
#include <errno.h>
#include <string.h>

#include "apps/triplane/port/kernel.h"
#include "settings.h"

#define OFF "off"

static int
judge(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	return tp_kernel_name_check(value) == 0 ? 0 : setting_refuse(row, value, err);
}

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct kernel_port *kp = app->port[at->port].kernel;

	snprintf(value, TP_SETTING_VALUE, "%s", kp != NULL ? kp->name : row->def);
	return 0;
}

/* The port gets a queue more, or loses it. */
static enum tp_setting_when
needs(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value)
{
	const struct app *app = ctx;

	(void)value;
	return app->port[at->port].started ? row->when : TP_WHEN_LIVE;
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct app_port *p = &app->port[at->port];

	if (p->started) {
		snprintf(err, TP_SETTING_ERR, "port %u: %s %s: not while it is started; 'port stop %u' first", p->id,
			 row->name, value, p->id);
		return -EBUSY;
	}
	if (strcmp(value, OFF) != 0)
		return kernel_make(app, p, value, err, TP_SETTING_ERR);
	kernel_unmake(p);
	return 0;
}

static const struct tp_setting rows[] = {
	{.name = "kernel",
	 .vendor = "",
	 .unit = "",
	 .def = OFF,
	 .help = "Network interface of the kernel beside the port: frames to its address, multicast and broadcast are "
		 "received there, and what the kernel sends leaves by the port",
	 .names = OFF " or a name of at most 15 characters without '/', ':', '%' and spaces",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_TEXT,
	 .when = TP_WHEN_STOPPED,
	 .needs = needs,
	 .needs_text = "port stopped",
	 .get = get,
	 .set = set,
	 .judge = judge},
};

int
settings_kernel_add(struct app *app)
{
	app->settings->kernel = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->kernel);
}
