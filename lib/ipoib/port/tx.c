/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Transmit: the encapsulation header is written over the end of Ethernet's, in place. */
#include "port.h"
#include "slow.h"

/* Octets of a frame in front of the encapsulation header. */
#define SKIP (RTE_ETHER_HDR_LEN - IPOIB_ENCAP_LEN)
#define REAP_AT 64u                /* requests in flight before completions are looked for */
#define LOOKED_AT 62u              /* octets of a frame that may be looked at, there or not */
#define SHORTEST 34u               /* what is shorter is looked at with care */
#define ALONE UINT32_C(0x00010001) /* reference count and number of segments are 1 */
#define WISHES (IPOIB_TX_CHECKSUMS | RTE_MBUF_F_TX_TCP_SEG)
#define OTHERS (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)
static_assert(offsetof(struct rte_mbuf, nb_segs) == offsetof(struct rte_mbuf, refcnt) + 2, "both are read as one word");

static inline struct rte_mempool *
last_pool(struct ipoib_txq *q)
{
	return atomic_load_explicit(&q->last_pool, memory_order_relaxed);
}

/* Requests before this one are done; those from q->mixed on are buffers of the last pool and nothing else. */
static __rte_noinline void
release(struct ipoib_txq *q, uint32_t until)
{
	uint32_t at, n;

	for (; unlikely((int32_t)(q->mixed - q->tail) > 0) && q->tail != until; q->tail++)
		rte_pktmbuf_free(q->sent[q->tail & q->mask]);
	while (q->tail != until) {
		at = q->tail & q->mask;
		n = RTE_MIN(until - q->tail, q->size - at);
		rte_mempool_put_bulk(last_pool(q), (void **)&q->sent[at], n);
		q->tail += n;
	}
	q->mixed = (int32_t)(q->mixed - q->tail) > 0 ? q->mixed : q->tail;
}

void
ipoib_tx_reap(struct ipoib_txq *q)
{
	struct ibv_wc wc[8];
	int n, i;

	while ((n = ibv_poll_cq(q->cq, RTE_DIM(wc), wc)) > 0) {
		for (i = 0; i < n; i++) {
			if (unlikely(wc[i].status != IBV_WC_SUCCESS)) {
				q->n.drop[IPOIB_DROP_TX_ERROR]++;
				atomic_store_explicit(&q->broken, true, memory_order_relaxed);
			}
			/* Requests without a completion of their own are done with the next one that has. */
			if (likely((int32_t)((uint32_t)wc[i].wr_id - q->tail) > 0))
				release(q, (uint32_t)wc[i].wr_id);
		}
		if (n < (int)RTE_DIM(wc))
			return;
	}
}

void
ipoib_tx_forget(struct ipoib_txq *q)
{
	release(q, q->head);
}

static void
drop(struct ipoib_txq *q, enum ipoib_drop why, struct rte_mbuf *m)
{
	q->n.drop[why]++;
	rte_pktmbuf_free(m);
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
	q->n.multicast++;
	return g->ah;
}

/* Request k is the first one with a buffer of this pool. */
static __rte_noinline int
pool_key(struct ipoib_txq *q, struct rte_mempool *pool, uint32_t k)
{
	uint32_t lkey, i;

	if (ipoib_pool_lkey(q->port, pool, &lkey) != 0)
		return -1;
	for (i = k; i < IPOIB_BURST; i++)
		q->sge[i].lkey = lkey;
	q->rekey = k;
	atomic_store_explicit(&q->last_pool, pool, memory_order_relaxed);
	q->mixed = q->head + k;
	return 0;
}

/* Requests before the one where the pool changed get the new key, too. */
static __rte_noinline void
rekey(struct ipoib_txq *q)
{
	for (; q->rekey != 0; q->rekey--)
		q->sge[q->rekey - 1].lkey = q->sge[IPOIB_BURST - 1].lkey;
}

/* A burst at work: the neighbour of the last packet is often that of the next. */
struct burst {
	const struct ipoib_view *v;
	uint64_t mac;
	struct ibv_ah *ah;
	uint64_t bytes;
	uint32_t qpn, longest;
	struct rte_mbuf *large; /* to be cut, when there is one: its request stands alone */
};

