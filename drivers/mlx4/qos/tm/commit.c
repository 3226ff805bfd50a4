/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* From a hierarchy to a declaration: classes, shares, rates, and the priority of each queue. */
#include <errno.h>

#include "tm.h"

/* What a commit changes of the queues. */
struct queues {
	uint8_t prio[MLX4_ETH_MAX_TXQ];
	uint32_t rate[MLX4_ETH_MAX_TXQ];
};

static uint32_t
rate_of(const struct mlx4_tm *tm, const struct mlx4_tm_node *n)
{
	return n->profile == RTE_TM_SHAPER_PROFILE_ID_NONE ? 0 : mlx4_tm_profile(tm, n->profile)->mbps;
}

/* The last priority that a class has, and how many have it; how many share an earlier one. */
static uint32_t
last_priority(const struct mlx4_tm *tm, uint32_t *sharing, bool *shared_before)
{
	uint32_t count[TP_TCS] = {0}, i, last = 0;

	for (i = 0; i < TP_TCS; i++) {
		if (!tm->tc[i].used)
			continue;
		count[tm->tc[i].priority]++;
		last = RTE_MAX(last, tm->tc[i].priority);
	}
	*shared_before = false;
	for (i = 0; i < last; i++)
		*shared_before |= count[i] > 1;
	*sharing = count[last];
	return last;
}

/* Shares of whole percents that add up to 100, by the largest remainders. False: one would be 0. */
static bool
shares(const struct mlx4_tm *tm, uint32_t last, uint8_t share[TP_TCS])
{
	uint32_t sum = 0, given = 0, rest[TP_TCS] = {0}, i, best;
	bool ok = true;

	for (i = 0; i < TP_TCS; i++)
		sum += tm->tc[i].used && tm->tc[i].priority == last ? tm->tc[i].weight : 0;
	for (i = 0; i < TP_TCS; i++) {
		share[i] = 0;
		if (!tm->tc[i].used || tm->tc[i].priority != last)
			continue;
		share[i] = (uint8_t)(tm->tc[i].weight * 100 / sum);
		rest[i] = tm->tc[i].weight * 100 % sum;
		given += share[i];
	}
	for (; given < 100; given++) {
		for (i = 1, best = 0; i < TP_TCS; i++)
			best = rest[i] > rest[best] ? i : best;
		share[best]++;
		rest[best] = 0;
	}
	for (i = 0; i < TP_TCS; i++)
		ok &= !tm->tc[i].used || tm->tc[i].priority != last || share[i] != 0;
	return ok;
}

/* The card's class of each: those that share come first, then strict ones, the most urgent with the highest number. */
static void
number_classes(const struct mlx4_tm *tm, uint32_t last, uint8_t class[TP_TCS])
{
	uint8_t next = 0;
	int prio;
	uint32_t i;

	for (prio = (int)last; prio >= 0; prio--)
		for (i = 0; i < TP_TCS; i++)
			if (tm->tc[i].used && tm->tc[i].priority == (uint32_t)prio)
				class[i] = next++;
}

static int
declaration(const struct rte_eth_dev *dev, const struct mlx4_tm *tm, struct tp_qos_port *q, struct queues *to,
	    struct rte_tm_error *error)
{
	uint32_t sharing, last, i;
	uint8_t class[TP_TCS] = {0}, share[TP_TCS];
	bool shared_before;

	last = last_priority(tm, &sharing, &shared_before);
	if (sharing == 0)
		return mlx4_tm_refuse(dev, error, RTE_TM_ERROR_TYPE_NODE_ID, "classes, want one at least", 0);
	if (shared_before)
		return mlx4_tm_refuse(dev, error, RTE_TM_ERROR_TYPE_NODE_PRIORITY,
				      "only the last priority can be shared by classes", last);
	if (!shares(tm, last, share))
		return mlx4_tm_refuse(dev, error, RTE_TM_ERROR_TYPE_NODE_WEIGHT,
				      "a class would have a share below 1 percent", sharing);
	number_classes(tm, last, class);
	memset(q->tc, 0, sizeof(q->tc));
	memset(q->prio_tc, 0, sizeof(q->prio_tc));
	for (i = 0; i < TP_TCS; i++) {
		struct tp_qos_tc *tc = &q->tc[class[i]];

		if (!tm->tc[i].used)
			continue;
		q->prio_tc[class[i]] = class[i];
		tc->rate_mbps = rate_of(tm, &tm->tc[i]);
		if (sharing > 1 && tm->tc[i].priority == last) {
			tc->tsa = TP_TSA_ETS;
			tc->bw_pct = share[i];
		}
	}
	for (i = 0; i < MLX4_ETH_MAX_TXQ; i++)
		if (tm->leaf[i].used) {
			to->prio[i] = class[tm->leaf[i].parent];
			to->rate[i] = rate_of(tm, &tm->leaf[i]);
		}
	return 0;
}

