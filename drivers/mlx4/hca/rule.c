/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Steering rules: which QP gets a frame [CP 6.3, DP 9.3]. */
#include <errno.h>
#include <string.h>

#include "core.h"

static void
fill_control(const struct mlx4_hca *hca, uint8_t *box, unsigned int port, enum mlx4_dmfs_type type, uint16_t priority,
	     uint32_t qpn)
{
	/* Ours says with a lower number that a rule goes first; the card may say it with a higher one. */
	if (mlx4_quirk(hca, MLX4_QUIRK_RULE_ORDER) != 0)
		priority ^= MLX4_DMFS_PRIO_IN_DOMAIN;
	prm_set(box, MLX4_DMFS_PRIORITY, priority);
	prm_set(box, MLX4_DMFS_TYPE, type);
	prm_set(box, MLX4_DMFS_F_ALLOW_LB, 1);
	prm_set(box, MLX4_DMFS_PORT, port);
	prm_set(box, MLX4_DMFS_QPN, qpn);
}

/* The one command with a mailbox in and an immediate result out. */
static int
attach(struct mlx4_hca *hca, const void *box, size_t len, uint64_t *id)
{
	int rc = mlx4_cmd_mbox_imm(hca, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 0, len / 4, box, len, id);

	if (rc == 0)
		__atomic_add_fetch(&hca->rules[prm_get(box, MLX4_DMFS_PORT) - 1], 1, __ATOMIC_RELAXED);
	return rc;
}

int
mlx4_rule_tagged(struct mlx4_hca *hca, unsigned int port, uint16_t prio, const struct rte_ether_addr *mac, uint16_t vid,
		 uint16_t vid_mask, uint32_t qpn, uint64_t *id)
{
	uint8_t box[MLX4_DMFS_CTRL_SIZE + MLX4_SPEC_ETH_SIZE] = {0};
	uint8_t *spec = box + MLX4_DMFS_CTRL_SIZE;

	fill_control(hca, box, port, MLX4_DMFS_REGULAR, MLX4_DMFS_PRIO_NIC + prio, qpn);
	prm_set(spec, MLX4_SPEC_SIZE, MLX4_SPEC_ETH_SIZE / 4);
	prm_set(spec, MLX4_SPEC_ID, MLX4_SPEC_ETH);
	memcpy(spec + MLX4_SPEC_ETH_DMAC, mac->addr_bytes, RTE_ETHER_ADDR_LEN);
	memset(spec + MLX4_SPEC_ETH_DMAC_MASK, 0xff, RTE_ETHER_ADDR_LEN);
	prm_set(spec, MLX4_SPEC_ETH_VLAN, vid);
	prm_set(spec, MLX4_SPEC_ETH_VLAN_MASK, vid_mask);
	return attach(hca, box, sizeof(box), id);
}

int
mlx4_rule_mac(struct mlx4_hca *hca, unsigned int port, uint16_t prio, const struct rte_ether_addr *mac, uint32_t qpn,
	      uint64_t *id)
{
	return mlx4_rule_tagged(hca, port, prio, mac, 0, 0, qpn, id);
}

int
mlx4_rule_default(struct mlx4_hca *hca, unsigned int port, uint16_t prio, enum mlx4_dmfs_type type, uint32_t qpn,
		  uint64_t *id)
{
	uint8_t box[MLX4_DMFS_CTRL_SIZE] = {0};

	fill_control(hca, box, port, type, prio, qpn);
	return attach(hca, box, sizeof(box), id);
}

int
mlx4_rule_remove(struct mlx4_hca *hca, unsigned int port, uint64_t id)
{
	/* Whoever asks forgets it, whatever the card says. */
	__atomic_sub_fetch(&hca->rules[port - 1], 1, __ATOMIC_RELAXED);
	return mlx4_cmd_imm(hca, MLX4_CMD_QP_FLOW_STEERING_DETACH, 0, 0, id, NULL);
}

void
mlx4_rule_drop(struct mlx4_hca *hca, unsigned int port, uint64_t *id)
{
	if (*id != MLX4_NO_RULE)
		mlx4_rule_remove(hca, port, *id);
	*id = MLX4_NO_RULE;
}

/* Rules with a GID are of the user domain, as those of verbs multicast are [DP 9.3]. */
int
mlx4_rule_gid(struct mlx4_hca *hca, unsigned int port, const uint8_t gid[MLX4_GID_SIZE], uint32_t qpn, uint64_t *id)
{
	uint8_t box[MLX4_DMFS_CTRL_SIZE + MLX4_SPEC_IB_SIZE] = {0};
	uint8_t *spec = box + MLX4_DMFS_CTRL_SIZE;

	fill_control(hca, box, port, MLX4_DMFS_REGULAR, MLX4_DMFS_PRIO_USER, qpn);
	prm_set(spec, MLX4_SPEC_SIZE, MLX4_SPEC_IB_SIZE / 4);
	prm_set(spec, MLX4_SPEC_ID, MLX4_SPEC_IB);
	memcpy(spec + MLX4_SPEC_IB_DGID, gid, MLX4_GID_SIZE);
	memset(spec + MLX4_SPEC_IB_DGID_MASK, 0xff, MLX4_GID_SIZE);
	return attach(hca, box, sizeof(box), id);
}

int
mlx4_rule_specs(struct mlx4_hca *hca, unsigned int port, uint16_t prio, const uint8_t *specs, size_t len, uint32_t qpn,
		uint64_t *id)
{
	static const uint8_t any[2 * MLX4_SPEC_ETH_SIZE];
	uint8_t box[MLX4_MAILBOX_SIZE] = {0};

	if (len > sizeof(box) - MLX4_DMFS_CTRL_SIZE)
		return -EINVAL;
	/* An Ethernet specification that compares nothing. */
	if (mlx4_quirk(hca, MLX4_QUIRK_RULE_NO_ADDRESS) != 0 && len > MLX4_SPEC_ETH_SIZE &&
	    prm_get(specs, MLX4_SPEC_ID) == MLX4_SPEC_ETH &&
	    memcmp(specs + MLX4_SPEC_HEAD, any, MLX4_SPEC_ETH_SIZE - MLX4_SPEC_HEAD) == 0) {
		specs += MLX4_SPEC_ETH_SIZE;
		len -= MLX4_SPEC_ETH_SIZE;
	}
	fill_control(hca, box, port, MLX4_DMFS_REGULAR, prio, qpn);
	memcpy(box + MLX4_DMFS_CTRL_SIZE, specs, len);
	return attach(hca, box, MLX4_DMFS_CTRL_SIZE + len, id);
}
