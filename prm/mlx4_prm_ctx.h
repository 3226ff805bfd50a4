/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Contexts of EQ, CQ, SRQ, QP and MPT, as in command mailboxes and in ICM. */
#ifndef MLX4_PRM_CTX_H
#define MLX4_PRM_CTX_H

#include "mlx4_prm.h"

/* EQ context [CP 5.1] */
#define MLX4_EQC_STATUS PRM_D(0x00, 31, 28)
#define MLX4_EQC_EC PRM_D(0x00, 18, 18)
#define MLX4_EQC_OI PRM_D(0x00, 17, 17)
#define MLX4_EQC_STATE PRM_D(0x00, 11, 8)
#define MLX4_EQC_PAGE_OFFSET PRM_D(0x08, 11, 5) /* 32-byte units */
#define MLX4_EQC_LG_SIZE PRM_B(0x0c, 4, 0)
#define MLX4_EQC_MOD_PERIOD PRM_H(0x10, 15, 0)
#define MLX4_EQC_MOD_COUNT PRM_H(0x12, 15, 0)
#define MLX4_EQC_INTR PRM_H(0x16, 9, 0)
#define MLX4_EQC_LG_PAGE PRM_B(0x18, 5, 0) /* lg bytes - 12 */
#define MLX4_EQC_MTT_H PRM_B(0x1b, 7, 0)
#define MLX4_EQC_MTT_L PRM_D(0x1c, 31, 0) /* [31:3] */
#define MLX4_EQC_CI PRM_D(0x28, 23, 0)
#define MLX4_EQC_PI PRM_D(0x2c, 23, 0)
#define MLX4_EQC_SIZE 64u
enum mlx4_eq_state {
	MLX4_EQ_STATE_ARMED = 0x9,
	MLX4_EQ_STATE_FIRED = 0xa,
	MLX4_EQ_STATE_ALWAYS_ARMED = 0xb,
};

/* CQ context [CP 5.2] */
#define MLX4_CQC_STATUS PRM_D(0x00, 31, 28)
#define MLX4_CQC_TIMESTAMP PRM_D(0x00, 19, 19)
#define MLX4_CQC_CC PRM_D(0x00, 18, 18)
#define MLX4_CQC_OI PRM_D(0x00, 17, 17)
#define MLX4_CQC_STATE PRM_D(0x00, 11, 8)
#define MLX4_CQC_PAGE_OFFSET PRM_D(0x08, 11, 5) /* 32-byte units */
#define MLX4_CQC_LG_SIZE PRM_D(0x0c, 28, 24)
#define MLX4_CQC_UAR PRM_D(0x0c, 23, 0)
#define MLX4_CQC_MOD_PERIOD PRM_H(0x10, 15, 0) /* microseconds */
#define MLX4_CQC_MOD_COUNT PRM_H(0x12, 15, 0)
#define MLX4_CQC_EQN PRM_H(0x16, 8, 0)
#define MLX4_CQC_LG_PAGE PRM_B(0x18, 5, 0)
#define MLX4_CQC_MTT_H PRM_B(0x1b, 7, 0)
#define MLX4_CQC_MTT_L PRM_D(0x1c, 31, 0)
#define MLX4_CQC_LAST_NOTIFIED PRM_D(0x20, 23, 0)
#define MLX4_CQC_SOLICITED_PI PRM_D(0x24, 23, 0)
#define MLX4_CQC_CI PRM_D(0x28, 23, 0)
#define MLX4_CQC_PI PRM_D(0x2c, 23, 0)
#define MLX4_CQC_DBREC 0x38u /* be64, [63:3] */
#define MLX4_CQC_SIZE 64u
enum mlx4_cq_state {
	MLX4_CQ_STATE_IDLE = 0x0,
	MLX4_CQ_STATE_ARMED_SOLICITED = 0x6,
	MLX4_CQ_STATE_ARMED = 0x9,
	MLX4_CQ_STATE_FIRED = 0xa,
};
enum mlx4_ctx_status {
	MLX4_CTX_STATUS_OK = 0x0,
	MLX4_CTX_STATUS_OVERFLOW = 0x9,
	MLX4_CTX_STATUS_WRITE_FAIL = 0xa,
};
#define MLX4_MODIFY_CQ_RESIZE 0u
/* The fields of a resize where the manual of 2007 has them, four octets earlier than in the context [U7]. */
#define MLX4_RESIZE_2007_LG_SIZE PRM_D(0x08, 28, 24)
#define MLX4_RESIZE_2007_PAGE_OFFSET PRM_D(0x04, 11, 5)
#define MLX4_RESIZE_2007_LG_PAGE PRM_B(0x14, 5, 0)
#define MLX4_RESIZE_2007_MTT_H PRM_B(0x17, 7, 0)
#define MLX4_RESIZE_2007_MTT_L PRM_D(0x18, 31, 0)
#define MLX4_MODIFY_CQ_MODERATION 1u

