/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Mbufs of the pool that frames are sent with, many at a time. */
#include "tcp_priv.h"

struct rte_mbuf *
tcp_mbuf_more(struct tcp_stack *s)
{
	struct rte_mbuf *m;

	if (likely(rte_pktmbuf_alloc_bulk(s->conf.pool, s->spare, TCP_SPARE_MORE) == 0)) {
		s->nspare = TCP_SPARE_MORE - 1;
		return s->spare[TCP_SPARE_MORE - 1];
	}
	m = rte_pktmbuf_alloc(s->conf.pool);
	s->st.tx_no_mbuf += m == NULL;
	return m;
}
