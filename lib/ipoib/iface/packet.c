/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Packets that the datapath hands over: those that carry hardware addresses, reports, and the first ones to and of somebody. */
#include <netinet/icmp6.h>
#include <netinet/in.h>

#include <rte_ip.h>
#include <rte_udp.h>

#include "conn.h"
#include "lib/ipoib/wire/snoop.h"
#include "lib/ipoib/wire/xlate.h"

#define V4_DST 16u /* in the header of IPv4 */
#define V6_SRC 8u  /* in that of IPv6 */
#define V6_DST 24u
#define ND_TARGET 48u
#define LOOKED_AT 40u /* octets behind the header of Ethernet, in packets that are longer than a datagram */

/* A packet that is being looked at. */
struct work {
	struct ipoib_core *c;
	const struct rte_ether_addr *local; /* TO_ETH: whose MAC our own hardware address stands for */
	struct rte_ether_addr src;          /* TO_IB: of the frame */
	uint16_t etype;
	uint8_t *l3;
	uint32_t len;
	bool check; /* checksums are there */
};

static bool
hw_of(void *arg, const struct rte_ether_addr *mac, struct ipoib_hw *hw)
{
	struct work *w = arg;
	struct ipoib_remote *r;

	if (rte_is_same_ether_addr(mac, &w->src) || ipoib_local_has(w->c, mac)) {
		*hw = ipoib_own_hw(w->c);
		return true;
	}
	r = ipoib_remote_by_mac(w->c, mac);
	if (r == NULL || !r->named)
		return false;
	*hw = r->hw;
	return true;
}

static bool
mac_of(void *arg, const struct ipoib_hw *hw, struct rte_ether_addr *mac)
{
	struct work *w = arg;
	struct ipoib_hw own = ipoib_own_hw(w->c);
	struct ipoib_remote *r;

	if (ipoib_hw_same(hw, &own)) {
		*mac = *w->local;
		return true;
	}
	r = ipoib_remote_get(w->c, hw);
	if (r == NULL)
		return false;
	*mac = r->mac;
	return true;
}

/* A packet of its own for n octets behind head octets; NULL counts. */
static struct rte_mbuf *
fresh(struct ipoib_core *c, enum ipoib_drop none)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(c->pool);

	if (m == NULL)
		c->stats.drop[none]++;
	return m;
}

/* The translation of w in a fresh packet, with room for head octets in front; NULL: dropped and counted. */
static struct rte_mbuf *
translate(struct work *w, enum ipoib_class class, enum ipoib_dir dir, const struct ipoib_dhcp_with *with, uint32_t head)
{
	static const enum ipoib_drop bad[2][IPOIB_MALFORMED] = {
		[IPOIB_TO_IB] = {[IPOIB_ARP] = IPOIB_DROP_TX_ARP,
				 [IPOIB_ND] = IPOIB_DROP_TX_ND,
				 [IPOIB_DHCP] = IPOIB_DROP_TX_DHCP},
		[IPOIB_TO_ETH] = {[IPOIB_ARP] = IPOIB_DROP_RX_ARP,
				  [IPOIB_ND] = IPOIB_DROP_RX_ND,
				  [IPOIB_DHCP] = IPOIB_DROP_RX_DHCP},
	};
	const struct ipoib_book book = {.arg = w, .hw_of = hw_of, .mac_of = mac_of};
	struct ipoib_core *c = w->c;
	struct rte_mbuf *m = fresh(c, dir == IPOIB_TO_IB ? IPOIB_DROP_TX_NO_MBUF : IPOIB_DROP_RX_NO_MBUF);
	uint8_t *out;
	int n;

	if (m == NULL)
		return NULL;
	/* What is too long for a buffer of the pool is longer than any message of these protocols has to be. */
	if (head + w->len + IPOIB_XLATE_GROWTH > rte_pktmbuf_tailroom(m)) {
		ipoib_drop(c, bad[dir][class], m);
		return NULL;
	}
	out = rte_pktmbuf_mtod_offset(m, uint8_t *, head);
	if (class == IPOIB_ARP)
		n = ipoib_arp(dir, &book, w->l3, w->len, out);
	else if (class == IPOIB_ND)
		n = ipoib_nd(dir, &book, w->check, w->l3, w->len, out);
	else
		n = ipoib_dhcp(dir, with, w->check, w->l3, w->len, out);
	if (n == IPOIB_XLATE_UNKNOWN)
		ipoib_drop(c, dir == IPOIB_TO_IB ? IPOIB_DROP_TX_NO_NEIGHBOUR : IPOIB_DROP_RX_NO_NEIGHBOUR, m);
	else if (n < 0)
		ipoib_drop(c, bad[dir][class], m);
	if (n < 0)
		return NULL;
	m->data_len = (uint16_t)(head + (uint32_t)n);
	m->pkt_len = m->data_len;
	return m;
}

