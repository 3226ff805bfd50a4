/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Packets that wait for an answer. */
#include "core.h"

void
ipoib_wait_put(struct ipoib_core *c, struct ipoib_wait *w, struct rte_mbuf *m)
{
	if (w->n == RTE_DIM(w->pkts))
		ipoib_drop(c, IPOIB_DROP_TX_WAIT_FULL, m);
	else
		w->pkts[w->n++] = m;
}

void
ipoib_wait_drop(struct ipoib_core *c, struct ipoib_wait *w, enum ipoib_drop why)
{
	unsigned int i;

	for (i = 0; i < w->n; i++)
		ipoib_drop(c, why, w->pkts[i]);
	w->n = 0;
}
