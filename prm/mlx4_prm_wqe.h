/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Send and receive work-queue entries, completion and event queue entries. */
#ifndef MLX4_PRM_WQE_H
#define MLX4_PRM_WQE_H

#include <assert.h>

#include "mlx4_prm.h"

#define MLX4_TXBB_SIZE 64u
#define MLX4_LG_TXBB 6u
#define MLX4_DS_SIZE 16u
#define MLX4_WQE_DS_MAX 63u
#define MLX4_SEND_WQE_MAX 1008u
/* The card prefetches this far beyond the last posted WQE [DP 4.3] */
#define MLX4_SQ_PREFETCH_BYTES 2048u
#define MLX4_SQ_HEADROOM_TXBBS (MLX4_SQ_PREFETCH_BYTES / MLX4_TXBB_SIZE + 1u)

/* Control segment [DP 3.1] */
struct mlx4_wqe_ctrl {
	rte_be32_t owner_opcode;
	rte_be32_t vlan_ds;
	rte_be32_t flags;
	rte_be32_t imm;
};
static_assert(sizeof(struct mlx4_wqe_ctrl) == 16, "control segment");
#define MLX4_CTRL_OWN (1u << 31)
#define MLX4_CTRL_NEC (1u << 29)
#define MLX4_CTRL_IIP (1u << 28)
#define MLX4_CTRL_ILP (1u << 27)
#define MLX4_CTRL_RR (1u << 6)
#define MLX4_CTRL_OPCODE_MASK 0x1fu
#define MLX4_CTRL_BF_INDEX_SHIFT 8
#define MLX4_CTRL_VLAN_SHIFT 16
#define MLX4_CTRL_INS_SVLAN (1u << 15)
#define MLX4_CTRL_INS_CVLAN (1u << 14)
#define MLX4_CTRL_FENCE (1u << 6)
#define MLX4_CTRL_DS_MASK 0x3fu
#define MLX4_CTRL_SO (1u << 7)
#define MLX4_CTRL_L4_CSUM (1u << 5)
#define MLX4_CTRL_IP_CSUM (1u << 4)
#define MLX4_CTRL_CQE (3u << 2)
#define MLX4_CTRL_CQE_MASK (3u << 2)
#define MLX4_CTRL_SOLICITED (1u << 1)
#define MLX4_CTRL_NO_ICRC (1u << 1) /* same bit on raw Ethernet QPs */
#define MLX4_CTRL_FL (1u << 0)

enum mlx4_send_opcode {
	MLX4_OP_NOP = 0x00,
	MLX4_OP_SEND_INV = 0x01,
	MLX4_OP_RDMA_WRITE = 0x08,
	MLX4_OP_RDMA_WRITE_IMM = 0x09,
	MLX4_OP_SEND = 0x0a,
	MLX4_OP_SEND_IMM = 0x0b,
	MLX4_OP_LSO = 0x0e,
	MLX4_OP_RDMA_READ = 0x10,
	MLX4_OP_ATOMIC_CS = 0x11,
	MLX4_OP_ATOMIC_FA = 0x12,
	MLX4_OP_MASKED_CS = 0x14,
	MLX4_OP_MASKED_FA = 0x15,
	MLX4_OP_BIND_MW = 0x18,
	MLX4_OP_FAST_REG = 0x19,
	MLX4_OP_LOCAL_INV = 0x1b,
	MLX4_OP_CONFIG = 0x1f,
};

/* Data segment [DP 3.6] */
struct mlx4_wqe_data {
	rte_be32_t byte_count;
	rte_be32_t lkey;
	rte_be64_t addr;
};
static_assert(sizeof(struct mlx4_wqe_data) == 16, "data segment");
#define MLX4_DATA_INLINE (1u << 31)
#define MLX4_DATA_LEN_MASK 0x7fffffffu
#define MLX4_INLINE_LEN_MASK 0x3ffu
#define MLX4_INLINE_MIN 17u      /* a shorter inline frame is not accepted [DP 3.4] */
#define MLX4_LKEY_INVALID 0x100u /* ends a receive scatter list [DP 5.1] */

/* LSO segment [DP 3.5]: this dword, then the headers, padded to 16 bytes */
#define MLX4_LSO_MSS_SHIFT 16
#define MLX4_LSO_HDR_MASK 0xffffu

