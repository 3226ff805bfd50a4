/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Packets on their way out. The payload is copied into the packet: the CRC has to read every byte of it anyway, and a
 * packet that refers to nobody's memory can wait in the port's ring as long as it likes, also when it is a repetition of
 * something that was acknowledged meanwhile and whose buffer the application has long used for something else.
 */
#include <string.h>

#include "gate.h"
#include "wire_eth.h"

/* Lengths, IPv4's number and checksum; total: from the BTH through the ICRC. The number, 0 of what has none. */
static inline uint16_t
put_lengths(struct rsw_route *r, uint8_t *h, uint32_t total)
{
	uint8_t *l3 = h + r->l3;
	uint32_t len;
	uint16_t id;

	switch (r->kind) {
	case TROCE_ICRC_GRH: ib_put16(l3 + 4, (uint16_t)total); return 0;
	case TROCE_ICRC_IPV4_UDP:
		len = RSW_IPV4_LEN + RSW_UDP_LEN + total;
		id = r->ip_id++;
		ib_put16(l3 + 2, (uint16_t)len);
		ib_put16(l3 + 4, id);
		ib_put16(l3 + 10, (uint16_t)~rsw_sum_fold(r->ip_sum + len + id));
		ib_put16(l3 + RSW_IPV4_LEN + 4, (uint16_t)(RSW_UDP_LEN + total));
		return id;
	default:
		ib_put16(l3 + 4, (uint16_t)(RSW_UDP_LEN + total));
		ib_put16(l3 + RSW_IPV6_LEN + 4, (uint16_t)(RSW_UDP_LEN + total));
		return 0;
	}
}

/* Of one path only lengths and numbers differ, and lengths of neighbours seldom. */
static inline uint32_t
crc_of_headers(struct rsw_route *r, const uint8_t *h, uint32_t total, uint16_t id)
{
	if (r->crc_len != total) {
		r->crc = troce_icrc_net(r->kind, h + r->l3) ^ troce_icrc_id(id);
		r->crc_len = total;
	}
	return r->crc ^ troce_icrc_id(id);
}

void
rsw_build(const struct rsw_dev *d, struct rsw_route *r, const struct tre_out *out, struct rte_mbuf *m)
{
	uint32_t total = out->hlen + out->len + out->pad + IB_ICRC_LEN;
	uint8_t *h = rte_pktmbuf_mtod(m, uint8_t *), *bth = h + r->len, *p;
	uint16_t id;

	/* Blocks of fixed size: what is too much is written over. */
	memcpy(h, r->hdr, RSW_HDR_MAX);
	memcpy(bth, out->hdr, IB_HDR_MAX);
	p = bth + out->hlen;
	for (uint32_t i = 0; i < out->num_iov; i++) {
		memcpy(p, out->iov[i].iov_base, out->iov[i].iov_len);
		p += out->iov[i].iov_len;
	}
	memset(p, 0, 4);
	p += out->pad;
	id = put_lengths(r, h, total);
	/* A byte that may change on the way counts as ones; what is sent in it is zero. */
	bth[4] = 0xff;
	troce_icrc_put(troce_crc32(crc_of_headers(r, h, total, id), bth, (size_t)(p - bth)), p);
	bth[4] = 0;
	m->ol_flags = r->ol_flags;
	m->vlan_tci = r->tci;
	m->data_len = (uint16_t)(r->len + total);
	m->pkt_len = m->data_len;
}

void
rsw_tx_flush(struct rsw_dev *d)
{
	uint16_t sent;

	if (d->num_tx == 0)
		return;
	if (__builtin_expect(d->flushed, 0)) {
		rte_pktmbuf_free_bulk(d->tx, d->num_tx);
		d->num_tx = d->tx_shown = 0;
		return;
	}
	/* What did not fit last time was shown then. */
	troce_capture_burst(d->dev, d->tx + d->tx_shown, d->num_tx - d->tx_shown, true);
	sent = rte_eth_tx_burst(d->port, d->txq, d->tx, d->num_tx);
	d->num_tx -= sent;
	d->tx_shown = d->num_tx;
	if (d->num_tx != 0) {
		d->sw.tx_full++;
		memmove(d->tx, d->tx + sent, d->num_tx * sizeof(d->tx[0]));
	}
}

void
rsw_tx_free(struct rsw_dev *d)
{
	rte_pktmbuf_free_bulk(d->tx, d->num_tx);
	rte_pktmbuf_free_bulk(d->fresh, d->num_fresh);
	while (d->loop_head != d->loop_tail)
		rte_pktmbuf_free(d->loop[d->loop_head++ & (RSW_LOOP - 1)]);
	d->num_tx = d->num_fresh = d->tx_shown = 0;
}

