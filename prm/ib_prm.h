/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * InfiniBand as it lies on a wire, whatever the card: local route header, management datagrams and their attributes.
 * [WF] is the reference of wire formats.
 */
#ifndef IB_PRM_H
#define IB_PRM_H

#include "mlx4_prm.h"

/* Local route header [WF 1.1] */
#define IB_LRH_SIZE 8u
#define IB_LRH_VL PRM_B(0x00, 7, 4)
#define IB_LRH_VERSION PRM_B(0x00, 3, 0)
#define IB_LRH_SL PRM_B(0x01, 7, 4)
#define IB_LRH_LNH PRM_B(0x01, 1, 0)
#define IB_LRH_DLID PRM_H(0x02, 15, 0)
#define IB_LRH_WORDS PRM_H(0x04, 10, 0) /* of 4 bytes, through the ICRC */
#define IB_LRH_SLID PRM_H(0x06, 15, 0)
#define IB_LNH_BTH 2u
#define IB_LNH_GRH 3u
#define IB_VL_MGMT 15u
#define IB_VCRC_SIZE 2u
#define IB_LID_MCAST 0xc000u
#define IB_LID_PERMISSIVE 0xffffu
#define IB_QP1_QKEY 0x80010000u

/* Management datagrams [WF 9.1, 9.2] */
#define IB_MAD_SIZE 256u
#define IB_MAD_BASE_VERSION PRM_B(0x00, 7, 0)
#define IB_MAD_CLASS PRM_B(0x01, 7, 0)
#define IB_MAD_CLASS_VERSION PRM_B(0x02, 7, 0)
#define IB_MAD_METHOD PRM_B(0x03, 7, 0)
#define IB_MAD_STATUS PRM_H(0x04, 15, 0)
#define IB_MAD_DR_RETURNING PRM_H(0x04, 15, 15)
#define IB_MAD_HOP_PTR PRM_B(0x06, 7, 0)
#define IB_MAD_HOP_COUNT PRM_B(0x07, 7, 0)
#define IB_MAD_ATTR PRM_H(0x10, 15, 0)
#define IB_MAD_MODIFIER PRM_D(0x14, 31, 0)
#define IB_SMP_MKEY 0x18u /* be64 */
#define IB_SMP_DR_SLID PRM_H(0x20, 15, 0)
#define IB_SMP_DR_DLID PRM_H(0x22, 15, 0)
#define IB_SMP_DATA 0x40u
#define IB_SMP_DATA_SIZE 64u
#define IB_SMP_INITIAL_PATH 0x80u /* one byte for each hop, from 1 on */
#define IB_SMP_RETURN_PATH 0xc0u
#define IB_SMP_HOPS_MAX 63u
#define IB_CLASS_SUBN 0x01u
#define IB_CLASS_SUBN_DR 0x81u
#define IB_CLASS_PERF 0x04u
#define IB_CLASS_VENDOR1 0x09u
#define IB_CLASS_VENDOR2 0x0au
#define IB_CLASS_CONG 0x21u
enum ib_method {
	IB_METHOD_GET = 0x01,
	IB_METHOD_SET = 0x02,
	IB_METHOD_TRAP_REPRESS = 0x07,
	IB_METHOD_RESP = 0x80, /* of what was asked */
};
#define IB_MAD_S_BAD_VERSION 0x0004u
#define IB_MAD_S_BAD_METHOD 0x0008u
#define IB_MAD_S_BAD_ATTR 0x000cu
#define IB_MAD_S_BAD_VALUE 0x001cu

enum ib_attr {
	IB_ATTR_CLASS_INFO = 0x01,
	IB_ATTR_NODE_DESC = 0x10,
	IB_ATTR_NODE_INFO = 0x11,
	IB_ATTR_SWITCH_INFO = 0x12,
	IB_ATTR_GUID_INFO = 0x14,
	IB_ATTR_PORT_INFO = 0x15,
	IB_ATTR_PKEY_TABLE = 0x16,
	IB_ATTR_SL2VL = 0x17,
	IB_ATTR_VLARB = 0x18,
	IB_ATTR_LFT = 0x19, /* linear forwarding table: 64 LIDs a block */
	IB_ATTR_MFT = 0x1b, /* multicast forwarding table: 32 LIDs of 16 ports a block */
	IB_ATTR_MLNX_PORT_INFO = 0xff90,
};
#define IB_GUIDS_BLOCK 8u
#define IB_PKEYS_BLOCK 32u
#define IB_PKEY_DEFAULT 0xffffu
#define IB_SLS 16u
#define IB_VLARB_BLOCKS 4u /* low and high priority, two halves each */
#define IB_VLARB_SIZE 64u

