/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a running port takes in: promiscuous modes, addresses, VLANs; and pause frames. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/port/port.h"
#include "apps/triplane/settings/settings.h"
#include "commands.h"

static int
do_promisc(void *arg, const struct cmd_args *a)
{
	return setting_set_ports(arg, a, cmd_has(a, "allmulti") ? "all-multicast" : "promiscuous",
				 cmd_text(a, "state"));
}

static int
mac_change(void *arg, const struct cmd_args *a)
{
	struct rte_ether_addr mac = cmd_val(a, "address")->mac;
	uint16_t id = (uint16_t)cmd_num(a, "port", 0);
	const char *what = cmd_text(a, "what");
	int ret;

	(void)arg;
	if (!rte_is_valid_assigned_ether_addr(&mac))
		return app_err(-EINVAL, "address: '%s' is multicast or zero, want a unicast address",
			       cmd_text(a, "address"));
	ret = strcmp(what, "add") == 0      ? rte_eth_dev_mac_addr_add(id, &mac, 0)
	      : strcmp(what, "remove") == 0 ? rte_eth_dev_mac_addr_remove(id, &mac)
					    : rte_eth_dev_default_mac_addr_set(id, &mac);
	return ret == 0 ? 0
			: app_err(ret, "port %u: mac %s %s: %s", id, what, cmd_text(a, "address"), rte_strerror(-ret));
}

static int
do_mac(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"mac-addresses", NULL};
	char was[RTE_ETHER_ADDR_FMT_SIZE], is[RTE_ETHER_ADDR_FMT_SIZE];
	uint16_t id = (uint16_t)cmd_num(a, "port", 0);
	struct rte_ether_addr mac;
	int ret;

	/* The port's own is no setting. */
	if (!cmd_is(a, "what", "set"))
		return settings_noted(arg, a, names, mac_change);
	memset(&mac, 0, sizeof(mac));
	(void)rte_eth_macaddr_get(id, &mac);
	rte_ether_format_addr(was, sizeof(was), &mac);
	ret = mac_change(arg, a);
	rte_ether_format_addr(is, sizeof(is), &cmd_val(a, "address")->mac);
	if (ret == 0)
		app_event("port-setting", "port %u: mac: %s -> %s", id, was, is);
	return ret;
}

/* So many addresses from one on, joined to the list or taken off it. */
static int
mcast_change(void *arg, const struct cmd_args *a)
{
	struct rte_ether_addr list[APP_MCAST_MOST], mac = cmd_val(a, "address")->mac;
	struct app *app = arg;
	struct app_port *p = &app->port[cmd_num(a, "port", 0)];
	const uint64_t first = port_mac_num(&mac), more = cmd_num(a, "count", 1) - 1;
	const bool add = cmd_is(a, "what", "add");
	unsigned int n = 0, i;
	int ret;

	if (port_mcast_ok(&mac))
		port_mac_of(first + more, &mac);
	if (!port_mcast_ok(&mac))
		return app_err(-EINVAL, "address: '%s' is unicast, broadcast or near the end, want multicast addresses",
			       cmd_text(a, "address"));
	for (i = 0; i < p->mcast_num; i++)
		if (port_mac_num(&p->mcast[i]) - first > more)
			list[n++] = p->mcast[i];
	if (!add && p->mcast_num - n != more + 1)
		return app_err(-ENOENT, "port %u: mcast remove: %u of %" PRIu64 " addresses from %s on are listed",
			       p->id, p->mcast_num - n, more + 1, cmd_text(a, "address"));
	if (add && n + more >= APP_MCAST_MOST)
		return app_err(-ENOSPC, "port %u: mcast add: %" PRIu64 " addresses, want at most %u", p->id,
			       n + more + 1, APP_MCAST_MOST);
	for (i = 0; add && i <= more; i++)
		port_mac_of(first + i, &list[n++]);
	ret = port_mcast_set(p, list, n);
	return ret == 0 ? 0
			: app_err(ret, "port %u: mcast %s %s: %s", p->id, cmd_text(a, "what"), cmd_text(a, "address"),
				  rte_strerror(-ret));
}

static int
do_mcast(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"mcast-addresses", NULL};

	return settings_noted(arg, a, names, mcast_change);
}

static int
do_show_mcast(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct rte_pmd_mlx4_mcast mcast;
	const struct app *app = arg;
	unsigned int i, k;
	struct out o;

	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < ports->n; i++) {
		const struct app_port *p = &app->port[ports->list[i]];

		out_item(&o, "port", p->id);
		if (rte_pmd_mlx4_mcast_get(p->id, &mcast) == 0) {
			out_u64(&o, "size", mcast.size);
			out_u64(&o, "listed", mcast.listed);
			out_bool(&o, "overflow", mcast.overflow);
		}
		out_array(&o, "addresses");
		for (k = 0; k < p->mcast_num; k++) {
			out_item(&o, "entry", k);
			out_mac(&o, "address", &p->mcast[k]);
			out_end(&o);
		}
		out_end(&o);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
	return 0;
}

