/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Sides of a receive queue: sets of rings beside its own one, with completion queues of their own, for rules of rte_flow.
 * A port receives by burst_sides.c only while a queue of it has sides; the plain bursts know nothing of it.
 *
 * The list that a burst looks at is handed over as port/handover.h says. A side that no rule names any more stays until the
 * poller has emptied it.
 */
#ifndef MLX4_RX_SIDES_H
#define MLX4_RX_SIDES_H

#include "drivers/mlx4/port/port.h"
#include "queue.h"

/* What came through sides that are gone. */
struct mlx4_rx_total {
	uint64_t packets, bytes;
};

struct mlx4_rx_side {
	struct mlx4_rx_set *set;
	uint64_t ol_flags; /* of its mbufs, beside the usual ones */
	uint32_t mark;
	bool treat;              /* its mbufs are marked or counted */
	uint64_t packets, bytes; /* of treated ones */
	/* control */
	struct mlx4_rx_total *total;  /* gets its counters when it goes; NULL: nobody wants them */
	const struct rte_mempool *mp; /* what the rings were made of */
	uint16_t hdr_len;
	uint8_t lg_sges;
	bool leaving;
};

struct mlx4_rx_sides {
	uint16_t n;
	struct mlx4_rx_side *side[];
};

/* Of any queue; one without sides is polled as usual. */
uint16_t mlx4_rx_burst_sides(void *rxq, struct rte_mbuf **pkts, uint16_t n);

/* The poller's: the list in force stays as it is until it is left; NULL: none, and nothing to leave. */
const struct mlx4_rx_sides *mlx4_rx_sides_take(struct mlx4_rxq *q);
void mlx4_rx_sides_leave(struct mlx4_rxq *q);

/* The sets of a queue, its own, then those aside; s NULL: the first. *side begins with 0. Not the poller's. */
static inline struct mlx4_rx_set *
mlx4_rxq_next_set(const struct mlx4_rxq *q, const struct mlx4_rx_set *s, uint16_t *side)
{
	struct mlx4_rx_set *next = NULL;

	if (*side == 0)
		next = s == NULL ? q->oldest : s->next;
	if (next == NULL && q->sides != NULL && *side < q->sides->n)
		next = q->sides->side[(*side)++]->set;
	return next;
}

/* --- sides.c, with the port's control lock --- */
/* The poller looks at the side from now on. 0 or -ENOMEM. */
int mlx4_rx_side_add(struct mlx4_rxq *q, struct mlx4_rx_side *side);
/* The reverse of add, at once, when nothing was received; the side is the caller's again. */
void mlx4_rx_side_remove(struct mlx4_rxq *q, struct mlx4_rx_side *side);
/* Frees sides that are leaving and that the poller has emptied. */
void mlx4_rx_sides_reap(struct mlx4_rxq *q);
/* Frees all of them, with what waits there; the queue must not be polled. */
void mlx4_rx_sides_drop(struct mlx4_rxq *q);

#endif /* MLX4_RX_SIDES_H */