/* SRQ context [CP 5.3] */
#define MLX4_SRQC_STATE PRM_D(0x00, 31, 28)
#define MLX4_SRQC_LG_SIZE PRM_D(0x00, 27, 24)
#define MLX4_SRQC_SRQN PRM_D(0x00, 23, 0)
#define MLX4_SRQC_LG_STRIDE PRM_B(0x04, 2, 0) /* lg bytes - 4 */
#define MLX4_SRQC_XRCD PRM_H(0x06, 15, 0)
#define MLX4_SRQC_PAGE_OFFSET PRM_D(0x08, 29, 24)
#define MLX4_SRQC_CQN PRM_D(0x08, 23, 0)
#define MLX4_SRQC_LG_PAGE PRM_B(0x10, 5, 0)
#define MLX4_SRQC_MTT_H PRM_B(0x13, 7, 0)
#define MLX4_SRQC_MTT_L PRM_D(0x14, 31, 0)
#define MLX4_SRQC_PD PRM_D(0x18, 23, 0)
#define MLX4_SRQC_LIMIT PRM_H(0x1c, 15, 0)
#define MLX4_SRQC_WQE_COUNT PRM_H(0x1e, 15, 0)
#define MLX4_SRQC_WQE_COUNTER PRM_H(0x22, 15, 0)
#define MLX4_SRQC_DBREC 0x28u
#define MLX4_SRQC_SIZE 48u

/* QP transition mailbox [CP 5.4]; the context starts at MLX4_QP_MBOX_CTX */
#define MLX4_QP_MBOX_OPTPAR PRM_D(0x00, 31, 0)
#define MLX4_QP_MBOX_CTX 0x08u
#define MLX4_QPC_SIZE 0xf8u
#define MLX4_OPTPAR_RRE (1u << 1)
#define MLX4_OPTPAR_RAE (1u << 2)
#define MLX4_OPTPAR_RWE (1u << 3)
#define MLX4_OPTPAR_PKEY_INDEX (1u << 4)
#define MLX4_OPTPAR_QKEY (1u << 5)
#define MLX4_OPTPAR_RNR_TIMEOUT (1u << 6)
#define MLX4_OPTPAR_PRIMARY_PATH (1u << 7)
#define MLX4_OPTPAR_SRA_MAX (1u << 8)
#define MLX4_OPTPAR_RRA_MAX (1u << 9)
#define MLX4_OPTPAR_PM_STATE (1u << 10)
#define MLX4_OPTPAR_RETRY_COUNT (1u << 12)
#define MLX4_OPTPAR_RNR_RETRY (1u << 13)
#define MLX4_OPTPAR_ACK_TIMEOUT (1u << 14)
#define MLX4_OPTPAR_SCHED_QUEUE (1u << 16)
#define MLX4_OPTPAR_COUNTER_INDEX (1u << 20)
#define MLX4_OPTPAR_VLAN_STRIP (1u << 21)

