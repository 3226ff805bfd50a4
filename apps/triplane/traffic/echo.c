/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <string.h>

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>

#include <rte_arp.h>
#include <rte_ip.h>
#include <rte_jhash.h>

#include "echo.h"

#define ECHO_TTL 64
#define ND_HOP_LIMIT 255 /* RFC 4861 7.1.1 */
#define ND_OPT_TLLA 2    /* RFC 4861 4.6.1 */

/* Echo in ICMP and ICMPv6: type, code, checksum. */
struct echo_hdr {
	uint8_t type, code;
	uint16_t cksum;
} __attribute__((packed));

struct ipv6_frag_hdr {
	uint8_t next, reserved;
	rte_be16_t offset; /* in units of 8 octets, shifted by 3; bit 0: more follow */
	rte_be32_t id;
} __attribute__((packed));

struct nd_msg { /* RFC 4861 4.3, 4.4, with the one option that an answer has */
	struct echo_hdr icmp;
	rte_be32_t flags;
	uint8_t target[16];
	uint8_t opt_type, opt_len;
	struct rte_ether_addr opt_mac;
} __attribute__((packed, aligned(2)));
#define ND_MSG_MIN offsetof(struct nd_msg, opt_type)

static void
swap_bytes(void *a, void *b, size_t len)
{
	uint8_t tmp[16];

	memcpy(tmp, a, len);
	memcpy(a, b, len);
	memcpy(b, tmp, len);
}

static void
answer_eth(struct rte_ether_hdr *eth, const struct rte_ether_addr *mac)
{
	eth->dst_addr = eth->src_addr;
	eth->src_addr = *mac;
}

/* The type of the message changes; the checksum follows it: RFC 1624, eqn. 3. */
static void
set_type(struct echo_hdr *h, uint8_t type)
{
	uint32_t from = (uint32_t)h->type << 8 | h->code, to = (uint32_t)type << 8 | h->code;
	uint32_t sum = (uint16_t)~rte_be_to_cpu_16(h->cksum) + (uint16_t)~from + to;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	h->type = type;
	h->cksum = rte_cpu_to_be_16((uint16_t)~sum);
}

/* Whether a fragment of an ICMP message is one to send back; off: in octets, of this fragment. */
static bool
fragment_wanted(struct echo_frags *frags, uint32_t addr_hash, uint32_t id, bool first, bool request)
{
	unsigned int i = (addr_hash ^ id) % ECHO_FRAGS;

	if (first) {
		frags->slot[i].addr_hash = addr_hash;
		frags->slot[i].id = id;
		frags->slot[i].valid = request;
		return request;
	}
	return frags->slot[i].valid && frags->slot[i].addr_hash == addr_hash && frags->slot[i].id == id;
}

static bool
answer_arp(struct rte_mbuf *m, struct rte_ether_hdr *eth, unsigned int l2, const struct rte_ether_addr *mac)
{
	struct rte_arp_hdr *arp = rte_pktmbuf_mtod_offset(m, struct rte_arp_hdr *, l2);

	if (m->data_len < l2 + sizeof(*arp) || arp->arp_hardware != rte_cpu_to_be_16(RTE_ARP_HRD_ETHER) ||
	    arp->arp_protocol != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) || arp->arp_hlen != RTE_ETHER_ADDR_LEN ||
	    arp->arp_plen != sizeof(uint32_t) || arp->arp_opcode != rte_cpu_to_be_16(RTE_ARP_OP_REQUEST))
		return false;
	/* RFC 5227: probes come from 0.0.0.0, announcements ask for their own address */
	if (arp->arp_data.arp_sip == 0 || arp->arp_data.arp_sip == arp->arp_data.arp_tip)
		return false;
	arp->arp_opcode = rte_cpu_to_be_16(RTE_ARP_OP_REPLY);
	arp->arp_data.arp_tha = arp->arp_data.arp_sha;
	arp->arp_data.arp_sha = *mac;
	swap_bytes(&arp->arp_data.arp_sip, &arp->arp_data.arp_tip, sizeof(arp->arp_data.arp_sip));
	answer_eth(eth, mac);
	return true;
}

static bool
ipv4_unicast(rte_be32_t addr)
{
	uint32_t a = rte_be_to_cpu_32(addr);

	return a != 0 && a < RTE_IPV4(224u, 0, 0, 0) && (a >> 24) != 127;
}

