/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Connections of TCP to an address of the port's that nobody has. Programs of sockets get their frames by rules of the card, so what
 * comes here is for none of them; a host of its own would say so at once (RFC 9293, 3.10.7.1).
 */
#include <netinet/in.h>
#include <stdatomic.h>

#include <rte_ip.h>
#include <rte_tcp.h>

#include "net_priv.h"

#define REFUSE_TTL 64

static atomic_uint sharing;

void
troce_refuse_tcp(bool on)
{
	if (on)
		sharing++;
	else
		sharing--;
}

bool
trn_refuses(void)
{
	return atomic_load_explicit(&sharing, memory_order_relaxed) != 0;
}

uint64_t
trn_v4_filter(const struct trn_addrs *a)
{
	uint64_t bits = 0;

	for (unsigned int i = 0; i < TP_ROCE_GIDS; i++)
		if (a->addr[i].valid && trn_is_v4(&a->addr[i].gid))
			bits |= trn_v4_bit(trn_v4(&a->addr[i].gid));
	return bits;
}

bool
trn_is_tcp(const struct trn_frame *f, uint64_t filter)
{
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)f->l3;

	return f->type == RTE_ETHER_TYPE_IPV4 && f->len >= sizeof(*ip) + sizeof(struct rte_tcp_hdr) &&
	       ip->next_proto_id == IPPROTO_TCP && (filter & trn_v4_bit(ip->dst_addr)) != 0;
}

/* The segment, and its octets with SYN and FIN; NULL: it is damaged, a piece, or wants no answer. */
static const struct rte_tcp_hdr *
segment(const struct trn_frame *f, uint32_t *len)
{
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)f->l3;
	const uint32_t hlen = rte_ipv4_hdr_len(ip), total = rte_be_to_cpu_16(ip->total_length);
	const struct rte_tcp_hdr *th = (const struct rte_tcp_hdr *)(f->l3 + hlen);
	uint32_t thlen;

	if (ip->version_ihl >> 4 != IPVERSION || hlen < sizeof(*ip) || total < hlen + sizeof(*th) ||
	    f->len < hlen + sizeof(*th) || rte_raw_cksum(ip, hlen) != 0xffff ||
	    (ip->fragment_offset & ~rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG)) != 0)
		return NULL;
	thlen = th->data_off >> 4 << 2;
	if (thlen < sizeof(*th) || thlen > total - hlen || (th->tcp_flags & RTE_TCP_RST_FLAG) != 0)
		return NULL;
	/* What lies in several buffers was long enough to be somebody's. */
	if (f->len >= total && rte_ipv4_udptcp_cksum_verify(ip, th) != 0)
		return NULL;
	*len = total - hlen - thlen + ((th->tcp_flags & RTE_TCP_SYN_FLAG) != 0) +
	       ((th->tcp_flags & RTE_TCP_FIN_FLAG) != 0);
	return th;
}

bool
trn_refuse(struct troce_net *net, const struct trn_frame *f, struct trn_out *out)
{
	const struct rte_ipv4_hdr *in = (const struct rte_ipv4_hdr *)f->l3;
	const union ibv_gid src = trn_gid_v4(in->src_addr), dst = trn_gid_v4(in->dst_addr);
	const struct rte_tcp_hdr *th;
	struct rte_ipv4_hdr *ip;
	struct rte_tcp_hdr *rst;
	uint32_t len;

	if (!rte_is_same_ether_addr(f->dst, &net->mac) || !trn_is_host(&src) ||
	    trn_addrs_find(&net->a, &dst, f->vlan) < 0)
		return false;
	th = segment(f, &len);
	if (th == NULL)
		return false;
	ip = (struct rte_ipv4_hdr *)trn_eth(out, f->src, &net->mac, f->vlan, RTE_ETHER_TYPE_IPV4);
	rst = (struct rte_tcp_hdr *)(ip + 1);
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16(sizeof(*ip) + sizeof(*rst));
	ip->fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG);
	ip->time_to_live = REFUSE_TTL;
	ip->next_proto_id = IPPROTO_TCP;
	ip->src_addr = in->dst_addr;
	ip->dst_addr = in->src_addr;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	rst->src_port = th->dst_port;
	rst->dst_port = th->src_port;
	rst->data_off = sizeof(*rst) / 4 << 4;
	rst->tcp_flags = RTE_TCP_RST_FLAG;
	if ((th->tcp_flags & RTE_TCP_ACK_FLAG) != 0) {
		rst->sent_seq = th->recv_ack;
	} else {
		rst->recv_ack = rte_cpu_to_be_32(rte_be_to_cpu_32(th->sent_seq) + len);
		rst->tcp_flags |= RTE_TCP_ACK_FLAG;
	}
	rst->cksum = rte_ipv4_udptcp_cksum(ip, rst);
	trn_close(out, (const uint8_t *)(rst + 1));
	return true;
}