/* QP context [CP 5.5] */
#define MLX4_QPC_STATE PRM_D(0x00, 31, 28)
#define MLX4_QPC_SERVICE PRM_D(0x00, 19, 16)
#define MLX4_QPC_RSS PRM_D(0x00, 13, 13)
#define MLX4_QPC_PM_STATE PRM_D(0x00, 12, 11)
#define MLX4_QPC_PD PRM_D(0x04, 23, 0)
#define MLX4_QPC_MTU PRM_B(0x08, 7, 5)
#define MLX4_QPC_LG_MSG PRM_B(0x08, 4, 0)
#define MLX4_QPC_RQ_LG_SIZE PRM_B(0x09, 6, 3)
#define MLX4_QPC_RQ_LG_STRIDE PRM_B(0x09, 2, 0) /* lg bytes - 4 */
#define MLX4_QPC_NO_PREFETCH PRM_B(0x0a, 7, 7)
#define MLX4_QPC_SQ_LG_SIZE PRM_B(0x0a, 6, 3)
#define MLX4_QPC_SQ_LG_STRIDE PRM_B(0x0a, 2, 0)
#define MLX4_QPC_ROCE_MODE PRM_B(0x0b, 7, 6)
#define MLX4_QPC_RLKEY PRM_B(0x0b, 4, 4)
#define MLX4_QPC_UAR PRM_D(0x0c, 23, 0)
#define MLX4_QPC_LOCAL_QPN PRM_D(0x10, 23, 0)
#define MLX4_QPC_REMOTE_QPN PRM_D(0x14, 23, 0)
#define MLX4_QPC_PRI_PATH 0x18u
#define MLX4_QPC_ALT_PATH 0x44u
#define MLX4_QPC_ACK_REQ_FREQ PRM_D(0x70, 31, 28)
#define MLX4_QPC_SRA_MAX PRM_D(0x70, 23, 21)
#define MLX4_QPC_RETRY_COUNT PRM_D(0x70, 18, 16)
#define MLX4_QPC_RNR_RETRY PRM_D(0x70, 15, 13)
#define MLX4_QPC_FRE PRM_D(0x70, 11, 11)
#define MLX4_QPC_NEXT_SEND_PSN PRM_D(0x78, 23, 0)
#define MLX4_QPC_CQN_SEND PRM_D(0x7c, 23, 0)
#define MLX4_QPC_ROCE_ENTROPY PRM_H(0x80, 15, 0)
#define MLX4_QPC_LAST_ACKED_PSN PRM_D(0x88, 23, 0)
#define MLX4_QPC_SSN PRM_D(0x8c, 23, 0)
#define MLX4_QPC_RRA_MAX PRM_D(0x90, 23, 21)
#define MLX4_QPC_RRE PRM_D(0x90, 15, 15)
#define MLX4_QPC_RWE PRM_D(0x90, 14, 14)
#define MLX4_QPC_RAE PRM_D(0x90, 13, 13)
#define MLX4_QPC_PAGE_OFFSET PRM_D(0x90, 11, 6) /* 64-byte units */
#define MLX4_QPC_RIC PRM_D(0x90, 4, 4)
#define MLX4_QPC_FPP PRM_D(0x90, 3, 3)
#define MLX4_QPC_MIN_RNR_TIMER PRM_D(0x94, 28, 24)
#define MLX4_QPC_NEXT_RECV_PSN PRM_D(0x94, 23, 0)
#define MLX4_QPC_XRCD PRM_D(0x98, 15, 0)
#define MLX4_QPC_CQN_RECV PRM_D(0x9c, 23, 0)
#define MLX4_QPC_DBREC 0xa0u /* be64, [63:2] */
#define MLX4_QPC_QKEY PRM_D(0xa8, 31, 0)
#define MLX4_QPC_TUNNEL_MODE PRM_D(0xac, 30, 28)
#define MLX4_QPC_TUNNEL_ALL 7u /* tunnelled frames and others */
#define MLX4_QPC_SRQ_VALID PRM_D(0xac, 24, 24)
#define MLX4_QPC_SRQN PRM_D(0xac, 23, 0)
#define MLX4_QPC_MSN PRM_D(0xb0, 23, 0)
#define MLX4_QPC_RQ_WQE_COUNTER PRM_H(0xb4, 15, 0)
#define MLX4_QPC_SQ_WQE_COUNTER PRM_H(0xb6, 15, 0)
#define MLX4_QPC_RATE_UNIT PRM_H(0xbc, 15, 14)
#define MLX4_QPC_RATE_VALUE PRM_H(0xbc, 11, 0)
#define MLX4_QP_RATE_UNIT_NONE 0u
#define MLX4_QP_RATE_UNIT_KBPS 1u
#define MLX4_QP_RATE_UNIT_MBPS 2u
#define MLX4_QP_RATE_UNIT_GBPS 3u
#define MLX4_QPC_QOS_VPORT PRM_B(0xbf, 7, 0)
#define MLX4_QPC_VLAN_KEEP PRM_D(0xc0, 30, 30) /* do not strip on receive */
#define MLX4_QPC_FCS_KEEP PRM_D(0xc0, 29, 29)
#define MLX4_QPC_INLINE_RECV PRM_D(0xc0, 25, 25)
#define MLX4_QPC_HDR_SPLIT PRM_D(0xc0, 24, 24) /* [U] */
#define MLX4_QPC_LG_PAGE PRM_B(0xc8, 5, 0)
#define MLX4_QPC_MTT_H PRM_B(0xcb, 7, 0)
#define MLX4_QPC_MTT_L PRM_D(0xcc, 31, 0)
enum mlx4_qp_state {
	MLX4_QP_RST = 0,
	MLX4_QP_INIT = 1,
	MLX4_QP_RTR = 2,
	MLX4_QP_RTS = 3,
	MLX4_QP_SQER = 4,
	MLX4_QP_SQD = 5,
	MLX4_QP_ERR = 6,
	MLX4_QP_SQ_DRAINING = 7,
	MLX4_QP_SUSPENDED = 9,
};
enum mlx4_qp_service {
	MLX4_QP_ST_RC = 0,
	MLX4_QP_ST_UC = 1,
	MLX4_QP_ST_RD = 2,
	MLX4_QP_ST_UD = 3,
	MLX4_QP_ST_XRC = 6,
	MLX4_QP_ST_MLX = 7, /* raw Ethernet, QP0, QP1 */
};
#define MLX4_PM_MIGRATED 3u
#define MLX4_QPC_MTU_RAW 7u
#define MLX4_QPC_LG_MSG_RAW 31u
/* QPNs used with BlueFlame on Ethernet have these bits clear [DP 2.5] */
#define MLX4_QPN_BF_CLEAR 0xc0u

