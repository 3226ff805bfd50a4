/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The rings that a fate of frames needs: a spread beside those of the port and its groups, or a queue that has no buffers. */
#include <errno.h>

#include <rte_malloc.h>

#include "flow.h"
#include "drivers/mlx4/rx/choose.h"

/* A ring's worth of what is posted stays in the pool for the queue's own rings. */
#define POOL_SPARE 2u

static bool
serves(const struct mlx4_eth *eth, uint16_t q)
{
	return q < eth->dev->data->nb_rx_queues && eth->rxqs[q] != NULL && eth->rxqs[q]->started;
}

/* What the queues that are started shall have, and each of them once. */
static void
wanted(const struct mlx4_eth *eth, const struct mlx4_flow_fate *f, struct mlx4_spread_conf *conf,
       struct mlx4_queues *members)
{
	uint16_t list[MLX4_ETH_RETA_MAX], n = 0, i;
	bool seen[MLX4_ETH_MAX_RXQ] = {false};

	memset(conf, 0, sizeof(*conf));
	members->n = 0;
	for (i = 0; i < f->n; i++)
		if (serves(eth, f->queue[i]))
			list[n++] = f->queue[i];
	if (n == 0)
		return;
	mlx4_spread_even(conf, list, n, eth->reta_size);
	for (i = 0; i < conf->table; i++) {
		if (!seen[conf->queue[i]])
			members->q[members->n++] = conf->queue[i];
		seen[conf->queue[i]] = true;
	}
	conf->aside = true;
	if (conf->table <= 1)
		return;
	conf->flags = f->hash;
	conf->xor_hash = f->xor_hash;
	memcpy(conf->key, f->key, sizeof(conf->key));
}

/* Rings take buffers out of the pool that others receive with. */
static int
check_pools(const struct mlx4_eth *eth, const struct mlx4_queues *members)
{
	uint16_t i;

	for (i = 0; i < members->n; i++) {
		const struct mlx4_rxq *q = eth->rxqs[members->q[i]];
		uint32_t want = POOL_SPARE * (mlx4_spread_side_desc(q) << q->lg_sges);
		uint32_t left = rte_mempool_avail_count(q->mp);

		if (left >= want)
			continue;
		MLX4_LOG(ERR, "port %u Rx queue %u: pool %s has %u free mbufs, a flow rule with rings wants %u",
			 q->port_id, q->queue_id, q->mp->name, left, want);
		return -ENOMEM;
	}
	return 0;
}

static struct mlx4_rx_side *
side_create(const struct mlx4_rxq *q, struct mlx4_flow_target *t, struct mlx4_rx_set *set)
{
	struct mlx4_rx_side *s = rte_zmalloc_socket("mlx4_rx_side", sizeof(*s), RTE_CACHE_LINE_SIZE, q->numa_node);

	if (s == NULL)
		return NULL;
	s->set = set;
	s->ol_flags = t->fate.ol_flags;
	s->mark = t->fate.mark_id;
	s->treat = t->fate.count || t->fate.ol_flags != 0;
	s->total = &t->past;
	s->mp = q->mp;
	s->hdr_len = q->hdr_len;
	s->lg_sges = q->lg_sges;
	return s;
}

/* The sets are whoever's made the spread. */
static void
sides_remove(struct mlx4_eth *eth, struct mlx4_flow_rings *r)
{
	while (r->n != 0) {
		r->n--;
		mlx4_rx_side_remove(eth->rxqs[r->at[r->n].queue], r->at[r->n].side);
		rte_free(r->at[r->n].side);
	}
}

static int
sides_add(struct mlx4_eth *eth, struct mlx4_flow_target *t, const struct mlx4_queues *members,
	  struct mlx4_rx_set *const *set, struct mlx4_flow_rings *r)
{
	int rc = 0;

