/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Stage 8: InfiniBand ports, asked by management datagrams. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "apps/check/joined/joined.h"
#include "drivers/mlx4/hca/port/ib.h"
#include "drivers/mlx4/hca/port/type.h"

#define ATTR_NODE_DESC 0x0010u
#define ATTR_NODE_INFO 0x0011u
#define ATTR_PKEY_TABLE 0x0016u
#define MAD_DATA 64u /* of a subnet management packet (IBTA 14.2.1) */
#define POLLING_MS 3000u

/* NodeInfo (14.2.5.3). */
static void
node_info(struct ck *c, struct mlx4_hca *hca, unsigned int port, const char *name)
{
	uint8_t mad[MLX4_MAD_SIZE];
	const uint8_t *d = mad + MAD_DATA;
	uint64_t guid;
	int rc = mlx4_port_ib_get(hca, port, ATTR_NODE_INFO, 0, mad);

	if (rc != 0) {
		ck_say(c, CK_FAIL, name, "NodeInfo: %s", rte_strerror(-rc));
		return;
	}
	guid = prm_get64(d, 20);
	ck_judge(c, d[0] == 1 && d[1] == 1 && d[2] == 1 && d[3] == hca->caps.num_ports && d[36] == port, name,
		 "NodeInfo: base version %u, class version %u, type %u (1: channel adapter), %u ports, asked at port "
		 "%u; "
		 "wanted 1, 1, 1, %u, %u",
		 d[0], d[1], d[2], d[3], d[36], hca->caps.num_ports, port);
	ck_judge(c, hca->node_guid == 0 || prm_get64(d, 12) == hca->node_guid, name,
		 "the port's GUID is %" PRIu64 " above that of the node; that one is %s the firmware's",
		 guid - prm_get64(d, 12), prm_get64(d, 12) == hca->node_guid ? "also" : "not");
}

static void
description(struct ck *c, struct mlx4_hca *hca, unsigned int port, const char *name)
{
	uint8_t mad[MLX4_MAD_SIZE];
	int rc = mlx4_port_ib_get(hca, port, ATTR_NODE_DESC, 0, mad);

	if (rc == 0)
		ck_say(c, CK_INFO, name, "NodeDescription: %.64s", (const char *)mad + MAD_DATA);
	rc = mlx4_port_ib_get(hca, port, ATTR_PKEY_TABLE, 0, mad);
	/* A port without a subnet manager has the default partition in its first place (10.9.2). */
	ck_judge(c, rc == 0 && (prm_get32(mad, MAD_DATA) >> 16 & 0x7fff) == 0x7fff, name,
		 "P_KeyTable: the first key is 0x%04x, wanted 0xffff or 0x7fff", prm_get32(mad, MAD_DATA) >> 16);
}

/* @return the link is up, and waits for a subnet manager */
static bool
port_info(struct ck *c, struct mlx4_hca *hca, unsigned int port, const char *name)
{
	static const char *const states[] = {"no change", "down", "initialize", "armed", "active"};
	static const char *const phys[] = {"no change", "sleep",   "polling",        "disabled",
					   "training",  "link up", "error recovery", "phy test"};
	struct port_limit until = port_in(POLLING_MS);
	struct mlx4_port_ib_info i;
	int rc;

	do {
		rc = mlx4_port_ib_info(hca, port, &i);
		if (rc == 0 && i.phys_state != 5)
			rte_delay_us_sleep(20000);
	} while (rc == 0 && i.phys_state != 5 && port_waits(&until));
	if (rc != 0) {
		ck_say(c, CK_FAIL, name, "PortInfo: %s", rte_strerror(-rc));
		return false;
	}
	ck_judge(c,
		 i.state >= 1 && i.state <= 4 && i.phys_state >= 1 && i.phys_state <= 7 && i.mtu_cap >= 3 &&
			 i.mtu_cap <= 5 && i.vl_cap >= 1 && i.vl_cap <= 5,
		 name,
		 "PortInfo: state %s, physically %s, LID %u, subnet manager %u, MTU %u octets, wanted codes that there "
		 "are",
		 i.state <= 4 ? states[i.state] : "?", i.phys_state <= 7 ? phys[i.phys_state] : "?", i.lid, i.sm_lid,
		 i.mtu_cap <= 5 ? 128u << i.mtu_cap : 0);
	if (i.phys_state != 5)
		ck_say(c, CK_WARN, name, "no link: is a cable plugged in at both ends?");
	else if (i.state < 4)
		ck_say(c, CK_INFO, name, "the link waits for a subnet manager");
	return i.phys_state == 5 && i.state < 4 && i.sm_lid == 0;
}

static unsigned int
ports(struct ck *c, struct mlx4_hca *hca, unsigned int *waiting)
{
	unsigned int port, n = 0, up = 0;
	char name[16];
	int rc;

	/* All of them first: a cable between two comes up with the second. */
	for (port = 1; port <= hca->caps.num_ports; port++) {
		if ((hca->ib_ports >> (port - 1) & 1) == 0)
			continue;
		n++;
		snprintf(name, sizeof(name), "port-%u", port);
		ck_step(c, "brings InfiniBand port %u up", port);
		rc = mlx4_port_ib_up(hca, port);
		if (ck_judge(c, rc == 0, name, "%s", rc == 0 ? "is up" : rte_strerror(-rc)))
			up |= 1u << port;
	}
	for (port = 1; port <= hca->caps.num_ports; port++) {
		if ((up >> port & 1) == 0)
			continue;
		snprintf(name, sizeof(name), "port-%u", port);
		ck_step(c, "asks InfiniBand port %u", port);
		node_info(c, hca, port, name);
		description(c, hca, port, name);
		*waiting += port_info(c, hca, port, name);
	}
	return n;
}

void
ck_stage_infiniband(struct ck *c)
{
	struct mlx4_hca_config cfg = {.check_fw = false};
	struct mlx4_eth_args args;
	struct mlx4_hca *hca;
	unsigned int waiting = 0;
	uint64_t since;
	int rc;

	if (!ck_open(c))
		return;
	if (ck_eth_args(c, "", &args) != 0) {
		ck_close(c);
		return;
	}
	cfg.quirks = args.quirks;
	ck_step(c, "brings the card up");
	rc = mlx4_hca_open(c->bus, &cfg, &hca);
	if (rc != 0) {
		ck_say(c, CK_FAIL, "bring-up", "the card does not come up: %s", rte_strerror(-rc));
		ck_close(c);
		return;
	}
	ck_identities(c, hca);
	rc = mlx4_port_types_choose(hca, args.port_type);
	if (rc != 0)
		ck_say(c, CK_FAIL, "port-types", "they cannot be chosen: %s", rte_strerror(-rc));
	else if (ports(c, hca, &waiting) == 0)
		ck_say(c, CK_SKIP, "infiniband", "the card has no InfiniBand port");
	ck_keep_commands(c, hca);
	ck_judge_model(c, hca);
	ck_judge(c, !hca->dead, "alive", "%s", hca->dead ? "the card was given up" : "it answered to the end");
	ck_step(c, "takes the card down");
	since = rte_get_timer_cycles();
	ck_watch(hca);
	mlx4_hca_close(hca);
	ck_judge_down(c, (double)(rte_get_timer_cycles() - since) * 1e3 / (double)rte_get_timer_hz());
	ck_close(c);
	if (waiting == 2)
		ipoib_stage(c);
	else
		ck_say(c, CK_SKIP, "ipoib",
		       "wants two InfiniBand ports with a cable between, and nobody who manages them");
}
