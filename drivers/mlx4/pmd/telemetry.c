/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Ports in DPDK's telemetry, beside /ethdev/...:
 *   /mlx4/list              numbers of the ports
 *   /mlx4/info,PORT         card, firmware, link, RoCE and its GIDs, pause frames, wake-on-LAN, objects in use
 *   /mlx4/regs,PORT         the words of rte_eth_dev_get_reg_info()
 *   /mlx4/rxq,PORT,QUEUE    a receive queue at this moment, how its interrupts are moderated, its kind of burst
 *   /mlx4/health,PORT       sensors, alarms, restarts, dumps
 *   /mlx4/txq,PORT,QUEUE    a transmit queue at this moment, its kind of burst
 *   /mlx4/xstats,PORT,FIRST the extended statistics from that one on, up to 200: /ethdev/xstats tells 256 and loses the rest
 * As with /ethdev/..., nobody may ask while a port is closed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/mlx4/port/port.h"
#include "rte_pmd_mlx4.h"
#include "rte_pmd_mlx4_queue.h"
#include "lib/roce/port/tel_uint.h"

/* Takes so many numbers with commas between them, and nothing else. */
static bool
numbers(const char *params, uint16_t *out, unsigned int n)
{
	unsigned long v;
	unsigned int i;
	char *end;

	for (i = 0; i < n; i++) {
		if (params == NULL || *params < '0' || *params > '9')
			return false;
		v = strtoul(params, &end, 10);
		if (v >= UINT16_MAX || *end != (i + 1 < n ? ',' : '\0'))
			return false;
		out[i] = (uint16_t)v;
		params = end + 1;
	}
	return true;
}

static int
list(const char *cmd, const char *params, struct rte_tel_data *d)
{
	uint16_t id;

	RTE_SET_USED(cmd);
	RTE_SET_USED(params);
	rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
	RTE_ETH_FOREACH_DEV(id)
	if (mlx4_eth_by_port(id) != NULL)
		rte_tel_data_add_array_int(d, id);
	return 0;
}

/* Index and address of the card's own RoCE. */
static int
gids(uint16_t port_id, unsigned int num, struct rte_tel_data *d)
{
	struct rte_tel_data *list = rte_tel_data_alloc();
	char text[16 + INET6_ADDRSTRLEN], address[INET6_ADDRSTRLEN];
	struct rte_pmd_mlx4_gid g;
	unsigned int i;
	int rc;

	if (list == NULL)
		return -ENOMEM;
	rte_tel_data_start_array(list, RTE_TEL_STRING_VAL);
	for (i = 0; i < num; i++) {
		if (rte_pmd_mlx4_gid_get(port_id, i, &g) != 0 ||
		    inet_ntop(AF_INET6, g.gid, address, sizeof(address)) == NULL)
			continue;
		snprintf(text, sizeof(text), "%u v%u %s", i, g.roce_version, address);
		rte_tel_data_add_array_string(list, text);
	}
	rc = rte_tel_data_add_dict_container(d, "gids", list, 0);
	if (rc != 0)
		rte_tel_data_free(list);
	return rc;
}

static int
info(const uint16_t *at, struct rte_tel_data *d)
{
	struct rte_eth_fc_conf fc = {.mode = RTE_ETH_FC_NONE};
	struct rte_pmd_mlx4_device dev;
	int rc = rte_pmd_mlx4_device_get(at[0], &dev);

	if (rc == 0)
		rc = rte_eth_dev_flow_ctrl_get(at[0], &fc);
	if (rc != 0)
		return rc;
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "name", dev.name);
	rte_tel_data_add_dict_string(d, "bus", dev.bus);
	rte_tel_data_add_dict_string(d, "firmware", dev.fw_version);
	rte_tel_data_add_dict_string(d, "link_layer", dev.link_layer);
	rte_tel_data_add_dict_string(d, "board", dev.board_id);
	rte_tel_data_add_dict_string(d, "state", dev.state);
	rte_tel_data_add_dict_string(d, "physical_state", dev.phys_state);
	rte_tel_data_add_dict_string(d, "width", dev.width);
	rte_tel_data_add_dict_string(d, "roce_mode", dev.roce_mode);
	rc = gids(at[0], dev.num_gids, d);
	if (rc != 0)
		return rc;
	tel_dict_uint(d, "device_id", dev.device_id);
	tel_dict_uint(d, "port", dev.port);
	tel_dict_uint(d, "node_guid", dev.node_guid);
	tel_dict_uint(d, "port_guid", dev.port_guid);
	tel_dict_uint(d, "system_guid", dev.system_guid);
	tel_dict_uint(d, "speed_mbps", dev.speed_mbps);
	tel_dict_uint(d, "max_mtu", dev.max_mtu);
	tel_dict_uint(d, "active_mtu", dev.active_mtu);
	tel_dict_uint(d, "rx_pause", fc.mode == RTE_ETH_FC_FULL || fc.mode == RTE_ETH_FC_RX_PAUSE);
	tel_dict_uint(d, "tx_pause", fc.mode == RTE_ETH_FC_FULL || fc.mode == RTE_ETH_FC_TX_PAUSE);
	tel_dict_uint(d, "wake_on_lan", dev.wake_on_lan);
	tel_dict_uint(d, "wake_on_lan_set", dev.wake_on_lan_set);
	tel_dict_uint(d, "qps", dev.qps);
	tel_dict_uint(d, "cqs", dev.cqs);
	tel_dict_uint(d, "srqs", dev.srqs);
	tel_dict_uint(d, "mrs", dev.mrs);
	tel_dict_uint(d, "mtts", dev.mtts);
	tel_dict_uint(d, "pds", dev.pds);
	tel_dict_uint(d, "eqs", dev.eqs);
	tel_dict_uint(d, "commands", dev.commands);
	tel_dict_uint(d, "dead", dev.dead);
	rte_tel_data_add_dict_string(d, "quirks", dev.quirks);
	return 0;
}

