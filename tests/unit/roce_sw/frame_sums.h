/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sums of untagged frames of RoCE. */
#ifndef RSW_FRAME_SUMS_H
#define RSW_FRAME_SUMS_H

#include "lib/roce/wire/icrc.h"
#include "lib/roce/wire/wire.h"

static inline void
icrc(uint8_t *f, uint32_t len, enum troce_icrc_net kind)
{
	uint32_t at = kind == TROCE_ICRC_IPV4_UDP ? 42 : kind == TROCE_ICRC_IPV6_UDP ? 62 : 54;

	troce_icrc_put(troce_crc32(troce_icrc_start(kind, f + 14, f + at), f + at + 12, len - at - 16), f + len - 4);
}

static inline uint16_t
ip_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < 20; i += 2)
		sum += ib_get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

#endif /* RSW_FRAME_SUMS_H */
