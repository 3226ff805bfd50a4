/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Which of several transmit queues a packet goes to (TSS): by its size, so that small packets do not wait behind large ones; by a
 * hash of where it goes, so that the packets of a flow keep their order; or by both. Works with any ethdev port.
 */
#ifndef TP_TXQ_H
#define TP_TXQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What decides; may be ORed. */
#define TP_TXQ_BY_SIZE 1u
#define TP_TXQ_BY_HASH 2u

#define TP_TXQ_SMALL 128u /**< packets of fewer octets, without FCS, are small */
#define TP_TXQ_MOST 256u  /**< queues of a choice */
#define TP_TXQ_BURST 512u /**< packets that tp_txq_send() takes at a time */

/** A choice among queues. Filled by tp_txq_init(), then only read. */
struct tp_txq_choice {
	uint16_t port;      /**< that sends */
	uint16_t first;     /**< queue of the choice */
	uint16_t num;       /**< queues of the choice */
	uint16_t small_num; /**< of them for small packets, from the first one on; 0: sizes do not matter */
	bool by_hash;       /**< false: the first queue of those for the size */
	bool prepare;       /**< packets need rte_eth_tx_prepare() */
};

/**
 * Makes a choice.
 *
 * By size alone the first queue gets small packets and the second one all others. By hash alone all queues serve all
 * packets. By both the first half (rounded down) serves small packets and the rest all others.
 *
 * @param by what decides: TP_TXQ_BY_SIZE, TP_TXQ_BY_HASH or both
 * @param port the port that sends
 * @param first its first queue that may be chosen
 * @param num how many queues there are from there on, 2..TP_TXQ_MOST
 * @return 0, or -EINVAL with a line in err
 */
int tp_txq_init(struct tp_txq_choice *c, unsigned int by, uint16_t port, uint16_t first, uint16_t num, char *err,
		size_t err_len);

/**
 * Says which queue a packet goes to: one of first..first + num - 1. The hash covers the destination address of IPv4 or IPv6,
 * behind up to two VLAN tags, and the ports of TCP, UDP and SCTP when the packet is no fragment and its headers are in its first
 * buffer. Anything else goes to the first queue for its size. Reads only; may be called by any number of threads.
 */
uint16_t tp_txq_choose(const struct tp_txq_choice *c, const struct rte_mbuf *m);

/**
 * Sends a burst by the queues of a choice; the packets of a queue keep their order. All queues of the choice must be the calling
 * thread's.
 *
 * @param pkts the packets; reordered when some are not sent
 * @param n how many, up to TP_TXQ_BURST
 * @param bursts NULL, or increased by the number of queues that took something
 * @return how many were sent; the others are pkts[return value] .. pkts[n - 1] and remain the caller's
 */
uint16_t tp_txq_send(const struct tp_txq_choice *c, struct rte_mbuf **pkts, uint16_t n, uint64_t *bursts);

#ifdef __cplusplus
}
#endif

#endif /* TP_TXQ_H */
