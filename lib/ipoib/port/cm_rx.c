/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Receive in connected mode: a packet has as many buffers as it takes, the others of its chain wait for the next one. */
#include "cm.h"
#include "slow.h"

#define BATCH 8u
#define SHIFT (RTE_ETHER_HDR_LEN - IPOIB_ENCAP_LEN)

/* A chain of buffers, as they are posted. False: there are not enough. */
static bool
chain_new(struct ipoib_cm *cm, struct rte_mbuf **head, struct ibv_sge *sge)
{
	struct ipoib_rxq *q = cm->port->rxq[0];
	struct rte_mbuf *m[IPOIB_RC_SGES];
	uint32_t old = RTE_MIN(cm->num_spare, cm->segs), i;

	if (old < cm->segs && rte_pktmbuf_alloc_bulk(q->pool, m + old, cm->segs - old) != 0) {
		q->n.nombuf++;
		return false;
	}
	for (i = 0; i < old; i++)
		m[i] = cm->spare[--cm->num_spare];
	for (i = 0; i < cm->segs; i++) {
		uint32_t offset = i == 0 ? IPOIB_RC_OFFSET : 0;

		m[i]->next = i + 1 < cm->segs ? m[i + 1] : NULL;
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)m[i]->buf_addr + offset, .length = m[i]->buf_len - offset, .lkey = cm->lkey};
	}
	m[0]->nb_segs = (uint16_t)cm->segs;
	*head = m[0];
	return true;
}

void
ipoib_cm_fill(struct ipoib_cm *cm)
{
	struct ibv_sge sge[BATCH][IPOIB_RC_SGES];
	struct ibv_recv_wr wr[BATCH], *bad;

	while (cm->num_free != 0) {
		uint32_t n, no;

		for (n = 0; n < BATCH && n < cm->num_free; n++) {
			no = cm->free[cm->num_free - 1 - n];
			if (!chain_new(cm, &cm->chain[no], sge[n]))
				break;
			wr[n] = (struct ibv_recv_wr){
				.wr_id = no, .sg_list = sge[n], .num_sge = (int)cm->segs, .next = &wr[n + 1]};
		}
		if (n == 0)
			return;
		wr[n - 1].next = NULL;
		cm->num_free -= n;
		if (ibv_post_srq_recv(cm->srq, wr, &bad) == 0)
			continue;
		for (; bad != NULL; bad = bad->next) {
			rte_pktmbuf_free(cm->chain[bad->wr_id]);
			cm->chain[bad->wr_id] = NULL;
			cm->free[cm->num_free++] = (uint32_t)bad->wr_id;
		}
		return;
	}
}

/* The buffers that a packet of so many octets is in; the others become spare. */
static void
cut(struct ipoib_cm *cm, struct rte_mbuf *m, uint32_t len)
{
	uint32_t left = len, offset = IPOIB_RC_OFFSET, n = 0;
	struct rte_mbuf *s = m, *last = NULL;

	do {
		s->data_off = (uint16_t)offset;
		s->data_len = (uint16_t)RTE_MIN(left, (uint32_t)s->buf_len - offset);
		left -= s->data_len;
		offset = 0;
		n++;
		last = s;
		s = s->next;
	} while (left != 0 && s != NULL);
	last->next = NULL;
	m->nb_segs = (uint16_t)n;
	m->pkt_len = len;
	while (s != NULL) {
		last = s;
		s = s->next;
		last->next = NULL;
		cm->spare[cm->num_spare++] = last;
	}
}

static __rte_noinline void
hand_over(struct ipoib_rxq *q, struct rte_mbuf *m, uint32_t own_qpn)
{
	struct ipoib_meta *meta = ipoib_meta_of(m);

	/* Where a datagram has room for its GRH; nobody reads it. */
	rte_pktmbuf_prepend(m, IB_GRH_LEN);
	*meta = (struct ipoib_meta){.by_conn = own_qpn};
	if (rte_ring_sp_enqueue(q->slow, m) != 0) {
		q->n.drop[IPOIB_DROP_RX_RING_FULL]++;
		rte_pktmbuf_free(m);
		return;
	}
	q->n.handed++;
}
_Static_assert(sizeof(struct ipoib_meta) + IB_GRH_LEN <= IPOIB_RC_OFFSET, "meta is in front of a packet");

