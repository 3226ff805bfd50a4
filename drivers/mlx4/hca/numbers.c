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
	uint32_t used_by[MLX4_MAX_PORTS];
	uint64_t *of[MLX4_MAX_PORTS]; /* bit i: number i belongs to the port */
	uint64_t taken[];             /* bit i: number i */
};

int
mlx4_numbers_create(const char *what, uint32_t first, uint32_t end, int numa_node, struct mlx4_numbers **out)
{
	const size_t words = ((size_t)end + 63) / 64;
	struct mlx4_numbers *n;
	unsigned int p;

	if (first >= end) {
		MLX4_LOG(ERR, "no %s left: the first free one is %u, the limit %u", what, first, end);
		return -ENOSPC;
	}
	n = rte_zmalloc_socket("mlx4_numbers", sizeof(*n) + (1 + MLX4_MAX_PORTS) * words * 8, 0, numa_node);
	if (n == NULL)
		return -ENOMEM;
	n->what = what;
	n->first = first;
	n->end = end;
	for (p = 0; p < MLX4_MAX_PORTS; p++)
		n->of[p] = n->taken + (1 + p) * words;
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
	unsigned int p;
	uint32_t i;

	rte_spinlock_lock(&n->lock);
	for (i = base; i < base + count; i++) {
		const uint64_t bit = UINT64_C(1) << (i % 64);

		n->taken[i / 64] &= ~bit;
		for (p = 0; p < MLX4_MAX_PORTS; p++) {
			n->used_by[p] -= (n->of[p][i / 64] & bit) != 0;
			n->of[p][i / 64] &= ~bit;
		}
	}
	n->used -= count;
	rte_spinlock_unlock(&n->lock);
}

void
mlx4_numbers_belong(struct mlx4_numbers *n, uint32_t base, uint32_t count, unsigned int port)
{
	uint32_t i;

	rte_spinlock_lock(&n->lock);
	for (i = base; i < base + count; i++) {
		const uint64_t bit = UINT64_C(1) << (i % 64);

		n->used_by[port - 1] += (n->of[port - 1][i / 64] & bit) == 0;
		n->of[port - 1][i / 64] |= bit;
	}
	rte_spinlock_unlock(&n->lock);
}

uint32_t
mlx4_numbers_used(const struct mlx4_numbers *n)
{
	return n->used;
}

uint32_t
mlx4_numbers_used_by(const struct mlx4_numbers *n, unsigned int port)
{
	return n->used_by[port - 1];
}
