/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Transmit in connected mode: what has a connection goes by it, the rest are datagrams or the control thread's. */
#include "cm.h"
#include "slow.h"

#define SKIP (RTE_ETHER_HDR_LEN - IPOIB_ENCAP_LEN)
#define LOOKED_AT 62u /* octets of a frame that are looked at, there or not */
#define SHORTEST 34u
#define WISHES (IPOIB_TX_CHECKSUMS | RTE_MBUF_F_TX_TCP_SEG)

static void
slot_done(struct ipoib_cm *cm, uint32_t no, bool ok)
{
	struct ipoib_slot *s = &cm->slot[no];
	struct ipoib_rc *rc = s->rc;

	atomic_store_explicit(&rc->inflight, rc->inflight - 1, memory_order_relaxed);
	atomic_store_explicit(&rc->done, rc->done + 1, memory_order_relaxed);
	if (unlikely(!ok)) {
		cm->port->txq[0]->n.drop[IPOIB_DROP_TX_ERROR] += !rc->closing;
		atomic_store(&rc->broken, true);
		atomic_store(&cm->trouble, true);
	}
	rte_pktmbuf_free(s->m);
	*s = (struct ipoib_slot){NULL, NULL};
	cm->slots[cm->num_slots++] = no;
}

void
ipoib_cm_reap(struct ipoib_cm *cm)
{
	struct ibv_wc wc[IPOIB_BURST];
	int n, i;

	do {
		n = ibv_poll_cq(cm->scq, RTE_DIM(wc), wc);
		for (i = 0; i < n; i++)
			slot_done(cm, (uint32_t)wc[i].wr_id, wc[i].status == IBV_WC_SUCCESS);
	} while (n == RTE_DIM(wc));
}

bool
ipoib_cm_all_sent(struct ipoib_cm *cm)
{
	ipoib_cm_reap(cm);
	return cm->num_slots == IPOIB_RC_SLOTS;
}

static int
pool_key(struct ipoib_cm *cm, struct rte_mempool *pool)
{
	if (likely(pool == cm->last_pool))
		return 0;
	if (ipoib_pool_lkey(cm->port, pool, &cm->last_lkey) != 0)
		return -1;
	cm->last_pool = pool;
	return 0;
}

/* The buffers of a packet from skip octets on; how many, 0: one cannot be registered. */
static int
gather(struct ipoib_cm *cm, struct rte_mbuf *m, uint32_t skip, struct ibv_sge *sge)
{
	int n = 0;

	for (; m != NULL; m = m->next, skip = 0) {
		if (unlikely(pool_key(cm, m->pool) != 0))
			return 0;
		sge[n] = (struct ibv_sge){.addr = rte_pktmbuf_mtod_offset(m, uintptr_t, skip),
					  .length = m->data_len - skip,
					  .lkey = cm->last_lkey};
		n += sge[n].length != 0;
	}
	return n;
}

bool
ipoib_cm_post(struct ipoib_cm *cm, struct ipoib_rc *rc, struct rte_mbuf *m, uint32_t skip)
{
	struct ibv_sge sge[IPOIB_RC_SGES + 1];
	struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED, .sg_list = sge};
	uint32_t no;

	if (rc->inflight == IPOIB_RC_SENDS || cm->num_slots == 0)
		return false;
	no = cm->slots[--cm->num_slots];
	cm->slot[no] = (struct ipoib_slot){m, rc};
	atomic_store_explicit(&rc->inflight, rc->inflight + 1, memory_order_relaxed);
	wr.wr_id = no;
	wr.num_sge = gather(cm, m, skip, sge);
	if (unlikely(wr.num_sge == 0 || ibv_post_send(rc->qp, &wr, &bad) != 0)) {
		slot_done(cm, no, false);
		return true;
	}
	cm->port->n.cm_tx++;
	return true;
}

/* What the card can read as it is, and nobody else reads where the header is written. */
static bool
is_plain_chain(const struct rte_mbuf *m, uint32_t sges)
{
	if (rte_mbuf_refcnt_read(m) != 1 || m->nb_segs > sges)
		return false;
	for (; m != NULL; m = m->next)
		if (!RTE_MBUF_DIRECT(m))
			return false;
	return true;
}

