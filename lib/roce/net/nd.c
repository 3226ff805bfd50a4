/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Neighbour discovery of IPv6 on Ethernet (RFC 4861, 7.1 and 7.2): solicitations and advertisements. */
#include <netinet/icmp6.h>
#include <netinet/in.h>

#include <rte_ip.h>

#include "net_priv.h"

#define HOP_LIMIT 255u /* 7.1: nobody forwarded it */
#define OPT_MAX 8u     /* options looked at */

/* Solicitation and advertisement (4.3, 4.4), and the one option that ours have (4.6.1). */
struct nd_msg {
	uint8_t type, code;
	rte_be16_t cksum;
	rte_be32_t flags;
	uint8_t target[16];
	uint8_t opt_type, opt_len;
	struct rte_ether_addr opt_mac;
} __attribute__((packed, aligned(2)));
#define ND_MSG_MIN offsetof(struct nd_msg, opt_type)

static const union ibv_gid all_nodes = {.raw = {0xff, 0x02, [15] = 1}};

/* ff02::1:ffXX:XXXX (RFC 4291, 2.7.1) */
static union ibv_gid
solicited_node(const union ibv_gid *target)
{
	union ibv_gid g = {.raw = {0xff, 0x02, [11] = 1, [12] = 0xff}};

	memcpy(g.raw + 13, target->raw + 13, 3);
	return g;
}

static void
build(struct trn_out *out, const struct rte_ether_addr *dst_mac, const struct rte_ether_addr *mac, uint16_t vlan,
      const union ibv_gid *src, const union ibv_gid *dst, struct nd_msg *msg)
{
	struct rte_ether_addr group;
	struct rte_ipv6_hdr ip = {
		.vtc_flow = rte_cpu_to_be_32(UINT32_C(6) << 28),
		.payload_len = rte_cpu_to_be_16(sizeof(*msg)),
		.proto = IPPROTO_ICMPV6,
		.hop_limits = HOP_LIMIT,
	};
	uint8_t *l3;

	if (dst_mac == NULL) {
		troce_mcast_mac(dst, &group);
		dst_mac = &group;
	}
	l3 = trn_eth(out, dst_mac, mac, vlan, RTE_ETHER_TYPE_IPV6);
	memcpy(&ip.src_addr, src, sizeof(*src));
	memcpy(&ip.dst_addr, dst, sizeof(*dst));
	msg->opt_len = 1;
	msg->opt_mac = *mac;
	msg->cksum = 0;
	msg->cksum = rte_ipv6_udptcp_cksum(&ip, msg);
	memcpy(l3, &ip, sizeof(ip));
	memcpy(l3 + sizeof(ip), msg, sizeof(*msg));
	trn_close(out, l3 + sizeof(ip) + sizeof(*msg));
}

void
trn_nd_ask(const struct rte_ether_addr *mac, const struct rte_ether_addr *dst, uint16_t vlan,
	   const union ibv_gid *sender, const union ibv_gid *target, struct trn_out *out)
{
	struct nd_msg msg = {.type = ND_NEIGHBOR_SOLICIT, .opt_type = ND_OPT_SOURCE_LINKADDR};
	union ibv_gid group = solicited_node(target);

	memcpy(msg.target, target, sizeof(msg.target));
	build(out, dst, mac, vlan, sender, dst != NULL ? target : &group, &msg);
}

static void
advertise(const struct rte_ether_addr *mac, const struct rte_ether_addr *dst_mac, uint16_t vlan,
	  const union ibv_gid *target, const union ibv_gid *dst, uint32_t flags, struct trn_out *out)
{
	struct nd_msg msg = {.type = ND_NEIGHBOR_ADVERT, .flags = flags, .opt_type = ND_OPT_TARGET_LINKADDR};

	memcpy(msg.target, target, sizeof(msg.target));
	build(out, dst_mac, mac, vlan, target, dst, &msg);
}

void
trn_nd_announce(const struct rte_ether_addr *mac, uint16_t vlan, const union ibv_gid *target, struct trn_out *out)
{
	advertise(mac, NULL, vlan, target, &all_nodes, ND_NA_FLAG_OVERRIDE, out);
}

/* Finds the option with a MAC, or leaves *mac as it is. False: an option is longer than what is left, or has no length (7.1.1, 7.1.2). */
static bool
options(const uint8_t *p, uint32_t len, uint8_t type, const struct rte_ether_addr **mac)
{
	unsigned int i;

	for (i = 0; len != 0 && i < OPT_MAX; i++) {
		uint32_t n;

		if (len < 2 || p[1] == 0)
			return false;
		n = (uint32_t)p[1] * 8;
		if (n > len)
			return false;
		if (p[0] == type && n == 8 && rte_is_valid_assigned_ether_addr((const struct rte_ether_addr *)(p + 2)))
			*mac = (const struct rte_ether_addr *)(p + 2);
		p += n;
		len -= n;
	}
	return true;
}

