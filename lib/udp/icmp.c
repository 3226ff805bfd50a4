/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* ICMP (RFC 792) as far as UDP needs it: what is heard of datagrams, and that nobody has a port. */
#include <errno.h>
#include <netinet/in.h>

#include <rte_icmp.h>

#include "udp_priv.h"

#define TYPE_UNREACHABLE 3u
#define TYPE_PARAMETER 12u
#define CODE_NET 0u
#define CODE_HOST 1u
#define CODE_PROTOCOL 2u
#define CODE_PORT 3u
#define CODE_TOO_LARGE 4u
#define QUOTE_MAX 548u /* RFC 1812 4.3.2.3: 576 octets in all */
#define PER_SECOND 1000u
#define SECOND UINT64_C(1000000)

struct error {
	uint8_t type, code;
	uint16_t sum, unused;
	rte_be16_t mtu;
} __attribute__((packed));

/* RFC 1122 4.1.3.3; 0: nothing that a program is told. */
static int
errno_of(const struct error *e)
{
	if (e->type == TYPE_PARAMETER)
		return EPROTO;
	if (e->type != TYPE_UNREACHABLE)
		return 0;
	switch (e->code) {
	case CODE_NET: return ENETUNREACH;
	case CODE_HOST: return EHOSTUNREACH;
	case CODE_PROTOCOL: return ENOPROTOOPT;
	case CODE_PORT: return ECONNREFUSED;
	case CODE_TOO_LARGE: return EMSGSIZE;
	default: return EHOSTUNREACH;
	}
}

/* RFC 1191 6.2, with the least that RFC 791 lets a path have; a router that does not say how large is not believed. */
static void
narrower(struct udp_sock *u, const struct rte_ipv4_hdr *in, uint16_t mtu)
{
	if (u->path_gen == u->s->path_gen && u->path_to == in->dst_addr && mtu >= 68 &&
	    u->discover < IP_PMTUDISC_INTERFACE)
		u->path.mtu = RTE_MIN(u->path.mtu, mtu);
}

bool
udp_icmp_input(struct udp_stack *s, const struct rte_mbuf *m, const struct rte_ipv4_hdr *ip, uint32_t off, uint32_t len)
{
	const struct error *e = rte_pktmbuf_mtod_offset(m, const struct error *, off);
	const struct rte_ipv4_hdr *in =
		rte_pktmbuf_mtod_offset(m, const struct rte_ipv4_hdr *, off + sizeof(struct rte_icmp_hdr));
	const struct rte_udp_hdr *uh;
	struct udp_sock *u, *next;
	bool heard = false;
	uint32_t ihl;
	int error;

	if (len < sizeof(struct rte_icmp_hdr) + UDP_HDRS || off + len > m->data_len || in->version_ihl >> 4 != 4 ||
	    in->next_proto_id != IPPROTO_UDP)
		return false;
	ihl = rte_ipv4_hdr_len(in);
	if (ihl < sizeof(*in) || len < sizeof(struct rte_icmp_hdr) + ihl + sizeof(*uh) ||
	    (in->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return false;
	s->st.rx_icmp_ignored++;
	if (rte_raw_cksum(e, len) != 0xffff || !s->ops->local(s->home, ip->dst_addr))
		return true;
	error = errno_of(e);
	uh = (const struct rte_udp_hdr *)((const uint8_t *)in + ihl);
	if (error == 0)
		return true;
	/* Who sent it; those that are connected are told (RFC 1122 4.1.3.3). */
	for (u = *udp_bucket(s, uh->src_port); u != NULL; u = next) {
		next = u->next;
		if (u->local.port != uh->src_port || (u->local.ip != 0 && u->local.ip != in->src_addr))
			continue;
		if (error == EMSGSIZE)
			narrower(u, in, rte_be_to_cpu_16(e->mtu));
		if (u->remote.port != uh->dst_port || u->remote.ip != in->dst_addr)
			continue;
		u->error = error;
		heard = true;
		s->ops->event(s->home, u, u->user, TCP_EV_ERROR);
	}
	if (heard) {
		s->st.rx_icmp_ignored--;
		s->st.rx_icmp++;
	}
	return true;
}

void
udp_unreachable(struct udp_stack *s, const struct udp_gram *g)
{
	const uint32_t quoted = RTE_MIN(g->m->data_len - g->l2_len, QUOTE_MAX);
	struct rte_ether_hdr *eth;
	struct rte_ipv4_hdr *ip;
	struct rte_mbuf *m;
	struct error *e;

	if (s->now - s->icmp_from >= SECOND) {
		s->icmp_from = s->now;
		s->icmp_sent = 0;
	}
	if (s->icmp_sent >= PER_SECOND) {
		s->st.tx_unreachable_limited++;
		return;
	}
	m = rte_pktmbuf_alloc(s->conf.pool);
	if (m == NULL) {
		s->st.tx_no_mbuf++;
		return;
	}
	eth = (struct rte_ether_hdr *)rte_pktmbuf_append(
		m, (uint16_t)(g->l2_len + sizeof(*ip) + sizeof(struct rte_icmp_hdr) + quoted));
	memcpy(eth, g->eth, g->l2_len);
	eth->dst_addr = g->eth->src_addr;
	eth->src_addr = g->eth->dst_addr;
	ip = (struct rte_ipv4_hdr *)((uint8_t *)eth + g->l2_len);
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.type_of_service = 0xc0, /* RFC 1812 4.3.2.5 */
		.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + sizeof(struct rte_icmp_hdr) + quoted)),
		.packet_id = rte_cpu_to_be_16(s->ip_id++),
		.time_to_live = 64,
		.next_proto_id = IPPROTO_ICMP,
		.src_addr = g->ip->dst_addr,
		.dst_addr = g->ip->src_addr,
	};
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	e = (struct error *)(ip + 1);
	memset(e, 0, sizeof(struct rte_icmp_hdr));
	e->type = TYPE_UNREACHABLE;
	e->code = CODE_PORT;
	memcpy((uint8_t *)e + sizeof(struct rte_icmp_hdr), g->ip, quoted);
	((struct rte_icmp_hdr *)e)->icmp_cksum = (uint16_t)~rte_raw_cksum(e, sizeof(struct rte_icmp_hdr) + quoted);
	s->icmp_sent++;
	s->st.tx_unreachable++;
	udp_tx(s, m);
}
