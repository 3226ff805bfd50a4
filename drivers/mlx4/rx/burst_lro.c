/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Joins TCP segments of a burst; lro.h says when. The sums of what is joined come from the sums of the segments. */
#include <rte_ip.h>
#include <rte_tcp.h>

#include "lro.h"
#include "sides.h"

#define OPEN_MAX 8u /* connections that are joined at a time */
#define L3_L4 (RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK | RTE_PTYPE_TUNNEL_MASK)
#define TCP4 (RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP)
#define TCP6 (RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_TCP)
#define TCP_HDR_UNIT 4u
#define ID_UNKNOWN UINT16_MAX

/* A TCP packet whose headers were found. */
struct segment {
	uint8_t *l2;
	union {
		struct rte_ipv4_hdr *v4;
		struct rte_ipv6_hdr *v6;
	} ip;
	struct rte_tcp_hdr *tcp;
	uint16_t l2_len, hdr_len, tcp_len; /* hdr_len: of all three */
	uint16_t payload, padding;         /* octets behind the headers, and behind these */
	bool is_v4;
};

/* A packet that more may be joined to. */
struct open {
	struct rte_mbuf *head, *tail;
	struct segment first;
	uint32_t seq;     /* of what comes next */
	uint32_t sum;     /* of the payload, 16 bits */
	uint32_t octets;  /* of payload */
	uint16_t packets; /* joined */
	uint16_t id, id_step;
	uint8_t flags; /* of all */
	bool closed;
};

struct table {
	struct open open[OPEN_MAX];
	unsigned int n, victim;
};

static uint32_t
fold(uint32_t sum)
{
	sum = (sum >> 16) + (sum & UINT16_MAX);
	return (sum >> 16) + (sum & UINT16_MAX);
}

/* Finds the headers, which have to be in the first buffer. False: of no use here. */
static bool
parse(const struct rte_mbuf *m, struct segment *s)
{
	const uint32_t type = m->packet_type & L3_L4;
	rte_be16_t ether_type;
	uint32_t l3_len, ip_len;

	if ((type != TCP4 && type != TCP6) || m->data_len < RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN)
		return false;
	s->is_v4 = type == TCP4;
	s->l2 = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(&ether_type, s->l2 + 2 * RTE_ETHER_ADDR_LEN, sizeof(ether_type));
	s->l2_len = RTE_ETHER_HDR_LEN + (ether_type == RTE_BE16(RTE_ETHER_TYPE_VLAN) ? RTE_VLAN_HLEN : 0);
	memcpy(&ether_type, s->l2 + s->l2_len - sizeof(ether_type), sizeof(ether_type));
	l3_len = s->is_v4 ? sizeof(*s->ip.v4) : sizeof(*s->ip.v6);
	if (m->data_len < s->l2_len + l3_len + sizeof(*s->tcp) ||
	    ether_type != (s->is_v4 ? RTE_BE16(RTE_ETHER_TYPE_IPV4) : RTE_BE16(RTE_ETHER_TYPE_IPV6)))
		return false;
	s->ip.v4 = (void *)(s->l2 + s->l2_len);
	if (s->is_v4 ? s->ip.v4->version_ihl != RTE_IPV4_VHL_DEF : s->ip.v6->proto != IPPROTO_TCP)
		return false;
	ip_len = s->is_v4 ? rte_be_to_cpu_16(s->ip.v4->total_length) : rte_be_to_cpu_16(s->ip.v6->payload_len) + l3_len;
	s->tcp = (void *)(s->l2 + s->l2_len + l3_len);
	s->tcp_len = (uint16_t)((s->tcp->data_off >> 4) * TCP_HDR_UNIT);
	s->hdr_len = (uint16_t)(s->l2_len + l3_len + s->tcp_len);
	if (s->tcp_len < sizeof(*s->tcp) || m->data_len < s->hdr_len || ip_len + s->l2_len < s->hdr_len ||
	    ip_len + s->l2_len > m->pkt_len)
		return false;
	s->payload = (uint16_t)(ip_len + s->l2_len - s->hdr_len);
	s->padding = (uint16_t)(m->pkt_len - ip_len - s->l2_len);
	return true;
}

static bool
same_connection(const struct segment *a, const struct segment *b)
{
	if (a->is_v4 != b->is_v4 || a->tcp->src_port != b->tcp->src_port || a->tcp->dst_port != b->tcp->dst_port)
		return false;
	if (a->is_v4)
		return a->ip.v4->src_addr == b->ip.v4->src_addr && a->ip.v4->dst_addr == b->ip.v4->dst_addr;
	return memcmp(&a->ip.v6->src_addr, &b->ip.v6->src_addr, sizeof(a->ip.v6->src_addr)) == 0 &&
	       memcmp(&a->ip.v6->dst_addr, &b->ip.v6->dst_addr, sizeof(a->ip.v6->dst_addr)) == 0;
}

