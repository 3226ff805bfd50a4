/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What InfiniBand ports have beside Ethernet ones: SET_PORT, MAD_IFC, attributes of MADs, paths, packets by software, events. */
#ifndef MLX4_PRM_IB_H
#define MLX4_PRM_IB_H

#include "mlx4_prm.h"

/* SET_PORT op_mod 0 [CP 4.2] */
#define MLX4_SPIB_RESET_QKEY_VIOL PRM_D(0x00, 0, 0)
#define MLX4_SPIB_VL_CAP PRM_D(0x00, 7, 4) /* lanes: 8, 4, 2, 1 */
#define MLX4_SPIB_MTU_CAP PRM_D(0x00, 15, 12)
#define MLX4_SPIB_V_GUID0 PRM_D(0x00, 16, 16)
#define MLX4_SPIB_V_NODE_GUID PRM_D(0x00, 17, 17)
#define MLX4_SPIB_V_SYS_GUID PRM_D(0x00, 18, 18)
#define MLX4_SPIB_V_GIDS PRM_D(0x00, 19, 19)
#define MLX4_SPIB_V_PKEYS PRM_D(0x00, 20, 20)
#define MLX4_SPIB_V_VL_CAP PRM_D(0x00, 21, 21)
#define MLX4_SPIB_V_MTU_CAP PRM_D(0x00, 22, 22)
#define MLX4_SPIB_CAP_MASK PRM_D(0x04, 31, 0)
#define MLX4_SPIB_SYS_GUID 0x08u  /* be64 */
#define MLX4_SPIB_PORT_GUID 0x10u /* be64 */
#define MLX4_SPIB_NODE_GUID 0x18u /* be64 */
#define MLX4_SPIB_MAX_PKEYS PRM_H(0x28, 15, 0)
#define MLX4_SPIB_MAX_GIDS PRM_H(0x2a, 15, 0)
#define MLX4_SPIB_SIZE 0x100u

/* MAD_IFC: modifiers, and what follows the MAD when it came from the wire [CP 4.9, DP 10.4] */
#define MLX4_MAD_IFC_NO_MKEY 1u
#define MLX4_MAD_IFC_NO_BKEY 2u
#define MLX4_MAD_IFC_EXT 4u
#define MLX4_MAD_IFC_NET_VIEW 8u
#define MLX4_MAD_IFC_SLID_SHIFT 16 /* in_modifier */
#define MLX4_MAD_EXT_MY_QPN PRM_D(0x100, 23, 0)
#define MLX4_MAD_EXT_RQPN PRM_D(0x108, 23, 0)
#define MLX4_MAD_EXT_SL PRM_D(0x10c, 31, 28)
#define MLX4_MAD_EXT_GRH PRM_D(0x10c, 23, 23)
#define MLX4_MAD_EXT_PATH_BITS PRM_D(0x10c, 22, 16)
#define MLX4_MAD_EXT_PKEY_INDEX PRM_H(0x112, 15, 0)
#define MLX4_MAD_EXT_GRH_AT 0x140u
#define MLX4_MAD_EXT_SIZE 0x180u

/* PortInfo (14.2.5.6): places in the MAD */
#define MLX4_PINFO_GID_PREFIX 0x48u /* be64 */
#define MLX4_PINFO_LID PRM_H(0x50, 15, 0)
#define MLX4_PINFO_SM_LID PRM_H(0x52, 15, 0)
#define MLX4_PINFO_CAP_MASK PRM_D(0x54, 31, 0)
#define MLX4_PINFO_LOCAL_PORT PRM_B(0x5c, 7, 0)
#define MLX4_PINFO_WIDTH_ENABLED PRM_B(0x5d, 7, 0)
#define MLX4_PINFO_WIDTH_SUPPORTED PRM_B(0x5e, 7, 0)
#define MLX4_PINFO_WIDTH PRM_B(0x5f, 7, 0)
#define MLX4_PINFO_SPEED_SUPPORTED PRM_B(0x60, 7, 4)
#define MLX4_PINFO_STATE PRM_B(0x60, 3, 0)
#define MLX4_PINFO_PHYS_STATE PRM_B(0x61, 7, 4)
#define MLX4_PINFO_LMC PRM_B(0x62, 2, 0)
#define MLX4_PINFO_SPEED PRM_B(0x63, 7, 4)
#define MLX4_PINFO_MTU PRM_B(0x64, 7, 4)
#define MLX4_PINFO_SM_SL PRM_B(0x64, 3, 0)
#define MLX4_PINFO_VL_CAP PRM_B(0x65, 7, 4)
#define MLX4_PINFO_INIT_REPLY PRM_B(0x69, 7, 4)
#define MLX4_PINFO_MTU_CAP PRM_B(0x69, 3, 0)
#define MLX4_PINFO_BAD_PKEYS PRM_H(0x6e, 15, 0)
#define MLX4_PINFO_BAD_QKEYS PRM_H(0x70, 15, 0)
#define MLX4_PINFO_GUIDS PRM_B(0x72, 7, 0)
#define MLX4_PINFO_REREGISTER PRM_B(0x73, 7, 7)
#define MLX4_PINFO_SUBNET_TIMEOUT PRM_B(0x73, 4, 0)
#define MLX4_PINFO_EXT_SPEED PRM_B(0x7e, 7, 4) /* 1 FDR, 2 EDR */
/* Extended PortInfo, the vendor's */
#define MLX4_MAD_ATTR_EXT_PORT_INFO 0xff90u
#define MLX4_EXT_PINFO_FDR10 PRM_B(0x4f, 0, 0)
/* NodeInfo (14.2.5.3), GUIDInfo, P_KeyTable */
#define MLX4_NINFO_SYS_GUID 0x44u  /* be64 */
#define MLX4_NINFO_NODE_GUID 0x4cu /* be64 */
#define MLX4_NINFO_PORT_GUID 0x54u /* be64 */
#define MLX4_NINFO_PKEYS PRM_H(0x5c, 15, 0)
#define MLX4_NINFO_REVISION PRM_D(0x60, 31, 0)
#define MLX4_MAD_MODIFIER PRM_D(0x14, 31, 0)
#define MLX4_MAD_DATA 0x40u
#define MLX4_MAD_GUIDS_PER_BLOCK 8u
#define MLX4_MAD_PKEYS_PER_BLOCK 32u

