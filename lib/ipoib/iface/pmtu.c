/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Answers to packets that are longer than what their destination takes: those that a router would give (RFC 792 with RFC
 * 1191; RFC 4443, 3.2), in the destination's name, as a link has no address.
 */
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>

#include <rte_ip.h>

#include "conn.h"

#define TTL 64u
#define ICMP_LEN 8u
#define V4_QUOTE (60u + 8u)               /* the header with all options, and eight octets */
#define V6_QUOTE (1280u - 40u - ICMP_LEN) /* as much as the least MTU holds (RFC 4443, 2.4) */

static void
answer_v4(uint8_t *out, const uint8_t *l3, uint32_t quote, uint32_t mtu)
{
	struct rte_ipv4_hdr ip = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(ip) + ICMP_LEN + quote)),
		.time_to_live = TTL,
		.next_proto_id = IPPROTO_ICMP,
	};
	uint8_t *icmp = out + sizeof(ip);

	memcpy(&ip.src_addr, l3 + 16, 4);
	memcpy(&ip.dst_addr, l3 + 12, 4);
	ip.hdr_checksum = rte_ipv4_cksum(&ip);
	memcpy(out, &ip, sizeof(ip));
	memset(icmp, 0, ICMP_LEN);
	icmp[0] = ICMP_DEST_UNREACH;
	icmp[1] = ICMP_FRAG_NEEDED;
	ib_put16(icmp + 6, (uint16_t)mtu);
	memcpy(icmp + ICMP_LEN, l3, quote);
	{
		uint16_t sum = (uint16_t)~rte_raw_cksum(icmp, ICMP_LEN + quote);

		memcpy(icmp + 2, &sum, sizeof(sum));
	}
}

static void
answer_v6(uint8_t *out, const uint8_t *l3, uint32_t quote, uint32_t mtu)
{
	struct rte_ipv6_hdr ip = {
		.vtc_flow = RTE_BE32(6u << 28),
		.payload_len = rte_cpu_to_be_16((uint16_t)(ICMP_LEN + quote)),
		.proto = IPPROTO_ICMPV6,
		.hop_limits = TTL,
	};
	uint8_t *icmp = out + sizeof(ip);
	uint16_t sum;

	memcpy(&ip.src_addr, l3 + 24, 16);
	memcpy(&ip.dst_addr, l3 + 8, 16);
	memcpy(out, &ip, sizeof(ip));
	memset(icmp, 0, ICMP_LEN);
	icmp[0] = ICMP6_PACKET_TOO_BIG;
	ib_put32(icmp + 4, mtu);
	memcpy(icmp + ICMP_LEN, l3, quote);
	sum = rte_ipv6_udptcp_cksum(&ip, icmp);
	memcpy(icmp + 2, &sum, sizeof(sum));
}

/* The answer as a frame for the application; NULL: the packet is none to be answered, or there is no room. */
static struct rte_mbuf *
answer(struct ipoib_core *c, const struct ipoib_remote *r, const struct rte_mbuf *m, uint32_t mtu)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *), *l3 = p + IPOIB_ENCAP_LEN;
	bool v6 = ib_get16(p) == RTE_ETHER_TYPE_IPV6;
	uint32_t head = v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr);
	uint32_t quote = RTE_MIN(m->data_len - IPOIB_ENCAP_LEN, v6 ? V6_QUOTE : V4_QUOTE);
	struct rte_ether_hdr *eth;
	struct rte_mbuf *a;
	uint8_t ip[16];

	/* Nothing is told about parts of a datagram but the first. */
	if (quote < head || (!v6 && (ib_get16(l3 + 6) & 0x1fff) != 0))
		return NULL;
	a = rte_pktmbuf_alloc(c->pool);
	if (a == NULL)
		return NULL;
	eth = (struct rte_ether_hdr *)(void *)rte_pktmbuf_append(a, (uint16_t)(sizeof(*eth) + head + ICMP_LEN + quote));
	if (eth == NULL) {
		rte_pktmbuf_free(a);
		return NULL;
	}
	if (v6) {
		memcpy(ip, l3 + 8, sizeof(ip));
		answer_v6((uint8_t *)(eth + 1), l3, quote, mtu);
	} else {
		ipoib_v4_mapped(l3 + 12, ip);
		answer_v4((uint8_t *)(eth + 1), l3, quote, mtu);
	}
	eth->dst_addr = *ipoib_local_mac(c, ip);
	eth->src_addr = r->mac;
	eth->ether_type = rte_cpu_to_be_16(ib_get16(p));
	return a;
}

void
ipoib_too_big(struct ipoib_core *c, const struct ipoib_remote *r, struct rte_mbuf *m, uint32_t mtu)
{
	ipoib_note_long(c, m->pkt_len - IPOIB_ENCAP_LEN, mtu);
	/* A sender that does not listen gets a few, not one for each packet. */
	if (c->now_ms >= c->too_big_ms) {
		struct rte_mbuf *a = answer(c, r, m, mtu);

		c->too_big_ms = c->now_ms + IPOIB_TOO_BIG_MS;
		if (a != NULL) {
			c->stats.too_big_told++;
			c->io.deliver(c->io.arg, a);
		}
	}
	ipoib_drop(c, IPOIB_DROP_TX_TOO_BIG, m);
}
