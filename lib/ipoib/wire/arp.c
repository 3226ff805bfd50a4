/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* ARP, and what kind of packet one is. */
#include <netinet/icmp6.h>
#include <netinet/in.h>

#include <rte_ip.h>
#include <rte_udp.h>

#include "xlate.h"

#define ARP_REQUEST 1u
#define ARP_REPLY 2u
#define ARP_FIXED 8u
#define ARP_LEN(hlen) (ARP_FIXED + 2u * ((hlen) + 4u))
#define DHCP_SERVER 67u
#define DHCP_CLIENT 68u
#define MLD_V2_REPORT 143u

/* Of hardware address, protocol type, lengths, operation. */
static bool
header_ok(const uint8_t *p, uint32_t len, uint16_t hw_type, uint8_t hw_len)
{
	uint16_t op;

	if (len < ARP_LEN(hw_len))
		return false;
	op = ib_get16(p + 6);
	return ib_get16(p) == hw_type && ib_get16(p + 2) == RTE_ETHER_TYPE_IPV4 && p[4] == hw_len && p[5] == 4 &&
	       (op == ARP_REQUEST || op == ARP_REPLY);
}

static int
arp_to_ib(const struct ipoib_book *book, const uint8_t *p, uint8_t *out)
{
	struct rte_ether_addr mac;
	struct ipoib_hw hw;

	memcpy(out, p, ARP_FIXED);
	ib_put16(out, IPOIB_HW_TYPE);
	out[4] = IPOIB_HW_LEN;
	memcpy(&mac, p + 8, sizeof(mac));
	if (!book->hw_of(book->arg, &mac, &hw))
		return IPOIB_XLATE_UNKNOWN;
	memcpy(out + 8, &hw, IPOIB_HW_LEN);
	memcpy(out + 28, p + 14, 4);
	memcpy(&mac, p + 18, sizeof(mac));
	memset(&hw, 0, sizeof(hw));
	/* The target of a request is what is asked for: whatever stands there says nothing. */
	if (ib_get16(p + 6) == ARP_REPLY && !rte_is_broadcast_ether_addr(&mac) && !book->hw_of(book->arg, &mac, &hw))
		return IPOIB_XLATE_UNKNOWN;
	memcpy(out + 32, &hw, IPOIB_HW_LEN);
	memcpy(out + 52, p + 24, 4);
	return ARP_LEN(IPOIB_HW_LEN);
}

static int
arp_to_eth(const struct ipoib_book *book, const uint8_t *p, uint8_t *out)
{
	static const struct ipoib_hw nobody;
	struct rte_ether_addr mac;
	struct ipoib_hw hw;

	memcpy(out, p, ARP_FIXED);
	ib_put16(out, IPOIB_ETHER_HW_TYPE);
	out[4] = RTE_ETHER_ADDR_LEN;
	memcpy(&hw, p + 8, sizeof(hw));
	if (!ipoib_hw_valid(&hw))
		return IPOIB_XLATE_BAD;
	if (!book->mac_of(book->arg, &hw, &mac))
		return IPOIB_XLATE_UNKNOWN;
	memcpy(out + 8, &mac, sizeof(mac));
	memcpy(out + 14, p + 28, 4);
	memcpy(&hw, p + 32, sizeof(hw));
	memset(&mac, 0, sizeof(mac));
	/* Linux fills a gratuitous request with the sender's address, and broadcasts with that of the group. */
	if (!ipoib_hw_same(&hw, &nobody) && ipoib_hw_valid(&hw) && !book->mac_of(book->arg, &hw, &mac))
		return IPOIB_XLATE_UNKNOWN;
	memcpy(out + 18, &mac, sizeof(mac));
	memcpy(out + 24, p + 52, 4);
	return ARP_LEN(RTE_ETHER_ADDR_LEN);
}

