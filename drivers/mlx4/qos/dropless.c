/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Dropless receive, by queue: the card lets a frame wait for a receive WQE instead of dropping it. When one waited for too
 * long the card drops and says so once; then the whole queue drops, until it is declared again.
 */
#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>

#include "drivers/mlx4/hca/fw_needs.h"
#include "qos.h"
#include "drivers/mlx4/rx/sides.h"

#define UNITS_MAX RTE_PMD_MLX4_DROPLESS_FOREVER

/* Tells every ring of a queue, or as many as possible: *done is how many took it. */
static int
rings_set(struct mlx4_rxq *q, uint16_t units, uint32_t limit, uint32_t *done)
{
	struct mlx4_rx_set *s = NULL;
	uint16_t side = 0, i;
	uint32_t n = 0;
	int rc = 0;

	while (rc == 0 && (s = mlx4_rxq_next_set(q, s, &side)) != NULL) {
		if (s->quiet)
			continue;
		for (i = 0; i < s->num_rings && n < limit && rc == 0; i++) {
			rc = mlx4_qp_delay_drop(q->eth->hca, &s->ring[i].qp, units);
			n += rc == 0;
		}
	}
	*done = n;
	return rc;
}

static bool
is_on(const struct mlx4_rxq *q)
{
	return q->delay_drop != 0 && !q->delay_drop_over;
}

/* After a queue went from or to dropless mode. */
static void
count(struct mlx4_eth *eth, bool before, bool after)
{
	struct mlx4_qos *qos = eth->qos;
	uint16_t port = eth->dev->data->port_id;

	if (before == after)
		return;
	if (after && qos->dropless++ == 0)
		mlx4_qos_tell(eth, RTE_PMD_MLX4_EVENT_DROPLESS_ENTERED, 0, "dropless mode entered on port %u", port);
	if (!after && --qos->dropless == 0)
		mlx4_qos_tell(eth, RTE_PMD_MLX4_EVENT_DROPLESS_EXITED, 0, "dropless mode exited on port %u", port);
}

void
mlx4_dropless_forget(struct mlx4_rxq *q)
{
	count(q->eth, is_on(q), false);
}

int
mlx4_dropless_set(struct mlx4_rxq *q, uint16_t units, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = q->eth;
	bool before = is_on(q);
	uint32_t done, undone;
	int rc;

	pthread_mutex_lock(&eth->sets_lock);
	rc = rings_set(q, units, UINT32_MAX, &done);
	if (rc != 0)
		rings_set(q, before ? q->delay_drop : 0, done, &undone);
	if (rc == 0) {
		q->delay_drop = units;
		q->delay_drop_over = false;
	}
	pthread_mutex_unlock(&eth->sets_lock);
	if (rc != 0) {
		snprintf(err, TP_ERR_LEN, "dropless %u of queue %u: the card refused: %s", units, q->queue_id,
			 rte_strerror(-rc));
		return rc;
	}
	count(eth, before, is_on(q));
	if (units != 0 && !eth->qos->conf.tx_pause && eth->qos->conf.tx_pfc == 0)
		MLX4_LOG(WARNING,
			 "port %u / queue %u: dropless receive without flow control: senders are not stopped, and what "
			 "does "
			 "not fit the port's buffer is lost",
			 eth->dev->data->port_id, q->queue_id);
	return 0;
}

int
mlx4_dropless_again(struct mlx4_rxq *q, char err[TP_ERR_LEN])
{
	const uint16_t units = q->eth->qos->rxq_wait[q->queue_id];

	return units == 0 ? 0 : mlx4_dropless_set(q, units, err);
}

/* The queue of a QP. */
static bool
owns(const struct mlx4_rxq *q, uint32_t qpn)
{
	const struct mlx4_rx_set *s = NULL;
	uint16_t side = 0, r;

	while ((s = mlx4_rxq_next_set(q, s, &side)) != NULL)
		for (r = 0; r < s->num_rings; r++)
			if (s->ring[r].qp.qpn == qpn)
				return true;
	return false;
}

static struct mlx4_rxq *
owner(struct mlx4_eth *eth, uint32_t qpn)
{
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_rx_queues; i++)
		if (eth->rxqs[i] != NULL && owns(eth->rxqs[i], qpn))
			return eth->rxqs[i];
	return NULL;
}