static int
vlan_change(void *arg, const struct cmd_args *a)
{
	uint16_t id = (uint16_t)cmd_num(a, "port", 0), vlan = (uint16_t)cmd_num(a, "id", 0);
	const uint64_t bit = UINT64_C(1) << vlan % 64;
	const bool add = cmd_is(a, "what", "add");
	int ret = rte_eth_dev_vlan_filter(id, vlan, add);
	struct app *app = arg;
	struct app_port *p = &app->port[id];

	if (ret == 0) {
		p->vlans[vlan / 64] = add ? p->vlans[vlan / 64] | bit : p->vlans[vlan / 64] & ~bit;
		p->vlans_put[vlan / 64] = (p->vlans_put[vlan / 64] & ~bit) | (p->vlans[vlan / 64] & bit);
	}
	return ret == 0 ? 0
	       : ret == -ENOSYS
		       ? app_err(ret, "port %u: VLAN %u: its filter is off; 'port config %u vlan filter on' first", id,
				 vlan, id)
		       : app_err(ret, "port %u: VLAN %u: %s", id, vlan, rte_strerror(-ret));
}

static int
do_vlan_filter(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"vlan-ids", NULL};

	return settings_noted(arg, a, names, vlan_change);
}

static int
do_vlan_offload(void *arg, const struct cmd_args *a)
{
	return setting_set_ports(arg, a, cmd_is(a, "what", "strip") ? "rx-vlan-strip" : "rx-vlan-filter",
				 cmd_text(a, "state"));
}

static int
do_flow_ctrl(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"none", "rx", "tx", "full"};
	uint16_t id = (uint16_t)cmd_num(a, "port", 0);
	struct rte_eth_fc_conf fc;
	struct tp_qos_port qos;
	unsigned int i = 0;
	int ret;

	(void)arg;
	memset(&fc, 0, sizeof(fc));
	while (strcmp(names[i], cmd_text(a, "mode")) != 0)
		i++;
	ret = rte_eth_dev_flow_ctrl_get(id, &fc);
	fc.mode = (enum rte_eth_fc_mode)i;
	if (ret == 0)
		ret = rte_eth_dev_flow_ctrl_set(id, &fc);
	if (ret == -EINVAL && rte_pmd_mlx4_qos_get(id, &qos) == 0 && (qos.rx_pfc | qos.tx_pfc) != 0)
		return app_err(
			ret,
			"port %u: flow control %s: one direction has one kind of pause; 'set qos %u pfc=none' first",
			id, names[i], id);
	return ret == 0 ? 0 : app_err(ret, "port %u: flow control %s: %s", id, names[i], rte_strerror(-ret));
}

static int
tunnel_change(void *arg, const struct cmd_args *a)
{
	struct rte_eth_udp_tunnel t = {.prot_type = RTE_ETH_TUNNEL_TYPE_VXLAN,
				       .udp_port = (uint16_t)cmd_num(a, "udp", 0)};
	uint16_t id = (uint16_t)cmd_num(a, "port", 0);
	bool add = cmd_is(a, "what", "add");
	int ret = add ? rte_eth_dev_udp_tunnel_port_add(id, &t) : rte_eth_dev_udp_tunnel_port_delete(id, &t);

	(void)arg;
	if (ret == -EBUSY)
		return app_err(ret,
			       "port %u: tunnel add vxlan %u: the card has another one; 'port tunnel remove' that one "
			       "first, at "
			       "its other port, too",
			       id, t.udp_port);
	return ret == 0 ? 0
			: app_err(ret, "port %u: tunnel %s vxlan %u: %s", id, cmd_text(a, "what"), t.udp_port,
				  rte_strerror(-ret));
}

static int
do_tunnel(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"vxlan-port", NULL};

	return settings_noted(arg, a, names, tunnel_change);
}

static const struct cmd table[] = {
	{"Filters", "port config {ports:ports} promisc {state:on|off}", "Receives every frame, or not.", do_promisc,
	 false},
	{"Filters", "port config {ports:ports} allmulti {state:on|off}", "Receives every multicast frame, or not.",
	 do_promisc, false},
	{"Filters", "port mac {what:add|remove|set} {port:port} {address:mac}",
	 "Adds or removes an address, or sets the port's own.", do_mac, false},
	{"Filters", "port mcast {what:add|remove} {port:port} {address:mac} [count {count:1..1024}]",
	 "Adds a multicast address to the list of a port, or removes it; or so many, from that one on.", do_mcast,
	 false},
	{"Filters", "show port mcast {ports:ports}",
	 "Shows the multicast list: how many addresses it may hold (mcast-list), how many are listed, whether these "
	 "are more, so "
	 "that all multicast is received.",
	 do_show_mcast, true},
	{"Filters", "port vlan {what:add|remove} {port:port} {id:0..4095}", "Lets a VLAN through the filter, or not.",
	 do_vlan_filter, false},
	{"Filters", "port config {ports:ports} vlan {what:strip|filter} {state:on|off}",
	 "Takes tags off received frames; drops VLANs that were not added.", do_vlan_offload, false},
	{"Filters", "port config flow_ctrl {port:port} {mode:none|rx|tx|full}", "Sets what pause frames do.",
	 do_flow_ctrl, false},
	{"Filters", "port tunnel {what:add|remove} {port:port} vxlan {udp:1..65535}",
	 "Says which UDP port VXLAN has, so that the card looks into such frames, or that none has; the ports of a "
	 "card share "
	 "one.",
	 do_tunnel, false},
};

int
cmd_port_filter_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
