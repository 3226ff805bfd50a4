/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Receive interrupts. The card's vectors are shared out: 0 is the asynchronous EQ's, then those of the ports' verbs queues, then a
 * block for each port, one completion EQ per receive queue. Each port has an interrupt handle of its own that names its
 * block's event fds, once some port wanted receive interrupts.
 */
#include <errno.h>

#include <rte_interrupts.h>

#include "drivers/mlx4/rx/queue.h"
#include "ethdev.h"

int
mlx4_rx_vector(const struct mlx4_eth *eth, uint16_t queue)
{
	unsigned int v = eth->hca->num_verbs_eq + (eth->port - 1) * MLX4_ETH_RX_VECTORS + queue;

	return queue < MLX4_ETH_RX_VECTORS && v < eth->hca->num_comp_eq ? (int)v : -1;
}

int
mlx4_eth_intr_init(struct mlx4_eth *eth)
{
	struct rte_intr_handle *h = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);

	if (h == NULL)
		return -ENOMEM;
	rte_intr_type_set(h, RTE_INTR_HANDLE_VDEV);
	rte_intr_efd_counter_size_set(h, sizeof(uint64_t));
	if (rte_intr_event_list_update(h, MLX4_ETH_RX_VECTORS + 1) != 0 ||
	    rte_intr_vec_list_alloc(h, "mlx4_vectors", MLX4_ETH_RX_VECTORS) != 0) {
		rte_intr_instance_free(h);
		return -ENOMEM;
	}
	eth->dev->intr_handle = h;
	mlx4_eth_intr_connect(eth);
	return 0;
}

void
mlx4_eth_intr_connect(struct mlx4_eth *eth)
{
	struct rte_intr_handle *card = eth->hca->bus->intr, *h = eth->dev->intr_handle;
	int n = 0, v;

	rte_intr_fd_set(h, rte_intr_fd_get(card));
	while ((v = mlx4_rx_vector(eth, n)) >= 0 && v + 1 < (int)eth->hca->num_vectors) {
		rte_intr_efds_index_set(h, n, rte_intr_efds_index_get(card, v));
		rte_intr_vec_list_index_set(h, n, RTE_INTR_VEC_RXTX_OFFSET + n);
		n++;
	}
	rte_intr_nb_efd_set(h, n);
	rte_intr_max_intr_set(h, n + 1);
}

int
mlx4_eth_intr_configure(struct mlx4_eth *eth)
{
	const struct rte_eth_dev_data *data = eth->dev->data;
	int rc;

	if (data->dev_conf.intr_conf.rxq == 0 || data->nb_rx_queues == 0)
		return 0;
	if (mlx4_rx_vector(eth, data->nb_rx_queues - 1) < 0) {
		MLX4_LOG(ERR, "port %u: receive interrupts of %u queues: there are vectors for %d", data->port_id,
			 data->nb_rx_queues, MLX4_ETH_RX_VECTORS);
		return -EINVAL;
	}
	rc = mlx4_rx_vectors_connect(eth->hca);
	if (rc == 0)
		mlx4_eth_intr_connect(eth);
	return rc;
}

void
mlx4_eth_intr_disconnect(struct mlx4_eth *eth)
{
	rte_intr_free_epoll_fd(eth->dev->intr_handle);
}

void
mlx4_eth_intr_fini(struct mlx4_eth *eth)
{
	struct rte_intr_handle *h = eth->dev->intr_handle;

	if (h == NULL)
		return;
	eth->dev->intr_handle = NULL;
	rte_intr_free_epoll_fd(h);
	rte_intr_vec_list_free(h);
	rte_intr_instance_free(h);
}

int
mlx4_rx_intr_enable(struct rte_eth_dev *dev, uint16_t queue)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	struct mlx4_rxq *q = eth->rxqs[queue];
	int rc;

	if (q == NULL || q->vector < 0)
		return -EINVAL;
	mlx4_comp_eq_rearm(eth->hca, q->vector, mlx4_rxq_cq_event, q);
	rc = mlx4_rxq_arm(q);
	if (eth->hca->bus->polled != NULL)
		eth->hca->bus->polled->rest(eth->hca->bus);
	return rc;
}

int
mlx4_rx_intr_disable(struct rte_eth_dev *dev, uint16_t queue)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	struct mlx4_rxq *q = eth->rxqs[queue];

	/* An armed CQ fires once at most; its entry is taken here. */
	if (q == NULL || q->vector < 0)
		return -EINVAL;
	q->intr_on = false;
	mlx4_comp_eq_rearm(eth->hca, q->vector, mlx4_rxq_cq_event, q);
	return 0;
}
