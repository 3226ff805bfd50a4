/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "gate.h"

static long
membarrier(int cmd)
{
	return syscall(__NR_membarrier, cmd, 0, 0);
}

void
rsw_gate_init(struct rsw_dev *d)
{
	/* A kernel that has none, or a sandbox that forbids it: the port's thread pays for its own fence. */
	d->strong = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0;
}

bool
rsw_gate_wait(struct rsw_dev *d)
{
	do {
		rsw_gate_leave(d);
		while (atomic_load_explicit(&d->want, memory_order_acquire) != 0)
			rte_delay_us_sleep(1);
		if (!rsw_is_owner(d))
			return false;
		atomic_store_explicit(&d->inside, 1, memory_order_relaxed);
		atomic_thread_fence(memory_order_seq_cst);
	} while (atomic_load_explicit(&d->want, memory_order_acquire) != 0);
	return true;
}

static void
shut(struct rsw_dev *d, uint32_t who)
{
	atomic_fetch_or(&d->want, who);
	/* Once registered, it fails for no reason that could come up later. */
	if (!d->strong)
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	while (atomic_load_explicit(&d->inside, memory_order_acquire) != 0)
		rte_delay_us_sleep(1);
}

void
rsw_gate_take_over(struct rsw_dev *d)
{
	shut(d, RSW_GATE_OWNER);
	atomic_store_explicit(&d->owner, (uintptr_t)pthread_self(), memory_order_relaxed);
	atomic_fetch_and(&d->want, ~RSW_GATE_OWNER);
}

void
rsw_gate_close(struct rsw_dev *d)
{
	shut(d, RSW_GATE_CONTROL);
}

void
rsw_gate_open(struct rsw_dev *d)
{
	atomic_fetch_and(&d->want, ~RSW_GATE_CONTROL);
}

void
rsw_gate_close_all(struct rsw_dev *d)
{
	for (uint16_t i = 0; i < d->num_lanes; i++)
		rsw_gate_close(d->lanes[i]);
}

void
rsw_gate_open_all(struct rsw_dev *d)
{
	for (uint16_t i = 0; i < d->num_lanes; i++)
		rsw_gate_open(d->lanes[i]);
}
