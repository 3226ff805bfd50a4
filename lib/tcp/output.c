/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a connection sends now: what was lost, then new data as windows, Nagle and the peer allow, then acknowledgements. */
#include "tcp_frame.h"

static void
output_syn(struct tcp_conn *c)
{
	uint8_t flags = RTE_TCP_SYN_FLAG;

	if (c->n.state == TCP_SYN_RECV) {
		flags |= RTE_TCP_ACK_FLAG | (c->opt_ecn ? RTE_TCP_ECE_FLAG : 0);
	} else if (c->s->conf.ecn == TCP_ECN_ON && c->retries == 0) {
		/* RFC 3168 6.1.1.1: something on the way may swallow such SYN, the next ones are plain. */
		flags |= RTE_TCP_ECE_FLAG | RTE_TCP_CWR_FLAG;
		c->ecn_asked = true;
	}
	if (tcp_send_control(c, c->iss, flags)) {
		c->syn_out = false;
		c->ack_now = false;
		if (c->snd_nxt == c->iss)
			c->progress_us = c->s->now; /* the first: its answer tells the round trip */
		c->snd_nxt = c->iss + 1;
	}
	/* Without a path, an mbuf or room the timer tries again. */
	c->rtx_kind = TCP_RTX_RTO;
	tcp_timer(c, TCP_T_RTX, c->s->now + tcp_rto(c));
}

static void
sent(struct tcp_conn *c, struct tcp_tseg *t)
{
	const uint32_t len = tseg_end(t) - t->seq;

	t->sent_us = (uint32_t)c->s->now;
	if (t->sends < UINT8_MAX)
		t->sends++;
	if ((t->flags & TSEG_LOST) != 0) {
		c->lost -= len;
		t->flags &= (uint8_t)~TSEG_LOST;
	}
	if ((t->flags & TSEG_FLIGHT) == 0) {
		t->flags |= TSEG_FLIGHT;
		c->pipe += len;
	}
	if (c->phase == TCP_PH_RECOVERY)
		c->prr_out += len;
}

static bool
resend(struct tcp_conn *c, struct tcp_tseg *t)
{
	if (t->len > c->mss && !tcp_tx_split(c, t, c->mss)) /* the path became narrower */
		return false;
	if (!tcp_send_data(c, t, 1, t->len, 0))
		return false;
	t->flags |= TSEG_RETX;
	sent(c, t);
	c->s->st.retransmits++;
	return true;
}

/* true: nothing keeps new data from being sent. */
static bool
output_lost(struct tcp_conn *c)
{
	struct tcp_tseg *t = c->lost_hint != NULL ? c->lost_hint : c->tx_head;

	while (c->lost != 0 && t != c->unsent) {
		if ((t->flags & TSEG_LOST) == 0) {
			t = t->next;
			continue;
		}
		c->lost_hint = t;
		if (!c->force && tcp_pipe(c) + t->len > c->cwnd) {
			c->cwnd_limited = true; /* so that it grows, also where all had been sent before */
			return false;
		}
		if (!resend(c, t))
			return false;
		c->force = false;
		if (c->at[TCP_T_RTX] == TCP_NEVER || c->rtx_kind == TCP_RTX_PERSIST)
			tcp_rtx_arm(c);
		t = t->next;
	}
	c->lost_hint = NULL;
	return true;
}

/* Segments from t on that make one frame of at most limit octets and usable sequence numbers; their payload in *len. */
static uint32_t
gather(const struct tcp_conn *c, const struct tcp_tseg *t, uint32_t limit, uint32_t usable, uint32_t *len)
{
	uint32_t n = 1;

	*len = t->len;
	while (t->next != NULL && n < c->s->conf.tso_mbufs && (t->flags & TSEG_FIN) == 0) {
		/* Behind an mbuf that is not full the device would cut elsewhere. */
		if (t->len != c->unit && *len + t->next->len > c->mss)
			break;
		t = t->next;
		if (*len + t->len > limit || *len + (tseg_end(t) - t->seq) > usable)
			break; /* FIN takes a place in the window, too */
		*len += t->len;
		n++;
	}
	return n;
}

