/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The card's part of a declaration of quality of service: by SET_PORT, all of it or nothing. The card is told only what
 * differs from what it has. The defaults are what a card has after reset, so one whose port was never declared gets no such
 * command.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>

#include "qos.h"

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

void
mlx4_qos_card_of(const struct tp_qos_port *q, bool stalled, struct mlx4_qos_card *card)
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

int
mlx4_qos_card_change(struct mlx4_eth *eth, const struct mlx4_qos_card *want, char err[TP_ERR_LEN])
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

	mlx4_qos_card_of(&qos->conf, qos->stall.off, &want);
	rc = mlx4_qos_card_change(eth, &want, err);
	if (rc != 0)
		MLX4_LOG(ERR, "port %u: %s", eth->dev->data->port_id, err);
	return rc;
}
