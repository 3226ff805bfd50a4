/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Echo (RFC 792, RFC 4443): who sets a RoCE port up pings it first. */
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>

#include <rte_ip.h>

#include "net_priv.h"

#define ECHO_TTL 64

struct echo_msg {
	uint8_t type, code;
	rte_be16_t cksum;
	rte_be32_t id_seq;
} __attribute__((packed, aligned(2)));

/* Only the type changes; the checksum follows it (RFC 1624, equation 3), so that data that were damaged stay so. */
static void
set_type(struct echo_msg *msg, uint8_t type)
{
	uint32_t sum = (uint16_t)~rte_be_to_cpu_16(msg->cksum) + (uint16_t) ~((uint32_t)msg->type << 8) +
		       ((uint32_t)type << 8);

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	msg->type = type;
	msg->cksum = rte_cpu_to_be_16((uint16_t)~sum);
}

static void
swap_addrs(void *a, void *b, size_t len)
{
	uint8_t tmp[16];

	memcpy(tmp, a, len);
	memcpy(a, b, len);
	memcpy(b, tmp, len);
}

static bool
echo4(struct troce_net *net, uint8_t *l3, uint32_t len, uint16_t vlan)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)l3;
	union ibv_gid src, dst;
	struct echo_msg *msg;
	uint32_t hlen;

	if (len < sizeof(*ip) || ip->next_proto_id != IPPROTO_ICMP || ip->version_ihl >> 4 != IPVERSION)
		return false;
	hlen = rte_ipv4_hdr_len(ip);
	if (hlen < sizeof(*ip) || len < hlen + sizeof(*msg) ||
	    rte_be_to_cpu_16(ip->total_length) < hlen + sizeof(*msg) ||
	    (ip->fragment_offset & ~rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG)) != 0)
		return false;
	msg = (struct echo_msg *)(l3 + hlen);
	src = trn_gid_v4(ip->src_addr);
	dst = trn_gid_v4(ip->dst_addr);
	if (msg->type != ICMP_ECHO || msg->code != 0 || !trn_is_host(&src) || trn_addrs_find(&net->a, &dst, vlan) < 0)
		return false;
	set_type(msg, ICMP_ECHOREPLY);
	swap_addrs(&ip->src_addr, &ip->dst_addr, sizeof(ip->src_addr));
	ip->time_to_live = ECHO_TTL;
	ip->hdr_checksum = 0;
	ip->hdr_checksum = (uint16_t)~rte_raw_cksum(ip, hlen);
	return true;
}

static bool
echo6(struct troce_net *net, uint8_t *l3, uint32_t len, uint16_t vlan)
{
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)l3;
	struct echo_msg *msg = (struct echo_msg *)(ip + 1);
	union ibv_gid src, dst;

	if (len < sizeof(*ip) + sizeof(*msg) || ip->proto != IPPROTO_ICMPV6 || msg->type != ICMP6_ECHO_REQUEST ||
	    msg->code != 0)
		return false;
	memcpy(&src, &ip->src_addr, sizeof(src));
	memcpy(&dst, &ip->dst_addr, sizeof(dst));
	if (!trn_is_host(&src) || trn_addrs_find(&net->a, &dst, vlan) < 0)
		return false;
	set_type(msg, ICMP6_ECHO_REPLY);
	swap_addrs(&ip->src_addr, &ip->dst_addr, sizeof(ip->src_addr));
	ip->hop_limits = ECHO_TTL;
	return true;
}

bool
trn_echo(struct troce_net *net, struct rte_ether_hdr *eth, uint8_t *l3, uint32_t len, uint16_t type, uint16_t vlan)
{
	bool done = type == RTE_ETHER_TYPE_IPV4 ? echo4(net, l3, len, vlan) : echo6(net, l3, len, vlan);

	if (!done)
		return false;
	eth->dst_addr = eth->src_addr;
	eth->src_addr = net->mac;
	return true;
}