/* Address path, offsets within the path [CP 5.6] */
#define MLX4_PATH_SIZE 44u
#define MLX4_PATH_F_FL PRM_B(0x00, 7, 7)
#define MLX4_PATH_F_CV PRM_B(0x00, 6, 6) /* a C-tag */
#define MLX4_PATH_F_MC_LB_CHECK PRM_B(0x00, 1, 1)
#define MLX4_PATH_F_UC_LB_CHECK PRM_B(0x00, 0, 0)
#define MLX4_PATH_LB_BY_COUNTER PRM_B(0x01, 7, 7)
#define MLX4_PATH_PKEY_INDEX PRM_B(0x03, 6, 0)
#define MLX4_PATH_COUNTER PRM_B(0x04, 7, 0)
#define MLX4_PATH_GRH PRM_B(0x05, 7, 7)
#define MLX4_PATH_SMAC_INDEX PRM_B(0x05, 6, 0)
#define MLX4_PATH_RLID PRM_H(0x06, 15, 0)
#define MLX4_PATH_ACK_TIMEOUT PRM_B(0x08, 7, 3)
#define MLX4_PATH_LINK_ETH PRM_B(0x08, 2, 0) /* 0 IB, 1 Ethernet */
#define MLX4_PATH_SGID_INDEX PRM_B(0x09, 6, 0)
#define MLX4_PATH_STATIC_RATE PRM_B(0x0a, 3, 0)
#define MLX4_PATH_HOP_LIMIT PRM_B(0x0b, 7, 0)
#define MLX4_PATH_TCLASS PRM_D(0x0c, 27, 20)
#define MLX4_PATH_FLOW_LABEL PRM_D(0x0c, 19, 0)
#define MLX4_PATH_RGID 0x10u
#define MLX4_PATH_SCHED_QUEUE PRM_B(0x20, 7, 0)
#define MLX4_SCHED_QUEUE(port, prio) (0x83u | (((port)-1u) << 6) | ((prio) << 3))
#define MLX4_SCHED_QUEUE_PORT(sq) ((((sq) >> 6) & 1u) + 1u)
#define MLX4_SCHED_QUEUE_PRIO(sq) (((sq) >> 3) & 7u)
#define MLX4_PATH_VLAN_INDEX PRM_B(0x21, 6, 0)
#define MLX4_PATH_KEEP_SMAC PRM_B(0x22, 7, 7) /* of packets that software built */
#define MLX4_PATH_FORCE_PRIO PRM_B(0x22, 6, 6)
#define MLX4_PATH_FORCE_SMAC PRM_B(0x22, 5, 5)
#define MLX4_PATH_FORCE_VLAN PRM_B(0x22, 3, 3)
#define MLX4_PATH_DMAC 0x26u
/* Where the manual of 2007 has the two indexes [U7]. */
#define MLX4_PATH_COUNTER_2007 PRM_B(0x24, 7, 0)
#define MLX4_PATH_VLAN_INDEX_2007 PRM_B(0x25, 6, 0)