void
mlx4_dropless_expired(struct mlx4_eth *eth, uint32_t qpn)
{
	struct mlx4_rxq *q;
	uint32_t done;
	bool over;

	mlx4_qos_lock(eth);
	pthread_mutex_lock(&eth->sets_lock);
	q = owner(eth, qpn);
	over = q != NULL && is_on(q);
	if (over) {
		q->delay_drop_over = true;
		/* Its other rings must not wait either; one that refuses says so when its own time is over. */
		rings_set(q, 0, UINT32_MAX, &done);
	}
	pthread_mutex_unlock(&eth->sets_lock);
	if (over) {
		mlx4_qos_tell(eth, RTE_PMD_MLX4_EVENT_DROPLESS_TIMEOUT, q->queue_id,
			      "delay-drop timeout occurred on port %u / queue %u, drop mode entered",
			      eth->dev->data->port_id, q->queue_id);
		count(eth, true, false);
	}
	mlx4_qos_unlock(eth);
}

static int
check(struct mlx4_eth *eth, uint16_t queue_id, uint32_t units, char err[TP_ERR_LEN])
{
	const struct mlx4_caps *c = &eth->hca->caps;
	struct tp_qos_limits lim;

	if (queue_id >= eth->dev->data->nb_rx_queues || eth->rxqs[queue_id] == NULL) {
		snprintf(err, TP_ERR_LEN, "queue %u, want one of the %u receive queues that were set up", queue_id,
			 eth->dev->data->nb_rx_queues);
		return -EINVAL;
	}
	if (units > UNITS_MAX) {
		snprintf(err, TP_ERR_LEN, "dropless: %u, want 0..%u units of 100 us", units, UNITS_MAX);
		return -EINVAL;
	}
	mlx4_qos_limits(eth, &lim);
	if (units == 0 || lim.delay_drop)
		return 0;
	if (eth->hca->ib_ports != 0)
		snprintf(err, TP_ERR_LEN, "dropless: %u, want 0: port %u of the card is InfiniBand", units,
			 (eth->hca->ib_ports & 1) != 0 ? 1 : 2);
	else
		snprintf(err, TP_ERR_LEN, "dropless: %u, want 0: firmware %u.%u.%u has none, %s is needed", units,
			 c->fw_major, c->fw_minor, c->fw_subminor, mlx4_fw_needed(MLX4_FW_DROPLESS));
	return -ENOTSUP;
}

int
rte_pmd_mlx4_dropless_set(uint16_t port_id, uint16_t queue_id, uint32_t units, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_asked(port_id, err);
	uint32_t was = 0;
	int rc;

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	mlx4_qos_lock(eth);
	rc = check(eth, queue_id, units, err);
	if (rc == 0) {
		was = eth->rxqs[queue_id]->delay_drop;
		rc = mlx4_dropless_set(eth->rxqs[queue_id], (uint16_t)units, err);
	}
	if (rc == 0) {
		eth->qos->rxq_wait[queue_id] = (uint16_t)units;
		mlx4_tell_rxq(eth->rxqs[queue_id], "dropless", was, units);
	}
	mlx4_qos_unlock(eth);
	mlx4_control_unlock(eth);
	return rc;
}

int
rte_pmd_mlx4_dropless_get(uint16_t port_id, uint16_t queue_id, uint32_t *units, enum rte_pmd_mlx4_dropless *state)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	const struct mlx4_rxq *q;
	int rc = -EINVAL;

	if (eth == NULL)
		return -ENODEV;
	mlx4_qos_lock(eth);
	q = queue_id < eth->dev->data->nb_rx_queues ? eth->rxqs[queue_id] : NULL;
	if (q != NULL) {
		if (units != NULL)
			*units = q->delay_drop;
		if (state != NULL)
			*state = q->delay_drop == 0   ? RTE_PMD_MLX4_DROPLESS_OFF
				 : q->delay_drop_over ? RTE_PMD_MLX4_DROPLESS_EXPIRED
						      : RTE_PMD_MLX4_DROPLESS_ON;
		rc = 0;
	}
	mlx4_qos_unlock(eth);
	return rc;
}
