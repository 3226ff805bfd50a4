/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Priority and rate of single transmit queues. */
#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>

#include "qos.h"

#define MBPS_EXACT 4095u /* the card has larger rates in steps of 1 Gb/s */

static struct mlx4_txq *
txq_of(const struct mlx4_eth *eth, uint16_t queue)
{
	return queue < eth->dev->data->nb_tx_queues ? eth->txqs[queue] : NULL;
}

int
mlx4_queue_rate_limit(struct rte_eth_dev *dev, uint16_t queue, uint32_t rate)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	uint32_t speed = eth->hca->port[eth->port - 1].speed;
	struct mlx4_txq *q;
	int rc;

	mlx4_qos_lock(eth);
	q = txq_of(eth, queue);
	if (q == NULL || (speed != 0 && rate > speed)) {
		if (q == NULL)
			MLX4_LOG(ERR, "port %u: rate of Tx queue %u, which is not set up", dev->data->port_id, queue);
		else
			MLX4_LOG(ERR, "port %u: Tx queue %u at %u Mb/s: wanted 0..%u, the port's speed",
				 dev->data->port_id, queue, rate, speed);
		rc = -EINVAL;
	} else {
		rc = mlx4_qp_rate(eth->hca, &q->qp, rate);
		if (rc == 0)
			q->rate_mbps = rate <= MBPS_EXACT ? rate : rate - rate % 1000;
	}
	mlx4_qos_unlock(eth);
	return rc;
}

int
mlx4_txq_prio(struct mlx4_txq *q, uint8_t prio, char err[TP_ERR_LEN])
{
	int rc = q->prio == prio ? 0 : mlx4_qp_prio(q->eth->hca, &q->qp, prio);

	if (rc == 0)
		q->prio = prio;
	else
		snprintf(err, TP_ERR_LEN, "priority %u of Tx queue %u: the card refused: %s", prio, q->queue_id,
			 rte_strerror(-rc));
	return rc;
}

int
rte_pmd_mlx4_txq_prio_set(uint16_t port_id, uint16_t queue_id, uint8_t prio, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	struct mlx4_txq *q;
	int rc;

	if (eth == NULL) {
		snprintf(err, TP_ERR_LEN, "port %u is not a port of this driver", port_id);
		return -ENODEV;
	}
	err[0] = '\0';
	mlx4_qos_lock(eth);
	q = txq_of(eth, queue_id);
	if (q == NULL || prio >= TP_PRIOS) {
		if (q == NULL)
			snprintf(err, TP_ERR_LEN, "queue %u, want one of the %u transmit queues that were set up",
				 queue_id, eth->dev->data->nb_tx_queues);
		else
			snprintf(err, TP_ERR_LEN, "priority %u, want 0..%u", prio, TP_PRIOS - 1);
		rc = -EINVAL;
	} else {
		rc = mlx4_txq_prio(q, prio, err);
	}
	mlx4_qos_unlock(eth);
	return rc;
}

int
rte_pmd_mlx4_txq_policy_get(uint16_t port_id, uint16_t queue_id, struct rte_pmd_mlx4_txq_policy *policy)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	const struct mlx4_txq *q;

	if (eth == NULL)
		return -ENODEV;
	mlx4_qos_lock(eth);
	q = txq_of(eth, queue_id);
	if (q != NULL) {
		policy->prio = q->prio;
		policy->rate_mbps = q->rate_mbps;
	}
	mlx4_qos_unlock(eth);
	return q != NULL ? 0 : -EINVAL;
}
