/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The choice of the transmit burst: at the start of a port, and while it runs. */
#include "choose.h"

#include "drivers/mlx4/port/handover.h"
#include "policy.h"

eth_tx_burst_t
mlx4_tx_burst_of(enum mlx4_tx_way way)
{
	switch (way) {
	case MLX4_TX_PLAIN: return mlx4_tx_burst;
	case MLX4_TX_POLICY: return mlx4_tx_burst_policy;
	default: return mlx4_rxtx_removed;
	}
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

/*
 * Where there is a trace: the burst, and then the first of what it posted. A pair that failed is not the sender's, and one with
 * priorities may be stopped beside the sender: their entries are written when they stop.
 */
static uint16_t
burst_traced(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_txq *q = txq;
	const enum mlx4_tx_way way = (enum mlx4_tx_way)__atomic_load_n(&q->eth->tx_way, __ATOMIC_ACQUIRE);
	uint16_t sent = mlx4_tx_burst_of(way)(q, pkts, n);

	if (way == MLX4_TX_PLAIN && !__atomic_load_n(&q->broken, __ATOMIC_ACQUIRE))
		mlx4_txq_trace(q);
	return sent;
}

static void
choose(struct mlx4_eth *eth, enum mlx4_tx_way way)
{
	eth->dev->tx_pkt_burst = eth->hca->trace != NULL && way != MLX4_TX_OFF ? burst_traced : mlx4_tx_burst_of(way);
	eth->dev->tx_pkt_prepare = way == MLX4_TX_OFF ? NULL : mlx4_tx_prepare;
	__atomic_store_n(&eth->tx_way, (uint8_t)way, __ATOMIC_RELEASE);
}

void
mlx4_tx_burst_choose(struct mlx4_eth *eth)
{
	choose(eth, tx_way(eth));
}

void
mlx4_tx_burst_off(struct mlx4_eth *eth)
{
	choose(eth, MLX4_TX_OFF);
}

/* Pollers use the copy that was made at the start of the port. */
void
mlx4_tx_burst_update(struct mlx4_eth *eth)
{
	struct rte_eth_dev *dev = eth->dev;

	if (!dev->data->dev_started || eth->hca->dead)
		return;
	mlx4_tx_burst_choose(eth);
	__atomic_store_n(&rte_eth_fp_ops[dev->data->port_id].tx_pkt_burst, dev->tx_pkt_burst, __ATOMIC_RELEASE);
}
