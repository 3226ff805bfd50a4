/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Fragments that wait for others (RFC 791 3.2). DPDK's table takes eight of a datagram and wants an EAL; a datagram of 65507
 * octets has 45 by an MTU of 1500, and programs of sockets have no EAL.
 */
#include <stdlib.h>

#include "udp_priv.h"

#define PIECES_MAX 128u
#define MBUFS_EACH 8u /* of a waiting datagram, where many wait */

struct piece {
	struct rte_mbuf *m; /* from its Ethernet header on */
	uint16_t off, len;  /* of what IP carries */
	uint16_t hdr_len;
};

struct udp_frag {
	rte_be32_t src, dst;
	rte_be16_t id;
	uint64_t until;
	uint32_t n, have, total; /* total: 0 while the last is missing */
	struct piece piece[PIECES_MAX];
};

/* Out of the list; it is the caller's. */
static struct udp_frag *
take_out(struct udp_stack *s, uint32_t at)
{
	struct udp_frag *f = s->frag[at];

	s->nfrags--;
	memmove(&s->frag[at], &s->frag[at + 1], (s->nfrags - at) * sizeof(s->frag[0]));
	return f;
}

static void
give_up(struct udp_stack *s, uint32_t at)
{
	struct udp_frag *f = take_out(s, at);
	uint32_t i;

	for (i = 0; i < f->n; i++) {
		s->frag_mbufs -= f->piece[i].m->nb_segs;
		rte_pktmbuf_free(f->piece[i].m);
	}
	s->st.rx_frag_dropped += f->n;
	free(f);
}

void
udp_frags_expire(struct udp_stack *s, bool all)
{
	while (s->nfrags != 0 && (all || s->frag[0]->until <= s->now))
		give_up(s, 0);
}

uint64_t
udp_frags_deadline(const struct udp_stack *s)
{
	return s->nfrags == 0 ? TCP_NEVER : s->frag[0]->until;
}

/* Its place in the list; UINT32_MAX: no memory. */
static uint32_t
find(struct udp_stack *s, const struct rte_ipv4_hdr *ip)
{
	struct udp_frag *f;
	uint32_t i;

	for (i = 0; i < s->nfrags; i++) {
		f = s->frag[i];
		if (f->id == ip->packet_id && f->src == ip->src_addr && f->dst == ip->dst_addr)
			return i;
	}
	if (s->nfrags == s->conf.max_fragmented)
		give_up(s, 0);
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return UINT32_MAX;
	f->id = ip->packet_id;
	f->src = ip->src_addr;
	f->dst = ip->dst_addr;
	f->until = s->now + (uint64_t)s->conf.frag_ms * 1000;
	s->frag[s->nfrags++] = f;
	return s->nfrags - 1;
}

enum fit { FITS, KNOWN, WRONG };

/* Where a piece belongs: *at. What overlaps another one is forged (RFC 5722, and Linux does so for IPv4). */
static enum fit
place(struct udp_frag *f, const struct piece *p, bool last, uint32_t *at)
{
	const uint32_t end = (uint32_t)p->off + p->len;
	uint32_t i = f->n;

	if (end > 65535 - sizeof(struct rte_ipv4_hdr) || p->len == 0 || (!last && p->len % 8 != 0) ||
	    (f->total != 0 && end > f->total))
		return WRONG;
	while (i != 0 && f->piece[i - 1].off > p->off)
		i--;
	if (i != 0 && f->piece[i - 1].off == p->off && f->piece[i - 1].len == p->len)
		return KNOWN;
	if ((i != 0 && (uint32_t)f->piece[i - 1].off + f->piece[i - 1].len > p->off) ||
	    (i != f->n && end > f->piece[i].off) || (last && (i != f->n || f->total != 0)) || f->n == PIECES_MAX)
		return WRONG;
	*at = i;
	return FITS;
}

