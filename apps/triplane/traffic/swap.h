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
/*
 * Gives a packet valid IPv4, TCP and UDP checksums: by the device where offloads (RTE_ETH_TX_OFFLOAD_*) has it, else
 * in software. Fragments keep their transport checksum.
 */
void swap_checksums(struct rte_mbuf *m, uint64_t offloads);

#endif /* TRIPLANE_TRAFFIC_SWAP_H */
