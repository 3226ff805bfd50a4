/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What TCP and UDP have in common: the checksum of RFC 1071 over what IPv4 carries, numbers of a configuration. */
#ifndef TCP_COMMON_H
#define TCP_COMMON_H

#include <stdbool.h>
#include <stddef.h>

#include <rte_ip.h>
#include <rte_mbuf.h>

/* Sum of len octets of a segment or datagram, from off on, and its pseudo-header; 0xffff where a checksum is in it and is right. */
uint16_t tcp_sum(const struct rte_mbuf *m, const struct rte_ipv4_hdr *ip, uint32_t off, uint32_t len);

/* A number of a configuration, its default and range. */
struct tcp_bound {
	size_t at;
	uint32_t size, preset, low, high;
};
#define TCP_BOUND(conf, member, preset, low, high)                                                                     \
	{                                                                                                              \
		offsetof(conf, member), sizeof(((conf *)0)->member), preset, low, high                                 \
	}

/* Numbers that are 0 become their defaults; false: one is out of its range. */
bool tcp_bounds_read(void *conf, const struct tcp_bound *b, size_t n);

#endif /* TCP_COMMON_H */
