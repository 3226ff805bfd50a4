/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>

#include "snoop.h"
#include "lib/roce/wire/wire.h"

enum igmp_type {
	IGMP_QUERY = 0x11,
	IGMP_V1_REPORT = 0x12,
	IGMP_V2_REPORT = 0x16,
	IGMP_LEAVE = 0x17,
	IGMP_V3_REPORT = 0x22
};
#define MLD_V2_REPORT 143u

/* Of a group record (RFC 3376, 4.2.12; RFC 3810, 5.2.12). */
enum record_type {
	MODE_IS_INCLUDE = 1,
	MODE_IS_EXCLUDE,
	CHANGE_TO_INCLUDE,
	CHANGE_TO_EXCLUDE,
	ALLOW_NEW_SOURCES,
	BLOCK_OLD_SOURCES,
};

struct report {
	bool v6;
	ipoib_snoop_fn fn;
	void *arg;
	int calls;
};

static bool
is_group(const struct report *r, const uint8_t *addr)
{
	return r->v6 ? addr[0] == 0xff : (addr[0] & 0xf0) == 0xe0;
}

static void
tell(struct report *r, const uint8_t *addr, bool join)
{
	uint8_t group[16] = {0};

	if (!is_group(r, addr))
		return;
	if (r->v6)
		memcpy(group, addr, 16);
	else
		memcpy(group + 12, addr, 4);
	r->fn(r->arg, r->v6, group, join);
	r->calls++;
}

/* Records of version 3 of IGMP and version 2 of MLD, which differ in the length of addresses alone. */
static int
records(struct report *r, const uint8_t *p, uint32_t len)
{
	uint32_t addr_len = r->v6 ? 16 : 4, n, i;

	if (len < 8)
		return -1;
	n = ib_get16(p + 6);
	p += 8;
	len -= 8;
	for (i = 0; i < n && i < IPOIB_SNOOP_GROUPS; i++) {
		uint32_t sources, size;

		if (len < 4 + addr_len)
			return -1;
		sources = ib_get16(p + 2);
		size = 4 + addr_len + sources * addr_len + 4u * p[1];
		if (size > len)
			return -1;
		switch (p[0]) {
		case MODE_IS_EXCLUDE:
		case CHANGE_TO_EXCLUDE: tell(r, p + 4, true); break;
		case MODE_IS_INCLUDE:
		case CHANGE_TO_INCLUDE: tell(r, p + 4, sources != 0); break;
		case ALLOW_NEW_SOURCES: tell(r, p + 4, true); break;
		default: break; /* blocked sources: others of the group stay wanted */
		}
		p += size;
		len -= size;
	}
	return r->calls;
}

static int
igmp(struct report *r, const uint8_t *l3, uint32_t len, bool check)
{
	uint32_t hdr = (l3[0] & 0xfu) * 4u, total = ib_get16(l3 + 2);
	const uint8_t *p = l3 + hdr;

	if (total > len || total < hdr + 8)
		return -1;
	len = total - hdr;
	if (check && rte_raw_cksum(p, len) != UINT16_MAX)
		return -1;
	switch (p[0]) {
	case IGMP_V1_REPORT:
	case IGMP_V2_REPORT: tell(r, p + 4, true); return r->calls;
	case IGMP_LEAVE: tell(r, p + 4, false); return r->calls;
	case IGMP_V3_REPORT: return records(r, p, len);
	default: return 0;
	}
}

