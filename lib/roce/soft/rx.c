/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Packets that arrive: those of RoCE that are addressed to the port are taken out of a burst, each judged and handed to
 * its queue pair; all others are left as they are. What is taken and not delivered has a counter.
 */
#include <string.h>

#include <rte_ip.h>
#include <rte_prefetch.h>

#include "gate.h"
#include "wire_eth.h"

#define QPN_MAD 1u

/* --- is it RoCE, and whole? --------------------------------------------------------------------------------------- */

enum verdict { RSW_OTHER, RSW_ROCE, RSW_BAD };

/* What a packet has in one piece from its layer 3 on. */
struct span {
	uint8_t *p;
	uint32_t len;
};

static inline bool
ip_sum_ok(struct rsw_dev *d, const struct rte_mbuf *m, const uint8_t *h)
{
	uint64_t f = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;
	uint32_t sum = 0;

	if (f == RTE_MBUF_F_RX_IP_CKSUM_GOOD)
		return true;
	for (unsigned int i = 0; i < RSW_IPV4_LEN; i += 4) {
		uint32_t v;

		memcpy(&v, h + i, sizeof(v));
		sum += (v & 0xffff) + (v >> 16);
	}
	if (f != RTE_MBUF_F_RX_IP_CKSUM_BAD && rsw_sum_fold(sum) == 0xffff)
		return true;
	d->sw.rx_bad_ip++;
	return false;
}

/* Most have none (A17.3.1.3); of those that have one it must be right. */
static bool
udp_sum_ok(struct rsw_dev *d, const struct rte_mbuf *m, const uint8_t *l3, const uint8_t *udp, bool v4)
{
	uint64_t f = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
	bool ok;

	if (f == RTE_MBUF_F_RX_L4_CKSUM_GOOD)
		return true;
	if (f == RTE_MBUF_F_RX_L4_CKSUM_BAD)
		ok = false;
	else if (v4)
		ok = rte_ipv4_udptcp_cksum_verify((const struct rte_ipv4_hdr *)(const void *)l3, udp) == 0;
	else
		ok = rte_ipv6_udptcp_cksum_verify((const struct rte_ipv6_hdr *)(const void *)l3, udp) == 0;
	if (!ok)
		d->sw.rx_bad_udp++;
	return ok;
}

/* udp: as far as s goes; its length says where the transport's packet ends. */
static enum verdict
parse_udp(struct rsw_dev *d, const struct rte_mbuf *m, struct span s, uint32_t hlen, struct rsw_rx *rx)
{
	uint8_t *udp = s.p + hlen;
	uint32_t len = ib_get16(udp + 4);

	if (len < RSW_UDP_LEN + IB_BTH_LEN + IB_ICRC_LEN || len > s.len - hlen) {
		d->sw.rx_malformed++;
		return RSW_BAD;
	}
	rx->bth = udp + RSW_UDP_LEN;
	rx->len = len - RSW_UDP_LEN;
	return (udp[6] | udp[7]) == 0 || udp_sum_ok(d, m, s.p, udp, rx->kind == TROCE_ICRC_IPV4_UDP) ? RSW_ROCE
												     : RSW_BAD;
}

/* What becomes of a packet. */
enum fate { LEFT, TAKEN, AWAY };

static bool to_port(const struct rsw_dev *d, const struct rsw_rx *rx);

/* Marked on its way: the same, and its sender may be told (A17.9). */
static enum verdict
parse_marked(struct rsw_dev *d, const struct rte_mbuf *m, struct span s, uint32_t hlen, struct rsw_rx *rx)
{
	enum verdict v = parse_udp(d, m, s, hlen, rx);

	d->sw.rx_ecn++;
	if (v == RSW_ROCE && d->cc[rx->prio].on && to_port(d, rx))
		rsw_cc_marked(d, rx);
	return v;
}

static bool addressed(const struct rsw_dev *d, const union ibv_gid *gid, enum ibv_gid_type type, uint16_t vlan);

static void
ipv4_to_gid(const uint8_t *addr, union ibv_gid *gid)
{
	memcpy(gid->raw, rsw_ipv4_gid, sizeof(rsw_ipv4_gid));
	memcpy(gid->raw + sizeof(rsw_ipv4_gid), addr, 4);
}

