/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Settings of what a port lets through and looks into: addresses, VLANs, the UDP port of VXLAN; and of its DCBX agent. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/port/dcbx.h"
#include "settings.h"
#include "apps/triplane/port/port.h"

#define NONE "none"
#define MACS_MAX 127 /* of a port, its own among them */

enum { MACS, VLANS };

/* --- addresses beside the port's own ------------------------------------------------------------------------- */

/* Their number, -1: wrong. */
static int
macs_of(const char *value, struct rte_ether_addr mac[MACS_MAX])
{
	char copy[TP_SETTING_VALUE], *next = copy, *one;
	int n = 0, i;

	if (strcmp(value, NONE) == 0)
		return 0;
	snprintf(copy, sizeof(copy), "%s", value);
	while ((one = strsep(&next, ",")) != NULL) {
		if (n == MACS_MAX - 1 || rte_ether_unformat_addr(one, &mac[n]) != 0 ||
		    !rte_is_valid_assigned_ether_addr(&mac[n]))
			return -1;
		for (i = 0; i < n; i++)
			if (rte_is_same_ether_addr(&mac[i], &mac[n]))
				return -1;
		n++;
	}
	return n;
}

static void
macs_text(const struct rte_ether_addr *mac, int n, char value[TP_SETTING_VALUE])
{
	size_t at = 0;
	int i;

	snprintf(value, TP_SETTING_VALUE, NONE);
	for (i = 0; i < n; i++)
		at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, "%s" RTE_ETHER_ADDR_PRT_FMT,
				       i == 0 ? "" : ",", RTE_ETHER_ADDR_BYTES(&mac[i]));
}

static int
judge_macs(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	struct rte_ether_addr mac[MACS_MAX];
	int n = macs_of(value, mac);

	if (n < 0)
		return setting_refuse(row, value, err);
	macs_text(mac, n, value);
	return 0;
}

static int
macs_now(const struct app_port *p, struct rte_ether_addr mac[MACS_MAX])
{
	struct rte_ether_addr all[MACS_MAX];
	int num = rte_eth_macaddrs_get(p->id, all, MACS_MAX), n = 0, i;

	for (i = 1; i < num; i++)
		if (!rte_is_zero_ether_addr(&all[i]))
			mac[n++] = all[i];
	return n;
}

static bool
has(const struct rte_ether_addr *mac, int n, const struct rte_ether_addr *one)
{
	while (n-- > 0)
		if (rte_is_same_ether_addr(&mac[n], one))
			return true;
	return false;
}

/* Takes off what is not wanted, adds what is missing. */
static int
macs_change(const struct app_port *p, const struct rte_ether_addr *want, int n)
{
	struct rte_ether_addr now[MACS_MAX], one;
	int k = macs_now(p, now), i, ret = 0;

	for (i = 0; i < k && ret == 0; i++)
		if (!has(want, n, &now[i]))
			ret = rte_eth_dev_mac_addr_remove(p->id, &now[i]);
	for (i = 0; i < n && ret == 0; i++) {
		one = want[i];
		if (!has(now, k, &one))
			ret = rte_eth_dev_mac_addr_add(p->id, &one, 0);
	}
	return ret;
}

static int
set_macs(const struct app_port *p, const char *value, char *err)
{
	struct rte_ether_addr want[MACS_MAX], was[MACS_MAX];
	int k = macs_now(p, was), ret = macs_change(p, want, macs_of(value, want));

	if (ret == 0)
		return 0;
	(void)macs_change(p, was, k);
	snprintf(err, TP_SETTING_ERR, "port %u: mac-addresses: %.400s: %s", p->id, value, rte_strerror(-ret));
	return ret;
}

/* --- VLANs ---------------------------------------------------------------------------------------------------- */

static bool
vlan_in(const uint64_t *map, unsigned int id)
{
	return (map[id / 64] >> id % 64 & 1) != 0;
}

