/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A pool that has few mbufs, and what the stack copies then. */
#include <stdlib.h>

#include "lib/tcp/tcp_priv.h"
#include "rig.h"

static struct rte_mempool *few;

struct rte_mempool *
rig_few(void)
{
	if (few == NULL)
		few = rte_pktmbuf_pool_create("few", RIG_FEW, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (few == NULL)
		abort();
	return few;
}

void
rig_few_leave(uint32_t left)
{
	static struct rte_mbuf *out[RIG_FEW];
	static uint32_t n;

	while (rte_mempool_avail_count(few) > left)
		out[n++] = rte_pktmbuf_alloc(few);
	while (rte_mempool_avail_count(few) < left)
		rte_pktmbuf_free(out[--n]);
}

size_t
rig_copied(const struct rig *r, int side)
{
	return r->side[side].s->rx_copied;
}
