/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What ports let in: addresses, VLANs, rules, groups; and the partitions of InfiniBand ports. */
#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ethdev.h>

#include <tp_ipoib.h>
#include <tp_mad_service.h>
#include <tp_roce.h>

#include "apps/triplane/port/flow_rules.h"
#include "apps/triplane/port/ib.h"
#include "apps/triplane/port/port.h"
#include "report/rte_pmd_mlx4_report.h"
#include "rte_pmd_mlx4.h"
#include "watch.h"

static void
show_macs(struct out *o, const char *key, const char *one, uint8_t (*mac)[6], uint32_t n)
{
	struct rte_ether_addr a;
	uint32_t i;

	out_array(o, key);
	for (i = 0; i < n; i++) {
		memcpy(&a, mac[i], sizeof(a));
		out_mac(o, o->json ? NULL : one, &a);
	}
	out_end(o);
}

static void
show_vlans(struct out *o, const struct rte_pmd_mlx4_filter *f)
{
	uint32_t i;

	out_array(o, "vlans");
	for (i = 0; i <= RTE_ETHER_MAX_VLAN_ID; i++)
		if ((f->vlans[i / 64] >> (i % 64) & 1) != 0)
			out_u64(o, o->json ? NULL : "vlan", i);
	out_end(o);
}

static void
show_groups(struct out *o, uint16_t port)
{
	struct rte_ether_addr mac;
	struct tp_group g;
	unsigned int i;

	out_array(o, "groups");
	for (i = 0; rte_pmd_mlx4_group_get(port, i, &g) == 0; i++) {
		if (g.is_default)
			continue;
		memcpy(&mac, g.mac, sizeof(mac));
		out_item(o, "group", i);
		out_str(o, "name", g.name);
		out_mac(o, "address", &mac);
		if (g.vlan <= RTE_ETHER_MAX_VLAN_ID)
			out_u64(o, "vlan", g.vlan);
		else
			out_str(o, "vlan", g.vlan == TP_VLAN_ANY ? "any" : "none");
		out_bool(o, "flood", g.flood);
		out_end(o);
	}
	out_end(o);
}

static void
show_rules(struct out *o, const struct app_port *p, uint32_t all)
{
	const struct app_flow *f;

	out_u64(o, "flow_rules", all);
	out_array(o, "rules");
	for (f = p->flows; f != NULL; f = f->next) {
		out_item(o, "rule", f->id);
		out_str(o, "text", f->text);
		out_end(o);
	}
	out_end(o);
}

static const char *
unicast_word(const struct rte_pmd_mlx4_filter *f)
{
	return f->isolated ? "rules" : f->promiscuous ? "all" : "addresses";
}

static const char *
multicast_word(const struct rte_pmd_mlx4_filter *f)
{
	return f->isolated ? "rules" : f->promiscuous || f->all_multicast || f->multicast_over ? "all" : "addresses";
}

/* The large struct is static: one command runs at a time. */
static int
do_filter(void *arg, const struct cmd_args *a)
{
	static struct rte_pmd_mlx4_filter f;
	const struct cmd_val *v = cmd_val(a, "ports");
	struct app *app = arg;
	struct out o;
	unsigned int i;
	int ret = 0;

	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < v->n && ret == 0; i++) {
		const uint16_t id = (uint16_t)v->list[i];

		ret = rte_pmd_mlx4_filter_get(id, &f);
		if (ret != 0)
			break;
		out_item(&o, "port", id);
		out_str(&o, "unicast", unicast_word(&f));
		out_str(&o, "multicast", multicast_word(&f));
		out_str(&o, "broadcast", f.isolated ? "rules" : "all");
		out_bool(&o, "isolated", f.isolated);
		out_bool(&o, "promiscuous", f.promiscuous);
		out_bool(&o, "all_multicast", f.all_multicast);
		out_bool(&o, "multicast_over", f.multicast_over);
		out_bool(&o, "vlan_filter", f.vlan_filter);
		show_macs(&o, "addresses", "address", f.unicast, f.num_unicast);
		show_macs(&o, "multicast_addresses", "multicast_address", f.multicast, f.num_multicast);
		show_vlans(&o, &f);
		show_groups(&o, id);
		show_rules(&o, &app->port[id], f.flow_rules);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
	return ret == 0 ? 0 : app_err(ret, "port %u: show packet-filter: not a port of the mlx4 driver", v->list[i]);
}

/* --- partitions ------------------------------------------------------------------------------------------------------ */

#define MEMBER_BITS 0x7fffu

/* IPoIB ports of a partition. */
static void
show_users(struct out *o, struct app *app, const char *device, uint16_t pkey)
{
	struct tp_ipoib_info info;
	uint32_t ids[CMD_MAX_LIST];
	unsigned int i, n = ports_list(app, ids);

	out_array(o, "ipoib_ports");
	for (i = 0; i < n; i++)
		if (tp_ipoib_info((uint16_t)ids[i], &info) == 0 && strcmp(info.device, device) == 0 &&
		    (info.pkey & MEMBER_BITS) == (pkey & MEMBER_BITS))
			out_u64(o, o->json ? NULL : "ipoib_port", ids[i]);
	out_end(o);
}

static void
show_table(struct out *o, struct app *app, const char *device, struct ibv_context *ctx, int len)
{
	__be16 be;
	int i;

	out_u64(o, "entries", (uint64_t)len);
	out_array(o, "pkeys");
	for (i = 0; i < len; i++) {
		uint16_t pkey;

		if (tp_roce_query_pkey(ctx, 1, i, &be) != 0 || be == 0)
			continue;
		pkey = rte_be_to_cpu_16(be);
		out_item(o, "index", (uint64_t)i);
		out_hex(o, "pkey", pkey, 4);
		out_str(o, "member", (pkey & ~MEMBER_BITS) != 0 ? "full" : "limited");
		show_users(o, app, device, pkey);
		out_end(o);
	}
	out_end(o);
}

static int
show_device(struct out *o, struct app *app, const char *device)
{
	struct tp_mad_service *s;
	struct ibv_port_attr attr;
	struct ibv_context *ctx;
	int err = tp_mad_service_open(device, &s);

	out_object(o, o->json ? NULL : device);
	out_str(o, "device", device);
	if (err != 0) {
		out_str(o, "error", strerror(-err));
		out_end(o);
		return app_err(err, "%s: its management is not ours: %s", device, strerror(-err));
	}
	ctx = tp_mad_service_ctx(s);
	err = tp_roce_query_port(ctx, 1, &attr);
	if (err == 0)
		show_table(o, app, device, ctx, attr.pkey_tbl_len);
	out_end(o);
	tp_mad_service_close(s);
	return err == 0 ? 0 : app_err(-err, "%s does not tell its P_Keys: %s", device, strerror(err));
}

static int
do_pkey(void *arg, const struct cmd_args *a)
{
	return ib_show_each(arg, a, "devices", show_device);
}

static const struct cmd table[] = {
	{"Filters", "show packet-filter {ports:ports}",
	 "Shows what ports let in: what of unicast, multicast and broadcast, the addresses, the VLANs, groups of "
	 "queues, "
	 "and flow rules.",
	 do_filter, true},
	{"InfiniBand", "show pkey [{device:str}]",
	 "Shows the P_Key table of InfiniBand ports, and which IPoIB ports are in which partition.", do_pkey, true},
};

int
cmd_filter_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
