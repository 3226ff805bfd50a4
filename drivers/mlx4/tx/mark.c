/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Classes and marks of transmitted frames, in software, since a send queue of the card has one priority and changes no
 * header: rules find a frame's priority, its tag and DSCP are written, and the queue pair of that priority sends it.
 */
#include <rte_cycles.h>
#include <rte_ip.h>

#include "policy.h"

#define HEAD (RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + 60 + 4) /* to the ports behind the longest IPv4 header */
#define L2_MAX_TAGS 2u
#define TYPE_AT (2u * RTE_ETHER_ADDR_LEN)
#define TAGGED_LEN (RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN)
#define PRIO_SHIFT 13
#define TCI_LOW 0x1fffu
#define DSCP_SHIFT 2
#define ECN 0x03u
#define PACE_CYCLES_MAX UINT64_C(0xffffffff)
#define PRIO_NONE 0xffu /* of a frame that cannot be marked */

/* What of a frame the rules and marks look at. */
struct headers {
	uint32_t l3;       /* 0: no IP */
	uint16_t dst_port; /* of TCP and UDP; of others it means nothing, and no rule asks for it */
	uint8_t proto;
	uint8_t tos; /* DSCP and ECN */
	bool v6, tagged, link_local;
	uint8_t tag_prio;
};

/* What a frame becomes. */
struct mark {
	uint8_t prio;
	int8_t dscp; /* -1: stays */
	bool tag_meta, tag_data, dscp_data;
};

static __rte_always_inline uint16_t
load16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* LLDP, LACP and others of one link, which go without a tag [802.1Q 8.6.3, 802.1AB 7.1]. */
static __rte_always_inline bool
is_link_local(const uint8_t *h)
{
	uint32_t first;

	memcpy(&first, h, sizeof(first));
	return unlikely(first == RTE_BE32(0x0180c200)) && h[4] == 0 && h[5] <= 0x0f;
}

static void
parse_ipv4(const uint8_t *h, uint32_t len, struct headers *k)
{
	const uint8_t *ip = h + k->l3;
	uint32_t l4 = k->l3 + (ip[0] & 0xfu) * 4;

	k->tos = ip[1];
	k->proto = ip[9];
	/* Ports are in the first fragment only. */
	if ((load16(ip + 6) & RTE_IPV4_HDR_OFFSET_MASK) == 0 && l4 + 4 <= len)
		k->dst_port = load16(h + l4 + 2);
}

static void
parse_ipv6(const uint8_t *h, uint32_t len, struct headers *k)
{
	const uint8_t *ip = h + k->l3;

	k->v6 = true;
	k->tos = (uint8_t)(load16(ip) >> 4);
	k->proto = ip[6];
	if (k->l3 + 44 <= len)
		k->dst_port = load16(ip + 42);
}

/* The tag alone. */
static __rte_always_inline void
parse_tag(const uint8_t *h, uint32_t len, struct headers *k)
{
	uint16_t type = load16(h + 12);

	memset(k, 0, sizeof(*k));
	k->link_local = is_link_local(h);
	k->tagged = (type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ) && len >= TAGGED_LEN;
	if (k->tagged)
		k->tag_prio = h[RTE_ETHER_HDR_LEN] >> 5;
}

static __rte_always_inline void
parse(const uint8_t *h, uint32_t len, struct headers *k)
{
	uint32_t at = 12, i;
	uint16_t type = load16(h + at);

	memset(k, 0, sizeof(*k));
	k->link_local = is_link_local(h);
	for (i = 0; i < L2_MAX_TAGS && (type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ); i++) {
		if (at + 6 > len)
			return;
		if (i == 0) {
			k->tagged = true;
			k->tag_prio = h[at + 2] >> 5;
		}
		at += 4;
		type = load16(h + at);
	}
	at += 2;
	if (type == RTE_ETHER_TYPE_IPV4 && at + sizeof(struct rte_ipv4_hdr) <= len && h[at] >> 4 == 4) {
		k->l3 = at;
		parse_ipv4(h, len, k);
	} else if (type == RTE_ETHER_TYPE_IPV6 && at + sizeof(struct rte_ipv6_hdr) <= len && h[at] >> 4 == 6) {
		k->l3 = at;
		parse_ipv6(h, len, k);
	}
}

