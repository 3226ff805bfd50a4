/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of RoCE ports: on and off, addresses, GIDs, counters, events. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "apps/roce_common/end.h"

#include "apps/triplane/port/roce.h"
#include "apps/triplane/settings/settings.h"
#include "apps/triplane/port/port.h"
#include "commands.h"

/* The port has another queue, or one less: it is configured anew. */
static int
restart(struct app *app, struct app_port *p)
{
	bool was_up = p->started;
	int ret = was_up ? port_stop(app, p) : 0;

	p->dirty = true;
	return ret == 0 && was_up ? port_start(app, p) : ret;
}

static int
on(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct app_port *p = &app->port[cmd_num(a, "port", 0)];
	struct roce_port *r = roce_of(p);
	int ret;

	if (r == NULL)
		return -ENOMEM;
	if (app->fwd_runs)
		return app_err(-EBUSY, "port %u: forwarding runs; 'stop' first", p->id);
	if (r->on)
		return app_err(-EALREADY, "port %u: RoCE is on; 'roce %u off' first", p->id, p->id);
	if (cmd_has(a, "mode"))
		r->conf.mode = roce_mode_of(cmd_text(a, "mode"));
	if (cmd_has(a, "provider"))
		snprintf(r->provider, sizeof(r->provider), "%s",
			 cmd_is(a, "provider", "best") ? "" : cmd_text(a, "provider"));
	r->on = true;
	ret = restart(app, p);
	if (ret == 0)
		return 0;
	/* The port forwards as before. */
	r->on = false;
	(void)restart(app, p);
	return ret;
}

static int
do_on(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"roce", "roce-provider", NULL};

	return settings_noted(arg, a, names, on);
}

static int
off(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct app_port *p = &app->port[cmd_num(a, "port", 0)];

	if (app->fwd_runs)
		return app_err(-EBUSY, "port %u: forwarding runs; 'stop' first", p->id);
	if (p->roce == NULL || !p->roce->on)
		return 0;
	roce_port_down(p);
	p->roce->on = false;
	return restart(app, p);
}

static int
do_off(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"roce", NULL};

	return settings_noted(arg, a, names, off);
}

/* --- settings --- */

static int
do_set(void *arg, const struct cmd_args *a)
{
	const struct tp_setting_at at = {.scope = TP_SCOPE_PORT, .port = (uint16_t)cmd_num(a, "port", 0)};
	char name[32];

	if (!cmd_has(a, "what"))
		return setting_set(arg, &at, "roce-netdev", cmd_text(a, "name"));
	snprintf(name, sizeof(name), "roce-%s", cmd_text(a, "what"));
	return setting_set(arg, &at, name, cmd_text(a, "value"));
}

/* --- addresses --- */

static bool
same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	return a->ss_family == AF_INET ? a4->sin_addr.s_addr == b4->sin_addr.s_addr
				       : memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

static int
address_of(const struct cmd_args *a, struct sockaddr_storage *addr, unsigned int *prefix)
{
	const char *text = cmd_text(a, "addr");

	memset(addr, 0, sizeof(*addr));
	if (rport_addr_parse(text, addr, prefix) == 0)
		return 0;
	return app_err(-EINVAL, "address: '%s', want ADDRESS/LENGTH as in 192.0.2.1/24 or 2001:db8::1/64", text);
}

static int
addr_add(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct app_port *p = &app->port[cmd_num(a, "port", 0)];
	struct roce_addr n = {.vlan = (uint16_t)cmd_num(a, "vlan", TP_ROCE_NO_VLAN)};
	struct roce_port *r = roce_of(p);
	unsigned int i;
	int ret;

	if (r == NULL)
		return -ENOMEM;
	ret = address_of(a, &n.addr, &n.prefix);
	if (ret != 0)
		return ret;
	if (strchr(cmd_text(a, "addr"), '/') == NULL)
		return app_err(-EINVAL, "address: '%s' without the length of its network's prefix, as in /24",
			       cmd_text(a, "addr"));
	for (i = 0; i < r->num_addrs; i++)
		if (same_address(&r->addr[i].addr, &n.addr))
			return app_err(-EEXIST, "port %u has %s already", p->id, cmd_text(a, "addr"));
	if (r->num_addrs == ROCE_ADDRS)
		return app_err(-ENOSPC, "port %u: %u addresses, there is no room for more", p->id, r->num_addrs);
	ret = r->ctx != NULL ? roce_addr_apply(r, &n) : 0;
	if (ret == 0)
		r->addr[r->num_addrs++] = n;
	return ret;
}

