/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which packets the datapath may pass on as they are, told by a few octets at fixed places; the others are looked at with care. */
#ifndef IPOIB_PORT_SLOW_H
#define IPOIB_PORT_SLOW_H

#include <netinet/in.h>

#include <rte_branch_prediction.h>
#include <rte_ether.h>

#include "lib/ipoib/wire/xlate.h"

#define DHCP_PORT RTE_BE16(67)

/*
 * etype as it is in the frame. dir: reports of membership matter when they leave. What has options, or is too short for what
 * is read here, is not plain; l3 has room for 48 octets.
 */
static inline bool
ipoib_plain(rte_be16_t etype, const uint8_t *l3, enum ipoib_dir dir)
{
	uint16_t port;

	if (etype == RTE_BE16(RTE_ETHER_TYPE_IPV4)) {
		if (l3[0] != 0x45)
			return dir == IPOIB_TO_ETH && l3[9] == IPPROTO_IGMP;
		if (l3[9] != IPPROTO_UDP)
			return dir == IPOIB_TO_ETH || l3[9] != IPPROTO_IGMP;
		memcpy(&port, l3 + 22, sizeof(port));
		/* DHCP's differ in one bit when that of the lower is added. */
		return likely(((port - DHCP_PORT) & ~(uint32_t)(RTE_BE16(68) - DHCP_PORT)) != 0);
	}
	if (etype != RTE_BE16(RTE_ETHER_TYPE_IPV6))
		return false;
	if (l3[6] == IPPROTO_ICMPV6) /* 133 to 137 are neighbour discovery, 130 to 132 and 143 membership */
		return (uint8_t)(l3[40] - 130) > 13;
	return dir == IPOIB_TO_ETH || l3[6] != IPPROTO_HOPOPTS;
}

#endif /* IPOIB_PORT_SLOW_H */
