/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Segments in all other states: RFC 9293 3.10.7.4 step by step, with RFC 5961 and RFC 7323 5. */
#include <errno.h>

#include "tcp_priv.h"

#define PAWS_IDLE_MS (24u * 24 * 3600 * 1000) /* RFC 7323 5.5 */

/* First: is any of it in the window? */
static bool
acceptable(const struct tcp_conn *c, const struct tcp_seg *g, uint32_t len)
{
	const uint32_t nxt = c->rcv_nxt, wnd = c->rcv_adv - nxt, off = g->seq - nxt;

	if (len == 0)
		return wnd == 0 ? off == 0 : off < wnd;
	return wnd != 0 && (off < wnd || g->seq + len - 1 - nxt < wnd);
}

/* RFC 7323 5.3, R1 and R3; false: the segment is refused. */
static bool
timestamps(struct tcp_conn *c, const struct tcp_seg *g)
{
	struct tcp_stack *s = c->s;

	if ((g->flags & RTE_TCP_RST_FLAG) != 0)
		return true;
	if (unlikely(!g->o.has_ts)) {
		s->st.rx_no_timestamp++; /* 3.2: silently */
		return false;
	}
	if (unlikely(seq_lt(g->o.tsval, c->ts_recent)) && s->now_ms - c->ts_recent_ms < PAWS_IDLE_MS) {
		s->st.rx_paws++;
		tcp_challenge(c);
		return false;
	}
	return true;
}

/* A connection ends by the peer's RST. */
static void
reset(struct tcp_conn *c)
{
	struct tcp_stack *s = c->s;
	int error = ECONNRESET;

	s->st.reset++;
	if (c->n.state == TCP_SYN_RECV && !c->passive)
		error = ECONNREFUSED;
	else if (c->n.state == TCP_CLOSE_WAIT)
		error = EPIPE;
	else if (c->n.state == TCP_CLOSING || c->n.state == TCP_LAST_ACK)
		error = 0;
	/* 3.10.7.4 flushes the queues; but what was acknowledged can be read, as Linux has it. */
	tcp_end(c, error, true);
	tcp_event(c, TCP_EV_ERROR | TCP_EV_HUP | TCP_EV_READABLE | TCP_EV_WRITABLE);
}

/* Second and fourth; false: nothing is left of the segment. */
static bool
rst_and_syn(struct tcp_conn *c, const struct tcp_seg *g)
{
	if ((g->flags & RTE_TCP_RST_FLAG) != 0) {
		/* RFC 5961 3.2 */
		if (g->seq == c->rcv_nxt)
			reset(c);
		else
			tcp_challenge(c);
		return false;
	}
	if ((g->flags & RTE_TCP_SYN_FLAG) != 0) {
		if (c->n.state == TCP_SYN_RECV && c->passive) {
			/* 3.10.7.4, fourth: back to LISTEN. */
			tcp_end(c, 0, false);
			return false;
		}
		tcp_challenge(c); /* RFC 5961 4.2 */
		return false;
	}
	return true;
}

static bool
fin_acked(const struct tcp_conn *c)
{
	return c->fin_queued && c->tx_head == NULL;
}

/* Fifth for SYN-RECEIVED. */
static bool
syn_received(struct tcp_conn *c, const struct tcp_seg *g)
{
	if (!(seq_lt(c->snd_una, g->ack) && seq_leq(g->ack, c->snd_nxt))) {
		tcp_send_reset(c->s, g);
		return false;
	}
	if (c->retries == 0 && c->s->now > c->progress_us)
		tcp_rtt_sample(c, (uint32_t)RTE_MIN(c->s->now - c->progress_us, UINT64_C(60000000)));
	c->snd_una = c->iss + 1;
	c->snd_wnd = c->snd_wnd_max = g->wnd;
	c->snd_wl1 = g->seq;
	c->snd_wl2 = g->ack;
	tcp_established(c);
	return true;
}

