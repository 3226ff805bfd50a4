/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "gso.h"

#define FRAGMENT 0x3fffu /* more fragments, or an offset */
#define IPV4_LEN 20u
#define IPV6_LEN 40u
#define UDP_LEN 8u

static uint32_t
get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static void
put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* --- joining ------------------------------------------------------------------------------------------------------------ */

/* Octets of headers of a packet that may be joined with others, 0: it may not. */
static uint32_t
joinable(const struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *), *ip = p + RTE_ETHER_HDR_LEN, *udp;
	uint32_t len = m->data_len, l4;

	if (m->nb_segs != 1 || len <= RTE_ETHER_HDR_LEN + IPV4_LEN + UDP_LEN)
		return 0;
	if (get16(p + 12) == RTE_ETHER_TYPE_IPV4) {
		l4 = RTE_ETHER_HDR_LEN + IPV4_LEN;
		/* The sum is made anew: a wrong one is to stay what it is. */
		if (ip[0] != 0x45 || ip[9] != IPPROTO_UDP || (get16(ip + 6) & FRAGMENT) != 0 ||
		    get16(ip + 2) != len - RTE_ETHER_HDR_LEN || rte_raw_cksum(ip, IPV4_LEN) != 0xffff)
			return 0;
	} else {
		l4 = RTE_ETHER_HDR_LEN + IPV6_LEN;
		if (get16(p + 12) != RTE_ETHER_TYPE_IPV6 || len <= l4 + UDP_LEN || ip[0] >> 4 != 6 ||
		    ip[6] != IPPROTO_UDP || get16(ip + 4) != len - l4)
			return 0;
	}
	udp = p + l4;
	return get16(udp + 4) == len - l4 && get16(udp + 6) == 0 ? l4 + UDP_LEN : 0;
}

bool
pkt_join_first(struct pkt_join *j, const struct rte_mbuf *m)
{
	j->head = joinable(m);
	if (j->head == 0)
		return false;
	j->first = rte_pktmbuf_mtod(m, const uint8_t *);
	j->seg = m->data_len - j->head;
	j->num = 1;
	j->len = m->data_len;
	j->closed = false;
	return true;
}

/* All but lengths and sums, and the number that IPv4 counts. */
static bool
follows(const struct pkt_join *j, const uint8_t *p)
{
	const uint8_t *f = j->first;

	if (j->head == RTE_ETHER_HDR_LEN + IPV6_LEN + UDP_LEN)
		return memcmp(f, p, 18) == 0 && memcmp(f + 20, p + 20, 38) == 0;
	return memcmp(f, p, 16) == 0 && (uint16_t)(get16(f + 18) + j->num) == get16(p + 18) &&
	       memcmp(f + 20, p + 20, 4) == 0 && memcmp(f + 26, p + 26, 12) == 0;
}

bool
pkt_join_next(struct pkt_join *j, const struct rte_mbuf *m)
{
	uint32_t payload;

	if (j->closed || j->num == PKT_SEGS || joinable(m) != j->head)
		return false;
	payload = m->data_len - j->head;
	if (payload > j->seg || j->len + payload > PKT_FRAME || !follows(j, rte_pktmbuf_mtod(m, const uint8_t *)))
		return false;
	j->closed = payload < j->seg;
	j->len += payload;
	j->num++;
	return true;
}

void
pkt_join_head(const struct pkt_join *j, uint8_t *head, struct virtio_net_hdr *v)
{
	const bool v6 = j->head == RTE_ETHER_HDR_LEN + IPV6_LEN + UDP_LEN;
	uint8_t *ip = head + RTE_ETHER_HDR_LEN, *udp = head + j->head - UDP_LEN;
	uint16_t sum;

	memcpy(head, j->first, j->head);
	put16(udp + 4, j->len - (j->head - UDP_LEN));
	if (v6) {
		put16(ip + 4, j->len - RTE_ETHER_HDR_LEN - IPV6_LEN);
		sum = rte_ipv6_phdr_cksum((const void *)ip, 0);
	} else {
		put16(ip + 2, j->len - RTE_ETHER_HDR_LEN);
		put16(ip + 10, 0);
		sum = rte_ipv4_cksum((const void *)ip);
		memcpy(ip + 10, &sum, sizeof(sum));
		sum = rte_ipv4_phdr_cksum((const void *)ip, 0);
	}
	/* Who cuts it completes the sums; a port that takes it whole makes none. */
	memcpy(udp + 6, &sum, sizeof(sum));
	*v = (struct virtio_net_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_UDP_L4,
		.hdr_len = (uint16_t)j->head,
		.gso_size = (uint16_t)j->seg,
		.csum_start = (uint16_t)(j->head - UDP_LEN),
		.csum_offset = 6,
	};
}

/* --- cutting ------------------------------------------------------------------------------------------------------------ */

