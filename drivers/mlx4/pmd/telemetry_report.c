/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * More of ports in DPDK's telemetry:
 *   /mlx4/commands,PORT     firmware commands of the card by name: how many, failures, times
 *   /mlx4/resources,PORT    what is in use, how much there is, how much is reserved
 *   /mlx4/ib_resources,NAME the same of the card of an InfiniBand port
 *   /mlx4/filter,PORT       what the port lets in; of addresses and VLANs as many as an answer has room for
 *   /mlx4/link,PORT         why the link is up or down, and what is plugged in
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/mlx4/port/port.h"
#include "lib/roce/port/tel_uint.h"
#include "report/rte_pmd_mlx4_report.h"

static int
add_dict(struct rte_tel_data *d, const char *name, struct rte_tel_data **part)
{
	*part = rte_tel_data_alloc();
	if (*part == NULL)
		return -ENOMEM;
	rte_tel_data_start_dict(*part);
	return rte_tel_data_add_dict_container(d, name, *part, 0);
}

static int
commands(uint16_t port, struct rte_tel_data *d)
{
	struct rte_pmd_mlx4_command c[RTE_PMD_MLX4_COMMANDS];
	int n = rte_pmd_mlx4_commands_get(port, c, RTE_DIM(c)), i, rc = 0;
	struct rte_tel_data *part;

	if (n < 0)
		return n;
	rte_tel_data_start_dict(d);
	for (i = 0; i < n && rc == 0; i++) {
		rc = add_dict(d, c[i].name, &part);
		if (rc != 0)
			break;
		tel_dict_uint(part, "opcode", c[i].opcode);
		tel_dict_uint(part, "count", c[i].count);
		tel_dict_uint(part, "failed", c[i].failed);
		tel_dict_uint(part, "unanswered", c[i].unanswered);
		tel_dict_uint(part, "total_ns", c[i].total_ns);
		tel_dict_uint(part, "worst_ns", c[i].worst_ns);
	}
	return rc;
}

/* Names of a dictionary have no '-'. */
static void
plain(const char *name, char out[64])
{
	unsigned int i;

	for (i = 0; i < 63 && name[i] != '\0'; i++)
		out[i] = name[i] == '-' ? '_' : name[i];
	out[i] = '\0';
}

static int
add_resources(const struct rte_pmd_mlx4_resource *r, int n, struct rte_tel_data *d)
{
	struct rte_tel_data *part;
	int i, rc = 0;
	char name[64];

	if (n < 0)
		return n;
	rte_tel_data_start_dict(d);
	for (i = 0; i < n && rc == 0; i++) {
		plain(r[i].name, name);
		rc = add_dict(d, name, &part);
		if (rc != 0)
			break;
		rte_tel_data_add_dict_string(part, "of", r[i].of_card ? "card" : "port");
		tel_dict_uint(part, "used", r[i].used);
		if (r[i].by_port)
			tel_dict_uint(part, "by_this_port", r[i].port_used);
		tel_dict_uint(part, "limit", r[i].limit);
		tel_dict_uint(part, "reserved", r[i].reserved);
	}
	return rc;
}

static int
resources(uint16_t port, struct rte_tel_data *d)
{
	struct rte_pmd_mlx4_resource r[RTE_PMD_MLX4_RESOURCES];

	return add_resources(r, rte_pmd_mlx4_resources_get(port, r, RTE_DIM(r)), d);
}

static int
ib_resources(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct rte_pmd_mlx4_resource r[RTE_PMD_MLX4_RESOURCES];

	(void)cmd;
	return add_resources(r, rte_pmd_mlx4_ib_resources_get(params, r, RTE_DIM(r)), d);
}

static int
link_of(uint16_t port, struct rte_tel_data *d)
{
	struct rte_pmd_mlx4_link l;
	int rc = rte_pmd_mlx4_link_get(port, &l);
	char text[32];

	if (rc != 0)
		return rc;
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "reason", rte_pmd_mlx4_link_reason_name(l.reason));
	rte_tel_data_add_dict_string(d, "text", l.text);
	tel_dict_uint(d, "speed_mbps", l.speed_mbps);
	tel_dict_uint(d, "autoneg", l.autoneg);
	tel_dict_uint(d, "autoneg_done", l.autoneg_done);
	rte_pmd_mlx4_link_speeds_text(l.speeds, text, sizeof(text));
	rte_tel_data_add_dict_string(d, "speeds_gbps", text);
	rte_pmd_mlx4_link_speeds_text(l.peer_speeds, text, sizeof(text));
	rte_tel_data_add_dict_string(d, "peer_speeds_gbps", text);
	tel_dict_uint(d, "both_types", l.both_types);
	rte_tel_data_add_dict_string(d, "sensed", l.sensed);
	rte_tel_data_add_dict_string(d, "module", l.module);
	rte_tel_data_add_dict_string(d, "module_text", l.module_text);
	rte_tel_data_add_dict_string(d, "vendor", l.vendor);
	rte_tel_data_add_dict_string(d, "part", l.part);
	rte_tel_data_add_dict_string(d, "serial", l.serial);
	tel_dict_uint(d, "downs", l.downs);
	tel_dict_uint(d, "bad_modules", l.bad_modules);
	return 0;
}

