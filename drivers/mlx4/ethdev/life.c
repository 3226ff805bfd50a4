/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port's life as an ethdev: configure, queues, start, stop. */
#include <errno.h>

#include "drivers/mlx4/flow/flow.h"
#include "drivers/mlx4/group/group.h"
#include "drivers/mlx4/health/health.h"
#include "drivers/mlx4/qos/qos.h"
#include "drivers/mlx4/port/handover.h"
#include "drivers/mlx4/rx/choose.h"
#include "drivers/mlx4/steer/filter.h"
#include "drivers/mlx4/steer/rss.h"
#include "drivers/mlx4/tx/choose.h"
#include "ethdev.h"

static int
check_alive(const struct rte_eth_dev *dev)
{
	struct mlx4_hca *hca = mlx4_eth_of(dev)->hca;

	if (!hca->dead)
		return 0;
	MLX4_LOG(ERR, "port %u: %s was given up; reset the port first", dev->data->port_id, hca->bus->where);
	return -EIO;
}

int
mlx4_eth_configure(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	const struct rte_eth_conf *conf = &dev->data->dev_conf;
	uint16_t n = dev->data->nb_rx_queues;
	int rc = check_alive(dev);

	if (rc != 0)
		return rc;
	if (n > MLX4_ETH_MAX_RXQ || dev->data->nb_tx_queues > MLX4_ETH_MAX_TXQ) {
		MLX4_LOG(ERR, "port %u: %u receive and %u transmit queues: wanted up to %d and %d", dev->data->port_id,
			 n, dev->data->nb_tx_queues, MLX4_ETH_MAX_RXQ, MLX4_ETH_MAX_TXQ);
		return -EINVAL;
	}
	rc = mlx4_eth_intr_configure(eth);
	if (rc == 0)
		rc = mlx4_groups_check_configure(eth, n);
	if (rc == 0)
		rc = mlx4_flows_check_configure(eth, n);
	if (rc != 0)
		return rc;
	if ((conf->rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) != 0)
		dev->data->dev_conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_RSS_HASH;
	rc = mlx4_rss_configure(eth);
	return rc != 0 ? rc : mlx4_dcb_configure(dev);
}

void
mlx4_eth_rxq_release(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	struct mlx4_rxq *q = eth->rxqs[idx];

	if (q == NULL)
		return;
	mlx4_group_queue_gone(eth, idx);
	/* From now on nobody finds it. */
	mlx4_qos_lock(eth);
	eth->rxqs[idx] = NULL;
	mlx4_dropless_forget(q);
	mlx4_qos_unlock(eth);
	mlx4_rxq_release(q);
	mlx4_group_queue_new(eth, idx);
	dev->data->rx_queues[idx] = NULL;
}

int
mlx4_eth_rxq_setup(struct rte_eth_dev *dev, uint16_t idx, uint16_t n, unsigned int socket,
		   const struct rte_eth_rxconf *conf, struct rte_mempool *mp)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	char err[TP_ERR_LEN] = "";
	struct mlx4_rxq *q;
	int rc;

	rc = mlx4_rxq_setup(eth, idx, n, (int)socket, conf, mp, &q);
	if (rc != 0)
		return rc;
	q->vector = dev->data->dev_conf.intr_conf.rxq != 0 ? mlx4_rx_vector(eth, idx) : -1;
	eth->rxqs[idx] = q;
	dev->data->rx_queues[idx] = q;
	mlx4_groups_assign(eth);
	mlx4_qos_lock(eth);
	rc = mlx4_dropless_again(q, err);
	if (rc == 0)
		rc = mlx4_group_treat(eth, idx, err);
	mlx4_qos_unlock(eth);
	if (rc != 0) {
		MLX4_LOG(ERR, "port %u: %s", dev->data->port_id, err);
		mlx4_eth_rxq_release(dev, idx);
	}
	return rc;
}

int
mlx4_eth_txq_setup(struct rte_eth_dev *dev, uint16_t idx, uint16_t n, unsigned int socket,
		   const struct rte_eth_txconf *conf)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	char err[TP_ERR_LEN];
	struct mlx4_txq *q;
	int rc = check_alive(dev);

	if (rc != 0)
		return rc;
	rc = mlx4_txq_setup(eth, idx, n, (int)socket, conf, &q);
	if (rc != 0)
		return rc;
	mlx4_qos_lock(eth);
	rc = mlx4_txq_prio(q, eth->qos->txq_prio[idx], err);
	if (rc == 0)
		rc = mlx4_txq_rate(q, eth->qos->txq_rate[idx], err);
	if (rc == 0)
		rc = mlx4_txq_marks_prepare(q, &eth->qos->conf, err);
	if (rc == 0) {
		mlx4_txq_marks(q, &eth->qos->conf);
		eth->txqs[idx] = q;
		rc = mlx4_group_treat(eth, idx, err);
	}
	if (rc != 0)
		eth->txqs[idx] = NULL;
	mlx4_qos_unlock(eth);
	if (rc != 0) {
		MLX4_LOG(ERR, "port %u: %s", dev->data->port_id, err);
		mlx4_txq_release(q);
		return rc;
	}
	dev->data->tx_queues[idx] = q;
	return 0;
}

void
mlx4_eth_txq_release(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	struct mlx4_txq *q = eth->txqs[idx];

	if (q == NULL)
		return;
	mlx4_group_queue_gone(eth, idx);
	mlx4_qos_lock(eth);
	eth->txqs[idx] = NULL;
	mlx4_qos_unlock(eth);
	mlx4_txq_release(q);
	mlx4_group_queue_new(eth, idx);
	dev->data->tx_queues[idx] = NULL;
}

