/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port's life as an ethdev: configure, queues, start, stop, close. */
#include <errno.h>

#include <rte_errno.h>

#include "bursts.h"
#include "card.h"
#include "flow.h"
#include "group.h"
#include "ib_port.h"
#include "qos.h"
#include "share.h"

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
	mlx4_bursts_set(dev);
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

static void
queues_release(struct rte_eth_dev *dev)
{
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++)
		mlx4_eth_rxq_release(dev, i);
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		mlx4_eth_txq_release(dev, i);
	mlx4_rss_close(mlx4_eth_of(dev));
}

int
mlx4_eth_close(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	struct mlx4_hca *hca = eth->hca;

	if (dev->data->dev_started)
		mlx4_eth_stop(dev);
	mlx4_share_hide(dev);
	mlx4_roce_detach(eth->roce);
	mlx4_hca_on_event(hca, eth->port, MLX4_CLIENT_ETH, NULL, NULL);
	mlx4_watch_stop(eth);
	mlx4_tunnel_close(eth);
	queues_release(dev);
	mlx4_flows_destroy(eth);
	mlx4_groups_destroy(eth);
	mlx4_filter_destroy(eth);
	mlx4_eth_intr_fini(eth);
	mlx4_qos_destroy(eth);
	mlx4_rx_kinds_free(eth);
	mlx4_card_put(hca);
	return 0;
}

/*
 * The ports of a card live and die together: the queues of all of them go, so that nothing is left that the card knew
 * before. A port that is still started may be polled.
 */
static int
card_revive(struct mlx4_eth *eth)
{
	const struct mlx4_hca_config cfg = {.check_fw = eth->args.check_fw};
	struct mlx4_hca *hca = eth->hca;
	uint16_t id;
	int rc;

	RTE_ETH_FOREACH_DEV_OF(id, hca->bus->dev)
	if (rte_eth_devices[id].data->dev_started) {
		MLX4_LOG(ERR, "port %u: %s is reset with all its ports: stop port %u first", eth->dev->data->port_id,
			 hca->bus->where, id);
		return -EBUSY;
	}
	RTE_ETH_FOREACH_DEV_OF(id, hca->bus->dev)
	{
		mlx4_roce_detach(mlx4_eth_of(&rte_eth_devices[id])->roce);
		queues_release(&rte_eth_devices[id]);
		mlx4_eth_intr_disconnect(mlx4_eth_of(&rte_eth_devices[id]));
	}
	mlx4_ib_ports_detach(hca);
	rc = mlx4_hca_revive(hca, &cfg);
	if (rc != 0) {
		MLX4_LOG(
			ERR,
			"port %u: %s was given up and did not come back by a reset (%s); try again, or close its ports",
			eth->dev->data->port_id, hca->bus->where, rte_strerror(-rc));
		return -EIO;
	}
	RTE_ETH_FOREACH_DEV_OF(id, hca->bus->dev)
	{
		mlx4_eth_intr_connect(mlx4_eth_of(&rte_eth_devices[id]));
		/* Whoever asked whether the port was removed made ethdev remember it. */
		rte_eth_devices[id].state = RTE_ETH_DEV_ATTACHED;
		if (mlx4_qos_restore(mlx4_eth_of(&rte_eth_devices[id])) != 0)
			rc = -EIO;
	}
	return rc;
}

int
mlx4_eth_reset(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	if (dev->data->dev_started)
		mlx4_eth_stop(dev);
	if (eth->hca->dead)
		return card_revive(eth);
	queues_release(dev);
	return 0;
}

int
mlx4_eth_is_removed(struct rte_eth_dev *dev)
{
	return mlx4_eth_of(dev)->hca->dead;
}