static inline struct rte_mbuf *
fresh(struct rsw_dev *d)
{
	if (d->num_fresh == 0) {
		if (rte_pktmbuf_alloc_bulk(d->pool, d->fresh, RSW_FRESH) != 0) {
			d->sw.tx_no_mbuf++;
			return NULL;
		}
		d->num_fresh = RSW_FRESH;
	}
	return d->fresh[--d->num_fresh];
}

static inline bool
wire_has_room(struct rsw_dev *d)
{
	if (d->num_tx == RSW_TX)
		rsw_tx_flush(d);
	return d->num_tx != RSW_TX;
}

static inline bool
loop_has_room(const struct rsw_dev *d)
{
	return d->loop_tail - d->loop_head != RSW_LOOP;
}

static void
loop(struct rsw_dev *d, struct rte_mbuf *m)
{
	d->loop[d->loop_tail++ & (RSW_LOOP - 1)] = m;
	d->sw.looped++;
}

/* The port's own members of a group hear it, too (10.5.2.1). What cannot be copied is lost, as datagrams may be. */
static void
loop_group(struct rsw_dev *d, const struct rsw_route *r, const struct rte_mbuf *m)
{
	struct rte_mbuf *copy;

	if (!loop_has_room(d) || rsw_group_find(d, &r->dgid) == NULL)
		return;
	copy = rte_pktmbuf_copy(m, d->pool, 0, UINT32_MAX);
	if (copy != NULL)
		loop(d, copy);
	else
		d->sw.tx_no_mbuf++;
}

static inline bool
has_room(struct rsw_dev *d, const struct rsw_route *r)
{
	return __builtin_expect(r->to_self, 0) ? loop_has_room(d) : wire_has_room(d);
}

bool
rsw_tx_put(struct rsw_dev *d, const struct rsw_route *r, struct rte_mbuf *m)
{
	if (!has_room(d, r))
		return false;
	if (__builtin_expect(r->to_self, 0)) {
		loop(d, m);
		return true;
	}
	if (__builtin_expect(r->group, 0))
		loop_group(d, r, m);
	d->tx[d->num_tx++] = m;
	return true;
}

/* May a packet of a limited queue pair go now? If not, held_until says when. */
static bool
may_send(struct rsw_qp *qp, const struct rsw_route *r, const struct tre_out *out)
{
	const struct tcc_conf *c = &qp->d->cc[qp->cc_prio].conf;
	uint64_t now, at;

	/* Answers without data are not what fills queues, and the peer's rate depends on them. */
	if (out->len == 0)
		return true;
	now = rsw_now(qp->d);
	at = tcc_rp_next(&qp->rp, c, now);
	if (at > now) {
		qp->held_until = at;
		tre_held(&qp->e, at);
		return false;
	}
	tcc_rp_sent(&qp->rp, c, r->len + out->hlen + out->len + out->pad + IB_ICRC_LEN + RTE_ETHER_CRC_LEN, now);
	if (!qp->rp.limited) {
		qp->d->sw.cc_limited--;
		qp->route.gen = qp->d->gid_gen;
	}
	rsw_cc_note(qp);
	return true;
}

enum aside { GO, LOST, LATER };

/* A source address that was taken away: the packet is lost, as it would be behind a router without a route. */
static enum aside
look_aside(struct rsw_qp *qp, struct rsw_route *r, const struct tre_out *out)
{
	if (!rsw_route_check(qp->d, r)) {
		qp->d->sw.tx_no_gid++;
		return LOST;
	}
	if (r != &qp->route) {
		if (!r->ect || !qp->d->cc[r->prio].on)
			return GO;
		qp->cc_prio = r->prio;
	} else if (!qp->rp.limited) {
		return GO;
	}
	/* The next packet comes here, too. */
	r->gen = qp->d->gid_gen - 1;
	return !qp->rp.limited || may_send(qp, r, out) ? GO : LATER;
}

bool
rsw_xmit(struct tre_qp *e, struct tre_out *out)
{
	struct rsw_qp *qp = e->home;
	struct rsw_dev *d = qp->d;
	struct rsw_route *r = &qp->route;
	struct rte_mbuf *m;

	/* The engine hands the address of a datagram through as it was posted. */
	if (out->wqe != NULL)
		r = (struct rsw_route *)(uintptr_t)out->wqe->av;
	if (!has_room(d, r))
		return false;
	if (__builtin_expect(r->gen != d->gid_gen, 0)) {
		enum aside a = look_aside(qp, r, out);

		if (a != GO)
			return a == LOST;
	}
	m = fresh(d);
	if (m == NULL)
		return false;
	rsw_build(d, r, out, m);
	return rsw_tx_put(d, r, m);
}