/* In buffers of the port's own pool. The packet is freed; NULL: no memory, or more of it than a request takes. */
static __rte_noinline struct rte_mbuf *
copy_of(struct ipoib_cm *cm, struct rte_mbuf *m)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(m, cm->port->pool, 0, UINT32_MAX);

	if (copy != NULL && copy->nb_segs > cm->sges) {
		rte_pktmbuf_free(copy);
		copy = NULL;
	}
	rte_pktmbuf_free(m);
	return copy;
}

void
ipoib_cm_send(struct ipoib_port *p, struct ipoib_conn *conn, struct rte_mbuf *m)
{
	struct ipoib_cm *cm = p->cm;

	if (!is_plain_chain(m, cm->sges)) {
		m = copy_of(cm, m);
		if (m == NULL) {
			p->core.stats.drop[IPOIB_DROP_TX_NO_MBUF]++;
			return;
		}
	}
	if ((m->ol_flags & IPOIB_TX_CHECKSUMS) != 0 && !ipoib_cm_sums(m, IPOIB_ENCAP_LEN)) {
		ipoib_drop(&p->core, IPOIB_DROP_TX_SHORT, m);
		return;
	}
	/* The queue pair is the bursts'; without a snapshot they stay away from it. */
	ipoib_publish(p, NULL);
	p->core.dirty = true;
	ipoib_cm_reap(cm);
	if (!ipoib_cm_post(cm, conn->home, m, 0))
		ipoib_drop(&p->core, IPOIB_DROP_TX_WAIT_FULL, m);
	else
		p->n.slow_sent++;
}

bool
ipoib_cm_stalled(struct ipoib_rc *rc, uint64_t now_ms)
{
	struct ipoib_port *p = rc->port;
	uint32_t before = rc->stall_done;
	bool was_busy = rc->stall_busy;

	if (now_ms < rc->stall_ms)
		return false;
	rc->stall_ms = now_ms + IPOIB_RC_STALL_MS;
	/* Nobody has looked for completions since the application's last burst. */
	if (rc->inflight != 0) {
		ipoib_publish(p, NULL);
		p->core.dirty = true;
		ipoib_cm_reap(p->cm);
	}
	rc->stall_done = rc->done;
	rc->stall_busy = rc->inflight != 0;
	return was_busy && rc->stall_busy && rc->done == before;
}

enum way { BY_CONN, IN_PARTS, AS_DATAGRAM, BY_CONTROL };

/* So many parts are enough for a large send. */
static inline bool
parts_fit(const struct rte_mbuf *m, uint32_t parts)
{
	return m->pkt_len <= ipoib_tx_header(m) + parts * m->tso_segsz;
}

