/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What arrived: bytes in order as one chain of mbufs, and runs behind holes. */
#include "tcp_priv.h"

#define RX_JOIN_LEN 512u

static void
free_chain(struct rte_mbuf *m)
{
	struct rte_mbuf *next;

	/* A chain of more mbufs than nb_segs can count. */
	for (; m != NULL; m = next) {
		next = m->next;
		rte_pktmbuf_free_seg(m);
	}
}

void
tcp_rx_free(struct tcp_conn *c)
{
	free_chain(c->rx_head);
	c->rx_head = c->rx_tail = NULL;
	c->rcv_queued = c->rx_mbufs = 0;
}

static void
ooo_put(struct tcp_conn *c, struct tcp_ooo *o)
{
	c->ooo_runs--;
	slab_put(&c->s->ooo_slab, o);
}

static void
ooo_drop(struct tcp_conn *c, struct tcp_ooo *o)
{
	free_chain(o->head);
	c->s->ooo_mbufs -= o->mbufs;
	ooo_put(c, o);
}

void
tcp_ooo_free(struct tcp_conn *c)
{
	struct tcp_ooo *o;

	while ((o = c->ooo) != NULL) {
		c->ooo = o->next;
		ooo_drop(c, o);
	}
}

/* Takes n bytes off the front of a packet; it has more. */
static struct rte_mbuf *
cut_front(struct rte_mbuf *m, uint32_t n)
{
	while (n >= m->data_len) {
		struct rte_mbuf *next = m->next;

		n -= m->data_len;
		rte_pktmbuf_free_seg(m);
		m = next;
	}
	m->data_off += (uint16_t)n;
	m->data_len -= (uint16_t)n;
	return m;
}

/* Leaves len bytes, 1 or more; returns the last mbuf and how many there are. */
static struct rte_mbuf *
cut_back(struct rte_mbuf *m, uint32_t len, uint32_t *mbufs)
{
	*mbufs = 1;
	while (len > m->data_len) {
		len -= m->data_len;
		m = m->next;
		++*mbufs;
	}
	m->data_len = (uint16_t)len;
	free_chain(m->next);
	m->next = NULL;
	return m;
}

/* So many octets in one mbuf go into the last one, and theirs is free. */
static bool
joins(const struct tcp_conn *c, uint32_t len)
{
	const struct rte_mbuf *t = c->rx_tail;

	return (c->rx_mbufs >= TCP_RX_JOIN_FROM || (c->s->rx_scarce && t != NULL)) && len <= RX_JOIN_LEN &&
	       RTE_MBUF_DIRECT(t) && rte_mbuf_refcnt_read(t) == 1 && rte_pktmbuf_tailroom(t) >= len;
}

/*
 * Where mbufs are scarce: whether the connection gets what this segment brings. What fills a hole makes what is behind it readable.
 * The more connections have unread data, the less each has: a program that does not read some goes on with the others.
 */
bool
tcp_rx_may(const struct tcp_conn *c, const struct tcp_seg *g)
{
	if (seq_lt(c->rcv_nxt, g->seq))
		return false;
	return c->ooo != NULL || joins(c, g->len) || c->s->rx_left > c->rx_mbufs;
}

void
tcp_rx_append(struct tcp_conn *c, struct rte_mbuf *head, struct rte_mbuf *tail, uint32_t len, uint32_t mbufs)
{
	struct rte_mbuf *t = c->rx_tail;

	if (mbufs == 1 && joins(c, len)) {
		memcpy(rte_pktmbuf_mtod_offset(t, uint8_t *, t->data_len), rte_pktmbuf_mtod(head, uint8_t *), len);
		t->data_len += (uint16_t)len;
		rte_pktmbuf_free_seg(head);
	} else {
		if (t == NULL)
			c->rx_head = head;
		else
			t->next = head;
		c->rx_tail = tail;
		c->rx_mbufs += mbufs;
	}
	c->rcv_queued += len;
}

/* Runs that the left edge has reached. */
static void
take_ooo(struct tcp_conn *c)
{
	struct tcp_ooo *o;

	while ((o = c->ooo) != NULL && seq_leq(o->seq, c->rcv_nxt)) {
		c->ooo = o->next;
		if (seq_leq(o->end, c->rcv_nxt)) {
			ooo_drop(c, o);
			continue;
		}
		o->head = cut_front(o->head, c->rcv_nxt - o->seq);
		c->s->ooo_mbufs -= o->mbufs;
		/* Its count may include mbufs that were just freed, never fewer than there are. */
		tcp_rx_append(c, o->head, o->tail, o->end - c->rcv_nxt, o->mbufs);
		c->rcv_nxt = o->end;
		ooo_put(c, o);
	}
}

void
tcp_rx_twice(struct tcp_conn *c, uint32_t seq, uint32_t end)
{
	c->dsack = true;
	c->dsack_seq = seq;
	c->dsack_end = end;
}

/* Joins o with those behind that it touches; what it covers goes. */
static void
merge_after(struct tcp_conn *c, struct tcp_ooo *o)
{
	struct tcp_ooo *n;

	while ((n = o->next) != NULL && seq_leq(n->seq, o->end)) {
		o->next = n->next;
		if (seq_leq(n->end, o->end)) {
			ooo_drop(c, n);
			continue;
		}
		n->head = cut_front(n->head, o->end - n->seq);
		o->tail->next = n->head;
		o->tail = n->tail;
		o->end = n->end;
		o->mbufs += n->mbufs;
		ooo_put(c, n);
	}
}

