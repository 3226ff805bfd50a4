/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Layouts of the statistics that commands return. Comes with mlx4_prm_cmd.h. */
#ifndef MLX4_PRM_STATS_H
#define MLX4_PRM_STATS_H

#include "mlx4_prm.h"

/* DUMP_ETH_STATS in_modifier and output [CP 4.7] */
#define MLX4_STATS_RESET (1u << 8)
#define MLX4_STATS_SIZE 0xbb0u
#define MLX4_STATS_PRIOS 8u
#define MLX4_STATS_NOVLAN 8u   /* index behind the priorities */
#define MLX4_STATS_LOOPBACK 9u /* transmit only */
/* Size histogram: block b (0..9) of 9 (rx) or 10 (tx) be64. */
#define MLX4_STATS_RX_SIZE(b, p) (0x000u + (b)*0x48u + (p)*8u)
#define MLX4_STATS_RX_BCAST(p) (0x2d0u + (p)*8u)
#define MLX4_STATS_RX_MCAST(p) (0x318u + (p)*8u)
#define MLX4_STATS_RX_UCAST(p) (0x360u + (p)*8u)
#define MLX4_STATS_RX_OCT_TOTAL(p) (0x3a8u + (p)*0x18u)
#define MLX4_STATS_RX_OCT_NOFRM(p) (0x3b0u + (p)*0x18u)
#define MLX4_STATS_RX_OCT_GOOD(p) (0x3b8u + (p)*0x18u)
#define MLX4_STATS_RX_FRAMES(p) (0x480u + (p)*0x18u)
#define MLX4_STATS_RX_TAGGED(p) (0x488u + (p)*0x18u)
#define MLX4_STATS_RX_CONTROL 0x558u
#define MLX4_STATS_RX_INRANGE_LEN 0x578u
#define MLX4_STATS_RX_OUTRANGE_LEN 0x580u
#define MLX4_STATS_RX_TOO_LONG 0x588u
#define MLX4_STATS_RX_PCS 0x590u
#define MLX4_STATS_TX_SIZE(b, p) (0x598u + (b)*0x50u + (p)*8u)
#define MLX4_STATS_TX_BCAST(p) (0x8b8u + (p)*8u)
#define MLX4_STATS_TX_MCAST(p) (0x908u + (p)*8u)
#define MLX4_STATS_TX_UCAST(p) (0x958u + (p)*8u)
#define MLX4_STATS_TX_OCT_TOTAL(p) (0x9a8u + (p)*0x18u)
#define MLX4_STATS_TX_OCT_NOFRM(p) (0x9b0u + (p)*0x18u)
#define MLX4_STATS_TX_OCT_GOOD(p) (0x9b8u + (p)*0x18u)
#define MLX4_STATS_TX_FRAMES(p) (0xa98u + (p)*0x18u)
#define MLX4_STATS_TX_TAGGED(p) (0xaa0u + (p)*0x18u)
#define MLX4_STATS_RX_JABBER 0xb88u /* be32 from here on */
#define MLX4_STATS_RX_CRC 0xb8cu
#define MLX4_STATS_RX_RUNT 0xb90u
#define MLX4_STATS_RX_SHORT 0xb94u
#define MLX4_STATS_RX_DROP 0xb98u
#define MLX4_STATS_RX_OVERFLOW 0xb9cu
#define MLX4_STATS_RX_LENGTH 0xba0u
#define MLX4_STATS_RX_TOTAL32 0xba4u
#define MLX4_STATS_TX_DROP 0xba8u
/* Size histogram blocks, upper bound of the frame with FCS; 8 = up to MTU, 9 = above. */
#define MLX4_STATS_SIZE_BLOCKS 10u

/* QUERY_IF_STAT [CP 4.6] */
#define MLX4_IF_STAT_CLEAR (1u << 31)
#define MLX4_IF_STAT_MODE PRM_B(0x03, 7, 0)
#define MLX4_IF_STAT_NUM PRM_D(0x04, 31, 0)
#define MLX4_IF_STAT_RX_FRAMES 0x10u
#define MLX4_IF_STAT_RX_BYTES 0x18u
#define MLX4_IF_STAT_TX_FRAMES 0x20u
#define MLX4_IF_STAT_TX_BYTES 0x28u

#endif /* MLX4_PRM_STATS_H */
