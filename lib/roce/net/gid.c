/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The GID table as Linux orders it: the link-local address of the MAC first, then addresses in the order in which they came;
 * of each the entry for RoCE v1, then the one for v2. An index stays with its address until that goes.
 */
#include "net_priv.h"

#define MAC_SLOT 0u /* of addr[], and of table[] */

bool
trn_is_host(const union ibv_gid *g)
{
	if (trn_is_v4(g))
		return g->raw[12] != 0 && g->raw[12] != 127 && g->raw[12] < 0xe0;
	/* no address that embeds one of IPv4 otherwise; ::, ::1 */
	return g->raw[0] != 0xff && g->global.subnet_prefix != 0;
}

bool
trn_prefix_match(const union ibv_gid *a, const union ibv_gid *b, unsigned int bits)
{
	unsigned int bytes = bits / 8, rest = bits % 8;

	if (memcmp(a->raw, b->raw, bytes) != 0)
		return false;
	return rest == 0 || ((a->raw[bytes] ^ b->raw[bytes]) >> (8 - rest)) == 0;
}

union ibv_gid
trn_mac_gid(const struct rte_ether_addr *mac)
{
	const uint8_t *m = mac->addr_bytes;
	/* The bit says "universal" when it is 1 here, "local" when it is 1 in a MAC: it is inverted, whatever it is. */
	union ibv_gid g = {.raw = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]}};

	return g;
}

bool
trn_gid_mac(const union ibv_gid *gid, struct rte_ether_addr *mac)
{
	const uint8_t *r = gid->raw;
	struct rte_ether_addr m = {{r[8] ^ 2, r[9], r[10], r[13], r[14], r[15]}};

	if (!trn_is_link_local(gid) || r[11] != 0xff || r[12] != 0xfe || !rte_is_valid_assigned_ether_addr(&m))
		return false;
	*mac = m;
	return true;
}

void
troce_mcast_mac(const union ibv_gid *gid, struct rte_ether_addr *mac)
{
	const uint8_t *r = gid->raw;

	if (trn_is_v4(gid))
		*mac = (struct rte_ether_addr){{0x01, 0x00, 0x5e, r[13] & 0x7f, r[14], r[15]}};
	else
		*mac = (struct rte_ether_addr){{0x33, 0x33, r[12], r[13], r[14], r[15]}};
}

const char *
trn_str(const union ibv_gid *gid, char str[TRN_STR_LEN])
{
	bool v4 = trn_is_v4(gid);

	return inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? gid->raw + 12 : gid->raw, str, TRN_STR_LEN);
}

/* Which types of GIDs an address has; how many. */
static unsigned int
types_of(enum tp_roce_mode mode, bool of_mac, enum ibv_gid_type types[2])
{
	types[0] = IBV_GID_TYPE_ROCE_V1;
	types[1] = IBV_GID_TYPE_ROCE_V2;
	switch (mode) {
	case TP_ROCE_V2: return 2;
	case TP_ROCE_V1: return 1;
	case TP_ROCE_V1_MAC: return of_mac ? 1 : 0;
	default: return 0;
	}
}

int
trn_addrs_find(const struct trn_addrs *a, const union ibv_gid *gid, uint16_t vlan)
{
	unsigned int i;

	for (i = 0; i < TP_ROCE_GIDS; i++)
		if (a->addr[i].valid && a->addr[i].vlan == vlan && trn_gid_equal(&a->addr[i].gid, gid))
			return (int)i;
	return -1;
}

bool
trn_on_link(const struct trn_addrs *a, const union ibv_gid *gid, uint16_t vlan)
{
	unsigned int i;

	for (i = 0; i < TP_ROCE_GIDS; i++)
		if (a->addr[i].valid && a->addr[i].vlan == vlan && trn_is_v4(&a->addr[i].gid) == trn_is_v4(gid) &&
		    trn_prefix_match(&a->addr[i].gid, gid, a->addr[i].prefix))
			return true;
	return false;
}

int
trn_addrs_add(struct trn_addrs *a, enum tp_roce_mode mode, const struct trn_addr *addr)
{
	bool of_mac = !a->addr[MAC_SLOT].valid;
	enum ibv_gid_type types[2];
	unsigned int n = types_of(mode, of_mac, types), at[2], found = 0, slot, i;

	if (trn_addrs_find(a, &addr->gid, addr->vlan) >= 0)
		return EEXIST;
	for (slot = 0; slot < TP_ROCE_GIDS && a->addr[slot].valid; slot++)
		;
	for (i = 0; i < TP_ROCE_GIDS && found < n; i++)
		if (!a->table[i].valid)
			at[found++] = i;
	if (slot == TP_ROCE_GIDS || found < n)
		return ENOSPC;
	a->addr[slot] = *addr;
	a->addr[slot].valid = true;
	for (i = 0; i < n; i++)
		a->table[at[i]] = (struct troce_gid){addr->gid, types[i], addr->vlan, true};
	return 0;
}

/* Entries of an address get another GID, or (NULL) go. */
static void
replace(struct trn_addrs *a, const struct trn_addr *addr, const union ibv_gid *gid)
{
	unsigned int i;

	for (i = 0; i < TP_ROCE_GIDS; i++) {
		struct troce_gid *g = &a->table[i];

		if (!g->valid || g->vlan != addr->vlan || !trn_gid_equal(&g->gid, &addr->gid))
			continue;
		if (gid == NULL)
			memset(g, 0, sizeof(*g));
		else
			g->gid = *gid;
	}
}

void
trn_addrs_del(struct trn_addrs *a, unsigned int slot)
{
	replace(a, &a->addr[slot], NULL);
	memset(&a->addr[slot], 0, sizeof(a->addr[slot]));
}

void
trn_addrs_init(struct trn_addrs *a, enum tp_roce_mode mode, const struct rte_ether_addr *mac)
{
	struct trn_addr own = {trn_mac_gid(mac), 64, TP_ROCE_NO_VLAN, true, false};

	memset(a, 0, sizeof(*a));
	(void)trn_addrs_add(a, mode, &own);
}

void
trn_addrs_set_mac(struct trn_addrs *a, const struct rte_ether_addr *mac)
{
	union ibv_gid gid = trn_mac_gid(mac);
	int other = trn_addrs_find(a, &gid, TP_ROCE_NO_VLAN);

	/* Someone gave the port this address by hand; it is the MAC's now. */
	if (other > (int)MAC_SLOT)
		trn_addrs_del(a, (unsigned int)other);
	replace(a, &a->addr[MAC_SLOT], &gid);
	a->addr[MAC_SLOT].gid = gid;
}

int
trn_next_hop(const struct trn_addrs *a, const struct troce_gid *src, const union ibv_gid *dst, union ibv_gid *hop)
{
	const union ibv_gid *router = trn_is_v4(dst) ? &a->router4 : &a->router6;

	if (trn_is_link_local(dst) || trn_on_link(a, dst, src->vlan)) {
		*hop = *dst;
		return 0;
	}
	if (trn_gid_zero(router) || trn_is_link_local(&src->gid) ||
	    !(trn_is_link_local(router) || trn_on_link(a, router, src->vlan)))
		return EHOSTUNREACH;
	*hop = *router;
	return 0;
}
