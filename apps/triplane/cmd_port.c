/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* port start|stop|close|config: the life of ports and what needs a stopped port. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "app.h"

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

static int
do_start(void *app, const struct cmd_args *a)
{
	return each_port(app, a, port_start);
}

static int
do_stop(void *app, const struct cmd_args *a)
{
	return each_port(app, a, port_stop);
}

static int
do_close(void *app, const struct cmd_args *a)
{
	return each_port(app, a, port_close);
}

static int
do_counts(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct app *app = arg;
	uint16_t n = (uint16_t)cmd_num(a, "number", 0), *field, max;
	unsigned int i;
	int ret;

	for (i = 0; i < ports->n; i++) {
		struct app_port *p = &app->port[ports->list[i]];
		const struct rte_eth_dev_info *in = &p->info;

		ret = port_check_stopped(app, p);
		if (ret != 0)
			return ret;
		field = cmd_is(a, "what", "rxq")   ? &p->rxq
			: cmd_is(a, "what", "txq") ? &p->txq
			: cmd_is(a, "what", "rxd") ? &p->rxd
						   : &p->txd;
		max = field == &p->rxq   ? in->max_rx_queues
		      : field == &p->txq ? in->max_tx_queues
		      : field == &p->rxd ? in->rx_desc_lim.nb_max
					 : in->tx_desc_lim.nb_max;
		if (n > max || ((field == &p->rxq || field == &p->txq) && n > APP_MAX_QUEUES))
			return app_err(-EINVAL, "port %u: %s %u, want 1..%u", p->id, cmd_text(a, "what"), n,
				       field == &p->rxq || field == &p->txq ? RTE_MIN(max, APP_MAX_QUEUES) : max);
		*field = n;
		p->dirty = true;
	}
	return 0;
}

static int
do_mtu(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct app *app = arg;
	uint16_t mtu = (uint16_t)cmd_num(a, "octets", 0);
	unsigned int i;
	int ret;

	for (i = 0; i < ports->n; i++) {
		struct app_port *p = &app->port[ports->list[i]];

		if (mtu < p->info.min_mtu || mtu > p->info.max_mtu)
			return app_err(-EINVAL, "port %u: MTU %u, want %u..%u", p->id, mtu, p->info.min_mtu,
				       p->info.max_mtu);
		ret = port_check_stopped(app, p);
		if (ret != 0)
			return ret;
		p->mtu = mtu;
		p->dirty = true;
	}
	return 0;
}

static int
do_offload(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	bool rx = cmd_has(a, "rx_offload"), on = cmd_is(a, "state", "on");
	const struct app_offload *table = rx ? app_rx_offloads : app_tx_offloads;
	struct app *app = arg;
	unsigned int i, k = 0;
	int ret;

	while (strcmp(table[k].name, cmd_text(a, "offload")) != 0)
		k++;
	for (i = 0; i < ports->n; i++) {
		struct app_port *p = &app->port[ports->list[i]];
		uint64_t *field = rx ? &p->rx_offloads : &p->tx_offloads;

		ret = port_check_stopped(app, p);
		if (ret != 0)
			return ret;
		if (on && !((rx ? p->info.rx_offload_capa : p->info.tx_offload_capa) & table[k].bit))
			return app_err(-ENOTSUP, "port %u: offload: the device does not have '%s'", p->id,
				       table[k].name);
		*field = on ? *field | table[k].bit : *field & ~table[k].bit;
		p->dirty = true;
	}
	return 0;
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

static const struct cmd table[] = {
	{"Ports", "port start {ports:ports}", "Applies the settings and starts ports.", do_start, false},
	{"Ports", "port stop {ports:ports}", "Stops ports.", do_stop, false},
	{"Ports", "port close {ports:ports}", "Stops ports and gives them up.", do_close, false},
	{"Ports", "port config {ports:ports} {what:rxq|txq} {number:1..256}",
	 "Sets the number of queues of stopped ports.", do_counts, false},
	{"Ports", "port config {ports:ports} {what:rxd|txd} {number:16..8192}",
	 "Sets the descriptors of each queue of stopped ports; rounded to what the device takes.", do_counts, false},
	{"Ports", "port config {ports:ports} mtu {octets:68..65535}", "Sets the MTU of stopped ports.", do_mtu, false},
	{"Ports", "port config {ports:ports} rx_offload {offload:@rx_offload} {state:on|off}",
	 "Switches a receive offload of stopped ports.", do_offload, false},
	{"Ports", "port config {ports:ports} tx_offload {offload:@tx_offload} {state:on|off}",
	 "Switches a transmit offload of stopped ports.", do_offload, false},
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
