/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What kinds of frames each receive queue has had (O-1). A port that counts has a burst round its own; others have nothing of it.
 * The memory stays until the port is closed, since a poller may be late to learn that it counts no more.
 */
#include <errno.h>

#include <rte_malloc.h>

#include "choose.h"
#include "rte_pmd_mlx4_queue.h"
#include "kinds.h"

#define ROW 32u /* counters of a queue, whole cache lines */
#define INNER_SHIFT 16

struct mlx4_rx_kinds {
	uint64_t n[MLX4_ETH_MAX_RXQ][ROW];
	uint64_t base[MLX4_ETH_MAX_RXQ][ROW]; /* at the last reset */
};
static_assert(sizeof(((struct rte_pmd_mlx4_rx_kinds *)NULL)->packets) <= ROW * sizeof(uint64_t), "a row has them all");

static bool
inner_is_v4(uint32_t type)
{
	uint32_t l3 = type & RTE_PTYPE_INNER_L3_MASK;

	return l3 == RTE_PTYPE_INNER_L3_IPV4 || l3 == RTE_PTYPE_INNER_L3_IPV4_EXT ||
	       l3 == RTE_PTYPE_INNER_L3_IPV4_EXT_UNKNOWN;
}

/* Place in struct rte_pmd_mlx4_rx_kinds. The card gives each frame that it hashed its hash; 0 is none, or one in 2^32. */
static unsigned int
kind_of(const struct rte_mbuf *m)
{
	uint32_t type = m->packet_type, l4 = type & RTE_PTYPE_L4_MASK;
	bool tunnel = (type & RTE_PTYPE_TUNNEL_MASK) != 0;
	bool v4 = RTE_ETH_IS_IPV4_HDR(type) != 0, v6 = RTE_ETH_IS_IPV6_HDR(type) != 0;
	unsigned int proto = RTE_PMD_MLX4_RX_OTHER;

	if (tunnel) {
		v4 = inner_is_v4(type);
		v6 = !v4 && (type & RTE_PTYPE_INNER_L3_MASK) != 0;
		l4 = (type & RTE_PTYPE_INNER_L4_MASK) >> INNER_SHIFT;
	}
	if (v4 || v6)
		proto = (v4 ? RTE_PMD_MLX4_RX_IPV4 : RTE_PMD_MLX4_RX_IPV6) + (l4 == RTE_PTYPE_L4_TCP   ? 1
									      : l4 == RTE_PTYPE_L4_UDP ? 2
												       : 0);
	return ((m->hash.rss != 0 ? 2u : 0u) + tunnel) * RTE_PMD_MLX4_RX_PROTOS + proto;
}

void
mlx4_rx_kinds_note(const struct mlx4_rxq *q, struct rte_mbuf *const *pkts, uint16_t n)
{
	uint64_t *row = q->eth->rx_kinds->n[q->queue_id];
	uint16_t i;

	for (i = 0; i < n; i++)
		row[kind_of(pkts[i])]++;
}

void
mlx4_rx_kinds_reset(struct mlx4_eth *eth)
{
	if (eth->rx_kinds != NULL)
		memcpy(eth->rx_kinds->base, eth->rx_kinds->n, sizeof(eth->rx_kinds->n));
}

void
mlx4_rx_kinds_free(struct mlx4_eth *eth)
{
	rte_free(eth->rx_kinds);
	eth->rx_kinds = NULL;
	eth->counts_kinds = false;
}

int
rte_pmd_mlx4_rx_kinds_count(uint16_t port_id, bool on)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	int rc = 0;

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	if (on && eth->rx_kinds == NULL)
		eth->rx_kinds = rte_zmalloc("mlx4_kinds", sizeof(*eth->rx_kinds), RTE_CACHE_LINE_SIZE);
	if (on && eth->rx_kinds == NULL) {
		rc = -ENOMEM;
	} else {
		eth->counts_kinds = on;
		mlx4_rx_burst_update(eth);
	}
	mlx4_control_unlock(eth);
	return rc;
}

static void
kinds_since_reset(const struct mlx4_rx_kinds *k, uint16_t queue, uint64_t *out)
{
	unsigned int i;

	for (i = 0; i < sizeof(((struct rte_pmd_mlx4_rx_kinds *)NULL)->packets) / sizeof(uint64_t); i++)
		out[i] = k->n[queue][i] - k->base[queue][i];
}

int
rte_pmd_mlx4_rx_kinds_get(uint16_t port_id, uint16_t queue, struct rte_pmd_mlx4_rx_kinds *kinds)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	int rc = -EINVAL;

	if (eth == NULL)
		return -ENODEV;
	memset(kinds, 0, sizeof(*kinds));
	mlx4_control_lock(eth);
	if (queue < MLX4_ETH_MAX_RXQ && eth->rxqs[queue] != NULL) {
		kinds->counting = eth->counts_kinds;
		if (eth->rx_kinds != NULL)
			kinds_since_reset(eth->rx_kinds, queue, &kinds->packets[0][0][0]);
		rc = 0;
	}
	mlx4_control_unlock(eth);
	return rc;
}
