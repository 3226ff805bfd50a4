/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of IPoIB ports. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_string_fns.h>

#include <tp_ipoib.h>

#include "apps/triplane/app/app.h"
#include "apps/triplane/port/ib.h"
#include "apps/triplane/port/port.h"
#include "apps/triplane/settings/settings.h"
#include "commands.h"

/* --- making and removing ---------------------------------------------------------------------------------------------- */

static int
do_add(void *arg, const struct cmd_args *a)
{
	char text[CMD_MAX_LINE + 8];
	struct app *app = arg;
	uint16_t id;
	int ret;

	snprintf(text, sizeof(text), "ipoib %s %s", cmd_text(a, "device"),
		 cmd_has(a, "words") ? cmd_text(a, "words") : "");
	ret = ib_make(app, text, &id);
	if (ret == 0)
		app_say(app, "port %u\n", id);
	return ret;
}

static int
rem_one(struct app *app, uint16_t id)
{
	struct app_port *p = &app->port[id];
	int ret = port_stop(app, p);

	return ret != 0 ? ret : port_close(app, p);
}

static int
mode_set(void *arg, const struct cmd_args *a)
{
	uint16_t id = (uint16_t)cmd_num(a, "port", 0);
	int ret = tp_ipoib_mode_set(id, cmd_is(a, "mode", "connected"));

	(void)arg;
	if (ret == -ENODEV)
		return app_err(ret, "port %u is no IPoIB port", id);
	return ret != 0 ? app_err(ret, "port %u stays in its mode: %s", id, strerror(-ret)) : 0;
}

static int
do_mode(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"ipoib-mode", NULL};

	return settings_noted(arg, a, names, mode_set);
}

static int
do_set(void *arg, const struct cmd_args *a)
{
	const struct tp_setting_at at = {.scope = TP_SCOPE_PORT, .port = (uint16_t)cmd_num(a, "port", 0)};
	char name[32];

	snprintf(name, sizeof(name), "ipoib-%s", cmd_text(a, "name"));
	return setting_set(arg, &at, name, cmd_text(a, "value"));
}

static int
do_rem(void *arg, const struct cmd_args *a)
{
	struct tp_ipoib_info info;
	uint16_t id = (uint16_t)cmd_num(a, "port", 0);

	if (tp_ipoib_info(id, &info) != 0)
		return app_err(-ENODEV, "port %u is no IPoIB port", id);
	return rem_one(arg, id);
}

static int
do_remall(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	const char *device = cmd_text(a, "device");
	struct tp_ipoib_info info;
	uint32_t ids[CMD_MAX_LIST];
	unsigned int i, n = ports_list(app, ids);
	int ret = 0;

	for (i = 0; i < n && ret == 0; i++) {
		if (tp_ipoib_info((uint16_t)ids[i], &info) != 0 || (device != NULL && strcmp(device, info.device) != 0))
			continue;
		ret = rem_one(app, (uint16_t)ids[i]);
	}
	return ret;
}

/* --- showing ---------------------------------------------------------------------------------------------------------- */

static void
hex_text(const uint8_t *p, unsigned int n, char *text)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		sprintf(text + 2 * i, "%02x", p[i]);
}

