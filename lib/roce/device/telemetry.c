/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Open ports in DPDK's telemetry:
 *   /triplane/roce/list         numbers of the ports
 *   /triplane/roce/info,PORT    provider, mode, MTU, objects
 *   /triplane/roce/stats,PORT   counters
 *   /triplane/roce/devices      names of open devices, InfiniBand ports among them
 *   /triplane/roce/pkeys,DEVICE the P_Key table of one
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_ethdev.h>

#include "lib/roce/port/front.h"
#include "lib/roce/port/tel_uint.h"

static int
list(const char *cmd, const char *params, struct rte_tel_data *d)
{
	rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
	troce_open_begin();
	for (uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++) {
		if (troce_open_find(p) != NULL)
			rte_tel_data_add_array_int(d, p);
	}
	troce_open_end();
	return 0;
}

/* The open port that a request names; the list of ports is locked. NULL: there is none. */
static struct troce_dev *
named(const char *params)
{
	char *end;
	unsigned long n;

	if (params == NULL)
		return NULL;
	n = strtoul(params, &end, 10);
	return end == params || *end != 0 || n >= RTE_MAX_ETHPORTS ? NULL : troce_open_find((uint16_t)n);
}

static void
tell(struct troce_dev *dev, struct rte_tel_data *d)
{
	troce_lock(dev);
	rte_tel_data_add_dict_string(d, "device", dev->vctx.context.device->name);
	rte_tel_data_add_dict_string(d, "provider", dev->prov->name);
	rte_tel_data_add_dict_int(d, "mode", dev->mode);
	rte_tel_data_add_dict_int(d, "mtu", dev->conf.mtu);
	rte_tel_data_add_dict_int(d, "udp_port", dev->conf.udp_port);
	rte_tel_data_add_dict_int(d, "qps", (int)dev->qps);
	rte_tel_data_add_dict_int(d, "cqs", (int)dev->cqs);
	rte_tel_data_add_dict_int(d, "srqs", (int)dev->srqs);
	rte_tel_data_add_dict_int(d, "ahs", (int)dev->ahs);
	rte_tel_data_add_dict_int(d, "mrs", (int)dev->mrs);
	rte_tel_data_add_dict_int(d, "mws", (int)dev->mws);
	rte_tel_data_add_dict_int(d, "pds", (int)dev->pds);
	rte_tel_data_add_dict_int(d, "channels", (int)dev->channels);
	troce_unlock(dev);
}

static void
add_stat(void *arg, const char *name, uint64_t value)
{
	tel_dict_uint(arg, name, value);
}

static int
info(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct troce_dev *dev;

	rte_tel_data_start_dict(d);
	troce_open_begin();
	dev = named(params);
	if (dev != NULL)
		tell(dev, d);
	troce_open_end();
	return dev == NULL ? -EINVAL : 0;
}

static int
stats(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct troce_dev *dev;
	int err = EINVAL;

	rte_tel_data_start_dict(d);
	troce_open_begin();
	dev = named(params);
	if (dev != NULL)
		err = tp_roce_stats(&dev->vctx.context, add_stat, d);
	troce_open_end();
	return -err;
}

static void
add_name(struct troce_dev *dev, void *arg)
{
	rte_tel_data_add_array_string(arg, dev->vctx.context.device->name);
}

static int
devices(const char *cmd, const char *params, struct rte_tel_data *d)
{
	rte_tel_data_start_array(d, RTE_TEL_STRING_VAL);
	troce_open_all(add_name, d);
	return 0;
}

/* Index and key of the entries that are in use. */
static int
add_pkeys(struct ibv_context *ctx, struct rte_tel_data *d)
{
	struct ibv_port_attr attr;
	char index[16], text[16];
	int err = tp_roce_query_port(ctx, 1, &attr), i;
	__be16 pkey;

	for (i = 0; err == 0 && i < attr.pkey_tbl_len; i++) {
		if (tp_roce_query_pkey(ctx, 1, i, &pkey) != 0 || pkey == 0)
			continue;
		snprintf(index, sizeof(index), "%d", i);
		snprintf(text, sizeof(text), "0x%04x", rte_be_to_cpu_16(pkey));
		rte_tel_data_add_dict_string(d, index, text);
	}
	return err;
}

static int
pkeys(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct troce_dev *dev;
	int err = EINVAL;

	rte_tel_data_start_dict(d);
	troce_open_begin();
	dev = params == NULL ? NULL : troce_open_find_name(params);
	if (dev != NULL)
		err = add_pkeys(&dev->vctx.context, d);
	troce_open_end();
	return -err;
}

RTE_INIT(troce_start)
{
	rte_telemetry_register_cmd("/triplane/roce/list", list, "Numbers of the ports that are open for RoCE");
	rte_telemetry_register_cmd("/triplane/roce/info", info, "A RoCE port. Parameter: port");
	rte_telemetry_register_cmd("/triplane/roce/stats", stats, "Counters of a RoCE port. Parameter: port");
	rte_telemetry_register_cmd("/triplane/roce/devices", devices,
				   "Names of open devices, InfiniBand ports among them");
	rte_telemetry_register_cmd("/triplane/roce/pkeys", pkeys, "The P_Key table of a device. Parameter: its name");
}
