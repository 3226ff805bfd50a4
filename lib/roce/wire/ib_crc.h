/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Both CRCs of a short InfiniBand packet without GRH, in one look at its octets (IBTA 7.8). */
#ifndef ROCE_WIRE_IB_CRC_H
#define ROCE_WIRE_IB_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TROCE_IB_MIN 16u
#define TROCE_IB_SHORT 256u /* what is longer is faster by one CRC after the other */

struct troce_ib_crcs {
	uint32_t icrc; /* as a number whose octets lie behind the packet, the lowest first; so does the next */
	uint16_t vcrc;
};

/*
 * Of len octets from the LRH through the pad, TROCE_IB_MIN to TROCE_IB_SHORT of them. The second goes on over the four octets of
 * the first as they lie behind the packet; with sent: over what is to lie there.
 */
struct troce_ib_crcs troce_ib_crcs(const uint8_t *p, size_t len, bool sent);

#endif /* ROCE_WIRE_IB_CRC_H */