/* Data that the card found whole, of a connection in its normal course. */
static bool
is_data(const struct rte_mbuf *m, const struct segment *s)
{
	const uint64_t good = RTE_MBUF_F_RX_L4_CKSUM_GOOD | (s->is_v4 ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : 0);
	const uint64_t mask = RTE_MBUF_F_RX_L4_CKSUM_MASK | (s->is_v4 ? RTE_MBUF_F_RX_IP_CKSUM_MASK : 0);

	return (m->ol_flags & mask) == good && s->payload != 0 &&
	       (s->tcp->tcp_flags & (uint8_t)~RTE_TCP_PSH_FLAG) == RTE_TCP_ACK_FLAG;
}

/* Identifications count up, as a large send lets them do; with "don't fragment" they may all be the same. */
static bool
id_fits(const struct open *o, const struct segment *s)
{
	const uint16_t step = (uint16_t)(rte_be_to_cpu_16(s->ip.v4->packet_id) - o->id);

	if (o->id_step != ID_UNKNOWN)
		return step == o->id_step;
	return step == 1 || (step == 0 && (s->ip.v4->fragment_offset & RTE_BE16(RTE_IPV4_HDR_DF_FLAG)) != 0);
}

/* All that a large send takes from the first headers is the same here. */
static bool
same_headers(const struct open *o, const struct rte_mbuf *m, const struct segment *s)
{
	const struct segment *f = &o->first;
	const bool mark = (m->ol_flags & RTE_MBUF_F_RX_FDIR_ID) != 0;

	if (m->ol_flags != o->head->ol_flags || s->hdr_len != f->hdr_len || memcmp(s->l2, f->l2, f->l2_len) != 0)
		return false;
	if ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0 && m->vlan_tci != o->head->vlan_tci)
		return false;
	if (mark && m->hash.fdir.hi != o->head->hash.fdir.hi)
		return false;
	if (s->is_v4 && (s->ip.v4->type_of_service != f->ip.v4->type_of_service ||
			 s->ip.v4->time_to_live != f->ip.v4->time_to_live ||
			 s->ip.v4->fragment_offset != f->ip.v4->fragment_offset || !id_fits(o, s)))
		return false;
	if (!s->is_v4 && (s->ip.v6->vtc_flow != f->ip.v6->vtc_flow || s->ip.v6->hop_limits != f->ip.v6->hop_limits))
		return false;
	return s->tcp->recv_ack == f->tcp->recv_ack && s->tcp->rx_win == f->tcp->rx_win &&
	       memcmp(s->tcp + 1, f->tcp + 1, s->tcp_len - sizeof(*s->tcp)) == 0;
}

/* What was verified sums up to all ones: the rest is the payload's. */
static uint32_t
payload_sum(const struct segment *s)
{
	uint32_t sum = s->is_v4 ? rte_ipv4_phdr_cksum(s->ip.v4, 0) : rte_ipv6_phdr_cksum(s->ip.v6, 0);

	return ~fold(sum + rte_raw_cksum(s->tcp, s->tcp_len)) & UINT16_MAX;
}

static void
begin(struct open *o, struct rte_mbuf *m, const struct segment *s)
{
	*o = (struct open){
		.head = m,
		.tail = rte_pktmbuf_lastseg(m),
		.first = *s,
		.seq = rte_be_to_cpu_32(s->tcp->sent_seq) + s->payload,
		.octets = s->payload,
		.packets = 1,
		.id = s->is_v4 ? rte_be_to_cpu_16(s->ip.v4->packet_id) : 0,
		.id_step = ID_UNKNOWN,
		.flags = s->tcp->tcp_flags,
		.closed = (s->tcp->tcp_flags & RTE_TCP_PSH_FLAG) != 0,
	};
}

/* A split at the end of the headers leaves a buffer that has nothing else: it has no place in the whole. */
static bool
is_all_headers(const struct rte_mbuf *m, const struct segment *s)
{
	return m->data_len == s->hdr_len;
}

static uint16_t
payload_buffers(const struct rte_mbuf *m, const struct segment *s)
{
	return (uint16_t)(m->nb_segs - is_all_headers(m, s));
}

/* The buffers of the payload alone. */
static struct rte_mbuf *
without_headers(struct rte_mbuf *m, const struct segment *s)
{
	struct rte_mbuf *payload = m->next;

	if (is_all_headers(m, s)) {
		rte_pktmbuf_free_seg(m);
		return payload;
	}
	rte_pktmbuf_adj(m, s->hdr_len);
	m->ol_flags = 0;
	return m;
}