static bool
answer_ipv4(struct rte_mbuf *m, struct rte_ether_hdr *eth, unsigned int l2, const struct rte_ether_addr *mac,
	    struct echo_frags *frags)
{
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, l2);
	struct echo_hdr *icmp;
	uint16_t frag, total;
	unsigned int hlen;
	uint32_t hash;
	bool request;

	if (m->data_len < l2 + sizeof(*ip) || (ip->version_ihl >> 4) != IPVERSION)
		return false;
	hlen = rte_ipv4_hdr_len(ip);
	total = rte_be_to_cpu_16(ip->total_length);
	if (hlen < sizeof(*ip) || total < hlen || l2 + total > m->pkt_len || m->data_len < l2 + hlen)
		return false;
	if (ip->next_proto_id != IPPROTO_ICMP || !ipv4_unicast(ip->src_addr) || !ipv4_unicast(ip->dst_addr))
		return false;
	frag = rte_be_to_cpu_16(ip->fragment_offset) & (RTE_IPV4_HDR_OFFSET_MASK | RTE_IPV4_HDR_MF_FLAG);
	hash = rte_jhash_2words(ip->src_addr, ip->dst_addr, 0);
	if ((frag & RTE_IPV4_HDR_OFFSET_MASK) == 0) {
		if (total < hlen + sizeof(*icmp) || m->data_len < l2 + hlen + sizeof(*icmp))
			return false;
		icmp = rte_pktmbuf_mtod_offset(m, struct echo_hdr *, l2 + hlen);
		request = icmp->type == ICMP_ECHO && icmp->code == 0;
		if (frag != 0)
			fragment_wanted(frags, hash, ip->packet_id, true, request);
		if (!request)
			return false;
		set_type(icmp, ICMP_ECHOREPLY);
	} else if (!fragment_wanted(frags, hash, ip->packet_id, false, false)) {
		return false;
	}
	swap_bytes(&ip->src_addr, &ip->dst_addr, sizeof(ip->src_addr));
	ip->time_to_live = ECHO_TTL;
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	answer_eth(eth, mac);
	return true;
}

static bool
ipv6_zero(const uint8_t *addr)
{
	static const uint8_t zero[16];

	return memcmp(addr, zero, sizeof(zero)) == 0;
}

/* A neighbour solicitation becomes the advertisement of the address it asks for. */
static bool
answer_nd(struct rte_mbuf *m, struct rte_ether_hdr *eth, unsigned int l2, const struct rte_ether_addr *mac)
{
	struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv6_hdr *, l2);
	unsigned int len = rte_be_to_cpu_16(ip->payload_len), want = l2 + sizeof(*ip) + sizeof(struct nd_msg);
	struct nd_msg *nd = (struct nd_msg *)(ip + 1);

	if (len < ND_MSG_MIN || m->data_len != m->pkt_len || l2 + sizeof(*ip) + len > m->data_len ||
	    ip->hop_limits != ND_HOP_LIMIT || nd->icmp.code != 0)
		return false;
	/* from nobody: duplicate address detection; an answer would take the address away */
	if (ipv6_zero((uint8_t *)&ip->src_addr) || ipv6_zero(nd->target) || nd->target[0] == 0xff)
		return false;
	if (rte_ipv6_udptcp_cksum_verify(ip, nd) != 0)
		return false;
	if (m->pkt_len < want ? rte_pktmbuf_append(m, (uint16_t)(want - m->pkt_len)) == NULL
			      : rte_pktmbuf_trim(m, (uint16_t)(m->pkt_len - want)) != 0)
		return false;
	memcpy(&ip->dst_addr, &ip->src_addr, sizeof(ip->dst_addr));
	memcpy(&ip->src_addr, nd->target, sizeof(ip->src_addr));
	ip->payload_len = rte_cpu_to_be_16(sizeof(*nd));
	nd->icmp.type = ND_NEIGHBOR_ADVERT;
	nd->flags = ND_NA_FLAG_SOLICITED | ND_NA_FLAG_OVERRIDE;
	nd->opt_type = ND_OPT_TLLA;
	nd->opt_len = 1;
	nd->opt_mac = *mac;
	nd->icmp.cksum = 0;
	nd->icmp.cksum = rte_ipv6_udptcp_cksum(ip, nd);
	answer_eth(eth, mac);
	return true;
}

