/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The speeds of both ends of a link [CP 4.10]. */
#include <errno.h>

#include <rte_ethdev.h>

#include "drivers/mlx4/hca/core.h"
#include "mlx4_prm_reg.h"
#include "speeds.h"

static const struct {
	uint32_t form, rte;
} names[] = {
	{MLX4_PTYS_100_TX, RTE_ETH_LINK_SPEED_100M}, {MLX4_PTYS_1000_SGMII, RTE_ETH_LINK_SPEED_1G},
	{MLX4_PTYS_1000_KX, RTE_ETH_LINK_SPEED_1G},  {MLX4_PTYS_1000_T, RTE_ETH_LINK_SPEED_1G},
	{MLX4_PTYS_10G_CX4, RTE_ETH_LINK_SPEED_10G}, {MLX4_PTYS_10G_KX4, RTE_ETH_LINK_SPEED_10G},
	{MLX4_PTYS_10G_KR, RTE_ETH_LINK_SPEED_10G},  {MLX4_PTYS_10G_CR, RTE_ETH_LINK_SPEED_10G},
	{MLX4_PTYS_10G_SR, RTE_ETH_LINK_SPEED_10G},  {MLX4_PTYS_10G_T, RTE_ETH_LINK_SPEED_10G},
	{MLX4_PTYS_20G_KR2, RTE_ETH_LINK_SPEED_20G}, {MLX4_PTYS_40G_CR4, RTE_ETH_LINK_SPEED_40G},
	{MLX4_PTYS_40G_KR4, RTE_ETH_LINK_SPEED_40G}, {MLX4_PTYS_40G_SR4, RTE_ETH_LINK_SPEED_40G},
	{MLX4_PTYS_56G_KR4, RTE_ETH_LINK_SPEED_56G}, {MLX4_PTYS_56G_CR4, RTE_ETH_LINK_SPEED_56G},
	{MLX4_PTYS_56G_SR4, RTE_ETH_LINK_SPEED_56G},
};

uint32_t
mlx4_speeds_rte(uint32_t forms)
{
	uint32_t rte = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(names); i++)
		if ((forms & names[i].form) != 0)
			rte |= names[i].rte;
	return rte;
}

int
mlx4_port_speeds(struct mlx4_hca *hca, unsigned int port, struct mlx4_speeds *s)
{
	uint8_t box[MLX4_REG_BOX_SIZE] = {0}, *reg = box + MLX4_REG_DATA;
	int rc;

	if (!hca->caps.eth_speeds)
		return -ENOTSUP;
	prm_set(box, MLX4_REG_OP_TYPE, MLX4_REG_OP_TYPE_OPERATION);
	prm_set(box, MLX4_REG_OP_LEN, MLX4_REG_OP_DWORDS);
	prm_set(box, MLX4_REG_ID, MLX4_REG_PTYS);
	prm_set(box, MLX4_REG_METHOD, MLX4_REG_METHOD_QUERY);
	prm_set(box, MLX4_REG_CLASS, MLX4_REG_CLASS_REGISTER);
	prm_set(box, MLX4_REG_TYPE, MLX4_REG_TYPE_REGISTER);
	prm_set(box, MLX4_REG_LEN, 1 + MLX4_PTYS_SIZE / 4);
	prm_set(reg, MLX4_PTYS_PORT, port);
	prm_set(reg, MLX4_PTYS_PROTO_ETH, 1);
	rc = mlx4_cmd(hca, MLX4_CMD_ACCESS_REG, 0, 0, box, sizeof(box), box, sizeof(box));
	if (rc != 0)
		return rc;
	if (prm_get(box, MLX4_REG_OP_STATUS) != MLX4_REG_STATUS_OK)
		return -ENOTSUP;
	s->own = prm_get(reg, MLX4_PTYS_ETH_ADMIN);
	s->used = prm_get(reg, MLX4_PTYS_ETH_OPER);
	s->peer = prm_get(reg, MLX4_PTYS_ETH_PARTNER);
	return 0;
}
