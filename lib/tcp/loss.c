/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Acknowledgements and losses. With SACK a segment is lost when one that was sent later has arrived and the time of
 * reordering has passed (RFC 8985); without, after three duplicates, then one a partial acknowledgement (RFC 6582). While a
 * loss is repaired, cwnd follows what arrives (RFC 6937).
 */
#include "tcp_priv.h"

/* What one acknowledgement brought. */
struct news {
	uint32_t rtt; /* us, of the oldest segment that was sent once; 0: none */
	bool any, dsack, lost;
	bool stale;  /* it echoes what was sent before a time-out */
	bool opened; /* the peer's window, which was closed */
	bool later;  /* a segment arrived that was sent after all others before */
};

static uint32_t
now32(const struct tcp_conn *c)
{
	return (uint32_t)c->s->now;
}

static void
delivered(struct tcp_conn *c, const struct tcp_tseg *t, struct news *w)
{
	const uint32_t age = now32(c) - t->sent_us;

	w->any = true;
	if ((t->flags & TSEG_RETX) == 0) {
		if (w->rtt == 0)
			w->rtt = RTE_MAX(age, 1u);
		if (c->high_sacked != 0 && seq_lt(tseg_end(t), c->high_sacked))
			c->reorder_seen = true;
	} else if (age < c->min_rtt) {
		return; /* the first transmission arrived (8985 6.2, step 2) */
	}
	if (c->rack_rtt == 0 || tcp_sent_after(t->sent_us, tseg_end(t), c->rack_sent, c->rack_end)) {
		c->rack_sent = t->sent_us;
		c->rack_end = tseg_end(t);
		c->rack_rtt = RTE_MAX(age, 1u);
		w->later = true;
	}
}

static void
mark_sacked(struct tcp_conn *c, struct tcp_tseg *t, struct news *w)
{
	const uint32_t len = tseg_end(t) - t->seq;

	delivered(c, t, w);
	if ((t->flags & TSEG_FLIGHT) != 0)
		c->pipe -= len;
	if ((t->flags & TSEG_LOST) != 0)
		c->lost -= len;
	t->flags &= (uint8_t) ~(TSEG_FLIGHT | TSEG_LOST);
	t->flags |= TSEG_SACKED;
	c->sacked += len;
	if (c->high_sacked == 0 || seq_lt(c->high_sacked, tseg_end(t)))
		c->high_sacked = tseg_end(t);
}

void
tcp_mark_lost(struct tcp_conn *c, struct tcp_tseg *t)
{
	const uint32_t len = tseg_end(t) - t->seq;

	if ((t->flags & (TSEG_LOST | TSEG_SACKED)) != 0)
		return;
	if ((t->flags & TSEG_FLIGHT) != 0)
		c->pipe -= len;
	t->flags = (uint8_t)((t->flags & ~TSEG_FLIGHT) | TSEG_LOST);
	c->lost += len;
	if (unlikely(c->mtu_probe != 0))
		tcp_pmtu_lost(c, t);
	if (c->lost_hint == NULL || seq_lt(t->seq, c->lost_hint->seq))
		c->lost_hint = t;
}

static void
sack_block(struct tcp_conn *c, uint32_t from, uint32_t to, struct news *w)
{
	struct tcp_tseg *t = c->tx_head;

	if (c->sack_hint != NULL && seq_leq(c->sack_hint->seq, from))
		t = c->sack_hint;
	for (; t != c->unsent && seq_lt(t->seq, to); t = t->next) {
		if (seq_lt(t->seq, from) || seq_lt(to, tseg_end(t)))
			continue;
		if ((t->flags & TSEG_SACKED) == 0)
			mark_sacked(c, t, w);
		c->sack_hint = t;
	}
}