static bool
vlans_of(const char *value, uint64_t map[APP_VLAN_WORDS])
{
	unsigned long lo, hi;
	char *end;

	memset(map, 0, APP_VLAN_WORDS * sizeof(map[0]));
	if (strcmp(value, NONE) == 0)
		return true;
	for (; isdigit((unsigned char)*value); value = end + 1) {
		lo = hi = strtoul(value, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			hi = strtoul(end + 1, &end, 10);
		if (lo > hi || hi >= APP_VLAN_WORDS * 64)
			return false;
		for (; lo <= hi; lo++)
			map[lo / 64] |= UINT64_C(1) << lo % 64;
		if (*end != ',')
			return *end == '\0';
	}
	return false;
}

/* False: the text is too long for a value. */
static bool
vlans_text(const uint64_t *map, char value[TP_SETTING_VALUE])
{
	const unsigned int ids = APP_VLAN_WORDS * 64;
	unsigned int lo, hi;
	size_t at = 0;

	snprintf(value, TP_SETTING_VALUE, NONE);
	for (lo = 0; lo < ids && at < TP_SETTING_VALUE; lo = hi + 1) {
		for (hi = lo; vlan_in(map, lo) && hi + 1 < ids && vlan_in(map, hi + 1); hi++)
			;
		if (vlan_in(map, lo))
			at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, lo == hi ? "%s%u" : "%s%u-%u",
					       at == 0 ? "" : ",", lo, hi);
	}
	return at < TP_SETTING_VALUE;
}

static int
judge_vlans(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	uint64_t map[APP_VLAN_WORDS];

	if (!vlans_of(value, map) || !vlans_text(map, value))
		return setting_refuse(row, value, err);
	return 0;
}

static int
set_vlans(struct app_port *p, const char *value, char *err)
{
	uint64_t was[APP_VLAN_WORDS], want[APP_VLAN_WORDS];
	int ret;

	(void)vlans_of(value, want);
	memcpy(was, p->vlans, sizeof(was));
	ret = port_vlans_set(p, want);
	if (ret == 0)
		return 0;
	(void)port_vlans_set(p, was);
	snprintf(err, TP_SETTING_ERR, "port %u: vlan-ids: %.400s: %s", p->id, value, rte_strerror(-ret));
	return ret;
}

static int
list_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct app_port *p = &app->port[at->port];
	struct rte_ether_addr mac[MACS_MAX];

	if (row->id == VLANS) {
		if ((p->info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) == 0)
			return -ENOTSUP;
		return vlans_text(p->vlans, value) ? 0 : -ENOSPC;
	}
	if (p->info.max_mac_addrs < 2)
		return -ENOTSUP;
	macs_text(mac, macs_now(p, mac), value);
	return 0;
}

static int
list_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	 char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct app_port *p = &app->port[at->port];

	return row->id == VLANS ? set_vlans(p, value, err) : set_macs(p, value, err);
}

/* --- VXLAN ---------------------------------------------------------------------------------------------------- */

static int
vxlan_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	uint16_t udp;

	(void)ctx, (void)row;
	if (rte_pmd_mlx4_vxlan_port_get(at->port, &udp) != 0)
		return -ENOTSUP;
	snprintf(value, TP_SETTING_VALUE, "%u", udp);
	return 0;
}

static int
vxlan_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	  char err[TP_SETTING_ERR])
{
	struct rte_eth_udp_tunnel t = {.prot_type = RTE_ETH_TUNNEL_TYPE_VXLAN};
	const uint16_t want = (uint16_t)tp_setting_num(value);
	uint16_t was = 0;
	int ret = rte_pmd_mlx4_vxlan_port_get(at->port, &was);

	(void)ctx;
	if (ret == 0 && was != want && was != 0) {
		t.udp_port = was;
		ret = rte_eth_dev_udp_tunnel_port_delete(at->port, &t);
	}
	if (ret == 0 && was != want && want != 0) {
		t.udp_port = want;
		ret = rte_eth_dev_udp_tunnel_port_add(at->port, &t);
		t.udp_port = was;
		if (ret != 0 && was != 0)
			(void)rte_eth_dev_udp_tunnel_port_add(at->port, &t);
	}
	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "port %u: %s %s: %s", at->port, row->name, value,
			 ret == -EBUSY ? "want the one that the card's other port has" : rte_strerror(-ret));
	return ret;
}

/* --- DCBX ----------------------------------------------------------------------------------------------------- */

static int
dcbx_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct app_port *p = &app->port[at->port];

	snprintf(value, TP_SETTING_VALUE, "%s", (row->id != 0 ? p->dcbx_willing : p->dcbx_on) ? "on" : "off");
	return 0;
}