/* A run that stands behind a hole; takes m, whose len bytes begin at seq. */
static void
add_ooo(struct tcp_conn *c, struct rte_mbuf *m, uint32_t seq, uint32_t len)
{
	struct tcp_stack *s = c->s;
	struct tcp_ooo **at = &c->ooo, *prev = NULL, *o;
	struct rte_mbuf *tail;
	const uint32_t end = seq + len;
	uint32_t mbufs;
	bool joins;

	s->st.rx_ooo++;
	while (*at != NULL && seq_leq((*at)->seq, seq)) {
		prev = *at;
		at = &prev->next;
	}
	if (prev != NULL && seq_leq(end, prev->end)) {
		tcp_rx_twice(c, seq, end);
		prev->touched = ++c->ooo_touch;
		s->st.rx_duplicate++;
		free_chain(m);
		return;
	}
	tail = cut_back(m, len, &mbufs);
	/* The newest goes first when there is too much: nothing that was acknowledged (RFC 2018 8). */
	joins = prev != NULL && seq_leq(seq, prev->end);
	if (s->ooo_mbufs + mbufs > s->conf.max_ooo_mbufs || (!joins && c->ooo_runs >= TCP_OOO_RUNS)) {
		s->st.rx_ooo_dropped++;
		free_chain(m);
		return;
	}
	if (joins) {
		m = cut_front(m, prev->end - seq);
		prev->tail->next = m;
		prev->tail = tail;
		prev->end = end;
		prev->mbufs += mbufs;
		o = prev;
	} else {
		o = slab_get(&s->ooo_slab);
		if (o == NULL) {
			s->st.rx_no_memory++;
			free_chain(m);
			return;
		}
		*o = (struct tcp_ooo){.next = *at, .head = m, .tail = tail, .seq = seq, .end = end, .mbufs = mbufs};
		*at = o;
		c->ooo_runs++;
	}
	s->ooo_mbufs += mbufs;
	o->touched = ++c->ooo_touch;
	merge_after(c, o);
}

void
tcp_rx_text(struct tcp_conn *c, struct tcp_seg *g)
{
	const uint32_t right = c->rcv_adv;
	struct rte_mbuf *m = g->m, *tail;
	uint32_t seq = g->seq, len = g->len, skip = g->hdr_len, mbufs;
	const bool had_hole = c->ooo != NULL;

	g->m = NULL;
	if (seq_lt(seq, c->rcv_nxt)) {
		const uint32_t old = RTE_MIN(c->rcv_nxt - seq, len);

		tcp_rx_twice(c, seq, seq + old);
		skip += old;
		seq += old;
		len -= old;
		c->ack_now = true;
	}
	if (seq_lt(right, seq + len))
		len = seq_lt(seq, right) ? right - seq : 0;
	if (len == 0) {
		c->ack_now = true;
		free_chain(m);
		return;
	}
	m = cut_front(m, skip);
	if (seq != c->rcv_nxt) {
		/* RFC 5681 4.2: at once, also when a hole is filled. */
		c->ack_now = true;
		add_ooo(c, m, seq, len);
		return;
	}
	tail = cut_back(m, len, &mbufs);
	c->rcv_nxt += len;
	tcp_rx_append(c, m, tail, len, mbufs);
	if (had_hole) {
		c->ack_now = true;
		take_ooo(c);
	}
	tcp_event(c, TCP_EV_READABLE);
}

uint32_t
tcp_rx_copy(struct tcp_conn *c, const struct iovec *iov, int n, bool peek)
{
	struct rte_mbuf *m = c->rx_head;
	uint32_t off = 0, done = 0;
	int i;

	for (i = 0; i < n && m != NULL; i++) {
		uint8_t *to = iov[i].iov_base;
		size_t room = iov[i].iov_len;

		while (room != 0 && m != NULL) {
			const uint32_t k = (uint32_t)RTE_MIN((size_t)(m->data_len - off), room);

			memcpy(to, rte_pktmbuf_mtod_offset(m, uint8_t *, off), k);
			to += k;
			room -= k;
			off += k;
			done += k;
			if (off < m->data_len)
				continue;
			off = 0;
			m = m->next;
			if (!peek) {
				rte_pktmbuf_free_seg(c->rx_head);
				c->rx_head = m;
				c->rx_mbufs -= c->rx_mbufs != 0;
			}
		}
	}
	if (peek)
		return done;
	if (m == NULL) {
		c->rx_tail = NULL;
		c->rx_mbufs = 0;
	} else {
		m->data_off += (uint16_t)off;
		m->data_len -= (uint16_t)off;
	}
	c->rcv_queued -= done;
	return done;
}

uint32_t
tcp_rx_sack(const struct tcp_conn *c, uint32_t (*block)[2], uint32_t max)
{
	const struct tcp_ooo *o;
	uint32_t n = 0, below = UINT32_MAX;

	if (c->dsack && n < max) {
		block[n][0] = c->dsack_seq;
		block[n++][1] = c->dsack_end;
	}
	/* The one that was touched last is the one that the segment belongs to (RFC 2018 4). */
	while (n < max) {
		const struct tcp_ooo *best = NULL;

		for (o = c->ooo; o != NULL; o = o->next)
			if (o->touched < below && (best == NULL || o->touched > best->touched))
				best = o;
		if (best == NULL)
			break;
		block[n][0] = best->seq;
		block[n++][1] = best->end;
		below = best->touched;
	}
	return n;
}
