/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What time brings, and the round that sends. */
#include <errno.h>

#include "tcp_priv.h"

static void
give_up(struct tcp_conn *c)
{
	c->s->st.timed_out++;
	tcp_end(c, ETIMEDOUT, c->n.state > TCP_SYN_RECV || c->n.state == TCP_ESTABLISHED);
	tcp_event(c, TCP_EV_ERROR | TCP_EV_HUP | TCP_EV_READABLE | TCP_EV_WRITABLE);
}

/* RFC 9293 3.8.3: R2, or RFC 5482. */
static bool
too_long(const struct tcp_conn *c)
{
	if (c->user_timeout_ms != 0)
		return c->s->now - c->progress_us >= c->user_timeout_ms * TCP_US_PER_MS;
	return c->retries > c->s->conf.data_retries;
}

static void
syn_timeout(struct tcp_conn *c)
{
	/* One that never left, for want of a path, is no try that a peer did not answer; but it ends, too. */
	if (c->snd_nxt == c->iss && c->syn_waits < c->s->conf.syn_retries) {
		c->syn_waits++;
		tcp_dirty(c);
		return;
	}
	if (c->retries++ >= c->s->conf.syn_retries) {
		give_up(c);
		return;
	}
	c->backoff++;
	c->syn_out = true;
	c->s->st.timeouts++;
	tcp_dirty(c);
}

/* A peer that answers may keep its window closed as long as it likes (3.8.6.1), but not when nobody holds our end (RFC 6429). */
static bool
answers(const struct tcp_conn *c)
{
	return !c->orphan && c->heard_us + tcp_rto(c) > c->s->now;
}

static void
data_timeout(struct tcp_conn *c)
{
	if (c->snd_wnd == 0 && answers(c))
		c->retries = 0;
	c->retries++;
	if (too_long(c)) {
		give_up(c);
		return;
	}
	tcp_loss_timeout(c);
	tcp_rtx_arm(c); /* RFC 6298 5.6, also where nothing can be sent now */
	tcp_dirty(c);
}

/* What was sent since the timer was set puts it off (8985 7.2); output_plain leaves that to this. */
static bool
put_off(struct tcp_conn *c)
{
	const uint32_t now = (uint32_t)c->s->now, after = tcp_probe_after(c);
	const uint64_t ends = tcp_rto_ends(c);
	const struct tcp_tseg *t;
	uint32_t quiet = after;

	for (t = c->tx_head; t != c->unsent; t = t->next)
		quiet = RTE_MIN(quiet, now - t->sent_us);
	if (quiet == after || ends <= c->s->now)
		return false;
	c->rtx_kind = TCP_RTX_PROBE;
	tcp_timer(c, TCP_T_RTX, RTE_MIN(c->s->now + after - quiet, ends));
	return true;
}

/* RFC 8985 7.3: new data if some can go, whatever held it back, else the last segment once more. */
static void
tail_probe(struct tcp_conn *c)
{
	const uint32_t nxt = c->snd_nxt;
	struct tcp_tseg *t, *last = NULL;

	c->s->st.tail_probes++;
	if (c->unsent != NULL && tcp_flight(c) < c->snd_wnd) {
		c->cwnd += c->mss; /* for this segment */
		c->push = true;
		tcp_output(c);
		c->push = false;
		c->cwnd -= c->mss;
	}
	c->probe_retx = c->snd_nxt == nxt;
	if (c->probe_retx) {
		for (t = c->tx_head; t != c->unsent; t = t->next)
			last = t;
		if (last != NULL) {
			tcp_mark_lost(c, last);
			c->force = true;
		}
		tcp_output(c);
	}
	c->probe_end = c->snd_nxt;
	c->probe_blind = true;
	tcp_rtx_arm(c);
}

static void
persist_timeout(struct tcp_conn *c)
{
	if (c->snd_wnd == 0)
		c->s->st.window_probes++;
	if (c->cork || c->more)
		c->more = false;
	else if (c->backoff < UINT8_MAX)
		c->backoff++;
	c->retries++;
	if (answers(c))
		c->retries = 0;
	if (too_long(c)) {
		give_up(c);
		return;
	}
	c->probe_due = true;
	tcp_dirty(c);
}

static void
rtx_timeout(struct tcp_conn *c)
{
	const enum tcp_rtx kind = c->rtx_kind;

	c->at[TCP_T_RTX] = TCP_NEVER;
	c->rtx_kind = TCP_RTX_NONE;
	if (c->n.state == TCP_SYN_SENT || c->n.state == TCP_SYN_RECV) {
		syn_timeout(c);
		return;
	}
	switch (kind) {
	case TCP_RTX_RTO: data_timeout(c); break;
	case TCP_RTX_PROBE:
		if (!put_off(c))
			tail_probe(c);
		break;
	case TCP_RTX_REORDER:
		tcp_loss_reorder_timeout(c);
		tcp_dirty(c);
		break;
	case TCP_RTX_PERSIST: persist_timeout(c); break;
	case TCP_RTX_NONE: break;
	}
}

