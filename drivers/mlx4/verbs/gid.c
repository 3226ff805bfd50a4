/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The GIDs of a port as the card has them, and the VLANs that they are in [DP 10.2]. */
#include <errno.h>
#include <string.h>

#include "verbs.h"

uint32_t
mlx4_roce_vlan_index(const struct mlx4_roce *r, uint16_t vid)
{
	uint32_t i;

	for (i = MLX4_VLAN_TABLE_FIRST; i < MLX4_VLAN_TABLE_ENTRIES; i++)
		if (r->vlan[i] == vid)
			return i;
	return 0;
}

static bool
vlan_wanted(const struct troce_gid *table, uint16_t vid)
{
	unsigned int i;

	if (vid == MLX4_VLAN_PRIO_TAG)
		return true;

	for (i = 0; i < TP_ROCE_GIDS; i++)
		if (table[i].valid && table[i].vlan == vid)
			return true;
	return false;
}

/* Queue pairs know a VLAN by its place, so that those which stay do not move. */
static int
set_vlans(struct mlx4_roce *r, const struct troce_gid *table)
{
	uint16_t old[MLX4_VLAN_TABLE_ENTRIES];
	unsigned int i;
	int rc;

	memcpy(old, r->vlan, sizeof(old));
	r->vlan[MLX4_VLAN_TABLE_FIRST] = MLX4_VLAN_PRIO_TAG;
	for (i = MLX4_VLAN_TABLE_FIRST; i < MLX4_VLAN_TABLE_ENTRIES; i++)
		if (r->vlan[i] != 0 && !vlan_wanted(table, r->vlan[i]))
			r->vlan[i] = 0;
	for (i = 0; i < TP_ROCE_GIDS; i++) {
		uint16_t vid = table[i].vlan;
		uint32_t at;

		if (!table[i].valid || vid == TP_ROCE_NO_VLAN || mlx4_roce_vlan_index(r, vid) != 0)
			continue;
		at = mlx4_roce_vlan_index(r, 0);
		if (at == 0) {
			TROCE_LOG(ERR, "%s: VLAN %u is one too many, the card's table has room for %u", r->dev->where,
				  vid, MLX4_VLAN_TABLE_ENTRIES - MLX4_VLAN_TABLE_FIRST - 1); /* without the tag's */
			memcpy(r->vlan, old, sizeof(old));
			return -ENOSPC;
		}
		r->vlan[at] = vid;
	}
	if (memcmp(old, r->vlan, sizeof(old)) == 0)
		return 0;
	rc = mlx4_port_vlans(r->hca, r->port, r->vlan);
	if (rc != 0)
		memcpy(r->vlan, old, sizeof(old));
	return rc;
}

int
mlx4_roce_gids_init(struct mlx4_roce *r)
{
	static const struct mlx4_gid none[MLX4_GID_ENTRIES];

	return mlx4_port_gids(r->hca, r->port, none);
}

int
mlx4_roce_set_gids(struct troce_dev *dev, const struct troce_gid *table)
{
	static_assert(TP_ROCE_GIDS == MLX4_GID_ENTRIES, "the tables have one size");
	struct mlx4_roce *r = dev->home;
	struct mlx4_gid gids[MLX4_GID_ENTRIES];
	unsigned int i;
	int rc;

	if (r->hca == NULL)
		return EIO;
	memset(gids, 0, sizeof(gids));
	for (i = 0; i < MLX4_GID_ENTRIES; i++) {
		if (!table[i].valid)
			continue;
		/* A card of version 1 alone has no use for the others. */
		gids[i].v2 = table[i].type == IBV_GID_TYPE_ROCE_V2;
		if (!gids[i].v2 || r->hca->caps.roce_v2)
			memcpy(gids[i].gid, table[i].gid.raw, MLX4_GID_SIZE);
	}
	rc = set_vlans(r, table);
	if (rc == 0)
		rc = mlx4_port_gids(r->hca, r->port, gids);
	return mlx4_roce_errno(rc);
}