/* Of a frame that is known to be IPv4 without tag and options, to the ports in one piece. */
static __rte_always_inline void
parse_plain(const uint8_t *h, struct headers *k)
{
	*k = (struct headers){.l3 = RTE_ETHER_HDR_LEN};
	parse_ipv4(h, UINT32_MAX, k);
}

/* Decides and says what has to be written. */
static __rte_always_inline struct mark
decide(const struct mlx4_tx_policy *p, const struct rte_mbuf *m, const struct headers *k)
{
	struct mark d = {.prio = p->prio, .dscp = -1};

	if (unlikely((m->ol_flags & p->decided) != 0))
		return (struct mark){.prio = (uint8_t)(m->vlan_tci >> PRIO_SHIFT), .dscp = -1};
	if (p->classify)
		tp_qos_classify(&p->classes, k->proto, k->dst_port, &d.prio, &d.dscp);
	if (d.dscp < 0)
		d.dscp = p->fixed_dscp != 0 ? (int8_t)(p->fixed_dscp - 1) : p->dscp[d.prio];
	if (p->by_dscp && k->l3 != 0)
		d.prio = (uint8_t)(d.dscp >= 0 ? d.dscp : k->tos >> DSCP_SHIFT) / TP_PRIOS;
	d.dscp_data = k->l3 != 0 && d.dscp >= 0 && k->tos >> DSCP_SHIFT != d.dscp;
	if (!k->tagged && (m->ol_flags & RTE_MBUF_F_TX_VLAN) == 0)
		d.tag_meta = (p->tags >> d.prio & 1) != 0 && !k->link_local;
	else if (d.prio == 0)
		return d;
	else if ((m->ol_flags & RTE_MBUF_F_TX_VLAN) != 0)
		/* The port's own tag may have no priority, and is seen again when the frame is offered again. */
		d.tag_meta = m->vlan_tci >> PRIO_SHIFT != d.prio && m->vlan_tci != p->tci[d.prio];
	else
		d.tag_data = k->tag_prio != d.prio;
	return d;
}

/* The header checksum when one of its words changes, RFC 1624 equation 3; nothing when the card computes it. */
static void
fix_checksum(const struct rte_mbuf *m, struct rte_ipv4_hdr *ip, uint16_t before, uint16_t after)
{
	uint64_t by_card = (m->ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) != 0
				   ? RTE_MBUF_F_TX_OUTER_IP_CKSUM
				   : RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
	uint32_t sum;

	if ((m->ol_flags & by_card) != 0)
		return;
	sum = (uint16_t)~rte_be_to_cpu_16(ip->hdr_checksum) + (uint16_t)~before + after;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->hdr_checksum = rte_cpu_to_be_16((uint16_t)~sum);
}

static void
write_dscp(struct rte_mbuf *m, const struct headers *k, uint8_t dscp)
{
	uint8_t *ip = rte_pktmbuf_mtod_offset(m, uint8_t *, k->l3),
		tos = (uint8_t)(dscp << DSCP_SHIFT | (k->tos & ECN));
	uint16_t before = load16(ip);

	if (k->v6) {
		ip[0] = (uint8_t)(0x60 | tos >> 4);
		ip[1] = (uint8_t)((ip[1] & 0x0f) | tos << 4);
		return;
	}
	ip[1] = tos;
	fix_checksum(m, (struct rte_ipv4_hdr *)(void *)ip, before, load16(ip));
}

/*
 * Somebody else may look at a buffer or its descriptor, or the headers lie in pieces: a copy is marked instead. NULL: no
 * buffer, or (with *never) no pool that has a place for headers.
 */
static __rte_noinline struct rte_mbuf *
private_copy(struct rte_mbuf *m, bool *never)
{
	struct rte_mempool *mp = RTE_MBUF_CLONED(m) ? rte_mbuf_from_indirect(m)->pool : m->pool;

	*never = rte_pktmbuf_data_room_size(mp) < RTE_PKTMBUF_HEADROOM + HEAD;
	return *never ? NULL : rte_pktmbuf_copy(m, mp, 0, UINT32_MAX);
}

/* Bytes of the first segment that marks are written to. */
static __rte_always_inline uint32_t
reach(const struct headers *k, const struct mark *d)
{
	return d->dscp_data ? k->l3 + sizeof(struct rte_ipv4_hdr) : RTE_ETHER_HDR_LEN + 2;
}

/* False: no buffer now, try again later. *m may become a copy; the original stays the caller's. plain: IPv4 without tag and options,
 * to the ports in one piece. */
