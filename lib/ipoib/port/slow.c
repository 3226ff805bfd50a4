/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Packets between bursts and the control thread, and those that this sends. */
#include "port.h"

void
ipoib_tx_hand_over(struct ipoib_txq *q, struct rte_mbuf *m)
{
	/* The control thread writes where others may read. */
	if (rte_mbuf_refcnt_read(m) != 1 || !RTE_MBUF_DIRECT(m)) {
		struct rte_mbuf *copy = rte_pktmbuf_copy(m, q->port->pool, 0, UINT32_MAX);

		rte_pktmbuf_free(m);
		if (copy == NULL) {
			q->n.drop[IPOIB_DROP_TX_NO_MBUF]++;
			return;
		}
		m = copy;
	}
	if (rte_ring_sp_enqueue(q->slow, m) != 0) {
		q->n.drop[IPOIB_DROP_TX_RING_FULL]++;
		rte_pktmbuf_free(m);
	} else {
		q->n.handed++;
	}
}

void
ipoib_slow_reap(struct ipoib_port *p)
{
	struct ibv_wc wc[8];
	int n, i;

	while ((n = ibv_poll_cq(p->slow_cq, RTE_DIM(wc), wc)) > 0) {
		for (i = 0; i < n; i++) {
			rte_pktmbuf_free((struct rte_mbuf *)(uintptr_t)wc[i].wr_id);
			p->n.tx_error += wc[i].status != IBV_WC_SUCCESS && p->ready;
		}
		p->slow_inflight -= (uint32_t)n;
	}
}

void
ipoib_slow_send(struct ipoib_port *p, struct ibv_ah *ah, uint32_t qpn, struct rte_mbuf *m)
{
	struct ibv_sge sge = {.addr = rte_pktmbuf_mtod(m, uintptr_t), .length = m->data_len};
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)m,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | ((m->ol_flags & IPOIB_TX_CHECKSUMS) != 0 ? IBV_SEND_IP_CSUM : 0),
		.wr.ud = {.ah = ah, .remote_qpn = qpn, .remote_qkey = p->qkey},
	};
	struct ibv_send_wr *bad;

	if (p->slow_inflight == IPOIB_SLOW_SENDS)
		ipoib_slow_reap(p);
	if (!p->ready || m->nb_segs != 1 || p->slow_inflight == IPOIB_SLOW_SENDS ||
	    ipoib_pool_lkey(p, m->pool, &sge.lkey) != 0 || ibv_post_send(p->slow_qp, &wr, &bad) != 0) {
		p->n.tx_error++;
		rte_pktmbuf_free(m);
		return;
	}
	p->slow_inflight++;
	p->n.slow_sent++;
	p->n.slow_bytes += sge.length + RTE_ETHER_HDR_LEN - IPOIB_ENCAP_LEN;
}
