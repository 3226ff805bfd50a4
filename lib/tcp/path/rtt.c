/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Round trips and the retransmission timer (RFC 6298; the tail probe's of RFC 8985 7.2). */
#include "../tcp_priv.h"

#define MIN_RTT_MS 10000u /* a lowest round trip that is older is not believed */

/*
 * A timer that is late says that nobody ran the stack: what came since it was due waited here, not on the way. Of what was sent before,
 * that time is no part of the round trip.
 */
static uint32_t
on_the_way(const struct tcp_conn *c, uint32_t us)
{
	const uint64_t due = c->at[TCP_T_RTX];
	struct tcp_stack *s = c->s;

	if (unlikely(due < s->now)) {
		s->away_from = due;
		s->away_us = s->now - due;
	}
	if (unlikely(s->now - us < s->away_from) && us > s->away_us)
		us -= (uint32_t)s->away_us;
	return us;
}

void
tcp_rtt_sample(struct tcp_conn *c, uint32_t us)
{
	uint64_t rto;

	us = RTE_MIN(RTE_MAX(on_the_way(c, us), 1u), 1u << 27);
	if (us <= c->min_rtt || c->min_rtt == 0 || c->s->now_ms - c->min_rtt_ms > MIN_RTT_MS) {
		c->min_rtt = us;
		c->min_rtt_ms = c->s->now_ms;
	}
	if (c->srtt8 == 0) {
		c->srtt8 = us << 3;
		c->rttvar4 = us << 1;
	} else {
		const int32_t err = (int32_t)us - (int32_t)(c->srtt8 >> 3);
		const uint32_t dist = (uint32_t)(err < 0 ? -err : err);

		c->rttvar4 += dist - (c->rttvar4 >> 2);
		c->srtt8 = RTE_MAX((uint32_t)((int32_t)c->srtt8 + err), 1u);
	}
	rto = (c->srtt8 >> 3) + RTE_MAX(c->rttvar4, 1u << WHEEL_SHIFT);
	rto = RTE_MAX(rto, c->s->conf.rto_min_ms * TCP_US_PER_MS);
	c->rto = (uint32_t)RTE_MIN(rto, TCP_RTO_MAX);
	c->probe_blind = false;
}

uint64_t
tcp_rto(const struct tcp_conn *c)
{
	const uint64_t t = (uint64_t)c->rto << RTE_MIN(c->backoff, 20);

	return RTE_MIN(t, TCP_RTO_MAX);
}

/* RFC 5482: how long the peer may still be silent. */
static uint64_t
patience(const struct tcp_conn *c)
{
	const uint64_t end = c->progress_us + c->user_timeout_ms * TCP_US_PER_MS, now = c->s->now;

	if (c->user_timeout_ms == 0)
		return TCP_NEVER;
	return end > now ? end - now : 0;
}

uint64_t
tcp_rtx_after(const struct tcp_conn *c)
{
	return RTE_MIN(tcp_rto(c), patience(c));
}

uint64_t
tcp_rto_ends(const struct tcp_conn *c)
{
	const uint32_t age = (uint32_t)c->s->now - c->tx_head->sent_us;

	return RTE_MAX(c->s->now - age, c->progress_us) + tcp_rto(c);
}

uint32_t
tcp_probe_after(const struct tcp_conn *c)
{
	/* The peer may hold the acknowledgement of one segment back, and that of less than two full ones (RFC 5681 4.2). */
	const bool held = c->tx_head->next == c->unsent || tcp_flight(c) < 2u * c->mss;

	if (unlikely(c->srtt8 == 0))
		return (uint32_t)TCP_US_PER_S;
	return (c->srtt8 >> 2) + (uint32_t)TCP_US_PER_MS * (held ? c->s->conf.rto_min_ms : 2);
}

/* RFC 8985 7.2: nothing is being repaired; 7.3: no probe is out, and a round trip was measured since the last one. */
static bool
may_probe(const struct tcp_conn *c)
{
	return c->opt_sack && c->phase == TCP_PH_OPEN && c->probe_end == 0 && c->sacked == 0 && !c->probe_blind &&
	       c->snd_wnd != 0 && c->tx_head != NULL && c->tx_head != c->unsent;
}

void
tcp_rtx_arm(struct tcp_conn *c)
{
	uint64_t after;

	if (tcp_flight(c) == 0) {
		c->rtx_kind = TCP_RTX_NONE;
		c->at[TCP_T_RTX] = TCP_NEVER;
		return;
	}
	after = likely(c->backoff == 0) ? c->rto : tcp_rto(c);
	c->rtx_kind = TCP_RTX_RTO;
	/* 8985 7.2: when the time-out would come first, the probe goes at that time in its place. */
	if (may_probe(c)) {
		after = RTE_MIN(after, (uint64_t)tcp_probe_after(c));
		c->rtx_kind = TCP_RTX_PROBE;
	}
	if (unlikely(c->user_timeout_ms != 0) && patience(c) <= after) {
		after = patience(c);
		c->rtx_kind = TCP_RTX_RTO;
	}
	tcp_timer(c, TCP_T_RTX, c->s->now + after);
}