/* All of it is there: one mbuf behind the other, the headers are those of the first. NULL: they are too many. */
static struct rte_mbuf *
join(struct udp_stack *s, struct udp_frag *f)
{
	struct rte_mbuf *const m = f->piece[0].m;
	bool whole = true;
	uint32_t i;

	s->frag_mbufs -= m->nb_segs;
	for (i = 1; i < f->n; i++) {
		struct rte_mbuf *k = f->piece[i].m;

		s->frag_mbufs -= k->nb_segs;
		rte_pktmbuf_adj(k, f->piece[i].hdr_len);
		whole = whole && rte_pktmbuf_chain(m, k) == 0;
		if (!whole)
			rte_pktmbuf_free(k);
	}
	if (whole) {
		s->st.rx_joined++;
		return m;
	}
	s->st.rx_frag_dropped += f->n;
	rte_pktmbuf_free(m);
	return NULL;
}

struct rte_mbuf *
udp_reassemble(struct udp_stack *s, struct rte_mbuf *m, const struct udp_gram *g)
{
	const struct rte_ipv4_hdr *ip = g->ip;
	const uint16_t where = rte_be_to_cpu_16(ip->fragment_offset);
	const bool last = (where & RTE_IPV4_HDR_MF_FLAG) == 0;
	const struct piece p = {m, (uint16_t)((where & RTE_IPV4_HDR_OFFSET_MASK) * 8),
				(uint16_t)(m->pkt_len - g->hdr_len), (uint16_t)g->hdr_len};
	struct udp_frag *f;
	struct rte_mbuf *whole;
	uint32_t mine, at = 0;
	enum fit fit;

	s->st.rx_fragments++;
	m->ol_flags &= ~RTE_MBUF_F_RX_L4_CKSUM_MASK; /* of the whole nobody knows */
	while (s->frag_mbufs + m->nb_segs > s->conf.max_fragmented * MBUFS_EACH && s->nfrags != 0)
		give_up(s, 0);
	mine = find(s, ip);
	fit = mine == UINT32_MAX ? KNOWN : place(s->frag[mine], &p, last, &at);
	if (fit == WRONG)
		give_up(s, mine);
	if (fit != FITS) {
		s->st.rx_frag_dropped++;
		rte_pktmbuf_free(m);
		return NULL;
	}
	f = s->frag[mine];
	memmove(&f->piece[at + 1], &f->piece[at], (f->n - at) * sizeof(p));
	f->piece[at] = p;
	f->n++;
	f->have += p.len;
	s->frag_mbufs += m->nb_segs;
	if (last)
		f->total = (uint32_t)p.off + p.len;
	if (f->have != f->total)
		return NULL;
	f = take_out(s, mine);
	whole = join(s, f);
	free(f);
	return whole;
}

/* --- copies --- */

struct rte_mbuf *
udp_copy(struct udp_stack *s, const struct rte_mbuf *m, uint32_t off, uint32_t len)
{
	struct rte_mbuf *const head = rte_pktmbuf_alloc(s->conf.pool), *to = head;
	uint32_t k;

	if (head == NULL)
		return NULL;
	head->data_off = TCP_MBUF_FRONT;
	while (len != 0) {
		if (off >= m->data_len) {
			off -= m->data_len;
			m = m->next;
			continue;
		}
		if (rte_pktmbuf_tailroom(to) == 0) {
			to->next = rte_pktmbuf_alloc(s->conf.pool);
			if (to->next == NULL) {
				rte_pktmbuf_free(head);
				return NULL;
			}
			to = to->next;
			head->nb_segs++;
		}
		k = RTE_MIN(RTE_MIN(len, m->data_len - off), (uint32_t)rte_pktmbuf_tailroom(to));
		memcpy(rte_pktmbuf_mtod_offset(to, uint8_t *, to->data_len),
		       rte_pktmbuf_mtod_offset(m, const uint8_t *, off), k);
		to->data_len += (uint16_t)k;
		head->pkt_len += k;
		off += k;
		len -= k;
	}
	return head;
}
