/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What arrived: bytes in order as one chain of mbufs, and runs behind holes. */
#include <stdlib.h>

#include "tcp_priv.h"

#define RX_JOIN_LEN 512u
#define COPY_ROOM_MIN 128u
#define COPY_ROOM_MAX 1920u

/*
 * Behind a copy, an mbuf of no pool, stands this where nothing else does: who takes an mbuf that has none behind it need not know of
 * copies. Nobody writes to it.
 */
static struct rte_mbuf behind_copy;

static struct rte_mbuf *
behind(const struct rte_mbuf *m)
{
	return m->next == &behind_copy ? NULL : m->next;
}

static size_t
copy_size(const struct rte_mbuf *m)
{
	return sizeof(*m) + m->buf_len;
}

static void
free_seg(struct tcp_stack *s, struct rte_mbuf *m)
{
	if (m->pool != NULL) {
		rte_pktmbuf_free_seg(m);
	} else {
		s->rx_copied -= copy_size(m);
		free(m);
	}
}

static void
free_chain(struct tcp_stack *s, struct rte_mbuf *m)
{
	struct rte_mbuf *next;

	/* A chain of more mbufs than nb_segs can count. */
	for (; m != NULL; m = next) {
		next = behind(m);
		free_seg(s, m);
	}
}

void
tcp_rx_free(struct tcp_conn *c)
{
	free_chain(c->s, c->rx_head);
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
	free_chain(c->s, o->head);
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
cut_back(struct tcp_stack *s, struct rte_mbuf *m, uint32_t len, uint32_t *mbufs)
{
	*mbufs = 1;
	while (len > m->data_len) {
		len -= m->data_len;
		m = m->next;
		++*mbufs;
	}
	m->data_len = (uint16_t)len;
	free_chain(s, m->next);
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

/* The more connections have unread data, the fewer mbufs each has: a program that does not read some goes on with the others. */
static bool
has_mbuf(const struct tcp_conn *c)
{
	return c->s->rx_left > c->rx_mbufs;
}

/* As much as Linux leaves to each connection has room on the heap whatever the others have: no order of reading stands still. */
static bool
may_copy(const struct tcp_conn *c)
{
	return c->s->rx_copied < c->s->conf.max_copied || c->rcv_queued < TCP_BUF_MIN;
}

bool
tcp_rx_may(const struct tcp_conn *c, const struct tcp_seg *g)
{
	if (seq_lt(c->rcv_nxt, g->seq))
		return false;
	return joins(c, g->len) || has_mbuf(c) || may_copy(c);
}

/* The first len bytes of m, which stays the caller's, go behind what there is. false: no memory. */
static bool
append_copy(struct tcp_conn *c, const struct rte_mbuf *m, uint32_t len)
{
	struct rte_mbuf *const t = c->rx_tail, *copy;
	/* Small ones that come behind it join it. */
	const uint32_t more = t != NULL && t->pool == NULL ? RTE_MIN(2u * t->buf_len, COPY_ROOM_MAX) : COPY_ROOM_MIN;
	const uint32_t room = RTE_MAX(len, more);
	uint8_t *to;

	copy = malloc(sizeof(*copy) + room);
	if (copy == NULL)
		return false;
	to = (uint8_t *)(copy + 1);
	*copy = (struct rte_mbuf){.buf_addr = to, .buf_len = (uint16_t)room, .data_len = (uint16_t)len, .nb_segs = 1};
	rte_mbuf_refcnt_set(copy, 1);
	copy->next = &behind_copy;
	for (; len != 0; m = m->next) {
		const uint32_t k = RTE_MIN(len, (uint32_t)m->data_len);

		memcpy(to, rte_pktmbuf_mtod(m, const uint8_t *), k);
		to += k;
		len -= k;
	}
	if (t == NULL)
		c->rx_head = copy;
	else
		t->next = copy;
	c->rx_tail = copy;
	c->rcv_queued += copy->data_len;
	c->s->rx_copied += copy_size(copy);
	c->s->st.rx_copied++;
	return true;
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
		free_chain(s, m);
		return;
	}
	tail = cut_back(s, m, len, &mbufs);
	/* The newest goes first when there is too much: nothing that was acknowledged (RFC 2018 8). */
	joins = prev != NULL && seq_leq(seq, prev->end);
	if (s->ooo_mbufs + mbufs > s->conf.max_ooo_mbufs || (!joins && c->ooo_runs >= TCP_OOO_RUNS)) {
		s->st.rx_ooo_dropped++;
		free_chain(s, m);
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
			free_chain(s, m);
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
		free_chain(c->s, m);
		return;
	}
	m = cut_front(m, skip);
	if (seq != c->rcv_nxt) {
		/* RFC 5681 4.2: at once, also when a hole is filled. */
		c->ack_now = true;
		add_ooo(c, m, seq, len);
		return;
	}
	tail = cut_back(c->s, m, len, &mbufs);
	c->rcv_nxt += len;
	if (unlikely(c->s->rx_scarce) && !has_mbuf(c) && !(mbufs == 1 && joins(c, len)) && append_copy(c, m, len))
		free_chain(c->s, m);
	else
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
			m = behind(m);
			if (!peek) {
				c->rx_mbufs -= c->rx_mbufs != 0 && c->rx_head->pool != NULL;
				free_seg(c->s, c->rx_head);
				c->rx_head = m;
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