struct rte_mbuf *
ipoib_copy(struct rte_mempool *pool, const struct rte_mbuf *m)
{
	struct rte_mbuf *copy = rte_pktmbuf_alloc(pool);
	uint8_t *to;

	if (copy == NULL)
		return NULL;
	/* With its headroom a buffer of 2 KB holds a packet of the usual MTU. */
	if (m->pkt_len > rte_pktmbuf_tailroom(copy))
		copy->data_off = 0;
	if (m->pkt_len > rte_pktmbuf_tailroom(copy)) {
		rte_pktmbuf_free(copy);
		return NULL;
	}
	copy->ol_flags |= m->ol_flags & ~(RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL);
	copy->tx_offload = m->tx_offload;
	to = (uint8_t *)rte_pktmbuf_append(copy, (uint16_t)m->pkt_len);
	for (; m != NULL; m = m->next) {
		memcpy(to, rte_pktmbuf_mtod(m, const void *), m->data_len);
		to += m->data_len;
	}
	return copy;
}

/* --- to be sent ------------------------------------------------------------------------------------------------------ */

/* Whose address an ARP or ND packet of the application tells. */
static void
learn_local(struct work *w, enum ipoib_class class)
{
	uint8_t ip[16];

	if (class == IPOIB_ARP && w->len >= 28) {
		ipoib_v4_mapped(w->l3 + 14, ip);
		ipoib_local_seen(w->c, ip, &w->src);
	} else if (class == IPOIB_ND) {
		ipoib_local_seen(w->c, w->l3 + V6_SRC, &w->src);
		if (w->l3[40] == ND_NEIGHBOR_ADVERT && w->len >= ND_TARGET + 16) {
			ipoib_local_seen(w->c, w->l3 + ND_TARGET, &w->src);
			ipoib_local_router(w->c, w->l3 + ND_TARGET, (w->l3[44] & 0x80) != 0);
		} else if (w->l3[40] == ND_ROUTER_ADVERT) {
			ipoib_local_router(w->c, w->l3 + V6_SRC, true);
		}
	}
}

static struct ipoib_dhcp_client *
dhcp_client(struct ipoib_core *c, uint32_t xid, bool afar)
{
	for (uint32_t i = 0; i < IPOIB_DHCP_CLIENTS; i++) {
		if (c->dhcp[i].valid && c->dhcp[i].xid == xid && c->dhcp[i].afar == afar)
			return &c->dhcp[i];
	}
	return NULL;
}

static void
dhcp_note(struct ipoib_core *c, const struct ipoib_dhcp_head *h, bool afar)
{
	struct ipoib_dhcp_client *of = dhcp_client(c, h->xid, afar);

	if (of == NULL) {
		of = &c->dhcp[c->dhcp_next];
		c->dhcp_next = (c->dhcp_next + 1) % IPOIB_DHCP_CLIENTS;
	}
	*of = (struct ipoib_dhcp_client){.valid = true, .afar = afar, .xid = h->xid, .mac = h->chaddr};
}

