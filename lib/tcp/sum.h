/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The checksum of RFC 1071 over what IPv4 carries. */
#ifndef TCP_SUM_H
#define TCP_SUM_H

#include <rte_ip.h>
#include <rte_mbuf.h>

/* Sum of len octets of a segment or datagram, from off on, and its pseudo-header; 0xffff where a checksum is in it and is right. */
uint16_t tcp_sum(const struct rte_mbuf *m, const struct rte_ipv4_hdr *ip, uint32_t off, uint32_t len);

#endif /* TCP_SUM_H */
