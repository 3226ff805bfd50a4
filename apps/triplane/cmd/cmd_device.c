/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What only this project's driver knows: the card, and the model behind it. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/app/app.h"
#include "report/rte_pmd_mlx4_report.h"
#include "rte_pmd_mlx4.h"
#include "apps/triplane/port/port.h"
#include "commands.h"

/* Those of the card's own RoCE; none when it is not open. */
static void
show_gids(uint16_t id, const struct rte_pmd_mlx4_device *d, struct out *o)
{
	char text[INET6_ADDRSTRLEN];
	struct rte_pmd_mlx4_gid g;
	unsigned int i;
	uint16_t pkey;

	out_array(o, "gids");
	for (i = 0; i < d->num_gids; i++) {
		if (rte_pmd_mlx4_gid_get(id, i, &g) != 0 || inet_ntop(AF_INET6, g.gid, text, sizeof(text)) == NULL)
			continue;
		out_item(o, "index", i);
		out_str(o, "gid", text);
		out_u64(o, "roce_version", g.roce_version);
		out_end(o);
	}
	out_end(o);
	out_array(o, "pkeys");
	for (i = 0; i < d->num_pkeys; i++) {
		if (rte_pmd_mlx4_pkey_get(id, i, &pkey) != 0)
			continue;
		out_item(o, "index", i);
		out_hex(o, "pkey", pkey, 4);
		out_end(o);
	}
	out_end(o);
}

static void
show_device(uint16_t id, const struct rte_pmd_mlx4_device *d, struct out *o)
{
	struct rte_ether_addr mac;

	memcpy(&mac, d->mac, sizeof(mac));
	out_str(o, "name", d->name);
	out_str(o, "bus", d->bus);
	out_hex(o, "device_id", d->device_id, 4);
	out_str(o, "firmware", d->fw_version);
	out_str(o, "board_id", d->board_id);
	out_hex(o, "node_guid", d->node_guid, 16);
	out_hex(o, "port_guid", d->port_guid, 16);
	out_hex(o, "system_guid", d->system_guid, 16);
	out_u64(o, "card_port", d->port);
	out_u64(o, "card_ports", d->num_ports);
	out_str(o, "link_layer", d->link_layer);
	out_str(o, "state", d->state);
	out_str(o, "phys_state", d->phys_state);
	out_u64(o, "speed_mbps", d->speed_mbps);
	out_str(o, "width", d->width);
	out_u64(o, "max_mtu", d->max_mtu);
	out_u64(o, "active_mtu", d->active_mtu);
	out_mac(o, "mac", &mac);
	out_u64(o, "lid", d->lid);
	out_u64(o, "sm_lid", d->sm_lid);
	out_str(o, "roce_mode", d->roce_mode);
	show_gids(id, d, o);
	out_u64(o, "qps", d->qps);
	out_u64(o, "max_qps", d->max_qps);
	out_u64(o, "cqs", d->cqs);
	out_u64(o, "max_cqs", d->max_cqs);
	out_u64(o, "srqs", d->srqs);
	out_u64(o, "max_srqs", d->max_srqs);
	out_u64(o, "mrs", d->mrs);
	out_u64(o, "max_mrs", d->max_mrs);
	out_u64(o, "mtts", d->mtts);
	out_u64(o, "max_mtts", d->max_mtts);
	out_u64(o, "pds", d->pds);
	out_u64(o, "max_pds", d->max_pds);
	out_u64(o, "eqs", d->eqs);
	out_u64(o, "commands", d->commands);
	out_str(o, "wake_on_lan",
		!d->wake_on_lan      ? "not offered by the firmware"
		: d->wake_on_lan_set ? "magic"
				     : "off");
	out_str(o, "quirks", d->quirks);
	out_bool(o, "dead", d->dead);
}

/* The rules of one class that were broken, with their counts. */
static void
show_rules(uint16_t id, const char *key, int advice, struct out *o)
{
	const char *name, *text;
	unsigned int i;
	uint64_t count;

	out_object(o, key);
	for (i = 0; i < rte_pmd_mlx4_model_rules(); i++)
		if (rte_pmd_mlx4_model_is_advice(i) == advice &&
		    rte_pmd_mlx4_model_violation(id, i, &name, &text, &count) == 0 && count > 0)
			out_u64(o, name, count);
	out_end(o);
}

