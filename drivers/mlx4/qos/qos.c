/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A port's declaration of quality of service: checked, put in force, restored after a reset of the card; and the public
 * functions.
 */
#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "drivers/mlx4/hca/fw_needs.h"
#include "qos.h"

void
mlx4_qos_limits(struct mlx4_eth *eth, struct tp_qos_limits *lim)
{
	const struct mlx4_caps *c = &eth->hca->caps;
	struct mlx4_port_info info = eth->hca->port[eth->port - 1], now;

	/* The link may have come up since somebody asked. */
	if (!eth->hca->dead && mlx4_port_query(eth->hca, eth->port, &now) == 0)
		info = now;
	memset(lim, 0, sizeof(*lim));
	lim->max_tc = RTE_MAX(RTE_MIN(info.max_tc, TP_TCS), 1);
	lim->speed_mbps = info.speed;
	lim->pfc = true;
	lim->ets = c->ets && ((c->flags >> MLX4_DEV_FLAG_SET_ETH_SCHED) & 1) != 0;
	lim->dscp = mlx4_fw_serves(c, MLX4_FW_DSCP);
	lim->delay_drop = mlx4_fw_serves(c, MLX4_FW_DROPLESS) && eth->hca->ib_ports == 0;
	lim->max_groups = TP_GROUPS;
	lim->max_rx_queues = eth->dev->data->nb_rx_queues;
}

int
mlx4_qos_apply(struct mlx4_eth *eth, const struct tp_qos_port *q, char err[TP_ERR_LEN])
{
	struct mlx4_qos *qos = eth->qos;
	struct tp_qos_port conf = *q, was;
	struct tp_qos_limits lim;
	struct mlx4_qos_card want;
	uint32_t i;
	int rc;

	err[0] = '\0';
	mlx4_qos_limits(eth, &lim);
	rc = tp_qos_port_check(q, &lim, err);
	if (rc == 0)
		rc = qos->judge == NULL ? 0 : qos->judge(eth, q, &lim, err);
	if (rc != 0)
		return rc;
	for (i = 0; i < TP_TCS; i++)
		conf.tc[i].rate_mbps = tp_qos_rate_round(conf.tc[i].rate_mbps);
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++) {
		rc = eth->txqs[i] != NULL ? mlx4_txq_marks_prepare(eth->txqs[i], &conf, err) : 0;
		if (rc != 0)
			return rc;
	}
	mlx4_qos_card_of(&conf, qos->stall.off, &want);
	rc = mlx4_qos_card_change(eth, &want, err);
	if (rc != 0)
		return rc;
	was = qos->conf;
	qos->conf = conf;
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL)
			mlx4_txq_marks(eth->txqs[i], &conf);
	mlx4_watch_update(eth);
	mlx4_tell_port(eth, &was, &conf);
	return 0;
}

int
mlx4_qos_restore(struct mlx4_eth *eth)
{
	struct mlx4_qos *qos = eth->qos;
	struct mlx4_qos_card want;
	struct tp_qos_port none;
	char err[TP_ERR_LEN];
	int rc;

	mlx4_qos_lock(eth);
	tp_qos_port_default(&none);
	mlx4_qos_card_of(&none, false, &qos->card);
	mlx4_qos_card_of(&qos->conf, qos->stall.off, &want);
	rc = mlx4_qos_card_change(eth, &want, err);
	if (rc != 0) {
		MLX4_LOG(ERR, "port %u: its quality of service is the default now: %s", eth->dev->data->port_id, err);
		mlx4_tell_port(eth, &qos->conf, &none);
		qos->conf = none;
	}
	if (rc == 0)
		rc = mlx4_cc_restore(eth);
	if (rc == 0)
		rc = mlx4_qcn_restore(eth);
	mlx4_qos_unlock(eth);
	return rc;
}

int
mlx4_qos_create(struct mlx4_eth *eth)
{
	struct mlx4_qos *qos = rte_zmalloc_socket("mlx4_qos", sizeof(*qos), 0, eth->hca->numa_node);

	if (qos == NULL)
		return -ENOMEM;
	tp_qos_port_default(&qos->conf);
	mlx4_qos_card_of(&qos->conf, false, &qos->card);
	eth->qos = qos;
	return 0;
}

void
mlx4_qos_destroy(struct mlx4_eth *eth)
{
	if (eth->qos == NULL)
		return;
	rte_free(eth->qos->tm);
	rte_free(eth->qos);
	eth->qos = NULL;
}

int
rte_pmd_mlx4_qos_limits(uint16_t port_id, struct tp_qos_limits *lim)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	mlx4_qos_limits(eth, lim);
	return 0;
}

int
rte_pmd_mlx4_qos_get(uint16_t port_id, struct tp_qos_port *q)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	mlx4_qos_lock(eth);
	*q = eth->qos->conf;
	mlx4_qos_unlock(eth);
	return 0;
}

int
rte_pmd_mlx4_qos_set(uint16_t port_id, const struct tp_qos_port *q, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_asked(port_id, err);
	int rc;

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	mlx4_qos_lock(eth);
	rc = mlx4_qos_apply(eth, q, err);
	mlx4_qos_unlock(eth);
	mlx4_control_unlock(eth);
	return rc;
}

int
rte_pmd_mlx4_qos_on_event(uint16_t port_id, rte_pmd_mlx4_qos_event_fn fn, void *arg)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	mlx4_qos_lock(eth);
	eth->qos->event_fn = fn;
	eth->qos->event_arg = arg;
	mlx4_qos_unlock(eth);
	return 0;
}

const struct tp_qos_ops rte_pmd_mlx4_qos_ops = {
	.limits = rte_pmd_mlx4_qos_limits,
	.get = rte_pmd_mlx4_qos_get,
	.set = rte_pmd_mlx4_qos_set,
};
