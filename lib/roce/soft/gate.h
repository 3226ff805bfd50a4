/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The gate of a port, or of a lane. Its thread is inside while it works on what belongs to the port; another thread that must change
 * some of that (under the port's lock, so there is one at a time) closes the gate, waits until the thread is outside,
 * and opens it again. The way in costs a store and a load: the fence that two-sided waiting needs is made on the other
 * side, for both, by membarrier(2). No application code is called inside.
 */
#ifndef ROCE_SOFT_GATE_H
#define ROCE_SOFT_GATE_H

#include <pthread.h>

#include "sw.h"

/* Who closed it; bits of want. */
#define RSW_GATE_CONTROL 1u
#define RSW_GATE_OWNER 2u

static inline bool
rsw_is_owner(const struct rsw_dev *d)
{
	return atomic_load_explicit(&d->owner, memory_order_relaxed) == (uintptr_t)pthread_self();
}

/* Waits until the gate is open. False: the port belongs to another thread meanwhile, and the caller is outside. */
bool rsw_gate_wait(struct rsw_dev *d);
/* The port belongs to the calling thread from now on. */
void rsw_gate_take_over(struct rsw_dev *d);

/* By the port's thread. */
static inline bool
rsw_gate_enter(struct rsw_dev *d)
{
	atomic_store_explicit(&d->inside, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(d->strong, 0))
		atomic_thread_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&d->want, memory_order_acquire) != 0, 0))
		return rsw_gate_wait(d);
	return true;
}

/* By the thread that calls tp_roce_progress() or tp_roce_input(), which makes it the port's. */
static inline void
rsw_gate_enter_as_owner(struct rsw_dev *d)
{
	do {
		if (__builtin_expect(!rsw_is_owner(d), 0))
			rsw_gate_take_over(d);
	} while (__builtin_expect(!rsw_gate_enter(d), 0));
}

static inline void
rsw_gate_leave(struct rsw_dev *d)
{
	atomic_store_explicit(&d->inside, 0, memory_order_release);
}

void rsw_gate_init(struct rsw_dev *d);
/* Control calls of any thread, with the port's lock held: from here to rsw_gate_open() the port stands still. */
void rsw_gate_close(struct rsw_dev *d);
void rsw_gate_open(struct rsw_dev *d);
/* Of all lanes of the port. */
void rsw_gate_close_all(struct rsw_dev *d);
void rsw_gate_open_all(struct rsw_dev *d);

#endif /* ROCE_SOFT_GATE_H */