#define LISTED 128u /* addresses, VLANs: an answer ends after 16 KiB */

static int
add_list(struct rte_tel_data *d, const char *name, enum rte_tel_value_type type, struct rte_tel_data **list)
{
	*list = rte_tel_data_alloc();
	if (*list == NULL)
		return -ENOMEM;
	rte_tel_data_start_array(*list, type);
	return rte_tel_data_add_dict_container(d, name, *list, 0);
}

static int
add_addresses(struct rte_tel_data *d, const char *name, uint8_t (*mac)[6], uint32_t n)
{
	char text[RTE_ETHER_ADDR_FMT_SIZE];
	struct rte_ether_addr a;
	struct rte_tel_data *list;
	int rc = add_list(d, name, RTE_TEL_STRING_VAL, &list);
	uint32_t i;

	for (i = 0; rc == 0 && i < n && i < LISTED; i++) {
		memcpy(&a, mac[i], sizeof(a));
		rte_ether_format_addr(text, sizeof(text), &a);
		rte_tel_data_add_array_string(list, text);
	}
	return rc;
}

static int
filter(uint16_t port, struct rte_tel_data *d)
{
	struct rte_pmd_mlx4_filter *f = malloc(sizeof(*f));
	int rc = f == NULL ? -ENOMEM : rte_pmd_mlx4_filter_get(port, f);
	struct rte_tel_data *list;
	uint32_t i, n = 0;

	if (rc != 0) {
		free(f);
		return rc;
	}
	rte_tel_data_start_dict(d);
	tel_dict_uint(d, "isolated", f->isolated);
	tel_dict_uint(d, "promiscuous", f->promiscuous);
	tel_dict_uint(d, "all_multicast", f->all_multicast);
	tel_dict_uint(d, "multicast_over", f->multicast_over);
	tel_dict_uint(d, "vlan_filter", f->vlan_filter);
	tel_dict_uint(d, "unicast_addresses", f->num_unicast);
	tel_dict_uint(d, "multicast_addresses", f->num_multicast);
	tel_dict_uint(d, "flow_rules", f->flow_rules);
	tel_dict_uint(d, "groups", f->groups);
	rc = add_addresses(d, "unicast", f->unicast, f->num_unicast);
	if (rc == 0)
		rc = add_addresses(d, "multicast", f->multicast, f->num_multicast);
	if (rc == 0)
		rc = add_list(d, "vlans", RTE_TEL_INT_VAL, &list);
	for (i = 0; rc == 0 && i <= RTE_ETHER_MAX_VLAN_ID; i++)
		if ((f->vlans[i / 64] >> (i % 64) & 1) != 0 && n++ < LISTED)
			rte_tel_data_add_array_int(list, (int)i);
	if (rc == 0)
		tel_dict_uint(d, "vlans_listed", n);
	free(f);
	return rc;
}

static const struct {
	const char *cmd, *help;
	int (*answer)(uint16_t port, struct rte_tel_data *d);
} pages[] = {
	{"/mlx4/commands", "Firmware commands of a port's card. Parameter: port", commands},
	{"/mlx4/resources", "What is in use of a port and its card. Parameter: port", resources},
	{"/mlx4/filter", "What a port lets in. Parameter: port", filter},
	{"/mlx4/link", "Why a port's link is up or down. Parameter: port", link_of},
};

static int
answer(const char *cmd, const char *params, struct rte_tel_data *d)
{
	unsigned long port;
	unsigned int i;
	char *end;

	if (params == NULL || *params < '0' || *params > '9')
		return -EINVAL;
	port = strtoul(params, &end, 10);
	if (*end != '\0' || port >= UINT16_MAX)
		return -EINVAL;
	for (i = 0; i < RTE_DIM(pages); i++)
		if (strcmp(cmd, pages[i].cmd) == 0)
			return pages[i].answer((uint16_t)port, d);
	return -EINVAL;
}

RTE_INIT(mlx4_telemetry_report_init)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(pages); i++)
		rte_telemetry_register_cmd(pages[i].cmd, answer, pages[i].help);
	rte_telemetry_register_cmd("/mlx4/ib_resources", ib_resources,
				   "What is in use of an InfiniBand port's card. Parameter: the port's name");
}
