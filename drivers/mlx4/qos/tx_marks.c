/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What a port's declaration asks of a transmit queue: rules, marks and tags. A send queue of the card has one priority, so a
 * queue whose port has rules gets a queue pair ("lane") for each priority that a rule names.
 */
#include <stdio.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "drivers/mlx4/tx/policy.h"
#include "lib/roce/port/provider.h"
#include "qos.h"

#define PACE_BURST_S 0.001     /* of the rate ... */
#define PACE_BURST_MIN 32768.0 /* ... at least so many bytes may go at once */
#define PRIO_SHIFT 13          /* of a tag [802.1Q 9.6] */

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
	unsigned int i;

	tp_qos_classes_make(want->conf, &p->classes);
	p->classify = p->classes.n != 0;
	p->decided = troce_decided_flag();
	p->by_dscp = want->conf->dscp_ets;
	set_tags(p, want->conf);
	p->prio = q->prio;
	p->fixed_dscp = q->fixed_dscp;
	p->watched = want->conf->hol_lifetime_us != 0 || q->hol_lifetime_us != 0;
	for (i = 0; i < TP_PRIOS; i++) {
		p->dscp[i] = tp_qos_mark(want->conf, (uint8_t)i);
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