static __rte_always_inline bool
mark_one(const struct mlx4_tx_policy *p, struct rte_mbuf **m, const bool plain, struct mark *d)
{
	uint32_t len = RTE_MIN((*m)->pkt_len, (uint32_t)HEAD);
	uint8_t copy[HEAD];
	const uint8_t *h = rte_pktmbuf_mtod(*m, const uint8_t *);
	struct headers k;
	bool never, data;

	if (unlikely(len < RTE_ETHER_HDR_LEN)) {
		/* Refused further on. */
		*d = (struct mark){.prio = p->prio};
		return true;
	}
	if (unlikely((*m)->data_len < len))
		h = rte_pktmbuf_read(*m, 0, len, copy);
	if (plain)
		parse_plain(h, &k);
	else if (p->look)
		parse(h, len, &k);
	else
		parse_tag(h, len, &k);
	*d = decide(p, *m, &k);
	data = d->dscp_data || d->tag_data;
	if (!data && !d->tag_meta)
		return true;
	if (unlikely(rte_mbuf_refcnt_read(*m) != 1 || !RTE_MBUF_DIRECT(*m) ||
		     (data && (*m)->data_len < reach(&k, d)))) {
		struct rte_mbuf *mine = private_copy(*m, &never);

		if (mine == NULL) {
			d->prio = PRIO_NONE;
			return never;
		}
		*m = mine;
	}
	if (d->tag_meta) {
		const bool has = ((*m)->ol_flags & RTE_MBUF_F_TX_VLAN) != 0;

		(*m)->vlan_tci = has ? (uint16_t)(((*m)->vlan_tci & TCI_LOW) | d->prio << PRIO_SHIFT) : p->tci[d->prio];
		(*m)->ol_flags |= RTE_MBUF_F_TX_VLAN;
	}
	if (d->tag_data) {
		uint8_t *tci = rte_pktmbuf_mtod_offset(*m, uint8_t *, RTE_ETHER_HDR_LEN);

		*tci = (uint8_t)((*tci & (TCI_LOW >> 8)) | d->prio << (PRIO_SHIFT - 8));
	}
	if (d->dscp_data)
		write_dscp(*m, &k, (uint8_t)d->dscp);
	return true;
}

/* The usual frame of a queue that has a priority and nothing else: no tag, one owner. False: anything else. */
static __rte_always_inline bool
mark_usual(struct rte_mbuf *m, const bool tag, const uint16_t tci)
{
	const uint8_t *h = rte_pktmbuf_mtod(m, const uint8_t *);
	rte_be16_t type;

	if (unlikely(m->data_len < TAGGED_LEN || (m->ol_flags & RTE_MBUF_F_TX_VLAN) != 0))
		return false;
	memcpy(&type, h + TYPE_AT, sizeof(type));
	if (unlikely(type == RTE_BE16(RTE_ETHER_TYPE_VLAN) || type == RTE_BE16(RTE_ETHER_TYPE_QINQ)))
		return false;
	if (!tag || is_link_local(h))
		return true;
	if (unlikely(rte_mbuf_refcnt_read(m) != 1 || !RTE_MBUF_DIRECT(m)))
		return false;
	m->vlan_tci = tci;
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	return true;
}

/*
 * What was found for one frame of IPv4 without tag and options holds for the next one when what rules and marks look at is the
 * same. A flow's frames come in runs, so that one is remembered, for the burst.
 */
struct flow {
	uint64_t unusual;  /* ol_flags of frames that are decided otherwise; all: none is known */
	uint32_t type_tos; /* type, version, length and DSCP as they lie in the frame */
	uint32_t frag_proto;
	uint16_t dst_port, tci, sum;
	uint8_t tos, prio;
	bool dscp, tag;
};
#define FLOW_LEN (RTE_ETHER_HDR_LEN + (uint32_t)sizeof(struct rte_ipv4_hdr) + 4)
#define FLOW_UNUSUAL (RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_TUNNEL_MASK)
#define FRAG_AT (RTE_ETHER_HDR_LEN + 6u)
#define SUM_AT (RTE_ETHER_HDR_LEN + 10u)
#define FRAG_PROTO RTE_BE32(0xffff00ffu) /* without the time to live between them */
#define PORT_AT (RTE_ETHER_HDR_LEN + (uint32_t)sizeof(struct rte_ipv4_hdr) + 2)

