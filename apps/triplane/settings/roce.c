/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* RoCE of a port, and what it is opened with. A stopped port is closed for RoCE and opened again by its start. */
#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roce_common/end.h"
#include "apps/triplane/port/port.h"
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
	uint32_t v = r != NULL ? field_get(&r->conf, row->id) : 0;

	snprintf(value, TP_SETTING_VALUE, "%u", row->id == FIELD(netdev_ms) ? poll_shown(v) : v);
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

/* Of a port that RoCE is off on, or that is stopped. NULL: it is not, or no memory. */
static struct roce_port *
closed(struct app *app, const struct tp_setting_at *at, char err[TP_SETTING_ERR])
{
	struct roce_port *r = roce_of(&app->port[at->port]);

	if (r == NULL || r->ctx == NULL)
		return r;
	snprintf(err, TP_SETTING_ERR, "port %u: RoCE is on; 'roce %u off' first", at->port, at->port);
	return NULL;
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct roce_port *r = closed(ctx, at, err);

	if (r == NULL)
		return -EBUSY;
	if (row->id == FIELD(netdev_ms) && tp_setting_num(value) == 0)
		r->conf.netdev_ms = TP_ROCE_NO_GID_POLL;
	else
		field_set(&r->conf, row->id, (uint32_t)tp_setting_num(value));
	return 0;
}

/* --- on and off ------------------------------------------------------------------------------------------------ */

static int
mode_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct roce_port *r = app->port[at->port].roce;

	(void)row;
	snprintf(value, TP_SETTING_VALUE, "%s", roce_mode_names[r != NULL && r->on ? r->conf.mode : TP_ROCE_OFF]);
	return 0;
}

/* The port gets a queue more, or loses it. */
static enum tp_setting_when
mode_needs(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value)
{
	const struct app *app = ctx;

	(void)value;
	return app->port[at->port].started ? row->when : TP_WHEN_LIVE;
}

static int
mode_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	 char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct app_port *p = &app->port[at->port];
	struct roce_port *r = roce_of(p);
	const enum tp_roce_mode mode = roce_mode_of(value);

	if (r == NULL)
		return -ENOMEM;
	if (p->started) {
		snprintf(err, TP_SETTING_ERR, "port %u: %s %s: not while it is started; 'port stop %u' first", p->id,
			 row->name, value, p->id);
		return -EBUSY;
	}
	r->on = mode != TP_ROCE_OFF;
	if (r->on)
		r->conf.mode = mode;
	p->dirty = true;
	return 0;
}

/* --- addresses -------------------------------------------------------------------------------------------------- */

#define NONE "none"

static void
address_text(const struct sockaddr_storage *a, char text[INET6_ADDRSTRLEN])
{
	const void *ip = a->ss_family == AF_INET ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
						 : (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr;

	(void)inet_ntop(a->ss_family, ip, text, INET6_ADDRSTRLEN);
}

static void
addresses_text(const struct roce_addr *a, unsigned int n, char value[TP_SETTING_VALUE])
{
	char text[INET6_ADDRSTRLEN];
	size_t at = 0;

	snprintf(value, TP_SETTING_VALUE, NONE);
	for (unsigned int i = 0; i < n; i++) {
		address_text(&a[i].addr, text);
		at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, "%s%s/%u", i == 0 ? "" : ",", text,
				       a[i].prefix);
		if (a[i].vlan != TP_ROCE_NO_VLAN)
			at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, "@%u", a[i].vlan);
	}
}

/* "192.0.2.1/24@7"; false: it is none. */
static bool
address_of(char *text, struct roce_addr *a)
{
	char *vlan = strchr(text, '@'), *end;
	unsigned long v;

	*a = (struct roce_addr){.vlan = TP_ROCE_NO_VLAN};
	if (vlan != NULL) {
		*vlan++ = '\0';
		v = strtoul(vlan, &end, 10);
		if (end == vlan || *end != '\0' || v < 1 || v > 4094)
			return false;
		a->vlan = (uint16_t)v;
	}
	return strchr(text, '/') != NULL && rport_addr_parse(text, &a->addr, &a->prefix) == 0;
}

