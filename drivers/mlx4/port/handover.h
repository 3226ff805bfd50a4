/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * How control code replaces what a burst looks at: it never changes a list that is in force. It makes another one, puts it in
 * force with one store and waits for the bursts that still have the old one. A burst says which list it has taken in a word
 * of its queue, "busy". Receive and transmit bursts do this in the same way, and neither may use the other.
 */
#ifndef MLX4_PORT_HANDOVER_H
#define MLX4_PORT_HANDOVER_H

#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_mbuf.h>

/* A pointer to a list of any kind. */
typedef const void *__attribute__((__may_alias__)) mlx4_handover_ptr;

static __rte_always_inline void
mlx4_handover_leave(void *busy)
{
	__atomic_store_n((mlx4_handover_ptr *)busy, NULL, __ATOMIC_RELEASE);
}

/*
 * The list in force, which stays as it is until it is left; NULL: none, and nothing to leave. force and busy point to
 * pointers. The store to busy comes before the second look at force, and mlx4_burst_wait looks at busy after the store to
 * force: either this sees the new list, or the wait sees that the old one is taken.
 */
static __rte_always_inline const void *
mlx4_handover_take(const void *force, void *busy)
{
	const void *p = __atomic_load_n((const mlx4_handover_ptr *)force, __ATOMIC_RELAXED), *now;

	while (p != NULL) {
		__atomic_store_n((mlx4_handover_ptr *)busy, p, __ATOMIC_SEQ_CST);
		now = __atomic_load_n((const mlx4_handover_ptr *)force, __ATOMIC_SEQ_CST);
		if (likely(now == p))
			return p;
		/* It was replaced meanwhile, and who replaced it may wait for the old one to be left. */
		mlx4_handover_leave(busy);
		p = now;
	}
	return NULL;
}

/*
 * Waits until no burst has what it took before it was replaced, by the pointer that busy points to. A burst does not wait, so
 * it is over soon. One whose process died in it is over, too. poller: the process, 0: this one.
 */
void mlx4_burst_wait(const void *busy, const void *old, const int32_t *poller);

/* The burst of both directions when the card is gone or the port is closed: nothing arrives, nothing is sent, nothing crashes. */
uint16_t mlx4_rxtx_removed(void *q, struct rte_mbuf **pkts, uint16_t n);

#endif /* MLX4_PORT_HANDOVER_H */
