/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Mbufs of the pool that frames are sent with, many at a time. */
#include "tcp_priv.h"

/* Whoever may be waiting for room, and has it as far as its own buffer goes. */
static void
tell_all(struct tcp_stack *s)
{
	for (uint32_t i = 0; i <= s->mask; i++) {
		for (struct tcp_node *n = s->table[i]; n != NULL; n = n->next) {
			struct tcp_conn *c = (struct tcp_conn *)n;

			if (n->kind != TCP_NODE_CONN || !c->want_write || tcp_room(c) < c->sndbuf / 3)
				continue;
			c->want_write = false;
			tcp_event(c, TCP_EV_WRITABLE);
		}
	}
}

/* Whether there are mbufs for data. Where a program was refused for want of them and there are again, all such hear of it. */
void
tcp_tx_look(struct tcp_stack *s)
{
	const uint32_t left = rte_mempool_avail_count(s->conf.pool);

	s->tx_scarce = left < s->conf.reserve;
	/* Not for a single one, which the first would take. */
	if (likely(!s->starved) || left < 2 * s->conf.reserve)
		return;
	s->starved = false;
	tell_all(s);
}

void
tcp_rx_look(struct tcp_stack *s)
{
	const uint32_t left = rte_mempool_avail_count(s->conf.rx_pool);

	s->rx_left = left > s->conf.reserve ? left - s->conf.reserve : 0;
	s->rx_scarce = s->rx_left < s->conf.reserve;
	if (unlikely(s->rx_scarce))
		s->rx_room = s->rx_copied < s->conf.max_copied ? s->conf.max_copied - (uint32_t)s->rx_copied : 0;
}

struct rte_mbuf *
tcp_mbuf_more(struct tcp_stack *s)
{
	struct rte_mbuf *m;

	if (s->conf.reserve != 0)
		s->tx_scarce = rte_mempool_avail_count(s->conf.pool) < s->conf.reserve;
	if (likely(rte_pktmbuf_alloc_bulk(s->conf.pool, s->spare, TCP_SPARE_MORE) == 0)) {
		s->nspare = TCP_SPARE_MORE - 1;
		return s->spare[TCP_SPARE_MORE - 1];
	}
	m = rte_pktmbuf_alloc(s->conf.pool);
	s->st.tx_no_mbuf += m == NULL;
	return m;
}
