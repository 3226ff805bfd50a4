/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands about the program and about forwarding. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "app.h"
#include "fwd.h"

static int
do_help(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	const char *topic = cmd_text(a, "topic");

	if (cmd_help(app->reg, topic, stdout) != 0)
		return app_err(-ENOENT, "topic: no command and no heading is called '%s'; 'help' shows all", topic);
	return 0;
}

static int
do_quit(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;

	(void)a;
	app->quit = true;
	return 0;
}

static int
do_sleep(void *arg, const struct cmd_args *a)
{
	app_sleep_ms(arg, (unsigned int)cmd_num(a, "ms", 0));
	return 0;
}

static int
do_wait_link(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	uint64_t left = cmd_num(a, "seconds", 0) * 100;
	bool want = cmd_is(a, "state", "up");
	struct rte_eth_link link;
	unsigned int i = 0;

	while (i < ports->n) {
		memset(&link, 0, sizeof(link));
		if (rte_eth_link_get_nowait((uint16_t)ports->list[i], &link) != 0)
			return app_err(-ENOTSUP, "port %u: it cannot tell its link state", ports->list[i]);
		if ((link.link_status == RTE_ETH_LINK_UP) == want) {
			i++;
			continue;
		}
		if (left-- == 0 || !app_sleep_ms(arg, 10))
			return app_err(-ETIMEDOUT, "port %u: link is %s after %s s, want %s", ports->list[i],
				       want ? "down" : "up", cmd_text(a, "seconds"), want ? "up" : "down");
	}
	return 0;
}

static const struct cmd general[] = {
	{"General", "help [{topic:rest}]", "Shows all commands, or those of a heading or with these first words.",
	 do_help, false},
	{"General", "quit", "Stops forwarding, closes the ports and ends the program.", do_quit, false},
	{"General", "sleep {ms:1..86400000}", "Waits so many milliseconds.", do_sleep, false},
	{"General", "wait link {state:up|down} {ports:ports} {seconds:0..3600}",
	 "Waits until the links are up or down; fails when they are not in time.", do_wait_link, false},
};

int
cmd_general_register(struct app *app)
{
	return cmd_reg_add(app->reg, general, RTE_DIM(general));
}

static int
do_start(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	int ret = fwd_start(app);

	if (ret == 0 && cmd_has(a, "live"))
		ret = live_run(app, (uint32_t)cmd_num(a, "seconds", 0));
	return ret;
}

static int
do_live(void *arg, const struct cmd_args *a)
{
	return live_run(arg, (uint32_t)cmd_num(a, "seconds", 0));
}

static int
do_stop(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;

	(void)a;
	if (!app->fwd_runs)
		return app_err(-EINVAL, "forwarding does not run");
	fwd_stop(app);
	live_summary(app, app->json);
	return 0;
}

static int
check_idle(const struct app *app)
{
	return app->fwd_runs ? app_err(-EBUSY, "forwarding runs; stop it first") : 0;
}

static int
do_set_mode(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct app *app = arg;
	int mode = fwd_mode_by_name(cmd_text(a, "mode")), ret = check_idle(app);
	unsigned int i;

	if (ret != 0)
		return ret;
	for (i = 0; ports == NULL && i < RTE_MAX_ETHPORTS; i++)
		app->port[i].mode = (unsigned int)mode;
	for (i = 0; ports != NULL && i < ports->n; i++)
		app->port[ports->list[i]].mode = (unsigned int)mode;
	return 0;
}

static int
do_set_number(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	int ret = check_idle(app);

	if (ret != 0)
		return ret;
	if (cmd_has(a, "burst"))
		app->burst = (uint16_t)cmd_num(a, "packets", app->burst);
	else if (cmd_has(a, "flows"))
		app->gen.flows = (uint32_t)cmd_num(a, "number", app->gen.flows);
	else
		app->gen.seed = cmd_num(a, "value", app->gen.seed);
	return 0;
}

