/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Link state, its changes, and MTU. */
#include <errno.h>

#include <rte_cycles.h>

#include "drivers/mlx4/health/health.h"
#include "drivers/mlx4/qos/qos.h"
#include "ethdev.h"
#include "drivers/mlx4/rx/choose.h"
#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/tx/lso_limits.h"

#define BURST_NAP_US 200u
#define BURST_NAPS 500u

static int
link_look(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	struct rte_eth_link link = {
		.link_status = RTE_ETH_LINK_DOWN,
		.link_speed = RTE_ETH_SPEED_NUM_NONE,
		.link_duplex = RTE_ETH_LINK_FULL_DUPLEX,
		.link_autoneg = !(dev->data->dev_conf.link_speeds & RTE_ETH_LINK_SPEED_FIXED),
	};
	struct mlx4_port_info info;

	if (eth->link_on && !eth->hca->dead && mlx4_port_query(eth->hca, eth->port, &info) == 0) {
		eth->hca->port[eth->port - 1] = info;
		if (info.link_up) {
			link.link_status = RTE_ETH_LINK_UP;
			link.link_speed = info.speed;
		}
	}
	if (dev->data->dev_link.link_status == RTE_ETH_LINK_UP && link.link_status == RTE_ETH_LINK_DOWN)
		eth->link_downs++;
	return rte_eth_linkstatus_set(dev, &link);
}

/*
 * Polled, too: the card is asked each time, events only tell when. The interrupt thread asks beside others: who was overtaken
 * by an event asks again, so that the last word is not an old one.
 */
int
mlx4_link_update(struct rte_eth_dev *dev, int wait)
{
	const struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint32_t events;
	int same = -1;

	RTE_SET_USED(wait);
	do {
		events = __atomic_load_n(&eth->link_events, __ATOMIC_SEQ_CST);
		same &= link_look(dev);
	} while (events != __atomic_load_n(&eth->link_events, __ATOMIC_SEQ_CST));
	return same;
}

void
mlx4_link_on(struct mlx4_eth *eth, bool on)
{
	eth->link_on = on;
	eth->link_set_down = false;
	__atomic_add_fetch(&eth->link_events, 1, __ATOMIC_SEQ_CST);
}

int
mlx4_link_up(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	int rc = mlx4_port_init(eth->hca, eth->port);

	if (rc == 0)
		eth->link_set_down = false;
	return rc;
}

int
mlx4_link_down(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	int rc = mlx4_port_close(eth->hca, eth->port);

	if (rc == 0)
		eth->link_set_down = true;
	return rc;
}

void
mlx4_eth_event(struct mlx4_hca *hca, unsigned int port, const struct mlx4_async_event *e, void *arg)
{
	struct mlx4_eth *eth = arg;
	struct rte_eth_dev *dev = eth->dev;

	switch (e->type) {
	case MLX4_EVENT_PORT_CHANGE:
		__atomic_add_fetch(&eth->link_events, 1, __ATOMIC_SEQ_CST);
		if (mlx4_link_update(dev, 0) == 0 && dev->data->dev_conf.intr_conf.lsc != 0)
			rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, NULL);
		break;
	case MLX4_EVENT_LOCAL_CATAS:
		if (mlx4_link_update(dev, 0) == 0 && dev->data->dev_conf.intr_conf.lsc != 0)
			rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, NULL);
		mlx4_eth_removed(dev);
		rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_RMV, NULL);
		break;
	case MLX4_EVENT_RECOVERABLE:
		if (prm_get(e->eqe, MLX4_EQE_SUBTYPE) == MLX4_EQE_RECOVERABLE_DELAY_DROP)
			mlx4_dropless_expired(eth, prm_get(e->eqe, MLX4_EQE_DELAY_DROP_QPN));
		else
			__atomic_add_fetch(&eth->bad_modules, 1, __ATOMIC_RELAXED);
		break;
	default: mlx4_health_event(eth, e->type, e->eqe); break; /* the event is in the log */
	}
}

static void
txqs_frame_max(struct mlx4_eth *eth, uint16_t mtu)
{
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL)
			mlx4_txq_frame_max(eth->txqs[i], mtu);
}

/*
 * The card fails a queue pair for a frame that is longer than the MTU: none is posted from now on, and those that are get sent
 * before the card is told. A burst that runs at this moment keeps the old length; it is over when the next one has begun. Of a
 * queue that sends no more nobody knows whether its last burst is over or waits for a CPU: after BURST_NAPS it counts as over.
 */
static int
shorten(struct mlx4_eth *eth, uint16_t mtu)
{
	unsigned int naps = 0;
	uint16_t i;

	if (!eth->dev->data->dev_started) {
		txqs_frame_max(eth, mtu);
		return 0;
	}
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL)
			mlx4_txq_shorten(eth->txqs[i], mtu);
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		while (eth->txqs[i] != NULL && !mlx4_txq_shortened(eth->txqs[i]) && naps++ < BURST_NAPS)
			rte_delay_us_sleep(BURST_NAP_US);
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++) {
		if (eth->txqs[i] == NULL || mlx4_txq_sent(eth->txqs[i]))
			continue;
		MLX4_LOG(ERR,
			 "port %u: MTU %u: frames made for %u wait in transmit queue %u, which does not send; stop the "
			 "port first, or try again",
			 eth->dev->data->port_id, mtu, eth->mtu, i);
		return -EBUSY;
	}
	return 0;
}

int
mlx4_mtu_apply(struct mlx4_eth *eth, uint16_t mtu)
{
	int rc = mtu < eth->mtu ? shorten(eth, mtu) : 0;

	if (rc == 0)
		rc = mlx4_port_set_mtu(eth->hca, eth->port, mtu + MLX4_ETH_FRAME_OVERHEAD, mtu);
	if (rc == 0) {
		eth->mtu = mtu;
		mlx4_lso_apply(eth);
	}
	txqs_frame_max(eth, eth->mtu);
	return rc;
}

int
mlx4_mtu_set(struct rte_eth_dev *dev, uint16_t mtu)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint16_t i, max = RTE_MIN(MLX4_ETH_MTU_MAX, eth->hca->port[eth->port - 1].eth_mtu);

	if (mtu < MLX4_ETH_MTU_MIN || mtu > max) {
		MLX4_LOG(ERR, "port %u: MTU %u: wanted %u..%u", dev->data->port_id, mtu, MLX4_ETH_MTU_MIN, max);
		return -EINVAL;
	}
	if (!dev->data->dev_started) {
		eth->mtu = mtu;
		return 0;
	}
	/* The buffers of a running queue cannot grow. */
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		const struct mlx4_rxq *q = eth->rxqs[i];

		if (q != NULL && (uint32_t)mtu + MLX4_ETH_FRAME_OVERHEAD > mlx4_rxq_room(q)) {
			MLX4_LOG(ERR,
				 "port %u: MTU %u: frames of %zu bytes do not fit queue %u, which takes %u; stop the "
				 "port first",
				 dev->data->port_id, mtu, (size_t)mtu + MLX4_ETH_FRAME_OVERHEAD, i, mlx4_rxq_room(q));
			return -EBUSY;
		}
	}
	return mlx4_mtu_apply(eth, mtu);
}
