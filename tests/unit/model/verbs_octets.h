/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Octets of messages, and of packets that a switch marks. */
#ifndef VERBS_OCTETS_H
#define VERBS_OCTETS_H

#include <stdbool.h>
#include <stdint.h>

static inline void
vr_fill(uint8_t *p, uint32_t len, uint8_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)(seed + i * 7);
}

/* Where the IP header begins. */
static inline uint32_t
vr_ip(const uint8_t *f)
{
	return f[12] == 0x81 ? 18 : 14;
}

static inline uint8_t
vr_tos(const uint8_t *f)
{
	const uint8_t *ip = f + vr_ip(f);

	return ip[0] >> 4 == 4 ? ip[1] : (uint8_t)(ip[0] << 4 | ip[1] >> 4);
}

/* "Congestion experienced" (RFC 3168, 5), in a packet that says ECT. */
static inline bool
vr_mark(uint8_t *f)
{
	uint8_t *ip = f + vr_ip(f);
	uint32_t sum = 0;

	if ((vr_tos(f) & 3) == 0)
		return false;
	if (ip[0] >> 4 != 4) {
		ip[1] |= 0x30;
		return true;
	}
	ip[1] |= 3;
	ip[10] = ip[11] = 0;
	for (unsigned int i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~(sum + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
	return true;
}

#endif /* VERBS_OCTETS_H */
