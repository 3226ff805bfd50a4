/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The list of a queue's sides; sides.h says how it is replaced while it is polled. */
#include <errno.h>

#include <rte_malloc.h>

#include "drivers/mlx4/port/handover.h"
#include "sides.h"

static struct mlx4_rx_sides *
list_alloc(const struct mlx4_rxq *q, uint16_t n)
{
	return rte_zmalloc_socket("mlx4_rx_sides", sizeof(struct mlx4_rx_sides) + n * sizeof(struct mlx4_rx_side *), 0,
				  q->numa_node);
}

/* Those who look at it beside the poller hold the lock of the chains of sets. */
static void
publish(struct mlx4_rxq *q, struct mlx4_rx_sides *list)
{
	struct mlx4_rx_sides *old = q->sides;

	pthread_mutex_lock(&q->eth->sets_lock);
	__atomic_store_n(&q->sides, list, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&q->eth->sets_lock);
	if (old != NULL)
		mlx4_burst_wait(&q->sides_busy, old, &q->poller);
	rte_free(old);
}

int
mlx4_rx_side_add(struct mlx4_rxq *q, struct mlx4_rx_side *side)
{
	uint16_t n = q->sides == NULL ? 0 : q->sides->n, i;
	struct mlx4_rx_sides *list = list_alloc(q, (uint16_t)(n + 1));

	if (list == NULL)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		list->side[i] = q->sides->side[i];
	list->side[n] = side;
	list->n = (uint16_t)(n + 1);
	publish(q, list);
	/* Who sleeps is woken by the new set, too. */
	if (__atomic_load_n(&q->intr_on, __ATOMIC_SEQ_CST))
		mlx4_rx_set_arm(q, side->set);
	return 0;
}

static void
side_free(struct mlx4_rxq *q, struct mlx4_rx_side *side)
{
	if (side->total != NULL) {
		side->total->packets += side->packets;
		side->total->bytes += side->bytes;
	}
	mlx4_rx_set_destroy(q, side->set);
	rte_free(side);
}

/*
 * A list that only gets shorter needs no memory: the poller is kept off it meanwhile. Those that go are handled without the
 * lock, which the interrupt thread takes, too.
 */
static void
shorten(struct mlx4_rxq *q, bool (*goes)(const struct mlx4_rx_side *side, const void *arg), const void *arg,
	void (*gone)(struct mlx4_rxq *q, struct mlx4_rx_side *side))
{
	struct mlx4_rx_sides *list = q->sides;
	uint16_t n = list->n, i, left = 0;

	pthread_mutex_lock(&q->eth->sets_lock);
	__atomic_store_n(&q->sides, NULL, __ATOMIC_SEQ_CST);
	mlx4_burst_wait(&q->sides_busy, list, &q->poller);
	for (i = 0; i < n; i++) {
		struct mlx4_rx_side *side = list->side[i];

		if (goes(side, arg))
			continue;
		list->side[i] = list->side[left];
		list->side[left++] = side;
	}
	list->n = left;
	__atomic_store_n(&q->sides, left != 0 ? list : NULL, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&q->eth->sets_lock);
	for (i = left; gone != NULL && i < n; i++)
		gone(q, list->side[i]);
	if (left == 0)
		rte_free(list);
}

static bool
is_one(const struct mlx4_rx_side *side, const void *arg)
{
	return side == arg;
}

void
mlx4_rx_side_remove(struct mlx4_rxq *q, struct mlx4_rx_side *side)
{
	shorten(q, is_one, side, NULL);
}

static bool
is_emptied(const struct mlx4_rx_side *side, const void *arg)
{
	RTE_SET_USED(arg);
	return side->leaving && !mlx4_rx_set_waits(side->set);
}

void
mlx4_rx_sides_reap(struct mlx4_rxq *q)
{
	uint16_t i;

	for (i = 0; q->sides != NULL && i < q->sides->n; i++) {
		if (!is_emptied(q->sides->side[i], NULL))
			continue;
		shorten(q, is_emptied, NULL, side_free);
		break;
	}
}

static bool
is_any(const struct mlx4_rx_side *side, const void *arg)
{
	RTE_SET_USED(side);
	RTE_SET_USED(arg);
	return true;
}

void
mlx4_rx_sides_drop(struct mlx4_rxq *q)
{
	if (q->sides != NULL)
		shorten(q, is_any, NULL, side_free);
}
