/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The invariant CRC of RoCE packets (IBTA annexes A16.4, A17.3.3): fields that may change on the way count as ones. */
#ifndef ROCE_WIRE_ICRC_H
#define ROCE_WIRE_ICRC_H

#include <stdint.h>

#include "crc32.h"

/* What stands in front of the BTH. */
enum troce_icrc_net {
	TROCE_ICRC_GRH,      /* RoCE v1: 40 bytes */
	TROCE_ICRC_IPV4_UDP, /* RoCE v2: 20 + 8 bytes, no options */
	TROCE_ICRC_IPV6_UDP, /* RoCE v2: 40 + 8 bytes */
};

/* Of each octet of a number: see troce_icrc_id(). */
extern uint32_t troce_icrc_ids[2][256];

/* The register in front of the BTH, which goes on with byte 4 as 0xff; net: where the GRH or IP header starts. */
uint32_t troce_icrc_net(enum troce_icrc_net kind, const uint8_t *net);
/* What the number of an IPv4 packet adds, by exclusive or, to that register of the same headers with number 0. */
static inline uint32_t
troce_icrc_id(uint16_t id)
{
	return troce_icrc_ids[0][id & 0xff] ^ troce_icrc_ids[1][id >> 8];
}
/* The register behind the BTH; net: where the GRH or IP header starts. The rest of the packet goes on by troce_crc32. */
uint32_t troce_icrc_start(enum troce_icrc_net kind, const uint8_t *net, const uint8_t bth[12]);

/* What the four bytes at the end hold. */
static inline void
troce_icrc_put(uint32_t reg, uint8_t out[4])
{
	reg = ~reg;
	out[0] = (uint8_t)reg;
	out[1] = (uint8_t)(reg >> 8);
	out[2] = (uint8_t)(reg >> 16);
	out[3] = (uint8_t)(reg >> 24);
}

#endif /* ROCE_WIRE_ICRC_H */
