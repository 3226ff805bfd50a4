/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The headers in front of the BTH, made once for each path (annexes A16.4, A17.3). */
#include <string.h>

#include "sw.h"
#include "wire_eth.h"

static uint8_t *
put_eth(struct rsw_route *r, const struct troce_path *p, uint16_t etype)
{
	uint8_t *h = r->hdr;

	memcpy(h, p->dmac.addr_bytes, RTE_ETHER_ADDR_LEN);
	memcpy(h + RTE_ETHER_ADDR_LEN, p->smac.addr_bytes, RTE_ETHER_ADDR_LEN);
	h += 2 * RTE_ETHER_ADDR_LEN;
	/* A priority without a VLAN travels in a tag of VLAN 0 (802.1Q 6.9). */
	if (p->vlan != TP_ROCE_NO_VLAN || (p->prio != 0 && !p->untag)) {
		ib_put16(h, RTE_ETHER_TYPE_VLAN);
		ib_put16(h + 2, (uint16_t)(p->prio << 13 | (p->vlan != TP_ROCE_NO_VLAN ? p->vlan & 0xfffu : 0)));
		h += RSW_TAG_LEN;
	}
	ib_put16(h, etype);
	return h + 2;
}

static void
put_ipv4(struct rsw_route *r, const struct troce_path *p, uint8_t *h)
{
	h[0] = 0x45;
	h[1] = p->tclass;
	ib_put16(h + 6, RSW_IPV4_DF);
	h[8] = p->hop_limit;
	h[9] = RSW_PROTO_UDP;
	memcpy(h + 12, p->sgid.raw + 12, 4);
	memcpy(h + 16, p->dgid.raw + 12, 4);
	for (unsigned int i = 0; i < RSW_IPV4_LEN; i += 2)
		r->ip_sum += ib_get16(h + i);
}

/* GRH and IPv6 header are one format. */
static void
put_ipv6(const struct troce_path *p, uint8_t next, uint8_t *h)
{
	ib_put32(h, 6u << 28 | (uint32_t)p->tclass << 20 | (p->flow_label & 0xfffffu));
	h[6] = next;
	h[7] = p->hop_limit;
	memcpy(h + 8, p->sgid.raw, sizeof(p->sgid.raw));
	memcpy(h + 24, p->dgid.raw, sizeof(p->dgid.raw));
}

void
rsw_route_set(struct rsw_route *r, const struct rsw_dev *d, const struct troce_path *p)
{
	bool v4 = rsw_gid_is_ipv4(&p->sgid), v1 = p->type == IBV_GID_TYPE_ROCE_V1;
	uint8_t *h;

	memset(r, 0, sizeof(*r));
	r->kind = v1 ? TROCE_ICRC_GRH : v4 ? TROCE_ICRC_IPV4_UDP : TROCE_ICRC_IPV6_UDP;
	h = put_eth(r, p, v1 ? RSW_ETYPE_ROCE : v4 ? RTE_ETHER_TYPE_IPV4 : RTE_ETHER_TYPE_IPV6);
	r->l3 = (uint8_t)(h - r->hdr);
	if (v1 || !v4)
		put_ipv6(p, v1 ? RSW_NEXT_IBA : RSW_PROTO_UDP, h);
	else
		put_ipv4(r, p, h);
	h += r->kind == TROCE_ICRC_IPV4_UDP ? RSW_IPV4_LEN : RSW_IPV6_LEN;
	if (!v1) {
		ib_put16(h, p->sport);
		ib_put16(h + 2, d->udp_port);
		h += RSW_UDP_LEN;
	}
	r->len = (uint8_t)(h - r->hdr);
	r->sgid = p->sgid;
	r->dgid = p->dgid;
	r->type = p->type;
	r->vlan = p->vlan;
	r->prio = p->prio;
	r->ol_flags = p->decided ? d->decided : 0;
	r->tci = (uint16_t)(p->prio << 13);
	r->sgid_index = p->sgid_index;
	r->group = rte_is_multicast_ether_addr(&p->dmac);
	r->to_self = rte_is_same_ether_addr(&p->dmac, &d->dev->mac);
	/* Not seen in the table yet. */
	r->gen = d->gid_gen - 1;
	r->ready = true;
}

void
rsw_route_ecn(struct rsw_route *r, uint8_t ecn)
{
	uint8_t *h = r->hdr + r->l3;

	if (r->kind == TROCE_ICRC_IPV4_UDP) {
		r->ip_sum -= ib_get16(h);
		h[1] = (uint8_t)((h[1] & ~RSW_ECN_MASK) | ecn);
		r->ip_sum += ib_get16(h);
	} else if (r->kind == TROCE_ICRC_IPV6_UDP) {
		h[1] = (uint8_t)((h[1] & ~(RSW_ECN_MASK << 4)) | ecn << 4);
	}
}

bool
rsw_route_check(const struct rsw_dev *d, struct rsw_route *r)
{
	const struct troce_gid *g = &d->gids[r->sgid_index];

	if (!r->ready || !g->valid || g->type != r->type || g->vlan != r->vlan ||
	    memcmp(&g->gid, &r->sgid, sizeof(g->gid)) != 0)
		return false;
	r->gen = d->gid_gen;
	return true;
}
