/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Changes to headers that leave every checksum valid, or make it so. */
#ifndef TRIPLANE_TRAFFIC_SWAP_H
#define TRIPLANE_TRAFFIC_SWAP_H

#include <stdint.h>

#include <rte_mbuf.h>

/* Exchanges MAC addresses. */
void swap_macs(struct rte_mbuf *m);
/* Exchanges MAC addresses, IP addresses, and TCP, UDP or SCTP ports, as far as the packet has them. */
void swap_5tuple(struct rte_mbuf *m);
/* Checksums that a device may make, or check. */
#define SWAP_IPV4 (1u << 0)
#define SWAP_TCP4 (1u << 1)
#define SWAP_UDP4 (1u << 2)
#define SWAP_TCP6 (1u << 3)
#define SWAP_UDP6 (1u << 4)
#define SWAP_SUMS 5u
#define SWAP_ALL ((1u << SWAP_SUMS) - 1)

/* Those of a set that receive offloads (RTE_ETH_RX_OFFLOAD_*) or transmit offloads have. */
uint8_t swap_sums_of(uint8_t sums, uint64_t rx, uint64_t tx);

/* What the device that received a packet found. */
#define SWAP_IP_GOOD (1u << 0)
#define SWAP_IP_BAD (1u << 1)
#define SWAP_L4_GOOD (1u << 2)
#define SWAP_L4_BAD (1u << 3)

/*
 * Gives a packet valid IPv4, TCP and UDP checksums: those of tx by the device, others in software. Fragments keep their
 * transport checksum. Returns what the receiving device found of those of rx.
 */
unsigned int swap_checksums(struct rte_mbuf *m, uint8_t tx, uint8_t rx);

#endif /* TRIPLANE_TRAFFIC_SWAP_H */
