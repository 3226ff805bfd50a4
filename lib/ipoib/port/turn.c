/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The datapath's snapshot changes hands. */
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "port.h"

static long
membarrier(int cmd)
{
	return syscall(__NR_membarrier, cmd, 0, 0);
}

int
ipoib_turns_init(void)
{
	if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0)
		return 0;
	IPOIB_LOG(ERR, "membarrier(2) of the kernel is needed and is not there: %s", strerror(errno));
	return -errno;
}

/* A burst that begins from now on sees the new snapshot; one that is at work ends. */
static void
wait_turn(struct ipoib_turn *t)
{
	uint32_t seen = atomic_load_explicit(&t->n, memory_order_acquire);

	while ((seen & 1) != 0 && atomic_load_explicit(&t->n, memory_order_acquire) == seen)
		rte_delay_us_sleep(1);
}

void
ipoib_publish(struct ipoib_port *p, struct ipoib_view *v)
{
	struct ipoib_view *old = atomic_exchange_explicit(&p->view, v, memory_order_acq_rel);
	unsigned int i;

	membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	for (i = 0; i < IPOIB_QUEUES; i++) {
		if (p->rxq[i] != NULL)
			wait_turn(&p->rxq[i]->turn);
		if (p->txq[i] != NULL)
			wait_turn(&p->txq[i]->turn);
	}
	free(old);
}

void
ipoib_retired_free(struct ipoib_port *p)
{
	struct ipoib_retired *r;

	while ((r = p->retired) != NULL) {
		p->retired = r->next;
		if (r->ah != NULL)
			tp_roce_destroy_ah(r->ah);
		free(r->memory);
		free(r);
	}
}