/* RFC 2018 5, RFC 2883 4: the first block may be what came twice. */
static void
sack_input(struct tcp_conn *c, const struct tcp_seg *g, struct news *w)
{
	uint32_t i;

	for (i = 0; i < g->o.nsack; i++) {
		const uint32_t from = g->o.sack[i][0], to = g->o.sack[i][1];

		if (!seq_lt(from, to))
			continue;
		if (i == 0 && (seq_leq(to, g->ack) ||
			       (g->o.nsack > 1 && seq_leq(g->o.sack[1][0], from) && seq_leq(to, g->o.sack[1][1])))) {
			w->dsack = true;
			c->s->st.spurious++;
			continue;
		}
		if (seq_lt(from, c->snd_una) || seq_lt(c->snd_nxt, to))
			continue;
		sack_block(c, from, to, w);
	}
}

static uint32_t
reorder_window(const struct tcp_conn *c)
{
	const uint32_t srtt = c->srtt8 >> 3;

	if (!c->reorder_seen && (c->phase != TCP_PH_OPEN || c->sacked >= TCP_DUPTHRESH * c->mss))
		return 0;
	return RTE_MIN(c->min_rtt / 4 * c->reorder_mult, srtt);
}

/* 8985 6.2, step 5; the time until the next may be lost, 0: none waits. */
static uint32_t
rack_detect(struct tcp_conn *c, struct news *w)
{
	const uint32_t reach = c->rack_rtt + reorder_window(c);
	uint32_t wait = 0;
	struct tcp_tseg *t;

	for (t = c->tx_head; t != c->unsent; t = t->next) {
		int32_t left;

		if ((t->flags & TSEG_FLIGHT) == 0)
			continue;
		if (!tcp_sent_after(c->rack_sent, c->rack_end, t->sent_us, tseg_end(t))) {
			/* Those behind it that were sent once were sent later. */
			if ((t->flags & TSEG_RETX) == 0)
				break;
			continue;
		}
		left = (int32_t)(t->sent_us + reach - now32(c));
		if (left <= 0) {
			tcp_mark_lost(c, t);
			w->lost = true;
		} else {
			wait = RTE_MAX(wait, (uint32_t)left);
		}
	}
	return wait;
}

/* The window is cut for what was lost of flight octets. */
static void
cut_window(struct tcp_conn *c, uint32_t flight)
{
	tcp_cc_loss(c, flight);
	/* RFC 3168 6.1.2: once a window, whatever told of it. */
	if (c->opt_ecn) {
		c->ecn_end = c->snd_nxt;
		c->cwr_due = true;
	}
}

/* The first loss of a window: RFC 5681 3.2, RFC 6937. */
static void
enter_recovery(struct tcp_conn *c)
{
	c->prr_flight = RTE_MAX(tcp_flight(c), 1u);
	c->prr_delivered = c->prr_out = 0;
	/* RFC 4821 7.5: a probe that was too large says nothing of congestion. */
	if (unlikely(tcp_pmtu_alone(c)))
		tcp_cc_full(c);
	else
		cut_window(c, tcp_flight(c));
	c->recover = c->snd_nxt;
	c->phase = TCP_PH_RECOVERY;
	c->probe_end = 0;
	c->force = true;
	c->s->st.fast_retransmits++;
}

static void
prr(struct tcp_conn *c, uint32_t bytes, bool progress)
{
	const uint32_t pipe = tcp_pipe(c);
	int64_t n;

	c->prr_delivered += bytes;
	if (pipe > c->ssthresh) {
		n = (int64_t)(((uint64_t)c->prr_delivered * c->ssthresh + c->prr_flight - 1) / c->prr_flight) -
		    c->prr_out;
	} else {
		n = RTE_MAX((int64_t)c->prr_delivered - c->prr_out, (int64_t)bytes);
		if (progress)
			n += c->mss;
		n = RTE_MIN(n, (int64_t)c->ssthresh - pipe);
	}
	c->cwnd = (uint32_t)(pipe + RTE_MAX(n, 0));
}