/* Their number, -1: wrong. */
static int
addresses_of(const char *value, struct roce_addr a[ROCE_ADDRS])
{
	char copy[TP_SETTING_VALUE], *next = copy, *one;
	int n = 0;

	if (strcmp(value, NONE) == 0)
		return 0;
	snprintf(copy, sizeof(copy), "%s", value);
	for (; (one = strsep(&next, ",")) != NULL; n++) {
		if (n == (int)ROCE_ADDRS || !address_of(one, &a[n]))
			return -1;
		for (int i = 0; i < n; i++)
			if (memcmp(&a[i].addr, &a[n].addr, sizeof(a[n].addr)) == 0)
				return -1;
	}
	return n;
}

static int
judge_addresses(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	struct roce_addr a[ROCE_ADDRS];
	int n = addresses_of(value, a);

	if (n < 0)
		return setting_refuse(row, value, err);
	addresses_text(a, (unsigned int)n, value);
	return 0;
}

static int
addresses_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct roce_port *r = app->port[at->port].roce;

	(void)row;
	addresses_text(r != NULL ? r->addr : NULL, r != NULL ? r->num_addrs : 0, value);
	return 0;
}

static const struct roce_addr *
among(const struct roce_addr *all, unsigned int n, const struct roce_addr *a)
{
	for (unsigned int i = 0; i < n; i++)
		if (memcmp(&all[i].addr, &a->addr, sizeof(a->addr)) == 0 && all[i].prefix == a->prefix &&
		    all[i].vlan == a->vlan)
			return &all[i];
	return NULL;
}

/* The open port loses those that are not wanted any more, then gets the new ones. 0 or a negative errno. */
static int
addresses_apply(struct roce_port *r, const struct roce_addr *want, unsigned int n)
{
	int ret = 0;

	for (unsigned int i = 0; i < r->num_addrs && ret == 0; i++)
		if (among(want, n, &r->addr[i]) == NULL)
			ret = -tp_roce_addr_del(r->ctx, (const struct sockaddr *)&r->addr[i].addr);
	for (unsigned int i = 0; i < n && ret == 0; i++)
		if (among(r->addr, r->num_addrs, &want[i]) == NULL)
			ret = roce_addr_apply(r, &want[i]);
	return ret;
}

static int
addresses_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	      char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct roce_port *r = roce_of(&app->port[at->port]);
	struct roce_addr want[ROCE_ADDRS];
	unsigned int n = (unsigned int)addresses_of(value, want);
	int ret = r == NULL ? -ENOMEM : r->ctx != NULL ? addresses_apply(r, want, n) : 0;

	if (ret != 0) {
		snprintf(err, TP_SETTING_ERR, "port %u: %s: %.60s: %s", at->port, row->name, value, strerror(-ret));
		return ret;
	}
	memcpy(r->addr, want, n * sizeof(want[0]));
	r->num_addrs = n;
	return 0;
}

static int
gateway_of(const char *value, struct sockaddr_storage *gw)
{
	unsigned int prefix;

	memset(gw, 0, sizeof(*gw));
	if (strcmp(value, NONE) == 0)
		return 0;
	return strchr(value, '/') != NULL ? -EINVAL : rport_addr_parse(value, gw, &prefix);
}

static int
judge_gateway(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	struct sockaddr_storage gw;

	if (gateway_of(value, &gw) != 0)
		return setting_refuse(row, value, err);
	if (gw.ss_family != 0)
		address_text(&gw, value);
	return 0;
}

