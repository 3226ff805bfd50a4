/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What stands in front of the BTH on Ethernet, in numbers (annexes A16, A17). */
#ifndef ROCE_SOFT_WIRE_ETH_H
#define ROCE_SOFT_WIRE_ETH_H

#include <string.h>

#include <rte_ether.h>

#include "lib/roce/wire/wire.h"

#define RSW_ETYPE_ROCE 0x8915u
#define RSW_NEXT_IBA 0x1bu /* GRH: a BTH follows */
#define RSW_PROTO_UDP 17u
#define RSW_TAG_LEN 4u
#define RSW_IPV4_LEN 20u
#define RSW_IPV6_LEN 40u
#define RSW_UDP_LEN 8u
#define RSW_IPV4_DF 0x4000u
#define RSW_IPV4_FRAGMENT 0x3fffu /* more fragments, or an offset */
#define RSW_ECN_MASK 3u
#define RSW_ECN_CE 3u
#define RSW_ECN_ECT0 2u

static const uint8_t rsw_ipv4_gid[12] = {[10] = 0xff, [11] = 0xff};

static inline bool
rsw_gid_is_ipv4(const union ibv_gid *gid)
{
	return memcmp(gid->raw, rsw_ipv4_gid, sizeof(rsw_ipv4_gid)) == 0;
}

static inline uint16_t
rsw_sum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)(sum + (sum >> 16));
}

#endif /* ROCE_SOFT_WIRE_ETH_H */