/* What an acknowledgement of our FIN leads to; false: the connection is over. */
static bool
after_ack(struct tcp_conn *c)
{
	switch (c->n.state) {
	case TCP_FIN_WAIT1:
		if (!fin_acked(c))
			break;
		tcp_enter(c, TCP_FIN_WAIT2);
		/* Nobody reads what comes: it need not come forever. */
		if (c->orphan)
			tcp_timer(c, TCP_T_KEEP, c->s->now + c->linger2_s * TCP_US_PER_S);
		break;
	case TCP_CLOSING:
		if (!fin_acked(c))
			break;
		tcp_tw_enter(c);
		return false;
	case TCP_LAST_ACK:
		if (!fin_acked(c))
			break;
		tcp_end(c, 0, true);
		tcp_event(c, TCP_EV_HUP);
		return false;
	default: break;
	}
	return true;
}

/* RFC 5961 5.2 */
static bool
ack_believed(struct tcp_conn *c, const struct tcp_seg *g)
{
	if (likely(!seq_lt(g->ack, c->snd_una - c->snd_wnd_max) && !seq_lt(c->snd_nxt, g->ack)))
		return true;
	c->s->st.rx_bad_ack++;
	tcp_challenge(c);
	return false;
}

/* Fifth; false: the connection is over. */
static bool
acknowledgement(struct tcp_conn *c, const struct tcp_seg *g)
{
	/* An old one may still tell what arrived (RFC 6675 5: each that has news of SACK). */
	if (likely(!seq_lt(g->ack, c->snd_una)) || (c->opt_sack && g->o.nsack != 0))
		tcp_ack(c, g);
	return after_ack(c);
}

/* Eighth; the FIN stands at seq. */
void
tcp_fin_input(struct tcp_conn *c, uint32_t seq)
{
	if (c->fin_rcvd || seq != c->rcv_nxt) {
		if (!c->fin_rcvd) {
			c->fin_ooo = true;
			c->fin_seq = seq;
		}
		return;
	}
	c->rcv_nxt++;
	if (seq_lt(c->rcv_adv, c->rcv_nxt))
		c->rcv_adv = c->rcv_nxt;
	c->fin_rcvd = true;
	c->ack_now = true;
	tcp_ooo_free(c); /* behind the end there is nothing */
	switch (c->n.state) {
	case TCP_SYN_RECV:
	case TCP_ESTABLISHED: tcp_enter(c, TCP_CLOSE_WAIT); break;
	case TCP_FIN_WAIT1: tcp_enter(c, TCP_CLOSING); break; /* an ACK of ours would have led to FIN-WAIT-2 */
	case TCP_FIN_WAIT2:
		tcp_send_ack(c);
		tcp_event(c, TCP_EV_READABLE);
		tcp_tw_enter(c);
		return;
	default: break;
	}
	tcp_event(c, TCP_EV_READABLE);
	tcp_dirty(c);
}

/* Sixth to eighth. */
static void
text(struct tcp_conn *c, struct tcp_seg *g)
{
	const uint32_t end = g->seq + g->len;
	const bool in_order = g->seq == c->rcv_nxt;

	if (g->len != 0) {
		if (c->fin_rcvd) {
			c->ack_now = true;
		} else if (c->orphan || (c->read_shut && c->fin_wanted)) {
			/* RFC 9293 3.6: nobody will read it, and the peer must know. */
			c->s->st.rx_after_close++;
			tcp_send_control(c, c->snd_nxt, RTE_TCP_RST_FLAG | RTE_TCP_ACK_FLAG);
			tcp_end(c, ECONNRESET, !c->orphan);
			tcp_event(c, TCP_EV_ERROR | TCP_EV_HUP | TCP_EV_READABLE | TCP_EV_WRITABLE);
			return;
		} else if (unlikely(c->s->rx_scarce) && !tcp_rx_may(c, g)) {
			/* It comes again; what it acknowledged counts. */
			c->s->st.rx_scarce++;
			return;
		} else {
			c->s->st.rx_bytes += g->len;
			if (c->opt_ecn)
				tcp_ecn_data(c, g);
			tcp_rx_text(c, g);
			/* Each that is out of order is answered by itself, as a sender without SACK counts them. */
			if (!in_order && c->ack_now)
				tcp_send_ack(c);
		}
	}
	if ((g->flags & RTE_TCP_FIN_FLAG) != 0)
		tcp_fin_input(c, end);
	else if (unlikely(c->fin_ooo))
		tcp_fin_input(c, c->fin_seq);
	if (c->n.state == TCP_CLOSE || c->n.state == TCP_TIME_WAIT)
		return;
	tcp_plan_ack(c);
	if (c->ack_now)
		tcp_dirty(c);
}