static int
do_set_txpkts(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *v = cmd_val(a, "octets");
	struct gen_conf conf;
	struct app *app = arg;
	unsigned int i, room = app->opt.mbuf_size - RTE_PKTMBUF_HEADROOM;
	int ret = check_idle(app);

	if (ret != 0)
		return ret;
	if (v->n > GEN_MAX_SEGS)
		return app_err(-EINVAL, "octets: %u segments, want 1..%u", v->n, GEN_MAX_SEGS);
	conf = app->gen;
	conf.num_segs = v->n;
	for (i = 0; i < v->n; i++) {
		if (v->list[i] < (i == 0 ? GEN_MIN_FRAME : 1) || v->list[i] > room)
			return app_err(-EINVAL, "octets: segment %u of %u octets, want %u..%u", i, v->list[i],
				       i == 0 ? GEN_MIN_FRAME : 1, room);
		conf.seg[i] = (uint16_t)v->list[i];
	}
	if (gen_frame_len(&conf) > GEN_MAX_FRAME)
		return app_err(-EINVAL, "octets: a frame of %u, want %u..%u", gen_frame_len(&conf), GEN_MIN_FRAME,
			       GEN_MAX_FRAME);
	app->gen = conf;
	return 0;
}

static int
do_set_peer(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	int ret = check_idle(app);

	if (ret == 0)
		app->port[cmd_num(a, "port", 0)].peer = (uint16_t)cmd_num(a, "to", 0);
	return ret;
}

static int
do_set_eth_peer(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	int ret = check_idle(app);

	if (ret == 0)
		app->port[cmd_num(a, "port", 0)].eth_peer = cmd_val(a, "address")->mac;
	return ret;
}

static int
do_set_topology(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	unsigned int i = 0;
	int ret = check_idle(app);

	if (ret != 0)
		return ret;
	while (strcmp(app_topology_names[i], cmd_text(a, "name")) != 0)
		i++;
	app->opt.topology = (enum app_topology)i;
	ports_topology(app, app->opt.topology);
	return 0;
}

static int
do_set_corelist(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	int ret = check_idle(app);

	return ret != 0 ? ret : app_set_cores(app, cmd_val(a, "lcores")->list, cmd_val(a, "lcores")->n);
}

static const struct cmd forwarding[] = {
	{"Forwarding", "start [live [{seconds:0..31536000}]]",
	 "Starts forwarding; with live, shows the table each second, for so long or until a key.", do_start, false},
	{"Forwarding", "live {seconds:0..31536000}", "Shows the table each second; 0: until a key.", do_live, false},
	{"Forwarding", "stop", "Stops forwarding and prints the summary.", do_stop, false},
	{"Forwarding", "set fwd {mode:@mode} [{ports:ports}]", "Sets what ports do with what they receive.",
	 do_set_mode, false},
	{"Forwarding", "set burst {packets:1..512}", "Sets the packets of a burst.", do_set_number, false},
	{"Forwarding", "set txpkts {octets:list}",
	 "Sets the octets of the segments of generated packets, without FCS; the first holds 42 octets of headers.",
	 do_set_txpkts, false},
	{"Forwarding", "set flows {number:1..1048576}", "Sets the flows of flowgen.", do_set_number, false},
	{"Forwarding", "set seed {value:0..18446744073709551615}", "Sets the seed of the flows.", do_set_number, false},
	{"Forwarding", "set peer {port:port} {to:port}", "Sets the port that a port forwards to.", do_set_peer, false},
	{"Forwarding", "set eth-peer {port:port} {address:mac}",
	 "Sets the destination of what mac, txonly and flowgen send by a port.", do_set_eth_peer, false},
	{"Forwarding", "set topology {name:paired|chained|loop}", "Sets all peers at once.", do_set_topology, false},
	{"Forwarding", "set corelist {lcores:list}", "Sets the forwarding lcores, in the order of use.",
	 do_set_corelist, false},
};

int
cmd_fwd_register(struct app *app)
{
	static const char *names[32];
	static const struct cmd_set modes = {"mode", names, 9};
	unsigned int i;
	int ret;

	for (i = 0; i < fwd_num_modes; i++)
		names[i] = fwd_modes[i].name;
	ret = i == modes.n ? cmd_reg_set(app->reg, &modes) : -EINVAL;
	return ret != 0 ? ret : cmd_reg_add(app->reg, forwarding, RTE_DIM(forwarding));
}
