/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The card sends a packet to ring QPN base + (hash & (n - 1)) of n = 2^k consecutive QPs; it has no table behind that.
 * So an indirection table is made of QPs: entry i is ring i of the table, and belongs to the queue that was put there.
 */
#include "spread.h"

#include <errno.h>

#include <rte_malloc.h>
#include "lib/reta/reta.h"

/* Rings of flow rules are smaller than a queue's own, but hold a few bursts. */
#define SIDE_SHARE 4u
#define SIDE_MIN 128u

#define HF_IPV4 (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER)
#define HF_IPV6 (RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER)

uint8_t
mlx4_spread_flags(const struct mlx4_eth *eth, uint64_t hf)
{
	uint8_t f = 0;

	if (hf & HF_IPV4)
		f |= MLX4_RSS_F_IPV4;
	if (hf & HF_IPV6)
		f |= MLX4_RSS_F_IPV6;
	if (hf & RTE_ETH_RSS_NONFRAG_IPV4_TCP)
		f |= MLX4_RSS_F_TCP_IPV4;
	if (hf & RTE_ETH_RSS_NONFRAG_IPV6_TCP)
		f |= MLX4_RSS_F_TCP_IPV6;
	if (hf & RTE_ETH_RSS_NONFRAG_IPV4_UDP)
		f |= MLX4_RSS_F_UDP_IPV4;
	if (hf & RTE_ETH_RSS_NONFRAG_IPV6_UDP)
		f |= MLX4_RSS_F_UDP_IPV6;
	if ((hf & RTE_ETH_RSS_LEVEL_MASK) == RTE_ETH_RSS_LEVEL_INNERMOST)
		f |= mlx4_quirk(eth->hca, MLX4_QUIRK_INNER_RSS) == 0 ? MLX4_RSS_F_INNER : MLX4_RSS_F_INNER_IP;
	return f;
}

void
mlx4_spread_even(struct mlx4_spread_conf *conf, const uint16_t *queue, uint16_t n, uint16_t size)
{
	conf->table = reta_even(conf->queue, queue, n, size);
}

static void
sets_destroy(struct mlx4_eth *eth, struct mlx4_rx_set **new_set)
{
	uint16_t q;

	for (q = 0; q < eth->dev->data->nb_rx_queues; q++) {
		if (new_set[q] != NULL)
			mlx4_rx_set_destroy(eth->rxqs[q], new_set[q]);
		new_set[q] = NULL;
	}
}

uint32_t
mlx4_spread_side_desc(const struct mlx4_rxq *q)
{
	return RTE_MAX(q->nb_desc / SIDE_SHARE, SIDE_MIN);
}

/* Building a side must not change the queue's refill threshold or its "reshaped" flag. */
static int
set_create_aside(struct mlx4_rxq *q, const struct mlx4_spread *s, const uint16_t *slots, uint16_t n,
		 struct mlx4_rx_set **set)
{
	uint16_t refill_min = q->refill_min;
	bool reshaped = q->reshaped;
	int ret = mlx4_rx_set_create(q, s->base_qpn, s->conf.table, slots, n, mlx4_spread_side_desc(q), s->has_parent,
				     set);

	q->refill_min = refill_min;
	q->reshaped = reshaped;
	return ret;
}

static int
sets_create(struct mlx4_eth *eth, const struct mlx4_spread *s, const struct mlx4_queues *members,
	    struct mlx4_rx_set **new_set)
{
	uint16_t slots[MLX4_ETH_RETA_MAX], m, i, n;
	int ret = 0;

	for (m = 0; ret == 0 && m < members->n; m++) {
		uint16_t q = members->q[m];

		for (i = 0, n = 0; i < s->conf.table; i++)
			if (s->conf.queue[i] == q)
				slots[n++] = i;
		if (s->conf.aside)
			ret = set_create_aside(eth->rxqs[q], s, slots, n, &new_set[q]);
		else
			ret = mlx4_rx_set_create(eth->rxqs[q], s->base_qpn, s->conf.table, slots, n,
						 eth->rxqs[q]->nb_desc, s->has_parent, &new_set[q]);
	}
	if (ret != 0)
		sets_destroy(eth, new_set);
	return ret;
}

static int
parent_create(struct mlx4_eth *eth, struct mlx4_spread *s, struct mlx4_rx_set *const *new_set)
{
	struct mlx4_rss_attr attr = {
		.port = eth->port,
		.base_qpn = s->base_qpn,
		.lg_rings = (uint8_t)rte_log2_u32(s->conf.table),
		.fn = s->conf.xor_hash ? MLX4_RSS_FN_XOR : MLX4_RSS_FN_TOEPLITZ,
		.flags = s->conf.flags,
		.default_qpn = s->base_qpn + s->conf.other,
		.cq = &new_set[s->conf.queue[0]]->cq,
	};
	int ret;

	memcpy(attr.key, s->conf.key, sizeof(attr.key));
	ret = mlx4_qpn_reserve(eth->hca, 1, 1, false, &s->parent_qpn);
	if (ret != 0)
		return ret;
	mlx4_belongs(eth->hca, MLX4_OBJ_QP, s->parent_qpn, 1, eth->port);
	ret = mlx4_qp_create_rss(eth->hca, s->parent_qpn, &attr, &s->parent);
	if (ret != 0)
		goto err_create;
	ret = mlx4_qp_start(eth->hca, &s->parent);
	if (ret != 0)
		goto err_start;
	return 0;

err_start:
	mlx4_qp_destroy(eth->hca, &s->parent);
err_create:
	mlx4_qpn_release(eth->hca, s->parent_qpn, 1);
	return ret;
}