/* len: with the Ethernet header, as b->longest. */
static __rte_noinline void
drop_long(struct ipoib_txq *q, const struct burst *b, struct rte_mbuf *m, uint32_t len)
{
	ipoib_note_long(&q->port->core, len - RTE_ETHER_HDR_LEN, b->longest - RTE_ETHER_HDR_LEN);
	drop(q, IPOIB_DROP_TX_LONG, m);
}

/* Segments, memory that nobody registered, buffers that others share: rare, so made simple. NULL: dropped. */
static __rte_noinline struct rte_mbuf *
simplify(struct ipoib_txq *q, const struct burst *b, struct rte_mbuf *m)
{
	struct rte_mbuf *copy;

	if (m->pkt_len > b->longest) {
		drop_long(q, b, m, m->pkt_len);
		return NULL;
	}
	copy = ipoib_copy(q->port->pool, m);
	rte_pktmbuf_free(m);
	if (copy == NULL)
		q->n.drop[IPOIB_DROP_TX_NO_MBUF]++;
	else
		q->n.copied++;
	return copy;
}

static __rte_always_inline bool
is_mine(const struct rte_mbuf *m, uint64_t flags)
{
	uint32_t alone;

	memcpy(&alone, (const uint8_t *)m + offsetof(struct rte_mbuf, refcnt), sizeof(alone));
	return alone == ALONE && (m->ol_flags & flags) == 0;
}

