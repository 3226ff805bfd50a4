/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A restart of one port while others, and those who poll it, go on. Bursts are replaced by ones that do nothing but say that they
 * ran: a queue has one poller at a time, so its old burst is over then. A queue that nobody polled until GRACE has passed is taken
 * to be left alone, as by an application that sleeps until an interrupt; a burst does not wait and is over long before.
 */
#include <errno.h>
#include <stdio.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "drivers/mlx4/health/health.h"
#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/tx/queue.h"
#include "ethdev.h"

#define GRACE_NAP_US 500u
#define GRACE_NAPS 1000u

struct bursts {
	eth_rx_burst_t rx;
	eth_tx_burst_t tx;
	eth_tx_prep_t prepare;
};

struct deferred {
	bool rx[MLX4_ETH_MAX_RXQ], tx[MLX4_ETH_MAX_TXQ];
};

static uint16_t
rx_resting(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	RTE_SET_USED(pkts);
	RTE_SET_USED(n);
	__atomic_store_n(&((struct mlx4_rxq *)rxq)->polled, true, __ATOMIC_RELEASE);
	return 0;
}

static uint16_t
tx_resting(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	RTE_SET_USED(pkts);
	RTE_SET_USED(n);
	__atomic_store_n(&((struct mlx4_txq *)txq)->polled, true, __ATOMIC_RELEASE);
	return 0;
}

/* Frames that cannot be sent now are as good as before. */
static uint16_t
prepare_resting(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	RTE_SET_USED(txq);
	RTE_SET_USED(pkts);
	return n;
}

static void
rest(struct mlx4_eth *eth, struct bursts *was)
{
	struct rte_eth_fp_ops *fp = &rte_eth_fp_ops[eth->dev->data->port_id];
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_rx_queues; i++)
		if (eth->rxqs[i] != NULL)
			eth->rxqs[i]->polled = false;
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL)
			eth->txqs[i]->polled = false;
	*was = (struct bursts){fp->rx_pkt_burst, fp->tx_pkt_burst, fp->tx_pkt_prepare};
	__atomic_store_n(&fp->rx_pkt_burst, rx_resting, __ATOMIC_SEQ_CST);
	__atomic_store_n(&fp->tx_pkt_burst, tx_resting, __ATOMIC_SEQ_CST);
	__atomic_store_n(&fp->tx_pkt_prepare, prepare_resting, __ATOMIC_SEQ_CST);
}

/* Whoever has stopped the port meanwhile has replaced the bursts, and that stays. */
static void
resume(const struct rte_eth_dev *dev, const struct bursts *b)
{
	struct rte_eth_fp_ops *fp = &rte_eth_fp_ops[dev->data->port_id];
	eth_rx_burst_t rx = rx_resting;
	eth_tx_burst_t tx = tx_resting;
	eth_tx_prep_t prepare = prepare_resting;

	__atomic_compare_exchange_n(&fp->tx_pkt_prepare, &prepare, b->prepare, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&fp->rx_pkt_burst, &rx, b->rx, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&fp->tx_pkt_burst, &tx, b->tx, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static bool
all_rest(const struct mlx4_eth *eth)
{
	bool all = true;
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_rx_queues; i++)
		all &= eth->rxqs[i] == NULL || __atomic_load_n(&eth->rxqs[i]->polled, __ATOMIC_ACQUIRE);
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		all &= eth->txqs[i] == NULL || __atomic_load_n(&eth->txqs[i]->polled, __ATOMIC_ACQUIRE);
	return all;
}

static void
wait_for_rest(const struct mlx4_eth *eth)
{
	unsigned int naps;

	for (naps = 0; naps < GRACE_NAPS && !all_rest(eth); naps++)
		rte_delay_us_sleep(GRACE_NAP_US);
}

/* The burst as it was, and says that it ran. */
static uint16_t
rx_probing(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_rxq *q = rxq;

	__atomic_store_n(&q->polled, true, __ATOMIC_RELEASE);
	return q->eth->dev->rx_pkt_burst(rxq, pkts, n);
}

/* Looked at while packets flow. */
static bool
is_polled(const struct mlx4_eth *eth, uint16_t queue)
{
	struct rte_eth_fp_ops *fp = &rte_eth_fp_ops[eth->dev->data->port_id];
	eth_rx_burst_t was = fp->rx_pkt_burst, probing = rx_probing;
	struct mlx4_rxq *q = eth->rxqs[queue];
	unsigned int naps;

	if (q == NULL)
		return false;
	q->polled = false;
	__atomic_store_n(&fp->rx_pkt_burst, rx_probing, __ATOMIC_SEQ_CST);
	for (naps = 0; naps < GRACE_NAPS && !__atomic_load_n(&q->polled, __ATOMIC_ACQUIRE); naps++)
		rte_delay_us_sleep(GRACE_NAP_US);
	__atomic_compare_exchange_n(&fp->rx_pkt_burst, &probing, was, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	return __atomic_load_n(&q->polled, __ATOMIC_ACQUIRE);
}

/* Queues that the application stopped alone stay so, and those that it started late are started. before: what to give back. */
static void
keep_states(struct mlx4_eth *eth, struct deferred *before)
{
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_rx_queues; i++)
		if (eth->rxqs[i] != NULL) {
			before->rx[i] = eth->rxqs[i]->deferred;
			eth->rxqs[i]->deferred = !eth->rxqs[i]->started;
		}
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL) {
			before->tx[i] = eth->txqs[i]->deferred;
			eth->txqs[i]->deferred = !eth->txqs[i]->started;
		}
}

static void
give_back(struct mlx4_eth *eth, const struct deferred *before)
{
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_rx_queues; i++)
		if (eth->rxqs[i] != NULL)
			eth->rxqs[i]->deferred = before->rx[i];
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL)
			eth->txqs[i]->deferred = before->tx[i];
}

static int
down_and_up(struct rte_eth_dev *dev, struct bursts *b, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	struct deferred before;
	int rc;

	keep_states(eth, &before);
	mlx4_eth_stop(dev);
	rc = eth->hca->dead ? -EIO : mlx4_eth_start(dev);
	give_back(eth, &before);
	if (rc != 0) {
		snprintf(err, TP_ERR_LEN, "it was stopped and does not start: %s", rte_strerror(-rc));
		return rc;
	}
	dev->data->dev_started = 1;
	*b = (struct bursts){dev->rx_pkt_burst, dev->tx_pkt_burst, dev->tx_pkt_prepare};
	return 0;
}

static int
port_restart(struct mlx4_eth *eth, int asks, char err[TP_ERR_LEN])
{
	struct rte_eth_dev *dev = eth->dev;
	struct bursts b;
	int rc;

	if (!dev->data->dev_started || eth->hca->dead) {
		snprintf(err, TP_ERR_LEN, "%s",
			 eth->hca->dead ? "its card was given up; reset the port" : "it is not started");
		return eth->hca->dead ? -EIO : -EINVAL;
	}
	/* A restart would only throw the frames away that a sleeping consumer is going to take. */
	if (asks >= 0 && !is_polled(eth, (uint16_t)asks)) {
		snprintf(err, TP_ERR_LEN, "nobody polls receive queue %d", asks);
		return -EAGAIN;
	}
	rest(eth, &b);
	wait_for_rest(eth);
	rc = down_and_up(dev, &b, err);
	/* One that does not start again stays at rest. */
	if (rc == 0)
		resume(dev, &b);
	return rc;
}

RTE_INIT(mlx4_restart_init)
{
	mlx4_health_restart_by(port_restart);
}