static void
parent_destroy(struct mlx4_eth *eth, struct mlx4_spread *s)
{
	if (!s->has_parent)
		return;
	mlx4_qp_stop(eth->hca, &s->parent);
	mlx4_qp_destroy(eth->hca, &s->parent);
	mlx4_qpn_release(eth->hca, s->parent_qpn, 1);
	s->has_parent = false;
}

int
mlx4_spread_build(struct mlx4_eth *eth, const struct mlx4_spread_conf *conf, const struct mlx4_queues *members,
		  struct mlx4_spread **out, struct mlx4_rx_set **new_set)
{
	struct mlx4_spread *s;
	int ret;

	memset(new_set, 0, MLX4_ETH_MAX_RXQ * sizeof(*new_set));
	s = rte_zmalloc_socket("mlx4_spread", sizeof(*s), 0, eth->hca->numa_node);
	if (s == NULL)
		return -ENOMEM;
	s->conf = *conf;
	s->has_parent = conf->table > 1;
	ret = mlx4_qpn_reserve(eth->hca, conf->table, conf->table, false, &s->base_qpn);
	if (ret != 0)
		goto err_qpn;
	mlx4_belongs(eth->hca, MLX4_OBJ_QP, s->base_qpn, conf->table, eth->port);
	ret = sets_create(eth, s, members, new_set);
	if (ret != 0)
		goto err_sets;
	if (s->has_parent) {
		ret = parent_create(eth, s, new_set);
		if (ret != 0)
			goto err_parent;
	}
	*out = s;
	return 0;

err_parent:
	sets_destroy(eth, new_set);
err_sets:
	mlx4_qpn_release(eth->hca, s->base_qpn, conf->table);
err_qpn:
	rte_free(s);
	return ret;
}

void
mlx4_spread_undo(struct mlx4_eth *eth, struct mlx4_spread *s, struct mlx4_rx_set **new_set)
{
	if (s == NULL)
		return;
	/* The parent holds the CQ of the first ring. */
	parent_destroy(eth, s);
	sets_destroy(eth, new_set);
	mlx4_spread_free(eth, s);
}

void
mlx4_spread_quiesce(struct mlx4_eth *eth, const struct mlx4_queues *members)
{
	uint16_t i;

	for (i = 0; i < members->n; i++) {
		struct mlx4_rxq *q = eth->rxqs[members->q[i]];
		struct mlx4_rx_set *s = q != NULL ? q->oldest : NULL;

		for (; s != NULL; s = s->next)
			if (!s->quiet)
				mlx4_rx_set_quiesce(q, s);
	}
}

void
mlx4_spread_publish(struct mlx4_eth *eth, struct mlx4_rx_set *const *new_set)
{
	uint16_t q;

	for (q = 0; q < eth->dev->data->nb_rx_queues; q++)
		if (new_set[q] != NULL)
			mlx4_rxq_publish(eth->rxqs[q], new_set[q]);
}

static const struct mlx4_rx_set *
newest(const struct mlx4_rxq *q)
{
	const struct mlx4_rx_set *s = q->oldest;

	while (s->next != NULL)
		s = s->next;
	return s;
}

/* A queue of the table shall have other buffers than its rings are made of, or strip tags where they do not. */
static bool
reshaped(const struct mlx4_eth *eth, const struct mlx4_spread_conf *conf)
{
	uint16_t i;

	for (i = 0; i < conf->table; i++) {
		const struct mlx4_rxq *q = eth->rxqs[conf->queue[i]];

		if (q->reshaped || newest(q)->vlan_strip != q->vlan_strip)
			return true;
	}
	return false;
}

bool
mlx4_spread_is(const struct mlx4_eth *eth, const struct mlx4_spread *s, const struct mlx4_spread_conf *conf)
{
	if (s == NULL)
		return conf->table == 0;
	return s->conf.table == conf->table && s->conf.flags == conf->flags && s->conf.other == conf->other &&
	       memcmp(s->conf.queue, conf->queue, sizeof(conf->queue)) == 0 &&
	       (conf->flags == 0 || memcmp(s->conf.key, conf->key, sizeof(conf->key)) == 0) && !reshaped(eth, conf);
}

void
mlx4_spread_free(struct mlx4_eth *eth, struct mlx4_spread *s)
{
	if (s == NULL)
		return;
	parent_destroy(eth, s);
	mlx4_qpn_release(eth->hca, s->base_qpn, s->conf.table);
	rte_free(s);
}

uint32_t
mlx4_spread_target(const struct mlx4_spread *s)
{
	if (s == NULL)
		return 0;
	return s->has_parent ? s->parent_qpn : s->base_qpn;
}