/* A packet that asks for more than to be sent: a buffer that can be sent, and the request's flags. NULL: not this way. */
static __rte_noinline struct rte_mbuf *
wishes(struct ipoib_txq *q, struct burst *b, struct rte_mbuf *m, unsigned int *send_flags)
{
	/* Without payload there is nothing to cut. */
	if ((m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0 && m->pkt_len > ipoib_tx_header(m)) {
		b->large = m;
		return NULL;
	}
	*send_flags = (m->ol_flags & WISHES) != 0 ? IBV_SEND_IP_CSUM : 0;
	return is_mine(m, OTHERS) ? m : simplify(q, b, m);
}

/* The neighbour of a MAC that is not the last packet's; false: the control thread must see the packet. */
static __rte_always_inline bool
other_mac(struct burst *b, uint64_t mac)
{
	const struct ipoib_tx_ent *to = ipoib_view_tx(b->v, mac);

	if (unlikely(to == NULL))
		return false;
	if (unlikely(*to->touched == 0))
		*to->touched = 1;
	b->mac = mac;
	b->ah = to->ah;
	b->qpn = to->qpn;
	return true;
}

/* Why a frame of this length does not go as it is; false: it goes. */
static __rte_noinline bool
odd_length(struct ipoib_txq *q, const struct burst *b, struct rte_mbuf *m)
{
	if (m->data_len > b->longest) {
		drop_long(q, b, m, m->data_len);
		return true;
	}
	/* Reads stay within the buffer. */
	if (m->data_len >= SHORTEST && m->buf_len - m->data_off >= (int)LOOKED_AT)
		return false;
	ipoib_tx_hand_over(q, m);
	return true;
}

/* Prepares the request of number at for a packet. False: the packet went another way. */
static __rte_always_inline bool
prepare(struct ipoib_txq *q, struct burst *b, struct rte_mbuf *m, struct ibv_send_wr *wr, struct ibv_sge *sge,
	uint32_t at)
{
	unsigned int send_flags = 0;
	uint32_t encap, len;
	uint16_t etype;
	uint64_t mac;
	uint8_t *p;

	if (unlikely(!is_mine(m, OTHERS | WISHES))) {
		m = wishes(q, b, m, &send_flags);
		if (m == NULL)
			return false;
	}
	p = rte_pktmbuf_mtod(m, uint8_t *);
	len = m->data_len;
	if (unlikely(len - LOOKED_AT > b->longest - LOOKED_AT) && odd_length(q, b, m))
		return false;
	memcpy(&etype, p + 12, sizeof(etype));
	memcpy(&mac, p, sizeof(mac));
	mac &= IPOIB_MAC_MASK;
	if (unlikely(!ipoib_plain(etype, p + RTE_ETHER_HDR_LEN, IPOIB_TO_IB)))
		goto hand_over;
	if (likely(mac == b->mac) || ((p[0] & 1) == 0 && other_mac(b, mac))) {
		wr->wr.ud.ah = b->ah;
		wr->wr.ud.remote_qpn = b->qpn;
	} else {
		wr->wr.ud.ah = (p[0] & 1) != 0 ? group_ah(q, b->v, p, etype) : NULL;
		wr->wr.ud.remote_qpn = IB_MCAST_QPN;
		if (wr->wr.ud.ah == NULL)
			goto hand_over;
	}
	if (unlikely(m->pool != last_pool(q)) && pool_key(q, m->pool, (uint32_t)(wr - q->wr)) != 0) {
		drop(q, IPOIB_DROP_TX_ERROR, m);
		return false;
	}
	wr->send_flags = send_flags;
	encap = etype; /* the reserved half is zero */
	memcpy(p + SKIP, &encap, sizeof(encap));
	sge->addr = (uintptr_t)p + SKIP;
	sge->length = len - SKIP;
	b->bytes += len;
	q->sent[at & q->mask] = m;
	return true;

hand_over:
	ipoib_tx_hand_over(q, m);
	return false;
}

/* Posts the first k requests. */
static inline void
post(struct ipoib_txq *q, uint32_t k)
{
	struct ibv_send_wr *bad, *last = &q->wr[k - 1];
	uint32_t taken = k;

	last->next = NULL;
	last->send_flags |= IBV_SEND_SIGNALED;
	last->wr_id = (uint32_t)(q->head + k);
	if (unlikely(ibv_post_send(q->qp, q->wr, &bad) != 0)) {
		taken = (uint32_t)(bad - q->wr);
		for (uint32_t i = taken; i < k; i++)
			drop(q, IPOIB_DROP_TX_ERROR, q->sent[(q->head + i) & q->mask]);
		atomic_store_explicit(&q->broken, true, memory_order_relaxed);
	}
	last->next = &q->wr[k % IPOIB_BURST];
	q->head += taken;
	q->n.packets += taken;
	if (unlikely(q->rekey != 0))
		rekey(q);
}

/* The elements of a large send's payload, behind head octets; 0: it has none, or too many. */
static int
tso_list(struct ipoib_txq *q, struct rte_mbuf *m, uint32_t head)
{
	int n = 0;

	for (; m != NULL; m = m->next, head = 0) {
		struct ibv_sge *s = &q->tso_sge[n];

		if (m->data_len == head)
			continue;
		if (n == q->tso_segs || ipoib_pool_lkey(q->port, m->pool, &s->lkey) != 0)
			return 0;
		s->addr = rte_pktmbuf_mtod_offset(m, uintptr_t, head);
		s->length = m->data_len - head;
		n++;
	}
	return n;
}

static bool
is_direct(const struct rte_mbuf *m)
{
	while (m != NULL && RTE_MBUF_DIRECT(m))
		m = m->next;
	return m == NULL;
}

/* A frame that the card cuts: its headers go with the request, so that nothing is written into its buffers. */
static __rte_noinline void
send_large(struct ipoib_txq *q, struct burst *b, struct rte_mbuf *m)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_TSO, .send_flags = IBV_SEND_SIGNALED, .sg_list = q->tso_sge}, *bad;
	uint8_t hdr[IPOIB_TSO_HEADER + SKIP];
	uint32_t len = ipoib_tx_header(m);
	struct rte_mbuf *copy;
	uint64_t mac;

	if (q->tso_segs == 0 || m->l2_len != RTE_ETHER_HDR_LEN || len > sizeof(hdr) || len > m->data_len ||
	    m->tso_segsz == 0) {
		drop(q, IPOIB_DROP_TX_TSO, m);
		return;
	}
	if (len + m->tso_segsz > b->longest) {
		drop_long(q, b, m, len + m->tso_segsz);
		return;
	}
	memcpy(hdr, rte_pktmbuf_mtod(m, uint8_t *), len);
	memcpy(&mac, hdr, sizeof(mac));
	mac &= IPOIB_MAC_MASK;
	if ((hdr[0] & 1) != 0 || (mac != b->mac && !other_mac(b, mac))) {
		ipoib_tx_hand_over(q, m);
		return;
	}
	if (!is_direct(m)) {
		copy = rte_pktmbuf_copy(m, q->port->pool, 0, UINT32_MAX);
		rte_pktmbuf_free(m);
		if (copy == NULL) {
			q->n.drop[IPOIB_DROP_TX_NO_MBUF]++;
			return;
		}
		q->n.copied++;
		m = copy;
	}
	wr.num_sge = tso_list(q, m, len);
	memcpy(hdr + SKIP, hdr + 12, 2);
	memset(hdr + SKIP + 2, 0, 2);
	wr.tso.hdr = hdr + SKIP;
	wr.tso.hdr_sz = (uint16_t)(len - SKIP);
	wr.tso.mss = m->tso_segsz;
	wr.wr.ud.ah = b->ah;
	wr.wr.ud.remote_qpn = b->qpn;
	wr.wr.ud.remote_qkey = q->qkey;
	wr.wr_id = (uint32_t)(q->head + 1);
	if (wr.num_sge == 0 || ibv_post_send(q->qp, &wr, &bad) != 0) {
		drop(q, IPOIB_DROP_TX_TSO, m);
		return;
	}
	q->sent[q->head++ & q->mask] = m;
	q->mixed = q->head;
	q->n.packets++;
	q->n.large++;
	b->bytes += m->pkt_len;
}