/* RSS context, offsets within the QP context [CP 5.7] */
#define MLX4_RSS_LG_RINGS PRM_D(0x3c, 31, 24)
#define MLX4_RSS_BASE_QPN PRM_D(0x3c, 23, 0)
#define MLX4_RSS_DEFAULT_QPN PRM_D(0x40, 23, 0)
#define MLX4_RSS_HASH_FN PRM_B(0x46, 7, 0)
#define MLX4_RSS_FLAGS PRM_B(0x47, 7, 0)
#define MLX4_RSS_KEY 0x48u
#define MLX4_RSS_KEY_SIZE 40u
#define MLX4_RSS_BASE_QPN_UDP PRM_D(0x70, 23, 0)
#define MLX4_RSS_FN_XOR 0u
#define MLX4_RSS_FN_TOEPLITZ 1u
#define MLX4_RSS_F_UDP_IPV6 0x01u
#define MLX4_RSS_F_UDP_IPV4 0x02u
#define MLX4_RSS_F_TCP_IPV6 0x04u
#define MLX4_RSS_F_IPV6 0x08u
#define MLX4_RSS_F_TCP_IPV4 0x10u
#define MLX4_RSS_F_IPV4 0x20u
#define MLX4_RSS_F_INNER 0x80u
#define MLX4_RSS_F_INNER_IP 0xc0u

/* Memory protection table entry [CP 5.8] */
#define MLX4_MPT_STATUS PRM_D(0x00, 31, 28)
#define MLX4_MPT_MIO PRM_D(0x00, 17, 17)
#define MLX4_MPT_BIND PRM_D(0x00, 15, 15)
#define MLX4_MPT_ATOMIC PRM_D(0x00, 14, 14)
#define MLX4_MPT_RW PRM_D(0x00, 13, 13)
#define MLX4_MPT_RR PRM_D(0x00, 12, 12)
#define MLX4_MPT_LW PRM_D(0x00, 11, 11)
#define MLX4_MPT_LR PRM_D(0x00, 10, 10)
#define MLX4_MPT_PA PRM_D(0x00, 9, 9)
#define MLX4_MPT_REGION PRM_D(0x00, 8, 8)
#define MLX4_MPT_QPN PRM_D(0x04, 31, 8)     /* of a bound window [U] */
#define MLX4_MPT_BOUND_QP PRM_D(0x04, 7, 7) /* a window of type 2 that belongs to a QP */
#define MLX4_MPT_KEY PRM_D(0x08, 31, 0)     /* index form: [31:24] variable, [23:0] index */
#define MLX4_MPT_RAE PRM_D(0x0c, 28, 28)
#define MLX4_MPT_FAST_REG PRM_D(0x0c, 27, 27)
#define MLX4_MPT_EN_INV PRM_D(0x0c, 25, 24)
#define MLX4_MPT_PD PRM_D(0x0c, 23, 0)
#define MLX4_MPT_START 0x10u  /* be64 */
#define MLX4_MPT_LENGTH 0x18u /* be64 */
#define MLX4_MPT_LKEY PRM_D(0x20, 31, 0)
#define MLX4_MPT_WIN_CNT PRM_D(0x24, 23, 0)
#define MLX4_MPT_FBO_EN PRM_D(0x28, 23, 23)
#define MLX4_MPT_LEN64 PRM_D(0x28, 22, 22) /* of a region: length 0 is 2^64 bytes */
#define MLX4_MPT_WIN_START 0x28u           /* be64, of a bound window: where it begins in its region [U] */
#define MLX4_MPT_MTT_H PRM_B(0x2f, 7, 0)
#define MLX4_MPT_MTT_L PRM_D(0x30, 31, 0)
#define MLX4_MPT_MTT_SZ PRM_D(0x34, 31, 0)
#define MLX4_MPT_ENTITY PRM_D(0x38, 20, 0) /* lg page bytes */
#define MLX4_MPT_FBO PRM_D(0x3c, 20, 0)
#define MLX4_MPT_SIZE 64u
enum mlx4_mpt_status {
	MLX4_MPT_HW = 0x0,
	MLX4_MPT_FREE = 0x3,
	MLX4_MPT_SW = 0xf,
};