static enum way
way_of(const struct ipoib_view *v, const struct rte_mbuf *m, const struct ipoib_cm_ent **to)
{
	bool tso = (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
	enum way other = !tso && m->pkt_len > v->mtu + RTE_ETHER_HDR_LEN ? BY_CONTROL : AS_DATAGRAM;
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct ipoib_tx_ent *e;
	const struct ipoib_rc *rc;
	uint16_t etype;
	uint64_t mac;

	if (m->data_len < SHORTEST || m->buf_len - m->data_off < (int)LOOKED_AT || (p[0] & 1) != 0)
		return other;
	memcpy(&mac, p, sizeof(mac));
	memcpy(&etype, p + 12, sizeof(etype));
	e = ipoib_view_tx(v, mac & IPOIB_MAC_MASK);
	if (e == NULL || !ipoib_plain(etype, p + RTE_ETHER_HDR_LEN, IPOIB_TO_IB))
		return other;
	*to = &v->cm[e - v->tx];
	rc = (*to)->rc;
	if ((*to)->ask)
		return tso ? AS_DATAGRAM : BY_CONTROL;
	if (rc == NULL || atomic_load_explicit(&rc->broken, memory_order_relaxed))
		return other;
	if (tso && !parts_fit(m, 1))
		/* More parts than a connection takes at a time are short ones, which the card cuts. */
		return parts_fit(m, IPOIB_RC_SENDS) ? IN_PARTS : AS_DATAGRAM;
	return m->pkt_len > (*to)->mtu + RTE_ETHER_HDR_LEN ? BY_CONTROL : BY_CONN;
}

/* A frame of our own goes by a connection that has room. */
static void
post_frame(struct ipoib_txq *q, struct ipoib_rc *rc, struct rte_mbuf *m)
{
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t encap = 0, len = m->pkt_len;

	memcpy(&encap, p + 12, sizeof(uint16_t)); /* the reserved half is zero */
	memcpy(p + SKIP, &encap, sizeof(encap));
	(void)ipoib_cm_post(q->port->cm, rc, m, SKIP);
	q->n.packets++;
	q->n.bytes += len;
}

static void
drop(struct ipoib_txq *q, enum ipoib_drop why, struct rte_mbuf *m)
{
	q->n.drop[why]++;
	rte_pktmbuf_free(m);
}

/* False: the connection has no room, the packet stays the application's. */
static bool
send_one(struct ipoib_txq *q, const struct ipoib_cm_ent *to, struct rte_mbuf *m)
{
	struct ipoib_cm *cm = q->port->cm;
	struct ipoib_rc *rc = to->rc;

	if (rc->inflight == IPOIB_RC_SENDS || cm->num_slots == 0)
		return false;
	if (unlikely(!is_plain_chain(m, cm->sges))) {
		m = copy_of(cm, m);
		if (m == NULL) {
			q->n.drop[IPOIB_DROP_TX_NO_MBUF]++;
			return true;
		}
		q->n.copied++;
	}
	if (unlikely((m->ol_flags & WISHES) != 0) && !ipoib_cm_sums(m, RTE_ETHER_HDR_LEN)) {
		drop(q, IPOIB_DROP_TX_SHORT, m);
		return true;
	}
	*to->touched = 1;
	post_frame(q, rc, m);
	return true;
}

/* The same for a large send, which the card does not cut on a connection. */
static __rte_noinline bool
send_parts(struct ipoib_txq *q, const struct ipoib_cm_ent *to, struct rte_mbuf *m)
{
	struct ipoib_cm *cm = q->port->cm;
	uint32_t head = ipoib_tx_header(m), at, no = 0;
	struct ipoib_rc *rc = to->rc;
	struct rte_mbuf *part;

	if (!ipoib_cm_can_cut(m)) {
		drop(q, IPOIB_DROP_TX_TSO, m);
		return true;
	}
	if (head + m->tso_segsz > to->mtu + RTE_ETHER_HDR_LEN) {
		ipoib_note_long(&q->port->core, head + m->tso_segsz - RTE_ETHER_HDR_LEN, to->mtu);
		drop(q, IPOIB_DROP_TX_LONG, m);
		return true;
	}
	if (!parts_fit(m, RTE_MIN(IPOIB_RC_SENDS - rc->inflight, cm->num_slots)))
		return false;
	*to->touched = 1;
	for (at = head; at < m->pkt_len; at += m->tso_segsz) {
		part = ipoib_cm_cut(m, q->port->pool, no++);
		if (part == NULL || part->nb_segs > cm->sges) {
			rte_pktmbuf_free(part);
			q->n.drop[IPOIB_DROP_TX_NO_MBUF]++;
			break;
		}
		post_frame(q, rc, part);
	}
	rte_pktmbuf_free(m);
	return true;
}

uint16_t
ipoib_cm_tx(struct ipoib_txq *q, const struct ipoib_view *v, struct rte_mbuf **pkts, uint16_t n, struct rte_mbuf **rest,
	    uint16_t *num_rest)
{
	uint16_t i, k = 0;
	bool sent = true;

	ipoib_cm_reap(q->port->cm);
	for (i = 0; i < n; i++) {
		const struct ipoib_cm_ent *to = NULL;

		switch (way_of(v, pkts[i], &to)) {
		case AS_DATAGRAM: rest[k++] = pkts[i]; break;
		case BY_CONTROL: ipoib_tx_hand_over(q, pkts[i]); break;
		case BY_CONN: sent = send_one(q, to, pkts[i]); break;
		case IN_PARTS: sent = send_parts(q, to, pkts[i]); break;
		}
		if (!sent)
			break;
	}
	*num_rest = k;
	return i;
}