/* Datagram segment of UD [DP 3.3], with the address vector in front [DP 10.1] */
#define MLX4_DGRAM_SIZE 48u
#define MLX4_AV_FL PRM_D(0x00, 31, 31)
#define MLX4_AV_VLAN PRM_D(0x00, 29, 29)
#define MLX4_AV_PORT PRM_D(0x00, 25, 24)
#define MLX4_AV_PD PRM_D(0x00, 23, 0)
#define MLX4_AV_GRH PRM_B(0x05, 7, 7)
#define MLX4_AV_DLID PRM_H(0x06, 15, 0)
#define MLX4_AV_DLID_MCAST 0xc000u
#define MLX4_AV_SGID_INDEX PRM_B(0x09, 6, 0)
#define MLX4_AV_HOP_LIMIT PRM_B(0x0b, 7, 0)
#define MLX4_AV_PRIO PRM_D(0x0c, 31, 29)
#define MLX4_AV_TCLASS PRM_D(0x0c, 27, 20)
#define MLX4_AV_FLOW_LABEL PRM_D(0x0c, 19, 0)
#define MLX4_AV_DGID 0x10u
#define MLX4_DGRAM_QPN PRM_D(0x20, 23, 0)
#define MLX4_DGRAM_QKEY PRM_D(0x24, 31, 0)
#define MLX4_DGRAM_VLAN PRM_H(0x28, 15, 0)
#define MLX4_DGRAM_NO_VLAN 0xffffu
#define MLX4_DGRAM_DMAC 0x2au

/* Remote address segment [DP 3.8] */
#define MLX4_RADDR_SIZE 16u
#define MLX4_RADDR_VA 0x00u /* be64 */
#define MLX4_RADDR_RKEY PRM_D(0x08, 31, 0)

/* Atomic segment [DP 3.9]: be64 */
#define MLX4_ATOMIC_SIZE 16u
#define MLX4_ATOMIC_SWAP_ADD 0x00u
#define MLX4_ATOMIC_COMPARE 0x08u

/* Bind-window segment [DP 3.10] */
#define MLX4_BIND_SIZE 32u
#define MLX4_BIND_ATOMIC PRM_D(0x00, 31, 31)
#define MLX4_BIND_RW PRM_D(0x00, 30, 30)
#define MLX4_BIND_RR PRM_D(0x00, 29, 29)
#define MLX4_BIND_TYPE_2 PRM_D(0x04, 31, 31)
#define MLX4_BIND_ZERO_BASED PRM_D(0x04, 30, 30)
#define MLX4_BIND_RKEY PRM_D(0x08, 31, 0)
#define MLX4_BIND_LKEY PRM_D(0x0c, 31, 0)
#define MLX4_BIND_START 0x10u  /* be64 */
#define MLX4_BIND_LENGTH 0x18u /* be64 */

/* Fast-register segment [DP 3.11] */
#define MLX4_FR_SIZE 48u
#define MLX4_FR_ATOMIC PRM_D(0x00, 31, 31)
#define MLX4_FR_RW PRM_D(0x00, 30, 30)
#define MLX4_FR_RR PRM_D(0x00, 29, 29)
#define MLX4_FR_LW PRM_D(0x00, 28, 28)
#define MLX4_FR_LR PRM_D(0x00, 27, 27)
#define MLX4_FR_KEY PRM_D(0x04, 31, 0)
#define MLX4_FR_LIST 0x08u   /* be64, DMA address of the page list */
#define MLX4_FR_START 0x10u  /* be64 */
#define MLX4_FR_LENGTH 0x18u /* be64 */
#define MLX4_FR_FIRST_OFF PRM_D(0x20, 31, 0)
#define MLX4_FR_LG_PAGE PRM_D(0x24, 31, 0)
#define MLX4_FR_LIST_MAX 511u /* entries of a list, which lies in one page */
#define MLX4_FR_LIST_ALIGN 64u

/* Local-invalidate segment [DP 3.12] */
#define MLX4_INV_SIZE 32u
#define MLX4_INV_KEY PRM_D(0x08, 31, 0)

/* Control segment of QPs whose packets software built, on Ethernet [DP 3.13] */
#define MLX4_MLX_PRIO_SHIFT 29     /* dword 1 */
#define MLX4_MLX_NO_ICRC (1u << 4) /* dword 2: the last dword is the CRC already */
#define MLX4_MLX_DMAC_HI_SHIFT 16  /* dword 2; the other four bytes are dword 3 */
#define MLX4_MLX_ICRC_SIZE 4u      /* of the inline segment at the end */

