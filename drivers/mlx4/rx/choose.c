/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The choice of the receive burst: at the start of a port, and while it runs. */
#include "choose.h"

#include <rte_cpuflags.h>
#include <rte_vect.h>

#include "drivers/mlx4/port/handover.h"
#include "flood.h"
#include "kinds.h"
#include "lro.h"
#include "sides.h"

eth_rx_burst_t
mlx4_rx_burst_plain(void)
{
#ifdef RTE_ARCH_X86_64
	if (rte_vect_get_max_simd_bitwidth() >= RTE_VECT_SIMD_256 && rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX2) > 0)
		return mlx4_rx_burst_avx2;
#endif
	return mlx4_rx_burst;
}

eth_rx_burst_t
mlx4_rx_burst_of(unsigned int way)
{
	if ((way & MLX4_RX_HEADERS) != 0)
		return mlx4_rx_burst_headers;
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
	bool headers = eth->splits_headers;
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_rx_queues; i++)
		headers |= eth->rxqs[i] != NULL && eth->rxqs[i]->split_at != 0;
	return queues_way(eth) | (eth->counts_kinds ? MLX4_RX_COUNTED : 0) | (headers ? MLX4_RX_HEADERS : 0);
}

/* What is below the joining of segments, with its frames counted. */
static uint16_t
sides_counting(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t got = mlx4_rx_burst_sides(rxq, pkts, n);

	mlx4_rx_kinds_note(rxq, pkts, got);
	return got;
}

uint16_t
mlx4_rx_burst_counting(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_rxq *q = rxq;
	unsigned int way = __atomic_load_n(&q->eth->rx_way, __ATOMIC_ACQUIRE) & ~(MLX4_RX_COUNTED | MLX4_RX_HEADERS);
	uint16_t got;

	if (way == MLX4_RX_LRO)
		return mlx4_rx_burst_lro_over(sides_counting, q, pkts, n);
	got = mlx4_rx_burst_of(way)(q, pkts, n);
	mlx4_rx_kinds_note(q, pkts, got);
	return got;
}

/* Where there is a trace: the burst, and then the first of what it found. */
static uint16_t
burst_traced(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_rxq *q = rxq;
	uint16_t got = mlx4_rx_burst_of(__atomic_load_n(&q->eth->rx_way, __ATOMIC_ACQUIRE))(q, pkts, n);

	mlx4_rx_set_trace(q, q->set);
	return got;
}

static void
choose(struct mlx4_eth *eth, unsigned int way)
{
	eth->dev->rx_pkt_burst = eth->hca->trace != NULL && way != MLX4_RX_OFF ? burst_traced : mlx4_rx_burst_of(way);
	__atomic_store_n(&eth->rx_way, (uint8_t)way, __ATOMIC_RELEASE);
}

void
mlx4_rx_burst_choose(struct mlx4_eth *eth)
{
	choose(eth, rx_way(eth));
}

void
mlx4_rx_burst_off(struct mlx4_eth *eth)
{
	choose(eth, MLX4_RX_OFF);
}

/* Pollers use the copy that was made at the start of the port. */
void
mlx4_rx_burst_update(struct mlx4_eth *eth)
{
	struct rte_eth_dev *dev = eth->dev;

	if (!dev->data->dev_started || eth->hca->dead)
		return;
	mlx4_rx_burst_choose(eth);
	__atomic_store_n(&rte_eth_fp_ops[dev->data->port_id].rx_pkt_burst, dev->rx_pkt_burst, __ATOMIC_SEQ_CST);
}
