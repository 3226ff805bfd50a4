/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands about the program and about forwarding. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/fwd/fwd.h"
#include "apps/triplane/settings/settings.h"
#include "apps/triplane/port/port.h"
#include "apps/triplane/fwd/live.h"
#include "commands.h"

static int
do_help(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	const char *topic = cmd_text(a, "topic");

	if (cmd_help(app->reg, topic, app->json ? stderr : stdout) != 0)
		return app_err(-ENOENT, "topic: no command and no group is called '%s'; 'help' lists the groups",
			       topic);
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
		if (left-- != 0 && app_sleep_ms(arg, 10))
			continue;
		return app_stopping(arg)
			       ? app_err(-EINTR, "port %u: the wait for its link was interrupted", ports->list[i])
			       : app_err(-ETIMEDOUT, "port %u: link is %s after %s s, want %s", ports->list[i],
					 want ? "down" : "up", cmd_text(a, "seconds"), want ? "up" : "down");
	}
	return 0;
}

/* A failed look at a counter is told here. */
static int
counter(uint16_t port, const char *name, uint64_t *value)
{
	uint64_t id;
	int ret = rte_eth_xstats_get_id_by_name(port, name, &id);

	if (ret != 0)
		return app_err(-ENOENT, "port %u: no counter is called '%s'; 'show port xstats %u' names them", port,
			       name, port);
	ret = rte_eth_xstats_get_by_id(port, &id, value, 1);
	if (ret != 1)
		return app_err(ret < 0 ? ret : -EIO, "port %u: %s cannot be read", port, name);
	return 0;
}

static int
do_wait_counter(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	uint64_t left = cmd_num(a, "seconds", 0) * 100, least = cmd_num(a, "least", 0), value = 0;
	unsigned int i = 0;

	while (i < ports->n) {
		int ret = counter((uint16_t)ports->list[i], cmd_text(a, "name"), &value);

		if (ret != 0)
			return ret;
		if (value >= least)
			i++;
		else if (left-- == 0 || !app_sleep_ms(arg, 10))
			return app_stopping(arg)
				       ? app_err(-EINTR, "port %u: the wait for %s was interrupted", ports->list[i],
						 cmd_text(a, "name"))
				       : app_err(-ETIMEDOUT,
						 "port %u: %s is %" PRIu64 " after %s s, want %" PRIu64 " or more",
						 ports->list[i], cmd_text(a, "name"), value, cmd_text(a, "seconds"),
						 least);
	}
	return 0;
}

static const struct cmd general[] = {
	{"General", "help [{topic:rest}]",
	 "Shows the groups of commands, or one of them, or the commands with these first words; all: everything.",
	 do_help, false},
	{"General", "quit", "Stops forwarding, closes the ports and ends the program.", do_quit, false},
	{"General", "sleep {ms:1..86400000}", "Waits so many milliseconds.", do_sleep, false},
	{"General", "wait link {state:up|down} {ports:ports} {seconds:0..3600}",
	 "Waits until the links are up or down; fails when they are not in time.", do_wait_link, false},
	{"General", "wait counter {name:str} {least:0..18446744073709551615} {ports:ports} {seconds:0..3600}",
	 "Waits until an extended statistic of each port is so much or more; fails when it is not in time.",
	 do_wait_counter, false},
};

static const struct cmd_topic topics[] = {
	{"General", "help, the end, waiting"},
	{"Forwarding", "start, stop, live tables; modes, peers, generated packets"},
	{"Show", "counters, streams, and what limits the packet rate"},
	{"Captures", "packets of ports in files that Wireshark opens, or in memory"},
	{"Ports", "start, stop, reset; queues, rings, MTU, offloads"},
	{"Filters", "addresses, VLANs, promiscuous modes, pause frames, VXLAN"},
	{"RSS", "hash types, key and table, counters by kind"},
	{"Card", "the card of ports, its software model, switches, cables"},
	{"Health", "what the watch over ports finds, dumps, restarts"},
	{"Queue policies", "priorities, shares, rates, PFC, groups of queues"},
	{"DCBX", "LLDP and DCBX with the peer"},
	{"RoCE", "addresses, queue pairs, traffic, captures"},
	{"Settings", "show and set them by name, save, load, tune"},
	{"Flow rules", "rte_flow in testpmd's words"},
	{"Share", "ports that other programs use, too, or the kernel"},
	{"InfiniBand", "ports, subnet manager, IPoIB, pairs of ports"},
};