/* A header with options, or a fragment: if it is RoCE for the port at all, it is refused. */
static enum verdict
odd_ipv4(struct rsw_dev *d, struct span s, uint16_t vlan)
{
	uint32_t hlen = (s.p[0] & 0xfu) * 4;
	union ibv_gid gid;

	ipv4_to_gid(s.p + 16, &gid);
	if (s.p[0] >> 4 != 4 || hlen < RSW_IPV4_LEN || s.len < hlen + RSW_UDP_LEN || s.p[9] != RSW_PROTO_UDP ||
	    (ib_get16(s.p + 6) & 0x1fff) != 0 || ib_get16(s.p + hlen + 2) != d->udp_port ||
	    !addressed(d, &gid, IBV_GID_TYPE_ROCE_V2, vlan))
		return RSW_OTHER;
	if (hlen != RSW_IPV4_LEN)
		d->sw.rx_ip_options++;
	else
		d->sw.rx_fragments++;
	return RSW_BAD;
}

static inline enum verdict
parse_ipv4(struct rsw_dev *d, const struct rte_mbuf *m, struct span s, struct rsw_rx *rx)
{
	if (s.len < RSW_IPV4_LEN + RSW_UDP_LEN)
		return RSW_OTHER;
	if (s.p[0] != 0x45 || (ib_get16(s.p + 6) & RSW_IPV4_FRAGMENT) != 0)
		return odd_ipv4(d, s, rx->vlan);
	if (s.p[9] != RSW_PROTO_UDP || ib_get16(s.p + RSW_IPV4_LEN + 2) != d->udp_port)
		return RSW_OTHER;
	rx->kind = TROCE_ICRC_IPV4_UDP;
	if (!ip_sum_ok(d, m, s.p))
		return RSW_BAD;
	if ((s.p[1] & RSW_ECN_MASK) == RSW_ECN_CE)
		return parse_marked(d, m, s, RSW_IPV4_LEN, rx);
	return parse_udp(d, m, s, RSW_IPV4_LEN, rx);
}

static enum verdict
parse_ipv6(struct rsw_dev *d, const struct rte_mbuf *m, struct span s, struct rsw_rx *rx)
{
	/* Behind an extension header it is not RoCE (A17.3.1.2). */
	if (s.len < RSW_IPV6_LEN + RSW_UDP_LEN || s.p[0] >> 4 != 6 || s.p[6] != RSW_PROTO_UDP ||
	    ib_get16(s.p + RSW_IPV6_LEN + 2) != d->udp_port)
		return RSW_OTHER;
	rx->kind = TROCE_ICRC_IPV6_UDP;
	if ((s.p[1] >> 4 & RSW_ECN_MASK) == RSW_ECN_CE)
		return parse_marked(d, m, s, RSW_IPV6_LEN, rx);
	return parse_udp(d, m, s, RSW_IPV6_LEN, rx);
}

static enum verdict
parse_grh(struct rsw_dev *d, struct span s, struct rsw_rx *rx)
{
	uint32_t len;

	rx->kind = TROCE_ICRC_GRH;
	if (s.len < RSW_IPV6_LEN + IB_BTH_LEN + IB_ICRC_LEN || s.p[0] >> 4 != 6 || s.p[6] != RSW_NEXT_IBA) {
		d->sw.rx_malformed++;
		return RSW_BAD;
	}
	len = ib_get16(s.p + 4);
	if (len < IB_BTH_LEN + IB_ICRC_LEN || len > s.len - RSW_IPV6_LEN) {
		d->sw.rx_malformed++;
		return RSW_BAD;
	}
	/* It has no CNPs to tell its sender by. */
	d->sw.rx_ecn += (s.p[1] >> 4 & RSW_ECN_MASK) == RSW_ECN_CE;
	rx->bth = s.p + RSW_IPV6_LEN;
	rx->len = len;
	return RSW_ROCE;
}

