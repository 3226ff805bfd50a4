/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port in connected mode on a card that is three functions: what is posted is kept, what completes is made here. */
#ifndef TEST_CM_RIG_H
#define TEST_CM_RIG_H

#include "lib/ipoib/port/cm.h"
#include "link_rig.h"

#define MTU 65520u
#define OCTETS (MTU + IPOIB_ENCAP_LEN)
#define DEPTH 4u
#define QPN 0x77u /* by which the peer sends */
#define LAST 4u   /* packets on the wire that are kept */

struct cm_card {
	struct ibv_context ctx;
	struct ibv_cq rcq, scq;
	struct ibv_srq srq;
	struct ibv_qp qp;
	struct ibv_wc rx_done[DEPTH], tx_done[IPOIB_RC_SENDS];
	unsigned int num_rx_done, num_tx_done, num_posted;
	uint64_t posted[DEPTH];
	struct ibv_sge buffer[DEPTH][IPOIB_RC_SGES];
	int num_sge; /* of the last packet that was sent */
	struct ibv_sge sent[IPOIB_RC_SGES];
	unsigned int num_sent;
	uint32_t wire_len[LAST];
	bool hold; /* nothing completes */
};

extern struct rig rig;
extern struct rte_ether_addr peer;
extern struct ipoib_port port;
extern struct ipoib_rxq rxq;
extern struct ipoib_txq txq;
extern struct ipoib_cm *cm;
extern struct ipoib_rc rc;
extern struct cm_card card;
extern uint8_t wire[LAST][RTE_ALIGN(OCTETS, 8)];
extern unsigned int published; /* how often snapshots were taken away */

/* A knows the peer and has a connection to it, and the peer one to A, whose port this is. */
int cm_rig_open(void **state);
int cm_rig_close(void **state);
/* Of frames and packets. */
uint8_t octet(uint32_t at);
/* A packet of IPv4 comes in the oldest chain. */
void arrive(uint32_t octets, enum ibv_wc_status status);
/* A frame for the peer, of IPv4 with TCP, in as many buffers as it takes. */
struct rte_mbuf *frame(uint32_t len);
/* How many are taken; so many of them are datagrams. */
uint16_t send_burst(struct rte_mbuf **m, uint16_t n, uint16_t datagrams);

#endif /* TEST_CM_RIG_H */
