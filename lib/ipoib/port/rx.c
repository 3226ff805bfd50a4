/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Receive: the header of Ethernet is written over the GRH's end, in place. */
#include "port.h"
#include "slow.h"

__rte_noinline void
ipoib_rx_fill(struct ipoib_rxq *q)
{
	while (q->missing != 0) {
		uint32_t n = RTE_MIN(q->missing, IPOIB_BURST), i;
		struct rte_mbuf *m[IPOIB_BURST];
		struct ibv_recv_wr *bad;

		/* As they are in the pool: what is received sets all that counts. */
		if (rte_mempool_get_bulk(q->pool, (void **)m, n) != 0) {
			q->n.nombuf++;
			return;
		}
		for (i = 0; i < n; i++) {
			q->wr[i].wr_id = (uintptr_t)m[i];
			q->sge[i].addr = (uintptr_t)m[i]->buf_addr + q->offset;
		}
		q->wr[n - 1].next = NULL;
		if ((q->srq != NULL ? ibv_post_srq_recv(q->srq, q->wr, &bad) : ibv_post_recv(q->qp, q->wr, &bad)) !=
		    0) {
			/* The requests before the bad one are the card's. */
			uint32_t taken = (uint32_t)(bad - q->wr);

			rte_mempool_put_bulk(q->pool, (void **)(m + taken), n - taken);
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

	rte_pktmbuf_reset(m);
	m->data_off = (uint16_t)q->offset;
	m->data_len = (uint16_t)wc->byte_len;
	m->pkt_len = wc->byte_len;
	meta->qpn = wc->src_qp;
	meta->slid = wc->slid;
	meta->grh = (wc->wc_flags & IBV_WC_GRH) != 0;
	if (rte_ring_sp_enqueue(q->slow, m) != 0) {
		q->n.drop[IPOIB_DROP_RX_RING_FULL]++;
		rte_pktmbuf_free(m);
		return;
	}
	q->n.handed++;
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

/* Of a received packet, as it lies in an mbuf from its packet type on. */
struct received {
	uint32_t type, pkt_len;
	uint16_t data_len, vlan_tci;
	uint32_t hash;
};
static_assert(offsetof(struct rte_mbuf, pkt_len) == offsetof(struct rte_mbuf, packet_type) + 4 &&
		      offsetof(struct rte_mbuf, data_len) == offsetof(struct rte_mbuf, packet_type) + 8 &&
		      offsetof(struct rte_mbuf, vlan_tci) == offsetof(struct rte_mbuf, packet_type) + 10,
	      "they are written together");

/* What the card says of checksums, as a factor of the flag by which it does. */
#define GOOD_SUMS ((RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD) / IBV_WC_IP_CSUM_OK)

/* A burst at work: the sender of the last packet is often that of the next. */
struct burst {
	const struct ipoib_view *v;
	uint64_t key, head; /* head: our MAC, and the first two octets of the sender's */
	uint64_t bytes;
	uint32_t src_high; /* the others */
	bool locals;       /* somebody has another MAC than ours */
};

/* Damaged, or shorter than its headers. */
static __rte_noinline void
refuse(struct ipoib_rxq *q, struct rte_mbuf *m, enum ibv_wc_status status)
{
	q->n.drop[status != IBV_WC_SUCCESS ? IPOIB_DROP_RX_ERROR : IPOIB_DROP_RX_SHORT]++;
	rte_mempool_put(m->pool, m);
}

/* Writes a received packet's mbuf; its frame begins at data_off. */
static __rte_always_inline void
fill_mbuf(const struct ipoib_rxq *q, struct rte_mbuf *m, uint32_t len, uint64_t flags)
{
	const struct received r = {.pkt_len = len, .data_len = (uint16_t)len};

	memcpy((uint8_t *)m + offsetof(struct rte_mbuf, data_off), &q->rearm, sizeof(q->rearm));
	m->ol_flags = flags;
	memcpy((uint8_t *)m + offsetof(struct rte_mbuf, packet_type), &r, sizeof(r));
}

/* The sender, when it is not the last packet's; false: nobody knows it. */
static __rte_always_inline bool
other_sender(struct burst *b, uint64_t key)
{
	const struct ipoib_rx_ent *from = ipoib_view_rx(b->v, key);

	if (unlikely(from == NULL))
		return false;
	if (unlikely(*from->touched == 0))
		*from->touched = 1;
	b->key = key;
	b->head = b->v->mac | from->mac << 48;
	b->src_high = (uint32_t)(from->mac >> 16);
	return true;
}

static bool
is_own(const struct ipoib_port *p, const struct burst *b, const struct ibv_wc *wc)
{
	uint32_t i;

	if (((wc->slid ^ b->v->lid) & b->v->lid_mask) != 0)
		return false;
	for (i = 0; i < p->num_own && wc->src_qp != p->own_qpn[i]; i++)
		;
	return i < p->num_own;
}

/* Does a packet with a GRH go on, and to which address? */
static __rte_noinline bool
to_group(struct ipoib_rxq *q, const struct burst *b, struct rte_mbuf *m, const struct ibv_wc *wc, uint64_t *dst)
{
	const uint8_t *base = (const uint8_t *)m->buf_addr + q->offset;

	if (base[24] != 0xff)
		return true;
	if (is_own(q->port, b, wc)) {
		q->n.drop[IPOIB_DROP_RX_OWN]++;
		rte_mempool_put(m->pool, m);
		return false;
	}
	q->n.multicast++;
	*dst = group_mac(q->port, base);
	if (*dst != 0)
		return true;
	hand_over(q, m, wc);
	return false;
}

/* One packet. False: it is not the application's, or not yet. */
static __rte_always_inline bool
take(struct ipoib_rxq *q, struct burst *b, struct rte_mbuf *m, const struct ibv_wc *wc)
{
	uint8_t *base = (uint8_t *)m->buf_addr + q->offset;
	uint64_t dst = 0, key = ipoib_rx_key(wc->slid, wc->src_qp), head;
	uint32_t len = wc->byte_len - IPOIB_RX_SHIFT;
	unsigned int flags = wc->wc_flags;
	uint16_t etype;

	if (unlikely(wc->status != IBV_WC_SUCCESS || wc->byte_len < IPOIB_UD_HEAD + 20)) {
		refuse(q, m, wc->status);
		return false;
	}
	if (unlikely((flags & IBV_WC_GRH) != 0) && !to_group(q, b, m, wc, &dst))
		return false;
	memcpy(&etype, base + IB_GRH_LEN, sizeof(etype));
	if (unlikely((key != b->key && !other_sender(b, key)) ||
		     !ipoib_plain(etype, base + IPOIB_UD_HEAD, IPOIB_TO_ETH))) {
		hand_over(q, m, wc);
		return false;
	}
	head = b->head;
	if (unlikely(dst != 0 || b->locals)) {
		dst = dst != 0 ? dst : ipoib_view_local_mac(b->v, etype, base + IPOIB_UD_HEAD);
		head = (head & ~IPOIB_MAC_MASK) | dst;
	}
	/* Destination and source, then the EtherType over the end of the GRH and the encapsulation. */
	memcpy(base + IPOIB_RX_SHIFT, &head, 8);
	memcpy(base + IPOIB_RX_SHIFT + 8, &b->src_high, 4);
	memcpy(base + IPOIB_RX_SHIFT + 12, &etype, sizeof(etype));
	fill_mbuf(q, m, len, (flags & IBV_WC_IP_CSUM_OK) * GOOD_SUMS);
	b->bytes += len;
	return true;
}

/* Packets that the card has received, behind the got ones that there are; how many there are then. *done: completions. */
static __rte_always_inline uint32_t
receive(struct ipoib_rxq *q, struct burst *b, struct rte_mbuf **pkts, uint32_t got, uint16_t n, int *done)
{
	struct ibv_wc wc[IPOIB_BURST];
	int i;

	*done = got < n ? ibv_poll_cq(q->cq, (int)RTE_MIN((uint32_t)(n - got), IPOIB_BURST), wc) : 0;
	for (i = 0; i < *done; i++) {
		struct rte_mbuf *m = (struct rte_mbuf *)(uintptr_t)wc[i].wr_id;

		if (i + 2 < *done)
			rte_prefetch0((uint8_t *)((struct rte_mbuf *)(uintptr_t)wc[i + 2].wr_id)->buf_addr + q->offset);
		pkts[got] = m;
		got += take(q, b, m, &wc[i]);
	}
	if (*done > 0)
		q->missing += (uint32_t)*done;
	return got;
}

void
ipoib_rx_drain(struct ipoib_rxq *q, const struct ipoib_view *v)
{
	struct burst b = {.v = v, .locals = v->locals != 0};
	struct rte_mbuf *pkts[IPOIB_BURST];
	uint32_t got, put;
	int done;

	do {
		got = receive(q, &b, pkts, 0, IPOIB_BURST, &done);
		put = rte_ring_sp_enqueue_burst(q->inject, (void **)pkts, got, NULL);
		q->n.drop[IPOIB_DROP_RX_RING_FULL] += got - put;
		rte_pktmbuf_free_bulk(pkts + put, got - put);
	} while (done > 0);
}

uint16_t
ipoib_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct ipoib_rxq *q = queue;
	struct burst b = {0};
	uint32_t got = 0;
	int done, i;

	ipoib_turn_begin(&q->turn);
	b.v = ipoib_view_now(q->port);
	if (unlikely(b.v == NULL)) {
		ipoib_turn_end(&q->turn);
		return 0;
	}
	b.locals = b.v->locals != 0;
	if (unlikely(!rte_ring_empty(q->inject))) {
		got = rte_ring_sc_dequeue_burst(q->inject, (void **)pkts, n, NULL);
		for (i = 0; i < (int)got; i++)
			b.bytes += pkts[i]->pkt_len;
	}
	got = receive(q, &b, pkts, got, n, &done);
	/* Connections are the first queue's. */
	if (unlikely(b.v->cm != NULL) && q->id == 0 && got < n)
		got += ipoib_cm_rx(q, b.v, pkts + got, (uint16_t)(n - got));
	q->n.packets += got;
	q->n.bytes += b.bytes;
	if (q->missing >= IPOIB_BURST / 2)
		ipoib_rx_fill(q);
	ipoib_turn_end(&q->turn);
	return (uint16_t)got;
}
