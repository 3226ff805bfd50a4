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
#define MLX4_IF_STAT_SIZE 0x100u
#define MLX4_IF_STAT_CLEAR (1u << 31)
#define MLX4_IF_STAT_MODE PRM_B(0x03, 7, 0)
#define MLX4_IF_STAT_NUM PRM_D(0x04, 31, 0)
#define MLX4_IF_STAT_RX_FRAMES 0x10u
#define MLX4_IF_STAT_RX_BYTES 0x18u
#define MLX4_IF_STAT_TX_FRAMES 0x20u
#define MLX4_IF_STAT_TX_BYTES 0x28u

/* DIAG_RPRT: be32 counters of the transport; RQ: the responder, SQ: the requester [DP 13.3] */
#define MLX4_DIAG_SIZE 0x200u
#define MLX4_DIAG_RQ_LENGTH 0x00u
#define MLX4_DIAG_SQ_LENGTH 0x04u
#define MLX4_DIAG_RQ_QP_OP 0x08u
#define MLX4_DIAG_SQ_QP_OP 0x0cu
#define MLX4_DIAG_RQ_PROTECTION 0x18u
#define MLX4_DIAG_SQ_PROTECTION 0x1cu
#define MLX4_DIAG_RQ_FLUSHED 0x20u
#define MLX4_DIAG_SQ_FLUSHED 0x24u
#define MLX4_DIAG_SQ_BIND 0x2cu
#define MLX4_DIAG_SQ_BAD_RESPONSE 0x34u
#define MLX4_DIAG_SQ_REMOTE_INVALID 0x44u
#define MLX4_DIAG_RQ_REMOTE_INVALID 0x48u
#define MLX4_DIAG_SQ_REMOTE_ACCESS 0x4cu
#define MLX4_DIAG_RQ_REMOTE_ACCESS 0x50u
#define MLX4_DIAG_SQ_REMOTE_OP 0x54u
#define MLX4_DIAG_RQ_REMOTE_OP 0x58u
#define MLX4_DIAG_SQ_RETRY_EXCEEDED 0x5cu
#define MLX4_DIAG_SQ_RNR_EXCEEDED 0x64u
#define MLX4_DIAG_RQ_RNR_NAK 0x68u
#define MLX4_DIAG_SQ_RNR_NAK 0x6cu
#define MLX4_DIAG_RQ_OUT_OF_ORDER 0x100u
#define MLX4_DIAG_SQ_OUT_OF_ORDER 0x104u
#define MLX4_DIAG_RQ_MCAST 0x108u
#define MLX4_DIAG_RQ_UD_DROPPED 0x118u
#define MLX4_DIAG_RQ_UC_DROPPED 0x120u
#define MLX4_DIAG_RQ_DUPLICATE 0x130u
#define MLX4_DIAG_SQ_TIMEOUT 0x134u
#define MLX4_DIAG_CQ_OVERFLOW 0x1a0u
#define MLX4_DIAG_EQ_OVERFLOW 0x1a4u
#define MLX4_DIAG_BAD_DOORBELL 0x1a8u

#endif /* MLX4_PRM_STATS_H */