/* True: it is one of the flow, and marked: its DSCP, its tag. */
static __rte_always_inline bool
mark_same(const struct flow *f, struct rte_mbuf *m, const bool dscp, const bool tag)
{
	const uint64_t flags = m->ol_flags,
		       unusual = f->unusual | (dscp || tag ? RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL : 0);
	uint8_t *h = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t type_tos, frag_proto;
	uint16_t port, sum;
	int32_t less;

	if (unlikely((flags & unusual) != 0 || m->data_len < FLOW_LEN))
		return false;
	memcpy(&type_tos, h + TYPE_AT, sizeof(type_tos));
	if (unlikely(type_tos != f->type_tos))
		return false;
	memcpy(&frag_proto, h + FRAG_AT, sizeof(frag_proto));
	if (unlikely((frag_proto & FRAG_PROTO) != f->frag_proto))
		return false;
	memcpy(&port, h + PORT_AT, sizeof(port));
	if (unlikely(port != f->dst_port || (tag && is_link_local(h))))
		return false;
	if (!dscp && !tag)
		return true;
	if (unlikely(rte_mbuf_refcnt_read(m) != 1))
		return false;
	if (dscp) {
		h[RTE_ETHER_HDR_LEN + 1] = f->tos;
		if ((flags & (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_SEG)) == 0) {
			/* RFC 1624 equation 3 in one subtraction: a borrow is the carry of the ones' complement. */
			memcpy(&sum, h + SUM_AT, sizeof(sum));
			less = (int32_t)sum - f->sum;
			sum = (uint16_t)(less + (less >> 31));
			memcpy(h + SUM_AT, &sum, sizeof(sum));
		}
	}
	if (tag) {
		m->vlan_tci = f->tci;
		m->ol_flags = flags | RTE_MBUF_F_TX_VLAN;
	}
	return true;
}

/* Looks at a frame before it is marked; false: it is none that is remembered. */
static __rte_always_inline bool
look_at(const struct mlx4_tx_policy *p, const struct rte_mbuf *m, struct flow *f)
{
	const uint8_t *h = rte_pktmbuf_mtod(m, const uint8_t *);

	f->unusual = UINT64_MAX;
	if ((m->ol_flags & (FLOW_UNUSUAL | p->decided)) != 0 || m->data_len < FLOW_LEN || is_link_local(h) ||
	    load16(h + TYPE_AT) != RTE_ETHER_TYPE_IPV4 || h[RTE_ETHER_HDR_LEN] != RTE_IPV4_VHL_DEF)
		return false;
	memcpy(&f->type_tos, h + TYPE_AT, sizeof(f->type_tos));
	memcpy(&f->frag_proto, h + FRAG_AT, sizeof(f->frag_proto));
	memcpy(&f->dst_port, h + PORT_AT, sizeof(f->dst_port));
	f->frag_proto &= FRAG_PROTO;
	return true;
}

/* The same decision for the next ones. A sum of ones' complements has no byte order [RFC 1071 2B]. */
static __rte_noinline void
remember(const struct mlx4_tx_policy *p, const struct mark *d, struct flow *f)
{
	uint16_t before, after;
	uint8_t word[4];
	uint32_t sum;

	if (d->prio == PRIO_NONE || d->tag_data)
		return;
	memcpy(word, &f->type_tos, sizeof(word));
	memcpy(&before, word + 2, sizeof(before));
	f->tos = (uint8_t)(((uint8_t)d->dscp << DSCP_SHIFT) | (word[3] & ECN));
	word[3] = f->tos;
	memcpy(&after, word + 2, sizeof(after));
	sum = (uint32_t)(uint16_t)~before + after;
	f->sum = (uint16_t)(sum + (sum >> 16));
	f->prio = d->prio;
	f->dscp = d->dscp_data;
	f->tag = d->tag_meta;
	f->tci = p->tci[d->prio % MLX4_PRIOS];
	f->unusual = FLOW_UNUSUAL | p->decided;
}