static void
show_port(struct out *o, uint16_t id, const struct tp_ipoib_info *in)
{
	char hw[41];

	out_item(o, "port", id);
	out_str(o, "name", in->name);
	out_str(o, "device", in->device);
	out_str(o, "state", tp_ipoib_state_name(in->state));
	out_hex(o, "pkey", in->pkey, 4);
	if (in->pkey_used != 0) {
		out_hex(o, "pkey_in_table", in->pkey_used, 4);
		out_str(o, "membership", in->pkey_full ? "full" : "partial");
	}
	out_mac(o, "mac", &in->mac);
	out_hex(o, "guid", in->guid, 16);
	out_u64(o, "mtu", in->mtu);
	out_str(o, "mode", in->connected ? "connected" : "datagram");
	out_bool(o, "refuse_incoming", in->conf.refuse_incoming);
	out_hex(o, "guid_mask", in->conf.guid_mask, 2);
	out_u64(o, "age_interval_ms", in->conf.age_interval_ms);
	out_u64(o, "age", in->conf.age);
	out_u64(o, "monitor_ms", in->conf.monitor_ms);
	out_u64(o, "query_runs", in->conf.query_runs);
	out_u64(o, "leave_runs", in->conf.leave_runs);
	if (in->connected) {
		out_u64(o, "connected_mtu", in->cm_mtu);
		out_u64(o, "connections_out", in->conns_out);
		out_u64(o, "connections_in", in->conns_in);
	}
	if (in->state != TP_IPOIB_STOPPED) {
		hex_text(in->hw, sizeof(in->hw), hw);
		out_str(o, "hardware_address", hw);
		out_u64(o, "lid", in->lid);
		out_hex(o, "qpn", in->qpn, 6);
		out_hex(o, "qkey", in->qkey, 8);
		out_u64(o, "remote_endpoints", in->remotes);
		out_u64(o, "groups", in->groups);
		out_u64(o, "local_endpoints", in->locals);
	}
	out_end(o);
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	struct tp_ipoib_info info;
	uint32_t ids[CMD_MAX_LIST];
	unsigned int i, n = ports_list(arg, ids);
	struct out o;

	out_init(&o, stdout, a->json);
	out_array(&o, "ports");
	for (i = 0; i < n; i++) {
		if (tp_ipoib_info((uint16_t)ids[i], &info) == 0)
			show_port(&o, (uint16_t)ids[i], &info);
	}
	out_end(&o);
	out_done(&o);
	return 0;
}

struct rows {
	struct out *o;
	enum tp_ipoib_table table;
	uint64_t n;
};

static void
show_endpoint(void *arg, const struct tp_ipoib_endpoint *e)
{
	struct rows *r = arg;
	char text[INET6_ADDRSTRLEN > 41 ? INET6_ADDRSTRLEN : 41];
	bool v4 = IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)e->ip);

	out_item(r->o, "entry", r->n++);
	out_mac(r->o, "mac", &e->mac);
	if (r->table == TP_IPOIB_LOCAL) {
		out_str(r->o, "address", inet_ntop(v4 ? AF_INET : AF_INET6, e->ip + (v4 ? 12 : 0), text, sizeof(text)));
		out_end(r->o);
		return;
	}
	hex_text(e->hw, sizeof(e->hw), text);
	if (r->table == TP_IPOIB_MULTICAST)
		out_str(r->o, "mgid", text + 8);
	else
		out_str(r->o, "hardware_address", text);
	out_str(r->o, "state", e->state);
	out_u64(r->o, "lid", e->lid);
	out_u64(r->o, "sl", e->sl);
	out_u64(r->o, "mtu", e->mtu);
	if (r->table == TP_IPOIB_MULTICAST) {
		out_bool(r->o, "receives", e->receives);
		out_bool(r->o, "sends", e->sends);
	} else {
		out_bool(r->o, "offers_connections", e->offers);
		out_u64(r->o, "connected_mtu", e->cm_mtu);
	}
	out_end(r->o);
}

static int
do_endpoints(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"remote", "multicast", "local"};
	uint16_t id = ipoib_pair_carrier((uint16_t)cmd_num(a, "port", 0));
	struct rows rows = {0};
	struct tp_ipoib_info info;
	struct out o;

	(void)arg;
	if (tp_ipoib_info(id, &info) != 0)
		return app_err(-ENODEV, "port %u is no IPoIB port", id);
	while (rows.table < TP_IPOIB_LOCAL && !cmd_is(a, "table", names[rows.table]))
		rows.table++;
	out_init(&o, stdout, a->json);
	rows.o = &o;
	out_array(&o, names[rows.table]);
	tp_ipoib_endpoints(id, rows.table, show_endpoint, &rows);
	out_end(&o);
	out_done(&o);
	return 0;
}

static void
show_counter(void *arg, const char *name, const char *text, uint64_t value)
{
	(void)text;
	out_u64(arg, name, value);
}

static int
do_counters(void *arg, const struct cmd_args *a)
{
	uint16_t id = ipoib_pair_carrier((uint16_t)cmd_num(a, "port", 0));
	struct tp_ipoib_info info;
	struct out o;
	int ret;

	(void)arg;
	if (tp_ipoib_info(id, &info) != 0)
		return app_err(-ENODEV, "port %u is no IPoIB port", id);
	out_init(&o, stdout, a->json);
	ret = tp_ipoib_counters(id, show_counter, &o);
	out_done(&o);
	return ret == 0 ? 0 : app_err(ret, "port %u: the card of %s does not tell its counters", id, info.device);
}

