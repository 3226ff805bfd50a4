/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ports: state, MTU, address tables, filters, counters [CP 4]. */
#include <errno.h>
#include <string.h>

#include "drivers/mlx4/hca/core.h"

#define QUERY_PORT_SIZE 0x30u

static uint32_t
speed_mbps(uint32_t code)
{
	switch (code) {
	case MLX4_ETH_SPEED_10G_XAUI:
	case MLX4_ETH_SPEED_10G_XFI: return 10000;
	case MLX4_ETH_SPEED_1G: return 1000;
	case MLX4_ETH_SPEED_100M: return 100;
	case MLX4_ETH_SPEED_20G: return 20000;
	case MLX4_ETH_SPEED_40G: return 40000;
	case MLX4_ETH_SPEED_56G: return 56000;
	default: return 0;
	}
}

int
mlx4_port_query(struct mlx4_hca *hca, unsigned int port, struct mlx4_port_info *info)
{
	uint8_t box[QUERY_PORT_SIZE];
	int rc;

	rc = mlx4_cmd(hca, MLX4_CMD_QUERY_PORT, 0, port, NULL, 0, box, sizeof(box));
	if (rc != 0)
		return rc;
	memset(info, 0, sizeof(*info));
	info->link_up = prm_get(box, MLX4_QPORT_LINK_UP);
	info->type_eth = prm_get(box, MLX4_QPORT_TYPE_ETH);
	info->type_ib = prm_get(box, MLX4_QPORT_TYPE_IB);
	info->suggested_eth = prm_get(box, MLX4_QPORT_SUGGESTED_ETH);
	info->autoneg = prm_get(box, MLX4_QPORT_AN_ENABLED);
	info->autoneg_done = prm_get(box, MLX4_QPORT_AN_DONE);
	info->eth_mtu = prm_get(box, MLX4_QPORT_ETH_MTU);
	if (info->link_up)
		info->speed = speed_mbps(prm_get(box, MLX4_QPORT_ETH_SPEED) & MLX4_QPORT_ETH_SPEED_MASK);
	info->mac = prm_get64(box, MLX4_QPORT_MAC) & MLX4_MAC_MASK;
	info->lg_macs = prm_get(box, MLX4_QPORT_LG_MACS);
	info->lg_vlans = prm_get(box, MLX4_QPORT_LG_VLANS);
	info->max_tc = prm_get(box, MLX4_QPORT_MAX_TC);
	info->lg_pkeys = prm_get(box, MLX4_QPORT_LG_PKEYS);
	info->lg_gids = prm_get(box, MLX4_QPORT_LG_GIDS);
	return 0;
}

int
mlx4_port_init(struct mlx4_hca *hca, unsigned int port)
{
	return mlx4_cmd(hca, MLX4_CMD_INIT_PORT, 0, port, NULL, 0, NULL, 0);
}

int
mlx4_port_close(struct mlx4_hca *hca, unsigned int port)
{
	return mlx4_cmd(hca, MLX4_CMD_CLOSE_PORT, 0, port, NULL, 0, NULL, 0);
}

int
mlx4_port_set_mtu(struct mlx4_hca *hca, unsigned int port, uint16_t max_frame, uint16_t mtu)
{
	uint8_t box[MLX4_SPG_SIZE] = {0}, user[MLX4_SPG_SIZE] = {0};
	int rc;

	prm_set(box, MLX4_SPG_V_MTU, 1);
	mlx4_pause_fill(box, &hca->pause[port - 1]);
	prm_set(box, MLX4_SPG_MTU, max_frame);
	rc = mlx4_set_port(hca, port, MLX4_SET_PORT_GENERAL, box, sizeof(box));
	if (rc != 0)
		return rc;
	prm_set(user, MLX4_SPG_V_USER_MTU, 1);
	prm_set(user, MLX4_SPG_USER_MTU, mtu);
	return mlx4_set_port(hca, port, MLX4_SET_PORT_GENERAL, user, sizeof(user));
}

int
mlx4_port_ignore_fcs(struct mlx4_hca *hca, unsigned int port, bool on)
{
	uint8_t box[MLX4_SPG_SIZE] = {0};

	prm_set(box, MLX4_SPG_V_IGNORE_FCS, 1);
	prm_set(box, MLX4_SPG_IGNORE_FCS, on);
	return mlx4_set_port(hca, port, MLX4_SET_PORT_GENERAL, box, sizeof(box));
}

int
mlx4_port_tunnels(struct mlx4_hca *hca, unsigned int port, bool on)
{
	uint8_t box[MLX4_SPV_SIZE] = {0};

	prm_set(box, MLX4_SPV_V_ENABLE, 1);
	prm_set(box, MLX4_SPV_V_STEER, 1);
	prm_set(box, MLX4_SPV_ENABLE, on);
	prm_set(box, MLX4_SPV_STEER, MLX4_SPV_STEER_OUTER_MAC);
	return mlx4_set_port(hca, port, MLX4_SET_PORT_VXLAN, box, sizeof(box));
}

int
mlx4_port_set_macs(struct mlx4_hca *hca, unsigned int port, const struct rte_ether_addr *mac, unsigned int n)
{
	uint8_t box[MLX4_MAC_TABLE_ENTRIES * 8] = {0};
	unsigned int i, k;

	for (i = 0; i < n && i < MLX4_MAC_TABLE_ENTRIES; i++) {
		uint64_t v = 0;

		for (k = 0; k < RTE_ETHER_ADDR_LEN; k++)
			v = v << 8 | mac[i].addr_bytes[k];
		prm_set64(box, i * 8, v | MLX4_MAC_TABLE_VALID);
	}
	return mlx4_set_port(hca, port, MLX4_SET_PORT_MAC_TABLE, box, sizeof(box));
}

int
mlx4_port_vlan_filter(struct mlx4_hca *hca, unsigned int port, const uint32_t bitmap[4096 / 32])
{
	uint8_t box[MLX4_VLAN_FLTR_DWORDS * 4];
	uint32_t i;

	/* The words are stored backwards [CP 4.6]. */
	for (i = 0; i < MLX4_VLAN_FLTR_DWORDS; i++)
		prm_set32(box, (MLX4_VLAN_FLTR_DWORDS - 1 - i) * 4, bitmap[i]);
	return mlx4_cmd(hca, MLX4_CMD_SET_VLAN_FLTR, 0, port, box, sizeof(box), NULL, 0);
}

int
mlx4_port_mcast_filter_off(struct mlx4_hca *hca, unsigned int port)
{
	return mlx4_cmd_imm(hca, MLX4_CMD_SET_MCAST_FLTR, MLX4_MCAST_FLTR_DISABLE, port, 0, NULL);
}

int
mlx4_port_stats(struct mlx4_hca *hca, unsigned int port, bool reset, uint8_t *out)
{
	return mlx4_cmd(hca, MLX4_CMD_DUMP_ETH_STATS, 0, port | (reset ? MLX4_STATS_RESET : 0), NULL, 0, out,
			MLX4_STATS_SIZE);
}

int
mlx4_port_sense(struct mlx4_hca *hca, unsigned int port, uint32_t *type)
{
	uint64_t imm = 0;
	int rc;

	rc = mlx4_cmd_imm(hca, MLX4_CMD_SENSE_PORT, 0, port, 0, &imm);
	if (rc != 0)
		return rc;
	*type = (uint32_t)imm;
	return 0;
}
