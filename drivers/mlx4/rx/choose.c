/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The choice of burst functions: at the start of a port, and while it runs. */
#include "bursts.h"

#include <errno.h>
#include <signal.h>

#include <rte_pause.h>

#include "ethdev.h"
#include "flood.h"
#include "rx_lro.h"
#include "rx_side.h"
#include "tx_policy.h"

#define SPINS_PER_LOOK 4096u

eth_rx_burst_t
mlx4_rx_burst_of(unsigned int way)
{
	if ((way & MLX4_RX_COUNTED) != 0)
		return mlx4_rx_burst_counting;
	switch (way) {
	case MLX4_RX_PLAIN: return mlx4_rx_burst_plain();
	case MLX4_RX_SCATTERED: return mlx4_rx_burst_scattered;
	case MLX4_RX_FLOOD: return mlx4_rx_burst_flood;
	case MLX4_RX_SIDES: return mlx4_rx_burst_sides;
	case MLX4_RX_LRO: return mlx4_rx_burst_lro;
	default: return mlx4_rxtx_removed;
	}
}

eth_tx_burst_t
mlx4_tx_burst_of(enum mlx4_tx_way way)
{
	switch (way) {
	case MLX4_TX_PLAIN: return mlx4_tx_burst;
	case MLX4_TX_POLICY: return mlx4_tx_burst_policy;
	default: return mlx4_rxtx_removed;
	}
}

static bool
has_died(const int32_t *poller)
{
	int32_t pid = __atomic_load_n(poller, __ATOMIC_RELAXED);

	return pid != 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

void
mlx4_burst_wait(void *const *busy, const void *old, const int32_t *poller)
{
	uint32_t spins = 1;

	for (; __atomic_load_n(busy, __ATOMIC_SEQ_CST) == old; spins++) {
		if (spins % SPINS_PER_LOOK == 0 && has_died(poller))
			return;
		rte_pause();
	}
}

/* The burst for frames in several buffers takes plain rings, too, puts times on packets, looks into tunnels, and stays until the port is started again. */
static enum mlx4_rx_way
queues_way(struct mlx4_eth *eth)
{
	struct rte_eth_dev_data *data = eth->dev->data;
	bool sides = false, lro = false;
	uint16_t i;

	for (i = 0; i < data->nb_rx_queues; i++) {
		data->scattered_rx |= eth->rxqs[i] != NULL &&
				      (eth->rxqs[i]->lg_sges != 0 || eth->rxqs[i]->stamp_flag != 0 || eth->tunnels);
		sides |= eth->rxqs[i] != NULL && eth->rxqs[i]->sides != NULL;
		lro |= eth->rxqs[i] != NULL && eth->rxqs[i]->lro != NULL;
	}
	if (lro)
		return MLX4_RX_LRO;
	if (sides)
		return MLX4_RX_SIDES;
	if (eth->flood != NULL)
		return MLX4_RX_FLOOD;
	return data->scattered_rx ? MLX4_RX_SCATTERED : MLX4_RX_PLAIN;
}

static unsigned int
rx_way(struct mlx4_eth *eth)
{
	return queues_way(eth) | (eth->counts_kinds ? MLX4_RX_COUNTED : 0);
}

static enum mlx4_tx_way
tx_way(const struct mlx4_eth *eth)
{
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL && eth->txqs[i]->policy != NULL)
			return MLX4_TX_POLICY;
	return MLX4_TX_PLAIN;
}

static void
choose_rx(struct rte_eth_dev *dev, unsigned int way)
{
	dev->rx_pkt_burst = mlx4_rx_burst_of(way);
	__atomic_store_n(&mlx4_eth_of(dev)->rx_way, (uint8_t)way, __ATOMIC_RELEASE);
}

static void
choose_tx(struct rte_eth_dev *dev, enum mlx4_tx_way way)
{
	dev->tx_pkt_burst = mlx4_tx_burst_of(way);
	dev->tx_pkt_prepare = way == MLX4_TX_OFF ? NULL : mlx4_tx_prepare;
	__atomic_store_n(&mlx4_eth_of(dev)->tx_way, (uint8_t)way, __ATOMIC_RELEASE);
}

/* Pollers use the copy that was made at the start of the port. */
void
mlx4_rx_burst_update(struct mlx4_eth *eth)
{
	struct rte_eth_dev *dev = eth->dev;

	if (!dev->data->dev_started || eth->hca->dead)
		return;
	choose_rx(dev, rx_way(eth));
	__atomic_store_n(&rte_eth_fp_ops[dev->data->port_id].rx_pkt_burst, dev->rx_pkt_burst, __ATOMIC_SEQ_CST);
}

void
mlx4_tx_burst_update(struct mlx4_eth *eth)
{
	struct rte_eth_dev *dev = eth->dev;

	if (!dev->data->dev_started || eth->hca->dead)
		return;
	choose_tx(dev, tx_way(eth));
	__atomic_store_n(&rte_eth_fp_ops[dev->data->port_id].tx_pkt_burst, dev->tx_pkt_burst, __ATOMIC_RELEASE);
}

void
mlx4_bursts_set(struct rte_eth_dev *dev)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);

	dev->data->scattered_rx = 0;
	choose_rx(dev, rx_way(eth));
	choose_tx(dev, tx_way(eth));
}

void
mlx4_bursts_clear(struct rte_eth_dev *dev)
{
	choose_rx(dev, MLX4_RX_OFF);
	choose_tx(dev, MLX4_TX_OFF);
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
