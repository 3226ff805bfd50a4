/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <stdlib.h>

#include <rte_ip.h>

#include "carry.h"

#define ARP_LEN 28u
#define NA_LEN (sizeof(struct nd_neighbor_advert) + 8u) /* with the address option of Ethernet */

struct name {
	struct ipoib_hw hw;
	struct rte_ether_addr mac;
};

struct ipoib_carry {
	struct ipoib_hw own;
	struct ipoib_local local[IPOIB_LOCALS];
	struct ipoib_dhcp_client dhcp[IPOIB_DHCP_CLIENTS];
	uint32_t dhcp_next;
	uint32_t groups, names;
	uint8_t mgid[IPOIB_GROUPS][16];
	struct name name[IPOIB_REMOTES];
};

struct ipoib_carry *
ipoib_carry_take(const struct ipoib_core *from)
{
	struct ipoib_carry *y = calloc(1, sizeof(*y));
	unsigned int i;

	if (y == NULL)
		return NULL;
	y->own = ipoib_own_hw(from);
	memcpy(y->local, from->local, sizeof(y->local));
	memcpy(y->dhcp, from->dhcp, sizeof(y->dhcp));
	y->dhcp_next = from->dhcp_next;
	for (i = 0; i < IPOIB_GROUPS; i++) {
		if (from->group[i] != NULL && (from->group[i]->why & IPOIB_WHY_SNOOP) != 0)
			memcpy(y->mgid[y->groups++], from->group[i]->mgid, 16);
	}
	for (i = 0; i < IPOIB_REMOTES; i++) {
		if (from->remote[i] != NULL && from->remote[i]->named)
			y->name[y->names++] = (struct name){from->remote[i]->hw, from->remote[i]->mac};
	}
	return y;
}

void
ipoib_carry_free(struct ipoib_carry *y)
{
	free(y);
}

static void
neighbours(struct ipoib_core *to, const struct ipoib_carry *y, bool rename)
{
	const struct ipoib_hw own = ipoib_own_hw(to);
	unsigned int i;

	for (i = 0; i < y->names; i++) {
		/* The two ports of a pair hear each other. */
		if (!ipoib_hw_same(&y->name[i].hw, &own))
			ipoib_remote_name(to, &y->name[i].hw, &y->name[i].mac, rename);
	}
}

void
ipoib_carry_neighbours(struct ipoib_core *to, const struct ipoib_carry *y)
{
	neighbours(to, y, false);
}

void
ipoib_carry_give(struct ipoib_core *to, const struct ipoib_carry *y)
{
	unsigned int i;
	bool v6[2] = {false, false};

	memcpy(to->local, y->local, sizeof(to->local));
	to->num_locals = 0;
	for (i = 0; i < IPOIB_LOCALS; i++)
		to->num_locals += to->local[i].valid;
	memcpy(to->dhcp, y->dhcp, sizeof(to->dhcp));
	to->dhcp_next = y->dhcp_next;
	to->dirty = true;
	neighbours(to, y, true);
	for (i = 0; i < y->groups; i++) {
		struct ipoib_group *g = ipoib_group_want(to, y->mgid[i], IPOIB_WHY_SNOOP);

		if (g != NULL)
			v6[g->ipv6] = true;
	}
	for (i = 0; i < RTE_DIM(v6); i++) {
		if (v6[i])
			ipoib_query(to, i == 1);
	}
}

void
ipoib_carry_leave(struct ipoib_core *from)
{
	unsigned int i;

	for (i = 0; i < IPOIB_GROUPS; i++) {
		if (from->group[i] != NULL && (from->group[i]->why & IPOIB_WHY_SNOOP) != 0)
			ipoib_group_unwant(from, from->group[i], IPOIB_WHY_SNOOP);
	}
}

/* --- announcements --------------------------------------------------------------------------------------------------- */

