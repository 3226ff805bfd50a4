/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Transmit: the encapsulation header is written over the end of Ethernet's, in place. */
#include "port.h"
#include "slow.h"

/* Octets of a frame in front of the encapsulation header. */
#define SKIP (RTE_ETHER_HDR_LEN - IPOIB_ENCAP_LEN)
#define REAP_AT 64u /* requests in flight before completions are looked for */

void
ipoib_tx_reap(struct ipoib_txq *q)
{
	struct ibv_wc wc[8];
	int n, i;

	while ((n = ibv_poll_cq(q->cq, RTE_DIM(wc), wc)) > 0) {
		for (i = 0; i < n; i++) {
			uint32_t until = (uint32_t)wc[i].wr_id;

			if (unlikely(wc[i].status != IBV_WC_SUCCESS)) {
				q->drop[IPOIB_DROP_TX_ERROR]++;
				atomic_store_explicit(&q->broken, true, memory_order_relaxed);
			}
			/* Requests without a completion of their own are done with the next one that has. */
			for (; (int32_t)(until - q->tail) > 0; q->tail++)
				rte_pktmbuf_free_seg(q->sent[q->tail & q->mask]);
		}
		if (n < (int)RTE_DIM(wc))
			return;
	}
}

static void
drop(struct ipoib_txq *q, enum ipoib_drop why, struct rte_mbuf *m)
{
	q->drop[why]++;
	rte_pktmbuf_free(m);
}

static __rte_noinline void
hand_over(struct ipoib_txq *q, struct rte_mbuf *m)
{
	/* The control thread writes where others may read. */
	if (rte_mbuf_refcnt_read(m) != 1 || !RTE_MBUF_DIRECT(m)) {
		struct rte_mbuf *copy = rte_pktmbuf_copy(m, q->port->pool, 0, UINT32_MAX);

		rte_pktmbuf_free(m);
		if (copy == NULL) {
			q->drop[IPOIB_DROP_TX_NO_MBUF]++;
			return;
		}
		m = copy;
	}
	if (rte_ring_sp_enqueue(q->slow, m) != 0)
		drop(q, IPOIB_DROP_TX_RING_FULL, m);
	else
		q->handed++;
}

/* Where a group's packet goes; NULL: the control thread must see it. */
static __rte_noinline struct ibv_ah *
group_ah(struct ipoib_txq *q, const struct ipoib_view *v, const uint8_t *p, uint16_t etype)
{
	const struct ipoib_group_ent *g;
	uint8_t mgid[16];
	uint64_t id[2];

	if ((p[0] & p[5]) == 0xff && p[1] == 0xff) {
		memcpy(id, v->broadcast, sizeof(id));
	} else if (etype == RTE_BE16(RTE_ETHER_TYPE_IPV4)) {
		if ((p[30] & 0xf0) != 0xe0)
			return NULL;
		memcpy(mgid, &v->v4, 8);
		memset(mgid + 8, 0, 4);
		memcpy(mgid + 12, p + 30, 4);
		mgid[12] &= 0x0f;
		memcpy(id, mgid, sizeof(id));
	} else {
		if (p[38] != 0xff)
			return NULL;
		memcpy(mgid, &v->v6, 8);
		memcpy(mgid + 6, p + 44, 10);
		memcpy(id, mgid, sizeof(id));
	}
	g = ipoib_view_group(v, id);
	if (g == NULL)
		return NULL;
	*g->touched = 1;
	q->multicast++;
	return g->ah;
}

static __rte_noinline int
pool_key(struct ipoib_txq *q, struct rte_mempool *pool)
{
	if (ipoib_pool_lkey(q->port, pool, &q->last_lkey) != 0)
		return -1;
	q->last_pool = pool;
	return 0;
}

/* Segments, memory that nobody registered, buffers that others share: rare, so made simple. NULL: dropped. */
static __rte_noinline struct rte_mbuf *
simplify(struct ipoib_txq *q, struct rte_mbuf *m)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(m, q->port->pool, 0, UINT32_MAX);

	rte_pktmbuf_free(m);
	if (copy != NULL && copy->nb_segs != 1) {
		rte_pktmbuf_free(copy);
		copy = NULL;
	}
	if (copy == NULL)
		q->drop[IPOIB_DROP_TX_NO_MBUF]++;
	else
		q->copied++;
	return copy;
}