/* One packet. False: it is not the application's, or not yet. */
static bool
take(struct ipoib_rxq *q, const struct ipoib_view *v, struct rte_mbuf *m, const struct ibv_wc *wc)
{
	const struct ipoib_rx_ent *from;
	uint64_t dst = v->mac;
	uint16_t etype;
	uint8_t *base;

	if (unlikely(wc->status != IBV_WC_SUCCESS || wc->byte_len < IPOIB_ENCAP_LEN + 20)) {
		q->n.drop[wc->status != IBV_WC_SUCCESS ? IPOIB_DROP_RX_ERROR : IPOIB_DROP_RX_SHORT]++;
		rte_pktmbuf_free(m);
		return false;
	}
	cut(q->port->cm, m, wc->byte_len);
	from = ipoib_view_rx(v, ipoib_rx_conn_key(wc->qp_num));
	if (unlikely(from == NULL)) {
		/* The peer was quicker than the snapshot of its connection; or it has ended. */
		hand_over(q, m, wc->qp_num);
		return false;
	}
	*from->touched = 1;
	base = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(&etype, base, sizeof(etype));
	if (unlikely(!ipoib_plain(etype, base + IPOIB_ENCAP_LEN, IPOIB_TO_ETH))) {
		hand_over(q, m, wc->qp_num);
		return false;
	}
	if (unlikely(v->locals != 0))
		dst = ipoib_view_local_mac(v, etype, base + IPOIB_ENCAP_LEN);
	rte_pktmbuf_prepend(m, SHIFT);
	memcpy(base - SHIFT, &dst, RTE_ETHER_ADDR_LEN);
	memcpy(base - SHIFT + RTE_ETHER_ADDR_LEN, &from->mac, RTE_ETHER_ADDR_LEN);
	memcpy(base - SHIFT + offsetof(struct rte_ether_hdr, ether_type), &etype, sizeof(etype));
	m->port = q->port->port_id;
	m->ol_flags = 0;
	return true;
}

void
ipoib_cm_hold(struct ipoib_cm *cm)
{
	int n;

	while (cm->num_held < cm->depth &&
	       (n = ibv_poll_cq(cm->rcq, (int)(cm->depth - cm->num_held), &cm->held[cm->num_held])) > 0)
		cm->num_held += (uint32_t)n;
}

static int
completions(struct ipoib_cm *cm, struct ibv_wc *wc, int n)
{
	int held = RTE_MIN(n, (int)cm->num_held);

	if (likely(held == 0))
		return ibv_poll_cq(cm->rcq, n, wc);
	memcpy(wc, cm->held, (size_t)held * sizeof(*wc));
	cm->num_held -= (uint32_t)held;
	memmove(cm->held, cm->held + held, cm->num_held * sizeof(*wc));
	return held;
}

uint16_t
ipoib_cm_rx(struct ipoib_rxq *q, const struct ipoib_view *v, struct rte_mbuf **pkts, uint16_t n)
{
	struct ipoib_cm *cm = q->port->cm;
	struct ibv_wc wc[IPOIB_BURST];
	uint16_t got = 0;
	int done, i;

	done = completions(cm, wc, (int)RTE_MIN((uint32_t)n, IPOIB_BURST));
	for (i = 0; i < done; i++) {
		uint32_t no = (uint32_t)wc[i].wr_id;
		struct rte_mbuf *m = cm->chain[no];

		cm->chain[no] = NULL;
		cm->free[cm->num_free++] = no;
		if (!take(q, v, m, &wc[i]))
			continue;
		q->n.bytes += m->pkt_len;
		pkts[got++] = m;
	}
	q->port->n.cm_rx += got;
	ipoib_cm_fill(cm);
	return got;
}
