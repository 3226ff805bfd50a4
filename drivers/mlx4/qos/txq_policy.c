/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* How single transmit queues are treated: live changes of priority, rate, DSCP and lifetime at the head. */
#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>

#include "qos.h"

#define MBPS_EXACT 4095u /* the card has larger rates in steps of 1 Gb/s */

static void
refused(const struct mlx4_txq *q, const char *what, uint32_t value, int rc, char err[TP_ERR_LEN])
{
	snprintf(err, TP_ERR_LEN, "%s %u of Tx queue %u: the card refused: %s", what, value, q->queue_id,
		 rte_strerror(-rc));
}

int
mlx4_txq_dscp(struct mlx4_txq *q, int16_t dscp, char err[TP_ERR_LEN])
{
	uint8_t before = q->fixed_dscp;
	int rc;

	q->fixed_dscp = dscp < 0 ? 0 : (uint8_t)(dscp + 1);
	rc = mlx4_txq_marks_prepare(q, &q->eth->qos->conf, err);
	if (rc != 0) {
		q->fixed_dscp = before;
		return rc;
	}
	mlx4_txq_marks(q, &q->eth->qos->conf);
	return 0;
}

int
mlx4_txq_hol(struct mlx4_txq *q, uint32_t lifetime_us, char err[TP_ERR_LEN])
{
	uint32_t before = q->hol_lifetime_us;
	int rc;

	q->hol_lifetime_us = lifetime_us;
	rc = mlx4_txq_marks_prepare(q, &q->eth->qos->conf, err);
	if (rc != 0) {
		q->hol_lifetime_us = before;
		return rc;
	}
	mlx4_txq_marks(q, &q->eth->qos->conf);
	mlx4_watch_update(q->eth);
	return 0;
}

int
mlx4_txq_rate(struct mlx4_txq *q, uint32_t mbps, char err[TP_ERR_LEN])
{
	struct mlx4_hca *hca = q->eth->hca;
	unsigned int p = 0;
	int rc = mlx4_qp_rate(hca, &q->qp, mbps);

	for (; rc == 0 && p < TP_PRIOS; p++)
		if (q->lane[p] != NULL)
			rc = mlx4_qp_rate(hca, &q->lane[p]->qp, mbps);
	if (rc == 0) {
		q->rate_mbps = mbps <= MBPS_EXACT ? mbps : mbps - mbps % 1000;
		if (q->policy_slots != NULL)
			mlx4_txq_marks(q, &q->eth->qos->conf);
		return 0;
	}
	while (p-- > 0)
		if (q->lane[p] != NULL)
			mlx4_qp_rate(hca, &q->lane[p]->qp, q->rate_mbps);
	mlx4_qp_rate(hca, &q->qp, q->rate_mbps);
	refused(q, "rate", mbps, rc, err);
	return rc;
}

int
mlx4_txq_prio(struct mlx4_txq *q, uint8_t prio, char err[TP_ERR_LEN])
{
	uint8_t before = q->prio;
	int rc;

	if (prio == before)
		return 0;
	q->prio = prio;
	rc = mlx4_txq_marks_prepare(q, &q->eth->qos->conf, err);
	if (rc == 0) {
		rc = mlx4_qp_prio(q->eth->hca, &q->qp, prio);
		if (rc != 0)
			refused(q, "priority", prio, rc, err);
	}
	if (rc != 0)
		q->prio = before;
	else
		mlx4_txq_marks(q, &q->eth->qos->conf);
	return rc;
}

static struct mlx4_txq *
txq_of(const struct mlx4_eth *eth, uint16_t queue)
{
	return queue < eth->dev->data->nb_tx_queues ? eth->txqs[queue] : NULL;
}

/* The speed is known while the port is started and its link is up. */
static int
rate_set(struct mlx4_eth *eth, uint16_t queue, uint32_t rate, char err[TP_ERR_LEN])
{
	const uint32_t speed = eth->hca->port[eth->port - 1].speed;
	struct mlx4_txq *q;
	uint32_t was;
	int rc;

	mlx4_qos_lock(eth);
	q = txq_of(eth, queue);
	if (q == NULL || (speed != 0 && rate > speed)) {
		if (q == NULL)
			snprintf(err, TP_ERR_LEN, "rate: queue %u, want one of the %u transmit queues that were set up",
				 queue, eth->dev->data->nb_tx_queues);
		else
			snprintf(err, TP_ERR_LEN, "rate: '%u' of Tx queue %u, want 0..%u Mb/s, the port's speed", rate,
				 queue, speed);
		rc = -EINVAL;
	} else {
		was = q->rate_mbps;
		rc = mlx4_txq_rate(q, rate, err);
		if (rc == 0) {
			eth->qos->txq_rate[queue] = rate;
			mlx4_tell_txq(q, "rate", was, q->rate_mbps);
		}
	}
	mlx4_qos_unlock(eth);
	return rc;
}

int
mlx4_queue_rate_limit(struct rte_eth_dev *dev, uint16_t queue, uint32_t rate)
{
	char err[TP_ERR_LEN] = "";
	int rc = rate_set(mlx4_eth_of(dev), queue, rate, err);

	if (rc != 0)
		MLX4_LOG(ERR, "port %u: %s", dev->data->port_id, err);
	return rc;
}

int
rte_pmd_mlx4_txq_rate_set(uint16_t port_id, uint16_t queue_id, uint32_t mbps, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_asked(port_id, err);
	int rc;

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	rc = rate_set(eth, queue_id, mbps, err);
	mlx4_control_unlock(eth);
	return rc;
}

int
rte_pmd_mlx4_txq_prio_set(uint16_t port_id, uint16_t queue_id, uint8_t prio, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_asked(port_id, err);
	struct mlx4_txq *q;
	uint8_t was;
	int rc;

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
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
		was = q->prio;
		rc = mlx4_txq_prio(q, prio, err);
		if (rc == 0) {
			eth->qos->txq_prio[queue_id] = prio;
			mlx4_tell_txq(q, "prio", was, prio);
		}
	}
	mlx4_qos_unlock(eth);
	mlx4_control_unlock(eth);
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