/* By the queue pair of another priority; the queue's counters are those of all its pairs. */
static uint32_t
send_by(struct mlx4_txq *q, struct mlx4_txq *lane, struct rte_mbuf **pkts, uint32_t n)
{
	uint64_t packets = lane->packets, bytes = lane->bytes, errors = lane->errors, linearized = lane->linearized;
	uint32_t sent = mlx4_tx_burst_tagged(lane, pkts, (uint16_t)n);

	q->packets += lane->packets - packets;
	q->bytes += lane->bytes - bytes;
	q->errors += lane->errors - errors;
	if (unlikely(lane->failures != 0)) {
		q->failures += lane->failures;
		q->lost_packets += lane->lost_packets;
		q->lost_bytes += lane->lost_bytes;
		lane->failures = lane->lost_packets = lane->lost_bytes = 0;
	}
	q->linearized += lane->linearized - linearized;
	return sent;
}

/* Frames of one priority; returns how many of them are gone. */
static __rte_always_inline uint32_t
send_prio(struct mlx4_txq *q, const struct mlx4_tx_policy *p, uint8_t prio, struct rte_mbuf **pkts, uint32_t n)
{
	if (unlikely(prio == PRIO_NONE)) {
		q->errors += n;
		rte_pktmbuf_free_bulk(pkts, n);
		return n;
	}
	if (unlikely((p->hold >> prio & 1) != 0))
		return 0;
	if (unlikely((p->discard >> prio & 1) != 0)) {
		q->prio_count[prio].discards += n;
		rte_pktmbuf_free_bulk(pkts, n);
		return n;
	}
	if (p->lane[prio] != NULL)
		return send_by(q, p->lane[prio], pkts, n);
	return prio == 0 && (p->tags & 1) == 0 ? mlx4_tx_burst(q, pkts, (uint16_t)n)
					       : mlx4_tx_burst_tagged(q, pkts, (uint16_t)n);
}

