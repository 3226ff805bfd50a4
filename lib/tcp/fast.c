/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Header prediction: the next data of an established connection, or an acknowledgement of what was sent, where nothing is
 * lost, out of order or about to end. What is done here is what segment.c, loss.c and rxq.c come to for such a segment.
 */
#include "tcp_priv.h"

/* Nothing but timestamps. */
struct plain {
	const struct rte_ipv4_hdr *ip;
	uint32_t seq, ack, len, wnd, off /* of the payload */;
	uint32_t tsval;
	bool ts;
};

static uint32_t
load32(const void *p)
{
	rte_be32_t v;

	memcpy(&v, p, sizeof(v));
	return rte_be_to_cpu_32(v);
}

/* The connection of a segment that is plain; NULL. */
static inline struct tcp_conn *
parse(const struct tcp_stack *s, const struct rte_mbuf *m, struct plain *g)
{
	const uint8_t *eth = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(eth + RTE_ETHER_HDR_LEN);
	const struct rte_tcp_hdr *th = (const struct rte_tcp_hdr *)(ip + 1);
	uint32_t total, hlen = sizeof(*ip) + sizeof(*th), type, piece;
	uint16_t off_flags;
	struct tcp_node *n;

	if (unlikely(m->next != NULL || m->data_len < RTE_ETHER_HDR_LEN + hlen))
		return NULL;
	/* Several fields in one look: EtherType, version and TOS; fragments, TTL and protocol; header's length and flags. */
	memcpy(&type, eth + 2 * RTE_ETHER_ADDR_LEN, sizeof(type));
	memcpy(&piece, &ip->fragment_offset, sizeof(piece));
	memcpy(&off_flags, &th->data_off, sizeof(off_flags));
	off_flags &= (uint16_t)~RTE_BE16(RTE_TCP_PSH_FLAG);
	if (unlikely((type & RTE_BE32(0xffffff00)) != RTE_BE32(RTE_ETHER_TYPE_IPV4 << 16 | RTE_IPV4_VHL_DEF << 8) ||
		     (type & RTE_BE32(RTE_IPV4_HDR_ECN_MASK)) == RTE_BE32(RTE_IPV4_HDR_ECN_MASK) ||
		     (piece & RTE_BE32((RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK) << 16 | 0xff)) !=
			     RTE_BE32(IPPROTO_TCP)))
		return NULL;
	total = rte_be_to_cpu_16(ip->total_length);
	g->ts = off_flags == RTE_BE16((sizeof(*th) + 12) << 10 | RTE_TCP_ACK_FLAG);
	if (g->ts)
		hlen += 12;
	else if (off_flags != RTE_BE16(sizeof(*th) << 10 | RTE_TCP_ACK_FLAG))
		return NULL;
	if (unlikely(total < hlen || RTE_ETHER_HDR_LEN + total > m->data_len ||
		     (g->ts && memcmp(th + 1, "\1\1\x8\xa", 4) != 0)))
		return NULL;
	n = tcp_find_packet(s, &ip->src_addr);
	if (unlikely(n == NULL || n->kind != TCP_NODE_CONN || n->state != TCP_ESTABLISHED))
		return NULL;
	g->ip = ip;
	g->seq = rte_be_to_cpu_32(th->sent_seq);
	g->ack = rte_be_to_cpu_32(th->recv_ack);
	g->wnd = (uint32_t)rte_be_to_cpu_16(th->rx_win) << ((struct tcp_conn *)n)->snd_wscale;
	g->tsval = g->ts ? load32((const uint8_t *)(th + 1) + 4) : 0;
	g->off = RTE_ETHER_HDR_LEN + hlen;
	g->len = total - hlen;
	return (struct tcp_conn *)n;
}

/* Nothing is amiss, and the segment brings something. */
static inline bool
expected(const struct tcp_conn *c, const struct plain *g)
{
	if (unlikely(g->seq != c->rcv_nxt || g->ts != c->opt_ts || (g->ts && seq_lt(g->tsval, c->ts_recent)) ||
		     g->ack - c->snd_una > c->snd_nxt - c->snd_una || g->len > tcp_rx_told(c) ||
		     (g->len == 0 && g->ack == c->snd_una)))
		return false;
	if (unlikely(c->fin_ooo || c->fin_rcvd || c->fin_wanted || c->orphan || c->read_shut || c->probe_due ||
		     c->force || c->ooo != NULL || c->snd_wnd == 0))
		return false;
	/* One branch for what is always 0. */
	return likely((c->sacked | c->lost | c->probe_end | c->phase | c->dupacks | c->mtu_probe) == 0 &&
		      c->rtx_kind <= TCP_RTX_PROBE);
}

