/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * How large packets may be on the way to the peer. Routers tell (RFC 1191), or swallow what is too large without a word: then
 * time-outs of full segments lead to smaller ones. Both ways back up are probes (RFC 4821): one packet of several segments,
 * which, if it is lost alone, says nothing of congestion, and whose segments are sent again one by one.
 */
#include "../tcp_priv.h"

#define TIMEOUTS 2u                       /* in a row, before the size is doubted */
#define STEP 8u                           /* no search for less */
#define AGAIN_MS UINT32_C(10 * 60 * 1000) /* RFC 1191 6.3 */
#define BEHIND 3u                         /* segments behind the probe, which show that it alone was lost */

static uint32_t
headers(const struct tcp_conn *c)
{
	return 40 + (c->opt_ts ? 12 : 0);
}

/* Largest packet that makes sense. */
static uint16_t
top(const struct tcp_conn *c)
{
	uint32_t mtu = RTE_MIN((uint32_t)c->mtu_path, c->mss_peer + 40u);

	if (c->mss_set != 0)
		mtu = RTE_MIN(mtu, c->mss_set + 40u);
	return (uint16_t)mtu;
}

static bool
in_probe(const struct tcp_conn *c, const struct tcp_tseg *t)
{
	return t->seq - (c->mtu_end - c->mtu_len) < c->mtu_len;
}

/* The size changes; the search goes on between it and mtu_high, or rests. */
static void
settle(struct tcp_conn *c, uint32_t mtu)
{
	c->mtu = (uint16_t)RTE_MAX(RTE_MIN(mtu, (uint32_t)c->mtu_path), TCP_MTU_MIN);
	tcp_mss_set(c);
	c->mtu_search = c->mtu < top(c);
	if (c->mtu_high >= c->mtu + STEP)
		return;
	c->mtu_high = 0;
	c->mtu_next_ms = c->s->now_ms + AGAIN_MS;
}

void
tcp_pmtu_path(struct tcp_conn *c, uint16_t mtu)
{
	const bool narrower = c->mtu < c->mtu_path;

	c->mtu_path = mtu;
	c->mtu_next_ms = c->s->now_ms;
	/* What was found out may still be true; it is tried soon. */
	c->mtu = narrower ? RTE_MIN(c->mtu, mtu) : mtu;
	c->mtu_high = 0;
}

bool
tcp_pmtu_told(struct tcp_conn *c, uint16_t mtu)
{
	const bool probe = c->mtu_probe != 0;
	struct tcp_tseg *t;

	if (mtu >= RTE_MAX(c->mtu, c->mtu_probe))
		return false;
	c->mtu_probe = 0;
	c->mtu_high = mtu;
	c->mtu_top = true;
	settle(c, RTE_MIN(mtu, c->mtu));
	/* Each that was too large is gone; this is no congestion (RFC 1191 6.5). */
	for (t = c->tx_head; t != c->unsent; t = t->next)
		if (t->len > c->mss || (probe && in_probe(c, t)))
			tcp_mark_lost(c, t);
	tcp_rtx_arm(c);
	tcp_dirty(c);
	return true;
}

void
tcp_pmtu_timeout(struct tcp_conn *c)
{
	static const uint16_t rungs[] = {1500, 1280, 1006, 552, 296};
	const struct tcp_tseg *t = c->tx_head;
	uint32_t i = 0;

	if (c->retries < TIMEOUTS || c->snd_wnd == 0 || t == c->unsent)
		return;
	while (i < RTE_DIM(rungs) && rungs[i] >= t->len + headers(c))
		i++;
	if (i == RTE_DIM(rungs))
		return;
	c->s->st.mtu_black_holes++;
	c->mtu_high = top(c);
	c->mtu_top = true;
	c->mtu_next_ms = c->s->now_ms;
	settle(c, rungs[i]);
}

void
tcp_pmtu_acked(struct tcp_conn *c)
{
	const uint16_t mtu = c->mtu_probe;

	if (seq_lt(c->snd_una, c->mtu_end))
		return;
	c->mtu_probe = 0;
	settle(c, mtu);
}

void
tcp_pmtu_lost(struct tcp_conn *c, const struct tcp_tseg *t)
{
	if (!in_probe(c, t))
		return;
	c->mtu_high = c->mtu_probe - 1;
	c->mtu_top = false;
	c->mtu_probe = 0;
	c->mtu_lost = true;
	c->s->st.mtu_probes_lost++;
	settle(c, c->mtu);
}

bool
tcp_pmtu_alone(struct tcp_conn *c)
{
	const struct tcp_tseg *t;

	if (!c->mtu_lost)
		return false;
	c->mtu_lost = false;
	for (t = c->tx_head; t != c->unsent; t = t->next)
		if ((t->flags & TSEG_LOST) != 0 && !in_probe(c, t))
			return false;
	return true;
}

/* Segments from t on that make len octets, the last one split where it is longer; 0: there are none. */
static uint32_t
take(struct tcp_conn *c, struct tcp_tseg *t, uint32_t len)
{
	uint32_t n;

	for (n = 1; n <= TCP_TSO_SEGS && t != NULL && (t->flags & TSEG_FIN) == 0; n++, t = t->next) {
		if (t->len == len || (t->len > len && tcp_tx_split(c, t, len)))
			return n;
		if (t->len > len)
			return 0;
		len -= t->len;
	}
	return 0;
}

/* Nothing is amiss, and it is time. */
static bool
may_probe(const struct tcp_conn *c)
{
	return (c->n.state == TCP_ESTABLISHED || c->n.state == TCP_CLOSE_WAIT) && c->unsent != NULL &&
	       (c->phase | c->lost | c->sacked | c->mtu_probe | c->backoff | c->retries) == 0 && !c->probe_due &&
	       (int32_t)(c->s->now_ms - c->mtu_next_ms) >= 0;
}

bool
tcp_pmtu_probe(struct tcp_conn *c)
{
	const uint32_t from = c->unsent != NULL ? c->unsent->seq : 0, pipe = tcp_pipe(c);
	uint32_t size, len, all, n;

	if (!may_probe(c) || tcp_path_get(c) != 0)
		return false;
	if (c->mtu_high == 0) {
		c->mtu_high = top(c);
		c->mtu_top = true;
	}
	size = c->mtu_top ? c->mtu_high : (c->mtu + c->mtu_high + 1u) / 2;
	if (size <= c->mtu) {
		settle(c, c->mtu);
		return false;
	}
	len = size - headers(c);
	all = len + BEHIND * c->mss;
	if (tseg_end(c->tx_tail) - from < all || c->cwnd < all || c->snd_wnd < all)
		return false;
	/* The windows open when what is out has arrived. */
	if (pipe + len > c->cwnd || c->snd_una + c->snd_wnd - from < all)
		return tcp_flight(c) != 0;
	n = take(c, c->unsent, len);
	if (n == 0 || !tcp_send_data(c, c->unsent, n, len, 0))
		return false;
	c->mtu_probe = (uint16_t)size;
	c->mtu_len = (uint16_t)len;
	c->mtu_end = from + len;
	c->s->st.mtu_probes++;
	tcp_new_sent(c, c->unsent, n);
	return false;
}