static inline enum verdict
parse(struct rsw_dev *d, const struct rte_mbuf *m, struct span s, struct rsw_rx *rx)
{
	uint16_t etype, tci = 0;
	bool tagged = (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
	uint8_t *h = s.p;

	if (s.len < RTE_ETHER_HDR_LEN + RSW_TAG_LEN)
		return RSW_OTHER;
	if (tagged)
		tci = m->vlan_tci;
	etype = ib_get16(h + 12);
	rx->smac = h + RTE_ETHER_ADDR_LEN;
	s.p += RTE_ETHER_HDR_LEN;
	s.len -= RTE_ETHER_HDR_LEN;
	if (etype == RTE_ETHER_TYPE_VLAN && !tagged) {
		tci = ib_get16(s.p);
		etype = ib_get16(s.p + 2);
		s.p += RSW_TAG_LEN;
		s.len -= RSW_TAG_LEN;
		tagged = true;
	}
	/* A tag of VLAN 0 says the priority alone. */
	rx->vlan = tagged && (tci & 0xfff) != 0 ? tci & 0xfff : TP_ROCE_NO_VLAN;
	rx->prio = (uint8_t)(tci >> 13);
	rx->net = s.p;
	switch (etype) {
	case RTE_ETHER_TYPE_IPV4: return parse_ipv4(d, m, s, rx);
	case RTE_ETHER_TYPE_IPV6: return parse_ipv6(d, m, s, rx);
	case RSW_ETYPE_ROCE: return parse_grh(d, s, rx);
	default: return RSW_OTHER;
	}
}

/* --- for whom? ---------------------------------------------------------------------------------------------------- */

static bool
addressed(const struct rsw_dev *d, const union ibv_gid *gid, enum ibv_gid_type type, uint16_t vlan)
{
	for (uint32_t i = 0; i < d->num_gids; i++) {
		const struct troce_gid *g = &d->gids[d->gid_valid[i]];

		if (memcmp(&g->gid, gid, sizeof(*gid)) == 0 && g->type == type && g->vlan == vlan)
			return true;
	}
	return false;
}

static inline enum ibv_gid_type
type_of(const struct rsw_rx *rx)
{
	return rx->kind == TROCE_ICRC_GRH ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
}

static void
dest_gid(const struct rsw_rx *rx, union ibv_gid *gid)
{
	if (rx->kind == TROCE_ICRC_IPV4_UDP)
		ipv4_to_gid(rx->net + 16, gid);
	else
		memcpy(gid->raw, rx->net + 24, sizeof(gid->raw));
}

static bool
to_port(const struct rsw_dev *d, const struct rsw_rx *rx)
{
	union ibv_gid gid;

	dest_gid(rx, &gid);
	return addressed(d, &gid, type_of(rx), rx->vlan);
}

static bool
icrc_ok(struct rsw_dev *d, const struct rsw_rx *rx)
{
	if (rsw_icrc_ok(d, rx))
		return true;
	d->sw.rx_bad_icrc++;
	return false;
}

/* --- delivery ----------------------------------------------------------------------------------------------------- */

void
rsw_deliver(struct rsw_qp *qp, struct rsw_rx *rx, uint64_t now)
{
	struct tre_in in = {.bth = rx->bth, .len = rx->len - IB_ICRC_LEN, .home = rx};

	if (qp->e.a.type == IBV_QPT_UD) {
		/* Of IPv4 it is the second half of the 40 bytes (A17.4.5.2). */
		memset(rx->grh, 0, IB_GRH_LEN - RSW_IPV4_LEN);
		if (rx->kind == TROCE_ICRC_IPV4_UDP)
			memcpy(rx->grh + IB_GRH_LEN - RSW_IPV4_LEN, rx->net, RSW_IPV4_LEN);
		else
			memcpy(rx->grh, rx->net, IB_GRH_LEN);
		in.grh = rx->grh;
	}
	tre_input(&qp->e, &in, now);
	rsw_qp_heard(qp);
}

/* Another lane judges it, and counts anew what was counted of it so far. */
static enum fate
elsewhere(struct rsw_dev *d, const struct rsw_rx *rx, uint16_t lane)
{
	uint32_t tclass = rx->kind == TROCE_ICRC_IPV4_UDP ? rx->net[1] : rx->net[1] >> 4;

	d->sw.rx_ecn -= (tclass & RSW_ECN_MASK) == RSW_ECN_CE;
	d->away = lane;
	return AWAY;
}

/* Somebody else's packet: the port's thread knows whose. */
static enum fate
not_ours(struct rsw_dev *d, const struct rsw_rx *rx)
{
	return d->lane == 0 ? LEFT : elsewhere(d, rx, 0);
}

/* To all members, if there are any here. */
static enum fate
deliver_group(struct rsw_dev *d, struct rsw_rx *rx, uint64_t now)
{
	struct rsw_group *g;
	union ibv_gid gid;

	if (d->lane != 0)
		return elsewhere(d, rx, 0);
	dest_gid(rx, &gid);
	g = rsw_group_find(d, &gid);
	if (g == NULL) {
		d->sw.rx_no_group++;
		return LEFT;
	}
	if (!icrc_ok(d, rx))
		return TAKEN;
	d->sw.rx_groups++;
	for (unsigned int i = 0; i < g->num; i++)
		if (g->qp[i]->e.a.type == IBV_QPT_UD)
			rsw_deliver(g->qp[i], rx, now);
	return TAKEN;
}

/* A packet that is on no queue pair's route: it is for QP1, a datagram, another lane, lost, or not for the port. */
static enum fate
deliver_by_gid(struct rsw_dev *d, struct rsw_rx *rx, struct rsw_qp *qp, uint32_t qpn, uint64_t now)
{
	union ibv_gid gid;

	dest_gid(rx, &gid);
	if (!addressed(d, &gid, type_of(rx), rx->vlan))
		return not_ours(d, rx);
	if (qp == NULL && rsw_lane_of(d, qpn) != d->lane)
		return elsewhere(d, rx, rsw_lane_of(d, qpn));
	if (qpn != QPN_MAD && qp == NULL) {
		d->sw.rx_no_qp++;
		rsw_cc_lost(d, rx);
	} else if (qp != NULL && qp->e.a.type != IBV_QPT_UD) {
		d->sw.rx_bad_address++;
	} else if (!icrc_ok(d, rx)) {
		return TAKEN;
	} else if (qp != NULL) {
		rsw_deliver(qp, rx, now);
	} else {
		rsw_mad_rx(d, rx, &gid);
	}
	return TAKEN;
}

static inline enum fate
receive(struct rsw_dev *d, struct rsw_rx *rx, uint64_t now)
{
	uint32_t qpn = ib_bth_qpn(rx->bth);
	struct rsw_qp *qp;

	if (__builtin_expect(qpn == IB_MCAST_QPN, 0))
		return deliver_group(d, rx, now);
	qp = d->qps[RSW_QPN_INDEX(qpn)];
	/* In RESET and INIT it is as good as not there (10.3.1). */
	if (qp != NULL && (qp->q.v.qp_num != qpn || qp->e.state == IBV_QPS_RESET || qp->e.state == IBV_QPS_INIT))
		qp = NULL;
	if (qp == NULL || qp->e.a.type == IBV_QPT_UD || !rsw_on_route(&qp->route, rx))
		return deliver_by_gid(d, rx, qp, qpn, now);
	if (icrc_ok(d, rx))
		rsw_deliver(qp, rx, now);
	return TAKEN;
}

static inline enum fate
take(struct rsw_dev *d, struct rte_mbuf *m, uint64_t now)
{
	struct span s = {.p = rte_pktmbuf_mtod(m, uint8_t *), .len = m->data_len};
	struct rsw_rx rx;

	if (__builtin_expect(m->nb_segs != 1, 0)) {
		/* Longer than any packet of RoCE: not ours. */
		if (m->pkt_len > sizeof(d->bounce))
			return LEFT;
		s.len = m->pkt_len;
		s.p = d->bounce;
		rte_pktmbuf_read(m, 0, s.len, d->bounce);
	}
	switch (parse(d, m, s, &rx)) {
	case RSW_ROCE: return receive(d, &rx, now);
	case RSW_BAD: return TAKEN;
	default: return LEFT;
	}
}

static inline uint16_t
input(struct rsw_dev *d, struct rte_mbuf **pkts, uint16_t n, uint64_t now)
{
	uint16_t left = 0;

	for (uint16_t i = 0; i < n; i++) {
		if (i + 1 < n)
			rte_prefetch0(rte_pktmbuf_mtod(pkts[i + 1], void *));
		switch (take(d, pkts[i], now)) {
		case TAKEN: rte_pktmbuf_free(pkts[i]); break;
		case LEFT: pkts[left++] = pkts[i]; break;
		default: rsw_pass(d, d->away, pkts[i]);
		}
	}
	return left;
}

uint16_t
rsw_input(struct troce_dev *dev, struct rte_mbuf **pkts, uint16_t n)
{
	struct rsw_dev *d = dev->home;
	uint16_t left;

	rsw_gate_enter_as_owner(d);
	left = input(d, pkts, n, rsw_now(d));
	rsw_gate_leave(d);
	return left;
}

uint16_t
rsw_rx(struct rsw_dev *d, struct rte_mbuf **pkts, uint16_t n, uint64_t now)
{
	return input(d, pkts, n, now);
}

void
rsw_rx_loop(struct rsw_dev *d, struct rte_mbuf *m, uint64_t now)
{
	if (take(d, m, now) == AWAY)
		rsw_pass(d, d->away, m);
	else
		rte_pktmbuf_free(m);
}
