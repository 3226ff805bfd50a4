/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Datagrams that are sent: headers, checksums, fragments. */
#include <errno.h>
#include <netinet/in.h>

#include "udp_priv.h"

#define FRAGS_MAX 128u /* 65535 octets by an MTU of 576 */
#define MTU_MIN 68u    /* RFC 791 */

/* What is sent once, and how. */
struct out {
	struct udp_sock *u;
	const struct tcp_path *path;
	struct tcp_addr to;
	rte_be32_t from;
	uint32_t len; /* of the data */
	uint8_t ttl, tos;
	bool group;
};

void
udp_tx(struct udp_stack *s, struct rte_mbuf *m)
{
	if (unlikely(s->ops->tx(s->home, &m, 1) == 0)) {
		s->st.tx_blocked++;
		rte_pktmbuf_free(m);
	}
}

/* Ethernet in front of m. */
static void
put_ethernet(struct rte_mbuf *m, const struct out *o)
{
	const struct tcp_path *p = o->path;
	const bool tag = p->vlan != 0;
	uint8_t *at = (uint8_t *)rte_pktmbuf_prepend(m, RTE_ETHER_HDR_LEN + (tag ? 4 : 0));
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)at;

	eth->src_addr = p->src;
	if (o->group) {
		/* RFC 1112 6.4: the low 23 bits */
		const uint32_t g = rte_be_to_cpu_32(o->to.ip);

		eth->dst_addr =
			(struct rte_ether_addr){{0x01, 0x00, 0x5e, (g >> 16) & 0x7f, (uint8_t)(g >> 8), (uint8_t)g}};
	} else {
		eth->dst_addr = p->dst;
	}
	if (tag) {
		struct rte_vlan_hdr *v = (struct rte_vlan_hdr *)(eth + 1);

		eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_VLAN);
		v->vlan_tci = rte_cpu_to_be_16(p->vlan);
		v->eth_proto = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	} else {
		eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	}
	m->l2_len = RTE_ETHER_HDR_LEN + (tag ? 4 : 0);
}

/* Data in as many mbufs as it takes, with room for headers in front of the first; NULL: the pool is empty. */
static struct rte_mbuf *
copy_data(struct udp_stack *s, const struct iovec *iov, int n)
{
	struct rte_mbuf *const head = rte_pktmbuf_alloc(s->conf.pool), *m = head;
	int i;

	if (head == NULL)
		goto none;
	head->data_off = TCP_MBUF_FRONT;
	for (i = 0; i < n; i++) {
		const uint8_t *from = iov[i].iov_base;
		size_t left = iov[i].iov_len;

		while (left != 0) {
			uint32_t k = (uint32_t)RTE_MIN(left, (size_t)rte_pktmbuf_tailroom(m));

			if (k == 0) {
				m->next = rte_pktmbuf_alloc(s->conf.pool);
				if (m->next == NULL) {
					rte_pktmbuf_free(head);
					goto none;
				}
				m = m->next;
				head->nb_segs++;
				continue;
			}
			memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, m->data_len), from, k);
			m->data_len += (uint16_t)k;
			head->pkt_len += k;
			from += k;
			left -= k;
		}
	}
	return head;
none:
	s->st.tx_no_mbuf++;
	return NULL;
}

static void
put_headers(struct rte_mbuf *m, const struct out *o, bool df, bool by_device)
{
	struct udp_stack *s = o->u->s;
	struct rte_ipv4_hdr *ip;
	struct rte_udp_hdr *uh;

	ip = (struct rte_ipv4_hdr *)rte_pktmbuf_prepend(m, UDP_HDRS);
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.type_of_service = o->tos,
		.total_length = rte_cpu_to_be_16((uint16_t)(UDP_HDRS + o->len)),
		.packet_id = rte_cpu_to_be_16(s->ip_id++),
		.fragment_offset = df ? RTE_BE16(RTE_IPV4_HDR_DF_FLAG) : 0,
		.time_to_live = o->ttl,
		.next_proto_id = IPPROTO_UDP,
		.src_addr = o->from,
		.dst_addr = o->to.ip,
	};
	uh = (struct rte_udp_hdr *)(ip + 1);
	*uh = (struct rte_udp_hdr){
		.src_port = o->u->local.port,
		.dst_port = o->to.port,
		.dgram_len = rte_cpu_to_be_16((uint16_t)(sizeof(*uh) + o->len)),
	};
	m->l3_len = sizeof(*ip);
	m->l4_len = sizeof(*uh);
	if (by_device) {
		m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
		uh->dgram_cksum = rte_ipv4_phdr_cksum(ip, 0);
	} else {
		const uint16_t sum = (uint16_t)~tcp_sum(m, ip, sizeof(*ip), (uint32_t)sizeof(*uh) + o->len);

		uh->dgram_cksum = sum == 0 ? 0xffff : sum; /* RFC 768: 0 means none */
		ip->hdr_checksum = rte_ipv4_cksum(ip);
	}
}

/* Octets [off, off + len) of an IP packet as a packet; NULL: the pool is empty. */
static struct rte_mbuf *
fragment(struct udp_stack *s, const struct rte_mbuf *m, uint32_t off, uint32_t len)
{
	struct rte_mbuf *k = udp_copy(s, m, off, len);
	const struct rte_ipv4_hdr *whole = rte_pktmbuf_mtod(m, const struct rte_ipv4_hdr *);
	struct rte_ipv4_hdr *ip;

	if (k == NULL)
		return NULL;
	ip = (struct rte_ipv4_hdr *)rte_pktmbuf_prepend(k, sizeof(*ip));
	*ip = *whole;
	ip->total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + len));
	ip->fragment_offset = rte_cpu_to_be_16(
		(uint16_t)((off - sizeof(*ip)) / 8 | (off + len < m->pkt_len ? RTE_IPV4_HDR_MF_FLAG : 0)));
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	return k;
}