struct nd_in {
	const struct trn_frame *f;
	union ibv_gid src, dst, target;
	const struct rte_ether_addr *mac; /* of its option, or NULL */
	uint32_t flags;
};

static enum trn_verdict
solicitation(struct troce_net *net, const struct nd_in *in, uint64_t now, struct trn_out *out)
{
	bool detecting = trn_gid_zero(&in->src); /* duplicate address detection (RFC 4862, 5.4) */
	union ibv_gid group = solicited_node(&in->target);
	int slot;

	if (detecting && (in->mac != NULL || !trn_gid_equal(&in->dst, &group))) {
		net->count.malformed++;
		return TRN_OTHER;
	}
	if (!detecting) {
		slot = trn_addrs_find(&net->a, &in->src, in->f->vlan);
		if (slot >= 0) {
			trn_conflict(net, (unsigned int)slot, in->f->src, now);
			return TRN_OTHER;
		}
		if (!trn_is_host(&in->src))
			return TRN_OTHER;
	}
	if (trn_addrs_find(&net->a, &in->target, in->f->vlan) < 0)
		return TRN_OTHER;
	if (detecting) {
		advertise(&net->mac, NULL, in->f->vlan, &in->target, &all_nodes, ND_NA_FLAG_OVERRIDE, out);
		return TRN_OURS;
	}
	if (in->mac != NULL && trn_on_link(&net->a, &in->src, in->f->vlan))
		trn_neigh_heard(&net->neighs, &in->src, in->f->vlan, in->mac, TRN_HEARD_OVERRIDE | TRN_HEARD_CREATE,
				now);
	advertise(&net->mac, in->mac != NULL ? in->mac : in->f->src, in->f->vlan, &in->target, &in->src,
		  ND_NA_FLAG_SOLICITED | ND_NA_FLAG_OVERRIDE, out);
	return TRN_OURS;
}

static enum trn_verdict
advertisement(struct troce_net *net, const struct nd_in *in, uint64_t now)
{
	bool solicited = (in->flags & ND_NA_FLAG_SOLICITED) != 0;
	int slot = trn_addrs_find(&net->a, &in->target, in->f->vlan);

	if (solicited && trn_is_multicast(&in->dst)) {
		net->count.malformed++;
		return TRN_OTHER;
	}
	if (slot >= 0) {
		trn_conflict(net, (unsigned int)slot, in->f->src, now);
		return TRN_OTHER;
	}
	trn_neigh_heard(&net->neighs, &in->target, in->f->vlan, in->mac,
			(solicited ? TRN_HEARD_SOLICITED : 0) |
				((in->flags & ND_NA_FLAG_OVERRIDE) != 0 ? TRN_HEARD_OVERRIDE : 0),
			now);
	return trn_addrs_find(&net->a, &in->dst, in->f->vlan) >= 0 ? TRN_OURS : TRN_OTHER;
}

enum trn_verdict
trn_nd_input(struct troce_net *net, const struct trn_frame *f, uint64_t now, struct trn_out *out)
{
	const struct rte_ipv6_hdr *ip = (const struct rte_ipv6_hdr *)f->l3;
	const struct nd_msg *msg = (const struct nd_msg *)(ip + 1);
	struct nd_in in = {.f = f};
	bool solicits;
	uint32_t len;

	/* Of ICMPv6 it is, by trn_classify(). */
	if (f->len < sizeof(*ip) + ND_MSG_MIN)
		return TRN_OTHER;
	solicits = msg->type == ND_NEIGHBOR_SOLICIT;
	if (!solicits && msg->type != ND_NEIGHBOR_ADVERT)
		return TRN_OTHER;
	len = rte_be_to_cpu_16(ip->payload_len);
	memcpy(&in.src, &ip->src_addr, sizeof(in.src));
	memcpy(&in.dst, &ip->dst_addr, sizeof(in.dst));
	memcpy(&in.target, msg->target, sizeof(in.target));
	in.flags = msg->flags;
	if (len < ND_MSG_MIN || len > f->len - sizeof(*ip) || ip->hop_limits != HOP_LIMIT || msg->code != 0 ||
	    rte_ipv6_udptcp_cksum_verify(ip, msg) != 0 || !trn_is_host(&in.target) || trn_is_v4(&in.target) ||
	    trn_is_v4(&in.src) ||
	    !options(&msg->opt_type, len - ND_MSG_MIN, solicits ? ND_OPT_SOURCE_LINKADDR : ND_OPT_TARGET_LINKADDR,
		     &in.mac)) {
		net->count.malformed++;
		return TRN_OTHER;
	}
	return solicits ? solicitation(net, &in, now, out) : advertisement(net, &in, now);
}