static void
append(struct open *o, struct rte_mbuf *m, const struct segment *s)
{
	uint32_t sum = payload_sum(s);

	if (o->packets == 1)
		o->sum = payload_sum(&o->first);
	if ((o->octets & 1) != 0)
		sum = rte_bswap16((uint16_t)sum);
	o->sum = fold(o->sum + sum);
	if (s->is_v4) {
		o->id_step = (uint16_t)(rte_be_to_cpu_16(s->ip.v4->packet_id) - o->id);
		o->id = rte_be_to_cpu_16(s->ip.v4->packet_id);
	}
	o->seq += s->payload;
	o->octets += s->payload;
	o->packets++;
	o->flags |= s->tcp->tcp_flags;
	o->closed = s->payload < o->first.payload || (s->tcp->tcp_flags & RTE_TCP_PSH_FLAG) != 0;
	o->head->nb_segs = (uint16_t)(o->head->nb_segs + payload_buffers(m, s));
	o->head->pkt_len += s->payload;
	o->tail->next = without_headers(m, s);
	o->tail = rte_pktmbuf_lastseg(o->tail->next);
}

/* The headers of the whole. */
static void
finish(struct mlx4_lro *lro, struct open *o)
{
	const struct segment *f = &o->first;
	struct rte_tcp_hdr *tcp = f->tcp;
	uint32_t sum, len = f->tcp_len + o->octets;

	if (o->packets < 2)
		return;
	if (f->is_v4) {
		f->ip.v4->total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*f->ip.v4) + len));
		f->ip.v4->hdr_checksum = 0;
		f->ip.v4->hdr_checksum = rte_ipv4_cksum(f->ip.v4);
		sum = rte_ipv4_phdr_cksum(f->ip.v4, 0);
	} else {
		f->ip.v6->payload_len = rte_cpu_to_be_16((uint16_t)len);
		sum = rte_ipv6_phdr_cksum(f->ip.v6, 0);
	}
	tcp->tcp_flags = o->flags;
	tcp->cksum = 0;
	tcp->cksum = (uint16_t)~fold(sum + rte_raw_cksum(tcp, f->tcp_len) + o->sum);
	o->head->ol_flags |= RTE_MBUF_F_RX_LRO;
	o->head->tx_offload = 0;
	o->head->tso_segsz = f->payload;
	lro->n.packets += o->packets;
	lro->n.octets += o->octets;
	lro->n.events++;
}

/* Nothing more is joined to it. */
static void
leave(struct mlx4_lro *lro, struct table *t, struct open *o)
{
	finish(lro, o);
	t->n--;
	*o = t->open[t->n];
}

static struct open *
find(struct table *t, const struct segment *s)
{
	unsigned int i;

	for (i = 0; i < t->n; i++)
		if (same_connection(&t->open[i].first, s))
			return &t->open[i];
	return NULL;
}

/* The limits of a joined packet are no reason to count an abort. */
static bool
has_room(const struct mlx4_lro *lro, const struct open *o, const struct rte_mbuf *m, const struct segment *s)
{
	return o->head->pkt_len + s->payload <= lro->max_len &&
	       o->head->nb_segs + payload_buffers(m, s) <= MLX4_LRO_SEGS;
}

/* True: the packet is a part of another one now. */
static bool
join(struct mlx4_lro *lro, struct table *t, struct rte_mbuf *m)
{
	struct segment s;
	struct open *o;
	bool data;

	if (!parse(m, &s))
		return false;
	data = is_data(m, &s);
	o = find(t, &s);
	if (o != NULL) {
		if (data && !o->closed && has_room(lro, o, m, &s)) {
			if (s.payload <= o->first.payload && rte_be_to_cpu_32(s.tcp->sent_seq) == o->seq &&
			    same_headers(o, m, &s) && rte_pktmbuf_trim(m, s.padding) == 0) {
				append(o, m, &s);
				return true;
			}
			lro->n.aborts++;
		} else if (!data && !o->closed) {
			lro->n.aborts++;
		}
		leave(lro, t, o);
	}
	if (!data || s.padding != 0)
		return false;
	if (t->n == OPEN_MAX)
		leave(lro, t, &t->open[t->victim++ % OPEN_MAX]);
	begin(&t->open[t->n++], m, &s);
	return false;
}

/* Goes on while there is more and joining made room, so that a packet is not cut by the size of the burst. */
uint16_t
mlx4_rx_burst_lro_over(eth_rx_burst_t below, void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_rxq *q = rxq;
	uint16_t out = 0, got, want, i, first;
	struct table t;

	if (q->lro == NULL)
		return below(q, pkts, n);
	t.n = t.victim = 0;
	do {
		first = out;
		want = (uint16_t)(n - out);
		got = below(q, pkts + first, want);
		for (i = 0; i < got; i++)
			if (!join(q->lro, &t, pkts[first + i]))
				pkts[out++] = pkts[first + i];
	} while (got == want && out < n);
	while (t.n != 0)
		finish(q->lro, &t.open[--t.n]);
	return out;
}

uint16_t
mlx4_rx_burst_lro(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	return mlx4_rx_burst_lro_over(mlx4_rx_burst_sides, rxq, pkts, n);
}
