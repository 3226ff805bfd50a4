/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* ethdev's words for pause frames: 802.3x of a port, 802.1Qbb of a priority. */
#include <errno.h>

#include "qos.h"

static bool
mode_rx(enum rte_eth_fc_mode mode)
{
	return mode == RTE_ETH_FC_RX_PAUSE || mode == RTE_ETH_FC_FULL;
}

static bool
mode_tx(enum rte_eth_fc_mode mode)
{
	return mode == RTE_ETH_FC_TX_PAUSE || mode == RTE_ETH_FC_FULL;
}

static int
check_fc(const struct rte_eth_dev *dev, const struct rte_eth_fc_conf *fc)
{
	if ((unsigned int)fc->mode > RTE_ETH_FC_FULL) {
		MLX4_LOG(ERR, "port %u: flow control mode %u, wanted %u..%u", dev->data->port_id,
			 (unsigned int)fc->mode, RTE_ETH_FC_NONE, RTE_ETH_FC_FULL);
		return -EINVAL;
	}
	if (fc->mac_ctrl_frame_fwd != 0) {
		MLX4_LOG(ERR, "port %u: forwarding of MAC control frames is 1, wanted 0: the card keeps them",
			 dev->data->port_id);
		return -ENOTSUP;
	}
	if (fc->high_water != 0 || fc->low_water != 0 || fc->pause_time != 0)
		MLX4_LOG(NOTICE,
			 "port %u: high water %u, low water %u, pause time %u are not used: the card has its own",
			 dev->data->port_id, fc->high_water, fc->low_water, fc->pause_time);
	return 0;
}

static int
apply(struct mlx4_eth *eth, const struct tp_qos_port *q)
{
	char err[TP_ERR_LEN];
	int rc = mlx4_qos_apply(eth, q, err);

	if (rc != 0)
		MLX4_LOG(ERR, "port %u: %s", eth->dev->data->port_id, err);
	return rc;
}

int
mlx4_flow_ctrl_get(struct rte_eth_dev *dev, struct rte_eth_fc_conf *fc)
{
	static const enum rte_eth_fc_mode mode[2][2] = {{RTE_ETH_FC_NONE, RTE_ETH_FC_TX_PAUSE},
							{RTE_ETH_FC_RX_PAUSE, RTE_ETH_FC_FULL}};
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	mlx4_qos_lock(eth);
	fc->mode = mode[eth->qos->conf.rx_pause][eth->qos->conf.tx_pause];
	mlx4_qos_unlock(eth);
	fc->high_water = 0;
	fc->low_water = 0;
	fc->pause_time = 0;
	fc->send_xon = 1;
	fc->mac_ctrl_frame_fwd = 0;
	fc->autoneg = 0;
	return 0;
}

int
mlx4_flow_ctrl_set(struct rte_eth_dev *dev, struct rte_eth_fc_conf *fc)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	struct tp_qos_port q;
	int rc;

	rc = check_fc(dev, fc);
	if (rc != 0)
		return rc;
	mlx4_qos_lock(eth);
	q = eth->qos->conf;
	q.rx_pause = mode_rx(fc->mode);
	q.tx_pause = mode_tx(fc->mode);
	rc = apply(eth, &q);
	mlx4_qos_unlock(eth);
	return rc;
}

int
mlx4_pfc_set(struct rte_eth_dev *dev, struct rte_eth_pfc_conf *pfc)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint8_t bit = (uint8_t)(1u << pfc->priority);
	struct tp_qos_port q;
	int rc;

	rc = check_fc(dev, &pfc->fc);
	if (rc != 0)
		return rc;
	mlx4_qos_lock(eth);
	q = eth->qos->conf;
	q.rx_pfc = mode_rx(pfc->fc.mode) ? q.rx_pfc | bit : q.rx_pfc & ~bit;
	q.tx_pfc = mode_tx(pfc->fc.mode) ? q.tx_pfc | bit : q.tx_pfc & ~bit;
	rc = apply(eth, &q);
	mlx4_qos_unlock(eth);
	return rc;
}
