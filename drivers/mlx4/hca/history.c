/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "history.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>

struct mlx4_history *
mlx4_history_create(void)
{
	return calloc(1, sizeof(struct mlx4_history));
}

void
mlx4_history_free(struct mlx4_history *h)
{
	free(h);
}

/* Its place in the order; one opcode too many counts nowhere. */
static struct mlx4_cmd_cost *
cost_of(struct mlx4_history *h, uint16_t opcode)
{
	unsigned int i = 0;

	while (i < h->num_costs && h->cost[i].opcode < opcode)
		i++;
	if (i < h->num_costs && h->cost[i].opcode == opcode)
		return &h->cost[i];
	if (h->num_costs == MLX4_HISTORY_OPCODES)
		return NULL;
	memmove(&h->cost[i + 1], &h->cost[i], (h->num_costs - i) * sizeof(h->cost[0]));
	h->num_costs++;
	h->cost[i] = (struct mlx4_cmd_cost){.opcode = opcode};
	return &h->cost[i];
}

static void
count(struct mlx4_history *h, const struct mlx4_cmd_record *r)
{
	struct mlx4_cmd_cost *c = cost_of(h, r->opcode);

	if (c == NULL)
		return;
	c->count++;
	c->failed += r->rc != 0 && r->status != 0;
	c->unanswered += r->rc != 0 && r->status == 0;
	c->total_ns += r->took_ns;
	c->worst_ns = RTE_MAX(c->worst_ns, r->took_ns);
}

void
mlx4_history_add(struct mlx4_history *h, const struct mlx4_cmd_record *r, const void *in, const void *out)
{
	struct mlx4_cmd_record *to;
	struct timespec t;

	if (h == NULL)
		return;
	clock_gettime(CLOCK_REALTIME, &t);
	rte_spinlock_lock(&h->lock);
	count(h, r);
	to = &h->record[h->number++ % MLX4_HISTORY];
	*to = *r;
	to->number = h->number;
	to->at_us = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
	to->in_len = in == NULL ? 0 : RTE_MIN(r->in_len, MLX4_HISTORY_BOX);
	to->out_len = out == NULL ? 0 : RTE_MIN(r->out_len, MLX4_HISTORY_BOX);
	if (in != NULL)
		memcpy(to->in, in, to->in_len);
	if (out != NULL)
		memcpy(to->out, out, to->out_len);
	rte_spinlock_unlock(&h->lock);
}

unsigned int
mlx4_history_get(struct mlx4_history *h, struct mlx4_cmd_record out[MLX4_HISTORY])
{
	uint64_t from, i;

	if (h == NULL)
		return 0;
	rte_spinlock_lock(&h->lock);
	from = h->number > MLX4_HISTORY ? h->number - MLX4_HISTORY : 0;
	for (i = from; i < h->number; i++)
		out[i - from] = h->record[i % MLX4_HISTORY];
	rte_spinlock_unlock(&h->lock);
	return (unsigned int)(i - from);
}

unsigned int
mlx4_history_costs(struct mlx4_history *h, struct mlx4_cmd_cost out[MLX4_HISTORY_OPCODES])
{
	unsigned int n;

	if (h == NULL)
		return 0;
	rte_spinlock_lock(&h->lock);
	n = h->num_costs;
	memcpy(out, h->cost, n * sizeof(out[0]));
	rte_spinlock_unlock(&h->lock);
	return n;
}

void
mlx4_history_costs_reset(struct mlx4_history *h)
{
	if (h == NULL)
		return;
	rte_spinlock_lock(&h->lock);
	h->num_costs = 0;
	rte_spinlock_unlock(&h->lock);
}