static void
leave_phase(struct tcp_conn *c)
{
	/* 6937: the burst that this allows is bounded by what is out. */
	if (c->phase == TCP_PH_RECOVERY)
		c->cwnd = c->cc == TCP_CC_NONE ? TCP_BUF_MAX : RTE_MAX(c->ssthresh, 2u * c->mss);
	c->phase = TCP_PH_OPEN;
	c->dupacks = 0;
	if (c->reorder_mult > 1 && c->reorder_round++ >= 16) { /* 8985 6.2, step 4 */
		c->reorder_mult = 1;
		c->reorder_round = 0;
	}
}

/* 8985 7.4.2: did the tail probe repair a loss? */
static void
probe_answered(struct tcp_conn *c, uint32_t ack, const struct news *w, bool progress)
{
	if (c->probe_end == 0 || seq_lt(ack, c->probe_end))
		return;
	if (c->probe_retx && !w->dsack) {
		if (seq_lt(c->probe_end, ack)) {
			cut_window(c, tcp_flight(c));
			c->cwnd = c->cc == TCP_CC_NONE ? TCP_BUF_MAX : RTE_MIN(c->cwnd, c->ssthresh);
		} else if (progress) {
			return; /* a duplicate tells that both came, more data that one did */
		}
	}
	c->probe_end = 0;
}

static void
window_update(struct tcp_conn *c, const struct tcp_seg *g, bool progress, struct news *w)
{
	const uint32_t old = c->snd_wnd;

	/* Also what is sent again counts when it acknowledges more: the edge goes with the acknowledgement. */
	if (!(progress || seq_lt(c->snd_wl1, g->seq) || (c->snd_wl1 == g->seq && seq_leq(c->snd_wl2, g->ack))))
		return;
	c->snd_wnd = g->wnd;
	c->snd_wl1 = seq_max(c->snd_wl1, g->seq);
	c->snd_wl2 = g->ack;
	c->snd_wnd_max = RTE_MAX(c->snd_wnd_max, g->wnd);
	/* What was sent into a closed window was thrown away. */
	if (old == 0 && g->wnd != 0) {
		if (c->tx_head != c->unsent)
			tcp_mark_lost(c, c->tx_head);
		c->backoff = 0;
		c->force = true;
		w->opened = true;
	}
}

/* Losses without SACK: RFC 5681 3.2, RFC 6582 3.2. */
static void
count_duplicates(struct tcp_conn *c, bool dup, bool progress, struct news *w)
{
	if (progress) {
		if (c->phase == TCP_PH_RECOVERY && seq_lt(c->snd_una, c->recover) && c->tx_head != c->unsent) {
			c->tx_head->flags &= (uint8_t)~TSEG_RETX;
			tcp_mark_lost(c, c->tx_head);
			c->force = true;
		}
		c->dupacks = 0;
		return;
	}
	if (!dup || c->dupacks == UINT8_MAX)
		return;
	c->dupacks++;
	if (c->dupacks != TCP_DUPTHRESH || c->tx_head == c->unsent)
		return;
	if (c->phase == TCP_PH_OPEN) {
		tcp_mark_lost(c, c->tx_head);
		w->lost = true;
	} else if (c->phase == TCP_PH_LOSS && (c->tx_head->flags & (TSEG_RETX | TSEG_LOST)) == TSEG_RETX) {
		/*
		 * RFC 6582 4: what was sent again is lost again, since what was sent behind it arrives. Duplicates of what the peer has
		 * already would acknowledge this, too.
		 */
		tcp_mark_lost(c, c->tx_head);
		enter_recovery(c);
	}
}

/* It echoes what was sent before the last time-out, whose time a clock that came half round since does not tell any more. */
static bool
echoes_older(const struct tcp_conn *c, const struct tcp_seg *g)
{
	return c->backoff != 0 && c->opt_ts && g->o.has_ts && seq_leq(c->timeout_ms, c->s->now_ms) &&
	       seq_lt(g->o.tsecr, c->timeout_ms + c->ts_offset);
}