/* Fragments of an IP packet, which is freed; false: the pool is empty. */
static bool
send_fragments(struct rte_mbuf *m, const struct out *o, uint32_t mtu)
{
	struct udp_stack *s = o->u->s;
	const uint32_t each = (mtu - (uint32_t)sizeof(struct rte_ipv4_hdr)) & ~7u, all = m->pkt_len;
	struct rte_mbuf *part[FRAGS_MAX];
	uint32_t n = 0, i, off = sizeof(struct rte_ipv4_hdr);

	for (; off < all && n < FRAGS_MAX; off += each, n++) {
		part[n] = fragment(s, m, off, RTE_MIN(each, all - off));
		if (part[n] == NULL)
			break;
	}
	rte_pktmbuf_free(m);
	for (i = 0; i < n && off < all; i++)
		rte_pktmbuf_free(part[i]);
	if (off < all) {
		s->st.tx_no_mbuf++;
		return false;
	}
	for (i = 0; i < n; i++) {
		put_ethernet(part[i], o);
		udp_tx(s, part[i]);
	}
	s->st.tx_fragments += n;
	return true;
}

/* RFC 1112 6.1: members here hear it, too. */
static void
loop_back(const struct rte_mbuf *m, const struct out *o)
{
	struct udp_stack *s = o->u->s;
	struct udp_gram g = {.m = udp_copy(s, m, 0, m->pkt_len), .hdr_len = UDP_HDRS};

	if (g.m == NULL) {
		s->st.rx_no_mbuf++;
		return;
	}
	g.ip = rte_pktmbuf_mtod(g.m, const struct rte_ipv4_hdr *);
	g.uh = (const struct rte_udp_hdr *)(g.ip + 1);
	udp_deliver(s, &g, true);
	rte_pktmbuf_free(g.m);
}

/* The way to a host or group, asked for when it is another one. */
static int
find_path(struct udp_sock *u, rte_be32_t to, rte_be32_t from)
{
	struct tcp_path p = {.mtu = 1500};
	struct udp_stack *s = u->s;
	int rc;

	if (likely(u->path_gen == s->path_gen && u->path_to == to && u->path_from == from))
		return 0;
	rc = s->ops->path(s->home, from, to, &p);
	if (rc != 0) {
		s->st.tx_no_path++;
		return rc;
	}
	p.mtu = RTE_MAX(p.mtu, (uint16_t)MTU_MIN);
	u->path = p;
	u->path_to = to;
	u->path_from = from;
	u->path_gen = s->path_gen;
	return 0;
}

static uint8_t
chosen(int given, uint8_t other)
{
	return given < 0 ? other : (uint8_t)given;
}

ssize_t
udp_send(struct udp_sock *u, const struct iovec *iov, int n, const struct udp_tx *tx)
{
	struct out o = {.u = u, .path = &u->path, .to = tx != NULL && tx->to != NULL ? *tx->to : u->remote};
	struct udp_stack *s = u->s;
	const rte_be32_t from = tx != NULL && tx->from != 0 ? tx->from : udp_is_group(u->local.ip) ? 0 : u->local.ip;
	size_t len = 0;
	struct rte_mbuf *m;
	bool large;
	int i, rc;

	if (unlikely(u->error != 0))
		return -udp_error(u);
	if (o.to.port == 0 || o.to.ip == 0)
		return -EDESTADDRREQ;
	for (i = 0; i < n; i++)
		len += iov[i].iov_len;
	if (len > UDP_DATA_MAX)
		return -EMSGSIZE;
	rc = find_path(u, o.to.ip, from);
	if (unlikely(rc != 0))
		return rc;
	o.group = udp_is_group(o.to.ip);
	if (unlikely(!u->broadcast && !o.group && rte_is_broadcast_ether_addr(&u->path.dst)))
		return -EACCES;
	large = len + UDP_HDRS > u->path.mtu;
	if (unlikely(large && u->discover >= IP_PMTUDISC_DO && u->discover != IP_PMTUDISC_OMIT))
		return -EMSGSIZE;
	if (unlikely(u->local.port == 0)) {
		rc = udp_choose_port(u);
		if (rc != 0)
			return rc;
	}
	o.from = from != 0 ? from : u->path.local;
	o.len = (uint32_t)len;
	o.ttl = chosen(tx != NULL ? tx->ttl : -1, o.group ? u->group_ttl : u->ttl);
	o.tos = chosen(tx != NULL ? tx->tos : -1, u->tos);
	m = copy_data(s, iov, n);
	if (unlikely(m == NULL))
		return -ENOBUFS;
	put_headers(m, &o, u->discover != IP_PMTUDISC_DONT && u->discover < IP_PMTUDISC_INTERFACE && !large,
		    s->conf.tx_checksum && !large);
	if (o.group && u->loop)
		loop_back(m, &o);
	/* RFC 1112 6.1: 0 stays on this host. */
	if (o.group && o.ttl == 0) {
		rte_pktmbuf_free(m);
	} else if (unlikely(large)) {
		if (!send_fragments(m, &o, u->path.mtu))
			return -ENOBUFS;
	} else {
		put_ethernet(m, &o);
		if (unlikely(s->ops->tx(s->home, &m, 1) == 0)) {
			s->st.tx_blocked++;
			rte_pktmbuf_free(m);
			return -ENOBUFS;
		}
	}
	s->st.tx_datagrams++;
	s->st.tx_bytes += len;
	return (ssize_t)len;
}
