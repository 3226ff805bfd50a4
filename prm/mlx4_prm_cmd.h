/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Firmware commands: opcodes, status codes and mailbox layouts. */
#ifndef MLX4_PRM_CMD_H
#define MLX4_PRM_CMD_H

#include "mlx4_prm.h"
#include "mlx4_prm_dmfs.h"
#include "mlx4_prm_stats.h"

/*
 * X(name, opcode, in, out) [CP 3.1]. in/out: NONE unused, IMM 64-bit immediate, MBOX mailbox; MAYBE: a mailbox that
 * depends on the op_modifier.
 */
#define MLX4_CMD_LIST(X)                                                                                               \
	X(QUERY_DEV_CAP, 0x003, NONE, MBOX)                                                                            \
	X(QUERY_FW, 0x004, NONE, MBOX)                                                                                 \
	X(QUERY_ADAPTER, 0x006, NONE, MBOX)                                                                            \
	X(INIT_HCA, 0x007, MBOX, NONE)                                                                                 \
	X(CLOSE_HCA, 0x008, NONE, NONE)                                                                                \
	X(INIT_PORT, 0x009, NONE, NONE)                                                                                \
	X(CLOSE_PORT, 0x00a, NONE, NONE)                                                                               \
	X(QUERY_HCA, 0x00b, NONE, MBOX)                                                                                \
	X(SET_PORT, 0x00c, MBOX, NONE)                                                                                 \
	X(SW2HW_MPT, 0x00d, MBOX, NONE)                                                                                \
	X(QUERY_MPT, 0x00e, NONE, MBOX)                                                                                \
	X(HW2SW_MPT, 0x00f, NONE, MAYBE)                                                                               \
	X(READ_MTT, 0x010, MAYBE, MBOX)                                                                                \
	X(WRITE_MTT, 0x011, MBOX, NONE)                                                                                \
	X(MAP_EQ, 0x012, IMM, NONE)                                                                                    \
	X(SW2HW_EQ, 0x013, MBOX, NONE)                                                                                 \
	X(HW2SW_EQ, 0x014, NONE, MAYBE)                                                                                \
	X(QUERY_EQ, 0x015, NONE, MBOX)                                                                                 \
	X(SW2HW_CQ, 0x016, MBOX, NONE)                                                                                 \
	X(HW2SW_CQ, 0x017, NONE, MAYBE)                                                                                \
	X(QUERY_CQ, 0x018, NONE, MBOX)                                                                                 \
	X(RST2INIT_QP, 0x019, MBOX, NONE)                                                                              \
	X(INIT2RTR_QP, 0x01a, MBOX, NONE)                                                                              \
	X(RTR2RTS_QP, 0x01b, MBOX, NONE)                                                                               \
	X(RTS2RTS_QP, 0x01c, MBOX, NONE)                                                                               \
	X(SQERR2RTS_QP, 0x01d, MBOX, NONE)                                                                             \
	X(2ERR_QP, 0x01e, MAYBE, NONE)                                                                                 \
	X(RTS2SQD_QP, 0x01f, MAYBE, NONE)                                                                              \
	X(SQD2RTS_QP, 0x020, MBOX, NONE)                                                                               \
	X(2RST_QP, 0x021, NONE, NONE)                                                                                  \
	X(QUERY_QP, 0x022, NONE, MBOX)                                                                                 \
	X(CONF_SPECIAL_QP, 0x023, NONE, NONE)                                                                          \
	X(MAD_IFC, 0x024, MBOX, MBOX)                                                                                  \
	X(READ_MCG, 0x025, NONE, MBOX)                                                                                 \
	X(WRITE_MCG, 0x026, MBOX, NONE)                                                                                \
	X(MGID_HASH, 0x027, MBOX, IMM)                                                                                 \
	X(MODIFY_CQ, 0x02c, MBOX, NONE)                                                                                \
	X(INIT2INIT_QP, 0x02d, MBOX, NONE)                                                                             \
	X(SYNC_TPT, 0x02f, NONE, NONE)                                                                                 \
	X(DIAG_RPRT, 0x030, NONE, MBOX)                                                                                \
	X(NOP, 0x031, NONE, NONE)                                                                                      \
	X(SUSPEND_QP, 0x032, NONE, NONE)                                                                               \
	X(UNSUSPEND_QP, 0x033, NONE, NONE)                                                                             \
	X(MOD_STAT_CFG, 0x034, MAYBE, MAYBE)                                                                           \
	X(SW2HW_SRQ, 0x035, MBOX, NONE)                                                                                \
	X(HW2SW_SRQ, 0x036, NONE, MAYBE)                                                                               \
	X(QUERY_SRQ, 0x037, NONE, MBOX)                                                                                \
	X(SQD2SQD_QP, 0x038, MBOX, NONE)                                                                               \
	X(CONFIG_DEV, 0x03a, MAYBE, MAYBE)                                                                             \
	X(ACCESS_REG, 0x03b, MBOX, MBOX)                                                                               \
	X(ARM_SRQ, 0x040, IMM, NONE)                                                                                   \
	X(QUERY_PORT, 0x043, NONE, MBOX)                                                                               \
	X(SET_VLAN_FLTR, 0x047, MBOX, NONE)                                                                            \
	X(SET_MCAST_FLTR, 0x048, IMM, NONE)                                                                            \
	X(DUMP_ETH_STATS, 0x049, NONE, MBOX)                                                                           \
	X(SENSE_PORT, 0x04d, NONE, IMM)                                                                                \
	X(HW_HEALTH_CHECK, 0x050, NONE, IMM)                                                                           \
	X(QUERY_IF_STAT, 0x054, NONE, MBOX)                                                                            \
	X(SET_IF_STAT, 0x055, MBOX, NONE)                                                                              \
	X(QUERY_FUNC, 0x056, NONE, MBOX)                                                                               \
	X(GEN_EQE, 0x058, MBOX, NONE)                                                                                  \
	X(SET_NODE, 0x05a, MBOX, NONE)                                                                                 \
	X(VIRT_PORT_MAP, 0x05c, MBOX, NONE)                                                                            \
	X(UPDATE_QP, 0x061, MBOX, NONE)                                                                                \
	X(FLOW_STEERING_IB_UC_QP_RANGE, 0x064, IMM, NONE)                                                              \
	X(QP_FLOW_STEERING_ATTACH, 0x065, MBOX, IMM)                                                                   \
	X(QP_FLOW_STEERING_DETACH, 0x066, IMM, NONE)                                                                   \
	X(CONGESTION_CTRL, 0x068, MAYBE, MAYBE)                                                                        \
	X(ALLOCATE_VPP, 0x080, MAYBE, MAYBE)                                                                           \
	X(SET_VPORT_QOS, 0x081, MAYBE, MAYBE)                                                                          \
	X(MAD_DEMUX, 0x203, MAYBE, MAYBE)                                                                              \
	X(RUN_FW, 0xff6, NONE, NONE)                                                                                   \
	X(DISABLE_LAM, 0xff7, NONE, NONE)                                                                              \
	X(ENABLE_LAM, 0xff8, NONE, MBOX)                                                                               \
	X(UNMAP_ICM, 0xff9, IMM, NONE)                                                                                 \
	X(MAP_ICM, 0xffa, MBOX, NONE)                                                                                  \
	X(UNMAP_ICM_AUX, 0xffb, NONE, NONE)                                                                            \
	X(MAP_ICM_AUX, 0xffc, MBOX, NONE)                                                                              \
	X(SET_ICM_SIZE, 0xffd, IMM, IMM)                                                                               \
	X(UNMAP_FA, 0xffe, NONE, NONE)                                                                                 \
	X(MAP_FA, 0xfff, MBOX, NONE)