static int
gateway_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct roce_port *r = app->port[at->port].roce;

	(void)row;
	if (r != NULL && r->gateway.ss_family != 0)
		address_text(&r->gateway, value);
	else
		snprintf(value, TP_SETTING_VALUE, NONE);
	return 0;
}

static int
gateway_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	    char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct roce_port *r = roce_of(&app->port[at->port]);
	struct sockaddr_storage was;
	int ret;

	if (r == NULL)
		return -ENOMEM;
	was = r->gateway;
	ret = gateway_of(value, &r->gateway);
	if (ret == 0 && r->ctx != NULL)
		ret = roce_gateway_apply(r);
	if (ret == 0)
		return 0;
	r->gateway = was;
	snprintf(err, TP_SETTING_ERR, "port %u: %s: %.60s: %s", at->port, row->name, value, strerror(-ret));
	return ret;
}

/* --- texts of what it is opened with ------------------------------------------------------------------------------ */

enum { NETDEV, PROVIDER };

static int
text_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct roce_port *r = app->port[at->port].roce;
	const char *text = r == NULL ? "" : row->id == PROVIDER ? r->provider : r->netdev;

	snprintf(value, TP_SETTING_VALUE, "%s", text[0] != '\0' ? text : row->def);
	return 0;
}

static int
text_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	 char err[TP_SETTING_ERR])
{
	struct roce_port *r = closed(ctx, at, err);

	if (r == NULL)
		return -EBUSY;
	value = strcmp(value, row->def) == 0 ? "" : value;
	if (row->id == PROVIDER)
		snprintf(r->provider, sizeof(r->provider), "%s", value);
	else
		snprintf(r->netdev, sizeof(r->netdev), "%s", value);
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
	 .get = text_get,
	 .set = text_set,
	 .judge = judge_netdev,
	 .id = NETDEV},
	{.name = "roce-provider",
	 .vendor = "",
	 .unit = "",
	 .def = "best",
	 .help = "Who has the transport: the card, software, or the card where it can",
	 .names = "best|mlx4|sw",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_CHOICE,
	 NEEDS,
	 .get = text_get,
	 .set = text_set,
	 .id = PROVIDER},
	{.name = "roce",
	 .vendor = "",
	 .unit = "",
	 .def = "off",
	 .help = "RoCE beside forwarding, by addresses of this kind",
	 .names = "off|v2|v1|v1-mac",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_CHOICE,
	 .when = TP_WHEN_STOPPED,
	 .needs = mode_needs,
	 .needs_text = "port stopped",
	 .get = mode_get,
	 .set = mode_set},
	{.name = "roce-addresses",
	 .vendor = "",
	 .unit = "",
	 .def = NONE,
	 .help = "Addresses that the port has beside those of roce-netdev; behind an @ the VLAN",
	 .names = NONE " or up to 16 such as 192.0.2.1/24,2001:db8::1/64@7",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_TEXT,
	 .when = TP_WHEN_LIVE,
	 .get = addresses_get,
	 .set = addresses_set,
	 .judge = judge_addresses},
	{.name = "roce-gateway",
	 .vendor = "",
	 .unit = "",
	 .def = NONE,
	 .help = "Router towards networks that no address covers",
	 .names = NONE " or an address such as 192.0.2.254",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_TEXT,
	 .when = TP_WHEN_LIVE,
	 .get = gateway_get,
	 .set = gateway_set,
	 .judge = judge_gateway},
	{.name = "roce-cc",
	 .vendor = "",
	 .unit = "",
	 .def = NONE,
	 .help = "Priorities with congestion control, each with what differs from the defaults; behind a - one that is "
		 "off",
	 .names = NONE " or priorities with parameters such as 3,4:variant=paper:threshold=3",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_TEXT,
	 .when = TP_WHEN_LIVE,
	 .get = roce_cc_get,
	 .set = roce_cc_set,
	 .judge = roce_cc_judge},
};

int
settings_roce_add(struct app *app)
{
	app->settings->roce = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->roce);
}