/* Takes what is acknowledged; how many octets. */
static uint32_t
cumulative(struct tcp_conn *c, const struct tcp_seg *g, struct news *w)
{
	const uint32_t ack = g->ack, acked = ack - c->snd_una;
	const struct tcp_tseg *t;
	bool again = false;

	for (t = c->tx_head; t != c->unsent && seq_leq(tseg_end(t), ack); t = t->next) {
		if ((t->flags & TSEG_SACKED) == 0)
			delivered(c, t, w);
		again |= (t->flags & TSEG_RETX) != 0;
	}
	/* What was sent once behind a hole waited for what was sent again: that is no round trip (Karn). */
	if (again)
		w->rtt = 0;
	tcp_tx_acked(c, ack);
	c->snd_una = ack;
	if (c->high_sacked != 0 && seq_leq(c->high_sacked, ack))
		c->high_sacked = 0;
	/* Who knows whether the way was long, or the first answer was lost and this is one to something later: no round trip, and
	 * the timer stays as it is until there is one (Karn). Else it would count the time-out itself, and double. */
	w->stale = echoes_older(c, g);
	if (!w->stale)
		c->backoff = 0;
	c->retries = 0;
	c->progress_us = c->acked_us = c->s->now;
	if (unlikely(c->mtu_probe != 0))
		tcp_pmtu_acked(c);
	/* Of what was sent before a long silence no clock of 32 bits could tell whether it was before. */
	if (c->tx_head == c->unsent)
		c->rack_rtt = 0;
	return acked;
}

static void
measure(struct tcp_conn *c, const struct tcp_seg *g, const struct news *w, uint32_t acked)
{
	if (w->rtt != 0) {
		tcp_rtt_sample(c, w->rtt);
	} else if (acked != 0 && w->stale) {
		/* No word of a duplicate: it is the answer to what was sent first, a round trip of a path that stood still. The next one
		 * says more of the timer, but the tail may be probed again (8985 7.3). */
		if (c->opt_sack && !w->dsack)
			c->probe_blind = false;
	} else if (acked != 0 && c->opt_ts && g->o.has_ts && g->o.tsecr != 0) {
		/* RFC 7323 4.1: what was sent twice can be told apart. */
		const uint32_t ms = tcp_ts_now(c) - g->o.tsecr;

		if (ms < 1u << 17)
			tcp_rtt_sample(c, RTE_MAX(ms, 1u) * 1000);
	}
}

