/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Control code's side of handing lists over to bursts; and the burst of a port that has none. */
#include "handover.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>

#include <rte_pause.h>

#define SPINS_PER_LOOK 4096u

static bool
has_died(const int32_t *poller)
{
	int32_t pid = __atomic_load_n(poller, __ATOMIC_RELAXED);

	return pid != 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

void
mlx4_burst_wait(const void *busy, const void *old, const int32_t *poller)
{
	uint32_t spins = 1;

	for (; __atomic_load_n((const mlx4_handover_ptr *)busy, __ATOMIC_SEQ_CST) == old; spins++) {
		if (spins % SPINS_PER_LOOK == 0 && has_died(poller))
			return;
		rte_pause();
	}
}

uint16_t
mlx4_rxtx_removed(void *q, struct rte_mbuf **pkts, uint16_t n)
{
	RTE_SET_USED(q);
	RTE_SET_USED(pkts);
	RTE_SET_USED(n);
	return 0;
}