/* MTT entry [CP 5.9]: be64, [63:12] page address, bit 0 present */
#define MLX4_MTT_SIZE 8u
#define MLX4_MTT_PRESENT UINT64_C(1)
#define MLX4_MTT_ADDR_MASK (~UINT64_C(0xfff))
/* WRITE_MTT: byte offset at 0, entries from 0x10 */
#define MLX4_WRITE_MTT_POS 0x00u
#define MLX4_WRITE_MTT_ENTRIES 0x10u
#define MLX4_WRITE_MTT_MAX 510u

/* cMPT: one window of 2^24 entries per class, in this order [CP 7.1] */
enum mlx4_cmpt_type { MLX4_CMPT_QP, MLX4_CMPT_SRQ, MLX4_CMPT_CQ, MLX4_CMPT_EQ, MLX4_CMPT_TYPES };
#define MLX4_CMPT_SHIFT 24

/* UPDATE_QP mailbox [CP 5.13] */
#define MLX4_UPDATE_QP_MASK 0x00u     /* be64 */
#define MLX4_UPDATE_QP_PRI_MASK 0x08u /* be64 */
#define MLX4_UPDATE_QP_CTX 0x20u
#define MLX4_UPDATE_QP_VSD (UINT64_C(1) << 33)
#define MLX4_UPDATE_QP_RATE (UINT64_C(1) << 35)
#define MLX4_UPDATE_PATH_MAC_INDEX (UINT64_C(1) << 34)
#define MLX4_UPDATE_PATH_SCHED_QUEUE (UINT64_C(1) << 46)
#define MLX4_UPDATE_PATH_COUNTER (UINT64_C(1) << 47)
#define MLX4_UPDATE_PATH_UC_LB (UINT64_C(1) << 50)
#define MLX4_UPDATE_PATH_MC_LB (UINT64_C(1) << 51)

/* Multicast-group entry [CP 6.2] */
#define MLX4_MCG_NEXT PRM_D(0x00, 31, 6)
#define MLX4_MCG_PROTO PRM_D(0x04, 31, 30)
#define MLX4_MCG_COUNT PRM_D(0x04, 23, 0)
#define MLX4_MCG_GID 0x10u
#define MLX4_MCG_KEY_SIZE 16u
/* Key of an Ethernet group, at MLX4_MCG_GID */
#define MLX4_MCG_PROTO_IB 0u /* the key is the GID */
#define MLX4_MCG_PROTO_ETH 1u
#define MLX4_MCG_KEY_VEP 4u
#define MLX4_MCG_KEY_PORT 5u
#define MLX4_MCG_KEY_FLAGS 7u
#define MLX4_MCG_KEY_VLAN 1u
#define MLX4_MCG_KEY_UNICAST 2u
#define MLX4_MCG_KEY_VID 8u
#define MLX4_MCG_KEY_MAC 10u
/* WRITE_MCG and READ_MCG of a default group: in_modifier [CP 6.2] */
#define MLX4_MCG_DEFAULT_UNICAST 0x2u
#define MLX4_MCG_MEMBER(i) (0x20u + 4u * (i))
#define MLX4_MCG_MEMBER_BLOCK_LB (1u << 30)
#define MLX4_MCG_MEMBER_QPN 0xffffffu

#endif /* MLX4_PRM_CTX_H */