/* Who asks is noted; an answer goes to who asked. */
static void
dhcp_out(struct work *w, struct ipoib_dhcp_with *with)
{
	const struct ipoib_dhcp_client *to;
	struct ipoib_dhcp_head h;

	if (!ipoib_dhcp_peek(w->l3, w->len, &h))
		return;
	if (h.op == IPOIB_DHCP_REQUEST) {
		dhcp_note(w->c, &h, false);
		return;
	}
	to = dhcp_client(w->c, h.xid, true);
	with->ether = to != NULL;
	if (to != NULL)
		with->mac = to->mac;
}

static void
reported(void *arg, bool v6, const uint8_t group[16], bool join)
{
	struct ipoib_core *c = arg;
	struct ipoib_group *g;
	uint8_t mgid[16];

	if (v6)
		ipoib_mgid_v6(c->conf.pkey, c->conf.scope, group, mgid);
	else
		ipoib_mgid_v4(c->conf.pkey, c->conf.scope, group + 12, mgid);
	if (join) {
		ipoib_group_want(c, mgid, IPOIB_WHY_SNOOP);
		return;
	}
	/* Others behind us may still listen: the monitor asks in its next run, and lets go when nobody answers. */
	g = ipoib_group_find(c, mgid);
	if (g != NULL && (g->why & IPOIB_WHY_SNOOP) != 0)
		g->runs = RTE_MAX(g->runs, c->conf.query_runs - 1);
}

/* The group that a frame goes to: by the packet, whose address has more bits than the frame's. */
static bool
group_of(const struct work *w, const struct rte_ether_addr *dst, uint8_t mgid[16])
{
	const struct ipoib_core *c = w->c;

	if (rte_is_broadcast_ether_addr(dst)) {
		ipoib_mgid_broadcast(c->conf.pkey, c->conf.scope, mgid);
		return true;
	}
	if (w->etype == RTE_ETHER_TYPE_IPV4 && (w->l3[V4_DST] & 0xf0) == 0xe0) {
		ipoib_mgid_v4(c->conf.pkey, c->conf.scope, w->l3 + V4_DST, mgid);
		return true;
	}
	if (w->etype == RTE_ETHER_TYPE_IPV6 && w->l3[V6_DST] == 0xff) {
		ipoib_mgid_v6(c->conf.pkey, c->conf.scope, w->l3 + V6_DST, mgid);
		return true;
	}
	return false;
}

/* What is longer than a buffer is no message of the protocols that are looked at. */
static enum ipoib_class
classify(const struct work *w, const struct rte_mbuf *m)
{
	return m->nb_segs == 1 ? ipoib_classify(w->etype, w->l3, w->len) : IPOIB_PLAIN;
}

/*
 * What is to be cut goes by paths and connections that the datapath knows, or not at all. A large send of one segment is a packet
 * like others. False: dropped.
 */