/* Nagle (RFC 9293 3.7.4) as Minshall has it: one segment that is not full may be out, whatever else is; and what the application holds back. */
static bool
held_back(const struct tcp_conn *c, const struct tcp_tseg *t, uint32_t len, uint32_t n)
{
	uint32_t i;

	if (len >= c->mss || c->fin_queued || c->probe_due || c->push)
		return false;
	for (i = 0; i < n; i++)
		t = t->next;
	if (t != NULL)
		return false; /* more stands behind it */
	return c->cork || c->more ||
	       (!c->nodelay && seq_lt(c->snd_una, c->snd_small) && seq_leq(c->snd_small, c->snd_nxt));
}

/* What the peer's window lets through of a segment: its length in sequence space, less, or 0 (RFC 9293 3.8.6.2.1). */
static uint32_t
window_allows(const struct tcp_conn *c, const struct tcp_tseg *t)
{
	const uint32_t need = tseg_end(t) - t->seq;
	const int32_t usable = (int32_t)(c->snd_una + c->snd_wnd - t->seq);

	if (usable >= (int32_t)need)
		return need;
	if (c->probe_due && tcp_flight(c) == 0)
		return (uint32_t)RTE_MAX(usable, 1);
	if (usable > 0 && (uint32_t)usable >= c->snd_wnd_max / 2)
		return (uint32_t)usable;
	return 0;
}

/* The timers of what was sent, from first on: 8985 7.2: the tail probe runs from the last transmission; the retransmission timer that
 * runs goes on (6298 5.1), and the probe is not later. */
static void
sent_timer(struct tcp_conn *c, const struct tcp_tseg *first)
{
	const uint64_t at = c->at[TCP_T_RTX];
	const bool runs = at != TCP_NEVER && c->rtx_kind == TCP_RTX_RTO;

	if (at != TCP_NEVER && c->rtx_kind == TCP_RTX_REORDER)
		return;
	tcp_rtx_arm(c);
	if (c->rtx_kind == TCP_RTX_RTO && runs)
		tcp_timer(c, TCP_T_RTX, at);
	else if (c->rtx_kind == TCP_RTX_PROBE && first != c->tx_head)
		tcp_timer(c, TCP_T_RTX, RTE_MIN(c->at[TCP_T_RTX], tcp_rto_ends(c)));
}

void
tcp_new_sent(struct tcp_conn *c, struct tcp_tseg *t, uint32_t n)
{
	const struct tcp_tseg *const first = t;

	for (; n-- > 0; t = t->next) {
		sent(c, t);
		c->snd_nxt = tseg_end(t);
		c->unsent = t->next;
	}
	c->probe_due = false;
	sent_timer(c, first);
}

/* Segments as they lie, a frame each, while nothing is in their way; true: nothing is left to do. */
static inline bool
output_plain(struct tcp_conn *c)
{
	struct tcp_tseg *const first = c->unsent, *t;
	const uint32_t edge = c->snd_una + c->snd_wnd, now = (uint32_t)c->s->now;
	bool done = true;

	for (t = first; t != NULL; t = t->next) {
		const uint32_t len = t->len, end = t->seq + len;

		if (len == 0 || len > c->mss || (t->flags & TSEG_FIN) != 0 || seq_lt(edge, end) ||
		    c->pipe + len > c->cwnd ||
		    /* One that is not full waits for others, as output_new knows. */
		    (len < c->mss &&
		     (t->next != NULL || c->cork || c->more || (!c->nodelay && seq_lt(c->snd_una, c->snd_small))))) {
			done = false;
			break;
		}
		if (!tcp_send_plain(c, t))
			break;
		if (len < c->mss)
			c->snd_small = end;
		t->sent_us = now;
		t->sends = 1;
		t->flags |= TSEG_FLIGHT;
		c->pipe += len;
		c->snd_nxt = end;
		c->unsent = t->next;
	}
	/* With two out before these, a timer runs that need not be touched: the tail probe's looks at what was sent since. */
	if (t != first && (first == c->tx_head || first == c->tx_head->next || c->at[TCP_T_RTX] == TCP_NEVER))
		sent_timer(c, first);
	if (c->unsent == NULL && c->pipe < c->cwnd / 2)
		c->cwnd_limited = false;
	return done;
}

