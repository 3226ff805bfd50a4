/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Segments in LISTEN and SYN-SENT, and the moment a connection is there: RFC 9293 3.10.7.2 and 3.10.7.3. */
#include <errno.h>

#include "tcp_priv.h"

static uint8_t
wanted_wscale(const struct tcp_conn *c)
{
	uint8_t n = 0;

	while (n < TCP_WSCALE_MAX && c->rcvbuf > UINT32_C(65535) << n)
		n++;
	return n;
}

/* First values of a connection that sends SYN next. */
void
tcp_open(struct tcp_conn *c, uint32_t isn)
{
	struct tcp_stack *s = c->s;

	c->iss = isn;
	c->snd_una = c->snd_nxt = c->iss;
	c->ts_offset = tcp_ts_offset(s, &c->n);
	c->rcv_wscale = s->conf.no_wscale ? 0 : wanted_wscale(c);
	c->ip_id = (uint16_t)s->ops->random(s->home);
	c->syn_out = true;
	tcp_node_add(s, &c->n);
	c->hashed = true;
	tcp_note(c);
	s->st.opened++;
	tcp_dirty(c);
}

/* A connection for the peer of a segment; NULL: there is no memory or no path, the peer asks again. */
static struct tcp_conn *
passive(struct tcp_listener *l, const struct tcp_seg *g)
{
	struct tcp_stack *s = l->c.s;
	struct tcp_conn *c = tcp_conn_new(s, &l->c);

	if (c == NULL) {
		s->st.rx_no_memory++;
		return NULL;
	}
	c->n.laddr = g->ip->dst_addr;
	c->n.raddr = g->ip->src_addr;
	c->n.lport = g->th->dst_port;
	c->n.rport = g->th->src_port;
	if (tcp_path_get(c) != 0) {
		s->st.tx_no_path++;
		c->orphan = true;
		tcp_end(c, 0, false);
		return NULL;
	}
	c->passive = true;
	c->listener = l;
	l->waiting++;
	tcp_enter(c, TCP_SYN_RECV);
	return c;
}

/* An ACK that brings a cookie back stands for the SYN that nobody kept. */
static void
by_cookie(struct tcp_listener *l, struct tcp_seg *g, uint16_t mss)
{
	struct tcp_conn *c;

	if (l->ready >= l->backlog) {
		l->c.s->st.rx_backlog_full++;
		return;
	}
	c = passive(l, g);
	if (c == NULL)
		return;
	tcp_open(c, g->ack - 1);
	c->syn_out = false;
	c->snd_nxt = g->ack;
	c->irs = g->seq - 1;
	c->rcv_wscale = 0;
	c->rcv_nxt = c->rcv_acked = g->seq;
	c->rcv_adv = g->seq + RTE_MIN(c->rcvbuf, UINT32_C(65535));
	c->mss_peer = mss;
	tcp_mss_set(c);
	c->s->st.cookies_good++;
	tcp_segment_input(c, g);
}

void
tcp_listen_input(struct tcp_listener *l, struct tcp_seg *g)
{
	struct tcp_stack *s = l->c.s;
	struct tcp_conn *c;
	uint32_t isn;

	if ((g->flags & RTE_TCP_RST_FLAG) != 0)
		return;
	if ((g->flags & RTE_TCP_ACK_FLAG) != 0) {
		const uint16_t mss = tcp_cookie_check(l, g);

		if (mss != 0)
			by_cookie(l, g, mss);
		else
			tcp_send_reset(s, g);
		return;
	}
	if ((g->flags & RTE_TCP_SYN_FLAG) == 0 || (g->flags & RTE_TCP_FIN_FLAG) != 0)
		return;
	if (l->ready >= l->backlog) {
		s->st.rx_backlog_full++;
		return;
	}
	/* A cookie cannot choose its number: one that follows another connection of the tuple has a place. */
	if (l->waiting - l->ready >= l->backlog && g->tw == NULL) {
		tcp_cookie_send(l, g);
		return;
	}
	c = passive(l, g);
	if (c == NULL)
		return;
	isn = tcp_isn(s, &c->n);
	if (g->tw != NULL) {
		/* 3.6.1: larger than any number of the last one. */
		isn = seq_max(isn, g->tw->snd_nxt + TCP_TW_AHEAD);
		tcp_tw_free(s, g->tw);
		s->st.time_waits_reused++;
	}
	tcp_open(c, isn);
	tcp_syn_options(c, g);
	/* Text that came along is sent again (3.10.7.2 lets it wait, too). */
}