static int
mld(struct report *r, const uint8_t *l3, uint32_t len, bool check)
{
	const struct rte_ipv6_hdr *ip = (const struct rte_ipv6_hdr *)l3;
	struct rte_ipv6_hdr pseudo = *ip;
	const uint8_t *p = l3 + sizeof(*ip);
	uint32_t left = RTE_MIN(len - (uint32_t)sizeof(*ip), rte_be_to_cpu_16(ip->payload_len));

	if (ip->proto == IPPROTO_HOPOPTS) {
		uint32_t n = left < 8 ? left : 8u * (p[1] + 1u);

		if (n >= left)
			return -1;
		p += n;
		left -= n;
	}
	if (left < 8)
		return -1;
	pseudo.proto = IPPROTO_ICMPV6;
	pseudo.payload_len = rte_cpu_to_be_16((uint16_t)left);
	if (check && rte_ipv6_udptcp_cksum_verify(&pseudo, p) != 0)
		return -1;
	if (p[0] == MLD_V2_REPORT)
		return records(r, p, left);
	if (p[0] != MLD_LISTENER_REPORT && p[0] != MLD_LISTENER_REDUCTION)
		return 0;
	if (left < 24)
		return -1;
	tell(r, p + 8, p[0] == MLD_LISTENER_REPORT);
	return r->calls;
}

int
ipoib_snoop(uint16_t etype, const uint8_t *l3, uint32_t len, bool check, ipoib_snoop_fn fn, void *arg)
{
	struct report r = {.v6 = etype == RTE_ETHER_TYPE_IPV6, .fn = fn, .arg = arg};

	return r.v6 ? mld(&r, l3, len, check) : igmp(&r, l3, len, check);
}

/* The router alert option (RFC 2113), of IPv6 (RFC 2711) with the padding that makes eight octets. */
static const uint8_t alert4[4] = {148, 4, 0, 0};
static const uint8_t alert6[8] = {IPPROTO_ICMPV6, 0, 5, 2, 0, 0, 1, 0};

unsigned int
ipoib_query_v4(uint8_t l3[IPOIB_QUERY_MAX])
{
	static const uint8_t all_hosts[4] = {224, 0, 0, 1};
	uint16_t sum;

	memset(l3, 0, IPOIB_QUERY_MAX);
	l3[0] = 0x46;
	ib_put16(l3 + 2, 32);
	l3[8] = 1;
	l3[9] = IPPROTO_IGMP;
	memcpy(l3 + 16, all_hosts, 4);
	memcpy(l3 + 20, alert4, sizeof(alert4));
	sum = (uint16_t)~rte_raw_cksum(l3, 24);
	memcpy(l3 + 10, &sum, sizeof(sum));
	l3[24] = IGMP_QUERY;
	l3[25] = 100;
	sum = (uint16_t)~rte_raw_cksum(l3 + 24, 8);
	memcpy(l3 + 26, &sum, sizeof(sum));
	return 32;
}

unsigned int
ipoib_query_v6(uint64_t guid, uint8_t l3[IPOIB_QUERY_MAX])
{
	struct rte_ipv6_hdr ip = {
		.vtc_flow = rte_cpu_to_be_32(UINT32_C(6) << 28),
		.payload_len = rte_cpu_to_be_16(24),
		.proto = IPPROTO_ICMPV6,
		.hop_limits = 1,
	};
	uint8_t *p = l3 + sizeof(ip) + sizeof(alert6), own[16] = {0xfe, 0x80};
	static const uint8_t all_nodes[16] = {0xff, 0x02, [15] = 1};
	uint16_t sum;

	memset(l3, 0, IPOIB_QUERY_MAX);
	/* Hosts believe queries from link-local addresses only; ours is the one of the port (RFC 4391, 8). */
	ib_put64(own + 8, guid | UINT64_C(0x0200000000000000));
	memcpy(&ip.src_addr, own, sizeof(own));
	memcpy(&ip.dst_addr, all_nodes, sizeof(all_nodes));
	p[0] = MLD_LISTENER_QUERY;
	ib_put16(p + 4, 10000);
	sum = rte_ipv6_udptcp_cksum(&ip, p);
	memcpy(p + 2, &sum, sizeof(sum));
	ip.payload_len = rte_cpu_to_be_16(24 + sizeof(alert6));
	ip.proto = IPPROTO_HOPOPTS;
	memcpy(l3, &ip, sizeof(ip));
	memcpy(l3 + sizeof(ip), alert6, sizeof(alert6));
	return (unsigned int)(sizeof(ip) + sizeof(alert6) + 24);
}
