/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a port is opened for RoCE with. A stopped port is closed for RoCE and opened again by its start. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "apps/triplane/port/roce.h"
#include "settings.h"

#define FIELD(name) (offsetof(struct tp_roce_conf, name) << 8 | sizeof(((struct tp_roce_conf *)0)->name))

/* A number of the configuration by a row's id: offset and size. */
static uint32_t
field_get(const struct tp_roce_conf *conf, uintptr_t id)
{
	const uint8_t *at = (const uint8_t *)conf + (id >> 8);
	uint16_t half;
	uint32_t word;

	switch (id & 0xff) {
	case 1: return *at;
	case 2: memcpy(&half, at, 2); return half;
	default: memcpy(&word, at, 4); return word;
	}
}

static void
field_set(struct tp_roce_conf *conf, uintptr_t id, uint32_t v)
{
	uint8_t *at = (uint8_t *)conf + (id >> 8);

	switch (id & 0xff) {
	case 1: *at = (uint8_t)v; break;
	case 2: memcpy(at, &(uint16_t){(uint16_t)v}, 2); break;
	default: memcpy(at, &v, 4); break;
	}
}

/* What the setting calls 0, and its default. */
static uint32_t
poll_shown(uint32_t ms)
{
	return ms == TP_ROCE_NO_GID_POLL ? 0 : ms == 0 ? TP_ROCE_GID_POLL_MS : ms;
}

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct roce_port *r = app->port[at->port].roce;

	if (row->id == FIELD(netdev_ms))
		snprintf(value, TP_SETTING_VALUE, "%u", poll_shown(r != NULL ? r->conf.netdev_ms : 0));
	else if (row->type == TP_SETTING_TEXT)
		snprintf(value, TP_SETTING_VALUE, "%s", r != NULL && r->netdev[0] != '\0' ? r->netdev : "none");
	else
		snprintf(value, TP_SETTING_VALUE, "%u", r != NULL ? field_get(&r->conf, row->id) : 0);
	return 0;
}

static enum tp_setting_when
needs(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value)
{
	const struct app *app = ctx;
	const struct roce_port *r = app->port[at->port].roce;

	(void)value;
	return r != NULL && r->ctx != NULL ? row->when : TP_WHEN_LIVE;
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct roce_port *r = roce_of(&app->port[at->port]);

	if (r == NULL)
		return -ENOMEM;
	if (r->ctx != NULL) {
		snprintf(err, TP_SETTING_ERR, "port %u: RoCE is on; 'roce %u off' first", at->port, at->port);
		return -EBUSY;
	}
	if (row->type == TP_SETTING_TEXT)
		snprintf(r->netdev, sizeof(r->netdev), "%s", strcmp(value, "none") == 0 ? "" : value);
	else if (row->id == FIELD(netdev_ms) && tp_setting_num(value) == 0)
		r->conf.netdev_ms = TP_ROCE_NO_GID_POLL;
	else
		field_set(&r->conf, row->id, (uint32_t)tp_setting_num(value));
	return 0;
}

static int
judge_netdev(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	if (value[0] != '\0' && strlen(value) < sizeof(((struct roce_port *)0)->netdev) &&
	    strpbrk(value, " \t/") == NULL)
		return 0;
	return setting_refuse(row, value, err);
}

#define NEEDS .when = TP_WHEN_STOPPED, .needs = needs, .needs_text = "RoCE off"

#define ROW(text, vendor_, unit_, def_, most, field, help_)                                                            \
	{                                                                                                              \
		.name = text, .vendor = vendor_, .unit = unit_, .def = def_, .help = help_, .scope = TP_SCOPE_PORT,    \
		.type = TP_SETTING_NUMBER, NEEDS, .max = most, .get = get, .set = set, .id = FIELD(field)              \
	}

static const struct tp_setting rows[] = {
	ROW("roce-mtu", "RoceMaxFrameSize", "octets", "0", 4096, mtu,
	    "RoCE MTU: 256, 512, 1024, 2048, 4096; 0: the largest that fits"),
	ROW("roce-prio", "", "", "0", 7, prio, "802.1p priority of RoCE packets whose address names none"),
	ROW("roce-dscp", "", "", "0", 63, dscp, "DSCP of RoCE packets whose address has no traffic class"),
	ROW("roce-ttl", "", "hops", "0", UINT8_MAX, ttl, "Time to live; 0: 16"),
	ROW("roce-udp-port", "", "", "0", UINT16_MAX, udp_port, "Destination port of RoCE v2; 0: 4791"),
	ROW("roce-gid-poll", "", "ms", "3000", 10000, netdev_ms,
	    "How often the addresses of roce-netdev are looked at, besides at each change that the kernel tells; 0: "
	    "never"),
	{.name = "roce-netdev",
	 .vendor = "",
	 .unit = "",
	 .def = "none",
	 .help = "Network interface of the kernel whose addresses the port follows",
	 .names = "none or a name of at most 15 characters",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_TEXT,
	 NEEDS,
	 .get = get,
	 .set = set,
	 .judge = judge_netdev},
};

int
settings_roce_add(struct app *app)
{
	app->settings->roce = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->roce);
}
