/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <string.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_net.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "swap.h"

/* What does not belong to one direction of travel and must survive. */
#define KEEP_FLAGS (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)

void
swap_macs(struct rte_mbuf *m)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_ether_addr a = eth->dst_addr;

	eth->dst_addr = eth->src_addr;
	eth->src_addr = a;
}

static void
swap_u32(uint8_t *a, uint8_t *b, unsigned int words)
{
	uint32_t x, y;

	for (; words > 0; words--, a += 4, b += 4) {
		memcpy(&x, a, 4);
		memcpy(&y, b, 4);
		memcpy(a, &y, 4);
		memcpy(b, &x, 4);
	}
}

/* Parses up to the transport header; true when all that is in the first segment. */
static bool
parse(const struct rte_mbuf *m, struct rte_net_hdr_lens *len, uint32_t *ptype)
{
	*ptype = rte_net_get_ptype(m, len, RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK);
	return (uint32_t)len->l2_len + len->l3_len + len->l4_len <= m->data_len;
}

static bool
has_ports(uint32_t ptype)
{
	uint32_t l4 = ptype & RTE_PTYPE_L4_MASK;

	return l4 == RTE_PTYPE_L4_TCP || l4 == RTE_PTYPE_L4_UDP || l4 == RTE_PTYPE_L4_SCTP;
}

/* Every field that is exchanged is summed as a whole by the checksums that cover it, so their sums do not change. */
void
swap_5tuple(struct rte_mbuf *m)
{
	struct rte_net_hdr_lens len = {0};
	uint32_t ptype;
	uint8_t *l3, *l4, tmp[2];

	swap_macs(m);
	if (!parse(m, &len, &ptype) || len.l3_len == 0)
		return;
	l3 = rte_pktmbuf_mtod_offset(m, uint8_t *, len.l2_len);
	if (RTE_ETH_IS_IPV4_HDR(ptype))
		swap_u32(l3 + offsetof(struct rte_ipv4_hdr, src_addr), l3 + offsetof(struct rte_ipv4_hdr, dst_addr), 1);
	else if (RTE_ETH_IS_IPV6_HDR(ptype))
		swap_u32(l3 + offsetof(struct rte_ipv6_hdr, src_addr), l3 + offsetof(struct rte_ipv6_hdr, dst_addr), 4);
	else
		return;
	if (!has_ports(ptype) || len.l4_len < 4)
		return;
	l4 = l3 + len.l3_len;
	memcpy(tmp, l4, 2);
	memcpy(l4, l4 + 2, 2);
	memcpy(l4 + 2, tmp, 2);
}

uint8_t
swap_sums_of(uint8_t sums, uint64_t rx, uint64_t tx)
{
	static const struct {
		uint64_t rx, tx;
		uint8_t sums;
	} offload[] = {
		{RTE_ETH_RX_OFFLOAD_IPV4_CKSUM, RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, SWAP_IPV4},
		{RTE_ETH_RX_OFFLOAD_TCP_CKSUM, RTE_ETH_TX_OFFLOAD_TCP_CKSUM, SWAP_TCP4 | SWAP_TCP6},
		{RTE_ETH_RX_OFFLOAD_UDP_CKSUM, RTE_ETH_TX_OFFLOAD_UDP_CKSUM, SWAP_UDP4 | SWAP_UDP6},
	};
	unsigned int i;
	uint8_t has = 0;

	for (i = 0; i < RTE_DIM(offload); i++)
		if ((rx & offload[i].rx) != 0 || (tx & offload[i].tx) != 0)
			has |= offload[i].sums;
	return sums & has;
}

/* The transport checksum that a packet has, 0: none. */
static uint8_t
l4_sum_of(uint32_t ptype)
{
	bool v4 = RTE_ETH_IS_IPV4_HDR(ptype);

	switch (ptype & RTE_PTYPE_L4_MASK) {
	case RTE_PTYPE_L4_TCP: return v4 ? SWAP_TCP4 : SWAP_TCP6;
	case RTE_PTYPE_L4_UDP: return v4 ? SWAP_UDP4 : SWAP_UDP6;
	default: return 0;
	}
}

static unsigned int
found(uint64_t ol_flags, uint8_t l4, uint8_t rx)
{
	unsigned int f = 0;

	if (rx & SWAP_IPV4)
		f |= (ol_flags & RTE_MBUF_F_RX_IP_CKSUM_GOOD ? SWAP_IP_GOOD : 0) |
		     (ol_flags & RTE_MBUF_F_RX_IP_CKSUM_BAD ? SWAP_IP_BAD : 0);
	if (rx & l4)
		f |= (ol_flags & RTE_MBUF_F_RX_L4_CKSUM_GOOD ? SWAP_L4_GOOD : 0) |
		     (ol_flags & RTE_MBUF_F_RX_L4_CKSUM_BAD ? SWAP_L4_BAD : 0);
	return f;
}

static void
l4_checksum(struct rte_mbuf *m, bool by_device, uint32_t ptype, uint16_t l4_off)
{
	bool tcp = (ptype & RTE_PTYPE_L4_MASK) == RTE_PTYPE_L4_TCP, v4 = RTE_ETH_IS_IPV4_HDR(ptype);
	void *l3 = rte_pktmbuf_mtod_offset(m, void *, m->l2_len);
	uint16_t *field = rte_pktmbuf_mtod_offset(
		m, uint16_t *,
		l4_off + (tcp ? offsetof(struct rte_tcp_hdr, cksum) : offsetof(struct rte_udp_hdr, dgram_cksum)));

	/* RFC 768: a sender may leave it out over IPv4 */
	if (!tcp && v4 && *field == 0)
		return;
	if (by_device) {
		m->ol_flags |= tcp ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
		return;
	}
	*field = 0;
	*field = v4 ? rte_ipv4_udptcp_cksum_mbuf(m, l3, l4_off) : rte_ipv6_udptcp_cksum_mbuf(m, l3, l4_off);
}

unsigned int
swap_checksums(struct rte_mbuf *m, uint8_t tx, uint8_t rx)
{
	struct rte_net_hdr_lens len = {0};
	unsigned int seen;
	uint32_t ptype;
	bool whole = parse(m, &len, &ptype);
	uint8_t l4 = l4_sum_of(ptype);

	seen = found(m->ol_flags, l4, rx);
	m->ol_flags &= KEEP_FLAGS;
	if (!whole || len.l3_len == 0)
		return seen;
	m->l2_len = len.l2_len;
	m->l3_len = len.l3_len;
	m->l4_len = len.l4_len;
	if (RTE_ETH_IS_IPV4_HDR(ptype)) {
		struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, len.l2_len);

		m->ol_flags |= RTE_MBUF_F_TX_IPV4;
		if (tx & SWAP_IPV4) {
			m->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM;
		} else {
			ip->hdr_checksum = 0;
			ip->hdr_checksum = rte_ipv4_cksum(ip);
		}
	} else if (RTE_ETH_IS_IPV6_HDR(ptype)) {
		m->ol_flags |= RTE_MBUF_F_TX_IPV6;
	} else {
		return seen;
	}
	if (l4 != 0)
		l4_checksum(m, (tx & l4) != 0, ptype, (uint16_t)(len.l2_len + len.l3_len));
	return seen;
}
