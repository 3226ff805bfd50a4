/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Microsoft's verification suite for RSS, IPv4 with ports: the hash of each flow with its key; numbers as rig_ipv4() takes them. */
#ifndef RSS_VECTORS_H
#define RSS_VECTORS_H

#include <rte_ip.h>

static const struct {
	uint32_t src, dst;
	uint16_t sport, dport;
	uint32_t hash;
} vector[] = {
	{RTE_IPV4(66, 9, 149, 187), RTE_IPV4(161, 142, 100, 80), 2794, 1766, 0x51ccc178},
	{RTE_IPV4(199, 92, 111, 2), RTE_IPV4(65, 69, 140, 83), 14230, 4739, 0xc626b0ea},
	{RTE_IPV4(24, 19, 198, 95), RTE_IPV4(12, 22, 207, 184), 12898, 38024, 0x5c2b394a},
	{RTE_IPV4(38, 27, 205, 30), RTE_IPV4(209, 142, 163, 6), 48228, 2217, 0xafc7327f},
	{RTE_IPV4(153, 39, 163, 191), RTE_IPV4(202, 188, 127, 2), 44251, 1303, 0x10e828a2},
};

#endif /* RSS_VECTORS_H */