int
ipoib_arp(enum ipoib_dir dir, const struct ipoib_book *book, const uint8_t *l3, uint32_t len, uint8_t *out)
{
	if (dir == IPOIB_TO_IB) {
		if (!header_ok(l3, len, IPOIB_ETHER_HW_TYPE, RTE_ETHER_ADDR_LEN))
			return IPOIB_XLATE_BAD;
		return arp_to_ib(book, l3, out);
	}
	if (!header_ok(l3, len, IPOIB_HW_TYPE, IPOIB_HW_LEN))
		return IPOIB_XLATE_BAD;
	return arp_to_eth(book, l3, out);
}

static enum ipoib_class
classify_v4(const uint8_t *p, uint32_t len)
{
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)p;
	uint32_t hdr;
	uint16_t src, dst;

	if (len < sizeof(*ip))
		return IPOIB_MALFORMED;
	hdr = (ip->version_ihl & 0xfu) * 4u;
	if (ip->version_ihl >> 4 != 4 || hdr < sizeof(*ip) || hdr > len || rte_be_to_cpu_16(ip->total_length) < hdr ||
	    rte_be_to_cpu_16(ip->total_length) > len)
		return IPOIB_MALFORMED;
	if (ip->next_proto_id == IPPROTO_IGMP)
		return IPOIB_SNOOP;
	/* Of a fragmented datagram only the first part has the ports; DHCP is never that long. */
	if (ip->next_proto_id != IPPROTO_UDP || (rte_be_to_cpu_16(ip->fragment_offset) & 0x3fff) != 0)
		return IPOIB_PLAIN;
	if (len < hdr + sizeof(struct rte_udp_hdr))
		return IPOIB_MALFORMED;
	src = ib_get16(p + hdr);
	dst = ib_get16(p + hdr + 2);
	if ((dst == DHCP_SERVER && (src == DHCP_CLIENT || src == DHCP_SERVER)) ||
	    (dst == DHCP_CLIENT && src == DHCP_SERVER))
		return IPOIB_DHCP;
	return IPOIB_PLAIN;
}

static enum ipoib_class
classify_icmp6(const uint8_t *p, uint32_t len)
{
	if (len < sizeof(struct icmp6_hdr))
		return IPOIB_MALFORMED;
	switch (p[0]) {
	case ND_ROUTER_SOLICIT:
	case ND_ROUTER_ADVERT:
	case ND_NEIGHBOR_SOLICIT:
	case ND_NEIGHBOR_ADVERT:
	case ND_REDIRECT: return IPOIB_ND;
	case MLD_LISTENER_QUERY:
	case MLD_LISTENER_REPORT:
	case MLD_LISTENER_REDUCTION:
	case MLD_V2_REPORT: return IPOIB_SNOOP;
	default: return IPOIB_PLAIN;
	}
}

static enum ipoib_class
classify_v6(const uint8_t *p, uint32_t len)
{
	const struct rte_ipv6_hdr *ip = (const struct rte_ipv6_hdr *)p;
	uint32_t at = sizeof(*ip), n;

	if (len < sizeof(*ip) || p[0] >> 4 != 6 || rte_be_to_cpu_16(ip->payload_len) > len - sizeof(*ip))
		return IPOIB_MALFORMED;
	if (ip->proto == IPPROTO_ICMPV6)
		return classify_icmp6(p + at, len - at);
	/* Listener messages have a router alert before them (RFC 3810, 5). */
	if (ip->proto != IPPROTO_HOPOPTS)
		return IPOIB_PLAIN;
	if (len - at < 8)
		return IPOIB_MALFORMED;
	n = 8u * (p[at + 1] + 1u);
	if (n > len - at)
		return IPOIB_MALFORMED;
	if (p[at] != IPPROTO_ICMPV6)
		return IPOIB_PLAIN;
	return classify_icmp6(p + at + n, len - at - n) == IPOIB_SNOOP ? IPOIB_SNOOP : IPOIB_PLAIN;
}

enum ipoib_class
ipoib_classify(uint16_t etype, const uint8_t *l3, uint32_t len)
{
	switch (etype) {
	case RTE_ETHER_TYPE_ARP: return IPOIB_ARP;
	case RTE_ETHER_TYPE_IPV4: return classify_v4(l3, len);
	case RTE_ETHER_TYPE_IPV6: return classify_v6(l3, len);
	default: return IPOIB_MALFORMED;
	}
}
