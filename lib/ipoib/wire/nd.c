/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Neighbour discovery: link-layer address options of one unit on Ethernet, of three on IPoIB (RFC 4391, 9.3). */
#include <netinet/icmp6.h>
#include <netinet/in.h>

#include <rte_ip.h>

#include "xlate.h"

#define HOP_LIMIT 255u
#define UNIT 8u
#define ETH_UNITS 1u
#define IB_UNITS 3u
#define LLADDR_MAX 4u /* a message has two at most; more than that is an attack on our output */

/* Octets of a message before its options. */
static uint32_t
fixed_len(uint8_t type)
{
	switch (type) {
	case ND_ROUTER_SOLICIT: return sizeof(struct nd_router_solicit);
	case ND_ROUTER_ADVERT: return sizeof(struct nd_router_advert);
	case ND_NEIGHBOR_SOLICIT: return sizeof(struct nd_neighbor_solicit);
	case ND_NEIGHBOR_ADVERT: return sizeof(struct nd_neighbor_advert);
	default: return sizeof(struct nd_redirect);
	}
}

/* A link-layer address option. Octets written, or a refusal. */
static int
option(enum ipoib_dir dir, const struct ipoib_book *book, const uint8_t *p, uint8_t *out)
{
	struct rte_ether_addr mac;
	struct ipoib_hw hw;

	out[0] = p[0];
	if (dir == IPOIB_TO_IB) {
		if (p[1] != ETH_UNITS)
			return IPOIB_XLATE_BAD;
		memcpy(&mac, p + 2, sizeof(mac));
		if (!book->hw_of(book->arg, &mac, &hw))
			return IPOIB_XLATE_UNKNOWN;
		out[1] = IB_UNITS;
		out[2] = out[3] = 0;
		memcpy(out + 4, &hw, IPOIB_HW_LEN);
		return IB_UNITS * UNIT;
	}
	if (p[1] != IB_UNITS)
		return IPOIB_XLATE_BAD;
	memcpy(&hw, p + 4, IPOIB_HW_LEN);
	if (!ipoib_hw_valid(&hw))
		return IPOIB_XLATE_BAD;
	if (!book->mac_of(book->arg, &hw, &mac))
		return IPOIB_XLATE_UNKNOWN;
	out[1] = ETH_UNITS;
	memcpy(out + 2, &mac, sizeof(mac));
	return ETH_UNITS * UNIT;
}

static int
options(enum ipoib_dir dir, const struct ipoib_book *book, const uint8_t *p, uint32_t len, uint8_t *out)
{
	unsigned int addresses = 0;
	int done = 0;

	while (len != 0) {
		uint32_t n;

		if (len < 2 || p[1] == 0 || (n = p[1] * UNIT) > len)
			return IPOIB_XLATE_BAD;
		if (p[0] == ND_OPT_SOURCE_LINKADDR || p[0] == ND_OPT_TARGET_LINKADDR) {
			int got = ++addresses > LLADDR_MAX ? IPOIB_XLATE_BAD : option(dir, book, p, out + done);

			if (got < 0)
				return got;
			done += got;
		} else {
			memcpy(out + done, p, n);
			done += (int)n;
		}
		p += n;
		len -= n;
	}
	return done;
}

int
ipoib_nd(enum ipoib_dir dir, const struct ipoib_book *book, bool check, const uint8_t *l3, uint32_t len, uint8_t *out)
{
	struct rte_ipv6_hdr ip;
	uint32_t payload, fixed;
	rte_be16_t sum = 0;
	int got;

	if (len < sizeof(ip) + sizeof(struct icmp6_hdr))
		return IPOIB_XLATE_BAD;
	memcpy(&ip, l3, sizeof(ip));
	payload = rte_be_to_cpu_16(ip.payload_len);
	fixed = fixed_len(l3[sizeof(ip)]);
	/* Nobody may have forwarded it (RFC 4861, 6.1, 7.1, 8.1). */
	if (ip.proto != IPPROTO_ICMPV6 || ip.hop_limits != HOP_LIMIT || payload < fixed || payload > len - sizeof(ip) ||
	    l3[sizeof(ip) + 1] != 0)
		return IPOIB_XLATE_BAD;
	if (check && rte_ipv6_udptcp_cksum_verify(&ip, l3 + sizeof(ip)) != 0)
		return IPOIB_XLATE_BAD;
	memcpy(out + sizeof(ip), l3 + sizeof(ip), fixed);
	got = options(dir, book, l3 + sizeof(ip) + fixed, payload - fixed, out + sizeof(ip) + fixed);
	if (got < 0)
		return got;
	payload = fixed + (uint32_t)got;
	ip.payload_len = rte_cpu_to_be_16((uint16_t)payload);
	memcpy(out, &ip, sizeof(ip));
	memcpy(out + sizeof(ip) + 2, &sum, sizeof(sum));
	sum = rte_ipv6_udptcp_cksum(&ip, out + sizeof(ip));
	memcpy(out + sizeof(ip) + 2, &sum, sizeof(sum));
	return (int)(sizeof(ip) + payload);
}