/* NodeInfo, from the data on [WF 9.2] */
#define IB_NI_BASE_VERSION PRM_B(0, 7, 0)
#define IB_NI_CLASS_VERSION PRM_B(1, 7, 0)
#define IB_NI_TYPE PRM_B(2, 7, 0)
#define IB_NI_TYPE_CA 1u
#define IB_NI_TYPE_SWITCH 2u
#define IB_NI_PORTS PRM_B(3, 7, 0)
#define IB_NI_SYS_GUID 4u /* be64 */
#define IB_NI_NODE_GUID 12u
#define IB_NI_PORT_GUID 20u
#define IB_NI_PKEYS PRM_H(28, 15, 0)
#define IB_NI_DEVICE PRM_H(30, 15, 0)
#define IB_NI_REVISION PRM_D(32, 31, 0)
#define IB_NI_LOCAL_PORT PRM_B(36, 7, 0)
#define IB_NI_VENDOR PRM_D(36, 23, 0)
#define IB_VENDOR_MELLANOX 0x0002c9u

/* PortInfo, from the data on [WF 9.2] */
#define IB_PI_MKEY 0u       /* be64 */
#define IB_PI_GID_PREFIX 8u /* be64 */
#define IB_PI_LID PRM_H(16, 15, 0)
#define IB_PI_SM_LID PRM_H(18, 15, 0)
#define IB_PI_CAP_MASK PRM_D(20, 31, 0)
#define IB_PI_DIAG PRM_H(24, 15, 0)
#define IB_PI_MKEY_LEASE PRM_H(26, 15, 0)
#define IB_PI_LOCAL_PORT PRM_B(28, 7, 0)
#define IB_PI_WIDTH_ENABLED PRM_B(29, 7, 0)
#define IB_PI_WIDTH_SUPPORTED PRM_B(30, 7, 0)
#define IB_PI_WIDTH_ACTIVE PRM_B(31, 7, 0)
#define IB_PI_SPEED_SUPPORTED PRM_B(32, 7, 4)
#define IB_PI_STATE PRM_B(32, 3, 0)
#define IB_PI_PHYS PRM_B(33, 7, 4)
#define IB_PI_DOWN_DEFAULT PRM_B(33, 3, 0)
#define IB_PI_MKEY_PROTECT PRM_B(34, 7, 6)
#define IB_PI_LMC PRM_B(34, 2, 0)
#define IB_PI_SPEED_ACTIVE PRM_B(35, 7, 4)
#define IB_PI_SPEED_ENABLED PRM_B(35, 3, 0)
#define IB_PI_MTU PRM_B(36, 7, 4) /* of the link: "neighbor MTU" */
#define IB_PI_SM_SL PRM_B(36, 3, 0)
#define IB_PI_VL_CAP PRM_B(37, 7, 4)
#define IB_PI_INIT_TYPE PRM_B(37, 3, 0)
#define IB_PI_VL_HIGH_LIMIT PRM_B(38, 7, 0)
#define IB_PI_VLARB_HIGH_CAP PRM_B(39, 7, 0)
#define IB_PI_VLARB_LOW_CAP PRM_B(40, 7, 0)
#define IB_PI_MTU_CAP PRM_B(41, 3, 0)
#define IB_PI_VL_STALL PRM_B(42, 7, 5)
#define IB_PI_HOQ_LIFE PRM_B(42, 4, 0)
#define IB_PI_OPER_VLS PRM_B(43, 7, 4)
#define IB_PI_ENFORCE PRM_B(43, 3, 0)
#define IB_PI_ENFORCE_IN PRM_B(43, 3, 3)
#define IB_PI_ENFORCE_OUT PRM_B(43, 2, 2)
#define IB_PI_MKEY_VIOLATIONS PRM_H(44, 15, 0)
#define IB_PI_PKEY_VIOLATIONS PRM_H(46, 15, 0)
#define IB_PI_QKEY_VIOLATIONS PRM_H(48, 15, 0)
#define IB_PI_GUID_CAP PRM_B(50, 7, 0)
#define IB_PI_REREGISTER PRM_B(51, 7, 7)
#define IB_PI_SUBNET_TIMEOUT PRM_B(51, 4, 0)
#define IB_PI_RESP_TIME PRM_B(52, 4, 0)
#define IB_PI_ERR_LIMITS PRM_B(53, 7, 0)
/* Extended speeds: bit 0, 14.0625 Gb/s a lane (FDR); a code of its own for the one in force */
#define IB_PI_EXT_SPEED_ACTIVE PRM_B(62, 7, 4)
#define IB_PI_EXT_SPEED_SUPPORTED PRM_B(62, 3, 0)
#define IB_PI_EXT_SPEED_ENABLED PRM_B(63, 4, 0)
#define IB_PI_EXT_SPEED_FDR 1u
#define IB_CAP_EXT_SPEEDS (1u << 14)

