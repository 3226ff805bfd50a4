/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* TIME-WAIT (RFC 9293 3.6.1) as entries of 64 octets, in the order in which they end. */
#include "tcp_priv.h"

_Static_assert(sizeof(struct tcp_tw) <= 64, "an entry of TIME-WAIT is a cache line");

static void
link_last(struct tcp_stack *s, struct tcp_tw *tw)
{
	tw->end_ms = s->now_ms + s->conf.time_wait_ms;
	tw->next = NULL;
	tw->prev = s->tw_tail;
	*s->tw_tail = tw;
	s->tw_tail = &tw->next;
}

static void
unlink_it(struct tcp_stack *s, struct tcp_tw *tw)
{
	*tw->prev = tw->next;
	if (tw->next != NULL)
		tw->next->prev = tw->prev;
	else
		s->tw_tail = tw->prev;
}

void
tcp_tw_free(struct tcp_stack *s, struct tcp_tw *tw)
{
	unlink_it(s, tw);
	tcp_node_del(s, &tw->n);
	s->tws--;
	slab_put(&s->tw_slab, tw);
}

void
tcp_tw_enter(struct tcp_conn *c)
{
	struct tcp_stack *s = c->s;
	struct tcp_tw *tw;

	tcp_event(c, TCP_EV_HUP);
	tcp_end(c, 0, true);
	if (s->tws >= s->conf.max_time_wait)
		tcp_tw_free(s, s->tw_head);
	tw = slab_get(&s->tw_slab);
	if (tw != NULL) {
		tw->n = c->n;
		tw->n.kind = TCP_NODE_TIME_WAIT;
		tw->n.state = TCP_TIME_WAIT;
		tw->rcv_nxt = c->rcv_nxt;
		tw->snd_nxt = c->snd_nxt;
		tw->ts = c->opt_ts;
		tw->ts_recent = c->ts_recent;
		tw->ts_offset = c->ts_offset;
		/* Rounded up: the edge that was told never goes back. */
		tw->wnd = (uint16_t)RTE_MIN((c->rcv_adv - c->rcv_nxt + (1u << c->rcv_wscale) - 1) >> c->rcv_wscale,
					    UINT32_C(65535));
		tcp_node_add(s, &tw->n);
		link_last(s, tw);
		s->tws++;
		s->st.time_waits++;
	} else {
		s->st.rx_no_memory++;
	}
	tcp_enter(c, TCP_TIME_WAIT); /* as the handle sees it */
}

static void
answer(struct tcp_stack *s, const struct tcp_tw *tw, const struct tcp_seg *g)
{
	const rte_be32_t ts[3] = {RTE_BE32(0x0101080a), rte_cpu_to_be_32(s->now_ms + tw->ts_offset),
				  rte_cpu_to_be_32(tw->ts_recent)};
	const struct tcp_answer a = {.seq = tw->snd_nxt,
				     .ack = tw->rcv_nxt,
				     .flags = RTE_TCP_ACK_FLAG,
				     .wnd = tw->wnd,
				     .opt = (const uint8_t *)ts,
				     .olen = tw->ts ? sizeof(ts) : 0};

	tcp_send_answer(s, g, &a);
}

/* 3.10.7.4 for this state. */
bool
tcp_tw_input(struct tcp_stack *s, struct tcp_tw *tw, struct tcp_seg *g)
{
	const bool old_ts = tw->ts && g->o.has_ts && seq_lt(g->o.tsval, tw->ts_recent);

	/*
	 * By 3.10.7.4 it ends the wait, as in all states only at the number that is next (RFC 5961 3.2), whatever its timestamp (RFC 7323
	 * 5.3). RFC 1337 would keep the wait. But a peer that has the same port anew, with numbers or timestamps that begin below those of
	 * before, gets our last acknowledgement for its SYN, refuses that, and could not connect for the rest of the wait.
	 */
	if ((g->flags & RTE_TCP_RST_FLAG) != 0) {
		if (g->seq == tw->rcv_nxt)
			tcp_tw_free(s, tw);
		return false;
	}
	if ((g->flags & (RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG)) == RTE_TCP_SYN_FLAG && !old_ts) {
		const bool newer_ts = tw->ts && g->o.has_ts && seq_lt(tw->ts_recent, g->o.tsval);

		if ((newer_ts || seq_lt(tw->rcv_nxt, g->seq)) && tcp_find_listener(s, tw->n.laddr, tw->n.lport) != NULL)
			return true;
	}
	if (old_ts)
		s->st.rx_paws++;
	/* The peer did not hear our last acknowledgement: the wait begins anew. */
	if ((g->flags & RTE_TCP_FIN_FLAG) != 0 && !old_ts && g->seq + g->len + 1 == tw->rcv_nxt) {
		unlink_it(s, tw);
		link_last(s, tw);
	}
	if (g->seq != tw->rcv_nxt || g->len != 0 || (g->flags & (RTE_TCP_SYN_FLAG | RTE_TCP_FIN_FLAG)) != 0 || old_ts)
		answer(s, tw, g);
	return false;
}

void
tcp_tw_expire(struct tcp_stack *s)
{
	while (s->tw_head != NULL && (int32_t)(s->tw_head->end_ms - s->now_ms) <= 0)
		tcp_tw_free(s, s->tw_head);
}
