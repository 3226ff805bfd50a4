/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters of queues, for both directions: a burst is the only writer of one, and others read it at any time. */
#ifndef MLX4_PORT_COUNTER_H
#define MLX4_PORT_COUNTER_H

#include <stdint.h>

static inline uint64_t
mlx4_counter_now(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* Since it was base. Never below zero, though what was counted may be taken back a moment after a reset. */
static inline void
mlx4_counter_subtract(uint64_t *n, uint64_t base)
{
	*n = *n > base ? *n - base : 0;
}

#endif /* MLX4_PORT_COUNTER_H */
