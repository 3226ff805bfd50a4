/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which groups are given copies of broadcast and multicast by software; flood.h says how. */
#include "flood.h"

#include <errno.h>

#include <rte_malloc.h>

#include "drivers/mlx4/port/handover.h"
#include "drivers/mlx4/rx/choose.h"
#include "drivers/mlx4/rx/queue.h"
#include "group.h"

#define COPIES 512u /* that wait for a group to poll */

static struct rte_ring *
ring_create(const struct mlx4_eth *eth)
{
	struct rte_ring *r = rte_zmalloc_socket("mlx4_flood", (size_t)rte_ring_get_memsize(COPIES), RTE_CACHE_LINE_SIZE,
						eth->hca->numa_node);

	if (r != NULL)
		rte_ring_init(r, "mlx4_flood", COPIES, RING_F_SC_DEQ);
	return r;
}

static void
ring_free(struct rte_ring *r)
{
	void *m;

	while (r != NULL && rte_ring_sc_dequeue(r, &m) == 0)
		rte_pktmbuf_free(m);
	rte_free(r);
}

static bool
by_software(const struct mlx4_group *g)
{
	return g->rules.up && g->rules.copied;
}

static void
add_target(const struct mlx4_eth *eth, struct mlx4_flood *f, struct mlx4_group *g)
{
	struct mlx4_flood_target *t = &f->target[f->n++];
	uint16_t first = g->spread->conf.queue[0];

	t->ring = g->copies;
	t->mp = g->mp != NULL ? g->mp : eth->rxqs[first]->own_mp;
	t->drops = &g->flood_drops;
	f->in[first] = g->copies;
}

/* NULL: nobody needs it. */
static struct mlx4_flood *
list_make(struct mlx4_eth *eth, bool needed)
{
	struct mlx4_groups *gs = eth->groups;
	struct mlx4_flood *f;
	unsigned int i;
	uint16_t q;

	for (i = 0; i < gs->num && !needed; i++)
		needed = by_software(gs->g[i]);
	if (!needed)
		return NULL;
	f = &eth->flood_slots->slot[eth->flood == &eth->flood_slots->slot[0] ? 1 : 0];
	memset(f, 0, sizeof(*f));
	for (i = 0; i < gs->num; i++)
		if (by_software(gs->g[i]))
			add_target(eth, f, gs->g[i]);
	for (q = 0; q < MLX4_ETH_MAX_RXQ; q++)
		f->source[q] = !eth->taken[q];
	return f;
}

static void
publish(struct mlx4_eth *eth, const struct mlx4_flood *f)
{
	const struct mlx4_flood *old = eth->flood;
	uint16_t q;

	__atomic_store_n(&eth->flood, f, __ATOMIC_SEQ_CST);
	for (q = 0; old != NULL && q < eth->dev->data->nb_rx_queues; q++)
		if (eth->rxqs[q] != NULL)
			mlx4_burst_wait(&eth->rxqs[q]->flood_busy, old, &eth->rxqs[q]->poller);
	mlx4_rx_burst_update(eth);
}

int
mlx4_flood_prepare(struct mlx4_eth *eth, struct mlx4_group *g)
{
	if (eth->flood_slots == NULL)
		eth->flood_slots = rte_zmalloc_socket("mlx4_flood", sizeof(*eth->flood_slots), RTE_CACHE_LINE_SIZE,
						      eth->hca->numa_node);
	if (eth->flood_slots != NULL && g->copies == NULL)
		g->copies = ring_create(eth);
	if (eth->flood_slots == NULL || g->copies == NULL)
		return -ENOMEM;
	publish(eth, list_make(eth, true));
	return 0;
}

void
mlx4_flood_update(struct mlx4_eth *eth, struct mlx4_group *g)
{
	if (eth->flood_slots == NULL)
		return;
	publish(eth, list_make(eth, false));
	if (by_software(g))
		return;
	ring_free(g->copies);
	g->copies = NULL;
}

void
mlx4_flood_free(struct mlx4_eth *eth)
{
	rte_free(eth->flood_slots);
	eth->flood_slots = NULL;
}
