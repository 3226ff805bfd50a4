/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Limits of large sends. A smaller size is another number for the bursts and costs them nothing; with the others, large sends
 * take the general path, which looks at each.
 */
#include <errno.h>
#include <stdio.h>

#include "queue.h"
#include "rte_pmd_mlx4.h"
#include "lso_limits.h"

void
mlx4_lso_default(struct mlx4_eth *eth)
{
	const uint32_t size = RTE_MIN(RTE_PMD_MLX4_LSO_SIZE, eth->hca->caps.max_gso);

	eth->lso = (struct rte_pmd_mlx4_lso){size, RTE_PMD_MLX4_LSO_SEGMENTS_MIN, true, true};
}

/* A burst that runs may still send by what held before. */
static void
put(struct mlx4_txq *q, const struct rte_pmd_mlx4_lso *lso, bool off)
{
	uint32_t card = q->eth->hca->caps.max_gso;
	bool limited =
		off || lso->min_segments > RTE_PMD_MLX4_LSO_SEGMENTS_MIN || !lso->tcp_options || !lso->ip_options;

	q->lso_segs_min = (uint8_t)lso->min_segments;
	q->lso_tcp_options = lso->tcp_options;
	q->lso_ip_options = lso->ip_options;
	__atomic_store_n(&q->max_gso, off ? 0 : RTE_MIN(lso->size, card), __ATOMIC_RELAXED);
	__atomic_store_n(&q->lso_limited, card != 0 && limited, __ATOMIC_RELEASE);
}

void
mlx4_lso_put(struct mlx4_txq *q)
{
	const struct mlx4_eth *eth = q->eth;
	unsigned int p;
	bool off = eth->lso.size < eth->mtu + RTE_PMD_MLX4_LSO_OVER_MTU;

	put(q, &eth->lso, off);
	for (p = 0; p < MLX4_PRIOS; p++)
		if (q->lane[p] != NULL)
			put(q->lane[p], &eth->lso, off);
}

void
mlx4_lso_apply(struct mlx4_eth *eth)
{
	uint16_t i;

	for (i = 0; i < eth->dev->data->nb_tx_queues; i++)
		if (eth->txqs[i] != NULL)
			mlx4_lso_put(eth->txqs[i]);
}

int
rte_pmd_mlx4_lso_get(uint16_t port_id, struct rte_pmd_mlx4_lso *lso)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	if (eth->hca->caps.max_gso == 0)
		return -ENOTSUP;
	mlx4_control_lock(eth);
	*lso = eth->lso;
	mlx4_control_unlock(eth);
	return 0;
}

static int
check(const struct rte_pmd_mlx4_lso *lso, uint32_t card, char err[TP_ERR_LEN])
{
	if (card == 0) {
		snprintf(err, TP_ERR_LEN, "the card makes no segments");
		return -ENOTSUP;
	}
	if (lso->size > card) {
		snprintf(err, TP_ERR_LEN, "lso-size: %u, want 0..%u, what the card takes", lso->size, card);
		return -EINVAL;
	}
	if (lso->min_segments >= RTE_PMD_MLX4_LSO_SEGMENTS_MIN && lso->min_segments <= RTE_PMD_MLX4_LSO_SEGMENTS_MAX)
		return 0;
	snprintf(err, TP_ERR_LEN, "lso-min-segments: %u, want %u..%u", lso->min_segments, RTE_PMD_MLX4_LSO_SEGMENTS_MIN,
		 RTE_PMD_MLX4_LSO_SEGMENTS_MAX);
	return -EINVAL;
}

int
rte_pmd_mlx4_lso_set(uint16_t port_id, const struct rte_pmd_mlx4_lso *lso, char err[TP_ERR_LEN])
{
	struct mlx4_eth *eth = mlx4_eth_asked(port_id, err);
	int rc;

	if (eth == NULL)
		return -ENODEV;
	rc = check(lso, eth->hca->caps.max_gso, err);
	if (rc != 0)
		return rc;
	mlx4_control_lock(eth);
	/* Lanes come and go with this lock. */
	mlx4_qos_lock(eth);
	eth->lso = *lso;
	mlx4_lso_apply(eth);
	mlx4_qos_unlock(eth);
	mlx4_control_unlock(eth);
	return 0;
}
