/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Quality of service of a port: pause frames, classes, scheduler, priority of received frames [CP 4.3, DP 12]. */
#include <errno.h>
#include <string.h>

#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/hca/port/qos.h"

#define RATE_100M_MAX 25500u /* Mb/s: what the smaller unit can say */
#define DSCPS 64u
#define DSCP_PER_PRIO 8u

int
mlx4_port_pause(struct mlx4_hca *hca, unsigned int port, const struct mlx4_pause *pause)
{
	uint8_t box[MLX4_SPG_SIZE] = {0};
	int rc;

	mlx4_pause_fill(box, pause);
	rc = mlx4_set_port(hca, port, MLX4_SET_PORT_GENERAL, box, sizeof(box));
	if (rc == 0)
		hca->pause[port - 1] = *pause;
	return rc;
}

/* Two to a byte, the even one in the upper half. */
static void
nibble_set(uint8_t *bytes, uint32_t i, uint8_t v)
{
	bytes[i / 2] |= (i & 1) == 0 ? v << 4 : v;
}

int
mlx4_port_prio2tc(struct mlx4_hca *hca, unsigned int port, const uint8_t tc[MLX4_PRIOS])
{
	uint8_t box[MLX4_PRIO2TC_SIZE] = {0};
	uint32_t i;

	for (i = 0; i < MLX4_PRIOS; i++)
		nibble_set(box, i, tc[i]);
	return mlx4_set_port(hca, port, MLX4_SET_PORT_PRIO2TC, box, sizeof(box));
}

static void
rate_fill(uint8_t *entry, uint32_t mbps)
{
	if (mbps == 0) {
		prm_set(entry, MLX4_SCHED_RATE_UNIT, MLX4_SCHED_UNIT_1G);
		prm_set(entry, MLX4_SCHED_RATE, MLX4_SCHED_RATE_NONE);
	} else if (mbps <= RATE_100M_MAX) {
		prm_set(entry, MLX4_SCHED_RATE_UNIT, MLX4_SCHED_UNIT_100M);
		prm_set(entry, MLX4_SCHED_RATE, mbps / 100);
	} else {
		prm_set(entry, MLX4_SCHED_RATE_UNIT, MLX4_SCHED_UNIT_1G);
		prm_set(entry, MLX4_SCHED_RATE, RTE_MIN(mbps / 1000, MLX4_SCHED_RATE_NONE));
	}
}

int
mlx4_port_scheduler(struct mlx4_hca *hca, unsigned int port, const struct mlx4_sched_tc tc[MLX4_TCS])
{
	/* Strict groups and that of shares are the first eight: the last of them comes first, or the first. */
	const uint8_t turned = mlx4_quirk(hca, MLX4_QUIRK_GROUP_ORDER) == 0 ? 0 : MLX4_SCHED_GROUP_ETS;
	const uint8_t least = mlx4_quirk(hca, MLX4_QUIRK_SHARES) == 0 ? 0 : 1;
	uint8_t box[MLX4_TCS * MLX4_SCHED_ENTRY] = {0};
	uint32_t i;

	for (i = 0; i < MLX4_TCS; i++) {
		uint8_t *entry = box + i * MLX4_SCHED_ENTRY;

		prm_set(entry, MLX4_SCHED_GROUP, tc[i].group ^ turned);
		prm_set(entry, MLX4_SCHED_BW_PCT, RTE_MAX(tc[i].share, least));
		rate_fill(entry, tc[i].rate_mbps);
	}
	return mlx4_set_port(hca, port, MLX4_SET_PORT_SCHEDULER, box, sizeof(box));
}

int
mlx4_port_prio_map(struct mlx4_hca *hca, unsigned int port, const struct mlx4_prio_map *map)
{
	uint8_t box[MLX4_PRIOMAP_SIZE] = {0};
	uint32_t i;

	prm_set(box, MLX4_PRIOMAP_TRUST, map->trust_dscp ? MLX4_PRIOMAP_TRUST_DSCP : MLX4_PRIOMAP_TRUST_PCP);
	prm_set(box, MLX4_PRIOMAP_UNTAGGED_LOSSLESS, map->untagged_lossless);
	prm_set(box, MLX4_PRIOMAP_UNTAGGED_PRIO, map->untagged_prio);
	for (i = 0; i < DSCPS; i++)
		nibble_set(box + MLX4_PRIOMAP_DSCP, i, i / DSCP_PER_PRIO);
	return mlx4_set_port(hca, port, MLX4_SET_PORT_PRIO_MAP, box, sizeof(box));
}

int
mlx4_port_flow_stats(struct mlx4_hca *hca, unsigned int port, bool reset, uint8_t *out)
{
	if (!hca->caps.pfc_counters)
		return -ENOTSUP;
	return mlx4_cmd(hca, MLX4_CMD_DUMP_ETH_STATS, 0, port | MLX4_STATS_MOD_FLOW | (reset ? MLX4_STATS_RESET : 0),
			NULL, 0, out, MLX4_FLOW_SIZE);
}