static int
do_addr_add(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"roce-addresses", NULL};

	return settings_noted(arg, a, names, addr_add);
}

static int
addr_del(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct app_port *p = &app->port[cmd_num(a, "port", 0)];
	struct roce_port *r = roce_of(p);
	struct sockaddr_storage addr;
	unsigned int i, prefix;
	int ret;

	if (r == NULL)
		return -ENOMEM;
	ret = address_of(a, &addr, &prefix);
	if (ret != 0)
		return ret;
	for (i = 0; i < r->num_addrs && !same_address(&r->addr[i].addr, &addr); i++)
		;
	if (i == r->num_addrs)
		return app_err(-ENOENT, "port %u was not given %s; 'show roce gid %u' shows what it has", p->id,
			       cmd_text(a, "addr"), p->id);
	if (r->ctx != NULL) {
		ret = tp_roce_addr_del(r->ctx, (const struct sockaddr *)&addr);
		if (ret != 0)
			return app_err(-ret, "port %u: address: %s", p->id, strerror(ret));
	}
	memmove(&r->addr[i], &r->addr[i + 1], (--r->num_addrs - i) * sizeof(r->addr[0]));
	return 0;
}

static int
do_addr_del(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"roce-addresses", NULL};

	return settings_noted(arg, a, names, addr_del);
}

static int
gateway(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct app_port *p = &app->port[cmd_num(a, "port", 0)];
	struct sockaddr_storage before, wanted = {0};
	struct roce_port *r = roce_of(p);
	unsigned int prefix;
	int ret = 0;

	if (r == NULL)
		return -ENOMEM;
	if (!cmd_is(a, "addr", "none"))
		ret = address_of(a, &wanted, &prefix);
	if (ret == 0 && strchr(cmd_text(a, "addr"), '/') != NULL)
		ret = app_err(-EINVAL, "gateway: '%s', want an address without a length, or none", cmd_text(a, "addr"));
	if (ret != 0)
		return ret;
	before = r->gateway;
	r->gateway = wanted;
	ret = r->ctx != NULL ? roce_gateway_apply(r) : 0;
	if (ret != 0)
		r->gateway = before;
	return ret;
}

static int
do_gateway(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"roce-gateway", NULL};

	return settings_noted(arg, a, names, gateway);
}

/* --- what there is --- */

static int
do_show_devices(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	int n, i;
	struct ibv_device **list = tp_roce_get_device_list(&n);
	struct out o;

	if (list == NULL)
		return app_err(-errno, "devices: %s", strerror(errno));
	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "devices");
	for (i = 0; i < n; i++) {
		const struct roce_port *r;
		uint16_t id;

		if (rte_eth_dev_get_port_by_name(list[i]->name, &id) != 0)
			continue;
		r = app->port[id].roce;
		out_item(&o, "port", id);
		out_str(&o, "name", list[i]->name);
		out_bool(&o, "on", r != NULL && r->on);
		if (r != NULL && r->ctx != NULL) {
			out_str(&o, "provider", tp_roce_provider_name(r->ctx));
			out_str(&o, "mode", roce_mode_names[tp_roce_mode_get(r->ctx)]);
		}
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
	tp_roce_free_device_list(list);
	return 0;
}

static void
show_gids(struct out *o, struct roce_port *r, const struct cmd_args *a)
{
	struct ibv_gid_entry e;
	char text[64];
	uint32_t i;

	out_array(o, "gids");
	for (i = 0; i < TP_ROCE_GIDS; i++) {
		if (tp_roce_query_gid_ex(r->ctx, 1, i, &e) != 0)
			continue;
		out_item(o, "index", i);
		out_str(o, "gid", rend_gid_str(&e.gid, text));
		out_str(o, "type", e.gid_type == IBV_GID_TYPE_ROCE_V2 ? "v2" : "v1");
		out_end(o);
	}
	out_end(o);
}

static int
do_show_gid(void *arg, const struct cmd_args *a)
{
	return roce_show(arg, a, show_gids);
}

static void
show_counter(void *arg, const char *name, uint64_t value)
{
	out_u64(arg, name, value);
}

