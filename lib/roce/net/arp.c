/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* ARP on Ethernet (RFC 826), with probes and announcements (RFC 5227). */
#include <rte_arp.h>

#include "net_priv.h"

static const struct rte_ether_addr everybody = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

static void
build(struct trn_out *out, const struct rte_ether_addr *dst, const struct rte_ether_addr *mac, uint16_t vlan,
      uint16_t op, rte_be32_t sip, const struct rte_ether_addr *tha, rte_be32_t tip)
{
	uint8_t *l3 = trn_eth(out, dst, mac, vlan, RTE_ETHER_TYPE_ARP);
	struct rte_arp_hdr arp = {
		.arp_hardware = rte_cpu_to_be_16(RTE_ARP_HRD_ETHER),
		.arp_protocol = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4),
		.arp_hlen = RTE_ETHER_ADDR_LEN,
		.arp_plen = sizeof(rte_be32_t),
		.arp_opcode = rte_cpu_to_be_16(op),
		.arp_data = {.arp_sha = *mac, .arp_sip = sip, .arp_tha = *tha, .arp_tip = tip},
	};

	memcpy(l3, &arp, sizeof(arp));
	trn_close(out, l3 + sizeof(arp));
}

void
trn_arp_ask(const struct rte_ether_addr *mac, const struct rte_ether_addr *dst, uint16_t vlan, rte_be32_t sender,
	    rte_be32_t target, struct trn_out *out)
{
	static const struct rte_ether_addr nobody;

	build(out, dst != NULL ? dst : &everybody, mac, vlan, RTE_ARP_OP_REQUEST, sender, &nobody, target);
}

static bool
well_formed(const struct rte_arp_hdr *arp, uint32_t len)
{
	return len >= sizeof(*arp) && arp->arp_hardware == rte_cpu_to_be_16(RTE_ARP_HRD_ETHER) &&
	       arp->arp_protocol == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) && arp->arp_hlen == RTE_ETHER_ADDR_LEN &&
	       arp->arp_plen == sizeof(rte_be32_t) && rte_is_valid_assigned_ether_addr(&arp->arp_data.arp_sha);
}

enum trn_verdict
trn_arp_input(struct troce_net *net, const struct trn_frame *f, uint64_t now, struct trn_out *out)
{
	const struct rte_arp_hdr *arp = (const struct rte_arp_hdr *)f->l3;
	const struct rte_arp_ipv4 *d = &arp->arp_data;
	bool request, solicited, ours;
	union ibv_gid sender, target;
	int slot;

	if (!well_formed(arp, f->len)) {
		net->count.malformed++;
		return TRN_OTHER;
	}
	request = arp->arp_opcode == rte_cpu_to_be_16(RTE_ARP_OP_REQUEST);
	if (!request && arp->arp_opcode != rte_cpu_to_be_16(RTE_ARP_OP_REPLY))
		return TRN_OTHER;
	sender = trn_gid_v4(d->arp_sip);
	target = trn_gid_v4(d->arp_tip);
	if (rte_is_same_ether_addr(&d->arp_sha, &net->mac))
		return TRN_OTHER;
	slot = trn_addrs_find(&net->a, &sender, f->vlan);
	if (slot >= 0) {
		trn_conflict(net, (unsigned int)slot, &d->arp_sha, now);
		return TRN_OTHER;
	}
	if (d->arp_sip != 0 && !trn_is_host(&sender)) {
		net->count.malformed++;
		return TRN_OTHER;
	}
	ours = trn_addrs_find(&net->a, &target, f->vlan) >= 0;
	/* Who is of no network of ours is answered, but not learnt; a probe (RFC 5227, 2.1.1) has nothing to be learnt. */
	if (d->arp_sip != 0 && trn_on_link(&net->a, &sender, f->vlan)) {
		solicited = !request && ours && rte_is_same_ether_addr(f->dst, &net->mac);
		trn_neigh_heard(&net->neighs, &sender, f->vlan, &d->arp_sha,
				TRN_HEARD_OVERRIDE | (solicited ? TRN_HEARD_SOLICITED : 0) |
					(request && ours ? TRN_HEARD_CREATE : 0),
				now);
	}
	if (!ours)
		return TRN_OTHER;
	if (request)
		build(out, &d->arp_sha, &net->mac, f->vlan, RTE_ARP_OP_REPLY, d->arp_tip, &d->arp_sha, d->arp_sip);
	return TRN_OURS;
}