/* Address path and address vector: the bits that Ethernet has no use for, or another [CP 5.6, DP 10.1] */
#define MLX4_PATH_LMC_BITS PRM_B(0x05, 6, 0)
#define MLX4_SCHED_QUEUE_IB(port, sl) (0x83u | (((port)-1u) << 6) | ((sl) << 2))
#define MLX4_SCHED_QUEUE_QP0(port) (0x3fu | (((port)-1u) << 6))
#define MLX4_SCHED_QUEUE_SL(sq) (((sq) >> 2) & 15u)
#define MLX4_AV_PATH_BITS PRM_B(0x05, 6, 0)
#define MLX4_AV_STATIC_RATE PRM_B(0x0a, 7, 0)
#define MLX4_AV_SL PRM_D(0x0c, 31, 28)
/* Static rate: the enumeration of verbs is moved by this, and has to be one of MLX4_CAP_STAT_RATES [DP 10.6] */
#define MLX4_STATIC_RATE_OFFSET 5u

/* Control segment of QPs whose packets software built: dwords 2 and 3 [DP 3.13] */
#define MLX4_MLX_VL15 (1u << 17)
#define MLX4_MLX_SLR (1u << 16) /* the source LID stands in the packet */
#define MLX4_MLX_SL_SHIFT 8
#define MLX4_MLX_RLID_SHIFT 16 /* dword 3 */

/* Completion queue entry [DP 6.2] */
#define MLX4_CQE_SL_SHIFT 12        /* sl_vid */
#define MLX4_CQE_PATH_BITS_SHIFT 24 /* g_mlpath_rqpn */
#define MLX4_CQE_PATH_BITS_MASK 0x7fu
#define MLX4_CQE_PKEY_INDEX_MASK 0x7fu /* immed_rss, of QP1 */

/* Event 0x1d, port management change [CP 9.3]; the port is at MLX4_EQE_MNG_PORT */
enum mlx4_port_mng {
	MLX4_PORT_MNG_GUID = 0x14,
	MLX4_PORT_MNG_INFO = 0x15,
	MLX4_PORT_MNG_PKEY = 0x16,
	MLX4_PORT_MNG_SL2VL = 0x17,
};
#define MLX4_EQE_MNG_SM_LID PRM_H(0x08, 15, 0)
#define MLX4_EQE_MNG_LID PRM_H(0x0a, 15, 0)
#define MLX4_EQE_MNG_CHANGED PRM_D(0x0c, 31, 0)
#define MLX4_EQE_MNG_SM_SL PRM_B(0x13, 7, 0)
#define MLX4_EQE_MNG_GID_PREFIX 0x14u /* be64 */
#define MLX4_EQE_MNG_BLOCK PRM_D(0x08, 31, 0)
#define MLX4_EQE_MNG_ENTRIES PRM_D(0x0c, 31, 0)
#define MLX4_MNG_SM_LID 0x01u
#define MLX4_MNG_GID_PREFIX 0x02u
#define MLX4_MNG_LID 0x04u
#define MLX4_MNG_REREGISTER 0x08u
#define MLX4_MNG_SM_SL 0x10u

#endif /* MLX4_PRM_IB_H */