/* The vendor's extended PortInfo, from the data on: FDR10, 10.3125 Gb/s a lane with the coding of FDR */
#define IB_XPI_CHANGES PRM_B(3, 7, 0) /* in a Set: what it sets */
#define IB_XPI_CHANGES_SPEED 1u
#define IB_XPI_SPEED_SUPPORTED PRM_B(7, 7, 0)
#define IB_XPI_SPEED_ENABLED PRM_B(11, 7, 0)
#define IB_XPI_SPEED_ACTIVE PRM_B(15, 7, 0)
#define IB_XPI_SPEED_FDR10 1u

enum ib_port_state {
	IB_PORT_NO_CHANGE = 0, /* in a Set */
	IB_PORT_DOWN = 1,
	IB_PORT_INIT = 2,
	IB_PORT_ARMED = 3,
	IB_PORT_ACTIVE = 4,
};
enum ib_phys_state {
	IB_PHYS_NO_CHANGE = 0,
	IB_PHYS_SLEEP = 1,
	IB_PHYS_POLLING = 2,
	IB_PHYS_DISABLED = 3,
	IB_PHYS_LINK_UP = 5,
};

/* SwitchInfo, from the data on [IBA 14.2.5.4] */
#define IB_SI_LFT_CAP PRM_H(0, 15, 0)
#define IB_SI_RANDOM_CAP PRM_H(2, 15, 0)
#define IB_SI_MFT_CAP PRM_H(4, 15, 0)
#define IB_SI_LFT_TOP PRM_H(6, 15, 0)
#define IB_SI_DEFAULT_PORT PRM_B(8, 7, 0)
#define IB_SI_DEFAULT_MC_PRIMARY PRM_B(9, 7, 0)
#define IB_SI_DEFAULT_MC_OTHER PRM_B(10, 7, 0)
#define IB_SI_LIFE_TIME PRM_B(11, 7, 3)
#define IB_SI_STATE_CHANGE PRM_B(11, 2, 2)
#define IB_SI_LIDS_PER_PORT PRM_H(12, 15, 0)
#define IB_SI_ENFORCE_CAP PRM_H(14, 15, 0)
#define IB_SI_FLAGS PRM_B(16, 7, 0)
#define IB_SI_ENHANCED_PORT0 PRM_B(16, 3, 3)

/* Performance management [WF 9.4]: data at 64 */
#define IB_PM_COUNTERS 0x0012u
#define IB_PM_COUNTERS_EXT 0x001du
#define IB_PM_CAP PRM_H(0x42, 15, 0) /* of ClassPortInfo */
#define IB_PM_CAP_ALL_PORTS 0x0100u
#define IB_PM_CAP_EXT 0x0200u
#define IB_PM_PORT PRM_B(0x41, 7, 0)
#define IB_PM_ALL_PORTS 0xffu
#define IB_PM_SELECT PRM_H(0x42, 15, 0)
#define IB_PM_SYMBOL_ERRORS PRM_H(0x44, 15, 0)
#define IB_PM_LINK_DOWNED PRM_B(0x47, 7, 0)
#define IB_PM_RCV_ERRORS PRM_H(0x48, 15, 0)
#define IB_PM_RELAY_ERRORS PRM_H(0x4c, 15, 0)
#define IB_PM_XMIT_DISCARDS PRM_H(0x4e, 15, 0)
#define IB_PM_XMIT_CONSTRAINT PRM_B(0x50, 7, 0)
#define IB_PM_RCV_CONSTRAINT PRM_B(0x51, 7, 0)
#define IB_PM_VL15_DROPPED PRM_H(0x56, 15, 0)
#define IB_PM_XMIT_DATA PRM_D(0x58, 31, 0) /* words of 4 bytes */
#define IB_PM_RCV_DATA PRM_D(0x5c, 31, 0)
#define IB_PM_XMIT_PACKETS PRM_D(0x60, 31, 0)
#define IB_PM_RCV_PACKETS PRM_D(0x64, 31, 0)
#define IB_PM_XMIT_WAIT PRM_D(0x68, 31, 0)
#define IB_PM_EXT 0x48u /* be64 each: data sent, received; packets sent, received; unicast, multicast likewise */

#endif /* IB_PRM_H */
