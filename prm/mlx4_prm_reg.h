/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* ACCESS_REG and the register of a port's types and speeds, PTYS [CP 4.10]. */
#ifndef MLX4_PRM_REG_H
#define MLX4_PRM_REG_H

#include "mlx4_prm.h"

/* The operation's TLV, then the register's; offsets within the mailbox, in both directions. */
#define MLX4_REG_OP_TYPE PRM_H(0x00, 15, 11)
#define MLX4_REG_OP_TYPE_OPERATION 1u
#define MLX4_REG_OP_LEN PRM_H(0x00, 10, 0) /* dwords */
#define MLX4_REG_OP_DWORDS 4u
#define MLX4_REG_OP_STATUS PRM_B(0x02, 6, 0)
#define MLX4_REG_ID PRM_H(0x04, 15, 0)
#define MLX4_REG_METHOD PRM_B(0x06, 6, 0)
#define MLX4_REG_CLASS PRM_B(0x07, 7, 0)
#define MLX4_REG_CLASS_REGISTER 1u
#define MLX4_REG_TYPE PRM_H(0x10, 15, 12)
#define MLX4_REG_TYPE_FLEX PRM_H(0x10, 15, 11) /* the other reading */
#define MLX4_REG_TYPE_REGISTER 3u
#define MLX4_REG_LEN PRM_H(0x10, 10, 0) /* dwords, this one among them */
#define MLX4_REG_DATA 0x14u
#define MLX4_REG_BOX_SIZE 0x100u

enum mlx4_reg_method {
	MLX4_REG_METHOD_QUERY = 1,
	MLX4_REG_METHOD_WRITE = 2,
};

/* Status of an operation that did not succeed. */
enum mlx4_reg_status {
	MLX4_REG_STATUS_OK = 0,
	MLX4_REG_STATUS_NO_REGISTER = 4,
	MLX4_REG_STATUS_NO_METHOD = 6,
	MLX4_REG_STATUS_BAD_PARAM = 7,
};

/* PTYS: offsets within the register's data. */
#define MLX4_REG_PTYS 0x5004u
#define MLX4_PTYS_AN_DISABLE_CAP PRM_B(0x00, 5, 5)
#define MLX4_PTYS_AN_DISABLE PRM_B(0x00, 6, 6)
#define MLX4_PTYS_PORT PRM_B(0x01, 7, 0)
#define MLX4_PTYS_PROTO_IB PRM_B(0x03, 0, 0)
#define MLX4_PTYS_PROTO_ETH PRM_B(0x03, 2, 2)
#define MLX4_PTYS_ETH_CAP PRM_D(0x0c, 31, 0)
#define MLX4_PTYS_ETH_ADMIN PRM_D(0x18, 31, 0)
#define MLX4_PTYS_ETH_OPER PRM_D(0x24, 31, 0)
#define MLX4_PTYS_ETH_PARTNER PRM_D(0x30, 31, 0)
#define MLX4_PTYS_SIZE 0x34u /* as much of it as has a meaning here, and as Linux gives */

/* Bits of Ethernet. */
enum mlx4_ptys_eth {
	MLX4_PTYS_1000_SGMII = 1u << 0,
	MLX4_PTYS_1000_KX = 1u << 1,
	MLX4_PTYS_10G_CX4 = 1u << 2,
	MLX4_PTYS_10G_KX4 = 1u << 3,
	MLX4_PTYS_10G_KR = 1u << 4,
	MLX4_PTYS_20G_KR2 = 1u << 5,
	MLX4_PTYS_40G_CR4 = 1u << 6,
	MLX4_PTYS_40G_KR4 = 1u << 7,
	MLX4_PTYS_56G_KR4 = 1u << 8,
	MLX4_PTYS_10G_CR = 1u << 12,
	MLX4_PTYS_10G_SR = 1u << 13,
	MLX4_PTYS_40G_SR4 = 1u << 15,
	MLX4_PTYS_56G_CR4 = 1u << 17,
	MLX4_PTYS_56G_SR4 = 1u << 18,
	MLX4_PTYS_100_TX = 1u << 24,
	MLX4_PTYS_1000_T = 1u << 25,
	MLX4_PTYS_10G_T = 1u << 26,
};

#endif /* MLX4_PRM_REG_H */