static void
output_new(struct tcp_conn *c)
{
	const uint32_t mss = RTE_MAX(c->mss, (uint16_t)1);
	struct tcp_tseg *t;

	while ((t = c->unsent) != NULL) {
		const uint32_t pipe = tcp_pipe(c), room = c->cwnd > pipe ? c->cwnd - pipe : 0;
		const uint32_t usable = c->snd_una + c->snd_wnd - t->seq, need = tseg_end(t) - t->seq;
		uint32_t limit = mss, n, len, fits = window_allows(c, t);

		if (fits == 0)
			break;
		if (room < RTE_MIN(fits, mss) && pipe != 0) {
			c->cwnd_limited = true;
			break;
		}
		if (fits < need || t->len > mss) {
			if (!tcp_tx_split(c, t, RTE_MIN(fits, mss)))
				break;
			if (!tcp_send_data(c, t, 1, t->len, 0))
				break;
			tcp_new_sent(c, t, 1);
			continue;
		}
		if (c->s->conf.tso && !c->cwr_due) { /* each piece would say that the window was cut */
			limit = RTE_MIN(RTE_MIN(room, usable), TCP_TSO_MAX);
			limit = limit < 2 * mss ? mss : limit - limit % mss;
		}
		n = gather(c, t, RTE_MAX(limit, (uint32_t)t->len), usable, &len);
		if (held_back(c, t, len, n))
			break;
		if (!tcp_send_data(c, t, n, len, len > mss ? mss : 0))
			break;
		if (len % mss != 0)
			c->snd_small = t->seq + len;
		tcp_new_sent(c, t, n);
	}
	c->push = false;
	if (c->unsent == NULL && tcp_pipe(c) < c->cwnd / 2)
		c->cwnd_limited = false;
}

/* Data waits, nothing is out, and no acknowledgement will tell: the persist timer asks (3.8.6.1, 3.8.6.2.1). */
static void
persist(struct tcp_conn *c)
{
	if (tcp_flight(c) != 0 || c->at[TCP_T_RTX] != TCP_NEVER)
		return;
	if (c->unsent == NULL && (!c->fin_wanted || c->fin_queued))
		return;
	if ((c->cork || c->more) && c->snd_wnd != 0)
		tcp_timer(c, TCP_T_RTX, c->s->now + 200 * TCP_US_PER_MS); /* as long as Linux holds it */
	else
		tcp_timer(c, TCP_T_RTX, c->s->now + tcp_rtx_after(c));
	c->rtx_kind = TCP_RTX_PERSIST;
}

/* RFC 5681 4.1: after a silence nobody knows what the path can take. */
static void
after_idle(struct tcp_conn *c)
{
	if (tcp_flight(c) == 0 && c->unsent != NULL && c->cc != TCP_CC_NONE && c->s->now - c->acked_us > c->rto)
		c->cwnd = RTE_MIN(c->cwnd, tcp_cc_initial(c));
}

static __rte_noinline void
output_any(struct tcp_conn *c, bool hold)
{
	switch (c->n.state) {
	case TCP_CLOSE:
	case TCP_LISTEN: return;
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		if (c->syn_out)
			output_syn(c);
		else if (c->ack_now)
			tcp_send_ack(c);
		return;
	default: break;
	}
	if (c->fin_wanted && !c->fin_queued)
		tcp_tx_fin(c);
	/* The path first: what it lets through decides how data is cut. */
	if ((c->unsent != NULL || c->lost != 0) && tcp_path_get(c) != 0) {
		c->s->st.tx_no_path++;
	} else if (c->unsent != NULL || c->lost != 0) {
		after_idle(c);
		if (output_lost(c) && !hold)
			output_new(c);
	}
	persist(c);
	if (c->ack_now)
		tcp_send_ack(c);
}

void
tcp_output(struct tcp_conn *c)
{
	if (unlikely(c->mtu_search)) {
		output_any(c, tcp_pmtu_probe(c));
		return;
	}
	if (likely(c->n.state == TCP_ESTABLISHED && c->unsent != NULL && (c->lost | c->phase) == 0 && c->opt_sack &&
		   !c->probe_due && !c->cwr_due && (!c->s->conf.tso || c->unsent->next == NULL)) &&
	    tcp_path_get(c) == 0) {
		after_idle(c);
		if (output_plain(c) && tcp_flight(c) != 0)
			return;
	}
	output_any(c, false);
}
