/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What an InfiniBand port is and how it is: the report for ports that are no ethdevs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <rte_byteorder.h>
#include <rte_common.h>

#include <tp_mad_service.h>
#include <tp_roce.h>

#include "apps/triplane/port/ib.h"
#include "commands.h"

/* Names of codes (IBTA 1.4, 14.2.5.6). */
struct word {
	unsigned int code;
	const char *name;
};

static const char *
word_of(const struct word *w, size_t n, unsigned int code)
{
	for (size_t i = 0; i < n; i++) {
		if (w[i].code == code)
			return w[i].name;
	}
	return "unknown";
}

static const char *
state_name(unsigned int state)
{
	static const struct word w[] = {{1, "DOWN"}, {2, "INITIALIZED"}, {3, "ARMED"}, {4, "ACTIVE"}};

	return word_of(w, RTE_DIM(w), state);
}

static const char *
phys_name(unsigned int phys)
{
	static const struct word w[] = {{1, "sleep"},   {2, "polling"},        {3, "disabled"}, {4, "training"},
					{5, "link-up"}, {6, "error recovery"}, {7, "phy test"}};

	return word_of(w, RTE_DIM(w), phys);
}

/* Why nothing is carried: the first that is true (IBTA 1.4, 7.2.7, 14.3.6). */
static const char *
why(const struct tp_umad_desc *p)
{
	if (p->state == 4)
		return "the link is up";
	if (p->state == 3)
		return "armed; the subnet manager has not activated it yet";
	if (p->state == 2)
		return p->sm_lid == 0 ? "the cable carries, and no subnet manager has set the port up"
				      : "the subnet manager has not armed the port yet";
	switch (p->phys_state) {
	case 1: return "the port sleeps";
	case 2: return "no signal: no cable, the peer is off, or it speaks another type";
	case 3: return "the port was switched off";
	case 4: return "the ends are finding a common speed and width";
	case 6: return "the link failed and is being recovered";
	default: return "down";
	}
}

static const char *
width_name(unsigned int width)
{
	static const struct word w[] = {{1, "1X"}, {2, "4X"}, {4, "8X"}, {8, "12X"}};

	return word_of(w, RTE_DIM(w), width);
}

static const char *
speed_name(unsigned int speed)
{
	static const struct word w[] = {{1, "SDR"}, {2, "DDR"}, {4, "QDR"}, {8, "FDR10"}, {16, "FDR"}, {32, "EDR"}};

	return word_of(w, RTE_DIM(w), speed);
}

static void
show_addresses(struct out *o, struct ibv_context *ctx, const struct ibv_port_attr *a)
{
	char text[INET6_ADDRSTRLEN];
	union ibv_gid gid;
	__be16 pkey;

	out_array(o, "gids");
	for (int i = 0; i < a->gid_tbl_len; i++) {
		if (tp_roce_query_gid(ctx, 1, i, &gid) != 0 ||
		    inet_ntop(AF_INET6, gid.raw, text, sizeof(text)) == NULL || gid.global.interface_id == 0)
			continue;
		out_item(o, "index", (uint64_t)i);
		out_str(o, "gid", text);
		out_end(o);
	}
	out_end(o);
	out_u64(o, "pkey_table", a->pkey_tbl_len);
	out_array(o, "pkeys");
	for (int i = 0; i < a->pkey_tbl_len; i++) {
		if (tp_roce_query_pkey(ctx, 1, i, &pkey) != 0 || pkey == 0)
			continue;
		out_item(o, "index", (uint64_t)i);
		out_hex(o, "pkey", rte_be_to_cpu_16(pkey), 4);
		out_str(o, "member", (rte_be_to_cpu_16(pkey) & 0x8000) != 0 ? "full" : "limited");
		out_end(o);
	}
	out_end(o);
}

static void
show_identity(struct out *o, const struct tp_umad_desc *p)
{
	out_str(o, "type", p->ca_type);
	out_str(o, "firmware", p->fw_ver);
	out_str(o, "hardware", p->hw_ver);
	out_hex(o, "node_guid", p->node_guid, 16);
	out_hex(o, "port_guid", p->port_guid, 16);
	out_hex(o, "system_guid", p->system_guid, 16);
	out_u64(o, "card_port", p->port);
	out_u64(o, "card_ports", p->ports);
	out_str(o, "link_layer", "InfiniBand");
	out_str(o, "state", state_name(p->state));
	out_str(o, "phys_state", phys_name(p->phys_state));
	out_str(o, "why", why(p));
	out_u64(o, "lid", p->lid);
	out_u64(o, "lmc", p->lmc);
	out_u64(o, "sm_lid", p->sm_lid);
	out_u64(o, "sm_sl", p->sm_sl);
	out_hex(o, "capabilities", p->capmask, 8);
}

static int
show_port(struct out *o, struct app *app, const char *device)
{
	struct tp_umad_desc p;
	struct tp_mad_service *s;
	struct ibv_port_attr a;
	struct ibv_context *ctx;
	bool up;
	int err = tp_mad_service_open(device, &s);

	out_object(o, NULL);
	out_str(o, "device", device);
	if (err != 0) {
		out_str(o, "error", strerror(-err));
		out_end(o);
		return app_err(err, "%s: its management is not ours: %s", device, strerror(-err));
	}
	ctx = tp_mad_service_ctx(s);
	tp_mad_service_describe(s, &p);
	show_identity(o, &p);
	err = tp_roce_query_port(ctx, 1, &a);
	if (err == 0) {
		up = p.state > 1;
		out_str(o, "width", up ? width_name(a.active_width) : "none");
		out_str(o, "speed", up ? speed_name(a.active_speed) : "none");
		out_u64(o, "gbps", up ? p.rate : 0);
		out_u64(o, "max_mtu", 128u << a.max_mtu);
		out_u64(o, "active_mtu", 128u << a.active_mtu);
		out_str(o, "roce_mode", "none");
		show_addresses(o, ctx, &a);
	}
	out_end(o);
	tp_mad_service_close(s);
	return err == 0 ? 0 : app_err(-err, "%s does not say how it is: %s", device, strerror(err));
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	return ib_show_each(arg, a, "ports", show_port);
}

static const struct cmd table[] = {
	{"InfiniBand", "show ib [{device:str}]",
	 "Shows InfiniBand ports: identity, states, LIDs, link, MTU, GIDs, the whole P_Key table. One that nobody uses "
	 "is "
	 "opened "
	 "for it.",
	 do_show, true},
};

int
cmd_ib_show_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