static int
dcbx_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	 char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct app_port *p = &app->port[at->port];
	const bool on = tp_setting_on(value);
	int ret;

	if (app->fwd_runs)
		return setting_not_while_forwarding(err);
	ret = row->id != 0 ? dcbx_port_want(app, p, p->dcbx_on, on) : dcbx_port_want(app, p, on, p->dcbx_willing);
	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "port %u: %s %s: %s", p->id, row->name, value, rte_strerror(-ret));
	return ret;
}

/* An agent begins with them. */
static enum tp_setting_when
times_need(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value)
{
	const struct app *app = ctx;

	(void)row, (void)value;
	return app->port[at->port].dcbx != NULL ? TP_WHEN_STOPPED : TP_WHEN_IDLE;
}

static uint16_t *
time_of(struct app *app, const struct tp_setting *row, const struct tp_setting_at *at)
{
	struct app_port *p = &app->port[at->port];

	return row->id != 0 ? &p->dcbx_hold : &p->dcbx_interval;
}

static int
times_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const uint16_t v = *time_of(ctx, row, at);

	if (v == 0)
		snprintf(value, TP_SETTING_VALUE, "%s", row->def);
	else
		snprintf(value, TP_SETTING_VALUE, "%u", v);
	return 0;
}

static int
times_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	  char err[TP_SETTING_ERR])
{
	const struct app *app = ctx;

	if (app->port[at->port].dcbx != NULL) {
		snprintf(err, TP_SETTING_ERR, "port %u: DCBX is on; 'dcbx %u off' first", at->port, at->port);
		return -EBUSY;
	}
	*time_of(ctx, row, at) = (uint16_t)tp_setting_num(value);
	return 0;
}

#define LIST(text, id_, names_, judge_, help_)                                                                         \
	{                                                                                                              \
		.name = text, .vendor = "", .unit = "", .def = NONE, .help = help_, .names = names_,                   \
		.scope = TP_SCOPE_PORT, .type = TP_SETTING_TEXT, .when = TP_WHEN_LIVE, .get = list_get,                \
		.set = list_set, .judge = judge_, .id = id_                                                            \
	}
#define DCBX(text, id_, help_)                                                                                         \
	{                                                                                                              \
		.name = text, .vendor = "", .unit = "", .def = "off", .help = help_, .scope = TP_SCOPE_PORT,           \
		.type = TP_SETTING_SWITCH, .when = TP_WHEN_IDLE, .get = dcbx_get, .set = dcbx_set, .id = id_           \
	}
#define TIME(text, id_, unit_, def_, most, help_)                                                                      \
	{                                                                                                              \
		.name = text, .vendor = "", .unit = unit_, .def = def_, .help = help_, .scope = TP_SCOPE_PORT,         \
		.type = TP_SETTING_NUMBER, .when = TP_WHEN_STOPPED, .min = 1, .max = most, .get = times_get,           \
		.set = times_set, .needs = times_need, .needs_text = "DCBX off", .id = id_                             \
	}

static const struct tp_setting rows[] = {
	LIST("mac-addresses", MACS, NONE " or up to 126 unicast addresses such as 02:00:00:00:00:01,02:00:00:00:00:02",
	     judge_macs, "Addresses that the port receives beside its own"),
	LIST("vlan-ids", VLANS, NONE " or ids in 0..4095 such as 5,7-9", judge_vlans,
	     "VLANs that rx-vlan-filter lets through; a card has room for 127"),
	{.name = "vxlan-port",
	 .vendor = "*VxlanUDPPortNumber",
	 .unit = "",
	 .def = "0",
	 .help = "UDP port of VXLAN, which both ports of a card share; 0: none, but with offloads of tunnels 4789",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_NUMBER,
	 .when = TP_WHEN_LIVE,
	 .max = UINT16_MAX,
	 .get = vxlan_get,
	 .set = vxlan_set},
	/* In front of the agent's switch: a list that sets both sets them in this order. */
	TIME("dcbx-interval", 0, "s", "30", 3600, "Between two LLDP frames"),
	TIME("dcbx-hold", 1, "intervals", "4", 100, "How long peers keep a frame"),
	DCBX("dcbx", 0, "Talks LLDP and DCBX with the peer"),
	DCBX("dcbx-willing", 1, "Takes the peer's settings by DCBX"),
};

int
settings_filter_add(struct app *app)
{
	app->settings->filter = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->filter);
}
