/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What RoCE needs of an Ethernet port: tables of GIDs and VLANs, versions, UDP port, counters [CP 4.3, 4.10, DP 10.2]. */
#include <errno.h>
#include <string.h>

#include "drivers/mlx4/hca/core.h"

#define CONFIG_DEV_SIZE 0x100u
#define DIAG_QUERY 2u
#define VID_MASK 0xfffu

static bool
gid_is_ipv4(const uint8_t *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid, mapped, sizeof(mapped)) == 0;
}

int
mlx4_port_roce_mode(struct mlx4_hca *hca, unsigned int port, bool v2)
{
	uint8_t box[MLX4_SPG_SIZE] = {0};

	prm_set(box, MLX4_SPG_V_ROCE_MODE, 1);
	prm_set(box, MLX4_SPG_ROCE_MODE, v2 ? MLX4_SPG_ROCE_MODE_V1V2 : MLX4_SPG_ROCE_MODE_V1);
	return mlx4_set_port(hca, port, MLX4_SET_PORT_GENERAL, box, sizeof(box));
}

static int
tell_gids(struct mlx4_hca *hca, unsigned int port, const struct mlx4_gid *gids)
{
	uint8_t box[MLX4_GID_ENTRIES * MLX4_ROCE_ADDR_SIZE] = {0};
	unsigned int i;

	if (!hca->caps.roce_v2) {
		for (i = 0; i < MLX4_GID_ENTRIES; i++)
			memcpy(box + i * MLX4_GID_SIZE, gids[i].gid, MLX4_GID_SIZE);
		return mlx4_set_port(hca, port, MLX4_SET_PORT_GID_TABLE, box, MLX4_GID_ENTRIES * MLX4_GID_SIZE);
	}
	for (i = 0; i < MLX4_GID_ENTRIES; i++) {
		uint8_t *e = box + i * MLX4_ROCE_ADDR_SIZE;

		memcpy(e, gids[i].gid, MLX4_GID_SIZE);
		if (!gids[i].v2)
			continue;
		prm_set(e, MLX4_ROCE_ADDR_VERSION, MLX4_ROCE_V2);
		prm_set(e, MLX4_ROCE_ADDR_TYPE, gid_is_ipv4(gids[i].gid) ? 0 : MLX4_ROCE_ADDR_IPV6);
	}
	return mlx4_set_port(hca, port, MLX4_SET_PORT_ROCE_ADDR, box, sizeof(box));
}

int
mlx4_port_gids(struct mlx4_hca *hca, unsigned int port, const struct mlx4_gid *gids)
{
	int rc = tell_gids(hca, port, gids);

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&hca->shared);
	memcpy(hca->roce[port - 1].gid, gids, sizeof(hca->roce[port - 1].gid));
	pthread_mutex_unlock(&hca->shared);
	return 0;
}

void
mlx4_port_gid_get(struct mlx4_hca *hca, unsigned int port, unsigned int i, struct mlx4_gid *gid)
{
	pthread_mutex_lock(&hca->shared);
	*gid = hca->roce[port - 1].gid[i];
	pthread_mutex_unlock(&hca->shared);
}

void
mlx4_port_roce_version_set(struct mlx4_hca *hca, unsigned int port, uint8_t version)
{
	pthread_mutex_lock(&hca->shared);
	hca->roce[port - 1].version = version;
	pthread_mutex_unlock(&hca->shared);
}

uint8_t
mlx4_port_roce_version(struct mlx4_hca *hca, unsigned int port)
{
	uint8_t version;

	pthread_mutex_lock(&hca->shared);
	version = hca->roce[port - 1].version;
	pthread_mutex_unlock(&hca->shared);
	return version;
}

int
mlx4_port_vlans(struct mlx4_hca *hca, unsigned int port, const uint16_t *vids)
{
	uint8_t box[MLX4_VLAN_TABLE_ENTRIES * 4] = {0};
	unsigned int i;

	for (i = MLX4_VLAN_TABLE_FIRST; i < MLX4_VLAN_TABLE_ENTRIES; i++)
		if (vids[i] != 0)
			prm_set32(box, i * 4, MLX4_VLAN_TABLE_VALID | (vids[i] & VID_MASK));
	return mlx4_set_port(hca, port, MLX4_SET_PORT_VLAN_TABLE, box, sizeof(box));
}

int
mlx4_port_diag(struct mlx4_hca *hca, unsigned int port, uint8_t *out)
{
	return mlx4_cmd(hca, MLX4_CMD_DIAG_RPRT, DIAG_QUERY, hca->caps.diag_port ? port : 0, NULL, 0, out,
			MLX4_DIAG_SIZE);
}

int
mlx4_vxlan_udp_port(struct mlx4_hca *hca, uint16_t udp_port)
{
	uint8_t box[CONFIG_DEV_SIZE] = {0};

	prm_set(box, MLX4_CFGDEV_V_VXLAN, 1);
	prm_set(box, MLX4_CFGDEV_VXLAN_PORT, udp_port);
	return mlx4_cmd(hca, MLX4_CMD_CONFIG_DEV, 0, 0, box, sizeof(box), NULL, 0);
}

int
mlx4_port_roce_udp_port(struct mlx4_hca *hca, uint16_t udp_port)
{
	uint8_t box[CONFIG_DEV_SIZE] = {0};

	prm_set(box, MLX4_CFGDEV_V_ROCE, 1);
	prm_set(box, MLX4_CFGDEV_ROCE_PORT, udp_port);
	return mlx4_cmd(hca, MLX4_CMD_CONFIG_DEV, 0, 0, box, sizeof(box), NULL, 0);
}
