/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of a port's quality of service and congestion control. */
#ifndef MLX4_HCA_PORT_QOS_H
#define MLX4_HCA_PORT_QOS_H

#include "drivers/mlx4/hca/hca.h"

/* A transmit class in the card's scheduler. */
struct mlx4_sched_tc {
	uint8_t group;      /* 0..15: a lower one goes first */
	uint8_t share;      /* percent within the group, 0..100 */
	uint32_t rate_mbps; /* 0: none, else as tp_qos_rate_round gives it */
};

/* How a received frame finds its priority. */
struct mlx4_prio_map {
	bool trust_dscp; /* else PCP */
	bool untagged_lossless;
	uint8_t untagged_prio;
};

/* --- quality of service of a port (port/qos.c) --- */
/* What succeeded is kept in hca->pause. */
int mlx4_port_pause(struct mlx4_hca *hca, unsigned int port, const struct mlx4_pause *pause);
int mlx4_port_prio2tc(struct mlx4_hca *hca, unsigned int port, const uint8_t tc[MLX4_PRIOS]);
int mlx4_port_scheduler(struct mlx4_hca *hca, unsigned int port, const struct mlx4_sched_tc tc[MLX4_TCS]);
int mlx4_port_prio_map(struct mlx4_hca *hca, unsigned int port, const struct mlx4_prio_map *map);
/* The flow-control counters. out: MLX4_FLOW_SIZE bytes. -ENOTSUP: the firmware has none. */
#define MLX4_FLOW_SIZE (MLX4_PRIOS * MLX4_FLOW_ENTRY)
int mlx4_port_flow_stats(struct mlx4_hca *hca, unsigned int port, bool reset, uint8_t *out);

/* --- congestion control of a port (port/cc.c); -ENOTSUP: the firmware has none. algorithm: MLX4_CC_QAU and so on --- */
/* Parameters of a priority, or of a mask of them. set: MLX4_CC_RP_SIZE bytes. */
int mlx4_port_cc_get(struct mlx4_hca *hca, unsigned int port, unsigned int algorithm, unsigned int prio, uint8_t *set);
int mlx4_port_cc_set(struct mlx4_hca *hca, unsigned int port, unsigned int algorithm, uint8_t prios,
		     const uint8_t *set);
/* Counters, MLX4_CC_STATS_SIZE bytes: prios 0: all priorities; of 802.1Qau a mask of one: in the first block. */
int mlx4_port_cc_stats(struct mlx4_hca *hca, unsigned int port, unsigned int algorithm, uint8_t prios, uint8_t *out);
/* Counters of these priorities start again. */
int mlx4_port_cc_clear(struct mlx4_hca *hca, unsigned int port, unsigned int algorithm, uint8_t prios);

#endif /* MLX4_HCA_PORT_QOS_H */