static int
regs(const uint16_t *at, struct rte_tel_data *d)
{
	uint32_t words[RTE_TEL_MAX_ARRAY_ENTRIES], i;
	struct rte_dev_reg_info r = {.data = NULL};
	int rc;

	if (mlx4_eth_by_port(at[0]) == NULL)
		return -ENODEV;
	rc = rte_eth_dev_get_reg_info(at[0], &r);
	if (rc == 0 && r.length > RTE_DIM(words))
		rc = -ENOSPC;
	r.data = words;
	if (rc == 0)
		rc = rte_eth_dev_get_reg_info(at[0], &r);
	if (rc != 0)
		return rc;
	rte_tel_data_start_array(d, TEL_UINT);
	for (i = 0; i < r.length; i++)
		tel_array_uint(d, words[i]);
	return 0;
}

/* Names of a dictionary have no '-'. */
static void
sensor_value(struct rte_tel_data *d, const struct rte_pmd_mlx4_sensor *s, const char *what, uint64_t v)
{
	char name[64], *c;

	snprintf(name, sizeof(name), "%s_%s", s->name, what);
	for (c = name; *c != '\0'; c++)
		if (*c == '-')
			*c = '_';
	tel_dict_uint(d, name, v);
}

static void
sensor(struct rte_tel_data *d, const struct rte_pmd_mlx4_sensor *s)
{
	sensor_value(d, s, "alarm", s->alarm);
	sensor_value(d, s, "idle", s->idle);
	sensor_value(d, s, "limit", s->limit);
	sensor_value(d, s, "queue", s->queue);
	sensor_value(d, s, "alarms", s->alarms);
}

static int
health(const uint16_t *at, struct rte_tel_data *d)
{
	struct rte_pmd_mlx4_health h;
	int rc = rte_pmd_mlx4_health_get(at[0], &h);
	unsigned int i;

	if (rc != 0)
		return rc;
	rte_tel_data_start_dict(d);
	tel_dict_uint(d, "alarms", h.alarms);
	tel_dict_uint(d, "looks", h.looks);
	tel_dict_uint(d, "restarts", h.restarts);
	tel_dict_uint(d, "restarts_failed", h.restarts_failed);
	tel_dict_uint(d, "restarts_refused", h.restarts_refused);
	tel_dict_uint(d, "dumps", h.dumps);
	tel_dict_uint(d, "dumps_failed", h.dumps_failed);
	tel_dict_uint(d, "lost_events", h.lost_events);
	tel_dict_uint(d, "command_timeouts", h.cmd_timeouts);
	rte_tel_data_add_dict_string(d, "last", h.last);
	for (i = 0; i < RTE_PMD_MLX4_SENSORS; i++)
		sensor(d, &h.sensor[i]);
	return 0;
}