enum mlx4_cmd_opcode {
#define MLX4_CMD_ENUM(name, opc, in, out) MLX4_CMD_##name = (opc),
	MLX4_CMD_LIST(MLX4_CMD_ENUM)
#undef MLX4_CMD_ENUM
};

/* X(name, code, text) [CP 2.6] */
#define MLX4_CMD_STATUS_LIST(X)                                                                                        \
	X(OK, 0x00, "success")                                                                                         \
	X(INTERNAL_ERR, 0x01, "internal error in the firmware")                                                        \
	X(BAD_OP, 0x02, "operation not supported or not allowed now")                                                  \
	X(BAD_PARAM, 0x03, "bad parameter")                                                                            \
	X(BAD_SYS_STATE, 0x04, "illegal in the current bring-up state")                                                \
	X(BAD_RESOURCE, 0x05, "reserved or unknown resource")                                                          \
	X(RESOURCE_BUSY, 0x06, "resource in use")                                                                      \
	X(EXCEED_LIM, 0x08, "limit exceeded")                                                                          \
	X(BAD_RES_STATE, 0x09, "resource in the wrong ownership state")                                                \
	X(BAD_INDEX, 0x0a, "index out of range")                                                                       \
	X(BAD_NVMEM, 0x0b, "bad flash content")                                                                        \
	X(ICM_ERROR, 0x0c, "ICM not mapped or not accessible")                                                         \
	X(BAD_PERM, 0x0d, "no permission") /* [U] */                                                                   \
	X(BAD_QP_STATE, 0x10, "QP not in the state that the transition needs")                                         \
	X(BAD_SEG_PARAM, 0x20, "bad segment parameter")                                                                \
	X(REG_BOUND, 0x21, "memory windows are still bound")                                                           \
	X(LAM_NOT_PRE, 0x22, "no local attached memory")                                                               \
	X(BAD_PKT, 0x30, "bad management datagram")                                                                    \
	X(BAD_SIZE, 0x40, "size too small or too large")                                                               \
	X(MULTI_FUNC_REQ, 0x50, "another function is master")

enum mlx4_cmd_status {
#define MLX4_CMD_STATUS_ENUM(name, code, text) MLX4_STAT_##name = (code),
	MLX4_CMD_STATUS_LIST(MLX4_CMD_STATUS_ENUM)
#undef MLX4_CMD_STATUS_ENUM
};

/* QUERY_FW output [CP 3.2] */
#define MLX4_QFW_SIZE 0x100u
#define MLX4_QFW_PAGES PRM_H(0x00, 15, 0)
#define MLX4_QFW_MAJOR PRM_H(0x02, 15, 0)
#define MLX4_QFW_SUBMINOR PRM_H(0x04, 15, 0)
#define MLX4_QFW_MINOR PRM_H(0x06, 15, 0)
#define MLX4_QFW_PPF_ID PRM_B(0x09, 7, 0)
#define MLX4_QFW_CMD_IF_REV PRM_H(0x0a, 15, 0)
#define MLX4_QFW_LG_MAX_CMD PRM_B(0x0f, 7, 0)
#define MLX4_QFW_BUILD_HMS PRM_D(0x10, 31, 8)
#define MLX4_QFW_BUILD_YEAR PRM_H(0x14, 15, 0)
#define MLX4_QFW_BUILD_MONTH PRM_B(0x16, 7, 0)
#define MLX4_QFW_BUILD_DAY PRM_B(0x17, 7, 0)
#define MLX4_QFW_CLR_INT_OFF 0x20u
#define MLX4_QFW_CLR_INT_BAR PRM_B(0x28, 7, 6)
#define MLX4_QFW_CATAS_OFF 0x30u
#define MLX4_QFW_CATAS_SIZE PRM_D(0x38, 31, 0)
#define MLX4_QFW_CATAS_BAR PRM_B(0x3c, 7, 6)
#define MLX4_QFW_COMM_OFF 0x40u
#define MLX4_QFW_COMM_BAR PRM_B(0x48, 7, 6)
#define MLX4_QFW_CLOCK_OFF 0x50u
#define MLX4_QFW_CLOCK_BAR PRM_B(0x58, 7, 6)
#define MLX4_CMD_IF_REV_NEW_PORT 3u

