/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Tuples and listeners, and the life of connections. */
#include <errno.h>

#include "tcp_priv.h"

void
tcp_node_add(struct tcp_stack *s, struct tcp_node *n)
{
	struct tcp_node **at = &s->table[tcp_slot(s, n->laddr, n->raddr, n->lport, n->rport)];

	n->next = *at;
	*at = n;
}

void
tcp_node_del(struct tcp_stack *s, struct tcp_node *n)
{
	struct tcp_node **at = &s->table[tcp_slot(s, n->laddr, n->raddr, n->lport, n->rport)];

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
}

/* The one of the address goes before the one of any. */
struct tcp_listener *
tcp_find_listener(const struct tcp_stack *s, rte_be32_t laddr, rte_be16_t lport)
{
	struct tcp_listener *l, *any = NULL;

	for (l = s->listener[rte_be_to_cpu_16(lport) % TCP_LISTEN_BUCKETS]; l != NULL; l = l->next) {
		if (l->c.n.lport != lport)
			continue;
		if (l->c.n.laddr == laddr)
			return l;
		if (l->c.n.laddr == 0)
			any = l;
	}
	return any;
}

uint32_t
tcp_unacked(const struct tcp_stack *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i <= s->mask; i++)
		for (const struct tcp_node *t = s->table[i]; t != NULL; t = t->next)
			n += t->state != TCP_FIN_WAIT2 && t->state != TCP_TIME_WAIT && t->state != TCP_CLOSE;
	return n;
}

void
tcp_each(const struct tcp_stack *s, rte_be16_t port,
	 void (*fn)(void *arg, const struct tcp_addr *local, const struct tcp_addr *remote), void *arg)
{
	for (uint32_t i = 0; i <= s->mask; i++)
		for (const struct tcp_node *t = s->table[i]; t != NULL; t = t->next)
			if (t->lport == port && t->state != TCP_TIME_WAIT)
				fn(arg, &(struct tcp_addr){t->laddr, t->lport}, &(struct tcp_addr){t->raddr, t->rport});
}

bool
tcp_has(const struct tcp_stack *s, const struct tcp_addr *local, const struct tcp_addr *remote)
{
	const struct tcp_node *n = tcp_find(s, local->ip, remote->ip, local->port, remote->port);

	return n != NULL && n->state != TCP_TIME_WAIT;
}

void
tcp_conn_presets(struct tcp_stack *s, struct tcp_conn *c)
{
	c->s = s;
	c->sndbuf = s->conf.sndbuf;
	c->rcvbuf = s->conf.rcvbuf;
	c->keep_idle_s = 7200; /* RFC 9293 3.8.4 */
	c->keep_intvl_s = 75;
	c->keep_cnt = 9;
	c->linger2_s = 60;
	c->cc = (uint8_t)s->conf.cc;
}

struct tcp_conn *
tcp_conn_new(struct tcp_stack *s, const struct tcp_conn *like)
{
	struct tcp_conn *c;

	if (s->conns >= s->conf.max_conns)
		return NULL;
	c = slab_get(&s->conn_slab);
	if (c == NULL)
		return NULL;
	s->conns++;
	tcp_conn_presets(s, c);
	tcp_enter(c, TCP_CLOSE);
	c->at[TCP_T_RTX] = c->at[TCP_T_ACK] = c->at[TCP_T_KEEP] = TCP_NEVER;
	c->rto = TCP_RTO_INITIAL;
	c->heard_us = c->progress_us = s->now;
	c->path_gen = s->path_gen - 1;
	c->reorder_mult = 1;
	if (like != NULL) {
		c->sndbuf = like->sndbuf;
		c->rcvbuf = like->rcvbuf;
		c->nodelay = like->nodelay;
		c->cork = like->cork;
		c->quickack = like->quickack;
		c->keepalive = like->keepalive;
		c->keep_idle_s = like->keep_idle_s;
		c->keep_intvl_s = like->keep_intvl_s;
		c->keep_cnt = like->keep_cnt;
		c->linger2_s = like->linger2_s;
		c->user_timeout_ms = like->user_timeout_ms;
		c->mss_set = like->mss_set;
		c->cc = like->cc;
	}
	return c;
}

static void
leave_listener(struct tcp_conn *c)
{
	struct tcp_listener *l = c->listener;

	/* One that waits to be accepted stays, so that accept tells what happened. */
	if (l == NULL || c->in_accept)
		return;
	c->listener = NULL;
	l->waiting--;
}

