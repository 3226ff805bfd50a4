/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of failover pairs of IPoIB ports. */
#include <errno.h>
#include <string.h>

#include <rte_string_fns.h>

#include <tp_ipoib.h>

#include "apps/triplane/app/app.h"
#include "apps/triplane/port/ib.h"
#include "apps/triplane/port/port.h"
#include "commands.h"

static const char *const members[] = {"primary", "backup"};

uint16_t
ipoib_pair_carrier(uint16_t id)
{
	struct tp_ipoib_pair_info info;

	return tp_ipoib_pair_info(id, &info) == 0 ? info.member[info.active] : id;
}

static int
do_add(void *arg, const struct cmd_args *a)
{
	char text[CMD_MAX_LINE + 8];
	struct app *app = arg;
	uint16_t id;
	int ret;

	snprintf(text, sizeof(text), "pair %s %s %s %u %s", cmd_text(a, "primary"), cmd_text(a, "backup"),
		 cmd_is(a, "failback", "off") ? "off" : "on", (unsigned int)cmd_num(a, "delay", TP_IPOIB_FAILBACK_MS),
		 cmd_has(a, "words") ? cmd_text(a, "words") : "");
	ret = ib_make(app, text, &id);
	if (ret == 0)
		app_say(app, "port %u\n", id);
	return ret;
}

static int
do_rem(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct tp_ipoib_pair_info info;
	uint16_t id = (uint16_t)cmd_num(a, "port", 0);
	int ret;

	if (tp_ipoib_pair_info(id, &info) != 0)
		return app_err(-ENODEV, "port %u is no pair of IPoIB ports", id);
	ret = port_stop(app, &app->port[id]);
	return ret != 0 ? ret : port_close(app, &app->port[id]);
}

static int
do_active(void *arg, const struct cmd_args *a)
{
	uint16_t id = (uint16_t)cmd_num(a, "port", 0);
	unsigned int to = cmd_is(a, "member", members[1]);
	int ret = tp_ipoib_pair_set_active(id, to);

	(void)arg;
	if (ret == -ENODEV)
		return app_err(ret, "port %u is no pair of IPoIB ports", id);
	return ret != 0 ? app_err(ret, "port %u: the %s port is not up", id, members[to]) : 0;
}

static void
show_pair(struct out *o, uint16_t id, const struct tp_ipoib_pair_info *in)
{
	struct tp_ipoib_info port;
	char key[32];
	unsigned int i;

	out_item(o, "port", id);
	out_str(o, "name", in->name);
	out_bool(o, "up", in->up);
	out_str(o, "active", members[in->active]);
	out_bool(o, "kept", in->kept);
	for (i = 0; i < RTE_DIM(members); i++) {
		if (tp_ipoib_info(in->member[i], &port) != 0)
			continue;
		out_str(o, members[i], port.device);
		snprintf(key, sizeof(key), "%s_port", members[i]);
		out_u64(o, key, in->member[i]);
		snprintf(key, sizeof(key), "%s_state", members[i]);
		out_str(o, key, tp_ipoib_state_name(port.state));
	}
	out_bool(o, "failback", in->failback);
	out_u64(o, "failback_ms", in->failback_ms);
	out_u64(o, "failovers", in->failovers);
	out_u64(o, "failbacks", in->failbacks);
	out_u64(o, "moves_asked", in->asked);
	out_u64(o, "addresses_announced", in->announced);
	out_u64(o, "standby_dropped", in->standby_dropped);
	out_end(o);
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	struct tp_ipoib_pair_info info;
	uint32_t ids[CMD_MAX_LIST];
	unsigned int i, n = ports_list(arg, ids);
	struct out o;

	out_init(&o, stdout, a->json);
	out_array(&o, "pairs");
	for (i = 0; i < n; i++) {
		if (tp_ipoib_pair_info((uint16_t)ids[i], &info) == 0)
			show_pair(&o, (uint16_t)ids[i], &info);
	}
	out_end(&o);
	out_done(&o);
	return 0;
}

static const struct cmd table[] = {
	{"InfiniBand",
	 "ipoib pair add {primary:str} {backup:str} [failback {failback:on|off} [delay {delay:0..600000} "
	 "[{words:rest=@ipoib_keys}]]]",
	 "Makes one port of two InfiniBand ports, of which one carries and the other takes over. With failback (on) "
	 "the "
	 "primary one gets the traffic back when it has been up for so many ms (1000). Words as those of ipoib add.",
	 do_add, false},
	{"InfiniBand", "ipoib pair rem {port:port}", "Stops a pair and takes it away.", do_rem, false},
	{"InfiniBand", "ipoib pair active {port:port} {member:primary|backup}",
	 "Makes a port the one that carries, until it goes down.", do_active, false},
	{"InfiniBand", "show ipoib pair", "Shows failover pairs: which port carries, states, moves.", do_show, true},
};

int
cmd_ipoib_pair_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
