/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Layouts of device-managed flow steering rules. Comes with mlx4_prm_cmd.h. */
#ifndef MLX4_PRM_DMFS_H
#define MLX4_PRM_DMFS_H

#include "mlx4_prm.h"

/* Device-managed flow steering rule [CP 6.3] */
#define MLX4_DMFS_PRIORITY PRM_H(0x00, 15, 0)
#define MLX4_DMFS_TYPE PRM_B(0x02, 7, 0)
#define MLX4_DMFS_F_LIFO PRM_B(0x03, 0, 0)
#define MLX4_DMFS_F_EXCLUSIVE PRM_B(0x03, 2, 2)
#define MLX4_DMFS_F_ALLOW_LB PRM_B(0x03, 3, 3)
#define MLX4_DMFS_FUNC PRM_B(0x05, 7, 0)
#define MLX4_DMFS_VEP PRM_B(0x06, 7, 0)
#define MLX4_DMFS_PORT PRM_B(0x07, 7, 0)
#define MLX4_DMFS_QPN PRM_D(0x08, 23, 0)
#define MLX4_DMFS_CTRL_SIZE 16u
enum mlx4_dmfs_type {
	MLX4_DMFS_REGULAR = 0,
	MLX4_DMFS_ALL_DEFAULT = 1,
	MLX4_DMFS_MC_DEFAULT = 3,
	MLX4_DMFS_MIRROR_RX = 4,
	MLX4_DMFS_MIRROR_SX = 5,
	MLX4_DMFS_UC_SNIFFER = 6,
	MLX4_DMFS_MC_SNIFFER = 7,
};
#define MLX4_DMFS_PRIO_IN_DOMAIN 0x0fffu
#define MLX4_DMFS_PRIO_USER 0x1000u
#define MLX4_DMFS_PRIO_ETHTOOL 0x2000u
#define MLX4_DMFS_PRIO_RFS 0x3000u
#define MLX4_DMFS_PRIO_NIC 0x5000u
#define MLX4_SPEC_SIZE PRM_B(0x00, 7, 0) /* dwords */
#define MLX4_SPEC_ID PRM_H(0x02, 15, 0)
#define MLX4_SPEC_HEAD 4u /* bytes of both */
enum mlx4_dmfs_spec {
	MLX4_SPEC_ETH = 0xe001,
	MLX4_SPEC_IPV4 = 0xe002,
	MLX4_SPEC_IPV6 = 0xe003,
	MLX4_SPEC_TCP = 0xe004,
	MLX4_SPEC_IB = 0xe005,
	MLX4_SPEC_UDP = 0xe006,
	MLX4_SPEC_VXLAN = 0xe008,
};
#define MLX4_SPEC_ETH_SIZE 48u
#define MLX4_SPEC_ETH_DMAC 0x0au
#define MLX4_SPEC_ETH_DMAC_MASK 0x12u
#define MLX4_SPEC_ETH_SMAC 0x1au
#define MLX4_SPEC_ETH_SMAC_MASK 0x22u
#define MLX4_SPEC_ETH_TYPE_EN PRM_B(0x29, 7, 0)
#define MLX4_SPEC_ETH_TYPE PRM_H(0x2a, 15, 0)
#define MLX4_SPEC_ETH_VLAN_MASK PRM_H(0x2c, 15, 0)
#define MLX4_SPEC_ETH_VLAN PRM_H(0x2e, 15, 0)
#define MLX4_SPEC_IPV4_SIZE 24u
#define MLX4_SPEC_IPV4_DST PRM_D(0x08, 31, 0)
#define MLX4_SPEC_IPV4_DST_MASK PRM_D(0x0c, 31, 0)
#define MLX4_SPEC_IPV4_SRC PRM_D(0x10, 31, 0)
#define MLX4_SPEC_IPV4_SRC_MASK PRM_D(0x14, 31, 0)
#define MLX4_SPEC_L4_SIZE 24u
#define MLX4_SPEC_L4_DPORT PRM_H(0x0a, 15, 0)
#define MLX4_SPEC_L4_DPORT_MASK PRM_H(0x0e, 15, 0)
#define MLX4_SPEC_L4_SPORT PRM_H(0x12, 15, 0)
#define MLX4_SPEC_L4_SPORT_MASK PRM_H(0x16, 15, 0)
#define MLX4_SPEC_IB_SIZE 48u
#define MLX4_SPEC_IB_QPN PRM_D(0x08, 23, 0)
#define MLX4_SPEC_IB_QPN_MASK PRM_D(0x0c, 23, 0)
#define MLX4_SPEC_IB_DGID 0x10u
#define MLX4_SPEC_IB_DGID_MASK 0x20u
#define MLX4_SPEC_VXLAN_SIZE 16u
#define MLX4_SPEC_VXLAN_VNI PRM_D(0x08, 31, 8)
#define MLX4_SPEC_VXLAN_VNI_MASK PRM_D(0x0c, 31, 8)

#endif /* MLX4_PRM_DMFS_H */