/* WQE of a shared receive queue [DP 5.2]: the index of the next one, then the list */
#define MLX4_SRQ_WQE_NEXT PRM_H(0x02, 15, 0)
#define MLX4_SRQ_WQE_LIST 0x10u

/* Completion queue entry, 32 bytes; in the upper half of a 64-byte entry [DP 6.2] */
struct mlx4_cqe {
	rte_be32_t vlan_my_qpn;
	rte_be32_t immed_rss;
	rte_be32_t g_mlpath_rqpn;
	rte_be16_t sl_vid;
	rte_be16_t rlid;
	rte_be16_t status;
	uint8_t ipv6_ext_mask;
	uint8_t badfcs_enc;
	rte_be32_t byte_cnt;
	rte_be16_t wqe_index;
	rte_be16_t checksum;
	uint8_t rsvd[3];
	uint8_t owner_sr_opcode;
};
static_assert(sizeof(struct mlx4_cqe) == 32, "CQE");
/* Timestamp mode [DP 6.2]: cycles of the core clock, bits 47:16 and 15:0, over what the entry has there else. */
#define MLX4_CQE_STAMP_H PRM_D(0x0c, 31, 0)
#define MLX4_CQE_STAMP_LH PRM_B(0x1d, 7, 0) /* bits 15:8 */
#define MLX4_CQE_STAMP_LL PRM_B(0x1e, 7, 0)
#define MLX4_CQE_QPN_MASK 0x00ffffffu
#define MLX4_CQE_GRH (1u << 31)          /* g_mlpath_rqpn */
#define MLX4_CQE_UD_SMAC 0x0eu           /* UD on Ethernet: the source address lies over rlid and status */
#define MLX4_CQE_TUNNEL_IP_OK (1u << 31) /* [U] */
#define MLX4_CQE_SVLAN (1u << 30)
#define MLX4_CQE_CVLAN (1u << 29)
#define MLX4_CQE_TUNNELED (1u << 27)
#define MLX4_CQE_TUNNEL_UDP_OK (1u << 26) /* [U] */
#define MLX4_CQE_TUNNEL_IPV4 (1u << 25)
#define MLX4_CQE_ST_IPV4 0x0040u
#define MLX4_CQE_ST_IPV4_FRAG 0x0080u
#define MLX4_CQE_ST_IPV6 0x0100u
#define MLX4_CQE_ST_IPV4_OPT 0x0200u
#define MLX4_CQE_ST_TCP 0x0400u
#define MLX4_CQE_ST_UDP 0x0800u
#define MLX4_CQE_ST_IP_OK 0x1000u
#define MLX4_CQE_EXT_FRAG 0x10u  /* ipv6_ext_mask */
#define MLX4_CQE_BAD_FCS 0x10u   /* badfcs_enc */
#define MLX4_CQE_L4_OK 0x04u     /* badfcs_enc */
#define MLX4_CQE_SNAP 0x02u      /* badfcs_enc */
#define MLX4_CQE_LLC 0x01u       /* badfcs_enc */
#define MLX4_CQE_CSUM_OK 0xffffu /* checksum */
#define MLX4_CQE_OWNER 0x80u
#define MLX4_CQE_IS_SEND 0x40u
#define MLX4_CQE_INLINE 0x20u
#define MLX4_CQE_OPCODE_MASK 0x1fu
enum mlx4_cqe_opcode {
	MLX4_CQE_RECV_WRITE_IMM = 0,
	MLX4_CQE_RECV_SEND = 1,
	MLX4_CQE_RECV_SEND_IMM = 2,
	MLX4_CQE_RECV_SEND_INV = 3,
	MLX4_CQE_RESIZE = 0x16,
	MLX4_CQE_ERROR = 0x1e,
};

