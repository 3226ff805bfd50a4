/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Ports in DPDK's telemetry, beside /ethdev/...:
 *   /mlx4/list              numbers of the ports
 *   /mlx4/info,PORT         card, firmware, link, objects in use
 *   /mlx4/rxq,PORT,QUEUE    a receive queue at this moment, and how its interrupts are moderated
 *   /mlx4/txq,PORT,QUEUE    a transmit queue at this moment
 * As with /ethdev/..., nobody may ask while a port is closed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "ethdev.h"
#include "rte_pmd_mlx4.h"
#include "rte_pmd_mlx4_queue.h"

static void
tell(struct rte_tel_data *d, const char *name, uint64_t value)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
	rte_tel_data_add_dict_uint(d, name, value);
#else
	rte_tel_data_add_dict_u64(d, name, value);
#endif
}

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

static int
info(const uint16_t *at, struct rte_tel_data *d)
{
	struct rte_pmd_mlx4_device dev;
	int rc = rte_pmd_mlx4_device_get(at[0], &dev);

	if (rc != 0)
		return rc;
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "name", dev.name);
	rte_tel_data_add_dict_string(d, "bus", dev.bus);
	rte_tel_data_add_dict_string(d, "firmware", dev.fw_version);
	rte_tel_data_add_dict_string(d, "link_layer", dev.link_layer);
	rte_tel_data_add_dict_string(d, "state", dev.state);
	tell(d, "port", dev.port);
	tell(d, "node_guid", dev.node_guid);
	tell(d, "speed_mbps", dev.speed_mbps);
	tell(d, "active_mtu", dev.active_mtu);
	tell(d, "qps", dev.qps);
	tell(d, "cqs", dev.cqs);
	tell(d, "eqs", dev.eqs);
	tell(d, "commands", dev.commands);
	tell(d, "dead", dev.dead);
	return 0;
}

static int
rxq(const uint16_t *at, struct rte_tel_data *d)
{
	struct rte_pmd_mlx4_rx_load load;
	uint16_t count = 0, us = 0;
	int rc = rte_pmd_mlx4_rx_load_get(at[0], at[1], &load);

	if (rc == 0)
		rc = rte_pmd_mlx4_rx_moderation_get(at[0], at[1], &count, &us);
	if (rc != 0)
		return rc;
	rte_tel_data_start_dict(d);
	tell(d, "started", load.started);
	tell(d, "descriptors", load.descriptors);
	tell(d, "posted", load.posted);
	tell(d, "waiting", load.waiting);
	tell(d, "packets", load.packets);
	tell(d, "nombuf", load.nombuf);
	tell(d, "errors", load.errors);
	tell(d, "moderation_count", count);
	tell(d, "moderation_us", us);
	return 0;
}

static int
txq(const uint16_t *at, struct rte_tel_data *d)
{
	struct rte_pmd_mlx4_tx_load load;
	int rc = rte_pmd_mlx4_tx_load_get(at[0], at[1], &load);

	if (rc != 0)
		return rc;
	rte_tel_data_start_dict(d);
	tell(d, "started", load.started);
	tell(d, "descriptors", load.descriptors);
	tell(d, "used", load.used);
	tell(d, "room", load.room);
	tell(d, "packets", load.packets);
	return 0;
}

/* Commands that take numbers, and who answers. */
static const struct {
	const char *cmd, *help;
	unsigned int numbers;
	int (*answer)(const uint16_t *at, struct rte_tel_data *d);
} commands[] = {
	{"/mlx4/info", "A port. Parameter: port", 1, info},
	{"/mlx4/rxq", "A receive queue. Parameters: port,queue", 2, rxq},
	{"/mlx4/txq", "A transmit queue. Parameters: port,queue", 2, txq},
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