void
tcp_ack(struct tcp_conn *c, const struct tcp_seg *g)
{
	const uint32_t sacked = c->sacked, wnd = c->snd_wnd;
	const bool had_flight = tcp_flight(c) != 0, marked = c->opt_ecn && (g->flags & RTE_TCP_ECE_FLAG) != 0;
	struct news w = {0};
	uint32_t acked = 0, wait = 0, bytes;

	if (seq_lt(c->snd_una, g->ack))
		acked = cumulative(c, g, &w);
	if (c->opt_sack && unlikely(g->o.nsack != 0))
		sack_input(c, g, &w);
	bytes = acked + c->sacked - sacked;
	if (likely(!seq_lt(g->ack, c->snd_una)))
		window_update(c, g, acked != 0, &w);
	if (acked != 0 || w.rtt != 0)
		measure(c, g, &w, acked);
	if (w.dsack && c->reorder_seen && c->reorder_mult < 16)
		c->reorder_mult++;
	if (c->phase != TCP_PH_OPEN && seq_leq(c->recover, c->snd_una))
		leave_phase(c);
	probe_answered(c, g->ack, &w, acked != 0);
	if (unlikely(marked))
		tcp_ecn_told(c, acked);
	if (!c->opt_sack)
		count_duplicates(c,
				 had_flight && acked == 0 && g->len == 0 && wnd == c->snd_wnd &&
					 (g->flags & RTE_TCP_FIN_FLAG) == 0,
				 acked != 0, &w);
	else if (c->sacked != 0 || c->phase != TCP_PH_OPEN)
		wait = rack_detect(c, &w);
	if (w.lost && c->phase == TCP_PH_OPEN)
		enter_recovery(c);
	if (c->phase == TCP_PH_RECOVERY) {
		/* Each duplicate tells of a segment that left (RFC 6582 3.2, step 4). */
		if (!c->opt_sack && acked == 0 && had_flight)
			bytes = RTE_MIN((uint32_t)c->mss, tcp_flight(c));
		prr(c, bytes, acked != 0);
	} else if (acked != 0 && c->cwnd_limited && !marked) {
		tcp_cc_acked(c, acked, w.rtt);
	}
	if (wait != 0) {
		c->rtx_kind = TCP_RTX_REORDER;
		tcp_timer(c, TCP_T_RTX, c->s->now + wait);
	} else if (acked != 0 || w.any || w.opened || c->rtx_kind == TCP_RTX_REORDER) {
		tcp_rtx_arm(c);
	}
	if (acked != 0 && c->want_write && tcp_room(c) >= c->sndbuf / 3) {
		c->want_write = false;
		tcp_event(c, TCP_EV_WRITABLE);
	}
	if (c->unsent != NULL || c->lost != 0 || (c->fin_wanted && !c->fin_queued))
		tcp_dirty(c);
}

/* RFC 2018 8: a receiver that said it had the first segment, and still does not acknowledge it, threw it away. */
static void
forget_sacked(struct tcp_conn *c)
{
	struct tcp_tseg *t;

	if (c->tx_head == c->unsent || (c->tx_head->flags & TSEG_SACKED) == 0)
		return;
	for (t = c->tx_head; t != c->unsent; t = t->next)
		t->flags &= (uint8_t)~TSEG_SACKED;
	c->sacked = 0;
	c->high_sacked = 0;
	c->sack_hint = NULL;
}

/* RFC 6298 5.4, RFC 5681 3.1. */
void
tcp_loss_timeout(struct tcp_conn *c)
{
	struct tcp_tseg *t;

	c->s->st.timeouts++;
	c->timeout_ms = c->s->now_ms;
	tcp_pmtu_timeout(c);
	if (c->backoff < UINT8_MAX)
		c->backoff++;
	c->force = true;
	c->probe_end = 0;
	forget_sacked(c);
	/* The peer's window is closed: only asked again (3.8.6.1), nothing says that the path is full. */
	if (c->snd_wnd == 0) {
		c->s->st.window_probes++;
		if (c->tx_head != c->unsent)
			tcp_mark_lost(c, c->tx_head);
		return;
	}
	/* The same window is not punished twice. */
	if (c->phase != TCP_PH_LOSS)
		cut_window(c, tcp_flight(c));
	/* Also without congestion control: a path that lost all of a window may lose it again, and the round trip is measured anew. */
	c->cwnd = c->mss;
	c->recover = c->snd_nxt;
	c->phase = TCP_PH_LOSS;
	c->mtu_lost = false;
	c->dupacks = 0;
	for (t = c->tx_head; t != c->unsent; t = t->next)
		tcp_mark_lost(c, t);
	c->lost_hint = c->tx_head;
}

void
tcp_loss_reorder_timeout(struct tcp_conn *c)
{
	struct news w = {0};
	const uint32_t wait = rack_detect(c, &w);

	if (w.lost && c->phase == TCP_PH_OPEN)
		enter_recovery(c);
	if (w.lost && c->phase == TCP_PH_RECOVERY)
		prr(c, 0, false);
	if (wait != 0) {
		c->rtx_kind = TCP_RTX_REORDER;
		tcp_timer(c, TCP_T_RTX, c->s->now + wait);
	} else {
		tcp_rtx_arm(c);
	}
}
