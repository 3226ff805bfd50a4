/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The card's lock: a ticket lock, served in the order of asking. Who waits long sleeps: schedulers exist that let two threads
 * which call sched_yield() in turn keep everybody else from a CPU for a minute.
 */
#include <time.h>

#include "model_priv.h"

#define LOCK_SPINS 1000u /* then the holder is most likely not running: let it */
#define NAP_NS 1000

void
tpm_lock(struct tpm_lock *l)
{
	static const struct timespec nap = {.tv_nsec = NAP_NS};
	unsigned int ticket = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed), spins = 0;

	while (atomic_load_explicit(&l->owner, memory_order_acquire) != ticket) {
		if (++spins % LOCK_SPINS == 0)
			nanosleep(&nap, NULL);
	}
}

void
tpm_unlock(struct tpm_lock *l)
{
	unsigned int owner = atomic_load_explicit(&l->owner, memory_order_relaxed);

	atomic_store_explicit(&l->owner, owner + 1, memory_order_release);
}
