/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Octets of packets, read, written and summed by code of the tests' own. */
#ifndef TCP_OCTETS_H
#define TCP_OCTETS_H

#include <stdint.h>

static inline uint32_t
get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t
get32(const uint8_t *p)
{
	return get16(p) << 16 | get16(p + 2);
}

static inline void
put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void
put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

/* RFC 1071 */
static inline uint32_t
add(const uint8_t *p, uint32_t n, uint32_t sum)
{
	for (; n > 1; n -= 2, p += 2)
		sum += get16(p);
	if (n != 0)
		sum += (uint32_t)p[0] << 8;
	return sum;
}

static inline uint32_t
fold(uint32_t sum)
{
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static inline uint32_t
segment_sum(const uint8_t *ip, uint32_t len)
{
	return fold(add(ip + 20, len, add(ip + 12, 8, 6 + len)));
}

static inline void
write_sums(uint8_t *ip)
{
	const uint32_t len = get16(ip + 2) - 20;

	put16(ip + 10, 0);
	put16(ip + 10, ~fold(add(ip, 20, 0)));
	put16(ip + 36, 0);
	put16(ip + 36, ~segment_sum(ip, len));
}

#endif /* TCP_OCTETS_H */