/* MAP_FA / MAP_ICM / MAP_ICM_AUX entries [CP 3.3] */
#define MLX4_MAP_ENTRY_SIZE 16u
#define MLX4_MAP_ENTRIES_MAX 256u
#define MLX4_MAP_VA 0x00u /* be64: [63:12] */
#define MLX4_MAP_PA 0x08u /* be64: [63:12] address, [5:0] lg size - 12 */
#define MLX4_MAP_LG_MASK 0x3fu

/* QUERY_DEV_CAP output [CP 3.4] */
#define MLX4_CAP_SIZE 0x100u
#define MLX4_CAP_LG_MAX_SRQ_WQES PRM_B(0x10, 7, 0)
#define MLX4_CAP_LG_MAX_QP_WQES PRM_B(0x11, 7, 0)
#define MLX4_CAP_LG_RSVD_QPS PRM_B(0x12, 3, 0)
#define MLX4_CAP_LG_MAX_QPS PRM_B(0x13, 4, 0)
#define MLX4_CAP_LG_RSVD_SRQS PRM_B(0x14, 7, 4)
#define MLX4_CAP_LG_MAX_SRQS PRM_B(0x15, 4, 0)
#define MLX4_CAP_NUM_RSVD_EQS PRM_B(0x18, 7, 0) /* plain count [U] */
#define MLX4_CAP_LG_MAX_CQES PRM_B(0x19, 7, 0)
#define MLX4_CAP_LG_RSVD_CQS PRM_B(0x1a, 3, 0)
#define MLX4_CAP_LG_MAX_CQS PRM_B(0x1b, 4, 0)
#define MLX4_CAP_LG_MAX_EQES PRM_B(0x1c, 7, 0)
#define MLX4_CAP_LG_MAX_MPTS PRM_B(0x1d, 5, 0)
#define MLX4_CAP_LG_RSVD_EQS PRM_B(0x1e, 3, 0) /* [U] */
#define MLX4_CAP_LG_MAX_EQS PRM_B(0x1f, 3, 0)
#define MLX4_CAP_LG_RSVD_MTTS PRM_B(0x20, 7, 4)
#define MLX4_CAP_LG_MAX_MRW PRM_B(0x21, 6, 0)
#define MLX4_CAP_LG_RSVD_MPTS PRM_B(0x22, 3, 0)
#define MLX4_CAP_LG_MAX_MTT_SEGS PRM_B(0x23, 5, 0)
#define MLX4_CAP_NUM_SYS_EQS PRM_H(0x26, 11, 0)
#define MLX4_CAP_LG_MAX_RDMA_REQ PRM_B(0x29, 5, 0)
#define MLX4_CAP_LG_MAX_RDMA_RSP PRM_B(0x2b, 5, 0)
#define MLX4_CAP_LG_MAX_GSO PRM_B(0x2d, 4, 0)
#define MLX4_CAP_RSS_XOR PRM_B(0x2e, 5, 5)
#define MLX4_CAP_RSS_TOEPLITZ PRM_B(0x2e, 4, 4)
#define MLX4_CAP_LG_MAX_RSS PRM_B(0x2e, 3, 0)
#define MLX4_CAP_LG_MAX_RDMA_GLOBAL PRM_B(0x2f, 5, 0)
#define MLX4_CAP_PORT_BEACON PRM_B(0x34, 7, 7)
#define MLX4_CAP_ACK_DELAY PRM_B(0x35, 4, 0)
#define MLX4_CAP_NUM_PORTS PRM_B(0x37, 3, 0)
#define MLX4_CAP_LG_MAX_MSG PRM_B(0x38, 4, 0)
#define MLX4_CAP_LG_MAX_GIDS PRM_B(0x3b, 3, 0)
#define MLX4_CAP_STAT_RATES PRM_H(0x3c, 15, 0)
#define MLX4_CAP_CQ_TIMESTAMP PRM_B(0x3e, 7, 7)
#define MLX4_CAP_LG_MAX_PKEYS PRM_B(0x3f, 3, 0)
#define MLX4_CAP_FLAGS 0x40u /* be64, bits MLX4_DEV_FLAG_* */
#define MLX4_CAP_RSVD_UARS PRM_B(0x48, 7, 4)
#define MLX4_CAP_LG_UAR_MIB PRM_B(0x49, 5, 0)
#define MLX4_CAP_LG_MIN_PAGE PRM_B(0x4b, 7, 0)
#define MLX4_CAP_BF PRM_B(0x4c, 7, 7)
#define MLX4_CAP_LG_BF_REG PRM_B(0x4d, 4, 0)
#define MLX4_CAP_LG_BF_REGS_PAGE PRM_B(0x4e, 5, 0)
#define MLX4_CAP_LG_MAX_BF_PAGES PRM_B(0x4f, 5, 0)
#define MLX4_CAP_MAX_SQ_SGE PRM_B(0x51, 7, 0)
#define MLX4_CAP_MAX_SQ_DESC PRM_H(0x52, 15, 0)
#define MLX4_CAP_MAX_RQ_SGE PRM_B(0x55, 7, 0)
#define MLX4_CAP_MAX_RQ_DESC PRM_H(0x56, 15, 0)
#define MLX4_CAP_USER_MAC PRM_B(0x5c, 2, 2)
#define MLX4_CAP_SVLAN_QP PRM_B(0x5d, 0, 0)
#define MLX4_CAP_LG_MAX_QP_MCG PRM_B(0x61, 7, 0)
#define MLX4_CAP_RSVD_MCGS PRM_B(0x62, 3, 0)
#define MLX4_CAP_LG_MAX_MCGS PRM_B(0x63, 7, 0)
#define MLX4_CAP_RSVD_PDS PRM_B(0x64, 7, 4)
#define MLX4_CAP_LG_MAX_PDS PRM_B(0x65, 5, 0)
#define MLX4_CAP_RSVD_XRCDS PRM_B(0x66, 7, 4)
#define MLX4_CAP_LG_MAX_XRCDS PRM_B(0x67, 4, 0)
#define MLX4_CAP_MAX_COUNTERS PRM_D(0x68, 31, 0)
#define MLX4_CAP_UPDATE_QP PRM_D(0x70, 16, 16)
#define MLX4_CAP_UPDATE_LB_CHECK PRM_D(0x70, 18, 18)
#define MLX4_CAP_LB_SRC_CHECK PRM_D(0x70, 19, 19)
#define MLX4_CAP_SW_CQ_INIT PRM_D(0x70, 23, 23)
#define MLX4_CAP_PFC_COUNTERS PRM_D(0x70, 28, 28)
#define MLX4_CAP_DMFS_IPOIB PRM_B(0x74, 7, 7)
#define MLX4_CAP_DMFS PRM_B(0x76, 7, 7)
#define MLX4_CAP_DMFS_SNIFFER PRM_B(0x76, 5, 5)
#define MLX4_CAP_LG_UC_QP_RANGE PRM_B(0x76, 4, 0)
#define MLX4_CAP_DMFS_MAX_QPS PRM_B(0x77, 7, 0)
#define MLX4_CAP_EQE_STRIDE PRM_B(0x7a, 7, 7)
#define MLX4_CAP_CQE_STRIDE PRM_B(0x7a, 6, 6)
#define MLX4_CAP_ETH_PROT_CTRL PRM_B(0x7a, 5, 5)
#define MLX4_CAP_QOS_VPP PRM_B(0x7a, 4, 4)
#define MLX4_CAP_QCN PRM_B(0x7b, 0, 0)
#define MLX4_CAP_RDMARC_SZ PRM_H(0x80, 15, 0)
#define MLX4_CAP_QPC_SZ PRM_H(0x82, 15, 0)
#define MLX4_CAP_AUXC_SZ PRM_H(0x84, 15, 0)
#define MLX4_CAP_ALTC_SZ PRM_H(0x86, 15, 0)
#define MLX4_CAP_EQC_SZ PRM_H(0x88, 15, 0)
#define MLX4_CAP_CQC_SZ PRM_H(0x8a, 15, 0)
#define MLX4_CAP_SRQC_SZ PRM_H(0x8c, 15, 0)
#define MLX4_CAP_CMPT_SZ PRM_H(0x8e, 15, 0)
#define MLX4_CAP_MTT_SZ PRM_H(0x90, 15, 0)
#define MLX4_CAP_DMPT_SZ PRM_H(0x92, 15, 0)
#define MLX4_CAP_BMME PRM_D(0x94, 31, 0)
#define MLX4_CAP_MW_2B PRM_D(0x94, 1, 1)
#define MLX4_CAP_LOCAL_INV PRM_D(0x94, 6, 6)
#define MLX4_CAP_REMOTE_INV PRM_D(0x94, 7, 7)
#define MLX4_CAP_MW_2 PRM_D(0x94, 9, 9)
#define MLX4_CAP_RSVD_LKEY_CAP PRM_D(0x94, 10, 10)
#define MLX4_CAP_FAST_REG PRM_D(0x94, 11, 11)
#define MLX4_CAP_ROCE_V1V2 PRM_D(0x94, 19, 19)
#define MLX4_CAP_IGNORE_FCS PRM_D(0x94, 26, 26)
#define MLX4_CAP_VSD_INIT2RTR PRM_D(0x94, 28, 28)
#define MLX4_CAP_CONFIG_DEV PRM_D(0x94, 29, 29)
#define MLX4_CAP_PHV PRM_B(0x96, 7, 7)
#define MLX4_CAP_RSVD_LKEY PRM_D(0x98, 31, 0)
#define MLX4_CAP_RECOVER_EVENT PRM_D(0x9c, 7, 7)
#define MLX4_CAP_DRV_VERSION PRM_D(0x9c, 8, 8)
#define MLX4_CAP_VXLAN PRM_D(0x9c, 11, 11)
#define MLX4_CAP_ETS_CFG PRM_D(0x9c, 13, 13)
#define MLX4_CAP_DIAG_PORT PRM_D(0x9c, 17, 17)
#define MLX4_CAP_MAX_ICM 0xa0u /* be64, bytes */
#define MLX4_CAP_HIGH_RATE_BASE PRM_D(0xa8, 23, 0)
#define MLX4_CAP_HIGH_RATE_RANGE PRM_D(0xac, 23, 0)
#define MLX4_CAP_MAD_DEMUX PRM_D(0xb0, 0, 0)
#define MLX4_CAP_CLOCK_USER PRM_B(0xc1, 7, 7)
#define MLX4_CAP_QP_RATES PRM_H(0xcc, 15, 0)
#define MLX4_CAP_MAX_RATE_UNIT PRM_H(0xd0, 15, 14)
#define MLX4_CAP_MAX_RATE_VAL PRM_H(0xd0, 11, 0)
#define MLX4_CAP_MIN_RATE_UNIT PRM_H(0xd2, 15, 14)
#define MLX4_CAP_MIN_RATE_VAL PRM_H(0xd2, 11, 0)
#define MLX4_CAP_HEALTH_BUF PRM_D(0xe4, 31, 0)