static void
write_arp(const struct ipoib_local *l, uint8_t p[ARP_LEN])
{
	static const uint8_t head[8] = {0, 1, 8, 0, 6, 4, 0, 1};

	memset(p, 0, ARP_LEN);
	memcpy(p, head, sizeof(head));
	memcpy(p + 8, &l->mac, RTE_ETHER_ADDR_LEN);
	memcpy(p + 14, l->ip + 12, 4);
	memcpy(p + 24, l->ip + 12, 4);
}

static void
write_na(const struct ipoib_local *l, uint8_t *p)
{
	static const uint8_t all_nodes[16] = {0xff, 0x02, [15] = 1};
	struct nd_neighbor_advert na = {
		.nd_na_type = ND_NEIGHBOR_ADVERT,
		.nd_na_flags_reserved = ND_NA_FLAG_OVERRIDE | (l->router ? ND_NA_FLAG_ROUTER : 0),
	};
	struct rte_ipv6_hdr ip = {
		.vtc_flow = rte_cpu_to_be_32(UINT32_C(6) << 28),
		.payload_len = rte_cpu_to_be_16(NA_LEN),
		.proto = IPPROTO_ICMPV6,
		.hop_limits = 255,
	};
	uint8_t *option = p + sizeof(ip) + sizeof(na);
	uint16_t sum;

	memcpy(&ip.src_addr, l->ip, 16);
	memcpy(&ip.dst_addr, all_nodes, 16);
	memcpy(&na.nd_na_target, l->ip, 16);
	memcpy(p, &ip, sizeof(ip));
	memcpy(p + sizeof(ip), &na, sizeof(na));
	option[0] = ND_OPT_TARGET_LINKADDR;
	option[1] = 1;
	memcpy(option + 2, &l->mac, RTE_ETHER_ADDR_LEN);
	sum = rte_ipv6_udptcp_cksum(&ip, p + sizeof(ip));
	memcpy(p + sizeof(ip) + 2, &sum, sizeof(sum));
}

/* As the host itself would send it, so that it is translated as what hosts send. */
static void
announce(struct ipoib_core *c, const struct ipoib_local *l)
{
	static const uint8_t v4_mapped[12] = {[10] = 0xff, [11] = 0xff}, all_nodes[6] = {0x33, 0x33, 0, 0, 0, 1};
	bool v4 = memcmp(l->ip, v4_mapped, sizeof(v4_mapped)) == 0;
	uint16_t len = (uint16_t)(RTE_ETHER_HDR_LEN + (v4 ? ARP_LEN : sizeof(struct rte_ipv6_hdr) + NA_LEN));
	struct rte_mbuf *m = rte_pktmbuf_alloc(c->pool);
	uint8_t *p = m != NULL ? (uint8_t *)rte_pktmbuf_append(m, len) : NULL;

	if (p == NULL) {
		rte_pktmbuf_free(m);
		c->stats.drop[IPOIB_DROP_TX_NO_MBUF]++;
		return;
	}
	if (v4)
		memset(p, 0xff, RTE_ETHER_ADDR_LEN);
	else
		memcpy(p, all_nodes, sizeof(all_nodes));
	memcpy(p + RTE_ETHER_ADDR_LEN, &l->mac, RTE_ETHER_ADDR_LEN);
	ib_put16(p + 12, v4 ? RTE_ETHER_TYPE_ARP : RTE_ETHER_TYPE_IPV6);
	if (v4)
		write_arp(l, p + RTE_ETHER_HDR_LEN);
	else
		write_na(l, p + RTE_ETHER_HDR_LEN);
	ipoib_core_tx(c, m);
}

unsigned int
ipoib_announce(struct ipoib_core *c)
{
	unsigned int i, n = 0;

	for (i = 0; i < IPOIB_LOCALS; i++) {
		/* Sending one counts as a use of it, which it is not. */
		const struct ipoib_local l = c->local[i];

		if (!l.valid)
			continue;
		announce(c, &l);
		c->local[i].touched = l.touched;
		n++;
	}
	return n;
}