/* --- GUIDs ------------------------------------------------------------------------------------------------------------ */

static int
do_guid2mac(void *arg, const struct cmd_args *a)
{
	const char *text = cmd_text(a, "guid");
	unsigned int mask = (unsigned int)cmd_num(a, "mask", 0);
	struct tp_ipoib_guid g;
	struct out o;
	char *end;
	uint64_t guid;

	(void)arg;
	errno = 0;
	guid = strtoull(text, &end, 16);
	if (errno != 0 || end == text || *end != '\0' || text[0] == '-')
		return app_err(-EINVAL, "guid '%s' is not a hexadecimal number of 64 bits", text);
	if (tp_ipoib_guid2mac(guid, mask, &g) != 0)
		return app_err(-EINVAL, "mask 0x%02x: six of eight bits must be set", mask);
	out_init(&o, stdout, a->json);
	out_hex(&o, "guid", guid, 16);
	out_bool(&o, "recognised", g.recognised);
	if (g.recognised || g.mask != 0)
		out_mac(&o, g.recognised ? "mac" : "mac_by_suggested_mask", &g.mac);
	if (!g.recognised && g.mask != 0)
		out_hex(&o, "suggested_mask", g.mask, 2);
	if (!g.recognised && g.mask == 0)
		out_str(&o, "advice",
			"no six octets of it are an address of a host: give the port one of your own, "
			"mac=02:xx:xx:xx:xx:xx with --vdev=net_ipoibN, other digits on each port");
	out_done(&o);
	return 0;
}

static const struct cmd table[] = {
	{"InfiniBand", "ipoib add {device:str} [{words:rest=@ipoib_keys}]",
	 "Makes an IPoIB port on an InfiniBand port (CARD/1 or CARD/2). Words NAME VALUE, in any order: pkey (0xffff), "
	 "mtu, mode "
	 "(datagram, connected), refuse-incoming, cm-mtu, mac, guid-mask, age-interval, age, monitor, query-runs, "
	 "leave-runs, as "
	 "arguments of "
	 "net_ipoib.",
	 do_add, false},
	{"InfiniBand", "ipoib set {port:port} mode {mode:datagram|connected}",
	 "Datagrams alone, or connections to peers that offer them, which take packets of up to 65520 octets.", do_mode,
	 false},
	{"InfiniBand",
	 "ipoib set {port:port} {name:refuse-incoming|age-interval|age|monitor|query-runs|leave-runs} {value:str}",
	 "Changes the setting of this name with ipoib- in front, of an IPoIB port or of both ports of a pair.", do_set,
	 false},
	{"InfiniBand", "ipoib rem {port:port}", "Stops an IPoIB port and takes it away.", do_rem, false},
	{"InfiniBand", "ipoib remall [{device:str}]", "Takes away all IPoIB ports, or those of an InfiniBand port.",
	 do_remall, false},
	{"InfiniBand", "ipoib guid2mac {guid:str} [mask {mask:0..255}]",
	 "Says which MAC a port with this GUID has, which mask would give one, or how to make one.", do_guid2mac,
	 false},
	{"InfiniBand", "show ipoib", "Shows IPoIB ports: state, partition, addresses.", do_show, true},
	{"InfiniBand", "show ipoib endpoints {port:port} {table:remote|multicast|local}",
	 "Shows neighbours with their paths, groups, or addresses behind the port.", do_endpoints, true},
	{"InfiniBand", "show ipoib counters {port:port}",
	 "Shows what an IPoIB port counts, drops by reason among it; card_*: what its card counts of all connections "
	 "and datagrams of the InfiniBand port.",
	 do_counters, true},
};

int
cmd_ipoib_register(struct app *app)
{
	static const char *words[32] = {"mode"};
	static struct cmd_set set = {"ipoib_keys", words, 1};
	int ret;

	/* The first one is the port, which has a place of its own in commands. */
	for (; set.n < RTE_DIM(words) && tp_ipoib_conf_name(set.n) != NULL; set.n++)
		words[set.n] = tp_ipoib_conf_name(set.n);
	ret = cmd_reg_set(app->reg, &set);
	return ret == 0 ? cmd_reg_add(app->reg, table, RTE_DIM(table)) : ret;
}
