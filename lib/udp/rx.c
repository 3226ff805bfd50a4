/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Who hears a datagram, and how it is read. */
#include <errno.h>
#include <sys/socket.h>

#include "udp_priv.h"

static uint32_t
cost(const struct rte_mbuf *m)
{
	return m->pkt_len + m->nb_segs * UDP_MBUF_COST;
}

void
udp_queue_free(struct udp_sock *u)
{
	while (u->head != NULL) {
		struct rte_mbuf *m = u->head;

		u->head = udp_note(m)->next;
		rte_pktmbuf_free(m);
	}
	u->tail = NULL;
	u->s->queued -= u->mbufs;
	u->queued = u->mbufs = 0;
}

/* Frames are few, and sockets that nobody reads must not have them all. */
static inline bool
scarce(const struct udp_sock *u)
{
	const uint32_t max = u->s->conf.max_queued, queued = u->s->queued;

	if (likely(queued < max))
		return false;
	return u->mbufs >= (queued < max + max / 2 ? UDP_MBUFS_LEAST : 1) || queued >= 2 * max;
}

/* Takes m, whose headers end at its data, or throws it away. */
static void
enqueue(struct udp_sock *u, struct rte_mbuf *m, const struct udp_note *note)
{
	struct udp_stack *s = u->s;

	/* One datagram always finds room. */
	if ((u->head != NULL && u->queued + cost(m) > u->rcvbuf) || unlikely(scarce(u))) {
		u->drops++;
		s->st.rx_full++;
		rte_pktmbuf_free(m);
		return;
	}
	*udp_note(m) = *note;
	if (u->head == NULL)
		u->head = m;
	else
		udp_note(u->tail)->next = m;
	u->tail = m;
	u->queued += cost(m);
	u->mbufs += m->nb_segs;
	s->queued += m->nb_segs;
	s->st.rx_datagrams++;
	s->st.rx_bytes += m->pkt_len;
	s->ops->event(s->home, u, u->user, TCP_EV_READABLE);
}

/* How well a socket fits, 0: not at all; the more it says, the better. */
static inline uint32_t
fits(const struct udp_sock *u, const struct udp_note *n)
{
	uint32_t score = 1;

	if (u->local.port != n->to.port)
		return 0;
	if (u->local.ip != 0) {
		if (u->local.ip != n->to.ip)
			return 0;
		score = 2;
	}
	if (u->remote.port != 0) {
		if (u->remote.port != n->from.port || u->remote.ip != n->from.ip)
			return 0;
		score += 2;
	}
	return score;
}

/* The socket of a datagram to one host; of several that fit as well, one by the source. */
static struct udp_sock *
find(struct udp_stack *s, const struct udp_note *n)
{
	struct udp_sock *u, *found = NULL;
	uint32_t best = 0, same = 0, pick;

	for (u = *udp_bucket(s, n->to.port); u != NULL; u = u->next) {
		const uint32_t k = fits(u, n);

		if (k == 0 || k < best)
			continue;
		same = k > best ? 1 : same + 1;
		best = k;
		found = u;
	}
	if (same < 2)
		return found;
	pick = (uint32_t)(((n->from.ip ^ s->key) * UINT64_C(0x9e3779b97f4a7c15) +
			   n->from.port * UINT64_C(0x9e3779b9)) >>
			  32) %
	       same;
	for (u = found = *udp_bucket(s, n->to.port); u != NULL; u = u->next)
		if (fits(u, n) == best && pick-- == 0)
			return u;
	return found;
}

/* A group's or a broadcast datagram: a copy for each but the last. */
static bool
deliver_many(struct udp_stack *s, struct udp_gram *g, const struct udp_note *n)
{
	const bool group = udp_is_group(n->to.ip);
	struct udp_sock *u, *last = NULL;
	struct rte_mbuf *k;

	for (u = *udp_bucket(s, n->to.port); u != NULL; u = u->next) {
		if (fits(u, n) == 0 || (group && !udp_member(u, n->to.ip, n->from.ip)))
			continue;
		if (last != NULL) {
			k = udp_copy(s, g->m, g->hdr_len, g->m->pkt_len - g->hdr_len);
			if (k != NULL)
				enqueue(last, k, n);
			else
				s->st.rx_no_mbuf++;
		}
		last = u;
	}
	if (last == NULL)
		return false;
	k = g->m;
	g->m = NULL;
	rte_pktmbuf_adj(k, (uint16_t)g->hdr_len);
	enqueue(last, k, n);
	return true;
}

bool
udp_deliver(struct udp_stack *s, struct udp_gram *g, bool to_many)
{
	const struct udp_note n = {
		.us = s->now,
		.from = {g->ip->src_addr, g->uh->src_port},
		.to = {g->ip->dst_addr, g->uh->dst_port},
		.ttl = g->ip->time_to_live,
		.tos = g->ip->type_of_service,
	};
	struct udp_sock *u;
	struct rte_mbuf *m;

	if (to_many)
		return deliver_many(s, g, &n);
	u = find(s, &n);
	if (u == NULL)
		return false;
	m = g->m;
	g->m = NULL;
	m->data_off += (uint16_t)g->hdr_len;
	m->data_len -= (uint16_t)g->hdr_len;
	m->pkt_len -= g->hdr_len;
	enqueue(u, m, &n);
	return true;
}

ssize_t
udp_recv(struct udp_sock *u, const struct iovec *iov, int n, int flags, struct udp_meta *meta)
{
	struct rte_mbuf *const first = u->head, *m = first;
	uint32_t off = 0, done = 0;
	int i;

	if (unlikely(u->error != 0))
		return -udp_error(u);
	if (first == NULL)
		return -EAGAIN;
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
			if (off == m->data_len) {
				m = m->next;
				off = 0;
			}
		}
	}
	if (meta != NULL) {
		const struct udp_note *note = udp_note(first);

		*meta = (struct udp_meta){.from = note->from,
					  .to = note->to,
					  .us = note->us,
					  .len = first->pkt_len,
					  .ttl = note->ttl,
					  .tos = note->tos};
	}
	if ((flags & MSG_PEEK) != 0)
		return done;
	u->head = udp_note(first)->next;
	if (u->head == NULL)
		u->tail = NULL;
	u->queued -= cost(first);
	u->mbufs -= first->nb_segs;
	u->s->queued -= first->nb_segs;
	rte_pktmbuf_free(first);
	return done;
}

int
udp_readable(const struct udp_sock *u)
{
	return u->head == NULL ? -1 : (int)u->head->pkt_len;
}