void
tcp_segment_input(struct tcp_conn *c, struct tcp_seg *g)
{
	uint32_t len = g->len + ((g->flags & RTE_TCP_SYN_FLAG) != 0) + ((g->flags & RTE_TCP_FIN_FLAG) != 0);
	struct tcp_stack *s = c->s;

	if (c->n.state == TCP_SYN_SENT) {
		tcp_syn_sent_input(c, g);
		return;
	}
	if (c->opt_ts && !timestamps(c, g))
		return;
	/* Figure 8, line 6: both opened at once, and the answer to our SYN repeats the peer's own, which is known. */
	if (unlikely(c->n.state == TCP_SYN_RECV) && !c->passive && g->seq == c->irs &&
	    (g->flags & (RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG | RTE_TCP_RST_FLAG)) ==
		    (RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG)) {
		g->flags &= (uint8_t)~RTE_TCP_SYN_FLAG;
		g->seq++;
		len--;
		c->ack_now = true; /* our own answer may have been lost */
	}
	if (unlikely(!acceptable(c, g, len))) {
		s->st.rx_outside++;
		if ((g->flags & RTE_TCP_RST_FLAG) != 0)
			return;
		if (c->n.state == TCP_SYN_RECV && (g->flags & RTE_TCP_SYN_FLAG) != 0 && g->seq == c->irs) {
			/* The peer did not hear our SYN; hearing ACK alone it would go on asking. */
			if (c->opt_ecn)
				tcp_ecn_syn(c, g);
			c->syn_out = true;
			tcp_dirty(c);
		} else if (len == 0) {
			tcp_challenge(c); /* two that disagree must not talk forever */
		} else {
			if (g->len != 0 && seq_lt(g->seq, c->rcv_nxt)) {
				tcp_rx_twice(c, g->seq, g->seq + g->len);
				s->st.rx_duplicate++;
			}
			tcp_send_ack(c);
		}
		/* An acknowledgement is good all the same when the window is closed (3.10.7.4, first). */
		if (c->rcv_adv != c->rcv_nxt ||
		    (g->flags & (RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG)) != RTE_TCP_ACK_FLAG ||
		    c->n.state == TCP_SYN_RECV || g->seq - c->rcv_nxt >= TCP_BUF_MAX)
			return;
		g->flags &= (uint8_t)~RTE_TCP_FIN_FLAG;
		c->heard_us = s->now;
		c->keep_sent = 0;
		if (ack_believed(c, g))
			acknowledgement(c, g);
		return;
	}
	if (unlikely((g->flags & (RTE_TCP_RST_FLAG | RTE_TCP_SYN_FLAG)) != 0) && !rst_and_syn(c, g))
		return;
	if (unlikely((g->flags & RTE_TCP_ACK_FLAG) == 0)) {
		s->st.rx_no_ack++;
		return;
	}
	c->heard_us = s->now;
	c->keep_sent = 0;
	if (c->n.state == TCP_SYN_RECV && !syn_received(c, g))
		return;
	if (unlikely(!ack_believed(c, g)))
		return;
	/*
	 * R3: only what stands at the left edge sets the clock. And only what the peer may have sent: one forged segment with a time far
	 * ahead, whose acknowledgement is a guess, would make all that follows look old.
	 */
	if (c->opt_ts && g->o.has_ts && seq_leq(g->seq, c->rcv_acked)) {
		c->ts_recent = g->o.tsval;
		c->ts_recent_ms = s->now_ms;
	}
	if (!acknowledgement(c, g))
		return;
	if (g->len != 0 || (g->flags & RTE_TCP_FIN_FLAG) != 0 || c->fin_ooo)
		text(c, g);
}