	for (r->n = 0; r->n < members->n; r->n++) {
		uint16_t q = members->q[r->n];
		struct mlx4_rx_side *side = side_create(eth->rxqs[q], t, set[q]);

		rc = side == NULL ? -ENOMEM : mlx4_rx_side_add(eth->rxqs[q], side);
		if (rc != 0) {
			rte_free(side);
			sides_remove(eth, r);
			break;
		}
		r->at[r->n].queue = q;
		r->at[r->n].side = side;
	}
	return rc;
}

int
mlx4_flow_rings_build(struct mlx4_eth *eth, struct mlx4_flow_target *t, struct mlx4_flow_rings **out)
{
	struct mlx4_rx_set *set[MLX4_ETH_MAX_RXQ];
	struct mlx4_spread_conf conf;
	struct mlx4_queues members;
	struct mlx4_flow_rings *r;
	int rc;

	*out = NULL;
	wanted(eth, &t->fate, &conf, &members);
	if (members.n == 0)
		return 0;
	rc = check_pools(eth, &members);
	if (rc != 0)
		return rc;
	r = rte_zmalloc_socket("mlx4_flow_rings", sizeof(*r) + members.n * sizeof(r->at[0]), 0, eth->hca->numa_node);
	if (r == NULL)
		return -ENOMEM;
	rc = mlx4_spread_build(eth, &conf, &members, &r->spread, set);
	if (rc != 0)
		goto err_spread;
	rc = sides_add(eth, t, &members, set, r);
	if (rc != 0)
		goto err_sides;
	mlx4_rx_burst_update(eth);
	*out = r;
	return 0;

err_sides:
	mlx4_spread_undo(eth, r->spread, set);
err_spread:
	rte_free(r);
	return rc;
}

void
mlx4_flow_rings_retire(struct mlx4_eth *eth, struct mlx4_flow_rings *r)
{
	uint16_t i;

	if (r == NULL)
		return;
	for (i = 0; i < r->n; i++) {
		mlx4_rx_set_quiesce(eth->rxqs[r->at[i].queue], r->at[i].side->set);
		r->at[i].side->leaving = true;
	}
	mlx4_spread_free(eth, r->spread);
	rte_free(r);
}

bool
mlx4_flow_rings_fit(const struct mlx4_eth *eth, const struct mlx4_flow_target *t)
{
	const struct mlx4_flow_rings *r = t->rings;
	struct mlx4_spread_conf conf;
	struct mlx4_queues members;
	uint16_t i;

	wanted(eth, &t->fate, &conf, &members);
	if (r == NULL || members.n == 0)
		return r == NULL && members.n == 0;
	if (r->spread->conf.table != conf.table || memcmp(r->spread->conf.queue, conf.queue, sizeof(conf.queue)) != 0)
		return false;
	for (i = 0; i < r->n; i++) {
		const struct mlx4_rxq *q = eth->rxqs[r->at[i].queue];
		const struct mlx4_rx_side *s = r->at[i].side;

		if (s->mp != q->mp || s->hdr_len != q->hdr_len || s->lg_sges != q->lg_sges ||
		    s->set->vlan_strip != q->vlan_strip)
			return false;
	}
	return true;
}

uint32_t
mlx4_flow_rings_qpn(const struct mlx4_eth *eth, const struct mlx4_flow_rings *r)
{
	return r != NULL ? mlx4_spread_target(r->spread) : eth->drop.qp.qpn;
}

void
mlx4_flow_target_count(const struct mlx4_eth *eth, const struct mlx4_flow_target *t, uint64_t *packets, uint64_t *bytes)
{
	const struct mlx4_rx_sides *sides;
	uint16_t q, i;

	*packets = t->past.packets;
	*bytes = t->past.bytes;
	for (q = 0; q < eth->dev->data->nb_rx_queues; q++) {
		sides = eth->rxqs[q] != NULL ? eth->rxqs[q]->sides : NULL;
		for (i = 0; sides != NULL && i < sides->n; i++) {
			if (sides->side[i]->total != &t->past)
				continue;
			*packets += __atomic_load_n(&sides->side[i]->packets, __ATOMIC_RELAXED);
			*bytes += __atomic_load_n(&sides->side[i]->bytes, __ATOMIC_RELAXED);
		}
	}
}
