/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* VLAN stripping of queues, and the operation that sets it and the filter. */
#include <errno.h>

#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/steer/vlan.h"
#include "ethdev.h"

static int
check_strip(const struct mlx4_rxq *q)
{
	if (q->stamp_flag == 0)
		return 0;
	MLX4_LOG(ERR,
		 "port %u Rx queue %u: its packets carry the time of arrival where their tag would be: no VLAN "
		 "stripping",
		 q->port_id, q->queue_id);
	return -ENOTSUP;
}

/*
 * Queues from..to-1, all or none. What was received before has its tag in the frame, or beside it, as the rings were made;
 * so the queues of a started port get other ones.
 */
static int
strip_set(struct mlx4_eth *eth, uint16_t from, uint16_t to, bool on)
{
	bool before[MLX4_ETH_MAX_RXQ];
	uint16_t i;
	int rc = 0;

	for (i = from; i < to && rc == 0; i++)
		rc = on && eth->rxqs[i] != NULL ? check_strip(eth->rxqs[i]) : 0;
	if (rc != 0)
		return rc;
	for (i = from; i < to; i++) {
		if (eth->rxqs[i] == NULL)
			continue;
		before[i] = eth->rxqs[i]->vlan_strip;
		eth->rxqs[i]->vlan_strip = on;
	}
	rc = eth->dev->data->dev_started ? mlx4_rss_refresh(eth) : 0;
	if (rc == 0)
		return 0;
	for (i = from; i < to; i++)
		if (eth->rxqs[i] != NULL)
			eth->rxqs[i]->vlan_strip = before[i];
	if (mlx4_rss_refresh(eth) != 0)
		MLX4_LOG(ERR, "port %u: some queues strip VLANs otherwise than before", eth->dev->data->port_id);
	return rc;
}

int
mlx4_vlan_offload_set(struct rte_eth_dev *dev, int mask)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	bool strip = (dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
	int rc = 0;

	/* The filter last: it can be told again what it was, and what is refused is not begun. */
	if ((mask & RTE_ETH_VLAN_STRIP_MASK) != 0)
		rc = strip_set(eth, 0, dev->data->nb_rx_queues, strip);
	if (rc == 0 && (mask & RTE_ETH_VLAN_FILTER_MASK) != 0 && dev->data->dev_started)
		rc = mlx4_vlan_apply(eth);
	return rc;
}

void
mlx4_vlan_strip_queue_set(struct rte_eth_dev *dev, uint16_t queue, int on)
{
	if (queue < dev->data->nb_rx_queues)
		strip_set(mlx4_eth_of(dev), queue, queue + 1, on != 0);
}