static bool
one_segment(struct ipoib_core *c, struct rte_mbuf *m)
{
	if ((m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0)
		return true;
	if (m->pkt_len > (uint32_t)m->l2_len + m->l3_len + m->l4_len + m->tso_segsz) {
		ipoib_drop(c, IPOIB_DROP_TX_TSO, m);
		return false;
	}
	/* It asked for the checksum by that. */
	m->ol_flags = (m->ol_flags & ~(RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_L4_MASK)) | RTE_MBUF_F_TX_TCP_CKSUM;
	return true;
}

/* What fits a datagram, in one buffer; of what is longer the headers in the first one. NULL: dropped. */
static struct rte_mbuf *
in_one(struct ipoib_core *c, struct rte_mbuf *m)
{
	bool longer = m->pkt_len > c->mtu + RTE_ETHER_HDR_LEN;
	struct rte_mbuf *one;

	if (m->nb_segs == 1 || (longer && m->data_len >= RTE_ETHER_HDR_LEN + LOOKED_AT))
		return m;
	one = longer ? rte_pktmbuf_copy(m, c->pool, 0, UINT32_MAX) : ipoib_copy(c->pool, m);
	if (one == NULL)
		c->stats.drop[IPOIB_DROP_TX_NO_MBUF]++;
	rte_pktmbuf_free(m);
	return one;
}

/* One buffer, or as many as a packet has that is longer; then the headers that are looked at are in the first one. */
static bool
in_reach(struct rte_mbuf *m, uint32_t headers)
{
	return m->pkt_len >= headers && (rte_pktmbuf_linearize(m) == 0 || m->data_len >= headers + LOOKED_AT);
}

/* The frame as it goes, in place or anew; NULL: dropped. */
static struct rte_mbuf *
encapsulate(struct work *w, struct rte_mbuf *m)
{
	struct ipoib_core *c = w->c;
	enum ipoib_class class = classify(w, m);
	struct ipoib_dhcp_with with = {.guid = c->guid};
	struct rte_mbuf *out = NULL;

	switch (class) {
	case IPOIB_MALFORMED: ipoib_drop(c, IPOIB_DROP_TX_SHORT, m); return NULL;
	case IPOIB_ARP:
	case IPOIB_ND:
		learn_local(w, class);
		out = translate(w, class, IPOIB_TO_IB, NULL, IPOIB_ENCAP_LEN);
		c->stats.tx_arp += out != NULL && class == IPOIB_ARP;
		c->stats.tx_nd += out != NULL && class == IPOIB_ND;
		break;
	case IPOIB_DHCP:
		dhcp_out(w, &with);
		out = translate(w, class, IPOIB_TO_IB, &with, IPOIB_ENCAP_LEN);
		c->stats.tx_dhcp += out != NULL;
		break;
	case IPOIB_SNOOP:
		c->stats.tx_reports++;
		ipoib_snoop(w->etype, w->l3, w->len, w->check, reported, c);
		/* fall through */
	case IPOIB_PLAIN: rte_pktmbuf_adj(m, RTE_ETHER_HDR_LEN - IPOIB_ENCAP_LEN); return m;
	}
	rte_pktmbuf_free(m);
	return out;
}

void
ipoib_core_tx(struct ipoib_core *c, struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth;
	struct work w = {.c = c};
	struct rte_ether_addr dst;
	struct ipoib_remote *r;
	uint8_t mgid[16], *head;
	uint32_t longest;
	bool group;

	if (!one_segment(c, m))
		return;
	m = in_one(c, m);
	if (m == NULL)
		return;
	if (!in_reach(m, RTE_ETHER_HDR_LEN)) {
		ipoib_drop(c, IPOIB_DROP_TX_SHORT, m);
		return;
	}
	eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	dst = eth->dst_addr;
	w.src = eth->src_addr;
	w.etype = rte_be_to_cpu_16(eth->ether_type);
	w.l3 = rte_pktmbuf_mtod_offset(m, uint8_t *, RTE_ETHER_HDR_LEN);
	w.len = m->pkt_len - RTE_ETHER_HDR_LEN;
	w.check = (m->ol_flags & RTE_MBUF_F_TX_L4_MASK) == 0;
	if (w.etype != RTE_ETHER_TYPE_IPV4 && w.etype != RTE_ETHER_TYPE_IPV6 && w.etype != RTE_ETHER_TYPE_ARP) {
		ipoib_drop(c, IPOIB_DROP_TX_TYPE, m);
		return;
	}
	group = rte_is_multicast_ether_addr(&dst);
	longest = group ? c->mtu : ipoib_longest(c);
	if (w.len > longest) {
		ipoib_note_long(c, w.len, longest);
		ipoib_drop(c, IPOIB_DROP_TX_LONG, m);
		return;
	}
	if (group && w.etype != RTE_ETHER_TYPE_ARP && w.len < (w.etype == RTE_ETHER_TYPE_IPV4 ? 20u : 40u)) {
		ipoib_drop(c, IPOIB_DROP_TX_SHORT, m);
		return;
	}
	if (group && !group_of(&w, &dst, mgid)) {
		ipoib_drop(c, IPOIB_DROP_TX_GROUP, m);
		return;
	}
	m = encapsulate(&w, m);
	if (m == NULL)
		return;
	head = rte_pktmbuf_mtod(m, uint8_t *);
	ib_put16(head, w.etype);
	ib_put16(head + 2, 0);
	if (group) {
		ipoib_group_send(c, mgid, m);
		return;
	}
	r = ipoib_remote_by_mac(c, &dst);
	if (r == NULL)
		ipoib_drop(c, IPOIB_DROP_TX_NO_NEIGHBOUR, m);
	else
		ipoib_remote_send(c, r, m);
}

/* --- received ------------------------------------------------------------------------------------------------------- */

/* The hardware address that a solicitation or advertisement gives for its sender, in its first option. */
static bool
nd_sender(const struct work *w, struct ipoib_hw *hw)
{
	const uint8_t *p = w->l3 + 40;

	if (w->etype != RTE_ETHER_TYPE_IPV6 || w->len < 40 + 24 + 24 || w->l3[6] != IPPROTO_ICMPV6 ||
	    (p[0] != ND_NEIGHBOR_SOLICIT && p[0] != ND_NEIGHBOR_ADVERT) || p[25] != 3)
		return false;
	memcpy(hw, p + 28, sizeof(*hw));
	return true;
}

/* Who sent it. ARP and ND name their sender, a GRH has its GID; nothing but LID and QPN otherwise. */
static struct ipoib_remote *
sender(struct work *w, const struct ipoib_meta *meta, const uint8_t sgid[16])
{
	struct ipoib_remote *r;
	struct ipoib_hw hw;

	if (meta->by_conn != 0)
		return ipoib_conn_sender(w->c, meta->by_conn);
	if (w->etype == RTE_ETHER_TYPE_ARP && w->len >= 28) {
		memcpy(&hw, w->l3 + 8, sizeof(hw));
	} else if (nd_sender(w, &hw)) {
		/* the option has it */
	} else if (sgid != NULL) {
		ipoib_hw_set(&hw, 0, meta->qpn, sgid);
		r = ipoib_remote_of_gid(w->c, &hw);
		if (r != NULL) {
			ipoib_remote_seen(w->c, r, meta);
			return r;
		}
	} else {
		return ipoib_remote_of(w->c, meta);
	}
	if (!ipoib_hw_valid(&hw))
		return NULL;
	r = ipoib_remote_get(w->c, &hw);
	if (r != NULL)
		ipoib_remote_seen(w->c, r, meta);
	return r;
}

/* The address of IP that a packet for one host is for, and so the MAC. */
static const struct rte_ether_addr *
local_of(struct work *w)
{
	uint8_t ip[16];

	if (w->etype == RTE_ETHER_TYPE_IPV6 && w->len >= 40)
		return ipoib_local_mac(w->c, w->l3 + V6_DST);
	if (w->etype == RTE_ETHER_TYPE_IPV4 && w->len >= 20)
		ipoib_v4_mapped(w->l3 + V4_DST, ip);
	else if (w->etype == RTE_ETHER_TYPE_ARP && w->len >= 56)
		ipoib_v4_mapped(w->l3 + 52, ip);
	else
		return &w->c->mac;
	return ipoib_local_mac(w->c, ip);
}

static void
dhcp_owner(struct work *w, const struct ipoib_remote *from, struct ipoib_dhcp_with *with)
{
	struct ipoib_core *c = w->c;
	const struct ipoib_dhcp_client *to;
	struct ipoib_dhcp_head h;

	with->mac = c->mac;
	if (!ipoib_dhcp_peek(w->l3, w->len, &h))
		return;
	if (h.op == IPOIB_DHCP_REQUEST) {
		with->mac = from->mac;
		if (h.htype == IPOIB_ETHER_HW_TYPE)
			dhcp_note(c, &h, true);
		return;
	}
	to = dhcp_client(c, h.xid, false);
	if (to != NULL)
		with->mac = to->mac;
}

/* The packet as the application gets it, the header of Ethernet still to be written; NULL: dropped. */
static struct rte_mbuf *
decapsulate(struct work *w, const struct ipoib_remote *from, struct rte_mbuf *m)
{
	struct ipoib_core *c = w->c;
	enum ipoib_class class = classify(w, m);
	struct ipoib_dhcp_with with = {.guid = c->guid};
	struct rte_mbuf *out;

	switch (class) {
	case IPOIB_MALFORMED: ipoib_drop(c, IPOIB_DROP_RX_SHORT, m); return NULL;
	case IPOIB_SNOOP:
	case IPOIB_PLAIN: rte_pktmbuf_adj(m, IB_GRH_LEN + IPOIB_ENCAP_LEN - RTE_ETHER_HDR_LEN); return m;
	case IPOIB_DHCP: dhcp_owner(w, from, &with); break;
	default: break;
	}
	out = translate(w, class, IPOIB_TO_ETH, &with, RTE_ETHER_HDR_LEN);
	c->stats.rx_arp += out != NULL && class == IPOIB_ARP;
	c->stats.rx_nd += out != NULL && class == IPOIB_ND;
	c->stats.rx_dhcp += out != NULL && class == IPOIB_DHCP;
	rte_pktmbuf_free(m);
	return out;
}

/* Says afterwards who sends what; a network of nothing but IPoIB has no such packets. */
static void
note_odd(struct ipoib_core *c, const struct rte_mbuf *m, const struct work *w, const struct ipoib_meta *meta)
{
	struct ipoib_odd *odd = &c->odd;

	*odd = (struct ipoib_odd){
		.len = IPOIB_ENCAP_LEN + w->len, .type = w->etype, .qpn = meta->qpn, .slid = meta->slid};
	memcpy(odd->begin, w->l3, RTE_MIN(sizeof(odd->begin), (size_t)m->data_len - IB_GRH_LEN - IPOIB_ENCAP_LEN));
}

void
ipoib_core_rx(struct ipoib_core *c, struct rte_mbuf *m, const struct ipoib_meta *meta)
{
	struct work w = {.c = c, .check = true};
	const uint8_t *grh = rte_pktmbuf_mtod(m, const uint8_t *), *sgid = NULL;
	struct rte_ether_hdr eth, *head;
	struct ipoib_remote *from;

	if (!in_reach(m, IB_GRH_LEN + IPOIB_ENCAP_LEN)) {
		ipoib_drop(c, IPOIB_DROP_RX_SHORT, m);
		return;
	}
	w.etype = ib_get16(grh + IB_GRH_LEN);
	w.l3 = rte_pktmbuf_mtod_offset(m, uint8_t *, IB_GRH_LEN + IPOIB_ENCAP_LEN);
	w.len = m->pkt_len - IB_GRH_LEN - IPOIB_ENCAP_LEN;
	if (w.etype != RTE_ETHER_TYPE_IPV4 && w.etype != RTE_ETHER_TYPE_IPV6 && w.etype != RTE_ETHER_TYPE_ARP) {
		note_odd(c, m, &w, meta);
		ipoib_drop(c, IPOIB_DROP_RX_TYPE, m);
		return;
	}
	if (meta->grh)
		sgid = grh + 8;
	w.local = local_of(&w);
	from = sender(&w, meta, sgid);
	if (from == NULL) {
		ipoib_drop(c, meta->by_conn != 0 ? IPOIB_DROP_RX_CONN : IPOIB_DROP_RX_NO_NEIGHBOUR, m);
		return;
	}
	eth.src_addr = from->mac;
	eth.ether_type = rte_cpu_to_be_16(w.etype);
	if (!meta->grh || !ipoib_mgid_mac(grh + 24, c->conf.pkey, &eth.dst_addr))
		eth.dst_addr = *w.local;
	m = decapsulate(&w, from, m);
	if (m == NULL)
		return;
	head = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	memcpy(head, &eth, sizeof(eth));
	c->io.deliver(c->io.arg, m);
}
