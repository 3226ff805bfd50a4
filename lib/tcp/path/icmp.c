/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * ICMP as far as TCP needs it: a router that cannot send a packet on because it is too large (RFC 1191). Anyone can send such
 * messages, so they must quote a segment that is under way (RFC 5927 4.1).
 */
#include <rte_icmp.h>

#include "../tcp_priv.h"

#define TYPE_UNREACHABLE 3u
#define CODE_TOO_LARGE 4u
#define QUOTED 8u /* octets of the segment at least: ports and sequence number */

struct too_large {
	uint8_t type, code;
	uint16_t sum, unused;
	rte_be16_t mtu;
} __attribute__((packed));

/* RFC 1191 5, for a router that does not say how large: the next size below that links have. */
static uint16_t
plateau(uint16_t len)
{
	static const uint16_t sizes[] = {32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296};
	uint32_t i = 0;

	while (i < RTE_DIM(sizes) - 1 && sizes[i] >= len)
		i++;
	return sizes[i];
}

/* Whose segment it quotes; NULL: nobody's, or one that is not under way. */
static struct tcp_conn *
sender(const struct tcp_stack *s, const struct rte_ipv4_hdr *in, const struct rte_tcp_hdr *th)
{
	struct tcp_node *n = tcp_find(s, in->src_addr, in->dst_addr, th->src_port, th->dst_port);
	struct tcp_conn *c = (struct tcp_conn *)n;

	if (n == NULL || n->kind != TCP_NODE_CONN || n->state == TCP_SYN_SENT || n->state == TCP_SYN_RECV)
		return NULL;
	return rte_be_to_cpu_32(th->sent_seq) - c->snd_una < c->snd_nxt - c->snd_una ? c : NULL;
}

/* The message is whole and in its place; false: not one that tells of a narrower path. */
static bool
read(struct tcp_stack *s, const struct tcp_seg *g, uint32_t off, uint32_t len)
{
	const struct too_large *e = rte_pktmbuf_mtod_offset(g->m, const struct too_large *, off);
	const struct rte_ipv4_hdr *in =
		rte_pktmbuf_mtod_offset(g->m, const struct rte_ipv4_hdr *, off + sizeof(struct rte_icmp_hdr));
	struct tcp_conn *c;
	uint32_t ihl;
	uint16_t mtu;

	if (e->type != TYPE_UNREACHABLE || e->code != CODE_TOO_LARGE || in->version_ihl >> 4 != 4 ||
	    in->next_proto_id != IPPROTO_TCP || (in->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return false;
	ihl = rte_ipv4_hdr_len(in);
	if (ihl < sizeof(*in) || len < sizeof(struct rte_icmp_hdr) + ihl + QUOTED)
		return false;
	c = sender(s, in, (const struct rte_tcp_hdr *)((const uint8_t *)in + ihl));
	mtu = rte_be_to_cpu_16(e->mtu);
	if (mtu == 0)
		mtu = plateau(rte_be_to_cpu_16(in->total_length));
	if (c == NULL || mtu >= rte_be_to_cpu_16(in->total_length))
		return false;
	return tcp_pmtu_told(c, mtu);
}

void
tcp_icmp_input(struct tcp_stack *s, const struct tcp_seg *g)
{
	const uint32_t ihl = rte_ipv4_hdr_len(g->ip), total = rte_be_to_cpu_16(g->ip->total_length);
	const uint32_t off = g->l2_len + ihl, len = total - ihl;

	if ((g->ip->version_ihl >> 4) != 4 || ihl < sizeof(struct rte_ipv4_hdr) || total < ihl ||
	    g->l2_len + total > g->m->data_len) {
		s->st.rx_malformed++;
		return;
	}
	if (!s->ops->local(s->home, g->ip->dst_addr)) {
		s->st.rx_other++;
		return;
	}
	if ((g->ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) != 0 ||
	    len < sizeof(struct rte_icmp_hdr) + sizeof(struct rte_ipv4_hdr) + QUOTED ||
	    rte_raw_cksum(g->ip, ihl) != 0xffff ||
	    rte_raw_cksum(rte_pktmbuf_mtod_offset(g->m, const void *, off), len) != 0xffff || !read(s, g, off, len))
		s->st.rx_icmp_ignored++;
	else
		s->st.rx_icmp_mtu++;
}
