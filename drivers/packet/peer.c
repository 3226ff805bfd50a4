/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A socket without virtio's header gets the beginning of a joined frame and loses the rest, and nobody tells. So a port says by
 * octets behind each packet of ARP and of neighbour discovery, where others have padding or nothing, that the sender's
 * address takes joined frames. A packet without them takes it back: the address has another owner now.
 */
#include <netinet/in.h>
#include <string.h>

#include <rte_arp.h>
#include <rte_ip.h>

#include "packet.h"

#define ARP_FRAME (RTE_ETHER_HDR_LEN + sizeof(struct rte_arp_hdr))
#define ND_SOLICITATION 135u
#define ND_ADVERTISEMENT 136u
#define ND_LEN 24u /* of either without options */

const uint8_t pkt_mark[PKT_MARK_LEN] = "\0triplane: joined";

static const struct rte_ipv6_hdr *
nd_frame(const uint8_t *p, uint32_t len)
{
	const struct rte_ipv6_hdr *ip = (const void *)(p + RTE_ETHER_HDR_LEN);
	const uint8_t *type = (const uint8_t *)(ip + 1);

	if (len < RTE_ETHER_HDR_LEN + sizeof(*ip) + ND_LEN || ip->proto != IPPROTO_ICMPV6 ||
	    (*type != ND_SOLICITATION && *type != ND_ADVERTISEMENT))
		return NULL;
	return ip;
}

uint32_t
pkt_peer_frame(const uint8_t *p, uint32_t len)
{
	const struct rte_ether_hdr *eth = (const void *)p;
	const struct rte_ipv6_hdr *ip;
	uint32_t n = 0;

	if (len < ARP_FRAME)
		return 0;
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_ARP))
		return ARP_FRAME;
	if (eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV6))
		return 0;
	ip = nd_frame(p, len);
	if (ip != NULL)
		n = RTE_ETHER_HDR_LEN + sizeof(*ip) + rte_be_to_cpu_16(ip->payload_len);
	return n <= len ? n : 0;
}

/* Never 0, which is no address. */
static uint64_t
key(const uint8_t *addr, bool v6)
{
	uint64_t a[2];
	uint32_t v4;

	if (v6) {
		memcpy(a, addr, sizeof(a));
		return (a[0] * UINT64_C(0x9e3779b97f4a7c15) + a[1]) | 1;
	}
	memcpy(&v4, addr, sizeof(v4));
	return (uint64_t)v4 << 32 | 1;
}

static _Atomic uint64_t *
place(struct pkt_port *port, uint64_t k)
{
	return &port->peer[(k * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (PKT_PEERS - 1)];
}

void
pkt_peer_heard(struct pkt_port *port, const uint8_t *p, uint32_t len)
{
	uint32_t frame = pkt_peer_frame(p, len);
	const uint8_t *addr = p + RTE_ETHER_HDR_LEN;
	uint64_t k;
	bool takes;

	if (frame == 0)
		return;
	takes = len >= frame + PKT_MARK_LEN && memcmp(p + frame, pkt_mark, PKT_MARK_LEN) == 0;
	if (frame == ARP_FRAME)
		k = key(addr + offsetof(struct rte_arp_hdr, arp_data.arp_sip), false);
	else if (addr[sizeof(struct rte_ipv6_hdr)] == ND_ADVERTISEMENT)
		k = key(addr + sizeof(struct rte_ipv6_hdr) + 8, true); /* the target */
	else
		k = key(addr + offsetof(struct rte_ipv6_hdr, src_addr), true);
	if (takes)
		atomic_store_explicit(place(port, k), k, memory_order_relaxed);
	else if (atomic_load_explicit(place(port, k), memory_order_relaxed) == k)
		atomic_store_explicit(place(port, k), 0, memory_order_relaxed);
}

bool
pkt_peer_takes(struct pkt_port *port, const uint8_t *p)
{
	const struct rte_ether_hdr *eth = (const void *)p;
	const uint8_t *ip = p + RTE_ETHER_HDR_LEN;
	uint64_t k;

	if (port->gso != PKT_GSO_AUTO)
		return port->gso == PKT_GSO_ON;
	k = eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6) ? key(ip + offsetof(struct rte_ipv6_hdr, dst_addr), true)
							     : key(ip + offsetof(struct rte_ipv4_hdr, dst_addr), false);
	return atomic_load_explicit(place(port, k), memory_order_relaxed) == k;
}
