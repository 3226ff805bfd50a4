/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What is to be sent: mbufs of up to a unit of payload, copied once. The notes on each stand at the front of its buffer
 * and room for headers behind them, so that it is sent as it lies. An mbuf that the device still has is not touched.
 */
#include <errno.h>
#include <sys/socket.h>

#include "tcp_priv.h"

#define TSEG_ROOM 64u
_Static_assert(sizeof(struct tcp_tseg) <= TSEG_ROOM, "the notes leave 128 octets for headers");

static inline struct tcp_tseg *
tseg_new(struct tcp_conn *c)
{
	struct rte_mbuf *m = tcp_mbuf(c->s);
	struct tcp_tseg *t;

	if (unlikely(m == NULL))
		return NULL;
	t = m->buf_addr;
	t->next = NULL;
	t->m = m;
	t->sent_us = 0;
	t->len = 0;
	t->off = TCP_MBUF_FRONT;
	t->flags = 0;
	t->sends = 0;
	return t;
}

/* For a program's data. */
static inline struct tcp_tseg *
tseg_fill(struct tcp_conn *c)
{
	if (likely(!c->s->tx_scarce))
		return tseg_new(c);
	tcp_tx_look(c->s);
	if (!c->s->tx_scarce)
		return tseg_new(c);
	c->s->starved = true;
	c->s->st.tx_scarce++;
	return NULL;
}

static inline void
enqueue(struct tcp_conn *c, struct tcp_tseg *t)
{
	if (c->tx_tail == NULL) {
		t->seq = c->snd_nxt;
		c->tx_head = t;
		c->progress_us = c->s->now;
	} else {
		t->seq = c->tx_tail->seq + c->tx_tail->len; /* behind FIN nothing is queued */
		c->tx_tail->next = t;
	}
	c->tx_tail = t;
	if (c->unsent == NULL)
		c->unsent = t;
}

/* Where the next byte goes: the last mbuf, if nothing of it was sent and it has room. */
static struct tcp_tseg *
open_tail(struct tcp_conn *c)
{
	struct tcp_tseg *t = c->tx_tail;

	if (t == NULL || c->unsent == NULL || t->sends != 0 || t->len >= c->unit || t->off != TCP_MBUF_FRONT) {
		t = tseg_fill(c);
		if (t != NULL)
			enqueue(c, t);
	}
	return t;
}

/* What goes into one mbuf: its length; 0: it does not. */
static inline ssize_t
append_one(struct tcp_conn *c, const void *data, size_t len, bool more)
{
	struct tcp_tseg *t = c->tx_tail;

	if (len == 0 || c->snd_queued + len > c->sndbuf)
		return 0;
	if (c->unsent == NULL || t->sends != 0) {
		if (len > c->unit)
			return 0;
		t = tseg_fill(c);
		if (unlikely(t == NULL)) {
			c->want_write = true;
			return -ENOBUFS;
		}
		enqueue(c, t);
	} else if (t->len + len > c->unit || t->off != TCP_MBUF_FRONT) {
		return 0;
	}
	memcpy((uint8_t *)t + TCP_MBUF_FRONT + t->len, data, len); /* t stands at the front of the buffer */
	t->len += (uint16_t)len;
	if (likely(!more))
		t->flags |= TSEG_PSH;
	if (unlikely(more || c->more))
		c->more = more;
	c->snd_queued += (uint32_t)len;
	tcp_dirty(c);
	return (ssize_t)len;
}

static ssize_t
append(struct tcp_conn *c, const struct iovec *iov, int n, bool more)
{
	uint32_t room = tcp_room(c), done = 0;
	struct tcp_tseg *t = NULL;
	bool empty = true;
	int i;

	for (i = 0; i < n && (room != 0 || empty); i++) {
		const uint8_t *from = iov[i].iov_base;
		size_t left = RTE_MIN(iov[i].iov_len, (size_t)room);

		empty &= iov[i].iov_len == 0;
		while (left != 0) {
			uint32_t k;

			t = open_tail(c);
			if (t == NULL)
				goto out;
			k = (uint32_t)RTE_MIN(left, (size_t)(c->unit - t->len));
			memcpy((uint8_t *)t->m->buf_addr + t->off + t->len, from, k);
			t->len += (uint16_t)k;
			from += k;
			left -= k;
			room -= k;
			done += k;
		}
	}
out:
	c->snd_queued += done;
	if (done == 0 && !empty) {
		c->want_write = true;
		return room == 0 ? -EAGAIN : -ENOBUFS;
	}
	if (done != 0)
		c->more = more;
	if (done != 0 && !more)
		c->tx_tail->flags |= TSEG_PSH;
	return done;
}

