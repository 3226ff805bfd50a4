/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* PCI identity, BAR0 registers, UAR pages and doorbell records. */
#ifndef MLX4_PRM_REGS_H
#define MLX4_PRM_REGS_H

#include "mlx4_prm.h"

/* PCI identity [CP 1.1] */
#define MLX4_PCI_VENDOR 0x15b3
#define MLX4_PCI_DEV_CX3 0x1003     /* ConnectX-3, MT27500 */
#define MLX4_PCI_DEV_CX3_VF 0x1004  /* virtual function of either */
#define MLX4_PCI_DEV_CX3_PRO 0x1007 /* ConnectX-3 Pro, MT27520 */

/* Capability list of the configuration space [CP 1.2] */
#define MLX4_PCI_CAP_PM 0x40
#define MLX4_PCI_CAP_VPD 0x48
#define MLX4_PCI_CAP_EXP 0x60
#define MLX4_PCI_CAP_MSIX 0x9c
#define MLX4_PCI_CAP_VENDOR 0xc0
#define MLX4_PCI_ECAP_ARI 0x100
#define MLX4_PCI_ECAP_SERIAL 0x148
#define MLX4_PCI_ECAP_AER 0x154
#define MLX4_PCI_ECAP_SECPCI 0x18c

/* BAR0 [CP 1.3] */
#define MLX4_BAR0_SIZE 0x100000u
#define MLX4_REG_MSIX_TABLE 0x7c000u
#define MLX4_REG_MSIX_PBA 0x7d000u
#define MLX4_MSIX_VECTORS 128u
#define MLX4_REG_HCR 0x80680u
#define MLX4_REG_OWNERSHIP 0x8069cu /* reads 0 once, then taken until 0 is written [CP 1.5] */
#define MLX4_REG_RESET 0xf0010u
#define MLX4_RESET_VALUE 0x00000001u
#define MLX4_RESET_VALUE_SWAPPED 0x01000000u /* [U6] */
#define MLX4_RESET_VALUE_BOTH 0x00000003u    /* [U6] */
#define MLX4_REG_HW_ID 0xf0014u
#define MLX4_HW_ID_CX3 0x1f5u
#define MLX4_HW_ID_CX3_PRO 0x1f7u
#define MLX4_REG_RESET_SEM 0xf03fcu
/* Where the firmware of seen cards puts the relocatable registers; a driver uses what QUERY_FW reports. */
#define MLX4_REG_CATAS_TYPICAL 0x1f020u
#define MLX4_CATAS_DWORDS 16u
#define MLX4_REG_CLR_INT_TYPICAL 0xf0058u /* [U] */

/* HCR: seven dwords [CP 2.1] */
#define MLX4_HCR_IN_PARAM 0x00u
#define MLX4_HCR_IN_MODIFIER 0x08u
#define MLX4_HCR_OUT_PARAM 0x0cu
#define MLX4_HCR_TOKEN 0x14u
#define MLX4_HCR_CTRL 0x18u
#define MLX4_HCR_SIZE 0x1cu
#define MLX4_HCR_F_TOKEN PRM_D(0x14, 31, 16)
#define MLX4_HCR_F_STATUS PRM_D(0x18, 31, 24)
#define MLX4_HCR_F_GO PRM_D(0x18, 23, 23)
#define MLX4_HCR_F_EVENT PRM_D(0x18, 22, 22)
#define MLX4_HCR_F_TOGGLE PRM_D(0x18, 21, 21)
#define MLX4_HCR_F_OP_MODIFIER PRM_D(0x18, 15, 12)
#define MLX4_HCR_F_OPCODE PRM_D(0x18, 11, 0)
/* The same bits of the control dword, for code that holds it in a register. */
#define MLX4_HCR_GO (1u << 23)
#define MLX4_HCR_EVENT (1u << 22)
#define MLX4_HCR_TOGGLE (1u << 21)
#define MLX4_HCR_RSVD 0x001f0000u
#define MLX4_HCR_TOKEN_POLL 0xffffu

#define MLX4_MAILBOX_SIZE 4096u

/* UAR page [CP 8] */
#define MLX4_UAR_PAGE_SIZE 4096u
#define MLX4_UAR_SEND_DB 0x14u /* be32: QPN << 8 */
#define MLX4_UAR_CQ_ARM 0x20u  /* be64 */
#define MLX4_UAR_EQ_DB 0x800u  /* be32 at + 8 * (EQN % 4) of page EQN / 4 */
#define MLX4_UAR_EQ_PAGES 128u /* pages 0..127 belong to event queues */
#define MLX4_EQS_PER_UAR 4u
#define MLX4_EQ_DB_ARM 0x80000000u
#define MLX4_EQ_DB_CI_MASK 0x00ffffffu

/* CQ arm: first dword of the doorbell and second dword of the record [CP 8] */
#define MLX4_CQ_ARM_SN_SHIFT 28
#define MLX4_CQ_ARM_SN_MASK 3u
#define MLX4_CQ_ARM_CMD_SHIFT 24
#define MLX4_CQ_ARM_CMD_MASK 7u
#define MLX4_CQ_ARM_SOLICITED 1u
#define MLX4_CQ_ARM_NEXT 2u
#define MLX4_CQ_ARM_NCOMP 3u
#define MLX4_CQ_CI_MASK 0x00ffffffu

#define MLX4_QPN_MASK 0x00ffffffu
#define MLX4_CQN_MASK 0x00ffffffu

/* 8-byte CQ doorbell record and 4-byte RQ/SRQ record in host memory [DP 2.3] */
#define MLX4_CQ_DBREC_CI 0u
#define MLX4_CQ_DBREC_ARM 4u

#endif /* MLX4_PRM_REGS_H */
