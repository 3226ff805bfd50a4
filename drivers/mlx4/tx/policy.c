/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Putting policies of transmit queues in force while they send; policy.h says how. */
#include <errno.h>

#include <rte_malloc.h>

#include "choose.h"
#include "policy.h"

struct mlx4_tx_policy_slots {
	struct mlx4_tx_policy slot[2];
};

static bool
policy_is_off(const struct mlx4_tx_policy *p)
{
	return !p->check_mac && !p->check_type && !p->mark && !p->watched;
}

/* A burst that took the policy before is over soon, since bursts do not wait. */
static void
policy_publish(struct mlx4_txq *q, const struct mlx4_tx_policy *p)
{
	const struct mlx4_tx_policy *old = q->policy;

	__atomic_store_n(&q->policy, p, __ATOMIC_SEQ_CST);
	if (old != NULL)
		mlx4_burst_wait(&q->policy_busy, old, &q->poller);
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
	mlx4_tx_burst_update(q->eth);
	return 0;
}