static __rte_noinline ssize_t
send_any(struct tcp_conn *c, const struct iovec *iov, int n, bool more)
{
	ssize_t done;

	switch (c->n.state) {
	case TCP_ESTABLISHED:
	case TCP_CLOSE_WAIT: break;
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		if (c->fin_wanted)
			return -EPIPE;
		c->want_write = true;
		return -EAGAIN;
	case TCP_CLOSE: return tcp_told_error(c, c->iss == 0 && c->irs == 0 ? -ENOTCONN : -EPIPE);
	case TCP_LISTEN: return -ENOTCONN;
	default: return -EPIPE;
	}
	if (c->fin_wanted)
		return -EPIPE;
	done = append(c, iov, n, more);
	if (done > 0)
		tcp_dirty(c);
	return done;
}

ssize_t
tcp_send(struct tcp_conn *c, const struct iovec *iov, int n, int flags)
{
	const bool more = (flags & MSG_MORE) != 0;
	ssize_t done;

	if (likely(c->n.state == TCP_ESTABLISHED && n == 1)) {
		done = append_one(c, iov->iov_base, iov->iov_len, more);
		if (likely(done != 0))
			return done;
	}
	return send_any(c, iov, n, more);
}

bool
tcp_tx_fin(struct tcp_conn *c)
{
	struct tcp_tseg *t = c->tx_tail;

	if (t == NULL || t->sends != 0) {
		t = tseg_new(c);
		if (t == NULL)
			return false;
		enqueue(c, t);
	}
	t->flags |= TSEG_FIN;
	c->fin_queued = true;
	return true;
}

bool
tcp_tx_split(struct tcp_conn *c, struct tcp_tseg *t, uint32_t len)
{
	struct tcp_tseg *b = tseg_new(c);

	if (b == NULL)
		return false;
	b->len = (uint16_t)(t->len - len);
	memcpy((uint8_t *)b->m->buf_addr + b->off, (uint8_t *)t->m->buf_addr + t->off + len, b->len);
	b->seq = t->seq + len;
	b->sent_us = t->sent_us;
	b->sends = t->sends;
	b->flags = t->flags;
	t->flags &= (uint8_t) ~(TSEG_FIN | TSEG_PSH);
	t->len = (uint16_t)len;
	b->next = t->next;
	t->next = b;
	if (c->tx_tail == t)
		c->tx_tail = b;
	return true;
}

/* It leaves the counts that it is in; n of its octets do. */
static void
uncount(struct tcp_conn *c, const struct tcp_tseg *t, uint32_t n)
{
	if ((t->flags & TSEG_FLIGHT) != 0)
		c->pipe -= n;
	if ((t->flags & TSEG_LOST) != 0)
		c->lost -= n;
	if ((t->flags & TSEG_SACKED) != 0)
		c->sacked -= n;
}

void
tcp_tx_acked(struct tcp_conn *c, uint32_t ack)
{
	struct tcp_tseg *t;

	while ((t = c->tx_head) != c->unsent && seq_lt(t->seq, ack)) {
		if (seq_lt(ack, tseg_end(t))) {
			const uint32_t k = ack - t->seq;

			/* All but FIN, or some of the payload. */
			uncount(c, t, k);
			t->seq += k;
			t->off += (uint16_t)k;
			t->len -= (uint16_t)k;
			c->snd_queued -= k;
			break;
		}
		uncount(c, t, tseg_end(t) - t->seq);
		c->snd_queued -= t->len;
		c->tx_head = t->next;
		if (c->sack_hint == t)
			c->sack_hint = NULL;
		if (c->lost_hint == t)
			c->lost_hint = t->next; /* what is lost behind it stays known */
		if (c->tx_tail == t)
			c->tx_tail = NULL;
		tcp_mbuf_done(c->s, t->m);
	}
}

void
tcp_tx_free(struct tcp_conn *c)
{
	struct tcp_tseg *t;

	while ((t = c->tx_head) != NULL) {
		c->tx_head = t->next;
		rte_pktmbuf_free_seg(t->m);
	}
	c->tx_tail = c->unsent = c->sack_hint = c->lost_hint = NULL;
	c->snd_queued = c->pipe = c->lost = c->sacked = 0;
}