/* Prepares request k for a packet. False: the packet went another way. */
static __rte_always_inline bool
prepare(struct ipoib_txq *q, const struct ipoib_view *v, struct rte_mbuf *m, uint32_t k)
{
	struct ibv_send_wr *wr = &q->wr[k];
	const struct ipoib_tx_ent *to;
	uint32_t encap;
	uint16_t etype;
	uint64_t mac;
	uint8_t *p;

	if (unlikely(m->nb_segs != 1 || rte_mbuf_refcnt_read(m) != 1 || !RTE_MBUF_DIRECT(m))) {
		m = simplify(q, m);
		if (m == NULL)
			return false;
	}
	p = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(&etype, p + 12, sizeof(etype));
	memcpy(&mac, p, sizeof(mac));
	/* Reads stay within the buffer: it has 62 octets behind any data, or the frame is looked at with care. */
	if (unlikely(m->data_len < 34 || rte_pktmbuf_tailroom(m) + m->data_len < 64 ||
		     !ipoib_plain(etype, p + RTE_ETHER_HDR_LEN, IPOIB_TO_IB))) {
		hand_over(q, m);
		return false;
	}
	if (unlikely(m->data_len > v->mtu + RTE_ETHER_HDR_LEN)) {
		drop(q, IPOIB_DROP_TX_LONG, m);
		return false;
	}
	if (unlikely((p[0] & 1) != 0)) {
		wr->wr.ud.ah = group_ah(q, v, p, etype);
		wr->wr.ud.remote_qpn = IB_MCAST_QPN;
		if (wr->wr.ud.ah == NULL) {
			hand_over(q, m);
			return false;
		}
	} else {
		to = ipoib_view_tx(v, mac & IPOIB_MAC_MASK);
		if (unlikely(to == NULL)) {
			hand_over(q, m);
			return false;
		}
		wr->wr.ud.ah = to->ah;
		wr->wr.ud.remote_qpn = to->qpn;
		if (unlikely(*to->touched == 0))
			*to->touched = 1;
	}
	if (unlikely(m->pool != q->last_pool) && pool_key(q, m->pool) != 0) {
		drop(q, IPOIB_DROP_TX_ERROR, m);
		return false;
	}
	encap = etype; /* the reserved half is zero */
	memcpy(p + SKIP, &encap, sizeof(encap));
	q->sge[k].addr = (uintptr_t)p + SKIP;
	q->sge[k].length = m->data_len - SKIP;
	q->sge[k].lkey = q->last_lkey;
	q->sent[(q->head + k) & q->mask] = m;
	q->bytes += m->data_len;
	return true;
}

/* Posts the first k requests. */
static inline void
post(struct ipoib_txq *q, uint32_t k)
{
	struct ibv_send_wr *bad, *last = &q->wr[k - 1];
	uint32_t taken = k;

	last->next = NULL;
	last->send_flags = IBV_SEND_SIGNALED;
	last->wr_id = (uint32_t)(q->head + k);
	if (unlikely(ibv_post_send(q->qp, q->wr, &bad) != 0)) {
		taken = (uint32_t)(bad - q->wr);
		for (uint32_t i = taken; i < k; i++)
			drop(q, IPOIB_DROP_TX_ERROR, q->sent[(q->head + i) & q->mask]);
		atomic_store_explicit(&q->broken, true, memory_order_relaxed);
	}
	last->next = &q->wr[k % IPOIB_BURST];
	last->send_flags = 0;
	q->head += taken;
	q->packets += taken;
}

uint16_t
ipoib_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct ipoib_txq *q = queue;
	const struct ipoib_view *v;
	uint32_t room;
	uint16_t i;

	ipoib_turn_begin(&q->turn);
	v = ipoib_view_now(q->port);
	if (q->head - q->tail >= REAP_AT)
		ipoib_tx_reap(q);
	room = q->size - (q->head - q->tail);
	n = (uint16_t)RTE_MIN(n, room);
	if (unlikely(v == NULL || !v->up || q->broken)) {
		/* Without a carrier, frames go nowhere, as on any port; counted. */
		for (i = 0; v != NULL && i < n; i++)
			drop(q, IPOIB_DROP_TX_DOWN, pkts[i]);
		ipoib_turn_end(&q->turn);
		return i;
	}
	for (i = 0; i < n;) {
		uint32_t k = 0;

		while (i < n && k < IPOIB_BURST) {
			if (i + 4 < n)
				rte_prefetch0(rte_pktmbuf_mtod(pkts[i + 4], void *));
			k += prepare(q, v, pkts[i++], k);
		}
		if (likely(k != 0))
			post(q, k);
	}
	ipoib_turn_end(&q->turn);
	return n;
}