/* All queues, or up to the first that refuses. */
static int
queues_set(struct mlx4_eth *eth, const struct queues *to, char err[TP_ERR_LEN])
{
	uint16_t i;
	int rc = 0;

	for (i = 0; i < eth->dev->data->nb_tx_queues && rc == 0; i++) {
		if (eth->txqs[i] == NULL)
			continue;
		rc = mlx4_txq_prio(eth->txqs[i], to->prio[i], err);
		if (rc == 0)
			rc = mlx4_txq_rate(eth->txqs[i], to->rate[i], err);
	}
	return rc;
}

static int
put_in_force(struct mlx4_eth *eth, const struct tp_qos_port *q, const struct queues *to, char err[TP_ERR_LEN])
{
	struct tp_qos_port before = eth->qos->conf;
	char undo[TP_ERR_LEN];
	struct queues had;
	uint16_t i;
	int rc;

	memcpy(had.prio, eth->qos->txq_prio, sizeof(had.prio));
	memcpy(had.rate, eth->qos->txq_rate, sizeof(had.rate));
	rc = mlx4_qos_apply(eth, q, err);
	if (rc != 0)
		return rc;
	rc = queues_set(eth, to, err);
	if (rc == 0) {
		for (i = 0; i < eth->dev->data->nb_tx_queues; i++) {
			if (eth->txqs[i] == NULL)
				continue;
			mlx4_tell_txq(eth->txqs[i], "prio", had.prio[i], to->prio[i]);
			mlx4_tell_txq(eth->txqs[i], "rate", had.rate[i], to->rate[i]);
		}
		memcpy(eth->qos->txq_prio, to->prio, sizeof(to->prio));
		memcpy(eth->qos->txq_rate, to->rate, sizeof(to->rate));
		return 0;
	}
	if (queues_set(eth, &had, undo) != 0 || mlx4_qos_apply(eth, &before, undo) != 0)
		MLX4_LOG(ERR, "port %u: what was before the commit does not hold either: %s", eth->dev->data->port_id,
			 undo);
	return rc;
}

int
mlx4_tm_commit(struct rte_eth_dev *dev, int clear_on_fail, struct rte_tm_error *error)
{
	struct mlx4_eth *eth = mlx4_eth_of(dev);
	struct mlx4_tm *tm = eth->qos->tm;
	struct tp_qos_port q;
	struct queues to;
	char err[TP_ERR_LEN];
	int rc;

	if (tm == NULL || !tm->port.used)
		return mlx4_tm_refuse(dev, error, RTE_TM_ERROR_TYPE_NODE_ID, "there is no root", 0);
	mlx4_control_lock(eth);
	mlx4_qos_lock(eth);
	q = eth->qos->conf;
	memcpy(to.prio, eth->qos->txq_prio, sizeof(to.prio));
	memcpy(to.rate, eth->qos->txq_rate, sizeof(to.rate));
	rc = declaration(dev, tm, &q, &to, error);
	if (rc == 0) {
		rc = put_in_force(eth, &q, &to, err);
		if (rc != 0) {
			MLX4_LOG(ERR, "port %u: %s", dev->data->port_id, err);
			mlx4_tm_error(error, RTE_TM_ERROR_TYPE_UNSPECIFIED, "the port cannot, see the log");
		}
	}
	if (rc != 0 && clear_on_fail != 0) {
		memset(&tm->port, 0, sizeof(tm->port));
		memset(tm->tc, 0, sizeof(tm->tc));
		memset(tm->leaf, 0, sizeof(tm->leaf));
		memset(tm->profile, 0, sizeof(tm->profile));
	}
	mlx4_qos_unlock(eth);
	mlx4_control_unlock(eth);
	return rc;
}