/* Device flags, bit numbers of MLX4_CAP_FLAGS [CP 3.4] */
enum mlx4_dev_flag {
	MLX4_DEV_FLAG_RC = 0,
	MLX4_DEV_FLAG_UC = 1,
	MLX4_DEV_FLAG_UD = 2,
	MLX4_DEV_FLAG_XRC = 3,
	MLX4_DEV_FLAG_SRQ = 6,
	MLX4_DEV_FLAG_IPOIB_CSUM = 7,
	MLX4_DEV_FLAG_DPDP = 12,
	MLX4_DEV_FLAG_BIG_LSO = 15,
	MLX4_DEV_FLAG_MW = 16,
	MLX4_DEV_FLAG_APM = 17,
	MLX4_DEV_FLAG_ATOMIC = 18,
	MLX4_DEV_FLAG_RAW_MCAST = 19,
	MLX4_DEV_FLAG_UD_AV_PORT = 20,
	MLX4_DEV_FLAG_UD_MCAST = 21,
	MLX4_DEV_FLAG_IBOE = 30,
	MLX4_DEV_FLAG_UC_LOOPBACK = 32,
	MLX4_DEV_FLAG_FCS_KEEP = 34,
	MLX4_DEV_FLAG_HDR_SPLIT = 36,
	MLX4_DEV_FLAG_WOL_PORT1 = 37,
	MLX4_DEV_FLAG_WOL_PORT2 = 38,
	MLX4_DEV_FLAG_UDP_RSS = 40,
	MLX4_DEV_FLAG_VEP_UC_STEER = 41,
	MLX4_DEV_FLAG_VEP_MC_STEER = 42,
	MLX4_DEV_FLAG_COUNTERS = 48,
	MLX4_DEV_FLAG_RSS_IP_FRAG = 52,
	MLX4_DEV_FLAG_SET_ETH_SCHED = 53,
	MLX4_DEV_FLAG_SENSE = 55,
	MLX4_DEV_FLAG_PORT_MNG_EV = 59,
	MLX4_DEV_FLAG_64B_EQE = 61,
	MLX4_DEV_FLAG_64B_CQE = 62,
};

