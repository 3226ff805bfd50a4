/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* lwIP as bench_tcp has lib/tcp: no threads, the same options of TCP, a card that does checksums, enough memory of its own pools. */
#ifndef BENCH_LWIPOPTS_H
#define BENCH_LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_STATS 0
#define LWIP_NOASSERT 1

#define MEM_ALIGNMENT 8
#define MEM_SIZE (4u << 20)
#define MEMP_NUM_TCP_PCB 16
#define MEMP_NUM_TCP_SEG 1024
#define MEMP_NUM_PBUF 1024
#define PBUF_POOL_SIZE 1024
#define PBUF_POOL_BUFSIZE 2048

#define LWIP_IPV6 0
#define LWIP_UDP 0
#define ETHARP_SUPPORT_STATIC_ENTRIES 1
/* Both ends are interfaces of one stack. */
#define ETHARP_TABLE_MATCH_NETIF 0

/* As Debian has it: what is written goes into the buffer that waits. */
#define LWIP_NETIF_TX_SINGLE_PBUF 1
#define TCP_MSS 1460
#define TCP_WND 65535
#define TCP_SND_BUF 65535
#define TCP_SND_QUEUELEN 1000
#define LWIP_TCP_TIMESTAMPS 1
#define LWIP_TCP_SACK_OUT 1

#define CHECKSUM_GEN_IP 0
#define CHECKSUM_GEN_TCP 0
#define CHECKSUM_CHECK_IP 0
#define CHECKSUM_CHECK_TCP 0

#endif /* BENCH_LWIPOPTS_H */
