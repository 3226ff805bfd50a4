/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * ethdev's words for classes: DCB in rte_eth_dev_configure. Transmit queues are divided among the classes in blocks; each
 * sends at the lowest priority of its class. The card does not divide receive queues by priority: all of them serve all
 * classes, by RSS, and are reported with class 0.
 */
#include <errno.h>

#include "qos.h"

#define ALL_PRIOS 0xffu

/* Classes 0..n-1 share the link; what does not divide goes to the first. */
static void
equal_shares(struct tp_qos_port *q, uint8_t n)
{
	uint8_t tc;

	for (tc = 0; tc < n; tc++)
		q->tc[tc] = (struct tp_qos_tc){.tsa = TP_TSA_ETS, .bw_pct = 100 / n + (tc == 0 ? 100 % n : 0)};
}

static void
classes_default(struct tp_qos_port *q)
{
	struct tp_qos_port none;

	tp_qos_port_default(&none);
	memcpy(q->prio_tc, none.prio_tc, sizeof(q->prio_tc));
	memcpy(q->tc, none.tc, sizeof(q->tc));
	q->rx_pfc = 0;
	q->tx_pfc = 0;
}

/* The lowest priority of a class. */
static uint8_t
prio_of(const struct tp_qos_port *q, uint8_t tc)
{
	uint8_t p;

	for (p = 0; p < TP_PRIOS - 1 && q->prio_tc[p] != tc; p++)
		;
	return p;
}

static int
check_modes(const struct rte_eth_dev *dev)
{
	const struct rte_eth_conf *conf = &dev->data->dev_conf;

	if ((conf->rxmode.mq_mode & RTE_ETH_MQ_RX_VMDQ_FLAG) != 0 ||
	    (conf->txmode.mq_mode != RTE_ETH_MQ_TX_NONE && conf->txmode.mq_mode != RTE_ETH_MQ_TX_DCB)) {
		MLX4_LOG(ERR, "port %u: queue modes 0x%x (receive) and 0x%x (transmit): wanted none, RSS or DCB",
			 dev->data->port_id, conf->rxmode.mq_mode, conf->txmode.mq_mode);
		return -EINVAL;
	}
	return 0;
}

static int
check_classes(const struct rte_eth_dev *dev, const struct rte_eth_dcb_tx_conf *dcb)
{
	unsigned int p;

	if (dcb->nb_tcs != RTE_ETH_4_TCS && dcb->nb_tcs != RTE_ETH_8_TCS) {
		MLX4_LOG(ERR, "port %u: %u classes, wanted 4 or 8", dev->data->port_id, (unsigned int)dcb->nb_tcs);
		return -EINVAL;
	}
	for (p = 0; p < TP_PRIOS; p++) {
		if (dcb->dcb_tc[p] < dcb->nb_tcs)
			continue;
		MLX4_LOG(ERR, "port %u: priority %u in class %u, wanted 0..%u", dev->data->port_id, p, dcb->dcb_tc[p],
			 (unsigned int)dcb->nb_tcs - 1);
		return -EINVAL;
	}
	return 0;
}

/* Queues of a class; the last has those that are left over. With fewer queues than classes the last classes have none. */
static uint16_t
block_of(const struct rte_eth_dev *dev, uint8_t tcs)
{
	return (uint16_t)RTE_MAX(dev->data->nb_tx_queues / tcs, 1);
}

static uint8_t
tc_of_queue(const struct rte_eth_dev *dev, uint8_t tcs, uint16_t queue)
{
	return (uint8_t)RTE_MIN(queue / block_of(dev, tcs), tcs - 1);
}

/* Declares, and gives queues that will be set up their priorities. */
static int
declare(struct rte_eth_dev *dev, const struct tp_qos_port *q, uint8_t tcs)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	char err[TP_ERR_LEN];
	uint32_t i;
	int rc;

	rc = mlx4_qos_apply(eth, q, err);
	if (rc != 0) {
		MLX4_LOG(ERR, "port %u: %s", dev->data->port_id, err);
		return rc;
	}
	eth->qos->dcb_tcs = tcs;
	for (i = 0; i < RTE_DIM(eth->qos->txq_prio); i++)
		eth->qos->txq_prio[i] =
			tcs != 0 && i < dev->data->nb_tx_queues ? prio_of(q, tc_of_queue(dev, tcs, (uint16_t)i)) : 0;
	return 0;
}

int
mlx4_dcb_configure(struct rte_eth_dev *dev)
{
	const struct rte_eth_conf *conf = &dev->data->dev_conf;
	const struct rte_eth_dcb_tx_conf *dcb = &conf->tx_adv_conf.dcb_tx_conf;
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	bool on = conf->txmode.mq_mode == RTE_ETH_MQ_TX_DCB;
	struct tp_qos_port q;
	int rc = check_modes(dev);

	if (rc == 0 && on)
		rc = check_classes(dev, dcb);
	if (rc != 0)
		return rc;
	mlx4_qos_lock(eth);
	if (on || eth->qos->dcb_tcs != 0) {
		q = eth->qos->conf;
		classes_default(&q);
		if (on) {
			memcpy(q.prio_tc, dcb->dcb_tc, sizeof(q.prio_tc));
			if ((conf->dcb_capability_en & RTE_ETH_DCB_PG_SUPPORT) != 0)
				equal_shares(&q, (uint8_t)dcb->nb_tcs);
			if ((conf->dcb_capability_en & RTE_ETH_DCB_PFC_SUPPORT) != 0) {
				q.rx_pause = false;
				q.tx_pause = false;
				q.rx_pfc = ALL_PRIOS;
				q.tx_pfc = ALL_PRIOS;
			}
		}
		rc = declare(dev, &q, on ? (uint8_t)dcb->nb_tcs : 0);
	}
	mlx4_qos_unlock(eth);
	return rc;
}

int
mlx4_dcb_info(struct rte_eth_dev *dev, struct rte_eth_dcb_info *info)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	const struct tp_qos_port *q = &eth->qos->conf;
	uint16_t i, n = dev->data->nb_tx_queues;
	uint8_t tc, tcs;

	memset(info, 0, sizeof(*info));
	mlx4_qos_lock(eth);
	tcs = eth->qos->dcb_tcs;
	info->nb_tcs = tcs;
	for (i = 0; i < TP_PRIOS; i++) {
		info->prio_tc[i] = q->prio_tc[i];
		info->nb_tcs = RTE_MAX(info->nb_tcs, q->prio_tc[i] + 1);
	}
	for (tc = 0; tc < info->nb_tcs; tc++)
		info->tc_bws[tc] = q->tc[tc].tsa == TP_TSA_ETS ? q->tc[tc].bw_pct : 100;
	mlx4_qos_unlock(eth);
	info->tc_queue.tc_rxq[0][0].nb_queue = dev->data->nb_rx_queues;
	if (tcs == 0) {
		info->tc_queue.tc_txq[0][0].nb_queue = n;
		return 0;
	}
	for (tc = 0; tc < tcs; tc++)
		info->tc_queue.tc_txq[0][tc].base = (uint16_t)(tc * block_of(dev, tcs));
	for (i = 0; i < n; i++)
		info->tc_queue.tc_txq[0][tc_of_queue(dev, tcs, i)].nb_queue++;
	return 0;
}