int
cmd_general_register(struct app *app)
{
	cmd_reg_topics(app->reg, topics, RTE_DIM(topics));
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
do_set_mode(void *arg, const struct cmd_args *a)
{
	struct tp_setting_at at = {.scope = TP_SCOPE_PORT};
	uint32_t ids[CMD_MAX_LIST];
	unsigned int i, n;
	int ret = 0;

	if (cmd_has(a, "ports"))
		return setting_set_ports(arg, a, "mode", cmd_text(a, "mode"));
	n = ports_list(arg, ids);
	for (i = 0; i < n && ret == 0; i++) {
		at.port = (uint16_t)ids[i];
		ret = setting_set(arg, &at, "mode", cmd_text(a, "mode"));
	}
	return ret;
}

static int
do_set_program(void *arg, const struct cmd_args *a)
{
	static const struct {
		const char *word, *name; /* of the command, of the setting */
	} names[] = {{"burst", "burst"},   {"flows", "flows"},       {"seed", "seed"},
		     {"txpkts", "txpkts"}, {"topology", "topology"}, {"corelist", "lcores"}};
	unsigned int i = 0;

	while (!cmd_has(a, names[i].word))
		i++;
	return setting_set(arg, NULL, names[i].name, cmd_text(a, "value"));
}

static int
do_set_work(void *arg, const struct cmd_args *a)
{
	return setting_set_ports(arg, a, "work", cmd_text(a, "cycles"));
}

static int
do_set_choice(void *arg, const struct cmd_args *a)
{
	return setting_set_ports(arg, a, "tx-choice", cmd_text(a, "by"));
}

static int
do_set_peer(void *arg, const struct cmd_args *a)
{
	const struct tp_setting_at at = {.scope = TP_SCOPE_PORT, .port = (uint16_t)cmd_num(a, "port", 0)};

	if (cmd_has(a, "eth-peer"))
		return setting_set(arg, &at, "eth-peer", cmd_text(a, "address"));
	return setting_set(arg, &at, "peer", cmd_text(a, "to"));
}

static const struct cmd forwarding[] = {
	{"Forwarding", "start [live [{seconds:0..31536000}]]",
	 "Starts forwarding; with live, shows the table each second, for so long or until a key.", do_start, false},
	{"Forwarding", "live {seconds:0..31536000}", "Shows the table each second; 0: until a key.", do_live, false},
	{"Forwarding", "stop", "Stops forwarding and prints the summary.", do_stop, false},
	{"Forwarding", "set fwd {mode:@mode} [{ports:ports}]", "Sets what ports do with what they receive.",
	 do_set_mode, false},
	{"Forwarding", "set burst {value:1..512}", "Sets the packets of a burst.", do_set_program, false},
	{"Forwarding", "set work {cycles:0..1000000} {ports:ports}",
	 "Lets each packet of these ports' streams cost so many cycles more, as an application would.", do_set_work,
	 false},
	{"Forwarding", "set tx-choice {by:off|size|hash|both} {ports:ports}",
	 "Lets these ports send forwarded packets by one of several queues: small ones apart, by a hash of destination "
	 "and ports, or both.",
	 do_set_choice, false},
	{"Forwarding", "set txpkts {value:list}",
	 "Sets the octets of the segments of generated packets, without FCS, such as 60 or 64,128; the first holds 42 "
	 "octets "
	 "of headers.",
	 do_set_program, false},
	{"Forwarding", "set flows {value:1..1048576}", "Sets the flows of flowgen.", do_set_program, false},
	{"Forwarding", "set seed {value:0..18446744073709551615}", "Sets the seed of the flows.", do_set_program,
	 false},
	{"Forwarding", "set peer {port:port} {to:port}", "Sets the port that a port forwards to.", do_set_peer, false},
	{"Forwarding", "set eth-peer {port:port} {address:mac}",
	 "Sets the destination of what mac, txonly and flowgen send by a port.", do_set_peer, false},
	{"Forwarding", "set topology {value:paired|chained|loop}", "Sets all peers at once.", do_set_program, false},
	{"Forwarding", "set corelist {value:list}", "Sets the forwarding lcores, in the order of use.", do_set_program,
	 false},
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