/* QUERY_ADAPTER output [CP 3.5] */
#define MLX4_ADAPTER_SIZE 0x100u
#define MLX4_ADAPTER_INTA PRM_B(0x10, 7, 0)
#define MLX4_ADAPTER_VSD 0x20u
#define MLX4_ADAPTER_BOARD_ID 0xf0u /* VSD + 0xd0, 16 bytes, each dword byte-swapped */
#define MLX4_ADAPTER_BOARD_ID_LEN 16u

/* INIT_HCA input and QUERY_HCA output [CP 3.6] */
#define MLX4_HCA_VERSION PRM_B(0x000, 7, 0)
#define MLX4_HCA_VERSION_VALUE 2u
#define MLX4_HCA_GLOBAL_CAPS 0x004u             /* be64, QUERY_HCA */
#define MLX4_HCA_CORE_CLOCK PRM_H(0x00c, 15, 0) /* QUERY_HCA: MHz [CP 3.6]; [DP 6.2] reads 32 bits [U] */
#define MLX4_HCA_CACHE_LINE PRM_B(0x00e, 7, 5)  /* lg bytes - 4 */
#define MLX4_HCA_CACHE_LINE_VALID PRM_B(0x00e, 4, 4)
#define MLX4_HCA_F_UD_AV_PORT PRM_D(0x014, 0, 0)
#define MLX4_HCA_F_BIG_ENDIAN PRM_D(0x014, 1, 1)
#define MLX4_HCA_F_QOS PRM_D(0x014, 2, 2)
#define MLX4_HCA_F_CSUM PRM_D(0x014, 3, 3)
#define MLX4_HCA_F_COUNTERS PRM_D(0x014, 4, 4)
#define MLX4_HCA_F_DMFS PRM_D(0x014, 6, 6)
#define MLX4_HCA_F_FAST_DROP PRM_D(0x014, 7, 7) /* [U] */
#define MLX4_HCA_F_RSS_IP_FRAG PRM_D(0x014, 13, 13)
#define MLX4_HCA_QPC_BASE 0x030u /* be64; its low 5 bits hold the lg count, as do the other context bases */
#define MLX4_HCA_LG_QPS PRM_B(0x037, 4, 0)
#define MLX4_HCA_SRQC_BASE 0x048u
#define MLX4_HCA_LG_SRQS PRM_B(0x04f, 4, 0)
#define MLX4_HCA_CQC_BASE 0x050u
#define MLX4_HCA_LG_CQS PRM_B(0x057, 4, 0)
#define MLX4_HCA_F_EQE64 PRM_D(0x058, 29, 29)
#define MLX4_HCA_F_CQE64 PRM_D(0x058, 30, 30)
#define MLX4_HCA_EQE_STRIDE PRM_B(0x05b, 5, 4)
#define MLX4_HCA_CQE_STRIDE PRM_B(0x05b, 1, 0)
#define MLX4_HCA_ALTC_BASE 0x060u
#define MLX4_HCA_AUXC_BASE 0x070u
#define MLX4_HCA_EQC_BASE 0x080u
#define MLX4_HCA_LG_EQS PRM_B(0x087, 4, 0)
#define MLX4_HCA_NUM_SYS_EQS PRM_H(0x08a, 11, 0)
#define MLX4_HCA_RDMARC_BASE 0x090u
#define MLX4_HCA_LG_RDMARC PRM_B(0x097, 2, 0)
#define MLX4_HCA_BASE_MASK (~UINT64_C(0x1f))
#define MLX4_HCA_MC_BASE 0x0c0u
#define MLX4_HCA_MC_LG_ENTRY PRM_B(0x0d3, 4, 0)
#define MLX4_HCA_MC_LG_HASH PRM_B(0x0d7, 4, 0)
#define MLX4_HCA_UC_STEER PRM_B(0x0d8, 3, 3)
#define MLX4_HCA_MC_LG_TABLE PRM_B(0x0db, 4, 0)
#define MLX4_HCA_DMPT_BASE 0x0f0u
#define MLX4_HCA_MW_ENABLE PRM_B(0x0f8, 7, 7)
#define MLX4_HCA_LG_DMPTS PRM_B(0x0fb, 5, 0)
#define MLX4_HCA_MTT_BASE 0x100u
#define MLX4_HCA_CMPT_BASE 0x108u
#define MLX4_HCA_LG_UARS PRM_B(0x12a, 3, 0)
#define MLX4_HCA_UAR_PAGE PRM_B(0x12b, 7, 0) /* lg bytes - 12 */
#define MLX4_HCA_DMFS_BASE 0x1d0u
#define MLX4_HCA_DMFS_LG_ENTRY PRM_B(0x1e3, 4, 0)
#define MLX4_HCA_A0_MODE PRM_B(0x1e8, 7, 6)
#define MLX4_HCA_DMFS_LG_TABLE PRM_B(0x1eb, 4, 0)
#define MLX4_HCA_DMFS_ETH_UDP_UC PRM_B(0x1f1, 1, 1)
#define MLX4_HCA_DMFS_ETH_TCP_UC PRM_B(0x1f1, 2, 2)
#define MLX4_HCA_DMFS_ETH_ADDRS PRM_H(0x1f2, 15, 0)
#define MLX4_HCA_DMFS_IB_UDP_UC PRM_B(0x1f5, 1, 1)
#define MLX4_HCA_DMFS_IB_TCP_UC PRM_B(0x1f5, 2, 2)
#define MLX4_HCA_DMFS_IB_ADDRS PRM_H(0x1f6, 15, 0)
#define MLX4_DMFS_L2_ADDRS 8u
#define MLX4_HCA_SIZE 0x200u

