/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Putting policies of transmit queues in force while they send; tx_policy.h says how. */
#include <errno.h>

#include <rte_malloc.h>
#include <rte_pause.h>

#include "mlx4_eth.h"
#include "tx_policy.h"

struct mlx4_tx_policy_slots {
	struct mlx4_tx_policy slot[2];
};

static bool
policy_is_off(const struct mlx4_tx_policy *p)
{
	return !p->check_mac && !p->check_type && !p->mark && !p->watched;
}

eth_tx_burst_t
mlx4_tx_policy_burst(const struct mlx4_eth *eth)
{
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL && eth->txqs[i]->policy != NULL)
			return mlx4_tx_burst_policy;
	return mlx4_tx_burst;
}

/* Pollers use the copy of the function that was made at the start of the port; a lost card keeps its own. */
static void
switch_burst(struct mlx4_eth *eth)
{
	eth_tx_burst_t burst = mlx4_tx_policy_burst(eth);

	if (!eth->dev->data->dev_started || eth->hca->dead)
		return;
	eth->dev->tx_pkt_burst = burst;
	__atomic_store_n(&rte_eth_fp_ops[eth->dev->data->port_id].tx_pkt_burst, burst, __ATOMIC_RELEASE);
}

/* A burst that took the policy before is over soon, since bursts do not wait. */
static void
policy_publish(struct mlx4_txq *q, const struct mlx4_tx_policy *p)
{
	const struct mlx4_tx_policy *old = q->policy;

	__atomic_store_n(&q->policy, p, __ATOMIC_SEQ_CST);
	while (old != NULL && __atomic_load_n(&q->policy_busy, __ATOMIC_SEQ_CST) == old)
		rte_pause();
}

int
mlx4_tx_policy_edit(struct mlx4_txq *q, void (*edit)(struct mlx4_tx_policy *p, const void *arg), const void *arg)
{
	struct mlx4_tx_policy *next;

	if (q->policy_slots == NULL) {
		q->policy_slots = rte_zmalloc_socket("mlx4_tx_policy", sizeof(*q->policy_slots), RTE_CACHE_LINE_SIZE,
						     q->numa_node);
		if (q->policy_slots == NULL)
			return -ENOMEM;
	}
	next = &q->policy_slots->slot[q->policy == &q->policy_slots->slot[0] ? 1 : 0];
	if (q->policy != NULL)
		*next = *q->policy;
	else
		memset(next, 0, sizeof(*next));
	edit(next, arg);
	policy_publish(q, policy_is_off(next) ? NULL : next);
	switch_burst(q->eth);
	return 0;
}

void
mlx4_tx_policy_free(struct mlx4_txq *q)
{
	q->policy = NULL;
	rte_free(q->policy_slots);
	q->policy_slots = NULL;
}
