/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* port start|stop|close|config: the life of ports and what needs a stopped port. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/settings/settings.h"
#include "apps/triplane/port/port.h"
#include "commands.h"

static int
each_port(struct app *app, const struct cmd_args *a, int (*fn)(struct app *app, struct app_port *p))
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ports->n && ret == 0; i++)
		ret = fn(app, &app->port[ports->list[i]]);
	return ret;
}

/* The same, bonds before the ports that belong to them. */
static int
each_down(struct app *app, const struct cmd_args *a, int (*fn)(struct app *app, struct app_port *p))
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	unsigned int i, others;
	int ret = 0;

	for (others = 0; others < 2; others++)
		for (i = 0; i < ports->n && ret == 0; i++)
			if (port_is_bond(&app->port[ports->list[i]]) == (others == 0))
				ret = fn(app, &app->port[ports->list[i]]);
	return ret;
}

static int
do_start(void *app, const struct cmd_args *a)
{
	return each_port(app, a, port_start);
}

static int
do_stop(void *app, const struct cmd_args *a)
{
	return each_down(app, a, port_stop);
}

static int
do_close(void *app, const struct cmd_args *a)
{
	return each_down(app, a, port_close);
}

static int
do_reset(void *app, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");

	return ports_reset(app, ports->list, ports->n);
}

static int
do_counts(void *arg, const struct cmd_args *a)
{
	const char *name = cmd_is(a, "what", "rxq")   ? "rx-queues"
			   : cmd_is(a, "what", "txq") ? "tx-queues"
			   : cmd_is(a, "what", "rxd") ? "rx-ring"
						      : "tx-ring";

	return setting_set_ports(arg, a, name, cmd_text(a, "number"));
}

static int
do_mtu(void *arg, const struct cmd_args *a)
{
	return setting_set_ports(arg, a, "mtu", cmd_text(a, "octets"));
}

static int
do_offload(void *arg, const struct cmd_args *a)
{
	const struct app_offload *o = cmd_has(a, "rx_offload") ? app_rx_offloads : app_tx_offloads;

	while (strcmp(o->name, cmd_text(a, "offload")) != 0)
		o++;
	return setting_set_ports(arg, a, o->setting, cmd_text(a, "state"));
}

static int
do_link(void *arg, const struct cmd_args *a)
{
	bool up = cmd_is(a, "state", "up");
	uint16_t id = (uint16_t)cmd_num(a, "port", 0);
	int ret = up ? rte_eth_dev_set_link_up(id) : rte_eth_dev_set_link_down(id);

	(void)arg;
	return ret == 0 ? 0 : app_err(ret, "port %u: link %s: %s", id, up ? "up" : "down", rte_strerror(-ret));
}

static int
do_queue(void *arg, const struct cmd_args *a)
{
	const struct app *app = arg;
	uint16_t id = (uint16_t)cmd_num(a, "port", 0), queue = (uint16_t)cmd_num(a, "queue", 0), n;
	bool rx = cmd_is(a, "what", "rxq"), start = cmd_is(a, "state", "start");
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(id, &info);

	/* Streams use it. */
	if (app->fwd_runs)
		return app_err(-EBUSY, "port %u: forwarding runs; 'stop' first", id);
	n = rx ? info.nb_rx_queues : info.nb_tx_queues;
	if (ret == 0 && queue >= n)
		return app_err(-EINVAL,
			       "port %u: %s %u, want 0..%d; for more: --%s %u, or 'port stop %u; port config %u %s %u; "
			       "port start "
			       "%u'",
			       id, cmd_text(a, "what"), queue, n - 1, cmd_text(a, "what"), queue + 1u, id, id,
			       cmd_text(a, "what"), queue + 1u, id);
	if (ret == 0 && rx)
		ret = start ? rte_eth_dev_rx_queue_start(id, queue) : rte_eth_dev_rx_queue_stop(id, queue);
	else if (ret == 0)
		ret = start ? rte_eth_dev_tx_queue_start(id, queue) : rte_eth_dev_tx_queue_stop(id, queue);
	return ret == 0 ? 0
			: app_err(ret, "port %u: %s %u: %s: %s", id, cmd_text(a, "what"), queue, cmd_text(a, "state"),
				  rte_strerror(-ret));
}

static const struct cmd table[] = {
	{"Ports", "port start {ports:ports}", "Applies the settings and starts ports.", do_start, false},
	{"Ports", "port stop {ports:ports}", "Stops ports.", do_stop, false},
	{"Ports", "port close {ports:ports}", "Stops ports and gives them up.", do_close, false},
	{"Ports", "port reset {ports:ports}",
	 "Resets ports, and their card with them when it died and answers again, which takes all its ports; they come "
	 "back "
	 "with settings, addresses, groups, flow rules and tables, and are started if they were. What counted from the "
	 "start of the card begins at zero; queue pairs of RoCE, and IPoIB ports of a card that died, are to be made "
	 "again.",
	 do_reset, false},
	{"Ports", "port config {ports:ports} {what:rxq|txq} {number:1..256}",
	 "Sets the number of queues of stopped ports.", do_counts, false},
	{"Ports", "port config {ports:ports} {what:rxd|txd} {number:256..4096}",
	 "Sets the descriptors of each queue of stopped ports; rounded to what the device takes.", do_counts, false},
	{"Ports", "port config {ports:ports} mtu {octets:600..9600}",
	 "Sets the MTU; of a started port, while packets flow, if its buffers have room for it.", do_mtu, false},
	{"Ports", "port config {ports:ports} rx_offload {offload:@rx_offload} {state:on|off}",
	 "Switches a receive offload of stopped ports.", do_offload, false},
	{"Ports", "port config {ports:ports} tx_offload {offload:@tx_offload} {state:on|off}",
	 "Switches a transmit offload of stopped ports.", do_offload, false},
	{"Ports", "port queue {port:port} {what:rxq|txq} {queue:0..255} {state:start|stop}",
	 "Starts or stops one queue of a started port, while nothing is forwarded; what a stopped one would receive "
	 "goes to the next one.",
	 do_queue, false},
	{"Ports", "set link {port:port} {state:up|down}", "Switches the link of a port.", do_link, false},
};

int
cmd_port_register(struct app *app)
{
	static const char *rx[32], *tx[32];
	static struct cmd_set sets[] = {{"rx_offload", rx, 0}, {"tx_offload", tx, 0}};
	unsigned int i;
	int ret;

	for (i = 0; i < app_num_rx_offloads; i++)
		rx[i] = app_rx_offloads[i].name;
	sets[0].n = i;
	for (i = 0; i < app_num_tx_offloads; i++)
		tx[i] = app_tx_offloads[i].name;
	sets[1].n = i;
	ret = cmd_reg_set(app->reg, &sets[0]);
	if (ret == 0)
		ret = cmd_reg_set(app->reg, &sets[1]);
	return ret != 0 ? ret : cmd_reg_add(app->reg, table, RTE_DIM(table));
}