/* Frames on the wire that a packet without a tag becomes, and their bytes with FCS. */
static __rte_always_inline uint32_t
on_wire(const struct rte_mbuf *m, uint32_t *bytes)
{
	uint32_t hdr = m->l2_len + m->l3_len + m->l4_len, frames = 1;

	if (likely((m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0 || m->tso_segsz == 0 || m->pkt_len <= hdr)) {
		*bytes = m->pkt_len + RTE_ETHER_CRC_LEN;
		return 1;
	}
	frames = (m->pkt_len - hdr + m->tso_segsz - 1) / m->tso_segsz;
	*bytes = m->pkt_len + (frames - 1) * hdr + frames * RTE_ETHER_CRC_LEN;
	return frames;
}

/* Before they are sent, since they are not ours any more afterwards; what the ring does not take is counted out again. */
static uint32_t
send_untagged(struct mlx4_txq *q, const struct mlx4_tx_policy *p, uint8_t prio, struct rte_mbuf **pkts, uint32_t n)
{
	uint32_t frames[MLX4_POLICY_RUN], bytes[MLX4_POLICY_RUN], i, sent;

	for (i = 0; i < n; i++) {
		frames[i] = bytes[i] = 0;
		if ((pkts[i]->ol_flags & RTE_MBUF_F_TX_VLAN) == 0)
			frames[i] = on_wire(pkts[i], &bytes[i]);
	}
	sent = send_prio(q, p, prio, pkts, n);
	for (i = 0; i < n && i < sent && (p->discard >> prio & 1) == 0; i++) {
		q->prio_count[prio].untagged += frames[i];
		q->prio_count[prio].untagged_bytes += bytes[i];
	}
	return sent;
}

/*
 * The card limits the rate of each queue pair; a queue that sends by several of them has one budget, kept here. Says how
 * many packets it covers, the last of them perhaps in part, and what each one takes of it.
 */
static __rte_noinline uint32_t
within_rate(struct mlx4_txq *q, const struct mlx4_tx_policy *p, struct rte_mbuf *const *pkts, uint32_t n,
	    uint32_t *bytes)
{
	uint64_t now = rte_rdtsc(), past = RTE_MIN(now - q->pace_tsc, PACE_CYCLES_MAX);
	int64_t room;
	uint32_t i;

	q->pace_tsc = now;
	q->pace_room = RTE_MIN(q->pace_room + (int64_t)(past * p->pace), p->pace_burst);
	room = q->pace_room;
	for (i = 0; i < n && room > 0; i++) {
		on_wire(pkts[i], &bytes[i]);
		room -= (int64_t)(bytes[i] * MLX4_PACE_ONE);
	}
	return i;
}

/* Frames of one priority, whether they have tags or not. */
static __rte_always_inline uint32_t
send_all(struct mlx4_txq *q, const struct mlx4_tx_policy *p, uint8_t prio, struct rte_mbuf **pkts, uint32_t n)
{
	if (likely(prio == PRIO_NONE || prio == 0 || (p->tags >> prio & 1) != 0))
		return send_prio(q, p, prio, pkts, n);
	return send_untagged(q, p, prio, pkts, n);
}

static __rte_always_inline uint32_t
same_run(const struct flow *flow, struct rte_mbuf **pkts, uint32_t n, const bool dscp, const bool tag)
{
	const struct flow f = *flow; /* what is written might alias it otherwise */
	struct rte_mbuf **at = pkts, **const end = pkts + n;

	while (at != end && likely(mark_same(&f, *at, dscp, tag)))
		at++;
	return (uint32_t)(at - pkts);
}

/* Marks frames as long as they are of one flow. Returns how many. */
static __rte_noinline uint32_t
mark_flow(const struct flow *f, struct rte_mbuf **pkts, uint32_t n)
{
	if (f->dscp)
		return f->tag ? same_run(f, pkts, n, true, true) : same_run(f, pkts, n, true, false);
	return f->tag ? same_run(f, pkts, n, false, true) : same_run(f, pkts, n, false, false);
}

/* Marks frames of a queue without rules as long as they are of the usual kind. Returns how many. */
static __rte_always_inline uint32_t
mark_run(const struct mlx4_tx_policy *p, struct rte_mbuf **pkts, uint32_t n)
{
	const bool tag = (p->tags >> p->prio & 1) != 0;
	const uint16_t tci = p->tci[p->prio];
	uint32_t i = 0;

	while (i < n && likely(mark_usual(pkts[i], tag, tci)))
		i++;
	return i;
}

uint32_t
mlx4_tx_marked(struct mlx4_txq *q, const struct mlx4_tx_policy *p, struct rte_mbuf **pkts, uint32_t n)
{
	uint32_t bytes[MLX4_POLICY_RUN], i, k, ready, done = 0, run, sent;
	struct rte_mbuf *out[MLX4_POLICY_RUN], **send;
	uint8_t prio[MLX4_POLICY_RUN];
	struct flow flow = {.unusual = UINT64_MAX};
	struct rte_mbuf *m;
	struct mark d;
	bool copies = false, known, one = true;

	if (unlikely(p->pace != 0))
		n = within_rate(q, p, pkts, n, bytes);
	ready = p->look ? 0 : mark_run(p, pkts, n);
	if (ready == n && p->pace == 0)
		return send_all(q, p, p->prio, pkts, n);
	memset(prio, p->prio, ready);
	for (; ready < n; ready++) {
		prio[ready] = p->prio;
		out[ready] = pkts[ready];
		if (!p->look && mark_usual(pkts[ready], (p->tags >> p->prio & 1) != 0, p->tci[p->prio])) {
			one &= prio[ready] == prio[0];
			continue;
		}
		m = pkts[ready];
		known = p->look && look_at(p, m, &flow);
		if (unlikely(!(known ? mark_one(p, &m, true, &d) : mark_one(p, &m, false, &d))))
			break;
		if (unlikely(m != pkts[ready]) && !copies) {
			memcpy(out, pkts, ready * sizeof(*out));
			copies = true;
		}
		out[ready] = m;
		prio[ready] = d.prio;
		one &= d.prio == prio[0];
		if (!known)
			continue;
		remember(p, &d, &flow);
		if (flow.unusual == UINT64_MAX)
			continue;
		k = mark_flow(&flow, pkts + ready + 1, n - ready - 1);
		if (k == 0)
			continue;
		if (unlikely(copies))
			memcpy(&out[ready + 1], &pkts[ready + 1], k * sizeof(*out));
		memset(&prio[ready + 1], d.prio, k);
		ready += k;
	}
	send = copies ? out : pkts;
	while (done < ready) {
		run = one ? ready : 1;
		for (; done + run < ready && prio[done + run] == prio[done]; run++)
			;
		sent = send_all(q, p, prio[done], send + done, run);
		done += sent;
		if (sent != run)
			break;
	}
	for (i = 0; p->pace != 0 && i < done; i++)
		q->pace_room -= (int64_t)(bytes[i] * MLX4_PACE_ONE);
	for (i = 0; copies && i < ready; i++)
		if (out[i] != pkts[i])
			rte_pktmbuf_free(i < done ? pkts[i] : out[i]);
	return done;
}