static int
rxq(const uint16_t *at, struct rte_tel_data *d)
{
	struct rte_eth_burst_mode mode = {.info = ""};
	struct rte_pmd_mlx4_rx_load load;
	uint16_t count = 0, us = 0;
	int rc = rte_pmd_mlx4_rx_load_get(at[0], at[1], &load);

	if (rc == 0)
		rc = rte_pmd_mlx4_rx_moderation_get(at[0], at[1], &count, &us);
	if (rc == 0)
		rc = rte_eth_rx_burst_mode_get(at[0], at[1], &mode);
	if (rc != 0)
		return rc;
	rte_tel_data_start_dict(d);
	tel_dict_uint(d, "started", load.started);
	tel_dict_uint(d, "descriptors", load.descriptors);
	tel_dict_uint(d, "posted", load.posted);
	tel_dict_uint(d, "waiting", load.waiting);
	tel_dict_uint(d, "packets", load.packets);
	tel_dict_uint(d, "nombuf", load.nombuf);
	tel_dict_uint(d, "errors", load.errors);
	tel_dict_uint(d, "moderation_count", count);
	tel_dict_uint(d, "moderation_us", us);
	rte_tel_data_add_dict_string(d, "burst_mode", mode.info);
	return 0;
}

static int
txq(const uint16_t *at, struct rte_tel_data *d)
{
	struct rte_eth_burst_mode mode = {.info = ""};
	struct rte_pmd_mlx4_tx_load load;
	int rc = rte_pmd_mlx4_tx_load_get(at[0], at[1], &load);

	if (rc == 0)
		rc = rte_eth_tx_burst_mode_get(at[0], at[1], &mode);
	if (rc != 0)
		return rc;
	rte_tel_data_start_dict(d);
	tel_dict_uint(d, "started", load.started);
	tel_dict_uint(d, "descriptors", load.descriptors);
	tel_dict_uint(d, "used", load.used);
	tel_dict_uint(d, "room", load.room);
	tel_dict_uint(d, "packets", load.packets);
	rte_tel_data_add_dict_string(d, "burst_mode", mode.info);
	return 0;
}

/* What an answer has room for, with the longest names and numbers. */
#define XSTATS 200u

static int
xstats(const uint16_t *at, struct rte_tel_data *d)
{
	struct rte_eth_xstat_name *names = NULL;
	struct rte_eth_xstat *values = NULL;
	int n, got = -ENOMEM, i;

	if (mlx4_eth_by_port(at[0]) == NULL)
		return -ENODEV;
	n = rte_eth_xstats_get_names(at[0], NULL, 0);
	if (n < 0)
		return n;
	names = calloc((size_t)n + 1, sizeof(*names));
	values = calloc((size_t)n + 1, sizeof(*values));
	if (names != NULL && values != NULL) {
		got = rte_eth_xstats_get_names(at[0], names, (unsigned int)n);
		if (got == n)
			got = rte_eth_xstats_get(at[0], values, (unsigned int)n);
		if (got >= 0 && got != n)
			got = -EAGAIN; /* queues came or went in between */
	}
	if (got == n)
		rte_tel_data_start_dict(d);
	for (i = at[1]; got == n && i < n && i < at[1] + (int)XSTATS; i++)
		tel_dict_uint(d, names[values[i].id].name, values[i].value);
	free(names);
	free(values);
	return got == n ? 0 : got;
}

/* Commands that take numbers, and who answers. */
static const struct {
	const char *cmd, *help;
	unsigned int numbers;
	int (*answer)(const uint16_t *at, struct rte_tel_data *d);
} commands[] = {
	{"/mlx4/info", "A port. Parameter: port", 1, info},
	{"/mlx4/regs", "Registers of a port's card. Parameter: port", 1, regs},
	{"/mlx4/health", "Health of a port. Parameter: port", 1, health},
	{"/mlx4/rxq", "A receive queue. Parameters: port,queue", 2, rxq},
	{"/mlx4/txq", "A transmit queue. Parameters: port,queue", 2, txq},
	{"/mlx4/xstats", "Up to 200 extended statistics. Parameters: port,number of the first", 2, xstats},
};

static int
answer(const char *cmd, const char *params, struct rte_tel_data *d)
{
	uint16_t at[2];
	unsigned int i;

	for (i = 0; i < RTE_DIM(commands); i++)
		if (strcmp(cmd, commands[i].cmd) == 0 && numbers(params, at, commands[i].numbers))
			return commands[i].answer(at, d);
	return -EINVAL;
}

RTE_INIT(mlx4_telemetry_init)
{
	unsigned int i;

	rte_telemetry_register_cmd("/mlx4/list", list, "Numbers of the ports of ConnectX-3 cards");
	for (i = 0; i < RTE_DIM(commands); i++)
		rte_telemetry_register_cmd(commands[i].cmd, answer, commands[i].help);
}
