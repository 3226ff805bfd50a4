/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A port's declaration of quality of service, put in force: the card's part by SET_PORT, all of it or nothing. The card is
 * told only what differs from what it has; as the defaults are what a card has after reset, one whose port was never
 * declared gets no such command.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "fw_needs.h"
#include "group.h"
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

/* The scheduler: strict classes go by their number, each in a group of its own; shares come behind all of them. */
static void
sched_of(const struct tp_qos_port *q, struct mlx4_sched_tc sched[TP_TCS])
{
	uint8_t group = MLX4_SCHED_GROUP_STRICT;
	int tc;

	for (tc = TP_TCS - 1; tc >= 0; tc--) {
		bool ets = q->tc[tc].tsa == TP_TSA_ETS;

		sched[tc].group = ets ? MLX4_SCHED_GROUP_ETS : group++;
		sched[tc].share = ets ? q->tc[tc].bw_pct : 100;
		sched[tc].rate_mbps = q->tc[tc].rate_mbps;
	}
}

static void
card_of(const struct tp_qos_port *q, bool stalled, struct mlx4_qos_card *card)
{
	/* Compared byte by byte. */
	memset(card, 0, sizeof(*card));
	memcpy(card->prio_tc, q->prio_tc, sizeof(card->prio_tc));
	sched_of(q, card->sched);
	card->map.trust_dscp = q->trust == TP_TRUST_DSCP;
	card->map.untagged_lossless = q->rx_untagged_lossless;
	card->map.untagged_prio = q->untagged_prio;
	card->pause.rx = q->rx_pause;
	card->pause.rx_pfc = q->rx_pfc;
	card->pause.tx = q->tx_pause && !stalled;
	card->pause.tx_pfc = stalled ? 0 : q->tx_pfc;
}

static int
send_prio2tc(struct mlx4_eth *eth, const struct mlx4_qos_card *card)
{
	return mlx4_port_prio2tc(eth->hca, eth->port, card->prio_tc);
}

static int
send_scheduler(struct mlx4_eth *eth, const struct mlx4_qos_card *card)
{
	return mlx4_port_scheduler(eth->hca, eth->port, card->sched);
}

static int
send_prio_map(struct mlx4_eth *eth, const struct mlx4_qos_card *card)
{
	return mlx4_port_prio_map(eth->hca, eth->port, &card->map);
}

static int
send_pause(struct mlx4_eth *eth, const struct mlx4_qos_card *card)
{
	return mlx4_port_pause(eth->hca, eth->port, &card->pause);
}

#define PART(f) offsetof(struct mlx4_qos_card, f), sizeof(((struct mlx4_qos_card *)0)->f)
static const struct {
	const char *what;
	size_t off, len;
	int (*send)(struct mlx4_eth *eth, const struct mlx4_qos_card *card);
} step[] = {
	{"the classes of priorities", PART(prio_tc), send_prio2tc},
	{"the shares and rates of classes", PART(sched), send_scheduler},
	{"the priorities of received frames", PART(map), send_prio_map},
	{"pause frames", PART(pause), send_pause},
};

static bool
differs(unsigned int i, const struct mlx4_qos_card *a, const struct mlx4_qos_card *b)
{
	return memcmp((const uint8_t *)a + step[i].off, (const uint8_t *)b + step[i].off, step[i].len) != 0;
}

/* Takes the card from what it has to what is wanted, or leaves it as it was. */
static int
card_change(struct mlx4_eth *eth, const struct mlx4_qos_card *want, char err[TP_ERR_LEN])
{
	struct mlx4_qos_card *have = &eth->qos->card;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < RTE_DIM(step) && rc == 0; i++)
		if (differs(i, have, want))
			rc = step[i].send(eth, want);
	if (rc == 0) {
		*have = *want;
		return 0;
	}
	snprintf(err, TP_ERR_LEN, "the card refused %s: %s", step[--i].what, rte_strerror(-rc));
	while (i-- != 0)
		if (differs(i, have, want) && step[i].send(eth, have) != 0)
			MLX4_LOG(ERR, "port %u: the card did not take %s back", eth->dev->data->port_id, step[i].what);
	return rc;
}

int
mlx4_qos_pause_refresh(struct mlx4_eth *eth)
{
	struct mlx4_qos *qos = eth->qos;
	struct mlx4_qos_card want;
	char err[TP_ERR_LEN];
	int rc;

	card_of(&qos->conf, qos->stall.off, &want);
	rc = card_change(eth, &want, err);
	if (rc != 0)
		MLX4_LOG(ERR, "port %u: %s", eth->dev->data->port_id, err);
	return rc;
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
		rc = mlx4_groups_check_qos(eth, q, &lim, err);
	if (rc != 0)
		return rc;
	for (i = 0; i < TP_TCS; i++)
		conf.tc[i].rate_mbps = tp_qos_rate_round(conf.tc[i].rate_mbps);
	for (i = 0; i < eth->dev->data->nb_tx_queues; i++) {
		rc = eth->txqs[i] != NULL ? mlx4_txq_marks_prepare(eth->txqs[i], &conf, err) : 0;
		if (rc != 0)
			return rc;
	}
	card_of(&conf, qos->stall.off, &want);
	rc = card_change(eth, &want, err);
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
	card_of(&none, false, &qos->card);
	card_of(&qos->conf, qos->stall.off, &want);
	rc = card_change(eth, &want, err);
	if (rc != 0) {
		MLX4_LOG(ERR, "port %u: its quality of service is the default now: %s", eth->dev->data->port_id, err);
		mlx4_tell_port(eth, &qos->conf, &none);
		qos->conf = none;
	}
	mlx4_qos_unlock(eth);
	return rc;
}

int
mlx4_qos_create(struct mlx4_eth *eth)
{
	struct mlx4_qos *qos = rte_zmalloc_socket("mlx4_qos", sizeof(*qos), 0, eth->hca->numa_node);
	pthread_mutexattr_t attr;

	if (qos == NULL)
		return -ENOMEM;
	/* Who is told of an event may ask for the state. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&qos->lock, &attr);
	pthread_mutex_init(&eth->control, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_mutex_init(&eth->sets_lock, NULL);
	tp_qos_port_default(&qos->conf);
	card_of(&qos->conf, false, &qos->card);
	eth->qos = qos;
	return 0;
}

void
mlx4_qos_destroy(struct mlx4_eth *eth)
{
	if (eth->qos == NULL)
		return;
	pthread_mutex_destroy(&eth->qos->lock);
	pthread_mutex_destroy(&eth->sets_lock);
	pthread_mutex_destroy(&eth->control);
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