/* Where the transport's header is, and which it is; p has have octets. */
static bool
find_l4(struct pkt_cut *c, const uint8_t *p, uint32_t have, uint8_t *proto)
{
	uint32_t type;

	c->l3 = RTE_ETHER_HDR_LEN;
	if (have < c->l3 + IPV4_LEN + UDP_LEN)
		return false;
	type = get16(p + 12);
	while ((type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ) && c->l3 < RTE_ETHER_HDR_LEN + 2 * 4) {
		c->l3 += 4;
		type = get16(p + c->l3 - 2);
	}
	c->v6 = type == RTE_ETHER_TYPE_IPV6;
	if ((type != RTE_ETHER_TYPE_IPV4 && !c->v6) || have < c->l3 + (c->v6 ? IPV6_LEN : IPV4_LEN))
		return false;
	p += c->l3;
	*proto = p[c->v6 ? 6 : 9];
	c->l4 = c->l3 + (c->v6 ? IPV6_LEN : (p[0] & 0xfu) * 4);
	return p[0] >> 4 == (c->v6 ? 6 : 4) && (c->v6 || c->l4 >= c->l3 + IPV4_LEN);
}

int
pkt_cut_init(struct pkt_cut *c, const struct virtio_net_hdr *v, const uint8_t *p, uint32_t have, uint32_t len)
{
	uint8_t type = v->gso_type & (uint8_t)~VIRTIO_NET_HDR_GSO_ECN, proto;

	if (!find_l4(c, p, have, &proto) || v->gso_size == 0)
		return -EPROTO;
	c->tcp = type == (c->v6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4);
	if (!c->tcp && type != VIRTIO_NET_HDR_GSO_UDP_L4)
		return -EPROTO;
	if (proto != (c->tcp ? IPPROTO_TCP : IPPROTO_UDP) ||
	    have < c->l4 + (c->tcp ? sizeof(struct rte_tcp_hdr) : UDP_LEN))
		return -EPROTO;
	if (get16(p + c->l3 + (c->v6 ? 4 : 2)) != len - (c->v6 ? c->l4 : c->l3))
		return -EPROTO;
	c->head = c->l4 + (c->tcp ? (p[c->l4 + 12] >> 4) * 4u : UDP_LEN);
	if (c->head < c->l4 + UDP_LEN || c->head > have || c->head > sizeof(c->first) || c->head >= len)
		return -EPROTO;
	c->seg = v->gso_size;
	c->payload = len - c->head;
	c->num = (c->payload + c->seg - 1) / c->seg;
	memcpy(c->first, p, c->head);
	return 0;
}

uint32_t
pkt_cut_payload(const struct pkt_cut *c, uint32_t i)
{
	return RTE_MIN(c->seg, c->payload - i * c->seg);
}

static void
put_tcp(const struct pkt_cut *c, uint32_t i, uint8_t *p)
{
	struct rte_tcp_hdr *tcp = (void *)(p + c->l4);

	tcp->sent_seq = rte_cpu_to_be_32(rte_be_to_cpu_32(tcp->sent_seq) + i * c->seg);
	/* Of the first, that the window was reduced (RFC 3168); of the last, that it is the last. */
	if (i != 0)
		tcp->tcp_flags &= (uint8_t)~RTE_TCP_CWR_FLAG;
	if (i + 1 != c->num)
		tcp->tcp_flags &= (uint8_t) ~(RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG);
	tcp->cksum = 0;
}

uint32_t
pkt_cut_head(const struct pkt_cut *c, uint32_t i, uint8_t *p)
{
	uint32_t len = c->head + pkt_cut_payload(c, i);
	uint8_t *ip = p + c->l3, *l4 = p + c->l4;
	uint16_t sum;

	memcpy(p, c->first, c->head);
	if (c->v6) {
		put16(ip + 4, len - c->l4);
	} else {
		put16(ip + 2, len - c->l3);
		put16(ip + 4, get16(ip + 4) + i);
		put16(ip + 10, 0);
		sum = (uint16_t)~rte_raw_cksum(ip, c->l4 - c->l3);
		memcpy(ip + 10, &sum, sizeof(sum));
	}
	if (c->tcp) {
		put_tcp(c, i, p);
	} else {
		put16(l4 + 4, len - c->l4);
		put16(l4 + 6, 0);
		/* RoCE has none (A17.3.1.3), and reads each octet for its own. */
		if (get16(l4 + 2) == PKT_ROCE_PORT)
			return len;
	}
	sum = c->v6 ? rte_ipv6_udptcp_cksum((const void *)ip, l4) : rte_ipv4_udptcp_cksum((const void *)ip, l4);
	memcpy(l4 + (c->tcp ? offsetof(struct rte_tcp_hdr, cksum) : offsetof(struct rte_udp_hdr, dgram_cksum)), &sum,
	       sizeof(sum));
	return len;
}

int
pkt_sum(const struct virtio_net_hdr *v, uint8_t *p, uint32_t len)
{
	const uint32_t at = (uint32_t)v->csum_start + v->csum_offset;
	uint16_t sum;

	if (v->csum_start >= len || at + sizeof(sum) > len)
		return -EPROTO;
	/* The field has the pseudo header's part. */
	sum = (uint16_t)~rte_raw_cksum(p + v->csum_start, len - v->csum_start);
	if (sum == 0)
		sum = 0xffff;
	memcpy(p + at, &sum, sizeof(sum));
	return 0;
}
