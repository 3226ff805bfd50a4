/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The receive burst of a port with sides; sides.h says what they are. */
#include "sides.h"

#include "drivers/mlx4/port/handover.h"
#include "flood.h"

void
mlx4_rx_sides_leave(struct mlx4_rxq *q)
{
	mlx4_handover_leave(&q->sides_busy);
}

const struct mlx4_rx_sides *
mlx4_rx_sides_take(struct mlx4_rxq *q)
{
	return mlx4_handover_take(&q->sides, &q->sides_busy);
}

/* Marks and counts; who asks for the counters does so from another thread. */
static void
treat(struct mlx4_rx_side *s, struct rte_mbuf **pkts, uint16_t n)
{
	uint64_t bytes = 0;
	uint16_t i;

	for (i = 0; i < n; i++) {
		pkts[i]->ol_flags |= s->ol_flags;
		pkts[i]->hash.fdir.hi = s->mark;
		bytes += pkts[i]->pkt_len;
	}
	__atomic_store_n(&s->packets, s->packets + n, __ATOMIC_RELAXED);
	__atomic_store_n(&s->bytes, s->bytes + bytes, __ATOMIC_RELAXED);
}

/* Each burst begins behind where the last one ended, so that no set waits for ever behind a busy one. */
uint16_t
mlx4_rx_burst_sides(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_rxq *q = rxq;
	const struct mlx4_rx_sides *sides = mlx4_rx_sides_take(q);
	uint16_t got = 0, k, now, more;

	if (sides == NULL)
		return mlx4_rx_burst_flood(q, pkts, n);
	for (k = 0; k <= sides->n && (got < n || n == 0); k++) {
		now = q->side_turn < sides->n ? q->side_turn : sides->n;
		q->side_turn = now == sides->n ? 0 : (uint16_t)(now + 1);
		if (now == sides->n) {
			got = (uint16_t)(got + mlx4_rx_burst_flood(q, pkts + got, (uint16_t)(n - got)));
			continue;
		}
		more = mlx4_rx_burst_set(q, sides->side[now]->set, pkts + got, (uint16_t)(n - got));
		if (sides->side[now]->treat && more != 0)
			treat(sides->side[now], pkts + got, more);
		got = (uint16_t)(got + more);
	}
	mlx4_rx_sides_leave(q);
	return got;
}
