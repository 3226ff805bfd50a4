/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Checksums and segments that are not made yet, or known to be right. The kernel says it by a virtio header (OASIS virtio 1.2,
 * 5.1.6), DPDK by flags of the mbuf.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "kernel_priv.h"

/* A TCP or UDP packet whose headers are in its first buffer. */
struct layers {
	uint32_t l2, l3, l4; /* octets of each header */
	uint32_t sum;        /* where its checksum is in l4 */
	uint8_t proto;
	bool v6;
};

static uint8_t *
at(const struct rte_mbuf *m, uint32_t offset)
{
	return rte_pktmbuf_mtod_offset(m, uint8_t *, offset);
}

static bool
ip_layer(const struct rte_mbuf *m, uint16_t type, struct layers *l)
{
	const struct rte_ipv4_hdr *ip;
	const struct rte_ipv6_hdr *ip6;

	l->v6 = type == RTE_BE16(RTE_ETHER_TYPE_IPV6);
	if (l->v6) {
		ip6 = (const void *)at(m, l->l2);
		l->l3 = sizeof(*ip6);
		if (l->l2 + l->l3 > m->data_len)
			return false;
		l->proto = ip6->proto;
		return true;
	}
	ip = (const void *)at(m, l->l2);
	if (type != RTE_BE16(RTE_ETHER_TYPE_IPV4) || l->l2 + sizeof(*ip) > m->data_len)
		return false;
	l->l3 = rte_ipv4_hdr_len(ip);
	l->proto = ip->next_proto_id;
	return l->l3 >= sizeof(*ip) && (ip->fragment_offset & RTE_BE16(0x3fff)) == 0;
}

static bool
find_layers(const struct rte_mbuf *m, struct layers *l)
{
	const uint32_t len = m->data_len;
	uint16_t type;

	l->l2 = RTE_ETHER_HDR_LEN;
	if (len < l->l2)
		return false;
	memcpy(&type, at(m, l->l2 - sizeof(type)), sizeof(type));
	while ((type == RTE_BE16(RTE_ETHER_TYPE_VLAN) || type == RTE_BE16(RTE_ETHER_TYPE_QINQ)) &&
	       l->l2 < RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN && l->l2 + RTE_VLAN_HLEN <= len) {
		l->l2 += RTE_VLAN_HLEN;
		memcpy(&type, at(m, l->l2 - sizeof(type)), sizeof(type));
	}
	if (!ip_layer(m, type, l))
		return false;
	if (l->proto == IPPROTO_UDP) {
		l->l4 = sizeof(struct rte_udp_hdr);
		l->sum = offsetof(struct rte_udp_hdr, dgram_cksum);
		return l->l2 + l->l3 + l->l4 <= len;
	}
	if (l->proto != IPPROTO_TCP || l->l2 + l->l3 + sizeof(struct rte_tcp_hdr) > len)
		return false;
	l->l4 = (at(m, l->l2 + l->l3)[offsetof(struct rte_tcp_hdr, data_off)] >> 4) * 4u;
	l->sum = offsetof(struct rte_tcp_hdr, cksum);
	return l->l4 >= sizeof(struct rte_tcp_hdr) && l->l2 + l->l3 + l->l4 <= len;
}

static void
put_pseudo(const struct rte_mbuf *m, const struct layers *l, uint64_t ol_flags)
{
	const uint16_t sum = l->v6 ? rte_ipv6_phdr_cksum((const void *)at(m, l->l2), ol_flags)
				   : rte_ipv4_phdr_cksum((const void *)at(m, l->l2), ol_flags);

	memcpy(at(m, l->l2 + l->l3 + l->sum), &sum, sizeof(sum));
}

/* --- from the kernel --- */

/* Of SCTP in IP, of a packet in a packet, and of what else the port does not know. */
static int
sum_here(const struct rte_mbuf *m, const struct virtio_net_hdr *h)
{
	const uint32_t place = (uint32_t)h->csum_start + h->csum_offset;
	uint16_t sum;

	if (h->csum_start >= m->pkt_len || place + sizeof(sum) > m->data_len)
		return -EPROTO;
	/* The field has the pseudo header's part. */
	if (rte_raw_cksum_mbuf(m, h->csum_start, m->pkt_len - h->csum_start, &sum) != 0)
		return -EPROTO;
	sum = (uint16_t)~sum;
	if (sum == 0)
		sum = 0xffff;
	memcpy(at(m, place), &sum, sizeof(sum));
	return 0;
}

int
tpk_frame_tx(struct rte_mbuf *m, const struct virtio_net_hdr *h)
{
	struct layers l;

	m->ol_flags = 0;
	if ((h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) == 0)
		return h->gso_type == VIRTIO_NET_HDR_GSO_NONE ? 0 : -EPROTO;
	if (!find_layers(m, &l) || h->csum_start != l.l2 + l.l3 || h->csum_offset != l.sum)
		return h->gso_type == VIRTIO_NET_HDR_GSO_NONE ? sum_here(m, h) : -EPROTO;
	m->l2_len = l.l2;
	m->l3_len = l.l3;
	m->ol_flags |= l.v6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
	if (h->gso_type == VIRTIO_NET_HDR_GSO_NONE) {
		m->ol_flags |= l.proto == IPPROTO_TCP ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
	} else {
		if (l.proto != IPPROTO_TCP || h->gso_size == 0 ||
		    h->gso_type != (l.v6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4))
			return -EPROTO;
		m->l4_len = l.l4;
		m->tso_segsz = h->gso_size;
		m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM;
	}
	if (!l.v6)
		memset(at(m, l.l2 + offsetof(struct rte_ipv4_hdr, hdr_checksum)), 0, 2);
	put_pseudo(m, &l, m->ol_flags);
	return 0;
}

/* --- to the kernel --- */

int
tpk_frame_rx(struct rte_mbuf **m, struct virtio_net_hdr *h)
{
	const bool lro = ((*m)->ol_flags & RTE_MBUF_F_RX_LRO) != 0;
	const bool good = ((*m)->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	struct layers l;

	memset(h, 0, sizeof(*h));
	if (((*m)->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0 && rte_vlan_insert(m) != 0)
		return -ENOMEM;
	/* Right checksums need no more word; the kernel would look at each octet again. */
	if ((!lro && !good) || !find_layers(*m, &l))
		return 0;
	put_pseudo(*m, &l, 0);
	h->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	h->csum_start = (uint16_t)(l.l2 + l.l3);
	h->csum_offset = (uint16_t)l.sum;
	if (!lro || l.proto != IPPROTO_TCP || (*m)->tso_segsz == 0)
		return 0;
	h->hdr_len = (uint16_t)(l.l2 + l.l3 + l.l4);
	if ((*m)->pkt_len <= (uint32_t)h->hdr_len + (*m)->tso_segsz)
		return 0;
	h->gso_size = (*m)->tso_segsz;
	h->gso_type = l.v6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4;
	return 0;
}