static void
show_counters(struct out *o, struct roce_port *r, const struct cmd_args *a)
{
	out_object(o, "counters");
	(void)tp_roce_stats(r->ctx, show_counter, o);
	out_end(o);
}

static int
do_show_stats(void *arg, const struct cmd_args *a)
{
	return roce_show(arg, a, show_counters);
}

static const char *
event_name(enum ibv_event_type type)
{
	static const char *const names[] = {
		[IBV_EVENT_CQ_ERR] = "completion queue error",
		[IBV_EVENT_QP_FATAL] = "queue pair fatal error",
		[IBV_EVENT_QP_REQ_ERR] = "invalid request",
		[IBV_EVENT_QP_ACCESS_ERR] = "access violation",
		[IBV_EVENT_COMM_EST] = "communication established",
		[IBV_EVENT_SQ_DRAINED] = "send queue drained",
		[IBV_EVENT_DEVICE_FATAL] = "device fatal error",
		[IBV_EVENT_PORT_ACTIVE] = "port active",
		[IBV_EVENT_PORT_ERR] = "port down",
		[IBV_EVENT_SRQ_ERR] = "shared receive queue error",
		[IBV_EVENT_SRQ_LIMIT_REACHED] = "shared receive queue limit",
		[IBV_EVENT_QP_LAST_WQE_REACHED] = "last receive request",
		[IBV_EVENT_GID_CHANGE] = "GID change",
	};

	return (unsigned int)type < RTE_DIM(names) && names[type] != NULL ? names[type] : "another event";
}

/* Those that came since the last look. */
static void
show_events(struct out *o, struct roce_port *r, const struct cmd_args *a)
{
	struct ibv_async_event e;

	out_array(o, "events");
	while (tp_roce_get_async_event(r->ctx, &e) == 0) {
		out_object(o, NULL);
		out_str(o, "event", event_name(e.event_type));
		switch (e.event_type) {
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
		case IBV_EVENT_COMM_EST:
		case IBV_EVENT_SQ_DRAINED:
		case IBV_EVENT_QP_LAST_WQE_REACHED: out_hex(o, "qp", e.element.qp->qp_num, 6); break;
		default: break;
		}
		out_end(o);
		tp_roce_ack_async_event(&e);
	}
	out_end(o);
}

static int
do_show_events(void *arg, const struct cmd_args *a)
{
	return roce_show(arg, a, show_events);
}

static const struct cmd table[] = {
	{"RoCE", "roce {port:port} on [{mode:v2|v1|v1-mac} [{provider:best|mlx4|sw}]]",
	 "Opens a port for RoCE beside forwarding: by the card's transport or in software. The port gets a transmit "
	 "queue "
	 "for RoCE alone and is started again.",
	 do_on, false},
	{"RoCE", "roce {port:port} off", "Closes it again, with its queue pairs; settings and addresses stay.", do_off,
	 false},
	{"RoCE", "set roce {port:port} {what:mtu|prio|dscp|ttl|udp-port} {value:0..65535}",
	 "Sets what the port is opened with: RoCE MTU 256 to 4096, 802.1p priority, DSCP, time to live, UDP port; 0 is "
	 "the default of each.",
	 do_set, false},
	{"RoCE", "set roce-netdev {port:port} {name:str}",
	 "Lets the port follow the addresses of a network interface of the kernel, or of none.", do_set, false},
	{"RoCE", "roce addr add {port:port} {addr:str} [vlan {vlan:1..4094}]",
	 "Gives a port an address ADDRESS/LENGTH; its GIDs appear.", do_addr_add, false},
	{"RoCE", "roce addr del {port:port} {addr:str}", "Takes an address away.", do_addr_del, false},
	{"RoCE", "roce gateway {port:port} {addr:str}",
	 "Sets the router towards networks that no address covers, or none.", do_gateway, false},
	{"RoCE", "show roce devices", "Shows the ports that can have RoCE, and who serves those that have it.",
	 do_show_devices, true},
	{"RoCE", "show roce gid {ports:ports}", "Shows GID tables.", do_show_gid, true},
	{"RoCE", "show roce stats {ports:ports}", "Shows the counters of the transport and of address resolution.",
	 do_show_stats, true},
	{"RoCE", "show roce events {ports:ports}", "Shows the asynchronous events that came since the last look.",
	 do_show_events, true},
};

int
cmd_roce_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