void
tcp_end(struct tcp_conn *c, int error, bool keep_rx)
{
	struct tcp_stack *s = c->s;

	if (c->hashed) {
		tcp_node_del(s, &c->n);
		s->st.closed++;
	}
	c->hashed = false;
	wheel_del(&s->wheel, &c->wheel);
	c->timed = false;
	c->at[TCP_T_RTX] = c->at[TCP_T_ACK] = c->at[TCP_T_KEEP] = TCP_NEVER;
	tcp_tx_free(c);
	tcp_ooo_free(c);
	if (!keep_rx || c->orphan)
		tcp_rx_free(c);
	if (c->passive && c->listener != NULL && !c->in_accept)
		c->orphan = true; /* nobody has heard of it */
	leave_listener(c);
	c->ack_now = c->ack_delayed = c->syn_out = c->fin_wanted = false;
	tcp_enter(c, TCP_CLOSE);
	c->error = (uint8_t)error;
	if (c->orphan)
		tcp_dirty(c); /* tcp_run frees it */
}

void
tcp_conn_free(struct tcp_conn *c)
{
	struct tcp_stack *s = c->s;

	tcp_rx_free(c);
	s->conns--;
	c->s = NULL; /* tcp_stack_destroy looks at it */
	slab_put(&s->conn_slab, c);
}

/* RFC 6528: a clock of 4 us and a keyed hash of the tuple. */
uint32_t
tcp_isn(const struct tcp_stack *s, const struct tcp_node *n)
{
	const uint64_t a = (uint64_t)n->raddr << 32 | n->laddr, b = (uint64_t)n->rport << 16 | n->lport;

	return (uint32_t)(s->now >> 2) + (uint32_t)tcp_siphash(s->key, a, b);
}

/* RFC 7323 7.1: timestamps of different peers tell nothing about each other or the time since start. */
uint32_t
tcp_ts_offset(const struct tcp_stack *s, const struct tcp_node *n)
{
	return (uint32_t)tcp_siphash(s->key_ts, (uint64_t)n->raddr << 32 | n->laddr, 0);
}

void
tcp_mss_set(struct tcp_conn *c)
{
	const uint32_t opts = c->opt_ts ? 12 : 0;
	const uint32_t room = rte_pktmbuf_data_room_size(c->s->conf.pool) - TCP_MBUF_FRONT;
	uint32_t mss = RTE_MIN((uint32_t)c->mtu - 40, (uint32_t)c->mss_peer);
	uint32_t n;

	if (c->mss_set != 0)
		mss = RTE_MIN(mss, (uint32_t)c->mss_set);
	/* RFC 6691: options are taken off what the peer named. */
	mss = RTE_MAX(mss, TCP_MSS_MIN) - opts;
	/* Each full segment is made of equal mbufs, so that the device's cuts are ours. */
	n = (mss + room - 1) / room;
	c->unit = (uint16_t)(mss / n);
	c->mss = (uint16_t)(c->unit * n);
}

void
tcp_syn_options(struct tcp_conn *c, const struct tcp_seg *g)
{
	const struct tcp_conf *f = &c->s->conf;

	c->opt_ts = g->o.has_ts && !f->no_timestamps;
	c->opt_sack = g->o.sack_ok && !f->no_sack;
	c->opt_wscale = g->o.has_wscale && !f->no_wscale;
	c->snd_wscale = c->opt_wscale ? g->o.wscale : 0;
	if (!c->opt_wscale)
		c->rcv_wscale = 0;
	if (c->opt_ts) {
		c->ts_recent = g->o.tsval;
		c->ts_recent_ms = c->s->now_ms;
	}
	c->mss_peer = g->o.has_mss ? RTE_MAX(g->o.mss, (uint16_t)64) : TCP_MSS_DEFAULT;
	tcp_mss_set(c);
	c->irs = g->seq;
	c->rcv_nxt = c->rcv_acked = g->seq + 1;
	c->rcv_adv = c->rcv_nxt + RTE_MIN(c->rcvbuf, UINT32_C(65535));
	c->snd_wl1 = g->seq;
	tcp_ecn_syn(c, g);
	c->snd_wnd = c->snd_wnd_max = g->wnd; /* that of a SYN is never scaled (RFC 7323 2.2) */
}