int
mlx4_eth_txq_start(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	int rc;

	/* The watch may be about to take back what waits in it. */
	mlx4_qos_lock(eth);
	rc = mlx4_txq_start(eth->txqs[idx]);
	mlx4_qos_unlock(eth);
	if (rc == 0)
		dev->data->tx_queue_state[idx] = RTE_ETH_QUEUE_STATE_STARTED;
	return rc;
}

int
mlx4_eth_txq_stop(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	int rc;

	mlx4_qos_lock(eth);
	rc = eth->txqs[idx]->started ? mlx4_txq_stop(eth->txqs[idx]) : 0;
	mlx4_qos_unlock(eth);
	dev->data->tx_queue_state[idx] = RTE_ETH_QUEUE_STATE_STOPPED;
	return rc;
}

static void
tx_queues_stop(struct rte_eth_dev *dev)
{
	uint16_t i;

	for (i = 0; i < dev->data->nb_tx_queues; i++)
		if (mlx4_eth_of(dev)->txqs[i] != NULL)
			mlx4_eth_txq_stop(dev, i);
}

static int
tx_queues_start(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint16_t i;
	int rc;

	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		if (eth->txqs[i] == NULL || eth->txqs[i]->deferred || eth->txqs[i]->started)
			continue;
		rc = mlx4_eth_txq_start(dev, i);
		if (rc != 0) {
			tx_queues_stop(dev);
			return rc;
		}
	}
	return 0;
}

/* Applications leave queues alone that do not say that they are started. */
static void
rx_queues_tell(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++)
		dev->data->rx_queue_state[i] = eth->rxqs[i] != NULL && eth->rxqs[i]->started
						       ? RTE_ETH_QUEUE_STATE_STARTED
						       : RTE_ETH_QUEUE_STATE_STOPPED;
}

static int
refuse_start(const struct rte_eth_dev *dev, const char *kind, uint16_t idx, uint16_t n)
{
	MLX4_LOG(ERR, "port %u: %s queue %u of %u was not set up", dev->data->port_id, kind, idx, n);
	return -EINVAL;
}

/* A reset takes the queues away, and an application may forget to set one up. */
static int
check_queues(const struct rte_eth_dev *dev)
{
	const struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++)
		if (eth->rxqs[i] == NULL)
			return refuse_start(dev, "receive", i, dev->data->nb_rx_queues);
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] == NULL)
			return refuse_start(dev, "transmit", i, dev->data->nb_tx_queues);
	return 0;
}

static void
bursts_set(struct rte_eth_dev *dev)
{
	dev->data->scattered_rx = 0;
	mlx4_rx_burst_choose(mlx4_eth_of(dev));
	mlx4_tx_burst_choose(mlx4_eth_of(dev));
}

void
mlx4_bursts_clear(struct rte_eth_dev *dev)
{
	mlx4_rx_burst_off(mlx4_eth_of(dev));
	mlx4_tx_burst_off(mlx4_eth_of(dev));
}

void
mlx4_eth_removed(struct rte_eth_dev *dev)
{
	struct rte_eth_fp_ops *running = &rte_eth_fp_ops[dev->data->port_id];

	mlx4_bursts_clear(dev);
	if (!dev->data->dev_started)
		return;
	running->rx_pkt_burst = mlx4_rxtx_removed;
	running->tx_pkt_burst = mlx4_rxtx_removed;
	running->tx_pkt_prepare = mlx4_rxtx_removed;
}

int
mlx4_eth_start(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	int rc;

	rc = check_alive(dev);
	if (rc == 0)
		rc = check_queues(dev);
	if (rc == 0)
		rc = mlx4_mtu_apply(eth, dev->data->mtu);
	if (rc == 0)
		rc = mlx4_fcs_start(eth);
	if (rc != 0)
		return rc;
	rc = mlx4_rss_start(eth);
	if (rc != 0)
		return rc;
	rc = tx_queues_start(dev);
	if (rc != 0)
		goto err_tx;
	rc = mlx4_tunnel_start(eth);
	if (rc != 0)
		goto err_filter;
	/* Rules before the link: the first frame finds its queue. */
	rc = mlx4_filter_start(eth);
	if (rc != 0)
		goto err_filter;
	rc = mlx4_groups_start(eth);
	if (rc != 0)
		goto err_groups;
	rc = mlx4_flows_start(eth);
	if (rc != 0)
		goto err_flows;
	rc = mlx4_port_init(eth->hca, eth->port);
	if (rc != 0)
		goto err_port;
	rx_queues_tell(dev);
	bursts_set(dev);
	mlx4_health_forget(eth);
	mlx4_watch_start(eth);
	/* The link counts as down before the port is started; now it may be up. */
	mlx4_link_on(eth, true);
	mlx4_link_update(dev, 0);
	return 0;

err_port:
	mlx4_flows_stop(eth);
err_flows:
	mlx4_groups_stop(eth);
err_groups:
	mlx4_filter_stop(eth);
err_filter:
	tx_queues_stop(dev);
err_tx:
	mlx4_rss_stop(eth);
	return rc;
}

int
mlx4_eth_stop(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	dev->data->dev_started = 0;
	mlx4_link_on(eth, false);
	mlx4_watch_stop(eth);
	mlx4_bursts_clear(dev);
	mlx4_port_close(eth->hca, eth->port);
	mlx4_flows_stop(eth);
	mlx4_groups_stop(eth);
	mlx4_filter_stop(eth);
	tx_queues_stop(dev);
	mlx4_rss_stop(eth);
	rx_queues_tell(dev);
	mlx4_link_update(dev, 0);
	return 0;
}

void
mlx4_eth_queues_release(struct rte_eth_dev *dev)
{
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++)
		mlx4_eth_rxq_release(dev, i);
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		mlx4_eth_txq_release(dev, i);
	mlx4_rss_close(mlx4_eth_of(dev));
}