/* QUERY_PORT output [CP 4.1] */
#define MLX4_QPORT_SIZE 0x100u
#define MLX4_QPORT_LINK_UP PRM_B(0x00, 7, 7)
#define MLX4_QPORT_AN_DONE PRM_B(0x00, 6, 6)
#define MLX4_QPORT_DEF_SENSE PRM_B(0x00, 4, 4)
#define MLX4_QPORT_SUGGESTED_ETH PRM_B(0x00, 3, 3)
#define MLX4_QPORT_TYPE_ETH PRM_B(0x00, 1, 1)
#define MLX4_QPORT_TYPE_IB PRM_B(0x00, 0, 0)
#define MLX4_QPORT_AN_ENABLED PRM_B(0x01, 7, 7)
#define MLX4_QPORT_IB_MTU PRM_B(0x01, 3, 0)
#define MLX4_QPORT_ETH_MTU PRM_H(0x02, 15, 0)
#define MLX4_QPORT_IB_SPEED PRM_B(0x04, 3, 0)
#define MLX4_QPORT_ETH_SPEED PRM_B(0x05, 6, 0)
#define MLX4_QPORT_ETH_SPEED_MASK 0x6fu
#define MLX4_QPORT_IB_WIDTH PRM_B(0x06, 3, 0)
#define MLX4_QPORT_LG_GIDS PRM_B(0x07, 7, 4)
#define MLX4_QPORT_LG_PKEYS PRM_B(0x07, 3, 0)
#define MLX4_QPORT_LG_VLANS PRM_B(0x0a, 7, 4)
#define MLX4_QPORT_LG_MACS PRM_B(0x0a, 3, 0)
#define MLX4_QPORT_MAX_TC PRM_B(0x0b, 7, 4)
#define MLX4_QPORT_MAX_VL PRM_B(0x0b, 3, 0)
#define MLX4_QPORT_MAC 0x10u /* be64, [47:0] */
enum mlx4_eth_speed {
	MLX4_ETH_SPEED_10G_XAUI = 0x00,
	MLX4_ETH_SPEED_10G_XFI = 0x01,
	MLX4_ETH_SPEED_1G = 0x02,
	MLX4_ETH_SPEED_100M = 0x04,
	MLX4_ETH_SPEED_20G = 0x08,
	MLX4_ETH_SPEED_OTHER = 0x0f,
	MLX4_ETH_SPEED_56G = 0x20,
	MLX4_ETH_SPEED_40G = 0x40,
};