uint16_t
ipoib_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct ipoib_txq *q = queue;
	struct rte_mbuf *rest[IPOIB_BURST], **end;
	struct burst b = {0};
	uint16_t i, taken;
	uint32_t room;

	ipoib_turn_begin(&q->turn);
	b.v = ipoib_view_now(q->port);
	if (q->head - q->tail >= REAP_AT)
		ipoib_tx_reap(q);
	room = q->size - (q->head - q->tail);
	n = (uint16_t)RTE_MIN(n, room);
	if (unlikely(b.v == NULL || !b.v->up || q->broken || q->stopped)) {
		/* Without a carrier, frames go nowhere, as on any port; counted. */
		for (i = 0; b.v != NULL && i < n; i++)
			drop(q, q->stopped ? IPOIB_DROP_TX_STOPPED : IPOIB_DROP_TX_DOWN, pkts[i]);
		ipoib_turn_end(&q->turn);
		return i;
	}
	b.longest = b.v->mtu + RTE_ETHER_HDR_LEN;
	taken = n;
	if (unlikely(b.v->cm != NULL)) {
		taken = ipoib_cm_tx(q, b.v, pkts, (uint16_t)RTE_MIN(n, IPOIB_BURST), rest, &n);
		pkts = rest;
	}
	for (end = pkts + n; pkts != end;) {
		struct rte_mbuf **stop = pkts + RTE_MIN((size_t)(end - pkts), IPOIB_BURST);
		struct ibv_send_wr *wr = q->wr;
		struct ibv_sge *sge = q->sge;
		uint32_t at = q->head;

		for (; pkts != stop; pkts++) {
			if (pkts + 4 < end)
				rte_prefetch0(rte_pktmbuf_mtod(pkts[4], void *));
			if (likely(prepare(q, &b, *pkts, wr, sge, at))) {
				wr++;
				sge++;
				at++;
			} else if (b.large != NULL) {
				if (wr != q->wr)
					post(q, (uint32_t)(wr - q->wr));
				wr = q->wr;
				sge = q->sge;
				send_large(q, &b, b.large);
				at = q->head;
				b.large = NULL;
			}
		}
		if (likely(wr != q->wr))
			post(q, (uint32_t)(wr - q->wr));
	}
	q->n.bytes += b.bytes;
	ipoib_turn_end(&q->turn);
	return taken;
}