static void
show_model(uint16_t id, const struct rte_pmd_mlx4_model *m, struct out *o)
{
	out_str(o, "wire", m->wire);
	out_bool(o, "link_up", m->link_up);
	out_u64(o, "violations", m->violations);
	out_str(o, "last_violation", m->last_violation);
	show_rules(id, "violated", 0, o);
	out_u64(o, "advice", m->advice);
	out_str(o, "last_advice", m->last_advice);
	show_rules(id, "advised", 1, o);
#define FIELD(f) out_u64(o, #f, m->f)
	FIELD(commands);
	FIELD(commands_failed);
	FIELD(events);
	FIELD(interrupts);
	FIELD(doorbells);
	FIELD(bf_doorbells);
	FIELD(steps);
	FIELD(idle_steps);
	FIELD(sleeps);
	FIELD(icm_pages);
	FIELD(dma_windows);
	FIELD(dma_bytes_mapped);
	FIELD(qps);
	FIELD(cqs);
	FIELD(eqs);
	FIELD(mpts);
	FIELD(rules);
	FIELD(tx_frames);
	FIELD(tx_bytes);
	FIELD(rx_frames);
	FIELD(rx_bytes);
	FIELD(tx_ip_sums);
	FIELD(tx_l4_sums);
	FIELD(wire_drops);
	FIELD(impair_drops);
	FIELD(impair_corrupts);
	FIELD(impair_dups);
	FIELD(impair_reorders);
	FIELD(rx_no_rule);
	FIELD(rx_vlan_filtered);
	FIELD(rx_no_wqe);
	FIELD(rx_too_long);
	FIELD(rx_bad_fcs);
	FIELD(rx_link_down);
#undef FIELD
}

/* Ports of other drivers are left out, unless nothing else was asked for. */
static int
do_show(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *v = cmd_val(a, "ports");
	bool device = cmd_has(a, "device");
	struct rte_pmd_mlx4_device d;
	struct rte_pmd_mlx4_model m;
	uint32_t ids[CMD_MAX_LIST];
	struct app *app = arg;
	unsigned int i, n = v == NULL ? ports_list(app, ids) : v->n;
	struct out o;
	int ret = 0;

	if (v != NULL)
		memcpy(ids, v->list, n * sizeof(ids[0]));
	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < n && ret == 0; i++) {
		uint16_t id = (uint16_t)ids[i];

		ret = device ? rte_pmd_mlx4_device_get(id, &d) : rte_pmd_mlx4_model_get(id, &m);
		if (ret == 0) {
			out_item(&o, "port", id);
			if (device)
				show_device(id, &d, &o);
			else
				show_model(id, &m, &o);
			out_end(&o);
		} else if (v == NULL && (ret == -ENODEV || ret == -ENOTSUP)) {
			ret = 0;
		}
	}
	out_end(&o);
	out_done(&o);
	if (ret != 0)
		app_err(ret, "port %u: show %s: %s", ids[i - 1], device ? "device" : "model",
			ret == -ENODEV    ? "not a port of the mlx4 driver"
			: ret == -ENOTSUP ? "a real card, no model"
					  : rte_strerror(-ret));
	return ret;
}

static int
do_cable(void *arg, const struct cmd_args *a)
{
	uint16_t id = (uint16_t)cmd_num(a, "port", 0);
	int ret = cmd_is(a, "state", "unsupported") ? rte_pmd_mlx4_model_cable_unsupported(id)
						    : rte_pmd_mlx4_model_cable(id, cmd_is(a, "state", "in"));

	(void)arg;
	return ret == 0 ? 0 : app_err(ret, "port %u: cable %s: %s", id, cmd_text(a, "state"), rte_strerror(-ret));
}

static int
do_peer(void *arg, const struct cmd_args *a)
{
	uint16_t id = (uint16_t)cmd_num(a, "port", 0);
	const char *speed = cmd_text(a, "speed");
	int ret = rte_pmd_mlx4_model_peer_speed(id, strcmp(speed, "any") == 0 ? 0 : (uint32_t)atoi(speed));

	(void)arg;
	return ret == 0 ? 0 : app_err(ret, "port %u: peer %s: %s", id, speed, rte_strerror(-ret));
}

static const struct cmd table[] = {
	{"Card", "show device [{ports:ports}]", "Shows the card of ports: identity, state, speed, resources.", do_show,
	 true},
	{"Card", "show model [{ports:ports}]", "Shows the software model of ports: broken rules, wire, counters.",
	 do_show, true},
	{"Card", "model cable {port:port} {state:in|out|unsupported}",
	 "Plugs the cable of a model's port in or out, or one in that the card does not support.", do_cable, false},
	{"Card", "model peer {port:port} {speed:any|100|1000|10000|20000|40000|56000}",
	 "Lets the peer of a model's port offer one speed in Mb/s; 'any': what the port has.", do_peer, false},
};

int
cmd_device_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