/* Error CQE [DP 6.4] */
struct mlx4_err_cqe {
	rte_be32_t my_qpn;
	rte_be32_t rsvd1[5];
	rte_be16_t wqe_index;
	uint8_t vendor_syndrome;
	uint8_t syndrome;
	uint8_t rsvd2[3];
	uint8_t owner_sr_opcode;
};
static_assert(sizeof(struct mlx4_err_cqe) == 32, "error CQE");
enum mlx4_cqe_syndrome {
	MLX4_SYND_LOCAL_LENGTH = 0x01,
	MLX4_SYND_LOCAL_QP_OP = 0x02,
	MLX4_SYND_LOCAL_PROT = 0x04,
	MLX4_SYND_WR_FLUSH = 0x05,
	MLX4_SYND_MW_BIND = 0x06,
	MLX4_SYND_BAD_RESP = 0x10,
	MLX4_SYND_LOCAL_ACCESS = 0x11,
	MLX4_SYND_REMOTE_INVAL_REQ = 0x12,
	MLX4_SYND_REMOTE_ACCESS = 0x13,
	MLX4_SYND_REMOTE_OP = 0x14,
	MLX4_SYND_RETRY_EXC = 0x15,
	MLX4_SYND_RNR_RETRY_EXC = 0x16,
	MLX4_SYND_REMOTE_ABORTED = 0x22,
};

/* Event queue entry, 32 bytes [CP 9.2] */
#define MLX4_EQE_SIZE 32u
#define MLX4_EQE_TYPE PRM_B(0x01, 7, 0)
#define MLX4_EQE_SUBTYPE PRM_B(0x03, 7, 0)
#define MLX4_EQE_OWNER PRM_B(0x1f, 7, 7)
#define MLX4_EQE_CQN PRM_D(0x04, 23, 0)
#define MLX4_EQE_CQ_SYNDROME PRM_B(0x0f, 7, 0)
#define MLX4_EQE_QPN PRM_D(0x04, 23, 0)
#define MLX4_EQE_SRQN PRM_D(0x04, 23, 0)
#define MLX4_EQE_CMD_TOKEN PRM_H(0x06, 15, 0)
#define MLX4_EQE_CMD_STATUS PRM_B(0x0f, 7, 0)
#define MLX4_EQE_CMD_OUT_PARAM 0x10u /* be64 */
#define MLX4_EQE_PORT PRM_D(0x0c, 31, 28)
#define MLX4_EQE_PORT_2007 PRM_D(0x0c, 29, 28) /* of the manual of 2007 [U8] */
#define MLX4_EQE_MNG_PORT PRM_B(0x07, 7, 0)
enum mlx4_event {
	MLX4_EVENT_COMP = 0x00,
	MLX4_EVENT_PATH_MIG = 0x01,
	MLX4_EVENT_COMM_EST = 0x02,
	MLX4_EVENT_SQ_DRAINED = 0x03,
	MLX4_EVENT_CQ_ERROR = 0x04,
	MLX4_EVENT_WQ_CATAS = 0x05,
	MLX4_EVENT_EEC_CATAS = 0x06,
	MLX4_EVENT_PATH_MIG_FAILED = 0x07,
	MLX4_EVENT_LOCAL_CATAS = 0x08,
	MLX4_EVENT_PORT_CHANGE = 0x09,
	MLX4_EVENT_CMD = 0x0a,
	MLX4_EVENT_ECC = 0x0e,
	MLX4_EVENT_EQ_OVERFLOW = 0x0f,
	MLX4_EVENT_WQ_INVAL_REQ = 0x10,
	MLX4_EVENT_WQ_ACCESS = 0x11,
	MLX4_EVENT_SRQ_CATAS = 0x12,
	MLX4_EVENT_SRQ_LAST_WQE = 0x13,
	MLX4_EVENT_SRQ_LIMIT = 0x14,
	MLX4_EVENT_COMM_CHANNEL = 0x18,
	MLX4_EVENT_VEP_UPDATE = 0x19,
	MLX4_EVENT_OP_REQUIRED = 0x1a,
	MLX4_EVENT_FATAL_WARNING = 0x1b,
	MLX4_EVENT_FLR = 0x1c,
	MLX4_EVENT_PORT_MNG = 0x1d,
	MLX4_EVENT_RECOVERABLE = 0x3e,
	MLX4_EVENT_NONE = 0xff,
};
#define MLX4_PORT_CHANGE_DOWN 1u
#define MLX4_PORT_CHANGE_ACTIVE 4u
#define MLX4_CQ_ERR_OVERRUN 1u
#define MLX4_CQ_ERR_ACCESS 2u

#endif /* MLX4_PRM_WQE_H */