static bool
answer_ipv6(struct rte_mbuf *m, struct rte_ether_hdr *eth, unsigned int l2, const struct rte_ether_addr *mac,
	    struct echo_frags *frags)
{
	struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv6_hdr *, l2);
	unsigned int l4 = l2 + (unsigned int)sizeof(*ip), off = 0;
	const uint8_t *dst = (const uint8_t *)&ip->dst_addr;
	const struct ipv6_frag_hdr *frag = NULL;
	struct echo_hdr *icmp;
	uint32_t addrs[8], hash;
	uint8_t next;

	if (m->data_len < l4 || (rte_be_to_cpu_32(ip->vtc_flow) >> 28) != 6 ||
	    l4 + rte_be_to_cpu_16(ip->payload_len) > m->pkt_len)
		return false;
	next = ip->proto;
	if (next == IPPROTO_FRAGMENT) {
		frag = rte_pktmbuf_mtod_offset(m, const struct ipv6_frag_hdr *, l4);
		l4 += (unsigned int)sizeof(*frag);
		if (m->data_len < l4 || rte_be_to_cpu_16(ip->payload_len) < sizeof(*frag))
			return false;
		next = frag->next;
		off = rte_be_to_cpu_16(frag->offset) & 0xfff8;
	}
	if (next != IPPROTO_ICMPV6)
		return false;
	/* behind an Ethernet header addresses are not aligned */
	memcpy(addrs, &ip->src_addr, sizeof(addrs));
	hash = rte_jhash_32b(addrs, RTE_DIM(addrs), 0);
	if (off == 0) {
		bool request;

		if (m->data_len < l4 + sizeof(*icmp) ||
		    rte_be_to_cpu_16(ip->payload_len) < l4 - l2 - sizeof(*ip) + sizeof(*icmp))
			return false;
		icmp = rte_pktmbuf_mtod_offset(m, struct echo_hdr *, l4);
		if (icmp->type == ND_NEIGHBOR_SOLICIT && frag == NULL)
			return answer_nd(m, eth, l2, mac);
		request = icmp->type == ICMP6_ECHO_REQUEST && icmp->code == 0 && dst[0] != 0xff &&
			  !ipv6_zero((uint8_t *)&ip->src_addr);
		if (frag != NULL)
			fragment_wanted(frags, hash, frag->id, true, request);
		if (!request)
			return false;
		set_type(icmp, ICMP6_ECHO_REPLY);
	} else if (!fragment_wanted(frags, hash, frag->id, false, false)) {
		return false;
	}
	swap_bytes(&ip->src_addr, &ip->dst_addr, sizeof(ip->src_addr));
	ip->hop_limits = ECHO_TTL;
	answer_eth(eth, mac);
	return true;
}

bool
echo_answer(struct rte_mbuf *m, const struct rte_ether_addr *mac, struct echo_frags *frags)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	unsigned int l2 = sizeof(*eth), tags;
	rte_be16_t type;

	if (m->data_len < l2)
		return false;
	if (!rte_is_multicast_ether_addr(&eth->dst_addr) && !rte_is_same_ether_addr(&eth->dst_addr, mac))
		return false;
	type = eth->ether_type;
	for (tags = 0; tags < 2 &&
		       (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN) || type == rte_cpu_to_be_16(RTE_ETHER_TYPE_QINQ));
	     tags++) {
		if (m->data_len < l2 + sizeof(struct rte_vlan_hdr))
			return false;
		type = rte_pktmbuf_mtod_offset(m, struct rte_vlan_hdr *, l2)->eth_proto;
		l2 += (unsigned int)sizeof(struct rte_vlan_hdr);
	}
	switch (rte_be_to_cpu_16(type)) {
	case RTE_ETHER_TYPE_ARP: return answer_arp(m, eth, l2, mac);
	case RTE_ETHER_TYPE_IPV4: return answer_ipv4(m, eth, l2, mac, frags);
	case RTE_ETHER_TYPE_IPV6: return answer_ipv6(m, eth, l2, mac, frags);
	default: return false;
	}
}
