/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The card's lock: a ticket lock, served in the order of asking. Who waits long sleeps until the lock changes hands. It does not
 * yield: schedulers exist that let two threads which call sched_yield() in turn keep everybody else from a CPU for a minute.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model_priv.h"

#define LOCK_SPINS 1000u /* then the holder is most likely not running: let it */

static void
futex(atomic_uint *word, int op, unsigned int val)
{
	syscall(SYS_futex, word, op, val, NULL, NULL, 0);
}

static void
sleep_until(struct tpm_lock *l, unsigned int ticket)
{
	unsigned int owner;

	/* Either this thread sees the new owner, or the one that unlocks sees a sleeper. */
	atomic_fetch_add(&l->sleepers, 1);
	while ((owner = atomic_load(&l->owner)) != ticket)
		futex(&l->owner, FUTEX_WAIT_PRIVATE, owner);
	atomic_fetch_sub(&l->sleepers, 1);
}

void
tpm_lock(struct tpm_lock *l)
{
	unsigned int ticket = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed), spins = 0;

	while (atomic_load_explicit(&l->owner, memory_order_acquire) != ticket) {
		if (++spins == LOCK_SPINS) {
			sleep_until(l, ticket);
			return;
		}
	}
}

bool
tpm_trylock(struct tpm_lock *l)
{
	unsigned int ticket = atomic_load_explicit(&l->owner, memory_order_acquire);

	return atomic_compare_exchange_strong_explicit(&l->next, &ticket, ticket + 1, memory_order_acquire,
						       memory_order_relaxed);
}

void
tpm_unlock(struct tpm_lock *l)
{
	atomic_fetch_add(&l->owner, 1);
	if (atomic_load(&l->sleepers) != 0)
		futex(&l->owner, FUTEX_WAKE_PRIVATE, INT_MAX);
}