/* SET_PORT op_mod 1 selectors [CP 4.3] */
#define MLX4_SET_PORT_OPM_IB 0u
#define MLX4_SET_PORT_OPM_ETH 1u
#define MLX4_SET_PORT_OPM_BEACON 4u
#define MLX4_SET_PORT_BEACON_S PRM_D(0x00, 31, 0) /* [CP 4.4] seconds, 0: stop */
enum mlx4_set_port_sel {
	MLX4_SET_PORT_GENERAL = 0,
	MLX4_SET_PORT_RQP_CALC = 1,
	MLX4_SET_PORT_MAC_TABLE = 2,
	MLX4_SET_PORT_VLAN_TABLE = 3,
	MLX4_SET_PORT_PRIO_MAP = 4,
	MLX4_SET_PORT_GID_TABLE = 5,
	MLX4_SET_PORT_PRIO2TC = 8,
	MLX4_SET_PORT_SCHEDULER = 9,
	MLX4_SET_PORT_VXLAN = 0xb,
	MLX4_SET_PORT_ROCE_ADDR = 0xd,
};
/* SET_PORT RQP_CALC: QP numbers computed from places in the MAC and VLAN tables */
#define MLX4_RQP_SIZE 0x1cu
#define MLX4_RQP_BASE_QPN PRM_D(0x00, 23, 0)
#define MLX4_RQP_LG_MACS PRM_B(0x05, 3, 0)
#define MLX4_RQP_LG_VLANS PRM_B(0x06, 3, 0)
#define MLX4_RQP_LG_PRIOS PRM_B(0x07, 3, 0)
#define MLX4_RQP_NO_VLAN_INDEX PRM_B(0x0d, 6, 0)
#define MLX4_RQP_VLAN_MISS_INDEX PRM_B(0x0f, 6, 0)
#define MLX4_RQP_NO_VLAN_PRIO PRM_B(0x13, 2, 0)
#define MLX4_RQP_PROMISC PRM_D(0x14, 31, 31)
#define MLX4_RQP_PROMISC_QPN PRM_D(0x14, 23, 0)
#define MLX4_RQP_MC_MODE PRM_D(0x18, 31, 30)
#define MLX4_RQP_MC_QPN PRM_D(0x18, 23, 0)
enum mlx4_rqp_mc_mode {
	MLX4_RQP_MC_DIRECT_ONLY = 0, /* the group table alone */
	MLX4_RQP_MC_DIRECT = 1,      /* the group table, else the multicast QP */
	MLX4_RQP_MC_DEFAULT = 2,     /* the multicast QP */
};
#define MLX4_SPG_V_IGNORE_FCS PRM_B(0x02, 1, 1)
#define MLX4_SPG_V_PHV PRM_B(0x02, 4, 4)
#define MLX4_SPG_V_USER_MTU PRM_B(0x02, 5, 5)
#define MLX4_SPG_V_USER_MAC PRM_B(0x02, 6, 6)
#define MLX4_SPG_V_MTU PRM_B(0x03, 0, 0)
#define MLX4_SPG_V_RX_PAUSE PRM_B(0x03, 1, 1)
#define MLX4_SPG_V_TX_PAUSE PRM_B(0x03, 2, 2)
#define MLX4_SPG_V_ROCE_MODE PRM_B(0x03, 4, 4)
#define MLX4_SPG_IGNORE_FCS PRM_B(0x04, 0, 0)
#define MLX4_SPG_ROCE_MODE PRM_B(0x04, 7, 4)
#define MLX4_SPG_MTU PRM_H(0x06, 15, 0) /* largest frame with header, tags and FCS */
#define MLX4_SPG_TX_PAUSE PRM_B(0x08, 7, 7)
#define MLX4_SPG_TX_PFC PRM_B(0x09, 7, 0)
#define MLX4_SPG_RX_PAUSE PRM_B(0x0c, 7, 7)
#define MLX4_SPG_RX_PFC PRM_B(0x0d, 7, 0)
#define MLX4_SPG_PHV PRM_B(0x14, 7, 7)
#define MLX4_SPG_USER_MTU PRM_H(0x1a, 15, 0)
#define MLX4_SPG_USER_MAC 0x1eu
/* SET_PORT VXLAN */
#define MLX4_SPV_SIZE 8u
#define MLX4_SPV_V_ENABLE PRM_B(0x04, 7, 7)
#define MLX4_SPV_V_STEER PRM_B(0x04, 6, 6)
#define MLX4_SPV_ENABLE PRM_B(0x06, 7, 7)
#define MLX4_SPV_STEER PRM_B(0x07, 4, 0)
#define MLX4_SPV_STEER_OUTER_MAC 0x01u
#define MLX4_MAC_TABLE_ENTRIES 128u /* be64: b63 valid, [47:0] MAC */
#define MLX4_MAC_TABLE_VALID (UINT64_C(1) << 63)
#define MLX4_MAC_MASK UINT64_C(0xffffffffffff)
#define MLX4_VLAN_TABLE_ENTRIES 128u /* be32: b31 valid, [11:0] VID; 0 = untagged, 1 = miss, usable from 2 */
#define MLX4_VLAN_TABLE_VALID 0x80000000u
#define MLX4_VLAN_TABLE_FIRST 2u
#define MLX4_SPG_ROCE_MODE_V1 0u
#define MLX4_SPG_ROCE_MODE_V1V2 2u
/* GID table: GIDs alone (selector 5) or 32-byte entries with these fields behind the GID (selector 0xd) [DP 10.2] */
#define MLX4_GID_ENTRIES 128u
#define MLX4_GID_SIZE 16u
#define MLX4_ROCE_ADDR_SIZE 32u
#define MLX4_ROCE_ADDR_TYPE PRM_B(0x1a, 7, 0)
#define MLX4_ROCE_ADDR_IPV6 1u /* of version 2 and not an IPv4-mapped GID */
#define MLX4_ROCE_ADDR_VERSION PRM_B(0x1b, 7, 0)
#define MLX4_ROCE_V1 0u
#define MLX4_ROCE_V2 2u

/* SET_VLAN_FLTR: VID v is bit v % 32 of dword 127 - v / 32 [CP 4.6] */
#define MLX4_VLAN_FLTR_DWORDS 128u
/* SET_MCAST_FLTR [CP 4.6] */
#define MLX4_MCAST_FLTR_CLEAR (UINT64_C(1) << 63)
#define MLX4_MCAST_FLTR_CONFIG 0u
#define MLX4_MCAST_FLTR_DISABLE 1u
#define MLX4_MCAST_FLTR_ENABLE 2u

/* SENSE_PORT result [CP 4.5] */
#define MLX4_SENSE_NONE 0u
#define MLX4_SENSE_IB 1u
#define MLX4_SENSE_ETH 2u

