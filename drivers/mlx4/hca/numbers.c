/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Allocation of object numbers (QPN, CQN, UAR pages, translation entries ...): a bitmap with ranges. */
#include <errno.h>

#include <rte_malloc.h>

#include "core.h"

struct mlx4_numbers {
	const char *what;
	uint32_t first, end, used;
	uint32_t turn; /* the last one that mlx4_numbers_cycle gave, 0: none */
	rte_spinlock_t lock;
	uint64_t taken[]; /* bit i: number i */
};

int
mlx4_numbers_create(const char *what, uint32_t first, uint32_t end, int numa_node, struct mlx4_numbers **out)
{
	struct mlx4_numbers *n;

	if (first >= end) {
		MLX4_LOG(ERR, "no %s left: the first free one is %u, the limit %u", what, first, end);
		return -ENOSPC;
	}
	n = rte_zmalloc_socket("mlx4_numbers", sizeof(*n) + (end + 63) / 64 * 8, 0, numa_node);
	if (n == NULL)
		return -ENOMEM;
	n->what = what;
	n->first = first;
	n->end = end;
	rte_spinlock_init(&n->lock);
	*out = n;
	return 0;
}

void
mlx4_numbers_destroy(struct mlx4_numbers *n)
{
	rte_free(n);
}

static bool
is_taken(const struct mlx4_numbers *n, uint32_t i)
{
	return (n->taken[i / 64] >> (i % 64)) & 1;
}

static bool
range_free(const struct mlx4_numbers *n, uint32_t base, uint32_t count, uint32_t clear)
{
	uint32_t i;

	for (i = base; i < base + count; i++)
		if (is_taken(n, i) || (i & clear) != 0)
			return false;
	return true;
}

int
mlx4_numbers_get(struct mlx4_numbers *n, uint32_t count, uint32_t align, uint32_t clear, bool top, uint32_t *base)
{
	uint32_t first = RTE_ALIGN_CEIL(n->first, align);
	uint32_t last, i, at;

	if (count == 0 || count > n->end)
		return -ENOSPC;
	last = RTE_ALIGN_FLOOR(n->end - count, align);
	rte_spinlock_lock(&n->lock);
	/* Going down past 0 wraps to above last, which ends the search too. */
	for (at = top ? last : first; at >= first && at <= last; at = top ? at - align : at + align) {
		if (!range_free(n, at, count, clear))
			continue;
		for (i = at; i < at + count; i++)
			n->taken[i / 64] |= UINT64_C(1) << (i % 64);
		n->used += count;
		*base = at;
		rte_spinlock_unlock(&n->lock);
		return 0;
	}
	rte_spinlock_unlock(&n->lock);
	return -ENOSPC;
}

int
mlx4_numbers_cycle(struct mlx4_numbers *n, uint32_t window, uint32_t clear, uint32_t *number)
{
	uint32_t bottom = n->end - n->first > window ? n->end - window : n->first, at, tries;

	rte_spinlock_lock(&n->lock);
	at = n->turn > bottom ? n->turn : n->end;
	for (tries = 0; tries < n->end - bottom; tries++) {
		at = at > bottom ? at - 1 : n->end - 1;
		if (is_taken(n, at) || (at & clear) != 0)
			continue;
		n->taken[at / 64] |= UINT64_C(1) << (at % 64);
		n->used++;
		n->turn = *number = at;
		rte_spinlock_unlock(&n->lock);
		return 0;
	}
	rte_spinlock_unlock(&n->lock);
	return mlx4_numbers_get(n, 1, 1, clear, true, number);
}

void
mlx4_numbers_put(struct mlx4_numbers *n, uint32_t base, uint32_t count)
{
	uint32_t i;

	rte_spinlock_lock(&n->lock);
	for (i = base; i < base + count; i++)
		n->taken[i / 64] &= ~(UINT64_C(1) << (i % 64));
	n->used -= count;
	rte_spinlock_unlock(&n->lock);
}

uint32_t
mlx4_numbers_used(const struct mlx4_numbers *n)
{
	return n->used;
}
