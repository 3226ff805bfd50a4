/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Receive: the header of Ethernet is written over the GRH's end, in place. */
#include "port.h"
#include "slow.h"

void
ipoib_rx_fill(struct ipoib_rxq *q)
{
	while (q->missing != 0) {
		uint32_t n = RTE_MIN(q->missing, IPOIB_BURST), i;
		struct rte_mbuf *m[IPOIB_BURST];
		struct ibv_recv_wr *bad;

		if (rte_pktmbuf_alloc_bulk(q->pool, m, n) != 0) {
			q->nombuf++;
			return;
		}
		for (i = 0; i < n; i++) {
			q->wr[i].wr_id = (uintptr_t)m[i];
			q->sge[i].addr = (uintptr_t)m[i]->buf_addr + q->offset;
		}
		q->wr[n - 1].next = NULL;
		if (ibv_post_recv(q->qp, q->wr, &bad) != 0) {
			/* The requests before the bad one are the card's. */
			uint32_t taken = (uint32_t)(bad - q->wr);

			rte_pktmbuf_free_bulk(m + taken, n - taken);
			q->missing -= taken;
			q->wr[n - 1].next = &q->wr[n % IPOIB_BURST];
			return;
		}
		q->wr[n - 1].next = &q->wr[n % IPOIB_BURST];
		q->missing -= n;
	}
}

static __rte_noinline void
hand_over(struct ipoib_rxq *q, struct rte_mbuf *m, const struct ibv_wc *wc)
{
	struct ipoib_meta *meta = ipoib_meta_of(m);

	m->data_off = (uint16_t)q->offset;
	m->data_len = (uint16_t)wc->byte_len;
	m->pkt_len = wc->byte_len;
	meta->qpn = wc->src_qp;
	meta->slid = wc->slid;
	meta->grh = (wc->wc_flags & IBV_WC_GRH) != 0;
	if (rte_ring_sp_enqueue(q->slow, m) != 0) {
		q->drop[IPOIB_DROP_RX_RING_FULL]++;
		rte_pktmbuf_free(m);
		return;
	}
	q->handed++;
}

/* The address that a group's packet has on Ethernet; 0: the group is none of ours. */
static __rte_noinline uint64_t
group_mac(const struct ipoib_port *p, const uint8_t *grh)
{
	struct rte_ether_addr mac;
	uint64_t w = 0;

	if (!ipoib_mgid_mac(grh + 24, p->core.conf.pkey, &mac))
		return 0;
	memcpy(&w, &mac, sizeof(mac));
	return w;
}

static __rte_noinline uint64_t
local_mac(const struct ipoib_view *v, uint16_t etype, const uint8_t *l3)
{
	const struct ipoib_local_ent *e;
	uint64_t id[2];
	uint8_t ip[16];

	if (etype == RTE_BE16(RTE_ETHER_TYPE_IPV4))
		ipoib_v4_mapped(l3 + 16, ip);
	else
		memcpy(ip, l3 + 24, 16);
	memcpy(id, ip, 16);
	e = ipoib_view_local(v, id);
	if (e == NULL)
		return v->mac;
	*e->touched = 1;
	return e->mac;
}

/* One packet. False: it is not the application's, or not yet. */
static __rte_always_inline bool
take(struct ipoib_rxq *q, const struct ipoib_view *v, struct rte_mbuf *m, const struct ibv_wc *wc)
{
	uint8_t *base = (uint8_t *)m->buf_addr + q->offset;
	const struct ipoib_rx_ent *from;
	uint64_t dst = v->mac, words[2];
	uint16_t etype;

	if (unlikely(wc->status != IBV_WC_SUCCESS || wc->byte_len < IPOIB_UD_HEAD + 20)) {
		q->drop[wc->status != IBV_WC_SUCCESS ? IPOIB_DROP_RX_ERROR : IPOIB_DROP_RX_SHORT]++;
		rte_pktmbuf_free(m);
		return false;
	}
	memcpy(&etype, base + IB_GRH_LEN, sizeof(etype));
	from = ipoib_view_rx(v, ipoib_rx_key(wc->slid, wc->src_qp));
	if ((wc->wc_flags & IBV_WC_GRH) != 0 && base[24] == 0xff) {
		if (((wc->slid ^ v->lid) & v->lid_mask) == 0 &&
		    (wc->src_qp == q->own_qpn[0] || wc->src_qp == q->own_qpn[1])) {
			q->drop[IPOIB_DROP_RX_OWN]++;
			rte_pktmbuf_free(m);
			return false;
		}
		dst = group_mac(q->port, base);
		q->multicast++;
	}
	if (unlikely(from == NULL || dst == 0 || !ipoib_plain(etype, base + IPOIB_UD_HEAD, IPOIB_TO_ETH))) {
		hand_over(q, m, wc);
		return false;
	}
	if (unlikely(v->locals != 0) && dst == v->mac)
		dst = local_mac(v, etype, base + IPOIB_UD_HEAD);
	if (unlikely(*from->touched == 0))
		*from->touched = 1;
	/* Two words of destination and source, then the EtherType over the end of the GRH and the encapsulation. */
	words[0] = dst | from->mac << 48;
	words[1] = from->mac >> 16;
	memcpy(base + IPOIB_RX_SHIFT, words, 8);
	memcpy(base + IPOIB_RX_SHIFT + 8, &words[1], 4);
	memcpy(base + IPOIB_RX_SHIFT + 12, &etype, sizeof(etype));
	m->data_off = (uint16_t)(q->offset + IPOIB_RX_SHIFT);
	m->data_len = (uint16_t)(wc->byte_len - IPOIB_RX_SHIFT);
	m->pkt_len = m->data_len;
	m->port = q->port->port_id;
	m->ol_flags =
		(wc->wc_flags & IBV_WC_IP_CSUM_OK) != 0 ? RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0;
	q->bytes += m->data_len;
	return true;
}

uint16_t
ipoib_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct ipoib_rxq *q = queue;
	struct ibv_wc wc[IPOIB_BURST];
	const struct ipoib_view *v;
	uint16_t got = 0;
	int done, i;

	ipoib_turn_begin(&q->turn);
	v = ipoib_view_now(q->port);
	if (unlikely(v == NULL)) {
		ipoib_turn_end(&q->turn);
		return 0;
	}
	if (unlikely(!rte_ring_empty(q->inject))) {
		got = (uint16_t)rte_ring_sc_dequeue_burst(q->inject, (void **)pkts, n, NULL);
		for (i = 0; i < got; i++)
			q->bytes += pkts[i]->pkt_len;
	}
	done = got < n ? ibv_poll_cq(q->cq, (int)RTE_MIN((uint32_t)(n - got), IPOIB_BURST), wc) : 0;
	for (i = 0; i < done; i++) {
		struct rte_mbuf *m = (struct rte_mbuf *)(uintptr_t)wc[i].wr_id;

		if (i + 2 < done)
			rte_prefetch0((uint8_t *)((struct rte_mbuf *)(uintptr_t)wc[i + 2].wr_id)->buf_addr + q->offset);
		pkts[got] = m;
		got += take(q, v, m, &wc[i]);
	}
	q->packets += got;
	if (done > 0)
		q->missing += (uint32_t)done;
	if (q->missing >= IPOIB_BURST / 2)
		ipoib_rx_fill(q);
	ipoib_turn_end(&q->turn);
	return got;
}