/* CONFIG_DEV [CP 4.10] */
#define MLX4_CFGDEV_SIZE 0x100u
#define MLX4_CFGDEV_V_VXLAN PRM_D(0x00, 0, 0)
#define MLX4_CFGDEV_V_ROCE PRM_D(0x00, 3, 3)
#define MLX4_CFGDEV_VXLAN_PORT PRM_H(0x10, 15, 0)
#define MLX4_CFGDEV_ROCE_ENTROPY PRM_H(0x14, 15, 0)
#define MLX4_CFGDEV_ROCE_PORT PRM_H(0x16, 15, 0)
#define MLX4_CFGDEV_RX_CSUM_P1 PRM_B(0x83, 2, 0)
#define MLX4_CFGDEV_RX_CSUM_P2 PRM_B(0x83, 6, 4)

/* MOD_STAT_CFG [CP 3.8] */
#define MLX4_MSC_OPM_SET 0u
#define MLX4_MSC_OPM_SET_IMM 1u
#define MLX4_MSC_OPM_QUERY 2u
#define MLX4_MSC_OPM_QUERY_IMM 3u
#define MLX4_MSC_SIZE 0x100u
#define MLX4_MSC_GROUP_SHIFT 28
#define MLX4_MSC_GROUP_WOL 5u
#define MLX4_MSC_PORT_SHIFT 8
#define MLX4_MSC_PAGE_MODIFY PRM_B(0x02, 0, 0)
#define MLX4_MSC_LG_PAGE PRM_B(0x03, 7, 0)
#define MLX4_MSC_GUID_HI PRM_D(0x14, 31, 0)
#define MLX4_MSC_GUID_LO PRM_D(0x1c, 31, 0)
/* The immediate of MLX4_MSC_GROUP_WOL. */
#define MLX4_WOL_MODIFY (UINT64_C(1) << 63)
#define MLX4_WOL_ENABLED (UINT64_C(1) << 62)
#define MLX4_WOL_MAGIC (UINT64_C(1) << 61)

/* QUERY_FUNC output [CP 4.10] */
#define MLX4_QFUNC_BUS PRM_B(0x00, 7, 0)
#define MLX4_QFUNC_DEVFN PRM_B(0x01, 7, 0)
#define MLX4_QFUNC_RSVD_EQS PRM_H(0x04, 15, 0)
#define MLX4_QFUNC_MAX_EQ PRM_H(0x06, 15, 0)
#define MLX4_QFUNC_RSVD_UARS PRM_B(0x0b, 7, 0)

/* in_modifier of NOP as known drivers send it [CP 2.4] */
#define MLX4_NOP_MODIFIER 0x1fu

#define MLX4_QFUNC_SIZE 0x100u

/* op_modifier of the HW2SW_ commands without an output mailbox [CP 3.1] */
#define MLX4_OPM_NO_OUTBOX 1u
/* op_modifier of 2RST_QP: from any state, no output mailbox [CP 3.1, U2] */
#define MLX4_2RST_ANY 2u
#define MLX4_2RST_ANY_NO_OUTBOX (MLX4_2RST_ANY | MLX4_OPM_NO_OUTBOX)

/* MAP_EQ in_modifier [CP 3.1] */
#define MLX4_MAP_EQ_UNMAP (1u << 31)

/* MAD_IFC [CP 4.9] */
#define MLX4_MAD_SIZE 256u
#define MLX4_MAD_ATTR_NODE_DESC 0x10u
#define MLX4_MAD_ATTR_NODE_INFO 0x11u
#define MLX4_MAD_ATTR_GUID_INFO 0x14u
#define MLX4_MAD_ATTR_PORT_INFO 0x15u
#define MLX4_MAD_ATTR_PKEY_TABLE 0x16u
#define MLX4_MAD_ATTR_CABLE 0xff60u /* the EEPROM of what is plugged in */
#define MLX4_MAD_BASE_VERSION PRM_B(0x00, 7, 0)
#define MLX4_MAD_CLASS PRM_B(0x01, 7, 0)
#define MLX4_MAD_CLASS_VERSION PRM_B(0x02, 7, 0)
#define MLX4_MAD_METHOD PRM_B(0x03, 7, 0)
#define MLX4_MAD_CLASS_LID_ROUTED 0x01u
#define MLX4_MAD_METHOD_GET 0x01u
#define MLX4_MAD_STATUS PRM_H(0x04, 15, 0)
#define MLX4_MAD_STATUS_CABLE_SHIFT 8 /* attribute CABLE: enum mlx4_cable_status */
#define MLX4_MAD_ATTR PRM_H(0x10, 15, 0)
#define MLX4_MAD_IFC_NO_KEYS 3u /* op_modifier: M_Key and B_Key are not looked at */
#define MLX4_CABLE_I2C PRM_B(0x40, 7, 0)
#define MLX4_CABLE_PAGE PRM_B(0x41, 7, 0)
#define MLX4_CABLE_OFFSET PRM_H(0x42, 15, 0)
#define MLX4_CABLE_SIZE PRM_H(0x46, 15, 0)
#define MLX4_CABLE_DATA 0x50u
#define MLX4_CABLE_DATA_MAX 48u
#define MLX4_CABLE_I2C_LOW 0x50u
#define MLX4_CABLE_I2C_HIGH 0x51u
#define MLX4_CABLE_I2C_BYTES 256u
enum mlx4_cable_status {
	MLX4_CABLE_OK = 0,
	MLX4_CABLE_BAD_PORT = 1,
	MLX4_CABLE_NOT_SUPPORTED = 2,
	MLX4_CABLE_NOT_CONNECTED = 3,
	MLX4_CABLE_NO_EEPROM = 4,
	MLX4_CABLE_BAD_PAGE = 5,
	MLX4_CABLE_BAD_OFFSET = 6,
	MLX4_CABLE_BAD_I2C = 7,
	MLX4_CABLE_VIOLATION = 8,
	MLX4_CABLE_BUSY = 9,
};

#endif /* MLX4_PRM_CMD_H */
