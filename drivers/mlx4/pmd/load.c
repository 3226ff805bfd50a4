/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * How full queues are, seen from beside the poller: whatever it moves is read once, so that a look which is late by one
 * burst is still a sensible one. The sets of a receive queue are held by their lock, the queue by the control lock.
 */
#include <errno.h>

#include "drivers/mlx4/rx/counts.h"
#include "drivers/mlx4/port/port.h"
#include "drivers/mlx4/tx/counts.h"
#include "rte_pmd_mlx4_queue.h"

static uint32_t
posted(const struct mlx4_rx_set *s)
{
	uint32_t sum = 0;
	uint16_t i;

	for (i = 0; i < s->num_rings; i++)
		sum += (uint16_t)(__atomic_load_n(&s->ring[i].pi, __ATOMIC_RELAXED) -
				  __atomic_load_n(&s->ring[i].ci, __ATOMIC_RELAXED));
	return sum;
}

int
rte_pmd_mlx4_rx_load_get(uint16_t port_id, uint16_t queue, struct rte_pmd_mlx4_rx_load *load)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	const struct mlx4_rx_set *s;
	const struct mlx4_rxq *q;
	struct mlx4_rx_counts c;
	int rc = -EINVAL;

	if (eth == NULL)
		return -ENODEV;
	memset(load, 0, sizeof(*load));
	mlx4_control_lock(eth);
	pthread_mutex_lock(&eth->sets_lock);
	q = queue < MLX4_ETH_MAX_RXQ ? eth->rxqs[queue] : NULL;
	if (q != NULL) {
		s = __atomic_load_n(&q->set, __ATOMIC_ACQUIRE);
		load->started = q->started;
		load->descriptors = q->nb_desc;
		load->waiting = mlx4_rx_set_waiting(s);
		load->posted = posted(s);
		mlx4_rxq_counts_since_reset(q, &c);
		load->packets = c.packets;
		load->nombuf = c.nombuf;
		load->errors = c.errors;
		load->numa_node = q->numa_node;
		rc = 0;
	}
	pthread_mutex_unlock(&eth->sets_lock);
	mlx4_control_unlock(eth);
	return rc;
}

int
rte_pmd_mlx4_tx_load_get(uint16_t port_id, uint16_t queue, struct rte_pmd_mlx4_tx_load *load)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	const struct mlx4_txq *q;
	struct mlx4_tx_counts c;
	uint32_t ci;
	int rc = -EINVAL;

	if (eth == NULL)
		return -ENODEV;
	memset(load, 0, sizeof(*load));
	mlx4_control_lock(eth);
	q = queue < MLX4_ETH_MAX_TXQ ? eth->txqs[queue] : NULL;
	if (q != NULL) {
		/* The consumer first: a producer that moves on meanwhile makes the queue fuller, not empty below zero. */
		ci = __atomic_load_n(&q->sq_ci, __ATOMIC_ACQUIRE);
		load->started = q->started;
		load->descriptors = q->nb_desc;
		load->room = q->sq_room;
		load->used = RTE_MIN(__atomic_load_n(&q->sq_pi, __ATOMIC_RELAXED) - ci, q->sq_room);
		mlx4_txq_counts_since_reset(q, &c);
		load->packets = c.packets;
		load->numa_node = q->numa_node;
		rc = 0;
	}
	mlx4_control_unlock(eth);
	return rc;
}