void
tcp_established(struct tcp_conn *c)
{
	struct tcp_listener *l = c->listener;

	c->syn_out = false; /* answered before it could go once more */
	tcp_enter(c, TCP_ESTABLISHED);
	c->at[TCP_T_RTX] = TCP_NEVER;
	c->rtx_kind = TCP_RTX_NONE;
	/* RFC 6298 5.7: after a lost SYN nothing is known of the round trip. */
	if (c->backoff != 0 && c->srtt8 == 0)
		c->rto = 3 * TCP_US_PER_S;
	tcp_cc_start(c);
	tcp_ecn_start(c);
	c->ecn_end = c->snd_una;
	c->backoff = 0;
	c->retries = 0;
	c->recover = c->snd_small = c->snd_una;
	c->progress_us = c->acked_us = c->s->now;
	if (c->keepalive)
		tcp_timer(c, TCP_T_KEEP, c->s->now + c->keep_idle_s * TCP_US_PER_S);
	if (c->passive && l != NULL) {
		c->in_accept = true;
		if (l->head == NULL)
			l->head = c;
		else
			l->tail->accept_next = c;
		l->tail = c;
		l->ready++;
		c->s->st.accepted++;
		tcp_event(&l->c, TCP_EV_READABLE);
	} else {
		tcp_event(c, TCP_EV_WRITABLE);
	}
	if (c->fin_wanted)
		tcp_enter(c, TCP_FIN_WAIT1); /* closed before it was there */
	tcp_dirty(c);
}

/* Measures by the SYN that was sent once: its answer tells the first round trip. */
static void
syn_rtt(struct tcp_conn *c, const struct tcp_seg *g)
{
	if (c->opt_ts && g->o.tsecr != 0) {
		const uint32_t ms = tcp_ts_now(c) - g->o.tsecr;

		if (ms != 0 && ms < 1u << 17)
			tcp_rtt_sample(c, ms * 1000);
	}
	if (c->srtt8 == 0 && c->retries == 0 && c->s->now > c->progress_us)
		tcp_rtt_sample(c, (uint32_t)RTE_MIN(c->s->now - c->progress_us, UINT64_C(60000000)));
}

void
tcp_syn_sent_input(struct tcp_conn *c, struct tcp_seg *g)
{
	const bool ack = (g->flags & RTE_TCP_ACK_FLAG) != 0;
	struct tcp_stack *s = c->s;

	/* First: an ACK of what was not sent. */
	if (ack && (seq_leq(g->ack, c->iss) || seq_lt(c->snd_nxt, g->ack))) {
		tcp_send_reset(s, g);
		return;
	}
	/* Second. */
	if ((g->flags & RTE_TCP_RST_FLAG) != 0) {
		if (ack) {
			s->st.refused++;
			tcp_end(c, ECONNREFUSED, false);
			tcp_event(c, TCP_EV_ERROR | TCP_EV_HUP);
		}
		return;
	}
	/* Fourth. */
	if ((g->flags & RTE_TCP_SYN_FLAG) == 0)
		return;
	tcp_syn_options(c, g);
	c->heard_us = s->now;
	if (!ack) {
		/* Both opened at once (figure 8). */
		tcp_enter(c, TCP_SYN_RECV);
		c->syn_out = true;
		tcp_dirty(c);
		return;
	}
	c->snd_una = g->ack;
	c->snd_wl2 = g->ack;
	syn_rtt(c, g);
	c->ack_now = true;
	tcp_established(c);
	/* What else the segment has is processed as in ESTABLISHED, from the sixth step on. */
	g->seq++;
	if (g->len != 0 && !c->read_shut)
		tcp_rx_text(c, g);
	if ((g->flags & RTE_TCP_FIN_FLAG) != 0)
		tcp_fin_input(c, g->seq + g->len);
}
