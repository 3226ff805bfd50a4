/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Moderation of receive interrupts [DP 6.6]: an armed CQ waits for so many completions or so long, whichever comes first.
 * It belongs to the queue: the CQs that it has now are told, and those of its next rings when they are made.
 */
#include <errno.h>

#include "rte_pmd_mlx4_queue.h"
#include "sides.h"

int
mlx4_rx_set_moderate(const struct mlx4_rxq *q, struct mlx4_rx_set *s)
{
	return s->has_cq ? mlx4_cq_moderate(q->eth->hca, &s->cq, q->mod_count, q->mod_us) : 0;
}

/* The control lock is enough: only control code changes what a queue has. */
static int
moderate(struct mlx4_rxq *q)
{
	struct mlx4_rx_set *s = NULL;
	uint16_t side = 0;
	int rc = 0;

	while (rc == 0 && (s = mlx4_rxq_next_set(q, s, &side)) != NULL)
		rc = mlx4_rx_set_moderate(q, s);
	return rc;
}

static int
set(struct mlx4_rxq *q, uint16_t count, uint16_t us)
{
	const uint16_t count_was = q->mod_count, us_was = q->mod_us;
	int rc;

	q->mod_count = count;
	q->mod_us = us;
	rc = moderate(q);
	if (rc == 0)
		return 0;
	q->mod_count = count_was;
	q->mod_us = us_was;
	if (moderate(q) != 0)
		MLX4_LOG(ERR,
			 "port %u Rx queue %u: some interrupts are moderated by %u completions and %u us, others not",
			 q->port_id, q->queue_id, count, us);
	return rc;
}

int
rte_pmd_mlx4_rx_moderation_set(uint16_t port_id, uint16_t queue, uint16_t count, uint16_t us)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	struct mlx4_rxq *q;
	int rc;

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	q = queue < MLX4_ETH_MAX_RXQ ? eth->rxqs[queue] : NULL;
	if (q == NULL)
		rc = -EINVAL;
	else if (q->vector < 0)
		rc = -ENOTSUP;
	else
		rc = q->mod_count == count && q->mod_us == us ? 0 : set(q, count, us);
	mlx4_control_unlock(eth);
	return rc;
}

int
rte_pmd_mlx4_rx_moderation_get(uint16_t port_id, uint16_t queue, uint16_t *count, uint16_t *us)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	const struct mlx4_rxq *q;
	int rc = -EINVAL;

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	q = queue < MLX4_ETH_MAX_RXQ ? eth->rxqs[queue] : NULL;
	if (q != NULL) {
		*count = q->mod_count;
		*us = q->mod_us;
		rc = 0;
	}
	mlx4_control_unlock(eth);
	return rc;
}