/* RFC 9293 3.8.4, or FIN-WAIT-2 that nobody waits for. */
static void
keep_timeout(struct tcp_conn *c)
{
	const uint64_t idle = c->keep_idle_s * TCP_US_PER_S, quiet = c->s->now - c->heard_us;

	c->at[TCP_T_KEEP] = TCP_NEVER;
	if (c->n.state == TCP_FIN_WAIT2 && c->orphan) {
		tcp_end(c, 0, false);
		return;
	}
	if (!c->keepalive || c->n.state == TCP_LISTEN)
		return;
	if (tcp_flight(c) != 0 || quiet < idle) {
		tcp_timer(c, TCP_T_KEEP, tcp_flight(c) != 0 ? c->s->now + idle : c->heard_us + idle);
		return;
	}
	if (c->keep_sent >= c->keep_cnt) {
		tcp_send_control(c, c->snd_nxt, RTE_TCP_RST_FLAG | RTE_TCP_ACK_FLAG);
		give_up(c);
		return;
	}
	c->keep_sent++;
	c->s->st.keepalives++;
	tcp_send_control(c, c->snd_una - 1, RTE_TCP_ACK_FLAG);
	tcp_timer(c, TCP_T_KEEP, c->s->now + c->keep_intvl_s * TCP_US_PER_S);
}

static void
timers(struct tcp_conn *c)
{
	const uint64_t now = c->s->now;
	uint64_t next;

	if (c->at[TCP_T_ACK] <= now) {
		c->at[TCP_T_ACK] = TCP_NEVER;
		c->ack_now |= c->ack_delayed;
		c->ack_delayed = false;
		tcp_dirty(c);
	}
	if (c->at[TCP_T_RTX] <= now)
		rtx_timeout(c);
	if (c->at[TCP_T_KEEP] <= now)
		keep_timeout(c);
	next = RTE_MIN(c->at[TCP_T_RTX], RTE_MIN(c->at[TCP_T_ACK], c->at[TCP_T_KEEP]));
	/* One of them may have entered itself before an earlier one. */
	if (next != TCP_NEVER && (!c->timed || next < c->wheel.tick << WHEEL_SHIFT)) {
		wheel_add(&c->s->wheel, &c->wheel, next);
		c->timed = true;
	}
}

static __rte_noinline void
wheel_round(struct tcp_stack *s)
{
	struct wheel_entry *e = wheel_turn(&s->wheel, s->now), *next;

	for (; e != NULL; e = next) {
		struct tcp_conn *c = RTE_PTR_SUB(e, offsetof(struct tcp_conn, wheel));

		next = e->next;
		e->next = NULL;
		c->timed = false;
		timers(c);
	}
}

/* The connections from first to last wait behind those that wait. */
static void
dirty_join(struct tcp_stack *s, struct tcp_conn *first, struct tcp_conn *last)
{
	if (s->dirty_head == NULL)
		s->dirty_head = first;
	else
		s->dirty_tail->dirty_next = first;
	s->dirty_tail = last;
}

/* Each connection with work, once; one that the home stopped goes first the next time, and those behind it wait for that, too. */
static void
send_round(struct tcp_stack *s)
{
	struct tcp_conn *c = s->dirty_head, *const last = s->dirty_tail, *next;

	s->dirty_head = s->dirty_tail = NULL;
	for (; c != NULL; c = next) {
		next = c->dirty_next;
		c->dirty = false;
		if (unlikely(c->n.state != TCP_ESTABLISHED) &&
		    (c->n.state == TCP_CLOSE || c->n.state == TCP_TIME_WAIT)) {
			if (c->orphan)
				tcp_conn_free(c);
			continue;
		}
		tcp_output(c);
		if (likely(!s->blocked || s->ntx != TCP_TX_BATCH))
			continue;
		tcp_dirty(c);
		if (next != NULL)
			dirty_join(s, next, last);
		break;
	}
}

static __rte_noinline uint32_t
busy_round(struct tcp_stack *s)
{
	const uint32_t sent = s->sent;

	if (unlikely(s->ntx != 0))
		tcp_flush(s);
	if (unlikely(s->starved))
		tcp_tx_look(s);
	if (s->tw_head != NULL)
		tcp_tw_expire(s);
	if (wheel_due(&s->wheel, s->now))
		wheel_round(s);
	else
		wheel_clock(&s->wheel, s->now);
	if (s->dirty_head != NULL)
		send_round(s);
	if (s->ntx != 0)
		tcp_flush(s);
	return s->sent - sent;
}

uint32_t
tcp_run(struct tcp_stack *s, uint64_t now_us)
{
	tcp_clock(s, now_us);
	if (s->dirty_head == NULL && s->ntx == 0 && s->tw_head == NULL && !s->starved && !wheel_due(&s->wheel, s->now))
		return 0;
	return busy_round(s);
}

uint64_t
tcp_deadline(const struct tcp_stack *s)
{
	uint64_t at = wheel_next(&s->wheel);

	if (s->dirty_head != NULL || s->ntx != 0)
		return 0;
	if (s->tw_head != NULL) {
		const int32_t left = (int32_t)(s->tw_head->end_ms - s->now_ms);

		at = RTE_MIN(at, (s->now / TCP_US_PER_MS + (uint64_t)RTE_MAX(left, 0)) * TCP_US_PER_MS);
	}
	return at;
}
