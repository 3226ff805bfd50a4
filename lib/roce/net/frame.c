/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames of the port's own, and who else has its addresses. */
#include "net_priv.h"

#define DEFEND_NS UINT64_C(10000000000) /* RFC 5227, 1.1: DEFEND_INTERVAL */
#define FRAME_MIN 60u

uint8_t *
trn_eth(struct trn_out *out, const struct rte_ether_addr *dst, const struct rte_ether_addr *src, uint16_t vlan,
	uint16_t type)
{
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)out->data;
	struct rte_vlan_hdr *tag = (struct rte_vlan_hdr *)(eth + 1);

	memset(out->data, 0, sizeof(out->data));
	eth->dst_addr = *dst;
	eth->src_addr = *src;
	if (vlan == TP_ROCE_NO_VLAN) {
		eth->ether_type = rte_cpu_to_be_16(type);
		return (uint8_t *)(eth + 1);
	}
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN);
	tag->vlan_tci = rte_cpu_to_be_16(vlan);
	tag->eth_proto = rte_cpu_to_be_16(type);
	return (uint8_t *)(tag + 1);
}

void
trn_close(struct trn_out *out, const uint8_t *end)
{
	out->len = RTE_MAX((unsigned int)(end - out->data), FRAME_MIN);
}

void
trn_conflict(struct troce_net *net, unsigned int slot, const struct rte_ether_addr *mac, uint64_t now)
{
	char s[TRN_STR_LEN], m[RTE_ETHER_ADDR_FMT_SIZE];
	struct trn_announce *ann = &net->ann[slot];

	net->count.conflicts++;
	if (now < ann->defended)
		return;
	ann->defended = now + DEFEND_NS;
	rte_ether_format_addr(m, sizeof(m), mac);
	TROCE_LOG(WARNING, "%s says that it has our address %s", m, trn_str(&net->a.addr[slot].gid, s));
	if (net->a.addr[slot].kernel)
		return;
	ann->left = RTE_MAX(ann->left, 1);
	ann->at = now;
	net->due = RTE_MIN(net->due, now);
}
