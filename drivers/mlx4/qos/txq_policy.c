/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * How single transmit queues are treated: priority, rate, rules and marks. A send queue of the card has one priority, so
 * a queue whose port has rules gets a queue pair ("lane") for each priority that a rule names.
 */
#include <errno.h>
#include <stdio.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "qos.h"
#include "tx_policy.h"

#define PACE_BURST_S 0.001     /* of the rate ... */
#define PACE_BURST_MIN 32768.0 /* ... at least so many bytes may go at once */
#define PRIO_SHIFT 13          /* of a tag [802.1Q 9.6] */
#define MBPS_EXACT 4095u       /* the card has larger rates in steps of 1 Gb/s */

static void
refused(const struct mlx4_txq *q, const char *what, uint32_t value, int rc, char err[TP_ERR_LEN])
{
	snprintf(err, TP_ERR_LEN, "%s %u of Tx queue %u: the card refused: %s", what, value, q->queue_id,
		 rte_strerror(-rc));
}

/* What a declaration means for a queue. */
struct marks {
	const struct mlx4_txq *q;
	const struct tp_qos_port *conf;
};

/* Priorities, as bits, at which a queue of this declaration may send. */
static uint8_t
prios_of(const struct mlx4_txq *q, const struct tp_qos_port *conf)
{
	uint8_t mask = (uint8_t)(1u << q->prio);
	uint32_t i;

	for (i = 0; i < conf->num_rules; i++)
		mask |= (uint8_t)(1u << conf->rule[i].prio);
	return conf->dscp_ets ? 0xff : mask;
}

/* The rate of a queue, when it is the sum of what several queue pairs send. */
static void
pace(struct mlx4_tx_policy *p, const struct mlx4_txq *q, const struct tp_qos_port *conf)
{
	double bytes = (double)q->rate_mbps * 1e6 / 8, burst = RTE_MAX(bytes * PACE_BURST_S, PACE_BURST_MIN);

	p->pace = p->pace_burst = 0;
	if (q->rate_mbps == 0 || prios_of(q, conf) == 1u << q->prio)
		return;
	p->pace = (uint64_t)(bytes / (double)rte_get_tsc_hz() * (double)MLX4_PACE_ONE);
	p->pace_burst = (int64_t)(burst * (double)MLX4_PACE_ONE);
}

/* Whether there is anything to write down for a queue. */
static bool
wants_policy(const struct mlx4_txq *q, const struct tp_qos_port *conf)
{
	return conf->dscp_ets || conf->num_rules != 0 || conf->mark_dscp || conf->hol_lifetime_us != 0 ||
	       conf->tag_untagged != 0 || q->prio != 0 || q->fixed_dscp != 0 || q->hol_lifetime_us != 0 ||
	       q->policy_slots != NULL;
}

/* The tags of frames that have none: by the declaration, else of those only whose priority is not 0. */
static void
set_tags(struct mlx4_tx_policy *p, const struct tp_qos_port *conf)
{
	const bool all = conf->tag_untagged != 0, prio = !all || (conf->tag_untagged & TP_TAG_PRIO) != 0;
	const uint16_t vid = (conf->tag_untagged & TP_TAG_VLAN) != 0 ? conf->port_vlan : 0;
	unsigned int i;

	p->tags = all ? 0xff : conf->tx_untag_priority ? 0 : 0xfe;
	for (i = 0; i < TP_PRIOS; i++)
		p->tci[i] = (uint16_t)(vid | (prio ? i << PRIO_SHIFT : 0));
}

static void
edit_marks(struct mlx4_tx_policy *p, const void *arg)
{
	const struct marks *want = arg;
	const struct mlx4_txq *q = want->q;
	const bool gfc = want->conf->rx_pause || want->conf->tx_pause;
	unsigned int i;

	tp_qos_classes_make(want->conf, &p->classes);
	p->classify = p->classes.n != 0;
	p->by_dscp = want->conf->dscp_ets;
	set_tags(p, want->conf);
	p->prio = q->prio;
	p->fixed_dscp = q->fixed_dscp;
	p->watched = want->conf->hol_lifetime_us != 0 || q->hol_lifetime_us != 0;
	for (i = 0; i < TP_PRIOS; i++) {
		p->dscp[i] = !want->conf->mark_dscp ? -1
			     : gfc                  ? (int8_t)want->conf->dscp_gfc
						    : (int8_t)want->conf->tx_dscp[i];
		p->lane[i] = i == q->prio ? NULL : q->lane[i];
	}
	p->look = p->classify || p->by_dscp || p->fixed_dscp != 0 || want->conf->mark_dscp;
	p->mark = p->look || p->prio != 0 || (p->tags & 1) != 0 || p->hold != 0 || p->discard != 0;
	pace(p, q, want->conf);
}

static void
edit_nothing(struct mlx4_tx_policy *p, const void *arg)
{
	RTE_SET_USED(p);
	RTE_SET_USED(arg);
}

static int
lane_create(struct mlx4_txq *q, uint8_t prio)
{
	const struct rte_eth_txconf conf = {.offloads = q->offloads};
	struct mlx4_txq *lane;
	int rc;

	rc = mlx4_txq_setup(q->eth, q->queue_id, q->nb_desc, q->numa_node, &conf, &lane);
	if (rc != 0)
		return rc;
	lane->prio = prio;
	rc = mlx4_qp_prio(q->eth->hca, &lane->qp, prio);
	if (rc == 0)
		rc = mlx4_qp_rate(q->eth->hca, &lane->qp, q->rate_mbps);
	if (rc == 0 && q->started)
		rc = mlx4_txq_start(lane);
	if (rc != 0)
		mlx4_txq_release(lane);
	else
		q->lane[prio] = lane;
	return rc;
}

int
mlx4_txq_marks_prepare(struct mlx4_txq *q, const struct tp_qos_port *conf, char err[TP_ERR_LEN])
{
	uint8_t wanted = prios_of(q, conf), prio;
	int rc;

	for (prio = 0; prio < TP_PRIOS; prio++) {
		if ((wanted >> prio & 1) == 0 || prio == q->prio || q->lane[prio] != NULL)
			continue;
		rc = lane_create(q, prio);
		if (rc != 0) {
			snprintf(err, TP_ERR_LEN, "%s: no queue pair for priority %u of Tx queue %u: %s",
				 conf->dscp_ets ? "dscp-ets" : "rule", prio, q->queue_id, rte_strerror(-rc));
			return rc;
		}
	}
	if (!wants_policy(q, conf))
		return 0;
	/* Memory that the change itself will need. */
	rc = mlx4_tx_policy_edit(q, edit_nothing, NULL);
	if (rc != 0)
		snprintf(err, TP_ERR_LEN, "Tx queue %u: no memory for its policy", q->queue_id);
	return rc;
}

void
mlx4_txq_marks(struct mlx4_txq *q, const struct tp_qos_port *conf)
{
	const struct marks want = {q, conf};

	/* Cannot fail, as it is prepared. */
	if (wants_policy(q, conf))
		mlx4_tx_policy_edit(q, edit_marks, &want);
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