/* What the acknowledgement covers goes; the round trip of the oldest segment, 0: one was sent again (Karn). */
static inline uint32_t
take_acked(struct tcp_conn *c, uint32_t ack)
{
	const uint32_t now = (uint32_t)c->s->now;
	uint32_t oldest = now, sent = now, end = ack, gone = 0, again = 0;
	struct tcp_stack *s = c->s;
	struct tcp_tseg *t = c->tx_head, *next;

	if (t != c->unsent)
		oldest = t->sent_us;
	for (; t != c->unsent && seq_leq(t->seq + t->len, ack); t = next) {
		next = t->next;
		again |= t->flags & TSEG_RETX;
		sent = t->sent_us;
		end = t->seq + t->len;
		gone += t->len;
		tcp_mbuf_done(s, t->m);
	}
	c->tx_head = t;
	/* The last is the one that was sent last, but for what was sent twice: that says less than nothing to RACK. */
	if (likely(gone != 0 && again == 0) &&
	    (c->rack_rtt == 0 || tcp_sent_after(sent, end, c->rack_sent, c->rack_end))) {
		c->rack_sent = sent;
		c->rack_end = end;
		c->rack_rtt = RTE_MAX(now - sent, 1u);
	}
	c->pipe -= gone;
	c->snd_queued -= gone;
	if (c->tx_head == NULL)
		c->tx_tail = NULL;
	c->sack_hint = c->lost_hint = NULL; /* nothing is */
	if (t != c->unsent && seq_lt(t->seq, ack))
		tcp_tx_acked(c, ack);
	if (c->tx_head == c->unsent)
		c->rack_rtt = 0;
	return gone == 0 || again != 0 ? 0 : RTE_MAX(now - oldest, 1u);
}

static __rte_noinline void
acked(struct tcp_conn *c, uint32_t ack)
{
	const uint32_t bytes = ack - c->snd_una, rtt = take_acked(c, ack);

	c->snd_una = ack;
	c->backoff = 0;
	c->retries = 0;
	c->progress_us = c->acked_us = c->s->now;
	if (rtt != 0)
		tcp_rtt_sample(c, rtt);
	if (c->cwnd_limited)
		tcp_cc_acked(c, bytes, rtt);
	tcp_rtx_arm(c);
	if (unlikely(c->want_write) && tcp_room(c) >= c->sndbuf / 3) {
		c->want_write = false;
		tcp_event(c, TCP_EV_WRITABLE);
	}
}

static __rte_noinline void
done_with(struct rte_mbuf *m)
{
	rte_pktmbuf_free_seg(m);
}

/* A segment of a connection on which nothing is amiss is done with, and m is taken; false: not such a one, m is untouched. */
static inline bool
fast_input(struct tcp_stack *s, struct rte_mbuf *m)
{
	struct plain g;
	struct tcp_conn *c = parse(s, m, &g);

	if (unlikely(c == NULL || !expected(c, &g) ||
		     !tcp_sums_good(m, g.ip, RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr),
				    g.off - RTE_ETHER_HDR_LEN - (uint32_t)sizeof(struct rte_ipv4_hdr) + g.len)))
		return false;
	s->st.rx_segments++;
	if (g.ts && seq_leq(g.seq, c->rcv_acked)) {
		c->ts_recent = g.tsval;
		c->ts_recent_ms = s->now_ms;
	}
	c->heard_us = s->now;
	c->keep_sent = 0;
	c->snd_wl1 = g.seq;
	c->snd_wl2 = g.ack;
	if (g.wnd != c->snd_wnd) {
		c->snd_wnd = g.wnd;
		c->snd_wnd_max = RTE_MAX(c->snd_wnd_max, g.wnd);
	}
	if (g.ack != c->snd_una)
		acked(c, g.ack);
	if (c->unsent != NULL)
		tcp_dirty(c);
	if (g.len == 0) {
		done_with(m);
		return true;
	}
	s->st.rx_bytes += g.len;
	m->data_off += (uint16_t)g.off;
	m->data_len = (uint16_t)g.len;
	c->rcv_nxt += g.len;
	if (unlikely(c->rx_mbufs >= TCP_RX_JOIN_FROM)) {
		tcp_rx_append(c, m, m, g.len, 1);
	} else {
		if (c->rx_tail == NULL)
			c->rx_head = m;
		else
			c->rx_tail->next = m;
		c->rx_tail = m;
		c->rx_mbufs++;
		c->rcv_queued += g.len;
	}
	tcp_event(c, TCP_EV_READABLE);
	tcp_plan_ack(c);
	if (c->ack_now)
		tcp_dirty(c);
	return true;
}

void
tcp_input(struct tcp_stack *s, struct rte_mbuf **m, uint16_t n, uint64_t now_us)
{
	struct rte_mbuf *const *const end = m + n;
	bool slow;

	tcp_clock(s, now_us);
	if (s->conf.rx_pool != NULL)
		tcp_rx_look(s);
	slow = s->rx_scarce;
	for (; m != end; m++)
		if (unlikely(slow || !fast_input(s, *m)))
			tcp_slow_input(s, *m);
	if (s->ntx != 0)
		tcp_flush(s);
}
