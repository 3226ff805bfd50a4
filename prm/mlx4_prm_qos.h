/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Layouts of quality of service: classes, scheduler, pause, what waits for a receive buffer.
 *
 * [CP n] and [DP n] name sections of the control-plane and the data-path reference. What no public source describes is
 * marked [U]: the place and the form are assumed, docs/fidelity.md lists each, and nothing writes it until asked for.
 */
#ifndef MLX4_PRM_QOS_H
#define MLX4_PRM_QOS_H

#include "mlx4_prm.h"

#define MLX4_PRIOS 8u
#define MLX4_TCS 8u

/* SET_PORT PRIO2TC: byte i holds the class of priority 2i (high nibble) and 2i + 1 [CP 4.3] */
#define MLX4_PRIO2TC_SIZE 4u

/* SET_PORT SCHEDULER: an entry per class [CP 4.3] */
#define MLX4_SCHED_ENTRY 8u
#define MLX4_SCHED_GROUP PRM_H(0x00, 15, 0)
#define MLX4_SCHED_BW_PCT PRM_H(0x02, 15, 0)
#define MLX4_SCHED_RATE_UNIT PRM_H(0x04, 15, 0)
#define MLX4_SCHED_RATE PRM_H(0x06, 15, 0)
/* Lower groups go first; the classes of one group share by percentage. Linux: strict 0, ETS 7, vendor 0. */
#define MLX4_SCHED_GROUP_STRICT 0u
#define MLX4_SCHED_GROUP_ETS 7u
#define MLX4_SCHED_UNIT_100M 3u
#define MLX4_SCHED_UNIT_1G 4u
#define MLX4_SCHED_RATE_NONE 0xffu /* with the 1 Gb/s unit: above what a port can do */

/* DUMP_ETH_STATS with this bit in the modifier: the flow-control block, an entry per priority [DP 13.1] */
#define MLX4_STATS_MOD_FLOW (1u << 12)
#define MLX4_FLOW_ENTRY 64u
#define MLX4_FLOW_RX_PAUSE 0x00u    /* be64 frames */
#define MLX4_FLOW_RX_DURATION 0x08u /* be64 us */
#define MLX4_FLOW_RX_TRANSITION 0x10u
#define MLX4_FLOW_TX_PAUSE 0x18u
#define MLX4_FLOW_TX_DURATION 0x20u
#define MLX4_FLOW_TX_TRANSITION 0x28u

/*
 * SET_PORT PRIO_MAP [U: the selector is known, its layout is not]: how a received frame finds its priority.
 * Trust 0 leaves the card's default, PCP.
 */
#define MLX4_PRIOMAP_TRUST PRM_B(0x00, 1, 0)
#define MLX4_PRIOMAP_TRUST_PCP 1u
#define MLX4_PRIOMAP_TRUST_DSCP 2u
#define MLX4_PRIOMAP_UNTAGGED_LOSSLESS PRM_B(0x00, 7, 7) /* frames without a tag may fill lossless buffers */
#define MLX4_PRIOMAP_UNTAGGED_PRIO PRM_B(0x01, 2, 0)
#define MLX4_PRIOMAP_DSCP 0x04u /* byte i: priority of DSCP 2i (high nibble) and 2i + 1 */
#define MLX4_PRIOMAP_SIZE (MLX4_PRIOMAP_DSCP + 32u)

/*
 * Delay drop [U: that firmware from 2.31.5050 has it is known, its encoding is not]. QP context: how long a frame waits
 * for a receive WQE, in units of 100 us, 0: not at all, 65535: for ever. UPDATE_QP changes it on a live QP. When the time
 * is over the card clears the field and sends a recoverable-error event with this subtype.
 */
#define MLX4_QPC_DELAY_DROP PRM_H(0x84, 15, 0)
#define MLX4_DELAY_DROP_UNIT_US 100u
#define MLX4_DELAY_DROP_FOREVER 0xffffu
#define MLX4_UPDATE_QP_DELAY_DROP (UINT64_C(1) << 36)
#define MLX4_EQE_RECOVERABLE_BAD_CABLE 0x01u         /* [CP 9.3] */
#define MLX4_EQE_RECOVERABLE_UNSUPPORTED_CABLE 0x02u /* [CP 9.3] */
#define MLX4_EQE_RECOVERABLE_DELAY_DROP 0x10u
/* The port stands where the other recoverable errors have it, at MLX4_EQE_MNG_PORT. */
#define MLX4_EQE_DELAY_DROP_QPN PRM_D(0x08, 23, 0)

#endif /* MLX4_PRM_QOS_H */
