/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Declarations of port 0 of a stepped card, and frames from there to port 1. */
#ifndef QOS_TX_RIG_H
#define QOS_TX_RIG_H

#include <netinet/in.h>

#include "rig.h"

static inline void
declare(const struct tp_qos_port *q)
{
	char err[TP_ERR_LEN];

	if (rte_pmd_mlx4_qos_set(0, q, err) != 0)
		fail_msg("%s", err);
}

static inline struct tp_qos_port
defaults(void)
{
	struct tp_qos_port q;

	tp_qos_port_default(&q);
	return q;
}

static inline void
add_rule(struct tp_qos_port *q, uint8_t match, uint16_t lo, uint16_t hi, uint8_t prio, int8_t dscp)
{
	q->rule[q->num_rules++] = (struct tp_qos_rule){.match = match, .prio = prio, .dscp = dscp, .lo = lo, .hi = hi};
}

/* Sends one and returns what came out at the other end. */
static inline struct rte_mbuf *
through(uint16_t queue, struct rte_mbuf *m)
{
	struct rte_mbuf *got = NULL;

	assert_int_equal(rte_eth_tx_burst(0, queue, &m, 1), 1);
	rig_run(0);
	assert_int_equal(rte_eth_rx_burst(1, 0, &got, 1), 1);
	return got;
}

static inline const uint8_t *
bytes(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod(m, const uint8_t *);
}

/* The header sums up to all ones with its checksum. */
static inline void
assert_checksum(const struct rte_ipv4_hdr *ip)
{
	assert_int_equal(rte_raw_cksum(ip, sizeof(*ip)), 0xffff);
}

static inline struct rte_mbuf *
udp(uint16_t dport)
{
	return rig_ipv4(IPPROTO_UDP, 0x0a000001, 0x0a000002, 1234, dport);
}

static inline void
queue_prio(uint16_t queue, uint8_t prio)
{
	char err[TP_ERR_LEN];

	if (rte_pmd_mlx4_txq_prio_set(0, queue, prio, err) != 0)
		fail_msg("%s", err);
}

#endif /* QOS_TX_RIG_H */
